/*
 * TURN: which tool call of which conversation a process works on; and the turn
 * of an entry, derived from what is known when it is asked for.
 */
#include <errno.h>
#include <string.h>

#include "graph/base/cleanup.h"
#include "tape/journal/journal.h"
#include "tape/query/answers_i.h"
#include "tape/query/credit.h"
#include "tape/store/turns.h"

#define CHAIN_MAX 64
/* Calls that are looked at: those under way and the newest before them. */
#define CALLS_MAX 64

/* -- What the manager tells. */

static const char *bytes_in(struct answers *a, const cJSON *q, const char *name)
{
	const char *text = answers_bytes_in(a, q, name);

	return text ? text : "";
}

/* Names as one text, a line each. */
static const char *lines_in(struct answers *a, const cJSON *list)
{
	ARRAY(char) all = { 0 };
	const cJSON *item;
	const char *copy;

	cJSON_ArrayForEach (item, list) {
		const char *name = answers_bytes_of(a, item);

		if (!name || strchr(name, '\n'))
			continue;
		array_append(&all, name, strlen(name));
		array_push(&all, '\n');
	}
	copy = all.count ? arena_copy(&a->scratch, all.at, all.count - 1) : "";
	array_release(&all);
	return copy;
}

static int read_calls(struct answers *a, const cJSON *list,
		      struct turn_step *step, cJSON *ret)
{
	size_t size = (size_t)cJSON_GetArraySize(list) + 1;
	struct turn_call *calls =
		arena_take(&a->scratch, size * sizeof(*calls));
	const cJSON *item;

	cJSON_ArrayForEach (item, list) {
		int r = answers_check_members(protocol_call, "a call", item,
					      ret);

		if (r < 0)
			return r;
		calls[step->calls_count++] = (struct turn_call){
			.name = json_string_or(item, "id", ""),
			.tool = json_string_or(item, "tool", ""),
			.command = bytes_in(a, item, "command"),
			.paths = lines_in(a, json_member(item, "paths")),
		};
	}
	step->calls = calls;
	return 0;
}

static void read_results(struct answers *a, const cJSON *list,
			 struct turn_step *step)
{
	size_t size = (size_t)cJSON_GetArraySize(list) + 1;
	const char **names = arena_take(&a->scratch, size * sizeof(*names));
	const cJSON *item;

	cJSON_ArrayForEach (item, list) {
		names[step->results_count] = answers_bytes_of(a, item);
		step->results_count += names[step->results_count] != NULL;
	}
	step->results = names;
}

int ask_turn(struct answers *a, const cJSON *q, cJSON *ret)
{
	struct turn_step step = {
		.conversation = json_string_or(q, "conversation", ""),
		.client = json_string_or(q, "client", ""),
		.model = json_string_or(q, "model", ""),
		.name = json_string_or(q, "turn", ""),
		.prompt = bytes_in(a, q, "prompt"),
		.agent = { answers_number32(q, "pid", 0),
			   json_number(q, "start", 0) },
		.at_ns = (int64_t)json_number(q, "at_ns", 0),
		.calls_ns = (int64_t)json_number(q, "calls_ns", 0),
	};
	uint64_t ordinal = 0;
	int r;

	if (!a->config.sync)
		return answers_refuse_offline(ret);
	read_results(a, json_member(q, "results"), &step);
	r = read_calls(a, json_member(q, "calls"), &step, ret);
	if (r < 0)
		return r;
	r = store_put_step(a->config.store, &step, &ordinal);
	if (r == 0)
		json_put_number(ret, "ordinal", ordinal);
	return r;
}

/* -- The turn of an entry. */

struct turn_search {
	struct answers *a;
	struct turn_agent agent;
	struct credit_call calls[CALLS_MAX];
	struct turn_made made[CALLS_MAX];
	size_t count;
};

static const char *keep(struct turn_search *s, const char *text)
{
	return *text ? arena_copy(&s->a->scratch, text, strlen(text)) : "";
}

static void add_call(const struct turn_made *made, void *arg)
{
	struct turn_search *s = arg;
	size_t at = s->count++;

	s->made[at] = (struct turn_made){
		.turn = made->turn,
		.open = made->open,
		.call = { .name = keep(s, made->call.name),
			  .tool = keep(s, made->call.tool),
			  .command = keep(s, made->call.command),
			  .paths = keep(s, made->call.paths) },
	};
	s->calls[at] =
		(struct credit_call){ s->made[at].call.command,
				      s->made[at].call.paths, made->open };
}

/*
 * The agent nearest to the author: its turn in *ret, and the command lines of
 * the processes below it. 1: there is one.
 */
static int find_agent(struct turn_search *s, const struct entry *e,
		      const char **cmdlines, size_t *ret_depth, int64_t *ret)
{
	const struct journal_author *p = e->author;
	int r = 0;

	for (size_t depth = 0; p && depth < CHAIN_MAX; p = p->parent) {
		s->agent = (struct turn_agent){ p->pid, p->start };
		r = store_turn_at(s->a->config.store, s->agent, e->at_ns, ret);
		*ret_depth = depth;
		if (r != 0)
			return r;
		cmdlines[depth++] = p->cmdline ? p->cmdline : "";
	}
	return 0;
}

/*
 * Without a call: the turn of all calls under way, if it is one, else the one
 * that the agent made its last request for.
 */
static int64_t turn_without(const struct turn_search *s, int64_t last)
{
	int64_t turn = 0;

	for (size_t i = 0; i < s->count; i++) {
		if (!s->made[i].open)
			continue;
		if (turn && turn != s->made[i].turn)
			return last;
		turn = s->made[i].turn;
	}
	return turn ? turn : last;
}

static int put_turn(const struct turn_search *s, cJSON *to, int64_t id,
		    const struct turn_call *call)
{
	struct answers *a = s->a;
	struct turn_seen t;
	int r = store_turn(a->config.store, id, &a->scratch, &t);
	cJSON *o;

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	o = json_object(to, "turn");
	json_put_text(o, "conversation", t.conversation);
	json_put_text(o, "client", t.client);
	json_put_text(o, "model", t.model);
	json_put_number(o, "ordinal", t.ordinal);
	json_put_number(o, "pid", s->agent.pid);
	if (*t.prompt)
		json_put_bytes(o, "prompt", t.prompt);
	if (!call)
		return 0;
	json_put_text(o, "call", call->name);
	json_put_text(o, "tool", call->tool);
	if (*call->command)
		json_put_bytes(o, "command", call->command);
	return 0;
}

int answers_put_turn(struct answers *a, const struct entry *e, cJSON *to)
{
	const char *cmdlines[CHAIN_MAX];
	struct turn_search s = { .a = a };
	struct credit_entry about = { e->path, e->path2, cmdlines, 0 };
	int64_t turn = 0;
	size_t at;
	int r;

	r = find_agent(&s, e, cmdlines, &about.cmdlines_count, &turn);
	if (r <= 0)
		return r;
	r = store_calls_at(a->config.store, s.agent, e->at_ns, CALLS_MAX,
			   add_call, &s);
	if (r < 0)
		return r;
	at = credit_choose(&about, s.calls, s.count);
	if (at == CREDIT_NONE)
		return put_turn(&s, to, turn_without(&s, turn), NULL);
	return put_turn(&s, to, s.made[at].turn, &s.made[at].call);
}
