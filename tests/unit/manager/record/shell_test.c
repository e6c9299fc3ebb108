#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "manager/record/shell.h"

/* A command, its act, and the first file it shows or changes. */
struct row {
	const char *command;
	enum shell_act act;
	const char *path;
	uint32_t start, end;
	bool exact;
	const char *prefix; /* number, width, separator */
};

static const struct row rows[] = {
	{ "cat app.py", SHELL_PRINT, "app.py", 1, 0, true, "0" },
	{ "cat '/r/a b.py'", SHELL_PRINT, "/r/a b.py", 1, 0, true, "0" },
	{ "cat a\\ b.py 2>/dev/null", SHELL_PRINT, "a b.py", 1, 0, true, "0" },
	{ "cat < a.py", SHELL_PRINT, "a.py", 1, 0, true, "0" },
	{ "cat -n a.py", SHELL_PRINT, "a.py", 1, 0, true, "%u6\t" },
	{ "cat -A a.py", SHELL_PRINT, "a.py", 0, 0, false, "0" },
	{ "sed -n '5,8p' a.py", SHELL_PRINT, "a.py", 5, 8, true, "0" },
	{ "sed -n 5,8p a.py | head -2", SHELL_PRINT, "a.py", 5, 6, true, "0" },
	{ "sed -n '5,+3p' a.py", SHELL_PRINT, "a.py", 5, 8, true, "0" },
	{ "sed -n '5,$p' a.py", SHELL_PRINT, "a.py", 5, 0, true, "0" },
	{ "sed -n '5p' a.py", SHELL_PRINT, "a.py", 5, 5, true, "0" },
	{ "sed -n -e '5,8p' a.py", SHELL_PRINT, "a.py", 5, 8, true, "0" },
	{ "sed -n '1,3p;7,9p' a.py", SHELL_PRINT, "a.py", 1, 9, false, "0" },
	{ "sed -n '/def/p' a.py", SHELL_PRINT, "a.py", 0, 0, false, "0" },
	{ "sed 20q a.py", SHELL_PRINT, "a.py", 1, 20, true, "0" },
	{ "sed 's/a/b/' a.py", SHELL_PRINT, "a.py", 0, 0, false, "0" },
	{ "head a.py", SHELL_PRINT, "a.py", 1, 10, true, "0" },
	{ "head -n 5 a.py", SHELL_PRINT, "a.py", 1, 5, true, "0" },
	{ "head -c 5 a.py", SHELL_PRINT, "a.py", 0, 0, false, "0" },
	{ "tail -n +7 a.py", SHELL_PRINT, "a.py", 7, 0, true, "0" },
	{ "tail -20 a.py", SHELL_PRINT, "a.py", 0, 0, true, "0" },
	{ "head -50 a.py | tail -n +10", SHELL_PRINT, "a.py", 10, 50, true,
	  "0" },
	{ "nl -ba a.py | sed -n '10,20p'", SHELL_PRINT, "a.py", 10, 20, true,
	  "%u6\t" },
	{ "nl -ba -w1 -s': ' a.py", SHELL_PRINT, "a.py", 1, 0, true, "%u1: " },
	{ "nl a.py", SHELL_PRINT, "a.py", 0, 0, false, "%u6\t" },
	{ "bat -r 3:9 a.py", SHELL_PRINT, "a.py", 3, 9, true, "0" },
	{ "awk 'NR>=3 && NR<=9' a.py", SHELL_PRINT, "a.py", 3, 9, true, "0" },
	{ "awk 'NR==3,NR==9' a.py", SHELL_PRINT, "a.py", 3, 9, true, "0" },
	{ "awk 'NR>2{print NR\": \"$0}' a.py", SHELL_PRINT, "a.py", 3, 0, true,
	  "%u0: " },
	{ "awk '{print $1}' a.py", SHELL_PRINT, "a.py", 0, 0, false, "0" },
	{ "grep -n '' a.py", SHELL_PRINT, "a.py", 1, 0, true, "%u0:" },
	{ "cd src && cat ./x/../a.py", SHELL_PRINT, "src/a.py", 1, 0, true,
	  "0" },
	{ "(cd src; cat b); cat b", SHELL_UNKNOWN, "src/b", 1, 0, false, "0" },
	{ "bash -lc 'cd /r && cat a.py'", SHELL_PRINT, "/r/a.py", 1, 0, true,
	  "0" },
	{ "bash -c 'cat a.py' | head -3", SHELL_PRINT, "a.py", 1, 0, false,
	  "0" },
	{ "sed -i s/a/b/ R && cat R", SHELL_PRINT, "R", 1, 0, true, "0" },
	{ "cat a.py; echo ---; cat a.py", SHELL_PRINT, "a.py", 1, 0, false,
	  "0" },
	{ "sed -n 1,5p a; sed -n 9,12p a", SHELL_PRINT, "a", 1, 12, false,
	  "0" },
	{ "cat a.py b.py", SHELL_UNKNOWN, "a.py", 0, 0, false, "0" },
	{ "cat $FILE", SHELL_UNKNOWN, NULL, 0, 0, false, "0" },
	{ "cat *.py", SHELL_UNKNOWN, NULL, 0, 0, false, "0" },
	{ "cd $D; cat a.py", SHELL_UNKNOWN, NULL, 0, 0, false, "0" },
	{ "for f in a b; do cat $f; done", SHELL_UNKNOWN, NULL, 0, 0, false,
	  "0" },
	{ "git show HEAD:a.py", SHELL_OTHER, NULL, 0, 0, false, "0" },
	{ "git log --oneline | head", SHELL_OTHER, NULL, 0, 0, false, "0" },
	{ "git -C x status -s", SHELL_SEARCH, NULL, 0, 0, false, "0" },
	{ "git grep foo", SHELL_SEARCH, NULL, 0, 0, false, "0" },
	{ "git checkout -- a.py", SHELL_WRITE, NULL, 0, 0, false, "0" },
	{ "grep -rn foo . | head", SHELL_SEARCH, NULL, 0, 0, false, "0" },
	{ "rg -n foo src", SHELL_SEARCH, NULL, 0, 0, false, "0" },
	{ "find . -name '*.py' | sort", SHELL_SEARCH, NULL, 0, 0, false, "0" },
	{ "find . -name x -delete", SHELL_UNKNOWN, NULL, 0, 0, false, "0" },
	{ "ls -la", SHELL_SEARCH, NULL, 0, 0, false, "0" },
	{ "pytest -q 2>&1 | tail -5", SHELL_RUN, NULL, 0, 0, false, "0" },
	{ "python3 -m unittest -v t", SHELL_RUN, NULL, 0, 0, false, "0" },
	{ "cd x && A=1 timeout 60 python -m pytest", SHELL_RUN, NULL, 0, 0,
	  false, "0" },
	{ "uv run pytest tests", SHELL_RUN, NULL, 0, 0, false, "0" },
	{ "tox -e py311", SHELL_RUN, NULL, 0, 0, false, "0" },
	{ "make test", SHELL_RUN, NULL, 0, 0, false, "0" },
	{ "npm test -- --watch=false", SHELL_RUN, NULL, 0, 0, false, "0" },
	{ "./run.sh", SHELL_RUN, NULL, 0, 0, false, "0" },
	{ "pytest > out.txt; tail out.txt", SHELL_RUN, "out.txt", 0, 0, false,
	  "0" },
	{ "python -c 'print(1)'", SHELL_UNKNOWN, NULL, 0, 0, false, "0" },
	{ "python - <<'E'\nprint(1)\nE\n", SHELL_UNKNOWN, NULL, 0, 0, false,
	  "0" },
	{ "cat > n.py <<'E'\ncat a.py\nE\n", SHELL_WRITE, "n.py", 0, 0, false,
	  "0" },
	{ "cat <<E >n.py; ls\nx\nE\n", SHELL_SEARCH, "n.py", 0, 0, false, "0" },
	{ "apply_patch <<'E'\n*** Begin Patch\n*** Update File: a.py\n@@\n-x\n"
	  "*** End Patch\nE\n",
	  SHELL_WRITE, "a.py", 0, 0, false, "0" },
	{ "echo x | tee a.py", SHELL_WRITE, "a.py", 0, 0, false, "0" },
	{ "echo x >> a.py", SHELL_WRITE, "a.py", 0, 0, false, "0" },
	{ "mv a.py b.py", SHELL_WRITE, "a.py", 0, 0, false, "0" },
	{ "perl -pi -e 's/a/b/' a.py", SHELL_WRITE, "a.py", 0, 0, false, "0" },
	{ "wc -l a.py", SHELL_UNKNOWN, "a.py", 0, 0, false, "0" },
	{ "cat a.py | grep foo", SHELL_SEARCH, "a.py", 0, 0, false, "0" },
	{ "true", SHELL_SILENT, NULL, 0, 0, false, "0" },
	{ "echo hi # cat a.py", SHELL_OTHER, NULL, 0, 0, false, "0" },
	{ "echo \"$(cat a.py)\"", SHELL_UNKNOWN, NULL, 0, 0, false, "0" },
	{ "while read l; do echo x; done < a.py", SHELL_UNKNOWN, NULL, 0, 0,
	  false, "0" },
	{ "echo x < /dev/null", SHELL_OTHER, NULL, 0, 0, false, "0" },
	{ "frobnicate a.py", SHELL_UNKNOWN, NULL, 0, 0, false, "0" },
	{ "", SHELL_SILENT, NULL, 0, 0, false, "0" },
};

static int check(const struct row *r)
{
	struct arena a = { 0 };
	struct shell_meaning m;
	char prefix[64];
	int bad = 0;

	assert_int_equal(
		shell_understand(r->command, strlen(r->command), NULL, &a, &m),
		0);
	(void)snprintf(prefix, sizeof(prefix), "%s%u%s", m.number, m.width,
		       m.separator);
	if (m.act != r->act || (m.files_count == 0) != !r->path ||
	    (r->path && strcmp(m.files[0].path, r->path) != 0) ||
	    (r->path &&
	     (m.files[0].start != r->start || m.files[0].end != r->end)) ||
	    m.exact != r->exact || strcmp(prefix, r->prefix) != 0) {
		bad = 1;
		print_error("%s: act %d, %s %u-%u, exact %d, prefix '%s'\n",
			    r->command, m.act,
			    m.files_count ? m.files[0].path : "-",
			    m.files_count ? m.files[0].start : 0,
			    m.files_count ? m.files[0].end : 0, m.exact,
			    prefix);
	}
	arena_release(&a);
	return bad;
}

static void commands_mean_what_the_table_says(void **state)
{
	size_t i;
	int bad = 0;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		bad += check(&rows[i]);
	assert_int_equal(bad, 0);
}

static void quotes_are_removed(void **state)
{
	const char *text = "a'b c'\"d \\\" \\x$y\"\\ e $'f\\n' `g` *";
	struct arena a = { 0 };
	struct shell_list l;

	(void)state;
	assert_int_equal(shell_split(text, strlen(text), &a, &l), 0);
	assert_int_equal(l.count, 1);
	assert_int_equal(l.at[0].words_count, 4);
	assert_string_equal(l.at[0].words[0].text, "ab cd \" \\x$y e");
	assert_true(l.at[0].words[0].dynamic);
	assert_string_equal(l.at[0].words[1].text, "f\n");
	assert_true(l.at[0].words[2].dynamic);
	assert_true(l.at[0].words[3].glob);
	arena_release(&a);
}

static void two_here_documents_of_one_line_are_separated(void **state)
{
	const char *text = "a <<X | b <<'Y' 2>&1\none\nX\ntwo\nY\nc";
	struct arena a = { 0 };
	struct shell_list l;

	(void)state;
	assert_int_equal(shell_split(text, strlen(text), &a, &l), 0);
	assert_int_equal(l.count, 3);
	assert_memory_equal(l.at[0].redirects[0].text, "one\n", 4);
	assert_int_equal(l.at[0].redirects[0].text_len, 4);
	assert_memory_equal(l.at[1].redirects[0].text, "two\n", 4);
	assert_true(l.at[1].piped);
	assert_string_equal(l.at[2].words[0].text, "c");
	arena_release(&a);
}

static void check_path(const char *dir, const char *path, const char *want)
{
	struct arena a = { 0 };

	assert_string_equal(shell_path(dir, path, strlen(path), &a), want);
	arena_release(&a);
}

static void paths_are_joined(void **state)
{
	(void)state;
	check_path(NULL, "a/./b//c", "a/b/c");
	check_path(NULL, "../a/../../b", "../../b");
	check_path("/r", "a.py", "/r/a.py");
	check_path("/r/s", "../../../x", "/x");
	check_path("s", "/a", "/a");
	check_path("s", "..", ".");
	check_path("s", "", "s");
}

static void a_command_that_is_too_long_is_refused(void **state)
{
	char *text = malloc(SHELL_TEXT_MAX + 1);
	struct arena a = { 0 };
	struct shell_meaning m;
	struct shell_list l;
	size_t i;

	(void)state;
	memset(text, 'x', SHELL_TEXT_MAX + 1);
	assert_int_equal(shell_split(text, SHELL_TEXT_MAX + 1, &a, &l),
			 -EMSGSIZE);
	for (i = 0; i <= SHELL_TEXT_MAX; i += 2)
		text[i] = ' ';
	assert_int_equal(shell_split(text, SHELL_TEXT_MAX, &a, &l), -EMSGSIZE);
	assert_int_equal(shell_understand(text, SHELL_TEXT_MAX, NULL, &a, &m),
			 0);
	assert_int_equal(m.act, SHELL_UNKNOWN);
	arena_release(&a);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commands_mean_what_the_table_says),
		cmocka_unit_test(quotes_are_removed),
		cmocka_unit_test(two_here_documents_of_one_line_are_separated),
		cmocka_unit_test(paths_are_joined),
		cmocka_unit_test(a_command_that_is_too_long_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
