/*
 * FUSE passthrough: the kernel reads the file below itself, without requests
 * to us. Reading a large file from end to end then costs what it costs below,
 * and its pages are cached once instead of twice. For a small file the set-up
 * costs more than it saves.
 *
 * While a file has a passthrough open, the kernel refuses opens of the other
 * kind, so every open of it must use passthrough. A writer then uses direct
 * I/O, so that its writes still come to us. Stores into a shared mapping do
 * not: when the handle is released we compare stamps and journal the change.
 *
 * Needs root, libfuse 3.17 and Linux 6.9; without them these functions do
 * nothing.
 */
#ifndef STATETAPE_FS_NODE_PASS_H
#define STATETAPE_FS_NODE_PASS_H

#include "fs/node/fs.h"

/* At the session's start: request it from the kernel. */
void pass_init(struct fs *fs, struct fuse_conn_info *conn);

/*
 * Before the reply to OPEN or CREATE: decide whether handle `h`, of a file
 * with status `st`, uses passthrough, and set `fi` accordingly.
 */
void pass_begin(fuse_req_t req, struct handle *h, const struct stat *st,
		struct fuse_file_info *fi);

/* Would the first open of a file with status `st` use passthrough? */
bool pass_would(const struct fs *fs, const struct stat *st);

/* Before handle_free(): at RELEASE, or when the reply could not be sent. */
void pass_end(fuse_req_t req, struct handle *h);

#endif
