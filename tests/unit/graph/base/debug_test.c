/* What STATETAPE_DEBUG switches on, and what a trace looks like. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "graph/base/debug.h"

/* What is written to stderr between the two calls. */
struct capture {
	int saved, read_fd;
};

static struct capture capture_begin(void)
{
	struct capture c;
	int fds[2];

	assert_int_equal(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
	c.read_fd = fds[0];
	c.saved = dup(STDERR_FILENO);
	assert_int_equal(dup2(fds[1], STDERR_FILENO), STDERR_FILENO);
	(void)close(fds[1]);
	return c;
}

static void capture_end(struct capture c, char *text, size_t size)
{
	ssize_t n;

	(void)dup2(c.saved, STDERR_FILENO);
	n = read(c.read_fd, text, size - 1);
	text[n > 0 ? n : 0] = '\0';
	(void)close(c.saved);
	(void)close(c.read_fd);
}

static void rooms_are_on_as_listed(void **state)
{
	(void)state;
	assert_null(debug_init("tape,manager"));
	assert_true(debug_is_on(DEBUG_TAPE));
	assert_true(debug_is_on(DEBUG_MANAGER));
	assert_false(debug_is_on(DEBUG_FS));
	assert_false(debug_is_on(DEBUG_GRAPH));
	assert_null(debug_init("all"));
	for (int i = 0; i < DEBUG_ROOMS; i++)
		assert_true(debug_is_on((enum debug_room)i));
	assert_null(debug_init(",fs,,"));
	assert_true(debug_is_on(DEBUG_FS));
	assert_false(debug_is_on(DEBUG_TAPE));
	assert_null(debug_init(""));
	assert_int_equal(debug_rooms, 0);
	assert_null(debug_init(NULL));
	assert_int_equal(debug_rooms, 0);
}

static void an_unknown_room_is_named_and_the_others_are_on(void **state)
{
	const char names[] = "tap,graph,manage";

	(void)state;
	assert_ptr_equal(debug_init(names), names);
	assert_true(debug_is_on(DEBUG_GRAPH));
	assert_false(debug_is_on(DEBUG_TAPE));
	assert_false(debug_is_on(DEBUG_MANAGER));
}

static int evaluated(int *count)
{
	return ++*count;
}

static void a_room_that_is_off_evaluates_nothing(void **state)
{
	char text[64];
	struct capture c;
	int count = 0;

	(void)state;
	(void)debug_init("manager");
	c = capture_begin();
	DEBUG(DEBUG_TAPE, "number %d", evaluated(&count));
	DEBUG(DEBUG_MANAGER, "number %d", evaluated(&count));
	capture_end(c, text, sizeof(text));
	assert_int_equal(count, 1);
	assert_string_equal(text, "debug manager: number 1\n");
}

static void a_trace_is_one_line_whatever_it_holds(void **state)
{
	char text[4096], longer[3000];
	struct capture c;

	(void)state;
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	(void)debug_init("fs");
	c = capture_begin();
	DEBUG(DEBUG_FS, "path '%s'", "a\nb\x1b[31m");
	DEBUG(DEBUG_FS, "%s", longer);
	capture_end(c, text, sizeof(text));
	assert_memory_equal(text, "debug fs: path 'a b [31m'\n", 26);
	assert_true(strlen(text + 26) <= 1024);
	assert_string_equal(text + strlen(text) - 5, "x...\n");
	assert_ptr_equal(strchr(text + 26, '\n'), text + strlen(text) - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rooms_are_on_as_listed),
		cmocka_unit_test(
			an_unknown_room_is_named_and_the_others_are_on),
		cmocka_unit_test(a_room_that_is_off_evaluates_nothing),
		cmocka_unit_test(a_trace_is_one_line_whatever_it_holds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
