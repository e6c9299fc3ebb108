/*
 * How to notice that a process is no longer what it was? Measured here, for a
 * descriptor kept open and asked again:
 *
 *	/proc/PID/pagemap	0.24 us	a syscall with nothing behind it
 *	/proc/PID/comm		0.9 us
 *	/proc/PID/cmdline	2.3 us	takes the process's mmap lock
 *	/proc/PID/stat		4.1 us
 *	/proc/PID/status	8.6 us
 *
 * comm does not tell `sh` from the `sh script` it becomes, which is what
 * shells do all day. pagemap is the cheapest and the sharpest: such a
 * descriptor belongs not to the process but to the memory it had when the
 * descriptor was opened. exec gives a process new memory, exit takes it away,
 * and a number used again comes with memory of its own. While the memory
 * lives, reading one byte fails with EINVAL (entries are eight bytes long, and
 * the kernel checks that after it has got hold of the memory); when it is
 * gone, the read returns 0. Anything but EINVAL is taken for a change, so a
 * kernel that behaves differently costs time and not truth.
 *
 * Two kinds of process need another probe. A vforked child runs in its
 * parent's memory, which does not die when the child execs; kcmp(2) tells,
 * and where a container's seccomp forbids kcmp, equality of the executables is
 * taken as a warning (actor.c). And a process we may not inspect (another
 * user's, a set-user-id program's) or that has no memory (a kernel thread)
 * shows no pagemap. For those cmdline is compared: readable by all, and it
 * follows the process through exec. An exec that changes not a letter of it
 * goes unnoticed, and there would be little to say about it.
 *
 * Why not ask cmdline always? The mmap lock. A process with many threads may
 * wait for it behind one that waits, holding it, for a write-back that we are
 * to serve; if as many of its threads have requests with us as we have
 * workers, and each worker asked for cmdline, nobody would be left to serve.
 * So cmdline is read when a program is met for the first time, as a rule
 * before it has mapped a file of ours, and not again but for the two kinds
 * above. For the same reason no lock of ours is held here: opening pagemap
 * waits for an exec in progress, and the last one to let go of a process's
 * memory, which may be us, writes back what it had mapped. Neither happens to
 * the process whose request we hold, for that one stands still until we
 * answer, but it may happen to an ancestor: one worker may be held up by what
 * another is to serve.
 */
#include "fs/author/proc.h"

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

/* A program met while it execs is looked at again, so many times. */
#define LOOKS_MAX 3

/* Enough for every line before the ones we want, and for all of stat. */
#define STAT_MAX   1024
#define STATUS_MAX 512

struct proc_probe {
	atomic_uint refs;
	int fd;
	bool memory; /* fd is of pagemap, not of cmdline */
};

/* The number an entry like "self" stands for, 0: none. */
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
	/* Another namespace's /proc would show us other people. */
	if (fd >= 0 && link_number(fd, "self") != getpid()) {
		(void)close(fd);
		fd = -1;
	}
	p->fd = take_fd(&fd);
	p->fd_max = FS_PROBES_SHARE(fs_descriptors());
	(void)kcmp_shares(getpid(), getpid(), &p->compares);
}

void proc_release(struct proc *p)
{
	close_p(&p->fd);
	p->fd = -1;
}

bool proc_has_thread(pid_t pid, pid_t tid)
{
	/* Signal 0 is not sent; not being allowed to is as good a yes. */
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

	/* Most often it is the first thread, whose number is the process's. */
	if (proc_has_thread(tid, tid))
		return tid;
	(void)snprintf(name, sizeof(name), "%d/status", (int)tid);
	if (read_text(p->fd, name, text, sizeof(text)) < 0)
		return 0;
	/* No name can forge this line: newlines in names are escaped. */
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

/* Arguments end in NUL each; programs that retitle themselves leave more. */
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

	return read_cmdline(fd, text) == 0 && strcmp(text, cmdline) == 0;
}

static bool memory_lives(int fd)
{
	char byte;

	return pread(fd, &byte, 1, 0) < 0 && errno == EINVAL;
}

/* The text after `n` more spaces, NULL: there are not so many. */
static const char *skip_fields(const char *text, int n)
{
	while (text && n-- > 0) {
		text = strchr(text, ' ');
		if (text)
			text++;
	}
	return text;
}

/*
 * "PID (COMM) STATE PPID ... START ...", where START is the 22nd and COMM may
 * hold anything, blanks and parentheses too.
 */
static int parse_stat(const char *text, struct proc_view *ret)
{
	const char *comm = strchr(text, '(');
	const char *end = strrchr(text, ')');
	const char *ppid = skip_fields(end, 2);
	const char *start = skip_fields(ppid, 18);

	if (!comm || !start || end - comm - 1 > PROC_COMM_MAX)
		return -EBADMSG;
	(void)snprintf(ret->comm, sizeof(ret->comm), "%.*s",
		       (int)(end - comm - 1), comm + 1);
	ret->ppid = (pid_t)strtol(ppid, NULL, 10);
	ret->start = strtoull(start, NULL, 10);
	return 0;
}

/*
 * The first thread's, for its name and start are the process's. It stays even
 * when that thread has ended, as long as others live. (Its place among the
 * threads would do for both cases, but takes 8 us longer to reach.)
 */
static int read_stat(int at, pid_t pid, pid_t tid, struct proc_view *ret)
{
	char name[32] = "stat";
	char text[STAT_MAX];
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
 * An exec does this, in this order: new memory with its executable, new name,
 * arguments put in place. We ask in the order memory, arguments, the rest, and
 * last whether the memory is still the same. So when there are arguments, the
 * rest is theirs. Memory without arguments is an exec half done (or a process
 * that wiped them out), nothing to rely on: it is described, but not watched.
 *
 * -EAGAIN: it became another program under our eyes.
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

	/* Held open, it is this process's, whoever gets the number next. */
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
	 * Still changing after so many looks, or descriptors are scarce:
	 * described, but not watched.
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
	/* A first thread that has ended shows no memory; others may live. */
	other = other_thread(p, pid);
	if (!other)
		return 0;
	proc_traces_close(ret_traces);
	return look_through(p, pid, other, ret, ret_traces);
}

/* A process whose first thread has ended keeps it where kcmp cannot see. */
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
	 * Where kcmp is allowed and yet fails, the parent is gone, or its
	 * credentials are others and then so is its memory: changing them
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
	return probe;
}

struct proc_probe *proc_probe_ref(struct proc_probe *probe)
{
	atomic_fetch_add_explicit(&probe->refs, 1, memory_order_relaxed);
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
