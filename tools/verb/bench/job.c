#include <errno.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/base/json.h"
#include "manager/bench/labels.h"
#include "manager/bench/playback.h"
#include "manager/bench/prediction.h"
#include "manager/bench/reference.h"
#include "manager/bench/tokens.h"
#include "manager/bench/trace.h"
#include "manager/bench/world.h"
#include "tape/wire/links.h"
#include "tools/verb/bench/bench.h"

/* A trace while one contender plays it. */
struct bench_job {
	const struct bench *bench;
	const struct contender *who;
	struct trace *trace;
	struct labels labels;
	struct tokens *tokens;
	struct world *world;
	struct bench_stage stage;
	char *repo; /* the trace's own files */
	cJSON *points;
};

static cJSON *numbers_of(const struct score *s)
{
	const uint64_t all[] = { s->points, s->held,	s->left,  s->cleared,
				 s->lost,   s->missing, s->added, s->found };
	cJSON *list = cJSON_CreateArray();

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		json_push_number(list, all[i]);
	return list;
}

/* Of decision point `dp`; made by the first contender. */
static cJSON *point_of(struct bench_job *j, uint32_t dp, const cJSON *label)
{
	cJSON *at;

	cJSON_ArrayForEach (at, j->points)
		if (json_number(at, "dp", UINT32_MAX) == dp)
			return at;
	at = json_push_object(j->points);
	json_put_number(at, "dp", dp);
	json_put_number(at, "edits", json_number(label, "edits_before", 0));
	(void)json_object(at, "scores");
	(void)json_object(at, "predictions");
	return at;
}

/* A row per record that has features: tokens, needed by each reading, and
   these. */
static void put_features(cJSON *point, const struct judged *judged,
			 const struct prediction *p)
{
	cJSON *rows = json_array(point, "features");
	struct judgement is[READINGS];

	for (int how = 0; how < READINGS; how++)
		score_judge(judged, (enum score_reading)how, &is[how]);
	for (uint32_t i = 0; i < p->rank.count; i++) {
		const double *f = p->features.at + (size_t)i * p->features_each;
		cJSON *row;

		if (f[0] == 0)
			continue;
		row = json_push(rows, cJSON_CreateArray());
		json_push_number(row, judged->trace->records.at[i].tokens);
		for (int how = 0; how < READINGS; how++)
			json_push_number(row, is[how].needed.at[i]);
		for (uint32_t k = 0; k < p->features_each; k++)
			(void)json_push(row, cJSON_CreateNumber(f[k]));
	}
	for (int how = 0; how < READINGS; how++)
		score_judgement_release(&is[how]);
}

static void judge_point(struct bench_job *j, const struct trace_point *at,
			const struct prediction *p)
{
	struct judged judged = { .trace = j->trace,
				 .held = at->held,
				 .world = j->world,
				 .label = labels_of(&j->labels, at->dp),
				 .span = j->bench->span };
	cJSON *point = point_of(j, at->dp, judged.label);
	cJSON *scores = cJSON_GetObjectItemCaseSensitive(point, "scores");
	cJSON *list = cJSON_CreateArray();

	for (int how = 0; how < READINGS; how++) {
		struct score s = { 0 };

		if (judged.label)
			score_add(&s, &judged, (enum score_reading)how, p);
		(void)json_push(list, numbers_of(&s));
	}
	json_put(scores, j->who->name, list);
	if (j->who->policy && j->bench->features)
		put_features(point, &judged, p);
	if (j->who->policy)
		json_put(cJSON_GetObjectItemCaseSensitive(point, "predictions"),
			 j->who->name, prediction_json(p, j->trace, at->dp));
}

/* -- Rules, which need no tape. */

static void play_rule(struct bench_job *j)
{
	const struct reference *rule = &references[j->who->reference];
	const struct trace *t = j->trace;
	uint32_t point = 0;

	for (uint32_t i = 0; i <= t->records.count; i++) {
		for (; point < t->points.count && t->points.at[point].held == i;
		     point++) {
			const struct trace_point *at = &t->points.at[point];
			struct judged judged = { .trace = t,
						 .held = i,
						 .world = j->world,
						 .label = labels_of(&j->labels,
								    at->dp),
						 .span = j->bench->span };
			struct prediction p;

			prediction_init(&p, i);
			rule->decide(&judged, rule->number, &p);
			judge_point(j, at, &p);
			prediction_release(&p);
		}
		if (i < t->records.count)
			world_apply(j->world, &t->records.at[i]);
	}
}

/* -- Policies. */

static int wrote(void *ctx, const struct world *w, const char *path)
{
	const struct bench_job *j = ctx;

	return stage_write(&j->stage, w, path);
}

static int decided(void *ctx, const struct trace_point *at,
		   const struct prediction *p)
{
	judge_point(ctx, at, p);
	return 0;
}

static int play_policy(struct bench_job *j, char **ret_why)
{
	struct playback p = { .trace = j->trace,
			      .world = j->world,
			      .policy = j->who->policy,
			      .wrote = wrote,
			      .decided = decided,
			      .ctx = j };
	int rc = stage_init(&j->stage, j->repo, ret_why);

	p.repo = j->stage.repo;
	p.ask = links_ask;
	p.ask_ctx = j->stage.links;
	if (rc == 0)
		rc = playback_run(&p, ret_why);
	stage_release(&j->stage);
	return rc;
}

static int play(struct bench_job *j, char **ret_why)
{
	int rc = world_open(j->repo, j->tokens, &j->world);

	if (rc < 0)
		*ret_why = format_text("'%s' cannot be read: %s", j->repo,
				       strerrordesc_np(-rc));
	else if (j->who->policy)
		rc = play_policy(j, ret_why);
	else
		play_rule(j);
	world_free(TAKE(j->world));
	return rc;
}

static int open_all(struct bench_job *j, const char *trace, char **ret_why)
{
	int rc = tokens_open(j->bench->ranks, &j->tokens, ret_why);

	if (rc == 0)
		rc = trace_open(trace, &j->trace, ret_why);
	if (rc < 0)
		return rc;
	rc = labels_open(trace, &j->labels);
	if (rc < 0 && rc != -ENOENT) {
		*ret_why = format_text("'%s/labels.json' is not understood",
				       trace);
		return rc;
	}
	return 0;
}

cJSON *job_run(const struct bench *b, const char *trace)
{
	struct bench_job j = { .bench = b };
	CLEANUP(free_p) char *why = NULL;
	cJSON *answer = json_object(NULL, NULL);
	int rc;

	j.repo = format_text("%s/repo", trace);
	j.points = json_array(answer, "points");
	rc = open_all(&j, trace, &why);
	if (rc == 0)
		json_put_bytes(answer, "trace", j.trace->name);
	for (uint32_t i = 0; rc == 0 && i < b->contenders.count; i++) {
		j.who = &b->contenders.at[i];
		rc = play(&j, &why);
	}
	if (rc < 0)
		json_put_bytes(answer, "error",
			       why ? why : strerrordesc_np(-rc));
	trace_free(j.trace);
	labels_release(&j.labels);
	tokens_free(j.tokens);
	free(j.repo);
	return answer;
}
