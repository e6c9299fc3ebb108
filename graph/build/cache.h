/*
 * The cache keeps, from one start to the next, in one file per repository: the
 * settled graph (snapshot.h), the facts it was made of, and the stamps of files
 * and directories. Facts are a function of a file's bytes, its language and
 * this program; so they are found by language and a hash of the bytes, and a
 * cache that another program wrote (an older build of this one, too) is
 * ignored.
 *
 * Losing the file costs time, never correctness: everything in it is checked
 * before it is used, and it is never synced.
 */
#ifndef STATETAPE_GRAPH_BUILD_CACHE_H
#define STATETAPE_GRAPH_BUILD_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <xxhash.h>

#include "graph/build/tree.h"

struct facts;
struct graph;
struct lang;

/* In the state directory of a repository. */
#define CACHE_NAME "graph.cache"

/* One file of the repository when the cache was written. */
struct cache_entry {
	struct tree_stamp stamp;
	XXH128_hash_t hash; /* of its content */
	uint64_t path;	    /* offsets in the cache's file */
	uint64_t facts;
	uint64_t facts_size; /* 0: parts of the file were read anew */
	uint64_t facts_hash;
	uint32_t dir;  /* number of its directory */
	uint16_t lang; /* id of its language */
	uint8_t broken, vast;
};

/* One directory of the repository, see struct tree_dir. */
struct cache_dir {
	struct tree_stamp stamp;
	uint64_t path;
	uint64_t parent; /* its number; the root's: its own */
};

struct cache; /* mapped, immutable: any thread may read it */

/* -ENOENT: there is none. -EBADMSG: it is damaged, or another program's. */
int cache_open(int state_fd, struct cache **ret);
void cache_free(struct cache *c); /* accepts NULL */

/* Entries and directories are sorted by path. */
size_t cache_count(const struct cache *c);
const struct cache_entry *cache_entry(const struct cache *c, size_t n);
const char *cache_path(const struct cache *c, const struct cache_entry *e);
size_t cache_dirs_count(const struct cache *c);
const struct cache_dir *cache_dir(const struct cache *c, size_t n);
const char *cache_dir_path(const struct cache *c, const struct cache_dir *d);
/* NULL: none of that path, or of that content in that language. */
const struct cache_entry *cache_find(const struct cache *c, const char *path);
const struct cache_entry *cache_find_hash(const struct cache *c,
					  const struct lang *lang,
					  XXH128_hash_t hash);

/* When the first file was looked at, see cache_writer_new(). */
int64_t cache_began(const struct cache *c);
/*
 * Could a file have changed after it was looked at, and still have this stamp?
 * File systems stamp with a coarse clock: a file that changed shortly before
 * the build began may have changed again within the same tick.
 */
bool cache_is_racy(int64_t began_ns, const struct tree_stamp *s);

/* Checked; valid as long as the cache. NULL: damaged, or there are none. */
const struct facts *cache_facts(const struct cache *c,
				const struct cache_entry *e);

/*
 * The graph of the files in the cache. Before cache_load(), every chunk must
 * have been found good by cache_is_good(), which any thread may call. Without
 * chunks there is no graph. `g` is new, and does not need the cache afterwards.
 * After a failure, which is the system's, `g` can only be freed.
 */
size_t cache_chunks(const struct cache *c);
bool cache_is_good(const struct cache *c, size_t chunk);
int cache_load(const struct cache *c, struct graph *g);

/*
 * Writes a new cache, which replaces the old one atomically. `began_ns`: when
 * (by CLOCK_REALTIME) the first file was looked at. -EBUSY: another process is
 * writing one.
 */
struct cache_writer;
int cache_writer_new(int state_fd, int64_t began_ns, struct cache_writer **ret);
/* First the graph, then directories, then files, both sorted by path. */
int cache_writer_graph(struct cache_writer *w, struct graph *g);
int cache_writer_dir(struct cache_writer *w, const struct tree_dir *dir,
		     uint32_t parent);
/* A file of the graph: its stamp and content hash when it was read. */
int cache_writer_file(struct cache_writer *w, const struct tree_file *file,
		      XXH128_hash_t hash, uint32_t dir);
int cache_writer_commit(struct cache_writer *w);
/* Accepts NULL. Discards a cache that was not committed. */
void cache_writer_free(struct cache_writer *w);

#endif
