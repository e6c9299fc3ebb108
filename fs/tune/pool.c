#include "fs/tune/pool.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <time.h>

#include "fs/base/limits.h"
#include "graph/base/thread.h"

static struct {
	cpu_set_t processors; /* constant after pool_init() */

	pthread_mutex_t lock;
	pthread_cond_t work;  /* a job came, or the end */
	pthread_cond_t ended; /* the last thread ended */
	/* Protected by lock. */
	STAILQ_HEAD(jobs, pool_job) jobs;
	unsigned waiting; /* jobs in the list */
	unsigned threads;
	unsigned idle;
	bool stop;
} pool = { .lock = PTHREAD_MUTEX_INITIALIZER,
	   .jobs = STAILQ_HEAD_INITIALIZER(pool.jobs) };

void pool_init(void)
{
	pthread_condattr_t clock;

	(void)pthread_condattr_init(&clock);
	(void)pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&pool.work, &clock);
	(void)pthread_cond_init(&pool.ended, NULL);
	(void)pthread_condattr_destroy(&clock);
	if (sched_getaffinity(0, sizeof(pool.processors), &pool.processors) < 0)
		CPU_ZERO(&pool.processors);
}

/* The next job, or NULL when the thread should end. */
static struct pool_job *take_locked(void)
{
	struct pool_job *job;
	struct timespec until;
	int r = 0;

	(void)clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += POOL_IDLE_S;
	pool.idle++;
	while (STAILQ_EMPTY(&pool.jobs) && !pool.stop && r == 0)
		r = pthread_cond_timedwait(&pool.work, &pool.lock, &until);
	pool.idle--;
	job = STAILQ_FIRST(&pool.jobs);
	if (job) {
		STAILQ_REMOVE_HEAD(&pool.jobs, next);
		pool.waiting--;
	}
	return job;
}

static void *pool_main(void *arg)
{
	struct pool_job *job;

	(void)arg;
	/* The thread of a ring, which may have started us, is bound to one. */
	if (CPU_COUNT(&pool.processors) > 0)
		(void)sched_setaffinity(0, sizeof(pool.processors),
					&pool.processors);
	(void)pthread_mutex_lock(&pool.lock);
	while ((job = take_locked())) {
		(void)pthread_mutex_unlock(&pool.lock);
		job->run(job);
		(void)pthread_mutex_lock(&pool.lock);
	}
	assert(pool.threads > 0);
	if (--pool.threads == 0)
		(void)pthread_cond_signal(&pool.ended);
	(void)pthread_mutex_unlock(&pool.lock);
	return NULL;
}

static int start_locked(void)
{
	pthread_t thread;

	if (pool.threads >= POOL_THREADS_MAX ||
	    thread_start(&thread, pool_main, NULL) < 0)
		return -EAGAIN;
	(void)pthread_detach(thread);
	pool.threads++;
	return 0;
}

int pool_run(struct pool_job *job)
{
	int r = 0;

	(void)pthread_mutex_lock(&pool.lock);
	assert(!pool.stop);
	if (pool.waiting >= pool.idle)
		r = start_locked();
	if (pool.threads > 0) {
		r = 0;
		STAILQ_INSERT_TAIL(&pool.jobs, job, next);
		pool.waiting++;
		(void)pthread_cond_signal(&pool.work);
	}
	(void)pthread_mutex_unlock(&pool.lock);
	return r;
}

void pool_end(void)
{
	(void)pthread_mutex_lock(&pool.lock);
	pool.stop = true;
	(void)pthread_cond_broadcast(&pool.work);
	while (pool.threads > 0)
		(void)pthread_cond_wait(&pool.ended, &pool.lock);
	(void)pthread_mutex_unlock(&pool.lock);
}
