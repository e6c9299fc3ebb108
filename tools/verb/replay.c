/*
 * statetape replay: runs a recorded session through the manager, request by
 * request.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "graph/base/alloc.h"
#include "graph/base/buf.h"
#include "graph/base/cleanup.h"
#include "graph/base/json.h"
#include "manager/replay/replay.h"
#include "manager/report/report.h"
#include "tools/cli/report_text.h"
#include "tools/cli/say.h"
#include "tools/cli/verbs.h"
#include "tools/verb/replay_find.h"

#define SESSION_MAX ((size_t)1 << 30)

struct printing {
	unsigned n;
	bool json;
};

static void replay_p(struct replay **r)
{
	replay_free(*r);
}

static void print_step(void *ctx, const struct replay_step *s)
{
	struct printing *p = ctx;

	p->n++;
	if (p->json)
		return;
	(void)printf("%4u  received %8llu bytes, sent %8llu%s", p->n,
		     (unsigned long long)s->received,
		     (unsigned long long)s->sent,
		     s->rewritten ? "  rewritten" : "");
	if (s->writes)
		(void)printf("  (%u %s known)", s->writes,
			     s->writes == 1 ? "change" : "changes");
	(void)putchar('\n');
	for (const char *at = s->said; *at; at = strchr(at, '\n') + 1)
		(void)printf("      %.*s\n", (int)strcspn(at, "\n"), at);
}

static int read_file(int at, const char *path, struct buf *ret)
{
	CLEANUP(close_p) int fd = openat(at, path, O_RDONLY | O_CLOEXEC);
	ssize_t got = 1;

	if (fd < 0)
		return -errno;
	while (got > 0) {
		int r = buf_reserve(ret, 1 << 16);

		if (r < 0)
			return r;
		got = read(fd, ret->data + ret->len, 1 << 16);
		if (got < 0)
			return -errno;
		ret->len += (size_t)got;
	}
	return 0;
}

static int is_body(const struct dirent *e)
{
	const char *dot = strrchr(e->d_name, '.');

	return dot && strcmp(dot, ".json") == 0;
}

/* Captured requests: files NNN.json, in the order of their names. */
static int replay_directory(struct replay *r, const char *path,
			    struct printing *p)
{
	CLEANUP(close_p)
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent **all;
	int n = scandir(path, &all, is_body, alphasort);
	int rc = fd < 0 || n < 0 ? -errno : 0;

	for (int i = 0; i < n; i++) {
		struct buf body = BUF(SESSION_MAX);
		struct replay_step step;

		if (rc == 0)
			rc = read_file(fd, all[i]->d_name, &body);
		if (rc == 0 &&
		    replay_body(r, body.data, body.len, 0, &step) == 0)
			print_step(p, &step);
		buf_release(&body);
		free(all[i]);
	}
	if (n >= 0)
		free(all);
	return rc == 0 && !p->n ? -EBADMSG : rc;
}

/* A session: its file's text, or a directory of captured requests. */
struct session_file {
	const char *path;
	bool is_directory;
	struct buf text;
};

static int session_read(struct session_file *s)
{
	struct stat st;

	if (stat(s->path, &st) < 0)
		return -errno;
	s->is_directory = S_ISDIR(st.st_mode);
	return s->is_directory ? 0 : read_file(AT_FDCWD, s->path, &s->text);
}

static int replay_session(struct replay *r, const struct session_file *s,
			  struct printing *p)
{
	return s->is_directory ? replay_directory(r, s->path, p)
			       : replay_transcript(r, s->text.data, s->text.len,
						   print_step, p);
}

static int print_report(struct replay *r, bool json)
{
	CLEANUP(json_p) cJSON *answer = must_have(cJSON_CreateObject());

	if (report_answer(replay_brain(r), "REPORT", NULL, answer) < 0)
		return say_error("cannot make the report");
	if (json) {
		CLEANUP(free_p)
		char *text = must_have(cJSON_PrintUnformatted(answer));

		(void)puts(text);
	} else {
		report_print(stdout, answer);
	}
	return EXIT_SUCCESS;
}

/* The session's path (free it); NULL: none, after a message. */
static char *choose_session(const struct invocation *in)
{
	CLEANUP(free_p) char *here = getcwd(NULL, 0);
	bool last = in->options[OPTION_LAST].given;
	char *path = NULL;

	if (last == (in->arguments[0] != NULL))
		(void)say_usage_error("replay wants a SESSION or --last");
	else if (!last)
		return must_have(strdup(in->arguments[0]));
	else if (here)
		path = replay_find_last(here);
	if (last && !in->arguments[0] && !path)
		(void)say_error("there is no session of Claude Code or Codex "
				"in '%s': go to the directory where the agent "
				"was started",
				here ? here : "");
	return path;
}

/* The repository (free it); NULL: unknown, after a message. */
static char *choose_repo(const struct invocation *in,
			 const struct session_file *s)
{
	const char *said = in->options[OPTION_REPO].text;
	char *found = NULL;

	if (said && *said == '/')
		return must_have(strdup(said));
	if (!said && !s->is_directory && s->text.data)
		found = replay_find_cwd(s->text.data, s->text.len);
	if (said)
		(void)say_usage_error("--repo wants the repository's absolute "
				      "path, as the session names it");
	else if (!found)
		(void)say_usage_error("the session does not name its "
				      "repository: give --repo DIRECTORY");
	return found;
}

/* -1: unknown. */
static int choose_mode(const struct option_value *mode)
{
	int i = 0;

	if (!mode->given)
		return MODE_PINNED;
	while (i < MODES && strcmp(mode->text, mode_names[i]) != 0)
		i++;
	return i < MODES ? i : -1;
}

static int replay_file(const struct invocation *in, struct session_file *s,
		       enum mode mode)
{
	CLEANUP(replay_p) struct replay *r = NULL;
	CLEANUP(free_p) char *why = NULL, *repo = NULL;
	struct printing p = { .json = in->options[OPTION_JSON].given };
	int rc = session_read(s);

	if (rc == 0) {
		repo = choose_repo(in, s);
		if (!repo)
			return EXIT_USAGE;
		rc = replay_new(repo, mode, &r, &why);
		if (rc < 0)
			return say_error("%s", why ? why : errno_text(rc));
		rc = replay_session(r, s, &p);
	}
	if (rc == -EBADMSG)
		return say_error("'%s' is not a session in a known format",
				 s->path);
	if (rc < 0)
		return say_error("'%s' cannot be replayed: %s", s->path,
				 errno_text(rc));
	return print_report(r, p.json);
}

int verb_replay(const struct invocation *in)
{
	CLEANUP(free_p) char *path = NULL;
	struct session_file s = { .text = BUF(SESSION_MAX) };
	int mode = choose_mode(&in->options[OPTION_MODE]), code;

	if (mode < 0)
		return say_usage_error("--mode is pinned, eager or off");
	path = choose_session(in);
	if (!path)
		return in->options[OPTION_LAST].given && !in->arguments[0]
			       ? EXIT_FAILURE
			       : EXIT_USAGE;
	if (in->options[OPTION_LAST].given && !in->options[OPTION_JSON].given) {
		(void)print_safe(stdout, path);
		(void)putchar('\n');
	}
	s.path = path;
	code = replay_file(in, &s, (enum mode)mode);
	buf_release(&s.text);
	return code;
}
