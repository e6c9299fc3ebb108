/*
 * Tasks that know nothing of each other, done by several threads. Which does
 * which, and in what order, is left to chance.
 */
#ifndef STATETAPE_GRAPH_BUILD_TEAM_H
#define STATETAPE_GRAPH_BUILD_TEAM_H

#include <stddef.h>

#define TEAM_MAX 64

/* Task `n`. */
typedef void team_task(size_t n, void *arg);

struct team;

/*
 * Begin: `helpers` threads take task 0, 1, ... up to `count`, while the caller
 * does something else. A process that may have no threads does it all in
 * team_finish().
 */
struct team *team_begin(unsigned helpers, size_t count, team_task *task,
			void *arg);
/* The caller does what is left, and waits for the others. */
void team_finish(struct team *t);

/* As many as there are processors for this process. */
unsigned team_processors(void);

#endif
