#include "tools/cli/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/cli/say.h"

/* The pager's command; NULL: use none. */
static const char *pager_command(void)
{
	/*
	 * The environment does not change while it is read: there is one
	 * thread.
	 */
	const char *pager = getenv("PAGER"); /* NOLINT(concurrency-*) */

	if (!pager)
		return "command -v less >/dev/null && exec less -FRX; exec cat";
	return *pager && strcmp(pager, "cat") != 0 ? pager : NULL;
}

static void pager_run(const char *command, const int pipe_fd[2])
{
	if (dup2(pipe_fd[0], STDIN_FILENO) < 0)
		_exit(EXIT_FAILURE);
	(void)close(pipe_fd[0]);
	(void)close(pipe_fd[1]);
	(void)execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(EXIT_FAILURE);
}

void pager_begin(struct pager *p)
{
	const char *command = pager_command();
	int pipe_fd[2];
	pid_t pid;

	*p = (struct pager){ .terminal = isatty(STDOUT_FILENO),
			     .colours = colour_wanted(stdout) };
	if (!p->terminal || !command || pipe2(pipe_fd, O_CLOEXEC) < 0)
		return;
	(void)fflush(stdout);
	pid = fork();
	if (pid == 0)
		pager_run(command, pipe_fd);
	if (pid > 0 && dup2(pipe_fd[1], STDOUT_FILENO) >= 0) {
		p->pid = pid;
		/*
		 * The pager handles Ctrl-C, and may be closed before it has
		 * read everything; we go on until it ends.
		 */
		(void)signal(SIGINT, SIG_IGN);
		(void)signal(SIGPIPE, SIG_IGN);
	}
	(void)close(pipe_fd[0]);
	(void)close(pipe_fd[1]);
}

void pager_end(struct pager *p)
{
	int status, null;

	if (!p->pid)
		return;
	(void)fflush(stdout);
	/*
	 * Closing stdout ends the pager; /dev/null keeps the descriptor in use.
	 */
	null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (null >= 0) {
		(void)dup2(null, STDOUT_FILENO);
		(void)close(null);
	}
	clearerr(stdout);
	while (waitpid(p->pid, &status, 0) < 0 && errno == EINTR)
		;
	p->pid = 0;
}
