#include "tools/verb/undo/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fs/mount/mount.h"
#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/base/json.h"
#include "graph/base/proc_stat.h"
#include "tools/cli/say.h"
#include "tools/run/session.h"

/* What the file system says of itself. */
struct place_mount {
	pid_t pid;
	char *at;
};

static void place_mount_release(struct place_mount *m)
{
	free(m->at);
}

/* -ECONNREFUSED: nothing is mounted. After other failures a message was
   printed. */
static int ask_mount(const struct state *s, struct place_mount *ret)
{
	CLEANUP(json_p) cJSON *answer = NULL;
	const char *at;
	int r = repo_ask(s, "STATUS", NULL, &answer);

	if (r < 0)
		return r;
	at = json_unescaped(
		cJSON_GetObjectItemCaseSensitive(answer, "mountpoint"));
	if (!at)
		return -EBADMSG;
	ret->at = must_strdup(at);
	ret->pid = (pid_t)json_number(answer, "pid", 0);
	return 0;
}

static bool is_seen_here(const struct state *s, const char *at)
{
	CLEANUP(mount_entry_release) struct mount_entry e = { 0 };

	return mount_find(at, NULL, &e) == 0 && strcmp(e.id, s->id) == 0;
}

static int work_at(const char *path, bool seen, place_work *work, void *arg)
{
	CLEANUP(close_p)
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct place p = { .root_fd = fd, .seen = seen };

	if (fd < 0)
		return say_error("'%s' cannot be opened: %s", path,
				 errno_text(errno));
	return work(&p, arg);
}

/* In the child. */
static _Noreturn void work_inside(const struct state *s, pid_t guard,
				  const char *at, place_work *work, void *arg)
{
	int r = session_enter_of(guard), code;

	if (r < 0)
		code = say_error("the private mount of '%s' cannot be entered: "
				 "%s",
				 s->repo, errno_text(r));
	else if (!is_seen_here(s, at))
		code = say_error("the private mount of '%s' has ended",
				 s->repo);
	else
		code = work_at(at, true, work, arg);
	(void)fflush(NULL);
	_exit(code);
}

static int work_in_child(const struct state *s, pid_t guard, const char *at,
			 place_work *work, void *arg)
{
	int status = 0;
	pid_t pid;

	(void)fflush(NULL);
	pid = fork();
	if (pid == 0)
		work_inside(s, guard, at, work, arg);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	if (pid > 0 && WIFEXITED(status))
		return WEXITSTATUS(status);
	return say_error("the process that writes was killed, or could not be "
			 "started");
}

int place_do(const struct state *s, place_work *work, void *arg)
{
	CLEANUP(place_mount_release) struct place_mount m = { .pid = 0 };
	struct proc_stat st;
	pid_t guard;
	int r = ask_mount(s, &m);

	if (r < 0 && r != -ECONNREFUSED)
		return EXIT_FAILURE;
	if (r == 0 && is_seen_here(s, m.at))
		return work_at(m.at, true, work, arg);
	/* The file system's process has left the namespace of its mount, but
	   the guard that started it has not. */
	guard = r == 0 && proc_stat_read(m.pid, &st) == 0 ? st.ppid : 0;
	if (guard > 0 && mount_is_held(guard, s->id))
		return work_in_child(s, guard, m.at, work, arg);
	return work_at(s->repo, false, work, arg);
}
