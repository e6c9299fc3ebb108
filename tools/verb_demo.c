/*
 * statetape demo: a repository of its own in a temporary directory, mounted,
 * privately if possible, and changed by a few real programs; then what the
 * journal saw. State and sockets go to the same temporary directory, so that
 * nothing of the user's is touched, and all of it is removed at the end.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "graph/base/cleanup.h"
#include "tape/journal.h"
#include "tools/line.h"
#include "tools/probe.h"
#include "tools/repo.h"
#include "tools/say.h"
#include "tools/verbs.h"

#define AUTHORS_MAX    32
#define AUTHOR_COLUMN  32
#define COMMAND_COLUMN 38
#define REMOVE_FDS     16
/* What `mount` ends with when the command was never run. */
#define NOT_MOUNTED 125

static const char app[] = "def greet(name):\n"
			  "    return f\"Hello, {name}\"\n"
			  "\n"
			  "\n"
			  "print(greet(\"world\"))\n";

static const char notes[] = "with open(\"notes\", \"w\") as out:\n"
			    "    out.write(\"written by Python\\n\")\n";

static const char editor[] =
	"#!/bin/sh\n"
	"# Saves as editors do: a new file beside the old, then a rename.\n"
	"new=\".$1.$$.tmp\"\n"
	"{ echo '# Says hello.'; cat \"$1\"; } >\"$new\" && mv \"$new\" "
	"\"$1\"\n";

static const char session[] =
	"step() { printf '  $ %s\\n' \"$1\"; eval \"$1\"; }\n"
	"has() { command -v \"$1\" >/dev/null 2>&1; }\n"
	"PATH=$DEMO/bin:$PATH\n"
	"cd \"$DEMO/repo\" || exit 1\n"
	"# The temporary directory may be mounted noexec.\n"
	"test -x \"$DEMO/bin/editor\" ||\n"
	"\teditor() { sh \"$DEMO/bin/editor\" \"$1\"; }\n"
	"\n"
	"step 'echo \"print(greet(1))\" >> app.py'\n"
	"step 'sed -i s/Hello/Welcome/ app.py'\n"
	"step 'editor app.py'\n"
	"if has python3; then\n"
	"\tstep 'python3 notes.py'\n"
	"else\n"
	"\tstep 'cp app.py notes'\n"
	"fi\n"
	"step 'mkdir lib && mv notes lib/notes'\n"
	"if has git; then\n"
	"\tstep 'git init -q && git add . && git commit -q -m first'\n"
	"fi\n"
	"step 'rm lib/notes'\n";

/* A directory of our own, and the paths in it. */
struct stage {
	char *dir;
	char *repo;
	char *session; /* what is played in it */
};

static void stage_release(struct stage *s)
{
	free(s->dir);
	free(s->repo);
	free(s->session);
}

static int write_file(const char *dir, const char *name, const char *text,
		      mode_t mode)
{
	CLEANUP(free_p) char *path = sentence("%s/%s", dir, name);
	CLEANUP(close_p)
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	ssize_t len = (ssize_t)strlen(text);

	if (fd < 0)
		return -errno;
	return write(fd, text, (size_t)len) == len ? 0 : -EIO;
}

static int make_dirs(const char *dir)
{
	static const char *const names[] = { "repo", "bin", "state", "run" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		CLEANUP(free_p) char *path = sentence("%s/%s", dir, names[i]);

		if (mkdir(path, 0700) < 0)
			return -errno;
	}
	return 0;
}

static int set_environment(const struct stage *s)
{
	CLEANUP(free_p) char *state = sentence("%s/state", s->dir);
	CLEANUP(free_p) char *run = sentence("%s/run", s->dir);
	const char *const variables[][2] = {
		{ "DEMO", s->dir },
		{ "XDG_STATE_HOME", state },
		{ "XDG_RUNTIME_DIR", run },
		{ "GIT_CONFIG_GLOBAL", "/dev/null" },
		{ "GIT_CONFIG_NOSYSTEM", "1" },
		{ "GIT_TEMPLATE_DIR", "" },
		{ "GIT_AUTHOR_NAME", "Demo" },
		{ "GIT_AUTHOR_EMAIL", "demo@localhost" },
		{ "GIT_COMMITTER_NAME", "Demo" },
		{ "GIT_COMMITTER_EMAIL", "demo@localhost" },
		{ "PYTHONDONTWRITEBYTECODE", "1" },
	};

	/* NOLINTBEGIN(concurrency-mt-unsafe): there is one thread. */
	/* Whoever calls us from a hook of git's has these for another one. */
	(void)unsetenv("GIT_DIR");
	(void)unsetenv("GIT_INDEX_FILE");
	(void)unsetenv("GIT_WORK_TREE");
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
		if (setenv(variables[i][0], variables[i][1], 1) < 0)
			return -errno;
	/* NOLINTEND(concurrency-mt-unsafe) */
	return 0;
}

static int set_stage(struct stage *ret)
{
	const char *tmp = getenv("TMPDIR"); /* NOLINT(concurrency-mt-unsafe) */
	CLEANUP(free_p) char *bin = NULL;
	int r;

	ret->dir = sentence("%s/statetape-demo.XXXXXX",
			    tmp && *tmp == '/' ? tmp : "/tmp");
	if (!mkdtemp(ret->dir)) {
		r = -errno;
		free(TAKE(ret->dir));
		return r;
	}
	ret->repo = sentence("%s/repo", ret->dir);
	bin = sentence("%s/bin", ret->dir);
	ret->session = sentence("%s/session", bin);
	r = make_dirs(ret->dir);
	if (r == 0)
		r = write_file(ret->repo, "app.py", app, 0644);
	if (r == 0)
		r = write_file(ret->repo, "notes.py", notes, 0644);
	if (r == 0)
		r = write_file(bin, "editor", editor, 0755);
	if (r == 0)
		r = write_file(bin, "session", session, 0644);
	return r < 0 ? r : set_environment(ret);
}

static int remove_one(const char *path, const struct stat *st, int type,
		      struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	(void)remove(path);
	return 0;
}

static void clear_stage(const struct stage *s)
{
	/* Never into a mount, should one be left over. */
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread. */
	if (nftw(s->dir, remove_one, REMOVE_FDS,
		 FTW_DEPTH | FTW_PHYS | FTW_MOUNT) < 0 ||
	    access(s->dir, F_OK) == 0)
		(void)complain("'%s' could not be removed", s->dir);
}

/*
 * Where a namespace of our own is refused, fusermount3 may still mount: for
 * all to see, which does no harm in a directory of ours.
 */
static _Noreturn void become_mount(const struct stage *s)
{
	static const char self[] = "/proc/self/exe", name[] = "statetape";
	struct probe_fuse offer;

	if (probe_fuse(false, &offer) == 0 || probe_fuse(true, &offer) == 0)
		(void)execl(self, name, "mount", "--private", s->repo, "--",
			    "sh", s->session, (char *)NULL);
	else
		(void)execl(self, name, "mount", s->repo, "--", "sh",
			    s->session, (char *)NULL);
	_exit(NOT_MOUNTED);
}

/* Play the session under a mount; its exit code, or 128 + signal. */
static int play(const struct stage *s)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, old;
	int status = 0;
	pid_t pid;

	(void)fflush(NULL);
	/* Ctrl-C is for the script; we live on to clean up. */
	(void)sigaction(SIGINT, &ignore, &old);
	pid = fork();
	if (pid == 0) {
		(void)sigaction(SIGINT, &old, NULL);
		become_mount(s);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	(void)sigaction(SIGINT, &old, NULL);
	if (pid < 0)
		return NOT_MOUNTED;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* What was seen, by author. */
struct tally {
	struct {
		const struct journal_author *who;
		uint64_t lines;
	} authors[AUTHORS_MAX];
	size_t n;
	uint64_t lines;
	uint64_t hidden; /* git's own files, too many to print */
};

static void tally_add(struct tally *t, const struct journal_author *who)
{
	size_t i = 0;

	t->lines++;
	while (i < t->n && t->authors[i].who != who)
		i++;
	if (!who || i == AUTHORS_MAX)
		return;
	t->authors[i].who = who;
	t->authors[i].lines++;
	if (i == t->n)
		t->n++;
}

static bool is_gits_own(const char *path)
{
	return path && strncmp(path, ".git", 4) == 0 &&
	       (path[4] == '/' || path[4] == '\0');
}

static void show_line(const struct journal_line *l, struct tally *t)
{
	if (!line_passes(l, &(struct line_filter){ 0 }))
		return;
	if (l->event.op != JOURNAL_SESSION)
		tally_add(t, l->event.author);
	if (is_gits_own(l->event.path))
		t->hidden++;
	else
		line_print(stdout, l, colour_wanted(stdout));
}

/* At most `width` bytes of it: a command line may be long. */
static void print_cut(const char *text, size_t width)
{
	bool fits = strlen(text) <= width;
	CLEANUP(free_p)
	char *cut = sentence("%.*s%s", (int)(fits ? width : width - 3), text,
			     fits ? "" : "...");

	(void)print_safe(stdout, cut);
}

/* "cat[7] < editor < sh": the process, and who had it do so. (Free it.) */
static char *lineage(const struct journal_author *a)
{
	char *text = sentence("%s[%" PRIu32 "]", a->comm, a->pid);

	for (a = a->parent; a && !a->session_root; a = a->parent) {
		char *longer = sentence("%s < %s", text, a->comm);

		free(text);
		text = longer;
	}
	return text;
}

static void show_author(const struct journal_author *a, uint64_t lines)
{
	CLEANUP(free_p) char *name = lineage(a);

	(void)fputs("  ", stdout);
	print_padded(stdout, name, AUTHOR_COLUMN);
	(void)printf("%4" PRIu64 "  ", lines);
	print_cut(a->cmdline, COMMAND_COLUMN);
	(void)putchar('\n');
}

static void show_tally(const struct tally *t)
{
	if (t->hidden)
		(void)printf("      and %" PRIu64 " lines about git's own "
			     "files in .git\n",
			     t->hidden);
	(void)printf("\n%" PRIu64 " operations by %zu processes:\n", t->lines,
		     t->n);
	for (size_t i = 0; i < t->n; i++)
		show_author(t->authors[i].who, t->authors[i].lines);
}

static void reader_p(struct journal_reader **r)
{
	journal_reader_free(*r);
}

static int show_journal(const struct stage *s)
{
	CLEANUP(state_release) struct state state = REPO_STATE_EMPTY;
	CLEANUP(reader_p) struct journal_reader *reader = NULL;
	struct tally tally = { 0 };
	struct journal_line l = { 0 };
	int r = state_init(s->repo, 0, &state, NULL);

	if (r == 0)
		r = journal_reader_open(state.dir_fd, STATE_JOURNAL, 0,
					&reader);
	if (r < 0)
		return r;
	while ((r = journal_reader_next(reader, &l)) == 1)
		show_line(&l, &tally);
	if (r < 0)
		return r;
	show_tally(&tally);
	return tally.lines ? 0 : -ENODATA;
}

static int perform(const struct stage *s)
{
	int code, r;

	(void)puts("In a small repository, mounted for these commands alone:");
	code = play(s);
	if (code == NOT_MOUNTED)
		return complain("mounting is not possible here; 'statetape "
				"doctor' says what is missing");
	if (code != 0)
		return complain("the demonstration's commands failed (exit "
				"code %d)",
				code);
	(void)puts("\nWhat the journal has, written before each call "
		   "returned:");
	r = show_journal(s);
	if (r < 0)
		return complain("the journal cannot be read: %s", reason(r));
	(void)puts("\nNext, on a repository of yours: 'statetape mount REPO', "
		   "work in it, and\n'statetape journal -f REPO' in another "
		   "terminal.");
	return EXIT_SUCCESS;
}

int verb_demo(const struct invocation *in)
{
	CLEANUP(stage_release) struct stage s = { 0 };
	int code, r = set_stage(&s);

	if (r < 0)
		code = complain("a temporary directory cannot be made: %s",
				reason(r));
	else
		code = perform(&s);
	if (s.dir && in->options[OPTION_KEEP_FILES].given)
		(void)printf("Kept in '%s'.\n", s.dir);
	else if (s.dir)
		clear_stage(&s);
	return code;
}
