/* The handlers of FUSE requests, one file per kind. */
#ifndef STATETAPE_FS_OPS_OPS_H
#define STATETAPE_FS_OPS_OPS_H

#include "fs/node/fs.h"

/* Each sets the handlers of one file in the session's table. */
void ops_name_fill(struct fuse_lowlevel_ops *ops);
void ops_make_fill(struct fuse_lowlevel_ops *ops);
void ops_attr_fill(struct fuse_lowlevel_ops *ops);
void ops_file_fill(struct fuse_lowlevel_ops *ops);
void ops_dir_fill(struct fuse_lowlevel_ops *ops);

#endif
