/*
 * What survives a restart of the manager: the texts it put into requests, byte
 * for byte and with their places, the state of each record, and an account of
 * every request. One SQLite database, `manager.db`, in the repository's state
 * directory; the head of archive.c describes its tables.
 *
 * The changes of a request are one transaction, committed before its reply can
 * reach the client. Nothing is synced: a killed process loses nothing; a crash
 * of the host may lose the last requests, whose decisions are then made again.
 *
 * Any thread may call; a mutex inside puts the calls in order.
 */
#ifndef STATETAPE_MANAGER_DECIDE_ARCHIVE_H
#define STATETAPE_MANAGER_DECIDE_ARCHIVE_H

#include "manager/decide/conversation.h"
#include "manager/decide/decided.h"

#define ARCHIVE_NAME "manager.db"

struct archive;

/*
 * Open the archive in directory `dir`; NULL: one in memory. -EBADMSG: it is no
 * archive, or a newer program's. *ret_why (free it) is a sentence, if given.
 */
int archive_open(const char *dir, bool write, struct archive **ret,
		 char **ret_why);
void archive_free(struct archive *m);
/* Requests and counts from now on are those of this run (copied). Once. */
void archive_run(struct archive *m, const char *run);

/* The account of one request. Tokens are estimates. */
struct archive_request {
	int64_t at_ns;
	uint32_t request; /* its number in the conversation, from 0 */
	const char *
		outcome; /* "rewritten", "unchanged", or why it was passed on */
	const char *epoch;
	uint64_t received, sent; /* tokens */
	uint64_t held, stale;
	uint64_t refreshed, dropped, rerun, notes, evicted, retrieved;
	uint32_t notified, replaced;
	double cost_with, cost_without;
	uint64_t rewritten; /* cached tokens that our changes made be written
			       anew */
	uint64_t latency_us;
	/* Notes and replacements in the request sent, old and new. */
	uint32_t notes_sent, replacements_sent;
	/* Why the request received was sent after all; NULL: it was not. */
	const char *withheld;
	const struct decided_list *decided; /* NULL: none */
	int64_t id; /* archive_save() sets it; 0: not saved */
};

/* Load the state of `c`, which is new. -ENOENT: there is none. */
int archive_load(struct archive *m, struct conversation *c);
/* Save the changes of `c` and the account `r`; 0 or a negative errno. */
int archive_save(struct archive *m, struct conversation *c,
		 struct archive_request *r);
/*
 * Delete what was last used more than `days` ago, then the oldest until at most
 * `bytes` are in use, but no conversation of the last hour; 0: no such limit.
 */
int archive_keep(struct archive *m, uint64_t days, uint64_t bytes,
		 int64_t now_ns);
/* `r` was saved, and upstream then refused the rewritten request. */
void archive_withheld(struct archive *m, struct archive_request *r,
		      const char *why);
/* Add the usage a reply reported; also saves the flags of `c`. */
int archive_usage(struct archive *m, const struct conversation *c,
		  int64_t input, int64_t read, int64_t written);

/* Add to a persistent counter. */
void archive_count(struct archive *m, const char *name, uint64_t n);
typedef void archive_counter(void *ctx, const char *name, uint64_t n);
/* `own`: of this run alone. */
int archive_counters(struct archive *m, bool own, archive_counter *visit,
		     void *ctx);

/* Sums over all requests since `since_ns`; `own`: of this run alone. */
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
int archive_sum(struct archive *m, int64_t since_ns, bool own,
		struct archive_sums *ret);

/*
 * Visit request `n` of conversation `key` with its decisions, or all requests
 * of the conversation, oldest first, without them. -ENOENT: there is no such
 * request; -ENOTSUP: the archive has version 1, without decisions. The visitor
 * may use the row and its texts until it returns, and must not call back.
 */
typedef void archive_explained(void *ctx, const struct archive_request *r);
int archive_explain(struct archive *m, const char *key, uint32_t n,
		    archive_explained *visit, void *ctx);
int archive_requests(struct archive *m, const char *key,
		     archive_explained *visit, void *ctx);

/* The conversations' keys, newest first (free each, and the list). */
int archive_list(struct archive *m, char ***ret, size_t *ret_n);

#endif
