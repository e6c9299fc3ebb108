/*
 * What a manager must not forget when it is restarted: which texts it put
 * where, byte for byte, what it knows of each record, and what came of every
 * request. One SQLite database, `manager.db`, in the repository's state
 * directory; decide/archive.c's head comment gives the tables.
 *
 * What a request changed is written in one transaction before it is sent.
 * Nothing is synced on the way: a killed process loses nothing, a crash of
 * the host may lose the last moments, and then old decisions are made anew.
 *
 * Any thread may call; calls take turns inside.
 */
#ifndef STATETAPE_MANAGER_DECIDE_ARCHIVE_H
#define STATETAPE_MANAGER_DECIDE_ARCHIVE_H

#include "manager/decide/conversation.h"
#include "manager/decide/decided.h"

#define ARCHIVE_NAME "manager.db"

struct archive;

/*
 * In directory `dir`; NULL: in this process alone. -EBADMSG: it is none, or a
 * newer program's. *ret_why (free it) is a sentence, if given.
 */
int archive_open(const char *dir, bool write, struct archive **ret,
		 char **ret_why);
void archive_free(struct archive *m);

/* One request, for the report. Tokens are estimates. */
struct archive_request {
	int64_t at_ns;
	uint32_t request;    /* of its conversation */
	const char *outcome; /* "rewritten", "unchanged", or why it passed */
	const char *epoch;
	uint64_t received, sent; /* tokens */
	uint64_t held, stale;
	uint64_t refreshed, dropped, rerun, notes, evicted, retrieved;
	uint32_t notified, replaced;
	double cost_with, cost_without;
	uint64_t rewritten; /* cached tokens written anew because of us */
	uint64_t latency_us;
	/* Texts of ours in the request as it was sent, old and new. */
	uint32_t notes_sent, replacements_sent;
	/* Why the request received was sent all the same; NULL: it was not. */
	const char *withheld;
	const struct decided_list *decided; /* NULL: nothing was */
	int64_t id; /* archive_save() sets it; 0: not saved */
};

/* Fills `c`, which is new, with what is kept of it. -ENOENT: nothing is. */
int archive_load(struct archive *m, struct conversation *c);
/* What changed in `c`, and how the request went; 0 or a negative errno. */
int archive_save(struct archive *m, struct conversation *c,
		 struct archive_request *r);
/* After it was saved it turned out that its rewriting was not accepted. */
void archive_withheld(struct archive *m, struct archive_request *r,
		      const char *why);
/* A reply said what the provider's cache did. */
int archive_usage(struct archive *m, const struct conversation *c,
		  int64_t input, int64_t read, int64_t written);

/* Add to a counter that outlives the process. */
void archive_count(struct archive *m, const char *name, uint64_t n);
typedef void archive_counter(void *ctx, const char *name, uint64_t n);
int archive_counters(struct archive *m, archive_counter *visit, void *ctx);

/* Sums over all requests since `since_ns`, and latencies (free them). */
struct archive_sums {
	uint64_t conversations, requests, rewrites;
	uint64_t received, sent, held, stale;
	uint64_t refreshed, dropped, rerun, notes, evicted, retrieved;
	uint64_t notified, replaced, rewritten;
	uint64_t epochs;
	double cost_with, cost_without;
	uint64_t p50_us, p99_us;
	uint64_t usage_input, usage_read, usage_written;
};
int archive_sum(struct archive *m, int64_t since_ns, struct archive_sums *ret);

/*
 * What is kept of requests, for EXPLAIN: of the conversation `key`, request
 * number `n`, or all of them, oldest first, without what was decided. -ENOENT:
 * there is none; -ENOTSUP: an older program's archive, without decisions. The
 * row and its texts last for the call.
 */
typedef void archive_explained(void *ctx, const struct archive_request *r);
int archive_explain(struct archive *m, const char *key, uint32_t n,
		    archive_explained *visit, void *ctx);
int archive_requests(struct archive *m, const char *key,
		     archive_explained *visit, void *ctx);

/* The conversations' keys, newest first (free each, and the list). */
int archive_list(struct archive *m, char ***ret, size_t *ret_n);

#endif
