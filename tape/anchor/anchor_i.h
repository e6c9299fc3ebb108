/* Shared by anchor.c, which has the thread, and deliver.c, which delivers. */
#ifndef STATETAPE_TAPE_ANCHOR_ANCHOR_I_H
#define STATETAPE_TAPE_ANCHOR_ANCHOR_I_H

#include <sys/types.h>

#include "tape/anchor/anchor.h"

enum anchor_kind { ANCHOR_SYSLOG, ANCHOR_FILE, ANCHOR_COMMAND };

#define ANCHOR_WORDS_MAX 32

/* What an anchor is, from its line. */
struct anchor_place {
	enum anchor_kind kind;
	char *target; /* a path; of a command its words, each with a NUL */
	char *argv[ANCHOR_WORDS_MAX + 1]; /* of a command, in `target` */
};

/* -- deliver.c. 0 or a negative errno. */
int deliver_syslog(const char *socket_path, const char *line);
int deliver_file(const char *path, const char *line);
/* Start the command; *ret_pid leads a process group of its own. */
int deliver_start(char *const *argv, const char *line, pid_t *ret_pid);

#endif
