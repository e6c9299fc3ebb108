/*
 * No stale record escapes nomination. Random repositories are edited at random;
 * records of random spans of their files are held, each born at some entry.
 * After every step the local view of each record, at birth and now, is computed
 * from two graphs built from scratch: the texts of the symbols it covers and
 * the calls they make. A record whose view changed must be nominated by the
 * drift that the incrementally maintained graph reported.
 *
 * Conversely, a nominated record with an unchanged view must have a reason: a
 * call to it was added or removed (the incoming side of dX), a variable it
 * reads changed (R), or its view changed and changed back. Any other case
 * fails.
 *
 * Usage: nominate_prop [SEED]; NOMINATE_RUNS and NOMINATE_STEPS set the amount
 * of work.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "graph/base/cleanup.h"
#include "graph/facts/lang.h"
#include "graph/outline.h"
#include "tape/query/nominate.h"
#include "tests/prop/graph/edits.h"

#define RECORDS 120

/* A symbol in one build. */
struct view {
	bool there;
	bool v;		/* function, method or class */
	uint64_t body;	/* of its text */
	uint64_t calls; /* of its text and its callees */
	uint64_t in;	/* of its callers */
	uint64_t reads; /* of the variables it reads */
};

struct views {
	struct view *at; /* by name */
	uint32_t count;
};

struct held {
	uint64_t birth; /* entry, and index of the views then */
	char **names;
	size_t count;
	char *path;
	uint32_t start, end;
};

struct tally {
	uint64_t checks, stale, nominated, incoming, reads, back;
};

struct run {
	struct dice dice;
	struct world world;
	struct drift *drift;
	ARRAY(struct views) past; /* by entry; 0: the beginning */
	struct held held[RECORDS];
	struct tally *tally;
	uint64_t seed;
};

static uint64_t number_from(const char *name, uint64_t otherwise)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread. */
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 10) : otherwise;
}

/* -- The oracle. */

static bool in_v(uint32_t kind)
{
	return kind == SYMBOL_FUNCTION || kind == SYMBOL_METHOD ||
	       kind == SYMBOL_CLASS;
}

static uint64_t mix(uint64_t hash, uint64_t more)
{
	return XXH3_64bits_withSeed(&more, sizeof(more), hash);
}

/* Each pair once, however many call sites. Order does not matter. */
static void view_edge(struct views *v, const struct seen_edge *e)
{
	struct view *from = &v->at[e->caller], *to = &v->at[e->callee];

	if (EDGES_E & 1U << e->kind && from->v) {
		from->calls += mix(1, e->callee);
		to->in += mix(2, e->caller);
	} else if (e->kind == EDGE_READS) {
		from->reads += mix(e->callee, to->body);
	} else if (e->kind == EDGE_USES) {
		from->reads += mix(3, e->callee);
	}
}

/* Is there a call with the ends of this edge? Edges are sorted by caller. */
static bool is_called(const struct picture *p, uint32_t edge)
{
	const struct seen_edge *e = &p->edges.at[edge];

	for (uint32_t k = edge; k-- && p->edges.at[k].caller == e->caller;)
		if (p->edges.at[k].kind == EDGE_CALL &&
		    p->edges.at[k].callee == e->callee)
			return true;
	return false;
}

static void views_take(struct run *r, const struct graph *g)
{
	struct picture p;
	struct views *v;

	picture_take(r->world.names, g, &p);
	v = array_add(&r->past);
	v->count = intern_count(r->world.names);
	v->at = must_calloc(v->count, sizeof(*v->at));
	for (uint32_t k = 0; k < p.symbols.count; k++) {
		const struct seen_symbol *s = &p.symbols.at[k];
		struct view *to = &v->at[s->name];

		to->there = true;
		to->v = in_v(s->kind);
		to->body = mix(s->low, s->high + to->v);
		to->calls = to->body;
	}
	for (uint32_t k = 0; k < p.edges.count; k++) {
		const struct seen_edge *e = &p.edges.at[k];

		if (k && e->caller == e[-1].caller && e->kind == e[-1].kind &&
		    e->callee == e[-1].callee)
			continue;
		/* E has a pair once, whichever form its calls have. */
		if (e->kind == EDGE_IMPLICIT && is_called(&p, k))
			continue;
		view_edge(v, e);
	}
	picture_release(&p);
}

/* Built from scratch from the current texts. */
static struct graph *build(const struct world *w)
{
	struct graph *g = graph_new();

	for (uint32_t k = 0; k < w->files.count; k++) {
		const struct facts *f = w->files.at[k].facts;

		(void)graph_put(g, w->files.at[k].path,
				memcpy(must_alloc(f->size), f, f->size));
	}
	(void)graph_settle(g, NULL);
	return g;
}

static struct view view_of(const struct run *r, uint64_t entry, uint32_t name)
{
	const struct views *v = &r->past.at[entry];

	return name < v->count ? v->at[name] : (struct view){ .there = false };
}

static bool claims_differ(struct view a, struct view b)
{
	return a.there != b.there || a.v != b.v || a.calls != b.calls;
}

/* -- The tape's side: drift as the maintained graph reports it. */

typedef ARRAY(struct entry_symbol) symbol_list;

static void add_set(symbol_list *list, const struct graph *g,
		    const struct diff_set *from, enum entry_set set)
{
	for (size_t k = 0; k < from->count; k++) {
		struct symbol s;
		bool there = graph_symbol(g, from->symbols[k], &s);

		array_push(list, ((struct entry_symbol){
					 .name = s.name,
					 .kind = (uint8_t)s.kind,
					 .set = (uint8_t)set,
					 .removed = set == ENTRY_X && !there,
				 }));
	}
}

static void tell_drift(struct run *r)
{
	const struct graph *g = r->world.g;
	struct graph_delta delta;
	struct diff d;
	symbol_list list = { .at = NULL };
	struct entry e = { .path = "", .kind = ENTRY_EDIT, .n = r->past.count };

	(void)graph_settle(r->world.g, &delta);
	diff_init(&d, g, &delta);
	add_set(&list, g, &d.x, ENTRY_X);
	add_set(&list, g, &d.extended_x, ENTRY_X);
	add_set(&list, g, &d.dx, ENTRY_DX);
	add_set(&list, g, &d.extended_r, ENTRY_R);
	add_set(&list, g, &d.added, ENTRY_ADDED);
	add_set(&list, g, &d.extended_added, ENTRY_ADDED);
	e.symbols = list.at;
	e.symbols_count = list.count;
	drift_add_entry(r->drift, &e);
	diff_release(&d);
	array_release(&list);
}

static bool symbol_exists(const char *name, void *arg)
{
	const struct graph *g = arg;
	symbol_t s = graph_find(g, name);
	struct symbol is;

	return s != SYMBOL_NONE && graph_symbol(g, s, &is);
}

/* -- Records. */

static void held_release(struct held *h)
{
	for (size_t k = 0; k < h->count; k++)
		free(h->names[k]);
	free(h->names);
	free(h->path);
	*h = (struct held){ .names = NULL };
}

/* Outline and graph must agree on names and places. */
static bool outline_agrees(const struct run *r, const struct graph *g,
			   const struct outline *o, const char *path)
{
	for (size_t k = 0; k < outline_count(o); k++) {
		const struct outline_symbol *s = outline_symbol(o, k);
		symbol_t n = graph_find(g, s->name);
		struct symbol is;

		if (n == SYMBOL_NONE || !graph_symbol(g, n, &is)) {
			(void)printf("seed %" PRIu64 ": %s has %s, and the "
				     "graph has not\n",
				     r->seed, path, s->name);
			return false;
		}
		if (strcmp(is.file, path) == 0 &&
		    (is.kind != s->kind || is.start_line != s->start ||
		     (is.end_line != s->end && is.kind != SYMBOL_MODULE))) {
			(void)printf("seed %" PRIu64 ": %s of %s is at %u-%u, "
				     "by the graph at %u-%u\n",
				     r->seed, s->name, path, s->start, s->end,
				     is.start_line, is.end_line);
			return false;
		}
	}
	return true;
}

static void hold(struct run *r, struct held *h, const struct outline *o)
{
	h->names = must_calloc(outline_count(o), sizeof(*h->names));
	for (size_t k = 0; k < outline_count(o); k++)
		if (outline_covers(o, k, h->start, h->end))
			h->names[h->count++] =
				strdup(outline_symbol(o, k)->name);
	h->birth = r->past.count - 1;
}

static bool observe(struct run *r, const struct graph *g)
{
	struct held *h = &r->held[dice_below(&r->dice, RECORDS)];
	const struct world_file *f;
	struct outline *o;
	uint32_t lines;
	bool good;

	if (!r->world.files.count)
		return true;
	f = &r->world.files.at[dice_below(&r->dice, r->world.files.count)];
	o = outline_new(r->world.reader, f->path, f->text, strlen(f->text));
	good = outline_agrees(r, g, o, f->path);
	lines = outline_lines(o) ? outline_lines(o) : 1;
	held_release(h);
	h->path = strdup(f->path);
	h->start = 1 + (uint32_t)dice_below(&r->dice, lines);
	h->end = h->start + (uint32_t)dice_below(&r->dice, 12);
	hold(r, h, o);
	outline_free(o);
	return good;
}

/* -- The property. */

/* What happened to the symbols of a record since its birth, step by step. */
struct fate {
	bool stale;    /* its view differs from that at birth */
	bool edited;   /* the text of an existing symbol differs */
	bool moved;    /* its view differed in between */
	bool incoming; /* its callers changed */
	bool reads;    /* what it reads changed */
};

static void fate_of(const struct run *r, const struct held *h, struct fate *ret)
{
	uint64_t now = r->past.count - 1;

	*ret = (struct fate){ .stale = false };
	for (size_t k = 0; k < h->count; k++) {
		uint32_t name = intern_find(r->world.names, h->names[k],
					    strlen(h->names[k]));
		struct view birth = view_of(r, h->birth, name), last = birth;
		struct view is = view_of(r, now, name);

		ret->stale |= claims_differ(birth, is);
		ret->edited |= is.there && is.body != birth.body;
		for (uint64_t n = h->birth + 1; n <= now; n++) {
			struct view next = view_of(r, n, name);

			ret->moved |= claims_differ(last, next);
			ret->incoming |= next.v && last.in != next.in;
			ret->reads |= last.reads != next.reads;
			last = next;
		}
	}
}

static bool fail(const struct run *r, const struct held *h, const char *why)
{
	(void)printf("seed %" PRIu64 ", entry %u: the record of %s:%u-%u, "
		     "born at %" PRIu64 ", %s\n",
		     r->seed, r->past.count - 1, h->path, h->start, h->end,
		     h->birth, why);
	for (size_t k = 0; k < h->count; k++)
		(void)printf("  it covers %s\n", h->names[k]);
	return false;
}

static bool check_nominated(struct run *r, const struct held *h,
			    const struct fate *f, const struct nomination *n)
{
	r->tally->nominated++;
	if (f->edited && n->action != NOMINATE_REFRESH)
		return fail(r, h, "was edited and is not refreshed");
	if (f->stale)
		return true;
	if (f->moved)
		r->tally->back++;
	else if (f->incoming)
		r->tally->incoming++;
	else if (f->reads)
		r->tally->reads++;
	else
		return fail(r, h, "is nominated for no reason");
	return true;
}

static bool check(struct run *r, const struct held *h)
{
	struct nominate_view v = { .drift = r->drift,
				   .head = r->past.count - 1,
				   .exists = symbol_exists,
				   .arg = r->world.g };
	struct nominate_record record = {
		.kind = NOMINATE_READ,
		.birth = h->birth,
		.symbols = (const char *const *)h->names,
		.symbols_count = h->count,
	};
	struct nomination n;
	struct fate f;

	fate_of(r, h, &f);
	r->tally->checks++;
	r->tally->stale += f.stale;
	if (nominate(&v, &record, &n))
		return check_nominated(r, h, &f, &n);
	return !f.stale || fail(r, h, "is stale and not nominated");
}

static bool step(struct run *r)
{
	struct graph *g = build(&r->world);
	bool good = true;

	if (r->past.count)
		tell_drift(r);
	else
		(void)graph_settle(r->world.g, NULL);
	views_take(r, g);
	for (unsigned k = 0; good && k < RECORDS; k++)
		if (r->held[k].path)
			good = check(r, &r->held[k]);
	for (unsigned k = 0; good && k < 12; k++)
		good = observe(r, g);
	graph_free(g);
	return good;
}

static void begin(struct dice *d, op_list *ops)
{
	for (unsigned n = 0; n < MADE_MODULES; n++) {
		CLEANUP(free_p) char *text = made_text(d, n);

		if (n < 2 || !dice_one_in(d, 4))
			op_add(ops, OP_PUT, made_path(n), NULL, text);
	}
}

static void run_release(struct run *r)
{
	for (unsigned k = 0; k < RECORDS; k++)
		held_release(&r->held[k]);
	for (uint32_t k = 0; k < r->past.count; k++)
		free(r->past.at[k].at);
	array_release(&r->past);
	drift_free(r->drift);
	world_release(&r->world);
}

static bool run(uint64_t seed, const struct source *source,
		struct lang_readers *reader, struct tally *tally)
{
	uint64_t steps = number_from("NOMINATE_STEPS", 30);
	struct run r = { .dice = { seed }, .seed = seed, .tally = tally };
	struct editor e = { .dice = &r.dice,
			    .world = &r.world,
			    .source = source };
	struct rules rules = { .dice = &r.dice };
	op_list ops = { .at = NULL };
	uint32_t done = 0;
	bool good = true;

	r.drift = drift_new(0);
	world_init(&r.world, reader);
	if (seed % 2) {
		rules_init(&rules, &r.dice);
		e.rules = &rules;
		rules_write(&rules, &r.world, &ops);
	} else {
		begin(&r.dice, &ops);
	}
	for (uint64_t k = 0; good && k <= steps; k++) {
		/* Settle here, so that we can inspect the delta. */
		for (; done < ops.count; done++) {
			ops.at[done].settle = false;
			(void)world_do(&r.world, &ops.at[done], NULL);
		}
		good = step(&r);
		(void)editor_step(&e, &ops);
	}
	op_list_release(&ops);
	editor_release(&e);
	rules_release(&rules);
	run_release(&r);
	return good;
}

int main(int argc, char **argv)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread. */
	const char *data = getenv("GRAPH_DATA");
	uint64_t seed =
		argc > 1 ? strtoull(argv[1], NULL, 10) : (uint64_t)time(NULL);
	uint64_t runs = number_from("NOMINATE_RUNS", 10);
	struct lang_readers *reader = lang_readers_new();
	struct source source = { .groups = 0 };
	struct tally t = { 0 };
	bool good;

	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	(void)printf("seed %" PRIu64 "\n", seed);
	good = source_add_cases(&source, data ? data : "tests/data/graph") == 0;
	for (uint64_t k = 0; good && k < runs; k++)
		good = run(seed + k, &source, reader, &t);
	(void)printf("%" PRIu64 " views, %" PRIu64 " stale, %" PRIu64
		     " nominated; not stale: %" PRIu64 " by calls to them, "
		     "%" PRIu64 " by what they read, %" PRIu64
		     " that changed and came back\n",
		     t.checks, t.stale, t.nominated, t.incoming, t.reads,
		     t.back);
	source_release(&source);
	lang_readers_free(reader);
	return good ? 0 : 1;
}
