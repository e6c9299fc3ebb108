/*
 * A store that cannot be gone on with is set aside, and a new one is begun: a
 * run is recorded in any case, and what can be read of the old one stays there.
 * The new one takes the files as they are, as the first tape of a repository
 * does (start.c).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "tape/daemon_i.h"
#include "tape/store/aside.h"
#include "tape/store/store.h"
#include "tape/wire/state.h"

bool renew_helps(int error)
{
	return error == -EBADMSG || error == -EPROTONOSUPPORT;
}

int renew_store(struct tape *t, const char *path, int error, const char *why)
{
	CLEANUP(free_p) char *name = NULL;
	char *text = NULL;
	int r;

	/* First: a new store with this file would take all files for new. */
	(void)unlinkat(t->c->state->dir_fd, BEGUN_NAME, 0);
	r = store_set_aside(
		path, error == -EPROTONOSUPPORT ? ASIDE_NEWER : ASIDE_DAMAGED,
		&name);
	if (r < 0) {
		tape_say("%s It cannot be set aside: %s",
			 why ? why : "The tape is damaged.",
			 strerrordesc_np(-r));
		return r;
	}
	if (asprintf(&text,
		     "%s It is set aside as '%s', and a new tape is begun; "
		     "'statetape log --store FILE' reads what can be read of "
		     "it",
		     why ? why : "The tape is damaged.", name) < 0)
		return -ENOMEM;
	free(t->aside);
	t->aside = text;
	tape_say("%s", text);
	return 0;
}
