/*
 * What is kept from one start to the next, in one file per repository: the
 * settled graph (snapshot.h), the facts it was made of, and what files and
 * directories looked like then. Facts are a function of a file's bytes and of
 * this program; so they are kept under a hash of the bytes, and a file that
 * another program wrote (an older build of this one included) counts as none.
 *
 * Losing the file costs time, never truth: everything in it is checked before
 * it is used, and nothing is ever synced.
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

#define CACHE_NAME                                                \
	"graph.cache" /* in the directory of a repository's state \
		       */

/* One file of the repository, as it was. */
struct cache_entry {
	struct tree_stamp stamp;
	XXH128_hash_t hash; /* of its content */
	uint64_t path;	    /* where in the cache's file these are */
	uint64_t facts;
	uint64_t facts_size; /* 0: it has none by themselves */
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

/* -ENOENT: there is none. -EBADMSG: it is damaged, or not this program's. */
int cache_open(int state_fd, struct cache **ret);
void cache_free(struct cache *c); /* accepts NULL */

/* By their paths. */
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

/* When the files were looked at: see cache_writer_new(). */
int64_t cache_began(const struct cache *c);
/*
 * Could a file have been written to after it was looked at, and still bear
 * this stamp? Clocks that file systems stamp with are coarse: what changed
 * shortly before we began may have changed again within a tick.
 */
bool cache_is_racy(int64_t began_ns, const struct tree_stamp *s);

/* Checked, and valid as long as the cache. NULL: they are damaged. */
const struct facts *cache_facts(const struct cache *c,
				const struct cache_entry *e);

/*
 * The graph, of the files that cache_entry() tells. Before it is loaded, each
 * of the chunks that facts and graph lie in has to be found good; any thread
 * may look. No chunks: there is no graph. `g` is new; it needs the cache no
 * more. What fails is the system; then `g` can only be freed.
 */
size_t cache_chunks(const struct cache *c);
bool cache_is_good(const struct cache *c, size_t chunk);
int cache_load(const struct cache *c, struct graph *g);

/*
 * A new cache in the making, which takes the old one's place in one step.
 * `began_ns`: when (by CLOCK_REALTIME) the first file was looked at. -EBUSY:
 * another process is writing one.
 */
struct cache_writer;
int cache_writer_new(int state_fd, int64_t began_ns, struct cache_writer **ret);
/* First the graph, then directories and files in the order of their paths. */
int cache_writer_graph(struct cache_writer *w, struct graph *g);
int cache_writer_dir(struct cache_writer *w, const struct tree_dir *dir,
		     uint32_t parent);
/* A file the graph knows, as it was read. */
int cache_writer_file(struct cache_writer *w, const struct tree_file *file,
		      XXH128_hash_t hash, uint32_t dir);
int cache_writer_commit(struct cache_writer *w);
/* Accepts NULL. What was not committed has not happened. */
void cache_writer_free(struct cache_writer *w);

#endif
