/*
 * The state of a graph, and what the files of the resolver share. graph/ keeps
 * this state and asks these functions; nobody else includes this.
 *
 *   solve.c     questions, remembered answers, which answer depends on which
 *   changed.c   which keys a change touches
 *   modules.c   dotted names and files
 *   names.c     scopes, bindings
 *   outers.c    names bound from inner scopes: global, nonlocal, self.x
 *   members.c   classes: order of bases, attributes
 *   eval.c      the values an expression can have
 *   calls.c     the result of calling, iterating, indexing
 *   stores.c    the effect of storing into a container
 *   library.c   functions of Python's standard library that pass values on
 *   types.c     annotations
 *   terms.c     values and sets of values, each stored once
 *   units.c     the order of definitions
 */
#ifndef STATETAPE_GRAPH_RESOLVE_STATE_H
#define STATETAPE_GRAPH_RESOLVE_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "graph/base/heap.h"
#include "graph/base/intern.h"
#include "graph/facts/facts.h"
#include "graph/resolve/symbol.h"
#include "graph/resolve/terms.h"

typedef uint32_t atom_t; /* a string's number in graph->atoms */
typedef uint32_t unit_t; /* index of graph->units */
typedef uint32_t node_t; /* index of graph->nodes */
#define NONE UINT32_MAX

/* Facts as they were handed in, shared by the units read from them. */
struct sheet {
	struct facts *facts;
	atom_t *atoms;	/* by facts_str; on the heap */
	uint64_t kept;	/* where a snapshot has the facts; free ones: the next
			   free one's number + 1 */
	uint32_t refs;	/* 0: it is free */
	uint32_t units; /* where in the facts they begin */
	bool lent;	/* the facts are somebody else's */
};

/*
 * A definition. Its number belongs to (file, name, which of that name) and
 * outlives its text: what was found out about a function survives an edit of
 * its body.
 */
struct unit {
	symbol_t symbol;
	uint32_t file;
	uint32_t ordinal; /* among those of its name in its file */
	uint32_t hashed;  /* next in the table's chain */

	/* NULL: there is no such definition at present. */
	struct sheet *sheet;
	const struct facts_unit *u;
	uint32_t index;	      /* in file->units */
	unit_t parent;	      /* itself for a module */
	uint32_t start, end;  /* bytes of the file */
	uint32_t line, lines; /* from 0 */
	uint64_t gap;	      /* as in its facts when read with its file */
	uint64_t whole;	      /* hash of all of its text, as it is now */
	struct shift *shifts; /* units inside that were read anew */
	uint32_t shifts_count;
	bool dotted;  /* binds "a.b" somewhere */
	bool starred; /* imports with a star */

	node_t nodes;	    /* first of the keys about it, NONE: no */
	uint32_t at;	    /* which of its sheet's units `u` is */
	struct name *names; /* modules and classes: bindings by atom */
	uint32_t names_count;
	uint32_t every_count;
	struct name *every; /* all bindings by atom, where they are many */
	uint32_t *slots;    /* places that make edges */
	uint32_t slots_count;
	uint32_t stamp; /* graph->stamp when a change last met it */
	uint8_t kept;	/* during a change: see files.c; 0: it goes */
};

/* Lines after `line` of a unit (as first read) have moved. */
struct shift {
	uint32_t line;
	int32_t by;
};
#define SHIFTS_MAX 16

struct name {
	atom_t atom;
	uint32_t bind;
};

/* A name that a unit binds outside of itself. */
enum outer_kind { OUTER_GLOBAL = 1, OUTER_NONLOCAL = 2, OUTER_ATTR };
struct outer {
	atom_t name;
	uint32_t index; /* of the unit, in file->units */
	uint32_t kind;
	uint32_t item; /* which binding or attribute of the unit */
	unit_t unit;
};

struct source_file {
	atom_t path;
	atom_t module; /* dotted */
	atom_t dir;    /* dotted name of its directory, as a module */
	bool there;
	bool package;	     /* an __init__ */
	struct sheet *sheet; /* of the last whole reading */
	unit_t *units;
	uint32_t units_count, units_size;
	struct outer *outers; /* by name, see outers.c */
	uint32_t outers_count;
	uint32_t length; /* of its text */
};

/* A unit as it is to be, in a file's new list of them. */
struct unit_piece {
	struct sheet *sheet;
	const struct facts_unit *u;
};

/* A name of V or extended, and its definitions at present. */
struct symbol_slot {
	heap_t units; /* ordered by file and place */
	uint32_t units_count, units_size;
	uint32_t variable_file; /* NONE: is no variable */
	uint32_t variable;	/* index in that file's facts */
	heap_t callers;		/* pairs that end here */
	uint32_t callers_count, callers_size;
	uint32_t touched; /* index in graph->touched + 1, 0: not since */
	uint32_t seen_stamp, seen; /* while a list of units is made */
};

struct touched_symbol {
	symbol_t symbol;
	bool before;
	enum symbol_kind kind;
	XXH128_hash_t hash;
};

/*
 * Nodes: keys and questions. A key is something facts say (or do not say);
 * a question's answer is computed from keys and other answers.
 */
enum node_kind {
	/* Keys: a unit and an atom, where it needs one. */
	KEY_MODULE,   /* a: atom of a dotted name.  which file, or package */
	KEY_NAME,     /* what binds name b in a's own scope */
	KEY_STARS,    /* star imports of module a */
	KEY_ALL,      /* __all__ of module a */
	KEY_HEADER,   /* parameters, decorators, flags, annotation of a */
	KEY_BASES,    /* base expressions of class a */
	KEY_FLOW,     /* local bindings of function a */
	KEY_RESULT,   /* return and yield expressions of function a */
	KEY_ATTR,     /* self.b = ... in methods of class a */
	KEY_FIXTURES, /* functions of module a that go by another name */
	KEY_LAMBDA,   /* expression b of a, a lambda */
	KEY_SYMBOL,   /* a: a symbol.  whether it is more than a variable */
	KEY_KINDS,
	/* Questions. */
	ASK_NAME = KEY_KINDS, /* set: name b in a's own scope */
	ASK_EXPORT,	      /* set: attribute b of module a */
	ASK_ORDER,	      /* run + 1: class a and its bases */
	ASK_MEMBER,	      /* set: attribute b of class a, as found */
	ASK_RESULT,	      /* set: what calling function a gives */
	ASK_ATTR,	      /* set: self.b of class a itself */
	ASK_BIND,	 /* set: binding b of unit a, where circles are near */
	ASK_LAMBDA,	 /* set: what calling lambda b of unit a gives */
	ASK_IMPORT,	 /* set: module b, asked for in directory a */
	ASK_METHOD,	 /* set: what calling method b of term a gives */
	ASK_DECORATIONS, /* bits of enum decoration: function a */
	ASK_ENUM,	 /* bit: class a is an enumeration */
	ASK_BRINGS,	 /* bit: a star import from module a brings name b */
	NODE_KINDS
};

enum node_state { NODE_NEW, NODE_OPEN, NODE_HELD, NODE_DONE };

struct posting {
	uint32_t who; /* node, or slot with POSTING_SLOT */
	uint32_t version;
};
#define POSTING_SLOT (1u << 31)

struct node {
	uint8_t kind;
	uint8_t state;
	uint8_t hit; /* asked for while open; held: to be computed again */
	uint32_t a, b;
	uint32_t value; /* a question's */
	uint32_t version;
	uint32_t depth, turns; /* while open or held */
	uint32_t next;	       /* about the same unit */
	heap_t postings;
	uint32_t postings_count, postings_size;
};

/* A place that makes edges. */
enum slot_kind { SLOT_SITE, SLOT_BASES, SLOT_OVERRIDES, SLOT_IMPORT };
struct slot {
	uint8_t kind;
	uint8_t dirty;
	uint16_t count;
	uint32_t version;
	unit_t unit;
	uint32_t site; /* or binding, of its unit; free slots: the next one */
	union {
		uint32_t one[2];
		heap_t many; /* pairs, if count > 2 */
	} pairs;
};

/* An edge, and how many places make it. */
struct pair {
	symbol_t caller, callee;
	uint32_t count;
	uint32_t place; /* in callee's callers */
	uint32_t was;	/* count before the change, if `met` */
	uint8_t kind;
	uint8_t met; /* on graph->met */
	uint32_t hashed;
};

struct frame {
	uint32_t who; /* as in a posting */
	uint32_t version;
	uint32_t low;
};

/* By atom of a dotted name: files of that name, directories below. */
struct module_slot {
	heap_t files;
	uint32_t count, size;
	uint32_t below; /* files in it or deeper */
};

/*
 * The arrays a graph consists of, each in a region of its own (region.h):
 * elements keep their addresses. Name, type, how many are in use, whether
 * they hold addresses. They, the numbers at the head of struct graph and what
 * lies on the heap are all that a snapshot has to keep (snapshot.c), so what
 * points from one to another is a number or stands there as an address.
 */
#define GRAPH_ARRAYS(A)                                    \
	A(files, struct source_file, g->files_count, 1)    \
	/* By atom; number + 1. */                         \
	A(file_of_path, uint32_t, g->file_of_path_size, 0) \
	A(modules, struct module_slot, g->modules_size, 0) \
	A(sheets, struct sheet, g->sheets_count, 1)        \
	A(units, struct unit, g->units_count, 1)           \
	/* Tables: number + 1. */                          \
	A(unit_table, uint32_t, g->unit_mask + 1ULL, 0)    \
	A(symbols, struct symbol_slot, g->symbols_size, 0) \
	A(nodes, struct node, g->nodes_count, 0)           \
	A(node_table, uint32_t, g->node_mask + 1ULL, 0)    \
	A(slots, struct slot, g->slots_count, 0)           \
	A(pairs, struct pair, g->pairs_count, 0)           \
	A(pair_table, uint32_t, g->pair_mask + 1ULL, 0)    \
	/* enum library_kind, by atom. */                  \
	A(library, uint8_t, g->library_count, 0)

enum graph_array {
#define A(name, type, used, addresses) ARRAY_##name,
	GRAPH_ARRAYS(A)
#undef A
		GRAPH_ARRAYS_COUNT
};

/* `count` elements of an array may be used; what is new is 0. */
#define graph_need(g, name, count)                              \
	region_need(&(g)->homes[ARRAY_##name], (size_t)(count), \
		    sizeof(*(g)->name))

/* Grouped by what belongs together, not by size: there is one. */
/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding) */
struct graph {
	/* Kept in a snapshot, as they are: no addresses, up to `homes`. */
	uint32_t files_count;
	uint32_t file_of_path_size, modules_size; /* atoms they know */
	uint32_t sheets_count, sheets_free;
	uint32_t units_count, unit_mask;
	uint32_t symbols_size; /* by number of names */
	uint32_t nodes_count, node_mask;
	uint32_t slots_count, slots_free;
	uint32_t pairs_count, pairs_free, pair_mask;
	uint32_t library_count;
	uint32_t stamp;
	uint64_t first; /* bytes of its first snapshot, 0: there was none */
	uint64_t heap_was, sheets_was; /* addresses, in a snapshot */

	struct region homes[GRAPH_ARRAYS_COUNT];
#define A(name, type, used, addresses) type *name;
	GRAPH_ARRAYS(A)
#undef A
	struct heap heap;
	struct intern *atoms;
	struct intern *names; /* of symbols */
	struct terms *terms;
	void *map; /* of the snapshot it came from: facts; NULL */
	size_t map_size;

	/* Of changes until they are settled. */
	struct touched_symbol *touched;
	uint32_t touched_count, touched_size;
	uint32_t *dirty; /* slots to resolve */
	uint32_t dirty_count, dirty_size;
	uint32_t *met; /* pairs whose count was touched */
	uint32_t met_count, met_size;

	/* Solving. */
	struct frame *frames;
	uint32_t frames_count, frames_size;
	node_t *held;
	uint32_t held_count, held_size;
	uint64_t steps; /* answers computed and keys printed, ever */

	struct graph_delta delta;
	uint32_t edge_changes_size, symbol_changes_size;
};

/* What lies on the heap; good until it is given back. */
static inline unit_t *symbol_units(const struct graph *g,
				   const struct symbol_slot *s)
{
	return heap_at(&g->heap, s->units);
}

static inline uint32_t *symbol_callers(const struct graph *g,
				       const struct symbol_slot *s)
{
	return heap_at(&g->heap, s->callers);
}

static inline uint32_t *module_files(const struct graph *g,
				     const struct module_slot *m)
{
	return heap_at(&g->heap, m->files);
}

static inline struct posting *node_postings(const struct graph *g,
					    const struct node *n)
{
	return heap_at(&g->heap, n->postings);
}

static inline const uint32_t *slot_pairs(const struct graph *g,
					 const struct slot *s)
{
	return s->count > 2 ? heap_at(&g->heap, s->pairs.many) : s->pairs.one;
}

/* Lists on the heap that are known by their address; NULL: none. */
static inline void *list_take(struct graph *g, size_t bytes)
{
	heap_t piece = heap_take(&g->heap, bytes);

	return piece ? heap_at(&g->heap, piece) : NULL;
}

static inline void list_give(struct graph *g, const void *list, size_t bytes)
{
	heap_give(&g->heap, heap_number(&g->heap, list), bytes);
}

/* Reading facts through a unit. */
static inline struct unit *unit_of(struct graph *g, unit_t n)
{
	return &g->units[n];
}

static inline bool unit_lives(const struct graph *g, unit_t n)
{
	return n != NONE && g->units[n].sheet;
}

static inline const struct facts_expr *expr_of(const struct unit *u, uint32_t e)
{
	return facts_exprs(u->sheet->facts, u->u) + e;
}

static inline const struct facts_bind *bind_of(const struct unit *u, uint32_t b)
{
	return facts_binds(u->sheet->facts, u->u) + b;
}

static inline const struct facts_block *block_of(const struct unit *u,
						 uint32_t b)
{
	return facts_blocks(u->sheet->facts, u->u) + b;
}

static inline uint32_t list_of(const struct unit *u, uint32_t n)
{
	return facts_lists(u->sheet->facts, u->u)[n];
}

static inline atom_t atom_of(const struct unit *u, facts_str s)
{
	return u->sheet->atoms[s];
}

/* NONE: it has no name, for it is a star import. */
static inline atom_t bind_atom(const struct unit *u, uint32_t b)
{
	facts_str name = bind_of(u, b)->name;

	return name == FACTS_NONE ? NONE : atom_of(u, name);
}

static inline atom_t atom_intern(struct graph *g, const char *text, size_t len)
{
	return intern_add(g->atoms, text, len);
}

static inline const char *atom_text(const struct graph *g, atom_t a)
{
	return intern_text(g->atoms, a, NULL);
}

/* a.b; with an empty `a`: b. */
atom_t atom_dotted(struct graph *g, atom_t a, atom_t b);

/* The unit a BIND_DEF of unit n leads to. */
static inline unit_t unit_below(const struct graph *g, unit_t n, uint32_t value)
{
	const struct unit *u = &g->units[n];

	return g->files[u->file].units[u->index + value];
}

static inline unit_t module_of(const struct graph *g, unit_t n)
{
	return g->files[g->units[n].file].units[0];
}

/* solve.c */
node_t node_get(struct graph *g, enum node_kind kind, uint32_t a, uint32_t b);
/* NONE: nobody has asked for it. */
node_t node_find(struct graph *g, enum node_kind kind, uint32_t a, uint32_t b);
/* The present frame depends on this key. */
void solve_need(struct graph *g, enum node_kind kind, uint32_t a, uint32_t b);
uint32_t solve_ask(struct graph *g, enum node_kind kind, uint32_t a,
		   uint32_t b);
/* Everything that was computed from node n is outdated. */
void solve_invalidate(struct graph *g, node_t first);
void solve_invalidate_key(struct graph *g, enum node_kind kind, uint32_t a,
			  uint32_t b);
void frame_push(struct graph *g, uint32_t who, uint32_t version);
void frame_pop(struct graph *g);

/* names.c */
unit_t module_find(struct graph *g, atom_t dotted); /* NONE: no file */
set_t module_imported(struct graph *g, unit_t from, atom_t dotted);
set_t module_import_solve(struct graph *g, atom_t dir, atom_t dotted);
set_t module_in_package(struct graph *g, atom_t package, atom_t name);
atom_t module_absolute_name(struct graph *g, unit_t from, uint32_t level,
			    atom_t name);
set_t name_solve(struct graph *g, unit_t n, atom_t name);
set_t name_export_solve(struct graph *g, unit_t module, atom_t name);
set_t name_eval(struct graph *g, unit_t n, uint32_t e);
set_t name_bind_eval(struct graph *g, unit_t n, uint32_t at);
bool name_is_bound(const struct unit *u, atom_t name);
uint32_t name_first(const struct unit *u, atom_t name);
/* Of all bindings by that name the first from `from` on; NONE: there is none.
 */
uint32_t name_bind_after(const struct unit *u, atom_t name, uint32_t from);
/* Those by which units in `around` bind a name of it, one after the other. */
struct outers {
	unit_t around;
	atom_t name;
	enum outer_kind kind;
	uint32_t next;
};
struct outers outers_in(const struct graph *g, unit_t around, atom_t name,
			enum outer_kind kind);
const struct outer *outers_next(const struct graph *g, struct outers *o);
void outers_make(struct graph *g, struct source_file *f);
/* What a unit adds to them; 0: nothing. */
uint64_t outers_fingerprint(const struct graph *g, unit_t n);
/* Star imports of a module or class, likewise. */
uint32_t name_star_after(const struct unit *u, uint32_t from);
uint32_t name_binds_before(const struct unit *u, uint32_t e);
bool name_own_place(const struct graph *g, unit_t n);
/* Dotted bindings: is `base.name` bound on the way to expression e? */
bool name_path_eval(struct graph *g, unit_t n, uint32_t e, set_t *ret);
bool module_star_exports(struct graph *g, unit_t module, atom_t name);
uint32_t name_brings_solve(struct graph *g, unit_t module, atom_t name);

/* members.c */
uint32_t class_order_solve(struct graph *g, unit_t class);
#define ORDER_MAX 512 /* classes; what is further up is left out */
uint32_t class_order(struct graph *g, unit_t class, unit_t *ret);
bool class_is_subclass(struct graph *g, unit_t class, unit_t base);
set_t member_solve(struct graph *g, unit_t class, atom_t name);
set_t attr_solve(struct graph *g, unit_t class, atom_t name);
set_t attr_of_set(struct graph *g, set_t base, atom_t name);
set_t attr_of_term(struct graph *g, term_t base, atom_t name);
/* A method of an instance and what calling it gives; SET_NONE: none. */
set_t method_call(struct graph *g, term_t self, atom_t name);
set_t method_solve(struct graph *g, term_t self, atom_t name);
/* The method a method hides: of the first class behind its own. */
unit_t method_overridden(struct graph *g, unit_t method);
unit_t method_find(struct graph *g, unit_t class, atom_t name);

uint32_t class_enum_solve(struct graph *g, unit_t class);
/* Is there a base from outside, the class's own or inherited, that will do? */
typedef bool library_visitor(const struct graph *g, atom_t library, void *arg);
bool class_library_base(struct graph *g, unit_t class, library_visitor *visit,
			void *arg);
set_t class_of_term(struct graph *g, term_t id);

/* eval.c */
set_t eval_expr(struct graph *g, unit_t n, uint32_t e);

/* calls.c */
set_t call_result_solve(struct graph *g, unit_t f);
set_t call_lambda_solve(struct graph *g, unit_t n, uint32_t e);
set_t call_term(struct graph *g, term_t callee, unit_t n, uint32_t call);
set_t call_set(struct graph *g, set_t callee, unit_t n, uint32_t call);
set_t value_element(struct graph *g, set_t of, bool async);
set_t value_entered(struct graph *g, set_t of, bool async);
set_t value_item(struct graph *g, set_t of, uint32_t position, uint32_t how);
set_t value_index(struct graph *g, set_t of, unit_t n, uint32_t index);
set_t value_awaited(struct graph *g, set_t of);
set_t value_items(struct graph *g, const struct term *t);
set_t value_instance(struct graph *g, term_t self);
set_t value_replace_self(struct graph *g, set_t in, term_t self);

/* stores.c */
/*
 * Is expression e a constant, by itself or by name? Then that constant; a
 * string's number is an atom.
 */
bool store_const(struct graph *g, unit_t n, uint32_t e, struct facts_expr *ret);
/* A constant as the key of a record, NONE: it is no constant we keep. */
atom_t store_key(struct graph *g, unit_t n, uint32_t e);
set_t store_eval(struct graph *g, unit_t n, uint32_t e);

/* resolve/library.c */
set_t library_call(struct graph *g, atom_t name, unit_t n, uint32_t call);
set_t library_container_attr(struct graph *g, term_t of, atom_t name);
set_t library_container_call(struct graph *g, term_t of, atom_t method,
			     unit_t n, uint32_t call);
/* Positional argument k of a call, or keyword; NONE. */
uint32_t library_argument(const struct graph *g, unit_t n, uint32_t call,
			  uint32_t k);

/* types.c */
set_t type_eval(struct graph *g, unit_t n, uint32_t e);
set_t type_instances(struct graph *g, set_t types);
set_t type_library_index(struct graph *g, atom_t what, unit_t n,
			 uint32_t index);

/* How a function is decorated, as far as that changes what it is. */
enum decoration {
	DECO_PROPERTY = 1 << 0,
	DECO_STATIC = 1 << 1,
	DECO_CLASS = 1 << 2,
	DECO_MANAGER = 1 << 3,
	DECO_OVERLOAD = 1 << 4,
	DECO_FIXTURE = 1 << 5,
	DECO_CACHED = 1 << 6, /* like a property, computed once */
};
unsigned function_decorations(struct graph *g, unit_t f);
uint32_t function_decorations_solve(struct graph *g, unit_t f);
unit_t class_around(const struct graph *g, unit_t n);
set_t fixture_find(struct graph *g, unit_t f, atom_t name);
/* The name a fixture is given by its decorator, WORD_EMPTY: none. */
atom_t fixture_alias(const struct graph *g, unit_t f);

/* changed.c */
/* Keys about units that are going to change, and what they said before. */
struct changed_key {
	node_t node;
	bool always; /* outdated, whatever it says */
	uint64_t before;
};
struct changed {
	struct changed_key *keys;
	uint32_t count, size;
};
/* All keys about a unit. */
void changed_add_unit(struct graph *g, struct changed *p, unit_t n);
/*
 * Unit n of `parent` says something else: keys about it, and about those
 * around it as far as they are about it, too. To be called with what it says
 * now, and with what it is going to say.
 */
void changed_add(struct graph *g, struct changed *prints, unit_t n,
		 unit_t parent, const struct unit_piece *says);
/* When all are there, and before the change: what they say. */
void changed_take(struct graph *g, struct changed *p);
/* After the change: outdate what says something else now. Releases them. */
void changed_invalidate(struct graph *g, struct changed *p);

/* units.c */
/* By name, file and ordinal: the same in whatever way the graph was made. */
int unit_order(const struct graph *g, unit_t a, unit_t b);
void units_sort(const struct graph *g, unit_t *units, uint32_t count);
/* Among the variables of the file; NONE: it is none. */
uint32_t variable_find(const struct source_file *f, atom_t name);

#endif
