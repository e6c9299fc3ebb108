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
#include "tape/daemon_i.h"
#include "tape/journal/scope.h"
#include "tape/outside.h"
#include "tape/settle.h"
#include "tape/sweep.h"
#include "tape/wire/state.h"

/* Between sweeps of a tree with unwatched directories, and before the one after
   an overflow. */
#define SWEEP_EVERY_NS (30000 * NS_PER_MS)
#define SWEEP_SOON_NS  (1000 * NS_PER_MS)

struct suspect *external_suspect(struct tape *t, const char *path,
				 enum entry_origin origin, uint64_t due_ns)
{
	struct suspect *s = paths_find(&t->suspects, path);

	if (!s) {
		s = must_calloc(1, sizeof(*s));
		paths_add(&t->suspects, &s->at, path);
		s->origin = origin;
		s->due_ns = due_ns;
		s->number = ++t->suspect_number;
	}
	if (due_ns < s->due_ns)
		s->due_ns = due_ns;
	/* inotify reports changes through the mount, too. */
	if (origin == ENTRY_MOUNT)
		s->origin = ENTRY_MOUNT;
	return s;
}

uint64_t external_entry(const struct tape *t, const char *path)
{
	const struct known_file *k = known_find(t, path);

	return k ? k->n : 0;
}

/* A suspect whose stamp has been read already. */
static void suspect_seen(struct tape *t, const char *path,
			 const struct tree_stamp *st, enum entry_origin origin)
{
	uint64_t now = clock_mono_ns();
	struct suspect *s = external_suspect(
		t, path, origin, t->sweep_urgent ? now : now + GRACE_NS);

	s->seen = true;
	s->stamp = *st;
	s->n = external_entry(t, path);
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
	t->check = check_new();
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
	check_free(t->check);
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
	t->outside_lost = false;
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

static void sweep_ended(struct tape *t)
{
	if (t->sweep_whole) {
		paths_each(&t->known, miss, t);
		plan_next(t);
	}
	t->sweep_whole = false;
	t->sweep_urgent = false;
}

bool external_step(struct tape *t)
{
	if (t->sweep_at_ns && (uint64_t)clock_mono_ns() >= t->sweep_at_ns)
		external_sweep(t, ENTRY_OUTSIDE, false);
	if (!sweep_busy(t->sweep))
		return false;
	while (!slice_over(t))
		if (!sweep_step(t->sweep, SLICE_NAMES)) {
			sweep_ended(t);
			return false;
		}
	return true;
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

bool external_hear(struct tape *t)
{
	struct external_events h = { .t = t };
	bool whole = true,
	     more = outside_read(t->outside, on_event, &h, &whole);

	if (!more)
		t->outside_at_ns = 0;
	if (h.went.count)
		paths_each(&t->known, suspect_below, &h);
	paths_each(&h.went, free_node, NULL);
	table_release(&h.went);
	if (whole)
		return more;
	tape_say("too many changes at once in '%s': every file is checked",
		 t->c->state->repo);
	t->outside_lost = true;
	t->sweep_at_ns = clock_mono_ns() + SWEEP_SOON_NS;
	return more;
}

void external_check(struct tape *t)
{
	if (!check_busy(t->check))
		check_begin(t, t->check, t->suspects_wanted);
	check_step(t, t->check);
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

	/* Those that a check is about are not due again. */
	if (check_busy(t->check))
		due = sooner(due, check_due(t->check));
	else
		paths_each(&t->suspects, least, &due);
	return sooner(due, t->outside_at_ns);
}
