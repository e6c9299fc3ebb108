/*
 * A pager between us and a terminal: $PAGER, else less. If stdout is not a
 * terminal, these functions do nothing.
 */
#ifndef STATETAPE_TOOLS_CLI_PAGER_H
#define STATETAPE_TOOLS_CLI_PAGER_H

#include <stdbool.h>
#include <sys/types.h>

struct pager {
	pid_t pid;     /* 0: none */
	bool terminal; /* stdout is, or was, a terminal */
	bool colours;
};

/* Redirect stdout to the pager. */
void pager_begin(struct pager *p);
/* Wait until the user has closed the pager. */
void pager_end(struct pager *p);

#endif
