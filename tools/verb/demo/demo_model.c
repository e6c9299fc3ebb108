/*
 * The scripted model: implements enough of the Messages API for one
 * conversation. The next step is the number of answers already in the request.
 */
#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "graph/base/alloc.h"
#include "graph/base/buf.h"
#include "graph/base/cleanup.h"
#include "tools/cli/say.h"
#include "tools/verb/demo/demo.h"

#define BODY_MAX	(8u << 20)
#define BYTES_PER_TOKEN 4 /* about */
#define CALLS_MAX	3

struct call {
	const char *tool;  /* NULL: no more */
	const char *input; /* JSON */
};

struct step {
	const char *says;
	struct call calls[CALLS_MAX + 1]; /* none: the end */
};

#define CONFIG "\"file_path\":\"app/config.py\""

static const struct step script[] = {
	{ "I will look at the code first, and at what the test says.",
	  { { "Read", "{" CONFIG "}" },
	    { "Read", "{\"file_path\":\"app/server.py\"}" },
	    { "Bash", "{\"command\":\"./check.sh\"}" } } },
	{ "load_config takes any port. Now it looks at it.",
	  { { "Edit",
	      "{" CONFIG ",\"old_string\":\"    return config\\n\","
	      "\"new_string\":\"    if not 0 < config[\\\"port\\\"] < 65536:"
	      "\\n        raise ValueError(\\\"bad port\\\")\\n"
	      "    return config\\n\"}" } } },
	{ "The house style has a script of its own.",
	  { { "Bash", "{\"command\":\"./tidy.sh\"}" } } },
	{ "The usage line could say more. I read it and reword it in one go.",
	  { { "Read", "{\"file_path\":\"app/cli.py\"}" },
	    { "Bash", "{\"command\":\"sed -i 's/serve FILE/serve "
		      "CONFIG.json/' app/cli.py\"}" } } },
	{ "And the test, which I was told to run again.",
	  { { "Bash", "{\"command\":\"./check.sh\"}" } } },
	{ "Done: load_config refuses a port that is none.", { { 0 } } },
};
#define STEPS (sizeof(script) / sizeof(*script))

struct demo_exchange {
	struct buf body;
};

static const char *dir_; /* $DEMO, set before the first request */
static struct buf before_ =
	BUF(BODY_MAX); /* the previous request; one thread */

static size_t count_answers(const cJSON *request)
{
	const cJSON *m;
	size_t n = 0;

	cJSON_ArrayForEach (m, cJSON_GetObjectItem(request, "messages")) {
		const char *role =
			cJSON_GetStringValue(cJSON_GetObjectItem(m, "role"));

		n += role && strcmp(role, "assistant") == 0;
	}
	return n < STEPS ? n : STEPS - 1;
}

static void keep(size_t step, const struct buf *body)
{
	CLEANUP(free_p)
	char *path = format_text("%s/" DEMO_REQUESTS "/%zu.received.json", dir_,
				 step);

	(void)demo_write(path, body->data, body->len);
}

static void add_call(cJSON *content, size_t step, size_t n,
		     const struct call *c)
{
	CLEANUP(free_p) char *id = format_text("call_%zu_%zu", step, n);
	cJSON *call = cJSON_CreateObject();

	(void)cJSON_AddStringToObject(call, "type", "tool_use");
	(void)cJSON_AddStringToObject(call, "id", id);
	(void)cJSON_AddStringToObject(call, "name", c->tool);
	(void)cJSON_AddItemToObject(call, "input", cJSON_Parse(c->input));
	(void)cJSON_AddItemToArray(content, call);
}

/* The common prefix of this request and the previous one counts as cached. */
static void add_usage(cJSON *root, const struct buf *body)
{
	cJSON *usage = cJSON_AddObjectToObject(root, "usage");
	size_t same = 0;

	while (same < body->len && same < before_.len &&
	       body->data[same] == before_.data[same])
		same++;
	(void)cJSON_AddNumberToObject(usage, "input_tokens", 1);
	(void)cJSON_AddNumberToObject(usage, "cache_read_input_tokens",
				      (double)same / BYTES_PER_TOKEN);
	(void)cJSON_AddNumberToObject(usage, "cache_creation_input_tokens",
				      (double)(body->len - same) /
					      BYTES_PER_TOKEN);
	(void)cJSON_AddNumberToObject(usage, "output_tokens", 40);
	before_.len = 0;
	(void)buf_add(&before_, body->data, body->len);
}

static char *answer_text(size_t n, const struct buf *body)
{
	const struct step *s = &script[n];
	cJSON *root = cJSON_CreateObject();
	cJSON *content = cJSON_AddArrayToObject(root, "content");
	cJSON *text = cJSON_CreateObject();
	char *printed;

	(void)cJSON_AddStringToObject(root, "type", "message");
	(void)cJSON_AddStringToObject(root, "role", "assistant");
	(void)cJSON_AddStringToObject(root, "model", "demo");
	(void)cJSON_AddStringToObject(text, "type", "text");
	(void)cJSON_AddStringToObject(text, "text", s->says);
	(void)cJSON_AddItemToArray(content, text);
	for (size_t i = 0; s->calls[i].tool; i++)
		add_call(content, n, i, &s->calls[i]);
	(void)cJSON_AddStringToObject(root, "stop_reason",
				      s->calls[0].tool ? "tool_use"
						       : "end_turn");
	add_usage(root, body);
	printed = must_have(cJSON_PrintUnformatted(root));
	cJSON_Delete(root);
	return printed;
}

static enum MHD_Result reply(struct MHD_Connection *c, const struct buf *body)
{
	cJSON *request = cJSON_ParseWithLength(body->data, body->len);
	size_t n = count_answers(request);
	char *text = answer_text(n, body);
	struct MHD_Response *r = MHD_create_response_from_buffer(
		strlen(text), text, MHD_RESPMEM_MUST_FREE);
	enum MHD_Result ok;

	keep(n, body);
	cJSON_Delete(request);
	(void)MHD_add_response_header(r, "content-type", "application/json");
	ok = MHD_queue_response(c, MHD_HTTP_OK, r);
	MHD_destroy_response(r);
	return ok;
}

/* libmicrohttpd wants this many. NOLINTNEXTLINE(readability-function-size) */
static enum MHD_Result on_request(void *ctx, struct MHD_Connection *c,
				  const char *url, const char *method,
				  const char *version, const char *data,
				  size_t *size, void **state)
{
	struct demo_exchange *e = *state;

	(void)ctx;
	(void)url;
	(void)method;
	(void)version;
	if (!e) {
		e = must_have(calloc(1, sizeof(*e)));
		e->body = BUF(BODY_MAX);
		*state = e;
		return MHD_YES;
	}
	if (*size) {
		if (buf_add(&e->body, data, *size) < 0)
			return MHD_NO;
		*size = 0;
		return MHD_YES;
	}
	return reply(c, &e->body);
}

static void on_end(void *ctx, struct MHD_Connection *c, void **state,
		   enum MHD_RequestTerminationCode how)
{
	struct demo_exchange *e = *state;

	(void)ctx;
	(void)c;
	(void)how;
	if (e)
		buf_release(&e->body);
	free(e);
	*state = NULL;
}

/* Rename the file when it is complete: another process waits for it. */
static int tell_port(unsigned port)
{
	CLEANUP(free_p) char *path = format_text("%s/" DEMO_PORT, dir_);
	CLEANUP(free_p) char *new = format_text("%s.new", path);
	CLEANUP(free_p) char *text = format_text("%u", port);
	int r = demo_write(new, text, strlen(text));

	if (r == 0 && rename(new, path) < 0)
		r = -errno;
	return r;
}

int demo_model(const char *dir)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_addr = { htonl(INADDR_LOOPBACK) } };
	struct MHD_Daemon *d;
	const union MHD_DaemonInfo *info;
	sigset_t set;
	int number;

	dir_ = dir;
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	(void)pthread_sigmask(SIG_BLOCK, &set, NULL);
	d = MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD, 0, NULL, NULL,
			     on_request, NULL, MHD_OPTION_SOCK_ADDR,
			     (struct sockaddr *)&a, MHD_OPTION_NOTIFY_COMPLETED,
			     on_end, NULL, MHD_OPTION_END);
	info = d ? MHD_get_daemon_info(d, MHD_DAEMON_INFO_BIND_PORT) : NULL;
	if (!info || tell_port(info->port) < 0) {
		if (d)
			MHD_stop_daemon(d);
		return say_error("the demonstration's model cannot listen");
	}
	(void)sigwait(&set, &number);
	MHD_stop_daemon(d);
	buf_release(&before_);
	return EXIT_SUCCESS;
}
