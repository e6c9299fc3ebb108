#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "graph/base/myers.h"

#define LEN_MAX 24
#define ROUNDS	20000

static uint64_t seed;

static uint32_t choose(uint32_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed % n);
}

struct pair {
	uint32_t a[LEN_MAX], b[LEN_MAX];
	uint32_t n, m;
};

static bool is_same(const void *ctx, uint32_t before, uint32_t after)
{
	const struct pair *p = ctx;

	assert_true(before < p->n && after < p->m);
	return p->a[before] == p->b[after];
}

static void diff(const struct pair *p, uint32_t edits_max, struct myers *ret)
{
	struct myers_input in = { p->n, p->m, is_same, p, edits_max };

	myers_diff(&in, ret);
}

/* How many elements differ at least, by the table of all prefixes. */
static uint32_t distance(const struct pair *p)
{
	uint32_t d[LEN_MAX + 1][LEN_MAX + 1];

	for (uint32_t i = 0; i <= p->n; i++) {
		for (uint32_t j = 0; j <= p->m; j++) {
			if (!i || !j)
				d[i][j] = i + j;
			else if (p->a[i - 1] == p->b[j - 1])
				d[i][j] = d[i - 1][j - 1];
			else
				d[i][j] = 1 + (d[i - 1][j] < d[i][j - 1]
						       ? d[i - 1][j]
						       : d[i][j - 1]);
		}
	}
	return d[p->n][p->m];
}

/* What lies between the hunks is the same; returns how much they hold. */
static uint32_t check(const struct pair *p, const struct myers *m)
{
	uint32_t x = 0, y = 0, edits = 0;

	for (uint32_t i = 0; i < m->count; i++) {
		const struct myers_hunk *h = &m->at[i];

		assert_true(!i || h->before > x);
		assert_true(h->before_count || h->after_count);
		for (; x < h->before; x++, y++)
			assert_true(is_same(p, x, y));
		assert_int_equal(y, h->after);
		x += h->before_count;
		y += h->after_count;
		edits += h->before_count + h->after_count;
	}
	for (; x < p->n; x++, y++)
		assert_true(is_same(p, x, y));
	assert_int_equal(y, p->m);
	return edits;
}

static void make(struct pair *p)
{
	uint32_t letters = 1 + choose(6);

	p->n = choose(LEN_MAX + 1);
	p->m = choose(LEN_MAX + 1);
	for (uint32_t i = 0; i < p->n; i++)
		p->a[i] = choose(letters);
	for (uint32_t i = 0; i < p->m; i++)
		p->b[i] = choose(letters);
}

static void hunks_are_the_fewest_edits(void **state)
{
	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		struct pair p;
		struct myers m = { 0 };

		make(&p);
		diff(&p, 2 * LEN_MAX, &m);
		assert_int_equal(check(&p, &m), distance(&p));
		myers_release(&m);
	}
}

static void beyond_the_limit_the_middle_is_one_hunk(void **state)
{
	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		struct pair p;
		struct myers m = { 0 };
		uint32_t most = choose(6), least;

		make(&p);
		diff(&p, most, &m);
		least = distance(&p);
		if (least <= most)
			assert_int_equal(check(&p, &m), least);
		else
			assert_int_equal(m.count, 1);
		(void)check(&p, &m);
		myers_release(&m);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hunks_are_the_fewest_edits),
		cmocka_unit_test(beyond_the_limit_the_middle_is_one_hunk),
	};

	seed = argc > 1 ? strtoull(argv[1], NULL, 10) : (uint64_t)time(NULL);
	(void)printf("seed %llu\n", (unsigned long long)seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
