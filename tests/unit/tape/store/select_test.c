#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/store_world.h"

static struct journal_author agent = {
	.pid = 10, .start = 1, .comm = "agent", .cmdline = "agent --run"
};
static struct journal_author shell = { .pid = 20,
				       .start = 2,
				       .comm = "bash",
				       .cmdline = "bash -c x",
				       .parent = &agent };
static struct journal_author sed = { .pid = 30,
				     .start = 3,
				     .comm = "sed",
				     .cmdline = "sed -i s/a/b/ a.py",
				     .parent = &shell };
/* A reused pid. */
static struct journal_author later = {
	.pid = 30, .start = 99, .comm = "vim", .cmdline = "vim a.py"
};

/*
 * 1 src/a.py by agent touches pkg.load        at 1 s
 * 2 src/b.py by sed touches pkg.sub.load, pkg.C.load    at 2 s
 * 3 doc/c.txt without an author               at 3 s
 * 4 src/a.py -> lib/a.py by vim removes pkg.load        at 4 s
 * 5 src/b.py by bash touches pkg.sub.load as dX, pkg.reload  at 5 s
 */
static int setup(void **state)
{
	static const struct entry_symbol one[] = { { "pkg.load", 0, ENTRY_X,
						     false } };
	static const struct entry_symbol two[] = {
		{ "pkg.C.load", 1, ENTRY_X, false },
		{ "pkg.sub.load", 0, ENTRY_X, false }
	};
	static const struct entry_symbol four[] = { { "pkg.load", 0, ENTRY_X,
						      true } };
	static const struct entry_symbol five[] = {
		{ "pkg.sub.load", 0, ENTRY_DX, false },
		{ "pkg.reload", 0, ENTRY_ADDED, false }
	};
	struct entry e[] = {
		change("src/a.py", NULL, "a"),	change("src/b.py", NULL, "b"),
		change("doc/c.txt", NULL, "c"), change("src/a.py", "a", "a"),
		change("src/b.py", "b", "b2"),
	};
	static const char *const after[] = { "a", "b", "c", "a", "b2" };

	world_setup(state);
	e[0].author = &agent;
	e[0].symbols = one;
	e[0].symbols_count = 1;
	e[1].author = &sed;
	e[1].symbols = two;
	e[1].symbols_count = 2;
	e[3].author = &later;
	e[3].kind = ENTRY_RENAME;
	e[3].path2 = "lib/a.py";
	e[3].symbols = four;
	e[3].symbols_count = 1;
	e[4].author = &shell;
	e[4].symbols = five;
	e[4].symbols_count = 2;
	for (size_t i = 0; i < sizeof(e) / sizeof(*e); i++) {
		e[i].at_ns = (int64_t)(i + 1) * SECOND;
		put_change(((struct world *)*state)->s, &e[i], after[i]);
	}
	return 0;
}

static int note(const struct entry *e, void *arg)
{
	char *text = arg;
	size_t len = strlen(text);

	(void)snprintf(text + len, 64 - len, "%d ", (int)e->n);
	return 0;
}

static void assert_selected(struct world *w, struct store_filter f,
			    size_t limit, const char *want)
{
	char got[64] = "";

	assert_int_equal(store_select(w->s, &f, limit, note, got), 0);
	assert_string_equal(got, want);
}

#define SELECT(want, ...)                                             \
	assert_selected(*state, (struct store_filter){ __VA_ARGS__ }, \
			SIZE_MAX, want)

static void without_a_filter_all_come_newest_first(void **state)
{
	SELECT("5 4 3 2 1 ", .path = NULL);
	SELECT("2 1 ", .before = 3);
	SELECT("", .before = 1);
	SELECT("5 4 3 2 1 ", .before = UINT64_MAX);
	assert_selected(*state, (struct store_filter){ 0 }, 2, "5 4 ");
	assert_selected(*state, (struct store_filter){ 0 }, 0, "");
	assert_selected(*state, (struct store_filter){ .path = "src" }, 2,
			"5 4 ");
}

static void a_path_is_a_glob_on_either_name(void **state)
{
	SELECT("4 1 ", .path = "src/a.py");
	SELECT("4 ", .path = "lib/a.py");
	SELECT("5 4 2 1 ", .path = "src");
	SELECT("5 4 2 1 ", .path = "*.py");
	SELECT("3 ", .path = "*/c.*");
	SELECT("", .path = "a.py");
	SELECT("2 ", .path = "src/b*", .before = 5);
}

static void a_path_that_looks_like_a_glob_fits_itself(void **state)
{
	struct world *w = *state;

	put(w->s, "[x].py", NULL, "x");
	SELECT("6 ", .path = "[x].py");
}

static void a_symbol_is_its_name_or_the_end_of_it(void **state)
{
	SELECT("4 1 ", .symbol = "pkg.load");
	SELECT("5 4 2 1 ", .symbol = "load");
	SELECT("5 2 ", .symbol = "sub.load");
	SELECT("2 ", .symbol = "C.load");
	SELECT("", .symbol = "oad");
	SELECT("", .symbol = "ub.load");
	SELECT("", .symbol = "");
	SELECT("5 ", .symbol = "reload");
}

static void a_process_has_its_descendants(void **state)
{
	SELECT("5 2 1 ", .pid = 10);
	SELECT("5 2 ", .pid = 20);
	SELECT("4 2 ", .pid = 30);
	SELECT("", .pid = 40);
}

static void an_author_is_a_glob_on_name_or_command_line(void **state)
{
	SELECT("2 ", .author = "sed");
	SELECT("2 ", .author = "sed -i*");
	SELECT("4 2 ", .author = "*a.py");
	SELECT("2 ", .author = "*a.py", .pid = 10);
	SELECT("", .author = "se");
}

/* 6 m.txt by sed, then from outside, then by vim; 7 by vim alone. */
static void put_merged(struct world *w)
{
	const struct journal_author *authors[] = { &sed, NULL, &later };
	struct entry e = change("m.txt", NULL, "m");

	e.author = &later;
	e.authors = authors;
	e.authors_count = 3;
	put_change(w->s, &e, "m");
	e = change("m.txt", "m", "n");
	e.author = &later;
	put_change(w->s, &e, "n");
}

static void a_merged_entry_is_each_of_its_authors(void **state)
{
	struct world *w = *state;

	put_merged(w);
	SELECT("6 2 ", .author = "sed");
	SELECT("7 6 4 ", .author = "vim");
	SELECT("6 5 2 ", .pid = 20);
	SELECT("6 ", .author = "outside");
	SELECT("6 ", .path = "m.txt", .author = "sed*");
}

static void a_time_bounds_both_ends(void **state)
{
	SELECT("5 4 3 ", .since_ns = 3 * SECOND);
	SELECT("3 2 1 ", .until_ns = 3 * SECOND);
	SELECT("3 2 ", .since_ns = 2 * SECOND, .until_ns = 3 * SECOND);
}

static void filters_are_met_together(void **state)
{
	SELECT("2 ", .symbol = "load", .path = "src/b.py",
	       .until_ns = 4 * SECOND);
	SELECT("5 2 ", .symbol = "load", .pid = 20, .path = "*");
	SELECT("", .symbol = "pkg.load", .path = "doc");
	SELECT("5 ", .symbol = "load", .path = "src/b.py", .author = "bash");
}

/* More paths, authors and symbols than SELECT_FEW. */
static void many_matches_are_tested_while_walking(void **state)
{
	struct world *w = *state;
	struct journal_author a = { .comm = "many", .parent = &agent };
	struct entry_symbol y = { NULL, 0, ENTRY_X, false };
	char path[32], name[32], got[64] = "";
	struct store_filter f = { .path = "many/*",
				  .author = "many",
				  .symbol = "tail" };

	assert_int_equal(store_begin(w->s), 0);
	for (int i = 0; i < 300; i++) {
		struct entry e = change(path, NULL, "x");

		(void)snprintf(path, sizeof(path), "many/%d", i);
		(void)snprintf(name, sizeof(name), "m%d.tail", i);
		a.pid = 1000 + (uint32_t)i;
		y.name = name;
		e.author = &a;
		e.symbols = &y;
		e.symbols_count = 1;
		assert_int_equal(store_append(w->s, &e), 0);
	}
	assert_int_equal(store_commit(w->s), 0);
	assert_int_equal(store_select(w->s, &f, 2, note, got), 0);
	assert_string_equal(got, "305 304 ");
	f.path = "src";
	assert_selected(w, f, 9, "");
	f = (struct store_filter){ .pid = 10, .before = 8 };
	assert_selected(w, f, 9, "7 6 5 2 1 ");
}

static int touch(uint64_t n, enum entry_set set, bool removed, void *arg)
{
	char *text = arg;
	size_t len = strlen(text);

	(void)snprintf(text + len, 64 - len, "%d%c%s ", (int)n, "XDRA"[set],
		       removed ? "!" : "");
	return n == 99;
}

static void a_symbols_touches_come_newest_first(void **state)
{
	struct world *w = *state;
	char got[64] = "";

	assert_int_equal(store_touches(w->s, "pkg.load", 0, touch, got), 0);
	assert_string_equal(got, "4X! 1X ");
	got[0] = '\0';
	assert_int_equal(store_touches(w->s, "pkg.sub.load", 2, touch, got), 0);
	assert_string_equal(got, "5D ");
	got[0] = '\0';
	assert_int_equal(store_touches(w->s, "pkg.sub.load", 0, touch, got), 0);
	assert_string_equal(got, "5D 2X ");
	got[0] = '\0';
	assert_int_equal(store_touches(w->s, "pkg.reload", 0, touch, got), 0);
	assert_string_equal(got, "5A ");
	got[0] = '\0';
	assert_int_equal(store_touches(w->s, "load", 0, touch, got), 0);
	assert_int_equal(
		store_touches(w->s, "pkg.load", UINT64_MAX, touch, got), 0);
	assert_string_equal(got, "");
}

static int last(const char *symbol, enum entry_set set, uint64_t n,
		bool removed, void *arg)
{
	static const struct {
		const char *symbol;
		enum entry_set set;
		uint64_t n;
		bool removed;
	} want[] = {
		{ "pkg.load", ENTRY_X, 4, true },
		{ "pkg.C.load", ENTRY_X, 2, false },
		{ "pkg.sub.load", ENTRY_X, 2, false },
		{ "pkg.sub.load", ENTRY_DX, 5, false },
		{ "pkg.reload", ENTRY_ADDED, 5, false },
	};
	unsigned *seen = arg;

	for (unsigned i = 0; i < 5; i++)
		if (strcmp(want[i].symbol, symbol) == 0 && want[i].set == set &&
		    want[i].n == n && want[i].removed == removed)
			*seen |= 1u << i;
	*seen += 1u << 8;
	return 0;
}

static void the_newest_entry_of_each_symbol_and_set_is_visited(void **state)
{
	struct world *w = *state;
	unsigned seen = 0;

	assert_int_equal(store_last(w->s, last, &seen), 0);
	assert_int_equal(seen, 5 << 8 | 0x1f);
}

#define T(test) cmocka_unit_test_setup_teardown(test, setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(without_a_filter_all_come_newest_first),
		T(a_path_is_a_glob_on_either_name),
		T(a_path_that_looks_like_a_glob_fits_itself),
		T(a_symbol_is_its_name_or_the_end_of_it),
		T(a_process_has_its_descendants),
		T(an_author_is_a_glob_on_name_or_command_line),
		T(a_merged_entry_is_each_of_its_authors),
		T(a_time_bounds_both_ends),
		T(filters_are_met_together),
		T(many_matches_are_tested_while_walking),
		T(a_symbols_touches_come_newest_first),
		T(the_newest_entry_of_each_symbol_and_set_is_visited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
