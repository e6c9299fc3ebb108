/*
 * Control flow: blocks, how conditions narrow names in them, and how functions
 * end.
 */
#include "tests/support/facts_golden.h"

static void a_branch_of_isinstance_is_narrowed(void **state)
{
	assert_dump(state, DUMP_BLOCKS | DUMP_BINDS,
		    "if isinstance(x, A):\n"
		    "    x.a()\n"
		    "elif isinstance(x.y, (B, C)):\n"
		    "    x.b()\n"
		    "else:\n"
		    "    x.c()\n",
		    "0 module \n"
		    "  block 0 header scope 0 to 0\n"
		    "  block 1 top scope 0 to 26\n"
		    "  block 2 branch in 1 scope 0 to 8\n"
		    "  block 3 branch in 1 scope 0 to 16\n"
		    "  block 4 branch in 1 scope 0 to 21\n"
		    "  block 5 branch in 1 scope 0 to 26\n"
		    "  2: x = narrow(x, A)\n"
		    "  3: x = narrow(x, not A)\n"
		    "  4: x = narrow(x, not A)\n"
		    "  4: x.y = narrow(x.y, (B, C))\n"
		    "  5: x = narrow(x, not A)\n"
		    "  5: x.y = narrow(x.y, not (B, C))\n");
}

static void who_passes_a_negated_check_is_narrowed(void **state)
{
	assert_dump(state, DUMP_BLOCKS | DUMP_BINDS,
		    "def f(x):\n"
		    "    if not isinstance(x, A):\n"
		    "        return 1\n"
		    "    x.a()\n",
		    "0 module \n"
		    "  block 0 header scope 0 to 0\n"
		    "  block 1 top scope 0 to 0\n"
		    "  1: f unit +1\n"
		    "1 function f\n"
		    "  block 0 header scope 0 to 0\n"
		    "  block 1 top scope 0 to 11\n"
		    "  block 2 branch in 1 scope 0 to 7\n"
		    "  1: x param\n"
		    "  2: x = narrow(x, not A)\n"
		    "  1: x = narrow(x, A)\n");
}

static void who_passes_one_of_two_checks_is_narrowed_by_both(void **state)
{
	assert_dump(state, DUMP_BINDS,
		    "for x in y:\n"
		    "    if not isinstance(x, A) or not isinstance(x.b, B):\n"
		    "        continue\n"
		    "    x.a()\n",
		    "0 module \n"
		    "  2: x = iter(y)\n"
		    "  3: x = narrow(x, A)\n"
		    "  2: x = narrow(x, A)\n"
		    "  2: x.b = narrow(x.b, B)\n");
}

static void nothing_is_known_after_a_branch_that_goes_on(void **state)
{
	assert_dump(state, DUMP_BINDS,
		    "def f(x):\n"
		    "    if not isinstance(x, A):\n"
		    "        x = A()\n"
		    "    x.a()\n",
		    "0 module \n"
		    "  1: f unit +1\n"
		    "1 function f\n"
		    "  1: x param\n"
		    "  2: x = narrow(x, not A)\n"
		    "  2: x = A()\n");
}

static void assert_narrows_what_follows(void **state)
{
	assert_dump(state, DUMP_BINDS,
		    "assert isinstance(x, A) and not isinstance(y, B), z()\n",
		    "0 module \n"
		    "  2: x = narrow(x, A)\n"
		    "  1: x = narrow(x, A)\n"
		    "  1: y = narrow(y, not B)\n");
}

static void or_tells_nothing_when_it_is_true(void **state)
{
	assert_dump(state, DUMP_BINDS,
		    "if isinstance(x, A) or isinstance(x, B):\n"
		    "    pass\n"
		    "else:\n"
		    "    pass\n",
		    "0 module \n"
		    "  2: x = narrow(x, not A)\n"
		    "  4: x = narrow(x, not A)\n"
		    "  4: x = narrow(x, not B)\n");
}

static void the_right_operand_of_and_is_narrowed(void **state)
{
	assert_dump(state, DUMP_BLOCKS | DUMP_BINDS | DUMP_EXPRS,
		    "r = isinstance(x, A) and x.a()\n",
		    "0 module \n"
		    "  block 0 header scope 0 to 0\n"
		    "  block 1 top scope 0 to 8\n"
		    "  block 2 branch in 1 scope 0 to 8\n"
		    "  2: x = narrow(x, A)\n"
		    "  1: r = x.a()\n"
		    "  #0 isinstance in 1\n"
		    "  #1 x in 1\n"
		    "  #2 A in 1\n"
		    "  #3 isinstance(x, A)\n"
		    "  #4 narrow(x, A)\n"
		    "  #5 x in 2\n"
		    "  #6 x.a in 2\n"
		    "  #7 x.a()\n"
		    "variable r line 0 lines 1\n");
}

static void outcomes_of_a_conditional_expression_are_narrowed(void **state)
{
	assert_dump(state, DUMP_BLOCKS | DUMP_BINDS,
		    "r = x.a() if isinstance(x, A) else x.b()\n",
		    "0 module \n"
		    "  block 0 header scope 0 to 0\n"
		    "  block 1 top scope 0 to 13\n"
		    "  block 2 branch in 1 scope 0 to 8\n"
		    "  block 3 branch in 1 scope 0 to 12\n"
		    "  2: x = narrow(x, A)\n"
		    "  3: x = narrow(x, not A)\n"
		    "  1: r = either(x.a(), x.b())\n"
		    "variable r line 0 lines 1\n");
}

static void comprehensions_are_narrowed_by_their_conditions(void **state)
{
	assert_dump(state, DUMP_BINDS,
		    "[x.a() for x in y if isinstance(x, A)]\n",
		    "0 module \n"
		    "  2: x = iter(y)\n"
		    "  2: x = narrow(x, A)\n");
}

static void a_while_loop_narrows_inside_and_after(void **state)
{
	assert_dump(state, DUMP_BLOCKS | DUMP_BINDS,
		    "while not isinstance(x, A):\n"
		    "    x = x.up\n",
		    "0 module \n"
		    "  block 0 header scope 0 to 0\n"
		    "  block 1 top scope 0 to 9\n"
		    "  block 2 loop in 1 scope 0 to 8\n"
		    "  2: x = narrow(x, not A)\n"
		    "  2: x = x.up\n"
		    "  1: x = narrow(x, A)\n"
		    "variable x line 1 lines 1\n");
}

static void a_loop_that_breaks_tells_nothing_after(void **state)
{
	assert_dump(state, DUMP_BINDS,
		    "while not isinstance(x, A):\n"
		    "    break\n",
		    "0 module \n"
		    "  2: x = narrow(x, not A)\n");
}

static void checks_as_arguments_are_forgotten(void **state)
{
	assert_dump(state, DUMP_BINDS,
		    "if f(isinstance(x, A)):\n"
		    "    pass\n",
		    "0 module \n");
}

static void handlers_and_else_are_branches_and_finally_is_none(void **state)
{
	assert_dump(state, DUMP_BLOCKS | DUMP_BINDS,
		    "try:\n"
		    "    a = 1\n"
		    "except (E, F) as e:\n"
		    "    b = e\n"
		    "except G:\n"
		    "    pass\n"
		    "else:\n"
		    "    c = 1\n"
		    "finally:\n"
		    "    d = 1\n",
		    "0 module \n"
		    "  block 0 header scope 0 to 0\n"
		    "  block 1 top scope 0 to 9\n"
		    "  block 2 branch in 1 scope 0 to 1\n"
		    "  block 3 branch in 1 scope 0 to 6\n"
		    "  block 4 branch in 1 scope 0 to 7\n"
		    "  block 5 branch in 1 scope 0 to 8\n"
		    "  2: a = 1\n"
		    "  3: e = caught((E, F))\n"
		    "  3: b = e\n"
		    "  5: c = 1\n"
		    "  1: d = 1\n"
		    "variable a line 1 lines 1\n"
		    "variable b line 3 lines 1\n"
		    "variable c line 7 lines 1\n"
		    "variable d line 9 lines 1\n");
}

static void except_groups_bind_no_class_of_ours(void **state)
{
	assert_dump(state, DUMP_BINDS,
		    "try:\n"
		    "    pass\n"
		    "except* E as e:\n"
		    "    pass\n",
		    "0 module \n"
		    "  3: e = ?\n");
}

static void exceptions_of_python_2_are_bound(void **state)
{
	assert_dump(state, DUMP_BINDS,
		    "try:\n"
		    "    pass\n"
		    "except E, e:\n"
		    "    pass\n",
		    "0 module \n"
		    "  3: e = caught(E)\n");
}

static void cases_bind_captures_and_narrow_the_subject(void **state)
{
	assert_dump(state, DUMP_BLOCKS | DUMP_BINDS,
		    "match s:\n"
		    "    case Foo(a, b=c) as d if isinstance(d, D):\n"
		    "        pass\n"
		    "    case A() | m.B():\n"
		    "        pass\n"
		    "    case [a, *rest, z]:\n"
		    "        pass\n"
		    "    case {\"k\": v, **r}:\n"
		    "        pass\n"
		    "    case (N.x | 1):\n"
		    "        pass\n"
		    "    case (C()):\n"
		    "        pass\n"
		    "    case p, q:\n"
		    "        pass\n"
		    "    case w:\n"
		    "        pass\n",
		    "0 module \n"
		    "  block 0 header scope 0 to 0\n"
		    "  block 1 top scope 0 to 30\n"
		    "  block 2 branch in 1 scope 0 to 10\n"
		    "  block 3 branch in 1 scope 0 to 17\n"
		    "  block 4 branch in 1 scope 0 to 20\n"
		    "  block 5 branch in 1 scope 0 to 23\n"
		    "  block 6 branch in 1 scope 0 to 26\n"
		    "  block 7 branch in 1 scope 0 to 28\n"
		    "  block 8 branch in 1 scope 0 to 30\n"
		    "  block 9 branch in 1 scope 0 to 30\n"
		    "  2: a = ?\n"
		    "  2: c = narrow(s, Foo).b\n"
		    "  2: d = narrow(s, Foo)\n"
		    "  2: s = narrow(s, Foo)\n"
		    "  2: d = narrow(d, D)\n"
		    "  3: s = narrow(s, (A, m.B))\n"
		    "  4: a = item(s, 0)\n"
		    "  4: rest = rest(s, 1)\n"
		    "  4: z = item(s, end-0)\n"
		    "  5: v = s['k']\n"
		    "  5: r = ?\n"
		    "  7: s = narrow(s, C)\n"
		    "  8: p = item(s, 0)\n"
		    "  8: q = item(s, 1)\n"
		    "  9: w = s\n");
}

static void a_subject_without_a_name_is_narrowed_in_its_captures(void **state)
{
	assert_dump(state, DUMP_BINDS,
		    "match f():\n"
		    "    case A() as a:\n"
		    "        pass\n",
		    "0 module \n"
		    "  2: a = narrow(f(), A)\n");
}

static void returns_are_listed_with_reachable_ends(void **state)
{
	assert_dump(state, DUMP_HEAD,
		    "def g():\n"
		    "    if a: return b\n"
		    "def h():\n"
		    "    while True:\n"
		    "        if x: return y\n"
		    "def i():\n"
		    "    while True:\n"
		    "        break\n"
		    "def j():\n"
		    "    try:\n"
		    "        return a\n"
		    "    except E:\n"
		    "        raise\n"
		    "def k():\n"
		    "    raise X\n"
		    "def l():\n"
		    "    with a:\n"
		    "        return b\n"
		    "def m(x):\n"
		    "    match x:\n"
		    "        case 1: return a\n"
		    "        case _: return b\n"
		    "def n():\n"
		    "    for x in y:\n"
		    "        return x\n"
		    "def o():\n"
		    "    if a: return b\n"
		    "    elif c: return\n"
		    "    else: return d\n"
		    "def p():\n"
		    "    try:\n"
		    "        return a\n"
		    "    finally:\n"
		    "        b()\n",
		    "0 module \n"
		    "1 function g\n"
		    "  returns b, -\n"
		    "2 function h\n"
		    "  returns y\n"
		    "3 function i\n"
		    "  returns -\n"
		    "4 function j\n"
		    "  returns a\n"
		    "5 function k\n"
		    "6 function l\n"
		    "  returns b\n"
		    "7 function m\n"
		    "  param x\n"
		    "  returns a, b\n"
		    "8 function n\n"
		    "  returns x, -\n"
		    "9 function o\n"
		    "  returns b, -, d\n"
		    "10 function p\n"
		    "  returns a\n");
}

static void yields_make_a_generator(void **state)
{
	assert_dump(state, DUMP_HEAD,
		    "def f():\n"
		    "    yield\n"
		    "    yield a\n"
		    "    yield from b\n"
		    "    return lambda: (yield)\n",
		    "0 module \n"
		    "1 function f generator\n"
		    "  returns lambda#1(yield -)\n"
		    "  yields -, a, yield from b\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_branch_of_isinstance_is_narrowed),
		cmocka_unit_test(who_passes_a_negated_check_is_narrowed),
		cmocka_unit_test(
			who_passes_one_of_two_checks_is_narrowed_by_both),
		cmocka_unit_test(nothing_is_known_after_a_branch_that_goes_on),
		cmocka_unit_test(assert_narrows_what_follows),
		cmocka_unit_test(or_tells_nothing_when_it_is_true),
		cmocka_unit_test(the_right_operand_of_and_is_narrowed),
		cmocka_unit_test(
			outcomes_of_a_conditional_expression_are_narrowed),
		cmocka_unit_test(
			comprehensions_are_narrowed_by_their_conditions),
		cmocka_unit_test(a_while_loop_narrows_inside_and_after),
		cmocka_unit_test(a_loop_that_breaks_tells_nothing_after),
		cmocka_unit_test(checks_as_arguments_are_forgotten),
		cmocka_unit_test(
			handlers_and_else_are_branches_and_finally_is_none),
		cmocka_unit_test(except_groups_bind_no_class_of_ours),
		cmocka_unit_test(exceptions_of_python_2_are_bound),
		cmocka_unit_test(cases_bind_captures_and_narrow_the_subject),
		cmocka_unit_test(
			a_subject_without_a_name_is_narrowed_in_its_captures),
		cmocka_unit_test(returns_are_listed_with_reachable_ends),
		cmocka_unit_test(yields_make_a_generator),
	};

	return cmocka_run_group_tests(tests, new_reader, free_reader);
}
