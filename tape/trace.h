/*
 * STATETAPE_DEBUG's lines about entries (graph/base/debug.h): "tape" says what
 * a change became, "graph" how many symbols that put into each set. Costs one
 * branch where neither is on.
 */
#ifndef STATETAPE_TAPE_TRACE_H
#define STATETAPE_TAPE_TRACE_H

struct entry;

/* `e` has been stored, and has its number. */
void trace_entry(const struct entry *e);

#endif
