/*
 * Memory for tree-sitter, with a guard around one mistake of its version
 * 0.20: it keeps a node's number of children in 16 bits. A node of an error
 * takes all that is open when the text ends, and a hundred thousand brackets
 * are open easily. Such a node is read short, which does no harm; but when it
 * is freed, its memory is taken to begin later than it does, somewhere among
 * the children, and free() ends the process.
 *
 * So there is a mark in front of every piece of memory. What is to be freed
 * and has none is such a case, and is left alone: some memory is lost to a
 * text that nobody writes.
 *
 * It is in place before main() is, for memory must be freed as it was taken.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <tree_sitter/api.h>

#include "graph/base/memory.h"

#define MARK UINT64_C(0x5a17c0de9b3f6e21)

struct piece {
	uint64_t mark;
	max_align_t memory[];
};

static struct piece *piece_of(void *memory)
{
	return (struct piece *)((char *)memory -
				offsetof(struct piece, memory));
}

static void *take(size_t size)
{
	struct piece *p = must_alloc(sizeof(*p) + size);

	p->mark = MARK;
	return p->memory;
}

static void *take_zeroed(size_t count, size_t size)
{
	return memset(take(count * size), 0, count * size);
}

static void give(void *memory)
{
	struct piece *p;

	if (!memory)
		return;
	p = piece_of(memory);
	if (p->mark != MARK)
		return;
	p->mark = 0;
	free(p);
}

static void *retake(void *memory, size_t size)
{
	struct piece *p;

	if (!memory)
		return take(size);
	p = must_realloc(piece_of(memory), sizeof(*p) + size);
	return p->memory;
}

__attribute__((constructor)) static void guard_memory(void)
{
	ts_set_allocator(take, take_zeroed, retake, give);
}
