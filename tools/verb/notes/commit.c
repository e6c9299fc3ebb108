#include "tools/verb/notes/commit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "graph/base/alloc.h"
#include "graph/base/array.h"
#include "graph/base/cleanup.h"
#include "graph/base/json.h"
#include "tape/ranges.h"
#include "tools/cli/say.h"
#include "tools/verb/blame_lines.h"
#include "tools/verb/notes/git.h"
#include "tools/verb/tape.h"

void commit_release(struct commit *c)
{
	for (size_t i = 0; i < c->authors_count; i++)
		who_release(&c->authors[i]);
	for (size_t i = 0; i < c->files_count; i++) {
		free(c->files[i].path);
		free(c->files[i].spans);
	}
	free(c->authors);
	free(c->files);
	free(c->id);
	free(c->author);
	*c = (struct commit){ 0 };
}

/* A file that the commit changed; strings point into git's output. */
struct commit_change {
	const char *path;
	const char *before, *after; /* ids of the contents, NULL: none */
};

struct examination {
	struct commit *c;
	const struct git *git;
	struct tape_reader *tape;
	struct archive *archive;
	ARRAY(struct commit_change) changed;
	ARRAY(struct who) authors;
	ARRAY(uint64_t) entries; /* of each of `authors` */
	ARRAY(size_t) who_of;	 /* index of each of `entries` in `authors` */
	ARRAY(struct commit_file) files;
};

/* -- What git says of the commit. */

static int git_failed(int r, const char *what)
{
	(void)say_error("git cannot %s: %s", what,
			r < 0 ? errno_text(r) : "see its message above");
	return r < 0 ? r : -EIO;
}

/* 1: a merge. */
static int read_head(struct examination *x)
{
	const char *argv[] = { "show", "-s", "--format=%P%n%an <%ae>", x->c->id,
			       NULL };
	CLEANUP(free_p) char *text = NULL;
	char *author;
	int r = git_run(x->git, argv, NULL, 0, &text, NULL);

	if (r != 0)
		return git_failed(r, "show the commit");
	author = strchr(text, '\n');
	if (!author)
		return git_failed(-EBADMSG, "show the commit");
	*author++ = '\0';
	author[strcspn(author, "\n")] = '\0';
	x->c->author = must_have(strdup(author));
	return strchr(text, ' ') ? 1 : 0;
}

static bool is_file(const char *mode)
{
	return strncmp(mode, "1006", 4) == 0 || strncmp(mode, "1007", 4) == 0;
}

/*
 * One record of `diff-tree --raw -z`: ":MODE MODE ID ID STATUS" and one or two
 * paths, each with a zero byte behind it. Returns where the next begins; NULL:
 * it is none.
 */
static char *read_change(struct examination *x, char *at, const char *end)
{
	char *word[5], *path, *next;

	if (*at != ':')
		return NULL;
	word[0] = at + 1;
	for (size_t i = 1; i < 5; i++) {
		char *space = strchr(word[i - 1], ' ');

		if (!space)
			return NULL;
		*space = '\0';
		word[i] = space + 1;
	}
	path = word[4] + strlen(word[4]) + 1;
	if (path >= end)
		return NULL;
	next = path + strlen(path) + 1;
	if (*word[4] == 'R' || *word[4] == 'C') {
		if (next >= end)
			return NULL;
		path = next;
		next = path + strlen(path) + 1;
	}
	if (is_file(word[1])) {
		struct commit_change one = { path,
					     is_file(word[0]) ? word[2] : NULL,
					     word[3] };

		array_push(&x->changed, one); /* NOLINT(bugprone-sizeof-*) */
	}
	return next;
}

static int read_changes(struct examination *x, char **ret_text)
{
	const char *argv[] = {
		"diff-tree",	"--root",	  "-r", "-z",
		"--raw",	"--no-commit-id", "-M", "--no-ext-diff",
		"--full-index", x->c->id,	  NULL
	};
	size_t len = 0;
	int r = git_run(x->git, argv, NULL, 0, ret_text, &len);
	char *end;

	if (r != 0)
		return git_failed(r, "list the commit's files");
	end = *ret_text + len;
	for (char *at = *ret_text; at < end;) {
		at = read_change(x, at, end);
		if (!at)
			return git_failed(-EBADMSG, "list the commit's files");
	}
	return 0;
}

/* A content; empty if there is none. */
struct blob {
	const char *text;
	size_t len;
};

/* The output of `cat-file --batch`: "ID blob SIZE\n", the content, "\n". */
static int next_blob(char **at, const char *end, struct blob *ret)
{
	char *line = *at, *feed = memchr(line, '\n', (size_t)(end - line));
	char *size = feed ? memrchr(line, ' ', (size_t)(feed - line)) : NULL;
	size_t len = size ? strtoull(size + 1, NULL, 10) : SIZE_MAX;

	if (!size || feed + 1 > end || len > (size_t)(end - feed - 1))
		return -EBADMSG;
	*ret = (struct blob){ feed + 1, len };
	*at = feed + 1 + len + 1;
	return 0;
}

/* All contents of the commit's files in one piece (free it). */
static int read_blobs(struct examination *x, char **ret, size_t *ret_len)
{
	static const char *const argv[] = { "cat-file", "--batch", NULL };
	CLEANUP(free_p) char *ids = NULL;
	size_t len;
	FILE *in = must_have(open_memstream(&ids, &len));
	int r;

	for (size_t i = 0; i < x->changed.count; i++) {
		const struct commit_change *f = &x->changed.at[i];

		if (f->before)
			(void)fprintf(in, "%s\n", f->before);
		(void)fprintf(in, "%s\n", f->after);
	}
	(void)fclose(in);
	r = git_run(x->git, argv, must_have(ids), len, ret, ret_len);
	return r ? git_failed(r, "read the commit's contents") : 0;
}

/* -- What the tape says. */

/* The author of an entry as an index; adds it if it is new. */
static size_t author_index(struct examination *x, uint64_t n,
			   const cJSON *entry)
{
	struct who w;
	size_t at;

	for (size_t i = 0; i < x->entries.count; i++)
		if (x->entries.at[i] == n)
			return x->who_of.at[i];
	who_init(&w, entry, x->archive);
	for (at = 0; at < x->authors.count; at++)
		if (who_is_same(&x->authors.at[at], &w))
			break;
	if (at == x->authors.count)
		array_push(&x->authors, w);
	else
		who_release(&w);
	array_push(&x->entries, n);
	array_push(&x->who_of, at);
	return at;
}

/* A version of a file on the tape; `text` (free it) if it is another content
   than the commit's. */
struct version {
	uint64_t n;
	bool exact;
	char *text;
	size_t len;
};

static void version_release(struct version *v)
{
	free(v->text);
}

/* False: the tape has no version to compare with. */
static bool find_version(struct examination *x, const char *path,
			 struct blob blob, struct version *ret)
{
	XXH128_hash_t wanted = XXH3_128bits(blob.text, blob.len), hash;
	CLEANUP(json_p) cJSON *q = json_object(NULL, NULL);
	CLEANUP(json_p) cJSON *answer = NULL;
	const cJSON *v, *newest = NULL;

	json_put_bytes(q, "path", path);
	if (tape_try(x->tape, "VERSIONS", q, &answer, NULL) < 0)
		return false;
	cJSON_ArrayForEach (v, json_member(answer, "versions")) {
		const char *text = json_string(v, "hash");

		if (!text || json_hash(text, &hash) < 0)
			continue;
		newest = newest ? newest : v;
		if (!XXH128_isEqual(hash, wanted))
			continue;
		*ret = (struct version){ .n = json_number(v, "n", 0),
					 .exact = true };
		return true;
	}
	if (!newest)
		return false;
	ret->n = json_number(newest, "n", 0);
	ret->text =
		tape_content(x->tape, json_string(newest, "hash"), &ret->len);
	return ret->text != NULL;
}

/* For each line of the commit's file, its number in the version; 0: none. */
static uint32_t *map_lines(const struct version *v, struct blob blob,
			   uint32_t count)
{
	uint32_t *map = must_have(calloc((size_t)count + 1, sizeof(*map)));
	CLEANUP(ranges_release) struct ranges r = { 0 };
	uint32_t line = 1, from = 1;

	if (!v->exact)
		ranges_init(&r, v->text, v->len, blob.text, blob.len);
	for (size_t k = 0; k < r.count; k++) {
		const struct entry_range *at = &r.ranges[k];
		/* Of lines that only went away, `after` is the line before. */
		uint32_t start = at->after + (at->after_count == 0);

		while (line < start && line <= count)
			map[line++] = from++;
		line += at->after_count;
		from += at->before_count;
	}
	while (line <= count)
		map[line++] = from++;
	return map;
}

/* The entry of each line of a version; 0: none. */
struct line_entries {
	uint64_t *entry; /* from 1 */
	uint32_t count;
};

static void line_entries_release(struct line_entries *l)
{
	free(l->entry);
}

static void read_entries(const cJSON *answer, struct line_entries *ret)
{
	const cJSON *run;

	cJSON_ArrayForEach (run, json_member(answer, "lines")) {
		uint32_t start = (uint32_t)cJSON_GetNumberValue(
			cJSON_GetArrayItem(run, 0));
		uint32_t end = (uint32_t)cJSON_GetNumberValue(
			cJSON_GetArrayItem(run, 1));
		uint64_t n = (uint64_t)cJSON_GetNumberValue(
			cJSON_GetArrayItem(run, 2));

		if (start != ret->count + 1 || end < start)
			return;
		ret->entry = must_have(realloc(
			ret->entry, ((size_t)end + 1) * sizeof(*ret->entry)));
		for (uint32_t i = start; i <= end; i++)
			ret->entry[i] = n;
		ret->count = end;
	}
}

/* -- Both together. */

struct spans {
	ARRAY(struct commit_span) list;
};

/* The author of one added line. */
static void add_line(struct examination *x, struct spans *s, uint32_t line,
		     uint64_t n, const cJSON *answer)
{
	const cJSON *entry = n ? blame_lines_entry(answer, n) : NULL;
	struct commit_span span = { line, line, n, 0 };

	if (!entry) {
		x->c->unknown++;
		return;
	}
	span.who = author_index(x, n, entry);
	if (x->authors.at[span.who].kind == WHO_UNKNOWN)
		x->c->unknown++;
	if (s->list.count) {
		struct commit_span *last = &s->list.at[s->list.count - 1];

		if (last->end + 1 == line && last->entry == n) {
			last->end = line;
			return;
		}
	}
	array_push(&s->list, span);
}

static void examine_lines(struct examination *x, const struct commit_change *f,
			  struct blob blob, const struct ranges *added)
{
	CLEANUP(version_release) struct version v = { 0 };
	CLEANUP(line_entries_release) struct line_entries l = { 0 };
	CLEANUP(json_p) cJSON *answer = NULL;
	CLEANUP(free_p) uint32_t *map = NULL;
	uint32_t count = ranges_lines(blob.text, blob.len);
	struct commit_file file = { 0 };
	struct spans s = { 0 };

	if (find_version(x, f->path, blob, &v) &&
	    blame_lines_ask(x->tape, f->path, v.n, &answer, NULL) == 0) {
		read_entries(answer, &l);
		map = map_lines(&v, blob, count);
	}
	for (size_t k = 0; k < added->count; k++) {
		const struct entry_range *r = &added->ranges[k];

		for (uint32_t i = r->after; i < r->after + r->after_count;
		     i++) {
			uint32_t at = map && i <= count ? map[i] : 0;

			add_line(x, &s, i,
				 at && at <= l.count ? l.entry[at] : 0, answer);
		}
	}
	if (!s.list.count)
		return;
	file.path = must_have(strdup(f->path));
	file.spans = s.list.at;
	file.count = s.list.count;
	array_push(&x->files, file);
}

static int examine(struct examination *x)
{
	CLEANUP(free_p) char *text = NULL;
	CLEANUP(free_p) char *blobs = NULL;
	size_t len = 0;
	char *at;
	int r = read_changes(x, &text);

	if (r == 0 && x->changed.count)
		r = read_blobs(x, &blobs, &len);
	at = blobs;
	for (size_t i = 0; r == 0 && i < x->changed.count; i++) {
		const struct commit_change *f = &x->changed.at[i];
		CLEANUP(ranges_release) struct ranges added = { 0 };
		struct blob before = { "", 0 }, after;

		if (f->before)
			r = next_blob(&at, blobs + len, &before);
		if (r == 0)
			r = next_blob(&at, blobs + len, &after);
		if (r < 0)
			return git_failed(r, "read the commit's contents");
		/* A text has no zero bytes. */
		if (memchr(after.text, '\0', after.len))
			continue;
		ranges_init(&added, before.text, before.len, after.text,
			    after.len);
		examine_lines(x, f, after, &added);
	}
	return r;
}

int commit_init(struct commit *c, const char *id, const struct git *g,
		struct tape_reader *t, struct archive *archive)
{
	struct examination x = { c,	g,     t,     archive, { 0 },
				 { 0 }, { 0 }, { 0 }, { 0 } };
	int r;

	*c = (struct commit){ .id = must_have(strdup(id)) };
	r = read_head(&x);
	if (r == 0)
		r = examine(&x);
	c->authors = x.authors.at;
	c->authors_count = x.authors.count;
	c->files = x.files.at;
	c->files_count = x.files.count;
	free(x.changed.at);
	free(x.entries.at);
	free(x.who_of.at);
	return r < 0 ? r : 0;
}
