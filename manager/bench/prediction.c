#include "manager/bench/prediction.h"

#include <assert.h>
#include <string.h>

#include "graph/base/json.h"
#include "manager/bench/trace.h"

static const char *const names[LEAVINGS] = { "", "evict", "drop", "rerun",
					     "refresh" };

void prediction_init(struct prediction *p, uint32_t held)
{
	*p = (struct prediction){ .leaving = { 0 } };
	array_reserve(&p->leaving, (size_t)held + 1);
	memset(p->leaving.at, LEAVING_NOT, (size_t)held + 1);
	p->leaving.count = held;
}

void prediction_release(struct prediction *p)
{
	for (uint32_t i = 0; i < p->regions.count; i++)
		free(p->regions.at[i].path);
	array_release(&p->regions);
	array_release(&p->leaving);
	array_release(&p->rank);
	array_release(&p->features);
}

void prediction_add(struct prediction *p, const char *path, uint32_t start,
		    uint32_t end, uint32_t record)
{
	assert(record == UINT32_MAX || record < p->leaving.count);
	array_push(&p->regions,
		   ((struct prediction_region){ .path = must_strdup(path),
						.start = start,
						.end = end,
						.record = record }));
}

static cJSON *span(const struct prediction_region *r)
{
	cJSON *list = cJSON_CreateArray();

	(void)json_push(list, json_bytes(r->path));
	json_push_number(list, r->start);
	json_push_number(list, r->end);
	return list;
}

static cJSON *spans_of(const struct prediction *p, uint32_t record)
{
	cJSON *list = cJSON_CreateArray();

	for (uint32_t i = 0; i < p->regions.count; i++)
		if (p->regions.at[i].record == record)
			(void)json_push(list, span(&p->regions.at[i]));
	return list;
}

/* The ids of the records that leave in that way; of refreshed ones, with what
   stands for them. */
static cJSON *records_of(const struct prediction *p, const struct trace *t,
			 int how)
{
	cJSON *list = cJSON_CreateArray();

	for (uint32_t i = 0; i < p->leaving.count; i++) {
		cJSON *id = json_bytes(t->records.at[i].id), *one;

		if (p->leaving.at[i] != how) {
			cJSON_Delete(id);
		} else if (how != LEAVING_REFRESH) {
			(void)json_push(list, id);
		} else {
			one = json_push_object(list);
			json_put(one, "id", id);
			json_put(one, "spans", spans_of(p, i));
		}
	}
	return list;
}

cJSON *prediction_json(const struct prediction *p, const struct trace *t,
		       uint32_t dp)
{
	cJSON *to = json_object(NULL, NULL);

	json_put_bytes(to, "id", t->name);
	json_put_number(to, "dp", dp);
	for (int how = LEAVING_EVICT; how < LEAVINGS; how++)
		json_put(to, names[how], records_of(p, t, how));
	json_put(to, "retrieve", spans_of(p, UINT32_MAX));
	return to;
}

static uint32_t number_at(const cJSON *list, int i)
{
	const cJSON *n = cJSON_GetArrayItem(list, i);

	return cJSON_IsNumber(n) && n->valuedouble > 0 ? (uint32_t)n->valueint
						       : 0;
}

static void take_spans(struct prediction *p, const cJSON *list, uint32_t record)
{
	const cJSON *at;

	cJSON_ArrayForEach (at, list) {
		const cJSON *path = cJSON_GetArrayItem(at, 0);

		if (cJSON_IsString(path))
			prediction_add(p, path->valuestring, number_at(at, 1),
				       number_at(at, 2), record);
	}
}

void prediction_from(struct prediction *p, const struct trace *t, uint32_t held,
		     const cJSON *from)
{
	prediction_init(p, held);
	for (int how = LEAVING_EVICT; how < LEAVINGS; how++) {
		const cJSON *at;

		cJSON_ArrayForEach (at, json_member(from, names[how])) {
			const char *id = how == LEAVING_REFRESH
						 ? json_string(at, "id")
						 : cJSON_GetStringValue(at);
			uint32_t i = id ? trace_find(t, id) : UINT32_MAX;

			if (i >= held)
				continue;
			p->leaving.at[i] = (uint8_t)how;
			if (how == LEAVING_REFRESH)
				take_spans(p, json_member(at, "spans"), i);
		}
	}
	take_spans(p, json_member(from, "retrieve"), UINT32_MAX);
}
