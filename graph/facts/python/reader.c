/*
 * The reader of Python. It scans a large text (scan.c), has tree-sitter parse
 * it, walks the tree (reader_i.h), and copies the facts it gathered into one
 * block of memory.
 */
#include <limits.h>

#include "graph/base/cleanup.h"
#include "graph/facts/lang.h"
#include "graph/facts/python/reader_i.h"

const TSLanguage *tree_sitter_python(void);

static const struct {
	const char *name;
	enum syn syn;
} names[] = {
#define X(syn, text) { text, SYN_##syn },
	SYNTAX(X)
#undef X
};

static enum syn syn_of(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i].name, name))
			return names[i].syn;
	return SYN_SKIP;
}

/* By name: the grammar has several symbols of some names. */
static void find_symbols(struct reader *r, const TSLanguage *language)
{
	uint32_t i;

	r->syns_count = ts_language_symbol_count(language);
	r->syns = must_calloc(r->syns_count, 1);
	for (i = 0; i < r->syns_count; i++)
		if (ts_language_symbol_type(language, (TSSymbol)i) ==
		    TSSymbolTypeRegular)
			r->syns[i] = (uint8_t)syn_of(
				ts_language_symbol_name(language, (TSSymbol)i));
	r->name_field = ts_language_field_id_for_name(language, "name", 4);
	r->definition_field =
		ts_language_field_id_for_name(language, "definition", 10);
	r->operator_field =
		ts_language_field_id_for_name(language, "operator", 8);
}

/* Pointers into arrays are formed before anything is in them. */
static void arrays_open(struct reader *r)
{
	array_reserve(&r->levels, 1);
	array_reserve(&r->units, 1);
	array_reserve(&r->exprs, 1);
	array_reserve(&r->places, 1);
	array_reserve(&r->lists, 1);
	array_reserve(&r->scopes, 1);
	array_reserve(&r->blocks, 1);
	array_reserve(&r->binds, 1);
	array_reserve(&r->attrs, 1);
	array_reserve(&r->params, 1);
	array_reserve(&r->sites, 1);
	array_reserve(&r->variables, 1);
	array_reserve(&r->pieces, 1);
	array_reserve(&r->items, 1);
	array_reserve(&r->checks, 1);
	array_reserve(&r->chars, 1);
	array_reserve(&r->decorators, 1);
	array_reserve(&r->bases, 1);
	array_reserve(&r->returns, 1);
	array_reserve(&r->yields, 1);
	array_reserve(&r->outers, 1);
	array_reserve(&r->paths, 1);
	array_reserve(&r->taken, 1);
	array_reserve(&r->mix, 1);
	array_reserve(&r->spans, 1);
	array_reserve(&r->all, 1);
	array_reserve(&r->pending, 1);
	array_reserve(&r->first_pieces, 1);
	array_reserve(&r->alone, 1);
}

static void *new_reader(void)
{
	struct reader *r = must_calloc(1, sizeof(*r));

	r->heap = parse_heap_new();
	find_symbols(r, tree_sitter_python());
	arrays_open(r);
	return r;
}

static void free_reader(void *reader)
{
	struct reader *r = reader;

	if (!r)
		return;
	parse_heap_free(r->heap);
	free(r->syns);
	array_release(&r->levels);
	array_release(&r->units);
	array_release(&r->spans);
	array_release(&r->exprs);
	array_release(&r->places);
	array_release(&r->lists);
	array_release(&r->scopes);
	array_release(&r->blocks);
	array_release(&r->binds);
	array_release(&r->attrs);
	array_release(&r->params);
	array_release(&r->sites);
	array_release(&r->variables);
	array_release(&r->all);
	array_release(&r->pieces);
	array_release(&r->pending);
	array_release(&r->first_pieces);
	array_release(&r->items);
	array_release(&r->checks);
	array_release(&r->chars);
	array_release(&r->decorators);
	array_release(&r->bases);
	array_release(&r->returns);
	array_release(&r->yields);
	array_release(&r->outers);
	array_release(&r->paths);
	array_release(&r->taken);
	array_release(&r->mix);
	array_release(&r->alone);
	array_release(&r->decoded);
	array_release(&r->gaps);
	array_release(&r->opens);
	array_release(&r->ranges);
	strings_release(&r->strings);
	pairs_release(&r->variable_of);
	pairs_release(&r->bound);
	pairs_release(&r->path_of);
	free(r);
}

/* The row of the last line; an empty one after the last newline is none. */
static uint32_t last_row(const char *text, size_t len)
{
	const char *at = text;
	uint32_t n = 0;

	if (len && text[len - 1] == '\n')
		len--;
	while ((at = memchr(at, '\n', len - (size_t)(at - text)))) {
		n++;
		at++;
	}
	return n;
}

static void clear(struct reader *r, const char *text, uint32_t len)
{
	r->text = text;
	r->len = len;
	r->broken = r->uneven = r->hollow = r->joined = r->deep = false;
	r->carriage = memchr(text, '\r', len);
	r->all_seen = r->all_unknown = false;
	r->units.count = r->spans.count = 0;
	r->exprs.count = r->places.count = r->lists.count = 0;
	r->scopes.count = r->blocks.count = 0;
	r->binds.count = r->attrs.count = r->params.count = 0;
	r->sites.count = r->variables.count = r->all.count = 0;
	r->pieces.count = r->pending.count = r->first_pieces.count = 0;
	strings_clear(&r->strings);
	pairs_clear(&r->variable_of);
}

/*
 * Reads the whole statements inside an error, and expressions, for the calls in
 * them. Errors nest as deep as the text does.
 */
void reader_salvage(struct reader *r)
{
	TSPoint last = ts_node_end_point(r->node);
	uint32_t end = end_of(r->node);
	bool ok;

	if (is_too_deep(r))
		return;
	r->depth++;
	for (ok = down(r); ok; ok = next(r)) {
		if (reader_is_stmt(r->syn))
			(void)reader_stmt(r);
		else if (r->syn == SYN_BLOCK)
			(void)reader_suite(r);
		else if (reader_is_expr(r->syn))
			(void)reader_expr(r);
	}
	r->depth--;
	if (end > r->span->end) {
		r->span->end = end;
		r->span->last_row = last.row;
	}
}

/* `def`: where the definition's keyword stands; FACTS_NONE: the module. */
static void mark_broken(struct reader *r, uint32_t def)
{
	uint32_t from = 0, to = r->units.count, i;

	/* Units are in source order, and so are their keywords. */
	while (to - from > 1) {
		i = from + (to - from) / 2;
		if (r->spans.at[i].def <= def)
			from = i;
		else
			to = i;
	}
	if (r->spans.at[from].def != def)
		from = 0;
	r->units.at[from].flags |= UNIT_BROKEN;
}

/* Where the current node's keyword stands; FACTS_NONE: no definition. */
static uint32_t def_of(const struct reader *r)
{
	TSNode n = r->node;

	if (r->syn == SYN_DECORATED_DEFINITION)
		n = ts_node_child_by_field_id(n, r->definition_field);
	else if (r->syn != SYN_FUNCTION_DEFINITION &&
		 r->syn != SYN_CLASS_DEFINITION)
		return FACTS_NONE;
	return ts_node_is_null(n) ? FACTS_NONE : start_of(n);
}

/* To the next node that is not below this one. */
static bool go_on(struct reader *r, TSTreeCursor *at)
{
	while (!ts_tree_cursor_goto_next_sibling(at)) {
		if (!ts_tree_cursor_goto_parent(at))
			return false;
		r->items.count--;
	}
	return true;
}

/*
 * Marks the definitions that contain errors. Only nodes that have errors below
 * them are entered; the stack of items holds the enclosing definition of each
 * level.
 */
static void find_errors(struct reader *r, TSNode root)
{
	TSTreeCursor at = ts_tree_cursor_new(root);
	bool more = true;
	uint32_t def;

	r->items.count = 0;
	array_push(&r->items, FACTS_NONE);
	while (more) {
		reader_see(r, ts_tree_cursor_current_node(&at));
		if (r->syn == SYN_ERROR || ts_node_is_missing(r->node))
			mark_broken(r, *array_last(&r->items));
		def = def_of(r);
		if (def == FACTS_NONE)
			def = *array_last(&r->items);
		if (ts_node_has_error(r->node) &&
		    ts_tree_cursor_goto_first_child(&at))
			array_push(&r->items, def);
		else
			more = go_on(r, &at);
	}
	ts_tree_cursor_delete(&at);
}

/* One array of the block: where its offset goes, and its contents. */
struct section {
	uint32_t *offset;
	const void *from;
	size_t size;
};

#define SECTION(field, array)                                 \
	{                                                     \
		&head->field, (array)->at,                    \
			(array)->count * sizeof(*(array)->at) \
	}
#define ALIGN(size) (((size) + 7) & ~(size_t)7)

/* Puts the head and the arrays into one block. NULL: it would be too large. */
static struct facts *assemble(struct reader *r, struct facts *head)
{
	const struct section sections[] = {
		SECTION(units, &r->units),
		SECTION(variables, &r->variables),
		SECTION(exprs, &r->exprs),
		SECTION(lists, &r->lists),
		SECTION(scopes, &r->scopes),
		SECTION(blocks, &r->blocks),
		SECTION(binds, &r->binds),
		SECTION(attrs, &r->attrs),
		SECTION(params, &r->params),
		SECTION(sites, &r->sites),
		SECTION(strings, &r->strings.ends),
		SECTION(text, &r->strings.text),
	};
	const size_t n = sizeof(sections) / sizeof(sections[0]);
	size_t size = sizeof(*head), i;
	char *block;

	assert(r->exprs.count == r->places.count);
	for (i = 0; i < n; i++) {
		*sections[i].offset = (uint32_t)size;
		size += ALIGN(sections[i].size);
		if (size > UINT32_MAX)
			return NULL;
	}
	head->size = (uint32_t)size;
	block = must_alloc(size);
	memcpy(block, head, sizeof(*head));
	for (i = 0; i < n; i++) {
		char *to = block + *sections[i].offset;

		if (sections[i].size)
			memcpy(to, sections[i].from, sections[i].size);
		memset(to + sections[i].size, 0,
		       ALIGN(sections[i].size) - sections[i].size);
	}
	return (struct facts *)block;
}

static struct facts *finish(struct reader *r)
{
	struct facts head;

	assert(r->units.count > 0 && r->pending.count == 0);
	/* Including its padding, which goes to disk, too. */
	memset(&head, 0, sizeof(head));
	head.lang = LANG_PYTHON;
	head.units_count = r->units.count;
	head.variables_count = r->variables.count;
	head.strings_count = r->strings.ends.count;
	head.broken = r->broken || r->uneven || r->hollow;
	head.joined = r->joined;
	head.vast = r->vast;
	head.deep = r->deep;
	head.has_all = r->all_seen && !r->all_unknown;
	head.all.from = r->lists.count;
	if (head.has_all) {
		head.all.count = r->all.count;
		array_append(&r->lists, r->all.at, r->all.count);
	}
	reader_hash_variables(r);
	if (r->units.at[0].kind == UNIT_MODULE) {
		head.module_hash = reader_module_hash(r);
		r->units.at[0].hash = head.module_hash;
	}
	return assemble(r, &head);
}

/* Scans a large text for gaps; returns its tokens, 0 for a small one. */
static uint32_t scan(struct reader *r, const char *text, uint32_t len)
{
	r->gaps.count = 0;
	return len < GAP_MIN ? 0 : reader_scan(r, text, len);
}

static bool is_vast(void *reader, const char *text, size_t len)
{
	struct reader *r = reader;

	return len >= TOKENS_MAX && len <= INT32_MAX &&
	       scan(r, text, (uint32_t)len) >= TOKENS_MAX;
}

/* Advances a place and its row and column to a later place. */
static void walk_to(const char *text, uint32_t to, uint32_t *at, TSPoint *point)
{
	const char *line;

	assert(to >= *at);
	while ((line = memchr(text + *at, '\n', to - *at))) {
		*at = (uint32_t)(line - text) + 1;
		*point = (TSPoint){ .row = point->row + 1 };
	}
	point->column += to - *at;
	*at = to;
}

/* The text between the gaps, in the parser's terms. */
static void ranges_of_gaps(struct reader *r, const char *text, uint32_t len)
{
	TSPoint point = { 0 };
	uint32_t at = 0, i;

	r->ranges.count = 0;
	for (i = 0; i <= r->gaps.count; i++) {
		TSRange *range = array_add(&r->ranges);
		bool last = i == r->gaps.count;

		range->start_byte = at;
		range->start_point = point;
		walk_to(text, last ? len : r->gaps.at[i].start, &at, &point);
		range->end_byte = at;
		range->end_point = point;
		if (!last)
			walk_to(text, r->gaps.at[i].end, &at, &point);
	}
}

/* Excludes the gaps from parsing, and limits the parser's work. */
static void set_bounds(struct reader *r, TSParser *p, const char *text,
		       uint32_t len)
{
	ranges_of_gaps(r, text, len);
	(void)ts_parser_set_included_ranges(p, r->ranges.at, r->ranges.count);
	ts_parser_set_cancellation_flag(p, parse_heap_exhausted(r->heap));
}

/*
 * Each text gets a new parser. That costs little, because the grammar's scanner
 * must be new anyway (it would remember from the last text whether it was
 * inside a formatted string); and then clearing the heap frees everything that
 * tree-sitter holds for the text: trees are never deleted.
 */
static TSTree *parse(struct reader *r, const char *text, uint32_t len)
{
	TSParser *p = ts_parser_new();
	TSTree *tree = NULL;

	if (ts_parser_set_language(p, tree_sitter_python())) {
		if (len >= GAP_MIN)
			set_bounds(r, p, text, len);
		tree = ts_parser_parse_string(p, NULL, text, len);
	}
	ts_parser_delete(p);
	return tree;
}

/* `decoded`: the places in the text are not those of the file's bytes. */
static struct facts *read_tree(struct reader *r, TSTree *tree, const char *text,
			       uint32_t len, bool decoded)
{
	TSNode root = ts_tree_root_node(tree);

	clear(r, text, len);
	r->broken = ts_node_has_error(root);
	reader_units(r, root);
	if (r->vast)
		reader_add_piece(r, 0, len);
	r->spans.at[0].end = len;
	r->spans.at[0].last_row = last_row(text, len);
	reader_texts(r);
	if (r->broken)
		find_errors(r, root);
	r->joined |= decoded;
	return finish(r);
}

/* A text that is too large becomes a module without contents. */
static TSTree *parse_file(struct reader *r, const char *text, uint32_t len)
{
	TSTree *tree = NULL;

	if (scan(r, text, len) < TOKENS_MAX)
		tree = parse(r, text, len);
	r->vast = !tree;
	return tree ? tree : parse(r, "", 0);
}

static struct facts *read_file(struct reader *r, const char *text, size_t len)
{
	const char *raw = text;
	TSTree *tree;

	if (len > INT32_MAX)
		return NULL;
	text = reader_decode(r, text, &len);
	if (len > INT32_MAX)
		return NULL;
	tree = parse_file(r, text, (uint32_t)len);
	if (!tree)
		return NULL;
	return read_tree(r, tree, text, (uint32_t)len, text != raw);
}

static struct facts *read_whole(void *reader, const char *text, size_t len)
{
	struct reader *r = reader;
	struct parse_heap *former = parse_heap_use(r->heap);
	struct facts *f = read_file(r, text, len);

	parse_heap_clear(r->heap);
	(void)parse_heap_use(former);
	return f;
}

/*
 * No characters whose effect depends on the rest of the file: a form feed
 * resets the column, a NUL ends the file, a final backslash continues the line.
 */
static bool is_plain_text(const char *text, size_t len)
{
	return len > 0 && text[len - 1] != '\\' && !memchr(text, '\f', len) &&
	       !memchr(text, '\0', len);
}

/* The parser keeps the indentation of a block in a byte; a tab counts 8. */
static bool is_shallow(const char *text, size_t len)
{
	const char *at = text, *end = text + len;
	unsigned columns;

	while (at && at < end) {
		for (columns = 0; at < end && strchr(" \t", *at); at++)
			columns += *at == ' ' ? 1 : 8;
		if (columns > UINT8_MAX)
			return false;
		at = memchr(at, '\n', (size_t)(end - at));
		at = at ? at + 1 : NULL;
	}
	return true;
}

/*
 * Placed above an indented definition, so that it stands in a block with the
 * indentation of its file: that decides where its lines may begin, and where
 * it ends.
 */
#define ABOVE "if 1:\n"

static bool set_alone(struct reader *r, const char *text, size_t len,
		      size_t indent)
{
	size_t i;

	for (i = 1; i <= indent; i++)
		if (text[-(ptrdiff_t)i] != ' ' && text[-(ptrdiff_t)i] != '\t')
			return false;
	r->alone.count = 0;
	if (indent)
		array_append(&r->alone, ABOVE, sizeof(ABOVE) - 1);
	array_append(&r->alone, text - indent, indent + len);
	return is_shallow(r->alone.at, r->alone.count);
}

static struct facts *read_alone(struct reader *r, const char *text, size_t len,
				size_t indent, bool method)
{
	TSTree *tree;
	TSNode root;

	if (len > INT32_MAX / 2 || indent > UINT8_MAX ||
	    !is_plain_text(text, len) || !set_alone(r, text, len, indent))
		return NULL;
	r->vast = false;
	(void)scan(r, r->alone.at, r->alone.count);
	tree = parse(r, r->alone.at, r->alone.count);
	if (!tree)
		return NULL;
	root = ts_tree_root_node(tree);
	clear(r, r->alone.at, r->alone.count);
	if (ts_node_has_error(root) ||
	    !reader_units_alone(r, root, r->len - (uint32_t)len, method))
		return NULL;
	reader_texts(r);
	if (r->spans.at[0].end != r->len || r->uneven || r->hollow ||
	    r->joined || r->deep)
		return NULL;
	return finish(r);
}

static struct facts *read_unit(void *reader, const char *text, size_t len,
			       size_t indent, bool method)
{
	struct reader *r = reader;
	struct parse_heap *former = parse_heap_use(r->heap);
	struct facts *f = read_alone(r, text, len, indent, method);

	parse_heap_clear(r->heap);
	(void)parse_heap_use(former);
	return f;
}

/* Not .pyi: a stub describes code that stands elsewhere. */
static const char *const suffixes[] = { ".py", NULL };

const struct lang lang_python = {
	.id = LANG_PYTHON,
	.version = 2,
	.name = "python",
	.suffixes = suffixes,
	.reader_new = new_reader,
	.reader_free = free_reader,
	.read = read_whole,
	.read_unit = read_unit,
	.is_vast = is_vast,
};
