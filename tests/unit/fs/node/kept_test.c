#include "fs/node/kept.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "fs/node/fs.h"
#include "graph/base/cleanup.h"
#include "tape/journal/progress.h"
#include "tests/support/scratch.h"

/* A state directory, and a file "text" and a link "link" beside it. */
struct world {
	char *path;
	int dir_fd;
	int proc_fd;
	struct progress *progress;
	struct kept *kept;
};

static int setup(void **state)
{
	static struct world w;

	w.path = scratch_new();
	assert_non_null(w.path);
	w.dir_fd = open(w.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	w.proc_fd = open("/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(w.dir_fd >= 0 && w.proc_fd >= 0);
	assert_int_equal(progress_open(w.dir_fd, &w.progress), 0);
	progress_set_line(w.progress, 1);
	assert_int_equal(kept_new(w.dir_fd, w.progress, 1, &w.kept), 0);
	assert_int_equal(symlinkat("the/target", w.dir_fd, "link"), 0);
	*state = &w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	kept_free(w->kept);
	progress_free(w->progress);
	(void)close(w->proc_fd);
	(void)close(w->dir_fd);
	scratch_free(w->path);
	return 0;
}

static void put(const struct world *w, const void *bytes, size_t len)
{
	int fd = openat(w->dir_fd, "text",
			O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), len);
	(void)close(fd);
}

/* Copy the file `name`. */
static int copy(const struct world *w, const char *name, struct kept_file *f)
{
	CLEANUP(close_p)
	int fd = openat(w->dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	assert_true(fd >= 0);
	return kept_copy(w->kept, w->proc_fd, fd, f);
}

/* What the copy holds; static. */
static const char *copied(const struct world *w, const struct kept_file *f)
{
	static char text[1000];
	char path[KEPT_NAME_MAX + 8];
	CLEANUP(close_p) int fd = -1;
	struct stat st;
	ssize_t got;

	(void)snprintf(path, sizeof(path), "kept/%s", f->name);
	fd = openat(w->dir_fd, path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	got = read(fd, text, sizeof(text) - 1);
	assert_int_equal(got, f->len);
	text[got] = '\0';
	return text;
}

static uint64_t waiting(const struct world *w)
{
	struct kept_stats st;

	kept_stat(w->kept, &st);
	return st.files;
}

static void a_file_is_copied_by_its_text_and_a_link_by_its_target(void **state)
{
	struct world *w = *state;
	struct kept_file a, b;

	put(w, "some text\n", 10);
	assert_int_equal(copy(w, "text", &a), 0);
	assert_int_equal(copy(w, "link", &b), 0);
	assert_string_equal(copied(w, &a), "some text\n");
	assert_string_equal(copied(w, &b), "the/target");
	assert_string_not_equal(a.name, b.name);
}

static void a_copy_waits_until_the_tape_has_read_its_line(void **state)
{
	struct world *w = *state;
	struct kept_file f;

	put(w, "1", 1);
	for (uint64_t n = 10; n < 13; n++) {
		assert_int_equal(copy(w, "text", &f), 0);
		kept_done(w->kept, &f, n);
	}
	assert_int_equal(waiting(w), 3);
	progress_set_line(w->progress, 11);
	assert_int_equal(waiting(w), 1);
	progress_set_line(w->progress, 12);
	assert_int_equal(waiting(w), 0);
	/* Its file is the tape's. */
	assert_string_equal(copied(w, &f), "1");
}

static void a_dropped_copy_leaves_nothing(void **state)
{
	struct world *w = *state;
	struct kept_file f;
	char path[KEPT_NAME_MAX + 8];

	put(w, "1", 1);
	assert_int_equal(copy(w, "text", &f), 0);
	kept_drop(w->kept, &f);
	(void)snprintf(path, sizeof(path), "kept/%s", f.name);
	assert_int_equal(faccessat(w->dir_fd, path, F_OK, 0), -1);
	assert_int_equal(waiting(w), 0);
}

static void
what_is_not_text_or_too_long_is_refused_with_its_length(void **state)
{
	static char bytes[JOURNAL_KEPT_MAX + 1];
	struct world *w = *state;
	struct kept_file f;

	memset(bytes, 'x', sizeof(bytes));
	put(w, bytes, sizeof(bytes));
	assert_int_equal(copy(w, "text", &f), -EFBIG);
	assert_int_equal(f.len, JOURNAL_KEPT_MAX + 1);
	put(w, bytes, JOURNAL_KEPT_MAX);
	assert_int_equal(copy(w, "text", &f), 0);
	kept_drop(w->kept, &f);
	bytes[JOURNAL_KEPT_MAX - 1] = '\0';
	put(w, bytes, JOURNAL_KEPT_MAX);
	assert_int_equal(copy(w, "text", &f), -EMEDIUMTYPE);
	assert_int_equal(f.len, JOURNAL_KEPT_MAX);
	assert_int_equal(waiting(w), 0);
}

static void copies_end_at_the_limit_until_the_tape_has_read(void **state)
{
	static char bytes[JOURNAL_KEPT_MAX];
	struct world *w = *state;
	struct kept_file f;
	unsigned most = FS_KEPT_BYTES / JOURNAL_KEPT_MAX;

	memset(bytes, 'x', sizeof(bytes));
	put(w, bytes, sizeof(bytes));
	for (unsigned n = 0; n < most; n++) {
		assert_int_equal(copy(w, "text", &f), 0);
		kept_done(w->kept, &f, 10 + n);
	}
	assert_int_equal(copy(w, "text", &f), -ENOSPC);
	assert_int_equal(f.len, JOURNAL_KEPT_MAX);
	progress_set_line(w->progress, 10);
	assert_int_equal(copy(w, "text", &f), 0);
}

static void what_an_earlier_mount_left_waits_too(void **state)
{
	struct world *w = *state;
	struct kept_file f;

	put(w, "1", 1);
	assert_int_equal(copy(w, "text", &f), 0);
	kept_done(w->kept, &f, 20);
	kept_free(w->kept);
	w->kept = NULL;
	assert_int_equal(kept_new(w->dir_fd, w->progress, 30, &w->kept), 0);
	assert_int_equal(waiting(w), 1);
	progress_set_line(w->progress, 30);
	assert_int_equal(waiting(w), 0);
}

static void a_copy_leaves_the_access_time_alone(void **state)
{
	const struct timespec old[2] = { { .tv_sec = 1000 },
					 { .tv_sec = 2000 } };
	struct world *w = *state;
	struct kept_file f;
	struct stat st;

	put(w, "1", 1);
	assert_int_equal(utimensat(w->dir_fd, "text", old, 0), 0);
	assert_int_equal(copy(w, "text", &f), 0);
	assert_int_equal(fstatat(w->dir_fd, "text", &st, 0), 0);
	assert_int_equal(st.st_atim.tv_sec, 1000);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_file_is_copied_by_its_text_and_a_link_by_its_target),
		TEST(a_copy_waits_until_the_tape_has_read_its_line),
		TEST(a_dropped_copy_leaves_nothing),
		TEST(what_is_not_text_or_too_long_is_refused_with_its_length),
		TEST(copies_end_at_the_limit_until_the_tape_has_read),
		TEST(what_an_earlier_mount_left_waits_too),
		TEST(a_copy_leaves_the_access_time_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
