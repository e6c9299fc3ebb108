#include "manager/bench/body.h"

#include <stdio.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/base/json.h"
#include "manager/bench/trace.h"
#include "manager/bench/world.h"

#define BODY_MOST ((size_t)64 << 20)
#define FILE_MOST ((size_t)64 << 20)

static void put(struct buf *to, const char *text)
{
	if (buf_add(to, text, strlen(text)) < 0)
		must_have(NULL);
}

static void put_json(struct buf *to, cJSON *item)
{
	char *text = must_have(cJSON_PrintUnformatted(item));

	if (to->len)
		put(to, ",");
	put(to, text);
	cJSON_free(text);
	cJSON_Delete(item);
}

void body_init(struct body *b, const struct trace *t)
{
	cJSON *task = json_object(NULL, NULL);

	*b = (struct body){ .trace = t,
			    .messages = BUF(BODY_MOST),
			    .said = BUF(BODY_MOST),
			    .results = BUF(BODY_MOST) };
	json_put_text(task, "role", "user");
	json_put_text(task, "content", *t->task ? t->task : "Begin.");
	put_json(&b->messages, task);
}

void body_release(struct body *b)
{
	buf_release(&b->messages);
	buf_release(&b->said);
	buf_release(&b->results);
}

static void say(struct body *b, const char *text)
{
	cJSON *block = json_object(NULL, NULL);

	json_put_text(block, "type", "text");
	json_put_text(block, "text", text);
	put_json(&b->said, block);
}

/* Takes `input`. */
static void call(struct body *b, const char *id, const char *tool, cJSON *input)
{
	cJSON *block = json_object(NULL, NULL);

	json_put_text(block, "type", "tool_use");
	json_put_text(block, "id", id);
	json_put_text(block, "name", tool);
	json_put(block, "input", input);
	put_json(&b->said, block);
}

static void answer(struct body *b, const char *id, const char *text)
{
	cJSON *block = json_object(NULL, NULL);

	json_put_text(block, "type", "tool_result");
	json_put_text(block, "tool_use_id", id);
	json_put_text(block, "content", text);
	put_json(&b->results, block);
}

static void add_read(struct body *b, const struct trace_record *r)
{
	cJSON *input = json_object(NULL, NULL);

	json_put_text(input, "file_path", r->file ? r->file : "");
	if (r->start) {
		json_put_number(input, "offset", r->start);
		json_put_number(input, "limit", r->end - r->start + 1);
	}
	call(b, r->id, "Read", input);
	answer(b, r->id, r->text);
}

/* The text behind a first line that repeats `echo`, else all of it. */
static const char *behind(const char *text, const char *mark, const char *echo)
{
	size_t marked = strlen(mark), len = echo ? strlen(echo) : 0;

	if (strncmp(text, mark, marked) != 0 || !echo ||
	    strncmp(text + marked, echo, len) != 0)
		return text;
	text += marked + len;
	return *text == '\n' ? text + 1 : text;
}

static void add_run(struct body *b, const struct trace_record *r)
{
	cJSON *input = json_object(NULL, NULL);

	json_put_text(input, "command", r->cmd ? r->cmd : "");
	call(b, r->id, "Bash", input);
	answer(b, r->id, behind(r->text, "$ ", r->cmd));
}

static void add_search(struct body *b, const struct trace_record *r)
{
	cJSON *input = json_object(NULL, NULL);

	json_put_text(input, "pattern", r->query ? r->query : "");
	call(b, r->id, "Grep", input);
	answer(b, r->id, behind(r->text, "", r->query));
}

/* Lines [start, end] of the file with their numbers, as `cat -n` has them. */
static void put_snippet(struct buf *to, const struct world *w,
			const struct trace_record *r)
{
	CLEANUP(buf_release) struct buf text = BUF(FILE_MOST);
	const char *at, *stop;
	char number[16];

	if (!world_text(w, r->file, &text) || buf_add(&text, "", 1) < 0)
		return;
	at = text.data;
	for (uint32_t line = 1; *at && line <= r->end; line++, at = stop + 1) {
		stop = strchr(at, '\n');
		if (line < r->start)
			continue;
		(void)snprintf(number, sizeof(number), "%6u\t", line);
		put(to, number);
		(void)buf_add(to, at, (size_t)(stop + 1 - at));
	}
}

static void add_edit(struct body *b, const struct trace_record *r,
		     const struct world *w)
{
	CLEANUP(buf_release) struct buf text = BUF(FILE_MOST);
	cJSON *input = json_object(NULL, NULL);

	json_put_text(input, "file_path", r->file ? r->file : "");
	json_put_text(input, "new_string", r->text);
	call(b, r->id, "Edit", input);
	put(&text, "The file ");
	put(&text, r->file ? r->file : "");
	put(&text, " has been updated.");
	if (r->file && r->end && world_has(w, r->file)) {
		put(&text, " Here's the result of running `cat -n` on a "
			   "snippet of the edited file:\n");
		put_snippet(&text, w, r);
	}
	put(&text, "\n");
	(void)buf_add(&text, "", 1);
	answer(b, r->id, text.data);
}

void body_add(struct body *b, uint32_t i, const struct world *w)
{
	const struct trace_record *r = &b->trace->records.at[i];

	if (r->by)
		return;
	switch (r->kind) {
	case TRACE_READ:
		add_read(b, r);
		break;
	case TRACE_EDIT:
		add_edit(b, r, w);
		break;
	case TRACE_RUN:
		add_run(b, r);
		break;
	case TRACE_SEARCH:
		add_search(b, r);
		break;
	case TRACE_SAY:
		say(b, r->text);
		break;
	case TRACE_KINDS:
		break;
	}
}

static void end_message(struct buf *to, const char *role, struct buf *blocks)
{
	put(to, ",{\"role\":\"");
	put(to, role);
	put(to, "\",\"content\":[");
	(void)buf_add(to, blocks->data, blocks->len);
	put(to, "]}");
	blocks->len = 0;
}

void body_turn(struct body *b)
{
	/* Words without a call are said together with what comes next. */
	if (!b->results.len)
		return;
	end_message(&b->messages, "assistant", &b->said);
	end_message(&b->messages, "user", &b->results);
}

void body_whole(const struct body *b, struct buf *ret)
{
	ret->len = 0;
	put(ret, "{\"model\":\"recorded\",\"max_tokens\":1024,"
		 "\"tools\":[{\"name\":\"Read\"}],\"messages\":[");
	(void)buf_add(ret, b->messages.data, b->messages.len);
	put(ret, "]}");
}
