/*
 * Each turn of the two counters ends when the old one is zero; turns follow
 * each other. What is in flight when a ticket is drawn is counted in the
 * current counter, and in the old one if a turn is under way: it has ended when
 * the turn that begins next has.
 */
#include "tape/fence.h"

#include <stdbool.h>
#include <sys/types.h>

#include "graph/base/proc_stat.h"
#include "tape/journal/progress.h"

/* A tape that was killed may have left a turn under way: it is the first of
   ours. */
void fence_init(struct fence *f, struct progress *p)
{
	*f = (struct fence){ .progress = p,
			     .begun = 1,
			     .old = progress_old(p) };
}

uint64_t fence_ticket(const struct fence *f)
{
	return f->begun + 1;
}

/* Is it stopped by a signal or by a debugger? */
static bool is_stopped(pid_t pid)
{
	struct proc_stat st;

	return proc_stat_read(pid, &st) == 0 &&
	       (st.state == 'T' || st.state == 't');
}

static bool is_passed(struct fence *f, uint64_t ticket)
{
	while (f->ended < ticket) {
		if (f->begun == f->ended) {
			f->old = progress_turn(f->progress);
			f->begun++;
		}
		if (!progress_drained(f->progress, f->old))
			return false;
		f->ended = f->begun;
	}
	return true;
}

enum fence_state fence_look(struct fence *f, uint64_t ticket)
{
	pid_t server = progress_server(f->progress);

	if (server < 0)
		return FENCE_UNKNOWN;
	if (server == 0 || is_passed(f, ticket))
		return FENCE_PASSED;
	return is_stopped(server) ? FENCE_STUCK : FENCE_WAITS;
}
