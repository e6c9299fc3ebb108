/* Where a call's path leads, by its text alone: see evidence_path(). */
#include <assert.h>
#include <string.h>

#include "manager/decide/evidence.h"

/* Append one part of a path; ".." removes the last one. */
static bool add_part(char *ret, size_t size, const char *part, size_t len)
{
	size_t at = strlen(ret);
	char *slash;

	assert(at < size);
	if (len == 0 || (len == 1 && part[0] == '.'))
		return true;
	if (len == 2 && part[0] == '.' && part[1] == '.') {
		slash = strrchr(ret, '/');
		if (!*ret)
			return false;
		*(slash ? slash : ret) = '\0';
		return true;
	}
	if (at + len + 2 > size)
		return false;
	if (at)
		ret[at++] = '/';
	memcpy(ret + at, part, len);
	ret[at + len] = '\0';
	return true;
}

static bool add_path(char *ret, size_t size, const char *path)
{
	while (*path) {
		size_t len = strcspn(path, "/");

		if (!add_part(ret, size, path, len))
			return false;
		path += len + (path[len] == '/');
	}
	return true;
}

/* `path` relative to `root`; NULL if it does not lie below. */
static const char *below(const char *path, const char *root)
{
	size_t len = root ? strlen(root) : 0;

	while (len > 1 && root[len - 1] == '/')
		len--;
	if (len == 0 || strncmp(path, root, len) != 0)
		return NULL;
	if (path[len] && path[len] != '/' && len > 1)
		return NULL;
	return path + len;
}

static const char *relative(const struct roots *roots, const char *path)
{
	const char *rest = below(path, roots->repo);

	return rest ? rest : below(path, roots->other);
}

/* Append the directory that a relative path starts from. */
static bool add_start(const struct roots *roots, const char *dir, char *ret,
		      size_t size)
{
	bool absolute = dir && dir[0] == '/';
	const char *from = absolute	? relative(roots, dir)
			   : roots->cwd ? relative(roots, roots->cwd)
					: NULL;

	if (absolute)
		return from && add_path(ret, size, from);
	return (!from || add_path(ret, size, from)) &&
	       (!dir || add_path(ret, size, dir));
}

bool evidence_path(const struct roots *roots, const char *dir, const char *path,
		   char *ret, size_t size)
{
	const char *rest = path;

	*ret = '\0';
	if (path[0] == '/')
		rest = relative(roots, path);
	else if (!add_start(roots, dir, ret, size))
		return false;
	return rest && add_path(ret, size, rest) && *ret;
}
