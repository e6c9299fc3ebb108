/*
 * The file: facts, one block after the other; the parts of the graph, regions
 * from a page boundary on so that they can be mapped; a table of the parts.
 *
 * Parts refer to each other by number and can be used as they are mapped,
 * with three exceptions: files, sheets and units hold addresses, since the
 * resolver follows them all the time. These three are small; they are read
 * into memory and their addresses relocated at once.
 */
#include "graph/snapshot.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "graph/graph_i.h"
#include "graph/resolve/outers.h"

#define FACTS_ALIGN 16
#define WORN_MORE   (1U << 20) /* growth in bytes that does not count */

#define PARTS \
	(1 + GRAPH_ARRAYS_COUNT + HEAP_PARTS + 2 * INTERN_PARTS + TERMS_PARTS)

struct snapshot_table {
	uint64_t facts_end;
	struct {
		uint64_t at, bytes;
	} parts[PARTS];
};

static void parts_of(struct graph *g, struct region_part *ret)
{
	const struct region_part *first = ret;

	*ret++ = (struct region_part){ .numbers = g,
				       .bytes = offsetof(struct graph, homes) };
#define A(name, type, used, addresses)             \
	*ret++ = (struct region_part){             \
		.region = &g->homes[ARRAY_##name], \
		.bytes = (used) * sizeof(type),    \
		.rewritten = (addresses),          \
	};                                         \
	if (ret[-1].bytes > ret[-1].region->size)  \
		ret[-1].bytes = 0; /* a table before its first use */
	GRAPH_ARRAYS(A)
#undef A
	heap_parts(&g->heap, ret);
	ret += HEAP_PARTS;
	intern_parts(g->atoms, ret);
	ret += INTERN_PARTS;
	intern_parts(g->names, ret);
	ret += INTERN_PARTS;
	terms_parts(g->terms, ret);
	assert(ret + TERMS_PARTS - first == PARTS);
}

size_t snapshot_bytes(const struct graph *g)
{
	/* parts_of() takes no const graph; the parts are only read here. */
	union {
		const struct graph *g;
		struct graph *parts;
	} u = { .g = g };
	struct region_part parts[PARTS];
	size_t bytes = 0;

	parts_of(u.parts, parts);
	for (int k = 0; k < PARTS; k++)
		bytes += parts[k].bytes;
	return bytes;
}

/* Saving */

static int write_padding(struct snapshot_sink *out, size_t align)
{
	static const char zeros[4096];
	size_t len = -out->at % align;
	int r = 0;

	while (r == 0 && len) {
		size_t n = len < sizeof(zeros) ? len : sizeof(zeros);

		r = out->write(out, zeros, n);
		len -= n;
	}
	return r;
}

static int save_facts(struct graph *g, struct snapshot_sink *out)
{
	int r = 0;

	for (uint32_t k = 0; k < g->sheets_count && r == 0; k++) {
		struct sheet *s = &g->sheets[k];

		if (!s->refs)
			continue;
		r = write_padding(out, FACTS_ALIGN);
		s->saved_at = out->at;
		if (r == 0)
			r = out->write(out, s->facts, s->facts->size);
	}
	return r;
}

static int save_part(const struct region_part *part, struct snapshot_sink *out,
		     size_t page)
{
	int r = write_padding(out, part->region ? page : FACTS_ALIGN);

	if (r < 0 || !part->bytes)
		return r;
	return out->write(out, part->region ? part->region->at : part->numbers,
			  part->bytes);
}

int snapshot_save(struct graph *g, struct snapshot_sink *out, uint64_t *ret_at)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = snapshot_bytes(g);
	struct region_part parts[PARTS];
	struct snapshot_table table;
	int r;

	if (g->dirty_count || g->touched_count || g->noted_count)
		return -EBUSY;
	*ret_at = 0;
	r = save_facts(g, out);
	if (r < 0 || (g->first && bytes > 2 * g->first + WORN_MORE))
		return r;
	if (!g->first)
		g->first = bytes;
	g->heap_was = (uintptr_t)g->heap.region.at;
	g->sheets_was = (uintptr_t)g->sheets;
	table.facts_end = out->at;
	parts_of(g, parts);
	for (int k = 0; k < PARTS && r == 0; k++) {
		r = save_part(&parts[k], out, page);
		table.parts[k].at = out->at - parts[k].bytes;
		table.parts[k].bytes = parts[k].bytes;
	}
	/* Zeros up to the end of the last page, as region_map() wants. */
	if (r == 0)
		r = write_padding(out, page);
	*ret_at = out->at;
	return r == 0 ? out->write(out, &table, sizeof(table)) : r;
}

bool snapshot_facts(const struct graph *g, const char *path,
		    struct snapshot_facts *ret)
{
	uint32_t n = file_find(g, path);
	const struct source_file *f = n == NONE ? NULL : &g->files[n];

	if (!f || !f->exists)
		return false;
	for (uint32_t k = 0; k < f->units_count; k++)
		if (g->units[f->units[k]].sheet != f->sheet)
			return false;
	*ret = (struct snapshot_facts){ .at = f->sheet->saved_at,
					.facts = f->sheet->facts };
	return true;
}

/* Loading */

static int read_at(int fd, void *to, size_t len, uint64_t from)
{
	ssize_t n = pread(fd, to, len, (off_t)from);

	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EBADMSG;
}

static int load_part(const struct region_part *part, int fd, uint64_t at,
		     size_t bytes)
{
	if (!part->region)
		return bytes == part->bytes
			       ? read_at(fd, part->numbers, bytes, at)
			       : -EBADMSG;
	if (part->rewritten)
		return region_read(part->region, fd, at, bytes);
	return region_map(part->region, fd, at, bytes);
}

/* Distance from the saved addresses to the present ones. */
struct moves {
	intptr_t heap, sheets;
};

static void *moved(void *address, intptr_t by)
{
	return address ? (char *)address + by : NULL;
}

static void move_sheets(struct graph *g, const struct moves *m)
{
	for (uint32_t k = 0; k < g->sheets_count; k++) {
		struct sheet *s = &g->sheets[k];

		if (!s->refs)
			continue;
		s->facts = (void *)((char *)g->map + s->saved_at);
		s->atoms = moved(s->atoms, m->heap);
		s->lent = true;
	}
}

static void move_files(struct graph *g, const struct moves *m)
{
	for (uint32_t k = 0; k < g->files_count; k++) {
		struct source_file *f = &g->files[k];

		f->sheet = moved(f->sheet, m->sheets);
		f->units = moved(f->units, m->heap);
		f->outers = moved(f->outers, m->heap);
	}
}

/* Does not touch the facts themselves: that would read all their pages. */
static void move_units(struct graph *g, const struct moves *m)
{
	for (uint32_t k = 0; k < g->units_count; k++) {
		struct unit *u = &g->units[k];

		u->names = moved(u->names, m->heap);
		u->every = moved(u->every, m->heap);
		u->slots = moved(u->slots, m->heap);
		u->shifts = moved(u->shifts, m->heap);
		if (!u->sheet)
			continue;
		u->sheet = moved(u->sheet, m->sheets);
		u->u = facts_at(u->sheet->facts, u->sheet->units);
		u->u += u->at;
	}
}

static int map_facts(struct graph *g, int fd, uint64_t end)
{
	void *map;

	if (!end)
		return 0;
	map = mmap(NULL, end, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	g->map = map;
	g->map_size = end;
	return 0;
}

int snapshot_load(struct graph *g, int fd, uint64_t at)
{
	struct region_part parts[PARTS];
	struct moves moves;
	struct snapshot_table table;
	int r = read_at(fd, &table, sizeof(table), at);

	if (r == 0)
		r = map_facts(g, fd, table.facts_end);
	parts_of(g, parts);
	for (int k = 0; k < PARTS && r == 0; k++)
		r = load_part(&parts[k], fd, table.parts[k].at,
			      table.parts[k].bytes);
	if (r < 0)
		return r;
	moves.heap = (intptr_t)((uintptr_t)g->heap.region.at - g->heap_was);
	moves.sheets = (intptr_t)((uintptr_t)g->sheets - g->sheets_was);
	move_sheets(g, &moves);
	move_files(g, &moves);
	move_units(g, &moves);
	return 0;
}
