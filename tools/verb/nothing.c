#include "tools/verb/nothing.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "graph/base/cleanup.h"
#include "manager/decide/archive.h"
#include "tape/store/store.h"
#include "tools/cli/repo.h"
#include "tools/cli/say.h"
#include "tools/cli/verbs.h"

/* The repository as the command line names it; NULL: the one we are in. */
static const char *named(const struct invocation *in)
{
	const struct verb_argument *a = in->verb->arguments;

	for (size_t i = 0; a[i].name; i++)
		if (strcmp(a[i].name, "REPO") == 0 && in->arguments[i])
			return in->arguments[i];
	return in->options[OPTION_REPO].text;
}

static bool has_any(const struct state *s)
{
	static const char *const names[] = { STATE_JOURNAL, STORE_NAME,
					     ARCHIVE_NAME };
	bool any = false;

	for (size_t i = 0; s->dir_fd >= 0 && i < 3; i++)
		any = any || faccessat(s->dir_fd, names[i], F_OK, 0) == 0;
	return any;
}

bool nothing_recorded(const struct invocation *in, int *ret_code)
{
	CLEANUP(state_release) struct state s = REPO_STATE_EMPTY;
	const char *repo = named(in);
	bool json = in->options[OPTION_JSON].given;

	if (!in->verb->recorded || in->options[OPTION_STORE].given ||
	    in->options[OPTION_FOLLOW].given)
		return false;
	*ret_code = EXIT_FAILURE;
	if (repo && repo_find(repo, &s) < 0)
		return true;
	if ((repo || repo_find_here(&s) == 0) && has_any(&s))
		return false;
	if (json)
		(void)puts("[]");
	if (!in->verb->lists)
		(void)say_error("n%s", &NOTHING_RECORDED[1]);
	else if (!json)
		(void)puts(NOTHING_RECORDED);
	if (in->verb->lists)
		*ret_code = EXIT_SUCCESS;
	return true;
}
