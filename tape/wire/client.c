/*
 * Nominations are asked for with every request of an agent, so that question
 * is written as text right away; the others go through cJSON. An answer is
 * kept as it was parsed, and what is handed out points into it: strings are
 * only un-escaped in place.
 */
#include "tape/wire/client.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/arena.h"
#include "graph/base/array.h"
#include "graph/base/base64.h"
#include "graph/base/buf.h"
#include "graph/base/cleanup.h"
#include "graph/base/escape.h"
#include "graph/base/json.h"
#include "tape/wire/wire.h"

/* Of a question of nominations; leaves room for what stands around. */
#define BATCH_MAX (WIRE_QUESTION_MAX - 1024)

struct client {
	struct wire_link *link;
	int timeout_ms;
	char *error; /* never NULL */
	struct buf text;
};

/* What an answer that was handed out stands on. */
struct client_held {
	ARRAY(cJSON *) answers;
	struct arena arena;
};

static void *must(void *p)
{
	if (!p)
		abort();
	return p;
}

struct client *client_new(const char *socket)
{
	struct client *c = must_calloc(1, sizeof(*c));

	c->link = must(wire_link_new(socket));
	c->timeout_ms = CLIENT_TIMEOUT_MS;
	c->error = must_calloc(1, 1);
	c->text = BUF((size_t)2 * WIRE_QUESTION_MAX);
	return c;
}

void client_free(struct client *c)
{
	if (!c)
		return;
	wire_link_free(c->link);
	buf_release(&c->text);
	free(c->error);
	free(c);
}

void client_set_timeout(struct client *c, int timeout_ms)
{
	c->timeout_ms = timeout_ms;
}

const char *client_error(const struct client *c)
{
	return c->error;
}

/* -- Asking. */

/* An answer that is an error leaves its sentence behind. */
static int ask_text(struct client *c, const char *text, int timeout_ms,
		    cJSON **ret)
{
	CLEANUP(json_p) cJSON *answer = NULL;
	int r = wire_link_ask(c->link, text, timeout_ms, &answer);
	const char *why;

	free(c->error);
	why = cJSON_GetStringValue(json_member(answer, "error"));
	c->error = must(strdup(r == -EREMOTEIO && why ? why : ""));
	if (r == 0)
		*ret = TAKE(answer);
	return r;
}

static int ask_within(struct client *c, const char *ask, const cJSON *question,
		      int timeout_ms, cJSON **ret)
{
	CLEANUP(json_p) cJSON *q = NULL;
	CLEANUP(free_p) char *text = NULL;

	if (question && !cJSON_IsObject(question))
		return -EINVAL;
	q = must(question ? cJSON_Duplicate(question, 1)
			  : cJSON_CreateObject());
	cJSON_DeleteItemFromObjectCaseSensitive(q, "v");
	cJSON_DeleteItemFromObjectCaseSensitive(q, "ask");
	must(cJSON_AddNumberToObject(q, "v", WIRE_VERSION));
	must(cJSON_AddStringToObject(q, "ask", ask));
	text = must(cJSON_PrintUnformatted(q));
	return ask_text(c, text, timeout_ms, ret);
}

int client_ask(struct client *c, const char *ask, const cJSON *question,
	       cJSON **ret)
{
	return ask_within(c, ask, question, c->timeout_ms, ret);
}

/* -- Answers. */

static struct client_held *held_new(void)
{
	return must_calloc(1, sizeof(struct client_held));
}

static void held_keep(struct client_held *h, cJSON *answer)
{
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): of pointers it is. */
	array_push(&h->answers, answer);
}

static void held_free(struct client_held *h)
{
	if (!h)
		return;
	for (uint32_t k = 0; k < h->answers.count; k++)
		cJSON_Delete(h->answers.at[k]);
	array_release(&h->answers);
	arena_release(&h->arena);
	free(h);
}

static void *take(struct client_held *h, size_t count, size_t size)
{
	void *p = arena_take(&h->arena, count * size);

	/* NOLINTNEXTLINE(bugprone-not-null-terminated-result): no text. */
	return memset(p, 0, count * size);
}

static uint32_t small(const cJSON *j, const char *name)
{
	uint64_t n = json_number(j, name, 0);

	return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

static bool truth(const cJSON *j, const char *name)
{
	return cJSON_IsTrue(json_member(j, name));
}

/* "" where there is none. */
static const char *string(const cJSON *j, const char *name)
{
	const char *text = cJSON_GetStringValue(json_member(j, name));

	return text ? text : "";
}

/* A path or a name: bytes again. */
static const char *bytes_of(cJSON *item)
{
	const char *text = json_unescaped(item);

	return text ? text : "";
}

static const char *bytes(const cJSON *j, const char *name)
{
	return bytes_of(cJSON_GetObjectItemCaseSensitive(j, name));
}

static size_t length(const cJSON *list)
{
	return cJSON_IsArray(list) ? (size_t)cJSON_GetArraySize(list) : 0;
}

static void copy_hash(char to[33], const cJSON *j)
{
	const char *from = string(j, "hash");

	(void)snprintf(to, 33, "%s", strlen(from) == 32 ? from : "");
}

/* One of these words, or the first. */
static unsigned word(const char *text, const char *const *words, unsigned n)
{
	for (unsigned k = 0; k < n; k++)
		if (strcmp(text, words[k]) == 0)
			return k;
	return 0;
}

int client_sync(struct client *c, int timeout_ms, struct client_head *ret)
{
	CLEANUP(json_p) cJSON *answer = NULL;
	int r = ask_within(c, "SYNC", NULL, timeout_ms, &answer);

	if (r < 0)
		return r;
	*ret = (struct client_head){ .n = json_number(answer, "n", 0),
				     .journal =
					     json_number(answer, "journal", 0),
				     .ready = truth(answer, "ready") };
	return 0;
}

/* -- Nominations. */

/* The buffer is twice as large as what may be sent: nothing here fails. */
static void say(struct buf *b, const char *text)
{
	(void)buf_add(b, text, strlen(text));
}

static void say_number(struct buf *b, const char *name, uint64_t n)
{
	char digits[64];

	(void)snprintf(digits, sizeof(digits), "%s%" PRIu64, name, n);
	say(b, digits);
}

/* Nothing in it that JSON or the journal would escape. */
static bool is_plain(const char *text, size_t *ret_len)
{
	const unsigned char *s = (const unsigned char *)text;

	while (*s >= 0x20 && *s < 0x7f && *s != '"' && *s != '\\')
		s++;
	*ret_len = (size_t)((const char *)s - text);
	return !*s;
}

/* Bytes as a JSON string. Escaped, they have no control characters. */
static void say_escaped(struct buf *b, const char *bytes)
{
	size_t size = ESCAPE_SIZE(strlen(bytes)) + 4;
	char small_text[1024];
	char *text = size <= sizeof(small_text) ? small_text : must_alloc(size);

	(void)escape_text(bytes, text, size);
	for (const char *at = text; *at;) {
		size_t plain = strcspn(at, "\"\\");

		(void)buf_add(b, at, plain);
		at += plain;
		if (*at) {
			(void)buf_add(b, "\\", 1);
			(void)buf_add(b, at++, 1);
		}
	}
	if (text != small_text)
		free(text);
}

static void say_string(struct buf *b, const char *bytes)
{
	size_t len;

	(void)buf_add(b, "\"", 1);
	if (is_plain(bytes, &len))
		(void)buf_add(b, bytes, len);
	else
		say_escaped(b, bytes);
	(void)buf_add(b, "\"", 1);
}

static void say_strings(struct buf *b, const char *name, const char *const *at,
			size_t count)
{
	say(b, name);
	(void)buf_add(b, "[", 1);
	for (size_t k = 0; k < count && b->len < WIRE_QUESTION_MAX; k++) {
		if (k)
			(void)buf_add(b, ",", 1);
		say_string(b, at[k]);
	}
	(void)buf_add(b, "]", 1);
}

static void say_paths(struct buf *b, const char *name,
		      const struct client_paths *p)
{
	say_strings(b, name, p->at, p->count);
}

/*
 * A read of symbols: where they stood is of no more interest, and a line of
 * the question's "brief" says it all.
 */
static bool is_brief(const struct client_record *r)
{
	if (r->kind != CLIENT_READ && r->kind != CLIENT_EDIT)
		return false;
	for (size_t k = 0; k < r->symbols_count; k++)
		if (strncmp(r->symbols[k], "file:", 5) == 0)
			return false;
	return r->symbols && r->symbols_count;
}

static void say_line(struct buf *b, const struct client_record *r, size_t n)
{
	say_number(b, "", n);
	say_number(b, "\\t", r->birth);
	for (size_t k = 0; k < r->symbols_count && b->len < WIRE_QUESTION_MAX;
	     k++) {
		size_t len;

		(void)buf_add(b, "\\t", 2);
		if (is_plain(r->symbols[k], &len))
			(void)buf_add(b, r->symbols[k], len);
		else
			say_escaped(b, r->symbols[k]);
	}
	(void)buf_add(b, "\\n", 2);
}

/* `n` stands for it; `brief`: without what may be long. */
static void say_record(struct buf *b, const struct client_record *r, size_t n,
		       bool brief)
{
	static const char *const kinds[] = { "read", "edit", "run", "search" };

	say_number(b, "{\"id\":", n);
	say(b, ",\"kind\":\"");
	say(b, kinds[r->kind]);
	say_number(b, "\",\"birth\":", r->birth);
	/* What is longer is no path of any file. */
	if (r->path && strlen(r->path) <= PATH_MAX) {
		say(b, ",\"path\":");
		say_string(b, r->path);
	}
	if (r->start)
		say_number(b, ",\"start\":", r->start);
	if (r->end)
		say_number(b, ",\"end\":", r->end);
	if (r->symbols && !brief)
		say_strings(b, ",\"symbols\":", r->symbols, r->symbols_count);
	if (r->observed && !brief) {
		say_paths(b, ",\"opened\":", &r->opened);
		say_paths(b, ",\"missed\":", &r->missed);
		say_paths(b, ",\"listed\":", &r->listed);
	}
	say(b, "}");
}

static void read_drift(struct client_held *h, const cJSON *list,
		       struct client_nomination *to)
{
	static const char *const sets[] = { "X", "dX", "R" };
	const cJSON *item;

	to->symbols = take(h, length(list), sizeof(*to->symbols));
	cJSON_ArrayForEach (item, list) {
		struct client_drift *d = &to->symbols[to->symbols_count++];

		d->name = bytes(item, "name");
		d->set = (enum client_set)word(string(item, "set"), sets, 3);
		d->entry = json_number(item, "entry", 0);
		d->removed = truth(item, "removed");
	}
}

typedef ARRAY(struct client_nomination) nomination_list;

static int read_nominations(struct client_held *h, const cJSON *answer,
			    size_t count, nomination_list *to)
{
	static const char *const actions[] = { "REFRESH", "DROP", "RERUN",
					       "KEEP" };
	const cJSON *item;

	cJSON_ArrayForEach (item, json_member(answer, "nominations")) {
		struct client_nomination n = { .entry = json_number(
						       item, "entry", 0) };
		uint64_t id = json_number(item, "id", 0);

		if (id >= count || !cJSON_IsNumber(json_member(item, "id")))
			return -EBADMSG;
		n.id = id;
		n.action = (enum client_action)word(string(item, "action"),
						    actions, 4);
		n.reason = string(item, "reason");
		n.more = truth(item, "more");
		read_drift(h, json_member(item, "symbols"), &n);
		array_push(to, n);
	}
	return 0;
}

/* A question in the making, and what came of those before it. */
struct batch {
	struct client *c;
	const struct client_record *records;
	size_t count;
	bool lines;  /* those of "brief", or the others? */
	size_t said; /* records in the question */
	struct client_held *held;
	nomination_list list;
	uint64_t n;
	bool asked;
};

static void batch_begin(struct batch *b)
{
	b->c->text.len = 0;
	b->said = 0;
	say(&b->c->text, "{\"v\":1,\"ask\":\"NOMINATE\",");
	say(&b->c->text, b->lines ? "\"brief\":\"" : "\"records\":[");
}

static int batch_ask(struct batch *b)
{
	cJSON *answer = NULL;
	int r;

	say(&b->c->text, b->lines ? "\"}" : "]}");
	(void)buf_add(&b->c->text, "", 1);
	r = ask_text(b->c, b->c->text.data, b->c->timeout_ms, &answer);
	if (r < 0)
		return r;
	held_keep(b->held, answer);
	if (!b->asked)
		b->n = json_number(answer, "n", 0);
	b->asked = true;
	r = read_nominations(b->held, answer, b->count, &b->list);
	batch_begin(b);
	return r;
}

static void batch_say(struct batch *b, size_t n, bool brief)
{
	struct buf *text = &b->c->text;

	if (b->lines && !brief) {
		say_line(text, &b->records[n], n);
		return;
	}
	if (b->said)
		say(text, ",");
	say_record(text, &b->records[n], n, brief);
}

/* Where it does not fit, the question so far is asked first. */
static int batch_add(struct batch *b, size_t n)
{
	struct buf *text = &b->c->text;
	size_t had = text->len;
	int r;

	batch_say(b, n, false);
	if (text->len <= BATCH_MAX) {
		b->said++;
		return 0;
	}
	text->len = had;
	if (b->said) {
		r = batch_ask(b);
		return r < 0 ? r : batch_add(b, n);
	}
	/* By itself it is too long: said in short, among the others. */
	b->lines = false;
	batch_begin(b);
	batch_say(b, n, true);
	b->said++;
	return 0;
}

/* One that does not fit by itself leaves its question to be asked. */
static int batch_add_one(struct batch *b, size_t n, bool lines)
{
	int r = batch_add(b, n);

	if (r < 0 || b->lines == lines)
		return r;
	r = batch_ask(b);
	b->lines = lines;
	batch_begin(b);
	return r;
}

static int batch_half(struct batch *b, bool lines)
{
	int r = 0;

	b->lines = lines;
	batch_begin(b);
	for (size_t k = 0; k < b->count && r == 0; k++)
		if (is_brief(&b->records[k]) == lines)
			r = batch_add_one(b, k, lines);
	if (r == 0 && (b->said || (!lines && !b->asked)))
		r = batch_ask(b);
	return r;
}

/* Those that can be said as lines, then the others. */
static int batch_run(struct batch *b)
{
	int r = batch_half(b, true);

	return r < 0 ? r : batch_half(b, false);
}

/* In the order of their records. */
static int by_record(const void *a, const void *b)
{
	uint64_t x = ((const struct client_nomination *)a)->id;
	uint64_t y = ((const struct client_nomination *)b)->id;

	return (x > y) - (x < y);
}

static void batch_sort(struct batch *b)
{
	if (b->list.count)
		qsort(b->list.at, b->list.count, sizeof(*b->list.at),
		      by_record);
	for (uint32_t k = 0; k < b->list.count; k++)
		b->list.at[k].id = b->records[b->list.at[k].id].id;
}

int client_nominate(struct client *c, const struct client_record *records,
		    size_t count, struct client_nominations *ret)
{
	struct batch b = {
		.c = c, .records = records, .count = count, .held = held_new()
	};
	int r = batch_run(&b);

	if (r < 0) {
		array_release(&b.list);
		held_free(b.held);
		return r;
	}
	batch_sort(&b);
	*ret = (struct client_nominations){ .n = b.n,
					    .at = b.list.at,
					    .count = b.list.count,
					    .held_ = b.held };
	return 0;
}

void client_nominations_release(struct client_nominations *n)
{
	free(n->at);
	held_free(n->held_);
	*n = (struct client_nominations){ .at = NULL };
}

/* -- Symbols and texts. */

static int ask_span(struct client *c, const char *ask,
		    const struct client_span *span, cJSON **ret)
{
	CLEANUP(json_p) cJSON *q = must(cJSON_CreateObject());

	json_put_bytes(q, "path", span->path);
	if (span->start)
		json_put_number(q, "start", span->start);
	if (span->end)
		json_put_number(q, "end", span->end);
	if (span->n != CLIENT_NOW)
		json_put_number(q, "n", span->n);
	return client_ask(c, ask, q, ret);
}

int client_symbols(struct client *c, const struct client_span *span,
		   struct client_symbols *ret)
{
	struct client_symbols s = { .held_ = NULL };
	cJSON *answer = NULL;
	const cJSON *item, *list;
	int r = ask_span(c, "SYMBOLS", span, &answer);

	if (r < 0)
		return r;
	s.held_ = held_new();
	held_keep(s.held_, answer);
	s.n = json_number(answer, "n", 0);
	s.language = truth(answer, "language");
	s.lines = small(answer, "lines");
	copy_hash(s.hash, answer);
	list = json_member(answer, "symbols");
	s.at = take(s.held_, length(list), sizeof(*s.at));
	cJSON_ArrayForEach (item, list)
		s.at[s.count++] = (struct client_symbol){
			.name = bytes(item, "name"),
			.kind = string(item, "kind"),
			.start = small(item, "start"),
			.end = small(item, "end"),
		};
	*ret = s;
	return 0;
}

void client_symbols_release(struct client_symbols *s)
{
	held_free(s->held_);
	*s = (struct client_symbols){ .held_ = NULL };
}

static int take_text(const cJSON *answer, char **ret, size_t *ret_len)
{
	const char *text = cJSON_GetStringValue(json_member(answer, "text"));

	if (!text)
		return base64_decode(string(answer, "base64"), ret, ret_len);
	*ret = must(strdup(text));
	*ret_len = strlen(text);
	return 0;
}

int client_source(struct client *c, const struct client_span *span,
		  struct client_source *ret)
{
	CLEANUP(json_p) cJSON *answer = NULL;
	struct client_source s = { .text = NULL };
	int r = ask_span(c, "SOURCE", span, &answer);

	if (r == 0)
		r = take_text(answer, &s.text, &s.len);
	if (r < 0)
		return r;
	s.n = json_number(answer, "n", 0);
	copy_hash(s.hash, answer);
	s.start = small(answer, "start");
	s.end = small(answer, "end");
	s.lines = small(answer, "lines");
	*ret = s;
	return 0;
}

void client_source_release(struct client_source *s)
{
	free(s->text);
	*s = (struct client_source){ .text = NULL };
}

int client_versions(struct client *c, const char *path, uint32_t limit,
		    struct client_versions *ret)
{
	CLEANUP(json_p) cJSON *q = must(cJSON_CreateObject());
	struct client_versions v = { .held_ = NULL };
	cJSON *answer = NULL;
	const cJSON *item, *list;
	int r;

	json_put_bytes(q, "path", path);
	json_put_number(q, "limit", limit);
	r = client_ask(c, "VERSIONS", q, &answer);
	if (r < 0)
		return r;
	v.held_ = held_new();
	held_keep(v.held_, answer);
	list = json_member(answer, "versions");
	v.at = take(v.held_, length(list), sizeof(*v.at));
	cJSON_ArrayForEach (item, list) {
		struct client_version *to = &v.at[v.count++];

		to->n = json_number(item, "n", 0);
		to->at_ns = (int64_t)json_number(item, "at_ns", 0);
		copy_hash(to->hash, item);
		to->kind = string(item, "kind");
	}
	*ret = v;
	return 0;
}

void client_versions_release(struct client_versions *v)
{
	held_free(v->held_);
	*v = (struct client_versions){ .held_ = NULL };
}

/* -- What processes read. */

static struct client_paths read_paths(struct client_held *h, const cJSON *list)
{
	const char **at = take(h, length(list), sizeof(*at));
	struct client_paths p = { .at = at };
	cJSON *item;

	cJSON_ArrayForEach (item, list)
		at[p.count++] = bytes_of(item);
	return p;
}

static struct client_process read_process(struct client_held *h,
					  const cJSON *item)
{
	return (struct client_process){
		.pid = small(item, "pid"),
		.ppid = small(item, "ppid"),
		.start = json_number(item, "start", 0),
		.comm = bytes(item, "comm"),
		.cmdline = bytes(item, "cmdline"),
		.opened = read_paths(h, json_member(item, "opened")),
		.listed = read_paths(h, json_member(item, "listed")),
		.missed = read_paths(h, json_member(item, "missed")),
		.first_ns = (int64_t)json_number(item, "first_ns", 0),
		.last_ns = (int64_t)json_number(item, "last_ns", 0),
	};
}

static cJSON *window_json(const struct client_window *w)
{
	cJSON *q = must(cJSON_CreateObject());
	cJSON *list;

	if (w->pid)
		json_put_number(q, "pid", w->pid);
	if (w->from_ns > 0)
		json_put_number(q, "from_ns", (uint64_t)w->from_ns);
	if (w->to_ns > 0)
		json_put_number(q, "to_ns", (uint64_t)w->to_ns);
	if (!w->without_count)
		return q;
	list = must(cJSON_AddArrayToObject(q, "without"));
	for (size_t k = 0; k < w->without_count; k++)
		(void)cJSON_AddItemToArray(
			list, must(cJSON_CreateString(w->without[k])));
	return q;
}

int client_readset(struct client *c, const struct client_window *w,
		   struct client_readset *ret)
{
	CLEANUP(json_p) cJSON *q = window_json(w);
	struct client_readset s = { .held_ = NULL };
	cJSON *answer = NULL;
	const cJSON *item, *list;
	int r = client_ask(c, "READSET", q, &answer);

	if (r < 0)
		return r;
	s.held_ = held_new();
	held_keep(s.held_, answer);
	s.forgotten = json_number(answer, "forgotten", 0);
	list = json_member(answer, "processes");
	s.at = take(s.held_, length(list), sizeof(*s.at));
	cJSON_ArrayForEach (item, list)
		s.at[s.count++] = read_process(s.held_, item);
	*ret = s;
	return 0;
}

void client_readset_release(struct client_readset *r)
{
	held_free(r->held_);
	*r = (struct client_readset){ .held_ = NULL };
}

int client_hold(struct client *c, const char *holder, uint64_t n,
		uint32_t ttl_ms)
{
	CLEANUP(json_p) cJSON *q = must(cJSON_CreateObject());
	cJSON *answer = NULL;
	int r;

	must(cJSON_AddStringToObject(q, "holder", holder));
	json_put_number(q, "n", n);
	json_put_number(q, "ttl_ms", ttl_ms);
	r = client_ask(c, "HOLD", q, &answer);
	cJSON_Delete(answer);
	return r;
}
