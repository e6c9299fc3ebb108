/*
 * How to notice that a process has exec'd or exited? Measured for a descriptor
 * kept open and read again:
 *
 *	/proc/PID/pagemap	0.24 us	a syscall with nothing behind it
 *	/proc/PID/comm		0.9 us
 *	/proc/PID/cmdline	2.3 us	takes the process's mmap lock
 *	/proc/PID/stat		4.1 us
 *	/proc/PID/status	8.6 us
 *
 * comm does not distinguish `sh` from the `sh script` it execs. pagemap is the
 * cheapest and the most exact: such a descriptor belongs not to the process
 * but to the memory it had when the descriptor was opened. exec gives a
 * process new memory, exit takes it away, and a process that gets the same id
 * later has memory of its own. While the memory lives, reading one byte fails
 * with EINVAL (entries are eight bytes long, and the kernel checks the length
 * after it has pinned the memory); when it is gone, the read returns 0.
 * Anything but EINVAL counts as a change, so a kernel that behaves differently
 * costs time, not correctness.
 *
 * Two kinds of process need another probe. A vforked child runs in its
 * parent's memory, which survives the child's exec: kcmp(2) detects that, and
 * where a container's seccomp forbids kcmp, a child with its parent's
 * executable is assumed to share (actor.c). And a process we may not inspect
 * (another user's, a set-user-id program's) or that has no memory (a kernel
 * thread) shows no pagemap. For those cmdline is compared: readable by all,
 * and it follows the process through exec. An exec that leaves cmdline the
 * same goes unnoticed; the description is then almost the same too.
 *
 * Why not cmdline always? Because of the mmap lock. A thread of the process
 * may hold it while it waits for a write-back that we are to serve. If the
 * process had as many requests with us as we have workers, and each worker
 * read cmdline, no worker would be left to serve the write-back. So cmdline is
 * read when a program is first seen, usually before it has mapped a file of
 * ours, and later only for the two kinds above. For the same reason none of
 * our locks is held here: opening pagemap waits for an exec in progress, and
 * the last reference to a process's memory, which may be ours, writes back its
 * mappings when it is dropped. The process whose request we hold is blocked
 * until we answer and does neither, but an ancestor may: one worker can wait
 * for a request that another one serves.
 */
#include "fs/author/proc.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "graph/base/cleanup.h"
#include "graph/base/proc_stat.h"

/* Looks at a process that execs meanwhile. */
#define LOOKS_MAX 3

/* Enough for the lines of status up to "Tgid", and for all of stat. */
#define STATUS_MAX 512

struct proc_probe {
	atomic_uint refs;
	int fd;
	bool memory; /* fd is of pagemap, not of cmdline */
};

/* The process id that a link like "self" holds, 0: none. */
static pid_t link_number(int fd, const char *name)
{
	char text[16];
	ssize_t len = readlinkat(fd, name, text, sizeof(text) - 1);

	if (len <= 0)
		return 0;
	text[len] = '\0';
	return (pid_t)strtol(text, NULL, 10);
}

static bool kcmp_shares(pid_t a, pid_t b, bool *ret_known)
{
	long order = syscall(SYS_kcmp, a, b, KCMP_VM, 0UL, 0UL);

	*ret_known = order >= 0;
	return order == 0;
}

void proc_init(struct proc *p)
{
	CLEANUP(close_p) int fd = -1;

	fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	/* Another pid namespace's /proc would show other processes. */
	if (fd >= 0 && link_number(fd, "self") != getpid()) {
		(void)close(fd);
		fd = -1;
	}
	p->fd = take_fd(&fd);
	p->fd_max = FS_PROBES_BELOW(fs_descriptors());
	(void)kcmp_shares(getpid(), getpid(), &p->compares);
}

void proc_release(struct proc *p)
{
	close_p(&p->fd);
	p->fd = -1;
}

bool proc_has_thread(pid_t pid, pid_t tid)
{
	/* Signal 0 only checks; EPERM means that the thread exists. */
	return syscall(SYS_tgkill, pid, tid, 0) == 0 || errno != ESRCH;
}

/* Read a small file whole, NUL-terminated. Its length or a negative errno. */
static ssize_t read_text(int at, const char *name, char *buf, size_t size)
{
	CLEANUP(close_p) int fd = -1;
	ssize_t len;

	fd = openat(at, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	len = read(fd, buf, size - 1);
	if (len < 0)
		return -errno;
	buf[len] = '\0';
	return len;
}

pid_t proc_of_thread(const struct proc *p, pid_t tid)
{
	char name[32];
	char text[STATUS_MAX];
	const char *line;

	/* Usually it is the first thread, whose id is the process's. */
	if (proc_has_thread(tid, tid))
		return tid;
	(void)snprintf(name, sizeof(name), "%d/status", (int)tid);
	if (read_text(p->fd, name, text, sizeof(text)) < 0)
		return 0;
	/* A name cannot forge this line: newlines in names are escaped. */
	line = strstr(text, "\nTgid:\t");
	if (!line)
		return 0;
	return (pid_t)strtol(line + strlen("\nTgid:\t"), NULL, 10);
}

void proc_traces_close(struct proc_traces *t)
{
	close_p(&t->memory);
	close_p(&t->cmdline);
	*t = (struct proc_traces){ .memory = -1, .cmdline = -1 };
}

/* Each argument ends in NUL; setproctitle() leaves more of them. */
static void join_arguments(char *text, size_t len)
{
	while (len > 0 && text[len - 1] == '\0')
		len--;
	text[len] = '\0';
	for (size_t i = 0; i < len; i++)
		if (text[i] == '\0')
			text[i] = ' ';
}

/* `text` has room for ACTOR_CMDLINE_MAX bytes and a NUL. */
static int read_cmdline(int fd, char *text)
{
	ssize_t len = pread(fd, text, ACTOR_CMDLINE_MAX, 0);

	if (len < 0)
		return -errno;
	join_arguments(text, (size_t)len);
	return 0;
}

static bool cmdline_same(int fd, const char *cmdline)
{
	char text[ACTOR_CMDLINE_MAX + 1];

	assert(fd >= 0);
	return read_cmdline(fd, text) == 0 && strcmp(text, cmdline) == 0;
}

static bool memory_lives(int fd)
{
	char byte;

	return pread(fd, &byte, 1, 0) < 0 && errno == EINVAL;
}

static int parse_stat(const char *text, struct proc_view *ret)
{
	struct proc_stat st;
	int r = proc_stat_parse(text, &st);

	if (r < 0 || st.comm_len > PROC_COMM_MAX)
		return -EBADMSG;
	(void)snprintf(ret->comm, sizeof(ret->comm), "%.*s", (int)st.comm_len,
		       st.comm);
	ret->ppid = st.ppid;
	ret->start = st.start;
	return 0;
}

/*
 * Reads the first thread's stat, which has the process's name and start. It
 * exists as long as any thread of the process lives. ("task/PID/stat" would do
 * for both cases, but takes 8 us longer.)
 */
static int read_stat(int at, pid_t pid, pid_t tid, struct proc_view *ret)
{
	char name[32] = "stat";
	char text[PROC_STAT_MAX];
	ssize_t len;

	if (tid != pid)
		(void)snprintf(name, sizeof(name), "task/%d/stat", (int)pid);
	len = read_text(at, name, text, sizeof(text));
	return len < 0 ? (int)len : parse_stat(text, ret);
}

static void read_exe(int at, struct proc_view *ret)
{
	ssize_t len = readlinkat(at, "exe", ret->exe, sizeof(ret->exe) - 1);

	ret->exe[len > 0 ? len : 0] = '\0';
}

/*
 * An exec sets, in this order: new memory with its executable, new name,
 * arguments. We read memory, arguments, the rest, and last check that the
 * memory is still the same. So if there are arguments, the rest belongs to
 * them. Memory without arguments is an exec half done (or a process that wiped
 * them out): it is described, but no traces are kept.
 *
 * -EAGAIN: it became another program meanwhile.
 */
static int look_once(int at, pid_t pid, pid_t tid, struct proc_view *ret,
		     struct proc_traces *t)
{
	struct stat st;
	bool lives;
	int r;

	t->memory = openat(at, "pagemap", O_RDONLY | O_CLOEXEC);
	lives = t->memory >= 0 && memory_lives(t->memory);
	t->cmdline = openat(at, "cmdline", O_RDONLY | O_CLOEXEC);
	if (t->cmdline < 0 || read_cmdline(t->cmdline, ret->cmdline) < 0)
		ret->cmdline[0] = '\0';
	r = read_stat(at, pid, tid, ret);
	if (r < 0)
		return r;
	if (fstat(at, &st) < 0)
		return -errno;
	ret->uid = st.st_uid;
	read_exe(at, ret);

	if (lives && ret->cmdline[0])
		return memory_lives(t->memory) ? 0 : -EAGAIN;
	if (lives) {
		proc_traces_close(t);
		return 0;
	}
	close_p(&t->memory);
	t->memory = -1;
	if (t->cmdline >= 0 && !cmdline_same(t->cmdline, ret->cmdline))
		return -EAGAIN;
	return 0;
}

static int look_through(const struct proc *p, pid_t pid, pid_t tid,
			struct proc_view *ret, struct proc_traces *ret_traces)
{
	CLEANUP(close_p) int at = -1;
	CLEANUP(proc_traces_close)
	struct proc_traces t = { .memory = -1, .cmdline = -1 };
	char name[16];
	int r = -EAGAIN;

	/* The descriptor stays this process's even if its id is reused. */
	(void)snprintf(name, sizeof(name), "%d", (int)tid);
	at = openat(p->fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (at < 0)
		return -errno;
	for (int i = 0; i < LOOKS_MAX && r == -EAGAIN; i++) {
		proc_traces_close(&t);
		r = look_once(at, pid, tid, ret, &t);
	}
	if (r < 0 && r != -EAGAIN)
		return r;
	/*
	 * Without traces if it still changes after LOOKS_MAX looks, or if
	 * descriptors are scarce.
	 */
	if (r == 0 && t.memory < p->fd_max && t.cmdline < p->fd_max) {
		*ret_traces = t;
		t = (struct proc_traces){ .memory = -1, .cmdline = -1 };
	}
	return 0;
}

/* A thread of `pid` beside the first, 0: there is none. */
static pid_t other_thread(const struct proc *p, pid_t pid)
{
	CLEANUP(closedir_p) DIR *dir = NULL;
	char name[32];
	struct dirent *d;
	int fd;

	(void)snprintf(name, sizeof(name), "%d/task", (int)pid);
	fd = openat(p->fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir)
		close_p(&fd);
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is ours alone. */
	while (dir && (d = readdir(dir)) != NULL) {
		pid_t tid = (pid_t)strtol(d->d_name, NULL, 10);

		if (tid > 0 && tid != pid)
			return tid;
	}
	return 0;
}

int proc_look(const struct proc *p, pid_t pid, pid_t tid, struct proc_view *ret,
	      struct proc_traces *ret_traces)
{
	int r = look_through(p, pid, tid, ret, ret_traces);
	pid_t other;

	if (r < 0 || tid != pid || ret->cmdline[0] || ret->exe[0])
		return r;
	/* A first thread that has ended shows no memory; others do. */
	other = other_thread(p, pid);
	if (!other)
		return 0;
	proc_traces_close(ret_traces);
	return look_through(p, pid, other, ret, ret_traces);
}

/* kcmp cannot see the memory of a process whose first thread has ended. */
static bool shows_memory(const struct proc *p, pid_t pid)
{
	char name[32];
	char byte;

	(void)snprintf(name, sizeof(name), "%d/exe", (int)pid);
	return readlinkat(p->fd, name, &byte, 1) >= 0 || errno != ENOENT;
}

bool proc_may_share(const struct proc *p, pid_t tid, pid_t parent)
{
	bool known;
	bool shares = kcmp_shares(tid, parent, &known);

	if (known)
		return shares || !shows_memory(p, parent);
	/*
	 * Where kcmp is allowed and yet fails, the parent is gone, or it has
	 * other credentials and therefore other memory: changing credentials
	 * makes shared memory undumpable, and we could not have opened it.
	 */
	return !p->compares;
}

struct proc_probe *proc_probe_new(struct proc_traces *t, bool shared)
{
	CLEANUP(proc_traces_close) struct proc_traces mine = *t;
	struct proc_probe *probe;
	bool memory = mine.memory >= 0 && !shared;

	*t = (struct proc_traces){ .memory = -1, .cmdline = -1 };
	if (!memory && mine.cmdline < 0)
		return NULL;
	probe = malloc(sizeof(*probe));
	if (!probe)
		return NULL;
	atomic_init(&probe->refs, 1);
	probe->memory = memory;
	probe->fd = take_fd(memory ? &mine.memory : &mine.cmdline);
	assert(probe->fd >= 0);
	return probe;
}

struct proc_probe *proc_probe_ref(struct proc_probe *probe)
{
	unsigned refs = atomic_fetch_add_explicit(&probe->refs, 1,
						  memory_order_relaxed);

	assert(refs > 0);
	return probe;
}

void proc_probe_unref(struct proc_probe *probe)
{
	if (!probe || atomic_fetch_sub_explicit(&probe->refs, 1,
						memory_order_acq_rel) != 1)
		return;
	(void)close(probe->fd);
	free(probe);
}

bool proc_probe_same(const struct proc_probe *probe, const char *cmdline)
{
	if (probe->memory)
		return memory_lives(probe->fd);
	return cmdline_same(probe->fd, cmdline);
}
