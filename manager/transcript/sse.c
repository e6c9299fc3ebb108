/*
 * Bytes become lines, lines become events, and each event is one JSON value,
 * which is scanned and forgotten; only the arguments of calls still open are
 * kept. A line that is complete in the bytes just received is not copied; other
 * lines are gathered, and skipped beyond a limit.
 */
#include "manager/transcript/sse.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "graph/base/alloc.h"
#include "graph/base/buf.h"
#include "manager/transcript/dialect.h"

enum form { FORM_UNKNOWN, FORM_EVENTS, FORM_JSON };

/* A call whose arguments are not complete. */
struct open_call {
	int64_t index;
	struct text id, name;
	struct buf arguments;
};

struct sse {
	enum dialect dialect;
	enum form form;
	struct buf line; /* an incomplete line, or JSON reply */
	bool skipping;	 /* until the end of a line that is too long */
	bool after_cr;	 /* a "\n" next belongs to the "\r" before it */
	struct buf data; /* of the event being read */
	struct dom j;
	struct arena arena;
	ARRAY(struct sse_call) calls;
	ARRAY(struct open_call) open;
	struct sse_seen seen;
};

struct sse *sse_new(enum dialect d, const char *content_type)
{
	struct sse *s = must_calloc(1, sizeof(*s));

	s->dialect = d;
	if (content_type && strncasecmp(content_type, "text/event-stream",
					strlen("text/event-stream")) == 0)
		s->form = FORM_EVENTS;
	else if (content_type && strncasecmp(content_type, "application/json",
					     strlen("application/json")) == 0)
		s->form = FORM_JSON;
	s->line = BUF(SSE_EVENT_MAX);
	s->data = BUF(SSE_EVENT_MAX);
	s->seen.usage = (struct sse_usage){ -1, -1, -1, -1, -1 };
	return s;
}

static void close_at(struct sse *s, uint32_t at)
{
	assert(at < s->open.count);
	buf_release(&s->open.at[at].arguments);
	s->open.count--;
	memmove(&s->open.at[at], &s->open.at[at + 1],
		(s->open.count - at) * sizeof(*s->open.at));
}

void sse_free(struct sse *s)
{
	if (!s)
		return;
	while (s->open.count > 0)
		close_at(s, s->open.count - 1);
	array_release(&s->open);
	array_release(&s->calls);
	buf_release(&s->line);
	buf_release(&s->data);
	dom_release(&s->j);
	arena_release(&s->arena);
	free(s);
}

const struct sse_seen *sse_seen(const struct sse *s)
{
	return &s->seen;
}

static struct text keep(struct sse *s, struct text t)
{
	return (struct text){ arena_copy(&s->arena, t.at, t.len), t.len };
}

static void add_call(struct sse *s, struct text id, struct text name,
		     struct text arguments)
{
	if (s->calls.count >= SSE_CALLS_MAX) {
		s->seen.lost = true;
		return;
	}
	array_push(&s->calls, ((struct sse_call){ keep(s, id), keep(s, name),
						  keep(s, arguments) }));
	s->seen.calls = s->calls.at;
	s->seen.calls_count = s->calls.count;
	assert(s->calls.count <= SSE_CALLS_MAX);
}

static struct text text_of(struct sse *s, uint32_t node)
{
	return dom_text(&s->j, node, &s->arena);
}

static struct text raw_of(const struct sse *s, uint32_t node)
{
	if (node == DOM_NONE)
		return (struct text){ "", 0 };
	return dialect_raw(&s->j, node);
}

static uint32_t find_open(const struct sse *s, int64_t index)
{
	uint32_t i;

	for (i = 0; i < s->open.count && s->open.at[i].index != index; i++)
		;
	return i;
}

static void open_call(struct sse *s, int64_t index, uint32_t id, uint32_t name)
{
	struct open_call *c;

	if (s->open.count >= SSE_CALLS_MAX) {
		s->seen.lost = true;
		return;
	}
	c = array_add(&s->open);
	c->index = index;
	c->id = keep(s, text_of(s, id));
	c->name = keep(s, text_of(s, name));
	c->arguments = BUF(SSE_EVENT_MAX);
}

static void add_arguments(struct sse *s, uint32_t at, struct text more)
{
	if (at < s->open.count &&
	    buf_add(&s->open.at[at].arguments, more.at, more.len) < 0)
		s->seen.lost = true;
}

/* The call's arguments are complete. */
static void close_call(struct sse *s, uint32_t at)
{
	const struct open_call *c;
	struct text arguments = { "", 0 };

	if (at >= s->open.count)
		return;
	c = &s->open.at[at];
	if (c->arguments.len > 0)
		arguments =
			(struct text){ c->arguments.data, c->arguments.len };
	add_call(s, c->id, c->name, arguments);
	close_at(s, at);
}

static void close_all(struct sse *s)
{
	while (s->open.count > 0)
		close_call(s, 0);
}

static const struct {
	const char *reason;
	enum sse_stop stop;
} reasons[] = {
	{ "end_turn", STOP_END },
	{ "stop_sequence", STOP_END },
	{ "stop", STOP_END },
	{ "tool_use", STOP_CALL },
	{ "tool_calls", STOP_CALL },
	{ "function_call", STOP_CALL },
	{ "max_tokens", STOP_LENGTH },
	{ "length", STOP_LENGTH },
	{ "max_output_tokens", STOP_LENGTH },
	{ "model_context_window_exceeded", STOP_LENGTH },
};

static void set_stop(struct sse *s, uint32_t node)
{
	size_t i;

	if (node == DOM_NONE || s->j.nodes[node].type != DOM_STRING)
		return;
	s->seen.stop = STOP_OTHER;
	for (i = 0; i < sizeof(reasons) / sizeof(*reasons); i++) {
		if (dom_is(&s->j, node, reasons[i].reason))
			s->seen.stop = reasons[i].stop;
	}
}

/* Usage comes in parts: a number that is not repeated stays. */
static void set_number(const struct sse *s, uint32_t object, const char *key,
		       int64_t *ret)
{
	*ret = dom_integer(&s->j, dom_get(&s->j, object, key), *ret);
}

static void usage_messages(struct sse *s, uint32_t usage)
{
	struct sse_usage *u = &s->seen.usage;

	set_number(s, usage, "input_tokens", &u->input);
	set_number(s, usage, "output_tokens", &u->output);
	set_number(s, usage, "cache_read_input_tokens", &u->cache_read);
	set_number(s, usage, "cache_creation_input_tokens", &u->cache_write);
	set_number(s, dom_get(&s->j, usage, "cache_creation"),
		   "ephemeral_1h_input_tokens", &u->cache_write_1h);
}

/*
 * OpenAI and compatible servers count the whole prompt as input; the cached
 * part of it is reported in one of several places.
 */
static void usage_openai(struct sse *s, uint32_t usage, const char *in,
			 const char *out)
{
	struct sse_usage *u = &s->seen.usage;
	int64_t all = dom_integer(&s->j, dom_get(&s->j, usage, in), -1);
	uint32_t details = dom_get(&s->j, usage, "input_tokens_details");

	if (all < 0)
		return;
	if (details == DOM_NONE)
		details = dom_get(&s->j, usage, "prompt_tokens_details");
	u->cache_read = u->cache_write = -1;
	set_number(s, usage, "cache_creation_input_tokens", &u->cache_write);
	set_number(s, usage, "prompt_cache_hit_tokens", &u->cache_read);
	set_number(s, usage, "cache_read_input_tokens", &u->cache_read);
	set_number(s, details, "cached_tokens", &u->cache_read);
	set_number(s, details, "cache_write_tokens", &u->cache_write);
	set_number(s, usage, out, &u->output);
	u->input = all - (u->cache_read > 0 ? u->cache_read : 0) -
		   (u->cache_write > 0 ? u->cache_write : 0);
	if (u->input < 0)
		u->input = 0;
}

static void is_broken(struct sse *s)
{
	s->seen.stop = STOP_ERROR;
}

/* A complete message object, of a stream or not. */
static void whole_messages(struct sse *s, uint32_t message)
{
	const struct dom *j = &s->j;
	uint32_t content = dom_get(j, message, "content"), i;

	for (i = dom_first(j, content); i != DOM_NONE;
	     i = dom_next(j, content, i)) {
		if (dom_is(j, dom_get(j, i, "type"), "tool_use"))
			add_call(s, text_of(s, dom_get(j, i, "id")),
				 text_of(s, dom_get(j, i, "name")),
				 raw_of(s, dom_get(j, i, "input")));
	}
	usage_messages(s, dom_get(j, message, "usage"));
	set_stop(s, dom_get(j, message, "stop_reason"));
}

static void start_block(struct sse *s, int64_t index)
{
	const struct dom *j = &s->j;
	uint32_t block = dom_get(j, 0, "content_block");
	uint32_t input = dom_get(j, block, "input");

	if (!dom_is(j, dom_get(j, block, "type"), "tool_use"))
		return;
	close_call(s, find_open(s, index));
	open_call(s, index, dom_get(j, block, "id"), dom_get(j, block, "name"));
	/* Mostly {}, with the arguments in deltas. */
	if (dom_first(j, input) != DOM_NONE)
		add_arguments(s, find_open(s, index), raw_of(s, input));
}

static void stop_block(struct sse *s, int64_t index)
{
	uint32_t at = find_open(s, index);

	if (at < s->open.count && s->open.at[at].arguments.len == 0)
		add_arguments(s, at, (struct text){ "{}", 2 });
	close_call(s, at);
}

static void event_messages(struct sse *s)
{
	const struct dom *j = &s->j;
	uint32_t type = dom_get(j, 0, "type");
	uint32_t delta = dom_get(j, 0, "delta");
	int64_t index = dom_integer(j, dom_get(j, 0, "index"), -1);

	if (dom_is(j, type, "content_block_delta")) {
		add_arguments(s, find_open(s, index),
			      text_of(s, dom_get(j, delta, "partial_json")));
	} else if (dom_is(j, type, "content_block_start")) {
		start_block(s, index);
	} else if (dom_is(j, type, "content_block_stop")) {
		stop_block(s, index);
	} else if (dom_is(j, type, "message_start")) {
		whole_messages(s, dom_get(j, 0, "message"));
	} else if (dom_is(j, type, "message_delta")) {
		usage_messages(s, dom_get(j, 0, "usage"));
		set_stop(s, dom_get(j, delta, "stop_reason"));
	} else if (dom_is(j, type, "message_stop")) {
		s->seen.over = true;
	} else if (dom_is(j, type, "error")) {
		is_broken(s);
	}
}

static bool knows_call(const struct sse *s, struct text id)
{
	uint32_t i;

	for (i = 0; i < s->calls.count; i++) {
		if (s->calls.at[i].id.len == id.len &&
		    memcmp(s->calls.at[i].id.at, id.at, id.len) == 0)
			return true;
	}
	return false;
}

static void item_responses(struct sse *s, uint32_t item)
{
	struct dialect_call c;

	if (dialect_responses_call(&s->j, item, &s->arena, &c) &&
	    !knows_call(s, c.id))
		add_call(s, c.id, c.name, c.arguments);
}

static void whole_responses(struct sse *s, uint32_t response)
{
	const struct dom *j = &s->j;
	uint32_t output = dom_get(j, response, "output"), i;
	uint32_t status = dom_get(j, response, "status");

	for (i = dom_first(j, output); i != DOM_NONE;
	     i = dom_next(j, output, i))
		item_responses(s, i);
	usage_openai(s, dom_get(j, response, "usage"), "input_tokens",
		     "output_tokens");
	if (dom_is(j, status, "completed"))
		s->seen.stop = s->calls.count > 0 ? STOP_CALL : STOP_END;
	else if (dom_is(j, status, "failed"))
		is_broken(s);
	else
		set_stop(s,
			 dom_get(j, dom_get(j, response, "incomplete_details"),
				 "reason"));
}

static void event_responses(struct sse *s)
{
	const struct dom *j = &s->j;
	uint32_t type = dom_get(j, 0, "type");

	if (dom_is(j, type, "response.output_item.done")) {
		item_responses(s, dom_get(j, 0, "item"));
	} else if (dom_is(j, type, "response.completed") ||
		   dom_is(j, type, "response.incomplete") ||
		   dom_is(j, type, "response.failed")) {
		whole_responses(s, dom_get(j, 0, "response"));
		s->seen.over = true;
	} else if (dom_is(j, type, "error")) {
		is_broken(s);
	}
}

/*
 * A part of a call. Most servers number the calls; some give each an id and no
 * number, and some number all of them 0.
 */
static void chunk_call(struct sse *s, uint32_t call, int64_t place)
{
	const struct dom *j = &s->j;
	uint32_t inside = dom_get(j, call, "function");
	uint32_t id = dom_get_type(j, call, "id", DOM_STRING);
	int64_t index = dom_integer(j, dom_get(j, call, "index"), place);
	uint32_t at = find_open(s, index);
	struct text text = text_of(s, id);

	if (at < s->open.count && text.len > 0 &&
	    (text.len != s->open.at[at].id.len ||
	     memcmp(text.at, s->open.at[at].id.at, text.len) != 0)) {
		close_call(s, at);
		at = s->open.count;
	}
	if (at == s->open.count)
		open_call(s, index, id, dom_get(j, inside, "name"));
	add_arguments(s, at, text_of(s, dom_get(j, inside, "arguments")));
}

static void choice_chat(struct sse *s, uint32_t choice)
{
	const struct dom *j = &s->j;
	uint32_t said = dom_get(j, choice, "delta"), calls, i;
	uint32_t why = dom_get_type(j, choice, "finish_reason", DOM_STRING);
	int64_t place = 0;

	if (said == DOM_NONE)
		said = dom_get(j, choice, "message");
	calls = dom_get(j, said, "tool_calls");
	for (i = dom_first(j, calls); i != DOM_NONE; i = dom_next(j, calls, i))
		chunk_call(s, i, place++);
	if (why == DOM_NONE)
		return;
	close_all(s);
	set_stop(s, why);
}

static void event_chat(struct sse *s)
{
	const struct dom *j = &s->j;
	uint32_t choices = dom_get(j, 0, "choices");
	uint32_t error = dom_get(j, 0, "error");

	/* Agents ask for one choice; further ones are ignored. */
	if (dom_first(j, choices) != DOM_NONE)
		choice_chat(s, dom_first(j, choices));
	usage_openai(s, dom_get(j, 0, "usage"), "prompt_tokens",
		     "completion_tokens");
	if (error != DOM_NONE && j->nodes[error].type == DOM_OBJECT)
		is_broken(s);
}

static void end_event(struct sse *s)
{
	static void (*const events[DIALECTS])(struct sse *) = {
		[DIALECT_MESSAGES] = event_messages,
		[DIALECT_RESPONSES] = event_responses,
		[DIALECT_CHAT] = event_chat,
	};
	struct buf *d = &s->data;

	if (d->len == 0)
		return;
	if (d->len == 6 && memcmp(d->data, "[DONE]", 6) == 0) {
		close_all(s);
		s->seen.over = true;
	} else if (dom_scan(&s->j, d->data, d->len) == 0) {
		events[s->dialect](s);
	} else {
		s->seen.lost = true;
	}
	d->len = 0;
}

static void take_line(struct sse *s, const char *line, size_t len)
{
	if (len == 0) {
		end_event(s);
		return;
	}
	if (len < 5 || memcmp(line, "data:", 5) != 0)
		return;
	line += 5;
	len -= 5;
	if (len > 0 && *line == ' ') {
		line++;
		len--;
	}
	if ((s->data.len > 0 && buf_add(&s->data, "\n", 1) < 0) ||
	    buf_add(&s->data, line, len) < 0) {
		/* The incomplete data is not JSON: end_event() drops it. */
		s->seen.lost = true;
	}
}

/* A line ends with these bytes; an earlier part of it may be gathered. */
static void end_line(struct sse *s, const char *bytes, size_t len)
{
	if (s->skipping) {
		s->skipping = false;
	} else if (s->line.len == 0) {
		take_line(s, bytes, len);
	} else if (buf_add(&s->line, bytes, len) < 0) {
		s->seen.lost = true;
	} else {
		take_line(s, s->line.data, s->line.len);
	}
	s->line.len = 0;
}

static void gather(struct sse *s, const char *bytes, size_t len)
{
	if (s->skipping || len == 0)
		return;
	if (buf_add(&s->line, bytes, len) == 0)
		return;
	s->seen.lost = true;
	s->skipping = true;
	s->line.len = 0;
}

static size_t line_end(const char *bytes, size_t len)
{
	size_t i = 0;

	while (i < len && bytes[i] != '\n' && bytes[i] != '\r')
		i++;
	return i;
}

static void feed_events(struct sse *s, const char *bytes, size_t len)
{
	while (len > 0) {
		size_t end;

		if (s->after_cr && *bytes == '\n') {
			bytes++;
			len--;
		}
		s->after_cr = false;
		end = line_end(bytes, len);
		if (end == len) {
			gather(s, bytes, len);
			return;
		}
		s->after_cr = bytes[end] == '\r';
		end_line(s, bytes, end);
		bytes += end + 1;
		len -= end + 1;
	}
}

void sse_feed(struct sse *s, const char *bytes, size_t len)
{
	while (s->form == FORM_UNKNOWN && len > 0) {
		if (!isspace((unsigned char)*bytes))
			s->form = *bytes == '{' ? FORM_JSON : FORM_EVENTS;
		else
			bytes++, len--;
	}
	assert(s->form != FORM_UNKNOWN || len == 0);
	if (s->form == FORM_JSON)
		gather(s, bytes, len);
	else
		feed_events(s, bytes, len);
}

static void read_json(struct sse *s)
{
	const struct dom *j = &s->j;

	if (s->skipping || s->line.len == 0)
		return;
	if (dom_scan(&s->j, s->line.data, s->line.len) < 0) {
		s->seen.lost = true;
		return;
	}
	s->seen.over = true;
	if (s->dialect == DIALECT_CHAT)
		event_chat(s);
	else if (dom_is(j, dom_get(j, 0, "type"), "error") ||
		 dom_get_type(j, 0, "error", DOM_OBJECT) != DOM_NONE)
		is_broken(s);
	else if (s->dialect == DIALECT_MESSAGES)
		whole_messages(s, 0);
	else
		whole_responses(s, 0);
}

void sse_end(struct sse *s)
{
	if (s->form == FORM_JSON) {
		read_json(s);
	} else {
		/* The last event may lack its empty line. */
		if (s->line.len > 0)
			end_line(s, "", 0);
		end_event(s);
	}
	/* Calls still open were cut off, and are dropped. */
	s->line.len = 0;
}
