/*
 * Arbitrary bytes as the packed part of an entry. Bytes that are accepted must
 * pack into the very same bytes again.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/arena.h"
#include "graph/base/buf.h"
#include "tape/store/pack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct arena a = { 0 };
	struct buf again = BUF(1u << 24);
	struct packed p;

	if (store_unpack(data, len, &a, &p) == 0 &&
	    (store_pack(&p, &again) < 0 || again.len != len ||
	     memcmp(again.data, data, len) != 0))
		abort();
	buf_release(&again);
	arena_release(&a);
	return 0;
}
