/*
 * Operators and comparisons. The tree names neither a comparison's operators
 * nor how long an operator is, so these are read from the text.
 */
#include "graph/facts/python/reader_i.h"

uint32_t reader_operator(const struct reader *r)
{
	TSNode n = ts_node_child_by_field_id(array_last(&r->levels)->node,
					     r->operator_field);

	return ts_node_is_null(n) ? r->len : start_of(n);
}

/* The binary operator, not a comparison, whose text begins at `at`. */
static enum facts_op operator_at(const struct reader *r, uint32_t at)
{
	char c = char_at(r, at);
	bool two = char_at(r, at + 1) == c;

	switch (c) {
	case '|':
		return OP_OR;
	case '^':
		return OP_XOR;
	case '&':
		return OP_AND;
	case '<':
		return OP_LSHIFT;
	case '>':
		return OP_RSHIFT;
	case '+':
		return OP_ADD;
	case '-':
		return OP_SUB;
	case '*':
		return two ? OP_POW : OP_MUL;
	case '@':
		return OP_MATMUL;
	case '/':
		return two ? OP_FLOORDIV : OP_DIV;
	case '%':
		return OP_MOD;
	default:
		return OP_OTHER;
	}
}

/* The comparison written between two operands. */
static enum facts_op comparison_in(const struct reader *r, uint32_t at,
				   uint32_t end)
{
	while (at < end && strchr(" \t\r\n\f\\#", r->text[at])) {
		if (r->text[at] == '#')
			at += (uint32_t)strcspn(r->text + at, "\n");
		else
			at++;
	}
	switch (char_at(r, at)) {
	case '<':
		return char_at(r, at + 1) == '='   ? OP_LE
		       : char_at(r, at + 1) == '>' ? OP_NE
						   : OP_LT;
	case '>':
		return char_at(r, at + 1) == '=' ? OP_GE : OP_GT;
	case '=':
		return OP_EQ;
	case '!':
		return OP_NE;
	case 'n': /* not in */
		return OP_IN;
	case 'i': /* in, is, is not */
		return char_at(r, at + 1) == 'n' ? OP_IN : OP_OTHER;
	default:
		return OP_OTHER;
	}
}

/* With the place of its first operand. */
uint32_t reader_binary(struct reader *r, uint32_t left, uint32_t right,
		       uint32_t op)
{
	struct reader_place place = r->places.at[r->unit->exprs.from + left];
	uint32_t e = reader_make(r, EXPR_BINARY, left, right, op);

	*array_last(&r->places) = place;
	return e;
}

void reader_augment(struct reader *r, uint32_t at, uint32_t place,
		    uint32_t value)
{
	enum facts_op op = operator_at(r, at);
	struct facts_expr *x = expr_at(r, place);

	if (x->kind == EXPR_INDEX)
		x->c = ACCESS_UPDATE;
	(void)reader_binary(r, place, value, op | OP_INPLACE);
}

uint32_t reader_binary_operator(struct reader *r)
{
	uint32_t left, right = FACTS_NONE, at;
	bool starred;

	if (!down(r))
		return reader_unknown(r);
	left = reader_expr(r);
	starred = reader_take_star(r, &left);
	at = reader_operator(r);
	if (next(r)) {
		right = reader_expr(r);
		done(r);
	}
	left = reader_binary(r, left, right, operator_at(r, at));
	return reader_put_star(r, left, starred);
}

uint32_t reader_comparison(struct reader *r)
{
	uint32_t left, right, e = FACTS_NONE, end;
	enum facts_op op;

	if (!down(r))
		return reader_unknown(r);
	end = end_of(r->node);
	left = reader_expr(r);
	while (next(r)) {
		op = comparison_in(r, end, start_of(r->node));
		end = end_of(r->node);
		right = reader_expr(r);
		e = reader_binary(r, left, right, op);
		left = right;
	}
	return e == FACTS_NONE ? reader_binary(r, left, e, OP_OTHER) : e;
}

uint32_t reader_unary(struct reader *r)
{
	char c = char_at(r, start_of(r->node));
	uint32_t e = reader_inner(r);
	const struct facts_expr *x = expr_at(r, e);

	if (x->kind == EXPR_CONST)
		return reader_make(r, EXPR_CONST, x->a, FACTS_NONE, 0);
	return reader_binary(r, e, FACTS_NONE,
			     c == '-'	? OP_NEG
			     : c == '+' ? OP_POS
					: OP_INVERT);
}
