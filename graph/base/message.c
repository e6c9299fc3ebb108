#include "graph/base/message.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/cleanup.h"

#define NAME "statetape: "

/* Up to PIPE_BUF bytes, a write(2) is atomic also on a pipe. */
struct message_line {
	char text[PIPE_BUF];
	size_t len;
};

static void add(struct message_line *l, const char *bytes, size_t len)
{
	size_t room = sizeof(l->text) - 1 - l->len; /* 1: the newline */

	if (len > room)
		len = room;
	memcpy(l->text + l->len, bytes, len);
	l->len += len;
}

/* A control byte must not reach a terminal or end a line. */
static void add_safe(struct message_line *l, const char *text)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;
		char escaped[8];
		int len;

		if (c >= 0x20 && c != 0x7f) {
			add(l, text, 1);
			continue;
		}
		len = snprintf(escaped, sizeof(escaped), "\\x%02x", c);
		add(l, escaped, (size_t)len);
	}
}

void message_va(const char *format, va_list args)
{
	struct message_line l = { .len = 0 };
	CLEANUP(free_p) char *text = NULL;
	int error = errno;
	int len = vasprintf(&text, format, args);

	if (len < 0)
		text = NULL;
	/* libfuse ends its messages with a newline. */
	while (text && len > 0 && text[len - 1] == '\n')
		text[--len] = '\0';
	add(&l, NAME, strlen(NAME));
	add_safe(&l, text ? text : "out of memory");
	l.text[l.len++] = '\n';
	/* stderr has no buffer: this is one write(2). */
	(void)fwrite(l.text, 1, l.len, stderr);
	errno = error;
}

void message(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	message_va(format, args);
	va_end(args);
}
