/*
 * Anthropic Messages:
 *
 *	system    string or text blocks
 *	messages  [{role, content: string or blocks}, ...]
 *	blocks    text; tool_use {id, name, input} of the assistant;
 *	          tool_result {tool_use_id, content, is_error} of the user, all
 *	          of a message's calls in the next one, in any order, first
 *
 * Everything else (thinking, redacted_thinking, images, documents, what comes
 * next year) is opaque. A message's role may also be system.
 */
#include "manager/transcript/dialect.h"

#include <errno.h>
#include <string.h>

static void read_system(struct reading *r)
{
	const struct json *j = &r->j;
	uint32_t prompt = json_get(j, 0, "system"), i;
	struct text text;

	if (prompt == JSON_NONE)
		return;
	if (j->nodes[prompt].type == JSON_STRING)
		reading_system(r, json_text(j, prompt, &r->t->arena));
	for (i = json_first(j, prompt); i != JSON_NONE;
	     i = json_after(j, prompt, i)) {
		text = json_text(j, json_get(j, i, "text"), &r->t->arena);
		reading_system(r, text);
		reading_mark(r, i, false);
	}
}

/*
 * metadata.user_id names the session: as a member of a JSON text, or behind
 * "_session_" in older versions.
 */
static void read_session(struct reading *r)
{
	static const char old[] = "_session_";
	struct json inner = { 0 };
	struct text id;
	const char *at;

	id = json_text(
		&r->j,
		json_get(&r->j, json_get(&r->j, 0, "metadata"), "user_id"),
		&r->t->arena);
	at = memmem(id.at, id.len, old, strlen(old));
	if (at) {
		at += strlen(old);
		r->t->session =
			(struct text){ at, id.len - (size_t)(at - id.at) };
	} else if (json_scan(&inner, id.at, id.len) == 0) {
		r->t->session =
			json_text(&inner, json_get(&inner, 0, "session_id"),
				  &r->t->arena);
	}
	json_release(&inner);
}

static void read_clears(struct reading *r)
{
	const struct json *j = &r->j;
	uint32_t edits =
		json_get(j, json_get(j, 0, "context_management"), "edits");
	uint32_t i;

	for (i = json_first(j, edits); i != JSON_NONE;
	     i = json_after(j, edits, i)) {
		struct text type =
			json_text(j, json_get(j, i, "type"), &r->t->arena);

		if (type.len >= 15 && !memcmp(type.at, "clear_tool_uses", 15))
			r->t->clears = true;
	}
}

static void read_call(struct reading *r, uint32_t block)
{
	const struct json *j = &r->j;
	uint32_t input = json_get(j, block, "input");
	struct text name =
		json_text(j, json_get(j, block, "name"), &r->t->arena);

	(void)reading_add(r, ITEM_CALL, block);
	reading_id(r, json_text(j, json_get(j, block, "id"), &r->t->arena));
	reading_call(r, name,
		     input == JSON_NONE ? (struct text){ "", 0 }
					: dialect_raw(j, input));
}

static void read_result(struct reading *r, uint32_t block)
{
	const struct json *j = &r->j;
	uint32_t error = json_get(j, block, "is_error");

	(void)reading_add(r, ITEM_RESULT, block);
	reading_id(r, json_text(j, json_get(j, block, "tool_use_id"),
				&r->t->arena));
	reading_content(r, json_get(j, block, "content"));
	if (error != JSON_NONE && j->nodes[error].type == JSON_TRUE)
		reading_error(r);
}

static int read_block(struct reading *r, enum item_kind role, uint32_t block)
{
	const struct json *j = &r->j;
	uint32_t type = json_get(j, block, "type");
	uint32_t text = json_get_type(j, block, "text", JSON_STRING);

	if (j->nodes[block].type != JSON_OBJECT)
		return -EBADMSG;
	if (json_is(j, type, "text") && text != JSON_NONE) {
		(void)reading_add(r, role, block);
		reading_piece(r, text);
	} else if (json_is(j, type, "tool_use") && role == ITEM_ASSISTANT) {
		read_call(r, block);
	} else if (json_is(j, type, "tool_result") && role == ITEM_USER) {
		read_result(r, block);
	} else {
		(void)reading_add(r, ITEM_OPAQUE, block);
		reading_part(r, block);
	}
	reading_mark(r, block, true);
	reading_done(r);
	return 0;
}

static int read_message(struct reading *r, uint32_t message)
{
	const struct json *j = &r->j;
	enum item_kind role = dialect_role(j, json_get(j, message, "role"));
	uint32_t content = json_get(j, message, "content"), i;
	int e;

	if (content == JSON_NONE || j->nodes[message].type != JSON_OBJECT)
		return -EBADMSG;
	if (j->nodes[content].type == JSON_STRING) {
		(void)reading_add(r, role, content);
		reading_piece(r, content);
		reading_done(r);
		return 0;
	}
	if (j->nodes[content].type != JSON_ARRAY)
		return -EBADMSG;
	for (i = json_first(j, content); i != JSON_NONE;
	     i = json_after(j, content, i)) {
		e = read_block(r, role, i);
		if (e < 0)
			return e;
	}
	return 0;
}

int dialect_messages(struct reading *r)
{
	uint32_t list = json_get_type(&r->j, 0, "messages", JSON_ARRAY);

	if (list == JSON_NONE)
		return -EBADMSG;
	read_system(r);
	read_session(r);
	read_clears(r);
	return reading_list(r, list, read_message);
}
