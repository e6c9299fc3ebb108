/*
 * Arbitrary bytes as a reply, whole and in pieces: both must give the same. The
 * first byte selects the dialect, the second the length of the pieces.
 */
#include "manager/transcript/sse.h"
#include "tests/fuzz/manager_fuzz.h"

static struct sse *feed(enum dialect d, const char *bytes, size_t len,
			size_t step)
{
	struct sse *s = sse_new(d, NULL);
	size_t i, n;

	for (i = 0; i < len; i += n) {
		n = len - i < step ? len - i : step;
		sse_feed(s, bytes + i, n);
	}
	sse_end(s);
	return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const struct sse_seen *a, *b;
	struct sse *whole, *pieces;
	enum dialect d;
	uint32_t i;

	if (len < 2)
		return 0;
	d = (enum dialect)(data[0] % DIALECTS);
	whole = feed(d, (const char *)data + 2, len - 2, len);
	pieces = feed(d, (const char *)data + 2, len - 2, 1 + data[1] % 16);
	a = sse_seen(whole);
	b = sse_seen(pieces);
	must(a->calls_count == b->calls_count && a->stop == b->stop);
	must(a->over == b->over && a->lost == b->lost);
	must(!memcmp(&a->usage, &b->usage, sizeof(a->usage)));
	for (i = 0; i < a->calls_count; i++)
		must(a->calls[i].arguments.len == b->calls[i].arguments.len);
	sse_free(whole);
	sse_free(pieces);
	return 0;
}
