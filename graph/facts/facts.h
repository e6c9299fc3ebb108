/*
 * What one file says, as far as names and calls go: definitions, scopes,
 * bindings, expressions, call sites. Facts are a pure function of the file's
 * bytes; nothing here looks at another file, and nothing is resolved.
 *
 * A file is cut into units: the module, and every class and function at any
 * nesting, in source order (a unit comes before those inside it, so the
 * module is unit 0). A unit owns what stands in its text and not in that of a
 * unit inside it; a definition's decorators, defaults, bases and annotations
 * are its own. All numbers inside a unit (expressions, bindings, ...) count
 * from 0 in that unit, and all places are relative to the unit's start: a
 * unit that moves is the same unit, and one can be read anew by itself
 * (facts_read_unit()).
 *
 * Facts are one block of memory without pointers to the outside: immutable
 * once made, fit to be written to disk as they are, freed in one call.
 */
#ifndef STATETAPE_GRAPH_FACTS_FACTS_H
#define STATETAPE_GRAPH_FACTS_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <xxhash.h>

#define FACTS_NONE  UINT32_MAX
#define FACTS_OTHER (UINT32_MAX - 1)

/* Index into the strings of the facts at hand, see facts_string(). */
typedef uint32_t facts_str;

enum facts_expr_kind {
	EXPR_UNKNOWN, /* nothing we can say; all other numbers are 0 */
	EXPR_NAME,    /* a: string; b: block it stands in */
	EXPR_ATTR,    /* a: expression; b: string; c: block.  a.b */
	EXPR_CALL,    /* a: callee; b, c: arguments in lists[], from, count */
	EXPR_KEYWORD, /* a: value; b: string.  an argument b=a */
	EXPR_STAR,    /* a: value.  *a in a call or display */
	EXPR_STARS,   /* a: value.  **a */
	EXPR_INDEX,   /* a: base; b: index */
	EXPR_SLICE,   /* [a:b] as an index: small numbers, FACTS_NONE: not
			 there, FACTS_OTHER: something else; c: 1: a step */
	EXPR_CONST,   /* a: enum facts_const; b: string or integer value */
	EXPR_TUPLE,   /* b, c: items in lists[] */
	EXPR_LIST,    /* likewise */
	EXPR_SET,     /* likewise */
	EXPR_DICT,    /* likewise, key and value in turn; **m: m alone, after
			 FACTS_NONE for its key */
	EXPR_EITHER,  /* b, c: alternatives in lists[]: x if y else z, x or y.
			 `x and y` is y itself: x would be false then, and so
			 hardly anything one calls */
	EXPR_BINARY,  /* a, b: operands, b FACTS_NONE of -x and `not x`; of
			 a < b < c the first two; c: enum facts_op */
	EXPR_LAMBDA,  /* a: result; b: scope; c: block around it.
			 Its parameters are bindings of b */
	EXPR_COMP,    /* a: element; b: scope; c: enum facts_comp. A dict's
			 element is a tuple of key and value */
	EXPR_AWAIT,   /* a: awaited */
	EXPR_YIELD,   /* a: yielded or FACTS_NONE; b: 1: yield from.  Its
			 value is what is sent, which we do not follow */
	/* Made by statements, not written by anybody: */
	EXPR_ITER,   /* a: what is iterated over; b: 1: async.  the element */
	EXPR_ENTER,  /* a: context manager; b: 1: async.  what `as` gets */
	EXPR_ITEM,   /* a: what is unpacked; b: position, from the end after
			a star (then c & 1, and the last is 0); c & 2: the
			starred one itself */
	EXPR_CAUGHT, /* a: class(es) of exceptions.  what `as` gets */
	EXPR_NARROW, /* a: a NAME or ATTR before, in a match any subject; b:
			class expression (or tuple of such); c: 1: is not an
			instance of b */
	EXPR_STORE,  /* what a container is afterwards. a: the INDEX that is
			assigned to; b: value. Or a: the CALL of a method that
			puts something into what it is called on; b: FACTS_NONE
		      */
	EXPR_EXPRS
};

enum facts_const {
	CONST_NONE,
	CONST_BOOL, /* b: 1: True */
	CONST_INT,  /* b: its value if it is small, FACTS_NONE otherwise */
	CONST_FLOAT,
	CONST_STR, /* b: the string up to FACTS_STRING_MAX bytes, unescaped
		      where that is trivial; FACTS_NONE: longer, formatted,
		      with escapes */
	CONST_BYTES,
	CONST_ELLIPSIS,
};
#define FACTS_STRING_MAX 200

enum facts_op { OP_OTHER, OP_OR, OP_ADD, OP_MOD, OP_COMPARE, OP_NOT };
enum facts_comp { COMP_LIST, COMP_SET, COMP_DICT, COMP_GENERATOR };

/*
 * Expressions stand in evaluation order as far as their numbers tell: a
 * binding that takes effect when `at` expressions have been made is seen by
 * expression e of the same scope if at <= e. What an expression is made of
 * has smaller numbers than it. Strings in annotations, and the first argument
 * of cast(), are read as the expressions they hold; those may name what is
 * bound later only.
 */
struct facts_expr {
	uint8_t kind;
	uint32_t a, b, c;
};

/*
 * Scope 0 is the unit's own (its body's); lambdas and comprehensions have
 * further ones. The scope around a unit is its parent's scope 0; class
 * scopes are skipped by those inside, as Python does, except by headers.
 */
struct facts_scope {
	uint32_t block; /* the block it stands in; scope 0: FACTS_NONE */
	uint32_t expr;	/* of the lambda or comprehension; scope 0: NONE */
};

/*
 * Blocks are what control flow makes of a scope. Block 0 is the header: its
 * names are looked up around the unit (in the parent's own scope, a class's
 * included). Block 1 is the outermost of scope 0. Alternatives (branches,
 * handlers, cases) and loop bodies are blocks of their own below the block
 * their statement stands in; so is the right operand of `and` and `or`, or
 * a branch of `x if y else z`, where the condition before it narrows. The
 * condition of a while loop stands in the loop. Type parameters are bound in
 * block 0, to their bounds or to EXPR_UNKNOWN.
 */
enum facts_block_kind { BLOCK_HEADER, BLOCK_TOP, BLOCK_BRANCH, BLOCK_LOOP };
struct facts_block {
	uint8_t kind;
	uint32_t parent; /* block, FACTS_NONE for 0 and tops */
	uint32_t scope;
	uint32_t end; /* first expression number after it */
};

enum facts_bind_kind {
	BIND_VALUE,	 /* value: expression */
	BIND_AUGMENT,	 /* x += value: what it was, or that */
	BIND_ANNOTATION, /* x: T without a value; value: T */
	BIND_TYPED,	 /* x: T = value; value: T; extra: the value */
	BIND_DEF,	 /* value: unit, counted from this one (unit + value) */
	BIND_PARAM,	 /* value: parameter of the unit; of a lambda: the
			    default's expression or NONE */
	BIND_IMPORT,	 /* import a.b (as c).  module: "a.b"; name: "a" or
			    "c"; extra: 1 with `as` */
	BIND_FROM,   /* from module import value (as name).  value: string */
	BIND_STAR,   /* from module import *; name is FACTS_NONE */
	BIND_NARROW, /* value: an EXPR_NARROW; nothing is assigned */
	BIND_DELETE, /* del x */
	BIND_STORE,  /* value: an EXPR_STORE; x is what it was, with something
			put into it, and not bound by that */
};

/*
 * A name bound in a scope. Names may be dotted once ("self.x", "a.b") for
 * assignments to attributes of plain names and for narrowing; such a binding
 * matters to its own unit only.
 */
struct facts_bind {
	uint8_t kind;
	uint8_t outer; /* 1: declared global, 2: nonlocal: bound further out */
	uint8_t level; /* imports: leading dots */
	facts_str name;
	uint32_t value;
	uint32_t extra;	  /* FACTS_NONE where the kind does not say; of
			     imports without `as` 0 */
	facts_str module; /* imports; "" for `from . import x` */
	uint32_t block;	  /* in which it happens; tells the scope */
	uint32_t at;	  /* expressions made when it takes effect */
	uint32_t line;	  /* of the statement, relative to the unit's line */
};

/* self.name = value in a method, self being its first parameter. */
struct facts_attr {
	facts_str name;
	uint32_t value;	     /* expression, FACTS_NONE: only annotated; an
				EXPR_STORE: self.name[..] = .. */
	uint32_t annotation; /* expression or FACTS_NONE */
	uint32_t line;
};

enum facts_param_kind { PARAM_PLAIN, PARAM_STAR, PARAM_STARS, PARAM_KEYWORD };
struct facts_param {
	uint8_t kind;
	facts_str name;
	uint32_t annotation; /* expression or FACTS_NONE */
	uint32_t preset;     /* the default, likewise */
};

/*
 * Where a unit refers to something. Calls and decorators become call edges;
 * reads are loads of names the unit does not bind, and of attributes reached
 * from such (each distinct dotted path once, calls' own callees too).
 */
enum facts_site_kind {
	SITE_CALL,
	SITE_DECORATOR,
	SITE_READ,
	SITE_ITER, /* the EXPR_ITER of a loop: __iter__ and __next__ run */
};
struct facts_site {
	uint8_t kind;
	uint32_t expr;	 /* CALL: the EXPR_CALL; else: what is referred to */
	uint32_t line;	 /* of the callee's last token, relative */
	uint32_t column; /* of that token, in bytes; on the unit's first line
			    from its start on, elsewhere from the line's */
};

/* What `lists` ranges in a unit mean is said where they occur. */
struct facts_range {
	uint32_t from, count;
};

enum facts_unit_kind { UNIT_MODULE, UNIT_CLASS, UNIT_FUNCTION };
enum {
	UNIT_ASYNC = 1 << 0,
	UNIT_GENERATOR = 1 << 1, /* yields somewhere */
	UNIT_METHOD = 1 << 2,	 /* a function directly in a class */
	UNIT_BROKEN = 1 << 3,	 /* syntax error in its own text */
	UNIT_CONDITIONAL = 1 << 4,
};

struct facts_unit {
	uint8_t kind;
	uint8_t flags;
	facts_str name;	 /* module: "" */
	uint32_t parent; /* unit, counted back from this one; module: 0 */
	uint32_t units;	 /* units inside it, at any depth */

	/* Places: of its first decorator (or def), and its end. Of units in a
	   class or function relative to that unit's; lines from 0. */
	uint32_t start, end;  /* bytes */
	uint32_t line, lines; /* first line; number of lines */
	uint32_t body;	      /* behind the header's colon, from start */
	uint32_t name_line;   /* line of the name token, relative to line */

	/*
	 * XXH3-64 of the raw text in pieces, to find what an edit touched
	 * without keeping the text: from the end of the unit before it in the
	 * same parent (or the parent's body) to its start; from its start to
	 * its body; and from the end of its last unit (or its body) to its
	 * end. The module's body starts at byte 0. `whole` is of all of it,
	 * from start to end; of a module it is 0.
	 */
	uint64_t gap, head, tail, whole;

	XXH128_hash_t hash; /* b(v): see spec, nested bodies left out; of a
			       module: module_hash */
	/*
	 * Of everything below, and of kind, name and flags, but for lines and
	 * columns, for UNIT_BROKEN and UNIT_CONDITIONAL, and for the numbers
	 * of units in BIND_DEF: equal facts have equal meaning. A module's is
	 * of __all__, too.
	 */
	XXH128_hash_t meaning;

	/* Ranges in the facts' own arrays; use the accessors. */
	struct facts_range exprs, lists, scopes, blocks, binds, attrs, params,
		sites;
	struct facts_range decorators; /* in lists: expressions */
	struct facts_range bases;      /* in lists: class arguments */
	struct facts_range returns;    /* in lists: returned expressions; a
					  bare return and a reachable end of
					  the body are FACTS_NONE */
	struct facts_range yields;     /* in lists: yielded, FACTS_NONE: bare;
					  yield from: the EXPR_YIELD */
	uint32_t returns_annotation;   /* expression or FACTS_NONE */
};

/*
 * A module-level variable (extended symbol): what a statement at the module's
 * own level assigns to by name (=, +=, :, type), in blocks or not.
 */
struct facts_variable {
	facts_str name;
	uint32_t line, lines; /* of its first statement */
	XXH128_hash_t hash;   /* over all its statements in file order */
};

struct facts {
	uint32_t size; /* of the whole block */
	uint32_t units_count, variables_count, strings_count;
	uint8_t lang;	 /* the language's id (lang.h) */
	uint8_t broken;	 /* a syntax error somewhere, or bad indentation */
	uint8_t has_all; /* __all__ is there, and all of it is known */
	uint8_t joined;	 /* no error, but lines are joined as nobody should
			    join them: with a backslash before a statement,
			    or with nothing */
	uint8_t vast;	 /* too much to be parsed: it is its module, whole */
	struct facts_range all;	   /* in lists: strings in __all__ */
	XXH128_hash_t module_hash; /* module symbol: top-level statements that
				      are no definition and no variable, of
				      compound ones the heads */
	/* Offsets from the start of the block, in bytes. */
	uint32_t units, exprs, lists, scopes, blocks, binds, attrs, params,
		sites, variables, strings, text;
};

/* Facts are plain memory from malloc(): free(), or written as they are. */

/* 0, or -EBADMSG: the block from disk cannot be facts of ours. */
int facts_check(const struct facts *f, size_t size);

static inline const void *facts_at(const struct facts *f, uint32_t offset)
{
	return (const char *)f + offset;
}

#define FACTS_ACCESS(what, type)                                   \
	static inline const struct type *facts_##what(             \
		const struct facts *f, const struct facts_unit *u) \
	{                                                          \
		return (const struct type *)facts_at(f, f->what) + \
		       u->what.from;                               \
	}
FACTS_ACCESS(exprs, facts_expr)
FACTS_ACCESS(scopes, facts_scope)
FACTS_ACCESS(blocks, facts_block)
FACTS_ACCESS(binds, facts_bind)
FACTS_ACCESS(attrs, facts_attr)
FACTS_ACCESS(params, facts_param)
FACTS_ACCESS(sites, facts_site)
#undef FACTS_ACCESS

static inline const struct facts_unit *facts_units(const struct facts *f)
{
	return facts_at(f, f->units);
}

/*
 * All ranges "in lists" count from the unit's own first, but for those of
 * struct facts, which count from the file's.
 */
static inline const uint32_t *facts_lists(const struct facts *f,
					  const struct facts_unit *u)
{
	return (const uint32_t *)facts_at(f, f->lists) + u->lists.from;
}

static inline const struct facts_variable *
facts_variables(const struct facts *f)
{
	return facts_at(f, f->variables);
}

/* NUL-terminated; *ret_len (if given) is its length, NULs may be inside. */
static inline const char *facts_string(const struct facts *f, facts_str s,
				       size_t *ret_len)
{
	const uint32_t *ends = facts_at(f, f->strings);
	uint32_t from = s ? ends[s - 1] : 0;

	if (ret_len)
		*ret_len = ends[s] - from - 1;
	return (const char *)facts_at(f, f->text) + from;
}

#endif
