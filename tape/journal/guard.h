/*
 * When another process truncates a file that we have mapped, a store into the
 * mapping raises SIGBUS. While a guard watches a mapping, the signal handler
 * replaces the faulting page by anonymous memory, the store succeeds, and
 * journal_guard_hit() reports the fault. A fault anywhere else is fatal as
 * usual. Private to the journal.
 *
 * A guard and the mapping it watches belong to one thread at a time, or to
 * several that leave the watched range as it is.
 */
#ifndef STATETAPE_TAPE_JOURNAL_GUARD_H
#define STATETAPE_TAPE_JOURNAL_GUARD_H

#include <stdbool.h>
#include <stddef.h>

struct journal_guard;

/*
 * -EMFILE: all guards of the process are in use. Installs the SIGBUS handler,
 * and ignores SIGXFSZ unless it is handled already, so that a limit on file
 * sizes is reported as an error like a full disk.
 */
int journal_guard_new(struct journal_guard **ret);
void journal_guard_free(struct journal_guard *g); /* NULL is accepted */

/* Watch this range instead of the previous one; NULL and 0: none. */
void journal_guard_watch(struct journal_guard *g, void *start, size_t len);

/* True if a fault occurred since the last journal_guard_watch(). */
bool journal_guard_hit(struct journal_guard *g);

#endif
