/*
 * One decoder for all codings: each has a step function that consumes some
 * input and fills part of a block. The loop around it and the limit on the
 * output are common to all.
 */
#include "manager/http/coding.h"

#include <assert.h>
#include <brotli/decode.h>
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>
#include <zstd.h>

#include "graph/base/buf.h"
#include "graph/base/cleanup.h"

#define BLOCK 16384

/* HTTP limits zstd to windows of 8 MiB (RFC 9659). */
#define ZSTD_WINDOW_LOG 23

/* zlib's windowBits for 32 KiB, which also select the wrapper. */
#define WINDOW_ZLIB 15
#define WINDOW_GZIP (WINDOW_ZLIB + 16)
#define WINDOW_RAW  (-WINDOW_ZLIB)

/* Every request waits for it: fast matters more than small. */
#define ZLIB_LEVEL 1
#define ZSTD_LEVEL 1

struct decoder {
	enum coding coding;
	size_t left;	 /* bytes it may still produce */
	int failed;	 /* the first error, kept */
	bool begun;	 /* has had input */
	bool ended;	 /* at the end of a stream */
	bool zlib_ready; /* `zlib` is set up */
	unsigned char first[2];
	size_t first_count; /* of a deflate stream whose kind is not known */
	z_stream zlib;
	ZSTD_DStream *zstd;
	BrotliDecoderState *brotli;
};

struct input {
	const uint8_t *at;
	size_t len;
};

static const char *skip_space(const char *s)
{
	return s + strspn(s, " \t");
}

enum coding coding_named(const char *value)
{
	static const struct {
		const char *name;
		enum coding coding;
	} names[] = {
		{ "identity", CODING_IDENTITY }, { "gzip", CODING_GZIP },
		{ "x-gzip", CODING_GZIP },	 { "deflate", CODING_DEFLATE },
		{ "zstd", CODING_ZSTD },	 { "br", CODING_BROTLI },
	};
	size_t len;

	if (!value || !*skip_space(value))
		return CODING_IDENTITY;
	value = skip_space(value);
	len = strcspn(value, " \t");
	/* Lists of codings are legal and unused. */
	if (*skip_space(value + len))
		return CODING_UNKNOWN;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i].name) == len &&
		    strncasecmp(names[i].name, value, len) == 0)
			return names[i].coding;
	return CODING_UNKNOWN;
}

static int zlib_begin(struct decoder *d, int window)
{
	if (inflateInit2(&d->zlib, window) != Z_OK)
		return -ENOMEM;
	d->zlib_ready = true;
	return 0;
}

static int decoder_begin(struct decoder *d)
{
	switch (d->coding) {
	case CODING_GZIP:
		return zlib_begin(d, WINDOW_GZIP);
	case CODING_ZSTD:
		d->zstd = ZSTD_createDStream();
		if (!d->zstd)
			return -ENOMEM;
		(void)ZSTD_DCtx_setParameter(d->zstd, ZSTD_d_windowLogMax,
					     ZSTD_WINDOW_LOG);
		return 0;
	case CODING_BROTLI:
		d->brotli = BrotliDecoderCreateInstance(NULL, NULL, NULL);
		return d->brotli ? 0 : -ENOMEM;
	case CODING_IDENTITY:
	case CODING_DEFLATE: /* deflate_begin(), at the first two bytes */
		return 0;
	case CODING_UNKNOWN:
		break;
	}
	return -ENOTSUP;
}

static void decoder_p(struct decoder **d)
{
	decoder_free(*d);
}

int decoder_new(enum coding c, size_t max, struct decoder **ret)
{
	CLEANUP(decoder_p) struct decoder *d = calloc(1, sizeof(*d));
	int r;

	if (!d)
		return -ENOMEM;
	d->coding = c;
	d->left = max;
	r = decoder_begin(d);
	if (r < 0)
		return r;
	*ret = TAKE(d);
	return 0;
}

void decoder_free(struct decoder *d)
{
	if (!d)
		return;
	if (d->zlib_ready)
		(void)inflateEnd(&d->zlib);
	(void)ZSTD_freeDStream(d->zstd);
	if (d->brotli)
		BrotliDecoderDestroyInstance(d->brotli);
	free(d);
}

bool decoder_is_whole(const struct decoder *d)
{
	if (d->failed)
		return false;
	/* An empty body is whole in any coding: HEAD, 204, 304. */
	return d->coding == CODING_IDENTITY || !d->begun || d->ended;
}

/*
 * A step decodes from `in` to `block`, at most `size` bytes, and returns how
 * many or a negative errno. It advances `in` and sets `ended`.
 */
static ssize_t zlib_step(struct decoder *d, struct input *in, char *block,
			 size_t size)
{
	uInt given = in->len < UINT_MAX ? (uInt)in->len : UINT_MAX;
	int r;

	if (d->ended && in->len > 0) {
		/* gzip may have several members; deflate has one stream. */
		if (d->coding != CODING_GZIP)
			return -EBADMSG;
		if (inflateReset(&d->zlib) != Z_OK)
			return -EBADMSG;
		d->ended = false;
	}
	/* memcpy() because next_in is not const; zlib does not write there. */
	memcpy(&d->zlib.next_in, &in->at, sizeof(in->at));
	d->zlib.avail_in = given;
	d->zlib.next_out = (Bytef *)block;
	d->zlib.avail_out = (uInt)size;
	r = inflate(&d->zlib, Z_NO_FLUSH);
	if (r == Z_MEM_ERROR)
		return -ENOMEM;
	if (r != Z_OK && r != Z_STREAM_END && r != Z_BUF_ERROR)
		return -EBADMSG;
	d->ended = r == Z_STREAM_END;
	in->at += given - d->zlib.avail_in;
	in->len -= given - d->zlib.avail_in;
	return (ssize_t)(size - d->zlib.avail_out);
}

/* NOLINTNEXTLINE(readability-non-const-parameter): zstd writes there. */
static ssize_t zstd_step(struct decoder *d, struct input *in, char *block,
			 size_t size)
{
	ZSTD_inBuffer from = { in->at, in->len, 0 };
	ZSTD_outBuffer to = { block, size, 0 };
	size_t r;

	/* At the end of a frame another may follow, but need not. */
	if (d->ended && in->len == 0)
		return 0;
	r = ZSTD_decompressStream(d->zstd, &to, &from);
	if (ZSTD_isError(r))
		return -EBADMSG;
	d->ended = r == 0;
	in->at += from.pos;
	in->len -= from.pos;
	return (ssize_t)to.pos;
}

static ssize_t brotli_step(struct decoder *d, struct input *in, char *block,
			   size_t size)
{
	uint8_t *out = (uint8_t *)block;
	size_t room = size;
	BrotliDecoderResult r;

	if (d->ended)
		return in->len > 0 ? -EBADMSG : 0;
	r = BrotliDecoderDecompressStream(d->brotli, &in->len, &in->at, &room,
					  &out, NULL);
	if (r == BROTLI_DECODER_RESULT_ERROR)
		return -EBADMSG;
	d->ended = r == BROTLI_DECODER_RESULT_SUCCESS;
	return (ssize_t)(size - room);
}

static ssize_t decoder_step(struct decoder *d, struct input *in, char *block,
			    size_t size)
{
	if (d->zstd)
		return zstd_step(d, in, block, size);
	if (d->brotli)
		return brotli_step(d, in, block, size);
	return zlib_step(d, in, block, size);
}

static int emit(struct decoder *d, const char *bytes, size_t len,
		decoder_sink *sink, void *ctx)
{
	if (len > d->left)
		return -EMSGSIZE;
	d->left -= len;
	if (len > 0)
		sink(ctx, bytes, len);
	return 0;
}

/* Until a step neither consumes nor produces: it needs more input. */
static int decoder_run(struct decoder *d, struct input in, decoder_sink *sink,
		       void *ctx)
{
	char block[BLOCK];
	size_t before;
	ssize_t n;
	int r;

	do {
		before = in.len;
		n = decoder_step(d, &in, block, sizeof(block));
		if (n < 0)
			return (int)n;
		assert((size_t)n <= sizeof(block) && in.len <= before);
		r = emit(d, block, (size_t)n, sink, ctx);
		if (r < 0)
			return r;
	} while (n > 0 || in.len < before);
	return in.len == 0 ? 0 : -EBADMSG;
}

/*
 * "deflate" means zlib's wrapper, but some servers send the bare stream. The
 * first two bytes show which.
 */
static int deflate_begin(struct decoder *d, struct input *in,
			 decoder_sink *sink, void *ctx)
{
	struct input first = { d->first, sizeof(d->first) };
	int r;

	while (d->first_count < sizeof(d->first) && in->len > 0) {
		d->first[d->first_count++] = *in->at++;
		in->len--;
	}
	if (d->first_count < sizeof(d->first))
		return 0;
	r = zlib_begin(
		d, (d->first[0] & 0x0f) == Z_DEFLATED &&
				   (d->first[0] << 8 | d->first[1]) % 31 == 0
			   ? WINDOW_ZLIB
			   : WINDOW_RAW);
	return r < 0 ? r : decoder_run(d, first, sink, ctx);
}

static int decoder_take(struct decoder *d, struct input in, decoder_sink *sink,
			void *ctx)
{
	int r;

	if (d->coding == CODING_IDENTITY)
		return emit(d, (const char *)in.at, in.len, sink, ctx);
	if (d->coding == CODING_DEFLATE && !d->zlib_ready) {
		r = deflate_begin(d, &in, sink, ctx);
		if (r < 0 || in.len == 0)
			return r;
	}
	return decoder_run(d, in, sink, ctx);
}

int decoder_feed(struct decoder *d, const char *bytes, size_t len,
		 decoder_sink *sink, void *ctx)
{
	struct input in = { (const uint8_t *)bytes, len };

	if (len > 0)
		d->begun = true;
	if (!d->failed && len > 0)
		d->failed = decoder_take(d, in, sink, ctx);
	return d->failed;
}

struct gathered {
	struct buf buf;
	int failed;
};

static void gather(void *ctx, const char *bytes, size_t len)
{
	struct gathered *g = ctx;

	if (!g->failed)
		g->failed = buf_add(&g->buf, bytes, len);
}

int coding_unpack(enum coding c, const char *bytes, size_t len, size_t max,
		  char **ret, size_t *ret_len)
{
	CLEANUP(decoder_p) struct decoder *d = NULL;
	struct gathered g = { .buf = BUF(max) };
	int r = decoder_new(c, max, &d);

	if (r == 0)
		r = buf_reserve(&g.buf, len < max ? len : max);
	if (r == 0)
		r = decoder_feed(d, bytes, len, gather, &g);
	if (r == 0)
		r = g.failed;
	if (r == 0 && !decoder_is_whole(d))
		r = -EBADMSG;
	if (r < 0) {
		buf_release(&g.buf);
		return r;
	}
	*ret = g.buf.data;
	*ret_len = g.buf.len;
	return 0;
}

static int zlib_pack(int window, const char *bytes, size_t len, struct buf *b)
{
	z_stream z = { 0 };
	int r;

	if (len > UINT_MAX)
		return -EMSGSIZE;
	if (deflateInit2(&z, ZLIB_LEVEL, Z_DEFLATED, window, MAX_MEM_LEVEL,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	r = buf_reserve(b, deflateBound(&z, len));
	if (r == 0) {
		memcpy(&z.next_in, &bytes, sizeof(bytes));
		z.avail_in = (uInt)len;
		z.next_out = (Bytef *)b->data;
		z.avail_out = (uInt)b->size;
		r = deflate(&z, Z_FINISH) == Z_STREAM_END ? 0 : -EMSGSIZE;
		b->len = z.total_out;
	}
	(void)deflateEnd(&z);
	return r;
}

static int zstd_pack(const char *bytes, size_t len, struct buf *b)
{
	size_t n;
	int r = buf_reserve(b, ZSTD_compressBound(len));

	if (r < 0)
		return r;
	n = ZSTD_compress(b->data, b->size, bytes, len, ZSTD_LEVEL);
	if (ZSTD_isError(n))
		return -ENOMEM;
	b->len = n;
	return 0;
}

static int pack(enum coding c, const char *bytes, size_t len, struct buf *b)
{
	switch (c) {
	case CODING_IDENTITY:
		/* len + 1: *ret is not NULL even for an empty body. */
		return buf_reserve(b, len + 1) == 0 ? buf_add(b, bytes, len)
						    : -EMSGSIZE;
	case CODING_GZIP:
		return zlib_pack(WINDOW_GZIP, bytes, len, b);
	case CODING_DEFLATE:
		return zlib_pack(WINDOW_ZLIB, bytes, len, b);
	case CODING_ZSTD:
		return zstd_pack(bytes, len, b);
	case CODING_BROTLI:
	case CODING_UNKNOWN:
		break;
	}
	return -ENOTSUP;
}

int coding_pack(enum coding c, const char *bytes, size_t len, size_t max,
		char **ret, size_t *ret_len)
{
	/* The encoders' upper bounds exceed the length, most for short bodies.
	 */
	struct buf b = BUF(max + max / 4 + 1024);
	int r = pack(c, bytes, len, &b);

	assert(b.len <= b.size);
	if (r == 0 && b.len > max)
		r = -EMSGSIZE;
	if (r < 0) {
		buf_release(&b);
		return r;
	}
	*ret = b.data;
	*ret_len = b.len;
	return 0;
}
