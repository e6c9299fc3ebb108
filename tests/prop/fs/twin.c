/*
 * Starts the processes, waits for them, compares the trees.
 *
 *	twin [--seed N] [--procs N] [--ops N] [--seconds S] [--log DIR]
 *	     [--below DIR] PLAIN MOUNT
 *
 * PLAIN and MOUNT are empty directories. Every process stops after --ops deeds
 * or --seconds, whichever comes first. With --below, the directory below the
 * mount is compared as well. Processes with odd numbers work as ordinary users
 * if we are root.
 *
 * Exit 0: alike. 1: a difference; the operations of the process that noticed
 * it are printed. 2: the test could not run.
 */
#include "tests/prop/fs/twin.h"

#include <fcntl.h>
#include <getopt.h>
#include <grp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PROCS_MAX 256
#define TEAM	  61101

struct plan {
	const char *root[SIDES];
	const char *below;
	const char *log;
	uint64_t seed;
	uint64_t ops;
	uint64_t seconds;
	uint64_t procs;
	atomic_bool *stop;
};

void twin_say(struct twin *t, const char *format, ...)
{
	char *line = t->story[t->op % STORY];
	va_list ap;
	int n = snprintf(line, STORY_LINE,
			 "%llu %s: ", (unsigned long long)t->op, t->zone->name);

	va_start(ap, format);
	(void)vsnprintf(line + n, STORY_LINE - (size_t)n, format, ap);
	va_end(ap);
}

void twin_fail(struct twin *t, const char *format, ...)
{
	uint64_t first = t->op >= STORY ? t->op - STORY + 1 : 0;
	va_list ap;

	/* One report is enough. */
	if (atomic_exchange(t->stop, true))
		_exit(1);
	for (uint64_t n = first; n <= t->op; n++) {
		if (t->story[n % STORY][0])
			(void)printf("%s\n", t->story[n % STORY]);
	}
	(void)printf("twin: process %d (uid %d): ", t->number, (int)geteuid());
	va_start(ap, format);
	(void)vprintf(format, ap);
	va_end(ap);
	(void)printf("\n");
	(void)fflush(stdout);
	_exit(1);
}

static const char *word(long long got)
{
	const char *name = got < 0 ? strerrorname_np((int)-got) : NULL;

	return name ? name : "a success";
}

bool twin_agree(struct twin *t, const struct pair *p)
{
	if (p->got[PLAIN] != p->got[MOUNT])
		twin_fail(t,
			  "%s (%lld) on the plain side, %s (%lld) on the "
			  "mount",
			  word(p->got[PLAIN]), p->got[PLAIN],
			  word(p->got[MOUNT]), p->got[MOUNT]);
	return p->got[PLAIN] >= 0;
}

static void same(struct twin *t, const char *what, long long a, long long b)
{
	if (a != b)
		twin_fail(t,
			  "%s %lld (%#llo) on the plain side, %lld (%#llo) "
			  "on the mount",
			  what, a, (unsigned long long)a, b,
			  (unsigned long long)b);
}

void twin_same_stat(struct twin *t, const struct stat st[SIDES])
{
	const struct stat *a = &st[PLAIN], *b = &st[MOUNT];

	same(t, "mode", a->st_mode, b->st_mode);
	same(t, "owner", a->st_uid, b->st_uid);
	same(t, "group", a->st_gid, b->st_gid);
	same(t, "links", (long long)a->st_nlink, (long long)b->st_nlink);
	if (!S_ISDIR(a->st_mode))
		same(t, "size", a->st_size, b->st_size);
	if (a->st_mtim.tv_sec >= LONG_AGO && b->st_mtim.tv_sec >= LONG_AGO)
		return;
	same(t, "time", a->st_mtim.tv_sec, b->st_mtim.tv_sec);
	same(t, "nanoseconds", a->st_mtim.tv_nsec, b->st_mtim.tv_nsec);
}

void twin_same_at(struct twin *t, const char *path)
{
	struct stat st[SIDES];
	struct pair p;

	for (int s = 0; s < SIDES; s++)
		p.got[s] = outcome(fstatat(t->zone->top[s], path, &st[s],
					   AT_SYMLINK_NOFOLLOW));
	if (twin_agree(t, &p))
		twin_same_stat(t, st);
}

static void log_line(struct twin *t, const char *op, uint64_t ino,
		     const long long range[2], const char *const paths[2])
{
	if (t->log)
		(void)fprintf(t->log, "%s\t%llu\t%lld\t%lld\t%s\t%s\n", op,
			      (unsigned long long)ino, range[0], range[1],
			      paths[0], paths[1]);
}

void twin_log(struct twin *t, const char *op, uint64_t ino, long long off,
	      long long len)
{
	log_line(t, op, ino, (const long long[]){ off, len },
		 (const char *const[]){ "", "" });
}

void twin_log_paths(struct twin *t, const char *op, const char *path,
		    const char *path2)
{
	log_line(t, op, 0, (const long long[]){ -1, -1 },
		 (const char *const[]){ path, path2 });
}

bool twin_resolve(struct twin *t, const char *path, char out[PATH_MAX])
{
	char dir[PATH_MAX], link[64], *base;
	size_t root = strlen(t->root[PLAIN]) + 1;
	ssize_t len;
	int fd;

	(void)snprintf(dir, sizeof(dir), "./%s", path);
	while (dir[strlen(dir) - 1] == '/')
		dir[strlen(dir) - 1] = '\0';
	base = strrchr(dir, '/');
	*base++ = '\0';
	fd = openat(t->zone->top[PLAIN], dir, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return false;
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, out, PATH_MAX - 1);
	(void)close(fd);
	if (len <= (ssize_t)root)
		return false;
	memmove(out, out + root, (size_t)len - root);
	len -= (ssize_t)root;
	(void)snprintf(out + len, PATH_MAX - (size_t)len, "/%s", base);
	return true;
}

static int open_zone(struct zone *z, const struct plan *plan, const char *name)
{
	char path[PATH_MAX];

	(void)snprintf(z->name, sizeof(z->name), "%s", name);
	for (int s = 0; s < SIDES; s++) {
		(void)snprintf(path, sizeof(path), "%s/%s", plan->root[s],
			       name);
		z->top[s] = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (z->top[s] < 0)
			return -errno;
	}
	return 0;
}

/* The locks are files beside the logs, or unnamed names beside the twin. */
static int open_lock(const struct plan *plan, int zone)
{
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s.lock%d", plan->root[PLAIN],
		       zone);
	return open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
}

static int prepare(struct twin *t, const struct plan *plan)
{
	char name[16], path[PATH_MAX];
	int r;

	for (int s = 0; s < SIDES; s++) {
		t->root[s] = plan->root[s];
		(void)snprintf(path, sizeof(path), "%s/crowd", plan->root[s]);
		t->crowd[s] = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (t->crowd[s] < 0)
			return -errno;
	}
	for (int z = 0; z < ZONES; z++) {
		(void)snprintf(name, sizeof(name), z ? "shared%d" : "own%d",
			       z ? z : t->number);
		r = open_zone(&t->zones[z], plan, name);
		if (r < 0)
			return r;
		t->zones[z].lock = z ? open_lock(plan, z) : -1;
	}
	for (int i = 0; i < SLOTS; i++)
		t->slots[i].fd[PLAIN] = t->slots[i].fd[MOUNT] = -1;
	if (plan->log) {
		(void)snprintf(path, sizeof(path), "%s/%d", plan->log,
			       (int)getpid());
		t->log = fopen(path, "w");
		return t->log ? 0 : -errno;
	}
	return 0;
}

/* O_TMPFILE is used only where both sides have it. */
static bool have_tmpfile(const struct twin *t)
{
	for (int s = 0; s < SIDES; s++) {
		int fd = openat(t->crowd[s], ".",
				O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

		if (fd < 0)
			return false;
		if (s == MOUNT && t->log)
			(void)fprintf(t->log, "tmpfile\t0\t-1\t-1\tcrowd\t\n");
		(void)close(fd);
	}
	return true;
}

static void become_somebody(const struct twin *t)
{
	static const mode_t umasks[] = { 022, 0, 027, 077 };
	const gid_t team = TEAM;
	uid_t uid = (uid_t)(60000 + t->number);

	(void)umask(umasks[t->number / 2 % 4]);
	if (geteuid() != 0 || t->number % 2 == 0)
		return;
	if (setgroups(1, &team) < 0 || setresgid(uid, uid, uid) < 0 ||
	    setresuid(uid, uid, uid) < 0)
		_exit(2);
}

static void step(struct twin *t)
{
	size_t z = dice_one_in(&t->dice, 3) ? dice_below(&t->dice, ZONES) : 0;

	t->zone = &t->zones[z];
	t->story[t->op % STORY][0] = '\0';
	if (dice_one_in(&t->dice, 6)) {
		twin_do_crowd(t);
		return;
	}
	if (t->zone->lock >= 0)
		(void)flock(t->zone->lock, LOCK_EX);
	if (dice_one_in(&t->dice, 2))
		twin_do_name(t);
	else
		twin_do_file(t);
	if (t->zone->lock >= 0)
		(void)flock(t->zone->lock, LOCK_UN);
}

static uint64_t seconds_now(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec;
}

static void work(const struct plan *plan, int number)
{
	struct twin *t = calloc(1, sizeof(*t));
	uint64_t end = seconds_now() + plan->seconds;
	int r;

	if (!t)
		_exit(2);
	t->number = number;
	t->stop = plan->stop;
	t->privileged = geteuid() == 0;
	t->dice.state = plan->seed * PROCS_MAX + (uint64_t)number;
	r = prepare(t, plan);
	if (r < 0) {
		(void)fprintf(stderr, "twin: %s\n", strerror(-r));
		_exit(2);
	}
	become_somebody(t);
	t->tmpfile = have_tmpfile(t);
	for (; t->op < plan->ops && !atomic_load(plan->stop); t->op++) {
		if (t->op % 16 == 0 && seconds_now() > end)
			break;
		step(t);
	}
	t->zone = t->zones;
	twin_close_slots(t);
	if (t->log)
		(void)fclose(t->log);
	(void)printf("process %d: %llu deeds\n", number,
		     (unsigned long long)t->op);
	(void)fflush(stdout);
	_exit(0);
}

static int make_zone(const struct plan *plan, const char *name, uid_t uid)
{
	char path[PATH_MAX];

	for (int s = 0; s < SIDES; s++) {
		(void)snprintf(path, sizeof(path), "%s/%s", plan->root[s],
			       name);
		if (mkdir(path, 0777) < 0 ||
		    (geteuid() == 0 && chown(path, uid, (gid_t)uid) < 0))
			return -errno;
	}
	return 0;
}

static int make_zones(const struct plan *plan)
{
	char name[16];
	int r = twin_crowd_make(plan->root[PLAIN], (int)plan->procs);

	if (r == 0)
		r = twin_crowd_make(plan->root[MOUNT], (int)plan->procs);
	for (int z = 1; r == 0 && z < ZONES; z++) {
		(void)snprintf(name, sizeof(name), "shared%d", z);
		r = make_zone(plan, name, 0);
	}
	for (int n = 0; r == 0 && n < (int)plan->procs; n++) {
		(void)snprintf(name, sizeof(name), "own%d", n);
		r = make_zone(plan, name, n % 2 ? (uid_t)(60000 + n) : 0);
	}
	return r;
}

static int run(const struct plan *plan)
{
	int worst = 0, status;
	int r = make_zones(plan);

	if (r < 0) {
		(void)fprintf(stderr, "twin: %s\n", strerror(-r));
		return 2;
	}
	for (int n = 0; n < (int)plan->procs; n++) {
		pid_t pid = fork();

		if (pid == 0)
			work(plan, n);
		if (pid < 0)
			return 2;
	}
	while (wait(&status) > 0) {
		int code = WIFEXITED(status) ? WEXITSTATUS(status) : 2;

		if (!WIFEXITED(status))
			(void)printf("twin: a process died of signal %d\n",
				     WTERMSIG(status));
		if (code > worst)
			worst = code;
	}
	if (worst)
		return worst;
	worst = twin_compare(plan->root[PLAIN], plan->root[MOUNT]);
	if (plan->below)
		worst |= twin_compare(plan->root[PLAIN], plan->below);
	return worst;
}

static uint64_t number_of(const char *text)
{
	char *end;
	uint64_t n = strtoull(text, &end, 0);

	if (!*text || *end) {
		(void)fprintf(stderr, "twin: \"%s\" is not a number\n", text);
		exit(2);
	}
	return n;
}

static const struct option options[] = {
	{ "seed", required_argument, NULL, 's' },
	{ "ops", required_argument, NULL, 'n' },
	{ "procs", required_argument, NULL, 'p' },
	{ "seconds", required_argument, NULL, 't' },
	{ "log", required_argument, NULL, 'l' },
	{ "below", required_argument, NULL, 'b' },
	{ 0 },
};

static bool set_option(struct plan *plan, int c)
{
	switch (c) {
	case 's':
		plan->seed = number_of(optarg);
		return true;
	case 'n':
		plan->ops = number_of(optarg);
		return true;
	case 'p':
		plan->procs = number_of(optarg);
		return plan->procs > 0 && plan->procs <= PROCS_MAX;
	case 't':
		plan->seconds = number_of(optarg);
		return true;
	case 'l':
		plan->log = optarg;
		return true;
	case 'b':
		plan->below = optarg;
		return true;
	default:
		return false;
	}
}

int main(int argc, char **argv)
{
	struct plan plan = { .seed = (uint64_t)time(NULL),
			     .ops = UINT64_MAX,
			     .seconds = 20,
			     .procs = 16 };
	char root[SIDES][PATH_MAX];
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (!set_option(&plan, c))
			return 2;
	}
	if (argc - optind != SIDES)
		return 2;
	for (int s = 0; s < SIDES; s++) {
		plan.root[s] = realpath(argv[optind + s], root[s]);
		if (!plan.root[s]) {
			perror(argv[optind + s]);
			return 2;
		}
	}
	plan.stop = mmap(NULL, sizeof(*plan.stop), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (plan.stop == MAP_FAILED)
		return 2;
	(void)umask(0);
	(void)printf("twin: seed %llu, %llu processes\n",
		     (unsigned long long)plan.seed,
		     (unsigned long long)plan.procs);
	(void)fflush(stdout);
	return run(&plan);
}
