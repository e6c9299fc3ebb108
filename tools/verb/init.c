/*
 * statetape init: the repository's own file, with every setting that it may
 * have, none of them set. Taking it back removes a file that nobody edited.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "tools/cli/config.h"
#include "tools/cli/say.h"
#include "tools/cli/verbs.h"

#define WIDTH	 77
#define FILE_MAX (64 << 10)

static void put_comment(FILE *out, const char *text)
{
	CLEANUP(free_p) char *wrapped = NULL;
	size_t size;
	FILE *lines = must_have(open_memstream(&wrapped, &size));

	print_wrapped(lines, text, 0, 0, WIDTH);
	(void)fclose(lines);
	for (char *at = must_have(wrapped); *at;) {
		size_t len = strcspn(at, "\n");

		(void)fprintf(out, "#%s%.*s\n", len ? " " : "", (int)len, at);
		at += len + 1;
	}
}

/* The file as init writes it (free it). */
static char *template(void)
{
	char *text = NULL;
	size_t size;
	FILE *out = must_have(open_memstream(&text, &size));
	const char *table = "";

	put_comment(out, "Defaults of 'statetape run' for this repository. A "
			 "line counts once its # is removed. The user's own "
			 "file, the environment and options come before or "
			 "after: see CONFIGURATION in statetape(1).");
	for (size_t i = 0; i < CONFIGS; i++) {
		const struct config_row *row = &config_rows[i];

		if (row->users)
			continue;
		if (strcmp(table, row->table) != 0)
			(void)fprintf(out, "\n[%s]\n", row->table);
		else
			(void)fputc('\n', out);
		table = row->table;
		put_comment(out, row->text);
		(void)fprintf(out, "#%s = \"%s\"\n", row->key,
			      row->values ? row->values[0] : "");
	}
	(void)fclose(out);
	return must_have(text);
}

/* The file's text (free it); NULL: it cannot be read. */
static char *read_whole(int fd)
{
	char *text = must_have(calloc(1, FILE_MAX + 1));
	ssize_t n = read(fd, text, FILE_MAX);

	if (n >= 0)
		return text;
	free(text);
	return NULL;
}

static int undo(const char *wanted)
{
	CLEANUP(close_p)
	int fd = open(CONFIG_REPO_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	CLEANUP(free_p) char *text = fd < 0 ? NULL : read_whole(fd);

	if (fd < 0 && errno == ENOENT)
		return say_error("there is no '" CONFIG_REPO_FILE "' here");
	if (!text)
		return say_error("'" CONFIG_REPO_FILE "' cannot be read: %s",
				 errno_text(errno));
	if (strcmp(text, wanted) != 0)
		return say_error("'" CONFIG_REPO_FILE "' was edited since "
				 "'statetape init' wrote it: remove it "
				 "yourself");
	if (unlink(CONFIG_REPO_FILE) < 0)
		return say_error("'" CONFIG_REPO_FILE "' cannot be removed: %s",
				 errno_text(errno));
	(void)puts("Removed " CONFIG_REPO_FILE ". What was recorded stays "
		   "until 'statetape forget .'");
	return EXIT_SUCCESS;
}

static void advise(void)
{
	(void)puts("To make it the default, add one of these to your shell's "
		   "startup file:\n"
		   "  alias claude='statetape run -- claude'\n"
		   "  alias codex='statetape run -- codex'\n"
		   "Take it back: statetape init --undo");
}

int verb_init(const struct invocation *in)
{
	CLEANUP(free_p) char *text = template();
	CLEANUP(close_p) int fd = -1;
	size_t len = strlen(text);

	if (in->options[OPTION_UNDO].given)
		return undo(text);
	fd = open(CONFIG_REPO_FILE, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
		  0644);
	if (fd < 0 && errno == EEXIST) {
		(void)puts(CONFIG_REPO_FILE " is there already and stays as it "
					    "is.");
	} else if (fd < 0 || write(fd, text, len) != (ssize_t)len) {
		return say_error("'" CONFIG_REPO_FILE "' cannot be written: %s",
				 errno_text(errno));
	} else {
		(void)puts("Wrote " CONFIG_REPO_FILE ", in which every setting "
			   "is still a comment.");
	}
	advise();
	return EXIT_SUCCESS;
}
