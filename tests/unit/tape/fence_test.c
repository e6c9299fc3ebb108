/* A child plays the file system, one operation in flight. */
#include "tape/fence.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tape/journal/progress.h"
#include "tests/support/scratch.h"

struct world {
	char *dir;
	int dir_fd;
	struct fence fence;
	pid_t pid;
	int to, from; /* pipes with the child */
};

/* Does what it is told by a byte, and says so by one. */
static void play(const struct world *w, int to, int from)
{
	struct progress *p = NULL;
	unsigned counter = 0;
	char what;

	if (progress_open(w->dir_fd, &p) < 0 || progress_serve(p) < 0)
		_exit(1);
	do {
		if (read(to, &what, 1) != 1)
			_exit(0);
		if (what == '+')
			counter = progress_enter(p);
		else if (what == '-')
			progress_leave(p, counter);
	} while (write(from, "", 1) == 1);
	_exit(0);
}

static void tell(const struct world *w, char what)
{
	char done;

	assert_int_equal(write(w->to, &what, 1), 1);
	assert_int_equal(read(w->from, &done, 1), 1);
}

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct progress *p = NULL;
	int to[2], from[2];

	assert_non_null(w);
	w->dir = scratch_new();
	assert_non_null(w->dir);
	w->dir_fd = open(w->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(progress_open(w->dir_fd, &p), 0);
	fence_init(&w->fence, p);
	assert_int_equal(pipe(to) | pipe(from), 0);
	w->pid = fork();
	if (w->pid == 0) {
		(void)close(to[1]);
		play(w, to[0], from[1]);
	}
	(void)close(to[0]);
	(void)close(from[1]);
	w->to = to[1];
	w->from = from[0];
	tell(w, '?');
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	(void)kill(w->pid, SIGKILL);
	(void)waitpid(w->pid, NULL, 0);
	(void)close(w->to);
	(void)close(w->from);
	progress_free(w->fence.progress);
	(void)close(w->dir_fd);
	scratch_free(w->dir);
	free(w);
	return 0;
}

static void with_nothing_in_flight_it_is_passed_at_once(void **state)
{
	struct world *w = *state;

	for (int i = 0; i < 5; i++)
		assert_int_equal(fence_look(&w->fence, fence_ticket(&w->fence)),
				 FENCE_PASSED);
}

static void it_is_passed_when_the_operation_has_ended(void **state)
{
	struct world *w = *state;
	uint64_t ticket;

	tell(w, '+');
	ticket = fence_ticket(&w->fence);
	assert_int_equal(fence_look(&w->fence, ticket), FENCE_WAITS);
	assert_int_equal(fence_look(&w->fence, ticket), FENCE_WAITS);
	tell(w, '-');
	assert_int_equal(fence_look(&w->fence, ticket), FENCE_PASSED);
}

static void operations_that_begin_later_are_not_waited_for(void **state)
{
	struct world *w = *state;
	uint64_t ticket;

	tell(w, '+');
	ticket = fence_ticket(&w->fence);
	assert_int_equal(fence_look(&w->fence, ticket), FENCE_WAITS);
	tell(w, '-');
	tell(w, '+');
	assert_int_equal(fence_look(&w->fence, ticket), FENCE_PASSED);
	tell(w, '-');
}

/* It was counted while an earlier ticket's turn was under way. */
static void a_later_ticket_waits_for_operations_of_its_own_time(void **state)
{
	struct world *w = *state;
	unsigned mine = progress_enter(w->fence.progress);
	uint64_t first = fence_ticket(&w->fence), second;

	assert_int_equal(fence_look(&w->fence, first), FENCE_WAITS);
	tell(w, '+');
	second = fence_ticket(&w->fence);
	assert_int_equal(fence_look(&w->fence, second), FENCE_WAITS);
	progress_leave(w->fence.progress, mine);
	assert_int_equal(fence_look(&w->fence, first), FENCE_PASSED);
	assert_int_equal(fence_look(&w->fence, second), FENCE_WAITS);
	tell(w, '-');
	assert_int_equal(fence_look(&w->fence, second), FENCE_PASSED);
}

/* A killed tape leaves its turn under way. */
static void the_next_tape_waits_for_what_the_last_turn_left(void **state)
{
	struct world *w = *state;
	struct fence next;
	uint64_t ticket;

	tell(w, '+');
	assert_int_equal(fence_look(&w->fence, fence_ticket(&w->fence)),
			 FENCE_WAITS);
	fence_init(&next, w->fence.progress);
	ticket = fence_ticket(&next);
	assert_int_equal(fence_look(&next, ticket), FENCE_WAITS);
	tell(w, '-');
	assert_int_equal(fence_look(&next, ticket), FENCE_PASSED);
}

static void a_stopped_process_is_recognized(void **state)
{
	struct world *w = *state;
	uint64_t ticket;
	int status;

	tell(w, '+');
	ticket = fence_ticket(&w->fence);
	assert_int_equal(kill(w->pid, SIGSTOP), 0);
	assert_int_equal(waitpid(w->pid, &status, WUNTRACED), w->pid);
	assert_int_equal(fence_look(&w->fence, ticket), FENCE_STUCK);
	assert_int_equal(kill(w->pid, SIGCONT), 0);
	tell(w, '-');
	assert_int_equal(fence_look(&w->fence, ticket), FENCE_PASSED);
}

static void a_dead_process_has_nothing_in_flight(void **state)
{
	struct world *w = *state;
	uint64_t ticket;

	tell(w, '+');
	ticket = fence_ticket(&w->fence);
	assert_int_equal(fence_look(&w->fence, ticket), FENCE_WAITS);
	assert_int_equal(kill(w->pid, SIGKILL), 0);
	assert_int_equal(waitpid(w->pid, NULL, 0), w->pid);
	assert_int_equal(fence_look(&w->fence, ticket), FENCE_PASSED);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(with_nothing_in_flight_it_is_passed_at_once),
		CASE(it_is_passed_when_the_operation_has_ended),
		CASE(operations_that_begin_later_are_not_waited_for),
		CASE(a_later_ticket_waits_for_operations_of_its_own_time),
		CASE(the_next_tape_waits_for_what_the_last_turn_left),
		CASE(a_stopped_process_is_recognized),
		CASE(a_dead_process_has_nothing_in_flight),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
