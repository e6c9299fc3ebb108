/*
 * Moving through the tree. tree-sitter offers two ways to visit the children of
 * a node: by number, which passes all children before it each time, and by
 * cursor, each step of which visits hidden nodes twice. Nearly all nodes have
 * few children, half of them tokens without meaning: going by number and not
 * counting tokens takes a third of the cursor's time.
 */
#include "graph/facts/python/reader_i.h"

#define FEW 12 /* with so many children both ways take the same time */

void reader_see(struct reader *r, TSNode node)
{
	TSSymbol s = ts_node_symbol(node);

	r->node = node;
	r->syn = s < r->syns_count ? (enum syn)r->syns[s] : SYN_ERROR;
}

void reader_begin_at(struct reader *r, TSNode node)
{
	r->levels.count = 0;
	reader_see(r, node);
}

/* false: there is no such child. */
static bool see_child(struct reader *r, const struct level *l)
{
	TSNode n;

	if (l->at >= l->count)
		return false;
	n = l->tokens ? ts_node_child(l->node, l->at)
		      : ts_node_named_child(l->node, l->at);
	if (ts_node_is_null(n))
		return false;
	reader_see(r, n);
	return true;
}

static bool see_first_of_many(struct reader *r, struct level *l)
{
	l->cursor = ts_tree_cursor_new(l->node);
	if (!ts_tree_cursor_goto_first_child(&l->cursor))
		return false;
	reader_see(r, ts_tree_cursor_current_node(&l->cursor));
	return true;
}

static bool see_next_of_many(struct reader *r, struct level *l)
{
	if (!ts_tree_cursor_goto_next_sibling(&l->cursor))
		return false;
	reader_see(r, ts_tree_cursor_current_node(&l->cursor));
	return true;
}

static bool go_down(struct reader *r, uint32_t at, bool tokens)
{
	uint32_t count = ts_node_child_count(r->node);
	struct level *l;

	if (!count)
		return false;
	array_reserve(&r->levels, 1);
	l = &r->levels.at[r->levels.count++];
	l->node = r->node;
	l->syn = r->syn;
	l->many = count > FEW;
	l->tokens = tokens;
	l->at = at;
	l->count = tokens ? count : ts_node_named_child_count(r->node);
	if (l->many ? see_first_of_many(r, l) : see_child(r, l))
		return true;
	reader_up(r);
	return false;
}

bool reader_down(struct reader *r, bool tokens)
{
	return go_down(r, 0, tokens);
}

bool reader_down_second(struct reader *r)
{
	if (r->broken || ts_node_child_count(r->node) > FEW)
		return down_quiet(r) && next_quiet(r);
	return go_down(r, 1, false) && (r->syn > SYN_ERROR || next_quiet(r));
}

bool reader_next(struct reader *r)
{
	struct level *l = array_last(&r->levels);

	assert(r->levels.count > 0);
	l->at++;
	if (l->many ? see_next_of_many(r, l) : see_child(r, l))
		return true;
	reader_up(r);
	return false;
}

void reader_up(struct reader *r)
{
	struct level *l = array_last(&r->levels);

	assert(r->levels.count > 0);
	r->node = l->node;
	r->syn = l->syn;
	if (l->many)
		ts_tree_cursor_delete(&l->cursor);
	r->levels.count--;
}
