/*
 * statetape bench: the parts of it. Each trace is played by a process of its
 * own (job.c) on a repository of its own with a tape of its own (stage.c); the
 * verb collects what they found (results.c) and prints it.
 */
#ifndef STATETAPE_TOOLS_VERB_BENCH_BENCH_H
#define STATETAPE_TOOLS_VERB_BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cjson/cJSON.h>

#include "graph/base/array.h"
#include "manager/bench/score.h"
#include "tape/wire/state.h"

struct links;
struct policy;
struct world;

/* What is compared: policies, and the rules of manager/bench/reference.h. */
struct contender {
	char *name;
	const struct policy *policy; /* NULL: number `reference` */
	size_t reference;
};

struct bench {
	ARRAY(char *) traces; /* folders, by name */
	ARRAY(struct contender) contenders;
	const char *ranks; /* the file of cl100k ranks */
	bool span;
	bool features; /* have jobs tell them, for fitting */
	unsigned jobs;
};

/* -- stage.c: a repository in a scratch folder, and a tape that follows it. */

struct bench_stage {
	char *dir, *repo;
	pid_t tape;
	struct state state;
	struct links *links;
};
/* With the files of `from`. *ret_why is a sentence (free it). */
int stage_init(struct bench_stage *s, const char *from, char **ret_why);
void stage_release(struct bench_stage *s);
/* Make the file what `w` has, or remove it. */
int stage_write(const struct bench_stage *s, const struct world *w,
		const char *path);

/* -- job.c: one trace, for all contenders. */

/*
 * {"trace":..,"points":[{"dp":..,"edits":..,"scores":{NAME:[[..]..]},
 * "predictions":{NAME:{..}}}]}, or {"error":SENTENCE}. cJSON_Delete it.
 */
cJSON *job_run(const struct bench *b, const char *trace);

/* -- workers.c: jobs in processes. */

/* Called with each answer, in the order of the traces. */
typedef void workers_visit(void *ctx, const cJSON *answer);
/* 0, or an exit code after a sentence on stderr. */
int workers_run(const struct bench *b, workers_visit *visit, void *ctx);

/* -- results.c */

struct result_point {
	char *trace;
	uint32_t dp, edits;
	struct score scores[READINGS];
};
struct result {
	const struct contender *who;
	ARRAY(struct result_point) points;
};
struct results {
	ARRAY(struct result) at;      /* by contender */
	FILE *predictions, *features; /* NULL: not wanted */
};
void results_init(struct results *r, const struct bench *b);
void results_release(struct results *r);
void results_take(void *results, const cJSON *answer);
struct score results_sum(const struct result *r, enum score_reading how);

/* -- table.c */
void table_print(FILE *out, const struct results *r);
void table_print_json(FILE *out, const struct results *r);
void table_print_csv(FILE *out, const struct results *r);

#endif
