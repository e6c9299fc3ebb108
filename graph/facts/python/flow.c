/*
 * Statements that contain blocks. Each alternative is a block of its own, in
 * which the names that its condition narrows are bound.
 */
#include "graph/facts/python/reader_i.h"

/* The head of a clause that is one word: "else", "try", "finally". */
static void bare_head(struct reader *r, uint32_t start)
{
	uint32_t end = start;

	while (char_at(r, end) >= 'a' && char_at(r, end) <= 'z')
		end++;
	reader_add_piece(r, start, end);
}

static unsigned branch(struct reader *r)
{
	uint32_t around = reader_block_open(r, BLOCK_BRANCH);
	unsigned flow = reader_suite(r);

	reader_block_close(r, around);
	return flow;
}

/* The suite of an else or finally clause, in a block of its own or not. */
static unsigned clause(struct reader *r, bool own)
{
	unsigned flow = FLOW_ON;
	bool ok;

	bare_head(r, start_of(r->node));
	for (ok = down(r); ok; ok = next(r))
		if (r->syn == SYN_BLOCK)
			flow = own ? branch(r) : reader_suite(r);
	return flow;
}

/*
 * if, elif, else. checks[first ..] are those of all conditions so far; those
 * before `own` belong to conditions that are false in the current branch.
 */
struct flow_choice {
	uint32_t first, own;
	bool otherwise; /* there is an else */
	unsigned flow;
	/* Branches that go on; and of the last one its checks, and where its
	   bindings begin and end. */
	uint32_t on, on_own, on_end, on_binds, on_binds_end;
};

static void choice_condition(struct reader *r, struct flow_choice *c,
			     uint32_t start)
{
	uint32_t around = r->block;
	bool told;

	if (r->checks.count > c->first + CHECKS_MAX)
		r->checks.count = c->first + CHECKS_MAX;
	c->own = r->checks.count;
	told = c->own > c->first;
	reader_add_piece(r, start, end_of(r->node));
	if (told) {
		around = reader_block_open(r, BLOCK_BRANCH);
		reader_narrow(r, c->first, c->own, false);
	}
	reader_test(r, reader_expr(r));
	if (told)
		reader_block_close(r, around);
}

static void choice_branch(struct reader *r, struct flow_choice *c)
{
	uint32_t around = reader_block_open(r, BLOCK_BRANCH);
	uint32_t end = r->checks.count, binds;
	unsigned flow;

	reader_narrow(r, c->first, c->own, false);
	reader_narrow(r, c->own, end, true);
	binds = r->binds.count;
	flow = reader_suite(r);
	reader_block_close(r, around);
	c->flow |= flow;
	if (!(flow & FLOW_ON))
		return;
	c->on++;
	c->on_own = c->own;
	c->on_end = end;
	c->on_binds = binds;
	c->on_binds_end = r->binds.count;
}

/* Does the branch that goes on bind what the check is about? */
static bool rebinds(struct reader *r, const struct flow_choice *c, uint32_t e)
{
	facts_str name = reader_place_name(r, e), base = name;
	uint32_t i;

	if (expr_at(r, e)->kind == EXPR_ATTR)
		base = expr_at(r, expr_at(r, e)->a)->a;
	for (i = c->on_binds; i < c->on_binds_end; i++) {
		const struct facts_bind *b = &r->binds.at[i];

		if (b->kind != BIND_NARROW && b->kind != BIND_STORE &&
		    (b->name == name || b->name == base))
			return true;
	}
	return false;
}

/* All other branches leave: what holds in that one holds after it. */
static void choice_is_made(struct reader *r, const struct flow_choice *c)
{
	uint32_t i, end = c->on_end;

	/* Further ones were dropped by a condition behind that branch. */
	if (end > c->first + CHECKS_MAX)
		end = c->first + CHECKS_MAX;
	assert(c->on == 1 && end <= r->checks.count);
	for (i = c->first; i < end; i++)
		if (!rebinds(r, c, r->checks.at[i].what))
			reader_narrow(r, i, i + 1, i >= c->on_own);
}

/* The parts of an if statement, or of one of its clauses. */
static void choice_parts(struct reader *r, struct flow_choice *c)
{
	uint32_t start = start_of(r->node);
	bool ok;

	for (ok = down(r); ok; ok = next(r)) {
		if (r->syn == SYN_BLOCK) {
			choice_branch(r, c);
		} else if (r->syn == SYN_ELIF_CLAUSE) {
			r->line =
				ts_node_start_point(r->node).row - r->span->row;
			choice_parts(r, c);
		} else if (r->syn == SYN_ELSE_CLAUSE) {
			c->otherwise = true;
			c->own = r->checks.count;
			bare_head(r, start_of(r->node));
			choice_parts(r, c);
		} else {
			choice_condition(r, c, start);
		}
	}
}

unsigned reader_if(struct reader *r)
{
	struct flow_choice c = { .first = r->checks.count,
				 .own = r->checks.count };

	choice_parts(r, &c);
	if (c.otherwise && c.on == 1)
		choice_is_made(r, &c);
	if (c.otherwise)
		return c.flow;
	/* If no branch goes on, all conditions are false after it. */
	if (!(c.flow & FLOW_ON))
		reader_narrow(r, c.first, r->checks.count, false);
	return c.flow | FLOW_ON;
}

/* `forever`: its condition is always true. A break of the body ends it. */
static unsigned loop_flow(bool forever, unsigned body, unsigned otherwise)
{
	unsigned flow = otherwise & FLOW_BREAK;

	if (body & FLOW_BREAK)
		flow |= FLOW_ON;
	if (!forever)
		flow |= otherwise & FLOW_ON;
	return flow;
}

static uint32_t iterable(struct reader *r, uint32_t start)
{
	uint32_t e = FACTS_NONE;

	if (reader_down_second(r)) {
		reader_add_piece(r, start, end_of(r->node));
		e = reader_expr(r);
		reader_up(r);
	}
	return e == FACTS_NONE ? reader_unknown(r) : e;
}

unsigned reader_for(struct reader *r)
{
	uint32_t start = start_of(r->node);
	bool async = char_at(r, start) == 'a';
	unsigned body = 0, otherwise = FLOW_ON;
	uint32_t e = iterable(r, start);
	uint32_t around = reader_block_open(r, BLOCK_LOOP);
	struct bind_target t = { BIND_VALUE, 0, FACTS_NONE };
	bool ok;
	int i = 0;

	t.value = reader_iter(r, e, async);
	for (ok = down(r); ok && r->syn != SYN_ELSE_CLAUSE; ok = next(r), i++) {
		if (i == 0)
			reader_target(r, t);
		else if (r->syn == SYN_BLOCK)
			body = reader_suite(r);
	}
	reader_block_close(r, around);
	if (ok) {
		otherwise = clause(r, true);
		done(r);
	}
	return loop_flow(false, body, otherwise);
}

static bool is_true(const struct reader *r, uint32_t e)
{
	const struct facts_expr *x = expr_at(r, e);

	return x->kind == EXPR_CONST && x->b == 1 &&
	       (x->a == CONST_BOOL || x->a == CONST_INT);
}

/* The condition is evaluated in each round, so it belongs to the loop. */
unsigned reader_while(struct reader *r)
{
	uint32_t start = start_of(r->node), checks = r->checks.count, to;
	unsigned body = 0, otherwise = FLOW_ON;
	uint32_t around = reader_block_open(r, BLOCK_LOOP);
	uint32_t e = FACTS_NONE;
	bool ok;

	to = checks;
	for (ok = down(r); ok && r->syn != SYN_ELSE_CLAUSE; ok = next(r)) {
		if (r->syn == SYN_BLOCK) {
			body = reader_suite(r);
			continue;
		}
		reader_add_piece(r, start, end_of(r->node));
		e = reader_expr(r);
		reader_test(r, e);
		to = r->checks.count;
		reader_narrow(r, checks, to, true);
	}
	reader_block_close(r, around);
	if (ok) {
		otherwise = clause(r, true);
		done(r);
	}
	if (!(body & FLOW_BREAK))
		reader_narrow(r, checks, to, false);
	return loop_flow(e != FACTS_NONE && is_true(r, e), body, otherwise);
}

/* except E as e: binds e. */
static void caught(struct reader *r, uint32_t classes, bool group)
{
	struct bind_target t = { BIND_VALUE, 0, FACTS_NONE };

	/* except* binds an exception group, whose class is not followed. */
	if (group || expr_at(r, classes)->kind == EXPR_STAR)
		t.value = reader_unknown(r);
	else
		t.value = reader_make(r, EXPR_CAUGHT, classes, 0, 0);
	reader_target(r, t);
}

/* The classes, and perhaps a name: the grammar has one node or two. */
static void except_head(struct reader *r, uint32_t *classes, bool group)
{
	if (*classes != FACTS_NONE) {
		caught(r, *classes, group);
	} else if (r->syn != SYN_AS_PATTERN) {
		*classes = reader_expr(r);
	} else if (down(r)) {
		*classes = reader_expr(r);
		while (next(r))
			caught(r, *classes, group);
	}
}

static unsigned handler(struct reader *r)
{
	bool group = r->syn == SYN_EXCEPT_GROUP_CLAUSE;
	uint32_t start = start_of(r->node), end = start + 6;
	uint32_t around = reader_block_open(r, BLOCK_BRANCH);
	uint32_t classes = FACTS_NONE;
	unsigned flow = FLOW_ON;
	bool ok;

	r->line = ts_node_start_point(r->node).row - r->span->row;
	for (ok = down(r); ok; ok = next(r)) {
		if (r->syn == SYN_BLOCK) {
			reader_add_piece(r, start, end);
			flow = reader_suite(r);
		} else {
			end = end_of(r->node);
			except_head(r, &classes, group);
		}
	}
	reader_block_close(r, around);
	return flow;
}

/* `finally` always runs; each other part runs in some cases. */
unsigned reader_try(struct reader *r)
{
	unsigned body = FLOW_ON, caught_flow = 0, last = FLOW_ON, one;
	bool ok;

	bare_head(r, start_of(r->node));
	for (ok = down(r); ok; ok = next(r)) {
		if (r->syn == SYN_BLOCK) {
			body = branch(r);
		} else if (r->syn == SYN_ELSE_CLAUSE) {
			one = clause(r, true);
			body = (body & one & FLOW_ON) |
			       ((body | one) & FLOW_BREAK);
		} else if (r->syn == SYN_FINALLY_CLAUSE) {
			last = clause(r, false);
		} else {
			caught_flow |= handler(r);
		}
	}
	body |= caught_flow;
	return last & FLOW_ON ? body | (last & FLOW_BREAK) : last;
}

/* with (a, b): the grammar may have a tuple. */
static void enter(struct reader *r, uint32_t e)
{
	enum facts_site_kind kind = r->async ? SITE_AWITH : SITE_WITH;
	const struct facts_expr *x = expr_at(r, e);

	for (uint32_t k = 0; x->kind == EXPR_TUPLE && k < x->c; k++)
		reader_implies(r, kind,
			       r->lists.at[r->unit->lists.from + x->b + k]);
	reader_implies(r, kind, e);
}

static void with_items(struct reader *r)
{
	bool ok;

	for (ok = down(r); ok; ok = next(r))
		enter(r, reader_expr(r));
}

unsigned reader_with(struct reader *r)
{
	uint32_t start = start_of(r->node);
	unsigned flow = FLOW_ON;
	bool async = r->async;
	bool ok;

	r->async = char_at(r, start) == 'a';
	for (ok = down(r); ok; ok = next(r)) {
		if (r->syn == SYN_BLOCK) {
			r->async = async;
			flow = reader_suite(r);
			continue;
		}
		reader_add_piece(r, start, end_of(r->node));
		with_items(r);
	}
	r->async = async;
	return flow;
}

static unsigned case_clause(struct reader *r, uint32_t subject, bool *always)
{
	uint32_t around = reader_block_open(r, BLOCK_BRANCH);
	unsigned flow = FLOW_ON;

	r->line = ts_node_start_point(r->node).row - r->span->row;
	if (reader_case(r, subject, &flow))
		*always = true;
	reader_block_close(r, around);
	return flow;
}

static unsigned cases(struct reader *r, uint32_t subject)
{
	bool always = false;
	unsigned flow = 0;
	bool ok;

	for (ok = down(r); ok; ok = next(r))
		if (r->syn == SYN_CASE_CLAUSE)
			flow |= case_clause(r, subject, &always);
	return always ? flow : flow | FLOW_ON;
}

unsigned reader_match(struct reader *r)
{
	uint32_t start = start_of(r->node);
	uint32_t from = r->items.count;
	uint32_t subject = FACTS_NONE, e;
	unsigned flow = FLOW_ON;
	bool ok;

	for (ok = down(r); ok; ok = next(r)) {
		if (r->syn != SYN_BLOCK) {
			reader_add_piece(r, start, end_of(r->node));
			e = reader_expr(r);
			array_push(&r->items, e);
			continue;
		}
		subject = reader_one_or_tuple(r, from);
		flow = cases(r, subject);
	}
	r->items.count = from;
	return flow;
}
