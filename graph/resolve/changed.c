/*
 * Fingerprints of keys: numbers that differ when what a key says differs.
 * When a file changes, the fingerprints of the keys about its changed units
 * are taken before and after, and the keys whose fingerprints differ
 * invalidate what was computed from them. Only keys that were needed exist.
 *
 * A fingerprint must cover all that the resolver looks at behind the key, and
 * should cover no more. The position of a name counts only in functions, where
 * a use depends on the bindings before it.
 */
#include "graph/resolve/changed.h"

#include <assert.h>

#include "graph/base/alloc.h"
#include "graph/resolve/flow.h"
#include "graph/resolve/names.h"
#include "graph/resolve/outers.h"
#include "graph/resolve/solve.h"
#include "graph/resolve/stars.h"
#include "graph/resolve/types.h"
#include "graph/resolve/units.h"

struct fingerprint {
	uint64_t sum;
	bool flow; /* the order of bindings and uses counts */
};

static void add(struct fingerprint *p, uint64_t value)
{
	p->sum = (p->sum ^ value) * 0x9e3779b97f4a7c15ULL;
	p->sum ^= p->sum >> 29;
}

static void add_expr(struct fingerprint *p, const struct unit *u, uint32_t e);

static void add_list(struct fingerprint *p, const struct unit *u, uint32_t from,
		     uint32_t count)
{
	add(p, count);
	for (uint32_t k = 0; k < count; k++)
		add_expr(p, u, list_of(u, from + k));
}

static void add_name(struct fingerprint *p, const struct unit *u, uint32_t e,
		     facts_str name, uint32_t block)
{
	add(p, atom_of(u, name));
	add(p, block == 0);
	if (u->u->kind != UNIT_FUNCTION && !p->flow)
		return;
	add(p, block);
	add(p, flow_binds_before(u, e));
}

static void add_expr(struct fingerprint *p, const struct unit *u, uint32_t e)
{
	const struct facts_expr *x;

	if (e == FACTS_NONE) {
		add(p, 0x5eed);
		return;
	}
	x = expr_of(u, e);
	add(p, x->kind);
	switch (x->kind) {
	case EXPR_NAME:
		add_name(p, u, e, x->a, x->b);
		break;
	case EXPR_ATTR:
		add_expr(p, u, x->a);
		add_name(p, u, e, x->b, x->c);
		break;
	case EXPR_CALL:
		add_expr(p, u, x->a);
		add_list(p, u, x->b, x->c);
		break;
	case EXPR_KEYWORD:
		add_expr(p, u, x->a);
		add(p, atom_of(u, x->b));
		break;
	case EXPR_CONST:
		add(p, x->a);
		if (x->a == CONST_STR && x->b != FACTS_NONE)
			add(p, atom_of(u, x->b));
		else if (x->a == CONST_INT)
			add(p, x->b);
		break;
	case EXPR_TUPLE:
	case EXPR_LIST:
	case EXPR_SET:
	case EXPR_DICT:
	case EXPR_EITHER:
		add_list(p, u, x->b, x->c);
		break;
	case EXPR_INDEX:
	case EXPR_BINARY:
	case EXPR_NARROW:
	case EXPR_STORE:
		add_expr(p, u, x->a);
		add_expr(p, u, x->b);
		add(p, x->c);
		break;
	case EXPR_LAMBDA:
		/* TERM_LAMBDA holds the expression's number. */
		add(p, e);
		add_expr(p, u, x->a);
		break;
	case EXPR_SLICE:
		add(p, x->a);
		add(p, x->b);
		add(p, x->c);
		break;
	case EXPR_UNKNOWN:
		break;
	default:
		add_expr(p, u, x->a);
		add(p, x->b);
		add(p, x->c);
		break;
	}
}

static void add_bind(struct fingerprint *p, const struct unit *u, uint32_t at)
{
	const struct facts_bind *b = bind_of(u, at);

	add(p, b->kind | (uint32_t)b->outer << 8 | (uint32_t)b->level << 16);
	add(p, b->block);
	switch (b->kind) {
	case BIND_VALUE:
	case BIND_AUGMENT:
	case BIND_ANNOTATION:
	case BIND_TYPED:
	case BIND_NARROW:
	case BIND_STORE:
		add_expr(p, u, b->value);
		if (b->kind == BIND_TYPED)
			add_expr(p, u, b->extra);
		break;
	case BIND_IMPORT:
	case BIND_STAR:
		add(p, atom_of(u, b->module));
		add(p, b->extra);
		break;
	case BIND_FROM:
		add(p, atom_of(u, b->module));
		add(p, atom_of(u, b->value));
		break;
	case BIND_PARAM:
		if (block_of(u, b->block)->scope != 0)
			add_expr(p, u, b->value);
		else
			add(p, b->value);
		break;
	default:
		break;
	}
}

/* The unit that a BIND_DEF defines. */
static void add_def(struct fingerprint *p, const struct graph *g, unit_t n,
		    uint32_t bind)
{
	const struct facts_bind *b = bind_of(&g->units[n], bind);
	unit_t def;

	if (b->kind != BIND_DEF)
		return;
	def = unit_below(g, n, b->value);
	add(p, def);
	add(p, g->units[def].u->kind);
}

/* Star imports above a binding, which hides their names. */
static uint32_t stars_above(const struct unit *u, uint32_t bind)
{
	uint32_t stars = 0;

	for (uint32_t k = stars_after(u, 0); k < bind;
	     k = stars_after(u, k + 1))
		stars++;
	return stars;
}

static void print_bind(const struct graph *g, unit_t n, uint32_t bind,
		       struct fingerprint *p)
{
	add(p, stars_above(&g->units[n], bind));
	add_bind(p, &g->units[n], bind);
	add_def(p, g, n, bind);
}

/* Functions inside n that say `global name` or `nonlocal name`. */
static void print_outers(const struct graph *g, unit_t n, atom_t name,
			 enum outer_kind kind, struct fingerprint *p)
{
	struct outers o = outers_in(g, n, name, kind);
	const struct outer *at;

	while ((at = outers_next(g, &o))) {
		add(p, at->unit);
		add_bind(p, &g->units[at->unit], at->item);
		add_def(p, g, at->unit, at->item);
	}
}

static void print_name(const struct graph *g, unit_t n, atom_t name,
		       struct fingerprint *p)
{
	const struct unit *u = &g->units[n];

	if (u->u->kind != UNIT_FUNCTION) {
		for (uint32_t k = name_first(u, name);
		     k < u->names_count && u->names[k].atom == name; k++)
			print_bind(g, n, u->names[k].bind, p);
		if (u->u->kind == UNIT_MODULE) {
			print_outers(g, n, name, OUTER_GLOBAL, p);
			add(p, variable_find(&g->files[u->file], name) != NONE);
		}
		return;
	}
	for (uint32_t k = flow_bind_from(u, name, 0); k != NONE;
	     k = flow_bind_from(u, name, k + 1))
		if (block_of(u, bind_of(u, k)->block)->scope == 0)
			print_bind(g, n, k, p);
	print_outers(g, n, name, OUTER_NONLOCAL, p);
}

static void print_stars(const struct unit *u, struct fingerprint *p)
{
	for (uint32_t k = stars_after(u, 0); k != NONE;
	     k = stars_after(u, k + 1))
		add_bind(p, u, k);
}

static void print_all(const struct unit *u, struct fingerprint *p)
{
	const struct facts *f = u->sheet->facts;
	const uint32_t *all = (const uint32_t *)facts_at(f, f->lists);

	add(p, f->has_all);
	for (uint32_t k = 0; k < f->all.count; k++)
		add(p, atom_of(u, all[f->all.from + k]));
}

static void print_header(const struct unit *u, struct fingerprint *p)
{
	const struct facts_param *params = facts_params(u->sheet->facts, u->u);

	add(p, u->u->kind);
	add(p, u->u->flags & (UNIT_ASYNC | UNIT_GENERATOR | UNIT_METHOD));
	for (uint32_t k = 0; k < u->u->params.count; k++) {
		add(p, params[k].kind);
		add(p, atom_of(u, params[k].name));
		add_expr(p, u, params[k].annotation);
		add_expr(p, u, params[k].preset);
	}
	add_list(p, u, u->u->decorators.from, u->u->decorators.count);
	add_expr(p, u, u->u->returns_annotation);
}

static void print_flow(const struct graph *g, unit_t n, struct fingerprint *p)
{
	const struct unit *u = &g->units[n];
	const struct facts_block *b = facts_blocks(u->sheet->facts, u->u);
	const struct facts_scope *s = facts_scopes(u->sheet->facts, u->u);

	p->flow = true;
	for (uint32_t k = 0; k < u->u->blocks.count; k++) {
		add(p, b[k].kind);
		add(p, b[k].parent);
		add(p, b[k].scope);
	}
	for (uint32_t k = 0; k < u->u->scopes.count; k++)
		add(p, s[k].block);
	for (uint32_t k = 0; k < u->u->binds.count; k++) {
		facts_str name = bind_of(u, k)->name;

		add(p, name == FACTS_NONE ? 0 : atom_of(u, name));
		add_bind(p, u, k);
		add_def(p, g, n, k);
	}
}

static void print_result(const struct unit *u, struct fingerprint *p)
{
	add(p, u->u->flags & (UNIT_ASYNC | UNIT_GENERATOR));
	add_list(p, u, u->u->returns.from, u->u->returns.count);
	add_list(p, u, u->u->yields.from, u->u->yields.count);
}

static void print_attr(const struct graph *g, unit_t class, atom_t name,
		       struct fingerprint *p)
{
	struct outers o = outers_in(g, class, name, OUTER_ATTR);
	const struct outer *at;

	if (g->units[class].u->kind != UNIT_CLASS)
		return;
	while ((at = outers_next(g, &o))) {
		const struct unit *u = &g->units[at->unit];
		const struct facts_attr *a =
			facts_attrs(u->sheet->facts, u->u) + at->item;

		add(p, at->unit);
		add_expr(p, u, a->value);
		add_expr(p, u, a->annotation);
	}
}

static void print_fixtures(const struct graph *g, unit_t module,
			   struct fingerprint *p)
{
	const struct source_file *f = &g->files[g->units[module].file];

	for (uint32_t k = 1; k < f->units_count; k++) {
		const struct unit *u = &g->units[f->units[k]];
		atom_t alias;

		if (u->parent != module || u->u->kind != UNIT_FUNCTION)
			continue;
		alias = fixture_alias(g, f->units[k]);
		if (!alias)
			continue;
		add(p, alias);
		add(p, f->units[k]);
	}
}

static uint64_t key_fingerprint(struct graph *g, node_t id)
{
	const struct node *n = &g->nodes[id];
	const struct unit *u = &g->units[n->a];
	struct fingerprint p = { .sum = n->kind + 1 };

	g->steps++;
	if (!u->sheet)
		return 0;
	switch (n->kind) {
	case KEY_NAME:
		print_name(g, n->a, n->b, &p);
		break;
	case KEY_STARS:
		print_stars(u, &p);
		break;
	case KEY_ALL:
		print_all(u, &p);
		break;
	case KEY_HEADER:
		print_header(u, &p);
		break;
	case KEY_BASES:
		add_list(&p, u, u->u->bases.from, u->u->bases.count);
		break;
	case KEY_FLOW:
		print_flow(g, n->a, &p);
		break;
	case KEY_RESULT:
		print_result(u, &p);
		break;
	case KEY_FIXTURES:
		print_fixtures(g, n->a, &p);
		break;
	case KEY_LAMBDA:
		p.flow = true;
		if (n->b < u->u->exprs.count)
			add_expr(&p, u, n->b);
		break;
	default:
		assert(n->kind == KEY_ATTR);
		print_attr(g, n->a, n->b, &p);
		break;
	}
	return p.sum;
}

static void changed_add_key(struct changed *c, node_t key, bool always)
{
	c->keys = must_grow(c->keys, &c->size, c->count + 1, sizeof(*c->keys));
	c->keys[c->count++] =
		(struct changed_key){ .node = key, .always = always };
}

void changed_add_unit(struct graph *g, struct changed *c, unit_t n)
{
	if (g->units[n].stamp == g->stamp)
		return;
	g->units[n].stamp = g->stamp;
	for (node_t k = g->units[n].nodes; k != NONE; k = g->nodes[k].next)
		changed_add_key(c, k, g->units[n].fate == FATE_REPLACED);
}

/*
 * Of the keys about a class, only those that a method has a part in: so an
 * edit of a method costs no more in a large class.
 */
static void changed_add_attrs(struct graph *g, struct changed *c, unit_t class,
			      const struct unit_piece *method)
{
	const struct facts_attr *a =
		facts_attrs(method->sheet->facts, method->u);

	for (uint32_t k = 0; k < method->u->attrs.count; k++) {
		node_t key = node_find(g, KEY_ATTR, class,
				       method->sheet->atoms[a[k].name]);

		if (key != NONE)
			changed_add_key(c, key, false);
	}
}

/* Does it bind names in scopes around it? */
static bool binds_outer(const struct facts *f, const struct facts_unit *u)
{
	const struct facts_bind *b = facts_binds(f, u);

	for (uint32_t k = 0; k < u->binds.count; k++)
		if (b[k].outer)
			return true;
	return false;
}

void changed_add(struct graph *g, struct changed *c, unit_t n, unit_t parent,
		 const struct unit_piece *says)
{
	const struct unit *u = &g->units[n], *p = &g->units[parent];
	uint8_t kind = says->u->kind;

	changed_add_unit(g, c, n);
	if (p->sheet && u->sheet && u->u->kind != kind)
		changed_add_unit(g, c, parent);
	else if (p->sheet && p->u->kind == UNIT_CLASS)
		changed_add_attrs(g, c, parent, says);
	if (p->sheet && p->u->kind == UNIT_MODULE &&
	    (says->u->decorators.count || (u->sheet && u->u->decorators.count)))
		changed_add_key(c, node_get(g, KEY_FIXTURES, parent, 0), false);
	if (!binds_outer(says->sheet->facts, says->u))
		return;
	for (n = parent; g->units[n].sheet; n = g->units[n].parent) {
		changed_add_unit(g, c, n);
		if (g->units[n].parent == n)
			break;
	}
}

/* Of equal keys, one marked `always` comes first. */
static int by_node(const void *a, const void *b)
{
	const struct changed_key *x = a, *y = b;

	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	return (int)y->always - (int)x->always;
}

void changed_take(struct graph *g, struct changed *c)
{
	uint32_t count = 0;

	if (c->count)
		qsort(c->keys, c->count, sizeof(*c->keys), by_node);
	for (uint32_t k = 0; k < c->count; k++) {
		if (count && c->keys[count - 1].node == c->keys[k].node)
			continue;
		c->keys[count] = c->keys[k];
		c->keys[count++].before = key_fingerprint(g, c->keys[k].node);
	}
	c->count = count;
}

void changed_invalidate(struct graph *g, struct changed *c)
{
	for (uint32_t k = 0; k < c->count; k++)
		if (c->keys[k].always ||
		    key_fingerprint(g, c->keys[k].node) != c->keys[k].before)
			solve_invalidate(g, c->keys[k].node);
	free(c->keys);
}
