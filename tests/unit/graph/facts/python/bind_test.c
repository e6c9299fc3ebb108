/*
 * Everything that binds a name: its kind, its block, and where it takes effect.
 */
#include "tests/support/facts_golden.h"

static void assignments_bind_their_targets_from_the_right(void **state)
{
	assert_dump(state, DUMP_BINDS, "a = b = f()\n",
		    "0 module \n"
		    "  1: b = f()\n"
		    "  1: a = f()\n"
		    "variable b line 0 lines 1\n"
		    "variable a line 0 lines 1\n");
}

static void unpacking_counts_items_from_the_end_behind_a_star(void **state)
{
	assert_dump(state, DUMP_BINDS,
		    "a, (b, *c), *d.e, g = x\n"
		    "[h, i] = y\n",
		    "0 module \n"
		    "  1: a = item(x, 0)\n"
		    "  1: b = item(item(x, 1), 0)\n"
		    "  1: c = rest(item(x, 1), 1)\n"
		    "  1: d.e = rest(x, 2)\n"
		    "  1: g = item(x, end-0)\n"
		    "  1: h = item(y, 0)\n"
		    "  1: i = item(y, 1)\n"
		    "variable a line 0 lines 1\n"
		    "variable b line 0 lines 1\n"
		    "variable c line 0 lines 1\n"
		    "variable g line 0 lines 1\n"
		    "variable h line 1 lines 1\n"
		    "variable i line 1 lines 1\n");
}

static void annotations_are_kept_with_and_without_a_value(void **state)
{
	assert_dump(state, DUMP_BINDS,
		    "a: int\n"
		    "b: int = 1\n"
		    "c.d: str = e\n",
		    "0 module \n"
		    "  1: a : int\n"
		    "  1: b : int = 1\n"
		    "  1: c.d : str = e\n"
		    "variable a line 0 lines 1\n"
		    "variable b line 1 lines 1\n");
}

static void augmented_assignments_look_first(void **state)
{
	assert_dump(state, DUMP_BINDS | DUMP_EXPRS,
		    "c += d\n"
		    "e.f -= g\n"
		    "h()[i] *= j\n",
		    "0 module \n"
		    "  1: c += d\n"
		    "  1: e.f += g\n"
		    "  #0 c in 1\n"
		    "  #1 d in 1\n"
		    "  #2 (c += d)\n"
		    "  #3 e in 1\n"
		    "  #4 e.f in 1\n"
		    "  #5 g in 1\n"
		    "  #6 (e.f -= g)\n"
		    "  #7 place(e.f)\n"
		    "  #8 h in 1\n"
		    "  #9 h()\n"
		    "  #10 i in 1\n"
		    "  #11 h()[i]\n"
		    "  #12 j in 1\n"
		    "  #13 (h()[i] *= j)\n"
		    "variable c line 0 lines 1\n");
}

/* Constants, and results of arithmetic on them, are never called. */
static void what_is_put_into_a_container_is_no_variable(void **state)
{
	assert_dump(state, DUMP_BINDS,
		    "a['b'] = c\n"
		    "d.e[f][1:g], h().i['j'] = k\n"
		    "l[0] = 1\n"
		    "l[1] = m % n\n"
		    "o.update(p, q=r)\n"
		    "s = t.update(u)\n",
		    "0 module \n"
		    "  1: a = store(a['b'], c)\n"
		    "  1: d.e = store(d.e[f][1:?], item(k, 0))\n"
		    "  1: o = store(o.update(p, q=r))\n"
		    "  1: s = t.update(u)\n"
		    "variable s line 5 lines 1\n");
}

static void del_unbinds_names_and_looks_at_the_rest(void **state)
{
	assert_dump(state, DUMP_BINDS | DUMP_CALLS,
		    "del a, b.c, d[e()]\n"
		    "del (f, g)\n",
		    "0 module \n"
		    "  1: a del\n"
		    "  1: b.c del\n"
		    "  1: f del\n"
		    "  1: g del\n"
		    "  call e() @0:14\n");
}

static void imports_say_module_level_and_alias(void **state)
{
	assert_dump(state, DUMP_BINDS,
		    "import a\n"
		    "import a.b\n"
		    "import a.b as c\n"
		    "from a import b, c as d\n"
		    "from . import e\n"
		    "from ..f.g import (h, i,)\n"
		    "from j import *\n"
		    "from __future__ import k\n",
		    "0 module \n"
		    "  1: a import a\n"
		    "  1: a import a.b\n"
		    "  1: c import a.b as\n"
		    "  1: b from 0 'a' import b\n"
		    "  1: d from 0 'a' import c\n"
		    "  1: e from 1 '' import e\n"
		    "  1: h from 2 'f.g' import h\n"
		    "  1: i from 2 'f.g' import i\n"
		    "  1: - from 0 'j' import *\n"
		    "  1: k from 0 '__future__' import k\n");
}

static void for_binds_elements_in_the_loop(void **state)
{
	assert_dump(state, DUMP_BLOCKS | DUMP_BINDS,
		    "for a, b in c:\n"
		    "    d = a\n"
		    "else:\n"
		    "    e = 1\n",
		    "0 module \n"
		    "  block 0 header scope 0 to 0\n"
		    "  block 1 top scope 0 to 6\n"
		    "  block 2 loop in 1 scope 0 to 5\n"
		    "  block 3 branch in 1 scope 0 to 6\n"
		    "  2: a = item(iter(c), 0)\n"
		    "  2: b = item(iter(c), 1)\n"
		    "  2: d = a\n"
		    "  3: e = 1\n"
		    "variable d line 1 lines 1\n"
		    "variable e line 3 lines 1\n");
}

static void with_binds_what_is_entered_in_the_same_block(void **state)
{
	assert_dump(state, DUMP_BLOCKS | DUMP_BINDS | DUMP_CALLS,
		    "with a() as b, c as (d, e), f():\n"
		    "    g()\n"
		    "with (h as i, j as k.l):\n"
		    "    pass\n",
		    "0 module \n"
		    "  block 0 header scope 0 to 0\n"
		    "  block 1 top scope 0 to 17\n"
		    "  1: b = enter(a())\n"
		    "  1: d = item(enter(c), 0)\n"
		    "  1: e = item(enter(c), 1)\n"
		    "  1: i = enter(h)\n"
		    "  1: k.l = enter(j)\n"
		    "  call a() @0:5\n"
		    "  call f() @0:28\n"
		    "  call g() @1:4\n");
}

static void async_loops_and_contexts_are_marked(void **state)
{
	assert_dump(state, DUMP_BINDS,
		    "async def f():\n"
		    "    async with a as b:\n"
		    "        pass\n"
		    "    async for c in d:\n"
		    "        pass\n",
		    "0 module \n"
		    "  1: f unit +1\n"
		    "1 function f async\n"
		    "  1: b = aenter(a)\n"
		    "  2: c = aiter(d)\n");
}

static void global_and_nonlocal_names_are_bound_further_out(void **state)
{
	assert_dump(state, DUMP_BINDS,
		    "def f():\n"
		    "    global a\n"
		    "    nonlocal b\n"
		    "    a = 1\n"
		    "    b += 2\n"
		    "    def c(): pass\n"
		    "    c = 3\n",
		    "0 module \n"
		    "  1: f unit +1\n"
		    "1 function f\n"
		    "  1: a = 1 global\n"
		    "  1: b += 2 nonlocal\n"
		    "  1: c unit +1\n"
		    "  1: c = 3\n"
		    "2 function c\n");
}

static void attributes_of_self_are_those_of_the_first_parameter(void **state)
{
	assert_dump(state, DUMP_BINDS,
		    "class A:\n"
		    "    def f(self, x):\n"
		    "        self.a = x\n"
		    "        self.b: int = 1\n"
		    "        self.c: str\n"
		    "        self.d, self.e = x\n"
		    "        x.g = 1\n"
		    "        self.h += 1\n"
		    "    @staticmethod\n"
		    "    def s(): self.x = 1\n"
		    "def f(self): self.y = 1\n",
		    "0 module \n"
		    "  1: A unit +1\n"
		    "  1: f unit +4\n"
		    "1 class A\n"
		    "  1: f unit +1\n"
		    "  1: s unit +2\n"
		    "2 function f method\n"
		    "  1: self param\n"
		    "  1: x param\n"
		    "  1: self.a = x\n"
		    "  1: self.b : int = 1\n"
		    "  1: self.c : str\n"
		    "  1: self.d = item(x, 0)\n"
		    "  1: self.e = item(x, 1)\n"
		    "  1: x.g = 1\n"
		    "  1: self.h += 1\n"
		    "  self.a = x\n"
		    "  self.b: int = 1\n"
		    "  self.c: str\n"
		    "  self.d = item(x, 0)\n"
		    "  self.e = item(x, 1)\n"
		    "3 function s method\n"
		    "  1: self.x = 1\n"
		    "4 function f\n"
		    "  1: self param\n"
		    "  1: self.y = 1\n");
}

static void parameters_have_kinds_defaults_and_types(void **state)
{
	assert_dump(state, DUMP_HEAD | DUMP_BINDS,
		    "def f(a, b: int = 1, /, c=\"x\", *d: D, e, g: G = h, **i) "
		    "-> R: pass\n"
		    "def j(k, *, m): pass\n",
		    "0 module \n"
		    "  1: f unit +1\n"
		    "  1: j unit +2\n"
		    "1 function f\n"
		    "  param a\n"
		    "  param b: int = 1\n"
		    "  param c = 'x'\n"
		    "  param *d: D\n"
		    "  param kw e\n"
		    "  param kw g: G = h\n"
		    "  param **i\n"
		    "  -> R\n"
		    "  returns -\n"
		    "  1: a param\n"
		    "  1: b param\n"
		    "  1: c param\n"
		    "  1: d param\n"
		    "  1: e param\n"
		    "  1: g param\n"
		    "  1: i param\n"
		    "2 function j\n"
		    "  param k\n"
		    "  param kw m\n"
		    "  returns -\n"
		    "  1: k param\n"
		    "  1: m param\n");
}

static void type_parameters_are_bound_in_the_header(void **state)
{
	assert_dump(state, DUMP_HEAD | DUMP_BINDS,
		    "def f[T: B, *Ts](x: T): pass\n"
		    "class A[T](B[T], metaclass=M, *c): pass\n"
		    "type X[T] = list[T] | None\n",
		    "0 module \n"
		    "  1: f unit +1\n"
		    "  1: A unit +2\n"
		    "  1: X = (list[T] | None)\n"
		    "1 function f\n"
		    "  param x: T\n"
		    "  returns -\n"
		    "  0: T = B\n"
		    "  0: Ts = ?\n"
		    "  1: x param\n"
		    "2 class A\n"
		    "  bases B[T], metaclass=M, *c\n"
		    "  0: T = ?\n"
		    "variable X line 2 lines 1\n");
}

static void type_is_a_name_too(void **state)
{
	assert_dump(state, DUMP_BINDS,
		    "type = 1\n"
		    "match = 2\n"
		    "print(type, match)\n",
		    "0 module \n"
		    "  1: type = 1\n"
		    "  1: match = 2\n"
		    "variable type line 0 lines 1\n"
		    "variable match line 1 lines 1\n");
}

static void all_is_gathered_from_what_is_known(void **state)
{
	assert_dump(state, 0,
		    "__all__ = [\"a\", \"b\"]\n"
		    "__all__ += (\"c\",)\n"
		    "__all__.extend([\"d\"])\n"
		    "__all__.append(\"e\")\n",
		    "0 module \n"
		    "variable __all__ line 0 lines 1\n"
		    "all a b c d e\n");
}

static void all_is_unknown_when_a_part_is(void **state)
{
	assert_dump(state, 0,
		    "__all__ = [\"a\"]\n"
		    "__all__ += x.__all__\n",
		    "0 module \n"
		    "variable __all__ line 0 lines 1\n");
}

static void all_is_unknown_after_other_methods(void **state)
{
	assert_dump(state, 0,
		    "__all__ = [\"a\"]\n"
		    "__all__.remove(\"a\")\n",
		    "0 module \n"
		    "variable __all__ line 0 lines 1\n");
}

static void all_begins_anew_when_it_is_assigned(void **state)
{
	assert_dump(state, 0,
		    "__all__ = a.b\n"
		    "__all__ = [\"c\"] + [\"d\"]\n",
		    "0 module \n"
		    "variable __all__ line 0 lines 1\n"
		    "all d c\n");
}

static void alternatives_of_all_add_up(void **state)
{
	assert_dump(state, 0,
		    "if x:\n"
		    "    __all__ = [\"a\"]\n"
		    "else:\n"
		    "    __all__ = [\"b\"]\n",
		    "0 module \n"
		    "variable __all__ line 1 lines 1\n"
		    "all a b\n");
}

static void variables_are_what_the_module_assigns_by_name(void **state)
{
	assert_dump(state, 0,
		    "import a\n"
		    "b = 1\n"
		    "if b:\n"
		    "    c, d = e\n"
		    "    c += 2\n"
		    "f: int\n"
		    "g.h = 3\n"
		    "for i in j: pass\n"
		    "def k():\n"
		    "    global m\n"
		    "    m = 1\n"
		    "class n:\n"
		    "    o = 1\n"
		    "type p = q\n",
		    "0 module \n"
		    "1 function k\n"
		    "2 class n\n"
		    "variable b line 1 lines 1\n"
		    "variable c line 3 lines 1\n"
		    "variable d line 3 lines 1\n"
		    "variable f line 5 lines 1\n"
		    "variable p line 13 lines 1\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(assignments_bind_their_targets_from_the_right),
		cmocka_unit_test(
			unpacking_counts_items_from_the_end_behind_a_star),
		cmocka_unit_test(annotations_are_kept_with_and_without_a_value),
		cmocka_unit_test(augmented_assignments_look_first),
		cmocka_unit_test(what_is_put_into_a_container_is_no_variable),
		cmocka_unit_test(del_unbinds_names_and_looks_at_the_rest),
		cmocka_unit_test(imports_say_module_level_and_alias),
		cmocka_unit_test(for_binds_elements_in_the_loop),
		cmocka_unit_test(with_binds_what_is_entered_in_the_same_block),
		cmocka_unit_test(async_loops_and_contexts_are_marked),
		cmocka_unit_test(
			global_and_nonlocal_names_are_bound_further_out),
		cmocka_unit_test(
			attributes_of_self_are_those_of_the_first_parameter),
		cmocka_unit_test(parameters_have_kinds_defaults_and_types),
		cmocka_unit_test(type_parameters_are_bound_in_the_header),
		cmocka_unit_test(type_is_a_name_too),
		cmocka_unit_test(all_is_gathered_from_what_is_known),
		cmocka_unit_test(all_is_unknown_when_a_part_is),
		cmocka_unit_test(all_is_unknown_after_other_methods),
		cmocka_unit_test(all_begins_anew_when_it_is_assigned),
		cmocka_unit_test(alternatives_of_all_add_up),
		cmocka_unit_test(variables_are_what_the_module_assigns_by_name),
	};

	return cmocka_run_group_tests(tests, new_reader, free_reader);
}
