#include "manager/replay/recorded.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <xxhash.h>

#include "graph/base/alloc.h"
#include "graph/base/array.h"
#include "graph/base/cleanup.h"
#include "graph/base/escape.h"
#include "graph/base/json.h"
#include "graph/base/uthash.h"
#include "manager/decide/linediff.h"

struct recorded_version {
	uint64_t n;
	char *text; /* NULL: deleted */
	size_t len;
};

struct recorded_file {
	UT_hash_handle hh;
	char *path;
	ARRAY(struct recorded_version) versions; /* oldest first */
};

struct recorded_entry {
	char *path, *who;
};

struct recorded_reading {
	uint32_t pid;
	int64_t at_ns;
	char *path;
};

struct recorded {
	pthread_mutex_t lock; /* guards all below */
	struct recorded_file *files;
	ARRAY(struct recorded_entry) entries; /* entry i + 1 */
	ARRAY(struct recorded_reading) reads;
};

/* Paths are kept as questions and answers have them, escaped. (Free it.) */
static char *escaped(const char *path)
{
	size_t size = ESCAPE_SIZE(strlen(path)) + 4;
	char *text = must_alloc(size);

	(void)escape_text(path, text, size);
	return text;
}

struct recorded *recorded_new(void)
{
	struct recorded *r = must_calloc(1, sizeof(*r));

	(void)pthread_mutex_init(&r->lock, NULL);
	return r;
}

/* NOLINTBEGIN(readability-function-*): uthash's macros are not ours. */
void recorded_free(struct recorded *r)
{
	struct recorded_file *f, *next;

	if (!r)
		return;
	HASH_ITER (hh, r->files, f, next) {
		HASH_DEL(r->files, f);
		for (uint32_t i = 0; i < f->versions.count; i++)
			free(f->versions.at[i].text);
		array_release(&f->versions);
		free(f->path);
		free(f);
	}
	for (uint32_t i = 0; i < r->entries.count; i++) {
		free(r->entries.at[i].path);
		free(r->entries.at[i].who);
	}
	for (uint32_t i = 0; i < r->reads.count; i++)
		free(r->reads.at[i].path);
	array_release(&r->entries);
	array_release(&r->reads);
	(void)pthread_mutex_destroy(&r->lock);
	free(r);
}

static struct recorded_file *file_at(struct recorded *r, const char *path,
				     int make)
{
	struct recorded_file *f;

	HASH_FIND_STR(r->files, path, f);
	if (f || !make)
		return f;
	f = must_calloc(1, sizeof(*f));
	f->path = must_strdup(path);
	HASH_ADD_KEYPTR(hh, r->files, f->path, strlen(f->path), f);
	return f;
}

/* NOLINTEND(readability-function-*) */

static void add_version(struct recorded *r, const char *path, uint64_t n,
			const char *text, size_t len)
{
	struct recorded_version v = { n, text ? must_memdup(text, len) : NULL,
				      len };

	array_push(&file_at(r, path, 1)->versions, v);
}

void recorded_base(struct recorded *r, const char *path, const char *text,
		   size_t len)
{
	CLEANUP(free_p) char *key = escaped(path);

	(void)pthread_mutex_lock(&r->lock);
	add_version(r, key, 0, text, len);
	(void)pthread_mutex_unlock(&r->lock);
}

uint64_t recorded_write(struct recorded *r, const char *path, const char *text,
			size_t len, const char *who)
{
	struct recorded_entry e = { escaped(path), must_strdup(who) };
	uint64_t n;

	(void)pthread_mutex_lock(&r->lock);
	array_push(&r->entries, e);
	n = r->entries.count;
	add_version(r, e.path, n, text, len);
	(void)pthread_mutex_unlock(&r->lock);
	return n;
}

void recorded_read(struct recorded *r, uint32_t pid, int64_t at_ns,
		   const char *path)
{
	struct recorded_reading one = { pid, at_ns, escaped(path) };

	(void)pthread_mutex_lock(&r->lock);
	array_push(&r->reads, one);
	(void)pthread_mutex_unlock(&r->lock);
}

/* The version as of entry `n`; NULL: unknown, or no such file then. */
static const struct recorded_version *version_at(struct recorded *r,
						 const char *path, uint64_t n)
{
	const struct recorded_file *f = path ? file_at(r, path, 0) : NULL;
	const struct recorded_version *found = NULL;

	for (uint32_t i = 0; f && i < f->versions.count; i++)
		if (f->versions.at[i].n <= n)
			found = &f->versions.at[i];
	return found && found->text ? found : NULL;
}

const char *recorded_text(struct recorded *r, const char *path, size_t *ret_len)
{
	CLEANUP(free_p) char *key = escaped(path);
	const struct recorded_version *v;

	(void)pthread_mutex_lock(&r->lock);
	v = version_at(r, key, UINT64_MAX);
	(void)pthread_mutex_unlock(&r->lock);
	*ret_len = v ? v->len : 0;
	return v ? v->text : NULL;
}

/* -- Answers, with the lock held. */

static void hash_text(const struct recorded_version *v, char *ret, size_t size)
{
	(void)snprintf(ret, size, "%016llx",
		       (unsigned long long)XXH3_64bits(v->text, v->len));
}

static int answer_sync(struct recorded *r, const cJSON *q, cJSON *a)
{
	(void)q;
	(void)cJSON_AddNumberToObject(a, "n", r->entries.count);
	(void)cJSON_AddBoolToObject(a, "ready", 1);
	return 0;
}

static int answer_since(struct recorded *r, const cJSON *q, cJSON *a)
{
	uint64_t limit = json_number(q, "limit", 256),
		 from = json_number(q, "n", 0);
	cJSON *list = cJSON_AddArrayToObject(a, "entries");

	for (uint64_t n = from + 1; n <= r->entries.count; n++) {
		cJSON *e;

		if (limit-- == 0) {
			(void)cJSON_AddBoolToObject(a, "more", 1);
			break;
		}
		e = cJSON_CreateObject();
		(void)cJSON_AddNumberToObject(e, "n", (double)n);
		(void)cJSON_AddStringToObject(e, "path",
					      r->entries.at[n - 1].path);
		(void)cJSON_AddItemToArray(list, e);
	}
	return 0;
}

static int answer_source(struct recorded *r, const cJSON *q, cJSON *a)
{
	const struct recorded_version *v = version_at(
		r, json_string(q, "path"), json_number(q, "n", UINT64_MAX));

	if (!v)
		return -ENOENT;
	(void)cJSON_AddStringToObject(a, "text", v->text);
	return 0;
}

static int answer_versions(struct recorded *r, const cJSON *q, cJSON *a)
{
	const char *path = json_string(q, "path");
	const struct recorded_file *f = path ? file_at(r, path, 0) : NULL;
	cJSON *list = cJSON_AddArrayToObject(a, "versions");

	for (uint32_t i = f ? f->versions.count : 0; i-- > 0;) {
		const struct recorded_version *v = &f->versions.at[i];
		cJSON *j = cJSON_CreateObject();
		char hash[32] = "";

		if (v->text)
			hash_text(v, hash, sizeof(hash));
		(void)cJSON_AddNumberToObject(j, "n", (double)v->n);
		(void)cJSON_AddStringToObject(j, "hash", hash);
		(void)cJSON_AddItemToArray(list, j);
	}
	return 0;
}

static int answer_content(struct recorded *r, const cJSON *q, cJSON *a)
{
	const char *wanted = json_string(q, "hash");
	struct recorded_file *f, *next;

	HASH_ITER (hh, r->files, f, next)
		for (uint32_t i = 0; wanted && i < f->versions.count; i++) {
			const struct recorded_version *v = &f->versions.at[i];
			char hash[32] = "";

			if (v->text)
				hash_text(v, hash, sizeof(hash));
			if (v->text && strcmp(hash, wanted) == 0) {
				(void)cJSON_AddStringToObject(a, "text",
							      v->text);
				return 0;
			}
		}
	return -ENOENT;
}

static int answer_symbols(struct recorded *r, const cJSON *q, cJSON *a)
{
	(void)r;
	(void)q;
	(void)cJSON_AddArrayToObject(a, "symbols");
	return 0;
}

static void add_read(cJSON *list, const struct recorded_reading *one)
{
	cJSON *p, *opened;

	cJSON_ArrayForEach (p, list)
		if (json_number(p, "pid", 0) == one->pid)
			break;
	if (!p) {
		p = cJSON_CreateObject();
		(void)cJSON_AddNumberToObject(p, "pid", one->pid);
		(void)cJSON_AddNumberToObject(p, "first_ns",
					      (double)one->at_ns);
		(void)cJSON_AddArrayToObject(p, "opened");
		(void)cJSON_AddItemToArray(list, p);
	}
	opened = cJSON_GetObjectItemCaseSensitive(p, "opened");
	(void)cJSON_AddItemToArray(opened, cJSON_CreateString(one->path));
}

static int answer_readset(struct recorded *r, const cJSON *q, cJSON *a)
{
	double from = (double)json_number(q, "from_ns", 0);
	double to = (double)json_number(q, "to_ns", UINT64_MAX);
	cJSON *list = cJSON_AddArrayToObject(a, "processes");

	for (uint32_t i = 0; i < r->reads.count; i++) {
		const struct recorded_reading *one = &r->reads.at[i];

		if ((double)one->at_ns >= from && (double)one->at_ns <= to)
			add_read(list, one);
	}
	return 0;
}

/* The newest entry after `birth` on `path` (NULL: on any path). */
static uint64_t newest_after(const struct recorded *r, uint64_t birth,
			     const char *path)
{
	for (uint64_t n = r->entries.count; n > birth; n--)
		if (!path || strcmp(r->entries.at[n - 1].path, path) == 0)
			return n;
	return 0;
}

static void nominate(struct recorded *r, cJSON *list, const cJSON *record,
		     const char *action, uint64_t entry)
{
	const struct recorded_entry *e = &r->entries.at[entry - 1];
	cJSON *j = cJSON_CreateObject();
	char why[512];

	(void)snprintf(why, sizeof(why), "%s was written by entry %llu (%s)",
		       e->path, (unsigned long long)entry, e->who);
	(void)cJSON_AddItemToObject(
		j, "id",
		cJSON_Duplicate(cJSON_GetObjectItemCaseSensitive(record, "id"),
				1));
	(void)cJSON_AddStringToObject(j, "action", action);
	(void)cJSON_AddStringToObject(j, "reason", why);
	(void)cJSON_AddNumberToObject(j, "entry", (double)entry);
	if (json_string(record, "path")) {
		cJSON *symbols = cJSON_AddArrayToObject(j, "symbols");
		cJSON *s = cJSON_CreateObject();

		(void)snprintf(why, sizeof(why), "file:%s", e->path);
		(void)cJSON_AddStringToObject(s, "name", why);
		(void)cJSON_AddStringToObject(s, "set", "X");
		(void)cJSON_AddNumberToObject(s, "entry", (double)entry);
		(void)cJSON_AddItemToArray(symbols, s);
	}
	(void)cJSON_AddItemToArray(list, j);
}

static void judge_run(struct recorded *r, cJSON *list, const cJSON *record)
{
	uint64_t birth = json_number(record, "birth", 0), newest = 0, n;
	const cJSON *opened =
		cJSON_GetObjectItemCaseSensitive(record, "opened");
	const cJSON *path;

	if (!opened)
		newest = newest_after(r, birth, NULL);
	cJSON_ArrayForEach (path, opened) {
		n = newest_after(r, birth, path->valuestring);
		newest = n > newest ? n : newest;
	}
	if (newest)
		nominate(r, list, record, "RERUN", newest);
}

static void judge_lines(struct recorded *r, cJSON *list, const cJSON *record)
{
	const char *path = json_string(record, "path");
	uint64_t birth = json_number(record, "birth", 0);
	uint64_t newest = newest_after(r, birth, path);
	const struct recorded_version *then, *now;
	uint32_t start = (uint32_t)json_number(record, "start_line", 0);
	uint32_t end = (uint32_t)json_number(record, "end_line", 0);
	struct linediff d;
	bool touched;

	if (!newest)
		return;
	then = version_at(r, path, birth);
	now = version_at(r, path, UINT64_MAX);
	if (!now) {
		nominate(r, list, record, "DROP", newest);
		return;
	}
	linediff_init(&d, then ? then->text : "", then ? then->len : 0,
		      now->text, now->len);
	touched = linediff_touches(&d, start ? start - 1 : 0,
				   end ? end : d.before.rows.count + 1);
	linediff_release(&d);
	if (touched || !then)
		nominate(r, list, record, "REFRESH", newest);
}

static int answer_nominate(struct recorded *r, const cJSON *q, cJSON *a)
{
	cJSON *list = cJSON_AddArrayToObject(a, "nominations");
	const cJSON *record;

	cJSON_ArrayForEach (record,
			    cJSON_GetObjectItemCaseSensitive(q, "records")) {
		if (json_string(record, "path"))
			judge_lines(r, list, record);
		else
			judge_run(r, list, record);
	}
	return 0;
}

static int answer_hold(struct recorded *r, const cJSON *q, cJSON *a)
{
	(void)r;
	(void)q;
	(void)a;
	return 0;
}

static const struct {
	const char *ask;
	int (*answer)(struct recorded *r, const cJSON *q, cJSON *a);
} questions[] = {
	{ "SYNC", answer_sync },       { "SINCE", answer_since },
	{ "SOURCE", answer_source },   { "VERSIONS", answer_versions },
	{ "CONTENT", answer_content }, { "SYMBOLS", answer_symbols },
	{ "READSET", answer_readset }, { "NOMINATE", answer_nominate },
	{ "HOLD", answer_hold },
};

int recorded_ask(void *recorded, const char *ask, const cJSON *question,
		 int timeout_ms, cJSON **ret)
{
	struct recorded *r = recorded;
	cJSON *answer = cJSON_CreateObject();
	int rc = -ENOENT;

	(void)timeout_ms;
	if (!answer)
		return -ENOMEM;
	(void)pthread_mutex_lock(&r->lock);
	for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++)
		if (strcmp(questions[i].ask, ask) == 0)
			rc = questions[i].answer(r, question, answer);
	(void)pthread_mutex_unlock(&r->lock);
	if (rc < 0) {
		cJSON_Delete(answer);
		return rc;
	}
	*ret = answer;
	return 0;
}
