/*
 * What a start costs is what changed. The graph of the last time is loaded
 * (cache.h), and files that changed since are put into it, those gone taken
 * out: that gives the graph a build from nothing would. Where there is none
 * that will do, one is built.
 *
 * Workers compute, one thread owns. Each worker takes the next file off a
 * queue, reads it, and leaves its facts; the calling thread puts them into
 * the graph in the order of their paths, so that a build gives the same
 * numbers each time.
 *
 * The queue has the large files first, so that no worker is left with one at
 * the end, and then all others by their paths: while workers parse, the owner
 * finds those it waits for.
 *
 * Resolving is the owner's alone, and would leave all other processors idle
 * at the end. So it is done in pieces, while workers parse what is left: the
 * graph is settled when half of the files are in it, then when half of the rest
 * are, and so on, so that little is left for the end. What asked for something
 * that comes later is resolved again; that costs less than is gained, for files
 * mostly ask for what is near them or before them.
 *
 * A new cache takes longer to write than a few files take to parse, so it is
 * written when enough of the old one will not do.
 */
#include "graph/build/build.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/base/clock.h"
#include "graph/build/cache.h"
#include "graph/build/team.h"
#include "graph/build/tree.h"
#include "graph/facts/facts.h"
#include "graph/facts/lang.h"
#include "graph/graph.h"

#define LARGE	    (64U << 10) /* parsed in some 10 ms */
#define LOOK_AT	    64		/* places per task */
#define STALE_SHARE 100		/* one file in so many: a new cache */
#define PIECE_LEAST 64		/* files */
#define PROGRESS_NS 50000000

/* A file on its way into the graph. */
struct build_item {
	struct tree_file *file;
	const struct cache_entry *entry; /* what the cache has of its path */
	/* Set by a worker, before `done`: */
	XXH128_hash_t hash;
	struct facts *facts;	    /* NULL: it could not be read */
	const struct facts *mapped; /* they are a copy of these */
	bool same;		    /* the graph that was loaded has it */
	bool stale;		    /* the cache's entry will not do */
	bool too_large;
	bool read; /* there are facts, or were before the graph had them */
	bool done; /* protected by lock */
};

struct builder {
	const struct build *b;
	struct graph *g;
	struct build_report report;
	int64_t began_ns;
	struct tree tree;
	struct cache *cache;	  /* NULL: none */
	atomic_bool loaded;	  /* the graph is (to be) the cache's */
	bool has_graph;		  /* it was loaded */
	size_t stale;		  /* places for which the cache will not do */
	struct build_item *items; /* by path */
	uint32_t *queue;	  /* numbers of items */
	size_t queue_count;
	atomic_size_t next; /* in the queue */

	pthread_mutex_t lock; /* the only one; not held while working */
	pthread_cond_t ready;
	const struct build_item *awaited; /* protected by lock; by the owner */
	size_t finished;		  /* protected by lock */
};

/* Workers */

static struct facts *copy_facts(const struct facts *f)
{
	struct facts *copy = must_alloc(f->size);

	memcpy(copy, f, f->size);
	return copy;
}

static bool use_entry(const struct builder *m, struct build_item *i,
		      const struct cache_entry *e)
{
	if (m->loaded && e && e == i->entry) {
		i->same = true;
		i->hash = e->hash;
		return true;
	}
	i->mapped = e ? cache_facts(m->cache, e) : NULL;
	if (!i->mapped)
		return false;
	i->hash = e->hash;
	i->facts = copy_facts(i->mapped);
	return true;
}

/* Without opening the file, if its stamp can be trusted. */
static bool use_stamp(const struct builder *m, struct build_item *i)
{
	const struct cache_entry *e = i->entry;

	return m->b->trust == BUILD_BY_STAMP && e &&
	       tree_same_stamp(&e->stamp, &i->file->stamp) &&
	       !cache_is_racy(cache_began(m->cache), &e->stamp) &&
	       use_entry(m, i, e);
}

/*
 * By its content. An entry is stale if the next start could do with a better
 * one: its stamp is another now, or was racy and no longer is.
 */
static bool use_hash(const struct builder *m, struct build_item *i)
{
	const struct cache_entry *e = i->entry;

	if (!m->cache)
		return false;
	if (!e || !XXH128_isEqual(e->hash, i->hash)) {
		i->stale = true;
		return use_entry(m, i,
				 cache_find_hash(m->cache,
						 lang_of(i->file->path),
						 i->hash));
	}
	i->stale = !tree_same_stamp(&e->stamp, &i->file->stamp) ||
		   (cache_is_racy(cache_began(m->cache), &e->stamp) &&
		    !cache_is_racy(m->began_ns, &e->stamp));
	return use_entry(m, i, e);
}

static void compute(const struct builder *m, struct build_item *i,
		    struct lang_readers *reader, struct buf *text)
{
	struct tree_file *f = i->file;
	int r;

	if (use_stamp(m, i))
		return;
	r = tree_read(m->b->root_fd, f->path, text, &f->stamp);
	i->too_large = r == -EFBIG;
	if (r < 0) {
		i->stale = i->entry != NULL;
		return;
	}
	i->hash = XXH3_128bits(text->data, text->len);
	if (use_hash(m, i))
		return;
	i->stale = true;
	i->facts = lang_read(reader, f->path, text->data, text->len);
}

static void finish(struct builder *m, struct build_item *i)
{
	bool wanted;

	(void)pthread_mutex_lock(&m->lock);
	i->done = true;
	m->finished++;
	/* Waking the owner for each file would cost more than some files. */
	wanted = m->awaited == i;
	(void)pthread_mutex_unlock(&m->lock);
	if (wanted)
		(void)pthread_cond_signal(&m->ready);
}

static void *work(void *arg)
{
	struct builder *m = arg;
	struct lang_readers *reader = lang_readers_new();
	struct buf text = TREE_TEXT;
	size_t at;

	while ((at = atomic_fetch_add(&m->next, 1)) < m->queue_count) {
		struct build_item *i = &m->items[m->queue[at]];

		compute(m, i, reader, &text);
		finish(m, i);
	}
	buf_release(&text);
	lang_readers_free(reader);
	return NULL;
}

/* The owner */

static void await(struct builder *m, const struct build_item *i)
{
	size_t finished;
	struct timespec until;
	int64_t ns;

	(void)pthread_mutex_lock(&m->lock);
	m->awaited = i;
	while (!i->done) {
		ns = clock_mono_ns() + PROGRESS_NS;
		until.tv_sec = ns / NS_PER_S;
		until.tv_nsec = ns % NS_PER_S;
		if (pthread_cond_timedwait(&m->ready, &m->lock, &until) == 0 ||
		    !m->b->progress)
			continue;
		finished = m->finished;
		(void)pthread_mutex_unlock(&m->lock);
		m->b->progress(finished, m->tree.count, m->b->arg);
		(void)pthread_mutex_lock(&m->lock);
	}
	m->awaited = NULL;
	(void)pthread_mutex_unlock(&m->lock);
}

static void tally(struct build_report *n, const struct build_item *i)
{
	if (!i->facts && !i->same) {
		n->too_large += i->too_large;
		n->unreadable += !i->too_large;
		return;
	}
	n->files++;
	n->bytes += i->file->stamp.size;
	n->parsed += !i->mapped && !i->same;
	n->cached += i->mapped || i->same;
	n->broken += i->same ? i->entry->broken : i->facts->broken;
	n->vast += i->same ? i->entry->vast : i->facts->vast;
}

static int put(struct builder *m, struct build_item *i)
{
	if (i->same)
		return 0;
	i->read = i->facts;
	if (i->facts)
		return graph_put(m->g, i->file->path, TAKE(i->facts));
	return m->loaded ? graph_remove(m->g, i->file->path) : 0;
}

static unsigned threads_of(const struct builder *m)
{
	unsigned n = m->b->threads ? m->b->threads : team_processors();

	return n < TEAM_MAX ? n : TEAM_MAX;
}

/*
 * How many files are left when the graph is settled next. With one processor,
 * or with little to parse, nobody works meanwhile. When the pieces end does not
 * depend on who is faster: builds are all alike.
 */
static size_t piece_end(const struct builder *m, size_t left)
{
	if (threads_of(m) < 2 || m->cache || left / 2 < PIECE_LEAST)
		return 0;
	return left / 2;
}

/* All that was computed is taken, also after an error. */
static int put_all(struct builder *m, int r)
{
	size_t settle_at = piece_end(m, m->tree.count);

	for (size_t at = 0; at < m->tree.count; at++) {
		struct build_item *i = &m->items[at];

		if (m->tree.count - at == settle_at && r == 0) {
			r = graph_settle(m->g, NULL);
			settle_at = piece_end(m, settle_at);
		}
		await(m, i);
		tally(&m->report, i);
		m->stale += i->stale || (!i->entry && i->facts);
		if (r == 0)
			r = put(m, i);
		free(i->facts);
	}
	return r;
}

/* The whole */

/* Make the graph the cache's, if that one is good; once. */
static int load(struct builder *m)
{
	if (!m->loaded || m->has_graph)
		return 0;
	m->has_graph = true;
	return cache_load(m->cache, m->g);
}

/* Files that are gone are no reason to parse, but for another cache. */
static int drop_gone(struct builder *m)
{
	size_t count = m->cache ? cache_count(m->cache) : 0, i = 0;
	int r = 0;

	for (size_t e = 0; e < count && r == 0; e++) {
		const struct cache_entry *entry = cache_entry(m->cache, e);

		while (i < m->tree.count && m->items[i].entry < entry)
			i++;
		if (i < m->tree.count && m->items[i].entry == entry)
			continue;
		m->stale++;
		if (m->loaded)
			r = graph_remove(m->g, cache_path(m->cache, entry));
	}
	return r;
}

static int run(struct builder *m)
{
	pthread_t threads[TEAM_MAX];
	size_t wanted = threads_of(m), n = 0;
	int r;

	if (wanted > m->queue_count)
		wanted = m->queue_count;
	while (n < wanted && pthread_create(&threads[n], NULL, work, m) == 0)
		n++;
	/* A process that may have no threads takes its time. */
	if (n == 0 && m->queue_count)
		(void)work(m);
	r = load(m);
	if (r == 0)
		r = drop_gone(m);
	r = put_all(m, r);
	while (n > 0)
		(void)pthread_join(threads[--n], NULL);
	return r;
}

static int compare_queued(const void *a, const void *b, void *arg)
{
	const struct build_item *items = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	uint64_t p = items[x].file->stamp.size, q = items[y].file->stamp.size;

	if ((p >= LARGE || q >= LARGE) && p != q)
		return p < q ? 1 : -1;
	return (x > y) - (x < y);
}

/* Entries and files are both in the order of their paths. */
static void find_entries(struct builder *m)
{
	size_t count = m->cache ? cache_count(m->cache) : 0, e = 0;

	for (size_t i = 0; i < m->tree.count; i++) {
		const char *path = m->tree.files[i].path;
		int order = 1;

		for (; e < count; e++) {
			const struct cache_entry *entry =
				cache_entry(m->cache, e);

			order = strcmp(cache_path(m->cache, entry), path);
			if (order == 0)
				m->items[i].entry = entry;
			if (order >= 0)
				break;
		}
	}
}

/* Files that need no more than a look are done with at once. */
static void fill_queue(struct builder *m)
{
	size_t n = m->tree.count;

	m->items = must_calloc(n, sizeof(*m->items));
	m->queue = must_calloc(n, sizeof(*m->queue));
	for (size_t i = 0; i < n; i++)
		m->items[i].file = &m->tree.files[i];
	find_entries(m);
	for (size_t i = 0; i < n; i++) {
		m->items[i].done = m->loaded && use_stamp(m, &m->items[i]);
		if (!m->items[i].done)
			m->queue[m->queue_count++] = (uint32_t)i;
	}
	m->finished = n - m->queue_count;
	if (m->queue_count)
		qsort_r(m->queue, m->queue_count, sizeof(*m->queue),
			compare_queued, m->items);
}

static void check_chunk(size_t n, void *arg)
{
	struct builder *m = arg;

	if (!cache_is_good(m->cache, n))
		m->loaded = false;
}

/* Look at all places where something was the last time, some per task. */
struct build_look {
	struct builder *m;
	struct tree_memory memory;
	size_t dirs; /* tasks */
};

static size_t tasks_for(size_t places)
{
	return (places + LOOK_AT - 1) / LOOK_AT;
}

static void look(size_t n, void *arg)
{
	const struct build_look *l = arg;
	bool dirs = n < l->dirs;
	struct tree_place *places = dirs ? l->memory.dirs : l->memory.files;
	size_t count = dirs ? l->memory.dirs_count : l->memory.files_count;
	size_t from = (dirs ? n : n - l->dirs) * LOOK_AT;

	for (size_t k = from; k < from + LOOK_AT && k < count; k++)
		tree_look(l->m->b->root_fd, &places[k], dirs);
}

static void remember(struct build_look *l)
{
	const struct cache *c = l->m->cache;
	struct tree_memory *t = &l->memory;

	t->dirs_count = cache_dirs_count(c);
	t->files_count = cache_count(c);
	t->dirs = must_calloc(t->dirs_count, sizeof(*t->dirs));
	t->files = must_calloc(t->files_count, sizeof(*t->files));
	for (size_t k = 0; k < t->dirs_count; k++) {
		const struct cache_dir *d = cache_dir(c, k);

		t->dirs[k].path = cache_dir_path(c, d);
		t->dirs[k].dir = (uint32_t)d->parent;
		if (!cache_is_racy(cache_began(c), &d->stamp))
			t->dirs[k].was = d->stamp;
	}
	for (size_t k = 0; k < t->files_count; k++) {
		const struct cache_entry *e = cache_entry(c, k);

		t->files[k].path = cache_path(c, e);
		t->files[k].dir = e->dir;
	}
}

/* A directory that had to be listed is a place that a new cache knows. */
static void count_listed(struct builder *m, const struct tree_memory *t)
{
	for (size_t k = 0; k < t->dirs_count; k++)
		m->stale += !t->dirs[k].same && t->dirs[k].now.inode &&
			    !cache_is_racy(m->began_ns, &t->dirs[k].now);
}

/* While some look at places, the caller loads the graph. */
static int list_by_stamps(struct builder *m)
{
	struct build_look l = { .m = m };
	struct team *team;
	int r;

	remember(&l);
	l.dirs = tasks_for(l.memory.dirs_count);
	team = team_begin(threads_of(m) - 1,
			  l.dirs + tasks_for(l.memory.files_count), look, &l);
	r = load(m);
	team_finish(team);
	if (r == 0)
		r = tree_list_again(m->b->root_fd, &l.memory, &m->tree);
	count_listed(m, &l.memory);
	free(l.memory.dirs);
	free(l.memory.files);
	return r;
}

/* List the files; and load the cache's graph, once all of it is checked. */
static int see_all(struct builder *m)
{
	size_t chunks = m->cache ? cache_chunks(m->cache) : 0;
	bool by_stamps = m->b->trust == BUILD_BY_STAMP && m->cache &&
			 cache_dirs_count(m->cache);
	struct team *team;
	int r = 0;

	m->loaded = chunks > 0;
	team = team_begin(threads_of(m) - 1, chunks, check_chunk, m);
	if (!by_stamps)
		r = tree_list(m->b->root_fd, "", threads_of(m), &m->tree);
	team_finish(team);
	if (r < 0)
		return r;
	return by_stamps ? list_by_stamps(m) : 0;
}

/* What the next start had better not trust its directory's stamp for. */
static void mark_unread(struct builder *m)
{
	for (size_t k = 0; k < m->tree.count; k++)
		if (!m->items[k].same && !m->items[k].read)
			m->tree.dirs[tree_parent(&m->tree,
						 m->tree.files[k].path)]
				.stamp = (struct tree_stamp){ 0 };
}

static int write_cache(struct builder *m, struct cache_writer *w)
{
	int r = cache_writer_graph(w, m->g);

	mark_unread(m);
	for (size_t k = 0; k < m->tree.dirs_count && r == 0; k++)
		r = cache_writer_dir(
			w, &m->tree.dirs[k],
			tree_parent(&m->tree, m->tree.dirs[k].path));
	for (size_t k = 0; k < m->tree.count && r == 0; k++) {
		const struct build_item *i = &m->items[k];

		if (i->same || i->read)
			r = cache_writer_file(
				w, i->file, i->hash,
				tree_parent(&m->tree, i->file->path));
	}
	return r == 0 ? cache_writer_commit(w) : r;
}

/* If it cannot be written, the graph matters more. */
static void keep(struct builder *m)
{
	struct cache_writer *w = NULL;
	int r;

	if (m->b->state_fd < 0 ||
	    (m->loaded && m->stale * STALE_SHARE <= m->tree.count))
		return;
	r = cache_writer_new(m->b->state_fd, m->began_ns, &w);
	if (r == 0)
		r = write_cache(m, w);
	cache_writer_free(w);
	m->report.cache_error = r;
}

static void builder_init(struct builder *m, const struct build *b,
			 struct graph *g)
{
	pthread_condattr_t attr;

	*m = (struct builder){ .b = b, .g = g };
	m->began_ns = clock_wall_ns();
	(void)pthread_mutex_init(&m->lock, NULL);
	(void)pthread_condattr_init(&attr);
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&m->ready, &attr);
	(void)pthread_condattr_destroy(&attr);
}

static void builder_release(struct builder *m)
{
	cache_free(m->cache);
	tree_release(&m->tree);
	free(m->items);
	free(m->queue);
	(void)pthread_cond_destroy(&m->ready);
	(void)pthread_mutex_destroy(&m->lock);
}

int build_all(const struct build *b, struct graph *g, struct build_report *ret)
{
	CLEANUP(builder_release) struct builder m;
	int r;

	builder_init(&m, b, g);
	/* None, or one that will not do: a new one is written. */
	if (b->state_fd < 0 || cache_open(b->state_fd, &m.cache) < 0)
		m.cache = NULL;
	r = see_all(&m);
	if (r < 0)
		return r;
	m.report.unreadable = m.tree.unreadable;
	m.report.too_large = m.tree.too_large;
	fill_queue(&m);
	r = run(&m);
	if (r == 0)
		r = graph_settle(g, NULL);
	if (r < 0)
		return r;
	if (!m.loaded)
		graph_trim(g);
	keep(&m);
	*ret = m.report;
	return 0;
}

/* One at a time */

/* -ENOENT: there is none that a build would put into the graph. */
static int refresh_file(struct graph *g, struct lang_readers *r, int root_fd,
			const char *path, struct buf *text)
{
	int error;

	if (tree_covers(root_fd, path) &&
	    tree_read(root_fd, path, text, NULL) == 0)
		return graph_edit(g, r, path, text->data, text->len, NULL);
	error = graph_remove(g, path);
	return error < 0 ? error : -ENOENT;
}

struct build_known {
	const char *dir;
	char **paths; /* of the graph's files below it */
	size_t count;
	uint32_t size;
};

static void known_release(struct build_known *k)
{
	while (k->count)
		free(k->paths[--k->count]);
	free(k->paths);
}

static bool see_known(const char *path, bool broken, void *arg)
{
	struct build_known *k = arg;
	size_t len = strlen(k->dir);

	(void)broken;
	if (len && (strncmp(path, k->dir, len) != 0 || path[len] != '/'))
		return true;
	k->paths =
		must_grow(k->paths, &k->size, k->count + 1, sizeof(*k->paths));
	k->paths[k->count++] = must_strdup(path);
	return true;
}

static int compare_path(const void *key, const void *element)
{
	return strcmp(key, ((const struct tree_file *)element)->path);
}

/* What is known below `dir` goes if it is not there; all else is read. */
static int refresh_below(struct graph *g, struct lang_readers *r, int root_fd,
			 const char *dir, struct buf *text)
{
	CLEANUP(known_release) struct build_known known = { .dir = dir };
	CLEANUP(tree_release) struct tree tree = { 0 };
	int error = tree_list(root_fd, dir, 1, &tree);

	graph_files(g, see_known, &known);
	for (size_t i = 0; i < known.count && error == 0; i++)
		if (!tree.count ||
		    !bsearch(known.paths[i], tree.files, tree.count,
			     sizeof(*tree.files), compare_path))
			error = graph_remove(g, known.paths[i]);
	for (size_t i = 0; i < tree.count && error == 0; i++) {
		error = refresh_file(g, r, root_fd, tree.files[i].path, text);
		if (error == -ENOENT)
			error = 0;
	}
	return error;
}

/*
 * A path may name a file, a directory that came or went with all that is in
 * it, or a mark that decides whether its directory is looked into.
 */
int build_refresh(struct graph *g, struct lang_readers *r, int root_fd,
		  const char *path, struct buf *text)
{
	const char *slash = strrchr(path, '/');
	CLEANUP(free_p) char *dir = must_strdup(path);
	int error = -ENOENT;

	if (*path && !tree_is_path(path))
		return -EINVAL;
	if (lang_of(path))
		error = refresh_file(g, r, root_fd, path, text);
	if (error != -ENOENT)
		return error;
	if (slash && tree_is_mark(slash + 1))
		dir[slash - path] = '\0';
	return refresh_below(g, r, root_fd, dir, text);
}
