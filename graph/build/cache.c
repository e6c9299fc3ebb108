/*
 * The file: a header, the graph with its facts, and the index.
 *
 *	header | facts and graph | chunks | entries | dirs | by hash | paths
 *
 * The bytes that snapshot.c writes are hashed in chunks of CHUNK bytes, counted
 * from the start of the file, the first without the header. Entries and
 * directories are sorted by path; `by hash` holds the entries' numbers sorted
 * by content hash and language; each path ends with a NUL. The header's hash
 * covers the header, the index's hash covers the index, and each entry has a
 * hash of its facts, which is checked only when the graph is damaged or has
 * other facts for the path.
 *
 * The new file is written beside the old one and renamed over it. A writer must
 * hold the lock on the new file. It may get the lock on a file that was renamed
 * meanwhile, so it checks that the name still leads to the file it opened.
 */
#include "graph/build/cache.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/facts/facts.h"
#include "graph/facts/lang.h"
#include "graph/snapshot.h"

#define CACHE_NEW    CACHE_NAME ".new"
#define CACHE_MAGIC  "stgraph" /* and its NUL: eight bytes */
#define CACHE_FORMAT 5
#define CACHE_ALIGN  16
#define CACHE_PATHS  (1U << 30) /* bytes of all paths together */
#define CHUNK	     (1U << 20)
#define OUT_BUFFER   (256U << 10)
#define RACY_NS	     2000000000

struct cache_header {
	alignas(CACHE_ALIGN) char magic[8];
	uint64_t program; /* that wrote it, see program_hash() */
	int64_t began_ns; /* before the first file was looked at */
	uint64_t size;	  /* of the whole file */
	uint64_t graph;	  /* for snapshot_load(), 0: there is none */
	uint64_t index;	  /* where the index begins */
	uint64_t chunks, count, dirs; /* in it */
	uint64_t index_hash;
	uint64_t hash; /* of all above */
};

struct cache {
	const char *map;
	size_t size;
	int fd;
	const struct cache_header *header;
	const uint64_t *chunks; /* their hashes */
	const struct cache_entry *entries;
	const struct cache_dir *dirs;
	const uint32_t *by_hash;
	uint64_t paths; /* where they begin */
};

/*
 * The bytes of a cache mean what the code of the program that wrote them says.
 * Another program file may have other code, so it is identified by its inode
 * and times. The sizes and versions are for systems without /proc.
 */
static uint64_t program_hash(void)
{
	struct {
		uint64_t format, facts, unit, expr, bind, site, entry;
		uint64_t device, inode, size, page;
		int64_t seconds, ns;
		uint32_t langs[LANG_IDS];
	} id = {
		.format = CACHE_FORMAT,
		.facts = sizeof(struct facts),
		.unit = sizeof(struct facts_unit),
		.expr = sizeof(struct facts_expr),
		.bind = sizeof(struct facts_bind),
		.site = sizeof(struct facts_site),
		.entry = sizeof(struct cache_entry),
		.page = (uint64_t)sysconf(_SC_PAGESIZE),
	};
	const struct lang *const *l;
	struct stat st;

	for (l = lang_all; *l; l++)
		id.langs[(*l)->id] = (*l)->version;
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

static bool is_header_good(const struct cache_header *h, size_t size)
{
	return memcmp(h->magic, CACHE_MAGIC, sizeof(h->magic)) == 0 &&
	       h->size == size &&
	       h->hash == XXH3_64bits(h, offsetof(struct cache_header, hash)) &&
	       h->program == program_hash();
}

static bool lies_in(uint64_t at, uint64_t size, uint64_t from, uint64_t to)
{
	return at >= from && at <= to && size <= to - at;
}

/* Do the entry's offsets point into the right parts of the file? */
static bool is_entry_good(const struct cache *c, const struct cache_entry *e)
{
	const struct cache_header *h = c->header;

	return lies_in(e->facts, e->facts_size, sizeof(*h), h->index) &&
	       e->facts % CACHE_ALIGN == 0 && e->dir < h->dirs &&
	       lies_in(e->path, 1, c->paths, h->size);
}

static bool is_dir_good(const struct cache *c, size_t n)
{
	const struct cache_dir *d = &c->dirs[n];

	/* Parents come first; the root is its own parent. */
	return lies_in(d->path, 1, c->paths, c->header->size) &&
	       (n ? d->parent < n : d->parent == 0);
}

/* Finds the parts of the index; false: they do not fit into the file. */
static bool find_parts(struct cache *c)
{
	const struct cache_header *h = c->header;
	uint64_t left = h->size - h->index;

	if (h->chunks > left / sizeof(*c->chunks))
		return false;
	left -= h->chunks * sizeof(*c->chunks);
	if (h->dirs > left / sizeof(*c->dirs))
		return false;
	left -= h->dirs * sizeof(*c->dirs);
	if (h->count > left / (sizeof(*c->entries) + sizeof(*c->by_hash)))
		return false;
	left -= h->count * (sizeof(*c->entries) + sizeof(*c->by_hash));
	c->paths = h->size - left;
	c->chunks = (const void *)(c->map + h->index);
	c->entries = (const void *)(c->chunks + h->chunks);
	c->dirs = (const void *)(c->entries + h->count);
	c->by_hash = (const void *)(c->dirs + h->dirs);
	return h->chunks == (h->graph ? (h->index + CHUNK - 1) / CHUNK : 0);
}

static bool is_index_good(struct cache *c)
{
	const struct cache_header *h = c->header;

	if (h->index % CACHE_ALIGN ||
	    !lies_in(h->index, 0, sizeof(*h), h->size) || !find_parts(c))
		return false;
	if (XXH3_64bits(c->map + h->index, h->size - h->index) != h->index_hash)
		return false;
	if (h->count && c->map[h->size - 1])
		return false;
	for (size_t i = 0; i < h->count; i++)
		if (!is_entry_good(c, &c->entries[i]) ||
		    c->by_hash[i] >= h->count)
			return false;
	for (size_t i = 0; i < h->dirs; i++)
		if (!is_dir_good(c, i))
			return false;
	return true;
}

int cache_open(int state_fd, struct cache **ret)
{
	/* O_NONBLOCK: opening a FIFO in its place must not block. */
	CLEANUP(close_p)
	int fd = openat(state_fd, CACHE_NAME,
			O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct cache *c;
	struct stat st;
	void *map;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) ||
	    (size_t)st.st_size < sizeof(struct cache_header))
		return -EBADMSG;
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	c = must_calloc(1, sizeof(*c));
	c->map = map;
	c->size = (size_t)st.st_size;
	c->fd = take_fd(&fd);
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
	close_p(&c->fd);
	free(c);
}

size_t cache_count(const struct cache *c)
{
	return c->header->count;
}

const struct cache_entry *cache_entry(const struct cache *c, size_t n)
{
	assert(n < c->header->count);
	return &c->entries[n];
}

size_t cache_dirs_count(const struct cache *c)
{
	return c->header->dirs;
}

const struct cache_dir *cache_dir(const struct cache *c, size_t n)
{
	assert(n < c->header->dirs);
	return &c->dirs[n];
}

const char *cache_dir_path(const struct cache *c, const struct cache_dir *d)
{
	return c->map + d->path;
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

/* The same bytes have other facts in another language. */
static int compare_keys(const struct cache_entry *e, unsigned lang,
			XXH128_hash_t hash)
{
	int order = XXH128_cmp(&e->hash, &hash);

	return order ? order : (e->lang > lang) - (e->lang < lang);
}

const struct cache_entry *cache_find_hash(const struct cache *c,
					  const struct lang *lang,
					  XXH128_hash_t hash)
{
	size_t from = 0, to = cache_count(c);

	while (from < to) {
		size_t at = from + (to - from) / 2;
		const struct cache_entry *e = &c->entries[c->by_hash[at]];
		int order = compare_keys(e, lang->id, hash);

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
	    facts_check(f, e->facts_size) < 0 || f->lang != e->lang)
		return NULL;
	return f;
}

size_t cache_chunks(const struct cache *c)
{
	return c->header->chunks;
}

bool cache_is_good(const struct cache *c, size_t chunk)
{
	uint64_t from = (uint64_t)chunk * CHUNK, to = from + CHUNK;

	assert(chunk < c->header->chunks);
	if (!chunk)
		from = sizeof(struct cache_header);
	if (to > c->header->index)
		to = c->header->index;
	return XXH3_64bits(c->map + from, to - from) == c->chunks[chunk];
}

int cache_load(const struct cache *c, struct graph *g)
{
	return snapshot_load(g, c->fd, c->header->graph);
}

/* Writing */

struct cache_writer {
	struct snapshot_sink sink; /* first: see write_bytes() */
	int state_fd;		   /* the caller's */
	FILE *out;
	bool committed;
	struct cache_header header;
	XXH3_state_t *chunk; /* hash of the current one so far */
	uint64_t *chunks;    /* hashes of those before it */
	uint32_t chunks_size;
	struct graph *g; /* the one that was written */
	struct cache_entry *entries;
	struct cache_dir *dirs;
	uint32_t entries_size, dirs_size;
	struct buf paths;
};

/* Opens the new file, locks and empties it. */
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

static int write_plain(struct cache_writer *w, const void *bytes, size_t len)
{
	errno = 0;
	if (len && fwrite(bytes, len, 1, w->out) != 1)
		return errno ? -errno : -EIO;
	w->sink.at += len;
	return 0;
}

static void end_chunk(struct cache_writer *w)
{
	struct cache_header *h = &w->header;

	w->chunks = must_grow(w->chunks, &w->chunks_size, h->chunks + 1,
			      sizeof(*w->chunks));
	w->chunks[h->chunks++] = XXH3_64bits_digest(w->chunk);
	(void)XXH3_64bits_reset(w->chunk);
}

/* Appends bytes that are hashed in chunks. */
static int write_bytes(struct snapshot_sink *sink, const void *bytes,
		       size_t len)
{
	struct cache_writer *w = (void *)sink;
	const char *at = bytes;

	while (len) {
		size_t n = CHUNK - sink->at % CHUNK;
		int r;

		n = n < len ? n : len;
		(void)XXH3_64bits_update(w->chunk, at, n);
		r = write_plain(w, at, n);
		if (r < 0)
			return r;
		at += n;
		len -= n;
		if (sink->at % CHUNK == 0)
			end_chunk(w);
	}
	return 0;
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
	(void)setvbuf(out, NULL, _IOFBF, OUT_BUFFER);
	w = must_calloc(1, sizeof(*w));
	*w = (struct cache_writer){
		.sink = { .write = write_bytes },
		.state_fd = state_fd,
		.out = out,
		.header = { .magic = CACHE_MAGIC, .began_ns = began_ns },
		.chunk = XXH3_createState(),
		.paths = BUF(CACHE_PATHS),
	};
	if (!w->chunk || XXH3_64bits_reset(w->chunk) != XXH_OK)
		abort();
	r = write_plain(w, &w->header, sizeof(w->header));
	if (r < 0) {
		cache_writer_free(w);
		return r;
	}
	*ret = w;
	return 0;
}

static int write_padding(struct cache_writer *w)
{
	static const char zeros[CACHE_ALIGN];

	return write_bytes(&w->sink, zeros, -w->sink.at % CACHE_ALIGN);
}

int cache_writer_graph(struct cache_writer *w, struct graph *g)
{
	int r = snapshot_save(g, &w->sink, &w->header.graph);

	w->g = g;
	if (r == 0)
		r = write_padding(w);
	if (r == 0 && w->sink.at % CHUNK)
		end_chunk(w);
	if (!w->header.graph)
		w->header.chunks = 0;
	return r;
}

/* *ret: its offset from the first path. */
static int add_path(struct cache_writer *w, const char *path, uint64_t *ret)
{
	*ret = w->paths.len;
	return buf_add(&w->paths, path, strlen(path) + 1);
}

int cache_writer_dir(struct cache_writer *w, const struct tree_dir *dir,
		     uint32_t parent)
{
	struct cache_dir d = { .stamp = dir->stamp, .parent = parent };
	int r = add_path(w, dir->path, &d.path);

	assert(w->g && w->header.count == 0);
	assert(w->header.dirs ? parent < w->header.dirs : parent == 0);
	if (r < 0)
		return r;
	w->dirs = must_grow(w->dirs, &w->dirs_size, w->header.dirs + 1,
			    sizeof(*w->dirs));
	w->dirs[w->header.dirs++] = d;
	return 0;
}

int cache_writer_file(struct cache_writer *w, const struct tree_file *file,
		      XXH128_hash_t hash, uint32_t dir)
{
	struct cache_entry e = { .stamp = file->stamp,
				 .hash = hash,
				 .facts = sizeof(struct cache_header),
				 .dir = dir,
				 .lang = lang_of(file->path)->id };
	struct snapshot_facts f;
	int r = add_path(w, file->path, &e.path);

	assert(w->g && dir < w->header.dirs);
	if (r < 0)
		return r;
	if (snapshot_facts(w->g, file->path, &f)) {
		assert(f.facts->lang == e.lang);
		e.facts = f.at;
		e.facts_size = f.facts->size;
		e.facts_hash = XXH3_64bits(f.facts, f.facts->size);
		e.broken = f.facts->broken;
		e.vast = f.facts->vast;
	}
	w->entries = must_grow(w->entries, &w->entries_size,
			       w->header.count + 1, sizeof(*w->entries));
	w->entries[w->header.count++] = e;
	return 0;
}

static int compare_hashes(const void *a, const void *b, void *arg)
{
	const struct cache_entry *entries = arg;
	const struct cache_entry *e = &entries[*(const uint32_t *)b];

	return compare_keys(&entries[*(const uint32_t *)a], e->lang, e->hash);
}

static uint32_t *sort_by_hash(struct cache_entry *entries, size_t count)
{
	uint32_t *order = must_calloc(count, sizeof(*order));

	for (size_t i = 0; i < count; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, count, sizeof(*order), compare_hashes, entries);
	return order;
}

/* Writes the parts of the index in their order. */
static int write_index(struct cache_writer *w)
{
	struct cache_header *h = &w->header;
	CLEANUP(free_p)
	uint32_t *order = sort_by_hash(w->entries, h->count);
	const struct {
		const void *at;
		size_t size;
	} parts[] = {
		{ w->chunks, h->chunks * sizeof(*w->chunks) },
		{ w->entries, h->count * sizeof(*w->entries) },
		{ w->dirs, h->dirs * sizeof(*w->dirs) },
		{ order, h->count * sizeof(*order) },
		{ w->paths.data, w->paths.len },
	};
	uint64_t paths = w->sink.at;
	int r = 0;

	h->index = w->sink.at;
	for (int k = 0; k < 4; k++)
		paths += parts[k].size;
	for (size_t i = 0; i < h->count; i++)
		w->entries[i].path += paths;
	for (size_t i = 0; i < h->dirs; i++)
		w->dirs[i].path += paths;
	(void)XXH3_64bits_reset(w->chunk);
	for (int k = 0; k < 5 && r == 0; k++) {
		if (!parts[k].size)
			continue;
		(void)XXH3_64bits_update(w->chunk, parts[k].at, parts[k].size);
		r = write_plain(w, parts[k].at, parts[k].size);
	}
	h->index_hash = XXH3_64bits_digest(w->chunk);
	return r;
}

static int write_header(struct cache_writer *w)
{
	struct cache_header *h = &w->header;

	h->size = w->sink.at;
	h->program = program_hash();
	h->hash = XXH3_64bits(h, offsetof(struct cache_header, hash));
	if (fflush(w->out) != 0)
		return -errno;
	if (pwrite(fileno(w->out), h, sizeof(*h), 0) != sizeof(*h))
		return errno ? -errno : -EIO;
	return 0;
}

int cache_writer_commit(struct cache_writer *w)
{
	int r = write_index(w);

	assert(!w->committed);
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
	/* Before closing releases the lock: another writer may take the name.
	 */
	if (!w->committed)
		(void)unlinkat(w->state_fd, CACHE_NEW, 0);
	(void)fclose(w->out);
	(void)XXH3_freeState(w->chunk);
	buf_release(&w->paths);
	free(w->chunks);
	free(w->dirs);
	free(w->entries);
	free(w);
}
