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
#include "tools/cli/say.h"

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
_Noreturn static void become_git(const char *root, const char *const *argv,
				 const int files[3])
{
	const char *const first[] = { "git", "-C", root };
	char *words[WORDS_MAX] = { NULL };
	size_t n = 0;

	for (; n < 3; n++)
		words[n] = must_have(strdup(first[n]));
	for (; *argv && n < WORDS_MAX - 1; argv++)
		words[n++] = must_have(strdup(*argv));
	assert(!*argv);
	for (int fd = 0; fd < 3; fd++)
		if (dup2(files[fd], fd) < 0)
			_exit(127);
	(void)execvp(words[0], words);
	_exit(127);
}

/* The child's exit code; -ENOENT: there is no git. */
static int run(const char *root, const char *const *argv, const int files[3])
{
	int status;
	pid_t pid;

	(void)fflush(NULL);
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0)
		become_git(root, argv, files);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	if (!WIFEXITED(status))
		return -EINTR;
	return WEXITSTATUS(status) == 127 ? -ENOENT : WEXITSTATUS(status);
}

int git_run(const char *root, const char *const *argv, const char *input,
	    size_t input_len, struct git_output *ret)
{
	CLEANUP(close_p) int in = memfd_create("input", MFD_CLOEXEC);
	CLEANUP(close_p) int out = memfd_create("output", MFD_CLOEXEC);
	CLEANUP(close_p) int err = memfd_create("messages", MFD_CLOEXEC);
	const int files[] = { in, out, err };
	size_t len;
	int r;

	*ret = (struct git_output){ 0 };
	if (in < 0 || out < 0 || err < 0)
		return -errno;
	r = write_all(in, input, input ? input_len : 0);
	if (r == 0)
		r = run(root, argv, files);
	ret->text = read_back(out, &ret->len);
	ret->said = read_back(err, &len);
	if (ret->text && ret->said)
		return r;
	return r < 0 ? r : -EIO;
}

void git_output_release(struct git_output *o)
{
	free(o->text);
	free(o->said);
	*o = (struct git_output){ 0 };
}

int git_failed(int r, const struct git_output *o, const char *what)
{
	const char *said = o->said ? o->said : "";

	if (r < 0)
		(void)say_error("git cannot %s: %s", what, errno_text(r));
	else
		(void)say_error("git cannot %s: %.*s", what,
				(int)strcspn(said, "\n"), said);
	return r < 0 ? r : -EIO;
}
