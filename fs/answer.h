/*
 * Answers the questions that other processes send to the file system process
 * (tape/wire/wire.h):
 *
 *   STATUS                         counters and settings
 *   READS {pid, tree, from_ns, to_ns}
 *                                  files that processes opened or looked for
 *                                  and missed (fs/author/reads.h)
 *
 * Before any answer it is seen whether the state directory was removed and made
 * anew; then the journal goes on in the new one.
 */
#ifndef STATETAPE_FS_ANSWER_H
#define STATETAPE_FS_ANSWER_H

#include <cjson/cJSON.h>

#include "fs/node/fs.h"
#include "fs/serve.h"

struct answerer {
	struct fs *fs;
	const struct fs_config *config;
	int64_t started_ns; /* clock_mono_ns() */
	int lock_fd;	    /* of a state directory made anew, -1: none */
};

/* A wire_handler; `ctx` is the answerer. */
int answer(void *ctx, const char *ask, const cJSON *question, cJSON *ret);

#endif
