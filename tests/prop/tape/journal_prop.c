/*
 * The journal against simple models. Usage: journal_prop [SEED]. The seed is
 * printed; it determines what each thread does, not how the threads interleave.
 */
#include "tape/journal/journal.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "tests/prop/fs/dice.h"
#include "tests/support/journal_files.h"

static uint64_t seed;
static struct dice dice;

static struct place place;

static int set_up(void **state)
{
	(void)state;
	dice = (struct dice){ seed };
	place_init(&place);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	place_release(&place);
	return 0;
}

/* Numbers with many and with few digits, small, large and negative ones. */
static uint64_t random_number(void)
{
	return dice_roll(&dice) >> dice_below(&dice, 64);
}

static int64_t random_signed(void)
{
	int64_t v = (int64_t)(random_number() >> 1);

	return dice_below(&dice, 2) ? v : -v - 1;
}

/* Up to `max` bytes without NUL: ASCII, UTF-8, or arbitrary. */
static const char *random_text(char *out, size_t max)
{
	static const char *const pieces[] = { "\xc3\xa9", "\xe2\x80\xa6",
					      "\\",	  "\xf0\x9f\x93\xbc",
					      "\t",	  "\\x" };
	size_t len = dice_below(&dice, dice_below(&dice, 8) ? 40 : max), at = 0;
	uint64_t style = dice_below(&dice, 3);
	const char *piece;

	while (at + 4 < len) {
		if (style == 0) {
			out[at++] = (char)('a' + dice_below(&dice, 26));
		} else if (style == 1) {
			out[at++] = (char)(1 + dice_below(&dice, 255));
		} else {
			piece = pieces[dice_below(&dice, 6)];
			memcpy(out + at, piece, strlen(piece));
			at += strlen(piece);
		}
	}
	out[at] = '\0';
	return out;
}

static struct journal_event random_event(char texts[3][JOURNAL_TEXT_MAX])
{
	struct journal_event e = {
		.op = (enum journal_op)dice_below(&dice, JOURNAL_OPS),
		.path = random_text(texts[0], JOURNAL_TEXT_MAX),
		.ino = random_number(),
		.off = random_signed(),
		.len = random_signed(),
		.res = random_signed(),
		.uid = (uint32_t)random_number(),
		.pid = (uint32_t)random_number(),
		.tid = (uint32_t)random_number(),
	};

	if (dice_below(&dice, 2))
		e.path2 = random_text(texts[1], JOURNAL_TEXT_MAX);
	if (dice_below(&dice, 2))
		e.detail = random_text(texts[2], JOURNAL_TEXT_MAX);
	return e;
}

static void expect_same_path(const char *got, const char *want)
{
	if (!want)
		assert_null(got);
	else
		assert_string_equal(got, *want ? want : ".");
}

static void expect_same(const struct journal_event *got,
			const struct journal_event *want)
{
	assert_int_equal(got->op, want->op);
	assert_true(got->ino == want->ino);
	assert_true(got->off == want->off);
	assert_true(got->len == want->len);
	assert_true(got->res == want->res);
	assert_int_equal(got->uid, want->uid);
	assert_int_equal(got->pid, want->pid);
	assert_int_equal(got->tid, want->tid);
	expect_same_path(got->path, want->path);
	expect_same_path(got->path2, want->path2);
	assert_string_equal(got->detail ? got->detail : "",
			    want->detail ? want->detail : "");
}

static void any_event_comes_back_as_it_was(void **state)
{
	static char texts[3][JOURNAL_TEXT_MAX];
	static char copy[JOURNAL_LINE_MAX];
	static struct journal_draft d;
	struct journal_parsed p;
	struct journal_event e;
	struct journal_stamp s;
	const char *line;
	size_t len;
	int i;

	(void)state;
	for (i = 0; i < 20000; i++) {
		e = random_event(texts);
		s = (struct journal_stamp){
			.n = 1 + random_number() % JOURNAL_NUMBER_MAX,
			.mono_ns = random_number(),
			.wall_ns = random_number(),
			.author = random_number() % JOURNAL_NUMBER_MAX,
		};
		journal_draft_event(&d, &e);
		line = journal_draft_finish(&d, &s, &len);
		assert_int_equal(strcspn(line, "\n") + 1, len);
		memcpy(copy, line, len);
		assert_int_equal(journal_parse(copy, len - 1, &p), 0);
		assert_true(p.line.n == s.n && p.author == s.author);
		assert_true(p.line.mono_ns == s.mono_ns);
		assert_true(p.line.wall_ns == s.wall_ns);
		expect_same(&p.line.event, &e);
	}
}

/* The path of line n of the model. */
static const char *model_path(uint64_t n)
{
	static char path[64];

	(void)snprintf(path, sizeof(path), "%0*lu", (int)(1 + n * 7 % 40),
		       (unsigned long)n);
	return path;
}

#define MODEL_LINES 200
#define MODEL_FIRST 1

/* A segment of model lines; ends[n] is the offset behind line n. */
static int make_model(uint64_t first, off_t ends[MODEL_LINES + 1])
{
	char line[JOURNAL_LINE_MAX];
	int fd = segment_open(&place, first);
	uint64_t n;

	ends[0] = 0;
	for (n = 1; n <= MODEL_LINES; n++) {
		segment_write(fd, line,
			      segment_line(line, first + n - 1,
					   model_path(first + n - 1)));
		ends[n] = segment_size(fd);
	}
	return fd;
}

struct damage {
	off_t from; /* bytes from..to may be anything */
	off_t to;
	bool cut; /* the file ends at `from` */
};

static struct damage random_damage(int fd)
{
	static char bytes[5000];
	off_t size = segment_size(fd);
	struct damage d = { .from = (off_t)dice_below(&dice, (uint64_t)size) };
	size_t len = 1 + dice_below(&dice,
				    dice_below(&dice, 2) ? 10 : sizeof(bytes));

	switch (dice_below(&dice, 4)) {
	case 0:
		d.cut = true;
		d.to = size;
		assert_int_equal(ftruncate(fd, d.from), 0);
		return d;
	case 1:
		memset(bytes, 0, len);
		break;
	case 2:
		memset(bytes, '\n', len);
		break;
	default:
		dice_fill(&dice, bytes, len);
	}
	assert_int_equal(pwrite(fd, bytes, len, d.from), len);
	d.to = d.from + (off_t)len;
	return d;
}

/* May line n (1-based within the segment) be damaged? */
static bool was_hit(const struct damage *d, const off_t *ends, uint64_t n)
{
	return ends[n - 1] < d->to && ends[n] > d->from;
}

/*
 * Read everything. Up to `upto`, a line that is returned must equal the
 * model's, and one that is not must have been damaged. Returns the number of
 * the last line.
 */
static uint64_t check_survivors(const struct damage *d, const off_t *ends,
				uint64_t upto)
{
	struct journal_reader *r;
	struct journal_line l;
	uint64_t last = 0, n;
	int k;

	assert_int_equal(journal_reader_open(place.fd, JOURNAL_NAME, 0, &r), 0);
	while ((k = journal_reader_next(r, &l)) != 0) {
		assert_true(k == 1 || k == -ESTALE);
		assert_true(l.n > last);
		for (n = last + 1; n <= l.n && n <= upto; n++) {
			if (k == -ESTALE)
				/*
				 * The newline before it belongs to its
				 * neighbour.
				 */
				assert_true(was_hit(d, ends, n) ||
					    (n > 1 && was_hit(d, ends, n - 1)));
			else
				assert_string_equal(l.event.path,
						    model_path(n));
		}
		last = l.n;
	}
	journal_reader_free(r);
	return last;
}

static void what_was_not_damaged_survives_and_numbers_rise(void **state)
{
	off_t ends[MODEL_LINES + 1];
	struct journal_event e = { .op = JOURNAL_WRITE, .path = "after" };
	struct journal *j;
	struct damage d;
	uint64_t before, after;
	int round, fd;

	(void)state;
	for (round = 0; round < 300; round++) {
		fd = make_model(MODEL_FIRST, ends);
		d = random_damage(fd);
		(void)close(fd);

		before = check_survivors(&d, ends, MODEL_LINES);
		assert_int_equal(
			journal_open(place.fd, JOURNAL_NAME, "/", NULL, &j), 0);
		after = journal_append(j, &e);
		assert_true(after > before);
		assert_int_equal(check_survivors(&d, ends, before), after);
		journal_close(j);
		assert_int_equal(check_survivors(&d, ends, before), after);
		place_remove_journal(&place);
	}
}

#define WRITERS	    4
#define PER_WRITER  4000
#define ALL_WRITTEN (WRITERS * PER_WRITER)

struct writer {
	struct journal *journal;
	struct journal_author author;
	int index;
};

static void *write_lines(void *arg)
{
	struct writer *w = arg;
	struct journal_event e = { .op = JOURNAL_WRITE, .author = &w->author };
	char path[64];
	int i;

	for (i = 0; i < PER_WRITER; i++) {
		(void)snprintf(path, sizeof(path), "writer/%d/%0*d", w->index,
			       1 + i % 30, i);
		e.path = path;
		e.off = i;
		(void)journal_append(w->journal, &e);
	}
	return NULL;
}

/*
 * Each line once, in the order of the numbers, the lines of each writer in
 * their order.
 */
static void read_along(struct journal_reader *r)
{
	int next[WRITERS] = { 0 };
	uint64_t last = 0;
	int seen = 0, k, writer;
	struct journal_line l;

	while (seen < ALL_WRITTEN) {
		k = journal_reader_next(r, &l);
		assert_true(k == 0 || k == 1);
		if (k == 0)
			continue;
		assert_int_equal(l.n, last + 1);
		last = l.n;
		if (l.event.op != JOURNAL_WRITE)
			continue;
		writer = (int)l.event.author->pid - 1;
		assert_in_range(writer, 0, WRITERS - 1);
		assert_int_equal(l.event.off, next[writer]++);
		seen++;
	}
	assert_int_equal(journal_reader_next(r, &l), 0);
}

static void a_reader_sees_each_line_once_while_others_write(void **state)
{
	struct journal_limits limits = { .segment_bytes = 100000 };
	struct writer writers[WRITERS];
	pthread_t threads[WRITERS];
	struct journal_reader *r;
	struct journal *j;
	int i;

	(void)state;
	assert_int_equal(journal_open(place.fd, JOURNAL_NAME, "/", &limits, &j),
			 0);
	assert_int_equal(journal_reader_open(place.fd, JOURNAL_NAME, 0, &r), 0);
	for (i = 0; i < WRITERS; i++) {
		writers[i] = (struct writer){
			.journal = j,
			.author = { .pid = (uint32_t)i + 1, .comm = "writer" },
			.index = i,
		};
		assert_int_equal(pthread_create(&threads[i], NULL, write_lines,
						&writers[i]),
				 0);
	}
	read_along(r);
	for (i = 0; i < WRITERS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	journal_reader_free(r);
	journal_close(j);
}

struct vandal {
	atomic_bool stop;
	struct dice dice;
};

static void cut(const char *path, off_t size)
{
	int fd = openat(place.fd, path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	(void)ftruncate(fd, size);
	(void)close(fd);
}

/* Now and then remove or truncate the segment in use. */
static void *vandalise(void *arg)
{
	struct vandal *v = arg;
	char name[JOURNAL_SEGMENT_NAME], path[64];
	uint64_t newest = 0, blow;

	while (!atomic_load(&v->stop)) {
		(void)usleep(20000);
		if (segment_count(&place, &newest) == 0)
			continue;
		journal_segment_name(newest, name);
		(void)snprintf(path, sizeof(path), JOURNAL_NAME "/%s", name);
		blow = dice_below(&v->dice, 4);
		if (blow == 0)
			place_remove_journal(&place);
		else if (blow == 1)
			(void)unlinkat(place.fd, path, 0);
		else
			cut(path, (off_t)dice_below(&v->dice, 100000));
	}
	return NULL;
}

/*
 * A reader that starts when all is done gets every number, or -ESTALE for it.
 */
static void check_after_vandals(uint64_t head)
{
	struct journal_reader *r;
	struct journal_line l;
	uint64_t last = 0;
	int k;

	assert_int_equal(journal_reader_open(place.fd, JOURNAL_NAME, 0, &r), 0);
	while ((k = journal_reader_next(r, &l)) != 0) {
		assert_true(k == 1 || k == -ESTALE);
		assert_true(k == 1 ? l.n == last + 1 : l.n > last);
		if (k == 1 && l.event.op == JOURNAL_WRITE)
			assert_string_equal(l.event.author->comm, "writer");
		last = l.n;
	}
	assert_int_equal(last, head);
	journal_reader_free(r);
}

/* Two threads append at once, each all its lines. */
static void write_in_twos(struct journal *j)
{
	struct writer w[2];
	pthread_t threads[2];
	int i;

	for (i = 0; i < 2; i++) {
		w[i] = (struct writer){
			.journal = j,
			.author = { .pid = 9, .comm = "writer" },
			.index = i,
		};
		assert_int_equal(
			pthread_create(&threads[i], NULL, write_lines, &w[i]),
			0);
	}
	for (i = 0; i < 2; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
}

static void vandals_cost_lines_and_nothing_else(void **state)
{
	struct journal_limits limits = { .segment_bytes = 300000 };
	struct journal_event last = { .op = JOURNAL_CLOSE };
	struct vandal v = { .dice = { seed } };
	struct journal_stats stats;
	struct journal *j;
	pthread_t vandal;
	int round;

	(void)state;
	assert_int_equal(journal_open(place.fd, JOURNAL_NAME, "/", &limits, &j),
			 0);
	assert_int_equal(pthread_create(&vandal, NULL, vandalise, &v), 0);
	for (round = 0; round < 40; round++) {
		write_in_twos(j);
		(void)usleep(20000);
	}
	atomic_store(&v.stop, true);
	assert_int_equal(pthread_join(vandal, NULL), 0);

	/* Let it notice the last damage and recover. */
	do {
		journal_stat(j, &stats);
		(void)usleep(1000);
		stats.head = journal_append(j, &last);
	} while (stats.error);
	assert_true(stats.lost > 0);
	check_after_vandals(stats.head);
	journal_close(j);
}

int main(int argc, char **argv)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(any_event_comes_back_as_it_was),
		TEST(what_was_not_damaged_survives_and_numbers_rise),
		TEST(a_reader_sees_each_line_once_while_others_write),
		TEST(vandals_cost_lines_and_nothing_else),
	};

	seed = argc > 1 ? strtoull(argv[1], NULL, 10) : (uint64_t)time(NULL);
	(void)printf("seed %lu\n", (unsigned long)seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
