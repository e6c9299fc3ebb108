/*
 * OpenAI Chat Completions:
 *
 *	messages  [{role: system, developer, user, assistant or tool,
 *	            content: string, parts or null, ...}, ...]
 *	an assistant's has tool_calls [{id, function: {name, arguments}}],
 *	a tool's has tool_call_id and follows the message with its call
 *
 * Other members of an assistant's message (reasoning_content and the like) are
 * echoed by some clients and verified by some servers: opaque.
 */
#include "manager/transcript/dialect.h"

#include <errno.h>

static void read_call(struct transcript_builder *r, uint32_t call)
{
	const struct dom *j = &r->j;
	uint32_t inside = dom_get(j, call, "function");
	const char *arguments = "arguments";
	uint32_t node;

	if (inside == DOM_NONE) {
		inside = dom_get(j, call, "custom");
		arguments = "input";
	}
	if (inside == DOM_NONE) {
		(void)builder_add(r, ITEM_OPAQUE, call);
		builder_part(r, call);
		return;
	}
	node = dom_get(j, inside, arguments);
	(void)builder_add(r, ITEM_CALL, call);
	builder_id(r, dom_text(j, dom_get(j, call, "id"), &r->t->arena));
	builder_call(r, dom_text(j, dom_get(j, inside, "name"), &r->t->arena),
		     dom_text(j, node, &r->t->arena));
	builder_done(r);
}

/* Is it a string or list that is not empty? */
static bool has_content(const struct dom *j, uint32_t node)
{
	if (j->nodes[node].type == DOM_STRING)
		return j->nodes[node].end - j->nodes[node].start > 2;
	return dom_first(j, node) != DOM_NONE;
}

static void read_text(struct transcript_builder *r, enum item_kind role,
		      uint32_t content)
{
	uint32_t first = r->pieces.count;

	if (!has_content(&r->j, content))
		return;
	(void)builder_add(r, role, content);
	builder_content(r, content);
	builder_done(r);
	if (role != ITEM_SYSTEM || r->asked)
		return;
	for (; first < r->pieces.count; first++)
		builder_system(r, transcript_piece(r->t, &r->pieces.at[first],
						   &r->t->arena));
}

static bool is_opaque_member(const struct dom *j, uint32_t key)
{
	uint8_t type = j->nodes[key + 1].type;

	return type >= DOM_STRING && !dom_is(j, key, "role") &&
	       !dom_is(j, key, "name") && !dom_is(j, key, "cache_control");
}

/* Items are added in the order of the members. */
static void read_members(struct transcript_builder *r, enum item_kind role,
			 uint32_t m)
{
	const struct dom *j = &r->j;
	uint32_t key, i;

	for (key = dom_first(j, m); key != DOM_NONE;
	     key = dom_next(j, m, key)) {
		if (dom_is(j, key, "content")) {
			read_text(r, role, key + 1);
		} else if (dom_is(j, key, "tool_calls")) {
			for (i = dom_first(j, key + 1); i != DOM_NONE;
			     i = dom_next(j, key + 1, i))
				read_call(r, i);
		} else if (is_opaque_member(j, key)) {
			(void)builder_add(r, ITEM_OPAQUE, key + 1);
			builder_part(r, key + 1);
		}
	}
	builder_mark(r, m, false);
}

static void read_result(struct transcript_builder *r, uint32_t m)
{
	const struct dom *j = &r->j;

	(void)builder_add(r, ITEM_RESULT, m);
	builder_id(r, dom_text(j, dom_get(j, m, "tool_call_id"), &r->t->arena));
	builder_content(r, dom_get(j, m, "content"));
	builder_mark(r, m, false);
	builder_done(r);
}

static int read_message(struct transcript_builder *r, uint32_t m)
{
	const struct dom *j = &r->j;
	uint32_t role = dom_get_type(j, m, "role", DOM_STRING);

	if (role == DOM_NONE)
		return -EBADMSG;
	if (dom_is(j, role, "tool"))
		read_result(r, m);
	else
		read_members(r, dialect_role(j, role), m);
	return 0;
}

static void read_session(struct transcript_builder *r)
{
	static const char *const names[] = { "prompt_cache_key", "session_id",
					     "user" };
	size_t i;

	for (i = 0; i < 3 && r->t->session.len == 0; i++)
		r->t->session = dom_text(&r->j, dom_get(&r->j, 0, names[i]),
					 &r->t->arena);
}

int dialect_chat(struct transcript_builder *r)
{
	uint32_t list = dom_get_type(&r->j, 0, "messages", DOM_ARRAY);

	if (list == DOM_NONE)
		return -EBADMSG;
	read_session(r);
	return builder_list(r, list, read_message);
}
