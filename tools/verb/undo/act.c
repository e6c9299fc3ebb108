#include "tools/verb/undo/act.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "graph/base/cleanup.h"
#include "graph/base/proc_stat.h"
#include "tools/cli/say.h"
#include "tools/verb/undo/intent.h"
#include "tools/verb/undo/plan.h"
#include "tools/verb/undo/steps.h"
#include "tools/verb/undo/void.h"

/* -- What a killed process left. */

/* In a process of its own: what it does is no part of what the user wants. */
static _Noreturn void mend(const struct act *a, const struct intent *left,
			   int intent_fd)
{
	struct proc_stat st = { .start = 0 };
	int r;

	(void)proc_stat_read(getpid(), &st);
	r = voids_add(a->state_fd,
		      (struct void_process){ (uint64_t)left->pid, left->start },
		      (struct void_process){ (uint64_t)getpid(), st.start });
	if (r == 0) {
		steps_back(left, a->root_fd);
		intent_clear(intent_fd, a->state_fd);
	}
	_exit(-r);
}

static int take_back(const struct act *a, const struct intent *left,
		     int intent_fd)
{
	int status = 0;
	pid_t pid;

	(void)fflush(NULL);
	pid = fork();
	if (pid == 0)
		mend(a, left, intent_fd);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	if (pid < 0)
		return -errno;
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -EINTR;
}

int act_begin(const struct act *a, enum act_before *ret)
{
	CLEANUP(close_p) int fd = intent_open(a->state_fd);
	CLEANUP(intent_release) struct intent left = { .pid = 0 };
	int r = fd < 0 ? fd : 0;

	*ret = ACT_NONE;
	if (r == -EWOULDBLOCK) {
		(void)say_error("another 'statetape undo' is under way");
		return r;
	}
	if (r < 0) {
		(void)say_error("the state directory cannot be written: %s",
				errno_text(r));
		return r;
	}
	if (!intent_read(&left, fd, a->state_fd))
		return take_fd(&fd);
	r = take_back(a, &left, fd);
	if (r < 0) {
		(void)say_error("'%s' was interrupted earlier, and what it had "
				"done could not be taken back: %s",
				left.command, errno_text(r));
		return r;
	}
	(void)say_error("'%s' was interrupted earlier; what it had done is "
			"taken back",
			left.command);
	*ret = left.redo ? ACT_REDO : ACT_UNDO;
	return take_fd(&fd);
}

void act_tell(int state_fd)
{
	CLEANUP(free_p) char *command = intent_left(state_fd);

	if (command)
		(void)say_error("'%s' was interrupted earlier and did only a "
				"part; the next undo or redo with --yes takes "
				"that back first",
				command);
}

/* -- All of it or nothing. */

/* Did somebody change a file since the plan was made? */
static int check(const struct act *a, const struct undo_plan *p,
		 const struct intent *x, const struct intent_file **ret_failed)
{
	for (uint32_t i = 0; i < x->files.count; i++) {
		const struct intent_file *f = &x->files.at[i];

		if (!f->from ||
		    files_is_same(a->root_fd, &p->files.at[f->index].now))
			continue;
		*ret_failed = f;
		return -ESTALE;
	}
	return 0;
}

static int run(const struct act *a, struct intent *x, int intent_fd,
	       const struct undo_plan *p, const struct intent_file **ret_failed)
{
	int r = steps_run(x, PHASE_STAGE, a->root_fd, p, ret_failed);

	if (r == 0)
		r = check(a, p, x, ret_failed);
	for (int phase = PHASE_STAGE + 1; r == 0 && phase < PHASES; phase++) {
		r = intent_begin(x, intent_fd, (enum intent_phase)phase);
		if (r == 0)
			r = steps_run(x, x->phase, a->root_fd, p, ret_failed);
	}
	return r;
}

static void say_failed(const struct intent_file *f, int r)
{
	const char *name = f->from ? f->from : f->to;

	if (r == -ESTALE)
		(void)say_error("'%s' was changed meanwhile, so nothing was "
				"done; run the command again",
				name);
	else
		(void)say_error("'%s' cannot be written: %s; nothing was done",
				name, errno_text(r));
}

int act_plan(const struct act *a, int intent_fd, const struct undo_plan *p)
{
	CLEANUP(intent_release) struct intent x;
	const struct intent_file *failed;
	int r;

	assert(p->changed);
	intent_of_plan(&x, p, a->command, a->redo);
	failed = x.files.at;
	r = intent_write(&x, intent_fd, a->state_fd);
	if (r < 0) {
		intent_clear(intent_fd, a->state_fd);
		(void)say_error("the state directory cannot be written: %s",
				errno_text(r));
		return r;
	}
	r = run(a, &x, intent_fd, p, &failed);
	if (r == 0) {
		steps_tidy(&x, a->root_fd);
	} else {
		steps_back(&x, a->root_fd);
		say_failed(failed, r);
	}
	intent_clear(intent_fd, a->state_fd);
	return r;
}
