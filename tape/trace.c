#include "tape/trace.h"

#include <inttypes.h>
#include <stdio.h>

#include "graph/base/debug.h"
#include "tape/journal/journal.h"
#include "tape/query/answers.h"
#include "tape/store/entry.h"

/* The symbols of set X, as many as there is room for. */
static void list_changed(const struct entry *e, char *text, size_t size)
{
	size_t len = 0;

	(void)snprintf(text, size, "-");
	for (size_t i = 0; i < e->symbols_count && len < size; i++)
		if (e->symbols[i].set == ENTRY_X)
			len += (size_t)snprintf(text + len, size - len, "%s%s",
						len ? ", " : "",
						e->symbols[i].name);
}

static void trace_tape(const struct entry *e)
{
	char changed[512];

	list_changed(e, changed, sizeof(changed));
	debug_line(DEBUG_TAPE,
		   "entry %" PRIu64 ": %s %s%s%s by %s; changed: %s", e->n,
		   entry_kind_name(e->kind), e->path, e->path2 ? " to " : "",
		   e->path2 ? e->path2 : "",
		   e->author ? e->author->comm : entry_origin_name(e->origin),
		   changed);
}

static void trace_graph(const struct entry *e)
{
	size_t counts[ENTRY_SETS] = { 0 };

	for (size_t i = 0; i < e->symbols_count; i++)
		counts[e->symbols[i].set]++;
	debug_line(DEBUG_GRAPH,
		   "entry %" PRIu64 ": %s: X %zu, dX %zu, R %zu, added %zu",
		   e->n, e->path, counts[ENTRY_X], counts[ENTRY_DX],
		   counts[ENTRY_R], counts[ENTRY_ADDED]);
}

void trace_entry(const struct entry *e)
{
	if (debug_is_on(DEBUG_TAPE))
		trace_tape(e);
	if (debug_is_on(DEBUG_GRAPH))
		trace_graph(e);
}
