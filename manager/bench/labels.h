/*
 * What the annotation says of a trace's decision points. Only the scorer and
 * the reference points that are named so look at it, never a policy.
 */
#ifndef STATETAPE_MANAGER_BENCH_LABELS_H
#define STATETAPE_MANAGER_BENCH_LABELS_H

#include <stdint.h>

#include <cjson/cJSON.h>

struct labels {
	cJSON *json; /* NULL: the trace has none */
};

/* DIR/labels.json. -ENOENT: there is none. -EBADMSG: it is something else. */
int labels_open(const char *dir, struct labels *ret);
void labels_release(struct labels *l);

/* Of decision point `dp`; NULL: none. */
const cJSON *labels_of(const struct labels *l, uint32_t dp);

#endif
