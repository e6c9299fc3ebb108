/*
 * A copy of a trace's repository, below a scratch folder that has the state of
 * its tape, too: nothing of the user's is read or written. The tape is the
 * program's own, started as `statetape tape --no-mount`.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "manager/bench/trace.h"
#include "manager/bench/world.h"
#include "tape/wire/client.h"
#include "tape/wire/links.h"
#include "tools/cli/remove.h"
#include "tools/verb/bench/bench.h"

#define COPY_FDS  16
#define READY_MS  120000
#define READY_TRY 5
#define FILE_MOST ((size_t)64 << 20)

/* -- Files. */

static int write_file(const char *path, const char *text, size_t len)
{
	CLEANUP(close_p)
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	while (fd >= 0 && len > 0) {
		ssize_t n = write(fd, text, len);

		if (n < 0)
			return -errno;
		text += n;
		len -= (size_t)n;
	}
	return fd < 0 ? -errno : 0;
}

/* Make the folders above `path`. */
static int make_above(char *path)
{
	for (char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
		int rc;

		*at = '\0';
		rc = mkdir(path, 0755) < 0 && errno != EEXIST ? -errno : 0;
		*at = '/';
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* nftw(3) passes no context, and a job is a process of its own. */
static const char *copy_from, *copy_to;

static int copy_one(const char *path, const struct stat *st, int type,
		    struct FTW *at)
{
	CLEANUP(free_p) char *text = NULL;
	CLEANUP(free_p)
	char *to = format_text("%s%s", copy_to, path + strlen(copy_from));
	size_t len;
	int rc;

	(void)at;
	if (type == FTW_D)
		return mkdir(to, 0755) < 0 && errno != EEXIST ? -errno : 0;
	if (type != FTW_F || !S_ISREG(st->st_mode))
		return 0;
	rc = trace_read_file(path, &text, &len);
	return rc < 0 ? rc : write_file(to, text, len);
}

static int copy_all(const char *from, const char *to)
{
	copy_from = from;
	copy_to = to;
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread. */
	return nftw(from, copy_one, COPY_FDS, FTW_PHYS);
}

/* A path of the trace that leads out of the repository is not written. */
static bool is_inside(const char *path)
{
	size_t len = strlen(path);

	return *path && *path != '/' && strcmp(path, "..") != 0 &&
	       strncmp(path, "../", 3) != 0 && !strstr(path, "/../") &&
	       !(len > 3 && strcmp(path + len - 3, "/..") == 0);
}

int stage_write(const struct bench_stage *s, const struct world *w,
		const char *path)
{
	CLEANUP(buf_release) struct buf text = BUF(FILE_MOST);
	CLEANUP(free_p) char *whole = format_text("%s/%s", s->repo, path);
	int rc;

	if (!is_inside(path))
		return -EINVAL;
	if (!world_text(w, path, &text))
		return unlink(whole) < 0 && errno != ENOENT ? -errno : 0;
	rc = make_above(whole);
	return rc < 0 ? rc : write_file(whole, text.data, text.len);
}

/* -- The tape. */

static int set_environment(const char *dir)
{
	static const char *const names[] = { "XDG_STATE_HOME",
					     "XDG_RUNTIME_DIR",
					     "XDG_CONFIG_HOME" };
	static const char *const below[] = { "state", "run", "config" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		CLEANUP(free_p)
		char *path = format_text("%s/%s", dir, below[i]);

		/* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread. */
		if (mkdir(path, 0700) < 0 || setenv(names[i], path, 1) < 0)
			return -errno;
	}
	return 0;
}

static pid_t start_tape(const char *repo)
{
	pid_t self = getpid(), pid = fork();

	if (pid != 0)
		return pid;
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() == self &&
	    dup2(open("/dev/null", O_RDWR | O_CLOEXEC), 1) == 1)
		(void)execl("/proc/self/exe", "statetape", "tape", "--no-mount",
			    repo, (char *)NULL);
	_exit(EXIT_FAILURE);
}

/* Wait until it has read all files. */
static int await_tape(struct bench_stage *s)
{
	struct client c;
	struct client_head head = { 0 };
	int rc = -ETIMEDOUT;

	client_init(&c, links_ask, s->links, INT64_MAX, READY_MS);
	for (int ms = 0; ms < READY_MS && !head.ready; ms += READY_TRY) {
		if (waitpid(s->tape, NULL, WNOHANG) == s->tape) {
			s->tape = 0;
			rc = -ECHILD;
			break;
		}
		rc = client_sync(&c, NULL, -1, READY_MS, &head);
		if (rc < 0 || !head.ready)
			(void)poll(NULL, 0, READY_TRY);
	}
	client_release(&c);
	return head.ready ? 0 : rc;
}

static int begin(struct bench_stage *s, const char *from, char **ret_why)
{
	int rc = set_environment(s->dir);

	if (rc == 0)
		rc = copy_all(from, s->repo);
	if (rc == 0)
		rc = state_init(s->repo, 1, &s->state, ret_why);
	if (rc < 0)
		return rc;
	s->tape = start_tape(s->repo);
	if (s->tape < 0)
		return -errno;
	s->links = links_new(s->state.tape_socket);
	return await_tape(s);
}

int stage_init(struct bench_stage *s, const char *from, char **ret_why)
{
	const char *tmp = getenv("TMPDIR"); /* NOLINT(concurrency-mt-unsafe) */
	int rc;

	*s = (struct bench_stage){ .state = { .dir_fd = -1, .lock_fd = -1 } };
	s->dir = format_text("%s/statetape-bench.XXXXXX",
			     tmp && *tmp == '/' ? tmp : "/tmp");
	if (!mkdtemp(s->dir))
		rc = -errno;
	else
		rc = 0;
	s->repo = format_text("%s/repo", s->dir);
	if (rc == 0)
		rc = begin(s, from, ret_why);
	if (rc < 0 && !*ret_why)
		*ret_why = format_text("no tape could be begun for '%s': %s",
				       from, strerrordesc_np(-rc));
	return rc;
}

void stage_release(struct bench_stage *s)
{
	links_free(s->links);
	if (s->tape > 0) {
		(void)kill(s->tape, SIGTERM);
		while (waitpid(s->tape, NULL, 0) < 0 && errno == EINTR)
			continue;
	}
	state_release(&s->state);
	if (s->dir)
		(void)remove_tree(s->dir);
	free(s->dir);
	free(s->repo);
}
