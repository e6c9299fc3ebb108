/*
 * A mount whose server died fails every system call on it with ENOTCONN or one
 * of a few other errors, but its parent directory still answers. So the
 * canonical form of such a path is that of its parent plus its own name, unless
 * the name is a symbolic link, which follow() reads.
 */
#include "graph/base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "graph/base/cleanup.h"

int path_join(const char *dir, const char *name, char **ret)
{
	const char *slash = strcmp(dir, "/") == 0 ? "" : "/";
	char *path;

	if (asprintf(&path, "%s%s%s", dir, slash, name) < 0)
		return -ENOMEM;
	*ret = path;
	return 0;
}

int path_copy(const char *path, char **ret)
{
	char *copy;

	if (asprintf(&copy, "%s", path) < 0)
		return -ENOMEM;
	*ret = copy;
	return 0;
}

/* The errors seen on mounts whose server died. */
static bool is_out_of_reach(int err)
{
	return err == ENOTCONN || err == ECONNABORTED || err == EIO ||
	       err == ESTALE;
}

/* "/a/b//" -> "/a/" and "b". -EINVAL: it ends in ".", ".." or nothing. */
static int split(const char *path, char **ret_dir, char **ret_name)
{
	int end = (int)strlen(path);
	int start;

	while (end > 1 && path[end - 1] == '/')
		end--;
	for (start = end; start > 0 && path[start - 1] != '/'; start--)
		continue;
	if (start == end || strncmp(path + start, ".", end - start) == 0 ||
	    strncmp(path + start, "..", end - start) == 0)
		return -EINVAL;
	if (asprintf(ret_name, "%.*s", end - start, path + start) < 0)
		return -ENOMEM;
	if (asprintf(ret_dir, "%.*s", start ? start : 1, start ? path : ".") <
	    0)
		return -ENOMEM;
	return 0;
}

/* The target of the link `path` in `dir`. -EINVAL: it is no link. */
static int follow(const char *dir, const char *path, char **ret)
{
	char to[PATH_MAX];
	ssize_t n = readlink(path, to, sizeof(to) - 1);

	if (n < 0)
		return -EINVAL;
	to[n] = '\0';
	return to[0] == '/' ? path_copy(to, ret) : path_join(dir, to, ret);
}

/* For a path whose last component cannot be resolved. -EINVAL as in split(). */
static int canonical_by_parent(const char *path, bool missing_ok, char **ret)
{
	CLEANUP(free_p) char *dir = NULL;
	CLEANUP(free_p) char *name = NULL;
	CLEANUP(free_p) char *real_dir = NULL;
	CLEANUP(free_p) char *joined = NULL;
	CLEANUP(free_p) char *target = NULL;
	int rc;

	rc = split(path, &dir, &name);
	if (rc == 0)
		rc = path_canonical(dir, missing_ok, &real_dir);
	if (real_dir)
		rc = path_join(real_dir, name, &joined);
	if (!joined)
		return rc;
	/* A link to such a path. realpath() has excluded loops (ELOOP). */
	rc = follow(real_dir, joined, &target);
	if (target)
		return path_canonical(target, missing_ok, ret);
	if (rc == -EINVAL)
		*ret = TAKE(joined);
	return rc == -EINVAL ? 0 : rc;
}

int path_canonical(const char *path, bool missing_ok, char **ret)
{
	char *real = realpath(path, NULL);
	int err = errno;
	int rc = -EINVAL;

	if (real) {
		*ret = real;
		return 0;
	}
	if (is_out_of_reach(err) || (missing_ok && err == ENOENT))
		rc = canonical_by_parent(path, missing_ok, ret);
	return rc == -EINVAL && err > 0 ? -err : rc;
}

bool path_is_dir(const char *path)
{
	struct statx st;

	if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_TYPE, &st) < 0)
		return is_out_of_reach(errno);
	return S_ISDIR(st.stx_mode);
}

bool path_lies_in(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	if (strcmp(dir, "/") == 0)
		return true;
	return strncmp(path, dir, len) == 0 &&
	       (path[len] == '/' || path[len] == '\0');
}

bool path_matches(const char *glob, const char *path)
{
	return strcmp(glob, path) == 0 ||
	       fnmatch(glob, path, FNM_LEADING_DIR) == 0;
}

int path_make(const char *path)
{
	char each[PATH_MAX];
	char *p = each;
	char was;

	if (strlen(path) >= sizeof(each))
		return -ENAMETOOLONG;
	memcpy(each, path, strlen(path) + 1);
	do {
		p = strchrnul(p + 1, '/');
		was = *p;
		*p = '\0';
		if (mkdir(each, 0700) < 0 && errno != EEXIST)
			return -errno;
		*p = was;
	} while (was);
	return 0;
}
