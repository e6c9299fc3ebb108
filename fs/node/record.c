#include "fs/node/record.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

/* Fill in the author, append, ring. The other fields are set already. */
static uint64_t append(struct fs *fs, fuse_req_t req, const struct handle *h,
		       struct journal_event *e)
{
	static const struct fuse_ctx none = { 0 };
	const struct fuse_ctx *ctx = req ? fuse_req_ctx(req) : &none;
	struct actor *actor = actors_get(fs->actors, ctx->pid);
	struct actor *author = actor;
	uint64_t n;

	/*
	 * Requests of the kernel itself (write-back of a mapping, a release
	 * after the process is gone) have no caller: they are attributed to
	 * the process that opened the file.
	 */
	if (!author && h)
		author = h->opener;
	e->uid = ctx->uid;
	e->tid = (uint32_t)ctx->pid;
	e->pid = actor ? (uint32_t)actor_pid(actor) : (uint32_t)ctx->pid;
	e->author = author ? actor_author(author) : NULL;
	n = journal_append(fs->journal, e);
	actor_unref(actor);
	if (fs->bell)
		bell_ring(fs->bell, n);
	return n;
}

static struct journal_event event_of(struct fs *fs,
				     const struct record_line *what,
				     const char *path, const struct inode *i)
{
	assert(what->op < JOURNAL_OPS);
	atomic_fetch_add_explicit(&fs->ops[what->op], 1, memory_order_relaxed);
	return (struct journal_event){
		.op = what->op,
		.path = path,
		.path2 = what->path2,
		.detail = what->detail,
		.ino = what->ino ? what->ino
		       : i	 ? i->key.ino
				 : 0,
		.off = what->off,
		.len = what->len,
		.res = what->res,
	};
}

static void path_by_number(const struct inode *i, char *buf, size_t size)
{
	(void)snprintf(buf, size, "#%llu", (unsigned long long)i->key.ino);
}

void record_path(struct fs *fs, struct inode *i, char *buf, size_t size)
{
	if (inodes_path(fs->inodes, i, buf, size, NULL) < 0)
		path_by_number(i, buf, size);
}

void record_path_in(struct fs *fs, struct inode *parent, const char *name,
		    char *buf, size_t size)
{
	if (inodes_path_in(fs->inodes, parent, name, buf, size) < 0)
		(void)snprintf(buf, size, "#/%s", name);
}

uint64_t record_inode(struct fs *fs, fuse_req_t req, struct inode *i,
		      const struct handle *h, const struct record_line *what)
{
	char path[RECORD_PATH_MAX];
	struct journal_event e;
	bool gone = false;

	if (!fs->journal)
		return 0;
	if (inodes_path(fs->inodes, i, path, sizeof(path), &gone) < 0)
		path_by_number(i, path, sizeof(path));
	e = event_of(fs, what, path, i);
	/* More to the point than how it was truncated. */
	if (gone && (!e.detail || e.op == JOURNAL_TRUNCATE))
		e.detail = "deleted";
	return append(fs, req, h, &e);
}

uint64_t record_close(struct fs *fs, fuse_req_t req, const struct handle *h)
{
	struct record_line what = { .op = JOURNAL_CLOSE, .off = -1, .len = -1 };

	if (!h->writable)
		return 0;
	if (atomic_load(&h->wrote))
		what.detail = "wrote";
	return record_inode(fs, req, h->inode, h, &what);
}

uint64_t record_name(struct fs *fs, fuse_req_t req, struct inode *parent,
		     const char *name, const struct inode *i,
		     const struct record_line *what)
{
	char path[RECORD_PATH_MAX];
	struct journal_event e;

	if (!fs->journal)
		return 0;
	record_path_in(fs, parent, name, path, sizeof(path));
	e = event_of(fs, what, path, i);
	return append(fs, req, NULL, &e);
}

void record_read(struct fs *fs, fuse_req_t req, enum reads_kind kind,
		 struct inode *i)
{
	struct actor *a;
	char path[RECORD_PATH_MAX];

	if (!fs->journal)
		return;
	a = actors_get(fs->actors, fuse_req_ctx(req)->pid);
	if (a && !reads_known(fs->reads, a, kind, i->id) &&
	    inodes_path(fs->inodes, i, path, sizeof(path), NULL) == 0)
		reads_note(fs->reads, a, kind, i->id, path);
	actor_unref(a);
}

void record_miss(struct fs *fs, fuse_req_t req, struct inode *parent,
		 const char *name)
{
	char path[RECORD_PATH_MAX];
	struct actor *a;
	uint64_t key;

	if (!fs->journal)
		return;
	key = XXH3_64bits_withSeed(name, strlen(name), parent->id);
	a = actors_get(fs->actors, fuse_req_ctx(req)->pid);
	if (a && !reads_known(fs->reads, a, READS_MISSED, key) &&
	    inodes_path_in(fs->inodes, parent, name, path, sizeof(path)) == 0)
		reads_note(fs->reads, a, READS_MISSED, key, path);
	actor_unref(a);
}
