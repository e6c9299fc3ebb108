#include "graph/base/paths.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "graph/base/alloc.h"

/* One address is a table_node, a paths_node and the caller's struct. */
static_assert(offsetof(struct paths_node, node) == 0, "node comes first");

void *paths_find_part(const struct table *t, const char *path, size_t len)
{
	struct table_node *at = table_find(t, XXH3_64bits(path, len));

	for (; at; at = table_find_next(at)) {
		struct paths_node *n = (struct paths_node *)at;

		if (strncmp(n->path, path, len) == 0 && !n->path[len])
			return n;
	}
	return NULL;
}

void *paths_find(const struct table *t, const char *path)
{
	return paths_find_part(t, path, strlen(path));
}

void paths_add(struct table *t, struct paths_node *n, const char *path)
{
	size_t len = strlen(path);

	n->path = must_memdup(path, len);
	table_insert(t, &n->node, XXH3_64bits(path, len));
}

void paths_remove(struct table *t, struct paths_node *n)
{
	assert(n->path);
	table_remove(t, &n->node);
	free(n->path);
	n->path = NULL;
}

void paths_each(const struct table *t, paths_visit *visit, void *arg)
{
	struct table_node *at, *next;

	for (at = table_first(t); at; at = next) {
		/* The visitor may free the node. */
		next = table_next(t, at);
		visit((struct paths_node *)at, arg);
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
