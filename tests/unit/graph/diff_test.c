#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/base/cleanup.h"
#include "graph/diff.h"
#include "tests/unit/graph/graph_double.h"

/*
 * One small world. main() calls load() and save(); load() reads LIMIT; the
 * module calls main(); `old` was removed, `fresh` is new.
 */
enum { MAIN, LOAD, SAVE, OLD, FRESH, LIMIT, MODULE, BOX, GONE_LIMIT };

static const struct double_symbol symbols[] = {
	[MAIN] = { .name = "m.main", .kind = SYMBOL_FUNCTION },
	[LOAD] = { .name = "m.load", .kind = SYMBOL_FUNCTION },
	[SAVE] = { .name = "m.save", .kind = SYMBOL_METHOD },
	[OLD] = { .name = "m.old", .kind = SYMBOL_FUNCTION, .gone = true },
	[FRESH] = { .name = "m.fresh", .kind = SYMBOL_FUNCTION },
	[LIMIT] = { .name = "m.LIMIT", .kind = SYMBOL_VARIABLE },
	[MODULE] = { .name = "m", .kind = SYMBOL_MODULE },
	[BOX] = { .name = "m.Box", .kind = SYMBOL_CLASS },
	[GONE_LIMIT] = { .name = "m.GONE",
			 .kind = SYMBOL_VARIABLE,
			 .gone = true },
};

static const struct double_edge edges[] = {
	{ MAIN, LOAD, EDGE_CALL, 1 },	  { MAIN, SAVE, EDGE_CALL, 2 },
	{ LOAD, LIMIT, EDGE_READS, 3 },	  { FRESH, LIMIT, EDGE_READS, 4 },
	{ MODULE, LIMIT, EDGE_READS, 5 },
};

static const struct symbol_change changed_main = {
	.symbol = MAIN,
	.kind = SYMBOL_FUNCTION,
	.before = true,
	.after = true,
	.body = true,
};
static const struct symbol_change removed_old = {
	.symbol = OLD,
	.kind = SYMBOL_FUNCTION,
	.before = true,
};
static const struct symbol_change added_fresh = {
	.symbol = FRESH,
	.kind = SYMBOL_FUNCTION,
	.after = true,
};
static const struct symbol_change changed_limit = {
	.symbol = LIMIT,
	.kind = SYMBOL_VARIABLE,
	.before = true,
	.after = true,
	.body = true,
};
static const struct symbol_change removed_limit = {
	.symbol = GONE_LIMIT,
	.kind = SYMBOL_VARIABLE,
	.before = true,
};
static const struct symbol_change changed_module = {
	.symbol = MODULE,
	.kind = SYMBOL_MODULE,
	.before = true,
	.after = true,
	.body = true,
};

/* The names in a set, joined by spaces. */
static char *names(const struct diff_set *set)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (size_t i = 0; i < set->count; i++)
		(void)fprintf(out, "%s%s", i ? " " : "",
			      symbols[set->symbols[i]].name);
	(void)fclose(out);
	return text;
}

static void assert_names(const struct diff_set *set, const char *wanted)
{
	CLEANUP(free_p) char *text = names(set);

	assert_string_equal(text, wanted);
}

struct change {
	struct symbol_change symbols[8];
	size_t symbols_count;
	struct edge_change edges[8];
	size_t edges_count;
};

static void assert_diff(const struct change *c, const char *x, const char *dx,
			const char *added, const char *extended_x,
			const char *extended_r)
{
	const struct graph g = GRAPH(symbols, edges);
	struct change copy = *c;
	const struct graph_delta d = {
		.symbols = copy.symbols,
		.symbols_count = copy.symbols_count,
		.edges = copy.edges,
		.edges_count = copy.edges_count,
	};
	CLEANUP(diff_release) struct diff diff;

	diff_init(&diff, &g, &d);
	assert_names(&diff.x, x);
	assert_names(&diff.dx, dx);
	assert_names(&diff.added, added);
	assert_names(&diff.extended_x, extended_x);
	assert_names(&diff.extended_r, extended_r);
}

static void no_change_is_no_drift(void **state)
{
	(void)state;
	assert_diff(&(struct change){ 0 }, "", "", "", "", "");
}

static void changed_and_removed_symbols_are_x_and_new_ones_added(void **state)
{
	(void)state;
	assert_diff(&(struct change){ .symbols = { removed_old, changed_main,
						   added_fresh },
				      .symbols_count = 3 },
		    "m.main m.old", "", "m.fresh", "", "");
}

static void both_ends_of_a_moved_call_drift_unless_they_are_x(void **state)
{
	(void)state;
	/* main() calls load() instead of save() because its text changed. */
	assert_diff(
		&(struct change){ .symbols = { changed_main },
				  .symbols_count = 1,
				  .edges = { { MAIN, SAVE, EDGE_CALL, false },
					     { MAIN, LOAD, EDGE_CALL, true } },
				  .edges_count = 2 },
		"m.main", "m.load m.save", "", "", "");
	/* The same with its text unchanged: a name resolves to another symbol.
	 */
	assert_diff(
		&(struct change){ .edges = { { MAIN, SAVE, EDGE_CALL, false },
					     { MAIN, LOAD, EDGE_CALL, true } },
				  .edges_count = 2 },
		"", "m.load m.main m.save", "", "", "");
}

static void added_and_removed_ends_of_an_edge_are_not_in_dx(void **state)
{
	(void)state;
	assert_diff(
		&(struct change){ .symbols = { removed_old, added_fresh },
				  .symbols_count = 2,
				  .edges = { { MAIN, OLD, EDGE_CALL, false },
					     { MAIN, FRESH, EDGE_CALL, true } },
				  .edges_count = 2 },
		"m.old", "m.main", "m.fresh", "", "");
}

static void module_level_calls_put_nothing_into_dx(void **state)
{
	(void)state;
	assert_diff(&(struct change){ .symbols = { changed_module },
				      .symbols_count = 1,
				      .edges = { { MODULE, MAIN, EDGE_CALL,
						   true } },
				      .edges_count = 1 },
		    "", "", "", "m", "");
}

static void only_call_edges_put_their_ends_into_dx(void **state)
{
	(void)state;
	assert_diff(
		&(struct change){
			.edges = { { MAIN, BOX, EDGE_INHERITS, true },
				   { MAIN, LOAD, EDGE_OVERRIDES, true },
				   { MODULE, MODULE, EDGE_IMPORTS, true },
				   { MAIN, LIMIT, EDGE_READS, true } },
			.edges_count = 4 },
		"", "", "", "", "");
}

static void readers_of_a_changed_variable_are_r(void **state)
{
	(void)state;
	/* Not the module, and not fresh(), which is new. */
	assert_diff(&(struct change){ .symbols = { changed_limit, added_fresh },
				      .symbols_count = 2 },
		    "", "", "m.fresh", "m.LIMIT", "m.load");
}

static void readers_of_a_removed_variable_are_r(void **state)
{
	(void)state;
	assert_diff(
		&(struct change){
			.symbols = { removed_limit, changed_main, removed_old },
			.symbols_count = 3,
			.edges = { { SAVE, GONE_LIMIT, EDGE_READS, false },
				   { MAIN, GONE_LIMIT, EDGE_READS, false },
				   { OLD, GONE_LIMIT, EDGE_READS, false } },
			.edges_count = 3 },
		"m.main m.old", "", "", "m.GONE", "m.save");
}

static void a_variable_that_became_a_function_is_on_both_sides(void **state)
{
	(void)state;
	assert_diff(
		&(struct change){ .symbols = { { .symbol = FRESH,
						 .kind = SYMBOL_VARIABLE,
						 .before = true },
					       added_fresh },
				  .symbols_count = 2,
				  .edges = { { SAVE, FRESH, EDGE_READS, false },
					     { SAVE, FRESH, EDGE_CALL, true } },
				  .edges_count = 2 },
		"", "m.save", "m.fresh", "m.fresh", "m.save");
}

static void new_modules_and_variables_are_in_the_extended_set(void **state)
{
	const struct graph g = GRAPH(symbols, edges);
	struct symbol_change came[] = {
		{ .symbol = MODULE, .kind = SYMBOL_MODULE, .after = true },
		{ .symbol = LIMIT, .kind = SYMBOL_VARIABLE, .after = true },
		added_fresh,
	};
	const struct graph_delta d = { .symbols = came, .symbols_count = 3 };
	CLEANUP(diff_release) struct diff diff;

	(void)state;
	diff_init(&diff, &g, &d);
	assert_names(&diff.added, "m.fresh");
	assert_names(&diff.extended_added, "m m.LIMIT");
	assert_names(&diff.extended_x, "");
	/* A new variable: no record can have shown it before. */
	assert_names(&diff.extended_r, "");
}

static void a_module_that_became_a_variable_is_not_added(void **state)
{
	struct symbol_change crossing[] = {
		{ .symbol = LIMIT, .kind = SYMBOL_MODULE, .before = true },
		{ .symbol = LIMIT, .kind = SYMBOL_VARIABLE, .after = true },
	};
	const struct graph_delta d = { .symbols = crossing,
				       .symbols_count = 2 };
	const struct graph g = GRAPH(symbols, edges);
	CLEANUP(diff_release) struct diff diff;

	(void)state;
	diff_init(&diff, &g, &d);
	assert_names(&diff.extended_x, "m.LIMIT");
	assert_names(&diff.extended_added, "");
}

static void a_symbol_with_many_changed_edges_is_listed_once(void **state)
{
	(void)state;
	assert_diff(
		&(struct change){ .edges = { { MAIN, LOAD, EDGE_CALL, true },
					     { SAVE, LOAD, EDGE_CALL, true },
					     { BOX, LOAD, EDGE_CALL, true } },
				  .edges_count = 3 },
		"", "m.Box m.load m.main m.save", "", "", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_change_is_no_drift),
		cmocka_unit_test(
			changed_and_removed_symbols_are_x_and_new_ones_added),
		cmocka_unit_test(
			both_ends_of_a_moved_call_drift_unless_they_are_x),
		cmocka_unit_test(
			added_and_removed_ends_of_an_edge_are_not_in_dx),
		cmocka_unit_test(module_level_calls_put_nothing_into_dx),
		cmocka_unit_test(only_call_edges_put_their_ends_into_dx),
		cmocka_unit_test(readers_of_a_changed_variable_are_r),
		cmocka_unit_test(readers_of_a_removed_variable_are_r),
		cmocka_unit_test(
			a_variable_that_became_a_function_is_on_both_sides),
		cmocka_unit_test(
			new_modules_and_variables_are_in_the_extended_set),
		cmocka_unit_test(a_module_that_became_a_variable_is_not_added),
		cmocka_unit_test(
			a_symbol_with_many_changed_edges_is_listed_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
