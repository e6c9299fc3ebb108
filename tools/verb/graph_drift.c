/*
 * statetape graph diff, follow: the effect of a change on the graph. Both
 * update one graph incrementally; neither builds a second one.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/base/clock.h"
#include "graph/build/tree.h"
#include "graph/facts/lang.h"
#include "tools/cli/say.h"
#include "tools/cli/verbs.h"
#include "tools/verb/code.h"

/* A graph and what is needed to update it. */
struct drift_run {
	struct code code;
	struct lang_readers *reader;
	struct buf text;
};

static void drift_release(struct drift_run *d)
{
	code_release(&d->code);
	lang_readers_free(d->reader);
	buf_release(&d->text);
}

#define DRIFT_EMPTY                                   \
	{                                             \
		.code = CODE_EMPTY, .text = TREE_TEXT \
	}

static int drift_open(const struct invocation *in, const char *repo,
		      struct drift_run *d)
{
	d->reader = must_have(lang_readers_new());
	return code_open(in, repo, &d->code);
}

/* The effect of all changes since the last call. */
static int settle(struct drift_run *d, struct diff *ret)
{
	struct graph_delta delta = { 0 };
	int r = graph_settle(d->code.graph, &delta);

	if (r == 0)
		diff_init(ret, d->code.graph, &delta);
	return r;
}

/* diff */

/* Is the file the same in both trees? */
static bool is_same(struct drift_run *d, int after_fd,
		    const struct tree_file *a, const struct tree_file *b,
		    struct buf *other)
{
	return a->stamp.size == b->stamp.size &&
	       tree_read(d->code.root_fd, a->path, &d->text, NULL) == 0 &&
	       tree_read(after_fd, b->path, other, NULL) == 0 &&
	       d->text.len == other->len &&
	       memcmp(d->text.data, other->data, other->len) == 0;
}

/* A position in both sorted lists. */
struct pairing {
	const struct tree *before, *after;
	size_t i, k;
};

/* Which list's next path comes first: < 0: before's, 0: they are equal. */
static int compare_next(const struct pairing *p)
{
	if (p->i == p->before->count)
		return 1;
	if (p->k == p->after->count)
		return -1;
	return strcmp(p->before->files[p->i].path, p->after->files[p->k].path);
}

static int refresh_differences(struct drift_run *d, int after_fd,
			       struct pairing p)
{
	CLEANUP(buf_release) struct buf other = TREE_TEXT;
	int r = 0;

	while (r == 0 && (p.i < p.before->count || p.k < p.after->count)) {
		int order = compare_next(&p);
		const struct tree_file *f = order <= 0 ? &p.before->files[p.i]
						       : &p.after->files[p.k];

		if (order != 0 ||
		    !is_same(d, after_fd, f, &p.after->files[p.k], &other))
			r = build_refresh(d->code.graph, d->reader, after_fd,
					  f->path, &d->text);
		p.i += order <= 0;
		p.k += order >= 0;
	}
	return r;
}

static int make_after(struct drift_run *d, int after_fd)
{
	CLEANUP(tree_release) struct tree before = { 0 };
	CLEANUP(tree_release) struct tree after = { 0 };
	int r = tree_list(d->code.root_fd, "", 1, &before);

	if (r == 0)
		r = tree_list(after_fd, "", 1, &after);
	if (r < 0)
		return r;
	return refresh_differences(
		d, after_fd,
		(struct pairing){ .before = &before, .after = &after });
}

static void print_set(const struct graph *g, const char *title, enum colour c,
		      const struct diff_set *set)
{
	bool colours = colour_wanted(stdout);

	if (!set->count)
		return;
	(void)printf("%s%s%s\n", colour_text(colours, c), title,
		     colour_text(colours, COLOUR_NONE));
	for (size_t i = 0; i < set->count; i++) {
		(void)fputs("  ", stdout);
		(void)print_safe(stdout, code_name(g, set->symbols[i]));
		(void)putchar('\n');
	}
}

static void print_diff(const struct graph *g, const struct diff *d)
{
	print_set(g, "removed or changed", COLOUR_RED, &d->x);
	print_set(g, "called or calling differently", COLOUR_YELLOW, &d->dx);
	print_set(g, "added", COLOUR_GREEN, &d->added);
	print_set(g, "modules and variables removed or changed", COLOUR_RED,
		  &d->extended_x);
	print_set(g, "reading or naming something else", COLOUR_YELLOW,
		  &d->extended_r);
	if (!d->x.count && !d->dx.count && !d->added.count &&
	    !d->extended_x.count && !d->extended_r.count)
		(void)puts("No symbol differs.");
}

int verb_graph_diff(const struct invocation *in)
{
	CLEANUP(drift_release) struct drift_run d = DRIFT_EMPTY;
	CLEANUP(diff_release) struct diff diff = { 0 };
	CLEANUP(close_p) int after_fd = -1;
	int r;

	if (code_open_dir(in->arguments[1], &after_fd) < 0 ||
	    drift_open(NULL, in->arguments[0], &d) < 0)
		return EXIT_FAILURE;
	r = make_after(&d, after_fd);
	if (r == 0)
		r = settle(&d, &diff);
	if (r < 0)
		return say_error("'%s' cannot be compared: %s",
				 in->arguments[1], errno_text(r));
	if (!in->options[OPTION_JSON].given) {
		print_diff(d.code.graph, &diff);
		return EXIT_SUCCESS;
	}
	(void)putchar('{');
	code_json_diff(stdout, d.code.graph, &diff);
	(void)puts("}");
	return EXIT_SUCCESS;
}

/* follow */

#define ABOUT_MAX 200 /* bytes shown of a line that makes no sense */

static void answer_error(const char *what, const char *about)
{
	CLEANUP(free_p)
	char *text = format_text("%.*s%s: %s", ABOUT_MAX, about,
				 strlen(about) > ABOUT_MAX ? "..." : "", what);

	(void)putchar('{');
	code_json_text(stdout, "error", text);
	(void)puts("}");
}

/*
 * The next path in *line, cut out; NULL: no more. Directories may end in a
 * slash; the whole repository is ".".
 */
static char *next_path(char **line)
{
	char *path;
	size_t len;

	do
		path = strsep(line, "\t");
	while (path && !*path);
	if (!path)
		return NULL;
	for (len = strlen(path); len > 1 && path[len - 1] == '/'; len--)
		path[len - 1] = '\0';
	while (strncmp(path, "./", 2) == 0)
		path += 2;
	return path;
}

static bool is_all(const char *path)
{
	return strcmp(path, ".") == 0;
}

/* Are all paths valid? If not, answers with an error. */
static bool are_paths(const char *line)
{
	CLEANUP(free_p) char *copy = must_have(strdup(line));
	char *rest = copy, *path;

	while ((path = next_path(&rest)))
		if (!is_all(path) && !tree_is_path(path)) {
			answer_error("not a path relative to the repository",
				     path);
			return false;
		}
	return true;
}

static int refresh(struct drift_run *d, char *line)
{
	char *path;
	int r = 0;

	while (r == 0 && (path = next_path(&line)))
		r = build_refresh(d->code.graph, d->reader, d->code.root_fd,
				  is_all(path) ? "" : path, &d->text);
	return r;
}

static void answer_paths(struct drift_run *d, char *line)
{
	CLEANUP(diff_release) struct diff diff = { 0 };
	uint64_t began = (uint64_t)clock_mono_ns() / 1000, us;
	int r;

	if (!are_paths(line))
		return;
	r = refresh(d, line);
	if (r == 0)
		r = settle(d, &diff);
	us = (uint64_t)clock_mono_ns() / 1000 - began;
	if (r < 0) {
		answer_error(errno_text(r), "the graph");
		return;
	}
	(void)putchar('{');
	code_json_diff(stdout, d->code.graph, &diff);
	(void)putchar(',');
	code_json_number(stdout, "us", us);
	(void)puts("}");
}

static void answer(struct drift_run *d, char *line)
{
	if (*line != '!') {
		answer_paths(d, line);
	} else if (strcmp(line, "!symbols") == 0) {
		code_json_symbols(stdout, d->code.graph, false);
		(void)putchar('\n');
	} else if (strcmp(line, "!edges") == 0) {
		code_json_edges(stdout, d->code.graph, EDGES_E);
		(void)putchar('\n');
	} else {
		answer_error("there are !symbols and !edges", line);
	}
}

int verb_graph_follow(const struct invocation *in)
{
	CLEANUP(drift_release) struct drift_run d = DRIFT_EMPTY;
	CLEANUP(free_p) char *line = NULL;
	size_t size = 0;
	ssize_t len;

	if (drift_open(in, in->arguments[0], &d) < 0)
		return EXIT_FAILURE;
	while ((len = getline(&line, &size, stdin)) >= 0) {
		if (len && line[len - 1] == '\n')
			line[--len] = '\0';
		if (strlen(line) == (size_t)len)
			answer(&d, line);
		else
			answer_error("no path has a NUL in it", line);
		/*
		 * The reader closed the pipe, or the disk is full: main()
		 * reports it.
		 */
		if (fflush(stdout) != 0)
			break;
	}
	return EXIT_SUCCESS;
}
