/* The handlers of FUSE's requests, a file for each kind. */
#ifndef STATETAPE_FS_OPS_OPS_H
#define STATETAPE_FS_OPS_OPS_H

#include "fs/node/fs.h"

/* One table of handlers, gathered from this folder's files. */
void ops_name_fill(struct fuse_lowlevel_ops *ops);
void ops_make_fill(struct fuse_lowlevel_ops *ops);
void ops_attr_fill(struct fuse_lowlevel_ops *ops);
void ops_file_fill(struct fuse_lowlevel_ops *ops);
void ops_dir_fill(struct fuse_lowlevel_ops *ops);

#endif
