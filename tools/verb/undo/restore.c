/*
 * statetape restore: an earlier version of a file comes back.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "tools/cli/say.h"
#include "tools/cli/verbs.h"
#include "tools/verb/cat.h"
#include "tools/verb/tape.h"
#include "tools/verb/undo/act.h"
#include "tools/verb/undo/place.h"
#include "tools/verb/undo/plan.h"

struct restoring {
	const struct invocation *in;
	struct tape_reader tape;
	const char *path;
	char *text;
	size_t len;
};

static void restoring_release(struct restoring *r)
{
	tape_release(&r->tape);
	free(r->text);
}

/* The file becomes what it was; false: it cannot, after a message. */
static bool plan_one(const struct restoring *r, int root_fd,
		     struct plan_file *f)
{
	int rc = files_read(root_fd, r->path, &f->now);

	if (rc == -EISDIR || rc == -EMEDIUMTYPE ||
	    (rc == 0 && S_ISLNK(f->now.mode))) {
		(void)say_error("'%s' exists and is not a regular file",
				r->path);
		return false;
	}
	if (rc == 0 && f->now.path && !f->now.text)
		rc = -EFBIG;
	if (rc < 0) {
		(void)say_error("'%s' cannot be read: %s", r->path,
				errno_text(rc));
		return false;
	}
	f->then.path = must_strdup(r->path);
	f->then.mode = f->now.mode;
	file_copy_set(&f->then, r->text, r->len);
	f->fate = f->now.path && strcmp(f->now.hash, f->then.hash) == 0
			  ? PLAN_SAME
			  : PLAN_CHANGED;
	return true;
}

static int carry_out(const struct place *place, void *arg)
{
	struct restoring *r = arg;
	CLEANUP(free_p)
	char *command =
		format_text("statetape restore %s", r->in->arguments[0]);
	const struct act a = { .root_fd = place->root_fd,
			       .state_fd = r->tape.state.dir_fd,
			       .command = command };
	CLEANUP(undo_plan_release) struct undo_plan p = { .changed = 1 };
	enum act_before before;
	CLEANUP(close_p) int intent = act_begin(&a, &before);
	struct plan_file *f = array_add(&p.files);

	if (intent < 0 || !plan_one(r, place->root_fd, f))
		return EXIT_FAILURE;
	if (f->fate == PLAN_SAME) {
		(void)printf("%s already has that content\n", r->path);
		return EXIT_SUCCESS;
	}
	if (act_plan(&a, intent, &p) < 0)
		return EXIT_FAILURE;
	tape_settle(&r->tape);
	if (!place->seen)
		(void)fputs("Nothing is mounted, so the tape shows this as "
			    "changed from outside.\n",
			    stderr);
	return EXIT_SUCCESS;
}

int verb_restore(const struct invocation *in)
{
	CLEANUP(restoring_release)
	struct restoring r = { .in = in, .tape = TAPE_NONE };
	uint64_t n;

	if (!cat_split("restore", in->arguments[0], &n, &r.path))
		return EXIT_USAGE;
	if (tape_open(in->arguments[1], false, &r.tape) < 0)
		return EXIT_FAILURE;
	r.text = cat_fetch(&r.tape, n, r.path, &r.len);
	if (!r.text)
		return EXIT_FAILURE;
	return place_do(&r.tape.state, carry_out, &r);
}
