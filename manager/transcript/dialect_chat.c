/*
 * OpenAI Chat Completions:
 *
 *	messages  [{role: system, developer, user, assistant or tool,
 *	            content: string, parts or null, ...}, ...]
 *	an assistant's has tool_calls [{id, function: {name, arguments}}],
 *	a tool's has tool_call_id and follows the message with its call
 *
 * What else an assistant's message holds (reasoning_content and the like) is
 * echoed by some clients and checked by some servers: opaque.
 */
#include "manager/transcript/dialect.h"

#include <errno.h>

static void read_call(struct reading *r, uint32_t call)
{
	const struct json *j = &r->j;
	uint32_t inside = json_get(j, call, "function");
	const char *arguments = "arguments";
	uint32_t node;

	if (inside == JSON_NONE) {
		inside = json_get(j, call, "custom");
		arguments = "input";
	}
	if (inside == JSON_NONE) {
		(void)reading_add(r, ITEM_OPAQUE, call);
		reading_part(r, call);
		return;
	}
	node = json_get(j, inside, arguments);
	(void)reading_add(r, ITEM_CALL, call);
	reading_id(r, json_text(j, json_get(j, call, "id"), &r->t->arena));
	reading_call(r, json_text(j, json_get(j, inside, "name"), &r->t->arena),
		     json_text(j, node, &r->t->arena));
	reading_done(r);
}

/* A string or list that says something. */
static bool has_content(const struct json *j, uint32_t node)
{
	if (j->nodes[node].type == JSON_STRING)
		return j->nodes[node].end - j->nodes[node].start > 2;
	return json_first(j, node) != JSON_NONE;
}

static void read_text(struct reading *r, enum item_kind role, uint32_t content)
{
	uint32_t first = r->pieces.count;

	if (!has_content(&r->j, content))
		return;
	(void)reading_add(r, role, content);
	reading_content(r, content);
	reading_done(r);
	if (role != ITEM_SYSTEM || r->asked)
		return;
	for (; first < r->pieces.count; first++)
		reading_system(r, transcript_piece(r->t, &r->pieces.at[first],
						   &r->t->arena));
}

static bool is_opaque_member(const struct json *j, uint32_t key)
{
	uint8_t type = j->nodes[key + 1].type;

	return type >= JSON_STRING && !json_is(j, key, "role") &&
	       !json_is(j, key, "name") && !json_is(j, key, "cache_control");
}

/* Members in the order they stand in. */
static void read_members(struct reading *r, enum item_kind role, uint32_t m)
{
	const struct json *j = &r->j;
	uint32_t key, i;

	for (key = json_first(j, m); key != JSON_NONE;
	     key = json_after(j, m, key)) {
		if (json_is(j, key, "content")) {
			read_text(r, role, key + 1);
		} else if (json_is(j, key, "tool_calls")) {
			for (i = json_first(j, key + 1); i != JSON_NONE;
			     i = json_after(j, key + 1, i))
				read_call(r, i);
		} else if (is_opaque_member(j, key)) {
			(void)reading_add(r, ITEM_OPAQUE, key + 1);
			reading_part(r, key + 1);
		}
	}
	reading_mark(r, m, false);
}

static void read_result(struct reading *r, uint32_t m)
{
	const struct json *j = &r->j;

	(void)reading_add(r, ITEM_RESULT, m);
	reading_id(r,
		   json_text(j, json_get(j, m, "tool_call_id"), &r->t->arena));
	reading_content(r, json_get(j, m, "content"));
	reading_mark(r, m, false);
	reading_done(r);
}

static int read_message(struct reading *r, uint32_t m)
{
	const struct json *j = &r->j;
	uint32_t role = json_get_type(j, m, "role", JSON_STRING);

	if (role == JSON_NONE)
		return -EBADMSG;
	if (json_is(j, role, "tool"))
		read_result(r, m);
	else
		read_members(r, dialect_role(j, role), m);
	return 0;
}

static void read_session(struct reading *r)
{
	static const char *const names[] = { "prompt_cache_key", "session_id",
					     "user" };
	size_t i;

	for (i = 0; i < 3 && r->t->session.len == 0; i++)
		r->t->session = json_text(&r->j, json_get(&r->j, 0, names[i]),
					  &r->t->arena);
}

int dialect_chat(struct reading *r)
{
	uint32_t list = json_get_type(&r->j, 0, "messages", JSON_ARRAY);

	if (list == JSON_NONE)
		return -EBADMSG;
	read_session(r);
	return reading_list(r, list, read_message);
}
