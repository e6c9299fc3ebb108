/*
 * However rings and ears fall together, an ear that keeps waiting ends with
 * the last head, and receives nothing that was not rung before, nor anything
 * older than it received on the same connection.
 *
 * Usage: bell_prop [SEED]. The seed is printed; it decides what each thread
 * does, not how the threads fall together, so a failure may need more runs.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tape/wire/bell.h"
#include "tests/support/scratch.h"

#define RINGERS	    4
#define EARS	    6
#define ROUNDS	    50
#define RINGS	    2000 /* by each ringer, each round */
#define BEDTIMES    2000
#define PATIENCE_MS 20000

struct round {
	const char *path;
	struct bell *bell;
	_Atomic uint64_t next; /* numbers are taken here, as a log does */
	atomic_bool over;      /* the last ring has returned */
};

struct thread {
	pthread_t id;
	struct round *round;
	uint64_t rng;
	char failure[128];
};

/* xorshift64*: enough for choosing what to do next. */
static uint32_t choose(struct thread *t, uint32_t n)
{
	t->rng ^= t->rng >> 12;
	t->rng ^= t->rng << 25;
	t->rng ^= t->rng >> 27;
	return (uint32_t)((t->rng * UINT64_C(2685821657736338717)) >> 33) % n;
}

static void pause_us(uint32_t us)
{
	struct timespec t = { .tv_nsec = us * 1000L };

	(void)nanosleep(&t, NULL);
}

/* Bursts, with silences between that are shorter and longer than a merge. */
static void *ringer(void *arg)
{
	struct thread *t = arg;
	struct round *r = t->round;

	for (int i = 0; i < RINGS; i++) {
		bell_ring(r->bell, atomic_fetch_add(&r->next, 1) + 1);
		if (choose(t, 200) == 0)
			pause_us(choose(t, 1000));
	}
	return NULL;
}

/* Wait once. False: there is nothing more to hear, or something failed. */
static int hear(struct thread *t, struct bell_ear *e, uint64_t *last)
{
	/* Read first: a head received afterwards is then the last. */
	int over = atomic_load(&t->round->over);
	int rc;
	uint64_t head = 0;

	if (over && *last == atomic_load(&t->round->next))
		return 0;
	rc = bell_ear_wait(e, over ? PATIENCE_MS : (int)choose(t, 5), &head);
	if (rc == -ETIMEDOUT && !over)
		return 1;
	if (rc < 0)
		(void)snprintf(t->failure, sizeof(t->failure),
			       "wait said %d after head %" PRIu64, rc, *last);
	else if (head < *last || head > atomic_load(&t->round->next))
		(void)snprintf(t->failure, sizeof(t->failure),
			       "%" PRIu64 " was heard after %" PRIu64, head,
			       *last);
	else
		*last = head;
	return t->failure[0] == '\0';
}

/* Comes and goes while there is ringing, and then stays to its end. */
static void *listener(void *arg)
{
	struct thread *t = arg;
	struct bell_ear *e = NULL;
	uint64_t last = 0;
	int rc;

	do {
		if (e && !atomic_load(&t->round->over) && choose(t, 8) == 0) {
			bell_ear_free(e);
			e = NULL;
			last = 0;
		}
		rc = e ? 0 : bell_ear_open(t->round->path, &e);
		if (rc < 0)
			(void)snprintf(t->failure, sizeof(t->failure),
				       "open said %d", rc);
	} while (rc == 0 && hear(t, e, &last));
	bell_ear_free(e);
	return NULL;
}

static void start(struct thread *t, struct round *r, uint64_t seed,
		  void *(*f)(void *))
{
	*t = (struct thread){ .round = r, .rng = seed };
	if (pthread_create(&t->id, NULL, f, t) != 0)
		abort();
}

/* How many threads saw the claim broken. */
static int run_round(struct round *r, uint64_t seed)
{
	struct thread ringers[RINGERS];
	struct thread ears[EARS];
	int failed = 0;

	for (size_t i = 0; i < EARS; i++)
		start(&ears[i], r, seed + i, listener);
	for (size_t i = 0; i < RINGERS; i++)
		start(&ringers[i], r, seed + EARS + i, ringer);
	for (size_t i = 0; i < RINGERS; i++)
		(void)pthread_join(ringers[i].id, NULL);
	atomic_store(&r->over, true);
	for (size_t i = 0; i < EARS; i++) {
		(void)pthread_join(ears[i].id, NULL);
		if (ears[i].failure[0] == '\0')
			continue;
		failed++;
		printf("ear %zu: %s, of %" PRIu64 "\n", i, ears[i].failure,
		       atomic_load(&r->next));
	}
	return failed;
}

static int64_t now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/*
 * The one moment in which a ring could be lost is when the bell's thread,
 * having merged for 200 us, decides to sleep. Here each ring is the last one,
 * and comes about then.
 */
static int ring_at_bedtime(struct round *r, uint64_t seed)
{
	struct thread t = { .round = r, .rng = seed };
	struct bell_ear *e = NULL;
	uint64_t head = 0;
	uint64_t n = 0;
	int rc = 0;

	if (bell_ear_open(r->path, &e) < 0)
		return 1;
	for (int i = 0; i < BEDTIMES && rc == 0; i++) {
		int64_t until = now_ns() + 100000 + choose(&t, 300000);

		while (now_ns() < until)
			continue;
		n = atomic_fetch_add(&r->next, 1) + 1;
		bell_ring(r->bell, n);
		do
			rc = bell_ear_wait(e, PATIENCE_MS, &head);
		while (rc == 0 && head < n);
	}
	bell_ear_free(e);
	if (rc < 0)
		printf("ring %" PRIu64 " was not heard: %d\n", n, rc);
	return rc < 0;
}

static int run(const char *path, uint64_t seed)
{
	struct round r = { .path = path };
	int failed = 0;

	if (bell_open(path, &r.bell) < 0)
		return 1;
	for (uint64_t i = 0; i < ROUNDS && !failed; i++) {
		atomic_store(&r.over, false);
		/* Odd, for a generator of this kind must not start at 0. */
		failed = run_round(&r, (seed + i * 1000) * 2 + 1);
	}
	failed = failed || ring_at_bedtime(&r, seed * 2 + 1);
	bell_free(r.bell);
	return failed;
}

int main(int argc, char **argv)
{
	uint64_t seed =
		argc > 1 ? strtoull(argv[1], NULL, 10) : (uint64_t)time(NULL);
	char *dir = scratch_new();
	char *path = NULL;
	int failed = 1;

	printf("seed %" PRIu64 "\n", seed);
	if (dir && asprintf(&path, "%s/bell", dir) > 0)
		failed = run(path, seed);
	free(path);
	scratch_free(dir);
	return failed ? 1 : 0;
}
