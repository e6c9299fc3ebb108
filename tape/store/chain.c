/*
 * The chain hash of an entry: SHA-256 of the previous entry's hash (32 bytes,
 * zeros before the first entry) and the following, where a number is eight
 * bytes, lowest first, a text its length plus one and its bytes, an absent text
 * the number 0:
 *
 *	"statetape entry 1", or 2 if any of the last two lines is there
 *	n, at_ns, kind, origin, syntax, path, path2
 *	had, and if so the hash before (16 bytes, highest first); has, after
 *	bytes, plus, minus
 *	count of ranges, and each one's four numbers
 *	count of symbols, and each one's name, kind, set, removed
 *	count of processes, the author and its ancestors in this order, and
 *	each one's pid, uid, start, comm, cmdline, exe, session_root
 *	journal_first, journal_last, marker, kept
 *	unless none of these is known: the SHA-256 of `after`, of `before`, each
 *as 1 and its 32 bytes, or 0; mode_before, mode_after; count of the authors of
 *a merged entry, and each as above: a count of processes, the author and its
 *ancestors; 0: outside
 *
 * The SHA-256 of the contents is why the chain proves these, too. An entry of
 * which none is known, as those of stores of format 1, is hashed as ever.
 *
 * Each part states its own length, so no two different entries hash the same
 * bytes. Names and authors are hashed as texts: altering one of their rows
 * invalidates every entry that refers to it.
 */
#include "tape/store/store_i.h"

#include <assert.h>
#include <nettle/sha2.h>
#include <string.h>

#include "tape/journal/journal.h"

_Static_assert(SHA256_DIGEST_SIZE == ENTRY_CHAIN_SIZE, "it is SHA-256");

static void add_number(struct sha256_ctx *c, uint64_t value)
{
	uint8_t bytes[8];

	for (int i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(value >> 8 * i);
	sha256_update(c, sizeof(bytes), bytes);
}

static void add_text(struct sha256_ctx *c, const char *text)
{
	size_t len = text ? strlen(text) : 0;

	add_number(c, text ? len + 1 : 0);
	if (len)
		sha256_update(c, len, (const uint8_t *)text);
}

static void add_hash(struct sha256_ctx *c, bool is_there, XXH128_hash_t hash)
{
	XXH128_canonical_t bytes;

	add_number(c, is_there);
	if (!is_there)
		return;
	XXH128_canonicalFromHash(&bytes, hash);
	sha256_update(c, sizeof(bytes.digest), bytes.digest);
}

static void add_sha(struct sha256_ctx *c, bool is_there,
		    const uint8_t sha[ENTRY_SHA_SIZE])
{
	add_number(c, is_there);
	if (is_there)
		sha256_update(c, ENTRY_SHA_SIZE, sha);
}

static void add_lists(struct sha256_ctx *c, const struct entry *e)
{
	add_number(c, e->ranges_count);
	for (size_t i = 0; i < e->ranges_count; i++) {
		add_number(c, e->ranges[i].before);
		add_number(c, e->ranges[i].before_count);
		add_number(c, e->ranges[i].after);
		add_number(c, e->ranges[i].after_count);
	}
	add_number(c, e->symbols_count);
	for (size_t i = 0; i < e->symbols_count; i++) {
		add_text(c, e->symbols[i].name);
		add_number(c, e->symbols[i].kind);
		add_number(c, e->symbols[i].set);
		add_number(c, e->symbols[i].removed);
	}
}

static void add_authors(struct sha256_ctx *c, const struct journal_author *a)
{
	unsigned count = store_author_depth(a);

	add_number(c, count);
	for (; count > 0; count--, a = a->parent) {
		assert(a);
		add_number(c, a->pid);
		add_number(c, a->uid);
		add_number(c, a->start);
		add_text(c, a->comm ? a->comm : "");
		add_text(c, a->cmdline ? a->cmdline : "");
		add_text(c, a->exe ? a->exe : "");
		add_number(c, a->session_root);
	}
}

void store_sha(const void *bytes, size_t len, uint8_t ret[ENTRY_SHA_SIZE])
{
	struct sha256_ctx c;

	sha256_init(&c);
	sha256_update(&c, len, bytes);
	sha256_digest(&c, ENTRY_SHA_SIZE, ret);
}

void store_chain(const uint8_t before[ENTRY_CHAIN_SIZE], const struct entry *e,
		 bool kept, uint8_t ret[ENTRY_CHAIN_SIZE])
{
	bool has_more = e->has_sha || e->had_sha || e->mode_before ||
			e->mode_after || e->authors_count;
	struct sha256_ctx c;

	sha256_init(&c);
	sha256_update(&c, ENTRY_CHAIN_SIZE, before);
	add_text(&c, has_more ? "statetape entry 2" : "statetape entry 1");
	add_number(&c, e->n);
	add_number(&c, (uint64_t)e->at_ns);
	add_number(&c, e->kind);
	add_number(&c, e->origin);
	add_number(&c, e->syntax);
	add_text(&c, e->path);
	add_text(&c, e->path2);
	add_hash(&c, e->had, e->before);
	add_hash(&c, e->has, e->after);
	add_number(&c, e->bytes);
	add_number(&c, e->plus);
	add_number(&c, e->minus);
	add_lists(&c, e);
	add_authors(&c, e->author);
	add_number(&c, e->journal_first);
	add_number(&c, e->journal_last);
	add_number(&c, e->marker);
	add_number(&c, kept);
	if (has_more) {
		add_sha(&c, e->has_sha, e->after_sha);
		add_sha(&c, e->had_sha, e->before_sha);
		add_number(&c, e->mode_before);
		add_number(&c, e->mode_after);
		add_number(&c, e->authors_count);
	}
	for (size_t i = 0; i < e->authors_count; i++)
		add_authors(&c, e->authors[i]);
	sha256_digest(&c, ENTRY_CHAIN_SIZE, ret);
}
