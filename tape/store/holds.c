/*
 * Holds: which holder needs everything from which entry on, until when
 * (CLOCK_REALTIME). They are not part of the history: a hold changes no chain
 * hash.
 */
#include "tape/store/store_i.h"

#include <errno.h>
#include <time.h>

#include "graph/base/cleanup.h"

static int put(struct store *s, const char *holder, uint64_t n,
	       int64_t until_ms)
{
	CLEANUP(store_finalize_p) sqlite3_stmt *q = NULL;
	int rc = store_prepare(s,
			       "INSERT OR REPLACE INTO hold (holder, n, until)"
			       " VALUES (?1, ?2, ?3)",
			       &q);

	if (rc < 0)
		return rc;
	store_bind_text(q, 1, holder);
	(void)sqlite3_bind_int64(q, 2, (int64_t)n);
	(void)sqlite3_bind_int64(q, 3, until_ms);
	return store_run(s, q);
}

static int forget(struct store *s)
{
	return store_exec(s, "DELETE FROM hold WHERE until <"
			     " CAST(strftime('%s', 'now') AS INTEGER) * 1000");
}

int store_put_hold(struct store *s, const char *holder, uint64_t n,
		   int64_t until_ms)
{
	bool is_alone = !s->is_open;
	int rc = is_alone ? store_begin(s) : 0;

	if (rc < 0)
		return rc;
	rc = forget(s);
	if (rc == 0)
		rc = put(s, holder, n, until_ms);
	(void)store_note(s, rc);
	if (is_alone && rc < 0)
		store_abort(s);
	else if (is_alone)
		rc = store_commit(s);
	return rc;
}

int store_holds(struct store *s, store_hold_visit *visit, void *arg)
{
	CLEANUP(store_finalize_p) sqlite3_stmt *q = NULL;
	int rc = store_prepare(s, "SELECT holder, n, until FROM hold", &q);

	while (rc == 0) {
		rc = store_step(s, q);
		if (rc <= 0)
			return rc;
		rc = visit((const char *)sqlite3_column_text(q, 0),
			   (uint64_t)sqlite3_column_int64(q, 1),
			   sqlite3_column_int64(q, 2), arg);
	}
	return rc;
}
