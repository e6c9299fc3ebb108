/*
 * Most attributes are plain chains, a.b or a.b.c. Reading these from the text
 * gives the same as reading them from the tree, where each name stands below
 * several hidden nodes, and is faster.
 */
#include "graph/facts/python/reader_i.h"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Names with other letters are read from the tree. */
static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* None.a looks like an attribute of a name. */
static bool is_constant(const char *text, size_t len)
{
	return (len == 4 &&
		(!memcmp(text, "None", 4) || !memcmp(text, "True", 4))) ||
	       (len == 5 && !memcmp(text, "False", 5));
}

/* DEPTH_MAX holds as it would in the tree, where each dot is a level. */
uint32_t reader_last_dot(const struct reader *r)
{
	uint32_t start = start_of(r->node), end = end_of(r->node);
	uint32_t first = 0, last = 0, depth = r->depth;

	if (r->broken || is_digit(char_at(r, start)))
		return 0;
	for (uint32_t i = start; i < end; i++) {
		if (is_letter(r->text[i]) || is_digit(r->text[i]))
			continue;
		if (r->text[i] != '.' || ++depth > DEPTH_MAX)
			return 0;
		first = first ? first : i;
		last = i;
	}
	return is_constant(r->text + start, first - start) ? 0 : last;
}

uint32_t reader_chain(struct reader *r, uint32_t end)
{
	uint32_t start = start_of(r->node), from, to, e = FACTS_NONE;
	TSPoint p = ts_node_start_point(r->node);
	facts_str name;

	for (from = start; from < end; from = to + 1) {
		for (to = from; to < end && r->text[to] != '.'; to++)
			continue;
		name = strings_add(&r->strings, r->text + from, to - from);
		e = e == FACTS_NONE
			    ? reader_make(r, EXPR_NAME, name, r->block, 0)
			    : reader_make(r, EXPR_ATTR, e, name, r->block);
		reader_put_place(r,
				 (TSPoint){ p.row, p.column + (from - start) });
	}
	return e;
}
