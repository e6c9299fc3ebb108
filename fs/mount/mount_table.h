/*
 * Reads the kernel's mount table, /proc/<pid>/mountinfo, without a request to
 * any file system. proc(5) gives the format of a line. mount.h declares the
 * searches for our own mounts.
 */
#ifndef STATETAPE_FS_MOUNT_MOUNT_TABLE_H
#define STATETAPE_FS_MOUNT_MOUNT_TABLE_H

#include <sys/types.h>

/* Strings point into the line they were read from. */
struct mount_line {
	int id; /* "mnt_id" in /proc/<pid>/fdinfo/<fd> */
	dev_t dev;
	char *mountpoint;
	char *type;
	char *source;
};

/*
 * Parse `line` (with or without its newline) in place. -EBADMSG: it is not a
 * line of mountinfo.
 */
int mount_line_parse(char *line, struct mount_line *ret);

/* The mountpoint (free it) of a mount below `path`. -ENOENT: none. */
int mount_below(const char *path, char **ret);

#endif
