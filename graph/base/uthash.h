/*
 * Hash tables as uthash has them, with the hash everybody else here uses: its
 * own falls through the cases of a switch, which clang does not like.
 */
#ifndef STATETAPE_GRAPH_BASE_UTHASH_H
#define STATETAPE_GRAPH_BASE_UTHASH_H

#include <xxhash.h>

#define HASH_FUNCTION(key, len, hash) ((hash) = (unsigned)XXH3_64bits(key, len))
#include <uthash.h>

#endif
