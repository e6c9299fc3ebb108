/*
 * Blocks and scopes, and the expressions that have scopes: lambdas and
 * comprehensions. Parts that Python evaluates in the scope around them are read
 * before theirs is opened: defaults of parameters, and the first iterable.
 */
#include "graph/facts/python/reader_i.h"

static uint32_t add_block(struct reader *r, enum facts_block_kind kind,
			  uint32_t parent)
{
	struct facts_block *b = array_add(&r->blocks);

	b->kind = (uint8_t)kind;
	b->parent = parent;
	b->scope = r->scope;
	b->end = expr_count(r);
	return r->blocks.count - 1 - r->unit->blocks.from;
}

uint32_t reader_block_open(struct reader *r, enum facts_block_kind kind)
{
	uint32_t around = r->block;

	r->block = add_block(r, kind, kind == BLOCK_TOP ? FACTS_NONE : around);
	if (!r->comps)
		r->home = r->block;
	return around;
}

void reader_block_close(struct reader *r, uint32_t around)
{
	assert(around < r->block); /* blocks are numbered as they open */
	r->blocks.at[r->unit->blocks.from + r->block].end = expr_count(r);
	r->block = around;
	if (!r->comps)
		r->home = around;
}

uint32_t reader_scope_open(struct reader *r, bool comp,
			   struct reader_enclosing *ret)
{
	struct facts_scope *s = array_add(&r->scopes);

	*ret = (struct reader_enclosing){ r->block, r->scope, r->home,
					  r->comps };
	s->block = r->block;
	s->expr = FACTS_NONE;
	r->scope = r->scopes.count - 1 - r->unit->scopes.from;
	r->comps = comp ? r->comps + 1 : 0;
	(void)reader_block_open(r, BLOCK_TOP);
	return r->scope;
}

void reader_scope_close(struct reader *r, const struct reader_enclosing *o)
{
	assert(o->scope < r->scope);
	reader_block_close(r, o->block);
	r->scope = o->scope;
	r->home = o->home;
	r->comps = o->comps;
}

/* Pushes its name and its default on the stack of items. */
static void lambda_parameter(struct reader *r)
{
	facts_str name = FACTS_NONE;
	uint32_t preset = FACTS_NONE;
	bool ok;

	if (r->syn == SYN_IDENTIFIER) {
		name = string_of(r, r->node);
	} else {
		/* With a default, *a, **a; of (a, b) the last name. */
		for (ok = down(r); ok; ok = next(r)) {
			if (name == FACTS_NONE && r->syn == SYN_IDENTIFIER)
				name = string_of(r, r->node);
			else
				preset = reader_expr(r);
		}
	}
	if (name == FACTS_NONE)
		return;
	array_push(&r->items, name);
	array_push(&r->items, preset);
}

static void lambda_parameters(struct reader *r)
{
	bool ok;

	for (ok = down(r); ok; ok = next(r))
		lambda_parameter(r);
}

uint32_t reader_lambda(struct reader *r)
{
	uint32_t from = r->items.count;
	uint32_t around = r->block;
	uint32_t scope, e, i, result = FACTS_NONE;
	struct reader_enclosing o;
	bool ok;

	ok = down(r);
	if (ok && r->syn == SYN_LAMBDA_PARAMETERS) {
		lambda_parameters(r);
		ok = next(r);
	}
	scope = reader_scope_open(r, false, &o);
	for (i = from; i < r->items.count; i += 2)
		(void)reader_bind(r, BIND_PARAM, r->items.at[i],
				  r->items.at[i + 1]);
	r->items.count = from;
	r->lambdas++;
	for (; ok; ok = next(r))
		result = reader_expr(r);
	r->lambdas--;
	reader_scope_close(r, &o);
	if (result == FACTS_NONE)
		result = reader_unknown(r);
	e = reader_make(r, EXPR_LAMBDA, result, scope, around);
	r->scopes.at[r->unit->scopes.from + scope].expr = e;
	return e;
}

/* The element of the iterable in the current `for ... in` clause. */
static uint32_t clause_iterable(struct reader *r)
{
	bool async = char_at(r, start_of(r->node)) == 'a';
	uint32_t from = r->items.count;
	uint32_t e;
	bool ok;

	for (ok = reader_down_second(r); ok; ok = next_quiet(r)) {
		e = reader_expr(r);
		array_push(&r->items, e);
	}
	e = reader_one_or_tuple(r, from);
	return reader_iter(r, e, async);
}

static void clause_target(struct reader *r, uint32_t value)
{
	struct bind_target t = { BIND_VALUE, value, FACTS_NONE };

	if (down(r)) {
		reader_target(r, t);
		reader_up(r);
	}
}

static void clause_if(struct reader *r)
{
	uint32_t from = r->checks.count;
	bool ok;

	for (ok = down(r); ok; ok = next(r))
		reader_test(r, reader_expr(r));
	reader_narrow(r, from, r->checks.count, true);
	r->checks.count = from;
}

/* The clauses. The scope begins after the first iterable. */
static uint32_t clauses(struct reader *r, struct reader_enclosing *ret)
{
	uint32_t scope = FACTS_NONE;
	uint32_t value;
	bool ok;

	for (ok = down(r); ok; ok = next(r)) {
		if (r->syn == SYN_FOR_IN_CLAUSE) {
			value = clause_iterable(r);
			if (scope == FACTS_NONE)
				scope = reader_scope_open(r, true, ret);
			clause_target(r, value);
		} else if (r->syn == SYN_IF_CLAUSE && scope != FACTS_NONE) {
			clause_if(r);
		}
	}
	if (scope == FACTS_NONE)
		scope = reader_scope_open(r, true, ret);
	return scope;
}

static enum facts_comp comp_kind(enum syn syn)
{
	if (syn == SYN_LIST_COMPREHENSION)
		return COMP_LIST;
	if (syn == SYN_SET_COMPREHENSION)
		return COMP_SET;
	return syn == SYN_DICTIONARY_COMPREHENSION ? COMP_DICT : COMP_GENERATOR;
}

/* The element is written first and evaluated last. */
uint32_t reader_comp(struct reader *r)
{
	enum facts_comp kind = comp_kind(r->syn);
	bool annotation = r->annotation;
	uint32_t scope, e, element;
	struct reader_enclosing o;

	r->annotation = false;
	scope = clauses(r, &o);
	if (down_quiet(r)) {
		element = reader_expr(r);
		reader_up(r);
	} else {
		element = reader_unknown(r);
	}
	reader_scope_close(r, &o);
	r->annotation = annotation;
	e = reader_make(r, EXPR_COMP, element, scope, kind);
	r->scopes.at[r->unit->scopes.from + scope].expr = e;
	return e;
}
