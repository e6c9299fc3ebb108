/*
 * The tape on disk: entries, the contents of files, and the state of each file
 * as of now, in one SQLite database in the state directory of a repository. One
 * process writes, any number may read at the same time.
 *
 * Entries, contents, file states and the journal position of one batch are
 * written in one transaction, so a process killed at any moment leaves a store
 * that says exactly how far it came. Commits are not synced; after a crash of
 * the host the store is consistent, and the last moments may be missing.
 *
 * A store belongs to one thread at a time. schema.c gives the tables.
 */
#ifndef STATETAPE_TAPE_STORE_STORE_H
#define STATETAPE_TAPE_STORE_STORE_H

#include "tape/store/entry.h"

#define STORE_NAME "tape.db" /* in the state directory of a repository */

/* Of larger files and of binary ones only the hash is kept, not the content. */
#define STORE_CONTENT_MAX (1u << 20)

struct store;

/*
 * STORE_SALVAGE reads what can be read of a damaged store, or of one of another
 * version: entries that cannot be read are left out and counted.
 */
enum store_mode { STORE_WRITE, STORE_READ, STORE_SALVAGE };

/*
 * -ENOENT: nothing to read. -EBUSY: another process writes. -EBADMSG: damaged,
 * or not a store. -EPROTONOSUPPORT: the store of a newer program. If `ret_why`
 * is not NULL, *ret_why is a sentence that says why (free it), or NULL.
 */
int store_open(const char *path, enum store_mode mode, struct store **ret,
	       char **ret_why);
void store_free(struct store *s);
const char *store_path(const struct store *s);
/* How many entries were left out by STORE_SALVAGE. */
uint64_t store_skipped(const struct store *s);

/*
 * -- Writing. Once a call of a transaction failed, the commit fails with the
 * same error and leaves the store as it was at store_begin() (-ENOSPC: the disk
 * is full). Outside a transaction writing calls fail with -EINVAL, in a store
 * opened for reading with -EROFS.
 *
 * The order for one change is: content, entry, new state of the file. So an
 * entry records whether its content is kept, and the state put before the first
 * entry of a path is what the path held before it. All three go into one
 * transaction, because store_verify() compares files with the newest entries of
 * their paths.
 */
int store_begin(struct store *s);
int store_commit(struct store *s);
void store_abort(struct store *s);

/* Assigns the next number and the chain hash; sets both in `e`. */
int store_append(struct store *s, struct entry *e);

/*
 * Run a WAL checkpoint: copy committed pages from the log into the database and
 * sync it. For idle moments; a commit does it only when the log has grown long.
 * Not in a transaction.
 */
int store_checkpoint(struct store *s);

/* The number of the last journal line that was applied. */
int store_set_position(struct store *s, uint64_t journal_n);
uint64_t store_position(struct store *s);
uint64_t store_head(struct store *s);  /* newest entry, 0: none yet */
uint64_t store_first(struct store *s); /* oldest kept; head + 1: none */
/* Random, from when the store was begun; 0: in format 1. */
uint64_t store_tape(struct store *s);
/* The chain hash of the newest entry, and the one before the oldest kept. */
const uint8_t *store_chain_head(struct store *s);
const uint8_t *store_root(struct store *s);

/* The SHA-256 of a content, which proves it (entry.h). */
void store_sha(const void *bytes, size_t len, uint8_t ret[ENTRY_SHA_SIZE]);
/*
 * Keep a content, once for all its occurrences; `sha` is NULL or its SHA-256.
 * Longer ones than STORE_CONTENT_MAX and those that contain a NUL are skipped,
 * which is not an error, and so is one whose hash another content has.
 */
int store_put_content(struct store *s, XXH128_hash_t hash,
		      const uint8_t sha[ENTRY_SHA_SIZE], const char *text,
		      size_t len);
bool store_has_content(struct store *s, XXH128_hash_t hash);
/* -ENOENT: it is not kept, or its SHA-256 is not known. */
int store_content_sha(struct store *s, XXH128_hash_t hash,
		      uint8_t ret[ENTRY_SHA_SIZE]);
/*
 * Allocated and NUL-terminated (free it). -ENOENT: not kept, or not any more.
 */
int store_content(struct store *s, XXH128_hash_t hash, char **ret_text,
		  size_t *ret_len);

/* The recorded state of a file that exists now. */
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
 * -- Reading. An entry is valid until the visitor it was passed to returns. A
 * visitor may query the store; a non-zero result ends the visit and is returned
 * to the caller.
 */
typedef int store_entry_visit(const struct entry *e, void *arg);

/* -ENOENT: no such entry. */
int store_entry(struct store *s, uint64_t n, store_entry_visit *visit,
		void *arg);
/* In order, from n + 1 or the oldest kept, at most `limit`. */
int store_since(struct store *s, uint64_t n, size_t limit,
		store_entry_visit *visit, void *arg);

/* Zeroed: matches all entries. */
struct store_filter {
	uint64_t before;    /* only numbers below this; 0: all */
	const char *path;   /* glob: path_matches() of graph/base/path.h */
	const char *symbol; /* full name, or the part after some dot */
	/* Of a merged entry any of the authors may match. */
	uint32_t pid;		    /* author's or an ancestor's; 0: any */
	const char *author;	    /* glob on command name or command line */
	int64_t since_ns, until_ns; /* 0: no bound */
};
/* Newest first. */
int store_select(struct store *s, const struct store_filter *f, size_t limit,
		 store_entry_visit *visit, void *arg);

/*
 * The content hash of `path` as of entry `n` (UINT64_MAX: now). *ret_since is
 * the entry that gave it this content, 0: older than the tape. -ENOENT: there
 * was no such file, or its content is unknown.
 */
int store_version(struct store *s, const char *path, uint64_t n,
		  XXH128_hash_t *ret_hash, uint64_t *ret_since);

/*
 * Is `text` what the file held after entry `n` by the SHA-256 in that entry?
 * -EBADMSG: it is not. 0 also if there is none to compare with.
 */
int store_prove(struct store *s, uint64_t n, const char *text, size_t len);

/* Every entry above `since` that has `symbol` in a set, newest first. */
typedef int store_touch_visit(uint64_t n, enum entry_set set, bool removed,
			      void *arg);
int store_touches(struct store *s, const char *symbol, uint64_t since,
		  store_touch_visit *visit, void *arg);
/*
 * The newest entry of each symbol in each set, to fill the drift index at
 * start.
 */
typedef int store_last_visit(const char *symbol, enum entry_set set, uint64_t n,
			     bool removed, void *arg);
int store_last(struct store *s, store_last_visit *visit, void *arg);

/* -- Upkeep. */
struct store_stats {
	uint64_t entries, first, contents, files;
	uint64_t gaps;		/* gap entries */
	uint64_t bytes;		/* of the database */
	uint64_t content_bytes; /* thereof contents */
};
int store_stat(struct store *s, struct store_stats *ret);

/*
 * `holder` needs everything from entry `n` on until `until_ms` (milliseconds
 * since 1970). Replaces the earlier hold of the same holder; expired holds are
 * deleted. Runs in a transaction of its own unless one is open.
 */
int store_put_hold(struct store *s, const char *holder, uint64_t n,
		   int64_t until_ms);
typedef int store_hold_visit(const char *holder, uint64_t n, int64_t until_ms,
			     void *arg);
int store_holds(struct store *s, store_hold_visit *visit, void *arg);

/*
 * Check everything: the hash chain, that no number is missing, contents against
 * their hashes, files against the newest entries of their paths. Calls `found`
 * with one sentence per finding, which names the entry; paths in it are raw
 * bytes. One cause may have a million findings of one kind: callers that print
 * them say the first of each kind and a count. Returns the number of findings,
 * or a negative errno. Not in a transaction.
 */
enum store_fault {
	FAULT_DATABASE, /* what SQLite says of its pages */
	FAULT_SELF,	/* the store's record about itself */
	FAULT_MISSING,	/* entries that are not there */
	FAULT_ENTRY,	/* entries that are not as they were written */
	FAULT_INDEX,	/* symbols by which an entry is not found */
	FAULT_CONTENT,	/* contents that are missing or altered */
	FAULT_FILE,	/* recorded states that the entries contradict */
	FAULTS
};
/* "database", "self", "missing", "entry", "index", "content", "file". */
const char *store_fault_name(enum store_fault fault);
typedef void store_finding(enum store_fault fault, const char *sentence,
			   void *arg);
int store_verify(struct store *s, store_finding *found, void *arg);

/*
 * Delete what is older than `before_ns` (0: no bound), then the oldest until at
 * most `bytes` are used (0: no bound): contents first, entries last. Kept are
 * the current contents of files, the contents of every version from entry
 * `held` on (UINT64_MAX: nothing is held), and the entries from `held` on. The
 * chain can still be verified from the oldest entry kept. Not in a transaction:
 * it runs one itself.
 */
struct store_retired {
	uint64_t contents, entries, bytes;
};
int store_retire(struct store *s, int64_t before_ns, uint64_t bytes,
		 uint64_t held, struct store_retired *ret);

#endif
