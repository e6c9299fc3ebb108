/*
 * The bytes of `entry.detail`:
 *
 *	flags       one byte, by its bits from the lowest: origin (2), syntax
 *	            (2), had, has, marker, kept
 *	bytes       and from here on every number is a varint: seven bits a
 *	            byte, the lowest first, the highest bit set on all but
 *	            the last byte, no more bytes than needed
 *	plus, minus
 *	first       journal line, and how many lines further the last is
 *	ranges      their count; each as: distance of `before` from the end of
 *	            the range in front, before_count, and the same of `after`
 *	symbols     their count; each as: number, kind * 8 + removed * 4 + set
 *	more        absent if none; else which of these follow, by its bits
 *	            from the lowest: the SHA-256 of the content after, of the
 *	            content before (32 bytes each), the modes before and after,
 *	            the authors of a merged entry (their count, and each one's
 *	            number)
 *
 * Distances are signed: 0, -1, 1, -2 are 0, 1, 2, 3. Each value has exactly one
 * encoding, so equal entries have equal bytes.
 */
#include "tape/store/pack.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "graph/base/arena.h"
#include "graph/base/buf.h"

#define VARINT_MAX 10 /* bytes */

_Static_assert(ENTRY_RECOVERED < 4 && ENTRY_VAST < 4 && ENTRY_SETS <= 4,
	       "origin, syntax and set have two bits each");

static int put(struct buf *out, uint64_t value)
{
	unsigned char bytes[VARINT_MAX];
	size_t len = 0;

	for (; value > 0x7f; value >>= 7)
		bytes[len++] = (unsigned char)(value | 0x80);
	assert(len < VARINT_MAX);
	bytes[len++] = (unsigned char)value;
	return buf_add(out, bytes, len);
}

/* The distance of two 32-bit numbers fits into 33 bits and a sign. */
static int put_signed(struct buf *out, int64_t value)
{
	assert(value > -(INT64_C(1) << 33) && value < INT64_C(1) << 33);
	return put(out,
		   value < 0 ? ~((uint64_t)value << 1) : (uint64_t)value << 1);
}

static int put_ranges(const struct packed *p, struct buf *out)
{
	int64_t before = 0, after = 0;
	int rc = put(out, p->ranges_count);

	for (size_t i = 0; rc == 0 && i < p->ranges_count; i++) {
		const struct entry_range *r = &p->ranges[i];

		rc = put_signed(out, r->before - before);
		if (rc == 0)
			rc = put(out, r->before_count);
		if (rc == 0)
			rc = put_signed(out, r->after - after);
		if (rc == 0)
			rc = put(out, r->after_count);
		before = (int64_t)r->before + r->before_count;
		after = (int64_t)r->after + r->after_count;
	}
	return rc;
}

static int put_symbols(const struct packed *p, struct buf *out)
{
	int rc = put(out, p->symbols_count);

	for (size_t i = 0; rc == 0 && i < p->symbols_count; i++) {
		const struct packed_symbol *s = &p->symbols[i];

		assert(s->set < ENTRY_SETS);
		rc = put(out, s->id);
		if (rc == 0)
			rc = put(out, (uint64_t)s->kind << 3 |
					      (uint64_t)s->removed << 2 |
					      (s->set & 3));
	}
	return rc;
}

static int put_authors(const struct packed *p, struct buf *out)
{
	int rc = put(out, p->authors_count);

	for (size_t i = 0; rc == 0 && i < p->authors_count; i++)
		rc = put(out, p->authors[i]);
	return rc;
}

/* What format 1 did not have. */
enum {
	MORE_AFTER_SHA = 1,
	MORE_BEFORE_SHA = 2,
	MORE_MODES = 4,
	MORE_AUTHORS = 8,
	MORE_ALL = 15,
};

static int put_more(const struct packed *p, struct buf *out)
{
	uint64_t more = (p->has_sha ? MORE_AFTER_SHA : 0) |
			(p->had_sha ? MORE_BEFORE_SHA : 0) |
			(p->mode_before || p->mode_after ? MORE_MODES : 0) |
			(p->authors_count ? MORE_AUTHORS : 0);
	int rc = more ? put(out, more) : 0;

	if (rc == 0 && p->has_sha)
		rc = buf_add(out, p->after_sha, sizeof(p->after_sha));
	if (rc == 0 && p->had_sha)
		rc = buf_add(out, p->before_sha, sizeof(p->before_sha));
	if (rc == 0 && more & MORE_MODES)
		rc = put(out, p->mode_before);
	if (rc == 0 && more & MORE_MODES)
		rc = put(out, p->mode_after);
	if (rc == 0 && more & MORE_AUTHORS)
		rc = put_authors(p, out);
	return rc;
}

int store_pack(const struct packed *p, struct buf *out)
{
	unsigned char flags =
		(unsigned char)((p->origin & 3) | (p->syntax & 3) << 2 |
				p->had << 4 | p->has << 5 | p->marker << 6 |
				p->kept << 7);
	int rc = buf_add(out, &flags, 1);

	assert(p->origin <= ENTRY_RECOVERED && p->syntax <= ENTRY_VAST);
	if (rc == 0)
		rc = put(out, p->bytes);
	if (rc == 0)
		rc = put(out, p->plus);
	if (rc == 0)
		rc = put(out, p->minus);
	if (rc == 0)
		rc = put(out, p->journal_first);
	if (rc == 0)
		rc = put(out, p->journal_last - p->journal_first);
	if (rc == 0)
		rc = put_ranges(p, out);
	if (rc == 0)
		rc = put_symbols(p, out);
	if (rc == 0)
		rc = put_more(p, out);
	return rc;
}

/* The bytes left; `bad` once they were invalid. */
struct unpack_cursor {
	const unsigned char *at, *end;
	bool bad;
};

static uint64_t get(struct unpack_cursor *c)
{
	uint64_t value = 0;
	unsigned char byte;

	for (unsigned shift = 0; c->at < c->end && shift < 64; shift += 7) {
		byte = *c->at++;
		/* Overflow, or a superfluous last byte. */
		if ((shift == 63 && byte > 1) || (shift > 0 && byte == 0))
			break;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	c->bad = true;
	return 0;
}

static uint64_t get_max(struct unpack_cursor *c, uint64_t max)
{
	uint64_t value = get(c);

	if (value > max)
		c->bad = true;
	return c->bad ? 0 : value;
}

/* `from` plus a signed distance. */
static uint32_t get_further(struct unpack_cursor *c, int64_t from)
{
	uint64_t coded = get_max(c, UINT64_C(1) << 34);
	int64_t value = from + (coded & 1 ? ~(int64_t)(coded >> 1)
					  : (int64_t)(coded >> 1));

	if (value < 0 || value > UINT32_MAX)
		c->bad = true;
	return c->bad ? 0 : (uint32_t)value;
}

/*
 * A count of elements of at least `each` bytes, so it cannot exceed the input.
 */
static size_t get_count(struct unpack_cursor *c, size_t each)
{
	assert(each > 0 && c->at <= c->end);
	return get_max(c, (uint64_t)(c->end - c->at) / each);
}

static void get_ranges(struct unpack_cursor *c, struct arena *a,
		       struct packed *ret)
{
	size_t count = get_count(c, 4);
	struct entry_range *ranges = arena_take(a, count * sizeof(*ranges));
	int64_t before = 0, after = 0;

	for (size_t i = 0; !c->bad && i < count; i++) {
		struct entry_range *r = &ranges[i];

		r->before = get_further(c, before);
		r->before_count = (uint32_t)get_max(c, UINT32_MAX);
		r->after = get_further(c, after);
		r->after_count = (uint32_t)get_max(c, UINT32_MAX);
		before = (int64_t)r->before + r->before_count;
		after = (int64_t)r->after + r->after_count;
	}
	ret->ranges = ranges;
	ret->ranges_count = count;
}

static void get_symbols(struct unpack_cursor *c, struct arena *a,
			struct packed *ret)
{
	size_t count = get_count(c, 2);
	struct packed_symbol *symbols = arena_take(a, count * sizeof(*symbols));
	uint64_t how;

	for (size_t i = 0; !c->bad && i < count; i++) {
		symbols[i].id = get_max(c, INT64_MAX);
		how = get_max(c, UINT64_C(0xff) << 3 | 7);
		symbols[i].kind = (uint8_t)(how >> 3);
		symbols[i].removed = how & 4;
		symbols[i].set = how & 3;
	}
	ret->symbols = symbols;
	ret->symbols_count = count;
}

static void get_authors(struct unpack_cursor *c, struct arena *a,
			struct packed *ret)
{
	size_t count = get_count(c, 1);
	uint64_t *authors = arena_take(a, count * sizeof(*authors));

	for (size_t i = 0; !c->bad && i < count; i++)
		authors[i] = get_max(c, INT64_MAX);
	c->bad = c->bad || count == 0;
	ret->authors = authors;
	ret->authors_count = count;
}

static void get_sha(struct unpack_cursor *c, uint8_t ret[ENTRY_SHA_SIZE])
{
	if (c->bad || c->end - c->at < ENTRY_SHA_SIZE) {
		c->bad = true;
		return;
	}
	memcpy(ret, c->at, ENTRY_SHA_SIZE);
	c->at += ENTRY_SHA_SIZE;
}

static void get_modes(struct unpack_cursor *c, struct packed *ret)
{
	ret->mode_before = (uint32_t)get_max(c, UINT32_MAX);
	ret->mode_after = (uint32_t)get_max(c, UINT32_MAX);
	if (!ret->mode_before && !ret->mode_after)
		c->bad = true;
}

static void get_more(struct unpack_cursor *c, struct arena *a,
		     struct packed *ret)
{
	uint64_t more;

	if (c->bad || c->at == c->end)
		return;
	more = get_max(c, MORE_ALL);
	if (more == 0)
		c->bad = true;
	ret->has_sha = more & MORE_AFTER_SHA;
	ret->had_sha = more & MORE_BEFORE_SHA;
	if (ret->has_sha)
		get_sha(c, ret->after_sha);
	if (ret->had_sha)
		get_sha(c, ret->before_sha);
	if (more & MORE_MODES)
		get_modes(c, ret);
	if (more & MORE_AUTHORS)
		get_authors(c, a, ret);
}

int store_unpack(const void *bytes, size_t len, struct arena *a,
		 struct packed *ret)
{
	struct unpack_cursor c = { .at = bytes,
				   .end = (const unsigned char *)bytes + len };
	struct packed p = { 0 };
	unsigned char flags;

	if (len == 0)
		return -EBADMSG;
	flags = *c.at++;
	p.origin = flags & 3;
	p.syntax = flags >> 2 & 3;
	p.had = flags & 0x10;
	p.has = flags & 0x20;
	p.marker = flags & 0x40;
	p.kept = flags & 0x80;
	p.bytes = get(&c);
	p.plus = (uint32_t)get_max(&c, UINT32_MAX);
	p.minus = (uint32_t)get_max(&c, UINT32_MAX);
	p.journal_first = get(&c);
	p.journal_last = p.journal_first + get(&c);
	get_ranges(&c, a, &p);
	get_symbols(&c, a, &p);
	get_more(&c, a, &p);
	if (c.bad || c.at != c.end || p.origin > ENTRY_RECOVERED)
		return -EBADMSG;
	*ret = p;
	return 0;
}
