/*
 * Changes that did not pass through the mount. inotify reports every change,
 * including those through the mount, and its events are read together a moment
 * later. By then the journal's lines about them have been read; a path whose
 * content still differs from the known one was changed outside.
 *
 * A sweep compares the stamps of all files with the known ones: at the start,
 * after a gap in the journal, and when inotify's queue ran over. It only makes
 * suspects, which are checked like the paths that inotify names.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/base/clock.h"
#include "graph/base/json.h"
#include "tape/daemon_i.h"
#include "tape/journal/scope.h"
#include "tape/outside.h"
#include "tape/settle.h"
#include "tape/sweep.h"
#include "tape/wire/state.h"
#include "tape/wire/wire.h"

/* Between sweeps of a tree with unwatched directories, and before the one after
   an overflow. */
#define SWEEP_EVERY_NS (30000 * NS_PER_MS)
#define SWEEP_SOON_NS  (1000 * NS_PER_MS)

/* The file system answers within a tenth of this. */
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
	/* inotify reports changes through the mount, too. */
	if (origin == ENTRY_MOUNT)
		s->origin = ENTRY_MOUNT;
	return s;
}

static uint64_t entry_of(const struct tape *t, const char *path)
{
	const struct known_file *k = known_find(t, path);

	return k ? k->n : 0;
}

/* A suspect whose stamp has been read already. */
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
	if (k && !k->racy && tree_same_stamp(&k->stamp, st)) {
		/* The store does not keep it. */
		k->stamp.mode = st->mode;
		return;
	}
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
	/* A change through the mount must be on the tape at the next SYNC. */
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

/* Some directories could not be watched: sweep again later. */
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

/* Without a journal there is no line to wait for; the quiet time only makes a
   save one entry. */
static uint64_t due_of(const struct tape *t, const struct outside_event *e)
{
	if (t->c->journal)
		return clock_mono_ns() + GRACE_NS;
	if (e->done && known_find(t, e->path))
		return clock_mono_ns();
	return clock_mono_ns() + SETTLE_QUIET_NS;
}

/* One reading of inotify's events. */
struct external_events {
	struct tape *t;
	struct table went; /* removed directories: struct external_went */
};

struct external_went {
	struct paths_node at; /* first */
	uint64_t due_ns;
};

static void add_went(struct external_events *h, const struct outside_event *e)
{
	struct external_went *w;

	if (paths_find(&h->went, e->path))
		return;
	w = must_calloc(1, sizeof(*w));
	w->due_ns = due_of(h->t, e);
	paths_add(&h->went, &w->at, e->path);
}

/* One pass over the known files, however many directories went away. */
static void suspect_below(struct paths_node *n, void *arg)
{
	const struct external_events *h = arg;

	for (const char *slash = strchr(n->path, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		const struct external_went *w = paths_find_part(
			&h->went, n->path, (size_t)(slash - n->path));

		if (w)
			external_suspect(h->t, n->path, ENTRY_OUTSIDE,
					 w->due_ns);
	}
}

static void on_event(const struct outside_event *e, void *ctx)
{
	struct external_events *h = ctx;
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
	struct external_events h = { .t = t };
	bool whole;

	t->outside_at_ns = 0;
	whole = outside_read(t->outside, on_event, &h);
	if (h.went.count)
		paths_each(&t->known, suspect_below, &h);
	paths_each(&h.went, free_node, NULL);
	table_release(&h.went);
	if (whole)
		return;
	tape_say("too many changes at once in '%s': every file is checked",
		 t->c->state->repo);
	t->sweep_at_ns = clock_mono_ns() + SWEEP_SOON_NS;
}

/* A known file whose name went away, or may have. */
struct external_lost {
	uint64_t inode, size;
	const char *path;
};

struct external_due {
	uint64_t now_ns;
	bool all;
	ARRAY(void *) found;		  /* struct suspect */
	ARRAY(struct external_lost) lost; /* by inode */
};

static void find_due(struct paths_node *n, void *arg)
{
	struct external_due *d = arg;
	struct suspect *s = (struct suspect *)n;

	if (d->all || s->due_ns <= d->now_ns)
		array_push(&d->found, s);
}

static int by_inode(const void *a, const void *b)
{
	const struct external_lost *x = a, *y = b;

	return (x->inode > y->inode) - (x->inode < y->inode);
}

static void find_lost(const struct tape *t, struct external_due *d)
{
	for (uint32_t i = 0; i < d->found.count; i++) {
		const struct suspect *s = d->found.at[i];
		const struct known_file *k = known_find(t, s->at.path);
		struct external_lost l;

		if (!k)
			continue;
		l = (struct external_lost){ .inode = k->stamp.inode,
					    .size = k->stamp.size,
					    .path = s->at.path };
		array_push(&d->lost, l);
	}
	if (d->lost.count)
		qsort(d->lost.at, d->lost.count, sizeof(*d->lost.at), by_inode);
}

/* The former name of a new one, if it has the inode of a name that went. */
static const char *moved_from(const struct tape *t,
			      const struct external_due *d, const char *path)
{
	struct external_lost key = { 0 }, *l;
	struct look now;

	if (known_find(t, path) || !d->lost.count)
		return NULL;
	look_only(t->c->root_fd, path, &now);
	key.inode = now.stamp.inode;
	l = bsearch(&key, d->lost.at, d->lost.count, sizeof(key), by_inode);
	return l && l->size == now.stamp.size ? l->path : NULL;
}

/* True: the file is as known, and needs no entry. */
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
 * the journal. So before a difference counts as outside, FENCE asks the file
 * system to finish the operations under way, and the journal is read to its
 * end. A difference that no line explains then came from outside, provided the
 * file still has the same stamp when it is read for the entry: the next write
 * may be under way by then.
 *
 * Without a file system to ask, a difference that two looks found the same
 * counts.
 */
enum external_fence { FENCE_PASSED, FENCE_LATE, FENCE_ABSENT };

static enum external_fence pass_fence(struct tape *t)
{
	CLEANUP(json_p) cJSON *answer = NULL;
	uint64_t now;
	int r;

	if (!t->c->journal)
		return FENCE_PASSED;
	r = wire_ask(t->c->state->fs_socket, "FENCE", NULL, FENCE_MS, &answer);
	now = clock_mono_ns();
	while (follow_read(t, now))
		continue;
	if (r == -ECONNREFUSED)
		return FENCE_ABSENT;
	return r == 0 && cJSON_IsTrue(json_member(answer, "ended"))
		       ? FENCE_PASSED
		       : FENCE_LATE;
}

/* Lines about it are being settled, or it is as known: no entry from here. */
static bool is_explained(struct tape *t, const struct suspect *s)
{
	return settle_has(t->settle, s->at.path) || is_as_known(t, s->at.path);
}

/* Does it have the stamp and the newest entry of the last look? */
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

static bool enter(struct tape *t, const struct external_due *d,
		  const struct suspect *s)
{
	struct tape_change c = { .path = s->at.path,
				 .from = moved_from(t, d, s->at.path),
				 .origin = s->origin,
				 .at_ns = clock_wall_ns(),
				 .only = &s->stamp };

	return apply_change(t, &c);
}

/* Marks the others done. True: some need an entry. */
static bool find_unexplained(struct tape *t, const struct external_due *d)
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

static bool is_sure(enum external_fence fence, const struct suspect *s)
{
	return fence == FENCE_PASSED || (fence == FENCE_ABSENT && s->steady);
}

/* New names before known ones, so that a move becomes one entry. */
static void enter_unexplained(struct tape *t, const struct external_due *d)
{
	enum external_fence fence = pass_fence(t);

	for (int known = 0; known <= 1; known++) {
		for (uint32_t i = 0; i < d->found.count; i++) {
			struct suspect *s = d->found.at[i];
			bool is = known_find(t, s->at.path) != NULL;

			if (s->done || is != (known == 1))
				continue;
			s->done = is_explained(t, s) ||
				  (is_sure(fence, s) && is_steady(t, s) &&
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
	struct external_due d = { .now_ns = clock_mono_ns(), .all = all };

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
