/*
 * What conditions imply about names. A call of isinstance() pushes a check on
 * r->checks; `not` inverts it, `and` and `or` weaken it, and any other
 * expression drops it (reader_expr()). A statement that branches on a condition
 * binds what the checks imply in the block of each outcome.
 */
#include "graph/facts/python/reader_i.h"

/* Is it a name, or a name's attribute? Only these are narrowed. */
static bool is_place(const struct reader *r, uint32_t e)
{
	const struct facts_expr *x = expr_at(r, e);

	if (x->kind == EXPR_ATTR)
		x = expr_at(r, x->a);
	return x->kind == EXPR_NAME;
}

static void add_check(struct reader *r, uint32_t what, uint32_t class)
{
	struct reader_check check = { .what = what,
				      .class = class,
				      .yes = KNOWN_IS,
				      .no = KNOWN_IS_NOT };

	array_push(&r->checks, check);
}

/* The name that the expression was just bound to by `:=`; FACTS_NONE: none. */
static facts_str named_as(const struct reader *r, uint32_t e)
{
	uint32_t i = r->binds.count, last = i > 4 ? i - 4 : 0;

	while (i-- > last && i >= r->unit->binds.from)
		if (r->binds.at[i].kind == BIND_VALUE &&
		    r->binds.at[i].value == e)
			return r->binds.at[i].name;
	return FACTS_NONE;
}

void reader_note_check(struct reader *r, uint32_t e)
{
	const struct facts_expr *c = expr_at(r, e);
	uint32_t what, class;
	facts_str name;

	if (c->kind != EXPR_CALL || c->c != 2 ||
	    !NAME_IS(r, c->a, "isinstance"))
		return;
	what = r->lists.at[r->unit->lists.from + c->b];
	class = r->lists.at[r->unit->lists.from + c->b + 1];
	if (is_place(r, what))
		add_check(r, what, class);
	name = named_as(r, what);
	if (name != FACTS_NONE)
		add_check(r, reader_make(r, EXPR_NAME, name, r->block, 0),
			  class);
}

facts_str reader_dotted(struct reader *r, facts_str a, facts_str b)
{
	const uint32_t *ends;
	uint32_t from;
	const facts_str parts[] = { a, b };
	int i;

	r->chars.count = 0;
	for (i = 0; i < 2; i++) {
		ends = r->strings.ends.at;
		from = parts[i] ? ends[parts[i] - 1] : 0;
		if (i)
			array_push(&r->chars, '.');
		array_append(&r->chars, r->strings.text.at + from,
			     ends[parts[i]] - from - 1);
	}
	return strings_add(&r->strings, r->chars.at, r->chars.count);
}

/* FACTS_NONE: it is neither a name nor an attribute of one. */
facts_str reader_place_name(struct reader *r, uint32_t e)
{
	const struct facts_expr *x = expr_at(r, e);
	const struct facts_expr *of;

	if (x->kind == EXPR_NAME)
		return x->a;
	if (x->kind != EXPR_ATTR)
		return FACTS_NONE;
	of = expr_at(r, x->a);
	return of->kind == EXPR_NAME ? reader_dotted(r, of->a, x->b)
				     : FACTS_NONE;
}

void reader_narrow(struct reader *r, uint32_t from, uint32_t to, bool truth)
{
	uint32_t i, e;

	assert(from <= to && to <= r->checks.count);
	for (i = from; i < to; i++) {
		struct reader_check c = r->checks.at[i];
		uint8_t known = truth ? c.yes : c.no;

		if (known == KNOWN_NOTHING)
			continue;
		e = reader_make(r, EXPR_NARROW, c.what, c.class,
				known == KNOWN_IS_NOT);
		(void)reader_bind(r, BIND_NARROW, reader_place_name(r, c.what),
				  e);
	}
}

uint32_t reader_not(struct reader *r)
{
	uint32_t from = r->checks.count;
	uint32_t e = FACTS_NONE;
	uint32_t i;
	bool ok;

	for (ok = down(r); ok; ok = next(r))
		e = reader_expr(r);
	if (e == FACTS_NONE)
		return reader_unknown(r);

	for (i = from; i < r->checks.count; i++) {
		struct reader_check *c = &r->checks.at[i];
		uint8_t yes = c->yes;

		c->yes = c->no;
		c->no = yes;
	}
	return reader_binary(r, e, FACTS_NONE, OP_NOT);
}

/*
 * When `a and b` is false, or `a or b` is true, nothing follows for a or for b
 * alone.
 */
static void thin_checks(struct reader *r, uint32_t from, bool and)
{
	uint32_t i, to = from;

	for (i = from; i < r->checks.count; i++) {
		struct reader_check c = r->checks.at[i];

		if (and)
			c.no = KNOWN_NOTHING;
		else
			c.yes = KNOWN_NOTHING;
		if ((c.yes || c.no) && to < from + CHECKS_MAX)
			r->checks.at[to++] = c;
	}
	r->checks.count = to;
}

/*
 * The right operand is evaluated only when the left one was true (`and`) or
 * false (`or`): where that implies something, it gets a block of its own.
 *
 * `a and b` is taken as b: where its value is a, a is false, and false values
 * are rarely called.
 */
uint32_t reader_boolean(struct reader *r)
{
	uint32_t from = r->checks.count;
	uint32_t left, right = FACTS_NONE, around = r->block;
	uint32_t items = r->items.count;
	bool and, told;

	if (!down(r))
		return reader_unknown(r);
	left = reader_expr(r);
	and = char_at(r, reader_operator(r)) == 'a';
	reader_test(r, left);
	told = r->checks.count > from;
	if (told) {
		around = reader_block_open(r, BLOCK_BRANCH);
		reader_narrow(r, from, r->checks.count, and);
	}
	if (next(r)) {
		right = reader_expr(r);
		done(r);
	}
	if (told)
		reader_block_close(r, around);
	thin_checks(r, from, and);
	if (right == FACTS_NONE || and)
		return right == FACTS_NONE ? left : right;
	array_push(&r->items, left);
	array_push(&r->items, right);
	return reader_of_items(r, EXPR_EITHER, items);
}

/* The branch for when a condition with checks[from .. to) is `truth`. */
static uint32_t outcome(struct reader *r, uint32_t from, uint32_t to,
			bool truth)
{
	uint32_t around = r->block;
	uint32_t e;

	if (to > from) {
		around = reader_block_open(r, BLOCK_BRANCH);
		reader_narrow(r, from, to, truth);
	}
	e = reader_expr(r);
	r->checks.count = to;
	if (to > from)
		reader_block_close(r, around);
	return e;
}

/* a if b else c: b is evaluated first. */
uint32_t reader_conditional(struct reader *r)
{
	uint32_t from = r->checks.count;
	uint32_t items = r->items.count;
	uint32_t to, e;
	bool ok;
	int i = 0;

	if (reader_down_second(r)) {
		reader_test(r, reader_expr(r));
		reader_up(r);
	}
	to = r->checks.count;
	for (ok = down(r); ok; ok = next(r), i++) {
		if (i == 1)
			continue;
		e = outcome(r, from, to, i == 0);
		array_push(&r->items, e);
	}
	return reader_of_items(r, EXPR_EITHER, items);
}
