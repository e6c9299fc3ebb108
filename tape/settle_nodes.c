/*
 * The nodes of settle, and the indices over them.
 *
 * A rename of a directory moves the nodes below it, and nodes made later below
 * its new name were known under the old one. `dirs` counts the nodes below each
 * directory, so that a rename of a file need not visit every node; `origins`
 * counts the nodes that were known under a name, for settle_has().
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

struct settle *settle_new(settle_known *known, void *ctx,
			  struct content_pool *pool)
{
	struct settle *s = must_calloc(1, sizeof(*s));

	s->known = known;
	s->ctx = ctx;
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
	free(n->to);
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

void settle_set_directory(struct settle *s, struct settle_node *n,
			  bool directory)
{
	s->moved += (size_t)directory;
	s->moved -= (size_t)n->directory;
	n->directory = directory;
	assert(s->moved <= s->pending);
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

	settle_set_directory(s, n, false);
	settle_set_from(s, n, NULL);
	settle_set_like(s, n, NULL);
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

/* The nearest directory above that was moved here; NULL: none. */
static const struct settle_node *moved_above(const struct settle *s,
					     const char *path)
{
	const struct settle_node *found = NULL;

	for (const char *slash = s->moved ? strchr(path, '/') : NULL; slash;
	     slash = strchr(slash + 1, '/')) {
		const struct settle_node *n = paths_find_part(
			&s->nodes, path, (size_t)(slash - path));

		if (n && n->directory && n->from)
			found = n;
	}
	return found;
}

char *settle_former_name(const struct settle *s, const char *path)
{
	const struct settle_node *n = moved_above(s, path);

	return n ? paths_join(n->from, paths_below(path, n->at.path)) : NULL;
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
	settle_set_from(s, n, settle_former_name(s, path));
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
	c->from = c->like = c->to = NULL;
	c->authors = (struct settle_authors){ .at = NULL };
	c->content = NULL;
	c->directory = false;
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

void settle_went_on(struct settle *s, const char *origin, const char *path,
		    const char *to)
{
	struct settle_node *n = settle_find(s, origin);

	if (!n || !n->gone || !n->to || strcmp(n->to, path) != 0)
		return;
	free(n->to);
	n->to = must_strdup(to);
}

struct collection {
	const char *dir;
	ARRAY(void *) nodes; /* struct settle_node */
};

static void collect_below(struct paths_node *n, void *arg)
{
	struct collection *c = arg;

	if (paths_below(n->path, c->dir))
		array_push(&c->nodes, n);
}

void settle_move_below(struct settle *s, const char *from, const char *to)
{
	struct collection c = { .dir = from };

	if (!paths_find(&s->dirs, from))
		return;
	paths_each(&s->nodes, collect_below, &c);
	for (uint32_t i = 0; i < c.nodes.count; i++) {
		struct settle_node *n = c.nodes.at[i];
		char *path = paths_join(to, paths_below(n->at.path, from));

		if (!n->from && !n->born)
			settle_set_from(s, n, must_strdup(n->at.path));
		else if (n->from)
			settle_went_on(s, n->from, n->at.path, path);
		unlink_node(s, n);
		settle_drop(s, settle_find(s, path));
		link_node(s, n, path);
		content_move(n->content);
		free(path);
	}
	array_release(&c.nodes);
}
