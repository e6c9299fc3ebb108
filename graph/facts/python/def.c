/*
 * Units: the header of a definition, and its body. Definitions met in a body
 * wait until the body is read, and are then read in source order, each with all
 * units inside it before the next.
 */
#include "graph/facts/python/reader_i.h"

void reader_def(struct reader *r)
{
	TSNode node = r->node, def = r->node, name;
	struct pending *p;

	if (r->syn == SYN_DECORATED_DEFINITION)
		def = ts_node_child_by_field_id(node, r->definition_field);
	if (ts_node_is_null(def))
		return;
	name = ts_node_child_by_field_id(def, r->name_field);
	if (ts_node_is_null(name) || start_of(name) == end_of(name))
		return;
	p = array_add(&r->pending);
	p->node = node;
	p->parent = r->units.count - 1;
	p->bind = r->binds.count;
	p->conditional = r->block != 1;
	(void)reader_bind(r, BIND_DEF, string_of(r, name), 0);
}

static void begin_span(struct reader *r, TSNode node)
{
	TSPoint p = ts_node_start_point(node);
	struct reader_span *s = array_add(&r->spans);

	s->start = start_of(node);
	s->body = s->end = s->def = s->start;
	s->row = s->last_row = p.row;
	s->column = p.column;
	r->span = s;
}

/* Begins a unit with two empty blocks: header and body. */
static void begin(struct reader *r, enum facts_unit_kind kind)
{
	struct facts_unit *u = array_add(&r->units);
	struct facts_scope *s;
	struct facts_block *b;
	int i;

	r->unit = u;
	u->kind = (uint8_t)kind;
	u->exprs.from = r->exprs.count;
	u->lists.from = r->lists.count;
	u->scopes.from = r->scopes.count;
	u->blocks.from = r->blocks.count;
	u->binds.from = r->binds.count;
	u->attrs.from = r->attrs.count;
	u->params.from = r->params.count;
	u->sites.from = r->sites.count;
	u->returns_annotation = FACTS_NONE;
	s = array_add(&r->scopes);
	s->block = s->expr = FACTS_NONE;
	for (i = 0; i < 2; i++) {
		b = array_add(&r->blocks);
		b->kind = i == 0 ? BLOCK_HEADER : BLOCK_TOP;
		b->parent = FACTS_NONE;
	}
	r->block = r->scope = r->home = 0;
	r->comps = r->lambdas = r->depth = r->block_depth = r->line = 0;
	r->annotation = r->async = r->assigning = false;
	r->items.count = r->checks.count = 0;
	r->decorators.count = r->bases.count = 0;
	r->returns.count = r->yields.count = r->outers.count = 0;
}

static void end_header(struct reader *r)
{
	r->blocks.at[r->unit->blocks.from].end = expr_count(r);
	r->block = r->home = 1;
}

static void end_body(struct reader *r)
{
	r->blocks.at[r->unit->blocks.from + 1].end = expr_count(r);
	reader_close_unit(r);
}

static void decorator(struct reader *r)
{
	TSPoint p;
	uint32_t e;
	struct reader_place place;
	uint8_t kind;

	if (!down(r))
		return;
	p = ts_node_start_point(r->node);
	e = reader_expr(r);
	done(r);
	kind = expr_at(r, e)->kind;
	place = r->places.at[r->unit->exprs.from + e];
	if (kind != EXPR_NAME && kind != EXPR_ATTR && kind != EXPR_CALL) {
		place.line = p.row - r->span->row;
		place.column =
			place.line ? p.column : p.column - r->span->column;
	}
	array_push(&r->decorators, e);
	reader_add_site(r, SITE_DECORATOR, e, place);
}

/* A parameter that is more than a name. */
static void parameter_parts(struct reader *r, struct facts_param *p)
{
	bool ok;

	for (ok = down(r); ok; ok = next(r)) {
		if (r->syn == SYN_TYPE) {
			p->annotation = reader_type(r);
		} else if (r->syn == SYN_LIST_SPLAT_PATTERN ||
			   r->syn == SYN_DICTIONARY_SPLAT_PATTERN) {
			p->kind = r->syn == SYN_LIST_SPLAT_PATTERN
					  ? PARAM_STAR
					  : PARAM_STARS;
			p->name = reader_leading_name(r);
		} else if (r->syn == SYN_IDENTIFIER && !p->name) {
			p->name = string_of(r, r->node);
		} else if (r->syn != SYN_TUPLE_PATTERN) {
			p->preset = reader_expr(r);
		}
	}
}

static void parameter(struct reader *r, bool *keyword)
{
	struct facts_param p = { .kind = *keyword ? PARAM_KEYWORD : PARAM_PLAIN,
				 .annotation = FACTS_NONE,
				 .preset = FACTS_NONE };
	struct facts_param *new;

	if (r->syn == SYN_POSITIONAL_SEPARATOR)
		return;
	if (r->syn == SYN_KEYWORD_SEPARATOR) {
		*keyword = true;
		return;
	}
	if (r->syn == SYN_IDENTIFIER) {
		p.name = string_of(r, r->node);
	} else if (r->syn == SYN_LIST_SPLAT_PATTERN ||
		   r->syn == SYN_DICTIONARY_SPLAT_PATTERN) {
		p.kind = r->syn == SYN_LIST_SPLAT_PATTERN ? PARAM_STAR
							  : PARAM_STARS;
		p.name = reader_leading_name(r);
	} else {
		parameter_parts(r, &p);
	}
	if (p.kind == PARAM_STAR)
		*keyword = true;
	new = array_add(&r->params);
	new->kind = p.kind;
	new->name = p.name;
	new->annotation = p.annotation;
	new->preset = p.preset;
}

static void parameters(struct reader *r)
{
	bool keyword = false;
	bool ok;

	for (ok = down(r); ok; ok = next(r))
		parameter(r, &keyword);
}

/* [T, U: bound]: names of the header, bound to their bounds. */
static void type_parameter(struct reader *r)
{
	facts_str name = reader_leading_name(r);
	uint32_t bound = FACTS_NONE;

	if (down(r)) {
		if (r->syn == SYN_CONSTRAINED_TYPE && down(r)) {
			while (next(r))
				bound = reader_type(r);
		}
		done(r);
	}
	if (!name)
		return;
	if (bound == FACTS_NONE)
		bound = reader_unknown(r);
	(void)reader_bind(r, BIND_VALUE, name, bound);
}

static void type_parameters(struct reader *r)
{
	bool ok;

	for (ok = down(r); ok; ok = next(r))
		type_parameter(r);
}

static void bases(struct reader *r)
{
	uint32_t from = reader_args(r, false);

	array_append(&r->bases, r->items.at + from, r->items.count - from);
	r->items.count = from;
}

static void body(struct reader *r)
{
	const struct facts_unit *u = r->unit;
	uint32_t i, n = r->params.count - u->params.from;
	unsigned flow;

	end_header(r);
	for (i = 0; i < n; i++)
		if (r->params.at[u->params.from + i].name)
			(void)reader_bind(r, BIND_PARAM,
					  r->params.at[u->params.from + i].name,
					  i);
	flow = reader_suite(r);
	if ((flow & FLOW_ON) && u->kind == UNIT_FUNCTION)
		array_push(&r->returns, FACTS_NONE);
}

/* Of the tokens only `async` and the colon before the body matter. */
static void token(struct reader *r)
{
	uint32_t start = start_of(r->node);

	if (char_at(r, start) == 'a' && start == r->span->def)
		r->unit->flags |= UNIT_ASYNC;
	if (char_at(r, start) != ':')
		return;
	r->span->body = r->span->end = end_of(r->node);
	r->span->last_row = ts_node_end_point(r->node).row;
}

static void name(struct reader *r)
{
	r->unit->name = string_of(r, r->node);
	r->unit->name_line = ts_node_start_point(r->node).row - r->span->row;
	r->line = r->unit->name_line;
}

static void part(struct reader *r)
{
	switch ((int)r->syn) {
	case SYN_SKIP:
		token(r);
		break;
	case SYN_ERROR:
		reader_salvage(r);
		break;
	case SYN_IDENTIFIER:
		name(r);
		break;
	case SYN_TYPE_PARAMETER:
		type_parameters(r);
		break;
	case SYN_PARAMETERS:
		parameters(r);
		break;
	case SYN_TYPE:
		r->unit->returns_annotation = reader_type(r);
		break;
	case SYN_ARGUMENT_LIST:
		bases(r);
		break;
	case SYN_BLOCK:
		body(r);
		break;
	default:
		break;
	}
}

/* def or class, without its decorators. */
static void definition(struct reader *r)
{
	bool ok;

	r->span->def = start_of(r->node);
	r->unit->kind =
		r->syn == SYN_CLASS_DEFINITION ? UNIT_CLASS : UNIT_FUNCTION;
	for (ok = down_any(r); ok; ok = next_any(r))
		part(r);
	if (r->block == 0)
		end_header(r);
}

static int by_place(const void *a, const void *b)
{
	const struct pending *x = a, *y = b;
	uint32_t s = start_of(x->node), t = start_of(y->node);

	return s < t ? -1 : s > t;
}

/* The last is taken first. Only errors leave them out of source order. */
static void turn_around(struct reader *r, uint32_t from)
{
	struct pending *p = r->pending.at + from, t;
	uint32_t i, n = r->pending.count - from;

	if (r->broken && n > 1)
		qsort(p, n, sizeof(*p), by_place);
	for (i = 0; i < n / 2; i++) {
		t = p[i];
		p[i] = p[n - 1 - i];
		p[n - 1 - i] = t;
	}
}

static void read_definition(struct reader *r)
{
	bool ok;

	if (r->syn != SYN_DECORATED_DEFINITION) {
		definition(r);
		return;
	}
	for (ok = down(r); ok; ok = next(r)) {
		if (r->syn == SYN_DECORATOR)
			decorator(r);
		else
			definition(r);
	}
}

static void unit(struct reader *r, struct pending p, bool method)
{
	uint32_t from = r->pending.count;
	uint32_t number = r->units.count;

	reader_begin_at(r, p.node);
	begin_span(r, p.node);
	begin(r, UNIT_FUNCTION);
	r->unit->parent = number - p.parent;
	if (p.conditional)
		r->unit->flags |= UNIT_CONDITIONAL;
	if (method)
		r->unit->flags |= UNIT_METHOD;
	read_definition(r);
	assert(r->levels.count == 0 && r->depth == 0);
	if (r->unit->kind != UNIT_FUNCTION)
		r->unit->flags &= (uint8_t)~UNIT_METHOD;
	end_body(r);
	turn_around(r, from);
}

static void read_pending(struct reader *r)
{
	struct pending p;

	while (r->pending.count) {
		p = r->pending.at[--r->pending.count];
		assert(p.parent < r->units.count &&
		       r->binds.at[p.bind].kind == BIND_DEF);
		r->binds.at[p.bind].value = r->units.count - p.parent;
		unit(r, p, r->units.at[p.parent].kind == UNIT_CLASS);
	}
}

void reader_units(struct reader *r, TSNode root)
{
	reader_begin_at(r, root);
	begin_span(r, root);
	begin(r, UNIT_MODULE);
	r->span->start = r->span->body = r->span->def = 0;
	r->span->row = r->span->column = 0;
	end_header(r);
	(void)reader_suite(r);
	assert(r->levels.count == 0 && r->depth == 0);
	end_body(r);
	turn_around(r, 0);
	read_pending(r);
}

/* Down to the block of the `if` that set_alone() put around it. */
static bool enter_block(struct reader *r)
{
	if (!down_quiet(r) || r->syn != SYN_IF_STATEMENT || next_quiet(r))
		return false;
	(void)down_quiet(r);
	for (bool ok = down_quiet(r); ok; ok = next_quiet(r))
		if (r->syn == SYN_BLOCK)
			return true;
	return false;
}

bool reader_units_alone(struct reader *r, TSNode root, uint32_t start,
			bool method)
{
	struct pending p = { 0 };

	reader_begin_at(r, root);
	if (start && !enter_block(r))
		return false;
	if (!down_quiet(r) || start_of(r->node) != start ||
	    (r->syn != SYN_DECORATED_DEFINITION &&
	     r->syn != SYN_FUNCTION_DEFINITION &&
	     r->syn != SYN_CLASS_DEFINITION))
		return false;
	p.node = r->node;
	if (next_quiet(r))
		return false;
	unit(r, p, method);
	read_pending(r);
	return true;
}
