/*
 * One loop over two descriptors: the pipe on which the file system process
 * reports that it serves, and a signalfd. There are no signal handlers.
 *
 * The guard closes its copy of /dev/fuse as soon as the other process has its
 * own. The kernel ends a FUSE connection when the last descriptor is closed;
 * with a copy kept here, every caller would hang after a crash.
 *
 * How it ends:
 *
 *	unmounted from outside	the fs process sees it and exits with 0
 *	fs process dies		we unmount lazily, and say so
 *	TERM or the like to us	we unmount, lazily if it is in use, and wait
 *				for the fs process, which ends with the last
 *				open file; a second signal ends the waiting
 *	the command ends	the same, but we do not wait for files that it
 *				left open in the background
 */
#include "fs/mount/guard.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>

#include "fs/base/why.h"
#include "fs/mount/holders.h"
#include "fs/mount/mount.h"
#include "fs/mount/private.h"
#include "fs/mount/site.h"
#include "fs/serve.h"
#include "graph/base/cleanup.h"
#include "graph/base/message.h"

#define LAST_END "last-end"
#define LOG	 "log"

struct guard {
	const struct guard_options *o;
	char **command; /* NULL: none */
	struct site site;
	enum private_way way; /* meaningful if o->private */
	pid_t session_root;
	char *cwd;  /* where we were started, NULL: unknown */
	int report; /* pipe on which the caller waits for our exit code, or -1
		     */
	int log;    /* the fs process's stderr; -1: ours */
	off_t log_start;

	sigset_t mask; /* this and the next: as inherited */
	struct sigaction on_child, on_pipe;
	int signals; /* signalfd */

	int ready;	   /* pipe from the fs process until it serves */
	pid_t fs_pid;	   /* 0: ended */
	pid_t command_pid; /* 0: not started, or ended */
	bool served;
	bool ending; /* we have unmounted it */
	bool leave;  /* do not wait for the fs process */
	int code;
};

static bool in_background(const struct guard *g)
{
	return !g->o->foreground && !g->command;
}

/* The exit code of a mount that failed. */
static int failure(const struct guard *g)
{
	return g->command ? GUARD_FAILED : EXIT_FAILURE;
}

/* Escapes control bytes, which must not reach a terminal or end a line. */
static void print_safe(FILE *out, const char *text)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c < 0x20 || c == 0x7f)
			(void)fprintf(out, "\\x%02x", c);
		else
			(void)fputc(c, out);
	}
}

/* Takes over `text`; NULL: memory was short. */
static void say(char *text)
{
	CLEANUP(free_p) char *owned = text;

	message("%s", owned ? owned : "out of memory");
}

/* Atomically writes how the mount ended, for `statetape status`. */
static void write_last_end(const struct guard *g, const char *text)
{
	static const char scratch[] = LAST_END ".new";
	int dir_fd = g->site.state.dir_fd;
	FILE *out = NULL;
	int fd = openat(dir_fd, scratch,
			O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd >= 0)
		out = fdopen(fd, "w");
	if (!out) {
		close_p(&fd);
		return;
	}
	print_safe(out, text);
	(void)fputc('\n', out);
	if (fclose(out) == 0)
		(void)renameat(dir_fd, scratch, dir_fd, LAST_END);
}

struct guard_time {
	char text[sizeof("2026-01-01T00:00:00Z")];
};

static struct guard_time now(void)
{
	time_t t = time(NULL);
	struct guard_time w = { "" };
	struct tm tm;

	if (gmtime_r(&t, &tm))
		(void)strftime(w.text, sizeof(w.text), "%Y-%m-%dT%H:%M:%SZ",
			       &tm);
	return w;
}

/*
 * Receive signals through a descriptor. Signals that are ignored when we start
 * (nohup, or a shell's `&`) stay ignored: a signalfd would receive them.
 */
static int take_signals(struct guard *g)
{
	static const int wanted[] = { SIGTERM, SIGHUP, SIGINT, SIGQUIT };
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	const struct sigaction standard = { .sa_handler = SIG_DFL };
	struct sigaction found;
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCHLD);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		(void)sigaction(wanted[i], NULL, &found);
		if (found.sa_handler != SIG_IGN)
			(void)sigaddset(&set, wanted[i]);
	}
	(void)pthread_sigmask(SIG_BLOCK, &set, &g->mask);
	/* With SIGCHLD ignored, waitpid(2) would find no children. */
	(void)sigaction(SIGCHLD, &standard, &g->on_child);
	(void)sigaction(SIGPIPE, &ignore, &g->on_pipe);
	g->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return g->signals < 0 ? -errno : 0;
}

static void put_null(int fd)
{
	CLEANUP(close_p) int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null >= 0)
		(void)dup2(null, fd);
}

static int open_log(struct guard *g)
{
	if (g->o->foreground && !g->command)
		return 0;
	return state_open_log(&g->site.state, LOG, &g->log, &g->log_start);
}

static int by_number(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Close all descriptors beyond stderr except `keep`, which gets sorted. */
static void close_others(int *keep, size_t n)
{
	unsigned from = STDERR_FILENO + 1;

	qsort(keep, n, sizeof(*keep), by_number);
	for (size_t i = 0; i < n; i++) {
		if ((unsigned)keep[i] > from)
			(void)close_range(from, (unsigned)keep[i] - 1, 0);
		from = (unsigned)keep[i] + 1;
	}
	(void)close_range(from, ~0u, 0);
}

/*
 * In the new process. It has a session of its own, so that only the guard gets
 * the terminal's Ctrl-C and hang-up. It closes all descriptors of the caller
 * (but a foreground mount's stderr), who may wait for the end of a pipe.
 */
static _Noreturn void become_fs(struct guard *g, int fuse_fd, int ready_fd)
{
	const struct state *s = &g->site.state;
	const struct fs_config config = {
		.root_fd = g->site.root_fd,
		.fuse_fd = fuse_fd,
		.state_fd = s->dir_fd,
		.repo = s->repo,
		.mountpoint = g->site.mountpoint,
		.fs_socket = s->fs_socket,
		.bell_socket = s->bell_socket,
		.session_root = g->session_root,
		.journal = g->o->journal,
		.journal_keep = g->o->journal_keep,
		.watch = g->o->watch,
		.rings = g->o->rings,
		.awake = g->o->awake,
		.ready_fd = ready_fd,
	};
	int keep[] = { g->site.root_fd, fuse_fd, s->dir_fd, s->lock_fd,
		       ready_fd };

	(void)prctl(PR_SET_NAME, "statetape-fs");
	(void)setsid();
	(void)!chdir("/");
	if (g->o->private && g->way != PRIVATE_ASIDE)
		private_step_aside(g->site.mountpoint);
	put_null(STDIN_FILENO);
	put_null(STDOUT_FILENO);
	if (g->log >= 0)
		(void)dup2(g->log, STDERR_FILENO);
	close_others(keep, sizeof(keep) / sizeof(*keep));
	(void)sigaction(SIGCHLD, &g->on_child, NULL);
	(void)pthread_sigmask(SIG_SETMASK, &g->mask, NULL);
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): its threads have ended. */
	exit(fs_serve(&config) == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
}

static int fork_fs(void *context, int fuse_fd, enum private_way way,
		   char **ret_why)
{
	struct guard *g = context;
	CLEANUP(close_p) int ours = -1;
	CLEANUP(close_p) int theirs = -1;
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return why(ret_why, errno, "cannot make a pipe: %s",
			   strerrordesc_np(errno));
	ours = fds[0];
	theirs = fds[1];
	g->way = way;
	(void)fflush(NULL);
	g->fs_pid = fork();
	if (g->fs_pid < 0)
		return why(ret_why, errno, "cannot start a process: %s",
			   strerrordesc_np(errno));
	if (g->fs_pid == 0)
		become_fs(g, fuse_fd, take_fd(&theirs));
	g->ready = take_fd(&ours);
	return 0;
}

static int start_fs(struct guard *g, char **ret_why)
{
	CLEANUP(close_p) int fuse_fd = -1;
	CLEANUP(free_p) char *source = NULL;
	struct mount_options mount = {
		.mountpoint = g->site.mountpoint,
		.allow_other = g->o->allow_other || geteuid() == 0,
		.read_only = g->site.read_only,
		.nosuid = g->site.nosuid,
		.nodev = g->site.nodev,
		.noexec = g->site.noexec,
	};
	int r;

	if (asprintf(&source, MOUNT_SOURCE "%s", g->site.state.id) < 0)
		return -ENOMEM;
	mount.source = source;
	if (g->o->private)
		return private_mount(&mount, fork_fs, g, ret_why);
	r = mount_fuse(&mount, &fuse_fd, ret_why);
	if (r < 0)
		return r;
	r = fork_fs(g, fuse_fd, PRIVATE_DIRECT, ret_why);
	if (r < 0)
		(void)mount_detach(mount.mountpoint, true, NULL);
	return r;
}

static void lend_root(const struct guard *g)
{
	char number[16];

	(void)fcntl(g->site.root_fd, F_SETFD, 0);
	(void)snprintf(number, sizeof(number), "%d", g->site.root_fd);
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread. */
	(void)setenv(GUARD_ROOT, number, 1);
}

/*
 * In the new process: the environment is that of our caller, except that
 * paths, the current directory's too, lead through the mount.
 */
static _Noreturn void become_command(struct guard *g)
{
	int error;

	if (g->o->lend_root)
		lend_root(g);
	(void)sigaction(SIGCHLD, &g->on_child, NULL);
	(void)sigaction(SIGPIPE, &g->on_pipe, NULL);
	(void)pthread_sigmask(SIG_SETMASK, &g->mask, NULL);
	if (g->cwd)
		(void)!chdir(g->cwd);
	(void)execvp(g->command[0], g->command);
	error = errno;
	message("cannot run '%s': %s", g->command[0], strerrordesc_np(error));
	_exit(error == ENOENT ? GUARD_NOT_FOUND : GUARD_CANNOT_RUN);
}

static void start_command(struct guard *g)
{
	assert(g->command && g->command_pid == 0 && !g->ending);
	(void)fflush(NULL);
	g->command_pid = fork();
	if (g->command_pid == 0)
		become_command(g);
	if (g->command_pid > 0)
		return;
	g->command_pid = 0;
	g->code = GUARD_FAILED;
	message("cannot start a process: %s", strerrordesc_np(errno));
}

/*
 * Report the exit code to the caller, who returns. Close the caller's
 * descriptors first, or readers of its output would wait for us.
 */
static void let_caller_go(struct guard *g, int code)
{
	unsigned char byte = (unsigned char)code;

	if (g->report < 0)
		return;
	(void)fflush(NULL);
	put_null(STDIN_FILENO);
	put_null(STDOUT_FILENO);
	if (g->log >= 0)
		(void)dup2(g->log, STDERR_FILENO);
	(void)!chdir("/");
	(void)!write(g->report, &byte, 1);
	(void)close(take_fd(&g->report));
}

static void announce(struct guard *g)
{
	const struct site *s = &g->site;

	(void)fputs("mounted ", stdout);
	print_safe(stdout, s->state.repo);
	(void)fputs(" at ", stdout);
	print_safe(stdout, s->mountpoint);
	(void)printf(" (pid %d)\n", (int)getpid());
	if (in_background(g) && g->cwd && site_inside(g->cwd, s->mountpoint))
		(void)puts("this shell still sees the directory below the "
			   "mount until it enters it again: cd \"$PWD\"");
	(void)fflush(stdout);
	let_caller_go(g, EXIT_SUCCESS);
}

static void on_ready(struct guard *g)
{
	char byte;

	assert(g->ready >= 0 && !g->served);
	g->served = read(g->ready, &byte, 1) == 1;
	(void)close(take_fd(&g->ready));
	if (!g->served)
		return; /* it died; SIGCHLD follows */
	if (g->ending)
		g->code = failure(g); /* a signal came first */
	else if (g->command)
		start_command(g);
	else
		announce(g);
}

/* Does the mountpoint lead to our mount? *ret_dev is its device. */
static bool is_there(const struct guard *g, dev_t *ret_dev)
{
	CLEANUP(mount_entry_release) struct mount_entry e = { 0 };

	if (mount_find(g->site.mountpoint, NULL, &e) < 0 ||
	    strcmp(e.id, g->site.state.id) != 0)
		return false;
	*ret_dev = e.dev;
	return true;
}

/* Is our mount still there, hidden by another mount? */
static bool is_covered(const struct guard *g)
{
	CLEANUP(mount_entry_release) struct mount_entry e = { 0 };

	return mount_find(NULL, g->site.state.id, &e) == 0 && e.covered;
}

/*
 * Unmount, lazily if it is in use. *ret_text is set if there is something to
 * say; not if all went well or it was unmounted already.
 */
static int unmount(const struct guard *g, char **ret_text)
{
	const char *mountpoint = g->site.mountpoint;
	CLEANUP(free_p) char *users = NULL;
	dev_t dev;
	int r;

	if (!is_there(g, &dev))
		return is_covered(g) ? why(ret_text, EBUSY,
					   "cannot unmount '%s': another file "
					   "system is mounted over it",
					   mountpoint)
				     : 0;
	r = mount_detach(mountpoint, false, ret_text);
	if (r != -EBUSY)
		return r;
	users = holders_text(mountpoint, dev);
	r = mount_detach(mountpoint, true, ret_text);
	if (r < 0)
		return r;
	return why(ret_text, 0,
		   "'%s' is in use by %s; it is unmounted, and open files are "
		   "served until they are closed",
		   mountpoint, users ? users : "an unknown process");
}

/* On a signal, or when the command has ended. */
static void end(struct guard *g)
{
	char *text = NULL;
	int r;

	if (g->ending) {
		g->leave = true;
		return;
	}
	g->ending = true;
	r = unmount(g, &text);
	g->leave = g->command && (r < 0 || text);
	if (r < 0 || text)
		say(text);
}

/* Unmount if the fs process is gone: paths would give ENOTCONN. */
static int remove_dead_mount(const struct guard *g, char **ret_why)
{
	dev_t dev;

	if (!is_there(g, &dev) || !mount_is_dead(g->site.mountpoint))
		return 0;
	return mount_detach(g->site.mountpoint, true, ret_why);
}

/* "was killed by SIGKILL" or "ended with code 1", as part of a sentence. */
static void describe_end(int status, char *text, size_t size)
{
	if (WIFSIGNALED(status)) {
		const char *name = sigabbrev_np(WTERMSIG(status));

		(void)snprintf(text, size, "was killed by SIG%s",
			       name ? name : "RTMIN or above");
	} else {
		(void)snprintf(text, size, "ended with code %d",
			       WEXITSTATUS(status));
	}
}

static void on_broken(struct guard *g, int status)
{
	CLEANUP(free_p) char *trouble = NULL;
	char *text = NULL;
	char how[64];
	bool over = strcmp(g->site.mountpoint, g->site.state.repo) == 0;

	describe_end(status, how, sizeof(how));
	if (remove_dead_mount(g, &trouble) == 0)
		(void)why(
			&text, 0,
			"the file system process of '%s' %s at %s; '%s' is "
			"%s, and what is written from now on is not journaled",
			g->site.state.repo, how, now().text, g->site.mountpoint,
			over ? "the plain directory again" : "unmounted");
	else
		(void)why(&text, 0,
			  "the file system process of '%s' %s at %s; %s",
			  g->site.state.repo, how, now().text,
			  trouble ? trouble : "the mount is still there");
	if (text)
		write_last_end(g, text);
	say(text);
	if (!g->command)
		g->code = EXIT_FAILURE;
}

static void on_never_served(struct guard *g, int status)
{
	char *text = NULL;
	char how[64];

	assert(g->command_pid == 0);
	describe_end(status, how, sizeof(how));
	(void)remove_dead_mount(g, NULL);
	/* Its own messages explain the failure to the user. */
	if (g->log >= 0)
		state_copy_log(g->log, g->log_start, stderr);
	(void)why(&text, 0, "the file system process %s before it served '%s'",
		  how, g->site.state.repo);
	say(text);
	g->code = failure(g);
}

static void note_unmounted(const struct guard *g)
{
	CLEANUP(free_p) char *text = NULL;

	(void)why(&text, 0, "unmounted at %s", now().text);
	if (text)
		write_last_end(g, text);
}

static void on_fs_end(struct guard *g, int status)
{
	assert(g->fs_pid > 0);
	g->fs_pid = 0;
	if (!g->served) {
		on_never_served(g, status);
	} else if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
		/* Stopped by a signal, it leaves the mount behind. */
		(void)remove_dead_mount(g, NULL);
		note_unmounted(g);
	} else {
		on_broken(g, status);
	}
}

static void on_command_change(struct guard *g, int status)
{
	assert(g->served && g->command_pid > 0);
	if (WIFSTOPPED(status)) {
		/* The shell that waits for us must see its job stop. */
		(void)raise(SIGSTOP);
		(void)kill(g->command_pid, SIGCONT);
		return;
	}
	g->command_pid = 0;
	g->code = WIFSIGNALED(status) ? 128 + WTERMSIG(status)
				      : WEXITSTATUS(status);
}

static void reap(struct guard *g)
{
	int status;

	if (g->fs_pid > 0 && waitpid(g->fs_pid, &status, WNOHANG) > 0)
		on_fs_end(g, status);
	if (g->command_pid > 0 &&
	    waitpid(g->command_pid, &status, WNOHANG | WUNTRACED) > 0)
		on_command_change(g, status);
}

/*
 * While a command runs, signals are for the command. It gets the terminal's
 * anyway; those that another process sent to us alone are forwarded.
 */
static void on_signal(struct guard *g, const struct signalfd_siginfo *si)
{
	int number = (int)si->ssi_signo;

	if (number == SIGCHLD)
		reap(g);
	else if (g->command_pid <= 0)
		end(g);
	else if (number != SIGINT && number != SIGQUIT &&
		 si->ssi_code <= 0) /* not the kernel's */
		(void)kill(g->command_pid, number);
}

static void stand_by(struct guard *g)
{
	struct pollfd fds[] = { { .fd = g->signals, .events = POLLIN },
				{ .events = POLLIN } };
	struct signalfd_siginfo si;

	while ((g->fs_pid > 0 || g->command_pid > 0) && !g->leave) {
		fds[1].fd = g->ready; /* -1 is passed over */
		if (poll(fds, 2, -1) < 0)
			continue;
		if (g->ready >= 0 && fds[1].revents)
			on_ready(g);
		while (read(g->signals, &si, sizeof(si)) == sizeof(si))
			on_signal(g, &si);
		if (g->served && g->command && g->command_pid == 0 &&
		    g->fs_pid > 0 && !g->ending)
			end(g);
	}
}

/* From the checks to the end. Returns the exit code. */
static int guard_live(struct guard *g)
{
	char *note = NULL, *text = NULL;
	int r = site_init(g->o->repo, g->o->mountpoint, &g->site, &note, &text);

	if (note)
		say(note);
	if (r < 0) {
		say(text);
		return failure(g);
	}
	r = open_log(g);
	if (r < 0)
		(void)why(&text, -r, "cannot write '%s/" LOG "': %s",
			  g->site.state.dir, strerrordesc_np(-r));
	if (r == 0)
		r = take_signals(g);
	if (r == 0)
		r = start_fs(g, &text);
	if (r == 0) {
		if (!g->o->lend_root)
			(void)close(take_fd(&g->site.root_fd));
		(void)unlinkat(g->site.state.dir_fd, LAST_END, 0);
		stand_by(g);
		if (g->fs_pid > 0)
			note_unmounted(g);
	} else {
		say(text);
		g->code = failure(g);
	}
	site_release(&g->site);
	return g->code;
}

/* In the caller: wait for the exit code that the guard reports. */
static int wait_for_guard(pid_t pid, int report)
{
	unsigned char code;
	ssize_t n;

	(void)waitpid(pid, NULL, 0);
	do
		n = read(report, &code, 1);
	while (n < 0 && errno == EINTR);
	if (n == 1)
		return code;
	message("the background process ended before it mounted");
	return EXIT_FAILURE;
}

/*
 * Fork twice: the guard becomes init's child and can never get a terminal.
 * Until it serves, it writes messages to the caller's stderr. Returns the exit
 * code in the caller and -1 in the guard.
 */
static int go_background(struct guard *g)
{
	int fds[2];
	pid_t pid;

	assert(g->report < 0 && !g->command);
	/* Keep no pipe open that another process may wait for. */
	(void)close_range(STDERR_FILENO + 1, ~0u, 0);
	(void)fflush(NULL);
	if (pipe2(fds, O_CLOEXEC) < 0 || (pid = fork()) < 0) {
		message("cannot start: %s", strerrordesc_np(errno));
		return EXIT_FAILURE;
	}
	if (pid > 0) {
		(void)close(fds[1]);
		return wait_for_guard(pid, fds[0]);
	}
	(void)setsid();
	if (fork() != 0)
		_exit(EXIT_SUCCESS);
	(void)close(fds[0]);
	g->report = fds[1];
	return -1;
}

int guard_mount(const struct guard_options *o)
{
	CLEANUP(free_p) char *cwd = getcwd(NULL, 0);
	char sh[] = "/bin/sh";
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread. */
	char *shell[] = { getenv("SHELL"), NULL };
	struct guard g = { .o = o,
			   .command = o->command,
			   .cwd = cwd,
			   .report = -1,
			   .log = -1,
			   .signals = -1,
			   .ready = -1 };
	int code;

	if (!shell[0] || !*shell[0])
		shell[0] = sh;
	if (!g.command && o->private)
		g.command = shell;
	g.session_root = g.command ? getpid() : getppid();
	if (in_background(&g)) {
		code = go_background(&g);
		if (code >= 0)
			return code;
	}
	code = guard_live(&g);
	let_caller_go(&g, code);
	close_p(&g.signals);
	close_p(&g.ready);
	close_p(&g.log);
	return code;
}
