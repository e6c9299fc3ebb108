/*
 * The nodes of settle, and the indices over them.
 *
 * `dirs` counts the nodes below each directory, for settle_below(); `origins`
 * counts the cut nodes that were known under a name.
 */
#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "tape/settle_i.h"

static void ring_init(struct settle_link *ring)
{
	ring->next = ring->prev = ring;
}

struct settle_node *settle_of_late(struct settle_link *l)
{
	return (void *)((char *)l - offsetof(struct settle_node, late));
}

static const struct settle_node *of_age(const struct settle_link *l)
{
	return (const void *)((const char *)l -
			      offsetof(struct settle_node, age));
}

static void ring_leave(struct settle_link *l)
{
	l->prev->next = l->next;
	l->next->prev = l->prev;
}

static void ring_enter(struct settle_link *before, struct settle_link *l)
{
	l->next = before;
	l->prev = before->prev;
	before->prev->next = l;
	before->prev = l;
}

struct settle *settle_new(const struct settle_known *known,
			  struct content_pool *pool)
{
	struct settle *s = must_calloc(1, sizeof(*s));

	s->known = *known;
	s->pool = pool;
	ring_init(&s->late);
	ring_init(&s->age);
	return s;
}

void settle_ask_ready(struct settle *s, settle_ready *ready)
{
	s->ready = ready;
}

void settle_free_node(struct settle_node *n)
{
	free(n->at.path);
	free(n->from);
	free(n->like);
	array_release(&n->authors);
	content_unref(n->content);
	free(n);
}

static void free_tally(struct paths_node *n, void *arg)
{
	(void)arg;
	free(n->path);
	free(n);
}

static void free_tallies(struct table *t)
{
	paths_each(t, free_tally, NULL);
	table_release(t);
}

static void forget_moved(struct settle *s)
{
	while (s->moved.count)
		free(s->moved.at[--s->moved.count]);
}

void settle_free(struct settle *s)
{
	if (!s)
		return;
	settle_forget_taken(s);
	while (s->late.next != &s->late) {
		struct settle_node *n = settle_of_late(s->late.next);

		ring_leave(&n->late);
		settle_free_node(n);
	}
	table_release(&s->nodes);
	free_tallies(&s->dirs);
	free_tallies(&s->origins);
	free_tallies(&s->cuts);
	array_release(&s->taken);
	array_release(&s->settled);
	array_release(&s->wants);
	forget_moved(s);
	array_release(&s->moved);
	free(s);
}

void settle_count(struct table *t, const char *path, size_t len, bool more)
{
	struct settle_tally *c = paths_find_part(t, path, len);

	if (!c && more) {
		char *name = must_memdup(path, len);

		c = must_calloc(1, sizeof(*c));
		paths_add(t, &c->at, name);
		free(name);
	}
	if (c && more) {
		c->count++;
	} else if (c && --c->count == 0) {
		paths_remove(t, &c->at);
		free(c);
	}
}

/* The same for each directory above `path`. */
static void count_above(struct settle *s, const char *path, bool more)
{
	for (const char *slash = strchr(path, '/'); slash;
	     slash = strchr(slash + 1, '/'))
		settle_count(&s->dirs, path, (size_t)(slash - path), more);
}

void settle_join(struct settle_node *file, struct settle_node *name)
{
	assert(file != name);
	settle_unjoin(file);
	settle_unjoin(name);
	file->partner = name;
	name->partner = file;
}

void settle_unjoin(struct settle_node *n)
{
	if (n->partner)
		n->partner->partner = NULL;
	n->partner = NULL;
}

void settle_pass_partner(struct settle_node *n, struct settle_node *to)
{
	assert(!to->partner);
	to->partner = TAKE(n->partner);
	if (to->partner)
		to->partner->partner = to;
}

void settle_set_from(struct settle *s, struct settle_node *n, char *from)
{
	if (n->from)
		settle_count(&s->origins, n->from, strlen(n->from), false);
	free(n->from);
	n->from = from;
	if (from)
		settle_count(&s->origins, from, strlen(from), true);
}

void settle_set_like(struct settle *s, struct settle_node *n, char *like)
{
	s->likes += (size_t)(like != NULL);
	s->likes -= (size_t)(n->like != NULL);
	free(n->like);
	n->like = like;
}

bool settle_is_known(const struct settle *s, const char *path)
{
	return s->known.has && s->known.has(s->known.ctx, path);
}

struct settle_node *settle_find(const struct settle *s, const char *path)
{
	return paths_find(&s->nodes, path);
}

static void link_node(struct settle *s, struct settle_node *n, const char *path)
{
	assert(!settle_find(s, path));
	paths_add(&s->nodes, &n->at, path);
	count_above(s, path, true);
}

/* Frees its path; the node itself is the caller's. */
static void unlink_node(struct settle *s, struct settle_node *n)
{
	count_above(s, n->at.path, false);
	paths_remove(&s->nodes, &n->at);
}

void settle_leave(struct settle *s, struct settle_node *n)
{
	char *path = must_strdup(n->at.path);
	char *from = n->from ? must_strdup(n->from) : NULL;
	char *like = n->like ? must_strdup(n->like) : NULL;

	settle_set_from(s, n, NULL);
	settle_set_like(s, n, NULL);
	settle_unjoin(n);
	if (n->cut) {
		settle_count(&s->cuts, n->at.path, strlen(n->at.path), false);
		free(n->at.path);
	} else {
		unlink_node(s, n);
	}
	ring_leave(&n->late);
	ring_leave(&n->age);
	s->pending--;
	if (n->newer)
		n->newer->older = n->older;
	if (n->older)
		n->older->newer = n->newer;
	n->newer = n->older = NULL;
	n->at.path = path;
	n->from = from;
	n->like = like;
}

void settle_drop(struct settle *s, struct settle_node *n)
{
	struct settle_node *older;

	for (; n; n = older) {
		older = n->older && n->older->held ? n->older : NULL;
		settle_leave(s, n);
		settle_free_node(n);
	}
}

uint64_t settle_oldest(const struct settle *s)
{
	const struct settle_link *l = s->age.next;

	return l == &s->age ? 0 : of_age(l)->first;
}

void settle_stamp(struct settle *s, struct settle_node *n,
		  const struct journal_line *l)
{
	ring_leave(&n->late);
	ring_enter(&s->late, &n->late);
	n->last = l->n;
	n->last_mono = l->mono_ns;
	n->wall_ns = (int64_t)l->wall_ns;
	n->urgent = false;
}

void settle_begin(struct settle *s, struct settle_node *n,
		  const struct journal_line *l)
{
	ring_leave(&n->age);
	ring_enter(&s->age, &n->age);
	n->first = l->n;
	n->first_mono = l->mono_ns;
}

void settle_begin_at(struct settle *s, struct settle_node *n, uint64_t first)
{
	struct settle_link *before = &s->age;

	ring_leave(&n->age);
	while (before->prev != &s->age && of_age(before->prev)->first > first)
		before = before->prev;
	ring_enter(before, &n->age);
	n->first = first;
}

void settle_begin_with(struct settle *s, struct settle_node *n,
		       const struct settle_node *other)
{
	(void)s;
	if (other->first >= n->first)
		return;
	n->first = other->first;
	if (other->first_mono < n->first_mono)
		n->first_mono = other->first_mono;
	ring_leave(&n->age);
	ring_enter(other->age.next, &n->age);
}

struct settle_node *settle_add(struct settle *s, const char *path,
			       const struct journal_line *l)
{
	struct settle_node *n = must_calloc(1, sizeof(*n));

	ring_enter(&s->late, &n->late);
	ring_enter(&s->age, &n->age);
	s->pending++;
	settle_begin(s, n, l);
	link_node(s, n, path);
	return n;
}

struct settle_node *settle_cut_off(struct settle *s, struct settle_node *n)
{
	struct settle_node *c = must_alloc(sizeof(*c));

	*c = *n;
	c->cut = true;
	c->at = (struct paths_node){ .path = must_strdup(n->at.path) };
	settle_count(&s->cuts, c->at.path, strlen(c->at.path), true);
	c->from = c->like = NULL;
	c->partner = NULL;
	c->authors = (struct settle_authors){ .at = NULL };
	c->content = NULL;
	ring_enter(&n->late, &c->late);
	ring_enter(&n->age, &c->age);
	s->pending++;
	c->newer = n;
	c->older = n->older;
	if (c->older)
		c->older->newer = c;
	n->older = c;
	return c;
}

struct collection {
	struct settle *s;
	const char *dir;
};

static void collect_node(struct paths_node *at, void *arg)
{
	const struct settle_node *n = (const struct settle_node *)at;
	struct collection *c = arg;

	if (!n->gone && paths_below(at->path, c->dir))
		array_push(&c->s->moved, must_strdup(at->path));
}

static void collect_known(void *arg, const char *path)
{
	struct collection *c = arg;

	if (!settle_find(c->s, path) && !paths_find(&c->s->origins, path))
		array_push(&c->s->moved, must_strdup(path));
}

static int by_path(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void settle_list(struct settle *s, const char *path, bool directory)
{
	struct collection c = { .s = s, .dir = path };

	forget_moved(s);
	if (!directory) {
		array_push(&s->moved, must_strdup(path));
		return;
	}
	if (settle_below(s, path))
		paths_each(&s->nodes, collect_node, &c);
	if (s->known.below)
		s->known.below(s->known.ctx, path, collect_known, &c);
	if (s->moved.count)
		qsort(s->moved.at, s->moved.count, sizeof(*s->moved.at),
		      by_path);
}
