/*
 * Base64 (RFC 4648, with padding) for bytes that JSON cannot carry as text.
 * The process ends if memory runs out (graph/base/alloc.h).
 */
#ifndef STATETAPE_GRAPH_BASE_BASE64_H
#define STATETAPE_GRAPH_BASE_BASE64_H

#include <stddef.h>

/* Allocated. */
char *base64_encode(const char *bytes, size_t len);
/*
 * Allocated, with a NUL after the last byte. -EBADMSG: not base64; white
 * space, missing padding and set bits below the last byte are refused.
 */
int base64_decode(const char *text, char **ret, size_t *ret_len);

#endif
