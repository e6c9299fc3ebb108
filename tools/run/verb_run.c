/*
 * statetape run: an agent with everything around it. The repository's session
 * (session.h) mounts it and keeps the tape; this process adds a manager of its
 * own, points the agent at it, and runs the agent in the foreground.
 *
 *	statetape run ─┬─ statetape manager   127.0.0.1:PORT
 *	               └─ the agent           with the terminal
 *
 * The manager's socket is opened here and handed down: when the manager dies,
 * connections wait in it for the next one instead of being refused. One that
 * dies again and again, be it of a request that the agent sends once more each
 * time, is replaced by one that only passes requests on.
 *
 * Signals come through a descriptor. What the terminal sends reaches the agent
 * by itself; what is sent to us alone is passed on. When the agent stops, we
 * do, so that the shell sees its job stop; that is also why the terminal's own
 * stop signals are not for us. Whatever breaks, the agent goes on: a tape that
 * is away means requests pass as they are.
 */
#include <arpa/inet.h>
#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fs/author/actor.h"
#include "fs/mount/mount.h"
#include "fs/mount/site.h"
#include "graph/base/cleanup.h"
#include "graph/base/clock.h"
#include "manager/report/report.h"
#include "tape/wire/wire.h"
#include "tools/cli/config.h"
#include "tools/cli/repo.h"
#include "tools/cli/say.h"
#include "tools/cli/terminal.h"
#include "tools/cli/verbs.h"
#include "tools/run/agent.h"
#include "tools/run/child.h"
#include "tools/run/session.h"

#define LOG	      "manager.log"
#define READY_MS      120000 /* then the agent starts without the graph */
#define SILENT_MS     5000   /* also, if the tape does not even say so */
#define READY_ASK_MS  1000
#define READY_TRY_MS  50		/* at most; less in the beginning */
#define SHOW_AFTER_NS (300 * 1000000LL) /* of waiting, on a terminal */
#define SYNC_MS	      5000
#define BOOKS_MS      2000
#define GO_BACK_MS    5000
#define BACKLOG	      64
#define NOTES_MAX     32
#define FORWARD_AFTER 3	  /* deaths of the manager within a short time */
#define FAILED	      125 /* the agent was never run */
#define PORT_MAX      65535

struct run {
	struct state state;
	struct config config;
	struct session session;
	char *cwd; /* the agent's: ours if it lies in the repository */
	int listen_fd, log_fd, signal_fd;
	unsigned port; /* 0: any */
	struct child manager;
	char **manager_argv;
	sigset_t mask; /* as we found it */
	double began;  /* CLOCK_REALTIME, nanoseconds */
	struct terminal terminal;
	pid_t agent; /* 0: not started, or ended */
	int code;
	int ended_by; /* the signal that ended the agent, or kept it from being
		       * started; 0: none did */
	char *notes[NOTES_MAX];
	size_t notes_count;
	bool quiet; /* the terminal is the agent's: notes wait */
};

static void free_words(char **words)
{
	for (size_t i = 0; words && words[i]; i++)
		free(words[i]);
	free(words);
}

static void run_release(struct run *r)
{
	for (size_t i = 0; i < r->notes_count; i++)
		free(r->notes[i]);
	/* All at once; and nobody is in the mount any more, not even we. */
	(void)!chdir("/");
	child_dismiss(&r->manager);
	session_leave(&r->session, &r->state);
	child_stop(&r->manager);
	free_words(r->manager_argv);
	close_p(&r->listen_fd);
	close_p(&r->log_fd);
	close_p(&r->signal_fd);
	config_release(&r->config);
	state_release(&r->state);
	free(r->cwd);
}

/* Say it now, or when the agent has given the terminal back. Takes `text`. */
static void note(struct run *r, char *text)
{
	CLEANUP(free_p) char *owned = text;

	if (!r->quiet)
		(void)complain("%s", text);
	else if (r->notes_count < NOTES_MAX)
		r->notes[r->notes_count++] = TAKE(owned);
}

/* The nearest directory upwards that git knows, else this one. (Free it.) */
static char *find_repo(const char *cwd)
{
	char *dir = must(strdup(cwd));

	for (;;) {
		CLEANUP(free_p) char *git = sentence("%s/.git", dir);
		char *slash = strrchr(dir, '/');

		if (access(git, F_OK) == 0)
			return dir;
		if (!slash || slash == dir)
			break;
		*slash = '\0';
	}
	free(dir);
	return must(strdup(cwd));
}

static int settle_repo(struct run *r, const char *given)
{
	CLEANUP(free_p) char *found = given ? NULL : find_repo(r->cwd);
	CLEANUP(free_p) char *why = NULL;
	const char *repo = given ? given : found;
	struct stat st;
	int rc;

	if (stat(repo, &st) < 0)
		return complain("cannot run in '%s': %s", repo, reason(errno));
	if (!S_ISDIR(st.st_mode))
		return complain("cannot run in '%s': it is not a directory",
				repo);
	if (!site_has_files(repo))
		return complain("cannot run in '%s': there are no files there",
				repo);
	rc = state_init(repo, 1, &r->state, &why);
	if (rc < 0)
		return complain("%s", why ? why : reason(rc));
	if (!site_inside(r->cwd, r->state.repo)) {
		free(r->cwd);
		r->cwd = must(strdup(r->state.repo));
	}
	return 0;
}

static int settle_config(struct run *r, const struct invocation *in)
{
	static const struct {
		enum option_id option;
		enum config_key key;
	} flags[] = {
		{ OPTION_MODE, CONFIG_MODE },
		{ OPTION_POLICY, CONFIG_POLICY },
		{ OPTION_MOUNT, CONFIG_MOUNT },
	};
	CLEANUP(free_p) char *why = NULL;

	if (config_load(&r->config, r->state.repo, &why) < 0)
		return complain("%s", why);
	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		const struct option_value *o = &in->options[flags[i].option];
		char **value = &r->config.values[flags[i].key];

		if (!o->given)
			continue;
		if (!config_allows(flags[i].key, o->text)) {
			why = config_complaint(flags[i].key, o->text);
			return complain_usage(
				"--%s: %s", config_rows[flags[i].key].key, why);
		}
		free(*value);
		*value = must(strdup(o->text));
	}
	return 0;
}

/* Where the user has not said so, requests go where this agent's go without
   us. */
static int settle_upstreams(struct run *r, const char *program)
{
	static const enum config_key keys[AGENT_APIS] = {
		[AGENT_ANTHROPIC] = CONFIG_ANTHROPIC,
		[AGENT_OPENAI] = CONFIG_OPENAI,
	};

	for (int api = 0; api < AGENT_APIS; api++) {
		char **said = &r->config.values[keys[api]];
		CLEANUP(free_p) char *why = NULL;

		if (!*said)
			*said = agent_upstream(program, (enum agent_api)api);
		if (config_allows(keys[api], *said))
			continue;
		why = config_complaint(keys[api], *said);
		return complain("where '%s' asks its model: %s", program, why);
	}
	return 0;
}

static enum session_mount wanted_mount(const struct run *r,
				       const struct invocation *in)
{
	const char *how = r->config.values[CONFIG_MOUNT];

	if (in->options[OPTION_NO_MOUNT].given)
		return SESSION_NONE;
	return how ? session_mount_find(how) : SESSION_AUTO;
}

/* What a mount answers whose process is being killed: EIO if that was just
   taking the question up. */
static bool is_dying(int rc)
{
	return mount_error_is_death(-rc) || rc == -EIO;
}

/* Such a mount is taken away in a moment. */
static int go_back(const struct run *r)
{
	int64_t until = clock_mono_ns() + GO_BACK_MS * 1000000LL;
	int rc;

	while ((rc = chdir(r->cwd) < 0 ? -errno : 0) < 0 && is_dying(rc) &&
	       clock_mono_ns() < until)
		(void)poll(NULL, 0, 1);
	return rc;
}

/*
 * Another session, without a mount. If others share the old one that is the
 * one we get again; it sees what is done outside of its mount, too.
 */
static int do_without_mount(struct run *r)
{
	session_leave(&r->session, &r->state);
	if (session_join(&r->state, SESSION_NONE, &r->session) < 0)
		return FAILED;
	r->session.mount = SESSION_NONE;
	return 0;
}

/*
 * From here on we see what the session sees, the current directory too. Where
 * that is not allowed (a container may lack CAP_SYS_CHROOT) the agent works
 * outside, unless the mount was asked for.
 */
static int enter(struct run *r, bool needed)
{
	int rc = session_enter(&r->session);

	if (rc < 0) {
		(void)complain("the mount of '%s' cannot be entered: %s",
			       r->state.repo, reason(rc));
		if (needed || do_without_mount(r) != 0)
			return FAILED;
	}
	rc = go_back(r);
	if (rc < 0)
		return complain("cannot go back to '%s': %s", r->cwd,
				reason(rc));
	return 0;
}

static int join(struct run *r, const struct invocation *in)
{
	enum session_mount wanted = wanted_mount(r, in);
	int rc = session_join(&r->state, wanted, &r->session);

	if (rc < 0)
		return FAILED;
	rc = enter(r, wanted == SESSION_PRIVATE);
	if (rc == 0 && r->session.mount == SESSION_NONE)
		note(r, sentence("'%s' is not mounted: changes are noticed "
				 "after the fact, and not who makes them",
				 r->state.repo));
	return rc;
}

static int open_port(struct run *r)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons((uint16_t)r->port),
				 .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t len = sizeof(a);
	int on = 1;

	r->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	/* Connections of the last run on it linger for a while. */
	if (r->listen_fd < 0 ||
	    setsockopt(r->listen_fd, SOL_SOCKET, SO_REUSEADDR, &on,
		       sizeof(on)) < 0 ||
	    bind(r->listen_fd, (struct sockaddr *)&a, sizeof(a)) < 0 ||
	    listen(r->listen_fd, BACKLOG) < 0 ||
	    getsockname(r->listen_fd, (struct sockaddr *)&a, &len) < 0)
		return complain("cannot listen on 127.0.0.1:%u: %s", r->port,
				reason(errno));
	r->port = ntohs(a.sin_port);
	return 0;
}

static int open_log(struct run *r)
{
	off_t end;
	int rc = state_open_log(&r->state, LOG, &r->log_fd, &end);

	if (rc < 0)
		return complain("cannot write '%s/" LOG "': %s", r->state.dir,
				reason(rc));
	return 0;
}

static char **manager_words(const struct run *r, bool forward)
{
	static const struct {
		enum config_key key;
		const char *flag;
	} passed[] = {
		{ CONFIG_MODE, "--mode" },
		{ CONFIG_POLICY, "--policy" },
		{ CONFIG_ANTHROPIC, "--anthropic-upstream" },
		{ CONFIG_OPENAI, "--openai-upstream" },
		{ CONFIG_CHATGPT, "--chatgpt-upstream" },
	};
	char **argv = must(calloc(16, sizeof(*argv)));
	size_t n = 0;

	argv[n++] = must(strdup("statetape"));
	argv[n++] = must(strdup("manager"));
	argv[n++] = sentence("--listen-fd=%d", r->listen_fd);
	for (size_t i = 0; i < sizeof(passed) / sizeof(*passed); i++)
		if (r->config.values[passed[i].key])
			argv[n++] = sentence("%s=%s", passed[i].flag,
					     r->config.values[passed[i].key]);
	if (forward)
		argv[n++] = must(strdup("--forward"));
	argv[n++] = must(strdup("--"));
	argv[n++] = must(strdup(r->state.repo));
	return argv;
}

/*
 * It needs neither mount nor tape to begin, and requests wait for it: so it
 * starts beside them. That also keeps it outside of the mount.
 */
static void start_manager(struct run *r)
{
	r->manager_argv = manager_words(r, false);
	r->manager = (struct child){ .name = "the manager",
				     .argv = r->manager_argv,
				     .keep_fd = r->listen_fd,
				     .log_fd = r->log_fd };
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread. */
	(void)setenv(MANAGER_CWD, r->cwd, 1);
	(void)child_start(&r->manager);
}

static void on_manager_end(struct run *r, char *text)
{
	if (text)
		note(r, text);
	if (r->manager.deaths != FORWARD_AFTER)
		return;
	free_words(r->manager_argv);
	r->manager_argv = manager_words(r, true);
	r->manager.argv = r->manager_argv;
	note(r, sentence("the manager does not stay up: from now on requests "
			 "are passed on as they are ('%s/" LOG "' says why)",
			 r->state.dir));
}

static int take_signals(struct run *r)
{
	static const int wanted[] = { SIGTERM, SIGHUP,	SIGINT,
				      SIGQUIT, SIGUSR1, SIGUSR2 };
	struct sigaction found;
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCHLD);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		(void)sigaction(wanted[i], NULL, &found);
		if (found.sa_handler != SIG_IGN)
			(void)sigaddset(&set, wanted[i]);
	}
	(void)pthread_sigmask(SIG_BLOCK, &set, &r->mask);
	(void)signal(SIGPIPE, SIG_IGN);
	/* If it were ignored, nobody could be waited for. */
	(void)signal(SIGCHLD, SIG_DFL);
	r->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (r->signal_fd < 0)
		return complain("cannot receive signals: %s", reason(errno));
	return 0;
}

/* From the agent's start on. */
static void hold_stop_signals(void)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTSTP);
	(void)sigaddset(&set, SIGTTIN);
	(void)sigaddset(&set, SIGTTOU);
	(void)pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static void on_agent_change(struct run *r, int status)
{
	if (WIFSTOPPED(status)) {
		/* The shell that waits for us must see its job stop. */
		(void)raise(SIGSTOP);
		(void)kill(r->agent, SIGCONT);
		return;
	}
	r->agent = 0;
	r->ended_by = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	r->code = WEXITSTATUS(status);
	terminal_take_back(&r->terminal, r->ended_by);
}

static void reap(struct run *r)
{
	CLEANUP(free_p) char *text = NULL;
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
		if (pid == r->agent)
			on_agent_change(r, status);
		else if (!WIFSTOPPED(status) &&
			 child_ended(&r->manager, pid, status, &text))
			on_manager_end(r, TAKE(text));
	}
}

static void on_signal(struct run *r)
{
	struct signalfd_siginfo si;

	while (read(r->signal_fd, &si, sizeof(si)) == sizeof(si)) {
		int number = (int)si.ssi_signo;

		if (number == SIGCHLD)
			reap(r);
		else if (r->agent <= 0)
			r->ended_by = number;
		else if (si.ssi_code <= 0) /* not the terminal's */
			(void)kill(r->agent, number);
	}
}

static void on_session(struct run *r)
{
	bool gone = false;
	char *text;

	while ((text = session_note(&r->session, &gone)))
		note(r, text);
	if (!gone)
		return;
	/* Its mount cannot come back for the agent; a tape can. */
	session_bury(&r->session, &r->state);
	if (session_join(&r->state, SESSION_NONE, &r->session) == 0)
		note(r, sentence("the session of '%s' was killed and is "
				 "replaced: changes are still noticed, but not "
				 "who makes them",
				 r->state.repo));
	else
		note(r, sentence("the session of '%s' has ended: what is "
				 "written from now on is not observed",
				 r->state.repo));
}

/* One turn of the loop, at most `ms` long (-1: no limit). */
static void turn(struct run *r, int ms)
{
	struct pollfd fds[] = { { .fd = r->signal_fd, .events = POLLIN },
				{ .fd = r->session.fd, .events = POLLIN } };
	int tend = child_tend(&r->manager);

	if (tend >= 0 && (ms < 0 || tend < ms))
		ms = tend;
	if (poll(fds, 2, ms) < 0)
		return;
	if (fds[0].revents)
		on_signal(r);
	if (fds[1].revents)
		on_session(r);
}

static double number_of(const cJSON *answer, const char *name)
{
	const cJSON *n = cJSON_GetObjectItem(answer, name);

	return cJSON_IsNumber(n) ? n->valuedouble : 0;
}

/* Is the graph built? Shows how far it is, if somebody watches. False: the
   tape does not answer. */
static bool ask_ready(const struct run *r, bool show, bool *ret_ready)
{
	cJSON *answer = NULL;
	bool there = wire_ask(r->state.tape_socket, "STATUS", NULL,
			      READY_ASK_MS, &answer) == 0;

	if (there) {
		*ret_ready = cJSON_IsTrue(cJSON_GetObjectItem(answer, "ready"));
		if (show)
			(void)fprintf(stderr,
				      "\rstatetape: reading the repository: "
				      "%.0f files, %.0f symbols ",
				      number_of(answer, "files"),
				      number_of(answer, "symbols"));
	} else if (show) {
		(void)fputs("\rstatetape: reading the repository ", stderr);
	}
	cJSON_Delete(answer);
	return there;
}

/*
 * A big repository takes its time, and says so; a tape that says nothing for a
 * while is in trouble, and the agent can do without.
 */
static void wait_ready(struct run *r)
{
	int64_t began = clock_mono_ns(), heard = began, now = began;
	bool tty = isatty(STDERR_FILENO), shown = false, ready = false;
	int pause = 1;

	while (!r->ended_by && r->session.fd >= 0 && !ready &&
	       now - began < READY_MS * 1000000LL &&
	       now - heard < SILENT_MS * 1000000LL) {
		bool show = tty && now - began > SHOW_AFTER_NS;

		if (ask_ready(r, show, &ready))
			heard = clock_mono_ns();
		shown = shown || show;
		if (!ready)
			turn(r, pause);
		if (pause < READY_TRY_MS)
			pause += (pause + 1) / 2;
		now = clock_mono_ns();
	}
	if (shown)
		(void)fputs("\r\033[K", stderr);
	if (!ready && !r->ended_by)
		note(r, sentence("the tape of '%s' is not ready yet; the agent "
				 "is started all the same",
				 r->state.repo));
}

static _Noreturn void become_agent(struct run *r, char **command, pid_t parent)
{
	char **argv = agent_prepare(command, r->port);
	int error;

	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(FAILED);
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread. */
	(void)unsetenv(MANAGER_CWD); /* the manager's alone */
	(void)signal(SIGPIPE, SIG_DFL);
	(void)pthread_sigmask(SIG_SETMASK, &r->mask, NULL);
	(void)execvp(argv[0], argv);
	error = errno;
	(void)complain("cannot run '%s': %s", argv[0], reason(error));
	_exit(error == ENOENT ? 127 : 126);
}

static void start_agent(struct run *r, char **command)
{
	char *about = agent_note(command[0]);
	pid_t self = getpid();

	if (about)
		note(r, about);
	(void)fflush(NULL);
	terminal_keep(&r->terminal);
	r->agent = fork();
	if (r->agent == 0)
		become_agent(r, command, self);
	if (r->agent < 0) {
		r->agent = 0;
		r->code = FAILED;
		(void)complain("cannot start a process: %s", reason(errno));
		return;
	}
	hold_stop_signals();
	r->quiet = isatty(STDERR_FILENO);
}

/* What became of the mount while the agent ended, it still has to tell. */
static void hear_out(struct run *r)
{
	int64_t until = clock_mono_ns() + BOOKS_MS * 1000000LL;

	session_ask(&r->session);
	while (r->session.asked && clock_mono_ns() < until)
		turn(r, BOOKS_MS);
}

/*
 * What the last writes were is on the tape before it is let go. One that is
 * just being started again is waited for, but not for long: the next run's
 * finds the rest.
 */
static void close_books(struct run *r)
{
	int64_t until = clock_mono_ns() + BOOKS_MS * 1000000LL;
	bool done = false;
	int pause = 1;

	while (!done && r->session.fd >= 0 && clock_mono_ns() < until) {
		cJSON *answer = NULL;

		if (wire_ask(r->state.tape_socket, "SYNC", NULL, SYNC_MS,
			     &answer) == 0)
			done = cJSON_IsTrue(
				cJSON_GetObjectItem(answer, "ready"));
		cJSON_Delete(answer);
		if (!done)
			turn(r, pause);
		pause += (pause + 1) / 2;
	}
}

/* The socket of our manager among those of the repository; NULL: none. */
static char *manager_socket(const struct run *r)
{
	for (unsigned n = 0; n < MANAGERS_MAX; n++) {
		CLEANUP(free_p)
		char *where = manager_path(&r->state, n, ".json");
		CLEANUP(close_p) int fd = open(where, O_RDONLY | O_CLOEXEC);
		char text[256] = "";
		cJSON *about = NULL;
		double pid = 0;

		if (fd >= 0 && read(fd, text, sizeof(text) - 1) > 0)
			about = cJSON_Parse(text);
		pid = number_of(about, "pid");
		cJSON_Delete(about);
		if (r->manager.pid > 0 && (pid_t)pid == r->manager.pid)
			return manager_path(&r->state, n, ".sock");
	}
	return NULL;
}

/* An agent may have ended before the manager was there to be asked. */
static char *await_manager(struct run *r)
{
	int64_t until = clock_mono_ns() + BOOKS_MS * 1000000LL;
	char *socket;
	int pause = 1;

	while (!(socket = manager_socket(r)) && clock_mono_ns() < until) {
		turn(r, pause);
		pause += (pause + 1) / 2;
	}
	return socket;
}

/* Of this run: what others did to the repository before is theirs. */
static void show_report(struct run *r)
{
	CLEANUP(free_p) char *socket = await_manager(r);
	cJSON *question = cJSON_CreateObject(), *answer = NULL;

	(void)cJSON_AddNumberToObject(question, "since_ns", r->began);
	if (!socket ||
	    wire_ask(socket, "REPORT", question, SYNC_MS, &answer) < 0)
		(void)complain("no report: the manager does not answer");
	else if (number_of(answer, "requests") > 0)
		report_print(stderr, answer);
	else
		(void)complain("no request has come through the manager");
	cJSON_Delete(question);
	cJSON_Delete(answer);
}

/* What a run leaves on the terminal: what went wrong, and what it did. */
static void show_end(struct run *r)
{
	r->quiet = false;
	for (size_t i = 0; i < r->notes_count; i++)
		(void)complain("%s", r->notes[i]);
	show_report(r);
}

static int run_in(struct run *r, const struct invocation *in)
{
	int code = settle_repo(r, in->options[OPTION_REPO].text);

	if (code == 0)
		code = settle_config(r, in);
	if (code == 0)
		code = settle_upstreams(r, in->command[0]);
	if (code == 0)
		code = open_port(r);
	if (code == 0)
		code = open_log(r);
	if (code != 0)
		return code == EXIT_USAGE ? code : FAILED;
	start_manager(r);
	if (join(r, in) != 0 || take_signals(r) != 0)
		return FAILED;
	reap(r);       /* who ended before there were signals */
	on_session(r); /* what it said in one breath with its hello */
	wait_ready(r);
	if (!r->ended_by)
		start_agent(r, in->command);
	while (r->agent > 0)
		turn(r, -1);
	hear_out(r);
	close_books(r);
	show_end(r);
	return r->code;
}

/* As it ended, so do we: a shell makes a difference between a program that
   was interrupted and one that says it was. */
static void end_by(int number)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, number);
	(void)setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
	(void)signal(number, SIG_DFL);
	(void)pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	(void)raise(number);
}

int verb_run(const struct invocation *in)
{
	struct run r = { .state = REPO_STATE_EMPTY,
			 .session = SESSION_EMPTY,
			 .listen_fd = -1,
			 .log_fd = -1,
			 .signal_fd = -1,
			 .port = (unsigned)in->options[OPTION_PORT].number,
			 .began = (double)clock_wall_ns() };
	int code;

	if (!in->command || !in->command[0])
		return complain_usage("an agent's command must follow --, as "
				      "in 'statetape run -- claude'");
	if (in->options[OPTION_PORT].number > PORT_MAX)
		return complain_usage("a port is at most %d", PORT_MAX);
	(void)prctl(PR_SET_NAME, ACTOR_ROOT_NAME);
	r.cwd = getcwd(NULL, 0);
	if (!r.cwd) {
		(void)complain("the current directory is not known: %s",
			       reason(errno));
		return FAILED;
	}
	code = run_in(&r, in);
	run_release(&r);
	if (r.ended_by)
		end_by(r.ended_by);
	return r.ended_by ? 128 + r.ended_by : code;
}
