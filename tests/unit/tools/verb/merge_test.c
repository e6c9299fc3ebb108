#include "tools/verb/undo/merge.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct merge_text text(const char *t)
{
	return (struct merge_text){ t, strlen(t) };
}

static void gives(const char *base, const char *mine, const char *theirs,
		  const char *wanted)
{
	struct merge m = { 0 };

	merge_init(&m, text(base), text(mine), text(theirs), MERGE_NONE);
	assert_non_null(m.text);
	assert_string_equal(m.text, wanted);
	assert_int_equal(m.len, strlen(wanted));
	assert_int_equal(m.conflicts_count, 0);
	merge_release(&m);
}

static void conflicts(const char *base, const char *mine, const char *theirs,
		      uint32_t line, uint32_t count)
{
	const char *const sides[] = {
		[MERGE_MINE] = mine, [MERGE_THEIRS] = theirs
	};
	struct merge m = { 0 };

	merge_init(&m, text(base), text(mine), text(theirs), MERGE_NONE);
	assert_null(m.text);
	assert_int_equal(m.conflicts_count, 1);
	assert_int_equal(m.conflicts->line, line);
	assert_int_equal(m.conflicts->count, count);
	merge_release(&m);
	for (int f = MERGE_MINE; f <= MERGE_THEIRS; f++) {
		merge_init(&m, text(base), text(mine), text(theirs),
			   (enum merge_favour)f);
		assert_string_equal(m.text, sides[f]);
		assert_int_equal(m.conflicts_count, 1);
		merge_release(&m);
	}
}

static void one_side_alone_is_taken(void **state)
{
	(void)state;
	gives("a\nb\nc\n", "a\nB\nc\n", "a\nb\nc\n", "a\nB\nc\n");
	gives("a\nb\nc\n", "a\nb\nc\n", "a\nB\nc\n", "a\nB\nc\n");
	gives("a\n", "a\n", "a\n", "a\n");
}

static void changes_apart_are_both_taken(void **state)
{
	(void)state;
	gives("a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n", "A\nb\nC\n");
	gives("a\nb\nc\n", "x\na\nb\nc\n", "a\nb\n", "x\na\nb\n");
	gives("a\nb\nc\nd\n", "a\nb1\nb2\nc\nd\n", "a\nb\nc\n",
	      "a\nb1\nb2\nc\n");
}

static void the_same_change_is_taken_once(void **state)
{
	(void)state;
	gives("a\nb\nc\n", "a\nB\nc\n", "a\nB\nc\n", "a\nB\nc\n");
	gives("a\n", "a\nb\n", "a\nb\n", "a\nb\n");
	gives("a\n", "", "", "");
}

static void changes_that_touch_conflict(void **state)
{
	(void)state;
	conflicts("a\nb\n", "A\nb\n", "a\nB\n", 1, 2);
	conflicts("a\nb\n", "a\nx\nb\n", "a\ny\nb\n", 2, 1);
	conflicts("a\nb\n", "a\nx\nb\n", "a\n", 2, 2);
	conflicts("a\nb\n", "a\n", "a\nB\n", 1, 0);
}

static void a_favoured_side_wins_in_the_conflict_alone(void **state)
{
	const char *base = "a\nb\nc\nd\ne\n", *mine = "a\nM\nc\nd\nE\n",
		   *theirs = "A\nT\nc\nd\ne\n";
	struct merge m = { 0 };

	(void)state;
	merge_init(&m, text(base), text(mine), text(theirs), MERGE_THEIRS);
	assert_string_equal(m.text, "A\nT\nc\nd\nE\n");
	merge_release(&m);
	merge_init(&m, text(base), text(mine), text(theirs), MERGE_MINE);
	assert_string_equal(m.text, "a\nM\nc\nd\nE\n");
	merge_release(&m);
}

static void a_missing_line_feed_is_a_difference(void **state)
{
	(void)state;
	gives("a\nb\nc", "A\nb\nc", "a\nb\nc\n", "A\nb\nc\n");
	gives("a\nb\nc\n", "a\nb\nc", "A\nb\nc\n", "A\nb\nc");
	gives("a\nb\nc", "a\nb\nc\nd", "A\nb\nc", "A\nb\nc\nd");
	conflicts("a\nb", "a\nb\n", "a\nB", 2, 1);
	conflicts("a", "a\nx", "a\ny", 1, 2);
}

static void carriage_returns_belong_to_the_line(void **state)
{
	(void)state;
	gives("a\r\nb\r\nc\r\n", "A\r\nb\r\nc\r\n", "a\r\nb\r\nC\r\n",
	      "A\r\nb\r\nC\r\n");
	conflicts("a\n", "a\r\n", "A\n", 1, 1);
}

static void empty_texts_merge(void **state)
{
	(void)state;
	gives("", "", "", "");
	gives("", "a\n", "", "a\n");
	gives("", "", "a", "a");
	gives("a\n", "", "a\n", "");
	conflicts("", "a\n", "b\n", 1, 1);
	conflicts("a\n", "", "b\n", 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_side_alone_is_taken),
		cmocka_unit_test(changes_apart_are_both_taken),
		cmocka_unit_test(the_same_change_is_taken_once),
		cmocka_unit_test(changes_that_touch_conflict),
		cmocka_unit_test(a_favoured_side_wins_in_the_conflict_alone),
		cmocka_unit_test(a_missing_line_feed_is_a_difference),
		cmocka_unit_test(carriage_returns_belong_to_the_line),
		cmocka_unit_test(empty_texts_merge),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
