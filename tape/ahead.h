/*
 * Reading ahead. When many files changed at once, most of what it takes to put
 * them on the tape is parsing, and who parses one need not know of the others.
 * So helpers read and parse files that the tape will come to, while it applies
 * those before.
 *
 * Facts are a function of a text alone. What a helper read counts only if the
 * file reads the same when its turn comes, by the hash of its content: so it
 * does not matter when a helper looked, and nothing is ever waited for but a
 * parse that is under way.
 *
 * One thread calls these. A process with one processor has no helpers, and
 * nothing here does anything then.
 */
#ifndef STATETAPE_TAPE_AHEAD_H
#define STATETAPE_TAPE_AHEAD_H

#include <xxhash.h>

struct ahead;
struct care;
struct facts;

struct ahead *ahead_new(int root_fd, const struct care *care);
void ahead_free(struct ahead *a);

/* The file at `path` was written, and will be asked for. Of what no language
   is known nothing is remembered. */
void ahead_written(struct ahead *a, const char *path);
/* The same, of one that was not necessarily written since it was last told. */
void ahead_expect(struct ahead *a, const char *path);

/* The facts of the text with that hash, for free(); NULL: they must be read. */
struct facts *ahead_take(struct ahead *a, const char *path, XXH128_hash_t hash);

/* What was not taken will not be. */
void ahead_clear(struct ahead *a);

#endif
