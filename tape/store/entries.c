/*
 * Entries as rows: what is selected by has a column, the rest is packed into
 * `detail` (store/pack.c); table `touch` indexes the symbols, table `merged`
 * the authors of merged entries.
 */
#include "tape/store/store_i.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "graph/base/cleanup.h"

_Static_assert((int)HOW_X == ENTRY_X && (int)HOW_DX == ENTRY_DX &&
		       (int)HOW_R == ENTRY_R && (int)HOW_ADDED == ENTRY_ADDED,
	       "a set is its own number in the index");

enum store_how store_how(enum entry_set set, bool removed)
{
	assert(set < ENTRY_SETS);
	if (set == ENTRY_X)
		return removed ? HOW_X_REMOVED : HOW_X;
	return (enum store_how)set;
}

enum entry_set store_how_set(int64_t how)
{
	return how == HOW_X_REMOVED ? ENTRY_X : (enum entry_set)(how & 3);
}

/* -- Writing. */

/* The row ids of an entry's texts. */
struct entry_ids {
	int64_t path, path2, author; /* 0: none */
	ARRAY(struct packed_symbol) symbols;
	ARRAY(uint64_t) authors; /* of a merged entry */
};

static void entry_ids_release(struct entry_ids *ids)
{
	array_release(&ids->symbols);
	array_release(&ids->authors);
}

static int number_symbols(struct store *s, const struct entry *e,
			  struct entry_ids *ids)
{
	int64_t id = 0;
	int rc = 0;

	array_reserve(&ids->symbols, e->symbols_count);
	for (size_t i = 0; rc == 0 && i < e->symbols_count; i++) {
		const struct entry_symbol *from = &e->symbols[i];
		struct packed_symbol *to = array_add(&ids->symbols);

		rc = store_symbol_put(s, from->name, from->set == ENTRY_ADDED,
				      &id);
		to->id = (uint64_t)id;
		to->kind = from->kind;
		to->set = from->set;
		to->removed = from->removed;
	}
	assert(rc < 0 || ids->symbols.count == e->symbols_count);
	return rc;
}

static int number_authors(struct store *s, const struct entry *e,
			  struct entry_ids *ids)
{
	int rc = store_author_put(s, e->author, &ids->author);

	for (size_t i = 0; rc == 0 && i < e->authors_count; i++) {
		int64_t id = 0;

		rc = store_author_put(s, e->authors[i], &id);
		array_push(&ids->authors, (uint64_t)id);
	}
	return rc;
}

static int number_all(struct store *s, const struct entry *e,
		      struct entry_ids *ids)
{
	int rc = 0;

	if (e->path)
		rc = store_path_put(s, e->path, &ids->path);
	if (rc == 0 && e->path2)
		rc = store_path_put(s, e->path2, &ids->path2);
	if (rc == 0)
		rc = number_authors(s, e, ids);
	if (rc == 0)
		rc = number_symbols(s, e, ids);
	return rc;
}

/*
 * Is the content after the entry kept? One with the same hash may be another
 * content. If the caller did not read it, its SHA-256 is that of the one kept.
 */
static bool find_kept(struct store *s, struct entry *e)
{
	uint8_t sha[ENTRY_SHA_SIZE];

	if (!e->has || !store_has_content(s, e->after))
		return false;
	if (store_content_sha(s, e->after, sha) < 0)
		return !e->has_sha;
	if (!e->has_sha)
		memcpy(e->after_sha, sha, sizeof(sha));
	e->has_sha = true;
	return memcmp(e->after_sha, sha, sizeof(sha)) == 0;
}

/* The first entry of a path says what the path held before. */
static int keep_base(struct store *s, struct entry *e, int64_t path)
{
	bool used = false;
	int rc = path ? store_path_used(s, path, &used) : 0;

	if (rc < 0 || used || !path || e->kind == ENTRY_GAP)
		return rc;
	e->had_sha =
		e->had && store_content_sha(s, e->before, e->before_sha) == 0;
	return store_path_set_base(s, path, e->had ? &e->before : NULL);
}

static int pack_detail(struct store *s, const struct entry *e, bool kept,
		       const struct entry_ids *ids)
{
	struct packed p = {
		.origin = e->origin,
		.syntax = e->syntax,
		.had = e->had,
		.has = e->has,
		.marker = e->marker,
		.kept = kept,
		.bytes = e->bytes,
		.mode_before = e->mode_before,
		.mode_after = e->mode_after,
		.plus = e->plus,
		.minus = e->minus,
		.journal_first = e->journal_first,
		.journal_last = e->journal_last,
		.ranges = e->ranges,
		.ranges_count = e->ranges_count,
		.symbols = ids->symbols.at,
		.symbols_count = ids->symbols.count,
		.had_sha = e->had_sha,
		.has_sha = e->has_sha,
		.authors = ids->authors.at,
		.authors_count = ids->authors.count,
	};

	memcpy(p.before_sha, e->before_sha, sizeof(p.before_sha));
	memcpy(p.after_sha, e->after_sha, sizeof(p.after_sha));
	s->bytes.len = 0;
	return store_pack(&p, &s->bytes);
}

static void bind_number(sqlite3_stmt *q, int at, int64_t id)
{
	if (id)
		(void)sqlite3_bind_int64(q, at, id);
	else
		(void)sqlite3_bind_null(q, at);
}

static int add_row(struct store *s, const struct entry *e, bool kept,
		   const struct entry_ids *ids)
{
	int rc = pack_detail(s, e, kept, ids);
	sqlite3_stmt *q;

	if (rc < 0)
		return rc;
	q = store_sql(s, SQL_ENTRY_ADD, &rc);
	if (!q)
		return rc;
	(void)sqlite3_clear_bindings(q);
	(void)sqlite3_bind_int64(q, 1, (int64_t)e->n);
	(void)sqlite3_bind_int64(q, 2, e->at_ns);
	(void)sqlite3_bind_int(q, 3, (int)e->kind);
	bind_number(q, 4, ids->path);
	bind_number(q, 5, ids->path2);
	bind_number(q, 6, ids->author);
	if (e->had)
		store_bind_hash(q, 7, e->before);
	if (e->has)
		store_bind_hash(q, 8, e->after);
	(void)sqlite3_bind_blob(q, 9, e->chain, ENTRY_CHAIN_SIZE,
				SQLITE_STATIC);
	(void)sqlite3_bind_blob64(q, 10, s->bytes.data, s->bytes.len,
				  SQLITE_STATIC);
	return store_run(s, q);
}

static int add_touches(struct store *s, uint64_t n, const struct entry_ids *ids)
{
	sqlite3_stmt *q;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < ids->symbols.count; i++) {
		const struct packed_symbol *p = &ids->symbols.at[i];

		q = store_sql(s, SQL_TOUCH_ADD, &rc);
		if (!q)
			return rc;
		(void)sqlite3_bind_int64(q, 1, (int64_t)p->id);
		(void)sqlite3_bind_int(q, 2, store_how(p->set, p->removed));
		(void)sqlite3_bind_int64(q, 3, (int64_t)n);
		rc = store_run(s, q);
	}
	return rc;
}

static int add_merged(struct store *s, uint64_t n, const struct entry_ids *ids)
{
	sqlite3_stmt *q;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < ids->authors.count; i++) {
		q = store_sql(s, SQL_MERGED_ADD, &rc);
		if (!q)
			return rc;
		(void)sqlite3_bind_int64(q, 1, (int64_t)ids->authors.at[i]);
		(void)sqlite3_bind_int64(q, 2, (int64_t)n);
		rc = store_run(s, q);
	}
	return rc;
}

static int append(struct store *s, struct entry *e)
{
	CLEANUP(entry_ids_release) struct entry_ids ids = { 0 };
	struct entry whole = *e;
	int rc = number_all(s, e, &ids);

	bool kept;

	assert(s->is_open && s->writes);
	kept = find_kept(s, &whole);
	if (rc == 0)
		rc = keep_base(s, &whole, ids.path);
	if (rc < 0)
		return rc;
	whole.n = s->self.n + 1;
	store_chain(s->self.chain, &whole, kept, whole.chain);
	rc = add_row(s, &whole, kept, &ids);
	if (rc == 0)
		rc = add_touches(s, whole.n, &ids);
	if (rc == 0)
		rc = add_merged(s, whole.n, &ids);
	if (rc < 0)
		return rc;
	s->self.n = whole.n;
	memcpy(s->self.chain, whole.chain, ENTRY_CHAIN_SIZE);
	*e = whole;
	return 0;
}

/* False for entries that could not be read back unchanged. */
static bool is_sound(const struct entry *e)
{
	if (e->kind >= ENTRY_KINDS || e->origin > ENTRY_RECOVERED ||
	    e->syntax > ENTRY_VAST || (!e->path && e->kind != ENTRY_GAP))
		return false;
	for (size_t i = 0; i < e->symbols_count; i++)
		if (e->symbols[i].set >= ENTRY_SETS)
			return false;
	return true;
}

int store_append(struct store *s, struct entry *e)
{
	int rc = store_may_write(s);

	if (rc < 0)
		return rc;
	return store_note(s, is_sound(e) ? append(s, e) : -EINVAL);
}

/* -- Reading. */

/* The columns of the current row of `q` that need no other table. */
static int read_columns(sqlite3_stmt *q, struct arena *a, struct entry *e,
			struct packed *p)
{
	int64_t kind = sqlite3_column_int64(q, 1);
	int rc = store_unpack(sqlite3_column_blob(q, 8),
			      (size_t)sqlite3_column_bytes(q, 8), a, p);

	if (rc < 0)
		return rc;
	if (kind < 0 || kind >= ENTRY_KINDS)
		return -EBADMSG;
	e->at_ns = sqlite3_column_int64(q, 0);
	e->kind = (enum entry_kind)kind;
	/* The row refers to a path that is missing. */
	if ((sqlite3_column_type(q, 2) == SQLITE_NULL) !=
		    (sqlite3_column_type(q, 9) == SQLITE_NULL) ||
	    (sqlite3_column_type(q, 3) == SQLITE_NULL) !=
		    (sqlite3_column_type(q, 10) == SQLITE_NULL))
		return -EBADMSG;
	if (sqlite3_column_type(q, 9) != SQLITE_NULL)
		e->path = store_column_text(q, 2, a);
	else if (e->kind != ENTRY_GAP)
		return -EBADMSG;
	if (sqlite3_column_type(q, 10) != SQLITE_NULL)
		e->path2 = store_column_text(q, 3, a);
	e->had = store_column_hash(q, 5, &e->before);
	e->has = store_column_hash(q, 6, &e->after);
	if (e->had != p->had || e->has != p->has)
		return -EBADMSG;
	return store_column_chain(q, 7, e->chain) ? 0 : -EBADMSG;
}

static int read_symbols(struct store *s, const struct packed *p,
			struct arena *a, struct entry *e)
{
	struct entry_symbol *symbols =
		arena_take(a, p->symbols_count * sizeof(*symbols));
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < p->symbols_count; i++) {
		const struct packed_symbol *from = &p->symbols[i];

		symbols[i] = (struct entry_symbol){
			.kind = from->kind,
			.set = from->set,
			.removed = from->removed,
		};
		rc = store_symbol_get(s, (int64_t)from->id, a,
				      &symbols[i].name);
	}
	e->symbols = symbols;
	e->symbols_count = p->symbols_count;
	return rc;
}

static int read_authors(struct store *s, const struct packed *p,
			struct arena *a, struct entry *e)
{
	const size_t size = p->authors_count * sizeof(*e->authors);
	const struct journal_author **authors = arena_take(a, size);
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < p->authors_count; i++)
		rc = store_author_get(s, (int64_t)p->authors[i], a,
				      &authors[i]);
	e->authors = authors;
	e->authors_count = p->authors_count;
	return rc;
}

static void take_packed(const struct packed *p, struct entry *e)
{
	e->origin = p->origin;
	e->syntax = p->syntax;
	e->marker = p->marker;
	e->bytes = p->bytes;
	e->mode_before = p->mode_before;
	e->mode_after = p->mode_after;
	e->plus = p->plus;
	e->minus = p->minus;
	e->journal_first = p->journal_first;
	e->journal_last = p->journal_last;
	e->ranges = p->ranges;
	e->ranges_count = p->ranges_count;
	e->had_sha = p->had_sha;
	e->has_sha = p->has_sha;
	memcpy(e->before_sha, p->before_sha, sizeof(e->before_sha));
	memcpy(e->after_sha, p->after_sha, sizeof(e->after_sha));
}

int store_load(struct store *s, uint64_t n, struct arena *a, struct entry *ret,
	       struct packed *ret_packed)
{
	struct entry e = { .n = n };
	struct packed p = { 0 };
	int64_t author = 0;
	int rc = 0;
	sqlite3_stmt *q = store_sql(s, SQL_ENTRY_GET, &rc);

	if (!q)
		return rc;
	(void)sqlite3_bind_int64(q, 1, (int64_t)n);
	rc = store_step(s, q);
	if (rc == 0)
		rc = -ENOENT;
	if (rc > 0) {
		author = sqlite3_column_int64(q, 4);
		rc = read_columns(q, a, &e, &p);
	}
	(void)sqlite3_reset(q);
	if (rc < 0)
		return rc;
	take_packed(&p, &e);
	rc = store_author_get(s, author, a, &e.author);
	if (rc == 0)
		rc = read_authors(s, &p, a, &e);
	if (rc == 0)
		rc = read_symbols(s, &p, a, &e);
	if (rc < 0)
		return rc;
	*ret = e;
	if (ret_packed)
		*ret_packed = p;
	return 0;
}

int store_entry(struct store *s, uint64_t n, store_entry_visit *visit,
		void *arg)
{
	CLEANUP(arena_release) struct arena a = { 0 };
	struct entry e;
	int rc;

	if (n == 0 || n > INT64_MAX)
		return -ENOENT;
	rc = store_load(s, n, &a, &e, NULL);
	return rc < 0 ? rc : visit(&e, arg);
}

static int compare_sha(const struct entry *e, void *arg)
{
	const uint8_t *sha = arg;

	return !e->has_sha || memcmp(e->after_sha, sha, ENTRY_SHA_SIZE) == 0
		       ? 0
		       : -EBADMSG;
}

int store_prove(struct store *s, uint64_t n, const char *text, size_t len)
{
	uint8_t sha[ENTRY_SHA_SIZE];

	if (n == 0)
		return 0;
	store_sha(text, len, sha);
	return store_entry(s, n, compare_sha, sha);
}

int store_since(struct store *s, uint64_t n, size_t limit,
		store_entry_visit *visit, void *arg)
{
	uint64_t head = store_head(s);
	uint64_t first = store_first(s);
	int rc = 0;

	if (n < head && n + 1 < first)
		n = first - 1;
	for (; rc == 0 && n < head && limit > 0; limit--) {
		rc = store_entry(s, ++n, visit, arg);
		if (store_skips(s, rc) || (s->salvages && rc == -ENOENT))
			rc = 0;
	}
	return rc;
}
