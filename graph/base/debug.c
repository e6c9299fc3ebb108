#include "graph/base/debug.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LINE_MAX_BYTES 1024

static const char *const names_of[DEBUG_ROOMS] = {
	[DEBUG_FS] = "fs",
	[DEBUG_TAPE] = "tape",
	[DEBUG_MANAGER] = "manager",
	[DEBUG_GRAPH] = "graph",
};

unsigned debug_rooms;

/* The bits that one word of the list stands for; 0: it is no room. */
static unsigned bits_of(const char *word, size_t len)
{
	if (len == strlen("all") && memcmp(word, "all", len) == 0)
		return (1u << DEBUG_ROOMS) - 1;
	for (unsigned i = 0; i < DEBUG_ROOMS; i++)
		if (len == strlen(names_of[i]) &&
		    memcmp(word, names_of[i], len) == 0)
			return 1u << i;
	return 0;
}

const char *debug_init(const char *names)
{
	const char *unknown = NULL;

	debug_rooms = 0;
	while (names && *names) {
		size_t len = strcspn(names, ",");
		unsigned bits = bits_of(names, len);

		debug_rooms |= bits;
		if (len && !bits && !unknown)
			unknown = names;
		names += len + (names[len] == ',');
	}
	assert(debug_rooms < 1u << DEBUG_ROOMS);
	return unknown;
}

void debug_line(enum debug_room room, const char *format, ...)
{
	char line[LINE_MAX_BYTES];
	int saved = errno;
	va_list args;
	size_t len;
	int n;

	assert(room < DEBUG_ROOMS);
	len = (size_t)snprintf(line, sizeof(line),
			       "debug %s: ", names_of[room]);
	va_start(args, format);
	/* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): it is not. */
	n = vsnprintf(line + len, sizeof(line) - len, format, args);
	va_end(args);
	len = strlen(line);
	/* Cut: say so, and leave room for the end of the line. */
	if (n < 0 || len == sizeof(line) - 1) {
		len = sizeof(line) - 5;
		for (int i = 0; i < 3; i++)
			line[len++] = '.';
	}
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)line[i] < ' ' || line[i] == 0x7f)
			line[i] = ' ';
	line[len++] = '\n';
	/* In one call, so that lines of several threads do not mix. */
	(void)!write(STDERR_FILENO, line, len);
	errno = saved;
}
