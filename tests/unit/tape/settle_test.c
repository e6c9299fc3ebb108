#include "tape/settle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tape/content.h"
#include "tape/journal/journal.h"

#define MS UINT64_C(1000000)

/* Lines by hand: each has the next number, and the time is the test's. */
static struct settle *settle;
static struct content_pool pool;
static uint64_t number;
static uint64_t now;

static struct journal_author vim = { .pid = 10, .comm = "vim" };
static struct journal_author cat = { .pid = 11, .comm = "cat", .parent = &vim };
static struct journal_author sed = { .pid = 20, .comm = "sed" };

static const char *known;	 /* the one name the tape knows */
static const char *const *below; /* and those in directories, NULL at the end */

static bool is_known(void *ctx, const char *path)
{
	(void)ctx;
	return known && strcmp(known, path) == 0;
}

static void known_below(void *ctx, const char *dir, settle_visit *visit,
			void *arg)
{
	size_t len = strlen(dir);

	(void)ctx;
	for (const char *const *p = below; p && *p; p++)
		if (strncmp(*p, dir, len) == 0 && (*p)[len] == '/')
			visit(arg, *p);
}

static int set_up(void **state)
{
	(void)state;
	known = NULL;
	below = NULL;
	settle = settle_new(
		&(struct settle_known){ .has = is_known, .below = known_below },
		&pool);
	number = 0;
	now = 1000 * MS;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	settle_free(settle);
	return 0;
}

static void line(struct journal_author *a, enum journal_op op, const char *path,
		 const char *path2, const char *detail)
{
	struct journal_line l = {
		.n = number + 1,
		.mono_ns = now,
		.wall_ns = 5001 + number,
		.event = { .op = op,
			   .path = path,
			   .path2 = path2,
			   .detail = detail,
			   .pid = a->pid,
			   .author = a },
	};

	number++;
	settle_line(settle, &l);
}

static void write_to(struct journal_author *a, const char *path)
{
	line(a, JOURNAL_WRITE, path, NULL, NULL);
}

static void close_of(struct journal_author *a, const char *path)
{
	line(a, JOURNAL_CLOSE, path, NULL, "wrote");
}

static void new_file(struct journal_author *a, const char *path)
{
	line(a, JOURNAL_CREATE, path, NULL, NULL);
	write_to(a, path);
	close_of(a, path);
}

static void rename_to(struct journal_author *a, const char *from,
		      const char *to)
{
	line(a, JOURNAL_RENAME, from, to, NULL);
}

static void move_directory(struct journal_author *a, const char *from,
			   const char *to)
{
	line(a, JOURNAL_RENAME, from, to, JOURNAL_DIRECTORY);
}

static void unlink_of(struct journal_author *a, const char *path)
{
	line(a, JOURNAL_UNLINK, path, NULL, NULL);
}

/* Read as the tape does: every file holds the number of the newest line. */
static void read_contents(uint64_t upto)
{
	const struct settle_want *w;
	size_t n = settle_wanted(settle, now, upto, &w);
	char text[32];
	struct look l = { .kind = LOOK_FILE, .text = text };

	l.len = (size_t)snprintf(text, sizeof(text), "%d", (int)number);
	for (size_t i = 0; i < n; i++)
		content_fill(w[i].content, &l, false, number, now);
	settle_published(settle, now);
	settle_heard(settle, now);
}

static size_t take_upto(uint64_t at, uint64_t upto, size_t most,
			const struct settled **ret)
{
	read_contents(upto);
	return settle_take(settle, at, upto, most, ret);
}

static size_t take(bool all, const struct settled **ret)
{
	return take_upto(now, all ? UINT64_MAX : 0, SIZE_MAX, ret);
}

static size_t take_path(const char *path, const struct settled **ret)
{
	read_contents(UINT64_MAX);
	return settle_take_path(settle, path, ret);
}

static void assert_nothing_now(void)
{
	const struct settled *got;

	assert_int_equal(take(false, &got), 0);
}

/* What has settled now is this path alone. */
static const struct settled *expect_one(const char *path, const char *from)
{
	const struct settled *got;

	assert_int_equal(take(false, &got), 1);
	assert_string_equal(got->path, path);
	if (from)
		assert_string_equal(got->from, from);
	else
		assert_null(got->from);
	return got;
}

static const struct settled *find(const struct settled *s, size_t n,
				  const char *path)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(s[i].path, path) == 0)
			return &s[i];
	fail_msg("nothing about %s", path);
	abort(); /* not reached */
}

static void a_file_written_in_place_settles_when_it_is_closed(void **state)
{
	const struct settled *got;

	(void)state;
	write_to(&vim, "a");
	assert_nothing_now();
	assert_int_equal(settle_oldest(settle), 1);
	close_of(&vim, "a");
	got = expect_one("a", "a");
	assert_ptr_equal(got->author, &vim);
	assert_int_equal(got->first, 1);
	assert_int_equal(got->last, 2);
	assert_int_equal(got->at_ns, 5002);
	assert_int_equal(settle_pending(settle), 0);
	assert_int_equal(settle_due(settle), 0);
	assert_int_equal(settle_oldest(settle), 0);
}

static void what_is_truncated_by_name_is_finished(void **state)
{
	const struct settled *got;

	(void)state;
	line(&vim, JOURNAL_TRUNCATE, "a", NULL, JOURNAL_BY_NAME);
	assert_ptr_equal(expect_one("a", "a")->author, &vim);
	/* The next change comes after its content was read. */
	line(&vim, JOURNAL_TRUNCATE, "a", NULL, JOURNAL_BY_NAME);
	read_contents(0);
	write_to(&sed, "a");
	close_of(&sed, "a");
	assert_int_equal(take(false, &got), 2);
	assert_ptr_equal(got[0].author, &vim);
	assert_ptr_equal(got[1].author, &sed);
	assert_false(got[0].merged || got[1].merged);
}

static void what_was_kept_is_finished_though_its_close_comes_late(void **state)
{
	const struct settled *got;
	struct journal_line keep = { .event = { .op = JOURNAL_KEEP,
						.path = "a",
						.path2 = "1-1",
						.pid = vim.pid,
						.author = &vim } };

	(void)state;
	line(&vim, JOURNAL_TRUNCATE, "a", NULL, "open");
	write_to(&vim, "a");
	keep.event.off = (int64_t)number;
	keep.n = ++number;
	keep.mono_ns = now;
	settle_line(settle, &keep);
	line(&vim, JOURNAL_TRUNCATE, "a", NULL, "open");
	write_to(&vim, "a");
	close_of(&vim, "a");
	close_of(&vim, "a");
	assert_int_equal(take(false, &got), 2);
	assert_string_equal(got[0].content->kept, "1-1");
	assert_false(got[0].merged || got[1].merged);
}

static void the_last_of_several_writers_settles_it(void **state)
{
	(void)state;
	line(&vim, JOURNAL_TRUNCATE, "a", NULL, "open");
	line(&sed, JOURNAL_TRUNCATE, "a", NULL, "open");
	write_to(&vim, "a");
	close_of(&vim, "a");
	assert_nothing_now();
	write_to(&sed, "a");
	close_of(&sed, "a");
	assert_ptr_equal(expect_one("a", "a")->author, &sed);
}

static void a_writer_whose_open_was_not_told_counts_by_his_writes(void **state)
{
	(void)state;
	write_to(&vim, "a");
	write_to(&sed, "a");
	close_of(&vim, "a");
	assert_nothing_now();
	close_of(&sed, "a");
	(void)expect_one("a", "a");
}

static void an_open_file_settles_after_the_quiet_time(void **state)
{
	(void)state;
	write_to(&vim, "a");
	assert_int_equal(settle_due(settle), now + SETTLE_QUIET_NS);
	now += SETTLE_QUIET_NS - 1;
	assert_nothing_now();
	now += 1;
	(void)expect_one("a", "a");
}

static void a_file_written_for_ever_settles_in_the_end(void **state)
{
	const struct settled *got;
	uint64_t began = now;

	(void)state;
	do {
		write_to(&vim, "a");
		now += 10 * MS;
	} while (take(false, &got) == 0);
	assert_int_equal(now, began + SETTLE_LONGEST_NS);
}

static void everything_is_there_for_who_asks(void **state)
{
	const struct settled *got;

	(void)state;
	line(&vim, JOURNAL_CREATE, "b", NULL, NULL);
	write_to(&vim, "a");
	assert_int_equal(take(true, &got), 2);
	assert_string_equal(got[0].path, "b");
	assert_null(got[0].from);
	assert_string_equal(got[1].path, "a");
}

static void an_atomic_save_is_a_change_of_its_target_by_the_writer(void **state)
{
	const struct settled *got;

	(void)state;
	known = "a";
	new_file(&sed, "tmp");
	assert_nothing_now();
	rename_to(&vim, "tmp", "a");
	got = expect_one("a", "a");
	assert_ptr_equal(got->author, &sed);
	assert_int_equal(got->first, 1);
	assert_int_equal(got->last, 4);
	assert_int_equal(settle_pending(settle), 0);
}

static void a_backup_by_renaming_leaves_an_edit_and_a_new_file(void **state)
{
	const struct settled *got;
	size_t n;

	(void)state;
	rename_to(&vim, "a", "a~");
	new_file(&vim, "a");
	(void)expect_one("a", "a");
	now += SETTLE_QUIET_NS;
	n = take(false, &got);
	assert_int_equal(n, 1);
	assert_null(find(got, n, "a~")->from);
}

static void a_backup_that_is_removed_waits_for_its_file(void **state)
{
	(void)state;
	rename_to(&vim, "a", "a~");
	now += 40 * MS;
	line(&vim, JOURNAL_CREATE, "a", NULL, NULL);
	now += 20 * MS;
	/* The backup is quiet for long enough, but its file is not. */
	assert_nothing_now();
	write_to(&vim, "a");
	close_of(&vim, "a");
	unlink_of(&vim, "a~");
	(void)expect_one("a", "a");
	assert_true(settle_pending(settle) == 0);
}

/* However long the rest waits: the file is where it is, and not gone. */
static void a_backup_that_is_removed_says_nothing_of_its_file(void **state)
{
	const struct settled *got;
	size_t n;

	(void)state;
	rename_to(&vim, "a", "a~");
	new_file(&vim, "a");
	unlink_of(&vim, "a~");
	rename_to(&vim, "a", "b");
	n = take(true, &got);
	assert_int_equal(n, 2);
	assert_string_equal(find(got, n, "b")->from, "a");
	assert_false(find(got, n, "b")->gone);
	assert_true(find(got, n, "a")->gone);
}

static void removed_and_made_anew_is_a_change(void **state)
{
	(void)state;
	unlink_of(&sed, "a");
	assert_nothing_now();
	new_file(&sed, "a");
	(void)expect_one("a", "a");
}

static void a_file_that_comes_and_goes_leaves_nothing(void **state)
{
	const struct settled *got;

	(void)state;
	new_file(&sed, "tmp");
	unlink_of(&sed, "tmp");
	assert_int_equal(take(true, &got), 0);
	assert_int_equal(settle_oldest(settle), 0);
}

/* Its lines are read again, after a restart. */
static void a_file_that_was_known_is_not_made_anew(void **state)
{
	const struct settled *got;

	(void)state;
	known = "tmp";
	new_file(&sed, "tmp");
	unlink_of(&sed, "tmp");
	assert_int_equal(take(true, &got), 1);
	assert_string_equal(got->from, "tmp");
	new_file(&sed, "tmp");
	rename_to(&sed, "tmp", "a");
	assert_int_equal(take(true, &got), 2);
}

static void another_mode_settles_with_the_author_of_the_text(void **state)
{
	(void)state;
	known = "a.py";
	line(&vim, JOURNAL_CHMOD, "a.py", NULL, "mode=755");
	assert_ptr_equal(expect_one("a.py", "a.py")->author, &vim);
	write_to(&sed, "a.py");
	line(&vim, JOURNAL_CHMOD, "a.py", NULL, "mode=644");
	assert_nothing_now();
	close_of(&sed, "a.py");
	assert_ptr_equal(expect_one("a.py", "a.py")->author, &sed);
}

static void a_removed_file_settles_after_the_quiet_time(void **state)
{
	(void)state;
	unlink_of(&sed, "a");
	assert_nothing_now();
	now += SETTLE_QUIET_NS;
	assert_ptr_equal(expect_one("a", "a")->author, &sed);
}

static void a_move_knows_the_first_name(void **state)
{
	const struct settled *got;
	size_t n;

	(void)state;
	rename_to(&vim, "a", "b");
	rename_to(&vim, "b", "c");
	n = take(true, &got);
	assert_int_equal(n, 2);
	assert_string_equal(find(got, n, "c")->from, "a");
	assert_true(find(got, n, "a")->gone);
}

static void what_moved_to_a_new_name_is_not_new(void **state)
{
	const struct settled *got, *c;
	size_t n;

	(void)state;
	known = "a";
	new_file(&vim, "b");
	rename_to(&vim, "a", "b");
	rename_to(&vim, "b", "c");
	n = take(true, &got);
	c = find(got, n, "c");
	assert_string_equal(c->from, "a");
	assert_false(c->wrote);
	assert_true(find(got, n, "a")->gone);
}

/* A version of the new name will be on the tape, because the file that replaced
   it brought a cut one along. */
static void a_new_name_with_a_version_is_removed_from_the_tape(void **state)
{
	const struct settled *got, *last = NULL;
	size_t n;

	(void)state;
	known = "a";
	write_to(&sed, "a");
	close_of(&sed, "a");
	read_contents(UINT64_MAX);
	write_to(&vim, "a");
	close_of(&vim, "a");
	new_file(&vim, "b");
	read_contents(UINT64_MAX);
	rename_to(&vim, "a", "b");
	unlink_of(&vim, "b");
	n = take(true, &got);
	for (size_t i = 0; i < n; i++)
		if (strcmp(got[i].path, "b") == 0)
			last = &got[i];
	assert_true(!last || last->gone);
}

/* Its first file went on to other names, and was removed there. */
static void a_name_that_is_made_anew_is_not_removed(void **state)
{
	const struct settled *got;
	size_t n;

	(void)state;
	known = "a";
	rename_to(&vim, "a", "b");
	rename_to(&vim, "b", "c");
	new_file(&vim, "b");
	new_file(&vim, "a");
	n = take_path("a", &got);
	assert_false(find(got, n, "a")->gone);
	rename_to(&vim, "c", "d");
	unlink_of(&vim, "d");
	n = take(true, &got);
	for (size_t i = 0; i < n; i++)
		assert_false(got[i].from && strcmp(got[i].from, "a") == 0);
}

static void what_moves_home_again_is_where_it_was(void **state)
{
	const struct settled *got;
	size_t n;

	(void)state;
	rename_to(&vim, "a", "b");
	rename_to(&vim, "b", "a");
	n = take(true, &got);
	assert_int_equal(n, 1);
	assert_string_equal(find(got, n, "a")->from, "a");
	assert_false(find(got, n, "a")->gone);
}

static void an_exchange_is_two_changes(void **state)
{
	const struct settled *got;
	size_t n;

	(void)state;
	line(&vim, JOURNAL_EXCHANGE, "a", "b", NULL);
	n = take(true, &got);
	assert_int_equal(n, 2);
	assert_true(find(got, n, "a")->wrote);
	assert_true(find(got, n, "b")->wrote);
}

static void a_directory_moves_with_what_is_dirty_in_it(void **state)
{
	static const char *const files[] = { "d/x", "d/p/y", "dd/z", NULL };
	const struct settled *got;
	size_t n;

	(void)state;
	below = files;
	write_to(&sed, "d/x");
	new_file(&sed, "d/new");
	move_directory(&vim, "d", "e");
	write_to(&sed, "e/p/y");
	close_of(&sed, "e/p/y");
	n = take(true, &got);
	assert_string_equal(find(got, n, "e/x")->from, "d/x");
	assert_string_equal(find(got, n, "e/p/y")->from, "d/p/y");
	assert_ptr_equal(find(got, n, "e/p/y")->author, &vim);
	assert_null(find(got, n, "e/new")->from);
	assert_ptr_equal(find(got, n, "d/x")->author, &sed);
	assert_true(find(got, n, "d/p/y")->gone);
	assert_int_equal(settle_pending(settle), 0);
}

static void a_directory_that_moves_on_takes_a_save_along(void **state)
{
	static const char *const files[] = { "a/x", "a/y", NULL };
	const struct settled *got;
	size_t n;

	(void)state;
	below = files;
	move_directory(&vim, "a", "b");
	new_file(&vim, "b/tmp");
	rename_to(&vim, "b/tmp", "b/x");
	move_directory(&vim, "b", "d");
	n = take(true, &got);
	assert_int_equal(n, 4);
	assert_true(find(got, n, "d/x")->wrote);
	assert_string_equal(find(got, n, "d/x")->from, "a/x");
	assert_string_equal(find(got, n, "d/y")->from, "a/y");
	assert_true(find(got, n, "a/x")->gone);
	assert_true(find(got, n, "a/y")->gone);
}

static void directories_change_places_with_their_files(void **state)
{
	static const char *const files[] = { "a/both", "a/one", "b/both",
					     NULL };
	const struct settled *got;
	size_t n;

	(void)state;
	below = files;
	line(&vim, JOURNAL_EXCHANGE, "a", "b", JOURNAL_DIRECTORIES);
	n = take(true, &got);
	assert_int_equal(n, 4);
	assert_true(find(got, n, "a/both")->wrote);
	assert_true(find(got, n, "b/both")->wrote);
	assert_string_equal(find(got, n, "b/one")->from, "a/one");
	assert_true(find(got, n, "a/one")->gone);
}

static void what_is_to_come_can_be_asked(void **state)
{
	static const char *const files[] = { "d/y", NULL };
	const struct settled *got;

	(void)state;
	below = files;
	move_directory(&vim, "d", "e");
	assert_true(settle_has(settle, "e/y"));
	assert_true(settle_has(settle, "d/y"));
	assert_false(settle_has(settle, "d/z"));
	assert_true(settle_below(settle, "e"));
	(void)take(true, &got);
	assert_false(settle_has(settle, "e/y"));
}

static void a_failed_operation_changed_nothing(void **state)
{
	struct journal_line l = {
		.n = 1,
		.event = { .op = JOURNAL_UNLINK, .path = "a", .res = -2 }
	};

	(void)state;
	settle_line(settle, &l);
	assert_int_equal(settle_pending(settle), 0);
}

static void writes_to_a_file_without_a_name_are_nobodys(void **state)
{
	(void)state;
	line(&vim, JOURNAL_WRITE, "a", NULL, "deleted");
	assert_int_equal(settle_pending(settle), 0);
}

static void a_nameless_file_that_is_linked_is_new(void **state)
{
	(void)state;
	line(&vim, JOURNAL_LINK, "#123", "a", NULL);
	now += SETTLE_QUIET_NS;
	(void)expect_one("a", NULL);
}

static void the_handle_of_a_shell_is_closed_for_its_children(void **state)
{
	(void)state;
	line(&vim, JOURNAL_TRUNCATE, "a", NULL, "open");
	write_to(&cat, "a");
	close_of(&vim, "a");
	assert_ptr_equal(expect_one("a", "a")->author, &cat);
}

static void a_few_can_be_taken_at_a_time(void **state)
{
	const struct settled *got;

	(void)state;
	write_to(&vim, "a");
	write_to(&vim, "b");
	write_to(&vim, "c");
	write_to(&vim, "a");
	assert_int_equal(take_upto(0, UINT64_MAX, 2, &got), 2);
	assert_string_equal(got[0].path, "b");
	assert_string_equal(got[1].path, "c");
	assert_int_equal(settle_oldest(settle), 1);
	assert_int_equal(take_upto(0, UINT64_MAX, 2, &got), 1);
	assert_int_equal(settle_oldest(settle), 0);
}

static void a_move_is_not_taken_apart(void **state)
{
	const struct settled *got;

	(void)state;
	write_to(&vim, "a");
	rename_to(&vim, "a", "b");
	rename_to(&vim, "b", "c");
	write_to(&vim, "d");
	assert_int_equal(take_upto(0, UINT64_MAX, 1, &got), 2);
	assert_string_equal(find(got, 2, "c")->from, "a");
	assert_true(find(got, 2, "a")->gone);
	assert_int_equal(settle_pending(settle), 1);
}

static void what_is_older_than_a_line_can_be_taken(void **state)
{
	const struct settled *got;

	(void)state;
	write_to(&vim, "a");
	write_to(&vim, "b");
	write_to(&vim, "a");
	assert_int_equal(take_upto(0, 1, SIZE_MAX, &got), 1);
	assert_string_equal(got->path, "a");
	assert_int_equal(settle_oldest(settle), 2);
}

static void a_save_over_a_younger_change_is_as_old_as_its_text(void **state)
{
	(void)state;
	new_file(&vim, "a.tmp");
	write_to(&vim, "b");
	write_to(&vim, "a");
	rename_to(&vim, "a.tmp", "a");
	assert_int_equal(settle_oldest(settle), 1);
	assert_int_equal(settle_pending(settle), 2);
}

static void one_path_can_be_taken_with_its_former_names(void **state)
{
	const struct settled *got;

	(void)state;
	write_to(&vim, "x");
	rename_to(&vim, "a", "b");
	assert_int_equal(take_path("c", &got), 0);
	assert_int_equal(take_path("a", &got), 2);
	assert_string_equal(find(got, 2, "b")->from, "a");
	assert_int_equal(settle_pending(settle), 1);
}

static void one_path_of_a_moved_directory_is_taken(void **state)
{
	static const char *const files[] = { "old/a", "old/b", NULL };
	const struct settled *got;

	(void)state;
	below = files;
	move_directory(&vim, "old", "new");
	write_to(&vim, "new/a");
	assert_int_equal(take_path("new/a", &got), 2);
	assert_string_equal(find(got, 2, "new/a")->from, "old/a");
	assert_true(settle_has(settle, "new/b"));
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_file_written_in_place_settles_when_it_is_closed),
		CASE(what_is_truncated_by_name_is_finished),
		CASE(what_was_kept_is_finished_though_its_close_comes_late),
		CASE(the_last_of_several_writers_settles_it),
		CASE(a_writer_whose_open_was_not_told_counts_by_his_writes),
		CASE(an_open_file_settles_after_the_quiet_time),
		CASE(a_file_written_for_ever_settles_in_the_end),
		CASE(everything_is_there_for_who_asks),
		CASE(an_atomic_save_is_a_change_of_its_target_by_the_writer),
		CASE(a_backup_by_renaming_leaves_an_edit_and_a_new_file),
		CASE(a_backup_that_is_removed_waits_for_its_file),
		CASE(a_backup_that_is_removed_says_nothing_of_its_file),
		CASE(removed_and_made_anew_is_a_change),
		CASE(a_file_that_comes_and_goes_leaves_nothing),
		CASE(a_file_that_was_known_is_not_made_anew),
		CASE(another_mode_settles_with_the_author_of_the_text),
		CASE(a_removed_file_settles_after_the_quiet_time),
		CASE(a_move_knows_the_first_name),
		CASE(what_moved_to_a_new_name_is_not_new),
		CASE(a_new_name_with_a_version_is_removed_from_the_tape),
		CASE(a_name_that_is_made_anew_is_not_removed),
		CASE(what_moves_home_again_is_where_it_was),
		CASE(an_exchange_is_two_changes),
		CASE(a_directory_moves_with_what_is_dirty_in_it),
		CASE(a_directory_that_moves_on_takes_a_save_along),
		CASE(directories_change_places_with_their_files),
		CASE(what_is_to_come_can_be_asked),
		CASE(a_failed_operation_changed_nothing),
		CASE(writes_to_a_file_without_a_name_are_nobodys),
		CASE(a_nameless_file_that_is_linked_is_new),
		CASE(the_handle_of_a_shell_is_closed_for_its_children),
		CASE(a_few_can_be_taken_at_a_time),
		CASE(a_move_is_not_taken_apart),
		CASE(what_is_older_than_a_line_can_be_taken),
		CASE(a_save_over_a_younger_change_is_as_old_as_its_text),
		CASE(one_path_can_be_taken_with_its_former_names),
		CASE(one_path_of_a_moved_directory_is_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
