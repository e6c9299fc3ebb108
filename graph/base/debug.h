/*
 * Traces of decisions, for finding out why a process did what it did. The
 * environment variable STATETAPE_DEBUG names the rooms to trace, separated by
 * commas: fs, tape, manager, graph, or all. Each decision is one line on
 * stderr, which is the process's log:
 *
 *	debug tape: entry 7: edit app/config.py by sed; changed: app.config.load
 *
 * A trace names paths, symbols, commands and numbers. It never holds a header,
 * a key or a body.
 *
 * debug_init() runs once, before any thread is started; after that any thread
 * may trace. A room that is off costs one test of a global flag: DEBUG()
 * evaluates its arguments only where the room is on.
 */
#ifndef STATETAPE_GRAPH_BASE_DEBUG_H
#define STATETAPE_GRAPH_BASE_DEBUG_H

#include <stdbool.h>

enum debug_room {
	DEBUG_FS,
	DEBUG_TAPE,
	DEBUG_MANAGER,
	DEBUG_GRAPH,
	DEBUG_ROOMS
};

/* The environment variable's name. */
#define DEBUG_VARIABLE "STATETAPE_DEBUG"

/* One bit per room; read it through debug_is_on(). */
extern unsigned debug_rooms;

/*
 * Switch on the rooms that `names` lists and switch off all others; NULL or "":
 * all are off. Returns the first word that is no room (not NUL-terminated, it
 * ends at a comma), or NULL; the rooms beside it are on all the same.
 */
const char *debug_init(const char *names);

static inline bool debug_is_on(enum debug_room room)
{
	return debug_rooms & (1u << room);
}

/*
 * Write one line, whatever the arguments hold: control characters become
 * spaces, and a line of more than 1,000 bytes is cut.
 */
__attribute__((format(printf, 2, 3))) void debug_line(enum debug_room room,
						      const char *format, ...);

#define DEBUG(room, ...)                               \
	do {                                           \
		if (debug_is_on(room))                 \
			debug_line(room, __VA_ARGS__); \
	} while (0)

#endif
