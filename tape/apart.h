/*
 * Reading large files apart. Parsing a text of a megabyte takes a fifth of a
 * second, and the loop has questions to answer meanwhile. So a thread of its
 * own makes the facts of it; its version waits for that, and nothing else does.
 *
 * Facts are a function of the text alone: they are kept by its hash. One thread
 * calls these functions, and none of them blocks.
 */
#ifndef STATETAPE_TAPE_APART_H
#define STATETAPE_TAPE_APART_H

#include <stdbool.h>
#include <stddef.h>
#include <xxhash.h>

/* Smaller texts are parsed within a slice or two. */
#define APART_MIN (32U << 10)

struct apart;
struct facts;
struct look;

/* `wake_fd` (an eventfd) is written to when facts are there. */
struct apart *apart_new(int wake_fd);
void apart_free(struct apart *a); /* NULL is accepted */

enum apart_state {
	APART_NONE, /* not asked for */
	APART_BUSY,
	APART_DONE,
};
enum apart_state apart_state(struct apart *a, XXH128_hash_t hash);
/* Begin with the text of `now`, which is copied, as the file at `path`. False:
   it cannot be read apart now. */
bool apart_begin(struct apart *a, const char *path, const struct look *now);
/* Is any text being read? */
bool apart_is_busy(struct apart *a);
/* The facts, for free(), once; NULL: there are none. */
struct facts *apart_take(struct apart *a, const char *path, XXH128_hash_t hash);

#endif
