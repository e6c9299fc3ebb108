/*
 * statetape blame -l: which entry and which command wrote each line.
 */
#include "tools/verb/blame_lines.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/base/json.h"
#include "tools/cli/pager.h"
#include "tools/cli/say.h"
#include "tools/cli/verbs.h"
#include "tools/verb/entry_text.h"
#include "tools/verb/tape.h"

/* Columns: number, author, line, text; 80 in all, with those between. */
#define NUMBER_WIDTH 6
#define AUTHOR_WIDTH 24
#define TEXT_WIDTH   (80 - NUMBER_WIDTH - 1 - AUTHOR_WIDTH - 1 - 5 - 2)
#define TAB	     8

int blame_lines_ask(struct tape_reader *t, const char *path, uint64_t n,
		    cJSON **ret, char **why)
{
	CLEANUP(json_p) cJSON *q = json_object(NULL, NULL);

	json_put_bytes(q, "path", path);
	json_put_bool(q, "lines", true);
	if (n != UINT64_MAX)
		json_put_number(q, "n", n);
	return tape_try(t, "BLAME", q, ret, why);
}

const cJSON *blame_lines_entry(const cJSON *answer, uint64_t n)
{
	const cJSON *e;

	cJSON_ArrayForEach (e, json_member(answer, "entries"))
		if (json_number(e, "n", 0) == n)
			return e;
	return NULL;
}

/* [start, end, entry]. */
struct blame_run {
	uint32_t start, end;
	const cJSON *entry; /* NULL: older than the tape */
	uint64_t n;
};

static uint64_t element(const cJSON *list, int k)
{
	const cJSON *item = cJSON_GetArrayItem(list, k);

	return item && item->valuedouble > 0 ? (uint64_t)item->valuedouble : 0;
}

static struct blame_run run_of(const cJSON *answer, const cJSON *item)
{
	return (struct blame_run){
		.start = (uint32_t)element(item, 0),
		.end = (uint32_t)element(item, 1),
		.n = element(item, 2),
		.entry = blame_lines_entry(answer, element(item, 2)),
	};
}

static const char *older_text(const cJSON *answer)
{
	return json_number(answer, "first", 1) > 1 ? "before the kept entries"
						   : "before the tape";
}

/*
 * A line of source: tabs as spaces, anything a terminal would interpret
 * escaped, cut to the width.
 */
static void print_source(const char *line, size_t len)
{
	char part[8];
	size_t at = 0;

	while (len && (line[len - 1] == '\n' || line[len - 1] == '\r'))
		len--;
	for (size_t i = 0, size; i < len && at < TEXT_WIDTH; i += size) {
		for (size = 1; size < 4 && i + size < len &&
			       (line[i + size] & 0xc0) == 0x80;)
			size++;
		if (line[i] == '\t') {
			size_t stop = (at / TAB + 1) * TAB;

			for (; at < stop && at < TEXT_WIDTH; at++)
				(void)putchar(' ');
			continue;
		}
		memcpy(part, line + i, size);
		part[size] = '\0';
		/* An escaped byte takes four columns. */
		if ((unsigned char)part[0] < ' ' && at + 4 > TEXT_WIDTH)
			break;
		at += print_safe(stdout, part);
	}
	(void)putchar('\n');
}

/* The text, line by line. */
struct blame_text {
	const char *at, *end;
};

static size_t next_line(struct blame_text *t, const char **ret)
{
	const char *feed = memchr(t->at, '\n', (size_t)(t->end - t->at));

	*ret = t->at;
	t->at = feed ? feed + 1 : t->end;
	return (size_t)(t->at - *ret);
}

static void print_head(const struct blame_run *r, const cJSON *answer,
		       bool colours)
{
	CLEANUP(free_p) char *who = NULL;

	if (r->n)
		(void)printf("%s%*" PRIu64 "%s ",
			     colour_text(colours, COLOUR_YELLOW), NUMBER_WIDTH,
			     r->n, colour_text(colours, COLOUR_NONE));
	else
		(void)printf("%*s ", NUMBER_WIDTH, "-");
	who = r->entry ? entry_authors(r->entry, AUTHOR_WIDTH)
	      : r->n   ? format_text("not kept any more")
		       : format_text("%s", older_text(answer));
	(void)fputs(colour_text(colours, r->n ? COLOUR_NONE : COLOUR_DIM),
		    stdout);
	print_cut(stdout, who, AUTHOR_WIDTH);
	(void)fputs(colour_text(colours, COLOUR_NONE), stdout);
}

static void print_lines(const cJSON *answer, struct blame_text text,
			bool colours)
{
	const cJSON *item;

	cJSON_ArrayForEach (item, json_member(answer, "lines")) {
		struct blame_run r = run_of(answer, item);

		for (uint32_t k = r.start; k <= r.end; k++) {
			const char *line;
			size_t len = next_line(&text, &line);

			print_head(&r, answer, colours);
			(void)printf(" %5" PRIu32 "  ", k);
			print_source(line, len);
		}
	}
}

static void print_json(const cJSON *answer)
{
	const cJSON *item;

	cJSON_ArrayForEach (item, json_member(answer, "lines")) {
		CLEANUP(json_p) cJSON *o = json_object(NULL, NULL);
		struct blame_run r = run_of(answer, item);
		char *line;

		json_put_number(o, "start_line", r.start);
		json_put_number(o, "end_line", r.end);
		if (r.n)
			json_put_number(o, "entry", r.n);
		for (const cJSON *m = r.entry ? r.entry->child : NULL; m;
		     m = m->next)
			if (strcmp(m->string, "n") != 0)
				json_put(o, m->string,
					 must_have(cJSON_Duplicate(m, true)));
		line = must_have(cJSON_PrintUnformatted(o));
		(void)puts(line);
		free(line);
	}
}

/* Without a running tape the file may be ahead of the tape: say so. */
static void warn_if_ahead(const struct tape_reader *t, const char *path,
			  const cJSON *answer, const char *text, size_t len)
{
	CLEANUP(close_p) int fd = -1;
	CLEANUP(free_p) char *now = malloc(len + 1);
	size_t got = 0;
	ssize_t n = 1;

	if (t->client || !now)
		return;
	fd = openat(t->root_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	while (fd >= 0 && got <= len && n > 0) {
		n = read(fd, now + got, len + 1 - got);
		got += n > 0 ? (size_t)n : 0;
	}
	if (fd >= 0 && n >= 0 && got == len && memcmp(now, text, len) == 0)
		return;
	(void)say_error("'%s' has changed since, and no tape is running: these "
			"are the lines as of entry %" PRIu64,
			path, json_number(answer, "n", 0));
}

int blame_lines(struct tape_reader *t, const char *file, bool json)
{
	CLEANUP(free_p) char *path = tape_path(t, file);
	CLEANUP(json_p) cJSON *answer = NULL;
	CLEANUP(free_p) char *why = NULL;
	CLEANUP(free_p) char *text = NULL;
	struct pager pager;
	size_t len = 0;
	int r;

	if (!path)
		return EXIT_FAILURE;
	r = blame_lines_ask(t, path, UINT64_MAX, &answer, &why);
	if (r < 0)
		return say_error("%s", why ? why : errno_text(r));
	text = tape_content(t, json_string(answer, "hash"), &len);
	if (!text)
		return say_error("what '%s' contains is not on the tape", path);
	warn_if_ahead(t, path, answer, text, len);
	if (json) {
		print_json(answer);
		return EXIT_SUCCESS;
	}
	pager_begin(&pager);
	print_lines(answer, (struct blame_text){ text, text + len },
		    pager.colours);
	pager_end(&pager);
	return EXIT_SUCCESS;
}
