/*
 * Three hash tables under one lock: inodes by (device, number) and by watch,
 * links by (directory, name). An inode lives while the kernel holds lookups on
 * it or it has a reference; each link holds one on its directory, so the chain
 * from any inode to the root is complete and can be walked without a system
 * call.
 *
 * When the last name of an inode is removed, its link stays, marked gone and
 * no longer in the table: later writes to the open file are journaled with its
 * last path. It is then the file's only link, so no cost grows with the number
 * of names a file had.
 *
 * Inodes are unlinked from the tables under the lock and freed after it was
 * released.
 *
 * While an inode's descriptor is closed (hold.h), its (device, number) pair can
 * be given to another file. A lookup that finds the pair then compares more
 * than that; if it is another file, the old inode stays for those who know it,
 * but is not found any more.
 */
#include "fs/node/inode.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/queue.h>
#include <unistd.h>
#include <xxhash.h>

#include "fs/base/lock.h"
#include "fs/node/hold.h"
#include "fs/node/table.h"
#include "graph/base/cleanup.h"

uint64_t inode_stamp(const struct stat *st)
{
	const uint64_t facts[] = {
		(uint64_t)st->st_mtim.tv_sec, (uint64_t)st->st_mtim.tv_nsec,
		(uint64_t)st->st_ctim.tv_sec, (uint64_t)st->st_ctim.tv_nsec,
		(uint64_t)st->st_size,
	};

	return XXH3_64bits(facts, sizeof(facts)) | 1;
}

static uint64_t hash_key(const struct inode_key *key)
{
	return XXH3_64bits(key, sizeof(*key));
}

static uint64_t hash_watch(int wd)
{
	return XXH3_64bits(&wd, sizeof(wd));
}

static uint64_t hash_name(const struct inode *parent, const char *name)
{
	return XXH3_64bits_withSeed(name, strlen(name), parent->id);
}

static struct inode *find_locked(const struct inodes *t, const struct stat *st)
{
	struct inode_key key = { st->st_dev, st->st_ino };
	struct table_node *n = table_find(&t->by_key, hash_key(&key));

	for (; n; n = table_find_next(n)) {
		struct inode *i = TABLE_ENTRY(n, struct inode, by_key);

		if (i->key.dev == key.dev && i->key.ino == key.ino &&
		    !i->replaced)
			return i;
	}
	return NULL;
}

static struct inode *watch_find_locked(const struct inodes *t, int wd)
{
	struct table_node *n = table_find(&t->by_watch, hash_watch(wd));

	for (; n; n = table_find_next(n)) {
		struct inode *i = TABLE_ENTRY(n, struct inode, by_watch);

		if (i->wd == wd)
			return i;
	}
	return NULL;
}

static struct inode_link *link_find_locked(const struct inodes *t,
					   const struct inode *parent,
					   const char *name)
{
	struct table_node *n = table_find(&t->by_name, hash_name(parent, name));

	for (; n; n = table_find_next(n)) {
		struct inode_link *link =
			TABLE_ENTRY(n, struct inode_link, by_name);

		if (link->parent == parent && strcmp(link->name, name) == 0)
			return link;
	}
	return NULL;
}

/* Take the link out of the tables. */
static void link_hide_locked(struct inodes *t, struct inode_link *link)
{
	assert(!link->gone);
	table_remove(&t->by_name, &link->by_name);
	link->gone = true;
}

/* Free a link, with its reference on the directory. */
static void link_release_locked(struct inodes *t, struct inode_link *link,
				struct inode **doomed)
{
	LIST_REMOVE(link, same);
	if (!link->gone)
		link_hide_locked(t, link);
	assert(link->parent->refs > 0);
	link->parent->refs--;
	inodes_drop_locked(t, link->parent, doomed);
	free(link);
}

/* Its names are still there, and the next lookup makes another inode. */
static void note_forgotten_locked(struct inodes *t, const struct inode *i)
{
	const struct inode_link *link = LIST_FIRST(&i->links);
	const struct inode_version *v = &i->version;

	if (!link || link->gone)
		return;
	if (i->own_ns > atomic_load(&t->forgotten_ns))
		atomic_store(&t->forgotten_ns, i->own_ns);
	if (v->last > t->forgotten_line)
		t->forgotten_line = v->last;
	if (v->end > t->forgotten_line)
		t->forgotten_line = v->end;
}

/*
 * If `i` has no lookups and no references, take it out of the tables and put
 * it on the list `doomed`. Recurses towards the root, one directory a step.
 */
void inodes_drop_locked(struct inodes *t, struct inode *i,
			struct inode **doomed)
{
	struct inode_link *link;

	if (i->nlookup || i->refs || i == t->root)
		return;
	table_remove(&t->by_key, &i->by_key);
	if (i->wd >= 0)
		table_remove(&t->by_watch, &i->by_watch);
	hold_leave_locked(t, i);
	note_forgotten_locked(t, i);
	/* Keeps it from being dropped again while its links go. */
	i->refs = 1;
	while ((link = LIST_FIRST(&i->links)))
		link_release_locked(t, link, doomed);
	assert(i->refs == 1 && i->nlookup == 0);
	i->doomed = *doomed;
	*doomed = i;
}

void inodes_free_doomed(struct inodes *t, struct inode *doomed)
{
	while (doomed) {
		struct inode *next = doomed->doomed;

		/* Fails if the watch went with its directory. */
		if (doomed->wd >= 0 && t->inotify_fd >= 0)
			(void)inotify_rm_watch(t->inotify_fd, doomed->wd);
		hold_release(doomed);
		free(doomed);
		doomed = next;
	}
}

static int link_add_locked(struct inodes *t, struct inode *i,
			   struct inode *parent, const char *name)
{
	size_t len = strlen(name);
	struct inode_link *link = calloc(1, sizeof(*link) + len + 1);

	if (!link)
		return -ENOMEM;
	link->inode = i;
	link->parent = parent;
	memcpy(link->name, name, len + 1);
	table_insert(&t->by_name, &link->by_name, hash_name(parent, name));
	parent->refs++;
	LIST_INSERT_HEAD(&i->links, link, same);
	return 0;
}

/* An inode's last link is kept, marked gone. */
static void name_remove_locked(struct inodes *t, struct inode *parent,
			       const char *name, struct inode **doomed)
{
	struct inode_link *link = link_find_locked(t, parent, name);

	if (!link)
		return;
	if (LIST_FIRST(&link->inode->links) == link && !LIST_NEXT(link, same))
		link_hide_locked(t, link);
	else
		link_release_locked(t, link, doomed);
}

/* Let `name` in `parent` be `i`, replacing the former inode. */
static int name_set_locked(struct inodes *t, struct inode *i,
			   struct inode *parent, const char *name,
			   struct inode **doomed)
{
	struct inode_link *link = link_find_locked(t, parent, name);
	struct inode_link *only;
	int r;

	if (link && link->inode == i) {
		LIST_REMOVE(link, same);
		LIST_INSERT_HEAD(&i->links, link, same);
		return 0;
	}
	name_remove_locked(t, parent, name, doomed);
	/* A removed name is not needed once there is another. */
	only = LIST_FIRST(&i->links);
	r = link_add_locked(t, i, parent, name);
	if (r == 0 && only && only->gone)
		link_release_locked(t, only, doomed);
	assert(r < 0 || !LIST_FIRST(&i->links)->gone);
	return r;
}

static struct inode *inode_new(struct inodes *t, const struct stat *st)
{
	struct inode *i = calloc(1, sizeof(*i));

	if (!i)
		return NULL;
	i->key = (struct inode_key){ st->st_dev, st->st_ino };
	i->type = st->st_mode & S_IFMT;
	i->wd = -1;
	i->id = ++t->next_id;
	/* It may be one that was forgotten before the tape had read it. */
	i->version.last = i->version.end = t->forgotten_line;
	table_insert(&t->by_key, &i->by_key, hash_key(&i->key));
	return i;
}

static int inodes_init(struct inodes *t, int root_fd)
{
	struct stat st;

	lock_init_adaptive(&t->lock);
	TAILQ_INIT(&t->held);
	t->inotify_fd = -1;
	if (fstat(root_fd, &st) < 0)
		return -errno;
	t->root = inode_new(t, &st);
	if (!t->root)
		return -ENOMEM;
	t->root->fd = root_fd;
	t->root->nlookup = 1;
	hold_init(t);
	return 0;
}

int inodes_new(int root_fd, struct inodes **ret)
{
	struct inodes *t = calloc(1, sizeof(*t));
	int r = t ? inodes_init(t, root_fd) : -ENOMEM;

	if (r < 0) {
		(void)close(root_fd);
		inodes_free(t);
		return r;
	}
	*ret = t;
	return 0;
}

static void free_inode(struct inode *i)
{
	struct inode_link *link;

	while ((link = LIST_FIRST(&i->links))) {
		LIST_REMOVE(link, same);
		free(link);
	}
	hold_release(i);
	free(i);
}

void inodes_free(struct inodes *t)
{
	struct table_node *node, *next;

	if (!t)
		return;
	for (node = table_first(&t->by_key); node; node = next) {
		next = table_next(&t->by_key, node);
		free_inode(TABLE_ENTRY(node, struct inode, by_key));
	}
	table_release(&t->by_key);
	table_release(&t->by_watch);
	table_release(&t->by_name);
	(void)pthread_mutex_destroy(&t->lock);
	free(t);
}

uint64_t inodes_forgotten_ns(struct inodes *t)
{
	return atomic_load(&t->forgotten_ns);
}

void inodes_forgot(struct inodes *t, uint64_t ns)
{
	atomic_store(&t->forgotten_ns, ns);
}

struct inode *inodes_root(struct inodes *t)
{
	return t->root;
}

int inodes_root_fd(struct inodes *t)
{
	return t->root->fd;
}

void inodes_count(struct inodes *t, struct inodes_counts *ret)
{
	(void)pthread_mutex_lock(&t->lock);
	*ret = (struct inodes_counts){ .inodes = t->by_key.count,
				       .lookups = t->lookups };
	(void)pthread_mutex_unlock(&t->lock);
}

/* Add the name and count a lookup. The inode has its descriptor. */
static int admit_locked(struct inodes *t, struct inode *i, struct inode *parent,
			const char *name, struct inode **doomed)
{
	int r = parent ? name_set_locked(t, i, parent, name, doomed) : 0;

	if (r < 0) {
		inodes_drop_locked(t, i, doomed);
		return r;
	}
	hold_named_locked(t, i);
	i->nlookup++;
	t->lookups++;
	return 0;
}

/*
 * Returns with the lock held: the known inode of file `fd`, NULL: none. One
 * whose descriptor is closed may be another file of the same number.
 */
static struct inode *find_same_and_lock(struct inodes *t, int fd,
					const struct stat *st,
					struct inode **doomed)
{
	struct inode *i, *same = NULL;

	(void)pthread_mutex_lock(&t->lock);
	while ((i = find_locked(t, st)) && i != same && hold_is_closed(i)) {
		i->refs++;
		(void)pthread_mutex_unlock(&t->lock);
		if (hold_is_same(i, fd))
			same = i;
		(void)pthread_mutex_lock(&t->lock);
		if (i != same)
			i->replaced = true;
		i->refs--;
		inodes_drop_locked(t, i, doomed);
	}
	return i;
}

int inodes_admit(struct inodes *t, struct inode *parent, const char *name,
		 int fd, const struct stat *st, struct inode **ret)
{
	struct inode *doomed = NULL;
	struct inode *i = find_same_and_lock(t, fd, st, &doomed);
	bool known = i != NULL;
	int r;

	if (!known)
		i = inode_new(t, st);
	if (known)
		fd = hold_give_locked(t, i, fd);
	else if (i)
		hold_admit_locked(t, i, take_fd(&fd));
	r = i ? admit_locked(t, i, parent, name, &doomed) : -ENOMEM;
	(void)pthread_mutex_unlock(&t->lock);
	inodes_free_doomed(t, doomed);
	close_p(&fd);
	if (r < 0)
		return r;
	hold_trim(t);
	*ret = i;
	return known ? 0 : 1;
}

int inodes_admit_again(struct inodes *t, struct inode *i, struct inode *parent,
		       const char *name)
{
	struct inode *doomed = NULL;
	int r;

	(void)pthread_mutex_lock(&t->lock);
	r = admit_locked(t, i, parent, name, &doomed);
	(void)pthread_mutex_unlock(&t->lock);
	inodes_free_doomed(t, doomed);
	return r;
}

void inodes_forget(struct inodes *t, struct inode *i, uint64_t n)
{
	struct inode *doomed = NULL;

	if (i == t->root)
		return;
	(void)pthread_mutex_lock(&t->lock);
	if (n > i->nlookup)
		n = i->nlookup;
	assert(n <= t->lookups);
	i->nlookup -= n;
	t->lookups -= n;
	inodes_drop_locked(t, i, &doomed);
	(void)pthread_mutex_unlock(&t->lock);
	inodes_free_doomed(t, doomed);
}

struct inode *inodes_ref(struct inodes *t, struct inode *i)
{
	(void)pthread_mutex_lock(&t->lock);
	assert(i->refs > 0 || i->nlookup > 0);
	i->refs++;
	(void)pthread_mutex_unlock(&t->lock);
	return i;
}

void inodes_unref(struct inodes *t, struct inode *i)
{
	struct inode *doomed = NULL;

	if (!i)
		return;
	(void)pthread_mutex_lock(&t->lock);
	assert(i->refs > 0);
	i->refs--;
	inodes_drop_locked(t, i, &doomed);
	(void)pthread_mutex_unlock(&t->lock);
	inodes_free_doomed(t, doomed);
}

struct inode *inodes_find(struct inodes *t, struct inode *parent,
			  const char *name)
{
	struct inode_link *link;
	struct inode *i = NULL;

	(void)pthread_mutex_lock(&t->lock);
	link = link_find_locked(t, parent, name);
	if (link) {
		i = link->inode;
		i->refs++;
	}
	(void)pthread_mutex_unlock(&t->lock);
	return i;
}

bool inodes_attr_cached(struct inodes *t, struct inode *parent,
			const char *name, uint64_t ino)
{
	const struct inode_link *link;
	bool cached;

	(void)pthread_mutex_lock(&t->lock);
	link = link_find_locked(t, parent, name);
	cached = link && link->inode->key.ino == ino && link->inode->nlookup &&
		 atomic_load(&link->inode->attr_cached);
	(void)pthread_mutex_unlock(&t->lock);
	return cached;
}

struct inode *inodes_find_file(struct inodes *t, const struct stat *st)
{
	struct inode *i;

	(void)pthread_mutex_lock(&t->lock);
	i = find_locked(t, st);
	if (i)
		i->refs++;
	(void)pthread_mutex_unlock(&t->lock);
	return i;
}

void inodes_add_name(struct inodes *t, struct inode *i, struct inode *parent,
		     const char *name)
{
	struct inode *doomed = NULL;

	(void)pthread_mutex_lock(&t->lock);
	/* Out of memory: the next lookup adds the name. */
	(void)name_set_locked(t, i, parent, name, &doomed);
	(void)pthread_mutex_unlock(&t->lock);
	inodes_free_doomed(t, doomed);
}

void inodes_drop_name(struct inodes *t, struct inode *parent, const char *name)
{
	struct inode *doomed = NULL;

	(void)pthread_mutex_lock(&t->lock);
	name_remove_locked(t, parent, name, &doomed);
	(void)pthread_mutex_unlock(&t->lock);
	inodes_free_doomed(t, doomed);
}

void inodes_drop_name_of(struct inodes *t, const struct inode *i,
			 struct inode *parent, const char *name)
{
	struct inode *doomed = NULL;
	const struct inode_link *link;

	(void)pthread_mutex_lock(&t->lock);
	link = link_find_locked(t, parent, name);
	if (link && link->inode == i)
		name_remove_locked(t, parent, name, &doomed);
	(void)pthread_mutex_unlock(&t->lock);
	inodes_free_doomed(t, doomed);
}

void inodes_move_name(struct inodes *t, struct inode *parent, const char *name,
		      struct inode *to, const char *to_name)
{
	struct inode *doomed = NULL;
	struct inode_link *link;

	(void)pthread_mutex_lock(&t->lock);
	link = link_find_locked(t, parent, name);
	name_remove_locked(t, to, to_name, &doomed);
	if (link) {
		struct inode *i = link->inode;

		(void)name_set_locked(t, i, to, to_name, &doomed);
		name_remove_locked(t, parent, name, &doomed);
	}
	(void)pthread_mutex_unlock(&t->lock);
	inodes_free_doomed(t, doomed);
}

void inodes_swap_names(struct inodes *t, struct inode *parent, const char *name,
		       struct inode *to, const char *to_name)
{
	struct inode *doomed = NULL;
	struct inode_link *a, *b;

	(void)pthread_mutex_lock(&t->lock);
	a = link_find_locked(t, parent, name);
	b = link_find_locked(t, to, to_name);
	if (a && b) {
		struct inode *first = a->inode, *second = b->inode;

		/* Held, since each loses a name before it gains one. */
		first->refs++;
		second->refs++;
		(void)name_set_locked(t, second, parent, name, &doomed);
		(void)name_set_locked(t, first, to, to_name, &doomed);
		assert(first->refs > 0 && second->refs > 0);
		first->refs--;
		second->refs--;
	}
	(void)pthread_mutex_unlock(&t->lock);
	inodes_free_doomed(t, doomed);
}

/* Prepend "name" or "name/" to *at. */
static bool prepend(const char *buf, char **at, const char *name, bool slash)
{
	size_t len = strlen(name) + slash;

	assert(*at >= buf);
	if ((size_t)(*at - buf) < len)
		return false;
	*at -= len;
	memcpy(*at, name, len - slash);
	if (slash)
		(*at)[len - 1] = '/';
	return true;
}

/*
 * Fills `buf` from its end while walking up. A path that does not fit keeps
 * its tail, which names the file.
 */
static int walk_up_locked(struct inodes *t, struct inode *i, char *buf,
			  char *at, bool *ret_gone)
{
	static const char cut[] = "...";
	const struct inode_link *link;

	for (; i != t->root; i = link->parent) {
		link = LIST_FIRST(&i->links);
		if (!link)
			return -ENOENT;
		*ret_gone |= link->gone;
		if (!prepend(buf, &at, link->name, *at != '\0')) {
			memcpy(at, cut, strnlen(at, sizeof(cut) - 1));
			break;
		}
	}
	memmove(buf, at, strlen(at) + 1);
	return 0;
}

int inodes_path(struct inodes *t, struct inode *i, char *buf, size_t size,
		bool *ret_gone)
{
	bool gone = false;
	int r;

	assert(size >= sizeof("..."));
	buf[size - 1] = '\0';
	(void)pthread_mutex_lock(&t->lock);
	r = walk_up_locked(t, i, buf, buf + size - 1, &gone);
	(void)pthread_mutex_unlock(&t->lock);
	if (ret_gone)
		*ret_gone = gone;
	if (r == 0 && !buf[0])
		memcpy(buf, ".", 2);
	return r;
}

int inodes_path_in(struct inodes *t, struct inode *parent, const char *name,
		   char *buf, size_t size)
{
	char *at = buf + size - 1;
	bool gone = false;
	int r;

	assert(size >= sizeof("..."));
	*at = '\0';
	if (!prepend(buf, &at, name, false))
		return -ENAMETOOLONG;
	(void)pthread_mutex_lock(&t->lock);
	r = walk_up_locked(t, parent, buf, at, &gone);
	(void)pthread_mutex_unlock(&t->lock);
	return r;
}

void inodes_set_inotify(struct inodes *t, int inotify_fd)
{
	t->inotify_fd = inotify_fd;
}

void inodes_set_watch(struct inodes *t, struct inode *i, int wd)
{
	assert(wd >= 0 && S_ISDIR(i->type));
	(void)pthread_mutex_lock(&t->lock);
	if (i->wd >= 0)
		table_remove(&t->by_watch, &i->by_watch);
	i->wd = wd;
	table_insert(&t->by_watch, &i->by_watch, hash_watch(wd));
	atomic_store(&i->watched, true);
	(void)pthread_mutex_unlock(&t->lock);
}

struct inode *inodes_by_watch(struct inodes *t, int wd)
{
	struct inode *i;

	(void)pthread_mutex_lock(&t->lock);
	i = watch_find_locked(t, wd);
	if (i)
		i->refs++;
	(void)pthread_mutex_unlock(&t->lock);
	return i;
}

static size_t names_copy_locked(struct inodes *t, struct inode_name *names)
{
	struct table_node *node;
	size_t n = 0;

	for (node = table_first(&t->by_name); node;
	     node = table_next(&t->by_name, node)) {
		struct inode_link *link =
			TABLE_ENTRY(node, struct inode_link, by_name);

		names[n].name = strdup(link->name);
		if (!names[n].name)
			break;
		names[n].parent = link->parent;
		link->parent->refs++;
		n++;
	}
	return n;
}

int inodes_names(struct inodes *t, struct inode_name **ret, size_t *ret_count)
{
	struct inode_name *names;

	(void)pthread_mutex_lock(&t->lock);
	names = calloc(t->by_name.count + 1, sizeof(*names));
	if (names)
		*ret_count = names_copy_locked(t, names);
	(void)pthread_mutex_unlock(&t->lock);
	if (!names)
		return -ENOMEM;
	*ret = names;
	return 0;
}

void inodes_names_free(struct inodes *t, struct inode_name *names, size_t count)
{
	for (size_t n = 0; n < count; n++) {
		inodes_unref(t, names[n].parent);
		free(names[n].name);
	}
	free(names);
}
