/*
 * A small repository on disk with its graph and store, kept in step without a
 * daemon, for tests that query them.
 */
#ifndef STATETAPE_TESTS_SUPPORT_TAPE_WORLD_H
#define STATETAPE_TESTS_SUPPORT_TAPE_WORLD_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "graph/base/array.h"
#include "graph/diff.h"
#include "graph/facts/lang.h"
#include "graph/graph.h"
#include "tape/journal/journal.h"
#include "tape/query/answers.h"
#include "tape/ranges.h"
#include "tape/store/store.h"
#include "tests/support/scratch.h"

struct tape_world {
	char *dir; /* holds the repository "repo" and the store */
	char *repo;
	int root_fd;
	struct store *store;
	struct graph *g;
	struct lang_readers *reader;
	struct answers *answers;
	int64_t now_ns;
};

static inline void tape_must(bool good, const char *what)
{
	if (good)
		return;
	(void)fprintf(stderr, "tape_world: %s: %s\n", what, strerror(errno));
	abort();
}

static inline int tape_world_sync(void *ctx, const struct answers_wish *wish,
				  struct answers_head *ret)
{
	struct tape_world *w = ctx;

	(void)wish;
	*ret = (struct answers_head){ .n = store_head(w->store),
				      .journal = 7,
				      .ready = true };
	return 0;
}

/* Uses an existing repository, and the given path for the database. */
static inline void tape_world_open(struct tape_world *w, const char *repo,
				   const char *db)
{
	struct answers_config c;
	char *why = NULL;

	w->root_fd = open(repo, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	tape_must(w->root_fd >= 0, repo);
	tape_must(store_open(db, STORE_WRITE, &w->store, &why) == 0, db);
	w->g = graph_new();
	(void)graph_settle(w->g, NULL);
	w->reader = lang_readers_new();
	w->now_ns = INT64_C(1767323045678901234);
	c = (struct answers_config){ .store = w->store,
				     .root_fd = w->root_fd,
				     .sync = tape_world_sync,
				     .ctx = w };
	w->answers = answers_new(&c);
	answers_graph(w->answers, w->g);
	tape_must(answers_fill(w->answers) == 0, "fill");
}

static inline void tape_world_init(struct tape_world *w)
{
	char *path = NULL;

	*w = (struct tape_world){ .root_fd = -1 };
	w->dir = scratch_new();
	tape_must(asprintf(&w->repo, "%s/repo", w->dir) > 0, "memory");
	tape_must(mkdir(w->repo, 0700) == 0, w->repo);
	tape_must(asprintf(&path, "%s/" STORE_NAME, w->dir) > 0, "memory");
	tape_world_open(w, w->repo, path);
	free(path);
}

static inline void tape_world_release(struct tape_world *w)
{
	answers_free(w->answers);
	store_free(w->store);
	graph_free(w->g);
	lang_readers_free(w->reader);
	if (w->root_fd >= 0)
		(void)close(w->root_fd);
	scratch_free(w->dir);
	free(w->repo);
}

/* The text of the file (free it); NULL: no such file. */
static inline char *tape_read(const struct tape_world *w, const char *path)
{
	int fd = openat(w->root_fd, path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	char *text;
	ssize_t n;

	if (fd < 0)
		return NULL;
	tape_must(fstat(fd, &st) == 0, path);
	text = calloc(1, (size_t)st.st_size + 1);
	n = read(fd, text, (size_t)st.st_size);
	tape_must(n == st.st_size, path);
	(void)close(fd);
	return text;
}

static inline void tape_put_file(const struct tape_world *w, const char *path,
				 const char *text)
{
	char copy[4096];
	int fd;

	(void)snprintf(copy, sizeof(copy), "%s", path);
	for (char *s = strchr(copy, '/'); s; s = strchr(s + 1, '/')) {
		*s = '\0';
		(void)mkdirat(w->root_fd, copy, 0700);
		*s = '/';
	}
	fd = openat(w->root_fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
		    0600);
	tape_must(fd >= 0, path);
	tape_must(write(fd, text, strlen(text)) == (ssize_t)strlen(text), path);
	(void)close(fd);
}

typedef ARRAY(struct entry_symbol) tape_symbols;

/*
 * The kind of a symbol from the delta, which also has removed ones; else `is`.
 */
static inline enum symbol_kind tape_kind(const struct graph_delta *d,
					 symbol_t s, enum symbol_kind is)
{
	for (size_t k = 0; k < d->symbols_count; k++)
		if (d->symbols[k].symbol == s)
			return d->symbols[k].kind;
	return is;
}

static inline void tape_set(const struct graph *g, const struct graph_delta *d,
			    const struct diff_set *from, enum entry_set set,
			    tape_symbols *to)
{
	for (size_t k = 0; k < from->count; k++) {
		symbol_t n = from->symbols[k];
		struct symbol s;
		bool there = graph_symbol(g, n, &s);

		array_push(to, ((struct entry_symbol){
				       .name = s.name,
				       .kind = (uint8_t)tape_kind(d, n, s.kind),
				       .set = (uint8_t)set,
				       .removed = set == ENTRY_X && !there }));
	}
}

/* The symbols of the entry, from the delta of the graph. */
static inline void tape_settle(struct tape_world *w, tape_symbols *to)
{
	struct graph_delta delta;
	struct diff d;

	(void)graph_settle(w->g, &delta);
	diff_init(&d, w->g, &delta);
	tape_set(w->g, &delta, &d.x, ENTRY_X, to);
	tape_set(w->g, &delta, &d.extended_x, ENTRY_X, to);
	tape_set(w->g, &delta, &d.dx, ENTRY_DX, to);
	tape_set(w->g, &delta, &d.extended_r, ENTRY_R, to);
	tape_set(w->g, &delta, &d.added, ENTRY_ADDED, to);
	tape_set(w->g, &delta, &d.extended_added, ENTRY_ADDED, to);
	diff_release(&d);
}

static inline void tape_commit(struct tape_world *w, struct entry *e,
			       const char *after)
{
	struct store_file f = { .path = e->path2 ? e->path2 : e->path };

	tape_must(store_begin(w->store) == 0, "begin");
	if (after)
		(void)store_put_content(w->store, e->after, NULL, after,
					strlen(after));
	tape_must(store_append(w->store, e) == 0, "append");
	if (after) {
		f.hash = e->after;
		f.size = strlen(after);
		tape_must(store_put_file(w->store, &f) == 0, "file");
	}
	if (!after || e->path2)
		tape_must(store_remove_file(w->store, e->path) == 0, "file");
	tape_must(store_commit(w->store) == 0, "commit");
	answers_entry(w->answers, e);
}

/*
 * Change the file to `text` (NULL: remove it), by `author` (NULL: unknown).
 * Returns the number of the entry.
 */
static inline uint64_t tape_write(struct tape_world *w, const char *path,
				  const char *text,
				  const struct journal_author *author)
{
	char *before = tape_read(w, path);
	struct ranges l = { .ranges = NULL };
	tape_symbols symbols = { .at = NULL };
	struct entry e = { .path = path,
			   .kind = !before ? ENTRY_CREATE
				   : text  ? ENTRY_EDIT
					   : ENTRY_DELETE,
			   .origin = author ? ENTRY_MOUNT : ENTRY_OUTSIDE,
			   .had = before,
			   .has = text,
			   .bytes = text ? strlen(text) : 0,
			   .author = author,
			   .at_ns = w->now_ns };
	bool partial;

	w->now_ns += 1000000000;
	if (before)
		e.before = XXH3_128bits(before, strlen(before));
	if (text) {
		e.after = XXH3_128bits(text, strlen(text));
		tape_put_file(w, path, text);
	} else {
		(void)unlinkat(w->root_fd, path, 0);
	}
	ranges_init(&l, before ? before : "", before ? strlen(before) : 0,
		    text ? text : "", text ? strlen(text) : 0);
	e.ranges = l.ranges;
	e.ranges_count = l.count;
	e.plus = l.plus;
	e.minus = l.minus;
	if (lang_of(path)) {
		e.syntax = ENTRY_PARSES;
		if (text)
			(void)graph_edit(w->g, w->reader, path, text,
					 strlen(text), &partial);
		else
			(void)graph_remove(w->g, path);
		tape_settle(w, &symbols);
	}
	e.symbols = symbols.at;
	e.symbols_count = symbols.count;
	tape_commit(w, &e, text);
	ranges_release(&l);
	array_release(&symbols);
	free(before);
	return e.n;
}

static inline uint64_t tape_rename(struct tape_world *w, const char *from,
				   const char *to,
				   const struct journal_author *author)
{
	char *text = tape_read(w, from);
	tape_symbols symbols = { .at = NULL };
	struct entry e = { .path = from,
			   .path2 = to,
			   .kind = ENTRY_RENAME,
			   .had = true,
			   .has = true,
			   .mode_before = S_IFREG | 0644,
			   .mode_after = S_IFREG | 0644,
			   .author = author,
			   .at_ns = w->now_ns };

	w->now_ns += 1000000000;
	e.before = e.after = XXH3_128bits(text, strlen(text));
	tape_put_file(w, to, text);
	(void)unlinkat(w->root_fd, from, 0);
	if (lang_of(from) || lang_of(to)) {
		bool partial;

		(void)graph_remove(w->g, from);
		if (lang_of(to))
			(void)graph_edit(w->g, w->reader, to, text,
					 strlen(text), &partial);
		tape_settle(w, &symbols);
	}
	e.symbols = symbols.at;
	e.symbols_count = symbols.count;
	tape_commit(w, &e, text);
	array_release(&symbols);
	free(text);
	return e.n;
}

/* A file that exists before the first entry. */
static inline void tape_base(struct tape_world *w, const char *path,
			     const char *text)
{
	struct store_file f = { .path = path,
				.hash = XXH3_128bits(text, strlen(text)),
				.size = strlen(text) };
	bool partial;

	tape_put_file(w, path, text);
	tape_must(store_begin(w->store) == 0, "begin");
	(void)store_put_content(w->store, f.hash, NULL, text, f.size);
	tape_must(store_put_file(w->store, &f) == 0, "file");
	tape_must(store_commit(w->store) == 0, "commit");
	if (lang_of(path))
		(void)graph_edit(w->g, w->reader, path, text, strlen(text),
				 &partial);
	(void)graph_settle(w->g, NULL);
}

#endif
