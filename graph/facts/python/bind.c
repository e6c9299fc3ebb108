/*
 * Bindings: targets of assignments and loops, imports, and __all__.
 */
#include "graph/facts/python/reader_i.h"

/*
 * The text of a statement at module level that assigns to plain names belongs
 * to these variables, and not to the module.
 */
static void note_variable(struct reader *r, facts_str name)
{
	uint32_t *last = pairs_at(&r->variable_of, name, 0, FACTS_NONE);
	uint32_t piece = r->pieces.count;
	struct facts_variable *v;
	struct reader_piece *p;

	if (*last != FACTS_NONE && r->pieces.at[*last].start == r->stmt_start)
		return;
	r->piece = piece;
	p = array_add(&r->pieces);
	p->start = r->stmt_start;
	p->end = r->stmt_end;
	p->next = FACTS_NONE;
	if (*last != FACTS_NONE) {
		r->pieces.at[*last].next = piece;
		p->variable = r->pieces.at[*last].variable;
	} else {
		p->variable = r->variables.count;
		v = array_add(&r->variables);
		v->name = name;
		v->line = r->stmt_row;
		v->lines = r->stmt_last_row - r->stmt_row + 1;
		array_push(&r->first_pieces, piece);
	}
	*last = piece;
}

struct facts_bind *reader_bind(struct reader *r, enum facts_bind_kind kind,
			       facts_str name, uint32_t value)
{
	struct facts_bind *b = array_add(&r->binds);

	b->kind = (uint8_t)kind;
	b->name = name;
	b->value = value;
	b->extra = FACTS_NONE;
	b->module = FACTS_NONE;
	b->block = r->block;
	b->at = expr_count(r);
	b->line = r->line;
	return b;
}

/* Is it self.name, in a method whose first parameter is self? */
static void note_attr(struct reader *r, facts_str object, facts_str name,
		      struct bind_target t)
{
	const struct facts_unit *u = r->unit;
	struct facts_attr *a;

	if (!(u->flags & UNIT_METHOD) || r->params.count == u->params.from ||
	    r->params.at[u->params.from].name != object)
		return;
	if (t.kind != BIND_VALUE && t.kind != BIND_TYPED &&
	    t.kind != BIND_ANNOTATION)
		return;
	a = array_add(&r->attrs);
	a->name = name;
	a->value = t.kind == BIND_VALUE	  ? t.value
		   : t.kind == BIND_TYPED ? t.extra
					  : FACTS_NONE;
	a->annotation = t.kind == BIND_VALUE ? FACTS_NONE : t.value;
	a->line = r->line;
}

static void bind_attribute(struct reader *r, uint32_t object, facts_str name,
			   struct bind_target t)
{
	const struct facts_expr *of = expr_at(r, object);
	facts_str variable = of->a;
	bool named = of->kind == EXPR_NAME;

	if (!name)
		return;
	if (t.kind != BIND_ANNOTATION) {
		struct reader_place place =
			r->places.at[r->unit->exprs.from + object];
		uint32_t e = reader_make(r, EXPR_PLACE, object, name, 0);

		reader_add_site(r,
				t.kind == BIND_DELETE ? SITE_DELETE : SITE_SET,
				e, place);
	}
	if (!named)
		return;
	note_attr(r, variable, name, t);
	name = reader_dotted(r, variable, name);
	reader_bind(r, t.kind, name, t.value)->extra = t.extra;
}

/* Can a stored value be called, or lead to something that can? */
static bool is_of_use(const struct reader *r, uint32_t e)
{
	const struct facts_expr *x = expr_at(r, e);

	return x->kind != EXPR_CONST && x->kind != EXPR_UNKNOWN &&
	       (x->kind != EXPR_BINARY || x->c == OP_OR || x->c == OP_ADD);
}

/* `e` puts `value` into the container that `place` names. */
static void bind_store(struct reader *r, uint32_t place, uint32_t e,
		       uint32_t value)
{
	facts_str name = reader_place_name(r, place);
	struct bind_target t = { BIND_VALUE, FACTS_NONE, FACTS_NONE };
	const struct facts_expr *x;

	if (name == FACTS_NONE || !name)
		return;
	t.value = reader_make(r, EXPR_STORE, e, value, 0);
	x = expr_at(r, place);
	if (x->kind == EXPR_ATTR)
		note_attr(r, expr_at(r, x->a)->a, x->b, t);
	(void)reader_bind(r, BIND_STORE, name, t.value);
}

/* a[b] = value binds no name; it evaluates a and b, and stores in a. */
static void target_item(struct reader *r, struct bind_target t)
{
	uint32_t e = reader_expr(r), place = e;

	if (expr_at(r, e)->kind == EXPR_INDEX)
		expr_at(r, e)->c =
			t.kind == BIND_DELETE ? ACCESS_DELETE : ACCESS_STORE;
	while (expr_at(r, place)->kind == EXPR_INDEX)
		place = expr_at(r, place)->a;
	if (place != e && t.kind == BIND_VALUE && t.value != FACTS_NONE &&
	    is_of_use(r, t.value))
		bind_store(r, place, e, t.value);
}

void reader_bind_call(struct reader *r, uint32_t call)
{
	const struct facts_expr *x = expr_at(r, call);
	uint32_t place;

	if (x->kind != EXPR_CALL || !x->c || !ATTR_IS(r, x->a, "update"))
		return;
	place = expr_at(r, x->a)->a;
	bind_store(r, place, call, FACTS_NONE);
}

void reader_bind_name(struct reader *r, facts_str name, struct bind_target t)
{
	if (!name)
		return;
	if (r->assigning && r->scope == 0)
		note_variable(r, name);
	reader_bind(r, t.kind, name, t.value)->extra = t.extra;
}

void reader_bind_place(struct reader *r, uint32_t expr, struct bind_target t)
{
	const struct facts_expr *e = expr_at(r, expr);

	if (e->kind == EXPR_NAME)
		reader_bind_name(r, e->a, t);
	else if (e->kind == EXPR_ATTR)
		bind_attribute(r, e->a, e->b, t);
}

static void target_chain(struct reader *r, uint32_t dot, struct bind_target t)
{
	uint32_t object = reader_chain(r, dot);
	facts_str name = strings_add(&r->strings, r->text + dot + 1,
				     end_of(r->node) - dot - 1);

	bind_attribute(r, object, name, t);
}

static void target_attribute(struct reader *r, struct bind_target t)
{
	uint32_t dot = reader_last_dot(r);
	uint32_t object;
	facts_str name;

	if (dot) {
		target_chain(r, dot, t);
		return;
	}
	if (!down(r))
		return;
	object = reader_expr(r);
	if (!next(r))
		return;
	name = string_of(r, r->node);
	done(r);
	bind_attribute(r, object, name, t);
}

/* Which child is starred, FACTS_NONE: none; and how many there are. */
static uint32_t find_star(struct reader *r, uint32_t *ret_count)
{
	uint32_t star = FACTS_NONE;
	uint32_t n = 0;
	bool ok;

	for (ok = down_quiet(r); ok; ok = next_quiet(r), n++)
		if (r->syn == SYN_LIST_SPLAT_PATTERN ||
		    r->syn == SYN_LIST_SPLAT)
			star = n;
	*ret_count = n;
	return star;
}

uint32_t reader_item(struct reader *r, uint32_t value, uint32_t i,
		     uint32_t star, uint32_t count)
{
	if (value == FACTS_NONE)
		return FACTS_NONE;
	if (star == FACTS_NONE || i < star)
		return reader_make(r, EXPR_ITEM, value, i, 0);
	if (i == star)
		return reader_make(r, EXPR_ITEM, value, i, 2);
	return reader_make(r, EXPR_ITEM, value, count - 1 - i, 1);
}

static void target_items(struct reader *r, struct bind_target t)
{
	uint32_t count, i = 0;
	uint32_t star = find_star(r, &count);
	struct bind_target item = t;
	bool ok;

	for (ok = down(r); ok; ok = next(r), i++) {
		item.value = reader_item(r, t.value, i, star, count);
		reader_target(r, item);
	}
}

static void target_inner(struct reader *r, struct bind_target t)
{
	bool ok;

	for (ok = down(r); ok; ok = next(r))
		reader_target(r, t);
}

static void target(struct reader *r, struct bind_target t)
{
	switch ((int)r->syn) {
	case SYN_IDENTIFIER:
		reader_bind_name(r, string_of(r, r->node), t);
		break;
	case SYN_ATTRIBUTE:
		target_attribute(r, t);
		break;
	case SYN_TUPLE_PATTERN:
	case SYN_LIST_PATTERN:
	case SYN_PATTERN_LIST:
	case SYN_EXPRESSION_LIST:
	case SYN_TUPLE:
	case SYN_LIST:
		target_items(r, t);
		break;
	case SYN_LIST_SPLAT_PATTERN:
	case SYN_LIST_SPLAT:
	case SYN_PARENTHESIZED_EXPRESSION:
	case SYN_AS_PATTERN_TARGET:
		target_inner(r, t);
		break;
	default:
		target_item(r, t);
		break;
	}
}

void reader_target(struct reader *r, struct bind_target t)
{
	if (is_too_deep(r))
		return;
	r->depth++;
	target(r, t);
	r->depth--;
}

/* "a.b.c" without the blanks that may stand between. */
static facts_str module_name(struct reader *r)
{
	bool ok;

	r->chars.count = 0;
	for (ok = down(r); ok; ok = next(r)) {
		uint32_t start = start_of(r->node);

		if (r->chars.count)
			array_push(&r->chars, '.');
		array_append(&r->chars, r->text + start,
			     end_of(r->node) - start);
	}
	return strings_add(&r->strings, r->chars.at, r->chars.count);
}

static facts_str first_part(struct reader *r, facts_str dotted)
{
	uint32_t from = dotted ? r->strings.ends.at[dotted - 1] : 0;
	const char *text = r->strings.text.at + from;
	const char *dot = strchr(text, '.');

	if (!dot)
		return dotted;
	r->chars.count = 0;
	array_append(&r->chars, text, (size_t)(dot - text));
	return strings_add(&r->strings, r->chars.at, r->chars.count);
}

/* `name` or `name as alias`; returns whether there is an alias. */
static bool imported(struct reader *r, facts_str *ret_name,
		     facts_str *ret_alias)
{
	if (r->syn != SYN_ALIASED_IMPORT) {
		*ret_name = module_name(r);
		return false;
	}
	*ret_name = 0;
	if (!down(r))
		return false;
	*ret_name = module_name(r);
	if (!next(r))
		return false;
	*ret_alias = string_of(r, r->node);
	done(r);
	return true;
}

unsigned reader_import(struct reader *r)
{
	facts_str module, name;
	struct facts_bind *b;
	bool ok, alias;

	for (ok = down(r); ok; ok = next(r)) {
		alias = imported(r, &module, &name);
		if (!alias)
			name = first_part(r, module);
		if (!module || !name)
			continue;
		b = reader_bind(r, BIND_IMPORT, name, FACTS_NONE);
		b->module = module;
		b->extra = alias;
	}
	return FLOW_ON;
}

/* The dots of `from ..a import b`, and the name after them. */
static facts_str relative(struct reader *r, uint8_t *ret_level)
{
	facts_str module = 0;
	uint32_t level = 0, i;
	bool ok;

	for (ok = down(r); ok; ok = next(r)) {
		if (r->syn != SYN_IMPORT_PREFIX) {
			module = module_name(r);
			continue;
		}
		for (i = start_of(r->node); i < end_of(r->node); i++)
			level += r->text[i] == '.';
	}
	*ret_level = level < UINT8_MAX ? (uint8_t)level : UINT8_MAX;
	return module;
}

static void import_name(struct reader *r, facts_str module, uint8_t level)
{
	facts_str value = FACTS_NONE, name = FACTS_NONE;
	struct facts_bind *b;

	if (r->syn == SYN_WILDCARD_IMPORT) {
		b = reader_bind(r, BIND_STAR, FACTS_NONE, FACTS_NONE);
	} else {
		if (!imported(r, &value, &name))
			name = value;
		if (!value || !name)
			return;
		b = reader_bind(r, BIND_FROM, name, value);
	}
	b->module = module;
	b->level = level;
}

unsigned reader_import_from(struct reader *r)
{
	bool future = r->syn == SYN_FUTURE_IMPORT_STATEMENT;
	facts_str module = 0;
	uint8_t level = 0;
	bool ok = down(r);

	if (future) {
		module = strings_add(&r->strings, "__future__", 10);
	} else if (ok) {
		module = r->syn == SYN_RELATIVE_IMPORT ? relative(r, &level)
						       : module_name(r);
		ok = next(r);
	}
	for (; ok; ok = next(r))
		import_name(r, module, level);
	return FLOW_ON;
}

/* Adds the strings of a display, or of a sum of displays, to __all__. */
static bool known_strings(struct reader *r, uint32_t expr)
{
	const struct facts_expr *e = expr_at(r, expr), *item;
	const uint32_t *items;
	uint32_t i;

	while (e->kind == EXPR_BINARY && e->c == OP_ADD && e->b != FACTS_NONE) {
		if (!known_strings(r, e->b))
			return false;
		e = expr_at(r, e->a);
	}
	if (e->kind != EXPR_LIST && e->kind != EXPR_TUPLE)
		return false;
	items = r->lists.at + r->unit->lists.from + e->b;
	for (i = 0; i < e->c; i++) {
		item = expr_at(r, items[i]);
		if (item->kind != EXPR_CONST || item->a != CONST_STR ||
		    item->b == FACTS_NONE)
			return false;
		array_push(&r->all, item->b);
	}
	return true;
}

void reader_note_all(struct reader *r, uint32_t expr, bool afresh)
{
	if (afresh) {
		r->all.count = 0;
		r->all_unknown = false;
	}
	r->all_seen = true;
	if (expr == FACTS_NONE || !known_strings(r, expr))
		r->all_unknown = true;
}
