/* Removing the temporary folders of verbs that work in one. */
#ifndef STATETAPE_TOOLS_CLI_REMOVE_H
#define STATETAPE_TOOLS_CLI_REMOVE_H

/*
 * Remove `dir` and everything below it, but nothing of what is mounted there.
 * -EBUSY: something is left.
 */
int remove_tree(const char *dir);

#endif
