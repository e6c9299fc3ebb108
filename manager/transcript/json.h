/*
 * JSON by its bytes: a text is scanned once, and each value in it becomes a
 * node that says where it stands. Nothing is copied, no number is converted,
 * nothing is ever written back; so what a caller does not replace stays as it
 * was received. Strings are decoded one at a time, when somebody asks.
 *
 * Strict as RFC 8259 is, but for two things: bytes inside strings need not be
 * UTF-8 (they are kept), and a lone surrogate escape is allowed, as agents
 * send it; it is decoded to the three bytes of WTF-8 and encoded from them.
 *
 * Pure. The nodes are the caller's to release, the text has to outlive them.
 */
#ifndef STATETAPE_MANAGER_TRANSCRIPT_JSON_H
#define STATETAPE_MANAGER_TRANSCRIPT_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/base/arena.h"

#define JSON_TEXT_MAX  ((size_t)64 << 20)
#define JSON_DEPTH_MAX 200
#define JSON_NODES_MAX 2000000u

/* A piece of text by its bytes, with no NUL behind it. */
struct text {
	const char *at; /* UTF-8, lone surrogates as WTF-8 */
	size_t len;
};

/* Where something stands: bytes `start` up to, not including, `end`. */
struct span {
	size_t start, end;
};

enum json_type {
	JSON_NULL,
	JSON_FALSE,
	JSON_TRUE,
	JSON_NUMBER,
	JSON_STRING,
	JSON_ARRAY,
	JSON_OBJECT,
};

/* How a string is written. */
enum json_writing {
	JSON_AS_IS,   /* without a backslash */
	JSON_USUAL,   /* with escapes, each as json_encode() writes it */
	JSON_UNUSUAL, /* with others (\u, \/), which may be needless */
};

/*
 * Nodes stand in the order of the text, those of a list or object directly
 * behind it; an object's are key, value, key, value. `next` is the node behind
 * the last one inside, so that a value is skipped in one step.
 */
struct json_node {
	uint32_t start, end; /* bytes, quotes and brackets included */
	uint32_t next;
	uint8_t type;	 /* enum json_type */
	uint8_t writing; /* of a string: enum json_writing */
};

struct json {
	const char *text;
	struct json_node *nodes; /* nodes[0] is the whole */
	uint32_t count;
	uint32_t size;
};

/* No node: what a look-up returns that finds nothing. */
#define JSON_NONE UINT32_MAX

/*
 * Scan `len` bytes. -EBADMSG: not JSON, or more than one value. -EMSGSIZE:
 * beyond a limit above. `j` is zeroed or was scanned into before: its memory
 * is used again, also after a failure.
 */
int json_scan(struct json *j, const char *text, size_t len);
void json_release(struct json *j);

/*
 * The value of member `key` of object `node`; JSON_NONE if it has none, or if
 * `node` is JSON_NONE or no object, so that look-ups can be chained. Of two
 * members of one name it is the last, as it is for the readers we know.
 */
uint32_t json_get(const struct json *j, uint32_t node, const char *key);
/* The same, of that type only. */
uint32_t json_get_type(const struct json *j, uint32_t node, const char *key,
		       enum json_type type);
/* Is `node` a string that reads `value`? */
bool json_is(const struct json *j, uint32_t node, const char *value);
/* The number of node `node`, cut to an integer; `otherwise` if it is none. */
int64_t json_integer(const struct json *j, uint32_t node, int64_t otherwise);

/*
 * Children one by one: for (i = json_first(j, n); i != JSON_NONE;
 * i = json_after(j, n, i)). Of an object they are the keys, and the value is
 * node i + 1.
 */
uint32_t json_first(const struct json *j, uint32_t node);
uint32_t json_after(const struct json *j, uint32_t node, uint32_t child);

/*
 * What a string says. A text without escapes is not copied; others are put
 * into the arena. Empty if `node` is no string.
 */
struct text json_text(const struct json *j, uint32_t node, struct arena *a);

/*
 * What stands between quotes: does it read `text`, or only begin so? The same
 * as to decode and compare, without a place to decode to. A beginning ends
 * where a character does.
 */
bool json_reads(const char *inside, size_t len, const char *text,
		size_t text_len);
bool json_begins(const char *inside, size_t len, const char *text,
		 size_t text_len);

/* What stands between quotes; `out` has room for `len` bytes. Their number. */
size_t json_decode(const char *inside, size_t len, char *out);

/*
 * `text` as it would stand between quotes: what has to be escaped is, all
 * else is left. At most json_encoded_most() bytes, which are at most six times
 * as many, and of usual text little more than needed. Decoding gives `text`
 * again, but where two halves of a surrogate pair stand apart in it: they
 * become one.
 */
size_t json_encoded_most(const char *text, size_t len);
size_t json_encode(const char *text, size_t len, char *out);

#endif
