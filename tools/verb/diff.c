/*
 * statetape diff: the difference of files between two entries. The entries in
 * between name the files; the hashes of the first and last of them per file
 * name the contents.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/base/array.h"
#include "graph/base/cleanup.h"
#include "graph/base/intern.h"
#include "graph/base/json.h"
#include "graph/base/path.h"
#include "tools/cli/pager.h"
#include "tools/cli/say.h"
#include "tools/cli/verbs.h"
#include "tools/verb/tape.h"
#include "tools/verb/unified.h"

/* A file that was touched; a hash is "" if the file did not exist. */
struct diff_touched {
	char *path;
	char *before, *after;
	bool done; /* needs no more output: printed as a rename, or unchanged */
};

struct touched_list {
	ARRAY(struct diff_touched) files; /* in the order of `paths` */
	struct intern *paths;
};

static void list_release(struct touched_list *l)
{
	for (uint32_t k = 0; k < l->files.count; k++) {
		free(l->files.at[k].path);
		free(l->files.at[k].before);
		free(l->files.at[k].after);
	}
	array_release(&l->files);
	intern_free(l->paths);
}

static void touch(struct touched_list *l, const char *path, const char *before,
		  const char *after)
{
	/* No path is empty, so number 0 is unused. */
	uint32_t n = intern_add(l->paths, path, strlen(path)) - 1;
	struct diff_touched new = { .path = NULL };

	/* The files are numbered as their paths are. */
	assert(n <= l->files.count);
	if (n >= l->files.count) {
		new.path = must_have(strdup(path));
		new.before = must_have(strdup(before));
		array_push(&l->files, new);
	}
	free(l->files.at[n].after);
	l->files.at[n].after = must_have(strdup(after));
}

static const char *text(const cJSON *j, const char *name)
{
	const char *t = json_string(j, name);

	return t ? t : "";
}

struct collecting {
	struct touched_list *files;
	const char *glob; /* NULL: all */
	uint64_t to;
};

static int touch_entry(cJSON *e, void *arg)
{
	const struct collecting *c = arg;
	const char *path = text(e, "path"), *path2 = text(e, "path2");

	if (json_number(e, "n", 0) > c->to)
		return 1;
	if (*path2 && (!c->glob || path_matches(c->glob, path2)))
		touch(c->files, path2, "", text(e, "after"));
	if (*path && (!c->glob || path_matches(c->glob, path)))
		touch(c->files, path, text(e, "before"),
		      *path2 ? "" : text(e, "after"));
	return 0;
}

/* Is there an entry `n`? Prints a message if not. */
static int check_newest(struct tape_reader *t, uint64_t n)
{
	CLEANUP(json_p) cJSON *q = json_object(NULL, NULL);
	CLEANUP(json_p) cJSON *answer = NULL;
	int r;

	if (n == 0 || n == UINT64_MAX)
		return 0;
	json_put_number(q, "n", n);
	r = tape_ask(t, "SHOW", q, &answer);
	return r;
}

/* Collect the files touched by entries after `from`, up to `to`. */
static int collect(struct tape_reader *t, uint64_t from, uint64_t to,
		   const char *glob, struct touched_list *l)
{
	struct collecting c = { .files = l, .glob = glob, .to = to };
	int r = from < to ? tape_each(t, from, touch_entry, &c) : 0;

	return r < 0 ? r : 0;
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct diff_touched *)a)->path,
		      ((const struct diff_touched *)b)->path);
}

static struct unified_side side(struct tape_reader *t,
				const struct diff_touched *f, const char *hash,
				char **keep)
{
	struct unified_side s = { .text = "" };

	if (!*hash)
		return s;
	s.name = f->path;
	*keep = tape_content(t, hash, &s.len);
	s.text = *keep;
	return s;
}

static void print_file(struct tape_reader *t, const struct diff_touched *f,
		       struct unified_style style)
{
	CLEANUP(free_p) char *keep_before = NULL;
	CLEANUP(free_p) char *keep_after = NULL;
	struct unified_side before = side(t, f, f->before, &keep_before);
	struct unified_side after = side(t, f, f->after, &keep_after);

	if (before.text && after.text) {
		unified_print(stdout, &before, &after, style);
		return;
	}
	(void)print_safe(stdout, f->path);
	(void)puts(": differs, but the tape has not kept its content");
}

static void print_renamed(const struct diff_touched *from,
			  const struct diff_touched *to)
{
	(void)fputs("diff --git a/", stdout);
	(void)print_safe(stdout, from->path);
	(void)fputs(" b/", stdout);
	(void)print_safe(stdout, to->path);
	(void)fputs("\nsimilarity index 100%\nrename from ", stdout);
	(void)print_safe(stdout, from->path);
	(void)fputs("\nrename to ", stdout);
	(void)print_safe(stdout, to->path);
	(void)putchar('\n');
}

static int by_content(const void *a, const void *b)
{
	const struct diff_touched *x = *(struct diff_touched *const *)a;
	const struct diff_touched *y = *(struct diff_touched *const *)b;
	int order = strcmp(x->after, y->after);

	return order ? order : strcmp(x->path, y->path);
}

/* Added files, by content. */
struct newcomers {
	ARRAY(void *) files; /* struct diff_touched */
};

static struct diff_touched *find_content(const struct newcomers *c,
					 const char *hash)
{
	uint32_t low = 0, high = c->files.count;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		const struct diff_touched *f = c->files.at[mid];

		if (strcmp(f->after, hash) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	for (; low < c->files.count; low++) {
		struct diff_touched *f = c->files.at[low];

		if (strcmp(f->after, hash) != 0)
			break;
		if (!f->done)
			return f;
	}
	return NULL;
}

/* A removed file and an added one of the same content are one rename. */
static void print_renames(struct touched_list *l)
{
	struct newcomers came = { .files = { 0 } };

	for (uint32_t k = 0; k < l->files.count; k++)
		if (!*l->files.at[k].before && *l->files.at[k].after)
			array_push(&came.files, &l->files.at[k]);
	if (came.files.count)
		qsort(came.files.at, came.files.count, sizeof(*came.files.at),
		      by_content);
	for (uint32_t k = 0; k < l->files.count; k++) {
		struct diff_touched *f = &l->files.at[k], *to;

		if (*f->after || !*f->before)
			continue;
		to = find_content(&came, f->before);
		if (!to)
			continue;
		f->done = to->done = true;
		print_renamed(f, to);
	}
	array_release(&came.files);
}

static void print_all(struct tape_reader *t, struct touched_list *l, bool back,
		      struct unified_style style)
{
	if (l->files.count)
		qsort(l->files.at, l->files.count, sizeof(*l->files.at),
		      by_path);
	for (uint32_t k = 0; k < l->files.count; k++) {
		struct diff_touched *f = &l->files.at[k];
		char *swap = f->before;

		f->done = strcmp(f->before, f->after) == 0;
		if (!back)
			continue;
		f->before = f->after;
		f->after = swap;
	}
	print_renames(l);
	for (uint32_t k = 0; k < l->files.count && !ferror(stdout); k++)
		if (!l->files.at[k].done)
			print_file(t, &l->files.at[k], style);
}

static bool number_of(const char *text_of, uint64_t *ret)
{
	char *end;

	if (strcmp(text_of, "now") == 0) {
		*ret = UINT64_MAX;
		return true;
	}
	errno = 0;
	*ret = strtoull(text_of, &end, 10);
	return *text_of >= '0' && *text_of <= '9' && !*end && !errno;
}

int verb_diff(const struct invocation *in)
{
	CLEANUP(tape_release) struct tape_reader t = TAPE_NONE;
	CLEANUP(list_release) struct touched_list l = { .files = { 0 } };
	CLEANUP(free_p) char *path = NULL;
	struct pager pager;
	uint64_t from, to;
	bool back;

	if (!number_of(in->arguments[0], &from) ||
	    !number_of(in->arguments[1], &to))
		return say_usage_error(
			"diff wants the numbers of two entries; "
			"0 is before the first, 'now' the newest");
	if (tape_open_for(in, in->options[OPTION_REPO].text, false, &t) < 0)
		return EXIT_FAILURE;
	if (check_newest(&t, from) < 0 || check_newest(&t, to) < 0)
		return EXIT_FAILURE;
	l.paths = intern_new();
	if (in->arguments[2]) {
		path = tape_path(&t, in->arguments[2]);
		if (!path)
			return EXIT_FAILURE;
	}
	back = from > to;
	if (collect(&t, back ? to : from, back ? from : to, path, &l) < 0)
		return EXIT_FAILURE;
	pager_begin(&pager);
	print_all(&t, &l, back,
		  (struct unified_style){ .terminal = pager.terminal,
					  .colours = pager.colours });
	pager_end(&pager);
	return EXIT_SUCCESS;
}
