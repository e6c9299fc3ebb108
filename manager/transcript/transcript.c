#include "manager/transcript/transcript.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <xxhash.h>

#include "graph/base/alloc.h"
#include "manager/transcript/dialect.h"

static struct item *last_item(struct transcript_builder *r)
{
	assert(r->drafts.count > 0);
	return &array_last(&r->drafts)->item;
}

/* A hash is a chain: each text is hashed with its kind and the hash before. */
enum fold { FOLD_PIECE = 1, FOLD_PART, FOLD_ID, FOLD_NAME, FOLD_ARGUMENTS };

static uint64_t fold(uint64_t hash, enum fold what, struct text text)
{
	return XXH3_64bits_withSeed(text.at, text.len,
				    hash + (uint64_t)what * 0x9e3779b97f4a7c15);
}

static void note_element(struct transcript_builder *r, uint32_t node)
{
	const struct dom_node *n = &r->j.nodes[node];
	struct element *e = array_add(&r->elements);

	e->span = (struct span){ n->start, n->end };
	e->marks = r->t->marks;
}

int builder_list(struct transcript_builder *r, uint32_t list,
		 int (*element)(struct transcript_builder *r, uint32_t node))
{
	for (uint32_t i = dom_first(&r->j, list); i != DOM_NONE;
	     i = dom_next(&r->j, list, i)) {
		int e;

		note_element(r, i);
		e = element(r, i);
		if (e < 0)
			return e;
		r->message++;
	}
	r->t->messages = r->message;
	return 0;
}

struct item *builder_add(struct transcript_builder *r, enum item_kind kind,
			 uint32_t node)
{
	const struct dom_node *n = &r->j.nodes[node];
	struct draft *d = array_add(&r->drafts);

	assert(node < r->j.count);
	d->pieces = r->pieces.count;
	d->item.kind = kind;
	d->item.message = r->message;
	d->item.span = (struct span){ n->start, n->end };
	d->item.id = d->item.name = d->item.arguments = (struct text){ "", 0 };
	d->item.attached = (struct text){ NULL, 0 };
	d->item.other = ITEM_NONE;
	d->item.hash = (uint64_t)kind;
	return &d->item;
}

struct text dialect_raw(const struct dom *j, uint32_t node)
{
	const struct dom_node *n = &j->nodes[node];

	return (struct text){ j->text + n->start, n->end - n->start };
}

static struct text inside(const struct transcript *t,
			  const struct item_piece *p)
{
	return (struct text){ t->body + p->span.start + 1,
			      p->span.end - p->span.start - 2 };
}

/* Pieces are hashed as literal_encode() writes them; most are so already. */
static void fold_other(const struct transcript_builder *r, struct item *i,
		       const struct item_piece *p)
{
	struct text raw = inside(r->t, p), usual;
	char *decoded = must_alloc(raw.len + 1), *encoded;
	size_t len = literal_decode(raw.at, raw.len, decoded);

	encoded = must_alloc(literal_encoded_max(decoded, len) + 1);
	usual = (struct text){ encoded, literal_encode(decoded, len, encoded) };
	i->hash = fold(i->hash, FOLD_PIECE, usual);
	free(encoded);
	free(decoded);
}

void builder_piece(struct transcript_builder *r, uint32_t node)
{
	const struct dom_node *n = &r->j.nodes[node];
	struct item_piece *p = array_add(&r->pieces);
	struct item *i = last_item(r);

	assert(n->type == DOM_STRING);
	p->span = (struct span){ n->start, n->end };
	p->form = (enum literal_form)n->form;
	i->pieces_count++;
	if (p->form == LITERAL_OTHER)
		fold_other(r, i, p);
	else
		i->hash = fold(i->hash, FOLD_PIECE, inside(r->t, p));
}

static bool is_mark(const struct dom *j, uint32_t key)
{
	return (dom_is(j, key, "cache_control") ||
		dom_is(j, key, "prompt_cache_breakpoint")) &&
	       j->nodes[key + 1].type != DOM_NULL;
}

void builder_part(struct transcript_builder *r, uint32_t node)
{
	struct item *i = last_item(r);
	const struct dom *j = &r->j;
	uint32_t key;

	if (j->nodes[node].type != DOM_OBJECT) {
		i->hash = fold(i->hash, FOLD_PART, dialect_raw(j, node));
		return;
	}
	for (key = dom_first(j, node); key != DOM_NONE;
	     key = dom_next(j, node, key)) {
		if (is_mark(j, key))
			continue;
		i->hash = fold(i->hash, FOLD_PART, dialect_raw(j, key));
		i->hash = fold(i->hash, FOLD_PART, dialect_raw(j, key + 1));
	}
}

void builder_id(struct transcript_builder *r, struct text id)
{
	struct item *i = last_item(r);

	i->id = id;
	i->hash = fold(i->hash, FOLD_ID, i->id);
}

void builder_call(struct transcript_builder *r, struct text name,
		  struct text arguments)
{
	struct item *i = last_item(r);

	i->name = name;
	i->arguments = arguments;
	i->hash = fold(i->hash, FOLD_NAME, name);
	i->hash = fold(i->hash, FOLD_ARGUMENTS, arguments);
}

void builder_error(struct transcript_builder *r)
{
	struct item *i = last_item(r);

	i->error = true;
	i->hash++;
}

/*
 * The span whose removal removes member `key`: it includes the comma before
 * the member or, for the first member, the comma behind it.
 */
static struct span member_span(const struct dom *j, uint32_t object,
			       uint32_t key, uint32_t before)
{
	uint32_t next = dom_next(j, object, key);

	if (before != DOM_NONE)
		return (struct span){ j->nodes[before + 1].end,
				      j->nodes[key + 1].end };
	return (struct span){ j->nodes[key].start,
			      next == DOM_NONE ? j->nodes[key + 1].end
					       : j->nodes[next].start };
}

void builder_mark(struct transcript_builder *r, uint32_t node, bool own)
{
	const struct dom *j = &r->j;
	uint32_t key, before = DOM_NONE;
	struct item *i;

	if (node == DOM_NONE || j->nodes[node].type != DOM_OBJECT)
		return;
	for (key = dom_first(j, node); key != DOM_NONE;
	     before = key, key = dom_next(j, node, key)) {
		if (!is_mark(j, key))
			continue;
		r->t->marks++;
		r->t->hour |= dom_is(j, dom_get(j, key + 1, "ttl"), "1h");
		if (!own)
			continue;
		i = last_item(r);
		i->marked = true;
		i->mark = (struct span){ j->nodes[key + 1].start,
					 j->nodes[key + 1].end };
		i->mark_member = member_span(j, node, key, before);
	}
}

void builder_marks(struct transcript_builder *r, uint32_t node)
{
	uint32_t i;

	for (i = dom_first(&r->j, node); i != DOM_NONE;
	     i = dom_next(&r->j, node, i))
		builder_mark(r, i, false);
}

bool dialect_is_text(const struct dom *j, uint32_t type)
{
	return dom_is(j, type, "text") || dom_is(j, type, "input_text") ||
	       dom_is(j, type, "output_text");
}

/* A part that is not text. Beside an unknown one, a text may be refused. */
static void add_part(struct transcript_builder *r, uint32_t node)
{
	static const char *const images[] = { "image", "image_url",
					      "input_image" };
	uint32_t type = dom_get(&r->j, node, "type");
	bool image = false;

	for (size_t i = 0; i < sizeof(images) / sizeof(images[0]); i++)
		image = image || dom_is(&r->j, type, images[i]);
	if (!image)
		last_item(r)->takes = false;
	builder_part(r, node);
}

void builder_content(struct transcript_builder *r, uint32_t node)
{
	const struct dom *j = &r->j;
	const struct dom_node *n;
	uint32_t i, next, text;
	/* In Messages the block carries the mark, and its parts may have their
	   own; elsewhere only parts can carry one. */
	bool of_parts = r->t->dialect != DIALECT_MESSAGES;

	if (node == DOM_NONE)
		return;
	n = &j->nodes[node];
	if (n->type != DOM_STRING && n->type != DOM_ARRAY)
		return;
	last_item(r)->content = (struct span){ n->start, n->end };
	last_item(r)->takes = true;
	if (n->type == DOM_STRING) {
		builder_piece(r, node);
		return;
	}
	for (i = dom_first(j, node); i != DOM_NONE; i = next) {
		next = dom_next(j, node, i);
		text = dom_get_type(j, i, "text", DOM_STRING);
		if (text != DOM_NONE &&
		    dialect_is_text(j, dom_get(j, i, "type")))
			builder_piece(r, text);
		else
			add_part(r, i);
		builder_mark(r, i, of_parts && next == DOM_NONE);
	}
}

void builder_done(struct transcript_builder *r)
{
	const struct item *i = last_item(r);

	switch (i->kind) {
	case ITEM_USER:
		r->asked = true;
		if (!r->answered)
			r->t->first_hash =
				fold(r->t->first_hash, FOLD_PIECE,
				     (struct text){ (const char *)&i->hash,
						    sizeof(i->hash) });
		break;
	case ITEM_ASSISTANT:
	case ITEM_CALL:
	case ITEM_RESULT:
		r->answered = true;
		break;
	case ITEM_SYSTEM:
	case ITEM_OPAQUE:
		break;
	}
}

void builder_system(struct transcript_builder *r, struct text text)
{
	static const char billing[] = "x-anthropic-billing-header:";

	/* It holds a version and a checksum that change with each request. */
	if (text.len >= strlen(billing) &&
	    memcmp(text.at, billing, strlen(billing)) == 0) {
		if (memmem(text.at, text.len, "cc_is_subagent=true", 19))
			r->t->subagent = true;
		return;
	}
	r->t->system_hash = fold(r->t->system_hash, FOLD_PIECE, text);
}

void builder_tools(struct transcript_builder *r, uint32_t node)
{
	if (dom_first(&r->j, node) == DOM_NONE)
		return;
	r->t->tools = true;
	r->t->tools_hash =
		fold(r->t->tools_hash, FOLD_PART, dialect_raw(&r->j, node));
	builder_marks(r, node);
}

enum item_kind dialect_role(const struct dom *j, uint32_t role)
{
	if (dom_is(j, role, "user"))
		return ITEM_USER;
	if (dom_is(j, role, "assistant"))
		return ITEM_ASSISTANT;
	if (dom_is(j, role, "system") || dom_is(j, role, "developer"))
		return ITEM_SYSTEM;
	return ITEM_OPAQUE;
}

/* Decode a piece to `out`, which has room for its literal. */
static size_t decode(const struct transcript *t, const struct item_piece *p,
		     char *out)
{
	struct text raw = inside(t, p);

	if (p->form != LITERAL_PLAIN)
		return literal_decode(raw.at, raw.len, out);
	memcpy(out, raw.at, raw.len);
	return raw.len;
}

struct text transcript_piece(const struct transcript *t,
			     const struct item_piece *p, struct arena *a)
{
	struct text raw = inside(t, p);
	char *out;

	if (p->form == LITERAL_PLAIN)
		return raw;
	out = arena_take(a, raw.len);
	return (struct text){ out, decode(t, p, out) };
}

struct text transcript_text(const struct transcript *t, const struct item *i,
			    struct arena *a)
{
	size_t len = 0;
	uint32_t p;
	char *out;

	if (i->pieces_count == 0)
		return (struct text){ "", 0 };
	if (i->pieces_count == 1)
		return transcript_piece(t, &i->pieces[0], a);
	for (p = 0; p < i->pieces_count; p++)
		len += inside(t, &i->pieces[p]).len;
	out = arena_take(a, len);
	len = 0;
	for (p = 0; p < i->pieces_count; p++)
		len += decode(t, &i->pieces[p], out + len);
	return (struct text){ out, len };
}

bool transcript_says(const struct transcript *t, const struct item_piece *p,
		     const char *text, size_t len)
{
	struct text raw = inside(t, p);

	if (p->form != LITERAL_PLAIN)
		return literal_equals(raw.at, raw.len, text, len);
	return raw.len == len && memcmp(raw.at, text, len) == 0;
}

bool transcript_begins(const struct transcript *t, const struct item_piece *p,
		       const char *text, size_t len)
{
	struct text raw = inside(t, p);

	return literal_begins(raw.at, raw.len, text, len);
}

/* Copy items, pieces and elements, now complete, into the arena. */
static void copy_to_arena(struct transcript_builder *r)
{
	struct transcript *t = r->t;
	struct item_piece *pieces;
	uint32_t i;

	pieces = arena_take(&t->arena, r->pieces.count * sizeof(*pieces));
	if (r->pieces.count > 0)
		memcpy(pieces, r->pieces.at, r->pieces.count * sizeof(*pieces));
	if (r->elements.count > 0) {
		size_t size = r->elements.count * sizeof(*t->elements);

		t->elements = arena_take(&t->arena, size);
		memcpy(t->elements, r->elements.at, size);
	}
	t->items = arena_take(&t->arena, r->drafts.count * sizeof(*t->items));
	t->items_count = r->drafts.count;
	for (i = 0; i < r->drafts.count; i++) {
		t->items[i] = r->drafts.at[i].item;
		t->items[i].pieces = pieces + r->drafts.at[i].pieces;
	}
}

/* The slot of `id` in a hash table of calls: with its item, or free. */
static uint32_t *slot_of(const struct transcript *t, uint32_t *slots,
			 uint32_t mask, struct text id)
{
	uint32_t at = (uint32_t)XXH3_64bits(id.at, id.len) & mask;

	for (;; at = (at + 1) & mask) {
		const struct item *i;

		if (slots[at] == ITEM_NONE)
			return &slots[at];
		i = &t->items[slots[at]];
		assert(i->kind == ITEM_CALL);
		if (i->id.len == id.len && memcmp(i->id.at, id.at, id.len) == 0)
			return &slots[at];
	}
}

/*
 * A result belongs to the nearest call before it with its id and no result
 * yet: some servers number their calls from zero in every turn.
 */
static void pair(struct transcript *t)
{
	uint32_t mask = 15, i, *slots, *slot;

	while (mask < 2 * (uint64_t)t->items_count)
		mask = 2 * mask + 1;
	slots = arena_take(&t->arena, ((size_t)mask + 1) * sizeof(*slots));
	memset(slots, 0xff, ((size_t)mask + 1) * sizeof(*slots));
	for (i = 0; i < t->items_count; i++) {
		struct item *item = &t->items[i];

		if (item->kind != ITEM_CALL && item->kind != ITEM_RESULT)
			continue;
		slot = slot_of(t, slots, mask, item->id);
		if (item->kind == ITEM_CALL) {
			t->repeated = t->repeated || *slot != ITEM_NONE;
			*slot = i;
		} else if (*slot != ITEM_NONE &&
			   t->items[*slot].other == ITEM_NONE) {
			item->other = *slot;
			t->items[*slot].other = i;
		}
	}
}

/* The end of the message, or of the run of results, that begins at `first`. */
static uint32_t group_end(const struct transcript *t, uint32_t first)
{
	bool messages = t->dialect == DIALECT_MESSAGES;
	uint32_t i = first + 1;

	while (i < t->items_count &&
	       (messages ? t->items[i].message == t->items[first].message
			 : t->items[i].kind == ITEM_RESULT &&
				   t->items[first].kind == ITEM_RESULT))
		i++;
	return i;
}

/* Of a message without results: where the user's words end. */
static bool ends_words(const struct transcript *t, uint32_t i, uint32_t end)
{
	return i + 1 == end && t->items[i].kind == ITEM_USER &&
	       t->items[i].pieces_count;
}

static void find_places(struct transcript *t)
{
	for (uint32_t first = 0, end; first < t->items_count; first = end) {
		uint32_t place = ITEM_NONE;

		end = group_end(t, first);
		for (uint32_t i = first; i < end; i++)
			if (t->items[i].kind == ITEM_RESULT &&
			    t->items[i].takes)
				place = i;
		for (uint32_t i = first; i < end; i++)
			t->items[i].place =
				t->items[i].kind == ITEM_RESULT ? place
				: place == ITEM_NONE && ends_words(t, i, end)
					? i
					: ITEM_NONE;
	}
}

/* Does the last text ask for a summary, in the words of known clients? */
static bool asks_for_summary(struct transcript *t)
{
	static const char *const words[] = {
		"CRITICAL: Respond with TEXT ONLY",
		"CONTEXT CHECKPOINT COMPACTION",
	};
	const struct item *last;
	uint32_t p, w;

	if (t->items_count == 0)
		return false;
	last = &t->items[t->items_count - 1];
	if (last->kind != ITEM_USER)
		return false;
	for (p = 0; p < last->pieces_count; p++) {
		struct text text =
			transcript_piece(t, &last->pieces[p], &t->arena);
		size_t len = text.len < 4096 ? text.len : 4096;

		for (w = 0; w < 2; w++) {
			if (memmem(text.at, len, words[w], strlen(words[w])))
				return true;
		}
	}
	return false;
}

static int read_body(struct transcript_builder *r)
{
	static int (*const dialects[DIALECTS])(struct transcript_builder *) = {
		[DIALECT_MESSAGES] = dialect_messages,
		[DIALECT_RESPONSES] = dialect_responses,
		[DIALECT_CHAT] = dialect_chat,
	};
	struct transcript *t = r->t;
	uint32_t model, stream, before;
	int e = dom_scan(&r->j, t->body, t->len);

	if (e < 0)
		return e;
	if (r->j.nodes[0].type != DOM_OBJECT)
		return -EBADMSG;
	model = dom_get(&r->j, 0, "model");
	t->model = dom_text(&r->j, model, &t->arena);
	stream = dom_get(&r->j, 0, "stream");
	t->stream = stream != DOM_NONE && r->j.nodes[stream].type == DOM_TRUE;
	builder_tools(r, dom_get_type(&r->j, 0, "tools", DOM_ARRAY));
	before = t->marks;
	builder_mark(r, 0, false);
	t->automatic = t->marks > before;
	e = dialects[t->dialect](r);
	if (e < 0)
		return e;
	copy_to_arena(r);
	pair(t);
	find_places(t);
	attached_find(t);
	t->compaction = t->compaction || asks_for_summary(t);
	return 0;
}

int transcript_init(struct transcript *ret, enum dialect d, const char *body,
		    size_t len)
{
	struct transcript_builder r = { .t = ret };
	int e;

	*ret = (struct transcript){ .dialect = d, .body = body, .len = len };
	ret->model = ret->session = (struct text){ "", 0 };
	if (d >= DIALECTS)
		return -EBADMSG;
	e = read_body(&r);
	dom_release(&r.j);
	array_release(&r.drafts);
	array_release(&r.pieces);
	array_release(&r.elements);
	if (e < 0)
		transcript_release(ret);
	return e;
}

void transcript_release(struct transcript *t)
{
	arena_release(&t->arena);
	*t = (struct transcript){ 0 };
}

static bool ends_with(const char *text, size_t len, const char *end)
{
	size_t n = strlen(end);

	return len >= n && memcmp(text + len - n, end, n) == 0;
}

enum dialect transcript_dialect(const char *method, const char *target)
{
	size_t len = strcspn(target, "?#");

	if (strcmp(method, "POST") != 0)
		return DIALECTS;
	/* Compare the end: the client's base URL may have a path. */
	if (ends_with(target, len, "/messages"))
		return DIALECT_MESSAGES;
	if (ends_with(target, len, "/responses"))
		return DIALECT_RESPONSES;
	if (ends_with(target, len, "/chat/completions"))
		return DIALECT_CHAT;
	return DIALECTS;
}
