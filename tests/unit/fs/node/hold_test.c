#include "fs/node/hold.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "fs/node/table.h"
#include "graph/base/cleanup.h"
#include "tests/support/scratch.h"

#define FILES 100

/* A directory with the files 0 to 99 and the directory d with the file f. */
struct tree {
	char *path;
	int fd;
	struct inodes *inodes;
};

static void put(const struct tree *t, const char *name)
{
	CLEANUP(close_p)
	int fd = openat(t->fd, name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC,
			0600);

	assert_return_code(fd, errno);
}

static void limit(struct tree *t, uint64_t inodes)
{
	const struct hold_limits l = { .inodes = inodes, .below = INT32_MAX };

	hold_limit(t->inodes, &l);
}

static int setup(void **state)
{
	static struct tree t;
	char name[16];

	t.path = scratch_new();
	assert_non_null(t.path);
	t.fd = open(t.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_return_code(t.fd, errno);
	for (int n = 0; n < FILES; n++) {
		(void)snprintf(name, sizeof(name), "%d", n);
		put(&t, name);
	}
	assert_return_code(mkdirat(t.fd, "d", 0700), errno);
	put(&t, "d/f");
	assert_int_equal(
		inodes_new(open(t.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
			   &t.inodes),
		0);
	limit(&t, 1);
	*state = &t;
	return 0;
}

static int teardown(void **state)
{
	struct tree *t = *state;

	inodes_free(t->inodes);
	(void)close(t->fd);
	scratch_free(t->path);
	return 0;
}

static struct inode *look(struct tree *t, struct inode *dir, const char *name)
{
	CLEANUP(hold_end) struct hold h = HOLD_NONE;
	struct stat st;
	struct inode *i;
	int fd;

	assert_int_equal(hold_begin(t->inodes, dir, &h), 0);
	fd = openat(h.fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	assert_return_code(fd, errno);
	assert_return_code(fstat(fd, &st), errno);
	assert_true(inodes_admit(t->inodes, dir, name, fd, &st, &i) >= 0);
	return i;
}

/* Look up files from `first` on, so that others lose their descriptors. */
static void crowd(struct tree *t, int first)
{
	char name[16];

	for (int n = first; n < FILES; n++) {
		(void)snprintf(name, sizeof(name), "%d", n);
		(void)look(t, inodes_root(t->inodes), name);
	}
}

static uint64_t held(struct tree *t)
{
	struct hold_stats st;

	hold_stat(t->inodes, &st);
	return st.held;
}

/* The number of the file that the inode's descriptor leads to, or an error. */
static int64_t number(struct tree *t, struct inode *i)
{
	CLEANUP(hold_end) struct hold h = HOLD_NONE;
	int r = hold_begin(t->inodes, i, &h);
	struct stat st;

	if (r < 0)
		return r;
	assert_return_code(fstat(h.fd, &st), errno);
	return (int64_t)st.st_ino;
}

static void assert_found(struct tree *t, struct inode *i)
{
	assert_int_equal(number(t, i), i->key.ino);
}

static void descriptors_stay_few_and_every_file_is_found(void **state)
{
	struct tree *t = *state;
	struct inode *root = inodes_root(t->inodes);
	struct inode *d = look(t, root, "d"), *f = look(t, d, "f");
	struct inode *first = look(t, root, "0");

	crowd(t, 1);
	assert_true(hold_is_closed(d) && hold_is_closed(f));
	assert_true(held(t) <= 1);
	for (int n = 0; n < 3; n++) {
		assert_found(t, f);
		assert_found(t, first);
		assert_found(t, d);
		assert_found(t, root);
	}
	assert_true(held(t) <= 1);
}

static void a_descriptor_in_use_stays(void **state)
{
	struct tree *t = *state;
	struct inode *i = look(t, inodes_root(t->inodes), "0");
	struct hold h = HOLD_NONE, again = HOLD_NONE;
	struct stat st;

	assert_int_equal(hold_begin(t->inodes, i, &h), 0);
	crowd(t, 1);
	assert_false(hold_is_closed(i));
	assert_return_code(fstat(h.fd, &st), errno);
	assert_int_equal(st.st_ino, i->key.ino);
	assert_int_equal(hold_begin(t->inodes, i, &again), 0);
	assert_int_equal(again.fd, h.fd);
	hold_end(&again);
	hold_end(&h);
	crowd(t, 1);
	assert_true(hold_is_closed(i));
}

static void a_file_without_a_name_keeps_its_descriptor(void **state)
{
	struct tree *t = *state;
	struct inode *root = inodes_root(t->inodes);
	struct inode *i = look(t, root, "0");

	crowd(t, 1);
	assert_found(t, i);
	assert_return_code(unlinkat(t->fd, "0", 0), errno);
	inodes_drop_name(t->inodes, root, "0");
	crowd(t, 1);
	assert_found(t, i);
}

static void what_is_below_a_moved_directory_is_found(void **state)
{
	struct tree *t = *state;
	struct inode *root = inodes_root(t->inodes);
	struct inode *d, *f;

	t->inodes->by_handle = false;
	d = look(t, root, "d");
	f = look(t, d, "f");
	crowd(t, 0);
	assert_return_code(renameat(t->fd, "d", t->fd, "e"), errno);
	assert_int_equal(number(t, f), -ESTALE);
	inodes_move_name(t->inodes, root, "d", root, "e");
	assert_found(t, f);
}

static void a_file_moved_outside_is_found_by_its_handle(void **state)
{
	struct tree *t = *state;
	struct inode *root = inodes_root(t->inodes);
	struct inode *i = look(t, root, "0"), *d = look(t, root, "d");

	if (!t->inodes->by_handle)
		skip();
	crowd(t, 1);
	assert_return_code(renameat(t->fd, "d", t->fd, "e"), errno);
	assert_return_code(renameat(t->fd, "0", t->fd, "e/0"), errno);
	assert_found(t, i);
	assert_found(t, d);
}

static void a_link_is_found_by_its_handle(void **state)
{
	struct tree *t = *state;
	struct inode *i;

	if (!t->inodes->by_handle)
		skip();
	assert_return_code(symlinkat("nowhere", t->fd, "link"), errno);
	i = look(t, inodes_root(t->inodes), "link");
	crowd(t, 0);
	assert_return_code(renameat(t->fd, "link", t->fd, "other"), errno);
	assert_found(t, i);
}

static void a_file_replaced_outside_is_stale(void **state)
{
	struct tree *t = *state;
	struct inode *root = inodes_root(t->inodes);
	struct inode *old = look(t, root, "0"), *new;
	struct hold_stats st;

	crowd(t, 1);
	assert_return_code(renameat(t->fd, "1", t->fd, "0"), errno);
	assert_int_equal(number(t, old), -ESTALE);
	hold_stat(t->inodes, &st);
	assert_true(st.stale > 0);
	/* The next lookup finds what is there. */
	new = look(t, root, "0");
	assert_ptr_not_equal(new, old);
	assert_found(t, new);
}

/* Make the file `name` until it has the number `ino`. */
static bool reuse(struct tree *t, const char *name, uint64_t ino)
{
	struct stat st;

	for (int n = 0; n < 100; n++) {
		assert_return_code(unlinkat(t->fd, name, 0), errno);
		put(t, name);
		assert_return_code(fstatat(t->fd, name, &st, 0), errno);
		if (st.st_ino == ino)
			return true;
	}
	return false;
}

static void assert_other(struct tree *t, const char *name)
{
	struct inode *root = inodes_root(t->inodes);
	struct inode *old = look(t, root, name), *new;
	uint64_t ino = old->key.ino;

	crowd(t, 1);
	if (!reuse(t, name, ino))
		skip();
	assert_int_equal(number(t, old), -ESTALE);
	new = look(t, root, name);
	assert_ptr_not_equal(new, old);
	assert_int_not_equal(new->id, old->id);
	crowd(t, 1);
	assert_int_equal(number(t, old), -ESTALE);
	assert_found(t, new);
	assert_ptr_equal(look(t, root, name), new);
}

static void another_file_of_the_same_number_is_another_inode(void **state)
{
	assert_other(*state, "0");
}

static void a_birth_tells_files_of_the_same_number_apart(void **state)
{
	struct tree *t = *state;

	t->inodes->by_handle = false;
	assert_other(t, "0");
}

static void of_several_names_any_leads_back(void **state)
{
	struct tree *t = *state;
	struct inode *root = inodes_root(t->inodes), *d, *i;

	t->inodes->by_handle = false;
	d = look(t, root, "d");
	i = look(t, root, "0");
	assert_return_code(linkat(t->fd, "0", t->fd, "d/link", 0), errno);
	assert_ptr_equal(look(t, d, "link"), i);
	crowd(t, 1);
	assert_return_code(unlinkat(t->fd, "d/link", 0), errno);
	assert_found(t, i);
}

/* Moves outside the mount and lookups in between can leave one. */
static void a_circle_of_names_ends(void **state)
{
	struct tree *t = *state;
	struct inode *root = inodes_root(t->inodes);
	struct inode *d, *e;

	t->inodes->by_handle = false;
	d = look(t, root, "d");
	assert_return_code(mkdirat(t->fd, "d/e", 0700), errno);
	e = look(t, d, "e");
	inodes_add_name(t->inodes, d, e, "d");
	crowd(t, 0);
	assert_true(hold_is_closed(d) && hold_is_closed(e));
	assert_int_equal(number(t, d), -ESTALE);
	assert_return_code(unlinkat(t->fd, "d/e", AT_REMOVEDIR), errno);
	inodes_drop_name(t->inodes, e, "d");
	inodes_add_name(t->inodes, d, root, "d");
	assert_found(t, d);
}

static int spare(void *ctx, const struct inode *i)
{
	(void)i;
	return fcntl(*(int *)ctx, F_DUPFD_CLOEXEC, 0);
}

static void an_open_file_is_the_nearest_way(void **state)
{
	struct tree *t = *state;
	struct inode *i = look(t, inodes_root(t->inodes), "0");
	CLEANUP(close_p) int fd = openat(t->fd, "0", O_RDONLY | O_CLOEXEC);

	t->inodes->by_handle = false;
	hold_from_open_files(t->inodes, spare, &fd);
	crowd(t, 1);
	assert_return_code(unlinkat(t->fd, "0", 0), errno);
	assert_int_equal(number(t, i), -ESTALE);
	atomic_store(&i->opens, 1);
	assert_found(t, i);
	atomic_store(&i->opens, 0);
}

/* With room for `more` descriptors beyond those open now. */
static struct rlimit set_room(int any_fd, rlim_t more)
{
	struct rlimit before, few;
	int next = fcntl(any_fd, F_DUPFD_CLOEXEC, 0);

	assert_return_code(next, errno);
	(void)close(next);
	assert_return_code(getrlimit(RLIMIT_NOFILE, &before), errno);
	few = before;
	few.rlim_cur = (rlim_t)next + more;
	assert_return_code(setrlimit(RLIMIT_NOFILE, &few), errno);
	return before;
}

static void an_open_file_takes_the_place_of_inodes(void **state)
{
	struct tree *t = *state;
	struct rlimit before;
	int fd[32] = { 0 }, opened = 0, r = 0;

	limit(t, 1000);
	before = set_room(t->fd, 20);
	for (int n = 0; n < 5; n++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "%d", n);
		(void)look(t, inodes_root(t->inodes), name);
	}
	assert_int_equal(held(t), 5);
	while (opened < 32) {
		r = hold_openat(t->inodes, t->fd, "0", O_RDONLY, 0, INT32_MAX);
		if (r < 0)
			break;
		fd[opened++] = r;
	}
	assert_int_equal(r, -EMFILE);
	assert_int_equal(held(t), 0);
	assert_int_equal(hold_openat(t->inodes, t->fd, "new",
				     O_WRONLY | O_CREAT | O_EXCL, 0600,
				     INT32_MAX),
			 -EMFILE);
	assert_int_equal(faccessat(t->fd, "new", F_OK, 0), -1);
	while (opened--)
		(void)close(fd[opened]);
	assert_return_code(setrlimit(RLIMIT_NOFILE, &before), errno);
}

static void what_would_have_too_large_a_number_is_not_created(void **state)
{
	struct tree *t = *state;
	CLEANUP(close_p) int fd = fcntl(t->fd, F_DUPFD_CLOEXEC, 0);
	CLEANUP(close_p) int low = -1;

	limit(t, 1000);
	low = hold_openat(t->inodes, t->fd, "0", O_RDONLY, 0, fd + 2);
	assert_true(low >= 0);
	assert_int_equal(hold_openat(t->inodes, t->fd, "0", O_RDONLY, 0, fd),
			 -EMFILE);
	assert_int_equal(hold_openat(t->inodes, t->fd, "new",
				     O_WRONLY | O_CREAT | O_EXCL, 0600, fd),
			 -EMFILE);
	assert_int_equal(faccessat(t->fd, "new", F_OK, 0), -1);
}

/* Threads that use, name and forget the same few files. */
struct crowd {
	struct tree *t;
	unsigned seed;
	int wrong;
};

static struct inode *look_quietly(struct tree *t, const char *name)
{
	struct inode *root = inodes_root(t->inodes), *i;
	int fd = hold_openat(t->inodes, inodes_root_fd(t->inodes), name,
			     O_PATH | O_NOFOLLOW, 0, INT32_MAX);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 ||
	    inodes_admit(t->inodes, root, name, fd, &st, &i) < 0)
		return NULL;
	return i;
}

static void *use(void *arg)
{
	struct crowd *c = arg;
	struct tree *t = c->t;
	char name[16];

	for (int n = 0; n < 2000; n++) {
		struct hold h = HOLD_NONE;
		struct inode *i;
		struct stat st;

		c->seed = c->seed * 1103515245u + 12345u;
		(void)snprintf(name, sizeof(name), "%u", (c->seed >> 16) % 20);
		i = look_quietly(t, name);
		if (!i) {
			c->wrong++;
			continue;
		}
		c->wrong += hold_begin(t->inodes, i, &h) < 0 ||
			    fstat(h.fd, &st) < 0 || st.st_ino != i->key.ino;
		hold_end(&h);
		inodes_forget(t->inodes, i, 1);
	}
	return NULL;
}

static void threads_find_the_same_files(void **state)
{
	struct crowd c[4];
	pthread_t thread[4];

	limit(*state, 3);
	for (unsigned n = 0; n < 4; n++) {
		c[n] = (struct crowd){ .t = *state, .seed = n };
		assert_int_equal(pthread_create(&thread[n], NULL, use, &c[n]),
				 0);
	}
	for (int n = 0; n < 4; n++) {
		(void)pthread_join(thread[n], NULL);
		assert_int_equal(c[n].wrong, 0);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(descriptors_stay_few_and_every_file_is_found),
		TEST(a_descriptor_in_use_stays),
		TEST(a_file_without_a_name_keeps_its_descriptor),
		TEST(what_is_below_a_moved_directory_is_found),
		TEST(a_file_moved_outside_is_found_by_its_handle),
		TEST(a_link_is_found_by_its_handle),
		TEST(a_file_replaced_outside_is_stale),
		TEST(another_file_of_the_same_number_is_another_inode),
		TEST(a_birth_tells_files_of_the_same_number_apart),
		TEST(of_several_names_any_leads_back),
		TEST(a_circle_of_names_ends),
		TEST(an_open_file_is_the_nearest_way),
		TEST(an_open_file_takes_the_place_of_inodes),
		TEST(what_would_have_too_large_a_number_is_not_created),
		TEST(threads_find_the_same_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
