/*
 * Which files the tape follows, decided by their paths alone: all except those
 * that tools keep for themselves. Pure.
 */
#ifndef STATETAPE_TAPE_JOURNAL_SCOPE_H
#define STATETAPE_TAPE_JOURNAL_SCOPE_H

#include <stdbool.h>

enum scope {
	SCOPE_NONE, /* no entries */
	SCOPE_HASH, /* entries, but no contents are kept */
	SCOPE_FULL,
};

enum scope scope_of(const char *path);
/* Could a file below this directory ("": the root) be in scope? */
bool scope_enters(const char *dir);

#endif
