/*
 * The man page and the shells' completions, printed from the table in verbs.h.
 * The build installs what these print; nobody edits the results.
 */
#ifndef STATETAPE_TOOLS_GENERATE_H
#define STATETAPE_TOOLS_GENERATE_H

#include <stdio.h>

void generate_man(FILE *out);
void generate_bash(FILE *out);
void generate_zsh(FILE *out);
void generate_fish(FILE *out);

#endif
