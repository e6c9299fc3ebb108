/*
 * Paths in questions. The tape knows a file by its path without symbolic links,
 * but a client may have read it through another: so links are resolved first,
 * as they are now, and never out of the repository.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "graph/base/cleanup.h"
#include "graph/base/escape.h"
#include "graph/build/look.h"
#include "tape/query/answers_i.h"

/* The kernel's own limit. */
#define LINKS_MAX 40

const char *answers_bytes_of(struct answers *a, const cJSON *item)
{
	const char *text = cJSON_GetStringValue(item);
	char *copy;

	if (!text || !strchr(text, '\\'))
		return text;
	copy = arena_copy(&a->scratch, text, strlen(text));
	return escape_undo(copy) < 0 ? NULL : copy;
}

const char *answers_bytes_in(struct answers *a, const cJSON *q,
			     const char *name)
{
	return answers_bytes_of(a, json_member(q, name));
}

/* No component is empty, "." or "..". */
static bool is_below(const char *path)
{
	for (const char *at = path;; at++) {
		size_t len = strcspn(at, "/");

		if (len == 0 || (len == 1 && at[0] == '.') ||
		    (len == 2 && at[0] == '.' && at[1] == '.'))
			return false;
		at += len;
		if (!*at)
			return true;
	}
}

/* Resolution of a path: the part already resolved, and the rest. */
struct followed_path {
	char done[PATH_MAX]; /* without links */
	size_t done_len;
	char rest[PATH_MAX];
	int links;
};

/* Move the next component of the rest to `part`. False: there is none. */
static bool next_part(struct followed_path *w, char *part)
{
	char *at = w->rest + strspn(w->rest, "/");
	size_t len = strcspn(at, "/");

	memcpy(part, at, len);
	part[len] = '\0';
	memmove(w->rest, at + len, strlen(at + len) + 1);
	return len > 0;
}

/* False: it would lead out of the repository. */
static bool go_up(struct followed_path *w)
{
	if (!w->done_len)
		return false;
	while (w->done_len && w->done[--w->done_len] != '/')
		continue;
	w->done[w->done_len] = '\0';
	return true;
}

static bool go_into(struct followed_path *w, const char *part)
{
	int n = snprintf(w->done + w->done_len, sizeof(w->done) - w->done_len,
			 "%s%s", w->done_len ? "/" : "", part);

	if (n < 0 || (size_t)n >= sizeof(w->done) - w->done_len)
		return false;
	w->done_len += (size_t)n;
	assert(w->done_len < sizeof(w->done));
	return true;
}

/* If the resolved part ends in a link, replace the link by its target. */
static bool follow_link(struct followed_path *w, int root_fd)
{
	char target[PATH_MAX], rest[PATH_MAX];
	CLEANUP(close_p) int fd = look_open(root_fd, w->done, O_PATH);
	ssize_t len = fd < 0 ? -1 : readlinkat(fd, "", target, sizeof(target));
	int n;

	/* Not a link, or no such file. */
	if (len < 0)
		return true;
	if (len == sizeof(target) || target[0] == '/' ||
	    ++w->links > LINKS_MAX || !go_up(w))
		return false;
	n = snprintf(rest, sizeof(rest), "%.*s/%s", (int)len, target, w->rest);
	if (n < 0 || (size_t)n >= sizeof(rest))
		return false;
	memcpy(w->rest, rest, (size_t)n + 1);
	return true;
}

static bool follow(struct followed_path *w, int root_fd)
{
	char part[PATH_MAX];

	while (next_part(w, part)) {
		bool ok = true;

		if (strcmp(part, "..") == 0)
			ok = go_up(w);
		else if (strcmp(part, ".") != 0)
			ok = go_into(w, part) && follow_link(w, root_fd);
		if (!ok)
			return false;
	}
	return w->done_len > 0;
}

/* Fast path: one call shows whether there is a link. Usually there is none. */
static bool is_plain(int root_fd, const char *path)
{
	CLEANUP(close_p) int fd = look_open(root_fd, path, O_PATH);
	struct stat st;

	if (fd < 0)
		return fd != -ELOOP;
	return fstat(fd, &st) == 0 && !S_ISLNK(st.st_mode);
}

const char *answers_follow_links(struct answers *a, const char *path)
{
	struct followed_path w = { .done = "" };

	if (!path || a->config.root_fd < 0 || !is_below(path) ||
	    is_plain(a->config.root_fd, path) || strlen(path) >= sizeof(w.rest))
		return path;
	memcpy(w.rest, path, strlen(path) + 1);
	if (!follow(&w, a->config.root_fd))
		return path;
	return arena_copy(&a->scratch, w.done, w.done_len);
}

const char *answers_path_in(struct answers *a, const cJSON *q, cJSON *ret)
{
	const char *path = answers_bytes_in(a, q, "path");

	if (!path) {
		(void)answers_refuse(ret, 0, "The question wants a \"path\".");
		return NULL;
	}
	if (!is_below(path)) {
		(void)answers_refuse(
			ret, 0,
			"'%s' is not a path of a file in the repository.",
			path);
		return NULL;
	}
	if (cJSON_IsFalse(json_member(q, "follow")))
		return path;
	return answers_follow_links(a, path);
}

const char *const *answers_paths_in(struct answers *a, const cJSON *list,
				    size_t *ret_count)
{
	size_t n = 0, most = (size_t)cJSON_GetArraySize(list);
	const char **paths = arena_take(&a->scratch, most * sizeof(*paths));
	const cJSON *item;

	cJSON_ArrayForEach (item, list) {
		const char *path = answers_bytes_of(a, item);

		/* What is no path of a file never changes. */
		paths[n++] = path && is_below(path)
				     ? answers_follow_links(a, path)
				     : "";
	}
	*ret_count = n;
	return paths;
}
