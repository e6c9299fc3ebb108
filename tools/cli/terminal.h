/*
 * The terminal, lent to a program that may leave it in any state: one that is
 * killed leaves it without echo, or to a process group that is gone.
 */
#ifndef STATETAPE_TOOLS_CLI_TERMINAL_H
#define STATETAPE_TOOLS_CLI_TERMINAL_H

#include <stdbool.h>
#include <termios.h>

struct terminal {
	bool ours; /* there is one, and we were in its foreground */
	struct termios modes;
};

/* Remember it as it is. */
void terminal_keep(struct terminal *t);
/*
 * Take it back into the foreground; `modes` too: as they were. SIGTTOU must be
 * blocked.
 */
void terminal_take_back(const struct terminal *t, bool modes);

#endif
