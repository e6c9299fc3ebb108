/*
 * statetape journal: prints the journal of a repository, mounted or not, and
 * with --follow goes on. The bell only shortens the wait: if it never rings
 * (the mount is not up yet, or was replaced), the journal is read again after
 * LOOK_AGAIN_MS in any case.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "tape/journal/journal.h"
#include "tape/wire/bell.h"
#include "tools/cli/line.h"
#include "tools/cli/repo.h"
#include "tools/cli/say.h"
#include "tools/cli/verbs.h"

#define LOOK_AGAIN_MS 1000
#define LINES_MAX     1000000

/* The output format and the position. */
struct journal_view {
	struct line_filter filter;
	bool json;
	bool colours;
	int day;       /* the day of the last line printed */
	uint64_t seen; /* the last number read, printed or not */
	uint64_t gone; /* discarded lines are reported up to this number */
};

static void reader_p(struct journal_reader **r)
{
	journal_reader_free(*r);
}

static void ear_p(struct bell_ear **e)
{
	bell_ear_free(*e);
}

static void show_day(struct journal_view *v, const struct journal_line *l)
{
	char text[32] = "";
	int day = line_day(l, text, sizeof(text));

	if (day == v->day)
		return;
	v->day = day;
	(void)printf("%5s %s%s%s\n", "", colour_text(v->colours, COLOUR_DIM),
		     text, colour_text(v->colours, COLOUR_NONE));
}

static void show(struct journal_view *v, const struct journal_line *l)
{
	if (v->json) {
		line_print_json(stdout, l);
		return;
	}
	show_day(v, l);
	line_print(stdout, l, v->colours);
}

static void show_gone(struct journal_view *v, uint64_t first, uint64_t last)
{
	v->gone = last;
	if (v->json)
		line_print_gone_json(stdout, first, last);
	else
		line_print_gone(stdout, first, last, v->colours);
}

/* The reader missed these numbers before it reached the gap line about them. */
static bool is_known_gap(const struct journal_view *v,
			 const struct journal_event *e)
{
	return e->op == JOURNAL_GAP &&
	       (uint64_t)(e->off + e->len - 1) <= v->gone;
}

/* Print all lines that exist now. 0, or the reader's error. */
static int show_all(struct journal_view *v, struct journal_reader *reader)
{
	struct journal_line l = { 0 };
	int r;

	while ((r = journal_reader_next(reader, &l)) == 1 || r == -ESTALE) {
		if (r == -ESTALE)
			show_gone(v, v->seen + 1, l.n);
		else if (line_passes(&l, &v->filter) &&
			 !is_known_gap(v, &l.event))
			show(v, &l);
		v->seen = l.n;
		/*
		 * The reader of our output closed the pipe, or the disk is
		 * full: main() reports it.
		 */
		if (ferror(stdout))
			return -EPIPE;
	}
	return r;
}

/* The last `count` numbers that passed the filter; oldest first once full. */
struct ring {
	uint64_t *numbers;
	uint64_t count;
	uint64_t passed;
};

/*
 * Where to begin so that the last `count` matching lines are printed: read once
 * without printing, remembering only the numbers.
 */
static int find_last(const struct state *s, const struct journal_view *v,
		     uint64_t count, uint64_t *since)
{
	CLEANUP(reader_p) struct journal_reader *reader = NULL;
	CLEANUP(free_p) uint64_t *numbers = must_have(calloc(count + 1, 8));
	struct ring ring = { .numbers = numbers, .count = count };
	struct journal_line l = { 0 };
	uint64_t seen = *since;
	int r = journal_reader_open(s->dir_fd, STATE_JOURNAL, *since, &reader);

	if (r < 0)
		return r;
	while ((r = journal_reader_next(reader, &l)) == 1 || r == -ESTALE) {
		seen = l.n;
		if (r == -ESTALE || !line_passes(&l, &v->filter))
			continue;
		ring.numbers[count ? ring.passed % count : 0] = l.n;
		ring.passed++;
	}
	if (r < 0)
		return r;
	if (count == 0)
		*since = seen;
	else if (ring.passed >= count)
		*since = ring.numbers[ring.passed % count] - 1;
	return 0;
}

/* End the process: between two rounds of printing nothing is lost. */
static void stop(int signal)
{
	(void)signal;
	_exit(EXIT_SUCCESS);
}

static const int stop_signals[] = { SIGINT, SIGTERM, SIGHUP };

/*
 * Block these signals except inside pause_for_ring(), so that none cuts a line
 * in half.
 */
static void hold_signals(sigset_t *ret_held)
{
	struct sigaction action = { .sa_handler = stop };

	(void)sigemptyset(ret_held);
	(void)sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < sizeof(stop_signals) / sizeof(int); i++) {
		(void)sigaddset(ret_held, stop_signals[i]);
		(void)sigaction(stop_signals[i], &action, NULL);
	}
	(void)pthread_sigmask(SIG_BLOCK, ret_held, NULL);
}

static void pause_for_ring(struct bell_ear *ear, const sigset_t *held)
{
	uint64_t head = 0;
	int r;

	(void)pthread_sigmask(SIG_UNBLOCK, held, NULL);
	r = ear ? bell_ear_wait(ear, LOOK_AGAIN_MS, &head) : -ENOTCONN;
	/* A bell that fails at once must not make us spin. */
	if (r < 0 && r != -ETIMEDOUT)
		(void)poll(NULL, 0, LOOK_AGAIN_MS);
	(void)pthread_sigmask(SIG_BLOCK, held, NULL);
}

/* Has the reader of our output closed its end? */
static bool is_unread(void)
{
	struct pollfd out = { .fd = STDOUT_FILENO };

	return poll(&out, 1, 0) == 1 && (out.revents & (POLLERR | POLLHUP));
}

/* A journal that does not exist yet may appear: -ENOENT is no error here. */
static int open_when_there(struct state *s, const struct journal_view *v,
			   struct journal_reader **ret)
{
	struct state again = REPO_STATE_EMPTY;

	if (s->dir_fd < 0 && state_init(s->repo, 0, &again, NULL) == 0) {
		state_release(s);
		*s = again;
	}
	if (s->dir_fd < 0)
		return -ENOENT;
	return journal_reader_open(s->dir_fd, STATE_JOURNAL, v->seen, ret);
}

static int follow(struct state *s, struct journal_view *v)
{
	CLEANUP(reader_p) struct journal_reader *reader = NULL;
	CLEANUP(ear_p) struct bell_ear *ear = NULL;
	sigset_t held;
	int r;

	hold_signals(&held);
	/* Without a bell, read again each second. */
	if (bell_ear_open(s->bell_socket, &ear) < 0)
		ear = NULL;
	for (;;) {
		r = reader ? 0 : open_when_there(s, v, &reader);
		if (r == 0)
			r = show_all(v, reader);
		if (fflush(stdout) != 0 || is_unread())
			return 0;
		if (r < 0 && r != -ENOENT)
			return r;
		pause_for_ring(ear, &held);
	}
}

static int show_once(const struct state *s, struct journal_view *v)
{
	CLEANUP(reader_p) struct journal_reader *reader = NULL;
	int r = journal_reader_open(s->dir_fd, STATE_JOURNAL, v->seen, &reader);

	return r < 0 ? r : show_all(v, reader);
}

static int run(const struct invocation *in, struct state *s,
	       struct journal_view *v)
{
	const struct option_value *lines = &in->options[OPTION_LINES];
	bool follows = in->options[OPTION_FOLLOW].given;
	int r = 0;

	if (lines->given && s->dir_fd >= 0)
		r = find_last(s, v, lines->number, &v->seen);
	if (r < 0 && !(follows && r == -ENOENT))
		return r;
	if (follows)
		return follow(s, v);
	return s->dir_fd < 0 ? -ENOENT : show_once(s, v);
}

int verb_journal(const struct invocation *in)
{
	CLEANUP(state_release) struct state s = REPO_STATE_EMPTY;
	struct journal_view v = {
		.filter = {
			.glob = in->options[OPTION_PATH].text,
			.by_pid = in->options[OPTION_PID].given,
			.pid = (uint32_t)in->options[OPTION_PID].number,
		},
		.json = in->options[OPTION_JSON].given,
		.colours = colour_wanted(stdout),
		.day = -1,
		.seen = in->options[OPTION_SINCE].number,
	};
	int r;

	if (in->options[OPTION_LINES].number > LINES_MAX)
		return say_usage_error("-n wants at most %d", LINES_MAX);
	if (in->options[OPTION_PID].number > INT32_MAX)
		return say_usage_error("--pid wants a process number");
	if (repo_find(in->arguments[0], &s) < 0)
		return EXIT_FAILURE;
	r = run(in, &s, &v);
	if (r == -ENOENT)
		return say_error("'%s' has no journal: it has not been mounted",
				 s.repo);
	if (r < 0 && r != -EPIPE)
		return say_error("the journal of '%s' cannot be read: %s",
				 s.repo, errno_text(r));
	return EXIT_SUCCESS;
}
