/*
 * Everything by which a process keeps a mount busy is a magic link in /proc;
 * stat(2) through it gives the device. statx() with an empty mask and
 * DONT_SYNC asks for no more, and for a FUSE mount the kernel answers it alone,
 * even if the mount is dead or we may not enter it.
 */
#include "fs/mount/holders.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "fs/mount/mount_table.h"
#include "graph/base/cleanup.h"

static bool on_device(int dir_fd, const char *name, dev_t dev)
{
	struct statx sx;

	return statx(dir_fd, name, AT_STATX_DONT_SYNC, 0, &sx) == 0 &&
	       makedev(sx.stx_dev_major, sx.stx_dev_minor) == dev;
}

static bool has_open_file(int proc_fd, dev_t dev)
{
	CLEANUP(closedir_p) DIR *dir = NULL;
	const struct dirent *d;
	int fd = openat(proc_fd, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return false;
	dir = fdopendir(fd);
	if (!dir) {
		(void)close(fd);
		return false;
	}
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is ours alone. */
	while ((d = readdir(dir)))
		if (d->d_name[0] != '.' && on_device(fd, d->d_name, dev))
			return true;
	return false;
}

/* "7f00-7f01 r-xp 00000000 00:2f 42 /name": the fourth field is the device. */
static bool line_on_device(char *line, const char *device)
{
	const char *word = NULL;

	for (int i = 0; i < 4; i++)
		word = strsep(&line, " ");
	return word && strcmp(word, device) == 0;
}

static bool has_mapping(int proc_fd, dev_t dev)
{
	CLEANUP(fclose_p) FILE *maps = NULL;
	CLEANUP(free_p) char *line = NULL;
	char device[32];
	size_t size = 0;
	int fd = openat(proc_fd, "maps", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	maps = fdopen(fd, "r");
	if (!maps) {
		(void)close(fd);
		return false;
	}
	(void)snprintf(device, sizeof(device), "%02x:%02x", major(dev),
		       minor(dev));
	while (getline(&line, &size, maps) > 0)
		if (line_on_device(line, device))
			return true;
	return false;
}

/* How the process holds the device, NULL if it does not. Cheapest first. */
static const char *how_held(int proc_fd, dev_t dev)
{
	if (on_device(proc_fd, "cwd", dev))
		return "current directory";
	if (on_device(proc_fd, "root", dev))
		return "root directory";
	if (has_open_file(proc_fd, dev))
		return "open file";
	if (has_mapping(proc_fd, dev))
		return "mapped file";
	return NULL;
}

static void print_name(FILE *out, int proc_fd)
{
	char comm[64] = "";
	int fd = openat(proc_fd, "comm", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, comm, sizeof(comm) - 1);

	close_p(&fd);
	comm[n < 0 ? 0 : n] = '\0';
	comm[strcspn(comm, "\n")] = '\0';
	(void)fputs(*comm ? comm : "a process", out);
}

/* True if process `pid` is a holder; the first HOLDERS_MAX are printed. */
static bool print_if_holder(FILE *out, int number, int all_fd, const char *pid,
			    dev_t dev)
{
	CLEANUP(close_p) int proc_fd = -1;
	const char *how;

	assert(number >= 0 && number <= HOLDERS_MAX);
	proc_fd = openat(all_fd, pid, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	how = proc_fd < 0 ? NULL : how_held(proc_fd, dev);
	if (!how)
		return false;
	if (number >= HOLDERS_MAX)
		return true;
	if (number > 0)
		(void)fputs(", ", out);
	print_name(out, proc_fd);
	(void)fprintf(out, " (%s, %s)", pid, how);
	return true;
}

/* Returns the number of holders, HOLDERS_MAX + 1 at most. */
static int print_processes(FILE *out, dev_t dev)
{
	CLEANUP(closedir_p) DIR *all = opendir("/proc");
	const struct dirent *d;
	int n = 0;

	/* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is ours alone. */
	while (all && n <= HOLDERS_MAX && (d = readdir(all)))
		if (isdigit((unsigned char)d->d_name[0]) &&
		    print_if_holder(out, n, dirfd(all), d->d_name, dev))
			n++;
	if (n > HOLDERS_MAX)
		(void)fputs(" and others", out);
	return n;
}

char *holders_text(const char *mountpoint, dev_t dev)
{
	CLEANUP(free_p) char *below = NULL;
	CLEANUP(free_p) char *text = NULL;
	CLEANUP(fclose_p) FILE *out = NULL;
	size_t size = 0;
	int n;

	out = open_memstream(&text, &size);
	if (!out)
		return NULL;
	n = print_processes(out, dev);
	if (mount_below(mountpoint, &below) == 0)
		(void)fprintf(out, "%sthe mount at '%s'", n ? ", " : "", below);
	if (fclose(TAKE(out)) != 0 || size == 0)
		return NULL;
	return TAKE(text);
}
