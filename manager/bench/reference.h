/*
 * The reference points of the benchmark: policies of one rule, without a tape
 * or a graph, beside which all others are read. Two of them look at the label.
 */
#ifndef STATETAPE_MANAGER_BENCH_REFERENCE_H
#define STATETAPE_MANAGER_BENCH_REFERENCE_H

#include "manager/bench/prediction.h"
#include "manager/bench/score.h"

struct reference {
	const char *name;
	/* `p` is an initialized prediction. */
	void (*decide)(const struct judged *j, uint32_t number,
		       struct prediction *p);
	uint32_t number; /* of the rule */
};

/* Ended by one without a name. */
extern const struct reference references[];

#endif
