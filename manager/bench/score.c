#define PCRE2_CODE_UNIT_WIDTH 8

#include "manager/bench/score.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include <pcre2.h>

#include "graph/base/alloc.h"
#include "graph/base/json.h"
#include "manager/bench/labels.h"
#include "manager/bench/prediction.h"
#include "manager/bench/trace.h"
#include "manager/bench/world.h"

#define KAPPA	  1e5 /* RE: per cent of the missing per 1,000 added */
#define TOMBSTONE 24
#define STUB	  16

const char *const reading_names[READINGS] = { "all", "code", "behaviour" };

/* -- Which records show source. */

static pcre2_code *compile(const char *expression)
{
	PCRE2_SIZE where;
	int error;
	pcre2_code *c =
		pcre2_compile((PCRE2_SPTR)expression, PCRE2_ZERO_TERMINATED,
			      PCRE2_UTF | PCRE2_UCP, &error, &where, NULL);

	assert(c);
	return c;
}

/* The next match from *at on; false: there is none. */
static bool next_match(const pcre2_code *c, const char *text, size_t *at,
		       size_t *ret_start)
{
	pcre2_match_data *m = pcre2_match_data_create_from_pattern(c, NULL);
	int n = pcre2_match(c, (PCRE2_SPTR)text, strlen(text), *at, 0, m, NULL);

	if (n > 0) {
		*ret_start = pcre2_get_ovector_pointer(m)[0];
		*at = pcre2_get_ovector_pointer(m)[1];
	}
	pcre2_match_data_free(m);
	return n > 0;
}

static bool names_source(const struct judged *j, const char *cmd)
{
	static pcre2_code *view, *path;
	size_t at = 0, start;

	if (!view) {
		view = compile("\\b(sed -n|cat|head|tail|nl)\\b");
		path = compile("[\\w./-]+\\.py");
	}
	if (!next_match(view, cmd, &at, &start))
		return false;
	for (at = 0; next_match(path, cmd, &at, &start);) {
		char *name = must_memdup(cmd + start, at - start);
		bool has = world_has(j->world, name);

		free(name);
		if (has)
			return true;
	}
	return false;
}

bool score_is_code(const struct judged *j, uint32_t record)
{
	const struct trace_record *r = &j->trace->records.at[record];

	if (r->kind == TRACE_READ || r->kind == TRACE_EDIT)
		return r->file && world_has(j->world, r->file);
	return r->kind == TRACE_RUN && r->cmd && names_source(j, r->cmd);
}

/* -- Judging. */

static void mark(const struct judged *j, const char *id, struct judgement *ret)
{
	uint32_t i = id ? trace_find(j->trace, id) : UINT32_MAX;

	if (i < j->held && ret->needed.at[i] == 0)
		ret->needed.at[i] = 1;
}

void score_judge(const struct judged *j, enum score_reading how,
		 struct judgement *ret)
{
	const char *list = how == READING_BEHAVIOUR ? "behaviour"
			   : j->span		    ? "needed_span"
						    : "needed";
	const cJSON *at;
	/* Simulated agents have no behaviour. */
	bool none = how == READING_BEHAVIOUR && !json_member(j->label, list);

	*ret = (struct judgement){ .needed = { 0 } };
	for (uint32_t i = 0; i < j->held; i++)
		array_push(&ret->needed,
			   none || (how == READING_CODE && !score_is_code(j, i))
				   ? 2
				   : 0);
	cJSON_ArrayForEach (at, json_member(j->label, list))
		mark(j,
		     cJSON_GetStringValue(how == READING_BEHAVIOUR
						  ? cJSON_GetArrayItem(at, 0)
						  : at),
		     ret);
}

void score_judgement_release(struct judgement *j)
{
	array_release(&j->needed);
}

/* Lines that are asked for, or brought in; sorted, without overlap. */
struct shown_lines {
	uint32_t start, end;
};
typedef ARRAY(struct shown_lines) shown_list;

static int by_start(const void *a, const void *b)
{
	const struct shown_lines *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static void merge(shown_list *l)
{
	uint32_t kept = 0;

	if (l->count)
		qsort(l->at, l->count, sizeof(*l->at), by_start);
	for (uint32_t i = 0; i < l->count; i++) {
		struct shown_lines *last = kept ? &l->at[kept - 1] : NULL;

		if (last && l->at[i].start <= last->end) {
			if (l->at[i].end > last->end)
				last->end = l->at[i].end;
		} else {
			l->at[kept++] = l->at[i];
		}
	}
	l->count = kept;
}

static uint64_t shared(struct world *w, const char *path, const shown_list *a,
		       const shown_list *b)
{
	uint64_t sum = 0;

	for (uint32_t i = 0, k = 0; i < a->count && k < b->count;) {
		struct shown_lines x = a->at[i], y = b->at[k];

		sum += world_tokens(w, path,
				    x.start > y.start ? x.start : y.start,
				    x.end < y.end ? x.end : y.end);
		if (x.end < y.end)
			i++;
		else
			k++;
	}
	return sum;
}

static void missing_of(const cJSON *spans, shown_list *ret)
{
	const cJSON *at;

	ret->count = 0;
	cJSON_ArrayForEach (at, spans)
		array_push(
			ret,
			((struct shown_lines){
				(uint32_t)cJSON_GetArrayItem(at, 0)->valueint,
				(uint32_t)cJSON_GetArrayItem(at, 1)
					->valueint }));
	merge(ret);
}

static void shown_of(const struct judged *j, const struct prediction *p,
		     const char *path, shown_list *ret)
{
	uint32_t most = world_lines(j->world, path);

	ret->count = 0;
	for (uint32_t i = 0; most != UINT32_MAX && i < p->regions.count; i++) {
		const struct prediction_region *r = &p->regions.at[i];
		struct shown_lines l = { r->start ? r->start : 1,
					 r->end < most ? r->end : most };

		if (strcmp(r->path, path) == 0 && l.start <= l.end)
			array_push(ret, l);
	}
	merge(ret);
}

static void add_found(struct score *s, const struct judged *j,
		      const struct prediction *p)
{
	shown_list missing = { 0 }, shown = { 0 };
	const cJSON *at;

	cJSON_ArrayForEach (at, json_member(j->label, j->span ? "missing_line"
							      : "missing")) {
		missing_of(at, &missing);
		for (uint32_t i = 0; i < missing.count; i++)
			s->missing += world_tokens(j->world, at->string,
						   missing.at[i].start,
						   missing.at[i].end);
		shown_of(j, p, at->string, &shown);
		s->found += shared(j->world, at->string, &missing, &shown);
	}
	array_release(&missing);
	array_release(&shown);
}

void score_add(struct score *s, const struct judged *j, enum score_reading how,
	       const struct prediction *p)
{
	struct judgement is;

	assert(p->leaving.count == j->held);
	score_judge(j, how, &is);
	s->points++;
	for (uint32_t i = 0; i < j->held; i++) {
		uint64_t n = j->trace->records.at[i].tokens;
		enum leaving out = (enum leaving)p->leaving.at[i];

		if (out == LEAVING_DROP)
			s->added += TOMBSTONE;
		else if (out == LEAVING_RERUN)
			s->added += STUB;
		if (is.needed.at[i] == 2)
			continue;
		s->held += n;
		if (is.needed.at[i] == 0)
			s->left += n;
		if (out != LEAVING_NOT && is.needed.at[i] == 0)
			s->cleared += n;
		else if (out != LEAVING_NOT)
			s->lost += n;
	}
	for (uint32_t i = 0; i < p->regions.count; i++)
		s->added += world_tokens(j->world, p->regions.at[i].path,
					 p->regions.at[i].start,
					 p->regions.at[i].end);
	add_found(s, j, p);
	score_judgement_release(&is);
}

void score_sum(struct score *s, const struct score *more)
{
	s->points += more->points;
	s->held += more->held;
	s->left += more->left;
	s->cleared += more->cleared;
	s->lost += more->lost;
	s->missing += more->missing;
	s->added += more->added;
	s->found += more->found;
}

static double per(uint64_t a, uint64_t b)
{
	return (double)a / (double)(b ? b : 1);
}

/* The operations in the scorer's order, for the same last digit. */
struct figures score_figures(const struct score *s)
{
	double precision = per(s->cleared, s->cleared + s->lost);
	double recall = per(s->cleared, s->left);
	double found = per(s->found, s->missing), sum = precision + recall;
	double added = per(s->added, s->points);

	return (struct figures){
		.cleared = 100 * recall,
		.lost = per(s->lost, s->points),
		.ce = s->lost	   ? (double)s->cleared / (double)s->lost
		      : s->cleared ? INFINITY
				   : NAN,
		.precision = 100 * precision,
		.f1 = 100 * 2 * precision * recall / (sum > 1e-9 ? sum : 1e-9),
		.found = 100 * found,
		.added = added,
		.re = s->added ? KAPPA * found / added : NAN,
	};
}
