/*
 * The database. Table `self` has one row: the newest entry and its chain hash
 * (so that an entry deleted at the end is noticed), the oldest entry kept and
 * the hash before it (so that the chain can be checked from there), the journal
 * position, the number of contents, the entry from which on no content was
 * retired, and a checksum of all these (XXH3-64 of the numbers, eight bytes
 * each, lowest first, and of the hashes, in the order of the columns). All
 * tables are in schema.c.
 *
 * Formats. Version 2 added the SHA-256 of contents, to `content` and to the
 * packed part of an entry, and self.tape. A store of version 1 is upgraded when
 * it is opened for writing; a reader sees it through temporary views. Its
 * entries stay as they are: the packed part of an entry says by itself what it
 * has (pack.c), and so does its chain hash (chain.c).
 *
 * Durability. A commit writes the write-ahead log and does not sync it: what a
 * killed process committed is in the page cache and is not lost. The log is
 * synced before its pages go into the database, and the database before the log
 * starts over (synchronous = NORMAL): a host that crashes leaves a consistent
 * database and a log whose frame checksums show how far it is valid.
 *
 * One writer: the lock is on a separate file. POSIX locks, which SQLite takes
 * on the database, are lost when any code of the process closes a descriptor of
 * it; so nothing but SQLite ever opens the database here.
 */
#include "tape/store/store.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "graph/base/cleanup.h"
#include "graph/base/clock.h"
#include "tape/store/schema.h"
#include "tape/store/store_i.h"

#define STORE_BUSY_MS 2000
/* Length of the log, in pages, at which a commit runs a checkpoint. */
#define STORE_LOG_PAGES "8192"

/* Sets the sentence unless the caller passed NULL. Returns `rc`. */
__attribute__((format(printf, 3, 4))) static int refuse(char **ret_why, int rc,
							const char *format, ...)
{
	va_list args;

	if (!ret_why)
		return rc;
	va_start(args, format);
	if (vasprintf(ret_why, format, args) < 0)
		*ret_why = NULL;
	va_end(args);
	return rc;
}

static int refuse_errno(char **ret_why, int rc, const char *path)
{
	const char *why = strerrordesc_np(-rc);

	return refuse(ret_why, rc, "The tape '%s' cannot be opened: %s.", path,
		      why ? why : "unknown error");
}

static int refuse_damaged(const struct store *s, char **ret_why, int rc,
			  const char *path)
{
	if (rc != -EBADMSG)
		return refuse_errno(ret_why, rc, path);
	return refuse(ret_why, rc,
		      "The tape '%s' is damaged or not a tape: %s.", path,
		      sqlite3_errmsg(s->db));
}

/* Held until the store is freed. */
static int lock(struct store *s, const char *path, char **ret_why)
{
	CLEANUP(free_p) char *name = NULL;

	if (asprintf(&name, "%s-lock", path) < 0)
		return -ENOMEM;
	s->lock_fd =
		open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (s->lock_fd < 0)
		return refuse_errno(ret_why, -errno, path);
	if (flock(s->lock_fd, LOCK_EX | LOCK_NB) == 0)
		return 0;
	if (errno == EWOULDBLOCK)
		return refuse(ret_why, -EBUSY,
			      "Another process writes the tape '%s'.", path);
	return refuse_errno(ret_why, -errno, path);
}

/* Mode 0600 whatever the umask; SQLite gives its other files the same mode. */
static int make_file(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd >= 0)
		return close(fd) < 0 ? -errno : 0;
	if (errno != EEXIST)
		return -errno;
	return chmod(path, 0600) < 0 ? -errno : 0;
}

/*
 * We never query SQLite's memory statistics, and counting takes a lock each
 * time.
 */
static void configure(void)
{
	(void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

static int connect_to(struct store *s, const char *path)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	int flags = s->writes ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY;
	int code;

	(void)pthread_once(&once, configure);
	code = sqlite3_open_v2(path, &s->db,
			       flags | SQLITE_OPEN_NOMUTEX |
				       SQLITE_OPEN_PRIVATECACHE |
				       SQLITE_OPEN_EXRESCODE,
			       NULL);
	if (!s->db)
		return -ENOMEM;
	if (code != SQLITE_OK)
		return store_errno(s, code);
	(void)sqlite3_busy_timeout(s->db, STORE_BUSY_MS);
	/* Never run code that the schema of a foreign database defines. */
	(void)sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	(void)sqlite3_db_config(s->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	return store_exec(s, "PRAGMA temp_store = MEMORY;"
			     "PRAGMA cache_size = -16384");
}

static uint64_t self_sum(const struct store_self *self)
{
	const uint64_t numbers[] = { self->n,	     self->first, self->journal,
				     self->contents, self->whole, self->tape };
	/* In format 1 there is no tape. */
	size_t count = sizeof(numbers) / sizeof(*numbers) - !self->tape;
	uint8_t bytes[sizeof(numbers) + sizeof(self->chain) +
		      sizeof(self->root)];
	uint8_t *at = bytes;

	for (size_t i = 0; i < count; i++) {
		for (int k = 0; k < 8; k++)
			*at++ = (uint8_t)(numbers[i] >> 8 * k);
		if (i == 0)
			at = mempcpy(at, self->chain, sizeof(self->chain));
		if (i == 1)
			at = mempcpy(at, self->root, sizeof(self->root));
	}
	assert(at <= bytes + sizeof(bytes));
	return XXH3_64bits(bytes, (size_t)(at - bytes));
}

int store_self_read(struct store *s, struct store_self *ret)
{
	struct store_self self = { 0 };
	int rc = 0;
	sqlite3_stmt *q = store_sql(s, SQL_SELF_GET, &rc);

	if (!q)
		return rc;
	rc = store_step(s, q);
	if (rc == 0)
		rc = -EBADMSG;
	if (rc > 0) {
		self = (struct store_self){
			.n = (uint64_t)sqlite3_column_int64(q, 0),
			.first = (uint64_t)sqlite3_column_int64(q, 2),
			.journal = (uint64_t)sqlite3_column_int64(q, 4),
			.contents = (uint64_t)sqlite3_column_int64(q, 5),
			.whole = (uint64_t)sqlite3_column_int64(q, 6),
			.tape = (uint64_t)sqlite3_column_int64(q, 8),
		};
		rc = store_column_chain(q, 1, self.chain) &&
				     store_column_chain(q, 3, self.root) &&
				     self_sum(&self) ==
					     (uint64_t)sqlite3_column_int64(q,
									    7)
			     ? 0
			     : -EBADMSG;
	}
	(void)sqlite3_reset(q);
	if (rc == 0)
		*ret = self;
	return rc;
}

static int self_write(struct store *s)
{
	int rc = 0;
	sqlite3_stmt *q = store_sql(s, SQL_SELF_SET, &rc);

	if (!q)
		return rc;
	(void)sqlite3_bind_int64(q, 1, (int64_t)s->self.n);
	(void)sqlite3_bind_blob(q, 2, s->self.chain, ENTRY_CHAIN_SIZE,
				SQLITE_STATIC);
	(void)sqlite3_bind_int64(q, 3, (int64_t)s->self.first);
	(void)sqlite3_bind_blob(q, 4, s->self.root, ENTRY_CHAIN_SIZE,
				SQLITE_STATIC);
	(void)sqlite3_bind_int64(q, 5, (int64_t)s->self.journal);
	(void)sqlite3_bind_int64(q, 6, (int64_t)s->self.contents);
	(void)sqlite3_bind_int64(q, 7, (int64_t)s->self.whole);
	(void)sqlite3_bind_int64(q, 8, (int64_t)self_sum(&s->self));
	(void)sqlite3_bind_int64(q, 9, (int64_t)s->self.tape);
	return store_run(s, q);
}

static uint64_t new_tape(void)
{
	uint64_t tape = 0;

	/* getrandom() fails only before the machine's first random bytes. */
	while (tape == 0)
		if (getrandom(&tape, sizeof(tape), 0) != sizeof(tape))
			tape = (uint64_t)clock_wall_ns();
	/* JSON numbers and SQLite's are signed: keep it positive. */
	return tape & INT64_MAX;
}

/* 1: the store is, or to a reader looks, as one of STORE_VERSION. */
static int upgrade(struct store *s, const char *path, char **ret_why)
{
	int rc = store_exec(s, s->writes ? store_upgrade : store_show_upgraded);

	if (rc == 0 && s->writes)
		rc = store_self_read(s, &s->self);
	if (rc == 0 && s->writes) {
		s->self.tape = new_tape();
		rc = self_write(s);
	}
	if (rc == 0 && s->writes)
		rc = store_exec(s, "COMMIT");
	return rc < 0 ? refuse_damaged(s, ret_why, rc, path) : 1;
}

/* 1: it is a store. 0: it is empty. */
static int recognise(struct store *s, const char *path, char **ret_why)
{
	int64_t application = 0, version = 0, tables = 0;
	int rc;

	rc = store_number(s, "SELECT count(*) FROM sqlite_schema", 0, &tables);
	if (rc == 0)
		rc = store_number(s, "PRAGMA application_id", 0, &application);
	if (rc == 0)
		rc = store_number(s, "PRAGMA user_version", 0, &version);
	if (rc < 0)
		return refuse_damaged(s, ret_why, rc, path);
	if (!application && !version && !tables)
		return 0;
	if (s->salvages)
		return version >= STORE_VERSION_OLDEST &&
				       version < STORE_VERSION
			       ? upgrade(s, path, ret_why)
			       : 1;
	if (application != STORE_APPLICATION)
		return refuse(ret_why, -EBADMSG,
			      "'%s' is a database of another program.", path);
	if (version >= STORE_VERSION_OLDEST && version < STORE_VERSION)
		return upgrade(s, path, ret_why);
	if (version != STORE_VERSION)
		return refuse(ret_why,
			      version > STORE_VERSION ? -EPROTONOSUPPORT
						      : -EBADMSG,
			      "The tape '%s' has format %lld, and this "
			      "program knows %d: it was written by %s.",
			      path, (long long)version, STORE_VERSION,
			      version > STORE_VERSION ? "a newer one"
						      : "an older one");
	return 1;
}

static int create(struct store *s)
{
	/*
	 * auto_vacuum must precede the first table; it lets retired pages be
	 * freed.
	 */
	int rc = store_exec(s, "PRAGMA auto_vacuum = INCREMENTAL;"
			       "PRAGMA journal_mode = WAL;"
			       "BEGIN IMMEDIATE");

	if (rc == 0)
		rc = store_exec(s, store_schema);
	s->self = (struct store_self){ .first = 1,
				       .whole = 1,
				       .tape = new_tape() };
	if (rc == 0)
		rc = self_write(s);
	if (rc == 0)
		rc = store_exec(s, "COMMIT");
	return rc;
}

static int find_turns(struct store *s)
{
	int64_t tables = 0;
	int rc = store_number(s,
			      "SELECT count(*) FROM sqlite_schema WHERE name"
			      " IN ('conversation', 'turn', 'agent', 'call')",
			      0, &tables);

	s->has_turns = tables == 4;
	return rc;
}

/* The entries' range, where the record about it is damaged. */
static int find_self(struct store *s, struct store_self *ret)
{
	int64_t first = 0, last = 0;
	int rc = store_number(s, "SELECT min(n) FROM entry", 0, &first);

	if (rc == -EBADMSG)
		first = 1;
	rc = store_number(s, "SELECT max(n) FROM entry", 0, &last);
	/* An index has the numbers, too, and lies in other pages. */
	if (rc == -EBADMSG)
		rc = store_number(s,
				  "SELECT max(n) FROM entry"
				  " INDEXED BY entry_path"
				  " WHERE path IS NOT NULL",
				  0, &last);
	if (rc == 0)
		*ret = (struct store_self){ .n = (uint64_t)last,
					    .first = (uint64_t)first };
	return rc;
}

static int settle_in(struct store *s, const char *path, char **ret_why)
{
	int rc = recognise(s, path, ret_why);

	if (rc < 0)
		return rc;
	if (rc == 0 && !s->writes)
		return refuse(ret_why, -ENOENT,
			      "There is nothing on the tape '%s' yet.", path);
	rc = rc == 0 ? create(s) : 0;
	if (rc == 0 && s->writes)
		rc = store_exec(s, "PRAGMA synchronous = NORMAL;"
				   "PRAGMA journal_size_limit = 4194304;"
				   "PRAGMA wal_autocheckpoint = " //
				STORE_LOG_PAGES);
	if (rc == 0 && s->writes)
		rc = store_exec(s, store_schema_turns);
	if (rc == 0)
		rc = find_turns(s);
	if (rc < 0)
		return refuse_damaged(s, ret_why, rc, path);
	rc = store_self_read(s, &s->self);
	if (rc == -EBADMSG && s->salvages)
		rc = find_self(s, &s->self);
	if (rc == -EBADMSG && sqlite3_errcode(s->db) != SQLITE_ERROR)
		return refuse(ret_why, rc,
			      "The tape '%s' is damaged: its record about "
			      "itself was altered.",
			      path);
	if (rc < 0)
		return refuse_damaged(s, ret_why, rc, path);
	s->committed = s->self;
	return 0;
}

static void store_free_p(struct store **s)
{
	store_free(*s);
}

int store_open(const char *path, enum store_mode mode, struct store **ret,
	       char **ret_why)
{
	CLEANUP(store_free_p) struct store *s = must_calloc(1, sizeof(*s));
	int rc = 0;

	assert(mode <= STORE_SALVAGE);
	if (ret_why)
		*ret_why = NULL;
	s->lock_fd = -1;
	s->writes = mode == STORE_WRITE;
	s->salvages = mode == STORE_SALVAGE;
	s->path = must_strdup(path);
	s->bytes = BUF(STORE_DETAIL_MAX);
	if (s->writes) {
		rc = lock(s, path, ret_why);
		if (rc < 0)
			return rc;
		rc = make_file(path);
	} else if (access(path, F_OK) < 0) {
		rc = -errno;
	}
	if (rc == -ENOENT && !s->writes)
		return refuse(ret_why, rc, "There is no tape '%s'.", path);
	if (rc < 0)
		return refuse_errno(ret_why, rc, path);
	rc = connect_to(s, path);
	if (rc < 0)
		return refuse_damaged(s, ret_why, rc, path);
	rc = settle_in(s, path, ret_why);
	if (rc == 0)
		*ret = TAKE(s);
	return rc;
}

void store_free(struct store *s)
{
	if (!s)
		return;
	if (s->is_open)
		store_abort(s);
	for (int i = 0; i < SQLS; i++)
		(void)sqlite3_finalize(s->statements[i]);
	(void)sqlite3_close(s->db);
	close_p(&s->lock_fd);
	(void)ZSTD_freeCCtx(s->compress);
	(void)ZSTD_freeDCtx(s->decompress);
	buf_release(&s->bytes);
	free(s->path);
	free(s);
}

const char *store_path(const struct store *s)
{
	return s->path;
}

uint64_t store_skipped(const struct store *s)
{
	return s->skipped;
}

/* -- Transactions. */

static int run_kept(struct store *s, enum store_sql which)
{
	int rc = 0;
	sqlite3_stmt *q = store_sql(s, which, &rc);

	return q ? store_run(s, q) : rc;
}

int store_begin(struct store *s)
{
	int rc;

	if (!s->writes)
		return -EROFS;
	if (s->is_open)
		return -EINVAL;
	rc = run_kept(s, SQL_BEGIN);
	if (rc < 0)
		return rc;
	assert(!sqlite3_get_autocommit(s->db));
	assert(memcmp(&s->self, &s->committed, sizeof(s->self)) == 0);
	s->is_open = true;
	s->failed = 0;
	return 0;
}

void store_abort(struct store *s)
{
	if (!s->is_open)
		return;
	/* On a full disk SQLite may have rolled back already. */
	if (!sqlite3_get_autocommit(s->db))
		(void)run_kept(s, SQL_ROLLBACK);
	s->self = s->committed;
	s->is_open = false;
}

int store_commit(struct store *s)
{
	int rc = store_may_write(s);

	if (rc == 0 && sqlite3_get_autocommit(s->db))
		rc = -EIO;
	if (rc == 0 && memcmp(&s->self, &s->committed, sizeof(s->self)) != 0)
		rc = self_write(s);
	if (rc == 0)
		rc = run_kept(s, SQL_COMMIT);
	if (rc < 0) {
		store_abort(s);
		return rc;
	}
	assert(sqlite3_get_autocommit(s->db) && s->failed == 0);
	s->committed = s->self;
	s->is_open = false;
	return 0;
}

int store_checkpoint(struct store *s)
{
	int code;

	if (!s->writes)
		return -EROFS;
	if (s->is_open)
		return -EINVAL;
	code = sqlite3_wal_checkpoint_v2(s->db, NULL, SQLITE_CHECKPOINT_PASSIVE,
					 NULL, NULL);
	/* A reader blocks part of it: the next checkpoint does the rest. */
	return (code & 0xff) == SQLITE_BUSY ? 0 : store_errno(s, code);
}

int store_set_position(struct store *s, uint64_t journal_n)
{
	int rc = store_may_write(s);

	if (rc == 0)
		s->self.journal = journal_n;
	return rc;
}

/* A writer's copy is current; a reader's may be outdated. */
static const struct store_self *self_now(struct store *s)
{
	struct store_self self;

	if (!s->writes && store_self_read(s, &self) == 0)
		s->self = self;
	return &s->self;
}

uint64_t store_position(struct store *s)
{
	return self_now(s)->journal;
}

uint64_t store_head(struct store *s)
{
	return self_now(s)->n;
}

uint64_t store_first(struct store *s)
{
	return self_now(s)->first;
}

uint64_t store_tape(struct store *s)
{
	return self_now(s)->tape;
}

const uint8_t *store_chain_head(struct store *s)
{
	return self_now(s)->chain;
}

const uint8_t *store_root(struct store *s)
{
	return self_now(s)->root;
}

int store_stat(struct store *s, struct store_stats *ret)
{
	int64_t pages = 0, size = 0, bytes = 0, files = 0, gaps = 0;
	struct store_self self = s->self;
	int rc = s->writes ? 0 : store_self_read(s, &self);

	if (rc == 0)
		rc = store_number(s, "PRAGMA page_count", 0, &pages);
	if (rc == 0)
		rc = store_number(s, "PRAGMA page_size", 0, &size);
	if (rc == 0)
		rc = store_number(s, "SELECT count(*) FROM file", 0, &files);
	if (rc == 0)
		rc = store_number(s,
				  "SELECT count(*) FROM entry WHERE kind = 4",
				  0, &gaps);
	/* length() of a blob is in the row header: the text is not read. */
	if (rc == 0)
		rc = store_number(s, "SELECT sum(length(text)) FROM content", 0,
				  &bytes);
	if (rc < 0)
		return rc;
	*ret = (struct store_stats){
		.entries = self.n + 1 - self.first,
		.first = self.n < self.first ? 0 : self.first,
		.contents = self.contents,
		.files = (uint64_t)files,
		.gaps = (uint64_t)gaps,
		.bytes = (uint64_t)(pages * size),
		.content_bytes = (uint64_t)bytes,
	};
	return 0;
}
