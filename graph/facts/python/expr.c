/*
 * Expressions. Each gets its number after its parts have theirs, in the order
 * in which Python evaluates them: the branches of a conditional expression come
 * after its condition, the elements of a comprehension after its loops.
 */
#include "graph/facts/python/reader_i.h"

uint32_t reader_make(struct reader *r, enum facts_expr_kind kind, uint32_t a,
		     uint32_t b, uint32_t c)
{
	struct facts_expr *e = array_add(&r->exprs);

	e->kind = (uint8_t)kind;
	e->a = a;
	e->b = b;
	e->c = c;
	array_add(&r->places)->line = r->line;
	assert(r->places.count == r->exprs.count);
	return r->exprs.count - 1 - r->unit->exprs.from;
}

uint32_t reader_unknown(struct reader *r)
{
	return reader_make(r, EXPR_UNKNOWN, 0, 0, 0);
}

uint32_t reader_name(struct reader *r)
{
	TSPoint p = ts_node_start_point(r->node);
	uint32_t e;

	/* Where a name is missing the parser invents an empty one. */
	if (start_of(r->node) == end_of(r->node))
		return reader_unknown(r);
	e = reader_make(r, EXPR_NAME, string_of(r, r->node), r->block, 0);
	reader_put_place(r, p);
	return e;
}

/* Moves items[from ..] from the stack to a list. */
struct facts_range reader_list(struct reader *r, uint32_t from)
{
	struct facts_range range = {
		.from = r->lists.count - r->unit->lists.from,
		.count = r->items.count - from,
	};

	assert(from <= r->items.count);
	array_append(&r->lists, r->items.at + from, range.count);
	r->items.count = from;
	return range;
}

uint32_t reader_of_items(struct reader *r, enum facts_expr_kind kind,
			 uint32_t from)
{
	struct facts_range items = reader_list(r, from);

	return reader_make(r, kind, 0, items.from, items.count);
}

uint32_t reader_one_or_tuple(struct reader *r, uint32_t from)
{
	if (r->items.count != from + 1)
		return reader_of_items(r, EXPR_TUPLE, from);
	r->items.count = from;
	return r->items.at[from];
}

static void push_item(struct reader *r)
{
	uint32_t e = reader_expr(r);

	array_push(&r->items, e);
}

/* Pushes all children; `first_is_type`: the first is an annotation. */
uint32_t reader_args(struct reader *r, bool first_is_type)
{
	uint32_t from = r->items.count;
	bool ok;

	r->annotation = first_is_type;
	for (ok = down(r); ok; ok = next(r)) {
		push_item(r);
		r->annotation = false;
	}
	return from;
}

static uint32_t display(struct reader *r, enum facts_expr_kind kind)
{
	uint32_t from = r->items.count;
	bool ok;

	for (ok = down(r); ok; ok = next(r))
		push_item(r);
	return reader_of_items(r, kind, from);
}

static uint32_t tuple(struct reader *r)
{
	return display(r, EXPR_TUPLE);
}

static uint32_t list(struct reader *r)
{
	return display(r, EXPR_LIST);
}

static uint32_t set(struct reader *r)
{
	return display(r, EXPR_SET);
}

static void push_pair(struct reader *r)
{
	uint32_t from = r->items.count;
	bool ok;

	for (ok = down(r); ok; ok = next(r))
		push_item(r);
	/* An error cut it short. */
	while (r->items.count < from + 2)
		array_push(&r->items, reader_unknown(r));
	r->items.count = from + 2;
}

static uint32_t dictionary(struct reader *r)
{
	uint32_t from = r->items.count;
	uint32_t e;
	bool ok;

	for (ok = down(r); ok; ok = next(r)) {
		if (r->syn == SYN_PAIR) {
			push_pair(r);
			continue;
		}
		e = reader_expr(r);
		if (expr_at(r, e)->kind == EXPR_STARS)
			e = expr_at(r, e)->a;
		array_push(&r->items, FACTS_NONE);
		array_push(&r->items, e);
	}
	return reader_of_items(r, EXPR_DICT, from);
}

static uint32_t pair(struct reader *r)
{
	uint32_t from = r->items.count;

	push_pair(r);
	return reader_of_items(r, EXPR_TUPLE, from);
}

uint32_t reader_inner(struct reader *r)
{
	uint32_t e = FACTS_NONE;
	bool ok;

	for (ok = down(r); ok; ok = next(r))
		e = reader_expr(r);
	return e == FACTS_NONE ? reader_unknown(r) : e;
}

/* Python rejects (*a), the grammar accepts it: taken as a tuple. */
static uint32_t parenthesized(struct reader *r)
{
	uint32_t from = r->items.count;
	uint32_t e = reader_inner(r);

	if (expr_at(r, e)->kind != EXPR_STAR)
		return e;
	array_push(&r->items, e);
	return reader_of_items(r, EXPR_TUPLE, from);
}

static uint32_t star(struct reader *r)
{
	return reader_make(r, EXPR_STAR, reader_inner(r), 0, 0);
}

static uint32_t stars(struct reader *r)
{
	return reader_make(r, EXPR_STARS, reader_inner(r), 0, 0);
}

static uint32_t splat_type(struct reader *r)
{
	bool two = char_at(r, start_of(r->node) + 1) == '*';

	return two ? stars(r) : star(r);
}

static uint32_t await(struct reader *r)
{
	return reader_make(r, EXPR_AWAIT, reader_inner(r), 0, 0);
}

/* A side of a slice: a small number, or FACTS_OTHER. */
static uint32_t side(const struct reader *r, uint32_t e)
{
	const struct facts_expr *x = expr_at(r, e);

	if (x->kind != EXPR_CONST || x->a != CONST_INT || x->b == FACTS_NONE)
		return FACTS_OTHER;
	return x->b;
}

/* a:b:c. Each side may be missing, so the colons are counted. */
static uint32_t slice(struct reader *r)
{
	uint32_t sides[] = { FACTS_NONE, FACTS_NONE, FACTS_NONE };
	uint32_t at = start_of(r->node), colons = 0;
	bool ok;

	for (ok = down(r); ok; ok = next(r)) {
		uint32_t start = start_of(r->node), end = end_of(r->node);
		uint32_t e = reader_expr(r);

		for (; at < start && colons < 2; at++)
			colons += r->text[at] == ':';
		sides[colons] = side(r, e);
		at = end;
	}
	return reader_make(r, EXPR_SLICE, sides[0], sides[1],
			   sides[2] != FACTS_NONE);
}

bool reader_take_star(struct reader *r, uint32_t *e)
{
	if (expr_at(r, *e)->kind != EXPR_STAR || *e + 1 != expr_count(r))
		return false;
	*e = expr_at(r, *e)->a;
	r->exprs.count--;
	r->places.count--;
	return true;
}

uint32_t reader_put_star(struct reader *r, uint32_t e, bool starred)
{
	return starred ? reader_make(r, EXPR_STAR, e, 0, 0) : e;
}

static uint32_t attribute(struct reader *r)
{
	uint32_t of = FACTS_NONE, name = 0;
	TSPoint p = { 0, 0 };
	bool starred = false;
	uint32_t e;

	if (reader_last_dot(r))
		return reader_chain(r, end_of(r->node));
	if (down(r)) {
		of = reader_expr(r);
		starred = reader_take_star(r, &of);
		if (next(r)) {
			p = ts_node_start_point(r->node);
			name = string_of(r, r->node);
			done(r);
		}
	}
	if (!name)
		return of == FACTS_NONE ? reader_unknown(r) : of;
	e = reader_make(r, EXPR_ATTR, of, name, r->block);
	reader_put_place(r, p);
	return reader_put_star(r, e, starred);
}

static uint32_t keyword_argument(struct reader *r)
{
	facts_str name = 0;
	uint32_t value = FACTS_NONE;

	if (down(r)) {
		name = string_of(r, r->node);
		while (next(r))
			value = reader_expr(r);
	}
	if (value == FACTS_NONE)
		return reader_unknown(r);
	return reader_make(r, EXPR_KEYWORD, value, name, 0);
}

/* The place of a call is that of its callee's last token. */
static struct reader_place place_of_callee(const struct reader *r, TSNode n,
					   enum syn syn, uint32_t e)
{
	TSPoint end = ts_node_end_point(n);
	struct reader_place p;

	if (syn == SYN_IDENTIFIER || syn == SYN_ATTRIBUTE)
		return r->places.at[r->unit->exprs.from + e];
	p.line = end.row - r->span->row;
	p.column = end.column ? end.column - 1 : 0;
	if (!p.line)
		p.column -= r->span->column;
	return p;
}

void reader_add_site(struct reader *r, enum facts_site_kind kind, uint32_t e,
		     struct reader_place p)
{
	struct facts_site *s = array_add(&r->sites);

	assert(e < expr_count(r));
	s->kind = (uint8_t)kind;
	s->expr = e;
	s->line = p.line;
	s->column = p.column & SITE_COLUMN_MAX;
}

static uint32_t call(struct reader *r)
{
	uint32_t callee, from, e;
	bool annotation = r->annotation;
	struct reader_place place;
	bool starred;
	enum syn syn;
	TSNode n;

	if (!down(r))
		return reader_unknown(r);
	n = r->node;
	syn = r->syn;
	r->annotation = false;
	callee = reader_expr(r);
	starred = reader_take_star(r, &callee);
	place = place_of_callee(r, n, syn, callee);
	from = r->items.count;
	if (next(r)) {
		if (r->syn == SYN_ARGUMENT_LIST)
			(void)reader_args(r,
					  NAME_IS(r, callee, "cast") ||
						  ATTR_IS(r, callee, "cast"));
		else
			push_item(r);
		done(r);
	}
	r->annotation = annotation;
	e = reader_of_items(r, EXPR_CALL, from);
	expr_at(r, e)->a = callee;
	*array_last(&r->places) = place;
	reader_add_site(r, SITE_CALL, e, place);
	return reader_put_star(r, e, starred);
}

/* Pushes the indexes; `first_only`: only the first is an annotation. */
static void indexes(struct reader *r, bool first_only)
{
	bool ok = true;

	/* In annotations the grammar has List[int] one level deeper. */
	if (r->syn == SYN_TYPE_PARAMETER)
		ok = down(r);
	for (; ok; ok = next(r)) {
		push_item(r);
		if (first_only)
			r->annotation = false;
	}
}

/*
 * Indexes of an annotation are annotations, except for those of Literal[], and
 * those of Annotated[] after the first.
 */
static uint32_t subscript(struct reader *r)
{
	bool annotation = r->annotation;
	uint32_t from = r->items.count;
	struct reader_place place;
	uint32_t base, index;
	bool deeper, starred;

	if (!down(r))
		return reader_unknown(r);
	base = reader_expr(r);
	starred = reader_take_star(r, &base);
	if (NAME_IS(r, base, "Literal") || ATTR_IS(r, base, "Literal"))
		r->annotation = false;
	if (next(r)) {
		deeper = r->syn == SYN_TYPE_PARAMETER;
		indexes(r, NAME_IS(r, base, "Annotated") ||
				   ATTR_IS(r, base, "Annotated"));
		if (deeper)
			done(r);
	}
	r->annotation = annotation;
	index = reader_one_or_tuple(r, from);
	place = r->places.at[r->unit->exprs.from + base];
	index = reader_make(r, EXPR_INDEX, base, index, ACCESS_LOAD);
	*array_last(&r->places) = place;
	return reader_put_star(r, index, starred);
}

static uint32_t named(struct reader *r)
{
	uint32_t value = FACTS_NONE;
	uint32_t block = r->block;
	facts_str name;

	if (!down(r))
		return reader_unknown(r);
	name = string_of(r, r->node);
	while (next(r))
		value = reader_expr(r);
	if (value == FACTS_NONE || !name)
		return reader_unknown(r);
	r->block = r->home;
	(void)reader_bind(r, BIND_VALUE, name, value);
	r->block = block;
	return value;
}

/* `with a as b`, of which this is the `a as b`. */
static uint32_t as_pattern(struct reader *r)
{
	struct bind_target t = { .kind = BIND_VALUE, .extra = FACTS_NONE };
	uint32_t e;

	if (!down(r))
		return reader_unknown(r);
	e = reader_expr(r);
	t.value = reader_make(r, EXPR_ENTER, e, r->async, 0);
	while (next(r))
		reader_target(r, t);
	return e;
}

static bool is_yield_from(struct reader *r)
{
	bool ok, from = false;

	for (ok = down_any(r); ok; ok = next_any(r))
		if (r->syn == SYN_SKIP && char_at(r, start_of(r->node)) == 'f')
			from = true;
	return from;
}

static uint32_t yield(struct reader *r)
{
	bool from = is_yield_from(r);
	uint32_t value = FACTS_NONE;
	uint32_t e;
	bool ok;

	for (ok = down(r); ok; ok = next(r))
		value = reader_expr(r);
	e = reader_make(r, EXPR_YIELD, value, from, 0);
	if (r->lambdas == 0) {
		r->unit->flags |= UNIT_GENERATOR;
		array_push(&r->yields, from ? e : value);
	}
	return e;
}

/* Decimal numbers of up to nine digits, which suffice for indexes. */
static uint32_t integer(struct reader *r)
{
	uint32_t start = start_of(r->node), end = end_of(r->node);
	uint32_t value = 0, i;

	if (char_at(r, end - 1) == 'j' || char_at(r, end - 1) == 'J')
		return reader_make(r, EXPR_CONST, CONST_FLOAT, FACTS_NONE, 0);
	for (i = start; i < end && i < start + 10; i++) {
		if (r->text[i] < '0' || r->text[i] > '9')
			break;
		value = 10 * value + (uint32_t)(r->text[i] - '0');
	}
	if (i < end || i == start || i == start + 10)
		value = FACTS_NONE;
	return reader_make(r, EXPR_CONST, CONST_INT, value, 0);
}

static uint32_t constant(struct reader *r)
{
	switch ((int)r->syn) {
	case SYN_TRUE:
	case SYN_FALSE:
		return reader_make(r, EXPR_CONST, CONST_BOOL,
				   r->syn == SYN_TRUE, 0);
	case SYN_FLOAT:
		return reader_make(r, EXPR_CONST, CONST_FLOAT, FACTS_NONE, 0);
	case SYN_ELLIPSIS:
		return reader_make(r, EXPR_CONST, CONST_ELLIPSIS, FACTS_NONE,
				   0);
	default:
		return reader_make(r, EXPR_CONST, CONST_NONE, FACTS_NONE, 0);
	}
}

/* a.b.c as one node: the grammar has these in imports and patterns. */
static uint32_t dotted_name(struct reader *r)
{
	uint32_t e = FACTS_NONE;
	bool ok;

	for (ok = down(r); ok; ok = next(r)) {
		TSPoint p = ts_node_start_point(r->node);

		if (e == FACTS_NONE) {
			e = reader_name(r);
			continue;
		}
		e = reader_make(r, EXPR_ATTR, e, string_of(r, r->node),
				r->block);
		reader_put_place(r, p);
	}
	return e == FACTS_NONE ? reader_unknown(r) : e;
}

static uint32_t union_type(struct reader *r)
{
	uint32_t e = FACTS_NONE;
	bool ok;

	for (ok = down(r); ok; ok = next(r)) {
		uint32_t part = reader_expr(r);

		e = e == FACTS_NONE
			    ? part
			    : reader_make(r, EXPR_BINARY, e, part, OP_OR);
	}
	return e == FACTS_NONE ? reader_unknown(r) : e;
}

/* T: bound. type_parameter() in def.c reads the bound itself. */
static uint32_t constrained_type(struct reader *r)
{
	uint32_t e;

	if (!down(r))
		return reader_unknown(r);
	e = reader_expr(r);
	done(r);
	return e;
}

uint32_t reader_type(struct reader *r)
{
	uint32_t e;

	r->annotation = true;
	e = reader_expr(r);
	r->annotation = false;
	return e;
}

typedef uint32_t expr_reader(struct reader *r);

static expr_reader *const readers[SYNS] = {
	[SYN_IDENTIFIER] = reader_name,
	[SYN_ATTRIBUTE] = attribute,
	[SYN_CALL] = call,
	[SYN_KEYWORD_ARGUMENT] = keyword_argument,
	[SYN_LIST_SPLAT] = star,
	[SYN_LIST_SPLAT_PATTERN] = star,
	[SYN_DICTIONARY_SPLAT] = stars,
	[SYN_DICTIONARY_SPLAT_PATTERN] = stars,
	[SYN_SUBSCRIPT] = subscript,
	[SYN_SLICE] = slice,
	[SYN_STRING] = reader_string,
	[SYN_CONCATENATED_STRING] = reader_strings,
	[SYN_INTEGER] = integer,
	[SYN_FLOAT] = constant,
	[SYN_TRUE] = constant,
	[SYN_FALSE] = constant,
	[SYN_NONE_VALUE] = constant,
	[SYN_ELLIPSIS] = constant,
	[SYN_TUPLE] = tuple,
	[SYN_LIST] = list,
	[SYN_SET] = set,
	[SYN_DICTIONARY] = dictionary,
	[SYN_PAIR] = pair,
	[SYN_TUPLE_PATTERN] = tuple,
	[SYN_LIST_PATTERN] = list,
	[SYN_PATTERN_LIST] = tuple,
	[SYN_EXPRESSION_LIST] = tuple,
	[SYN_PARENTHESIZED_EXPRESSION] = parenthesized,
	[SYN_CONDITIONAL_EXPRESSION] = reader_conditional,
	[SYN_BOOLEAN_OPERATOR] = reader_boolean,
	[SYN_NOT_OPERATOR] = reader_not,
	[SYN_BINARY_OPERATOR] = reader_binary_operator,
	[SYN_UNARY_OPERATOR] = reader_unary,
	[SYN_COMPARISON_OPERATOR] = reader_comparison,
	[SYN_LAMBDA] = reader_lambda,
	[SYN_LIST_COMPREHENSION] = reader_comp,
	[SYN_SET_COMPREHENSION] = reader_comp,
	[SYN_DICTIONARY_COMPREHENSION] = reader_comp,
	[SYN_GENERATOR_EXPRESSION] = reader_comp,
	[SYN_AWAIT] = await,
	[SYN_YIELD] = yield,
	[SYN_NAMED_EXPRESSION] = named,
	[SYN_AS_PATTERN] = as_pattern,
	[SYN_TYPE] = reader_inner,
	[SYN_GENERIC_TYPE] = subscript,
	[SYN_UNION_TYPE] = union_type,
	[SYN_MEMBER_TYPE] = attribute,
	[SYN_CONSTRAINED_TYPE] = constrained_type,
	[SYN_SPLAT_TYPE] = splat_type,
	[SYN_DOTTED_NAME] = dotted_name,
	[SYN_CHEVRON] = reader_inner,
	[SYN_WITH_ITEM] = reader_inner,
};

bool reader_is_expr(enum syn syn)
{
	return readers[syn] != NULL;
}

/* A value like these is of no class of the repository. */
static bool is_builtin(const struct facts_expr *x)
{
	return x->kind == EXPR_CONST || x->kind == EXPR_TUPLE ||
	       x->kind == EXPR_LIST || x->kind == EXPR_SET ||
	       x->kind == EXPR_DICT || x->kind == EXPR_COMP ||
	       x->kind == EXPR_LAMBDA || x->kind == EXPR_UNKNOWN;
}

void reader_implies(struct reader *r, enum facts_site_kind kind, uint32_t e)
{
	if (!is_builtin(expr_at(r, e)))
		reader_add_site(r, kind, e,
				r->places.at[r->unit->exprs.from + e]);
}

/* Operands of `and` and `or`, and what `not` negates, are tested there. */
void reader_test(struct reader *r, uint32_t e)
{
	const struct facts_expr *x = expr_at(r, e);

	while (x->kind == EXPR_EITHER && x->c) {
		e = r->lists.at[r->unit->lists.from + x->b + x->c - 1];
		x = expr_at(r, e);
	}
	if (x->kind != EXPR_BINARY)
		reader_implies(r, SITE_TEST, e);
}

/* The element of e, and a site for the calls that iterating makes. */
uint32_t reader_iter(struct reader *r, uint32_t e, bool async)
{
	reader_implies(r, async ? SITE_AITER : SITE_ITER, e);
	return reader_make(r, EXPR_ITER, e, async, 0);
}

uint32_t reader_expr(struct reader *r)
{
	uint32_t checks = r->checks.count;
	enum syn syn = r->syn;
	uint32_t e;

	if (syn == SYN_IDENTIFIER)
		return reader_name(r);
	if (!readers[syn] || is_too_deep(r))
		return reader_unknown(r);
	r->depth++;
	e = readers[syn](r);
	r->depth--;
	if (syn == SYN_BOOLEAN_OPERATOR || syn == SYN_NOT_OPERATOR ||
	    syn == SYN_PARENTHESIZED_EXPRESSION)
		return e;
	r->checks.count = checks;
	if (syn == SYN_CALL)
		reader_note_check(r, e);
	return e;
}
