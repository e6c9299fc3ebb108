/*
 * Traces side by side, each in a process: a job's environment, its tape and
 * its memory are its own, and what it prints as JSON is all that comes back.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "graph/base/alloc.h"
#include "graph/base/buf.h"
#include "graph/base/cleanup.h"
#include "graph/base/json.h"
#include "tools/cli/say.h"
#include "tools/verb/bench/bench.h"

#define ANSWER_MAX ((size_t)1 << 30)

struct bench_worker {
	uint32_t trace; /* its number */
	pid_t pid;
	int fd; /* its answer; -1: all of it is here */
	struct buf text;
};

struct workers {
	const struct bench *bench;
	struct bench_worker *workers; /* per trace, in their order */
	uint32_t begun, running, ended;
};

static void work(const struct bench *b, uint32_t trace, int fd)
{
	CLEANUP(json_p) cJSON *answer = job_run(b, b->traces.at[trace]);
	CLEANUP(free_p)
	char *text = must_have(cJSON_PrintUnformatted(answer));
	size_t len = strlen(text);

	for (const char *at = text; len > 0;) {
		ssize_t n = write(fd, at, len);

		if (n < 0)
			_exit(EXIT_FAILURE);
		at += n;
		len -= (size_t)n;
	}
	_exit(EXIT_SUCCESS);
}

static int begin(struct workers *p)
{
	struct bench_worker *w = &p->workers[p->begun];
	pid_t self = getpid();
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	w->trace = p->begun;
	w->text = BUF(ANSWER_MAX);
	w->pid = fork();
	if (w->pid == 0) {
		(void)close(ends[0]);
		(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
		if (getppid() != self)
			_exit(EXIT_FAILURE);
		work(p->bench, w->trace, ends[1]);
	}
	(void)close(ends[1]);
	w->fd = ends[0];
	if (w->pid < 0) {
		close_p(&w->fd);
		return -errno;
	}
	p->begun++;
	p->running++;
	return 0;
}

/* Take what it has written. */
static void listen_to(struct workers *p, struct bench_worker *w)
{
	ssize_t n = 0;

	if (buf_reserve(&w->text, 1 << 16) == 0)
		n = read(w->fd, w->text.data + w->text.len, 1 << 16);
	if (n > 0) {
		w->text.len += (size_t)n;
		return;
	}
	close_p(&w->fd);
	w->fd = -1;
	while (waitpid(w->pid, NULL, 0) < 0 && errno == EINTR)
		continue;
	p->running--;
	p->ended++;
}

static void show_progress(const struct workers *p)
{
	if (!isatty(STDERR_FILENO))
		return;
	(void)fprintf(stderr, "\r%u of %u traces%s", p->ended,
		      p->bench->traces.count,
		      p->ended == p->bench->traces.count ? "\r\033[K" : "");
	(void)fflush(stderr);
}

static void await(struct workers *p)
{
	ARRAY(struct pollfd) fds = { 0 };
	ARRAY(struct bench_worker *) of = { 0 };

	for (uint32_t i = 0; i < p->begun; i++) {
		struct bench_worker *w = &p->workers[i];

		if (w->fd < 0)
			continue;
		array_push(&fds, ((struct pollfd){ w->fd, POLLIN, 0 }));
		array_push(&of, w);
	}
	if (poll(fds.at, fds.count, -1) > 0)
		for (uint32_t i = 0; i < fds.count; i++)
			if (fds.at[i].revents)
				listen_to(p, of.at[i]);
	array_release(&fds);
	array_release(&of);
	show_progress(p);
}

/* An exit code. */
static int take(const struct workers *p, struct bench_worker *w,
		workers_visit *visit, void *ctx)
{
	CLEANUP(json_p)
	cJSON *answer = cJSON_ParseWithLength(w->text.data ? w->text.data : "",
					      w->text.len);
	const char *error = json_string(answer, "error");

	if (!answer)
		return say_error("the process that played '%s' ended early",
				 p->bench->traces.at[w->trace]);
	if (error)
		return say_error("%s", error);
	visit(ctx, answer);
	return EXIT_SUCCESS;
}

int workers_run(const struct bench *b, workers_visit *visit, void *ctx)
{
	struct workers p = { .bench = b };
	int code = EXIT_SUCCESS, rc = 0;

	p.workers =
		must_calloc((size_t)b->traces.count + 1, sizeof(*p.workers));
	while (p.running || (rc == 0 && p.begun < b->traces.count)) {
		while (rc == 0 && p.begun < b->traces.count &&
		       p.running < b->jobs)
			rc = begin(&p);
		if (p.running)
			await(&p);
	}
	if (rc < 0)
		code = say_error("no process can be started: %s",
				 errno_text(rc));
	for (uint32_t i = 0; i < p.begun; i++) {
		if (code == EXIT_SUCCESS)
			code = take(&p, &p.workers[i], visit, ctx);
		buf_release(&p.workers[i].text);
	}
	free(p.workers);
	return code;
}
