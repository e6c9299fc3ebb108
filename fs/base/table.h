/*
 * A chained hash table of nodes that live inside what they index. Finding
 * allocates nothing, an entry costs two words, and addresses stay put; the
 * caller hashes, compares and locks.
 */
#ifndef STATETAPE_FS_BASE_TABLE_H
#define STATETAPE_FS_BASE_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct table_node {
	struct table_node *next;
	uint64_t hash;
};

struct table {
	struct table_node **buckets;
	size_t size; /* a power of two */
	size_t count;
};

/* What a node is inside of. */
#define TABLE_ENTRY(node, type, member) \
	((type *)(void *)((char *)(node)-offsetof(type, member)))

int table_init(struct table *t);
/* Forgets the nodes, which are the caller's. */
void table_release(struct table *t);

/* Cannot fail: a table that cannot grow gets slower. */
void table_insert(struct table *t, struct table_node *node, uint64_t hash);
void table_remove(struct table *t, struct table_node *node);

/* The nodes of a hash, one after the other; NULL after the last. */
struct table_node *table_find(const struct table *t, uint64_t hash);
struct table_node *table_find_next(const struct table_node *node);

#endif
