/*
 * BLAME by line: follow one version of a file back through the entries that
 * made it, over renames, until each line has the entry that wrote it.
 *
 * A version whose content the file had before brought its lines back and wrote
 * none (`git stash` and `git stash pop`, a restore): the walk goes on from the
 * oldest version with that content.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/array.h"
#include "graph/base/cleanup.h"
#include "tape/query/answers_i.h"
#include "tape/query/lines.h"
#include "tape/store/store.h"

/* The file contained this just before entry `end`. */
struct lines_version {
	uint64_t end;
	XXH128_hash_t hash;
};

struct lines_walk {
	struct answers *a;
	ARRAY(struct lines_version) versions; /* of this name, newest first */
	struct lines lines;
	const char *path;   /* the file's name in the version reached */
	XXH128_hash_t hash; /* of that version */
	uint64_t from;	    /* the entry that leads back to it, 0: none yet */
	uint64_t before;    /* look only at older entries; 0: at all */
	bool moved;	    /* had another name before */
};

static bool same(XXH128_hash_t x, XXH128_hash_t y)
{
	return XXH128_isEqual(x, y);
}

static bool is_name(const char *path, const char *name)
{
	return path && strcmp(path, name) == 0;
}

/* Reach the version before `e`. */
static void step_back(struct lines_walk *w, const struct entry *e)
{
	/* Without ranges its lines were not compared: no text, or too large. */
	bool opaque = !e->had || e->ranges_count == 0;

	if (opaque && !(e->had && same(e->before, e->after)))
		lines_rest(&w->lines, e->n);
	else
		lines_back(&w->lines, e->n, e->ranges, e->ranges_count);
	w->hash = e->before;
	w->from = e->n;
}

static void add_version(struct lines_walk *w, uint64_t end, XXH128_hash_t hash)
{
	struct lines_version *v = array_add(&w->versions);

	*v = (struct lines_version){ end, hash };
}

static int gather(const struct entry *e, void *arg)
{
	struct lines_walk *w = arg;
	bool arrived = e->kind == ENTRY_RENAME && is_name(e->path2, w->path);
	bool stayed = is_name(e->path, w->path);

	if (e->has && (arrived || (stayed && e->kind != ENTRY_RENAME)))
		add_version(w, e->n + 1, e->after);
	if (e->had && stayed)
		add_version(w, e->n, e->before);
	return 0;
}

/* Go on from the oldest version with the content reached. */
static void reach_oldest(struct lines_walk *w)
{
	for (size_t i = w->versions.count; i > 0; i--) {
		const struct lines_version *v = &w->versions.at[i - 1];

		if (!same(v->hash, w->hash))
			continue;
		if (!w->before || v->end < w->before)
			w->before = v->end;
		return;
	}
}

/* 1: no older entry of this name matters. */
static int visit(const struct entry *e, void *arg)
{
	struct lines_walk *w = arg;
	bool arrived = e->kind == ENTRY_RENAME && is_name(e->path2, w->path);

	/* Entries of files below it, if this was a directory once. */
	if (!arrived && !is_name(e->path, w->path))
		return 0;
	if (w->before && e->n >= w->before)
		return 0;
	/* The file of this name was another one then. */
	if (!e->has || (e->kind == ENTRY_RENAME && !arrived))
		return 1;
	if (!same(e->after, w->hash)) {
		/* The tape has a hole here: who wrote the rest is not known. */
		lines_rest(&w->lines, w->from);
		return 1;
	}
	step_back(w, e);
	if (arrived) {
		w->path = arena_copy(&w->a->scratch, e->path, strlen(e->path));
		w->before = e->n;
		w->moved = true;
	} else {
		reach_oldest(w);
	}
	return arrived || !w->lines.left;
}

static int walk(struct lines_walk *w)
{
	int r = 0;

	do {
		struct store_filter f = { .before = w->before,
					  .path = w->path };

		w->moved = false;
		w->versions.count = 0;
		r = store_select(w->a->config.store, &f, SIZE_MAX, gather, w);
		if (r < 0)
			break;
		reach_oldest(w);
		f.before = w->before;
		r = store_select(w->a->config.store, &f, SIZE_MAX, visit, w);
	} while (r >= 0 && w->moved && w->lines.left);
	return r < 0 ? r : 0;
}

struct lines_entries {
	struct answers *a;
	cJSON *list;
};

/* The members of an entry that say who made it, and when. */
static int put_entry(const struct entry *e, void *arg)
{
	struct lines_entries *to = arg;
	static const char *const much[] = { "lines", "X", "dX", "R", "new" };
	cJSON *o = entry_json(e);

	for (size_t k = 0; k < sizeof(much) / sizeof(*much); k++)
		cJSON_DeleteItemFromObjectCaseSensitive(o, much[k]);
	(void)json_push(to->list, o);
	return answers_put_turn(to->a, e, o);
}

static int by_number(const void *x, const void *y)
{
	uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;

	return (a > b) - (a < b);
}

/* Each entry once; sorts the lines' numbers, which are not needed any more. */
static int put_entries(struct answers *a, struct lines *l, cJSON *list)
{
	struct lines_entries to = { a, list };
	int r = 0;

	if (l->count)
		qsort(l->entry, l->count, sizeof(*l->entry), by_number);
	for (uint32_t i = 0; i < l->count && r >= 0; i++) {
		if (!l->entry[i] || (i && l->entry[i] == l->entry[i - 1]))
			continue;
		r = store_entry(a->config.store, l->entry[i], put_entry, &to);
		if (r == -ENOENT)
			r = 0;
	}
	return r < 0 ? r : 0;
}

static void put_runs(const struct lines *l, cJSON *list)
{
	for (uint32_t i = 0, end; i < l->count; i = end) {
		cJSON *one = json_push(list, json_array(NULL, NULL));

		for (end = i + 1;
		     end < l->count && l->entry[end] == l->entry[i];)
			end++;
		json_push_number(one, i + 1);
		json_push_number(one, end);
		json_push_number(one, l->entry[i]);
	}
}

static void walk_release(struct lines_walk *w)
{
	lines_release(&w->lines);
	free(w->versions.at);
}

int answers_blame_lines(struct answers *a, const char *path, uint64_t n,
			cJSON *ret)
{
	CLEANUP(answers_version_release)
	struct answers_version v = { .n = n };
	CLEANUP(walk_release) struct lines_walk w = { .a = a, .path = path };
	uint64_t since;
	int r = store_version(a->config.store, path, n, &v.hash, &since);

	if (r == -ENOENT)
		return answers_refuse(ret, r,
				      "The tape knows no such version of '%s'.",
				      path);
	if (r == 0)
		r = answers_version_text(a, path, &v, ret);
	if (r < 0)
		return r;
	lines_init(&w.lines, answers_cut_lines(v.text, v.len, 0, 0).lines);
	w.hash = v.hash;
	w.before = n == VERSION_NOW ? 0 : n + 1;
	r = walk(&w);
	if (r < 0)
		return r;
	json_put_hash(ret, "hash", v.hash);
	json_put_number(ret, "n", since);
	json_put_number(ret, "first", store_first(a->config.store));
	put_runs(&w.lines, json_array(ret, "lines"));
	return put_entries(a, &w.lines, json_array(ret, "entries"));
}
