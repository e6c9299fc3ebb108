/*
 * One thread that asks again and again is followed: every NEAR_STEP requests
 * of it in a row, /proc tells where it last ran, and each worker moves there
 * when its next turn comes. Where several threads ask by turns, workers may be
 * anywhere, as the kernel likes.
 *
 * A scheduler may wake the caller elsewhere just because a worker stands where
 * it was. Following would then be a chase, which costs more than it brings: a
 * caller who was found gone twice running is left alone, each time longer.
 */
#include "fs/tune/near.h"

#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fs/base/limits.h"
#include "graph/base/cleanup.h"

#define ANYWHERE (-1)
#define UNKNOWN	 (-2) /* a new worker is held where its maker was */

/* Constant after near_init(). */
static cpu_set_t allowed;
static bool follows; /* there is more than one place to be */

static atomic_int home = ANYWHERE; /* the processor to be at */
static atomic_int last;		   /* the thread that asked last */
static atomic_uint in_a_row;	   /* requests it has made since another did */
static atomic_uint changes;	   /* of `last`, since one was followed */
static atomic_uint moves;	   /* times it was found gone, running */
static atomic_int resting;	   /* looks still to be left out */
static atomic_int patience = NEAR_REST; /* the next rest */

static _Thread_local int here = UNKNOWN; /* where this worker is held */

void near_init(void)
{
	follows = sched_getaffinity(0, sizeof(allowed), &allowed) == 0 &&
		  CPU_COUNT(&allowed) > 1;
}

/* The processor `tid` last ran on, or ANYWHERE. */
static int processor_of(pid_t tid)
{
	CLEANUP(close_p) int fd = -1;
	char text[1024];
	const char *at;
	ssize_t len;

	(void)snprintf(text, sizeof(text), "/proc/%d/stat", (int)tid);
	fd = open(text, O_RDONLY | O_CLOEXEC);
	len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (len <= 0)
		return ANYWHERE;
	text[len] = '\0';
	/* The name, in brackets, may hold anything; field 39 is counted on. */
	at = strrchr(text, ')');
	for (int field = 2; at && field < 39; field++)
		at = strchr(at + 1, ' ');
	return at ? (int)strtol(at, NULL, 10) : ANYWHERE;
}

static void rest(void)
{
	int next = atomic_load(&patience);

	atomic_store(&home, ANYWHERE);
	atomic_store(&moves, 0);
	atomic_store(&resting, next);
	atomic_store(&patience, next < NEAR_REST_MAX ? next * 2 : next);
}

static void look(pid_t tid)
{
	int known = atomic_load(&home);
	int now;

	if (atomic_load(&resting) > 0) {
		(void)atomic_fetch_sub(&resting, 1);
		return;
	}
	now = processor_of(tid);
	if (now == known) {
		atomic_store(&moves, 0);
		atomic_store(&patience, NEAR_REST);
	} else if (known != ANYWHERE && atomic_fetch_add(&moves, 1) > 0) {
		rest();
	} else {
		atomic_store(&home, now);
	}
}

static void follow(pid_t tid)
{
	if (atomic_exchange(&last, tid) != tid) {
		atomic_store(&in_a_row, 0);
		if (atomic_fetch_add(&changes, 1) >= NEAR_TURNS)
			atomic_store(&home, ANYWHERE);
	} else if (atomic_fetch_add(&in_a_row, 1) % NEAR_STEP ==
		   NEAR_STEP - 1) {
		atomic_store(&changes, 0);
		look(tid);
	}
}

static void go(int processor)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	if (processor != ANYWHERE && CPU_ISSET(processor, &allowed))
		CPU_SET(processor, &one);
	else
		one = allowed;
	(void)sched_setaffinity(0, sizeof(one), &one);
	here = processor;
}

void near_caller(pid_t tid)
{
	int processor;

	if (!follows)
		return;
	if (tid > 0)
		follow(tid);
	processor = atomic_load_explicit(&home, memory_order_relaxed);
	if (processor != here)
		go(processor);
}
