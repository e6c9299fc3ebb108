/*
 * What the file system process answers when asked (tape/wire/wire.h):
 *
 *   STATUS                 counts of everything it holds and has done
 *   READS {pid, tree}      what processes read and missed (fs/author/reads.h)
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
};

/* A wire_handler; `ctx` is the answerer. */
int answer(void *ctx, const char *ask, const cJSON *question, cJSON *ret);

#endif
