/*
 * Contents, each stored once, as one zstd frame. As in git, a content is text
 * if it contains no NUL.
 */
#include "tape/store/store_i.h"

#include <errno.h>
#include <string.h>

#include "graph/base/cleanup.h"

/*
 * Compression level of zstd. For files of a few KiB, where the setup dominates,
 * level 3 takes at most a tenth more time than level 1, and its output is a
 * tenth smaller.
 */
#define STORE_LEVEL 3

/* The row of a content that is kept. */
struct content_row {
	bool has_sha;
	uint8_t sha[ENTRY_SHA_SIZE];
};

/* 1: found. 0: it is not kept. */
static int find_row(struct store *s, XXH128_hash_t hash,
		    struct content_row *ret)
{
	int rc = 0;
	sqlite3_stmt *q = store_sql(s, SQL_CONTENT_FIND, &rc);

	if (!q)
		return rc;
	store_bind_hash(q, 1, hash);
	rc = store_step(s, q);
	if (rc > 0)
		ret->has_sha = store_column_chain(q, 0, ret->sha);
	(void)sqlite3_reset(q);
	return rc;
}

bool store_has_content(struct store *s, XXH128_hash_t hash)
{
	struct content_row row = { 0 };

	return find_row(s, hash, &row) > 0;
}

int store_content_sha(struct store *s, XXH128_hash_t hash,
		      uint8_t ret[ENTRY_SHA_SIZE])
{
	struct content_row row = { 0 };
	int rc = find_row(s, hash, &row);

	if (rc < 0)
		return rc;
	if (rc == 0 || !row.has_sha)
		return -ENOENT;
	memcpy(ret, row.sha, sizeof(row.sha));
	return 0;
}

/* Compress `text` into s->bytes. */
static int compress(struct store *s, const char *text, size_t len)
{
	size_t n;
	int rc;

	if (!s->compress)
		s->compress = ZSTD_createCCtx();
	if (!s->compress)
		return -ENOMEM;
	s->bytes.len = 0;
	rc = buf_reserve(&s->bytes, ZSTD_compressBound(len));
	if (rc < 0)
		return rc;
	n = ZSTD_compressCCtx(s->compress, s->bytes.data, s->bytes.size, text,
			      len, STORE_LEVEL);
	if (ZSTD_isError(n))
		return -EIO;
	s->bytes.len = n;
	return 0;
}

static int add_content(struct store *s, XXH128_hash_t hash,
		       const uint8_t sha[ENTRY_SHA_SIZE], const char *text,
		       size_t len)
{
	int rc = compress(s, text, len);
	sqlite3_stmt *q;

	if (rc < 0)
		return rc;
	q = store_sql(s, SQL_CONTENT_ADD, &rc);
	if (!q)
		return rc;
	store_bind_hash(q, 1, hash);
	(void)sqlite3_bind_int64(q, 2, (int64_t)len);
	(void)sqlite3_bind_blob64(q, 3, s->bytes.data, s->bytes.len,
				  SQLITE_STATIC);
	(void)sqlite3_bind_blob(q, 4, sha, ENTRY_SHA_SIZE, SQLITE_STATIC);
	rc = store_run(s, q);
	if (rc == 0)
		s->self.contents++;
	return rc;
}

/* The row of a store of format 1 gets the SHA-256 when the text comes again. */
static int set_sha(struct store *s, XXH128_hash_t hash,
		   const uint8_t sha[ENTRY_SHA_SIZE], const char *text,
		   size_t len)
{
	CLEANUP(free_p) char *old = NULL;
	size_t old_len = 0;
	sqlite3_stmt *q;
	int rc = store_content(s, hash, &old, &old_len);

	if (rc < 0 || !old || old_len != len || memcmp(old, text, len) != 0)
		return rc;
	q = store_sql(s, SQL_CONTENT_SET_SHA, &rc);
	if (!q)
		return rc;
	store_bind_hash(q, 1, hash);
	(void)sqlite3_bind_blob(q, 2, sha, ENTRY_SHA_SIZE, SQLITE_STATIC);
	return store_run(s, q);
}

int store_put_content(struct store *s, XXH128_hash_t hash,
		      const uint8_t sha[ENTRY_SHA_SIZE], const char *text,
		      size_t len)
{
	uint8_t own[ENTRY_SHA_SIZE];
	struct content_row row = { 0 };
	int rc = store_may_write(s);

	if (rc < 0)
		return rc;
	if (len > STORE_CONTENT_MAX || memchr(text, '\0', len))
		return 0;
	rc = find_row(s, hash, &row);
	if (rc < 0 || (rc > 0 && row.has_sha))
		return store_note(s, rc < 0 ? rc : 0);
	if (!sha)
		store_sha(text, len, own);
	rc = rc > 0 ? set_sha(s, hash, sha ? sha : own, text, len)
		    : add_content(s, hash, sha ? sha : own, text, len);
	return store_note(s, rc);
}

/* `q` is at the row of the content. */
static int decompress(struct store *s, sqlite3_stmt *q, char **ret_text,
		      size_t *ret_len)
{
	CLEANUP(free_p) char *text = NULL;
	int64_t size = sqlite3_column_int64(q, 0);
	const void *frame = sqlite3_column_blob(q, 1);
	size_t frame_len = (size_t)sqlite3_column_bytes(q, 1);
	size_t n;

	if (!s->decompress)
		s->decompress = ZSTD_createDCtx();
	if (!s->decompress)
		return -ENOMEM;
	if (size < 0 || size > STORE_CONTENT_MAX)
		return -EBADMSG;
	text = must_alloc((size_t)size + 1);
	n = ZSTD_decompressDCtx(s->decompress, text, (size_t)size, frame,
				frame_len);
	if (ZSTD_isError(n) || n != (size_t)size)
		return -EBADMSG;
	text[n] = '\0';
	*ret_text = TAKE(text);
	*ret_len = n;
	return 0;
}

int store_content(struct store *s, XXH128_hash_t hash, char **ret_text,
		  size_t *ret_len)
{
	int rc = 0;
	sqlite3_stmt *q = store_sql(s, SQL_CONTENT_GET, &rc);

	if (!q)
		return rc;
	store_bind_hash(q, 1, hash);
	rc = store_step(s, q);
	if (rc == 0)
		rc = -ENOENT;
	else if (rc > 0)
		rc = decompress(s, q, ret_text, ret_len);
	(void)sqlite3_reset(q);
	return rc;
}
