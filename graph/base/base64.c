#include "graph/base/base64.h"

#include <errno.h>
#include <nettle/base64.h>
#include <stdint.h>
#include <string.h>

#include "graph/base/alloc.h"

char *base64_encode(const char *bytes, size_t len)
{
	size_t size = BASE64_ENCODE_RAW_LENGTH(len);
	char *text = must_alloc(size + 1);

	base64_encode_raw(text, len, (const uint8_t *)bytes);
	text[size] = '\0';
	return text;
}

int base64_decode(const char *text, char **ret, size_t *ret_len)
{
	struct base64_decode_ctx ctx;
	size_t len = strlen(text), made = BASE64_DECODE_LENGTH(len);
	char *bytes;

	/* nettle skips white space and does not ask for whole groups. */
	if (len % BASE64_TEXT_BLOCK_SIZE || strpbrk(text, " \t\n\v\f\r"))
		return -EBADMSG;
	bytes = must_alloc(made + 1);
	base64_decode_init(&ctx);
	if (!base64_decode_update(&ctx, &made, (uint8_t *)bytes, len, text) ||
	    !base64_decode_final(&ctx)) {
		free(bytes);
		return -EBADMSG;
	}
	bytes[made] = '\0';
	*ret = bytes;
	*ret_len = made;
	return 0;
}
