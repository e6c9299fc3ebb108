/*
 * Which contents to read, and which versions to hand over. A version is handed
 * over after all that it builds on: the cut versions before it, and a move
 * together with the name that went away.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "tape/settle_i.h"

/* After this long, a change that a KEEP line announced has failed. */
#define ANNOUNCED_NS UINT64_C(1000000000)

/* -- When. */

/* When it settles, regardless of its partner. */
static uint64_t due(const struct settle_node *n)
{
	uint64_t quiet = n->last_mono + SETTLE_QUIET_NS;
	uint64_t longest = n->first_mono + SETTLE_LONGEST_NS;

	if (n->urgent || n->cut)
		return n->last_mono;
	return quiet < longest ? quiet : longest;
}

/* A move that is cut is complete. */
static const struct settle_node *partner(const struct settle_node *n)
{
	return n->cut ? NULL : n->partner;
}

static uint64_t due_with_partner(const struct settle_node *n)
{
	const struct settle_node *other;
	uint64_t own, others, longest;

	while (n->held && n->newer)
		n = n->newer;
	other = partner(n);
	own = due(n);
	others = other ? due(other) : 0;
	longest = n->first_mono + SETTLE_LONGEST_NS;
	if (others <= own)
		return own;
	return others < longest || own >= longest ? others : longest;
}

/* -- Contents. */

static bool is_open(const struct settle_node *n)
{
	return n->content && !n->content->unwanted &&
	       content_state(n->content) == CONTENT_OPEN;
}

/* What is missing may have been renamed by a line that is still to come, and is
   read then. */
static bool is_unread(const struct settle_node *n)
{
	return is_open(n) || (n->content && !n->content->unwanted &&
			      content_state(n->content) == CONTENT_MISSING);
}

/* The announced change did not come: the file is what it was. */
static void doubt_keep(const struct settle_node *n, uint64_t now_ns)
{
	if (n->content && !n->cut &&
	    content_state(n->content) == CONTENT_LOST &&
	    n->content->kept_ns + ANNOUNCED_NS < now_ns)
		n->content->kept_ns = 0;
}

static void want(struct settle *s, struct settle_node *n)
{
	struct settle_want *w;

	if (n->cut || !is_open(n))
		return;
	w = array_add(&s->wants);
	w->path = n->at.path;
	w->content = n->content;
}

size_t settle_wanted(struct settle *s, uint64_t now_ns, uint64_t upto,
		     const struct settle_want **ret)
{
	s->wants.count = 0;
	for (struct settle_link *l = s->late.next; l != &s->late; l = l->next) {
		struct settle_node *n = settle_of_late(l);

		doubt_keep(n, now_ns);
		if (!n->wrote || settle_is_finished(n) || n->first <= upto ||
		    due_with_partner(n) <= now_ns)
			want(s, n);
	}
	*ret = s->wants.at;
	return s->wants.count;
}

size_t settle_wanted_path(struct settle *s, const char *path,
			  const struct settle_want **ret)
{
	struct settle_node *n = settle_find(s, path);
	struct settle_node *other = n ? n->partner : NULL;

	s->wants.count = 0;
	if (n)
		want(s, n);
	if (other)
		want(s, other);
	*ret = s->wants.at;
	return s->wants.count;
}

uint64_t settle_read_line(const struct settle *s, uint64_t newest)
{
	uint64_t line = newest;

	for (struct settle_link *l = s->late.next; l != &s->late; l = l->next) {
		const struct settle_node *n = settle_of_late(l);

		if (!n->cut && is_unread(n) && settle_is_finished(n) &&
		    n->content->last <= line)
			line = n->content->last - 1;
	}
	return line;
}

void settle_published(struct settle *s, uint64_t now_ns)
{
	for (uint32_t i = 0; i < s->wants.count; i++)
		if (s->wants.at[i].content->is_read)
			s->wants.at[i].content->published_ns = now_ns;
	s->wants.count = 0;
}

void settle_recover(struct settle *s, uint64_t line)
{
	s->again = line;
}

void settle_heard(struct settle *s, uint64_t mono_ns)
{
	s->heard_ns = mono_ns;
}

void settle_sure(struct settle *s)
{
	s->heard_ns = UINT64_MAX;
}

/* -- What can be handed over. */

static bool has_sure_content(const struct settle *s,
			     const struct settle_node *n)
{
	const struct content *c = n->content;

	switch (content_state(c)) {
	case CONTENT_KEPT:
		return true;
	case CONTENT_READ:
		return n->cut ||
		       (c->published_ns && c->published_ns <= s->heard_ns);
	case CONTENT_MISSING:
		/* The line that says where it is may be on its way. */
		return c->published_ns && s->heard_ns >= ANNOUNCED_NS &&
		       c->published_ns <= s->heard_ns - ANNOUNCED_NS;
	case CONTENT_OPEN:
	case CONTENT_LOST:
		break;
	}
	return false;
}

static bool is_prepared(const struct settle *s, const struct settle_node *n)
{
	return !s->ready || s->ready(s->known.ctx, n->at.path, n->content);
}

static bool is_sure(const struct settle *s, const struct settle_node *n)
{
	return !n->wrote || n->content->unwanted ||
	       (has_sure_content(s, n) && is_prepared(s, n));
}

static bool are_sure(const struct settle *s, const struct settle_node *n)
{
	for (; n; n = n->older)
		if (!is_sure(s, n))
			return false;
	return true;
}

/* It has changed since it was read, by the same process. */
static bool is_part_sure(const struct settle *s, const struct settle_node *n)
{
	const struct content *c = n->content;

	return n->wrote && !n->merged && !n->cut && c->is_read &&
	       c->last > c->read_line && !c->kept_ns &&
	       n->first <= c->read_line && c->published_ns &&
	       c->published_ns <= s->heard_ns &&
	       (!n->older || are_sure(s, n->older)) && is_prepared(s, n);
}

/* What was read is a version; what came since begins another. */
static struct settle_node *split(struct settle *s, struct settle_node *n)
{
	struct settle_node *c = settle_cut_off(s, n);

	settle_pass_partner(n, c);
	array_append(&c->authors, n->authors.at, n->authors.count);
	c->content = n->content;
	c->last = c->content->read_line;
	n->content = content_new(s->pool);
	n->content->last = c->content->last;
	c->content->last = c->last;
	settle_begin_at(s, n, c->last + 1);
	n->first_mono = n->last_mono;
	n->born = false;
	return c;
}

/* Choose a node, and of those it moved from or to the ones that are due: a
   move is one change. */
struct take_choice {
	struct settle *s;
	uint64_t now_ns, upto;
	bool any;	     /* take partners in any state */
	ARRAY(void *) nodes; /* struct settle_node */
};

static bool is_ready(const struct take_choice *c, const struct settle_node *n)
{
	return c->any || n->first <= c->upto ||
	       due_with_partner(n) <= c->now_ns;
}

static bool is_blocked(const struct settle *s, const struct settle_node *n)
{
	const struct settle_node *other = partner(n);

	return !are_sure(s, n) || (other && !are_sure(s, other));
}

static void add(struct take_choice *c, struct settle_node *n)
{
	if (n->chosen)
		return;
	if (n->older)
		add(c, n->older);
	n->chosen = true;
	array_push(&c->nodes, n);
}

/* A file that moved on has taken the versions it had under this name along,
   and its move from here: they come first. False: they cannot be handed over
   yet. */
static bool choose_cuts(struct take_choice *c, const struct settle_node *n)
{
	bool any = !n->cut && (paths_find(&c->s->cuts, n->at.path) ||
			       paths_find(&c->s->origins, n->at.path));
	struct settle_link *l = any ? c->s->late.next : &c->s->late;

	for (; l != &c->s->late; l = l->next) {
		struct settle_node *cut = settle_of_late(l);

		if (!cut->cut || cut->chosen || cut->newer == n ||
		    (strcmp(cut->at.path, n->at.path) != 0 &&
		     (!cut->from || strcmp(cut->from, n->at.path) != 0)))
			continue;
		if (!are_sure(c->s, cut))
			return false;
		add(c, cut);
	}
	return true;
}

static void choose(struct take_choice *c, struct settle_node *n)
{
	if (!n || n->chosen || !is_ready(c, n))
		return;
	if (is_part_sure(c->s, n) && !partner(n))
		n = split(c->s, n);
	else if (is_blocked(c->s, n) || !choose_cuts(c, n))
		return;
	add(c, n);
}

/* With the partners of all chosen nodes, and theirs. */
static void choose_with(struct take_choice *c, struct settle_node *n)
{
	uint32_t i = c->nodes.count;

	choose(c, n);
	for (; i < c->nodes.count; i++) {
		n = c->nodes.at[i];
		choose(c, n->partner);
	}
}

/* -- Handing over. */

/* A name that moved away comes last: by then its file has the new name. */
static bool is_moved_away(const struct settle_node *n)
{
	return n->gone && n->partner;
}

/* Is `x` an earlier version of what `y` is about? */
static bool is_before(const struct settle_node *x, const struct settle_node *y)
{
	while (y && y != x)
		y = y->older;
	return y == x;
}

static int in_order(const void *a, const void *b)
{
	const struct settle_node *x = *(struct settle_node *const *)a;
	const struct settle_node *y = *(struct settle_node *const *)b;

	if (is_moved_away(x) != is_moved_away(y))
		return is_moved_away(x) ? 1 : -1;
	if (x->last != y->last)
		return x->last < y->last ? -1 : 1;
	if (is_before(x, y) || is_before(y, x))
		return is_before(x, y) ? -1 : 1;
	return strcmp(x->at.path, y->at.path);
}

static void hand_over(struct settle *s, struct settle_node *n)
{
	struct settled *t = array_add(&s->settled);

	if (n->partner && !n->gone)
		settle_set_from(s, n, must_strdup(n->partner->at.path));
	/* The tape knows the file from now on. */
	for (struct settle_node *later = n->newer; later && n->born;
	     later = later->newer)
		later->born = false;
	settle_leave(s, n);
	array_push(&s->taken, n);
	t->path = n->at.path;
	t->from = n->from ? n->from : n->born ? NULL : n->at.path;
	t->like = n->like;
	t->author = n->author;
	t->authors = n->authors.at;
	t->authors_count = n->authors.count;
	t->merged = n->merged;
	t->outside = n->outside;
	t->first = n->first;
	t->last = n->last;
	t->at_ns = n->wall_ns;
	t->gone = n->gone;
	t->wrote = n->wrote;
	t->content = n->wrote ? n->content : NULL;
}

void settle_forget_taken(struct settle *s)
{
	for (uint32_t i = 0; i < s->taken.count; i++)
		settle_free_node(s->taken.at[i]);
	s->taken.count = 0;
	s->settled.count = 0;
}

static size_t hand_over_all(struct take_choice *c, const struct settled **ret)
{
	struct settle *s = c->s;

	if (c->nodes.count)
		qsort(c->nodes.at, c->nodes.count, sizeof(*c->nodes.at),
		      in_order);
	for (uint32_t i = 0; i < c->nodes.count; i++)
		hand_over(s, c->nodes.at[i]);
	array_release(&c->nodes);
	assert(s->pending > 0 || (s->dirs.count == 0 && s->origins.count == 0));
	*ret = s->settled.at;
	return s->settled.count;
}

size_t settle_take(struct settle *s, uint64_t now_ns, uint64_t upto,
		   size_t most, const struct settled **ret)
{
	struct take_choice c = { .s = s, .now_ns = now_ns, .upto = upto };

	settle_forget_taken(s);
	for (struct settle_link *l = s->late.next;
	     l != &s->late && c.nodes.count < most; l = l->next)
		choose_with(&c, settle_of_late(l));
	return hand_over_all(&c, ret);
}

size_t settle_take_path(struct settle *s, const char *path,
			const struct settled **ret)
{
	struct take_choice c = { .s = s, .any = true };

	settle_forget_taken(s);
	choose_with(&c, settle_find(s, path));
	return hand_over_all(&c, ret);
}

uint64_t settle_due(const struct settle *s)
{
	uint64_t least = 0;

	for (struct settle_link *l = s->late.next; l != &s->late; l = l->next) {
		uint64_t at = due_with_partner(settle_of_late(l));

		if (!least || at < least)
			least = at ? at : 1;
	}
	return least;
}

size_t settle_pending(const struct settle *s)
{
	return s->pending;
}

char *settle_known_as(const struct settle *s, const char *path)
{
	const struct settle_node *n = settle_find(s, path);

	return n && n->partner && !n->gone ? must_strdup(n->partner->at.path)
					   : NULL;
}

const struct content *settle_content(const struct settle *s, const char *path)
{
	const struct settle_node *n = settle_find(s, path);

	return n && n->content && n->content->is_read ? n->content : NULL;
}

bool settle_has(const struct settle *s, const char *path)
{
	return settle_find(s, path) || paths_find(&s->origins, path) ||
	       paths_find(&s->cuts, path);
}

bool settle_below(const struct settle *s, const char *dir)
{
	return *dir ? paths_find(&s->dirs, dir) != NULL : s->nodes.count > 0;
}
