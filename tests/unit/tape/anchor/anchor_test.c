#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "graph/base/cleanup.h"
#include "tape/anchor/against.h"
#include "tape/anchor/anchor.h"
#include "tape/anchor/checkpoint.h"
#include "tests/support/store_world.h"

#define LINE                                                               \
	"statetape-checkpoint 1 repo=app-0123456789abcdef "                \
	"tape=00000000000000ff n=41 "                                      \
	"chain="                                                           \
	"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f" \
	" at=2026-01-02T03:04:05Z\n"

static struct checkpoint sample(void)
{
	struct checkpoint c = { .repo = "app-0123456789abcdef",
				.tape = 0xff,
				.n = 41,
				.at_ns = INT64_C(1767323045) * 1000000000 };

	for (int i = 0; i < ENTRY_CHAIN_SIZE; i++)
		c.chain[i] = (uint8_t)i;
	return c;
}

static void a_checkpoint_is_one_line(void **state)
{
	struct checkpoint c = sample(), again;
	char line[CHECKPOINT_LINE_MAX];

	(void)state;
	checkpoint_print(&c, line);
	assert_string_equal(line, LINE);
	assert_true(checkpoint_parse("Jan  2 host x[1]: " LINE, &again));
	assert_string_equal(again.repo, c.repo);
	assert_true(again.tape == c.tape && again.n == c.n &&
		    again.at_ns == c.at_ns);
	assert_memory_equal(again.chain, c.chain, sizeof(c.chain));
}

/* Nanoseconds of an int64_t end in 2262. */
static void a_date_that_cannot_be_held_is_none(void **state)
{
	static const char late[] = { '9', '9', '9', '9' };
	static const char early[] = { '1', '9', '6', '9' };
	struct checkpoint c;
	char line[] = LINE;
	char *year = strstr(line, " at=") + strlen(" at=");

	(void)state;
	memcpy(year, late, sizeof(late));
	assert_false(checkpoint_parse(line, &c));
	memcpy(year, early, sizeof(early));
	assert_false(checkpoint_parse(line, &c));
}

static void a_line_that_lacks_any_byte_is_none(void **state)
{
	struct checkpoint c;
	char line[] = LINE;

	(void)state;
	/* Without its newline it still is one. */
	for (size_t len = 0; len < sizeof(line) - 2; len++) {
		char *cut = strndup(line, len);

		assert_false(checkpoint_parse(cut, &c));
		free(cut);
	}
}

static void assert_wrong(const char *list, const char *want)
{
	CLEANUP(free_p) char *why = NULL;

	assert_false(anchors_check(list, &why));
	assert_string_equal(why, want);
}

static void wrong_anchors_are_refused(void **state)
{
	CLEANUP(free_p) char *why = NULL;

	(void)state;
	assert_wrong("", "there can be 1 to 8 anchors, not 0");
	assert_wrong("mail", "'mail' is not an anchor: there are syslog, "
			     "file:PATH and command:PROGRAM ARGUMENTS");
	assert_wrong("syslog\nfile:x", "'file:x' is not an anchor: its path "
				       "must begin with /");
	assert_wrong("command:  ", "'command:  ' is not an anchor: it names no "
				   "program");
	assert_wrong("command:''", "'command:''' is not an anchor: it names "
				   "no program");
	assert_wrong("command:a 'b", "'command:a 'b' is not an anchor: a quote "
				     "is not closed");
	assert_true(anchors_check("syslog:/x\nfile:/a\ncommand:a \"b c\" ''",
				  &why));
}

static void quiet(const char *format, ...)
{
	(void)format;
}

/* The program's words, one per line, as the file system shows them. */
static void words_of_a_command_are_taken_as_they_are(void **state)
{
	struct world *w = *state;
	CLEANUP(free_p) char *list = NULL;
	struct checkpoint c = sample();
	struct anchors *a = NULL;
	char path[512];
	struct stat st;

	assert_true(asprintf(&list,
			     "command:mkdir  %s/a'b c'\t'%s/$HOME;*'"
			     " \"%s/it's\"",
			     w->dir, w->dir, w->dir) > 0);
	assert_int_equal(anchors_open(list, "/nowhere", quiet, &a), 0);
	anchors_put(a, &c);
	anchors_close(a); /* waits for the command */
	(void)snprintf(path, sizeof(path), "%s/ab c", w->dir);
	assert_int_equal(stat(path, &st), 0);
	(void)snprintf(path, sizeof(path), "%s/$HOME;*", w->dir);
	assert_int_equal(stat(path, &st), 0);
	(void)snprintf(path, sizeof(path), "%s/it's", w->dir);
	assert_int_equal(stat(path, &st), 0);
}

static void what_waits_is_delivered_before_the_end(void **state)
{
	struct world *w = *state;
	CLEANUP(free_p) char *list = NULL;
	struct checkpoint c = sample(), got;
	struct anchors *a = NULL;
	char line[CHECKPOINT_LINE_MAX] = "", path[512];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/anchors", w->dir);
	assert_true(asprintf(&list, "file:%s", path) > 0);
	assert_int_equal(anchors_open(list, "/nowhere", quiet, &a), 0);
	for (c.n = 1; c.n <= 1000; c.n++)
		anchors_put(a, &c);
	anchors_close(a);
	f = fopen(path, "r");
	assert_non_null(f);
	for (uint64_t last = 0; fgets(line, sizeof(line), f); last = got.n) {
		assert_true(checkpoint_parse(line, &got));
		assert_true(got.n > last);
	}
	(void)fclose(f);
	/* Of those that waited together only the newest; it proves them. */
	assert_int_equal(got.n, 1000);
}

/* -- Against. */

static struct checkpoint now(struct store *s)
{
	struct checkpoint c = { .repo = "id",
				.tape = store_tape(s),
				.n = store_head(s) };

	memcpy(c.chain, store_chain_head(s), sizeof(c.chain));
	return c;
}

static struct against hold(struct store *s, const struct checkpoint *c,
			   size_t count)
{
	struct against a = { 0 };
	char line[CHECKPOINT_LINE_MAX];
	FILE *f = tmpfile();

	assert_non_null(f);
	for (size_t i = 0; i < count; i++) {
		checkpoint_print(&c[i], line);
		(void)fputs(line, f);
	}
	rewind(f);
	assert_int_equal(against_read(f, "id", &s, 1, &a), 0);
	(void)fclose(f);
	return a;
}

static void checkpoints_of_retired_entries_are_told_apart(void **state)
{
	struct checkpoint c[6];
	struct store_retired gone;
	struct world *w = *state;
	struct against a;

	for (int i = 0; i < 6; i++) {
		struct entry e = change("a", i ? "x" : NULL, "x");

		e.at_ns = (i + 1) * SECOND;
		put_change(w->s, &e, "x");
		c[i] = now(w->s);
	}
	a = hold(w->s, c, 6);
	assert_int_equal(a.agree.count, 6);
	/* Keeps 4 to 6; the chain before 4 is known, too. */
	assert_int_equal(store_retire(w->s, 4 * SECOND, 0, UINT64_MAX, &gone),
			 0);
	a = hold(w->s, c, 6);
	assert_int_equal(a.retired.count, 2);
	assert_int_equal(a.agree.count, 4);
	assert_int_equal(a.agree.first.n, 3);
	c[2].chain[0] ^= 1;
	c[4].chain[0] ^= 1;
	c[5].n = 9;
	a = hold(w->s, c, 6);
	assert_int_equal(a.differ.count, 2);
	assert_int_equal(a.differ.first.n, 3);
	assert_int_equal(a.before_differ, 0);
	assert_int_equal(a.behind.count, 1);
	assert_int_equal(a.behind.last.n, 9);
	c[0].tape ^= 1;
	(void)snprintf(c[1].repo, sizeof(c[1].repo), "other");
	a = hold(w->s, c, 2);
	assert_int_equal(a.other.count, 1);
	assert_int_equal(a.elsewhere, 1);
}

#define T(test) \
	cmocka_unit_test_setup_teardown(test, world_setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_checkpoint_is_one_line),
		cmocka_unit_test(a_date_that_cannot_be_held_is_none),
		cmocka_unit_test(a_line_that_lacks_any_byte_is_none),
		cmocka_unit_test(wrong_anchors_are_refused),
		T(words_of_a_command_are_taken_as_they_are),
		T(what_waits_is_delivered_before_the_end),
		T(checkpoints_of_retired_entries_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
