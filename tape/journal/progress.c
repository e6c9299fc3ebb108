/*
 * The file is one page, in the machine's byte order:
 *
 *	 0 magic	names the layout; 0 in a new file
 *	 8 line		progress_line()
 *	16 outside_ns	progress_outside_ns()
 *	24 server	progress_server(), which holds a lock on the first byte
 *	28 now		how often the counters were turned over; the lowest bit
 *			is the current one
 *	32 in_flight	the two counters
 *
 * An operation that begins while the counters are turned over may have entered
 * the old one: it looks at `now` again after counting itself, and moves.
 *
 * Its blocks are allocated before it is mapped, so that a full disk is an error
 * here and not a SIGBUS at a store.
 */
#include "tape/journal/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "graph/base/cleanup.h"
#include "tape/journal/guard.h"

#define FILE_NAME "progress"
#define FILE_SIZE 4096
#define MAGIC	  UINT64_C(0x31534552474f5250) /* "PROGRES1" */

struct page {
	_Atomic uint64_t magic;
	_Atomic uint64_t line;
	_Atomic uint64_t outside_ns;
	_Atomic int32_t server;
	_Atomic uint32_t now;
	_Atomic uint32_t in_flight[2];
};

_Static_assert(offsetof(struct page, in_flight) == 32, "as laid out above");

struct progress {
	struct page *page;
	int fd;
	struct journal_guard *guard;
};

static int map_page(int dir_fd, int *ret_fd, struct page **ret)
{
	CLEANUP(close_p) int fd = -1;
	void *map;
	int r;

	fd = openat(dir_fd, FILE_NAME,
		    O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
		    0600);
	if (fd < 0)
		return -errno;
	r = -posix_fallocate(fd, 0, FILE_SIZE);
	if (r < 0)
		return r;
	map = mmap(NULL, FILE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	*ret = map;
	*ret_fd = take_fd(&fd);
	return 0;
}

/* Both processes may do this at once: they store the same values. */
static void begin_layout(struct page *page)
{
	if (atomic_load(&page->magic) == MAGIC)
		return;
	atomic_store(&page->line, 0);
	atomic_store(&page->outside_ns, 0);
	atomic_store(&page->magic, MAGIC);
}

int progress_open(int dir_fd, struct progress **ret)
{
	struct progress *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	p->fd = -1;
	r = journal_guard_new(&p->guard);
	if (r == 0)
		r = map_page(dir_fd, &p->fd, &p->page);
	if (r < 0) {
		progress_free(p);
		return r;
	}
	journal_guard_watch(p->guard, p->page, FILE_SIZE);
	begin_layout(p->page);
	*ret = p;
	return 0;
}

void progress_free(struct progress *p)
{
	if (!p)
		return;
	journal_guard_free(p->guard);
	if (p->page)
		(void)munmap(p->page, FILE_SIZE);
	close_p(&p->fd);
	free(p);
}

uint64_t progress_line(const struct progress *p)
{
	return atomic_load(&p->page->line);
}

void progress_set_line(struct progress *p, uint64_t n)
{
	atomic_store(&p->page->line, n);
}

uint64_t progress_outside_ns(const struct progress *p)
{
	return atomic_load(&p->page->outside_ns);
}

void progress_set_outside_ns(struct progress *p, uint64_t ns)
{
	atomic_store(&p->page->outside_ns, ns);
}

void progress_begin(struct progress *p, uint64_t head)
{
	uint64_t line = atomic_load(&p->page->line);

	/* The tape may store another at the same time: then that one stays. */
	if (line > head)
		(void)atomic_compare_exchange_strong(&p->page->line, &line,
						     head);
}

/* -- Operations in flight. */

static struct flock first_byte(short type)
{
	return (struct flock){ .l_type = type,
			       .l_whence = SEEK_SET,
			       .l_len = 1 };
}

int progress_serve(struct progress *p)
{
	struct flock lock = first_byte(F_WRLCK);

	/* The lock goes with the last copy of the descriptor. */
	if (fcntl(p->fd, F_OFD_SETLK, &lock) < 0)
		return -errno;
	/* A process that was killed left its operations counted. */
	atomic_store(&p->page->in_flight[0], 0);
	atomic_store(&p->page->in_flight[1], 0);
	atomic_store(&p->page->server, (int32_t)getpid());
	return 0;
}

unsigned progress_enter(struct progress *p)
{
	for (;;) {
		unsigned now = atomic_load(&p->page->now) & 1;

		(void)atomic_fetch_add(&p->page->in_flight[now], 1);
		if ((atomic_load(&p->page->now) & 1) == now)
			return now;
		(void)atomic_fetch_sub(&p->page->in_flight[now], 1);
	}
}

void progress_leave(struct progress *p, unsigned counter)
{
	(void)atomic_fetch_sub(&p->page->in_flight[counter & 1], 1);
}

pid_t progress_server(const struct progress *p)
{
	struct flock lock = first_byte(F_WRLCK);
	pid_t server = atomic_load(&p->page->server);

	if (fcntl(p->fd, F_OFD_GETLK, &lock) < 0 || lock.l_type == F_UNLCK)
		return 0;
	/* 0: the page was truncated, and this process has one of its own. */
	return server > 0 ? server : -1;
}

unsigned progress_old(const struct progress *p)
{
	return ~atomic_load(&p->page->now) & 1;
}

unsigned progress_turn(struct progress *p)
{
	return atomic_fetch_add(&p->page->now, 1) & 1;
}

bool progress_drained(const struct progress *p, unsigned counter)
{
	return atomic_load(&p->page->in_flight[counter & 1]) == 0;
}
