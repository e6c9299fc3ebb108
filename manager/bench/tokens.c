#define PCRE2_CODE_UNIT_WIDTH 8

#include "manager/bench/tokens.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <nettle/sha2.h>
#include <pcre2.h>
#include <xxhash.h>
#include <zlib.h>

#include "graph/base/alloc.h"
#include "graph/base/array.h"
#include "graph/base/base64.h"
#include "graph/base/buf.h"
#include "graph/base/cleanup.h"
#include "graph/base/hex.h"

#define RANKS_MAX ((size_t)8 << 20)
#define SLOTS	  (1u << 18) /* a power of two, for about 100,000 ranks */
#define NO_RANK	  UINT32_MAX

static const char ranks_sha256[] =
	"5afc6e4960ba7a82f43f75c7ef8aa2a4e641a86176f897958ef20c8a8e31a8fe";

/* White space as Unicode has it; what \s means differs between libraries. */
#define SPACE                                                         \
	"\\t-\\r \\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}" \
	"\\x{2029}\\x{202f}\\x{205f}\\x{3000}"
#define APART "'(?:[sS]|[tT]|[rR][eE]|[vV][eE]|[mM]|[lL][lL]|[dD])"

static const char expression[] =
	APART "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}"
	      "| ?[^" SPACE "\\p{L}\\p{N}]+[\\r\\n]*"
	      "|[" SPACE "]*[\\r\\n]+|[" SPACE "]+(?![^" SPACE "])"
	      "|[" SPACE "]+";

struct ranked {
	uint32_t at; /* in `bytes` */
	uint32_t len;
};

/* Two neighbouring parts that may be merged: [at, end) of the word. */
struct token_pair {
	uint32_t rank, at, end;
};

struct tokens {
	struct buf bytes;
	ARRAY(struct ranked) ranked; /* by rank */
	uint32_t *slots;	     /* rank + 1, by hash; 0: free */
	pcre2_code *words;
	pcre2_match_data *match;
	/* Of the word that is being merged. */
	ARRAY(uint32_t) end; /* of the part that begins here; 0: none does */
	ARRAY(struct token_pair) heap;
};

/* -- The ranks. */

static uint32_t slot_of(const char *at, size_t len)
{
	return (uint32_t)XXH3_64bits(at, len) & (SLOTS - 1);
}

static uint32_t rank_of(const struct tokens *t, const char *at, size_t len)
{
	for (uint32_t s = slot_of(at, len); t->slots[s];
	     s = (s + 1) & (SLOTS - 1)) {
		const struct ranked *r = &t->ranked.at[t->slots[s] - 1];

		if (r->len == len &&
		    memcmp(t->bytes.data + r->at, at, len) == 0)
			return t->slots[s] - 1;
	}
	return NO_RANK;
}

static int add_rank(struct tokens *t, const char *base64)
{
	CLEANUP(free_p) char *bytes = NULL;
	struct ranked r = { .at = (uint32_t)t->bytes.len };
	size_t len = 0;
	uint32_t s;
	int rc = base64_decode(base64, &bytes, &len);

	if (rc == 0 && t->ranked.count >= SLOTS / 2)
		rc = -EBADMSG;
	if (rc == 0)
		rc = buf_add(&t->bytes, bytes, len);
	if (rc < 0)
		return rc;
	r.len = (uint32_t)len;
	array_push(&t->ranked, r);
	for (s = slot_of(bytes, len); t->slots[s]; s = (s + 1) & (SLOTS - 1))
		continue;
	t->slots[s] = t->ranked.count;
	return 0;
}

static bool is_ours(const struct buf *text)
{
	uint8_t digest[SHA256_DIGEST_SIZE];
	struct sha256_ctx sha;
	bool same = true;

	sha256_init(&sha);
	sha256_update(&sha, text->len, (const uint8_t *)text->data);
	sha256_digest(&sha, sizeof(digest), digest);
	for (size_t i = 0; i < sizeof(digest); i++)
		same = same &&
		       hex_value(ranks_sha256[2 * i]) == digest[i] >> 4 &&
		       hex_value(ranks_sha256[2 * i + 1]) == (digest[i] & 15);
	return same;
}

static int read_ranks(const char *path, struct buf *ret)
{
	gzFile file = gzopen(path, "rbe");
	int got = 1, rc = file ? 0 : -errno;

	while (rc == 0 && got > 0) {
		rc = buf_reserve(ret, 1 << 16);
		if (rc < 0)
			break;
		got = gzread(file, ret->data + ret->len, 1 << 16);
		if (got < 0)
			rc = -EBADMSG;
		else
			ret->len += (size_t)got;
	}
	if (file)
		(void)gzclose(file);
	return rc;
}

static int take_ranks(struct tokens *t, const char *path)
{
	CLEANUP(buf_release) struct buf text = BUF(RANKS_MAX);
	char *line, *rest;
	int rc = read_ranks(path, &text);

	if (rc == 0 && !is_ours(&text))
		rc = -EBADMSG;
	if (rc == 0)
		rc = buf_add(&text, "", 1);
	for (line = text.data; rc == 0 && line && *line; line = rest) {
		rest = strchr(line, '\n');
		if (rest)
			*rest++ = '\0';
		rc = add_rank(t, line);
	}
	return rc;
}

static int compile_words(struct tokens *t)
{
	PCRE2_SIZE where;
	int error;

	t->words = pcre2_compile((PCRE2_SPTR)expression, sizeof(expression) - 1,
				 PCRE2_UTF | PCRE2_UCP, &error, &where, NULL);
	assert(t->words);
	/* Without it the same, only slower. */
	(void)pcre2_jit_compile(t->words, PCRE2_JIT_COMPLETE);
	t->match = pcre2_match_data_create_from_pattern(t->words, NULL);
	return t->match ? 0 : -ENOMEM;
}

int tokens_open(const char *path, struct tokens **ret, char **ret_why)
{
	struct tokens *t = must_calloc(1, sizeof(*t));
	int rc;

	t->bytes = BUF(RANKS_MAX);
	t->slots = must_calloc(SLOTS, sizeof(*t->slots));
	rc = take_ranks(t, path);
	if (rc == 0)
		rc = compile_words(t);
	if (rc == 0) {
		*ret = t;
		return 0;
	}
	tokens_free(t);
	if (ret_why &&
	    asprintf(ret_why, "'%s' cannot be read as the cl100k ranks: %s",
		     path,
		     rc == -EBADMSG ? "it is another file"
				    : strerrordesc_np(-rc)) < 0)
		*ret_why = NULL;
	return rc;
}

void tokens_free(struct tokens *t)
{
	if (!t)
		return;
	pcre2_match_data_free(t->match);
	pcre2_code_free(t->words);
	buf_release(&t->bytes);
	array_release(&t->ranked);
	array_release(&t->end);
	array_release(&t->heap);
	free(t->slots);
	free(t);
}

/* -- Merging. */

static bool is_less(const struct token_pair *a, const struct token_pair *b)
{
	return a->rank != b->rank ? a->rank < b->rank : a->at < b->at;
}

static void heap_push(struct tokens *t, struct token_pair p)
{
	uint32_t i = t->heap.count;

	array_push(&t->heap, p);
	for (; i > 0 && is_less(&p, &t->heap.at[(i - 1) / 2]); i = (i - 1) / 2)
		t->heap.at[i] = t->heap.at[(i - 1) / 2];
	t->heap.at[i] = p;
}

static struct token_pair heap_pop(struct tokens *t)
{
	struct token_pair top = t->heap.at[0], p = *array_last(&t->heap);
	uint32_t i = 0, n = --t->heap.count;

	for (uint32_t child = 1; child < n; child = 2 * i + 1) {
		if (child + 1 < n &&
		    is_less(&t->heap.at[child + 1], &t->heap.at[child]))
			child++;
		if (!is_less(&t->heap.at[child], &p))
			break;
		t->heap.at[i] = t->heap.at[child];
		i = child;
	}
	if (n)
		t->heap.at[i] = p;
	return top;
}

/* The pair of the part at `at` and the next one, if their bytes are a token. */
static void offer(struct tokens *t, const char *word, uint32_t n, uint32_t at)
{
	uint32_t middle = t->end.at[at], end, rank;

	if (middle >= n)
		return;
	end = t->end.at[middle];
	rank = rank_of(t, word + at, end - at);
	if (rank != NO_RANK)
		heap_push(t, (struct token_pair){ rank, at, end });
}

/*
 * Merge the parts of `word` until no neighbours make a token, always the pair
 * of the lowest rank, of several the first. Then t->end has the tokens. A pair
 * whose parts have changed since it was offered is still right if a part begins
 * where it did, and the next one ends where it did: its bytes are the same.
 */
static void merge(struct tokens *t, const char *word, uint32_t n)
{
	/* Where the part before the one that begins here begins. */
	ARRAY(uint32_t) before = { 0 };

	t->end.count = t->heap.count = 0;
	for (uint32_t i = 0; i < n; i++) {
		array_push(&t->end, i + 1);
		array_push(&before, i ? i - 1 : 0);
	}
	for (uint32_t i = 0; i < n; i++)
		offer(t, word, n, i);
	while (t->heap.count) {
		struct token_pair p = heap_pop(t);
		uint32_t middle = t->end.at[p.at];

		if (!middle || middle >= n || t->end.at[middle] != p.end)
			continue;
		t->end.at[middle] = 0;
		t->end.at[p.at] = p.end;
		if (p.end < n)
			before.at[p.end] = p.at;
		offer(t, word, n, p.at);
		if (p.at)
			offer(t, word, n, before.at[p.at]);
	}
	array_release(&before);
}

/* Where each token of a word begins, in order. */
typedef void token_visit(void *ctx, const char *at);

static void visit_word(struct tokens *t, const char *word, size_t len,
		       token_visit *visit, void *ctx)
{
	if (rank_of(t, word, len) != NO_RANK) {
		visit(ctx, word);
		return;
	}
	merge(t, word, (uint32_t)len);
	for (uint32_t i = 0; i < len; i = t->end.at[i])
		visit(ctx, word + i);
}

static void visit_all(struct tokens *t, const char *text, size_t len,
		      token_visit *visit, void *ctx)
{
	const PCRE2_SIZE *found = pcre2_get_ovector_pointer(t->match);
	size_t at = 0;

	while (at < len) {
		int n = pcre2_match(t->words, (PCRE2_SPTR)text, len, at,
				    PCRE2_NO_UTF_CHECK | PCRE2_ANCHORED,
				    t->match, NULL);

		/* Each character fits some branch; only memory may run out. */
		if (n < 0) {
			must_have(NULL);
			return;
		}
		visit_word(t, text + at, found[1] - at, visit, ctx);
		at = found[1];
	}
}

static void count_one(void *ctx, const char *at)
{
	(void)at;
	++*(uint64_t *)ctx;
}

uint64_t tokens_count(struct tokens *t, const char *text, size_t len)
{
	uint64_t count = 0;

	visit_all(t, text, len, count_one, &count);
	return count;
}

struct by_line {
	const char *at; /* up to here newlines are counted */
	uint32_t *lines;
};

static void count_in_line(void *ctx, const char *at)
{
	struct by_line *b = ctx;

	for (; b->at < at; b->at++)
		if (*b->at == '\n')
			*++b->lines = 0;
	++*b->lines;
}

void tokens_by_line(struct tokens *t, const char *text, size_t len,
		    uint32_t *ret)
{
	struct by_line b = { text, ret };

	*ret = 0;
	visit_all(t, text, len, count_in_line, &b);
	for (; b.at < text + len; b.at++)
		if (*b.at == '\n')
			*++b.lines = 0;
}

/* -- Decoding. */

/*
 * The length of the character at `at`; or minus the bytes that one U+FFFD
 * stands for: the longest beginning of a character, at least one byte.
 */
static int character(const unsigned char *at, size_t left)
{
	unsigned char first = at[0], low = 0x80, high = 0xbf;
	int more;

	if (first < 0x80)
		return 1;
	if (first < 0xc2 || first > 0xf4)
		return -1;
	more = first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
	if (first == 0xe0)
		low = 0xa0;
	else if (first == 0xed)
		high = 0x9f;
	else if (first == 0xf0)
		low = 0x90;
	else if (first == 0xf4)
		high = 0x8f;
	for (int i = 1; i <= more; i++) {
		if ((size_t)i >= left || at[i] < low || at[i] > high)
			return -i;
		low = 0x80;
		high = 0xbf;
	}
	return more + 1;
}

char *tokens_valid(const char *text, size_t len, size_t *ret_len)
{
	static const char instead[] = "\xef\xbf\xbd";
	char *out = must_alloc(3 * len + 1);
	size_t n = 0;

	for (size_t i = 0; i < len;) {
		int c = character((const unsigned char *)text + i, len - i);

		if (c > 0) {
			memcpy(out + n, text + i, (size_t)c);
			n += (size_t)c;
			i += (size_t)c;
		} else {
			memcpy(out + n, instead, 3);
			n += 3;
			i += (size_t)-c;
		}
	}
	out[n] = '\0';
	*ret_len = n;
	return out;
}
