/*
 * Private to archive.c, archive_requests.c and archive_sums.c: the database and
 * its statements.
 */
#ifndef STATETAPE_MANAGER_DECIDE_ARCHIVE_I_H
#define STATETAPE_MANAGER_DECIDE_ARCHIVE_I_H

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

/* Statements of every request, prepared once: parsing one takes longer than
   running it. */
enum archive_statement {
	STATEMENT_CONVERSATION,
	STATEMENT_RECORD,
	STATEMENT_PIN,
	STATEMENT_PIN_GONE,
	STATEMENT_REQUEST,
	STATEMENT_DECISION,
	STATEMENT_USAGE,
	STATEMENTS
};

struct archive {
	pthread_mutex_t lock;
	sqlite3 *db;			      /* protected by lock */
	sqlite3_stmt *statements[STATEMENTS]; /* protected by lock; NULL: not
						 prepared yet */
	int version;			      /* user_version; see archive.c */
	char *run;			      /* archive_run(); NULL: none */
};

/* Requests that are kept, with their decisions. */
#define ARCHIVE_REQUESTS 100000

/* The first version that keeps decisions, and that tells runs apart. */
#define ARCHIVE_DECISIONS 2
#define ARCHIVE_RUNS	  3

struct conversation;
struct archive_request;

/* Insert the row of a request and its decisions, and set r->id. */
int archive_save_request_locked(struct archive *m, const struct conversation *c,
				struct archive_request *r);

/* SQLite's result code as a negative errno. */
int archive_code(int rc);

static inline void archive_finalize_p(sqlite3_stmt **s)
{
	(void)sqlite3_finalize(*s);
}

static inline sqlite3_stmt *archive_prepare(struct archive *m, const char *sql)
{
	sqlite3_stmt *s = NULL;

	if (sqlite3_prepare_v2(m->db, sql, -1, &s, NULL) != SQLITE_OK)
		return NULL;
	return s;
}

/* A statement prepared once; archive_step_kept() resets it. */
static inline sqlite3_stmt *archive_statement(struct archive *m,
					      enum archive_statement which,
					      const char *sql)
{
	assert(which < STATEMENTS);
	if (!m->statements[which])
		(void)sqlite3_prepare_v3(m->db, sql, -1,
					 SQLITE_PREPARE_PERSISTENT,
					 &m->statements[which], NULL);
	return m->statements[which];
}

static inline void archive_bind_text(sqlite3_stmt *s, int at, const char *text)
{
	if (text)
		(void)sqlite3_bind_text(s, at, text, -1, SQLITE_TRANSIENT);
}

static inline void archive_bind_blob(sqlite3_stmt *s, int at, const void *bytes,
				     size_t len)
{
	if (bytes)
		(void)sqlite3_bind_blob64(s, at, bytes, len, SQLITE_TRANSIENT);
}

static inline void archive_bind_count(sqlite3_stmt *s, int at, uint64_t n)
{
	(void)sqlite3_bind_int64(s, at, (sqlite3_int64)n);
}

static inline int archive_step(sqlite3_stmt *s)
{
	return s ? archive_code(sqlite3_step(s)) : -EIO;
}

static inline int archive_step_kept(sqlite3_stmt *s)
{
	int rc = archive_step(s);

	if (!s)
		return rc;
	(void)sqlite3_reset(s);
	(void)sqlite3_clear_bindings(s);
	return rc;
}

static inline const char *archive_column(sqlite3_stmt *s, int at)
{
	const char *text = (const char *)sqlite3_column_text(s, at);

	return text ? text : "";
}

static inline uint64_t archive_column_number(sqlite3_stmt *s, int at)
{
	return (uint64_t)sqlite3_column_int64(s, at);
}

#endif
