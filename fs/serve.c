/*
 * Start-up order: settings that all threads inherit (capabilities, limits),
 * then everything that may fail, then threads and the session, and last the
 * sockets for other processes. close_all() runs in reverse.
 */
#include "fs/serve.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "fs/answer.h"
#include "fs/base/limits.h"
#include "fs/base/lock.h"
#include "fs/flight.h"
#include "fs/node/below.h"
#include "fs/node/cred.h"
#include "fs/node/fs.h"
#include "fs/node/keep.h"
#include "fs/node/pages.h"
#include "fs/node/pass.h"
#include "fs/node/watch.h"
#include "fs/ops/ops.h"
#include "fs/tune/awake.h"
#include "fs/tune/pool.h"
#include "fs/tune/ring.h"
#include "graph/base/cleanup.h"
#include "graph/base/clock.h"
#include "graph/base/debug.h"
#include "graph/base/message.h"
#include "tape/journal/progress.h"
#include "tape/wire/wire.h"

struct server {
	struct fs fs; /* first: handlers get the server as a struct fs */
	struct fs_config config;
	struct answerer answerer;
	struct wire_server *wire;
};

_Static_assert(offsetof(struct server, fs) == 0, "a server is a struct fs");

static int fail(const char *what, int r)
{
	assert(r < 0);
	message("%s: %s", what, strerrordesc_np(-r));
	return r;
}

static void want(struct fuse_conn_info *conn, unsigned flag, bool on)
{
	if (on && conn->capable & flag)
		conn->want |= flag;
	else
		conn->want &= ~flag;
}

static void trace_serving(const struct server *s,
			  const struct fuse_conn_info *conn)
{
	DEBUG(DEBUG_FS,
	      "serve '%s' at '%s': protocol %u.%u, journal %s, io_uring %s, "
	      "attributes kept %g s, pages dropped by %s, large files %s",
	      s->config.repo, s->config.mountpoint, conn->proto_major,
	      conn->proto_minor, s->fs.journal ? "on" : "off",
	      s->config.rings ? "wanted" : "not wanted", s->fs.timeout,
	      s->fs.explicit ? "us" : "the kernel",
	      s->fs.passes ? "passed through" : "read by us");
}

static void op_init(void *userdata, struct fuse_conn_info *conn)
{
	struct server *s = userdata;
	int root_fd = inodes_root_fd(s->fs.inodes);

	/* Never: write(2) would return before the bytes reach us. */
	want(conn, FUSE_CAP_WRITEBACK_CACHE, false);
	/*
	 * After a direct write the kernel drops the pages it made stale, but
	 * not after an asynchronous one: pages read meanwhile would stay.
	 */
	want(conn, FUSE_CAP_ASYNC_DIO, false);
	want(conn, FUSE_CAP_ATOMIC_O_TRUNC, true);
	want(conn, FUSE_CAP_READDIRPLUS, true);
	want(conn, FUSE_CAP_READDIRPLUS_AUTO, true);
	want(conn, FUSE_CAP_PARALLEL_DIROPS, true);
	want(conn, FUSE_CAP_CACHE_SYMLINKS, true);
	/* The umask is applied below, which knows about default ACLs. */
	want(conn, FUSE_CAP_DONT_MASK, true);
	want(conn, FUSE_CAP_POSIX_ACL, below_has_acl(root_fd));
	s->fs.dirs_stateless = conn->capable & FUSE_CAP_NO_OPENDIR_SUPPORT &&
			       below_positions_last(root_fd);
	want(conn, FUSE_CAP_SPLICE_READ, false);
	want(conn, FUSE_CAP_SPLICE_WRITE, true);
	want(conn, FUSE_CAP_SPLICE_MOVE, false);
	/*
	 * Without KILLPRIV_V2 the kernel asks for security.capability before
	 * every write; with it, we drop set-id bits (fs_drop_setid()).
	 */
	want(conn, FUSE_CAP_HANDLE_KILLPRIV, false);
#ifdef FUSE_CAP_HANDLE_KILLPRIV_V2
	want(conn, FUSE_CAP_HANDLE_KILLPRIV_V2, true);
#endif
	pages_init(&s->fs, conn);
	pass_init(&s->fs, conn);
	/* Since Linux 6.6 a direct write drops the pages it makes stale. */
	s->fs.directs = conn->proto_major == 7 && conn->proto_minor >= 39;
	conn->max_write = FS_REQUEST_MAX;
	conn->max_readahead = FS_REQUEST_MAX;
	conn->max_background = FS_BACKGROUND_MAX;
	conn->time_gran = 1;
#if FUSE_VERSION >= FUSE_MAKE_VERSION(3, 17)
	/*
	 * Every operation is finished, even if the caller was interrupted.
	 * To handle interrupts libfuse would keep each request on a list
	 * under one lock.
	 */
	conn->no_interrupt = 1;
#endif
	trace_serving(s, conn);
	if (s->config.ready_fd >= 0) {
		/* Failure: the process that started us is gone. */
		ssize_t put = write(s->config.ready_fd, "", 1);

		(void)put;
		(void)close(s->config.ready_fd);
		s->config.ready_fd = -1;
	}
}

static void raise_descriptor_limit(void)
{
	struct rlimit limit;
	struct rlimit most = { 1 << 20, 1 << 20 };

	/* Root may exceed the hard limit, up to the kernel's own. */
	if (setrlimit(RLIMIT_NOFILE, &most) == 0)
		return;
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

/*
 * In a process with threads the kernel waits for every processor each time
 * the descriptor table doubles: a third of the time of the first `git status`
 * over 7,000 files. So the table grows once, before any thread starts.
 */
static void reserve_descriptors(int any_fd)
{
	int most = fs_descriptors();
	int room = most < FS_DESCRIPTORS_FIRST ? most : FS_DESCRIPTORS_FIRST;
	int last = fcntl(any_fd, F_DUPFD_CLOEXEC, room - 1);

	if (last >= 0)
		(void)close(last);
}

#ifdef STATETAPE_OWN_FUSE
void tell_failure(const char *what) __asm__("__wrap_perror");
void tell_any_failure(const char *what) __asm__("__real_perror");

/* Of what libfuse says itself, serve() judges and tells this. */
void tell_failure(const char *what)
{
	if (strcmp(what, "fuse: reading device") != 0)
		tell_any_failure(what);
}
#endif

__attribute__((format(printf, 2, 0))) static void
log_line(enum fuse_log_level level, const char *format, va_list ap)
{
	if (level > FUSE_LOG_WARNING)
		return;
	message_va(format, ap);
}

/* The tape's page. Without it the tape takes longer to tell changes outside the
   mount from ours. */
static void open_progress(struct server *s)
{
	struct fs *fs = &s->fs;
	int r = progress_open(s->config.state_fd, &fs->progress);

	if (r == 0)
		r = progress_serve(fs->progress);
	if (r == 0)
		return;
	(void)fail("the page shared with the tape cannot be used", r);
	progress_free(TAKE(fs->progress));
}

static void share_descriptors(struct fs *fs)
{
	int all = fs_descriptors();
	struct hold_limits inodes = { .inodes = FS_HELD_MAX(all),
				      .below = FS_INODES_BELOW(all) };

	fs->files_below = FS_FILES_BELOW(all);
	fs->inodes_below = inodes.below;
	hold_limit(fs->inodes, &inodes);
	hold_from_open_files(fs->inodes, fs_spare, fs);
}

static int open_parts(struct server *s)
{
	struct fs *fs = &s->fs;
	const struct fs_config *c = &s->config;
	struct journal_limits limits = { .keep_bytes = c->journal_keep };
	int r;

	/* inotify does not report changes that other machines make. */
	fs->flush = below_is_remote(c->root_fd);
	fs->timeout = fs->flush ? FS_TIMEOUT_SHORT : FS_TIMEOUT_LONG;
	fs->proc_fd = open("/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fs->proc_fd < 0)
		return fail("cannot open /proc, which is needed", -errno);
	r = inodes_new(c->root_fd, &fs->inodes);
	if (r < 0)
		return fail("the directory below cannot be read", r);
	fs->root_dev = inodes_root(fs->inodes)->key.dev;
	share_descriptors(fs);
	r = actors_new(c->session_root, &fs->actors);
	if (r == 0)
		r = reads_new(&fs->reads);
	if (r < 0)
		return fail("cannot start", r);
	if (!c->journal)
		return 0;
	r = journal_open(c->state_fd, "journal", c->repo, &limits,
			 &fs->journal);
	if (r < 0)
		return fail("the journal cannot be opened", r);
	open_progress(s);
	r = fs->progress ? keep_open(fs, c->state_fd) : 0;
	if (r < 0)
		(void)fail("versions that the tape has not read cannot be kept",
			   r);
	return 0;
}

static int open_session(struct server *s)
{
	static const struct fuse_lowlevel_ops first = { .init = op_init };
	struct fuse_lowlevel_ops ops = first;
	char name[] = "statetape", o[] = "-o", rings[64];
	char *argv[] = { name, o, rings, NULL };
	bool ringed =
		s->config.rings && ring_option(&s->fs, rings, sizeof(rings));
	struct fuse_args args = FUSE_ARGS_INIT(ringed ? 3 : 1, argv);
	char fd_path[32];

	ops_name_fill(&ops);
	ops_make_fill(&ops);
	ops_attr_fill(&ops);
	ops_file_fill(&ops);
	ops_dir_fill(&ops);
	flight_wrap(&ops, s->fs.progress);
	fuse_set_log_func(log_line);
	s->fs.session = fuse_session_new(&args, &ops, sizeof(ops), s);
	fuse_opt_free_args(&args);
	if (!s->fs.session)
		return fail("the FUSE session cannot be made", -EIO);
	(void)snprintf(fd_path, sizeof(fd_path), "/dev/fd/%d",
		       s->config.fuse_fd);
	if (fuse_session_mount(s->fs.session, fd_path) != 0)
		return fail("the FUSE session cannot be started", -EIO);
	return 0;
}

/* Sockets for other processes. Files are served even without them. */
static void open_sockets(struct server *s)
{
	const struct fs_config *c = &s->config;
	int r;

	if (s->fs.journal && c->bell_socket) {
		r = bell_open(c->bell_socket, &s->fs.bell);
		if (r < 0)
			(void)fail("cannot notify readers of the journal", r);
	}
	s->answerer =
		(struct answerer){ .fs = &s->fs, .config = c, .lock_fd = -1 };
	s->answerer.started_ns = clock_mono_ns();
	if (!c->fs_socket)
		return;
	r = wire_server_open(c->fs_socket, answer, &s->answerer, &s->wire);
	if (r < 0)
		(void)fail("cannot answer questions on the fs socket", r);
}

/*
 * Has the kernel ended the connection, as an unmount does? While it does so, it
 * fails the requests first and marks the connection last, so this waits a bit.
 */
static bool is_hung_up(const struct server *s)
{
	struct pollfd device = { .fd = s->config.fuse_fd };
	int n;

	do
		n = poll(&device, 1, FS_HANG_UP_MS);
	while (n < 0 && errno == EINTR);
	return n > 0 && device.revents & POLLERR;
}

static int serve(struct server *s)
{
	struct fuse_loop_config *loop = fuse_loop_cfg_create();
	int r;

	if (!loop)
		return fail("cannot start", -ENOMEM);
	/* A channel per thread opens the device once for each. */
	fuse_loop_cfg_set_clone_fd(loop, access("/dev/fuse", R_OK | W_OK) == 0);
	fuse_loop_cfg_set_max_threads(loop, FS_THREADS_MAX);
	fuse_loop_cfg_set_idle_threads(loop, FS_THREADS_MAX);
	r = fuse_session_loop_mt(s->fs.session, loop);
	fuse_loop_cfg_destroy(loop);
	/*
	 * A signal that stops the loop (r > 0) is an orderly end. So is any
	 * failure once the kernel has ended the connection: a worker that took
	 * a request, mostly the last RELEASE, while the unmount shut it down
	 * gets another errno than ENODEV, which libfuse takes for the end.
	 */
	return r < 0 && !is_hung_up(s) ? fail("the FUSE session broke", r) : 0;
}

/*
 * End the connection if the kernel has not. Pending requests fail, so that
 * the watch thread, which may wait for a page, can be joined. The descriptor
 * number stays taken: libfuse will close it.
 */
static void hang_up(struct server *s)
{
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (nothing < 0)
		return;
	(void)dup3(nothing, s->config.fuse_fd, O_CLOEXEC);
	(void)close(nothing);
}

static void close_all(struct server *s)
{
	struct fs *fs = &s->fs;

	pool_end();
	hang_up(s);
	wire_server_free(s->wire);
	awake_end();
	watch_free(fs->watch);
	if (fs->session)
		fuse_session_destroy(fs->session);
	handles_end(fs);
	bell_free(fs->bell);
	keep_close(fs);
	journal_close(fs->journal);
	progress_free(fs->progress);
	reads_free(fs->reads);
	actors_free(fs->actors);
	inodes_free(fs->inodes);
	close_p(&fs->proc_fd);
}

int fs_serve(const struct fs_config *config)
{
	struct server s = { .config = *config, .fs.proc_fd = -1 };
	int r;

	lock_init_adaptive(&s.fs.handles_lock);
	for (size_t n = 0; n < FS_CHANGE_LOCKS; n++)
		(void)pthread_mutex_init(&s.fs.change_locks[n], NULL);
	LIST_INIT(&s.fs.handles);
	raise_descriptor_limit();
	reserve_descriptors(config->root_fd);
	s.fs.root = cred_init();
	if (config->awake)
		awake_init();
	pool_init();
	r = open_parts(&s);
	if (r == 0)
		r = open_session(&s);
	if (r == 0)
		r = fuse_set_signal_handlers(s.fs.session);
	if (r == 0) {
		r = watch_new(&s.fs, config->watch, &s.fs.watch);
		if (r < 0)
			(void)fail("cannot watch the directory below", r);
	}
	if (r == 0) {
		open_sockets(&s);
		r = serve(&s);
		fuse_remove_signal_handlers(s.fs.session);
	}
	close_all(&s);
	return r;
}
