/*
 * The scan is a loop over one state, what may come next, with the open arrays
 * and objects on a stack of fixed depth: no recursion, and each byte is looked
 * at once. Most bytes of a body are inside strings, so strings are searched
 * eight or sixteen bytes at a time for the few bytes that matter.
 */
#include "manager/transcript/dom.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "manager/transcript/literal_i.h"

enum expect {
	EXPECT_VALUE,
	EXPECT_VALUE_OR_END, /* behind "[" */
	EXPECT_KEY,	     /* behind "," of an object */
	EXPECT_KEY_OR_END,   /* behind "{" */
	EXPECT_MORE_OR_END,  /* behind a value in an array or object */
	EXPECT_NOTHING,	     /* behind the outermost value */
};

struct dom_scanner {
	struct dom *j;
	const char *at, *end;
	enum expect expect;
	uint32_t depth;
	uint32_t open[DOM_DEPTH_MAX]; /* nodes of open arrays and objects */
};

static uint64_t load(const char *p)
{
	uint64_t x;

	memcpy(&x, p, sizeof(x));
	return x;
}

#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/*
 * Sets the high bit of each byte of `x` that is 0. Bytes above the lowest such
 * byte may have it set in error; callers use the lowest.
 */
static uint64_t zeros(uint64_t x)
{
	return (x - EACH(0x01)) & ~x & EACH(0x80);
}

/* The first quote, backslash or control character from `p`, or `end`. */
static const char *plain_end(const char *p, const char *end)
{
#ifdef __SSE2__
	while (end - p >= 16) {
		unsigned hit = specials(p);

		if (hit)
			return p + __builtin_ctz(hit);
		p += 16;
	}
#endif
	while (end - p >= 8) {
		uint64_t x = load(p), hit;

		hit = zeros(x ^ EACH('"')) | zeros(x ^ EACH('\\')) |
		      ((x - EACH(0x20)) & ~x & EACH(0x80));
		if (hit) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
			return p + __builtin_ctzll(hit) / 8;
#else
			break;
#endif
		}
		p += 8;
	}
	while (p < end && *p != '"' && *p != '\\' && (unsigned char)*p >= ' ')
		p++;
	return p;
}

static int add_node(struct dom_scanner *s, enum dom_type type,
		    const char *start, uint32_t *ret)
{
	struct dom *j = s->j;
	struct dom_node *n;

	if (j->count >= DOM_NODES_MAX)
		return -EMSGSIZE;
	if (j->count == j->size)
		j->nodes = must_grow(j->nodes, &j->size, (size_t)j->count + 1,
				     sizeof(*j->nodes));
	n = &j->nodes[j->count];
	n->start = (uint32_t)(start - j->text);
	n->end = (uint32_t)(s->at - j->text);
	n->next = ++j->count;
	n->type = (uint8_t)type;
	n->form = LITERAL_PLAIN;
	assert(n->start < n->end);
	*ret = j->count - 1;
	return 0;
}

/* The form of a literal with that letter behind a backslash; 0: other cases. */
static const uint8_t forms[256] = {
	['"'] = LITERAL_CANONICAL, ['\\'] = LITERAL_CANONICAL,
	['/'] = LITERAL_OTHER,	   ['b'] = LITERAL_CANONICAL,
	['f'] = LITERAL_CANONICAL, ['n'] = LITERAL_CANONICAL,
	['r'] = LITERAL_CANONICAL, ['t'] = LITERAL_CANONICAL,
};

/* Behind a backslash. Forms are or-ed; scan_string() reduces 3 to OTHER. */
static int skip_escape(struct dom_scanner *s, uint8_t *form)
{
	if (s->at == s->end)
		return -EBADMSG;
	if (forms[(unsigned char)*s->at]) {
		*form |= forms[(unsigned char)*s->at++];
		return 0;
	}
	*form |= LITERAL_OTHER;
	if (*s->at != 'u' || hex4(s->at + 1, s->end) < 0)
		return -EBADMSG;
	s->at += 5;
	return 0;
}

/*
 * Advance to the end of the string, or to an escape that skip_escape() must
 * look at. Source code is full of short escapes: here each one in a block of
 * sixteen bytes costs a few instructions.
 */
static const char *pass_plain(const char *p, const char *end, uint8_t *form)
{
#ifdef __SSE2__
	while (end - p > 16) {
		unsigned hit = specials(p), n = 16;

		for (; hit; hit &= ~(3u << n)) {
			n = (unsigned)__builtin_ctz(hit);
			if (p[n] != '\\' || !forms[(unsigned char)p[n + 1]])
				return p + n;
			*form |= forms[(unsigned char)p[n + 1]];
		}
		p += n == 15 ? 17 : 16;
	}
#endif
	(void)form;
	return plain_end(p, end);
}

static int scan_string(struct dom_scanner *s)
{
	const char *start = s->at++;
	uint8_t form = LITERAL_PLAIN;
	uint32_t node;
	int r;

	for (;;) {
		s->at = pass_plain(s->at, s->end, &form);
		if (s->at == s->end || (unsigned char)*s->at < ' ')
			return -EBADMSG;
		if (*s->at++ == '"')
			break;
		r = skip_escape(s, &form);
		if (r < 0)
			return r;
	}
	r = add_node(s, DOM_STRING, start, &node);
	if (r < 0)
		return r;
	s->j->nodes[node].form = form > LITERAL_OTHER ? LITERAL_OTHER : form;
	return 0;
}

/* Digits, at least one. */
static bool skip_digits(struct dom_scanner *s)
{
	const char *start = s->at;

	while (s->at < s->end && *s->at >= '0' && *s->at <= '9')
		s->at++;
	return s->at > start;
}

static bool skip_byte(struct dom_scanner *s, const char *any)
{
	if (s->at == s->end || !*s->at || !strchr(any, *s->at))
		return false;
	s->at++;
	return true;
}

static int scan_number(struct dom_scanner *s)
{
	const char *start = s->at;
	uint32_t node;

	(void)skip_byte(s, "-");
	if (!skip_byte(s, "0") && !skip_digits(s))
		return -EBADMSG;
	if (skip_byte(s, ".") && !skip_digits(s))
		return -EBADMSG;
	if (skip_byte(s, "eE")) {
		(void)skip_byte(s, "+-");
		if (!skip_digits(s))
			return -EBADMSG;
	}
	return add_node(s, DOM_NUMBER, start, &node);
}

static int scan_word(struct dom_scanner *s, const char *word,
		     enum dom_type type)
{
	size_t len = strlen(word);
	const char *start = s->at;
	uint32_t node;

	if ((size_t)(s->end - s->at) < len || memcmp(s->at, word, len) != 0)
		return -EBADMSG;
	s->at += len;
	return add_node(s, type, start, &node);
}

static int open_node(struct dom_scanner *s, enum dom_type type)
{
	const char *start = s->at++;
	int r;

	if (s->depth == DOM_DEPTH_MAX)
		return -EMSGSIZE;
	r = add_node(s, type, start, &s->open[s->depth]);
	if (r < 0)
		return r;
	s->depth++;
	s->expect = type == DOM_ARRAY ? EXPECT_VALUE_OR_END : EXPECT_KEY_OR_END;
	return 0;
}

static void after_value(struct dom_scanner *s)
{
	s->expect = s->depth > 0 ? EXPECT_MORE_OR_END : EXPECT_NOTHING;
}

static int close_node(struct dom_scanner *s)
{
	struct dom_node *n;

	assert(s->depth > 0);
	n = &s->j->nodes[s->open[s->depth - 1]];
	assert(n->type >= DOM_ARRAY);
	if (*s->at != (n->type == DOM_ARRAY ? ']' : '}'))
		return -EBADMSG;
	s->at++;
	n->end = (uint32_t)(s->at - s->j->text);
	n->next = s->j->count;
	s->depth--;
	after_value(s);
	return 0;
}

static int scan_value(struct dom_scanner *s)
{
	int r;

	switch (*s->at) {
	case '{':
		return open_node(s, DOM_OBJECT);
	case '[':
		return open_node(s, DOM_ARRAY);
	case '"':
		r = scan_string(s);
		break;
	case 't':
		r = scan_word(s, "true", DOM_TRUE);
		break;
	case 'f':
		r = scan_word(s, "false", DOM_FALSE);
		break;
	case 'n':
		r = scan_word(s, "null", DOM_NULL);
		break;
	default:
		r = scan_number(s);
		break;
	}
	if (r == 0)
		after_value(s);
	return r;
}

static void skip_space(struct dom_scanner *s)
{
	while (s->at < s->end && (*s->at == ' ' || *s->at == '\n' ||
				  *s->at == '\r' || *s->at == '\t'))
		s->at++;
}

static int scan_key(struct dom_scanner *s)
{
	int r;

	if (*s->at != '"')
		return -EBADMSG;
	r = scan_string(s);
	if (r < 0)
		return r;
	skip_space(s);
	if (!skip_byte(s, ":"))
		return -EBADMSG;
	s->expect = EXPECT_VALUE;
	return 0;
}

static int scan_more(struct dom_scanner *s)
{
	const struct dom_node *n;

	assert(s->depth > 0);
	n = &s->j->nodes[s->open[s->depth - 1]];
	if (*s->at != ',')
		return close_node(s);
	s->at++;
	s->expect = n->type == DOM_ARRAY ? EXPECT_VALUE : EXPECT_KEY;
	return 0;
}

/* One value, key, comma or bracket, at a byte that is not a space. */
static int step(struct dom_scanner *s)
{
	assert(s->at < s->end);
	switch (s->expect) {
	case EXPECT_VALUE:
		return scan_value(s);
	case EXPECT_VALUE_OR_END:
		return *s->at == ']' ? close_node(s) : scan_value(s);
	case EXPECT_KEY:
		return scan_key(s);
	case EXPECT_KEY_OR_END:
		return *s->at == '}' ? close_node(s) : scan_key(s);
	case EXPECT_MORE_OR_END:
		return scan_more(s);
	case EXPECT_NOTHING:
		break;
	}
	return -EBADMSG;
}

int dom_scan(struct dom *j, const char *text, size_t len)
{
	struct dom_scanner s = { .j = j, .at = text, .expect = EXPECT_VALUE };
	int r;

	j->text = text;
	j->count = 0;
	if (len > DOM_TEXT_MAX)
		return -EMSGSIZE;
	s.end = text + len;
	for (skip_space(&s); s.at < s.end; skip_space(&s)) {
		r = step(&s);
		if (r < 0)
			return r;
	}
	if (s.expect != EXPECT_NOTHING)
		return -EBADMSG;
	assert(s.depth == 0 && j->nodes[0].next == j->count);
	return 0;
}

void dom_release(struct dom *j)
{
	free(j->nodes);
	*j = (struct dom){ 0 };
}

static bool is_type(const struct dom *j, uint32_t node, enum dom_type type)
{
	assert(node == DOM_NONE || node < j->count);
	return node != DOM_NONE && j->nodes[node].type == type;
}

/* Does the string `n` decode to `value`? */
static bool equals(const struct dom *j, const struct dom_node *n,
		   const char *value, size_t value_len)
{
	const char *inside = j->text + n->start + 1;
	size_t len = n->end - n->start - 2;

	if (n->form != LITERAL_PLAIN)
		return literal_equals(inside, len, value, value_len);
	return len == value_len && memcmp(inside, value, len) == 0;
}

bool dom_is(const struct dom *j, uint32_t node, const char *value)
{
	return is_type(j, node, DOM_STRING) &&
	       equals(j, &j->nodes[node], value, strlen(value));
}

uint32_t dom_first(const struct dom *j, uint32_t node)
{
	assert(node == DOM_NONE || node < j->count);
	if (node == DOM_NONE || j->nodes[node].type < DOM_ARRAY ||
	    j->nodes[node].next == node + 1)
		return DOM_NONE;
	return node + 1;
}

uint32_t dom_next(const struct dom *j, uint32_t node, uint32_t child)
{
	uint32_t value = j->nodes[node].type == DOM_OBJECT ? child + 1 : child;
	uint32_t next = j->nodes[value].next;

	assert(node < child && next <= j->nodes[node].next);
	return next < j->nodes[node].next ? next : DOM_NONE;
}

uint32_t dom_get(const struct dom *j, uint32_t node, const char *key)
{
	uint32_t i, end, found = DOM_NONE;
	size_t len = strlen(key);

	if (!is_type(j, node, DOM_OBJECT))
		return DOM_NONE;
	end = j->nodes[node].next;
	for (i = node + 1; i < end; i = j->nodes[i + 1].next) {
		if (equals(j, &j->nodes[i], key, len))
			found = i + 1;
	}
	return found;
}

uint32_t dom_get_type(const struct dom *j, uint32_t node, const char *key,
		      enum dom_type type)
{
	uint32_t found = dom_get(j, node, key);

	return is_type(j, found, type) ? found : DOM_NONE;
}

int64_t dom_integer(const struct dom *j, uint32_t node, int64_t otherwise)
{
	int64_t value = 0;
	const char *p, *end;
	bool minus;

	if (!is_type(j, node, DOM_NUMBER))
		return otherwise;
	p = j->text + j->nodes[node].start;
	end = j->text + j->nodes[node].end;
	if (memchr(p, 'e', (size_t)(end - p)) ||
	    memchr(p, 'E', (size_t)(end - p)))
		return otherwise;
	minus = *p == '-';
	for (p += minus; p < end && *p != '.'; p++) {
		if (value > (INT64_MAX - 9) / 10)
			return otherwise;
		value = value * 10 + (*p - '0');
	}
	return minus ? -value : value;
}

struct text dom_text(const struct dom *j, uint32_t node, struct arena *a)
{
	const struct dom_node *n;
	struct text t = { "", 0 };
	char *out;

	if (!is_type(j, node, DOM_STRING))
		return t;
	n = &j->nodes[node];
	t.at = j->text + n->start + 1;
	t.len = n->end - n->start - 2;
	if (n->form == LITERAL_PLAIN)
		return t;
	out = arena_take(a, t.len);
	t.len = literal_decode(t.at, t.len, out);
	t.at = out;
	return t;
}
