/*
 * Threads for work that may wait for long: requests that wait for the disk or
 * for another file system, so that those that only need the kernel's caches are
 * answered meanwhile. A thread is started when none is idle, up to
 * POOL_THREADS_MAX; it ends after POOL_IDLE_S without work.
 *
 * Any thread may call pool_run().
 */
#ifndef STATETAPE_FS_TUNE_POOL_H
#define STATETAPE_FS_TUNE_POOL_H

#include <sys/queue.h>

struct pool_job {
	STAILQ_ENTRY(pool_job) next;
	void (*run)(struct pool_job *job); /* may free it */
};

/* Call before any thread is started: jobs run on this thread's processors. */
void pool_init(void);

/*
 * Have a thread run the job; jobs wait in order while all threads are busy.
 * -EAGAIN: there is no thread and none can be started; the caller has the job.
 */
int pool_run(struct pool_job *job);

/* Wait for all jobs, and end the threads. */
void pool_end(void);

#endif
