/* What the archive keeps of each request: written once, read by EXPLAIN. */
#include <errno.h>
#include <pthread.h>

#include "graph/base/cleanup.h"
#include "manager/decide/archive.h"
#include "manager/decide/archive_i.h"

/* Old rows go now and then, many at a time. */
#define PRUNE_EVERY 256

static int prune(struct archive *m, int64_t newest)
{
	static const char *const sql[] = {
		"DELETE FROM decision WHERE request<=?",
		"DELETE FROM request WHERE id<=?",
	};
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < 2; i++) {
		CLEANUP(archive_finalize_p)
		sqlite3_stmt *s = archive_prepare(m, sql[i]);

		if (s)
			archive_bind_count(
				s, 1, (uint64_t)(newest - ARCHIVE_REQUESTS));
		rc = archive_step(s);
	}
	return rc;
}

static int save_decision(struct archive *m, int64_t request, uint32_t number,
			 const struct decided *d)
{
	sqlite3_stmt *s = archive_statement(m, STATEMENT_DECISION,
					    "INSERT INTO decision"
					    " VALUES(?,?,?,?,?,?,?,?,?,?,?,?)");

	if (!s)
		return -EIO;
	archive_bind_count(s, 1, (uint64_t)request);
	archive_bind_count(s, 2, number);
	archive_bind_text(s, 3, d->key);
	archive_bind_text(s, 4, d->what);
	archive_bind_text(s, 5, d->action);
	archive_bind_count(s, 6, d->place);
	archive_bind_text(s, 7, d->form);
	archive_bind_text(s, 8, d->why);
	archive_bind_count(s, 9, d->entry);
	archive_bind_count(s, 10, d->before);
	archive_bind_count(s, 11, d->after);
	archive_bind_blob(s, 12, d->text, d->len);
	return archive_step_kept(s);
}

/* The columns of `request` that are plain numbers, in their order. */
#define COUNTS 12
static void list_counts(const struct archive_request *r, uint64_t *ret)
{
	const uint64_t all[COUNTS] = {
		r->received,  r->sent,	    r->held,	 r->stale,
		r->refreshed, r->dropped,   r->rerun,	 r->notes,
		r->evicted,   r->retrieved, r->notified, r->replaced
	};

	for (int i = 0; i < COUNTS; i++)
		ret[i] = all[i];
}

static int save_row(struct archive *m, const struct conversation *c,
		    struct archive_request *r)
{
	sqlite3_stmt *s = archive_statement(
		m, STATEMENT_REQUEST,
		"INSERT INTO request VALUES(NULL,?,?,?,?,?,?,?,?,?,?,?,?,?,"
		"?,?,?,?,?,?,?,?,?,?,?,?)");
	uint64_t counts[COUNTS];
	int rc;

	if (!s)
		return -EIO;
	list_counts(r, counts);
	archive_bind_text(s, 1, c->key);
	archive_bind_count(s, 2, (uint64_t)r->at_ns);
	archive_bind_count(s, 3, r->request);
	archive_bind_text(s, 4, r->outcome);
	archive_bind_text(s, 5, r->epoch);
	for (int i = 0; i < COUNTS; i++)
		archive_bind_count(s, 6 + i, counts[i]);
	(void)sqlite3_bind_double(s, 6 + COUNTS, r->cost_with);
	(void)sqlite3_bind_double(s, 7 + COUNTS, r->cost_without);
	archive_bind_count(s, 8 + COUNTS, r->rewritten);
	archive_bind_count(s, 9 + COUNTS, r->latency_us);
	archive_bind_count(s, 10 + COUNTS, r->notes_sent);
	archive_bind_count(s, 11 + COUNTS, r->replacements_sent);
	archive_bind_text(s, 12 + COUNTS, r->withheld);
	archive_bind_text(s, 13 + COUNTS, m->run ? m->run : "");
	rc = archive_step_kept(s);
	if (rc == 0)
		r->id = sqlite3_last_insert_rowid(m->db);
	return rc;
}

int archive_save_request_locked(struct archive *m, const struct conversation *c,
				struct archive_request *r)
{
	const struct decided_list *l = r->decided;
	int rc = save_row(m, c, r);

	for (uint32_t i = 0; rc == 0 && l && i < l->at.count; i++)
		rc = save_decision(m, r->id, i, &l->at.at[i]);
	if (rc == 0 && r->id % PRUNE_EVERY == 0)
		rc = prune(m, r->id);
	return rc;
}

void archive_withheld(struct archive *m, struct archive_request *r,
		      const char *why)
{
	r->withheld = why;
	if (!r->id)
		return;
	(void)pthread_mutex_lock(&m->lock);
	{
		CLEANUP(archive_finalize_p)
		sqlite3_stmt *s = archive_prepare(
			m, "UPDATE request SET withheld=?2 WHERE id=?1");

		if (s) {
			archive_bind_count(s, 1, (uint64_t)r->id);
			archive_bind_text(s, 2, why);
		}
		(void)archive_step(s);
	}
	(void)pthread_mutex_unlock(&m->lock);
}

/* -- Reading. */

#define COLUMNS                                                                \
	"id, at_ns, n, outcome, epoch, received, sent, held, stale,"           \
	" refreshed, dropped, rerun, notes, evicted, retrieved, told, placed," \
	" cost_with, cost_without, rewritten, latency_us, notes_sent,"         \
	" replacements_sent, withheld"

static struct archive_request read_row(sqlite3_stmt *s)
{
	struct archive_request r = {
		.id = sqlite3_column_int64(s, 0),
		.at_ns = sqlite3_column_int64(s, 1),
		.request = (uint32_t)archive_column_number(s, 2),
		.outcome = archive_column(s, 3),
		.epoch = archive_column(s, 4),
		.received = archive_column_number(s, 5),
		.sent = archive_column_number(s, 6),
		.held = archive_column_number(s, 7),
		.stale = archive_column_number(s, 8),
		.refreshed = archive_column_number(s, 9),
		.dropped = archive_column_number(s, 10),
		.rerun = archive_column_number(s, 11),
		.notes = archive_column_number(s, 12),
		.evicted = archive_column_number(s, 13),
		.retrieved = archive_column_number(s, 14),
		.notified = (uint32_t)archive_column_number(s, 15),
		.replaced = (uint32_t)archive_column_number(s, 16),
		.cost_with = sqlite3_column_double(s, 17),
		.cost_without = sqlite3_column_double(s, 18),
		.rewritten = archive_column_number(s, 19),
		.latency_us = archive_column_number(s, 20),
		.notes_sent = (uint32_t)archive_column_number(s, 21),
		.replacements_sent = (uint32_t)archive_column_number(s, 22),
	};

	if (*archive_column(s, 23))
		r.withheld = archive_column(s, 23);
	return r;
}

static int read_decisions(struct archive *m, int64_t request,
			  struct decided_list *ret)
{
	CLEANUP(archive_finalize_p)
	sqlite3_stmt *s = archive_prepare(
		m, "SELECT key, what, action, place, form, why, entry, before,"
		   " after, text FROM decision WHERE request=?"
		   " ORDER BY number");

	if (!s)
		return -EIO;
	archive_bind_count(s, 1, (uint64_t)request);
	while (sqlite3_step(s) == SQLITE_ROW) {
		struct decided d = {
			.key = archive_column(s, 0),
			.what = archive_column(s, 1),
			.action = archive_column(s, 2),
			.form = archive_column(s, 4),
			.why = archive_column(s, 5),
			.entry = archive_column_number(s, 6),
			.before = archive_column_number(s, 7),
			.after = archive_column_number(s, 8),
		};
		uint64_t place = archive_column_number(s, 3);
		const char *text = sqlite3_column_blob(s, 9);

		if (place < DECIDED_PLACES)
			d.place = (enum decided_place)place;
		decided_add(ret, &d, text ? text : "",
			    (size_t)sqlite3_column_bytes(s, 9));
	}
	return 0;
}

static int explain_locked(struct archive *m, const char *key, uint32_t n,
			  archive_explained *visit, void *ctx)
{
	CLEANUP(archive_finalize_p)
	sqlite3_stmt *s = archive_prepare(
		m, "SELECT " COLUMNS " FROM request WHERE conversation=?"
		   " AND n=? ORDER BY id DESC LIMIT 1");
	CLEANUP(decided_release) struct decided_list decided = { 0 };
	struct archive_request r;
	int rc;

	if (!s)
		return -EIO;
	archive_bind_text(s, 1, key);
	archive_bind_count(s, 2, n);
	if (sqlite3_step(s) != SQLITE_ROW)
		return -ENOENT;
	r = read_row(s);
	rc = read_decisions(m, r.id, &decided);
	r.decided = &decided;
	if (rc == 0)
		visit(ctx, &r);
	return rc;
}

int archive_explain(struct archive *m, const char *key, uint32_t n,
		    archive_explained *visit, void *ctx)
{
	int rc;

	if (m->version < ARCHIVE_DECISIONS)
		return -ENOTSUP;
	(void)pthread_mutex_lock(&m->lock);
	rc = explain_locked(m, key, n, visit, ctx);
	(void)pthread_mutex_unlock(&m->lock);
	return rc;
}

int archive_requests(struct archive *m, const char *key,
		     archive_explained *visit, void *ctx)
{
	sqlite3_stmt *s;
	int rc;

	if (m->version < ARCHIVE_DECISIONS)
		return -ENOTSUP;
	(void)pthread_mutex_lock(&m->lock);
	s = archive_prepare(m, "SELECT " COLUMNS " FROM request"
			       " WHERE conversation=? ORDER BY id");
	rc = s ? 0 : -EIO;
	if (s)
		archive_bind_text(s, 1, key);
	while (s && sqlite3_step(s) == SQLITE_ROW) {
		struct archive_request r = read_row(s);

		visit(ctx, &r);
	}
	(void)sqlite3_finalize(s);
	(void)pthread_mutex_unlock(&m->lock);
	return rc;
}
