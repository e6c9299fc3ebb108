/*
 * The scan is a loop over one state, what may come next, with the open lists
 * and objects on a stack of fixed depth: no recursion, and each byte is looked
 * at once. Most bytes of a body stand inside strings, so those are searched
 * eight or sixteen at a time for the few that matter.
 */
#include "manager/transcript/json.h"

#include <errno.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "graph/base/alloc.h"

enum expect {
	EXPECT_VALUE,
	EXPECT_VALUE_OR_END, /* behind "[" */
	EXPECT_KEY,	     /* behind "," of an object */
	EXPECT_KEY_OR_END,   /* behind "{" */
	EXPECT_MORE_OR_END,  /* behind a value inside something */
	EXPECT_NOTHING,	     /* behind the value of all */
};

struct scan {
	struct json *j;
	const char *at, *end;
	enum expect expect;
	uint32_t depth;
	uint32_t open[JSON_DEPTH_MAX]; /* nodes of what is open */
};

static uint64_t load(const char *p)
{
	uint64_t x;

	memcpy(&x, p, sizeof(x));
	return x;
}

#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* A high bit for each byte of `x` that is 0; and maybe for some behind it. */
static uint64_t zeros(uint64_t x)
{
	return (x - EACH(0x01)) & ~x & EACH(0x80);
}

#ifdef __SSE2__
static __m128i load16(const char *p)
{
	return _mm_loadu_si128((const __m128i *)(const void *)p);
}

/* A bit for each byte that is all ones. */
static unsigned hits(__m128i x)
{
	return (unsigned)_mm_movemask_epi8(x);
}

/* A bit for each of sixteen bytes that a string cannot simply hold. */
static unsigned specials(const char *p)
{
	__m128i x = load16(p);
	__m128i low = _mm_min_epu8(x, _mm_set1_epi8(0x1f));
	__m128i quote = _mm_cmpeq_epi8(x, _mm_set1_epi8('"'));
	__m128i slash = _mm_cmpeq_epi8(x, _mm_set1_epi8('\\'));

	return hits(_mm_or_si128(_mm_or_si128(quote, slash),
				 _mm_cmpeq_epi8(low, x)));
}
#endif

/*
 * Copy from `p` up to the first `stop` or `end`, and move *out on. Behind *out
 * there is room for all up to `end`: so many bytes at a time may be put there
 * before it is known how many of them count.
 */
static const char *copy_until(const char *p, const char *end, char stop,
			      char **out)
{
#ifdef __SSE2__
	while (end - p >= 16) {
		__m128i x = load16(p);
		unsigned hit = hits(_mm_cmpeq_epi8(x, _mm_set1_epi8(stop)));
		int n = hit ? __builtin_ctz(hit) : 16;

		_mm_storeu_si128((__m128i *)(void *)*out, x);
		*out += n;
		p += n;
		if (hit)
			return p;
	}
#endif
	while (p < end && *p != stop)
		*(*out)++ = *p++;
	return p;
}

/* The first byte from `p` that a string cannot simply hold, or `end`. */
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

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Four hexadecimal digits, or -1. */
static int hex4(const char *p, const char *end)
{
	int value = 0, i;

	if (end - p < 4)
		return -1;
	for (i = 0; i < 4; i++) {
		int digit = hex_digit(p[i]);

		if (digit < 0)
			return -1;
		value = value << 4 | digit;
	}
	return value;
}

static int add_node(struct scan *s, enum json_type type, const char *start,
		    uint32_t *ret)
{
	struct json *j = s->j;
	struct json_node *n;

	if (j->count >= JSON_NODES_MAX)
		return -EMSGSIZE;
	if (j->count == j->size)
		j->nodes = must_grow(j->nodes, &j->size, (size_t)j->count + 1,
				     sizeof(*j->nodes));
	n = &j->nodes[j->count];
	n->start = (uint32_t)(start - j->text);
	n->end = (uint32_t)(s->at - j->text);
	n->next = ++j->count;
	n->type = (uint8_t)type;
	n->writing = JSON_AS_IS;
	*ret = j->count - 1;
	return 0;
}

/* What one letter behind a backslash stands for; 0: none, or more follow. */
static const char escapes[256] = {
	['"'] = '"',  ['\\'] = '\\', ['/'] = '/',  ['b'] = '\b',
	['f'] = '\f', ['n'] = '\n',  ['r'] = '\r', ['t'] = '\t',
};

/* How a string is written that has that letter behind a backslash. */
static const uint8_t writings[256] = {
	['"'] = JSON_USUAL, ['\\'] = JSON_USUAL, ['/'] = JSON_UNUSUAL,
	['b'] = JSON_USUAL, ['f'] = JSON_USUAL,	 ['n'] = JSON_USUAL,
	['r'] = JSON_USUAL, ['t'] = JSON_USUAL,
};

/* Behind a backslash; -EBADMSG if no escape stands there. */
static int skip_escape(struct scan *s, uint8_t *writing)
{
	if (s->at == s->end)
		return -EBADMSG;
	if (writings[(unsigned char)*s->at]) {
		*writing |= writings[(unsigned char)*s->at++];
		return 0;
	}
	*writing |= JSON_UNUSUAL;
	if (*s->at != 'u' || hex4(s->at + 1, s->end) < 0)
		return -EBADMSG;
	s->at += 5;
	return 0;
}

/*
 * On to the end of the string, or to what only skip_escape() can tell. Source
 * code is full of short escapes: of those in sixteen bytes each costs a few
 * instructions.
 */
static const char *pass_plain(const char *p, const char *end, uint8_t *writing)
{
#ifdef __SSE2__
	while (end - p > 16) {
		unsigned hit = specials(p), n = 16;

		for (; hit; hit &= ~(3u << n)) {
			n = (unsigned)__builtin_ctz(hit);
			if (p[n] != '\\' || !writings[(unsigned char)p[n + 1]])
				return p + n;
			*writing |= writings[(unsigned char)p[n + 1]];
		}
		p += n == 15 ? 17 : 16;
	}
#endif
	(void)writing;
	return plain_end(p, end);
}

static int scan_string(struct scan *s)
{
	const char *start = s->at++;
	uint8_t writing = JSON_AS_IS;
	uint32_t node;
	int r;

	for (;;) {
		s->at = pass_plain(s->at, s->end, &writing);
		if (s->at == s->end || (unsigned char)*s->at < ' ')
			return -EBADMSG;
		if (*s->at++ == '"')
			break;
		r = skip_escape(s, &writing);
		if (r < 0)
			return r;
	}
	r = add_node(s, JSON_STRING, start, &node);
	if (r < 0)
		return r;
	s->j->nodes[node].writing =
		writing > JSON_UNUSUAL ? JSON_UNUSUAL : writing;
	return 0;
}

/* Digits, at least one. */
static bool skip_digits(struct scan *s)
{
	const char *start = s->at;

	while (s->at < s->end && *s->at >= '0' && *s->at <= '9')
		s->at++;
	return s->at > start;
}

static bool skip_byte(struct scan *s, const char *any)
{
	if (s->at == s->end || !*s->at || !strchr(any, *s->at))
		return false;
	s->at++;
	return true;
}

static int scan_number(struct scan *s)
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
	return add_node(s, JSON_NUMBER, start, &node);
}

static int scan_word(struct scan *s, const char *word, enum json_type type)
{
	size_t len = strlen(word);
	const char *start = s->at;
	uint32_t node;

	if ((size_t)(s->end - s->at) < len || memcmp(s->at, word, len) != 0)
		return -EBADMSG;
	s->at += len;
	return add_node(s, type, start, &node);
}

static int open_node(struct scan *s, enum json_type type)
{
	const char *start = s->at++;
	int r;

	if (s->depth == JSON_DEPTH_MAX)
		return -EMSGSIZE;
	r = add_node(s, type, start, &s->open[s->depth]);
	if (r < 0)
		return r;
	s->depth++;
	s->expect =
		type == JSON_ARRAY ? EXPECT_VALUE_OR_END : EXPECT_KEY_OR_END;
	return 0;
}

static void after_value(struct scan *s)
{
	s->expect = s->depth > 0 ? EXPECT_MORE_OR_END : EXPECT_NOTHING;
}

static int close_node(struct scan *s)
{
	struct json_node *n = &s->j->nodes[s->open[s->depth - 1]];

	if (*s->at != (n->type == JSON_ARRAY ? ']' : '}'))
		return -EBADMSG;
	s->at++;
	n->end = (uint32_t)(s->at - s->j->text);
	n->next = s->j->count;
	s->depth--;
	after_value(s);
	return 0;
}

static int scan_value(struct scan *s)
{
	int r;

	switch (*s->at) {
	case '{':
		return open_node(s, JSON_OBJECT);
	case '[':
		return open_node(s, JSON_ARRAY);
	case '"':
		r = scan_string(s);
		break;
	case 't':
		r = scan_word(s, "true", JSON_TRUE);
		break;
	case 'f':
		r = scan_word(s, "false", JSON_FALSE);
		break;
	case 'n':
		r = scan_word(s, "null", JSON_NULL);
		break;
	default:
		r = scan_number(s);
		break;
	}
	if (r == 0)
		after_value(s);
	return r;
}

static void skip_space(struct scan *s)
{
	while (s->at < s->end && (*s->at == ' ' || *s->at == '\n' ||
				  *s->at == '\r' || *s->at == '\t'))
		s->at++;
}

static int scan_key(struct scan *s)
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

static int scan_more(struct scan *s)
{
	const struct json_node *n = &s->j->nodes[s->open[s->depth - 1]];

	if (*s->at != ',')
		return close_node(s);
	s->at++;
	s->expect = n->type == JSON_ARRAY ? EXPECT_VALUE : EXPECT_KEY;
	return 0;
}

/* One value, key, comma or bracket; there is a byte that is no space. */
static int step(struct scan *s)
{
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

int json_scan(struct json *j, const char *text, size_t len)
{
	struct scan s = { .j = j, .at = text, .expect = EXPECT_VALUE };
	int r;

	j->text = text;
	j->count = 0;
	if (len > JSON_TEXT_MAX)
		return -EMSGSIZE;
	s.end = text + len;
	for (skip_space(&s); s.at < s.end; skip_space(&s)) {
		r = step(&s);
		if (r < 0)
			return r;
	}
	return s.expect == EXPECT_NOTHING ? 0 : -EBADMSG;
}

void json_release(struct json *j)
{
	free(j->nodes);
	*j = (struct json){ 0 };
}

static bool is_type(const struct json *j, uint32_t node, enum json_type type)
{
	return node != JSON_NONE && j->nodes[node].type == type;
}

/* Does the string `n` read as `value`? */
static bool reads(const struct json *j, const struct json_node *n,
		  const char *value, size_t value_len)
{
	const char *inside = j->text + n->start + 1;
	size_t len = n->end - n->start - 2;

	if (n->writing != JSON_AS_IS)
		return json_reads(inside, len, value, value_len);
	return len == value_len && memcmp(inside, value, len) == 0;
}

bool json_is(const struct json *j, uint32_t node, const char *value)
{
	return is_type(j, node, JSON_STRING) &&
	       reads(j, &j->nodes[node], value, strlen(value));
}

uint32_t json_first(const struct json *j, uint32_t node)
{
	if (node == JSON_NONE || j->nodes[node].type < JSON_ARRAY ||
	    j->nodes[node].next == node + 1)
		return JSON_NONE;
	return node + 1;
}

uint32_t json_after(const struct json *j, uint32_t node, uint32_t child)
{
	uint32_t value = j->nodes[node].type == JSON_OBJECT ? child + 1 : child;
	uint32_t next = j->nodes[value].next;

	return next < j->nodes[node].next ? next : JSON_NONE;
}

uint32_t json_get(const struct json *j, uint32_t node, const char *key)
{
	uint32_t i, end, found = JSON_NONE;
	size_t len = strlen(key);

	if (!is_type(j, node, JSON_OBJECT))
		return JSON_NONE;
	end = j->nodes[node].next;
	for (i = node + 1; i < end; i = j->nodes[i + 1].next) {
		if (reads(j, &j->nodes[i], key, len))
			found = i + 1;
	}
	return found;
}

uint32_t json_get_type(const struct json *j, uint32_t node, const char *key,
		       enum json_type type)
{
	uint32_t found = json_get(j, node, key);

	return is_type(j, found, type) ? found : JSON_NONE;
}

int64_t json_integer(const struct json *j, uint32_t node, int64_t otherwise)
{
	int64_t value = 0;
	const char *p, *end;
	bool minus;

	if (!is_type(j, node, JSON_NUMBER))
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

static size_t put_utf8(uint32_t c, char *out)
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 0x3f));
		out[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 0x3f));
	out[2] = (char)(0x80 | (c >> 6 & 0x3f));
	out[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

static bool is_high(int unit)
{
	return unit >= 0xd800 && unit <= 0xdbff;
}

static bool is_low(int unit)
{
	return unit >= 0xdc00 && unit <= 0xdfff;
}

/* The digits behind "\u" at `p`, and the other half of a pair behind them. */
static const char *decode_unit(const char *p, const char *end, uint32_t *ret)
{
	int unit = hex4(p, end), low = -1;

	if (unit < 0) {
		/* Not scanned: leave the letter. */
		*ret = 'u';
		return p;
	}
	p += 4;
	if (is_high(unit) && end - p >= 6 && p[0] == '\\' && p[1] == 'u')
		low = hex4(p + 2, end);
	if (!is_low(low)) {
		*ret = (uint32_t)unit;
		return p;
	}
	*ret = 0x10000 + ((uint32_t)(unit - 0xd800) << 10) +
	       (uint32_t)(low - 0xdc00);
	return p + 6;
}

/* What stands for the escape whose backslash is before `p`. */
static const char *decode_escape(const char *p, const char *end, char **out)
{
	uint32_t c;

	if (*p != 'u') {
		*(*out)++ = escapes[(unsigned char)*p];
		return p + 1;
	}
	p = decode_unit(p + 1, end, &c);
	*out += put_utf8(c, *out);
	return p;
}

size_t json_decode(const char *inside, size_t len, char *out)
{
	const char *p = inside, *end = inside + len;
	char *at = out;

	while (p < end) {
		p = copy_until(p, end, '\\', &at) + 1;
		if (p < end)
			p = decode_escape(p, end, &at);
	}
	return (size_t)(at - out);
}

/* How many bytes of `p` are those of `text`, and no backslash? */
static size_t alike(const char *p, const char *text, size_t most)
{
	size_t n = 0;

#ifdef __SSE2__
	for (; most - n >= 16; n += 16) {
		__m128i x = load16(p + n);
		__m128i same = _mm_cmpeq_epi8(x, load16(text + n));
		__m128i slash = _mm_cmpeq_epi8(x, _mm_set1_epi8('\\'));
		unsigned other = hits(_mm_andnot_si128(slash, same)) ^ 0xffffu;

		if (other)
			return n + (unsigned)__builtin_ctz(other);
	}
#endif
	while (n < most && p[n] == text[n] && p[n] != '\\')
		n++;
	return n;
}

/* Reads on in both as long as they say the same; what is left of either. */
static void compare(const char **inside, const char *end, const char **text,
		    const char *stop)
{
	const char *p = *inside, *t = *text;

	while (p < end && t < stop) {
		char out[4], *to = out;
		const char *next;
		size_t n = (size_t)(end - p < stop - t ? end - p : stop - t);

		n = alike(p, t, n);
		p += n;
		t += n;
		if (end - p < 2 || *p != '\\' || t == stop)
			break;
		next = decode_escape(p + 1, end, &to);
		n = (size_t)(to - out);
		if ((size_t)(stop - t) < n || memcmp(out, t, n) != 0)
			break;
		p = next;
		t += n;
	}
	*inside = p;
	*text = t;
}

bool json_reads(const char *inside, size_t len, const char *text,
		size_t text_len)
{
	const char *end = inside + len, *stop = text + text_len;

	compare(&inside, end, &text, stop);
	return inside == end && text == stop;
}

bool json_begins(const char *inside, size_t len, const char *text,
		 size_t text_len)
{
	const char *stop = text + text_len;

	compare(&inside, inside + len, &text, stop);
	return text == stop;
}

struct text json_text(const struct json *j, uint32_t node, struct arena *a)
{
	const struct json_node *n;
	struct text t = { "", 0 };
	char *out;

	if (!is_type(j, node, JSON_STRING))
		return t;
	n = &j->nodes[node];
	t.at = j->text + n->start + 1;
	t.len = n->end - n->start - 2;
	if (n->writing == JSON_AS_IS)
		return t;
	out = arena_take(a, t.len);
	t.len = json_decode(t.at, t.len, out);
	t.at = out;
	return t;
}

/* Do three bytes of a surrogate stand at `p`? */
static bool is_surrogate(const char *p, const char *end)
{
	return end - p >= 3 && (unsigned char)p[0] == 0xed &&
	       ((unsigned char)p[1] & 0xe0) == 0xa0 &&
	       ((unsigned char)p[2] & 0xc0) == 0x80;
}

/*
 * Copy up to what may have to be escaped, or `end`. Behind *out there is room
 * for as many bytes as are left, whether they count or not.
 */
static const char *copy_literal(const char *p, const char *end, char **out)
{
#ifdef __SSE2__
	while (end - p >= 16) {
		__m128i x = load16(p);
		__m128i high = _mm_cmpeq_epi8(x, _mm_set1_epi8((char)0xed));
		unsigned hit = specials(p) | hits(high);
		int n = hit ? __builtin_ctz(hit) : 16;

		_mm_storeu_si128((__m128i *)(void *)*out, x);
		*out += n;
		p += n;
		if (hit)
			return p;
	}
#endif
	while (p < end && *p != '"' && *p != '\\' && (unsigned char)*p >= ' ' &&
	       (unsigned char)*p != 0xed)
		*(*out)++ = *p++;
	return p;
}

/* The escape for what stands at `p`, six bytes at most; *p is moved on. */
static size_t escape(const char **p, const char *end, char *out)
{
	static const char digits[] = "0123456789abcdef";
	static const char shorts[] = "btn\0fr"; /* from 8 on */
	unsigned c = (unsigned char)**p;

	if (is_surrogate(*p, end)) {
		c = 0xd000 | ((unsigned char)(*p)[1] & 0x3fu) << 6 |
		    ((unsigned char)(*p)[2] & 0x3fu);
		*p += 2;
	}
	*p += 1;
	out[0] = '\\';
	if (c == '"' || c == '\\') {
		out[1] = (char)c;
		return 2;
	}
	if (c >= '\b' && c <= '\r' && shorts[c - '\b']) {
		out[1] = shorts[c - '\b'];
		return 2;
	}
	out[1] = 'u';
	out[2] = digits[c >> 12 & 15];
	out[3] = digits[c >> 8 & 15];
	out[4] = digits[c >> 4 & 15];
	out[5] = digits[c & 15];
	return 6;
}

size_t json_encoded_most(const char *text, size_t len)
{
	const char *p = text, *end = text + len;
	size_t more = 0;

#ifdef __SSE2__
	for (; end - p >= 16; p += 16) {
		__m128i high =
			_mm_cmpeq_epi8(load16(p), _mm_set1_epi8((char)0xed));

		more += 5 *
			(size_t)__builtin_popcount(specials(p) | hits(high));
	}
#endif
	return len + more + 5 * (size_t)(end - p);
}

size_t json_encode(const char *text, size_t len, char *out)
{
	const char *p = text, *end = text + len;
	char *at = out;

	while (p < end) {
		p = copy_literal(p, end, &at);
		if (p == end)
			break;
		if ((unsigned char)*p == 0xed && !is_surrogate(p, end))
			*at++ = *p++;
		else
			at += escape(&p, end, at);
	}
	return (size_t)(at - out);
}
