/*
 * See terminal.h.
 */
#include "tools/cli/terminal.h"

#include <unistd.h>

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
