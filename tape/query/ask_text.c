/*
 * Questions about the contents of files: SYMBOLS, SOURCE, VERSIONS, CONTENT.
 *
 * A file that has not changed since the tape began has no content in the store.
 * Then the file itself is read, and its content is used if it has the hash that
 * the store names.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/cleanup.h"
#include "graph/build/look.h"
#include "graph/facts/lang.h"
#include "graph/outline.h"
#include "tape/query/answers_i.h"
#include "tape/query/nominate.h"
#include "tape/store/store.h"

void answers_version_release(struct answers_version *v)
{
	free(v->text);
	v->text = NULL;
}

static bool same(XXH128_hash_t a, XXH128_hash_t b)
{
	return a.low64 == b.low64 && a.high64 == b.high64;
}

/* -- Current files. */

/* The content of a symbolic link on the tape is its target. */
static int read_file(int root_fd, const char *path, char **ret, size_t *ret_len)
{
	CLEANUP(buf_release) struct buf text = BUF(SOURCE_MAX);
	struct look now;

	look_at(root_fd, path, &text, &now);
	if (now.kind == LOOK_UNREADABLE)
		return -now.error;
	if (now.kind != LOOK_FILE && now.kind != LOOK_LINK)
		return -ENOENT;
	if (!now.text)
		return -EFBIG;
	*ret = must_memdup(now.text, now.len);
	*ret_len = now.len;
	return 0;
}

/* -- Versions. */

static int version_now(struct answers *a, const char *path,
		       struct answers_version *v)
{
	int r = read_file(a->config.root_fd, path, &v->text, &v->len);

	if (r < 0)
		return r;
	v->hash = XXH3_128bits(v->text, v->len);
	v->n = store_head(a->config.store);
	v->since = 0;
	return 0;
}

int answers_version_find(struct answers *a, const char *path, uint64_t n,
			 struct answers_version *v, cJSON *ret)
{
	uint64_t head = store_head(a->config.store);
	int r;

	if (n != VERSION_NOW && n > head)
		return answers_refuse(ret, -ENOENT,
				      "There is no entry %" PRIu64
				      "; the newest is %" PRIu64 ".",
				      n, head);
	if (n != VERSION_NOW && n + 1 < store_first(a->config.store))
		return answers_refuse(ret, -ENOENT,
				      "Entries before %" PRIu64
				      " are not kept any more.",
				      store_first(a->config.store));
	if (n == VERSION_NOW && a->config.root_fd >= 0) {
		r = version_now(a, path, v);
		if (r == -EFBIG)
			return answers_refuse(ret, r, "'%s' is too large.",
					      path);
	} else {
		r = store_version(a->config.store, path, n, &v->hash,
				  &v->since);
		v->n = n == VERSION_NOW ? head : n;
	}
	if (r == -ENOENT && n != VERSION_NOW)
		return answers_refuse(
			ret, r,
			"There was no file '%s' as of entry %" PRIu64
			", or it is not known.",
			path, n);
	if (r == -ENOENT)
		return answers_refuse(ret, r, "There is no file '%s'.", path);
	return r;
}

int answers_version_text(struct answers *a, const char *path,
			 struct answers_version *v, cJSON *ret)
{
	CLEANUP(free_p) char *text = NULL;
	size_t len = 0;
	int r;

	if (v->text)
		return 0;
	r = store_content(a->config.store, v->hash, &v->text, &v->len);
	if (r == 0 && v->since)
		r = store_prove(a->config.store, v->since, v->text, v->len);
	if (r == -EBADMSG)
		return answers_refuse(ret, r,
				      "What is kept for '%s' as of entry "
				      "%" PRIu64 " is damaged, or not the "
				      "content whose SHA-256 the entry has.",
				      path, v->n);
	if (r != -ENOENT)
		return r;
	if (a->config.root_fd >= 0)
		r = read_file(a->config.root_fd, path, &text, &len);
	if (r == 0 && same(XXH3_128bits(text, len), v->hash)) {
		v->text = TAKE(text);
		v->len = len;
		return 0;
	}
	return answers_refuse(ret, -ENODATA,
			      "What '%s' held as of entry %" PRIu64
			      " is not kept.",
			      path, v->n);
}

/* -- Outlines, of which the last few are cached. */

static struct answers_outline *outline_kept(struct answers *a, const char *path,
					    XXH128_hash_t hash)
{
	for (uint32_t k = 0; k < a->outlines.count; k++) {
		struct answers_outline *o = &a->outlines.at[k];

		if (same(o->hash, hash) && strcmp(o->path, path) == 0)
			return o;
	}
	return NULL;
}

static void forget_oldest(struct answers *a)
{
	struct answers_outline *oldest = &a->outlines.at[0];

	assert(a->outlines.count > 0);
	for (uint32_t k = 1; k < a->outlines.count; k++)
		if (a->outlines.at[k].used < oldest->used)
			oldest = &a->outlines.at[k];
	assert(a->outlines_bytes >= outline_bytes(oldest->outline));
	a->outlines_bytes -= outline_bytes(oldest->outline);
	free(oldest->path);
	outline_free(oldest->outline);
	*oldest = a->outlines.at[--a->outlines.count];
}

static struct answers_outline *keep_outline(struct answers *a, const char *path,
					    XXH128_hash_t hash,
					    struct outline *outline)
{
	struct answers_outline *o;

	while (a->outlines.count && (a->outlines.count >= OUTLINES_MAX ||
				     a->outlines_bytes > OUTLINES_BYTES))
		forget_oldest(a);
	o = array_add(&a->outlines);
	o->path = must_strdup(path);
	o->hash = hash;
	o->outline = outline;
	a->outlines_bytes += outline_bytes(outline);
	assert(a->outlines.count <= OUTLINES_MAX);
	return o;
}

int answers_version_outline(struct answers *a, const char *path,
			    struct answers_version *v, cJSON *ret,
			    const struct outline **ret_outline)
{
	struct answers_outline *o = outline_kept(a, path, v->hash);
	struct outline *made;
	int r;

	if (!o) {
		r = answers_version_text(a, path, v, ret);
		if (r < 0)
			return r;
		made = outline_new(a->reader, path, v->text, v->len);
		if (!made)
			return answers_refuse(ret, -EFBIG, "'%s' is too large.",
					      path);
		o = keep_outline(a, path, v->hash, made);
	}
	o->used = a->asked;
	*ret_outline = o->outline;
	return 0;
}

/* -- Lines. */

struct answers_lines answers_cut_lines(const char *text, size_t len,
				       uint32_t start, uint32_t end)
{
	const char *at = text, *stop = text + len;
	struct answers_lines c = { .at = stop, .start = start ? start : 1 };
	const char *last = stop;

	for (uint32_t line = 1; at < stop; line++) {
		const char *nl = memchr(at, '\n', (size_t)(stop - at));

		if (line == c.start)
			c.at = at;
		at = nl ? nl + 1 : stop;
		if (line == end)
			last = at;
		c.lines = line;
	}
	c.end = end && end < c.lines ? end : c.lines;
	if (c.start > c.end) {
		c.end = c.start - 1;
		return c;
	}
	assert(c.at <= last && last <= stop);
	c.len = (size_t)(last - c.at);
	return c;
}

static void put_symbol(cJSON *list, const struct outline_symbol *s)
{
	cJSON *o = json_push_object(list);

	json_put_bytes(o, "name", s->name);
	json_put_text(o, "kind", symbol_kind_name(s->kind));
	json_put_number(o, "start_line", s->start);
	json_put_number(o, "end_line", s->end);
}

/* The symbols that cover the lines; if there are none, the module. */
static void put_covered(const struct outline *o, const cJSON *q, cJSON *list)
{
	uint32_t start = answers_number32(q, "start_line", 0);
	uint32_t end = answers_number32(q, "end_line", 0);
	bool whole = !start && !end, any = false;

	for (size_t k = 0; k < outline_count(o); k++) {
		if (!whole &&
		    !outline_covers(o, k, start, end ? end : UINT32_MAX))
			continue;
		put_symbol(list, outline_symbol(o, k));
		any = true;
	}
	if (!any)
		put_symbol(list, outline_symbol(o, 0));
}

static int put_file(struct answers *a, const char *path,
		    struct answers_version *v, cJSON *ret)
{
	CLEANUP(free_p) char *name = NULL;
	uint32_t lines = 0;
	cJSON *o;

	/* A file is listed even if its content is not kept. */
	if (answers_version_text(a, path, v, ret) == 0)
		lines = answers_cut_lines(v->text, v->len, 0, 0).lines;
	cJSON_DeleteItemFromObjectCaseSensitive(ret, "error");
	if (asprintf(&name, NOMINATE_FILE "%s", path) < 0)
		return -ENOMEM;
	json_put_number(ret, "lines", lines);
	o = json_push_object(json_array(ret, "symbols"));
	json_put_bytes(o, "name", name);
	json_put_text(o, "kind", "file");
	json_put_number(o, "start_line", 1);
	json_put_number(o, "end_line", lines);
	return 0;
}

int ask_symbols(struct answers *a, const cJSON *q, cJSON *ret)
{
	CLEANUP(answers_version_release)
	struct answers_version v = { .text = NULL };
	const char *path = answers_path_in(a, q, ret);
	const struct outline *o = NULL;
	int r;

	if (!path)
		return -EINVAL;
	r = answers_version_find(a, path, json_number(q, "n", VERSION_NOW), &v,
				 ret);
	if (r < 0)
		return r;
	json_put_number(ret, "n", v.n);
	json_put_hash(ret, "hash", v.hash);
	json_put_bool(ret, "language", lang_of(path) != NULL);
	if (!lang_of(path))
		return put_file(a, path, &v, ret);
	r = answers_version_outline(a, path, &v, ret, &o);
	/* Without its content, list it as a file without symbols. */
	if (r == -ENODATA)
		return put_file(a, path, &v, ret);
	if (r < 0)
		return r;
	json_put_number(ret, "lines", outline_lines(o));
	put_covered(o, q, json_array(ret, "symbols"));
	return 0;
}

int ask_source(struct answers *a, const cJSON *q, cJSON *ret)
{
	CLEANUP(answers_version_release)
	struct answers_version v = { .text = NULL };
	const char *path = answers_path_in(a, q, ret);
	struct answers_lines c;
	int r;

	if (!path)
		return -EINVAL;
	r = answers_version_find(a, path, json_number(q, "n", VERSION_NOW), &v,
				 ret);
	if (r == 0)
		r = answers_version_text(a, path, &v, ret);
	if (r < 0)
		return r;
	c = answers_cut_lines(v.text, v.len,
			      answers_number32(q, "start_line", 0),
			      answers_number32(q, "end_line", 0));
	json_put_bytes(ret, "path", path);
	json_put_number(ret, "n", v.n);
	json_put_hash(ret, "hash", v.hash);
	json_put_content(ret, "text", c.at, c.len);
	json_put_number(ret, "start_line", c.start);
	json_put_number(ret, "end_line", c.end);
	json_put_number(ret, "lines", c.lines);
	return 0;
}

/* -- Lists of versions. */

struct version_list {
	const char *path;
	cJSON *list;
	size_t left;
};

/* A rename is the last version of one path and the first of another. */
static int put_version(const struct entry *e, void *arg)
{
	struct version_list *h = arg;
	bool from = e->path2 && e->path && strcmp(e->path, h->path) == 0;
	const char *is = e->path2 && !from ? e->path2 : e->path;
	cJSON *o;

	/* The filter is a glob and may match other paths, too. */
	if (!is || strcmp(is, h->path) != 0)
		return 0;
	if (!h->left)
		return 1;
	h->left--;
	o = json_push_object(h->list);
	json_put_number(o, "n", e->n);
	json_put_time(o, "at_ns", e->at_ns);
	if (e->has && !from)
		json_put_hash(o, "hash", e->after);
	else
		json_put(o, "hash", cJSON_CreateNull());
	json_put_text(o, "kind", entry_kind_name(e->kind));
	return 0;
}

int ask_versions(struct answers *a, const cJSON *q, cJSON *ret)
{
	const char *path = answers_path_in(a, q, ret);
	uint64_t limit = json_number(q, "limit", LIST_DEFAULT);
	struct store_filter f = { .before = 0 };
	struct version_list h;
	XXH128_hash_t hash;
	uint64_t since;
	cJSON *o;
	int r;

	if (!path)
		return -EINVAL;
	f.path = path;
	h = (struct version_list){ .path = path,
				   .list = json_array(ret, "versions"),
				   .left = limit > LIST_MAX ? LIST_MAX
							    : (size_t)limit };
	r = store_select(a->config.store, &f, SIZE_MAX, put_version, &h);
	if (r < 0 || !h.left)
		return r < 0 ? r : 0;
	r = store_version(a->config.store, path, 0, &hash, &since);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	o = json_push_object(h.list);
	json_put_number(o, "n", 0);
	json_put_number(o, "at_ns", 0);
	json_put_hash(o, "hash", hash);
	json_put_text(o, "kind", "before");
	return 0;
}

int ask_content(struct answers *a, const cJSON *q, cJSON *ret)
{
	CLEANUP(free_p) char *text = NULL;
	const char *hex = json_string(q, "hash");
	XXH128_hash_t hash;
	size_t len = 0;
	int r = json_hash(hex, &hash);

	if (r < 0)
		return answers_refuse(ret, r,
				      "CONTENT wants a \"hash\" of 32 digits.");
	r = store_content(a->config.store, hash, &text, &len);
	if (r == -ENOENT)
		return answers_refuse(ret, r, "No content %s is kept.", hex);
	if (r < 0)
		return r;
	json_put_content(ret, "text", text, len);
	json_put_number(ret, "size", len);
	return 0;
}
