/*
 * The barrier: when it is answered, every change whose system call returned
 * before it was asked is on the tape. Nothing waits for time to pass:
 *
 *	READ	the journal up to the time of the question
 *	HEAR	inotify's queue as long as it was at the question: what changed
 *		outside the mount becomes a suspect
 *	APPLY	what is dirty by a line up to here, whether settled or not
 *	SWEEP	what must be listed for it: new directories, or every file if
 *		the journal or the queue lost something
 *	CHECK	the suspects up to here
 *
 * For everything, the loop does that work with the rest of its own; the barrier
 * says what is wanted, and looks how far it is. For some paths the barrier does
 * it itself: these are applied and checked before all others. A path need not
 * be a suspect for that: its stamp says whether it is as known.
 *
 * A change that cannot be decided in time, say because the file system is
 * stopped, is pending: the answer says so.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/base/clock.h"
#include "graph/base/debug.h"
#include "tape/daemon_i.h"
#include "tape/outside.h"
#include "tape/settle.h"
#include "tape/store/store.h"
#include "tape/sweep.h"

enum sync_stage {
	SYNC_READ,
	SYNC_HEAR,
	SYNC_APPLY,
	SYNC_SWEEP,
	SYNC_CHECK,
	SYNC_DONE,
};

struct sync {
	enum sync_stage stage;
	uint64_t asked_ns, until_ns; /* CLOCK_MONOTONIC; until_ns 0: no limit */
	bool all;
	bool swept; /* a sweep was begun, if one is needed */
	ARRAY(char *) paths;
	uint32_t at;	      /* the next path to apply */
	struct check *check;  /* of paths; NULL: not begun */
	ARRAY(uint32_t) open; /* paths that are, at the end */

	uint64_t heard;	  /* inotify's queue up to there */
	uint64_t line;	  /* the journal up to there */
	uint64_t suspect; /* suspects up to there */
};

struct sync *sync_new(const struct tape *t, int64_t asked_ns,
		      const struct answers_wish *wish)
{
	struct sync *s = must_calloc(1, sizeof(*s));

	s->asked_ns = (uint64_t)asked_ns;
	if (wish->within_ms >= 0)
		s->until_ns =
			s->asked_ns + (uint64_t)wish->within_ms * NS_PER_MS;
	s->all = wish->everything;
	for (size_t i = 0; i < wish->count; i++)
		array_push(&s->paths, must_strdup(wish->paths[i]));
	s->heard = outside_end(t->outside);
	return s;
}

void sync_free(struct sync *s)
{
	if (!s)
		return;
	while (s->paths.count)
		free(s->paths.at[--s->paths.count]);
	array_release(&s->paths);
	array_release(&s->open);
	check_free(s->check);
	free(s);
}

/* -- The stages. Each returns true when it is done. */

static bool has_read(struct tape *t, struct sync *s)
{
	while (t->read_ns < s->asked_ns && !slice_over(t))
		if (!follow_read(t))
			break;
	if (t->read_ns < s->asked_ns)
		return false;
	s->line = t->line;
	return true;
}

static bool has_heard(struct tape *t, struct sync *s)
{
	while (!outside_has_read(t->outside, s->heard) && !slice_over(t))
		if (!external_hear(t))
			break;
	return outside_has_read(t->outside, s->heard);
}

static bool has_applied(struct tape *t, struct sync *s)
{
	uint64_t oldest;

	for (; s->at < s->paths.count; s->at++) {
		if (slice_over(t) || !follow_apply_path(t, s->paths.at[s->at]))
			break;
	}
	apply_commit(t);
	if (!s->all)
		return s->at == s->paths.count;
	oldest = settle_oldest(t->settle);
	if (!oldest || oldest > s->line)
		return true;
	if (t->wanted < s->line)
		t->wanted = s->line;
	return false;
}

/* Paths need no sweep: each is looked at. */
static bool has_swept(struct tape *t, struct sync *s)
{
	struct outside_stats st;

	outside_stat(t->outside, &st);
	if (s->all && !s->swept && (t->outside_lost || st.refused))
		external_sweep(t, ENTRY_OUTSIDE, false);
	s->swept = true;
	if (s->all && sweep_busy(t->sweep))
		return false;
	s->suspect = t->suspect_number;
	return true;
}

/* A suspect that is as known, by its stamp, is none any more. */
static void suspect_paths(struct tape *t, const struct sync *s)
{
	bool lost = t->sweep_whole && t->sweep_urgent;
	enum entry_origin origin = lost ? t->sweep_origin : ENTRY_OUTSIDE;

	for (uint32_t i = 0; i < s->paths.count; i++)
		(void)external_suspect(t, s->paths.at[i], origin,
				       clock_mono_ns() + GRACE_NS);
}

static bool has_checked_paths(struct tape *t, struct sync *s)
{
	if (!s->check) {
		suspect_paths(t, s);
		s->check = check_new();
		check_begin_paths(t, s->check, (const char *const *)s->paths.at,
				  s->paths.count);
	}
	check_step(t, s->check);
	return !check_busy(s->check);
}

struct sync_count {
	const struct sync *s;
	size_t open;	  /* to be checked yet */
	size_t undecided; /* or tried in vain since the question */
};

static void count_suspect(struct paths_node *n, void *arg)
{
	const struct suspect *x = (const struct suspect *)n;
	struct sync_count *c = arg;

	if (x->number > c->s->suspect)
		return;
	c->undecided++;
	if (x->late_ns < c->s->asked_ns)
		c->open++;
}

static struct sync_count count_suspects(const struct tape *t,
					const struct sync *s)
{
	struct sync_count c = { .s = s };

	paths_each(&t->suspects, count_suspect, &c);
	return c;
}

static bool has_checked(struct tape *t, struct sync *s)
{
	if (!s->all)
		return has_checked_paths(t, s);
	if (!count_suspects(t, s).open)
		return true;
	if (t->suspects_wanted < s->suspect)
		t->suspects_wanted = s->suspect;
	return false;
}

bool sync_step(struct tape *t, struct sync *s)
{
	static bool (*const stages[])(struct tape * t, struct sync * s) = {
		[SYNC_READ] = has_read,	    [SYNC_HEAR] = has_heard,
		[SYNC_APPLY] = has_applied, [SYNC_SWEEP] = has_swept,
		[SYNC_CHECK] = has_checked,
	};

	while (s->stage != SYNC_DONE && stages[s->stage](t, s))
		s->stage++;
	if (s->stage == SYNC_DONE || t->error)
		return true;
	return s->until_ns && (uint64_t)clock_mono_ns() >= s->until_ns;
}

/* -- The answer. */

/* Is one of the paths not settled? */
static bool is_open(const struct tape *t, const struct sync *s,
		    const char *path)
{
	const struct suspect *x = paths_find(&t->suspects, path);

	/* Lines and events that were not read yet may be about any path. */
	if (s->stage <= SYNC_HEAR)
		return true;
	if (s->stage <= SYNC_APPLY)
		return x || settle_has(t->settle, path);
	/* After that, what is new came after the question. */
	return x && (s->stage != SYNC_DONE || x->late_ns >= s->asked_ns);
}

static uint64_t pending(const struct tape *t, const struct sync *s)
{
	uint64_t others = settle_pending(t->settle) + t->suspects.count +
			  sweep_busy(t->sweep);

	return s->all && s->stage == SYNC_DONE ? count_suspects(t, s).undecided
					       : others;
}

void sync_head(struct tape *t, struct sync *s, struct answers_head *ret)
{
	for (uint32_t i = 0; i < s->paths.count; i++)
		if (is_open(t, s, s->paths.at[i]))
			array_push(&s->open, i);
	*ret = (struct answers_head){
		.n = store_head(t->store),
		.journal = t->line,
		.ready = true,
		.pending = pending(t, s),
		.unread = s->stage <= SYNC_HEAR,
		.open = s->open.at,
		.open_count = s->open.count,
	};
	DEBUG(DEBUG_TAPE, "SYNC: entry %llu, journal line %llu%s",
	      (unsigned long long)ret->n, (unsigned long long)ret->journal,
	      t->error ? ", the store failed" : "");
}
