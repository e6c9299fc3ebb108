/*
 * The session process (session.h). `statetape session` chooses how to mount and
 * has the guard run `statetape session --inside` in the mount's namespace,
 * which starts the tape, keeps it alive, and serves runs until the last one
 * leaves.
 */
#include <assert.h>
#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fs/mount/guard.h"
#include "fs/mount/mount.h"
#include "fs/mount/trial.h"
#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "tape/wire/wire.h"
#include "tools/cli/repo.h"
#include "tools/cli/say.h"
#include "tools/cli/verbs.h"
#include "tools/run/child.h"
#include "tools/run/session.h"
#include "tools/run/session_i.h"

#define RUNS_MAX     MANAGERS_MAX /* each run has one */
#define TAPE_ASK_MS  1000
#define TAPE_LOOK_MS 1000

/* Descriptors in the poll set before those of the runs. */
enum { ON_SIGNAL, ON_RUN, ON_MOUNT, ON_RUNS };

struct serving {
	const char *repo;
	struct state state;
	enum session_mount mount;
	bool mounted; /* according to the last check */
	pid_t guard;  /* our parent, which mounted and will unmount; 0: none */
	int life_fd, listen_fd, signal_fd, mounts_fd;
	int runs[RUNS_MAX];
	size_t runs_count; /* when the last one leaves, the session ends */
	bool lent;	   /* another process runs the tape */
	struct child tape;
	char *const *without; /* the tape's command line without a journal */
	bool ending;
};

static void tell(int fd, cJSON *what)
{
	CLEANUP(free_p) char *text = cJSON_PrintUnformatted(what);
	CLEANUP(free_p) char *line = format_text("%s\n", text ? text : "{}");

	/* A run that does not read misses the message; the log has it. */
	(void)!send(fd, line, strlen(line), MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Send `text` to the log and to all runs. Takes ownership of it. */
static void note(struct serving *s, char *text)
{
	cJSON *said = cJSON_CreateObject();

	(void)say_error("%s", text);
	(void)cJSON_AddStringToObject(said, "note", text);
	for (size_t i = 0; i < s->runs_count; i++)
		tell(s->runs[i], said);
	cJSON_Delete(said);
	free(text);
}

static void greet(const struct serving *s, int fd)
{
	cJSON *hello = cJSON_CreateObject();

	(void)cJSON_AddNumberToObject(hello, "pid", getpid());
	if (s->guard)
		(void)cJSON_AddNumberToObject(hello, "guard", s->guard);
	(void)cJSON_AddStringToObject(hello, "mount",
				      session_mount_names[s->mount]);
	tell(fd, hello);
	cJSON_Delete(hello);
}

static void take_run(struct serving *s, int fd)
{
	assert(s->runs_count <= RUNS_MAX);
	if (s->runs_count == RUNS_MAX) {
		(void)close(fd);
		return;
	}
	s->runs[s->runs_count++] = fd;
	greet(s, fd);
}

static void on_run(struct serving *s)
{
	int fd = accept4(s->listen_fd, NULL, NULL, SOCK_CLOEXEC);

	if (fd >= 0)
		take_run(s, fd);
}

/* Send the number of runs that remain; the last run waits for our end. */
static void part(int fd, size_t left)
{
	cJSON *last = cJSON_CreateObject();

	(void)cJSON_AddNumberToObject(last, "left", (double)left);
	tell(fd, last);
	cJSON_Delete(last);
	(void)close(fd);
}

static void tell_all_told(int fd)
{
	cJSON *told = cJSON_CreateObject();

	(void)cJSON_AddTrueToObject(told, "told");
	tell(fd, told);
	cJSON_Delete(told);
}

static bool tape_answers(const struct serving *s)
{
	cJSON *answer = NULL;
	int r = wire_ask(s->state.tape_socket, "STATUS", NULL, TAPE_ASK_MS,
			 &answer);

	cJSON_Delete(answer);
	return r == 0 || r == -ETIMEDOUT;
}

static void start_tape(struct serving *s)
{
	s->lent = tape_answers(s);
	if (!s->lent && child_start(&s->tape) < 0)
		note(s, format_text("the tape could not be started"));
}

static void reap(struct serving *s)
{
	CLEANUP(free_p) char *text = NULL;
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		if (child_ended(&s->tape, pid, status, &text) && text)
			note(s, TAKE(text));
}

static void on_signal(struct serving *s)
{
	struct signalfd_siginfo si;

	while (read(s->signal_fd, &si, sizeof(si)) == sizeof(si)) {
		if (si.ssi_signo == SIGCHLD)
			reap(s);
		else
			s->ending = true;
	}
}

/*
 * The journal has no writer any more. Let the tape read the rest of it, and
 * restart it without a journal.
 */
static void go_without_journal(struct serving *s)
{
	cJSON *answer = NULL;

	if (s->lent)
		return;
	(void)wire_ask(s->state.tape_socket, "SYNC", NULL, TAPE_ASK_MS,
		       &answer);
	cJSON_Delete(answer);
	child_stop(&s->tape);
	s->tape.argv = s->without;
	if (child_start(&s->tape) < 0)
		note(s, format_text("the tape could not be started"));
}

static void on_mount_change(struct serving *s)
{
	CLEANUP(mount_entry_release) struct mount_entry e = { 0 };

	if (!s->mounted || mount_find(NULL, s->state.id, &e) == 0)
		return;
	s->mounted = false;
	note(s, format_text("'%s' is not mounted any more: changes are still "
			    "found, but not their authors",
			    s->state.repo));
	go_without_journal(s);
}

/* A run either asks for a check before it ends, or closes its connection. */
static void on_run_word(struct serving *s, size_t i)
{
	char byte;
	ssize_t n;

	assert(i < s->runs_count);
	n = recv(s->runs[i], &byte, 1, MSG_DONTWAIT);
	if (n > 0) {
		on_mount_change(s);
		tell_all_told(s->runs[i]);
		return;
	}
	if (n < 0 && errno == EAGAIN)
		return;
	s->runs_count--;
	part(s->runs[i], s->runs_count);
	s->runs[i] = s->runs[s->runs_count];
}

/* The poll timeout in milliseconds; -1: none. */
static int patience(struct serving *s)
{
	int tend = child_tend(&s->tape);

	if (s->lent && (tend < 0 || tend > TAPE_LOOK_MS))
		tend = TAPE_LOOK_MS;
	return tend;
}

/* Handle the events in `fds`, which has the first `runs` runs. */
static void look(struct serving *s, const struct pollfd *fds, size_t runs)
{
	assert(runs <= s->runs_count);
	if (fds[ON_SIGNAL].revents)
		on_signal(s);
	if (fds[ON_MOUNT].revents)
		on_mount_change(s);
	for (size_t i = runs; i-- > 0;)
		if (fds[ON_RUNS + i].revents)
			on_run_word(s, i);
	if (fds[ON_RUN].revents)
		on_run(s);
	if (s->lent && !tape_answers(s))
		start_tape(s);
}

static void stand_by(struct serving *s)
{
	struct pollfd fds[ON_RUNS + RUNS_MAX] = {
		[ON_SIGNAL] = { .fd = s->signal_fd, .events = POLLIN },
		[ON_RUN] = { .fd = s->listen_fd, .events = POLLIN },
		[ON_MOUNT] = { .fd = s->mounts_fd, .events = POLLPRI },
	};

	while (!s->ending && s->runs_count > 0) {
		size_t runs = s->runs_count;
		int ms = patience(s);

		for (size_t i = 0; i < runs; i++)
			fds[ON_RUNS + i] = (struct pollfd){ .fd = s->runs[i],
							    .events = POLLIN };
		if (poll(fds, ON_RUNS + runs, ms) >= 0)
			look(s, fds, runs);
	}
}

/* We hold the lock, so an existing socket belongs to a dead session. */
static int take_place(struct serving *s)
{
	struct sockaddr_un address;
	int r = session_address(&s->state, &address);

	if (r < 0)
		return r;
	(void)unlink(address.sun_path);
	s->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (s->listen_fd < 0)
		return -errno;
	(void)umask(0177);
	r = bind(s->listen_fd, (struct sockaddr *)&address, sizeof(address));
	(void)umask(077);
	if (r < 0 || listen(s->listen_fd, RUNS_MAX) < 0)
		return -errno;
	return 0;
}

static int take_signals(struct serving *s)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCHLD);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGHUP);
	(void)pthread_sigmask(SIG_BLOCK, &set, NULL);
	s->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return s->signal_fd < 0 ? -errno : 0;
}

/* A killed guard cannot unmount: unmount in its place. */
static void stand_in_for_guard(const struct serving *s)
{
	CLEANUP(mount_entry_release) struct mount_entry e = { 0 };

	if (s->guard && getppid() != s->guard &&
	    mount_find(NULL, s->state.id, &e) == 0)
		(void)mount_detach(e.mountpoint, true, NULL);
}

static void leave_place(struct serving *s)
{
	struct sockaddr_un address;

	if (s->listen_fd >= 0 && session_address(&s->state, &address) == 0)
		(void)unlink(address.sun_path);
	child_stop(&s->tape);
	if (s->state.id) {
		stand_in_for_guard(s);
		session_sweep(&s->state);
	}
	for (size_t i = 0; i < s->runs_count; i++)
		close_p(&s->runs[i]);
	close_p(&s->listen_fd);
	close_p(&s->signal_fd);
	close_p(&s->mounts_fd);
	close_p(&s->life_fd);
	state_release(&s->state);
}

/* An inherited descriptor, which our own children shall not inherit. */
static int handed(uint64_t number)
{
	int fd = (int)number;

	return fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 ? -1 : fd;
}

/*
 * The directory below the mount, for the tape. An unprivileged process could
 * not open it through /proc of a privileged one.
 */
static int lent_root(void)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread. */
	const char *number = getenv(GUARD_ROOT);

	return number ? handed(strtoul(number, NULL, 10)) : -1;
}

/* Open the socket, start the tape, then answer the runs that wait for both. */
static int begin(struct serving *s, int run_fd)
{
	CLEANUP(free_p) char *why = NULL;
	int r = state_init(s->repo, 1, &s->state, &why);

	if (r < 0)
		return say_error("%s", why ? why : errno_text(r));
	r = take_signals(s);
	if (r == 0)
		r = take_place(s);
	if (r < 0)
		return say_error(
			"cannot open the socket of the session of '%s': %s",
			s->repo, errno_text(r));
	if (s->mounted)
		s->mounts_fd =
			open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	start_tape(s);
	take_run(s, run_fd);
	return EXIT_SUCCESS;
}

static int serve(const struct invocation *in, enum session_mount mount,
		 bool guarded)
{
	char name[] = "statetape", verb[] = "tape", none[] = "--no-mount";
	int lent = guarded ? lent_root() : -1;
	CLEANUP(free_p) char *path = must_have(strdup(in->arguments[0]));
	CLEANUP(free_p) char *root = format_text("--root-fd=%d", lent);
	char *argv[] = { name, verb, path, lent >= 0 ? root : NULL, NULL };
	char *without[] = { name, verb, none, path, argv[3], NULL };
	CLEANUP(leave_place)
	struct serving s = {
		.state = REPO_STATE_EMPTY,
		.repo = path,
		.mount = mount,
		.mounted = mount != SESSION_NONE,
		.guard = guarded ? getppid() : 0,
		.life_fd = handed(in->options[OPTION_LOCK_FD].number),
		.listen_fd = -1,
		.signal_fd = -1,
		.mounts_fd = -1,
		.tape = { .name = "the tape",
			  .argv = mount == SESSION_NONE ? without : argv,
			  .keep_fds = { lent, -1 },
			  .log_fd = STDERR_FILENO },
		.without = without
	};
	int code;

	(void)prctl(PR_SET_NAME, "statetape");
	code = begin(&s, handed(in->options[OPTION_RUN_FD].number));
	if (code == EXIT_SUCCESS)
		stand_by(&s);
	return code;
}

static int guarded(const struct invocation *in, enum session_mount mount)
{
	char self[] = "/proc/self/exe", verb[] = "session";
	char inside[] = "--inside", how[] = "--mount", end[] = "--";
	CLEANUP(free_p)
	char *name = must_have(strdup(session_mount_names[mount]));
	CLEANUP(free_p) char *path = must_have(strdup(in->arguments[0]));
	CLEANUP(free_p)
	char *run = format_text("--run-fd=%s", in->options[OPTION_RUN_FD].text);
	CLEANUP(free_p)
	char *lock =
		format_text("--lock-fd=%s", in->options[OPTION_LOCK_FD].text);
	char *argv[] = { self, verb, inside, run,  lock,
			 how,  name, end,    path, NULL };
	const struct guard_options options = {
		.repo = path,
		.command = argv,
		.private = mount == SESSION_PRIVATE,
		.journal = true,
		.watch = true,
		.rings = true,
		.awake = true,
		.lend_root = true,
	};

	return guard_mount(&options);
}

/* The user mounted it in place by hand before: use that mount. */
static bool is_mounted_already(const char *repo)
{
	CLEANUP(state_release) struct state state = REPO_STATE_EMPTY;
	CLEANUP(mount_entry_release) struct mount_entry e = { 0 };

	return state_init(repo, 0, &state, NULL) == 0 &&
	       mount_find(NULL, state.id, &e) == 0 && !e.covered &&
	       strcmp(e.mountpoint, state.repo) == 0;
}

/*
 * In a chroot the root may not be a mount point; then no mount can be private.
 */
static bool root_is_mount(void)
{
	struct statx st;

	return statx(AT_FDCWD, "/", 0, STATX_TYPE, &st) < 0 ||
	       !(st.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) ||
	       st.stx_attributes & STATX_ATTR_MOUNT_ROOT;
}

/* A message for the run that starts us, ahead of our greeting. */
static void tell_starter(const struct invocation *in, const char *text)
{
	cJSON *said = cJSON_CreateObject();

	(void)cJSON_AddStringToObject(said, "note", text);
	tell((int)in->options[OPTION_RUN_FD].number, said);
	cJSON_Delete(said);
}

static bool is_ours(const char *repo)
{
	struct stat st;

	return stat(repo, &st) == 0 && st.st_uid == geteuid();
}

/*
 * The next way after a private mount. If root cannot mount privately, a visible
 * mount fails too. A visible mount of an ordinary user shuts out all others,
 * among them the owner of the repository.
 */
static enum session_mount other_way(const char *repo)
{
	if (geteuid() == 0)
		return private_is_direct() ? SESSION_VISIBLE : SESSION_NONE;
	return is_ours(repo) ? SESSION_VISIBLE : SESSION_NONE;
}

/*
 * How to mount: private, if that leaves the agent all that it may do in the
 * plain directory.
 */
static enum session_mount find_way(const struct invocation *in,
				   enum session_mount wanted)
{
	const char *repo = in->arguments[0];
	CLEANUP(trial_release) struct trial trial = { 0 };
	CLEANUP(free_p) char *text = NULL;

	if (wanted == SESSION_VISIBLE)
		return wanted;
	if (wanted == SESSION_AUTO && geteuid() == 0 && !root_is_mount())
		return SESSION_VISIBLE;
	if (private_is_direct())
		return SESSION_PRIVATE;
	trial_run(repo, &trial);
	text = trial_text(&trial);
	if (text &&
	    (wanted == SESSION_AUTO || trial.verdict != TRIAL_IMPOSSIBLE))
		tell_starter(in, text);
	if (wanted == SESSION_PRIVATE || trial.verdict == TRIAL_FITS)
		return SESSION_PRIVATE;
	return other_way(repo);
}

/*
 * A failed attempt may have left this process in a namespace of its own, where
 * another kind of mount would be visible to no other process. Going without a
 * mount works there too.
 */
static int choose(const struct invocation *in, enum session_mount mount)
{
	enum session_mount way;
	int code;

	if (mount == SESSION_NONE)
		return serve(in, SESSION_NONE, false);
	if (is_mounted_already(in->arguments[0]))
		return serve(in, SESSION_VISIBLE, false);
	way = find_way(in, mount);
	if (way == SESSION_NONE)
		return serve(in, SESSION_NONE, false);
	code = guarded(in, way);
	if (code != GUARD_FAILED || mount != SESSION_AUTO)
		return code;
	return serve(in, SESSION_NONE, false);
}

int verb_session(const struct invocation *in)
{
	const struct option_value *how = &in->options[OPTION_MOUNT];
	enum session_mount mount =
		how->given ? session_mount_find(how->text) : SESSION_AUTO;

	if (mount == SESSION_MOUNTS || !in->options[OPTION_RUN_FD].given ||
	    !in->options[OPTION_LOCK_FD].given)
		return say_usage_error("a session is started by 'statetape "
				       "run'");
	if (in->options[OPTION_INSIDE].given)
		return serve(in, mount, true);
	return choose(in, mount);
}
