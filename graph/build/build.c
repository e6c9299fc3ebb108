/*
 * A start costs as much as has changed. The graph of the last run is loaded
 * (cache.h), changed files are put into it and deleted ones removed, which
 * gives the same graph as a build from nothing (graph/README.md, Incremental =
 * rebuilt). Without a usable cache the graph is built from nothing.
 *
 * Workers compute, one thread owns. Each worker takes the next file off a
 * queue, reads it, and leaves its facts; the calling thread, the owner, puts
 * them into the graph in the order of their paths, so that every build gives
 * the same numbers.
 *
 * The queue has the large files first, so that no worker is left with one at
 * the end, and then all others in the order of their paths, which is the order
 * in which the owner waits for them.
 *
 * Only the owner resolves names, which would leave the other processors idle at
 * the end. So it resolves in pieces while workers parse: the graph is settled
 * when half of the files are in it, then when half of the rest are, and so on.
 * A site that depends on a file put in later is resolved again; that costs less
 * than is gained, because most sites depend on files nearby or before.
 *
 * Writing a cache takes longer than parsing a few files, so a new one is
 * written only when enough entries of the old one are stale.
 */
#include "graph/build/build.h"

#include <assert.h>
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
#define STALE_SHARE 100		/* a new cache if one file in 100 is stale */
#define PIECE_LEAST 64		/* files in a piece */
#define PROGRESS_NS 50000000

/* A file on its way into the graph. */
struct build_item {
	struct tree_file *file;
	const struct cache_entry *entry; /* of its path; NULL: none */
	/* Set by a worker, before `done`: */
	XXH128_hash_t hash;
	struct facts *facts;	    /* NULL: it could not be read */
	const struct facts *mapped; /* the cached facts they are a copy of */
	bool same;		    /* the loaded graph has it as it is */
	bool stale;		    /* the next cache needs another entry */
	bool too_large;
	bool read; /* it had facts, which the graph took over */
	bool done; /* protected by lock */
};

struct builder {
	const struct build *b;
	struct graph *g;
	struct build_report report;
	int64_t began_ns;
	struct tree tree;
	struct cache *cache;	  /* NULL: none */
	atomic_bool loaded;	  /* the graph is, or will be, the cache's */
	bool has_graph;		  /* it has been loaded */
	size_t stale;		  /* files and directories, see STALE_SHARE */
	struct build_item *items; /* by path */
	uint32_t *queue;	  /* numbers of items */
	size_t queue_count;
	atomic_size_t next; /* in the queue */

	pthread_mutex_t lock; /* the only one; not held while working */
	pthread_cond_t ready;
	const struct build_item *awaited; /* protected by lock; set by owner */
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

/* Use the cached facts without opening the file, if its stamp allows it. */
static bool use_stamp(const struct builder *m, struct build_item *i)
{
	const struct cache_entry *e = i->entry;

	return m->b->trust == BUILD_BY_STAMP && e &&
	       tree_same_stamp(&e->stamp, &i->file->stamp) &&
	       !cache_is_racy(cache_began(m->cache), &e->stamp) &&
	       use_entry(m, i, e);
}

/*
 * Use the cached facts of the same content. The entry is stale if a new one
 * would spare the next start this work: the stamp differs, or was racy and no
 * longer is.
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
	assert(!i->done && m->finished < m->tree.count);
	i->done = true;
	m->finished++;
	/* Waking the owner for each file would cost more than small files. */
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
 * The number of remaining files at which the graph is settled next; 0: at the
 * end. With one processor, or with little to parse, no worker would run
 * meanwhile. It does not depend on the speed of workers, so that builds are
 * reproducible.
 */
static size_t piece_end(const struct builder *m, size_t left)
{
	if (threads_of(m) < 2 || m->cache || left / 2 < PIECE_LEAST)
		return 0;
	return left / 2;
}

/* Takes every item, also after an error: workers may still be at them. */
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
		assert(!i->same || (i->entry && !i->facts));
		tally(&m->report, i);
		m->stale += i->stale || (!i->entry && i->facts);
		if (r == 0)
			r = put(m, i);
		free(i->facts);
	}
	return r;
}

/* The whole */

/* Loads the cache's graph, once, if it was found good. */
static int load(struct builder *m)
{
	if (!m->loaded || m->has_graph)
		return 0;
	assert(m->cache);
	m->has_graph = true;
	return cache_load(m->cache, m->g);
}

/* Removes deleted files, and counts them as stale. */
static int drop_gone(struct builder *m)
{
	size_t count = m->cache ? cache_count(m->cache) : 0, i = 0;
	int r = 0;

	for (size_t e = 0; e < count && r == 0; e++) {
		const struct cache_entry *entry = cache_entry(m->cache, e);

		/* Entries and files are both in the order of their paths. */
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
	/* If no thread can be created, the owner does the work. */
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

/* Files whose stamp suffices are done at once; the others are queued. */
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

/* Looking at all places of the last run, LOOK_AT per task. */
struct build_look {
	struct builder *m;
	struct tree_memory memory;
	size_t dirs; /* tasks that look at directories */
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

/* Counts the listed directories whose stamps a new cache could trust. */
static void count_listed(struct builder *m, const struct tree_memory *t)
{
	for (size_t k = 0; k < t->dirs_count; k++)
		m->stale += !t->dirs[k].same && t->dirs[k].now.inode &&
			    !cache_is_racy(m->began_ns, &t->dirs[k].now);
}

/* Helpers look at places while the caller loads the graph. */
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

/* Lists the files, and loads the cache's graph once all of it is checked. */
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

/* The next start must look at unread files, so it must list their dirs. */
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

/* A cache that cannot be written is reported; the build is still good. */
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

	assert(b->root_fd >= 0);
	builder_init(&m, b, g);
	/* If there is none, or it is unusable, a new one is written. */
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

/* -ENOENT: no file is there that a build would put into the graph. */
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
	char **paths; /* of the graph's files below dir */
	size_t count;
	uint32_t size;
};

static void known_release(struct build_known *k)
{
	while (k->count)
		free(k->paths[--k->count]);
	free(k->paths);
}

static bool see_known(const char *path, enum file_state state, void *arg)
{
	struct build_known *k = arg;
	size_t len = strlen(k->dir);

	(void)state;
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

/* Removes known files below `dir` that are gone, and reads all others. */
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
 * A path may name a file, a directory that came or went with all its contents,
 * or a mark file that excludes its directory.
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
