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

static struct journal_author old = { .pid = 1, .comm = "old" };
static struct journal_author above = { .pid = 2, .comm = "above" };
static struct journal_author newer = { .pid = 3,
				       .comm = "new",
				       .parent = &above };

/*
 * By their seconds: 1 creates a (one), 2 edits it (two), 3 creates b (bee), 4
 * edits a (three), 5 renames a to c over c's base, 6 deletes b.
 */
static int setup(void **state)
{
	static const struct entry_symbol first = { "m.old", 0, ENTRY_X, false };
	static const struct entry_symbol later = { "m.new", 0, ENTRY_X, false };
	struct entry e[] = {
		change("a", NULL, "one"),      change("a", "one", "two"),
		change("b", NULL, "bee"),      change("a", "two", "three"),
		change("a", "three", "three"), change("b", "bee", NULL),
	};
	static const char *const after[] = { "one",   "two",   "bee",
					     "three", "three", NULL };
	struct world *w;

	world_setup(state);
	w = *state;
	put_base(w->s, "c", "sea");
	put_base(w->s, "d", "base");
	e[0].author = &old;
	e[0].symbols = &first;
	e[0].symbols_count = 1;
	e[3].author = &newer;
	e[3].symbols = &later;
	e[3].symbols_count = 1;
	e[4].kind = ENTRY_RENAME;
	e[4].path2 = "c";
	for (size_t i = 0; i < sizeof(e) / sizeof(*e); i++) {
		e[i].at_ns = (int64_t)(i + 1) * SECOND;
		put_change(w->s, &e[i], after[i]);
	}
	return 0;
}

static void assert_sound(struct world *w)
{
	w->said[0] = '\0';
	assert_int_equal(store_verify(w->s, world_found, w), 0);
	assert_string_equal(w->said, "");
}

/* The contents that are kept, a letter each. */
static void assert_contents(struct store *s, const char *want)
{
	static const char *const texts[] = { "one",   "two", "bee",
					     "three", "sea", "base" };
	char got[8] = "";
	char *at = got;

	for (size_t i = 0; i < 6; i++)
		if (store_has_content(s, hash_of(texts[i])))
			*at++ = "12btsd"[i];
	*at = '\0';
	assert_string_equal(got, want);
}

static void assert_version(struct store *s, const char *path, uint64_t n,
			   const char *text, uint64_t since)
{
	XXH128_hash_t hash = { 0 };
	uint64_t got = 99;
	int rc = store_version(s, path, n, &hash, &got);

	assert_int_equal(rc, text ? 0 : -ENOENT);
	if (!text)
		return;
	assert_hash(hash, hash_of(text));
	assert_int_equal(got, since);
}

static struct store_retired retire(struct world *w, int64_t before,
				   uint64_t bytes, uint64_t held)
{
	struct store_retired gone = { 0 };

	assert_int_equal(store_retire(w->s, before, bytes, held, &gone), 0);
	assert_sound(w);
	return gone;
}

static void without_a_bound_nothing_is_retired(void **state)
{
	struct world *w = *state;
	struct store_retired gone = retire(w, 0, 0, UINT64_MAX);

	assert_int_equal(gone.contents, 0);
	assert_int_equal(gone.entries, 0);
	assert_contents(w->s, "12btsd");
}

static void older_entries_go_and_later_versions_stay(void **state)
{
	struct world *w = *state;
	struct store_retired gone = retire(w, 4 * SECOND, 0, UINT64_MAX);

	assert_int_equal(gone.entries, 3);
	assert_int_equal(gone.contents, 1);
	assert_int_equal(store_first(w->s), 4);
	assert_int_equal(store_head(w->s), 6);
	assert_contents(w->s, "2btsd");
	/* Before the oldest entry kept: the base; before that: unknown. */
	assert_version(w->s, "a", 3, "two", 0);
	assert_version(w->s, "a", 2, NULL, 0);
	assert_version(w->s, "a", 4, "three", 4);
	assert_version(w->s, "b", 5, "bee", 0);
	assert_version(w->s, "b", 6, NULL, 0);
	assert_version(w->s, "c", 4, "sea", 0);
	assert_version(w->s, "c", 5, "three", 5);
	assert_version(w->s, "d", UINT64_MAX, "base", 0);
}

static int no_touch(uint64_t n, enum entry_set set, bool removed, void *arg)
{
	(void)n;
	(void)set;
	(void)removed;
	(void)arg;
	fail();
	return 0;
}

static int only_new(const char *symbol, enum entry_set set, uint64_t n,
		    bool removed, void *arg)
{
	int *count = arg;

	assert_string_equal(symbol, "m.new");
	assert_int_equal(set, ENTRY_X);
	assert_int_equal(n, 4);
	assert_false(removed);
	++*count;
	return 0;
}

static int has_ancestor(const struct entry *e, void *arg)
{
	(void)arg;
	assert_string_equal(e->author->comm, "new");
	assert_string_equal(e->author->parent->comm, "above");
	return 5;
}

static void unreferenced_names_are_retired_too(void **state)
{
	struct world *w = *state;
	struct store_filter f = { .author = "old" };
	int count = 0;

	(void)retire(w, 4 * SECOND, 0, UINT64_MAX);
	assert_int_equal(store_touches(w->s, "m.old", 0, no_touch, NULL), 0);
	assert_int_equal(store_last(w->s, only_new, &count), 0);
	assert_int_equal(count, 1);
	assert_int_equal(store_select(w->s, &f, 9, has_ancestor, NULL), 0);
	assert_int_equal(store_entry(w->s, 4, has_ancestor, NULL), 5);
	assert_int_equal(store_entry(w->s, 3, has_ancestor, NULL), -ENOENT);
	assert_int_equal(store_since(w->s, 0, 9, has_ancestor, NULL), 5);
}

static void held_entries_stay(void **state)
{
	struct world *w = *state;
	struct store_retired gone = retire(w, 100 * SECOND, 1, 2);

	assert_int_equal(gone.entries, 1);
	assert_int_equal(gone.contents, 0);
	assert_contents(w->s, "12btsd");
	gone = retire(w, 100 * SECOND, 1, 0);
	assert_int_equal(gone.entries, 0);
}

static void all_but_current_contents_can_be_retired(void **state)
{
	struct world *w = *state;
	struct store_retired gone = retire(w, 100 * SECOND, 0, UINT64_MAX);
	struct store_stats stats;

	assert_int_equal(gone.entries, 6);
	assert_contents(w->s, "td");
	assert_int_equal(store_stat(w->s, &stats), 0);
	assert_int_equal(stats.entries, 0);
	assert_int_equal(stats.first, 0);
	assert_int_equal(stats.contents, 2);
	assert_version(w->s, "c", UINT64_MAX, "three", 0);
	assert_version(w->s, "a", UINT64_MAX, NULL, 0);
	/* Numbering continues. */
	assert_int_equal(put(w->s, "c", "three", "four"), 7);
	world_close(w);
	world_open(w, STORE_WRITE);
	assert_sound(w);
	assert_version(w->s, "c", 6, "three", 0);
	assert_version(w->s, "c", 7, "four", 7);
}

/* Incompressible text, different for each `i`. */
static const char *noise(unsigned i, char text[20001])
{
	uint64_t x = i;

	for (size_t k = 0; k < 20000; k++) {
		x = x * UINT64_C(6364136223846793005) + 1442695040888963407u;
		text[k] = (char)('0' + (x >> 58));
	}
	text[20000] = '\0';
	return text;
}

static void a_size_is_kept_by_contents_before_entries(void **state)
{
	struct world *w = *state;
	char *text = malloc(20001);
	struct store_retired gone;
	struct store_stats stats;
	XXH128_hash_t before = hash_of("x");
	struct entry e;

	assert_non_null(text);
	for (unsigned i = 0; i < 600; i++) {
		noise(i, text);
		e = change("big", "x", text);
		e.before = before;
		before = e.after;
		put_change(w->s, &e, text);
	}
	assert_int_equal(store_stat(w->s, &stats), 0);
	assert_true(stats.bytes > 6000000);
	gone = retire(w, 0, 4000000, UINT64_MAX);
	assert_int_equal(gone.entries, 0);
	assert_true(gone.contents > 100 && gone.contents < 600);
	assert_true(gone.bytes > 2000000);
	assert_int_equal(store_stat(w->s, &stats), 0);
	assert_true(stats.bytes <= 4000000);
	/*
	 * A bound of one byte retires entries too; held and current contents
	 * stay.
	 */
	gone = retire(w, 0, 1, 500);
	assert_int_equal(store_first(w->s), 500);
	assert_true(store_has_content(w->s, hash_of(noise(500, text))));
	gone = retire(w, 0, 1, UINT64_MAX);
	assert_int_equal(store_first(w->s), store_head(w->s) + 1);
	assert_true(store_has_content(w->s, hash_of(noise(599, text))));
	free(text);
}

static void retiring_within_a_transaction_is_refused(void **state)
{
	struct world *w = *state;
	struct store_retired gone;

	assert_int_equal(store_begin(w->s), 0);
	assert_int_equal(store_retire(w->s, 0, 0, 0, &gone), -EINVAL);
	assert_int_equal(store_commit(w->s), 0);
}

#define T(test) cmocka_unit_test_setup_teardown(test, setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(without_a_bound_nothing_is_retired),
		T(older_entries_go_and_later_versions_stay),
		T(unreferenced_names_are_retired_too),
		T(held_entries_stay),
		T(all_but_current_contents_can_be_retired),
		T(a_size_is_kept_by_contents_before_entries),
		T(retiring_within_a_transaction_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
