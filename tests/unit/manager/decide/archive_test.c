/* What the archive keeps of requests, for how long, and of which version. */
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "graph/base/cleanup.h"
#include "manager/decide/archive.h"
#include "manager/decide/archive_i.h"
#include "tests/support/scratch.h"

/* The tables of version 1, with a request of conversation "old". */
static const char version_1[] =
	"CREATE TABLE conversation(key TEXT PRIMARY KEY, client,"
	" model, subagent, subscription, refused, stopped, requests,"
	" since_epoch, last_n, used_ns, heads TEXT, hashes BLOB,"
	" since_begin, reply_ns, nominated,"
	" usage_input INT DEFAULT 0, usage_read INT DEFAULT 0,"
	" usage_written INT DEFAULT 0) WITHOUT ROWID;"
	"CREATE TABLE record(conversation TEXT, key TEXT,"
	" data TEXT, text BLOB, PRIMARY KEY(conversation, key)) WITHOUT ROWID;"
	"CREATE TABLE pin(conversation TEXT, key TEXT,"
	" about TEXT, text BLOB, PRIMARY KEY(conversation, key)) WITHOUT ROWID;"
	"CREATE TABLE request(id INTEGER PRIMARY KEY,"
	" conversation TEXT, at_ns, n, outcome, epoch, received, sent, held,"
	" stale, refreshed, dropped, rerun, notes, evicted, retrieved, told,"
	" placed, cost_with, cost_without, rewritten, latency_us);"
	"CREATE TABLE counter(name TEXT PRIMARY KEY, n) WITHOUT ROWID;"
	"INSERT INTO request VALUES(1,'old',5,0,'rewritten','none',100,120,"
	"50,30,0,0,0,20,0,0,1,0,1.5,2.5,0,7);"
	"PRAGMA user_version=1;";

static char *dir;
static char path[PATH_MAX];

static int make_directory(void **state)
{
	(void)state;
	dir = scratch_new();
	assert_non_null(dir);
	(void)snprintf(path, sizeof(path), "%s/" ARCHIVE_NAME, dir);
	return 0;
}

static int remove_directory(void **state)
{
	(void)state;
	scratch_free(dir);
	return 0;
}

static void run_sql(const char *sql)
{
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static struct archive *open_archive(bool write)
{
	struct archive *m = NULL;

	assert_int_equal(archive_open(dir, write, &m, NULL), 0);
	return m;
}

/* Request `n` of conversation "c", with one decision whose text is `text`. */
static int64_t save(struct archive *m, uint32_t n, const char *text)
{
	struct conversation *c = conversation_new("c");
	struct decided_list l = { 0 };
	struct archive_request r = { .at_ns = 1,
				     .request = n,
				     .outcome = "rewritten",
				     .epoch = "none",
				     .received = 10,
				     .notes_sent = 3,
				     .decided = &l };

	decided_add(&l,
		    &(struct decided){ .key = "toolu_1",
				       .what = "a.py:1-9",
				       .why = "it changed",
				       .action = "REFRESH",
				       .form = "changes",
				       .place = DECIDED_NOTE,
				       .entry = 7,
				       .before = 100,
				       .after = strlen(text) },
		    text, strlen(text));
	assert_int_equal(archive_save(m, c, &r), 0);
	decided_release(&l);
	conversation_free(c);
	return r.id;
}

struct seen {
	uint32_t count, decisions;
	size_t len;
};

static void look(void *ctx, const struct archive_request *r)
{
	struct seen *s = ctx;

	s->count++;
	if (!r->decided || !r->decided->at.count)
		return;
	s->decisions = r->decided->at.count;
	s->len = r->decided->at.at[0].len;
	assert_string_equal(r->decided->at.at[0].what, "a.py:1-9");
	assert_string_equal(r->decided->at.at[0].action, "REFRESH");
	assert_int_equal(r->decided->at.at[0].place, DECIDED_NOTE);
	assert_int_equal(r->decided->at.at[0].entry, 7);
	assert_int_equal(r->notes_sent, 3);
	assert_null(r->withheld);
}

static void look_withheld(void *ctx, const struct archive_request *r)
{
	(void)ctx;
	assert_string_equal(r->withheld, "refused upstream");
}

static void a_decision_is_read_back_as_it_was_saved(void **state)
{
	struct archive *m = open_archive(true);
	struct seen s = { 0 };

	(void)state;
	(void)save(m, 0, "one");
	(void)save(m, 1, "three");
	assert_int_equal(archive_explain(m, "c", 1, look, &s), 0);
	assert_int_equal(s.decisions, 1);
	assert_int_equal(s.len, 5);
	assert_int_equal(archive_explain(m, "c", 2, look, &s), -ENOENT);
	assert_int_equal(archive_explain(m, "d", 0, look, &s), -ENOENT);
	s.count = 0;
	assert_int_equal(archive_requests(m, "c", look, &s), 0);
	assert_int_equal(s.count, 2);
	archive_free(m);
}

static void a_text_is_cut_between_two_characters(void **state)
{
	struct archive *m = open_archive(true);
	CLEANUP(free_p) char *text = malloc((size_t)3 * DECIDED_TEXT_MAX + 1);
	struct seen s = { 0 };

	(void)state;
	for (size_t i = 0; i < DECIDED_TEXT_MAX; i++)
		memcpy(text + 3 * i, "\xe2\x82\xac", 3);
	text[(size_t)3 * DECIDED_TEXT_MAX] = '\0';
	(void)save(m, 0, text);
	assert_int_equal(archive_explain(m, "c", 0, look, &s), 0);
	assert_int_equal(s.len, DECIDED_TEXT_MAX - DECIDED_TEXT_MAX % 3);
	archive_free(m);
}

static void a_list_has_a_maximum(void **state)
{
	static char text[DECIDED_TEXT_MAX];
	const struct decided d = { .action = "DROP", .form = "" };
	struct decided_list l = { 0 };

	(void)state;
	memset(text, 'x', sizeof(text));
	for (int i = 0; i < DECIDED_MOST + 3; i++)
		decided_add(&l, &d, text, sizeof(text));
	assert_int_equal(l.at.count, DECIDED_MOST);
	assert_int_equal(l.bytes, DECIDED_TEXT_ALL);
	decided_release(&l);
}

static void what_was_refused_is_said_of_its_request(void **state)
{
	struct archive *m = open_archive(true);
	struct archive_request r = { .id = 0 };

	(void)state;
	r.id = save(m, 0, "one");
	archive_withheld(m, &r, "refused upstream");
	assert_int_equal(archive_explain(m, "c", 0, look_withheld, NULL), 0);
	archive_free(m);
}

static void decisions_go_with_their_requests(void **state)
{
	struct archive *m = open_archive(true);
	struct seen s = { 0 };
	char sql[256];

	(void)state;
	(void)save(m, 0, "one");
	(void)snprintf(sql, sizeof(sql),
		       "INSERT INTO request(id, conversation, n)"
		       " VALUES(%d, 'c', 1)",
		       (ARCHIVE_REQUESTS / 256 + 1) * 256 - 1);
	run_sql(sql);
	/* The next id is a multiple of 256, and more than are kept. */
	assert_int_equal(save(m, 2, "three") % 256, 0);
	assert_int_equal(archive_explain(m, "c", 0, look, &s), -ENOENT);
	assert_int_equal(archive_explain(m, "c", 1, look, &s), 0);
	assert_int_equal(archive_explain(m, "c", 2, look, &s), 0);
	archive_free(m);
	run_sql("CREATE TEMP TABLE one(n CHECK(n=1));"
		"INSERT INTO one SELECT count(*) FROM decision;");
}

static void an_archive_of_version_1_goes_on(void **state)
{
	struct archive_sums sums;
	struct archive *m;
	struct seen s = { 0 };

	(void)state;
	run_sql(version_1);
	/* To read it changes nothing, and there is nothing to explain. */
	m = open_archive(false);
	assert_int_equal(archive_sum(m, 0, false, &sums), 0);
	assert_int_equal(sums.requests, 1);
	assert_int_equal(sums.sent, 120);
	assert_int_equal(archive_explain(m, "old", 0, look, &s), -ENOTSUP);
	assert_int_equal(archive_requests(m, "old", look, &s), -ENOTSUP);
	archive_free(m);

	for (int again = 0; again < 2; again++) {
		m = open_archive(true);
		assert_int_equal(archive_explain(m, "old", 0, look, &s), 0);
		assert_int_equal(s.decisions, 0);
		archive_free(m);
	}
	m = open_archive(true);
	(void)save(m, 0, "one");
	assert_int_equal(archive_explain(m, "c", 0, look, &s), 0);
	assert_int_equal(s.decisions, 1);
	assert_int_equal(archive_sum(m, 0, false, &sums), 0);
	assert_int_equal(sums.requests, 2);
	archive_free(m);
}

static void only_its_owner_may_read_it(void **state)
{
	struct stat st;

	(void)state;
	for (int i = 0; i < 2; i++) {
		archive_free(open_archive(true));
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_mode & 0777, 0600);
		/* As an older program may have left it. */
		assert_int_equal(chmod(path, 0644), 0);
	}
}

#define DAY (86400 * INT64_C(1000000000))

/* A conversation with one record, last used at `at_ns`. */
static void save_used(struct archive *m, const char *key, int64_t at_ns,
		      const char *text)
{
	struct conversation *c = conversation_new(key);
	struct archive_request r = { .at_ns = at_ns,
				     .outcome = "rewritten",
				     .epoch = "none" };
	struct held *h = conversation_hold(c, "toolu_1");

	h->text = strdup(text);
	h->len = strlen(text);
	h->changed = true;
	assert_int_equal(archive_save(m, c, &r), 0);
	conversation_free(c);
}

static bool is_kept(struct archive *m, const char *key)
{
	struct conversation *c = conversation_new(key);
	bool kept = archive_load(m, c) == 0;

	assert_int_equal(kept, conversation_find(c, "toolu_1") != NULL);
	conversation_free(c);
	return kept;
}

static void conversations_that_ended_are_forgotten(void **state)
{
	struct archive *m = open_archive(true);

	(void)state;
	save_used(m, "old", 69 * DAY, "x");
	save_used(m, "new", 71 * DAY, "y");
	assert_int_equal(archive_keep(m, 0, 0, 100 * DAY), 0);
	assert_true(is_kept(m, "old"));
	assert_int_equal(archive_keep(m, 30, 0, 100 * DAY), 0);
	assert_false(is_kept(m, "old"));
	assert_true(is_kept(m, "new"));
	archive_free(m);
}

static void its_size_has_a_limit(void **state)
{
	const uint64_t limit = 2 << 20;
	struct archive *m = open_archive(true);
	char *text = malloc(64 << 10), key[16];
	struct stat st;

	(void)state;
	memset(text, 'x', 64 << 10);
	text[(64 << 10) - 1] = '\0';
	for (int i = 0; i < 200; i++) {
		(void)snprintf(key, sizeof(key), "c%d", i);
		save_used(m, key, 50 * DAY + i, text);
		if (i % 16 == 0)
			assert_int_equal(archive_keep(m, 30, limit, 51 * DAY),
					 0);
	}
	assert_int_equal(archive_keep(m, 30, limit, 51 * DAY), 0);
	assert_false(is_kept(m, "c0"));
	assert_true(is_kept(m, "c199"));
	/* One that may go on is not deleted. */
	save_used(m, "live", 51 * DAY, text);
	assert_int_equal(archive_keep(m, 30, 1, 51 * DAY), 0);
	assert_true(is_kept(m, "live"));
	assert_false(is_kept(m, "c199"));
	archive_free(m);
	assert_int_equal(stat(path, &st), 0);
	assert_in_range(st.st_size, 1, 3 * limit);
	free(text);
}

static void a_newer_programs_archive_is_refused(void **state)
{
	struct archive *m = NULL;

	(void)state;
	run_sql("PRAGMA user_version=4;");
	assert_int_equal(archive_open(dir, true, &m, NULL), -EBADMSG);
	assert_int_equal(archive_open(dir, false, &m, NULL), -EBADMSG);
}

#define IN_DIRECTORY(test) \
	cmocka_unit_test_setup_teardown(test, make_directory, remove_directory)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_DIRECTORY(a_decision_is_read_back_as_it_was_saved),
		IN_DIRECTORY(a_text_is_cut_between_two_characters),
		IN_DIRECTORY(only_its_owner_may_read_it),
		IN_DIRECTORY(conversations_that_ended_are_forgotten),
		IN_DIRECTORY(its_size_has_a_limit),
		cmocka_unit_test(a_list_has_a_maximum),
		IN_DIRECTORY(what_was_refused_is_said_of_its_request),
		IN_DIRECTORY(decisions_go_with_their_requests),
		IN_DIRECTORY(an_archive_of_version_1_goes_on),
		IN_DIRECTORY(a_newer_programs_archive_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
