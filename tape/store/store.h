/*
 * Where the tape is kept: entries, the contents files had, and what the tape
 * knows of each file now, in one SQLite database of a repository's state
 * directory. One process writes, any number read meanwhile.
 *
 * What belongs together is written together: entries, contents, the files'
 * state and the journal's position go in one transaction, so that a process
 * killed at any moment leaves a store that says exactly how far it came.
 * Nothing is synced on the way; after a crash of the host the store is whole,
 * and the last moments may be missing.
 *
 * One thread's at a time. store.c's head comment gives the tables.
 */
#ifndef STATETAPE_TAPE_STORE_STORE_H
#define STATETAPE_TAPE_STORE_STORE_H

#include "tape/store/entry.h"

#define STORE_NAME "tape.db" /* in the directory of a repository's state */

/* Larger files, and those that are no text, have hashes but no contents. */
#define STORE_CONTENT_MAX (1u << 20)

struct store;

enum store_mode { STORE_WRITE, STORE_READ };

/*
 * -ENOENT: nothing to read. -EBUSY: another process writes. -EBADMSG: it is no
 * store, or a newer program's. *ret_why (free it) is a sentence, if given.
 */
int store_open(const char *path, enum store_mode mode, struct store **ret,
	       char **ret_why);
void store_free(struct store *s);

/*
 * -- Writing. Every call between the two fails as a whole with the commit: the
 * first failure is the commit's, too, and leaves the store as it was at the
 * beginning (-ENOSPC: the disk is full). Outside of the two, writing calls
 * fail with -EINVAL, and all of them with -EROFS in a store that only reads.
 *
 * For one change the order is: its content, its entry, the file's new state.
 * So an entry knows whether its content is kept, and what a path held before
 * its first entry is what was put before. All of them go in one transaction:
 * store_verify() compares files with the newest entries of their paths.
 */
int store_begin(struct store *s);
int store_commit(struct store *s);
void store_abort(struct store *s);

/* Gives it the next number and its chain hash, both set in `e`. */
int store_append(struct store *s, struct entry *e);

/*
 * Moves what was committed from the log of writes into the database proper,
 * syncing it. For when there is nothing else to do: a commit does it only when
 * the log has grown long. Not in a transaction.
 */
int store_checkpoint(struct store *s);

/* Up to which line the journal has been applied. */
int store_set_position(struct store *s, uint64_t journal_n);
uint64_t store_position(struct store *s);
uint64_t store_head(struct store *s);  /* newest entry, 0: none yet */
uint64_t store_first(struct store *s); /* oldest kept; head + 1: none */

/*
 * A content, kept once however often it occurs. Text up to the maximum; other
 * bytes (longer, or with a NUL among them) are passed over, which is no error.
 */
int store_put_content(struct store *s, XXH128_hash_t hash, const char *text,
		      size_t len);
bool store_has_content(struct store *s, XXH128_hash_t hash);
/* Allocated with a NUL behind it (free it). -ENOENT: not kept (any more). */
int store_content(struct store *s, XXH128_hash_t hash, char **ret_text,
		  size_t *ret_len);

/* What the tape knows of each file that is there now. */
struct store_file {
	const char *path;
	XXH128_hash_t hash;
	uint64_t size, inode;
	int64_t mtime_ns, ctime_ns;
};
int store_put_file(struct store *s, const struct store_file *f);
int store_remove_file(struct store *s, const char *path);
typedef int store_file_visit(const struct store_file *f, void *arg);
int store_files(struct store *s, store_file_visit *visit, void *arg);

/*
 * -- Reading. An entry handed to a visitor lives until it returns. A visitor
 * may ask the store meanwhile; its non-zero result ends the visiting and is
 * what the call returns.
 */
typedef int store_entry_visit(const struct entry *e, void *arg);

/* -ENOENT: no such entry. */
int store_entry(struct store *s, uint64_t n, store_entry_visit *visit,
		void *arg);
/* In order, from n+1 (or from the oldest kept), at most `limit`. */
int store_since(struct store *s, uint64_t n, size_t limit,
		store_entry_visit *visit, void *arg);

/* Zeroed: all of them. */
struct store_filter {
	uint64_t before;    /* only numbers below it; 0: all */
	const char *path;   /* glob: path_matches() of graph/base/path.h */
	const char *symbol; /* its name, or the end of it after a dot */
	uint32_t pid;	    /* it or a descendant; 0: any */
	int64_t since_ns, until_ns; /* 0: no bound */
	const char *author;	    /* glob on command name or command line */
};
/* Newest first. */
int store_select(struct store *s, const struct store_filter *f, size_t limit,
		 store_entry_visit *visit, void *arg);

/*
 * What `path` held as of entry `n` (as it is now: UINT64_MAX). *ret_since is
 * the entry that made it so, 0: older than the tape. -ENOENT: it was not
 * there, or is not known.
 */
int store_version(struct store *s, const char *path, uint64_t n,
		  XXH128_hash_t *ret_hash, uint64_t *ret_since);

/* Every entry that has `symbol` in a set, newest first: its number and set. */
typedef int store_touch_visit(uint64_t n, enum entry_set set, bool removed,
			      void *arg);
int store_touches(struct store *s, const char *symbol, uint64_t since,
		  store_touch_visit *visit, void *arg);
/* All symbols' newest entry per set, to fill an index with at start. */
typedef int store_last_visit(const char *symbol, enum entry_set set, uint64_t n,
			     bool removed, void *arg);
int store_last(struct store *s, store_last_visit *visit, void *arg);

/* -- Keeping house. */
struct store_stats {
	uint64_t entries, first, contents, files;
	uint64_t gaps;		/* of the entries */
	uint64_t bytes;		/* of the database */
	uint64_t content_bytes; /* of that, for contents */
};
int store_stat(struct store *s, struct store_stats *ret);

/*
 * Somebody needs what is there from entry `n` on, until then (in milliseconds
 * since 1970); who holds again replaces what he held. Ones that have ended are
 * forgotten. A transaction of its own, unless one is open.
 */
int store_put_hold(struct store *s, const char *holder, uint64_t n,
		   int64_t until_ms);
typedef int store_hold_visit(const char *holder, uint64_t n, int64_t until_ms,
			     void *arg);
int store_holds(struct store *s, store_hold_visit *visit, void *arg);

/*
 * Check everything: the chain of hashes, every number there, contents against
 * their hashes, files against the newest entries of their paths. A sentence per
 * finding, which names the entry; paths in it are bytes. Returns how many, or a
 * negative errno. Not in a transaction.
 */
typedef void store_finding(const char *sentence, void *arg);
int store_verify(struct store *s, store_finding *found, void *arg);

/*
 * Give up what is older than `before_ns` (0: no bound) and then the oldest
 * until at most `bytes` are used (0: no bound): contents first, entries last.
 * What the files hold now, and what is needed to show a version from entry
 * `held` on, stays (UINT64_MAX: nothing is held), and so do the entries from
 * there on. The chain stays verifiable from the oldest entry kept. Not in a
 * transaction: it is one.
 */
struct store_retired {
	uint64_t contents, entries, bytes;
};
int store_retire(struct store *s, int64_t before_ns, uint64_t bytes,
		 uint64_t held, struct store_retired *ret);

#endif
