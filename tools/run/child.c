/*
 * See child.h.
 */
#include "tools/run/child.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "graph/base/cleanup.h"
#include "graph/base/clock.h"
#include "tools/cli/say.h"

/* After living this long, the count of deaths starts again. */
#define LONG_LIFE_NS  (60 * NS_PER_S)
#define PAUSE_NS      (NS_PER_S / 10)
#define PAUSE_MAX_NS  (30 * NS_PER_S)
#define PAUSE_FROM    2 /* deaths: the first is restarted at once */
#define STOP_GRACE_MS 5000

char *child_end_text(int status)
{
	const char *name;

	if (!WIFSIGNALED(status))
		return format_text("ended with code %d", WEXITSTATUS(status));
	name = sigabbrev_np(WTERMSIG(status));
	return format_text("was killed by SIG%s",
			   name ? name : "RTMIN or above");
}

static _Noreturn void become(const struct child *c, pid_t parent)
{
	sigset_t none;

	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(EXIT_FAILURE); /* the parent died before prctl() */
	(void)setsid();
	(void)!chdir("/"); /* do not keep any mount busy */
	(void)sigemptyset(&none);
	(void)pthread_sigmask(SIG_SETMASK, &none, NULL);
	(void)signal(SIGPIPE, SIG_DFL);
	(void)dup2(c->log_fd, STDOUT_FILENO);
	(void)dup2(c->log_fd, STDERR_FILENO);
	(void)close(STDIN_FILENO);
	(void)!open("/dev/null", O_RDONLY);
	for (size_t i = 0; i < 2; i++)
		if (c->keep_fds[i] >= 0)
			(void)fcntl(c->keep_fds[i], F_SETFD, 0);
	(void)execv("/proc/self/exe", c->argv);
	_exit(EXIT_FAILURE);
}

static int64_t pause_after(unsigned deaths)
{
	int64_t ns = PAUSE_NS;

	if (deaths < PAUSE_FROM)
		return 0;
	while (--deaths >= PAUSE_FROM && ns < PAUSE_MAX_NS)
		ns *= 2;
	return ns < PAUSE_MAX_NS ? ns : PAUSE_MAX_NS;
}

static void set_due(struct child *c)
{
	assert(c->pid == 0 && c->deaths > 0);
	c->again_ns = clock_mono_ns() + pause_after(c->deaths);
}

int child_start(struct child *c)
{
	pid_t self = getpid(), pid;

	assert(c->pid == 0);
	assert(c->argv && c->log_fd >= 0);
	(void)fflush(NULL);
	pid = fork();
	if (pid == 0)
		become(c, self);
	if (pid < 0) {
		int error = errno;

		c->deaths++;
		set_due(c);
		return -error;
	}
	c->pid = pid;
	c->born_ns = clock_mono_ns();
	c->again_ns = 0;
	return 0;
}

bool child_ended(struct child *c, pid_t pid, int status, char **ret_text)
{
	CLEANUP(free_p) char *how = NULL;

	if (pid != c->pid || pid <= 0)
		return false;
	how = child_end_text(status);
	if (clock_mono_ns() - c->born_ns > LONG_LIFE_NS)
		c->deaths = 0;
	c->deaths++;
	c->pid = 0;
	set_due(c);
	if (c->deaths == 1)
		*ret_text =
			format_text("%s %s and is started again", c->name, how);
	else if ((c->deaths & (c->deaths - 1)) == 0)
		*ret_text = format_text(
			"%s %s, %u times so far, and is started again", c->name,
			how, c->deaths);
	else
		*ret_text = NULL;
	return true;
}

int child_tend(struct child *c)
{
	int64_t left;

	/* Either it runs or its restart is due, or it was dismissed. */
	assert(c->pid == 0 || c->again_ns == 0);
	if (c->pid > 0 || c->again_ns == 0)
		return -1;
	left = c->again_ns - clock_mono_ns();
	if (left > 0)
		return (int)(left / 1000000) + 1;
	if (child_start(c) == 0)
		return -1;
	return (int)((c->again_ns - clock_mono_ns()) / 1000000) + 1;
}

/* Wait at most so long for `pid` to end. True: it has ended. */
static bool wait_end(pid_t pid, int ms)
{
	CLEANUP(close_p) int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int64_t until = clock_mono_ns() + ms * 1000000LL, left;

	while ((left = until - clock_mono_ns()) > 0 &&
	       poll(&p, 1, (int)(left / 1000000) + 1) < 0 && errno == EINTR)
		;
	return waitpid(pid, NULL, WNOHANG) == pid;
}

void child_dismiss(struct child *c)
{
	c->again_ns = 0;
	if (c->pid > 0)
		(void)kill(c->pid, SIGTERM);
}

void child_stop(struct child *c)
{
	pid_t pid = c->pid;

	child_dismiss(c);
	c->pid = 0;
	if (pid <= 0 || wait_end(pid, STOP_GRACE_MS))
		return;
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
}
