/*
 * Symbols and the entries that touched them. The index is by symbol, set and
 * number, so the newest entry of a set is at its end: store_last() takes one
 * lookup per symbol and set, however long the tape is.
 */
#include "tape/store/store_i.h"

#include <errno.h>

#include "graph/base/cleanup.h"

int store_touches(struct store *s, const char *symbol, uint64_t since,
		  store_touch_visit *visit, void *arg)
{
	CLEANUP(store_finalize_p) sqlite3_stmt *q = NULL;
	int64_t id = 0, how;
	int rc = store_symbol_find(s, symbol, &id);

	if (rc == -ENOENT || since >= INT64_MAX)
		return 0;
	if (rc == 0)
		rc = store_prepare(s,
				   "SELECT n, how FROM touch WHERE symbol = ?1"
				   " AND how IN (0, 1, 2, 3, 4) AND n > ?2"
				   " ORDER BY n DESC",
				   &q);
	if (rc < 0)
		return rc;
	(void)sqlite3_bind_int64(q, 1, id);
	(void)sqlite3_bind_int64(q, 2, (int64_t)since);
	while (rc == 0) {
		rc = store_step(s, q);
		if (rc <= 0)
			return rc;
		how = sqlite3_column_int64(q, 1);
		rc = visit((uint64_t)sqlite3_column_int64(q, 0),
			   store_how_set(how), how == HOW_X_REMOVED, arg);
	}
	return rc;
}

#define NEWEST(how)                                     \
	"(SELECT max(n) FROM touch WHERE symbol = s.id" \
	" AND how = " #how ")"

/*
 * Columns of `q`: scope, name, and the newest entry for each enum store_how, or
 * NULL.
 */
static int visit_newest(sqlite3_stmt *q, store_last_visit *visit, void *arg)
{
	CLEANUP(arena_release) struct arena a = { 0 };
	const char *scope = (const char *)sqlite3_column_text(q, 0);
	const char *last = (const char *)sqlite3_column_text(q, 1);
	const char *name;
	int64_t n[HOW_X_REMOVED + 1];
	bool removed;
	int rc = 0;

	name = store_symbol_join(&a, scope ? scope : "", last ? last : "");
	for (int how = 0; how <= HOW_X_REMOVED; how++)
		n[how] = sqlite3_column_int64(q, 2 + how);
	removed = n[HOW_X_REMOVED] > n[HOW_X];
	if (removed)
		n[HOW_X] = n[HOW_X_REMOVED];
	for (int set = 0; rc == 0 && set < ENTRY_SETS; set++)
		if (n[set] > 0)
			rc = visit(name, (enum entry_set)set, (uint64_t)n[set],
				   set == ENTRY_X && removed, arg);
	return rc;
}

int store_last(struct store *s, store_last_visit *visit, void *arg)
{
	CLEANUP(store_finalize_p) sqlite3_stmt *q = NULL;
	int rc = store_prepare(s,
			       "SELECT s.scope, s.name, " NEWEST(0) "," //
			       NEWEST(1) "," NEWEST(2) "," NEWEST(3) "," NEWEST(
				       4) " FROM symbol s",
			       &q);

	while (rc == 0) {
		rc = store_step(s, q);
		if (rc <= 0)
			return rc;
		rc = visit_newest(q, visit, arg);
	}
	return rc;
}
