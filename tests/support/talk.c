#include "tests/support/talk.h"

#include <stdio.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/base/buf.h"
#include "manager/transcript/dom.h"

static char *own(const char *text)
{
	char *copy = must_alloc(strlen(text) + 1);

	memcpy(copy, text, strlen(text) + 1);
	return copy;
}

static void turn_release(struct talk_turn *t)
{
	for (uint32_t i = 0; i < t->calls.count; i++) {
		free(t->calls.at[i].id);
		free(t->calls.at[i].tool);
		free(t->calls.at[i].arguments);
		free(t->calls.at[i].head);
		free(t->calls.at[i].result);
	}
	array_release(&t->calls);
	free(t->user);
}

void talk_rewind(struct talk *t, uint32_t turns)
{
	while (t->turns.count > turns)
		turn_release(&t->turns.at[--t->turns.count]);
}

void talk_release(struct talk *t)
{
	talk_rewind(t, 0);
	array_release(&t->turns);
}

void talk_user(struct talk *t, const char *text)
{
	struct talk_turn *turn = array_add(&t->turns);

	turn->user = own(text);
}

void talk_turn(struct talk *t, bool reversed, bool prompted)
{
	struct talk_turn *turn = array_add(&t->turns);

	turn->reversed = reversed;
	turn->prompted = prompted;
}

const char *talk_call(struct talk *t, const char *tool, const char *arguments,
		      const char *head, const char *result)
{
	struct talk_call *c = array_add(&array_last(&t->turns)->calls);

	if (asprintf(&c->id, "call_%s_%05u", t->id, t->ids++) < 0)
		abort();
	c->tool = own(tool);
	c->arguments = own(arguments);
	c->head = own(head);
	c->result = own(result);
	return c->id;
}

/* -- Writing. */

static void put(struct buf *b, const char *text)
{
	if (buf_add(b, text, strlen(text)) < 0)
		abort();
}

static void quote(struct buf *b, const char *text)
{
	size_t len = strlen(text);
	char *out = must_alloc(6 * len + 1);

	put(b, "\"");
	(void)buf_add(b, out, literal_encode(text, len, out));
	put(b, "\"");
	free(out);
}

static void member(struct buf *b, const char *name, const char *value)
{
	put(b, "\"");
	put(b, name);
	put(b, "\":");
	quote(b, value);
}

/* The text of a result as one string, or as a list of two parts. */
static void result_text(struct buf *b, const struct talk_call *c,
			const char *part)
{
	struct buf all = BUF((size_t)8 << 20);

	if (*c->head && strcmp(c->tool, "exec") == 0) {
		put(b, "[{\"type\":\"");
		put(b, part);
		put(b, "\",");
		member(b, "text", c->head);
		put(b, "},{\"type\":\"");
		put(b, part);
		put(b, "\",");
		member(b, "text", c->result);
		put(b, "}]");
		return;
	}
	put(&all, c->head);
	put(&all, c->result);
	(void)buf_add(&all, "", 1);
	quote(b, all.data);
	buf_release(&all);
}

static const struct talk_call *in_order(const struct talk_turn *t, uint32_t i)
{
	return &t->calls.at[t->reversed ? t->calls.count - 1 - i : i];
}

static void messages_turn(struct buf *b, const struct talk_turn *t, uint32_t n,
			  bool last)
{
	static const char mark[] =
		",\"cache_control\":{\"type\":\"ephemeral\"}";
	char number[32];

	if (t->user) {
		put(b, "{\"role\":\"user\",\"content\":[{\"type\":\"text\",");
		member(b, "text", t->user);
		put(b, last ? mark : "");
		put(b, "}]}");
		return;
	}
	(void)snprintf(number, sizeof(number), "sig%u==", n);
	put(b, "{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\","
	       "\"thinking\":\"hm\",");
	member(b, "signature", number);
	put(b, "}");
	for (uint32_t i = 0; i < t->calls.count; i++) {
		put(b, ",{\"type\":\"tool_use\",");
		member(b, "id", t->calls.at[i].id);
		put(b, ",");
		member(b, "name", t->calls.at[i].tool);
		put(b, ",\"input\":");
		put(b, t->calls.at[i].arguments);
		put(b, "}");
	}
	put(b, "]},{\"role\":\"user\",\"content\":[");
	for (uint32_t i = 0; i < t->calls.count; i++) {
		put(b, i ? ",{" : "{");
		member(b, "tool_use_id", in_order(t, i)->id);
		put(b, ",\"type\":\"tool_result\",\"content\":");
		result_text(b, in_order(t, i), "text");
		put(b, last && i + 1 == t->calls.count ? mark : "");
		put(b, "}");
	}
	put(b, "]}");
	if (t->prompted)
		put(b, ",{\"role\":\"system\",\"content\":\"Tell them.\"}");
}

static void responses_turn(struct buf *b, const struct talk_turn *t, uint32_t n)
{
	char number[32];

	if (t->user) {
		put(b, "{\"type\":\"message\",\"role\":\"user\",\"content\":"
		       "[{\"type\":\"input_text\",");
		member(b, "text", t->user);
		put(b, "}]}");
		return;
	}
	(void)snprintf(number, sizeof(number), "gAAAA%u==", n);
	put(b, "{\"type\":\"reasoning\",\"summary\":[],");
	member(b, "encrypted_content", number);
	put(b, "}");
	for (uint32_t i = 0; i < t->calls.count; i++) {
		const struct talk_call *c = &t->calls.at[i];
		bool custom = strcmp(c->tool, "exec") == 0;

		put(b, custom ? ",{\"type\":\"custom_tool_call\","
			      : ",{\"type\":\"function_call\",");
		member(b, "call_id", c->id);
		put(b, ",");
		member(b, "name", c->tool);
		put(b, ",");
		member(b, custom ? "input" : "arguments", c->arguments);
		put(b, "}");
	}
	for (uint32_t i = 0; i < t->calls.count; i++) {
		const struct talk_call *c = in_order(t, i);

		put(b, strcmp(c->tool, "exec") == 0
			       ? ",{\"type\":\"custom_tool_call_output\","
			       : ",{\"type\":\"function_call_output\",");
		member(b, "call_id", c->id);
		put(b, ",\"output\":");
		result_text(b, c, "input_text");
		put(b, ",\"create_time\":1794794973.2446554}");
	}
	if (t->prompted)
		put(b, ",{\"role\":\"developer\",\"content\":\"Tell them.\"}");
}

static void chat_turn(struct buf *b, const struct talk_turn *t, uint32_t n)
{
	char number[32];

	if (t->user) {
		put(b, "{\"role\":\"user\",");
		member(b, "content", t->user);
		put(b, "}");
		return;
	}
	(void)snprintf(number, sizeof(number), "thought %u", n);
	put(b, "{\"role\":\"assistant\",\"content\":null,");
	member(b, "reasoning_content", number);
	put(b, ",\"tool_calls\":[");
	for (uint32_t i = 0; i < t->calls.count; i++) {
		put(b, i ? ",{" : "{");
		member(b, "id", t->calls.at[i].id);
		put(b, ",\"type\":\"function\",\"function\":{");
		member(b, "name", t->calls.at[i].tool);
		put(b, ",");
		member(b, "arguments", t->calls.at[i].arguments);
		put(b, "}}");
	}
	put(b, "]}");
	for (uint32_t i = 0; i < t->calls.count; i++) {
		put(b, ",{\"role\":\"tool\",");
		member(b, "tool_call_id", in_order(t, i)->id);
		put(b, ",\"content\":");
		result_text(b, in_order(t, i), "text");
		put(b, "}");
	}
}

char *talk_body(const struct talk *t, size_t *ret_len)
{
	struct buf b = BUF((size_t)64 << 20);
	bool responses = t->dialect == DIALECT_RESPONSES;

	put(&b, "{\"model\":\"claude-opus-5\",\"limit\":9007199254740991,");
	if (t->dialect == DIALECT_MESSAGES)
		put(&b, "\"system\":[{\"type\":\"text\",\"text\":\"You are.\","
			"\"cache_control\":{\"type\":\"ephemeral\"}}],");
	put(&b, responses ? "\"input\":[" : "\"messages\":[");
	for (uint32_t i = 0; i < t->turns.count; i++) {
		const struct talk_turn *turn = &t->turns.at[i];

		put(&b, i ? "," : "");
		if (responses)
			responses_turn(&b, turn, i);
		else if (t->dialect == DIALECT_CHAT)
			chat_turn(&b, turn, i);
		else
			messages_turn(&b, turn, i, i + 1 == t->turns.count);
	}
	put(&b, "],\"tools\":[{\"name\":\"Read\"}],\"stream\":true}");
	*ret_len = b.len;
	(void)buf_add(&b, "", 1);
	return b.data;
}
