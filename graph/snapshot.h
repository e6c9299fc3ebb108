/*
 * The settled graph as bytes of a file, and back. A graph that was loaded is
 * the one that was saved: it answers alike, changes alike, and can be saved
 * again. Its memory is the file's until it is written to.
 *
 * The bytes mean something to the program that wrote them, on this kind of
 * machine, and to nobody else; they are taken as they are. Who keeps the file
 * checks both before.
 */
#ifndef STATETAPE_GRAPH_SNAPSHOT_H
#define STATETAPE_GRAPH_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct graph;

/* A file being written; embedded by whoever writes it. */
struct snapshot_sink {
	uint64_t at; /* bytes written; write() counts them */
	/* Append. 0, or why not. */
	int (*write)(struct snapshot_sink *s, const void *bytes, size_t len);
};

/*
 * Append the graph; *ret_at is what snapshot_load() wants to be told. 0: more
 * of the graph is of former times than of now, and making it anew is better
 * than keeping it; its facts alone were written. -EBUSY: it is not settled.
 */
int snapshot_save(struct graph *g, struct snapshot_sink *out, uint64_t *ret_at);

/*
 * Make `g`, which is new, the graph that was saved. The file must stay as it
 * is as long as the graph lives; the descriptor is the caller's. On failure
 * `g` can only be freed.
 */
int snapshot_load(struct graph *g, int fd, uint64_t at);

/*
 * Where the last snapshot has the facts of a file. false: they are not the
 * file's alone (parts of it were read anew), or there is no such file.
 */
struct snapshot_facts {
	uint64_t at;
	const struct facts *facts;
};
bool snapshot_facts(const struct graph *g, const char *path,
		    struct snapshot_facts *ret);

#endif
