/*
 * What a policy would do at a decision point: records to take out, how, and
 * code to bring in. As a line of JSON it is what the scorers of the benchmark
 * read.
 */
#ifndef STATETAPE_MANAGER_BENCH_PREDICTION_H
#define STATETAPE_MANAGER_BENCH_PREDICTION_H

#include <stdbool.h>
#include <stdint.h>

#include <cjson/cJSON.h>

#include "graph/base/array.h"

struct trace;

/* How a record leaves. */
enum leaving {
	LEAVING_NOT,
	LEAVING_EVICT,	 /* costs nothing */
	LEAVING_DROP,	 /* a tombstone stands for it */
	LEAVING_RERUN,	 /* a line that asks for another run */
	LEAVING_REFRESH, /* `shown` lines stand for it */
	LEAVINGS
};

/* Lines of the repository as it is at the decision point. */
struct prediction_region {
	char *path; /* the prediction's */
	uint32_t start, end;
	uint32_t record; /* that it refreshes; UINT32_MAX: retrieved */
};

struct prediction {
	ARRAY(uint8_t) leaving; /* enum leaving, per record held */
	ARRAY(double)
	rank; /* of each record: the higher, the sooner it may
		 leave; empty: the policy gives none */
	ARRAY(double)
	features; /* for fitting: `features_each` per record;
		     empty: the policy gives none */
	uint32_t features_each;
	ARRAY(struct prediction_region) regions;
};

/* For `held` records, none of which leaves. Release it before it is reused. */
void prediction_init(struct prediction *p, uint32_t held);
void prediction_release(struct prediction *p);
/* Lines [start, end] of `path`, which is copied. */
void prediction_add(struct prediction *p, const char *path, uint32_t start,
		    uint32_t end, uint32_t record);

/* {"id":..,"dp":..,"evict":[..],..} (cJSON_Delete it). */
cJSON *prediction_json(const struct prediction *p, const struct trace *t,
		       uint32_t dp);
/* From such an object; what names no record of the trace is left out. */
void prediction_from(struct prediction *p, const struct trace *t, uint32_t held,
		     const cJSON *from);

#endif
