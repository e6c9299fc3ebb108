#include "manager/decide/plan.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "manager/decide/notes.h"

/*
 * A stale read this many requests old is refreshed by its changed parts alone:
 * the model has used or repeated the rest since.
 */
#define AGE_OF_PARTS 8

#define DIFF_CONTEXT 2

#define REFRESH_MAX ((size_t)4 << 20)

static bool covers(const struct referent *a, const struct referent *b)
{
	uint32_t a_start = a->start ? a->start : 1;
	uint32_t b_start = b->start ? b->start : 1;

	return a->path == b->path && b_start <= a_start &&
	       (!b->end || (a->end && b->end >= a->end));
}

static bool is_same_run(const struct held *a, const struct held *b)
{
	return held_is_run(a) && held_is_run(b) && a->said &&
	       a->said == b->said;
}

/* Once per request: a search per record took as long as everything else. */
void plan_find_later(struct plan *p)
{
	uint32_t names = intern_count(p->c->names);
	uint32_t *last = must_alloc((names + 1) * sizeof(*last));

	free(p->later);
	p->later = must_alloc((p->r->count + 1) * sizeof(*p->later));
	memset(last, 0xff, (names + 1) * sizeof(*last));
	for (uint32_t i = p->r->count; i-- > 0;) {
		const struct held *h = p->held[i];

		p->later[i] = ITEM_NONE;
		if (h->referents.count != 1 || held_is_run(h))
			continue;
		p->later[i] = last[h->referents.at[0].path];
		last[h->referents.at[0].path] = i;
	}
	free(last);
	for (uint32_t i = p->r->count; i-- > 0;)
		for (uint32_t k = i + 1; k < p->r->count; k++)
			if (is_same_run(p->held[i], p->held[k])) {
				p->later[i] = k;
				break;
			}
}

bool plan_is_rerun(const struct plan *p, const struct held *h)
{
	assert(p->later && p->held[h->record] == h);
	return held_is_run(h) && p->later[h->record] != ITEM_NONE;
}

bool plan_is_run_told(const struct plan *p, const struct held *h)
{
	for (uint32_t i = 0; i < p->r->count; i++)
		if (p->held[i]->notified == NOTIFIED_AGAIN &&
		    is_same_run(p->held[i], h))
			return true;
	return false;
}

bool plan_superseded(const struct plan *p, const struct held *h)
{
	assert(p->later && p->held[h->record] == h);
	if (h->referents.count != 1 || held_is_run(h))
		return false;
	for (uint32_t i = p->later[h->record]; i != ITEM_NONE;
	     i = p->later[i]) {
		const struct held *o = p->held[i];

		/* Never stale, or refreshed in this very request. */
		bool current = o->action == ACTION_KEEP ||
			       (o->replaced == REPLACED_WHOLE &&
				o->replaced_entry == p->e->n);

		if ((o->kind == RECORD_READ || o->file) && o->tracked &&
		    current && o->replaced <= REPLACED_WHOLE &&
		    covers(&h->referents.at[0], &o->referents.at[0]))
			return true;
	}
	return false;
}

static const struct record *record_of(const struct plan *p,
				      const struct held *h)
{
	return records_read(p->r, h->record);
}

/*
 * May the model be told what is in the file? Only what is known to have been
 * read: a text that is no version of the file may be made up, to get at it.
 */
bool plan_is_shown(const struct held *h)
{
	return h->verified || h->kind == RECORD_RUN ||
	       (h->kind == RECORD_SHELL && !h->file);
}

/* For a replacement: with the entry's number, which stays valid. */
const char *plan_cause(const struct held *h)
{
	return plan_is_shown(h) && h->why && *h->why ? h->why : "it changed";
}

const char *plan_name(const struct plan *p, const struct held *h)
{
	const struct record *r = record_of(p, h);

	if (h->referents.count)
		return conversation_name(p->c, h->referents.at[0].path);
	return r->command ? r->command : r->tool ? r->tool : "a command";
}

uint64_t plan_bytes(const struct held *h)
{
	return h->text ? h->len : h->bytes;
}

void plan_decided(struct plan *p, const struct held *h, struct decided d,
		  const char *text, size_t len)
{
	const struct referent *r = h->referents.count ? h->referents.at : NULL;
	const char *name = plan_name(p, h);
	CLEANUP(free_p) char *what = NULL;
	int rc;

	if (r && r->start && r->end)
		rc = asprintf(&what, "%s:%u-%u", name, r->start, r->end);
	else
		rc = asprintf(&what, "%s", name);
	if (rc < 0)
		abort();
	d.key = h->key;
	d.what = what;
	d.is_command = !r;
	d.entry = h->entry;
	if (!d.action)
		d.action = action_names[h->action];
	if (!d.why)
		d.why = h->why;
	decided_add(&p->decided, &d, text, len);
}

/* The layout of its lines; also of a command's output that is a file. */
static bool shape_of(const struct plan *p, const struct held *h,
		     struct shape *ret)
{
	const struct record *r = record_of(p, h);

	if (h->file && h->head + h->tail < r->text.len) {
		*ret = (struct shape){ .first = 1,
				       .number = "",
				       .separator = "",
				       .whole = true,
				       .exact = true };
		ret->head = (struct text){ r->text.at, h->head };
		ret->tail = (struct text){ r->text.at + r->text.len - h->tail,
					   h->tail };
		return true;
	}
	*ret = r->shape;
	return r->shape.exact && r->shape.lines && h->referents.count == 1;
}

/* False: one of the two texts is not available. */
static bool compare(struct plan *p, uint32_t path, uint64_t since, uint64_t to,
		    struct linediff *ret)
{
	const struct client_text *then, *now;

	then = evidence_text(p->e, path, since);
	now = evidence_text(p->e, path, to);
	if (!then || !now)
		return false;
	linediff_init(ret, then->at, then->len, now->at, now->len);
	return true;
}

/* The lines of `ref` in the old text of `d`, which is the one it is of. */
static struct range lines_of(const struct referent *ref,
			     const struct linediff *d)
{
	struct range r = { ref->start ? ref->start - 1 : 0,
			   ref->end ? ref->end : d->before.rows.count };

	/* Of a whole file, a line appended behind the last counts too. */
	if (!ref->end)
		r.last++;
	return r;
}

bool plan_compare(struct plan *p, const struct held *h, uint64_t since,
		  struct linediff *ret, struct range *ret_lines)
{
	const struct referent *ref = &h->referents.at[0];
	struct linediff moved;
	struct range lines = { 0, 0 };
	bool there = false;
	uint32_t rows;

	if (!compare(p, ref->path, since, CLIENT_NOW, ret))
		return false;
	*ret_lines = lines_of(ref, ret);
	if (since <= h->birth || (!ref->start && !ref->end))
		return true;
	/* Its numbers are those of its birth. */
	if (compare(p, ref->path, h->birth, since, &moved)) {
		lines = lines_of(ref, &moved);
		rows = moved.before.rows.count;
		if (lines.last > rows)
			lines.last = rows;
		there = linediff_carry(&moved, &lines.first, &lines.last);
		linediff_release(&moved);
	}
	if (!there) {
		linediff_release(ret);
		return false;
	}
	if (!ref->start)
		lines.first = 0;
	if (!ref->end)
		lines.last = ret->before.rows.count + 1;
	*ret_lines = lines;
	return true;
}

/* Did something else than its text change, after entry `since`? */
static bool has_links(const struct held *h, uint64_t since)
{
	for (uint32_t i = 0; i < h->drifted.count; i++)
		if (h->drifted.at[i].set != 'X' &&
		    h->drifted.at[i].entry > since)
			return true;
	return false;
}

bool plan_shows_now(struct plan *p, const struct held *h)
{
	const struct client_text *now;

	if (h->file || h->replaced != REPLACED_NOT || h->notified)
		return false;
	now = evidence_text(p->e, h->referents.at[0].path, CLIENT_NOW);
	return now && evidence_shows(record_of(p, h), now->at, now->len);
}

bool plan_reads_true(struct plan *p, const struct held *h)
{
	uint64_t base = plan_base(p, h);
	struct linediff d;
	struct range lines;
	bool same;

	if (has_links(h, base) || h->referents.count != 1 || !h->born ||
	    !h->drifted.count || h->replaced == REPLACED_PART)
		return false;
	if (plan_shows_now(p, h))
		return true;
	if (!plan_compare(p, h, base, &d, &lines))
		return false;
	same = base > h->birth &&
	       !linediff_touches(&d, lines.first, lines.last);
	linediff_release(&d);
	return same;
}

static int range_order(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return x->first < y->first ? -1 : x->first > y->first;
}

#define BODY_LINES_MAX 400

static void add_body(struct plan *p, const struct held *h, const char *name,
		     struct plan_ranges *ret)
{
	const struct client_symbols *s =
		evidence_symbols(p->e, h->referents.at[0].path);

	for (uint32_t i = 0; i < s->count; i++) {
		const struct client_symbol *x = &s->at[i];

		if (x->start && strcmp(name, x->name) == 0 &&
		    x->end - x->start < BODY_LINES_MAX)
			array_push(ret,
				   ((struct range){ x->start - 1, x->end }));
	}
}

/* The bodies of drifted symbols and the changed lines, merged, rising. */
static void changed_parts(struct plan *p, const struct held *h,
			  const struct linediff *d, struct plan_ranges *ret)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < h->drifted.count; i++) {
		const struct drifted *x = &h->drifted.at[i];
		const char *name = conversation_name(p->c, x->name);

		if (x->set == 'X' && !x->removed &&
		    strncmp(name, "file:", 5) != 0)
			add_body(p, h, name, ret);
	}
	for (uint32_t i = 0; i < d->hunks.count; i++) {
		const struct myers_hunk *x = &d->hunks.at[i];
		uint32_t lead =
			x->after < DIFF_CONTEXT ? x->after : DIFF_CONTEXT;

		array_push(ret, ((struct range){ x->after - lead,
						 x->after + x->after_count +
							 DIFF_CONTEXT }));
	}
	if (ret->count)
		qsort(ret->at, ret->count, sizeof(*ret->at), range_order);
	for (uint32_t i = 0; i < ret->count; i++) {
		if (kept && ret->at[i].first <= ret->at[kept - 1].last + 1) {
			if (ret->at[i].last > ret->at[kept - 1].last)
				ret->at[kept - 1].last = ret->at[i].last;
		} else {
			ret->at[kept++] = ret->at[i];
		}
	}
	ret->count = kept;
}

/* Of `parts`, what lies in the lines that `h` showed, as numbered now. */
static void keep_shown(const struct held *h, const struct linediff *d,
		       struct plan_ranges *parts)
{
	struct range all = lines_of(&h->referents.at[0], d);
	uint32_t kept = 0;

	if (!linediff_carry(d, &all.first, &all.last)) {
		parts->count = 0;
		return;
	}
	if (!h->referents.at[0].end || all.last > d->after.rows.count)
		all.last = d->after.rows.count;
	for (uint32_t i = 0; i < parts->count; i++) {
		struct range r = parts->at[i];

		r.first = r.first < all.first ? all.first : r.first;
		r.last = r.last > all.last ? all.last : r.last;
		if (r.first < r.last)
			parts->at[kept++] = r;
	}
	parts->count = kept;
}

/*
 * Its current lines; of an old record only the changed parts. `shown`: which
 * lines of the file these are.
 */
static enum replaced refresh(struct plan *p, const struct held *h,
			     struct buf *out, struct plan_ranges *shown)
{
	enum replaced how = REPLACED_WHOLE;
	struct shape shape;
	struct linediff d;
	struct range lines;
	struct refresh in = { .shape = &shape, .why = plan_cause(h) };
	int rc;

	if (!h->verified || !shape_of(p, h, &shape) ||
	    !plan_compare(p, h, h->birth, &d, &lines))
		return REPLACED_NOT;
	if (!linediff_inside(&d, &lines, 1)) {
		linediff_release(&d);
		return REPLACED_NOT;
	}
	in.path = plan_name(p, h);
	in.start = h->referents.at[0].start;
	in.end = h->referents.at[0].end;
	in.since = &d;
	if (p->c->requests - h->born_request >= AGE_OF_PARTS) {
		changed_parts(p, h, &d, shown);
		in.only = shown->at;
		in.only_count = shown->count;
	}
	rc = replacement_refresh(out, &in);
	if (rc == 0 && in.only &&
	    cost_tokens(out->len) * 10 > h->tokens * 7ull) {
		in.only = NULL;
		out->len = 0;
		rc = replacement_refresh(out, &in);
	} else if (in.only) {
		how = REPLACED_PART;
	}
	if (how == REPLACED_WHOLE) {
		shown->count = 0;
		array_push(shown, ((struct range){ 0, UINT32_MAX }));
	}
	keep_shown(h, &d, shown);
	linediff_release(&d);
	return rc < 0 ? REPLACED_NOT : how;
}

static enum replaced refresh_text(struct plan *p, const struct held *h,
				  struct buf *out)
{
	struct plan_ranges shown = { 0 };
	enum replaced how = refresh(p, h, out, &shown);

	array_release(&shown);
	return how;
}

/* Append old lines [first, last), which no hunk touches, as numbered now. */
static void add_still(const struct linediff *d, uint32_t first, uint32_t last,
		      struct held *h)
{
	if (first < last && linediff_carry(d, &first, &last))
		array_push(&h->still,
			   ((struct policy_lines){ first + 1, last }));
}

static void find_lines(struct plan *p, struct held *h)
{
	struct linediff d;
	struct range r;
	uint32_t at;

	h->now_start = h->now_end = h->still.count = 0;
	if (!plan_compare(p, h, h->birth, &d, &r))
		return;
	if (r.last > d.before.rows.count)
		r.last = d.before.rows.count;
	at = r.first;
	for (uint32_t i = 0; i < d.hunks.count; i++) {
		const struct myers_hunk *x = &d.hunks.at[i];

		add_still(&d, at, x->before < r.last ? x->before : r.last, h);
		if (x->before + x->before_count > at)
			at = x->before + x->before_count;
	}
	add_still(&d, at, r.last, h);
	if (linediff_carry(&d, &r.first, &r.last)) {
		h->now_start = r.first + 1;
		h->now_end = r.last;
	}
	linediff_release(&d);
}

void plan_lines_now(struct plan *p, struct held *h)
{
	if (!h->now_entry || h->now_entry < p->e->lower ||
	    evidence_touched(p->e, h->referents.at[0].path))
		find_lines(p, h);
	h->now_entry = p->e->n ? p->e->n : 1;
}

void plan_refresh_lines(struct plan *p, const struct held *h,
			struct plan_ranges *ret)
{
	struct buf text = BUF(REFRESH_MAX);

	if (refresh(p, h, &text, ret) == REPLACED_NOT)
		ret->count = 0;
	buf_release(&text);
}

/* The file and everything the record shows of it were removed. */
bool plan_is_gone(struct plan *p, const struct held *h)
{
	if (h->referents.count != 1 ||
	    evidence_text(p->e, h->referents.at[0].path, CLIENT_NOW))
		return false;
	for (uint32_t i = 0; i < h->drifted.count; i++)
		if (h->drifted.at[i].set == 'X' && !h->drifted.at[i].removed)
			return false;
	return h->drifted.count > 0;
}

enum replaced plan_replacement(struct plan *p, struct held *h, struct buf *out)
{
	const struct referent *ref = h->referents.at;
	enum replaced how = REPLACED_NOT;
	int rc;

	out->len = 0;
	if (h->evict)
		return replacement_evicted(out, plan_name(p, h)) < 0
			       ? REPLACED_NOT
			       : REPLACED_EVICTED;
	if (h->action == ACTION_RERUN)
		return replacement_rerun(out, plan_name(p, h), plan_cause(h)) <
				       0
			       ? REPLACED_NOT
			       : REPLACED_TOMBSTONE;
	if (h->action == ACTION_REFRESH && (h->fresh || !plan_superseded(p, h)))
		how = refresh_text(p, h, out);
	if (how != REPLACED_NOT)
		return how;
	out->len = 0;
	if (plan_is_gone(p, h))
		rc = replacement_gone(out, plan_name(p, h), plan_cause(h));
	else if (plan_superseded(p, h))
		rc = replacement_superseded(out, plan_name(p, h),
					    plan_cause(h));
	else
		rc = replacement_tombstone(out, plan_name(p, h),
					   ref ? ref->start : 0,
					   ref ? ref->end : 0, plan_cause(h));
	return rc < 0 ? REPLACED_NOT : REPLACED_TOMBSTONE;
}

int plan_stub_text(struct plan *p, const struct held *read, struct buf *out)
{
	struct shape shape;
	struct linediff d;
	struct range lines;
	struct refresh in = { .shape = &shape,
			      .why = "the earlier result "
				     "is out of date" };
	int rc;

	if (!read->verified || !shape_of(p, read, &shape) ||
	    !plan_compare(p, read, read->birth, &d, &lines))
		return -ENOENT;
	if (!linediff_inside(&d, &lines, 1)) {
		linediff_release(&d);
		return -ENOENT;
	}
	in.path = plan_name(p, read);
	in.start = read->referents.at[0].start;
	in.end = read->referents.at[0].end;
	in.since = &d;
	rc = replacement_refresh(out, &in);
	linediff_release(&d);
	return rc;
}
