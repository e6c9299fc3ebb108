#include "manager/decide/own.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "manager/decide/evidence.h"

static int by_entry(const void *a, const void *b)
{
	const struct edited *x = a, *y = b;

	if (x->entry != y->entry)
		return x->entry < y->entry ? -1 : 1;
	return x->item < y->item ? -1 : x->item > y->item;
}

void own_list(struct conversation *c)
{
	const struct held *h, *next;

	c->edited.count = 0;
	HASH_ITER (hh, c->held, h, next)
		for (uint32_t i = 0; i < h->edited.count; i++) {
			struct edited x = h->edited.at[i];

			x.item = h->item;
			array_push(&c->edited, x);
		}
	if (c->edited.count)
		qsort(c->edited.at, c->edited.count, sizeof(*c->edited.at),
		      by_entry);
}

/* The index of the first one after entry `n`. */
static uint32_t first_after(const struct conversation *c, uint64_t n)
{
	uint32_t low = 0, high = c->edited.count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (c->edited.at[middle].entry > n)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static bool is_edited(const struct conversation *c, uint64_t entry)
{
	uint32_t i = entry ? first_after(c, entry - 1) : c->edited.count;

	return i < c->edited.count && c->edited.at[i].entry == entry;
}

/* -- What concerns a record. */

static bool is_among(const uint32_t *at, uint32_t count, uint32_t name)
{
	for (uint32_t i = 0; i < count; i++)
		if (at[i] == name)
			return true;
	return false;
}

/* The number of the name of the directory that `path` lies in. */
static uint32_t directory_of(const struct conversation *c, uint32_t path)
{
	const char *name = conversation_name(c, path);
	const char *slash = strrchr(name, '/');

	return slash ? intern_add(c->names, name, (size_t)(slash - name))
		     : intern_add(c->names, ".", 1);
}

/* May what a run said depend on the file? */
static bool run_concerns(const struct conversation *c, const struct held *h,
			 uint32_t path)
{
	return !h->observed || is_among(h->opened.at, h->opened.count, path) ||
	       is_among(h->missed.at, h->missed.count, path) ||
	       (h->listed.count &&
		is_among(h->listed.at, h->listed.count, directory_of(c, path)));
}

/* Did the entry falsify it by symbols of other files? */
static bool is_cause(const struct held *h, uint64_t entry)
{
	if (h->entry == entry)
		return true;
	for (uint32_t i = 0; i < h->drifted.count; i++)
		if (h->drifted.at[i].entry == entry)
			return true;
	return false;
}

static bool concerns(const struct conversation *c, const struct held *h,
		     uint32_t path, uint64_t entry)
{
	if (held_is_run(h))
		return run_concerns(c, h, path) || h->entry == entry;
	for (uint32_t i = 0; i < h->referents.count; i++)
		if (h->referents.at[i].path == path)
			return true;
	return is_cause(h, entry);
}

bool own_stand(const struct conversation *c, const struct held *h,
	       uint64_t from, uint64_t to)
{
	for (uint32_t i = first_after(c, from); i < c->edited.count; i++) {
		const struct edited *x = &c->edited.at[i];
		bool stands = x->item != ITEM_NONE && x->item > h->item;

		if (x->entry > to)
			break;
		if (!stands && concerns(c, h, x->path, x->entry))
			return false;
	}
	return true;
}

bool own_alone(const struct conversation *c, const struct held *h)
{
	return h->foreign <= held_shown(h) && is_edited(c, h->entry);
}

uint64_t own_newest(const struct conversation *c, const struct held *h,
		    uint64_t to)
{
	for (uint32_t i = first_after(c, to); i-- > 0;) {
		const struct edited *x = &c->edited.at[i];

		if (concerns(c, h, x->path, x->entry))
			return x->entry;
	}
	return 0;
}

/* Up to which entry, `n` at most, does the model know what `h` shows? */
static uint64_t known(const struct conversation *c, const struct held *h,
		      uint64_t n)
{
	uint64_t shown = held_shown(h);

	if (h->action == ACTION_KEEP || h->entry <= shown ||
	    (own_alone(c, h) && own_stand(c, h, shown, UINT64_MAX)))
		return n > shown ? n : shown;
	return shown;
}

void own_before(const struct evidence *e, struct held *const *held,
		size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct held *h = held[i];

		h->known = h->fresh || h->absent ? held_shown(h)
						 : known(e->c, h, e->lower);
		h->was_action = h->action;
		h->was_entry = h->entry;
		h->leans = h->action != ACTION_KEEP &&
			   h->known > held_shown(h) && h->entry > held_shown(h);
	}
}

/* -- Crediting the new edits. */

/* The new edits of one file, and the entries on it that are nobody's yet. */
struct own_file {
	uint32_t path;
	ARRAY(struct held *) edits;
	ARRAY(const struct client_entry *) entries;
};

struct own_files {
	ARRAY(struct own_file) at;
	bool commands; /* commands ran as well */
};

static struct own_file *file_of(struct own_files *f, uint32_t path)
{
	struct own_file *new;

	for (uint32_t i = 0; i < f->at.count; i++)
		if (f->at.at[i].path == path)
			return &f->at.at[i];
	new = array_add(&f->at);
	new->path = path;
	return new;
}

/* Does the call itself say what it wrote? */
static bool is_dictated(const struct record *r)
{
	return r->kind == RECORD_EDIT && !r->failed &&
	       (!r->command || strstr(r->command, "*** Begin Patch"));
}

static void add_edit(struct evidence *e, struct own_files *f, struct held *h,
		     const struct record *r)
{
	char path[PATH_MAX];

	for (uint32_t i = 0; i < r->files_count; i++)
		if (r->files[i].wrote &&
		    evidence_path(&e->roots, r->dir, r->files[i].path, path,
				  sizeof(path)))
			array_push(&file_of(f, evidence_name(e, path))->edits,
				   h);
}

static void add_entries(const struct evidence *e, struct own_file *f)
{
	const char *name = conversation_name(e->c, f->path);

	for (uint32_t i = 0; i < e->entries.count; i++) {
		const struct client_entry *a = &e->entries.at[i];

		if (evidence_entry_on(a, name) && !is_edited(e->c, a->n))
			array_push(&f->entries, a);
	}
}

static bool is_by(const struct client_entry *a, uint32_t pid)
{
	return pid && a->pid == pid;
}

/*
 * Keep the entries that the edits made. Of those by the agent's own process
 * there are as many as edits; some clients edit in another process, and then no
 * command may have run that could have done it as well.
 */
static void keep_own(struct own_file *f, uint32_t agent, bool commands)
{
	uint32_t by_agent = 0, all = f->entries.count, kept = 0;
	bool strange = false;

	for (uint32_t i = 0; i < all; i++) {
		by_agent += is_by(f->entries.at[i], agent);
		strange |= f->entries.at[i]->foreign;
	}
	if (by_agent && by_agent <= f->edits.count) {
		for (uint32_t i = 0; i < all; i++)
			if (is_by(f->entries.at[i], agent))
				f->entries.at[kept++] = f->entries.at[i];
	} else if (!strange && all <= f->edits.count && !(agent && commands)) {
		kept = all;
	}
	f->entries.count = kept;
}

static void credit(struct held *h, uint32_t path, uint64_t entry)
{
	array_push(&h->edited, ((struct edited){ path, entry, ITEM_NONE }));
	h->changed = true;
}

/* One entry per edit, in their order; where some wrote none, each to all. */
static void credit_file(const struct own_file *f)
{
	bool each = f->edits.count == f->entries.count;

	assert(f->entries.count <= f->edits.count);
	for (uint32_t i = 0; i < f->edits.count; i++)
		for (uint32_t k = 0; k < f->entries.count; k++)
			if (!each || i == k)
				credit(f->edits.at[i], f->path,
				       f->entries.at[k]->n);
}

static void credit_edits(struct evidence *e, struct held *const *held,
			 size_t count, struct records *r)
{
	struct own_files f = { .commands = e->crowded };

	for (size_t i = 0; i < count; i++) {
		struct held *h = held[i];

		if (!h->fresh)
			continue;
		f.commands |= h->command && h->kind != RECORD_READ;
		if (!h->learned && h->kind == RECORD_EDIT &&
		    is_dictated(records_read(r, h->record))) {
			add_edit(e, &f, h, records_read(r, h->record));
			h->learned = h->changed = true;
		}
	}
	for (uint32_t i = 0; i < f.at.count; i++) {
		struct own_file *file = &f.at.at[i];

		if (e->entries_known) {
			add_entries(e, file);
			keep_own(file, e->c->agent, f.commands);
			credit_file(file);
		}
		array_release(&file->edits);
		array_release(&file->entries);
	}
	array_release(&f.at);
	own_list(e->c);
}

/* -- What others changed. */

static bool has_links(const struct held *h, uint64_t after)
{
	for (uint32_t i = 0; i < h->drifted.count; i++)
		if (h->drifted.at[i].set != 'X' &&
		    h->drifted.at[i].entry > after)
			return true;
	return false;
}

static bool entry_concerns(const struct conversation *c, const struct held *h,
			   const struct client_entry *a, bool links)
{
	const char *paths[] = { a->path, a->path2 };

	if (links && a->elsewhere)
		return true;
	for (size_t i = 0; i < 2; i++)
		if (paths[i] &&
		    concerns(c, h,
			     intern_add(c->names, paths[i], strlen(paths[i])),
			     a->n))
			return true;
	return false;
}

/* Did edits alone make it stale in this request? */
static bool by_edits(const struct evidence *e, const struct held *h)
{
	uint64_t after = h->birth > e->lower ? h->birth : e->lower;
	bool links = has_links(h, after);

	if (!e->entries_known || h->absent || h->birth > h->entry ||
	    (h->fresh && h->birth < e->lower) || !is_edited(e->c, h->entry))
		return false;
	for (uint32_t i = 0; i < e->entries.count; i++) {
		const struct client_entry *a = &e->entries.at[i];

		if (a->n > after && !is_edited(e->c, a->n) &&
		    entry_concerns(e->c, h, a, links))
			return false;
	}
	return true;
}

void own_learn(struct evidence *e, struct held *const *held, size_t count,
	       struct records *r)
{
	credit_edits(e, held, count, r);
	for (size_t i = 0; i < count; i++) {
		struct held *h = held[i];
		bool news = h->action != ACTION_KEEP &&
			    (h->entry > e->lower || h->fresh || h->absent);
		uint64_t until;

		/* One that is pending gets its entry later. */
		if (news && h->entry <= e->n && h->entry > h->foreign &&
		    !by_edits(e, h)) {
			h->foreign = h->entry;
			h->changed = true;
		}
		/* No news: what was found out about it then still holds. */
		if (h->action != ACTION_KEEP && !news && h->known >= e->lower) {
			h->action = h->was_action;
			h->entry = h->was_entry;
		}
		until = known(e->c, h, e->n);
		if (until > h->known)
			h->known = until;
	}
}
