#include "fs/base/table.h"

#include <errno.h>
#include <stdlib.h>

#define TABLE_FIRST_SIZE 64

static struct table_node **bucket(const struct table *t, uint64_t hash)
{
	return &t->buckets[hash & (t->size - 1)];
}

int table_init(struct table *t)
{
	*t = (struct table){ 0 };
	t->buckets = calloc(TABLE_FIRST_SIZE, sizeof(struct table_node *));
	if (!t->buckets)
		return -ENOMEM;
	t->size = TABLE_FIRST_SIZE;
	return 0;
}

void table_release(struct table *t)
{
	free(t->buckets);
	*t = (struct table){ 0 };
}

static void put(struct table *t, struct table_node *node)
{
	struct table_node **at = bucket(t, node->hash);

	node->next = *at;
	*at = node;
}

static void grow(struct table *t)
{
	struct table old = *t;
	struct table_node *node, *next;
	struct table_node **buckets =
		calloc(old.size * 2, sizeof(struct table_node *));

	if (!buckets)
		return;
	t->buckets = buckets;
	t->size = old.size * 2;
	for (size_t n = 0; n < old.size; n++) {
		for (node = old.buckets[n]; node; node = next) {
			next = node->next;
			put(t, node);
		}
	}
	free(old.buckets);
}

void table_insert(struct table *t, struct table_node *node, uint64_t hash)
{
	if (t->count == t->size)
		grow(t);
	node->hash = hash;
	put(t, node);
	t->count++;
}

void table_remove(struct table *t, struct table_node *node)
{
	struct table_node **at = bucket(t, node->hash);

	while (*at != node)
		at = &(*at)->next;
	*at = node->next;
	t->count--;
}

static struct table_node *skip_to(struct table_node *node, uint64_t hash)
{
	while (node && node->hash != hash)
		node = node->next;
	return node;
}

struct table_node *table_find(const struct table *t, uint64_t hash)
{
	return skip_to(*bucket(t, hash), hash);
}

struct table_node *table_find_next(const struct table_node *node)
{
	return skip_to(node->next, node->hash);
}
