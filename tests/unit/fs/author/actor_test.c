#include "fs/author/actor.h"

#include <dirent.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "fs/base/limits.h"
#include "graph/base/cleanup.h"
#include "tests/unit/fs/author/actor_case.h"

#define NOBODY 65534

static void read_own(const char *name, char *text, size_t size)
{
	CLEANUP(fclose_p) FILE *f = fopen(name, "re");

	assert_non_null(f);
	assert_non_null(fgets(text, (int)size, f));
	text[strcspn(text, "\n")] = '\0';
}

static void we_ourselves_are_named(void **state)
{
	struct actor *a = actors_get(*state, gettid());
	const struct journal_author *author;
	char comm[64];

	assert_non_null(a);
	author = actor_author(a);
	read_own("/proc/self/comm", comm, sizeof(comm));
	assert_int_equal(author->pid, getpid());
	assert_int_equal(author->uid, geteuid());
	assert_string_equal(author->comm, comm);
	assert_string_equal(author->exe, puppet_program);
	assert_true(author->start > 0);
	actor_unref(a);
}

static void the_kernels_own_work_has_no_actor(void **state)
{
	assert_null(actors_get(*state, 0));
	assert_int_equal(actors_count(*state), 0);
}

static void arguments_are_joined_by_spaces(void **state)
{
	struct puppet p;

	puppet_make("one  two", &p);
	assert_speaker(*state, &p, "one  two");
	puppet_free(&p);
}

static void asking_again_gives_the_same_actor(void **state)
{
	struct puppet p;
	struct actor *first;

	puppet_make("again", &p);
	first = speaker(*state, &p);
	for (int i = 0; i < 1000; i++) {
		struct actor *a = speaker(*state, &p);

		assert_ptr_equal(a, first);
		actor_unref(a);
	}
	actor_unref(first);
	puppet_free(&p);
}

static void a_thread_is_its_process(void **state)
{
	struct puppet p;
	struct actor *process;
	struct actor *thread;

	puppet_make("threads", &p);
	process = speaker(*state, &p);
	tell(&p, PUPPET_THREAD, NULL);
	assert_int_not_equal(p.at.tid, p.at.pid);
	thread = speaker(*state, &p);
	assert_ptr_equal(thread, process);
	actor_unref(thread);
	actor_unref(process);
	puppet_free(&p);
}

static void a_thread_met_first_is_its_process_too(void **state)
{
	struct puppet p;

	puppet_make("threads", &p);
	tell(&p, PUPPET_THREAD, NULL);
	assert_speaker(*state, &p, "threads");
	puppet_free(&p);
}

static void a_process_lives_on_when_its_first_thread_ended(void **state)
{
	struct puppet p;

	puppet_make("leaderless", &p);
	tell(&p, PUPPET_LEAVE, NULL);
	assert_speaker(*state, &p, "leaderless");
	puppet_free(&p);
}

static void a_parent_whose_first_thread_ended_is_named(void **state)
{
	struct puppet p;
	struct actor *a;

	puppet_make("leaderless", &p);
	tell(&p, PUPPET_LEAVE, NULL);
	tell(&p, PUPPET_FORK, NULL);
	a = speaker(*state, &p);
	assert_string_equal(actor_author(a)->parent->cmdline,
			    "marionette puppet leaderless");
	assert_string_equal(actor_author(a)->parent->exe, puppet_program);
	actor_unref(a);
	puppet_free(&p);
}

static void exec_makes_a_new_actor_and_leaves_the_old(void **state)
{
	struct puppet p;
	struct actor *before;
	struct actor *after;

	puppet_make("before", &p);
	before = speaker(*state, &p);
	tell(&p, PUPPET_EXEC, "after");
	after = speaker(*state, &p);
	/* The name does not help: both are this program. */
	assert_string_equal(actor_author(before)->comm,
			    actor_author(after)->comm);
	assert_cmdline(before, "before");
	assert_cmdline(after, "after");
	assert_ptr_not_equal(before, after);
	assert_int_equal(actor_author(before)->start,
			 actor_author(after)->start);
	actor_unref(before);
	actor_unref(after);
	puppet_free(&p);
}

/* Its caller is blocked meanwhile; the puppet is not. */
static void within_one_request_the_caller_is_looked_up_once(void **state)
{
	struct puppet p;
	struct actor *first;
	struct actor *again;

	puppet_make("before", &p);
	actors_begin_request();
	first = speaker(*state, &p);
	tell(&p, PUPPET_EXEC, "after");
	again = speaker(*state, &p);
	assert_ptr_equal(first, again);
	actors_end_request();
	assert_speaker(*state, &p, "after");
	actor_unref(first);
	actor_unref(again);
	puppet_free(&p);
}

static void a_fork_is_its_parents_image_until_it_execs(void **state)
{
	struct puppet p;

	puppet_make("shell", &p);
	tell(&p, PUPPET_FORK, NULL);
	assert_speaker(*state, &p, "shell");
	tell(&p, PUPPET_EXEC, "program");
	assert_speaker(*state, &p, "program");
	puppet_free(&p);
}

static void vforked_child_is_distinguished_from_its_program(struct actors *as)
{
	struct puppet p;

	puppet_make("shell", &p);
	assert_speaker(as, &p, "shell");
	tell(&p, PUPPET_VFORK, NULL);
	assert_speaker(as, &p, "shell");
	tell(&p, PUPPET_EXEC, "program");
	assert_speaker(as, &p, "program");
	tell(&p, PUPPET_END, NULL);
	assert_speaker(as, &p, "shell");
	puppet_free(&p);
}

static void a_vforked_child_is_its_parents_image_until_it_execs(void **state)
{
	vforked_child_is_distinguished_from_its_program(*state);
}

static void a_child_vforked_by_a_second_thread_is_distinguished(void **state)
{
	struct puppet p;

	puppet_make("shell", &p);
	tell(&p, PUPPET_LEAVE, NULL);
	tell(&p, PUPPET_VFORK, NULL);
	assert_speaker(*state, &p, "shell");
	tell(&p, PUPPET_EXEC, "program");
	assert_speaker(*state, &p, "program");
	puppet_free(&p);
}

static void exec_by_a_thread_is_seen(void **state)
{
	struct puppet p;
	pid_t pid;

	puppet_make("before", &p);
	pid = p.at.pid;
	tell(&p, PUPPET_THREAD, NULL);
	assert_speaker(*state, &p, "before");
	tell(&p, PUPPET_EXEC, "after");
	assert_int_equal(p.at.tid, pid);
	assert_speaker(*state, &p, "after");
	puppet_free(&p);
}

static void assert_still(struct actors *as, const struct puppet *p,
			 const struct actor *held)
{
	struct actor *again = speaker(as, p);

	assert_ptr_equal(again, held);
	actor_unref(again);
}

static void who_has_exited_is_still_named(void **state)
{
	struct puppet p;
	struct actor *held;
	siginfo_t info;

	puppet_make("mortal", &p);
	held = speaker(*state, &p);
	/* A zombie first: it has an id and a name, nothing else. */
	(void)shutdown(p.fd, SHUT_WR);
	assert_int_equal(waitid(P_PID, (id_t)p.pid, &info, WEXITED | WNOWAIT),
			 0);
	assert_still(*state, &p, held);
	puppet_free(&p);
	assert_still(*state, &p, held);
	assert_cmdline(held, "mortal");
	actor_unref(held);
}

static void a_thread_that_has_ended_is_still_its_processs(void **state)
{
	struct puppet p;
	struct puppet_where thread;
	struct actor *process;
	struct actor *gone;

	puppet_make("spinner", &p);
	tell(&p, PUPPET_THREAD, NULL);
	thread = p.at;
	process = speaker(*state, &p);
	tell(&p, PUPPET_END, NULL);
	/* Twice: the second time its process has ended too. */
	for (int i = 0; i < 2; i++) {
		gone = actors_get(*state, thread.tid);
		assert_ptr_equal(gone, process);
		actor_unref(gone);
		if (i == 0)
			puppet_free(&p);
	}
	actor_unref(process);
}

static void who_is_gone_and_was_never_met_has_a_number(void **state)
{
	struct puppet p;
	struct actor *a;

	puppet_make("stranger", &p);
	puppet_free(&p);
	a = speaker(*state, &p);
	assert_string_equal(actor_author(a)->comm, "");
	assert_string_equal(actor_author(a)->cmdline, "");
	assert_string_equal(actor_author(a)->exe, "");
	assert_int_equal(actor_author(a)->start, 0);
	assert_null(actor_author(a)->parent);
	actor_unref(a);
}

/* Sleep until killed; killed with the test that started it. */
static _Noreturn void sleep_for_good(void)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		(void)pause();
}

/* A sleeping child with an id of our choice. -errno: not possible. */
static pid_t child_numbered(pid_t number)
{
	struct clone_args args = {
		.exit_signal = SIGCHLD,
		.set_tid = (uintptr_t)&number,
		.set_tid_size = 1,
	};
	long pid = syscall(SYS_clone3, &args, sizeof(args));

	if (pid == 0)
		sleep_for_good();
	return pid < 0 ? -errno : (pid_t)pid;
}

static void child_end(pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* Skips the test where ids cannot be chosen or the id was taken. */
static pid_t heir_of(pid_t number)
{
	pid_t pid = child_numbered(number);

	/* A thread's id is free a moment after the thread was joined. */
	for (int i = 0; i < 1000 && pid == -EEXIST; i++) {
		(void)sched_yield();
		pid = child_numbered(number);
	}
	if (pid < 0) {
		(void)printf("skipped: cannot choose a process's number: %s\n",
			     strerrordesc_np(-pid));
		skip();
	}
	return pid;
}

static void a_process_number_used_again_is_another_process(void **state)
{
	struct puppet p;
	struct actor *a;
	pid_t heir;

	puppet_make("first", &p);
	assert_speaker(*state, &p, "first");
	puppet_free(&p);
	heir = heir_of(p.at.pid);
	a = actors_get(*state, heir);
	assert_int_equal(actor_pid(a), heir);
	assert_null(strstr(actor_author(a)->cmdline, "first"));
	assert_int_equal(actor_author(a)->parent->pid, getpid());
	actor_unref(a);
	child_end(heir);
}

static void a_thread_number_used_again_is_another_process(void **state)
{
	const struct timespec too_soon = { .tv_nsec = 2 * ACTOR_MEMBER_NS };
	struct puppet p;
	struct puppet_where thread;
	struct actor *a;
	pid_t heir;

	puppet_make("first", &p);
	tell(&p, PUPPET_THREAD, NULL);
	thread = p.at;
	assert_speaker(*state, &p, "first");
	tell(&p, PUPPET_END, NULL);
	heir = heir_of(thread.tid);
	/* The kernel never reuses an id as soon as this. */
	(void)nanosleep(&too_soon, NULL);
	a = actors_get(*state, heir);
	assert_int_equal(actor_pid(a), heir);
	actor_unref(a);
	child_end(heir);
	puppet_free(&p);
}

static void a_name_may_hold_anything(void **state)
{
	struct puppet p;
	struct actor *a;

	puppet_make("odd", &p);
	tell(&p, PUPPET_NAME, ") R 1 (\n \xff");
	a = speaker(*state, &p);
	assert_string_equal(actor_author(a)->comm, ") R 1 (\n \xff");
	assert_int_equal(actor_author(a)->parent->pid, getpid());
	actor_unref(a);
	puppet_free(&p);
}

static void a_threads_own_name_is_not_its_processs(void **state)
{
	struct puppet p;
	struct actor *a;

	puppet_make("names", &p);
	tell(&p, PUPPET_THREAD, NULL);
	tell(&p, PUPPET_NAME, "worker");
	a = speaker(*state, &p);
	assert_string_not_equal(actor_author(a)->comm, "worker");
	actor_unref(a);
	puppet_free(&p);
}

static void a_long_command_line_is_cut(void **state)
{
	static char argument[2 * ACTOR_CMDLINE_MAX];
	char forever[] = "infinity";
	char *argv[] = { argument, forever, NULL };
	struct actor *a;
	int started[2];
	pid_t pid;
	char byte;

	memset(argument, 'x', sizeof(argument) - 1);
	assert_int_equal(pipe2(started, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)execvp("sleep", argv);
		_exit(127);
	}
	(void)close(started[1]);
	/* No byte comes; the exec closes the other end. */
	assert_int_equal(read(started[0], &byte, 1), 0);
	(void)close(started[0]);
	a = actors_get(*state, pid);
	assert_int_equal(strlen(actor_author(a)->cmdline), ACTOR_CMDLINE_MAX);
	actor_unref(a);
	child_end(pid);
}

static void a_kernel_thread_has_a_name_and_no_more(void **state)
{
	struct actor *a = actors_get(*state, 2);

	if (strcmp(actor_author(a)->comm, "kthreadd") != 0) {
		actor_unref(a);
		(void)printf("skipped: kernel threads are out of sight\n");
		skip();
	}
	assert_string_equal(actor_author(a)->cmdline, "");
	assert_string_equal(actor_author(a)->exe, "");
	actor_unref(a);
}

/* Run `f` in a child, with a cache of its own. */
static void in_a_child(void (*f)(struct actors *), bool (*prepare)(void))
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		struct actors *as;

		/* The child must not run the rest of the tests. */
		(void)setenv("CMOCKA_TEST_ABORT", "1", 1);
		if (!prepare() || actors_new(0, &as) < 0)
			_exit(77);
		f(as);
		actors_free(as);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip();
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static bool forbid_kcmp(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_kcmp, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { 4, code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

static void without_kcmp_a_vforked_child_is_distinguished(void **state)
{
	(void)state;
	in_a_child(vforked_child_is_distinguished_from_its_program,
		   forbid_kcmp);
}

/* A puppet made by root, looked at by another user. */
static struct puppet roots_puppet;

static bool become_nobody(void)
{
	return geteuid() == 0 && setresgid(NOBODY, NOBODY, NOBODY) == 0 &&
	       setresuid(NOBODY, NOBODY, NOBODY) == 0;
}

static void roots_puppet_is_watched(struct actors *as)
{
	struct puppet *p = &roots_puppet;
	struct actor *a;

	assert_speaker(as, p, "before");
	tell(p, PUPPET_EXEC, "after");
	assert_speaker(as, p, "after");
	tell(p, PUPPET_THREAD, NULL);
	assert_speaker(as, p, "after");
	tell(p, PUPPET_VFORK, NULL);
	assert_speaker(as, p, "after");
	tell(p, PUPPET_EXEC, "child");
	assert_speaker(as, p, "child");
	a = speaker(as, p);
	assert_string_equal(actor_author(a)->exe, "");
	actor_unref(a);
}

static void a_process_we_may_not_inspect_is_watched_too(void **state)
{
	(void)state;
	puppet_make("before", &roots_puppet);
	in_a_child(roots_puppet_is_watched, become_nobody);
	puppet_free(&roots_puppet);
}

static int count_descriptors(void)
{
	CLEANUP(closedir_p) DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	return count;
}

static void what_is_remembered_has_a_maximum(void **state)
{
	/* Beyond every id that the kernel gives out. */
	const pid_t nobody = 1 << 23;

	for (pid_t i = 0; i < 2 * ACTORS_MAX; i++)
		actor_unref(actors_get(*state, nobody + i));
	assert_in_range(actors_count(*state), 1, ACTORS_MAX);
}

static void descriptors_have_a_maximum_and_answers_stay_right(void **state)
{
	enum { MANY = ACTOR_PROBES_MAX + 100 };
	static pid_t child[MANY];
	int before = count_descriptors();

	for (int i = 0; i < MANY; i++) {
		child[i] = fork();
		assert_true(child[i] >= 0);
		if (child[i] == 0)
			sleep_for_good();
	}
	for (int i = 0; i < 2 * MANY; i++) {
		struct actor *a = actors_get(*state, child[i % MANY]);

		assert_int_equal(actor_pid(a), child[i % MANY]);
		assert_int_equal(actor_author(a)->parent->pid, getpid());
		actor_unref(a);
	}
	assert_in_range(count_descriptors() - before, 1, ACTOR_PROBES_MAX + 1);
	for (int i = 0; i < MANY; i++)
		child_end(child[i]);
}

static void a_reference_outlives_the_cache(void **state)
{
	struct actors *as;
	struct actor *a;

	(void)state;
	assert_int_equal(actors_new(0, &as), 0);
	a = actors_get(as, getpid());
	actors_free(as);
	assert_int_equal(actor_pid(a), getpid());
	assert_non_null(actor_author(a)->parent);
	actor_unref(a);
}

static void nothing_is_accepted(void **state)
{
	(void)state;
	actor_unref(NULL);
	actors_free(NULL);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(we_ourselves_are_named),
		TEST(the_kernels_own_work_has_no_actor),
		TEST(arguments_are_joined_by_spaces),
		TEST(asking_again_gives_the_same_actor),
		TEST(a_thread_is_its_process),
		TEST(a_thread_met_first_is_its_process_too),
		TEST(a_process_lives_on_when_its_first_thread_ended),
		TEST(a_parent_whose_first_thread_ended_is_named),
		TEST(exec_makes_a_new_actor_and_leaves_the_old),
		TEST(within_one_request_the_caller_is_looked_up_once),
		TEST(a_fork_is_its_parents_image_until_it_execs),
		TEST(a_vforked_child_is_its_parents_image_until_it_execs),
		TEST(without_kcmp_a_vforked_child_is_distinguished),
		TEST(a_child_vforked_by_a_second_thread_is_distinguished),
		TEST(exec_by_a_thread_is_seen),
		TEST(a_process_we_may_not_inspect_is_watched_too),
		TEST(who_has_exited_is_still_named),
		TEST(a_thread_that_has_ended_is_still_its_processs),
		TEST(who_is_gone_and_was_never_met_has_a_number),
		TEST(a_process_number_used_again_is_another_process),
		TEST(a_thread_number_used_again_is_another_process),
		TEST(a_name_may_hold_anything),
		TEST(a_threads_own_name_is_not_its_processs),
		TEST(a_long_command_line_is_cut),
		TEST(a_kernel_thread_has_a_name_and_no_more),
		TEST(what_is_remembered_has_a_maximum),
		TEST(descriptors_have_a_maximum_and_answers_stay_right),
		TEST(a_reference_outlives_the_cache),
		TEST(nothing_is_accepted),
	};

	puppet_play(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
