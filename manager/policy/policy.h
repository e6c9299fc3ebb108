/*
 * A policy decides for one request what should become of the records held: an
 * action for each nomination, records to evict, and code to retrieve
 * (manager/README.md, Decisions). When that is carried out is decided in
 * decide.h.
 *
 * A policy gets values, and may ask the tape (NEIGHBOURS, SYMBOL, SOURCE, ...)
 * through `client` until the request's deadline. If it fails, `defaults`
 * decides for that request, and the report counts it.
 */
#ifndef STATETAPE_MANAGER_POLICY_POLICY_H
#define STATETAPE_MANAGER_POLICY_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/base/array.h"
#include "graph/base/buf.h"
#include "manager/record/records.h"

struct client;

enum action {
	ACTION_KEEP,	 /* nominated, but still as good as before */
	ACTION_REFRESH,	 /* replace by the current text */
	ACTION_DROP,	 /* replace by a tombstone */
	ACTION_RERUN,	 /* replace by a line that asks for another run */
	ACTION_ANNOTATE, /* keep the text, append a note */
	ACTIONS
};
extern const char *const action_names[ACTIONS];

struct policy_lines {
	uint32_t start, end;
};

struct policy_record {
	const char *key; /* the call's id */
	enum record_kind kind;
	const char *path; /* NULL: none, or several */
	uint32_t start, end;
	uint64_t tokens;
	uint32_t age; /* requests since it was first seen */
	/* The nomination; ACTION_KEEP: there is none. */
	enum action action;
	const char *why;
	uint64_t entry;
	bool superseded; /* a later record shows its lines as they are */
	uint32_t item;	 /* its place in the transcript */
	/*
	 * The lines of `path` as numbered now that it is about, and of those
	 * the ones that are as it shows them; `now_end` 0: none, not known, or
	 * the policy does not want them.
	 */
	uint32_t now_start, now_end;
	const struct policy_lines *still;
	uint32_t still_count;
	bool edited; /* an edit that succeeded */
};

struct policy_in {
	const struct policy_record *records;
	size_t count;
	struct records *all;   /* their texts: records_read(all, i)->text */
	struct client *client; /* tape/wire/client.h */
	struct text task;      /* the user's first message */
	uint64_t budget;       /* maximum of `retrieved`, in tokens */
	const struct transcript *t;
	/*
	 * For fitting: room for POLICY_FEATURES numbers per record, to be
	 * filled with what the decision was made of; NULL: not wanted.
	 */
	double *features;
};
#define POLICY_FEATURES 60

/* The comments say how it is initialised. */
struct policy_out {
	enum action *actions; /* per record: the nomination's action */
	/*
	 * Per record: false. True evicts a record whose action is KEEP as soon
	 * as that is cheap; a record new in this request is not evicted.
	 */
	bool *evict;
	/*
	 * Empty. It becomes part of this request's note and is sent again in
	 * every later one, so do not repeat it. If it exceeds the budget, all
	 * of it is discarded.
	 */
	struct buf *retrieved;
	/* Per record: 0. How likely it is not needed any more, at most 1. */
	double *rank;
};

struct policy {
	const char *name;
	/* 0, or a negative errno: then `out` is ignored. */
	int (*decide)(const struct policy_in *in, struct policy_out *out);
	bool wants_lines; /* policy_record.now_start and on: they take time */
};

extern const struct policy policy_defaults, policy_control, policy_rules;
/* NULL: there is no policy of that name. */
const struct policy *policy_find(const char *name);
/* The names, in a sentence. */
const char *policy_list(void);

#endif
