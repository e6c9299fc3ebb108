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
#include "tools/cli/say.h"
#include "tools/cli/verbs.h"

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

static int replay_any(struct replay *r, const char *path, struct printing *p)
{
	struct buf text = BUF(SESSION_MAX);
	struct stat st;
	int rc;

	if (stat(path, &st) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return replay_directory(r, path, p);
	rc = read_file(AT_FDCWD, path, &text);
	if (rc == 0)
		rc = replay_transcript(r, text.data, text.len, print_step, p);
	buf_release(&text);
	return rc;
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

int verb_replay(const struct invocation *in)
{
	const struct option_value *repo = &in->options[OPTION_REPO];
	const struct option_value *mode = &in->options[OPTION_MODE];
	CLEANUP(replay_p) struct replay *r = NULL;
	CLEANUP(free_p) char *why = NULL;
	struct printing p = { .json = in->options[OPTION_JSON].given };
	enum mode how = MODE_PINNED;
	int rc, i = 0;

	while (mode->given && i < MODES &&
	       strcmp(mode->text, mode_names[i]) != 0)
		i++;
	if (i == MODES)
		return say_usage_error("--mode is pinned, eager or off");
	if (mode->given)
		how = (enum mode)i;
	if (!repo->given || repo->text[0] != '/')
		return say_usage_error("--repo wants the repository's absolute "
				       "path, as the session names it");
	rc = replay_new(repo->text, how, &r, &why);
	if (rc < 0)
		return say_error("%s", why ? why : errno_text(rc));
	rc = replay_any(r, in->arguments[0], &p);
	if (rc == -EBADMSG)
		return say_error("'%s' is not a session in a known format",
				 in->arguments[0]);
	if (rc < 0)
		return say_error("'%s' cannot be replayed: %s",
				 in->arguments[0], errno_text(rc));
	return print_report(r, p.json);
}
