/*
 * Content codings: bodies unpacked to be read, and packed again as they came.
 * Nothing here takes more memory than its caller allows, whatever a body
 * claims of itself. Pure.
 */
#ifndef STATETAPE_MANAGER_HTTP_CODING_H
#define STATETAPE_MANAGER_HTTP_CODING_H

#include <stdbool.h>
#include <stddef.h>

enum coding {
	CODING_IDENTITY,
	CODING_GZIP,
	CODING_DEFLATE, /* with zlib's header, as it should be, or without */
	CODING_ZSTD,
	CODING_BROTLI, /* only unpacked: nobody sends requests in it */
	CODING_UNKNOWN,
};

/* By the value of a Content-Encoding header; NULL: there is none. */
enum coding coding_named(const char *value);

/*
 * Unpack, pack a whole body; allocates *ret (free it), also for identity.
 * -EBADMSG: it is not so coded, or something is missing or left over.
 * -EMSGSIZE: it would be longer than `max`. -ENOTSUP: coding unknown.
 */
int coding_unpack(enum coding c, const char *bytes, size_t len, size_t max,
		  char **ret, size_t *ret_len);
int coding_pack(enum coding c, const char *bytes, size_t len, size_t max,
		char **ret, size_t *ret_len);

/* Unpacking what comes in pieces. */
struct decoder;

typedef void decoder_sink(void *ctx, const char *bytes, size_t len);

/* At most `max` bytes will come out. -ENOTSUP: coding unknown. */
int decoder_new(enum coding c, size_t max, struct decoder **ret);
void decoder_free(struct decoder *d);

/*
 * Give `sink` all that can be known from what came so far: of a stream that
 * was flushed, every byte. Fails as coding_unpack() does, and then always.
 */
int decoder_feed(struct decoder *d, const char *bytes, size_t len,
		 decoder_sink *sink, void *ctx);

/* Did it end where a coded body may end? */
bool decoder_is_whole(const struct decoder *d);

#endif
