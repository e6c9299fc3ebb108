/*
 * The progress page: how far the tape has read, for the file system. It is the
 * file `progress` (0600) in the state directory, mapped by both processes.
 * Before the file system overwrites a finished version of a file, it compares
 * the version's last journal line with progress_line(): only a version that the
 * tape has not read yet is kept first (JOURNAL_KEEP in journal.h).
 *
 * The tape alone calls the progress_set_*() functions; only progress_begin() is
 * the file system's. Any thread of either process may call any function. No
 * call but progress_open() blocks.
 */
#ifndef STATETAPE_TAPE_JOURNAL_PROGRESS_H
#define STATETAPE_TAPE_JOURNAL_PROGRESS_H

#include <stdint.h>

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

#endif
