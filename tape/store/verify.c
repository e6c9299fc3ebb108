/*
 * Reads everything and compares it with what it must be. An entry is checked
 * against the hash that is stored in the row before it, so that one altered
 * entry is one finding and does not implicate all later ones. An entry that was
 * altered together with its hash shows at the next entry, the newest one in
 * table `self`.
 *
 * A process that can write the database can recompute all of it, hashes
 * included. Only a number and a hash that were noted elsewhere help against
 * that; every subscriber of the tape receives them.
 */
#include "tape/store/store_i.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "graph/base/cleanup.h"

struct verify_check {
	struct store *s;
	store_finding *found;
	void *arg;
	int findings;
	struct store_self self;
	uint64_t next;	 /* number of the next entry */
	bool is_chained; /* `chain` is the hash before it */
	uint8_t chain[ENTRY_CHAIN_SIZE];
	uint64_t touches; /* rows that the index should have */
	uint64_t merged;  /* likewise, that of merged entries */
};

const char *store_fault_name(enum store_fault fault)
{
	static const char *const names[FAULTS] = {
		[FAULT_DATABASE] = "database", [FAULT_SELF] = "self",
		[FAULT_MISSING] = "missing",   [FAULT_ENTRY] = "entry",
		[FAULT_INDEX] = "index",       [FAULT_CONTENT] = "content",
		[FAULT_FILE] = "file",
	};

	return fault < FAULTS ? names[fault] : "unknown";
}

__attribute__((format(printf, 3, 4))) static void
report(struct verify_check *c, enum store_fault fault, const char *format, ...)
{
	CLEANUP(free_p) char *sentence = NULL;
	va_list args;
	int len;

	va_start(args, format);
	len = vasprintf(&sentence, format, args);
	va_end(args);
	if (len < 0)
		sentence = NULL;
	c->findings++;
	c->found(fault, sentence ? sentence : "Out of memory.", c->arg);
}

/* -- The database as such. */

static int check_database(struct verify_check *c)
{
	CLEANUP(store_finalize_p) sqlite3_stmt *q = NULL;
	const char *text;
	int rc = store_prepare(c->s, "PRAGMA integrity_check(8)", &q);

	while (rc == 0) {
		rc = store_step(c->s, q);
		if (rc == 0)
			return 0;
		if (rc < 0)
			break;
		text = (const char *)sqlite3_column_text(q, 0);
		if (text && strcmp(text, "ok") != 0)
			report(c, FAULT_DATABASE,
			       "The database is damaged: %s.", text);
		rc = 0;
	}
	if (rc == -EBADMSG)
		report(c, FAULT_DATABASE, "The database is damaged: %s.",
		       sqlite3_errmsg(c->s->db));
	return rc == -EBADMSG ? 0 : rc;
}

/* -- Entries. */

static void check_hole(struct verify_check *c, uint64_t upto)
{
	if (c->next >= upto)
		return;
	if (upto - c->next == 1)
		report(c, FAULT_MISSING, "Entry %" PRIu64 " is missing.",
		       c->next);
	else
		report(c, FAULT_MISSING,
		       "Entries %" PRIu64 " to %" PRIu64 " are missing.",
		       c->next, upto - 1);
	c->is_chained = false;
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/*
 * Each symbol of the entry must be in the index. Duplicates count once, as in
 * the index.
 */
static int check_touches(struct verify_check *c, const struct entry *e,
			 const struct packed *p, struct arena *a)
{
	uint64_t *keys = arena_take(a, p->symbols_count * sizeof(*keys));
	sqlite3_stmt *q;
	int rc = 0;

	for (size_t i = 0; i < p->symbols_count; i++) {
		const struct packed_symbol *y = &p->symbols[i];
		int how = (int)store_how(y->set, y->removed);

		keys[i] = y->id << 3 | (uint64_t)how;
		q = store_sql(c->s, SQL_TOUCH_HAS, &rc);
		if (!q)
			return rc;
		(void)sqlite3_bind_int64(q, 1, (int64_t)y->id);
		(void)sqlite3_bind_int(q, 2, how);
		(void)sqlite3_bind_int64(q, 3, (int64_t)e->n);
		rc = store_step(c->s, q);
		(void)sqlite3_reset(q);
		if (rc < 0)
			return rc;
		if (rc == 0)
			report(c, FAULT_INDEX,
			       "Entry %" PRIu64 " is not found by its symbol "
			       "'%s': the index was altered.",
			       e->n, e->symbols[i].name);
	}
	if (p->symbols_count)
		qsort(keys, p->symbols_count, sizeof(*keys), compare);
	for (size_t i = 0; i < p->symbols_count; i++)
		c->touches += i == 0 || keys[i] != keys[i - 1];
	return 0;
}

static void check_chain(struct verify_check *c, const struct entry *e,
			bool kept)
{
	uint8_t chain[ENTRY_CHAIN_SIZE];

	if (!c->is_chained)
		return;
	store_chain(c->chain, e, kept, chain);
	if (memcmp(chain, e->chain, sizeof(chain)) == 0)
		return;
	if (e->n == c->self.first)
		report(c, FAULT_ENTRY, "Entry %" PRIu64 " was altered.", e->n);
	else
		report(c, FAULT_ENTRY,
		       "Entry %" PRIu64 " was altered, or entry %" PRIu64
		       " was together with its hash.",
		       e->n, e->n - 1);
}

static void check_kept(struct verify_check *c, const struct entry *e, bool kept)
{
	uint8_t sha[ENTRY_SHA_SIZE];

	if (!kept || !e->has)
		return;
	if (e->n >= c->self.whole && !store_has_content(c->s, e->after))
		report(c, FAULT_CONTENT,
		       "The content of '%s' as of entry %" PRIu64
		       " is missing.",
		       e->path2 ? e->path2 : e->path, e->n);
	if (!e->has_sha || !store_has_content(c->s, e->after))
		return;
	/* check_content() compares the text with the row's SHA-256. */
	if (store_content_sha(c->s, e->after, sha) < 0 ||
	    memcmp(sha, e->after_sha, sizeof(sha)) != 0)
		report(c, FAULT_CONTENT,
		       "The content of '%s' as of entry %" PRIu64
		       " was replaced: it is not the one the chain has.",
		       e->path2 ? e->path2 : e->path, e->n);
}

/* What was there before the tape is proven by the first entry of its path. */
static void check_base(struct verify_check *c, const struct entry *e)
{
	uint8_t sha[ENTRY_SHA_SIZE];

	if (e->had_sha && store_content_sha(c->s, e->before, sha) == 0 &&
	    memcmp(sha, e->before_sha, sizeof(sha)) != 0)
		report(c, FAULT_CONTENT,
		       "The content of '%s' before entry %" PRIu64
		       " was replaced: it is not the one the chain has.",
		       e->path, e->n);
}

/* Columns of `q`: number and chain hash. */
static int check_entry(struct verify_check *c, sqlite3_stmt *q)
{
	CLEANUP(arena_release) struct arena a = { 0 };
	uint64_t n = (uint64_t)sqlite3_column_int64(q, 0);
	struct packed p;
	struct entry e;
	int rc;

	if (n < c->self.first || n > c->self.n) {
		report(c, FAULT_ENTRY,
		       "Entry %" PRIu64 " does not belong to this tape.", n);
		return 0;
	}
	check_hole(c, n);
	rc = store_load(c->s, n, &a, &e, &p);
	if (rc == 0) {
		check_chain(c, &e, p.kept);
		check_kept(c, &e, p.kept);
		check_base(c, &e);
		rc = check_touches(c, &e, &p, &a);
		c->merged += e.authors_count;
	} else if (rc == -EBADMSG) {
		report(c, FAULT_ENTRY,
		       "Entry %" PRIu64 " was altered and cannot be read.", n);
		rc = 0;
	}
	c->is_chained = store_column_chain(q, 1, c->chain);
	c->next = n + 1;
	return rc;
}

static void check_end(struct verify_check *c)
{
	check_hole(c, c->self.n + 1);
	if (c->is_chained &&
	    memcmp(c->chain, c->self.chain, sizeof(c->chain)) != 0)
		report(c, FAULT_ENTRY,
		       "Entry %" PRIu64
		       ", the newest, was altered: its hash is "
		       "not the one the store ends with.",
		       c->self.n);
}

/* Has the index as many rows as the entries require? */
static int check_rows(struct verify_check *c, const char *count,
		      const char *what, uint64_t want)
{
	int64_t rows = 0;
	int rc = store_number(c->s, count, 0, &rows);

	if (rc == 0 && (uint64_t)rows != want)
		report(c, FAULT_INDEX,
		       "The index of %s has %" PRId64 " rows, but the entries "
		       "require %" PRIu64 ".",
		       what, rows, want);
	return rc;
}

static int check_entries(struct verify_check *c)
{
	CLEANUP(store_finalize_p) sqlite3_stmt *q = NULL;
	int rc = store_prepare(c->s, "SELECT n, chain FROM entry ORDER BY n",
			       &q);

	c->next = c->self.first;
	c->is_chained = true;
	memcpy(c->chain, c->self.root, sizeof(c->chain));
	while (rc == 0) {
		rc = store_step(c->s, q);
		if (rc <= 0)
			break;
		rc = check_entry(c, q);
	}
	if (rc < 0)
		return rc;
	check_end(c);
	rc = check_rows(c, "SELECT count(*) FROM touch", "symbols", c->touches);
	if (rc == 0)
		rc = check_rows(c, "SELECT count(*) FROM merged",
				"merged entries", c->merged);
	return rc;
}

/* -- Contents. */

static const char users[] =
	"SELECT p.path, e.n FROM entry e"
	" JOIN path p ON p.id = coalesce(e.path2, e.path) WHERE e.after = ?1"
	" UNION ALL SELECT p.path, 0 FROM path p WHERE p.base = ?1"
	" UNION ALL SELECT p.path, 0 FROM file f JOIN path p ON p.id = f.path"
	" WHERE f.hash = ?1 LIMIT 1";

/* Report a content by a path and entry that has it. */
static int report_content(struct verify_check *c, XXH128_hash_t hash,
			  const char *what)
{
	CLEANUP(store_finalize_p) sqlite3_stmt *q = NULL;
	const char *path;
	int64_t n;
	int rc = store_prepare(c->s, users, &q);

	if (rc == 0) {
		store_bind_hash(q, 1, hash);
		rc = store_step(c->s, q);
	}
	if (rc < 0)
		return rc;
	if (rc == 0) {
		report(c, FAULT_CONTENT,
		       "The content %016" PRIx64 "%016" PRIx64 " %s.",
		       hash.high64, hash.low64, what);
		return 0;
	}
	path = (const char *)sqlite3_column_text(q, 0);
	n = sqlite3_column_int64(q, 1);
	if (n)
		report(c, FAULT_CONTENT,
		       "The content of '%s' as of entry %" PRId64 " %s.", path,
		       n, what);
	else
		report(c, FAULT_CONTENT,
		       "The content of '%s' before its first entry %s.", path,
		       what);
	return 0;
}

static bool is_content(sqlite3_stmt *q, XXH128_hash_t hash, const char *text,
		       size_t len)
{
	uint8_t kept[ENTRY_SHA_SIZE], sha[ENTRY_SHA_SIZE];

	if (!XXH128_isEqual(XXH3_128bits(text, len), hash))
		return false;
	if (sqlite3_column_type(q, 1) == SQLITE_NULL)
		return true;
	store_sha(text, len, sha);
	return store_column_chain(q, 1, kept) &&
	       memcmp(sha, kept, sizeof(sha)) == 0;
}

/* Columns of `q`: hash and SHA-256. */
static int check_content(struct verify_check *c, sqlite3_stmt *q)
{
	CLEANUP(free_p) char *text = NULL;
	XXH128_hash_t hash;
	size_t len = 0;
	int rc;

	if (!store_column_hash(q, 0, &hash)) {
		report(c, FAULT_CONTENT, "A content has no hash.");
		return 0;
	}
	rc = store_content(c->s, hash, &text, &len);
	if (rc == -EBADMSG)
		return report_content(c, hash,
				      "was altered and cannot be read");
	if (rc < 0)
		return rc;
	if (!is_content(q, hash, text, len))
		return report_content(c, hash, "was altered");
	return 0;
}

static int check_contents(struct verify_check *c)
{
	CLEANUP(store_finalize_p) sqlite3_stmt *q = NULL;
	uint64_t count = 0;
	int rc = store_prepare(c->s,
			       "SELECT hash, sha FROM content ORDER BY id", &q);

	while (rc == 0) {
		rc = store_step(c->s, q);
		if (rc <= 0)
			break;
		count++;
		rc = check_content(c, q);
	}
	if (rc == 0 && count != c->self.contents)
		report(c, FAULT_CONTENT,
		       "The store holds %" PRIu64 " contents, and should hold "
		       "%" PRIu64 ".",
		       count, c->self.contents);
	return rc;
}

/* -- Files, and their contents before the tape. */

/* Report each path that `sql` returns. */
static int check_paths(struct verify_check *c, const char *sql,
		       const char *what)
{
	CLEANUP(store_finalize_p) sqlite3_stmt *q = NULL;
	const char *path;
	int rc = store_prepare(c->s, sql, &q);

	while (rc == 0) {
		rc = store_step(c->s, q);
		if (rc <= 0)
			return rc;
		path = (const char *)sqlite3_column_text(q, 0);
		report(c, FAULT_FILE, "The recorded state of '%s' %s",
		       path ? path : "?", what);
		rc = 0;
	}
	return rc;
}

/* The newest entry that names a path, as `path` or `path2`. */
#define NEWEST(path)                                                         \
	"(SELECT max(n) FROM (SELECT max(n) AS n FROM entry WHERE path"      \
	" = " path " UNION ALL SELECT max(n) FROM entry WHERE path2 = " path \
	"))"

static int check_files(struct verify_check *c)
{
	int rc = check_paths(
		c,
		"SELECT p.path FROM file f LEFT JOIN path p ON p.id = f.path"
		" LEFT JOIN entry e ON e.n = " NEWEST(
			"f.path") " WHERE p.id IS NULL OR (e.n IS NOT NULL AND "
				  "e.kind != 4"
				  " AND (e.after IS NOT f.hash"
				  "  OR (e.kind = 3 AND e.path2 IS NOT "
				  "f.path)))",
		"does not match its newest entry.");

	if (rc == 0)
		rc = check_paths(
			c,
			"SELECT p.path FROM path p"
			" JOIN entry e ON e.n = " NEWEST(
				"p.id") " WHERE e.after IS NOT NULL"
					" AND (e.kind != 3 OR e.path2 IS p.id)"
					" AND p.id NOT IN (SELECT path FROM "
					"file)",
			"is missing: its newest entry left a file.");
	if (rc == 0)
		rc = check_paths(
			c,
			"SELECT p.path FROM path p JOIN entry e ON e.n ="
			" (SELECT min(n) FROM entry WHERE path = p.id)"
			" WHERE e.kind != 4 AND p.base IS NOT e.before"
			" AND NOT EXISTS (SELECT 1 FROM entry"
			"  WHERE path2 = p.id AND n < e.n)",
			"before its first entry does not match that entry.");
	if (rc == 0)
		rc = check_paths(
			c,
			"SELECT p.path FROM path p LEFT JOIN file f"
			" ON f.path = p.id WHERE p.base IS NOT f.hash"
			" AND NOT EXISTS (SELECT 1 FROM entry"
			"  WHERE path = p.id) AND NOT EXISTS"
			" (SELECT 1 FROM entry WHERE path2 = p.id)",
			"before the tape does not match its state now.");
	return rc;
}

static int check_all(struct verify_check *c)
{
	int rc = check_database(c);

	if (rc == 0)
		rc = store_self_read(c->s, &c->self);
	if (rc == -EBADMSG) {
		report(c, FAULT_SELF,
		       "The store's record about itself was altered.");
		return 0;
	}
	if (rc == 0)
		rc = check_entries(c);
	if (rc == 0)
		rc = check_contents(c);
	if (rc == 0)
		rc = check_files(c);
	/* Damaged pages; unless they were reported above, report them now. */
	if (rc == -EBADMSG && c->findings == 0)
		report(c, FAULT_DATABASE, "The database is damaged: %s.",
		       sqlite3_errmsg(c->s->db));
	return rc == -EBADMSG ? 0 : rc;
}

int store_verify(struct store *s, store_finding *found, void *arg)
{
	struct verify_check c = { .s = s, .found = found, .arg = arg };
	/* A read transaction, so that concurrent commits are not seen. */
	bool is_alone = sqlite3_get_autocommit(s->db);
	int rc = is_alone ? store_exec(s, "BEGIN") : -EINVAL;

	if (rc == 0)
		rc = check_all(&c);
	if (is_alone)
		(void)store_exec(s, "ROLLBACK");
	return rc < 0 ? rc : c.findings;
}
