/*
 * A few jobs, and a thread that starts with the first. Facts that nobody takes
 * give way to the next text.
 */
#include "tape/apart.h"

#include <assert.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/base/thread.h"
#include "graph/build/look.h"
#include "graph/facts/facts.h"
#include "graph/facts/lang.h"
#include "tape/care.h"

enum { JOBS_MAX = 4 };

struct apart_job {
	enum apart_state state; /* APART_NONE: a free place */
	uint64_t number;	/* in the order in which they were begun */
	XXH128_hash_t hash;
	struct tree_stamp stamp;
	char *path, *text; /* NULL when it is done */
	size_t len;
	const struct lang *lang;
	struct facts *facts;
};

struct apart {
	int wake_fd;
	pthread_t thread;
	bool started;

	pthread_mutex_t lock; /* a leaf: no other is taken under it */
	pthread_cond_t work;  /* there is a job, or the end */
	struct apart_job jobs[JOBS_MAX]; /* protected by lock, as all below */
	uint64_t newest;
	bool stop;
};

static void forget_locked(struct apart_job *j)
{
	free(j->path);
	free(j->text);
	free(j->facts);
	*j = (struct apart_job){ .state = APART_NONE };
}

/* -- The thread. */

/* The oldest that is busy; NULL: it must end. */
static struct apart_job *next_locked(struct apart *a)
{
	struct apart_job *found = NULL;

	while (!a->stop && !found) {
		for (unsigned i = 0; i < JOBS_MAX; i++) {
			struct apart_job *j = &a->jobs[i];

			if (j->state == APART_BUSY &&
			    (!found || j->number < found->number))
				found = j;
		}
		if (!found)
			(void)pthread_cond_wait(&a->work, &a->lock);
	}
	return a->stop ? NULL : found;
}

/* While it is busy, its text is this thread's. */
static void *apart_main(void *arg)
{
	struct apart *a = arg;
	struct lang_readers *r = lang_readers_new();
	struct apart_job *j;

	(void)pthread_mutex_lock(&a->lock);
	while ((j = next_locked(a))) {
		struct facts *f;

		(void)pthread_mutex_unlock(&a->lock);
		care_begin(j->path, &j->stamp);
		f = lang_read(r, j->path, j->text, j->len);
		care_end();
		(void)pthread_mutex_lock(&a->lock);
		j->facts = f;
		j->state = APART_DONE;
		free(TAKE(j->text));
		(void)eventfd_write(a->wake_fd, 1);
	}
	(void)pthread_mutex_unlock(&a->lock);
	lang_readers_free(r);
	return NULL;
}

/* -- The caller. */

struct apart *apart_new(int wake_fd)
{
	struct apart *a = must_calloc(1, sizeof(*a));

	a->wake_fd = wake_fd;
	(void)pthread_mutex_init(&a->lock, NULL);
	(void)pthread_cond_init(&a->work, NULL);
	return a;
}

void apart_free(struct apart *a)
{
	if (!a)
		return;
	(void)pthread_mutex_lock(&a->lock);
	a->stop = true;
	(void)pthread_cond_signal(&a->work);
	(void)pthread_mutex_unlock(&a->lock);
	if (a->started)
		(void)pthread_join(a->thread, NULL);
	for (unsigned i = 0; i < JOBS_MAX; i++)
		forget_locked(&a->jobs[i]);
	(void)pthread_cond_destroy(&a->work);
	(void)pthread_mutex_destroy(&a->lock);
	free(a);
}

static struct apart_job *find_locked(struct apart *a, XXH128_hash_t hash)
{
	for (unsigned i = 0; i < JOBS_MAX; i++)
		if (a->jobs[i].state != APART_NONE &&
		    XXH128_isEqual(a->jobs[i].hash, hash))
			return &a->jobs[i];
	return NULL;
}

enum apart_state apart_state(struct apart *a, XXH128_hash_t hash)
{
	enum apart_state state;
	const struct apart_job *j;

	(void)pthread_mutex_lock(&a->lock);
	j = find_locked(a, hash);
	state = j ? j->state : APART_NONE;
	(void)pthread_mutex_unlock(&a->lock);
	return state;
}

bool apart_is_busy(struct apart *a)
{
	bool busy = false;

	(void)pthread_mutex_lock(&a->lock);
	for (unsigned i = 0; i < JOBS_MAX; i++)
		busy = busy || a->jobs[i].state == APART_BUSY;
	(void)pthread_mutex_unlock(&a->lock);
	return busy;
}

/* A free place, or that of the oldest facts. NULL: all are being read. */
static struct apart_job *place_locked(struct apart *a)
{
	struct apart_job *found = NULL;

	for (unsigned i = 0; i < JOBS_MAX; i++) {
		struct apart_job *j = &a->jobs[i];

		if (j->state == APART_NONE)
			return j;
		if (j->state == APART_DONE &&
		    (!found || j->number < found->number))
			found = j;
	}
	return found;
}

static bool begin_locked(struct apart *a, const char *path,
			 const struct look *now)
{
	struct apart_job *j = place_locked(a);

	if (!j)
		return false;
	forget_locked(j);
	*j = (struct apart_job){ .state = APART_BUSY,
				 .number = ++a->newest,
				 .hash = now->hash,
				 .stamp = now->stamp,
				 .path = must_strdup(path),
				 .text = must_memdup(now->text, now->len),
				 .len = now->len,
				 .lang = lang_of(path) };
	(void)pthread_cond_signal(&a->work);
	return true;
}

bool apart_begin(struct apart *a, const char *path, const struct look *now)
{
	bool begun;

	assert(lang_of(path) && now->text);
	if (!a->started)
		a->started = thread_start(&a->thread, apart_main, a) == 0;
	if (!a->started)
		return false;
	(void)pthread_mutex_lock(&a->lock);
	begun = begin_locked(a, path, now);
	(void)pthread_mutex_unlock(&a->lock);
	return begun;
}

struct facts *apart_take(struct apart *a, const char *path, XXH128_hash_t hash)
{
	struct facts *f = NULL;
	struct apart_job *j;

	(void)pthread_mutex_lock(&a->lock);
	j = find_locked(a, hash);
	if (j && j->state == APART_DONE && j->lang == lang_of(path)) {
		f = TAKE(j->facts);
		forget_locked(j);
	}
	(void)pthread_mutex_unlock(&a->lock);
	return f;
}
