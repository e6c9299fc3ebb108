#include "fs/mount/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fs/base/why.h"
#include "fs/mount/survey.h"
#include "fs/serve.h"
#include "graph/base/cleanup.h"

#define TRIAL_S 20 /* a file system below that hangs must not hang us */

/* What the child found, through a pipe. */
struct outcome {
	enum trial_verdict verdict;
	enum private_way way;
	char why[1024];
};

struct rehearsal {
	const char *repo;
	int root_fd;
	int ready;
	pid_t server;
	enum private_way way;
};

static _Noreturn void become_server(const struct rehearsal *t, int fuse_fd,
				    int ready_fd)
{
	const struct fs_config config = { .root_fd = t->root_fd,
					  .fuse_fd = fuse_fd,
					  .state_fd = -1,
					  .repo = t->repo,
					  .mountpoint = t->repo,
					  .ready_fd = ready_fd };

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)alarm(0);
	if (t->way != PRIVATE_ASIDE)
		private_step_aside(t->repo);
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): its threads have ended. */
	exit(fs_serve(&config) == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
}

static int start_server(void *context, int fuse_fd, enum private_way way,
			char **ret_why)
{
	struct rehearsal *t = context;
	int ends[2];

	t->way = way;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return why(ret_why, errno, "cannot make a pipe: %s",
			   strerrordesc_np(errno));
	t->server = fork();
	if (t->server == 0) {
		(void)close(ends[0]);
		become_server(t, fuse_fd, ends[1]);
	}
	(void)close(ends[1]);
	t->ready = ends[0];
	return t->server > 0 ? 0
			     : why(ret_why, EAGAIN, "cannot start a process");
}

/*
 * Root keeps the capabilities that its programs would get; entering a user
 * namespace gave us all.
 */
static void act_as_the_agent(uint64_t bounds)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	uint64_t kept = geteuid() == 0 ? bounds : 0;
	struct __user_cap_data_struct data[2] = {
		{ .effective = (uint32_t)kept, .permitted = (uint32_t)kept },
		{ .effective = (uint32_t)(kept >> 32),
		  .permitted = (uint32_t)(kept >> 32) },
	};

	(void)syscall(SYS_capset, &head, data);
}

static void mount_options_fill(const struct rehearsal *t,
			       struct mount_options *ret)
{
	struct statvfs fs = { 0 };

	(void)fstatvfs(t->root_fd, &fs);
	*ret = (struct mount_options){
		.mountpoint = t->repo,
		.source = MOUNT_SOURCE "trial",
		.allow_other = geteuid() == 0,
		.read_only = fs.f_flag & ST_RDONLY,
		.nosuid = fs.f_flag & ST_NOSUID,
		.nodev = fs.f_flag & ST_NODEV,
		.noexec = fs.f_flag & ST_NOEXEC,
	};
}

static int try(struct rehearsal *t, const struct survey *s,
	       struct outcome *found, char **ret_why)
{
	uint64_t bounds = private_bounds();
	struct mount_options options;
	char byte;
	int r;

	mount_options_fill(t, &options);
	found->verdict = TRIAL_IMPOSSIBLE;
	r = private_mount(&options, start_server, t, ret_why);
	if (r < 0)
		return r;
	found->way = t->way;
	if (read(t->ready, &byte, 1) != 1)
		return why(ret_why, EIO, "a trial mount could not be served");
	act_as_the_agent(bounds);
	r = survey_compare(s, ret_why);
	found->verdict = r < 0 ? TRIAL_DIFFERS : TRIAL_FITS;
	return r;
}

static _Noreturn void become_trial(const char *repo, const struct survey *s,
				   int to)
{
	struct rehearsal t = { .repo = repo, .ready = -1 };
	struct outcome found = { .verdict = TRIAL_IMPOSSIBLE };
	CLEANUP(free_p) char *text = NULL;
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	ssize_t told;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)alarm(TRIAL_S);
	(void)dup2(nothing, STDOUT_FILENO);
	(void)dup2(nothing, STDERR_FILENO);
	t.root_fd = open(repo, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (t.root_fd < 0)
		(void)why(&text, errno, "'%s' cannot be opened", repo);
	else
		(void)try(&t, s, &found, &text);
	(void)snprintf(found.why, sizeof(found.why), "%s", text ? text : "");
	if (t.server > 0)
		(void)kill(t.server, SIGKILL);
	told = write(to, &found, sizeof(found));
	_exit(told == sizeof(found) ? EXIT_SUCCESS : EXIT_FAILURE);
}

static void rehearse(const char *repo, const struct survey *s,
		     struct trial *ret)
{
	struct outcome found = { .verdict = TRIAL_IMPOSSIBLE,
				 .why = "a trial mount gave no answer" };
	CLEANUP(close_p) int from = -1;
	int ends[2];
	pid_t pid;
	ssize_t n;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return;
	from = ends[0];
	(void)fflush(NULL);
	pid = fork();
	if (pid == 0)
		become_trial(repo, s, ends[1]);
	(void)close(ends[1]);
	do
		n = read(from, &found, sizeof(found));
	while (n < 0 && errno == EINTR);
	if (pid > 0)
		(void)waitpid(pid, NULL, 0);
	ret->verdict = found.verdict;
	ret->way = found.way;
	if (found.why[0])
		ret->why = strdup(found.why);
}

void trial_run(const char *repo, struct trial *ret)
{
	CLEANUP(survey_release) struct survey s = { 0 };

	*ret = (struct trial){ .verdict = TRIAL_IMPOSSIBLE };
	if (survey_take(repo, &s) < 0)
		return;
	rehearse(repo, &s, ret);
	if (ret->verdict == TRIAL_IMPOSSIBLE ||
	    (ret->way != PRIVATE_ASIDE && ret->way != PRIVATE_OWN_IDS))
		return;
	ret->setid = s.setid;
	ret->setid_count = s.setid_count;
	s.setid = NULL;
}

char *trial_text(const struct trial *t)
{
	char *text = NULL;

	if (t->why)
		return strdup(t->why);
	if (t->setid_count > 1)
		(void)why(&text, 0,
			  "'%s' and %zu other set-user-id programs gain no "
			  "rights in this mount",
			  t->setid, t->setid_count - 1);
	else if (t->setid)
		(void)why(&text, 0,
			  "'%s' is a set-user-id program and gains no rights "
			  "in this mount",
			  t->setid);
	return text;
}

void trial_release(struct trial *t)
{
	free(t->why);
	free(t->setid);
	*t = (struct trial){ 0 };
}
