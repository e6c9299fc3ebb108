#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/base/cleanup.h"
#include "graph/walk.h"
#include "tests/unit/graph/graph_double.h"

/*
 * z calls y and x, which both call w; w calls z again. sub() overrides w and
 * is called by x. Symbol numbers are in reverse order of names on purpose.
 */
enum { Z, Y, X, W, SUB, LIMIT, FAR };

static const struct double_symbol symbols[] = {
	[Z] = { .name = "z", .kind = SYMBOL_FUNCTION },
	[Y] = { .name = "y", .kind = SYMBOL_FUNCTION },
	[X] = { .name = "x", .kind = SYMBOL_FUNCTION },
	[W] = { .name = "w", .kind = SYMBOL_METHOD },
	[SUB] = { .name = "sub", .kind = SYMBOL_METHOD },
	[LIMIT] = { .name = "LIMIT", .kind = SYMBOL_VARIABLE },
	[FAR] = { .name = "far", .kind = SYMBOL_FUNCTION },
};

static const struct double_edge edges[] = {
	{ Z, Y, EDGE_CALL, 1 },	       { Z, X, EDGE_CALL, 2 },
	{ Y, W, EDGE_CALL, 3 },	       { X, W, EDGE_CALL, 4 },
	{ X, W, EDGE_CALL, 5 },	       { W, Z, EDGE_CALL, 6 },
	{ SUB, W, EDGE_OVERRIDES, 7 }, { X, SUB, EDGE_CALL, 8 },
	{ SUB, LIMIT, EDGE_READS, 9 }, { FAR, FAR, EDGE_CALL, 10 },
};

static const struct graph graph = GRAPH(symbols, edges);

#define BIT(step) (1U << (step))

/* "name depth<before" of each place. */
static char *text_of(const struct walk *w)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (size_t i = 0; i < w->count; i++) {
		const struct walk_place *p = &w->places[i];

		(void)fprintf(out, "%s%s%u<%s", i ? " " : "",
			      symbols[p->symbol].name, p->depth,
			      symbols[w->places[p->from].symbol].name);
	}
	(void)fclose(out);
	return text;
}

static void walk_by(struct walk *ret, symbol_t start, unsigned steps,
		    uint32_t depth, size_t max)
{
	walk_init(ret, &graph,
		  &(struct walk_from){ .starts = &start,
				       .count = 1,
				       .steps = steps,
				       .depth = depth,
				       .max = max });
}

static void assert_walk(symbol_t start, unsigned steps, uint32_t depth,
			size_t max, const char *wanted)
{
	CLEANUP(walk_release) struct walk w;
	CLEANUP(free_p) char *text = NULL;

	walk_by(&w, start, steps, depth, max);
	text = text_of(&w);
	assert_string_equal(text, wanted);
}

static void a_walk_of_no_step_stays_where_it_is(void **state)
{
	(void)state;
	assert_walk(Z, BIT(WALK_CALLEES), 0, 100, "z0<z");
	assert_walk(Z, 0, 5, 100, "z0<z");
}

static void places_come_by_depth_and_then_by_name(void **state)
{
	(void)state;
	assert_walk(Z, BIT(WALK_CALLEES), 1, 100, "z0<z x1<z y1<z");
	assert_walk(Z, BIT(WALK_CALLEES), 2, 100, "z0<z x1<z y1<z sub2<x w2<x");
}

static void a_cycle_is_walked_once(void **state)
{
	(void)state;
	assert_walk(W, BIT(WALK_CALLEES), 50, 100,
		    "w0<w z1<w x2<z y2<z sub3<x");
	assert_walk(FAR, BIT(WALK_CALLEES) | BIT(WALK_CALLERS), 50, 100,
		    "far0<far");
}

static void steps_follow_edges_backwards_too(void **state)
{
	(void)state;
	assert_walk(W, BIT(WALK_CALLERS), 2, 100, "w0<w x1<w y1<w z2<x");
	assert_walk(LIMIT, BIT(WALK_READERS) | BIT(WALK_CALLERS), 2, 100,
		    "LIMIT0<LIMIT sub1<LIMIT x2<sub y2<sub");
	assert_walk(SUB, BIT(WALK_OVERRIDDEN) | BIT(WALK_READ), 1, 100,
		    "sub0<sub LIMIT1<sub w1<sub");
}

static void a_place_names_the_step_that_led_to_it(void **state)
{
	(void)state;
	CLEANUP(walk_release) struct walk w;

	walk_by(&w, W, BIT(WALK_CALLERS) | BIT(WALK_OVERRIDERS), 1, 100);
	assert_int_equal(w.count, 4);
	assert_int_equal(w.places[1].symbol, SUB);
	assert_int_equal(w.places[1].step, WALK_OVERRIDERS);
	assert_int_equal(w.places[2].symbol, X);
	assert_int_equal(w.places[2].step, WALK_CALLERS);
	assert_int_equal(walk_edge(WALK_OVERRIDERS), EDGE_OVERRIDES);
	assert_true(walk_is_back(WALK_OVERRIDERS));
	assert_false(walk_is_back(WALK_OVERRIDDEN));
}

static void places_beyond_the_maximum_are_cut_by_depth_and_name(void **state)
{
	(void)state;
	CLEANUP(walk_release) struct walk w;

	assert_walk(Z, BIT(WALK_CALLEES), 9, 2, "z0<z x1<z");
	assert_walk(Z, BIT(WALK_CALLEES), 9, 4, "z0<z x1<z y1<z sub2<x");
	walk_by(&w, Z, BIT(WALK_CALLEES), 9, 5);
	assert_int_equal(w.count, 5);
	assert_false(w.cut);
	walk_release(&w);
	walk_by(&w, Z, BIT(WALK_CALLEES), 9, 4);
	assert_true(w.cut);
}

/*
 * base.run is overridden by mid.run and leaf.run; main calls base.run, which
 * test_it uses; mid.run calls it by super().
 */
enum { BASE, MID, LEAF, MAIN, TEST, FIX };

static const struct double_symbol runs[] = {
	[BASE] = { .name = "base.run", .kind = SYMBOL_METHOD, .file = "b.py" },
	[MID] = { .name = "mid.run", .kind = SYMBOL_METHOD, .file = "m.py" },
	[LEAF] = { .name = "leaf.run", .kind = SYMBOL_METHOD, .file = "l.py" },
	[MAIN] = { .name = "main", .kind = SYMBOL_FUNCTION, .file = "a.py" },
	[TEST] = { .name = "test_it",
		   .kind = SYMBOL_FUNCTION,
		   .file = "tests/a.py" },
	[FIX] = { .name = "fix", .kind = SYMBOL_FUNCTION, .file = "f.py" },
};

static const struct double_edge run_edges[] = {
	{ MID, BASE, EDGE_OVERRIDES, 1 }, { LEAF, MID, EDGE_OVERRIDES, 2 },
	{ MAIN, BASE, EDGE_CALL, 3 },	  { MID, BASE, EDGE_CALL, 4 },
	{ TEST, BASE, EDGE_USES, 5 },	  { FIX, LEAF, EDGE_IMPLICIT, 6 },
};

static const struct graph run_graph = GRAPH(runs, run_edges);

/* "name(via)" of each place. */
static void assert_runs(const struct walk_from *from, const char *wanted)
{
	CLEANUP(walk_release) struct walk w;
	CLEANUP(free_p) char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	walk_init(&w, &run_graph, from);
	for (size_t i = 0; i < w.count; i++)
		(void)fprintf(out, "%s%s(%s)", i ? " " : "",
			      runs[w.places[i].symbol].name,
			      w.places[i].via == SYMBOL_NONE
				      ? ""
				      : runs[w.places[i].via].name);
	(void)fclose(out);
	assert_string_equal(text, wanted);
}

static void callers_of_a_base_are_callers_of_its_overriders(void **state)
{
	const symbol_t leaf = LEAF;

	(void)state;
	assert_runs(&(struct walk_from){ .starts = &leaf,
					 .count = 1,
					 .steps = WALK_ALL_CALLERS,
					 .depth = 1,
					 .max = 9 },
		    "leaf.run() fix() main(base.run)");
}

static void overriders_of_a_callee_are_callees(void **state)
{
	const symbol_t starts[] = { MAIN, MID };

	(void)state;
	assert_runs(&(struct walk_from){ .starts = starts,
					 .count = 1,
					 .steps = WALK_ALL_CALLEES,
					 .depth = 1,
					 .max = 9 },
		    "main() base.run() leaf.run(base.run) mid.run(base.run)");
	/* super().run() leads to the base alone. */
	assert_runs(&(struct walk_from){ .starts = starts + 1,
					 .count = 1,
					 .steps = WALK_ALL_CALLEES,
					 .depth = 1,
					 .max = 9 },
		    "mid.run() base.run()");
}

static void many_symbols_are_walked_from_at_once(void **state)
{
	const symbol_t starts[] = { BASE, LEAF };
	struct walk_from from = { .starts = starts,
				  .count = 2,
				  .steps = WALK_ALL_CALLERS | BIT(WALK_USERS),
				  .depth = 1,
				  .max = 9 };

	(void)state;
	assert_runs(&from,
		    "base.run() leaf.run() fix() main() mid.run() test_it()");
	from.skip_tests = true;
	assert_runs(&from, "base.run() leaf.run() fix() main() mid.run()");
}

static void tests_are_known_by_their_paths(void **state)
{
	(void)state;
	assert_true(walk_is_test("tests/a.py"));
	assert_true(walk_is_test("src/pkg/test/a.py"));
	assert_true(walk_is_test("pkg/test_a.py"));
	assert_true(walk_is_test("pkg/a_test.py"));
	assert_true(walk_is_test("conftest.py"));
	assert_false(walk_is_test("pkg/contest.py"));
	assert_false(walk_is_test("pkg/latest.py"));
	assert_false(walk_is_test("testimony/a.py"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_walk_of_no_step_stays_where_it_is),
		cmocka_unit_test(places_come_by_depth_and_then_by_name),
		cmocka_unit_test(a_cycle_is_walked_once),
		cmocka_unit_test(
			callers_of_a_base_are_callers_of_its_overriders),
		cmocka_unit_test(overriders_of_a_callee_are_callees),
		cmocka_unit_test(many_symbols_are_walked_from_at_once),
		cmocka_unit_test(tests_are_known_by_their_paths),
		cmocka_unit_test(steps_follow_edges_backwards_too),
		cmocka_unit_test(a_place_names_the_step_that_led_to_it),
		cmocka_unit_test(
			places_beyond_the_maximum_are_cut_by_depth_and_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
