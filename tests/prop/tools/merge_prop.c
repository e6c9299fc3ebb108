/*
 * Merges of random texts: what one side alone changed is taken, the sides can
 * be swapped, and the result is that of `git merge-file`. With git, lines are
 * all different, because equal lines can be matched in several right ways.
 */
#include "tools/verb/undo/merge.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/prop/fs/dice.h"

#define ROUNDS	   3000
#define GIT_ROUNDS 200
#define LINES_MAX  24
#define SIZE	   4096
#define NO_GIT	   255 /* exit code: git cannot be run */

static struct dice dice;
static uint64_t seed;
static bool no_git;
static unsigned fresh; /* numbers lines that differ from all others */

struct made {
	char text[SIZE];
	size_t len;
};

static struct merge_text as_text(const struct made *m)
{
	return (struct merge_text){ m->text, m->len };
}

static void add_line(struct made *m, bool unique)
{
	const char *end = dice_one_in(&dice, 9) ? "\r\n" : "\n";
	int n = unique ? snprintf(m->text + m->len, SIZE - m->len, "%u%s",
				  fresh++, end)
		       : snprintf(m->text + m->len, SIZE - m->len, "%c\n",
				  'a' + (int)dice_below(&dice, 4));

	m->len += (size_t)n;
	assert_true(m->len < SIZE);
}

static void cut_end(struct made *m)
{
	if (m->len && dice_one_in(&dice, 5))
		m->len--;
}

static void make(struct made *m, bool unique)
{
	uint64_t lines = dice_below(&dice, LINES_MAX);

	m->len = 0;
	while (lines--)
		add_line(m, unique);
	cut_end(m);
}

/* Keep most lines, drop and insert a few. */
static void change(const struct made *from, struct made *to, bool unique)
{
	const char *at = from->text, *end = from->text + from->len;

	to->len = 0;
	while (at < end) {
		const char *feed = memchr(at, '\n', (size_t)(end - at));
		size_t len = (size_t)((feed ? feed + 1 : end) - at);

		if (dice_one_in(&dice, 8))
			add_line(to, unique);
		if (!dice_one_in(&dice, 8)) {
			memcpy(to->text + to->len, at, len);
			to->len += len;
		}
		at += len;
	}
	if (!to->len || to->text[to->len - 1] == '\n') {
		if (dice_one_in(&dice, 4))
			add_line(to, unique);
		cut_end(to);
	}
}

static bool equals(const struct merge *m, struct merge_text t)
{
	return m->text && m->len == t.len && memcmp(m->text, t.at, t.len) == 0;
}

static void expect(struct merge_text base, struct merge_text mine,
		   struct merge_text theirs, struct merge_text wanted)
{
	struct merge m = { 0 };

	merge_init(&m, base, mine, theirs, MERGE_NONE);
	assert_true(equals(&m, wanted));
	assert_int_equal(m.conflicts_count, 0);
	merge_release(&m);
}

/* The same with the sides swapped; a favoured side is a whole merge too. */
static void expect_symmetry(struct merge_text base, struct merge_text mine,
			    struct merge_text theirs)
{
	struct merge a = { 0 }, b = { 0 };

	for (int f = MERGE_NONE; f <= MERGE_THEIRS; f++) {
		static const enum merge_favour other[] = {
			[MERGE_NONE] = MERGE_NONE,
			[MERGE_MINE] = MERGE_THEIRS,
			[MERGE_THEIRS] = MERGE_MINE,
		};

		merge_init(&a, base, mine, theirs, (enum merge_favour)f);
		merge_init(&b, base, theirs, mine, other[f]);
		assert_int_equal(a.conflicts_count, b.conflicts_count);
		assert_true(!a.text == !b.text);
		assert_true(!a.text == (f == MERGE_NONE && a.conflicts_count));
		if (a.text)
			assert_true(equals(
				&b, (struct merge_text){ a.text, a.len }));
		merge_release(&a);
		merge_release(&b);
	}
}

static void one_side_alone_is_taken_and_sides_can_be_swapped(void **state)
{
	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		struct made base, mine, theirs;
		struct merge_text b, m, t;

		make(&base, false);
		change(&base, &mine, false);
		change(&base, &theirs, false);
		b = as_text(&base);
		m = as_text(&mine);
		t = as_text(&theirs);
		expect(b, m, b, m);
		expect(b, b, t, t);
		expect(b, m, m, m);
		expect_symmetry(b, m, t);
	}
}

static void save(const char *dir, const char *name, const struct made *m)
{
	char path[SIZE];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(m->text, 1, m->len, f), m->len);
	assert_int_equal(fclose(f), 0);
}

/* The number of conflicts. */
static int git(const char *dir, const char *favour, struct made *ret)
{
	int ends[2], status;
	ssize_t n;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		(void)dup2(ends[1], STDOUT_FILENO);
		(void)close(ends[0]);
		(void)close(ends[1]);
		if (chdir(dir) == 0)
			(void)execlp("git", "git", "merge-file", "-p", "-q",
				     favour, "mine", "base", "theirs",
				     (char *)NULL);
		_exit(NO_GIT);
	}
	(void)close(ends[1]);
	ret->len = 0;
	while ((n = read(ends[0], ret->text + ret->len, SIZE - ret->len)) > 0)
		ret->len += (size_t)n;
	(void)close(ends[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	no_git = WEXITSTATUS(status) == NO_GIT;
	assert_true(no_git || WEXITSTATUS(status) < 128);
	return WEXITSTATUS(status);
}

static void compare_with_git(const char *dir)
{
	struct made base, mine, theirs, wanted;
	struct merge m = { 0 };
	static const char *const options[] = {
		[MERGE_NONE] = "--diff3",
		[MERGE_MINE] = "--ours",
		[MERGE_THEIRS] = "--theirs",
	};

	make(&base, true);
	change(&base, &mine, true);
	change(&base, &theirs, true);
	save(dir, "base", &base);
	save(dir, "mine", &mine);
	save(dir, "theirs", &theirs);
	for (int f = MERGE_NONE; f <= MERGE_THEIRS; f++) {
		int conflicts = git(dir, options[f], &wanted);

		if (no_git)
			return;
		merge_init(&m, as_text(&base), as_text(&mine), as_text(&theirs),
			   (enum merge_favour)f);
		if (f == MERGE_NONE)
			assert_int_equal(!m.text, conflicts > 0);
		if (m.text)
			assert_true(equals(&m, as_text(&wanted)));
		merge_release(&m);
	}
}

static void the_result_is_that_of_git(void **state)
{
	char dir[] = "/tmp/merge.XXXXXX", path[64];
	static const char *const names[] = { "base", "mine", "theirs" };

	(void)state;
	assert_non_null(mkdtemp(dir));
	for (int i = 0; i < GIT_ROUNDS && !no_git; i++)
		compare_with_git(dir);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		(void)unlink(path);
	}
	(void)rmdir(dir);
	if (no_git)
		skip();
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			one_side_alone_is_taken_and_sides_can_be_swapped),
		cmocka_unit_test(the_result_is_that_of_git),
	};

	seed = argc > 1 ? strtoull(argv[1], NULL, 0) : (uint64_t)time(NULL);
	(void)printf("seed %" PRIu64 "; to repeat: %s %" PRIu64 "\n", seed,
		     argv[0], seed);
	dice.state = seed;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
