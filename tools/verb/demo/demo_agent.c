/*
 * The scripted agent: keeps a transcript as agents do, sends all of it with
 * each request, and carries out what the model asks for: reads files, edits
 * them, runs commands.
 */
#include <cjson/cJSON.h>
#include <curl/curl.h>
#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "graph/base/alloc.h"
#include "graph/base/buf.h"
#include "graph/base/cleanup.h"
#include "graph/base/json.h"
#include "tools/cli/say.h"
#include "tools/verb/demo/demo.h"

#define ANSWER_MAX (4u << 20)
#define OUTPUT_MAX (64u << 10)
#define TURNS_MAX  20
#define AGENT_NAME "agent"

struct play {
	char *url;
	cJSON *messages;
	struct show show;
};

static void play_release(struct play *p)
{
	cJSON_Delete(p->messages);
	show_release(&p->show);
	free(p->url);
}

/* Tools. Each returns its result's text (free it). */

static char *do_read(const cJSON *input)
{
	size_t len;
	CLEANUP(free_p)
	char *text = demo_read(json_string_or(input, "file_path", ""), &len);
	char *numbered = must_have(strdup(""));
	unsigned n = 1;

	if (!text)
		return numbered;
	for (char *line = text; *line; n++) {
		size_t size = strcspn(line, "\n");
		char *longer = format_text("%s%u\t%.*s\n", numbered, n,
					   (int)size, line);

		free(numbered);
		numbered = longer;
		line += size + (line[size] == '\n');
	}
	return numbered;
}

static char *do_edit(const cJSON *input)
{
	const char *path = json_string_or(input, "file_path", "");
	const char *old = json_string_or(input, "old_string", "");
	const char *new = json_string_or(input, "new_string", "");
	size_t len;
	CLEANUP(free_p) char *text = demo_read(path, &len);
	CLEANUP(free_p) char *after = NULL;
	const char *at = text ? strstr(text, old) : NULL;

	if (!at)
		return format_text("String to replace not found in %s.", path);
	after = format_text("%.*s%s%s", (int)(at - text), text, new,
			    at + strlen(old));
	if (demo_write(path, after, strlen(after)) < 0)
		return format_text("%s cannot be written.", path);
	return format_text("The file %s has been updated successfully.", path);
}

static _Noreturn void become_shell(const char *command, int out)
{
	(void)dup2(out, STDOUT_FILENO);
	(void)dup2(out, STDERR_FILENO);
	(void)execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(127);
}

static char *do_bash(const cJSON *input)
{
	struct buf out = BUF(OUTPUT_MAX);
	char *text, bytes[1024];
	int ends[2], status = 0;
	ssize_t n;
	pid_t pid;

	(void)fflush(NULL);
	if (pipe(ends) < 0)
		return must_have(strdup("(no pipe)"));
	pid = fork();
	if (pid == 0)
		become_shell(json_string_or(input, "command", ""), ends[1]);
	(void)close(ends[1]);
	while (pid > 0 && (n = read(ends[0], bytes, sizeof(bytes))) > 0)
		(void)buf_add(&out, bytes, (size_t)n);
	(void)close(ends[0]);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	while (out.len && out.data[out.len - 1] == '\n')
		out.len--;
	text = out.len ? format_text("%.*s", (int)out.len, out.data)
		       : must_have(strdup(DEMO_NO_OUTPUT));
	buf_release(&out);
	return text;
}

static char *act(const char *tool, const cJSON *input)
{
	if (strcmp(tool, "Read") == 0)
		return do_read(input);
	if (strcmp(tool, "Edit") == 0)
		return do_edit(input);
	return do_bash(input);
}

/* The model's API. */

static size_t on_bytes(char *bytes, size_t one, size_t n, void *arg)
{
	return buf_add(arg, bytes, one * n) < 0 ? 0 : one * n;
}

/*
 * Stands for the thousands of words in an agent's system prompt. It matters for
 * the price: short requests are not kept in a prompt cache, and with nothing
 * cached all rewriting is free.
 */
static void add_system(cJSON *request)
{
	static const char manners[] =
		"You are a coding agent. Read before you edit. Make the "
		"smallest change that does what was asked for. Run the tests "
		"after each change, and say what they said. ";
	cJSON *block = cJSON_CreateObject();
	struct buf text = BUF(OUTPUT_MAX);

	for (int i = 0; i < 60; i++)
		(void)buf_add(&text, manners, strlen(manners));
	(void)buf_add(&text, "", 1);
	(void)cJSON_AddStringToObject(block, "type", "text");
	(void)cJSON_AddStringToObject(block, "text", must_have(text.data));
	(void)cJSON_AddItemToObject(block, "cache_control",
				    cJSON_Parse("{\"type\":\"ephemeral\"}"));
	(void)cJSON_AddItemToArray(cJSON_AddArrayToObject(request, "system"),
				   block);
	buf_release(&text);
}

/* Put a cache mark on the last block, as agents do. */
static void mark_last(cJSON *messages)
{
	cJSON *m, *last = NULL;
	cJSON *content;

	cJSON_ArrayForEach (m, messages)
		last = m;
	content = cJSON_GetObjectItem(last, "content");
	last = cJSON_GetArrayItem(content, cJSON_GetArraySize(content) - 1);
	if (last)
		(void)cJSON_AddItemToObject(
			last, "cache_control",
			cJSON_Parse("{\"type\":\"ephemeral\"}"));
}

static char *request_text(const struct play *p)
{
	static const char tools[] =
		"[{\"name\":\"Read\",\"input_schema\":{\"type\":\"object\"}},"
		"{\"name\":\"Edit\",\"input_schema\":{\"type\":\"object\"}},"
		"{\"name\":\"Bash\",\"input_schema\":{\"type\":\"object\"}}]";
	cJSON *request = cJSON_CreateObject();
	cJSON *messages = must_have(cJSON_Duplicate(p->messages, true));
	char *text;

	(void)cJSON_AddStringToObject(request, "model", "demo");
	(void)cJSON_AddNumberToObject(request, "max_tokens", 1024);
	(void)cJSON_AddItemToObject(request, "tools", cJSON_Parse(tools));
	add_system(request);
	mark_last(messages);
	(void)cJSON_AddItemToObject(request, "messages", messages);
	text = must_have(cJSON_PrintUnformatted(request));
	cJSON_Delete(request);
	return text;
}

/* The model's answer (cJSON_Delete it); NULL: failed, with a message. */
static cJSON *ask_model(const struct play *p, const char *body)
{
	struct buf answer = BUF(ANSWER_MAX);
	struct curl_slist *headers =
		curl_slist_append(NULL, "content-type: application/json");
	CURL *c = curl_easy_init();
	CURLcode rc = CURLE_FAILED_INIT;
	long status = 0;
	cJSON *root = NULL;

	headers = curl_slist_append(headers, "anthropic-version: 2023-06-01");
	if (c && headers) {
		(void)curl_easy_setopt(c, CURLOPT_URL, p->url);
		(void)curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers);
		(void)curl_easy_setopt(c, CURLOPT_POSTFIELDS, body);
		(void)curl_easy_setopt(c, CURLOPT_NOPROXY, "*");
		(void)curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_bytes);
		(void)curl_easy_setopt(c, CURLOPT_WRITEDATA, &answer);
		rc = curl_easy_perform(c);
		(void)curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &status);
	}
	if (rc == CURLE_OK && status == 200)
		root = cJSON_ParseWithLength(answer.data, answer.len);
	if (!root)
		(void)say_error("the demonstration's model did not answer "
				"(%s, status %ld)",
				curl_easy_strerror(rc), status);
	curl_easy_cleanup(c);
	curl_slist_free_all(headers);
	buf_release(&answer);
	return root;
}

static void add_message(struct play *p, const char *role, cJSON *content)
{
	cJSON *m = cJSON_CreateObject();

	(void)cJSON_AddStringToObject(m, "role", role);
	(void)cJSON_AddItemToObject(m, "content", content);
	(void)cJSON_AddItemToArray(p->messages, m);
}

static cJSON *make_result(const char *id, const char *text)
{
	cJSON *r = cJSON_CreateObject();

	(void)cJSON_AddStringToObject(r, "type", "tool_result");
	(void)cJSON_AddStringToObject(r, "tool_use_id", id);
	(void)cJSON_AddStringToObject(r, "content", text);
	return r;
}

static char *use(struct play *p, const cJSON *call)
{
	const char *tool = json_string_or(call, "name", "");
	const cJSON *input = cJSON_GetObjectItem(call, "input");
	const char *file = json_string_or(input, "file_path", "");
	const char *about = *file ? file : json_string_or(input, "command", "");
	char *done;

	show_tool(&p->show, tool, about);
	done = act(tool, input);
	if (strcmp(tool, "Edit") != 0)
		show_result(&p->show, about, *file, done);
	show_tape(&p->show);
	return done;
}

/* Carry out the tool calls; false: there were none. */
static bool follow(struct play *p, const cJSON *content)
{
	cJSON *results = cJSON_CreateArray();
	const cJSON *b;
	bool any;

	cJSON_ArrayForEach (b, content) {
		CLEANUP(free_p) char *done = NULL;

		if (*json_string_or(b, "text", ""))
			show_says(&p->show, json_string_or(b, "text", ""));
		if (!*json_string_or(b, "name", ""))
			continue;
		done = use(p, b);
		(void)cJSON_AddItemToArray(
			results,
			make_result(json_string_or(b, "id", ""), done));
	}
	any = cJSON_GetArraySize(results) > 0;
	if (any)
		add_message(p, "user", results);
	else
		cJSON_Delete(results);
	return any;
}

static int take_turn(struct play *p, size_t n, bool *ret_more)
{
	CLEANUP(free_p) char *body = request_text(p);
	CLEANUP(free_p)
	char *path = format_text("%s/" DEMO_REQUESTS "/%zu.sent.json",
				 p->show.dir, n);
	cJSON *answer, *content;

	(void)demo_write(path, body, strlen(body));
	answer = ask_model(p, body);
	if (!answer)
		return EXIT_FAILURE;
	show_request(&p->show, n, p->messages);
	content = cJSON_DetachItemFromObject(answer, "content");
	cJSON_Delete(answer);
	add_message(p, "assistant", content);
	*ret_more = follow(p, content);
	return EXIT_SUCCESS;
}

/*
 * Change the command line that other processes see. Its words lie in memory one
 * after the other, and the kernel shows that memory.
 */
static void take_name(const char *last)
{
	char *first = program_invocation_name;
	size_t len = (size_t)(last + strlen(last) - first);

	(void)prctl(PR_SET_NAME, AGENT_NAME);
	if (last < first || len < sizeof(AGENT_NAME))
		return;
	memset(first, 0, len);
	memcpy(first, AGENT_NAME, sizeof(AGENT_NAME));
}

int demo_agent(const char *dir, const char *last)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread. */
	const char *base = getenv("ANTHROPIC_BASE_URL");
	CLEANUP(play_release)
	struct play p = { .url = format_text("%s/v1/messages",
					     base ? base : ""),
			  .messages = cJSON_CreateArray() };
	bool more = true;
	int code = EXIT_SUCCESS;

	take_name(last);
	add_message(&p, "user", cJSON_CreateString(DEMO_TASK));
	if (show_init(&p.show, dir) < 0)
		return say_error("the demonstration's directory has no tape");
	for (size_t n = 0; more && code == 0 && n < TURNS_MAX; n++)
		code = take_turn(&p, n, &more);
	return code;
}
