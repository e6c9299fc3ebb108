#include "tools/verb/log/group.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/base/clock.h"
#include "graph/base/json.h"
#include "tools/cli/say.h"
#include "tools/verb/log/process.h"

static uint64_t pid_of(const cJSON *p)
{
	return json_number(p, "pid", 0);
}

/* Is this where commands begin: the turn's agent, or one we recognise? */
static bool is_session(const cJSON *p, uint64_t agent)
{
	return agent ? pid_of(p) == agent : process_is_session(p);
}

/*
 * An ancestor chain that ends without a session ends at the process in which
 * the recording was started: that one counts as the session.
 */
const cJSON *group_process(const cJSON *entry)
{
	const cJSON *author = json_member(entry, "author"), *p;
	uint64_t agent = pid_of(json_member(entry, "turn"));
	const cJSON *below = author, *before = author;

	if (!pid_of(author) || is_session(author, agent))
		return NULL;
	cJSON_ArrayForEach (p, json_member(author, "ancestors")) {
		if (is_session(p, agent))
			return below;
		before = below;
		below = p;
	}
	return before;
}

char *group_key(const cJSON *entry)
{
	const cJSON *turn = json_member(entry, "turn");
	const char *call = json_string(turn, "call");
	const char *origin =
		json_string_or(json_member(entry, "author"), "origin", "");
	const cJSON *p = call ? NULL : group_process(entry);

	if (call)
		return format_text("call %s %s",
				   json_string_or(turn, "conversation", ""),
				   call);
	if (p)
		return format_text("process %" PRIu64 " %" PRIu64, pid_of(p),
				   json_number(p, "start", 0));
	/* Of changes outside the mount, those of one moment belong together. */
	if (strcmp(json_string_or(entry, "kind", ""), "gap") != 0 &&
	    !pid_of(json_member(entry, "author")))
		return format_text("%s", origin);
	return format_text("entry %" PRIu64, json_number(entry, "n", 0));
}

void group_free(struct group *g)
{
	if (!g)
		return;
	for (uint32_t i = 0; i < g->entries.count; i++)
		cJSON_Delete(g->entries.at[i]);
	array_release(&g->entries);
	free(g->key);
	free(g);
}

void groups_release(struct groups *g)
{
	for (uint32_t i = g->taken; i < g->list.count; i++)
		group_free(g->list.at[i]);
	array_release(&g->list);
	*g = (struct groups){ .taken = 0 };
}

static bool is_over(const struct group *g, int64_t now_ns)
{
	return g->oldest_ns - now_ns >= GROUP_REST_S * NS_PER_S;
}

void groups_add(struct groups *g, cJSON *entry)
{
	int64_t at_ns = (int64_t)json_number(entry, "at_ns", 0);
	char *key = group_key(entry);
	struct group *mine = NULL;

	for (uint32_t i = g->list.count; i-- > g->taken && !mine;)
		if (!is_over(g->list.at[i], at_ns) &&
		    strcmp(g->list.at[i]->key, key) == 0)
			mine = g->list.at[i];
	if (mine) {
		free(key);
	} else {
		mine = must_calloc(1, sizeof(*mine));
		mine->key = key;
		mine->oldest_ns = at_ns;
		array_push(&g->list, mine);
	}
	array_push(&mine->entries, entry);
	if (at_ns < mine->oldest_ns)
		mine->oldest_ns = at_ns;
	g->seen_ns = at_ns;
}

struct group *groups_next(struct groups *g, bool end)
{
	struct group *first;

	if (g->taken == g->list.count)
		return NULL;
	first = g->list.at[g->taken];
	if (!end && !is_over(first, g->seen_ns))
		return NULL;
	g->taken++;
	return first;
}
