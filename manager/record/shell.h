/*
 * What a shell command shows, from its text: lines of a file, the answer to a
 * search, a program's run, or possibly anything; and which files it names.
 * Quoting, pipes, lists, redirections and here-documents are read as a shell
 * does, `bash -c '...'` is entered, `cd` is followed. Variables, globs and
 * substitutions are not guessed.
 *
 * A heuristic that nothing relies on: the mount observes which files were
 * opened. Pure; time is linear in the command's length.
 */
#ifndef STATETAPE_MANAGER_RECORD_SHELL_H
#define STATETAPE_MANAGER_RECORD_SHELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/base/arena.h"

#define SHELL_TEXT_MAX	((size_t)1 << 20)
#define SHELL_WORDS_MAX 20000u

/* A word after quote removal. */
struct shell_word {
	const char *text;
	size_t len;
	bool dynamic; /* contains an expansion: the text is not its value */
	bool glob;
	bool quoted; /* at least in part */
};

enum shell_redirect_kind {
	REDIRECT_IN,	 /* < word */
	REDIRECT_OUT,	 /* > word, >| word, &> word */
	REDIRECT_APPEND, /* >> word */
	REDIRECT_TEXT,	 /* << word: `text` is the here-document */
	REDIRECT_COPY,	 /* >& word, <& word, <<< word: no file */
};

struct shell_redirect {
	enum shell_redirect_kind kind;
	int fd;
	struct shell_word word;
	const char *text; /* of a here-document */
	size_t text_len;
};

/* One command of a list, and how it is joined to the one before. */
struct shell_command {
	struct shell_word *words;
	uint32_t words_count;
	struct shell_redirect *redirects;
	uint32_t redirects_count;
	bool piped;	 /* reads the output of the one before */
	uint16_t opened; /* number of "(" in front of it */
	uint16_t closed; /* number of ")" behind it */
};

struct shell_list {
	struct shell_command *at;
	uint32_t count;
};

/* -EMSGSIZE: beyond a limit. There are no syntax errors. */
int shell_split(const char *text, size_t len, struct arena *a,
		struct shell_list *ret);

enum shell_act {
	SHELL_SILENT, /* no output, changes no file's text: cd, mkdir */
	SHELL_PRINT,  /* prints lines of a file */
	SHELL_SEARCH, /* grep, find, ls, git status */
	SHELL_RUN,    /* a test, a build, a program */
	SHELL_WRITE,  /* changes files, and prints nothing of them */
	SHELL_OTHER,  /* prints nothing of the files: echo, date, git log */
	SHELL_UNKNOWN,
};

struct shell_file {
	const char *path;
	uint32_t start, end; /* lines shown; 0: unknown, or to the end */
	bool wrote;
};

struct shell_meaning {
	enum shell_act act;
	struct shell_file *files;
	uint32_t files_count;
	/*
	 * SHELL_PRINT: the output is the lines of files[0] from start to end
	 * and nothing else. `start` is 0 for the file's last lines.
	 */
	bool exact;
	/* The numbering, as in struct shape. */
	const char *number;
	uint8_t width;
	const char *separator;
};

/*
 * `dir` is the command's working directory; NULL: unknown, and paths stay
 * relative to it. Returns 0; a command beyond the limits is SHELL_UNKNOWN.
 */
int shell_understand(const char *text, size_t len, const char *dir,
		     struct arena *a, struct shell_meaning *ret);

/*
 * `path` joined to `dir` (NULL: none), with "." and ".." resolved by the text
 * alone, as if there were no symbolic links.
 */
const char *shell_path(const char *dir, const char *path, size_t len,
		       struct arena *a);

/*
 * Iterates over the files of a patch ("*** Update File: ..." or "+++ b/...").
 * *at starts at the patch's beginning. False: no more.
 */
bool shell_patch_file(const char **at, const char *end, const char **ret,
		      size_t *ret_len);

#endif
