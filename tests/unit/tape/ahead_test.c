#include "tape/ahead.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "graph/base/cleanup.h"
#include "graph/build/team.h"
#include "graph/facts/facts.h"
#include "tape/care.h"
#include "tests/support/scratch.h"

struct world {
	char *dir;
	int fd;
	struct care *care;
	struct ahead *ahead;
};

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	w->dir = scratch_new();
	w->fd = open(w->dir, O_RDONLY | O_DIRECTORY);
	if (care_open(w->fd, &w->care) < 0)
		return -1;
	w->ahead = ahead_new(w->fd, w->care);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	ahead_free(w->ahead);
	care_free(w->care);
	(void)close(w->fd);
	scratch_free(w->dir);
	free(w);
	return 0;
}

/* Its hash, too. */
static XXH128_hash_t put(const struct world *w, const char *path,
			 const char *text)
{
	int fd = openat(w->fd, path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	(void)close(fd);
	return XXH3_128bits(text, strlen(text));
}

/* Facts with this many functions, or none: no helper had begun. */
static bool is_taken(const struct world *w, const char *path,
		     XXH128_hash_t hash, uint32_t functions)
{
	struct facts *f = ahead_take(w->ahead, path, hash);

	if (!f)
		return false;
	assert_int_equal(f->units_count, functions + 1);
	free(f);
	return true;
}

/* Helpers begin when they like, so it is tried until they were first. */
static void what_was_read_ahead_is_taken_once(void **state)
{
	const struct world *w = *state;
	XXH128_hash_t hash = put(w, "a.py", "def f(): pass\n");

	if (team_processors() < 2)
		skip();
	do
		ahead_expect(w->ahead, "a.py");
	while (!is_taken(w, "a.py", hash, 1));
	assert_false(is_taken(w, "a.py", hash, 1));
}

static void another_text_is_not_taken(void **state)
{
	const struct world *w = *state;
	XXH128_hash_t before = put(w, "a.py", "def f(): pass\n");
	XXH128_hash_t other = XXH3_128bits("x", 1);

	for (int i = 0; i < 200; i++) {
		ahead_expect(w->ahead, "a.py");
		assert_false(is_taken(w, "a.py", other, 1));
		ahead_written(w->ahead, "a.py");
		(void)is_taken(w, "a.py", before, 1);
	}
}

/* Whatever helpers saw on the way, facts are those of the hash. */
static void a_file_written_again_and_again_is_never_mistaken(void **state)
{
	const struct world *w = *state;
	static const char line[] = "def f(): pass\n";
	char text[40 * sizeof(line)] = "";

	for (uint32_t i = 0; i < 40; i++) {
		XXH128_hash_t hash;

		(void)mempcpy(text + i * strlen(line), line, strlen(line));
		hash = put(w, "a.py", text);
		ahead_written(w->ahead, "a.py");
		if (i % 3)
			(void)is_taken(w, "a.py", hash, i + 1);
	}
}

static void what_is_no_file_of_ours_has_none(void **state)
{
	const struct world *w = *state;
	XXH128_hash_t hash = put(w, "a.txt", "def f(): pass\n");

	ahead_written(w->ahead, "a.txt");
	assert_false(is_taken(w, "a.txt", hash, 1));
	ahead_written(w->ahead, "absent.py");
	assert_false(is_taken(w, "absent.py", hash, 1));
	assert_false(is_taken(w, "never.py", hash, 1));
}

static void many_are_cleared_and_come_again(void **state)
{
	const struct world *w = *state;
	XXH128_hash_t hash = { 0 };
	char path[32];

	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 300; i++) {
			(void)snprintf(path, sizeof(path), "m%d.py", i);
			hash = put(w, path, "def f(): pass\n");
			ahead_written(w->ahead, path);
		}
		for (int i = 0; i < 300; i += 3) {
			(void)snprintf(path, sizeof(path), "m%d.py", i);
			(void)is_taken(w, path, hash, 1);
		}
		ahead_clear(w->ahead);
	}
	/* Some may still be in a helper's hands: they go with it. */
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(what_was_read_ahead_is_taken_once),
		TEST(another_text_is_not_taken),
		TEST(a_file_written_again_and_again_is_never_mistaken),
		TEST(what_is_no_file_of_ours_has_none),
		TEST(many_are_cleared_and_come_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
