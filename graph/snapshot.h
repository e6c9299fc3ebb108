/*
 * The settled graph as bytes of a file, and back. A loaded graph equals the
 * saved one: it answers alike, changes alike, and can be saved again. Its
 * memory maps the file, copied on write.
 *
 * The bytes are valid for the program that wrote them, on the same kind of
 * machine, and are trusted as they are. The caller (build/cache.c) checks
 * both before loading.
 */
#ifndef STATETAPE_GRAPH_SNAPSHOT_H
#define STATETAPE_GRAPH_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct graph;

/* A file being written; callers embed it. */
struct snapshot_sink {
	uint64_t at; /* bytes written so far; write() keeps it */
	/* Append. 0 or a negative errno. */
	int (*write)(struct snapshot_sink *s, const void *bytes, size_t len);
};

/*
 * Append the graph; *ret_at is the offset to pass to snapshot_load(). An
 * offset of 0 means that only the facts were written: most of the graph's
 * memory is left over from earlier states, and building it from those facts is
 * better than keeping it. -EBUSY: the graph is not settled.
 */
int snapshot_save(struct graph *g, struct snapshot_sink *out, uint64_t *ret_at);

/*
 * Load the saved graph into `g`, which is new. The file's bytes must not
 * change as long as the graph lives; the descriptor stays the caller's. After
 * a failure the only valid call on `g` is graph_free().
 */
int snapshot_load(struct graph *g, int fd, uint64_t at);

/*
 * Where the last snapshot has the facts of a file. false: there is no such
 * file, or one of its definitions was read alone since, so that no one block
 * of facts describes it.
 */
struct snapshot_facts {
	uint64_t at;
	const struct facts *facts;
};
bool snapshot_facts(const struct graph *g, const char *path,
		    struct snapshot_facts *ret);

#endif
