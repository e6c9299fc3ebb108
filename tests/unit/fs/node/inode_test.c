#include "fs/node/inode.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "fs/node/hold.h"
#include "graph/base/cleanup.h"
#include "tests/support/scratch.h"

/* A directory with the files a, b and the directories d, e, d/f. */
struct tree {
	char *path;
	struct inodes *inodes;
};

static void put(const struct tree *t, const char *name, bool dir)
{
	char path[PATH_MAX];
	int fd;

	assert_true(snprintf(path, sizeof(path), "%s/%s", t->path, name) > 0);
	if (dir) {
		assert_return_code(mkdir(path, 0700), errno);
		return;
	}
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_return_code(fd, errno);
	(void)close(fd);
}

static int setup(void **state)
{
	static struct tree t;
	int fd;

	t.path = scratch_new();
	assert_non_null(t.path);
	put(&t, "a", false);
	put(&t, "b", false);
	put(&t, "d", true);
	put(&t, "e", true);
	put(&t, "d/f", false);
	fd = open(t.path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_return_code(fd, errno);
	assert_int_equal(inodes_new(fd, &t.inodes), 0);
	*state = &t;
	return 0;
}

static int teardown(void **state)
{
	struct tree *t = *state;

	inodes_free(t->inodes);
	scratch_free(t->path);
	return 0;
}

static struct inode *look(struct tree *t, struct inode *dir, const char *name)
{
	struct stat st;
	struct inode *i;
	CLEANUP(hold_end) struct hold h = HOLD_NONE;
	int fd;

	assert_int_equal(hold_begin(t->inodes, dir, &h), 0);
	fd = openat(h.fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	assert_return_code(fd, errno);
	assert_return_code(fstat(fd, &st), errno);
	assert_true(inodes_admit(t->inodes, dir, name, fd, &st, &i) >= 0);
	return i;
}

static void assert_path(struct tree *t, struct inode *i, const char *expected,
			bool expected_gone)
{
	char path[PATH_MAX];
	bool gone;

	assert_int_equal(inodes_path(t->inodes, i, path, sizeof(path), &gone),
			 0);
	assert_string_equal(path, expected);
	assert_int_equal(gone, expected_gone);
}

static uint64_t count(struct tree *t)
{
	struct inodes_counts counts;

	inodes_count(t->inodes, &counts);
	return counts.inodes;
}

static void the_root_is_a_dot(void **state)
{
	struct tree *t = *state;

	assert_path(t, inodes_root(t->inodes), ".", false);
}

static void looking_twice_finds_the_same_inode(void **state)
{
	struct tree *t = *state;
	struct inode *root = inodes_root(t->inodes);
	struct inode *a = look(t, root, "a");

	assert_ptr_equal(look(t, root, "a"), a);
	assert_int_equal(count(t), 2);
	inodes_forget(t->inodes, a, 1);
	assert_int_equal(count(t), 2);
	inodes_forget(t->inodes, a, 1);
	assert_int_equal(count(t), 1);
}

static void
a_directory_outlives_its_lookups_while_a_child_is_known(void **state)
{
	struct tree *t = *state;
	struct inode *d = look(t, inodes_root(t->inodes), "d");
	struct inode *f = look(t, d, "f");

	inodes_forget(t->inodes, d, 1);
	assert_path(t, f, "d/f", false);
	assert_int_equal(count(t), 3);
	inodes_forget(t->inodes, f, 1);
	assert_int_equal(count(t), 1);
}

static void forgetting_more_than_was_given_is_harmless(void **state)
{
	struct tree *t = *state;
	struct inode *a = look(t, inodes_root(t->inodes), "a");
	struct inodes_counts counts;

	inodes_forget(t->inodes, a, 100);
	inodes_count(t->inodes, &counts);
	assert_int_equal(counts.inodes, 1);
	assert_int_equal(counts.lookups, 0);
}

static void a_moved_directory_moves_the_paths_below_it(void **state)
{
	struct tree *t = *state;
	struct inode *root = inodes_root(t->inodes);
	struct inode *d = look(t, root, "d");
	struct inode *e = look(t, root, "e");
	struct inode *f = look(t, d, "f");

	inodes_move_name(t->inodes, root, "d", e, "new");
	assert_path(t, f, "e/new/f", false);
	assert_null(inodes_find(t->inodes, root, "d"));
}

static void a_name_moved_over_leaves_the_old_file_gone(void **state)
{
	struct tree *t = *state;
	struct inode *root = inodes_root(t->inodes);
	struct inode *a = look(t, root, "a");
	struct inode *b = look(t, root, "b");

	inodes_move_name(t->inodes, root, "a", root, "b");
	assert_path(t, a, "b", false);
	assert_path(t, b, "b", true);
}

static void exchanged_names_are_exchanged(void **state)
{
	struct tree *t = *state;
	struct inode *root = inodes_root(t->inodes);
	struct inode *a = look(t, root, "a");
	struct inode *d = look(t, root, "d");
	struct inode *f = look(t, d, "f");

	inodes_swap_names(t->inodes, root, "a", d, "f");
	assert_path(t, a, "d/f", false);
	assert_path(t, f, "a", false);
}

static void a_removed_file_is_still_told_by_its_last_path(void **state)
{
	struct tree *t = *state;
	struct inode *root = inodes_root(t->inodes);
	struct inode *a = look(t, root, "a");

	inodes_drop_name(t->inodes, root, "a");
	assert_path(t, a, "a", true);
	assert_null(inodes_find(t->inodes, root, "a"));
	inodes_forget(t->inodes, a, 1);
	assert_int_equal(count(t), 1);
}

static void what_is_below_a_directory_that_is_gone_is_gone(void **state)
{
	struct tree *t = *state;
	struct inode *root = inodes_root(t->inodes);
	struct inode *d = look(t, root, "d"), *f = look(t, d, "f");

	inodes_drop_name(t->inodes, root, "d");
	assert_path(t, f, "d/f", true);
	inodes_add_name(t->inodes, d, root, "e");
	assert_path(t, f, "e/f", false);
}

static void of_two_names_the_one_left_is_the_path(void **state)
{
	struct tree *t = *state;
	struct inode *root = inodes_root(t->inodes);
	struct inode *d = look(t, root, "d");
	struct inode *a = look(t, root, "a");

	inodes_add_name(t->inodes, a, d, "link");
	assert_path(t, a, "d/link", false);
	inodes_drop_name(t->inodes, d, "link");
	assert_path(t, a, "a", false);
	/* A lookup by another name makes that name the first. */
	inodes_add_name(t->inodes, a, d, "link");
	(void)look(t, root, "a");
	assert_path(t, a, "a", false);
}

/* Processor time per name to use each of `n` names of `i` once more. */
static double name_cost(struct tree *t, struct inode *i, struct inode *dir,
			int n)
{
	char name[32];
	clock_t start;

	for (int round = 0; round < 2; round++) {
		start = clock();
		for (int k = 0; k < n; k++) {
			(void)snprintf(name, sizeof(name), "%d", k);
			inodes_add_name(t->inodes, i, dir, name);
		}
	}
	return (double)(clock() - start) / n;
}

/* A walk from name to name would cost a hundred times as much. */
static void a_name_costs_the_same_however_many_there_are(void **state)
{
	struct tree *t = *state;
	struct inode *root = inodes_root(t->inodes);
	struct inode *d = look(t, root, "d");
	double few = name_cost(t, look(t, root, "a"), d, 300);
	double many = name_cost(t, look(t, root, "b"), d, 60000);

	assert_true(many < 30 * (few + 0.1));
}

static void a_nameless_file_has_no_path_until_it_is_linked(void **state)
{
	struct tree *t = *state;
	struct inode *root = inodes_root(t->inodes), *i;
	char path[PATH_MAX];
	struct stat st;
	int fd = openat(inodes_root_fd(t->inodes), "a", O_PATH | O_CLOEXEC);

	assert_return_code(fstat(fd, &st), errno);
	assert_int_equal(inodes_admit(t->inodes, NULL, NULL, fd, &st, &i), 1);
	assert_int_equal(inodes_path(t->inodes, i, path, sizeof(path), NULL),
			 -ENOENT);
	inodes_add_name(t->inodes, i, root, "linked");
	assert_path(t, i, "linked", false);
}

static void a_path_that_does_not_fit_keeps_its_tail(void **state)
{
	struct tree *t = *state;
	struct inode *d = look(t, inodes_root(t->inodes), "d");
	char path[8];

	assert_int_equal(
		inodes_path_in(t->inodes, d, "12345", path, sizeof(path)), 0);
	assert_string_equal(path, "d/12345");
	assert_int_equal(
		inodes_path_in(t->inodes, d, "123456", path, sizeof(path)), 0);
	assert_string_equal(path, "...456");
	assert_int_equal(
		inodes_path_in(t->inodes, d, "12345678", path, sizeof(path)),
		-ENAMETOOLONG);
}

static void watches_lead_back_to_their_directory(void **state)
{
	struct tree *t = *state;
	struct inode *d = look(t, inodes_root(t->inodes), "d");
	struct inode *found;

	inodes_set_watch(t->inodes, d, 7);
	found = inodes_by_watch(t->inodes, 7);
	assert_ptr_equal(found, d);
	inodes_unref(t->inodes, found);
	assert_null(inodes_by_watch(t->inodes, 8));
	inodes_forget(t->inodes, d, 1);
	assert_null(inodes_by_watch(t->inodes, 7));
}

static void all_names_are_listed_and_given_back(void **state)
{
	struct tree *t = *state;
	struct inode *root = inodes_root(t->inodes);
	struct inode *a = look(t, root, "a");
	struct inode_name *names;
	size_t n;

	(void)look(t, root, "b");
	assert_int_equal(inodes_names(t->inodes, &names, &n), 0);
	assert_int_equal(n, 2);
	assert_ptr_equal(names[0].parent, root);
	assert_string_not_equal(names[0].name, names[1].name);
	inodes_names_free(t->inodes, names, n);
	inodes_forget(t->inodes, a, 1);
	assert_int_equal(count(t), 2);
}

static void a_stamp_follows_every_fact_of_the_content(void **state)
{
	struct stat st = { .st_size = 1 }, other = st;

	(void)state;
	assert_int_equal(inode_stamp(&st), inode_stamp(&other));
	assert_int_not_equal(inode_stamp(&st), 0);
	other.st_mtim.tv_nsec++;
	assert_int_not_equal(inode_stamp(&st), inode_stamp(&other));
	other = st;
	other.st_ctim.tv_sec++;
	assert_int_not_equal(inode_stamp(&st), inode_stamp(&other));
	other = st;
	other.st_size++;
	assert_int_not_equal(inode_stamp(&st), inode_stamp(&other));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_root_is_a_dot),
		TEST(looking_twice_finds_the_same_inode),
		TEST(a_directory_outlives_its_lookups_while_a_child_is_known),
		TEST(forgetting_more_than_was_given_is_harmless),
		TEST(a_moved_directory_moves_the_paths_below_it),
		TEST(a_name_moved_over_leaves_the_old_file_gone),
		TEST(exchanged_names_are_exchanged),
		TEST(a_removed_file_is_still_told_by_its_last_path),
		TEST(what_is_below_a_directory_that_is_gone_is_gone),
		TEST(of_two_names_the_one_left_is_the_path),
		TEST(a_name_costs_the_same_however_many_there_are),
		TEST(a_nameless_file_has_no_path_until_it_is_linked),
		TEST(a_path_that_does_not_fit_keeps_its_tail),
		TEST(watches_lead_back_to_their_directory),
		TEST(all_names_are_listed_and_given_back),
		TEST(all_names_are_listed_and_given_back),
		TEST(a_stamp_follows_every_fact_of_the_content),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
