#include "tests/support/facts_same.h"

#include <string.h>

struct pair {
	const struct facts *a, *b;
	const struct facts_unit *x, *y;
};

static bool same_hash(XXH128_hash_t a, XXH128_hash_t b)
{
	return a.low64 == b.low64 && a.high64 == b.high64;
}

static bool same_string(const struct pair *p, facts_str s, facts_str t)
{
	size_t m, n;
	const char *a, *b;

	if (s == FACTS_NONE || t == FACTS_NONE)
		return s == t;
	a = facts_string(p->a, s, &m);
	b = facts_string(p->b, t, &n);
	return m == n && !memcmp(a, b, n);
}

static bool same_range(struct facts_range a, struct facts_range b)
{
	return a.from == b.from && a.count == b.count;
}

static bool same_counts(const struct facts_unit *x, const struct facts_unit *y)
{
	return x->exprs.count == y->exprs.count &&
	       x->lists.count == y->lists.count &&
	       x->scopes.count == y->scopes.count &&
	       x->blocks.count == y->blocks.count &&
	       x->binds.count == y->binds.count &&
	       x->attrs.count == y->attrs.count &&
	       x->params.count == y->params.count &&
	       x->sites.count == y->sites.count &&
	       same_range(x->decorators, y->decorators) &&
	       same_range(x->bases, y->bases) &&
	       same_range(x->returns, y->returns) &&
	       same_range(x->yields, y->yields) &&
	       x->returns_annotation == y->returns_annotation;
}

static bool same_binds(const struct pair *p)
{
	const struct facts_bind *a = facts_binds(p->a, p->x);
	const struct facts_bind *b = facts_binds(p->b, p->y);

	for (uint32_t i = 0; i < p->x->binds.count; i++, a++, b++) {
		if (a->kind != b->kind || a->outer != b->outer ||
		    a->level != b->level || a->extra != b->extra ||
		    a->block != b->block || a->at != b->at ||
		    a->line != b->line || !same_string(p, a->name, b->name) ||
		    !same_string(p, a->module, b->module))
			return false;
		if (a->kind == BIND_FROM ? !same_string(p, a->value, b->value)
					 : a->value != b->value)
			return false;
	}
	return true;
}

static bool same_expr(const struct pair *p, const struct facts_expr *a,
		      const struct facts_expr *b)
{
	if (a->kind != b->kind || a->c != b->c)
		return false;
	switch (a->kind) {
	case EXPR_NAME:
		return same_string(p, a->a, b->a) && a->b == b->b;
	case EXPR_ATTR:
	case EXPR_KEYWORD:
	case EXPR_PLACE:
		return a->a == b->a && same_string(p, a->b, b->b);
	case EXPR_CONST:
		if (a->a == CONST_STR && b->a == CONST_STR)
			return same_string(p, a->b, b->b);
		return a->a == b->a && a->b == b->b;
	default:
		return a->a == b->a && a->b == b->b;
	}
}

static bool same_exprs(const struct pair *p)
{
	const struct facts_expr *a = facts_exprs(p->a, p->x);
	const struct facts_expr *b = facts_exprs(p->b, p->y);

	for (uint32_t i = 0; i < p->x->exprs.count; i++)
		if (!same_expr(p, &a[i], &b[i]))
			return false;
	return true;
}

static bool same_sites(const struct pair *p)
{
	const struct facts_site *a = facts_sites(p->a, p->x);
	const struct facts_site *b = facts_sites(p->b, p->y);

	for (uint32_t i = 0; i < p->x->sites.count; i++, a++, b++)
		if (a->kind != b->kind || a->expr != b->expr ||
		    a->line != b->line || a->column != b->column)
			return false;
	return true;
}

static bool same_members(const struct pair *p)
{
	const struct facts_attr *a = facts_attrs(p->a, p->x);
	const struct facts_attr *b = facts_attrs(p->b, p->y);
	const struct facts_param *k = facts_params(p->a, p->x);
	const struct facts_param *l = facts_params(p->b, p->y);
	uint32_t i;

	for (i = 0; i < p->x->attrs.count; i++)
		if (a[i].value != b[i].value || a[i].line != b[i].line ||
		    a[i].annotation != b[i].annotation ||
		    !same_string(p, a[i].name, b[i].name))
			return false;
	for (i = 0; i < p->x->params.count; i++)
		if (k[i].kind != l[i].kind || k[i].preset != l[i].preset ||
		    k[i].annotation != l[i].annotation ||
		    !same_string(p, k[i].name, l[i].name))
			return false;
	return true;
}

static bool same_flow(const struct pair *p)
{
	const struct facts_block *a = facts_blocks(p->a, p->x);
	const struct facts_block *b = facts_blocks(p->b, p->y);
	const struct facts_scope *s = facts_scopes(p->a, p->x);
	const struct facts_scope *t = facts_scopes(p->b, p->y);
	uint32_t i;

	for (i = 0; i < p->x->blocks.count; i++)
		if (a[i].kind != b[i].kind || a[i].parent != b[i].parent ||
		    a[i].scope != b[i].scope || a[i].end != b[i].end)
			return false;
	for (i = 0; i < p->x->scopes.count; i++)
		if (s[i].block != t[i].block || s[i].expr != t[i].expr)
			return false;
	return !memcmp(facts_lists(p->a, p->x), facts_lists(p->b, p->y),
		       p->x->lists.count * sizeof(uint32_t));
}

/* `root`: it is one of the two units compared, not one inside them. */
static const char *differ_places(const struct pair *p, bool root)
{
	const struct facts_unit *x = p->x, *y = p->y;
	const uint8_t flags = root ? (uint8_t)~UNIT_CONDITIONAL : 0xff;

	if (x->kind != y->kind || ((x->flags ^ y->flags) & flags))
		return "kind or flags";
	if (!same_string(p, x->name, y->name))
		return "name";
	if (x->units != y->units || (!root && x->parent != y->parent))
		return "nesting";
	if (x->end - x->start != y->end - y->start || x->lines != y->lines ||
	    x->body != y->body || x->name_line != y->name_line)
		return "size";
	if (!root && (x->start != y->start || x->line != y->line))
		return "place";
	if (x->head != y->head || x->tail != y->tail || x->whole != y->whole ||
	    (!root && x->gap != y->gap))
		return "pieces";
	return same_hash(x->hash, y->hash) ? NULL : "hash";
}

static const char *differ_facts(const struct pair *p)
{
	if (!same_counts(p->x, p->y))
		return "counts";
	if (!same_exprs(p))
		return "expressions";
	if (!same_flow(p))
		return "blocks, scopes or lists";
	if (!same_binds(p))
		return "bindings";
	if (!same_members(p))
		return "parameters or attributes";
	if (!same_sites(p))
		return "sites";
	return same_hash(p->x->meaning, p->y->meaning) ? NULL : "meaning";
}

const char *facts_differ(const struct facts *a, uint32_t i,
			 const struct facts *b, uint32_t j)
{
	struct pair p = { .a = a, .b = b };
	const uint32_t n = facts_units(a)[i].units;
	const char *what;

	if (facts_units(b)[j].units != n)
		return "number of units";
	for (uint32_t k = 0; k <= n; k++) {
		p.x = &facts_units(a)[i + k];
		p.y = &facts_units(b)[j + k];
		what = differ_places(&p, k == 0);
		if (!what)
			what = differ_facts(&p);
		if (what)
			return what;
	}
	return NULL;
}
