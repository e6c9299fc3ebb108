/*
 * Statements, except for those that contain blocks (flow.c).
 *
 * Each reader returns the ways in which its statement may end besides leaving
 * the function: FLOW_ON, going on to the next one, and FLOW_BREAK. A function
 * whose last statement may go on returns None there.
 */
#include "graph/facts/python/reader_i.h"

/* Reads all children, for the calls in them. */
static void expressions(struct reader *r)
{
	bool ok;

	for (ok = down(r); ok; ok = next(r))
		(void)reader_expr(r);
}

static void add_to_all(struct reader *r, facts_str name, uint32_t value,
		       bool afresh)
{
	if (r->unit->kind == UNIT_MODULE && string_is(r, name, "__all__", 7))
		reader_note_all(r, value, afresh && r->block == 1);
}

static uint32_t assignment(struct reader *r);

/* The right-hand side: a value, or another assignment and its value. */
static uint32_t assigned(struct reader *r)
{
	uint32_t value;

	if (r->syn != SYN_ASSIGNMENT)
		return reader_expr(r);
	if (is_too_deep(r))
		return reader_unknown(r);
	r->depth++;
	value = assignment(r);
	r->depth--;
	return value;
}

static void bind_targets(struct reader *r, uint32_t type, uint32_t value)
{
	struct bind_target t = { BIND_VALUE, value, FACTS_NONE };

	if (type != FACTS_NONE)
		t = (struct bind_target){ value == FACTS_NONE ? BIND_ANNOTATION
							      : BIND_TYPED,
					  type, value };
	if (!down(r))
		return;
	if (r->syn == SYN_IDENTIFIER && value != FACTS_NONE)
		add_to_all(r, string_of(r, r->node), value, true);
	reader_target(r, t);
	done(r);
}

/*
 * a: T = b. The target stands first and is bound last. Returns the value; the
 * type, if there is no value.
 */
static uint32_t assignment(struct reader *r)
{
	uint32_t type = FACTS_NONE, value = FACTS_NONE;
	bool ok;

	for (ok = reader_down_second(r); ok; ok = next_quiet(r)) {
		if (r->syn == SYN_TYPE)
			type = reader_type(r);
		else
			value = assigned(r);
	}
	if (type == FACTS_NONE && value == FACTS_NONE)
		value = reader_unknown(r);
	bind_targets(r, type, value);
	return value == FACTS_NONE ? type : value;
}

/* a += b evaluates a, then b. */
static void augmented(struct reader *r)
{
	struct bind_target t = { BIND_AUGMENT, FACTS_NONE, FACTS_NONE };
	uint32_t place, at;

	if (!down(r))
		return;
	place = reader_expr(r);
	at = reader_operator(r);
	while (next(r))
		t.value = assigned(r);
	if (t.value == FACTS_NONE)
		return;
	reader_augment(r, at, place, t.value);
	if (expr_at(r, place)->kind == EXPR_NAME)
		add_to_all(r, expr_at(r, place)->a, t.value, false);
	reader_bind_place(r, place, t);
}

/* __all__.extend([...]), __all__.append("..."); others make it unknown. */
static void call_on_all(struct reader *r, uint32_t e)
{
	const struct facts_expr *call = expr_at(r, e), *callee;
	uint32_t items = r->items.count;
	uint32_t arg = FACTS_NONE;

	if (r->unit->kind != UNIT_MODULE || call->kind != EXPR_CALL)
		return;
	callee = expr_at(r, call->a);
	if (callee->kind != EXPR_ATTR || !NAME_IS(r, callee->a, "__all__"))
		return;
	if (call->c == 1)
		arg = r->lists.at[r->unit->lists.from + call->b];
	if (arg != FACTS_NONE && ATTR_IS(r, call->a, "append")) {
		array_push(&r->items, arg);
		arg = reader_of_items(r, EXPR_LIST, items);
	} else if (!ATTR_IS(r, call->a, "extend")) {
		arg = FACTS_NONE;
	}
	reader_note_all(r, arg, false);
}

/* sys.exit() is a raise. */
static bool is_exit(struct reader *r, uint32_t e)
{
	const struct facts_expr *x = expr_at(r, e);

	return x->kind == EXPR_CALL && ATTR_IS(r, x->a, "exit") &&
	       NAME_IS(r, expr_at(r, x->a)->a, "sys");
}

/* A string as a statement is documentation and gives no facts. */
static unsigned expression_statement(struct reader *r)
{
	unsigned flow = FLOW_ON;
	uint32_t e;
	bool ok;

	for (ok = down(r); ok; ok = next(r)) {
		if (r->syn == SYN_ASSIGNMENT)
			(void)assignment(r);
		else if (r->syn == SYN_AUGMENTED_ASSIGNMENT)
			augmented(r);
		else if (!reader_is_plain_string(r)) {
			e = reader_expr(r);
			call_on_all(r, e);
			reader_bind_call(r, e);
			if (is_exit(r, e))
				flow = 0;
		}
	}
	return flow;
}

facts_str reader_leading_name(struct reader *r)
{
	facts_str name = 0;
	int depth = 0;

	for (; r->syn != SYN_IDENTIFIER && down_quiet(r); depth++)
		continue;
	if (r->syn == SYN_IDENTIFIER)
		name = string_of(r, r->node);
	while (depth-- > 0)
		reader_up(r);
	return name;
}

static unsigned type_alias(struct reader *r)
{
	uint32_t value = FACTS_NONE;
	facts_str name;

	if (!down_quiet(r))
		return FLOW_ON;
	/* The grammar takes type(a).b = c for an alias. */
	if (char_at(r, start_of(r->node)) == '(') {
		(void)reader_expr(r);
		while (next(r))
			(void)reader_expr(r);
		return FLOW_ON;
	}
	while (next_quiet(r))
		value = reader_type(r);
	if (!down(r))
		return FLOW_ON;
	name = reader_leading_name(r);
	done(r);
	if (!name || value == FACTS_NONE)
		return FLOW_ON;
	reader_bind_name(r, name,
			 (struct bind_target){ BIND_VALUE, value, FACTS_NONE });
	return FLOW_ON;
}

static unsigned return_statement(struct reader *r)
{
	uint32_t value = FACTS_NONE;
	bool ok;

	for (ok = down(r); ok; ok = next(r))
		value = reader_expr(r);
	if (r->unit->kind == UNIT_FUNCTION)
		array_push(&r->returns, value);
	return 0;
}

static unsigned raise_statement(struct reader *r)
{
	expressions(r);
	return 0;
}

static unsigned print_statement(struct reader *r)
{
	expressions(r);
	return FLOW_ON;
}

/* The message is evaluated when the condition fails: its checks are moot. */
static unsigned assert_statement(struct reader *r)
{
	uint32_t from = r->checks.count;
	uint32_t to = from;
	bool ok, first = true;

	for (ok = down(r); ok; ok = next(r)) {
		uint32_t e = reader_expr(r);

		if (first)
			reader_test(r, e);
		if (first)
			to = r->checks.count;
		first = false;
	}
	reader_narrow(r, from, to, true);
	return FLOW_ON;
}

static unsigned delete_statement(struct reader *r)
{
	struct bind_target t = { BIND_DELETE, FACTS_NONE, FACTS_NONE };
	bool ok;

	for (ok = down(r); ok; ok = next(r))
		reader_target(r, t);
	return FLOW_ON;
}

static unsigned outer_statement(struct reader *r)
{
	uint8_t kind = r->syn == SYN_GLOBAL_STATEMENT ? 1 : 2;
	struct reader_outer o;
	bool ok;

	for (ok = down(r); ok; ok = next(r)) {
		o = (struct reader_outer){ string_of(r, r->node), kind };
		array_push(&r->outers, o);
	}
	return FLOW_ON;
}

static unsigned pass_statement(struct reader *r)
{
	(void)r;
	return FLOW_ON;
}

static unsigned break_statement(struct reader *r)
{
	(void)r;
	return FLOW_BREAK;
}

static unsigned continue_statement(struct reader *r)
{
	(void)r;
	return 0;
}

/* The indentation of a line that begins at `at`; FACTS_NONE: none does. */
static uint32_t indentation(const struct reader *r, uint32_t at)
{
	uint32_t from = at;

	while (from > 0 &&
	       (r->text[from - 1] == ' ' || r->text[from - 1] == '\t'))
		from--;
	/* A byte order mark may stand before the first line. */
	if (from == 3 && !memcmp(r->text, "\xef\xbb\xbf", 3))
		return at - from;
	/* A form feed resets the column. */
	if (from > 0 && !strchr("\n\r\f", r->text[from - 1]))
		return FACTS_NONE;
	return at - from;
}

/*
 * Does the line before `at`, where a line begins, end in a backslash? Then the
 * indentation of this one means nothing.
 */
static bool is_continued(const struct reader *r, uint32_t at)
{
	while (at > 0 && strchr("\r\n", r->text[at - 1]))
		at--;
	return at > 0 && r->text[at - 1] == '\\';
}

static unsigned definition(struct reader *r)
{
	if (indentation(r, start_of(r->node)) == FACTS_NONE)
		r->joined = true;
	reader_def(r);
	return FLOW_ON;
}

typedef unsigned stmt_reader(struct reader *r);

static stmt_reader *const readers[SYNS] = {
	[SYN_EXPRESSION_STATEMENT] = expression_statement,
	[SYN_IMPORT_STATEMENT] = reader_import,
	[SYN_IMPORT_FROM_STATEMENT] = reader_import_from,
	[SYN_FUTURE_IMPORT_STATEMENT] = reader_import_from,
	[SYN_PRINT_STATEMENT] = print_statement,
	[SYN_EXEC_STATEMENT] = print_statement,
	[SYN_ASSERT_STATEMENT] = assert_statement,
	[SYN_RETURN_STATEMENT] = return_statement,
	[SYN_DELETE_STATEMENT] = delete_statement,
	[SYN_RAISE_STATEMENT] = raise_statement,
	[SYN_PASS_STATEMENT] = pass_statement,
	[SYN_BREAK_STATEMENT] = break_statement,
	[SYN_CONTINUE_STATEMENT] = continue_statement,
	[SYN_GLOBAL_STATEMENT] = outer_statement,
	[SYN_NONLOCAL_STATEMENT] = outer_statement,
	[SYN_TYPE_ALIAS_STATEMENT] = type_alias,
	[SYN_IF_STATEMENT] = reader_if,
	[SYN_FOR_STATEMENT] = reader_for,
	[SYN_WHILE_STATEMENT] = reader_while,
	[SYN_TRY_STATEMENT] = reader_try,
	[SYN_WITH_STATEMENT] = reader_with,
	[SYN_MATCH_STATEMENT] = reader_match,
	[SYN_FUNCTION_DEFINITION] = definition,
	[SYN_CLASS_DEFINITION] = definition,
	[SYN_DECORATED_DEFINITION] = definition,
};

bool reader_is_stmt(enum syn syn)
{
	return readers[syn] != NULL;
}

static bool is_simple(enum syn syn)
{
	return syn >= SYN_EXPRESSION_STATEMENT &&
	       syn <= SYN_TYPE_ALIAS_STATEMENT;
}

/* After the string that begins at `at`; `end`, if it is not closed. */
static uint32_t behind_string(const struct reader *r, uint32_t at, uint32_t end)
{
	const char *text = r->text;
	char quote = text[at];
	bool triple =
		at + 2 < end && text[at + 1] == quote && text[at + 2] == quote;

	for (at += triple ? 3 : 1; at < end; at++) {
		if (text[at] == '\\')
			at++;
		else if (text[at] == quote && !triple)
			return at + 1;
		else if (text[at] == quote && at + 2 < end &&
			 text[at + 1] == quote && text[at + 2] == quote)
			return at + 3;
	}
	return end;
}

static uint32_t behind_line(const struct reader *r, uint32_t at, uint32_t end)
{
	while (at < end && r->text[at] != '\n')
		at++;
	return at;
}

/*
 * Does a statement continue in a next line without a bracket, a string or a
 * backslash? The parser accepts such where the grammar is ambiguous, and which
 * way it decides depends on the text after it.
 */
static bool goes_on_bare(const struct reader *r, uint32_t at, uint32_t end)
{
	int depth = 0;

	while (at < end) {
		char c = r->text[at];

		if (c == '\'' || c == '"') {
			at = behind_string(r, at, end);
			continue;
		}
		if (c == '#') {
			at = behind_line(r, at, end);
			continue;
		}
		if (c == '(' || c == '[' || c == '{')
			depth++;
		else if (c == ')' || c == ']' || c == '}')
			depth--;
		else if (c == '\\')
			at += char_at(r, at + 1) == '\r' ? 2 : 1;
		else if (c == '\n' && depth <= 0)
			return true;
		at++;
	}
	return false;
}

/* A statement without blocks: its text belongs to the module or a variable. */
static unsigned simple(struct reader *r)
{
	TSPoint last = ts_node_end_point(r->node);
	unsigned flow;

	r->stmt_start = start_of(r->node);
	r->stmt_end = end_of(r->node);
	r->stmt_row = r->line + r->span->row;
	r->stmt_last_row = last.row;
	if (r->stmt_last_row > r->stmt_row &&
	    goes_on_bare(r, r->stmt_start, r->stmt_end))
		r->joined = true;
	r->piece = FACTS_NONE;
	r->assigning = r->unit->kind == UNIT_MODULE &&
		       (r->syn == SYN_EXPRESSION_STATEMENT ||
			r->syn == SYN_TYPE_ALIAS_STATEMENT);
	flow = readers[r->syn](r);
	r->assigning = false;
	if (r->unit->kind == UNIT_MODULE && r->piece == FACTS_NONE)
		reader_add_piece(r, r->stmt_start, r->stmt_end);
	r->span->end = r->stmt_end;
	r->span->last_row = r->stmt_last_row;
	return flow;
}

unsigned reader_stmt(struct reader *r)
{
	uint32_t checks = r->checks.count;
	unsigned flow = FLOW_ON;

	if (!readers[r->syn] || is_too_deep(r))
		return flow;
	r->line = ts_node_start_point(r->node).row - r->span->row;
	r->depth++;
	if (is_simple(r->syn))
		flow = simple(r);
	else
		flow = readers[r->syn](r);
	r->depth--;
	r->checks.count = checks;
	return flow;
}

/*
 * The statements of a block. The parser accepts blocks whose lines do not begin
 * in one column; Python does not.
 */
unsigned reader_suite(struct reader *r)
{
	uint32_t expected = FACTS_NONE, column;
	unsigned flow = FLOW_ON, one;
	bool first = true;
	bool ok;

	r->block_depth++;
	for (ok = down(r); ok; ok = next(r)) {
		column = indentation(r, start_of(r->node));
		if (first)
			expected = column;
		else if (column != FACTS_NONE && column != expected)
			r->uneven = true;
		if (column != FACTS_NONE &&
		    is_continued(r, start_of(r->node) - column))
			r->joined = true;
		first = false;
		one = reader_stmt(r);
		flow = (flow & one & FLOW_ON) | ((flow | one) & FLOW_BREAK);
	}
	r->block_depth--;
	/* Only a module may be empty. */
	if (first && (r->block_depth || r->unit->kind != UNIT_MODULE))
		r->hollow = true;
	return flow;
}
