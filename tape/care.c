#include "tape/care.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"

struct care_file {
	struct tree_stamp stamp;
	char path[PATH_MAX]; /* "": none */
};

/* The page. A half-written one is harmless: it names no file that exists. */
struct care_note {
	struct care_file now;	       /* what the crashed thread parsed */
	volatile sig_atomic_t crashed; /* `now` is complete */
	struct care_file blamed;
	unsigned crashes; /* that `blamed` caused */
};

struct care {
	struct care_note *note;
};

static const int signals[] = { SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL };
#define SIGNALS (sizeof(signals) / sizeof(*signals))

static struct care_note *minded; /* of the process's one care */
static __thread struct care_file at_work;

static bool is_same(const struct care_file *f, const char *path,
		    const struct tree_stamp *st)
{
	return strcmp(f->path, path) == 0 && f->stamp.size == st->size &&
	       f->stamp.mtime_ns == st->mtime_ns;
}

/* SA_RESETHAND: the second signal ends the process. */
static void on_crash(int number)
{
	if (minded && at_work.path[0] && !minded->crashed) {
		minded->now = at_work;
		minded->crashed = 1;
	}
	(void)raise(number);
}

/* The crash may be a stack overflow. A thread that has an alternate stack keeps
   its own. */
static void mind_stack(void)
{
	static __thread char stack[16384];
	const stack_t ours = { .ss_sp = stack, .ss_size = sizeof(stack) };
	static __thread bool minded_stack;
	stack_t is;

	if (minded_stack)
		return;
	minded_stack = true;
	if (sigaltstack(NULL, &is) == 0 && is.ss_flags & SS_DISABLE)
		(void)sigaltstack(&ours, NULL);
}

static void mind_crashes(void)
{
	struct sigaction a = {
		.sa_handler = on_crash,
		.sa_flags = SA_ONSTACK | (int)SA_RESETHAND | SA_NODEFER,
	};

	for (size_t i = 0; i < SIGNALS; i++)
		(void)sigaction(signals[i], &a, NULL);
}

static void unmind_crashes(void)
{
	const struct sigaction a = { .sa_handler = SIG_DFL };

	for (size_t i = 0; i < SIGNALS; i++)
		(void)sigaction(signals[i], &a, NULL);
}

static void blame(struct care_note *n)
{
	n->now.path[PATH_MAX - 1] = '\0';
	n->blamed.path[PATH_MAX - 1] = '\0';
	if (n->crashed && n->now.path[0]) {
		if (!is_same(&n->blamed, n->now.path, &n->now.stamp))
			n->crashes = 0;
		n->blamed = n->now;
		n->crashes++;
	}
	n->crashed = 0;
	n->now.path[0] = '\0';
}

int care_open(int dir_fd, struct care **ret)
{
	CLEANUP(close_p)
	int fd = openat(dir_fd, CARE_NAME, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	struct care_note *note;
	int r;

	if (fd < 0)
		return -errno;
	/* Allocate its blocks: a store to a mapping cannot report ENOSPC. */
	r = posix_fallocate(fd, 0, sizeof(*note));
	if (r != 0)
		return -r;
	note = mmap(NULL, sizeof(*note), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		    0);
	if (note == MAP_FAILED)
		return -errno;
	blame(note);
	*ret = must_calloc(1, sizeof(**ret));
	(*ret)->note = note;
	minded = note;
	mind_crashes();
	return 0;
}

void care_free(struct care *c)
{
	if (!c)
		return;
	unmind_crashes();
	minded = NULL;
	(void)munmap(c->note, sizeof(*c->note));
	free(c);
}

void care_begin(const char *path, const struct tree_stamp *st)
{
	size_t len = strlen(path);

	if (len >= PATH_MAX)
		return;
	mind_stack();
	at_work.stamp = *st;
	memcpy(at_work.path, path, len + 1);
}

void care_end(void)
{
	at_work.path[0] = '\0';
}

bool care_avoids(const struct care *c, const char *path,
		 const struct tree_stamp *st)
{
	return c->note->crashes >= CARE_CRASHES &&
	       is_same(&c->note->blamed, path, st);
}
