#include "tools/verb/watch_exec.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/base/json.h"
#include "tools/cli/say.h"

/* A command that changes files would run for its own changes without end. */
static bool is_ours(const cJSON *entry)
{
	const cJSON *author = json_member(entry, "author"), *p;
	uint64_t self = (uint64_t)getpid();

	if (json_number(author, "pid", 0) == self)
		return true;
	cJSON_ArrayForEach (p, json_member(author, "ancestors"))
		if (json_number(p, "pid", 0) == self)
			return true;
	return false;
}

/* A file that holds the entry, at its beginning; -1: there is none. */
static int hold_entry(const cJSON *entry)
{
	CLEANUP(free_p) char *text = must_have(cJSON_PrintUnformatted(entry));
	CLEANUP(close_p) int fd = memfd_create("entry", MFD_CLOEXEC);
	size_t len = strlen(text);

	if (fd < 0 || write(fd, text, len) != (ssize_t)len ||
	    lseek(fd, 0, SEEK_SET) < 0)
		return -1;
	return take_fd(&fd);
}

static _Noreturn void become(const char *command, const char *repo,
			     const cJSON *entry, int in)
{
	CLEANUP(free_p)
	char *n = format_text("%" PRIu64, json_number(entry, "n", 0));

	/* NOLINTBEGIN(concurrency-mt-unsafe): a child has one thread. */
	(void)setenv("STATETAPE_ENTRY", n, 1);
	(void)setenv("STATETAPE_KIND", json_string_or(entry, "kind", ""), 1);
	(void)setenv("STATETAPE_REPO", repo, 1);
	/* NOLINTEND(concurrency-mt-unsafe) */
	if (in >= 0)
		(void)dup2(in, STDIN_FILENO);
	(void)execl("/bin/sh", "sh", "-c", command, "statetape",
		    json_string_or(entry, "path", ""),
		    json_string(entry, "path2"), (char *)NULL);
	_exit(127);
}

void watch_exec(const char *command, const char *repo, const cJSON *entry)
{
	CLEANUP(close_p) int in = -1;
	int status = 0;
	pid_t pid;

	if (is_ours(entry))
		return;
	in = hold_entry(entry);
	(void)fflush(NULL);
	pid = fork();
	if (pid == 0)
		become(command, repo, entry, in);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (pid < 0)
		(void)say_error("cannot start a process: %s",
				errno_text(errno));
	else if (WIFSIGNALED(status))
		(void)say_error("entry %" PRIu64 ": the command was ended by "
				"signal %d",
				json_number(entry, "n", 0), WTERMSIG(status));
	else if (WEXITSTATUS(status))
		(void)say_error("entry %" PRIu64 ": the command failed with "
				"exit code %d",
				json_number(entry, "n", 0),
				WEXITSTATUS(status));
}
