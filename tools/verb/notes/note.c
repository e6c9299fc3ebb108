#include "tools/verb/notes/note.h"

#include <assert.h>
#include <inttypes.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/base/clock.h"
#include "graph/base/json.h"
#include "tools/cli/say.h"
#include "tools/verb/notes/commit.h"

#define KEY_DIGITS 14
#define OURS	   "statetape/" STATETAPE_VERSION

/* The first digits of a text's SHA-256. */
struct note_key {
	char digits[KEY_DIGITS + 1];
};

static struct note_key key_of(const char *text)
{
	uint8_t digest[SHA256_DIGEST_SIZE];
	struct sha256_ctx c;
	struct note_key key;

	sha256_init(&c);
	sha256_update(&c, strlen(text), (const uint8_t *)text);
	sha256_digest(&c, sizeof(digest), digest);
	for (size_t i = 0; i < KEY_DIGITS / 2; i++)
		(void)snprintf(key.digits + 2 * i, 3, "%02x", digest[i]);
	return key;
}

/* -- Git AI. */

/* Of an agent, the key of its session; of a person, all of the key (free it).
 */
static char *author_key(const struct commit *c, const struct who *w)
{
	CLEANUP(free_p)
	char *name = w->kind == WHO_AGENT ? format_text("%s:%s", w->tool, w->id)
					  : format_text("%s", c->person);

	return format_text("%c_%s", w->kind == WHO_AGENT ? 's' : 'h',
			   key_of(name).digits);
}

/* The key of a span's author (free it). */
static char *span_key(const struct commit *c, const struct commit_span *s)
{
	const struct who *w = &c->authors[s->who];
	CLEANUP(free_p) char *author = author_key(c, w);
	CLEANUP(free_p) char *trace = NULL;

	if (w->kind != WHO_AGENT)
		return format_text("%s", author);
	trace = format_text("%s:%" PRIu64, author, s->entry);
	return format_text("%s::t_%s", author, key_of(trace).digits);
}

static bool is_attested(const struct commit *c, const struct commit_span *s)
{
	enum who_kind kind = c->authors[s->who].kind;

	return kind == WHO_AGENT || kind == WHO_PERSON;
}

static void print_range(FILE *out, uint32_t start, uint32_t end)
{
	if (start == end)
		(void)fprintf(out, "%" PRIu32, start);
	else
		(void)fprintf(out, "%" PRIu32 "-%" PRIu32, start, end);
}

/* All spans with the key of span `first`, unless an earlier one has it. */
static void print_key(FILE *out, const struct commit_file *f, char *const *keys,
		      size_t first)
{
	const char *before = " ";

	for (size_t i = 0; i < first; i++)
		if (keys[i] && strcmp(keys[i], keys[first]) == 0)
			return;
	(void)fprintf(out, "  %s", keys[first]);
	for (size_t i = first; i < f->count;) {
		uint32_t start = f->spans[i].start, end = f->spans[i].end;

		if (!keys[i] || strcmp(keys[i], keys[first]) != 0) {
			i++;
			continue;
		}
		while (++i < f->count && keys[i] &&
		       strcmp(keys[i], keys[first]) == 0 &&
		       f->spans[i].start == end + 1)
			end = f->spans[i].end;
		(void)fputs(before, out);
		print_range(out, start, end);
		before = ",";
	}
	(void)fputc('\n', out);
}

/* A name like the line between the sections would end the first. */
static bool needs_quotes(const char *path)
{
	return strpbrk(path, " \t") || strcmp(path, "---") == 0;
}

static void print_file(FILE *out, const struct commit *c,
		       const struct commit_file *f)
{
	char **keys;
	bool any = false;

	/* The format has no form for such a name. */
	if (strchr(f->path, '\n'))
		return;
	keys = must_have(calloc(f->count, sizeof(*keys)));
	for (size_t i = 0; i < f->count; i++)
		if (is_attested(c, &f->spans[i])) {
			keys[i] = span_key(c, &f->spans[i]);
			any = true;
		}
	if (any)
		(void)fprintf(out, needs_quotes(f->path) ? "\"%s\"\n" : "%s\n",
			      f->path);
	for (size_t i = 0; i < f->count; i++)
		if (keys[i])
			print_key(out, f, keys, i);
	for (size_t i = 0; i < f->count; i++)
		free(keys[i]);
	free(keys);
}

static cJSON *git_ai_metadata(const struct commit *c)
{
	cJSON *o = json_object(NULL, NULL), *humans, *sessions;

	json_put_text(o, "schema_version", "authorship/3.0.0");
	json_put_text(o, "git_ai_version", OURS);
	json_put_text(o, "base_commit_sha", c->id);
	(void)json_object(o, "prompts");
	humans = json_object(o, "humans");
	sessions = json_object(o, "sessions");
	for (size_t i = 0; i < c->authors_count; i++) {
		const struct who *w = &c->authors[i];
		CLEANUP(free_p) char *key = author_key(c, w);
		cJSON *one;

		if (w->kind == WHO_PERSON) {
			json_put_text(json_object(humans, key), "author",
				      c->person);
		} else if (w->kind == WHO_AGENT) {
			cJSON *session = json_object(sessions, key);

			one = json_object(session, "agent_id");
			json_put_text(one, "tool", w->tool);
			json_put_text(one, "id", w->id);
			json_put_text(one, "model", w->model);
			json_put_text(session, "human_author", c->person);
		}
	}
	return o;
}

char *note_git_ai(const struct commit *c, size_t *ret_len)
{
	CLEANUP(json_p) cJSON *meta = git_ai_metadata(c);
	CLEANUP(free_p) char *json = must_have(cJSON_Print(meta));
	char *text = NULL;
	FILE *out = must_have(open_memstream(&text, ret_len));

	for (size_t i = 0; i < c->files_count; i++)
		print_file(out, c, &c->files[i]);
	(void)fprintf(out, "---\n%s", json);
	(void)fclose(out);
	return must_have(text);
}

bool note_is_ours(const char *note)
{
	const char *json =
		strncmp(note, "---\n", 4) == 0 ? note : strstr(note, "\n---\n");
	CLEANUP(json_p) cJSON *meta = NULL;

	if (!json)
		return false;
	meta = cJSON_Parse(strchr(json + 1, '{'));
	return strncmp(json_string_or(meta, "git_ai_version", ""), "statetape/",
		       strlen("statetape/")) == 0;
}

/* -- Agent Trace. */

static const char *contributor(enum who_kind kind)
{
	switch (kind) {
	case WHO_PERSON:
		return "human";
	case WHO_AGENT:
		return "ai";
	case WHO_SEVERAL:
		return "mixed";
	case WHO_UNKNOWN:
		break;
	}
	return "unknown";
}

/* By models.dev: the maker first, where the name tells it (free it). */
static char *model_id(const char *model)
{
	static const char *const makers[][2] = {
		{ "claude", "anthropic" }, { "gpt", "openai" },
		{ "o3", "openai" },	   { "o4", "openai" },
		{ "codex", "openai" },	   { "gemini", "google" },
		{ "grok", "xai" },	   { "qwen", "alibaba" },
	};

	if (!strchr(model, '/'))
		for (size_t i = 0; i < sizeof(makers) / sizeof(*makers); i++)
			if (strncmp(model, makers[i][0],
				    strlen(makers[i][0])) == 0)
				return format_text("%s/%s", makers[i][1],
						   model);
	return format_text("%s", model);
}

static void put_contributor(cJSON *to, const struct who *w)
{
	cJSON *by = json_object(to, "contributor");
	CLEANUP(free_p) char *id = NULL;

	json_put_text(by, "type", contributor(w->kind));
	if (w->kind != WHO_AGENT || strcmp(w->model, "unknown") == 0)
		return;
	id = model_id(w->model);
	json_put_text(by, "model_id", id);
}

/* The spans of one author as a conversation; nothing if it has none. */
static void put_conversation(cJSON *to, const struct commit *c,
			     const struct commit_file *f, size_t who)
{
	cJSON *one, *ranges = NULL;

	for (size_t i = 0; i < f->count; i++) {
		cJSON *range;

		if (f->spans[i].who != who)
			continue;
		if (!ranges) {
			one = json_push_object(to);
			put_contributor(one, &c->authors[who]);
			ranges = json_array(one, "ranges");
		}
		range = json_push_object(ranges);
		json_put_number(range, "start_line", f->spans[i].start);
		json_put_number(range, "end_line", f->spans[i].end);
	}
}

/* A random UUID, version 4. */
static void put_uuid(cJSON *to, const char *name)
{
	uint8_t b[16] = { 0 };
	char text[37];
	size_t at = 0;

	(void)getrandom(b, sizeof(b), 0);
	b[6] = (uint8_t)((b[6] & 0x0f) | 0x40);
	b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);
	for (size_t i = 0; i < sizeof(b); i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			text[at++] = '-';
		at += (size_t)snprintf(text + at, 3, "%02x", b[i]);
	}
	json_put_text(to, name, text);
}

char *note_agent_trace(const struct commit *c)
{
	CLEANUP(json_p) cJSON *o = json_object(NULL, NULL);
	cJSON *vcs, *tool, *files;

	json_put_text(o, "version", "0.1.0");
	put_uuid(o, "id");
	json_put_iso(o, "timestamp", clock_wall_ns());
	vcs = json_object(o, "vcs");
	json_put_text(vcs, "type", "git");
	json_put_text(vcs, "revision", c->id);
	tool = json_object(o, "tool");
	json_put_text(tool, "name", "statetape");
	json_put_text(tool, "version", STATETAPE_VERSION);
	files = json_array(o, "files");
	for (size_t i = 0; i < c->files_count; i++) {
		cJSON *file = json_push_object(files), *talks;

		json_put_bytes(file, "path", c->files[i].path);
		talks = json_array(file, "conversations");
		for (size_t k = 0; k < c->authors_count; k++)
			put_conversation(talks, c, &c->files[i], k);
	}
	return must_have(cJSON_PrintUnformatted(o));
}
