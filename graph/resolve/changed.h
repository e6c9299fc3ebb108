/*
 * Which keys a change of units changes. In this order: collect the keys with
 * changed_add() and changed_add_unit(), call changed_take(), make the change,
 * call changed_invalidate().
 */
#ifndef STATETAPE_GRAPH_RESOLVE_CHANGED_H
#define STATETAPE_GRAPH_RESOLVE_CHANGED_H

#include "graph/resolve/state.h"

struct changed_key {
	node_t node;
	bool always; /* invalidate it whatever its fingerprint says */
	uint64_t before;
};
/* Starts zeroed. */
struct changed {
	struct changed_key *keys;
	uint32_t count, size;
};

/* All keys about unit n. */
void changed_add_unit(struct graph *g, struct changed *c, unit_t n);
/*
 * Unit n of `parent` is about to change: all keys about it, and the keys about
 * units around it that `says`, a version of n, has a part in. Call it for the
 * version that is replaced and for the one that replaces it.
 */
void changed_add(struct graph *g, struct changed *c, unit_t n, unit_t parent,
		 const struct unit_piece *says);
/* Keep the fingerprints of all keys collected. */
void changed_take(struct graph *g, struct changed *c);
/* Invalidate what depends on keys whose fingerprint differs now. Frees *c. */
void changed_invalidate(struct graph *g, struct changed *c);

#endif
