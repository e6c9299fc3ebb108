/*
 * Two hash tables under one lock: inodes by (device, number), links by
 * (directory, name). An inode is kept while the kernel holds lookups on it or
 * anybody holds a reference; each link holds one on its directory, so the
 * chain from any inode to the root is always whole and can be walked without
 * asking the file system.
 *
 * A name removed under an open file leaves its link behind, marked gone and
 * no longer findable: what is written to that file afterwards can still be
 * told by its last path.
 *
 * What is freed is first unhooked under the lock and then closed outside it.
 */
#include "fs/inode.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>
#include <xxhash.h>

#include "graph/base/cleanup.h"

#undef HASH_FUNCTION
#define HASH_FUNCTION(key, len, hash) ((hash) = (unsigned)XXH3_64bits(key, len))
#undef uthash_nonfatal_oom
#define uthash_nonfatal_oom(element) ((void)(element))

struct inode_link {
	struct inode_link *next; /* another name of the same inode */
	struct inode *inode;
	bool gone; /* removed; kept for its path only, not in the hash */
	UT_hash_handle hh;
	/* The key: these two, the name without its NUL. */
	struct inode *parent; /* a reference */
	char name[];
};

struct link_key {
	struct inode *parent;
	char name[NAME_MAX + 1];
};

struct watch_slot {
	int wd;
	struct inode *inode;
	UT_hash_handle hh;
};

struct inodes {
	pthread_mutex_t lock; /* innermost: nothing is taken under it */
	struct inode *by_key;
	struct inode_link *by_name;
	struct watch_slot *by_watch;
	struct inode *root;
	uint64_t next_id;
	uint64_t lookups;
	int inotify_fd;
};

uint64_t inode_stamp(const struct stat *st)
{
	const uint64_t facts[] = {
		(uint64_t)st->st_mtim.tv_sec, (uint64_t)st->st_mtim.tv_nsec,
		(uint64_t)st->st_ctim.tv_sec, (uint64_t)st->st_ctim.tv_nsec,
		(uint64_t)st->st_size,
	};

	return XXH3_64bits(facts, sizeof(facts)) | 1;
}

static size_t link_key_len(const char *name)
{
	return offsetof(struct link_key, name) + strlen(name);
}

static struct inode_link *link_find_locked(struct inodes *t,
					   struct inode *parent,
					   const char *name)
{
	struct link_key key = { .parent = parent };
	struct inode_link *link = NULL;
	size_t len = strlen(name);

	if (len > NAME_MAX)
		return NULL;
	memcpy(key.name, name, len);
	HASH_FIND(hh, t->by_name, &key, link_key_len(name), link);
	return link;
}

static void link_unchain_locked(struct inode_link *link)
{
	struct inode_link **at = &link->inode->links;

	while (*at != link)
		at = &(*at)->next;
	*at = link->next;
}

static void inode_drop_locked(struct inodes *t, struct inode *i,
			      struct inode **doomed);

/* Remove and free a link, with its reference on the directory. */
static void link_free_locked(struct inodes *t, struct inode_link *link,
			     struct inode **doomed)
{
	if (!link->gone)
		HASH_DEL(t->by_name, link);
	link_unchain_locked(link);
	link->parent->refs--;
	inode_drop_locked(t, link->parent, doomed);
	free(link);
}

/*
 * Unhook `i` if nobody needs it any more and put it on the list. The list is
 * chained through `links`, which is empty by then. Recursion goes up towards
 * the root, one directory at a time.
 */
static void inode_drop_locked(struct inodes *t, struct inode *i,
			      struct inode **doomed)
{
	struct watch_slot *slot = NULL;

	if (i->nlookup || i->refs || i == t->root)
		return;
	HASH_DEL(t->by_key, i);
	if (i->wd >= 0) {
		HASH_FIND_INT(t->by_watch, &i->wd, slot);
		if (slot)
			HASH_DEL(t->by_watch, slot);
		free(slot);
	}
	/* Held against being dropped again while its links go. */
	i->refs = 1;
	while (i->links)
		link_free_locked(t, i->links, doomed);
	i->links = (struct inode_link *)(void *)*doomed;
	*doomed = i;
}

static void doomed_free(struct inodes *t, struct inode *doomed)
{
	while (doomed) {
		struct inode *next = (struct inode *)(void *)doomed->links;

		/* It may be gone by itself, with the directory. */
		if (doomed->wd >= 0 && t->inotify_fd >= 0)
			(void)inotify_rm_watch(t->inotify_fd, doomed->wd);
		(void)close(doomed->fd);
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
	HASH_ADD_KEYPTR(hh, t->by_name, &link->parent, link_key_len(name),
			link);
	if (!link->hh.tbl) {
		free(link);
		return -ENOMEM;
	}
	parent->refs++;
	link->next = i->links;
	i->links = link;
	return 0;
}

/* Names that were removed say nothing once there is a living one. */
static void links_sweep_gone_locked(struct inodes *t, struct inode *i,
				    struct inode **doomed)
{
	struct inode_link **at = &i->links;

	while (*at) {
		struct inode_link *link = *at;

		if (link->gone)
			link_free_locked(t, link, doomed);
		else
			at = &link->next;
	}
}

/* The last name is kept as a memory of where the file was. */
static void name_remove_locked(struct inodes *t, struct inode *parent,
			       const char *name, struct inode **doomed)
{
	struct inode_link *link = link_find_locked(t, parent, name);

	if (!link)
		return;
	if (link->inode->links == link && !link->next) {
		HASH_DEL(t->by_name, link);
		link->gone = true;
	} else {
		link_free_locked(t, link, doomed);
	}
}

/* `name` in `parent` is `i`, whatever it was before. */
static int name_set_locked(struct inodes *t, struct inode *i,
			   struct inode *parent, const char *name,
			   struct inode **doomed)
{
	struct inode_link *link = link_find_locked(t, parent, name);
	int r;

	if (link && link->inode == i) {
		link_unchain_locked(link);
		link->next = i->links;
		i->links = link;
		return 0;
	}
	name_remove_locked(t, parent, name, doomed);
	r = link_add_locked(t, i, parent, name);
	if (r < 0)
		return r;
	links_sweep_gone_locked(t, i, doomed);
	return 0;
}

int inodes_new(int root_fd, struct inodes **ret)
{
	CLEANUP(free_p) struct inodes *t = calloc(1, sizeof(*t));
	CLEANUP(free_p) struct inode *root = calloc(1, sizeof(*root));
	CLEANUP(close_p) int fd = root_fd;
	struct stat st;

	if (!t || !root)
		return -ENOMEM;
	if (fstat(fd, &st) < 0)
		return -errno;
	root->key = (struct inode_key){ st.st_dev, st.st_ino };
	root->type = st.st_mode & S_IFMT;
	root->wd = -1;
	root->id = ++t->next_id;
	root->nlookup = 1;
	HASH_ADD(hh, t->by_key, key, sizeof(root->key), root);
	if (!root->hh.tbl)
		return -ENOMEM;
	(void)pthread_mutex_init(&t->lock, NULL);
	t->inotify_fd = -1;
	root->fd = take_fd(&fd);
	t->root = TAKE(root);
	*ret = TAKE(t);
	return 0;
}

void inodes_free(struct inodes *t)
{
	struct inode *i, *next;
	struct inode_link *link, *next_link;
	struct watch_slot *slot, *next_slot;

	if (!t)
		return;
	HASH_ITER(hh, t->by_watch, slot, next_slot) {
		HASH_DEL(t->by_watch, slot);
		free(slot);
	}
	HASH_CLEAR(hh, t->by_name);
	HASH_ITER(hh, t->by_key, i, next) {
		HASH_DEL(t->by_key, i);
		for (link = i->links; link; link = next_link) {
			next_link = link->next;
			free(link);
		}
		(void)close(i->fd);
		free(i);
	}
	(void)pthread_mutex_destroy(&t->lock);
	free(t);
}

struct inode *inodes_root(struct inodes *t)
{
	return t->root;
}

void inodes_count(struct inodes *t, struct inodes_counts *ret)
{
	(void)pthread_mutex_lock(&t->lock);
	*ret = (struct inodes_counts){ .inodes = HASH_COUNT(t->by_key),
				       .lookups = t->lookups };
	(void)pthread_mutex_unlock(&t->lock);
}

/* Find by key or make; a made one takes `fd` over. */
static struct inode *inode_get_locked(struct inodes *t, int *fd,
				      const struct stat *st, bool *ret_new)
{
	struct inode_key key = { st->st_dev, st->st_ino };
	struct inode *i = NULL;

	HASH_FIND(hh, t->by_key, &key, sizeof(key), i);
	*ret_new = !i;
	if (i)
		return i;
	i = calloc(1, sizeof(*i));
	if (!i)
		return NULL;
	i->key = key;
	i->type = st->st_mode & S_IFMT;
	i->wd = -1;
	i->id = ++t->next_id;
	HASH_ADD(hh, t->by_key, key, sizeof(i->key), i);
	if (!i->hh.tbl) {
		free(i);
		return NULL;
	}
	i->fd = take_fd(fd);
	return i;
}

int inodes_admit(struct inodes *t, struct inode *parent, const char *name,
		 int fd, const struct stat *st, struct inode **ret,
		 bool *ret_new)
{
	CLEANUP(close_p) int owned = fd;
	struct inode *doomed = NULL;
	struct inode *i;
	bool is_new = false;
	int r = 0;

	(void)pthread_mutex_lock(&t->lock);
	i = inode_get_locked(t, &owned, st, &is_new);
	if (i && parent)
		r = name_set_locked(t, i, parent, name, &doomed);
	if (i && r < 0)
		inode_drop_locked(t, i, &doomed);
	if (i && r == 0) {
		i->nlookup++;
		t->lookups++;
	}
	(void)pthread_mutex_unlock(&t->lock);
	doomed_free(t, doomed);
	if (!i)
		return -ENOMEM;
	if (r < 0)
		return r;
	*ret = i;
	*ret_new = is_new;
	return 0;
}

void inodes_forget(struct inodes *t, struct inode *i, uint64_t n)
{
	struct inode *doomed = NULL;

	if (i == t->root)
		return;
	(void)pthread_mutex_lock(&t->lock);
	if (n > i->nlookup)
		n = i->nlookup;
	i->nlookup -= n;
	t->lookups -= n;
	inode_drop_locked(t, i, &doomed);
	(void)pthread_mutex_unlock(&t->lock);
	doomed_free(t, doomed);
}

struct inode *inodes_ref(struct inodes *t, struct inode *i)
{
	(void)pthread_mutex_lock(&t->lock);
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
	i->refs--;
	inode_drop_locked(t, i, &doomed);
	(void)pthread_mutex_unlock(&t->lock);
	doomed_free(t, doomed);
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

struct inode *inodes_find_file(struct inodes *t, const struct stat *st)
{
	struct inode_key key = { st->st_dev, st->st_ino };
	struct inode *i = NULL;

	(void)pthread_mutex_lock(&t->lock);
	HASH_FIND(hh, t->by_key, &key, sizeof(key), i);
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
	/* Short of memory the name is learnt at its next look-up. */
	(void)name_set_locked(t, i, parent, name, &doomed);
	(void)pthread_mutex_unlock(&t->lock);
	doomed_free(t, doomed);
}

void inodes_drop_name(struct inodes *t, struct inode *parent, const char *name)
{
	struct inode *doomed = NULL;

	(void)pthread_mutex_lock(&t->lock);
	name_remove_locked(t, parent, name, &doomed);
	(void)pthread_mutex_unlock(&t->lock);
	doomed_free(t, doomed);
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
	doomed_free(t, doomed);
}

void inodes_swap_names(struct inodes *t, struct inode *parent,
		       const char *name, struct inode *to, const char *to_name)
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
		first->refs--;
		second->refs--;
	}
	(void)pthread_mutex_unlock(&t->lock);
	doomed_free(t, doomed);
}

/* Puts "name" or "name/" in front of *at. */
static bool prepend(char *buf, char **at, const char *name, bool slash)
{
	size_t len = strlen(name) + slash;

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
 * its tail: what the log needs to show is the file, not the way to it.
 */
static int walk_up_locked(struct inodes *t, struct inode *i, char *buf,
			  char *at)
{
	static const char cut[] = "...";

	for (; i != t->root; i = i->links->parent) {
		if (!i->links)
			return -ENOENT;
		if (!prepend(buf, &at, i->links->name, *at != '\0')) {
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
	int r;

	buf[size - 1] = '\0';
	(void)pthread_mutex_lock(&t->lock);
	if (ret_gone)
		*ret_gone = i->links && i->links->gone;
	r = walk_up_locked(t, i, buf, buf + size - 1);
	(void)pthread_mutex_unlock(&t->lock);
	if (r == 0 && !buf[0])
		memcpy(buf, ".", 2);
	return r;
}

int inodes_path_in(struct inodes *t, struct inode *parent, const char *name,
		   char *buf, size_t size)
{
	char *at = buf + size - 1;
	int r;

	*at = '\0';
	if (!prepend(buf, &at, name, false))
		return -ENAMETOOLONG;
	(void)pthread_mutex_lock(&t->lock);
	r = walk_up_locked(t, parent, buf, at);
	(void)pthread_mutex_unlock(&t->lock);
	return r;
}

void inodes_set_inotify(struct inodes *t, int inotify_fd)
{
	t->inotify_fd = inotify_fd;
}

void inodes_set_watch(struct inodes *t, struct inode *i, int wd)
{
	struct watch_slot *slot = calloc(1, sizeof(*slot));

	if (!slot)
		return;
	*slot = (struct watch_slot){ .wd = wd, .inode = i };
	(void)pthread_mutex_lock(&t->lock);
	HASH_ADD_INT(t->by_watch, wd, slot);
	if (slot->hh.tbl) {
		i->wd = wd;
		atomic_store(&i->watched, true);
		slot = NULL;
	}
	(void)pthread_mutex_unlock(&t->lock);
	free(slot);
}

struct inode *inodes_by_watch(struct inodes *t, int wd)
{
	struct watch_slot *slot = NULL;
	struct inode *i = NULL;

	(void)pthread_mutex_lock(&t->lock);
	HASH_FIND_INT(t->by_watch, &wd, slot);
	if (slot) {
		i = slot->inode;
		i->refs++;
	}
	(void)pthread_mutex_unlock(&t->lock);
	return i;
}

static size_t names_copy_locked(struct inodes *t, struct inode_name *names,
				size_t max)
{
	struct inode_link *link, *next;
	size_t n = 0;

	/* uthash keeps insertion order: the oldest names come first. */
	HASH_ITER(hh, t->by_name, link, next) {
		if (n == max)
			break;
		names[n].name = strdup(link->name);
		if (!names[n].name)
			break;
		names[n].parent = link->parent;
		link->parent->refs++;
		n++;
	}
	return n;
}

int inodes_names(struct inodes *t, size_t max, struct inode_name **ret,
		 size_t *ret_count)
{
	struct inode_name *names;
	size_t count;

	(void)pthread_mutex_lock(&t->lock);
	count = HASH_COUNT(t->by_name);
	if (count > max)
		count = max;
	names = calloc(count + 1, sizeof(*names));
	if (names)
		*ret_count = names_copy_locked(t, names, count);
	(void)pthread_mutex_unlock(&t->lock);
	if (!names)
		return -ENOMEM;
	*ret = names;
	return 0;
}

void inodes_names_free(struct inodes *t, struct inode_name *names,
		       size_t count)
{
	for (size_t n = 0; n < count; n++) {
		inodes_unref(t, names[n].parent);
		free(names[n].name);
	}
	free(names);
}
