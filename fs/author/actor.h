/*
 * The process behind a request. FUSE gives the id of the calling *thread*; an
 * actor is its process, described once (command name, command line,
 * executable, ancestors up to the session's root). A reference keeps the
 * description after the process has exited. fs/README.md, "Writes and
 * authors", says how writes are attributed.
 *
 * Between two requests a process may exec or exit, and its id may be used
 * again. A description is trusted for ACTOR_TRUST_NS, less than an exec takes,
 * and then checked against /proc before it is used again.
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
 * The name that 'statetape run' gives itself: a session may have several, and
 * each is the root of the processes it starts. Its ancestors are not recorded.
 */
#define ACTOR_ROOT_NAME "statetape-run"

/*
 * Ancestor chains end at process `session_root` (0: none), at a process of
 * this program with the name above, or at init.
 */
int actors_new(pid_t session_root, struct actors **ret);
/* References still held stay valid until they are dropped. */
void actors_free(struct actors *as);

/*
 * The process of thread `tid`, a reference. NULL for tid 0 (the kernel's own
 * work, or a process of another pid namespace) or when memory is short. For a
 * process that is gone and was never seen: an actor with its id and empty
 * texts.
 */
struct actor *actors_get(struct actors *as, pid_t tid);

/*
 * Between these two, the calling thread serves one request, whose caller is
 * blocked: what actors_get() said of it stays true, and is not looked up again.
 */
void actors_begin_request(void);
void actors_end_request(void);

struct actor *actor_ref(struct actor *a);
void actor_unref(struct actor *a); /* NULL is accepted */

pid_t actor_pid(const struct actor *a);
/* Valid as long as the reference, its parents included. */
struct journal_author *actor_author(struct actor *a);

/* Actors in existence, for STATUS and leak tests. */
uint64_t actors_count(struct actors *as);

#endif
