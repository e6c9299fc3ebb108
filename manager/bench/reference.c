#include "manager/bench/reference.h"

#include <string.h>

#include "graph/base/json.h"
#include "manager/bench/trace.h"
#include "manager/bench/world.h"

static const struct trace_record *record(const struct judged *j, uint32_t i)
{
	return &j->trace->records.at[i];
}

static void evict(struct prediction *p, uint32_t i)
{
	p->leaving.at[i] = LEAVING_EVICT;
}

static void keep_all(const struct judged *j, uint32_t n, struct prediction *p)
{
	(void)j;
	(void)n;
	(void)p;
}

static void evict_all(const struct judged *j, uint32_t n, struct prediction *p)
{
	(void)n;
	for (uint32_t i = 0; i < j->held; i++)
		evict(p, i);
}

static void recency(const struct judged *j, uint32_t n, struct prediction *p)
{
	for (uint32_t i = 0; i + n < j->held; i++)
		evict(p, i);
}

static void age_window(const struct judged *j, uint32_t n, struct prediction *p)
{
	for (uint32_t i = 0; i < j->held; i++)
		if (record(j, i)->turn + n <= record(j, j->held - 1)->turn)
			evict(p, i);
}

static void budget(const struct judged *j, uint32_t n, struct prediction *p)
{
	uint64_t sum = 0;

	for (uint32_t i = j->held; i-- > 0;) {
		sum += record(j, i)->tokens;
		if (sum > n)
			evict(p, i);
	}
}

static void non_code(const struct judged *j, uint32_t n, struct prediction *p)
{
	(void)n;
	for (uint32_t i = 0; i < j->held; i++)
		if (record(j, i)->kind >= TRACE_RUN)
			evict(p, i);
}

/* Does edit `e` touch lines that `r` shows? */
static bool overlaps(const struct trace_record *e, const struct trace_record *r)
{
	uint32_t rows = e->old_n ? e->old_n : 1;

	if (e->kind != TRACE_EDIT || e->op == OP_EXTERNAL || !e->file ||
	    !r->file || strcmp(e->file, r->file) != 0)
		return false;
	return e->op != OP_REPLACE ||
	       !(e->at + rows - 1 < r->start || e->at > r->end);
}

static void span_overlap(const struct judged *j, uint32_t n,
			 struct prediction *p)
{
	(void)n;
	for (uint32_t i = 0; i < j->held; i++) {
		const struct trace_record *r = record(j, i);

		if (r->kind > TRACE_EDIT || !r->end)
			continue;
		for (uint32_t k = i + 1; k < j->held; k++)
			if (overlaps(record(j, k), r)) {
				evict(p, i);
				break;
			}
	}
}

static void overlap_and_non_code(const struct judged *j, uint32_t n,
				 struct prediction *p)
{
	span_overlap(j, n, p);
	non_code(j, n, p);
}

static void stale(const struct judged *j, uint32_t n, struct prediction *p)
{
	const cJSON *at;

	(void)n;
	cJSON_ArrayForEach (at, json_member(j->label, "stale")) {
		uint32_t i = trace_find(j->trace, at->valuestring);

		if (i < j->held)
			evict(p, i);
	}
}

static void retrieve_whole(const struct judged *j, const char *path,
			   struct prediction *p)
{
	uint32_t lines = world_lines(j->world, path);

	for (uint32_t i = 0; i < p->regions.count; i++)
		if (strcmp(p->regions.at[i].path, path) == 0)
			return;
	if (lines != UINT32_MAX)
		prediction_add(p, path, 1, lines, UINT32_MAX);
}

static void next_file(const struct judged *j, uint32_t n, struct prediction *p)
{
	const cJSON *at;

	(void)n;
	cJSON_ArrayForEach (at, json_member(j->label, "next_files"))
		retrieve_whole(j, at->valuestring, p);
}

static void files_held(const struct judged *j, uint32_t n, struct prediction *p)
{
	(void)n;
	for (uint32_t i = 0; i < j->held; i++)
		if (record(j, i)->kind <= TRACE_EDIT && record(j, i)->file)
			retrieve_whole(j, record(j, i)->file, p);
}

static void oracle(const struct judged *j, uint32_t n, struct prediction *p)
{
	struct judgement is;
	const cJSON *file, *at;

	(void)n;
	score_judge(j, READING_ALL, &is);
	for (uint32_t i = 0; i < j->held; i++)
		if (!is.needed.at[i])
			evict(p, i);
	score_judgement_release(&is);
	cJSON_ArrayForEach (file, json_member(j->label, j->span ? "missing_line"
								: "missing"))
		cJSON_ArrayForEach (at, file)
			prediction_add(
				p, file->string,
				(uint32_t)cJSON_GetArrayItem(at, 0)->valueint,
				(uint32_t)cJSON_GetArrayItem(at, 1)->valueint,
				UINT32_MAX);
}

const struct reference references[] = {
	{ "KEEP-ALL / RETRIEVE-NOTHING", keep_all, 0 },
	{ "EVICT-ALL", evict_all, 0 },
	{ "recency k=5", recency, 5 },
	{ "recency k=10", recency, 10 },
	{ "recency k=20", recency, 20 },
	{ "recency k=40", recency, 40 },
	{ "age window 25", age_window, 25 },
	{ "age window 50", age_window, 50 },
	{ "token budget 16k", budget, 16000 },
	{ "token budget 32k", budget, 32000 },
	{ "evict non-code", non_code, 0 },
	{ "span-overlap", span_overlap, 0 },
	{ "span-overlap + non-code", overlap_and_non_code, 0 },
	{ "stale (oracle)", stale, 0 },
	{ "whole next-edit file", next_file, 0 },
	{ "whole files in context", files_held, 0 },
	{ "oracle", oracle, 0 },
	{ 0 },
};
