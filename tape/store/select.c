/*
 * Selecting entries by a filter. Where a condition matches few paths, symbols
 * or processes, their entries are gathered from the indices, intersected and
 * sorted. Where it matches many (`*.py`), it is tested while walking down from
 * the newest entry: then a match is never far.
 */
#include "tape/store/store_i.h"

#include <assert.h>
#include <errno.h>
#include <fnmatch.h>
#include <string.h>

#include "graph/base/cleanup.h"
#include "graph/base/path.h"

/*
 * More matches than this count as many, because gathering reads all entries of
 * each.
 */
#define SELECT_FEW 256

/* Row ids or entry numbers, sorted. */
struct select_numbers {
	int64_t *at;
	uint32_t count, size;
};

/* The rows that one condition of the filter matches. */
struct select_wanted {
	bool is_asked;	/* false: no condition */
	bool is_more;	/* it also matches entries without a row id */
	bool is_walked; /* the indices are not to be trusted: salvaging */
	struct select_numbers ids;
};

struct selection {
	struct store *s;
	const struct store_filter *f;
	struct select_wanted paths, authors, symbols;
	struct select_numbers merged; /* entries with such an author among
					 several */
	unsigned origins; /* bit set of enum entry_origin, for entries without
			     an author */
	/*
	 * Entries that match all conditions with few rows; if not set, all
	 * entries.
	 */
	bool is_gathered;
	struct select_numbers gathered;
};

static void wanted_add(struct select_wanted *w, int64_t id)
{
	array_push(&w->ids, id);
}

static void selection_release(struct selection *x)
{
	array_release(&x->paths.ids);
	array_release(&x->authors.ids);
	array_release(&x->symbols.ids);
	array_release(&x->merged);
	array_release(&x->gathered);
}

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static void sort(struct select_numbers *n)
{
	uint32_t kept = 0;

	if (n->count == 0)
		return;
	qsort(n->at, n->count, sizeof(*n->at), compare);
	for (uint32_t i = 1; i < n->count; i++)
		if (n->at[i] != n->at[kept])
			n->at[++kept] = n->at[i];
	assert(kept < n->count);
	n->count = kept + 1;
}

static bool has(const struct select_numbers *n, int64_t id)
{
	return n->count &&
	       bsearch(&id, n->at, n->count, sizeof(*n->at), compare) != NULL;
}

static bool is_few(const struct select_wanted *w)
{
	return !w->is_walked && !w->is_more && w->is_asked &&
	       w->ids.count <= SELECT_FEW;
}

/* -- The rows that the filter matches. */

static const char *column(sqlite3_stmt *q, int at)
{
	const char *text = (const char *)sqlite3_column_text(q, at);

	return text ? text : "";
}

static int want_paths(struct selection *x)
{
	CLEANUP(store_finalize_p) sqlite3_stmt *q = NULL;
	const char *glob = x->f->path;
	int rc = store_prepare(x->s, "SELECT id, path FROM path", &q);

	x->paths.is_asked = true;
	while (rc == 0) {
		rc = store_step(x->s, q);
		if (rc <= 0)
			return rc;
		if (path_matches(glob, column(q, 1)))
			wanted_add(&x->paths, sqlite3_column_int64(q, 0));
		rc = 0;
	}
	return rc;
}

/* Is `name` equal to `end`, or does it end in "." and `end`? */
static bool ends_in(const char *name, const char *end)
{
	size_t len = strlen(name), end_len = strlen(end);

	if (len < end_len || strcmp(name + len - end_len, end) != 0)
		return false;
	return len == end_len || name[len - end_len - 1] == '.';
}

static int want_symbols(struct selection *x)
{
	CLEANUP(store_finalize_p) sqlite3_stmt *q = NULL;
	CLEANUP(arena_release) struct arena a = { 0 };
	const char *end = x->f->symbol, *name;
	size_t scope;
	int rc = store_prepare(
		x->s, "SELECT id, scope, name FROM symbol WHERE name = ?1", &q);

	x->symbols.is_asked = true;
	if (rc == 0)
		store_bind_text(q, 1, end + store_symbol_split(end, &scope));
	while (rc == 0) {
		rc = store_step(x->s, q);
		if (rc <= 0)
			return rc;
		name = store_symbol_join(&a, column(q, 1), column(q, 2));
		if (ends_in(name, end))
			wanted_add(&x->symbols, sqlite3_column_int64(q, 0));
		rc = 0;
	}
	return rc;
}

/*
 * UNION, not UNION ALL, so that the recursion ends even if the rows form a
 * cycle.
 */
static const char descendants[] =
	"WITH RECURSIVE below (id) AS (SELECT id FROM author WHERE pid = ?1"
	" UNION SELECT a.id FROM author a JOIN below b ON a.parent = b.id)"
	" SELECT a.id, p.comm, a.cmdline FROM author a JOIN below b"
	" ON a.id = b.id JOIN program p ON p.id = a.program";
static const char authors[] = "SELECT a.id, p.comm, a.cmdline FROM author a"
			      " JOIN program p ON p.id = a.program";

static bool author_fits(const char *glob, sqlite3_stmt *q)
{
	return !glob || fnmatch(glob, column(q, 1), 0) == 0 ||
	       fnmatch(glob, column(q, 2), 0) == 0;
}

/* Entries without an author match by the name of their origin. */
static void want_origins(struct selection *x)
{
	for (int o = ENTRY_OUTSIDE; o <= ENTRY_RECOVERED; o++)
		if (fnmatch(x->f->author, entry_origin_name(o), 0) == 0)
			x->origins |= 1u << o;
	x->authors.is_more = x->origins != 0;
}

static int want_authors(struct selection *x)
{
	CLEANUP(store_finalize_p) sqlite3_stmt *q = NULL;
	int rc = store_prepare(x->s, x->f->pid ? descendants : authors, &q);

	x->authors.is_asked = true;
	if (x->f->author && !x->f->pid)
		want_origins(x);
	if (rc == 0 && x->f->pid)
		(void)sqlite3_bind_int64(q, 1, x->f->pid);
	while (rc == 0) {
		rc = store_step(x->s, q);
		if (rc <= 0)
			return rc;
		if (author_fits(x->f->author, q))
			wanted_add(&x->authors, sqlite3_column_int64(q, 0));
		rc = 0;
	}
	return rc;
}

/* Merged entries are rare: all rows are read. */
static int want_merged(struct selection *x)
{
	CLEANUP(store_finalize_p) sqlite3_stmt *q = NULL;
	int64_t id;
	int rc = store_prepare(x->s, "SELECT author, n FROM merged", &q);

	while (rc == 0) {
		rc = store_step(x->s, q);
		if (rc <= 0)
			return rc;
		id = sqlite3_column_int64(q, 0);
		if (id ? has(&x->authors.ids, id)
		       : x->origins >> ENTRY_OUTSIDE & 1)
			array_push(&x->merged, sqlite3_column_int64(q, 1));
		rc = 0;
	}
	return rc;
}

static int want(struct selection *x)
{
	int rc = 0;

	if (x->f->path)
		rc = want_paths(x);
	if (rc == 0 && x->f->symbol)
		rc = want_symbols(x);
	if (rc == 0 && (x->f->pid || x->f->author))
		rc = want_authors(x);
	sort(&x->paths.ids);
	sort(&x->symbols.ids);
	sort(&x->authors.ids);
	if (rc == 0 && x->authors.is_asked)
		rc = want_merged(x);
	sort(&x->merged);
	return rc;
}

/* -- Entries from the indices. */

static int gather_one(struct store *s, sqlite3_stmt *q, int64_t id,
		      struct select_numbers *into)
{
	int rc;

	(void)sqlite3_reset(q);
	(void)sqlite3_bind_int64(q, 1, id);
	while ((rc = store_step(s, q)) > 0)
		array_push(into, sqlite3_column_int64(q, 0));
	return rc;
}

/* Intersect x->gathered, if it is set, with `with`, which is consumed. */
static void intersect(struct selection *x, struct select_numbers *with)
{
	uint32_t kept = 0;

	sort(with);
	if (!x->is_gathered) {
		x->is_gathered = true;
		x->gathered = *with;
		*with = (struct select_numbers){ 0 };
		return;
	}
	for (uint32_t i = 0; i < x->gathered.count; i++)
		if (has(with, x->gathered.at[i]))
			x->gathered.at[kept++] = x->gathered.at[i];
	x->gathered.count = kept;
	array_release(with);
}

/* `more`: entries to gather besides; NULL: none. */
static int gather(struct selection *x, const struct select_wanted *w,
		  const char *sql, const struct select_numbers *more)
{
	CLEANUP(store_finalize_p) sqlite3_stmt *q = NULL;
	struct select_numbers found = { 0 };
	int rc;

	if (!is_few(w))
		return 0;
	for (uint32_t i = 0; more && i < more->count; i++)
		array_push(&found, more->at[i]);
	rc = store_prepare(x->s, sql, &q);
	for (uint32_t i = 0; rc == 0 && i < w->ids.count; i++)
		rc = gather_one(x->s, q, w->ids.at[i], &found);
	intersect(x, &found);
	return rc;
}

static int gather_all(struct selection *x)
{
	int rc = gather(x, &x->symbols, "SELECT n FROM touch WHERE symbol = ?1",
			NULL);

	if (rc == 0)
		rc = gather(x, &x->paths,
			    "SELECT n FROM entry WHERE path = ?1 UNION ALL"
			    " SELECT n FROM entry WHERE path2 = ?1",
			    NULL);
	if (rc == 0)
		rc = gather(x, &x->authors,
			    "SELECT n FROM entry WHERE author = ?1",
			    &x->merged);
	return rc;
}

/* -- Walking down. */

/* The origin is in the first byte of the detail: store/pack.c. */
static bool origin_fits(const struct selection *x, sqlite3_stmt *q)
{
	const uint8_t *flags = sqlite3_column_blob(q, 5);

	return sqlite3_column_type(q, 4) == SQLITE_NULL && flags &&
	       x->origins >> (*flags & 3) & 1;
}

/* Columns of `q`: n, at, path, path2, author, first byte of detail. */
static bool row_fits(const struct selection *x, sqlite3_stmt *q)
{
	int64_t at = sqlite3_column_int64(q, 1);

	if (x->f->since_ns && at < x->f->since_ns)
		return false;
	if (x->f->until_ns && at > x->f->until_ns)
		return false;
	if (x->paths.is_asked && !is_few(&x->paths) &&
	    !has(&x->paths.ids, sqlite3_column_int64(q, 2)) &&
	    !has(&x->paths.ids, sqlite3_column_int64(q, 3)))
		return false;
	return !x->authors.is_asked || is_few(&x->authors) ||
	       has(&x->authors.ids, sqlite3_column_int64(q, 4)) ||
	       has(&x->merged, sqlite3_column_int64(q, 0)) || origin_fits(x, q);
}

/*
 * Symbols are in the packed detail, not in a column, so they are tested last.
 */
static bool symbols_fit(const struct selection *x, const struct entry *e)
{
	if (!x->symbols.is_asked || is_few(&x->symbols))
		return true;
	for (size_t i = 0; i < e->symbols_count; i++)
		if (ends_in(e->symbols[i].name, x->f->symbol))
			return true;
	return false;
}

struct select_walk {
	struct selection *x;
	size_t left;
	store_entry_visit *visit;
	void *arg;
};

static int walk_visit(const struct entry *e, void *arg)
{
	struct select_walk *w = arg;

	assert(w->left > 0);
	if (!symbols_fit(w->x, e))
		return 0;
	w->left--;
	return w->visit(e, w->arg);
}

static int walk_row(struct select_walk *w, sqlite3_stmt *q)
{
	int rc;

	if (!row_fits(w->x, q))
		return 0;
	rc = store_entry(w->x->s, (uint64_t)sqlite3_column_int64(q, 0),
			 walk_visit, w);
	return store_skips(w->x->s, rc) ? 0 : rc;
}

static int walk_all(struct select_walk *w, int64_t below)
{
	CLEANUP(store_finalize_p) sqlite3_stmt *q = NULL;
	struct store *s = w->x->s;
	int rc = store_prepare(s,
			       "SELECT n, at, path, path2, author,"
			       " substr(detail, 1, 1) FROM entry"
			       " WHERE n < ?1 ORDER BY n DESC",
			       &q);

	if (rc == 0)
		(void)sqlite3_bind_int64(q, 1, below);
	while (rc == 0 && w->left > 0) {
		rc = store_step(s, q);
		if (rc <= 0)
			return rc;
		rc = walk_row(w, q);
	}
	return rc;
}

static const char by_number[] = "SELECT n, at, path, path2, author,"
				" substr(detail, 1, 1) FROM entry"
				" WHERE n = ?1";

static int walk_one(struct select_walk *w, sqlite3_stmt *q, int64_t n)
{
	struct store *s = w->x->s;
	int rc;

	(void)sqlite3_reset(q);
	(void)sqlite3_bind_int64(q, 1, n);
	rc = store_step(s, q);
	if (rc > 0)
		return walk_row(w, q);
	return store_skips(s, rc) ? 0 : rc;
}

static int walk_gathered(struct select_walk *w, int64_t below)
{
	CLEANUP(store_finalize_p) sqlite3_stmt *q = NULL;
	const struct select_numbers *n = &w->x->gathered;
	int rc = store_prepare(w->x->s, by_number, &q);

	for (uint32_t i = n->count; rc == 0 && i > 0 && w->left > 0; i--)
		if (n->at[i - 1] < below)
			rc = walk_one(w, q, n->at[i - 1]);
	return rc;
}

/* Number by number: a damaged page ends a query that walks over it. */
static int walk_salvaging(struct select_walk *w, int64_t below)
{
	CLEANUP(store_finalize_p) sqlite3_stmt *q = NULL;
	struct store *s = w->x->s;
	int64_t n = (int64_t)store_head(s) + 1;
	int rc = store_prepare(s, by_number, &q);

	for (n = n < below ? n : below;
	     rc == 0 && --n >= (int64_t)store_first(s) && w->left > 0;)
		rc = walk_one(w, q, n);
	return rc;
}

int store_select(struct store *s, const struct store_filter *f, size_t limit,
		 store_entry_visit *visit, void *arg)
{
	CLEANUP(selection_release) struct selection x = { .s = s, .f = f };
	struct select_walk w = { &x, limit, visit, arg };
	int64_t below = INT64_MAX;
	int rc;

	x.paths.is_walked = x.symbols.is_walked = x.authors.is_walked =
		s->salvages;
	rc = want(&x);
	/* Then what was found so far must do. */
	if (rc == -EBADMSG && s->salvages)
		rc = 0;
	if (rc == 0 && !s->salvages)
		rc = gather_all(&x);
	if (rc < 0)
		return rc;
	if (f->before && f->before < INT64_MAX)
		below = (int64_t)f->before;
	if (s->salvages)
		return walk_salvaging(&w, below);
	return x.is_gathered ? walk_gathered(&w, below) : walk_all(&w, below);
}
