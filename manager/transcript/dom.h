/*
 * JSON by its bytes: dom_scan() reads a text once and makes a node of each
 * value in it, which says where the value stands. Nothing is copied, no number
 * converted, nothing written back; so bytes that a caller does not replace
 * stay as they were received. Strings are decoded one at a time, on demand
 * (literal.h).
 *
 * Strict as RFC 8259 is, with two exceptions: bytes inside strings need not be
 * UTF-8 (they are kept), and a lone surrogate escape is accepted, because
 * agents send it; it decodes to three bytes of WTF-8 and encodes from them.
 *
 * Pure. The caller releases the nodes; the text must outlive them. (Values
 * that we make ourselves go through cJSON: graph/base/json.h.)
 */
#ifndef STATETAPE_MANAGER_TRANSCRIPT_DOM_H
#define STATETAPE_MANAGER_TRANSCRIPT_DOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/base/arena.h"
#include "manager/transcript/literal.h"

#define DOM_TEXT_MAX  ((size_t)64 << 20)
#define DOM_DEPTH_MAX 200
#define DOM_NODES_MAX 2000000u

/* Bytes with a length; no NUL behind them. */
struct text {
	const char *at; /* UTF-8, lone surrogates as WTF-8 */
	size_t len;
};

/* The bytes from `start` up to, not including, `end`. */
struct span {
	size_t start, end;
};

enum dom_type {
	DOM_NULL,
	DOM_FALSE,
	DOM_TRUE,
	DOM_NUMBER,
	DOM_STRING,
	DOM_ARRAY,
	DOM_OBJECT,
};

/*
 * Nodes are in the order of the text, children directly behind their array or
 * object; an object's children are key, value, key, value. `next` is the node
 * behind the last descendant, so a value is skipped in one step.
 */
struct dom_node {
	uint32_t start, end; /* bytes, quotes and brackets included */
	uint32_t next;
	uint8_t type; /* enum dom_type */
	uint8_t form; /* of a string: enum literal_form */
};

struct dom {
	const char *text;
	struct dom_node *nodes; /* nodes[0] is the whole value */
	uint32_t count;
	uint32_t size;
};

/* No node: returned by look-ups that find nothing. */
#define DOM_NONE UINT32_MAX

/*
 * Scan `len` bytes. -EBADMSG: not JSON, or more than one value. -EMSGSIZE:
 * beyond a limit above. `j` is zeroed or was scanned into before: its memory
 * is reused, also after a failure.
 */
int dom_scan(struct dom *j, const char *text, size_t len);
void dom_release(struct dom *j);

/*
 * The value of member `key` of object `node`; DOM_NONE if there is none, or if
 * `node` is DOM_NONE or not an object, so look-ups can be chained. Of two
 * members with one name the last counts, as for the readers we know.
 */
uint32_t dom_get(const struct dom *j, uint32_t node, const char *key);
/* The same, of that type only. */
uint32_t dom_get_type(const struct dom *j, uint32_t node, const char *key,
		      enum dom_type type);
/* Is `node` a string that decodes to `value`? */
bool dom_is(const struct dom *j, uint32_t node, const char *value);
/* The number at `node`, truncated; `otherwise` if it is not a number. */
int64_t dom_integer(const struct dom *j, uint32_t node, int64_t otherwise);

/*
 * Iterates over children: for (i = dom_first(j, n); i != DOM_NONE;
 * i = dom_next(j, n, i)). In an object `i` is a key and i + 1 its value.
 */
uint32_t dom_first(const struct dom *j, uint32_t node);
uint32_t dom_next(const struct dom *j, uint32_t node, uint32_t child);

/*
 * The decoded string. One without escapes is not copied; others go into the
 * arena. Empty if `node` is not a string.
 */
struct text dom_text(const struct dom *j, uint32_t node, struct arena *a);

#endif
