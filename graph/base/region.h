/*
 * Contiguous memory that grows and never moves. A region reserves a range of
 * addresses, which costs nothing, and makes the start of it usable as it
 * grows; new bytes are 0.
 *
 * A region can be written to a file as it is and mapped again later: the
 * kernel then reads the file page by page on first access, and copies a page
 * on the first write to it.
 *
 * The process ends if memory runs out (graph/base/alloc.h). One thread at a
 * time.
 */
#ifndef STATETAPE_GRAPH_BASE_REGION_H
#define STATETAPE_GRAPH_BASE_REGION_H

#include <stddef.h>
#include <stdint.h>

struct region {
	char *at;    /* aligned to pages; fixed for the region's life */
	size_t size; /* usable bytes, whole pages */
	size_t max;  /* reserved bytes */
};

void region_init(struct region *r);
void region_release(struct region *r);

/* Use region_need(). */
void region_grow(struct region *r, size_t bytes);

/* Make at least `count` elements of size `element` usable. */
static inline void region_need(struct region *r, size_t count, size_t element)
{
	if (count * element > r->size)
		region_grow(r, count * element);
}

/*
 * Replace the region's content by `bytes` of the file from `from` on, a
 * multiple of the page size; the file has zeros up to the end of the last
 * page. region_map() maps the file privately: its bytes must not change while
 * the region lives. region_read() copies them, for content that will all be
 * written to. Negative errno: the content is undefined.
 */
int region_map(struct region *r, int fd, uint64_t from, size_t bytes);
int region_read(struct region *r, int fd, uint64_t from, size_t bytes);

/*
 * One part of a structure that is written to a file: a region, or a block of
 * numbers of fixed size. Code that writes and maps structures walks a list of
 * parts and need not know what is in them.
 */
struct region_part {
	struct region *region; /* NULL: `numbers` instead */
	void *numbers;
	size_t bytes;  /* in use */
	int rewritten; /* all of it is written to after it is mapped again */
};

#endif
