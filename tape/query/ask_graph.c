/* Questions about the graph: SYMBOL, NEIGHBOURS. */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "graph/base/cleanup.h"
#include "graph/outline.h"
#include "graph/walk.h"
#include "tape/query/answers_i.h"

static int find_symbol(struct answers *a, const char *name, cJSON *ret,
		       symbol_t *ret_symbol)
{
	struct symbol is;

	if (!a->graph)
		return answers_refuse_offline(ret);
	if (!name)
		return answers_refuse(ret, -EINVAL,
				      "The question names no symbol.");
	*ret_symbol = graph_find(a->graph, name);
	if (*ret_symbol == SYMBOL_NONE ||
	    !graph_symbol(a->graph, *ret_symbol, &is))
		return answers_refuse(ret, -ENOENT, "There is no symbol '%s'.",
				      name);
	return 0;
}

static bool begins(const char *at, size_t len, const char *word)
{
	size_t n = strlen(word);

	return len > n && memcmp(at, word, n) == 0 &&
	       (at[n] == ' ' || at[n] == '\t');
}

/*
 * The header without its decorators, as one line: from the first line that
 * begins a definition to the colon.
 */
static void put_signature(cJSON *ret, const char *at, size_t len)
{
	CLEANUP(free_p) char *text = must_alloc(len + 1);
	const char *end = at + len;
	size_t n = 0;

	while (at < end) {
		const char *nl = memchr(at, '\n', (size_t)(end - at));
		size_t left;

		at += strspn(at, " \t");
		left = (size_t)(end - at);
		if (begins(at, left, "def") || begins(at, left, "class") ||
		    begins(at, left, "async") || begins(at, left, "type"))
			break;
		if (!nl)
			break;
		at = nl + 1;
	}
	for (; at < end; at++) {
		bool blank = strchr(" \t\r\n\\", *at) && *at;

		if (!blank)
			text[n++] = *at;
		else if (n && text[n - 1] != ' ' && text[n - 1] != '(')
			text[n++] = ' ';
	}
	assert(n <= len);
	while (n && (text[n - 1] == ' ' || text[n - 1] == ':'))
		n--;
	text[n] = '\0';
	json_put(ret, "signature", json_bytes(text));
}

/* The first definition's header; of a variable its first line. */
static void put_header(const struct outline_symbol *s,
		       const struct answers_lines *c, cJSON *ret)
{
	size_t line = strcspn(c->at, "\n");
	size_t head = s->head ? s->head + strspn(c->at, " \t") : line;

	put_signature(ret, c->at, head < c->len ? head : c->len);
}

static void put_body(const struct answers_version *v, const struct outline *o,
		     size_t k, cJSON *ret)
{
	const struct outline_symbol *s = outline_symbol(o, k);
	cJSON *list = json_array(ret, "definitions");
	CLEANUP(free_p) char *body = must_alloc(v->len + 1);
	size_t len = 0;

	for (uint32_t d = 0; d < s->definitions; d++) {
		cJSON *one = json_push(list, json_array(NULL, NULL));
		uint32_t start, end;
		struct answers_lines c;

		outline_definition(o, k, d, &start, &end);
		json_push_number(one, start);
		json_push_number(one, end);
		c = answers_cut_lines(v->text, v->len, start, end);
		/*
		 * Definitions on one line share its text, so the sum may exceed
		 * the file.
		 */
		if (c.len > v->len - len)
			continue;
		memcpy(body + len, c.at, c.len);
		len += c.len;
		assert(len <= v->len);
		if (d == 0 && s->kind != SYMBOL_MODULE)
			put_header(s, &c, ret);
	}
	json_put_content(ret, "body", body, len);
}

int ask_symbol(struct answers *a, const cJSON *q, cJSON *ret)
{
	CLEANUP(answers_version_release)
	struct answers_version v = { .text = NULL };
	const char *name = answers_bytes_in(a, q, "name");
	const struct outline *o = NULL;
	symbol_t s = SYMBOL_NONE;
	struct symbol is;
	size_t k;
	int r = find_symbol(a, name, ret, &s);

	if (r < 0)
		return r;
	(void)graph_symbol(a->graph, s, &is);
	r = answers_version_find(a, is.file, VERSION_NOW, &v, ret);
	if (r == 0)
		r = answers_version_text(a, is.file, &v, ret);
	if (r == 0)
		r = answers_version_outline(a, is.file, &v, ret, &o);
	if (r < 0)
		return r;
	k = outline_find(o, name);
	if (k == SIZE_MAX)
		return answers_refuse(
			ret, -ESTALE,
			"'%s' has changed, and '%s' is no longer in it.",
			is.file, name);
	json_put_bytes(ret, "name", name);
	json_put_text(ret, "kind", symbol_kind_name(is.kind));
	json_put_bytes(ret, "path", is.file);
	json_put_number(ret, "start_line", outline_symbol(o, k)->start);
	json_put_number(ret, "end_line", outline_symbol(o, k)->end);
	json_put_hash(ret, "hash", is.hash);
	put_body(&v, o, k, ret);
	return 0;
}

/* -- Neighbours. */

static const char *const step_names[WALK_STEPS] = {
	[WALK_CALLERS] = "callers",
	[WALK_CALLEES] = "callees",
	[WALK_SUBCLASSES] = "subclasses",
	[WALK_BASES] = "bases",
	[WALK_OVERRIDERS] = "overriders",
	[WALK_OVERRIDDEN] = "overridden",
	[WALK_READERS] = "readers",
	[WALK_READ] = "read",
	[WALK_IMPORTERS] = "importers",
	[WALK_IMPORTED] = "imported",
	[WALK_IMPLICIT_CALLERS] = "implicit_callers",
	[WALK_IMPLICIT_CALLEES] = "implicit_callees",
	[WALK_USERS] = "users",
	[WALK_USED] = "used",
};

/* Edges followed both ways. */
static const struct {
	const char *name;
	unsigned steps;
} kinds[] = {
	{ "call", 1u << WALK_CALLERS | 1u << WALK_CALLEES },
	{ "implicit",
	  1u << WALK_IMPLICIT_CALLERS | 1u << WALK_IMPLICIT_CALLEES },
	{ "uses", 1u << WALK_USERS | 1u << WALK_USED },
	{ "inherits", 1u << WALK_SUBCLASSES | 1u << WALK_BASES },
	{ "overrides", 1u << WALK_OVERRIDERS | 1u << WALK_OVERRIDDEN },
	{ "reads", 1u << WALK_READERS | 1u << WALK_READ },
	{ "imports", 1u << WALK_IMPORTERS | 1u << WALK_IMPORTED },
};

static unsigned step_named(const char *name)
{
	for (unsigned k = 0; name && k < WALK_STEPS; k++)
		if (strcmp(name, step_names[k]) == 0)
			return 1u << k;
	return 0;
}

static unsigned kind_named(const char *name)
{
	for (size_t k = 0; name && k < sizeof(kinds) / sizeof(*kinds); k++)
		if (strcmp(name, kinds[k].name) == 0)
			return kinds[k].steps;
	return 0;
}

/* Adds what the list names; false: an unknown name, which was refused. */
static bool add_steps(const cJSON *list, unsigned (*named)(const char *),
		      const char *what, unsigned *steps, cJSON *ret)
{
	const cJSON *item;

	cJSON_ArrayForEach (item, list) {
		const char *name = cJSON_GetStringValue(item);
		unsigned found = named(name);

		if (!found) {
			(void)answers_refuse(ret, 0, "There is no %s '%s'.",
					     what, name ? name : "");
			return false;
		}
		*steps |= found;
	}
	return true;
}

/* One bit per step; 0: an unknown step, which was refused. */
static unsigned steps_in(const cJSON *q, cJSON *ret)
{
	const cJSON *by_step = json_member(q, "steps");
	const cJSON *by_kind = json_member(q, "kinds");
	unsigned steps = 0;

	if (!by_step && !by_kind)
		return WALK_ALL_CALLERS | WALK_ALL_CALLEES;
	if (!add_steps(by_step, step_named, "step", &steps, ret) ||
	    !add_steps(by_kind, kind_named, "kind of edge", &steps, ret))
		return 0;
	if (!steps)
		(void)answers_refuse(ret, 0, "NEIGHBOURS wants \"steps\".");
	return steps;
}

static void put_place(const struct graph *g, const struct walk_place *p,
		      cJSON *list)
{
	cJSON *o = json_push_object(list);
	struct symbol is;
	bool exists = graph_symbol(g, p->symbol, &is);

	assert(exists);
	json_put_bytes(o, "name", is.name);
	json_put_text(o, "kind", symbol_kind_name(is.kind));
	json_put_bytes(o, "path", is.file ? is.file : "");
	json_put_number(o, "start_line", is.start_line);
	json_put_number(o, "end_line", is.end_line);
	json_put_number(o, "depth", p->depth);
	json_put_number(o, "from", p->from);
	if (p->depth)
		json_put_text(o, "step", step_names[p->step]);
	if (p->via != SYMBOL_NONE) {
		(void)graph_symbol(g, p->via, &is);
		json_put_bytes(o, "via", is.name);
	}
}

/* "symbol", which must exist, and those of "symbols" that do. */
static int starts_in(struct answers *a, const cJSON *q, cJSON *ret,
		     struct walk_from *from)
{
	const cJSON *list = json_member(q, "symbols"), *item;
	int many = cJSON_GetArraySize(list);
	symbol_t *starts =
		arena_take(&a->scratch, ((size_t)many + 1) * sizeof(*starts));
	const char *name = answers_bytes_in(a, q, "symbol");
	struct symbol is;

	from->starts = starts;
	if (name || !list) {
		int r = find_symbol(a, name, ret, &starts[0]);

		if (r < 0)
			return r;
		from->count = 1;
	}
	if (!a->graph)
		return answers_refuse_offline(ret);
	cJSON_ArrayForEach (item, list) {
		symbol_t s;

		name = answers_bytes_of(a, item);
		s = name ? graph_find(a->graph, name) : SYMBOL_NONE;
		if (s != SYMBOL_NONE && graph_symbol(a->graph, s, &is))
			starts[from->count++] = s;
	}
	return 0;
}

int ask_neighbours(struct answers *a, const cJSON *q, cJSON *ret)
{
	struct walk_from from = { .depth = answers_number32(q, "depth", 1),
				  .skip_tests = cJSON_IsFalse(
					  json_member(q, "tests")) };
	uint64_t max = json_number(q, "max", PLACES_DEFAULT);
	struct walk w;
	cJSON *list;
	int r = starts_in(a, q, ret, &from);

	if (r < 0)
		return r;
	if (from.depth > DEPTH_MAX)
		return answers_refuse(ret, -EINVAL, "The depth is at most %d.",
				      DEPTH_MAX);
	from.max = max > PLACES_MAX ? PLACES_MAX : (size_t)max;
	from.steps = steps_in(q, ret);
	if (!from.steps)
		return -EINVAL;
	walk_init(&w, a->graph, &from);
	list = json_array(ret, "places");
	for (size_t k = 0; k < w.count; k++)
		put_place(a->graph, &w.places[k], list);
	json_put_bool(ret, "cut", w.cut);
	walk_release(&w);
	return 0;
}
