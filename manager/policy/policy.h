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
};

struct policy_in {
	const struct policy_record *records;
	size_t count;
	struct records *all;   /* their texts: records_read(all, i)->text */
	struct client *client; /* tape/wire/client.h */
	struct text task;      /* the user's first message */
	uint64_t budget;       /* maximum of `retrieved`, in tokens */
};

/* Lines of a file that the next step may need, as numbered now. */
struct policy_region {
	char *path; /* owned by the list */
	uint32_t start, end;
	char rule;    /* '1' to '4': G1 edit site, G2 referenced definition, G3
			 depends on what changes, G4 contract */
	char *reason; /* in a few words, for the model; owned by the list */
	double score; /* the higher, the sooner it is taken */
};
typedef ARRAY(struct policy_region) policy_regions;
/* Append one; the strings are copied. */
void policy_retrieve(policy_regions *to, const struct policy_region *r);
void policy_regions_release(policy_regions *l);

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
	/*
	 * The same by place: empty. The planner takes them by score while the
	 * budget lasts, and puts their lines and reasons into the note.
	 */
	policy_regions *regions;
};

struct policy {
	const char *name;
	/* 0, or a negative errno: then `out` is ignored. */
	int (*decide)(const struct policy_in *in, struct policy_out *out);
};

extern const struct policy policy_defaults, policy_control;
/* NULL: there is no policy of that name. */
const struct policy *policy_find(const char *name);
/* The names, in a sentence. */
const char *policy_list(void);

#endif
