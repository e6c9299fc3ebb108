/*
 * The state of the files as of now, and the content hash of a path as of any
 * entry. While a path is in no entry, its base (the content before the tape) is
 * what it holds now; its first entry fixes the base.
 */
#include "tape/store/store_i.h"

#include <errno.h>

#include "graph/base/cleanup.h"

static int put_row(struct store *s, int64_t path, const struct store_file *f)
{
	int rc = 0;
	sqlite3_stmt *q = store_sql(s, SQL_FILE_PUT, &rc);

	if (!q)
		return rc;
	(void)sqlite3_bind_int64(q, 1, path);
	store_bind_hash(q, 2, f->hash);
	(void)sqlite3_bind_int64(q, 3, (int64_t)f->size);
	(void)sqlite3_bind_int64(q, 4, (int64_t)f->inode);
	(void)sqlite3_bind_int64(q, 5, f->mtime_ns);
	(void)sqlite3_bind_int64(q, 6, f->ctime_ns);
	return store_run(s, q);
}

/* Set the base of a path that is in no entry yet. */
static int set_base(struct store *s, int64_t path, const XXH128_hash_t *base)
{
	bool used = false;
	int rc = store_path_used(s, path, &used);

	if (rc < 0 || used)
		return rc;
	return store_path_set_base(s, path, base);
}

int store_put_file(struct store *s, const struct store_file *f)
{
	int64_t path = 0;
	int rc = store_may_write(s);

	if (rc < 0)
		return rc;
	rc = store_path_put(s, f->path, &path);
	if (rc == 0)
		rc = put_row(s, path, f);
	if (rc == 0)
		rc = set_base(s, path, &f->hash);
	return store_note(s, rc);
}

int store_remove_file(struct store *s, const char *path)
{
	int64_t id = 0;
	sqlite3_stmt *q;
	int rc = store_may_write(s);

	if (rc < 0)
		return rc;
	rc = store_path_find(s, path, &id);
	if (rc == -ENOENT)
		return 0;
	if (rc < 0)
		return store_note(s, rc);
	q = store_sql(s, SQL_FILE_REMOVE, &rc);
	if (q) {
		(void)sqlite3_bind_int64(q, 1, id);
		rc = store_run(s, q);
	}
	if (rc == 0)
		rc = set_base(s, id, NULL);
	return store_note(s, rc);
}

static int visit_row(sqlite3_stmt *q, store_file_visit *visit, void *arg)
{
	struct store_file f = {
		.path = (const char *)sqlite3_column_text(q, 0),
		.size = (uint64_t)sqlite3_column_int64(q, 2),
		.inode = (uint64_t)sqlite3_column_int64(q, 3),
		.mtime_ns = sqlite3_column_int64(q, 4),
		.ctime_ns = sqlite3_column_int64(q, 5),
	};

	if (!f.path || !store_column_hash(q, 1, &f.hash))
		return -EBADMSG;
	return visit(&f, arg);
}

int store_files(struct store *s, store_file_visit *visit, void *arg)
{
	CLEANUP(store_finalize_p) sqlite3_stmt *q = NULL;
	int rc = store_prepare(s,
			       "SELECT p.path, f.hash, f.size, f.inode,"
			       " f.mtime, f.ctime FROM file f"
			       " LEFT JOIN path p ON p.id = f.path"
			       " ORDER BY f.path",
			       &q);

	while (rc == 0) {
		rc = store_step(s, q);
		if (rc <= 0)
			return rc;
		rc = visit_row(q, visit, arg);
	}
	return rc;
}

/* The newest entry that names a path, as `path` or as `path2`. */
struct path_mention {
	uint64_t n; /* 0: none */
	bool has;
	XXH128_hash_t hash;
};

static int newest_mention(struct store *s, enum store_sql which, int64_t path,
			  uint64_t n, struct path_mention *ret)
{
	int rc = 0;
	sqlite3_stmt *q = store_sql(s, which, &rc);

	if (!q)
		return rc;
	(void)sqlite3_bind_int64(q, 1, path);
	(void)sqlite3_bind_int64(q, 2, n > INT64_MAX ? INT64_MAX : (int64_t)n);
	rc = store_step(s, q);
	if (rc > 0) {
		ret->n = (uint64_t)sqlite3_column_int64(q, 0);
		ret->has = store_column_hash(q, 2, &ret->hash);
		/* After a rename the content is at path2. */
		if (which == SQL_VERSION &&
		    sqlite3_column_int(q, 1) == ENTRY_RENAME)
			ret->has = false;
	}
	(void)sqlite3_reset(q);
	return rc < 0 ? rc : 0;
}

static int base_of(struct store *s, int64_t path, XXH128_hash_t *ret)
{
	int rc = 0;
	sqlite3_stmt *q = store_sql(s, SQL_PATH_BASE, &rc);

	if (!q)
		return rc;
	(void)sqlite3_bind_int64(q, 1, path);
	rc = store_step(s, q);
	if (rc >= 0)
		rc = rc > 0 && store_column_hash(q, 0, ret) ? 0 : -ENOENT;
	(void)sqlite3_reset(q);
	return rc;
}

int store_version(struct store *s, const char *path, uint64_t n,
		  XXH128_hash_t *ret_hash, uint64_t *ret_since)
{
	struct path_mention as_path = { 0 }, as_path2 = { 0 };
	const struct path_mention *m;
	int64_t id = 0;
	int rc = store_path_find(s, path, &id);

	if (rc == 0)
		rc = newest_mention(s, SQL_VERSION, id, n, &as_path);
	if (rc == 0)
		rc = newest_mention(s, SQL_VERSION_2, id, n, &as_path2);
	if (rc < 0)
		return rc;
	m = as_path2.n >= as_path.n ? &as_path2 : &as_path;
	if (m->n == 0) {
		/* The retired entries between base and `first` are unknown. */
		if (n < INT64_MAX && n + 1 < store_first(s))
			return -ENOENT;
		rc = base_of(s, id, ret_hash);
	} else if (m->has) {
		*ret_hash = m->hash;
	} else {
		rc = -ENOENT;
	}
	if (rc == 0)
		*ret_since = m->n;
	return rc;
}
