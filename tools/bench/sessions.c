/*
 * The player behind tools/bench/sessions: recorded sessions through the
 * manager's own pipeline, with a simulated prompt cache on both sides.
 *
 * Usage: bench_sessions [--policy NAME] [--mode MODE] TOKENS... < script
 *
 * Each session is played once for each size of the system prompt. The script's
 * lines are a word and JSON:
 *
 *   session {"name":, "root":}                 a new conversation and tape
 *   file {"path":, "text":}                    of the first commit
 *   write {"path":, "text":, "who":}           text null: deleted
 *   read {"path":, "pid":, "at":}              a command opened it (at: ns)
 *   message ...                                an element of "messages"; ends
 *                                              with the last block and "]}"
 *   request {"at":}                            with all messages so far
 *   end
 *
 * Prints a JSON object per session and size: the cost of the requests received
 * and of those sent, as the cache charges them and as the manager's own report
 * says. The replies carry the simulated cache's usage.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "graph/base/alloc.h"
#include "graph/base/array.h"
#include "graph/base/buf.h"
#include "graph/base/cleanup.h"
#include "graph/base/json.h"
#include "manager/decide/brain.h"
#include "manager/policy/policy.h"
#include "manager/replay/recorded.h"
#include "manager/report/report.h"
#include "manager/transcript/transcript.h"
#include "tests/support/promptcache.h"

#define BODY_MAX ((size_t)256 << 20)

struct line {
	char *word, *rest;
};

/* One session of the script. */
struct played {
	ARRAY(struct line) lines;
};

struct player {
	const struct brain_options *options;
	uint64_t prompt; /* tokens of system text */
	struct recorded *files;
	struct brain *brain;
	struct promptcache *without, *with;
	struct buf talk;
	double cost_without, cost_with;
	uint64_t context_without, context_with;
	uint32_t requests, changed, rewritten;
};

static void begin(struct player *p, const cJSON *head)
{
	struct brain_options o = *p->options;
	char *why = NULL;

	p->files = recorded_new();
	p->without = promptcache_new();
	p->with = promptcache_new();
	p->talk = BUF(BODY_MAX);
	o.repo = json_string(head, "root");
	o.ask = recorded_ask;
	o.ask_ctx = p->files;
	if (brain_new(&o, &p->brain, &why) < 0) {
		(void)fprintf(stderr, "bench_sessions: %s\n", why ? why : "");
		abort();
	}
}

static void finish(struct player *p)
{
	brain_free(p->brain);
	recorded_free(p->files);
	promptcache_free(p->without);
	promptcache_free(p->with);
	buf_release(&p->talk);
}

static void add(struct buf *b, const char *text)
{
	(void)buf_add(b, text, strlen(text));
}

/* As Claude Code writes it: marks at the system text and the last block. */
static void make_body(const struct player *p, struct buf *ret)
{
	static const char mark[] =
		",\"cache_control\":{\"type\":\"ephemeral\"}";
	size_t filler = p->prompt * 4;
	char *text = must_alloc(filler + 1);

	memset(text, 'p', filler);
	text[filler] = '\0';
	*ret = BUF(BODY_MAX);
	add(ret, "{\"model\":\"claude-opus-4-6\",\"messages\":[");
	/* The last block ends three bytes before the end: "}]}". */
	(void)buf_add(ret, p->talk.data, p->talk.len - 3);
	add(ret, mark);
	add(ret, "}]}],\"system\":[{\"type\":\"text\",\"text\":\"An agent. ");
	add(ret, text);
	add(ret, "\"");
	add(ret, mark);
	add(ret, "}],\"tools\":[{\"name\":\"Read\",\"input_schema\":"
		 "{\"type\":\"object\"}}],\"max_tokens\":32000,"
		 "\"stream\":true}");
	free(text);
}

static struct promptcache_charge charge(struct promptcache *c, const char *body,
					size_t len, int64_t at_ns)
{
	struct promptcache_charge ret;
	struct transcript t = { 0 };

	if (transcript_init(&t, DIALECT_MESSAGES, body, len) < 0) {
		(void)fprintf(stderr, "bench_sessions: not a body\n");
		abort();
	}
	ret = promptcache_request(c, &t, at_ns);
	transcript_release(&t);
	return ret;
}

static void reply(struct turn *turn, const struct promptcache_charge *c)
{
	char text[512];

	(void)snprintf(text, sizeof(text),
		       "event: message_start\ndata: {\"type\":\"message_start\""
		       ",\"message\":{\"usage\":{\"input_tokens\":%llu,"
		       "\"cache_read_input_tokens\":%llu,"
		       "\"cache_creation_input_tokens\":%llu}}}\n\n",
		       (unsigned long long)c->plain,
		       (unsigned long long)c->read,
		       (unsigned long long)c->written);
	turn_status(turn, 200, "text/event-stream");
	turn_reply(turn, text, strlen(text));
	turn_end(turn, true);
}

static void request(struct player *p, int64_t at_ns)
{
	struct header headers[] = { { "X-Claude-Code-Session-Id", "bench" },
				    { "x-api-key", "k" } };
	struct request r = { .method = "POST",
			     .target = "/v1/messages?beta=true",
			     .headers = headers,
			     .headers_count = 2,
			     .at_ns = at_ns,
			     .deadline_ns = INT64_MAX };
	struct promptcache_charge without, with;
	struct turn *turn;
	struct buf body;
	const char *sent;
	size_t len;

	make_body(p, &body);
	r.body = body.data;
	r.len = body.len;
	sent = brain_think(p->brain, &r, &len, &turn);
	without = charge(p->without, body.data, body.len, at_ns);
	with = sent ? charge(p->with, sent, len, at_ns)
		    : charge(p->with, body.data, body.len, at_ns);
	p->requests++;
	p->changed += sent != NULL;
	p->rewritten += with.rewritten;
	p->cost_without += without.cost;
	p->cost_with += with.cost;
	p->context_without = without.read + without.written + without.plain;
	p->context_with = with.read + with.written + with.plain;
	reply(turn, &with);
	buf_release(&body);
}

static void step(struct player *p, const struct line *l)
{
	CLEANUP(json_p) cJSON *j = NULL;
	const char *text;

	if (strcmp(l->word, "message") == 0) {
		if (p->talk.len)
			add(&p->talk, ",");
		add(&p->talk, l->rest);
		return;
	}
	j = cJSON_Parse(l->rest);
	text = json_string(j, "text");
	if (strcmp(l->word, "session") == 0)
		begin(p, j);
	else if (strcmp(l->word, "file") == 0 && text)
		recorded_base(p->files, json_string(j, "path"), text,
			      strlen(text));
	else if (strcmp(l->word, "write") == 0)
		(void)recorded_write(p->files, json_string(j, "path"), text,
				     text ? strlen(text) : 0,
				     json_string(j, "who"));
	else if (strcmp(l->word, "read") == 0)
		recorded_read(p->files, (uint32_t)json_number(j, "pid", 0),
			      (int64_t)json_number(j, "at", 0),
			      json_string(j, "path"));
	else if (strcmp(l->word, "request") == 0)
		request(p, (int64_t)json_number(j, "at", 0));
	else
		(void)fprintf(stderr, "bench_sessions: a line \"%s\"?\n",
			      l->word);
}

static double number_in(const cJSON *j, const char *object, const char *name)
{
	const cJSON *n = json_member(json_member(j, object), name);

	return cJSON_IsNumber(n) ? n->valuedouble : 0;
}

static void print(const struct player *p, const char *name)
{
	CLEANUP(json_p) cJSON *question = cJSON_CreateObject();
	CLEANUP(json_p) cJSON *said = cJSON_CreateObject();
	const cJSON *epochs;

	(void)report_answer(p->brain, "REPORT", question, said);
	epochs = json_member(said, "epochs");
	(void)printf(
		"{\"name\":\"%s\",\"prompt\":%llu,\"requests\":%u,"
		"\"changed\":%u,\"rewritten\":%u,"
		"\"without\":%.1f,\"with\":%.1f,"
		"\"said_without\":%.1f,\"said_with\":%.1f,"
		"\"context_without\":%llu,\"context_with\":%llu,"
		"\"notes\":%.0f,\"cache_rewrites\":%llu",
		name, (unsigned long long)p->prompt, p->requests, p->changed,
		p->rewritten, p->cost_without, p->cost_with,
		number_in(said, "cost", "without"),
		number_in(said, "cost", "with"),
		(unsigned long long)p->context_without,
		(unsigned long long)p->context_with,
		number_in(said, "tokens", "notes"),
		(unsigned long long)json_number(said, "cache_rewrites", 0));
	if (epochs) {
		char *text = cJSON_PrintUnformatted(epochs);

		(void)printf(",\"epochs\":%s", text);
		free(text);
	}
	(void)printf("}\n");
	(void)fflush(stdout);
}

static void play(const struct brain_options *o, const struct played *s,
		 uint64_t prompt)
{
	struct player p = { .options = o, .prompt = prompt };
	CLEANUP(json_p) cJSON *head = cJSON_Parse(s->lines.at[0].rest);

	for (uint32_t i = 0; i < s->lines.count; i++)
		step(&p, &s->lines.at[i]);
	print(&p, json_string(head, "name"));
	finish(&p);
}

/* False at the end of the input. */
static bool read_script(struct played *s)
{
	CLEANUP(free_p) char *text = NULL;
	size_t size = 0;
	ssize_t len;

	for (uint32_t i = 0; i < s->lines.count; i++)
		free(s->lines.at[i].word);
	s->lines.count = 0;
	while ((len = getline(&text, &size, stdin)) > 0) {
		struct line l = { must_memdup(text, (size_t)len), NULL };

		l.word[len - 1] = '\0';
		l.rest = strchr(l.word, ' ');
		if (!l.rest) {
			free(l.word);
			return s->lines.count > 0;
		}
		*l.rest++ = '\0';
		array_push(&s->lines, l);
	}
	array_release(&s->lines);
	return false;
}

int main(int argc, char **argv)
{
	struct brain_options o = { .mode = MODE_PINNED };
	ARRAY(uint64_t) prompts = { 0 };
	struct played s = { 0 };

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--policy") == 0 && i + 1 < argc) {
			o.policy = policy_find(argv[++i]);
			if (!o.policy)
				return 2;
		} else if (strcmp(argv[i], "--mode") == 0 && i + 1 < argc) {
			i++;
			for (int m = 0; m < MODES; m++)
				if (strcmp(argv[i], mode_names[m]) == 0)
					o.mode = (enum mode)m;
		} else {
			array_push(&prompts, strtoull(argv[i], NULL, 10));
		}
	}
	while (read_script(&s))
		for (uint32_t i = 0; i < prompts.count; i++)
			play(&o, &s, prompts.at[i]);
	array_release(&prompts);
	return 0;
}
