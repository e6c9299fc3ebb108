/*
 * What other processes can do to a journal that is being written. In every case
 * the caller of journal_append() must notice nothing, every number must be
 * either on disk or named by a gap, and the count of lost lines must be exact.
 */
#include "tape/journal/journal.h"

#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "tests/support/journal_files.h"

static struct place place;
static struct journal *journal;

static int set_up(void **state)
{
	(void)state;
	place_init(&place);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	journal_close(journal);
	journal = NULL;
	place_release(&place);
	return 0;
}

/*
 * Called first in every test and not in set_up(): cmocka installs its own
 * SIGBUS handler around each of the two.
 */
static void begin_with(uint64_t segment_bytes)
{
	struct journal_limits limits = { .segment_bytes = segment_bytes };

	assert_int_equal(journal_open(place.fd, JOURNAL_NAME, "/repo", &limits,
				      &journal),
			 0);
}

static void begin(void)
{
	begin_with(0);
}

static struct journal_author author = { .pid = 7, .comm = "author" };

static uint64_t append(const char *path)
{
	struct journal_event e = {
		.op = JOURNAL_WRITE,
		.path = path,
		.author = &author,
	};

	return journal_append(journal, &e);
}

static void append_many(int count)
{
	while (count-- > 0)
		append("some/path");
}

/*
 * The journal checks its files only every CHECK_NS: append until it has noticed
 * that its segment changed and has created another. Does not call
 * journal_stat(), which checks at once.
 */
static void append_until_noticed(void)
{
	uint64_t head = append("unnoticed"), newest = 0;

	do {
		append("until/noticed");
		(void)usleep(1000);
		(void)segment_count(&place, &newest);
	} while (newest <= head);
}

static void append_until_kept(void)
{
	struct journal_stats stats;

	do {
		append("until/kept");
		(void)usleep(1000);
		journal_stat(journal, &stats);
	} while (stats.error);
}

/*
 * Read everything from `since` on. All missing numbers must be in the range of
 * the gap line that follows, and the line at the head must be there. Returns
 * the number of missing lines.
 */
static uint64_t expect_complete(uint64_t since)
{
	struct journal_reader *r;
	struct journal_stats stats;
	struct journal_line l;
	uint64_t last = since, missing = 0;
	int k;

	journal_stat(journal, &stats);
	assert_int_equal(journal_reader_open(place.fd, JOURNAL_NAME, since, &r),
			 0);
	while ((k = journal_reader_next(r, &l)) != 0) {
		if (k == -ESTALE) {
			uint64_t upto = l.n;

			assert_int_equal(journal_reader_next(r, &l), 1);
			assert_int_equal(l.event.op, JOURNAL_GAP);
			assert_true(l.event.off <= (int64_t)last + 1);
			assert_int_equal(l.event.off + l.event.len, upto + 1);
			assert_true(l.event.res < 0);
			missing += upto - last;
			last = upto;
		} else {
			assert_int_equal(k, 1);
		}
		assert_int_equal(l.n, last + 1);
		last = l.n;
		if (l.event.op == JOURNAL_WRITE)
			assert_string_equal(l.event.author->comm, "author");
	}
	assert_int_equal(last, stats.head);
	journal_reader_free(r);
	return missing;
}

static uint64_t lost(void)
{
	struct journal_stats stats;

	journal_stat(journal, &stats);
	return stats.lost;
}

/* Path of the current segment, relative to the test's directory. */
static void current_path(char *out, size_t size)
{
	char name[JOURNAL_SEGMENT_NAME];
	uint64_t newest = 0;

	assert_true(segment_count(&place, &newest) > 0);
	journal_segment_name(newest, name);
	(void)snprintf(out, size, JOURNAL_NAME "/%s", name);
}

static void a_removed_segment_is_replaced_and_its_numbers_named(void **state)
{
	char path[64];
	struct journal_stats stats;

	(void)state;
	begin();
	append_many(100);
	current_path(path, sizeof(path));
	assert_int_equal(unlinkat(place.fd, path, 0), 0);
	/* These are lost; no check has noticed yet. */
	append_many(10);
	append_until_noticed();

	journal_stat(journal, &stats);
	assert_int_equal(stats.segments, 1);
	assert_true(stats.oldest > 100);
	assert_int_equal(expect_complete(0), lost());
}

static void a_renamed_segment_is_a_removed_one(void **state)
{
	char path[64];

	(void)state;
	begin();
	append_many(100);
	current_path(path, sizeof(path));
	assert_int_equal(renameat(place.fd, path, place.fd, "elsewhere"), 0);
	append_until_noticed();
	assert_int_equal(expect_complete(0), lost());
}

static void a_removed_segment_is_noticed_before_the_next_is_begun(void **state)
{
	char path[64];
	int i;

	(void)state;
	begin_with(4096);
	for (i = 0; i < 20; i++) {
		current_path(path, sizeof(path));
		assert_int_equal(unlinkat(place.fd, path, 0), 0);
		append_many(60);
	}
	assert_true(lost() > 600);
	assert_int_equal(expect_complete(0), lost());
}

static void a_removed_segment_is_noticed_at_closing(void **state)
{
	struct journal_reader *r;
	struct journal_line l;
	uint64_t head;
	char path[64];

	(void)state;
	begin();
	head = append("gone");
	current_path(path, sizeof(path));
	assert_int_equal(unlinkat(place.fd, path, 0), 0);
	journal_close(journal);
	journal = NULL;

	assert_int_equal(journal_reader_open(place.fd, JOURNAL_NAME, 0, &r), 0);
	assert_int_equal(journal_reader_next(r, &l), -ESTALE);
	assert_int_equal(l.n, head);
	assert_int_equal(journal_reader_next(r, &l), 1);
	assert_int_equal(l.event.op, JOURNAL_GAP);
	assert_int_equal(l.event.off, 1);
	assert_int_equal(l.event.len, head);
	journal_reader_free(r);
}

static void a_removed_directory_is_made_again(void **state)
{
	struct stat st;

	(void)state;
	begin();
	append_many(100);
	place_remove_journal(&place);
	append_until_noticed();
	assert_int_equal(fstatat(place.fd, JOURNAL_NAME, &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(expect_complete(0), lost());
}

static void a_directory_moved_away_is_made_again(void **state)
{
	struct journal *second = NULL;

	(void)state;
	begin();
	append_many(100);
	assert_int_equal(renameat(place.fd, JOURNAL_NAME, place.fd, "away"), 0);
	append_until_noticed();
	assert_int_equal(expect_complete(0), lost());
	/* The lock is on the new directory, not on the moved one. */
	assert_int_equal(journal_open(place.fd, "away", "/", NULL, &second), 0);
	journal_close(second);
	assert_int_equal(
		journal_open(place.fd, JOURNAL_NAME, "/", NULL, &second),
		-EBUSY);
}

static void the_directory_around_it_may_be_removed_and_made_anew(void **state)
{
	struct journal_stats stats;
	struct place old = place;
	uint64_t head;

	(void)state;
	begin();
	append_many(100);
	place_init(&place);
	place_release(&old);
	append_many(10);
	journal_stat(journal, &stats);
	head = stats.head;
	assert_true(stats.lost > 0);
	assert_int_equal(journal_move(journal, place.fd), 0);
	/* The gap is there before anything else is appended. */
	assert_int_equal(expect_complete(0), head);
	append_many(10);
	assert_int_equal(expect_complete(head + 1), 0);
	journal_stat(journal, &stats);
	assert_int_equal(stats.error, 0);
}

static void removals_in_a_row_are_named_by_one_gap(void **state)
{
	int i;

	(void)state;
	begin();
	for (i = 0; i < 3; i++) {
		append_many(10);
		place_remove_journal(&place);
		append_until_noticed();
	}
	assert_int_equal(expect_complete(0), lost());
}

static void a_directory_another_writer_took_is_not_written_to(void **state)
{
	struct journal *other = NULL;
	struct journal_stats stats;
	uint64_t head;

	(void)state;
	begin();
	place_remove_journal(&place);
	assert_int_equal(
		journal_open(place.fd, JOURNAL_NAME, "/", NULL, &other), 0);
	do {
		head = append("nowhere");
		journal_stat(journal, &stats);
		(void)usleep(1000);
	} while (stats.error != EBUSY);
	assert_int_equal(stats.lost, head);
	journal_stat(other, &stats);
	assert_int_equal(stats.head, 1);

	/*
	 * The other writer closes and its directory is removed: ours is created
	 * again.
	 */
	journal_close(other);
	place_remove_journal(&place);
	append_until_kept();
	assert_int_equal(expect_complete(0), lost());
}

static void lines_are_counted_while_there_is_no_directory(void **state)
{
	struct journal_stats stats;
	uint64_t head;

	(void)state;
	begin();
	scratch_free(place.path);
	place.path = NULL;
	do {
		head = append("nowhere");
		journal_stat(journal, &stats);
		(void)usleep(1000);
	} while (stats.error != ENOENT);
	assert_int_equal(stats.head, head);
	assert_int_equal(stats.lost, head);
	assert_int_equal(stats.segments, 0);
	assert_int_equal(stats.oldest, 0);
}

/* Truncate the current segment to `size`, then continue appending. */
static void cut_and_go_on(off_t size)
{
	char path[64];
	int fd;

	current_path(path, sizeof(path));
	fd = openat(place.fd, path, O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, size), 0);
	(void)close(fd);
	append_until_noticed();
	assert_int_equal(expect_complete(0), lost());
}

static void a_segment_truncated_to_zero_is_replaced(void **state)
{
	(void)state;
	begin();
	append_many(1000);
	cut_and_go_on(0);
	assert_true(lost() >= 1000);
}

static void a_truncated_segment_keeps_its_beginning(void **state)
{
	(void)state;
	begin();
	append_many(1000);
	cut_and_go_on(50000);
	assert_in_range(lost(), 100, 950);
}

static void a_cut_within_the_page_being_written_is_noticed(void **state)
{
	struct journal_stats stats;

	(void)state;
	begin();
	append_many(100);
	journal_stat(journal, &stats);
	cut_and_go_on((off_t)stats.bytes - 5);
	assert_true(lost() >= 1);
}

static void a_cut_right_behind_the_lines_loses_few(void **state)
{
	struct journal_stats stats;

	(void)state;
	begin();
	append_many(100);
	journal_stat(journal, &stats);
	cut_and_go_on((off_t)stats.bytes);
	assert_true(lost() >= 1);
}

static void set_file_limit(rlim_t bytes)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* A limit on the file size simulates a full disk. */
static void lines_without_space_are_counted_and_named(void **state)
{
	struct journal_stats stats;
	uint64_t head;

	(void)state;
	begin();
	set_file_limit(1 << 20);
	do {
		head = append("some/path/of/ordinary/length");
		journal_stat(journal, &stats);
	} while (!stats.error);
	assert_int_equal(stats.error, EFBIG);
	assert_int_equal(stats.lost, 1);
	assert_true(stats.bytes > (1 << 20) - JOURNAL_LINE_MAX);
	append_many(1000);
	assert_int_equal(lost(), 1001);

	set_file_limit(RLIM_INFINITY);
	append_until_kept();
	assert_int_equal(expect_complete(head - 100), lost());
}

static void a_gap_is_named_at_closing_if_it_was_not_before(void **state)
{
	struct journal_reader *r;
	struct journal_line l, last = { 0 };
	struct journal_stats stats;

	(void)state;
	begin();
	set_file_limit(1 << 20);
	do {
		append("some/path/of/ordinary/length");
		journal_stat(journal, &stats);
	} while (!stats.error);
	set_file_limit(RLIM_INFINITY);
	journal_close(journal);
	journal = NULL;

	assert_int_equal(journal_reader_open(place.fd, JOURNAL_NAME, 0, &r), 0);
	while (journal_reader_next(r, &l) != 0)
		last = l;
	assert_int_equal(last.n, stats.head + 1);
	assert_int_equal(last.event.op, JOURNAL_GAP);
	journal_reader_free(r);
}

#define NOT_POSSIBLE 77

/* In a namespace of our own: a file system of one megabyte, filled up. */
static int fill_a_small_disk(void)
{
	struct journal_stats stats;
	struct journal *j;
	struct journal_event e = { .op = JOURNAL_WRITE, .path = "some/path" };
	int dir_fd, i;

	if (unshare(CLONE_NEWNS | (geteuid() ? CLONE_NEWUSER : 0)) < 0 ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("small", place.path, "tmpfs", 0, "size=1m") < 0)
		return NOT_POSSIBLE;
	dir_fd = open(place.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (journal_open(dir_fd, "small", "/", NULL, &j) < 0)
		return 1;
	for (i = 0; i < 30000; i++)
		(void)journal_append(j, &e);
	journal_stat(j, &stats);
	if (stats.error != ENOSPC || stats.lost == 0)
		return 2;
	/* All but the last bytes are used. */
	if (stats.bytes < (1 << 20) - (16 << 10))
		return 3;
	journal_close(j);
	return 0;
}

static void a_full_disk_costs_lines_and_nothing_else(void **state)
{
	int status;
	pid_t child = fork();

	(void)state;
	if (child == 0)
		_exit(fill_a_small_disk());
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == NOT_POSSIBLE) {
		print_message("no mount namespace of our own: skipped\n");
		skip();
	}
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_removed_segment_is_replaced_and_its_numbers_named),
		TEST(a_renamed_segment_is_a_removed_one),
		TEST(a_removed_segment_is_noticed_before_the_next_is_begun),
		TEST(a_removed_segment_is_noticed_at_closing),
		TEST(a_removed_directory_is_made_again),
		TEST(the_directory_around_it_may_be_removed_and_made_anew),
		TEST(a_directory_moved_away_is_made_again),
		TEST(removals_in_a_row_are_named_by_one_gap),
		TEST(a_directory_another_writer_took_is_not_written_to),
		TEST(lines_are_counted_while_there_is_no_directory),
		TEST(a_segment_truncated_to_zero_is_replaced),
		TEST(a_truncated_segment_keeps_its_beginning),
		TEST(a_cut_within_the_page_being_written_is_noticed),
		TEST(a_cut_right_behind_the_lines_loses_few),
		TEST(lines_without_space_are_counted_and_named),
		TEST(a_gap_is_named_at_closing_if_it_was_not_before),
		TEST(a_full_disk_costs_lines_and_nothing_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
