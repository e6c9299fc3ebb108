/*
 * The cost of finding the author of a request: nanoseconds per actors_get() in
 * each of its cases, and per query of the read sets. Prints one figure per
 * line.
 */
#include <err.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fs/author/actor.h"
#include "fs/author/reads.h"
#include "fs/base/limits.h"
#include "graph/base/clock.h"

#define TRUSTED_ROUNDS	1000000L
#define VERIFIED_ROUNDS 20000
#define PROCESSES	200
#define PATHS		50000
#define WORKERS		4

static void say(const char *what, uint64_t ns, uint64_t rounds)
{
	(void)printf("%-44s %9.1f ns\n", what, (double)ns / (double)rounds);
}

static void ask(struct actors *as, pid_t tid)
{
	actor_unref(actors_get(as, tid));
}

static void *ask_often(void *arg)
{
	pid_t tid = gettid();

	for (int i = 0; i < TRUSTED_ROUNDS; i++)
		ask(arg, tid);
	return NULL;
}

static void bench_trusted(struct actors *as)
{
	pthread_t worker[WORKERS];
	uint64_t start = clock_mono_ns();

	(void)ask_often(as);
	say("actors_get, trusted", clock_mono_ns() - start, TRUSTED_ROUNDS);

	start = clock_mono_ns();
	for (int i = 0; i < WORKERS; i++)
		if (pthread_create(&worker[i], NULL, ask_often, as) != 0)
			errx(1, "no thread");
	for (int i = 0; i < WORKERS; i++)
		(void)pthread_join(worker[i], NULL);
	say("actors_get, trusted, 4 threads of one process",
	    clock_mono_ns() - start, TRUSTED_ROUNDS * WORKERS);
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a;
	uint64_t y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The median: on a shared machine a mean shows mainly other load. */
static uint64_t median(uint64_t *values, size_t count)
{
	qsort(values, count, sizeof(*values), by_size);
	return values[count / 2];
}

static void bench_verified(struct actors *as, pid_t tid, const char *what)
{
	static uint64_t spent[VERIFIED_ROUNDS];

	ask(as, tid);
	for (int i = 0; i < VERIFIED_ROUNDS; i++) {
		uint64_t start = clock_mono_ns();

		while ((uint64_t)clock_mono_ns() - start < 2 * ACTOR_TRUST_NS)
			;
		start = clock_mono_ns();
		ask(as, tid);
		spent[i] = clock_mono_ns() - start;
	}
	say(what, median(spent, VERIFIED_ROUNDS), 1);
}

struct sleeper {
	pthread_t thread;
	pid_t tid;
	int report[2];
	int hold[2];
};

static void *sleeper_run(void *arg)
{
	struct sleeper *s = arg;
	pid_t tid = gettid();
	char byte;

	if (write(s->report[1], &tid, sizeof(tid)) != sizeof(tid) ||
	    read(s->hold[0], &byte, 1) < 0)
		err(1, "sleeper");
	return NULL;
}

static void bench_thread(struct actors *as)
{
	struct sleeper s;

	if (pipe(s.report) < 0 || pipe(s.hold) < 0)
		err(1, "pipe");
	if (pthread_create(&s.thread, NULL, sleeper_run, &s) != 0)
		errx(1, "no thread");
	if (read(s.report[0], &s.tid, sizeof(s.tid)) != sizeof(s.tid))
		err(1, "read");
	bench_verified(as, s.tid, "actors_get, verified, not the first thread");
	(void)close(s.hold[1]);
	(void)pthread_join(s.thread, NULL);
	(void)close(s.hold[0]);
	(void)close(s.report[0]);
	(void)close(s.report[1]);
}

static void bench_fresh(struct actors *as)
{
	uint64_t spent[PROCESSES];
	pid_t child[PROCESSES];

	for (int i = 0; i < PROCESSES; i++) {
		child[i] = fork();
		if (child[i] < 0)
			err(1, "fork");
		if (child[i] == 0) {
			(void)pause();
			_exit(0);
		}
	}
	for (int i = 0; i < PROCESSES; i++) {
		uint64_t start = clock_mono_ns();

		ask(as, child[i]);
		spent[i] = clock_mono_ns() - start;
	}
	for (int i = 0; i < PROCESSES; i++) {
		(void)kill(child[i], SIGKILL);
		(void)waitpid(child[i], NULL, 0);
	}
	say("actors_get, a process not met before", median(spent, PROCESSES),
	    1);
}

static void bench_reads(struct actors *as)
{
	struct actor *a = actors_get(as, gettid());
	struct reads *r;
	uint64_t known = 0;
	uint64_t start;
	char path[64];

	if (!a || reads_new(&r) < 0)
		errx(1, "no memory");
	start = clock_mono_ns();
	for (uint64_t i = 0; i < PATHS; i++) {
		(void)snprintf(path, sizeof(path), "src/module_%d/file_%d.py",
			       (int)(i % 97), (int)i);
		reads_note(r, a, READS_OPENED, i, path);
	}
	say("reads_note, with making up a path", clock_mono_ns() - start,
	    PATHS);
	start = clock_mono_ns();
	for (uint64_t i = 0; i < PATHS; i++)
		known += reads_known(r, a, READS_OPENED, i);
	say("reads_known, of 50,000", clock_mono_ns() - start, PATHS);
	if (known != PATHS)
		errx(1, "only %d paths are known", (int)known);
	reads_free(r);
	actor_unref(a);
}

int main(void)
{
	struct actors *as;

	if (actors_new(0, &as) < 0)
		errx(1, "no memory");
	bench_trusted(as);
	bench_verified(as, getpid(), "actors_get, verified");
	bench_thread(as);
	bench_fresh(as);
	bench_reads(as);
	actors_free(as);
	return 0;
}
