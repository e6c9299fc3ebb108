#include "tests/support/session.h"

#include <stdio.h>
#include <string.h>

#include <xxhash.h>

#include "graph/base/alloc.h"
#include "graph/base/array.h"
#include "graph/base/buf.h"
#include "manager/decide/linediff.h"
#include "manager/transcript/dom.h"
#include "manager/transcript/transcript.h"
#include "tests/prop/fs/dice.h"
#include "tests/support/promptcache.h"
#include "tests/support/session_i.h"

#define FILLER 20000 /* bytes of system text, and of tools */

static int ask(void *ctx, const char *name, const cJSON *question,
	       int timeout_ms, cJSON **ret)
{
	struct session *s = ctx;

	if (s->away)
		return -111; /* ECONNREFUSED */
	if (s->troubled && strcmp(name, s->troubled) == 0)
		return s->trouble;
	return recorded_ask(s->files, name, question, timeout_ms, ret);
}

static void open_brain(struct session *s)
{
	char *why = NULL;

	if (brain_new(&s->options, &s->brain, &why) < 0) {
		(void)fprintf(stderr, "%s\n", why ? why : "no brain");
		abort();
	}
}

static void keep_sentence(void *ctx, const char *sentence)
{
	struct session *s = ctx;

	(void)snprintf(s->heard, sizeof(s->heard), "%s", sentence);
}

struct session *session_new(enum mode mode, const char *dir, const char *id)
{
	struct session *s = must_calloc(1, sizeof(*s));

	s->files = recorded_new();
	s->cache = promptcache_new();
	s->id = must_strdup(id);
	s->options =
		(struct brain_options){ .repo = REPO,
					.dir = dir ? must_strdup(dir) : NULL,
					.mode = mode,
					.ask = ask,
					.ask_ctx = s };
	s->options.say = keep_sentence;
	s->options.say_ctx = s;
	s->authorization = "";
	s->talk = BUF((size_t)64 << 20);
	s->now_ns = 1800000000000000000LL;
	s->pid = 1000;
	open_brain(s);
	session_say(s, 400);
	return s;
}

void session_policy(struct session *s, const struct policy *policy)
{
	s->options.policy = policy;
	session_restart(s);
}

void session_free(struct session *s)
{
	brain_free(s->brain);
	recorded_free(s->files);
	buf_release(&s->talk);
	for (uint32_t i = 0; i < s->touched.count; i++)
		free(s->touched.at[i].path);
	array_release(&s->touched);
	promptcache_free(s->cache);
	array_release(&s->readings);
	array_release(&s->notes);
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): it is ours. */
	free((void *)(uintptr_t)s->options.dir);
	free(s->sent);
	free(s->id);
	free(s);
}

void session_restart(struct session *s)
{
	brain_free(s->brain);
	open_brain(s);
}

void session_tape(struct session *s, bool there)
{
	s->away = !there;
}

void session_trouble(struct session *s, const char *question, int rc)
{
	s->troubled = question;
	s->trouble = rc;
}

void session_login(struct session *s, const char *authorization)
{
	s->authorization = authorization;
}

void session_usage(struct session *s, uint32_t read, uint32_t written)
{
	(void)snprintf(
		s->reply, sizeof(s->reply),
		"event: message_start\ndata: {\"type\":\"message_start\","
		"\"message\":{\"usage\":{\"input_tokens\":3,"
		"\"cache_read_input_tokens\":%u,"
		"\"cache_creation_input_tokens\":%u}}}\n\n",
		read, written);
}

const char *session_heard(const struct session *s)
{
	return s->heard;
}

/* -- Files. */

void session_file(struct session *s, const char *path, uint32_t lines,
		  uint64_t seed)
{
	struct buf text = BUF((size_t)4 << 20);
	struct dice d = { seed };
	char line[128];

	for (uint32_t i = 0; i < lines; i++) {
		int len = i % 12 == 0
				  ? snprintf(line, sizeof(line),
					     "def function_%u(a, b):\n", i)
				  : snprintf(line, sizeof(line),
					     "    value_%u = a + b * %llu  # "
					     "line of %u\n",
					     (unsigned)dice_below(&d, 90),
					     (unsigned long long)dice_below(
						     &d, 100000),
					     i);

		(void)buf_add(&text, line, (size_t)len);
	}
	recorded_base(s->files, path, text.data, text.len);
	buf_release(&text);
}

uint32_t session_lines(struct session *s, const char *path)
{
	struct linediff_lines l;
	size_t len;
	const char *text = recorded_text(s->files, path, &len);
	uint32_t n;

	linediff_lines(&l, text, len);
	n = l.rows.count;
	linediff_lines_release(&l);
	return n;
}

/* The id of the call that is being written. */
static void name_call(const struct session *s, char *id, size_t size)
{
	(void)snprintf(id, size, "toolu_%06u", s->calls);
}

static void touch(struct session *s, const char *path, uint32_t line,
		  bool by_tool)
{
	struct touched *t = array_add(&s->touched);

	t->path = must_strdup(path);
	t->request = s->totals.requests;
	t->line = line;
	if (by_tool)
		name_call(s, t->call, sizeof(t->call));
}

static void replace_line(struct session *s, const char *path, uint32_t line,
			 const char *text, const char *who)
{
	struct buf new = BUF((size_t)4 << 20);
	struct linediff_lines l;
	size_t len;
	const char *old = recorded_text(s->files, path, &len);

	touch(s, path, text ? line : 0, who == NULL);
	if (!text) {
		(void)recorded_write(s->files, path, NULL, 0, who);
		return;
	}
	linediff_lines(&l, old, len);
	for (uint32_t i = 0; i < l.rows.count; i++) {
		if (i + 1 == line)
			(void)buf_add(&new, text, strlen(text));
		else
			(void)buf_add(&new, l.rows.at[i].at, l.rows.at[i].len);
		(void)buf_add(&new, "\n", 1);
	}
	linediff_lines_release(&l);
	(void)recorded_write(s->files, path, new.data, new.len,
			     who ? who : "claude, pid 7");
	buf_release(&new);
}

/* -- The talk. */

static void add(struct session *s, const char *text)
{
	(void)buf_add(&s->talk, text, strlen(text));
}

static void add_quoted(struct session *s, const char *text, size_t len)
{
	char *out = must_alloc(6 * len + 1);

	add(s, "\"");
	(void)buf_add(&s->talk, out, literal_encode(text, len, out));
	add(s, "\"");
	free(out);
}

static void begin_message(struct session *s, const char *role)
{
	if (s->talk.len)
		add(s, ",");
	add(s, "{\"role\":\"");
	add(s, role);
	add(s, "\",\"content\":[");
}

static void add_filler(struct session *s, size_t bytes)
{
	char *text = must_alloc(bytes + 1);

	memset(text, 'w', bytes);
	for (size_t i = 7; i < bytes; i += 8)
		text[i] = ' ';
	/* Different each time, so that hashes differ. */
	(void)snprintf(text, bytes + 1, "%u", s->calls++);
	text[strlen(text)] = ' ';
	text[bytes] = '\0';
	add_quoted(s, text, bytes);
	free(text);
}

void session_say(struct session *s, size_t bytes)
{
	if (s->talk.len) {
		begin_message(s, "assistant");
		add(s, "{\"type\":\"text\",\"text\":");
		add_filler(s, 64);
		add(s, "}]}");
	}
	begin_message(s, "user");
	add(s, "{\"type\":\"text\",\"text\":");
	add_filler(s, bytes);
	s->last_block = s->talk.len;
	add(s, "}]}");
}

/* The assistant says a few words and makes a call. */
static void add_call(struct session *s, const char *tool, const char *input)
{
	char id[64];

	begin_message(s, "assistant");
	add(s, "{\"type\":\"text\",\"text\":");
	add_filler(s, 200);
	name_call(s, id, sizeof(id));
	add(s, "},{\"type\":\"tool_use\",\"id\":\"");
	add(s, id);
	add(s, "\",\"name\":\"");
	add(s, tool);
	add(s, "\",\"input\":");
	add(s, input);
	add(s, "}]}");
}

static void add_result(struct session *s, const char *text, size_t len)
{
	char id[64];

	name_call(s, id, sizeof(id));
	s->calls++;
	begin_message(s, "user");
	add(s, "{\"tool_use_id\":\"");
	add(s, id);
	add(s, "\",\"type\":\"tool_result\",\"content\":");
	add_quoted(s, text, len);
	s->last_block = s->talk.len;
	add(s, "}]}");
}

static void read_text(struct session *s, const char *path, uint32_t offset,
		      uint32_t limit, struct buf *out)
{
	struct linediff_lines l;
	size_t len;
	const char *text = recorded_text(s->files, path, &len);
	char number[16];
	uint32_t last;

	linediff_lines(&l, text, len);
	last = limit && offset - 1 + limit < l.rows.count ? offset - 1 + limit
							  : l.rows.count;
	for (uint32_t i = offset ? offset - 1 : 0; i < last; i++) {
		int n = snprintf(number, sizeof(number), "%s%u\t",
				 out->len ? "\n" : "", i + 1);

		(void)buf_add(out, number, (size_t)n);
		(void)buf_add(out, l.rows.at[i].at, l.rows.at[i].len);
	}
	if (!limit) {
		int n = snprintf(number, sizeof(number), "\n%u\t", last + 1);

		(void)buf_add(out, number, (size_t)n);
	}
	linediff_lines_release(&l);
}

void session_read(struct session *s, const char *path, uint32_t offset,
		  uint32_t limit)
{
	struct buf text = BUF((size_t)4 << 20);
	char input[512];

	if (limit)
		(void)snprintf(input, sizeof(input),
			       "{\"file_path\":\"" REPO "/%s\",\"offset\":%u,"
			       "\"limit\":%u}",
			       path, offset, limit);
	else
		(void)snprintf(input, sizeof(input),
			       "{\"file_path\":\"" REPO "/%s\"}", path);
	add_call(s, "Read", input);
	array_push(&s->readings,
		   ((struct reading){ .touched = s->touched.count }));
	name_call(s, array_last(&s->readings)->call,
		  sizeof(array_last(&s->readings)->call));
	read_text(s, path, offset, limit, &text);
	add_result(s, text.data, text.len);
	buf_release(&text);
}

void session_read_stub(struct session *s, const char *path)
{
	static const char stub[] =
		"File unchanged since last read. The content from the earlier "
		"Read tool_result in this conversation is still current \xe2"
		"\x80\x94 refer to that instead of re-reading.";
	char input[512];

	(void)snprintf(input, sizeof(input), "{\"file_path\":\"" REPO "/%s\"}",
		       path);
	add_call(s, "Read", input);
	add_result(s, stub, strlen(stub));
}

void session_edit_failed(struct session *s, const char *path)
{
	static const char result[] =
		"<tool_use_error>String to replace not found in file."
		"</tool_use_error>";
	char input[512];

	(void)snprintf(input, sizeof(input),
		       "{\"replace_all\":false,\"file_path\":\"" REPO
		       "/%s\",\"old_string\":\"x\",\"new_string\":\"y\"}",
		       path);
	add_call(s, "Edit", input);
	add_result(s, result, strlen(result));
}

void session_edit(struct session *s, const char *path, uint32_t line,
		  const char *text)
{
	char input[1024], result[512], escaped[512] = "";

	if (6 * strlen(text) >= sizeof(escaped))
		abort();
	escaped[literal_encode(text, strlen(text), escaped)] = '\0';
	(void)snprintf(input, sizeof(input),
		       "{\"replace_all\":false,\"file_path\":\"" REPO
		       "/%s\",\"old_string\":\"what line %u had said before "
		       "it\",\"new_string\":\"%s\"}",
		       path, line, escaped);
	add_call(s, "Edit", input);
	replace_line(s, path, line, text, NULL);
	(void)snprintf(result, sizeof(result),
		       "The file " REPO
		       "/%s has been updated successfully. (file state is "
		       "current in your context \xe2\x80\x94 no need to Read "
		       "it back)",
		       path);
	add_result(s, result, strlen(result));
}

void session_sed(struct session *s, const char *path, uint32_t line,
		 const char *text)
{
	char input[1024];
	static const char none[] = "(Bash completed with no output)";

	(void)snprintf(input, sizeof(input),
		       "{\"command\":\"sed -i '%us/.*/%s/' %s\","
		       "\"description\":\"scripted\"}",
		       line, text, path);
	add_call(s, "Bash", input);
	replace_line(s, path, line, text, "sed -i, pid 812");
	add_result(s, none, strlen(none));
}

void session_run(struct session *s, const char *command, size_t output,
		 const char *const *opened, size_t opened_count)
{
	char input[512];
	char *text = must_alloc(output + 1);

	(void)snprintf(input, sizeof(input),
		       "{\"command\":\"%s\",\"description\":\"scripted\"}",
		       command);
	add_call(s, "Bash", input);
	s->pid++;
	s->now_ns += 2000000000LL;
	for (size_t i = 0; i < opened_count; i++)
		recorded_read(s->files, s->pid, s->now_ns, opened[i]);
	s->now_ns += 1000000000LL;
	memset(text, '.', output);
	for (size_t i = 60; i < output; i += 61)
		text[i] = '\n';
	(void)snprintf(text, output + 1, "%u passed\n", s->calls);
	text[strlen(text)] = '\n';
	add_result(s, text, output);
	free(text);
}

void session_outside(struct session *s, const char *path, uint32_t line,
		     const char *text)
{
	replace_line(s, path, line, text, "sed -i, pid 999");
}

size_t session_mark(const struct session *s)
{
	return s->talk.len;
}

void session_rewind(struct session *s, size_t mark)
{
	s->talk.len = mark;
}

void session_compact(struct session *s)
{
	s->talk.len = 0;
	session_say(s, 6000);
}

void session_wait(struct session *s, uint32_t seconds)
{
	s->now_ns += seconds * 1000000000LL;
}

/* -- A request. */

static char *make_body(struct session *s, size_t *ret_len)
{
	static const char before[] =
		"{\"model\":\"claude-opus-5-5\",\"messages\":[";
	static const char mark[] = ",\"cache_control\":{\"type\":"
				   "\"ephemeral\"}";
	static const char after[] =
		"],\"system\":[{\"type\":\"text\",\"text\":\"You are an agent. "
		"%s\",\"cache_control\":{\"type\":\"ephemeral\"}}],\"tools\":"
		"[{\"name\":\"Read\",\"description\":\"%s\",\"input_schema\":"
		"{\"type\":\"object\"}}],\"max_tokens\":32000,\"stream\":true}";
	char *filler = must_calloc(1, FILLER + 1);
	struct buf b = BUF((size_t)64 << 20);
	char *tail = NULL;
	int len;

	memset(filler, 'p', FILLER);
	len = asprintf(&tail, after, filler, filler);
	(void)buf_add(&b, before, strlen(before));
	(void)buf_add(&b, s->talk.data, s->last_block);
	(void)buf_add(&b, mark, strlen(mark));
	(void)buf_add(&b, s->talk.data + s->last_block,
		      s->talk.len - s->last_block);
	(void)buf_add(&b, tail, (size_t)len);
	free(tail);
	free(filler);
	*ret_len = b.len;
	return b.data;
}

void session_request(struct session *s)
{
	struct header headers[] = { { "X-Claude-Code-Session-Id", s->id },
				    { "x-api-key", "k" },
				    { "Authorization", s->authorization } };
	struct request r = { .method = "POST",
			     .target = "/v1/messages?beta=true",
			     .headers = headers,
			     .headers_count = 3,
			     .deadline_ns = INT64_MAX };
	struct promptcache_charge charge;
	struct transcript t = { 0 };
	struct turn *turn;
	size_t body_len, len;
	char *body = make_body(s, &body_len);
	const char *sent;

	s->now_ns += 1500000000LL;
	r.body = body;
	r.len = body_len;
	r.at_ns = s->now_ns;
	sent = brain_think(s->brain, &r, &len, &turn);
	free(s->sent);
	s->sent_len = sent ? len : body_len;
	s->sent = must_alloc(s->sent_len + 1);
	memcpy(s->sent, sent ? sent : body, s->sent_len);
	s->sent[s->sent_len] = '\0';
	if (s->reply[0]) {
		turn_status(turn, 200, "text/event-stream");
		turn_reply(turn, s->reply, strlen(s->reply));
	}
	turn_end(turn, true);
	free(body);
	if (transcript_init(&t, DIALECT_MESSAGES, s->sent, s->sent_len) < 0)
		abort();
	charge = promptcache_request(s->cache, &t, s->now_ns);
	s->totals.cost += charge.cost;
	s->totals.rewritten += charge.rewritten;
	s->totals.context = charge.read + charge.written + charge.plain;
	session_judge(s, &t);
	transcript_release(&t);
	s->totals.requests++;
	s->totals.sent_hash =
		XXH3_64bits_withSeed(s->sent, s->sent_len, s->totals.sent_hash);
	s->now_ns += 6000000000LL;
}

const char *session_sent(const struct session *s, size_t *ret_len)
{
	*ret_len = s->sent_len;
	return s->sent;
}

struct session_totals session_totals(const struct session *s)
{
	return s->totals;
}

struct recorded *session_files(struct session *s)
{
	return s->files;
}

struct brain *session_brain(struct session *s)
{
	return s->brain;
}
