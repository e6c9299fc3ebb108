/*
 * A pager between us and a terminal: $PAGER, or less if there is one. Where
 * stdout is no terminal there is none, and these do nothing.
 */
#ifndef STATETAPE_TOOLS_CLI_PAGER_H
#define STATETAPE_TOOLS_CLI_PAGER_H

#include <stdbool.h>
#include <sys/types.h>

struct pager {
	pid_t pid;     /* 0: none */
	bool terminal; /* what is printed ends on one */
	bool colours;
};

/* From now on stdout is the pager's. */
void pager_begin(struct pager *p);
/* Wait until the reader has seen enough. */
void pager_end(struct pager *p);

#endif
