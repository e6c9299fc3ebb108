/*
 * A version belongs to the process and the handle that made its last change.
 * Every change names both, under the change lock and before it begins; its line
 * comes later. Until it is in the journal (`changing`) nobody can say what the
 * file holds.
 *
 * The tape may have read a version if it is finished (`end`) and the tape has
 * read the line that finished it. Any other version is kept before
 *
 * - another process changes it, or the same one through another handle: it
 *   closed the file, though RELEASE may come later than its next open;
 * - another file is renamed over it;
 * - its name is removed, unless its author made the file and the tape has not
 *   read so far: a temporary file has no entry. A file that took the place of
 *   another is not temporary.
 *
 * A change of the version's author through the same handle goes on with it.
 *
 * The copy is made without a lock. It counts if no change began between two
 * looks under the lock: one before it, that found none under way, and one
 * behind it. Then comes its line; then the change begins, if none has begun
 * since, under one hold of the lock. Otherwise all is tried again, for the
 * version that is there now. After FS_KEEP_TRIES the two changes overlap: a
 * line with -EBUSY says so, and the tape makes one version of both. Of two that
 * overlap the first to begin can end last, so it writes that line as well.
 */
#include "fs/node/keep.h"

#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "fs/base/limits.h"
#include "graph/base/cleanup.h"
#include "graph/base/clock.h"
#include "tape/journal/progress.h"
#include "tape/journal/scope.h"

struct keep {
	struct kept *kept;
	atomic_ullong done, merged, refused;
	atomic_bool told; /* that versions cannot be kept */
	/* Names that files lost, by their hashes: forgotten when another one
	   falls into the same place. */
	atomic_ullong lost[FS_LOST_NAMES];
};

int keep_open(struct fs *fs, int state_fd)
{
	struct keep *k = calloc(1, sizeof(*k));
	struct journal_stats st;
	int r;

	if (!k)
		return -ENOMEM;
	journal_stat(fs->journal, &st);
	progress_begin(fs->progress, st.head);
	/* The newest line is that of our own beginning. */
	if (progress_line(fs->progress) + 1 < st.head)
		inodes_forgot(fs->inodes, (uint64_t)clock_wall_ns());
	r = kept_new(state_fd, fs->progress, st.head, &k->kept);
	fs->keep = k;
	if (r < 0)
		keep_close(fs);
	return r;
}

void keep_close(struct fs *fs)
{
	if (fs->keep)
		kept_free(fs->keep->kept);
	free(fs->keep);
	fs->keep = NULL;
}

/* Versions are noted and kept: a tape has followed the journal. */
static bool is_wanted(const struct fs *fs, const struct inode *i)
{
	return fs->keep && i && (S_ISREG(i->type) || S_ISLNK(i->type)) &&
	       progress_line(fs->progress);
}

enum keep_verdict {
	VERDICT_GO,   /* nothing to keep */
	VERDICT_KEEP, /* keep the version first */
	VERDICT_BUSY, /* another change is under way: what is it now? */
};

/* One change that may have to wait for a copy. */
struct asking {
	fuse_req_t req;
	struct fs *fs;
	struct inode *i;
	const struct handle *h;
	struct inode *dir; /* NULL: a change of content */
	const char *name;
	bool removes;		    /* the name; otherwise it is replaced */
	struct keep_change *change; /* of content */
	uint32_t pid;		    /* of the caller, 0: unknown */
	uint64_t start;

	bool scratch;	  /* a temporary file loses its name */
	bool settled;	  /* do not ask again */
	bool copied;	  /* the version at `changes` is kept */
	uint64_t changes; /* i->changes under the lock */
	enum keep_verdict verdict;
	struct inode_version version;
	bool outside;
};

static void name_author(fuse_req_t req, const struct handle *h, uint32_t *pid,
			uint64_t *start)
{
	struct fs *fs = fs_of(req);
	struct actor *a = actors_get(fs->actors, fuse_req_ctx(req)->pid);
	struct actor *author = a ? a : h ? h->opener : NULL;

	*pid = author ? (uint32_t)actor_pid(author) : 0;
	*start = author ? actor_author(author)->start : 0;
	actor_unref(a);
}

/* A process that was gone when it was first seen has no start time. */
static bool is_author(const struct inode_version *v, uint32_t pid,
		      uint64_t start)
{
	return v->pid == pid &&
	       (v->start == start || v->start == 0 || start == 0);
}

static bool goes_on(const struct asking *a, const struct inode_version *v)
{
	return !a->dir && a->h && a->h->id == v->handle &&
	       is_author(v, a->pid, a->start);
}

/* A file that its author makes and removes before the tape has read so far. */
static bool is_scratch(const struct asking *a, const struct inode_version *v,
		       uint64_t line)
{
	return a->removes && v->born > line && is_author(v, a->pid, a->start);
}

static enum keep_verdict judge(struct asking *a)
{
	const struct inode_version *v = &a->i->version;
	uint64_t line = progress_line(a->fs->progress);

	a->scratch = is_scratch(a, v, line);
	if (v->changing && !goes_on(a, v))
		return VERDICT_BUSY;
	if (a->i->outside)
		return VERDICT_KEEP;
	if (!v->last || goes_on(a, v))
		return VERDICT_GO;
	if ((v->end && v->end <= line) || a->scratch)
		return VERDICT_GO;
	return VERDICT_KEEP;
}

/* The change begins: the version is the caller's from now on. */
static void take_over_locked(const struct asking *a)
{
	struct inode_version *v = &a->i->version;
	struct keep_change *c = a->change;

	a->i->outside = false;
	if (!c)
		return;
	c->before = *v;
	c->counted = true;
	if (!is_author(v, a->pid, a->start))
		v->born = 0;
	v->pid = a->pid;
	v->start = a->start;
	v->handle = a->h ? a->h->id : 0;
	v->end = 0;
	v->changing++;
}

/* Called with the change lock held. */
static bool may_begin(void *ctx)
{
	struct asking *a = ctx;
	uint64_t changes = atomic_load(&a->i->changes);

	if (!a->settled && !(a->copied && a->changes == changes)) {
		a->changes = changes;
		a->copied = false;
		a->version = a->i->version;
		a->outside = a->i->outside;
		a->verdict = judge(a);
		if (a->verdict != VERDICT_GO)
			return false;
	}
	take_over_locked(a);
	return true;
}

/* The file's path; false: it has none, or the tape does not follow it. */
static bool find_path(const struct asking *a, char *path, size_t size)
{
	bool gone = false;
	int r = a->dir ? inodes_path_in(a->fs->inodes, a->dir, a->name, path,
					size)
		       : inodes_path(a->fs->inodes, a->i, path, size, &gone);

	return r == 0 && !gone && scope_of(path) != SCOPE_NONE;
}

static uint64_t append(const struct asking *a, const struct record_line *what)
{
	if (a->dir)
		return record_name(a->fs, a->req, a->dir, a->name, a->i, what);
	return record_inode(a->fs, a->req, a->i, a->h, what);
}

/* Out of space or an error: said once, until a version is kept again. */
static void tell(struct keep *k, int r)
{
	if (atomic_exchange(&k->told, true))
		return;
	(void)fprintf(
		stderr,
		"statetape: versions that are overwritten before the tape "
		"has read them cannot be kept, so its entries name "
		"several authors: %s\n",
		strerrordesc_np(-r));
}

static void count_failure(struct keep *k, int r)
{
	if (r == -EBUSY || r == -EFBIG || r == -EMEDIUMTYPE || r == -EDQUOT) {
		atomic_fetch_add(&k->merged, 1);
		return;
	}
	atomic_fetch_add(&k->refused, 1);
	tell(k, r);
}

/* A line that says why the version is not kept. */
static void record_failure(struct asking *a, int64_t len, int r)
{
	assert(r < 0);
	count_failure(a->fs->keep, r);
	append(a, &(struct record_line){
			  .op = JOURNAL_KEEP,
			  .detail = a->outside ? JOURNAL_OUTSIDE : NULL,
			  .off = a->outside ? 0 : (int64_t)a->version.last,
			  .len = len,
			  .res = r });
	a->settled = true;
}

/* Has no change begun since the look before the copy? Then count the copy. */
static bool is_still_that(struct asking *a)
{
	bool same;

	pages_lock(a->fs, a->i);
	same = atomic_load(&a->i->changes) == a->changes;
	if (same && !a->version.end && !a->outside)
		a->i->version.kept++;
	pages_unlock(a->fs, a->i);
	return same;
}

static void record_copy(struct asking *a, const struct kept_file *f)
{
	struct keep *k = a->fs->keep;
	uint64_t n = append(
		a, &(struct record_line){
			   .op = JOURNAL_KEEP,
			   .path2 = f->name,
			   .detail = a->outside ? JOURNAL_OUTSIDE : NULL,
			   .off = a->outside ? 0 : (int64_t)a->version.last,
			   .len = f->len });

	kept_done(k->kept, f, n);
	atomic_fetch_add(&k->done, 1);
	atomic_store(&k->told, false);
	a->copied = true;
}

static void keep_version(struct asking *a)
{
	CLEANUP(hold_end) struct hold h = HOLD_NONE;
	struct kept *kept = a->fs->keep->kept;
	struct kept_file f = { .len = -1 };
	int r;

	if (!a->outside && !a->version.end &&
	    a->version.kept >= FS_KEEP_OPEN_MAX) {
		record_failure(a, -1, -EDQUOT);
		return;
	}
	r = hold_begin(a->fs->inodes, a->i, &h);
	if (r == 0)
		r = kept_copy(kept, a->fs->proc_fd, h.fd, &f);
	if (r < 0)
		record_failure(a, f.len, r);
	else if (is_still_that(a))
		record_copy(a, &f);
	else
		kept_drop(kept, &f);
}

/* Begins the change, after the version was kept if need be. */
static void begin(struct asking *a, struct own_change *ret)
{
	char path[RECORD_PATH_MAX];

	for (int n = 1; !pages_change_if(a->fs, a->i, ret, may_begin, a); n++) {
		if (!find_path(a, path, sizeof(path)))
			a->settled = true;
		else if (n > FS_KEEP_TRIES)
			record_failure(a, -1, -EBUSY);
		else if (a->verdict == VERDICT_BUSY)
			(void)sched_yield();
		else
			keep_version(a);
	}
}

/* This change ends the version from outside, which nobody asked to keep. */
static void forget_outside(struct fs *fs, struct inode *i)
{
	if (!i)
		return;
	pages_lock(fs, i);
	i->outside = false;
	pages_unlock(fs, i);
}

void keep_change(fuse_req_t req, struct inode *i, const struct handle *h,
		 struct keep_change *ret)
{
	struct fs *fs = fs_of(req);
	struct asking a = {
		.req = req, .fs = fs, .i = i, .h = h, .change = ret
	};

	*ret = (struct keep_change){ .i = i };
	if (!is_wanted(fs, i)) {
		pages_change(fs, i, &ret->own);
		forget_outside(fs, i);
		return;
	}
	name_author(req, h, &a.pid, &a.start);
	ret->pid = a.pid;
	ret->start = a.start;
	begin(&a, &ret->own);
}

void keep_changed(struct fs *fs, struct keep_change *c)
{
	pages_changed(fs, &c->own);
}

/* Line `n` of the change by `h` is in the journal; 0: nothing was changed. */
static void finish(struct fs *fs, const struct keep_change *c,
		   const struct handle *h, uint64_t n)
{
	struct inode_version *v = &c->i->version;
	bool mine;

	pages_lock(fs, c->i);
	assert(v->changing > 0);
	v->changing--;
	mine = is_author(v, c->pid, c->start);
	if (!n && mine && !v->changing && v->last == c->before.last) {
		*v = c->before;
		v->changing = 0;
	}
	if (n > v->last)
		v->last = n;
	/* The newest line names the author; others do not go on with it. */
	if (n)
		v->handle = mine && h ? h->id : 0;
	if (n && mine && !h)
		v->end = n;
	pages_unlock(fs, c->i);
}

/* Has another process begun a change since this one began? */
static bool is_overlapped(struct fs *fs, const struct keep_change *c)
{
	bool others;

	pages_lock(fs, c->i);
	others = !is_author(&c->i->version, c->pid, c->start);
	pages_unlock(fs, c->i);
	return others;
}

uint64_t keep_record(fuse_req_t req, struct keep_change *c,
		     const struct handle *h, const struct record_line *what)
{
	struct fs *fs = fs_of(req);
	uint64_t n;

	if (!c->counted)
		return record_inode(fs, req, c->i, h, what);
	if (what->res >= 0 && is_overlapped(fs, c))
		record_inode(fs, req, c->i, h,
			     &(struct record_line){ .op = JOURNAL_KEEP,
						    .len = -1,
						    .res = -EBUSY });
	n = record_inode(fs, req, c->i, h, what);
	finish(fs, c, h, what->res < 0 ? 0 : n);
	return n;
}

void keep_failed(struct fs *fs, struct keep_change *c)
{
	if (c->counted)
		finish(fs, c, NULL, 0);
}

static atomic_ullong *place_of(struct fs *fs, const struct inode *dir,
			       const char *name, unsigned long long *ret)
{
	*ret = XXH3_64bits_withSeed(name, strlen(name), dir->id);
	return &fs->keep->lost[*ret % FS_LOST_NAMES];
}

static void note_lost(struct fs *fs, const struct inode *dir, const char *name)
{
	unsigned long long hash;
	atomic_ullong *place = place_of(fs, dir, name, &hash);

	atomic_store(place, hash);
}

static bool was_lost(struct fs *fs, const struct inode *dir, const char *name)
{
	unsigned long long hash;
	atomic_ullong *place = place_of(fs, dir, name, &hash);

	return atomic_load(place) == hash;
}

void keep_renamed(struct fs *fs, struct inode *i, const struct keep_name *from,
		  const struct keep_name *to, bool replaced)
{
	bool temporary;

	if (!is_wanted(fs, i))
		return;
	replaced = replaced || was_lost(fs, to->dir, to->name);
	pages_lock(fs, i);
	temporary = i->version.born > progress_line(fs->progress);
	if (replaced)
		i->version.born = 0;
	pages_unlock(fs, i);
	if (!temporary)
		note_lost(fs, from->dir, from->name);
}

static void lose_name(struct asking *a, struct own_change *ret)
{
	struct inode *i = a->i;
	bool stays = i && (atomic_load(&i->opens) || atomic_load(&i->linked));

	a->fs = fs_of(a->req);
	if (!is_wanted(a->fs, i)) {
		pages_change(a->fs, stays ? i : NULL, ret);
		return;
	}
	name_author(a->req, NULL, &a->pid, &a->start);
	begin(a, ret);
	if (!a->scratch)
		note_lost(a->fs, a->dir, a->name);
}

void keep_removed(fuse_req_t req, struct inode *dir, const char *name,
		  struct inode *i, struct own_change *ret)
{
	lose_name(&(struct asking){ .req = req,
				    .i = i,
				    .dir = dir,
				    .name = name,
				    .removes = true },
		  ret);
}

void keep_replaced(fuse_req_t req, struct inode *dir, const char *name,
		   struct inode *i, struct own_change *ret)
{
	lose_name(
		&(struct asking){
			.req = req, .i = i, .dir = dir, .name = name },
		ret);
}

void keep_made(fuse_req_t req, struct inode *i, const struct handle *h,
	       const struct keep_name *at, uint64_t n)
{
	struct fs *fs = fs_of(req);
	struct inode_version v = { .last = n, .born = n, .end = h ? 0 : n };

	if (!is_wanted(fs, i) || !n)
		return;
	if (at && was_lost(fs, at->dir, at->name))
		v.born = 0;
	name_author(req, h, &v.pid, &v.start);
	v.handle = h ? h->id : 0;
	pages_lock(fs, i);
	i->version = v;
	pages_unlock(fs, i);
}

void keep_stored(struct fs *fs, const struct handle *h, uint64_t n)
{
	struct inode_version *v = &h->inode->version;

	if (!is_wanted(fs, h->inode) || !n)
		return;
	pages_lock(fs, h->inode);
	v->pid = h->opener ? (uint32_t)actor_pid(h->opener) : 0;
	v->start = h->opener ? actor_author(h->opener)->start : 0;
	v->handle = h->id;
	v->last = n > v->last ? n : v->last;
	v->end = 0;
	v->born = 0;
	pages_unlock(fs, h->inode);
}

void keep_released(struct fs *fs, const struct handle *h, uint64_t n)
{
	struct inode_version *v = &h->inode->version;

	if (!is_wanted(fs, h->inode) || !n)
		return;
	pages_lock(fs, h->inode);
	v->kept = 0;
	if (v->handle == h->id)
		v->end = n;
	pages_unlock(fs, h->inode);
}

void keep_stat(struct fs *fs, struct keep_stats *ret)
{
	struct keep *k = fs->keep;

	*ret = (struct keep_stats){ 0 };
	if (!k)
		return;
	kept_stat(k->kept, &ret->waiting);
	ret->kept = atomic_load(&k->done);
	ret->merged = atomic_load(&k->merged);
	ret->refused = atomic_load(&k->refused);
}
