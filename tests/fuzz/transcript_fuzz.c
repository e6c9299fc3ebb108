/*
 * Arbitrary bytes as a request; the first byte selects the dialect. If it can
 * be read, items must pair and nest, and exact records must render. Edits are
 * refused, or give a body that can be read again, with as many messages and
 * marks; and applying them again changes nothing.
 */
#include <errno.h>

#include "graph/base/array.h"
#include "manager/record/records.h"
#include "manager/transcript/rewrite.h"
#include "tests/fuzz/manager_fuzz.h"

struct asked {
	ARRAY(struct replacement) replacements;
	ARRAY(struct rewrite_note) notes;
};

static void check_items(const struct transcript *t)
{
	uint32_t i;

	for (i = 0; i < t->items_count; i++) {
		const struct item *a = &t->items[i];

		must(a->span.start < a->span.end && a->span.end <= t->len);
		if (a->other != ITEM_NONE)
			must(t->items[a->other].other == i);
		if (a->kind == ITEM_RESULT && a->place != ITEM_NONE)
			must(a->place < t->items_count &&
			     t->items[a->place].kind == ITEM_RESULT);
	}
}

static void check_records(const struct transcript *t)
{
	struct records rs;
	char *out;
	size_t len;
	uint32_t i;

	records_init(&rs, t);
	for (i = 0; i < rs.count; i++) {
		const struct record *r = records_read(&rs, i);
		const struct shape *s = &r->shape;

		must(s->head.len + s->tail.len <= r->text.len);
		if (!s->exact)
			continue;
		must(s->lines > 0 && r->content.len >= s->lines);
		must(shape_render(s, s->first, r->content.at, r->content.len,
				  &out, &len) == 0);
		free(out);
	}
	records_release(&rs);
}

static void ask(const struct transcript *t, struct asked *a)
{
	uint32_t i;

	a->replacements.count = a->notes.count = 0;
	for (i = 0; i < t->items_count; i++) {
		const struct item *x = &t->items[i];

		if (x->kind != ITEM_RESULT)
			continue;
		if (x->pieces_count > 0 && x->id.len % 2 == 0)
			array_push(&a->replacements,
				   ((struct replacement){ i, "new\n", 4 }));
		if (x->place == i)
			array_push(&a->notes,
				   ((struct rewrite_note){ i, "see", 3 }));
	}
}

static int write_with(const struct transcript *t, struct asked *a, char **out,
		      size_t *len)
{
	struct rewriting r;

	ask(t, a);
	r = (struct rewriting){ a->replacements.at, a->replacements.count,
				a->notes.at, a->notes.count };
	return rewrite(t, &r, out, len);
}

static void check_rewrite(const struct transcript *t)
{
	struct asked a = { 0 };
	struct transcript now;
	char *out = NULL, *again = NULL;
	size_t len = 0, again_len = 0;
	uint32_t asked;

	if (write_with(t, &a, &out, &len) == 0) {
		asked = a.replacements.count;
		must(transcript_init(&now, t->dialect, out, len) == 0);
		must(now.marks == t->marks && now.messages == t->messages);
		/* A note may be a result's first text: then there is more to
		 * replace. */
		if (write_with(&now, &a, &again, &again_len) == 0 &&
		    a.replacements.count == asked)
			must(again_len == len && !memcmp(again, out, len));
		transcript_release(&now);
	}
	free(out);
	free(again);
	array_release(&a.replacements);
	array_release(&a.notes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct rewriting nothing = { 0 };
	struct transcript t;
	char *out;
	size_t out_len;

	if (len < 1 || transcript_init(&t, (enum dialect)(data[0] % DIALECTS),
				       (const char *)data + 1, len - 1) < 0)
		return 0;
	check_items(&t);
	check_records(&t);
	must(rewrite(&t, &nothing, &out, &out_len) == 0);
	must(out_len == len - 1 && !memcmp(out, data + 1, out_len));
	free(out);
	check_rewrite(&t);
	transcript_release(&t);
	return 0;
}
