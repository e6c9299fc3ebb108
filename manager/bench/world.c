#include "manager/bench/world.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "graph/base/alloc.h"
#include "graph/base/arena.h"
#include "graph/base/array.h"
#include "graph/base/cleanup.h"
#include "graph/base/json.h"
#include "graph/base/uthash.h"
#include "manager/bench/tokens.h"
#include "manager/bench/trace.h"

#define TEXT_MOST ((size_t)256 << 20)

struct world_line {
	const char *at;
	size_t len;
};

struct world_file {
	UT_hash_handle hh;
	char *path;
	ARRAY(struct world_line) lines;
	uint32_t *weights; /* NULL: not counted since the last edit */
};

struct world {
	struct world_file *files;
	struct tokens *tokens;
	struct arena arena; /* texts, also of lines that were removed */
};

/* NOLINTBEGIN(readability-function-*): uthash's macros are not ours. */
static struct world_file *find(const struct world *w, const char *path)
{
	struct world_file *f = NULL;

	if (path)
		HASH_FIND_STR(w->files, path, f);
	return f;
}

static struct world_file *make(struct world *w, const char *path)
{
	struct world_file *f = find(w, path);

	if (f)
		return f;
	f = must_calloc(1, sizeof(*f));
	f->path = must_strdup(path);
	HASH_ADD_KEYPTR(hh, w->files, f->path, strlen(f->path), f);
	return f;
}

static void drop(struct world *w, struct world_file *f)
{
	HASH_DEL(w->files, f);
	array_release(&f->lines);
	free(f->weights);
	free(f->path);
	free(f);
}

void world_free(struct world *w)
{
	struct world_file *f, *next;

	if (!w)
		return;
	HASH_ITER (hh, w->files, f, next)
		drop(w, f);
	arena_release(&w->arena);
	free(w);
}

/* NOLINTEND(readability-function-*) */

/* -- Reading. */

static size_t without_returns(char *text, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		if (text[i] != '\r' || i + 1 == len || text[i + 1] != '\n')
			text[n++] = text[i];
	return n;
}

static void split(struct world_file *f, const char *text, size_t len)
{
	const char *end = text + len;

	while (text < end) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		size_t n = (size_t)((stop ? stop : end) - text);

		array_push(&f->lines, ((struct world_line){ text, n }));
		text += n + 1;
	}
}

static int add_file(struct world *w, const char *whole, const char *path)
{
	CLEANUP(free_p) char *bytes = NULL;
	CLEANUP(free_p) char *text = NULL;
	size_t len, n;
	int rc = trace_read_file(whole, &bytes, &n);

	if (rc < 0)
		return rc == -EMEDIUMTYPE ? 0 : rc;
	text = tokens_valid(bytes, n, &len);
	len = without_returns(text, len);
	split(make(w, path), arena_copy(&w->arena, text, len), len);
	return 0;
}

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static int add_folder(struct world *w, const char *top, const char *at);

/* `at` is the folder's path in the repository, with a slash behind, or "". */
static int add_name(struct world *w, const char *top, const char *at,
		    const char *name)
{
	CLEANUP(free_p) char *path = format_text("%s%s", at, name);
	CLEANUP(free_p) char *below = format_text("%s%s/", at, name);
	CLEANUP(free_p) char *file = format_text("%s/%s", top, path);
	struct stat st;

	if (lstat(file, &st) < 0)
		return -errno;
	return S_ISDIR(st.st_mode) ? add_folder(w, top, below)
				   : add_file(w, file, path);
}

static int add_folder(struct world *w, const char *top, const char *at)
{
	CLEANUP(free_p) char *whole = format_text("%s/%s", top, at);
	CLEANUP(closedir_p) DIR *d = opendir(whole);
	const struct dirent *e;
	int rc = 0;

	if (!d)
		return -errno;
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): this stream is ours. */
	while (rc == 0 && (e = readdir(d)))
		if (!is_dots(e->d_name))
			rc = add_name(w, top, at, e->d_name);
	return rc;
}

int world_open(const char *dir, struct tokens *t, struct world **ret)
{
	struct world *w = must_calloc(1, sizeof(*w));
	int rc;

	w->tokens = t;
	rc = add_folder(w, dir, "");
	if (rc == 0)
		*ret = w;
	else
		world_free(w);
	return rc;
}

/* -- Edits. */

static void replace(struct world_file *f, struct arena *a,
		    const struct trace_record *r)
{
	ARRAY(struct world_line) made = { 0 };
	uint32_t first = r->at - 1, rest;

	if (first > f->lines.count)
		first = f->lines.count;
	rest = r->old_n < f->lines.count - first ? first + r->old_n
						 : f->lines.count;
	array_append(&made, f->lines.at, first);
	for (uint32_t i = 0; i < r->lines_count; i++) {
		size_t len = strlen(r->lines[i]);

		array_push(&made,
			   ((struct world_line){
				   arena_copy(a, r->lines[i], len), len }));
	}
	array_append(&made, f->lines.at + rest, f->lines.count - rest);
	array_release(&f->lines);
	f->lines.at = made.at;
	f->lines.count = made.count;
	f->lines.size = made.size;
	free(TAKE(f->weights));
}

void world_apply(struct world *w, const struct trace_record *r)
{
	struct world_file *f;

	if (r->op == OP_NONE || r->op == OP_EXTERNAL)
		return;
	f = r->op == OP_DELETE ? find(w, r->file) : make(w, r->file);
	if (r->op == OP_DELETE) {
		if (f)
			drop(w, f);
		return;
	}
	if (r->op == OP_CREATE)
		f->lines.count = 0;
	replace(f, &w->arena, r);
}

/* -- Queries. */

uint32_t world_lines(const struct world *w, const char *path)
{
	const struct world_file *f = find(w, path);

	return f ? f->lines.count : UINT32_MAX;
}

bool world_has(const struct world *w, const char *path)
{
	return find(w, path) != NULL;
}

static void join(const struct world_file *f, struct buf *ret)
{
	for (uint32_t i = 0; i < f->lines.count; i++) {
		(void)buf_add(ret, f->lines.at[i].at, f->lines.at[i].len);
		(void)buf_add(ret, "\n", 1);
	}
}

bool world_text(const struct world *w, const char *path, struct buf *ret)
{
	const struct world_file *f = find(w, path);

	if (f)
		join(f, ret);
	return f != NULL;
}

static const uint32_t *weights_of(struct world *w, struct world_file *f)
{
	CLEANUP(buf_release) struct buf text = BUF(TEXT_MOST);

	if (f->weights)
		return f->weights;
	join(f, &text);
	f->weights =
		must_calloc((size_t)f->lines.count + 1, sizeof(*f->weights));
	if (text.len)
		tokens_by_line(w->tokens, text.data, text.len, f->weights);
	return f->weights;
}

uint32_t world_weight(struct world *w, const char *path, uint32_t line)
{
	struct world_file *f = find(w, path);

	if (!f || line == 0 || line > f->lines.count)
		return 0;
	return weights_of(w, f)[line - 1];
}

uint64_t world_tokens(struct world *w, const char *path, uint32_t start,
		      uint32_t end)
{
	struct world_file *f = find(w, path);
	uint64_t sum = 0;

	if (!f)
		return 0;
	for (uint32_t i = start ? start : 1; i <= end && i <= f->lines.count;
	     i++)
		sum += weights_of(w, f)[i - 1];
	return sum;
}
