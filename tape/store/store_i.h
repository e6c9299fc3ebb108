/*
 * Shared by the files of the store. Functions return 0 or a negative errno;
 * those that write record a failure in the transaction, whose commit then fails
 * with it.
 */
#ifndef STATETAPE_TAPE_STORE_STORE_I_H
#define STATETAPE_TAPE_STORE_STORE_I_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zstd.h>

#include "graph/base/arena.h"
#include "graph/base/array.h"
#include "graph/base/buf.h"
#include "tape/journal/journal.h"
#include "tape/store/pack.h"
#include "tape/store/store.h"

/*
 * Bound on the ancestors of a process: a longer chain is a cycle, or a fork
 * bomb.
 */
#define STORE_ANCESTORS_MAX 64
#define STORE_HASH_SIZE	    16
/* Bound on `entry.detail`: enough for the symbols of the largest file. */
#define STORE_DETAIL_MAX (64u << 20)

/* The row of table `self`, as of the open transaction. */
struct store_self {
	uint64_t n; /* newest entry */
	uint8_t chain[ENTRY_CHAIN_SIZE];
	uint64_t first;			/* oldest entry kept; n + 1: none */
	uint8_t root[ENTRY_CHAIN_SIZE]; /* the chain hash before it */
	uint64_t journal;
	uint64_t contents;
	uint64_t whole; /* no content from this entry on was retired */
	uint64_t tape;	/* random; 0: of format 1 */
};

/* Prepared statements. None is open while a visitor runs. */
enum store_sql {
	SQL_BEGIN,
	SQL_COMMIT,
	SQL_ROLLBACK,
	SQL_SELF_GET,
	SQL_SELF_SET,
	SQL_PATH_FIND,
	SQL_PATH_ADD,
	SQL_PATH_BASE,
	SQL_PATH_SET_BASE,
	SQL_PATH_USED,
	SQL_SYMBOL_FIND,
	SQL_SYMBOL_ADD,
	SQL_SYMBOL_GET,
	SQL_PROGRAM_FIND,
	SQL_PROGRAM_ADD,
	SQL_AUTHOR_FIND,
	SQL_AUTHOR_ADD,
	SQL_AUTHOR_GET,
	SQL_ENTRY_ADD,
	SQL_ENTRY_GET,
	SQL_TOUCH_ADD,
	SQL_TOUCH_HAS,
	SQL_MERGED_ADD,
	SQL_CONTENT_FIND,
	SQL_CONTENT_SET_SHA,
	SQL_CONTENT_ADD,
	SQL_CONTENT_GET,
	SQL_FILE_PUT,
	SQL_FILE_REMOVE,
	SQL_VERSION,
	SQL_VERSION_2,
	SQL_TURN_GET,
	SQL_TURN_AT,
	SQL_CALLS_AT,
	SQLS
};

struct store {
	sqlite3 *db;
	char *path;
	bool writes;
	bool has_turns; /* the tables of turns.c, which old stores lack */
	bool salvages;
	uint64_t skipped; /* entries that cannot be read */
	bool is_open;	  /* in a transaction */
	int failed;	  /* first error of the transaction */
	int lock_fd;
	struct store_self self;
	struct store_self committed;
	sqlite3_stmt *statements[SQLS];
	ZSTD_CCtx *compress;
	ZSTD_DCtx *decompress;
	struct buf bytes; /* scratch for packing and compressing */
};

/* -- store/sql.c: SQLite calls that return our error codes. */
int store_errno(const struct store *s, int code);
/* A statement, reset and ready to bind. NULL: *ret_rc has the error. */
sqlite3_stmt *store_sql(struct store *s, enum store_sql which, int *ret_rc);
/* For statements used once; sqlite3_finalize() it. */
int store_prepare(struct store *s, const char *sql, sqlite3_stmt **ret);
/* 1: a row. 0: no more rows. */
int store_step(struct store *s, sqlite3_stmt *q);
/* Run a statement that returns no rows, and reset it. */
int store_run(struct store *s, sqlite3_stmt *q);
int store_exec(struct store *s, const char *sql);
/* Run a query for one number; `otherwise` if it has no row. */
int store_number(struct store *s, const char *sql, int64_t otherwise,
		 int64_t *ret);
void store_finalize_p(sqlite3_stmt **q);

void store_bind_text(sqlite3_stmt *q, int at, const char *text);
void store_bind_hash(sqlite3_stmt *q, int at, XXH128_hash_t hash);
/* False: the column holds no hash. */
bool store_column_hash(sqlite3_stmt *q, int at, XXH128_hash_t *ret);
bool store_column_chain(sqlite3_stmt *q, int at, uint8_t ret[ENTRY_CHAIN_SIZE]);
/* Copied to the arena; "" for NULL. */
const char *store_column_text(sqlite3_stmt *q, int at, struct arena *a);

/* 0: a transaction is open and has not failed. */
int store_may_write(const struct store *s);
/* Record the first failure of the open transaction. Returns `rc`. */
int store_note(struct store *s, int rc);

/* Is this entry to be left out, because we salvage? Counts it then. */
bool store_skips(struct store *s, int rc);

/* -- store.c */
int store_self_read(struct store *s, struct store_self *ret);

/* -- store/author.c */
unsigned store_author_depth(const struct journal_author *a);
/* 0: there is none. */
int store_author_put(struct store *s, const struct journal_author *a,
		     int64_t *ret);
int store_author_get(struct store *s, int64_t id, struct arena *a,
		     const struct journal_author **ret);

/* -- store/names.c: row ids of paths and symbols. */
/* -ENOENT: no row. */
int store_path_find(struct store *s, const char *path, int64_t *ret);
int store_path_put(struct store *s, const char *path, int64_t *ret);
/* Does an entry name this path? */
int store_path_used(struct store *s, int64_t id, bool *ret);
/* Its content before its oldest entry; NULL: there was no file. */
int store_path_set_base(struct store *s, int64_t id, const XXH128_hash_t *base);
int store_symbol_find(struct store *s, const char *name, int64_t *ret);
int store_symbol_put(struct store *s, const char *name, bool likely_new,
		     int64_t *ret);
int store_symbol_get(struct store *s, int64_t id, struct arena *a,
		     const char **ret);
/* The full name, from scope and name as they are stored. */
const char *store_symbol_join(struct arena *a, const char *scope,
			      const char *name);
/*
 * Offset of the last part of a name; *ret_scope is the length of the scope
 * before the dot.
 */
size_t store_symbol_split(const char *name, size_t *ret_scope);

/* -- store/entries.c */
/* Column `touch.how`: the set, with X divided into changed and removed. */
enum store_how {
	HOW_X,
	HOW_DX,
	HOW_R,
	HOW_ADDED,
	HOW_X_REMOVED,
};
enum store_how store_how(enum entry_set set, bool removed);
enum entry_set store_how_set(int64_t how);

/*
 * The entry and *ret_packed (may be NULL) are in the arena. -EBADMSG: the row
 * is not a valid entry.
 */
int store_load(struct store *s, uint64_t n, struct arena *a, struct entry *ret,
	       struct packed *ret_packed);

/* -- store/chain.c */
void store_chain(const uint8_t before[ENTRY_CHAIN_SIZE], const struct entry *e,
		 bool kept, uint8_t ret[ENTRY_CHAIN_SIZE]);

#endif
