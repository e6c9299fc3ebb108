/*
 * The publication and the subscription, against subscribers of all kinds:
 * nng's, our own, made by hand; slow, stopped, killed, and those that hang up
 * before they are greeted. The last make the listener of nng 1.5.2 deaf.
 *
 * Subscribers of the flood are processes: this program, run again.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <nng/nng.h>
#include <nng/protocol/pubsub0/sub.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "tape/wire/publish.h"
#include "tape/wire/sp.h"
#include "tape/wire/subscribe.h"
#include "tape/wire/wire.h"
#include "tests/support/scratch.h"
#include "tests/support/sp_raw.h"

#define SUB_PROTOCOL 0x21
#define REQ_PROTOCOL 0x30

struct world {
	char *dir;
	char *pub;  /* the publication's socket */
	char *tape; /* where SINCE is asked */
	struct publish *p;
	uint64_t n; /* newest entry published */
};

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	w->dir = scratch_new();
	assert_non_null(w->dir);
	assert_true(asprintf(&w->pub, "%s/pub", w->dir) > 0);
	assert_true(asprintf(&w->tape, "%s/tape", w->dir) > 0);
	assert_int_equal(publish_open(w->pub, &w->p), 0);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	publish_free(w->p);
	scratch_free(w->dir);
	free(w->pub);
	free(w->tape);
	free(w);
	return 0;
}

static void moment(void)
{
	(void)poll(NULL, 0, 10);
}

/* Until it is so, or ctest's patience is at an end. */
#define EVENTUALLY(condition)        \
	do {                         \
		while (!(condition)) \
			moment();    \
	} while (0)

static void tell(struct world *w)
{
	char json[64];

	(void)snprintf(json, sizeof(json), "{\"n\":%" PRIu64 ",\"x\":1}",
		       ++w->n);
	publish_entry(w->p, w->n, json);
	publish_flush(w->p);
}

/* Of a message. */
static uint64_t number_of(const char *text)
{
	static const char begin[] = "tape.{\"n\":";

	if (strncmp(text, begin, strlen(begin)) != 0)
		abort();
	return strtoull(text + strlen(begin), NULL, 10);
}

static int raw_subscriber(const struct world *w)
{
	int fd = raw_connect(w->pub);

	raw_greet(fd, SUB_PROTOCOL);
	assert_int_equal(raw_greeted(fd), 0x20);
	return fd;
}

static void a_subscriber_receives_each_entry(void **state)
{
	struct world *w = *state;
	int fd = raw_subscriber(w);
	char text[128], want[128];

	EVENTUALLY(publish_subscribers(w->p) == 1);
	for (int i = 1; i <= 100; i++)
		tell(w);
	for (int i = 1; i <= 100; i++) {
		(void)snprintf(want, sizeof(want), "tape.{\"n\":%d,\"x\":1}",
			       i);
		assert_true(raw_recv(fd, text, sizeof(text)) > 0);
		assert_string_equal(text, want);
	}
	(void)close(fd);
}

static void the_socket_is_its_owners_alone(void **state)
{
	struct world *w = *state;
	struct stat st;

	assert_int_equal(stat(w->pub, &st), 0);
	assert_true(S_ISSOCK(st.st_mode));
	assert_int_equal(st.st_mode & 07777, 0600);
}

static void a_living_listener_is_left_alone(void **state)
{
	struct world *w = *state;
	struct publish *other = NULL;
	char text[64];
	int fd;

	for (int i = 0; i < 20; i++)
		assert_int_equal(publish_open(w->pub, &other), -EADDRINUSE);
	fd = raw_subscriber(w);
	EVENTUALLY(publish_subscribers(w->p) == 1);
	tell(w);
	assert_true(raw_recv(fd, text, sizeof(text)) > 0);
	(void)close(fd);
}

static void a_dead_socket_is_replaced_and_another_file_is_not(void **state)
{
	struct world *w = *state;
	struct publish *other = NULL;
	char *path = NULL;

	assert_true(asprintf(&path, "%s/other", w->dir) > 0);
	(void)close(raw_listen(path));
	assert_int_equal(publish_open(path, &other), 0);
	publish_free(other);
	assert_int_equal(access(path, F_OK), -1);
	(void)close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	assert_int_equal(publish_open(path, &other), -EADDRINUSE);
	assert_int_equal(access(path, F_OK), 0);
	free(path);
}

static void it_is_known_whether_anyone_subscribes(void **state)
{
	struct world *w = *state;
	int fd;

	assert_false(publish_is_heard(w->p));
	assert_int_equal(publish_subscribers(w->p), 0);
	fd = raw_subscriber(w);
	EVENTUALLY(publish_is_heard(w->p) && publish_subscribers(w->p) == 1);
	(void)close(fd);
	EVENTUALLY(!publish_is_heard(w->p));
	assert_int_equal(publish_subscribers(w->p), 0);
}

/* Another protocol's client is refused, and is no subscriber. */
static void only_subscribers_are_accepted(void **state)
{
	struct world *w = *state;
	int fd = raw_connect(w->pub);
	char byte;

	raw_greet(fd, REQ_PROTOCOL);
	assert_int_equal(raw_greeted(fd), 0x20);
	assert_false(raw_read(fd, &byte, 1));
	assert_int_equal(publish_subscribers(w->p), 0);
	(void)close(fd);
	EVENTUALLY(!publish_is_heard(w->p));
}

/* -- Deafness. */

static void hang_up(const struct world *w, int times)
{
	for (int i = 0; i < times; i++) {
		int fd = raw_try_connect(w->pub);

		if (fd >= 0)
			(void)close(fd);
	}
}

/* As pub_listener.c finds out; a second is enough unless this test waits. */
static bool is_deaf(const struct world *w)
{
	int fd = raw_connect(w->pub);
	struct pollfd p = { .fd = fd, .events = POLLIN };
	bool deaf;

	raw_greet(fd, REQ_PROTOCOL);
	(void)raw_greeted(fd);
	deaf = poll(&p, 1, 1000) == 0;
	(void)close(fd);
	return deaf;
}

/* `fd`, or a new connection where that was closed. */
static int come_again(const struct world *w, int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char greeting[8];

	if (poll(&p, 1, 10) <= 0 || raw_read(fd, greeting, 1))
		return fd;
	do {
		(void)close(fd);
		EVENTUALLY((fd = raw_try_connect(w->pub)) >= 0);
		raw_greet(fd, SUB_PROTOCOL);
	} while (!raw_read(fd, greeting, sizeof(greeting)));
	return fd;
}

static void a_deaf_listener_is_opened_anew(void **state)
{
	struct world *w = *state;
	bool deaf = false;
	char text[128];
	int fd;

	for (int i = 0; i < 20 && !deaf; i++) {
		hang_up(w, 200);
		deaf = is_deaf(w);
	}
	fd = raw_subscriber(w);
	/* Nothing is published for it, and yet it is found out. */
	if (deaf)
		assert_false(publish_is_heard(w->p));
	while (publish_subscribers(w->p) == 0) {
		publish_flush(w->p);
		fd = come_again(w, fd);
	}
	if (deaf)
		assert_true(publish_reopened(w->p) > 0);
	tell(w);
	assert_true(raw_recv(fd, text, sizeof(text)) > 0);
	(void)close(fd);
}

/* -- Slow subscribers. */

static void who_holds_up_too_many_bytes_is_disconnected(void **state)
{
	struct world *w = *state;
	size_t len = 1u << 20;
	char *json = calloc(1, len + 1);
	int fd = raw_subscriber(w);

	assert_non_null(json);
	memset(json, ' ', len);
	EVENTUALLY(publish_subscribers(w->p) == 1);
	for (int i = 0; i < 200; i++) {
		publish_entry(w->p, ++w->n, json);
		publish_flush(w->p);
	}
	EVENTUALLY(publish_subscribers(w->p) == 0);
	free(json);
	(void)close(fd);
}

/* The oldest give way, so the newest always comes. */
static void a_slow_subscriber_receives_the_newest(void **state)
{
	struct world *w = *state;
	int fd = raw_subscriber(w);
	char text[128];
	uint64_t n = 0;

	EVENTUALLY(publish_subscribers(w->p) == 1);
	for (int i = 0; i < 20000; i++)
		tell(w);
	while (n < w->n) {
		assert_true(raw_recv(fd, text, sizeof(text)) > 0);
		n = number_of(text);
	}
	(void)close(fd);
}

/* -- The subscription. */

static struct subscribe_stats stats_of(const struct subscribe *s)
{
	struct subscribe_stats st;

	subscribe_stat(s, &st);
	return st;
}

static void note_heard(void *ctx, uint64_t n)
{
	atomic_store((_Atomic uint64_t *)ctx, n);
}

static void a_subscription_survives_the_tape(void **state)
{
	struct world *w = *state;
	_Atomic uint64_t heard = 0;
	struct subscribe *s = NULL;

	publish_free(w->p);
	w->p = NULL;
	assert_int_equal(subscribe_open(w->pub, note_heard, &heard, &s), 0);
	assert_false(stats_of(s).connected);
	for (int life = 0; life < 3; life++) {
		uint64_t gaps = stats_of(s).gaps;

		assert_int_equal(publish_open(w->pub, &w->p), 0);
		EVENTUALLY(publish_subscribers(w->p) == 1);
		for (int i = 0; i < 50; i++)
			tell(w);
		EVENTUALLY(stats_of(s).n == w->n);
		assert_true(stats_of(s).connected);
		assert_int_equal(atomic_load(&heard), w->n);
		/* Entries made while no tape published. */
		assert_int_equal(stats_of(s).gaps, gaps + (life > 0));
		publish_free(w->p);
		w->p = NULL;
		w->n += 10;
		EVENTUALLY(!stats_of(s).connected);
	}
	assert_int_equal(stats_of(s).entries, 150);
	subscribe_free(s);
}

static void a_path_no_socket_can_have_is_refused(void **state)
{
	char path[200];
	struct subscribe *s = NULL;
	struct publish *p = NULL;

	(void)state;
	memset(path, 'a', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(subscribe_open(path, NULL, NULL, &s), -ENAMETOOLONG);
	assert_int_equal(publish_open(path, &p), -ENAMETOOLONG);
}

/* -- The flood: processes that subscribe. */

enum {
	CHILDREN = 20,
	ENTRIES = 6000,
	PAGE = 200,
	SUBSCRIBER_MS = 50,
};

enum role { PLAIN, NNG, SLOW, STOPPED, KILLED, ROLES };

/* Shared by all. */
struct board {
	_Atomic uint64_t published;
	atomic_bool done;
	_Atomic uint64_t received[CHILDREN]; /* newest that was published */
};

static struct board *board_map(const char *dir, int flags)
{
	char path[4096];
	void *at;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/board", dir);
	fd = open(path, O_RDWR | O_CLOEXEC | flags, 0600);
	if (fd < 0 || ftruncate(fd, sizeof(struct board)) < 0)
		abort();
	at = mmap(NULL, sizeof(struct board), PROT_READ | PROT_WRITE,
		  MAP_SHARED, fd, 0);
	(void)close(fd);
	if (at == MAP_FAILED)
		abort();
	return at;
}

/* A subscriber as statetape-tape(5) wants it. Ends with abort() or 0. */
struct child {
	struct board *board;
	char pub[4096], tape[4096];
	enum role role;
	unsigned slot;
	uint64_t seen;
};

static void child_see(struct child *c, uint64_t n)
{
	if (n != c->seen + 1)
		abort();
	c->seen = n;
}

static void child_catch_up(struct child *c)
{
	bool more = true;

	while (more) {
		cJSON *q = cJSON_CreateObject(), *answer = NULL;
		const cJSON *e;

		(void)cJSON_AddNumberToObject(q, "n", (double)c->seen);
		if (wire_ask(c->tape, "SINCE", q, -1, &answer) < 0)
			abort();
		cJSON_ArrayForEach (e, cJSON_GetObjectItem(answer, "entries"))
			child_see(c, (uint64_t)e->valuedouble);
		more = cJSON_IsTrue(cJSON_GetObjectItem(answer, "more"));
		cJSON_Delete(answer);
		cJSON_Delete(q);
	}
}

static void child_hear(struct child *c, const char *text, size_t len)
{
	char copy[128] = "";
	uint64_t n;

	if (len >= sizeof(copy))
		abort();
	memcpy(copy, text, len);
	n = number_of(copy);
	atomic_store(&c->board->received[c->slot], n);
	if (n == c->seen + 1)
		child_see(c, n);
	else if (n > c->seen)
		child_catch_up(c);
	if (c->role == SLOW)
		(void)poll(NULL, 0, 2);
}

static bool child_is_done(struct child *c)
{
	if (!atomic_load(&c->board->done))
		return false;
	child_catch_up(c);
	if (c->seen != atomic_load(&c->board->published))
		abort();
	return true;
}

static void child_own(struct child *c)
{
	struct sp_conn conn = SP_CONN_NONE;

	while (!child_is_done(c)) {
		int r = 0;

		if (conn.fd < 0) {
			if (sp_connect(c->pub, 0, SP_SUB, SP_PUB, 4096, &conn) <
			    0)
				moment();
			else
				child_catch_up(c);
			continue;
		}
		while (r == 0 && (r = sp_conn_receive(&conn)) > 0) {
			child_hear(c, conn.in, conn.kept);
			r = 0;
			if (atomic_load(&c->board->done))
				break;
		}
		if (r < 0)
			sp_conn_release(&conn);
		else
			(void)sp_conn_wait(&conn, SUBSCRIBER_MS);
	}
	sp_conn_release(&conn);
}

static void child_nng(struct child *c)
{
	nng_socket s;
	nng_msg *m;
	char url[4200];

	(void)snprintf(url, sizeof(url), "ipc://%s", c->pub);
	if (nng_sub0_open(&s) != 0 ||
	    nng_socket_set(s, NNG_OPT_SUB_SUBSCRIBE, PUBLISH_TOPIC,
			   strlen(PUBLISH_TOPIC)) != 0 ||
	    nng_socket_set_ms(s, NNG_OPT_RECVTIMEO, SUBSCRIBER_MS) != 0 ||
	    nng_dial(s, url, NULL, NNG_FLAG_NONBLOCK) != 0)
		abort();
	while (!child_is_done(c)) {
		if (nng_recvmsg(s, &m, 0) != 0)
			continue;
		child_hear(c, nng_msg_body(m), nng_msg_len(m));
		nng_msg_free(m);
	}
	/* No nng_close(): the process ends. */
}

static int child_main(char **argv)
{
	struct child c = { .board = board_map(argv[2], 0),
			   .slot = (unsigned)strtoul(argv[3], NULL, 10) };

	c.role = (enum role)(c.slot % ROLES);
	(void)snprintf(c.pub, sizeof(c.pub), "%s/pub", argv[2]);
	(void)snprintf(c.tape, sizeof(c.tape), "%s/tape", argv[2]);
	if (c.role == NNG)
		child_nng(&c);
	else
		child_own(&c);
	_exit(0);
}

static pid_t child_start(const struct world *w, unsigned slot)
{
	char number[16], dir[4096], self[] = "publish_test", how[] = "--child";
	char *argv[] = { self, how, dir, number, NULL };
	pid_t pid;

	(void)snprintf(dir, sizeof(dir), "%s", w->dir);
	(void)snprintf(number, sizeof(number), "%u", slot);
	assert_int_equal(
		posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ),
		0);
	return pid;
}

/* SINCE, of a tape whose entries are their numbers. */
static int answer_since(void *ctx, const char *ask, const cJSON *question,
			cJSON *answer)
{
	struct board *b = ctx;
	double n = cJSON_GetObjectItem(question, "n")->valuedouble;
	uint64_t head = atomic_load(&b->published);
	cJSON *list = cJSON_AddArrayToObject(answer, "entries");

	(void)ask;
	for (int i = 0; i < PAGE && (uint64_t)n < head; i++)
		(void)cJSON_AddItemToArray(list, cJSON_CreateNumber(++n));
	(void)cJSON_AddBoolToObject(answer, "more", (uint64_t)n < head);
	return 0;
}

/* Committed before it is published, as the tape does. */
static void publish_next(struct world *w, struct board *b)
{
	atomic_store(&b->published, w->n + 1);
	tell(w);
}

static void *flood_main(void *arg)
{
	hang_up(arg, 3000);
	return NULL;
}

static unsigned descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned n = 0;

	assert_non_null(dir);
	while (readdir(dir)) /* NOLINT(concurrency-mt-unsafe) */
		n++;
	(void)closedir(dir);
	return n;
}

static bool all_received(struct board *b, uint64_t n)
{
	for (unsigned i = 0; i < CHILDREN; i++)
		if (i % ROLES != KILLED && atomic_load(&b->received[i]) < n)
			return false;
	return true;
}

static void signal_role(const pid_t *pids, enum role role, int signal)
{
	for (unsigned i = 0; i < CHILDREN; i++)
		if (i % ROLES == role)
			assert_int_equal(kill(pids[i], signal), 0);
}

static void expect_ends(const pid_t *pids)
{
	for (unsigned i = 0; i < CHILDREN; i++) {
		int status = -1;

		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		if (i % ROLES == KILLED)
			assert_true(WIFSIGNALED(status));
		else
			assert_int_equal(status, 0);
	}
}

/*
 * The publisher publishes ENTRIES while clients hang up, subscribers are slow,
 * stopped or killed; goes on until each that lives has received an entry from
 * beyond the flood; and each then has all entries, once and in order.
 */
static void a_flood_leaves_every_subscriber_without_gaps(void **state)
{
	struct world *w = *state;
	struct board *b = board_map(w->dir, O_CREAT);
	struct wire_server *wire = NULL;
	pid_t pids[CHILDREN];
	pthread_t flood;
	unsigned before;
	int fd = raw_subscriber(w);

	/* nng has all its own descriptors when it has had a subscriber. */
	EVENTUALLY(publish_subscribers(w->p) == 1);
	(void)close(fd);
	EVENTUALLY(!publish_is_heard(w->p));
	before = descriptors();

	assert_int_equal(wire_server_open(w->tape, answer_since, b, &wire), 0);
	hang_up(w, 1000);
	for (unsigned i = 0; i < CHILDREN; i++)
		pids[i] = child_start(w, i);
	assert_int_equal(pthread_create(&flood, NULL, flood_main, w), 0);
	for (int i = 0; i < ENTRIES; i++) {
		publish_next(w, b);
		if (i == ENTRIES / 4)
			signal_role(pids, STOPPED, SIGSTOP);
		if (i == ENTRIES / 3)
			signal_role(pids, KILLED, SIGKILL);
	}
	(void)pthread_join(flood, NULL);
	signal_role(pids, STOPPED, SIGCONT);
	while (!all_received(b, ENTRIES + 1)) {
		publish_next(w, b);
		moment();
	}
	atomic_store(&b->done, true);
	expect_ends(pids);

	wire_server_free(wire);
	EVENTUALLY(publish_subscribers(w->p) == 0);
	EVENTUALLY(descriptors() <= before);
	(void)munmap(b, sizeof(*b));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(a_subscriber_receives_each_entry),
		TEST(the_socket_is_its_owners_alone),
		TEST(a_living_listener_is_left_alone),
		TEST(a_dead_socket_is_replaced_and_another_file_is_not),
		TEST(it_is_known_whether_anyone_subscribes),
		TEST(only_subscribers_are_accepted),
		TEST(a_deaf_listener_is_opened_anew),
		TEST(who_holds_up_too_many_bytes_is_disconnected),
		TEST(a_slow_subscriber_receives_the_newest),
		TEST(a_subscription_survives_the_tape),
		TEST(a_path_no_socket_can_have_is_refused),
		TEST(a_flood_leaves_every_subscriber_without_gaps),
	};

	if (argc == 4 && strcmp(argv[1], "--child") == 0)
		return child_main(argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
