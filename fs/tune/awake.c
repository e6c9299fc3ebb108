/*
 * Every AWAKE_STEP requests the worker reads the clock; if they came within
 * AWAKE_STEP_NS it wakes a thread, which sets the latency limit and checks
 * every AWAKE_LOOK_MS whether requests still arrive as fast.
 */
#include "fs/tune/awake.h"

#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fs/base/limits.h"
#include "graph/base/cleanup.h"
#include "graph/base/clock.h"
#include "graph/base/thread.h"

/* The kernel's default limit in microseconds: none. */
#define NO_LIMIT 2000000000

static struct {
	/* Constant from awake_init() to awake_end(). */
	int fd;	    /* /dev/cpu_dma_latency, -1: not available */
	int32_t us; /* the limit while requests arrive */
	pthread_t thread;

	sem_t wake; /* posted for the thread */
	atomic_bool stop;
	atomic_bool asked; /* the limit is set, or about to be */
	atomic_uint requests;
	_Atomic int64_t step_ns; /* when the last AWAKE_STEP began */
	atomic_ullong times;
} awake = { .fd = -1 };

/* On failure the limit stays as it is. */
static void set_limit(int32_t us)
{
	ssize_t put = write(awake.fd, &us, sizeof(us));

	(void)put;
}

/* Returns when requests arrive slowly. */
static void wait_for_pause(void)
{
	const struct timespec pause = { .tv_nsec = AWAKE_LOOK_MS * 1000000L };
	unsigned before;

	do {
		before = atomic_load(&awake.requests);
		(void)nanosleep(&pause, NULL);
	} while (!atomic_load(&awake.stop) &&
		 atomic_load(&awake.requests) - before >= AWAKE_STEP);
}

static void *awake_main(void *arg)
{
	(void)arg;
	while (sem_wait(&awake.wake) == 0 && !atomic_load(&awake.stop)) {
		assert(atomic_load(&awake.asked));
		set_limit(awake.us);
		atomic_fetch_add(&awake.times, 1);
		wait_for_pause();
		set_limit(NO_LIMIT);
		atomic_store(&awake.asked, false);
	}
	return NULL;
}

void awake_request(void)
{
	int64_t now;

	if (awake.fd < 0 || atomic_fetch_add_explicit(&awake.requests, 1,
						      memory_order_relaxed) %
				    AWAKE_STEP)
		return;
	now = clock_ns(CLOCK_MONOTONIC_COARSE);
	if (now - atomic_exchange(&awake.step_ns, now) < AWAKE_STEP_NS &&
	    !atomic_exchange(&awake.asked, true))
		(void)sem_post(&awake.wake);
}

/* A virtual machine, by its idle driver, of few processors. */
static bool is_small_guest(void)
{
	static const char guest[] = "haltpoll\n";
	CLEANUP(close_p)
	int fd = open("/sys/devices/system/cpu/cpuidle/current_driver",
		      O_RDONLY | O_CLOEXEC);
	char text[sizeof(guest)] = "";

	return fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 &&
	       strcmp(text, guest) == 0 &&
	       sysconf(_SC_NPROCESSORS_ONLN) <= AWAKE_PROCESSORS_MAX;
}

void awake_init(void)
{
	awake.fd = open("/dev/cpu_dma_latency", O_WRONLY | O_CLOEXEC);
	if (awake.fd < 0)
		return;
	awake.us = is_small_guest() ? 0 : AWAKE_DOZE_US;
	(void)sem_init(&awake.wake, 0, 0);
	if (thread_start(&awake.thread, awake_main, NULL) < 0) {
		close_p(&awake.fd);
		awake.fd = -1;
	}
}

void awake_end(void)
{
	if (awake.fd < 0)
		return;
	atomic_store(&awake.stop, true);
	(void)sem_post(&awake.wake);
	(void)pthread_join(awake.thread, NULL);
	close_p(&awake.fd);
	awake.fd = -1;
}

void awake_stat(struct awake_stats *ret)
{
	*ret = (struct awake_stats){ .able = awake.fd >= 0,
				     .times = atomic_load(&awake.times) };
}
