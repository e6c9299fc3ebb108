#include "tools/verb/notes/git.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"

#define WORDS_MAX 32

static int write_all(int fd, const char *bytes, size_t len)
{
	for (size_t at = 0; at < len;) {
		ssize_t n = pwrite(fd, bytes + at, len - at, (off_t)at);

		if (n < 0 && errno != EINTR)
			return -errno;
		at += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

/* All of a file (free it); NULL: it cannot be read. */
static char *read_back(int fd, size_t *ret_len)
{
	struct stat st;
	char *text;
	size_t at = 0;
	ssize_t n = 1;

	if (fstat(fd, &st) < 0)
		return NULL;
	text = must_have(malloc((size_t)st.st_size + 1));
	while (n > 0 && at < (size_t)st.st_size) {
		n = pread(fd, text + at, (size_t)st.st_size - at, (off_t)at);
		at += n > 0 ? (size_t)n : 0;
	}
	text[at] = '\0';
	*ret_len = at;
	return text;
}

/* In the child. */
_Noreturn static void become_git(const struct git *g, const char *const *argv,
				 int in, int out)
{
	const char *const first[] = { "git", "-C", g->root };
	char *words[WORDS_MAX] = { NULL };
	int quiet = g->quiet ? open("/dev/null", O_WRONLY | O_CLOEXEC) : -1;
	size_t n = 0;

	for (; n < 3; n++)
		words[n] = must_have(strdup(first[n]));
	for (; *argv && n < WORDS_MAX - 1; argv++)
		words[n++] = must_have(strdup(*argv));
	assert(!*argv);
	if (dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0 &&
	    (quiet < 0 || dup2(quiet, STDERR_FILENO) >= 0))
		(void)execvp(words[0], words);
	_exit(127);
}

int git_run(const struct git *g, const char *const *argv, const char *input,
	    size_t input_len, char **ret, size_t *ret_len)
{
	CLEANUP(close_p) int in = memfd_create("input", MFD_CLOEXEC);
	CLEANUP(close_p) int out = memfd_create("output", MFD_CLOEXEC);
	size_t len = 0;
	int status, r;
	pid_t pid;

	if (in < 0 || out < 0)
		return -errno;
	r = write_all(in, input, input ? input_len : 0);
	if (r < 0)
		return r;
	(void)fflush(NULL);
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0)
		become_git(g, argv, in, out);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	if (!WIFEXITED(status))
		return -EINTR;
	if (WEXITSTATUS(status) == 127)
		return -ENOENT;
	if (ret) {
		*ret = read_back(out, &len);
		if (!*ret)
			return -EIO;
		if (ret_len)
			*ret_len = len;
	}
	return WEXITSTATUS(status);
}
