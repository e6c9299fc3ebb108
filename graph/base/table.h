/*
 * A chained hash table of nodes that live inside the structs they index. A
 * node costs two words and keeps its address, and only a table that grows
 * allocates. The caller hashes (XXH3), compares keys, and locks.
 *
 * No call fails. A table that cannot get memory to grow gets slower instead,
 * so that fs/ need not refuse an operation for it.
 */
#ifndef STATETAPE_GRAPH_BASE_TABLE_H
#define STATETAPE_GRAPH_BASE_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct table_node {
	struct table_node *next; /* of its bucket */
	uint64_t hash;
};

/* Zeroed: empty. Read `count` freely; the rest is table.c's. */
struct table {
	struct table_node **buckets;
	struct table_node *only; /* the one bucket while `size` is 0 */
	size_t size;		 /* a power of two, or 0 */
	size_t count;
};

/* The struct that holds the node. */
#define TABLE_ENTRY(node, type, member) \
	((type *)(void *)((char *)(node)-offsetof(type, member)))

/* Frees the buckets and empties the table; nodes are not touched. */
void table_release(struct table *t);

/* Several nodes may have the same hash. */
void table_insert(struct table *t, struct table_node *node, uint64_t hash);
/* The node must be in the table. */
void table_remove(struct table *t, struct table_node *node);

/* The nodes of a hash, one after the other; NULL after the last. */
struct table_node *table_find(const struct table *t, uint64_t hash);
struct table_node *table_find_next(const struct table_node *node);

/*
 * All nodes, in no order; NULL after the last. Nothing may be inserted on the
 * way. A caller that removes or frees a node asks for the next one before.
 */
struct table_node *table_first(const struct table *t);
struct table_node *table_next(const struct table *t,
			      const struct table_node *node);

#endif
