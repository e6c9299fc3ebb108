/*
 * A policy decides, for one request, what is to become of the records an
 * agent holds: an action for each one nominated, records that are still true
 * but finished with, and code to show besides. When and how that is sent is
 * decided elsewhere (decide.h).
 *
 * It sees values, and asks the tape (NEIGHBOURS, SYMBOL, SOURCE, ...) through
 * `client`, within the turn's time. A policy that fails is replaced for that
 * request by `defaults`, and the report says so.
 */
#ifndef STATETAPE_MANAGER_POLICY_POLICY_H
#define STATETAPE_MANAGER_POLICY_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/base/buf.h"
#include "manager/record/records.h"

struct client;

enum action {
	ACTION_KEEP,	 /* nominated, but as good as it was */
	ACTION_REFRESH,	 /* the current text instead */
	ACTION_DROP,	 /* a tombstone instead */
	ACTION_RERUN,	 /* a line that asks for another run instead */
	ACTION_ANNOTATE, /* the text stays, a note says what is new */
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
	struct records *all;   /* what each says: records_read(all, i)->text */
	struct client *client; /* tape/wire/client.h */
	struct text task;      /* what the user asked for first */
	uint64_t budget;       /* tokens that `retrieved` may have */
};

/* Filled in beforehand with what is said here. */
struct policy_out {
	enum action *actions; /* per record: what the nomination says */
	/*
	 * Per record: false. True takes the place of a record that is kept,
	 * at the next time that is cheap; not of one that has just come.
	 */
	bool *evict;
	/*
	 * Empty. Put into the note of this request as it is, and sent again
	 * with it from then on: say each thing once. Over the budget, all of
	 * it is left out.
	 */
	struct buf *retrieved;
};

struct policy {
	const char *name;
	/* 0, or a negative errno: then `out` is not looked at. */
	int (*decide)(const struct policy_in *in, struct policy_out *out);
};

extern const struct policy policy_defaults, policy_control;
/* NULL: there is none of that name. */
const struct policy *policy_find(const char *name);

#endif
