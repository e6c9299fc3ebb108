#include <cjson/cJSON.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/base/cleanup.h"
#include "tools/cli/line.h"

static struct journal_author shell = {
	.pid = 100,
	.uid = 1000,
	.start = 5,
	.comm = "sh",
	.cmdline = "sh -c make",
	.exe = "/bin/sh",
	.session_root = true,
};

static struct journal_author editor = {
	.pid = 200,
	.uid = 1000,
	.start = 7,
	.comm = "ed\033itor",
	.cmdline = "editor \"a b\"",
	.exe = "/usr/bin/editor",
	.parent = &shell,
};

static struct journal_line make_line(enum journal_op op, const char *path,
				     const char *path2)
{
	return (struct journal_line){
		.n = 42,
		.mono_ns = 7,
		.wall_ns = UINT64_C(1700000000123456789),
		.event = {
			.op = op,
			.path = path,
			.path2 = path2,
			.ino = 9,
			.off = -1,
			.len = -1,
			.uid = 1000,
			.pid = 200,
			.tid = 201,
			.author = &editor,
		},
	};
}

static char *human(const struct journal_line *l)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	line_print(out, l, false);
	(void)fclose(out);
	return text;
}

static char *machine(const struct journal_line *l)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	line_print_json(out, l);
	(void)fclose(out);
	return text;
}

/* The end of the line, after number, time and author. */
static void assert_human(const struct journal_line *l, const char *wanted)
{
	CLEANUP(free_p) char *text = human(l);

	if (!strstr(text, wanted))
		fail_msg("\"%s\" is not in \"%s\"", wanted, text);
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
}

static void people_see_who_did_what_where(void **state)
{
	(void)state;
	struct journal_line l = make_line(JOURNAL_WRITE, "src/a.py", NULL);

	l.event.off = 10;
	l.event.len = 5;
	l.event.res = 5;
	assert_human(&l, "ed\\x1bitor[200]");
	assert_human(&l, "src/a.py 10+5\n");
	l.event.res = 3;
	assert_human(&l, "src/a.py 10+5, 3 done\n");
	l.event.res = -ENOSPC;
	assert_human(&l, "src/a.py 10+5 No space left on device\n");
	l = make_line(JOURNAL_RENAME, "a", "b");
	assert_human(&l, "a -> b\n");
	l = make_line(JOURNAL_EXCHANGE, "a", "b");
	assert_human(&l, "a <-> b\n");
	l = make_line(JOURNAL_KEEP, "a", "12-1");
	l.event.off = 40;
	l.event.len = 7;
	l.event.detail = JOURNAL_OUTSIDE;
	assert_human(&l, "a = kept/12-1, 7 bytes of line 40 (outside)\n");
	l = make_line(JOURNAL_TRUNCATE, "a", NULL);
	l.event.len = 0;
	l.event.detail = "open";
	assert_human(&l, "a to 0 (open)\n");
	l = make_line(JOURNAL_CHMOD, "", NULL);
	assert_human(&l, " .\n");
}

static void a_path_cannot_break_a_line(void **state)
{
	(void)state;
	struct journal_line l = make_line(JOURNAL_CREATE, "a\nb\033[2J", NULL);

	assert_human(&l, "a\\x0ab\\x1b[2J\n");
}

static void an_author_may_be_unknown(void **state)
{
	(void)state;
	struct journal_line l = make_line(JOURNAL_UNLINK, "a", NULL);

	l.event.author = NULL;
	assert_human(&l, "?[200]");
	l.event.pid = 0;
	assert_human(&l, "kernel");
}

static const cJSON *item(const cJSON *j, const char *name)
{
	return cJSON_GetObjectItemCaseSensitive(j, name);
}

static void assert_text(const cJSON *j, const char *name, const char *wanted)
{
	assert_non_null(item(j, name));
	assert_string_equal(cJSON_GetStringValue(item(j, name)), wanted);
}

static void assert_number(const cJSON *j, const char *name, double wanted)
{
	assert_non_null(item(j, name));
	assert_true(cJSON_GetNumberValue(item(j, name)) == wanted);
}

static void programs_get_every_field(void **state)
{
	(void)state;
	struct journal_line l = make_line(JOURNAL_WRITE, "a\nb", NULL);
	CLEANUP(free_p) char *text = NULL;
	const cJSON *author, *above;
	cJSON *j;

	l.event.off = 0;
	l.event.len = 5;
	l.event.res = -ENOSPC;
	text = machine(&l);
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
	j = cJSON_Parse(text);
	assert_non_null(j);
	assert_number(j, "n", 42);
	assert_text(j, "time", "1700000000.123456789");
	assert_text(j, "op", "write");
	assert_text(j, "path", "a\nb");
	assert_null(item(j, "path_escaped"));
	assert_null(item(j, "path2"));
	assert_number(j, "off", 0);
	assert_number(j, "len", 5);
	assert_number(j, "res", -ENOSPC);
	assert_text(j, "error", "ENOSPC");
	assert_number(j, "tid", 201);
	author = item(j, "author");
	assert_number(author, "pid", 200);
	assert_number(author, "start", 7);
	assert_text(author, "comm", "ed\033itor");
	assert_text(author, "cmdline", "editor \"a b\"");
	assert_text(author, "exe", "/usr/bin/editor");
	above = cJSON_GetArrayItem(item(author, "ancestors"), 0);
	assert_number(above, "pid", 100);
	assert_text(above, "cmdline", "sh -c make");
	assert_int_equal(cJSON_GetArraySize(item(author, "ancestors")), 1);
	cJSON_Delete(j);
}

static void a_path_that_is_no_text_is_marked(void **state)
{
	(void)state;
	struct journal_line l = make_line(JOURNAL_RENAME, "a\xff\\", "b");
	CLEANUP(free_p) char *text = machine(&l);
	cJSON *j = cJSON_Parse(text);

	assert_non_null(j);
	assert_text(j, "path", "a\\xff\\\\");
	assert_true(cJSON_IsTrue(item(j, "path_escaped")));
	assert_text(j, "path2", "b");
	assert_null(item(j, "path2_escaped"));
	cJSON_Delete(j);
}

static void gaps_are_named_by_their_numbers(void **state)
{
	(void)state;
	struct journal_line l = make_line(JOURNAL_GAP, NULL, NULL);
	CLEANUP(free_p) char *text = NULL;

	l.event.off = 100;
	l.event.len = 12;
	text = machine(&l);
	assert_string_equal(text, "{\"gone\":{\"first\":100,\"last\":111}}\n");
	assert_human(&l, "12 lines, 100-111, were not kept\n");
	l.event.len = 1;
	assert_human(&l, "1 line, 100, was not kept\n");
}

static bool passes(const struct journal_line *l, const char *glob, int pid)
{
	return line_passes(l, &(struct line_filter){
				      .glob = glob,
				      .by_pid = pid >= 0,
				      .pid = (uint32_t)pid,
			      });
}

static void globs_match_either_path_and_directories_above(void **state)
{
	(void)state;
	struct journal_line l =
		make_line(JOURNAL_RENAME, "tmp/x1", "src/deep/a.py");

	assert_true(passes(&l, NULL, -1));
	assert_true(passes(&l, "*.py", -1));
	assert_true(passes(&l, "tmp/x1", -1));
	assert_true(passes(&l, "src", -1));
	assert_true(passes(&l, "src/deep", -1));
	assert_false(passes(&l, "sr", -1));
	assert_false(passes(&l, "a.py", -1));
	assert_false(passes(&l, "*.c", -1));
}

static void a_pid_stands_for_its_descendants(void **state)
{
	(void)state;
	struct journal_line l = make_line(JOURNAL_WRITE, "a", NULL);

	assert_true(passes(&l, NULL, 200));
	assert_true(passes(&l, NULL, 100));
	assert_false(passes(&l, NULL, 1));
	assert_false(passes(&l, "b", 200));
	l.event.author = NULL;
	assert_true(passes(&l, NULL, 200));
	assert_false(passes(&l, NULL, 100));
}

static void no_filter_hides_a_gap(void **state)
{
	(void)state;
	struct journal_line gap = make_line(JOURNAL_GAP, NULL, NULL);
	struct journal_line actor = make_line(JOURNAL_ACTOR, NULL, NULL);
	struct journal_line session = make_line(JOURNAL_SESSION, "/r", NULL);

	assert_true(passes(&gap, "x", 1));
	assert_false(passes(&actor, NULL, -1));
	assert_true(passes(&session, NULL, -1));
	assert_false(passes(&session, "*", -1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(people_see_who_did_what_where),
		cmocka_unit_test(a_path_cannot_break_a_line),
		cmocka_unit_test(an_author_may_be_unknown),
		cmocka_unit_test(programs_get_every_field),
		cmocka_unit_test(a_path_that_is_no_text_is_marked),
		cmocka_unit_test(gaps_are_named_by_their_numbers),
		cmocka_unit_test(globs_match_either_path_and_directories_above),
		cmocka_unit_test(a_pid_stands_for_its_descendants),
		cmocka_unit_test(no_filter_hides_a_gap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
