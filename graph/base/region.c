#include "graph/base/region.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "graph/base/alloc.h"

/*
 * A region reserves more than fits into memory, yet little of the 2^47 bytes of
 * addresses. Under RLIMIT_AS it reserves one MAX_SHARE-th of the limit: a graph
 * has some thirty regions, and the rest of the process needs addresses, too.
 */
#define MAX_WANTED (16ULL << 30)
#define MAX_SHARE  64
#define GROW_LEAST ((size_t)16 << 10)
#define GROW_MOST  ((size_t)128 << 10)

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static size_t whole_pages(size_t bytes)
{
	size_t page = page_size();

	return (bytes + page - 1) / page * page;
}

static void end_without_memory(void)
{
	/* Prints the message and aborts. */
	(void)must_alloc(SIZE_MAX / 2);
	abort();
}

static size_t max_size(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_AS, &limit) < 0 ||
	    limit.rlim_cur / MAX_SHARE >= MAX_WANTED)
		return MAX_WANTED;
	return whole_pages(limit.rlim_cur / MAX_SHARE);
}

void region_init(struct region *r)
{
	size_t max = max_size();
	void *at = mmap(NULL, max, PROT_NONE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (at == MAP_FAILED)
		end_without_memory();
	*r = (struct region){ .at = at, .max = max };
}

void region_release(struct region *r)
{
	if (r->at)
		(void)munmap(r->at, r->max);
	*r = (struct region){ 0 };
}

/* Grow by more than is needed, so that small steps are cheap. */
static size_t step_of(const struct region *r)
{
	size_t half = r->size / 2 + GROW_LEAST;

	return half < GROW_MOST ? half : GROW_MOST;
}

/*
 * Fault all pages in at once, which is faster than one by one. A page that is
 * read first, as pages of tables are, would even fault twice, and the second
 * fault flushes the TLB of all processors. Kernels without this call (before
 * 5.14) fault pages one by one.
 */
static void get_pages(void *at, size_t bytes)
{
	(void)madvise(at, bytes, MADV_POPULATE_WRITE);
}

void region_grow(struct region *r, size_t bytes)
{
	size_t size = r->size + step_of(r);

	assert(bytes > r->size && r->size <= r->max);
	size = whole_pages(size < bytes ? bytes : size);
	if (size > r->max)
		size = r->max;
	if (bytes > r->max || mprotect(r->at + r->size, size - r->size,
				       PROT_READ | PROT_WRITE) < 0)
		end_without_memory();
	get_pages(r->at + r->size, size - r->size);
	r->size = size;
	assert(r->size >= bytes);
}

int region_map(struct region *r, int fd, uint64_t from, size_t bytes)
{
	size_t size = whole_pages(bytes);

	if (size > r->max)
		return -ENOMEM;
	if (size &&
	    mmap(r->at, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED,
		 fd, (off_t)from) == MAP_FAILED)
		return -errno;
	/* Make the rest of what it held inaccessible again. */
	if (r->size > size &&
	    mmap(r->at + size, r->size - size, PROT_NONE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
		 0) == MAP_FAILED)
		return -errno;
	r->size = size;
	return 0;
}

int region_read(struct region *r, int fd, uint64_t from, size_t bytes)
{
	size_t size = whole_pages(bytes), at = 0;

	if (size > r->max)
		return -ENOMEM;
	/* All pages at once: faulting them in one by one takes far longer. */
	if (mmap(r->at, r->size > size ? r->size : size + !size,
		 PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_POPULATE, -1,
		 0) == MAP_FAILED)
		return -errno;
	if (size > r->size)
		r->size = size;
	while (at < bytes) {
		ssize_t n =
			pread(fd, r->at + at, bytes - at, (off_t)(from + at));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EBADMSG;
		at += (size_t)n;
	}
	return 0;
}
