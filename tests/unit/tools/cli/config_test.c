/*
 * The settings that a configuration file may have, and the messages about wrong
 * ones.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "graph/base/cleanup.h"
#include "tools/cli/config.h"

static int read_text(struct config *c, const char *text, bool theirs,
		     char **ret_why)
{
	return config_read(c, "f.toml", text, strlen(text), theirs, ret_why);
}

static void expect_refused(const char *text, bool theirs, const char *sentence)
{
	CLEANUP(config_release) struct config c = { 0 };
	CLEANUP(free_p) char *why = NULL;

	assert_int_equal(read_text(&c, text, theirs, &why), -EINVAL);
	assert_string_equal(why, sentence);
}

static void a_file_settles_what_it_says_and_nothing_else(void **state)
{
	CLEANUP(config_release) struct config c = { 0 };
	CLEANUP(free_p) char *why = NULL;

	(void)state;
	assert_int_equal(read_text(&c,
				   "# mine\n\n[run]\n  mode = \"eager\" # so\n"
				   "mount='none'\r\n[upstream]\n"
				   "openai = \"http://h/\\\"x\\\"\"",
				   false, &why),
			 0);
	assert_string_equal(c.values[CONFIG_MODE], "eager");
	assert_string_equal(c.values[CONFIG_MOUNT], "none");
	assert_string_equal(c.values[CONFIG_OPENAI], "http://h/\"x\"");
	assert_null(c.values[CONFIG_POLICY]);
	assert_null(c.values[CONFIG_ANTHROPIC]);
}

static void an_empty_file_settles_nothing(void **state)
{
	CLEANUP(config_release) struct config c = { 0 };
	CLEANUP(free_p) char *why = NULL;

	(void)state;
	assert_int_equal(read_text(&c, "", false, &why), 0);
	assert_int_equal(read_text(&c, "\n\n# nothing\n", true, &why), 0);
	for (int i = 0; i < CONFIGS; i++)
		assert_null(c.values[i]);
}

static void what_comes_later_counts(void **state)
{
	CLEANUP(config_release) struct config c = { 0 };
	CLEANUP(free_p) char *why = NULL;

	(void)state;
	assert_int_equal(read_text(&c, "[run]\nmode=\"off\"\n", false, &why),
			 0);
	assert_int_equal(read_text(&c, "[run]\nmode=\"eager\"\n", true, &why),
			 0);
	assert_string_equal(c.values[CONFIG_MODE], "eager");
}

static void mistakes_are_named_with_their_line(void **state)
{
	(void)state;
	expect_refused("[run]\nmod = \"off\"\n", false,
		       "f.toml:2: there is no key 'mod' in [run]");
	expect_refused("[walk]\n", false, "f.toml:1: there is no table [walk]");
	expect_refused("\n[run]\nmode = \"of\"\n", false,
		       "f.toml:3: 'of' is not a mode; allowed: pinned, eager, "
		       "off");
	expect_refused("[run]\nmode = off\n", false,
		       "f.toml:2: a value must be a string in quotes");
	expect_refused("[run]\nmode = \"off\n", false,
		       "f.toml:2: a string is not closed");
	expect_refused("[run]\nmode\n", false,
		       "f.toml:2: expected = after the key");
	expect_refused("[run]\nmode =\n", false,
		       "f.toml:2: a value is missing");
	expect_refused("[run]\nmode = \"off\" or not\n", false,
		       "f.toml:2: unexpected text at the end of the line");
	expect_refused("[run\n", false,
		       "f.toml:1: expected ] after the table's name");
	expect_refused("mode = \"off\"\n", false,
		       "f.toml:1: 'mode' is in no table; put [run], [tape] "
		       "or [upstream] before it");
	expect_refused("run.mood = \"off\"\n", false,
		       "f.toml:1: there is no key 'mood' in [run]");
	expect_refused("[run]\nmode = \"off\"\n\nmode = \"eager\"\n", false,
		       "f.toml:4: 'mode' is already set in line 2");
	expect_refused("[run]\nmode = [\"off\"]\n", false,
		       "f.toml:2: 'mode' wants one string, not a list");
	expect_refused(
		"[run]\nmode = true\n", false,
		"f.toml:2: 'true' is not a mode; allowed: pinned, eager, "
		"off");
	expect_refused("[run]\nmode = \"\\q\"\n", false,
		       "f.toml:2: unknown escape in a string");
}

static void an_address_is_one_that_can_be_asked(void **state)
{
	static const char *const wrong[] = {
		"",	     "api.example.org", "ftp://h",
		"http://",   "https:///v1",	"http://h/?q=1",
		"http://h h"
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_false(config_allows(CONFIG_OPENAI, wrong[i]));
	assert_true(config_allows(CONFIG_OPENAI, "HTTPS://h:1/v1/"));
	expect_refused("[upstream]\nopenai = \"h\"\n", false,
		       "f.toml:2: 'h' is not an address to send requests to: "
		       "it must begin with https:// or http:// and have only a "
		       "host and a path");
}

/* [ run ], and run.mode before any table: both are TOML. */
static void a_table_may_be_named_in_either_way(void **state)
{
	CLEANUP(config_release) struct config c = { 0 };
	CLEANUP(free_p) char *why = NULL;

	(void)state;
	assert_int_equal(read_text(&c,
				   "run.mode = 'off'\n[ upstream ]\n"
				   "openai='http://h'\n[run]\nmount = 'none'\n",
				   false, &why),
			 0);
	assert_string_equal(c.values[CONFIG_MODE], "off");
	assert_string_equal(c.values[CONFIG_MOUNT], "none");
	assert_string_equal(c.values[CONFIG_OPENAI], "http://h");
}

static void a_repository_may_not_say_where_keys_are_sent(void **state)
{
	CLEANUP(config_release) struct config c = { 0 };
	CLEANUP(free_p) char *why = NULL;

	(void)state;
	assert_int_equal(read_text(&c,
				   "[upstream]\nanthropic = \"http://x\"\n"
				   "[run]\nmode = 'off'\n",
				   true, &why),
			 0);
	assert_string_equal(c.refused[CONFIG_ANTHROPIC],
			    "f.toml:2: a repository may not set "
			    "'upstream.anthropic', so this is ignored; set it "
			    "in your own config.toml");
	assert_null(c.values[CONFIG_ANTHROPIC]);
	/* The rest of the file counts. */
	assert_string_equal(c.values[CONFIG_MODE], "off");
}

static void a_repository_may_set_nothing_of_the_tape(void **state)
{
	CLEANUP(config_release) struct config c = { 0 };
	CLEANUP(free_p) char *why = NULL;

	(void)state;
	assert_int_equal(read_text(&c,
				   "[tape]\nkeep = '1'\n"
				   "anchor = ['command:rm', 'nonsense']\n"
				   "anchor_every = 'never'\n",
				   true, &why),
			 0);
	for (int i = CONFIG_KEEP; i <= CONFIG_ANCHOR_EVERY; i++) {
		assert_null(c.values[i]);
		assert_non_null(strstr(c.refused[i], "may not set 'tape."));
	}
}

static void what_a_repository_makes_less_of_is_said(void **state)
{
	CLEANUP(config_release) struct config c = { 0 };
	CLEANUP(free_p) char *why = NULL;
	CLEANUP(free_p) char *text = NULL;

	(void)state;
	config_set(&c, CONFIG_POLICY, "control");
	assert_int_equal(read_text(&c,
				   "[run]\nmode = 'off'\nmount = 'none'\n"
				   "policy = 'control'\n",
				   true, &why),
			 0);
	/* The user had set the policy so already. */
	text = config_weakened(&c, "/r");
	assert_string_equal(text, "'/r/.statetape.toml' makes this run do "
				  "less: mode = off, mount = none");
	config_set(&c, CONFIG_MODE, "off");
	config_set(&c, CONFIG_MOUNT, "none");
	assert_null(config_weakened(&c, "/r"));
	assert_int_equal(
		read_text(&c, "[run]\nmount = 'private'\n", true, &why), 0);
	assert_null(config_weakened(&c, "/r"));
}

static void anchors_are_a_string_or_a_list(void **state)
{
	CLEANUP(config_release) struct config c = { 0 };
	CLEANUP(free_p) char *why = NULL;

	(void)state;
	assert_int_equal(read_text(&c,
				   "[tape]\nanchor = 'syslog'\nkeep = '30/2G'\n"
				   "anchor_every = 5\n",
				   false, &why),
			 0);
	assert_string_equal(c.values[CONFIG_ANCHOR], "syslog");
	assert_string_equal(c.values[CONFIG_KEEP], "30/2G");
	assert_string_equal(c.values[CONFIG_ANCHOR_EVERY], "5");
	assert_int_equal(read_text(&c,
				   "[tape]\nanchor = [ 'syslog', # root's\n"
				   "  \"file:/a b\",\n]\n[run]\nmode = 'off'\n",
				   false, &why),
			 0);
	assert_string_equal(c.values[CONFIG_ANCHOR], "syslog\nfile:/a b");
	assert_string_equal(c.values[CONFIG_MODE], "off");
	expect_refused("[tape]\nanchor = ['syslog'\n\n", false,
		       "f.toml:4: expected , or ] in a list");
	expect_refused("[tape]\nanchor = ['syslog',\n\n", false,
		       "f.toml:4: a list is not closed");
	expect_refused("[tape]\nanchor = [syslog]\n", false,
		       "f.toml:2: a list must have strings in quotes");
	expect_refused("[tape]\nanchor = 'file:x'\n", false,
		       "f.toml:2: 'file:x' is not an anchor: its path must "
		       "begin with /");
	expect_refused("[tape]\nanchor_every = 0\n", false,
		       "f.toml:2: '0' is not a number from 1 to 999999999");
	expect_refused("[tape]\nkeep = 'all'\n", false,
		       "f.toml:2: 'all' is not what to keep: days, a size, or "
		       "both, such as 30, 2G or 30/2G");
}

static void bytes_that_are_no_text_are_refused(void **state)
{
	CLEANUP(config_release) struct config c = { 0 };
	CLEANUP(free_p) char *why = NULL;

	(void)state;
	assert_int_equal(config_read(&c, "f", "[run]\0", 6, false, &why),
			 -EINVAL);
	assert_string_equal(why, "f: not a configuration file: it is too large "
				 "or contains a NUL byte");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_settles_what_it_says_and_nothing_else),
		cmocka_unit_test(an_empty_file_settles_nothing),
		cmocka_unit_test(what_comes_later_counts),
		cmocka_unit_test(mistakes_are_named_with_their_line),
		cmocka_unit_test(an_address_is_one_that_can_be_asked),
		cmocka_unit_test(a_table_may_be_named_in_either_way),
		cmocka_unit_test(a_repository_may_not_say_where_keys_are_sent),
		cmocka_unit_test(a_repository_may_set_nothing_of_the_tape),
		cmocka_unit_test(what_a_repository_makes_less_of_is_said),
		cmocka_unit_test(anchors_are_a_string_or_a_list),
		cmocka_unit_test(bytes_that_are_no_text_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
