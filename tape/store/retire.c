/*
 * Giving up what is old. A content is needed for as long as a version can be
 * shown that has it: what a path held at entry n is the `after` of its newest
 * entry up to n, which is the `before` of its next one, or what the file holds
 * now. So a content's last use is the newest entry that has it as either, and
 * one that a file holds now has no end. Contents go in the order of their last
 * use, and all versions from some entry on stay whole.
 *
 * An entry that goes takes along its place in the indices, and names and
 * authors that nothing refers to any more. What its path held then becomes the
 * path's base, and its hash the one the chain begins with.
 */
#include "tape/store/store_i.h"

#include <errno.h>
#include <string.h>

#include "graph/base/cleanup.h"

/* To come below a size, so many rows go at a time before it is looked at. */
#define RETIRE_CONTENTS 16
/* Each time reads the whole index of symbols. */
#define RETIRE_ENTRIES(count) ((count) / 32 + 1024)

struct retire_run {
	struct store *s;
	uint64_t bytes; /* to come down to; 0: no bound */
	uint64_t held;
	struct store_retired done;
};

static int used_bytes(struct store *s, uint64_t *ret)
{
	int64_t pages = 0, unused = 0, size = 0;
	int rc = store_number(s, "PRAGMA page_count", 0, &pages);

	if (rc == 0)
		rc = store_number(s, "PRAGMA freelist_count", 0, &unused);
	if (rc == 0)
		rc = store_number(s, "PRAGMA page_size", 0, &size);
	if (rc == 0)
		*ret = (uint64_t)((pages - unused) * size);
	return rc;
}

/* 1: more has to go. */
static int is_too_large(const struct retire_run *r)
{
	uint64_t used = 0;
	int rc = r->bytes ? used_bytes(r->s, &used) : 0;

	return rc < 0 ? rc : used > r->bytes;
}

/* Runs `sql` with numbers ?1 and ?2, telling how many rows it changed. */
static int change_rows(struct store *s, const char *sql, uint64_t first,
		       uint64_t second, uint64_t *ret_count)
{
	CLEANUP(store_finalize_p) sqlite3_stmt *q = NULL;
	int rc = store_prepare(s, sql, &q);

	if (rc < 0)
		return rc;
	if (sqlite3_bind_parameter_count(q) >= 1)
		(void)sqlite3_bind_int64(q, 1, (int64_t)first);
	if (sqlite3_bind_parameter_count(q) >= 2)
		(void)sqlite3_bind_int64(q, 2, (int64_t)second);
	rc = store_run(s, q);
	if (rc == 0 && ret_count)
		*ret_count = (uint64_t)sqlite3_changes64(s->db);
	return rc;
}

/* -- Contents. */

/*
 * `last_use` has what may go, with the newest entry that has it. A file that
 * was renamed over is in no `before`: its last use is the entry before that.
 */
static const char find_last_uses[] =
	"CREATE TEMP TABLE last_use (content INTEGER PRIMARY KEY, n INTEGER);"
	"INSERT INTO last_use SELECT c.id, coalesce(u.n, 0) FROM content c"
	" LEFT JOIN (SELECT hash, max(n) AS n FROM"
	"  (SELECT before AS hash, n FROM entry WHERE before IS NOT NULL"
	"  UNION ALL SELECT after, n FROM entry WHERE after IS NOT NULL"
	"  UNION ALL SELECT o.after, e.n FROM entry e JOIN entry o ON o.n ="
	"   (SELECT max(n) FROM (SELECT max(n) AS n FROM entry"
	"    WHERE path = e.path2 AND n < e.n UNION ALL SELECT max(n)"
	"    FROM entry WHERE path2 = e.path2 AND n < e.n))"
	"   WHERE e.path2 IS NOT NULL AND o.after IS NOT NULL"
	"  UNION ALL SELECT p.base, e.n FROM entry e"
	"   JOIN path p ON p.id = e.path2 WHERE p.base IS NOT NULL)"
	"  GROUP BY hash) u ON u.hash = c.hash"
	" WHERE c.hash NOT IN (SELECT hash FROM file);"
	"CREATE INDEX temp.last_use_n ON last_use (n)";

/* Those last used below `below`, at most `limit` of them, oldest first. */
static int drop_contents(struct retire_run *r, uint64_t below, uint64_t limit,
			 uint64_t *ret)
{
	int64_t newest = 0;
	CLEANUP(store_finalize_p) sqlite3_stmt *q = NULL;
	int rc = store_prepare(r->s,
			       "SELECT max(n) FROM (SELECT n FROM last_use"
			       " WHERE n < ?1 ORDER BY n LIMIT ?2)",
			       &q);

	if (rc < 0)
		return rc;
	(void)sqlite3_bind_int64(q, 1, (int64_t)below);
	(void)sqlite3_bind_int64(q, 2, (int64_t)limit);
	rc = store_step(r->s, q);
	if (rc < 0)
		return rc;
	*ret = 0;
	if (sqlite3_column_type(q, 0) == SQLITE_NULL)
		return 0;
	newest = sqlite3_column_int64(q, 0);
	(void)sqlite3_reset(q);
	/* All of that last use: versions from the next entry on are whole. */
	rc = change_rows(r->s,
			 "DELETE FROM content WHERE id IN"
			 " (SELECT content FROM last_use WHERE n <= ?1)",
			 (uint64_t)newest, 0, ret);
	if (rc == 0)
		rc = change_rows(r->s, "DELETE FROM last_use WHERE n <= ?1",
				 (uint64_t)newest, 0, NULL);
	if (rc < 0)
		return rc;
	r->s->self.contents -= *ret;
	r->done.contents += *ret;
	if (r->s->self.whole < (uint64_t)newest + 1)
		r->s->self.whole = (uint64_t)newest + 1;
	return 0;
}

/* What is last used before entry `cut`, then by size. */
static int retire_contents(struct retire_run *r, uint64_t cut)
{
	uint64_t gone = 1;
	int rc = store_exec(r->s, find_last_uses);

	if (rc == 0)
		rc = drop_contents(r, cut, INT64_MAX, &gone);
	for (gone = 1; rc == 0 && gone > 0;) {
		rc = is_too_large(r);
		if (rc <= 0)
			break;
		rc = drop_contents(r, r->held, RETIRE_CONTENTS, &gone);
	}
	(void)store_exec(r->s, "DROP TABLE IF EXISTS temp.last_use");
	return rc;
}

/* -- Entries. */

/* What paths of entries below ?1 held when the last of these was written. */
static const char move_bases[] =
	"UPDATE path SET base = (SELECT CASE WHEN e.kind = 3"
	"  AND e.path2 IS NOT path.id THEN NULL ELSE e.after END FROM entry e"
	" WHERE e.n = (SELECT max(n) FROM (SELECT max(n) AS n FROM entry"
	"  WHERE path = path.id AND n < ?1 AND kind != 4 UNION ALL"
	"  SELECT max(n) FROM entry WHERE path2 = path.id AND n < ?1)))"
	" WHERE id IN (SELECT path FROM entry WHERE n < ?1 AND kind != 4"
	"  UNION SELECT path2 FROM entry WHERE n < ?1)";

/* Names and authors that nothing refers to, once entries have gone. */
static const char *const sweeps[] = {
	"DELETE FROM symbol WHERE id NOT IN (SELECT symbol FROM touch)",
	"DELETE FROM path WHERE id NOT IN (SELECT path FROM file)"
	" AND NOT EXISTS (SELECT 1 FROM entry WHERE path = path.id)"
	" AND NOT EXISTS (SELECT 1 FROM entry WHERE path2 = path.id)",
	"WITH RECURSIVE kept (id) AS (SELECT author FROM entry"
	" WHERE author IS NOT NULL UNION SELECT a.parent FROM author a"
	" JOIN kept k ON a.id = k.id WHERE a.parent IS NOT NULL)"
	" DELETE FROM author WHERE id NOT IN (SELECT id FROM kept)",
	"DELETE FROM program WHERE id NOT IN (SELECT program FROM author)",
};

/* Entries below `below`, of which the last one's hash becomes the root. */
static int drop_entries(struct retire_run *r, uint64_t below)
{
	CLEANUP(store_finalize_p) sqlite3_stmt *q = NULL;
	struct store *s = r->s;
	uint64_t gone = 0;
	int rc;

	if (below <= s->self.first)
		return 0;
	rc = store_prepare(s, "SELECT chain FROM entry WHERE n = ?1", &q);
	if (rc < 0)
		return rc;
	(void)sqlite3_bind_int64(q, 1, (int64_t)below - 1);
	rc = store_step(s, q);
	if (rc >= 0)
		rc = rc > 0 && store_column_chain(q, 0, s->self.root)
			     ? 0
			     : -EBADMSG;
	(void)sqlite3_reset(q);
	if (rc == 0)
		rc = change_rows(s, move_bases, below, 0, NULL);
	if (rc == 0)
		rc = change_rows(s, "DELETE FROM touch WHERE n < ?1", below, 0,
				 NULL);
	if (rc == 0)
		rc = change_rows(s, "DELETE FROM entry WHERE n < ?1", below, 0,
				 &gone);
	if (rc < 0)
		return rc;
	r->done.entries += gone;
	s->self.first = below;
	if (s->self.whole < below)
		s->self.whole = below;
	return 0;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Those before entry `cut`, then by size. */
static int retire_entries(struct retire_run *r, uint64_t cut)
{
	const struct store_self *self = &r->s->self;
	uint64_t end = smaller(r->held, self->n + 1);
	uint64_t step = RETIRE_ENTRIES(self->n + 1 - self->first);
	int rc = drop_entries(r, cut);

	while (rc == 0 && self->first < end) {
		rc = is_too_large(r);
		if (rc <= 0)
			break;
		rc = drop_entries(r, smaller(self->first + step, end));
	}
	for (size_t i = 0;
	     rc == 0 && r->done.entries && i < sizeof(sweeps) / sizeof(*sweeps);
	     i++)
		rc = store_exec(r->s, sweeps[i]);
	return rc;
}

/* -- Both. */

/* The first entry that is not older, or the one held; 0: no bound. */
static int find_cut(const struct retire_run *r, int64_t before_ns,
		    uint64_t *ret)
{
	CLEANUP(store_finalize_p) sqlite3_stmt *q = NULL;
	uint64_t cut = r->s->self.n + 1;
	int rc;

	*ret = 0;
	if (before_ns == 0)
		return 0;
	rc = store_prepare(r->s, "SELECT min(n) FROM entry WHERE at >= ?1", &q);
	if (rc < 0)
		return rc;
	(void)sqlite3_bind_int64(q, 1, before_ns);
	rc = store_step(r->s, q);
	if (rc < 0)
		return rc;
	if (sqlite3_column_type(q, 0) != SQLITE_NULL)
		cut = (uint64_t)sqlite3_column_int64(q, 0);
	*ret = smaller(cut, r->held);
	return 0;
}

static int retire(struct retire_run *r, int64_t before_ns)
{
	uint64_t cut = 0;
	int rc = find_cut(r, before_ns, &cut);

	if (rc == 0)
		rc = retire_contents(r, cut);
	if (rc == 0)
		rc = retire_entries(r, cut);
	return rc;
}

int store_retire(struct store *s, int64_t before_ns, uint64_t bytes,
		 uint64_t held, struct store_retired *ret)
{
	struct retire_run r = {
		.s = s,
		.bytes = bytes,
		.held = smaller(held, INT64_MAX),
	};
	uint64_t before = 0, after = 0;
	int rc = store_begin(s);

	if (rc < 0)
		return rc;
	rc = used_bytes(s, &before);
	if (rc == 0)
		rc = store_note(s, retire(&r, before_ns));
	if (rc == 0)
		rc = used_bytes(s, &after);
	if (rc < 0) {
		store_abort(s);
		return rc;
	}
	rc = store_commit(s);
	if (rc < 0)
		return rc;
	r.done.bytes = before > after ? before - after : 0;
	*ret = r.done;
	/* The pages go back to the file system; it may also be done later. */
	(void)store_exec(s, "PRAGMA incremental_vacuum");
	(void)store_checkpoint(s);
	return 0;
}
