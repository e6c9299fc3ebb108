/*
 * What `statetape help` prints, for a person at a terminal of 80 columns. All
 * of it comes from the table in verbs.h.
 */
#ifndef STATETAPE_TOOLS_CLI_HELP_H
#define STATETAPE_TOOLS_CLI_HELP_H

#include <stdio.h>

#include "tools/cli/verbs.h"

/* What statetape is, and its verbs. */
void help_summary(FILE *out);
/* One verb: how it is called, what it does, its options, examples. */
void help_verb(FILE *out, const struct verb *v);

#endif
