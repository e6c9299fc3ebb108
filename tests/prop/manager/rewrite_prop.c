/*
 * Random conversations in each dialect, with random blanks and escapes, and
 * random edits. The edits are applied twice: by rewrite() to the bytes, and
 * here to the texts from which the conversation was made. Parsing the rewritten
 * body must give the edited texts; all other bytes must be kept; rewriting
 * twice must equal rewriting once; an empty list of edits must change nothing.
 *
 * The seed is printed; STATETAPE_SEED sets it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/base/array.h"
#include "graph/base/buf.h"
#include "manager/record/records.h"
#include "manager/transcript/rewrite.h"
#include "tests/prop/fs/dice.h"

#define ROUNDS	   600
#define PIECES_MAX 4

struct made_result {
	struct text pieces[PIECES_MAX];
	uint32_t count;
	bool list;
	bool marked;
};

struct world {
	struct dice dice;
	enum dialect dialect;
	struct buf body;
	struct arena arena;
	uint32_t marks;
	uint32_t ids;
	ARRAY(struct made_result) results; /* in the order of the body */
};

static void put(struct world *w, const char *text)
{
	assert_int_equal(buf_add(&w->body, text, strlen(text)), 0);
}

static void blank(struct world *w)
{
	static const char *const blanks[] = { "", "", "", " ", "\n  ", "\t" };

	put(w, blanks[dice_below(&w->dice, 6)]);
}

/* Characters of all lengths, some that need escapes, lone surrogates. */
static uint32_t roll_character(struct world *w)
{
	static const uint32_t special[] = { '"',    '\\',    '\n',   '\t',
					    0x1,    0x1f,    0x7f,   0xe9,
					    0x20ac, 0x1f600, 0xd83d, 0xde00 };

	if (dice_one_in(&w->dice, 4))
		return special[dice_below(&w->dice, 12)];
	return 'a' + (uint32_t)dice_below(&w->dice, 26);
}

static size_t put_character(uint32_t c, char *out)
{
	char escape[16];

	if (c > 0xffff)
		(void)snprintf(escape, sizeof(escape), "\\u%04x\\u%04x",
			       0xd800 + ((c - 0x10000) >> 10),
			       0xdc00 + ((c - 0x10000) & 0x3ff));
	else
		(void)snprintf(escape, sizeof(escape), "\\u%04x", c);
	return literal_decode(escape, strlen(escape), out);
}

/* Two halves of a pair side by side would be read back as one character. */
static struct text roll_text(struct world *w, size_t least)
{
	size_t count = least + dice_below(&w->dice, 12), n = 0, i;
	char *out = arena_take(&w->arena, 4 * count + 4);
	uint32_t last = 0;

	for (i = 0; i < count; i++) {
		uint32_t c = roll_character(w);

		if (last == 0xd83d && c == 0xde00)
			c = 'x';
		n += put_character(c, out + n);
		last = c;
	}
	return (struct text){ out, n };
}

/* A literal, with the necessary escapes and some needless ones. */
static void put_string(struct world *w, struct text t)
{
	char *out = malloc(6 * t.len + 16), plain[8];
	size_t n = literal_encode(t.at, t.len, out), i;

	put(w, "\"");
	for (i = 0; i < n; i++) {
		bool ascii =
			out[i] >= 'a' && out[i] <= 'z' &&
			(i == 0 || out[i - 1] != '\\') &&
			!memchr(out + (i > 5 ? i - 5 : 0), '\\', i > 5 ? 5 : i);

		if (ascii && dice_one_in(&w->dice, 9)) {
			(void)snprintf(plain, sizeof(plain), "\\u%04X",
				       (unsigned)out[i]);
			put(w, plain);
		} else {
			assert_int_equal(buf_add(&w->body, out + i, 1), 0);
		}
	}
	put(w, "\"");
	free(out);
}

static void put_mark(struct world *w, bool *ret)
{
	*ret = false;
	if (w->marks >= 4 || !dice_one_in(&w->dice, 5))
		return;
	w->marks++;
	*ret = true;
	put(w, "\"cache_control\" :{\"type\":\"ephemeral\"}");
}

static void put_part(struct world *w, struct made_result *r, bool last)
{
	bool marked = false;
	bool image = dice_one_in(&w->dice, 5) || r->count == PIECES_MAX;

	blank(w);
	put(w, "{");
	if (w->dialect != DIALECT_MESSAGES) {
		put_mark(w, &marked);
		if (marked)
			put(w, ",");
		if (last)
			r->marked = marked;
	}
	if (image) {
		put(w, "\"type\":\"image\",\"n\":1.50}");
		return;
	}
	put(w, w->dialect == DIALECT_RESPONSES ? "\"type\":\"input_text\","
					       : "\"type\": \"text\",");
	put(w, "\"text\":");
	r->pieces[r->count] = roll_text(w, 0);
	put_string(w, r->pieces[r->count++]);
	put(w, "}");
}

static void put_content(struct world *w, struct made_result *r)
{
	uint32_t parts, i;

	r->list = dice_one_in(&w->dice, 2);
	if (!r->list) {
		r->pieces[r->count] = roll_text(w, 0);
		put_string(w, r->pieces[r->count++]);
		return;
	}
	parts = (uint32_t)dice_below(&w->dice, 4);
	put(w, "[");
	for (i = 0; i < parts; i++) {
		if (i > 0)
			put(w, ",");
		put_part(w, r, i + 1 == parts);
		blank(w);
	}
	put(w, "]");
}

static void put_number(struct world *w, const char *format, uint32_t n)
{
	char text[256];

	/* NOLINTNEXTLINE: the callers below pass literals. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	(void)snprintf(text, sizeof(text), format, n, n);
#pragma GCC diagnostic pop
	put(w, text);
}

static void put_result(struct world *w, uint32_t id)
{
	struct made_result r = { 0 };
	bool marked;

	if (w->dialect == DIALECT_RESPONSES) {
		put_number(w,
			   "{\"type\":\"function_call_output\","
			   "\"call_id\":\"c%u\",\"output\":",
			   id);
		put_content(w, &r);
		put(w, ",\"t\":1794794973.557197}");
	} else if (w->dialect == DIALECT_CHAT) {
		put_number(w,
			   "{\"role\":\"tool\",\"tool_call_id\":\"c%u\","
			   "\"content\":",
			   id);
		put_content(w, &r);
		put(w, "}");
	} else {
		put(w, "{");
		put_mark(w, &marked);
		put(w, marked ? "," : "");
		put_number(w,
			   "\"type\":\"tool_result\",\"tool_use_id\":"
			   "\"c%u\",\"content\":",
			   id);
		put_content(w, &r);
		r.marked = marked;
		put(w, "}");
	}
	array_push(&w->results, r);
}

static void put_calls(struct world *w, uint32_t first, uint32_t count)
{
	static const char *const formats[DIALECTS] = {
		"{\"type\":\"tool_use\",\"id\":\"c%u\",\"name\":\"Read\","
		"\"input\":{\"file_path\":\"f%u.py\"}}",
		"{\"type\":\"function_call\",\"call_id\":\"c%u\",\"name\":"
		"\"exec_command\",\"arguments\":\"{\\\"cmd\\\":\\\"cat "
		"f%u\\\"}\"}",
		"{\"id\":\"c%u\",\"function\":{\"name\":\"read\","
		"\"arguments\":\"{\\\"path\\\":\\\"f%u\\\"}\"}}",
	};
	uint32_t i;

	for (i = 0; i < count; i++) {
		if (i > 0)
			put(w, ",");
		put_number(w, formats[w->dialect], first + i);
	}
}

static void put_turn(struct world *w)
{
	static const char *const heads[DIALECTS] = {
		"{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\","
		"\"thinking\":\"\",\"signature\":\"a\\/b\"},",
		"{\"type\":\"reasoning\",\"encrypted_content\":\"x\\/y\"},",
		"{\"role\":\"assistant\",\"reasoning_content\":\"\\u00e9\","
		"\"tool_calls\":[",
	};
	bool messages = w->dialect == DIALECT_MESSAGES;
	uint32_t count = 1 + (uint32_t)dice_below(&w->dice, 3), i;
	uint32_t first = w->ids, turn = (uint32_t)dice_below(&w->dice, count);

	w->ids += count;
	put(w, heads[w->dialect]);
	put_calls(w, first, count);
	put(w, w->dialect == DIALECT_RESPONSES ? "," : "]},");
	put(w, messages ? "{\"role\":\"user\",\"content\":[" : "");
	for (i = 0; i < count; i++) {
		put(w, i > 0 ? "," : "");
		put_result(w, first + (i + turn) % count);
	}
	if (messages && dice_one_in(&w->dice, 3)) {
		put(w, ",{\"type\":\"text\",\"text\":");
		put_string(w, roll_text(w, 1));
		put(w, "}");
	}
	put(w, messages ? "]}" : "");
}

static void make_body(struct world *w)
{
	uint32_t turns = 1 + (uint32_t)dice_below(&w->dice, 4), i;

	put(w, w->dialect == DIALECT_RESPONSES ? "{\"input\":["
					       : "{\"messages\": [");
	put(w, "{\"role\":\"user\",\"content\":");
	put_string(w, roll_text(w, 1));
	put(w, "}");
	for (i = 0; i < turns; i++) {
		put(w, ",");
		blank(w);
		put_turn(w);
	}
	put(w, "],\"n\":9007199254740993, \"f\" : 1.0e+2}");
}

/* The edits, by index of the result. */
struct asked {
	ARRAY(struct replacement) replacements;
	ARRAY(struct rewrite_note) notes;
};

/* Choose random edits for items of `t`. */
static void roll_edits(struct world *w, const struct transcript *t,
		       struct asked *a)
{
	uint32_t i, r = 0;

	for (i = 0; i < t->items_count; i++) {
		struct text text = roll_text(w, 1);
		const struct made_result *made;

		if (t->items[i].kind != ITEM_RESULT)
			continue;
		made = &w->results.at[r++];
		/* Sometimes with the beginning of the old text. */
		if (made->count > 0 && dice_one_in(&w->dice, 3)) {
			size_t n = made->pieces[0].len;
			char *joined = arena_take(&w->arena, n + 1 + text.len);

			/* A separator, so that no two halves of a pair meet. */
			memcpy(joined, made->pieces[0].at, n);
			joined[n] = '|';
			memcpy(joined + n + 1, text.at, text.len);
			text = (struct text){ joined, n + 1 + text.len };
		}
		if (made->count > 0 && dice_one_in(&w->dice, 2))
			array_push(
				&a->replacements,
				((struct replacement){ i, text.at, text.len }));
		text = roll_text(w, 1);
		if (t->items[i].place == i && dice_one_in(&w->dice, 2))
			array_push(&a->notes, ((struct rewrite_note){
						      i, text.at, text.len }));
	}
}

static bool same(struct text a, const char *at, size_t len)
{
	return a.len == len && memcmp(a.at, at, len) == 0;
}

/* Edit the texts, by the rules of rewrite.h. */
static void edit_made(struct made_result *r, const struct replacement *x)
{
	size_t at = 0;
	uint32_t i;

	for (i = 0; i + 1 < r->count; i++) {
		struct text p = r->pieces[i];

		if (p.len >= x->len - at ||
		    memcmp(x->text + at, p.at, p.len) != 0)
			break;
		at += p.len;
	}
	r->pieces[i] = (struct text){ x->text + at, x->len - at };
	for (i++; i < r->count; i++) {
		if (r->pieces[i].len > 0)
			r->pieces[i] = (struct text){ REWRITE_REST,
						      strlen(REWRITE_REST) };
	}
}

static struct text piece_of(struct world *w, const struct transcript *t,
			    const struct item_piece *p)
{
	struct text text = transcript_piece(t, p, &w->arena);

	assert_true(transcript_says(t, p, text.at, text.len));
	return text;
}

static void check_result(struct world *w, const struct transcript *t,
			 const struct made_result *made, const struct item *now,
			 const struct rewrite_note *note)
{
	bool inside = note != NULL;
	uint32_t i, last = made->count - 1;

	assert_int_equal(now->pieces_count,
			 made->count + (inside && made->list));
	for (i = 0; i < made->count; i++) {
		struct text want = made->pieces[i];
		struct text got = piece_of(w, t, &now->pieces[i]);

		if (inside && !made->list && i == last) {
			size_t gap = want.len > 0 ? strlen(REWRITE_GAP) : 0;

			assert_int_equal(got.len, want.len + gap + note->len);
			assert_memory_equal(got.at + want.len + gap, note->text,
					    note->len);
			got.len = want.len;
		}
		assert_true(same(want, got.at, got.len));
	}
	if (inside && made->list)
		assert_true(transcript_says(t, &now->pieces[made->count],
					    note->text, note->len));
	assert_true(now->marked == made->marked);
}

static void check_untouched(const struct transcript *was, const struct item *a,
			    const struct transcript *now, const struct item *b)
{
	size_t len = a->span.end - a->span.start;

	assert_int_equal(b->span.end - b->span.start, len);
	assert_memory_equal(was->body + a->span.start,
			    now->body + b->span.start, len);
}

static void check_all(struct world *w, const struct asked *a,
		      const struct transcript *was,
		      const struct transcript *now)
{
	uint32_t i, k = 0, r = 0, x = 0, n = 0;

	assert_int_equal(was->marks, now->marks);
	for (i = 0; i < was->items_count; i++, k++) {
		const struct item *old = &was->items[i];
		const struct item *new = &now->items[k];
		const struct rewrite_note *note = NULL;
		struct made_result *made;

		assert_int_equal(old->kind, new->kind);
		assert_true(same(old->id, new->id.at, new->id.len));
		if (old->kind != ITEM_RESULT) {
			check_untouched(was, old, now, new);
			continue;
		}
		made = &w->results.at[r++];
		if (x < a->replacements.count &&
		    a->replacements.at[x].item == i)
			edit_made(made, &a->replacements.at[x++]);
		if (n < a->notes.count && a->notes.at[n].item == i)
			note = &a->notes.at[n++];
		check_result(w, now, made, new, note);
	}
	assert_int_equal(k, now->items_count);
}

/* The same edits for a body that already has the notes. */
static void move_edits(struct asked *a, const struct transcript *was,
		       const struct transcript *now)
{
	uint32_t i, k = 0, x = 0, n = 0;

	for (i = 0; i < was->items_count; i++, k++) {
		while (now->items[k].kind != was->items[i].kind ||
		       !same(was->items[i].id, now->items[k].id.at,
			     now->items[k].id.len))
			k++;
		if (x < a->replacements.count &&
		    a->replacements.at[x].item == i)
			a->replacements.at[x++].item = k;
		if (n < a->notes.count && a->notes.at[n].item == i)
			a->notes.at[n++].item = k;
	}
}

static void write_with(const struct transcript *t, const struct asked *a,
		       char **out, size_t *len)
{
	struct rewriting r = { a->replacements.at, a->replacements.count,
			       a->notes.at, a->notes.count };

	assert_int_equal(rewrite(t, &r, out, len), 0);
}

static void play(uint64_t seed, enum dialect d)
{
	struct world w = { .dice = { seed },
			   .dialect = d,
			   .body = BUF(1 << 20) };
	struct transcript was, now;
	struct records records;
	struct asked none = { 0 }, a = { 0 };
	char *out, *again;
	size_t len, again_len;

	make_body(&w);
	assert_int_equal(transcript_init(&was, d, w.body.data, w.body.len), 0);
	write_with(&was, &none, &out, &len);
	assert_int_equal(len, w.body.len);
	assert_memory_equal(out, w.body.data, len);
	free(out);
	roll_edits(&w, &was, &a);
	write_with(&was, &a, &out, &len);
	assert_int_equal(transcript_init(&now, d, out, len), 0);
	check_all(&w, &a, &was, &now);
	records_init(&records, &now);
	assert_int_equal(records.count, w.results.count);
	records_release(&records);
	move_edits(&a, &was, &now);
	write_with(&now, &a, &again, &again_len);
	assert_int_equal(again_len, len);
	assert_memory_equal(again, out, len);
	free(again);
	free(out);
	transcript_release(&now);
	transcript_release(&was);
	array_release(&a.replacements);
	array_release(&a.notes);
	array_release(&w.results);
	buf_release(&w.body);
	arena_release(&w.arena);
}

static uint64_t seed_of(void)
{
	const char *given = getenv("STATETAPE_SEED");

	return given ? strtoull(given, NULL, 0) : 20261117;
}

static void rewriting_bytes_is_editing_the_conversation(void **state)
{
	uint64_t seed = seed_of(), i;
	int d;

	(void)state;
	(void)printf("seed %llu\n", (unsigned long long)seed);
	for (i = 0; i < ROUNDS; i++) {
		for (d = 0; d < DIALECTS; d++) {
			(void)fflush(stdout);
			play(seed + i, (enum dialect)d);
		}
	}
}

static void decoding_reverses_encoding(void **state)
{
	struct world w = { .dice = { seed_of() } };
	char encoded[512], decoded[512];
	int i;

	(void)state;
	for (i = 0; i < 20000; i++) {
		struct text t = roll_text(&w, 0);
		size_t n = literal_encode(t.at, t.len, encoded);

		assert_in_range(literal_encoded_max(t.at, t.len), n, 6 * t.len);
		assert_int_equal(literal_decode(encoded, n, decoded), t.len);
		assert_memory_equal(decoded, t.at, t.len);
		assert_true(literal_equals(encoded, n, t.at, t.len));
		assert_true(literal_begins(encoded, n, t.at, t.len));
		if (!t.len)
			continue;
		assert_false(literal_equals(encoded, n, t.at, t.len - 1));
		decoded[dice_below(&w.dice, (uint32_t)t.len)] ^= 1;
		assert_false(literal_equals(encoded, n, decoded, t.len));
		assert_false(literal_begins(encoded, n, decoded, t.len));
	}
	arena_release(&w.arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rewriting_bytes_is_editing_the_conversation),
		cmocka_unit_test(decoding_reverses_encoding),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
