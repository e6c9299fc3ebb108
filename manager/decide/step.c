#include "manager/decide/step.h"

#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/base/json.h"
#include "manager/decide/conversation.h"
#include "manager/decide/evidence.h"
#include "manager/record/record_parts.h"
#include "manager/transcript/sse.h"

/* Of a prompt, and of a command. */
#define WORDS_MAX   96
#define COMMAND_MAX 1024
/* Results that may be new in a request: the last ones. */
#define RESULTS_MAX 64

static const char *begin_of(struct text t, size_t *ret_len)
{
	while (t.len && isspace((unsigned char)*t.at)) {
		t.at++;
		t.len--;
	}
	*ret_len = t.len;
	return t.at;
}

/*
 * Clients put texts of their own among the user's, in a tag
 * (<system-reminder>, <environment_context>).
 */
static bool is_prompt(const struct transcript *t, const struct item *i,
		      struct arena *a)
{
	size_t len;
	const char *at;

	if (i->kind != ITEM_USER || i->attached.len)
		return false;
	at = begin_of(transcript_text(t, i, a), &len);
	return len && !(len > 1 && at[0] == '<' &&
			(isalpha((unsigned char)at[1]) || at[1] == '_'));
}

/* The user's last prompt; ITEM_NONE: there is none. */
static uint32_t last_prompt(const struct transcript *t, struct arena *a)
{
	for (uint32_t i = t->items_count; i-- > 0;)
		if (is_prompt(t, &t->items[i], a))
			return i;
	return ITEM_NONE;
}

/*
 * The same in all requests of a turn: what was asked, how often the same was
 * asked before, and how the conversation began, which a compaction changes.
 */
static void put_name(cJSON *to, const struct transcript *t, uint32_t prompt)
{
	uint64_t parts[3] = { t->items[prompt].hash, 0, t->first_hash };
	char name[17];

	for (uint32_t i = 0; i < prompt; i++)
		parts[1] += t->items[i].kind == ITEM_USER &&
			    t->items[i].hash == parts[0];
	(void)snprintf(name, sizeof(name), "%016" PRIx64,
		       XXH3_64bits(parts, sizeof(parts)));
	json_put_text(to, "turn", name);
}

/* The first words in one line. */
static void put_words(cJSON *to, struct text t)
{
	char words[WORDS_MAX + 8];
	size_t n = 0, len;
	const char *at = begin_of(t, &len), *end = at + len;

	for (; at < end && n < WORDS_MAX; at++) {
		bool blank = isspace((unsigned char)*at) || !*at;

		if (!blank)
			words[n++] = *at;
		else if (n && words[n - 1] != ' ')
			words[n++] = ' ';
	}
	while (n && (words[n - 1] == ' ' ||
		     (at < end && ((unsigned char)words[n - 1] & 0x80))))
		n--;
	words[n] = '\0';
	if (at < end)
		memcpy(words + n, "...", sizeof("..."));
	json_put_bytes(to, "prompt", words);
}

static void put_text(cJSON *to, const char *name, struct text t, size_t max)
{
	CLEANUP(free_p) char *copy = NULL;
	size_t len = t.len < max ? t.len : max;

	while (len < t.len && len && ((unsigned char)t.at[len] & 0xc0) == 0x80)
		len--;
	copy = must_memdup(t.at, len);
	json_put_bytes(to, name, copy);
}

static void put_results(cJSON *to, const struct transcript *t)
{
	cJSON *list = json_array(to, "results");
	size_t count = 0;

	for (uint32_t i = t->items_count; i-- > 0 && count < RESULTS_MAX;) {
		const struct item *item = &t->items[i];
		CLEANUP(free_p) char *id = NULL;

		if (item->kind != ITEM_RESULT || !item->id.len)
			continue;
		id = must_memdup(item->id.at, item->id.len);
		(void)json_push(list, json_bytes(id));
		count++;
	}
}

cJSON *step_begin(const struct conversation *c, const struct transcript *t,
		  int64_t at_ns, bool words)
{
	CLEANUP(arena_release) struct arena a = { 0 };
	uint32_t prompt = t->compaction ? ITEM_NONE : last_prompt(t, &a);
	cJSON *o;

	if (prompt == ITEM_NONE)
		return NULL;
	o = json_object(NULL, NULL);
	json_put_text(o, "conversation", c->key);
	json_put_text(o, "client", c->client);
	put_text(o, "model", t->model, WORDS_MAX);
	put_name(o, t, prompt);
	if (words)
		put_words(o, transcript_text(t, &t->items[prompt], &a));
	json_put_time(o, "at_ns", at_ns);
	put_results(o, t);
	return o;
}

void step_of_process(cJSON *step, uint32_t pid, uint64_t start)
{
	CLEANUP(free_p) char *both = NULL;
	XXH128_hash_t hash;

	if (asprintf(&both, "%s %" PRIu32 " %" PRIu64,
		     json_string_or(step, "conversation", ""), pid, start) < 0)
		abort();
	hash = XXH3_128bits(both, strlen(both));
	cJSON_DeleteItemFromObjectCaseSensitive(step, "conversation");
	json_put_hash(step, "conversation", hash);
}

/* -- Calls. */

/* The files that a call names, from the root. */
static void put_paths(cJSON *to, const struct tool_call *c,
		      const struct roots *roots)
{
	cJSON *list = json_array(to, "paths");
	char path[PATH_MAX];

	for (uint32_t i = 0; i < c->paths_count; i++)
		if (evidence_path(roots, c->dir, c->paths[i], path,
				  sizeof(path)))
			(void)json_push(list, json_bytes(path));
}

/* Calls that change nothing are of no interest. */
static void put_call(cJSON *list, const struct sse_call *call,
		     const struct roots *roots, struct arena *a)
{
	struct tool_call c;
	cJSON *o;

	tool_call(call->name, call->arguments, a, &c);
	if (c.class == TOOL_READ || c.class == TOOL_SEARCH ||
	    c.class == TOOL_NOTHING)
		return;
	o = json_push_object(list);
	put_text(o, "id", call->id, COMMAND_MAX);
	put_text(o, "tool", call->name, WORDS_MAX);
	if (c.class == TOOL_SHELL && c.command.len)
		put_text(o, "command", c.command, COMMAND_MAX);
	/* A patch may be applied in a shell command. */
	if (c.class == TOOL_EDIT)
		put_paths(o, &c, roots);
}

void step_add_calls(cJSON *step, const struct sse_seen *seen,
		    const struct roots *roots, int64_t at_ns)
{
	CLEANUP(arena_release) struct arena a = { 0 };
	cJSON *list = json_array(step, "calls");

	for (uint32_t i = 0; i < seen->calls_count; i++)
		put_call(list, &seen->calls[i], roots, &a);
	json_put_time(step, "calls_ns", at_ns);
}
