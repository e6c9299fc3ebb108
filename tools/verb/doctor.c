/*
 * statetape doctor: can it work here, and if not fully, what is lost? Facts
 * come from trying (probe.h), never from a version number where a try is
 * possible, and with the rights of the user who asks.
 */
#define FUSE_USE_VERSION 314

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <linux/magic.h>
#include <linux/major.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "fs/mount/mount.h"
#include "fs/mount/trial.h"
#include "fs/node/below.h"
#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "tools/cli/probe.h"
#include "tools/cli/repo.h"
#include "tools/cli/say.h"
#include "tools/cli/verbs.h"

#define CHECKS_MAX     24
#define SPACE_WANTED   (UINT64_C(1) << 30)
#define WATCHES_WANTED 16384
#define FILES_WANTED   1024
#define FUSE_MINOR     229
#define CIFS_MAGIC     0xff534d42
#define NAME_COLUMN    10
#define TEXT_COLUMN    31
#define WIDTH	       79

#ifdef FUSE_CAP_PASSTHROUGH
#define LIBFUSE_PASSES true
#else
#define LIBFUSE_PASSES false
#endif
#define LIBFUSE_RINGS (FUSE_VERSION >= FUSE_MAKE_VERSION(3, 18))

enum verdict {
	OK,	  /* fully works */
	DEGRADED, /* works, with a loss */
	MISSING,  /* does not work until fixed */
};

struct doctor_check {
	const char *name;
	enum verdict verdict;
	char *text;
};

struct report {
	struct doctor_check checks[CHECKS_MAX];
	size_t n;
};

/* Facts, collected before they are judged. */
struct machine {
	bool root;
	int device;		/* opening /dev/fuse: 0 or -errno */
	char *helper;		/* fusermount3's path, NULL: not found */
	bool helper_set;	/* it is set-user-ID root */
	bool helper_works;	/* it can also unmount */
	int direct;		/* mounting with our own rights: 0 or -errno */
	int user;		/* mounting in a user namespace: 0 or -errno */
	struct probe_fuse fuse; /* if either of the two worked */
};

__attribute__((format(printf, 4, 5))) static void note(struct report *r,
						       const char *name,
						       enum verdict verdict,
						       const char *format, ...)
{
	struct doctor_check *c = &r->checks[r->n];
	va_list args;

	assert(r->n < CHECKS_MAX);
	va_start(args, format);
	if (vasprintf(&c->text, format, args) < 0)
		c->text = NULL;
	va_end(args);
	must_have(c->text);
	c->name = name;
	c->verdict = verdict;
	r->n++;
}

static void report_release(struct report *r)
{
	for (size_t i = 0; i < r->n; i++)
		free(r->checks[i].text);
}

static void machine_release(struct machine *m)
{
	free(m->helper);
}

/*
 * The path of program `name`, searched as a shell does, then in Debian's place.
 */
static char *find_program(const char *name)
{
	const char *path = getenv("PATH"); /* NOLINT(concurrency-mt-unsafe) */
	CLEANUP(free_p)
	char *list = format_text("%s:/usr/bin:/bin:/usr/local/bin",
				 path ? path : "");
	char *rest = list, *dir;

	while ((dir = strsep(&rest, ":"))) {
		char *file = format_text("%s/%s", dir, name);

		if (*dir && access(file, X_OK) == 0)
			return file;
		free(file);
	}
	return NULL;
}

/* Does running `file` give root's rights? */
static bool is_set_root(const char *file)
{
	struct statvfs fs;
	struct stat st;

	if (stat(file, &st) < 0 || statvfs(file, &fs) < 0)
		return false;
	return st.st_uid == 0 && (st.st_mode & S_ISUID) &&
	       !(fs.f_flag & ST_NOSUID) &&
	       prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1;
}

/* 0, or why it does not work: a container may have put another file there. */
static int try_device(void)
{
	CLEANUP(close_p) int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	return S_ISCHR(st.st_mode) &&
			       st.st_rdev == makedev(MISC_MAJOR, FUSE_MINOR)
		       ? 0
		       : -ENODEV;
}

static void look(struct machine *ret)
{
	*ret = (struct machine){
		.root = geteuid() == 0,
		.device = try_device(),
		.helper = find_program("fusermount3"),
	};
	ret->helper_set = ret->helper && is_set_root(ret->helper);
	ret->helper_works = ret->helper_set && mount_helper_can_unmount();
	ret->direct = probe_fuse(false, &ret->fuse);
	ret->user = probe_fuse(true, &ret->fuse);
}

static void check_device(struct report *r, const struct machine *m)
{
	if (m->device == 0)
		note(r, "/dev/fuse", OK, "can be opened");
	else if (m->device == -ENOENT || m->device == -ENXIO ||
		 m->device == -ENODEV)
		note(r, "/dev/fuse", MISSING,
		     "is not there; load the module with 'modprobe fuse', or "
		     "start the container with '--device /dev/fuse'");
	else
		note(r, "/dev/fuse", MISSING,
		     "cannot be opened (%s); 'chmod 666 /dev/fuse' is safe, "
		     "and a container needs '--device /dev/fuse'",
		     errno_text(m->device));
}

static void check_mounting(struct report *r, const struct machine *m)
{
	if (m->direct == 0)
		note(r, "mounting", OK, "works directly");
	else if (m->device < 0)
		note(r, "mounting", MISSING, "needs /dev/fuse");
	else if (!m->root && m->helper_works)
		note(r, "mounting", OK, "works through fusermount3");
	else if (m->user == 0)
		note(r, "mounting", DEGRADED,
		     "only with 'mount --private', in a user namespace (%s "
		     "otherwise); %s",
		     errno_text(m->direct),
		     m->root ? "a container needs the SYS_ADMIN capability for "
			       "more"
			     : "install the package fuse3 for more");
	else if (m->root)
		note(r, "mounting", MISSING,
		     "is refused (%s); a container needs "
		     "'--cap-add SYS_ADMIN --device /dev/fuse'",
		     errno_text(m->direct));
	else
		note(r, "mounting", MISSING,
		     "is refused (%s); see 'fusermount3'", errno_text(m->user));
}

static bool is_foreign(const char *repo)
{
	struct stat st;

	return repo && stat(repo, &st) == 0 && st.st_uid != geteuid();
}

/* Where a private mount cannot be made, or takes something away: `why`. */
static void check_other_way(struct report *r, const struct machine *m,
			    const char *repo, const char *why)
{
	bool visible = m->root ? m->direct == 0
			       : m->device == 0 && m->helper_works &&
					 !is_foreign(repo);

	if (visible)
		note(r, "run", OK,
		     "mounts where all processes see it%s, and only this "
		     "user's may use it: %s",
		     m->root ? "" : ", through fusermount3", why);
	else
		note(r, "run", DEGRADED,
		     "works without a mount, so changes are found later, "
		     "without their authors: %s; see 'mounting'",
		     why);
}

/* What 'statetape run' will do, which needs less than 'mount'. */
static void check_run(struct report *r, const struct machine *m,
		      const char *repo)
{
	CLEANUP(trial_release) struct trial trial = { 0 };
	CLEANUP(free_p) char *path = repo ? realpath(repo, NULL) : NULL;
	CLEANUP(free_p) char *text = NULL;
	int possible = m->root && m->direct == 0 ? 0 : m->user;

	if (path && !private_is_direct() &&
	    mount_find(path, NULL, &(struct mount_entry){ 0 }) < 0) {
		trial_run(path, &trial);
		text = trial_text(&trial);
	} else {
		trial.verdict = possible == 0 ? TRIAL_FITS : TRIAL_IMPOSSIBLE;
	}
	if (trial.verdict == TRIAL_FITS)
		note(r, "run", text ? DEGRADED : OK,
		     "mounts where the agent alone sees it%s%s",
		     text ? "; " : "", text ? text : "");
	else
		check_other_way(r, m, repo,
				text ? text
				     : "it cannot be done where the agent "
				       "alone would see it");
}

static void check_helper(struct report *r, const struct machine *m)
{
	const char *lost = m->root ? "ordinary users cannot mount; root can"
				   : "no mounts but '--private' ones";

	if (!m->helper)
		note(r, "fusermount3", DEGRADED,
		     "is not installed (package fuse3): %s", lost);
	else if (!m->helper_set)
		note(r, "fusermount3", DEGRADED,
		     "'%s' gives no root rights (it is not set-uid root, which "
		     "reinstalling fuse3 repairs, or a sandbox takes such "
		     "rights away): %s",
		     m->helper, lost);
	else if (!m->helper_works)
		note(r, "fusermount3", DEGRADED,
		     "'%s' cannot unmount without /etc/mtab: %s; 'ln -s "
		     "/proc/self/mounts /etc/mtab'",
		     m->helper, lost);
	else
		note(r, "fusermount3", OK, "'%s', set-uid root%s", m->helper,
		     m->root ? "; only ordinary users need it" : "");
}

static bool conf_says(const char *file, const char *wanted)
{
	CLEANUP(fclose_p) FILE *f = fopen(file, "re");
	CLEANUP(free_p) char *line = NULL;
	size_t size = 0;

	while (f && getline(&line, &size, f) >= 0) {
		char *text = line + strspn(line, " \t");

		text[strcspn(text, " \t\r\n#")] = '\0';
		if (strcmp(text, wanted) == 0)
			return true;
	}
	return false;
}

static void check_allow_other(struct report *r, const struct machine *m)
{
	if (conf_says("/etc/fuse.conf", "user_allow_other"))
		note(r, "user_allow_other", OK, "is set in /etc/fuse.conf");
	else if (m->root)
		note(r, "user_allow_other", OK,
		     "is not set; only ordinary users who want --allow-other "
		     "need it in /etc/fuse.conf");
	else
		note(r, "user_allow_other", DEGRADED,
		     "is not set: no --allow-other; root can put it into "
		     "/etc/fuse.conf");
}

static bool is_probed(const struct machine *m)
{
	return m->direct == 0 || m->user == 0;
}

static void check_kernel(struct report *r, const struct machine *m)
{
	struct utsname u;

	if (uname(&u) < 0)
		return;
	if (is_probed(m))
		note(r, "kernel", OK, "%s, FUSE protocol %u.%u", u.release,
		     m->fuse.major, m->fuse.minor);
	else
		note(r, "kernel", OK,
		     "%s; the features below are judged by version, because a "
		     "trial mount was refused",
		     u.release);
}

/* Used for large files (fs/node/pass.h), which are slower without it. */
static void check_passthrough(struct report *r, const struct machine *m)
{
	static const char lost[] =
		"a large file takes longer to read for the first time";
	const char *how = is_probed(m) ? "" : " (by version)";
	bool there = is_probed(m) ? m->fuse.flags & PROBE_FUSE_PASSTHROUGH
				  : below_kernel_at_least(6, 9);

	if (!LIBFUSE_PASSES)
		note(r, "FUSE passthrough", DEGRADED,
		     "is unknown to this libfuse: %s; 3.17 has it", lost);
	else if (!there)
		note(r, "FUSE passthrough", DEGRADED,
		     "is not offered by the kernel%s: %s; Linux 6.9 has it",
		     how, lost);
	else if (!m->root)
		note(r, "FUSE passthrough", OK, "is for root; without it %s",
		     lost);
	else
		note(r, "FUSE passthrough", OK,
		     "is offered by the kernel%s; large files are read as "
		     "fast as below",
		     how);
}

static void check_uring(struct report *r, const struct machine *m)
{
	static const char file[] = "/sys/module/fuse/parameters/enable_uring";
	static const char name[] = "FUSE over io_uring";
	static const char lost[] = "opening files takes longer";

	if (access(file, F_OK) < 0)
		note(r, name, OK,
		     "is unknown to this kernel; Linux 6.14 has it, and opens "
		     "files faster");
	else if (!LIBFUSE_RINGS)
		note(r, name, DEGRADED,
		     "is unknown to this libfuse: %s; 3.18 has it", lost);
	else if (is_probed(m) ? !(m->fuse.flags & PROBE_FUSE_OVER_IO_URING)
			      : !conf_says(file, "Y"))
		note(r, name, DEGRADED,
		     "is switched off: %s; to switch it on for later mounts, "
		     "as root: 'echo Y >%s'",
		     lost, file);
	else
		note(r, name, OK, "is offered by the kernel");
}

/* Used while requests arrive (fs/tune/awake.h). */
static void check_awake(struct report *r, const struct machine *m)
{
	static const char file[] = "/dev/cpu_dma_latency";
	static const char name[] = "idle processors";
	static const char lost[] =
		"sleep between requests, which then take longer";

	if (access(file, W_OK) == 0)
		note(r, name, OK,
		     "are kept awake while requests arrive in quick "
		     "succession");
	else if (m->root)
		note(r, name, DEGRADED, "%s: there is no %s", lost, file);
	else
		note(r, name, OK, "%s; root's mounts keep them awake", lost);
}

static void check_namespaces(struct report *r, const struct machine *m)
{
	int user = probe_unshare(CLONE_NEWUSER);
	int mounts = probe_unshare(CLONE_NEWNS | (m->root ? 0 : CLONE_NEWUSER));

	if (user == 0)
		note(r, "user namespaces", OK, "can be made");
	else
		note(r, "user namespaces", m->root ? OK : DEGRADED,
		     "cannot be made (%s)%s", errno_text(user),
		     m->root ? "; root does without"
			     : ": no 'mount --private'; see the sysctls "
			       "user.max_user_namespaces and "
			       "kernel.apparmor_restrict_unprivileged_userns");
	if (mounts == 0)
		note(r, "mount namespaces", OK, "can be made");
	else
		note(r, "mount namespaces", DEGRADED,
		     "cannot be made (%s): no 'mount --private'; a container "
		     "needs '--cap-add SYS_ADMIN'",
		     errno_text(mounts));
}

/* The number in the file `path`, 0 if it cannot be read. */
static uint64_t read_number(const char *path)
{
	CLEANUP(fclose_p) FILE *f = fopen(path, "re");
	char text[32] = "";

	if (!f || !fgets(text, sizeof(text), f))
		return 0;
	return strtoull(text, NULL, 10);
}

static void check_limits(struct report *r)
{
	uint64_t watches = read_number("/proc/sys/fs/inotify/max_user_watches");
	struct rlimit files = { 0 };

	if (watches >= WATCHES_WANTED)
		note(r, "inotify watches", OK, "%ju directories",
		     (uintmax_t)watches);
	else
		note(r, "inotify watches", DEGRADED,
		     "%ju directories: beyond them caches last a second only; "
		     "'sysctl fs.inotify.max_user_watches=524288'",
		     (uintmax_t)watches);
	(void)getrlimit(RLIMIT_NOFILE, &files);
	if (files.rlim_max >= FILES_WANTED)
		note(r, "open files", OK,
		     "%ju; each file open through a mount takes one",
		     (uintmax_t)files.rlim_max);
	else
		note(r, "open files", DEGRADED,
		     "%ju: each file open through a mount takes one, and "
		     "large repositories are slow; raise 'ulimit -Hn'",
		     (uintmax_t)files.rlim_max);
}

static void check_proc(struct report *r, const struct machine *m)
{
	if (access("/proc/self/stat", R_OK) < 0)
		note(r, "/proc", MISSING,
		     "is not mounted, so authors cannot be named; "
		     "'mount -t proc proc /proc'");
	else if (!m->root && access("/proc/1/stat", R_OK) < 0)
		note(r, "/proc", DEGRADED,
		     "hides other users' processes: they appear in the journal "
		     "by number only; root can 'mount -o remount,hidepid=0 "
		     "/proc'");
	else
		note(r, "/proc", OK, "is mounted; authors can be named");
}

static void check_libraries(struct report *r)
{
	note(r, "libfuse", OK, "%s", fuse_pkgversion());
	note(r, "compilers, npm", OK, "not needed at run time");
}

/* `path` or its nearest existing parent directory (free it). */
static char *nearest(const char *path)
{
	char *at = must_have(strdup(path));
	char *slash;

	while (access(at, F_OK) < 0 && (slash = strrchr(at, '/')) &&
	       slash != at)
		*slash = '\0';
	return at;
}

static void check_state(struct report *r, const struct state *s)
{
	CLEANUP(free_p) char *there = nearest(s->dir);
	CLEANUP(free_p) char *space = NULL;
	struct statvfs fs;
	uint64_t free_bytes;

	if (access(there, W_OK | X_OK) < 0 || statvfs(there, &fs) < 0) {
		note(r, "state directory", MISSING,
		     "'%s' cannot be written (%s); set XDG_STATE_HOME", there,
		     errno_text(errno));
		return;
	}
	free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
	space = size_text(free_bytes);
	if (free_bytes < SPACE_WANTED)
		note(r, "state directory", DEGRADED,
		     "only %s free at '%s': journal lines are lost when it is "
		     "full; see 'mount --keep'",
		     space, there);
	else
		note(r, "state directory", OK, "%s free at '%s'", space, there);
}

static void check_runtime(struct report *r, const struct state *s)
{
	CLEANUP(free_p) char *there = nearest(s->run);

	if (access(there, W_OK | X_OK) < 0)
		note(r, "runtime directory", MISSING,
		     "'%s' cannot be written (%s); set XDG_RUNTIME_DIR", there,
		     errno_text(errno));
	else
		note(r, "runtime directory", OK, "'%s'", there);
}

static void check_directories(struct report *r, const char *repo)
{
	CLEANUP(state_release) struct state s = REPO_STATE_EMPTY;
	CLEANUP(free_p) char *why = NULL;
	/* Without REPO, any path will do that cannot hold state itself. */
	bool there = repo && access(repo, F_OK) == 0;
	int error = state_init(there ? repo : "/proc", 0, &s, &why);

	if (error < 0) {
		note(r, "state directory", MISSING, "%s",
		     why ? why : errno_text(error));
		return;
	}
	check_state(r, &s);
	check_runtime(r, &s);
}

static bool is_remote(const char *path)
{
	struct statfs fs;

	if (statfs(path, &fs) < 0)
		return false;
	return fs.f_type == NFS_SUPER_MAGIC || fs.f_type == SMB_SUPER_MAGIC ||
	       fs.f_type == CIFS_MAGIC || fs.f_type == V9FS_MAGIC;
}

static void check_repository(struct report *r, const char *repo)
{
	struct stat st;

	if (stat(repo, &st) < 0)
		note(r, "repository", MISSING, "'%s': %s", repo,
		     errno_text(errno));
	else if (!S_ISDIR(st.st_mode))
		note(r, "repository", MISSING, "'%s' is not a directory", repo);
	else if (access(repo, R_OK | X_OK) < 0)
		note(r, "repository", MISSING, "'%s' cannot be read (%s)", repo,
		     errno_text(errno));
	else if (access(repo, W_OK) < 0)
		note(r, "repository", DEGRADED,
		     "'%s' cannot be written (%s): there will be little to "
		     "capture",
		     repo, errno_text(errno));
	else if (is_remote(repo))
		note(r, "repository", DEGRADED,
		     "'%s' is on a network file system: changes made on other "
		     "machines are not captured",
		     repo);
	else
		note(r, "repository", OK, "'%s'", repo);
}

static const char *const verdict_names[] = {
	[OK] = "ok",
	[DEGRADED] = "degraded",
	[MISSING] = "missing",
};

static size_t count(const struct report *r, enum verdict verdict)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++)
		n += r->checks[i].verdict == verdict;
	return n;
}

static void print_text(const struct report *r)
{
	static const enum colour colours[] = {
		[OK] = COLOUR_GREEN,
		[DEGRADED] = COLOUR_YELLOW,
		[MISSING] = COLOUR_RED,
	};
	bool wanted = colour_wanted(stdout);

	for (size_t i = 0; i < r->n; i++) {
		const struct doctor_check *c = &r->checks[i];

		(void)printf("%s%-*s%s%-*s",
			     colour_text(wanted, colours[c->verdict]),
			     NAME_COLUMN, verdict_names[c->verdict],
			     colour_text(wanted, COLOUR_NONE),
			     TEXT_COLUMN - NAME_COLUMN - 2, c->name);
		(void)printf("- ");
		print_wrapped(stdout, c->text, TEXT_COLUMN, TEXT_COLUMN, WIDTH);
	}
}

static void print_summary(const struct report *r)
{
	size_t missing = count(r, MISSING), degraded = count(r, DEGRADED);

	if (missing)
		(void)printf("\nstatetape cannot fully work here yet: %zu "
			     "missing, %zu degraded.\n",
			     missing, degraded);
	else if (degraded)
		(void)printf("\nstatetape works here; %zu degraded.\n",
			     degraded);
	else
		(void)puts("\nstatetape works here.");
}

static void print_json(const struct report *r)
{
	(void)printf("{\"usable\":%s,\"checks\":[",
		     count(r, MISSING) ? "false" : "true");
	for (size_t i = 0; i < r->n; i++) {
		(void)printf("%s{\"check\":\"%s\",\"verdict\":\"%s\","
			     "\"text\":",
			     i ? "," : "", r->checks[i].name,
			     verdict_names[r->checks[i].verdict]);
		print_json_string(stdout, r->checks[i].text);
		(void)putchar('}');
	}
	(void)puts("]}");
}

int verb_doctor(const struct invocation *in)
{
	CLEANUP(report_release) struct report r = { 0 };
	CLEANUP(machine_release) struct machine m = { 0 };

	look(&m);
	check_device(&r, &m);
	check_mounting(&r, &m);
	check_run(&r, &m, in->arguments[0]);
	check_helper(&r, &m);
	check_allow_other(&r, &m);
	check_kernel(&r, &m);
	check_passthrough(&r, &m);
	check_uring(&r, &m);
	check_awake(&r, &m);
	check_namespaces(&r, &m);
	check_limits(&r);
	check_proc(&r, &m);
	check_libraries(&r);
	check_directories(&r, in->arguments[0]);
	if (in->arguments[0])
		check_repository(&r, in->arguments[0]);
	if (in->options[OPTION_JSON].given) {
		print_json(&r);
	} else {
		print_text(&r);
		print_summary(&r);
	}
	return count(&r, MISSING) ? EXIT_FAILURE : EXIT_SUCCESS;
}
