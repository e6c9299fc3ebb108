#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "graph/base/cleanup.h"
#include "tools/cli/repo.h"
#include "tools/cli/say.h"

/* A scratch repository with a directory in it, and a state directory. */
static char *base;

static char *below(const char *name)
{
	return format_text("%s/%s", base, name);
}

static void make(const char *name)
{
	CLEANUP(free_p) char *path = below(name);

	assert_int_equal(mkdir(path, 0700), 0);
}

static int set_up(void **state)
{
	const char *tmp = getenv("TMPDIR"); /* NOLINT(concurrency-mt-unsafe) */
	CLEANUP(free_p)
	char *template =
		format_text("%s/repo_test.XXXXXX", tmp ? tmp : P_tmpdir);
	CLEANUP(free_p) char *home = NULL;
	CLEANUP(free_p) char *run = NULL;

	(void)state;
	base = realpath(mkdtemp(template), NULL);
	assert_non_null(base);
	make("repo");
	make("repo/in");
	make("repo/in/deep");
	make("other");
	make("home");
	make("run");
	home = below("home");
	run = below("run");
	/* NOLINTBEGIN(concurrency-mt-unsafe): there is one thread. */
	assert_int_equal(setenv("XDG_STATE_HOME", home, 1), 0);
	assert_int_equal(setenv("XDG_RUNTIME_DIR", run, 1), 0);
	/* NOLINTEND(concurrency-mt-unsafe) */
	return 0;
}

static int tear_down(void **state)
{
	pid_t pid;

	(void)state;
	assert_int_equal(chdir("/"), 0);
	pid = fork();
	if (pid == 0) {
		(void)execlp("rm", "rm", "-rf", base, (char *)NULL);
		_exit(1);
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	free(base);
	return 0;
}

/* Create the state that `name` has after it was mounted. */
static void mount_once(const char *name, struct state *ret)
{
	CLEANUP(free_p) char *path = below(name);

	assert_int_equal(state_init(path, 1, ret, NULL), 0);
	assert_true(mkdirat(ret->dir_fd, STATE_JOURNAL, 0700) == 0 ||
		    errno == EEXIST);
}

static void a_named_repository_is_found_with_or_without_state(void **state)
{
	CLEANUP(state_release) struct state made = REPO_STATE_EMPTY;
	CLEANUP(state_release) struct state found = REPO_STATE_EMPTY;
	CLEANUP(state_release) struct state again = REPO_STATE_EMPTY;
	CLEANUP(free_p) char *path = below("repo");

	(void)state;
	assert_int_equal(repo_find(path, &found), 0);
	assert_int_equal(found.dir_fd, -1);
	mount_once("repo", &made);
	assert_int_equal(repo_find(path, &again), 0);
	assert_true(again.dir_fd >= 0);
	assert_string_equal(again.repo, path);
	assert_string_equal(again.dir, made.dir);
}

static void without_a_name_the_way_leads_upwards(void **state)
{
	CLEANUP(state_release) struct state made = REPO_STATE_EMPTY;
	CLEANUP(state_release) struct state found = REPO_STATE_EMPTY;
	CLEANUP(free_p) char *deep = below("repo/in/deep");

	(void)state;
	mount_once("repo", &made);
	assert_int_equal(chdir(deep), 0);
	assert_int_equal(repo_find(NULL, &found), 0);
	assert_string_equal(found.repo, made.repo);
}

static void state_without_a_journal_is_passed_by(void **state)
{
	CLEANUP(state_release) struct state made = REPO_STATE_EMPTY;
	CLEANUP(state_release) struct state other = REPO_STATE_EMPTY;
	CLEANUP(state_release) struct state found = REPO_STATE_EMPTY;
	CLEANUP(free_p) char *deep = below("repo/in/deep");

	(void)state;
	mount_once("repo", &made);
	assert_int_equal(state_init(deep, 1, &other, NULL), 0);
	assert_int_equal(chdir(deep), 0);
	assert_int_equal(repo_find(NULL, &found), 0);
	assert_string_equal(found.repo, made.repo);
}

static void where_nothing_was_mounted_nothing_is_found(void **state)
{
	CLEANUP(state_release) struct state found = REPO_STATE_EMPTY;
	CLEANUP(state_release) struct state made = REPO_STATE_EMPTY;
	CLEANUP(free_p) char *other = below("other");
	CLEANUP(free_p) char *gone = below("gone");

	(void)state;
	mount_once("repo", &made);
	assert_int_equal(chdir(other), 0);
	assert_int_equal(repo_find(NULL, &found), -ENOENT);
	assert_int_equal(repo_find(gone, &found), -ENOENT);
	assert_null(found.repo);
}

static void a_current_directory_that_is_gone_is_no_crash(void **state)
{
	CLEANUP(state_release) struct state found = REPO_STATE_EMPTY;
	CLEANUP(free_p) char *other = below("other");

	(void)state;
	assert_int_equal(chdir(other), 0);
	assert_int_equal(rmdir(other), 0);
	assert_int_equal(repo_find(NULL, &found), -ENOENT);
}

static void an_id_leads_back_to_its_repository(void **state)
{
	CLEANUP(state_release) struct state made = REPO_STATE_EMPTY;
	CLEANUP(state_release) struct state found = REPO_STATE_EMPTY;
	CLEANUP(free_p) char *path = below("repo");
	char **ids = NULL;
	size_t n = 0;

	(void)state;
	assert_int_equal(state_list(&ids, &n), 0);
	assert_int_equal(n, 0);
	state_list_free(ids, n);
	mount_once("repo", &made);
	assert_int_equal(state_list(&ids, &n), 0);
	assert_int_equal(n, 1);
	assert_string_equal(ids[0], made.id);
	assert_int_equal(state_init_id(ids[0], &found, NULL), 0);
	assert_string_equal(found.repo, path);
	assert_string_equal(found.dir, made.dir);
	assert_string_equal(found.fs_socket, made.fs_socket);
	state_list_free(ids, n);
	assert_int_equal(state_init_id("none", &found, NULL), -ENOENT);
	assert_int_equal(state_init_id("../home", &found, NULL), -ENOENT);
	assert_int_equal(state_init_id("", &found, NULL), -ENOENT);
}

static void what_is_not_mounted_cannot_be_asked(void **state)
{
	CLEANUP(state_release) struct state made = REPO_STATE_EMPTY;
	cJSON *answer = NULL;

	(void)state;
	mount_once("repo", &made);
	assert_int_equal(repo_ask(&made, "STATUS", NULL, &answer),
			 -ECONNREFUSED);
	assert_null(answer);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH(a_named_repository_is_found_with_or_without_state),
		EACH(without_a_name_the_way_leads_upwards),
		EACH(state_without_a_journal_is_passed_by),
		EACH(where_nothing_was_mounted_nothing_is_found),
		EACH(a_current_directory_that_is_gone_is_no_crash),
		EACH(an_id_leads_back_to_its_repository),
		EACH(what_is_not_mounted_cannot_be_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
