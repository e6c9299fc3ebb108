/*
 * Anthropic Messages:
 *
 *	system    string or text blocks
 *	messages  [{role, content: string or blocks}, ...]
 *	blocks    text; tool_use {id, name, input} of the assistant;
 *	          tool_result {tool_use_id, content, is_error} of the user, all
 *	          of a message's calls in the next one, in any order, first
 *
 * Everything else (thinking, redacted_thinking, images, documents, future
 * blocks) is opaque. A message's role may also be system.
 */
#include "manager/transcript/dialect.h"

#include <errno.h>
#include <string.h>

static void read_system(struct transcript_builder *r)
{
	const struct dom *j = &r->j;
	uint32_t prompt = dom_get(j, 0, "system"), i;
	struct text text;

	if (prompt == DOM_NONE)
		return;
	if (j->nodes[prompt].type == DOM_STRING)
		builder_system(r, dom_text(j, prompt, &r->t->arena));
	for (i = dom_first(j, prompt); i != DOM_NONE;
	     i = dom_next(j, prompt, i)) {
		text = dom_text(j, dom_get(j, i, "text"), &r->t->arena);
		builder_system(r, text);
		builder_mark(r, i, false);
	}
}

/*
 * metadata.user_id holds the session: as a member of a JSON text or, in older
 * versions of the client, behind "_session_".
 */
static void read_session(struct transcript_builder *r)
{
	static const char old[] = "_session_";
	struct dom inner = { 0 };
	struct text id;
	const char *at;

	id = dom_text(&r->j,
		      dom_get(&r->j, dom_get(&r->j, 0, "metadata"), "user_id"),
		      &r->t->arena);
	at = memmem(id.at, id.len, old, strlen(old));
	if (at) {
		at += strlen(old);
		r->t->session =
			(struct text){ at, id.len - (size_t)(at - id.at) };
	} else if (dom_scan(&inner, id.at, id.len) == 0) {
		r->t->session = dom_text(
			&inner, dom_get(&inner, 0, "session_id"), &r->t->arena);
	}
	dom_release(&inner);
}

static void read_clears(struct transcript_builder *r)
{
	const struct dom *j = &r->j;
	uint32_t edits =
		dom_get(j, dom_get(j, 0, "context_management"), "edits");
	uint32_t i;

	for (i = dom_first(j, edits); i != DOM_NONE;
	     i = dom_next(j, edits, i)) {
		struct text type =
			dom_text(j, dom_get(j, i, "type"), &r->t->arena);

		if (type.len >= 15 && !memcmp(type.at, "clear_tool_uses", 15))
			r->t->clears = true;
	}
}

static void read_call(struct transcript_builder *r, uint32_t block)
{
	const struct dom *j = &r->j;
	uint32_t input = dom_get(j, block, "input");
	struct text name = dom_text(j, dom_get(j, block, "name"), &r->t->arena);

	(void)builder_add(r, ITEM_CALL, block);
	builder_id(r, dom_text(j, dom_get(j, block, "id"), &r->t->arena));
	builder_call(r, name,
		     input == DOM_NONE ? (struct text){ "", 0 }
				       : dialect_raw(j, input));
}

static void read_result(struct transcript_builder *r, uint32_t block)
{
	const struct dom *j = &r->j;
	uint32_t error = dom_get(j, block, "is_error");

	(void)builder_add(r, ITEM_RESULT, block);
	builder_id(r,
		   dom_text(j, dom_get(j, block, "tool_use_id"), &r->t->arena));
	builder_content(r, dom_get(j, block, "content"));
	if (error != DOM_NONE && j->nodes[error].type == DOM_TRUE)
		builder_error(r);
}

static int read_block(struct transcript_builder *r, enum item_kind role,
		      uint32_t block)
{
	const struct dom *j = &r->j;
	uint32_t type = dom_get(j, block, "type");
	uint32_t text = dom_get_type(j, block, "text", DOM_STRING);

	if (j->nodes[block].type != DOM_OBJECT)
		return -EBADMSG;
	if (dom_is(j, type, "text") && text != DOM_NONE) {
		(void)builder_add(r, role, block);
		builder_piece(r, text);
	} else if (dom_is(j, type, "tool_use") && role == ITEM_ASSISTANT) {
		read_call(r, block);
	} else if (dom_is(j, type, "tool_result") && role == ITEM_USER) {
		read_result(r, block);
	} else {
		(void)builder_add(r, ITEM_OPAQUE, block);
		builder_part(r, block);
	}
	builder_mark(r, block, true);
	builder_done(r);
	return 0;
}

static int read_message(struct transcript_builder *r, uint32_t message)
{
	const struct dom *j = &r->j;
	enum item_kind role = dialect_role(j, dom_get(j, message, "role"));
	uint32_t content = dom_get(j, message, "content"), i;
	int e;

	if (content == DOM_NONE || j->nodes[message].type != DOM_OBJECT)
		return -EBADMSG;
	if (j->nodes[content].type == DOM_STRING) {
		(void)builder_add(r, role, content);
		builder_piece(r, content);
		builder_done(r);
		return 0;
	}
	if (j->nodes[content].type != DOM_ARRAY)
		return -EBADMSG;
	for (i = dom_first(j, content); i != DOM_NONE;
	     i = dom_next(j, content, i)) {
		e = read_block(r, role, i);
		if (e < 0)
			return e;
	}
	return 0;
}

int dialect_messages(struct transcript_builder *r)
{
	uint32_t list = dom_get_type(&r->j, 0, "messages", DOM_ARRAY);

	if (list == DOM_NONE)
		return -EBADMSG;
	read_system(r);
	read_session(r);
	read_clears(r);
	return builder_list(r, list, read_message);
}
