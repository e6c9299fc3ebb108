/*
 * statetape graph callers, callees, impact: the surroundings of a symbol, as a
 * tree of paths that lead there, as JSON, or as a drawing.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/walk.h"
#include "tools/cli/fit.h"
#include "tools/cli/say.h"
#include "tools/cli/terminal.h"
#include "tools/cli/verbs.h"
#include "tools/verb/code.h"

#define PLACES_MAX   20000
#define DEPTH_MAX    1000
#define INDENT	     2
#define RELATION_MAX 10

static const char *const relations[WALK_STEPS] = {
	[WALK_CALLERS] = "caller",
	[WALK_CALLEES] = "callee",
	[WALK_SUBCLASSES] = "subclass",
	[WALK_BASES] = "base",
	[WALK_OVERRIDERS] = "overrider",
	[WALK_OVERRIDDEN] = "overridden",
	[WALK_READERS] = "reader",
	[WALK_READ] = "read",
	[WALK_IMPORTERS] = "importer",
	[WALK_IMPORTED] = "imported",
	/* The kind of edge tells these from the others. */
	[WALK_IMPLICIT_CALLERS] = "caller",
	[WALK_IMPLICIT_CALLEES] = "callee",
	[WALK_USERS] = "user",
	[WALK_USED] = "used",
};

/* A finished walk. */
struct near {
	const struct graph *g;
	struct walk walk;
	unsigned steps;
	bool colours;
};

/* The places of the edge that a step follows, in their file. */
struct step_lines {
	symbol_t from, to;
	struct symbol where; /* the symbol whose text has them */
	uint32_t *lines;
	size_t count;
	uint32_t size;
};

static bool collect_line(const struct edge *e, void *arg)
{
	struct step_lines *s = arg;

	if (e->other != s->to)
		return true;
	s->lines =
		must_grow(s->lines, &s->size, s->count + 1, sizeof(*s->lines));
	s->lines[s->count++] = e->line;
	return true;
}

static int compare_lines(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static struct step_lines step_lines(const struct near *n,
				    const struct walk_place *p)
{
	symbol_t before = n->walk.places[p->from].symbol;
	bool back = walk_is_back(p->step);
	symbol_t to = back ? before : p->symbol;
	struct step_lines s = {
		.from = back ? p->symbol : before,
		.to = p->via == SYMBOL_NONE ? to : p->via,
		.where = { .file = "" },
	};
	size_t kept = 0;

	assert(p->from < n->walk.count && p->step < WALK_STEPS);
	(void)graph_symbol(n->g, s.from, &s.where);
	graph_out(n->g, s.from, 1U << walk_edge(p->step), collect_line, &s);
	if (s.count)
		qsort(s.lines, s.count, sizeof(*s.lines), compare_lines);
	for (size_t i = 0; i < s.count; i++)
		if (!kept || s.lines[i] != s.lines[kept - 1])
			s.lines[kept++] = s.lines[i];
	s.count = kept;
	return s;
}

static void step_lines_release(struct step_lines *s)
{
	free(s->lines);
}

/* For people */

static char *lines_text(const struct step_lines *s)
{
	char *text = must_have(strdup(""));

	for (size_t i = 0; i < s->count; i++) {
		char *longer =
			format_text("%s%s%u", text, i ? "," : "", s->lines[i]);

		free(text);
		text = longer;
	}
	return text;
}

/*
 * Against the direction of the edge, show where the reference is; along it,
 * show where the definition is, with the lines of the previous symbol.
 */
static char *where_text(const struct near *n, const struct walk_place *p,
			const struct symbol *found)
{
	CLEANUP(step_lines_release)
	struct step_lines s = step_lines(n, p);
	CLEANUP(free_p) char *lines = lines_text(&s);
	bool plain = walk_edge(p->step) != EDGE_IMPLICIT;
	const char *implicit = plain ? "" : "  implicit";
	const char *by = p->via == SYMBOL_NONE ? "" : "  via ";
	const char *via = p->via == SYMBOL_NONE ? "" : code_name(n->g, p->via);

	if (walk_is_back(p->step))
		return format_text("%s:%s%s%s%s", s.where.file, lines, implicit,
				   by, via);
	return format_text("%s:%u, line %s%s%s%s", found->file,
			   found->start_line, lines, implicit, by, via);
}

/* A name, and where it is, in what is left of the line. */
static void print_pair(const struct near *n, size_t at, const char *name,
		       const char *where)
{
	size_t widths[2] = { safe_columns(name), safe_columns(where) };
	size_t room = terminal_room();

	if (room != SIZE_MAX)
		fit_columns(room > at + 2 ? room - at - 2 : 0, widths, 2);
	(void)print_fitted(stdout, name, widths[0]);
	(void)printf("%s  %s", colour_text(n->colours, COLOUR_NONE),
		     colour_text(n->colours, COLOUR_DIM));
	(void)print_fitted(stdout, where, widths[1]);
	(void)puts(colour_text(n->colours, COLOUR_NONE));
}

static void print_place(const struct near *n, const struct walk_place *p)
{
	struct symbol s = { .name = "", .file = "" };
	CLEANUP(free_p) char *where = NULL;
	/* With one kind of relation, its name would be noise. */
	bool mixed =
		n->steps & ~WALK_ALL_CALLERS && n->steps & ~WALK_ALL_CALLEES;

	(void)graph_symbol(n->g, p->symbol, &s);
	(void)printf("%*s", (int)(p->depth * INDENT), "");
	if (mixed)
		(void)printf("%s%-*s%s", colour_text(n->colours, COLOUR_CYAN),
			     RELATION_MAX, relations[p->step],
			     colour_text(n->colours, COLOUR_NONE));
	where = where_text(n, p, &s);
	print_pair(n, p->depth * INDENT + (mixed ? RELATION_MAX : 0), s.name,
		   where);
}

static void print_start(const struct near *n)
{
	struct symbol s = { .name = "", .file = "" };
	CLEANUP(free_p) char *where = NULL;

	(void)graph_symbol(n->g, n->walk.places[0].symbol, &s);
	where = format_text("%s:%u", s.file, s.start_line);
	(void)fputs(colour_text(n->colours, COLOUR_BOLD), stdout);
	print_pair(n, 0, s.name, where);
}

/*
 * Print each place below the one it was reached from. Places are sorted by
 * name, not by their origin, so link the branches first: child[i] is the first
 * branch of i, next[i] its sibling.
 */
static void print_tree(const struct near *n)
{
	size_t count = n->walk.count, at = 0;
	CLEANUP(free_p) size_t *child = must_calloc(count, sizeof(*child));
	CLEANUP(free_p) size_t *next = must_calloc(count, sizeof(*next));

	/*
	 * From the last to the first, so that each list is in order. 0: none.
	 */
	for (size_t i = count - 1; i > 0; i--) {
		size_t from = n->walk.places[i].from;

		assert(from < count && from != i);
		next[i] = child[from];
		child[from] = i;
	}
	print_start(n);
	while (child[at] || at) {
		size_t to = child[at];

		child[at] = to ? next[to] : 0;
		if (to)
			print_place(n, &n->walk.places[to]);
		at = to ? to : n->walk.places[at].from;
	}
}

/* For programs */

static void json_step(const struct near *n, const struct walk_place *p)
{
	CLEANUP(step_lines_release)
	struct step_lines s = step_lines(n, p);
	CLEANUP(free_p) char *lines = lines_text(&s);

	(void)putchar('{');
	code_json_text(stdout, "name", code_name(n->g, p->symbol));
	(void)printf(",\"relation\":\"%s\",\"kind\":\"%s\",",
		     relations[p->step], code_edge_kind(walk_edge(p->step)));
	if (p->via != SYMBOL_NONE) {
		code_json_text(stdout, "via", code_name(n->g, p->via));
		(void)putchar(',');
	}
	code_json_text(stdout, "file", s.where.file);
	(void)printf(",\"lines\":[%s]}", lines);
}

static void json_path(const struct near *n, const struct walk_place *p)
{
	if (p->depth > 1) {
		json_path(n, &n->walk.places[p->from]);
		(void)putchar(',');
	}
	json_step(n, p);
}

static void json_place(const struct near *n, const struct walk_place *p)
{
	struct symbol s;

	if (!graph_symbol(n->g, p->symbol, &s))
		return;
	(void)putchar('{');
	code_json_symbol(stdout, &s);
	(void)printf(",\"depth\":%u,\"path\":[", p->depth);
	json_path(n, p);
	(void)puts("]}");
}

/* For graphviz */

static void dot_name(const char *name)
{
	(void)putchar('"');
	for (; *name; name++) {
		if (*name == '"' || *name == '\\')
			(void)putchar('\\');
		(void)putchar(*name);
	}
	(void)putchar('"');
}

struct dot {
	const struct near *near;
	const uint8_t *inside; /* by symbol: it was drawn */
	symbol_t from;
	symbol_t last; /* an edge comes once per place, and is drawn once */
};

static bool dot_edge(const struct edge *e, void *arg)
{
	static const char *const styles[EDGE_KINDS] = {
		[EDGE_CALL] = "",
		[EDGE_INHERITS] = " [arrowhead=empty]",
		[EDGE_OVERRIDES] = " [style=dashed,arrowhead=empty]",
		[EDGE_READS] = " [style=dotted]",
		[EDGE_IMPORTS] = " [style=dashed]",
		[EDGE_IMPLICIT] = " [arrowhead=vee]",
		[EDGE_USES] = " [style=dotted,arrowhead=vee]",
	};
	struct dot *d = arg;

	if (!d->inside[e->other] || e->other == d->last)
		return true;
	d->last = e->other;
	(void)putchar('\t');
	dot_name(code_name(d->near->g, d->from));
	(void)fputs(" -> ", stdout);
	dot_name(code_name(d->near->g, e->other));
	(void)printf("%s;\n", styles[e->kind]);
	return true;
}

static void dot_edges(struct dot *d)
{
	const struct near *n = d->near;

	for (unsigned kind = 0; kind < EDGE_KINDS; kind++) {
		bool wanted = false;

		for (unsigned i = 0; i < WALK_STEPS; i++)
			wanted |= (n->steps & 1U << i) && walk_edge(i) == kind;
		for (size_t i = 0; wanted && i < n->walk.count; i++) {
			d->from = n->walk.places[i].symbol;
			d->last = SYMBOL_NONE;
			graph_out(n->g, d->from, 1U << kind, dot_edge, d);
		}
	}
}

/* `strict`: graphviz draws an edge that is named twice once. */
static void print_dot(const struct near *n)
{
	CLEANUP(free_p)
	uint8_t *inside = must_calloc(graph_symbols_max(n->g), 1);
	struct dot d = { .near = n, .inside = inside };

	(void)puts("strict digraph statetape {\n"
		   "\trankdir=LR;\n"
		   "\tnode [shape=box,fontname=\"monospace\"];");
	for (size_t i = 0; i < n->walk.count; i++) {
		inside[n->walk.places[i].symbol] = 1;
		(void)putchar('\t');
		dot_name(code_name(n->g, n->walk.places[i].symbol));
		(void)puts(i ? ";" : " [style=bold];");
	}
	dot_edges(&d);
	(void)puts("}");
}

static int show(const struct invocation *in, const struct near *n)
{
	if (in->options[OPTION_DOT].given)
		print_dot(n);
	else if (in->options[OPTION_JSON].given)
		for (size_t i = 1; i < n->walk.count; i++)
			json_place(n, &n->walk.places[i]);
	else
		print_tree(n);
	if (n->walk.cut)
		(void)say_error("warning: only the first %d symbols are shown",
				PLACES_MAX);
	return EXIT_SUCCESS;
}

static int run(const struct invocation *in, unsigned steps, uint32_t depth)
{
	CLEANUP(code_release) struct code c = CODE_EMPTY;
	const struct option_value *given = &in->options[OPTION_DEPTH];
	struct near n = { .steps = steps, .colours = colour_wanted(stdout) };
	struct symbol s;
	symbol_t start;
	int code;

	if (in->options[OPTION_DOT].given && in->options[OPTION_JSON].given)
		return say_usage_error("--dot and --json cannot be combined");
	if (given->number > DEPTH_MAX)
		return say_usage_error("--depth wants at most %d", DEPTH_MAX);
	if (given->given)
		depth = (uint32_t)given->number;
	if (code_open(in, in->arguments[1], &c) < 0)
		return EXIT_FAILURE;
	start = code_find(c.graph, in->arguments[0]);
	if (start == SYMBOL_NONE || !graph_symbol(c.graph, start, &s))
		return EXIT_FAILURE;
	/* Importers matter only for a module as a whole. */
	if (s.kind != SYMBOL_MODULE)
		n.steps &= ~(1U << WALK_IMPORTERS);
	n.g = c.graph;
	walk_init(&n.walk, c.graph,
		  &(struct walk_from){ .starts = &start,
				       .count = 1,
				       .steps = n.steps,
				       .depth = depth,
				       .max = PLACES_MAX });
	code = show(in, &n);
	walk_release(&n.walk);
	return code;
}

int verb_graph_callers(const struct invocation *in)
{
	return run(in, WALK_ALL_CALLERS, 1);
}

int verb_graph_callees(const struct invocation *in)
{
	return run(in, WALK_ALL_CALLEES, 1);
}

int verb_graph_impact(const struct invocation *in)
{
	return run(in,
		   WALK_ALL_CALLERS | 1U << WALK_OVERRIDERS |
			   1U << WALK_SUBCLASSES | 1U << WALK_READERS |
			   1U << WALK_USERS | 1U << WALK_IMPORTERS,
		   2);
}
