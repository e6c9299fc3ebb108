#include "tools/verb/replay_find.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <fcntl.h>
#include <fts.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/base/clock.h"
#include "graph/base/json.h"
#include "tools/cli/say.h"

#define HEAD_MAX (256 << 10) /* of a file, in which its directory is named */
#define ROWS_MAX 50

/* $variable, else `name` in the user's home (free it). */
static char *folder(const char *variable, const char *name)
{
	/* NOLINTBEGIN(concurrency-mt-unsafe): there is one thread. */
	const char *set = getenv(variable);
	const char *home = getenv("HOME");
	/* NOLINTEND(concurrency-mt-unsafe) */

	if (set && *set)
		return must_have(strdup(set));
	return format_text("%s/%s", home ? home : "", name);
}

char *replay_find_cwd(const char *text, size_t len)
{
	const char *end = text + len;

	for (int row = 0; text < end && row < ROWS_MAX; row++) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		size_t size = (size_t)((stop ? stop : end) - text);
		CLEANUP(json_p) cJSON *j = cJSON_ParseWithLength(text, size);
		const char *cwd = json_string(j, "cwd");

		if (!cwd) /* Codex */
			cwd = json_string(json_member(j, "payload"), "cwd");
		if (cwd && *cwd == '/')
			return must_have(strdup(cwd));
		text += size + 1;
	}
	return NULL;
}

static bool is_from(const char *path, const char *cwd)
{
	CLEANUP(close_p) int fd = open(path, O_RDONLY | O_CLOEXEC);
	CLEANUP(free_p) char *head = must_have(malloc(HEAD_MAX));
	ssize_t n = fd < 0 ? -1 : read(fd, head, HEAD_MAX);
	CLEANUP(free_p)
	char *found = n > 0 ? replay_find_cwd(head, (size_t)n) : NULL;

	return found && strcmp(found, cwd) == 0;
}

struct newest {
	char *path; /* NULL: none yet */
	int64_t at_ns;
};

/* The newest *.jsonl below `top` that is from `cwd`. */
static void look_below(struct newest *n, char *top, const char *cwd)
{
	char *const tops[] = { top, NULL };
	FTS *tree = fts_open(tops, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	const FTSENT *e;

	while (tree && (e = fts_read(tree))) {
		const char *dot = strrchr(e->fts_name, '.');
		int64_t at_ns;

		if (e->fts_info != FTS_F || !dot || strcmp(dot, ".jsonl") != 0)
			continue;
		at_ns = e->fts_statp->st_mtim.tv_sec * NS_PER_S +
			e->fts_statp->st_mtim.tv_nsec;
		if ((n->path && at_ns <= n->at_ns) ||
		    !is_from(e->fts_path, cwd))
			continue;
		free(n->path);
		n->path = must_have(strdup(e->fts_path));
		n->at_ns = at_ns;
	}
	if (tree)
		(void)fts_close(tree);
}

/*
 * Claude Code has a folder per directory, named by its path with other
 * characters than letters and digits as dashes; Codex one per day.
 */
char *replay_find_last(const char *cwd)
{
	CLEANUP(free_p) char *claude = folder("CLAUDE_CONFIG_DIR", ".claude");
	CLEANUP(free_p) char *codex = folder("CODEX_HOME", ".codex");
	CLEANUP(free_p) char *name = must_have(strdup(cwd));
	CLEANUP(free_p) char *of_claude = NULL, *of_codex = NULL;
	struct newest n = { .path = NULL };

	for (char *c = name; *c; c++)
		if (!isalnum((unsigned char)*c))
			*c = '-';
	of_claude = format_text("%s/projects/%s", claude, name);
	of_codex = format_text("%s/sessions", codex);
	look_below(&n, of_claude, cwd);
	look_below(&n, of_codex, cwd);
	return n.path;
}
