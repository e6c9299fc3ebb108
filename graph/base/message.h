/*
 * What a process tells its user: one line on stderr, "statetape: SENTENCE".
 * Each line is one write(2), so that the lines of several threads and processes
 * do not mix and who reads a log never finds half a line in it. Any thread.
 */
#ifndef STATETAPE_GRAPH_BASE_MESSAGE_H
#define STATETAPE_GRAPH_BASE_MESSAGE_H

#include <stdarg.h>

/* Control bytes are escaped; what does not fit into a pipe's atomic write is
   cut. errno is kept. */
void message(const char *format, ...) __attribute__((format(printf, 1, 2)));
void message_va(const char *format, va_list args)
	__attribute__((format(printf, 1, 0)));

#endif
