/*
 * What the chain proves: contents by SHA-256, in stores of the present format
 * and in those of format 1 that were upgraded.
 */
#include <errno.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include <cmocka.h>

#include "graph/base/cleanup.h"
#include "tests/support/store_world.h"

static void run_sql(const char *path, const char *sql)
{
	sqlite3 *db = NULL;
	char *why = NULL;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK)
		fail_msg("%s", why);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void verify(struct world *w, const char *want)
{
	int rc;

	w->said[0] = '\0';
	w->findings = 0;
	rc = store_verify(w->s, world_found, w);
	assert_int_equal(rc, w->findings);
	if (*want ? !strstr(w->said, want) : w->said[0] != '\0')
		fail_msg("\"%s\" is wanted, and found is: %s", want, w->said);
}

/*
 * Two texts with the same XXH3-128. Where the low half of a lane equals that of
 * the secret, the product of the halves is 0 and the lane is only added to its
 * neighbour: so adding 1 to the high half in one stripe, and taking it away in
 * the next, changes nothing.
 */
static void make_twins(char first[513], char second[513])
{
	static const unsigned char secret[2][4] = {
		{ 0xb8, 0xfe, 0x6c, 0x39 },
		{ 0x7c, 0x01, 0x81, 0x2c },
	};

	memset(first, 'x', 512);
	first[512] = '\0';
	memcpy(first, secret[0], 4);
	memcpy(first + 64, secret[1], 4);
	memcpy(second, first, 513);
	second[4]++;
	second[64 + 4]--;
	assert_int_not_equal(strcmp(first, second), 0);
	assert_hash(hash_of(first), hash_of(second));
}

static int read_sha(const struct entry *e, void *arg)
{
	struct entry *ret = arg;

	*ret = *e;
	return 0;
}

static struct entry entry_at(struct store *s, uint64_t n)
{
	struct entry e = { 0 };

	assert_int_equal(store_entry(s, n, read_sha, &e), 0);
	return e;
}

static void assert_sha(const uint8_t *sha, const char *text)
{
	uint8_t want[ENTRY_SHA_SIZE];

	store_sha(text, strlen(text), want);
	assert_memory_equal(sha, want, sizeof(want));
}

static void an_entry_has_the_sha_of_its_content(void **state)
{
	struct world *w = *state;
	struct entry e;

	put_base(w->s, "a.py", "before");
	put(w->s, "a.py", "before", "one");
	put(w->s, "a.py", "one", "two");
	e = entry_at(w->s, 1);
	assert_true(e.had_sha && e.has_sha);
	assert_sha(e.before_sha, "before");
	assert_sha(e.after_sha, "one");
	e = entry_at(w->s, 2);
	assert_true(!e.had_sha && e.has_sha);
	assert_sha(e.after_sha, "two");
	assert_int_equal(store_prove(w->s, 2, "two", 3), 0);
	assert_int_equal(store_prove(w->s, 2, "one", 3), -EBADMSG);
	verify(w, "");
}

static void a_content_that_is_not_kept_is_proven_too(void **state)
{
	struct world *w = *state;
	struct entry e = change("b.bin", NULL, "x");

	e.has_sha = true;
	store_sha("a\0b", 3, e.after_sha);
	e.after = XXH3_128bits("a\0b", 3);
	assert_int_equal(put_change(w->s, &e, NULL), 1);
	assert_int_equal(store_prove(w->s, 1, "a\0b", 3), 0);
	assert_int_equal(store_prove(w->s, 1, "a\0c", 3), -EBADMSG);
}

static void a_twin_by_xxh3_is_not_taken_for_the_other(void **state)
{
	char first[513], second[513];
	struct world *w = *state;
	struct entry e;

	make_twins(first, second);
	put(w->s, "a.py", NULL, first);
	e = change("b.py", NULL, second);
	e.has_sha = true;
	store_sha(second, strlen(second), e.after_sha);
	assert_int_equal(put_change(w->s, &e, second), 2);
	assert_int_equal(store_prove(w->s, 1, first, strlen(first)), 0);
	assert_int_equal(store_prove(w->s, 2, first, strlen(first)), -EBADMSG);
	assert_int_equal(store_prove(w->s, 2, second, strlen(second)), 0);
	/* The second says that its content is not kept. */
	verify(w, "");
}

/* Put `text` in place of the only content. */
static void replace_content(struct world *w, const char *text)
{
	char frame[1024];
	size_t len = ZSTD_compress(frame, sizeof(frame), text, strlen(text), 1);
	sqlite3_stmt *q = NULL;
	sqlite3 *db = NULL;

	assert_false(ZSTD_isError(len));
	world_close(w);
	assert_int_equal(sqlite3_open(w->path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, "UPDATE content SET text = ?1",
					    -1, &q, NULL),
			 SQLITE_OK);
	(void)sqlite3_bind_blob(q, 1, frame, (int)len, SQLITE_STATIC);
	assert_int_equal(sqlite3_step(q), SQLITE_DONE);
	(void)sqlite3_finalize(q);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void a_content_replaced_by_a_twin_is_found(void **state)
{
	char first[513], second[513];
	struct world *w = *state;

	make_twins(first, second);
	put(w->s, "a.py", NULL, first);
	replace_content(w, second);
	world_open(w, STORE_READ);
	verify(w, "'a.py' as of entry 1 was altered");
}

static void replacing_the_sha_as_well_is_found(void **state)
{
	struct world *w = *state;

	put_base(w->s, "a.py", "before");
	put(w->s, "a.py", "before", "one");
	world_close(w);
	run_sql(w->path, "UPDATE content SET sha = zeroblob(32)"
			 " WHERE id = 2");
	world_open(w, STORE_READ);
	verify(w, "'a.py' as of entry 1 was replaced");
	world_close(w);
	run_sql(w->path, "UPDATE content SET sha = NULL");
	world_open(w, STORE_READ);
	verify(w, "'a.py' as of entry 1 was replaced");
	world_close(w);
	run_sql(w->path, "UPDATE content SET sha = zeroblob(32)");
	world_open(w, STORE_READ);
	verify(w, "'a.py' before entry 1 was replaced");
}

/* -- Format 1. */

static char *format_1(void)
{
	char *sql = calloc(1, 1 << 16);
	FILE *f = fopen(STORE_DIR "/format-1.sql", "r");

	assert_true(sql && f);
	assert_true(fread(sql, 1, (1 << 16) - 1, f) > 0);
	(void)fclose(f);
	return sql;
}

static int setup_1(void **state)
{
	CLEANUP(free_p) char *sql = format_1();
	struct world *w;

	world_setup(state);
	w = *state;
	world_close(w);
	assert_int_equal(unlink(w->path), 0);
	run_sql(w->path, "PRAGMA auto_vacuum = INCREMENTAL");
	run_sql(w->path, sql);
	return 0;
}

static void format_1_is_read_as_it_is(void **state)
{
	struct world *w = *state;
	CLEANUP(free_p) char *text = NULL;
	size_t len;

	world_open(w, STORE_READ);
	assert_int_equal(store_head(w->s), 6);
	assert_int_equal(store_tape(w->s), 0);
	assert_int_equal(store_content(w->s, hash_of("two"), &text, &len), 0);
	assert_string_equal(text, "two");
	assert_false(entry_at(w->s, 2).has_sha);
	assert_int_equal(store_prove(w->s, 2, "anything", 8), 0);
	verify(w, "");
}

static void format_1_is_upgraded_and_goes_on(void **state)
{
	struct world *w = *state;
	uint64_t tape;

	world_open(w, STORE_WRITE);
	verify(w, "");
	tape = store_tape(w->s);
	assert_true(tape != 0);
	put(w->s, "a.py", NULL, "three");
	put(w->s, "base.py", "changed", "one");
	world_close(w);
	world_open(w, STORE_READ);
	assert_true(store_tape(w->s) == tape);
	assert_int_equal(store_head(w->s), 8);
	assert_false(entry_at(w->s, 6).has_sha);
	assert_true(entry_at(w->s, 7).has_sha);
	/* Its content was kept by format 1, without a SHA-256. */
	assert_true(entry_at(w->s, 8).has_sha);
	verify(w, "");
	world_close(w);
	run_sql(w->path, "UPDATE entry SET at = at + 1 WHERE n = 3");
	world_open(w, STORE_READ);
	verify(w, "Entry 3 was altered");
}

static void an_upgrade_cut_off_is_made_again(void **state)
{
	struct world *w = *state;

	/* What a process that is killed before the commit leaves. */
	world_open(w, STORE_READ);
	world_close(w);
	run_sql(w->path, "BEGIN; ALTER TABLE content ADD COLUMN sha BLOB;"
			 "PRAGMA user_version = 2; ROLLBACK");
	world_open(w, STORE_WRITE);
	verify(w, "");
}

#define T(test) \
	cmocka_unit_test_setup_teardown(test, world_setup, world_teardown)
#define T1(test) cmocka_unit_test_setup_teardown(test, setup_1, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(an_entry_has_the_sha_of_its_content),
		T(a_content_that_is_not_kept_is_proven_too),
		T(a_twin_by_xxh3_is_not_taken_for_the_other),
		T(a_content_replaced_by_a_twin_is_found),
		T(replacing_the_sha_as_well_is_found),
		T1(format_1_is_read_as_it_is),
		T1(format_1_is_upgraded_and_goes_on),
		T1(an_upgrade_cut_off_is_made_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
