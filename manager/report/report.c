#include "manager/report/report.h"

#include <errno.h>
#include <string.h>

#include "graph/base/cleanup.h"
#include "graph/base/json.h"
#include "manager/decide/brain_i.h"
#include "manager/report/explain.h"
#include "tape/wire/subscribe.h"

static const char *const kinds[] = { "read",  "edit", "run",  "search",
				     "shell", "stub", "other" };
static void add_counter(void *ctx, const char *name, uint64_t n)
{
	json_put_number(ctx, name, n);
}

static void add_sums(const struct archive_sums *s, cJSON *answer)
{
	cJSON *tokens, *cost, *latency, *usage;

	json_put_number(answer, "conversations", s->conversations);
	json_put_number(answer, "requests", s->requests);
	json_put_number(answer, "rewritten", s->rewrites);
	tokens = cJSON_AddObjectToObject(answer, "tokens");
	json_put_number(tokens, "received", s->received);
	json_put_number(tokens, "sent", s->sent);
	json_put_number(tokens, "held", s->held);
	json_put_number(tokens, "stale", s->stale);
	json_put_number(tokens, "refreshed", s->refreshed);
	json_put_number(tokens, "dropped", s->dropped);
	json_put_number(tokens, "rerun", s->rerun);
	json_put_number(tokens, "notes", s->notes);
	json_put_number(tokens, "evicted", s->evicted);
	json_put_number(tokens, "retrieved", s->retrieved);
	json_put_number(answer, "told", s->notified);
	json_put_number(answer, "placed", s->replaced);
	json_put_number(answer, "epochs", s->epochs);
	json_put_number(answer, "cache_rewrites", s->rewritten);
	cost = cJSON_AddObjectToObject(answer, "cost");
	(void)cJSON_AddNumberToObject(cost, "with", s->cost_with);
	(void)cJSON_AddNumberToObject(cost, "without", s->cost_without);
	(void)cJSON_AddNumberToObject(
		cost, "ratio",
		s->cost_without > 0 ? s->cost_with / s->cost_without : 1);
	latency = cJSON_AddObjectToObject(answer, "latency_us");
	json_put_number(latency, "p50", s->p50_us);
	json_put_number(latency, "p99", s->p99_us);
	usage = cJSON_AddObjectToObject(answer, "usage");
	json_put_number(usage, "input", s->usage_input);
	json_put_number(usage, "cache_read", s->usage_read);
	json_put_number(usage, "cache_write", s->usage_written);
	(void)cJSON_AddBoolToObject(answer, "estimated", 1);
}

static int answer_report(struct archive *m, const cJSON *question,
			 cJSON *answer)
{
	const cJSON *since =
		cJSON_GetObjectItemCaseSensitive(question, "since_ns");
	bool own = cJSON_IsTrue(json_member(question, "own"));
	struct archive_sums sums;
	int rc;

	rc = archive_sum(
		m, cJSON_IsNumber(since) ? (int64_t)since->valuedouble : 0, own,
		&sums);
	if (rc < 0)
		return rc;
	add_sums(&sums, answer);
	return archive_counters(m, own, add_counter,
				cJSON_AddObjectToObject(answer, "passed"));
}

_Static_assert(sizeof(kinds) / sizeof(kinds[0]) == RECORD_OTHER + 1,
	       "a word for each kind");

static void add_record(cJSON *list, const struct conversation *c,
		       const struct held *h, bool live)
{
	cJSON *j = cJSON_CreateObject();
	bool stale = h->tracked && (h->action != ACTION_KEEP ||
				    h->replaced == REPLACED_TOMBSTONE);

	(void)cJSON_AddStringToObject(j, "call", h->key);
	(void)cJSON_AddStringToObject(j, "kind", kinds[h->kind]);
	if (h->referents.count) {
		const struct referent *r = &h->referents.at[0];

		(void)cJSON_AddStringToObject(j, "path",
					      conversation_name(c, r->path));
		json_put_number(j, "start_line", r->start);
		json_put_number(j, "end_line", r->end);
	}
	json_put_number(j, "tokens", h->tokens);
	json_put_number(j, "birth", h->birth);
	json_put_number(j, "request", h->born_request);
	if (live)
		(void)cJSON_AddBoolToObject(j, "here", h->item != ITEM_NONE);
	(void)cJSON_AddStringToObject(j, "state",
				      h->replaced == REPLACED_EVICTED
					      ? "evicted"
				      : !h->tracked ? "untracked"
				      : stale	    ? "stale"
						    : "fresh");
	if (stale) {
		(void)cJSON_AddStringToObject(j, "action",
					      action_names[h->action]);
		(void)cJSON_AddStringToObject(j, "why", h->why ? h->why : "");
		(void)cJSON_AddStringToObject(j, "told",
					      notified_names[h->notified]);
		(void)cJSON_AddStringToObject(j, "place",
					      replaced_names[h->replaced]);
	}
	(void)cJSON_AddItemToArray(list, j);
}

static int by_request(const struct held *a, const struct held *b)
{
	if (a->born_request != b->born_request)
		return a->born_request < b->born_request ? -1 : 1;
	if (a->item != b->item)
		return a->item < b->item ? -1 : 1;
	return strcmp(a->key, b->key);
}

/* NOLINTBEGIN(readability-function-*): uthash's macros are not ours. */
static void add_conversation(cJSON *list, struct conversation *c, bool live)
{
	cJSON *j = cJSON_CreateObject();
	cJSON *records;
	struct held *h, *next;

	(void)cJSON_AddStringToObject(j, "key", c->key);
	(void)cJSON_AddStringToObject(j, "client", c->client);
	(void)cJSON_AddStringToObject(j, "model", c->model);
	json_put_number(j, "requests", c->requests);
	(void)cJSON_AddBoolToObject(j, "subagent", c->subagent);
	(void)cJSON_AddBoolToObject(j, "left_alone", c->refused);
	(void)cJSON_AddBoolToObject(j, "stopped", c->stopped);
	records = cJSON_AddArrayToObject(j, "records");
	HASH_SRT(hh, c->held, by_request);
	HASH_ITER (hh, c->held, h, next)
		add_record(records, c, h, live);
	(void)cJSON_AddItemToArray(list, j);
}

/* NOLINTEND(readability-function-*) */

/* One conversation: the brain's if there is a brain, else the archive's. */
static void answer_one(struct brain *b, struct archive *m, const char *key,
		       cJSON *list)
{
	struct conversation *c;

	if (!b) {
		c = conversation_new(key);
		if (archive_load(m, c) == 0)
			add_conversation(list, c, false);
		conversation_free(c);
		return;
	}
	c = brain_conversation(b, key, 0);
	(void)pthread_mutex_lock(&c->lock);
	if (!c->loaded) {
		(void)archive_load(m, c);
		c->loaded = true;
	}
	add_conversation(list, c, true);
	(void)pthread_mutex_unlock(&c->lock);
	brain_leave(b, c);
}

static int answer_context(struct brain *b, struct archive *m,
			  const cJSON *question, cJSON *answer)
{
	const char *wanted = cJSON_GetStringValue(
		cJSON_GetObjectItemCaseSensitive(question, "conversation"));
	cJSON *list = cJSON_AddArrayToObject(answer, "conversations");
	char **keys;
	size_t count;
	bool found = false;
	int rc = archive_list(m, &keys, &count);

	for (size_t i = 0; rc == 0 && i < count; i++) {
		if (!found && (!wanted ||
			       strncmp(keys[i], wanted, strlen(wanted)) == 0)) {
			answer_one(b, m, keys[i], list);
			found = !wanted;
		}
		free(keys[i]);
	}
	free(keys);
	return rc;
}

int report_from(struct archive *m, const char *ask, const cJSON *question,
		cJSON *answer)
{
	if (strcmp(ask, "REPORT") == 0)
		return answer_report(m, question, answer);
	if (strcmp(ask, "CONTEXT") == 0)
		return answer_context(NULL, m, question, answer);
	if (strcmp(ask, "EXPLAIN") == 0)
		return explain_answer(m, question, answer);
	return -ENOSYS;
}

static void add_subscription(const struct subscribe *s, cJSON *answer)
{
	struct subscribe_stats st;
	cJSON *tape;

	if (!s)
		return;
	subscribe_stat(s, &st);
	tape = cJSON_AddObjectToObject(answer, "tape");
	(void)cJSON_AddBoolToObject(tape, "connected", st.connected);
	json_put_number(tape, "n", st.n);
	json_put_number(tape, "entries", st.entries);
	json_put_number(tape, "gaps", st.gaps);
}

int report_answer(struct brain *b, const char *ask, const cJSON *question,
		  cJSON *answer)
{
	if (strcmp(ask, "STATUS") == 0) {
		(void)cJSON_AddStringToObject(answer, "mode",
					      mode_names[b->mode]);
		(void)cJSON_AddStringToObject(answer, "policy",
					      b->policy->name);
		add_subscription(b->subscribe, answer);
		return archive_counters(
			b->archive, false, add_counter,
			cJSON_AddObjectToObject(answer, "passed"));
	}
	if (strcmp(ask, "CONTEXT") == 0)
		return answer_context(b, b->archive, question, answer);
	return report_from(b->archive, ask, question, answer);
}
