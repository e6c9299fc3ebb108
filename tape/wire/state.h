/*
 * Where a repository's state lives. Nothing is ever written into the
 * repository: state goes to $XDG_STATE_HOME/statetape/<id>/ (0700), sockets to
 * $XDG_RUNTIME_DIR/statetape/<id>/ (0700), with the usual fallbacks. The id is
 * the repository's base name and a hash of its canonical path, so that a
 * person recognises the directory and no two repositories share one.
 */
#ifndef STATETAPE_TAPE_WIRE_STATE_H
#define STATETAPE_TAPE_WIRE_STATE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#define STATE_JOURNAL "journal" /* directory of journal segments */

struct state {
	char *repo;	   /* canonical absolute path of the repository */
	char *id;	   /* directory name, safe in a path and a URL */
	char *dir;	   /* absolute path of the state directory */
	char *run;	   /* absolute path of the socket directory */
	char *fs_socket;   /* questions to the fs process (tape/wire/wire.h) */
	char *bell_socket; /* the journal's bell (tape/wire/bell.h) */
	char *tape_socket; /* questions to the tape process */
	char *pub_socket;  /* where it publishes entries */
	char *manager_socket; /* questions to the first manager process; that
				 of another has -1 to -9 before its ".sock" */
	int dir_fd;	      /* the state directory, -1 if it does not exist */
	int lock_fd;	      /* held lock, -1: not held */
};

/*
 * Find the state of the repository at `repo` (made canonical here; it may be
 * a dead mount, so it is not opened). With `create`, directories are made.
 * On failure *ret_why, if given, is a sentence (free it), or NULL when memory
 * is short. -EINVAL: state would lie inside the repository. -EPERM: a
 * directory that should be ours alone is not.
 */
int state_init(const char *repo, int create, struct state *ret, char **ret_why);
/*
 * The same, without making anything, for a repository known by its id alone; it
 * may not exist any more. -ENOENT: there is no state of that id.
 */
int state_init_id(const char *id, struct state *ret, char **ret_why);
/*
 * The same for a repository that `name` names in any way: by a path, which may
 * not exist any more, or by its id. ret->repo may be what `name` said.
 */
int state_find(const char *name, struct state *ret, char **ret_why);
void state_release(struct state *s);

/* The ids of this user's repositories that have state, sorted. */
int state_list(char ***ret_ids, size_t *ret_n);
void state_list_free(char **ids, size_t n);

/* -- forget.c. What lies in both directories, and removing them. */
struct state_sum {
	uint64_t files, bytes;
};
int state_measure(const struct state *s, struct state_sum *ret);
/* Nothing may run on the repository. */
int state_remove(const struct state *s);

/*
 * Take the repository's lock for this process and its children (flock; it ends
 * with the last of them). -EBUSY: held; *ret_pid is the holder's pid, 0 if
 * unknown. A child that inherited the lock calls it again to be named as its
 * holder. -ENOENT: there is no state directory.
 */
int state_lock(struct state *s, pid_t *ret_pid);

/*
 * Open a log in the state directory, for appending and reading; a log that has
 * grown long is emptied. *ret_end is the offset of the next message.
 */
int state_open_log(const struct state *s, const char *name, int *ret_fd,
		   off_t *ret_end);
/* Copy the log from `at` on. */
void state_copy_log(int fd, off_t at, FILE *out);

#endif
