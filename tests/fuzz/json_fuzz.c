/*
 * Arbitrary bytes as JSON, and as a text to encode. Nodes must nest and lie in
 * the text; the encoded text is scanned, decoded and compared.
 */
#include "manager/transcript/dom.h"
#include "tests/fuzz/manager_fuzz.h"

static void check_nodes(const struct dom *j, size_t len)
{
	struct arena a = { 0 };
	uint32_t i, child;

	for (i = 0; i < j->count; i++) {
		const struct dom_node *n = &j->nodes[i];

		must(n->start < n->end && n->end <= len);
		must(n->next > i && n->next <= j->count);
		for (child = dom_first(j, i); child != DOM_NONE;
		     child = dom_next(j, i, child))
			must(child < n->next && j->nodes[child].end < n->end);
		if (n->type == DOM_STRING)
			must(dom_text(j, i, &a).len <= n->end - n->start - 2);
		(void)dom_integer(j, i, 0);
		(void)dom_get(j, i, "type");
	}
	arena_release(&a);
}

static void check_encoding(const char *text, size_t len)
{
	size_t n = literal_encoded_max(text, len);
	char *out = malloc(n + 2), *twice = malloc(6 * len + 1);
	struct dom j = { 0 };
	struct arena a = { 0 };
	struct text t;

	must(out && twice && n <= 6 * len);
	out[0] = '"';
	n = literal_encode(text, len, out + 1);
	out[n + 1] = '"';
	must(dom_scan(&j, out, n + 2) == 0);
	t = dom_text(&j, 0, &a);
	must(t.len <= len);
	/* Shorter only if two halves of a pair became one character. */
	must(t.len < len || memcmp(t.at, text, len) == 0);
	must(literal_encode(t.at, t.len, twice) <= n);
	must(literal_equals(out + 1, n, t.at, t.len));
	must(literal_begins(out + 1, n, t.at, t.len));
	dom_release(&j);
	arena_release(&a);
	free(out);
	free(twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const char *text = len > 0 ? (const char *)data : "";
	struct dom j = { 0 };

	if (dom_scan(&j, text, len) == 0)
		check_nodes(&j, len);
	dom_release(&j);
	check_encoding(text, len);
	return 0;
}
