/*
 * What is derived from a unit once it is read: its reads, that is names it uses
 * and does not bind; the sites that expressions are by themselves; and the hash
 * of its meaning.
 */
#include "graph/facts/python/reader_i.h"

#define HEADER FACTS_NONE /* stands for the scope of block 0 */

/* Marks the bindings of names declared global or nonlocal in the unit. */
static void mark_outer(struct reader *r)
{
	uint32_t i, from = r->unit->binds.from;
	uint32_t *kind;

	if (!r->outers.count)
		return;
	pairs_clear(&r->bound);
	for (i = 0; i < r->outers.count; i++)
		*pairs_at(&r->bound, 0, r->outers.at[i].name, 0) =
			r->outers.at[i].kind;
	for (i = from; i < r->binds.count; i++) {
		struct facts_bind *b = &r->binds.at[i];

		if (r->blocks.at[r->unit->blocks.from + b->block].scope != 0 ||
		    b->name == FACTS_NONE || !pairs_has(&r->bound, 0, b->name))
			continue;
		kind = pairs_at(&r->bound, 0, b->name, 0);
		b->outer = (uint8_t)*kind;
	}
}

static uint32_t scope_of(const struct reader *r, uint32_t block)
{
	if (block == 0)
		return HEADER;
	return r->blocks.at[r->unit->blocks.from + block].scope;
}

static void collect_bound(struct reader *r)
{
	uint32_t i;

	pairs_clear(&r->bound);
	for (i = r->unit->binds.from; i < r->binds.count; i++) {
		const struct facts_bind *b = &r->binds.at[i];

		if (b->outer || b->kind == BIND_NARROW ||
		    b->kind == BIND_STORE || b->name == FACTS_NONE)
			continue;
		(void)pairs_at(&r->bound, scope_of(r, b->block), b->name, 1);
	}
}

static bool is_bound(const struct reader *r, uint32_t block, facts_str name)
{
	uint32_t scope = scope_of(r, block);

	while (!pairs_has(&r->bound, scope, name)) {
		if (scope == HEADER || scope == 0)
			return false;
		assert(scope < r->scopes.count - r->unit->scopes.from);
		block = r->scopes.at[r->unit->scopes.from + scope].block;
		scope = scope_of(r, block);
	}
	return true;
}

/* The number of the dotted path before the last part; 0: it is not free. */
static uint32_t path_before(const struct reader *r, const struct facts_expr *e)
{
	if (e->kind == EXPR_NAME)
		return is_bound(r, e->b, e->a) ? 0 : FACTS_NONE;
	return e->kind == EXPR_ATTR ? r->paths.at[e->a] : 0;
}

/* It is named, and not just called. */
static void note_named(struct reader *r, uint32_t site, uint32_t e)
{
	struct facts_site *s = &r->sites.at[site];
	struct reader_place p = r->places.at[r->unit->exprs.from + e];

	if (s->kind == SITE_NAME)
		return;
	s->kind = SITE_NAME;
	s->expr = e;
	s->line = p.line;
	s->column = p.column & SITE_COLUMN_MAX;
}

static void add_reads(struct reader *r)
{
	uint32_t from = r->unit->exprs.from, n = expr_count(r);
	uint32_t paths = 0, before, i, first = r->sites.count;
	uint32_t *path;

	collect_bound(r);
	pairs_clear(&r->path_of);
	r->paths.count = 0;
	array_reserve(&r->paths, n);
	for (i = 0; i < n; i++) {
		const struct facts_expr *e = &r->exprs.at[from + i];

		before = path_before(r, e);
		r->paths.at[i] = 0;
		if (!before)
			continue;
		path = pairs_at(&r->path_of, before,
				e->kind == EXPR_NAME ? e->a : e->b, 0);
		if (!*path) {
			*path = ++paths;
			reader_add_site(r, SITE_READ, i,
					r->places.at[from + i]);
		}
		if (e->kind == EXPR_NAME && !r->taken.at[i])
			note_named(r, first + *path - 1, i);
		r->paths.at[i] = *path;
	}
}

/* What an expression implies wherever it stands. */
static void add_implied(struct reader *r, uint32_t i)
{
	struct facts_expr x = *expr_at(r, i);
	struct reader_place place = r->places.at[r->unit->exprs.from + i];

	switch (x.kind) {
	case EXPR_ATTR:
		if (!r->taken.at[i])
			reader_add_site(r, SITE_GET, i, place);
		break;
	case EXPR_INDEX:
		if (x.c == ACCESS_LOAD || x.c == ACCESS_UPDATE)
			reader_add_site(r, SITE_ITEM_GET, i, place);
		if (x.c == ACCESS_STORE || x.c == ACCESS_UPDATE)
			reader_add_site(r, SITE_ITEM_SET, i, place);
		if (x.c == ACCESS_DELETE)
			reader_add_site(r, SITE_ITEM_DELETE, i, place);
		break;
	case EXPR_BINARY:
		if (x.c != OP_OTHER)
			reader_add_site(r, SITE_OPERATOR, i, place);
		break;
	case EXPR_STAR:
		reader_implies(r, SITE_ITER, x.a);
		break;
	case EXPR_YIELD:
		if (x.b && x.a != FACTS_NONE)
			reader_implies(r, SITE_ITER, x.a);
		break;
	case EXPR_ITEM:
		if (x.b == 0 && !(x.c & 1))
			reader_implies(r, SITE_ITER, x.a);
		break;
	case EXPR_AWAIT:
		reader_implies(r, SITE_AWAIT, x.a);
		break;
	default:
		break;
	}
}

/* Callees, decorators and bases have edges of their own. */
static void mark_taken(struct reader *r)
{
	const struct facts_expr *e = r->exprs.at + r->unit->exprs.from;
	uint32_t n = expr_count(r);

	array_reserve(&r->taken, n);
	memset(r->taken.at, 0, n);
	for (uint32_t i = 0; i < n; i++)
		if (e[i].kind == EXPR_CALL)
			r->taken.at[e[i].a] = 1;
	for (uint32_t i = 0; i < r->decorators.count; i++)
		r->taken.at[r->decorators.at[i]] = 1;
	for (uint32_t i = 0; i < r->bases.count; i++)
		r->taken.at[r->bases.at[i]] = 1;
}

/* Is the binding a definition or an import? These are named like free names. */
static bool is_definition(const struct facts_bind *b)
{
	return b->kind == BIND_DEF || b->kind == BIND_IMPORT ||
	       b->kind == BIND_FROM;
}

/* Names that the unit defines or imports, where they are not just called. */
static void add_locals(struct reader *r)
{
	uint32_t n = expr_count(r);

	pairs_clear(&r->path_of);
	for (uint32_t i = r->unit->binds.from; i < r->binds.count; i++)
		if (is_definition(&r->binds.at[i]))
			*pairs_at(&r->path_of, 0, r->binds.at[i].name, 0) = 0;
	for (uint32_t i = 0; r->path_of.count && i < n; i++) {
		const struct facts_expr *e = expr_at(r, i);
		uint32_t *seen;

		if (e->kind != EXPR_NAME || r->taken.at[i] ||
		    !pairs_has(&r->path_of, 0, e->a) ||
		    !is_bound(r, e->b, e->a))
			continue;
		seen = pairs_at(&r->path_of, 0, e->a, 0);
		if (!*seen)
			reader_implies(r, SITE_LOCAL, i);
		*seen = 1;
	}
}

static void add_sites(struct reader *r)
{
	uint32_t n = expr_count(r);

	mark_taken(r);
	for (uint32_t i = 0; i < n; i++)
		add_implied(r, i);
	add_reads(r);
	add_locals(r);
}

static struct facts_range add_list(struct reader *r, const uint32_t *items,
				   uint32_t count)
{
	struct facts_range range = { r->lists.count - r->unit->lists.from,
				     count };

	array_append(&r->lists, items, count);
	return range;
}

static void end_ranges(struct reader *r)
{
	struct facts_unit *u = r->unit;

	u->exprs.count = r->exprs.count - u->exprs.from;
	u->lists.count = r->lists.count - u->lists.from;
	u->scopes.count = r->scopes.count - u->scopes.from;
	u->blocks.count = r->blocks.count - u->blocks.from;
	u->binds.count = r->binds.count - u->binds.from;
	u->attrs.count = r->attrs.count - u->attrs.from;
	u->params.count = r->params.count - u->params.from;
	u->sites.count = r->sites.count - u->sites.from;
}

static void mix(struct reader *r, uint32_t a, uint32_t b)
{
	array_push(&r->mix, (uint64_t)a << 32 | b);
}

static void mix_string(struct reader *r, facts_str s)
{
	assert(s == FACTS_NONE || s < r->strings.hashes.count);
	array_push(&r->mix, s == FACTS_NONE ? 0 : r->strings.hashes.at[s]);
}

static void mix_range(struct reader *r, struct facts_range range)
{
	mix(r, range.from, range.count);
}

static void mix_exprs(struct reader *r)
{
	const struct facts_expr *e = r->exprs.at + r->unit->exprs.from;
	uint32_t i, n = r->unit->exprs.count;

	mix(r, n, 0);
	for (i = 0; i < n; i++, e++) {
		switch ((int)e->kind) {
		case EXPR_NAME:
			mix(r, e->kind, e->b);
			mix_string(r, e->a);
			continue;
		case EXPR_ATTR:
		case EXPR_KEYWORD:
		case EXPR_PLACE:
			mix(r, e->kind, e->a);
			mix(r, 0, e->c);
			mix_string(r, e->b);
			continue;
		case EXPR_CONST:
			mix(r, e->kind, e->a);
			if (e->a == CONST_STR)
				mix_string(r, e->b);
			else
				mix(r, e->b, e->c);
			continue;
		default:
			mix(r, e->kind, e->a);
			mix(r, e->b, e->c);
			continue;
		}
	}
}

static void mix_binds(struct reader *r)
{
	const struct facts_bind *b = r->binds.at + r->unit->binds.from;
	uint32_t i, n = r->unit->binds.count;

	mix(r, n, 0);
	for (i = 0; i < n; i++, b++) {
		mix(r, b->kind, (uint32_t)b->outer << 8 | b->level);
		mix_string(r, b->name);
		mix_string(r, b->module);
		/* A definition's number depends on the units before it. */
		if (b->kind == BIND_FROM)
			mix_string(r, b->value);
		else
			mix(r, b->kind == BIND_DEF ? 0 : b->value, b->extra);
		mix(r, b->block, b->at);
	}
}

static void mix_flow(struct reader *r)
{
	const struct facts_unit *u = r->unit;
	uint32_t i;

	mix(r, u->lists.count, u->scopes.count);
	for (i = 0; i < u->lists.count; i++)
		mix(r, 0, r->lists.at[u->lists.from + i]);
	for (i = 0; i < u->scopes.count; i++) {
		const struct facts_scope *s = &r->scopes.at[u->scopes.from + i];

		mix(r, s->block, s->expr);
	}
	mix(r, u->blocks.count, 0);
	for (i = 0; i < u->blocks.count; i++) {
		const struct facts_block *b = &r->blocks.at[u->blocks.from + i];

		mix(r, b->kind, b->parent);
		mix(r, b->scope, b->end);
	}
}

static void mix_rest(struct reader *r)
{
	const struct facts_unit *u = r->unit;
	uint32_t i;

	mix(r, u->attrs.count, u->params.count);
	for (i = 0; i < u->attrs.count; i++) {
		const struct facts_attr *a = &r->attrs.at[u->attrs.from + i];

		mix_string(r, a->name);
		mix(r, a->value, a->annotation);
	}
	for (i = 0; i < u->params.count; i++) {
		const struct facts_param *p = &r->params.at[u->params.from + i];

		mix_string(r, p->name);
		mix(r, 0, p->kind);
		mix(r, p->annotation, p->preset);
	}
	mix(r, u->sites.count, u->returns_annotation);
	for (i = 0; i < u->sites.count; i++) {
		const struct facts_site *s = &r->sites.at[u->sites.from + i];

		mix(r, s->kind, s->expr);
	}
}

static void mix_all(struct reader *r)
{
	uint32_t i;

	mix(r, r->all_seen, r->all_unknown);
	for (i = 0; i < r->all.count; i++)
		mix_string(r, r->all.at[i]);
}

static void find_meaning(struct reader *r)
{
	struct facts_unit *u = r->unit;

	r->mix.count = 0;
	mix(r, u->kind, u->flags & (UNIT_ASYNC | UNIT_GENERATOR | UNIT_METHOD));
	mix_string(r, u->name);
	mix_exprs(r);
	mix_binds(r);
	mix_flow(r);
	mix_rest(r);
	mix_range(r, u->decorators);
	mix_range(r, u->bases);
	mix_range(r, u->returns);
	mix_range(r, u->yields);
	if (u->kind == UNIT_MODULE)
		mix_all(r);
	u->meaning = XXH3_128bits(r->mix.at, r->mix.count * sizeof(*r->mix.at));
}

void reader_close_unit(struct reader *r)
{
	struct facts_unit *u = r->unit;

	assert(u == array_last(&r->units));
	u->decorators = add_list(r, r->decorators.at, r->decorators.count);
	u->bases = add_list(r, r->bases.at, r->bases.count);
	u->returns = add_list(r, r->returns.at, r->returns.count);
	u->yields = add_list(r, r->yields.at, r->yields.count);
	mark_outer(r);
	add_sites(r);
	end_ranges(r);
	find_meaning(r);
}
