/* A run's side of the session (session.h). verb_session.c is the other side. */
#include "tools/run/session.h"

#include <assert.h>
#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fs/mount/mount.h"
#include "fs/mount/private.h"
#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/base/clock.h"
#include "tools/cli/repo.h"
#include "tools/cli/say.h"
#include "tools/run/child.h"
#include "tools/run/session_i.h"

#define START_MS 30000 /* for a new session to answer */
#define HELLO_MS 5000  /* for a running session to greet us */
#define LIFE_MS	 10000 /* for an ending session to be gone */
#define LIFE_TRY 5
#define LEAVE_MS 10000
#define TRIES	 4 /* attempts to start one that is killed meanwhile */

const char *const session_mount_names[SESSION_MOUNTS] = {
	[SESSION_AUTO] = "auto",
	[SESSION_PRIVATE] = "private",
	[SESSION_VISIBLE] = "visible",
	[SESSION_NONE] = "none",
};

enum session_mount session_mount_find(const char *name)
{
	int i = 0;

	while (i < SESSION_MOUNTS && strcmp(name, session_mount_names[i]) != 0)
		i++;
	return (enum session_mount)i;
}

int session_address(const struct state *s, struct sockaddr_un *ret)
{
	int n;

	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	n = snprintf(ret->sun_path, sizeof(ret->sun_path), "%s/%s", s->run,
		     SESSION_SOCKET);
	return n < (int)sizeof(ret->sun_path) ? 0 : -ENAMETOOLONG;
}

int session_connect(const struct state *s, int *ret_fd)
{
	CLEANUP(close_p)
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un address;
	int r = session_address(s, &address);

	if (fd < 0)
		return -errno;
	if (r < 0)
		return r;
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return -errno;
	*ret_fd = take_fd(&fd);
	return 0;
}

/* The next whole line received, without its newline; NULL: none yet. */
static char *take_line(struct session *s)
{
	char *end, *text;
	size_t n;

	assert(s->len <= sizeof(s->line));
	end = memchr(s->line, '\n', s->len);
	if (!end)
		return NULL;
	n = (size_t)(end - s->line);
	text = must_have(strndup(s->line, n));
	s->len -= n + 1;
	memmove(s->line, end + 1, s->len);
	return text;
}

/* Receive what is available. 0: the other end is closed. */
static ssize_t receive(struct session *s, int flags)
{
	ssize_t n;

	assert(s->fd >= 0 && s->len <= sizeof(s->line));
	if (s->len == sizeof(s->line))
		s->len = 0; /* no line of the protocol is this long */
	do
		n = recv(s->fd, s->line + s->len, sizeof(s->line) - s->len,
			 flags);
	while (n < 0 && errno == EINTR);
	if (n > 0)
		s->len += (size_t)n;
	return n;
}

/* The text of a "note" line (free it); NULL: it is another line. */
static char *note_in(struct session *s, const char *line)
{
	cJSON *said = cJSON_Parse(line);
	const cJSON *text = cJSON_GetObjectItem(said, "note");
	char *note = cJSON_IsString(text) ? must_have(strdup(text->valuestring))
					  : NULL;

	if (cJSON_IsTrue(cJSON_GetObjectItem(said, "told")))
		s->asked = false;
	cJSON_Delete(said);
	return note;
}

static int understand_hello(struct session *s, const char *line)
{
	cJSON *hello = cJSON_Parse(line);
	const cJSON *pid = cJSON_GetObjectItem(hello, "pid");
	const cJSON *guard = cJSON_GetObjectItem(hello, "guard");
	const char *mount =
		cJSON_GetStringValue(cJSON_GetObjectItem(hello, "mount"));
	int r = -EBADMSG;

	if (cJSON_IsNumber(pid) && mount) {
		s->pid = pid->valueint;
		s->guard = cJSON_IsNumber(guard) ? guard->valueint : 0;
		s->mount = session_mount_find(mount);
		if (s->mount != SESSION_MOUNTS && s->pid > 0)
			r = 0;
	}
	cJSON_Delete(hello);
	return r;
}

/* Print the messages that a session which we start sends before its hello. */
static int hear_hello(struct session *s, int ms)
{
	struct pollfd p = { .fd = s->fd, .events = POLLIN };

	for (;;) {
		CLEANUP(free_p) char *line = take_line(s);
		CLEANUP(free_p) char *note = line ? note_in(s, line) : NULL;

		if (note)
			(void)say_error("%s", note);
		else if (line)
			return understand_hello(s, line);
		else if (poll(&p, 1, ms) <= 0)
			return -ETIMEDOUT;
		else if (receive(s, 0) <= 0)
			return -ECONNRESET;
	}
}

static int try_join(const struct state *s, struct session *ret)
{
	struct session new = SESSION_EMPTY;
	int r = session_connect(s, &new.fd);

	if (r == 0)
		r = hear_hello(&new, HELLO_MS);
	if (r == 0)
		*ret = new;
	else
		close_p(&new.fd);
	return r;
}

/* The descriptors a new session inherits. */
struct birth {
	enum session_mount mount;
	int log;
	int run;  /* its end of the connection to us */
	int life; /* the lock */
};

static _Noreturn void become_session(const struct state *s,
				     const struct birth *b)
{
	CLEANUP(free_p) char *run = format_text("--run-fd=%d", b->run);
	CLEANUP(free_p) char *life = format_text("--lock-fd=%d", b->life);
	sigset_t none;

	(void)setsid();
	(void)sigemptyset(&none);
	(void)pthread_sigmask(SIG_SETMASK, &none, NULL);
	(void)dup2(b->log, STDOUT_FILENO);
	(void)dup2(b->log, STDERR_FILENO);
	(void)close(STDIN_FILENO);
	(void)!open("/dev/null", O_RDONLY);
	(void)fcntl(b->run, F_SETFD, 0);
	(void)fcntl(b->life, F_SETFD, 0);
	(void)!chdir("/");
	(void)execl("/proc/self/exe", "statetape", "session", run, life,
		    "--mount", session_mount_names[b->mount], "--", s->repo,
		    (char *)NULL);
	_exit(EXIT_FAILURE);
}

static int open_lock(const struct state *s, const char *name)
{
	CLEANUP(free_p) char *path = format_text("%s/%s", s->run, name);
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	return fd < 0 ? -errno : fd;
}

/*
 * Take the lock for starting a session. It is released with the descriptor. A
 * signal that ends the process ends the wait too.
 */
static int lock_start(const struct state *s, int *ret_fd)
{
	CLEANUP(close_p) int fd = open_lock(s, SESSION_START);

	if (fd < 0)
		return fd;
	while (flock(fd, LOCK_EX) < 0)
		if (errno != EINTR)
			return -errno;
	*ret_fd = take_fd(&fd);
	return 0;
}

/*
 * Take the lock that a session holds until its end. A session that accepts no
 * more runs may still be unmounting: wait for it.
 */
static int lock_life(const struct state *s, int *ret_fd)
{
	CLEANUP(close_p) int fd = open_lock(s, SESSION_LIFE);
	int64_t until = clock_mono_ns() + LIFE_MS * 1000000LL;

	if (fd < 0)
		return fd;
	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -errno;
		if (clock_mono_ns() > until)
			return -EBUSY;
		(void)poll(NULL, 0, LIFE_TRY);
	}
	*ret_fd = take_fd(&fd);
	return 0;
}

/* Was the session, or its guard, killed? */
static bool was_killed(int status)
{
	return WIFSIGNALED(status) || WEXITSTATUS(status) > 128;
}

/*
 * Start a session; the start lock is held and no session answers. -EAGAIN: the
 * new one was killed.
 */
static int start(const struct state *s, enum session_mount mount, int log,
		 struct session *ret)
{
	CLEANUP(close_p) int life = -1;
	CLEANUP(close_p) int theirs = -1;
	struct session new = SESSION_EMPTY;
	int ends[2], status = 0, r = lock_life(s, &life);
	pid_t pid;

	assert(mount < SESSION_MOUNTS && log >= 0);
	if (r < 0)
		return r;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	new.fd = ends[0];
	theirs = ends[1];
	(void)fflush(NULL);
	pid = fork();
	if (pid == 0)
		become_session(s, &(struct birth){ mount, log, theirs, life });
	r = pid < 0 ? -errno : 0;
	close_p(&theirs);
	theirs = -1;
	if (r == 0)
		r = hear_hello(&new, START_MS);
	if (r == 0) {
		*ret = new;
		return 0;
	}
	close_p(&new.fd);
	if (pid > 0 && waitpid(pid, &status, 0) == pid && was_killed(status))
		r = -EAGAIN;
	return r;
}

static const char *why_not(int r)
{
	if (r == -ECONNRESET || r == -EAGAIN)
		return "its process ended";
	return r == -EBUSY ? "an earlier session has not ended" : errno_text(r);
}

int session_join(const struct state *s, enum session_mount mount,
		 struct session *ret)
{
	CLEANUP(close_p) int starting = -1;
	CLEANUP(close_p) int log = -1;
	off_t from = 0;
	int tries = TRIES, r = lock_start(s, &starting);

	if (r == 0)
		r = try_join(s, ret);
	if (r == -ENOENT || r == -ECONNREFUSED || r == -ECONNRESET) {
		r = state_open_log(s, SESSION_LOG, &log, &from);
		r = r < 0 ? r : -EAGAIN;
	}
	while (r == -EAGAIN && tries-- > 0)
		r = start(s, mount, log, ret);
	/* Its messages say why it failed or could not mount. */
	if (log >= 0 &&
	    (r < 0 || (ret->mount == SESSION_NONE && mount != SESSION_NONE)))
		state_copy_log(log, from, stderr);
	if (r == 0)
		return 0;
	(void)say_error("the session of '%s' could not be started: %s", s->repo,
			why_not(r));
	return r;
}

/*
 * The number in a "left" line, the session's last message: runs that remain.
 * -1: not such a line.
 */
static int left_in(const char *line)
{
	cJSON *said = cJSON_Parse(line);
	const cJSON *left = cJSON_GetObjectItem(said, "left");
	int n = cJSON_IsNumber(left) ? left->valueint : -1;

	cJSON_Delete(said);
	return n;
}

/* The number of runs that remain; -1: it ended without saying. */
static int hear_last_word(struct session *s)
{
	struct pollfd p = { .fd = s->fd, .events = POLLIN };
	int left = -1;

	for (;;) {
		CLEANUP(free_p) char *line = take_line(s);

		if (line)
			left = left_in(line);
		if (left >= 0)
			return left;
		if (!line && (poll(&p, 1, LEAVE_MS) <= 0 || receive(s, 0) <= 0))
			return -1;
	}
}

static void wait_end(pid_t pid)
{
	CLEANUP(close_p)
	int fd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
	struct pollfd p = { .fd = fd, .events = POLLIN };

	if (fd >= 0)
		(void)poll(&p, 1, LEAVE_MS);
}

/* If the session could not unmount, only this process is left to report it. */
static void check_unmounted(const struct session *s, const struct state *state)
{
	CLEANUP(mount_entry_release) struct mount_entry e = { 0 };

	if (s->mount == SESSION_VISIBLE && s->guard &&
	    mount_find(NULL, state->id, &e) == 0)
		(void)say_error("'%s' is still mounted: '%s/" SESSION_LOG
				"' says why",
				e.mountpoint, state->dir);
}

void session_leave(struct session *s, const struct state *state)
{
	int left;

	if (s->fd < 0)
		return;
	(void)shutdown(s->fd, SHUT_WR);
	left = hear_last_word(s);
	/*
	 * We were the last run, or the session ended without an answer: remove
	 * what killed processes left behind.
	 */
	if (left <= 0)
		session_bury(s, state);
	if (left == 0)
		check_unmounted(s, state);
	close_p(&s->fd);
	s->fd = -1;
}

/* Is a process listening at `path`? True if that cannot be found out. */
static bool is_alive(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	CLEANUP(close_p)
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || strlen(path) >= sizeof(address.sun_path))
		return true;
	memcpy(address.sun_path, path, strlen(path) + 1);
	return connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 ||
	       (errno != ECONNREFUSED && errno != ENOENT);
}

void session_sweep(const struct state *s)
{
	const char *const paths[] = { s->tape_socket, s->fs_socket,
				      s->bell_socket };
	struct sockaddr_un ours;

	if (session_address(s, &ours) == 0 && !is_alive(ours.sun_path))
		(void)unlink(ours.sun_path);
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		if (!is_alive(paths[i]))
			(void)unlink(paths[i]);
	/* Not asked itself: nng 1.5 stops accepting when a client hangs up
	   before it is greeted. It is the tape's, as tape_socket is. */
	if (!is_alive(s->tape_socket))
		(void)unlink(s->pub_socket);
	for (unsigned n = 0; n < MANAGERS_MAX; n++) {
		CLEANUP(free_p) char *where = manager_path(s, n, ".json");
		CLEANUP(free_p) char *path = manager_path(s, n, ".sock");

		if (is_alive(path))
			continue;
		(void)unlink(path);
		(void)unlink(where);
	}
}

/*
 * The kernel closes a dead process's descriptors one by one, so our connection
 * may be closed before the session's socket is: wait for the process to end.
 * After that, only a new session can answer there.
 *
 * A living guard unmounts when its session ends, and ends then. A guard that is
 * being killed may outlive its session, so wait for it too: a mount that is
 * still there afterwards would stay for ever, and is removed here.
 *
 * Another run may have started a new session meanwhile; the start lock keeps
 * any more from being started.
 */
void session_bury(struct session *s, const struct state *state)
{
	CLEANUP(mount_entry_release) struct mount_entry e = { 0 };
	CLEANUP(close_p) int starting = -1;
	CLEANUP(close_p) int other = -1;

	close_p(&s->fd);
	s->fd = -1;
	s->asked = false;
	wait_end(s->pid);
	wait_end(s->guard);
	if (lock_start(state, &starting) < 0 ||
	    session_connect(state, &other) == 0)
		return;
	if (s->mount != SESSION_NONE && s->guard &&
	    mount_find(NULL, state->id, &e) == 0 && !e.covered)
		(void)mount_detach(e.mountpoint, true, NULL);
	session_sweep(state);
}

static bool same_namespace(int fd, const char *ours)
{
	struct stat a, b;

	return fstat(fd, &a) == 0 && stat(ours, &b) == 0 &&
	       a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

static int enter_one(pid_t pid, const char *kind, int flag)
{
	CLEANUP(free_p) char *theirs = format_text("/proc/%d/ns/%s", pid, kind);
	CLEANUP(free_p) char *ours = format_text("/proc/self/ns/%s", kind);
	CLEANUP(close_p) int fd = open(theirs, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (same_namespace(fd, ours))
		return 0;
	return setns(fd, flag) < 0 ? -errno : 0;
}

/*
 * Entering a mount namespace leads to that namespace's root, which in a chroot
 * is not our root: the session's own root directory is, so use that.
 */
static int enter_mounts(pid_t pid)
{
	CLEANUP(free_p) char *theirs = format_text("/proc/%d/root", pid);
	CLEANUP(close_p)
	int root = open(theirs, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int r;

	if (root < 0)
		return -errno;
	r = enter_one(pid, "mnt", CLONE_NEWNS);
	if (r < 0)
		return r;
	return fchdir(root) < 0 || chroot(".") < 0 ? -errno : 0;
}

int session_enter_of(pid_t pid)
{
	uint64_t bounds = private_bounds();
	int r = enter_one(pid, "user", CLONE_NEWUSER);

	if (r == 0)
		private_limit(bounds);
	return r < 0 ? r : enter_mounts(pid);
}

int session_enter(const struct session *s)
{
	assert(s->fd >= 0 && s->pid > 0);
	return s->mount == SESSION_PRIVATE ? session_enter_of(s->pid) : 0;
}

void session_ask(struct session *s)
{
	s->asked = s->fd >= 0 && send(s->fd, "?", 1, MSG_NOSIGNAL) == 1;
}

char *session_note(struct session *s, bool *ret_gone)
{
	char *note = NULL;

	*ret_gone = false;
	while (!note) {
		CLEANUP(free_p) char *line = take_line(s);
		ssize_t n;

		if (line) {
			note = note_in(s, line);
			continue;
		}
		n = s->fd < 0 ? 0 : receive(s, MSG_DONTWAIT);
		if (n < 0 && errno == EAGAIN)
			break;
		*ret_gone = n <= 0;
		if (*ret_gone)
			break;
	}
	return note;
}
