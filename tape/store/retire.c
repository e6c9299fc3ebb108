/*
 * Retiring old contents and entries. A content is needed as long as a version
 * that has it can be shown. The content of a path at entry n is the `after` of
 * its newest entry up to n; that equals the `before` of its next entry, or the
 * current file. So the last use of a content is the newest entry that has it as
 * `before` or `after`, and a content that a file holds now has no last use.
 * Contents are deleted in the order of their last use, so that all versions
 * from some entry on stay complete.
 *
 * Deleting an entry also deletes its rows in the indices, and names and authors
 * that are not referred to any more. The content its path had then becomes the
 * base of the path, and its hash the start of the chain.
 */
#include "tape/store/store_i.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "graph/base/cleanup.h"

/*
 * To get below a size, delete this many at a time between two checks of the
 * size.
 */
#define RETIRE_CONTENTS 16
/* Larger steps, because each deletion scans the whole index of symbols. */
#define RETIRE_ENTRIES(count) ((count) / 32 + 1024)

struct retire_run {
	struct store *s;
	uint64_t bytes; /* target size; 0: no bound */
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

/* 1: more has to be deleted. */
static int is_too_large(const struct retire_run *r)
{
	uint64_t used = 0;
	int rc = r->bytes ? used_bytes(r->s, &used) : 0;

	return rc < 0 ? rc : used > r->bytes;
}

/*
 * Run `sql` with ?1 = `first` and ?2 = `second`; *ret_count is the number of
 * rows changed.
 */
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
 * Table `last_use` lists the contents that may be deleted, with their last use.
 * A file that was replaced by a rename is in no `before`: its last use is the
 * entry of that rename.
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

/*
 * Delete contents last used below `below`, about `limit` of them, oldest first.
 */
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
	/*
	 * All with the same last use, so that versions from the next entry on
	 * are complete.
	 */
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

/*
 * Delete contents last used before entry `cut`, then more until the size fits.
 */
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

/*
 * Set the base of each path in entries below ?1 to what it held after the last
 * of them.
 */
static const char move_bases[] =
	"UPDATE path SET base = (SELECT CASE WHEN e.kind = 3"
	"  AND e.path2 IS NOT path.id THEN NULL ELSE e.after END FROM entry e"
	" WHERE e.n = (SELECT max(n) FROM (SELECT max(n) AS n FROM entry"
	"  WHERE path = path.id AND n < ?1 AND kind != 4 UNION ALL"
	"  SELECT max(n) FROM entry WHERE path2 = path.id AND n < ?1)))"
	" WHERE id IN (SELECT path FROM entry WHERE n < ?1 AND kind != 4"
	"  UNION SELECT path2 FROM entry WHERE n < ?1)";

/* Delete names and authors without references, after entries were deleted. */
static const char *const sweeps[] = {
	"DELETE FROM symbol WHERE id NOT IN (SELECT symbol FROM touch)",
	("DELETE FROM path WHERE id NOT IN (SELECT path FROM file)"
	 " AND NOT EXISTS (SELECT 1 FROM entry WHERE path = path.id)"
	 " AND NOT EXISTS (SELECT 1 FROM entry WHERE path2 = path.id)"),
	("WITH RECURSIVE kept (id) AS (SELECT author FROM entry"
	 " WHERE author IS NOT NULL UNION SELECT author FROM merged"
	 " UNION SELECT a.parent FROM author a"
	 " JOIN kept k ON a.id = k.id WHERE a.parent IS NOT NULL)"
	 " DELETE FROM author WHERE id NOT IN (SELECT id FROM kept)"),
	"DELETE FROM program WHERE id NOT IN (SELECT program FROM author)",
	/* A conversation stays: it counts its turns. */
	("DELETE FROM turn WHERE at < (SELECT min(at) FROM entry)"
	 " AND id NOT IN (SELECT max(id) FROM turn GROUP BY conversation)"),
	"DELETE FROM call WHERE turn NOT IN (SELECT id FROM turn)",
	"DELETE FROM agent WHERE turn NOT IN (SELECT id FROM turn)",
};

/*
 * Delete entries below `below`; the hash of the last one becomes the root of
 * the chain.
 */
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
		rc = change_rows(s, "DELETE FROM merged WHERE n < ?1", below, 0,
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

/* Delete entries before `cut`, then more until the size fits. */
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

/*
 * The first entry that is not older than `before_ns`, or r->held if that is
 * lower; 0: no bound.
 */
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
	assert(s->is_open && r.held <= INT64_MAX);
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
	/*
	 * Return free pages to the file system; failing that, a later
	 * retirement does it.
	 */
	(void)store_exec(s, "PRAGMA incremental_vacuum");
	(void)store_checkpoint(s);
	return 0;
}
