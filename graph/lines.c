/*
 * Lines of a unit that moved since its facts were read. A unit's facts count
 * its own lines, and stay as they are when a unit inside it is read alone and
 * becomes longer or shorter. The lines behind that unit have moved then:
 *
 *	class C:	0		0
 *	    def f(): ..	1		1
 *				shift { 1, +2 }
 *	    a = 1	5	at	7
 *	    def g(): ..	6		8
 *				shift { 6, -1 }
 *	    b = 1	9	at	10
 *
 * There is one shift for each unit directly in it that ever changed its
 * length, so however many edits there were, looking up a line costs no more.
 */
#include <assert.h>
#include <string.h>

#include "graph/graph_i.h"

/* The number of shifts that apply to that line. */
static uint32_t shifts_before(const struct unit *u, uint32_t line)
{
	uint32_t from = 0, to = u->shifts_count;

	while (from < to) {
		uint32_t k = from + (to - from) / 2;

		if (u->shifts[k].line < line)
			from = k + 1;
		else
			to = k;
	}
	return from;
}

uint32_t unit_line(const struct unit *u, uint32_t line)
{
	uint32_t n = shifts_before(u, line);
	int64_t by = n ? u->shifts[n - 1].by : 0;

	return u->line + (uint32_t)(line + by) + 1;
}

/*
 * The line in the facts of one where a unit begins now; *ret: the number of
 * shifts that apply to it. If several lines of the facts lead there, the first
 * is meant: the others are lines that a unit before it no longer has.
 */
static uint32_t line_was(const struct unit *u, uint32_t line, uint32_t *ret)
{
	for (uint32_t n = 0;; n++) {
		int64_t by = n ? u->shifts[n - 1].by : 0;
		int64_t was = (int64_t)line - by;

		assert(n <= u->shifts_count);
		if (n == u->shifts_count || was <= u->shifts[n].line) {
			*ret = n;
			return (uint32_t)was;
		}
	}
}

static void shift_insert(struct graph *g, struct unit *u, uint32_t at,
			 struct shift shift)
{
	size_t bytes = u->shifts_count * sizeof(*u->shifts);
	struct shift *shifts = list_take(g, bytes + sizeof(*shifts));

	if (at)
		memcpy(shifts, u->shifts, at * sizeof(*shifts));
	if (at < u->shifts_count)
		memcpy(shifts + at + 1, u->shifts + at,
		       (u->shifts_count - at) * sizeof(*shifts));
	shifts[at] = shift;
	list_give(g, u->shifts, bytes);
	u->shifts = shifts;
	u->shifts_count++;
}

void lines_shift(struct graph *g, struct unit *u, uint32_t line, int32_t by)
{
	struct shift new = { .by = 0 };
	uint32_t n;

	if (!by)
		return;
	new.line = line_was(u, line, &n);
	if (n)
		new.by = u->shifts[n - 1].by;
	if (n == u->shifts_count || u->shifts[n].line != new.line)
		shift_insert(g, u, n, new);
	for (; n < u->shifts_count; n++)
		u->shifts[n].by += by;
}

void lines_drop(struct graph *g, struct unit *u)
{
	list_give(g, u->shifts, u->shifts_count * sizeof(*u->shifts));
	u->shifts = NULL;
	u->shifts_count = 0;
}
