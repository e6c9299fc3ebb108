/*
 * statetape cat, restore: an earlier version of a file.
 *
 * Restoring is an ordinary write through the mount, so that it is on the tape
 * with this process as its author, and an atomic save, so that no reader sees
 * half of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/mount/mount.h"
#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/base/json.h"
#include "tools/cli/say.h"
#include "tools/cli/verbs.h"
#include "tools/verb/tape.h"

/* Parse "N:PATH". On failure prints a message and returns false. */
static bool split(const char *verb, const char *argument, uint64_t *ret_n,
		  const char **ret_path)
{
	char *end;

	errno = 0;
	*ret_n = strtoull(argument, &end, 10);
	if (*argument >= '0' && *argument <= '9' && *end == ':' && end[1] &&
	    !errno) {
		*ret_path = end + 1;
		return true;
	}
	(void)say_usage_error("%s wants N:PATH, an entry's number and a path "
			      "from the repository's root, not '%s'",
			      verb, argument);
	return false;
}

/* The file as of entry `n` (free it); NULL: failed, with a message. */
static char *fetch(struct tape_reader *t, uint64_t n, const char *path,
		   size_t *ret_len)
{
	CLEANUP(json_p) cJSON *q = json_object(NULL, NULL);
	CLEANUP(json_p) cJSON *answer = NULL;
	char *text;

	json_put_bytes(q, "path", path);
	json_put_number(q, "n", n);
	json_put_bool(q, "follow", false);
	if (tape_ask(t, "SOURCE", q, &answer) < 0)
		return NULL;
	text = tape_text(answer, ret_len);
	if (!text)
		(void)say_error("the tape's answer has no content");
	return text;
}

int verb_cat(const struct invocation *in)
{
	CLEANUP(tape_release) struct tape_reader t = TAPE_NONE;
	CLEANUP(free_p) char *text = NULL;
	const char *path;
	size_t len = 0;
	uint64_t n;

	if (!split("cat", in->arguments[0], &n, &path))
		return EXIT_USAGE;
	if (tape_open(in->arguments[1], false, &t) < 0)
		return EXIT_FAILURE;
	text = fetch(&t, n, path, &len);
	if (!text)
		return EXIT_FAILURE;
	(void)fwrite(text, 1, len, stdout);
	return EXIT_SUCCESS;
}

/* Restoring. */

/* The mountpoint of the repository (free it); NULL: not mounted. */
static char *mountpoint(const struct tape_reader *t)
{
	CLEANUP(json_p) cJSON *answer = NULL;
	const char *at;

	if (repo_ask(&t->state, "STATUS", NULL, &answer) < 0)
		return NULL;
	at = json_unescaped(
		cJSON_GetObjectItemCaseSensitive(answer, "mountpoint"));
	return at ? must_have(strdup(at)) : NULL;
}

/* A private mount is visible only inside its namespace. */
static bool is_seen_here(const struct tape_reader *t, const char *top)
{
	CLEANUP(mount_entry_release) struct mount_entry e = { 0 };

	return mount_find(top, NULL, &e) == 0 && strcmp(e.id, t->state.id) == 0;
}

/* Would the tape know who restores? Prints a message if not. */
static bool is_seen(const struct tape_reader *t, const char *top)
{
	if (top && is_seen_here(t, top))
		return true;
	(void)say_error(
		top ? "'%s' is mounted only for other processes, so the tape "
		      "would not see who restored it; --force writes it anyway"
		    : "'%s' is not mounted, so the tape would not see "
		      "who restored it; --force writes it anyway",
		t->state.repo);
	return false;
}

/*
 * Open the directory of `path` below `top`, creating it if missing. Never
 * follows a symbolic link, which could lead out of the repository.
 */
static int open_parent(const char *top, const char *path, const char **ret_name)
{
	CLEANUP(close_p) int fd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	while (fd >= 0) {
		size_t len = strcspn(path, "/");
		CLEANUP(free_p) char *part = must_have(strndup(path, len));
		int next;

		if (!path[len])
			break;
		if (mkdirat(fd, part, 0777) < 0 && errno != EEXIST)
			return -errno;
		next = openat(fd, part,
			      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0)
			return -errno;
		(void)close(fd);
		fd = next;
		path += len + 1;
	}
	if (fd < 0)
		return -errno;
	*ret_name = path;
	return take_fd(&fd);
}

static int write_all(int fd, const char *text, size_t len)
{
	while (len) {
		ssize_t n = write(fd, text, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		text += n;
		len -= (size_t)n;
	}
	return 0;
}

/*
 * Write a temporary file beside `name`, with the mode of `name` if that exists,
 * and rename it over `name`.
 */
static int save(int dir, const char *name, const char *text, size_t len)
{
	CLEANUP(free_p)
	char *temp = format_text(".%.200s.statetape-%ld", name, (long)getpid());
	struct stat st;
	bool is = fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
	CLEANUP(close_p) int fd = -1;
	int r;

	if (is && !S_ISREG(st.st_mode))
		return -EEXIST;
	fd = openat(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		return -errno;
	r = write_all(fd, text, len);
	if (r == 0 && is && fchmod(fd, st.st_mode & 07777) < 0)
		r = -errno;
	if (r == 0 && close(take_fd(&fd)) < 0)
		r = -errno;
	if (r == 0 && renameat(dir, temp, dir, name) < 0)
		r = -errno;
	if (r < 0)
		(void)unlinkat(dir, temp, 0);
	return r;
}

/* Does the file have this content already? */
static bool is_so(int dir, const char *name, const char *text, size_t len)
{
	CLEANUP(close_p)
	int fd = openat(dir, name,
			O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	CLEANUP(free_p) char *is = NULL;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    (size_t)st.st_size != len)
		return false;
	is = must_have(malloc(len + 1));
	return read(fd, is, len) == (ssize_t)len && memcmp(is, text, len) == 0;
}

static int restore(const char *top, const char *path, const char *text,
		   size_t len)
{
	CLEANUP(close_p) int dir = -1;
	const char *name = path;
	int r = open_parent(top, path, &name);

	if (r >= 0) {
		dir = r;
		r = is_so(dir, name, text, len) ? 1
						: save(dir, name, text, len);
	}
	if (r == -EEXIST)
		return say_error("'%s' exists and is not a regular file", path);
	if (r < 0)
		return say_error("'%s' cannot be written: %s", path,
				 errno_text(r));
	if (r == 1)
		(void)printf("%s already has that content\n", path);
	return EXIT_SUCCESS;
}

int verb_restore(const struct invocation *in)
{
	CLEANUP(tape_release) struct tape_reader t = TAPE_NONE;
	CLEANUP(free_p) char *text = NULL;
	CLEANUP(free_p) char *top = NULL;
	const char *path;
	size_t len = 0;
	uint64_t n;

	if (!split("restore", in->arguments[0], &n, &path))
		return EXIT_USAGE;
	if (tape_open(in->arguments[1], false, &t) < 0)
		return EXIT_FAILURE;
	text = fetch(&t, n, path, &len);
	if (!text)
		return EXIT_FAILURE;
	top = mountpoint(&t);
	if (!in->options[OPTION_FORCE].given && !is_seen(&t, top))
		return EXIT_FAILURE;
	return restore(top ? top : t.state.repo, path, text, len);
}
