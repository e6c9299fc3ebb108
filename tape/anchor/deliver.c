/* Delivers one line to a socket, a file or a command. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "graph/base/cleanup.h"
#include "tape/anchor/anchor_i.h"
#include "tape/anchor/checkpoint.h"

#define HEADER_MAX 64

/*
 * As syslog(3) writes it, which itself waits for a log that does not read. The
 * facility is the one whose log only root reads.
 */
static size_t put_header(char *ret, size_t size)
{
	time_t now = time(NULL);
	char date[sizeof("Jan 02 03:04:05")] = "";
	struct tm tm;

	if (localtime_r(&now, &tm))
		(void)strftime(date, sizeof(date), "%b %e %H:%M:%S", &tm);
	return (size_t)snprintf(ret, size, "<%d>%s statetape[%d]: ",
				LOG_AUTHPRIV | LOG_NOTICE, date, (int)getpid());
}

int deliver_syslog(const char *socket_path, const char *line)
{
	CLEANUP(close_p)
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	char text[HEADER_MAX + CHECKPOINT_LINE_MAX];
	size_t len = put_header(text, HEADER_MAX);
	size_t line_len = strcspn(line, "\n");

	if (strlen(socket_path) >= sizeof(to.sun_path))
		return -ENAMETOOLONG;
	memcpy(to.sun_path, socket_path, strlen(socket_path) + 1);
	memcpy(text + len, line, line_len);
	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0 ||
	    send(fd, text, len + line_len, MSG_NOSIGNAL) < 0)
		return -errno;
	return 0;
}

int deliver_file(const char *path, const char *line)
{
	/* O_NONBLOCK: it may be a FIFO. */
	CLEANUP(close_p)
	int fd = open(path,
		      O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK |
			      O_NOCTTY,
		      0600);
	size_t len = strlen(line);
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EMEDIUMTYPE;
	n = write(fd, line, len);
	if (n < 0)
		return -errno;
	if ((size_t)n < len)
		return -ENOSPC;
	return fdatasync(fd) < 0 && errno != EINVAL ? -errno : 0;
}

/* A pipe that has the whole line: it is shorter than PIPE_BUF. */
static int open_input(const char *line, int *ret_fd)
{
	size_t len = strlen(line);
	int ends[2];
	ssize_t n;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	n = write(ends[1], line, len);
	(void)close(ends[1]);
	if (n != (ssize_t)len) {
		(void)close(ends[0]);
		return -EIO;
	}
	*ret_fd = ends[0];
	return 0;
}

/* No handler, mask or directory of the tape's reaches the command. */
static int spawn(char *const *argv, int input_fd, pid_t *ret_pid)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t how;
	sigset_t none, all;
	int rc;

	(void)sigemptyset(&none);
	(void)sigfillset(&all);
	(void)posix_spawn_file_actions_init(&files);
	(void)posix_spawnattr_init(&how);
	(void)posix_spawn_file_actions_adddup2(&files, input_fd, STDIN_FILENO);
	(void)posix_spawn_file_actions_addopen(&files, STDOUT_FILENO,
					       "/dev/null", O_WRONLY, 0);
	(void)posix_spawn_file_actions_addchdir_np(&files, "/");
	(void)posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP |
						     POSIX_SPAWN_SETSIGMASK |
						     POSIX_SPAWN_SETSIGDEF);
	(void)posix_spawnattr_setsigmask(&how, &none);
	(void)posix_spawnattr_setsigdefault(&how, &all);
	rc = posix_spawnp(ret_pid, argv[0], &files, &how, argv, environ);
	(void)posix_spawn_file_actions_destroy(&files);
	(void)posix_spawnattr_destroy(&how);
	return -rc;
}

int deliver_start(char *const *argv, const char *line, pid_t *ret_pid)
{
	CLEANUP(close_p) int fd = -1;
	int rc = open_input(line, &fd);

	return rc < 0 ? rc : spawn(argv, fd, ret_pid);
}
