/*
 * The archive forgets: conversations that ended long ago, and beyond its size
 * the oldest ones. Freed pages are used again, so the file stays at its limit.
 */
#include <errno.h>
#include <pthread.h>

#include "graph/base/cleanup.h"
#include "graph/base/clock.h"
#include "manager/decide/archive.h"
#include "manager/decide/archive_i.h"

/* Each round deletes one part in eight of what is left. */
#define ROUNDS_MAX 32
/* A conversation that may go on is not deleted for its size. */
#define LIVES_NS (3600 * NS_PER_S)
#define DAY_NS	 (24 * LIVES_NS)

/* The first column of the first row; 0: none. */
static int64_t number_of(struct archive *m, const char *sql)
{
	CLEANUP(archive_finalize_p) sqlite3_stmt *s = archive_prepare(m, sql);

	if (!s || sqlite3_step(s) != SQLITE_ROW)
		return 0;
	return sqlite3_column_int64(s, 0);
}

static uint64_t bytes_used(struct archive *m)
{
	int64_t pages = number_of(m, "PRAGMA page_count") -
			number_of(m, "PRAGMA freelist_count");

	return (uint64_t)(pages * number_of(m, "PRAGMA page_size"));
}

/* Run each statement with `value` as its only parameter. */
static int run_each(struct archive *m, const char *const *sql, int64_t value)
{
	int rc = 0;

	for (; rc == 0 && *sql; sql++) {
		CLEANUP(archive_finalize_p)
		sqlite3_stmt *s = archive_prepare(m, *sql);

		if (s)
			(void)sqlite3_bind_int64(s, 1, value);
		rc = archive_step(s);
	}
	return rc;
}

static int forget_before(struct archive *m, int64_t at_ns)
{
	static const char *const sql[] = {
		"DELETE FROM record WHERE conversation IN (SELECT key FROM"
		" conversation WHERE used_ns<?1)",
		"DELETE FROM pin WHERE conversation IN (SELECT key FROM"
		" conversation WHERE used_ns<?1)",
		"DELETE FROM agent WHERE conversation IN (SELECT key FROM"
		" conversation WHERE used_ns<?1)",
		"DELETE FROM conversation WHERE used_ns<?1",
		"DELETE FROM decision WHERE request IN (SELECT id FROM request"
		" WHERE at_ns<?1)",
		"DELETE FROM request WHERE at_ns<?1",
		NULL,
	};

	return run_each(m, sql, at_ns);
}

/* Runs without a request are counted together. */
static int forget_runs(struct archive *m)
{
	static const char *const sql[] = {
		"INSERT INTO counted SELECT '', name, sum(n) FROM counted"
		" WHERE run<>'' AND run NOT IN (SELECT run FROM request)"
		" AND run<>?1 GROUP BY name"
		" ON CONFLICT(run, name) DO UPDATE SET n=n+excluded.n",
		"DELETE FROM counted WHERE run<>'' AND run<>?1 AND run NOT IN"
		" (SELECT run FROM request)",
		NULL,
	};
	int rc = 0;

	for (size_t i = 0; rc == 0 && sql[i]; i++) {
		CLEANUP(archive_finalize_p)
		sqlite3_stmt *s = archive_prepare(m, sql[i]);

		if (s)
			archive_bind_text(s, 1, m->run ? m->run : "");
		rc = archive_step(s);
	}
	return rc;
}

static int forget_some_requests(struct archive *m)
{
	static const char *const sql[] = {
		"DELETE FROM decision WHERE request<=?1",
		"DELETE FROM request WHERE id<=?1",
		NULL,
	};

	return run_each(m, sql,
			number_of(m, "SELECT min(id)+(max(id)-min(id))/8"
				     " FROM request"));
}

static int shrink(struct archive *m, uint64_t bytes, int64_t now_ns)
{
	int rc = 0;

	for (int i = 0; rc == 0 && i < ROUNDS_MAX && bytes_used(m) > bytes;
	     i++) {
		int64_t before = number_of(
			m, "SELECT max(used_ns)+1 FROM (SELECT used_ns FROM"
			   " conversation ORDER BY used_ns LIMIT"
			   " 1+(SELECT count(*) FROM conversation)/8)");

		rc = forget_some_requests(m);
		if (before > now_ns - LIVES_NS)
			before = now_ns - LIVES_NS;
		if (rc == 0)
			rc = forget_before(m, before);
	}
	return rc;
}

int archive_keep(struct archive *m, uint64_t days, uint64_t bytes,
		 int64_t now_ns)
{
	int rc = 0;

	(void)pthread_mutex_lock(&m->lock);
	rc = archive_code(
		sqlite3_exec(m->db, "BEGIN IMMEDIATE", NULL, NULL, NULL));
	if (rc == 0 && days && (int64_t)days < now_ns / DAY_NS)
		rc = forget_before(m, now_ns - (int64_t)days * DAY_NS);
	if (rc == 0 && bytes)
		rc = shrink(m, bytes, now_ns);
	if (rc == 0)
		rc = forget_runs(m);
	(void)sqlite3_exec(m->db, rc == 0 ? "COMMIT" : "ROLLBACK", NULL, NULL,
			   NULL);
	(void)pthread_mutex_unlock(&m->lock);
	return rc;
}
