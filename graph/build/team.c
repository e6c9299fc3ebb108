#include "graph/build/team.h"

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "graph/base/alloc.h"

struct team {
	team_task *task;
	void *arg;
	size_t count;
	atomic_size_t next;
	pthread_t threads[TEAM_MAX];
	unsigned helpers;
};

static void *help(void *arg)
{
	struct team *t = arg;
	size_t n;

	while ((n = atomic_fetch_add(&t->next, 1)) < t->count)
		t->task(n, t->arg);
	return NULL;
}

struct team *team_begin(unsigned helpers, size_t count, team_task *task,
			void *arg)
{
	struct team *t = must_calloc(1, sizeof(*t));

	t->task = task;
	t->arg = arg;
	t->count = count;
	if (helpers > TEAM_MAX)
		helpers = TEAM_MAX;
	if (helpers > count)
		helpers = (unsigned)count;
	while (t->helpers < helpers &&
	       pthread_create(&t->threads[t->helpers], NULL, help, t) == 0)
		t->helpers++;
	return t;
}

void team_finish(struct team *t)
{
	(void)help(t);
	assert(t->next >= t->count); /* every task was taken */
	while (t->helpers > 0)
		(void)pthread_join(t->threads[--t->helpers], NULL);
	free(t);
}

unsigned team_processors(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) < 0)
		return 1;
	return (unsigned)CPU_COUNT(&set);
}
