/*
 * The tests damage a store, one value at a time; verify must find each damage
 * and name the entry, if it is in one.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/support/store_world.h"

static struct journal_author shell = { .pid = 20,
				       .start = 2,
				       .comm = "bash",
				       .cmdline = "bash -c x",
				       .exe = "/bin/bash",
				       .session_root = true };
static struct journal_author sed = { .pid = 30,
				     .start = 3,
				     .uid = 7,
				     .comm = "sed",
				     .cmdline = "sed -i s/a/b/ a.py",
				     .exe = "/bin/sed",
				     .parent = &shell };
static const struct entry_symbol symbols[] = {
	{ "pkg.load", 0, ENTRY_X, false },
	{ "pkg.sub.save", 0, ENTRY_DX, false },
};
static const struct entry_range range = { 3, 1, 3, 2 };

/* Six entries on a base of two files. */
static int setup(void **state)
{
	struct entry rename, rich;
	struct world *w;

	world_setup(state);
	w = *state;
	put_base(w->s, "base.py", "as before the tape");
	put_base(w->s, "still.py", "never touched");
	put(w->s, "a.py", NULL, "one");
	rich = change("a.py", "one", "two");
	rich.author = &sed;
	rich.symbols = symbols;
	rich.symbols_count = 2;
	rich.ranges = &range;
	rich.ranges_count = 1;
	put_change(w->s, &rich, "two");
	put(w->s, "base.py", "as before the tape", "changed");
	rename = change("a.py", "two", "two");
	rename.kind = ENTRY_RENAME;
	rename.path2 = "b.py";
	put_change(w->s, &rename, "two");
	put(w->s, "c.py", NULL, "to be deleted");
	put(w->s, "c.py", "to be deleted", NULL);
	return 0;
}

static void verify(struct world *w)
{
	int rc;

	w->said[0] = '\0';
	w->findings = 0;
	rc = store_verify(w->s, world_found, w);
	assert_int_equal(rc, w->findings);
}

/* A plain SQLite connection, without our SQL functions. */
static void run_sql(const char *path, const char *sql)
{
	sqlite3 *db = NULL;
	char *why = NULL;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK)
		fail_msg("%s: %s", sql, why);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void copy_file(const char *from, const char *to)
{
	char bytes[65536];
	int in = open(from, O_RDONLY), out;
	ssize_t n;

	out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(in >= 0 && out >= 0);
	while ((n = read(in, bytes, sizeof(bytes))) > 0)
		assert_int_equal(write(out, bytes, (size_t)n), n);
	(void)close(in);
	(void)close(out);
}

/* A path next to the store's (free it). */
static char *beside(const struct world *w, const char *end)
{
	char *path = NULL;

	assert_true(asprintf(&path, "%s%s", w->path, end) > 0);
	return path;
}

/* Run `sql` on the store, verify the result, and restore the store. */
static void damage(struct world *w, const char *sql)
{
	char *kept = beside(w, ".kept");

	world_close(w);
	copy_file(w->path, kept);
	run_sql(w->path, sql);
	free(w->why);
	w->why = NULL;
	w->said[0] = '\0';
	w->findings = 0;
	if (store_open(w->path, STORE_READ, &w->s, &w->why) == 0)
		verify(w);
	else
		world_found(FAULT_DATABASE, w->why, w);
	world_close(w);
	copy_file(kept, w->path);
	assert_int_equal(unlink(kept), 0);
	free(kept);
	free(w->why);
	w->why = NULL;
	world_open(w, STORE_WRITE);
}

static void assert_found(struct world *w, const char *sql, const char *text)
{
	damage(w, sql);
	if (!strstr(w->said, text))
		fail_msg("%s: \"%s\" is not in: %s", sql, text, w->said);
}

static void an_intact_store_has_no_findings(void **state)
{
	struct world *w = *state;

	verify(w);
	assert_string_equal(w->said, "");
	world_close(w);
	world_open(w, STORE_READ);
	verify(w);
	assert_string_equal(w->said, "");
	assert_int_equal(store_head(w->s), 6);
}

static void an_altered_entry_is_named(void **state)
{
	struct world *w = *state;

	assert_found(w, "UPDATE entry SET at = at + 1 WHERE n = 3",
		     "Entry 3 was altered");
	assert_int_equal(w->findings, 1);
	assert_found(w, "UPDATE entry SET at = at + 1 WHERE n = 1",
		     "Entry 1 was altered.");
	assert_found(w, "UPDATE entry SET at = at + 1 WHERE n = 6",
		     "Entry 6 was altered");
	assert_found(w, "UPDATE entry SET author = 1 WHERE n = 2",
		     "Entry 2 was altered");
	assert_found(w, "UPDATE entry SET author = NULL WHERE n = 2",
		     "Entry 2 was altered");
	assert_found(w, "UPDATE entry SET kind = 17 WHERE n = 2",
		     "Entry 2 was altered and cannot be read");
	assert_found(w, "UPDATE entry SET detail = x'' WHERE n = 2",
		     "Entry 2 was altered and cannot be read");
	assert_found(w, "UPDATE entry SET chain = zeroblob(32) WHERE n = 6",
		     "Entry 6, the newest, was altered");
}

static void an_altered_name_is_an_altered_entry(void **state)
{
	struct world *w = *state;

	assert_found(w, "UPDATE program SET comm = 'tee' WHERE comm = 'sed'",
		     "Entry 2 was altered");
	assert_found(w, "UPDATE author SET cmdline = '' WHERE pid = 20",
		     "Entry 2 was altered");
	assert_found(w, "UPDATE symbol SET name = 'lead' WHERE name = 'load'",
		     "Entry 2 was altered");
	assert_found(w, "UPDATE path SET path = 'd.py' WHERE path = 'c.py'",
		     "Entry 5 was altered");
	assert_found(w, "DELETE FROM author WHERE pid = 20",
		     "Entry 2 was altered and cannot be read");
	assert_found(w, "DELETE FROM symbol WHERE name = 'load'",
		     "Entry 2 was altered and cannot be read");
	assert_found(w, "DELETE FROM path WHERE path = 'c.py'",
		     "Entry 6 was altered and cannot be read");
	assert_found(w, "UPDATE author SET parent = id WHERE pid = 20",
		     "Entry 2 was altered and cannot be read");
}

static void a_removed_entry_is_named(void **state)
{
	struct world *w = *state;

	assert_found(w, "DELETE FROM entry WHERE n = 3", "Entry 3 is missing");
	assert_found(w, "DELETE FROM entry WHERE n IN (2, 3)",
		     "Entries 2 to 3 are missing");
	assert_found(w, "DELETE FROM entry WHERE n = 1", "Entry 1 is missing");
	assert_found(w, "DELETE FROM entry WHERE n = 6", "Entry 6 is missing");
	assert_found(w, "DELETE FROM entry", "Entries 1 to 6 are missing");
	assert_found(w, "DELETE FROM self", "damaged");
}

static void entries_in_another_order_are_named(void **state)
{
	struct world *w = *state;

	damage(w, "UPDATE entry SET n = 99 WHERE n = 3;"
		  "UPDATE entry SET n = 3 WHERE n = 5;"
		  "UPDATE entry SET n = 5 WHERE n = 99");
	assert_non_null(strstr(w->said, "Entry 3 was altered"));
	assert_non_null(strstr(w->said, "Entry 5 was altered"));
	assert_found(w, "UPDATE entry SET n = 99 WHERE n = 3",
		     "Entry 99 does not belong to this tape");
}

static void contents_are_held_against_their_hashes(void **state)
{
	struct world *w = *state;

	assert_found(w,
		     "UPDATE content SET (text, size) ="
		     " (SELECT text, size FROM content WHERE id = 3)"
		     " WHERE id = 4",
		     "The content of 'a.py' as of entry 2 was altered.");
	assert_found(w, "UPDATE content SET text = x'00' WHERE id = 4",
		     "The content of 'a.py' as of entry 2 was altered");
	assert_found(w, "UPDATE content SET size = size + 1 WHERE id = 4",
		     "The content of 'a.py' as of entry 2 was altered");
	assert_found(w, "UPDATE content SET size = 99999999 WHERE id = 4",
		     "The content of 'a.py' as of entry 2 was altered");
	assert_found(w, "UPDATE content SET text = x'00' WHERE id = 2",
		     "The content of 'still.py' before its first entry");
	assert_found(w, "DELETE FROM content WHERE id = 4",
		     "The content of 'a.py' as of entry 2 is missing.");
	assert_found(w, "DELETE FROM content WHERE id = 2",
		     "holds 5 contents, and should hold 6");
	assert_found(w, "UPDATE content SET hash = x'00' WHERE id = 4",
		     "A content has no hash");
}

static void the_indices_are_held_against_the_entries(void **state)
{
	struct world *w = *state;

	assert_found(w, "DELETE FROM touch WHERE how = 1",
		     "Entry 2 is not found by its symbol 'pkg.sub.save'");
	assert_found(w, "INSERT INTO touch VALUES (1, 0, 5)",
		     "The index of symbols has 3 rows");
	assert_found(w, "UPDATE file SET hash = zeroblob(16) WHERE path = 1",
		     "'base.py' does not match its newest entry");
	assert_found(w, "DELETE FROM file WHERE path = 1",
		     "'base.py' is missing: its newest entry left a file");
	assert_found(w, "UPDATE path SET base = NULL WHERE path = 'base.py'",
		     "'base.py' before its first entry");
	assert_found(w, "UPDATE path SET base = NULL WHERE path = 'still.py'",
		     "'still.py' before the tape");
}

static void put_merged(struct world *w)
{
	const struct journal_author *authors[] = { NULL, &sed };
	struct entry e = change("c.py", NULL, "merged");

	e.author = &sed;
	e.authors = authors;
	e.authors_count = 2;
	put_change(w->s, &e, "merged");
}

static void the_authors_of_a_merged_entry_are_held_against_it(void **state)
{
	struct world *w = *state;

	put_merged(w);
	verify(w);
	assert_int_equal(w->findings, 0);
	assert_found(w, "DELETE FROM merged",
		     "The index of merged entries has 0 rows");
	assert_found(w,
		     "UPDATE entry SET detail = substr(detail, 1,"
		     " length(detail) - 3) WHERE n = 7",
		     "Entry 7 was altered");
}

/* Another value of the same kind. */
static const char alter[] =
	"UPDATE %s SET %s = CASE typeof(%s) WHEN 'integer' THEN %s + 1"
	" WHEN 'text' THEN %s || 'x' WHEN 'null' THEN 1"
	" ELSE CAST(substr(%s, 1, length(%s) - 1) || CASE substr(%s, -1)"
	" WHEN x'00' THEN x'01' ELSE x'00' END AS BLOB) END"
	" WHERE rowid = (SELECT rowid FROM %s LIMIT 1 OFFSET %d)";

/*
 * Not detectable: the name of a file without an entry (the last in the
 * alphabet), because only its content is recorded twice, and the time stamps of
 * a file, which are recorded once.
 */
static const struct {
	const char *table, *column;
	int rows;
} values[] = {
	{ "self", "n", 1 },	    { "self", "chain", 1 },
	{ "self", "first", 1 },	    { "self", "root", 1 },
	{ "self", "journal", 1 },   { "self", "contents", 1 },
	{ "self", "whole", 1 },	    { "self", "sum", 1 },
	{ "path", "path", 4 },	    { "path", "base", 1 },
	{ "symbol", "name", 2 },    { "symbol", "scope", 2 },
	{ "author", "pid", 2 },	    { "author", "start", 2 },
	{ "author", "uid", 2 },	    { "author", "program", 2 },
	{ "author", "cmdline", 2 }, { "program", "comm", 2 },
	{ "program", "exe", 2 },    { "author", "parent", 1 },
	{ "author", "root", 2 },    { "entry", "at", 6 },
	{ "entry", "kind", 6 },	    { "entry", "path", 6 },
	{ "entry", "path2", 6 },    { "entry", "author", 6 },
	{ "entry", "before", 6 },   { "entry", "after", 6 },
	{ "entry", "chain", 6 },    { "entry", "detail", 6 },
	{ "content", "hash", 6 },   { "content", "size", 6 },
	{ "content", "text", 6 },   { "file", "hash", 3 },
};

static void assert_counts(struct world *w, const char *t, const char *c,
			  int row)
{
	char sql[512];

	/* NOLINTNEXTLINE: the format is above. */
	(void)snprintf(sql, sizeof(sql), alter, t, c, c, c, c, c, c, c, t, row);
	damage(w, sql);
	if (w->findings == 0)
		fail_msg("%s.%s of row %d", t, c, row);
}

static void every_value_of_every_row_counts(void **state)
{
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
		for (int row = 0; row < values[i].rows; row++)
			assert_counts(*state, values[i].table, values[i].column,
				      row);
}

static int pass(const struct entry *e, void *arg)
{
	(void)arg;
	return e->n == 0;
}

/* Random bytes of the database file: verify must not crash, and must return. */
static void a_flipped_byte_never_crashes_it(void **state)
{
	struct world *w = *state;
	struct store_filter all = { 0 };
	struct stat st;
	off_t step;
	int fd, rc;

	world_close(w);
	assert_int_equal(stat(w->path, &st), 0);
	step = st.st_size / 400 + 1;
	for (off_t at = 0; at < st.st_size; at += step) {
		unsigned char byte, other;

		fd = open(w->path, O_RDWR);
		assert_int_equal(pread(fd, &byte, 1, at), 1);
		other = byte ^ 0x55;
		assert_int_equal(pwrite(fd, &other, 1, at), 1);
		(void)close(fd);
		rc = store_open(w->path, STORE_READ, &w->s, &w->why);
		if (rc == 0) {
			w->said[0] = '\0';
			(void)store_verify(w->s, world_found, w);
			(void)store_select(w->s, &all, 99, pass, NULL);
		} else {
			assert_non_null(w->why);
		}
		world_close(w);
		free(w->why);
		w->why = NULL;
		fd = open(w->path, O_RDWR);
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
		(void)close(fd);
	}
	world_open(w, STORE_WRITE);
	verify(w);
	assert_string_equal(w->said, "");
}

static void a_file_cut_short_is_no_store_or_a_damaged_one(void **state)
{
	struct world *w = *state;
	char *kept = beside(w, ".kept");
	struct stat st;

	world_close(w);
	copy_file(w->path, kept);
	assert_int_equal(stat(w->path, &st), 0);
	for (off_t size = 1; size < st.st_size; size += 2011) {
		copy_file(kept, w->path);
		assert_int_equal(truncate(w->path, size), 0);
		if (store_open(w->path, STORE_READ, &w->s, &w->why) == 0) {
			verify(w);
			assert_true(w->findings > 0);
		} else {
			assert_non_null(w->why);
		}
		world_close(w);
		free(w->why);
		w->why = NULL;
	}
	free(kept);
}

static void assert_refused(struct world *w, const char *sql, int rc,
			   const char *why)
{
	world_close(w);
	run_sql(w->path, sql);
	assert_int_equal(store_open(w->path, STORE_WRITE, &w->s, &w->why), rc);
	assert_non_null(strstr(w->why, why));
	free(w->why);
	w->why = NULL;
	assert_int_equal(store_open(w->path, STORE_READ, &w->s, NULL), rc);
}

static void a_newer_programs_store_is_refused(void **state)
{
	assert_refused(*state, "PRAGMA user_version = 3", -EPROTONOSUPPORT,
		       "has format 3, and this program knows 2: it was "
		       "written by a newer one");
}

static void another_programs_database_is_refused(void **state)
{
	assert_refused(*state, "PRAGMA application_id = 1", -EBADMSG,
		       "is a database of another program");
}

static void a_store_without_its_tables_is_refused(void **state)
{
	assert_refused(*state, "DROP TABLE self", -EBADMSG,
		       "no such table: self");
}

static void a_file_that_is_no_database_is_refused(void **state)
{
	struct world *w = *state;
	FILE *f;

	world_close(w);
	f = fopen(w->path, "w");
	assert_non_null(f);
	for (int i = 0; i < 1000; i++)
		(void)fprintf(f, "This is a text and no database.\n");
	(void)fclose(f);
	assert_int_equal(store_open(w->path, STORE_WRITE, &w->s, &w->why),
			 -EBADMSG);
	assert_non_null(strstr(w->why, "not a database"));
}

static void verifying_within_a_transaction_is_refused(void **state)
{
	struct world *w = *state;

	assert_int_equal(store_begin(w->s), 0);
	assert_int_equal(store_verify(w->s, world_found, w), -EINVAL);
	assert_int_equal(store_commit(w->s), 0);
}

#define T(test) cmocka_unit_test_setup_teardown(test, setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(an_intact_store_has_no_findings),
		T(an_altered_entry_is_named),
		T(an_altered_name_is_an_altered_entry),
		T(a_removed_entry_is_named),
		T(entries_in_another_order_are_named),
		T(contents_are_held_against_their_hashes),
		T(the_indices_are_held_against_the_entries),
		T(the_authors_of_a_merged_entry_are_held_against_it),
		T(every_value_of_every_row_counts),
		T(a_flipped_byte_never_crashes_it),
		T(a_file_cut_short_is_no_store_or_a_damaged_one),
		T(a_newer_programs_store_is_refused),
		T(another_programs_database_is_refused),
		T(a_store_without_its_tables_is_refused),
		T(a_file_that_is_no_database_is_refused),
		T(verifying_within_a_transaction_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
