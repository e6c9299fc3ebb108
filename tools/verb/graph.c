/* statetape graph symbols, edges, at, stats: the contents of the graph. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/build/tree.h"
#include "tools/cli/fit.h"
#include "tools/cli/say.h"
#include "tools/cli/terminal.h"
#include "tools/cli/verbs.h"
#include "tools/verb/code.h"

#define NAME_COLUMN_MAX 60
#define KIND_COLUMN	9
#define STAT_COLUMN	12

static char *place_text(const struct symbol *s)
{
	return format_text("%s:%u-%u", s->file, s->start_line, s->end_line);
}

/* Columns of names and places, and what a line may take in all. */
struct symbol_columns {
	size_t room;
	size_t widths[2];
};

static void print_symbol(const struct symbol *s, const struct symbol_columns *c,
			 bool colours)
{
	CLEANUP(free_p) char *place = place_text(s);
	bool whole = c->room == SIZE_MAX;
	size_t at;

	(void)printf("%s%-*s%s", colour_text(colours, COLOUR_CYAN), KIND_COLUMN,
		     code_symbol_kind(s->kind),
		     colour_text(colours, COLOUR_NONE));
	at = print_fitted(stdout, s->name, whole ? c->room : c->widths[0]);
	(void)printf("%*s  %s",
		     at < c->widths[0] ? (int)(c->widths[0] - at) : 0, "",
		     colour_text(colours, COLOUR_DIM));
	(void)print_fitted(stdout, place, whole ? c->room : c->widths[1]);
	(void)puts(colour_text(colours, COLOUR_NONE));
}

/* As wide as the widest, within limits. */
static void columns_take(struct symbol_columns *c, const struct symbol *s)
{
	CLEANUP(free_p) char *place = place_text(s);
	size_t name = safe_columns(s->name), at = safe_columns(place);
	bool whole = c->room == SIZE_MAX;

	if (name > c->widths[0] && (name <= NAME_COLUMN_MAX || !whole))
		c->widths[0] = name;
	if (at > c->widths[1])
		c->widths[1] = at;
}

static void columns_fit(struct symbol_columns *c)
{
	if (c->room != SIZE_MAX)
		fit_columns(c->room - KIND_COLUMN - 2, c->widths, 2);
}

static void print_symbols(const struct graph *g, bool extended)
{
	CLEANUP(code_list_release)
	struct code_list l = code_symbols(g, extended);
	struct symbol_columns c = { .room = terminal_room() };
	bool colours = colour_wanted(stdout);
	struct symbol s;

	for (size_t i = 0; i < l.count; i++)
		if (graph_symbol(g, l.symbols[i], &s))
			columns_take(&c, &s);
	columns_fit(&c);
	for (size_t i = 0; i < l.count; i++)
		if (graph_symbol(g, l.symbols[i], &s))
			print_symbol(&s, &c, colours);
}

int verb_graph_symbols(const struct invocation *in)
{
	CLEANUP(code_release) struct code c = CODE_EMPTY;
	bool extended = in->options[OPTION_EXTENDED].given;

	if (code_open(in, in->arguments[0], &c) < 0)
		return EXIT_FAILURE;
	if (in->options[OPTION_JSON].given)
		code_json_symbols(stdout, c.graph, extended);
	else
		print_symbols(c.graph, extended);
	return EXIT_SUCCESS;
}

/* Edges, printed for people. */
struct edge_look {
	size_t room;
	bool colours;
	bool with_kind;
};

#define IMPLICIT "  implicit"

static void print_edge(const struct graph *g, const struct code_edge *e,
		       void *arg)
{
	const struct edge_look *look = arg;
	const char *dim = colour_text(look->colours, COLOUR_DIM);
	const char *off = colour_text(look->colours, COLOUR_NONE);
	struct symbol caller = { .name = "", .file = "" };
	const char *callee = code_name(g, e->callee);
	CLEANUP(free_p) char *place = NULL;
	size_t widths[3], room = look->room;
	bool implicit = !look->with_kind && e->kind == EDGE_IMPLICIT;

	(void)graph_symbol(g, e->caller, &caller);
	place = format_text("%s:%u", caller.file, e->line);
	widths[0] = safe_columns(caller.name);
	widths[1] = safe_columns(callee);
	widths[2] = safe_columns(place);
	if (room != SIZE_MAX)
		fit_columns(room - strlen(" ->   ") -
				    (look->with_kind ? KIND_COLUMN + 1 : 0) -
				    (implicit ? strlen(IMPLICIT) : 0),
			    widths, 3);
	if (look->with_kind)
		(void)printf("%-*s ", KIND_COLUMN, code_edge_kind(e->kind));
	(void)print_fitted(stdout, caller.name, widths[0]);
	(void)printf(" %s->%s ", dim, off);
	(void)print_fitted(stdout, callee, widths[1]);
	(void)printf("  %s", dim);
	(void)print_fitted(stdout, place, widths[2]);
	if (implicit)
		(void)fputs(IMPLICIT, stdout);
	(void)puts(off);
}

int verb_graph_edges(const struct invocation *in)
{
	CLEANUP(code_release) struct code c = CODE_EMPTY;
	const struct option_value *names = &in->options[OPTION_KINDS];
	struct edge_look look = { .room = terminal_room(),
				  .colours = colour_wanted(stdout),
				  .with_kind = names->given };
	unsigned kinds = EDGES_E;

	if (names->given)
		kinds = code_edge_kinds(names->text);
	if (!kinds)
		return EXIT_USAGE;
	if (code_open(in, in->arguments[0], &c) < 0)
		return EXIT_FAILURE;
	if (in->options[OPTION_JSON].given)
		code_json_edges(stdout, c.graph, kinds);
	else
		code_edges(c.graph, kinds, print_edge, &look);
	return EXIT_SUCCESS;
}

/* at */

/* Split "FILE:LINE". -EINVAL: it has another form. */
static int split_place(const char *text, char **ret_file, uint32_t *ret_line)
{
	const char *colon = strrchr(text, ':');
	char *end = NULL;
	unsigned long line;

	if (!colon || colon == text || colon[1] < '1' || colon[1] > '9')
		return -EINVAL;
	errno = 0;
	line = strtoul(colon + 1, &end, 10);
	if (errno || *end || line > UINT32_MAX)
		return -EINVAL;
	*ret_file = must_have(strndup(text, (size_t)(colon - text)));
	*ret_line = (uint32_t)line;
	return 0;
}

/*
 * `file` relative to the root, if the current directory lies in the repository.
 */
static char *path_from_here(const char *file, const char *repo)
{
	CLEANUP(free_p) char *real = realpath(file, NULL);
	CLEANUP(free_p) char *root = realpath(repo, NULL);
	size_t len = root ? strlen(root) : 0;

	if (!real || !root)
		return NULL;
	if (len == 1) /* the repository is / */
		return must_have(strdup(real + 1));
	if (strncmp(real, root, len) != 0 || real[len] != '/')
		return NULL;
	return must_have(strdup(real + len + 1));
}

/* The path of a file as the graph knows it. */
static char *path_in_repo(const char *file, const char *repo)
{
	char *path = path_from_here(file, repo);

	if (path)
		return path;
	while (strncmp(file, "./", 2) == 0)
		file += 2;
	return must_have(strdup(file));
}

static int print_at(const struct invocation *in, const struct code *c,
		    const char *path, uint32_t line)
{
	symbol_t at = graph_at(c->graph, path, line);
	struct symbol_columns columns = { .room = terminal_room() };
	struct symbol s;

	if (at == SYMBOL_NONE || !graph_symbol(c->graph, at, &s))
		return say_error("'%s' is not a file of the graph", path);
	/* A line behind the end of the file belongs to the module. */
	if (s.kind == SYMBOL_MODULE && strcmp(s.file, path) == 0 &&
	    line > s.end_line)
		return say_error("'%s' has %u line%s", path, s.end_line,
				 s.end_line == 1 ? "" : "s");
	if (!in->options[OPTION_JSON].given) {
		columns_take(&columns, &s);
		columns_fit(&columns);
		print_symbol(&s, &columns, colour_wanted(stdout));
		return EXIT_SUCCESS;
	}
	(void)putchar('{');
	code_json_symbol(stdout, &s);
	(void)puts("}");
	return EXIT_SUCCESS;
}

int verb_graph_at(const struct invocation *in)
{
	CLEANUP(code_release) struct code c = CODE_EMPTY;
	CLEANUP(free_p) char *file = NULL;
	CLEANUP(free_p) char *path = NULL;
	const char *repo = in->arguments[1] ? in->arguments[1] : ".";
	uint32_t line = 0;

	if (split_place(in->arguments[0], &file, &line) < 0)
		return say_usage_error("'%s' is not FILE:LINE, with lines "
				       "counted from 1",
				       in->arguments[0]);
	if (code_open(in, repo, &c) < 0)
		return EXIT_FAILURE;
	path = path_in_repo(file, repo);
	return print_at(in, &c, path, line);
}

/* stats */

/* Memory of this process, and how much of it is file-backed. */
struct resident {
	uint64_t bytes, of_files;
};

static struct resident resident(void)
{
	CLEANUP(fclose_p) FILE *f = fopen("/proc/self/statm", "re");
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	struct resident r = { 0 };
	char line[128], *end = line;

	if (!f || !fgets(line, sizeof(line), f))
		return r;
	(void)strtoull(line, &end, 10);
	r.bytes = strtoull(end, &end, 10) * page;
	r.of_files = strtoull(end, NULL, 10) * page;
	return r;
}

static void json_stats(const struct code *c, const struct graph_stats *n)
{
	const struct build_report *r = &c->report;
	const struct resident now = resident();
	const struct {
		const char *name;
		uint64_t value;
	} members[] = {
		{ "files", n->files },
		{ "bytes", r->bytes },
		{ "parsed", r->parsed },
		{ "cached", r->cached },
		{ "broken", n->broken },
		{ "vast", n->vast },
		{ "unreadable", r->unreadable },
		{ "too_large", r->too_large },
		{ "sites", n->sites },
		{ "resolved", n->resolved },
		{ "keys", n->keys },
		{ "postings", n->postings },
		{ "memory", n->bytes },
		{ "resident", now.bytes },
		{ "resident_files", now.of_files },
	};

	(void)printf("{\"seconds\":%.6f,\"cpu_seconds\":%.6f", c->seconds,
		     c->cpu_seconds);
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		(void)putchar(',');
		code_json_number(stdout, members[i].name, members[i].value);
	}
	(void)fputs(",\"symbols\":{", stdout);
	for (unsigned i = 0; i < SYMBOL_KINDS; i++) {
		(void)fputs(i ? "," : "", stdout);
		code_json_number(stdout, code_symbol_kind(i), n->symbols[i]);
	}
	(void)fputs("},\"edges\":{", stdout);
	for (unsigned i = 0; i < EDGE_KINDS; i++) {
		(void)fputs(i ? "," : "", stdout);
		code_json_number(stdout, code_edge_kind(i), n->edges[i]);
	}
	(void)puts("}}");
}

static void print_count(const char *name, size_t n)
{
	(void)printf("%-*s%9zu\n", STAT_COLUMN, name, n);
}

static void print_stats(const struct code *c, const struct graph_stats *n)
{
	CLEANUP(free_p) char *bytes = size_text(c->report.bytes);
	CLEANUP(free_p) char *memory = size_text(n->bytes);
	CLEANUP(free_p) char *held = size_text(resident().bytes);

	(void)printf("%-*s%9zu  %s; %zu parsed, %zu from the cache, %zu with "
		     "syntax errors\n",
		     STAT_COLUMN, "files", n->files, bytes, c->report.parsed,
		     c->report.cached, n->broken);
	for (unsigned i = 0; i < SYMBOL_KINDS; i++)
		print_count(code_symbol_kind(i), n->symbols[i]);
	for (unsigned i = 0; i < EDGE_KINDS; i++)
		print_count(code_edge_kind(i), n->edges[i]);
	(void)printf("%-*s%9zu  %zu lead into the repository\n", STAT_COLUMN,
		     "call sites", n->sites, n->resolved);
	(void)printf("%-*s%9zu  %zu dependents\n", STAT_COLUMN, "keys", n->keys,
		     n->postings);
	(void)printf("%-*s%9s  %s resident\n", STAT_COLUMN, "memory", memory,
		     held);
	(void)printf("%-*s%7.3f s\n", STAT_COLUMN, "built in", c->seconds);
}

int verb_graph_stats(const struct invocation *in)
{
	CLEANUP(code_release) struct code c = CODE_EMPTY;
	struct graph_stats n = { 0 };

	if (code_open(in, in->arguments[0], &c) < 0)
		return EXIT_FAILURE;
	graph_stat(c.graph, &n);
	if (in->options[OPTION_JSON].given)
		json_stats(&c, &n);
	else
		print_stats(&c, &n);
	return EXIT_SUCCESS;
}
