/*
 * The order of the links matters. SQLite deletes a log (-wal) that it finds
 * beside an empty database, and a database without its log is an older one. So
 * both get their new names first, as further links, and lose the old ones last:
 * whenever a process is killed, the pair is whole under one of the names. What
 * such a process left is recognised by its inode, which is the database's.
 */
#include "tape/store/aside.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"

#define LOG_END	   "-wal"
#define INDEX_END  "-shm"
#define NAMES_MAX  100 /* set aside within one second */
#define DATE_BYTES sizeof("20260102T030405Z")

static char *join(const char *a, const char *b)
{
	char *joined = NULL;

	if (asprintf(&joined, "%s%s", a, b) < 0)
		return must_have(NULL);
	return joined;
}

static bool ends_in(const char *name, const char *end)
{
	size_t len = strlen(name), end_len = strlen(end);

	return len >= end_len && strcmp(name + len - end_len, end) == 0;
}

static void remove_with(const char *path, const char *end)
{
	CLEANUP(free_p) char *whole = join(path, end);

	(void)unlink(whole);
}

/* -- Listing. */

/* Is `name` a store that was set aside, and is `base` what it was called? */
static bool is_aside(const char *name, const char *base)
{
	size_t len = strlen(base);

	return strncmp(name, base, len) == 0 &&
	       (strncmp(name + len, ".damaged-", 9) == 0 ||
		strncmp(name + len, ".newer-", 7) == 0) &&
	       !ends_in(name, LOG_END) && !ends_in(name, INDEX_END);
}

/* By their dates, which follow the last dot's word. */
static int by_date(const void *a, const void *b)
{
	const char *x = strrchr(*(char *const *)a, '.');
	const char *y = strrchr(*(char *const *)b, '.');

	return strcmp(strchr(x, '-'), strchr(y, '-'));
}

void store_asides_free(char **paths, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(paths[i]);
	free(paths);
}

int store_asides(const char *path, char ***ret, size_t *ret_count)
{
	const char *base = strrchr(path, '/') + 1;
	CLEANUP(free_p)
	char *dir = must_memdup(path, (size_t)(base - path));
	CLEANUP(closedir_p) DIR *d = opendir(dir);
	const struct dirent *e;
	char **paths = NULL;
	uint32_t size = 0;
	size_t count = 0;

	if (!d)
		return -errno;
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is ours. */
	while ((e = readdir(d))) {
		if (!is_aside(e->d_name, base))
			continue;
		paths = must_grow(paths, &size, count + 1, sizeof(*paths));
		paths[count++] = join(dir, e->d_name);
	}
	if (count)
		qsort(paths, count, sizeof(*paths), by_date);
	*ret = paths;
	*ret_count = count;
	return 0;
}

/* -- Setting aside. */

/* Remove the names that a process gave to this very file before it died. */
static void remove_unfinished(const char *path, const struct stat *st)
{
	char **paths = NULL;
	size_t count = 0;
	struct stat other;

	if (st->st_nlink == 1 || store_asides(path, &paths, &count) < 0)
		return;
	for (size_t i = 0; i < count; i++) {
		if (lstat(paths[i], &other) < 0 || other.st_ino != st->st_ino ||
		    other.st_dev != st->st_dev)
			continue;
		remove_with(paths[i], LOG_END);
		(void)unlink(paths[i]);
	}
	store_asides_free(paths, count);
}

/* A name that is free (free it). */
static char *find_name(const char *path, enum store_aside why)
{
	static const char *const words[] = {
		[ASIDE_DAMAGED] = "damaged", [ASIDE_NEWER] = "newer"
	};
	char date[DATE_BYTES] = "", *name = NULL;
	time_t now = time(NULL);
	struct tm tm;

	if (gmtime_r(&now, &tm))
		(void)strftime(date, sizeof(date), "%Y%m%dT%H%M%SZ", &tm);
	for (int i = 1; i < NAMES_MAX; i++) {
		char end[8] = "";

		free(name);
		if (i > 1)
			(void)snprintf(end, sizeof(end), "-%d", i);
		if (asprintf(&name, "%s.%s-%s%s", path, words[why], date, end) <
		    0)
			return must_have(NULL);
		if (access(name, F_OK) < 0)
			break;
	}
	return name;
}

/* A second link, or the only one where the file system has no others. */
static int give_name(const char *path, const char *name)
{
	if (link(path, name) == 0)
		return 0;
	if (errno != EPERM && errno != EOPNOTSUPP && errno != EMLINK)
		return -errno;
	return rename(path, name) < 0 ? -errno : 0;
}

static int give_names(const char *path, const char *name)
{
	CLEANUP(free_p) char *log = join(path, LOG_END);
	CLEANUP(free_p) char *log_name = join(name, LOG_END);
	int rc = give_name(path, name);

	if (rc == 0)
		rc = give_name(log, log_name);
	return rc == -ENOENT ? 0 : rc;
}

int store_set_aside(const char *path, enum store_aside why, char **ret)
{
	CLEANUP(free_p) char *name = NULL;
	struct stat st;
	int rc;

	if (lstat(path, &st) < 0)
		return -errno;
	remove_unfinished(path, &st);
	name = find_name(path, why);
	rc = give_names(path, name);
	if (rc < 0)
		return rc;
	if (unlink(path) < 0 && errno != ENOENT)
		return -errno;
	remove_with(path, LOG_END);
	remove_with(path, INDEX_END);
	*ret = TAKE(name);
	return 0;
}
