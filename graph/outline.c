/*
 * Names and lines come from the facts. Facts do not say which lines are
 * module-level text, nor where the second and later statements of a variable
 * end: such a statement is taken to be a paragraph, from a line that begins at
 * the margin up to the next such line. Inside an `if` at module level that is
 * too much; it is never too little.
 *
 * A line at the margin does not begin a paragraph inside a string, nor if it
 * starts with a closing bracket. So the scan follows strings, as far as it can
 * without parsing.
 */
#include "graph/outline.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/array.h"
#include "graph/base/cleanup.h"
#include "graph/base/intern.h"
#include "graph/facts/facts.h"
#include "graph/facts/lang.h"

struct outline_span {
	uint32_t start, end; /* from 1, both included */
};

struct outline_slot {
	struct outline_symbol symbol;
	ARRAY(struct outline_span)
	definitions; /* of a variable: statements */
};

struct outline {
	struct intern *names; /* number: slot + 1 */
	ARRAY(struct outline_slot) slots;
	uint32_t *order;		   /* public number to slot ... */
	uint32_t *rank;			   /* ... and back */
	ARRAY(struct outline_span) module; /* text at module level */
	uint32_t lines;
	bool broken;
};

/* Top-level directories that are no part of module names. */
static bool is_source_root(const char *name, size_t len)
{
	return (len == 3 && memcmp(name, "src", 3) == 0) ||
	       (len == 3 && memcmp(name, "lib", 3) == 0);
}

char *outline_module(const char *path, size_t *ret_dir, bool *ret_package)
{
	const char *name = strchr(path, '/'), *slash;
	size_t len, dir;
	bool package;
	char *text;

	if (name && is_source_root(path, (size_t)(name - path)))
		path = name + 1;
	len = strlen(path);
	text = must_memdup(path, len);
	if (len > 3 && strcmp(text + len - 3, ".py") == 0)
		text[len - 3] = '\0';
	for (char *c = text; *c; c++)
		if (*c == '/')
			*c = '.';
	slash = strrchr(path, '/');
	dir = slash ? (size_t)(slash - path) : 0;
	package = slash && strcmp(slash + 1, "__init__.py") == 0;
	if (package)
		text[dir] = '\0';
	if (ret_dir)
		*ret_dir = dir;
	if (ret_package)
		*ret_package = package;
	return text;
}

/* -- Lines at module level. */

enum line_sort {
	LINE_NOTHING,	/* blank, a comment, or in a definition */
	LINE_PARAGRAPH, /* begins a statement at the margin */
	LINE_MORE,	/* continues the paragraph above it */
};

/* A scan of the text that follows strings. */
struct outline_scan {
	const char *at, *end;
	char quote; /* that ends the present string; 0: not in a string */
	bool triple;
};

static bool is_triple(const struct outline_scan *s, char quote)
{
	return s->end - s->at > 2 && s->at[0] == quote && s->at[1] == quote &&
	       s->at[2] == quote;
}

static void scan_quoted(struct outline_scan *s)
{
	if (*s->at == '\\' && s->at + 1 < s->end) {
		s->at++;
	} else if (s->triple && is_triple(s, s->quote)) {
		s->quote = 0;
		s->at += 2;
	} else if (!s->triple && *s->at == s->quote) {
		s->quote = 0;
	}
}

static void scan_plain(struct outline_scan *s)
{
	if (*s->at != '"' && *s->at != '\'')
		return;
	s->quote = *s->at;
	s->triple = is_triple(s, s->quote);
	if (s->triple)
		s->at += 2;
}

/* Advance to the start of the next line. */
static void scan_line(struct outline_scan *s)
{
	bool comment = false, continued = false;

	for (; s->at < s->end && *s->at != '\n'; s->at++) {
		continued = *s->at == '\\' && s->at + 1 < s->end &&
			    s->at[1] == '\n';
		if (continued || comment)
			continue;
		if (s->quote)
			scan_quoted(s);
		else if (*s->at == '#')
			comment = true;
		else
			scan_plain(s);
		if (s->at >= s->end || *s->at == '\n')
			break;
	}
	if (s->at < s->end)
		s->at++;
	if (!s->triple && !continued)
		s->quote = 0;
}

static enum line_sort sort_line(const struct outline_scan *s)
{
	const char *c = s->at;

	if (s->quote)
		return LINE_MORE;
	while (c < s->end && (*c == ' ' || *c == '\t' || *c == '\f'))
		c++;
	if (c == s->end || *c == '\n' || *c == '\r' || *c == '#')
		return LINE_NOTHING;
	if (c > s->at || strchr(")]}", *c))
		return LINE_MORE;
	return LINE_PARAGRAPH;
}

static uint32_t count_lines(const char *text, size_t len)
{
	const char *end = text + len, *at = text;
	uint32_t lines = 0;

	while (at < end) {
		const char *nl = memchr(at, '\n', (size_t)(end - at));

		lines++;
		at = nl ? nl + 1 : end;
	}
	return lines;
}

/* Sort each line; `inside` marks the lines of definitions. */
static uint8_t *sort_lines(const char *text, size_t len, uint32_t lines,
			   const uint8_t *inside)
{
	struct outline_scan s = { .at = text, .end = text + len };
	uint8_t *sorts = must_calloc((size_t)lines + 2, 1);

	for (uint32_t k = 1; k <= lines; k++) {
		/* No string is open behind a definition. */
		if (inside[k] && !inside[k + 1]) {
			const char *nl =
				memchr(s.at, '\n', (size_t)(s.end - s.at));

			s = (struct outline_scan){ .at = nl ? nl + 1 : s.end,
						   .end = s.end };
			continue;
		}
		if (!inside[k])
			sorts[k] = (uint8_t)sort_line(&s);
		scan_line(&s);
	}
	return sorts;
}

/* -- Symbols. */

static struct outline_slot *slot_of(struct outline *o, const char *name,
				    size_t len)
{
	uint32_t n = intern_add(o->names, name, len);
	struct outline_slot *s;

	/* Number 0 is the empty string, which is no name. */
	if (n <= o->slots.count)
		return &o->slots.at[n - 1];
	s = array_add(&o->slots);
	assert(o->slots.count == n);
	s->symbol.name = intern_text(o->names, n, NULL);
	return s;
}

static enum symbol_kind kind_of(const struct facts_unit *u)
{
	if (u->kind == UNIT_CLASS)
		return SYMBOL_CLASS;
	return u->flags & UNIT_METHOD ? SYMBOL_METHOD : SYMBOL_FUNCTION;
}

static void define(struct outline_slot *s, enum symbol_kind kind,
		   struct outline_span at, uint32_t head)
{
	if (!s->definitions.count) {
		s->symbol.kind = kind;
		s->symbol.start = at.start;
		s->symbol.end = at.end;
		s->symbol.head = head;
	}
	array_push(&s->definitions, at);
	s->symbol.definitions = s->definitions.count;
}

/* The slot of a unit's symbol, and its first line from 0. */
struct placed {
	uint32_t slot, line;
};

static uint32_t slot_below(struct outline *o, uint32_t parent, const char *name,
			   size_t len)
{
	const char *above = o->slots.at[parent].symbol.name;
	size_t n = strlen(above);
	char *text = must_alloc(n + 1 + len);
	struct outline_slot *s;

	/* NOLINTNEXTLINE(bugprone-not-null-terminated-result): has a length */
	memcpy(text, above, n);
	text[n] = '.';
	memcpy(text + n + 1, name, len);
	s = slot_of(o, text, n + 1 + len);
	free(text);
	return (uint32_t)(s - o->slots.at);
}

static void add_units(struct outline *o, const struct facts *f, uint8_t *inside)
{
	const struct facts_unit *units = facts_units(f);
	struct placed *placed = must_calloc(f->units_count, sizeof(*placed));

	for (uint32_t k = 1; k < f->units_count; k++) {
		const struct facts_unit *u = &units[k];
		uint32_t parent = k - u->parent;
		bool top = units[parent].kind == UNIT_MODULE;
		size_t len;
		const char *name = facts_string(f, u->name, &len);
		struct outline_span at;

		placed[k].slot = slot_below(o, placed[parent].slot, name, len);
		placed[k].line = u->line + (top ? 0 : placed[parent].line);
		at.start = placed[k].line + 1;
		at.end = placed[k].line + (u->lines ? u->lines : 1);
		define(&o->slots.at[placed[k].slot], kind_of(u), at, u->body);
		for (uint32_t l = at.start; top && l <= at.end; l++)
			if (l <= o->lines)
				inside[l] = 1;
	}
	free(placed);
}

/* The paragraph that holds a line. */
static struct outline_span paragraph(const uint8_t *sorts, uint32_t lines,
				     uint32_t line)
{
	struct outline_span p = { line, line };

	while (p.start > 1 && sorts[p.start] != LINE_PARAGRAPH)
		p.start--;
	while (p.end < lines && sorts[p.end + 1] != LINE_PARAGRAPH)
		p.end++;
	return p;
}

/* Add every further statement that binds the variable. */
static void add_statements(struct outline *o, struct outline_slot *s,
			   const struct facts *f, facts_str name,
			   const uint8_t *sorts)
{
	const struct facts_unit *module = facts_units(f);
	const struct facts_bind *b = facts_binds(f, module);

	for (uint32_t k = 0; k < module->binds.count; k++) {
		uint32_t line = b[k].line + 1;

		if (b[k].name == name && line <= o->lines &&
		    (line < s->symbol.start || line > s->symbol.end))
			array_push(&s->definitions,
				   paragraph(sorts, o->lines, line));
	}
}

static void add_variables(struct outline *o, const struct facts *f,
			  const uint8_t *sorts)
{
	const struct facts_variable *v = facts_variables(f);

	for (uint32_t k = 0; k < f->variables_count; k++) {
		size_t len;
		const char *name = facts_string(f, v[k].name, &len);
		uint32_t n = slot_below(o, 0, name, len);
		struct outline_slot *s = &o->slots.at[n];
		struct outline_span at = { v[k].line + 1, v[k].line + 1 };

		if (v[k].lines)
			at.end = v[k].line + v[k].lines;
		/* In the graph, too, a definition hides the variable. */
		if (s->definitions.count)
			continue;
		define(s, SYMBOL_VARIABLE, at, 0);
		add_statements(o, s, f, v[k].name, sorts);
		s->symbol.definitions = 1;
	}
}

/*
 * A line that belongs to a variable alone is not the module's. A line with a
 * semicolon may hold another statement.
 */
static void mark_variables(const struct outline *o, const char *text,
			   size_t len, uint8_t *sorts)
{
	CLEANUP(free_p) uint8_t *shared = must_calloc((size_t)o->lines + 2, 1);
	const char *at = text, *end = text + len;

	for (uint32_t k = 1; k <= o->lines; k++) {
		const char *nl = memchr(at, '\n', (size_t)(end - at));
		const char *stop = nl ? nl : end;

		shared[k] = memchr(at, ';', (size_t)(stop - at)) != NULL;
		at = nl ? nl + 1 : end;
	}
	for (uint32_t k = 1; k < o->slots.count; k++) {
		const struct outline_symbol *s = &o->slots.at[k].symbol;

		if (s->kind != SYMBOL_VARIABLE)
			continue;
		for (uint32_t l = s->start; l <= s->end && l <= o->lines; l++)
			if (!shared[l])
				sorts[l] = LINE_NOTHING;
	}
}

static void add_module_lines(struct outline *o, const uint8_t *sorts)
{
	for (uint32_t l = 1; l <= o->lines; l++) {
		struct outline_span *last =
			o->module.count ? array_last(&o->module) : NULL;

		if (sorts[l] == LINE_NOTHING)
			continue;
		if (last && last->end == l - 1)
			last->end = l;
		else
			array_push(&o->module, ((struct outline_span){ l, l }));
	}
}

static void outline_fill(struct outline *o, const struct facts *f,
			 const char *text, size_t len)
{
	CLEANUP(free_p) uint8_t *inside = must_calloc((size_t)o->lines + 2, 1);
	CLEANUP(free_p) uint8_t *sorts = NULL;

	add_units(o, f, inside);
	sorts = sort_lines(text, len, o->lines, inside);
	add_variables(o, f, sorts);
	mark_variables(o, text, len, sorts);
	add_module_lines(o, sorts);
	o->broken = f->broken;
}

static int by_place(const void *a, const void *b, void *arg)
{
	const struct outline *o = arg;
	uint32_t m = *(const uint32_t *)a, n = *(const uint32_t *)b;
	const struct outline_symbol *x = &o->slots.at[m].symbol;
	const struct outline_symbol *y = &o->slots.at[n].symbol;

	if (!m || !n)
		return (m > 0) - (n > 0);
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->end != y->end)
		return x->end > y->end ? -1 : 1;
	return (m > n) - (m < n);
}

static void outline_sort(struct outline *o)
{
	uint32_t n = o->slots.count;

	o->order = must_alloc(n * sizeof(*o->order));
	o->rank = must_alloc(n * sizeof(*o->rank));
	for (uint32_t k = 0; k < n; k++)
		o->order[k] = k;
	qsort_r(o->order, n, sizeof(*o->order), by_place, o);
	for (uint32_t k = 0; k < n; k++)
		o->rank[o->order[k]] = k;
	assert(o->order[0] == 0);
}

static void add_module(struct outline *o, const char *path)
{
	CLEANUP(free_p) char *name = outline_module(path, NULL, NULL);
	struct outline_slot *s = slot_of(o, name, strlen(name));

	define(s, SYMBOL_MODULE,
	       (struct outline_span){ 1, o->lines ? o->lines : 1 }, 0);
}

struct outline *outline_new(struct lang_readers *r, const char *path,
			    const char *text, size_t len)
{
	CLEANUP(free_p) struct facts *f = lang_read(r, path, text, len);
	struct outline *o;

	if (!f)
		return NULL;
	o = must_calloc(1, sizeof(*o));
	o->names = intern_new();
	o->lines = count_lines(text, len);
	add_module(o, path);
	outline_fill(o, f, text, len);
	outline_sort(o);
	return o;
}

void outline_free(struct outline *o)
{
	if (!o)
		return;
	for (uint32_t k = 0; k < o->slots.count; k++)
		array_release(&o->slots.at[k].definitions);
	array_release(&o->slots);
	array_release(&o->module);
	intern_free(o->names);
	free(o->order);
	free(o->rank);
	free(o);
}

size_t outline_count(const struct outline *o)
{
	return o->slots.count;
}

static const struct outline_slot *slot_at(const struct outline *o, size_t k)
{
	assert(k < o->slots.count);
	return &o->slots.at[o->order[k]];
}

const struct outline_symbol *outline_symbol(const struct outline *o, size_t k)
{
	return &slot_at(o, k)->symbol;
}

size_t outline_find(const struct outline *o, const char *name)
{
	uint32_t n = intern_find(o->names, name, strlen(name));

	return n == INTERN_NONE || n == 0 ? SIZE_MAX : o->rank[n - 1];
}

void outline_definition(const struct outline *o, size_t k, uint32_t d,
			uint32_t *ret_start, uint32_t *ret_end)
{
	const struct outline_span *l = &slot_at(o, k)->definitions.at[d];

	assert(d < slot_at(o, k)->definitions.count);
	*ret_start = l->start;
	*ret_end = l->end;
}

bool outline_covers(const struct outline *o, size_t k, uint32_t start,
		    uint32_t end)
{
	const struct outline_slot *s = slot_at(o, k);
	const struct outline_span *l = s->definitions.at;
	uint32_t n = s->definitions.count;

	if (s->symbol.kind == SYMBOL_MODULE) {
		l = o->module.at;
		n = o->module.count;
	}
	for (uint32_t i = 0; i < n; i++)
		if (l[i].start <= end && start <= l[i].end)
			return true;
	return false;
}

uint32_t outline_lines(const struct outline *o)
{
	return o->lines;
}

size_t outline_bytes(const struct outline *o)
{
	size_t bytes = sizeof(*o) + intern_bytes(o->names) +
		       (size_t)o->slots.count * 2 * sizeof(uint32_t) +
		       o->slots.size * sizeof(*o->slots.at) +
		       o->module.size * sizeof(*o->module.at);

	for (uint32_t k = 0; k < o->slots.count; k++)
		bytes += o->slots.at[k].definitions.size *
			 sizeof(struct outline_span);
	return bytes;
}

bool outline_broken(const struct outline *o)
{
	return o->broken;
}
