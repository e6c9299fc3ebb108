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

static int content_there(struct store *s, XXH128_hash_t hash, bool *ret)
{
	int rc = 0;
	sqlite3_stmt *q = store_sql(s, SQL_CONTENT_HAS, &rc);

	if (!q)
		return rc;
	store_bind_hash(q, 1, hash);
	rc = store_step(s, q);
	(void)sqlite3_reset(q);
	if (rc < 0)
		return rc;
	*ret = rc > 0;
	return 0;
}

bool store_has_content(struct store *s, XXH128_hash_t hash)
{
	bool there = false;

	return content_there(s, hash, &there) == 0 && there;
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

static int add_content(struct store *s, XXH128_hash_t hash, const char *text,
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
	rc = store_run(s, q);
	if (rc == 0)
		s->self.contents++;
	return rc;
}

int store_put_content(struct store *s, XXH128_hash_t hash, const char *text,
		      size_t len)
{
	bool there = false;
	int rc = store_may_write(s);

	if (rc < 0)
		return rc;
	if (len > STORE_CONTENT_MAX || memchr(text, '\0', len))
		return 0;
	rc = content_there(s, hash, &there);
	if (rc == 0 && !there)
		rc = add_content(s, hash, text, len);
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
