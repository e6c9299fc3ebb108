/*
 * OpenAI Responses:
 *
 *	instructions  string
 *	input         string, or items: messages {role, content} with or
 *	              without a type; function_call {call_id, name, arguments},
 *	              custom_tool_call {call_id, name, input}, local_shell_call
 *	              and others {call_id, action}; for each of them one
 *	              ..._call_output {call_id, output: string or parts}
 *
 * Everything else (reasoning and compaction, which are encrypted, images, what
 * tools of the server did) is opaque. Tools may also stand in the input, as an
 * item of type additional_tools.
 */
#include "manager/transcript/dialect.h"

#include <errno.h>
#include <string.h>

/* Kinds of calls, and where each has its arguments. */
static const struct {
	const char *type;
	const char *name; /* NULL: the item has a name */
	const char *arguments;
} calls[] = {
	{ "function_call", NULL, "arguments" },
	{ "custom_tool_call", NULL, "input" },
	{ "local_shell_call", "local_shell", "action" },
	{ "shell_call", "shell", "action" },
	{ "apply_patch_call", "apply_patch", "operation" },
};

bool dialect_responses_call(const struct json *j, uint32_t item,
			    struct arena *a, struct dialect_call *ret)
{
	uint32_t type = json_get(j, item, "type"), node;
	size_t c = 0;

	while (c < sizeof(calls) / sizeof(*calls) &&
	       !json_is(j, type, calls[c].type))
		c++;
	if (c == sizeof(calls) / sizeof(*calls))
		return false;
	*ret = (struct dialect_call){ .arguments = { "", 0 } };
	ret->id = json_text(j, json_get(j, item, "call_id"), a);
	ret->name = json_text(j, json_get(j, item, "name"), a);
	if (calls[c].name)
		ret->name =
			(struct text){ calls[c].name, strlen(calls[c].name) };
	node = json_get(j, item, calls[c].arguments);
	if (node != JSON_NONE && j->nodes[node].type == JSON_STRING)
		ret->arguments = json_text(j, node, a);
	else if (node != JSON_NONE)
		ret->arguments = dialect_raw(j, node);
	return true;
}

static bool read_call(struct reading *r, uint32_t item)
{
	struct dialect_call c;

	if (!dialect_responses_call(&r->j, item, &r->t->arena, &c))
		return false;
	(void)reading_add(r, ITEM_CALL, item);
	reading_id(r, c.id);
	reading_call(r, c.name, c.arguments);
	return true;
}

static bool read_result(struct reading *r, uint32_t item, uint32_t type)
{
	static const char end[] = "_call_output";
	const struct json *j = &r->j;
	uint32_t id = json_get_type(j, item, "call_id", JSON_STRING);
	struct text t = json_text(j, type, &r->t->arena);

	if (id == JSON_NONE || t.len < strlen(end) ||
	    memcmp(t.at + t.len - strlen(end), end, strlen(end)) != 0)
		return false;
	(void)reading_add(r, ITEM_RESULT, item);
	reading_id(r, json_text(j, id, &r->t->arena));
	reading_content(r, json_get(j, item, "output"));
	return true;
}

static void read_message(struct reading *r, uint32_t item)
{
	const struct json *j = &r->j;
	enum item_kind role = dialect_role(j, json_get(j, item, "role"));
	uint32_t first = r->pieces.count;

	(void)reading_add(r, role, item);
	reading_content(r, json_get(j, item, "content"));
	if (role != ITEM_SYSTEM || r->asked)
		return;
	for (; first < r->pieces.count; first++)
		reading_system(r, transcript_piece(r->t, &r->pieces.at[first],
						   &r->t->arena));
}

static void read_opaque(struct reading *r, uint32_t item, uint32_t type)
{
	const struct json *j = &r->j;

	(void)reading_add(r, ITEM_OPAQUE, item);
	reading_part(r, item);
	if (json_is(j, type, "additional_tools"))
		reading_tools(r, json_get_type(j, item, "tools", JSON_ARRAY));
	if (json_is(j, type, "compaction_trigger"))
		r->t->compaction = true;
}

static int read_item(struct reading *r, uint32_t item)
{
	const struct json *j = &r->j;
	uint32_t type = json_get(j, item, "type");

	if (j->nodes[item].type != JSON_OBJECT)
		return -EBADMSG;
	if (json_is(j, type, "message") ||
	    (type == JSON_NONE && json_get(j, item, "role") != JSON_NONE))
		read_message(r, item);
	else if (!read_call(r, item) && !read_result(r, item, type))
		read_opaque(r, item, type);
	reading_done(r);
	return 0;
}

static void read_head(struct reading *r)
{
	const struct json *j = &r->j;
	struct arena *a = &r->t->arena;
	uint32_t instructions =
		json_get_type(j, 0, "instructions", JSON_STRING);
	uint32_t thread =
		json_get(j, json_get(j, 0, "client_metadata"), "thread_id");

	if (instructions != JSON_NONE)
		reading_system(r, json_text(j, instructions, a));
	r->t->session = json_text(j, thread, a);
	if (r->t->session.len == 0)
		r->t->session =
			json_text(j, json_get(j, 0, "prompt_cache_key"), a);
	r->t->partial = json_get_type(j, 0, "previous_response_id",
				      JSON_STRING) != JSON_NONE;
}

int dialect_responses(struct reading *r)
{
	const struct json *j = &r->j;
	uint32_t input = json_get(j, 0, "input");

	read_head(r);
	if (input == JSON_NONE)
		return -EBADMSG;
	if (j->nodes[input].type == JSON_STRING) {
		(void)reading_add(r, ITEM_USER, input);
		reading_piece(r, input);
		reading_done(r);
		r->t->messages = 1;
		return 0;
	}
	if (j->nodes[input].type != JSON_ARRAY)
		return -EBADMSG;
	return reading_list(r, input, read_item);
}
