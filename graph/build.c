/*
 * Workers compute, one thread owns. Each worker takes the next file off a
 * queue, reads it, and leaves its facts; the calling thread puts them into
 * the graph in the order of their paths, so that a build gives the same
 * numbers each time, and appends them to the new cache as it goes.
 *
 * The queue has the large files first, so that no worker is left with one at
 * the end, and then all others by their paths: while workers parse, the owner
 * finds those it waits for.
 *
 * Whether a new cache is needed shows only on the way. It is begun with the
 * first file for which the old one would not do; the files before it are
 * copied from the old one then.
 */
#include "graph/build.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "graph/base/cleanup.h"
#include "graph/base/memory.h"
#include "graph/cache.h"
#include "graph/facts.h"
#include "graph/graph.h"
#include "graph/lang.h"
#include "graph/tree.h"

#define LARGE	    (64U << 10) /* parsed in some 10 ms */
#define THREADS_MAX 64
#define NS_PER_S    1000000000
#define PROGRESS_NS 50000000

/* A file on its way into the graph. */
struct item {
	struct tree_file *file;
	const struct cache_entry *entry; /* what the cache has of its path */
	/* Set by a worker, before `done`: */
	XXH128_hash_t hash;
	struct facts *facts;	    /* NULL: it could not be read */
	const struct facts *mapped; /* they are a copy of these */
	bool stale;		    /* the cache's entry will not do */
	bool too_large;
	bool done; /* protected by lock */
};

struct builder {
	const struct build *b;
	struct graph *g;
	struct build_report report;
	int64_t began_ns;
	struct tree tree;
	struct cache *cache; /* NULL: none */
	struct cache_writer *writer;
	struct item *items; /* by path */
	uint32_t *queue;    /* numbers of items */
	atomic_size_t next; /* in the queue */

	pthread_mutex_t lock; /* the only one; not held while working */
	pthread_cond_t ready;
	const struct item *awaited; /* protected by lock; by the owner */
	size_t finished;	    /* protected by lock */
};

static int64_t now_ns(clockid_t clock)
{
	struct timespec t = { 0 };

	(void)clock_gettime(clock, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

/* Workers */

static struct facts *copy_facts(const struct facts *f)
{
	struct facts *copy = must_alloc(f->size);

	memcpy(copy, f, f->size);
	return copy;
}

static bool is_same_stamp(const struct tree_stamp *a,
			  const struct tree_stamp *b)
{
	return a->size == b->size && a->inode == b->inode &&
	       a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns;
}

static bool use_entry(const struct builder *m, struct item *i,
		      const struct cache_entry *e)
{
	i->mapped = e ? cache_facts(m->cache, e) : NULL;
	if (!i->mapped)
		return false;
	i->hash = e->hash;
	i->facts = copy_facts(i->mapped);
	return true;
}

/* Without opening the file, if its stamp can be trusted. */
static bool use_stamp(const struct builder *m, struct item *i)
{
	const struct cache_entry *e = i->entry;

	return m->b->trust == BUILD_BY_STAMP && e &&
	       is_same_stamp(&e->stamp, &i->file->stamp) &&
	       !cache_is_racy(cache_began(m->cache), &e->stamp) &&
	       use_entry(m, i, e);
}

/*
 * By its content. An entry is stale if the next start could do with a better
 * one: its stamp is another now, or was racy and no longer is.
 */
static bool use_hash(const struct builder *m, struct item *i)
{
	const struct cache_entry *e = i->entry;

	if (!m->cache)
		return false;
	if (!e || !XXH128_isEqual(e->hash, i->hash)) {
		i->stale = true;
		return use_entry(m, i, cache_find_hash(m->cache, i->hash));
	}
	i->stale = !is_same_stamp(&e->stamp, &i->file->stamp) ||
		   (cache_is_racy(cache_began(m->cache), &e->stamp) &&
		    !cache_is_racy(m->began_ns, &e->stamp));
	return use_entry(m, i, e);
}

static void compute(const struct builder *m, struct item *i,
		    struct facts_reader *reader, struct buf *text)
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
	i->facts = facts_read(reader, text->data, text->len);
}

static void finish(struct builder *m, struct item *i)
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
	struct facts_reader *reader = facts_reader_new();
	struct buf text = TREE_TEXT;
	size_t at;

	while ((at = atomic_fetch_add(&m->next, 1)) < m->tree.count) {
		struct item *i = &m->items[m->queue[at]];

		compute(m, i, reader, &text);
		finish(m, i);
	}
	buf_release(&text);
	facts_reader_free(reader);
	return NULL;
}

/* The owner */

static void await(struct builder *m, const struct item *i)
{
	size_t finished;
	struct timespec until;
	int64_t ns;

	(void)pthread_mutex_lock(&m->lock);
	m->awaited = i;
	while (!i->done) {
		ns = now_ns(CLOCK_MONOTONIC) + PROGRESS_NS;
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

/* Give up the new cache: the graph matters more. */
static void drop_writer(struct builder *m, int error)
{
	cache_writer_free(TAKE(m->writer));
	m->report.cache_error = error;
}

/* Begin the new cache, with the files that went before. */
static int begin_writer(struct builder *m, const struct item *upto)
{
	int r = cache_writer_new(m->b->state_fd, m->began_ns, &m->writer);

	for (const struct item *i = m->items; r == 0 && i < upto; i++)
		if (i->mapped)
			r = cache_writer_add(m->writer, i->file, i->hash,
					     i->mapped);
	return r;
}

/* Before the graph takes the facts over. */
static void keep(struct builder *m, const struct item *i)
{
	int r = 0;

	if (m->b->state_fd < 0 || m->report.cache_error)
		return;
	if (!m->writer && i->stale)
		r = begin_writer(m, i);
	if (r == 0 && m->writer && i->facts)
		r = cache_writer_add(m->writer, i->file, i->hash, i->facts);
	if (r < 0)
		drop_writer(m, r);
}

static void tally(struct build_report *n, const struct item *i)
{
	if (!i->facts) {
		n->too_large += i->too_large;
		n->unreadable += !i->too_large;
		return;
	}
	n->files++;
	n->bytes += i->file->stamp.size;
	n->parsed += !i->mapped;
	n->cached += i->mapped != NULL;
	n->broken += i->facts->broken;
}

static int put_all(struct builder *m)
{
	int r = 0;

	for (size_t at = 0; at < m->tree.count; at++) {
		struct item *i = &m->items[at];

		await(m, i);
		tally(&m->report, i);
		keep(m, i);
		if (i->facts && r == 0)
			r = graph_put(m->g, i->file->path, TAKE(i->facts));
		free(i->facts);
	}
	return r;
}

/* The whole */

static unsigned processors(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) < 0)
		return 1;
	return (unsigned)CPU_COUNT(&set);
}

static size_t threads_wanted(const struct builder *m)
{
	size_t n = m->b->threads ? m->b->threads : processors();

	if (n > m->tree.count)
		n = m->tree.count;
	return n < THREADS_MAX ? n : THREADS_MAX;
}

static int run(struct builder *m)
{
	pthread_t threads[THREADS_MAX];
	size_t wanted = threads_wanted(m), n = 0;
	int r;

	while (n < wanted && pthread_create(&threads[n], NULL, work, m) == 0)
		n++;
	/* A process that may have no threads takes its time. */
	if (n == 0)
		(void)work(m);
	r = put_all(m);
	while (n > 0)
		(void)pthread_join(threads[--n], NULL);
	return r;
}

static int compare_queued(const void *a, const void *b, void *arg)
{
	const struct item *items = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	uint64_t p = items[x].file->stamp.size, q = items[y].file->stamp.size;

	if ((p >= LARGE || q >= LARGE) && p != q)
		return p < q ? 1 : -1;
	return (x > y) - (x < y);
}

static void fill_queue(struct builder *m)
{
	size_t n = m->tree.count;

	m->items = must_calloc(n, sizeof(*m->items));
	m->queue = must_calloc(n, sizeof(*m->queue));
	for (size_t i = 0; i < n; i++) {
		m->queue[i] = (uint32_t)i;
		m->items[i].file = &m->tree.files[i];
		if (m->cache)
			m->items[i].entry =
				cache_find(m->cache, m->tree.files[i].path);
	}
	qsort_r(m->queue, n, sizeof(*m->queue), compare_queued, m->items);
}

/* Files that are gone are no reason to parse, but to write a new cache. */
static void look_for_gone(struct builder *m)
{
	size_t known = 0;
	int r;

	if (!m->cache)
		return;
	for (size_t i = 0; i < m->tree.count; i++)
		known += m->items[i].entry != NULL;
	if (known == cache_count(m->cache))
		return;
	r = begin_writer(m, m->items);
	if (r < 0)
		drop_writer(m, r);
}

static void finish_cache(struct builder *m)
{
	int r = m->writer ? cache_writer_commit(m->writer) : 0;

	if (r < 0)
		drop_writer(m, r);
}

static void builder_init(struct builder *m, const struct build *b,
			 struct graph *g)
{
	pthread_condattr_t attr;

	*m = (struct builder){ .b = b, .g = g };
	m->began_ns = now_ns(CLOCK_REALTIME);
	(void)pthread_mutex_init(&m->lock, NULL);
	(void)pthread_condattr_init(&attr);
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&m->ready, &attr);
	(void)pthread_condattr_destroy(&attr);
}

static void builder_release(struct builder *m)
{
	cache_writer_free(m->writer);
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
	r = tree_list(b->root_fd, "", &m.tree);
	if (r < 0)
		return r;
	m.report.unreadable = m.tree.unreadable;
	m.report.too_large = m.tree.too_large;
	/* None, or one that will not do: a new one is written. */
	if (b->state_fd < 0 || cache_open(b->state_fd, &m.cache) < 0)
		m.cache = NULL;
	fill_queue(&m);
	look_for_gone(&m);
	r = run(&m);
	if (r < 0)
		return r;
	finish_cache(&m);
	r = graph_settle(g, NULL);
	graph_trim(g);
	if (r == 0)
		*ret = m.report;
	return r;
}

/* One at a time */

/* -ENOENT: there is none that a build would put into the graph. */
static int refresh_file(struct graph *g, struct facts_reader *r, int root_fd,
			const char *path, struct buf *text)
{
	int error;

	if (tree_covers(root_fd, path) &&
	    tree_read(root_fd, path, text, NULL) == 0)
		return graph_edit(g, r, path, text->data, text->len, NULL);
	error = graph_remove(g, path);
	return error < 0 ? error : -ENOENT;
}

static char *must_strdup(const char *text)
{
	size_t size = strlen(text) + 1;

	return memcpy(must_alloc(size), text, size);
}

struct known {
	const char *dir;
	char **paths; /* of the graph's files below it */
	size_t count;
	uint32_t size;
};

static void known_release(struct known *k)
{
	while (k->count)
		free(k->paths[--k->count]);
	free(k->paths);
}

static bool see_known(const char *path, bool broken, void *arg)
{
	struct known *k = arg;
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
static int refresh_below(struct graph *g, struct facts_reader *r, int root_fd,
			 const char *dir, struct buf *text)
{
	CLEANUP(known_release) struct known known = { .dir = dir };
	CLEANUP(tree_release) struct tree tree = { 0 };
	int error = tree_list(root_fd, dir, &tree);

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
int build_refresh(struct graph *g, struct facts_reader *r, int root_fd,
		  const char *path, struct buf *text)
{
	const char *slash = strrchr(path, '/');
	CLEANUP(free_p) char *dir = must_strdup(path);
	int error = -ENOENT;

	if (!tree_is_path(path))
		return -EINVAL;
	if (lang_of(path))
		error = refresh_file(g, r, root_fd, path, text);
	if (error != -ENOENT)
		return error;
	if (slash && tree_is_mark(slash + 1))
		dir[slash - path] = '\0';
	return refresh_below(g, r, root_fd, dir, text);
}
