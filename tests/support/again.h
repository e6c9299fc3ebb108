/*
 * A graph as the next process would find it: saved to a file in memory and
 * loaded from there.
 */
#ifndef STATETAPE_TESTS_SUPPORT_AGAIN_H
#define STATETAPE_TESTS_SUPPORT_AGAIN_H

struct graph;

/*
 * Takes over `g`, which is settled, and gives the one that was loaded, or `g`
 * itself if it is not worth saving. NULL: it could not be done.
 */
struct graph *graph_again(struct graph *g);

#endif
