#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "graph/base/cleanup.h"
#include "tape/wire/state.h"
#include "tests/support/scratch.h"

/*
 * The environment is set anew for each test: a home of its own, a runtime
 * directory of its own, and no TMPDIR. `make()` and `look()` are state_init()
 * with and without `create`.
 */
struct world {
	char *dir;
	char *repo;
	struct state s;
	char *why;
};

static char *path_in(const char *dir, const char *name)
{
	char *path = NULL;

	assert_true(asprintf(&path, "%s/%s", dir, name) > 0);
	return path;
}

/* NULL: take it away. */
static void set_env(const char *variable, const char *value)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread. */
	int rc = value ? setenv(variable, value, 1) : unsetenv(variable);

	assert_int_equal(rc, 0);
}

/* A directory, and the variable that names it. */
static void set_dir(const struct world *w, const char *variable,
		    const char *name)
{
	char *path = path_in(w->dir, name);

	assert_true(mkdir(path, 0700) == 0 || errno == EEXIST);
	set_env(variable, path);
	free(path);
}

/* Where the tests' own directories go; each test has a TMPDIR of its own. */
static char *outer_tmpdir;

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	set_env("TMPDIR", outer_tmpdir);
	w->dir = scratch_new();
	assert_non_null(w->dir);
	w->s = (struct state){ .dir_fd = -1, .lock_fd = -1 };
	w->repo = path_in(w->dir, "repo");
	assert_int_equal(mkdir(w->repo, 0755), 0);
	set_env("XDG_STATE_HOME", NULL);
	set_env("TMPDIR", NULL);
	set_dir(w, "HOME", "home");
	set_dir(w, "XDG_RUNTIME_DIR", "run");
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	state_release(&w->s);
	free(w->why);
	scratch_free(w->dir);
	free(w->repo);
	free(w);
	return 0;
}

static int init(struct world *w, int create)
{
	state_release(&w->s);
	free(w->why);
	w->why = NULL;
	return state_init(w->repo, create, &w->s, &w->why);
}

static int make(struct world *w)
{
	return init(w, 1);
}

static int look(struct world *w)
{
	return init(w, 0);
}

static void expect_path(const char *got, const char *dir, const char *rest)
{
	char *want = path_in(dir, rest);

	assert_string_equal(got, want);
	free(want);
}

static void expect_private(const char *path)
{
	struct stat st;

	assert_int_equal(lstat(path, &st), 0);
	assert_true(S_ISDIR(st.st_mode));
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(st.st_uid, geteuid());
}

static void expect_why(const struct world *w, const char *part)
{
	assert_non_null(w->why);
	if (!strstr(w->why, part))
		fail_msg("\"%s\" does not say \"%s\"", w->why, part);
	assert_int_equal(w->why[strlen(w->why) - 1], '.');
}

static int is_there(const char *path)
{
	return access(path, F_OK) == 0;
}

static void state_and_sockets_go_where_xdg_says(void **state)
{
	struct world *w = *state;
	char *dir, *run;

	assert_int_equal(make(w), 0);
	assert_string_equal(w->s.repo, w->repo);
	assert_int_equal(strncmp(w->s.id, "repo-", 5), 0);
	assert_int_equal(strlen(w->s.id), strlen("repo-") + 16);

	dir = path_in("home/.local/state/statetape", w->s.id);
	run = path_in("run/statetape", w->s.id);
	expect_path(w->s.dir, w->dir, dir);
	expect_path(w->s.run, w->dir, run);
	expect_path(w->s.fs_socket, w->s.run, "fs.sock");
	expect_path(w->s.bell_socket, w->s.run, "bell.sock");
	expect_path(w->s.manager_socket, w->s.run, "manager.sock");
	free(dir);
	free(run);
}

static void directories_are_made_and_closed_to_others(void **state)
{
	struct world *w = *state;
	struct stat by_path, by_fd;
	mode_t before = umask(0);

	assert_int_equal(make(w), 0);
	(void)umask(before);
	expect_private(w->s.dir);
	expect_private(w->s.run);
	assert_int_equal(stat(w->s.dir, &by_path), 0);
	assert_int_equal(fstat(w->s.dir_fd, &by_fd), 0);
	assert_true(by_path.st_ino == by_fd.st_ino);
	assert_int_equal(w->s.lock_fd, -1);
}

static void looking_makes_nothing_and_finds_the_same(void **state)
{
	struct world *w = *state;
	struct state first;

	assert_int_equal(look(w), 0);
	assert_int_equal(w->s.dir_fd, -1);
	assert_false(is_there(w->s.dir));
	assert_false(is_there(w->s.run));
	assert_int_equal(state_lock(&w->s, NULL), -ENOENT);

	first = w->s;
	w->s = (struct state){ .dir_fd = -1, .lock_fd = -1 };
	assert_int_equal(make(w), 0);
	assert_string_equal(first.id, w->s.id);
	assert_string_equal(first.dir, w->s.dir);
	assert_string_equal(first.bell_socket, w->s.bell_socket);
	state_release(&first);

	assert_int_equal(look(w), 0);
	assert_true(w->s.dir_fd >= 0);
}

static void xdg_state_home_comes_before_home(void **state)
{
	struct world *w = *state;
	char *rest;

	set_dir(w, "XDG_STATE_HOME", "elsewhere");
	assert_int_equal(make(w), 0);
	rest = path_in("elsewhere/statetape", w->s.id);
	expect_path(w->s.dir, w->dir, rest);
	free(rest);
}

static void a_relative_xdg_path_is_ignored(void **state)
{
	struct world *w = *state;

	set_env("XDG_STATE_HOME", "here");
	set_env("XDG_RUNTIME_DIR", "there");
	assert_int_equal(look(w), 0);
	assert_non_null(strstr(w->s.dir, "/home/.local/state/statetape/"));
	assert_int_equal(w->s.run[0], '/');
	assert_null(strstr(w->s.run, "there"));
}

/* Only looked at: the real home is not a test's to write to. */
static void without_a_home_the_password_file_knows(void **state)
{
	struct world *w = *state;

	set_env("HOME", NULL);
	if (look(w) == -ENOENT)
		skip();
	assert_non_null(strstr(w->s.dir, "/.local/state/statetape/"));
	assert_int_not_equal(strncmp(w->s.dir, w->dir, strlen(w->dir)), 0);
}

/* The one variable that leads to <tmp>/statetape-<uid>, made if need be. */
static char *set_tmp(const struct world *w)
{
	char *path = NULL;
	char name[64];

	set_dir(w, "TMPDIR", "tmp");
	(void)snprintf(name, sizeof(name), "tmp/statetape-%u", geteuid());
	path = path_in(w->dir, name);
	set_env("XDG_RUNTIME_DIR", NULL);
	return path;
}

/* A session's own directory comes before; then there is nothing to see. */
static void skip_if_there_is_a_run_user(void)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/run/user/%u", geteuid());
	if (is_there(path))
		skip();
}

static void without_a_runtime_directory_sockets_go_to_tmp(void **state)
{
	struct world *w = *state;
	char *tmp;

	skip_if_there_is_a_run_user();
	tmp = set_tmp(w);
	assert_int_equal(make(w), 0);
	expect_path(w->s.run, tmp, w->s.id);
	expect_private(tmp);
	expect_private(w->s.run);
	free(tmp);
}

static void a_runtime_directory_open_to_others_is_not_used(void **state)
{
	struct world *w = *state;
	char *tmp, *run;

	skip_if_there_is_a_run_user();
	tmp = set_tmp(w);
	set_dir(w, "XDG_RUNTIME_DIR", "run");
	run = path_in(w->dir, "run");
	assert_int_equal(chmod(run, 0777), 0);
	free(run);
	assert_int_equal(make(w), 0);
	expect_path(w->s.run, tmp, w->s.id);
	free(tmp);
}

static void a_runtime_directory_that_is_not_there_is_not_used(void **state)
{
	struct world *w = *state;
	char *tmp;

	skip_if_there_is_a_run_user();
	tmp = set_tmp(w);
	set_env("XDG_RUNTIME_DIR", "/no/such/place");
	assert_int_equal(make(w), 0);
	expect_path(w->s.run, tmp, w->s.id);
	free(tmp);
}

static void a_link_in_tmp_is_refused(void **state)
{
	struct world *w = *state;
	char *tmp;

	skip_if_there_is_a_run_user();
	tmp = set_tmp(w);
	assert_int_equal(symlink(w->dir, tmp), 0);
	assert_int_equal(make(w), -EPERM);
	expect_why(w, "belong to you");
	assert_int_equal(look(w), -EPERM);
	free(tmp);
}

static void somebody_elses_directory_in_tmp_is_refused(void **state)
{
	struct world *w = *state;
	char *tmp;

	skip_if_there_is_a_run_user();
	tmp = set_tmp(w);
	assert_int_equal(mkdir(tmp, 0777), 0);
	if (chown(tmp, 12345, 12345) < 0) {
		free(tmp);
		skip();
		return;
	}
	assert_int_equal(make(w), -EPERM);
	expect_why(w, "belong to you");
	assert_int_equal(look(w), -EPERM);
	free(tmp);
}

static void our_own_directory_is_closed_if_it_stood_open(void **state)
{
	struct world *w = *state;

	assert_int_equal(make(w), 0);
	assert_int_equal(chmod(w->s.dir, 0755), 0);
	assert_int_equal(chmod(w->s.run, 0777), 0);
	assert_int_equal(make(w), 0);
	expect_private(w->s.dir);
	expect_private(w->s.run);
}

static void a_file_where_the_directory_should_be_is_refused(void **state)
{
	struct world *w = *state;
	char *home = path_in(w->dir, "elsewhere");
	char *path = path_in(home, "statetape");

	set_dir(w, "XDG_STATE_HOME", "elsewhere");
	(void)close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	assert_int_equal(make(w), -EPERM);
	expect_why(w, home);
	free(path);
	free(home);
}

/* /tmp is short, and the runtime directory is not the only place. */
static void a_runtime_path_too_long_for_sockets_is_not_used(void **state)
{
	struct world *w = *state;
	const size_t limit = sizeof(((struct sockaddr_un *)0)->sun_path);
	char deep[128];

	memset(deep, 'd', sizeof(deep));
	deep[sizeof(deep) - 1] = '\0';
	set_dir(w, "XDG_RUNTIME_DIR", deep);
	assert_int_equal(look(w), 0);
	assert_true(strlen(w->s.manager_socket) < limit);
	assert_true(strlen(w->s.fs_socket) < limit);
	assert_null(strstr(w->s.run, deep));
}

static void the_longest_run_path_that_fits_is_used(void **state)
{
	struct world *w = *state;
	const size_t limit = sizeof(((struct sockaddr_un *)0)->sun_path);
	char name[128];
	size_t rest;

	assert_int_equal(look(w), 0);
	/* The last manager's ("-63") has three more. */
	rest = limit - 4 - strlen(w->s.manager_socket) + strlen("run");
	assert_true(rest < sizeof(name) - 1);
	memset(name, 'd', sizeof(name));
	name[rest] = '\0';
	set_dir(w, "XDG_RUNTIME_DIR", name);
	assert_int_equal(look(w), 0);
	assert_int_equal(strlen(w->s.manager_socket), limit - 4);

	name[rest] = 'd';
	name[rest + 1] = '\0';
	set_dir(w, "XDG_RUNTIME_DIR", name);
	assert_int_equal(look(w), 0);
	assert_null(strstr(w->s.run, name));
}

static void state_inside_the_repository_is_refused(void **state)
{
	struct world *w = *state;
	char *inside = path_in(w->repo, "a/b");

	set_env("XDG_STATE_HOME", inside);
	assert_int_equal(make(w), -EINVAL);
	expect_why(w, "XDG_STATE_HOME");
	assert_false(is_there(inside));
	assert_int_equal(look(w), -EINVAL);
	free(inside);

	inside = path_in(w->dir, "repository");
	set_env("XDG_STATE_HOME", inside);
	assert_int_equal(make(w), 0);
	free(inside);
}

static void state_inside_by_way_of_a_link_is_refused(void **state)
{
	struct world *w = *state;
	char *link = path_in(w->dir, "link");
	char *inside = path_in(link, "deeper");

	assert_int_equal(symlink(w->repo, link), 0);
	set_env("XDG_STATE_HOME", inside);
	assert_int_equal(make(w), -EINVAL);
	free(inside);

	/* A link whose target is still to be made. */
	assert_int_equal(unlink(link), 0);
	assert_int_equal(symlink("repo/new", link), 0);
	set_env("XDG_STATE_HOME", link);
	assert_int_equal(make(w), -EINVAL);
	assert_int_equal(rmdir(w->repo), 0);
	free(link);
}

static void sockets_inside_the_repository_are_refused(void **state)
{
	struct world *w = *state;

	set_dir(w, "XDG_RUNTIME_DIR", "repo/run");
	assert_int_equal(make(w), -EINVAL);
	expect_why(w, "XDG_RUNTIME_DIR");
}

static void the_root_holds_everything_and_is_refused(void **state)
{
	struct world *w = *state;

	free(w->repo);
	w->repo = strdup("/");
	assert_int_equal(make(w), -EINVAL);
}

static void all_ways_to_a_repository_lead_to_one_state(void **state)
{
	struct world *w = *state;
	const char *ways[] = { "repo/",	       "repo//", "./repo", "repo/.",
			       "home/../repo", "link",	 "link/" };
	char *link = path_in(w->dir, "link");
	char *id;

	assert_int_equal(look(w), 0);
	id = strdup(w->s.id);
	assert_int_equal(symlink("repo", link), 0);
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		free(w->repo);
		w->repo = path_in(w->dir, ways[i]);
		assert_int_equal(look(w), 0);
		assert_string_equal(w->s.id, id);
		expect_path(w->s.repo, w->dir, "repo");
	}
	free(link);
	free(id);
}

static void two_repositories_of_one_name_have_two_states(void **state)
{
	struct world *w = *state;
	char *id;

	assert_int_equal(look(w), 0);
	id = strdup(w->s.id);
	free(w->repo);
	w->repo = path_in(w->dir, "home/repo");
	assert_int_equal(mkdir(w->repo, 0755), 0);
	assert_int_equal(look(w), 0);
	assert_string_not_equal(w->s.id, id);
	assert_int_equal(strncmp(w->s.id, "repo-", 5), 0);
	free(id);
}

/* The id of a repository called `name`, up to its hash. */
static void expect_id(struct world *w, const char *name, const char *want)
{
	free(w->repo);
	w->repo = path_in(w->dir, name);
	assert_int_equal(mkdir(w->repo, 0755), 0);
	assert_int_equal(make(w), 0);
	assert_int_equal(strlen(w->s.id), strlen(want) + 1 + 16);
	assert_int_equal(strncmp(w->s.id, want, strlen(want)), 0);
	assert_int_equal(strspn(w->s.id + strlen(want) + 1, "0123456789abcdef"),
			 16);
}

static void a_name_may_be_any_bytes(void **state)
{
	struct world *w = *state;
	char name[201];
	char want[41];

	expect_id(w, "caf\xe9 \xff", "caf___");
	expect_id(w, "-rf #?%&:\n\t", "-rf________");
	expect_id(w, "..x.y", "_.x.y");
	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	memset(want, 'n', sizeof(want));
	want[sizeof(want) - 1] = '\0';
	expect_id(w, name, want);
}

static void what_is_not_there_has_no_state(void **state)
{
	struct world *w = *state;

	assert_int_equal(rmdir(w->repo), 0);
	assert_int_equal(make(w), -ENOENT);
	expect_why(w, w->repo);
	assert_int_equal(state_init(w->repo, 1, &w->s, NULL), -ENOENT);
	assert_null(w->s.repo);

	(void)close(open(w->repo, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	assert_int_equal(make(w), -ENOTDIR);
	expect_why(w, "not a directory");
}

/* A FUSE mount without a server. False: we may not make one. */
static int mount_dead(const char *path)
{
	char options[128];
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	int rc;

	if (fd < 0)
		return 0;
	(void)snprintf(options, sizeof(options),
		       "fd=%d,rootmode=40000,user_id=%u,group_id=%u", fd,
		       geteuid(), getegid());
	rc = mount("dead", path, "fuse.statetape", MS_NOSUID | MS_NODEV,
		   options);
	(void)close(fd);
	return rc == 0;
}

static int setup_dead(void **state)
{
	struct world *w;
	char *link;

	(void)setup(state);
	w = *state;
	link = path_in(w->dir, "link");
	assert_int_equal(symlink("repo/", link), 0);
	free(link);
	return 0;
}

static int teardown_dead(void **state)
{
	char *repo = path_in(((struct world *)*state)->dir, "repo");

	(void)umount2(repo, MNT_DETACH);
	free(repo);
	return teardown(state);
}

static void a_dead_mount_has_the_state_of_its_repository(void **state)
{
	struct world *w = *state;
	const char *ways[] = { "repo", "repo/", "link", "link/" };
	struct stat st;
	char *id;

	assert_int_equal(make(w), 0);
	id = strdup(w->s.id);
	if (!mount_dead(w->repo)) {
		free(id);
		skip();
		return;
	}
	assert_int_equal(stat(w->repo, &st), -1);
	assert_int_equal(errno, ENOTCONN);
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		free(w->repo);
		w->repo = path_in(w->dir, ways[i]);
		assert_int_equal(look(w), 0);
		assert_string_equal(w->s.id, id);
		expect_path(w->s.repo, w->dir, "repo");
	}
	free(id);
}

static void the_lock_is_held_once(void **state)
{
	struct world *w = *state;
	struct state second;
	pid_t pid = -1;

	assert_int_equal(make(w), 0);
	assert_int_equal(state_init(w->repo, 0, &second, NULL), 0);
	assert_int_equal(state_lock(&w->s, &pid), 0);
	assert_true(w->s.lock_fd >= 0);
	assert_int_equal(pid, -1);
	assert_int_equal(state_lock(&second, &pid), -EBUSY);
	assert_int_equal(pid, getpid());
	assert_int_equal(state_lock(&second, NULL), -EBUSY);
	assert_int_equal(second.lock_fd, -1);

	state_release(&w->s);
	assert_int_equal(state_lock(&second, &pid), 0);
	state_release(&second);
}

static void the_holders_pid_stands_in_the_lock(void **state)
{
	struct world *w = *state;
	char want[32];
	char text[32] = "";
	int fd;

	assert_int_equal(make(w), 0);
	fd = openat(w->s.dir_fd, "lock", O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, "1234567890123456789\n", 20), 20);
	assert_int_equal(state_lock(&w->s, NULL), 0);
	(void)snprintf(want, sizeof(want), "%d\n", (int)getpid());
	assert_int_equal(pread(fd, text, sizeof(text) - 1, 0), strlen(want));
	assert_string_equal(text, want);
	(void)close(fd);
}

static void a_holder_that_left_no_pid_is_unknown(void **state)
{
	struct world *w = *state;
	const char *texts[] = {
		"", "x\n", "12", "-3\n", "99999999999\n", "\n"
	};
	struct state second;
	pid_t pid;

	assert_int_equal(make(w), 0);
	assert_int_equal(state_lock(&w->s, NULL), 0);
	assert_int_equal(state_init(w->repo, 0, &second, NULL), 0);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		assert_int_equal(ftruncate(w->s.lock_fd, 0), 0);
		assert_int_equal(
			pwrite(w->s.lock_fd, texts[i], strlen(texts[i]), 0),
			strlen(texts[i]));
		pid = -1;
		assert_int_equal(state_lock(&second, &pid), -EBUSY);
		assert_int_equal(pid, 0);
	}
	state_release(&second);
}

/* A pipe's end closes when all who hold its other end are gone. */
static void the_lock_lives_as_long_as_a_child_does(void **state)
{
	struct world *w = *state;
	struct state second;
	int hold[2], ready[2];
	pid_t child;
	pid_t pid = -1;
	char byte;

	assert_int_equal(make(w), 0);
	assert_int_equal(state_lock(&w->s, NULL), 0);
	assert_int_equal(pipe2(hold, O_CLOEXEC), 0);
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	child = fork();
	if (child == 0) {
		(void)close(hold[1]);
		if (state_lock(&w->s, NULL) == 0)
			(void)!write(ready[1], "x", 1);
		(void)close(ready[1]);
		(void)!read(hold[0], &byte, 1);
		_exit(0);
	}
	(void)close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	state_release(&w->s);
	assert_int_equal(state_init(w->repo, 0, &second, NULL), 0);
	assert_int_equal(state_lock(&second, &pid), -EBUSY);
	assert_int_equal(pid, child);

	(void)close(hold[1]);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(state_lock(&second, &pid), 0);
	state_release(&second);
	(void)close(hold[0]);
	(void)close(ready[0]);
}

/* One who was killed left a pid behind, and no lock. */
static void a_dead_holders_pid_is_not_given(void **state)
{
	struct world *w = *state;
	struct state second;
	char text[32];
	pid_t child = fork();
	pid_t pid = -1;

	if (child == 0)
		_exit(0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(make(w), 0);
	assert_int_equal(state_lock(&w->s, NULL), 0);
	(void)snprintf(text, sizeof(text), "%d\n", (int)child);
	assert_int_equal(ftruncate(w->s.lock_fd, 0), 0);
	assert_true(pwrite(w->s.lock_fd, text, strlen(text), 0) > 0);
	assert_int_equal(state_init(w->repo, 0, &second, NULL), 0);
	assert_int_equal(state_lock(&second, &pid), -EBUSY);
	assert_int_equal(pid, 0);
	state_release(&second);
}

static void releasing_twice_is_fine(void **state)
{
	struct world *w = *state;

	assert_int_equal(make(w), 0);
	state_release(&w->s);
	state_release(&w->s);
	state_release(NULL);
	assert_int_equal(w->s.dir_fd, -1);
	assert_null(w->s.repo);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(state_and_sockets_go_where_xdg_says),
		TEST(directories_are_made_and_closed_to_others),
		TEST(looking_makes_nothing_and_finds_the_same),
		TEST(xdg_state_home_comes_before_home),
		TEST(a_relative_xdg_path_is_ignored),
		TEST(without_a_home_the_password_file_knows),
		TEST(without_a_runtime_directory_sockets_go_to_tmp),
		TEST(a_runtime_directory_open_to_others_is_not_used),
		TEST(a_runtime_directory_that_is_not_there_is_not_used),
		TEST(a_link_in_tmp_is_refused),
		TEST(somebody_elses_directory_in_tmp_is_refused),
		TEST(our_own_directory_is_closed_if_it_stood_open),
		TEST(a_file_where_the_directory_should_be_is_refused),
		TEST(a_runtime_path_too_long_for_sockets_is_not_used),
		TEST(the_longest_run_path_that_fits_is_used),
		TEST(state_inside_the_repository_is_refused),
		TEST(state_inside_by_way_of_a_link_is_refused),
		TEST(sockets_inside_the_repository_are_refused),
		TEST(the_root_holds_everything_and_is_refused),
		TEST(all_ways_to_a_repository_lead_to_one_state),
		TEST(two_repositories_of_one_name_have_two_states),
		TEST(a_name_may_be_any_bytes),
		TEST(what_is_not_there_has_no_state),
		cmocka_unit_test_setup_teardown(
			a_dead_mount_has_the_state_of_its_repository,
			setup_dead, teardown_dead),
		TEST(the_lock_is_held_once),
		TEST(the_holders_pid_stands_in_the_lock),
		TEST(a_holder_that_left_no_pid_is_unknown),
		TEST(the_lock_lives_as_long_as_a_child_does),
		TEST(a_dead_holders_pid_is_not_given),
		TEST(releasing_twice_is_fine),
	};

	const char *tmpdir = getenv("TMPDIR"); /* NOLINT(concurrency-*) */
	int failed;

	outer_tmpdir = tmpdir ? strdup(tmpdir) : NULL;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	free(outer_tmpdir);
	return failed;
}
