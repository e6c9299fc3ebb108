/*
 * Nodes: keys and questions. A key is one statement of the facts ("what binds
 * name b in unit a"), absent ones included. A question's answer is computed
 * from keys and from other answers; solve.c keeps the answers and the
 * postings that say who depends on what.
 */
#ifndef STATETAPE_GRAPH_RESOLVE_NODE_H
#define STATETAPE_GRAPH_RESOLVE_NODE_H

#include <stdint.h>

#include "graph/base/heap.h"

/* `a` is a unit and `b` an atom where the comment says nothing else. */
enum node_kind {
	/* Keys. */
	KEY_MODULE,   /* a: atom of a dotted name.  its file, or package */
	KEY_NAME,     /* what binds name b in a's own scope */
	KEY_STARS,    /* star imports of module a */
	KEY_ALL,      /* __all__ of module a */
	KEY_HEADER,   /* parameters, decorators, flags, annotation of a */
	KEY_BASES,    /* base expressions of class a */
	KEY_FLOW,     /* local bindings of function a */
	KEY_RESULT,   /* return and yield expressions of function a */
	KEY_ATTR,     /* self.b = ... in methods of class a */
	KEY_FIXTURES, /* functions of module a with fixture(name=...) */
	KEY_LAMBDA,   /* b: expression of a, a lambda */
	KEY_SYMBOL,   /* a: a symbol.  whether any unit defines it */
	KEY_KINDS,
	/* Questions; the answer's type comes first. */
	ASK_NAME = KEY_KINDS, /* set: name b in a's own scope */
	ASK_EXPORT,	      /* set: attribute b of module a */
	ASK_ORDER,	      /* run + 1: class a and its bases (MRO) */
	ASK_MEMBER,	      /* set: attribute b of class a, not yet bound */
	ASK_RESULT,	      /* set: what calling function a returns */
	ASK_ATTR,	      /* set: self.b as class a itself assigns it */
	ASK_BIND,     /* set: binding b of unit a; see flow.c: bind_value */
	ASK_LAMBDA,   /* set: what calling lambda b of unit a returns */
	ASK_IMPORT,   /* a: atom, a directory.  set: module b from there */
	ASK_BEFORE,   /* set: bindings that a use sees; see flow.c. b: run of
			 the last of them, and a block of unit a */
	ASK_BEHIND,   /* set: binding b of unit a, and those behind it of the
			 same name in the same loop */
	ASK_METHOD,   /* a: a term.  set: what calling its method b returns */
	ASK_META,     /* set: the metaclass of class a */
	ASK_WRAPPERS, /* set: what stands in the place of function a, as its
			 decorators return it */
	ASK_DECORATIONS, /* bits of enum decoration: function a */
	ASK_ENUM,	 /* 0 or 1: class a is an enumeration */
	ASK_BRINGS,	 /* 0 or 1: `from a import *` binds name b */
	ASK_CIRCULAR,	 /* 0 or 1: does module a import module b (a unit) by
			    stars, directly or through others? */
	ASK_FIELDS,	 /* run + 1: names of the fields of class a, if it is a
			    NamedTuple; or 0 */
	ASK_SETTLED,	 /* 0 or 1: of ASK_BEFORE, is one on every way? */
	NODE_KINDS
};

/*
 * A question starts NEW. ask_new() opens it; when its value is computed it is
 * DONE, or HELD if the value depends on a question that is still open. HELD
 * questions become DONE together, when their cycle is solved. Invalidating
 * one makes it NEW again. Keys stay NEW.
 */
enum node_state { NODE_NEW, NODE_OPEN, NODE_HELD, NODE_DONE };

/* "`who` used this node." Void once `who` has another version. */
struct posting {
	uint32_t who; /* a node, or a slot with POSTING_SLOT set */
	uint32_t version;
};
#define POSTING_SLOT (1u << 31)

struct node {
	uint8_t kind;
	uint8_t state;
	uint8_t hit;   /* open: was asked again; held: is to be recomputed */
	uint8_t turns; /* held: how often its value changed, at most 255 */
	uint32_t a, b;
	uint32_t value; /* a question's answer */
	uint32_t version;
	union {
		uint32_t depth; /* question, open or held: its frame */
		uint32_t next;	/* key: the next about its unit; NONE */
	};
	heap_t postings;
	uint32_t postings_count, postings_size;
};

/* A question or slot being computed. */
struct frame {
	uint32_t who; /* as in a posting */
	uint32_t version;
	uint32_t low; /* outermost frame whose open question it depends on */
};

#endif
