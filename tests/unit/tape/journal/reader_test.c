#include "tape/journal/journal.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

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

static struct journal_reader *open_reader(uint64_t since)
{
	struct journal_reader *r = NULL;

	assert_int_equal(journal_reader_open(place.fd, JOURNAL_NAME, since, &r),
			 0);
	return r;
}

static void expect_line(struct journal_reader *r, uint64_t n)
{
	struct journal_line l;
	char path[32];

	(void)snprintf(path, sizeof(path), "file-%lu", (unsigned long)n);
	assert_int_equal(journal_reader_next(r, &l), 1);
	assert_int_equal(l.n, n);
	assert_string_equal(l.event.path, path);
}

static void expect_lines(struct journal_reader *r, uint64_t from, uint64_t to)
{
	for (; from <= to; from++)
		expect_line(r, from);
}

static void expect_gone(struct journal_reader *r, uint64_t upto)
{
	struct journal_line l;

	assert_int_equal(journal_reader_next(r, &l), -ESTALE);
	assert_int_equal(l.n, upto);
}

static void expect_end(struct journal_reader *r)
{
	struct journal_line l;

	assert_int_equal(journal_reader_next(r, &l), 0);
	assert_int_equal(journal_reader_next(r, &l), 0);
}

/* The segment `first` with the lines first..last. */
static int make_segment(uint64_t first, uint64_t last)
{
	int fd = segment_open(&place, first);

	segment_fill(fd, first, last);
	return fd;
}

/* The offset of line `n` in a segment that begins with line `first`. */
static off_t offset_of(uint64_t first, uint64_t n)
{
	char line[JOURNAL_LINE_MAX];
	char path[32];
	off_t at = 0;

	for (; first < n; first++) {
		(void)snprintf(path, sizeof(path), "file-%lu",
			       (unsigned long)first);
		at += (off_t)segment_line(line, first, path);
	}
	return at;
}

static void overwrite(int fd, off_t at, const char *bytes, size_t len)
{
	assert_int_equal(pwrite(fd, bytes, len, at), len);
}

static void there_must_be_a_journal_to_read(void **state)
{
	struct journal_reader *r = NULL;

	(void)state;
	assert_int_equal(journal_reader_open(place.fd, JOURNAL_NAME, 0, &r),
			 -ENOENT);
	assert_null(r);
	journal_reader_free(NULL);
}

static void an_empty_journal_has_no_lines(void **state)
{
	struct journal_reader *r;

	(void)state;
	assert_int_equal(mkdirat(place.fd, JOURNAL_NAME, 0700), 0);
	r = open_reader(0);
	expect_end(r);
	(void)close(make_segment(1, 3));
	expect_lines(r, 1, 3);
	expect_end(r);
	journal_reader_free(r);
}

static void reading_begins_behind_the_number_given(void **state)
{
	struct journal_reader *r;
	uint64_t since;

	(void)state;
	(void)close(make_segment(1, 9));
	(void)close(make_segment(10, 19));
	(void)close(make_segment(20, 29));
	for (since = 0; since < 30; since++) {
		r = open_reader(since);
		expect_lines(r, since + 1, 29);
		expect_end(r);
		journal_reader_free(r);
	}
}

static void nothing_comes_before_the_head_has_passed_the_number(void **state)
{
	int fd = make_segment(1, 5);
	struct journal_reader *r = open_reader(8);

	(void)state;
	expect_end(r);
	segment_fill(fd, 6, 8);
	expect_end(r);
	segment_fill(fd, 9, 10);
	expect_lines(r, 9, 10);
	expect_end(r);
	journal_reader_free(r);

	r = open_reader(UINT64_MAX);
	expect_end(r);
	journal_reader_free(r);
	(void)close(fd);
}

static void lines_come_as_they_are_written(void **state)
{
	int fd = make_segment(1, 1);
	struct journal_reader *r = open_reader(0);
	uint64_t n;

	(void)state;
	expect_line(r, 1);
	for (n = 2; n < 2000; n++) {
		expect_end(r);
		segment_fill(fd, n, n);
		expect_line(r, n);
	}
	journal_reader_free(r);
	(void)close(fd);
}

static void a_line_half_written_is_waited_for(void **state)
{
	int fd = make_segment(1, 3);
	struct journal_reader *r = open_reader(0);
	char line[JOURNAL_LINE_MAX];
	size_t len = segment_line(line, 4, "file-4"), i;

	(void)state;
	expect_lines(r, 1, 3);
	for (i = 0; i < len; i++) {
		expect_end(r);
		segment_write(fd, line + i, 1);
	}
	expect_line(r, 4);
	journal_reader_free(r);
	(void)close(fd);
}

static void a_line_whose_first_byte_comes_last_is_waited_for(void **state)
{
	int fd = make_segment(1, 3);
	struct journal_reader *r = open_reader(0);
	char line[JOURNAL_LINE_MAX];
	size_t len = segment_line(line, 4, "file-4");
	off_t at = segment_size(fd);

	(void)state;
	expect_lines(r, 1, 3);
	assert_int_equal(ftruncate(fd, at + 8192), 0);
	expect_end(r);
	overwrite(fd, at + 1, line + 1, len - 1);
	expect_end(r);
	overwrite(fd, at, line, 1);
	expect_line(r, 4);
	expect_end(r);
	journal_reader_free(r);
	(void)close(fd);
}

static void reading_continues_in_the_next_segment(void **state)
{
	int fd = make_segment(1, 3);
	struct journal_reader *r = open_reader(0);

	(void)state;
	expect_lines(r, 1, 3);
	expect_end(r);
	/*
	 * Both happen before the next read: the end of the old segment still
	 * counts.
	 */
	segment_fill(fd, 4, 5);
	(void)close(make_segment(6, 7));
	expect_lines(r, 4, 7);
	expect_end(r);
	journal_reader_free(r);
	(void)close(fd);
}

static void missing_segments_are_reported_once(void **state)
{
	struct journal_reader *r;

	(void)state;
	(void)close(make_segment(101, 103));
	(void)close(make_segment(201, 203));
	r = open_reader(0);
	expect_gone(r, 100);
	expect_lines(r, 101, 103);
	expect_gone(r, 200);
	expect_lines(r, 201, 203);
	expect_end(r);
	journal_reader_free(r);

	r = open_reader(150);
	expect_gone(r, 200);
	expect_line(r, 201);
	journal_reader_free(r);
}

static void a_segment_removed_while_it_is_read_is_read_on(void **state)
{
	struct journal_reader *r;

	(void)state;
	(void)close(make_segment(1, 1000));
	(void)close(make_segment(1001, 1010));
	r = open_reader(0);
	expect_lines(r, 1, 500);
	assert_int_equal(
		unlinkat(place.fd, JOURNAL_NAME "/00000000000000000001.log", 0),
		0);
	expect_lines(r, 501, 1010);
	expect_end(r);
	journal_reader_free(r);
}

static void a_directory_made_again_is_found(void **state)
{
	struct journal_reader *r;

	(void)state;
	(void)close(make_segment(1, 5));
	r = open_reader(0);
	expect_lines(r, 1, 5);
	place_remove_journal(&place);
	expect_end(r);
	(void)close(make_segment(9, 10));
	expect_gone(r, 8);
	expect_lines(r, 9, 10);
	expect_end(r);
	journal_reader_free(r);
}

static void a_damaged_line_is_missing_and_the_next_is_not(void **state)
{
	int fd = make_segment(1, 9);
	struct journal_reader *r;

	(void)state;
	overwrite(fd, offset_of(1, 4) + 7, "#", 1);
	r = open_reader(0);
	expect_lines(r, 1, 3);
	expect_gone(r, 4);
	expect_lines(r, 5, 9);
	expect_end(r);
	journal_reader_free(r);

	/* Without its newline, two lines become one bad one. */
	overwrite(fd, offset_of(1, 7) - 1, "#", 1);
	r = open_reader(5);
	expect_gone(r, 7);
	expect_lines(r, 8, 9);
	expect_end(r);
	journal_reader_free(r);
	(void)close(fd);
}

static void zeros_are_an_end_while_lines_may_come_and_damage_later(void **state)
{
	static const char zeros[100];
	int fd = make_segment(1, 9);
	struct journal_reader *r;

	(void)state;
	overwrite(fd, offset_of(1, 4), zeros, 20);
	r = open_reader(0);
	expect_lines(r, 1, 3);
	expect_end(r);
	(void)close(make_segment(10, 12));
	expect_gone(r, 4);
	expect_lines(r, 5, 12);
	expect_end(r);
	journal_reader_free(r);
	(void)close(fd);
}

static void a_damaged_last_line_may_still_be_made_whole(void **state)
{
	int fd = make_segment(1, 9);
	struct journal_reader *r;
	char right;

	(void)state;
	assert_int_equal(pread(fd, &right, 1, offset_of(1, 9) + 9), 1);
	overwrite(fd, offset_of(1, 9) + 9, "#", 1);
	r = open_reader(7);
	expect_line(r, 8);
	expect_end(r);
	overwrite(fd, offset_of(1, 9) + 9, &right, 1);
	expect_line(r, 9);
	journal_reader_free(r);
	(void)close(fd);
}

static void the_line_after_a_gap_keeps_its_texts(void **state)
{
	struct journal_reader *r;
	struct journal_line gone, l;

	(void)state;
	(void)close(make_segment(50, 60));
	r = open_reader(10);
	assert_int_equal(journal_reader_next(r, &gone), -ESTALE);
	assert_null(gone.event.path);
	assert_int_equal(journal_reader_next(r, &l), 1);
	assert_string_equal(l.event.path, "file-50");
	journal_reader_free(r);
}

static void numbers_that_do_not_rise_are_passed_over(void **state)
{
	int fd = make_segment(1, 5);
	struct journal_reader *r = open_reader(0);

	(void)state;
	segment_fill(fd, 2, 7);
	expect_lines(r, 1, 7);
	expect_end(r);
	journal_reader_free(r);
	(void)close(fd);
}

/* Megabytes without a line: the reader must skip them, and quickly. */
static void read_through(const char *pattern, size_t period, size_t bytes)
{
	int fd = make_segment(1, 3);
	struct journal_reader *r;
	char *rubbish = malloc(bytes);
	size_t i;

	assert_non_null(rubbish);
	for (i = 0; i < bytes; i++)
		rubbish[i] = pattern[i % period];
	segment_write(fd, rubbish, bytes);
	segment_write(fd, "\n", 1);
	segment_fill(fd, 5, 6);
	/* And at the end, without a newline. */
	segment_write(fd, rubbish, bytes);
	free(rubbish);
	(void)close(fd);
	(void)close(make_segment(10, 11));

	r = open_reader(0);
	expect_lines(r, 1, 3);
	expect_gone(r, 4);
	expect_lines(r, 5, 6);
	expect_gone(r, 9);
	expect_lines(r, 10, 11);
	expect_end(r);
	journal_reader_free(r);
	place_remove_journal(&place);
}

static void rubbish_is_read_through_in_linear_time(void **state)
{
	(void)state;
	read_through("x", 1, 10 << 20);
	read_through("", 1, 10 << 20);
	read_through("\n", 1, 10 << 20);
	read_through("a\0", 2, 10 << 20);
	read_through("1\t1\t1\twrite\t\n", 12, 10 << 20);
}

static void a_rubbish_tail_is_not_searched_again_each_time(void **state)
{
	int fd = make_segment(1, 3), i;
	char *rubbish = malloc(10 << 20);
	struct journal_reader *r;
	struct journal_line l;

	(void)state;
	assert_non_null(rubbish);
	memset(rubbish, 'x', 10 << 20);
	segment_write(fd, rubbish, 10 << 20);
	free(rubbish);
	r = open_reader(0);
	expect_lines(r, 1, 3);
	/* A sparse file of 20 GiB. */
	for (i = 0; i < 2000; i++)
		assert_int_equal(journal_reader_next(r, &l), 0);
	segment_write(fd, "\n", 1);
	segment_fill(fd, 7, 8);
	expect_gone(r, 6);
	expect_lines(r, 7, 8);
	journal_reader_free(r);
	(void)close(fd);
}

static void authors_are_known_wherever_reading_begins(void **state)
{
	struct journal_author parent = { .pid = 3, .comm = "parent" };
	struct journal_author child = {
		.pid = 4,
		.comm = "child",
		.parent = &parent,
	};
	struct journal_event e = {
		.op = JOURNAL_CREATE,
		.path = "f",
		.author = &child,
	};
	struct journal_limits limits = { .segment_bytes = 4096 };
	struct journal_author *first = NULL;
	struct journal_reader *r;
	struct journal_line l;
	struct journal *j;
	uint64_t since;
	int k;

	(void)state;
	assert_int_equal(journal_open(place.fd, JOURNAL_NAME, "/", &limits, &j),
			 0);
	while (journal_append(j, &e) < 300)
		;
	journal_close(j);
	for (since = 1; since < 300; since += 13) {
		r = open_reader(since);
		first = NULL;
		while ((k = journal_reader_next(r, &l)) == 1) {
			if (l.event.op != JOURNAL_CREATE)
				continue;
			assert_string_equal(l.event.author->comm, "child");
			assert_string_equal(l.event.author->parent->comm,
					    "parent");
			if (!first)
				first = l.event.author;
		}
		assert_int_equal(k, 0);
		/* Valid as long as the reader, even segments later. */
		assert_non_null(first);
		if (first)
			assert_string_equal(first->parent->comm, "parent");
		journal_reader_free(r);
	}
}

static void an_introduced_process_is_its_lines_author(void **state)
{
	struct journal_author a = { .pid = 3, .comm = "new", .exe = "/bin/x" };
	struct journal_event e = { .op = JOURNAL_CREATE, .author = &a };
	struct journal_reader *r;
	struct journal_line l;
	struct journal *j;

	(void)state;
	assert_int_equal(journal_open(place.fd, JOURNAL_NAME, "/", NULL, &j),
			 0);
	(void)journal_append(j, &e);
	r = open_reader(1);
	assert_int_equal(journal_reader_next(r, &l), 1);
	assert_int_equal(l.event.op, JOURNAL_ACTOR);
	assert_string_equal(l.event.author->comm, "new");
	assert_string_equal(l.event.author->exe, "/bin/x");
	assert_int_equal(l.event.author->line, l.n);
	journal_reader_free(r);
	journal_close(j);
}

static void an_author_without_introduction_is_unknown(void **state)
{
	static struct journal_draft d;
	struct journal_event e = { .op = JOURNAL_CREATE, .path = "f" };
	struct journal_stamp s = { .n = 1, .author = 77 };
	struct journal_reader *r;
	struct journal_line l;
	const char *line;
	size_t len;
	int fd = segment_open(&place, 1);

	(void)state;
	journal_draft_event(&d, &e);
	line = journal_draft_finish(&d, &s, &len);
	segment_write(fd, line, len);
	r = open_reader(0);
	assert_int_equal(journal_reader_next(r, &l), 1);
	assert_null(l.event.author);
	journal_reader_free(r);
	(void)close(fd);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(there_must_be_a_journal_to_read),
		TEST(an_empty_journal_has_no_lines),
		TEST(reading_begins_behind_the_number_given),
		TEST(nothing_comes_before_the_head_has_passed_the_number),
		TEST(lines_come_as_they_are_written),
		TEST(a_line_half_written_is_waited_for),
		TEST(a_line_whose_first_byte_comes_last_is_waited_for),
		TEST(reading_continues_in_the_next_segment),
		TEST(missing_segments_are_reported_once),
		TEST(a_segment_removed_while_it_is_read_is_read_on),
		TEST(a_directory_made_again_is_found),
		TEST(a_damaged_line_is_missing_and_the_next_is_not),
		TEST(zeros_are_an_end_while_lines_may_come_and_damage_later),
		TEST(a_damaged_last_line_may_still_be_made_whole),
		TEST(the_line_after_a_gap_keeps_its_texts),
		TEST(numbers_that_do_not_rise_are_passed_over),
		TEST(rubbish_is_read_through_in_linear_time),
		TEST(a_rubbish_tail_is_not_searched_again_each_time),
		TEST(authors_are_known_wherever_reading_begins),
		TEST(an_introduced_process_is_its_lines_author),
		TEST(an_author_without_introduction_is_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
