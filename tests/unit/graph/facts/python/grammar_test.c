/*
 * The pinned tree-sitter accepts the pinned grammar, the grammar's external
 * scanner (indentation, strings) works with it, and broken code is reported as
 * broken without losing the definitions around it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <tree_sitter/api.h>

const TSLanguage *tree_sitter_python(void);

static int new_parser(void **state)
{
	TSParser *p = ts_parser_new();

	*state = p;
	return ts_parser_set_language(p, tree_sitter_python()) ? 0 : -1;
}

static int free_parser(void **state)
{
	ts_parser_delete(*state);
	return 0;
}

static TSTree *parse(TSParser *p, const char *text)
{
	TSTree *tree =
		ts_parser_parse_string(p, NULL, text, (uint32_t)strlen(text));

	assert_non_null(tree);
	return tree;
}

static void assert_type(TSNode node, const char *type)
{
	assert_false(ts_node_is_null(node));
	assert_string_equal(ts_node_type(node), type);
}

static void assert_field(TSNode node, const char *field, const char *text,
			 const char *expected)
{
	TSNode child = ts_node_child_by_field_name(node, field,
						   (uint32_t)strlen(field));
	uint32_t start = ts_node_start_byte(child);
	uint32_t len = ts_node_end_byte(child) - start;

	assert_int_equal(len, strlen(expected));
	assert_memory_equal(text + start, expected, len);
}

static void the_library_speaks_the_grammars_abi(void **state)
{
	uint32_t abi = ts_language_version(tree_sitter_python());

	(void)state;
	assert_in_range(abi, TREE_SITTER_MIN_COMPATIBLE_LANGUAGE_VERSION,
			TREE_SITTER_LANGUAGE_VERSION);
}

static void definitions_are_found_with_their_names(void **state)
{
	static const char text[] =
		"import os\n"
		"\n"
		"@cached\n"
		"async def load(path: str = '') -> bytes:\n"
		"\tmatch path:\n"
		"\t\tcase '':\n"
		"\t\t\treturn f'{os.sep!r}'\n"
		"\n"
		"class Store(Base):\n"
		"\tdef get(self, /, k, *, d=None): return d\n";
	TSTree *tree = parse(*state, text);
	TSNode root = ts_tree_root_node(tree);
	TSNode load = ts_node_named_child(ts_node_named_child(root, 1), 1);
	TSNode store = ts_node_named_child(root, 2);

	assert_false(ts_node_has_error(root));
	assert_int_equal(ts_node_named_child_count(root), 3);
	assert_type(ts_node_named_child(root, 0), "import_statement");
	assert_type(ts_node_named_child(root, 1), "decorated_definition");
	assert_type(load, "function_definition");
	assert_field(load, "name", text, "load");
	assert_type(store, "class_definition");
	assert_field(store, "name", text, "Store");
	ts_tree_delete(tree);
}

static void a_syntax_error_leaves_its_neighbours_whole(void **state)
{
	static const char text[] = "def before():\n\tpass\n"
				   "x = = 1\n"
				   "def after():\n\tpass\n";
	TSTree *tree = parse(*state, text);
	TSNode root = ts_tree_root_node(tree);
	uint32_t last = ts_node_named_child_count(root) - 1;

	assert_true(ts_node_has_error(root));
	assert_field(ts_node_named_child(root, 0), "name", text, "before");
	assert_field(ts_node_named_child(root, last), "name", text, "after");
	assert_false(ts_node_has_error(ts_node_named_child(root, last)));
	ts_tree_delete(tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_library_speaks_the_grammars_abi),
		cmocka_unit_test_setup_teardown(
			definitions_are_found_with_their_names, new_parser,
			free_parser),
		cmocka_unit_test_setup_teardown(
			a_syntax_error_leaves_its_neighbours_whole, new_parser,
			free_parser),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
