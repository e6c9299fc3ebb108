/*
 * Versions. A version of a path is finished by the last close of its author, by
 * a rename over it, by its removal, or by the first change that another process
 * makes. The line that begins the next one cuts it off, if its content is
 * known: the tape has read it, or the file system kept it. Otherwise it was
 * lost, and what follows is merged with it: the node then names all authors.
 *
 * Versions of a file that its own author made and finished several times are
 * held until the file settles: it may be about to be renamed over another, or
 * to be removed.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "tape/settle_i.h"

static uint32_t pid_of(const struct journal_event *e)
{
	return e->author ? e->author->pid : e->pid;
}

/* After an exec a process has another author, with the same start. */
static bool is_same(const struct journal_author *a,
		    const struct journal_author *b)
{
	return a == b || (a && b && a->pid == b->pid && a->start == b->start);
}

static bool descends(const struct journal_author *a,
		     const struct journal_author *from)
{
	for (a = a ? a->parent : NULL; a && from; a = a->parent)
		if (is_same(a, from))
			return true;
	return false;
}

bool settle_is_own(const struct settle_node *n, const struct journal_line *l)
{
	return n->pid == pid_of(&l->event) &&
	       is_same(n->author, l->event.author);
}

/* -- Who has it open to write. */

static struct settle_writer *
writer_of(struct settle_node *n, const struct journal_author *a, uint32_t pid)
{
	for (uint32_t i = 0; i < n->writers_count; i++)
		if (n->writers[i].pid == pid &&
		    is_same(n->writers[i].author, a))
			return &n->writers[i];
	return NULL;
}

/* NULL: too many write; the quiet time tells when they are done. */
static struct settle_writer *add_writer(struct settle_node *n,
					const struct journal_line *l)
{
	uint32_t pid = pid_of(&l->event);
	struct settle_writer *w = writer_of(n, l->event.author, pid);

	assert(n->writers_count <= WRITERS_MAX);
	if (!w && n->writers_count < WRITERS_MAX) {
		w = &n->writers[n->writers_count++];
		*w = (struct settle_writer){ .author = l->event.author,
					     .pid = pid };
	}
	return w;
}

void settle_opened(struct settle_node *n, const struct journal_line *l)
{
	struct settle_writer *w = add_writer(n, l);

	if (w)
		w->opened++;
}

void settle_may_write(struct settle_node *n, const struct journal_line *l)
{
	(void)add_writer(n, l);
}

static void remove_writer(struct settle_node *n, struct settle_writer *w)
{
	*w = n->writers[--n->writers_count];
}

/* Those that write by a handle which `opener` (NULL: any) has passed on. */
static bool remove_heirs(struct settle_node *n,
			 const struct journal_author *opener)
{
	uint32_t before = n->writers_count;

	for (uint32_t i = n->writers_count; i > 0; i--) {
		struct settle_writer *w = &n->writers[i - 1];

		if (!w->opened && (!opener || descends(w->author, opener)))
			remove_writer(n, w);
	}
	return n->writers_count < before;
}

/*
 * The journal has no line for every open, only for those that make or empty a
 * file, so the count of handles is approximate.
 */
void settle_closed(struct settle_node *n, const struct journal_line *l,
		   bool wrote)
{
	const struct journal_author *a = l->event.author;
	uint32_t pid = pid_of(&l->event);
	struct settle_writer *w;

	/* A handle whose opener did not write was used by others. */
	if (wrote && !remove_heirs(n, a) && !writer_of(n, a, pid))
		(void)remove_heirs(n, NULL);
	w = writer_of(n, a, pid);
	if (w && w->opened > 0)
		w->opened--;
	else if (!wrote)
		return;
	if (w && w->opened == 0)
		remove_writer(n, w);
}

/* NULL is an author, too: the index, or the count. */
static uint32_t index_of(const struct settle_authors *list,
			 const struct journal_author *a)
{
	uint32_t at = 0;

	while (at < list->count && !is_same(list->at[at], a))
		at++;
	return at;
}

bool settle_is_finished(const struct settle_node *n)
{
	if (n->by_name)
		return true;
	for (uint32_t i = 0; i < n->writers_count; i++)
		if (index_of(&n->authors, n->writers[i].author) <
		    n->authors.count)
			return false;
	return true;
}

/* -- Authors. */

void settle_name_author(struct settle_node *n, const struct journal_line *l,
			bool text)
{
	const struct journal_author *a = l->event.author;
	uint32_t at;

	/* Whoever wrote the text stays its author. */
	if (!text && n->wrote)
		return;
	if (!n->merged)
		n->authors.count = 0;
	at = index_of(&n->authors, a);
	if (at < n->authors.count)
		n->authors.at[at] = a;
	else
		array_push(&n->authors, a);
	n->author = a;
	n->pid = pid_of(&l->event);
}

void settle_put_before(struct settle_node *n, const struct settle_node *older)
{
	struct settle_authors all = { .at = NULL };

	array_append(&all, older->authors.at, older->authors.count);
	for (uint32_t i = 0; i < n->authors.count; i++)
		if (index_of(&all, n->authors.at[i]) == all.count)
			array_push(&all, n->authors.at[i]);
	array_release(&n->authors);
	n->authors = all;
}

/* -- Ending versions. */

void settle_drop_content(struct settle_node *n)
{
	content_unref(TAKE(n->content));
}

/* The name under which the content of `n` was known before it. */
static const char *name_before(const struct settle_node *n)
{
	if (n->partner && !n->gone)
		return n->partner->at.path;
	return n->from ? n->from : n->like ? n->like : n->at.path;
}

/* The cut version that `n` has its content from; NULL: it is on the tape. */
static const struct settle_node *version_before(const struct settle_node *n)
{
	const char *name = name_before(n);

	/* What moved from another name brought versions of that along. */
	for (const struct settle_node *o = n->older; o; o = o->older)
		if ((!n->cut || o->last <= n->last) &&
		    strcmp(o->at.path, name) == 0)
			return o->gone ? NULL : o;
	return NULL;
}

void settle_take_content(struct settle *s, struct settle_node *n)
{
	const struct settle_node *as = n, *before;

	assert(!n->wrote);
	n->wrote = true;
	while (!as->content && (before = version_before(as)))
		as = before;
	if (as->content) {
		n->content = as == n ? n->content : content_ref(as->content);
		return;
	}
	n->content = content_new(s->pool);
	n->content->last = n->last;
	/* Nobody else needs to know that it was read. When lines are read again
	   the tape is ahead of them. */
	if (n->first > s->again && s->known.read &&
	    s->known.read(s->known.ctx, name_before(as), n->content))
		n->content->published_ns = 1;
}

void settle_lose_partner(struct settle *s, struct settle_node *n)
{
	if (!n->partner)
		return;
	if (!n->wrote)
		settle_take_content(s, n);
	settle_unjoin(n);
	n->born = !settle_is_known(s, n->at.path);
}

void settle_come_back(struct settle *s, struct settle_node *n)
{
	struct settle_node *to = n->partner;

	/* A move that is complete comes before. */
	if (to && to->cut)
		settle_set_from(s, to, must_strdup(n->at.path));
	if (to && to->cut)
		settle_unjoin(n);
	else if (to)
		settle_lose_partner(s, to);
}

static bool is_available(const struct settle_node *n)
{
	enum content_state state =
		n->content ? content_state(n->content) : CONTENT_READ;

	return state == CONTENT_READ || state == CONTENT_KEPT;
}

/*
 * A name that went away for another: if it is made anew by another process,
 * the move comes first.
 */
static bool cut_move(struct settle *s, struct settle_node *gone)
{
	struct settle_node *to = gone->partner, *c;

	if (!to)
		return false;
	settle_unjoin(gone);
	if (to->cut) {
		settle_set_from(s, to, must_strdup(gone->at.path));
		return true;
	}
	c = settle_cut_off(s, to);
	settle_set_from(s, c, must_strdup(gone->at.path));
	array_append(&c->authors, gone->authors.at, gone->authors.count);
	c->author = gone->author;
	c->wrote = c->merged = c->gone = false;
	c->last = gone->last;
	/* It comes after the versions of what it moved over. */
	for (const struct settle_node *o = c->older; o; o = o->older)
		c->last = o->last > c->last ? o->last : c->last;
	c->wall_ns = gone->wall_ns;
	settle_begin_at(s, c, gone->first);
	settle_begin_at(s, to, gone->last);
	return true;
}

/* The name is free. */
static void begin_anew(struct settle_node *n)
{
	n->authors.count = 0;
	n->merged = n->wrote = n->emptied = n->outside = n->gone = false;
	n->born = true;
}

/* What was dirty of `n` is a version of its own. */
static void cut(struct settle *s, struct settle_node *n, bool held)
{
	struct settle_node *c;

	if (n->gone && cut_move(s, n)) {
		begin_anew(n);
		return;
	}
	c = settle_cut_off(s, n);
	settle_pass_partner(n, c);
	settle_set_like(s, c, n->like ? must_strdup(n->like) : NULL);
	settle_set_like(s, n, NULL);
	c->authors = n->authors;
	n->authors = (struct settle_authors){ .at = NULL };
	c->content = n->content;
	n->content = NULL;
	c->held = held;
	n->merged = n->wrote = n->emptied = n->outside = false;
	if (held)
		return;
	/* It is on the tape, and so is what was held. */
	n->born = n->gone;
	n->gone = false;
	for (c = n->older; c; c = c->older)
		c->held = false;
}

void settle_part(struct settle *s, struct settle_node *n,
		 const struct journal_line *l)
{
	if (!n->authors.count || n->gone || settle_is_own(n, l) ||
	    l->n <= s->again)
		return;
	cut(s, n, false);
	n->content = content_ref(n->older->content);
	settle_begin(s, n, l);
}

/* `n` holds what `older` was about: it could not be told apart. */
static void absorb(struct settle *s, struct settle_node *n,
		   struct settle_node *older)
{
	settle_put_before(n, older);
	settle_begin_with(s, n, older);
	settle_unjoin(n);
	settle_pass_partner(older, n);
	n->born = n->born || older->born;
	n->merged = true;
	settle_leave(s, older);
	settle_free_node(older);
}

static void merge(struct settle *s, struct settle_node *n)
{
	struct content *c = n->content;

	n->merged = true;
	while (n->older && n->older->content == c && c && !n->older->from)
		absorb(s, n, n->older);
	/* The move stays a change of its own: the former name is taken. */
	if (n->older && n->older->content == c && c) {
		settle_put_before(n, n->older);
		settle_drop_content(n->older);
		n->older->wrote = n->older->merged = false;
	}
}

void settle_end_version(struct settle *s, struct settle_node *n,
			const struct journal_line *l, bool always)
{
	bool own = settle_is_own(n, l);
	/* It closed what was kept, though that line comes later. */
	bool kept = n->content && n->content->kept;
	bool ends = !own || kept ||
		    (n->content && (always || settle_is_finished(n)));

	if (!n->authors.count || !ends)
		return;
	/* A shell opens a file, and its command writes it. */
	if (!always && n->emptied && descends(l->event.author, n->author))
		return;
	if (l->n > s->again && is_available(n)) {
		cut(s, n, own && n->born && !n->partner);
		settle_begin(s, n, l);
	} else if (!own || settle_is_finished(n)) {
		merge(s, n);
	}
}

void settle_change(struct settle *s, struct settle_node *n,
		   const struct journal_line *l)
{
	if (!n->content || !n->wrote) {
		settle_drop_content(n);
		n->content = content_new(s->pool);
	}
	content_change(n->content, l);
	settle_name_author(n, l, true);
	settle_set_like(s, n, NULL);
	if (n->gone)
		settle_come_back(s, n);
	n->wrote = true;
	n->by_name = false;
	n->gone = false;
}

/* -- What the file system kept. */

/* A version from outside, before the change that the line announces. */
static void add_outside(struct settle *s, const struct journal_line *l)
{
	struct settle_node *n = settle_find(s, l->event.path);
	const struct journal_line outside = {
		.n = l->n,
		.mono_ns = l->mono_ns,
		.wall_ns = l->wall_ns,
		.event = { .ino = l->event.ino },
	};

	if (!n)
		n = settle_add(s, l->event.path, l);
	else
		settle_end_version(s, n, &outside, true);
	settle_stamp(s, n, l);
	settle_change(s, n, &outside);
	n->outside = !n->merged;
	content_keep(n->content, l);
	if (is_available(n)) {
		cut(s, n, false);
		settle_begin(s, n, l);
	} else {
		n->merged = true;
		n->outside = false;
	}
}

void settle_on_keep(struct settle *s, const struct journal_line *l)
{
	const struct journal_event *e = &l->event;
	struct settle_node *n = settle_find(s, e->path);
	bool outside = e->detail && strcmp(e->detail, JOURNAL_OUTSIDE) == 0;

	if (outside) {
		add_outside(s, l);
	} else if (n && n->content && n->content->last <= (uint64_t)e->off) {
		content_keep(n->content, l);
	} else if (e->path2) {
		array_push(&s->pool->done, must_strdup(e->path2));
	}
}
