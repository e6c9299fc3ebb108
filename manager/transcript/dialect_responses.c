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
 * Everything else (reasoning and compaction, which are encrypted, images, calls
 * of the server's own tools) is opaque. Tools may also be in the input, in an
 * item of type additional_tools.
 */
#include "manager/transcript/dialect.h"

#include <errno.h>
#include <string.h>

/* Kinds of calls, and the member that holds the arguments. */
static const struct {
	const char *type;
	const char *name; /* NULL: the item's own */
	const char *arguments;
} calls[] = {
	{ "function_call", NULL, "arguments" },
	{ "custom_tool_call", NULL, "input" },
	{ "local_shell_call", "local_shell", "action" },
	{ "shell_call", "shell", "action" },
	{ "apply_patch_call", "apply_patch", "operation" },
};

bool dialect_responses_call(const struct dom *j, uint32_t item, struct arena *a,
			    struct dialect_call *ret)
{
	uint32_t type = dom_get(j, item, "type"), node;
	size_t c = 0;

	while (c < sizeof(calls) / sizeof(*calls) &&
	       !dom_is(j, type, calls[c].type))
		c++;
	if (c == sizeof(calls) / sizeof(*calls))
		return false;
	*ret = (struct dialect_call){ .arguments = { "", 0 } };
	ret->id = dom_text(j, dom_get(j, item, "call_id"), a);
	ret->name = dom_text(j, dom_get(j, item, "name"), a);
	if (calls[c].name)
		ret->name =
			(struct text){ calls[c].name, strlen(calls[c].name) };
	node = dom_get(j, item, calls[c].arguments);
	if (node != DOM_NONE && j->nodes[node].type == DOM_STRING)
		ret->arguments = dom_text(j, node, a);
	else if (node != DOM_NONE)
		ret->arguments = dialect_raw(j, node);
	return true;
}

static bool read_call(struct transcript_builder *r, uint32_t item)
{
	struct dialect_call c;

	if (!dialect_responses_call(&r->j, item, &r->t->arena, &c))
		return false;
	(void)builder_add(r, ITEM_CALL, item);
	builder_id(r, c.id);
	builder_call(r, c.name, c.arguments);
	return true;
}

static bool read_result(struct transcript_builder *r, uint32_t item,
			uint32_t type)
{
	static const char end[] = "_call_output";
	const struct dom *j = &r->j;
	uint32_t id = dom_get_type(j, item, "call_id", DOM_STRING);
	struct text t = dom_text(j, type, &r->t->arena);

	if (id == DOM_NONE || t.len < strlen(end) ||
	    memcmp(t.at + t.len - strlen(end), end, strlen(end)) != 0)
		return false;
	(void)builder_add(r, ITEM_RESULT, item);
	builder_id(r, dom_text(j, id, &r->t->arena));
	builder_content(r, dom_get(j, item, "output"));
	return true;
}

static void read_message(struct transcript_builder *r, uint32_t item)
{
	const struct dom *j = &r->j;
	enum item_kind role = dialect_role(j, dom_get(j, item, "role"));
	uint32_t first = r->pieces.count;

	(void)builder_add(r, role, item);
	builder_content(r, dom_get(j, item, "content"));
	if (role != ITEM_SYSTEM || r->asked)
		return;
	for (; first < r->pieces.count; first++)
		builder_system(r, transcript_piece(r->t, &r->pieces.at[first],
						   &r->t->arena));
}

static void read_opaque(struct transcript_builder *r, uint32_t item,
			uint32_t type)
{
	const struct dom *j = &r->j;

	(void)builder_add(r, ITEM_OPAQUE, item);
	builder_part(r, item);
	if (dom_is(j, type, "additional_tools"))
		builder_tools(r, dom_get_type(j, item, "tools", DOM_ARRAY));
	if (dom_is(j, type, "compaction_trigger"))
		r->t->compaction = true;
}

static int read_item(struct transcript_builder *r, uint32_t item)
{
	const struct dom *j = &r->j;
	uint32_t type = dom_get(j, item, "type");

	if (j->nodes[item].type != DOM_OBJECT)
		return -EBADMSG;
	if (dom_is(j, type, "message") ||
	    (type == DOM_NONE && dom_get(j, item, "role") != DOM_NONE))
		read_message(r, item);
	else if (!read_call(r, item) && !read_result(r, item, type))
		read_opaque(r, item, type);
	builder_done(r);
	return 0;
}

static void read_head(struct transcript_builder *r)
{
	const struct dom *j = &r->j;
	struct arena *a = &r->t->arena;
	uint32_t instructions = dom_get_type(j, 0, "instructions", DOM_STRING);
	uint32_t thread =
		dom_get(j, dom_get(j, 0, "client_metadata"), "thread_id");

	if (instructions != DOM_NONE)
		builder_system(r, dom_text(j, instructions, a));
	r->t->session = dom_text(j, thread, a);
	if (r->t->session.len == 0)
		r->t->session =
			dom_text(j, dom_get(j, 0, "prompt_cache_key"), a);
	r->t->partial = dom_get_type(j, 0, "previous_response_id",
				     DOM_STRING) != DOM_NONE;
}

int dialect_responses(struct transcript_builder *r)
{
	const struct dom *j = &r->j;
	uint32_t input = dom_get(j, 0, "input");

	read_head(r);
	if (input == DOM_NONE)
		return -EBADMSG;
	if (j->nodes[input].type == DOM_STRING) {
		(void)builder_add(r, ITEM_USER, input);
		builder_piece(r, input);
		builder_done(r);
		r->t->messages = 1;
		return 0;
	}
	if (j->nodes[input].type != DOM_ARRAY)
		return -EBADMSG;
	return builder_list(r, input, read_item);
}
