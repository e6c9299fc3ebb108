/*
 * Checking suspects. A write through the mount changes the file a moment before
 * its line is in the journal. So before a difference counts as outside, the
 * operations that were in flight must have ended (fence.h), and the journal is
 * read up to then. A difference that no line explains came from outside,
 * provided the file still has the same stamp when it is read for the entry: the
 * next write may be under way by then.
 *
 *	LOOK	which of them differ from what is known? Mostly none
 *	FENCE	until what was in flight has ended
 *	READ	until the journal was read up to then
 *	ENTER	make entries of those that still differ
 *
 * Each stage is done in slices. If operations take too long, the suspects stay,
 * and are checked again later.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/base/clock.h"
#include "graph/facts/lang.h"
#include "tape/apart.h"
#include "tape/daemon_i.h"
#include "tape/fence.h"
#include "tape/journal/progress.h"
#include "tape/settle.h"
#include "tape/wire/bell.h"

/* A file that changes again and again is left alone for a while. */
#define TRIES_MAX 3

enum check_stage {
	CHECK_NONE,
	CHECK_LOOK,
	CHECK_FENCE,
	CHECK_READ,
	CHECK_ENTER_NEW, /* new names before known ones: a move is one entry */
	CHECK_ENTER_KNOWN,
};

/* A known file whose name went away, or may have. */
struct check_lost {
	uint64_t inode, size;
	char *path;
};

struct check {
	enum check_stage stage;
	ARRAY(char *) paths; /* of suspects; some may be done by now */
	uint32_t at;	     /* the next of them in this stage */
	bool any;	     /* some need an entry */
	bool settles;	     /* what is dirty is applied, not waited for */
	bool waits;	     /* a large file is being parsed */
	uint64_t ticket;
	uint64_t fence_ns; /* when the fence began */
	uint64_t read_ns;  /* up to when the journal must be read */
	enum fence_state fence;
	bool lost_known;
	ARRAY(struct check_lost) lost; /* by inode */
};

struct check *check_new(void)
{
	return must_calloc(1, sizeof(struct check));
}

static void end(struct check *c)
{
	while (c->paths.count)
		free(c->paths.at[--c->paths.count]);
	while (c->lost.count)
		free(c->lost.at[--c->lost.count].path);
	c->lost_known = c->any = c->settles = c->waits = false;
	c->stage = CHECK_NONE;
}

void check_free(struct check *c)
{
	if (!c)
		return;
	end(c);
	array_release(&c->paths);
	array_release(&c->lost);
	free(c);
}

bool check_busy(const struct check *c)
{
	return c->stage != CHECK_NONE;
}

uint64_t check_due(const struct check *c)
{
	if (c->stage == CHECK_FENCE || c->waits)
		return (uint64_t)clock_mono_ns() + FENCE_EVERY_NS;
	return check_busy(c) ? 1 : 0;
}

static struct suspect *suspect_at(const struct tape *t, const struct check *c)
{
	return paths_find(&t->suspects, c->paths.at[c->at]);
}

static void release(struct tape *t, struct suspect *s)
{
	paths_remove(&t->suspects, &s->at);
	free(s);
}

/* -- LOOK. */

/* A stamp that may be shared by two contents. */
static bool has_known_content(struct tape *t, const struct known_file *k)
{
	struct look now;

	look_at(t->c->root_fd, k->at.path, &t->text, &now);
	return (now.kind == LOOK_FILE || now.kind == LOOK_LINK) &&
	       XXH128_isEqual(k->hash, now.hash);
}

bool check_is_known(struct tape *t, const char *path)
{
	struct known_file *k = known_find(t, path);
	struct look now;

	look_only(t->c->root_fd, path, &now);
	if (!k)
		return now.kind != LOOK_FILE && now.kind != LOOK_LINK;
	if (!tree_same_stamp(&k->stamp, &now.stamp))
		return false;
	if (k->hashed)
		return !k->racy || has_known_content(t, k);
	look_at(t->c->root_fd, path, &t->text, &now);
	if (now.kind == LOOK_FILE || now.kind == LOOK_LINK)
		apply_base(t, k, &now);
	return true;
}

/* Lines about it are being settled, or it is as known: no entry from here. */
static bool is_explained(struct tape *t, const struct check *c,
			 const struct suspect *s)
{
	if (settle_has(t->settle, s->at.path)) {
		if (!c->settles)
			return true;
		(void)follow_apply_path(t, s->at.path);
		if (settle_has(t->settle, s->at.path))
			return true;
	}
	return check_is_known(t, s->at.path);
}

/* Does it have the stamp and the newest entry of the last look? */
static bool is_steady(const struct tape *t, const struct suspect *s,
		      const struct look *now)
{
	return s->seen && s->n == external_entry(t, s->at.path) &&
	       tree_same_stamp(&s->stamp, &now->stamp);
}

/* What is seen here is what the fence is about. */
static void note_stamp(const struct tape *t, struct suspect *s)
{
	struct look now;

	look_only(t->c->root_fd, s->at.path, &now);
	s->steady = is_steady(t, s, &now);
	s->seen = true;
	s->stamp = now.stamp;
	s->n = external_entry(t, s->at.path);
}

/* A later change may be under way, and its line may follow. */
static bool is_unchanged(const struct tape *t, const struct suspect *s)
{
	struct look now;

	look_only(t->c->root_fd, s->at.path, &now);
	return is_steady(t, s, &now);
}

static void look(struct tape *t, struct check *c)
{
	struct suspect *s = suspect_at(t, c);

	if (!s)
		return;
	if (is_explained(t, c, s)) {
		release(t, s);
		return;
	}
	note_stamp(t, s);
	c->any = true;
}

/* -- FENCE and READ. */

/* Nothing can be said of them now. */
static void give_up(struct tape *t, struct check *c)
{
	for (c->at = 0; c->at < c->paths.count; c->at++) {
		struct suspect *s = suspect_at(t, c);

		if (!s)
			continue;
		s->late_ns = clock_mono_ns();
		s->due_ns = s->late_ns + GRACE_NS;
	}
	end(c);
}

static enum fence_state look_at_fence(struct tape *t, uint64_t ticket)
{
	enum fence_state state;

	if (!t->c->journal)
		return FENCE_PASSED;
	state = fence_look(&t->fence, ticket);
	/* A file system that could not open the page is alive, too. */
	if (state == FENCE_PASSED && !progress_server(t->fence.progress) &&
	    t->ear && bell_ear_fd(t->ear) >= 0)
		return FENCE_UNKNOWN;
	return state;
}

/* False: wait. */
static bool pass_fence(struct tape *t, struct check *c)
{
	uint64_t now = clock_mono_ns();

	c->fence = look_at_fence(t, c->ticket);
	if (c->fence == FENCE_STUCK ||
	    (c->fence == FENCE_WAITS &&
	     now > c->fence_ns + FENCE_PATIENCE_NS)) {
		give_up(t, c);
		return false;
	}
	if (c->fence == FENCE_WAITS)
		return false;
	c->read_ns = clock_mono_ns();
	c->stage = CHECK_READ;
	return true;
}

/* -- ENTER. */

static void add_lost(struct paths_node *n, void *arg)
{
	const struct known_file *k;
	struct tape *t = ((void **)arg)[0];
	struct check *c = ((void **)arg)[1];
	struct check_lost l;

	k = known_find(t, n->path);
	if (!k)
		return;
	l = (struct check_lost){ .inode = k->stamp.inode,
				 .size = k->stamp.size,
				 .path = must_strdup(n->path) };
	array_push(&c->lost, l);
}

static int by_inode(const void *a, const void *b)
{
	const struct check_lost *x = a, *y = b;

	return (x->inode > y->inode) - (x->inode < y->inode);
}

static void find_lost(struct tape *t, struct check *c)
{
	void *both[] = { t, c };

	c->lost_known = true;
	paths_each(&t->suspects, add_lost, both);
	if (c->lost.count)
		qsort(c->lost.at, c->lost.count, sizeof(*c->lost.at), by_inode);
}

/* The former name of a new one, if it has the inode of a name that went. */
static const char *moved_from(struct tape *t, struct check *c, const char *path)
{
	struct check_lost key = { 0 }, *l;
	struct look now;

	if (known_find(t, path))
		return NULL;
	if (!c->lost_known)
		find_lost(t, c);
	if (!c->lost.count)
		return NULL;
	look_only(t->c->root_fd, path, &now);
	key.inode = now.stamp.inode;
	l = bsearch(&key, c->lost.at, c->lost.count, sizeof(key), by_inode);
	return l && l->size == now.stamp.size ? l->path : NULL;
}

/* It is as it was looked at, and can be entered now. */
static bool is_ready(struct tape *t, struct check *c, const struct suspect *s)
{
	struct look now;

	look_only(t->c->root_fd, s->at.path, &now);
	if (now.kind != LOOK_FILE || now.stamp.size < APART_MIN ||
	    !lang_of(s->at.path))
		return true;
	look_at(t->c->root_fd, s->at.path, &t->text, &now);
	c->waits = !apply_is_ready(t, s->at.path, &now);
	return !c->waits;
}

static bool make_entry(struct tape *t, struct check *c, const struct suspect *s)
{
	struct tape_change change = { .path = s->at.path,
				      .from = moved_from(t, c, s->at.path),
				      .origin = s->origin,
				      .at_ns = clock_wall_ns(),
				      .only = &s->stamp };

	return apply_change(t, &change);
}

/* Without a file system that says what is in flight, a difference that two
   looks found the same counts. */
static bool is_sure(const struct check *c, const struct suspect *s)
{
	return c->fence == FENCE_PASSED || s->steady;
}

static void enter(struct tape *t, struct check *c)
{
	struct suspect *s = suspect_at(t, c);

	if (!s || (c->stage == CHECK_ENTER_NEW && known_find(t, s->at.path)))
		return;
	if (is_explained(t, c, s)) {
		release(t, s);
		return;
	}
	if (is_sure(c, s) && is_unchanged(t, s)) {
		if (!is_ready(t, c, s))
			return;
		if (make_entry(t, c, s)) {
			release(t, s);
			return;
		}
	}
	s->due_ns = clock_mono_ns() + GRACE_NS;
	if (++s->tries >= TRIES_MAX)
		s->late_ns = clock_mono_ns();
}

/* -- The stages. */

static int by_path(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void begin(struct check *c)
{
	if (!c->paths.count)
		return;
	qsort(c->paths.at, c->paths.count, sizeof(*c->paths.at), by_path);
	c->stage = CHECK_LOOK;
	c->at = 0;
}

struct check_choice {
	struct check *c;
	uint64_t now_ns, upto;
};

static void choose(struct paths_node *n, void *arg)
{
	struct check_choice *x = arg;
	const struct suspect *s = (const struct suspect *)n;

	if (s->due_ns <= x->now_ns || s->number <= x->upto)
		array_push(&x->c->paths, must_strdup(n->path));
}

void check_begin(struct tape *t, struct check *c, uint64_t upto)
{
	struct check_choice x = { .c = c,
				  .now_ns = clock_mono_ns(),
				  .upto = upto };

	assert(!check_busy(c) && !c->paths.count);
	paths_each(&t->suspects, choose, &x);
	/* When the tape starts, writes may be under way: they settle as at any
	   other time. */
	c->settles = upto > 0 && t->ready;
	begin(c);
}

void check_begin_paths(struct tape *t, struct check *c,
		       const char *const *paths, size_t count)
{
	assert(!check_busy(c) && !c->paths.count);
	for (size_t i = 0; i < count; i++)
		if (paths_find(&t->suspects, paths[i]))
			array_push(&c->paths, must_strdup(paths[i]));
	c->settles = true;
	begin(c);
}

/* True: `c` has done the stage for all its paths. */
static bool each(struct tape *t, struct check *c,
		 void (*one)(struct tape *t, struct check *c))
{
	for (; c->at < c->paths.count; c->at++) {
		if (slice_over(t))
			return false;
		one(t, c);
		if (c->waits)
			return false;
	}
	c->at = 0;
	return true;
}

static void after_look(struct tape *t, struct check *c)
{
	if (!c->any) {
		end(c);
		return;
	}
	c->stage = CHECK_FENCE;
	c->ticket = fence_ticket(&t->fence);
	c->fence_ns = clock_mono_ns();
}

/* One step. False: it cannot go on, or it is done. */
static bool step(struct tape *t, struct check *c)
{
	switch (c->stage) {
	case CHECK_NONE:
		return false;
	case CHECK_LOOK:
		if (each(t, c, look))
			after_look(t, c);
		return !slice_over(t);
	case CHECK_FENCE:
		return pass_fence(t, c);
	case CHECK_READ:
		if (t->read_ns < c->read_ns)
			(void)follow_read(t);
		if (t->read_ns < c->read_ns)
			return false;
		c->stage = CHECK_ENTER_NEW;
		return true;
	case CHECK_ENTER_NEW:
		if (each(t, c, enter))
			c->stage = CHECK_ENTER_KNOWN;
		return !slice_over(t);
	case CHECK_ENTER_KNOWN:
	default:
		if (each(t, c, enter))
			end(c);
		return !slice_over(t);
	}
}

void check_step(struct tape *t, struct check *c)
{
	c->waits = false;
	while (step(t, c) && !c->waits)
		continue;
	apply_commit(t);
}
