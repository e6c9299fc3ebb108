/*
 * A node per dirty path, under the name it has after the lines so far. A node
 * remembers how its content was known before its first line: by its own name,
 * by another (`from`, after renames), or not at all (`born`).
 *
 * When a node settles:
 *
 *	a file that existed before	at once, when the handles that wrote
 *	is written in place		are closed
 *	a new file is renamed to it	at once: an atomic save
 *	a file that is new		after the quiet time: a program may be
 *					about to rename it over another
 *	a name that went away		after the quiet time: it may come back
 *					(git removes and makes anew, editors
 *					rename and write anew)
 *	anything else			after the quiet time
 *
 * A name that went away waits for the node it became, and that node for it, so
 * that a move is one change. SETTLE_LONGEST_NS bounds the wait.
 *
 * The journal has no line for every open, only for those that make or empty a
 * file, so the count of handles is approximate: a close without a counted open
 * belongs to one of the others. Settling too early costs one more entry;
 * settling too late, the quiet time.
 *
 * A rename of a directory moves the nodes below it, and nodes made later below
 * its new name were known under the old one. `dirs` counts the nodes below each
 * directory, so that a rename of a file need not visit every node; `origins`
 * counts the nodes that were known under a name, for settle_has().
 */
#include "tape/settle.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/base/array.h"
#include "graph/base/cleanup.h"
#include "graph/base/paths.h"
#include "tape/journal/journal.h"

#define WRITERS_MAX 4

/* No path of a file: where one side of an exchange waits for the other. */
#define NOWHERE "\001"

/* A place in one of the rings. */
struct settle_link {
	struct settle_link *next, *prev;
};

struct settle_node {
	struct paths_node at;	 /* first */
	struct settle_link late; /* in the ring by last lines */
	struct settle_link age;	 /* in the ring by first lines */
	char *from;		 /* NULL: its own name, or none if `born` */
	char *to;		 /* of a name that went away: its new name */
	const struct journal_author *author;
	bool wrote; /* the author wrote text, and did not only rename */
	uint64_t first, last;
	int64_t wall_ns;
	uint64_t first_mono, last_mono;
	bool born;	/* did not exist before the first line */
	bool gone;	/* does not exist after the last */
	bool file;	/* certainly no directory */
	bool directory; /* moved here, and perhaps a directory */
	bool urgent;	/* complete: no handle that wrote is open */
	bool chosen;	/* to be handed over */
	int32_t opens;	/* open handles, as far as lines tell */
	uint32_t writers[WRITERS_MAX]; /* pids that wrote and may write on */
	size_t writers_count;
};

/* A directory with dirty paths below it, or a name that nodes came from. */
struct settle_tally {
	struct paths_node at; /* first */
	size_t count;
};

struct settle {
	settle_known *known;
	void *ctx;
	struct table nodes;
	struct settle_link late; /* all nodes, the oldest last line first */
	struct settle_link age;	 /* all nodes, the oldest first line first */
	struct table dirs;	 /* struct settle_tally */
	struct table origins;	 /* the same, by the `from` of nodes */
	size_t moved;		 /* nodes with `directory` set */
	ARRAY(void *) taken;	 /* struct settle_node */
	ARRAY(struct settled) settled;
};

static void ring_init(struct settle_link *ring)
{
	ring->next = ring->prev = ring;
}

static struct settle_node *of_late(struct settle_link *l)
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

struct settle *settle_new(settle_known *known, void *ctx)
{
	struct settle *s = must_calloc(1, sizeof(*s));

	s->known = known;
	s->ctx = ctx;
	ring_init(&s->late);
	ring_init(&s->age);
	return s;
}

static void node_free(struct settle_node *n)
{
	if (!n)
		return;
	free(n->at.path);
	free(n->from);
	free(n->to);
	free(n);
}

static void forget_taken(struct settle *s)
{
	for (uint32_t i = 0; i < s->taken.count; i++)
		node_free(s->taken.at[i]);
	s->taken.count = 0;
	s->settled.count = 0;
}

static void free_node(struct paths_node *n, void *arg)
{
	(void)arg;
	node_free((struct settle_node *)n);
}

static void free_tally(struct paths_node *n, void *arg)
{
	(void)arg;
	free(n->path);
	free(n);
}

void settle_free(struct settle *s)
{
	if (!s)
		return;
	forget_taken(s);
	paths_each(&s->nodes, free_node, NULL);
	paths_each(&s->dirs, free_tally, NULL);
	paths_each(&s->origins, free_tally, NULL);
	table_release(&s->nodes);
	table_release(&s->dirs);
	table_release(&s->origins);
	array_release(&s->taken);
	array_release(&s->settled);
	free(s);
}

/* Count one more, or one less, for the first `len` bytes of `path`. */
static void count(struct table *t, const char *path, size_t len, bool more)
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
		count(&s->dirs, path, (size_t)(slash - path), more);
}

/* Takes ownership of `from`. */
static void set_from(struct settle *s, struct settle_node *n, char *from)
{
	if (n->from)
		count(&s->origins, n->from, strlen(n->from), false);
	free(n->from);
	n->from = from;
	if (from)
		count(&s->origins, from, strlen(from), true);
}

static void set_directory(struct settle *s, struct settle_node *n,
			  bool directory)
{
	s->moved += (size_t)directory;
	s->moved -= (size_t)n->directory;
	n->directory = directory;
	assert(s->moved <= s->nodes.count);
}

static void link_node(struct settle *s, struct settle_node *n, const char *path)
{
	assert(!paths_find(&s->nodes, path));
	paths_add(&s->nodes, &n->at, path);
	count_above(s, path, true);
}

/* Frees its path; the node itself is the caller's. */
static void unlink_node(struct settle *s, struct settle_node *n)
{
	count_above(s, n->at.path, false);
	paths_remove(&s->nodes, &n->at);
}

static void drop(struct settle *s, struct settle_node *n)
{
	if (!n)
		return;
	set_directory(s, n, false);
	set_from(s, n, NULL);
	unlink_node(s, n);
	ring_leave(&n->late);
	ring_leave(&n->age);
	node_free(n);
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

/* The name under which a path without a node was known (free it); NULL: it is
   the same. */
static char *former_name(const struct settle *s, const char *path)
{
	const struct settle_node *n = moved_above(s, path);

	return n ? paths_join(n->from, paths_below(path, n->at.path)) : NULL;
}

static struct settle_node *node_new(struct settle *s, const char *path,
				    const struct journal_line *l)
{
	struct settle_node *n = must_calloc(1, sizeof(*n));

	n->first = l->n;
	n->first_mono = l->mono_ns;
	ring_enter(&s->late, &n->late);
	ring_enter(&s->age, &n->age);
	set_from(s, n, former_name(s, path));
	link_node(s, n, path);
	return n;
}

static void stamp(struct settle *s, struct settle_node *n,
		  const struct journal_line *l)
{
	ring_leave(&n->late);
	ring_enter(&s->late, &n->late);
	n->last = l->n;
	n->last_mono = l->mono_ns;
	n->wall_ns = (int64_t)l->wall_ns;
	n->urgent = false;
}

/* `n` is about the lines of `other`, too. */
static void begin_with(struct settle_node *n, const struct settle_node *other)
{
	if (other->first >= n->first)
		return;
	n->first = other->first;
	ring_leave(&n->age);
	ring_enter(other->age.next, &n->age);
}

/* The node of `path`, with this line as its newest. */
static struct settle_node *touch(struct settle *s, const char *path,
				 const struct journal_line *l)
{
	struct settle_node *n = paths_find(&s->nodes, path);

	if (!n)
		n = node_new(s, path, l);
	stamp(s, n, l);
	return n;
}

static void name_author(struct settle_node *n, const struct journal_line *l)
{
	if (!n->wrote)
		n->author = l->event.author;
}

static void text_author(struct settle_node *n, const struct journal_line *l)
{
	n->author = l->event.author;
	n->wrote = true;
	n->file = true;
	n->gone = false;
}

static uint32_t pid_of(const struct journal_event *e)
{
	return e->author ? e->author->pid : e->pid;
}

static void add_writer(struct settle_node *n, uint32_t pid)
{
	for (size_t i = 0; i < n->writers_count; i++)
		if (n->writers[i] == pid)
			return;
	assert(n->writers_count <= WRITERS_MAX);
	if (n->writers_count < WRITERS_MAX)
		n->writers[n->writers_count++] = pid;
}

/* A handle whose opener never wrote was used by the writers, by inheritance. */
static void remove_writer(struct settle_node *n, uint32_t pid)
{
	for (size_t i = 0; i < n->writers_count; i++) {
		if (n->writers[i] == pid) {
			n->writers[i] = n->writers[--n->writers_count];
			return;
		}
	}
	n->writers_count = 0;
}

static bool is_detail(const struct journal_event *e, const char *detail)
{
	return e->detail && strcmp(e->detail, detail) == 0;
}

static void on_write(struct settle *s, const struct journal_line *l)
{
	const struct journal_event *e = &l->event;
	struct settle_node *n;

	/* The file has lost that name. */
	if (is_detail(e, "deleted"))
		return;
	n = touch(s, e->path, l);
	text_author(n, l);
	/* truncate(2) has no handle. */
	if (e->op == JOURNAL_TRUNCATE)
		n->opens += is_detail(e, "open");
	else
		add_writer(n, pid_of(e));
}

static void on_make(struct settle *s, const struct journal_line *l,
		    const char *path)
{
	struct settle_node *n = paths_find(&s->nodes, path);
	bool born = !n && !(s->known && s->known(s->ctx, path));

	n = touch(s, path, l);
	if (born) {
		n->born = true;
		set_from(s, n, NULL);
	}
	set_directory(s, n, false);
	text_author(n, l);
	n->opens = l->event.op == JOURNAL_CREATE;
	n->writers_count = 0;
}

/* A second name; text that was just written keeps its author. */
static void on_link(struct settle *s, const struct journal_line *l)
{
	const struct settle_node *old = paths_find(&s->nodes, l->event.path);
	const struct journal_author *author =
		old && old->wrote ? old->author : l->event.author;
	struct settle_node *n;

	on_make(s, l, l->event.path2);
	n = paths_find(&s->nodes, l->event.path2);
	n->author = author;
}

static void on_unlink(struct settle *s, const struct journal_line *l)
{
	struct settle_node *n = touch(s, l->event.path, l);

	/* The node of its former name records the move. */
	if (n->from && paths_find(&s->nodes, n->from)) {
		set_from(s, n, NULL);
		n->born = !(s->known && s->known(s->ctx, n->at.path));
	}
	if (n->born) {
		drop(s, n);
		return;
	}
	set_directory(s, n, false);
	n->author = l->event.author;
	n->wrote = false;
	n->gone = true;
	n->opens = 0;
	n->writers_count = 0;
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

/* The nodes below `from` are below `to` now. */
static void move_below(struct settle *s, const char *from, const char *to)
{
	struct collection c = { .dir = from };

	if (!paths_find(&s->dirs, from))
		return;
	paths_each(&s->nodes, collect_below, &c);
	for (uint32_t i = 0; i < c.nodes.count; i++) {
		struct settle_node *n = c.nodes.at[i];
		char *path = paths_join(to, paths_below(n->at.path, from));

		if (!n->from && !n->born)
			set_from(s, n, must_strdup(n->at.path));
		unlink_node(s, n);
		drop(s, paths_find(&s->nodes, path));
		link_node(s, n, path);
		free(path);
	}
	array_release(&c.nodes);
}

/* `src` is new since the last settling: its text is the target's now. */
static void save_over(struct settle *s, struct settle_node *src,
		      struct settle_node *dst)
{
	/* The content before is the one known by its own name. */
	set_from(s, dst, dst->born ? NULL : former_name(s, dst->at.path));
	dst->author = src->author;
	dst->wrote = src->wrote;
	dst->file = src->file;
	dst->opens = src->opens;
	dst->writers_count = src->writers_count;
	memcpy(dst->writers, src->writers, sizeof(src->writers));
	begin_with(dst, src);
	dst->urgent = dst->opens <= 0 && !dst->writers_count;
	set_directory(s, dst, false);
	drop(s, src);
}

/* The name under which the content at `path` was known. (Free it.) */
static char *origin(const struct settle *s, const struct settle_node *n,
		    const char *path)
{
	char *from;

	if (n)
		return must_strdup(n->from ? n->from : n->at.path);
	from = former_name(s, path);
	return from ? from : must_strdup(path);
}

/* A file that existed before the first line moved. */
static void move_over(struct settle *s, const struct journal_line *l,
		      const char *path, struct settle_node *dst)
{
	struct settle_node *src = paths_find(&s->nodes, path);
	bool file = src && src->file;
	char *from = origin(s, src, path);

	set_from(s, dst, from);
	dst->wrote = src && src->wrote;
	dst->file = file;
	dst->author = dst->wrote ? src->author : l->event.author;
	if (src)
		begin_with(dst, src);
	/* It moved back to its own name. */
	if (strcmp(from, dst->at.path) == 0)
		set_from(s, dst, NULL);
	set_directory(s, dst, !file);

	src = touch(s, path, l);
	set_directory(s, src, false);
	free(src->to);
	src->to = must_strdup(dst->at.path);
	set_from(s, src, NULL);
	src->author = l->event.author;
	src->wrote = false;
	src->file = false;
	src->gone = true;
	src->opens = 0;
	src->writers_count = 0;
}

static void on_rename(struct settle *s, const struct journal_line *l,
		      const char *path, const char *path2)
{
	struct settle_node *src = paths_find(&s->nodes, path);
	struct settle_node *dst = paths_find(&s->nodes, path2);

	if (strcmp(path, path2) == 0)
		return;
	if (!dst)
		dst = node_new(s, path2, l);
	stamp(s, dst, l);
	dst->gone = false;
	if (src && src->born && !src->gone)
		save_over(s, src, dst);
	else
		move_over(s, l, path, dst);
	move_below(s, path, path2);
}

static void on_exchange(struct settle *s, const struct journal_line *l)
{
	const struct journal_event *e = &l->event;

	on_rename(s, l, e->path, NOWHERE);
	on_rename(s, l, e->path2, e->path);
	on_rename(s, l, NOWHERE, e->path2);
	drop(s, paths_find(&s->nodes, NOWHERE));
}

static void on_close(struct settle *s, const struct journal_line *l)
{
	struct settle_node *n = paths_find(&s->nodes, l->event.path);

	if (!n || n->gone)
		return;
	stamp(s, n, l);
	name_author(n, l);
	if (n->opens > 0)
		n->opens--;
	if (is_detail(&l->event, "wrote"))
		remove_writer(n, pid_of(&l->event));
	n->urgent = !n->born && n->opens == 0 && n->writers_count == 0;
}

/* Its mode is looked at; content and names stay. */
static void on_chmod(struct settle *s, const struct journal_line *l)
{
	struct settle_node *n = paths_find(&s->nodes, l->event.path);

	if (n && n->gone)
		return;
	n = touch(s, l->event.path, l);
	name_author(n, l);
	n->urgent = !n->born && n->opens == 0 && n->writers_count == 0;
}

void settle_line(struct settle *s, const struct journal_line *line)
{
	const struct journal_event *e = &line->event;

	if (e->res < 0)
		return;
	/* The other operations change no content, no name and no mode. */
	/* NOLINTNEXTLINE(clang-diagnostic-switch-enum) */
	switch ((int)e->op) {
	case JOURNAL_WRITE:
	case JOURNAL_MMAP:
	case JOURNAL_TRUNCATE:
	case JOURNAL_FALLOCATE:
	case JOURNAL_COPY:
		on_write(s, line);
		break;
	case JOURNAL_CREATE:
	case JOURNAL_MKNOD:
	case JOURNAL_SYMLINK:
		on_make(s, line, e->path);
		break;
	case JOURNAL_LINK:
		on_link(s, line);
		break;
	case JOURNAL_UNLINK:
		on_unlink(s, line);
		break;
	case JOURNAL_RENAME:
		on_rename(s, line, e->path, e->path2);
		break;
	case JOURNAL_EXCHANGE:
		on_exchange(s, line);
		break;
	case JOURNAL_CHMOD:
		on_chmod(s, line);
		break;
	case JOURNAL_CLOSE:
		on_close(s, line);
		break;
	default:
		break;
	}
}

/* When it settles, regardless of its partner. */
static uint64_t due(const struct settle_node *n)
{
	uint64_t quiet = n->last_mono + SETTLE_QUIET_NS;
	uint64_t longest = n->first_mono + SETTLE_LONGEST_NS;

	if (n->urgent)
		return n->last_mono;
	return quiet < longest ? quiet : longest;
}

static const struct settle_node *partner(const struct settle *s,
					 const struct settle_node *n)
{
	const char *other = n->gone ? n->to : n->from;

	return other ? paths_find(&s->nodes, other) : NULL;
}

static uint64_t due_with_partner(const struct settle *s,
				 const struct settle_node *n)
{
	const struct settle_node *other = partner(s, n);
	uint64_t own = due(n), others = other ? due(other) : 0;
	uint64_t longest = n->first_mono + SETTLE_LONGEST_NS;

	if (others <= own)
		return own;
	return others < longest || own >= longest ? others : longest;
}

/* Choose a node, and of those it moved from or to the ones that `wish` takes:
   a move is one change. */
struct choice {
	struct settle *s;
	uint64_t now_ns, upto;
	bool any;	     /* take partners in any state */
	ARRAY(void *) nodes; /* struct settle_node */
};

static bool is_ready(const struct choice *c, const struct settle_node *n)
{
	return c->any || n->first <= c->upto ||
	       due_with_partner(c->s, n) <= c->now_ns;
}

static void choose(struct choice *c, struct settle_node *n)
{
	if (!n || n->chosen || !is_ready(c, n))
		return;
	n->chosen = true;
	array_push(&c->nodes, n);
}

/* With the partners of all chosen nodes, and theirs. */
static void choose_with(struct choice *c, struct settle_node *n)
{
	uint32_t i = c->nodes.count;

	choose(c, n);
	for (; i < c->nodes.count; i++) {
		n = c->nodes.at[i];
		if (n->from)
			choose(c, paths_find(&c->s->nodes, n->from));
		if (n->to)
			choose(c, paths_find(&c->s->nodes, n->to));
	}
}

static int by_last(const void *a, const void *b)
{
	const struct settle_node *x = *(struct settle_node *const *)a;
	const struct settle_node *y = *(struct settle_node *const *)b;

	if (x->last != y->last)
		return x->last < y->last ? -1 : 1;
	return strcmp(x->at.path, y->at.path);
}

/* The node leaves the table and lives until the next settle_take(). */
static void hand_over(struct settle *s, struct settle_node *n)
{
	struct settled *t = array_add(&s->settled);
	char *path = must_strdup(n->at.path);
	char *from = n->from ? must_strdup(n->from) : NULL;

	set_directory(s, n, (t->directory = n->directory, false));
	set_from(s, n, NULL);
	unlink_node(s, n);
	ring_leave(&n->late);
	ring_leave(&n->age);
	n->at.path = path;
	n->from = from;
	array_push(&s->taken, n);
	t->path = path;
	t->from = n->from ? n->from : n->born ? NULL : path;
	t->author = n->author;
	t->first = n->first;
	t->last = n->last;
	t->at_ns = n->wall_ns;
	t->gone = n->gone;
}

static size_t hand_over_all(struct choice *c, const struct settled **ret)
{
	struct settle *s = c->s;

	if (c->nodes.count)
		qsort(c->nodes.at, c->nodes.count, sizeof(*c->nodes.at),
		      by_last);
	for (uint32_t i = 0; i < c->nodes.count; i++)
		hand_over(s, c->nodes.at[i]);
	array_release(&c->nodes);
	assert(s->nodes.count > 0 ||
	       (s->moved == 0 && s->dirs.count == 0 && s->origins.count == 0));
	*ret = s->settled.at;
	return s->settled.count;
}

size_t settle_take(struct settle *s, uint64_t now_ns, uint64_t upto,
		   size_t most, const struct settled **ret)
{
	struct choice c = { .s = s, .now_ns = now_ns, .upto = upto };

	forget_taken(s);
	for (struct settle_link *l = s->late.next;
	     l != &s->late && c.nodes.count < most; l = l->next)
		choose_with(&c, of_late(l));
	return hand_over_all(&c, ret);
}

size_t settle_take_path(struct settle *s, const char *path,
			const struct settled **ret)
{
	struct choice c = { .s = s, .any = true };

	forget_taken(s);
	choose_with(&c, paths_find(&s->nodes, path));
	for (const char *slash = strchr(path, '/'); slash;
	     slash = strchr(slash + 1, '/'))
		choose_with(&c, paths_find_part(&s->nodes, path,
						(size_t)(slash - path)));
	return hand_over_all(&c, ret);
}

struct least {
	const struct settle *s;
	uint64_t value; /* 0: none yet */
};

static void least_due(struct paths_node *n, void *arg)
{
	struct least *l = arg;
	uint64_t at = due_with_partner(l->s, (const struct settle_node *)n);

	if (!l->value || at < l->value)
		l->value = at ? at : 1;
}

uint64_t settle_due(const struct settle *s)
{
	struct least l = { .s = s };

	paths_each(&s->nodes, least_due, &l);
	return l.value;
}

uint64_t settle_oldest(const struct settle *s)
{
	const struct settle_link *l = s->age.next;

	return l == &s->age ? 0 : of_age(l)->first;
}

size_t settle_pending(const struct settle *s)
{
	return s->nodes.count;
}

/* Is a directory above it dirty: moved, here or from here? */
static bool is_moved_along(const struct settle *s, const char *path)
{
	for (const char *slash = strchr(path, '/'); slash;
	     slash = strchr(slash + 1, '/'))
		if (paths_find_part(&s->nodes, path, (size_t)(slash - path)))
			return true;
	return false;
}

bool settle_has(const struct settle *s, const char *path)
{
	return paths_find(&s->nodes, path) || paths_find(&s->origins, path) ||
	       is_moved_along(s, path);
}
