/*
 * What decide/archive.c and decide/archive_sums.c share: the database, and
 * statements on it.
 */
#ifndef STATETAPE_MANAGER_DECIDE_ARCHIVE_I_H
#define STATETAPE_MANAGER_DECIDE_ARCHIVE_I_H

#include <errno.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

/* Statements that every request needs: to read their text takes longer than
   to run them. */
enum kept {
	KEPT_CONVERSATION,
	KEPT_RECORD,
	KEPT_PIN,
	KEPT_PIN_GONE,
	KEPT_REQUEST,
	KEPT_USAGE,
	KEPT
};

struct archive {
	pthread_mutex_t lock;
	sqlite3 *db;		  /* protected by lock */
	sqlite3_stmt *kept[KEPT]; /* likewise; NULL: not made yet */
};

/* SQLite's code as ours. */
int archive_code(int rc);

static inline void finalize_p(sqlite3_stmt **s)
{
	(void)sqlite3_finalize(*s);
}

static inline sqlite3_stmt *prepare(struct archive *m, const char *sql)
{
	sqlite3_stmt *s = NULL;

	if (sqlite3_prepare_v2(m->db, sql, -1, &s, NULL) != SQLITE_OK)
		return NULL;
	return s;
}

/* One that is made once; run_kept() leaves it as it was found. */
static inline sqlite3_stmt *keep(struct archive *m, enum kept which,
				 const char *sql)
{
	if (!m->kept[which])
		(void)sqlite3_prepare_v3(m->db, sql, -1,
					 SQLITE_PREPARE_PERSISTENT,
					 &m->kept[which], NULL);
	return m->kept[which];
}

static inline void bind_text(sqlite3_stmt *s, int at, const char *text)
{
	if (text)
		(void)sqlite3_bind_text(s, at, text, -1, SQLITE_TRANSIENT);
}

static inline void bind_blob(sqlite3_stmt *s, int at, const void *bytes,
			     size_t len)
{
	if (bytes)
		(void)sqlite3_bind_blob64(s, at, bytes, len, SQLITE_TRANSIENT);
}

static inline void bind_count(sqlite3_stmt *s, int at, uint64_t n)
{
	(void)sqlite3_bind_int64(s, at, (sqlite3_int64)n);
}

static inline int run(sqlite3_stmt *s)
{
	return s ? archive_code(sqlite3_step(s)) : -EIO;
}

static inline int run_kept(sqlite3_stmt *s)
{
	int rc = run(s);

	if (!s)
		return rc;
	(void)sqlite3_reset(s);
	(void)sqlite3_clear_bindings(s);
	return rc;
}

static inline const char *column(sqlite3_stmt *s, int at)
{
	const char *text = (const char *)sqlite3_column_text(s, at);

	return text ? text : "";
}

static inline uint64_t column_number(sqlite3_stmt *s, int at)
{
	return (uint64_t)sqlite3_column_int64(s, at);
}

#endif
