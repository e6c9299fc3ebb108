/*
 * An inotify watch stays with its directory when that is moved. The name kept
 * here is then old until outside_watch() is called for the new one, which
 * returns the same watch number. Events under an old name lead to paths where
 * nothing is, or nothing new.
 */
#include "tape/outside.h"

#include <errno.h>
#include <limits.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "graph/base/alloc.h"
#include "graph/base/array.h"
#include "graph/base/cleanup.h"
#include "graph/base/paths.h"
#include "tape/journal/scope.h"

#define EVENTS                                                             \
	(IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_MODIFY | \
	 IN_ATTRIB | IN_CLOSE_WRITE | IN_EXCL_UNLINK | IN_ONLYDIR)

/* Read at a time. */
#define EVENTS_SIZE (16U << 10)

struct outside {
	int fd;
	ARRAY(char *) names; /* of directories, by watch number; NULL: none */
	uint64_t read;	     /* bytes, since it was opened */
	struct outside_stats stats;
};

int outside_open(struct outside **ret)
{
	int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);

	if (fd < 0)
		return -errno;
	*ret = must_calloc(1, sizeof(**ret));
	(*ret)->fd = fd;
	return 0;
}

void outside_free(struct outside *o)
{
	if (!o)
		return;
	for (uint32_t i = 0; i < o->names.count; i++)
		free(o->names.at[i]);
	array_release(&o->names);
	(void)close(o->fd);
	free(o);
}

int outside_fd(const struct outside *o)
{
	return o->fd;
}

void outside_watch(struct outside *o, const char *dir, int fd)
{
	char name[sizeof("/proc/self/fd/") + 16];
	int wd;

	(void)snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	wd = inotify_add_watch(o->fd, name, EVENTS);
	if (wd < 0) {
		o->stats.refused++;
		return;
	}
	while (o->names.count <= (uint32_t)wd)
		(void)array_add(&o->names);
	if (!o->names.at[wd])
		o->stats.watched++;
	free(o->names.at[wd]);
	o->names.at[wd] = must_strdup(dir);
}

static char *name_of(const struct outside *o, int wd)
{
	return wd >= 0 && (uint32_t)wd < o->names.count ? o->names.at[wd]
							: NULL;
}

static void forget(struct outside *o, int wd)
{
	if (!name_of(o, wd))
		return;
	free(TAKE(o->names.at[wd]));
	o->stats.watched--;
}

static void hear(struct outside *o, const struct inotify_event *e,
		 outside_visit *visit, void *ctx)
{
	const char *dir = name_of(o, e->wd);
	CLEANUP(free_p) char *path = NULL;
	struct outside_event event = {
		.directory = e->mask & IN_ISDIR,
		.came = e->mask & (IN_CREATE | IN_MOVED_TO),
		.went = e->mask & (IN_DELETE | IN_MOVED_FROM),
		.done = e->mask & (IN_CLOSE_WRITE | IN_MOVED_TO),
	};

	if (e->mask & IN_IGNORED) {
		forget(o, e->wd);
		return;
	}
	if (!dir || !e->len)
		return;
	path = paths_join(dir, e->name);
	if (event.directory ? !scope_enters(path)
			    : scope_of(path) == SCOPE_NONE)
		return;
	event.path = path;
	visit(&event, ctx);
}

bool outside_read(struct outside *o, outside_visit *visit, void *ctx,
		  bool *ret_whole)
{
	alignas(struct inotify_event) char bytes[EVENTS_SIZE];
	ssize_t len = read(o->fd, bytes, sizeof(bytes));

	for (ssize_t at = 0; at < len;) {
		const struct inotify_event *e = (const void *)(bytes + at);

		if (e->mask & IN_Q_OVERFLOW) {
			*ret_whole = false;
			o->stats.overflows++;
		} else {
			hear(o, e, visit, ctx);
		}
		at += (ssize_t)(sizeof(*e) + e->len);
	}
	if (len > 0)
		o->read += (uint64_t)len;
	return len > 0;
}

uint64_t outside_end(const struct outside *o)
{
	int pending = 0;

	(void)ioctl(o->fd, FIONREAD, &pending);
	return o->read + (uint64_t)pending;
}

bool outside_has_read(const struct outside *o, uint64_t end)
{
	return o->read >= end;
}

void outside_stat(const struct outside *o, struct outside_stats *ret)
{
	*ret = o->stats;
}
