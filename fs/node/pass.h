/*
 * Reading without us. The kernel can be given the file below and reads it as
 * if there were no file system of ours in between: a large file read from end
 * to end then costs what it costs below, and its pages are kept once instead
 * of twice. For a small file setting that up costs more than it saves.
 *
 * While a file is read so, every other open of it has to go the same way, or
 * the kernel refuses it; a writer then writes directly, past the kernel's
 * pages, so that what is written still comes to us first. What is stored
 * through a shared mapping made meanwhile does not: at its release we look
 * whether the file has changed, and say so in the journal.
 *
 * Needs root, libfuse 3.17 and Linux 6.9. Without them nothing here does
 * anything.
 */
#ifndef STATETAPE_FS_NODE_PASS_H
#define STATETAPE_FS_NODE_PASS_H

#include "fs/node/fs.h"

/* At the beginning: ask for it. */
void pass_init(struct fs *fs, struct fuse_conn_info *conn);

/*
 * Before the answer to an open or a creation: choose the way for `h`, which
 * is `fi`'s and of a file of status `st`, and say so in `fi`.
 */
void pass_begin(fuse_req_t req, struct handle *h, const struct stat *st,
		struct fuse_file_info *fi);

/* Would a file of status `st` be read past us, if nobody had it open? */
bool pass_would(const struct fs *fs, const struct stat *st);

/* Before handle_free(): at its release, or when the answer did not arrive. */
void pass_end(fuse_req_t req, struct handle *h);

#endif
