/*
 * Ranges that turn one text into another: applied to the old text they give the
 * new one; outside of them nothing differs; and while few lines differ, they
 * are no longer than a plain longest common subsequence requires.
 */
#include "tape/ranges.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define ROUNDS	  3000
#define LINES_MAX 40

static uint64_t seed;

static uint32_t any(uint32_t below)
{
	seed = seed * UINT64_C(6364136223846793005) +
	       UINT64_C(1442695040888963407);
	return (uint32_t)(seed >> 33) % below;
}

struct made {
	char text[LINES_MAX * 8 + 8];
	size_t len;
	const char *line[LINES_MAX + 1]; /* and the end */
	uint32_t count;
};

static void cut(struct made *m)
{
	m->count = 0;
	m->line[0] = m->text;
	for (size_t i = 0; i < m->len; i++)
		if (m->text[i] == '\n' || i + 1 == m->len)
			m->line[++m->count] = m->text + i + 1;
}

/* Few letters, so that lines repeat. */
static void make(struct made *m)
{
	uint32_t n = any(LINES_MAX);

	m->len = 0;
	for (uint32_t i = 0; i < n; i++)
		m->len += (size_t)snprintf(m->text + m->len, 8, "%c\n",
					   'a' + (int)any(4));
	if (m->len && any(4) == 0)
		m->len--; /* no newline at the end */
	cut(m);
}

static uint32_t longest_common(const struct made *a, const struct made *b)
{
	static uint32_t t[LINES_MAX + 1][LINES_MAX + 1];

	memset(t, 0, sizeof(t));
	for (uint32_t i = a->count; i-- > 0;) {
		for (uint32_t j = b->count; j-- > 0;) {
			size_t x = (size_t)(a->line[i + 1] - a->line[i]);
			size_t y = (size_t)(b->line[j + 1] - b->line[j]);
			bool same = x == y &&
				    memcmp(a->line[i], b->line[j], x) == 0;
			uint32_t down = t[i + 1][j], right = t[i][j + 1];

			t[i][j] = same		 ? t[i + 1][j + 1] + 1
				  : down > right ? down
						 : right;
		}
	}
	return t[0][0];
}

static size_t put(char *out, size_t at, const struct made *m, uint32_t from,
		  uint32_t count)
{
	size_t len = (size_t)(m->line[from + count] - m->line[from]);

	memcpy(out + at, m->line[from], len);
	return at + len;
}

/* An empty side names the line before it. */
static uint32_t index_of(uint32_t line, uint32_t count)
{
	return count ? line - 1 : line;
}

static void check(const struct made *a, const struct made *b)
{
	char out[sizeof(a->text) + sizeof(b->text)];
	struct ranges l;
	size_t len = 0;
	uint32_t done = 0, common = longest_common(a, b);

	ranges_init(&l, a->text, a->len, b->text, b->len);
	for (size_t i = 0; i < l.count; i++) {
		const struct entry_range *r = &l.ranges[i];
		uint32_t from = index_of(r->before, r->before_count);

		assert_true(from >= done);
		assert_true(i == 0 || from > done);
		len = put(out, len, a, done, from - done);
		len = put(out, len, b, index_of(r->after, r->after_count),
			  r->after_count);
		done = from + r->before_count;
	}
	len = put(out, len, a, done, a->count - done);
	assert_int_equal(len, b->len);
	assert_memory_equal(out, b->text, len);
	assert_int_equal(l.minus, a->count - common);
	assert_int_equal(l.plus, b->count - common);
	assert_int_equal(ranges_lines(a->text, a->len), a->count);
	ranges_release(&l);
}

static void ranges_lead_from_one_text_to_the_other(void **state)
{
	static struct made a, b;

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		make(&a);
		make(&b);
		check(&a, &b);
		check(&a, &a);
	}
}

/* Everything differs, more than the search is willing to examine. */
static void a_wholly_other_text_is_one_range(void **state)
{
	enum { N = 5000 };
	char *a = malloc(8UL * N), *b = malloc(8UL * N);
	size_t x = 0, y = 0;
	struct ranges l;

	(void)state;
	assert_true(a && b);
	for (int i = 0; i < N; i++) {
		x += (size_t)snprintf(a + x, 8, "a%d\n", i);
		y += (size_t)snprintf(b + y, 8, "b%d\n", i);
	}
	ranges_init(&l, a, x, b, y);
	assert_int_equal(l.count, 1);
	assert_int_equal(l.plus, N);
	assert_int_equal(l.minus, N);
	assert_int_equal(l.ranges[0].before, 1);
	assert_int_equal(l.ranges[0].after_count, N);
	ranges_release(&l);
	ranges_init(&l, "", 0, b, y);
	assert_int_equal(l.count, 1);
	assert_int_equal(l.ranges[0].before, 0);
	assert_int_equal(l.ranges[0].after, 1);
	ranges_release(&l);
	free(a);
	free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges_lead_from_one_text_to_the_other),
		cmocka_unit_test(a_wholly_other_text_is_one_range),
	};
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): no threads yet. */
	const char *given = getenv("SEED");

	seed = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
	(void)printf("SEED=%" PRIu64 "\n", seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
