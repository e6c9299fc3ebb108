/*
 * A process that carries out commands: fork, vfork, exec, start a thread,
 * change its name, exit. It blocks between two commands, as a caller blocks in
 * its syscall until we reply. After a command the process or thread below
 * answers and reads the next one:
 *
 *	command		who answers
 *	PUPPET_THREAD	a new thread, until PUPPET_END
 *	PUPPET_LEAVE	a new thread; the one before has ended
 *	PUPPET_FORK	the child, until PUPPET_END
 *	PUPPET_VFORK	the child in its parent's memory; can only exec or end
 *	PUPPET_ORPHAN	the child, whose parent has exited
 *	PUPPET_EXEC	the same process, a new program with a new last argument
 *	PUPPET_NAME	the same thread, under a new name (comm)
 *	PUPPET_END	the one that answered before
 *
 * A program that uses puppets calls puppet_play() first thing in main().
 */
#ifndef STATETAPE_TESTS_SUPPORT_PUPPET_H
#define STATETAPE_TESTS_SUPPORT_PUPPET_H

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PUPPET_FD   3
#define PUPPET_TEXT 120

enum puppet_verb {
	PUPPET_THREAD,
	PUPPET_LEAVE,
	PUPPET_FORK,
	PUPPET_VFORK,
	PUPPET_ORPHAN,
	PUPPET_EXEC,
	PUPPET_NAME,
	PUPPET_END,
};

struct puppet_command {
	enum puppet_verb verb;
	char text[PUPPET_TEXT];
};

/* The thread that answers. */
struct puppet_where {
	pid_t pid;
	pid_t tid;
};

struct puppet {
	pid_t pid; /* of the first process, to wait for */
	int fd;
	struct puppet_where at; /* as last answered */
};

/* Path of this program, to exec it again; set before the first fork. */
static char puppet_program[PATH_MAX];

static inline void puppet_hello(void)
{
	struct puppet_where at = { getpid(), gettid() };

	if (send(PUPPET_FD, &at, sizeof(at), MSG_NOSIGNAL) != sizeof(at))
		_exit(1);
}

/* A closed socket means to exit. */
static inline struct puppet_command puppet_receive(void)
{
	struct puppet_command c;

	if (recv(PUPPET_FD, &c, sizeof(c), 0) != sizeof(c))
		_exit(0);
	return c;
}

static inline void puppet_exec(const char *text)
{
	char zero[] = "marionette";
	char one[] = "puppet";
	char two[PUPPET_TEXT];
	char *argv[] = { zero, one, two, NULL };

	(void)snprintf(two, sizeof(two), "%s", text);
	(void)execv(puppet_program, argv);
	_exit(127);
}

static inline void puppet_listen(void);

/* The last thread exits the process (sanitizers keep threads running). */
static inline void *puppet_thread(void *last)
{
	puppet_listen();
	if (last)
		_exit(0);
	return NULL;
}

static inline void puppet_start_thread(bool leave)
{
	pthread_t t;

	if (pthread_create(&t, NULL, puppet_thread, leave ? &t : NULL) != 0)
		_exit(1);
	/* Not pthread_exit(), which aborts at times in a fork of a thread. */
	if (leave)
		(void)syscall(SYS_exit, 0);
	(void)pthread_join(t, NULL);
}

static inline void puppet_fork(bool wait)
{
	pid_t parent = getpid();
	pid_t pid = fork();

	if (pid < 0)
		_exit(1);
	if (pid == 0) {
		/* Answer only after the parent has exited. */
		while (!wait && getppid() == parent)
			;
		puppet_listen();
		_exit(0);
	}
	if (!wait)
		_exit(0);
	(void)waitpid(pid, NULL, 0);
}

/* The child may only make system calls. */
static inline void puppet_vfork(void)
{
	struct puppet_command c;
	pid_t pid = vfork();

	if (pid < 0)
		_exit(1);
	if (pid == 0) {
		puppet_hello();
		c = puppet_receive();
		if (c.verb == PUPPET_EXEC)
			puppet_exec(c.text);
		_exit(0);
	}
	(void)waitpid(pid, NULL, 0);
}

/* Report our ids, carry out a command, and repeat until PUPPET_END. */
static inline void puppet_listen(void)
{
	for (;;) {
		struct puppet_command c;

		puppet_hello();
		c = puppet_receive();
		switch (c.verb) {
		case PUPPET_THREAD:
		case PUPPET_LEAVE:
			puppet_start_thread(c.verb == PUPPET_LEAVE);
			break;
		case PUPPET_FORK:
		case PUPPET_ORPHAN:
			puppet_fork(c.verb == PUPPET_FORK);
			break;
		case PUPPET_VFORK:
			puppet_vfork();
			break;
		case PUPPET_EXEC:
			puppet_exec(c.text);
			break;
		case PUPPET_NAME:
			(void)prctl(PR_SET_NAME, c.text);
			break;
		case PUPPET_END:
			return;
		}
	}
}

/* Does not return in a puppet. */
static inline void puppet_play(int argc, char **argv)
{
	ssize_t len = readlink("/proc/self/exe", puppet_program,
			       sizeof(puppet_program) - 1);

	if (len < 0) {
		(void)printf("skipped: no /proc\n");
		exit(77);
	}
	puppet_program[len] = '\0';
	/* Puppets fork while threads run, which TSan refuses by default. */
	(void)setenv("TSAN_OPTIONS", "die_after_fork=0", 0);
	if (argc < 2 || strcmp(argv[1], "puppet") != 0)
		return;
	puppet_listen();
	_exit(0);
}

static inline bool puppet_answered(struct puppet *p)
{
	return recv(p->fd, &p->at, sizeof(p->at), 0) == sizeof(p->at);
}

/* A new puppet whose last argument is `text`. False: it cannot be made. */
static inline bool puppet_new(const char *text, struct puppet *ret)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return false;
	ret->fd = ends[0];
	ret->pid = fork();
	if (ret->pid == 0) {
		if (ends[1] != PUPPET_FD)
			(void)dup2(ends[1], PUPPET_FD);
		(void)fcntl(PUPPET_FD, F_SETFD, 0);
		puppet_exec(text);
	}
	(void)close(ends[1]);
	return ret->pid > 0 && puppet_answered(ret);
}

/* Give a command and wait until it is done. False: the puppet is broken. */
static inline bool puppet_send(struct puppet *p, enum puppet_verb verb,
			       const char *text)
{
	struct puppet_command c = { .verb = verb };

	(void)snprintf(c.text, sizeof(c.text), "%s", text ? text : "");
	return send(p->fd, &c, sizeof(c), MSG_NOSIGNAL) == sizeof(c) &&
	       puppet_answered(p);
}

/* End the puppet: the process that answers and all that wait for it. */
static inline void puppet_free(struct puppet *p)
{
	(void)close(p->fd);
	(void)waitpid(p->pid, NULL, 0);
}

#endif
