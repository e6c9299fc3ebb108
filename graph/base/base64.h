/*
 * Bytes that are no text, for JSON: RFC 4648, with padding. Memory that cannot
 * be had ends the process.
 */
#ifndef STATETAPE_GRAPH_BASE_BASE64_H
#define STATETAPE_GRAPH_BASE_BASE64_H

#include <stddef.h>

/* Allocated. */
char *base64_encode(const char *bytes, size_t len);
/* Allocated, with a NUL behind them. -EBADMSG: that is no base64. */
int base64_decode(const char *text, char **ret, size_t *ret_len);

#endif
