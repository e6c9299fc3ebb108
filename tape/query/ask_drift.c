/*
 * Questions about drift: DRIFT, NOMINATE.
 *
 * Records come with the names of the symbols they cover. For those that do not,
 * the names are resolved here from the file as of the record's birth; where
 * that content is not kept any more, the lines themselves are watched.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/base/escape.h"
#include "graph/base/intern.h"
#include "graph/facts/lang.h"
#include "graph/outline.h"
#include "tape/journal/journal.h"
#include "tape/query/answers_i.h"
#include "tape/query/nominate.h"
#include "tape/store/store.h"

static void put_last(cJSON *o, const char *name, uint64_t n, uint64_t since)
{
	if (n > since)
		json_put_number(o, name, n);
}

int ask_drift(struct answers *a, const cJSON *q, cJSON *ret)
{
	uint64_t since = json_number(q, "since", 0);
	cJSON *list = json_array(ret, "drift");
	const cJSON *item;
	int r = answers_ensure_drift(a);

	if (r < 0)
		return r;
	cJSON_ArrayForEach (item, json_member(q, "symbols")) {
		const char *name = answers_bytes_of(a, item);
		struct drift_last l;
		cJSON *o;

		if (!name || !drift_find(a->drift, name, &l) ||
		    (l.n[ENTRY_X] <= since && l.n[ENTRY_DX] <= since &&
		     l.n[ENTRY_R] <= since))
			continue;
		o = json_push_object(list);
		json_put_bytes(o, "symbol", name);
		put_last(o, "x", l.n[ENTRY_X], since);
		put_last(o, "dx", l.n[ENTRY_DX], since);
		put_last(o, "r", l.n[ENTRY_R], since);
		if (l.n[ENTRY_X] > since && l.removed)
			json_put_bool(o, "removed", true);
	}
	json_put_number(ret, "n", store_head(a->config.store));
	return 0;
}

/* -- Authors. */

static size_t size_of(const char *maybe)
{
	return maybe ? strlen(maybe) + 1 : 1;
}

/* Copy a text to `*at`, and move that behind it. */
static const char *put_text(char **at, const char *maybe)
{
	const char *copy = *at;

	*at = mempcpy(*at, maybe ? maybe : "", size_of(maybe));
	return copy;
}

static size_t count_authors(const struct entry *e)
{
	return e->authors_count ? e->authors_count : 1;
}

/* Author `k`, of one or, if the entry is merged, of several. */
static const struct journal_author *author_at(const struct entry *e, size_t k)
{
	assert(k < count_authors(e));
	return e->authors_count ? e->authors[k] : e->author;
}

static int take_credit(const struct entry *e, void *arg)
{
	struct answers_credit *c = arg;
	const char *path = e->path2 ? e->path2 : e->path;
	size_t size = size_of(path), count = count_authors(e);
	char *at;

	for (size_t k = 0; k < count; k++) {
		const struct journal_author *a = author_at(e, k);

		size += size_of(a ? a->comm : NULL) +
			size_of(a ? a->cmdline : NULL);
	}
	free(c->text);
	free(c->at);
	*c = (struct answers_credit){
		.n = e->n,
		.text = must_alloc(size),
		.at = must_calloc(count, sizeof(*c->at)),
		.count = count,
	};
	at = c->text;
	c->path = put_text(&at, path);
	for (size_t k = 0; k < count; k++) {
		const struct journal_author *a = author_at(e, k);

		c->at[k].comm = put_text(&at, a ? a->comm : NULL);
		c->at[k].cmdline = put_text(&at, a ? a->cmdline : NULL);
		c->at[k].pid = a ? a->pid : 0;
		c->at[k].origin =
			!a && e->authors_count ? ENTRY_OUTSIDE : e->origin;
	}
	assert(at == c->text + size);
	return 0;
}

const struct answers_credit *answers_credit_of(struct answers *a, uint64_t n)
{
	static const struct answers_credit unknown;
	struct answers_credit *c = &a->credits[n % CREDITS_MAX];

	if (c->n != n && store_entry(a->config.store, n, take_credit, c) != 0)
		return &unknown;
	return c;
}

/* -- Records. */

/* The strings of a list; other items are skipped. */
static struct answers_names names_in(struct answers *a, const cJSON *list)
{
	struct answers_names n = { .at = NULL };
	size_t room = 0;
	const cJSON *item;

	cJSON_ArrayForEach (item, list)
		room++;
	n.at = arena_take(&a->scratch, (room + 1) * sizeof(*n.at));
	cJSON_ArrayForEach (item, list) {
		const char *text = answers_bytes_of(a, item);

		if (text)
			n.at[n.count++] = text;
	}
	return n;
}

static struct nominate_paths paths_in(struct answers *a, const cJSON *record,
				      const char *name)
{
	struct answers_names n = names_in(a, json_member(record, name));

	return (struct nominate_paths){ n.at, n.count };
}

/* The pseudo-symbol that watches the lines of a file. */
static struct answers_names as_file(struct answers *a, const char *path)
{
	size_t len = strlen(path), front = strlen(NOMINATE_FILE);
	char *name = arena_take(&a->scratch, front + len + 1);
	struct answers_names n = { .at = arena_take(&a->scratch, sizeof(*n.at)),
				   .count = 1 };

	/* NOLINTNEXTLINE(bugprone-not-null-terminated-result): more comes. */
	memcpy(name, NOMINATE_FILE, front);
	memcpy(name + front, path, len + 1);
	n.at[0] = name;
	return n;
}

static struct answers_names as_outline(struct answers *a,
				       const struct outline *o,
				       const struct nominate_record *r)
{
	size_t count = outline_count(o);
	struct answers_names n = {
		.at = arena_take(&a->scratch, (count + 1) * sizeof(*n.at))
	};
	bool whole = !r->start && !r->end;

	assert(count > 0); /* the module, first */
	for (size_t k = 0; k < count; k++) {
		const char *name = outline_symbol(o, k)->name;

		if (whole || outline_covers(o, k, r->start,
					    r->end ? r->end : UINT32_MAX))
			n.at[n.count++] =
				arena_copy(&a->scratch, name, strlen(name));
	}
	if (!n.count) {
		const char *name = outline_symbol(o, 0)->name;

		n.at[n.count++] = arena_copy(&a->scratch, name, strlen(name));
	}
	return n;
}

static struct answers_names resolve(struct answers *a,
				    const struct nominate_record *r,
				    const char *path, bool *ret_sure)
{
	CLEANUP(answers_version_release)
	struct answers_version v = { .text = NULL };
	CLEANUP(json_p) cJSON *aside = json_object(NULL, NULL);
	const struct outline *o;

	*ret_sure = !lang_of(path);
	if (*ret_sure ||
	    answers_version_find(a, path, r->birth, &v, aside) < 0 ||
	    answers_version_outline(a, path, &v, aside, &o) < 0)
		return as_file(a, path);
	*ret_sure = true;
	return as_outline(a, o, r);
}

void answers_forget_spans(struct answers *a)
{
	intern_free(a->spans);
	a->spans = NULL;
	array_release(&a->covers);
	arena_release(&a->covers_arena);
}

static void remember_span(struct answers *a, const char *key, size_t len,
			  const struct answers_names *n)
{
	struct answers_names copy = { .count = n->count };
	uint32_t id;

	if (a->spans && intern_count(a->spans) >= SPANS_MAX)
		answers_forget_spans(a);
	if (!a->spans)
		a->spans = intern_new();
	id = intern_add(a->spans, key, len);
	while (a->covers.count <= id)
		(void)array_add(&a->covers);
	copy.at = arena_take(&a->covers_arena, n->count * sizeof(*copy.at));
	for (size_t k = 0; k < n->count; k++)
		copy.at[k] = arena_copy(&a->covers_arena, n->at[k],
					strlen(n->at[k]));
	a->covers.at[id] = copy;
	assert(a->covers.count == intern_count(a->spans));
}

/*
 * The symbols that the span of a record covers. A conversation asks about the
 * same spans again and again, so the result is cached, unless the path contains
 * a symbolic link or the content at birth is unknown.
 */
static struct answers_names covered(struct answers *a,
				    const struct nominate_record *r)
{
	char *key = arena_take(&a->scratch, strlen(r->path) + 64);
	int len = snprintf(key, strlen(r->path) + 64,
			   "%" PRIu64 " %" PRIu32 " %" PRIu32 " %s", r->birth,
			   r->start, r->end, r->path);
	uint32_t id = a->spans ? intern_find(a->spans, key, (size_t)len)
			       : INTERN_NONE;
	const char *path;
	struct answers_names n;
	bool sure;

	if (id != INTERN_NONE && id < a->covers.count)
		return a->covers.at[id];
	path = answers_follow_links(a, r->path);
	n = resolve(a, r, path, &sure);
	if (sure && path == r->path)
		remember_span(a, key, (size_t)len, &n);
	return n;
}

/* -1: unknown kind. */
static int kind_in(const cJSON *record)
{
	static const char *const kinds[] = {
		[NOMINATE_READ] = "read",
		[NOMINATE_EDIT] = "edit",
		[NOMINATE_RUN] = "run",
		[NOMINATE_SEARCH] = "search",
	};
	const char *kind = json_string(record, "kind");

	for (int k = 0; kind && k <= NOMINATE_SEARCH; k++)
		if (strcmp(kind, kinds[k]) == 0)
			return k;
	return -1;
}

static int read_record(struct answers *a, const cJSON *item,
		       struct nominate_record *ret, cJSON *answer)
{
	int kind = kind_in(item);
	int r = answers_check_members(protocol_record, "a record", item,
				      answer);

	if (r < 0)
		return r;
	if (kind < 0)
		return answers_refuse(answer, -EINVAL,
				      "There is no record of kind \"%s\".",
				      json_string(item, "kind"));
	*ret = (struct nominate_record){
		.kind = (enum nominate_kind)kind,
		.birth = json_number(item, "birth", 0),
		.path = answers_bytes_in(a, item, "path"),
		.start = answers_number32(item, "start_line", 0),
		.end = answers_number32(item, "end_line", 0),
		.observed = kind == NOMINATE_RUN && json_member(item, "opened"),
	};
	if (ret->observed) {
		ret->opened = paths_in(a, item, "opened");
		ret->missed = paths_in(a, item, "missed");
		ret->listed = paths_in(a, item, "listed");
	}
	return 0;
}

/* The symbols it covers, as given or resolved. */
static void read_symbols(struct answers *a, const cJSON *item,
			 struct nominate_record *r)
{
	const cJSON *list = json_member(item, "symbols");
	struct answers_names n = { .at = NULL };

	if (r->kind == NOMINATE_RUN || r->kind == NOMINATE_SEARCH)
		return;
	if (cJSON_IsArray(list))
		n = names_in(a, list);
	else if (r->path)
		n = covered(a, r);
	r->symbols = n.at;
	r->symbols_count = n.count;
}

/* -- Touches of paths, loaded as far back as the oldest birth. */

static bool needs_paths(const struct nominate_record *r)
{
	if (r->kind == NOMINATE_RUN)
		return r->observed;
	for (size_t k = 0; k < r->symbols_count; k++)
		if (strncmp(r->symbols[k], NOMINATE_FILE,
			    strlen(NOMINATE_FILE)) == 0)
			return true;
	return false;
}

static int fill_touches(const struct entry *e, void *arg)
{
	drift_add_touches(arg, e);
	return 0;
}

static int reach_back(struct answers *a, uint64_t birth)
{
	uint64_t head = drift_head(a->drift);
	uint64_t first = store_first(a->config.store);
	uint64_t floor = birth;

	if (head > DRIFT_ENTRIES_MAX && floor < head - DRIFT_ENTRIES_MAX)
		floor = head - DRIFT_ENTRIES_MAX;
	if (first && floor < first - 1)
		floor = first - 1;
	if (floor >= drift_floor(a->drift))
		return 0;
	drift_restart(a->drift, floor);
	return store_since(a->config.store, floor, (size_t)(head - floor),
			   fill_touches, a->drift);
}

/* -- Nominations. */

static bool symbol_exists(const char *name, void *arg)
{
	const struct graph *g = arg;
	symbol_t s = graph_find(g, name);
	struct symbol is;

	return s != SYMBOL_NONE && graph_symbol(g, s, &is);
}

/* -- What is not on the tape yet. */

static bool is_pending(const char *path, bool below, void *arg)
{
	const struct answers *a = arg;

	return a->config.pending(a->config.ctx, path, below);
}

#define EDGES_ALL ((1U << EDGE_KINDS) - 1)

struct pending_near {
	const struct answers *a;
	bool found;
};

static bool see_edge(const struct edge *e, void *arg)
{
	struct pending_near *n = arg;
	struct symbol other;

	n->found = graph_symbol(n->a->graph, e->other, &other) && other.file &&
		   n->a->config.pending(n->a->config.ctx, other.file, false);
	return !n->found;
}

/* Calls come and go with the files at both of their ends. */
static bool is_near_pending(const char *symbol, void *arg)
{
	struct pending_near n = { .a = arg };
	struct symbol is;
	symbol_t s;

	if (!n.a->graph)
		return false;
	s = graph_find(n.a->graph, symbol);
	if (s == SYMBOL_NONE || !graph_symbol(n.a->graph, s, &is))
		return false;
	if (is.file && n.a->config.pending(n.a->config.ctx, is.file, false))
		return true;
	graph_out(n.a->graph, s, EDGES_ALL, see_edge, &n);
	if (!n.found)
		graph_in(n.a->graph, s, EDGES_ALL, see_edge, &n);
	return n.found;
}

static void put_hits(cJSON *o, const struct nomination *n)
{
	static const char *const sets[] = {
		[ENTRY_X] = "X", [ENTRY_DX] = "dX", [ENTRY_R] = "R"
	};
	cJSON *list = json_array(o, "symbols");

	for (size_t k = 0; k < n->hits_count; k++) {
		cJSON *hit = json_push_object(list);

		assert(n->hits[k].set <= ENTRY_R);
		json_put_bytes(hit, "name", n->hits[k].name);
		json_put_text(hit, "set", sets[n->hits[k].set]);
		json_put_number(hit, "entry", n->hits[k].entry);
		if (n->hits[k].removed)
			json_put_bool(hit, "removed", true);
	}
	if (n->drifted > n->hits_count)
		json_put_bool(o, "more", true);
}

/* `id` is moved into the answer. */
static void put_nomination(struct answers *a, cJSON *id,
			   const struct nominate_record *r,
			   const struct nomination *n, cJSON *list)
{
	static const char *const actions[] = {
		[NOMINATE_REFRESH] = "REFRESH",
		[NOMINATE_DROP] = "DROP",
		[NOMINATE_RERUN] = "RERUN",
		[NOMINATE_KEEP] = "KEEP",
	};
	const struct answers_credit *c = answers_credit_of(a, n->by);
	struct nominate_author who = { .at = c->at,
				       .count = c->count,
				       .path = c->path };
	CLEANUP(free_p) char *reason = nominate_reason(n, r, &who);
	CLEANUP(free_p) char *words = nominate_words(n, r, &who);
	cJSON *o = json_push_object(list);

	assert(n->action <= NOMINATE_KEEP);
	json_put(o, "id", id);
	json_put_text(o, "action", actions[n->action]);
	/* Names in them are quoted already. */
	json_put_text(o, "reason", reason);
	json_put_text(o, "words", words);
	json_put_number(o, "entry", n->entry);
	put_hits(o, n);
}

static int nominate_records(struct answers *a, const struct nominate_view *v,
			    const cJSON *records, cJSON *list, cJSON *ret)
{
	const cJSON *item;

	cJSON_ArrayForEach (item, records) {
		struct nominate_record record = { .path = NULL };
		struct nomination n;
		int r;

		r = read_record(a, item, &record, ret);
		if (r < 0)
			return r;
		/* There are no entries after its birth. */
		if (record.birth >= v->head && !v->pending)
			continue;
		read_symbols(a, item, &record);
		if (needs_paths(&record))
			r = reach_back(a, record.birth);
		if (r < 0)
			return r;
		if (nominate(v, &record, &n))
			put_nomination(
				a, cJSON_Duplicate(json_member(item, "id"), 1),
				&record, &n, list);
	}
	return 0;
}

/* Split one line of "brief" into names, in place. */
static struct answers_names names_on(struct answers *a, char *line)
{
	struct answers_names n = { .at = NULL };
	size_t room = 1;

	for (const char *c = line; c && *c; c++)
		room += *c == '\t';
	n.at = arena_take(&a->scratch, room * sizeof(*n.at));
	while (line) {
		char *name = strsep(&line, "\t");

		if (*name && (!strchr(name, '\\') || escape_undo(name) == 0))
			n.at[n.count++] = name;
	}
	return n;
}

/*
 * Most records are reads of symbols that the client knows. As lines of one text
 * ("ID TAB BIRTH TAB NAME TAB NAME..."), five hundred of them cost a tenth of
 * as many JSON objects.
 */
static int nominate_brief(struct answers *a, const struct nominate_view *v,
			  const char *brief, cJSON *list, cJSON *ret)
{
	char *rest = arena_copy(&a->scratch, brief, strlen(brief)), *line;

	while ((line = strsep(&rest, "\n")) != NULL) {
		struct nominate_record r = { .kind = NOMINATE_READ };
		struct nomination n;
		struct answers_names names;
		uint64_t id;
		char *end;

		if (!*line)
			continue;
		id = strtoull(line, &end, 10);
		if (end == line || *end != '\t')
			return answers_refuse(ret, -EINVAL,
					      "\"brief\" makes no sense.");
		line = end + 1;
		r.birth = strtoull(line, &end, 10);
		if (end == line || (*end && *end != '\t'))
			return answers_refuse(ret, -EINVAL,
					      "\"brief\" makes no sense.");
		if ((r.birth >= v->head && !v->pending) || !*end)
			continue;
		names = names_on(a, end + 1);
		r.symbols = names.at;
		r.symbols_count = names.count;
		if (nominate(v, &r, &n))
			put_nomination(a, cJSON_CreateNumber((double)id), &r,
				       &n, list);
	}
	return 0;
}

int ask_nominate(struct answers *a, const cJSON *q, cJSON *ret)
{
	const cJSON *records = json_member(q, "records");
	const char *brief = json_string(q, "brief");
	cJSON *list;
	struct nominate_view v;
	/* Only passed to graph_find(), which does not modify it. */
	union {
		const struct graph *g;
		void *arg;
	} u = { .g = a->graph };
	int r = answers_ensure_drift(a);

	if (r < 0)
		return r;
	if (!cJSON_IsArray(records) && !brief)
		return answers_refuse(ret, -EINVAL,
				      "NOMINATE wants \"records\".");
	v = (struct nominate_view){ .drift = a->drift,
				    .head = store_head(a->config.store),
				    .exists = a->graph ? symbol_exists : NULL,
				    .arg = u.arg };
	/* Usually nothing is pending. */
	if (a->config.pending && a->config.pending(a->config.ctx, "", true)) {
		v.pending = is_pending;
		v.pending_near = is_near_pending;
		v.pending_arg = a;
	}
	json_put_number(ret, "n", v.head);
	list = json_array(ret, "nominations");
	if (brief)
		r = nominate_brief(a, &v, brief, list, ret);
	return r < 0 ? r : nominate_records(a, &v, records, list, ret);
}
