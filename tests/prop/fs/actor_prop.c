/*
 * Several drivers, each with a puppet (puppet.h) of its own, make it fork,
 * vfork, exec, start and leave threads and lose its parent, at random, and ask
 * one shared cache for the process that answers. A driver knows the right
 * answer: it keeps the stack of the waiting processes. Meanwhile, meddlers look
 * up all the ids at any time, also in the middle of an exec, which no real
 * caller does, so that actors are made, published and dropped concurrently.
 *
 *	actor_prop [SEED [STEPS]]
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "fs/author/actor.h"
#include "fs/base/limits.h"
#include "tests/support/puppet.h"

#define DRIVERS	  3
#define MEDDLERS  2
#define STEPS	  400
#define STACK_MAX 12

#ifndef __has_feature
#define __has_feature(x) 0
#endif

/* The sanitizer's runtime aborts when a forked thread starts one. */
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#define FORKS_HAVE_THREADS false
#else
#define FORKS_HAVE_THREADS true
#endif

/* A process on the stack, or one of its threads on top of it. */
struct frame {
	bool thread;
	bool vforked;
	bool forked; /* and not execed since */
	pid_t pid;
	char text[PUPPET_TEXT];
};

struct driver {
	struct actors *as;
	int number;
	uint64_t random;
	int steps;
	struct puppet puppet;
	struct frame stack[STACK_MAX];
	int depth; /* frames on the stack; the last one answers */
	uint64_t asked;
};

/* The ids that meddlers look up; old and new may be mixed. */
static _Atomic pid_t heard_of[DRIVERS][8];
static atomic_bool finished;

static uint64_t random_next(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

static uint64_t draw(struct driver *d, uint64_t below)
{
	return random_next(&d->random) % below;
}

static _Noreturn void fail(const struct driver *d, const char *what,
			   const char *expected, const char *seen)
{
	(void)fprintf(stderr, "driver %d: %s: expected '%s', saw '%s'\n",
		      d->number, what, expected, seen);
	exit(1);
}

static void expect_number(const struct driver *d, const char *what,
			  long expected, long seen)
{
	char one[24];
	char other[24];

	(void)snprintf(one, sizeof(one), "%ld", expected);
	(void)snprintf(other, sizeof(other), "%ld", seen);
	if (expected != seen)
		fail(d, what, one, other);
}

static void expect_cmdline(const struct driver *d, const char *what,
			   const char *text, const char *seen)
{
	char expected[PUPPET_TEXT + 32];

	(void)snprintf(expected, sizeof(expected), "marionette puppet %s",
		       text);
	if (strcmp(expected, seen) != 0)
		fail(d, what, expected, seen);
}

static const struct frame *top(const struct driver *d)
{
	return &d->stack[d->depth - 1];
}

/* The process below the one that answers, NULL: it is ours. */
static const struct frame *waiting_parent(const struct driver *d)
{
	int i = d->depth - 1;

	while (d->stack[i].thread)
		i--;
	for (i--; i >= 0; i--)
		if (!d->stack[i].thread)
			return &d->stack[i];
	return NULL;
}

static void check(struct driver *d)
{
	struct actor *a = actors_get(d->as, d->puppet.at.tid);
	const struct frame *parent = waiting_parent(d);
	const struct journal_author *author;

	expect_number(d, "speaker", top(d)->pid, d->puppet.at.pid);
	if (!a)
		fail(d, "actor", "one", "none");
	author = actor_author(a);
	expect_number(d, "process", top(d)->pid, (long)author->pid);
	expect_cmdline(d, "command line", top(d)->text, author->cmdline);
	if (!author->parent)
		fail(d, "parent", "one", "none");
	expect_number(d, "parent", parent ? parent->pid : getpid(),
		      (long)author->parent->pid);
	if (parent)
		expect_cmdline(d, "parent's command line", parent->text,
			       author->parent->cmdline);
	actor_unref(a);
	d->asked++;
}

static void tell(struct driver *d, enum puppet_verb verb, const char *text)
{
	if (!puppet_send(&d->puppet, verb, text))
		fail(d, "puppet", "an answer", "silence");
	/*
	 * The meddlers do not know a vforked child before its exec: it has no
	 * children and sends no requests.
	 */
	if (verb != PUPPET_VFORK)
		atomic_store(&heard_of[d->number][draw(d, 8)],
			     d->puppet.at.tid);
}

static void push(struct driver *d, bool thread, bool vforked)
{
	struct frame f = *top(d);

	f.thread = thread;
	f.vforked = vforked;
	f.forked |= !thread;
	f.pid = d->puppet.at.pid;
	d->stack[d->depth++] = f;
}

/* The new program is the whole process: its threads are gone. */
static void do_exec(struct driver *d)
{
	char text[PUPPET_TEXT];

	(void)snprintf(text, sizeof(text), "%d.%llu", d->number,
		       (unsigned long long)draw(d, 1u << 30));
	tell(d, PUPPET_EXEC, text);
	while (top(d)->thread)
		d->depth--;
	d->stack[d->depth - 1].vforked = false;
	d->stack[d->depth - 1].forked = false;
	memcpy(d->stack[d->depth - 1].text, text, sizeof(text));
}

/* The process at the bottom exits; we become its child's parent. */
static void do_orphan(struct driver *d)
{
	pid_t gone = d->puppet.pid;

	tell(d, PUPPET_ORPHAN, NULL);
	(void)waitpid(gone, NULL, 0);
	d->puppet.pid = d->puppet.at.pid;
	d->stack[0].pid = d->puppet.pid;
	d->stack[0].forked = true;
}

static void do_end(struct driver *d)
{
	tell(d, PUPPET_END, NULL);
	d->depth--;
}

static bool may_thread(const struct driver *d)
{
	return FORKS_HAVE_THREADS || !top(d)->forked;
}

static void step_deeper(struct driver *d)
{
	switch (draw(d, may_thread(d) ? 3 : 2)) {
	case 0:
		tell(d, PUPPET_FORK, NULL);
		push(d, false, false);
		break;
	case 1:
		tell(d, PUPPET_VFORK, NULL);
		push(d, false, true);
		break;
	default:
		tell(d, PUPPET_THREAD, NULL);
		push(d, true, false);
		break;
	}
}

static void step_vforked(struct driver *d)
{
	if (draw(d, 3) == 0)
		do_end(d);
	else
		do_exec(d);
}

static void step(struct driver *d)
{
	uint64_t dice = draw(d, 10);

	if (top(d)->vforked)
		step_vforked(d);
	else if (d->depth < STACK_MAX && dice < 4)
		step_deeper(d);
	else if (d->depth == 1 && dice < 6)
		do_orphan(d);
	else if (!top(d)->thread && may_thread(d) && dice < 6)
		tell(d, PUPPET_LEAVE, NULL);
	else if (d->depth > 1 && dice < 8)
		do_end(d);
	else
		do_exec(d);
}

static void *drive(void *arg)
{
	struct driver *d = arg;
	struct frame *first = &d->stack[0];

	(void)snprintf(first->text, sizeof(first->text), "%d", d->number);
	if (!puppet_new(first->text, &d->puppet))
		fail(d, "puppet", "one", "none");
	first->pid = d->puppet.at.pid;
	d->depth = 1;
	for (int i = 0; i < d->steps; i++) {
		for (uint64_t n = draw(d, 4); n > 0; n--)
			check(d);
		step(d);
	}
	check(d);
	puppet_free(&d->puppet);
	return NULL;
}

/* Keeps some references, so that actors are freed late and unordered. */
static void *meddle(void *arg)
{
	struct driver *d = arg;
	struct actor *held[16] = { NULL };

	while (!atomic_load(&finished)) {
		uint64_t slot = draw(d, 16);
		pid_t tid =
			atomic_load(&heard_of[draw(d, DRIVERS)][draw(d, 8)]);

		actor_unref(held[slot]);
		held[slot] = actors_get(d->as, tid);
		d->asked++;
		if (draw(d, 4) == 0)
			(void)usleep((useconds_t)draw(d, 2000));
	}
	for (int i = 0; i < 16; i++)
		actor_unref(held[i]);
	return NULL;
}

static void run(struct driver *d, pthread_t *thread, int first, int count,
		void *(*f)(void *))
{
	for (int i = first; i < first + count; i++)
		if (pthread_create(&thread[i], NULL, f, &d[i]) != 0)
			fail(&d[i], "thread", "one", "none");
}

int main(int argc, char **argv)
{
	struct driver d[DRIVERS + MEDDLERS] = { 0 };
	pthread_t thread[DRIVERS + MEDDLERS];
	struct actors *as;
	uint64_t asked = 0;
	uint64_t seed;

	puppet_play(argc, argv);
	seed = argc > 1 ? strtoull(argv[1], NULL, 0) : (uint64_t)time(NULL);
	(void)printf("seed %llu\n", (unsigned long long)seed);
	/* Orphans become our children. */
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0 ||
	    actors_new(getpid(), &as) < 0)
		return 1;
	for (int i = 0; i < DRIVERS + MEDDLERS; i++)
		d[i] = (struct driver){
			.as = as,
			.number = i,
			.random = seed * 31 + (uint64_t)i,
			.steps = argc > 2 ? (int)strtol(argv[2], NULL, 0)
					  : STEPS,
		};
	run(d, thread, 0, DRIVERS, drive);
	run(d, thread, DRIVERS, MEDDLERS, meddle);
	for (int i = 0; i < DRIVERS + MEDDLERS; i++) {
		if (i == DRIVERS)
			atomic_store(&finished, true);
		(void)pthread_join(thread[i], NULL);
		asked += d[i].asked;
	}
	(void)printf("%llu questions, %llu actors kept\n",
		     (unsigned long long)asked,
		     (unsigned long long)actors_count(as));
	actors_free(as);
	return 0;
}
