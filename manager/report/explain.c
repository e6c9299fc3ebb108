#include "manager/report/explain.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "graph/base/json.h"
#include "manager/decide/archive.h"

static cJSON *request_json(const struct archive_request *r)
{
	cJSON *j = cJSON_CreateObject(), *tokens, *cost;

	json_put_number(j, "request", r->request);
	json_put_number(j, "at_ns", (uint64_t)r->at_ns);
	json_put_text(j, "outcome", r->outcome);
	if (r->withheld)
		json_put_text(j, "withheld", r->withheld);
	json_put_text(j, "epoch", r->epoch);
	tokens = cJSON_AddObjectToObject(j, "tokens");
	json_put_number(tokens, "received", r->received);
	json_put_number(tokens, "sent", r->sent);
	json_put_number(tokens, "held", r->held);
	json_put_number(tokens, "stale", r->stale);
	json_put_number(tokens, "notes", r->notes);
	json_put_number(tokens, "refreshed", r->refreshed);
	json_put_number(tokens, "dropped", r->dropped);
	json_put_number(tokens, "rerun", r->rerun);
	json_put_number(tokens, "evicted", r->evicted);
	json_put_number(tokens, "retrieved", r->retrieved);
	json_put_number(j, "notified", r->notified);
	json_put_number(j, "replaced", r->replaced);
	json_put_number(j, "notes_sent", r->notes_sent);
	json_put_number(j, "replacements_sent", r->replacements_sent);
	cost = cJSON_AddObjectToObject(j, "cost");
	(void)cJSON_AddNumberToObject(cost, "with", r->cost_with);
	(void)cJSON_AddNumberToObject(cost, "without", r->cost_without);
	json_put_number(j, "latency_us", r->latency_us);
	return j;
}

static cJSON *decision_json(const struct decided *d)
{
	cJSON *j = cJSON_CreateObject();

	json_put_text(j, "call", d->key);
	json_put_text(j, "what", d->what);
	json_put_text(j, "action", d->action);
	json_put_text(j, "place", decided_place_names[d->place]);
	json_put_text(j, "form", d->form);
	json_put_text(j, "why", d->why);
	json_put_number(j, "entry", d->entry);
	json_put_number(j, "before", d->before);
	json_put_number(j, "after", d->after);
	json_put_text(j, "text", d->text);
	(void)cJSON_AddBoolToObject(
		j, "cut", d->place != DECIDED_NOWHERE && d->len < d->after);
	return j;
}

static void add_one(void *ctx, const struct archive_request *r)
{
	cJSON *j = request_json(r);
	cJSON *list = cJSON_AddArrayToObject(j, "decisions");

	for (uint32_t i = 0; i < r->decided->at.count; i++)
		(void)cJSON_AddItemToArray(
			list, decision_json(&r->decided->at.at[i]));
	(void)cJSON_AddItemToObject(ctx, "request", j);
}

static void add_to_list(void *ctx, const struct archive_request *r)
{
	(void)cJSON_AddItemToArray(ctx, request_json(r));
}

static int answer_for(struct archive *m, const char *key, const cJSON *number,
		      cJSON *answer)
{
	struct conversation *c = conversation_new(key);
	int rc;

	json_put_text(answer, "conversation", key);
	if (archive_load(m, c) == 0) {
		json_put_text(answer, "client", c->client);
		json_put_text(answer, "model", c->model);
	}
	conversation_free(c);
	if (!cJSON_IsNumber(number))
		return archive_requests(
			m, key, add_to_list,
			cJSON_AddArrayToObject(answer, "requests"));
	if (!(number->valuedouble >= 0) || number->valuedouble > UINT32_MAX)
		return 0;
	rc = archive_explain(m, key, (uint32_t)number->valuedouble, add_one,
			     answer);
	return rc == -ENOENT ? 0 : rc;
}

int explain_answer(struct archive *m, const cJSON *question, cJSON *answer)
{
	const char *wanted = cJSON_GetStringValue(
		cJSON_GetObjectItemCaseSensitive(question, "conversation"));
	const cJSON *number =
		cJSON_GetObjectItemCaseSensitive(question, "request");
	char **keys;
	size_t count;
	bool found = false;
	int rc = archive_list(m, &keys, &count);

	/* They come newest first. */
	for (size_t i = 0; i < count; i++) {
		if (rc == 0 && !found &&
		    (!wanted ||
		     strncmp(keys[i], wanted, strlen(wanted)) == 0)) {
			found = true;
			rc = answer_for(m, keys[i], number, answer);
		}
		free(keys[i]);
	}
	free(keys);
	return rc;
}

/* -- As text. */

/* The time of the request, in local time. */
static void print_time(const cJSON *r, char *ret, size_t size)
{
	time_t at = (time_t)(json_double(r, "at_ns", 0) / 1e9);
	struct tm tm;

	*ret = '\0';
	if (localtime_r(&at, &tm))
		(void)strftime(ret, size, "%Y-%m-%d %H:%M:%S", &tm);
}

static void print_line(FILE *out, const cJSON *r)
{
	const cJSON *t = cJSON_GetObjectItemCaseSensitive(r, "tokens");
	const char *withheld = json_string_or(r, "withheld", "");
	char when[32];

	print_time(r, when, sizeof(when));
	(void)fprintf(out, "%7.0f  %-19s %9.0f %9.0f %7.0f %8.0f %8.0f  %s",
		      json_double(r, "request", 0), when,
		      json_double(t, "received", 0), json_double(t, "sent", 0),
		      json_double(t, "stale", 0), json_double(r, "notified", 0),
		      json_double(r, "replaced", 0),
		      json_string_or(r, "outcome", ""));
	if (*withheld)
		(void)fprintf(out, ", but %s", withheld);
	(void)fputc('\n', out);
}

/* Each line behind a bar, control characters as "?". */
static void print_text(FILE *out, const char *text)
{
	while (*text) {
		(void)fputs("    | ", out);
		for (; *text && *text != '\n'; text++)
			(void)fputc((unsigned char)*text < ' ' && *text != '\t'
					    ? '?'
					    : *text,
				    out);
		(void)fputc('\n', out);
		text += *text == '\n';
	}
}

static void print_decision(FILE *out, const cJSON *d)
{
	const char *call = json_string_or(d, "call", "");
	const char *action = json_string_or(d, "action", "");
	const char *text = json_string_or(d, "text", "");

	(void)fprintf(out, "\n  %s: %s", json_string_or(d, "place", ""),
		      json_string_or(d, "what", ""));
	if (*call)
		(void)fprintf(out, " (%s)", call);
	if (*action)
		(void)fprintf(out, "  %s", action);
	(void)fprintf(out, "\n    why: %s", json_string_or(d, "why", ""));
	if (json_double(d, "entry", 0) > 0)
		(void)fprintf(out, " [entry %.0f]", json_double(d, "entry", 0));
	(void)fprintf(out, "\n    before: %.0f bytes, put in: %.0f bytes%s%s\n",
		      json_double(d, "before", 0), json_double(d, "after", 0),
		      *json_string_or(d, "form", "") ? ", " : "",
		      json_string_or(d, "form", ""));
	print_text(out, text);
	if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(d, "cut")))
		(void)fputs("    | ... (not all of it is kept)\n", out);
}

static void print_request(FILE *out, const cJSON *r)
{
	const cJSON *t = cJSON_GetObjectItemCaseSensitive(r, "tokens");
	const cJSON *cost = cJSON_GetObjectItemCaseSensitive(r, "cost");
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(r, "decisions");
	const char *withheld = json_string_or(r, "withheld", "");
	const cJSON *d;
	char when[32];

	print_time(r, when, sizeof(when));
	(void)fprintf(out, "request %.0f, %s: %s", json_double(r, "request", 0),
		      when, json_string_or(r, "outcome", ""));
	if (*withheld)
		(void)fprintf(out, ", but %s: the request received was sent",
			      withheld);
	(void)fprintf(out,
		      "\n  before: %.0f tokens received; held %.0f of tool "
		      "results, stale %.0f\n",
		      json_double(t, "received", 0), json_double(t, "held", 0),
		      json_double(t, "stale", 0));
	(void)fprintf(out,
		      "  after: %.0f tokens sent, with %.0f notes and %.0f "
		      "replacements, old and new; epoch %s\n",
		      json_double(t, "sent", 0),
		      json_double(r, "notes_sent", 0),
		      json_double(r, "replacements_sent", 0),
		      json_string_or(r, "epoch", ""));
	(void)fprintf(out,
		      "  cost %.0f with, %.0f without, as tokens of plain "
		      "input, estimated; %.1f ms added\n",
		      json_double(cost, "with", 0),
		      json_double(cost, "without", 0),
		      json_double(r, "latency_us", 0) / 1000);
	if (!cJSON_GetArraySize(list))
		(void)fputs("  nothing new was decided\n", out);
	cJSON_ArrayForEach (d, list)
		print_decision(out, d);
}

void explain_print(FILE *out, const cJSON *answer)
{
	const cJSON *one = cJSON_GetObjectItemCaseSensitive(answer, "request");
	const cJSON *r;

	(void)fprintf(out, "conversation %.12s %s %s\n",
		      json_string_or(answer, "conversation", ""),
		      json_string_or(answer, "client", ""),
		      json_string_or(answer, "model", ""));
	if (one) {
		print_request(out, one);
		return;
	}
	(void)fputs("request  at                   received      sent   stale "
		    "notified replaced  outcome\n",
		    out);
	cJSON_ArrayForEach (
		r, cJSON_GetObjectItemCaseSensitive(answer, "requests"))
		print_line(out, r);
}
