/*
 * uthash, for tables that are walked in the order of insertion (the manager's
 * conversations); all others use graph/base/table.h. The hash is XXH3 as
 * everywhere: the code of uthash's own falls through switch cases, about which
 * clang warns.
 */
#ifndef STATETAPE_GRAPH_BASE_UTHASH_H
#define STATETAPE_GRAPH_BASE_UTHASH_H

#include <xxhash.h>

#define HASH_FUNCTION(key, len, hash) ((hash) = (unsigned)XXH3_64bits(key, len))
#include <uthash.h>

#endif
