/*
 * Values of expressions: sets of terms. A term is a class, an instance of one,
 * a function, a list of something. Terms and sets are interned: equal ones
 * have one number, so comparing them is comparing numbers.
 *
 * Sets form a lattice, and functions of sets are monotone with few exceptions
 * (solve.c): recursive definitions then have one least solution, independent
 * of the order of evaluation. To keep the lattice finite, a set holds at most
 * one list, one dict, one record, and one tuple of each length: joining two
 * joins their contents. Nesting is cut at TERM_DEPTH, and of more than SET_MAX
 * terms a set keeps the first in an order that its owner defines. (Of several
 * sets joined in any way, these are the first of all.)
 */
#ifndef STATETAPE_GRAPH_RESOLVE_TERMS_H
#define STATETAPE_GRAPH_RESOLVE_TERMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/base/region.h"

typedef uint32_t term_t;
typedef uint32_t set_t;

#define SET_NONE 0u /* empty: nothing is known */

#define TERM_DEPTH 4
#define SET_MAX	   24
#define TUPLE_MAX  12

enum term_kind {
	TERM_MODULE,   /* a: unit of the module */
	TERM_PACKAGE,  /* a: atom, dotted name of a directory without code */
	TERM_CLASS,    /* a: unit */
	TERM_INSTANCE, /* a: unit of the class; b: set of its arguments */
	TERM_SELF,     /* a: unit of a class: an instance of it, or of the
			  subclass through which a method was reached */
	TERM_CLS,      /* a: unit of a class: it, or that subclass */
	TERM_FUNCTION, /* a: unit */
	TERM_BOUND,    /* a: unit of the function; b: term it is bound to */
	TERM_SUPER,    /* a: unit of the class behind which the search in the
			  MRO starts; b: term of the instance or class */
	TERM_LAMBDA,   /* a: unit; b: expression in it */
	TERM_LIBRARY,  /* a: atom, dotted name of something that is not in the
			  repository */
	TERM_OF,       /* a: term; b: atom: a method of a list, dict, ... */
	TERM_WRAPPED,  /* a: unit of a function; b: set of the objects that
			  its decorators return */
	/* Joined within a set: */
	TERM_LIST,	/* a: set of elements; any iterable */
	TERM_DICT,	/* a, b: sets of keys, of values */
	TERM_TUPLE,	/* a: number of items; b: its items' sets, see below */
	TERM_RECORD,	/* a dict with known keys. a: run of atoms, its keys;
			   b: values, as a tuple's */
	TERM_AWAITABLE, /* a: set of its results */
	TERM_MANAGER,	/* a: set that `with` binds */
	TERM_CALLABLE,	/* a: set that a call returns */
	TERM_PARTIAL,	/* a: set of the callables */
	TERM_TYPE,	/* a: set of instances an annotation stands for */
	TERM_KINDS
};
#define TERM_JOINED TERM_LIST

struct term {
	uint8_t kind;
	uint8_t depth;
	uint32_t a, b;
};

struct terms;
struct terms *terms_new(void);
/* Which terms come first; joined ones are told apart by kind and length alone.
   Without it: those with lower numbers. */
typedef int terms_order(const void *arg, term_t a, term_t b);
void terms_set_order(struct terms *t, terms_order *order, const void *arg);
void terms_free(struct terms *t);
/* The parts that a snapshot keeps. */
#define TERMS_PARTS 7
void terms_parts(struct terms *t, struct region_part *ret);

const struct term *term_of(const struct terms *t, term_t id);
/* The items of a tuple or record, and how many. */
const set_t *term_items(const struct terms *t, const struct term *tuple);

/* The set of one term. */
set_t set_one(struct terms *t, enum term_kind kind, uint32_t a, uint32_t b);
set_t set_term(struct terms *t, term_t id);
term_t term_make(struct terms *t, enum term_kind kind, uint32_t a, uint32_t b);
set_t set_tuple(struct terms *t, const set_t *items, uint32_t count);
/*
 * A dict whose `count` (up to TUPLE_MAX + 1) keys are these atoms; of equal
 * keys the last counts. A record with more than TUPLE_MAX keys, from the start
 * or after a join, keeps one key, RECORD_REST, for all of its values.
 */
#define RECORD_REST UINT32_MAX
set_t set_record(struct terms *t, const uint32_t *keys, const set_t *values,
		 uint32_t count);
set_t record_at(const struct terms *t, const struct term *record, uint32_t key);
uint32_t term_length(const struct terms *t, const struct term *tuple);

set_t set_join(struct terms *t, set_t a, set_t b);
/* The terms of a set, sorted by number. Valid as long as `t`. */
size_t set_terms(const struct terms *t, set_t s, const term_t **ret);

/* Other runs of numbers, interned as well. */
uint32_t terms_run(struct terms *t, const uint32_t *items, uint32_t count);
const uint32_t *terms_run_items(const struct terms *t, uint32_t run,
				uint32_t *ret_count);

#endif
