#include "tape/journal/journal.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "tests/support/journal_files.h"

static struct place place;

static int set_up(void **state)
{
	(void)state;
	place_init(&place);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	place_release(&place);
	return 0;
}

static struct journal *open_journal(uint64_t segment_bytes, uint64_t keep_bytes)
{
	struct journal_limits limits = { segment_bytes, keep_bytes };
	struct journal *j = NULL;

	assert_int_equal(
		journal_open(place.fd, JOURNAL_NAME, "/repo", &limits, &j), 0);
	return j;
}

static uint64_t append(struct journal *j, const char *path,
		       struct journal_author *author)
{
	struct journal_event e = {
		.op = JOURNAL_WRITE,
		.path = path,
		.off = 0,
		.len = 1,
		.res = 1,
		.pid = author ? author->pid : 1,
		.author = author,
	};

	return journal_append(j, &e);
}

static struct journal_reader *open_reader(uint64_t since)
{
	struct journal_reader *r = NULL;

	assert_int_equal(journal_reader_open(place.fd, JOURNAL_NAME, since, &r),
			 0);
	return r;
}

/* The next line must be number `n`, an `op` about `path`. */
static struct journal_line expect_line(struct journal_reader *r, uint64_t n,
				       enum journal_op op, const char *path)
{
	struct journal_line l;

	assert_int_equal(journal_reader_next(r, &l), 1);
	assert_int_equal(l.n, n);
	assert_int_equal(l.event.op, op);
	assert_string_equal(l.event.path, path);
	return l;
}

static void expect_end(struct journal_reader *r)
{
	struct journal_line l;

	assert_int_equal(journal_reader_next(r, &l), 0);
}

static void a_new_journal_begins_with_its_session(void **state)
{
	struct journal *j = open_journal(0, 0);
	struct journal_reader *r = open_reader(0);
	struct journal_line l;

	(void)state;
	l = expect_line(r, 1, JOURNAL_SESSION, "/repo");
	assert_int_equal(strlen(l.event.detail), 36);
	assert_int_equal(l.event.pid, getpid());
	assert_true(l.mono_ns > 0 && l.wall_ns > 0);
	expect_end(r);
	journal_reader_free(r);
	journal_close(j);
}

static void a_line_is_in_the_file_when_append_returns(void **state)
{
	struct journal *j = open_journal(0, 0);
	int fd = segment_open(&place, 1);
	char bytes[4096] = { 0 };

	(void)state;
	assert_int_equal(append(j, "a/needle", NULL), 2);
	assert_true(read(fd, bytes, sizeof(bytes) - 1) > 0);
	assert_non_null(strstr(bytes, "\ta/needle\t"));
	(void)close(fd);
	journal_close(j);
}

static void files_are_private_to_their_owner(void **state)
{
	struct journal *j = open_journal(0, 0);
	int fd = segment_open(&place, 1);
	struct stat st;

	(void)state;
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(fstatat(place.fd, JOURNAL_NAME, &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	(void)close(fd);
	journal_close(j);
}

static void closing_leaves_nothing_but_lines(void **state)
{
	struct journal *j = open_journal(0, 0);
	struct journal_stats stats;
	int fd = segment_open(&place, 1);
	char last;

	(void)state;
	append(j, "a", NULL);
	journal_stat(j, &stats);
	assert_true(segment_size(fd) > (off_t)stats.bytes);
	journal_close(j);
	assert_int_equal(segment_size(fd), stats.bytes);
	assert_int_equal(pread(fd, &last, 1, (off_t)stats.bytes - 1), 1);
	assert_int_equal(last, '\n');
	(void)close(fd);
}

static void numbers_go_on_in_the_same_segment(void **state)
{
	struct journal *j = open_journal(0, 0);
	struct journal_reader *r;

	(void)state;
	append(j, "a", NULL);
	journal_close(j);
	j = open_journal(0, 0);
	assert_int_equal(append(j, "b", NULL), 4);
	assert_int_equal(segment_count(&place, NULL), 1);

	r = open_reader(0);
	(void)expect_line(r, 1, JOURNAL_SESSION, "/repo");
	(void)expect_line(r, 2, JOURNAL_WRITE, "a");
	(void)expect_line(r, 3, JOURNAL_SESSION, "/repo");
	(void)expect_line(r, 4, JOURNAL_WRITE, "b");
	expect_end(r);
	journal_reader_free(r);
	journal_close(j);
}

static void a_second_writer_is_refused(void **state)
{
	struct journal *j = open_journal(0, 0);
	struct journal *second = NULL;

	(void)state;
	assert_int_equal(
		journal_open(place.fd, JOURNAL_NAME, "/", NULL, &second),
		-EBUSY);
	assert_null(second);
	journal_close(j);
	j = open_journal(0, 0);
	journal_close(j);
}

static void opening_fails_where_no_directory_can_be_made(void **state)
{
	struct journal *j = NULL;
	int fd = openat(place.fd, "file", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	(void)state;
	(void)close(fd);
	assert_int_equal(journal_open(place.fd, "file", "/", NULL, &j),
			 -ENOTDIR);
	assert_int_equal(journal_open(place.fd, "no/such", "/", NULL, &j),
			 -ENOENT);
	assert_null(j);
	journal_close(NULL);
}

/* Append forever, writing each number to the pipe as it is assigned. */
static void append_until_killed(int tell_fd)
{
	struct journal *j = open_journal(64 << 10, 0);
	uint64_t n;

	for (;;) {
		n = append(j, "killed", NULL);
		if (write(tell_fd, &n, sizeof(n)) != sizeof(n))
			_exit(1);
	}
}

static void every_line_survives_the_writers_death(void **state)
{
	struct journal_reader *r;
	struct journal_line l;
	struct journal *j;
	uint64_t reported = 0, n;
	int pipe_fds[2];
	pid_t child;

	(void)state;
	assert_int_equal(pipe(pipe_fds), 0);
	child = fork();
	if (child == 0)
		append_until_killed(pipe_fds[1]);
	assert_true(child > 0);
	(void)close(pipe_fds[1]);
	while (reported < 3000)
		assert_int_equal(read(pipe_fds[0], &reported, sizeof(reported)),
				 sizeof(reported));
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	while (read(pipe_fds[0], &n, sizeof(n)) == sizeof(n))
		reported = n;
	(void)close(pipe_fds[0]);

	/* Its lock is released, and its numbers are not reused. */
	j = open_journal(0, 0);
	r = open_reader(0);
	for (n = 1; n <= reported; n++) {
		assert_int_equal(journal_reader_next(r, &l), 1);
		assert_int_equal(l.n, n);
	}
	assert_true(append(j, "next", NULL) > reported + 1);
	journal_reader_free(r);
	journal_close(j);
}

#define THREADS	    4
#define THREAD_RUNS 5000

struct appender {
	struct journal *journal;
	struct journal_author author;
	int index;
	uint64_t numbers[THREAD_RUNS];
};

static void *append_many(void *arg)
{
	struct appender *a = arg;
	char path[32];
	int i;

	for (i = 0; i < THREAD_RUNS; i++) {
		(void)snprintf(path, sizeof(path), "%d/%d", a->index, i);
		a->numbers[i] = append(a->journal, path, &a->author);
	}
	return NULL;
}

static void each_thread_gets_the_number_of_its_line(void **state)
{
	static struct appender appenders[THREADS];
	struct journal *j = open_journal(256 << 10, 0);
	struct journal_reader *r;
	struct journal_line l;
	pthread_t threads[THREADS];
	int i, run[THREADS] = { 0 };

	(void)state;
	for (i = 0; i < THREADS; i++) {
		appenders[i].journal = j;
		appenders[i].index = i;
		appenders[i].author.pid = (uint32_t)i + 1;
		appenders[i].author.comm = "thread";
		assert_int_equal(pthread_create(&threads[i], NULL, append_many,
						&appenders[i]),
				 0);
	}
	for (i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);

	r = open_reader(0);
	while (journal_reader_next(r, &l) == 1) {
		if (l.event.op != JOURNAL_WRITE)
			continue;
		i = (int)l.event.author->pid - 1;
		assert_int_equal(appenders[i].numbers[run[i]++], l.n);
	}
	for (i = 0; i < THREADS; i++)
		assert_int_equal(run[i], THREAD_RUNS);
	journal_reader_free(r);
	journal_close(j);
}

static void a_full_segment_is_followed_by_another(void **state)
{
	struct journal *j = open_journal(4096, 0);
	struct journal_stats stats;
	struct journal_reader *r;
	uint64_t n, head = 0;

	(void)state;
	while (head < 500)
		head = append(j, "some/path", NULL);
	journal_stat(j, &stats);
	assert_int_equal(stats.head, head);
	assert_int_equal(stats.oldest, 1);
	assert_int_equal(stats.lost, 0);
	assert_int_equal(stats.error, 0);
	assert_true(stats.segments > 5);
	assert_int_equal(stats.segments, segment_count(&place, NULL));
	assert_true(stats.bytes <= 4096 + 100);

	r = open_reader(1);
	for (n = 2; n <= head; n++)
		(void)expect_line(r, n, JOURNAL_WRITE, "some/path");
	expect_end(r);
	journal_reader_free(r);
	journal_close(j);
}

static void the_oldest_segments_are_removed(void **state)
{
	struct journal *j = open_journal(4096, 20000);
	struct journal_stats stats;
	struct journal_reader *r;
	struct journal_line l;
	uint64_t head = 0;

	(void)state;
	while (head < 1000)
		head = append(j, "some/path", NULL);
	journal_stat(j, &stats);
	assert_in_range(stats.segments, 3, 5);
	assert_true(stats.oldest > 500);
	assert_int_equal(stats.lost, 0);

	r = open_reader(0);
	assert_int_equal(journal_reader_next(r, &l), -ESTALE);
	assert_int_equal(l.n, stats.oldest - 1);
	(void)expect_line(r, stats.oldest, JOURNAL_WRITE, "some/path");
	journal_reader_free(r);
	journal_close(j);
}

static void a_segment_is_kept_even_if_it_is_the_only_one(void **state)
{
	struct journal *j = open_journal(4096, 1);
	struct journal_stats stats;
	int i;

	(void)state;
	for (i = 0; i < 200; i++)
		append(j, "some/path", NULL);
	journal_stat(j, &stats);
	assert_int_equal(stats.segments, 1);
	assert_true(stats.bytes > 0);
	journal_close(j);
}

static void an_author_is_introduced_once_parents_first(void **state)
{
	struct journal_author root = {
		.pid = 10,
		.comm = "agent",
		.session_root = true,
	};
	struct journal_author shell = {
		.pid = 11,
		.comm = "sh",
		.cmdline = "sh -c 'sed -i'",
		.exe = "/bin/sh",
		.parent = &root,
	};
	struct journal_author sed = { .pid = 12, .parent = &shell };
	struct journal *j = open_journal(0, 0);
	struct journal_reader *r = open_reader(1);
	struct journal_line l;

	(void)state;
	assert_int_equal(append(j, "a", &sed), 5);
	assert_int_equal(append(j, "b", &sed), 6);
	assert_int_equal(append(j, "c", &shell), 7);

	(void)expect_line(r, 2, JOURNAL_ACTOR, "");
	(void)expect_line(r, 3, JOURNAL_ACTOR, "/bin/sh");
	(void)expect_line(r, 4, JOURNAL_ACTOR, "");
	l = expect_line(r, 5, JOURNAL_WRITE, "a");
	assert_int_equal(l.event.author->pid, 12);
	assert_string_equal(l.event.author->parent->cmdline, "sh -c 'sed -i'");
	assert_string_equal(l.event.author->parent->parent->comm, "agent");
	assert_true(l.event.author->parent->parent->session_root);
	assert_null(l.event.author->parent->parent->parent);
	(void)expect_line(r, 6, JOURNAL_WRITE, "b");
	l = expect_line(r, 7, JOURNAL_WRITE, "c");
	assert_int_equal(l.event.author->pid, 11);
	expect_end(r);
	journal_reader_free(r);
	journal_close(j);
}

/* Read the segment at `fd` by itself; every author must be known in it. */
static void expect_self_contained(int fd)
{
	struct journal_scan scan;
	struct journal_parsed p;
	uint64_t introduced[64];
	size_t n = 0, i;

	journal_scan_init(&scan, fd, false);
	while (journal_scan_line(&scan, &p) > 0) {
		for (i = 0; i < n && introduced[i] != p.author; i++)
			;
		if (p.author > 0)
			assert_true(i < n);
		if (p.line.event.op == JOURNAL_ACTOR) {
			assert_true(n < 64);
			introduced[n++] = p.line.n;
		}
	}
	journal_scan_release(&scan);
}

static void every_segment_stands_by_itself(void **state)
{
	struct journal_author people[8] = { { .pid = 1 } };
	struct journal *j = open_journal(4096, 0);
	int i, dir, fd;
	struct journal_segments list;
	char name[JOURNAL_SEGMENT_NAME];
	size_t n;

	(void)state;
	for (i = 1; i < 8; i++)
		people[i] = (struct journal_author){
			.pid = (uint32_t)i + 1,
			.parent = &people[i / 2],
		};
	for (i = 0; i < 1000; i++)
		append(j, "x", &people[i % 7 + 1]);
	journal_close(j);

	dir = openat(place.fd, JOURNAL_NAME, O_RDONLY | O_DIRECTORY);
	assert_int_equal(journal_segments_list(dir, &list), 0);
	n = journal_segments_count(&list);
	assert_true(n > 10);
	while (n-- > 0) {
		journal_segment_name(journal_segments_at(&list, n), name);
		fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
		expect_self_contained(fd);
		(void)close(fd);
	}
	journal_segments_release(&list);
	(void)close(dir);
}

static void ancestors_are_named_up_to_a_limit(void **state)
{
	static struct journal_author chain[100];
	struct journal *j = open_journal(0, 0);
	struct journal_reader *r;
	struct journal_author *a;
	struct journal_line l;
	int i, depth = 0;

	(void)state;
	for (i = 0; i < 100; i++) {
		chain[i].pid = (uint32_t)i + 1;
		chain[i].parent = i < 99 ? &chain[i + 1] : NULL;
	}
	assert_int_equal(append(j, "deep", &chain[0]), 1 + 64 + 1);

	r = open_reader(65);
	l = expect_line(r, 66, JOURNAL_WRITE, "deep");
	for (a = l.event.author; a; a = a->parent)
		assert_int_equal(a->pid, ++depth);
	assert_int_equal(depth, 64);
	journal_reader_free(r);
	journal_close(j);
}

static void a_process_that_is_its_own_ancestor_does_no_harm(void **state)
{
	struct journal_author a = { .pid = 1 };
	struct journal *j = open_journal(0, 0);

	(void)state;
	a.parent = &a;
	assert_true(append(j, "x", &a) <= 1 + 64 + 1);
	append(j, "x", &a);
	journal_close(j);
}

static void an_author_used_in_two_journals_is_known_in_both(void **state)
{
	struct journal_author a = { .pid = 5, .comm = "both" };
	struct journal *j = open_journal(0, 0), *other = NULL;
	struct journal_reader *r;
	struct journal_line l;
	int i;

	(void)state;
	assert_int_equal(journal_open(place.fd, "other", "/", NULL, &other), 0);
	for (i = 0; i < 3; i++) {
		append(j, "here", &a);
		append(other, "there", &a);
	}
	r = open_reader(1);
	while (journal_reader_next(r, &l) == 1)
		assert_string_equal(l.event.author->comm, "both");
	journal_reader_free(r);
	journal_close(other);
	journal_close(j);
}

/* A segment 1 with lines 1..10, closed as journal_close() does. */
static int make_ten_lines(void)
{
	int fd = segment_open(&place, 1);

	segment_fill(fd, 1, 10);
	return fd;
}

/* Open, append, and read everything behind number 10. */
static void expect_to_go_on_after_ten(size_t segments)
{
	struct journal *j = open_journal(0, 0);
	struct journal_reader *r = open_reader(10);

	assert_int_equal(append(j, "new", NULL), 12);
	assert_int_equal(segment_count(&place, NULL), segments);
	(void)expect_line(r, 11, JOURNAL_SESSION, "/repo");
	(void)expect_line(r, 12, JOURNAL_WRITE, "new");
	expect_end(r);
	journal_reader_free(r);
	journal_close(j);
}

static void a_journal_closed_in_order_goes_on(void **state)
{
	(void)state;
	(void)close(make_ten_lines());
	expect_to_go_on_after_ten(1);
}

/* Lines 1..10 of this boot, then `tail`, as a killed writer leaves them. */
static int make_killed(const char *tail, size_t len)
{
	struct journal *j = open_journal(0, 0);
	struct journal_stats stats;
	int fd, i;

	for (i = 0; i < 9; i++)
		append(j, "old", NULL);
	journal_stat(j, &stats);
	journal_close(j);
	fd = segment_open(&place, 1);
	assert_int_equal(pwrite(fd, tail, len, (off_t)stats.bytes), len);
	return fd;
}

static void a_torn_tail_is_cut(void **state)
{
	char tail[512] = "11\t1\t1\twrite\t0\t0\t0";

	(void)state;
	(void)close(make_killed(tail, sizeof(tail)));
	expect_to_go_on_after_ten(1);
}

static void a_line_whose_first_byte_is_missing_is_cut(void **state)
{
	char tail[JOURNAL_LINE_MAX];
	size_t len = segment_line(tail, 11, "torn");

	(void)state;
	tail[0] = '\0';
	(void)close(make_killed(tail, len));
	expect_to_go_on_after_ten(1);
}

static void rubbish_without_end_is_cut(void **state)
{
	static char tail[1 << 20];

	(void)state;
	memset(tail, 'r', sizeof(tail));
	(void)close(make_killed(tail, sizeof(tail)));
	expect_to_go_on_after_ten(1);
}

static void lines_behind_damage_are_kept_and_a_new_segment_begun(void **state)
{
	struct journal_reader *r;
	struct journal_line l;
	int fd = make_ten_lines();
	uint64_t n;

	(void)state;
	/* Somewhere in the middle. */
	assert_int_equal(pwrite(fd, "???", 3, segment_size(fd) / 2), 3);
	(void)close(fd);
	expect_to_go_on_after_ten(2);

	r = open_reader(0);
	for (n = 1; n <= 12; n++) {
		if (journal_reader_next(r, &l) == -ESTALE) {
			assert_in_range(l.n, 5, 6);
			continue;
		}
		assert_int_equal(l.n, n);
	}
	assert_int_equal(l.n, 12);
	journal_reader_free(r);
}

/*
 * Lines of another boot, and a tail or a size that journal_close() does not
 * leave: the numbers jump, and a gap line names the jump.
 */
static void expect_a_jump(uint64_t after)
{
	struct journal *j = open_journal(0, 0);
	struct journal_reader *r = open_reader(after);
	struct journal_line l;

	assert_int_equal(journal_reader_next(r, &l), -ESTALE);
	assert_true(l.n > after + 1000000);
	l = expect_line(r, l.n + 1, JOURNAL_GAP, "");
	assert_int_equal(l.event.off, after + 1);
	assert_int_equal(l.event.off + l.event.len, l.n);
	(void)expect_line(r, l.n + 1, JOURNAL_SESSION, "/repo");
	expect_end(r);
	journal_reader_free(r);
	journal_close(j);
}

static void after_a_crash_of_the_host_no_number_comes_twice(void **state)
{
	int fd = make_ten_lines();

	(void)state;
	assert_int_equal(ftruncate(fd, segment_size(fd) + 4096), 0);
	(void)close(fd);
	expect_a_jump(10);
}

static void a_full_segment_whose_successor_is_gone_was_a_crash(void **state)
{
	int fd = make_ten_lines();

	(void)state;
	assert_int_equal(ftruncate(fd, segment_size(fd) + 1), 0);
	(void)close(fd);
	expect_a_jump(10);
}

static void an_empty_segment_was_a_crash(void **state)
{
	(void)state;
	(void)close(segment_open(&place, 77));
	expect_a_jump(76);
}

static void rotation_leaves_the_sign_of_an_unfinished_journal(void **state)
{
	struct journal *j = open_journal(4096, 0);
	int fd = segment_open(&place, 1);
	char last[2];

	(void)state;
	while (segment_count(&place, NULL) < 2)
		append(j, "some/path", NULL);
	assert_int_equal(pread(fd, last, 2, segment_size(fd) - 2), 2);
	assert_int_equal(last[0], '\n');
	assert_int_equal(last[1], '\0');
	(void)close(fd);
	journal_close(j);
}

static void files_that_are_not_segments_are_left_alone(void **state)
{
	static const char *const names[] = {
		"journal/00000000000000000001.log~",
		"journal/1.log",
		"journal/99999999999999999999.log",
		"journal/00000000000000000000.log",
		"journal/notes",
	};
	struct journal *j;
	struct stat st;
	size_t i;

	(void)state;
	assert_int_equal(mkdirat(place.fd, "journal", 0700), 0);
	assert_int_equal(
		mkdirat(place.fd, "journal/00000000000000000009.log", 0700), 0);
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		(void)close(openat(place.fd, names[i],
				   O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	j = open_journal(4096, 1);
	for (i = 0; i < 200; i++)
		append(j, "some/path", NULL);
	journal_close(j);
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_int_equal(fstatat(place.fd, names[i], &st, 0), 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_new_journal_begins_with_its_session),
		TEST(a_line_is_in_the_file_when_append_returns),
		TEST(files_are_private_to_their_owner),
		TEST(closing_leaves_nothing_but_lines),
		TEST(numbers_go_on_in_the_same_segment),
		TEST(a_second_writer_is_refused),
		TEST(opening_fails_where_no_directory_can_be_made),
		TEST(every_line_survives_the_writers_death),
		TEST(each_thread_gets_the_number_of_its_line),
		TEST(a_full_segment_is_followed_by_another),
		TEST(the_oldest_segments_are_removed),
		TEST(a_segment_is_kept_even_if_it_is_the_only_one),
		TEST(an_author_is_introduced_once_parents_first),
		TEST(every_segment_stands_by_itself),
		TEST(ancestors_are_named_up_to_a_limit),
		TEST(a_process_that_is_its_own_ancestor_does_no_harm),
		TEST(an_author_used_in_two_journals_is_known_in_both),
		TEST(a_journal_closed_in_order_goes_on),
		TEST(a_torn_tail_is_cut),
		TEST(a_line_whose_first_byte_is_missing_is_cut),
		TEST(rubbish_without_end_is_cut),
		TEST(lines_behind_damage_are_kept_and_a_new_segment_begun),
		TEST(after_a_crash_of_the_host_no_number_comes_twice),
		TEST(a_full_segment_whose_successor_is_gone_was_a_crash),
		TEST(an_empty_segment_was_a_crash),
		TEST(rotation_leaves_the_sign_of_an_unfinished_journal),
		TEST(files_that_are_not_segments_are_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
