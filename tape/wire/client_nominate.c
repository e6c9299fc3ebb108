/*
 * NOMINATE is asked with every request of an agent, so that question is written
 * as text right away. A read of symbols is a line of the question's "brief",
 * which the tape reads faster than an object: those are asked about first, the
 * others then.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/base/escape.h"
#include "graph/base/json.h"
#include "tape/wire/client_i.h"

/* Bytes of one question, well below what the wire takes. */
#define BATCH_MAX (600u << 10)

/* One of these words, or the last. */
static unsigned word(const char *text, const char *const *words, unsigned n)
{
	unsigned k = 0;

	while (k + 1 < n && strcmp(text, words[k]) != 0)
		k++;
	return k;
}

/* The buffer holds twice what may be sent (client_init()): nothing here
   fails. */
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
		say_number(b, ",\"start_line\":", r->start);
	if (r->end)
		say_number(b, ",\"end_line\":", r->end);
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

	to->symbols =
		client_held_take(h, client_length(list), sizeof(*to->symbols));
	cJSON_ArrayForEach (item, list) {
		struct client_drift *d = &to->symbols[to->symbols_count++];

		d->name = client_bytes(item, "name");
		d->set = (enum client_set)word(json_string_or(item, "set", ""),
					       sets, 3);
		d->entry = json_number(item, "entry", 0);
		d->removed = client_truth(item, "removed");
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
		n.action = (enum client_action)word(
			json_string_or(item, "action", ""), actions, 4);
		n.reason = json_string_or(item, "reason", "");
		n.words = json_string(item, "words");
		n.more = client_truth(item, "more");
		read_drift(h, json_member(item, "symbols"), &n);
		array_push(to, n);
	}
	return 0;
}

/* A question in the making, and what came of those before it. */
struct client_batch {
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

static void batch_begin(struct client_batch *b)
{
	b->c->text.len = 0;
	b->said = 0;
	say(&b->c->text, "{\"v\":1,\"ask\":\"NOMINATE\",");
	say(&b->c->text, b->lines ? "\"brief\":\"" : "\"records\":[");
}

static int batch_ask(struct client_batch *b)
{
	cJSON *answer = NULL;
	int r;

	say(&b->c->text, b->lines ? "\"}" : "]}");
	(void)buf_add(&b->c->text, "", 1);
	r = client_ask_text(b->c, "NOMINATE", &answer);
	if (r < 0)
		return r;
	client_held_keep(b->held, answer);
	if (!b->asked)
		b->n = json_number(answer, "n", 0);
	b->asked = true;
	r = read_nominations(b->held, answer, b->count, &b->list);
	batch_begin(b);
	return r;
}

static void batch_say(struct client_batch *b, size_t n, bool brief)
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
static int batch_add(struct client_batch *b, size_t n)
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
static int batch_add_one(struct client_batch *b, size_t n, bool lines)
{
	int r = batch_add(b, n);

	if (r < 0 || b->lines == lines)
		return r;
	r = batch_ask(b);
	b->lines = lines;
	batch_begin(b);
	return r;
}

static int batch_half(struct client_batch *b, bool lines)
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
static int batch_run(struct client_batch *b)
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

static void batch_sort(struct client_batch *b)
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
	struct client_batch b = { .c = c,
				  .records = records,
				  .count = count,
				  .held = client_held_new(NULL) };
	int r = batch_run(&b);

	if (r < 0) {
		array_release(&b.list);
		client_held_free(b.held);
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
	client_held_free(n->held_);
	*n = (struct client_nominations){ .at = NULL };
}
