#include "manager/http/caller.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "graph/base/proc_stat.h"
static bool has_open(int proc, const char *pid, const char *socket)
{
	char path[64], target[64];
	struct dirent *e;
	bool found = false;
	DIR *dir;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/fd", pid);
	fd = openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		if (fd >= 0)
			(void)close(fd);
		return false;
	}
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): the directory is ours. */
	while (!found && (e = readdir(dir))) {
		ssize_t len = readlinkat(dirfd(dir), e->d_name, target,
					 sizeof(target) - 1);

		target[len > 0 ? len : 0] = '\0';
		found = strcmp(target, socket) == 0;
	}
	(void)closedir(dir);
	return found;
}

/* An agent that opens a connection for each request is found fast. */
static bool search_known(struct callers *known, int proc, const char *socket,
			 struct caller *ret)
{
	struct caller all[CALLERS_MAX];
	struct proc_stat st;
	char pid[16];

	(void)pthread_mutex_lock(&known->lock);
	for (unsigned i = 0; i < CALLERS_MAX; i++)
		all[i] = known->known[i].caller;
	(void)pthread_mutex_unlock(&known->lock);
	for (unsigned i = 0; i < CALLERS_MAX; i++) {
		(void)snprintf(pid, sizeof(pid), "%" PRIu32, all[i].pid);
		*ret = all[i];
		if (all[i].pid && has_open(proc, pid, socket) &&
		    proc_stat_read((pid_t)all[i].pid, &st) == 0 &&
		    st.start == all[i].start)
			return true;
	}
	return false;
}

static int search(struct callers *known, uint64_t inode, struct caller *ret)
{
	struct caller best = { 0 };
	struct proc_stat st;
	char socket[40];
	struct dirent *e;
	DIR *proc = opendir("/proc");

	if (!proc)
		return -errno;
	(void)snprintf(socket, sizeof(socket), "socket:[%" PRIu64 "]", inode);
	if (search_known(known, dirfd(proc), socket, ret)) {
		(void)closedir(proc);
		return 0;
	}
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): the directory is ours. */
	while ((e = readdir(proc))) {
		struct caller p = { .pid = (uint32_t)strtoul(e->d_name, NULL,
							     10) };

		if (!p.pid || !has_open(dirfd(proc), e->d_name, socket) ||
		    proc_stat_read((pid_t)p.pid, &st) < 0)
			continue;
		p.start = st.start;
		if (!best.pid || p.start < best.start)
			best = p;
	}
	(void)closedir(proc);
	*ret = best;
	return best.pid ? 0 : -ENOENT;
}

static bool recall(struct callers *known, uint64_t inode, struct caller *ret)
{
	bool found = false;

	(void)pthread_mutex_lock(&known->lock);
	for (unsigned i = 0; i < CALLERS_MAX && !found; i++) {
		found = known->known[i].inode == inode;
		if (found)
			*ret = known->known[i].caller;
	}
	(void)pthread_mutex_unlock(&known->lock);
	return found;
}

static void keep(struct callers *known, uint64_t inode, struct caller caller)
{
	(void)pthread_mutex_lock(&known->lock);
	known->known[known->next].inode = inode;
	known->known[known->next].caller = caller;
	known->next = (known->next + 1) % CALLERS_MAX;
	(void)pthread_mutex_unlock(&known->lock);
}

int caller_find(struct callers *known, uint64_t inode, struct caller *ret)
{
	int r;

	assert(inode);
	if (recall(known, inode, ret))
		return ret->pid ? 0 : -ENOENT;
	r = search(known, inode, ret);
	/* Also that there is none: nothing else will be found later. */
	keep(known, inode, r == 0 ? *ret : (struct caller){ 0 });
	return r;
}
