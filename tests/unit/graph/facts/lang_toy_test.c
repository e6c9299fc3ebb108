/*
 * A second language. This program defines lang_all[] itself, so that it links
 * without languages.c. The language is Python under another suffix and id, read
 * by Python's reader; it counts what it is asked to do.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "graph/base/cleanup.h"
#include "graph/build/build.h"
#include "graph/build/cache.h"
#include "graph/facts/facts.h"
#include "graph/facts/lang.h"
#include "graph/graph.h"
#include "tests/support/scratch.h"

#define LANG_TOY 7

/* Calls since the test began; the builds here have one thread. */
static struct {
	int readers, reads, units;
} asked;

static void *toy_new(void)
{
	asked.readers++;
	return lang_python.reader_new();
}

static struct facts *as_toy(struct facts *f)
{
	if (f)
		f->lang = LANG_TOY;
	return f;
}

static struct facts *toy_read(void *r, const char *text, size_t len)
{
	asked.reads++;
	return as_toy(lang_python.read(r, text, len));
}

static struct facts *toy_read_unit(void *r, const char *text, size_t len,
				   size_t indent, bool method)
{
	asked.units++;
	return as_toy(lang_python.read_unit(r, text, len, indent, method));
}

static bool toy_is_vast(void *r, const char *text, size_t len)
{
	return lang_python.is_vast(r, text, len);
}

static void toy_free(void *r)
{
	lang_python.reader_free(r);
}

static const char *const suffixes[] = { ".toy", ".toyish", NULL };

static const struct lang lang_toy = {
	.id = LANG_TOY,
	.version = 1,
	.name = "toy",
	.suffixes = suffixes,
	.reader_new = toy_new,
	.reader_free = toy_free,
	.read = toy_read,
	.read_unit = toy_read_unit,
	.is_vast = toy_is_vast,
};

const struct lang *const lang_all[] = { &lang_python, &lang_toy, NULL };

static int forget_calls(void **state)
{
	(void)state;
	memset(&asked, 0, sizeof(asked));
	return 0;
}

#define TEXT "def f():\n    return g()\n\n\ndef g():\n    pass\n"

static void a_path_is_read_by_its_own_language(void **state)
{
	static const struct {
		const char *path;
		unsigned id;
	} cases[] = {
		{ "a.py", LANG_PYTHON },
		{ "a.toy", LANG_TOY },
		{ "b/a.toyish", LANG_TOY },
		{ "a.toy.py", LANG_PYTHON },
	};
	struct lang_readers *rs = lang_readers_new();

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct facts *f =
			lang_read(rs, cases[i].path, TEXT, sizeof(TEXT) - 1);

		assert_non_null(f);
		assert_int_equal(f->lang, cases[i].id);
		assert_int_equal(facts_check(f, f->size), 0);
		free(f);
	}
	assert_int_equal(asked.reads, 2);
	lang_readers_free(rs);
}

static void a_reader_is_made_when_its_language_is_met(void **state)
{
	struct lang_readers *rs = lang_readers_new();

	(void)state;
	free(lang_read(rs, "a.py", TEXT, sizeof(TEXT) - 1));
	assert_int_equal(asked.readers, 0);
	free(lang_read(rs, "a.toy", TEXT, sizeof(TEXT) - 1));
	free(lang_read(rs, "b.toy", TEXT, sizeof(TEXT) - 1));
	assert_int_equal(asked.readers, 1);
	lang_readers_free(rs);
}

static void an_edit_is_read_by_the_language_of_its_file(void **state)
{
	static const char after[] =
		"def f():\n    return g(1)\n\n\ndef g():\n    pass\n";
	struct lang_readers *rs = lang_readers_new();
	struct graph *g = graph_new();
	bool partial = false;

	(void)state;
	assert_int_equal(
		graph_edit(g, rs, "m.toy", TEXT, sizeof(TEXT) - 1, &partial),
		0);
	assert_false(partial);
	assert_int_equal(graph_settle(g, NULL), 0);
	assert_int_equal(
		graph_edit(g, rs, "m.toy", after, sizeof(after) - 1, &partial),
		0);
	assert_true(partial);
	assert_int_equal(asked.reads, 1);
	assert_int_equal(asked.units, 1);
	graph_free(g);
	lang_readers_free(rs);
}

/* A repository, and a place for its cache. */
struct world {
	char *dir;
	int root_fd, state_fd;
};

static struct world world_new(void)
{
	struct world w = { .dir = scratch_new() };
	CLEANUP(close_p) int fd = open(w.dir, O_RDONLY | O_DIRECTORY);

	assert_int_equal(mkdirat(fd, "repo", 0755), 0);
	assert_int_equal(mkdirat(fd, "state", 0755), 0);
	w.root_fd = openat(fd, "repo", O_RDONLY | O_DIRECTORY);
	w.state_fd = openat(fd, "state", O_RDONLY | O_DIRECTORY);
	assert_true(w.root_fd >= 0 && w.state_fd >= 0);
	return w;
}

static void world_release(struct world *w)
{
	(void)close(w->root_fd);
	(void)close(w->state_fd);
	scratch_free(w->dir);
}

static void put(const struct world *w, const char *path)
{
	CLEANUP(close_p)
	int fd = openat(w->root_fd, path, O_WRONLY | O_CREAT, 0644);

	assert_int_equal(write(fd, TEXT, sizeof(TEXT) - 1), sizeof(TEXT) - 1);
}

static size_t parsed(const struct world *w)
{
	const struct build b = { .root_fd = w->root_fd,
				 .state_fd = w->state_fd,
				 .trust = BUILD_BY_HASH,
				 .threads = 1 };
	struct build_report report = { 0 };
	struct graph *g = graph_new();

	assert_int_equal(build_all(&b, g, &report), 0);
	assert_int_equal(report.cache_error, 0);
	graph_free(g);
	return report.parsed;
}

static void the_same_bytes_are_cached_once_per_language(void **state)
{
	CLEANUP(world_release) struct world w = world_new();
	XXH128_hash_t hash = XXH3_128bits(TEXT, sizeof(TEXT) - 1);
	struct cache *c = NULL;

	(void)state;
	put(&w, "a.py");
	assert_int_equal(parsed(&w), 1);
	put(&w, "b.toy");
	assert_int_equal(parsed(&w), 1);
	assert_int_equal(asked.reads, 1);
	put(&w, "c.py");
	put(&w, "c.toy");
	assert_int_equal(parsed(&w), 0);
	assert_int_equal(cache_open(w.state_fd, &c), 0);
	for (const struct lang *const *l = lang_all; *l; l++) {
		const struct cache_entry *e = cache_find_hash(c, *l, hash);

		assert_non_null(e);
		assert_int_equal(e->lang, (*l)->id);
		assert_int_equal(cache_facts(c, e)->lang, (*l)->id);
	}
	cache_free(c);
}

#define EACH(test) cmocka_unit_test_setup(test, forget_calls)

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH(a_path_is_read_by_its_own_language),
		EACH(a_reader_is_made_when_its_language_is_met),
		EACH(an_edit_is_read_by_the_language_of_its_file),
		EACH(the_same_bytes_are_cached_once_per_language),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
