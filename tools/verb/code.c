#include "tools/verb/code.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/base/clock.h"
#include "graph/base/quote.h"
#include "graph/build/tree.h"
#include "tape/wire/state.h"
#include "tools/cli/repo.h"
#include "tools/cli/say.h"

#define BAR_AFTER_S 0.5
#define BAR_WIDTH   40
#define LISTED_MAX  20 /* candidates for an ambiguous name */

/* Building */

struct bar {
	double began;
	bool wanted; /* progress is shown on a terminal */
	bool shown;
};

static void show_bar(size_t done, size_t total, void *arg)
{
	struct bar *bar = arg;
	int full = total ? (int)(done * BAR_WIDTH / total) : BAR_WIDTH;

	if (!bar->wanted ||
	    ns_seconds(clock_mono_ns()) - bar->began < BAR_AFTER_S)
		return;
	bar->shown = true;
	(void)fputs("\r[", stderr);
	for (int i = 0; i < BAR_WIDTH; i++)
		(void)fputc(i < full ? '#' : ' ', stderr);
	(void)fprintf(stderr, "] %zu/%zu files", done, total);
	(void)fflush(stderr);
}

static void clear_bar(const struct bar *bar)
{
	if (bar->shown)
		(void)fprintf(stderr, "\r%*s\r", BAR_WIDTH + 40, "");
}

static void add_text(char **text, const char *more)
{
	char *longer = format_text("%s%s", *text, more);

	free(*text);
	*text = longer;
}

/* Append "N files could not be read" and the like, after a comma. */
static void add_count(char **text, size_t n, const char *one, const char *many)
{
	CLEANUP(free_p) char *count = format_text("%zu ", n);

	if (!n)
		return;
	if (**text)
		add_text(text, ", ");
	add_text(text, count);
	add_text(text, n == 1 ? one : many);
}

#define NAMED_MAX 3

/* The first paths of the files in one state, by name. */
struct named {
	enum file_state state;
	const char *paths[NAMED_MAX];
	size_t count;
};

static bool see_named(const char *path, enum file_state state, void *arg)
{
	struct named *n = arg;
	size_t at = n->count < NAMED_MAX ? n->count : NAMED_MAX;

	if (state != n->state)
		return true;
	n->count++;
	for (; at && strcmp(path, n->paths[at - 1]) < 0; at--)
		if (at < NAMED_MAX)
			n->paths[at] = n->paths[at - 1];
	if (at < NAMED_MAX)
		n->paths[at] = path;
	return true;
}

/* The same for files of the graph, with the names of the first of them. */
static void add_named(char **text, const struct graph *g, enum file_state state,
		      const char *one, const char *many)
{
	struct named n = { .state = state };
	char quoted[QUOTE_NAME_SIZE];

	graph_files(g, see_named, &n);
	if (!n.count)
		return;
	add_count(text, n.count, one, many);
	for (size_t k = 0; k < n.count && k < NAMED_MAX; k++) {
		add_text(text, k ? ", " : " (");
		add_text(text, quote_name(n.paths[k], quoted));
	}
	add_text(text, n.count > NAMED_MAX ? ", ...)" : ")");
}

static void warn_not_kept(const char *why)
{
	(void)say_error("warning: parsed files are not cached: %s", why);
}

/* One sentence about all files that were left out. */
static void warn(const char *repo, const struct graph *g,
		 const struct build_report *n)
{
	CLEANUP(free_p) char *text = format_text("%s", "");

	add_count(&text, n->unreadable, "file could not be read",
		  "files could not be read");
	add_count(&text, n->too_large, "file over 16 MiB was left out",
		  "files over 16 MiB were left out");
	add_named(&text, g, FILE_BROKEN, "file has a syntax error",
		  "files have syntax errors");
	add_named(&text, g, FILE_VAST,
		  "file of a million tokens or more was not parsed",
		  "files of a million tokens or more were not parsed");
	add_named(&text, g, FILE_DEEP, "file was read only to a depth of 1,000",
		  "files were read only to a depth of 1,000");
	if (!n->files)
		(void)say_error("'%s' has no Python files%s%s", repo,
				*text ? ": " : "", text);
	else if (*text)
		(void)say_error("warning: in '%s' %s", repo, text);
	/* Busy: another process is writing the same cache. */
	if (n->cache_error && n->cache_error != -EBUSY)
		warn_not_kept(errno_text(n->cache_error));
}

/* The state directory for the cache of `repo`; -1: build without a cache. */
static int find_cache(const struct invocation *in, const char *repo,
		      struct state *s)
{
	CLEANUP(free_p) char *why = NULL;
	int r;

	if (!in || in->options[OPTION_NO_CACHE].given)
		return -1;
	r = state_init(repo, 1, s, &why);
	if (r == 0)
		return s->dir_fd;
	warn_not_kept(why ? why : errno_text(r));
	return -1;
}

int code_open_dir(const char *path, int *ret_fd)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int error = errno;

	if (fd >= 0) {
		*ret_fd = fd;
		return 0;
	}
	if (error == ENOTDIR)
		(void)say_error("'%s' is not a directory", path);
	else if (error == ENOENT)
		(void)say_error("'%s' cannot be found", path);
	else
		(void)say_error("'%s' cannot be read: %s", path,
				errno_text(error));
	return -error;
}

static int build(const struct invocation *in, const char *repo, struct code *c)
{
	CLEANUP(state_release) struct state s = REPO_STATE_EMPTY;
	struct bar bar = { .began = ns_seconds(clock_mono_ns()),
			   .wanted = isatty(STDERR_FILENO) };
	struct build b = { .root_fd = c->root_fd,
			   .state_fd = find_cache(in, repo, &s),
			   .progress = show_bar,
			   .arg = &bar };
	int r;

	if (in && in->options[OPTION_REHASH].given)
		b.trust = BUILD_BY_HASH;
	/* A limit on file size (RLIMIT_FSIZE) is handled like a full disk. */
	(void)signal(SIGXFSZ, SIG_IGN);
	c->cpu_seconds = ns_seconds(clock_ns(CLOCK_PROCESS_CPUTIME_ID));
	c->graph = must_have(graph_new());
	r = build_all(&b, c->graph, &c->report);
	clear_bar(&bar);
	c->seconds = ns_seconds(clock_mono_ns()) - bar.began;
	c->cpu_seconds =
		ns_seconds(clock_ns(CLOCK_PROCESS_CPUTIME_ID)) - c->cpu_seconds;
	if (r == -E2BIG)
		(void)say_error("'%s' has more than %u Python files", repo,
				TREE_FILES_MAX);
	else if (r < 0)
		(void)say_error("'%s' cannot be read: %s", repo, errno_text(r));
	else
		warn(repo, c->graph, &c->report);
	return r;
}

int code_open(const struct invocation *in, const char *repo, struct code *ret)
{
	struct code c = CODE_EMPTY;
	int r;

	repo = repo ? repo : ".";
	r = code_open_dir(repo, &c.root_fd);
	if (r == 0)
		r = build(in, repo, &c);
	if (r == 0)
		*ret = c;
	else
		code_release(&c);
	return r;
}

void code_release(struct code *c)
{
	graph_free(c->graph);
	close_p(&c->root_fd);
	*c = (struct code)CODE_EMPTY;
}

/* Names */

const char *code_symbol_kind(enum symbol_kind kind)
{
	static const char *const names[SYMBOL_KINDS] = {
		[SYMBOL_FUNCTION] = "function", [SYMBOL_METHOD] = "method",
		[SYMBOL_CLASS] = "class",	[SYMBOL_MODULE] = "module",
		[SYMBOL_VARIABLE] = "variable",
	};

	assert(kind < SYMBOL_KINDS);
	return names[kind];
}

static const char *const edge_names[EDGE_KINDS] = {
	[EDGE_CALL] = "call",		[EDGE_INHERITS] = "inherits",
	[EDGE_OVERRIDES] = "overrides", [EDGE_READS] = "reads",
	[EDGE_IMPORTS] = "imports",	[EDGE_IMPLICIT] = "implicit",
	[EDGE_USES] = "uses",
};

const char *code_edge_kind(enum edge_kind kind)
{
	assert(kind < EDGE_KINDS);
	return edge_names[kind];
}

unsigned code_edge_kinds(const char *names)
{
	unsigned kinds = 0;

	for (;;) {
		size_t len = strcspn(names, ","), i = 0;

		while (i < EDGE_KINDS &&
		       (strlen(edge_names[i]) != len ||
			memcmp(edge_names[i], names, len) != 0))
			i++;
		if (i == EDGE_KINDS) {
			(void)say_usage_error(
				"'%.*s' is not a kind of edge; the kinds are "
				"call, implicit, uses, inherits, overrides, "
				"reads, imports",
				(int)len, names);
			return 0;
		}
		kinds |= 1U << i;
		if (!names[len])
			return kinds;
		names += len + 1;
	}
}

const char *code_name(const struct graph *g, symbol_t s)
{
	struct symbol symbol = { .name = "" };

	(void)graph_symbol(g, s, &symbol);
	return symbol.name;
}

/* Is `end` all of `name`, or its last dotted parts? */
static bool ends_in(const char *name, const char *end)
{
	size_t n = strlen(name), m = strlen(end);

	return n >= m && strcmp(name + n - m, end) == 0 &&
	       (n == m || name[n - m - 1] == '.');
}

static void list_candidates(const struct graph *g, const struct code_list *l,
			    const char *name)
{
	size_t listed = 0;

	(void)say_error("'%s' is ambiguous: it is the end of these names:",
			name);
	for (size_t i = 0; i < l->count; i++) {
		const char *full = code_name(g, l->symbols[i]);

		if (!ends_in(full, name))
			continue;
		if (listed++ == LISTED_MAX) {
			(void)fputs("  ...\n", stderr);
			return;
		}
		(void)fputs("  ", stderr);
		(void)print_safe(stderr, full);
		(void)fputc('\n', stderr);
	}
}

symbol_t code_find(const struct graph *g, const char *name)
{
	CLEANUP(code_list_release) struct code_list l = { 0 };
	symbol_t found = graph_find(g, name);
	struct symbol symbol;
	size_t matches = 0;

	if (found != SYMBOL_NONE && graph_symbol(g, found, &symbol))
		return found;
	l = code_symbols(g, true);
	for (size_t i = 0; i < l.count; i++)
		if (ends_in(code_name(g, l.symbols[i]), name)) {
			found = l.symbols[i];
			matches++;
		}
	if (matches == 1)
		return found;
	if (matches == 0)
		(void)say_error("there is no symbol '%s'", name);
	else
		list_candidates(g, &l, name);
	return SYMBOL_NONE;
}

/* Lists */

static int compare_names(const void *a, const void *b, void *arg)
{
	return strcmp(code_name(arg, *(const symbol_t *)a),
		      code_name(arg, *(const symbol_t *)b));
}

/* qsort_r() takes a non-const argument but does not write to it. */
static void *as_argument(const struct graph *g)
{
	union {
		const struct graph *g;
		void *arg;
	} u = { .g = g };

	return u.arg;
}

struct code_list code_symbols(const struct graph *g, bool extended)
{
	size_t max = graph_symbols_max(g);
	struct code_list l = { .symbols = must_calloc(max, sizeof(symbol_t)) };

	for (symbol_t s = 0; s < max; s++) {
		struct symbol symbol;

		if (graph_symbol(g, s, &symbol) &&
		    (extended || (symbol.kind != SYMBOL_MODULE &&
				  symbol.kind != SYMBOL_VARIABLE)))
			l.symbols[l.count++] = s;
	}
	assert(l.count <= max);
	qsort_r(l.symbols, l.count, sizeof(*l.symbols), compare_names,
		as_argument(g));
	return l;
}

void code_list_release(struct code_list *l)
{
	free(l->symbols);
	*l = (struct code_list){ 0 };
}

/* The edges of one caller. */
struct out_edges {
	symbol_t caller;
	struct code_edge *edges;
	size_t count;
	uint32_t size;
};

static bool collect(const struct edge *e, void *arg)
{
	struct out_edges *out = arg;

	out->edges = must_grow(out->edges, &out->size, out->count + 1,
			       sizeof(*out->edges));
	out->edges[out->count++] = (struct code_edge){
		.caller = out->caller,
		.callee = e->other,
		.kind = e->kind,
		.line = e->line,
	};
	return true;
}

static int compare_edges(const void *a, const void *b, void *arg)
{
	const struct code_edge *x = a, *y = b;
	int order = 0;

	if (x->callee != y->callee)
		order = strcmp(code_name(arg, x->callee),
			       code_name(arg, y->callee));
	if (order == 0)
		order = (x->line > y->line) - (x->line < y->line);
	return order ? order : (int)x->kind - (int)y->kind;
}

void code_edges(const struct graph *g, unsigned kinds, code_edge_print *print,
		void *arg)
{
	CLEANUP(code_list_release) struct code_list l = code_symbols(g, true);
	struct out_edges out = { 0 };

	for (size_t i = 0; i < l.count; i++) {
		out.caller = l.symbols[i];
		out.count = 0;
		graph_out(g, out.caller, kinds, collect, &out);
		if (out.count)
			qsort_r(out.edges, out.count, sizeof(*out.edges),
				compare_edges, as_argument(g));
		/* Two calls on one line count as one place. */
		for (size_t k = 0; k < out.count; k++)
			if (k == 0 ||
			    compare_edges(&out.edges[k - 1], &out.edges[k],
					  as_argument(g)) != 0)
				print(g, &out.edges[k], arg);
	}
	free(out.edges);
}

/* JSON */

void code_json_text(FILE *out, const char *name, const char *text)
{
	(void)fprintf(out, "\"%s\":", name);
	print_json_string(out, text);
}

void code_json_number(FILE *out, const char *name, uint64_t n)
{
	(void)fprintf(out, "\"%s\":%ju", name, (uintmax_t)n);
}

void code_json_symbol(FILE *out, const struct symbol *s)
{
	code_json_text(out, "name", s->name);
	(void)fprintf(out, ",\"kind\":\"%s\",", code_symbol_kind(s->kind));
	code_json_text(out, "file", s->file);
	(void)fprintf(out,
		      ",\"start_line\":%u,\"end_line\":%u,"
		      "\"hash\":\"%016jx%016jx\"",
		      s->start_line, s->end_line, (uintmax_t)s->hash.high64,
		      (uintmax_t)s->hash.low64);
}

void code_json_symbols(FILE *out, const struct graph *g, bool extended)
{
	CLEANUP(code_list_release)
	struct code_list l = code_symbols(g, extended);

	for (size_t i = 0; i < l.count; i++) {
		struct symbol s;

		if (!graph_symbol(g, l.symbols[i], &s))
			continue;
		(void)fputc('{', out);
		code_json_symbol(out, &s);
		(void)fputs("}\n", out);
	}
}

static void json_edge(const struct graph *g, const struct code_edge *e,
		      void *arg)
{
	FILE *out = arg;

	(void)fputc('{', out);
	code_json_text(out, "caller", code_name(g, e->caller));
	(void)fputc(',', out);
	code_json_text(out, "callee", code_name(g, e->callee));
	(void)fprintf(out, ",\"line\":%u,\"kind\":\"%s\"}\n", e->line,
		      code_edge_kind(e->kind));
}

void code_json_edges(FILE *out, const struct graph *g, unsigned kinds)
{
	code_edges(g, kinds, json_edge, out);
}

static void json_set(FILE *out, const struct graph *g, const char *name,
		     const struct diff_set *set)
{
	(void)fprintf(out, "\"%s\":[", name);
	for (size_t i = 0; i < set->count; i++) {
		if (i)
			(void)fputc(',', out);
		print_json_string(out, code_name(g, set->symbols[i]));
	}
	(void)fputc(']', out);
}

void code_json_diff(FILE *out, const struct graph *g, const struct diff *d)
{
	json_set(out, g, "X", &d->x);
	(void)fputc(',', out);
	json_set(out, g, "dX", &d->dx);
	(void)fputc(',', out);
	json_set(out, g, "added", &d->added);
	(void)fputs(",\"extended\":{", out);
	json_set(out, g, "X", &d->extended_x);
	(void)fputc(',', out);
	json_set(out, g, "R", &d->extended_r);
	(void)fputc('}', out);
}
