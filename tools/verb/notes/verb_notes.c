/*
 * statetape notes: who wrote the lines of a commit, for other programs.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "tools/cli/say.h"
#include "tools/cli/verbs.h"
#include "tools/verb/notes/commit.h"
#include "tools/verb/notes/git.h"
#include "tools/verb/notes/note.h"
#include "tools/verb/tape.h"

#define NOTES_REF "--ref=refs/notes/ai"

enum notes_format { NOTES_GIT_AI, NOTES_AGENT_TRACE };

struct notes {
	enum notes_format format;
	bool print; /* instead of writing a git note */
	bool force; /* replace notes of other programs */
	/*
	 * Where git runs: where the user is, below the mount or beside it. Git
	 * in another place would change what that one sees with a delay.
	 */
	const char *root;
	struct tape_reader tape;
};

static void notes_release(struct notes *n)
{
	tape_release(&n->tape);
}

/* -- The hook. */

static const char hook[] = "#!/bin/sh\n"
			   "# Written by 'statetape notes --hook'.\n"
			   "statetape notes HEAD || :\n";

/* Where git looks for hooks (free it); makes that directory. */
static char *hook_path(const char *root)
{
	static const char *const argv[] = { "rev-parse",
					    "--path-format=absolute",
					    "--git-path", "hooks/post-commit",
					    NULL };
	CLEANUP(git_output_release) struct git_output o;
	int r = git_run(root, argv, NULL, 0, &o);
	char *slash;

	if (r != 0) {
		(void)git_failed(r, &o, "tell where hooks are");
		return NULL;
	}
	o.text[strcspn(o.text, "\n")] = '\0';
	slash = strrchr(o.text, '/');
	if (slash) {
		*slash = '\0';
		(void)mkdir(o.text, 0777);
		*slash = '/';
	}
	return TAKE(o.text);
}

static int install_hook(const char *root)
{
	CLEANUP(free_p) char *path = hook_path(root);
	CLEANUP(close_p) int fd = -1;

	if (!path)
		return EXIT_FAILURE;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0777);
	if (fd < 0 && errno == EEXIST)
		return say_error("'%s' is there already; add the line "
				 "'statetape notes HEAD || :' to it",
				 path);
	if (fd < 0 ||
	    write(fd, hook, sizeof(hook) - 1) != (ssize_t)sizeof(hook) - 1)
		return say_error("'%s' cannot be written: %s", path,
				 errno_text(errno));
	(void)printf("%s: every commit gets a note from now on\n", path);
	return EXIT_SUCCESS;
}

/* -- One commit. */

/* A note that another program wrote is not replaced. */
static bool may_write(const struct notes *n, const char *id)
{
	const char *argv[] = { "notes", NOTES_REF, "show", id, NULL };
	CLEANUP(git_output_release) struct git_output old = { 0 };

	if (n->force || git_run(n->root, argv, NULL, 0, &old) != 0 ||
	    note_is_ours(old.text))
		return true;
	(void)say_error("commit %.12s has a note by another program, which "
			"stays; --force replaces it",
			id);
	return false;
}

static int write_note(const struct notes *n, const struct commit *c)
{
	const char *argv[] = { "notes", NOTES_REF, "add", "-f",
			       "-F",	"-",	   c->id, NULL };
	CLEANUP(git_output_release) struct git_output o = { 0 };
	CLEANUP(free_p) char *text = NULL;
	size_t len;
	int r;

	text = note_git_ai(c, &len);
	if (n->print) {
		(void)printf("%s\n", text);
		return 0;
	}
	if (!may_write(n, c->id))
		return -EEXIST;
	r = git_run(n->root, argv, text, len, &o);
	return r == 0 ? 0 : git_failed(r, &o, "write the note");
}

static void say_lines(const struct commit *c)
{
	size_t lines[WHO_SEVERAL + 1] = { 0 };

	for (size_t i = 0; i < c->files_count; i++)
		for (size_t k = 0; k < c->files[i].count; k++) {
			const struct commit_span *s = &c->files[i].spans[k];

			lines[c->authors[s->who].kind] += s->end - s->start + 1;
		}
	(void)printf("%.12s: lines by agents %zu, by people %zu, unknown %zu\n",
		     c->id, lines[WHO_AGENT], lines[WHO_PERSON],
		     c->unknown + lines[WHO_SEVERAL]);
}

static int one_commit(struct notes *n, const char *id)
{
	CLEANUP(commit_release) struct commit c = { 0 };
	CLEANUP(free_p) char *trace = NULL;
	int r = commit_init(&c, id, n->root, &n->tape);

	if (r < 0)
		return r;
	if (n->format == NOTES_AGENT_TRACE) {
		trace = note_agent_trace(&c);
		(void)puts(trace);
		return 0;
	}
	r = write_note(n, &c);
	if (r == 0 && !n->print)
		say_lines(&c);
	return r;
}

/* -- All of them. */

/* The ids that COMMIT means, one per line (free it). */
static char *list_commits(const char *root, const char *what)
{
	const char *range[] = { "rev-list", "--reverse", "--end-of-options",
				what, NULL };
	const char *one[] = { "rev-parse", "--verify", "--end-of-options", NULL,
			      NULL };
	CLEANUP(free_p) char *commit = format_text("%s^{commit}", what);
	CLEANUP(git_output_release) struct git_output o = { 0 };
	int r;

	one[3] = commit;
	r = git_run(root, strstr(what, "..") ? range : one, NULL, 0, &o);
	if (r == 0)
		return TAKE(o.text);
	(void)say_error("git knows no commit '%s'%s%s", what, r < 0 ? ": " : "",
			r < 0 ? errno_text(r) : "");
	return NULL;
}

static bool read_format(const struct invocation *in, enum notes_format *ret)
{
	const char *name = in->options[OPTION_NOTES_FORMAT].text;

	*ret = NOTES_GIT_AI;
	if (!name || strcmp(name, "git-ai") == 0)
		return true;
	*ret = NOTES_AGENT_TRACE;
	if (strcmp(name, "agent-trace") == 0)
		return true;
	(void)say_usage_error("--format is git-ai or agent-trace, not '%s'",
			      name);
	return false;
}

int verb_notes(const struct invocation *in)
{
	CLEANUP(notes_release) struct notes n = { .tape = TAPE_NONE };
	CLEANUP(free_p) char *ids = NULL;
	const char *what = in->arguments[0] ? in->arguments[0] : "HEAD";
	int code = EXIT_SUCCESS;

	if (!read_format(in, &n.format))
		return EXIT_USAGE;
	if (tape_open(in->options[OPTION_REPO].text, false, &n.tape) < 0)
		return EXIT_FAILURE;
	n.root = in->options[OPTION_REPO].text;
	n.root = n.root ? n.root : ".";
	if (in->options[OPTION_HOOK].given)
		return install_hook(n.root);
	n.print = in->options[OPTION_PRINT].given;
	n.force = in->options[OPTION_FORCE].given;
	ids = list_commits(n.root, what);
	if (!ids)
		return EXIT_FAILURE;
	for (char *rest = ids, *id; (id = strsep(&rest, "\n"));)
		if (*id && one_commit(&n, id) < 0)
			code = EXIT_FAILURE;
	return code;
}
