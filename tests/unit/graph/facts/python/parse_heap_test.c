#include "graph/facts/python/parse_heap.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <tree_sitter/api.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"

const TSLanguage *tree_sitter_python(void);

/* The tree is freed with the heap. */
static TSTree *parse(const char *text, size_t len)
{
	TSParser *p = ts_parser_new();
	TSTree *tree;

	assert_true(ts_parser_set_language(p, tree_sitter_python()));
	tree = ts_parser_parse_string(p, NULL, text, (uint32_t)len);
	ts_parser_delete(p);
	assert_non_null(tree);
	return tree;
}

static char *calls(size_t count)
{
	char *text = must_alloc(8 * count);

	for (size_t i = 0; i < 8 * count; i++)
		text[i] = "fun(aa)\n"[i % 8];
	return text;
}

/* Bytes allocated by malloc(); 0 if a sanitizer replaces it. */
static size_t taken(void)
{
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

static void what_is_cleared_is_taken_again(void **state)
{
	struct parse_heap *h = *state;
	CLEANUP(free_p) char *text = calls(1000);
	size_t first;

	(void)parse(text, 8000);
	parse_heap_clear(h);
	first = taken();
	for (int i = 0; i < 50; i++) {
		TSTree *tree = parse(text, 8000);

		assert_int_equal(ts_node_child_count(ts_tree_root_node(tree)),
				 1000);
		parse_heap_clear(h);
	}
	/* malloc() may keep some itself; a tree is 1 MB. */
	assert_in_range(taken(), 0, first + (100 << 10));
}

static void what_a_large_text_took_is_not_kept(void **state)
{
	struct parse_heap *h = *state;
	CLEANUP(free_p) char *text = calls(200000);
	size_t most;

	(void)parse(text, 1600000);
	most = taken();
	parse_heap_clear(h);
	assert_true(most == 0 || taken() < most / 2);
	(void)parse(text, 8);
}

static void a_heap_in_a_heap_is_left_as_it_was(void **state)
{
	struct parse_heap *inner = parse_heap_new();
	CLEANUP(free_p) char *text = calls(10);
	TSTree *tree = parse(text, 80);

	assert_ptr_equal(parse_heap_use(inner), *state);
	(void)parse(text, 80);
	parse_heap_clear(inner);
	assert_ptr_equal(parse_heap_use(*state), inner);
	parse_heap_free(inner);
	assert_int_equal(ts_node_child_count(ts_tree_root_node(tree)), 10);
	ts_tree_delete(tree);
}

static int use_heap(void **state)
{
	*state = parse_heap_new();
	return parse_heap_use(*state) ? -1 : 0;
}

static int free_heap(void **state)
{
	(void)parse_heap_use(NULL);
	parse_heap_free(*state);
	return 0;
}

#define HEAP_TEST(test) \
	cmocka_unit_test_setup_teardown(test, use_heap, free_heap)

int main(void)
{
	const struct CMUnitTest tests[] = {
		HEAP_TEST(what_is_cleared_is_taken_again),
		HEAP_TEST(what_a_large_text_took_is_not_kept),
		HEAP_TEST(a_heap_in_a_heap_is_left_as_it_was),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
