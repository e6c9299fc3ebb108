/*
 * What this process may do with the files of a directory: the root, a sample of
 * its directories, and a file of each owner, group and mode that a walk finds.
 * Taken before mounting and compared afterwards, it shows whether the mount
 * takes anything away.
 */
#ifndef STATETAPE_FS_MOUNT_SURVEY_H
#define STATETAPE_FS_MOUNT_SURVEY_H

#include <stddef.h>

struct survey_sample;

struct survey {
	struct survey_sample *samples;
	size_t samples_count;
	size_t walked; /* entries; the walk ends at SURVEY_WALK_MAX */
	char *setid;   /* a program that runs with another user's or group's
			* rights, NULL: none */
	size_t setid_count;
};

#define SURVEY_WALK_MAX	   50000
#define SURVEY_SAMPLES_MAX 512

/* Look at the directory `path` (absolute). 0 or a negative errno. */
int survey_take(const char *path, struct survey *ret);
void survey_release(struct survey *s);

/*
 * Look again at the same paths. Returns 0 if all is as before; else
 * -EACCES, and *ret_why names the first difference (free it).
 */
int survey_compare(const struct survey *s, char **ret_why);

#endif
