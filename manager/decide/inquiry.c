#include "manager/decide/inquiry.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/clock.h"
#include "manager/decide/brain_i.h"
#include "manager/decide/evidence.h"
#include "manager/decide/own.h"
#include "tape/wire/protocol.h"
#include "tape/wire/subscribe.h"

/* What the tape may take for the held files, and then for all others. */
#define SYNC_HELD_MS 250
#define SYNC_ALL_MS  50
/* A tape that has not read its journal up to the question is asked again. */
#define SYNC_TRIES 4

/* -- The time. */

/* Entries published so far: a tape that is busy goes on publishing. */
static uint64_t heard(const struct brain *b)
{
	struct subscribe_stats st = { 0 };

	if (b->subscribe)
		subscribe_stat(b->subscribe, &st);
	return st.entries;
}

int inquiry_patience_ms(struct brain *b)
{
	uint64_t hung = atomic_load(&b->hung);

	return hung && hung == heard(b) + 1 ? INQUIRY_RULE_MS : INQUIRY_MOST_MS;
}

/* What was needed to read the body counts, up to half of the time. */
static void begin_time(struct inquiry *q, int64_t asked_ns)
{
	int64_t patience_ns = inquiry_patience_ms(q->b) * NS_PER_MS;
	int64_t begun_ns = asked_ns - patience_ns / 2;

	if (q->begun_ns > begun_ns)
		begun_ns = q->begun_ns;
	q->client->deadline_ns =
		q->r->deadline_ns ? q->r->deadline_ns : begun_ns + patience_ns;
}

/* The tape is where it should be: what follows has the time of the rule. */
static void end_patience(struct inquiry *q, int64_t asked_ns,
			 const struct client_head *head)
{
	bool behind = head->pending || head->open;

	if (!q->r->deadline_ns && q->c->nominated && !q->c->undecided &&
	    !behind)
		q->e->rule_ns = asked_ns + INQUIRY_RULE_MS * NS_PER_MS;
}

/* -- The barrier. */

/* Files that records depend on, without repetition. */
struct held_paths {
	struct conversation *c;
	const struct roots *roots;
	ARRAY(uint32_t) numbers; /* of names */
	ARRAY(const char *) names;
};

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void add_fresh(struct held_paths *p, const struct record *r)
{
	char path[PATH_MAX];

	for (uint32_t i = 0; i < r->files_count; i++)
		if (evidence_path(p->roots, r->dir, r->files[i].path, path,
				  sizeof(path)))
			array_push(&p->numbers,
				   intern_add(p->c->names, path, strlen(path)));
}

static void add_held(struct held_paths *p, const struct held *h)
{
	for (uint32_t i = 0; i < h->referents.count; i++)
		array_push(&p->numbers, h->referents.at[i].path);
	array_append(&p->numbers, h->opened.at, h->opened.count);
	array_append(&p->numbers, h->missed.at, h->missed.count);
}

static void add_names(struct held_paths *p)
{
	uint32_t last = 0;

	if (p->numbers.count)
		qsort(p->numbers.at, p->numbers.count, sizeof(*p->numbers.at),
		      by_number);
	for (uint32_t i = 0; i < p->numbers.count; i++) {
		const char *name = conversation_name(p->c, p->numbers.at[i]);

		if ((i == 0 || p->numbers.at[i] != last) && *name)
			array_push(&p->names, name);
		last = p->numbers.at[i];
	}
}

static int sync_held(struct inquiry *q, const struct client_paths *paths,
		     struct client_head *ret)
{
	int rc = 0;

	for (int i = 0; i < SYNC_TRIES; i++) {
		rc = client_sync(q->client, paths, SYNC_HELD_MS,
				 INQUIRY_MOST_MS, ret);
		if (rc < 0 || !ret->unread)
			return rc;
	}
	return -ETIME;
}

/*
 * The barrier: first for the files of all records, then for a while for the
 * rest, which may change calls and names that they depend on. Usually there is
 * none; a tree that is being copied in takes longer, and is conservatively
 * taken for changed.
 */
static int sync_tape(struct inquiry *q, struct client_head *ret)
{
	struct held_paths p = { .c = q->c, .roots = &q->e->roots };
	struct client_paths paths;
	struct client_head all;
	int rc;

	for (uint32_t i = 0; i < q->records->count; i++) {
		const struct held *h = q->held[i];

		if (h->fresh && !h->seen)
			add_fresh(&p, records_read(q->records, i));
		else if (h->tracked)
			add_held(&p, h);
	}
	add_names(&p);
	paths = (struct client_paths){ p.names.at, p.names.count };
	rc = sync_held(q, paths.count <= SYNC_PATHS_MAX ? &paths : NULL, ret);
	if (rc == 0 && ret->pending &&
	    client_sync(q->client, NULL, SYNC_ALL_MS, INQUIRY_MOST_MS, &all) ==
		    0) {
		ret->n = all.n;
		ret->pending = all.pending;
	}
	array_release(&p.numbers);
	array_release(&p.names);
	return rc;
}

/* -- Births and nominations. */

static int find_births(struct inquiry *q)
{
	for (uint32_t i = q->records->count; i-- > 0;) {
		struct held *h = q->held[i];

		if (!h->fresh || h->seen)
			continue;
		if (evidence_late(q->e))
			return -ETIMEDOUT;
		h->born_request = q->c->requests;
		if (evidence_birth(q->e, h, records_read(q->records, i)) ==
			    -ETIMEDOUT ||
		    q->e->late) {
			h->tracked = false;
			return -ETIMEDOUT;
		}
		h->seen = h->changed = true;
	}
	return 0;
}

/*
 * May commands have run since this conversation's last reply that are not in
 * its transcript? True if another conversation made a request since then, or
 * if this one made one for which the tape was not asked.
 */
static bool is_crowded(struct brain *b, const struct conversation *c)
{
	const struct conversation *o, *next;
	/* After a restart the other conversations are not known. */
	bool crowded = c->returned;

	(void)pthread_mutex_lock(&b->lock);
	crowded |= c->before_ns > c->reply_ns;
	HASH_ITER (hh, b->conversations, o, next)
		crowded |= o != c && o->asked_ns >= c->reply_ns;
	(void)pthread_mutex_unlock(&b->lock);
	return crowded;
}

static const char *trouble(int rc)
{
	return rc == -ETIMEDOUT || rc == -ETIME ? "the tape was late"
	       : client_is_unknown(rc) ? "the tape's answer was not understood"
				       : "the tape is away";
}

static void begin_evidence(struct inquiry *q, const struct client_head *head)
{
	struct conversation *c = q->c;
	struct evidence *e = q->e;

	if (head->n < c->last_n)
		conversation_begin_anew(c);
	e->lower = c->nominated ? c->last_n : 0;
	e->first = !c->nominated;
	e->from_ns = c->reply_ns;
	e->to_ns = q->r->at_ns;
	e->crowded = is_crowded(q->b, c);
	e->pending = head->pending > 0;
	e->n = head->n;
	evidence_init(e);
}

/* Is there anything that the last nominations do not say? */
static bool has_news(const struct inquiry *q)
{
	if (q->e->n != q->c->nominated_n || q->e->pending)
		return true;
	for (uint32_t i = 0; i < q->records->count; i++)
		if (q->held[i]->fresh)
			return true;
	return false;
}

static int nominate(struct inquiry *q)
{
	int rc = 0;

	own_before(q->e, q->held, q->records->count);
	if (has_news(q)) {
		rc = evidence_nominate(q->e, q->held, q->records->count);
		/* Until all is decided: if this request does not come so far,
		   the next one asks about all again. */
		q->c->nominated_n = UINT64_MAX;
	}
	if (rc == 0)
		own_learn(q->e, q->held, q->records->count, q->records);
	return rc;
}

const char *inquiry_ask(struct inquiry *q)
{
	int64_t asked_ns = clock_mono_ns();
	struct client_head head;
	int rc;

	*q->e = (struct evidence){ .client = q->client,
				   .c = q->c,
				   .roots = { .repo = q->b->repo,
					      .other = q->b->other,
					      .cwd = q->b->cwd },
				   .rule_ns = INT64_MAX,
				   .reads_result = 1 };
	begin_time(q, asked_ns);
	rc = sync_tape(q, &head);
	atomic_store(&q->b->hung, rc == -ETIMEDOUT ? heard(q->b) + 1 : 0);
	if (rc == 0 && !head.ready)
		return "the tape is not ready";
	if (rc == 0) {
		end_patience(q, asked_ns, &head);
		begin_evidence(q, &head);
		rc = find_births(q);
	}
	if (rc == 0)
		rc = nominate(q);
	return rc < 0 ? trouble(rc) : NULL;
}

void inquiry_over(struct inquiry *q)
{
	struct conversation *c = q->c;

	c->nominated_n = c->last_n = q->e->n;
	c->nominated = true;
	c->returned = false;
	for (uint32_t i = 0; i < q->records->count; i++) {
		struct held *h = q->held[i];

		h->changed |= !h->decided;
		h->decided = true;
	}
}
