/* Hexadecimal digits, lower case. */
#ifndef STATETAPE_GRAPH_BASE_HEX_H
#define STATETAPE_GRAPH_BASE_HEX_H

static const char hex_digits[] = "0123456789abcdef";

/* The value of a lower-case digit; -1: it is none. */
static inline int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

#endif
