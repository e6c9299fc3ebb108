/*
 * A file that is mapped and then cut short by somebody else answers a store
 * with SIGBUS. A guard turns that into a question one can ask: while a guard
 * watches a mapping, a fault in it puts anonymous memory in the page's place,
 * the store goes through, and journal_guard_hit() says so. A fault anywhere
 * else is as fatal as it ever was. Private to the journal.
 *
 * A guard and the mapping it watches belong to one thread at a time.
 */
#ifndef STATETAPE_TAPE_JOURNAL_GUARD_H
#define STATETAPE_TAPE_JOURNAL_GUARD_H

#include <stdbool.h>
#include <stddef.h>

struct journal_guard;

/*
 * -EMFILE: all guards of the process are taken. Sees to it that SIGBUS comes
 * to us, and that SIGXFSZ is ignored unless somebody handles it: a limit on
 * the size of files must be an error like a full disk.
 */
int journal_guard_new(struct journal_guard **ret);
void journal_guard_free(struct journal_guard *g); /* NULL is accepted */

/* Watch these bytes instead of the former ones; NULL and 0: none. */
void journal_guard_watch(struct journal_guard *g, void *start, size_t len);

/* Was there a fault since the last call of journal_guard_watch()? */
bool journal_guard_hit(struct journal_guard *g);

#endif
