#include "tape/wire/client.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/base/base64.h"
#include "graph/base/cleanup.h"
#include "graph/base/clock.h"
#include "graph/base/json.h"
#include "tape/wire/client_i.h"
#include "tape/wire/links.h"

void client_init(struct client *c, wire_transport *transport, void *ctx,
		 int64_t deadline_ns, int timeout_ms)
{
	*c = (struct client){ .transport = transport,
			      .ctx = ctx,
			      .deadline_ns = deadline_ns,
			      .timeout_ms = timeout_ms,
			      .text = BUF((size_t)2 * WIRE_QUESTION_MAX) };
}

void client_release(struct client *c)
{
	buf_release(&c->text);
	free(TAKE(c->error));
	links_free(TAKE(c->links));
}

struct client *client_new(const char *socket)
{
	struct client *c = must_alloc(sizeof(*c));
	struct links *links = links_new(socket);

	client_init(c, links_ask, links, INT64_MAX, CLIENT_TIMEOUT_MS);
	c->links = links;
	return c;
}

void client_free(struct client *c)
{
	if (c)
		client_release(c);
	free(c);
}

const char *client_error(const struct client *c)
{
	return c->error ? c->error : "";
}

/* -- Asking. */

/* What is left of the time, `limit_ms` at most; 0: nothing. */
static int time_left(const struct client *c, int limit_ms)
{
	int64_t left;

	if (c->deadline_ns == INT64_MAX)
		return limit_ms;
	left = (c->deadline_ns - clock_mono_ns()) / NS_PER_MS;
	if (left <= 0)
		return 0;
	return limit_ms >= 0 && limit_ms < left ? limit_ms : (int)left;
}

static void note_time(struct client *c, int64_t began_ns)
{
	int64_t took = clock_mono_ns() - began_ns;

	if (took > c->slowest_ns)
		c->slowest_ns = took;
}

/* An answer that is an error leaves its sentence behind. */
static int keep_error(struct client *c, int rc, cJSON *answer, cJSON **ret)
{
	const char *why = json_string(answer, "error");

	free(TAKE(c->error));
	if (rc == 0) {
		*ret = answer;
		return 0;
	}
	if (rc == -EREMOTEIO && why)
		c->error = must_strdup(why);
	cJSON_Delete(answer);
	return rc;
}

static int ask_within(struct client *c, const char *ask, const cJSON *question,
		      int limit_ms, cJSON **ret)
{
	cJSON *answer = NULL;
	int64_t began_ns = clock_mono_ns();
	int left = time_left(c, limit_ms);
	int rc = -ETIMEDOUT;

	if (!c->transport)
		rc = -ECONNREFUSED;
	else if (left != 0)
		rc = c->transport(c->ctx, ask, question, left, &answer);
	note_time(c, began_ns);
	return keep_error(c, rc, answer, ret);
}

int client_ask(struct client *c, const char *ask, const cJSON *question,
	       cJSON **ret)
{
	if (question && !cJSON_IsObject(question))
		return -EINVAL;
	return ask_within(c, ask, question, c->timeout_ms, ret);
}

/* Connections take the text as it is; another transport wants members. */
int client_ask_text(struct client *c, const char *ask, cJSON **ret)
{
	CLEANUP(json_p) cJSON *question = NULL;
	cJSON *answer = NULL;
	int64_t began_ns = clock_mono_ns();
	int left, rc = -ETIMEDOUT;

	assert(c->text.len > 0 && c->text.data[c->text.len - 1] == '\0');
	if (c->transport != links_ask) {
		question = cJSON_Parse(c->text.data);
		return question ? client_ask(c, ask, question, ret) : -ENOMEM;
	}
	left = time_left(c, c->timeout_ms);
	if (left != 0)
		rc = links_ask_text(c->ctx, c->text.data, left, &answer);
	note_time(c, began_ns);
	return keep_error(c, rc, answer, ret);
}

/* -- Answers. */

struct client_held *client_held_new(cJSON *answer)
{
	struct client_held *h = must_calloc(1, sizeof(*h));

	if (answer)
		client_held_keep(h, answer);
	return h;
}

void client_held_keep(struct client_held *h, cJSON *answer)
{
	array_push(&h->answers, answer);
}

void client_held_free(struct client_held *h)
{
	if (!h)
		return;
	for (uint32_t k = 0; k < h->answers.count; k++)
		cJSON_Delete(h->answers.at[k]);
	array_release(&h->answers);
	arena_release(&h->arena);
	free(h);
}

void *client_held_take(struct client_held *h, size_t count, size_t size)
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

bool client_truth(const cJSON *j, const char *name)
{
	return cJSON_IsTrue(json_member(j, name));
}

static const char *bytes_of(cJSON *item)
{
	const char *text = json_unescaped(item);

	return text ? text : "";
}

const char *client_bytes(const cJSON *j, const char *name)
{
	return bytes_of(cJSON_GetObjectItemCaseSensitive(j, name));
}

size_t client_length(const cJSON *list)
{
	return cJSON_IsArray(list) ? (size_t)cJSON_GetArraySize(list) : 0;
}

static void copy_hash(char to[static CLIENT_HASH_SIZE], const cJSON *j)
{
	const char *from = json_string_or(j, "hash", "");
	size_t len = strlen(from);

	to[0] = '\0';
	if (len < CLIENT_HASH_SIZE)
		memcpy(to, from, len + 1);
}

/* -- Where the tape is, and what came. */

int client_sync(struct client *c, const struct client_paths *paths,
		int within_ms, int timeout_ms, struct client_head *ret)
{
	CLEANUP(json_p) cJSON *q = json_object(NULL, NULL);
	CLEANUP(json_p) cJSON *answer = NULL;
	cJSON *list = paths ? json_array(q, "paths") : NULL;
	int r;

	for (size_t k = 0; paths && k < paths->count; k++)
		json_push(list, json_bytes(paths->at[k]));
	if (within_ms >= 0)
		json_put_number(q, "within_ms",
				(uint64_t)time_left(c, 3 * within_ms) / 3);
	r = ask_within(c, "SYNC", q, timeout_ms, &answer);
	if (r < 0)
		return r;
	*ret = (struct client_head){
		.n = json_number(answer, "n", 0),
		.journal = json_number(answer, "journal", 0),
		.ready = client_truth(answer, "ready"),
		.pending = json_number(answer, "pending", 0),
		.open = (uint32_t)client_length(json_member(answer, "open")),
		.unread = client_truth(answer, "unread"),
	};
	return 0;
}

static struct client_entry read_entry(const cJSON *item)
{
	bool several = client_length(json_member(item, "authors")) > 1;
	const cJSON *author = several ? NULL : json_member(item, "author");
	const cJSON *drift = json_member(item, "dX"), *parent;
	const char *origin = json_string_or(author, "origin", "mount");
	struct client_entry e = {
		.n = json_number(item, "n", 0),
		.at_ns = (int64_t)json_number(item, "at_ns", 0),
		.path = client_bytes(item, "path"),
		.pid = small(author, "pid"),
		.foreign = several || strcmp(origin, "mount") != 0,
		/* An entry that does not say is as good as one that does. */
		.elsewhere = !drift || client_length(drift) ||
			     client_length(json_member(item, "R")),
	};
	size_t k = 0;

	if (json_member(item, "path2"))
		e.path2 = client_bytes(item, "path2");
	cJSON_ArrayForEach (parent, json_member(author, "ancestors"))
		if (k < sizeof(e.ancestors) / sizeof(*e.ancestors))
			e.ancestors[k++] = small(parent, "pid");
	return e;
}

int client_since(struct client *c, uint64_t n, uint32_t limit,
		 struct client_entries *ret)
{
	CLEANUP(json_p) cJSON *q = json_object(NULL, NULL);
	struct client_entries e = { .held_ = NULL };
	cJSON *answer = NULL;
	const cJSON *item, *list;
	int r;

	json_put_number(q, "n", n);
	json_put_number(q, "limit", limit);
	r = client_ask(c, "SINCE", q, &answer);
	if (r < 0)
		return r;
	e.held_ = client_held_new(answer);
	e.more = client_truth(answer, "more");
	list = json_member(answer, "entries");
	e.at = client_held_take(e.held_, client_length(list), sizeof(*e.at));
	cJSON_ArrayForEach (item, list)
		e.at[e.count++] = read_entry(item);
	*ret = e;
	return 0;
}

void client_entries_release(struct client_entries *e)
{
	client_held_free(e->held_);
	*e = (struct client_entries){ .held_ = NULL };
}

/* -- Symbols and texts. */

static int ask_span(struct client *c, const char *ask,
		    const struct client_span *span, cJSON **ret)
{
	CLEANUP(json_p) cJSON *q = json_object(NULL, NULL);

	json_put_bytes(q, "path", span->path);
	if (span->start)
		json_put_number(q, "start_line", span->start);
	if (span->end)
		json_put_number(q, "end_line", span->end);
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
	s.held_ = client_held_new(answer);
	s.n = json_number(answer, "n", 0);
	s.language = client_truth(answer, "language");
	s.lines = small(answer, "lines");
	copy_hash(s.hash, answer);
	list = json_member(answer, "symbols");
	s.at = client_held_take(s.held_, client_length(list), sizeof(*s.at));
	cJSON_ArrayForEach (item, list)
		s.at[s.count++] = (struct client_symbol){
			.name = client_bytes(item, "name"),
			.kind = json_string_or(item, "kind", ""),
			.start = small(item, "start_line"),
			.end = small(item, "end_line"),
		};
	*ret = s;
	return 0;
}

void client_symbols_release(struct client_symbols *s)
{
	client_held_free(s->held_);
	*s = (struct client_symbols){ .held_ = NULL };
}

static int take_text(const cJSON *answer, struct client_text *ret)
{
	const char *text = json_string(answer, "text");

	if (!text) {
		ret->binary = true;
		return base64_decode(json_string_or(answer, "base64", ""),
				     &ret->at, &ret->len);
	}
	*ret = (struct client_text){ .at = must_strdup(text),
				     .len = strlen(text) };
	return 0;
}

int client_source(struct client *c, const struct client_span *span,
		  struct client_source *ret)
{
	CLEANUP(json_p) cJSON *answer = NULL;
	struct client_source s = { .path = NULL };
	int r = ask_span(c, "SOURCE", span, &answer);

	if (r == 0)
		r = take_text(answer, &s.text);
	if (r < 0)
		return r;
	if (json_member(answer, "path"))
		s.path = must_strdup(client_bytes(answer, "path"));
	s.lines = small(answer, "lines");
	*ret = s;
	return 0;
}

void client_source_release(struct client_source *s)
{
	free(s->text.at);
	free(s->path);
	*s = (struct client_source){ .path = NULL };
}

int client_content(struct client *c, const char *hash, struct client_text *ret)
{
	CLEANUP(json_p) cJSON *q = json_object(NULL, NULL);
	CLEANUP(json_p) cJSON *answer = NULL;
	int r;

	json_put_text(q, "hash", hash);
	r = client_ask(c, "CONTENT", q, &answer);
	return r < 0 ? r : take_text(answer, ret);
}

int client_versions(struct client *c, const char *path, uint32_t limit,
		    struct client_versions *ret)
{
	CLEANUP(json_p) cJSON *q = json_object(NULL, NULL);
	struct client_versions v = { .held_ = NULL };
	cJSON *answer = NULL;
	const cJSON *item, *list;
	int r;

	json_put_bytes(q, "path", path);
	json_put_number(q, "limit", limit);
	r = client_ask(c, "VERSIONS", q, &answer);
	if (r < 0)
		return r;
	v.held_ = client_held_new(answer);
	list = json_member(answer, "versions");
	v.at = client_held_take(v.held_, client_length(list), sizeof(*v.at));
	cJSON_ArrayForEach (item, list) {
		struct client_version *to = &v.at[v.count++];

		to->n = json_number(item, "n", 0);
		copy_hash(to->hash, item);
		to->kind = json_string_or(item, "kind", "");
	}
	*ret = v;
	return 0;
}

void client_versions_release(struct client_versions *v)
{
	client_held_free(v->held_);
	*v = (struct client_versions){ .held_ = NULL };
}

/* -- What processes read. */

static struct client_paths read_paths(struct client_held *h, const cJSON *list)
{
	const char **at = client_held_take(h, client_length(list), sizeof(*at));
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
		.comm = client_bytes(item, "comm"),
		.opened = read_paths(h, json_member(item, "opened")),
		.listed = read_paths(h, json_member(item, "listed")),
		.missed = read_paths(h, json_member(item, "missed")),
		.first_ns = (int64_t)json_number(item, "first_ns", 0),
	};
}

int client_readset(struct client *c, int64_t from_ns, int64_t to_ns,
		   struct client_readset *ret)
{
	CLEANUP(json_p) cJSON *q = json_object(NULL, NULL);
	struct client_readset s = { .held_ = NULL };
	cJSON *answer = NULL;
	const cJSON *item, *list;
	int r;

	json_put(q, "from_ns", cJSON_CreateNumber((double)from_ns));
	json_put(q, "to_ns", cJSON_CreateNumber((double)to_ns));
	r = client_ask(c, "READSET", q, &answer);
	if (r < 0)
		return r;
	s.held_ = client_held_new(answer);
	list = json_member(answer, "processes");
	s.at = client_held_take(s.held_, client_length(list), sizeof(*s.at));
	cJSON_ArrayForEach (item, list)
		s.at[s.count++] = read_process(s.held_, item);
	*ret = s;
	return 0;
}

void client_readset_release(struct client_readset *r)
{
	client_held_free(r->held_);
	*r = (struct client_readset){ .held_ = NULL };
}

int client_hold(struct client *c, const char *holder, uint64_t n,
		uint32_t ttl_ms)
{
	CLEANUP(json_p) cJSON *q = json_object(NULL, NULL);
	CLEANUP(json_p) cJSON *answer = NULL;

	json_put_text(q, "holder", holder);
	json_put_number(q, "n", n);
	json_put_number(q, "ttl_ms", ttl_ms);
	return client_ask(c, "HOLD", q, &answer);
}
