#include "manager/decide/cost.h"

#include <assert.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "graph/base/cleanup.h"
#include "graph/base/json.h"

/*
 * From the providers' public price lists. Unknown models get the most expensive
 * row, by which rewriting pays least.
 */
static const struct price built_in[] = {
	{ "claude-*-1m*", 0.1, 1.25, 300, 1000000, 1024 },
	{ "claude-*", 0.1, 1.25, 300, 200000, 1024 },
	/* Until 5.5 cache writes cost nothing extra, since then a quarter. */
	{ "gpt-5.[0-5]*", 0.1, 1.0, 300, 272000, 1024 },
	{ "gpt-4*", 0.25, 1.0, 300, 128000, 1024 },
	{ "gpt-*", 0.1, 1.25, 1800, 272000, 1024 },
	{ "o[1-9]*", 0.25, 1.0, 300, 200000, 1024 },
	{ "*", 0.1, 1.25, 300, 128000, 1024 },
};

void prices_init(struct prices *ret)
{
	*ret = (struct prices){ { 0 } };
	array_append(&ret->rows, built_in,
		     sizeof(built_in) / sizeof(built_in[0]));
}

void prices_release(struct prices *p)
{
	array_release(&p->rows);
}

const struct price *prices_of(const struct prices *p, const char *model,
			      size_t len)
{
	char name[128];

	assert(p->rows.count > 0);
	(void)snprintf(name, sizeof(name), "%.*s", (int)(len < 127 ? len : 127),
		       model ? model : "");
	for (uint32_t i = 0; i < p->rows.count; i++)
		if (fnmatch(p->rows.at[i].model, name, 0) == 0)
			return &p->rows.at[i];
	return array_last(&p->rows);
}

struct price price_of_hour(const struct price *p)
{
	struct price hour = *p;

	hour.life_s = p->life_s < UINT32_MAX / 12 ? p->life_s * 12 : UINT32_MAX;
	hour.write = p->write * 1.6;
	return hour;
}

static int number(const cJSON *row, const char *name, double least, double most,
		  double *value)
{
	const cJSON *j = cJSON_GetObjectItemCaseSensitive(row, name);

	if (!j)
		return 0;
	if (!cJSON_IsNumber(j) || !(j->valuedouble >= least) ||
	    !(j->valuedouble <= most))
		return -EINVAL;
	*value = j->valuedouble;
	return 0;
}

static int row_of(const struct prices *p, const cJSON *json, struct price *ret)
{
	const char *model = cJSON_GetStringValue(
		cJSON_GetObjectItemCaseSensitive(json, "model"));
	double life, window, shortest;
	struct price row;

	if (!model || !*model || strlen(model) >= sizeof(row.model))
		return -EINVAL;
	row = *prices_of(p, model, strlen(model));
	memset(row.model, 0, sizeof(row.model));
	memcpy(row.model, model, strlen(model));
	life = row.life_s;
	window = row.window;
	shortest = row.shortest;
	if (number(json, "read", 0, 1000, &row.read) < 0 ||
	    number(json, "write", 0, 1000, &row.write) < 0 ||
	    number(json, "life_s", 0, 1e9, &life) < 0 ||
	    number(json, "window", 1, 1e9, &window) < 0 ||
	    number(json, "shortest", 0, 1e9, &shortest) < 0)
		return -EINVAL;
	row.life_s = (uint32_t)life;
	row.window = (uint32_t)window;
	row.shortest = (uint32_t)shortest;
	*ret = row;
	return 0;
}

static int refuse(char **ret_why, int row)
{
	char *why = NULL;

	if (row < 0 && asprintf(&why, "the price table is not a JSON list") < 0)
		why = NULL;
	if (row >= 0 &&
	    asprintf(&why,
		     "row %d of the price table needs a model's name, and "
		     "numbers from 0: read, write, life_s, window, shortest",
		     row + 1) < 0)
		why = NULL;
	if (ret_why)
		*ret_why = why;
	else
		free(why);
	return -EINVAL;
}

int prices_override(struct prices *p, const char *json, char **ret_why)
{
	CLEANUP(json_p) cJSON *list = cJSON_Parse(json);
	struct prices all = { { 0 } };
	const cJSON *at;
	int row = 0;

	if (!cJSON_IsArray(list))
		return refuse(ret_why, -1);
	cJSON_ArrayForEach (at, list) {
		struct price new;

		if (row_of(p, at, &new) < 0) {
			prices_release(&all);
			return refuse(ret_why, row);
		}
		array_push(&all.rows, new);
		row++;
	}
	array_append(&all.rows, p->rows.at, p->rows.count);
	prices_release(p);
	*p = all;
	return 0;
}

double cost_of(const struct price *p, const struct charge *c)
{
	return p->read * (double)c->read + p->write * (double)c->written +
	       (double)c->plain;
}

size_t cost_best_cut(const struct price *p, const struct cost_change *c,
		     size_t n, uint32_t requests, double *ret_gain)
{
	double best = 0;
	int64_t shrink = 0;
	size_t at = n;

	for (size_t i = n; i-- > 0;) {
		double gain;

		shrink += c[i].shrink;
		gain = requests * p->read * (double)shrink -
		       (p->write - p->read) * (double)c[i].behind;
		if (gain > best) {
			best = gain;
			at = i;
		}
	}
	assert(at < n ? best > 0 : best == 0);
	if (ret_gain)
		*ret_gain = best;
	return at;
}

struct charge cost_request(const struct price *p, uint64_t tokens,
			   uint64_t same, int cold)
{
	struct charge c = { 0 };

	if (same > tokens)
		same = tokens;
	if (tokens < p->shortest) {
		c.plain = tokens;
		return c;
	}
	if (!cold && same >= p->shortest)
		c.read = same;
	c.written = tokens - c.read;
	assert(c.read + c.written == tokens);
	return c;
}
