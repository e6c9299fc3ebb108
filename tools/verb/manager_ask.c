#include "tools/verb/manager_ask.h"

#include <errno.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/base/json.h"
#include "manager/decide/archive.h"
#include "manager/report/report.h"
#include "tape/wire/wire.h"
#include "tools/cli/repo.h"
#include "tools/cli/say.h"
#include "tools/cli/verbs.h"

static void archive_p(struct archive **m)
{
	archive_free(*m);
}

static int from_archive(const struct state *s, const char *ask,
			const cJSON *question, cJSON *answer)
{
	CLEANUP(archive_p) struct archive *m = NULL;
	CLEANUP(free_p) char *why = NULL;
	int r = archive_open(s->dir, false, &m, &why);

	if (r == -ENOENT)
		return say_error("no agent of '%s' has asked its model through "
				 "StateTape yet: statetape run -- AGENT",
				 s->repo);
	if (r < 0)
		return say_error("%s", why ? why : errno_text(r));
	r = report_from(m, ask, question, answer);
	if (r == -ENOTSUP)
		return say_error("the manager's archive was written by an "
				 "older version, which kept no requests; the "
				 "next run keeps them");
	return r < 0 ? say_error("the manager's archive cannot be read: %s",
				 errno_text(r))
		     : EXIT_SUCCESS;
}

int manager_ask(const struct invocation *in, const char *ask,
		const cJSON *question, cJSON **ret)
{
	CLEANUP(state_release) struct state s = REPO_STATE_EMPTY;
	int r;

	if (repo_find(in->arguments[0], &s) < 0)
		return EXIT_FAILURE;
	r = wire_ask(s.manager_socket, ask, question, REPO_ASK_MS, ret);
	if (r == 0)
		return EXIT_SUCCESS;
	cJSON_Delete(*ret);
	*ret = must_have(cJSON_CreateObject());
	if (r != -ECONNREFUSED && r != -ENOENT)
		return say_error("the manager does not answer: %s",
				 errno_text(r));
	return from_archive(&s, ask, question, *ret);
}

void manager_show(const struct invocation *in, const cJSON *answer,
		  void (*print)(FILE *out, const cJSON *answer))
{
	if (in->options[OPTION_JSON].given) {
		CLEANUP(free_p)
		char *text = must_have(cJSON_PrintUnformatted(answer));

		(void)puts(text);
	} else {
		print(stdout, answer);
	}
}
