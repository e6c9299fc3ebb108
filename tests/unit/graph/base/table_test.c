/*
 * Random operations on a table and on a plain list; every hash is one of few,
 * so that nodes share hashes and buckets. Usage: unit_base_table [SEED].
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "graph/base/table.h"

#define NODES	 3000
#define ROUNDS	 20000
#define CHECK_AT 1000 /* rounds between two looks at everything */

static uint64_t seed;
static bool no_memory;

/* The names that the linker's --wrap=calloc gives. */
/* NOLINTBEGIN(bugprone-reserved-identifier) */
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);

void *__wrap_calloc(size_t count, size_t size)
{
	return no_memory ? NULL : __real_calloc(count, size);
}
/* NOLINTEND(bugprone-reserved-identifier) */

static uint32_t choose(uint32_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed % n);
}

struct thing {
	char before; /* so that the node does not come first */
	struct table_node node;
	bool there;
	bool met;
};

struct world {
	struct table t;
	struct thing things[NODES];
	uint64_t hashes; /* how many there are */
	size_t count;
};

static struct thing *thing_of(struct table_node *n)
{
	return TABLE_ENTRY(n, struct thing, node);
}

static uint64_t hash_of(const struct world *w, const struct thing *x)
{
	uint64_t n = (uint64_t)(x - w->things) % w->hashes;

	/* Large strides: neither the low bits nor the high ones are all. */
	return n * UINT64_C(0x9e3779b97f4a7c15);
}

static void meet(struct world *w, struct table_node *n)
{
	struct thing *x = thing_of(n);

	assert_true(x >= w->things && x < w->things + NODES);
	assert_true(x->there);
	assert_false(x->met);
	x->met = true;
}

static void expect_met(struct world *w, size_t expected)
{
	size_t met = 0;

	for (size_t i = 0; i < NODES; i++) {
		met += w->things[i].met;
		w->things[i].met = false;
	}
	assert_int_equal(met, expected);
}

static void check_all(struct world *w)
{
	struct table_node *n;

	assert_int_equal(w->t.count, w->count);
	for (n = table_first(&w->t); n; n = table_next(&w->t, n))
		meet(w, n);
	expect_met(w, w->count);
}

/* A hash finds those that have it, each once, and no others. */
static void check_hash(struct world *w, uint64_t hash)
{
	size_t expected = 0;
	struct table_node *n;

	for (size_t i = 0; i < NODES; i++)
		expected +=
			w->things[i].there && hash_of(w, &w->things[i]) == hash;
	for (n = table_find(&w->t, hash); n; n = table_find_next(n)) {
		assert_true(n->hash == hash);
		meet(w, n);
	}
	expect_met(w, expected);
}

static void change(struct world *w)
{
	struct thing *x = &w->things[choose(NODES)];

	if (x->there) {
		table_remove(&w->t, &x->node);
		w->count--;
	} else {
		table_insert(&w->t, &x->node, hash_of(w, x));
		w->count++;
	}
	x->there = !x->there;
}

static void play(struct world *w, int rounds)
{
	for (int i = 0; i < rounds; i++) {
		change(w);
		if (i % CHECK_AT == 0) {
			check_all(w);
			check_hash(w, hash_of(w, &w->things[choose(NODES)]));
		}
	}
	check_all(w);
}

static void a_table_holds_what_was_put_in(void **state)
{
	static const uint64_t hashes[] = { 1, 50, NODES };
	static struct world w;

	(void)state;
	for (size_t i = 0; i < sizeof(hashes) / sizeof(*hashes); i++) {
		w = (struct world){ .hashes = hashes[i] };
		play(&w, ROUNDS);
		table_release(&w.t);
	}
}

static void an_empty_table_holds_nothing(void **state)
{
	struct table t = { 0 };

	(void)state;
	assert_null(table_find(&t, 1));
	assert_null(table_first(&t));
	table_release(&t);
	assert_int_equal(t.count, 0);
}

static void without_memory_a_table_is_slow_but_right(void **state)
{
	static struct world w;

	(void)state;
	w = (struct world){ .hashes = NODES };
	no_memory = true;
	play(&w, 2000);
	assert_int_equal(w.t.size, 0);
	no_memory = false;
	play(&w, 2000);
	assert_true(w.t.size > 0);
	no_memory = true;
	play(&w, ROUNDS);
	no_memory = false;
	table_release(&w.t);
}

static void all_nodes_can_be_removed_one_after_another(void **state)
{
	static struct world w;
	struct table_node *n, *next;

	(void)state;
	w = (struct world){ .hashes = NODES / 2 };
	play(&w, 2000);
	for (n = table_first(&w.t); n; n = next) {
		next = table_next(&w.t, n);
		table_remove(&w.t, n);
		thing_of(n)->there = false;
		w.count--;
	}
	assert_int_equal(w.count, 0);
	check_all(&w);
	table_release(&w.t);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_table_holds_what_was_put_in),
		cmocka_unit_test(an_empty_table_holds_nothing),
		cmocka_unit_test(without_memory_a_table_is_slow_but_right),
		cmocka_unit_test(all_nodes_can_be_removed_one_after_another),
	};

	seed = argc > 1 ? strtoull(argv[1], NULL, 10) : (uint64_t)time(NULL);
	(void)printf("seed %llu\n", (unsigned long long)seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
