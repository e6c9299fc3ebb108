#include "manager/bench/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/base/json.h"

#define FILE_MOST ((off_t)1 << 30)

const char *const trace_kinds[TRACE_KINDS] = { "read", "edit", "run", "search",
					       "say" };

static const char *const ops[] = { "", "replace", "create", "delete",
				   "external" };

int trace_read_file(const char *path, char **ret, size_t *ret_len)
{
	CLEANUP(close_p) int fd = open(path, O_RDONLY | O_CLOEXEC);
	CLEANUP(free_p) char *text = NULL;
	struct stat st;
	size_t len = 0;
	ssize_t got = 1;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size > FILE_MOST)
		return -EMEDIUMTYPE;
	text = must_alloc((size_t)st.st_size + 1);
	while (got > 0 && len < (size_t)st.st_size) {
		got = read(fd, text + len, (size_t)st.st_size - len);
		if (got < 0)
			return -errno;
		len += (size_t)got;
	}
	text[len] = '\0';
	*ret_len = len;
	*ret = TAKE(text);
	return 0;
}

static const char *keep(struct trace *t, const char *text)
{
	return text ? arena_copy(&t->arena, text, strlen(text)) : NULL;
}

static const char *keep_member(struct trace *t, const cJSON *from,
			       const char *name)
{
	return keep(t, json_string(from, name));
}

static bool find_word(const char *word, const char *const *words, int count,
		      int *ret)
{
	for (int i = 0; word && i < count; i++)
		if (strcmp(words[i], word) == 0) {
			*ret = i;
			return true;
		}
	return false;
}

static bool read_edit(struct trace *t, struct trace_record *r,
		      const cJSON *edit)
{
	const cJSON *list = json_member(edit, "new"), *line;
	int count = cJSON_GetArraySize(list), op;

	if (!edit)
		return true;
	if (!find_word(json_string(edit, "op"), ops,
		       sizeof(ops) / sizeof(ops[0]), &op))
		return false;
	r->op = (enum trace_op)op;
	r->at = (uint32_t)json_number(edit, "start", 1);
	r->old_n = (uint32_t)json_number(edit, "old_n", 0);
	r->lines = arena_take(&t->arena, (size_t)count * sizeof(*r->lines));
	cJSON_ArrayForEach (line, list) {
		if (!cJSON_IsString(line))
			return false;
		r->lines[r->lines_count++] = keep(t, line->valuestring);
	}
	return r->at > 0 && (r->file || r->op == OP_EXTERNAL);
}

static bool read_record(struct trace *t, const cJSON *row)
{
	const cJSON *span = json_member(row, "span");
	struct trace_record r = {
		.id = keep_member(t, row, "id"),
		.turn = (uint32_t)json_number(row, "turn", 0),
		.tokens = json_number(row, "tokens", 0),
		.file = keep_member(t, row, "file"),
		.cmd = keep_member(t, row, "cmd"),
		.query = keep_member(t, row, "query"),
		.by = keep_member(t, row, "by"),
	};
	int kind;

	r.text = keep(t, json_string_or(row, "text", ""));
	if (!r.id || !*r.id ||
	    !find_word(json_string(row, "kind"), trace_kinds, TRACE_KINDS,
		       &kind) ||
	    intern_add(t->ids, r.id, strlen(r.id)) != t->records.count + 1)
		return false;
	r.kind = (enum trace_kind)kind;
	if (cJSON_GetArraySize(span) == 2) {
		r.start = (uint32_t)cJSON_GetArrayItem(span, 0)->valueint;
		r.end = (uint32_t)cJSON_GetArrayItem(span, 1)->valueint;
	}
	if (!read_edit(t, &r, json_member(row, "edit")))
		return false;
	array_push(&t->records, r);
	return true;
}

static bool read_row(struct trace *t, const char *text)
{
	CLEANUP(json_p) cJSON *row = cJSON_Parse(text);
	const char *type = json_string_or(row, "t", "");

	if (strcmp(type, "rec") == 0)
		return read_record(t, row);
	if (strcmp(type, "dp") != 0)
		return false;
	array_push(&t->points,
		   ((struct trace_point){ (uint32_t)json_number(row, "dp", 0),
					  t->records.count }));
	return true;
}

/* 0, or the number of the line that is not understood. */
static unsigned read_rows(struct trace *t, char *text)
{
	unsigned n = 0;
	char *rest;

	for (char *line = text; line && *line; line = rest) {
		rest = strchr(line, '\n');
		if (rest)
			*rest++ = '\0';
		n++;
		if (*line && !read_row(t, line))
			return n;
	}
	return 0;
}

static int read_meta(struct trace *t, const char *dir)
{
	CLEANUP(free_p) char *path = format_text("%s/meta.json", dir);
	CLEANUP(free_p) char *text = NULL;
	CLEANUP(json_p) cJSON *meta = NULL;
	size_t len;
	int rc = trace_read_file(path, &text, &len);

	if (rc < 0)
		return rc;
	meta = cJSON_Parse(text);
	if (!cJSON_IsObject(meta))
		return -EBADMSG;
	t->task = keep(t, json_string_or(meta, "task", ""));
	t->repo = keep(t, json_string_or(meta, "repo", ""));
	return 0;
}

static int read_trace(struct trace *t, const char *dir, unsigned *ret_line)
{
	CLEANUP(free_p) char *path = format_text("%s/trace.jsonl", dir);
	CLEANUP(free_p) char *text = NULL;
	size_t len;
	int rc = trace_read_file(path, &text, &len);

	if (rc < 0)
		return rc;
	*ret_line = read_rows(t, text);
	return *ret_line ? -EBADMSG : 0;
}

int trace_open(const char *dir, struct trace **ret, char **ret_why)
{
	struct trace *t = must_calloc(1, sizeof(*t));
	const char *slash = strrchr(dir, '/');
	unsigned line = 0;
	int rc;

	t->ids = intern_new();
	t->name = must_strdup(slash ? slash + 1 : dir);
	rc = read_meta(t, dir);
	if (rc == 0)
		rc = read_trace(t, dir, &line);
	if (rc == 0) {
		*ret = t;
		return 0;
	}
	if (line)
		*ret_why = format_text("'%s/trace.jsonl': line %u is not a "
				       "record or a decision point",
				       dir, line);
	else
		*ret_why = format_text("'%s' cannot be read as a trace: %s",
				       dir, strerrordesc_np(-rc));
	trace_free(t);
	return rc;
}

void trace_free(struct trace *t)
{
	if (!t)
		return;
	array_release(&t->records);
	array_release(&t->points);
	intern_free(t->ids);
	arena_release(&t->arena);
	free(t->name);
	free(t);
}

uint32_t trace_find(const struct trace *t, const char *id)
{
	uint32_t n = intern_find(t->ids, id, strlen(id));

	return n == INTERN_NONE || n == 0 ? UINT32_MAX : n - 1;
}
