/*
 * Entries and indices refer to paths and symbols by row id, which keeps them
 * small. A symbol is stored as the part after its last dot and the scope before
 * it, indexed in this order, so "all symbols that end in .load" is one lookup.
 * A name without a scope has the empty one; a leading dot is part of the name,
 * because there is no scope before it.
 */
#include "tape/store/store_i.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

/* The first column of the only row. -ENOENT: no row. */
static int one_number(struct store *s, sqlite3_stmt *q, int64_t *ret)
{
	int rc = store_step(s, q);

	if (rc > 0)
		*ret = sqlite3_column_int64(q, 0);
	(void)sqlite3_reset(q);
	if (rc == 0)
		return -ENOENT;
	return rc < 0 ? rc : 0;
}

int store_path_find(struct store *s, const char *path, int64_t *ret)
{
	int rc = 0;
	sqlite3_stmt *q = store_sql(s, SQL_PATH_FIND, &rc);

	if (!q)
		return rc;
	store_bind_text(q, 1, path);
	return one_number(s, q, ret);
}

int store_path_put(struct store *s, const char *path, int64_t *ret)
{
	sqlite3_stmt *q;
	int rc = store_path_find(s, path, ret);

	if (rc != -ENOENT)
		return rc;
	q = store_sql(s, SQL_PATH_ADD, &rc);
	if (!q)
		return rc;
	store_bind_text(q, 1, path);
	rc = store_run(s, q);
	if (rc == 0)
		*ret = sqlite3_last_insert_rowid(s->db);
	return rc;
}

int store_path_used(struct store *s, int64_t id, bool *ret)
{
	int64_t used = 0;
	int rc = 0;
	sqlite3_stmt *q = store_sql(s, SQL_PATH_USED, &rc);

	if (!q)
		return rc;
	(void)sqlite3_bind_int64(q, 1, id);
	rc = one_number(s, q, &used);
	if (rc == 0)
		*ret = used != 0;
	return rc;
}

int store_path_set_base(struct store *s, int64_t id, const XXH128_hash_t *base)
{
	int rc = 0;
	sqlite3_stmt *q = store_sql(s, SQL_PATH_SET_BASE, &rc);

	if (!q)
		return rc;
	(void)sqlite3_bind_int64(q, 1, id);
	if (base)
		store_bind_hash(q, 2, *base);
	else
		(void)sqlite3_bind_null(q, 2);
	return store_run(s, q);
}

size_t store_symbol_split(const char *name, size_t *ret_scope)
{
	const char *dot = strrchr(name, '.');

	if (!dot || dot == name) {
		*ret_scope = 0;
		return 0;
	}
	*ret_scope = (size_t)(dot - name);
	return *ret_scope + 1;
}

static void bind_symbol(sqlite3_stmt *q, const char *name)
{
	size_t scope;
	size_t last = store_symbol_split(name, &scope);

	assert(scope <= INT_MAX);
	store_bind_text(q, 1, name + last);
	(void)sqlite3_bind_text(q, 2, name, (int)scope, SQLITE_STATIC);
}

int store_symbol_find(struct store *s, const char *name, int64_t *ret)
{
	int rc = 0;
	sqlite3_stmt *q = store_sql(s, SQL_SYMBOL_FIND, &rc);

	if (!q)
		return rc;
	bind_symbol(q, name);
	return one_number(s, q, ret);
}

/* 1: the symbol exists already. */
static int symbol_add(struct store *s, const char *name, int64_t *ret)
{
	int rc = 0;
	sqlite3_stmt *q = store_sql(s, SQL_SYMBOL_ADD, &rc);

	if (!q)
		return rc;
	bind_symbol(q, name);
	rc = store_run(s, q);
	if (rc < 0)
		return rc;
	if (sqlite3_changes(s->db) == 0)
		return 1;
	*ret = sqlite3_last_insert_rowid(s->db);
	return 0;
}

int store_symbol_put(struct store *s, const char *name, bool likely_new,
		     int64_t *ret)
{
	int rc = likely_new ? symbol_add(s, name, ret)
			    : store_symbol_find(s, name, ret);

	if (rc == -ENOENT)
		return symbol_add(s, name, ret);
	return rc > 0 ? store_symbol_find(s, name, ret) : rc;
}

const char *store_symbol_join(struct arena *a, const char *scope,
			      const char *name)
{
	size_t scope_len = strlen(scope), len = strlen(name);
	size_t at = scope_len ? scope_len + 1 : 0;
	char *text = arena_take(a, at + len + 1);

	memcpy(text, scope, scope_len + 1);
	if (at)
		text[scope_len] = '.';
	memcpy(text + at, name, len + 1);
	return text;
}

int store_symbol_get(struct store *s, int64_t id, struct arena *a,
		     const char **ret)
{
	int rc = 0;
	sqlite3_stmt *q = store_sql(s, SQL_SYMBOL_GET, &rc);
	const char *scope, *name;

	if (!q)
		return rc;
	(void)sqlite3_bind_int64(q, 1, id);
	rc = store_step(s, q);
	if (rc > 0) {
		scope = (const char *)sqlite3_column_text(q, 0);
		name = (const char *)sqlite3_column_text(q, 1);
		*ret = store_symbol_join(a, scope ? scope : "",
					 name ? name : "");
	}
	(void)sqlite3_reset(q);
	if (rc == 0)
		return -EBADMSG;
	return rc < 0 ? rc : 0;
}
