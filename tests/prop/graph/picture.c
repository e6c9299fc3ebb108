#include "tests/prop/graph/picture.h"

#include <stdlib.h>
#include <string.h>

#define TOLD_MAX 12

static uint32_t number(struct intern *names, const char *text)
{
	return intern_add(names, text, strlen(text));
}

static const char *text_of(const struct intern *names, uint32_t n)
{
	return intern_text(names, n, NULL);
}

struct taker {
	struct intern *names;
	const struct graph *g;
	struct picture *p;
	uint32_t caller;
};

static bool take_edge(const struct edge *e, void *arg)
{
	struct taker *t = arg;
	struct symbol other;

	(void)graph_symbol(t->g, e->other, &other);
	array_push(
		&t->p->edges,
		((struct seen_edge){ t->caller, e->kind,
				     number(t->names, other.name), e->line }));
	return true;
}

static int compare_symbols(const void *a, const void *b)
{
	uint32_t x = ((const struct seen_symbol *)a)->name;
	uint32_t y = ((const struct seen_symbol *)b)->name;

	return (x > y) - (x < y);
}

static int compare_edges(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	for (size_t k = 0; k < sizeof(struct seen_edge) / sizeof(*x); k++)
		if (x[k] != y[k])
			return x[k] < y[k] ? -1 : 1;
	return 0;
}

static void take_symbol(struct taker *t, symbol_t s)
{
	struct seen_symbol *to;
	struct symbol is;

	if (!graph_symbol(t->g, s, &is))
		return;
	to = array_add(&t->p->symbols);
	to->name = number(t->names, is.name);
	to->file = number(t->names, is.file);
	to->kind = is.kind;
	to->start_line = is.start_line;
	to->end_line = is.end_line;
	to->definitions = is.definitions;
	to->broken = is.broken;
	to->low = is.hash.low64;
	to->high = is.hash.high64;
	t->caller = to->name;
	graph_out(t->g, s, (1u << EDGE_KINDS) - 1, take_edge, t);
}

void picture_take(struct intern *names, const struct graph *g,
		  struct picture *ret)
{
	struct taker t = { .names = names, .g = g, .p = ret };

	*ret = (struct picture){ .symbols = { .count = 0 } };
	for (symbol_t s = 0; s < graph_symbols_max(g); s++)
		take_symbol(&t, s);
	if (ret->symbols.count)
		qsort(ret->symbols.at, ret->symbols.count,
		      sizeof(*ret->symbols.at), compare_symbols);
	if (ret->edges.count)
		qsort(ret->edges.at, ret->edges.count, sizeof(*ret->edges.at),
		      compare_edges);
}

void picture_release(struct picture *p)
{
	array_release(&p->symbols);
	array_release(&p->edges);
}

static void tell_symbol(const struct intern *names, const char *what,
			const struct seen_symbol *s, FILE *out)
{
	static const char *const kinds[] = { "function", "method", "class",
					     "module", "variable" };

	(void)fprintf(out,
		      "  %s: %s %s, %s:%u-%u, %u definitions%s, "
		      "hash %016llx\n",
		      what, kinds[s->kind], text_of(names, s->name),
		      text_of(names, s->file), s->start_line, s->end_line,
		      s->definitions, s->broken ? ", broken" : "",
		      (unsigned long long)s->low);
}

static void tell_edge(const struct intern *names, const char *what,
		      const struct seen_edge *e, FILE *out)
{
	static const char *const kinds[] = { "calls",	  "inherits",
					     "overrides", "reads",
					     "imports",	  "implicitly calls",
					     "uses" };

	(void)fprintf(out, "  %s: %s %s %s, line %u\n", what,
		      text_of(names, e->caller), kinds[e->kind],
		      text_of(names, e->callee), e->line);
}

/* Compare two arrays sorted by name: entries of one alone, or different. */
static unsigned differ_symbols(const struct intern *names,
			       const struct picture *is,
			       const struct picture *should, FILE *out)
{
	uint32_t a = 0, b = 0;
	unsigned told = 0;

	while (told < TOLD_MAX &&
	       (a < is->symbols.count || b < should->symbols.count)) {
		const struct seen_symbol *x = is->symbols.at + a;
		const struct seen_symbol *y = should->symbols.at + b;
		int by = a == is->symbols.count	      ? 1
			 : b == should->symbols.count ? -1
						      : compare_symbols(x, y);

		a += by <= 0;
		b += by >= 0;
		/* NOLINTNEXTLINE(*-memory-comparison): zeroed. */
		if (by == 0 && memcmp(x, y, sizeof(*x)) == 0)
			continue;
		told++;
		if (by <= 0 && out)
			tell_symbol(names, "is", x, out);
		if (by >= 0 && out)
			tell_symbol(names, "should be", y, out);
	}
	return told;
}

static unsigned differ_edges(const struct intern *names,
			     const struct picture *is,
			     const struct picture *should, FILE *out)
{
	uint32_t a = 0, b = 0;
	unsigned told = 0;

	while (told < TOLD_MAX &&
	       (a < is->edges.count || b < should->edges.count)) {
		const struct seen_edge *x = is->edges.at + a;
		const struct seen_edge *y = should->edges.at + b;
		int by = a == is->edges.count	    ? 1
			 : b == should->edges.count ? -1
						    : compare_edges(x, y);

		a += by <= 0;
		b += by >= 0;
		if (by == 0)
			continue;
		told++;
		if (out)
			tell_edge(names, by < 0 ? "too much" : "missing",
				  by < 0 ? x : y, out);
	}
	return told;
}

bool picture_same(const struct intern *names, const struct picture *is,
		  const struct picture *should, FILE *out)
{
	unsigned told = differ_symbols(names, is, should, out);

	return differ_edges(names, is, should, out) + told == 0;
}

/* By brute force. */

typedef ARRAY(uint32_t) name_set;

static bool is_in_v(const struct seen_symbol *s)
{
	return s->kind == SYMBOL_FUNCTION || s->kind == SYMBOL_METHOD ||
	       s->kind == SYMBOL_CLASS;
}

/* The symbol on the same side of V; NULL: there is none. */
static const struct seen_symbol *find(const struct picture *p, uint32_t name,
				      bool in_v)
{
	struct seen_symbol key = { .name = name };
	const struct seen_symbol *s =
		p->symbols.count
			? bsearch(&key, p->symbols.at, p->symbols.count,
				  sizeof(key), compare_symbols)
			: NULL;

	return s && is_in_v(s) == in_v ? s : NULL;
}

static bool same_body(const struct seen_symbol *a, const struct seen_symbol *b)
{
	return a->low == b->low && a->high == b->high;
}

struct sets {
	name_set x, dx, added, extended_x, extended_r, extended_added;
};

static void sets_release(struct sets *s)
{
	array_release(&s->x);
	array_release(&s->dx);
	array_release(&s->added);
	array_release(&s->extended_x);
	array_release(&s->extended_r);
	array_release(&s->extended_added);
}

static void find_bodies(const struct picture *before,
			const struct picture *after, struct sets *ret)
{
	for (uint32_t k = 0; k < before->symbols.count; k++) {
		const struct seen_symbol *s = &before->symbols.at[k], *now;

		now = find(after, s->name, is_in_v(s));
		if (now && same_body(s, now))
			continue;
		if (is_in_v(s))
			array_push(&ret->x, s->name);
		else
			array_push(&ret->extended_x, s->name);
	}
	for (uint32_t k = 0; k < after->symbols.count; k++) {
		const struct seen_symbol *s = &after->symbols.at[k];

		if (find(before, s->name, is_in_v(s)))
			continue;
		if (is_in_v(s))
			array_push(&ret->added, s->name);
		else
			array_push(&ret->extended_added, s->name);
	}
}

static bool has_pair(const struct picture *p, const struct seen_edge *e)
{
	uint32_t low = 0, high = p->edges.count;
	struct seen_edge first = *e;

	first.line = 0;
	while (low < high) {
		uint32_t mid = (low + high) / 2;

		if (compare_edges(&p->edges.at[mid], &first) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low < p->edges.count && p->edges.at[low].caller == e->caller &&
	       p->edges.at[low].kind == e->kind &&
	       p->edges.at[low].callee == e->callee;
}

/* Is the pair in E? */
static bool has_call(const struct picture *p, const struct seen_edge *e)
{
	struct seen_edge call = *e, implicit = *e;

	call.kind = EDGE_CALL;
	implicit.kind = EDGE_IMPLICIT;
	return has_pair(p, &call) || has_pair(p, &implicit);
}

/* In both pictures, and not in X. */
static bool stayed(const struct picture *before, const struct picture *after,
		   uint32_t name)
{
	const struct seen_symbol *was = find(before, name, true);
	const struct seen_symbol *now = find(after, name, true);

	return was && now && same_body(was, now);
}

static bool is_in_set(const name_set *s, uint32_t name)
{
	for (uint32_t k = 0; k < s->count; k++)
		if (s->at[k] == name)
			return true;
	return false;
}

/* Edges of `one` that `other` does not have. */
static void find_edges(const struct picture *before,
		       const struct picture *after, const struct picture *one,
		       const struct picture *other, struct sets *ret)
{
	for (uint32_t k = 0; k < one->edges.count; k++) {
		const struct seen_edge *e = &one->edges.at[k];
		const struct seen_symbol *v = find(one, e->callee, false);

		if (e->kind == EDGE_READS && v && v->kind == SYMBOL_VARIABLE &&
		    find(before, e->callee, false) &&
		    is_in_set(&ret->extended_x, e->callee) &&
		    stayed(before, after, e->caller))
			array_push(&ret->extended_r, e->caller);
		if (e->kind == EDGE_USES && !has_pair(other, e) &&
		    stayed(before, after, e->caller))
			array_push(&ret->extended_r, e->caller);
		if (!(EDGES_E & 1U << e->kind) || has_call(other, e))
			continue;
		if (!find(before, e->caller, true) &&
		    !find(after, e->caller, true))
			continue;
		if (stayed(before, after, e->caller))
			array_push(&ret->dx, e->caller);
		if (stayed(before, after, e->callee))
			array_push(&ret->dx, e->callee);
	}
}

static int compare_names(const void *a, const void *b, void *arg)
{
	return strcmp(text_of(arg, *(const uint32_t *)a),
		      text_of(arg, *(const uint32_t *)b));
}

static void name_set_sort(struct intern *names, name_set *s)
{
	uint32_t kept = 0;

	if (s->count)
		qsort_r(s->at, s->count, sizeof(*s->at), compare_names, names);
	for (uint32_t k = 0; k < s->count; k++)
		if (!kept || s->at[k] != s->at[kept - 1])
			s->at[kept++] = s->at[k];
	s->count = kept;
}

static bool set_same(struct intern *names, const char *what,
		     const struct graph *g, const struct diff_set *is,
		     name_set *should, FILE *out)
{
	bool same;

	name_set_sort(names, should);
	same = is->count == should->count;
	for (uint32_t k = 0; same && k < should->count; k++) {
		struct symbol s;

		(void)graph_symbol(g, is->symbols[k], &s);
		same = strcmp(s.name, text_of(names, should->at[k])) == 0;
	}
	if (same || !out)
		return same;
	(void)fprintf(out, "  %s is", what);
	for (size_t k = 0; k < is->count && k < TOLD_MAX; k++) {
		struct symbol s;

		(void)graph_symbol(g, is->symbols[k], &s);
		(void)fprintf(out, " %s", s.name);
	}
	(void)fprintf(out, "\n  %s should be", what);
	for (uint32_t k = 0; k < should->count && k < TOLD_MAX; k++)
		(void)fprintf(out, " %s", text_of(names, should->at[k]));
	(void)fprintf(out, "\n");
	return false;
}

bool picture_explains(struct intern *names, const struct picture *before,
		      const struct picture *after, const struct graph *g,
		      const struct graph_delta *d, FILE *out)
{
	struct sets s = { .x = { .count = 0 } };
	struct diff is;
	bool same;

	find_bodies(before, after, &s);
	find_edges(before, after, before, after, &s);
	find_edges(before, after, after, before, &s);
	diff_init(&is, g, d);
	same = set_same(names, "X", g, &is.x, &s.x, out);
	same &= set_same(names, "dX", g, &is.dx, &s.dx, out);
	same &= set_same(names, "added", g, &is.added, &s.added, out);
	same &= set_same(names, "extended X", g, &is.extended_x, &s.extended_x,
			 out);
	same &= set_same(names, "extended R", g, &is.extended_r, &s.extended_r,
			 out);
	same &= set_same(names, "extended added", g, &is.extended_added,
			 &s.extended_added, out);
	diff_release(&is);
	sets_release(&s);
	return same;
}
