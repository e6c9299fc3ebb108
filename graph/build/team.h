/*
 * Independent tasks, done by several threads in no particular order.
 */
#ifndef STATETAPE_GRAPH_BUILD_TEAM_H
#define STATETAPE_GRAPH_BUILD_TEAM_H

#include <stddef.h>

#define TEAM_MAX 64

/* Task `n`. */
typedef void team_task(size_t n, void *arg);

struct team;

/*
 * Starts up to `helpers` threads, which do tasks 0 to count - 1 while the
 * caller does something else. If no thread can be created, team_finish() does
 * them all.
 */
struct team *team_begin(unsigned helpers, size_t count, team_task *task,
			void *arg);
/* Does the remaining tasks, waits for the helpers, and frees the team. */
void team_finish(struct team *t);

/* The number of processors this process may run on. */
unsigned team_processors(void);

#endif
