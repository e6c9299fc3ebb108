/*
 * A graph as the next process would load it: saved to a file in memory and
 * loaded from there.
 */
#ifndef STATETAPE_TESTS_SUPPORT_AGAIN_H
#define STATETAPE_TESTS_SUPPORT_AGAIN_H

struct graph;

/*
 * Saves `g`, which must be settled, and returns the graph loaded from that, or
 * `g` itself if snapshot_save() found it not worth saving. Takes ownership of
 * `g`. NULL: saving or loading failed.
 */
struct graph *graph_again(struct graph *g);

#endif
