/*
 * Which mount does a path lead to? The mount table alone cannot say: mounts
 * stack on one mountpoint, and a mount on a parent directory hides those below
 * it though the table still lists them. A descriptor can: open(2) with O_PATH
 * sends no request to the file system, which may hang or be dead, and its
 * fdinfo has the mount's id, as in the table.
 */
#include "fs/mount/mount_table.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "fs/mount/mount.h"
#include "graph/base/cleanup.h"

#define MOUNT_TABLE "/proc/%s/mountinfo"
#define OURSELVES   "self"

/* A whole decimal number that ends with `end`, or -1. */
static int number(const char *text, char end)
{
	char *stop = NULL;
	long n;

	if (text[0] < '0' || text[0] > '9')
		return -1;
	errno = 0;
	n = strtol(text, &stop, 10);
	if (errno || *stop != end || n > INT32_MAX)
		return -1;
	return (int)n;
}

static bool is_octal(char c)
{
	return c >= '0' && c <= '7';
}

/* The kernel writes blanks, newlines, '#' and '\' as \ooo. */
static void unescape(char *s)
{
	char *to = s;

	while (*s) {
		if (s[0] == '\\' && is_octal(s[1]) && is_octal(s[2]) &&
		    is_octal(s[3])) {
			*to++ = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 |
				       (s[3] - '0'));
			s += 4;
		} else {
			*to++ = *s++;
		}
	}
	*to = '\0';
}

/* "major:minor" */
static int parse_device(const char *text, dev_t *ret)
{
	const char *colon = strchr(text, ':');
	int major_number = number(text, ':');
	int minor_number = colon ? number(colon + 1, '\0') : -1;

	if (major_number < 0 || minor_number < 0)
		return -EBADMSG;
	*ret = makedev((unsigned)major_number, (unsigned)minor_number);
	return 0;
}

/*
 * "36 35 98:0 /root /mountpoint rw,noatime [tag...] - type source options":
 * any number of tags, so the second half is counted from the lone dash.
 */
int mount_line_parse(char *line, struct mount_line *ret)
{
	enum { ID, PARENT, DEVICE, ROOT, MOUNTPOINT, FLAGS, FIRST_HALF };
	enum { TYPE, SOURCE, OPTIONS, SECOND_HALF };
	char *first[FIRST_HALF], *second[SECOND_HALF], *tag;
	struct mount_line found;

	line[strcspn(line, "\n")] = '\0';
	for (int i = 0; i < FIRST_HALF; i++)
		first[i] = strsep(&line, " ");
	do
		tag = strsep(&line, " ");
	while (tag && strcmp(tag, "-") != 0);
	for (int i = 0; i < SECOND_HALF; i++)
		second[i] = strsep(&line, " ");
	if (!second[OPTIONS] || parse_device(first[DEVICE], &found.dev) < 0)
		return -EBADMSG;

	found.id = number(first[ID], '\0');
	found.mountpoint = first[MOUNTPOINT];
	found.type = second[TYPE];
	found.source = second[SOURCE];
	if (found.id < 0 || found.mountpoint[0] != '/')
		return -EBADMSG;
	unescape(found.mountpoint);
	unescape(found.type);
	unescape(found.source);
	*ret = found;
	return 0;
}

/* The number of the mount that `path` leads to, or a negative errno. */
static int mount_at(const char *path)
{
	CLEANUP(close_p) int fd = -1;
	CLEANUP(fclose_p) FILE *info = NULL;
	CLEANUP(free_p) char *line = NULL;
	static const char key[] = "mnt_id:\t";
	char name[sizeof("/proc/self/fdinfo/") + 11];
	size_t size = 0;
	int id;

	fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	(void)snprintf(name, sizeof(name), "/proc/self/fdinfo/%d", fd);
	info = fopen(name, "re");
	if (!info)
		return -errno;
	while (getline(&line, &size, info) > 0) {
		if (strncmp(line, key, sizeof(key) - 1) != 0)
			continue;
		id = number(line + sizeof(key) - 1, '\n');
		return id < 0 ? -EBADMSG : id;
	}
	return -EBADMSG;
}

/* The repository's id if the mount is one of ours, else NULL. */
static const char *statetape_id(const struct mount_line *m)
{
	static const char prefix[] = MOUNT_SOURCE;

	if (strcmp(m->type, MOUNT_FSTYPE) != 0 ||
	    strncmp(m->source, prefix, sizeof(prefix) - 1) != 0)
		return NULL;
	return m->source + sizeof(prefix) - 1;
}

static int entry_from(const struct mount_line *m, bool covered,
		      struct mount_entry *ret)
{
	struct mount_entry e = { .mountpoint = strdup(m->mountpoint),
				 .id = strdup(statetape_id(m)),
				 .dev = m->dev,
				 .covered = covered };

	if (!e.mountpoint || !e.id) {
		mount_entry_release(&e);
		return -ENOMEM;
	}
	*ret = e;
	return 0;
}

/* The mount table as process `pid` sees it. */
static FILE *open_table(const char *pid)
{
	char name[sizeof(MOUNT_TABLE) + 11];

	(void)snprintf(name, sizeof(name), MOUNT_TABLE, pid);
	return fopen(name, "re");
}

/* The mount that mount_find() looks for. */
struct mount_wanted {
	const char *path; /* NULL: any */
	const char *id;	  /* NULL: any */
	int at;		  /* the mount that `path` leads to */
	bool covered;	  /* without a path: only one that is, or is not */
};

/* 1: `m` matches, and *ret is filled. 0: it does not. */
static int match(const struct mount_line *m, const struct mount_wanted *w,
		 struct mount_entry *ret)
{
	const char *id = statetape_id(m);
	int r;

	if (!id)
		return 0;
	if (w->id && strcmp(id, w->id) != 0)
		return 0;
	if (w->path && (m->id != w->at || strcmp(m->mountpoint, w->path) != 0))
		return 0;
	if (!w->path && (mount_at(m->mountpoint) != m->id) != w->covered)
		return 0;
	r = entry_from(m, w->covered, ret);
	return r < 0 ? r : 1;
}

static int search(const struct mount_wanted *w, struct mount_entry *ret)
{
	CLEANUP(fclose_p) FILE *table = open_table(OURSELVES);
	CLEANUP(free_p) char *line = NULL;
	struct mount_line m;
	size_t size = 0;
	int r = 0;

	assert(!w->path || w->at >= 0);
	if (!table)
		return -errno;
	while (r == 0 && getline(&line, &size, table) > 0)
		if (mount_line_parse(line, &m) == 0)
			r = match(&m, w, ret);
	if (r == 0)
		return -ENOENT;
	return r < 0 ? r : 0;
}

int mount_find(const char *path, const char *id, struct mount_entry *ret)
{
	struct mount_wanted w = { .path = path, .id = id };
	int r;

	if (path) {
		w.at = mount_at(path);
		return w.at < 0 ? w.at : search(&w, ret);
	}
	r = search(&w, ret);
	if (r != -ENOENT)
		return r;
	w.covered = true;
	return search(&w, ret);
}

bool mount_is_held(pid_t pid, const char *id)
{
	CLEANUP(fclose_p) FILE *table = NULL;
	CLEANUP(free_p) char *line = NULL;
	char number_text[12];
	struct mount_line m;
	const char *found;
	size_t size = 0;

	(void)snprintf(number_text, sizeof(number_text), "%d", (int)pid);
	table = open_table(number_text);
	while (table && getline(&line, &size, table) > 0) {
		found = mount_line_parse(line, &m) < 0 ? NULL
						       : statetape_id(&m);
		if (found && strcmp(found, id) == 0)
			return true;
	}
	return false;
}

int mount_below(const char *path, char **ret)
{
	CLEANUP(fclose_p) FILE *table = open_table(OURSELVES);
	CLEANUP(free_p) char *line = NULL;
	size_t size = 0, len = strlen(path);
	struct mount_line m;

	if (!table)
		return -errno;
	while (getline(&line, &size, table) > 0) {
		if (mount_line_parse(line, &m) < 0 ||
		    strncmp(m.mountpoint, path, len) != 0 ||
		    m.mountpoint[len] != '/')
			continue;
		*ret = strdup(m.mountpoint);
		return *ret ? 0 : -ENOMEM;
	}
	return -ENOENT;
}

void mount_entry_release(struct mount_entry *e)
{
	free(e->mountpoint);
	free(e->id);
	*e = (struct mount_entry){ 0 };
}

/*
 * ECONNABORTED: the connection was aborted, for sessions that distinguish
 * that. ECONNREFUSED: the process was killed during its first reply.
 */
bool mount_error_is_death(int error)
{
	return error == ENOTCONN || error == ECONNABORTED ||
	       error == ECONNREFUSED;
}

bool mount_is_dead(const char *mountpoint)
{
	struct statfs st;

	/* The kernel may answer stat(2) from its cache, but never statfs. */
	return statfs(mountpoint, &st) < 0 && mount_error_is_death(errno);
}
