/*
 * Every form of expression: its parts, their order, and the blocks of its
 * names.
 */
#include "tests/support/facts_golden.h"

static void a_call_comes_after_its_callee_and_arguments(void **state)
{
	assert_dump(state, DUMP_EXPRS, "a.b[c](d, *e, k=f, **g)[1:2, h]\n",
		    "0 module \n"
		    "  #0 a in 1\n"
		    "  #1 a.b in 1\n"
		    "  #2 c in 1\n"
		    "  #3 a.b[c]\n"
		    "  #4 d in 1\n"
		    "  #5 e in 1\n"
		    "  #6 *e\n"
		    "  #7 f in 1\n"
		    "  #8 k=f\n"
		    "  #9 g in 1\n"
		    "  #10 **g\n"
		    "  #11 a.b[c](d, *e, k=f, **g)\n"
		    "  #12 1\n"
		    "  #13 2\n"
		    "  #14 1:2\n"
		    "  #15 h in 1\n"
		    "  #16 (1:2, h)\n"
		    "  #17 a.b[c](d, *e, k=f, **g)[(1:2, h)]\n");
}

/* Most are read from the text; some of these must be read from the tree. */
static void attributes_are_those_of_the_tree_however_written(void **state)
{
	assert_dump(state, DUMP_EXPRS,
		    "None.a\n"
		    "True.b.c\n"
		    "1 .d\n"
		    "a.b.c\n"
		    "(a . b\n .c)\n"
		    "\303\244.b\n"
		    "None_.a.b = f().g\n",
		    "0 module \n"
		    "  #0 None\n"
		    "  #1 None.a in 1\n"
		    "  #2 True\n"
		    "  #3 True.b in 1\n"
		    "  #4 True.b.c in 1\n"
		    "  #5 1\n"
		    "  #6 1.d in 1\n"
		    "  #7 a in 1\n"
		    "  #8 a.b in 1\n"
		    "  #9 a.b.c in 1\n"
		    "  #10 a in 1\n"
		    "  #11 a.b in 1\n"
		    "  #12 a.b.c in 1\n"
		    "  #13 \303\244 in 1\n"
		    "  #14 \303\244.b in 1\n"
		    "  #15 f in 1\n"
		    "  #16 f()\n"
		    "  #17 f().g in 1\n"
		    "  #18 None_ in 1\n"
		    "  #19 None_.a in 1\n"
		    "  #20 place(None_.a.b)\n");
	assert_dump(state, DUMP_READS,
		    "x = [aa.bb.cc,\n"
		    "     aa.bb .dd]\n",
		    "0 module \n"
		    "  name aa @0:5\n"
		    "  read aa.bb @0:8\n"
		    "  read aa.bb.cc @0:11\n"
		    "  read aa.bb.dd @1:12\n"
		    "variable x line 0 lines 2\n");
}

static void errors_between_operand_and_operator_are_searched(void **state)
{
	assert_dump(state, DUMP_EXPRS, "see a ok ) or c\n",
		    "0 module  broken\n"
		    "  #0 see in 1\n"
		    "  #1 a in 1\n"
		    "  #2 ok in 1\n"
		    "  #3 c in 1\n"
		    "  #4 either(see, c)\n"
		    "broken\n");
}

static void either_operand_is_the_value_of_or_the_right_one_of_and(void **state)
{
	assert_dump(state, DUMP_EXPRS, "x or y and z\n",
		    "0 module \n"
		    "  #0 x in 1\n"
		    "  #1 y in 1\n"
		    "  #2 z in 1\n"
		    "  #3 either(x, z)\n");
}

static void operators_keep_their_operands(void **state)
{
	assert_dump(state, DUMP_EXPRS,
		    "not a\n"
		    "-b\n"
		    "-1\n"
		    "a | b\n"
		    "a + b % c\n"
		    "a < b < c\n"
		    "a ** b\n",
		    "0 module \n"
		    "  #0 a in 1\n"
		    "  #1 not a\n"
		    "  #2 b in 1\n"
		    "  #3 - b\n"
		    "  #4 1\n"
		    "  #5 int\n"
		    "  #6 a in 1\n"
		    "  #7 b in 1\n"
		    "  #8 (a | b)\n"
		    "  #9 a in 1\n"
		    "  #10 b in 1\n"
		    "  #11 c in 1\n"
		    "  #12 (b % c)\n"
		    "  #13 (a + (b % c))\n"
		    "  #14 a in 1\n"
		    "  #15 b in 1\n"
		    "  #16 (a < b)\n"
		    "  #17 c in 1\n"
		    "  #18 (b < c)\n"
		    "  #19 a in 1\n"
		    "  #20 b in 1\n"
		    "  #21 (a ** b)\n");
}

static void constants_keep_small_values(void **state)
{
	assert_dump(state, DUMP_EXPRS,
		    "(1, 1_000, 0x1f, 1.5, 2j, 99999999999, True, None, ...)\n",
		    "0 module \n"
		    "  #0 1\n"
		    "  #1 int\n"
		    "  #2 int\n"
		    "  #3 float\n"
		    "  #4 float\n"
		    "  #5 int\n"
		    "  #6 True\n"
		    "  #7 None\n"
		    "  #8 ...\n"
		    "  #9 (1, int, int, float, float, int, True, None, ...)\n");
}

static void strings_keep_what_they_say_if_it_stands_there(void **state)
{
	assert_dump(state, DUMP_EXPRS,
		    "[\"a\", b\"b\", r\"\\d\", \"\\n\", \"a\" \"b\", u\"u\", "
		    "\"\"\"t\"\"\", '']\n",
		    "0 module \n"
		    "  #0 'a'\n"
		    "  #1 bytes\n"
		    "  #2 '\\d'\n"
		    "  #3 str\n"
		    "  #4 'ab'\n"
		    "  #5 'u'\n"
		    "  #6 't'\n"
		    "  #7 ''\n"
		    "  #8 ['a', bytes, '\\d', str, 'ab', 'u', 't', '']\n");
}

static void formatted_strings_evaluate_what_is_in_them(void **state)
{
	assert_dump(state, DUMP_CALLS | DUMP_EXPRS,
		    "x = f\"{x.y()!r:>{w()}} {c=}\"\n",
		    "0 module \n"
		    "  call x.y() @0:9\n"
		    "  call w() @0:17\n"
		    "  #0 x in 1\n"
		    "  #1 x.y in 1\n"
		    "  #2 x.y()\n"
		    "  #3 w in 1\n"
		    "  #4 w()\n"
		    "  #5 c in 1\n"
		    "  #6 str\n"
		    "variable x line 0 lines 1\n");
}

static void displays_list_their_items(void **state)
{
	assert_dump(state, DUMP_EXPRS,
		    "{a: b, **c, \"d\": 1}\n"
		    "{a, *b}\n"
		    "[*a]\n"
		    "()\n"
		    "(a,)\n",
		    "0 module \n"
		    "  #0 a in 1\n"
		    "  #1 b in 1\n"
		    "  #2 c in 1\n"
		    "  #3 **c\n"
		    "  #4 'd'\n"
		    "  #5 1\n"
		    "  #6 {a: b, **c, 'd': 1}\n"
		    "  #7 a in 1\n"
		    "  #8 b in 1\n"
		    "  #9 *b\n"
		    "  #10 {a, *b}\n"
		    "  #11 a in 1\n"
		    "  #12 *a\n"
		    "  #13 [*a]\n"
		    "  #14 ()\n"
		    "  #15 a in 1\n"
		    "  #16 (a,)\n");
}

static void a_condition_is_evaluated_before_its_outcomes(void **state)
{
	assert_dump(state, DUMP_EXPRS, "a() if b() else c()\n",
		    "0 module \n"
		    "  #0 b in 1\n"
		    "  #1 b()\n"
		    "  #2 a in 1\n"
		    "  #3 a()\n"
		    "  #4 c in 1\n"
		    "  #5 c()\n"
		    "  #6 either(a(), c())\n");
}

static void lambdas_have_a_scope_and_defaults_outside_of_it(void **state)
{
	assert_dump(state, DUMP_BLOCKS | DUMP_BINDS | DUMP_EXPRS,
		    "lambda a, b=c, *d, **e: a(f)\n",
		    "0 module \n"
		    "  block 0 header scope 0 to 0\n"
		    "  block 1 top scope 0 to 5\n"
		    "  block 2 top scope 1 to 4\n"
		    "  2: a param = -\n"
		    "  2: b param = c\n"
		    "  2: d param = -\n"
		    "  2: e param = -\n"
		    "  #0 c in 1\n"
		    "  #1 a in 2\n"
		    "  #2 f in 2\n"
		    "  #3 a(f)\n"
		    "  #4 lambda#1(a(f))\n");
}

static void the_first_iterable_is_evaluated_outside(void **state)
{
	assert_dump(state, DUMP_BLOCKS | DUMP_BINDS | DUMP_EXPRS,
		    "[a(b) for b, c in d(e) if b for f in b.g]\n",
		    "0 module \n"
		    "  block 0 header scope 0 to 0\n"
		    "  block 1 top scope 0 to 14\n"
		    "  block 2 top scope 1 to 13\n"
		    "  2: b = item(iter(d(e)), 0)\n"
		    "  2: c = item(iter(d(e)), 1)\n"
		    "  2: f = iter(b.g)\n"
		    "  #0 d in 1\n"
		    "  #1 e in 1\n"
		    "  #2 d(e)\n"
		    "  #3 iter(d(e))\n"
		    "  #4 item(iter(d(e)), 0)\n"
		    "  #5 item(iter(d(e)), 1)\n"
		    "  #6 b in 2\n"
		    "  #7 b in 2\n"
		    "  #8 b.g in 2\n"
		    "  #9 iter(b.g)\n"
		    "  #10 a in 2\n"
		    "  #11 b in 2\n"
		    "  #12 a(b)\n"
		    "  #13 list#1(a(b))\n");
}

static void comprehensions_are_of_four_kinds(void **state)
{
	assert_dump(state, DUMP_BINDS | DUMP_EXPRS,
		    "{k: v for k, v in x}\n"
		    "{s for s in t}\n"
		    "sum(y async for y in z)\n",
		    "0 module \n"
		    "  2: k = item(iter(x), 0)\n"
		    "  2: v = item(iter(x), 1)\n"
		    "  3: s = iter(t)\n"
		    "  4: y = aiter(z)\n"
		    "  #0 x in 1\n"
		    "  #1 iter(x)\n"
		    "  #2 item(iter(x), 0)\n"
		    "  #3 item(iter(x), 1)\n"
		    "  #4 k in 2\n"
		    "  #5 v in 2\n"
		    "  #6 (k, v)\n"
		    "  #7 dict#1((k, v))\n"
		    "  #8 t in 1\n"
		    "  #9 iter(t)\n"
		    "  #10 s in 3\n"
		    "  #11 set#2(s)\n"
		    "  #12 sum in 1\n"
		    "  #13 z in 1\n"
		    "  #14 aiter(z)\n"
		    "  #15 y in 4\n"
		    "  #16 generator#3(y)\n"
		    "  #17 sum(generator#3(y))\n");
}

static void walrus_binds_around_comprehensions(void **state)
{
	assert_dump(state, DUMP_BINDS,
		    "if (a := b()) and [c := d for d in e]:\n"
		    "    pass\n",
		    "0 module \n"
		    "  1: a = b()\n"
		    "  2: d = iter(e)\n"
		    "  1: c = d\n");
}

static void await_and_yield_are_expressions(void **state)
{
	assert_dump(state, DUMP_HEAD | DUMP_EXPRS,
		    "async def f():\n"
		    "    x = await g()\n"
		    "    y = yield x\n"
		    "    z = yield\n"
		    "    w = yield from y\n",
		    "0 module \n"
		    "1 function f async generator\n"
		    "  returns -\n"
		    "  yields x, -, yield from y\n"
		    "  #0 g in 1\n"
		    "  #1 g()\n"
		    "  #2 await g()\n"
		    "  #3 x in 1\n"
		    "  #4 yield x\n"
		    "  #5 yield -\n"
		    "  #6 y in 1\n"
		    "  #7 yield from y\n");
}

static void annotations_in_strings_are_read_as_types(void **state)
{
	assert_dump(
		state, DUMP_HEAD,
		"def f(a: \"List[C] | None\", b: \"x.Y\", c: Literal[\"a\"], "
		"d: \"Literal['b']\", e: Annotated[\"E\", \"doc\"], g: \"bad "
		"bad\", h: Callable[[\"I\"], \"J\"], i: \"Tuple[int, ...]\"):\n"
		"    pass\n",
		"0 module \n"
		"1 function f\n"
		"  param a: (List[C] | None)\n"
		"  param b: x.Y\n"
		"  param c: Literal['a']\n"
		"  param d: Literal['b']\n"
		"  param e: Annotated[(E, 'doc')]\n"
		"  param g: ?\n"
		"  param h: Callable[([I], J)]\n"
		"  param i: Tuple[(int, ...)]\n"
		"  returns -\n");
}

static void the_first_argument_of_cast_is_a_type(void **state)
{
	assert_dump(state, DUMP_CALLS,
		    "x = cast(\"A.B\", y())\n"
		    "z = typing.cast(\"C\", w)\n"
		    "v = other(\"C\", w)\n",
		    "0 module \n"
		    "  call y() @0:16\n"
		    "  call cast(A.B, y()) @0:4\n"
		    "  call typing.cast(C, w) @1:11\n"
		    "  call other('C', w) @2:4\n"
		    "variable x line 0 lines 1\n"
		    "variable z line 1 lines 1\n"
		    "variable v line 2 lines 1\n");
}

static void decorators_are_calls_and_applications(void **state)
{
	assert_dump(state, DUMP_HEAD | DUMP_CALLS,
		    "@a\n"
		    "@b.c(d())\n"
		    "class E: pass\n",
		    "0 module \n"
		    "1 class E\n"
		    "  decorators a, b.c(d())\n"
		    "  decorator a @0:1\n"
		    "  call d() @1:5\n"
		    "  call b.c(d()) @1:3\n"
		    "  decorator b.c(d()) @1:3\n");
}

static void a_call_stands_where_its_callees_last_token_is(void **state)
{
	assert_dump(state, DUMP_CALLS,
		    "(a\n"
		    " .b\n"
		    " .c(1)\n"
		    " .d)(2)\n"
		    "e[\n"
		    "0](3)\n",
		    "0 module \n"
		    "  call a.b.c(1) @2:2\n"
		    "  call a.b.c(1).d(2) @3:3\n"
		    "  call e[0](3) @5:1\n");
}

static void calls_of_python_2_statements_are_found(void **state)
{
	assert_dump(state, DUMP_CALLS,
		    "print \"a\", b()\n"
		    "print >>c(), d\n"
		    "exec \"x\" in e()\n",
		    "0 module \n"
		    "  call b() @0:11\n"
		    "  call c() @1:8\n"
		    "  call e() @2:12\n");
}

static void reads_are_free_names_and_what_is_reached_from_them(void **state)
{
	assert_dump(state, DUMP_BINDS | DUMP_READS,
		    "import os\n"
		    "def f(a, b=os.sep):\n"
		    "    c = os.path.join(a, X.y)\n"
		    "    return [X.y for X in Z] + [X.y.z]\n",
		    "0 module \n"
		    "  1: os import os\n"
		    "  1: f unit +1\n"
		    "1 function f\n"
		    "  1: a param\n"
		    "  1: b param\n"
		    "  1: c = os.path.join(a, X.y)\n"
		    "  2: X = iter(Z)\n"
		    "  name os @0:11\n"
		    "  read os.sep @0:14\n"
		    "  read os.path @1:11\n"
		    "  read os.path.join @1:16\n"
		    "  name X @1:24\n"
		    "  read X.y @1:26\n"
		    "  name Z @2:25\n"
		    "  read X.y.z @2:35\n");
}

static void names_of_the_header_are_read_around_the_unit(void **state)
{
	assert_dump(state, DUMP_READS,
		    "def f(a=a):\n"
		    "    return a\n",
		    "0 module \n"
		    "1 function f\n"
		    "  name a @0:8\n");
}

static void type_of_something_is_no_alias(void **state)
{
	assert_dump(state, DUMP_BINDS | DUMP_CALLS, "type(a).b = c()\n",
		    "0 module \n"
		    "  call c() @0:12\n");
}

static void a_star_is_put_on_all_of_what_it_is_meant_for(void **state)
{
	assert_dump(state, DUMP_EXPRS,
		    "x = *a.b(c), d\n"
		    "{*e + f}\n"
		    "(*g)\n",
		    "0 module \n"
		    "  #0 a in 1\n"
		    "  #1 a.b in 1\n"
		    "  #2 c in 1\n"
		    "  #3 a.b(c)\n"
		    "  #4 *a.b(c)\n"
		    "  #5 d in 1\n"
		    "  #6 (*a.b(c), d)\n"
		    "  #7 e in 1\n"
		    "  #8 f in 1\n"
		    "  #9 (e + f)\n"
		    "  #10 *(e + f)\n"
		    "  #11 {*(e + f)}\n"
		    "  #12 g in 1\n"
		    "  #13 *g\n"
		    "  #14 (*g,)\n"
		    "variable x line 0 lines 1\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			attributes_are_those_of_the_tree_however_written),
		cmocka_unit_test(
			errors_between_operand_and_operator_are_searched),
		cmocka_unit_test(a_call_comes_after_its_callee_and_arguments),
		cmocka_unit_test(
			either_operand_is_the_value_of_or_the_right_one_of_and),
		cmocka_unit_test(operators_keep_their_operands),
		cmocka_unit_test(constants_keep_small_values),
		cmocka_unit_test(strings_keep_what_they_say_if_it_stands_there),
		cmocka_unit_test(formatted_strings_evaluate_what_is_in_them),
		cmocka_unit_test(displays_list_their_items),
		cmocka_unit_test(a_condition_is_evaluated_before_its_outcomes),
		cmocka_unit_test(
			lambdas_have_a_scope_and_defaults_outside_of_it),
		cmocka_unit_test(the_first_iterable_is_evaluated_outside),
		cmocka_unit_test(comprehensions_are_of_four_kinds),
		cmocka_unit_test(walrus_binds_around_comprehensions),
		cmocka_unit_test(await_and_yield_are_expressions),
		cmocka_unit_test(annotations_in_strings_are_read_as_types),
		cmocka_unit_test(the_first_argument_of_cast_is_a_type),
		cmocka_unit_test(decorators_are_calls_and_applications),
		cmocka_unit_test(a_call_stands_where_its_callees_last_token_is),
		cmocka_unit_test(calls_of_python_2_statements_are_found),
		cmocka_unit_test(
			reads_are_free_names_and_what_is_reached_from_them),
		cmocka_unit_test(names_of_the_header_are_read_around_the_unit),
		cmocka_unit_test(type_of_something_is_no_alias),
		cmocka_unit_test(a_star_is_put_on_all_of_what_it_is_meant_for),
	};

	return cmocka_run_group_tests(tests, new_reader, free_reader);
}
