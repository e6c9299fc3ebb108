#include "graph/base/paths.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "graph/base/alloc.h"

#define FIRST_SIZE 64

static struct paths_node **bucket(const struct paths *t, uint64_t hash)
{
	return &t->buckets[hash & (t->size - 1)];
}

void *paths_find_part(const struct paths *t, const char *path, size_t len)
{
	uint64_t hash = XXH3_64bits(path, len);
	struct paths_node *n = t->size ? *bucket(t, hash) : NULL;

	while (n && (n->hash != hash || strncmp(n->path, path, len) != 0 ||
		     n->path[len]))
		n = n->next;
	return n;
}

void *paths_find(const struct paths *t, const char *path)
{
	return paths_find_part(t, path, strlen(path));
}

static void put(struct paths *t, struct paths_node *n)
{
	struct paths_node **at = bucket(t, n->hash);

	n->next = *at;
	*at = n;
}

static void grow(struct paths *t)
{
	struct paths old = *t;
	struct paths_node *n, *next;

	t->size = old.size ? old.size * 2 : FIRST_SIZE;
	t->buckets = must_calloc(t->size, sizeof(struct paths_node *));
	for (size_t i = 0; i < old.size; i++) {
		for (n = old.buckets[i]; n; n = next) {
			next = n->next;
			put(t, n);
		}
	}
	free(old.buckets);
}

void paths_add(struct paths *t, struct paths_node *n, const char *path)
{
	if (t->count == t->size)
		grow(t);
	n->path = must_strdup(path);
	n->hash = XXH3_64bits(path, strlen(path));
	put(t, n);
	t->count++;
}

void paths_remove(struct paths *t, struct paths_node *n)
{
	struct paths_node **at = bucket(t, n->hash);

	while (*at != n)
		at = &(*at)->next;
	*at = n->next;
	t->count--;
	free(n->path);
	n->path = NULL;
}

void paths_release(struct paths *t)
{
	free(t->buckets);
	*t = (struct paths){ 0 };
}

void paths_each(const struct paths *t, paths_visit *visit, void *arg)
{
	struct paths_node *n, *next;

	for (size_t i = 0; i < t->size; i++) {
		for (n = t->buckets[i]; n; n = next) {
			/* The visitor may be freeing them all. */
			next = n->next;
			visit(n, arg);
		}
	}
}

const char *paths_below(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	if (!len)
		return path;
	if (strncmp(path, dir, len) != 0 || path[len] != '/')
		return NULL;
	return path + len + 1;
}

char *paths_join(const char *dir, const char *rest)
{
	size_t size = strlen(dir) + strlen(rest) + 2;
	char *path = must_alloc(size);

	(void)snprintf(path, size, "%s%s%s", dir, *dir ? "/" : "", rest);
	return path;
}
