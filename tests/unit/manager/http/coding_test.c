#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include <cmocka.h>

#include "graph/base/buf.h"
#include "graph/base/cleanup.h"
#include "manager/http/coding.h"

#define LONG ((size_t)300000)

static const enum coding both_ways[] = { CODING_IDENTITY, CODING_GZIP,
					 CODING_DEFLATE, CODING_ZSTD };
#define BOTH_WAYS (sizeof(both_ways) / sizeof(both_ways[0]))

/* Text that compresses, but not to a few bytes. */
static char *some_text(size_t len)
{
	char *text = test_malloc(len + 1);
	uint32_t n = 1;

	for (size_t i = 0; i < len; i++) {
		n = n * 1664525 + 1013904223;
		text[i] = (char)('a' + (n >> 28));
	}
	text[len] = '\0';
	return text;
}

static void coding_names_ignore_case(void **state)
{
	(void)state;
	assert_int_equal(coding_named(NULL), CODING_IDENTITY);
	assert_int_equal(coding_named(""), CODING_IDENTITY);
	assert_int_equal(coding_named(" GZip "), CODING_GZIP);
	assert_int_equal(coding_named("x-gzip"), CODING_GZIP);
	assert_int_equal(coding_named("deflate"), CODING_DEFLATE);
	assert_int_equal(coding_named("zstd"), CODING_ZSTD);
	assert_int_equal(coding_named("br"), CODING_BROTLI);
	assert_int_equal(coding_named("identity"), CODING_IDENTITY);
	assert_int_equal(coding_named("compress"), CODING_UNKNOWN);
	assert_int_equal(coding_named("gzip, zstd"), CODING_UNKNOWN);
	assert_int_equal(coding_named("gzi"), CODING_UNKNOWN);
}

static void unpacking_reverses_packing(void **state)
{
	static const size_t lengths[] = { 0, 1, 2, 100, LONG };

	(void)state;
	for (size_t i = 0; i < BOTH_WAYS * 5; i++) {
		size_t len = lengths[i % 5], packed_len, len_again;
		enum coding c = both_ways[i / 5];
		char *text = some_text(len);
		CLEANUP(free_p) char *packed = NULL;
		CLEANUP(free_p) char *again = NULL;

		assert_int_equal(
			coding_pack(c, text, len, LONG, &packed, &packed_len),
			0);
		assert_int_equal(coding_unpack(c, packed, packed_len, LONG,
					       &again, &len_again),
				 0);
		assert_int_equal(len_again, len);
		if (len)
			assert_memory_equal(again, text, len);
		test_free(text);
	}
}

static void nothing_grows_beyond_its_maximum(void **state)
{
	char *text = some_text(LONG), *out = NULL;
	size_t len = 0;

	(void)state;
	for (size_t i = 0; i < BOTH_WAYS; i++) {
		CLEANUP(free_p) char *packed = NULL;
		size_t packed_len;

		assert_int_equal(coding_pack(both_ways[i], text, LONG, 2 * LONG,
					     &packed, &packed_len),
				 0);
		assert_int_equal(coding_unpack(both_ways[i], packed, packed_len,
					       LONG - 1, &out, &len),
				 -EMSGSIZE);
		assert_int_equal(
			coding_pack(both_ways[i], text, LONG, 1000, &out, &len),
			-EMSGSIZE);
		assert_null(out);
	}
	test_free(text);
}

static void a_body_cut_off_or_followed_by_bytes_is_invalid(void **state)
{
	char *text = some_text(1000), *out = NULL;
	size_t len = 0;

	(void)state;
	for (size_t i = 1; i < BOTH_WAYS; i++) {
		char packed[4096];
		CLEANUP(free_p) char *made = NULL;
		size_t n;

		assert_int_equal(
			coding_pack(both_ways[i], text, 1000, 4000, &made, &n),
			0);
		memcpy(packed, made, n);
		memset(packed + n, 't', 4);
		for (size_t cut = 1; cut < n; cut += 7)
			assert_int_equal(coding_unpack(both_ways[i], packed,
						       cut, LONG, &out, &len),
					 -EBADMSG);
		assert_int_equal(coding_unpack(both_ways[i], packed, n + 4,
					       LONG, &out, &len),
				 -EBADMSG);
	}
	assert_int_equal(
		coding_unpack(CODING_GZIP, "rubbish", 7, LONG, &out, &len),
		-EBADMSG);
	assert_int_equal(coding_unpack(CODING_UNKNOWN, "", 0, LONG, &out, &len),
			 -ENOTSUP);
	assert_int_equal(coding_pack(CODING_BROTLI, "", 0, LONG, &out, &len),
			 -ENOTSUP);
	test_free(text);
}

static void deflate_may_lack_its_wrapper(void **state)
{
	static const char text[] = "hello hello hello hello";
	const char *given = text;
	char packed[200];
	CLEANUP(free_p) char *out = NULL;
	size_t len;
	z_stream z = { 0 };

	(void)state;
	assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, -15, 8, 0), Z_OK);
	memcpy(&z.next_in, &given, sizeof(given));
	z.avail_in = sizeof(text);
	z.next_out = (Bytef *)packed;
	z.avail_out = sizeof(packed);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	assert_int_equal(coding_unpack(CODING_DEFLATE, packed, z.total_out, 100,
				       &out, &len),
			 0);
	assert_string_equal(out, text);
	(void)deflateEnd(&z);
}

static void several_gzip_members_or_zstd_frames_are_one_body(void **state)
{
	static const enum coding codings[] = { CODING_GZIP, CODING_ZSTD };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		CLEANUP(free_p) char *one = NULL;
		CLEANUP(free_p) char *out = NULL;
		char two[400];
		size_t n, len;

		assert_int_equal(
			coding_pack(codings[i], "abc", 3, 200, &one, &n), 0);
		memcpy(two, one, n);
		memcpy(two + n, one, n);
		assert_int_equal(
			coding_unpack(codings[i], two, 2 * n, 100, &out, &len),
			0);
		assert_int_equal(len, 6);
		assert_memory_equal(out, "abcabc", 6);
	}
}

static void gather(void *ctx, const char *bytes, size_t len)
{
	assert_int_equal(buf_add(ctx, bytes, len), 0);
}

static void pieces_of_any_size_give_the_same(void **state)
{
	char *text = some_text(5000);

	(void)state;
	for (size_t i = 0; i < BOTH_WAYS * 4; i++) {
		size_t piece = (size_t[]){ 1, 2, 7, 1000 }[i % 4], n;
		CLEANUP(free_p) char *packed = NULL;
		struct buf out = BUF(5000);
		struct decoder *d;

		assert_int_equal(coding_pack(both_ways[i / 4], text, 5000, LONG,
					     &packed, &n),
				 0);
		assert_int_equal(decoder_new(both_ways[i / 4], 5000, &d), 0);
		for (size_t at = 0; at < n; at += piece)
			assert_int_equal(
				decoder_feed(d, packed + at,
					     n - at < piece ? n - at : piece,
					     gather, &out),
				0);
		assert_true(decoder_is_whole(d));
		assert_int_equal(out.len, 5000);
		assert_memory_equal(out.data, text, 5000);
		decoder_free(d);
		buf_release(&out);
	}
	test_free(text);
}

/* "hello hello hello hello\n", by brotli 1.0.9. */
static const unsigned char brotli_hello[] = {
	0x8b, 0x0b, 0x80, 0x68, 0x65, 0x6c, 0x6c, 0x6f, 0x20, 0x68,
	0x65, 0x6c, 0x6c, 0x6f, 0x20, 0x68, 0x65, 0x6c, 0x6c, 0x6f,
	0x20, 0x68, 0x65, 0x6c, 0x6c, 0x6f, 0x0a, 0x03,
};

static void brotli_is_unpacked(void **state)
{
	CLEANUP(free_p) char *out = NULL;
	char copy[sizeof(brotli_hello) + 1] = { 0 };
	size_t len;

	(void)state;
	memcpy(copy, brotli_hello, sizeof(brotli_hello));
	assert_int_equal(coding_unpack(CODING_BROTLI, copy,
				       sizeof(brotli_hello), 100, &out, &len),
			 0);
	assert_int_equal(len, 24);
	assert_memory_equal(out, "hello hello hello hello\n", 24);
	assert_int_equal(coding_unpack(CODING_BROTLI, copy,
				       sizeof(brotli_hello) - 1, 100, &out,
				       &len),
			 -EBADMSG);
	assert_int_equal(coding_unpack(CODING_BROTLI, copy, sizeof(copy), 100,
				       &out, &len),
			 -EBADMSG);
}

/* A reply is read while it streams: flushed bytes must come out at once. */
static void a_flushed_stream_is_decoded_to_its_last_byte(void **state)
{
	struct buf out = BUF(1000);
	struct decoder *d;
	ZSTD_CStream *z = ZSTD_createCStream();
	char packed[1000];
	ZSTD_outBuffer to = { packed, sizeof(packed), 0 };
	ZSTD_inBuffer from = { "event one", 9, 0 };

	(void)state;
	assert_int_equal(decoder_new(CODING_ZSTD, 1000, &d), 0);
	(void)ZSTD_compressStream2(z, &to, &from, ZSTD_e_flush);
	assert_int_equal(decoder_feed(d, packed, to.pos, gather, &out), 0);
	assert_int_equal(out.len, 9);
	assert_false(decoder_is_whole(d));
	(void)ZSTD_freeCStream(z);
	decoder_free(d);
	buf_release(&out);
}

static void a_window_larger_than_http_allows_is_refused(void **state)
{
	CLEANUP(free_p) char *big = calloc(1, 32u << 20);
	CLEANUP(free_p) char *packed = malloc(1u << 20);
	ZSTD_CCtx *z = ZSTD_createCCtx();
	char *out = NULL;
	size_t n, len;

	(void)state;
	(void)ZSTD_CCtx_setParameter(z, ZSTD_c_windowLog, 25);
	(void)ZSTD_CCtx_setParameter(z, ZSTD_c_contentSizeFlag, 0);
	n = ZSTD_compress2(z, packed, 1u << 20, big, 32u << 20);
	assert_false(ZSTD_isError(n));
	assert_int_equal(
		coding_unpack(CODING_ZSTD, packed, n, 64u << 20, &out, &len),
		-EBADMSG);
	(void)ZSTD_freeCCtx(z);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(coding_names_ignore_case),
		cmocka_unit_test(unpacking_reverses_packing),
		cmocka_unit_test(nothing_grows_beyond_its_maximum),
		cmocka_unit_test(
			a_body_cut_off_or_followed_by_bytes_is_invalid),
		cmocka_unit_test(deflate_may_lack_its_wrapper),
		cmocka_unit_test(
			several_gzip_members_or_zstd_frames_are_one_body),
		cmocka_unit_test(pieces_of_any_size_give_the_same),
		cmocka_unit_test(brotli_is_unpacked),
		cmocka_unit_test(a_flushed_stream_is_decoded_to_its_last_byte),
		cmocka_unit_test(a_window_larger_than_http_allows_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
