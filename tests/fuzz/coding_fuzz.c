/*
 * Arbitrary bytes as a body, in pieces and at once: both must give the same,
 * within the limit; and what was unpacked must survive packing. The first byte
 * selects the coding, the second the length of the pieces.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/buf.h"
#include "graph/base/cleanup.h"
#include "manager/http/coding.h"

#define MOST (1u << 16)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int truth)
{
	if (!truth)
		abort();
}

static void gather(void *ctx, const char *bytes, size_t len)
{
	require(buf_add(ctx, bytes, len) == 0);
}

/* Feed it in pieces; returns the first error. */
static int feed(struct decoder *d, const char *bytes, size_t len, size_t piece,
		struct buf *out)
{
	int r = 0;

	for (size_t at = 0; r == 0 && at < len; at += piece)
		r = decoder_feed(d, bytes + at,
				 len - at < piece ? len - at : piece, gather,
				 out);
	return r;
}

static void pack_again(enum coding c, const char *text, size_t len)
{
	CLEANUP(free_p) char *packed = NULL;
	CLEANUP(free_p) char *again = NULL;
	size_t packed_len, again_len;

	if (c == CODING_BROTLI)
		return;
	require(coding_pack(c, text, len, 2 * (size_t)MOST, &packed,
			    &packed_len) == 0);
	require(coding_unpack(c, packed, packed_len, MOST, &again,
			      &again_len) == 0);
	require(again_len == len);
	require(len == 0 || memcmp(again, text, len) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf pieces = BUF(MOST);
	CLEANUP(free_p) char *whole = NULL;
	struct decoder *d;
	size_t whole_len = 0;
	enum coding c;
	const char *bytes;
	int r, at_once;

	if (size < 2)
		return 0;
	c = (enum coding)(data[0] % CODING_UNKNOWN);
	bytes = (const char *)data + 2;
	require(decoder_new(c, MOST, &d) == 0);
	r = feed(d, bytes, size - 2, (size_t)data[1] + 1, &pieces);
	at_once = coding_unpack(c, bytes, size - 2, MOST, &whole, &whole_len);
	/* In pieces zstd accepts a frame shorter than its header says. */
	require(at_once == 0
			? r == 0 && decoder_is_whole(d)
			: c == CODING_ZSTD || r < 0 || !decoder_is_whole(d));
	if (at_once == 0) {
		require(whole_len == pieces.len);
		require(whole_len == 0 ||
			memcmp(whole, pieces.data, whole_len) == 0);
		pack_again(c, whole, whole_len);
	}
	decoder_free(d);
	buf_release(&pieces);
	return 0;
}
