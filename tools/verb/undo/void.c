#include "tools/verb/undo/void.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "graph/base/cleanup.h"
#include "graph/base/json.h"

#define FILE_NAME   "undo.void"
#define PROCESS_MAX 64 /* bytes of a line */

void voids_read(struct voids *v, int state_fd)
{
	CLEANUP(close_p)
	int fd = openat(state_fd, FILE_NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	CLEANUP(fclose_p) FILE *in = fd < 0 ? NULL : fdopen(fd, "r");
	struct void_process p;
	char line[PROCESS_MAX], *end;

	*v = (struct voids){ .all = { .at = NULL } };
	if (in)
		(void)take_fd(&fd);
	while (in && fgets(line, sizeof(line), in)) {
		p.pid = strtoull(line, &end, 10);
		p.start = strtoull(end, NULL, 10);
		array_push(&v->all, p);
	}
}

void voids_release(struct voids *v)
{
	array_release(&v->all);
}

bool voids_has(const struct voids *v, const cJSON *entry)
{
	const cJSON *author = json_member(entry, "author");
	uint64_t pid = json_number(author, "pid", 0);
	uint64_t start = json_number(author, "start", 0);

	for (uint32_t i = 0; pid && i < v->all.count; i++)
		if (v->all.at[i].pid == pid && v->all.at[i].start == start)
			return true;
	return false;
}

int voids_add(int state_fd, struct void_process killed,
	      struct void_process mender)
{
	CLEANUP(close_p)
	int fd = openat(state_fd, FILE_NAME,
			O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW,
			0600);
	int n;

	if (fd < 0)
		return -errno;
	n = dprintf(fd, "%" PRIu64 " %" PRIu64 "\n%" PRIu64 " %" PRIu64 "\n",
		    killed.pid, killed.start, mender.pid, mender.start);
	return n < 0 ? -errno : 0;
}
