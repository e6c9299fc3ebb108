/*
 * Who is behind a request. FUSE gives the id of the calling *thread*; an actor
 * is its process, described once (command name, command line, executable,
 * ancestors up to the session's root) and kept, so that a process that has
 * exited since is still named by those who hold a reference.
 *
 * A process may exec, exit, or its number be used again between two requests.
 * An answer is trusted for ACTOR_TRUST_NS, less than an exec takes, and then
 * checked against /proc before it is given again.
 *
 * Any thread may call any function here.
 */
#ifndef STATETAPE_FS_AUTHOR_ACTOR_H
#define STATETAPE_FS_AUTHOR_ACTOR_H

#include <stdint.h>
#include <sys/types.h>

#include "tape/journal/journal.h"

struct actors;
struct actor;

/*
 * What 'statetape run' calls itself: a session may have several of them, and
 * each is the root of what it runs. Who stands above it is nobody's business.
 */
#define ACTOR_ROOT_NAME "statetape-run"

/*
 * Ancestor chains end at process `session_root` (0: none), or at one of this
 * program and the name above, or at init.
 */
int actors_new(pid_t session_root, struct actors **ret);
/* References still held stay good until they are given back. */
void actors_free(struct actors *as);

/*
 * The process of thread `tid`, a reference. NULL when there is none to name:
 * tid 0 (the kernel's own work, or a process outside our pid namespace), or
 * memory is short. A process already gone that we never saw gets an actor
 * with its number and empty texts.
 */
struct actor *actors_get(struct actors *as, pid_t tid);

struct actor *actor_ref(struct actor *a);
void actor_unref(struct actor *a); /* NULL is accepted */

pid_t actor_pid(const struct actor *a);
/* Lives as long as the reference, its parents too. */
struct journal_author *actor_author(struct actor *a);

/* How many are held now, for `status` and for leak tests. */
uint64_t actors_count(struct actors *as);

#endif
