/*
 * From nothing to ready. The first tape of a repository takes its files as
 * they are, without an entry. A later one finds what changed meanwhile:
 *
 *	1. read the known state of each file from the store;
 *	2. build the graph from the files as they are;
 *	3. sweep: files that are not as known become suspects;
 *	4. take the graph back to the known content of the suspects, so that
 *	   each entry to come has its own exact delta;
 *	5. read the journal on: its lines make entries with their authors;
 *	6. the remaining suspects become entries marked as recovered.
 *
 * Writes during this are noticed as at any other time.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/base/clock.h"
#include "graph/base/debug.h"
#include "graph/build/build.h"
#include "graph/build/tree.h"
#include "graph/facts/facts.h"
#include "graph/facts/lang.h"
#include "graph/graph.h"
#include "tape/daemon_i.h"
#include "tape/settle.h"
#include "tape/store/store.h"
#include "tape/wire/state.h"

static bool is_begun(const struct tape *t)
{
	return t->known.count > 0 || store_head(t->store) > 0 ||
	       store_position(t->store) > 0 ||
	       faccessat(t->c->state->dir_fd, BEGUN_NAME, F_OK, 0) == 0;
}

static void begin(const struct tape *t)
{
	CLEANUP(close_p)
	int fd = openat(t->c->state->dir_fd, BEGUN_NAME,
			O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	(void)fd;
}

static int load_file(const struct store_file *f, void *arg)
{
	struct known_file *k = known_add(arg, f->path);

	k->hash = f->hash;
	k->hashed = f->hash.low64 || f->hash.high64;
	k->stamp = (struct tree_stamp){ .size = f->size,
					.inode = f->inode,
					.mtime_ns = f->mtime_ns,
					.ctime_ns = f->ctime_ns };
	if (!k->hashed)
		array_push(&((struct tape *)arg)->bases, must_strdup(f->path));
	return 0;
}

static int build_graph(struct tape *t)
{
	const struct build b = { .root_fd = t->c->root_fd,
				 .state_fd = t->c->state->dir_fd,
				 .trust = BUILD_BY_STAMP };
	struct build_report report = { 0 };
	int r;

	t->graph = graph_new();
	t->facts = lang_readers_new();
	r = build_all(&b, t->graph, &report);
	if (r < 0)
		tape_say("the graph of '%s' cannot be built: %s",
			 t->c->state->repo, strerrordesc_np(-r));
	else
		t->unreadable += report.unreadable;
	DEBUG(DEBUG_GRAPH,
	      "built: %zu files, %zu parsed, %zu from the cache, %zu with a "
	      "syntax error, %zu unreadable, %zu too large",
	      report.files, report.parsed, report.cached, report.broken,
	      report.unreadable, report.too_large);
	return r;
}

static void put_one(struct paths_node *n, void *arg)
{
	known_put(arg, (const struct known_file *)n);
}

/* All names in one transaction: a tape that is killed soon after still knows
   which files existed when it began. */
static void learn(struct tape *t)
{
	t->learning = true;
	external_sweep(t, ENTRY_RECOVERED, false);
	while (!t->error && external_step(t))
		continue;
	t->learning = false;
	apply_begin(t);
	paths_each(&t->known, put_one, t);
	apply_commit(t);
	begin(t);
}

/* Put the known content of `path` into the graph. */
static int take_back(struct tape *t, const char *path)
{
	const struct known_file *k = known_find(t, path);
	CLEANUP(free_p) char *old = NULL;
	size_t len = 0;

	if (!lang_of(path))
		return 0;
	if (!k || !tree_covers(t->c->root_fd, path))
		return graph_remove(t->graph, path);
	if (!k->hashed || store_content(t->store, k->hash, &old, &len) < 0)
		return 0;
	return graph_edit(t->graph, t->facts, path, old, len, NULL);
}

struct taking {
	struct tape *t;
	int error;
};

static void take_back_one(struct paths_node *n, void *arg)
{
	struct taking *x = arg;

	if (x->error == 0)
		x->error = take_back(x->t, n->path);
}

static int take_back_all(struct tape *t)
{
	struct taking x = { .t = t };

	paths_each(&t->suspects, take_back_one, &x);
	return x.error < 0 ? x.error : graph_settle(t->graph, NULL);
}

/*
 * Writes that were under way when the last tape ended may still be: they settle
 * as at any other time.
 */
static void catch_up(struct tape *t)
{
	while (!t->error && follow_read(t))
		if (settle_pending(t->settle) > DIRTY_MAX)
			follow_apply_all(t);
	while (!t->error && follow_apply(t))
		continue;
	check_begin(t, t->check, UINT64_MAX);
	for (;;) {
		check_step(t, t->check);
		if (t->error || !check_busy(t->check))
			break;
		/* What is in flight ends soon. */
		(void)poll(NULL, 0, 1);
	}
}

static int recover(struct tape *t)
{
	int r;

	external_sweep(t, ENTRY_RECOVERED, false);
	while (!t->error && external_step(t))
		continue;
	r = take_back_all(t);
	if (r < 0) {
		tape_say("the graph cannot be kept: %s", strerrordesc_np(-r));
		return r;
	}
	catch_up(t);
	return t->error;
}

/* A damaged store is set aside, which says it. */
static int say_unread(int r)
{
	if (!renew_helps(r))
		tape_say("the store cannot be read: %s", strerrordesc_np(-r));
	return r;
}

int start_all(struct tape *t)
{
	bool first;
	int r = store_files(t->store, load_file, t);

	if (r < 0)
		return say_unread(r);
	first = !is_begun(t);
	r = external_start(t);
	if (r == 0)
		r = follow_start(t, first);
	if (r == 0)
		r = build_graph(t);
	if (r < 0)
		return r;
	r = answers_fill(t->answers);
	if (r < 0)
		return say_unread(r);
	answers_graph(t->answers, t->graph);
	if (first)
		learn(t);
	else
		r = recover(t);
	if (t->removed_last) {
		apply_gap(t, t->removed_first, t->removed_last);
		apply_commit(t);
	}
	return r < 0 ? r : t->error;
}

static void keep_base(struct tape *t, const char *path)
{
	struct known_file *k = known_find(t, path);
	struct look now;

	if (!k || k->hashed)
		return;
	look_at(t->c->root_fd, path, &t->text, &now);
	/* It changed before it was ever read, and gets an entry. */
	if ((now.kind != LOOK_FILE && now.kind != LOOK_LINK) ||
	    !tree_same_stamp(&now.stamp, &k->stamp))
		external_suspect(t, path, ENTRY_OUTSIDE,
				 clock_mono_ns() + GRACE_NS);
	else
		apply_base(t, k, &now);
}

bool start_bases(struct tape *t)
{
	while (t->bases.count && !slice_over(t)) {
		CLEANUP(free_p) char *path = t->bases.at[--t->bases.count];

		keep_base(t, path);
	}
	apply_commit(t);
	return t->bases.count > 0;
}
