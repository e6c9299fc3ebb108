/*
 * Generated modules. There are few names, so that what one module says is
 * likely to concern another: cyclic imports with stars, classes that override
 * each other's methods, functions that return each other's results in cycles.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "tests/prop/graph/source.h"

struct maker {
	struct dice *d;
	unsigned module, indent, depth;
	char *text;
	size_t len, size;
};

__attribute__((format(printf, 2, 3))) static void say(struct maker *m,
						      const char *format, ...)
{
	va_list ap;
	char *more = NULL;
	int n;

	va_start(ap, format);
	n = vasprintf(&more, format, ap);
	va_end(ap);
	if (n < 0)
		abort();
	if (m->len + (size_t)n + 1 > m->size) {
		m->size = (m->len + (size_t)n + 1) * 2;
		m->text = must_realloc(m->text, m->size);
	}
	memcpy(m->text + m->len, more, (size_t)n + 1);
	m->len += (size_t)n;
	free(more);
}

static unsigned roll(struct maker *m, unsigned n)
{
	return (unsigned)dice_below(m->d, n);
}

static const char *const paths[MADE_MODULES] = {
	"made/__init__.py", "made/a.py",     "made/b.py",
	"made/sub/c.py",    "made/sub/d.py", "made/conftest.py",
	"made/test_e.py",   "src/top.py",    "made/sub/__init__.py",
};
static const char *const modules[MADE_MODULES] = {
	"made",		 "made.a",	"made.b", "made.sub.c", "made.sub.d",
	"made.conftest", "made.test_e", "top",	  "made.sub",
};

const char *made_path(unsigned n)
{
	return paths[n % MADE_MODULES];
}

/*
 * Names: classes C0.., functions f0.., variables V0.., methods m0.. Each is
 * mostly defined in one module, and now and then in others.
 */
#define NAMES 4

static unsigned home_of(unsigned kind, unsigned n)
{
	return (kind * NAMES + n) % MADE_MODULES;
}

static void say_indent(struct maker *m)
{
	say(m, "%*s", (int)m->indent * 4, "");
}

/* A name: mostly of something that is called, or was. */
static void say_name(struct maker *m)
{
	switch (roll(m, 16)) {
	case 0:
		say(m, "C%u", roll(m, NAMES));
		break;
	case 1:
	case 2:
	case 3:
	case 4:
		say(m, "C%u()", roll(m, NAMES));
		break;
	case 5:
		say(m, "f%u", roll(m, NAMES));
		break;
	case 6:
	case 7:
	case 8:
		say(m, "f%u()", roll(m, NAMES));
		break;
	case 9:
	case 10:
		say(m, "V%u", roll(m, NAMES));
		break;
	case 11:
	case 12:
		say(m, "x%u", roll(m, 2));
		break;
	case 13:
		say(m, "%s", modules[roll(m, MADE_MODULES)]);
		break;
	default:
		say(m, "self");
		break;
	}
}

static void say_expr(struct maker *m);

static void say_member(struct maker *m)
{
	static const char *const kinds[] = {
		"m", "m", "a", "a", "C", "f", "V"
	};

	say(m, ".%s%u", kinds[roll(m, 7)], roll(m, NAMES));
}

static void say_more(struct maker *m)
{
	switch (roll(m, 12)) {
	case 0:
		say(m, "[0]");
		break;
	case 1:
		say(m, "()");
		break;
	case 2:
	case 3:
	case 4:
		say_member(m);
		break;
	case 5:
		say(m, ".a%u.m%u()", roll(m, NAMES), roll(m, NAMES));
		break;
	default:
		say(m, ".m%u()", roll(m, NAMES));
		break;
	}
}

static void say_special(struct maker *m)
{
	switch (roll(m, 10)) {
	case 0:
		say(m, "super().m%u()", roll(m, NAMES));
		break;
	case 9:
		say(m, "f%u(", roll(m, NAMES));
		say_expr(m);
		say(m, ")");
		break;
	case 1:
		say(m, "[x0 for x0 in ");
		say_expr(m);
		say(m, "]");
		break;
	case 2:
		say(m, "(lambda x1: x1)(");
		say_expr(m);
		say(m, ")");
		break;
	case 3:
		say_expr(m);
		say(m, " if V0 else ");
		say_expr(m);
		break;
	case 4:
		say(m, "[");
		say_expr(m);
		say(m, ", ");
		say_expr(m);
		say(m, "]");
		break;
	case 5:
		say(m, "{'k': ");
		say_expr(m);
		say(m, "}['k']");
		break;
	case 6:
		say_expr(m);
		say(m, " or ");
		say_expr(m);
		break;
	case 7:
		say(m, "{**");
		say_expr(m);
		say(m, "}.get(0)");
		break;
	default:
		say(m, "partial(");
		say_expr(m);
		say(m, ")()");
		break;
	}
}

static void say_expr(struct maker *m)
{
	if (m->depth > 3) {
		say_name(m);
		return;
	}
	m->depth++;
	if (roll(m, 5) == 0) {
		say_special(m);
	} else {
		say_name(m);
		for (unsigned n = roll(m, 3); n; n--)
			say_more(m);
	}
	m->depth--;
}

static void say_type(struct maker *m)
{
	static const char *const outer[] = { "list[", "Optional[", "dict[str, ",
					     "type[", "'" };
	unsigned k = roll(m, 12);

	if (k < 5)
		say(m, "%sC%u%s", outer[k], roll(m, NAMES), k == 4 ? "'" : "]");
	else if (k == 5)
		say(m, "T%u", roll(m, 2));
	else if (k == 6)
		say(m, "C%u | C%u", roll(m, NAMES), roll(m, NAMES));
	else
		say(m, "C%u", roll(m, NAMES));
}

static void say_import(struct maker *m)
{
	const char *from = modules[roll(m, MADE_MODULES)];

	say_indent(m);
	switch (roll(m, 10)) {
	case 0:
		say(m, "from %s import *\n", from);
		break;
	case 1:
		say(m, "import %s\n", from);
		break;
	case 2:
		say(m, "import %s as V%u\n", from, roll(m, NAMES));
		break;
	case 3:
		say(m, "from . import a, b as V%u\n", roll(m, NAMES));
		break;
	case 4:
		say(m, "from .. import f%u\n", roll(m, NAMES));
		break;
	default:
		say(m, "from %s import ", from);
		say(m, "%s%u", (const char *[]){ "C", "f", "V" }[roll(m, 3)],
		    roll(m, NAMES));
		if (roll(m, 4) == 0)
			say(m, " as f%u", roll(m, NAMES));
		say(m, "\n");
		break;
	}
}

static void say_body(struct maker *m, unsigned lines);

static void say_block(struct maker *m, unsigned lines)
{
	m->indent++;
	if (m->indent > 5) {
		say_indent(m);
		say(m, "pass\n");
	} else {
		say_body(m, lines);
	}
	m->indent--;
}

static void say_param(struct maker *m, const char *name)
{
	say(m, "%s%s", roll(m, 12) ? "" : "*", name);
	if (roll(m, 2)) {
		say(m, ": ");
		say_type(m);
	}
	if (roll(m, 3) == 0) {
		say(m, "=");
		say_name(m);
	}
}

static void say_header(struct maker *m, const char *name, bool method)
{
	say_indent(m);
	say(m, "%sdef %s(%s", roll(m, 12) ? "" : "async ", name,
	    method ? "self, " : "");
	if (roll(m, 2)) {
		say_param(m, "x0");
		say(m, ", ");
	}
	if (roll(m, 2))
		say_param(m, "x1");
	say(m, ")");
	if (roll(m, 5) == 0) {
		say(m, " -> ");
		say_type(m);
	}
	say(m, ":\n");
}

static void say_function(struct maker *m, const char *name, bool method)
{
	static const char *const decorators[] = {
		"property",
		"staticmethod",
		"classmethod",
		"contextmanager",
		"pytest.fixture()",
		"overload",
		"f0",
		"C1",
		"cached_property",
		"pytest.fixture(name='x0')",
	};

	if (roll(m, 4) == 0) {
		say_indent(m);
		say(m, "@%s\n",
		    decorators[roll(m,
				    sizeof(decorators) / sizeof(*decorators))]);
	}
	say_header(m, name, method);
	say_block(m, roll(m, 4) + 1);
	if (roll(m, 3)) {
		m->indent++;
		say_indent(m);
		say(m, "return ");
		say_expr(m);
		say(m, "\n");
		m->indent--;
	}
}

static void say_def(struct maker *m, bool method)
{
	static const char *const special[] = { "__init__",    "__call__",
					       "__iter__",    "__enter__",
					       "__getitem__", "__getattr__",
					       "__get__",     "__new__" };
	char name[32];

	if (method && roll(m, 4) == 0)
		(void)snprintf(name, sizeof(name), "%s", special[roll(m, 8)]);
	else
		(void)snprintf(name, sizeof(name), "%s%u", method ? "m" : "f",
			       roll(m, NAMES));
	say_function(m, name, method);
}

static void say_class(struct maker *m, unsigned number)
{
	say_indent(m);
	say(m, "class C%u", number);
	if (roll(m, 3)) {
		say(m, "(C%u", roll(m, NAMES));
		if (roll(m, 4) == 0) {
			say(m, ", ");
			say_expr(m);
		}
		say(m, ")");
	}
	say(m, ":\n");
	m->indent++;
	if (roll(m, 2)) {
		say_indent(m);
		say(m, "def __init__(self):\n");
		say_indent(m);
		say(m, "    self.a%u = ", roll(m, NAMES));
		say_expr(m);
		say(m, "\n");
	}
	for (unsigned n = 1 + roll(m, 4); n; n--) {
		unsigned what = roll(m, 6);

		if (what == 0) {
			say_indent(m);
			say(m, "a%u = ", roll(m, NAMES));
			say_expr(m);
			say(m, "\n");
		} else if (what == 1) {
			say_indent(m);
			say(m, "a%u: ", roll(m, NAMES));
			say_type(m);
			say(m, "\n");
		} else {
			say_def(m, true);
		}
	}
	m->indent--;
}

static void say_assign(struct maker *m)
{
	static const char *const targets[] = { "x0",	  "x1",	     "V0",
					       "self.a0", "self.a1", "V1",
					       "x0.a2" };

	say(m, "%s", targets[roll(m, 7)]);
	if (roll(m, 6) == 0) {
		say(m, ": ");
		say_type(m);
	}
	say(m, "%s", roll(m, 10) ? " = " : " += ");
	say_expr(m);
	say(m, "\n");
}

static void say_compound(struct maker *m)
{
	switch (roll(m, 7)) {
	case 0:
		say(m, "for x%u in ", roll(m, 2));
		break;
	case 1:
		say(m, "while ");
		break;
	case 2:
		say(m, "with ");
		say_expr(m);
		say(m, " as x1:\n");
		say_block(m, 2);
		return;
	case 3:
		say(m, "if isinstance(x0, C%u):\n", roll(m, NAMES));
		say_block(m, 2);
		return;
	case 4:
		say(m, "try:\n");
		say_block(m, 1);
		say_indent(m);
		say(m, "except C%u as x0:\n", roll(m, NAMES));
		say_block(m, 1);
		return;
	default:
		say(m, "if ");
		break;
	}
	say_expr(m);
	say(m, ":\n");
	say_block(m, 2);
}

static void say_simple(struct maker *m)
{
	static const char *const words[] = {
		"global V0",	 "nonlocal x0", "yield x0",
		"yield from x1", "del x1",	"pass",
	};

	switch (roll(m, 9)) {
	case 0:
	case 1:
		say(m, "return ");
		say_expr(m);
		say(m, "\n");
		break;
	case 8:
		say(m, "%s",
		    (const char *[]){ "return lambda: ", "x0 = lambda x1: ",
				      "self.a0 = lambda: " }[roll(m, 3)]);
		say_expr(m);
		say(m, "\n");
		break;
	case 2:
	case 3:
		say_assign(m);
		break;
	case 4:
		say(m, "%s\n", words[roll(m, 6)]);
		break;
	case 5:
		say_compound(m);
		break;
	default:
		say_expr(m);
		say(m, "\n");
		break;
	}
}

static void say_body(struct maker *m, unsigned lines)
{
	for (; lines; lines--) {
		unsigned what = roll(m, 14);

		if (what == 0 && m->indent < 3) {
			say_def(m, false);
		} else if (what == 1 && m->indent < 2) {
			say_class(m, roll(m, NAMES));
		} else if (what == 2) {
			say_import(m);
		} else {
			say_indent(m);
			say_simple(m);
		}
	}
}

static void say_head(struct maker *m)
{
	if (roll(m, 2))
		say(m, "from typing import Optional, TypeVar, overload\n");
	if (roll(m, 2))
		say(m, "from functools import partial, cached_property\n");
	if (roll(m, 3) == 0)
		say(m, "import pytest\n");
	if (roll(m, 3) == 0)
		say(m, "from contextlib import contextmanager\n");
	if (roll(m, 3) == 0)
		say(m, "T0 = TypeVar('T0', bound='C%u')\n", roll(m, NAMES));
	if (roll(m, 6) == 0)
		say(m, "__all__ = ['C0', 'C1', 'f%u']\n", roll(m, NAMES));
	for (unsigned n = 0; n < 3 * NAMES; n++)
		if (roll(m, 2))
			say(m, "from %s import %c%u\n",
			    modules[roll(m, 3) ? home_of(n % 3, n / 3)
					       : roll(m, MADE_MODULES)],
			    "CfV"[n % 3], n / 3);
	for (unsigned n = roll(m, 3); n; n--)
		say_import(m);
}

static void say_top(struct maker *m)
{
	switch (roll(m, 8)) {
	case 0:
		say(m, "V%u = ", roll(m, NAMES));
		say_expr(m);
		say(m, "\n");
		break;
	case 1:
		say(m, "if V0:\n");
		m->indent++;
		if (roll(m, 2))
			say_def(m, false);
		else
			say_import(m);
		m->indent--;
		break;
	case 2:
		say_import(m);
		break;
	case 3:
		say(m, "def test_%u(x0, f%u):\n", roll(m, 2), roll(m, NAMES));
		say_block(m, 2);
		break;
	case 4:
	case 5:
		say_class(m, roll(m, NAMES));
		break;
	default:
		say_def(m, false);
		break;
	}
}

static void say_home(struct maker *m)
{
	char name[16];

	for (unsigned n = 0; n < NAMES; n++) {
		if (home_of(0, n) == m->module && roll(m, 6))
			say_class(m, n);
		(void)snprintf(name, sizeof(name), "f%u", n);
		if (home_of(1, n) == m->module && roll(m, 6))
			say_function(m, name, false);
		if (home_of(2, n) != m->module || !roll(m, 6))
			continue;
		say(m, "V%u = ", n);
		say_expr(m);
		say(m, "\n");
	}
}

char *made_text(struct dice *d, unsigned n)
{
	struct maker m = { .d = d, .module = n };

	say(&m, "%s", "");
	say_head(&m);
	for (unsigned k = 1 + roll(&m, 5); k; k--)
		say_top(&m);
	say_home(&m);
	for (unsigned k = roll(&m, 3); k; k--)
		say_top(&m);
	return m.text;
}

char *made_header(struct dice *d, unsigned indent, const char *name,
		  bool method)
{
	struct maker m = { .d = d, .indent = indent };

	say_header(&m, name, method);
	return m.text;
}

char *made_function(struct dice *d, unsigned indent, const char *name,
		    bool method)
{
	struct maker m = { .d = d, .indent = indent };

	say_function(&m, name, method);
	return m.text;
}

char *made_statement(struct dice *d, unsigned indent)
{
	struct maker m = { .d = d, .indent = indent };

	if (roll(&m, 12) == 0)
		say_def(&m, roll(&m, 2));
	else
		say_body(&m, 1);
	return m.text;
}

char *made_expression(struct dice *d)
{
	struct maker m = { .d = d };

	say_expr(&m);
	return m.text;
}
