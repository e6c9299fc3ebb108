#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tape/wire/sp.h"
#include "tape/wire/wire.h"
#include "tests/support/scratch.h"
#include "tests/support/sp_raw.h"

#define PATIENCE_MS 20000

struct world {
	char *dir;
	char *path;
	struct wire_server *server;
	sem_t go;      /* what "wait" waits for */
	sem_t waiting; /* it does */
};

/* One question per thing an answer can be. */
static int handle(void *ctx, const char *ask, const cJSON *question,
		  cJSON *answer)
{
	struct world *w = ctx;
	const cJSON *say = cJSON_GetObjectItemCaseSensitive(question, "say");

	if (strcmp(ask, "echo") == 0) {
		cJSON_AddItemToObject(answer, "said", cJSON_Duplicate(say, 1));
		return 0;
	}
	if (strcmp(ask, "fail") == 0)
		return -ENOSPC;
	if (strcmp(ask, "explain") == 0) {
		cJSON_AddStringToObject(answer, "error", "It is Sunday.");
		return -EAGAIN;
	}
	if (strcmp(ask, "wait") == 0) {
		(void)sem_post(&w->waiting);
		(void)sem_wait(&w->go);
		return 0;
	}
	if (strcmp(ask, "much") == 0) {
		char *text = malloc(WIRE_ANSWER_MAX + 1);

		memset(text, 'x', WIRE_ANSWER_MAX);
		text[WIRE_ANSWER_MAX] = '\0';
		cJSON_AddStringToObject(answer, "much", text);
		free(text);
		return 0;
	}
	return -ENOSYS;
}

static int setup_alone(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	assert_int_equal(sem_init(&w->go, 0, 0), 0);
	assert_int_equal(sem_init(&w->waiting, 0, 0), 0);
	w->dir = scratch_new();
	assert_non_null(w->dir);
	assert_true(asprintf(&w->path, "%s/wire", w->dir) > 0);
	*state = w;
	return 0;
}

static int setup(void **state)
{
	struct world *w;

	(void)setup_alone(state);
	w = *state;
	assert_int_equal(wire_server_open(w->path, handle, w, &w->server), 0);
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	wire_server_free(w->server);
	(void)sem_destroy(&w->go);
	(void)sem_destroy(&w->waiting);
	scratch_free(w->dir);
	free(w->path);
	free(w);
	return 0;
}

/* Ask "echo" and see what was said come back. */
static void expect_echo(const char *path, const char *say)
{
	cJSON *question = cJSON_CreateObject();
	cJSON *answer = NULL;

	cJSON_AddStringToObject(question, "say", say);
	assert_int_equal(wire_ask(path, "echo", question, PATIENCE_MS, &answer),
			 0);
	assert_string_equal(
		cJSON_GetStringValue(cJSON_GetObjectItem(answer, "said")), say);
	assert_true(cJSON_IsTrue(cJSON_GetObjectItem(answer, "ok")));
	assert_true(cJSON_GetObjectItem(answer, "v")->valueint == 1);
	cJSON_Delete(question);
	cJSON_Delete(answer);
}

static void expect_refusal(const char *path, const char *ask,
			   const char *sentence)
{
	cJSON *answer = NULL;

	assert_int_equal(wire_ask(path, ask, NULL, PATIENCE_MS, &answer),
			 -EREMOTEIO);
	assert_true(cJSON_IsFalse(cJSON_GetObjectItem(answer, "ok")));
	assert_string_equal(
		cJSON_GetStringValue(cJSON_GetObjectItem(answer, "error")),
		sentence);
	cJSON_Delete(answer);
}

static void a_question_is_answered(void **state)
{
	struct world *w = *state;

	expect_echo(w->path, "hello");
	expect_echo(w->path, "\xc3\xa4\n\"quoted\"\\");
}

static void an_error_becomes_a_sentence(void **state)
{
	struct world *w = *state;

	expect_refusal(w->path, "fail",
		       "\"fail\" failed: No space left on device.");
}

static void a_handlers_own_sentence_is_kept(void **state)
{
	struct world *w = *state;

	expect_refusal(w->path, "explain", "It is Sunday.");
}

static void an_unknown_question_is_named(void **state)
{
	struct world *w = *state;

	expect_refusal(w->path, "why", "There is no question \"why\".");
}

static void what_the_asker_says_of_v_and_ask_does_not_count(void **state)
{
	struct world *w = *state;
	cJSON *question = cJSON_Parse("{\"ask\":\"fail\",\"v\":9,\"say\":1}");
	cJSON *answer = NULL;
	char *after;

	assert_int_equal(
		wire_ask(w->path, "echo", question, PATIENCE_MS, &answer), 0);
	after = cJSON_PrintUnformatted(question);
	assert_string_equal(after, "{\"ask\":\"fail\",\"v\":9,\"say\":1}");
	free(after);
	cJSON_Delete(answer);
	cJSON_Delete(question);
}

static void a_question_that_is_no_object_is_not_sent(void **state)
{
	struct world *w = *state;
	cJSON *question = cJSON_CreateArray();
	cJSON *answer = NULL;

	assert_int_equal(
		wire_ask(w->path, "echo", question, PATIENCE_MS, &answer),
		-EINVAL);
	assert_null(answer);
	cJSON_Delete(question);
}

static char *text_of(char c, size_t len)
{
	char *text = malloc(len + 1);

	assert_non_null(text);
	memset(text, c, len);
	text[len] = '\0';
	return text;
}

static void a_question_too_long_is_not_sent(void **state)
{
	struct world *w = *state;
	cJSON *question = cJSON_CreateObject();
	char *text = text_of('x', WIRE_QUESTION_MAX);
	cJSON *answer = NULL;

	cJSON_AddStringToObject(question, "say", text);
	assert_int_equal(
		wire_ask(w->path, "echo", question, PATIENCE_MS, &answer),
		-EMSGSIZE);
	assert_null(answer);
	cJSON_Delete(question);
	free(text);
}

static void a_question_of_a_mebibyte_is_answered(void **state)
{
	struct world *w = *state;
	char *text = text_of('x', WIRE_QUESTION_MAX - 64);

	expect_echo(w->path, text);
	free(text);
}

static void an_answer_too_long_becomes_an_error(void **state)
{
	struct world *w = *state;
	char sentence[128];

	/* The text, and {"v":1,"ok":true,"much":""} around it. */
	(void)snprintf(sentence, sizeof(sentence),
		       "The answer has %u bytes, more than the %u it may "
		       "have.",
		       WIRE_ANSWER_MAX + 27, WIRE_ANSWER_MAX);
	expect_refusal(w->path, "much", sentence);
	expect_echo(w->path, "still");
}

static void with_nobody_there_the_asker_is_refused_at_once(void **state)
{
	struct world *w = *state;
	cJSON *answer = NULL;

	assert_int_equal(wire_ask(w->path, "echo", NULL, -1, &answer),
			 -ECONNREFUSED);
	(void)close(raw_listen(w->path));
	assert_int_equal(wire_ask(w->path, "echo", NULL, -1, &answer),
			 -ECONNREFUSED);
	assert_null(answer);
}

static void a_late_answer_is_a_timeout(void **state)
{
	struct world *w = *state;
	cJSON *answer = NULL;
	int asked = 0;

	/* On a busy machine one may come too late. */
	do {
		assert_int_equal(wire_ask(w->path, "wait", NULL, 5, &answer),
				 -ETIMEDOUT);
		asked++;
	} while (sem_trywait(&w->waiting) < 0);
	/* The server is busy, so this one is not even greeted. */
	assert_int_equal(wire_ask(w->path, "echo", NULL, 5, &answer),
			 -ETIMEDOUT);
	assert_int_equal(wire_ask(w->path, "echo", NULL, 0, &answer),
			 -ETIMEDOUT);
	assert_null(answer);
	while (asked--)
		(void)sem_post(&w->go);
	expect_echo(w->path, "still");
}

/* One that listens and does nothing else, until its queue is full. */
static void a_server_that_does_not_accept_is_a_timeout(void **state)
{
	struct world *w = *state;
	int listener = raw_listen(w->path);
	cJSON *answer = NULL;

	for (int i = 0; i < 20; i++)
		assert_int_equal(wire_ask(w->path, "echo", NULL, 2, &answer),
				 -ETIMEDOUT);
	(void)close(listener);
}

static const char number[4] = { '\x80', 0, 0, 1 };

struct quack {
	int listener;
	char answer[256]; /* with its number; empty: none */
	size_t len;
};

/* A server that gives one client the same answer whatever it asks. */
static void *quack(void *arg)
{
	struct quack *q = arg;
	char room[256];
	int fd = accept(q->listener, NULL, NULL);

	raw_greet(fd, SP_REP);
	(void)raw_greeted(fd);
	(void)raw_recv(fd, room, sizeof(room));
	if (q->len)
		raw_send(fd, q->answer, q->len);
	(void)close(fd);
	return NULL;
}

static int ask_a_quack(const char *path, const char *says, cJSON **ret)
{
	struct quack q = { .listener = raw_listen(path) };
	pthread_t thread;
	int rc;

	if (says) {
		q.len = sizeof(number) + strlen(says);
		memcpy(q.answer, number, sizeof(number));
		(void)snprintf(q.answer + sizeof(number),
			       sizeof(q.answer) - sizeof(number), "%s", says);
	}
	assert_int_equal(pthread_create(&thread, NULL, quack, &q), 0);
	rc = wire_ask(path, "echo", NULL, PATIENCE_MS, ret);
	(void)pthread_join(thread, NULL);
	(void)close(q.listener);
	(void)unlink(path);
	return rc;
}

static void a_server_that_goes_away_is_a_reset(void **state)
{
	struct world *w = *state;
	cJSON *answer = NULL;

	assert_int_equal(ask_a_quack(w->path, NULL, &answer), -ECONNRESET);
	assert_null(answer);
}

static void an_answer_that_makes_no_sense_is_an_error(void **state)
{
	struct world *w = *state;
	const char *answers[] = { "",
				  "{",
				  "null",
				  "[]",
				  "{}",
				  "{\"ok\":true}",
				  "{\"v\":1}",
				  "{\"v\":2,\"ok\":true}",
				  "{\"v\":1,\"ok\":1}",
				  "{\"v\":1,\"ok\":true} and more" };
	cJSON *answer = NULL;

	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++)
		assert_int_equal(ask_a_quack(w->path, answers[i], &answer),
				 -EBADMSG);
	assert_null(answer);
	assert_int_equal(ask_a_quack(w->path, "{\"v\":1,\"ok\":true}", &answer),
			 0);
	cJSON_Delete(answer);
}

/* A client by hand, greeted. */
static int raw_asker(const struct world *w)
{
	int fd = raw_connect(w->path);

	raw_greet(fd, SP_REQ);
	assert_int_equal(raw_greeted(fd), SP_REP);
	return fd;
}

/* Send a question as it is; the answer's "error", which the caller frees. */
static char *raw_ask(int fd, const char *text, size_t len)
{
	char room[4096];
	cJSON *answer;
	char *error;

	raw_send_head(fd, sizeof(number) + len);
	raw_write(fd, number, sizeof(number));
	raw_write(fd, text, len);
	assert_true(raw_recv(fd, room, sizeof(room)) >= 4);
	assert_memory_equal(room, number, sizeof(number));
	answer = cJSON_Parse(room + sizeof(number));
	assert_true(cJSON_IsFalse(cJSON_GetObjectItem(answer, "ok")));
	error = strdup(
		cJSON_GetStringValue(cJSON_GetObjectItem(answer, "error")));
	cJSON_Delete(answer);
	return error;
}

static void expect_raw_refusal(int fd, const char *text, size_t len,
			       const char *sentence)
{
	char *error = raw_ask(fd, text, len);

	assert_string_equal(error, sentence);
	free(error);
}

static void a_malformed_question_is_told_so(void **state)
{
	int fd = raw_asker(*state);
	const char *no_object = "The question is not a JSON object.";
	const char *no_version = "The question's \"v\" is not 1, the version "
				 "spoken here.";
	const char *no_ask = "The question has no \"ask\".";
	const struct {
		const char *text;
		const char *sentence;
	} cases[] = {
		{ "", no_object },
		{ "{", no_object },
		{ "[]", no_object },
		{ "null", no_object },
		{ "\"ask\"", no_object },
		{ "{\"v\":1,\"ask\":\"echo\"} {}", no_object },
		{ "\xff\xfe", no_object },
		{ "{}", no_version },
		{ "{\"ask\":\"echo\"}", no_version },
		{ "{\"v\":2,\"ask\":\"echo\"}", no_version },
		{ "{\"v\":1.5,\"ask\":\"echo\"}", no_version },
		{ "{\"v\":\"1\",\"ask\":\"echo\"}", no_version },
		{ "{\"v\":1}", no_ask },
		{ "{\"v\":1,\"ask\":7}", no_ask },
		{ "{\"v\":1,\"ASK\":\"echo\"}", no_ask },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		expect_raw_refusal(fd, cases[i].text, strlen(cases[i].text),
				   cases[i].sentence);
	/* A NUL is no end. */
	expect_raw_refusal(fd, "{\"v\":1,\"ask\":\"echo\"}\0x", 22, no_object);
	(void)close(fd);
}

static void nesting_has_a_bottom(void **state)
{
	int fd = raw_asker(*state);
	char *deep = text_of('[', 100000);

	expect_raw_refusal(fd, deep, 100000,
			   "The question is not a JSON object.");
	free(deep);
	(void)close(fd);
}

static void an_oversize_question_is_told_so_and_the_next_answered(void **state)
{
	int fd = raw_asker(*state);
	char *big = text_of('x', WIRE_QUESTION_MAX + 1);

	expect_raw_refusal(fd, big, WIRE_QUESTION_MAX + 1,
			   "The question has 1048577 bytes, more than the "
			   "1048576 it may have.");
	expect_raw_refusal(fd, "{\"v\":1,\"ask\":\"fail\"}", 20,
			   "\"fail\" failed: No space left on device.");
	free(big);
	(void)close(fd);
}

static void a_relays_numbers_come_back_with_the_answer(void **state)
{
	const char question[] = "\0\0\0\7"
				"\x7f\1\2\3"
				"\x80\0\0\2"
				"{\"v\":1,\"ask\":\"echo\"}";
	int fd = raw_asker(*state);
	char room[256];

	raw_send(fd, question, sizeof(question) - 1);
	assert_true(raw_recv(fd, room, sizeof(room)) > 12);
	assert_memory_equal(room, question, 12);
	assert_string_equal(room + 12, "{\"v\":1,\"ok\":true}");
	(void)close(fd);
}

static void a_message_without_a_number_has_no_answer(void **state)
{
	int fd = raw_asker(*state);

	raw_send(fd, "", 0);
	raw_send(fd, "{}", 2);
	raw_send(fd, "{\"v\":1,\"ask\":\"fail\"}and so on and on", 36);
	expect_raw_refusal(fd, "{}", 2,
			   "The question's \"v\" is not 1, the version spoken "
			   "here.");
	(void)close(fd);
}

struct asker {
	pthread_t thread;
	const char *path;
	int answered;
};

static void *ask_often(void *arg)
{
	struct asker *a = arg;
	cJSON *answer = NULL;

	for (int i = 0; i < 100; i++) {
		if (wire_ask(a->path, "echo", NULL, PATIENCE_MS, &answer) == 0)
			a->answered++;
		cJSON_Delete(answer);
		answer = NULL;
	}
	return NULL;
}

static void many_may_ask_at_once(void **state)
{
	struct world *w = *state;
	struct asker askers[8];

	for (size_t i = 0; i < 8; i++) {
		askers[i] = (struct asker){ .path = w->path };
		assert_int_equal(pthread_create(&askers[i].thread, NULL,
						ask_often, &askers[i]),
				 0);
	}
	for (size_t i = 0; i < 8; i++) {
		(void)pthread_join(askers[i].thread, NULL);
		assert_int_equal(askers[i].answered, 100);
	}
}

static void askers_that_give_up_harm_nobody(void **state)
{
	struct world *w = *state;
	cJSON *answer = NULL;

	for (int i = 0; i < 200; i++)
		assert_int_equal(wire_ask(w->path, "wait", NULL, 0, &answer),
				 -ETIMEDOUT);
	for (int i = 0; i < 200; i++)
		(void)sem_post(&w->go);
	expect_echo(w->path, "still");
}

static void the_socket_is_closed_to_others(void **state)
{
	struct world *w = *state;
	struct stat st;

	assert_int_equal(stat(w->path, &st), 0);
	assert_true(S_ISSOCK(st.st_mode));
	assert_int_equal(st.st_mode & 07777, 0600);
}

static void a_dead_servers_socket_is_replaced(void **state)
{
	struct world *w = *state;

	(void)close(raw_listen(w->path));
	assert_int_equal(wire_server_open(w->path, handle, w, &w->server), 0);
	expect_echo(w->path, "alive");
}

static void a_living_servers_socket_is_not_replaced(void **state)
{
	struct world *w = *state;
	struct wire_server *second = NULL;

	assert_int_equal(wire_server_open(w->path, handle, w, &second),
			 -EADDRINUSE);
	assert_null(second);
	expect_echo(w->path, "still");
}

static void a_path_too_long_for_a_socket_is_an_error(void **state)
{
	struct world *w = *state;
	char *deep = text_of('d', 200);
	cJSON *answer = NULL;

	assert_int_equal(wire_server_open(deep, handle, w, &w->server),
			 -ENAMETOOLONG);
	assert_int_equal(wire_ask(deep, "echo", NULL, PATIENCE_MS, &answer),
			 -ENAMETOOLONG);
	free(deep);
}

#define TEST(f)	      cmocka_unit_test_setup_teardown(f, setup, teardown)
#define TEST_ALONE(f) cmocka_unit_test_setup_teardown(f, setup_alone, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_question_is_answered),
		TEST(an_error_becomes_a_sentence),
		TEST(a_handlers_own_sentence_is_kept),
		TEST(an_unknown_question_is_named),
		TEST(what_the_asker_says_of_v_and_ask_does_not_count),
		TEST(a_question_that_is_no_object_is_not_sent),
		TEST(a_question_too_long_is_not_sent),
		TEST(a_question_of_a_mebibyte_is_answered),
		TEST(an_answer_too_long_becomes_an_error),
		TEST_ALONE(with_nobody_there_the_asker_is_refused_at_once),
		TEST(a_late_answer_is_a_timeout),
		TEST_ALONE(a_server_that_does_not_accept_is_a_timeout),
		TEST_ALONE(a_server_that_goes_away_is_a_reset),
		TEST_ALONE(an_answer_that_makes_no_sense_is_an_error),
		TEST(a_malformed_question_is_told_so),
		TEST(nesting_has_a_bottom),
		TEST(an_oversize_question_is_told_so_and_the_next_answered),
		TEST(a_relays_numbers_come_back_with_the_answer),
		TEST(a_message_without_a_number_has_no_answer),
		TEST(many_may_ask_at_once),
		TEST(askers_that_give_up_harm_nobody),
		TEST(the_socket_is_closed_to_others),
		TEST_ALONE(a_dead_servers_socket_is_replaced),
		TEST(a_living_servers_socket_is_not_replaced),
		TEST_ALONE(a_path_too_long_for_a_socket_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
