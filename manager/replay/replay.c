#include "manager/replay/replay.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <xxhash.h>

#include "graph/base/alloc.h"
#include "graph/base/buf.h"
#include "graph/base/cleanup.h"
#include "graph/base/json.h"
#include "graph/base/uthash.h"
#include "manager/decide/evidence.h"
#include "manager/decide/notes.h"
#include "manager/record/records.h"
#include "manager/replay/recorded.h"

#define FILE_MAX ((size_t)4 << 20)
#define BODY_MAX ((size_t)64 << 20)
#define PAUSE_NS 5000000000LL
#define BEGIN_NS 1700000000000000000LL

struct replay_call {
	UT_hash_handle hh;
	char *id;
};

struct replay {
	struct recorded *files;
	struct brain *brain;
	char *repo;
	struct replay_call *calls; /* whose effects were applied */
	int64_t now_ns;
	ARRAY(uint64_t) heard; /* hashes of our sentences sent so far */
	struct buf said;
};

int replay_new(const char *repo, enum mode mode, struct replay **ret,
	       char **ret_why)
{
	struct replay *r = must_calloc(1, sizeof(*r));
	struct brain_options o = { .repo = repo,
				   .mode = mode,
				   .ask = recorded_ask };
	int rc;

	r->files = recorded_new();
	o.ask_ctx = r->files;
	r->repo = must_strdup(repo);
	r->now_ns = BEGIN_NS;
	r->said = BUF(BODY_MAX);
	rc = brain_new(&o, &r->brain, ret_why);
	if (rc < 0) {
		replay_free(r);
		return rc;
	}
	*ret = r;
	return 0;
}

/* NOLINTBEGIN(readability-function-*): uthash's macros are not ours. */
void replay_free(struct replay *r)
{
	struct replay_call *k, *next;

	if (!r)
		return;
	brain_free(r->brain);
	recorded_free(r->files);
	HASH_ITER (hh, r->calls, k, next) {
		HASH_DEL(r->calls, k);
		free(k->id);
		free(k);
	}
	array_release(&r->heard);
	buf_release(&r->said);
	free(r->repo);
	free(r);
}

/* NOLINTEND(readability-function-*) */

struct brain *replay_brain(struct replay *r)
{
	return r->brain;
}

/* NOLINTBEGIN(readability-function-*): uthash's macros are not ours. */
/* Is this call seen for the first time? */
static bool is_new(struct replay *r, struct text id)
{
	struct replay_call *k;

	HASH_FIND(hh, r->calls, id.at, (unsigned)id.len, k);
	if (k)
		return false;
	k = must_calloc(1, sizeof(*k));
	k->id = must_memdup(id.at, id.len);
	HASH_ADD_KEYPTR(hh, r->calls, k->id, (unsigned)id.len, k);
	return true;
}

/* NOLINTEND(readability-function-*) */

/* Take the file from the repository: the best guess if it is not known. */
static void take_from_repository(struct replay *r, const char *path)
{
	CLEANUP(free_p) char *whole = NULL;
	CLEANUP(free_p) char *text = NULL;
	CLEANUP(close_p) int fd = -1;
	struct stat st;
	ssize_t len;

	if (asprintf(&whole, "%s/%s", r->repo, path) < 0) {
		whole = NULL;
		return;
	}
	fd = open(whole, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    (size_t)st.st_size > FILE_MAX)
		return;
	text = must_alloc((size_t)st.st_size + 1);
	len = read(fd, text, (size_t)st.st_size);
	if (len >= 0 && !memchr(text, '\0', (size_t)len)) {
		text[len] = '\0';
		recorded_base(r->files, path, text, (size_t)len);
	}
}

static const char *argument(const cJSON *j, const char *a, const char *b)
{
	const char *text =
		cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(j, a));

	return text ? text
		    : cJSON_GetStringValue(
			      cJSON_GetObjectItemCaseSensitive(j, b));
}

/* Append `text` with the first, or every, `old` replaced by `new`. */
static void put_instead(struct buf *out, const char *text, const char *old,
			const char *new, bool all)
{
	const char *at = strstr(text, old);

	do {
		(void)buf_add(out, text, (size_t)(at - text));
		(void)buf_add(out, new, strlen(new));
		text = at + strlen(old);
		at = all ? strstr(text, old) : NULL;
	} while (at);
	(void)buf_add(out, text, strlen(text));
}

/* Apply an edit's arguments to the text, if that is known. */
static bool apply_edit(struct replay *r, const struct item *call,
		       const char *path)
{
	CLEANUP(json_p)
	cJSON *j =
		cJSON_ParseWithLength(call->arguments.at, call->arguments.len);
	const char *old = argument(j, "old_string", "oldString");
	const char *new = argument(j, "new_string", "newString");
	const char *content = argument(j, "content", "file_text");
	bool all = cJSON_IsTrue(
		cJSON_GetObjectItemCaseSensitive(j, "replace_all"));
	CLEANUP(buf_release) struct buf out = BUF(FILE_MAX);
	const char *text;
	size_t len;

	if (content && !old) {
		(void)recorded_write(r->files, path, content, strlen(content),
				     "the agent");
		return true;
	}
	text = recorded_text(r->files, path, &len);
	if (!text || !old || !*old || !new || !strstr(text, old))
		return false;
	put_instead(&out, text, old, new, all);
	(void)recorded_write(r->files, path, out.data, out.len, "the agent");
	return true;
}

/* Take the text from a read that shows the whole file. */
static bool apply_read(struct replay *r, const struct record *record,
		       const char *path)
{
	size_t len;
	const char *now = recorded_text(r->files, path, &len);

	if (now && evidence_shows(record, now, len))
		return false;
	if (record->shape.exact && record->shape.whole &&
	    record->shape.first <= 1 && record->content.len) {
		if (now)
			(void)recorded_write(r->files, path, record->content.at,
					     record->content.len,
					     "seen by a later read");
		else
			recorded_base(r->files, path, record->content.at,
				      record->content.len);
		return now != NULL;
	}
	if (!now)
		take_from_repository(r, path);
	return false;
}

static uint32_t apply(struct replay *r, const struct transcript *t,
		      struct records *records)
{
	const struct roots roots = { .repo = r->repo };
	uint32_t writes = 0;

	for (uint32_t i = 0; i < records->count; i++) {
		const struct record *record = records_read(records, i);
		const struct item *result = &t->items[record->item];
		char path[PATH_MAX];

		if (!is_new(r, result->id) || record->failed ||
		    result->other == ITEM_NONE || !record->path ||
		    !evidence_path(&roots, record->dir, record->path, path,
				   sizeof(path)))
			continue;
		if (record->kind == RECORD_EDIT)
			writes += apply_edit(r, &t->items[result->other], path);
		else if (record->kind == RECORD_READ)
			writes += apply_read(r, record, path);
	}
	return writes;
}

static const char *const targets[DIALECTS] = {
	[DIALECT_MESSAGES] = "/v1/messages",
	[DIALECT_RESPONSES] = "/v1/responses",
	[DIALECT_CHAT] = "/v1/chat/completions",
};

/* By members that only that dialect has. */
static enum dialect guess(const char *body, size_t len)
{
	if (memmem(body, len, "\"input\":[", 9) &&
	    !memmem(body, len, "\"messages\":", 11))
		return DIALECT_RESPONSES;
	if (memmem(body, len, "\"tool_calls\"", 12) ||
	    memmem(body, len, "\"function\":{", 12))
		return DIALECT_CHAT;
	return DIALECT_MESSAGES;
}

/* Append to r->said the sentences of ours that are new in `text`. */
static void listen(struct replay *r, struct text text)
{
	const char *at = text.at, *end = text.at + text.len;

	while (at < end) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		size_t len = (size_t)((stop ? stop : end) - at);
		uint64_t hash = XXH3_64bits(at, len);
		uint32_t i = 0;

		while (i < r->heard.count && r->heard.at[i] != hash)
			i++;
		if (i == r->heard.count && len > strlen(NOTES_MARK) &&
		    memcmp(at, NOTES_MARK, strlen(NOTES_MARK)) == 0) {
			array_push(&r->heard, hash);
			(void)buf_add(&r->said, at, len);
			(void)buf_add(&r->said, "\n", 1);
		}
		at += len + 1;
	}
}

static void listen_to(struct replay *r, enum dialect d, const char *sent,
		      size_t len)
{
	struct transcript t = { 0 };

	if (transcript_init(&t, d, sent, len) < 0)
		return;
	for (uint32_t i = 0; i < t.items_count; i++)
		for (uint32_t k = 0; k < t.items[i].pieces_count; k++)
			listen(r, transcript_piece(&t, &t.items[i].pieces[k],
						   &t.arena));
	transcript_release(&t);
}

int replay_body(struct replay *r, const char *body, size_t len, int64_t at_ns,
		struct replay_step *ret)
{
	enum dialect d = guess(body, len);
	struct transcript t = { 0 };
	struct records records = { 0 };
	struct request q = { .method = "POST",
			     .target = targets[d],
			     .body = body,
			     .len = len,
			     .deadline_ns = INT64_MAX };
	struct turn *turn;
	const char *sent;
	size_t sent_len = len;
	int rc = transcript_init(&t, d, body, len);

	if (rc < 0)
		return rc;
	*ret = (struct replay_step){ .received = len };
	records_init(&records, &t);
	ret->writes = apply(r, &t, &records);
	records_release(&records);
	transcript_release(&t);
	r->now_ns = at_ns > r->now_ns ? at_ns : r->now_ns + PAUSE_NS;
	q.at_ns = r->now_ns;
	sent = brain_think(r->brain, &q, &sent_len, &turn);
	ret->rewritten = sent != NULL;
	ret->sent = sent ? sent_len : len;
	r->said.len = 0;
	if (sent)
		listen_to(r, d, sent, sent_len);
	turn_end(turn, true);
	if (buf_add(&r->said, "", 1) < 0)
		return -ENOMEM;
	ret->said = r->said.data;
	return 0;
}

/* -- A client's own log. */

static int64_t time_of(const cJSON *row)
{
	const char *text = argument(row, "timestamp", "timestamp");
	struct tm tm = { 0 };

	if (!text || !strptime(text, "%Y-%m-%dT%H:%M:%S", &tm))
		return 0;
	return (int64_t)timegm(&tm) * 1000000000;
}

struct replay_talk {
	struct replay *r;
	replay_visit *visit;
	void *ctx;
	struct buf list; /* JSON elements so far, separated by commas */
	bool responses;	 /* a Codex rollout */
	bool asked;	 /* nothing was added since the last request */
	uint32_t requests;
};

static int put_request(struct replay_talk *t, int64_t at_ns)
{
	/* The log has no cache marks: assume that everything was cached. */
	static const char head[] = "{\"model\":\"recorded\",\"cache_control\":"
				   "{\"type\":\"ephemeral\"},";
	static const char tail[] = "],\"tools\":[{\"name\":\"x\"}]}";
	struct buf body = BUF(BODY_MAX);
	struct replay_step step;
	int rc;

	if (t->asked || !t->list.len)
		return 0;
	t->asked = true;
	(void)buf_add(&body, head, strlen(head));
	if (t->responses)
		(void)buf_add(&body, "\"input\":[", 9);
	else
		(void)buf_add(&body, "\"messages\":[", 12);
	(void)buf_add(&body, t->list.data, t->list.len);
	rc = buf_add(&body, tail, strlen(tail));
	if (rc == 0)
		rc = replay_body(t->r, body.data, body.len, at_ns, &step);
	buf_release(&body);
	if (rc == 0) {
		t->requests++;
		t->visit(t->ctx, &step);
	}
	return rc;
}

static int add_element(struct replay_talk *t, const cJSON *element)
{
	CLEANUP(free_p) char *text = cJSON_PrintUnformatted(element);
	int rc = 0;

	if (t->list.len)
		rc = buf_add(&t->list, ",", 1);
	return rc < 0 ? rc : buf_add(&t->list, text, strlen(text));
}

/* Claude Code: one row per block, with the message inside. */
static int claude_row(struct replay_talk *t, const cJSON *row, const char *type)
{
	const cJSON *message = cJSON_GetObjectItemCaseSensitive(row, "message");
	int rc = 0;

	if (!message ||
	    cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(row, "isSidechain")))
		return 0;
	if (strcmp(type, "assistant") == 0)
		rc = put_request(t, time_of(row));
	else if (strcmp(type, "user") != 0)
		return 0;
	if (rc < 0)
		return rc;
	if (strcmp(type, "user") == 0)
		t->asked = false;
	return add_element(t, message);
}

/* Codex: items as they go over the wire. */
static int codex_row(struct replay_talk *t, const cJSON *row)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(row, "payload");
	const char *type = argument(item, "type", "type");
	const char *role = argument(item, "role", "role");
	bool said;
	int rc = 0;

	if (!type)
		return 0;
	said = (role && strcmp(role, "assistant") == 0) ||
	       strcmp(type, "reasoning") == 0 ||
	       (strstr(type, "_call") && !strstr(type, "_output"));
	t->responses = true;
	if (said)
		rc = put_request(t, time_of(row));
	else
		t->asked = false;
	return rc < 0 ? rc : add_element(t, item);
}

/* Codex compacted the talk: it goes on from the replacement history. */
static int codex_compacted(struct replay_talk *t, const cJSON *row)
{
	const cJSON *kept = cJSON_GetObjectItemCaseSensitive(
		cJSON_GetObjectItemCaseSensitive(row, "payload"),
		"replacement_history");
	const cJSON *item;
	int rc = 0;

	t->list.len = 0;
	cJSON_ArrayForEach (item, kept)
		rc = rc < 0 ? rc : add_element(t, item);
	return rc;
}

static int add_row(struct replay_talk *t, const char *line, size_t len)
{
	CLEANUP(json_p) cJSON *row = cJSON_ParseWithLength(line, len);
	const char *type = argument(row, "type", "type");
	const char *subtype = argument(row, "subtype", "subtype");

	if (!type)
		return 0;
	if (subtype && strcmp(subtype, "compact_boundary") == 0) {
		t->list.len = 0;
		return 0;
	}
	if (strcmp(type, "compacted") == 0)
		return codex_compacted(t, row);
	if (strcmp(type, "response_item") == 0)
		return codex_row(t, row);
	return claude_row(t, row, type);
}

int replay_transcript(struct replay *r, const char *text, size_t len,
		      replay_visit *visit, void *ctx)
{
	struct replay_talk t = { .r = r, .visit = visit, .ctx = ctx };
	const char *end = text + len;
	int rc = 0;

	t.list = BUF(BODY_MAX);
	t.asked = true;
	while (text < end && rc == 0) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));

		rc = add_row(&t, text, (size_t)((stop ? stop : end) - text));
		text = stop ? stop + 1 : end;
	}
	if (rc == 0)
		rc = put_request(&t, 0);
	buf_release(&t.list);
	return rc == 0 && !t.requests ? -EBADMSG : rc;
}
