/*
 * The progress page: how far the tape has read, for the file system, and which
 * operations are in flight, for the tape. It is the file `progress` (0600) in
 * the state directory, mapped by both processes.
 *
 * Before the file system overwrites a finished version of a file, it compares
 * the version's last journal line with progress_line(): only a version that the
 * tape has not read yet is kept first (JOURNAL_KEEP in journal.h).
 *
 * The tape alone calls the progress_set_*() functions and progress_turn(); the
 * file system's are progress_begin(), progress_serve(), progress_enter() and
 * progress_leave(). Any thread of either process may call any function. No
 * call but progress_open() blocks.
 */
#ifndef STATETAPE_TAPE_JOURNAL_PROGRESS_H
#define STATETAPE_TAPE_JOURNAL_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct progress;

/*
 * Map the page in the directory `dir_fd` (not kept), made if absent. -EMFILE:
 * too many are open in this process. If another process truncates the file
 * later, all values become 0.
 */
int progress_open(int dir_fd, struct progress **ret);
void progress_free(struct progress *p); /* NULL is accepted */

/*
 * The tape has read the content of every version that was finished by a
 * journal line up to this one. 0: no tape has followed the journal yet.
 *
 * The tape reads contents first, then publishes the line, then reads the
 * journal on. The file system changes a file after it has read this line, or
 * after the version's KEEP line is in the journal. So a content is that of its
 * version unless the journal, read on, has a KEEP line for it.
 */
uint64_t progress_line(const struct progress *p);
void progress_set_line(struct progress *p, uint64_t n);

/*
 * CLOCK_REALTIME: the tape has looked at every change that was made outside
 * the mount before this time. 0: unknown.
 */
uint64_t progress_outside_ns(const struct progress *p);
void progress_set_outside_ns(struct progress *p, uint64_t ns);

/*
 * When the file system starts, with `head` the journal's newest line: after a
 * crash of the host the journal may have lost lines that the tape had read,
 * and new lines get their numbers again.
 */
void progress_begin(struct progress *p, uint64_t head);

/*
 * Operations in flight. A handler of the file system changes the file below and
 * then appends the journal line: whoever looks at the file may see the change
 * before the line. The handler counts itself for that time in one of two
 * counters: new operations in the current one, while the other drains. The tape
 * turns them over, and knows every change that it saw before by the time that
 * the old counter is zero.
 */

/* The file system counts from now on, until it ends. -EAGAIN: another does. */
int progress_serve(struct progress *p);
/* Returns the counter, for progress_leave(). */
unsigned progress_enter(struct progress *p);
void progress_leave(struct progress *p, unsigned counter);

/* The process that counts; 0: none lives; -1: one lives that does not use this
   page. */
pid_t progress_server(const struct progress *p);
/* The counter that new operations do not use. */
unsigned progress_old(const struct progress *p);
/* New operations use the other counter from now on; returns the old one. */
unsigned progress_turn(struct progress *p);
bool progress_drained(const struct progress *p, unsigned counter);

#endif
