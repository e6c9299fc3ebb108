/*
 * The fields of an entry that have no column of their own, as bytes. Pure: no
 * I/O, no clock; pack.c's head comment gives the bytes. Symbols and
 * authors are row ids here.
 */
#ifndef STATETAPE_TAPE_STORE_PACK_H
#define STATETAPE_TAPE_STORE_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tape/store/entry.h"

struct arena;
struct buf;

struct packed_symbol {
	uint64_t id;
	uint8_t kind, set;
	bool removed;
};

struct packed {
	enum entry_origin origin;
	enum entry_syntax syntax;
	bool had, has, marker;
	bool kept; /* the content was in the store at the append */
	uint64_t bytes;
	uint32_t mode_before, mode_after;
	uint32_t plus, minus;
	uint64_t journal_first, journal_last;
	const struct entry_range *ranges;
	size_t ranges_count;
	const struct packed_symbol *symbols;
	size_t symbols_count;
	const uint64_t *authors; /* row ids, 0: none; of a merged entry */
	size_t authors_count;
	bool had_sha, has_sha; /* of the contents, as in struct entry */
	uint8_t before_sha[ENTRY_SHA_SIZE], after_sha[ENTRY_SHA_SIZE];
};

/* Appends to `out`. Fails as buf_add() does. */
int store_pack(const struct packed *p, struct buf *out);
/*
 * The arrays are in the arena. -EBADMSG: not bytes of store_pack(). Packing the
 * result again gives the same bytes.
 */
int store_unpack(const void *bytes, size_t len, struct arena *a,
		 struct packed *ret);

#endif
