#include "tape/wire/client.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tape/wire/wire.h"
#include "tests/support/tape_world.h"

static struct journal_author sed = { .pid = 812,
				     .comm = "sed",
				     .cmdline = "sed -i s/1/2/ a.py" };

struct fixture {
	struct tape_world w;
	struct wire_server *server;
	struct client *c;
	char *path;
	pthread_mutex_t late; /* held: no question is answered */
};

static int handle(void *ctx, const char *ask, const cJSON *q, cJSON *answer)
{
	struct fixture *f = ctx;
	int r;

	pthread_mutex_lock(&f->late);
	r = answers_ask(f->w.answers, ask, q, answer);
	pthread_mutex_unlock(&f->late);
	return r;
}

static void serve(struct fixture *f)
{
	assert_int_equal(wire_server_open(f->path, handle, f, &f->server), 0);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	tape_world_init(&f->w);
	(void)pthread_mutex_init(&f->late, NULL);
	assert_true(asprintf(&f->path, "%s/tape.sock", f->w.dir) > 0);
	serve(f);
	f->c = client_new(f->path);
	f->c->timeout_ms = 20000;
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	client_free(f->c);
	wire_server_free(f->server);
	tape_world_release(&f->w);
	(void)pthread_mutex_destroy(&f->late);
	free(f->path);
	free(f);
	return 0;
}

static void the_barrier_says_how_far_the_tape_is(void **state)
{
	struct fixture *f = *state;
	struct client_head head;

	(void)tape_write(&f->w, "a.txt", "x\n", &sed);
	assert_int_equal(client_sync(f->c, NULL, -1, 20000, &head), 0);
	assert_int_equal(head.n, 1);
	assert_int_equal(head.journal, 7);
	assert_true(head.ready);
}

static void nominations_come_with_the_callers_ids(void **state)
{
	static const char *const load[] = { "a.load" };
	static const char *const other[] = { "a.other" };
	struct fixture *f = *state;
	struct client_record records[] = {
		{ .id = 7, .symbols = other, .symbols_count = 1 },
		{ .id = UINT64_MAX, .symbols = load, .symbols_count = 1 },
		{ .id = 9, .kind = CLIENT_RUN },
		{ .id = 10, .kind = CLIENT_RUN, .observed = true },
	};
	struct client_nominations n;

	tape_base(&f->w, "a.py", "def load():\n    return 1\n");
	(void)tape_write(&f->w, "a.py", "def load():\n    return 2\n", &sed);
	assert_int_equal(client_nominate(f->c, records, 4, &n), 0);
	assert_int_equal(n.n, 1);
	assert_int_equal(n.count, 3);
	assert_true(n.at[0].id == UINT64_MAX);
	assert_int_equal(n.at[0].action, CLIENT_REFRESH);
	assert_string_equal(n.at[0].reason,
			    "load was edited by entry 1 (sed, pid 812)");
	assert_int_equal(n.at[0].entry, 1);
	assert_int_equal(n.at[0].symbols_count, 1);
	assert_string_equal(n.at[0].symbols[0].name, "a.load");
	assert_int_equal(n.at[0].symbols[0].set, CLIENT_X);
	assert_int_equal(n.at[1].id, 9);
	assert_int_equal(n.at[1].action, CLIENT_RERUN);
	assert_int_equal(n.at[2].action, CLIENT_KEEP);
	client_nominations_release(&n);
	assert_int_equal(client_nominate(f->c, records, 0, &n), 0);
	assert_int_equal(n.count, 0);
	client_nominations_release(&n);
}

/* Paths so long that a question has no room for many records. */
static void any_number_of_records_can_be_asked_for(void **state)
{
	struct fixture *f = *state;
	enum { RECORDS = 40, PATHS = 100, LEN = 1000 };
	struct client_record records[RECORDS];
	const char *opened[PATHS];
	char *text = malloc(LEN + 1);
	struct client_nominations n;

	memset(text, 'x', LEN);
	text[LEN] = '\0';
	for (int k = 0; k < PATHS; k++)
		opened[k] = text;
	for (unsigned k = 0; k < RECORDS; k++)
		records[k] =
			(struct client_record){ .id = 100 + k,
						.kind = CLIENT_RUN,
						.observed = true,
						.opened = { opened, PATHS } };
	(void)tape_write(&f->w, "a.txt", "x\n", &sed);
	assert_int_equal(client_nominate(f->c, records, RECORDS, &n), 0);
	assert_int_equal(n.count, RECORDS);
	for (unsigned k = 0; k < RECORDS; k++) {
		assert_int_equal(n.at[k].id, 100 + k);
		assert_int_equal(n.at[k].action, CLIENT_KEEP);
	}
	client_nominations_release(&n);
	free(text);
}

/* What cannot be said in one question is unknown, which is sound. */
static void a_run_that_read_too_much_is_run_again(void **state)
{
	struct fixture *f = *state;
	enum { PATHS = 60000 };
	const char **opened = malloc(PATHS * sizeof(*opened));
	struct client_record record = { .kind = CLIENT_RUN, .observed = true };
	struct client_nominations n;

	for (int k = 0; k < PATHS; k++)
		opened[k] = "some/directory/with/a/file.py";
	record.opened = (struct client_paths){ opened, PATHS };
	(void)tape_write(&f->w, "a.txt", "x\n", &sed);
	assert_int_equal(client_nominate(f->c, &record, 1, &n), 0);
	assert_int_equal(n.count, 1);
	assert_int_equal(n.at[0].action, CLIENT_RERUN);
	client_nominations_release(&n);
	free(opened);
}

static void symbols_and_texts_are_had_as_they_were(void **state)
{
	struct fixture *f = *state;
	struct client_span span = { .path = "a.py", .start = 1, .end = 1 };
	struct client_symbols s;
	struct client_source text;
	struct client_versions v;

	tape_base(&f->w, "a.py", "def old():\n    pass\n");
	(void)tape_write(&f->w, "a.py", "x = 1\ndef new():\n    pass\n", &sed);
	assert_int_equal(client_symbols(f->c, &span, &s), 0);
	assert_true(s.language);
	assert_int_equal(s.lines, 2);
	assert_int_equal(s.count, 1);
	assert_string_equal(s.at[0].name, "a.old");
	assert_string_equal(s.at[0].kind, "function");
	assert_int_equal(s.at[0].end, 2);
	client_symbols_release(&s);
	span.n = CLIENT_NOW;
	assert_int_equal(client_symbols(f->c, &span, &s), 0);
	assert_string_equal(s.at[0].name, "a.x");
	assert_int_equal(strlen(s.hash), 32);
	client_symbols_release(&s);
	assert_int_equal(client_source(f->c, &span, &text), 0);
	assert_string_equal(text.text.at, "x = 1\n");
	assert_int_equal(text.lines, 3);
	client_source_release(&text);
	assert_int_equal(client_versions(f->c, "a.py", 10, &v), 0);
	assert_int_equal(v.count, 2);
	assert_int_equal(v.at[0].n, 1);
	assert_string_equal(v.at[1].kind, "before");
	client_versions_release(&v);
}

static void paths_and_texts_may_be_any_bytes(void **state)
{
	static const char path[] = "a\\\"b\xff\n.txt";
	struct fixture *f = *state;
	struct client_span span = { .path = path, .n = CLIENT_NOW };
	struct client_source text;
	struct client_symbols s;
	struct client_record record = { .id = 1, .path = path };
	struct client_nominations n;

	(void)tape_write(&f->w, path, "\xff\xfe\n", &sed);
	assert_int_equal(client_source(f->c, &span, &text), 0);
	assert_int_equal(text.text.len, 3);
	assert_memory_equal(text.text.at, "\xff\xfe\n", 3);
	client_source_release(&text);
	assert_int_equal(client_symbols(f->c, &span, &s), 0);
	assert_string_equal(s.at[0].name, "file:a\\\"b\xff\n.txt");
	client_symbols_release(&s);
	assert_int_equal(client_nominate(f->c, &record, 1, &n), 0);
	assert_int_equal(n.count, 1);
	assert_string_equal(n.at[0].symbols[0].name, "file:a\\\"b\xff\n.txt");
	client_nominations_release(&n);
}

static void an_error_leaves_its_sentence(void **state)
{
	struct fixture *f = *state;
	struct client_span span = { .path = "none", .n = CLIENT_NOW };
	struct client_source text;
	struct client_head head;

	assert_int_equal(client_source(f->c, &span, &text), -EREMOTEIO);
	assert_string_equal(client_error(f->c), "There is no file 'none'.");
	assert_int_equal(client_sync(f->c, NULL, -1, 20000, &head), 0);
	assert_string_equal(client_error(f->c), "");
}

static void a_tape_that_was_restarted_is_asked_again(void **state)
{
	struct fixture *f = *state;
	struct client_head head;

	assert_int_equal(client_sync(f->c, NULL, -1, 20000, &head), 0);
	wire_server_free(f->server);
	f->server = NULL;
	assert_int_equal(client_sync(f->c, NULL, -1, 20000, &head),
			 -ECONNREFUSED);
	serve(f);
	assert_int_equal(client_sync(f->c, NULL, -1, 20000, &head), 0);
	wire_server_free(f->server);
	serve(f);
	assert_int_equal(client_sync(f->c, NULL, -1, 20000, &head), 0);
}

static void a_late_answer_is_not_taken_for_the_next(void **state)
{
	struct fixture *f = *state;
	struct client_head head;
	struct client_span span = { .path = "none", .n = CLIENT_NOW };
	struct client_source text;

	pthread_mutex_lock(&f->late);
	assert_int_equal(client_sync(f->c, NULL, -1, 20, &head), -ETIMEDOUT);
	pthread_mutex_unlock(&f->late);
	assert_int_equal(client_source(f->c, &span, &text), -EREMOTEIO);
	assert_int_equal(client_sync(f->c, NULL, -1, 20000, &head), 0);
}

static void a_hold_is_held(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(client_hold(f->c, "conversation 1", 3, 60000), 0);
	assert_int_equal(answers_held(f->w.answers), 3);
}

static void readset_is_unknown_without_a_mount(void **state)
{
	struct fixture *f = *state;
	struct client_readset r;

	assert_int_equal(client_readset(f->c, 1, 2, &r), -EREMOTEIO);
	assert_string_equal(client_error(f->c), "The tape is not running.");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_barrier_says_how_far_the_tape_is),
		TEST(nominations_come_with_the_callers_ids),
		TEST(any_number_of_records_can_be_asked_for),
		TEST(a_run_that_read_too_much_is_run_again),
		TEST(symbols_and_texts_are_had_as_they_were),
		TEST(paths_and_texts_may_be_any_bytes),
		TEST(an_error_leaves_its_sentence),
		TEST(a_tape_that_was_restarted_is_asked_again),
		TEST(a_late_answer_is_not_taken_for_the_next),
		TEST(a_hold_is_held),
		TEST(readset_is_unknown_without_a_mount),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
