/*
 * What a process is called. The kernel knows which file it executes (exe); its
 * command line and its comm are whatever the process sets them to. So the name
 * is the base name of exe, and comm only where exe could not be read; a command
 * line that begins with another name is a claim, printed beside it:
 *
 *	exe /usr/bin/sed,  "sed -i s/a/b/ x"	sed -i s/a/b/ x
 *	exe /usr/bin/perl, "git commit"		perl (git commit)
 *	exe /usr/bin/dash, "sh -c ls"		dash (sh -c ls)
 *
 * A version behind the name does not make it another: python3 is python3.11.
 * Pure.
 */
#ifndef STATETAPE_TAPE_JOURNAL_NAME_H
#define STATETAPE_TAPE_JOURNAL_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* A part of a string. */
struct process_name {
	const char *at;
	size_t len;
};

static inline struct process_name process_base(const char *path, size_t len)
{
	const char *slash = memrchr(path, '/', len);
	size_t skip = slash ? (size_t)(slash + 1 - path) : 0;

	return (struct process_name){ path + skip, len - skip };
}

/* Empty if both are. NULL counts as empty. */
static inline struct process_name process_name(const char *exe,
					       const char *comm)
{
	static const char gone[] = " (deleted)";
	size_t len = exe ? strlen(exe) : 0, tail = sizeof(gone) - 1;

	if (len > tail && strcmp(exe + len - tail, gone) == 0)
		len -= tail;
	if (len)
		return process_base(exe, len);
	return (struct process_name){ comm ? comm : "",
				      comm ? strlen(comm) : 0 };
}

/*
 * Does the command line begin with that name, as a path or not? Then *ret_rest
 * is the rest behind it.
 */
static inline bool process_agrees(struct process_name name, const char *cmdline,
				  const char **ret_rest)
{
	size_t first = strcspn(cmdline, " ");
	struct process_name word = process_base(cmdline, first);

	/* A login shell's name begins with a dash. */
	if (word.len > 1 && *word.at == '-')
		word = (struct process_name){ word.at + 1, word.len - 1 };
	if (!word.len || word.len > name.len ||
	    memcmp(word.at, name.at, word.len) != 0 ||
	    word.len + strspn(name.at + word.len, "0123456789.-") < name.len)
		return false;
	*ret_rest = cmdline + first;
	return true;
}

#endif
