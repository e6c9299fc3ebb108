#include "tools/verb/entry_text.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/base/json.h"
#include "tape/journal/name.h"
#include "tools/cli/say.h"
#include "tools/cli/when.h"
#include "tools/cli/where.h"
#include "tools/verb/tape.h"
#include "tools/verb/unified.h"

#define SYMBOLS_SHORT	8
#define ANCESTORS_SHORT 4
#define COMMAND_SHORT	100
#define COMMAND_LINE	40
#define NAMES_LINE	3
#define DATE_LEN	11 /* "2026-01-02 ", left out on one line */

static const char *text(const cJSON *j, const char *name)
{
	const char *t = json_string(j, name);

	return t ? t : "";
}

/* The author. */

/* Shorten without cutting a UTF-8 character in two. */
static size_t cut_at(const char *command, size_t max)
{
	size_t len = strlen(command);

	if (len <= max)
		return len;
	for (len = max; len && (command[len] & 0xc0) == 0x80;)
		len--;
	assert(len <= max);
	return len;
}

static char *process_text(const cJSON *p, size_t max)
{
	struct process_name name =
		process_name(text(p, "exe"), text(p, "comm"));
	const char *claim = text(p, "cmdline"), *rest = claim;
	bool agrees = process_agrees(name, claim, &rest);
	CLEANUP(free_p) char *whole = NULL;
	size_t len;

	if (!name.len)
		whole = format_text("%s", *claim ? claim : "?");
	else if (agrees || !*claim)
		whole = format_text("%.*s%s", (int)name.len, name.at, rest);
	else
		whole = format_text("%.*s (%s)", (int)name.len, name.at, claim);
	len = cut_at(whole, max);
	return format_text("%.*s%s [%" PRIu64 "]", (int)len, whole,
			   whole[len] ? "..." : "", json_number(p, "pid", 0));
}

char *entry_author(const cJSON *author, size_t max)
{
	const char *origin = text(author, "origin");

	if (json_member(author, "pid"))
		return process_text(author, max);
	if (strcmp(origin, "outside") == 0)
		return format_text("a process outside the mount");
	if (strcmp(origin, "recovered") == 0)
		return format_text(
			"unknown (changed while no tape was running)");
	return format_text("unknown");
}

char *entry_authors(const cJSON *entry, size_t max)
{
	const cJSON *all = json_member(entry, "authors"), *one;
	size_t count = (size_t)cJSON_GetArraySize(all), size;
	char *text = NULL;
	FILE *out;

	if (count < 2)
		return entry_author(json_member(entry, "author"), max);
	out = must_have(open_memstream(&text, &size));
	(void)fputs("merged: ", out);
	cJSON_ArrayForEach (one, all) {
		CLEANUP(free_p) char *who = entry_author(one, max / count);

		(void)fprintf(out, "%s%s", one == all->child ? "" : ", ", who);
	}
	(void)fclose(out);
	return must_have(text);
}

void print_cut(FILE *out, const char *text, size_t width)
{
	CLEANUP(free_p) char *safe = NULL;
	size_t size, len;
	FILE *whole = must_have(open_memstream(&safe, &size));

	(void)print_safe(whole, text);
	(void)fclose(whole);
	len = cut_at(must_have(safe), width);
	safe[len] = '\0';
	print_padded(out, safe, width);
}

static char *process_brief(const cJSON *p)
{
	struct process_name name =
		process_name(text(p, "exe"), text(p, "comm"));

	return format_text("%.*s [%" PRIu64 "]", (int)name.len, name.at,
			   json_number(p, "pid", 0));
}

static void print_ancestors(FILE *out, const cJSON *author, bool full)
{
	const cJSON *p;
	int count = 0;

	cJSON_ArrayForEach (p, json_member(author, "ancestors")) {
		CLEANUP(free_p)
		char *whole = process_text(p, full ? 4096 : COMMAND_LINE);
		CLEANUP(free_p)
		char *brief = process_brief(p);

		if (!full && count++ == ANCESTORS_SHORT) {
			(void)fputs(" < ...", out);
			return;
		}
		(void)fputs(full ? "\n        < " : " < ", out);
		(void)print_safe(out, full ? whole : brief);
	}
}

void entry_print_author(FILE *out, const cJSON *author, bool full)
{
	CLEANUP(free_p)
	char *who = entry_author(author, full ? 65536 : COMMAND_SHORT);

	(void)fputs("Author: ", out);
	(void)print_safe(out, who);
	print_ancestors(out, author, full);
	(void)fputc('\n', out);
}

/* Of a merged entry all, in the order of their changes. */
static void print_authors(FILE *out, const cJSON *e, bool full)
{
	const cJSON *all = json_member(e, "authors"), *one;

	cJSON_ArrayForEach (one, all)
		entry_print_author(out, one, full);
	if (!all)
		entry_print_author(out, json_member(e, "author"), full);
	if (cJSON_IsTrue(json_member(e, "merged")))
		(void)fputs("Merged: a version in between could not be kept\n",
			    out);
}

/* "2 of claude-code 3fa9c1d2, Bash: Fix the port". */
void entry_print_turn(FILE *out, const cJSON *e)
{
	const cJSON *turn = json_member(e, "turn");
	const char *tool = text(turn, "tool"), *prompt = text(turn, "prompt");
	const char *client = text(turn, "client");

	if (!turn)
		return;
	(void)fprintf(out, "Turn:   %" PRIu64 " of ",
		      json_number(turn, "ordinal", 0));
	(void)print_safe(out, client);
	(void)fprintf(out, "%s%.8s", *client ? " " : "",
		      text(turn, "conversation"));
	if (*tool) {
		(void)fputs(", ", out);
		(void)print_safe(out, tool);
	}
	if (*prompt) {
		(void)fputs(": ", out);
		(void)print_safe(out, prompt);
	}
	(void)fputc('\n', out);
}

/* The symbols. */

/* How one set of an entry's symbols is printed. */
struct set_words {
	const char *set;
	const char *word;    /* printed before the names */
	const char *removed; /* before removed ones; NULL: the same word */
	enum colour colour;
};

static const struct set_words set_words[] = {
	{ "X", "changed", "removed", COLOUR_YELLOW },
	{ "new", "new", NULL, COLOUR_GREEN },
	{ "dX", "calls changed", NULL, COLOUR_CYAN },
	{ "R", "reads changed", NULL, COLOUR_CYAN },
};

static const char *name_of(const cJSON *item)
{
	const char *name = cJSON_GetStringValue(item);

	return name ? name : text(item, "name");
}

static bool is_of(const cJSON *item, const struct set_words *w, bool removed)
{
	return !w->removed ||
	       cJSON_IsTrue(json_member(item, "removed")) == removed;
}

static void print_name(FILE *out, const cJSON *item, bool full)
{
	(void)print_safe(out, name_of(item));
	if (full && *text(item, "kind"))
		(void)fprintf(out, " (%s)", text(item, "kind"));
}

/* Those of the set that are (or are not) removed. */
static void print_set(FILE *out, const cJSON *e, const struct set_words *w,
		      bool removed, struct entry_style style)
{
	const char *word = removed ? w->removed : w->word;
	enum colour c = removed ? COLOUR_RED : w->colour;
	unsigned count = 0, most = style.full ? UINT_MAX : SYMBOLS_SHORT;
	const cJSON *item;

	cJSON_ArrayForEach (item, json_member(e, w->set)) {
		if (!is_of(item, w, removed) || ++count > most)
			continue;
		if (count == 1)
			(void)fprintf(out, "    %s%s%s ",
				      colour_text(style.colours, c), word,
				      colour_text(style.colours, COLOUR_NONE));
		else
			(void)fputs(style.full ? "\n      " : ", ", out);
		print_name(out, item, style.full);
	}
	if (count > most)
		(void)fprintf(out, " and %u more", count - most);
	if (count)
		(void)fputc('\n', out);
}

void entry_print_symbols(FILE *out, const cJSON *e, struct entry_style style)
{
	for (size_t k = 0; k < sizeof(set_words) / sizeof(*set_words); k++) {
		print_set(out, e, &set_words[k], false, style);
		if (set_words[k].removed)
			print_set(out, e, &set_words[k], true, style);
	}
}

void entry_print_path(FILE *out, const char *path, struct entry_style style)
{
	CLEANUP(free_p)
	char *shown = style.where ? where_shown(style.where, path)
				  : format_text("%s", path);

	(void)print_safe(out, shown);
}

static void print_paths(FILE *out, const cJSON *e, struct entry_style style)
{
	const char *path = text(e, "path");

	entry_print_path(out, *path ? path : "?", style);
	if (!*text(e, "path2"))
		return;
	(void)fputs(" -> ", out);
	entry_print_path(out, text(e, "path2"), style);
}

static bool is_gap(const cJSON *e)
{
	return strcmp(text(e, "kind"), "gap") == 0;
}

static void print_title(FILE *out, const cJSON *e, struct entry_style style)
{
	bool colours = style.colours;

	(void)fprintf(out, "%sentry %" PRIu64 "%s ",
		      colour_text(colours, COLOUR_YELLOW),
		      json_number(e, "n", 0),
		      colour_text(colours, COLOUR_NONE));
	if (is_gap(e)) {
		(void)fprintf(out, "%sgap: changes may have been missed%s",
			      colour_text(colours, COLOUR_RED),
			      colour_text(colours, COLOUR_NONE));
		return;
	}
	(void)fprintf(out, "%s ", text(e, "kind"));
	print_paths(out, e, style);
	(void)fprintf(
		out, " %s+%" PRIu64 "%s %s-%" PRIu64 "%s",
		colour_text(colours, COLOUR_GREEN), json_number(e, "plus", 0),
		colour_text(colours, COLOUR_NONE),
		colour_text(colours, COLOUR_RED), json_number(e, "minus", 0),
		colour_text(colours, COLOUR_NONE));
}

/* Remarks: syntax error, too large for the parser, marker. */
static void print_remarks(FILE *out, const cJSON *e, bool colours)
{
	if (strcmp(text(e, "syntax"), "error") == 0)
		(void)fprintf(out, "    %sit has a syntax error%s\n",
			      colour_text(colours, COLOUR_RED),
			      colour_text(colours, COLOUR_NONE));
	if (strcmp(text(e, "syntax"), "vast") == 0)
		(void)fputs("    it exceeds the parser's limits: treated as "
			    "one module\n",
			    out);
	if (cJSON_IsTrue(json_member(e, "marker")))
		(void)fprintf(
			out,
			"    %sa note of StateTape's was written into it%s\n",
			colour_text(colours, COLOUR_RED),
			colour_text(colours, COLOUR_NONE));
}

static void print_details(FILE *out, const cJSON *e)
{
	const cJSON *lines = json_member(e, "journal");
	const cJSON *author = json_member(e, "author");
	uint64_t first = 0, last = 0;

	if (cJSON_GetArraySize(lines) == 2) {
		first = (uint64_t)lines->child->valuedouble;
		last = (uint64_t)lines->child->next->valuedouble;
	}
	(void)fprintf(
		out, "Before: %s\nAfter:  %s (%" PRIu64 " bytes%s)\n",
		*text(e, "before") ? text(e, "before") : "no file",
		*text(e, "after") ? text(e, "after") : "no file",
		json_number(e, "bytes", 0),
		cJSON_IsTrue(json_member(e, "stamped"))
			? ", by size, inode and time: too large to be read"
			: "");
	if (*text(author, "exe")) {
		(void)fputs("Runs:   ", out);
		(void)print_safe(out, text(author, "exe"));
		(void)fputc('\n', out);
	}
	if (first)
		(void)fprintf(out,
			      "Lines:  %" PRIu64 " to %" PRIu64
			      " of the journal\n",
			      first, last);
	(void)fprintf(out, "Chain:  %s\n", text(e, "hash"));
}

/* The patch. */

/* One side of an entry; false: the tape does not have its content. */
static bool side_of(struct tape_reader *t, const char *name, const char *hash,
		    char **keep, struct unified_side *ret)
{
	*ret = (struct unified_side){ .text = "" };
	if (!*hash)
		return true;
	*keep = tape_content(t, hash, &ret->len);
	ret->name = name;
	ret->text = *keep ? *keep : "";
	return *keep;
}

void entry_print_patch(FILE *out, const cJSON *e, struct entry_style style,
		       struct tape_reader *t)
{
	CLEANUP(free_p) char *keep_before = NULL;
	CLEANUP(free_p) char *keep_after = NULL;
	const char *path2 = text(e, "path2");
	struct unified_side before, after;

	if (is_gap(e) || strcmp(text(e, "before"), text(e, "after")) == 0)
		return;
	(void)fputc('\n', out);
	if (!side_of(t, text(e, "path"), text(e, "before"), &keep_before,
		     &before) ||
	    !side_of(t, *path2 ? path2 : text(e, "path"), text(e, "after"),
		     &keep_after, &after))
		(void)fputs("    (the tape has not kept the content)\n", out);
	else
		unified_print(
			out, &before, &after,
			(struct unified_style){ .terminal = style.terminal,
						.colours = style.colours });
}

void entry_print(FILE *out, const cJSON *e, struct entry_style style,
		 struct tape_reader *t)
{
	char date[WHEN_TEXT_SIZE];

	assert(t || !style.patch);
	print_title(out, e, style);
	(void)fputc('\n', out);
	print_authors(out, e, style.full);
	entry_print_turn(out, e);
	when_text((int64_t)json_number(e, "at_ns", 0), 1, date, sizeof(date));
	(void)fprintf(out, "Date:   %s\n", date);
	if (style.full)
		print_details(out, e);
	entry_print_symbols(out, e, style);
	print_remarks(out, e, style.colours);
	if (style.patch)
		entry_print_patch(out, e, style, t);
}

/* The first few names of all sets. */
static void print_few(FILE *out, const cJSON *e)
{
	unsigned count = 0;

	for (size_t k = 0; k < sizeof(set_words) / sizeof(*set_words); k++) {
		const cJSON *item;

		cJSON_ArrayForEach (item, json_member(e, set_words[k].set)) {
			if (++count > NAMES_LINE)
				continue;
			(void)fputs(count > 1 ? ", " : "  ", out);
			(void)print_safe(out, name_of(item));
		}
	}
	if (count > NAMES_LINE)
		(void)fprintf(out, " and %u more", count - NAMES_LINE);
}

void entry_print_line(FILE *out, const cJSON *e, bool colours)
{
	CLEANUP(free_p)
	char *who = entry_authors(e, COMMAND_LINE);
	char date[WHEN_TEXT_SIZE];

	when_text((int64_t)json_number(e, "at_ns", 0), 1, date, sizeof(date));
	assert(strlen(date) > DATE_LEN);
	(void)fprintf(out, "%s%s%s ", colour_text(colours, COLOUR_DIM),
		      date + DATE_LEN, colour_text(colours, COLOUR_NONE));
	print_title(out, e, (struct entry_style){ .colours = colours });
	(void)fputs("  ", out);
	(void)print_safe(out, who);
	print_few(out, e);
	(void)fputc('\n', out);
}

/* CSV. */

static void print_cell(FILE *out, const char *cell)
{
	if (!cell[strcspn(cell, "\",\r\n")]) {
		(void)fputs(cell, out);
		return;
	}
	(void)fputc('"', out);
	for (; *cell; cell++) {
		if (*cell == '"')
			(void)fputc('"', out);
		(void)fputc(*cell, out);
	}
	(void)fputc('"', out);
}

/* The names of a set in one cell. */
static void print_names(FILE *out, const cJSON *list)
{
	char *all = NULL;
	size_t size;
	FILE *cell = must_have(open_memstream(&all, &size));
	const cJSON *item;

	cJSON_ArrayForEach (item, list)
		(void)fprintf(cell, "%s%s", item == list->child ? "" : " ",
			      name_of(item));
	(void)fclose(cell);
	print_cell(out, must_have(all));
	free(all);
}

/* All authors of a merged entry in one cell. */
static void print_merged(FILE *out, const cJSON *authors)
{
	char *all = NULL;
	size_t size;
	FILE *cell = must_have(open_memstream(&all, &size));
	const cJSON *one;

	cJSON_ArrayForEach (one, authors)
		(void)fprintf(cell, "%s%s [%" PRIu64 "]",
			      one == authors->child ? "" : ", ",
			      json_string_or(one, "comm", text(one, "origin")),
			      json_number(one, "pid", 0));
	(void)fclose(cell);
	print_cell(out, must_have(all));
	free(all);
}

void entry_print_csv_head(FILE *out)
{
	(void)fputs("n,at,kind,path,path2,plus,minus,bytes,before,after,syntax,"
		    "origin,pid,uid,comm,cmdline,X,dX,R,new,hash,merged\n",
		    out);
}

void entry_print_csv(FILE *out, const cJSON *e)
{
	static const char *const texts[] = { "at", "kind", "path", "path2" };
	static const char *const numbers[] = { "plus", "minus", "bytes" };
	static const char *const hashes[] = { "before", "after", "syntax" };
	static const char *const sets[] = { "X", "dX", "R", "new" };
	const cJSON *author = json_member(e, "author");

	(void)fprintf(out, "%" PRIu64, json_number(e, "n", 0));
	for (size_t k = 0; k < 4; k++) {
		(void)fputc(',', out);
		print_cell(out, text(e, texts[k]));
	}
	for (size_t k = 0; k < 3; k++)
		(void)fprintf(out, ",%" PRIu64, json_number(e, numbers[k], 0));
	for (size_t k = 0; k < 3; k++)
		(void)fprintf(out, ",%s", text(e, hashes[k]));
	(void)fprintf(out, ",%s", text(author, "origin"));
	if (json_member(author, "pid"))
		(void)fprintf(out, ",%" PRIu64 ",%" PRIu64 ",",
			      json_number(author, "pid", 0),
			      json_number(author, "uid", 0));
	else
		(void)fputs(",,,", out);
	print_cell(out, text(author, "comm"));
	(void)fputc(',', out);
	print_cell(out, text(author, "cmdline"));
	for (size_t k = 0; k < 4; k++) {
		(void)fputc(',', out);
		print_names(out, json_member(e, sets[k]));
	}
	(void)fprintf(out, ",%s,", text(e, "hash"));
	print_merged(out, json_member(e, "authors"));
	(void)fputc('\n', out);
}
