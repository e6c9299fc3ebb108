#include "tests/support/facts_dump.h"

#include <inttypes.h>

struct dump {
	FILE *out;
	const struct facts *f;
	const struct facts_unit *u;
};

static const char *text(const struct dump *d, facts_str s)
{
	return s == FACTS_NONE ? "-" : facts_string(d->f, s, NULL);
}

static void expr(const struct dump *d, uint32_t n);

static void items(const struct dump *d, uint32_t from, uint32_t count)
{
	const uint32_t *lists = facts_lists(d->f, d->u) + from;

	for (uint32_t i = 0; i < count; i++) {
		(void)fputs(i ? ", " : "", d->out);
		expr(d, lists[i]);
	}
}

static void bracketed(const struct dump *d, const char *open,
		      const struct facts_expr *e, const char *close)
{
	(void)fputs(open, d->out);
	items(d, e->b, e->c);
	(void)fputs(close, d->out);
}

static void around(const struct dump *d, const char *open, uint32_t e,
		   const char *close)
{
	(void)fputs(open, d->out);
	expr(d, e);
	(void)fputs(close, d->out);
}

static void dict(const struct dump *d, const struct facts_expr *e)
{
	const uint32_t *lists = facts_lists(d->f, d->u) + e->b;

	(void)fputc('{', d->out);
	for (uint32_t i = 0; i < e->c; i += 2) {
		(void)fputs(i ? ", " : "", d->out);
		if (lists[i] == FACTS_NONE)
			(void)fputs("**", d->out);
		else
			around(d, "", lists[i], ": ");
		expr(d, lists[i + 1]);
	}
	(void)fputc('}', d->out);
}

static void constant(const struct dump *d, const struct facts_expr *e)
{
	static const char *const names[] = { "None", "bool",  "int", "float",
					     "str",  "bytes", "..." };

	if (e->a == CONST_STR && e->b != FACTS_NONE)
		(void)fprintf(d->out, "'%s'", text(d, e->b));
	else if (e->a == CONST_INT && e->b != FACTS_NONE)
		(void)fprintf(d->out, "%" PRIu32, e->b);
	else if (e->a == CONST_BOOL)
		(void)fputs(e->b == 1 ? "True" : "False", d->out);
	else
		(void)fputs(names[e->a], d->out);
}

static void binary(const struct dump *d, const struct facts_expr *e)
{
	static const char *const names[OP_KINDS] = {
		"?",  "not", "-",  "+",	 "~", "|",  "^",  "&", "<<",
		">>", "+",   "-",  "*",	 "@", "/",  "//", "%", "**",
		"<",  "<=",  "==", "!=", ">", ">=", "in"
	};
	const char *name = names[e->c & ~(uint32_t)OP_INPLACE];

	if (e->b == FACTS_NONE) {
		(void)fprintf(d->out, "%s ", name);
		expr(d, e->a);
		return;
	}
	around(d, "(", e->a, " ");
	(void)fprintf(d->out, "%s%s ", name, e->c & OP_INPLACE ? "=" : "");
	around(d, "", e->b, ")");
}

static void made(const struct dump *d, const struct facts_expr *e)
{
	switch (e->kind) {
	case EXPR_ITER:
		around(d, e->b ? "aiter(" : "iter(", e->a, ")");
		break;
	case EXPR_ENTER:
		around(d, e->b ? "aenter(" : "enter(", e->a, ")");
		break;
	case EXPR_ITEM:
		around(d, e->c & 2 ? "rest(" : "item(", e->a, "");
		(void)fprintf(d->out, ", %s%" PRIu32 ")",
			      e->c & 1 ? "end-" : "", e->b);
		break;
	case EXPR_CAUGHT:
		around(d, "caught(", e->a, ")");
		break;
	case EXPR_NARROW:
		around(d, "narrow(", e->a, e->c ? ", not " : ", ");
		around(d, "", e->b, ")");
		break;
	case EXPR_STORE:
		around(d, "store(", e->a, e->b == FACTS_NONE ? ")" : ", ");
		if (e->b != FACTS_NONE)
			around(d, "", e->b, ")");
		break;
	case EXPR_PLACE:
		around(d, "place(", e->a, ".");
		(void)fprintf(d->out, "%s)", text(d, e->b));
		break;
	default:
		(void)fputs("?", d->out);
		break;
	}
}

static void scoped(const struct dump *d, const struct facts_expr *e)
{
	static const char *const names[] = { "list", "set", "dict",
					     "generator" };

	if (e->kind == EXPR_LAMBDA)
		(void)fprintf(d->out, "lambda#%" PRIu32 "(", e->b);
	else
		(void)fprintf(d->out, "%s#%" PRIu32 "(", names[e->c], e->b);
	around(d, "", e->a, ")");
}

/* One side of a slice. */
static void side(const struct dump *d, uint32_t number)
{
	if (number == FACTS_OTHER)
		(void)fputc('?', d->out);
	else if (number != FACTS_NONE)
		(void)fprintf(d->out, "%" PRIu32, number);
}

static void written(const struct dump *d, const struct facts_expr *e)
{
	switch (e->kind) {
	case EXPR_NAME:
		(void)fputs(text(d, e->a), d->out);
		break;
	case EXPR_ATTR:
		around(d, "", e->a, ".");
		(void)fputs(text(d, e->b), d->out);
		break;
	case EXPR_CALL:
		expr(d, e->a);
		bracketed(d, "(", e, ")");
		break;
	case EXPR_KEYWORD:
		(void)fprintf(d->out, "%s=", text(d, e->b));
		expr(d, e->a);
		break;
	case EXPR_STAR:
		around(d, "*", e->a, "");
		break;
	case EXPR_STARS:
		around(d, "**", e->a, "");
		break;
	case EXPR_INDEX:
		around(d, "", e->a, "[");
		around(d, "", e->b, "]");
		break;
	case EXPR_SLICE:
		side(d, e->a);
		(void)fputc(':', d->out);
		side(d, e->b);
		if (e->c)
			(void)fputc(':', d->out);
		break;
	case EXPR_CONST:
		constant(d, e);
		break;
	case EXPR_AWAIT:
		around(d, "await ", e->a, "");
		break;
	case EXPR_YIELD:
		(void)fputs(e->b ? "yield from " : "yield ", d->out);
		expr(d, e->a);
		break;
	default:
		made(d, e);
		break;
	}
}

static void expr(const struct dump *d, uint32_t n)
{
	const struct facts_expr *e = &facts_exprs(d->f, d->u)[n];

	if (n == FACTS_NONE) {
		(void)fputs("-", d->out);
		return;
	}
	switch (e->kind) {
	case EXPR_TUPLE:
		bracketed(d, "(", e, e->c == 1 ? ",)" : ")");
		break;
	case EXPR_LIST:
		bracketed(d, "[", e, "]");
		break;
	case EXPR_SET:
		bracketed(d, "{", e, "}");
		break;
	case EXPR_DICT:
		dict(d, e);
		break;
	case EXPR_EITHER:
		bracketed(d, "either(", e, ")");
		break;
	case EXPR_BINARY:
		binary(d, e);
		break;
	case EXPR_LAMBDA:
	case EXPR_COMP:
		scoped(d, e);
		break;
	default:
		written(d, e);
		break;
	}
}

static void list(const struct dump *d, const char *name,
		 struct facts_range range)
{
	if (!range.count)
		return;
	(void)fprintf(d->out, "  %s ", name);
	items(d, range.from, range.count);
	(void)fputc('\n', d->out);
}

static void params(const struct dump *d)
{
	static const char *const signs[] = { "", "*", "**", "kw " };
	const struct facts_param *p = facts_params(d->f, d->u);

	for (uint32_t i = 0; i < d->u->params.count; i++, p++) {
		(void)fprintf(d->out, "  param %s%s", signs[p->kind],
			      text(d, p->name));
		if (p->annotation != FACTS_NONE)
			around(d, ": ", p->annotation, "");
		if (p->preset != FACTS_NONE)
			around(d, " = ", p->preset, "");
		(void)fputc('\n', d->out);
	}
}

static void head(const struct dump *d)
{
	list(d, "decorators", d->u->decorators);
	list(d, "bases", d->u->bases);
	params(d);
	if (d->u->returns_annotation != FACTS_NONE)
		around(d, "  -> ", d->u->returns_annotation, "\n");
	list(d, "returns", d->u->returns);
	list(d, "yields", d->u->yields);
}

static void blocks(const struct dump *d)
{
	static const char *const names[] = { "header", "top", "branch",
					     "loop" };
	const struct facts_block *b = facts_blocks(d->f, d->u);

	for (uint32_t i = 0; i < d->u->blocks.count; i++, b++) {
		(void)fprintf(d->out, "  block %" PRIu32 " %s", i,
			      names[b->kind]);
		if (b->parent != FACTS_NONE)
			(void)fprintf(d->out, " in %" PRIu32, b->parent);
		(void)fprintf(d->out, " scope %" PRIu32 " to %" PRIu32 "\n",
			      b->scope, b->end);
	}
}

static void import(const struct dump *d, const struct facts_bind *b)
{
	if (b->kind == BIND_IMPORT)
		(void)fprintf(d->out, "import %s%s", text(d, b->module),
			      b->extra ? " as" : "");
	else
		(void)fprintf(d->out, "from %" PRIu8 " '%s' import %s",
			      b->level, text(d, b->module),
			      b->kind == BIND_STAR ? "*" : text(d, b->value));
}

static void bound(const struct dump *d, const struct facts_bind *b)
{
	switch (b->kind) {
	case BIND_VALUE:
	case BIND_NARROW:
	case BIND_STORE:
		around(d, "= ", b->value, "");
		break;
	case BIND_AUGMENT:
		around(d, "+= ", b->value, "");
		break;
	case BIND_ANNOTATION:
		around(d, ": ", b->value, "");
		break;
	case BIND_TYPED:
		around(d, ": ", b->value, " = ");
		expr(d, b->extra);
		break;
	case BIND_DEF:
		(void)fprintf(d->out, "unit +%" PRIu32, b->value);
		break;
	case BIND_PARAM:
		(void)fputs("param", d->out);
		if (b->block != 1)
			around(d, " = ", b->value, "");
		break;
	case BIND_DELETE:
		(void)fputs("del", d->out);
		break;
	default:
		import(d, b);
		break;
	}
}

static void binds(const struct dump *d)
{
	static const char *const outers[] = { "", " global", " nonlocal" };
	const struct facts_bind *b = facts_binds(d->f, d->u);
	const struct facts_attr *a = facts_attrs(d->f, d->u);
	uint32_t i;

	for (i = 0; i < d->u->binds.count; i++, b++) {
		(void)fprintf(d->out, "  %" PRIu32 ": %s ", b->block,
			      text(d, b->name));
		bound(d, b);
		(void)fprintf(d->out, "%s\n", outers[b->outer]);
	}
	for (i = 0; i < d->u->attrs.count; i++, a++) {
		(void)fprintf(d->out, "  self.%s", text(d, a->name));
		if (a->annotation != FACTS_NONE)
			around(d, ": ", a->annotation, "");
		if (a->value != FACTS_NONE)
			around(d, " = ", a->value, "");
		(void)fputc('\n', d->out);
	}
}

static unsigned dumped_as(uint8_t kind)
{
	if (kind <= SITE_DECORATOR)
		return DUMP_CALLS;
	return kind <= SITE_LOCAL ? DUMP_READS : DUMP_IMPLIED;
}

static void sites(const struct dump *d, unsigned what)
{
	static const char *const names[SITE_KINDS] = {
		"call",	    "decorator", "read",   "name",   "local",
		"get",	    "set",	 "delete", "item",   "item set",
		"item del", "operator",	 "iter",   "aiter",  "with",
		"awith",    "await",	 "test",   "format", "str",
		"repr"
	};
	const struct facts_site *s = facts_sites(d->f, d->u);

	for (uint32_t i = 0; i < d->u->sites.count; i++, s++) {
		if (!(what & dumped_as(s->kind)))
			continue;
		(void)fprintf(d->out, "  %s ", names[s->kind]);
		expr(d, s->expr);
		(void)fprintf(d->out, " @%" PRIu32 ":%u\n", s->line,
			      (unsigned)s->column);
	}
}

static void exprs(const struct dump *d)
{
	const struct facts_expr *e = facts_exprs(d->f, d->u);

	for (uint32_t i = 0; i < d->u->exprs.count; i++, e++) {
		(void)fprintf(d->out, "  #%" PRIu32 " ", i);
		expr(d, i);
		if (e->kind == EXPR_NAME || e->kind == EXPR_ATTR)
			(void)fprintf(d->out, " in %" PRIu32,
				      e->kind == EXPR_NAME ? e->b : e->c);
		(void)fputc('\n', d->out);
	}
}

static void hash(FILE *out, const char *name, XXH128_hash_t h)
{
	(void)fprintf(out, "  %s %016" PRIx64 "%016" PRIx64 "\n", name,
		      (uint64_t)h.high64, (uint64_t)h.low64);
}

static void title(const struct dump *d, uint32_t n)
{
	static const char *const kinds[] = { "module", "class", "function" };
	static const char *const flags[] = { " async", " generator", " method",
					     " broken", " conditional" };

	(void)fprintf(d->out, "%" PRIu32 " %s %s", n, kinds[d->u->kind],
		      text(d, d->u->name));
	for (unsigned i = 0; i < 5; i++)
		if (d->u->flags & (1u << i))
			(void)fputs(flags[i], d->out);
	(void)fputc('\n', d->out);
}

static void places(const struct dump *d)
{
	const struct facts_unit *u = d->u;

	(void)fprintf(d->out,
		      "  bytes %" PRIu32 "..%" PRIu32 " body +%" PRIu32
		      " line %" PRIu32 " lines %" PRIu32 " name +%" PRIu32
		      " parent -%" PRIu32 " units %" PRIu32 "\n",
		      u->start, u->end, u->body, u->line, u->lines,
		      u->name_line, u->parent, u->units);
}

void facts_dump_expr(FILE *out, const struct facts *f,
		     const struct facts_unit *u, uint32_t e)
{
	const struct dump d = { out, f, u };

	expr(&d, e);
}

void facts_dump_unit(FILE *out, const struct facts *f, uint32_t unit,
		     unsigned what)
{
	const struct facts_unit *u = &facts_units(f)[unit];
	const struct dump d = { out, f, u };

	title(&d, unit);
	if (what & DUMP_PLACES)
		places(&d);
	if (what & DUMP_HEAD)
		head(&d);
	if (what & DUMP_BLOCKS)
		blocks(&d);
	if (what & DUMP_BINDS)
		binds(&d);
	sites(&d, what);
	if (what & DUMP_EXPRS)
		exprs(&d);
	if (what & DUMP_HASHES) {
		(void)fprintf(out,
			      "  cut %" PRIx64 " %" PRIx64 " %" PRIx64 "\n",
			      u->gap, u->head, u->tail);
		hash(out, "body", u->hash);
		hash(out, "meaning", u->meaning);
	}
}

void facts_dump(FILE *out, const struct facts *f, unsigned what)
{
	const uint32_t *lists = facts_at(f, f->lists);
	const struct facts_variable *v = facts_variables(f);
	uint32_t i;

	for (i = 0; i < f->units_count; i++)
		facts_dump_unit(out, f, i, what);
	for (i = 0; i < f->variables_count; i++) {
		(void)fprintf(
			out, "variable %s line %" PRIu32 " lines %" PRIu32 "\n",
			facts_string(f, v[i].name, NULL), v[i].line,
			v[i].lines);
		if (what & DUMP_HASHES)
			hash(out, "body", v[i].hash);
	}
	if (f->has_all) {
		(void)fputs("all", out);
		for (i = 0; i < f->all.count; i++)
			(void)fprintf(
				out, " %s",
				facts_string(f, lists[f->all.from + i], NULL));
		(void)fputc('\n', out);
	}
	if (f->broken)
		(void)fputs("broken\n", out);
}
