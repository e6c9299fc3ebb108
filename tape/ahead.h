/*
 * Reading ahead. When many files changed at once, most of the work is parsing,
 * and each file can be parsed by itself. So helper threads read and parse files
 * that the tape will apply, while it applies the ones before.
 *
 * Facts are a function of the text alone. A helper's facts are used only if the
 * file has the same hash when its turn comes, so it does not matter when the
 * helper read it. The only wait is for a parse that is under way.
 *
 * One thread calls these functions. On a machine with one processor there are
 * no helpers, and they do nothing.
 */
#ifndef STATETAPE_TAPE_AHEAD_H
#define STATETAPE_TAPE_AHEAD_H

#include <xxhash.h>

struct ahead;
struct care;
struct facts;

struct ahead *ahead_new(int root_fd, const struct care *care);
void ahead_free(struct ahead *a);

/* The file at `path` was written, and its facts will be wanted. A file without
   a known language is ignored. */
void ahead_written(struct ahead *a, const char *path);
/* The same for a file that may not have changed since the last call. */
void ahead_expect(struct ahead *a, const char *path);

/* The facts of the text with that hash, for free(); NULL: they must be read. */
struct facts *ahead_take(struct ahead *a, const char *path, XXH128_hash_t hash);

/* Drop all facts that were not taken. */
void ahead_clear(struct ahead *a);

#endif
