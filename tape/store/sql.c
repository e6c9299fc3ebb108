/*
 * The prepared statements, SQLite's result codes as negative errno, and binding
 * and reading of the types we store.
 */
#include "tape/store/store_i.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "graph/base/cleanup.h"

static const char *const sqls[SQLS] = {
	[SQL_BEGIN] = "BEGIN IMMEDIATE",
	[SQL_COMMIT] = "COMMIT",
	[SQL_ROLLBACK] = "ROLLBACK",
	[SQL_SELF_GET] = "SELECT n, chain, first, root, journal, contents,"
			 " whole, sum, tape FROM self WHERE id = 1",
	[SQL_SELF_SET] = "INSERT OR REPLACE INTO self (id, n, chain, first,"
			 " root, journal, contents, whole, sum, tape)"
			 " VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
	[SQL_PATH_FIND] = "SELECT id FROM path WHERE path = ?1",
	[SQL_PATH_ADD] = "INSERT INTO path (path) VALUES (?1)",
	[SQL_PATH_BASE] = "SELECT base FROM path WHERE id = ?1",
	[SQL_PATH_SET_BASE] = "UPDATE path SET base = ?2"
			      " WHERE id = ?1 AND base IS NOT ?2",
	[SQL_PATH_USED] = "SELECT EXISTS (SELECT 1 FROM entry WHERE path = ?1)"
			  " OR EXISTS (SELECT 1 FROM entry WHERE path2 = ?1)",
	[SQL_SYMBOL_FIND] = "SELECT id FROM symbol"
			    " WHERE name = ?1 AND scope = ?2",
	[SQL_SYMBOL_ADD] = "INSERT OR IGNORE INTO symbol (name, scope)"
			   " VALUES (?1, ?2)",
	[SQL_SYMBOL_GET] = "SELECT scope, name FROM symbol WHERE id = ?1",
	[SQL_PROGRAM_FIND] = "SELECT id FROM program"
			     " WHERE comm = ?1 AND exe = ?2",
	[SQL_PROGRAM_ADD] = "INSERT INTO program (comm, exe) VALUES (?1, ?2)",
	[SQL_AUTHOR_FIND] = "SELECT id FROM author WHERE pid = ?1"
			    " AND start = ?2 AND uid = ?3 AND program = ?4"
			    " AND cmdline = ?5 AND parent IS ?6 AND root = ?7",
	[SQL_AUTHOR_ADD] = "INSERT INTO author (pid, start, uid, program,"
			   " cmdline, parent, root)"
			   " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
	[SQL_AUTHOR_GET] = "SELECT a.pid, a.start, a.uid, p.comm, a.cmdline,"
			   " p.exe, a.parent, a.root FROM author a"
			   " JOIN program p ON p.id = a.program"
			   " WHERE a.id = ?1",
	[SQL_ENTRY_ADD] = "INSERT INTO entry (n, at, kind, path, path2,"
			  " author, before, after, chain, detail)"
			  " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
	[SQL_ENTRY_GET] = "SELECT e.at, e.kind, a.path, b.path, e.author,"
			  " e.before, e.after, e.chain, e.detail,"
			  " e.path, e.path2 FROM entry e"
			  " LEFT JOIN path a ON a.id = e.path"
			  " LEFT JOIN path b ON b.id = e.path2"
			  " WHERE e.n = ?1",
	[SQL_TOUCH_ADD] = "INSERT OR IGNORE INTO touch (symbol, how, n)"
			  " VALUES (?1, ?2, ?3)",
	[SQL_TOUCH_HAS] = "SELECT 1 FROM touch"
			  " WHERE symbol = ?1 AND how = ?2 AND n = ?3",
	[SQL_MERGED_ADD] = "INSERT OR IGNORE INTO merged (author, n)"
			   " VALUES (?1, ?2)",
	[SQL_CONTENT_FIND] = "SELECT sha FROM content WHERE hash = ?1",
	[SQL_CONTENT_SET_SHA] = "UPDATE content SET sha = ?2 WHERE hash = ?1",
	[SQL_CONTENT_ADD] = "INSERT INTO content (hash, size, text, sha)"
			    " VALUES (?1, ?2, ?3, ?4)",
	[SQL_CONTENT_GET] = "SELECT size, text FROM content WHERE hash = ?1",
	[SQL_FILE_PUT] = "INSERT INTO file (path, hash, size, inode, mtime,"
			 " ctime) VALUES (?1, ?2, ?3, ?4, ?5, ?6)"
			 " ON CONFLICT (path) DO UPDATE SET"
			 " hash = excluded.hash, size = excluded.size,"
			 " inode = excluded.inode, mtime = excluded.mtime,"
			 " ctime = excluded.ctime",
	[SQL_FILE_REMOVE] = "DELETE FROM file WHERE path = ?1",
	[SQL_VERSION] = "SELECT n, kind, after FROM entry"
			" WHERE path = ?1 AND n <= ?2 AND kind != 4"
			" ORDER BY n DESC LIMIT 1",
	[SQL_VERSION_2] = "SELECT n, kind, after FROM entry"
			  " WHERE path2 = ?1 AND n <= ?2"
			  " ORDER BY n DESC LIMIT 1",
	[SQL_TURN_GET] = "SELECT c.key, c.client, t.model, t.prompt, t.ordinal"
			 " FROM turn t JOIN conversation c"
			 " ON c.id = t.conversation WHERE t.id = ?1",
	[SQL_TURN_AT] = "SELECT turn FROM agent WHERE pid = ?1 AND start = ?2"
			" AND at <= ?3 ORDER BY at DESC LIMIT 1",
	[SQL_CALLS_AT] = "SELECT name, tool, command, paths, turn,"
			 " end = 0 OR end >= ?3 FROM call WHERE pid = ?1"
			 " AND start = ?2 AND begin <= ?3"
			 " ORDER BY begin DESC, id DESC LIMIT ?4",
};

static int io_errno(const struct store *s)
{
	int err = sqlite3_system_errno(s->db);

	return err > 0 ? -err : -EIO;
}

int store_errno(const struct store *s, int code)
{
	switch (code & 0xff) {
	case SQLITE_OK:
	case SQLITE_ROW:
	case SQLITE_DONE:
		return 0;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
	case SQLITE_PROTOCOL:
		return -EBUSY;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_READONLY:
		return -EROFS;
	case SQLITE_TOOBIG:
		return -EMSGSIZE;
	case SQLITE_PERM:
	case SQLITE_AUTH:
		return -EACCES;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
	case SQLITE_CONSTRAINT:
	case SQLITE_MISMATCH:
	case SQLITE_ERROR: /* a table or column is missing */
		return -EBADMSG;
	default:
		return io_errno(s);
	}
}

int store_prepare(struct store *s, const char *sql, sqlite3_stmt **ret)
{
	return store_errno(s, sqlite3_prepare_v2(s->db, sql, -1, ret, NULL));
}

sqlite3_stmt *store_sql(struct store *s, enum store_sql which, int *ret_rc)
{
	sqlite3_stmt **q = &s->statements[which];
	int code;

	assert(which < SQLS && sqls[which]);
	if (*q) {
		/*
		 * Returns the error of the last step, which was handled then.
		 */
		(void)sqlite3_reset(*q);
		return *q;
	}
	code = sqlite3_prepare_v3(s->db, sqls[which], -1,
				  SQLITE_PREPARE_PERSISTENT, q, NULL);
	*ret_rc = store_errno(s, code);
	return *q;
}

int store_step(struct store *s, sqlite3_stmt *q)
{
	int code;

	assert(q);
	code = sqlite3_step(q);
	return code == SQLITE_ROW ? 1 : store_errno(s, code);
}

int store_run(struct store *s, sqlite3_stmt *q)
{
	int rc = store_step(s, q);

	(void)sqlite3_reset(q);
	return rc > 0 ? 0 : rc;
}

int store_exec(struct store *s, const char *sql)
{
	return store_errno(s, sqlite3_exec(s->db, sql, NULL, NULL, NULL));
}

void store_finalize_p(sqlite3_stmt **q)
{
	(void)sqlite3_finalize(*q);
}

int store_number(struct store *s, const char *sql, int64_t otherwise,
		 int64_t *ret)
{
	CLEANUP(store_finalize_p) sqlite3_stmt *q = NULL;
	int rc = store_prepare(s, sql, &q);

	if (rc == 0)
		rc = store_step(s, q);
	if (rc < 0)
		return rc;
	*ret = rc > 0 ? sqlite3_column_int64(q, 0) : otherwise;
	return 0;
}

/*
 * sqlite3_bind_*() fails only for parameters that are not in the statement: our
 * mistake.
 */

void store_bind_text(sqlite3_stmt *q, int at, const char *text)
{
	(void)sqlite3_bind_text(q, at, text, -1, SQLITE_STATIC);
}

void store_bind_hash(sqlite3_stmt *q, int at, XXH128_hash_t hash)
{
	XXH128_canonical_t bytes;

	XXH128_canonicalFromHash(&bytes, hash);
	(void)sqlite3_bind_blob(q, at, bytes.digest, sizeof(bytes.digest),
				SQLITE_TRANSIENT);
}

bool store_column_hash(sqlite3_stmt *q, int at, XXH128_hash_t *ret)
{
	XXH128_canonical_t bytes;
	const void *blob = sqlite3_column_blob(q, at);

	if (!blob || sqlite3_column_bytes(q, at) != STORE_HASH_SIZE)
		return false;
	memcpy(bytes.digest, blob, STORE_HASH_SIZE);
	*ret = XXH128_hashFromCanonical(&bytes);
	return true;
}

_Static_assert(ENTRY_SHA_SIZE == ENTRY_CHAIN_SIZE, "both are SHA-256");

bool store_column_chain(sqlite3_stmt *q, int at, uint8_t ret[ENTRY_CHAIN_SIZE])
{
	const void *blob = sqlite3_column_blob(q, at);

	if (!blob || sqlite3_column_bytes(q, at) != ENTRY_CHAIN_SIZE)
		return false;
	memcpy(ret, blob, ENTRY_CHAIN_SIZE);
	return true;
}

const char *store_column_text(sqlite3_stmt *q, int at, struct arena *a)
{
	const void *text = sqlite3_column_text(q, at);

	if (!text)
		return "";
	return arena_copy(a, text, (size_t)sqlite3_column_bytes(q, at));
}

int store_may_write(const struct store *s)
{
	if (!s->writes)
		return -EROFS;
	return s->is_open ? s->failed : -EINVAL;
}

bool store_skips(struct store *s, int rc)
{
	if (rc != -EBADMSG || !s->salvages)
		return false;
	s->skipped++;
	return true;
}

int store_note(struct store *s, int rc)
{
	assert(rc <= 0);
	if (rc < 0 && s->is_open && s->failed == 0)
		s->failed = rc;
	return rc;
}
