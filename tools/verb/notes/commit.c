#include "tools/verb/notes/commit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "graph/base/alloc.h"
#include "graph/base/array.h"
#include "graph/base/cleanup.h"
#include "graph/base/clock.h"
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
	free(c->person);
	*c = (struct commit){ 0 };
}

#define PARENTS_MAX 16

/* A file that the commit changed; strings point into git's output. */
struct commit_change {
	const char *path;
	const char *after; /* id of its content */
	/* In each parent; NULL: it was none there. */
	const char *before[PARENTS_MAX];
	size_t parents;
};

struct examination {
	struct commit *c;
	const char *root;
	struct tape_reader *tape;
	ARRAY(struct commit_change) changed;
	ARRAY(struct who) authors;
	ARRAY(uint64_t) entries; /* of each of `authors` */
	ARRAY(size_t) who_of;	 /* index of each of `entries` in `authors` */
	ARRAY(struct commit_file) files;
};

/* -- What git says of the commit. */

static int read_head(struct examination *x)
{
	const char *argv[] = { "show", "-s", "--format=%ct%n%cn <%ce>",
			       x->c->id, NULL };
	CLEANUP(git_output_release) struct git_output o;
	char *person;
	int r = git_run(x->root, argv, NULL, 0, &o);

	if (r != 0)
		return git_failed(r, &o, "show the commit");
	person = strchr(o.text, '\n');
	if (!person)
		return git_failed(-EBADMSG, &o, "show the commit");
	x->c->at_ns = strtoll(o.text, NULL, 10) * NS_PER_S;
	person++;
	person[strcspn(person, "\n")] = '\0';
	x->c->person = must_have(strdup(person));
	return 0;
}

static bool is_file(const char *mode)
{
	return mode &&
	       (strncmp(mode, "1006", 4) == 0 || strncmp(mode, "1007", 4) == 0);
}

/*
 * One record of `diff-tree --raw -z -c`: as many colons as parents, the modes,
 * the ids, the status and a path, each list with the commit's own last. A
 * renamed file has its old path first. Returns where the next record begins;
 * NULL: it is none.
 */
static char *read_change(struct examination *x, char *at, const char *end)
{
	size_t parents = strspn(at, ":"), words = 2 * parents + 3;
	const char *word[2 * PARENTS_MAX + 3] = { NULL }, *status;
	struct commit_change c = { .parents = parents };

	if (!parents || parents > PARENTS_MAX)
		return NULL;
	at += parents;
	for (size_t i = 0; i < words; i++) {
		word[i] = at;
		at = i + 1 < words ? strchr(at, ' ') : at + strlen(at);
		if (!at)
			return NULL;
		*at++ = '\0';
	}
	status = word[words - 1];
	if (!status)
		return NULL;
	if (*status == 'R' || *status == 'C')
		at = at < end ? at + strlen(at) + 1 : at;
	if (at >= end)
		return NULL;
	c.path = at;
	for (size_t k = 0; k < parents; k++)
		c.before[k] = is_file(word[k]) ? word[parents + 1 + k] : NULL;
	c.after = word[2 * parents + 1];
	if (is_file(word[parents]))
		array_push(&x->changed, c);
	return at + strlen(at) + 1;
}

/* The changes point into `ret`. */
static int read_changes(struct examination *x, struct git_output *ret)
{
	const char *argv[] = { "diff-tree",
			       "--root",
			       "-r",
			       "-z",
			       "-c",
			       "-M",
			       "--raw",
			       "--no-commit-id",
			       "--no-ext-diff",
			       "--full-index",
			       x->c->id,
			       NULL };
	int r = git_run(x->root, argv, NULL, 0, ret);
	char *end;

	if (r != 0)
		return git_failed(r, ret, "list the commit's files");
	end = ret->text + ret->len;
	for (char *at = ret->text; at < end;) {
		at = read_change(x, at, end);
		if (!at)
			return git_failed(-EBADMSG, ret,
					  "list the commit's files");
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

/* All contents of the commit's files in one piece, in order. */
static int read_blobs(struct examination *x, struct git_output *ret)
{
	static const char *const argv[] = { "cat-file", "--batch", NULL };
	CLEANUP(free_p) char *ids = NULL;
	size_t len;
	FILE *in = must_have(open_memstream(&ids, &len));
	int r;

	for (size_t i = 0; i < x->changed.count; i++) {
		const struct commit_change *f = &x->changed.at[i];

		(void)fprintf(in, "%s\n", f->after);
		for (size_t k = 0; k < f->parents; k++)
			if (f->before[k])
				(void)fprintf(in, "%s\n", f->before[k]);
	}
	(void)fclose(in);
	r = git_run(x->root, argv, must_have(ids), len, ret);
	return r ? git_failed(r, ret, "read the commit's contents") : 0;
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
	who_init(&w, entry);
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
	/* Git's times are whole seconds. */
	uint64_t latest = (uint64_t)(x->c->at_ns + NS_PER_S);
	CLEANUP(json_p) cJSON *q = json_object(NULL, NULL);
	CLEANUP(json_p) cJSON *answer = NULL;
	const cJSON *v, *newest = NULL;

	json_put_bytes(q, "path", path);
	json_put_bool(q, "follow", false);
	if (tape_try(x->tape, "VERSIONS", q, &answer, NULL) < 0)
		return false;
	cJSON_ArrayForEach (v, json_member(answer, "versions")) {
		const char *text = json_string(v, "hash");

		if (!text || json_hash(text, &hash) < 0)
			continue;
		if (!newest || json_number(newest, "at_ns", 0) > latest)
			newest = v;
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

/*
 * For each line of the commit's file, from 1: how many parents do not have it.
 * Moves on behind the contents. Free it. NULL: they cannot be read.
 */
static uint8_t *count_new(const struct commit_change *f, struct blob after,
			  uint32_t count, char **at, const char *end)
{
	CLEANUP(free_p)
	uint8_t *fresh = must_have(calloc((size_t)count + 2, 1));

	for (size_t k = 0; k < f->parents; k++) {
		CLEANUP(ranges_release) struct ranges added = { 0 };
		struct blob before = { "", 0 };

		if (f->before[k] && next_blob(at, end, &before) < 0)
			return NULL;
		ranges_init(&added, before.text, before.len, after.text,
			    after.len);
		for (size_t i = 0; i < added.count; i++)
			for (uint32_t n = 0; n < added.ranges[i].after_count;)
				fresh[added.ranges[i].after + n++]++;
	}
	return TAKE(fresh);
}

static void examine_lines(struct examination *x, const struct commit_change *f,
			  struct blob blob, const uint8_t *fresh)
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
	for (uint32_t i = 1; i <= count; i++) {
		uint32_t at = map ? map[i] : 0;

		if (fresh[i] == f->parents)
			add_line(x, &s, i,
				 at && at <= l.count ? l.entry[at] : 0, answer);
	}
	if (!s.list.count)
		return;
	file.path = must_have(strdup(f->path));
	file.spans = s.list.at;
	file.count = s.list.count;
	array_push(&x->files, file);
}

static int examine_file(struct examination *x, const struct commit_change *f,
			char **at, const char *end)
{
	CLEANUP(free_p) uint8_t *fresh = NULL;
	struct blob after;

	if (next_blob(at, end, &after) < 0)
		return -EBADMSG;
	fresh = count_new(f, after, ranges_lines(after.text, after.len), at,
			  end);
	if (!fresh)
		return -EBADMSG;
	/* A text has no zero bytes. */
	if (!memchr(after.text, '\0', after.len))
		examine_lines(x, f, after, fresh);
	return 0;
}

static int examine(struct examination *x)
{
	CLEANUP(git_output_release) struct git_output changes = { 0 };
	CLEANUP(git_output_release) struct git_output blobs = { 0 };
	char *at;
	int r = read_changes(x, &changes);

	if (r == 0 && x->changed.count)
		r = read_blobs(x, &blobs);
	at = blobs.text;
	for (size_t i = 0; r == 0 && i < x->changed.count; i++) {
		r = examine_file(x, &x->changed.at[i], &at,
				 blobs.text + blobs.len);
		if (r < 0)
			return git_failed(r, &blobs,
					  "read the commit's contents");
	}
	return r;
}

int commit_init(struct commit *c, const char *id, const char *root,
		struct tape_reader *t)
{
	struct examination x = { .c = c, .root = root, .tape = t };
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
	return r;
}
