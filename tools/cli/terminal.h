/*
 * The terminal's state, saved while another program uses it: a program that is
 * killed leaves it without echo, or to a process group that no longer exists.
 */
#ifndef STATETAPE_TOOLS_CLI_TERMINAL_H
#define STATETAPE_TOOLS_CLI_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <termios.h>

struct terminal {
	bool ours; /* there is a terminal, and we were in its foreground */
	struct termios modes;
};

/* The columns of stdout: $COLUMNS, else the terminal's, else 80. */
unsigned terminal_width(void);

/*
 * The columns that a line may take: those of the terminal or of $COLUMNS; no
 * limit if stdout goes to another program, which wants names whole.
 */
size_t terminal_room(void);

/* Save the present state. */
void terminal_keep(struct terminal *t);
/*
 * Return to the foreground; with `modes`, restore the saved modes too. SIGTTOU
 * must be blocked.
 */
void terminal_take_back(const struct terminal *t, bool modes);

#endif
