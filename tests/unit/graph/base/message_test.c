#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <setjmp.h>

#include <cmocka.h>

#include "graph/base/message.h"

/* In place of stderr a pipe of packets: one read(2) is what one write(2)
   wrote. */
static int packets_fd, own_stderr;

static int take_stderr(void **state)
{
	int fds[2];

	(void)state;
	if (pipe2(fds, O_CLOEXEC | O_DIRECT | O_NONBLOCK) < 0)
		return -1;
	packets_fd = fds[0];
	own_stderr = dup(STDERR_FILENO);
	(void)dup2(fds[1], STDERR_FILENO);
	return close(fds[1]);
}

static int give_back_stderr(void **state)
{
	(void)state;
	(void)dup2(own_stderr, STDERR_FILENO);
	return close(own_stderr) || close(packets_fd);
}

static void assert_written(const char *line)
{
	char packet[PIPE_BUF + 1];
	ssize_t n = read(packets_fd, packet, PIPE_BUF);

	assert_true(n > 0);
	packet[n] = '\0';
	assert_string_equal(packet, line);
	assert_int_equal(read(packets_fd, packet, PIPE_BUF), -1);
}

static void a_line_is_one_write(void **state)
{
	(void)state;
	message("'%s' is in use by %s (%d)", "/repo", "python3", 7);
	assert_written("statetape: '/repo' is in use by python3 (7)\n");
}

static void control_bytes_are_escaped(void **state)
{
	(void)state;
	message("%s", "a\nb\033[1m");
	assert_written("statetape: a\\x0ab\\x1b[1m\n");
}

static void a_newline_at_the_end_is_not_doubled(void **state)
{
	(void)state;
	message("from a library\n");
	assert_written("statetape: from a library\n");
}

static void a_long_line_is_cut_to_one_write(void **state)
{
	char text[2 * PIPE_BUF], packet[2 * PIPE_BUF];
	ssize_t n;

	(void)state;
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	message("%s", text);
	n = read(packets_fd, packet, sizeof(packet));
	assert_int_equal(n, PIPE_BUF);
	assert_int_equal(packet[n - 1], '\n');
}

static void errno_survives(void **state)
{
	(void)state;
	errno = ENOTTY;
	message("x");
	assert_int_equal(errno, ENOTTY);
	assert_written("statetape: x\n");
}

int main(void)
{
#define CASE(f) \
	cmocka_unit_test_setup_teardown(f, take_stderr, give_back_stderr)
	const struct CMUnitTest tests[] = {
		CASE(a_line_is_one_write),
		CASE(control_bytes_are_escaped),
		CASE(a_newline_at_the_end_is_not_doubled),
		CASE(a_long_line_is_cut_to_one_write),
		CASE(errno_survives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
