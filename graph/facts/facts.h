/*
 * The facts of one file: its definitions, scopes, bindings, expressions and
 * call sites. They are a pure function of the file's bytes and its language
 * (lang.h reads them); no other file is looked at and no name is resolved.
 *
 * The vocabulary is Python's, and so is the notation in the comments below.
 * Another language expresses its constructs in these terms, or leaves them
 * out.
 *
 * A file is cut into units: the module, and every class and function at any
 * nesting, in source order (a unit comes before those inside it, so the
 * module is unit 0). A unit owns the text it spans, except for the text of
 * units inside it; a definition's decorators, defaults, bases and annotations
 * are its own. All numbers inside a unit (expressions, bindings, ...) count
 * from 0 in that unit, and all places are relative to the unit's start: a
 * unit that moves stays the same, and can be read again by itself
 * (lang_read_unit()).
 *
 * Facts are one block of memory from malloc() that holds no pointers:
 * immutable once made, written to disk as they are, freed in one call.
 */
#ifndef STATETAPE_GRAPH_FACTS_FACTS_H
#define STATETAPE_GRAPH_FACTS_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <xxhash.h>

#define FACTS_NONE  UINT32_MAX
#define FACTS_OTHER (UINT32_MAX - 1)

/* Index into the strings of the same facts, see facts_string(). */
typedef uint32_t facts_str;

enum facts_expr_kind {
	EXPR_UNKNOWN, /* not followed; all other numbers are 0 */
	EXPR_NAME,    /* a: string; b: block it stands in */
	EXPR_ATTR,    /* a: expression; b: string; c: block.  a.b */
	EXPR_CALL,    /* a: callee; b, c: arguments in lists[], from, count */
	EXPR_KEYWORD, /* a: value; b: string.  an argument b=a */
	EXPR_STAR,    /* a: value.  *a in a call or display */
	EXPR_STARS,   /* a: value.  **a */
	EXPR_INDEX,   /* a: base; b: index; c: enum facts_access */
	EXPR_SLICE,   /* [a:b] as an index: small numbers, FACTS_NONE: not
			 there, FACTS_OTHER: something else; c: 1: a step */
	EXPR_CONST,   /* a: enum facts_const; b: string or integer value */
	EXPR_TUPLE,   /* b, c: items in lists[] */
	EXPR_LIST,    /* as EXPR_TUPLE */
	EXPR_SET,     /* as EXPR_TUPLE */
	EXPR_DICT,    /* as EXPR_TUPLE, keys and values alternating; **m: m
			 after FACTS_NONE for its key */
	EXPR_EITHER,  /* b, c: alternatives in lists[]: x if y else z, x or y.
			 `x and y` is taken as y: where its value is x, x is
			 false, and false values are rarely called */
	EXPR_BINARY,  /* a, b: operands, b FACTS_NONE of -x and `not x`; c: enum
			 facts_op, with OP_INPLACE for a += b. a < b < c is
			 two of these */
	EXPR_LAMBDA,  /* a: result; b: scope; c: block around it.
			 Its parameters are bindings of b */
	EXPR_COMP,    /* a: element; b: scope; c: enum facts_comp. A dict's
			 element is a tuple of key and value */
	EXPR_AWAIT,   /* a: awaited */
	EXPR_YIELD,   /* a: yielded or FACTS_NONE; b: 1: yield from.  Its
			 value is the one sent, which is not followed */
	/* Implied by statements, not written in the text: */
	EXPR_ITER,   /* a: iterable; b: 1: async.  its element */
	EXPR_ENTER,  /* a: context manager; b: 1: async.  the value of `as` */
	EXPR_ITEM,   /* a: unpacked value; b: position, counted from the end
			after a star (then c & 1, and the last is 0); c & 2:
			the starred one itself */
	EXPR_CAUGHT, /* a: class(es) of exceptions.  the value of `as` */
	EXPR_NARROW, /* a: a NAME or ATTR before, in a match any subject; b:
			class expression (or tuple of such); c: 1: is not an
			instance of b */
	EXPR_STORE,  /* a container after something was put into it. a: the
			INDEX that is assigned to; b: value. Or a: the CALL of
			a method that puts its arguments into its object; b:
			FACTS_NONE */
	EXPR_PLACE,  /* a: expression; b: string.  a.b where it is assigned to
			or deleted: no value */
	EXPR_EXPRS
};

/* What is done with an INDEX; a[b] += c loads and stores. */
enum facts_access {
	ACCESS_LOAD,
	ACCESS_STORE,
	ACCESS_DELETE,
	ACCESS_UPDATE,
	ACCESS_KINDS
};

enum facts_const {
	CONST_NONE,
	CONST_BOOL, /* b: 1: True */
	CONST_INT,  /* b: its value if it is small, FACTS_NONE otherwise */
	CONST_FLOAT,
	CONST_STR, /* b: the string up to FACTS_STRING_MAX bytes, unescaped
		      where that is trivial; FACTS_NONE: longer, formatted,
		      with escapes, of several lines */
	CONST_BYTES,
	CONST_ELLIPSIS,
};
#define FACTS_STRING_MAX 200

enum facts_op {
	OP_OTHER, /* is, is not: nothing that a class could define */
	OP_NOT,
	OP_NEG,
	OP_POS,
	OP_INVERT,
	OP_OR,
	OP_XOR,
	OP_AND,
	OP_LSHIFT,
	OP_RSHIFT,
	OP_ADD,
	OP_SUB,
	OP_MUL,
	OP_MATMUL,
	OP_DIV,
	OP_FLOORDIV,
	OP_MOD,
	OP_POW,
	OP_LT,
	OP_LE,
	OP_EQ,
	OP_NE,
	OP_GT,
	OP_GE,
	OP_IN, /* also `not in` */
	OP_KINDS,
	OP_INPLACE = 64, /* added to the operator */
};
enum facts_comp { COMP_LIST, COMP_SET, COMP_DICT, COMP_GENERATOR };

/*
 * Expressions are numbered in the order of their evaluation: a binding that
 * takes effect when `at` expressions have been made is seen by expression e of
 * the same scope if at <= e. The parts of an expression have smaller numbers
 * than it. Strings in annotations, and the first argument of cast(), are read
 * as the expressions they contain; these may use names that are bound later.
 */
struct facts_expr {
	uint8_t kind;
	uint32_t a, b, c;
};

/*
 * Scope 0 is the scope of the unit's body; lambdas and comprehensions add
 * further ones. The scope around a unit is its parent's scope 0. Lookups from
 * inside a class's methods skip the class scope; headers in it do not.
 */
struct facts_scope {
	uint32_t block; /* the block around it; scope 0: FACTS_NONE */
	uint32_t expr;	/* the lambda or comprehension; scope 0: FACTS_NONE */
};

/*
 * Blocks divide a scope by control flow. Block 0 is the header: its names are
 * looked up around the unit (in the parent's scope 0, even a class's). Block 1
 * is the outermost of scope 0. Alternatives (branches, handlers, cases) and
 * loop bodies are blocks of their own below the block of their statement; so
 * is the right operand of `and` and `or`, or a branch of `x if y else z`, where
 * the condition before it narrows a name. The condition of a while loop
 * belongs to the loop's block. Type parameters are bound in block 0, to their
 * bounds or to EXPR_UNKNOWN.
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
	BIND_AUGMENT,	 /* x += value: its former value, or this one */
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
	BIND_STORE,  /* value: an EXPR_STORE; x keeps its value, into which
			something was put, and is not bound by it */
};

/*
 * A name bound in a scope. Names may be dotted once ("self.x", "a.b") for
 * assignments to attributes of plain names and for narrowing; such a binding
 * is visible in its own unit only.
 */
struct facts_bind {
	uint8_t kind;
	uint8_t outer; /* 1: declared global, 2: nonlocal: bound further out */
	uint8_t level; /* imports: leading dots */
	facts_str name;
	uint32_t value;
	uint32_t extra;	  /* FACTS_NONE unless the kind uses it; imports
			     without `as`: 0 */
	facts_str module; /* imports; "" for `from . import x` */
	uint32_t block;	  /* the block, and thereby the scope, it is in */
	uint32_t at;	  /* expressions made when it takes effect */
	uint32_t line;	  /* of the statement, relative to the unit's line */
};

/* self.name = value in a method, where self is its first parameter. */
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
	uint32_t preset;     /* the default: expression or FACTS_NONE */
};

/*
 * A place where a unit refers to something. Calls and decorators become call
 * edges; reads are loads of names that the unit does not bind, and of
 * attributes reached from such names (each distinct dotted path once, including
 * the callees of calls). The others are syntax that may run a method without
 * naming it; the head of graph/resolve/implicit.c says which.
 */
enum facts_site_kind {
	SITE_CALL,
	SITE_DECORATOR,
	SITE_READ,
	SITE_NAME,  /* a read of a NAME that is not only called, decorated with
		       or a base: expr is its first such occurrence */
	SITE_LOCAL, /* the same of a NAME that the unit itself binds by a
		       definition or an import: no read */
	SITE_GET,   /* ATTR, other than such */
	SITE_SET,   /* PLACE */
	SITE_DELETE,
	SITE_ITEM_GET, /* INDEX */
	SITE_ITEM_SET,
	SITE_ITEM_DELETE,
	SITE_OPERATOR, /* BINARY */
	SITE_ITER,     /* what is iterated: loops, *x, unpacking */
	SITE_AITER,
	SITE_WITH, /* the context manager */
	SITE_AWITH,
	SITE_AWAIT, /* what is awaited */
	SITE_TEST,  /* what is tested for truth */
	SITE_FORMAT,
	SITE_STR, /* {x!s} */
	SITE_REPR,
	SITE_KINDS
};
#define SITE_COLUMN_MAX 0xffffffu
struct facts_site {
	uint32_t expr; /* CALL: the EXPR_CALL; else as its kind says */
	uint32_t line; /* of the callee's last token, relative */
	uint32_t kind : 8;
	uint32_t column : 24; /* of that token, in bytes; on the unit's first
				 line from the unit's start, else from the
				 line's */
};

/* The comment of each range says which array it lies in. */
struct facts_range {
	uint32_t from, count;
};

enum facts_unit_kind { UNIT_MODULE, UNIT_CLASS, UNIT_FUNCTION };
enum {
	UNIT_ASYNC = 1 << 0,
	UNIT_GENERATOR = 1 << 1, /* contains a yield */
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

	/* From its first decorator (or keyword) to its end, which a comment
	   on its last line is part of. For a unit in a class or function
	   relative to that unit's start; lines from 0. */
	uint32_t start, end;  /* bytes */
	uint32_t line, lines; /* first line; number of lines */
	uint32_t body;	      /* first byte after the header, from start */
	uint32_t name_line;   /* line of the name token, relative to line */

	/*
	 * XXH3-64 of the raw text in pieces, from which graph/edit.c finds what
	 * an edit touched without the old text. `gap`: from the end of the unit
	 * before it in the same parent (or the parent's body) to its start.
	 * `head`: from its start to its body. `tail`: from the end of its last
	 * unit (or its body) to its end. `whole`: from start to end; 0 for a
	 * module. The module's body starts at byte 0.
	 */
	uint64_t gap, head, tail, whole;

	XXH128_hash_t hash; /* of its body b(v) without nested bodies
			       (graph/README.md, Symbols and names), line ends
			       being \n; of a module: module_hash */
	/*
	 * Hash of everything below and of kind, name and flags, except for
	 * lines and columns, UNIT_BROKEN and UNIT_CONDITIONAL, and the numbers
	 * of units in BIND_DEF. Units of equal meaning resolve alike. A
	 * module's includes __all__.
	 */
	XXH128_hash_t meaning;

	/* Ranges in the arrays of the facts; use the accessors. */
	struct facts_range exprs, lists, scopes, blocks, binds, attrs, params,
		sites;
	struct facts_range decorators; /* in lists: expressions */
	struct facts_range bases;      /* in lists: class arguments */
	struct facts_range returns;    /* in lists: returned expressions; a
					  bare return and a reachable end of
					  the body are FACTS_NONE */
	struct facts_range yields;     /* in lists: yielded; bare: FACTS_NONE;
					  yield from: the EXPR_YIELD */
	uint32_t returns_annotation;   /* expression or FACTS_NONE */
};

/*
 * A module-level variable (extended symbol): a name that a statement at module
 * level assigns to (=, +=, :, type), in a block or not.
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
	uint8_t has_all; /* it has __all__, whose contents are known */
	uint8_t joined;	 /* no error, but a line break that depends on its
			    surroundings, or places that are not those of
			    the file's bytes (it declares an encoding): its
			    units cannot be read alone */
	uint8_t vast;	 /* too large to be parsed: the module alone */
	uint8_t deep;	 /* parts that are nested too deep were left out; its
			    units cannot be read alone */
	struct facts_range all;	   /* in lists: strings in __all__ */
	XXH128_hash_t module_hash; /* module symbol: top-level statements that
				      are no definition and no variable; of
				      compound statements the heads */
	/* Offsets from the start of the block, in bytes. */
	uint32_t units, exprs, lists, scopes, blocks, binds, attrs, params,
		sites, variables, strings, text;
};

/*
 * Checks a block read from disk: 0, or -EBADMSG if following its numbers could
 * leave the block or not end, or its language is not ours.
 */
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
 * Ranges "in lists" count from the unit's first list entry; those in struct
 * facts count from the file's.
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

/* NUL-terminated; *ret_len (if not NULL): its length, which counts NULs. */
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
