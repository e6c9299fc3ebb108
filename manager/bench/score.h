/*
 * The benchmark's scores (statetape-bench(1), SCORES): sums over decision
 * points, and the figures made of them. The same sums as `score.py` and
 * `rescore.py` of the benchmark make, so that both print the same digits.
 */
#ifndef STATETAPE_MANAGER_BENCH_SCORE_H
#define STATETAPE_MANAGER_BENCH_SCORE_H

#include <stdbool.h>
#include <stdint.h>

#include <cjson/cJSON.h>

#include "graph/base/array.h"

struct labels;
struct prediction;
struct trace;
struct trace_point;
struct world;

/* Which records count as held, and which of them as needed. */
enum score_reading {
	READING_ALL,	   /* all; needed by the rules G1 to G4 */
	READING_CODE,	   /* those that show source; needed by the rules */
	READING_BEHAVIOUR, /* all; needed if the agent went back to them */
	READINGS
};
extern const char *const reading_names[READINGS];

/* All in tokens, but for `points`. */
struct score {
	uint64_t points;
	uint64_t held, left;	/* `left`: held and not needed */
	uint64_t cleared, lost; /* taken out: not needed, needed */
	uint64_t missing, added, found;
};

struct figures {
	double cleared; /* per cent of what is not needed; the recall */
	double lost;	/* per decision point */
	double ce;	/* cleared / lost; INFINITY: nothing is lost; NAN:
			   nothing is taken out */
	double precision, f1;
	double found; /* per cent of what is missing */
	double added; /* per decision point */
	double re;    /* NAN: nothing is added */
};

/* What a decision point is about, and what is true of it. */
struct judged {
	const struct trace *trace;
	uint32_t held; /* records [0, held) */
	struct world *world;
	const cJSON *label;
	bool span; /* needed and missing by place, whether true or not */
};

/* Of each record held: is it needed (1), not (0), or not counted (2)? */
struct judgement {
	ARRAY(uint8_t) needed;
};
void score_judge(const struct judged *j, enum score_reading how,
		 struct judgement *ret);
void score_judgement_release(struct judgement *j);

void score_add(struct score *s, const struct judged *j, enum score_reading how,
	       const struct prediction *p);
void score_sum(struct score *s, const struct score *more);
struct figures score_figures(const struct score *s);

/* Does the record show lines of a source file? */
bool score_is_code(const struct judged *j, uint32_t record);

#endif
