#include "graph/base/table.h"

#include <assert.h>
#include <stdlib.h>

#define TABLE_FIRST_SIZE 64

static size_t bucket_of(const struct table *t, uint64_t hash)
{
	assert((t->size & (t->size - 1)) == 0);
	return hash & (t->size - 1);
}

static struct table_node **bucket(struct table *t, uint64_t hash)
{
	return t->size ? &t->buckets[bucket_of(t, hash)] : &t->only;
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

static void put_chain(struct table *t, struct table_node *node)
{
	struct table_node *next;

	for (; node; node = next) {
		next = node->next;
		put(t, node);
	}
}

static void grow(struct table *t)
{
	struct table old = *t;
	size_t size = old.size ? old.size * 2 : TABLE_FIRST_SIZE;
	struct table_node **buckets = calloc(size, sizeof(struct table_node *));

	if (!buckets)
		return;
	t->buckets = buckets;
	t->only = NULL;
	t->size = size;
	put_chain(t, old.only);
	for (size_t i = 0; i < old.size; i++)
		put_chain(t, old.buckets[i]);
	free(old.buckets);
}

void table_insert(struct table *t, struct table_node *node, uint64_t hash)
{
	if (t->count >= t->size)
		grow(t);
	node->hash = hash;
	put(t, node);
	t->count++;
}

void table_remove(struct table *t, struct table_node *node)
{
	struct table_node **at = bucket(t, node->hash);

	assert(t->count > 0);
	while (*at != node) {
		assert(*at);
		at = &(*at)->next;
	}
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
	struct table_node *first =
		t->size ? t->buckets[bucket_of(t, hash)] : t->only;

	return skip_to(first, hash);
}

struct table_node *table_find_next(const struct table_node *node)
{
	return skip_to(node->next, node->hash);
}

/* The first node of bucket `i` or of one after it. */
static struct table_node *first_from(const struct table *t, size_t i)
{
	while (i < t->size && !t->buckets[i])
		i++;
	return i < t->size ? t->buckets[i] : NULL;
}

struct table_node *table_first(const struct table *t)
{
	return t->size ? first_from(t, 0) : t->only;
}

struct table_node *table_next(const struct table *t,
			      const struct table_node *node)
{
	if (node->next || !t->size)
		return node->next;
	return first_from(t, bucket_of(t, node->hash) + 1);
}
