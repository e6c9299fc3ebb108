/*
 * Who wrote the lines that a commit added, by the tape.
 *
 * The tape's version of each file with the commit's content is found by its
 * hash. If only parts of a file were committed, no version has that content:
 * then lines are compared with the newest version at the time of the commit,
 * and those that differ are nobody's.
 */
#ifndef STATETAPE_TOOLS_VERB_NOTES_COMMIT_H
#define STATETAPE_TOOLS_VERB_NOTES_COMMIT_H

#include <stddef.h>
#include <stdint.h>

#include "tools/verb/notes/who.h"

struct tape_reader;

/* Lines start to end of one entry, in order; none overlap. */
struct commit_span {
	uint32_t start, end;
	uint64_t entry;
	size_t who; /* index of its author in `struct commit` */
};

struct commit_file {
	char *path;
	struct commit_span *spans;
	size_t count;
};

/* Each author once. */
struct commit {
	char *id;     /* 40 or 64 digits */
	char *person; /* its committer, "Name <email>" */
	int64_t at_ns;
	struct who *authors;
	size_t authors_count;
	struct commit_file *files; /* those with spans alone */
	size_t files_count;
	size_t unknown; /* lines added that nobody is known to have written */
};

/*
 * Examine commit `id` of the repository at `root`. Of a merge, its lines are
 * those that none of its parents has. On failure prints a message and returns a
 * negative errno. Release the result with commit_release(), also then.
 */
int commit_init(struct commit *c, const char *id, const char *root,
		struct tape_reader *t);
void commit_release(struct commit *c);

#endif
