#include "tools/verb/undo/history.h"

#include <assert.h>
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/base/json.h"
#include "tools/cli/say.h"
#include "tools/cli/where.h"
#include "tools/verb/entry_text.h"
#include "tools/verb/tape.h"
#include "tools/verb/undo/choice.h"
#include "tools/verb/undo/void.h"

#define AUTHOR_MAX 60

struct reading {
	struct history *h;
	struct voids voids;
	const struct choice *c;
	char *const *patterns;
	uint32_t next; /* index of the next chosen entry */
};

/* -- Files. */

static void version_release(struct undo_version *v)
{
	free(v->path);
}

static void file_free(struct undo_file *f)
{
	for (uint32_t i = 0; i < f->changes.count; i++) {
		version_release(&f->changes.at[i].before);
		version_release(&f->changes.at[i].after);
	}
	array_release(&f->changes);
	free(f->name);
	free(f->by);
	free(f);
}

static void free_unchanged(struct paths_node *n, void *arg)
{
	struct undo_file *f = (struct undo_file *)n;

	(void)arg;
	free(n->path);
	if (!f->changes.count)
		file_free(f);
}

void history_release(struct history *h)
{
	paths_each(&h->names, free_unchanged, NULL);
	table_release(&h->names);
	for (uint32_t i = 0; i < h->files.count; i++)
		file_free(h->files.at[i]);
	for (uint32_t i = 0; i < h->remarks.count; i++)
		free(h->remarks.at[i]);
	array_release(&h->files);
	array_release(&h->remarks);
	free(h->used);
	*h = (struct history){ .used = NULL };
}

static struct undo_file *file_at(struct history *h, const char *path)
{
	struct undo_file *f = paths_find(&h->names, path);

	if (f)
		return f;
	f = must_calloc(1, sizeof(*f));
	f->name = must_strdup(path);
	paths_add(&h->names, &f->at, path);
	return f;
}

/* It leaves its name to another file. */
static void lose(struct history *h, struct undo_file *f)
{
	paths_remove(&h->names, &f->at);
	f->lost = true;
	if (!f->changes.count)
		file_free(f);
}

static void move(struct history *h, struct undo_file *f, const char *path)
{
	struct undo_file *other = paths_find(&h->names, path);

	if (other == f)
		return;
	if (other)
		lose(h, other);
	paths_remove(&h->names, &f->at);
	paths_add(&h->names, &f->at, path);
	free(f->name);
	f->name = must_strdup(path);
}

/* -- Entries. */

static struct undo_version version(const char *path, const cJSON *e,
				   const char *hash, const char *mode)
{
	const char *digits = json_string(e, hash);
	const char *bits = json_string(e, mode);
	struct undo_version v = { .path = NULL };

	if (!digits || strlen(digits) != sizeof(v.hash) - 1)
		return v;
	v.path = must_strdup(path);
	memcpy(v.hash, digits, sizeof(v.hash));
	v.mode = bits ? (uint32_t)strtoul(bits, NULL, 8) : 0;
	return v;
}

/* Otherwise something happened in between that no entry tells of. */
static bool is_same(const struct undo_version *a, const struct undo_version *b)
{
	if (!a->path || !b->path)
		return !a->path && !b->path;
	return strcmp(a->path, b->path) == 0 && strcmp(a->hash, b->hash) == 0;
}

static void add_change(struct history *h, struct undo_file *f,
		       struct undo_change change)
{
	struct undo_change *last;

	last = f->changes.count ? array_last(&f->changes) : NULL;
	if (last && !f->apart && is_same(&last->after, &change.before)) {
		version_release(&last->after);
		version_release(&change.before);
		last->after = change.after;
		last->last = change.last;
		return;
	}
	if (!f->changes.count)
		array_push(&h->files, f);
	array_push(&f->changes, change);
	f->apart = false;
}

static void add_other(struct undo_file *f, const cJSON *e)
{
	if (!f->changes.count)
		return;
	f->apart = true;
	f->since = json_number(e, "n", 0);
	free(f->by);
	f->by = entry_authors(e, AUTHOR_MAX);
}

static bool is_chosen(struct reading *r, uint64_t n)
{
	while (r->next < r->c->entries.count && r->c->entries.at[r->next] < n)
		r->next++;
	return r->next < r->c->entries.count && r->c->entries.at[r->next] == n;
}

static bool fits(struct reading *r, const char *path, const char *path2)
{
	bool fit = !*r->patterns;

	for (size_t i = 0; r->patterns[i]; i++) {
		if (!where_matches(r->patterns[i], path) &&
		    !(path2 && where_matches(r->patterns[i], path2)))
			continue;
		r->h->used[i] = true;
		fit = true;
	}
	return fit;
}

/* Several wrote it, and it is not known who wrote what. */
static bool is_merged(const struct reading *r, const cJSON *e)
{
	CLEANUP(free_p) char *who = NULL;

	if (r->c->numbered || !cJSON_IsTrue(json_member(e, "merged")) ||
	    cJSON_GetArraySize(json_member(e, "authors")) < 2)
		return false;
	who = entry_authors(e, AUTHOR_MAX);
	array_push(&r->h->remarks,
		   format_text("entry %" PRIu64 " has the changes of several "
			       "(%s): only its number chooses it",
			       json_number(e, "n", 0), who));
	return true;
}

static void read_gap(struct reading *r, uint64_t n)
{
	if (is_chosen(r, n))
		array_push(&r->h->remarks,
			   format_text("entry %" PRIu64 " is a gap: what "
				       "changed there is not known",
				       n));
}

static int read_entry(cJSON *e, void *arg)
{
	struct reading *r = arg;
	uint64_t n = json_number(e, "n", 0);
	const char *path =
		json_unescaped(cJSON_GetObjectItemCaseSensitive(e, "path"));
	const char *path2 =
		json_unescaped(cJSON_GetObjectItemCaseSensitive(e, "path2"));
	struct undo_file *f;

	r->h->head = n;
	if (voids_has(&r->voids, e))
		return 0;
	if (!path) {
		read_gap(r, n);
		return 0;
	}
	f = file_at(r->h, path);
	if (is_chosen(r, n) && fits(r, path, path2) && !is_merged(r, e))
		add_change(r->h, f,
			   (struct undo_change){
				   .first = n,
				   .last = n,
				   .before = version(path, e, "before",
						     "before_mode"),
				   .after = version(path2 ? path2 : path, e,
						    "after", "after_mode") });
	else
		add_other(f, e);
	if (path2)
		move(r->h, f, path2);
	return 0;
}

int history_read(struct history *h, struct tape_reader *t,
		 const struct choice *c, char *const *patterns)
{
	struct reading r = { .h = h, .c = c, .patterns = patterns };
	size_t count = 0;
	int rc;

	assert(c->entries.count && c->entries.at[0]);
	while (patterns[count])
		count++;
	h->used = must_calloc(count + 1, sizeof(*h->used));
	h->head = c->entries.at[0] - 1;
	voids_read(&r.voids, t->state.dir_fd);
	rc = tape_each(t, h->head, read_entry, &r);
	voids_release(&r.voids);
	return rc;
}
