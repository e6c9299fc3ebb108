/*
 * Our bell and our wire with nng at the other end, so that "nng's protocol"
 * is a fact. Each nng socket is connected before it is used and has talked
 * before it is closed: nng 1.5 may hang otherwise.
 */
#include <nng/nng.h>
#include <nng/protocol/pubsub0/pub.h>
#include <nng/protocol/pubsub0/sub.h>
#include <nng/protocol/reqrep0/rep.h>
#include <nng/protocol/reqrep0/req.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tape/wire/bell.h"
#include "tape/wire/wire.h"
#include "tests/support/scratch.h"

#define PATIENCE_MS 20000

struct world {
	char *dir;
	char *path;
	char *url;
};

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	w->dir = scratch_new();
	assert_non_null(w->dir);
	assert_true(asprintf(&w->path, "%s/s", w->dir) > 0);
	assert_true(asprintf(&w->url, "ipc://%s", w->path) > 0);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	scratch_free(w->dir);
	free(w->path);
	free(w->url);
	free(w);
	return 0;
}

static void be_patient(nng_socket s)
{
	assert_int_equal(nng_socket_set_ms(s, NNG_OPT_RECVTIMEO, PATIENCE_MS),
			 0);
	assert_int_equal(nng_socket_set_ms(s, NNG_OPT_SENDTIMEO, PATIENCE_MS),
			 0);
}

static uint64_t sub_head(nng_socket sub)
{
	char text[32] = "";
	size_t len = sizeof(text) - 1;

	assert_int_equal(nng_recv(sub, text, &len, 0), 0);
	return strtoull(text, NULL, 10);
}

static void an_nng_subscriber_hears_the_bell(void **state)
{
	struct world *w = *state;
	struct bell *b = NULL;
	nng_socket sub;

	assert_int_equal(bell_open(w->path, &b), 0);
	bell_ring(b, 41);
	assert_int_equal(nng_sub0_open(&sub), 0);
	be_patient(sub);
	assert_int_equal(nng_socket_set(sub, NNG_OPT_SUB_SUBSCRIBE, "", 0), 0);
	assert_int_equal(nng_dial(sub, w->url, NULL, 0), 0);
	assert_int_equal(sub_head(sub), 41);
	bell_ring(b, 42);
	assert_int_equal(sub_head(sub), 42);

	/* nng is shown the end in such a way that it reads up to it. */
	bell_ring(b, 43);
	bell_free(b);
	assert_int_equal(sub_head(sub), 43);
	assert_int_equal(nng_close(sub), 0);
}

static void an_ear_hears_an_nng_publisher(void **state)
{
	struct world *w = *state;
	struct bell_ear *e = NULL;
	char head[] = "7";
	uint64_t heard = 0;
	nng_socket pub;

	assert_int_equal(nng_pub0_open(&pub), 0);
	assert_int_equal(nng_listen(pub, w->url, NULL, 0), 0);
	assert_int_equal(bell_ear_open(w->path, &e), 0);
	/* What is published before nng knows of us is not for us. */
	do
		assert_int_equal(nng_send(pub, head, 1, 0), 0);
	while (bell_ear_wait(e, 10, &heard) < 0);
	assert_int_equal(heard, 7);
	bell_ear_free(e);
	assert_int_equal(nng_close(pub), 0);
}

static int hello(void *ctx, const char *ask, const cJSON *question,
		 cJSON *answer)
{
	(void)ctx;
	(void)question;
	return cJSON_AddStringToObject(answer, "hello", ask) ? 0 : -1;
}

static void an_nng_requester_is_answered(void **state)
{
	struct world *w = *state;
	struct wire_server *s = NULL;
	char question[] = "{\"v\":1,\"ask\":\"nng\"}";
	char answer[64] = "";
	size_t len = sizeof(answer) - 1;
	nng_socket req;

	assert_int_equal(wire_server_open(w->path, hello, NULL, &s), 0);
	assert_int_equal(nng_req0_open(&req), 0);
	be_patient(req);
	assert_int_equal(nng_dial(req, w->url, NULL, 0), 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(nng_send(req, question, strlen(question), 0),
				 0);
		assert_int_equal(nng_recv(req, answer, &len, 0), 0);
		assert_string_equal(answer,
				    "{\"v\":1,\"ok\":true,\"hello\":\"nng\"}");
	}
	assert_int_equal(nng_close(req), 0);
	wire_server_free(s);
}

static void *reply_once(void *arg)
{
	nng_socket *rep = arg;
	char answer[] = "{\"v\":1,\"ok\":true,\"from\":\"nng\"}";
	char question[256];
	size_t len = sizeof(question);

	if (nng_recv(*rep, question, &len, 0) == 0)
		(void)nng_send(*rep, answer, strlen(answer), 0);
	return NULL;
}

static void an_nng_replier_is_understood(void **state)
{
	struct world *w = *state;
	cJSON *answer = NULL;
	pthread_t thread;
	nng_socket rep;

	assert_int_equal(nng_rep0_open(&rep), 0);
	be_patient(rep);
	assert_int_equal(nng_listen(rep, w->url, NULL, 0), 0);
	assert_int_equal(pthread_create(&thread, NULL, reply_once, &rep), 0);
	assert_int_equal(wire_ask(w->path, "who", NULL, PATIENCE_MS, &answer),
			 0);
	(void)pthread_join(thread, NULL);
	assert_string_equal(
		cJSON_GetStringValue(cJSON_GetObjectItem(answer, "from")),
		"nng");
	cJSON_Delete(answer);
	assert_int_equal(nng_close(rep), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_nng_subscriber_hears_the_bell),
		TEST(an_ear_hears_an_nng_publisher),
		TEST(an_nng_requester_is_answered),
		TEST(an_nng_replier_is_understood),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
