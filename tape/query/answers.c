/* The table of questions, and the answers to SYNC, STATUS and VERIFY. */
#include "tape/query/answers.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/cleanup.h"
#include "graph/facts/lang.h"
#include "graph/graph.h"
#include "graph/outline.h"
#include "tape/query/answers_i.h"
#include "tape/query/drift.h"
#include "tape/store/store.h"

struct answers *answers_new(const struct answers_config *c)
{
	struct answers *a = must_calloc(1, sizeof(*a));

	assert(c->store);
	a->config = *c;
	a->reader = lang_readers_new();
	return a;
}

void answers_free(struct answers *a)
{
	if (!a)
		return;
	for (uint32_t k = 0; k < a->outlines.count; k++) {
		free(a->outlines.at[k].path);
		outline_free(a->outlines.at[k].outline);
	}
	array_release(&a->outlines);
	for (uint32_t k = 0; k < a->holds.count; k++)
		free(a->holds.at[k].holder);
	array_release(&a->holds);
	for (size_t k = 0; k < CREDITS_MAX; k++) {
		free(a->credits[k].text);
		free(a->credits[k].at);
	}
	answers_forget_spans(a);
	lang_readers_free(a->reader);
	drift_free(a->drift);
	arena_release(&a->scratch);
	free(a);
}

void answers_graph(struct answers *a, const struct graph *g)
{
	a->graph = g;
}

static int fill_one(const char *symbol, enum entry_set set, uint64_t n,
		    bool removed, void *arg)
{
	drift_set(arg, symbol, set, n, removed);
	return 0;
}

int answers_fill(struct answers *a)
{
	struct drift *d = drift_new(store_head(a->config.store));
	int r = store_last(a->config.store, fill_one, d);

	if (r < 0) {
		drift_free(d);
		return r;
	}
	drift_free(a->drift);
	a->drift = d;
	return 0;
}

void answers_entry(struct answers *a, const struct entry *e)
{
	assert(e->n > 0 && e->n <= store_head(a->config.store));
	if (a->drift)
		drift_add_entry(a->drift, e);
}

int answers_ensure_drift(struct answers *a)
{
	return a->drift ? 0 : answers_fill(a);
}

/* -- Helpers. */

int answers_refuse(cJSON *ret, int r, const char *format, ...)
{
	CLEANUP(free_p) char *text = NULL;
	va_list args;
	int len;

	va_start(args, format);
	len = vasprintf(&text, format, args);
	va_end(args);
	cJSON_DeleteItemFromObjectCaseSensitive(ret, "error");
	if (len >= 0)
		json_put(ret, "error", json_bytes(text));
	else
		text = NULL;
	return r;
}

int answers_refuse_offline(cJSON *ret)
{
	return answers_refuse(ret, -ENOTCONN, "The tape is not running.");
}

uint32_t answers_number32(const cJSON *q, const char *name, uint32_t otherwise)
{
	uint64_t n = json_number(q, name, otherwise);

	return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

/* -- SYNC, STATUS, VERIFY. */

static int read_wish(struct answers *a, const cJSON *q, cJSON *ret,
		     struct answers_wish *w)
{
	const cJSON *paths = json_member(q, "paths");

	w->within_ms = -1;
	if (json_member(q, "within_ms"))
		w->within_ms =
			(int)(answers_number32(q, "within_ms", 0) & INT32_MAX);
	w->everything = !paths;
	if (!paths)
		return 0;
	if (cJSON_GetArraySize(paths) > SYNC_PATHS_MAX)
		return answers_refuse(ret, -E2BIG,
				      "SYNC takes %d paths at most.",
				      SYNC_PATHS_MAX);
	w->paths = answers_paths_in(a, paths, &w->count);
	return 0;
}

static void put_open(const struct answers_head *head, const cJSON *q,
		     cJSON *ret)
{
	const cJSON *paths = json_member(q, "paths");
	cJSON *list = json_array(ret, "open");

	for (size_t k = 0; k < head->open_count; k++)
		json_push(list,
			  cJSON_Duplicate(
				  cJSON_GetArrayItem(paths, (int)head->open[k]),
				  true));
}

static int ask_sync(struct answers *a, const cJSON *q, cJSON *ret)
{
	struct answers_head head = { .n = 0 };
	struct answers_wish wish = { .paths = NULL };
	int r = 0;
	bool again;

	if (!a->config.sync)
		return answers_refuse_offline(ret);
	again = a->config.again && a->config.again(a->config.ctx);
	if (!again)
		r = read_wish(a, q, ret, &wish);
	if (r == 0)
		r = a->config.sync(a->config.ctx, again ? NULL : &wish, &head);
	if (r != 0)
		return r;
	json_put_number(ret, "n", head.n);
	json_put_number(ret, "journal", head.journal);
	json_put_bool(ret, "ready", head.ready);
	json_put_number(ret, "pending", head.pending);
	json_put_bool(ret, "unread", head.unread);
	if (json_member(q, "paths"))
		put_open(&head, q, ret);
	return 0;
}

static void put_graph(const struct graph *g, cJSON *ret)
{
	struct graph_stats st;
	size_t symbols = 0, edges = 0;

	graph_stat(g, &st);
	for (int k = 0; k < SYMBOL_KINDS; k++)
		symbols += st.symbols[k];
	for (int k = 0; k < EDGE_KINDS; k++)
		edges += st.edges[k];
	json_put_number(ret, "files", st.files);
	json_put_number(ret, "symbols", symbols);
	json_put_number(ret, "edges", edges);
}

/* All 63 bits: JSON numbers have 53. */
static void put_tape(struct answers *a, cJSON *ret)
{
	char hex[17];

	(void)snprintf(hex, sizeof(hex), "%016" PRIx64,
		       store_tape(a->config.store));
	json_put_text(ret, "tape", hex);
}

static int ask_status(struct answers *a, const cJSON *q, cJSON *ret)
{
	struct store_stats st;
	int r = store_stat(a->config.store, &st);

	(void)q;
	if (r < 0)
		return r;
	json_put_number(ret, "n", store_head(a->config.store));
	json_put_number(ret, "entries", st.entries);
	json_put_number(ret, "contents", st.contents);
	put_tape(a, ret);
	json_put_number(ret, "store_bytes", st.bytes);
	json_put_number(ret, "content_bytes", st.content_bytes);
	json_put_number(ret, "gaps", st.gaps);
	if (a->graph)
		put_graph(a->graph, ret);
	return a->config.status ? a->config.status(a->config.ctx, ret) : 0;
}

static answers_question *const handlers[ASKS] = {
	[ASK_SYNC] = ask_sync,	     [ASK_STATUS] = ask_status,
	[ASK_SINCE] = ask_since,     [ASK_LOG] = ask_log,
	[ASK_SHOW] = ask_show,	     [ASK_NOMINATE] = ask_nominate,
	[ASK_DRIFT] = ask_drift,     [ASK_SYMBOLS] = ask_symbols,
	[ASK_SYMBOL] = ask_symbol,   [ASK_NEIGHBOURS] = ask_neighbours,
	[ASK_SOURCE] = ask_source,   [ASK_VERSIONS] = ask_versions,
	[ASK_CONTENT] = ask_content, [ASK_BLAME] = ask_blame,
	[ASK_READSET] = ask_readset, [ASK_HOLD] = ask_hold,
	[ASK_RETIRE] = ask_retire,   [ASK_VERIFY] = ask_verify,
	[ASK_TURN] = ask_turn,	     [ASK_ANCHOR] = ask_anchor,
};

int answers_check_members(const struct protocol_member *table, const char *what,
			  const cJSON *object, cJSON *ret)
{
	CLEANUP(free_p) char *why = NULL;
	int r = protocol_check(table, what, object, &why);

	return r < 0 ? answers_refuse(ret, r, "%s",
				      why ? why : "Out of memory.")
		     : 0;
}

int answers_ask(void *answers, const char *ask, const cJSON *q, cJSON *answer)
{
	struct answers *a = answers;
	enum protocol_id id = protocol_find(ask);
	int r;

	if (id == ASKS)
		return -ENOSYS;
	assert(handlers[id]);
	a->asked++;
	r = answers_check_members(protocol_questions[id].asked, ask, q, answer);
	if (r == 0)
		r = handlers[id](a, q, answer);
	if (r == -EBADMSG && !json_member(answer, "error"))
		(void)answers_refuse(answer, r,
				     "The tape '%s' is damaged where this "
				     "looked; 'statetape verify' lists the "
				     "damage, and 'statetape log --store FILE' "
				     "reads what can be read.",
				     store_path(a->config.store));
	arena_release(&a->scratch);
	return r;
}
