#include "fs/author/reads.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fs/base/limits.h"
#include "tests/support/puppet.h"

/* So long that about 16,000 of them exceed the bound. */
#define LONG_PATH 4000

struct fixture {
	struct actors *as;
	struct reads *reads;
	struct actor *self;
};

static int set_up(void **state)
{
	static struct fixture f;

	if (actors_new(0, &f.as) < 0 || reads_new(&f.reads) < 0)
		return -1;
	f.self = actors_get(f.as, gettid());
	*state = &f;
	return f.self ? 0 : -1;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	actor_unref(f->self);
	reads_free(f->reads);
	actors_free(f->as);
	return 0;
}

/* A waiting process and its actor. */
struct extra {
	struct puppet puppet;
	struct actor *actor;
};

static struct extra extra_new(struct fixture *f, const char *text)
{
	struct extra e;

	assert_true(puppet_new(text, &e.puppet));
	e.actor = actors_get(f->as, e.puppet.at.tid);
	assert_non_null(e.actor);
	return e;
}

static void extra_exit(struct extra *e)
{
	puppet_free(&e->puppet);
}

static struct reads_stats stats_of(struct fixture *f)
{
	struct reads_stats st;

	reads_stat(f->reads, &st);
	return st;
}

static cJSON *ask(struct fixture *f, pid_t pid, bool tree)
{
	cJSON *answer = cJSON_CreateObject();

	assert_int_equal(reads_answer(f->reads,
				      &(struct reads_question){ .pid = pid,
								.tree = tree },
				      answer),
			 0);
	return answer;
}

static cJSON *processes_in(cJSON *answer)
{
	cJSON *list = cJSON_GetObjectItem(answer, "processes");

	assert_true(cJSON_IsArray(list));
	return list;
}

/* The process's object, NULL: it is not in the answer. */
static cJSON *process_in(cJSON *answer, pid_t pid)
{
	cJSON *object;

	cJSON_ArrayForEach (object, processes_in(answer)) {
		const cJSON *n = cJSON_GetObjectItem(object, "pid");

		if (n && (pid_t)n->valuedouble == pid)
			return object;
	}
	return NULL;
}

static void assert_list(cJSON *object, const char *name, int count,
			const char *const *paths)
{
	cJSON *list = cJSON_GetObjectItem(object, name);

	assert_int_equal(cJSON_GetArraySize(list), count);
	for (int i = 0; i < count; i++)
		assert_string_equal(cJSON_GetArrayItem(list, i)->valuestring,
				    paths[i]);
}

static void nothing_is_known_at_first(void **state)
{
	struct fixture *f = *state;

	assert_false(reads_known(f->reads, f->self, READS_OPENED, 0));
	assert_int_equal(stats_of(f).processes, 0);
}

static void what_was_noted_is_known(void **state)
{
	struct fixture *f = *state;

	for (uint64_t key = 0; key < 1000; key++) {
		assert_false(reads_known(f->reads, f->self, READS_OPENED, key));
		reads_note(f->reads, f->self, READS_OPENED, key, "a");
		assert_true(reads_known(f->reads, f->self, READS_OPENED, key));
	}
	for (uint64_t key = 0; key < 1000; key++)
		assert_true(reads_known(f->reads, f->self, READS_OPENED, key));
	assert_int_equal(stats_of(f).entries, 1000);
	assert_int_equal(stats_of(f).processes, 1);
}

static void noting_twice_is_noting_once(void **state)
{
	struct fixture *f = *state;

	reads_note(f->reads, f->self, READS_OPENED, 7, "a");
	reads_note(f->reads, f->self, READS_OPENED, 7, "a");
	assert_int_equal(stats_of(f).entries, 1);
}

static void kinds_are_kept_apart(void **state)
{
	struct fixture *f = *state;

	reads_note(f->reads, f->self, READS_LISTED, 7, "a");
	assert_true(reads_known(f->reads, f->self, READS_LISTED, 7));
	assert_false(reads_known(f->reads, f->self, READS_OPENED, 7));
	assert_false(reads_known(f->reads, f->self, READS_MISSED, 7));
}

static void processes_are_kept_apart(void **state)
{
	struct fixture *f = *state;
	struct extra other = extra_new(f, "other");

	reads_note(f->reads, f->self, READS_OPENED, 7, "a");
	assert_false(reads_known(f->reads, other.actor, READS_OPENED, 7));
	extra_exit(&other);
	actor_unref(other.actor);
}

static void a_program_is_kept_apart_from_what_ran_before(void **state)
{
	struct fixture *f = *state;
	struct extra e = extra_new(f, "before");
	struct actor *after;
	cJSON *answer;

	reads_note(f->reads, e.actor, READS_OPENED, 7, "a");
	assert_true(puppet_send(&e.puppet, PUPPET_EXEC, "after"));
	after = actors_get(f->as, e.puppet.at.tid);
	assert_false(reads_known(f->reads, after, READS_OPENED, 7));
	reads_note(f->reads, after, READS_OPENED, 8, "b");
	answer = ask(f, e.puppet.at.pid, false);
	assert_int_equal(cJSON_GetArraySize(processes_in(answer)), 2);
	cJSON_Delete(answer);
	actor_unref(after);
	extra_exit(&e);
	actor_unref(e.actor);
}

static void an_answer_tells_paths_by_kind_in_their_order(void **state)
{
	struct fixture *f = *state;
	const char *opened[] = { "z.py", "a.py" };
	const char *listed[] = { "." };
	const char *missed[] = { "gone.py" };
	cJSON *answer;
	cJSON *object;

	reads_note(f->reads, f->self, READS_OPENED, 1, "z.py");
	reads_note(f->reads, f->self, READS_MISSED, 2, "gone.py");
	reads_note(f->reads, f->self, READS_LISTED, 3, ".");
	reads_note(f->reads, f->self, READS_OPENED, 4, "a.py");
	answer = ask(f, 0, false);
	object = process_in(answer, getpid());
	assert_non_null(object);
	assert_list(object, "opened", 2, opened);
	assert_list(object, "listed", 1, listed);
	assert_list(object, "missed", 1, missed);
	assert_int_equal(cJSON_GetObjectItem(answer, "forgotten")->valuedouble,
			 0);
	cJSON_Delete(answer);
}

static void an_answer_names_the_process(void **state)
{
	struct fixture *f = *state;
	struct extra e = extra_new(f, "reader");
	cJSON *answer;
	cJSON *object;

	reads_note(f->reads, e.actor, READS_OPENED, 1, "a");
	/* Alive or not. */
	extra_exit(&e);
	answer = ask(f, e.puppet.at.pid, false);
	object = process_in(answer, e.puppet.at.pid);
	assert_non_null(object);
	assert_string_equal(cJSON_GetObjectItem(object, "cmdline")->valuestring,
			    "marionette puppet reader");
	assert_string_equal(cJSON_GetObjectItem(object, "comm")->valuestring,
			    actor_author(e.actor)->comm);
	assert_int_equal(cJSON_GetObjectItem(object, "ppid")->valuedouble,
			 getpid());
	assert_true(cJSON_GetObjectItem(object, "start")->valuedouble ==
		    (double)actor_author(e.actor)->start);
	cJSON_Delete(answer);
	actor_unref(e.actor);
}

static void a_tree_is_a_process_and_all_below_it(void **state)
{
	struct fixture *f = *state;
	struct extra root = extra_new(f, "root");
	struct extra other = extra_new(f, "other");
	struct actor *grandchild;
	cJSON *answer;

	/* A process in between need not have read anything. */
	assert_true(puppet_send(&root.puppet, PUPPET_FORK, NULL));
	assert_true(puppet_send(&root.puppet, PUPPET_FORK, NULL));
	grandchild = actors_get(f->as, root.puppet.at.tid);
	reads_note(f->reads, f->self, READS_OPENED, 1, "a");
	reads_note(f->reads, root.actor, READS_OPENED, 1, "a");
	reads_note(f->reads, other.actor, READS_OPENED, 1, "a");
	reads_note(f->reads, grandchild, READS_OPENED, 1, "a");

	answer = ask(f, root.puppet.pid, true);
	assert_int_equal(cJSON_GetArraySize(processes_in(answer)), 2);
	assert_non_null(process_in(answer, root.puppet.pid));
	assert_non_null(process_in(answer, actor_pid(grandchild)));
	cJSON_Delete(answer);

	answer = ask(f, root.puppet.pid, false);
	assert_int_equal(cJSON_GetArraySize(processes_in(answer)), 1);
	cJSON_Delete(answer);

	answer = ask(f, 0, false);
	assert_int_equal(cJSON_GetArraySize(processes_in(answer)), 4);
	cJSON_Delete(answer);

	actor_unref(grandchild);
	extra_exit(&root);
	extra_exit(&other);
	actor_unref(root.actor);
	actor_unref(other.actor);
}

static void a_path_that_is_not_utf8_is_escaped(void **state)
{
	struct fixture *f = *state;
	const char *opened[] = { "caf\\xe9\\n", "na\xc3\xafve" };
	cJSON *answer;

	reads_note(f->reads, f->self, READS_OPENED, 1, "caf\xe9\n");
	reads_note(f->reads, f->self, READS_OPENED, 2, "na\xc3\xafve");
	answer = ask(f, 0, false);
	assert_list(process_in(answer, getpid()), "opened", 2, opened);
	cJSON_Delete(answer);
}

static void a_process_has_a_maximum_and_the_rest_is_counted(void **state)
{
	struct fixture *f = *state;

	for (uint64_t key = 0; key < READS_PER_PROCESS_MAX + 10; key++)
		reads_note(f->reads, f->self, READS_OPENED, key, "a");
	assert_int_equal(stats_of(f).entries, READS_PER_PROCESS_MAX);
	assert_int_equal(stats_of(f).forgotten, 10);
	assert_true(reads_known(f->reads, f->self, READS_OPENED, 0));
	assert_false(reads_known(f->reads, f->self, READS_OPENED,
				 READS_PER_PROCESS_MAX + 1));
}

static void note_long_path(struct fixture *f, struct actor *a, uint64_t key)
{
	static char path[LONG_PATH + 1];

	memset(path, 'x', LONG_PATH);
	reads_note(f->reads, a, READS_OPENED, key, path);
}

static void a_greedy_process_displaces_no_other(void **state)
{
	struct fixture *f = *state;
	const uint64_t notes = READS_BYTES_MAX / LONG_PATH;
	struct extra other = extra_new(f, "modest");
	struct reads_stats st;

	note_long_path(f, other.actor, 1);
	for (uint64_t key = 0; key < notes; key++)
		note_long_path(f, f->self, key);
	st = stats_of(f);
	assert_in_range(st.entries, 2,
			READS_PER_PROCESS_BYTES_MAX / LONG_PATH + 1);
	assert_int_equal(st.entries + st.forgotten, notes + 1);
	assert_true(reads_known(f->reads, other.actor, READS_OPENED, 1));
	extra_exit(&other);
	actor_unref(other.actor);
}

/*
 * Many living processes that reach the bound in small steps, each smaller than
 * the set of any candidate for eviction.
 */
#define CROWD		150
#define CANDIDATE_NOTES 300

static pid_t crowd[CROWD];

static void crowd_gather(void)
{
	for (int i = 0; i < CROWD; i++) {
		crowd[i] = fork();
		assert_true(crowd[i] >= 0);
		if (crowd[i] == 0) {
			(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				(void)pause();
		}
	}
}

static void crowd_disperse(void)
{
	for (int i = 0; i < CROWD; i++) {
		(void)kill(crowd[i], SIGKILL);
		(void)waitpid(crowd[i], NULL, 0);
	}
}

static void crowd_note(struct fixture *f, int who, uint64_t key)
{
	struct actor *a = actors_get(f->as, crowd[who]);

	assert_non_null(a);
	note_long_path(f, a, key);
	actor_unref(a);
}

/* Note paths until the first set is evicted. */
static void crowd_fill(struct fixture *f)
{
	for (uint64_t n = 0; stats_of(f).forgotten == 0; n++) {
		assert_true(n < READS_BYTES_MAX / LONG_PATH);
		crowd_note(f, (int)(n % CROWD), n / CROWD);
	}
}

static struct extra candidate(struct fixture *f, const char *text)
{
	struct extra e = extra_new(f, text);

	for (uint64_t key = 0; key < CANDIDATE_NOTES; key++)
		note_long_path(f, e.actor, key);
	return e;
}

static bool is_remembered(struct fixture *f, const struct extra *e)
{
	return reads_known(f->reads, e->actor, READS_OPENED, 0);
}

static void the_exited_are_forgotten_before_the_living(void **state)
{
	struct fixture *f = *state;
	struct extra living = candidate(f, "living");
	struct extra exited = candidate(f, "exited");

	extra_exit(&exited);
	crowd_gather();
	crowd_fill(f);
	assert_int_equal(stats_of(f).forgotten, CANDIDATE_NOTES);
	assert_false(is_remembered(f, &exited));
	assert_true(is_remembered(f, &living));
	crowd_disperse();
	extra_exit(&living);
	actor_unref(living.actor);
	actor_unref(exited.actor);
}

static void those_heard_of_least_recently_are_forgotten_first(void **state)
{
	struct fixture *f = *state;
	struct extra first = candidate(f, "first");
	struct extra second = candidate(f, "second");
	struct extra third = candidate(f, "third");

	/* reads_known() counts as a use too. */
	assert_true(is_remembered(f, &first));
	crowd_gather();
	crowd_fill(f);
	assert_int_equal(stats_of(f).forgotten, CANDIDATE_NOTES);
	assert_false(is_remembered(f, &second));
	assert_true(is_remembered(f, &first));
	assert_true(is_remembered(f, &third));
	crowd_disperse();
	extra_exit(&first);
	extra_exit(&second);
	extra_exit(&third);
	actor_unref(first.actor);
	actor_unref(second.actor);
	actor_unref(third.actor);
}

static void the_bound_holds_and_what_it_costs_is_counted(void **state)
{
	struct fixture *f = *state;
	const uint64_t notes = UINT64_C(3) * READS_BYTES_MAX / LONG_PATH;
	struct reads_stats st;
	cJSON *answer;

	crowd_gather();
	for (uint64_t n = 0; n < notes; n++)
		crowd_note(f, (int)(n % CROWD), n / CROWD);
	crowd_disperse();
	st = stats_of(f);
	assert_in_range(st.entries, 1, READS_BYTES_MAX / LONG_PATH);
	assert_int_equal(st.entries + st.forgotten, notes);
	answer = ask(f, 0, false);
	assert_true(cJSON_GetObjectItem(answer, "forgotten")->valuedouble ==
		    (double)st.forgotten);
	cJSON_Delete(answer);
}

/* Actors left when the cache has evicted all it can. */
static uint64_t count_held(struct fixture *f)
{
	/* Beyond every id that the kernel gives out. */
	const pid_t nobody = 1 << 23;

	for (pid_t i = 0; i < 2 * ACTORS_MAX; i++)
		actor_unref(actors_get(f->as, nobody + i));
	return actors_count(f->as);
}

static void a_forgotten_process_gives_its_actor_back(void **state)
{
	struct fixture *f = *state;
	uint64_t before = count_held(f);
	struct extra e = extra_new(f, "passing");

	reads_note(f->reads, e.actor, READS_OPENED, 1, "a");
	extra_exit(&e);
	actor_unref(e.actor);
	assert_true(count_held(f) > before);
	reads_free(f->reads);
	f->reads = NULL;
	assert_int_equal(count_held(f), before);
}

/* Several workers note and ask, for one process and for their own. */
#define WORKERS 4

struct worker {
	struct fixture *f;
	struct actor *own;
	uint64_t first;
};

static void *work(void *arg)
{
	struct worker *w = arg;

	for (uint64_t key = w->first; key < w->first + 2000; key++) {
		struct actor *a = key % 3 ? w->f->self : w->own;

		if (!reads_known(w->f->reads, a, READS_OPENED, key))
			reads_note(w->f->reads, a, READS_OPENED, key, "path");
		if (key % 500 == 0) {
			cJSON *answer = cJSON_CreateObject();

			(void)reads_answer(w->f->reads,
					   &(struct reads_question){ 0 },
					   answer);
			cJSON_Delete(answer);
		}
	}
	return NULL;
}

static void workers_do_not_lose_each_others_notes(void **state)
{
	struct fixture *f = *state;
	struct worker w[WORKERS];
	struct extra e[WORKERS];
	pthread_t t[WORKERS];

	for (int i = 0; i < WORKERS; i++) {
		e[i] = extra_new(f, "worker");
		/* Half of the paths are noted by two workers. */
		w[i] = (struct worker){ f, e[i].actor, 1000 * (uint64_t)i };
	}
	for (int i = 0; i < WORKERS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, work, &w[i]), 0);
	for (int i = 0; i < WORKERS; i++)
		assert_int_equal(pthread_join(t[i], NULL), 0);
	for (uint64_t key = 0; key < UINT64_C(1000) * (WORKERS + 1); key++)
		if (key % 3)
			assert_true(reads_known(f->reads, f->self, READS_OPENED,
						key));
	assert_int_equal(stats_of(f).processes, WORKERS + 1);
	for (int i = 0; i < WORKERS; i++) {
		extra_exit(&e[i]);
		actor_unref(e[i].actor);
	}
}

static int64_t wall_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Is the fixture's own process in the answer for that window? */
static bool is_in_window(struct fixture *f, int64_t from_ns, int64_t to_ns)
{
	struct reads_question q = { .from_ns = from_ns, .to_ns = to_ns };
	cJSON *answer = cJSON_CreateObject();
	bool there;

	assert_int_equal(reads_answer(f->reads, &q, answer), 0);
	there = process_in(answer, getpid()) != NULL;
	cJSON_Delete(answer);
	return there;
}

static void a_window_has_those_that_read_in_it(void **state)
{
	struct fixture *f = *state;
	int64_t before = wall_ns(), between, after;

	reads_note(f->reads, f->self, READS_OPENED, 1, "a.py");
	between = wall_ns();
	assert_true(is_in_window(f, before, between));
	assert_true(is_in_window(f, before, 0));
	assert_true(is_in_window(f, 0, between));
	assert_false(is_in_window(f, between + 1, 0));
	assert_false(is_in_window(f, 0, before - 1));

	/* A repeated open counts as a read. */
	assert_true(reads_known(f->reads, f->self, READS_OPENED, 1));
	after = wall_ns();
	assert_true(is_in_window(f, between, after));
}

static void an_answer_tells_when_a_process_read_first_and_last(void **state)
{
	struct fixture *f = *state;
	double before = (double)wall_ns(), first, last;
	cJSON *answer, *text, *process;
	char *printed;

	reads_note(f->reads, f->self, READS_OPENED, 1, "a.py");
	reads_note(f->reads, f->self, READS_MISSED, 2, "b.py");
	answer = ask(f, getpid(), false);
	printed = cJSON_PrintUnformatted(answer);
	text = cJSON_Parse(printed);
	process = process_in(text, getpid());
	first = cJSON_GetObjectItem(process, "first_ns")->valuedouble;
	last = cJSON_GetObjectItem(process, "last_ns")->valuedouble;
	assert_true(before <= first && first <= last);
	assert_true(last <= (double)wall_ns());
	free(printed);
	cJSON_Delete(text);
	cJSON_Delete(answer);
}

static void nothing_is_accepted(void **state)
{
	(void)state;
	reads_free(NULL);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(nothing_is_known_at_first),
		TEST(what_was_noted_is_known),
		TEST(noting_twice_is_noting_once),
		TEST(kinds_are_kept_apart),
		TEST(processes_are_kept_apart),
		TEST(a_program_is_kept_apart_from_what_ran_before),
		TEST(an_answer_tells_paths_by_kind_in_their_order),
		TEST(an_answer_names_the_process),
		TEST(a_tree_is_a_process_and_all_below_it),
		TEST(a_path_that_is_not_utf8_is_escaped),
		TEST(a_process_has_a_maximum_and_the_rest_is_counted),
		TEST(a_greedy_process_displaces_no_other),
		TEST(the_exited_are_forgotten_before_the_living),
		TEST(those_heard_of_least_recently_are_forgotten_first),
		TEST(the_bound_holds_and_what_it_costs_is_counted),
		TEST(a_forgotten_process_gives_its_actor_back),
		TEST(workers_do_not_lose_each_others_notes),
		TEST(a_window_has_those_that_read_in_it),
		TEST(an_answer_tells_when_a_process_read_first_and_last),
		TEST(nothing_is_accepted),
	};

	puppet_play(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
