/*
 * A recorded session in the neutral format: the records as they entered the
 * agent's context, the edits, and the points at which a policy is asked to
 * decide. `repo/` beside it has the source files as they were before the first
 * record (world.h), labels.json what a policy should have decided (labels.h).
 */
#ifndef STATETAPE_MANAGER_BENCH_TRACE_H
#define STATETAPE_MANAGER_BENCH_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cjson/cJSON.h>

#include "graph/base/arena.h"
#include "graph/base/array.h"
#include "graph/base/intern.h"

enum trace_kind {
	TRACE_READ,
	TRACE_EDIT,
	TRACE_RUN,
	TRACE_SEARCH,
	TRACE_SAY,
	TRACE_KINDS
};
extern const char *const trace_kinds[TRACE_KINDS];

enum trace_op {
	OP_NONE,    /* no edit */
	OP_REPLACE, /* `old_n` lines from `start` on by `lines` */
	OP_CREATE,  /* the file holds `lines` */
	OP_DELETE,
	OP_EXTERNAL, /* of a file that is not in repo/ */
};

/* Strings are the trace's. */
struct trace_record {
	const char *id;
	enum trace_kind kind;
	uint32_t turn;
	uint64_t tokens;
	const char *text;    /* "": none */
	const char *file;    /* read, edit; else NULL */
	uint32_t start, end; /* lines; 0: not given */
	const char *cmd;     /* run: else NULL */
	const char *query;   /* search: else NULL */
	const char *by;	     /* a write that is not in the context; else NULL */
	enum trace_op op;
	uint32_t at, old_n;
	const char **lines;
	uint32_t lines_count;
};

/* A decision point: the records before `held` are held. */
struct trace_point {
	uint32_t dp;
	uint32_t held;
};

struct trace {
	char *name; /* of its folder */
	const char *task;
	const char *repo; /* owner/name */
	ARRAY(struct trace_record) records;
	ARRAY(struct trace_point) points; /* in the order of the session */
	struct intern *ids;		  /* record i has number i + 1 */
	struct arena arena;
};

/*
 * Read DIR/meta.json and DIR/trace.jsonl. -EBADMSG: they are none; *ret_why is
 * a sentence (free it).
 */
int trace_open(const char *dir, struct trace **ret, char **ret_why);
void trace_free(struct trace *t);
/* UINT32_MAX: there is no such record. */
uint32_t trace_find(const struct trace *t, const char *id);

/* A whole file with a NUL behind it (free it). */
int trace_read_file(const char *path, char **ret, size_t *ret_len);

#endif
