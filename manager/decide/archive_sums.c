/* Counters and sums over requests, for STATUS and REPORT. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "manager/decide/archive.h"
#include "manager/decide/archive_i.h"

void archive_count(struct archive *m, const char *name, uint64_t n)
{
	sqlite3_stmt *s;

	(void)pthread_mutex_lock(&m->lock);
	s = archive_prepare(
		m, "INSERT INTO counted VALUES(?3,?1,?2) ON CONFLICT(run,"
		   " name) DO UPDATE SET n=n+?2");
	if (s) {
		archive_bind_text(s, 1, name);
		archive_bind_count(s, 2, n);
		archive_bind_text(s, 3, m->run ? m->run : "");
	}
	(void)archive_step(s);
	(void)sqlite3_finalize(s);
	(void)pthread_mutex_unlock(&m->lock);
}

/* An archive of an older version has counters of all runs together. */
int archive_counters(struct archive *m, bool own, archive_counter *visit,
		     void *ctx)
{
	sqlite3_stmt *s;

	(void)pthread_mutex_lock(&m->lock);
	s = archive_prepare(m, m->version < ARCHIVE_RUNS
				       ? "SELECT name, n FROM counter"
					 " ORDER BY name"
				       : "SELECT name, sum(n) FROM counted"
					 " WHERE ?1 IS NULL OR run=?1"
					 " GROUP BY name ORDER BY name");
	if (s && own)
		archive_bind_text(s, 1, m->run ? m->run : "");
	while (s && sqlite3_step(s) == SQLITE_ROW)
		visit(ctx, archive_column(s, 0), archive_column_number(s, 1));
	(void)sqlite3_finalize(s);
	(void)pthread_mutex_unlock(&m->lock);
	return s ? 0 : -EIO;
}

/*
 * The statement `sql`, which ends with a condition on `request`, for this run's
 * alone if `own`. An older archive, which is only read, has no runs.
 */
static sqlite3_stmt *prepare_own(struct archive *m, const char *sql, bool own,
				 const char *rest)
{
	CLEANUP(free_p) char *text = NULL;
	sqlite3_stmt *s;

	if (asprintf(&text, "%s%s%s", sql, own ? " AND run=?2" : "", rest) < 0)
		abort();
	s = archive_prepare(m, text);
	if (s && own)
		archive_bind_text(s, 2, m->run ? m->run : "");
	return s;
}

static int sum_requests(struct archive *m, int64_t since_ns, bool own,
			struct archive_sums *ret)
{
	CLEANUP(archive_finalize_p)
	sqlite3_stmt *s = prepare_own(
		m,
		"SELECT count(DISTINCT conversation), count(*),"
		" total(outcome='rewritten'), total(received), total(sent),"
		" total(held), total(stale), total(refreshed),"
		" total(dropped), total(rerun), total(notes),"
		" total(evicted), total(retrieved), total(told),"
		" total(placed), total(rewritten),"
		" total(epoch IN ('profit','full','cold','broken')),"
		" total(cost_with), total(cost_without)"
		" FROM request WHERE at_ns>=?1",
		own, "");
	uint64_t *all[] = {
		&ret->conversations, &ret->requests,  &ret->rewrites,
		&ret->received,	     &ret->sent,      &ret->held,
		&ret->stale,	     &ret->refreshed, &ret->dropped,
		&ret->rerun,	     &ret->notes,     &ret->evicted,
		&ret->retrieved,     &ret->notified,  &ret->replaced,
		&ret->rewritten,     &ret->epochs
	};
	enum { COUNTS = sizeof(all) / sizeof(all[0]) };

	if (!s)
		return -EIO;
	archive_bind_count(s, 1, (uint64_t)since_ns);
	if (sqlite3_step(s) != SQLITE_ROW)
		return -EIO;
	for (int i = 0; i < COUNTS; i++)
		*all[i] = (uint64_t)sqlite3_column_double(s, i);
	ret->cost_with = sqlite3_column_double(s, COUNTS);
	ret->cost_without = sqlite3_column_double(s, COUNTS + 1);
	return 0;
}

static uint64_t latency(struct archive *m, int64_t since_ns, bool own,
			uint64_t count, unsigned percent)
{
	CLEANUP(archive_finalize_p)
	sqlite3_stmt *s =
		prepare_own(m, "SELECT latency_us FROM request WHERE at_ns>=?1",
			    own, " ORDER BY latency_us LIMIT 1 OFFSET ?3");

	if (!s || !count)
		return 0;
	archive_bind_count(s, 1, (uint64_t)since_ns);
	archive_bind_count(s, 3, (count - 1) * percent / 100);
	return sqlite3_step(s) == SQLITE_ROW ? archive_column_number(s, 0) : 0;
}

/* Of whole conversations: replies are not kept one by one. */
static void sum_usage(struct archive *m, bool own, struct archive_sums *ret)
{
	CLEANUP(archive_finalize_p)
	sqlite3_stmt *s = prepare_own(
		m,
		"SELECT total(usage_input), total(usage_read),"
		" total(usage_written) FROM conversation WHERE key IN"
		" (SELECT conversation FROM request WHERE 1",
		own, ")");

	if (!s || sqlite3_step(s) != SQLITE_ROW)
		return;
	ret->usage_input = (uint64_t)sqlite3_column_double(s, 0);
	ret->usage_read = (uint64_t)sqlite3_column_double(s, 1);
	ret->usage_written = (uint64_t)sqlite3_column_double(s, 2);
}

int archive_sum(struct archive *m, int64_t since_ns, bool own,
		struct archive_sums *ret)
{
	struct archive_sums sums = { 0 };
	int rc;

	(void)pthread_mutex_lock(&m->lock);
	rc = sum_requests(m, since_ns, own, &sums);
	sums.p50_us = latency(m, since_ns, own, sums.requests, 50);
	sums.p99_us = latency(m, since_ns, own, sums.requests, 99);
	sum_usage(m, own, &sums);
	(void)pthread_mutex_unlock(&m->lock);
	if (rc == 0)
		*ret = sums;
	return rc;
}

int archive_list(struct archive *m, char ***ret, size_t *ret_n)
{
	ARRAY(char *) keys = { 0 };
	sqlite3_stmt *s;

	(void)pthread_mutex_lock(&m->lock);
	s = archive_prepare(m,
			    "SELECT key FROM conversation ORDER BY used_ns DESC"
			    " LIMIT 1000");
	while (s && sqlite3_step(s) == SQLITE_ROW) {
		const char *key = archive_column(s, 0);
		char *copy = must_strdup(key);

		array_push(&keys, copy);
	}
	(void)sqlite3_finalize(s);
	(void)pthread_mutex_unlock(&m->lock);
	*ret = keys.at;
	*ret_n = keys.count;
	return s ? 0 : -EIO;
}
