/* A store in a scratch directory, and entries to put into it. */
#ifndef STATETAPE_TESTS_SUPPORT_STORE_WORLD_H
#define STATETAPE_TESTS_SUPPORT_STORE_WORLD_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include <cmocka.h>

#include "tape/journal/journal.h"
#include "tape/store/store.h"
#include "tests/support/scratch.h"

#define SECOND INT64_C(1000000000)

struct world {
	char *dir;
	char *path; /* of the database */
	struct store *s;
	char *why;
	char said[4096]; /* verify's findings, a line each */
	int findings;
};

static inline void world_open(struct world *w, enum store_mode mode)
{
	free(w->why);
	assert_int_equal(store_open(w->path, mode, &w->s, &w->why), 0);
	assert_null(w->why);
}

static inline void world_close(struct world *w)
{
	store_free(w->s);
	w->s = NULL;
}

static inline int world_setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	/* On tmpfs if possible: closing a store syncs. */
	if (access("/dev/shm", W_OK) == 0)
		/* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread. */
		(void)setenv("TMPDIR", "/dev/shm", 1);
	w->dir = scratch_new();
	assert_non_null(w->dir);
	assert_true(asprintf(&w->path, "%s/%s", w->dir, STORE_NAME) > 0);
	world_open(w, STORE_WRITE);
	*state = w;
	return 0;
}

static inline int world_teardown(void **state)
{
	struct world *w = *state;

	store_free(w->s);
	scratch_free(w->dir);
	free(w->path);
	free(w->why);
	free(w);
	return 0;
}

static inline XXH128_hash_t hash_of(const char *text)
{
	return XXH3_128bits(text, strlen(text));
}

static inline void assert_hash(XXH128_hash_t a, XXH128_hash_t b)
{
	assert_true(XXH128_isEqual(a, b));
}

/* A change of `path` from one text to another; NULL: no file. */
static inline struct entry change(const char *path, const char *before,
				  const char *after)
{
	struct entry e = {
		.at_ns = SECOND,
		.kind = !before ? ENTRY_CREATE
			: after ? ENTRY_EDIT
				: ENTRY_DELETE,
		.path = path,
		.had = before != NULL,
		.has = after != NULL,
	};

	if (before)
		e.before = hash_of(before);
	if (after) {
		e.after = hash_of(after);
		e.bytes = strlen(after);
	}
	return e;
}

/*
 * Appends the entry in a transaction of its own, with content and file state.
 */
static inline uint64_t put_change(struct store *s, struct entry *e,
				  const char *after)
{
	struct store_file f = { .path = e->path2 ? e->path2 : e->path };

	assert_int_equal(store_begin(s), 0);
	if (after)
		assert_int_equal(store_put_content(s, hash_of(after), NULL,
						   after, strlen(after)),
				 0);
	assert_int_equal(store_append(s, e), 0);
	if (after) {
		f.hash = hash_of(after);
		f.size = strlen(after);
		assert_int_equal(store_put_file(s, &f), 0);
	}
	if (!after || e->path2)
		assert_int_equal(store_remove_file(s, e->path), 0);
	assert_int_equal(store_commit(s), 0);
	return e->n;
}

/* One change of one path, as put_change() writes it. */
static inline uint64_t put(struct store *s, const char *path,
			   const char *before, const char *after)
{
	struct entry e = change(path, before, after);

	return put_change(s, &e, after);
}

/* A file that exists before the first entry. */
static inline void put_base(struct store *s, const char *path, const char *text)
{
	struct store_file f = { .path = path,
				.hash = hash_of(text),
				.size = strlen(text) };

	assert_int_equal(store_begin(s), 0);
	assert_int_equal(store_put_content(s, f.hash, NULL, text, f.size), 0);
	assert_int_equal(store_put_file(s, &f), 0);
	assert_int_equal(store_commit(s), 0);
}

static inline void world_found(enum store_fault fault, const char *sentence,
			       void *arg)
{
	(void)fault;
	struct world *w = arg;
	size_t len = strlen(w->said);

	w->findings++;
	(void)snprintf(w->said + len, sizeof(w->said) - len, "%s\n", sentence);
}

#endif
