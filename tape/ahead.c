/*
 * A job per path, in a table, and in a queue while it waits. A helper takes the
 * first of the queue. A job whose facts are wanted before a helper has begun it
 * is dropped: the caller reads the file itself, which is faster than waiting.
 */
#include "tape/ahead.h"

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/base/buf.h"
#include "graph/base/cleanup.h"
#include "graph/base/paths.h"
#include "graph/build/look.h"
#include "graph/build/team.h"
#include "graph/build/tree.h"
#include "graph/facts/facts.h"
#include "graph/facts/lang.h"
#include "tape/apart.h"
#include "tape/care.h"

enum { HELPERS_MAX = 8, JOBS_MAX = 16384 };

/* Of facts that wait to be taken; beyond this, helpers pause. */
#define BYTES_MAX ((size_t)64 << 20)

enum ahead_state {
	AHEAD_WAITS, /* in the queue */
	AHEAD_RUNS,  /* a helper reads it */
	AHEAD_STALE, /* the same, but the file was written since */
	AHEAD_DONE,
};

struct ahead_job {
	struct paths_node at; /* first */
	enum ahead_state state;
	struct ahead_job *next, *prev; /* in the queue's ring */
	XXH128_hash_t hash;
	struct facts *facts; /* NULL: the file has none */
};

struct ahead {
	int root_fd;
	const struct care *care;
	unsigned helpers;
	unsigned threads; /* of these, started */
	pthread_t ids[HELPERS_MAX];

	pthread_mutex_t lock;	/* a leaf: no other is taken under it */
	pthread_cond_t work;	/* a helper may continue */
	pthread_cond_t done;	/* a helper has finished a job */
	struct table jobs;	/* protected by lock, as all below */
	struct ahead_job queue; /* the head of its ring */
	size_t bytes;		/* of facts that wait to be taken */
	bool stop;
};

static void unqueue(struct ahead_job *j)
{
	j->prev->next = j->next;
	j->next->prev = j->prev;
}

static void queue_locked(struct ahead *a, struct ahead_job *j)
{
	j->state = AHEAD_WAITS;
	j->next = &a->queue;
	j->prev = a->queue.prev;
	j->prev->next = j;
	a->queue.prev = j;
	(void)pthread_cond_signal(&a->work);
}

static void forget_facts_locked(struct ahead *a, struct ahead_job *j)
{
	assert(!j->facts || a->bytes >= j->facts->size);
	if (j->facts)
		a->bytes -= j->facts->size;
	free(TAKE(j->facts));
}

/* No helper reads it. */
static void drop_locked(struct ahead *a, struct ahead_job *j)
{
	assert(j->state == AHEAD_WAITS || j->state == AHEAD_DONE);
	if (j->state == AHEAD_WAITS)
		unqueue(j);
	forget_facts_locked(a, j);
	paths_remove(&a->jobs, &j->at);
	free(j);
}

/* NULL: the helper must end. */
static struct ahead_job *next_locked(struct ahead *a)
{
	struct ahead_job *j;

	while (!a->stop && (a->queue.next == &a->queue || a->bytes > BYTES_MAX))
		(void)pthread_cond_wait(&a->work, &a->lock);
	if (a->stop)
		return NULL;
	j = a->queue.next;
	assert(j->state == AHEAD_WAITS);
	unqueue(j);
	j->state = AHEAD_RUNS;
	return j;
}

static struct facts *read_facts(const struct ahead *a, struct lang_readers *r,
				const char *path, struct buf *text,
				XXH128_hash_t *ret_hash)
{
	struct facts *f;
	struct look now;

	look_at(a->root_fd, path, text, &now);
	/* Large ones are read apart. */
	if (now.kind != LOOK_FILE || !now.text || now.len >= APART_MIN ||
	    care_avoids(a->care, path, &now.stamp))
		return NULL;
	*ret_hash = now.hash;
	care_begin(path, &now.stamp);
	f = lang_read(r, path, now.text, now.len);
	care_end();
	return f;
}

static void finish_locked(struct ahead *a, struct ahead_job *j, struct facts *f,
			  XXH128_hash_t hash)
{
	assert(j->state == AHEAD_RUNS || j->state == AHEAD_STALE);
	assert(!j->facts);
	if (j->state == AHEAD_STALE) {
		free(f);
		queue_locked(a, j);
		return;
	}
	j->state = AHEAD_DONE;
	j->hash = hash;
	j->facts = f;
	if (f)
		a->bytes += f->size;
}

static void *helper_main(void *arg)
{
	struct ahead *a = arg;
	struct lang_readers *r = lang_readers_new();
	struct buf text = TREE_TEXT;
	struct ahead_job *j;

	(void)pthread_mutex_lock(&a->lock);
	while (r && (j = next_locked(a))) {
		CLEANUP(free_p) char *path = must_strdup(j->at.path);
		XXH128_hash_t hash = { 0 };
		struct facts *f;

		(void)pthread_mutex_unlock(&a->lock);
		f = read_facts(a, r, path, &text, &hash);
		(void)pthread_mutex_lock(&a->lock);
		finish_locked(a, j, f, hash);
		(void)pthread_cond_broadcast(&a->done);
	}
	(void)pthread_mutex_unlock(&a->lock);
	buf_release(&text);
	lang_readers_free(r);
	return NULL;
}

struct ahead *ahead_new(int root_fd, const struct care *care)
{
	struct ahead *a = must_calloc(1, sizeof(*a));
	unsigned processors = team_processors();

	a->root_fd = root_fd;
	a->care = care;
	a->helpers = processors > HELPERS_MAX ? HELPERS_MAX : processors - 1;
	a->queue.next = a->queue.prev = &a->queue;
	(void)pthread_mutex_init(&a->lock, NULL);
	(void)pthread_cond_init(&a->work, NULL);
	(void)pthread_cond_init(&a->done, NULL);
	return a;
}

/* Threads are started with the first job. */
static void call_helpers(struct ahead *a)
{
	while (a->threads < a->helpers) {
		if (pthread_create(&a->ids[a->threads], NULL, helper_main, a))
			a->helpers = a->threads;
		else
			a->threads++;
	}
}

static void free_job(struct paths_node *n, void *arg)
{
	struct ahead_job *j = (struct ahead_job *)n;

	(void)arg;
	free(j->facts);
	free(j->at.path);
	free(j);
}

void ahead_free(struct ahead *a)
{
	if (!a)
		return;
	(void)pthread_mutex_lock(&a->lock);
	a->stop = true;
	(void)pthread_cond_broadcast(&a->work);
	(void)pthread_mutex_unlock(&a->lock);
	while (a->threads)
		(void)pthread_join(a->ids[--a->threads], NULL);
	paths_each(&a->jobs, free_job, NULL);
	table_release(&a->jobs);
	(void)pthread_cond_destroy(&a->done);
	(void)pthread_cond_destroy(&a->work);
	(void)pthread_mutex_destroy(&a->lock);
	free(a);
}

struct ahead_leftovers {
	struct ahead_job **at;
	size_t count;
};

static void collect(struct paths_node *n, void *arg)
{
	struct ahead_leftovers *l = arg;
	struct ahead_job *j = (struct ahead_job *)n;

	if (j->state == AHEAD_WAITS || j->state == AHEAD_DONE)
		l->at[l->count++] = j;
}

void ahead_clear(struct ahead *a)
{
	struct ahead_leftovers l = { 0 };

	if (!a->threads)
		return;
	(void)pthread_mutex_lock(&a->lock);
	if (a->jobs.count) {
		l.at = must_calloc(a->jobs.count, sizeof(struct ahead_job *));
		paths_each(&a->jobs, collect, &l);
	}
	while (l.count)
		drop_locked(a, l.at[--l.count]);
	(void)pthread_cond_broadcast(&a->work);
	(void)pthread_mutex_unlock(&a->lock);
	free(l.at);
}

static void add(struct ahead *a, const char *path, bool written)
{
	struct ahead_job *j;

	if (!a->helpers || !lang_of(path))
		return;
	call_helpers(a);
	/* Facts of files that came and went again are never taken. */
	if (a->jobs.count >= JOBS_MAX)
		ahead_clear(a);
	(void)pthread_mutex_lock(&a->lock);
	j = paths_find(&a->jobs, path);
	if (!j) {
		j = must_calloc(1, sizeof(*j));
		paths_add(&a->jobs, &j->at, path);
		queue_locked(a, j);
	} else if (written && j->state == AHEAD_RUNS) {
		j->state = AHEAD_STALE;
	} else if (written && j->state == AHEAD_DONE) {
		forget_facts_locked(a, j);
		queue_locked(a, j);
	}
	(void)pthread_mutex_unlock(&a->lock);
}

void ahead_written(struct ahead *a, const char *path)
{
	add(a, path, true);
}

void ahead_expect(struct ahead *a, const char *path)
{
	add(a, path, false);
}

static struct facts *take_locked(struct ahead *a, const char *path,
				 XXH128_hash_t hash)
{
	struct ahead_job *j = paths_find(&a->jobs, path);
	struct facts *f = NULL;

	while (j && (j->state == AHEAD_RUNS))
		(void)pthread_cond_wait(&a->done, &a->lock);
	/* A stale job stays with its helper. */
	if (!j || j->state == AHEAD_STALE)
		return NULL;
	if (j->facts && XXH128_isEqual(j->hash, hash)) {
		a->bytes -= j->facts->size;
		f = TAKE(j->facts);
	}
	drop_locked(a, j);
	(void)pthread_cond_signal(&a->work);
	return f;
}

struct facts *ahead_take(struct ahead *a, const char *path, XXH128_hash_t hash)
{
	struct facts *f;

	if (!a->threads)
		return NULL;
	(void)pthread_mutex_lock(&a->lock);
	f = take_locked(a, path, hash);
	(void)pthread_mutex_unlock(&a->lock);
	return f;
}
