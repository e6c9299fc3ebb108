#include "graph/snapshot.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "graph/facts/facts.h"
#include "graph/facts/lang.h"
#include "graph/graph.h"
#include "tests/support/again.h"

struct world {
	struct lang_readers *reader;
	struct graph *g;
};

static int set_up(void **state)
{
	static struct world w;

	w.reader = lang_readers_new();
	w.g = graph_new();
	*state = &w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	graph_free(w->g);
	lang_readers_free(w->reader);
	return 0;
}

static void edit(struct world *w, const char *path, const char *text)
{
	assert_int_equal(
		graph_edit(w->g, w->reader, path, text, strlen(text), NULL), 0);
}

static void settle(struct world *w)
{
	assert_int_equal(graph_settle(w->g, NULL), 0);
}

static void again(struct world *w)
{
	w->g = graph_again(w->g);
	assert_non_null(w->g);
}

static bool count(const struct edge *e, void *arg)
{
	(void)e;
	++*(unsigned *)arg;
	return true;
}

static unsigned callers(const struct world *w, const char *name)
{
	symbol_t s = graph_find(w->g, name);
	unsigned n = 0;

	assert_int_not_equal(s, SYMBOL_NONE);
	graph_in(w->g, s, 1U << EDGE_CALL, count, &n);
	return n;
}

static void assert_sound(const struct world *w)
{
	char why[256] = "";

	if (graph_check(w->g, why, sizeof(why)) < 0)
		fail_msg("%s", why);
}

static void a_loaded_graph_equals_the_saved_one(void **state)
{
	struct world *w = *state;
	symbol_t f;
	struct symbol was, is;

	edit(w, "a.py", "def f():\n    pass\n");
	edit(w, "b.py", "import a\ndef g():\n    a.f()\n");
	settle(w);
	f = graph_find(w->g, "a.f");
	assert_true(graph_symbol(w->g, f, &was));
	again(w);
	assert_int_equal(graph_find(w->g, "a.f"), f);
	assert_true(graph_symbol(w->g, f, &is));
	assert_string_equal(is.name, "a.f");
	assert_string_equal(is.file, "a.py");
	assert_int_equal(is.hash.low64, was.hash.low64);
	assert_int_equal(callers(w, "a.f"), 1);
	assert_sound(w);
}

static void an_empty_graph_can_be_saved_loaded_and_filled(void **state)
{
	struct world *w = *state;

	settle(w);
	again(w);
	edit(w, "a.py", "def f():\n    f()\n");
	settle(w);
	assert_int_equal(callers(w, "a.f"), 1);
	assert_sound(w);
}

static void a_loaded_graph_follows_edits(void **state)
{
	struct world *w = *state;
	struct graph_delta d;

	edit(w, "a.py", "def f():\n    pass\ndef g():\n    pass\n");
	edit(w, "b.py", "from a import *\ndef h():\n    f()\n");
	settle(w);
	again(w);
	edit(w, "b.py", "from a import *\ndef h():\n    g()\n");
	assert_int_equal(graph_settle(w->g, &d), 0);
	assert_int_equal(d.edges_count, 2);
	again(w);
	assert_int_equal(callers(w, "a.f"), 0);
	assert_int_equal(callers(w, "a.g"), 1);
	assert_int_equal(graph_rename(w->g, "a.py", "c.py"), 0);
	settle(w);
	again(w);
	assert_int_equal(graph_remove(w->g, "b.py"), 0);
	settle(w);
	assert_int_equal(callers(w, "c.g"), 0);
	assert_sound(w);
}

static int refuse(struct snapshot_sink *s, const void *bytes, size_t len)
{
	(void)s;
	(void)bytes;
	(void)len;
	return -ENOSPC;
}

static int swallow(struct snapshot_sink *s, const void *bytes, size_t len)
{
	(void)bytes;
	s->at += len;
	return 0;
}

static void an_unsettled_graph_is_not_saved(void **state)
{
	struct world *w = *state;
	struct snapshot_sink out = { .write = swallow };
	uint64_t at;

	edit(w, "a.py", "def f():\n    f()\n");
	assert_int_equal(snapshot_save(w->g, &out, &at), -EBUSY);
	settle(w);
	assert_int_equal(snapshot_save(w->g, &out, &at), 0);
	assert_true(at > 0);
	out = (struct snapshot_sink){ .write = refuse };
	assert_int_equal(snapshot_save(w->g, &out, &at), -ENOSPC);
	assert_int_equal(callers(w, "a.f"), 1);
}

/* Names are never forgotten, so a graph of many former names wears out. */
static void a_worn_graph_saves_only_its_facts(void **state)
{
	struct world *w = *state;
	struct snapshot_sink out = { .write = swallow };
	struct snapshot_facts facts;
	uint64_t at = 1;

	for (unsigned n = 0; at; n++) {
		char text[4096] = "";
		size_t len = 0;

		assert_true(n < 2000);
		for (unsigned k = 0; k < 60; k++)
			len += (size_t)snprintf(text + len, sizeof(text) - len,
						"def some_%u_%u():\n    some_%u"
						"_0()\n",
						n, k, n);
		edit(w, "a.py", text);
		settle(w);
		assert_int_equal(snapshot_save(w->g, &out, &at), 0);
	}
	assert_true(snapshot_facts(w->g, "a.py", &facts));
	assert_false(snapshot_facts(w->g, "b.py", &facts));
	assert_sound(w);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH(a_loaded_graph_equals_the_saved_one),
		EACH(an_empty_graph_can_be_saved_loaded_and_filled),
		EACH(a_loaded_graph_follows_edits),
		EACH(an_unsettled_graph_is_not_saved),
		EACH(a_worn_graph_saves_only_its_facts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
