/*
 * A repository's code graph for the verbs of `statetape graph`: builds it from
 * a directory with a cache, a progress line and warnings, finds symbols by what
 * a user types, and prints them for people and programs.
 */
#ifndef STATETAPE_TOOLS_VERB_CODE_H
#define STATETAPE_TOOLS_VERB_CODE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "graph/build/build.h"
#include "graph/diff.h"
#include "graph/graph.h"
#include "tools/cli/verbs.h"

struct code {
	struct graph *graph;
	int root_fd;
	struct build_report report;
	double seconds;	    /* wall-clock time of the build */
	double cpu_seconds; /* processor time of all its threads */
};

#define CODE_EMPTY            \
	{                     \
		.root_fd = -1 \
	}

/*
 * Build the graph of `repo` (NULL: the current directory), using the cache as
 * the options in `in` say (NULL: no cache). On failure prints a message and
 * returns a negative errno.
 */
int code_open(const struct invocation *in, const char *repo, struct code *ret);
void code_release(struct code *c);

/* Open `path` as a directory. On failure prints a message, returns -errno. */
int code_open_dir(const char *path, int *ret_fd);

/*
 * The symbol of that name, or the only one whose name ends with it.
 * SYMBOL_NONE: none or several, after a message that lists the candidates.
 */
symbol_t code_find(const struct graph *g, const char *name);

/* Their names in text and JSON. */
const char *code_symbol_kind(enum symbol_kind kind);
const char *code_edge_kind(enum edge_kind kind);
/* One bit per kind named in "call,reads". 0: unknown kind, with a message. */
unsigned code_edge_kinds(const char *names);

/* All existing symbols by name; with `extended`, modules and variables too. */
struct code_list {
	symbol_t *symbols;
	size_t count;
};
struct code_list code_symbols(const struct graph *g, bool extended);
void code_list_release(struct code_list *l);

/* Every place of every edge of these kinds, by caller, callee and line. */
struct code_edge {
	symbol_t caller, callee;
	enum edge_kind kind;
	uint32_t line;
};
typedef void code_edge_print(const struct graph *g, const struct code_edge *e,
			     void *arg);
void code_edges(const struct graph *g, unsigned kinds, code_edge_print *print,
		void *arg);

/*
 * Parts of JSON objects. A member is `"name":value`, without a comma before it.
 */
void code_json_text(FILE *out, const char *name, const char *text);
void code_json_number(FILE *out, const char *name, uint64_t n);
/* `"name":...,"kind":...` and so on, of an existing symbol. */
void code_json_symbol(FILE *out, const struct symbol *s);
/* Whole lines: what `symbols --json` and `edges --json` print. */
void code_json_symbols(FILE *out, const struct graph *g, bool extended);
void code_json_edges(FILE *out, const struct graph *g, unsigned kinds);
/* `"X":[...],...`, as `diff --json` prints it. */
void code_json_diff(FILE *out, const struct graph *g, const struct diff *d);

/* The name of a symbol, even of one that no longer exists. */
const char *code_name(const struct graph *g, symbol_t s);

#endif
