/*
 * Authors and their ancestors. A process is identified by pid, start time and
 * what it ran: an exec makes a new row for the same process, and a pid that
 * recurs after a reboot differs in what it ran.
 */
#include "tape/store/store_i.h"

#include <assert.h>
#include <errno.h>

unsigned store_author_depth(const struct journal_author *a)
{
	unsigned depth = 0;

	for (; a && depth < STORE_ANCESTORS_MAX; a = a->parent)
		depth++;
	return depth;
}

static const char *text(const char *maybe)
{
	return maybe ? maybe : "";
}

/* 1: *ret is the id of the row found. 0: no row. */
static int find_row(struct store *s, sqlite3_stmt *find, int64_t *ret)
{
	int rc = store_step(s, find);

	if (rc > 0)
		*ret = sqlite3_column_int64(find, 0);
	(void)sqlite3_reset(find);
	return rc;
}

static int add_row(struct store *s, sqlite3_stmt *add, int64_t *ret)
{
	int rc = store_run(s, add);

	if (rc == 0)
		*ret = sqlite3_last_insert_rowid(s->db);
	return rc;
}

static int put_program(struct store *s, const struct journal_author *a,
		       int64_t *ret)
{
	static const enum store_sql both[] = { SQL_PROGRAM_FIND,
					       SQL_PROGRAM_ADD };
	sqlite3_stmt *q;
	int rc = 0;

	for (int i = 0; rc == 0 && i < 2; i++) {
		q = store_sql(s, both[i], &rc);
		if (!q)
			return rc;
		store_bind_text(q, 1, text(a->comm));
		store_bind_text(q, 2, text(a->exe));
		rc = i == 0 ? find_row(s, q, ret) : add_row(s, q, ret);
	}
	return rc < 0 ? rc : 0;
}

static int put_one(struct store *s, const struct journal_author *a,
		   int64_t parent, int64_t *ret)
{
	static const enum store_sql both[] = { SQL_AUTHOR_FIND,
					       SQL_AUTHOR_ADD };
	sqlite3_stmt *q;
	int64_t program = 0;
	int rc = put_program(s, a, &program);

	for (int i = 0; rc == 0 && i < 2; i++) {
		q = store_sql(s, both[i], &rc);
		if (!q)
			return rc;
		(void)sqlite3_bind_int64(q, 1, a->pid);
		(void)sqlite3_bind_int64(q, 2, (int64_t)a->start);
		(void)sqlite3_bind_int64(q, 3, a->uid);
		(void)sqlite3_bind_int64(q, 4, program);
		store_bind_text(q, 5, text(a->cmdline));
		if (parent)
			(void)sqlite3_bind_int64(q, 6, parent);
		else
			(void)sqlite3_bind_null(q, 6);
		(void)sqlite3_bind_int(q, 7, a->session_root);
		rc = i == 0 ? find_row(s, q, ret) : add_row(s, q, ret);
	}
	return rc < 0 ? rc : 0;
}

int store_author_put(struct store *s, const struct journal_author *a,
		     int64_t *ret)
{
	const struct journal_author *line[STORE_ANCESTORS_MAX];
	unsigned depth = store_author_depth(a);
	int64_t id = 0;
	int rc = 0;

	assert(depth <= STORE_ANCESTORS_MAX);
	for (unsigned i = 0; i < depth; i++, a = a->parent)
		line[i] = a;
	/* From the oldest ancestor: each row refers to its parent's. */
	while (rc == 0 && depth > 0)
		rc = put_one(s, line[--depth], id, &id);
	if (rc == 0)
		*ret = id;
	return rc;
}

/* *ret_parent is the row id of the parent, 0: none. -EBADMSG: no such row. */
static int get_one(struct store *s, int64_t id, struct arena *a,
		   struct journal_author *ret, int64_t *ret_parent)
{
	int rc = 0;
	sqlite3_stmt *q = store_sql(s, SQL_AUTHOR_GET, &rc);

	if (!q)
		return rc;
	(void)sqlite3_bind_int64(q, 1, id);
	rc = store_step(s, q);
	if (rc > 0) {
		*ret = (struct journal_author){
			.pid = (uint32_t)sqlite3_column_int64(q, 0),
			.start = (uint64_t)sqlite3_column_int64(q, 1),
			.uid = (uint32_t)sqlite3_column_int64(q, 2),
			.comm = store_column_text(q, 3, a),
			.cmdline = store_column_text(q, 4, a),
			.exe = store_column_text(q, 5, a),
			.session_root = sqlite3_column_int(q, 7) != 0,
		};
		*ret_parent = sqlite3_column_int64(q, 6);
		if (sqlite3_column_int64(q, 7) != ret->session_root)
			rc = -EBADMSG;
	}
	(void)sqlite3_reset(q);
	if (rc == 0)
		return -EBADMSG;
	return rc < 0 ? rc : 0;
}

int store_author_get(struct store *s, int64_t id, struct arena *a,
		     const struct journal_author **ret)
{
	struct journal_author *first = NULL, *one;
	struct journal_author **at = &first;
	int rc;

	for (unsigned depth = 0; id != 0; depth++) {
		if (depth == STORE_ANCESTORS_MAX)
			return -EBADMSG;
		one = arena_take(a, sizeof(*one));
		rc = get_one(s, id, a, one, &id);
		if (rc < 0)
			return rc;
		*at = one;
		at = &one->parent;
	}
	*ret = first;
	return 0;
}
