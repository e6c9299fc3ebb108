/*
 * statetape run: an agent with everything around it. The repository's session
 * (session.h) mounts it and keeps the tape; this process adds a manager of its
 * own, points the agent at it, and runs the agent in the foreground.
 *
 *	statetape run ─┬─ statetape manager   127.0.0.1:PORT
 *	               └─ the agent           with the terminal
 *
 * This process opens the manager's listening socket, and the manager inherits
 * it: when the manager dies, connections wait in the socket for the next one
 * instead of being refused. A manager that dies FORWARD_AFTER times in quick
 * succession, for instance because of a request that the agent repeats, is
 * replaced by one that only forwards requests.
 *
 * Signals arrive through a signalfd. The terminal sends its signals to the
 * agent as well; a signal that a process sent to us alone is forwarded to the
 * agent. The terminal's stop signals are blocked: when the agent stops, this
 * process stops itself, so that the shell sees its job stop. The agent goes on
 * whatever else fails: without a tape, requests are forwarded unchanged.
 */
#include <arpa/inet.h>
#include <assert.h>
#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
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
#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/base/clock.h"
#include "graph/base/json.h"
#include "manager/http/secret.h"
#include "tape/wire/wire.h"
#include "tools/cli/handover.h"
#include "tools/cli/repo.h"
#include "tools/cli/say.h"
#include "tools/cli/verbs.h"
#include "tools/run/agent.h"
#include "tools/run/run_i.h"

#define LOG	     "manager.log"
#define READY_MS     120000 /* then the agent starts without the graph */
#define SILENT_MS    5000   /* the same, if the tape does not answer at all */
#define READY_ASK_MS 1000
#define READY_TRY_MS 50 /* at most; shorter at first */
#define SHOW_AFTER_NS \
	(300 * 1000000LL) /* show progress on a terminal after this wait */
#define GO_BACK_MS    5000
#define BACKLOG	      64
#define FORWARD_AFTER 3	  /* deaths of the manager in quick succession */
#define FAILED	      125 /* exit code: the agent was not started */
#define PORT_MAX      65535
#define WORDS_MAX     16 /* of the manager's command line */

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
	/* Stop all parts, and leave the mount ourselves. */
	(void)!chdir("/");
	child_dismiss(&r->manager);
	session_leave(&r->session, &r->state);
	child_stop(&r->manager);
	free_words(r->manager_argv);
	close_p(&r->listen_fd);
	close_p(&r->handover_fd);
	close_p(&r->log_fd);
	close_p(&r->signal_fd);
	config_release(&r->config);
	state_release(&r->state);
	free(r->cwd);
	free(r->aside);
}

/*
 * Print `text` now, or when the agent has released the terminal. Takes
 * ownership of it.
 */
static void note(struct run *r, char *text)
{
	CLEANUP(free_p) char *owned = text;

	assert(text && r->notes_count <= NOTES_MAX);
	if (!r->quiet)
		(void)say_error("%s", text);
	else if (r->notes_count < NOTES_MAX)
		r->notes[r->notes_count++] = TAKE(owned);
}

/* The nearest parent directory with a .git, else the current one (free it). */
static char *find_repo(const char *cwd)
{
	char *dir = must_have(strdup(cwd));

	for (;;) {
		CLEANUP(free_p) char *git = format_text("%s/.git", dir);
		char *slash = strrchr(dir, '/');

		if (access(git, F_OK) == 0)
			return dir;
		if (!slash || slash == dir)
			break;
		*slash = '\0';
	}
	free(dir);
	return must_have(strdup(cwd));
}

static int settle_repo(struct run *r, const char *given)
{
	CLEANUP(free_p) char *found = given ? NULL : find_repo(r->cwd);
	CLEANUP(free_p) char *why = NULL;
	const char *repo = given ? given : found;
	struct stat st;
	int rc;

	if (stat(repo, &st) < 0)
		return say_error("cannot run in '%s': %s", repo,
				 errno_text(errno));
	if (!S_ISDIR(st.st_mode))
		return say_error("cannot run in '%s': it is not a directory",
				 repo);
	if (!site_has_files(repo))
		return say_error("cannot run in '%s': it is on a file system "
				 "of the kernel's own",
				 repo);
	r->owner = st.st_uid;
	rc = state_init(repo, 1, &r->state, &why);
	if (rc < 0)
		return say_error("%s", why ? why : errno_text(rc));
	if (!site_inside(r->cwd, r->state.repo)) {
		free(r->cwd);
		r->cwd = must_have(strdup(r->state.repo));
	}
	return 0;
}

/* What the repository's file may not do, and what it does. */
static void tell_config(const struct run *r)
{
	CLEANUP(free_p)
	char *weakened = config_weakened(&r->config, r->state.repo);

	for (int i = 0; i < CONFIGS; i++)
		if (r->config.refused[i])
			(void)say_error("%s", r->config.refused[i]);
	if (weakened)
		(void)say_error("%s", weakened);
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
		{ OPTION_KEEP, CONFIG_KEEP },
	};
	CLEANUP(free_p) char *why = NULL;

	if (config_load(&r->config, r->state.repo, &why) < 0)
		return say_error("%s", why);
	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		const struct option_value *o = &in->options[flags[i].option];

		if (!o->given)
			continue;
		if (!config_allows(flags[i].key, o->text)) {
			why = config_complaint(flags[i].key, o->text);
			return say_usage_error(
				"--%s: %s", config_rows[flags[i].key].key, why);
		}
		config_set(&r->config, flags[i].key, o->text);
	}
	tell_config(r);
	/* The tape reads the rest of what concerns it from the user's file. */
	if (!in->options[OPTION_KEEP].given)
		return 0;
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread. */
	(void)setenv(config_rows[CONFIG_KEEP].variable,
		     r->config.values[CONFIG_KEEP], 1);
	return 0;
}

/*
 * Unless the user named an upstream, forward to the address this agent uses
 * without us.
 */
static int settle_upstreams(struct run *r, char *const *command)
{
	static const enum config_key keys[AGENT_APIS] = {
		[AGENT_ANTHROPIC] = CONFIG_ANTHROPIC,
		[AGENT_OPENAI] = CONFIG_OPENAI,
	};

	for (int api = 0; api < AGENT_APIS; api++) {
		char **said = &r->config.values[keys[api]];
		CLEANUP(free_p) char *why = NULL;

		if (!*said)
			*said = agent_upstream(command, (enum agent_api)api);
		if (config_allows(keys[api], *said))
			continue;
		why = config_complaint(keys[api], *said);
		return say_error("the address that '%s' sends requests to "
				 "cannot be used: %s",
				 command[0], why);
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

/*
 * Errors that a mount returns while its process is being killed; EIO if that
 * process was just handling the request.
 */
static bool is_dying(int rc)
{
	return mount_error_is_death(-rc) || rc == -EIO;
}

/*
 * Change to the agent's directory. If the mount's process is dying, try again:
 * the guard removes such a mount in a moment.
 */
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
 * Join another session, without a mount. If other runs share the old session,
 * we get that one again; its tape sees changes that bypass its mount too.
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
 * Enter the session's namespace, in the current directory. Where that is not
 * permitted (a container may lack CAP_SYS_CHROOT) the agent works in the plain
 * directory, unless the user asked for the mount.
 */
static int enter(struct run *r, bool needed)
{
	int rc = session_enter(&r->session);

	if (rc < 0) {
		(void)say_error("the mount of '%s' cannot be entered: %s",
				r->state.repo, errno_text(rc));
		if (needed || do_without_mount(r) != 0)
			return FAILED;
	}
	rc = go_back(r);
	if (rc < 0)
		return say_error("cannot change to the directory '%s': %s",
				 r->cwd, errno_text(rc));
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
		note(r, format_text("'%s' is not mounted: changes are found "
				    "later, without their authors",
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
	/*
	 * TCP connections of the previous run on this port linger for a while.
	 */
	if (r->listen_fd < 0 ||
	    setsockopt(r->listen_fd, SOL_SOCKET, SO_REUSEADDR, &on,
		       sizeof(on)) < 0 ||
	    bind(r->listen_fd, (struct sockaddr *)&a, sizeof(a)) < 0 ||
	    listen(r->listen_fd, BACKLOG) < 0 ||
	    getsockname(r->listen_fd, (struct sockaddr *)&a, &len) < 0)
		return say_error("cannot listen on 127.0.0.1:%u: %s", r->port,
				 errno_text(errno));
	r->port = ntohs(a.sin_port);
	return 0;
}

static int open_log(struct run *r)
{
	off_t end;
	int rc = state_open_log(&r->state, LOG, &r->log_fd, &end);

	if (rc < 0)
		return say_error("cannot write '%s/" LOG "': %s", r->state.dir,
				 errno_text(rc));
	return 0;
}

/*
 * The secret of the manager's address: a new one, unless the user has fixed it
 * for an agent whose own file names the address.
 */
static int settle_secret(struct run *r)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread. */
	const char *fixed = getenv(MANAGER_SECRET);
	char **values = r->config.values;
	struct handover h = { .anthropic = values[CONFIG_ANTHROPIC],
			      .openai = values[CONFIG_OPENAI],
			      .chatgpt = values[CONFIG_CHATGPT] };
	int rc;

	if (fixed && !secret_allows(fixed))
		return say_error(MANAGER_SECRET " must be %d to %d letters and "
						"digits",
				 SECRET_MIN, SECRET_MAX);
	rc = fixed ? 0 : secret_draw(r->secret);
	if (rc < 0)
		return say_error("cannot draw a secret: %s", errno_text(rc));
	if (fixed)
		memcpy(r->secret, fixed, strlen(fixed));
	h.secret = r->secret;
	rc = handover_write(&h, &r->handover_fd);
	if (rc < 0)
		return say_error("cannot hand over the secret: %s",
				 errno_text(rc));
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
	};
	char **argv = must_have(calloc(WORDS_MAX, sizeof(*argv)));
	size_t n = 0;

	argv[n++] = must_have(strdup("statetape"));
	argv[n++] = must_have(strdup("manager"));
	argv[n++] = format_text("--listen-fd=%d", r->listen_fd);
	argv[n++] = format_text("--handover-fd=%d", r->handover_fd);
	for (size_t i = 0; i < sizeof(passed) / sizeof(*passed); i++)
		if (r->config.values[passed[i].key])
			argv[n++] =
				format_text("%s=%s", passed[i].flag,
					    r->config.values[passed[i].key]);
	if (r->config.values[CONFIG_PROMPTS] &&
	    strcmp(r->config.values[CONFIG_PROMPTS], "false") == 0)
		argv[n++] = must_have(strdup("--no-prompts"));
	if (forward)
		argv[n++] = must_have(strdup("--forward"));
	argv[n++] = must_have(strdup("--"));
	argv[n++] = must_have(strdup(r->state.repo));
	assert(n < WORDS_MAX); /* a NULL ends it */
	return argv;
}

/*
 * The manager needs neither mount nor tape to start, and requests wait in its
 * socket: so start it in parallel. That also keeps it outside of the mount.
 */
static void start_manager(struct run *r)
{
	assert(r->listen_fd >= 0 && r->log_fd >= 0 && r->port > 0);
	r->manager_argv = manager_words(r, false);
	r->manager =
		(struct child){ .name = "the manager",
				.argv = r->manager_argv,
				.keep_fds = { r->listen_fd, r->handover_fd },
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
	note(r, format_text("the manager keeps dying: from now on requests are "
			    "forwarded unchanged ('%s/" LOG "' says why)",
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
	/* If SIGCHLD were ignored, waitpid() would find no child. */
	(void)signal(SIGCHLD, SIG_DFL);
	r->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (r->signal_fd < 0)
		return say_error("cannot receive signals: %s",
				 errno_text(errno));
	return 0;
}

/*
 * Block the terminal's stop signals from the agent's start on: we stop when the
 * agent does (on_agent_change).
 */
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
	assert(r->agent > 0);
	if (WIFSTOPPED(status)) {
		/*
		 * Stop ourselves too, so that the waiting shell sees its job
		 * stop.
		 */
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
		else if (si.ssi_code <=
			 0) /* sent by a process, not by the terminal */
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
	/*
	 * A lost mount cannot be restored for a running agent; a lost tape can.
	 */
	session_bury(&r->session, &r->state);
	if (session_join(&r->state, SESSION_NONE, &r->session) == 0)
		note(r, format_text("the session of '%s' was killed and is "
				    "replaced: changes are still found, but "
				    "not their authors",
				    r->state.repo));
	else
		note(r, format_text("the session of '%s' has ended: from now "
				    "on writes are not recorded",
				    r->state.repo));
}

/* One iteration of the loop, at most `ms` long (-1: no limit). */
void run_turn(struct run *r, int ms)
{
	struct pollfd fds[] = { { .fd = r->signal_fd, .events = POLLIN },
				{ .fd = r->session.fd, .events = POLLIN } };
	int tend = child_tend(&r->manager);

	assert(r->signal_fd >= 0);
	if (tend >= 0 && (ms < 0 || tend < ms))
		ms = tend;
	if (poll(fds, 2, ms) < 0)
		return;
	if (fds[0].revents)
		on_signal(r);
	if (fds[1].revents)
		on_session(r);
}

void run_note_aside(struct run *r, const cJSON *status)
{
	const char *aside = json_string(status, "aside");

	if (!aside || (r->aside && strcmp(aside, r->aside) == 0))
		return;
	free(r->aside);
	r->aside = must_have(strdup(aside));
	note(r, format_text("%s", aside));
}

/*
 * Is the graph built? Shows progress on a terminal. False: the tape does not
 * answer.
 */
static bool ask_ready(struct run *r, bool show, bool *ret_ready)
{
	cJSON *answer = NULL;
	bool there = wire_ask(r->state.tape_socket, "STATUS", NULL,
			      READY_ASK_MS, &answer) == 0;

	if (there) {
		*ret_ready = cJSON_IsTrue(cJSON_GetObjectItem(answer, "ready"));
		if (show)
			(void)fprintf(stderr,
				      "\rstatetape: reading the repository: "
				      "%" PRIu64 " files, %" PRIu64 " symbols ",
				      json_number(answer, "files", 0),
				      json_number(answer, "symbols", 0));
	} else if (show) {
		(void)fputs("\rstatetape: reading the repository ", stderr);
	}
	run_note_aside(r, answer);
	cJSON_Delete(answer);
	return there;
}

/*
 * A large repository takes its time and reports progress; a tape that reports
 * nothing for SILENT_MS has failed, and the agent starts without it.
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
			run_turn(r, pause);
		if (pause < READY_TRY_MS)
			pause += (pause + 1) / 2;
		now = clock_mono_ns();
	}
	if (shown)
		(void)fputs("\r\033[K", stderr);
	if (!ready && !r->ended_by)
		note(r, format_text("the tape of '%s' is not ready yet; the "
				    "agent starts without it",
				    r->state.repo));
}

static _Noreturn void become_agent(struct run *r, char **command, pid_t parent)
{
	CLEANUP(free_p)
	char *address =
		format_text("http://127.0.0.1:%u/%s", r->port, r->secret);
	char **argv = agent_prepare(command, address);
	int error;

	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(FAILED);
	agent_keep_git(r->state.repo, r->owner);
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread. */
	(void)unsetenv(MANAGER_CWD); /* for the manager alone */
	for (int key = CONFIG_ANTHROPIC; key <= CONFIG_CHATGPT; key++)
		/* NOLINTNEXTLINE(concurrency-mt-unsafe): as above. */
		(void)unsetenv(config_rows[key].variable);
	(void)signal(SIGPIPE, SIG_DFL);
	(void)pthread_sigmask(SIG_SETMASK, &r->mask, NULL);
	(void)execvp(argv[0], argv);
	error = errno;
	(void)say_error("cannot run '%s': %s", argv[0], errno_text(error));
	_exit(error == ENOENT ? 127 : 126);
}

/* Once for each repository: a file in its state says that it was said. */
static void note_login(struct run *r, const char *program)
{
	CLEANUP(free_p) char *about = agent_login_note(program);
	CLEANUP(free_p) char *said = format_text("%s/said.login", r->state.dir);
	CLEANUP(close_p)
	int fd = about ? open(said, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
			      0600)
		       : -1;

	if (fd >= 0)
		note(r, TAKE(about));
}

static void start_agent(struct run *r, char **command)
{
	char *about = agent_note(command);
	pid_t self = getpid();

	assert(r->agent == 0 && !r->ended_by);
	if (about)
		note(r, about);
	note_login(r, command[0]);
	(void)fflush(NULL);
	terminal_keep(&r->terminal);
	/*
	 * What the agent starts and leaves behind (a daemon forks twice) stays
	 * below the run, so that its writes are still the session's.
	 */
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	r->called = command[0];
	r->began_ns = clock_wall_ns();
	r->agent = fork();
	if (r->agent == 0)
		become_agent(r, command, self);
	if (r->agent < 0) {
		r->agent = 0;
		r->code = FAILED;
		(void)say_error("cannot start a process: %s",
				errno_text(errno));
		return;
	}
	r->was_agent = r->agent;
	hold_stop_signals();
	r->quiet = isatty(STDERR_FILENO);
}

static int run_in(struct run *r, const struct invocation *in)
{
	int code = settle_repo(r, in->options[OPTION_REPO].text);

	if (code == 0)
		code = settle_config(r, in);
	if (code == 0)
		code = settle_upstreams(r, in->command);
	if (code == 0)
		code = settle_secret(r);
	if (code == 0)
		code = open_port(r);
	if (code == 0)
		code = open_log(r);
	if (code != 0)
		return code == EXIT_USAGE ? code : FAILED;
	start_manager(r);
	if (join(r, in) != 0 || take_signals(r) != 0)
		return FAILED;
	reap(r);       /* children that ended before signals were read */
	on_session(r); /* messages that arrived together with the greeting */
	wait_ready(r);
	if (!r->ended_by)
		start_agent(r, in->command);
	while (r->agent > 0)
		run_turn(r, -1);
	run_hear_out(r);
	run_close_books(r);
	run_show_end(r);
	return r->code;
}

/*
 * End by the same signal as the agent: a shell distinguishes a program that was
 * interrupted from one that exits with 130.
 */
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
			 .handover_fd = -1,
			 .log_fd = -1,
			 .signal_fd = -1,
			 .port = (unsigned)in->options[OPTION_PORT].number };
	int code;

	if (!in->command || !in->command[0])
		return say_usage_error("an agent's command must follow --, as "
				       "in 'statetape run -- claude'");
	if (in->options[OPTION_PORT].number > PORT_MAX)
		return say_usage_error("a port is at most %d", PORT_MAX);
	(void)prctl(PR_SET_NAME, ACTOR_ROOT_NAME);
	r.cwd = getcwd(NULL, 0);
	if (!r.cwd) {
		(void)say_error("cannot find the current directory: %s",
				errno_text(errno));
		return FAILED;
	}
	code = run_in(&r, in);
	run_release(&r);
	if (r.ended_by)
		end_by(r.ended_by);
	return r.ended_by ? 128 + r.ended_by : code;
}
