#include <string.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/base/json.h"
#include "tools/verb/bench/bench.h"

void results_init(struct results *r, const struct bench *b)
{
	*r = (struct results){ .predictions = NULL };
	for (uint32_t i = 0; i < b->contenders.count; i++)
		array_push(&r->at,
			   ((struct result){ .who = &b->contenders.at[i] }));
}

void results_release(struct results *r)
{
	for (uint32_t i = 0; i < r->at.count; i++) {
		struct result *one = &r->at.at[i];

		for (uint32_t k = 0; k < one->points.count; k++)
			free(one->points.at[k].trace);
		array_release(&one->points);
	}
	array_release(&r->at);
}

static uint64_t number_at(const cJSON *list, int i)
{
	return (uint64_t)cJSON_GetNumberValue(cJSON_GetArrayItem(list, i));
}

static struct score score_from(const cJSON *list)
{
	return (struct score){ .points = number_at(list, 0),
			       .held = number_at(list, 1),
			       .left = number_at(list, 2),
			       .cleared = number_at(list, 3),
			       .lost = number_at(list, 4),
			       .missing = number_at(list, 5),
			       .added = number_at(list, 6),
			       .found = number_at(list, 7) };
}

static void print_prediction(const struct results *r, const cJSON *point,
			     const char *who)
{
	const cJSON *all = json_member(point, "predictions");
	const cJSON *one = json_member(all, who);
	CLEANUP(free_p) char *text = NULL;

	if (!r->predictions || !one)
		return;
	text = must_have(cJSON_PrintUnformatted(one));
	(void)fprintf(r->predictions, "%s\n", text);
}

static void print_features(const struct results *r, const char *trace,
			   const cJSON *point)
{
	CLEANUP(free_p) char *text = NULL;
	const cJSON *rows = json_member(point, "features");

	if (!r->features || !rows)
		return;
	text = must_have(cJSON_PrintUnformatted(rows));
	(void)fprintf(r->features, "{\"id\":\"%s\",\"dp\":%ju,\"rows\":%s}\n",
		      trace, (uintmax_t)json_number(point, "dp", 0), text);
}

void results_take(void *results, const cJSON *answer)
{
	struct results *r = results;
	const char *trace = json_string_or(answer, "trace", "");
	const cJSON *point;

	cJSON_ArrayForEach (point, json_member(answer, "points")) {
		print_features(r, trace, point);
		for (uint32_t i = 0; i < r->at.count; i++) {
			struct result *one = &r->at.at[i];
			const cJSON *list = json_member(
				json_member(point, "scores"), one->who->name);
			struct result_point p = {
				.trace = must_strdup(trace),
				.dp = (uint32_t)json_number(point, "dp", 0),
				.edits =
					(uint32_t)json_number(point, "edits", 0)
			};

			for (int how = 0; how < READINGS; how++)
				p.scores[how] = score_from(
					cJSON_GetArrayItem(list, how));
			array_push(&one->points, p);
			print_prediction(r, point, one->who->name);
		}
	}
}

struct score results_sum(const struct result *r, enum score_reading how)
{
	struct score sum = { 0 };

	for (uint32_t i = 0; i < r->points.count; i++)
		score_sum(&sum, &r->points.at[i].scores[how]);
	return sum;
}
