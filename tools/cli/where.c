#include "tools/cli/where.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/base/path.h"
#include "tools/cli/say.h"

/* What of `path` is below `root`, "" if they are equal; NULL: it is not. */
static const char *below(const char *path, const char *root)
{
	size_t len = strlen(root);

	if (!path_lies_in(path, root))
		return NULL;
	path += strcmp(root, "/") == 0 ? 0 : len;
	return path + (*path == '/');
}

void where_init(struct where *w, const char *root, const char *mountpoint)
{
	CLEANUP(free_p) char *cwd = getcwd(NULL, 0);
	const char *here = cwd ? below(cwd, root) : NULL;

	if (!here && cwd && mountpoint)
		here = below(cwd, mountpoint);
	w->root = must_have(strdup(root));
	w->here = here ? must_have(strdup(here)) : NULL;
	w->cwd = here ? NULL : TAKE(cwd);
}

void where_release(struct where *w)
{
	free(w->root);
	free(w->here);
	free(w->cwd);
	*w = (struct where){ .root = NULL };
}

/*
 * Append the components of `path` to `into` (of enough size), which has none
 * that are "." or "..". False: it leads above the root.
 */
static bool add_components(char *into, const char *path)
{
	while (*path) {
		size_t len = strcspn(path, "/"), end = strlen(into);

		if (len == 2 && strncmp(path, "..", 2) == 0) {
			char *slash = strrchr(into, '/');

			if (!end)
				return false;
			*(slash ? slash : into) = '\0';
		} else if (len && !(len == 1 && *path == '.')) {
			if (end)
				into[end++] = '/';
			memcpy(into + end, path, len);
			into[end + len] = '\0';
		}
		path += len + (path[len] == '/');
	}
	return true;
}

/* The parent directory may be reached by another name than the root's. */
static char *from_absolute(const char *root, const char *typed)
{
	CLEANUP(free_p) char *plain = must_have(calloc(1, strlen(typed) + 2));
	CLEANUP(free_p) char *real = NULL;
	const char *rest;

	plain[0] = '/';
	if (!add_components(plain + 1, typed))
		return NULL;
	rest = below(plain, root);
	if (!rest && path_canonical(plain, true, &real) == 0)
		rest = below(real, root);
	return rest ? must_have(strdup(rest)) : NULL;
}

char *where_path(const struct where *w, const char *typed)
{
	const char *here = w->here ? w->here : "";
	CLEANUP(free_p) char *path = NULL;
	CLEANUP(free_p) char *whole = NULL;

	assert(w->root);
	if (*typed == '/')
		return from_absolute(w->root, typed);
	if (!w->here && w->cwd) {
		whole = format_text("%s/%s", w->cwd, typed);
		path = from_absolute(w->root, whole);
		if (path)
			return TAKE(path);
	}
	path = must_have(calloc(1, strlen(here) + strlen(typed) + 2));
	memcpy(path, here, strlen(here));
	return add_components(path, typed) ? TAKE(path) : NULL;
}

char *where_shown(const struct where *w, const char *path)
{
	const char *here = w->here ? w->here : "";
	size_t same = 0, text_size;
	char *text = NULL;
	FILE *out;

	/* `same`: the length of the directories that both begin with. */
	for (size_t i = 0; here[i] || path[i]; i++) {
		bool end = !here[i] || here[i] == '/';

		if (end && path[i] == '/')
			same = i + 1;
		if (!here[i] || here[i] != path[i])
			break;
	}
	out = must_have(open_memstream(&text, &text_size));
	if (strlen(here) >= same)
		for (const char *at = here + same; *at;
		     at += strcspn(at, "/"), at += *at == '/')
			(void)fputs("../", out);
	(void)fputs(path + same, out);
	(void)fclose(out);
	return must_have(text);
}

bool where_matches(const char *pattern, const char *path)
{
	return !*pattern || path_matches(pattern, path);
}
