/*
 * The patterns of match statements. The reader of a pattern takes the value
 * that is matched, as an expression, and returns what it is after a match: the
 * same expression, or an EXPR_NARROW of it.
 */
#include "graph/facts/python/reader_i.h"

static uint32_t pattern(struct reader *r, uint32_t value);

static void bind_capture(struct reader *r, facts_str name, uint32_t value)
{
	if (name)
		(void)reader_bind(r, BIND_VALUE, name, value);
}

static bool is_capture(struct reader *r)
{
	uint32_t n = 0;
	bool ok;

	for (ok = down_quiet(r); ok; ok = next_quiet(r))
		n++;
	return n == 1;
}

/* A plain name captures the value; a.b is compared with it. */
static uint32_t name_pattern(struct reader *r, uint32_t value)
{
	if (is_capture(r))
		bind_capture(r, string_of(r, r->node), value);
	else
		(void)reader_expr(r);
	return value;
}

/* name=p, in Class(name=p). */
static void keyword_pattern(struct reader *r, uint32_t value)
{
	facts_str name;
	uint32_t e;

	if (!down(r))
		return;
	name = string_of(r, r->node);
	e = reader_make(r, EXPR_ATTR, value, name, r->block);
	while (next(r))
		(void)pattern(r, e);
}

/* An argument of Class(...): by name; by position, it is not followed. */
static void class_argument(struct reader *r, uint32_t value)
{
	if (!down(r))
		return;
	if (r->syn == SYN_KEYWORD_PATTERN)
		keyword_pattern(r, value);
	else
		(void)pattern(r, reader_unknown(r));
	done(r);
}

static uint32_t class_pattern(struct reader *r, uint32_t value)
{
	uint32_t class, e;

	if (!down(r))
		return value;
	class = reader_expr(r);
	e = reader_make(r, EXPR_NARROW, value, class, 0);
	while (next(r))
		class_argument(r, e);
	return e;
}

/* p as name */
static uint32_t as_pattern(struct reader *r, uint32_t value)
{
	if (!down(r))
		return value;
	value = pattern(r, value);
	while (next(r))
		bind_capture(r, string_of(r, r->node), value);
	return value;
}

/* A() | B() narrows to either class, if all alternatives are classes. */
static uint32_t union_pattern(struct reader *r, uint32_t value)
{
	uint32_t from = r->items.count;
	bool classes = true;
	uint32_t e;
	bool ok;

	for (ok = down(r); ok; ok = next(r)) {
		e = pattern(r, value);
		if (expr_at(r, e)->kind == EXPR_NARROW &&
		    expr_at(r, e)->a == value)
			array_push(&r->items, expr_at(r, e)->b);
		else
			classes = false;
	}
	if (!classes || r->items.count == from) {
		r->items.count = from;
		return value;
	}
	e = reader_one_or_tuple(r, from);
	return reader_make(r, EXPR_NARROW, value, e, 0);
}

/* Is the current case_pattern a starred one? */
static bool is_splat(struct reader *r)
{
	bool splat = false;

	if (r->syn == SYN_CASE_PATTERN && down_quiet(r)) {
		splat = r->syn == SYN_SPLAT_PATTERN;
		reader_up(r);
	}
	return splat;
}

/* Is it (p), which means p? The grammar has a tuple without a comma. */
static bool is_group(struct reader *r)
{
	bool group = r->syn == SYN_TUPLE_PATTERN;
	uint32_t n = 0;
	bool ok;

	for (ok = down_any(r); ok; ok = next_any(r)) {
		n += r->syn == SYN_CASE_PATTERN;
		if (char_at(r, start_of(r->node)) == ',')
			group = false;
	}
	return group && n == 1;
}

static uint32_t sequence_pattern(struct reader *r, uint32_t value)
{
	uint32_t star = FACTS_NONE, count = 0, i = 0;
	bool group = is_group(r);
	bool ok;

	for (ok = down_quiet(r); ok; ok = next_quiet(r), count++)
		if (is_splat(r))
			star = count;
	for (ok = down(r); ok; ok = next(r), i++) {
		if (group)
			value = pattern(r, value);
		else
			(void)pattern(r, reader_item(r, value, i, star, count));
	}
	return value;
}

/* *name and **name capture the rest. */
static void splat_pattern(struct reader *r, uint32_t value)
{
	bool ok;

	for (ok = down(r); ok; ok = next(r))
		bind_capture(r, string_of(r, r->node), value);
}

/* { key: p, **rest } */
static void dict_pattern(struct reader *r, uint32_t value)
{
	uint32_t key = FACTS_NONE;
	bool ok;

	for (ok = down(r); ok; ok = next(r)) {
		if (r->syn == SYN_SPLAT_PATTERN) {
			splat_pattern(r, reader_unknown(r));
		} else if (r->syn != SYN_CASE_PATTERN) {
			key = reader_expr(r);
		} else if (key != FACTS_NONE) {
			(void)pattern(
				r, reader_make(r, EXPR_INDEX, value, key, 0));
			key = FACTS_NONE;
		}
	}
}

static uint32_t inner_pattern(struct reader *r, uint32_t value)
{
	if (!down(r))
		return value;
	value = pattern(r, value);
	done(r);
	return value;
}

static uint32_t pattern_of(struct reader *r, uint32_t value)
{
	switch ((int)r->syn) {
	case SYN_CASE_PATTERN:
		return inner_pattern(r, value);
	case SYN_DOTTED_NAME:
		return name_pattern(r, value);
	case SYN_CLASS_PATTERN:
		return class_pattern(r, value);
	case SYN_AS_PATTERN:
		return as_pattern(r, value);
	case SYN_UNION_PATTERN:
		return union_pattern(r, value);
	case SYN_TUPLE_PATTERN:
	case SYN_LIST_PATTERN:
		return sequence_pattern(r, value);
	case SYN_DICT_PATTERN:
		dict_pattern(r, value);
		return value;
	case SYN_SPLAT_PATTERN:
		splat_pattern(r, value);
		return value;
	default:
		/* A constant, which the value is compared with. */
		(void)reader_expr(r);
		return value;
	}
}

static uint32_t pattern(struct reader *r, uint32_t value)
{
	if (is_too_deep(r))
		return value;
	r->depth++;
	value = pattern_of(r, value);
	r->depth--;
	return value;
}

/* Does the current pattern match anything? So do `_` and a plain name. */
static bool is_irrefutable(struct reader *r)
{
	bool any = false;

	if (char_at(r, start_of(r->node)) == '_' &&
	    end_of(r->node) - start_of(r->node) == 1)
		return true;
	if (down_quiet(r)) {
		any = r->syn == SYN_DOTTED_NAME && is_capture(r);
		reader_up(r);
	}
	return any;
}

/* Narrows the subject too, if it is a name or a name's attribute. */
static void narrow_subject(struct reader *r, uint32_t subject, uint32_t found)
{
	const struct facts_expr *e = expr_at(r, found);
	facts_str name;

	if (e->kind != EXPR_NARROW || e->a != subject)
		return;
	name = reader_place_name(r, subject);
	if (name != FACTS_NONE)
		(void)reader_bind(r, BIND_NARROW, name, found);
}

static uint32_t count_patterns(struct reader *r)
{
	uint32_t n = 0;
	bool ok;

	for (ok = down_quiet(r); ok; ok = next_quiet(r))
		n += r->syn == SYN_CASE_PATTERN;
	return n;
}

static void guard(struct reader *r)
{
	uint32_t from = r->checks.count;
	bool ok;

	for (ok = down(r); ok; ok = next(r))
		reader_test(r, reader_expr(r));
	reader_narrow(r, from, r->checks.count, true);
	r->checks.count = from;
}

bool reader_case(struct reader *r, uint32_t subject, unsigned *ret_flow)
{
	uint32_t start = start_of(r->node), end = start;
	uint32_t count = count_patterns(r), i = 0, e;
	bool always = false;
	bool ok;

	for (ok = down(r); ok; ok = next(r)) {
		if (r->syn == SYN_BLOCK) {
			reader_add_piece(r, start, end);
			*ret_flow = reader_suite(r);
			continue;
		}
		end = end_of(r->node);
		if (r->syn == SYN_IF_CLAUSE) {
			always = false;
			guard(r);
		} else if (count == 1) {
			always = is_irrefutable(r);
			e = pattern(r, subject);
			narrow_subject(r, subject, e);
		} else {
			e = reader_item(r, subject, i++, FACTS_NONE, count);
			(void)pattern(r, e);
		}
	}
	return always;
}
