/*
 * See terminal.h.
 */
#include "tools/cli/terminal.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define WIDTH	  80
#define WIDTH_MIN 40
#define WIDTH_MAX 1000

unsigned terminal_width(void)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread. */
	const char *said = getenv("COLUMNS");
	unsigned long width = said ? strtoul(said, NULL, 10) : 0;
	struct winsize size;

	if (!width && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
		width = size.ws_col;
	if (!width)
		return WIDTH;
	return width < WIDTH_MIN   ? WIDTH_MIN
	       : width > WIDTH_MAX ? WIDTH_MAX
				   : (unsigned)width;
}

size_t terminal_room(void)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread. */
	if (!getenv("COLUMNS") && !isatty(STDOUT_FILENO))
		return SIZE_MAX;
	return terminal_width();
}

void terminal_keep(struct terminal *t)
{
	t->ours = tcgetpgrp(STDIN_FILENO) == getpgrp() &&
		  tcgetattr(STDIN_FILENO, &t->modes) == 0;
}

void terminal_take_back(const struct terminal *t, bool modes)
{
	if (!t->ours)
		return;
	(void)tcsetpgrp(STDIN_FILENO, getpgrp());
	if (modes)
		(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &t->modes);
}
