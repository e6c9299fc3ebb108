/*
 * Questions about entries: SINCE, LOG, SHOW, BLAME.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "graph/base/cleanup.h"
#include "graph/facts/lang.h"
#include "graph/outline.h"
#include "tape/query/answers_i.h"
#include "tape/query/nominate.h"
#include "tape/store/store.h"

/* Collects entries for an answer. */
struct log_collector {
	struct answers *a;
	cJSON *list;
	size_t left;  /* entries that may still be added */
	size_t bytes; /* estimated */
	bool more;
};

static size_t size_of(const struct entry *e)
{
	return 1024 + e->symbols_count * 120 + e->ranges_count * 32;
}

/* 1: the answer is full. */
static int collect(const struct entry *e, void *arg)
{
	struct log_collector *c = arg;
	cJSON *o;

	if (!c->left || c->bytes > LIST_BYTES_MAX) {
		c->more = true;
		return 1;
	}
	c->left--;
	c->bytes += size_of(e);
	o = json_push(c->list, entry_json(e));
	return answers_put_turn(c->a, e, o);
}

static size_t limit_in(const cJSON *q)
{
	uint64_t n = json_number(q, "limit", LIST_DEFAULT);

	return n > LIST_MAX ? LIST_MAX : (size_t)n;
}

int ask_since(struct answers *a, const cJSON *q, cJSON *ret)
{
	struct log_collector c = { .a = a,
				   .list = json_array(ret, "entries"),
				   .left = limit_in(q) };
	int r = store_since(a->config.store, json_number(q, "n", 0), c.left + 1,
			    collect, &c);

	if (r < 0)
		return r;
	json_put_number(ret, "head", store_head(a->config.store));
	json_put_number(ret, "first", store_first(a->config.store));
	json_put_bool(ret, "more", c.more);
	return 0;
}

/* A time too large for the type is clamped. */
static int64_t time_in(const cJSON *q, const char *name)
{
	uint64_t n = json_number(q, name, 0);

	return n > INT64_MAX ? INT64_MAX : (int64_t)n;
}

int ask_log(struct answers *a, const cJSON *q, cJSON *ret)
{
	struct store_filter f = {
		.before = json_number(q, "before", 0),
		.path = answers_bytes_in(a, q, "path"),
		.symbol = answers_bytes_in(a, q, "symbol"),
		.pid = answers_number32(q, "pid", 0),
		.since_ns = time_in(q, "since_ns"),
		.until_ns = time_in(q, "until_ns"),
		.author = answers_bytes_in(a, q, "author"),
	};
	struct log_collector c = { .a = a,
				   .list = json_array(ret, "entries"),
				   .left = limit_in(q) };
	int r = store_select(a->config.store, &f, c.left + 1, collect, &c);

	if (r < 0)
		return r;
	json_put_bool(ret, "more", c.more);
	return 0;
}

static int show(const struct entry *e, void *arg)
{
	struct log_collector *c = arg;
	cJSON *o = entry_json(e);

	json_put(c->list, "entry", o);
	return answers_put_turn(c->a, e, o);
}

int ask_show(struct answers *a, const cJSON *q, cJSON *ret)
{
	uint64_t n = json_number(q, "n", 0);
	struct log_collector c = { .a = a, .list = ret };
	int r = store_entry(a->config.store, n, show, &c);

	if (r == -ENOENT && n && n <= store_head(a->config.store))
		return answers_refuse(
			ret, r, "Entry %" PRIu64 " is not kept any more.", n);
	if (r == -ENOENT)
		return answers_refuse(ret, r,
				      "There is no entry %" PRIu64
				      "; the newest is "
				      "%" PRIu64 ".",
				      n, store_head(a->config.store));
	return r;
}

/* -- Blame. */

static int find_change(uint64_t n, enum entry_set set, bool removed, void *arg)
{
	(void)removed;
	if (set != ENTRY_X && set != ENTRY_ADDED)
		return 0;
	*(uint64_t *)arg = n;
	return 1;
}

static int put_entry(const struct entry *e, void *arg)
{
	cJSON *whole = entry_json(e), *o = arg;

	json_put_iso(o, "at", e->at_ns);
	json_put_time(o, "at_ns", e->at_ns);
	entry_json_who(whole, o);
	cJSON_Delete(whole);
	return 0;
}

/* `entry` 0: unchanged since the tape began. */
static int put_blame(struct answers *a, cJSON *o, uint64_t entry)
{
	int r;

	if (!entry)
		return 0;
	json_put_number(o, "entry", entry);
	r = store_entry(a->config.store, entry, put_entry, o);
	return r == -ENOENT ? 0 : r;
}

static int blame_symbol(struct answers *a, const struct outline_symbol *s,
			cJSON *list)
{
	cJSON *o = json_push_object(list);
	uint64_t entry = 0;
	int r;

	json_put_bytes(o, "name", s->name);
	json_put_text(o, "kind", symbol_kind_name(s->kind));
	json_put_number(o, "start_line", s->start);
	json_put_number(o, "end_line", s->end);
	r = store_touches(a->config.store, s->name, 0, find_change, &entry);
	return r < 0 ? r : put_blame(a, o, entry);
}

static int blame_outline(struct answers *a, const char *path, cJSON *ret)
{
	CLEANUP(answers_version_release)
	struct answers_version v = { .text = NULL };
	const struct outline *o = NULL;
	cJSON *list = json_array(ret, "symbols");
	int r = answers_version_find(a, path, VERSION_NOW, &v, ret);

	if (r == 0)
		r = answers_version_outline(a, path, &v, ret, &o);
	for (size_t k = 0; r == 0 && k < outline_count(o); k++)
		r = blame_symbol(a, outline_symbol(o, k), list);
	return r;
}

static int blame_file(struct answers *a, const char *path, cJSON *ret)
{
	CLEANUP(answers_version_release)
	struct answers_version v = { .text = NULL };
	CLEANUP(free_p) char *name = NULL;
	XXH128_hash_t hash;
	uint64_t since = 0;
	cJSON *o;
	int r = answers_version_find(a, path, VERSION_NOW, &v, ret);

	if (r == 0)
		r = answers_version_text(a, path, &v, ret);
	if (r < 0)
		return r;
	r = store_version(a->config.store, path, VERSION_NOW, &hash, &since);
	if (r < 0 && r != -ENOENT)
		return r;
	if (asprintf(&name, NOMINATE_FILE "%s", path) < 0)
		return -ENOMEM;
	o = json_push_object(json_array(ret, "symbols"));
	json_put_bytes(o, "name", name);
	json_put_text(o, "kind", "file");
	json_put_number(o, "start_line", 1);
	json_put_number(o, "end_line",
			answers_cut_lines(v.text, v.len, 0, 0).lines);
	return put_blame(a, o, since);
}

/* One symbol by name, existing or removed. */
static int blame_name(struct answers *a, const char *name, cJSON *ret)
{
	cJSON *o = json_push_object(json_array(ret, "symbols"));
	symbol_t s = a->graph ? graph_find(a->graph, name) : SYMBOL_NONE;
	struct symbol is = { .name = name };
	bool there = s != SYMBOL_NONE && graph_symbol(a->graph, s, &is);
	uint64_t entry = 0;
	int r = store_touches(a->config.store, name, 0, find_change, &entry);

	if (r < 0)
		return r;
	if (!there && !entry)
		return answers_refuse(ret, -ENOENT,
				      "There is no symbol '%s', and no entry "
				      "mentions one.",
				      name);
	json_put_bytes(o, "name", name);
	if (there) {
		json_put_text(o, "kind", symbol_kind_name(is.kind));
		json_put_bytes(o, "path", is.file);
		json_put_number(o, "start_line", is.start_line);
		json_put_number(o, "end_line", is.end_line);
	}
	return put_blame(a, o, entry);
}

int ask_blame(struct answers *a, const cJSON *q, cJSON *ret)
{
	const char *symbol = answers_bytes_in(a, q, "symbol");
	const char *path;

	if (symbol)
		return blame_name(a, symbol, ret);
	path = answers_path_in(a, q, ret);
	if (!path)
		return -EINVAL;
	if (cJSON_IsTrue(json_member(q, "lines")))
		return answers_blame_lines(
			a, path, json_number(q, "n", VERSION_NOW), ret);
	return lang_of(path) ? blame_outline(a, path, ret)
			     : blame_file(a, path, ret);
}
