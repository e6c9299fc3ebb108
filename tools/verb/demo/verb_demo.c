/*
 * statetape demo: makes a repository in a temporary directory and runs an agent
 * in it with `statetape run`, as any other agent. Only the model (demo_model.c)
 * and the agent (demo_agent.c) are scripted. State and sockets go to the same
 * temporary directory, so the user's own state is not touched, and all of it is
 * removed at the end.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "tools/cli/config.h"
#include "tools/cli/remove.h"
#include "tools/cli/say.h"
#include "tools/cli/verbs.h"
#include "tools/verb/demo/demo.h"

#define MODEL_MS    10000
#define MODEL_TRY   10
#define READ_MAX    (8 << 20)
#define NOT_STARTED 125
#define WIDTH	    79

/* Our temporary directory and the paths in it. */
struct stage {
	char *dir;
	char *repo;
};

static void stage_release(struct stage *s)
{
	free(s->dir);
	free(s->repo);
}

char *demo_read(const char *path, size_t *ret_len)
{
	CLEANUP(close_p) int fd = open(path, O_RDONLY | O_CLOEXEC);
	CLEANUP(free_p) char *text = NULL;
	struct stat st;
	size_t len = 0;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_size > READ_MAX)
		return NULL;
	text = must_have(malloc((size_t)st.st_size + 1));
	while (len < (size_t)st.st_size &&
	       (n = read(fd, text + len, (size_t)st.st_size - len)) > 0)
		len += (size_t)n;
	text[len] = '\0';
	*ret_len = len;
	return TAKE(text);
}

int demo_write(const char *path, const char *text, size_t len)
{
	CLEANUP(close_p)
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	size_t done = 0;

	if (fd < 0)
		return -errno;
	while (done < len) {
		ssize_t n = write(fd, text + done, len - done);

		if (n < 0)
			return -errno;
		done += (size_t)n;
	}
	return 0;
}

static int make_dirs(const char *dir)
{
	static const char *const names[] = { "repo", "state", "run", "config",
					     DEMO_REQUESTS };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		CLEANUP(free_p)
		char *path = format_text("%s/%s", dir, names[i]);

		if (mkdir(path, 0700) < 0)
			return -errno;
	}
	return 0;
}

/* Ignore the user's own configuration of runs and of proxies. */
static void clear_environment(void)
{
	static const char *const names[] = { "http_proxy", "HTTP_PROXY",
					     "all_proxy", "ALL_PROXY" };

	/* NOLINTBEGIN(concurrency-mt-unsafe): there is one thread. */
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		(void)unsetenv(names[i]);
	for (int i = 0; i < CONFIGS; i++)
		(void)unsetenv(config_rows[i].variable);
	/* NOLINTEND(concurrency-mt-unsafe) */
}

static int set_environment(const struct stage *s)
{
	static const char *const names[] = { "XDG_STATE_HOME",
					     "XDG_RUNTIME_DIR",
					     "XDG_CONFIG_HOME" };
	static const char *const dirs[] = { "state", "run", "config" };

	clear_environment();
	/* Long timeouts, so that a busy machine shows the same output. */
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread. */
	if (setenv("DEMO", s->dir, 1) < 0 ||
	    /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread. */
	    setenv("STATETAPE_DEADLINE_MS", "5000", 1) < 0)
		return -errno;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		CLEANUP(free_p)
		char *path = format_text("%s/%s", s->dir, dirs[i]);

		/* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread. */
		if (setenv(names[i], path, 1) < 0)
			return -errno;
	}
	return 0;
}

static int set_stage(struct stage *ret)
{
	const char *tmp = getenv("TMPDIR"); /* NOLINT(concurrency-mt-unsafe) */
	int r;

	ret->dir = format_text("%s/statetape-demo.XXXXXX",
			       tmp && *tmp == '/' ? tmp : "/tmp");
	if (!mkdtemp(ret->dir)) {
		r = -errno;
		free(TAKE(ret->dir));
		return r;
	}
	ret->repo = format_text("%s/repo", ret->dir);
	r = make_dirs(ret->dir);
	if (r == 0)
		r = demo_make_repo(ret->repo);
	return r < 0 ? r : set_environment(ret);
}

static void clear_stage(const struct stage *s)
{
	if (remove_tree(s->dir) < 0)
		(void)say_error("'%s' could not be removed", s->dir);
}

/* Start this program with other arguments. */
static pid_t start(char *const *argv)
{
	pid_t self = getpid(), pid;

	(void)fflush(NULL);
	pid = fork();
	if (pid != 0)
		return pid;
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != self)
		_exit(NOT_STARTED);
	(void)execv("/proc/self/exe", argv);
	_exit(NOT_STARTED);
}

static int wait_for(pid_t pid)
{
	int status = 0;

	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (pid < 0)
		return NOT_STARTED;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static pid_t start_model(const struct stage *s)
{
	char name[] = "statetape", verb[] = "part", model[] = "model";
	char *argv[] = { name, verb, model, NULL };
	CLEANUP(free_p) char *path = format_text("%s/" DEMO_PORT, s->dir);
	pid_t pid = start(argv);

	for (int ms = 0; pid > 0 && ms < MODEL_MS; ms += MODEL_TRY) {
		size_t len;
		CLEANUP(free_p) char *port = demo_read(path, &len);
		CLEANUP(free_p)
		char *url =
			format_text("http://127.0.0.1:%s", port ? port : "");

		if (port) {
			/* NOLINTNEXTLINE(concurrency-mt-unsafe) */
			(void)setenv("STATETAPE_ANTHROPIC_UPSTREAM", url, 1);
			return pid;
		}
		(void)poll(NULL, 0, MODEL_TRY);
	}
	return -1;
}

static volatile sig_atomic_t running; /* the run's process */
static volatile sig_atomic_t ended_by;

/*
 * Pass the signal to the run, wait for its end, and clean up. A Ctrl-C reaches
 * the run by itself.
 */
static void on_end(int number)
{
	ended_by = number;
	if (running > 0 && number != SIGINT)
		(void)kill(running, SIGTERM);
}

static void outlive_signals(void)
{
	const struct sigaction end = { .sa_handler = on_end };

	(void)sigaction(SIGINT, &end, NULL);
	(void)sigaction(SIGTERM, &end, NULL);
	(void)sigaction(SIGHUP, &end, NULL);
}

static int run_agent(const struct stage *s)
{
	char name[] = "statetape", verb[] = "run", end[] = "--";
	char self[PATH_MAX], part[] = "part", agent[] = "agent";
	char *argv[] = { name, verb, end, self, part, agent, NULL };
	const char *repo = s->repo ? s->repo : "/";
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n < 0 || chdir(repo) < 0)
		return NOT_STARTED;
	self[n] = '\0';
	running = start(argv);
	return wait_for(running);
}

static void introduce(void)
{
	static const char text[] =
		"An agent appends all it sees to its context, and what it does "
		"then makes parts of that false. Here is a small repository, "
		"an agent at work in it under 'statetape run', and a model "
		"that answers from a script. All between them is real: the "
		"mount, the tape that logs each write and what it changed, "
		"the manager that sees each request on its way.\n\n"
		"The task: \"" DEMO_TASK "\"";

	print_wrapped(stdout, text, 0, 0, WIDTH);
	demo_pause(isatty(STDOUT_FILENO), sizeof(text));
}

static void conclude(void)
{
	static const char text[] =
		"How to read this: each of the stale results would have told "
		"the model what was no longer true, in every request again. "
		"Cost is what the requests cost with and without StateTape, "
		"the prompt cache counted; in a talk this short the notes are "
		"all there is to it, in a long one stale text is dropped when "
		"that pays.\n\n"
		"Next, in a repository of yours: 'statetape run -- claude', or "
		"another agent; meanwhile, in another terminal, 'statetape "
		"watch' or 'statetape context'.";

	(void)putchar('\n');
	print_wrapped(stdout, text, 0, 0, WIDTH);
}

static int perform(const struct stage *s)
{
	pid_t model = start_model(s);
	int code;

	if (model < 0)
		return say_error("the demonstration's model did not start");
	outlive_signals();
	introduce();
	code = ended_by ? 128 + ended_by : run_agent(s);
	(void)kill(model, SIGTERM);
	(void)wait_for(model);
	if (code > 128) /* ended by a signal: no message */
		return code;
	if (code == NOT_STARTED)
		return say_error("running is not possible here; 'statetape "
				 "doctor' says what is missing");
	if (code != 0)
		return say_error("the demonstration failed (exit code %d)",
				 code);
	conclude();
	return EXIT_SUCCESS;
}

int verb_demo(const struct invocation *in)
{
	CLEANUP(stage_release) struct stage s = { 0 };
	int code, r = set_stage(&s);

	if (r < 0)
		code = say_error("cannot make a temporary directory: %s",
				 errno_text(r));
	else
		code = perform(&s);
	(void)!chdir("/");
	if (s.dir && in->options[OPTION_KEEP_FILES].given)
		(void)printf("Kept in '%s'.\n", s.dir);
	else if (s.dir)
		clear_stage(&s);
	return code;
}

int verb_part(const struct invocation *in)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread. */
	const char *dir = getenv("DEMO");

	if (!dir)
		return say_usage_error(
			"this is a part of 'statetape demo', which starts it");
	if (strcmp(in->arguments[0], "model") == 0)
		return demo_model(dir);
	if (strcmp(in->arguments[0], "agent") == 0)
		return demo_agent(dir, in->arguments[0]);
	return say_usage_error("the demonstration has no part '%s'",
			       in->arguments[0]);
}
