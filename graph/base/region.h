/*
 * Memory that grows and never moves. A region sets a stretch of addresses
 * aside, of which it may use as much as it was asked for; what is new in it
 * is 0. Addresses that are set aside cost nothing.
 *
 * What never moves and stands in one piece can be written to a file as it is,
 * and be had again by mapping it: the file's bytes are then read when they
 * are looked at, page by page, and copied when they are written to.
 *
 * Memory that cannot be had ends the process (base/alloc.h). One thread's at a
 * time.
 */
#ifndef STATETAPE_GRAPH_BASE_REGION_H
#define STATETAPE_GRAPH_BASE_REGION_H

#include <stddef.h>
#include <stdint.h>

struct region {
	char *at;    /* aligned to pages; for the life of the region */
	size_t size; /* bytes that may be used, whole pages */
	size_t max;  /* bytes that are set aside */
};

void region_init(struct region *r);
void region_release(struct region *r);

void region_grow(struct region *r, size_t bytes);

/* At least `count` elements of that size may be used. */
static inline void region_need(struct region *r, size_t count, size_t element)
{
	if (count * element > r->size)
		region_grow(r, count * element);
}

/*
 * In place of whatever it held, the region now holds `bytes` of the file from
 * `from` on, which is a multiple of the page size; up to the end of a page
 * the file has zeros. Mapped: nobody may change these bytes of the file as
 * long as the region lives. Read: for what will be written to all over.
 */
int region_map(struct region *r, int fd, uint64_t from, size_t bytes);
int region_read(struct region *r, int fd, uint64_t from, size_t bytes);

/*
 * What something consists of: regions, and numbers of a fixed size. Those who
 * keep it elsewhere go through a list of these, so that they know no more.
 */
struct region_part {
	struct region *region; /* NULL: `numbers` instead */
	void *numbers;
	size_t bytes;  /* of it that are in use */
	int rewritten; /* all of it is written to when it is had again */
};

#endif
