/*
 * What a shell command shows, by its words: whether its output is the lines
 * of a file, the answer to a search, a program's run, or could be anything;
 * and which files it names. It reads quoting, pipes, lists, redirections and
 * here-documents as a shell does, goes into `bash -c '...'`, and follows `cd`.
 * What depends on variables, globs or substitutions is not guessed.
 *
 * Never certain and never needed: the mount knows what was really opened.
 * Pure; time is linear in the command's length.
 */
#ifndef STATETAPE_MANAGER_RECORD_SHELL_H
#define STATETAPE_MANAGER_RECORD_SHELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/base/arena.h"

#define SHELL_TEXT_MAX	((size_t)1 << 20)
#define SHELL_WORDS_MAX 20000u

/* A word after quoting is undone. */
struct shell_word {
	const char *text;
	size_t len;
	bool dynamic; /* has an expansion in it that only a shell can do */
	bool glob;
	bool quoted; /* some of it */
};

enum shell_redirect_kind {
	REDIRECT_IN,	 /* < word */
	REDIRECT_OUT,	 /* > word, >| word, &> word */
	REDIRECT_APPEND, /* >> word */
	REDIRECT_TEXT,	 /* << word: `text` is the document; <<< word */
	REDIRECT_COPY,	 /* >& word: another descriptor */
};

struct shell_redirect {
	enum shell_redirect_kind kind;
	int fd;
	struct shell_word word;
	const char *text; /* of a here-document */
	size_t text_len;
};

/* One command of a list: words, and how it is joined to the one before. */
struct shell_command {
	struct shell_word *words;
	uint32_t words_count;
	struct shell_redirect *redirects;
	uint32_t redirects_count;
	bool piped;	 /* reads what the one before prints */
	uint16_t opened; /* "(" in front of it */
	uint16_t closed; /* ")" behind it */
};

struct shell_list {
	struct shell_command *at;
	uint32_t count;
};

/* -EMSGSIZE: beyond a limit. Anything else is read somehow. */
int shell_split(const char *text, size_t len, struct arena *a,
		struct shell_list *ret);

enum shell_act {
	SHELL_SILENT, /* shows nothing and changes no text: cd, mkdir */
	SHELL_PRINT,  /* shows lines of a file */
	SHELL_SEARCH, /* grep, find, ls, git status */
	SHELL_RUN,    /* a test, a build, a program */
	SHELL_WRITE,  /* changes files, and shows nothing of them */
	SHELL_OTHER,  /* shows nothing of the files: echo, date, git log */
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
	 * and nothing else. `start` is 0 if they are its last ones.
	 */
	bool exact;
	/* How the lines are numbered, as struct shape has it. */
	const char *number;
	uint8_t width;
	const char *separator;
};

/*
 * `dir` is where the command starts, or NULL: then paths are relative to a
 * place unknown. -EMSGSIZE, or 0.
 */
int shell_understand(const char *text, size_t len, const char *dir,
		     struct arena *a, struct shell_meaning *ret);

/* `path` seen from `dir`, with "." and ".." taken out where that is safe. */
const char *shell_path(const char *dir, const char *path, size_t len,
		       struct arena *a);

/*
 * The files of a patch ("*** Update File: ..." or "+++ b/..."), one by one:
 * `at` starts as the patch's begin. False: no more.
 */
bool shell_patch_file(const char **at, const char *end, const char **ret,
		      size_t *ret_len);

#endif
