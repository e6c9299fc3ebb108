/*
 * Random sessions through the brain: no stale record is sent unflagged in any
 * mode but off; the cached part changes only at an epoch; the same session
 * gives the same bytes, with or without a restart in the middle; several
 * sessions run at once.
 *
 * Usage: brain_prop [SEED]. The seed is printed.
 */
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "manager/decide/decide.h"
#include "manager/decide/linediff.h"
#include "tests/prop/fs/dice.h"
#include "tests/support/scratch.h"
#include "tests/support/session.h"

#define FILES	 5
#define SESSIONS 12
#define STEPS	 50

static uint64_t seed;

static const char *const paths[FILES] = { "a.py", "b.py", "pkg/c.py",
					  "pkg/d.md", "e.txt" };

static void step(struct session *s, struct dice *d)
{
	const char *path = paths[dice_below(d, FILES)];
	uint32_t lines = session_lines(s, path);
	uint32_t line = 1 + (uint32_t)dice_below(d, lines);
	char text[32];

	(void)snprintf(text, sizeof(text), "x%llu",
		       (unsigned long long)dice_below(d, 1000));
	switch (dice_below(d, 8)) {
	case 0:
	case 1:
		session_read(s, path, 0, 0);
		break;
	case 2:
		session_read(s, path, line, 20);
		break;
	case 3:
		session_edit(s, path, line, text);
		break;
	case 4:
		session_sed(s, path, line, text);
		break;
	case 5:
		session_outside(s, path, line, text);
		session_run(s, "pytest -q", 300, paths, 2);
		break;
	case 6:
		session_run(s, "python tool.py", 300, paths + 1, 2);
		break;
	default:
		session_say(s, 100);
		break;
	}
	if (dice_one_in(d, 25))
		session_wait(s, 1000);
	if (dice_one_in(d, 60))
		session_compact(s);
}

static struct session_totals play(enum mode mode, uint64_t from,
				  const char *dir, uint32_t restart)
{
	struct dice d = { from };
	struct session *s = session_new(mode, dir, "prop");
	struct session_totals t;

	for (uint32_t i = 0; i < FILES; i++)
		session_file(s, paths[i], 60 + 40 * i, from + i);
	session_request(s);
	for (uint32_t i = 0; i < STEPS; i++) {
		step(s, &d);
		session_request(s);
		if (restart && i == restart)
			session_restart(s);
	}
	t = session_totals(s);
	session_free(s);
	return t;
}

static void nothing_stale_goes_unflagged(void **state)
{
	uint32_t otherwise = 0;

	(void)state;
	for (uint64_t i = 0; i < SESSIONS; i++) {
		struct session_totals off = play(MODE_OFF, seed + i, NULL, 0);
		struct session_totals p = play(MODE_PINNED, seed + i, NULL, 0);
		struct session_totals e = play(MODE_EAGER, seed + i, NULL, 0);

		if (p.unflagged || e.unflagged)
			print_message("session %" PRIu64 "\n", seed + i);
		otherwise += off.unflagged;
		assert_int_equal(p.unflagged, 0);
		assert_int_equal(e.unflagged, 0);
	}
	assert_true(otherwise > 0);
}

static void a_restart_changes_no_byte(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 4; i++) {
		char *one = scratch_new(), *two = scratch_new();
		struct session_totals a, b;

		a = play(MODE_PINNED, seed + i, one, 0);
		b = play(MODE_PINNED, seed + i, two, 10 + (uint32_t)i * 9);
		assert_true(a.sent_hash == b.sent_hash);
		scratch_free(one);
		scratch_free(two);
	}
}

static void *thread(void *arg)
{
	uint64_t *from = arg;
	struct session_totals t = play(MODE_PINNED, *from, NULL, 0);

	*from = t.sent_hash;
	return NULL;
}

static void sessions_side_by_side_are_as_they_are_alone(void **state)
{
	pthread_t threads[4];
	uint64_t hashes[4];

	(void)state;
	for (uint64_t i = 0; i < 4; i++) {
		hashes[i] = seed + i;
		assert_int_equal(
			pthread_create(&threads[i], NULL, thread, &hashes[i]),
			0);
	}
	for (uint64_t i = 0; i < 4; i++) {
		(void)pthread_join(threads[i], NULL);
		assert_true(hashes[i] ==
			    play(MODE_PINNED, seed + i, NULL, 0).sent_hash);
	}
}

/* -- Decisions over random values. */

static void a_decision_keeps_its_promises(void **state)
{
	static const struct price usual = { "*", 0.1, 1.25, 300, 200000, 1024 };
	struct dice d = { seed };

	(void)state;
	for (int round = 0; round < 20000; round++) {
		struct stale stale[6];
		enum decision a[6], b[6];
		size_t n = dice_below(&d, 7);
		struct situation s = {
			.mode = (enum mode)dice_below(&d, MODES),
			.notes_only = dice_one_in(&d, 5),
			.cached = (uint32_t)dice_below(&d, 40),
			.since_epoch = (uint32_t)dice_below(&d, 40),
			.expected = (uint32_t)dice_below(&d, 31),
			.tokens = dice_below(&d, 200000),
			.price = &usual,
		};
		enum epoch epoch;

		for (size_t i = 0; i < n; i++)
			stale[i] = (struct stale){
				.item = (uint32_t)(i * 7),
				.action = (enum action)(
					1 + dice_below(&d, ACTIONS - 1)),
				.unnotified = dice_one_in(&d, 2),
				.pending = dice_one_in(&d, 2),
				.tokens = dice_below(&d, 9000),
				.replaced = dice_below(&d, 3000),
				.behind = (6 - i) * 5000,
			};
		epoch = decide(&s, stale, n, NULL, 0, a);
		assert_int_equal(decide(&s, stale, n, NULL, 0, b), epoch);
		for (size_t i = 0; i < n; i++) {
			assert_int_equal(a[i], b[i]);
			if (s.mode != MODE_OFF && stale[i].unnotified)
				assert_int_not_equal(a[i], DECISION_NONE);
			if (a[i] == DECISION_REPLACE)
				assert_true(stale[i].pending && !s.notes_only);
			if (s.mode == MODE_PINNED && a[i] == DECISION_REPLACE &&
			    stale[i].item < s.cached)
				assert_int_not_equal(epoch, EPOCH_NONE);
		}
	}
}

/* -- Differences. */

static size_t random_text(struct dice *d, char *out, size_t most)
{
	size_t len = 0, lines = dice_below(d, most / 4);

	for (size_t i = 0; i < lines; i++) {
		out[len++] = (char)('a' + dice_below(d, 4));
		if (i + 1 < lines || dice_one_in(d, 2))
			out[len++] = '\n';
	}
	return len;
}

/* Lines [*at, until) are equal in both texts. */
static void expect_same(const struct linediff *d, uint32_t until, uint32_t *at,
			uint32_t *after)
{
	for (; *at < until; ++*at, ++*after) {
		const struct linediff_line *a = &d->before.rows.at[*at];
		const struct linediff_line *b = &d->after.rows.at[*after];

		assert_int_equal(a->len, b->len);
		assert_memory_equal(a->at, b->at, a->len);
	}
}

static void a_difference_applied_gives_the_other_text(void **state)
{
	struct dice d = { seed };
	char a[128], b[128];

	(void)state;
	for (int round = 0; round < 5000; round++) {
		size_t a_len = random_text(&d, a, sizeof(a));
		size_t b_len = random_text(&d, b, sizeof(b));
		struct linediff diff;
		uint32_t at = 0, after = 0;

		linediff_init(&diff, a, a_len, b, b_len);
		for (uint32_t i = 0; i < diff.hunks.count; i++) {
			const struct myers_hunk *h = &diff.hunks.at[i];

			expect_same(&diff, h->before, &at, &after);
			assert_int_equal(h->after, after);
			at += h->before_count;
			after += h->after_count;
		}
		expect_same(&diff, diff.before.rows.count, &at, &after);
		assert_int_equal(after, diff.after.rows.count);
		linediff_release(&diff);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_stale_goes_unflagged),
		cmocka_unit_test(a_restart_changes_no_byte),
		cmocka_unit_test(sessions_side_by_side_are_as_they_are_alone),
		cmocka_unit_test(a_decision_keeps_its_promises),
		cmocka_unit_test(a_difference_applied_gives_the_other_text),
	};

	seed = argc > 1 ? strtoull(argv[1], NULL, 10) : (uint64_t)time(NULL);
	(void)printf("seed %llu\n", (unsigned long long)seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
