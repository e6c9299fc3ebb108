/*
 * Questions, remembered answers, and which answer depends on which. A frame
 * is whoever asks at the moment: a question, or a slot. Everything it needs
 * or asks is recorded as its dependency, so the evaluators of this folder
 * must look at facts only after solve_need() on the key that holds them (or
 * in the own unit of a slot, which is resolved anew with its unit).
 */
#ifndef STATETAPE_GRAPH_RESOLVE_SOLVE_H
#define STATETAPE_GRAPH_RESOLVE_SOLVE_H

#include "graph/resolve/state.h"

/* The present frame depends on this key. */
void solve_need(struct graph *g, enum node_kind kind, uint32_t a, uint32_t b);
/*
 * The answer to a question, on which the present frame then depends. Inside a
 * cycle it may be provisional: solve.c computes the asker again until nothing
 * changes.
 */
uint32_t solve_ask(struct graph *g, enum node_kind kind, uint32_t a,
		   uint32_t b);
/* Begin and end computing for `who`, a slot with POSTING_SLOT. */
void frame_push(struct graph *g, uint32_t who, uint32_t version);
void frame_pop(struct graph *g);

/* Invalidate every answer and slot computed from the node, transitively. */
void solve_invalidate(struct graph *g, node_t first);
/* The same, unless nobody ever needed that key. */
void solve_invalidate_key(struct graph *g, enum node_kind kind, uint32_t a,
			  uint32_t b);

node_t node_get(struct graph *g, enum node_kind kind, uint32_t a, uint32_t b);
/* NONE: no frame ever needed or asked for it. */
node_t node_find(struct graph *g, enum node_kind kind, uint32_t a, uint32_t b);

#endif
