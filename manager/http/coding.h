/*
 * Content codings: decompresses bodies to read them, and compresses rewritten
 * ones the same way. Nothing here allocates more than its caller allows,
 * whatever length a body claims. Pure.
 */
#ifndef STATETAPE_MANAGER_HTTP_CODING_H
#define STATETAPE_MANAGER_HTTP_CODING_H

#include <stdbool.h>
#include <stddef.h>

enum coding {
	CODING_IDENTITY,
	CODING_GZIP,
	CODING_DEFLATE, /* with zlib's header, as specified, or without */
	CODING_ZSTD,
	CODING_BROTLI, /* unpacked only: clients do not send requests in it */
	CODING_UNKNOWN,
};

/* From the value of Content-Encoding; NULL (no such header): identity. */
enum coding coding_named(const char *value);

/*
 * Decompress or compress a whole body; allocates *ret (free it), also for
 * identity. -EBADMSG: invalid, cut off, or followed by other bytes.
 * -EMSGSIZE: the result is longer than `max`. -ENOTSUP: coding unknown.
 */
int coding_unpack(enum coding c, const char *bytes, size_t len, size_t max,
		  char **ret, size_t *ret_len);
int coding_pack(enum coding c, const char *bytes, size_t len, size_t max,
		char **ret, size_t *ret_len);

/* Decompresses a body that arrives in pieces. */
struct decoder;

typedef void decoder_sink(void *ctx, const char *bytes, size_t len);

/* Produces at most `max` bytes. -ENOTSUP: coding unknown. */
int decoder_new(enum coding c, size_t max, struct decoder **ret);
void decoder_free(struct decoder *d);

/*
 * Pass `sink` all that can be decoded so far: of a flushed stream, every byte.
 * Fails as coding_unpack() does; after a failure every call fails the same.
 */
int decoder_feed(struct decoder *d, const char *bytes, size_t len,
		 decoder_sink *sink, void *ctx);

/* Is the input so far a complete body? */
bool decoder_is_whole(const struct decoder *d);

#endif
