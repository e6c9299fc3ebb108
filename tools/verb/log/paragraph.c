#include "tools/verb/log/paragraph.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/base/json.h"
#include "tools/cli/say.h"
#include "tools/cli/when.h"
#include "tools/cli/where.h"
#include "tools/verb/log/group.h"

#define FILES_SHORT  50
#define NUMBER_WIDTH 6
#define MINUTE_LEN   16 /* "2026-01-02 03:04" */

static const char *text(const cJSON *j, const char *name)
{
	return json_string_or(j, name, "");
}

static const cJSON *newest(const struct group *g)
{
	return g->entries.at[0];
}

static const cJSON *oldest(const struct group *g)
{
	return g->entries.at[g->entries.count - 1];
}

/* -- Files. */

static struct paragraph_file *file_of(struct paragraph_files *f, const cJSON *e)
{
	struct paragraph_file *one;
	const char *path = text(e, "path");

	for (uint32_t i = f->list.count; i-- > 0;)
		if (f->list.at[i].has && strcmp(f->list.at[i].path, path) == 0)
			return &f->list.at[i];
	one = array_add(&f->list);
	one->path = path;
	one->had = json_string(e, "before") != NULL;
	return one;
}

static void add_entry(struct paragraph_files *f, const cJSON *e)
{
	struct paragraph_file *one;
	const char *path2 = json_string(e, "path2");

	if (!*text(e, "path"))
		return;
	one = file_of(f, e);
	if (path2) {
		one->from = one->from ? one->from : one->path;
		one->path = path2;
	}
	one->has = json_string(e, "after") != NULL;
	one->broken = strcmp(text(e, "syntax"), "error") == 0;
	one->plus += json_number(e, "plus", 0);
	one->minus += json_number(e, "minus", 0);
	f->plus += json_number(e, "plus", 0);
	f->minus += json_number(e, "minus", 0);
}

void paragraph_files(const cJSON *const *newest_first, size_t count,
		     struct paragraph_files *ret)
{
	*ret = (struct paragraph_files){ .plus = 0 };
	while (count-- > 0)
		add_entry(ret, newest_first[count]);
}

void paragraph_files_release(struct paragraph_files *f)
{
	array_release(&f->list);
}

static void files_of(const struct group *g, struct paragraph_files *ret)
{
	paragraph_files((const cJSON *const *)g->entries.at, g->entries.count,
			ret);
}

const char *paragraph_kind(const struct paragraph_file *f)
{
	if (!f->has)
		return f->had ? "delete" : "create and delete";
	if (!f->had)
		return "create";
	return f->from ? "rename" : "edit";
}

static void print_lines(FILE *out, uint64_t plus, uint64_t minus, bool colours)
{
	(void)fprintf(out, "%s+%" PRIu64 "%s %s-%" PRIu64 "%s",
		      colour_text(colours, COLOUR_GREEN), plus,
		      colour_text(colours, COLOUR_NONE),
		      colour_text(colours, COLOUR_RED), minus,
		      colour_text(colours, COLOUR_NONE));
}

void paragraph_print_file(FILE *out, const struct paragraph_file *f,
			  struct entry_style style)
{
	if (f->from) {
		entry_print_path(out, f->from, style);
		(void)fputs(" -> ", out);
	}
	entry_print_path(out, f->path, style);
	(void)fputc(' ', out);
	print_lines(out, f->plus, f->minus, style.colours);
	if (f->broken)
		(void)fprintf(out, " %ssyntax error%s",
			      colour_text(style.colours, COLOUR_RED),
			      colour_text(style.colours, COLOUR_NONE));
}

static void print_files(FILE *out, const struct paragraph_files *f,
			struct entry_style style)
{
	uint32_t most =
		f->list.count > FILES_SHORT + 1 ? FILES_SHORT : f->list.count;

	for (uint32_t i = 0; i < most; i++) {
		(void)fprintf(out, "    %-6s ", paragraph_kind(&f->list.at[i]));
		paragraph_print_file(out, &f->list.at[i], style);
		(void)fputc('\n', out);
	}
	if (most < f->list.count)
		(void)fprintf(out,
			      "    and %u more; 'statetape log --files' lists "
			      "them\n",
			      f->list.count - most);
}

/* -- The head. */

/* Bytes of all authors of a merged entry. */
#define MERGED_MAX 400

/* The command as the author of all: its process and the ancestors of that. */
static cJSON *author_of(const struct group *g)
{
	const cJSON *author = json_member(newest(g), "author");
	const cJSON *process = group_process(newest(g)), *p;
	cJSON *o, *above;
	bool below = true;

	if (!process || process == author)
		return must_have(cJSON_Duplicate(author, true));
	o = must_have(cJSON_Duplicate(process, true));
	above = json_array(o, "ancestors");
	cJSON_ArrayForEach (p, json_member(author, "ancestors")) {
		if (!below)
			(void)json_push(above,
					must_have(cJSON_Duplicate(p, true)));
		below = below && p != process;
	}
	return o;
}

static bool is_of_several(const cJSON *e)
{
	return cJSON_GetArraySize(json_member(e, "authors")) > 1;
}

/* The author of the whole has not written all of a merged entry. */
static void print_merged(FILE *out, const struct group *g)
{
	for (uint32_t i = g->entries.count; i-- > 0;) {
		const cJSON *e = g->entries.at[i];
		CLEANUP(free_p) char *who = NULL;

		if (!is_of_several(e))
			continue;
		who = entry_authors(e, MERGED_MAX);
		(void)fprintf(out, "Entry %" PRIu64 " is ",
			      json_number(e, "n", 0));
		(void)print_safe(out, who);
		(void)fputc('\n', out);
	}
}

static void print_head(FILE *out, const struct group *g,
		       const struct paragraph_files *f, bool colours)
{
	uint64_t first = json_number(oldest(g), "n", 0);
	uint64_t last = json_number(newest(g), "n", 0);
	CLEANUP(free_p)
	char *files = count_text(f->list.count, "file", "files");
	CLEANUP(json_p) cJSON *author = author_of(g);
	char date[WHEN_TEXT_SIZE];

	/* Entries of others may have come in between. */
	if (first == last)
		(void)fprintf(out, "%sentry %" PRIu64 "%s, ",
			      colour_text(colours, COLOUR_YELLOW), first,
			      colour_text(colours, COLOUR_NONE));
	else if (last - first + 1 == g->entries.count)
		(void)fprintf(out, "%sentries %" PRIu64 " to %" PRIu64 "%s, ",
			      colour_text(colours, COLOUR_YELLOW), first, last,
			      colour_text(colours, COLOUR_NONE));
	else
		(void)fprintf(
			out, "%s%u entries from %" PRIu64 " to %" PRIu64 "%s, ",
			colour_text(colours, COLOUR_YELLOW), g->entries.count,
			first, last, colour_text(colours, COLOUR_NONE));
	(void)fprintf(out, "%s ", files);
	print_lines(out, f->plus, f->minus, colours);
	(void)fputc('\n', out);
	entry_print_author(out, author, false);
	entry_print_turn(out, newest(g));
	when_text((int64_t)json_number(oldest(g), "at_ns", 0), 1, date,
		  sizeof(date));
	(void)fprintf(out, "Date:   %s\n", date);
	print_merged(out, g);
}

/* -- A paragraph. */

static const char *symbol_name(const cJSON *item)
{
	const char *name = cJSON_GetStringValue(item);

	return name ? name : text(item, "name");
}

static void merge_set(cJSON *to, const cJSON *from)
{
	const cJSON *item, *other;

	cJSON_ArrayForEach (item, from) {
		bool known = false;

		cJSON_ArrayForEach (other, to)
			known = known || strcmp(symbol_name(other),
						symbol_name(item)) == 0;
		if (!known)
			(void)json_push(to,
					must_have(cJSON_Duplicate(item, true)));
	}
}

/* An object with the symbols of all entries, each once in its set. */
static cJSON *symbols_of(const struct group *g)
{
	static const char *const sets[] = { "X", "new", "dX", "R" };
	cJSON *o = json_object(NULL, NULL);

	for (size_t k = 0; k < sizeof(sets) / sizeof(*sets); k++) {
		cJSON *set = json_array(o, sets[k]);

		for (uint32_t i = g->entries.count; i-- > 0;)
			merge_set(set, json_member(g->entries.at[i], sets[k]));
	}
	return o;
}

void paragraph_print(FILE *out, const struct group *g, struct entry_style style,
		     struct tape_reader *t)
{
	CLEANUP(paragraph_files_release) struct paragraph_files f = { 0 };
	CLEANUP(json_p) cJSON *symbols = NULL;

	if (g->entries.count == 1) {
		entry_print(out, newest(g), style, t);
		return;
	}
	files_of(g, &f);
	symbols = symbols_of(g);
	print_head(out, g, &f, style.colours);
	print_files(out, &f, style);
	entry_print_symbols(out, symbols, style);
	if (style.patch)
		for (uint32_t i = g->entries.count; i-- > 0;)
			entry_print_patch(out, g->entries.at[i], style, t);
}

/* -- Bars. */

/* The name as it is printed (free it). */
static char *shown(const struct paragraph_file *f, struct entry_style style)
{
	char *all = NULL;
	size_t size;
	FILE *out = must_have(open_memstream(&all, &size));

	if (f->from) {
		entry_print_path(out, f->from, style);
		(void)fputs(" -> ", out);
	}
	entry_print_path(out, f->path, style);
	(void)fclose(out);
	return must_have(all);
}

static unsigned digits_of(uint64_t n)
{
	return (unsigned)snprintf(NULL, 0, "%" PRIu64, n);
}

static void print_bar(FILE *out, char c, uint64_t n, enum colour colour,
		      bool colours)
{
	if (!n)
		return;
	(void)fputs(colour_text(colours, colour), out);
	while (n-- > 0)
		(void)fputc(c, out);
	(void)fputs(colour_text(colours, COLOUR_NONE), out);
}

/* `n` of `most` lines, in `room` columns; something is never nothing. */
static uint64_t scaled(uint64_t n, uint64_t most, unsigned room)
{
	if (most <= room || !n)
		return n;
	return 1 + (n - 1) * (room - 1) / most;
}

struct bars {
	size_t name;	 /* columns of the longest name */
	unsigned digits; /* of the largest count */
	uint64_t most;	 /* that count */
	unsigned room;	 /* columns for a bar */
};

static struct bars measure(const struct paragraph_files *f, char *const *names,
			   unsigned width)
{
	struct bars b = { .name = 4, .digits = 1 };

	for (uint32_t i = 0; i < f->list.count; i++) {
		const struct paragraph_file *one = &f->list.at[i];
		uint64_t lines = one->plus + one->minus;
		size_t len = strlen(names[i]);

		b.name = len > b.name ? len : b.name;
		b.most = lines > b.most ? lines : b.most;
	}
	b.digits = digits_of(b.most);
	/* As git does: names get what bars of a quarter leave. */
	if (b.name + b.digits + 5 > width - width / 4)
		b.name = width - width / 4 - b.digits - 5;
	b.room = width - (unsigned)b.name - b.digits - 5;
	return b;
}

static void print_bars(FILE *out, const struct paragraph_files *f,
		       struct entry_style style, unsigned width)
{
	char **names = must_calloc(f->list.count + 1, sizeof(*names));
	struct bars b;

	for (uint32_t i = 0; i < f->list.count; i++)
		names[i] = shown(&f->list.at[i], style);
	b = measure(f, names, width);
	for (uint32_t i = 0; i < f->list.count; i++) {
		const struct paragraph_file *one = &f->list.at[i];
		size_t len = strlen(names[i]);
		bool cut = len > b.name;
		const char *name = names[i] + (cut ? len - b.name + 3 : 0);

		(void)fprintf(out, " %s%-*s | %*" PRIu64 "%s", cut ? "..." : "",
			      (int)(b.name - (cut ? 3 : 0)), name,
			      (int)b.digits, one->plus + one->minus,
			      one->plus + one->minus ? " " : "");
		print_bar(out, '+', scaled(one->plus, b.most, b.room),
			  COLOUR_GREEN, style.colours);
		print_bar(out, '-', scaled(one->minus, b.most, b.room),
			  COLOUR_RED, style.colours);
		(void)fputc('\n', out);
		free(names[i]);
	}
	free(names);
}

static void print_sum(FILE *out, const struct paragraph_files *f)
{
	CLEANUP(free_p)
	char *files = count_text(f->list.count, "file", "files");
	CLEANUP(free_p)
	char *plus = count_text(f->plus, "insertion", "insertions");
	CLEANUP(free_p)
	char *minus = count_text(f->minus, "deletion", "deletions");

	(void)fprintf(out, " %s changed, %s(+), %s(-)\n", files, plus, minus);
}

void paragraph_print_stat(FILE *out, const struct group *g,
			  struct entry_style style, unsigned width)
{
	CLEANUP(paragraph_files_release) struct paragraph_files f = { 0 };

	files_of(g, &f);
	print_head(out, g, &f, style.colours);
	if (!f.list.count)
		return;
	print_bars(out, &f, style, width);
	print_sum(out, &f);
}

/* -- One line. */

/* The only file with its lines, or how many there are (free it). */
static char *changes_text(const struct group *g, struct entry_style style)
{
	CLEANUP(paragraph_files_release) struct paragraph_files f = { 0 };
	char *all = NULL;
	size_t size;
	FILE *out = must_have(open_memstream(&all, &size));

	style.colours = false;
	files_of(g, &f);
	if (f.list.count == 1) {
		paragraph_print_file(out, &f.list.at[0], style);
	} else if (f.list.count) {
		(void)fprintf(out, "%u files ", f.list.count);
		print_lines(out, f.plus, f.minus, false);
	} else {
		(void)fputs("gap: changes may have been missed", out);
	}
	(void)fclose(out);
	return must_have(all);
}

/* All who wrote a merged entry, by their names alone (free it). */
static char *names_text(const cJSON *e)
{
	const cJSON *all = json_member(e, "authors"), *one;
	char *names = NULL;
	size_t size;
	FILE *out = must_have(open_memstream(&names, &size));

	(void)fputs("merged:", out);
	cJSON_ArrayForEach (one, all)
		(void)fprintf(out, "%s %s", one == all->child ? "" : ",",
			      json_string_or(one, "comm", text(one, "origin")));
	(void)fclose(out);
	return must_have(names);
}

/* What was done: the call's command or its tool, else the process (free it). */
static char *command_text(const struct group *g)
{
	const cJSON *turn = json_member(newest(g), "turn");
	CLEANUP(json_p) cJSON *author = NULL;
	const char *tool = text(turn, "tool");

	if (*text(turn, "command"))
		return format_text("%s: %s", tool, text(turn, "command"));
	if (*tool)
		return format_text("%s", tool);
	for (uint32_t i = 0; i < g->entries.count; i++)
		if (is_of_several(g->entries.at[i]))
			return names_text(g->entries.at[i]);
	author = author_of(g);
	return entry_author(author, 4096);
}

void paragraph_print_line(FILE *out, const struct group *g,
			  struct entry_style style, unsigned width)
{
	CLEANUP(free_p) char *changes = changes_text(g, style);
	unsigned room = width - NUMBER_WIDTH - MINUTE_LEN - 4;
	unsigned part = room * 2 / 5;
	CLEANUP(free_p) char *command = command_text(g);
	char date[WHEN_TEXT_SIZE];
	size_t len = strlen(changes);

	when_text((int64_t)json_number(newest(g), "at_ns", 0), 1, date,
		  sizeof(date));
	(void)fprintf(out, "%s%*" PRIu64 "%s %.*s ",
		      colour_text(style.colours, COLOUR_YELLOW), NUMBER_WIDTH,
		      json_number(newest(g), "n", 0),
		      colour_text(style.colours, COLOUR_NONE), MINUTE_LEN,
		      date);
	print_cut(out, command, room - part);
	(void)fputs("  ", out);
	/* The end of a path says more than its beginning. */
	if (len > part)
		(void)fprintf(out, "...%s\n", changes + len - part + 3);
	else
		(void)fprintf(out, "%s\n", changes);
}
