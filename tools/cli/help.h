/*
 * The output of `statetape help`, for a terminal of 80 columns, printed from
 * the table in verbs.h.
 */
#ifndef STATETAPE_TOOLS_CLI_HELP_H
#define STATETAPE_TOOLS_CLI_HELP_H

#include <stdio.h>

#include "tools/cli/verbs.h"

/* Print what statetape is, and its verbs. */
void help_summary(FILE *out);
/* Print one verb: synopsis, description, options, examples. */
void help_verb(FILE *out, const struct verb *v);

#endif
