/*
 * Records into the tape's NOMINATE question, and its answer into records. An
 * id is the record's place in the list times IDS_EACH, plus the number of the
 * file it is about times two, plus one if it asks about lines instead of
 * symbols.
 *
 * A read is asked about twice. Symbols say what the code means: an edited body,
 * a call that goes elsewhere. But the model has text before it, and quotes it
 * when it edits: a comment between two functions, or a function put between
 * them, belongs to no symbol that was read, and yet the text that is shown is
 * no longer the file's. So the lines themselves are asked about as well.
 */
#include "manager/decide/evidence.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/base/arena.h"
#include "graph/base/cleanup.h"

#define REFERENTS_MAX 16
#define IDS_EACH      ((uint64_t)2 * REFERENTS_MAX)

/* Records to ask about, and what they point to. */
struct evidence_nominees {
	ARRAY(struct client_record) records;
	struct arena arena;
};

static void nominees_release(struct evidence_nominees *n)
{
	array_release(&n->records);
	arena_release(&n->arena);
}

static struct client_paths names_of(struct evidence_nominees *n,
				    const struct conversation *c,
				    const uint32_t *at, uint32_t count)
{
	const char **names = arena_take(&n->arena, count * sizeof(*names));

	for (uint32_t i = 0; i < count; i++)
		names[i] = conversation_name(c, at[i]);
	return (struct client_paths){ names, count };
}

/* The record is about its lines, whatever symbols they belong to. */
static void ask_lines(struct evidence_nominees *n, struct client_record *r)
{
	static const char prefix[] = "file:";
	size_t len = strlen(r->path);
	char *name = arena_take(&n->arena, sizeof(prefix) + len);
	const char **list = arena_take(&n->arena, sizeof(*list));

	memcpy(mempcpy(name, prefix, sizeof(prefix) - 1), r->path, len + 1);
	*list = name;
	r->symbols = list;
	r->symbols_count = 1;
}

static void add_run(struct evidence_nominees *n, const struct conversation *c,
		    const struct held *h, uint64_t id)
{
	struct client_record r = { .id = id,
				   .kind = CLIENT_RUN,
				   .birth = h->birth,
				   .observed = h->observed };

	if (h->observed) {
		r.opened = names_of(n, c, h->opened.at, h->opened.count);
		r.missed = names_of(n, c, h->missed.at, h->missed.count);
		r.listed = names_of(n, c, h->listed.at, h->listed.count);
	}
	array_push(&n->records, r);
}

static void add_read(struct evidence_nominees *n, const struct conversation *c,
		     const struct held *h, uint64_t id,
		     const struct referent *ref)
{
	struct client_record r = { .id = id,
				   .kind = h->kind == RECORD_EDIT ? CLIENT_EDIT
								  : CLIENT_READ,
				   .birth = h->birth,
				   .path = conversation_name(c, ref->path),
				   .start = ref->start,
				   .end = ref->end };

	if (id % 2)
		ask_lines(n, &r);
	array_push(&n->records, r);
}

static void take_symbols(struct conversation *c, struct held *h,
			 const struct client_nomination *n)
{
	static const char sets[] = {
		[CLIENT_X] = 'X', [CLIENT_DX] = 'd', [CLIENT_R] = 'R'
	};

	for (size_t i = 0; i < n->symbols_count; i++) {
		const struct client_drift *s = &n->symbols[i];
		struct drifted d = { 0 };

		d.name = intern_add(c->names, s->name, strlen(s->name));
		d.entry = s->entry;
		d.set = sets[s->set];
		d.removed = s->removed;
		array_push(&h->drifted, d);
	}
}

/* A sentence of the tape's, without a full stop: it is put into ours. */
static void take_sentence(char **to, const char *text)
{
	size_t len = text ? strlen(text) : 0;

	free(*to);
	*to = NULL;
	if (!len)
		return;
	if (text[len - 1] == '.')
		len--;
	*to = must_alloc(len + 1);
	memcpy(*to, text, len);
	(*to)[len] = '\0';
}

/* Of several files the worst counts, and none of it can be shown anew. */
static void take_nomination(struct conversation *c, struct held *h,
			    const struct client_nomination *n)
{
	static const enum action actions[] = {
		[CLIENT_REFRESH] = ACTION_REFRESH,
		[CLIENT_DROP] = ACTION_DROP,
		[CLIENT_RERUN] = ACTION_RERUN,
		[CLIENT_KEEP] = ACTION_KEEP,
	};
	enum action action = actions[n->action];

	if (action == ACTION_KEEP)
		return;
	if (h->referents.count > 1 && action == ACTION_REFRESH)
		action = ACTION_DROP;
	take_symbols(c, h, n);
	if (h->action != ACTION_KEEP && n->entry <= h->entry)
		return;
	h->action = action;
	h->entry = n->entry;
	take_sentence(&h->why, n->reason);
	take_sentence(&h->words, n->words);
}

static void take_all(struct evidence *e, const struct client_nominations *got,
		     struct held *const *held, size_t count)
{
	for (size_t i = 0; i < got->count; i++) {
		struct held *h = held[got->at[i].id / IDS_EACH];

		assert(got->at[i].id / IDS_EACH < count);
		h->lines_drifted |= got->at[i].id % 2;
		take_nomination(e->c, h, &got->at[i]);
	}
}

/*
 * Can what was said the last time be said of all but those whose files were
 * touched since? Not when symbols of other files drifted with them.
 */
static bool goes_on(const struct evidence *e)
{
	if (e->first || e->pending || !e->entries_known ||
	    e->c->nominated_n != e->lower)
		return false;
	for (uint32_t i = 0; i < e->entries.count; i++)
		if (e->entries.at[i].elsewhere)
			return false;
	return true;
}

/* Is there anything (new) that the tape could say of it? */
static bool wanted(const struct evidence *e, const struct held *h, bool on)
{
	if (!h->tracked || h->item == ITEM_NONE ||
	    h->replaced >= REPLACED_TOMBSTONE)
		return false;
	if (!on || h->fresh || h->absent || held_is_run(h))
		return true;
	for (uint32_t i = 0; i < h->referents.count; i++)
		if (evidence_touched(e, h->referents.at[i].path))
			return true;
	return false;
}

static void add_held(struct evidence_nominees *n, const struct evidence *e,
		     const struct held *h, uint64_t id)
{
	if (held_is_run(h)) {
		add_run(n, e->c, h, id);
		return;
	}
	for (uint32_t i = 0; i < h->referents.count && i < REFERENTS_MAX; i++) {
		const struct referent *ref = &h->referents.at[i];

		add_read(n, e->c, h, id, ref);
		/* Lines that were never touched change with their file only. */
		if (h->fresh || h->lines_drifted ||
		    evidence_touched(e, ref->path))
			add_read(n, e->c, h, id + 1, ref);
		id += 2;
	}
}

/*
 * The tape knows nothing against it, yet it reads as no version of its file
 * does: to rely on it would be to rely on what nobody can vouch for.
 */
static void nominate_strange(struct held *h)
{
	static const char why[] = "it was seen before anybody watched the "
				  "file, which reads otherwise now";

	if (!h->strange || h->action != ACTION_KEEP || h->item == ITEM_NONE ||
	    h->replaced != REPLACED_NOT)
		return;
	h->action = ACTION_DROP;
	/* From birth on, not as of now: a later request must not see news. */
	h->entry = h->birth + 1;
	free(h->why);
	h->why = must_alloc(sizeof(why));
	memcpy(h->why, why, sizeof(why));
	free(h->words);
	h->words = NULL;
}

/* Forget the last nomination; returns its entry, 0: none. */
static uint64_t clear(struct held *h)
{
	uint64_t was = h->action == ACTION_KEEP ? 0 : h->entry;

	h->action = ACTION_KEEP;
	h->entry = 0;
	h->drifted.count = 0;
	return was;
}

int evidence_nominate(struct evidence *e, struct held *const *held,
		      size_t count)
{
	CLEANUP(nominees_release) struct evidence_nominees n = { 0 };
	CLEANUP(client_nominations_release)
	struct client_nominations got = { .held_ = NULL };
	CLEANUP(free_p) bool *asked = must_calloc(count + 1, sizeof(*asked));
	CLEANUP(free_p) uint64_t *was = must_calloc(count + 1, sizeof(*was));
	bool on = goes_on(e);
	int rc = 0;

	for (size_t i = 0; i < count; i++) {
		asked[i] = wanted(e, held[i], on);
		if (asked[i])
			add_held(&n, e, held[i], i * IDS_EACH);
	}
	if (n.records.count)
		rc = client_nominate(e->client, n.records.at, n.records.count,
				     &got);
	/* Then what was known of them still holds. */
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < count; i++)
		was[i] = asked[i] ? clear(held[i]) : held[i]->entry;
	take_all(e, &got, held, count);
	for (size_t i = 0; i < count; i++) {
		nominate_strange(held[i]);
		held[i]->changed |= held[i]->entry != was[i];
	}
	return 0;
}
