#include "graph/base/proc_stat.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "graph/base/cleanup.h"

/* The text after `n` more spaces, NULL: there are fewer. */
static const char *skip_fields(const char *text, int n)
{
	while (text && n-- > 0) {
		text = strchr(text, ' ');
		if (text)
			text++;
	}
	return text;
}

int proc_stat_parse(const char *text, struct proc_stat *ret)
{
	const char *comm = strchr(text, '(');
	const char *end = strrchr(text, ')');
	const char *state = skip_fields(end, 1);
	const char *ppid = skip_fields(state, 1);
	const char *start = skip_fields(ppid, 18); /* the 22nd field */

	if (!comm || !start || end < comm)
		return -EBADMSG;
	*ret = (struct proc_stat){
		.comm = comm + 1,
		.comm_len = (size_t)(end - comm - 1),
		.state = *state,
		.ppid = (pid_t)strtol(ppid, NULL, 10),
		.start = strtoull(start, NULL, 10),
	};
	return 0;
}

int proc_stat_read(pid_t pid, struct proc_stat *ret)
{
	CLEANUP(close_p) int fd = -1;
	char path[32], text[PROC_STAT_MAX];
	struct proc_stat found;
	ssize_t len;
	int r;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (len < 0)
		return -errno;
	text[len] = '\0';
	r = proc_stat_parse(text, &found);
	if (r < 0)
		return r;
	found.comm = NULL;
	found.comm_len = 0;
	*ret = found;
	return 0;
}
