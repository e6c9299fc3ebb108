/*
 * The man pages and the shells' completions, printed from the tables in the
 * code. The build installs this output; it is never edited by hand.
 */
#ifndef STATETAPE_TOOLS_CLI_GENERATE_H
#define STATETAPE_TOOLS_CLI_GENERATE_H

#include <stdio.h>

void generate_man(FILE *out);
/* statetape-tape(5), from the tables of tape/wire/protocol.h and the store. */
void generate_man_tape(FILE *out);
void generate_bash(FILE *out);
void generate_zsh(FILE *out);
void generate_fish(FILE *out);

#endif
