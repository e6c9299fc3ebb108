/*
 * Checks facts that come from disk. Every number is checked: following one
 * stays inside the block, and going from an expression to its parts goes to
 * smaller numbers, so it ends. Whether the facts are true of a file is not
 * checked.
 */
#include "graph/facts/facts.h"

#include <errno.h>

#include "graph/facts/lang.h"

/* The unit being checked, and its part of the arrays. */
struct facts_view {
	const struct facts *f;
	const struct facts_unit *u;
	const uint32_t *lists;
	uint32_t number; /* of the unit */
};

static bool is_range(struct facts_range r, uint32_t count)
{
	return r.from <= count && r.count <= count - r.from;
}

static bool is_optional(uint32_t n, uint32_t count)
{
	return n == FACTS_NONE || n < count;
}

static bool is_string(const struct facts_view *v, uint32_t s)
{
	return s < v->f->strings_count;
}

/* Is each item of the list FACTS_NONE or an expression before `limit`? */
static bool are_exprs(const struct facts_view *v, uint32_t from, uint32_t count,
		      uint32_t limit)
{
	uint32_t i;

	if (!is_range((struct facts_range){ from, count }, v->u->lists.count))
		return false;
	for (i = 0; i < count; i++)
		if (!is_optional(v->lists[from + i], limit))
			return false;
	return true;
}

/* The same, without FACTS_NONE: arguments of a call, items of a display. */
static bool are_all_exprs(const struct facts_view *v, uint32_t from,
			  uint32_t count, uint32_t limit)
{
	uint32_t i;

	if (!are_exprs(v, from, count, limit))
		return false;
	for (i = 0; i < count; i++)
		if (v->lists[from + i] == FACTS_NONE)
			return false;
	return true;
}

static bool check_const(const struct facts_view *v, const struct facts_expr *e)
{
	if (e->a > CONST_ELLIPSIS)
		return false;
	return e->a != CONST_STR || is_optional(e->b, v->f->strings_count);
}

static bool check_store(const struct facts_view *v, const struct facts_expr *e,
			uint32_t n)
{
	const struct facts_expr *all = facts_exprs(v->f, v->u);

	if (e->a >= n)
		return false;
	if (all[e->a].kind == EXPR_CALL)
		return all[all[e->a].a].kind == EXPR_ATTR;
	return all[e->a].kind == EXPR_INDEX && e->b < n;
}

/* `n` is the expression's number: its parts have smaller ones. */
static bool check_expr(const struct facts_view *v, const struct facts_expr *e,
		       uint32_t n)
{
	const struct facts_unit *u = v->u;

	switch (e->kind) {
	case EXPR_UNKNOWN:
	case EXPR_SLICE:
		return true;
	case EXPR_NAME:
		return is_string(v, e->a) && e->b < u->blocks.count;
	case EXPR_ATTR:
		return e->a < n && is_string(v, e->b) && e->c < u->blocks.count;
	case EXPR_CALL:
		return e->a < n && are_all_exprs(v, e->b, e->c, n);
	case EXPR_KEYWORD:
	case EXPR_PLACE:
		return e->a < n && is_string(v, e->b);
	case EXPR_CONST:
		return check_const(v, e);
	case EXPR_TUPLE:
	case EXPR_LIST:
	case EXPR_SET:
	case EXPR_EITHER:
		return are_all_exprs(v, e->b, e->c, n);
	case EXPR_DICT:
		return e->c % 2 == 0 && are_exprs(v, e->b, e->c, n);
	case EXPR_INDEX:
		return e->a < n && e->b < n && e->c < ACCESS_KINDS;
	case EXPR_NARROW:
		return e->a < n && e->b < n;
	case EXPR_BINARY:
		return e->a < n && is_optional(e->b, n) &&
		       (e->c & ~(uint32_t)OP_INPLACE) < OP_KINDS;
	case EXPR_LAMBDA:
		return e->a < n && e->b < u->scopes.count &&
		       e->c < u->blocks.count;
	case EXPR_COMP:
		return e->a < n && e->b < u->scopes.count &&
		       e->c <= COMP_GENERATOR;
	case EXPR_YIELD:
		return is_optional(e->a, n);
	case EXPR_STAR:
	case EXPR_STARS:
	case EXPR_AWAIT:
	case EXPR_ITER:
	case EXPR_ENTER:
	case EXPR_ITEM:
	case EXPR_CAUGHT:
		return e->a < n;
	case EXPR_STORE:
		return check_store(v, e, n);
	default:
		return false;
	}
}

static bool check_exprs(const struct facts_view *v)
{
	const struct facts_expr *e = facts_exprs(v->f, v->u);
	uint32_t i;

	for (i = 0; i < v->u->exprs.count; i++)
		if (!check_expr(v, &e[i], i))
			return false;
	return true;
}

/* Blocks and scopes form a tree: each lies in one with a smaller number. */
static bool check_flow(const struct facts_view *v)
{
	const struct facts_block *b = facts_blocks(v->f, v->u);
	const struct facts_scope *s = facts_scopes(v->f, v->u);
	uint32_t i;

	if (v->u->blocks.count < 2 || v->u->scopes.count < 1)
		return false;
	for (i = 0; i < v->u->blocks.count; i++)
		if (b[i].kind > BLOCK_LOOP || !is_optional(b[i].parent, i) ||
		    b[i].scope >= v->u->scopes.count ||
		    b[i].end > v->u->exprs.count)
			return false;
	for (i = 1; i < v->u->scopes.count; i++)
		if (s[i].block >= v->u->blocks.count ||
		    b[s[i].block].scope >= i || s[i].expr >= v->u->exprs.count)
			return false;
	return s[0].block == FACTS_NONE && s[0].expr == FACTS_NONE;
}

static bool check_value(const struct facts_view *v, const struct facts_bind *b)
{
	uint32_t exprs = v->u->exprs.count;

	switch (b->kind) {
	case BIND_VALUE:
	case BIND_AUGMENT:
	case BIND_ANNOTATION:
	case BIND_NARROW:
	case BIND_STORE:
		return b->value < exprs;
	case BIND_TYPED:
		return b->value < exprs && b->extra < exprs;
	case BIND_DEF:
		return b->value > 0 && b->value <= v->u->units;
	case BIND_PARAM:
		return is_optional(b->value,
				   b->block == 1 ? v->u->params.count : exprs);
	case BIND_FROM:
		return is_string(v, b->value) && is_string(v, b->module);
	case BIND_IMPORT:
	case BIND_STAR:
		return is_string(v, b->module);
	case BIND_DELETE:
		return true;
	default:
		return false;
	}
}

static bool check_binds(const struct facts_view *v)
{
	const struct facts_bind *b = facts_binds(v->f, v->u);
	uint32_t i;

	for (i = 0; i < v->u->binds.count; i++, b++)
		if (b->block >= v->u->blocks.count ||
		    b->at > v->u->exprs.count || b->outer > 2 ||
		    (b->kind != BIND_STAR && !is_string(v, b->name)) ||
		    !check_value(v, b))
			return false;
	return true;
}

/* Is it of the kind that the resolver expects there? */
static bool check_site(const struct facts_view *v, const struct facts_site *s)
{
	uint8_t kind;

	if (s->kind >= SITE_KINDS || s->expr >= v->u->exprs.count)
		return false;
	kind = facts_exprs(v->f, v->u)[s->expr].kind;
	switch (s->kind) {
	case SITE_CALL:
		return kind == EXPR_CALL;
	case SITE_NAME:
	case SITE_LOCAL:
		return kind == EXPR_NAME;
	case SITE_GET:
		return kind == EXPR_ATTR;
	case SITE_SET:
	case SITE_DELETE:
		return kind == EXPR_PLACE;
	case SITE_ITEM_GET:
	case SITE_ITEM_SET:
	case SITE_ITEM_DELETE:
		return kind == EXPR_INDEX;
	case SITE_OPERATOR:
		return kind == EXPR_BINARY;
	default:
		return true;
	}
}

static bool check_rest(const struct facts_view *v)
{
	const struct facts_attr *a = facts_attrs(v->f, v->u);
	const struct facts_param *p = facts_params(v->f, v->u);
	const struct facts_site *s = facts_sites(v->f, v->u);
	uint32_t i, exprs = v->u->exprs.count;

	for (i = 0; i < v->u->attrs.count; i++)
		if (!is_string(v, a[i].name) ||
		    !is_optional(a[i].value, exprs) ||
		    !is_optional(a[i].annotation, exprs))
			return false;
	for (i = 0; i < v->u->params.count; i++)
		if (!is_string(v, p[i].name) || p[i].kind > PARAM_KEYWORD ||
		    !is_optional(p[i].annotation, exprs) ||
		    !is_optional(p[i].preset, exprs))
			return false;
	for (i = 0; i < v->u->sites.count; i++)
		if (!check_site(v, &s[i]))
			return false;
	return is_optional(v->u->returns_annotation, exprs);
}

static bool check_lists(const struct facts_view *v)
{
	const struct facts_unit *u = v->u;
	uint32_t n = u->exprs.count;

	return are_all_exprs(v, u->decorators.from, u->decorators.count, n) &&
	       are_all_exprs(v, u->bases.from, u->bases.count, n) &&
	       are_exprs(v, u->returns.from, u->returns.count, n) &&
	       are_exprs(v, u->yields.from, u->yields.count, n);
}

/* How many elements each array has room for. */
struct room {
	uint32_t exprs, lists, scopes, blocks, binds, attrs, params, sites;
};

static bool check_ranges(const struct facts_unit *u, const struct room *r)
{
	return is_range(u->exprs, r->exprs) && is_range(u->lists, r->lists) &&
	       is_range(u->scopes, r->scopes) &&
	       is_range(u->blocks, r->blocks) && is_range(u->binds, r->binds) &&
	       is_range(u->attrs, r->attrs) && is_range(u->params, r->params) &&
	       is_range(u->sites, r->sites);
}

/* Units nest: none ends after its parent. */
static bool check_place(const struct facts *f, uint32_t i)
{
	const struct facts_unit *u = &facts_units(f)[i], *parent;

	if (u->units >= f->units_count - i || u->kind > UNIT_FUNCTION ||
	    u->name >= f->strings_count)
		return false;
	if (i == 0)
		return u->parent == 0 && u->units == f->units_count - 1;
	if (u->kind == UNIT_MODULE || u->parent == 0 || u->parent > i)
		return false;
	parent = u - u->parent;
	return u->parent + u->units <= parent->units;
}

static bool check_units(const struct facts *f, const struct room *r)
{
	struct facts_view v = { .f = f };
	uint32_t i;

	for (i = 0; i < f->units_count; i++) {
		v.u = &facts_units(f)[i];
		v.number = i;
		if (!check_place(f, i) || !check_ranges(v.u, r))
			return false;
		v.lists = facts_lists(f, v.u);
		if (!check_flow(&v) || !check_exprs(&v) || !check_binds(&v) ||
		    !check_rest(&v) || !check_lists(&v))
			return false;
	}
	return true;
}

/* Each string ends with a NUL, after the one before it. */
static bool check_strings(const struct facts *f)
{
	const uint32_t *ends = facts_at(f, f->strings);
	const char *text = facts_at(f, f->text);
	uint32_t before = 0, size = f->size - f->text, i;

	if (f->strings_count == 0)
		return false;
	for (i = 0; i < f->strings_count; i++) {
		if (ends[i] <= before || ends[i] > size || text[ends[i] - 1])
			return false;
		before = ends[i];
	}
	return true;
}

static bool check_variables(const struct facts *f, const struct room *r)
{
	const uint32_t *lists = facts_at(f, f->lists);
	const struct facts_variable *v = facts_variables(f);
	uint32_t i;

	for (i = 0; i < f->variables_count; i++)
		if (v[i].name >= f->strings_count)
			return false;
	if (!is_range(f->all, r->lists))
		return false;
	for (i = 0; i < f->all.count; i++)
		if (lists[f->all.from + i] >= f->strings_count)
			return false;
	return true;
}

/*
 * The arrays in the order of their offsets. For each: the size of an element,
 * and how many elements there are, or where to return how many fit.
 */
static bool check_layout(const struct facts *f, struct room *r)
{
	/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): read so. */
	const struct {
		uint32_t at;
		size_t size;
		uint32_t count;
		uint32_t *room;
	} arrays[] = {
		{ f->units, sizeof(struct facts_unit), f->units_count, NULL },
		{ f->variables, sizeof(struct facts_variable),
		  f->variables_count, NULL },
		{ f->exprs, sizeof(struct facts_expr), 0, &r->exprs },
		{ f->lists, sizeof(uint32_t), 0, &r->lists },
		{ f->scopes, sizeof(struct facts_scope), 0, &r->scopes },
		{ f->blocks, sizeof(struct facts_block), 0, &r->blocks },
		{ f->binds, sizeof(struct facts_bind), 0, &r->binds },
		{ f->attrs, sizeof(struct facts_attr), 0, &r->attrs },
		{ f->params, sizeof(struct facts_param), 0, &r->params },
		{ f->sites, sizeof(struct facts_site), 0, &r->sites },
		{ f->strings, sizeof(uint32_t), f->strings_count, NULL },
		{ f->text, 1, 0, NULL },
	};
	const size_t n = sizeof(arrays) / sizeof(arrays[0]);
	uint32_t end;
	size_t i;

	if (f->units != sizeof(*f))
		return false;
	for (i = 0; i < n; i++) {
		end = i + 1 < n ? arrays[i + 1].at : f->size;
		if (arrays[i].at % 8 || end < arrays[i].at || end > f->size ||
		    arrays[i].count > (end - arrays[i].at) / arrays[i].size)
			return false;
		if (arrays[i].room)
			*arrays[i].room = (uint32_t)((end - arrays[i].at) /
						     arrays[i].size);
	}
	return true;
}

int facts_check(const struct facts *f, size_t size)
{
	struct room r;

	if (size < sizeof(*f) || f->size != size || f->units_count == 0 ||
	    !lang_by_id(f->lang) || !check_layout(f, &r) || !check_strings(f) ||
	    !check_variables(f, &r) || !check_units(f, &r))
		return -EBADMSG;
	return 0;
}
