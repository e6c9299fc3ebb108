/*
 * The cost of each mode: scripted sessions through the manager's own pipeline
 * and a simulated prompt cache (prefix match by block, up to 20 blocks back
 * from a mark, five minutes of life, read 0.1, write 1.25).
 *
 * Usage: bench_cost [SESSION]. Prints the cost relative to `off`, the context
 * at the end, and the stale reads sent unflagged. The scripted agent never
 * re-reads a file because a record was dropped; a real one may.
 */
#include <stdio.h>
#include <string.h>

#include "tests/prop/fs/dice.h"
#include "tests/support/session.h"

static const char *name_of(uint32_t i)
{
	static char names[64][16];

	(void)snprintf(names[i % 64], 16, "pkg/mod%u.py", i);
	return names[i % 64];
}

static const char *new_line(struct dice *d)
{
	static char line[64];

	(void)snprintf(line, sizeof(line), "    changed = %llu",
		       (unsigned long long)dice_below(d, 1000000));
	return line;
}

static void test_run(struct session *s)
{
	const char *opened[] = { "pkg/mod0.py", "pkg/mod1.py", "pkg/mod2.py",
				 "pkg/mod3.py" };

	session_run(s, "python -m pytest -q", 1200, opened, 4);
	session_request(s);
}

/* 8 files of about 5,000 tokens, 36 edits and seds, tests, re-reads. */
static void large(struct session *s)
{
	struct dice d = { 1 };

	for (uint32_t i = 0; i < 8; i++)
		session_file(s, name_of(i), 400, i + 1);
	session_request(s);
	for (uint32_t i = 0; i < 8; i++) {
		session_read(s, name_of(i), 0, 0);
		session_request(s);
	}
	for (uint32_t i = 0; i < 36; i++) {
		uint32_t f = (uint32_t)dice_below(&d, 8);
		uint32_t line = 2 + (uint32_t)dice_below(&d, 390);

		if (i % 3 == 2)
			session_sed(s, name_of(f), line, new_line(&d));
		else
			session_edit(s, name_of(f), line, new_line(&d));
		session_request(s);
		test_run(s);
		if (i % 6 == 5) {
			session_read(s, name_of(f), 0, 0);
			session_request(s);
		}
	}
}

static void read_only(struct session *s)
{
	for (uint32_t i = 0; i < 40; i++)
		session_file(s, name_of(i), 150, i + 1);
	for (uint32_t i = 0; i < 40; i++) {
		session_read(s, name_of(i), 0, 0);
		session_request(s);
	}
}

/* Many edits of small files: notes weigh most here. */
static void small(struct session *s)
{
	struct dice d = { 2 };

	for (uint32_t i = 0; i < 10; i++)
		session_file(s, name_of(i), 20, i + 1);
	for (uint32_t i = 0; i < 10; i++) {
		session_read(s, name_of(i), 0, 0);
		session_request(s);
	}
	for (uint32_t i = 0; i < 80; i++) {
		session_edit(s, name_of((uint32_t)dice_below(&d, 10)),
			     2 + (uint32_t)dice_below(&d, 18), new_line(&d));
		session_request(s);
		if (i % 8 == 7)
			test_run(s);
	}
}

static void idle(struct session *s)
{
	struct dice d = { 3 };

	for (uint32_t i = 0; i < 6; i++)
		session_file(s, name_of(i), 300, i + 1);
	for (uint32_t i = 0; i < 6; i++) {
		session_read(s, name_of(i), 0, 0);
		session_request(s);
	}
	for (uint32_t i = 0; i < 30; i++) {
		session_edit(s, name_of((uint32_t)dice_below(&d, 6)),
			     2 + (uint32_t)dice_below(&d, 290), new_line(&d));
		session_request(s);
		if (i % 10 == 9) {
			session_wait(s, 1800);
			session_say(s, 300);
			session_request(s);
		}
	}
}

static void compaction(struct session *s)
{
	struct dice d = { 4 };

	for (uint32_t i = 0; i < 8; i++)
		session_file(s, name_of(i), 200, i + 1);
	for (uint32_t round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < 8; i++) {
			session_read(s, name_of(i), 0, 0);
			session_request(s);
		}
		for (uint32_t i = 0; i < 16; i++) {
			session_edit(s, name_of((uint32_t)dice_below(&d, 8)),
				     2 + (uint32_t)dice_below(&d, 190),
				     new_line(&d));
			session_request(s);
		}
		session_compact(s);
		session_request(s);
	}
}

/* Other processes (a formatter, a checkout) change files. */
static void outside(struct session *s)
{
	struct dice d = { 5 };

	for (uint32_t i = 0; i < 12; i++)
		session_file(s, name_of(i), 120, i + 1);
	for (uint32_t i = 0; i < 12; i++) {
		session_read(s, name_of(i), 0, 0);
		session_request(s);
	}
	for (uint32_t i = 0; i < 30; i++) {
		for (uint32_t k = 0; k < 3; k++)
			session_outside(s,
					name_of((uint32_t)dice_below(&d, 12)),
					2 + (uint32_t)dice_below(&d, 110),
					new_line(&d));
		test_run(s);
	}
}

/* Reads of short parts, never of whole files. */
static void pieces(struct session *s)
{
	struct dice d = { 6 };

	for (uint32_t i = 0; i < 5; i++)
		session_file(s, name_of(i), 800, i + 1);
	for (uint32_t i = 0; i < 60; i++) {
		uint32_t f = (uint32_t)dice_below(&d, 5);
		uint32_t at = 1 + (uint32_t)dice_below(&d, 700);

		session_read(s, name_of(f), at, 60);
		session_request(s);
		session_edit(s, name_of(f), at + 10, new_line(&d));
		session_request(s);
	}
}

/* A short talk, in which nothing can pay off. */
static void brief(struct session *s)
{
	for (uint32_t i = 0; i < 3; i++)
		session_file(s, name_of(i), 200, i + 1);
	for (uint32_t i = 0; i < 3; i++) {
		session_read(s, name_of(i), 0, 0);
		session_request(s);
		session_edit(s, name_of(i), 7, "    changed = 1");
		session_request(s);
	}
	test_run(s);
}

/* Edit, test, edit, test: each edit is the flag for what it outdates. */
static void edit_test(struct session *s)
{
	struct dice d = { 7 };

	for (uint32_t i = 0; i < 4; i++)
		session_file(s, name_of(i), 200, i + 1);
	for (uint32_t i = 0; i < 4; i++) {
		session_read(s, name_of(i), 0, 0);
		session_request(s);
	}
	for (uint32_t i = 0; i < 40; i++) {
		session_edit(s, name_of((uint32_t)dice_below(&d, 4)),
			     2 + (uint32_t)dice_below(&d, 190), new_line(&d));
		session_request(s);
		test_run(s);
	}
}

/* The agent reads a file again after each edit of it. */
static void re_read(struct session *s)
{
	struct dice d = { 8 };

	for (uint32_t i = 0; i < 3; i++)
		session_file(s, name_of(i), 120, i + 1);
	for (uint32_t i = 0; i < 30; i++) {
		session_read(s, name_of(i % 3), 0, 0);
		session_request(s);
		session_edit(s, name_of(i % 3),
			     2 + (uint32_t)dice_below(&d, 110), new_line(&d));
		session_request(s);
		session_read(s, name_of(i % 3), 0, 0);
		session_request(s);
	}
}

static const struct {
	const char *name;
	void (*play)(struct session *s);
} sessions[] = {
	{ "large", large },	      { "read-only", read_only },
	{ "small", small },	      { "idle", idle },
	{ "compaction", compaction }, { "outside", outside },
	{ "pieces", pieces },	      { "brief", brief },
	{ "edit-test", edit_test },   { "re-read", re_read },
};

static struct session_totals play(size_t i, enum mode mode)
{
	struct session *s = session_new(mode, NULL, "bench");
	struct session_totals t;

	sessions[i].play(s);
	t = session_totals(s);
	session_free(s);
	return t;
}

int main(int argc, char **argv)
{
	int bad = 0;

	(void)printf("%-11s %4s  %22s  %20s  %20s\n", "session", "req",
		     "cost eager / pinned", "context off / pinned",
		     "unflagged off / p / e");
	for (size_t i = 0; i < sizeof(sessions) / sizeof(sessions[0]); i++) {
		struct session_totals off, eager, pinned;

		if (argc > 1 && strcmp(argv[1], sessions[i].name) != 0)
			continue;
		off = play(i, MODE_OFF);
		eager = play(i, MODE_EAGER);
		pinned = play(i, MODE_PINNED);
		(void)printf(
			"%-11s %4u  %10.2f / %.3f      %8llu / %-8llu  "
			"%6u / %u / %u  (%u cache rewrites)\n",
			sessions[i].name, off.requests, eager.cost / off.cost,
			pinned.cost / off.cost, (unsigned long long)off.context,
			(unsigned long long)pinned.context, off.unflagged,
			pinned.unflagged, eager.unflagged, pinned.rewritten);
		bad |= pinned.unflagged || eager.unflagged ||
		       pinned.cost > 1.03 * off.cost;
	}
	return bad;
}
