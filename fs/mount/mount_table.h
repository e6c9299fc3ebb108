/*
 * The kernel's mount table, /proc/<pid>/mountinfo, read without touching any
 * file system. proc(5) gives the format of a line. What we look for in it is
 * declared in mount.h.
 */
#ifndef STATETAPE_FS_MOUNT_MOUNT_TABLE_H
#define STATETAPE_FS_MOUNT_MOUNT_TABLE_H

#include <sys/types.h>

/* Strings point into the line they were read from. */
struct mount_line {
	int id; /* what "mnt_id" in /proc/<pid>/fdinfo/<fd> refers to */
	dev_t dev;
	char *mountpoint;
	char *type;
	char *source;
};

/*
 * Take `line` (with or without its newline) apart; it is cut up and its
 * escapes are undone in place. -EBADMSG: this is no such line.
 */
int mount_line_parse(char *line, struct mount_line *ret);

/* The mountpoint (free it) of a mount below `path`. -ENOENT: none. */
int mount_below(const char *path, char **ret);

#endif
