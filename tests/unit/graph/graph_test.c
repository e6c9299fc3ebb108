/*
 * The cost of a change and its delta: only the definition that changed is
 * read, only the slots that depend on something changed are resolved, and the
 * delta lists what was added, removed and changed.
 */
#include "graph/graph.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "graph/facts/lang.h"

struct world {
	struct graph *g;
	struct lang_readers *r;
	struct graph_delta delta;
	bool partial;
};

static void edit(struct world *w, const char *path, const char *text)
{
	assert_int_equal(
		graph_edit(w->g, w->r, path, text, strlen(text), &w->partial),
		0);
	assert_int_equal(graph_settle(w->g, &w->delta), 0);
}

static const char core[] = "class Store:\n"
			   "    def load(self):\n"
			   "        return 1\n"
			   "    def save(self):\n"
			   "        return self.load()\n"
			   "def open_store():\n"
			   "    return Store()\n";

static const char use[] = "from core import open_store\n"
			  "def one():\n"
			  "    open_store().load()\n"
			  "def two():\n"
			  "    open_store().save()\n";

static int make(void **state)
{
	static struct world w;

	w = (struct world){ .g = graph_new(), .r = lang_readers_new() };
	assert_non_null(w.r);
	edit(&w, "core.py", core);
	edit(&w, "use.py", use);
	*state = &w;
	return 0;
}

static int release(void **state)
{
	struct world *w = *state;

	graph_free(w->g);
	lang_readers_free(w->r);
	return 0;
}

static bool has_edge(const struct edge *e, void *arg)
{
	symbol_t *callee = arg;

	if (e->other != *callee)
		return true;
	*callee = SYMBOL_NONE;
	return false;
}

static bool calls(const struct world *w, const char *caller, const char *callee)
{
	symbol_t to = graph_find(w->g, callee);

	assert_int_not_equal(to, SYMBOL_NONE);
	graph_out(w->g, graph_find(w->g, caller), 1u << EDGE_CALL, has_edge,
		  &to);
	return to == SYMBOL_NONE;
}

static bool tells(const struct world *w, const char *caller, const char *callee,
		  bool added)
{
	for (size_t k = 0; k < w->delta.edges_count; k++) {
		const struct edge_change *e = &w->delta.edges[k];

		if (e->kind == EDGE_CALL && e->added == added &&
		    e->caller == graph_find(w->g, caller) &&
		    e->callee == graph_find(w->g, callee))
			return true;
	}
	return false;
}

static void calls_are_resolved_through_what_functions_return(void **state)
{
	struct world *w = *state;

	assert_true(calls(w, "use.one", "core.Store.load"));
	assert_true(calls(w, "use.two", "core.Store.save"));
	assert_true(calls(w, "core.Store.save", "core.Store.load"));
	assert_false(calls(w, "use.one", "core.Store.save"));
}

static void a_changed_constant_is_read_alone_and_resolves_nothing(void **state)
{
	struct world *w = *state;

	edit(w, "core.py",
	     "class Store:\n"
	     "    def load(self):\n"
	     "        return 2\n"
	     "    def save(self):\n"
	     "        return self.load()\n"
	     "def open_store():\n"
	     "    return Store()\n");
	assert_true(w->partial);
	assert_int_equal(w->delta.symbols_count, 1);
	assert_true(w->delta.symbols[0].body);
	assert_int_equal(w->delta.symbols[0].symbol,
			 graph_find(w->g, "core.Store.load"));
	assert_int_equal(w->delta.edges_count, 0);
	/* Only its own slots: it has none but those of what it reads. */
	assert_in_range(w->delta.sites, 0, 1);
}

static void a_changed_result_moves_edges_of_unchanged_callers(void **state)
{
	struct world *w = *state;

	edit(w, "core.py",
	     "class Store:\n"
	     "    def load(self):\n"
	     "        return 1\n"
	     "    def save(self):\n"
	     "        return self.load()\n"
	     "class Other(Store):\n"
	     "    def load(self):\n"
	     "        return 3\n"
	     "def open_store():\n"
	     "    return Other()\n");
	assert_false(w->partial);
	assert_true(tells(w, "use.one", "core.Store.load", false));
	assert_true(tells(w, "use.one", "core.Other.load", true));
	assert_false(tells(w, "use.two", "core.Store.save", false));
	assert_true(calls(w, "use.two", "core.Store.save"));
}

static void lines_behind_an_edit_move_with_it(void **state)
{
	struct world *w = *state;
	struct symbol s;

	edit(w, "core.py",
	     "class Store:\n"
	     "    def load(self):\n"
	     "        x = 1\n"
	     "        return x\n"
	     "    def save(self):\n"
	     "        return self.load()\n"
	     "def open_store():\n"
	     "    return Store()\n");
	assert_true(w->partial);
	assert_true(
		graph_symbol(w->g, graph_find(w->g, "core.open_store"), &s));
	assert_int_equal(s.start_line, 7);
	assert_int_equal(s.end_line, 8);
	assert_int_equal(graph_at(w->g, "core.py", 6),
			 graph_find(w->g, "core.Store.save"));
}

/* The hash of a class's whole text is updated after each edit inside it. */
static void edits_one_after_the_other_are_each_read_alone(void **state)
{
	static const struct {
		const char *load, *save;
	} bodies[] = {
		{ "2", "self.load()" },
		{ "2", "self.load() or 33" },
		{ "2", "3" },
		{ "self.save()", "3" },
	};
	struct world *w = *state;
	char text[256];

	for (unsigned n = 0; n < sizeof(bodies) / sizeof(bodies[0]); n++) {
		(void)snprintf(text, sizeof(text),
			       "class Store:\n"
			       "    def load(self):\n"
			       "        return %s\n"
			       "    def save(self):\n"
			       "        return %s\n"
			       "def open_store():\n"
			       "    return Store()\n",
			       bodies[n].load, bodies[n].save);
		edit(w, "core.py", text);
		assert_true(w->partial);
		assert_int_equal(w->delta.symbols_count, 1);
		edit(w, "core.py", text);
		assert_false(w->partial);
		assert_int_equal(w->delta.symbols_count, 0);
	}
}

/* A class whose methods have these numbers of lines, and a call behind each. */
#define METHODS 6
static void write_class(const unsigned *lines, char *text, size_t size)
{
	size_t len = (size_t)snprintf(text, size, "def f(): pass\nclass A:\n");

	for (unsigned k = 0; k < METHODS; k++) {
		len += (size_t)snprintf(text + len, size - len,
					"    def m%u(self):\n", k);
		for (unsigned n = 1; n < lines[k]; n++)
			len += (size_t)snprintf(text + len, size - len,
						"        x = %u\n", n);
		len += (size_t)snprintf(text + len, size - len, "    f()\n");
	}
	assert_true(len < size);
}

struct lines_of_calls {
	uint32_t at[METHODS], count;
};

static bool note_line(const struct edge *e, void *arg)
{
	struct lines_of_calls *c = arg;

	assert_in_range(c->count, 0, METHODS - 1);
	c->at[c->count++] = e->line;
	return true;
}

static void check_lines(const struct world *w, const unsigned *lines)
{
	struct lines_of_calls c = { .count = 0 };
	uint32_t line = 3;

	graph_out(w->g, graph_find(w->g, "a.A"), 1u << EDGE_CALL, note_line,
		  &c);
	assert_int_equal(c.count, METHODS);
	for (unsigned k = 0; k < METHODS; k++) {
		line += lines[k] + 1;
		assert_int_equal(c.at[k], line - 1);
	}
}

/* However many lines come and go: what stands between methods is not read. */
static void lines_come_and_go_and_each_is_read_alone(void **state)
{
	struct world *w = *state;
	unsigned lines[METHODS] = { 2, 2, 2, 2, 2, 2 };
	char text[4096];

	write_class(lines, text, sizeof(text));
	edit(w, "a.py", text);
	for (unsigned n = 0; n < 200; n++) {
		unsigned *l = &lines[n * 7 % METHODS];

		*l = *l > 2 && n % 5 < 3 ? *l - 1 : *l + 1 + n % 3;
		write_class(lines, text, sizeof(text));
		edit(w, "a.py", text);
		assert_true(w->partial);
		check_lines(w, lines);
	}
}

static void a_removed_file_takes_its_edges_along(void **state)
{
	struct world *w = *state;
	struct symbol s;

	assert_int_equal(graph_remove(w->g, "core.py"), 0);
	assert_int_equal(graph_settle(w->g, &w->delta), 0);
	assert_true(tells(w, "use.one", "core.Store.load", false));
	assert_false(graph_symbol(w->g, graph_find(w->g, "core.Store"), &s));
	edit(w, "core.py", core);
	assert_true(calls(w, "use.one", "core.Store.load"));
}

static void a_renamed_file_is_another_module(void **state)
{
	struct world *w = *state;

	assert_int_equal(graph_rename(w->g, "core.py", "kernel.py"), 0);
	assert_int_equal(graph_settle(w->g, &w->delta), 0);
	assert_true(calls(w, "kernel.Store.save", "kernel.Store.load"));
	assert_true(tells(w, "use.one", "core.Store.load", false));
	edit(w, "use.py",
	     "from kernel import open_store\n"
	     "def one():\n"
	     "    open_store().load()\n"
	     "def two():\n"
	     "    open_store().save()\n");
	assert_true(calls(w, "use.one", "kernel.Store.load"));
	assert_int_equal(graph_rename(w->g, "nowhere.py", "x.py"), -ENOENT);
}

static void the_same_text_again_is_no_change(void **state)
{
	struct world *w = *state;

	edit(w, "use.py", use);
	assert_int_equal(w->delta.symbols_count, 0);
	assert_int_equal(w->delta.edges_count, 0);
	assert_int_equal(w->delta.sites, 0);
}

static void the_graph_agrees_with_itself(void **state)
{
	struct world *w = *state;
	char why[256] = "";

	assert_int_equal(graph_check(w->g, why, sizeof(why)), 0);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, make, release)
	const struct CMUnitTest tests[] = {
		CASE(calls_are_resolved_through_what_functions_return),
		CASE(a_changed_constant_is_read_alone_and_resolves_nothing),
		CASE(a_changed_result_moves_edges_of_unchanged_callers),
		CASE(lines_behind_an_edit_move_with_it),
		CASE(edits_one_after_the_other_are_each_read_alone),
		CASE(lines_come_and_go_and_each_is_read_alone),
		CASE(a_removed_file_takes_its_edges_along),
		CASE(a_renamed_file_is_another_module),
		CASE(the_same_text_again_is_no_change),
		CASE(the_graph_agrees_with_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
