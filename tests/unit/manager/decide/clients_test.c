/*
 * The request sent for each client's own format. tests/data/clients/NAME/ holds
 * a request captured from that client (shortened, prompts left out) and the
 * bytes expected instead: `first.json` when the talk is seen for the first
 * time, `pinned.json` and `eager.json` after another process then changed
 * app.py. The files, and what the agent did to them in that talk, are below;
 * the brain asks the tape's own answers.
 *
 * CLIENTS_WRITE=1 writes the expected files anew; review the difference.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/base/cleanup.h"
#include "manager/decide/brain.h"
#include "tests/support/tape_world.h"

static const char helper[] = "\"\"\"Helpers.\"\"\"\n\n\ndef add(a, b):\n"
			     "    return a + b\n\n\ndef sub(a, b):\n"
			     "    return a - b\n";
static const char helper_edited[] =
	"\"\"\"Helpers.\"\"\"\n\n\ndef add(a, b):\n    return a + b\n\n\n"
	"def sub(a, b):\n    return a - b  # sub\n";

#define APP_TOP                                                          \
	"\"\"\"Tiny app.\"\"\"\nfrom helper import add\n\n\n"            \
	"def total(items):\n    \"\"\"Sum the items.\"\"\"\n    t = 0\n" \
	"    for i in items:\n        t = add(t, i)\n    return t\n\n\n" \
	"def mean(items):\n"
#define APP_END                                      \
	"    return total(items) / len(items)\n\n\n" \
	"if __name__ == \"__main__\":\n    print(total([1, 2, 3]))\n"
static const char app[] = APP_TOP APP_END;
static const char app_edited[] =
	APP_TOP "    if not items:\n        return 0\n" APP_END;
static const char app_changed[] = APP_TOP
	"    if not items:\n        raise ValueError(\"empty\")\n" APP_END;

static const char tests[] =
	"import unittest\n\nimport app\n\n\nclass T(unittest.TestCase):\n"
	"    def test_total(self):\n"
	"        self.assertEqual(app.total([1]), 1)\n"
	"\n    def test_mean_empty(self):\n"
	"        self.assertEqual(app.mean([]), 0)\n";

static int ask(void *ctx, const char *name, const cJSON *question,
	       int timeout_ms, cJSON **ret)
{
	struct tape_world *w = ctx;
	cJSON *answer = cJSON_CreateObject(), *none = NULL;
	char *text;
	int rc;

	(void)timeout_ms;
	if (!question)
		question = none = cJSON_CreateObject();
	rc = answers_ask(w->answers, name, question, answer);
	cJSON_Delete(none);
	text = cJSON_PrintUnformatted(answer);
	cJSON_Delete(answer);
	*ret = cJSON_Parse(text);
	free(text);
	return rc < 0 ? -EREMOTEIO : 0;
}

/* The repository, and the agent's changes to it during the talk. */
static void live(struct tape_world *w)
{
	static struct journal_author agent = { .pid = 7,
					       .comm = "agent",
					       .cmdline = "agent",
					       .exe = "/bin/agent" };
	static struct journal_author sed = { .pid = 9,
					     .comm = "sed",
					     .cmdline = "sed -i s/tiny/small/",
					     .exe = "/bin/sed",
					     .parent = &agent };

	tape_base(w, "app.py", app);
	tape_base(w, "helper.py", helper);
	tape_base(w, "test_app.py", tests);
	tape_base(w, "README.md", "# tiny\n\nA tiny repo.\n");
	(void)tape_write(w, "app.py", app_edited, &agent);
	(void)tape_write(w, "notes.md",
			 "# Notes\n\nmean() handles empty lists.\n", &agent);
	(void)tape_write(w, "README.md", "# small\n\nA small repo.\n", &sed);
	(void)tape_write(w, "helper.py", helper_edited, &agent);
}

static char *slurp(const char *client, const char *name, size_t *ret_len)
{
	CLEANUP(fclose_p) FILE *f = NULL;
	char path[1024], *data = calloc(1, 1 << 20);

	(void)snprintf(path, sizeof(path), CLIENTS_DIR "/%s/%s", client, name);
	f = fopen(path, "re");
	assert_non_null(data);
	*ret_len = f ? fread(data, 1, (1 << 20) - 1, f) : 0;
	return data;
}

static void expect(const char *client, const char *name, const char *sent,
		   size_t len)
{
	size_t want_len;
	char *want, path[1024];

	/* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
	if (getenv("CLIENTS_WRITE")) {
		CLEANUP(fclose_p) FILE *f = NULL;

		(void)snprintf(path, sizeof(path), CLIENTS_DIR "/%s/%s", client,
			       name);
		f = fopen(path, "we");
		assert_non_null(f);
		assert_int_equal(fwrite(sent, 1, len, f), len);
		return;
	}
	want = slurp(client, name, &want_len);
	if (want_len != len || memcmp(want, sent, len) != 0)
		print_message("%s/%s: sent\n%.*s\n", client, name, (int)len,
			      sent);
	assert_int_equal(len, want_len);
	assert_memory_equal(sent, want, len);
	free(want);
}

struct client {
	const char *name, *target;
};

static void think(struct brain *b, const struct client *c, int64_t at_ns,
		  const char *want)
{
	struct header session = { "session-id", "one" };
	struct request r = { .method = "POST",
			     .target = c->target,
			     .headers = &session,
			     .headers_count = 1,
			     .at_ns = at_ns,
			     .deadline_ns = INT64_MAX };
	struct turn *turn;
	size_t len = 0;
	char *body = slurp(c->name, "request.json", &r.len);
	const char *sent;

	r.body = body;
	sent = brain_think(b, &r, &len, &turn);
	expect(c->name, want, sent ? sent : body, sent ? len : r.len);
	turn_end(turn, true);
	free(body);
}

static void play(const struct client *c, enum mode mode)
{
	struct tape_world w;
	struct brain_options o = {
		.repo = "/repo", .mode = mode, .ask = ask, .ask_ctx = &w
	};
	struct brain *b;

	tape_world_init(&w);
	live(&w);
	assert_int_equal(brain_new(&o, &b, NULL), 0);
	think(b, c, w.now_ns, "first.json");
	w.now_ns += INT64_C(60000000000);
	(void)tape_write(&w, "app.py", app_changed, NULL);
	think(b, c, w.now_ns,
	      mode == MODE_PINNED ? "pinned.json" : "eager.json");
	brain_free(b);
	tape_world_release(&w);
}

static void each_client_is_sent_what_was_looked_at(void **state)
{
	static const struct client clients[] = {
		{ "claude", "/v1/messages?beta=true" },
		{ "opencode-anthropic", "/v1/messages" },
		{ "codex", "/v1/responses" },
		{ "codex-gpt-5.5", "/v1/responses" },
		{ "opencode-chat", "/v1/chat/completions" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(clients) / sizeof(clients[0]); i++) {
		play(&clients[i], MODE_PINNED);
		play(&clients[i], MODE_EAGER);
	}
}

int main(void)
{
	const struct CMUnitTest all[] = {
		cmocka_unit_test(each_client_is_sent_what_was_looked_at),
	};

	return cmocka_run_group_tests(all, NULL, NULL);
}
