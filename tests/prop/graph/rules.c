#include "tests/prop/graph/rules.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/alloc.h"

/*
 * $n: the carrier's name. $T: an expression for an instance. $K: a class that
 * mostly has the method. $m: a module of carriers; $o: a carrier's name.
 */
static const struct {
	const char *text, *use;
} ways[] = {
	{ "def $n():\n    return $T\n", "$n()" },
	{ "def $n():\n    x = $T\n    return x\n", "$n()" },
	{ "def $n() -> $K:\n    pass\n", "$n()" },
	{ "def $n() -> '$K':\n    return $T\n", "$n()" },
	{ "def $n() -> Optional[$K]:\n    pass\n", "$n()" },
	{ "def $n() -> list[$K]:\n    pass\n", "$n()[0]" },
	{ "class $n($K):\n    pass\n", "$n()" },
	{ "class $n($K):\n    def go(self):\n        super().go()\n", "$n()" },
	{ "class $n:\n    def __init__(self):\n        self.a = $T\n",
	  "$n().a" },
	{ "class $n:\n    def __init__(self):\n        self.a: $K = None\n",
	  "$n().a" },
	{ "class $n:\n    def set(self):\n        self.b = $T\n"
	  "    def get(self):\n        return self.b\n",
	  "$n().get()" },
	{ "class $n:\n    a: $K\n", "$n().a" },
	{ "class $n:\n    a = $T\n", "$n.a" },
	{ "class $n:\n    @property\n    def a(self):\n        return $T\n",
	  "$n().a" },
	{ "class $n:\n    @property\n    def a(self):\n        return $T\n"
	  "    @a.setter\n    def a(self, v):\n        pass\n",
	  "$n().a" },
	{ "class $n:\n    @cached_property\n    def a(self):\n"
	  "        return $T\n",
	  "$n().a" },
	{ "class $n:\n    def __call__(self):\n        return $T\n", "$n()()" },
	{ "class $n:\n    def __getattr__(self, name):\n        return $T\n",
	  "$n().zz" },
	{ "class $n:\n    def __getitem__(self, i):\n        return $T\n",
	  "$n()[3]" },
	{ "class $n:\n    def __iter__(self):\n        yield $T\n",
	  "list($n())[0]" },
	{ "class $n:\n    def __iter__(self):\n        return self\n"
	  "    def __next__(self):\n        return $T\n",
	  "[x for x in $n()][0]" },
	{ "class $n:\n    @classmethod\n    def make(cls):\n"
	  "        return cls()\n    def go(self):\n        $T\n",
	  "$n.make()" },
	{ "class $n:\n    @staticmethod\n    def make():\n        return $T\n",
	  "$n.make()" },
	{ "class $n:\n    def m(self) -> Self:\n        pass\n"
	  "    go = lambda self: $T\n",
	  "$n().m().go()" },
	{ "class $n_:\n    def __get__(self, o, t):\n        return $T\n\n\n"
	  "class $n:\n    a = $n_()\n",
	  "$n().a" },
	{ "class $n_:\n    def m(self, x: $K):\n        pass\n\n\n"
	  "class $n($n_):\n    def m(self, x):\n        return x\n",
	  "$n().m(0)" },
	{ "class $n_:\n    def a(self):\n        return $T\n\n\n"
	  "class $n($n_):\n    def a(self):\n        return super().a()\n",
	  "$n().a()" },
	{ "class $n:\n    def __new__(cls):\n"
	  "        return super().__new__(cls)\n"
	  "    def go(self):\n        return $T\n",
	  "$n().go()" },
	{ "class $n_(classmethod):\n    pass\n\n\nclass $n:\n"
	  "    @$n_\n    def make(cls):\n        return $T\n",
	  "$n.make()" },
	{ "class $n_(property):\n    pass\n\n\nclass $n:\n"
	  "    @$n_\n    def a(self):\n        return $T\n",
	  "$n().a" },
	{ "class $n:\n    def make(cls):\n        return $T\n"
	  "    make = classmethod(make)\n",
	  "$n.make()" },
	{ "def $n():\n    return $T\n\n\n$n = staticmethod($n)\n", "$n()" },
	{ "class $n(Enum):\n    A = 1\n    def go(self):\n        return $T\n",
	  "$n.A" },
	{ "$n = $T\n", "$n" },
	{ "$n: $K = None\n", "$n" },
	{ "$n = [$T, None]\n", "$n[0]" },
	{ "$n = {'k': $T, 'l': 0}\n", "$n['k']" },
	{ "$n = {'k': $T}\n", "$n.get('k')" },
	{ "$n = {}\n$n['k'] = $T\n", "$n['k']" },
	{ "$n = {'k': $T}\n$n['k'] = $T\nif 1:\n    $n['k'] = $T\n",
	  "$n['k']" },
	{ "$n = {'a': {}}\n$n['a']['k'] = $T\n", "$n['a']['k']" },
	{ "$n = {'k': $T}\n$n.update({'k': $T}, l=$T)\n", "$n['k']" },
	{ "$n = [$T, $T]\n$n[0] = $T\n$n[1:] = [$T]\n", "$n[0]" },
	{ "_$n = [None, $T, $T]\n$n = _$n[1:3]\n", "$n[1]" },
	{ "I$n = 1\n_$n = [$T, $T]\n$n = _$n[I$n]\n", "$n" },
	{ "def _$n():\n    global $n\n    $n['k'] = $T\n\n\n$n = {}\n",
	  "$n['k']" },
	{ "def $n():\n    x = {}\n    x['k'] = $T\n    if x:\n"
	  "        x['k'] = $T\n    return x\n",
	  "$n()['k']" },
	{ "def $n():\n    x = {}\n    x['k'] = $T\n    def get():\n"
	  "        return x['k']\n    return get()\n",
	  "$n()" },
	{ "class $n:\n    def __init__(self):\n        self.d = {}\n"
	  "    def set(self, k):\n        self.d[k] = $T\n",
	  "$n().d['k']" },
	{ "class $n:\n    d = {}\n    d['k'] = $T\n", "$n.d['k']" },
	{ "$n, _$n = $T, $T\n", "$n" },
	{ "$n = lambda: $T\n", "$n()" },
	{ "$n = $K\n", "$n()" },
	{ "$n = partial($K)\n", "$n()" },
	{ "$n = cast($K, 0)\n", "$n" },
	{ "$n = NewType('$n', $K)\n", "$n(0)" },
	{ "if 1:\n    $n = $T\nelse:\n    $n = $T\n", "$n" },
	{ "try:\n    from $m import nothing as $n\nexcept E:\n"
	  "    $n = $T\n",
	  "$n" },
	{ "def $n():\n    return lambda: $T\n", "$n()()" },
	{ "def $n():\n    def inner():\n        return $T\n"
	  "    return inner\n",
	  "$n()()" },
	{ "def $n():\n    class Inner:\n        def go(self):\n"
	  "            return $T\n    return Inner()\n",
	  "$n()" },
	{ "def $n():\n    global $n_\n    $n_ = $T\n\n\n$n_ = None\n", "$n_" },
	{ "def $n():\n    x = None\n    def set():\n        nonlocal x\n"
	  "        x = $T\n    def get():\n        return x\n"
	  "    return get()\n",
	  "$n()" },
	{ "def $n(x=$T):\n    return x\n", "$n()" },
	{ "def $n(x: $K):\n    return x\n", "$n(0)" },
	{ "def $n(*x: $K):\n    return x[0]\n", "$n(0)" },
	{ "def $n():\n    yield $T\n", "next($n())" },
	{ "def $n_():\n    yield $T\n\n\ndef $n():\n"
	  "    yield from $n_()\n",
	  "list($n())[0]" },
	{ "@contextmanager\ndef $n_():\n    yield $T\n\n\ndef $n():\n"
	  "    with $n_() as x:\n        return x\n",
	  "$n()" },
	{ "class $n_:\n    def __enter__(self):\n        return $T\n\n\n"
	  "def $n():\n    with $n_() as x:\n        return x\n",
	  "$n()" },
	{ "async def $n_():\n    return $T\n\n\nasync def $n():\n"
	  "    x = await $n_()\n    x.go()\n    return x\n",
	  "$n()" },
	{ "@overload\ndef $n(x: int) -> $K:\n    pass\n\n\n"
	  "def $n(x):\n    return $T\n",
	  "$n(0)" },
	{ "def $n_(f) -> $K:\n    pass\n\n\n@$n_\ndef $n():\n    pass\n",
	  "$n" },
	{ "def $n(x):\n    if isinstance(x, $K):\n        return x\n",
	  "$n(0)" },
	{ "def $n():\n    x = $T\n    if not isinstance(x, $K):\n"
	  "        return x\n",
	  "$n()" },
	{ "def $n():\n    x = $T\n    if x:\n        x = $T\n    return x\n",
	  "$n()" },
	{ "def $n():\n    x = $T\n    for _ in x:\n        y = x\n"
	  "        x = $T\n    return y\n",
	  "$n()" },
	{ "def $n():\n    x = $T\n    while x:\n        x = x or $T\n"
	  "    return [x]\n",
	  "$n()[0]" },
	{ "def $n():\n    try:\n        pass\n    except $K as e:\n"
	  "        return e\n",
	  "$n()" },
	{ "def $n():\n    return [y for y in [$T]]\n", "$n()[0]" },
	{ "def $n():\n    return {1: y for y in [$T]}\n", "$n()[1]" },
	{ "def $n():\n    return $T, $T\n", "$n()[1]" },
	{ "def $n():\n    x, (y, *z) = 1, ($T, $T)\n    return z\n",
	  "$n()[0]" },
	{ "def $n():\n    return $T if 1 else $T\n", "$n()" },
	{ "def $n():\n    return None or $T\n", "$n()" },
	{ "def $n():\n    return sorted([$T])\n", "$n()[0]" },
	{ "def $n():\n    for i, y in enumerate([$T]):\n"
	  "        return y\n",
	  "$n()" },
	{ "def $n():\n    match $T:\n        case $K() as y:\n"
	  "            return y\n",
	  "$n()" },
	{ "def $n():\n    o = $T\n    o.b = $T\n    return o.b\n", "$n()" },
	{ "def $n():\n    from $m import $o\n    return $o\n", "$n()" },
	{ "def $n(x: T):\n    return x\n\n\nT = TypeVar('T', bound='$K')\n",
	  "$n(0)" },
	{ "def $n(x: type[$K]):\n    return x()\n", "$n(0)" },
	{ "def $n(x: Callable[[], $K]):\n    return x()\n", "$n(0)" },
	{ "def $n():\n    return $n_() or $T\n\n\ndef $n_():\n"
	  "    return $n()\n",
	  "$n_()" },
	{ "def $n(x):\n    x = $n(x) or $n(0)\n    if x:\n"
	  "        return $T\n    return x\n",
	  "$n(0)" },
	{ "@pytest.fixture\ndef $n():\n    return $T\n\n\n"
	  "def test_$n($n):\n    $n.go()\n",
	  "$n()" },
	{ "@pytest.fixture(name='$n_')\ndef $n():\n    yield $T\n\n\n"
	  "def test_$n($n_):\n    $n_.go()\n",
	  "$n" },
	{ "def $n():\n    return getattr($T, 'me')()\n", "$n()" },
	{ "def $n():\n    return type($T)()\n", "$n()" },
	{ "def $n():\n    return dict(k=1, **{'k': $T})\n", "$n()['k']" },
	{ "def $n():\n    return $T.me()\n", "$n()" },
	{ "from $m import $o as $n\n", "$n" },
	{ "$o = $T\n$n = $o\n", "$n" },
	{ "", "$n()" },
};
#define WAYS (sizeof(ways) / sizeof(*ways))

/* NOLINTBEGIN(bugprone-suspicious-missing-comma): long ones are folded. */
static const char *const users[] = {
	"def u$i():\n    $u.go()\n",
	"def u$i():\n    return $u\n\n\ndef v$i():\n    u$i().go()\n",
	"$u.go()\n",
	"class U$i:\n    a = $u\n    def m(self):\n        self.a.go()\n",
	"class U$i:\n    def __init__(self):\n        self.a = $u\n"
	"    def m(self):\n        self.a.go().me()\n",
	"def u$i():\n    for x in [$u]:\n        x.go()\n",
	"def u$i(x=$u):\n    def inner():\n        x.go()\n"
	"    return inner\n",
	"def u$i():\n    f = $u.go\n    f()\n",
	"V$i = $u\n\n\ndef u$i():\n    return V$i.go()\n",
	"def u$i(x):\n    return [y.go() for y in [$u]]\n",
	"",
};
/* NOLINTEND(bugprone-suspicious-missing-comma) */
#define USERS (sizeof(users) / sizeof(*users))

static const char *const leaf_texts[] = {
	"class $K:\n    def go(self):\n        pass\n"
	"    def me(self):\n        return self\n",
	"class $K:\n    def me(self):\n        return $L()\n"
	"    def go(self):\n        return self\n",
	"class $K($L):\n    def go(self):\n        return 1\n",
	"class $K($L):\n    pass\n",
	"class $K($L):\n    def me(self):\n        return super().me()\n",
	"class $K:\n    def __init__(self):\n        self.x = $L()\n"
	"    def me(self):\n        return self.x\n"
	"    @property\n    def go(self):\n        return self.x.go\n",
	"$K = $L\n",
	"class $K:\n    def go(self): pass\n    def go(self): return 2\n",
	"def $K():\n    return $L()\n",
	"",
};
#define LEAF_TEXTS (sizeof(leaf_texts) / sizeof(*leaf_texts))

static const char *const modules[] = { "r.one", "r.two" };
static const char *const paths[] = { "r/one.py", "r/two.py" };

struct text {
	char *data;
	size_t len, size;
};

static void add(struct text *t, const char *what, size_t len)
{
	if (t->len + len + 1 > t->size) {
		t->size = (t->len + len + 1) * 2;
		t->data = must_realloc(t->data, t->size);
	}
	memcpy(t->data + t->len, what, len);
	t->len += len;
	t->data[t->len] = '\0';
}

__attribute__((format(printf, 2, 3))) static void say(struct text *t,
						      const char *format, ...)
{
	char line[256];
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= sizeof(line))
		abort();
	add(t, line, (size_t)n);
}

static unsigned roll(struct rules *r, unsigned n)
{
	return (unsigned)dice_below(r->dice, n);
}

static void expand(struct rules *r, const char *way, unsigned self,
		   struct text *t);

/* An instance: of a leaf class, or the one that another carrier carries. */
static void say_instance(struct rules *r, struct text *t)
{
	unsigned other = roll(r, CARRIERS);

	if (roll(r, 3) || !r->carriers[other].use)
		say(t, "%c()", "ABCD"[roll(r, LEAVES)]);
	else
		expand(r, r->carriers[other].use, other, t);
	if (roll(r, 10) == 0)
		say(t, ".me()");
}

static void expand(struct rules *r, const char *way, unsigned self,
		   struct text *t)
{
	for (; *way; way++) {
		if (*way != '$') {
			add(t, way, 1);
			continue;
		}
		switch (*++way) {
		case 'n':
			say(t, "c%u", self);
			break;
		case 'o':
			say(t, "c%u", roll(r, CARRIERS));
			break;
		case 'm':
			say(t, "%s", modules[roll(r, 2)]);
			break;
		case 'T':
			say_instance(r, t);
			break;
		case 'K':
			say(t, "%c", "ABCD"[roll(r, LEAVES)]);
			break;
		default:
			abort();
		}
	}
}

static void change_carrier(struct rules *r, unsigned n, unsigned way)
{
	struct text t = { .len = 0 };

	add(&t, "", 0);
	r->carriers[n].use = ways[way].use;
	r->carriers[n].way = way;
	expand(r, ways[way].text, n, &t);
	free(r->carriers[n].text);
	r->carriers[n].text = t.data;
}

static void change_leaf(struct rules *r, unsigned n)
{
	const char *way = leaf_texts[roll(r, LEAF_TEXTS)];
	struct text t = { .len = 0 };

	/* Mostly the plain definition. */
	if (roll(r, 2))
		way = leaf_texts[0];
	add(&t, "", 0);
	for (; *way; way++) {
		if (*way != '$')
			add(&t, way, 1);
		else if (*++way == 'K')
			say(&t, "%c", "ABCD"[n]);
		else
			say(&t, "%c", "ABCD"[roll(r, LEAVES)]);
	}
	free(r->leaves[n]);
	r->leaves[n] = t.data;
}

void rules_init(struct rules *r, struct dice *d)
{
	*r = (struct rules){ .dice = d };
	for (unsigned n = 0; n < LEAVES; n++)
		change_leaf(r, n);
	for (unsigned n = 0; n < CARRIERS; n++) {
		change_carrier(r, n, roll(r, WAYS));
		r->carriers[n].file = roll(r, 2);
		r->carriers[n].user = roll(r, USERS);
	}
}

void rules_release(struct rules *r)
{
	for (unsigned n = 0; n < LEAVES; n++)
		free(r->leaves[n]);
	for (unsigned n = 0; n < CARRIERS; n++)
		free(r->carriers[n].text);
}

const char *rules_change(struct rules *r)
{
	unsigned n = roll(r, CARRIERS);

	switch (roll(r, 12)) {
	case 0:
		change_leaf(r, roll(r, LEAVES));
		return "another leaf";
	case 1:
		r->carriers[n].file ^= 1;
		return "a carrier moves";
	case 2:
		r->carriers[n].user = roll(r, USERS);
		return "another use";
	case 3:
		r->imports = roll(r, 4);
		return "other imports";
	case 4:
		r->reexports = roll(r, 4);
		return "other re-exports";
	case 5:
		r->stars = roll(r, 3);
		return "other stars";
	case 6:
	case 7:
		change_carrier(r, n, roll(r, WAYS));
		return "another way to carry";
	default:
		change_carrier(r, n, r->carriers[n].way);
		return "another thing carried";
	}
}

static void write_names(const struct rules *r, unsigned file, struct text *t)
{
	bool any = false;

	for (unsigned n = 0; n < CARRIERS; n++) {
		if (r->carriers[n].file != file)
			continue;
		say(t, "%sc%u, c%u_", any ? ", " : "", n, n);
		any = true;
	}
	say(t, "%s\n", any ? "" : "nothing");
}

static void write_carriers(const struct rules *r, unsigned file, struct text *t)
{
	say(t, "from typing import *\nfrom enum import Enum\n"
	       "from functools import partial, cached_property\n"
	       "from contextlib import contextmanager\nimport pytest\n");
	say(t, r->imports & 1 ? "from r.leaf import *\n"
			      : "from .leaf import A, B, C, D\n");
	say(t, "from %s import ", modules[!file]);
	if (r->stars == 0)
		write_names(r, !file, t);
	else
		say(t, "*\n");
	if (r->stars == 2)
		say(t, "__all__ = ['c0', 'c1', 'c2', 'c3', 'c0_']\n");
	for (unsigned n = 0; n < CARRIERS; n++) {
		if (r->carriers[n].file != file)
			continue;
		say(t, "\n\n");
		add(t, r->carriers[n].text, strlen(r->carriers[n].text));
	}
}

static void write_reexports(const struct rules *r, struct text *t)
{
	for (unsigned file = 0; file < 2; file++) {
		if (r->reexports & 1) {
			say(t, "from .%s import *\n", modules[file] + 2);
		} else {
			say(t, "from %s import ", modules[file]);
			write_names(r, file, t);
		}
	}
	if (r->reexports & 2)
		say(t, "def c0():\n    pass\n");
}

/* Write the use of carrier n, its name preceded by `before`. */
static void say_use(const struct rules *r, unsigned n, const char *before,
		    struct text *t)
{
	for (const char *at = r->carriers[n].use; *at; at++) {
		if (*at != '$') {
			add(t, at, 1);
			continue;
		}
		say(t, "%sc%u", before, n);
		at++;
	}
}

static void write_user(const struct rules *r, unsigned n, const char *before,
		       struct text *t)
{
	say(t, "\n\n");
	for (const char *at = users[r->carriers[n].user]; *at; at++) {
		if (*at != '$')
			add(t, at, 1);
		else if (*++at == 'i')
			say(t, "%u", n);
		else
			say_use(r, n, before, t);
	}
}

static void write_users(const struct rules *r, struct text *t)
{
	const char *before = "";

	if (r->imports == 0)
		say(t, "from r.mid import *\n");
	else if (r->imports == 1)
		say(t, "from r.one import *\nfrom .two import *\n");
	else if (r->imports == 2)
		say(t, "import r.mid\n");
	else
		say(t, "from r import mid as m\n");
	if (r->imports >= 2)
		before = r->imports == 2 ? "r.mid." : "m.";
	for (unsigned n = 0; n < CARRIERS; n++)
		write_user(r, n, before, t);
}

static void write_file(struct world *w, op_list *ops, const char *path,
		       struct text *t)
{
	const struct world_file *f = world_find(w, path);

	if (!f || strcmp(f->text, t->data) != 0)
		op_add(ops, OP_EDIT, path, NULL, t->data);
	free(t->data);
	*t = (struct text){ .len = 0 };
}

void rules_write(const struct rules *r, struct world *w, op_list *ops)
{
	struct text t = { .len = 0 };

	for (unsigned file = 0; file < 2; file++) {
		write_carriers(r, file, &t);
		write_file(w, ops, paths[file], &t);
	}
	for (unsigned n = 0; n < LEAVES; n++) {
		say(&t, "%s", n ? "\n\n" : "");
		add(&t, r->leaves[n], strlen(r->leaves[n]));
	}
	write_file(w, ops, "r/leaf.py", &t);
	say(&t, "%s", "");
	write_reexports(r, &t);
	write_file(w, ops, "r/mid.py", &t);
	write_users(r, &t);
	write_file(w, ops, "r/use.py", &t);
}
