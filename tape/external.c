/*
 * What happens past the journal. inotify reports everything, also what came
 * through the mount, and is heard a moment later for all of it at once. By
 * then the journal has told what it knows; a path whose content is still
 * another than the tape knows was changed by somebody outside.
 *
 * A sweep compares all files with what is known, by their stamps: at the
 * start, after a gap in the journal, and when inotify has lost something. It
 * only makes suspects; these are looked at like those that inotify named.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/base/clock.h"
#include "graph/base/json.h"
#include "tape/daemon_i.h"
#include "tape/outside.h"
#include "tape/scope.h"
#include "tape/settle.h"
#include "tape/sweep.h"
#include "tape/wire/state.h"
#include "tape/wire/wire.h"

/* In a tree that cannot be watched as a whole, and after an overflow. */
#define SWEEP_EVERY_NS (30000 * NS_PER_MS)
#define SWEEP_SOON_NS  (1000 * NS_PER_MS)

/* For the file system to answer; it takes a tenth of it at most. */
#define FENCE_MS 1000

struct suspect *external_suspect(struct tape *t, const char *path,
				 enum entry_origin origin, uint64_t due_ns)
{
	struct suspect *s = paths_find(&t->suspects, path);

	if (!s) {
		s = must_calloc(1, sizeof(*s));
		paths_add(&t->suspects, &s->at, path);
		s->origin = origin;
		s->due_ns = due_ns;
	}
	if (due_ns < s->due_ns)
		s->due_ns = due_ns;
	/* inotify reports what came through the mount, too. */
	if (origin == ENTRY_MOUNT)
		s->origin = ENTRY_MOUNT;
	return s;
}

static uint64_t entry_of(const struct tape *t, const char *path)
{
	const struct known_file *k = known_find(t, path);

	return k ? k->n : 0;
}

/* The same, having looked: this is what its stamp was. */
static void suspect_seen(struct tape *t, const char *path,
			 const struct tree_stamp *st, enum entry_origin origin)
{
	struct suspect *s =
		external_suspect(t, path, origin, clock_mono_ns() + GRACE_NS);

	s->seen = true;
	s->stamp = *st;
	s->n = entry_of(t, path);
}

static void on_enter(void *ctx, const char *dir, int fd)
{
	struct tape *t = ctx;

	outside_watch(t->outside, dir, fd);
}

static void on_see(void *ctx, const char *path, const struct tree_stamp *st,
		   int origin)
{
	struct tape *t = ctx;
	struct known_file *k = known_find(t, path);

	if (t->learning && !k) {
		k = known_add(t, path);
		k->stamp = *st;
		array_push(&t->bases, must_strdup(path));
	}
	if (k)
		k->seen = t->sweep_number;
	if (t->learning)
		return;
	if (k && !k->racy && tree_same_stamp(&k->stamp, st))
		return;
	suspect_seen(t, path, st, (enum entry_origin)origin);
}

static void on_fail(void *ctx, const char *dir, int error)
{
	struct tape *t = ctx;

	(void)dir;
	(void)error;
	t->unreadable++;
}

static const struct sweep_ops sweep_ops = {
	.enter = on_enter,
	.see = on_see,
	.fail = on_fail,
};

int external_start(struct tape *t)
{
	int r = outside_open(&t->outside);

	if (r < 0) {
		tape_say("changes outside the mount cannot be noticed: %s",
			 strerrordesc_np(-r));
		return r;
	}
	t->sweep = sweep_new(t->c->root_fd, &sweep_ops, t);
	return 0;
}

static void free_node(struct paths_node *n, void *arg)
{
	(void)arg;
	free(n->path);
	free(n);
}

void external_stop(struct tape *t)
{
	sweep_free(t->sweep);
	outside_free(t->outside);
	paths_each(&t->suspects, free_node, NULL);
	table_release(&t->suspects);
}

void external_sweep(struct tape *t, enum entry_origin origin, bool urgent)
{
	t->sweep_number++;
	t->sweep_whole = true;
	t->sweep_urgent = t->sweep_urgent || urgent;
	t->sweep_origin = origin;
	t->sweep_at_ns = 0;
	sweep_add(t->sweep, "", (int)origin);
}

void external_below(struct tape *t, const char *dir, enum entry_origin origin)
{
	/* What came through the mount is there at the next barrier. */
	if (origin == ENTRY_MOUNT)
		t->sweep_urgent = true;
	sweep_add(t->sweep, dir, (int)origin);
}

static void miss(struct paths_node *n, void *arg)
{
	struct tape *t = arg;
	const struct known_file *k = (const struct known_file *)n;
	const struct tree_stamp none = { 0 };

	if (k->seen != t->sweep_number)
		suspect_seen(t, n->path, &none, t->sweep_origin);
}

/* Not every directory could be watched: look again by and by. */
static void plan_next(struct tape *t)
{
	struct outside_stats st;

	outside_stat(t->outside, &st);
	if (st.refused)
		t->sweep_at_ns = clock_mono_ns() + SWEEP_EVERY_NS;
}

bool external_step(struct tape *t)
{
	if (t->sweep_at_ns && (uint64_t)clock_mono_ns() >= t->sweep_at_ns)
		external_sweep(t, ENTRY_OUTSIDE, false);
	if (!sweep_busy(t->sweep))
		return false;
	if (sweep_step(t->sweep, SLICE_NAMES))
		return true;
	if (t->sweep_whole) {
		paths_each(&t->known, miss, t);
		plan_next(t);
	}
	t->sweep_whole = false;
	if (t->sweep_urgent)
		external_check(t, true);
	t->sweep_urgent = false;
	return false;
}

/* Without a journal this is all there is, and waiting only serves to see a
   save as one. */
static uint64_t due_of(const struct tape *t, const struct outside_event *e)
{
	if (t->c->journal)
		return clock_mono_ns() + GRACE_NS;
	if (e->done && known_find(t, e->path))
		return clock_mono_ns();
	return clock_mono_ns() + SETTLE_QUIET_NS;
}

/* What inotify has to tell, all of it. */
struct heard {
	struct tape *t;
	struct table went; /* directories: struct went */
};

struct went {
	struct paths_node at; /* first */
	uint64_t due_ns;
};

static void add_went(struct heard *h, const struct outside_event *e)
{
	struct went *w;

	if (paths_find(&h->went, e->path))
		return;
	w = must_calloc(1, sizeof(*w));
	w->due_ns = due_of(h->t, e);
	paths_add(&h->went, &w->at, e->path);
}

/* However many directories went, the known files are looked at once. */
static void suspect_below(struct paths_node *n, void *arg)
{
	const struct heard *h = arg;

	for (const char *slash = strchr(n->path, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		const struct went *w = paths_find_part(
			&h->went, n->path, (size_t)(slash - n->path));

		if (w)
			external_suspect(h->t, n->path, ENTRY_OUTSIDE,
					 w->due_ns);
	}
}

static void on_event(const struct outside_event *e, void *ctx)
{
	struct heard *h = ctx;
	struct tape *t = h->t;

	if (!e->directory) {
		external_suspect(t, e->path, ENTRY_OUTSIDE, due_of(t, e));
		return;
	}
	if (e->came)
		external_below(t, e->path, ENTRY_OUTSIDE);
	if (e->went)
		add_went(h, e);
}

void external_hear(struct tape *t)
{
	struct heard h = { .t = t };
	bool whole;

	t->outside_at_ns = 0;
	whole = outside_read(t->outside, on_event, &h);
	if (h.went.count)
		paths_each(&t->known, suspect_below, &h);
	paths_each(&h.went, free_node, NULL);
	table_release(&h.went);
	if (whole)
		return;
	tape_say("too much happened at once in '%s': every file is looked at",
		 t->c->state->repo);
	t->sweep_at_ns = clock_mono_ns() + SWEEP_SOON_NS;
}

/* A known file whose name went away, or may have. */
struct lost {
	uint64_t inode, size;
	const char *path;
};

struct due {
	uint64_t now_ns;
	bool all;
	ARRAY(void *) found;	 /* struct suspect */
	ARRAY(struct lost) lost; /* by inode */
};

static void find_due(struct paths_node *n, void *arg)
{
	struct due *d = arg;
	struct suspect *s = (struct suspect *)n;

	if (d->all || s->due_ns <= d->now_ns)
		array_push(&d->found, s);
}

static int by_inode(const void *a, const void *b)
{
	const struct lost *x = a, *y = b;

	return (x->inode > y->inode) - (x->inode < y->inode);
}

static void find_lost(const struct tape *t, struct due *d)
{
	for (uint32_t i = 0; i < d->found.count; i++) {
		const struct suspect *s = d->found.at[i];
		const struct known_file *k = known_find(t, s->at.path);
		struct lost l;

		if (!k)
			continue;
		l = (struct lost){ .inode = k->stamp.inode,
				   .size = k->stamp.size,
				   .path = s->at.path };
		array_push(&d->lost, l);
	}
	if (d->lost.count)
		qsort(d->lost.at, d->lost.count, sizeof(*d->lost.at), by_inode);
}

/* A name that came, with the file of one that went: the same file. */
static const char *moved_from(const struct tape *t, const struct due *d,
			      const char *path)
{
	struct lost key = { 0 }, *l;
	struct look now;

	if (known_find(t, path) || !d->lost.count)
		return NULL;
	look_only(t->c->root_fd, path, &now);
	key.inode = now.stamp.inode;
	l = bsearch(&key, d->lost.at, d->lost.count, sizeof(key), by_inode);
	return l && l->size == now.stamp.size ? l->path : NULL;
}

/* True: it needs no entry. */
static bool is_as_known(struct tape *t, const char *path)
{
	struct known_file *k = known_find(t, path);
	struct look now;

	if (!k)
		return false;
	look_only(t->c->root_fd, path, &now);
	if (!tree_same_stamp(&k->stamp, &now.stamp))
		return false;
	if (k->hashed)
		return !k->racy;
	look_at(t->c->root_fd, path, &t->text, &now);
	if (now.kind == LOOK_FILE || now.kind == LOOK_LINK)
		apply_base(t, k, &now);
	return true;
}

/*
 * A write through the mount changes the file a moment before its line is in
 * the journal. So whoever finds a difference has the file system end what it
 * has under way, and reads on: what no line tells of then came from outside,
 * if it is still what was found, also when it was read for the entry: by then
 * the next write may be under way.
 *
 * Where there is no file system to ask, a difference that was there before
 * will do.
 */
enum told { TOLD_ALL, TOLD_NOT_YET, TOLD_BY_NOBODY };

static enum told have_told(struct tape *t)
{
	CLEANUP(json_p) cJSON *answer = NULL;
	uint64_t now;
	int r;

	if (!t->c->journal)
		return TOLD_ALL;
	r = wire_ask(t->c->state->fs_socket, "FENCE", NULL, FENCE_MS, &answer);
	now = clock_mono_ns();
	while (follow_read(t, now))
		continue;
	if (r == -ECONNREFUSED)
		return TOLD_BY_NOBODY;
	return r == 0 && cJSON_IsTrue(json_member(answer, "ended"))
		       ? TOLD_ALL
		       : TOLD_NOT_YET;
}

/* As it is told by the journal, or as known: it needs no entry from here. */
static bool is_explained(struct tape *t, const struct suspect *s)
{
	return settle_has(t->settle, s->at.path) || is_as_known(t, s->at.path);
}

/* Is it as it was when it was last seen here? */
static bool is_steady(const struct tape *t, struct suspect *s)
{
	uint64_t n = entry_of(t, s->at.path);
	struct look now;
	bool steady;

	look_only(t->c->root_fd, s->at.path, &now);
	steady = s->seen && s->n == n && tree_same_stamp(&s->stamp, &now.stamp);
	s->seen = true;
	s->stamp = now.stamp;
	s->n = n;
	return steady;
}

static bool enter(struct tape *t, const struct due *d, const struct suspect *s)
{
	struct tape_change c = { .path = s->at.path,
				 .from = moved_from(t, d, s->at.path),
				 .origin = s->origin,
				 .at_ns = clock_wall_ns(),
				 .only = &s->stamp };

	return apply_change(t, &c);
}

/* Those that need an entry are left, and whether they were seen before. */
static bool find_unexplained(struct tape *t, const struct due *d)
{
	bool any = false;

	for (uint32_t i = 0; i < d->found.count; i++) {
		struct suspect *s = d->found.at[i];

		s->done = is_explained(t, s);
		s->steady = !s->done && is_steady(t, s);
		any = any || !s->done;
	}
	return any;
}

static bool is_sure(enum told told, const struct suspect *s)
{
	return told == TOLD_ALL || (told == TOLD_BY_NOBODY && s->steady);
}

/* Names that came first, so that a move is seen as one. */
static void enter_unexplained(struct tape *t, const struct due *d)
{
	enum told told = have_told(t);

	for (int known = 0; known <= 1; known++) {
		for (uint32_t i = 0; i < d->found.count; i++) {
			struct suspect *s = d->found.at[i];
			bool is = known_find(t, s->at.path) != NULL;

			if (s->done || is != (known == 1))
				continue;
			s->done = is_explained(t, s) ||
				  (is_sure(told, s) && is_steady(t, s) &&
				   enter(t, d, s));
			if (!s->done)
				s->due_ns = clock_mono_ns() + GRACE_NS;
		}
	}
}

static int by_path(const void *a, const void *b)
{
	return strcmp((*(struct suspect *const *)a)->at.path,
		      (*(struct suspect *const *)b)->at.path);
}

void external_check(struct tape *t, bool all)
{
	struct due d = { .now_ns = clock_mono_ns(), .all = all };

	paths_each(&t->suspects, find_due, &d);
	if (d.found.count)
		qsort(d.found.at, d.found.count, sizeof(*d.found.at), by_path);
	if (find_unexplained(t, &d)) {
		find_lost(t, &d);
		enter_unexplained(t, &d);
	}
	for (uint32_t i = 0; i < d.found.count; i++) {
		struct suspect *s = d.found.at[i];

		if (!s->done)
			continue;
		paths_remove(&t->suspects, &s->at);
		free(s);
	}
	array_release(&d.found);
	array_release(&d.lost);
	apply_commit(t);
}

static void least(struct paths_node *n, void *arg)
{
	const struct suspect *s = (const struct suspect *)n;
	uint64_t *due = arg;

	if (!*due || s->due_ns < *due)
		*due = s->due_ns;
}

uint64_t external_due(const struct tape *t)
{
	uint64_t due = t->sweep_at_ns;

	paths_each(&t->suspects, least, &due);
	if (t->outside_at_ns && (!due || t->outside_at_ns < due))
		due = t->outside_at_ns;
	return due;
}
