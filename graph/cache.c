/*
 * The file: a header, blocks of facts, and the index.
 *
 *	header | facts | facts | ... | entries | by hash | paths
 *
 * Facts begin at multiples of CACHE_ALIGN. Entries stand in the order of their
 * paths; `by hash` has their numbers in the order of their contents' hashes;
 * paths end with a NUL. The header's hash covers the header, the index's the
 * three parts of the index, and an entry has one for its facts: these are
 * only looked at when they are used.
 *
 * The new file is written beside the old one and renamed over it. Who holds
 * the lock on the new one may write it; after the rename its next writer
 * would open the name anew, so whoever gets the lock looks whether the name
 * still means the file it has.
 */
#include "graph/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "graph/base/cleanup.h"
#include "graph/base/memory.h"
#include "graph/facts.h"

#define CACHE_NEW    CACHE_NAME ".new"
#define CACHE_MAGIC  "stgraph" /* and its NUL: eight bytes */
#define CACHE_FORMAT 1
#define CACHE_ALIGN  16
#define CACHE_PATHS  (1U << 30) /* bytes of all paths together */
#define RACY_NS	     2000000000

struct header {
	char magic[8];
	uint64_t program; /* which wrote it, see program_hash() */
	int64_t began_ns; /* before the first file was looked at */
	uint64_t size;	  /* of the whole file */
	uint64_t index;	  /* where it begins */
	uint64_t count;	  /* of entries */
	uint64_t index_hash;
	uint64_t hash; /* of all above */
};

struct cache {
	const char *map;
	size_t size;
	const struct header *header;
	const struct cache_entry *entries;
	const uint32_t *by_hash;
};

/*
 * Facts are what the code that reads them says they are, and that code is in
 * this program: another one, by its file, may mean something else by the same
 * bytes. The sizes are here for whoever has no /proc.
 */
static uint64_t program_hash(void)
{
	struct {
		uint64_t format, facts, unit, expr, bind, site, entry;
		uint64_t device, inode, size;
		int64_t seconds, ns;
	} id = {
		.format = CACHE_FORMAT,
		.facts = sizeof(struct facts),
		.unit = sizeof(struct facts_unit),
		.expr = sizeof(struct facts_expr),
		.bind = sizeof(struct facts_bind),
		.site = sizeof(struct facts_site),
		.entry = sizeof(struct cache_entry),
	};
	struct stat st;

	if (stat("/proc/self/exe", &st) == 0) {
		id.device = st.st_dev;
		id.inode = st.st_ino;
		id.size = (uint64_t)st.st_size;
		id.seconds = st.st_mtim.tv_sec;
		id.ns = st.st_mtim.tv_nsec;
	}
	return XXH3_64bits(&id, sizeof(id));
}

/* Reading */

static bool is_header_good(const struct header *h, size_t size)
{
	return memcmp(h->magic, CACHE_MAGIC, sizeof(h->magic)) == 0 &&
	       h->size == size &&
	       h->hash == XXH3_64bits(h, offsetof(struct header, hash)) &&
	       h->program == program_hash();
}

static bool lies_in(uint64_t at, uint64_t size, uint64_t from, uint64_t to)
{
	return at >= from && at <= to && size <= to - at;
}

/* Nothing an entry points to lies elsewhere than it should. */
static bool is_entry_good(const struct cache *c, const struct cache_entry *e)
{
	const struct header *h = c->header;
	uint64_t paths =
		h->index + h->count * (sizeof(*e) + sizeof(*c->by_hash));

	return lies_in(e->facts, e->facts_size, sizeof(*h), h->index) &&
	       e->facts % CACHE_ALIGN == 0 &&
	       lies_in(e->path, 1, paths, h->size);
}

static bool is_index_good(struct cache *c)
{
	const struct header *h = c->header;
	const uint64_t each = sizeof(*c->entries) + sizeof(*c->by_hash);

	if (h->index % CACHE_ALIGN || !lies_in(h->index, 0, 0, h->size) ||
	    h->count > (h->size - h->index) / each)
		return false;
	if (XXH3_64bits(c->map + h->index, h->size - h->index) != h->index_hash)
		return false;
	if (h->count && c->map[h->size - 1])
		return false;
	c->entries = (const void *)(c->map + h->index);
	c->by_hash = (const void *)(c->entries + h->count);
	for (size_t i = 0; i < h->count; i++)
		if (!is_entry_good(c, &c->entries[i]) ||
		    c->by_hash[i] >= h->count)
			return false;
	return true;
}

int cache_open(int state_fd, struct cache **ret)
{
	CLEANUP(close_p)
	int fd =
		openat(state_fd, CACHE_NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct cache *c;
	struct stat st;
	void *map;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || (size_t)st.st_size < sizeof(struct header))
		return -EBADMSG;
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	c = must_calloc(1, sizeof(*c));
	c->map = map;
	c->size = (size_t)st.st_size;
	c->header = map;
	if (!is_header_good(c->header, c->size) || !is_index_good(c)) {
		cache_free(c);
		return -EBADMSG;
	}
	*ret = c;
	return 0;
}

void cache_free(struct cache *c)
{
	union {
		const char *map;
		void *address;
	} u;

	if (!c)
		return;
	u.map = c->map;
	(void)munmap(u.address, c->size);
	free(c);
}

size_t cache_count(const struct cache *c)
{
	return c->header->count;
}

const char *cache_path(const struct cache *c, const struct cache_entry *e)
{
	return c->map + e->path;
}

const struct cache_entry *cache_find(const struct cache *c, const char *path)
{
	size_t from = 0, to = cache_count(c);

	while (from < to) {
		size_t at = from + (to - from) / 2;
		int order = strcmp(cache_path(c, &c->entries[at]), path);

		if (order == 0)
			return &c->entries[at];
		if (order < 0)
			from = at + 1;
		else
			to = at;
	}
	return NULL;
}

const struct cache_entry *cache_find_hash(const struct cache *c,
					  XXH128_hash_t hash)
{
	size_t from = 0, to = cache_count(c);

	while (from < to) {
		size_t at = from + (to - from) / 2;
		const struct cache_entry *e = &c->entries[c->by_hash[at]];
		int order = XXH128_cmp(&e->hash, &hash);

		if (order == 0)
			return e;
		if (order < 0)
			from = at + 1;
		else
			to = at;
	}
	return NULL;
}

int64_t cache_began(const struct cache *c)
{
	return c->header->began_ns;
}

bool cache_is_racy(int64_t began_ns, const struct tree_stamp *s)
{
	int64_t last = s->mtime_ns > s->ctime_ns ? s->mtime_ns : s->ctime_ns;

	return last > began_ns - RACY_NS;
}

const struct facts *cache_facts(const struct cache *c,
				const struct cache_entry *e)
{
	const struct facts *f = (const void *)(c->map + e->facts);

	if (e->facts_size < sizeof(*f) ||
	    XXH3_64bits(f, e->facts_size) != e->facts_hash ||
	    facts_check(f, e->facts_size) < 0)
		return NULL;
	return f;
}

/* Writing */

struct cache_writer {
	int state_fd; /* the caller's */
	FILE *out;
	bool committed;
	struct header header;
	uint64_t at; /* bytes written */
	struct cache_entry *entries;
	uint32_t entries_size;
	struct buf paths;
};

/* The new file, locked and empty. */
static int open_new(int state_fd, int *ret_fd)
{
	CLEANUP(close_p)
	int fd = openat(state_fd, CACHE_NEW,
			O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	struct stat ours, named;

	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? -EBUSY : -errno;
	if (fstat(fd, &ours) < 0)
		return -errno;
	if (fstatat(state_fd, CACHE_NEW, &named, AT_SYMLINK_NOFOLLOW) < 0 ||
	    named.st_ino != ours.st_ino || named.st_dev != ours.st_dev)
		return -EBUSY;
	if (ftruncate(fd, 0) < 0)
		return -errno;
	*ret_fd = take_fd(&fd);
	return 0;
}

static int write_bytes(struct cache_writer *w, const void *bytes, size_t len)
{
	errno = 0;
	if (len && fwrite(bytes, len, 1, w->out) != 1)
		return errno ? -errno : -EIO;
	w->at += len;
	return 0;
}

static int write_padding(struct cache_writer *w)
{
	static const char zeros[CACHE_ALIGN];

	return write_bytes(w, zeros, -w->at % CACHE_ALIGN);
}

int cache_writer_new(int state_fd, int64_t began_ns, struct cache_writer **ret)
{
	CLEANUP(close_p) int fd = -1;
	struct cache_writer *w;
	FILE *out;
	int r = open_new(state_fd, &fd);

	if (r < 0)
		return r;
	out = fdopen(fd, "w");
	if (!out)
		return -errno;
	(void)take_fd(&fd);
	w = must_calloc(1, sizeof(*w));
	*w = (struct cache_writer){
		.state_fd = state_fd,
		.out = out,
		.header = { .magic = CACHE_MAGIC, .began_ns = began_ns },
		.paths = BUF(CACHE_PATHS),
	};
	r = write_bytes(w, &w->header, sizeof(w->header));
	if (r < 0) {
		cache_writer_free(w);
		return r;
	}
	*ret = w;
	return 0;
}

int cache_writer_add(struct cache_writer *w, const struct tree_file *file,
		     XXH128_hash_t hash, const struct facts *f)
{
	uint64_t path = w->paths.len;
	int r = buf_add(&w->paths, file->path, strlen(file->path) + 1);

	if (r == 0)
		r = write_padding(w);
	if (r < 0)
		return r;
	w->entries = must_grow(w->entries, &w->entries_size,
			       w->header.count + 1, sizeof(*w->entries));
	w->entries[w->header.count++] = (struct cache_entry){
		.stamp = file->stamp,
		.hash = hash,
		.path = path,
		.facts = w->at,
		.facts_size = f->size,
		.facts_hash = XXH3_64bits(f, f->size),
	};
	return write_bytes(w, f, f->size);
}

static int compare_hashes(const void *a, const void *b, void *arg)
{
	const struct cache_entry *entries = arg;

	return XXH128_cmp(&entries[*(const uint32_t *)a].hash,
			  &entries[*(const uint32_t *)b].hash);
}

static uint32_t *sort_by_hash(struct cache_entry *entries, size_t count)
{
	uint32_t *order = must_calloc(count, sizeof(*order));

	for (size_t i = 0; i < count; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, count, sizeof(*order), compare_hashes, entries);
	return order;
}

static uint64_t hash_index(const struct cache_writer *w, const uint32_t *order)
{
	XXH3_state_t *state = XXH3_createState();
	uint64_t hash = 0;

	if (!state || XXH3_64bits_reset(state) != XXH_OK)
		abort();
	(void)XXH3_64bits_update(state, w->entries,
				 w->header.count * sizeof(*w->entries));
	(void)XXH3_64bits_update(state, order,
				 w->header.count * sizeof(*order));
	(void)XXH3_64bits_update(state, w->paths.data, w->paths.len);
	hash = XXH3_64bits_digest(state);
	(void)XXH3_freeState(state);
	return hash;
}

static int write_index(struct cache_writer *w)
{
	size_t count = w->header.count;
	uint64_t paths = w->at + count * (sizeof(*w->entries) + 4);
	CLEANUP(free_p)
	uint32_t *order = sort_by_hash(w->entries, count);
	int r;

	for (size_t i = 0; i < count; i++)
		w->entries[i].path += paths;
	w->header.index = w->at;
	w->header.index_hash = hash_index(w, order);
	r = write_bytes(w, w->entries, count * sizeof(*w->entries));
	if (r == 0)
		r = write_bytes(w, order, count * sizeof(*order));
	return r == 0 ? write_bytes(w, w->paths.data, w->paths.len) : r;
}

static int write_header(struct cache_writer *w)
{
	struct header *h = &w->header;

	h->size = w->at;
	h->program = program_hash();
	h->hash = XXH3_64bits(h, offsetof(struct header, hash));
	if (fflush(w->out) != 0)
		return -errno;
	if (pwrite(fileno(w->out), h, sizeof(*h), 0) != sizeof(*h))
		return errno ? -errno : -EIO;
	return 0;
}

int cache_writer_commit(struct cache_writer *w)
{
	int r = write_padding(w);

	if (r == 0)
		r = write_index(w);
	if (r == 0)
		r = write_header(w);
	if (r < 0)
		return r;
	if (renameat(w->state_fd, CACHE_NEW, w->state_fd, CACHE_NAME) < 0)
		return -errno;
	w->committed = true;
	return 0;
}

void cache_writer_free(struct cache_writer *w)
{
	if (!w)
		return;
	/* Before the lock goes: later the name may be somebody else's. */
	if (!w->committed)
		(void)unlinkat(w->state_fd, CACHE_NEW, 0);
	(void)fclose(w->out);
	buf_release(&w->paths);
	free(w->entries);
	free(w);
}
