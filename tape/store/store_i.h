/*
 * What the files of the store share. Functions return 0 or a negative errno;
 * those that write note a failure, and the transaction fails with it.
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

/* Ancestors of a process: more are a circle, or a bomb. */
#define STORE_ANCESTORS_MAX 64
#define STORE_HASH_SIZE	    16
/* Of `entry.detail`: as many symbols as a file of the largest size can have. */
#define STORE_DETAIL_MAX (64u << 20)

/* The store's one row about itself, as of this transaction. */
struct store_self {
	uint64_t n; /* newest entry */
	uint8_t chain[ENTRY_CHAIN_SIZE];
	uint64_t first;			/* oldest entry kept; n + 1: none is */
	uint8_t root[ENTRY_CHAIN_SIZE]; /* the chain hash before it */
	uint64_t journal;
	uint64_t contents;
	uint64_t whole; /* from this entry on, no kept content was given up */
};

/* Statements that are kept. None is open while a visitor runs. */
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
	SQL_CONTENT_HAS,
	SQL_CONTENT_ADD,
	SQL_CONTENT_GET,
	SQL_FILE_PUT,
	SQL_FILE_REMOVE,
	SQL_VERSION,
	SQL_VERSION_2,
	SQLS
};

struct store {
	sqlite3 *db;
	bool writes;
	bool is_open; /* a transaction */
	int failed;   /* the first failure in it */
	int lock_fd;
	struct store_self self;
	struct store_self committed;
	sqlite3_stmt *statements[SQLS];
	ZSTD_CCtx *compress;
	ZSTD_DCtx *decompress;
	struct buf bytes; /* room to pack and compress in */
};

/* -- store/sql.c: SQLite's ways as ours. */
int store_errno(const struct store *s, int code);
/* NULL: *ret_rc says why. It is reset and ready to bind. */
sqlite3_stmt *store_sql(struct store *s, enum store_sql which, int *ret_rc);
/* Prepared for one use; sqlite3_finalize() it. */
int store_prepare(struct store *s, const char *sql, sqlite3_stmt **ret);
/* 1: a row. 0: no more of them. */
int store_step(struct store *s, sqlite3_stmt *q);
/* Runs to its end, for those that have no rows. Resets. */
int store_run(struct store *s, sqlite3_stmt *q);
int store_exec(struct store *s, const char *sql);
/* A statement of one number, `otherwise` where it has no row. */
int store_number(struct store *s, const char *sql, int64_t otherwise,
		 int64_t *ret);
void store_finalize_p(sqlite3_stmt **q);

void store_bind_text(sqlite3_stmt *q, int at, const char *text);
void store_bind_hash(sqlite3_stmt *q, int at, XXH128_hash_t hash);
/* False: there is none in the column, or it is no hash. */
bool store_column_hash(sqlite3_stmt *q, int at, XXH128_hash_t *ret);
bool store_column_chain(sqlite3_stmt *q, int at, uint8_t ret[ENTRY_CHAIN_SIZE]);
/* "" for none, in the arena. */
const char *store_column_text(sqlite3_stmt *q, int at, struct arena *a);

/* May this call write? Notes nothing. */
int store_may_write(const struct store *s);
/* Notes a failure of the open transaction; returns it. */
int store_note(struct store *s, int rc);

/* -- store.c */
int store_self_read(struct store *s, struct store_self *ret);

/* -- store/author.c */
unsigned store_author_depth(const struct journal_author *a);
/* 0: there is none. */
int store_author_put(struct store *s, const struct journal_author *a,
		     int64_t *ret);
int store_author_get(struct store *s, int64_t id, struct arena *a,
		     const struct journal_author **ret);

/* -- store/names.c: paths and symbols by their numbers. */
/* -ENOENT: it has none. */
int store_path_find(struct store *s, const char *path, int64_t *ret);
int store_path_put(struct store *s, const char *path, int64_t *ret);
/* Is it in an entry? */
int store_path_used(struct store *s, int64_t id, bool *ret);
/* What it held before the oldest entry; NULL: it was not there. */
int store_path_set_base(struct store *s, int64_t id, const XXH128_hash_t *base);
int store_symbol_find(struct store *s, const char *name, int64_t *ret);
int store_symbol_put(struct store *s, const char *name, bool likely_new,
		     int64_t *ret);
int store_symbol_get(struct store *s, int64_t id, struct arena *a,
		     const char **ret);
/* Scope and name as they are kept, put together again. */
const char *store_symbol_join(struct arena *a, const char *scope,
			      const char *name);
/* Where a name's last part begins; its scope ends before the dot, if any. */
size_t store_symbol_split(const char *name, size_t *ret_scope);

/* -- store/entries.c */
/* How a symbol is touched, in the index: its sets, and X of the removed. */
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
 * The entry lives in the arena, and so does what it was unpacked from (if
 * given). -EBADMSG: what is there is no entry.
 */
int store_load(struct store *s, uint64_t n, struct arena *a, struct entry *ret,
	       struct packed *ret_packed);

/* -- store/chain.c */
void store_chain(const uint8_t before[ENTRY_CHAIN_SIZE], const struct entry *e,
		 bool kept, uint8_t ret[ENTRY_CHAIN_SIZE]);

#endif
