#include "tape/query/answers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/tape_asks.h"

static struct journal_author shell = {
	.pid = 700, .comm = "sh", .cmdline = "sh -c make", .exe = "/bin/sh"
};
static struct journal_author sed = { .pid = 812,
				     .uid = 1000,
				     .comm = "sed",
				     .cmdline = "sed -i s/1/2/ a.py",
				     .exe = "/usr/bin/sed",
				     .parent = &shell };

static const char module_a[] = "import os\n" /* 1 */
			       "\n"
			       "LIMIT = 3\n" /* 3 */
			       "\n"
			       "def load(path):\n" /* 5 */
			       "    return path\n"
			       "\n"
			       "class Config:\n" /* 8 */
			       "    def read(self):\n"
			       "        return load(LIMIT)\n"; /* 10 */

/* The names in a list of objects, joined by spaces. */
static void expect_names(const cJSON *list, const char *names)
{
	char text[1024] = "";
	const cJSON *item;

	cJSON_ArrayForEach (item, list) {
		size_t n = strlen(text);

		(void)snprintf(text + n, sizeof(text) - n, "%s%s", n ? " " : "",
			       json_string(item, "name"));
	}
	assert_string_equal(text, names);
}

static void symbols_in(struct tape_world *w, const char *question,
		       const char *names)
{
	cJSON *answer = ask(w, "SYMBOLS", question);

	expect_names(json_member(answer, "symbols"), names);
	cJSON_Delete(answer);
}

/* -- Entries. */

static void show_returns_an_entry_in_full(void **state)
{
	struct tape_world *w = *state;
	cJSON *answer, *e;
	char *text;

	tape_base(w, "a.py", module_a);
	(void)tape_write(w, "a.py", "def load(path):\n    return 2\n", &sed);
	answer = ask(w, "SHOW", "{\"n\":1}");
	e = cJSON_GetObjectItem(answer, "entry");
	assert_int_equal(strlen(json_string(e, "hash")), 64);
	cJSON_DeleteItemFromObject(e, "hash");
	text = cJSON_PrintUnformatted(e);
	assert_string_equal(
		text, "{\"n\":1,\"at\":\"2026-01-02T03:04:05.678901Z\","
		      "\"at_ns\":1767323045678901234,\"kind\":\"edit\","
		      "\"path\":\"a.py\","
		      "\"before\":\"9255205c83dce466eaf4a04b8011d2d3\","
		      "\"after\":\"ad2e6e47608a99be23db310a61243e26\","
		      "\"lines\":[[1,4,0,0],[6,5,2,1]],\"plus\":1,\"minus\":9,"
		      "\"X\":[{\"name\":\"a.Config\",\"kind\":\"class\","
		      "\"removed\":true},{\"name\":\"a.Config.read\","
		      "\"kind\":\"method\",\"removed\":true},"
		      "{\"name\":\"a.load\",\"kind\":\"function\"},"
		      "{\"name\":\"a\",\"kind\":\"module\"},"
		      "{\"name\":\"a.LIMIT\",\"kind\":\"variable\","
		      "\"removed\":true}],\"dX\":[],\"R\":[],\"new\":[],"
		      "\"syntax\":\"ok\",\"author\":{\"origin\":\"mount\","
		      "\"pid\":812,\"start\":0,\"comm\":\"sed\","
		      "\"cmdline\":\"sed -i s/1/2/ a.py\","
		      "\"exe\":\"/usr/bin/sed\",\"uid\":1000,"
		      "\"ancestors\":[{\"pid\":700,\"start\":0,"
		      "\"comm\":\"sh\",\"cmdline\":\"sh -c make\","
		      "\"exe\":\"/bin/sh\"}]},"
		      "\"journal\":[0,0],\"bytes\":29,"
		      "\"sha256\":\"0fd51344047ae38b6d568f225839a399"
		      "231edd8b846350f1361efd140bdc7305\","
		      "\"sha256_before\":\"93f3bb35ae486e940c60abd72a966a28"
		      "887be42d4f2ea8deba6660f870eb912e\"}");
	free(text);
	cJSON_Delete(answer);
}

static void entries_since_a_number_come_in_order(void **state)
{
	struct tape_world *w = *state;
	cJSON *answer;

	for (int k = 0; k < 5; k++)
		(void)tape_write(w, "a.txt", k % 2 ? "x\n" : "y\n", &sed);
	answer = ask(w, "SINCE", "{\"n\":2,\"limit\":2}");
	assert_int_equal(cJSON_GetArraySize(json_member(answer, "entries")), 2);
	assert_int_equal(
		json_number(json_member(answer, "entries")->child, "n", 0), 3);
	assert_int_equal(json_number(answer, "head", 0), 5);
	assert_true(cJSON_IsTrue(json_member(answer, "more")));
	cJSON_Delete(answer);
	answer = ask(w, "SINCE", "{\"n\":3,\"limit\":2}");
	assert_true(cJSON_IsFalse(json_member(answer, "more")));
	cJSON_Delete(answer);
	answer = ask(w, "SINCE", "{\"n\":5}");
	assert_int_equal(cJSON_GetArraySize(json_member(answer, "entries")), 0);
	cJSON_Delete(answer);
}

static void log_length(struct tape_world *w, const char *question, int count)
{
	cJSON *answer = ask(w, "LOG", question);

	assert_int_equal(cJSON_GetArraySize(json_member(answer, "entries")),
			 count);
	cJSON_Delete(answer);
}

static void the_log_can_be_filtered(void **state)
{
	struct tape_world *w = *state;

	tape_base(w, "a.py", module_a);
	(void)tape_write(w, "a.py", "def load(path):\n    return 2\n", &sed);
	(void)tape_write(w, "b.txt", "x\n", &shell);
	log_length(w, "{}", 2);
	log_length(w, "{\"limit\":1}", 1);
	log_length(w, "{\"path\":\"*.txt\"}", 1);
	log_length(w, "{\"symbol\":\"load\"}", 1);
	log_length(w, "{\"symbol\":\"a.load\"}", 1);
	log_length(w, "{\"symbol\":\"oad\"}", 0);
	log_length(w, "{\"pid\":700}", 2);
	log_length(w, "{\"pid\":812}", 1);
	log_length(w, "{\"author\":\"sed *\"}", 1);
	log_length(w, "{\"since_ns\":1767323046000000000}", 1);
	log_length(w, "{\"until_ns\":1767323046000000000}", 1);
	log_length(w, "{\"before\":2}", 1);
}

static void an_entry_that_is_not_there_is_refused(void **state)
{
	refused(*state, "SHOW", "{\"n\":3}",
		"There is no entry 3; the newest is 0.");
}

/* -- Symbols and texts. */

static void a_span_covers_what_it_overlaps(void **state)
{
	struct tape_world *w = *state;

	tape_base(w, "src/a.py", module_a);
	symbols_in(w, "{\"path\":\"src/a.py\",\"start_line\":5,\"end_line\":6}",
		   "a.load");
	symbols_in(w, "{\"path\":\"src/a.py\",\"start_line\":3,\"end_line\":5}",
		   "a.LIMIT a.load");
	symbols_in(w, "{\"path\":\"src/a.py\",\"start_line\":1,\"end_line\":1}",
		   "a");
	symbols_in(w, "{\"path\":\"src/a.py\",\"start_line\":10}",
		   "a.Config a.Config.read");
	symbols_in(w, "{\"path\":\"src/a.py\"}",
		   "a a.LIMIT a.load a.Config a.Config.read");
	/* Lines outside all symbols belong to the module. */
	symbols_in(w, "{\"path\":\"src/a.py\",\"start_line\":2,\"end_line\":2}",
		   "a");
}

static void a_span_is_that_of_the_file_as_it_was(void **state)
{
	struct tape_world *w = *state;

	tape_base(w, "a.py", module_a);
	(void)tape_write(w, "a.py", "def other():\n    pass\n", &sed);
	(void)tape_write(w, "a.py", NULL, &sed);
	symbols_in(
		w,
		"{\"path\":\"a.py\",\"start_line\":1,\"end_line\":2,\"n\":1}",
		"a.other");
	symbols_in(
		w,
		"{\"path\":\"a.py\",\"start_line\":5,\"end_line\":5,\"n\":0}",
		"a.load");
	refused(w, "SYMBOLS", "{\"path\":\"a.py\",\"n\":2}",
		"There was no file 'a.py' as of entry 2, or it is not known.");
	refused(w, "SYMBOLS", "{\"path\":\"a.py\"}",
		"There is no file 'a.py'.");
}

static void a_file_of_no_language_is_one_symbol(void **state)
{
	struct tape_world *w = *state;

	(void)tape_write(w, "notes.txt", "a\nb\nc\n", &sed);
	expect(w, "SYMBOLS",
	       "{\"path\":\"notes.txt\",\"start_line\":2,\"end_line\":2}",
	       "{\"n\":1,\"hash\":\"8107af94127a92e5649b50e8ff688e15\","
	       "\"language\":false,\"lines\":3,\"symbols\":[{\"name\":"
	       "\"file:notes.txt\",\"kind\":\"file\",\"start_line\":1,"
	       "\"end_line\":3}]}");
}

static void source_is(struct tape_world *w, const char *question,
		      const char *text, uint64_t start, uint64_t end)
{
	cJSON *answer = ask(w, "SOURCE", question);

	assert_string_equal(json_string(answer, "text"), text);
	assert_int_equal(json_number(answer, "start_line", 99), start);
	assert_int_equal(json_number(answer, "end_line", 99), end);
	cJSON_Delete(answer);
}

static void lines_of_any_version_can_be_read(void **state)
{
	struct tape_world *w = *state;

	tape_base(w, "n.txt", "a\nb\nc");
	(void)tape_write(w, "n.txt", "A\nB\n", &sed);
	source_is(w, "{\"path\":\"n.txt\"}", "A\nB\n", 1, 2);
	source_is(w, "{\"path\":\"n.txt\",\"start_line\":2,\"n\":0}", "b\nc", 2,
		  3);
	source_is(
		w,
		"{\"path\":\"n.txt\",\"start_line\":2,\"end_line\":2,\"n\":0}",
		"b\n", 2, 2);
	source_is(w, "{\"path\":\"n.txt\",\"start_line\":2,\"end_line\":9}",
		  "B\n", 2, 2);
	source_is(w, "{\"path\":\"n.txt\",\"start_line\":7,\"end_line\":9}", "",
		  7, 6);
}

static void bytes_that_are_no_text_are_base64(void **state)
{
	struct tape_world *w = *state;
	cJSON *answer;

	(void)tape_write(w, "n.txt", "\xff\xfe\n", &sed);
	answer = ask(w, "SOURCE", "{\"path\":\"n.txt\"}");
	assert_string_equal(json_string(answer, "base64"), "//4K");
	cJSON_Delete(answer);
}

static void a_path_may_be_any_bytes(void **state)
{
	struct tape_world *w = *state;

	(void)tape_write(w, "a\\b\xff.txt", "x\n", &sed);
	source_is(w, "{\"path\":\"a\\\\\\\\b\\\\xff.txt\"}", "x\n", 1, 1);
}

static void paths_beyond_the_root_are_refused(void **state)
{
	struct tape_world *w = *state;

	refused(w, "SOURCE", "{\"path\":\"../tape.db\"}",
		"'../tape.db' is not a path of a file in the repository.");
	refused(w, "SOURCE", "{\"path\":\"/etc/passwd\"}",
		"'/etc/passwd' is not a path of a file in the repository.");
	refused(w, "SOURCE", "{\"path\":\"\"}",
		"'' is not a path of a file in the repository.");
	refused(w, "SOURCE", "{}", "SOURCE wants \"path\", a string, escaped.");
	assert_int_equal(symlinkat("/etc/passwd", w->root_fd, "link"), 0);
	/* The target of the link, not the content of the target. */
	source_is(w, "{\"path\":\"link\"}", "/etc/passwd", 1, 1);
	assert_int_equal(symlinkat("/etc", w->root_fd, "etc"), 0);
	refused(w, "SOURCE", "{\"path\":\"etc/passwd\"}",
		"There is no file 'etc/passwd'.");
	assert_int_equal(symlinkat("../../..", w->root_fd, "up"), 0);
	refused(w, "SOURCE", "{\"path\":\"up/etc/passwd\"}",
		"There is no file 'up/etc/passwd'.");
	assert_int_equal(symlinkat("loop", w->root_fd, "loop"), 0);
	refused(w, "SOURCE", "{\"path\":\"loop/x\"}",
		"There is no file 'loop/x'.");
}

static void versions_come_newest_first(void **state)
{
	struct tape_world *w = *state;
	cJSON *answer, *list;

	tape_base(w, "a.txt", "1\n");
	(void)tape_write(w, "a.txt", "2\n", &sed);
	(void)tape_rename(w, "a.txt", "b.txt", &sed);
	answer = ask(w, "VERSIONS", "{\"path\":\"a.txt\"}");
	list = cJSON_GetObjectItem(answer, "versions");
	assert_int_equal(cJSON_GetArraySize(list), 3);
	assert_string_equal(json_string(list->child, "kind"), "rename");
	assert_true(cJSON_IsNull(json_member(list->child, "hash")));
	assert_string_equal(json_string(list->child->next, "kind"), "edit");
	assert_string_equal(json_string(list->child->next->next, "kind"),
			    "before");
	cJSON_Delete(answer);
	answer = ask(w, "VERSIONS", "{\"path\":\"b.txt\",\"limit\":1}");
	list = cJSON_GetObjectItem(answer, "versions");
	assert_int_equal(cJSON_GetArraySize(list), 1);
	assert_non_null(json_string(list->child, "hash"));
	cJSON_Delete(answer);
}

/* -- The graph. */

static void a_symbol_is_returned_with_its_body(void **state)
{
	struct tape_world *w = *state;
	cJSON *answer;

	tape_base(w, "a.py",
		  "class C:\n    @staticmethod\n    def f(a,\n          b=1):\n"
		  "        return a\n");
	answer = ask(w, "SYMBOL", "{\"name\":\"a.C.f\"}");
	assert_string_equal(json_string(answer, "signature"), "def f(a, b=1)");
	assert_string_equal(json_string(answer, "kind"), "method");
	assert_string_equal(json_string(answer, "path"), "a.py");
	assert_int_equal(json_number(answer, "start_line", 0), 2);
	assert_int_equal(json_number(answer, "end_line", 0), 5);
	assert_string_equal(json_string(answer, "body"),
			    "    @staticmethod\n    def f(a,\n          b=1):\n"
			    "        return a\n");
	cJSON_Delete(answer);
	refused(w, "SYMBOL", "{\"name\":\"a.D\"}", "There is no symbol 'a.D'.");
}

static void neighbours_are_returned_with_the_way_to_them(void **state)
{
	struct tape_world *w = *state;
	cJSON *answer;

	tape_base(w, "a.py", module_a);
	answer = ask(w, "NEIGHBOURS",
		     "{\"symbol\":\"a.load\",\"depth\":2,"
		     "\"steps\":[\"callers\"]}");
	expect_names(json_member(answer, "places"), "a.load a.Config.read");
	assert_string_equal(
		json_string(json_member(answer, "places")->child->next, "step"),
		"callers");
	assert_true(cJSON_IsFalse(json_member(answer, "cut")));
	cJSON_Delete(answer);
	answer = ask(w, "NEIGHBOURS",
		     "{\"symbols\":[\"a.load\",\"a.gone\",\"a.Config.read\"],"
		     "\"kinds\":[\"call\",\"uses\"],\"tests\":false}");
	expect_names(json_member(answer, "places"), "a.load a.Config.read");
	cJSON_Delete(answer);
	refused(w, "NEIGHBOURS", "{\"symbols\":[],\"kinds\":[\"up\"]}",
		"There is no kind of edge 'up'.");
	refused(w, "NEIGHBOURS", "{}", "The question names no symbol.");
	refused(w, "NEIGHBOURS", "{\"symbol\":\"a.load\",\"steps\":[\"up\"]}",
		"There is no step 'up'.");
	refused(w, "NEIGHBOURS", "{\"symbol\":\"a.load\",\"depth\":5}",
		"The depth is at most 4.");
}

/* -- Drift. */

static void drift_is_returned_per_set(void **state)
{
	struct tape_world *w = *state;

	tape_base(w, "a.py", module_a);
	(void)tape_write(w, "a.py",
			 "import os\n\nLIMIT = 4\n\ndef load(path):\n"
			 "    return 1\n\nclass Config:\n    def read(self):\n"
			 "        return load(LIMIT)\n",
			 &sed);
	expect(w, "DRIFT",
	       "{\"since\":0,\"symbols\":[\"a.load\",\"a.Config.read\","
	       "\"a.Config\"]}",
	       "{\"drift\":[{\"symbol\":\"a.load\",\"x\":1},"
	       "{\"symbol\":\"a.Config.read\",\"r\":1}],\"n\":1}");
	expect(w, "DRIFT", "{\"since\":1,\"symbols\":[\"a.load\"]}",
	       "{\"drift\":[],\"n\":1}");
}

/* The words for the model begin like the reason, and name no entry. */
static void is_said_plainly(const char *words, const char *reason)
{
	size_t same = 0;

	while (words[same] && words[same] == reason[same])
		same++;
	assert_true(same > 8);
	assert_null(strstr(words, "entry"));
	assert_null(strstr(words, "pid"));
}

static void nominated(struct tape_world *w, const char *record,
		      const char *action, const char *reason)
{
	char *question = NULL;
	const cJSON *n, *m;
	cJSON *answer;

	assert_true(asprintf(&question, "{\"records\":[%s]}", record) > 0);
	answer = ask(w, "NOMINATE", question);
	n = json_member(answer, "nominations")->child;
	cJSON_ArrayForEach (m, n)
		assert_non_null(
			protocol_member(protocol_nomination, m->string));
	if (!action) {
		assert_null(n);
	} else {
		assert_non_null(n);
		assert_string_equal(json_string(n, "reason"), reason);
		is_said_plainly(json_string(n, "words"), reason);
		assert_string_equal(json_string(n, "action"), action);
		assert_string_equal(json_string(n, "id"), "r1");
	}
	free(question);
	cJSON_Delete(answer);
}

static void a_record_is_nominated_with_a_reason(void **state)
{
	struct tape_world *w = *state;

	tape_base(w, "a.py", module_a);
	(void)tape_write(w, "a.py",
			 "import os\n\nLIMIT = 3\n\ndef load(path):\n"
			 "    return 1\n\nclass Config:\n    def read(self):\n"
			 "        return load(LIMIT)\n",
			 &sed);
	nominated(w,
		  "{\"id\":\"r1\",\"kind\":\"read\",\"birth\":0,"
		  "\"path\":\"a.py\",\"start_line\":5,\"end_line\":6}",
		  "REFRESH", "load was edited by entry 1 (sed, pid 812)");
	nominated(w,
		  "{\"id\":\"r1\",\"kind\":\"read\",\"birth\":0,"
		  "\"symbols\":[\"a.load\"]}",
		  "REFRESH", "load was edited by entry 1 (sed, pid 812)");
	nominated(w,
		  "{\"id\":\"r1\",\"kind\":\"read\",\"birth\":0,"
		  "\"path\":\"a.py\",\"start_line\":8,\"end_line\":10}",
		  NULL, NULL);
	nominated(w,
		  "{\"id\":\"r1\",\"kind\":\"read\",\"birth\":1,"
		  "\"symbols\":[\"a.load\"]}",
		  NULL, NULL);
	nominated(w, "{\"id\":\"r1\",\"kind\":\"search\",\"birth\":0}", NULL,
		  NULL);
	(void)tape_write(w, "a.py", NULL, &shell);
	nominated(w,
		  "{\"id\":\"r1\",\"kind\":\"read\",\"birth\":0,"
		  "\"path\":\"a.py\",\"start_line\":9,\"end_line\":9}",
		  "DROP",
		  "Config was removed by entry 2 (sh, pid 700), and 1 more "
		  "symbol it covers drifted");
}

static void a_file_is_known_by_any_way_to_it(void **state)
{
	struct tape_world *w = *state;

	tape_base(w, "lib/a.py", module_a);
	tape_base(w, "lib/notes.txt", "one\ntwo\n");
	assert_int_equal(symlinkat("lib", w->root_fd, "src"), 0);
	assert_int_equal(symlinkat("../src/./a.py", w->root_fd, "lib/b.py"), 0);
	assert_int_equal(symlinkat("lib/notes.txt", w->root_fd, "n"), 0);
	symbols_in(w, "{\"path\":\"src/a.py\",\"start_line\":5,\"end_line\":6}",
		   "a.load");
	symbols_in(w,
		   "{\"path\":\"src/"
		   "b.py\",\"start_line\":5,\"end_line\":6,\"n\":0}",
		   "a.load");
	symbols_in(w, "{\"path\":\"n\"}", "file:lib/notes.txt");
	source_is(w, "{\"path\":\"n\",\"follow\":false}", "lib/notes.txt", 1,
		  1);
	(void)tape_write(w, "lib/notes.txt", "one\n2\n", &sed);
	nominated(
		w,
		"{\"id\":\"r1\",\"kind\":\"read\",\"birth\":0,\"path\":\"n\"}",
		"REFRESH",
		"lib/notes.txt was edited by entry 1 (sed, pid 812)");
}

static void a_reason_has_words_for_the_model(void **state)
{
	struct tape_world *w = *state;
	cJSON *answer;

	tape_base(w, "n.txt", "1\n");
	(void)tape_write(w, "n.txt", "2\n", &sed);
	answer = ask(w, "NOMINATE",
		     "{\"records\":[{\"id\":1,\"kind\":\"read\",\"birth\":0,"
		     "\"path\":\"n.txt\"}]}");
	assert_string_equal(
		json_string(json_member(answer, "nominations")->child, "words"),
		"n.txt was edited by sed");
	cJSON_Delete(answer);
}

/* sed, someone outside, and git wrote n.txt; two versions are lost. */
static void put_merged(struct tape_world *w)
{
	static const struct journal_author git = {
		.pid = 813, .comm = "git", .cmdline = "/usr/bin/git stash pop"
	};
	const struct journal_author *authors[] = { &sed, NULL, &git };
	struct entry e = { .path = "n.txt",
			   .kind = ENTRY_EDIT,
			   .had = true,
			   .has = true,
			   .before = XXH3_128bits("1\n", 2),
			   .after = XXH3_128bits("2\n", 2),
			   .bytes = 2,
			   .author = &git,
			   .authors = authors,
			   .authors_count = 3 };

	tape_base(w, "n.txt", "1\n");
	tape_put_file(w, "n.txt", "2\n");
	tape_commit(w, &e, "2\n");
}

static void a_merged_entry_names_all_its_authors(void **state)
{
	struct tape_world *w = *state;
	const cJSON *one;
	cJSON *answer;

	put_merged(w);
	answer = ask(w, "NOMINATE",
		     "{\"records\":[{\"id\":1,\"kind\":\"read\",\"birth\":0,"
		     "\"path\":\"n.txt\"}]}");
	one = json_member(answer, "nominations")->child;
	assert_string_equal(json_string(one, "words"),
			    "n.txt was edited by sed, somebody else and git");
	assert_string_equal(json_string(one, "reason"),
			    "n.txt was edited by entry 1 (sed, pid 812; "
			    "from outside the "
			    "mount; git, pid 813)");
	cJSON_Delete(answer);
	answer = ask(w, "SHOW", "{\"n\":1}");
	one = json_member(answer, "entry");
	assert_true(cJSON_IsTrue(json_member(one, "merged")));
	assert_int_equal(cJSON_GetArraySize(json_member(one, "authors")), 3);
	cJSON_Delete(answer);
}

static void lines_of_a_text_are_carried_forward(void **state)
{
	struct tape_world *w = *state;
	const char *record =
		"{\"id\":\"r1\",\"kind\":\"read\",\"birth\":0,"
		"\"path\":\"n.txt\",\"start_line\":3,\"end_line\":4}";

	tape_base(w, "n.txt", "1\n2\n3\n4\n5\n");
	(void)tape_write(w, "n.txt", "0\n1\n2\n3\n4\n5\n", &sed);
	nominated(w, record, NULL, NULL);
	(void)tape_write(w, "n.txt", "0\n1\n2\n3\n4\nfive\n", &sed);
	nominated(w, record, NULL, NULL);
	(void)tape_write(w, "n.txt", "0\n1\n2\n3\n4b\nfive\n", &sed);
	nominated(w, record, "REFRESH",
		  "lines 3-4 of n.txt were edited by entry 3 (sed, pid "
		  "812)");
	(void)tape_rename(w, "n.txt", "m.txt", &sed);
	nominated(w, record, "DROP",
		  "n.txt was removed by entry 4 (sed, pid 812)");
}

static void a_run_is_kept_if_nothing_it_read_was_touched(void **state)
{
	struct tape_world *w = *state;
	const char *record =
		"{\"id\":\"r1\",\"kind\":\"run\",\"birth\":0,"
		"\"opened\":[\"a.py\"],\"missed\":[\"conftest.py\",\"lib\"],"
		"\"listed\":[\"tests\"]}";
	const char *unknown = "{\"id\":\"r1\",\"kind\":\"run\",\"birth\":0}";

	nominated(w, record, NULL, NULL);
	tape_base(w, "a.py", module_a);
	(void)tape_write(w, "b.txt", "x\n", &sed);
	nominated(w, record, "KEEP",
		  "nothing the run read or looked for was touched up to entry "
		  "1");
	nominated(w, unknown, "RERUN",
		  "b.txt was changed since the run, by entry 1 (sed, pid "
		  "812)");
	(void)tape_write(w, "lib/x.py", "x = 1\n", &sed);
	nominated(
		w, record, "RERUN",
		"lib, which the run looked for in vain, appeared with entry 2 "
		"(sed, pid 812)");
	(void)tape_write(w, "tests/t.py", "x = 1\n", &sed);
	nominated(w, record, "RERUN",
		  "names in tests, which the run listed, changed with entry 3 "
		  "(sed, pid 812)");
	(void)tape_write(w, "a.py", "x = 1\n", &sed);
	nominated(w, record, "RERUN",
		  "a.py, which the run opened, was changed by entry 4 (sed, "
		  "pid 812)");
}

static void the_index_is_filled_from_the_store(void **state)
{
	struct tape_world *w = *state;
	struct answers_config c;

	tape_base(w, "a.py", module_a);
	tape_base(w, "n.txt", "1\n2\n");
	(void)tape_write(w, "a.py", "def load(path):\n    return 2\n", &sed);
	(void)tape_write(w, "n.txt", "1\n3\n", &sed);
	answers_free(w->answers);
	c = (struct answers_config){ .store = w->store, .root_fd = -1 };
	w->answers = answers_new(&c);
	nominated(w,
		  "{\"id\":\"r1\",\"kind\":\"read\",\"birth\":0,"
		  "\"symbols\":[\"a.load\"]}",
		  "REFRESH", "load was edited by entry 1 (sed, pid 812)");
	nominated(w,
		  "{\"id\":\"r1\",\"kind\":\"read\",\"birth\":0,"
		  "\"symbols\":[\"a.Config\"]}",
		  "DROP", "Config was removed by entry 1 (sed, pid 812)");
	nominated(w,
		  "{\"id\":\"r1\",\"kind\":\"read\",\"birth\":1,"
		  "\"path\":\"n.txt\",\"start_line\":2,\"end_line\":2}",
		  "REFRESH",
		  "line 2 of n.txt was edited by entry 2 (sed, pid "
		  "812)");
}

/* -- Other questions. */

static void blame_names_who_changed_a_symbol_last(void **state)
{
	struct tape_world *w = *state;
	cJSON *answer;
	const cJSON *item;

	tape_base(w, "a.py", module_a);
	(void)tape_write(w, "a.py",
			 "import os\n\nLIMIT = 3\n\ndef load(path):\n"
			 "    return 1\n\nclass Config:\n    def read(self):\n"
			 "        return load(LIMIT)\n",
			 &sed);
	answer = ask(w, "BLAME", "{\"path\":\"a.py\"}");
	expect_names(json_member(answer, "symbols"),
		     "a a.LIMIT a.load a.Config a.Config.read");
	item = cJSON_GetArrayItem(json_member(answer, "symbols"), 2);
	assert_int_equal(json_number(item, "entry", 0), 1);
	assert_int_equal(json_number(json_member(item, "author"), "pid", 0),
			 812);
	assert_null(json_member(
		cJSON_GetArrayItem(json_member(answer, "symbols"), 3),
		"entry"));
	cJSON_Delete(answer);
	answer = ask(w, "BLAME", "{\"symbol\":\"a.load\"}");
	item = json_member(answer, "symbols")->child;
	assert_int_equal(json_number(item, "entry", 0), 1);
	assert_string_equal(json_string(item, "path"), "a.py");
	cJSON_Delete(answer);
	refused(w, "BLAME", "{\"symbol\":\"a.none\"}",
		"There is no symbol 'a.none', and no entry mentions one.");
}

static void a_hold_lasts_its_time(void **state)
{
	struct tape_world *w = *state;

	assert_true(answers_held(w->answers) == UINT64_MAX);
	expect(w, "HOLD", "{\"holder\":\"c1\",\"n\":7,\"ttl_ms\":60000}", "{}");
	expect(w, "HOLD", "{\"holder\":\"c2\",\"n\":5,\"ttl_ms\":60000}", "{}");
	assert_int_equal(answers_held(w->answers), 5);
	expect(w, "HOLD", "{\"holder\":\"c2\",\"n\":9,\"ttl_ms\":60000}", "{}");
	assert_int_equal(answers_held(w->answers), 7);
	expect(w, "HOLD", "{\"holder\":\"c1\",\"n\":7,\"ttl_ms\":0}", "{}");
	assert_int_equal(answers_held(w->answers), 9);
	refused(w, "HOLD", "{\"n\":7}", "HOLD wants \"holder\", a string.");
	refused(w, "HOLD", "{\"holder\":\"\",\"n\":7}",
		"\"holder\" of HOLD must have 1 to 256 bytes.");
}

static void a_hold_outlives_the_process(void **state)
{
	struct tape_world *w = *state;
	struct answers_config c = { .store = w->store,
				    .root_fd = w->root_fd,
				    .sync = tape_world_sync,
				    .ctx = w };

	expect(w, "HOLD", "{\"holder\":\"c1\",\"n\":7,\"ttl_ms\":60000}", "{}");
	expect(w, "HOLD", "{\"holder\":\"c2\",\"n\":3,\"ttl_ms\":0}", "{}");
	answers_free(w->answers);
	w->answers = answers_new(&c);
	assert_true(answers_held(w->answers) == UINT64_MAX);
	assert_int_equal(answers_load_holds(w->answers), 0);
	assert_int_equal(answers_held(w->answers), 7);
}

static void without_a_daemon_the_store_still_answers(void **state)
{
	struct tape_world *w = *state;
	struct answers_config c = { .store = w->store, .root_fd = -1 };

	tape_base(w, "a.py", module_a);
	(void)tape_write(w, "a.py", "def load(path):\n    return 2\n", &sed);
	answers_free(w->answers);
	w->answers = answers_new(&c);
	log_length(w, "{}", 1);
	symbols_in(w, "{\"path\":\"a.py\"}", "a a.load");
	source_is(w,
		  "{\"path\":\"a.py\",\"n\":0,\"start_line\":1,\"end_line\":1}",
		  "import os\n", 1, 1);
	refused(w, "SYNC", "{}", "The tape is not running.");
	refused(w, "SYMBOL", "{\"name\":\"a.load\"}",
		"The tape is not running.");
	refused(w, "READSET", "{}", "The tape is not running.");
	refused(w, "RETIRE", "{\"days\":1}", "The tape is not running.");
}

static void an_unknown_question_is_refused(void **state)
{
	cJSON *answer;

	assert_int_equal(ask_for(*state, "WEATHER", "{}", &answer), -ENOSYS);
	cJSON_Delete(answer);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, tape_setup, tape_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(show_returns_an_entry_in_full),
		TEST(entries_since_a_number_come_in_order),
		TEST(the_log_can_be_filtered),
		TEST(an_entry_that_is_not_there_is_refused),
		TEST(a_span_covers_what_it_overlaps),
		TEST(a_span_is_that_of_the_file_as_it_was),
		TEST(a_file_of_no_language_is_one_symbol),
		TEST(lines_of_any_version_can_be_read),
		TEST(bytes_that_are_no_text_are_base64),
		TEST(a_path_may_be_any_bytes),
		TEST(paths_beyond_the_root_are_refused),
		TEST(a_file_is_known_by_any_way_to_it),
		TEST(versions_come_newest_first),
		TEST(a_symbol_is_returned_with_its_body),
		TEST(neighbours_are_returned_with_the_way_to_them),
		TEST(drift_is_returned_per_set),
		TEST(a_record_is_nominated_with_a_reason),
		TEST(a_reason_has_words_for_the_model),
		TEST(a_merged_entry_names_all_its_authors),
		TEST(lines_of_a_text_are_carried_forward),
		TEST(a_run_is_kept_if_nothing_it_read_was_touched),
		TEST(the_index_is_filled_from_the_store),
		TEST(blame_names_who_changed_a_symbol_last),
		TEST(a_hold_lasts_its_time),
		TEST(without_a_daemon_the_store_still_answers),
		TEST(an_unknown_question_is_refused),
		TEST(a_hold_outlives_the_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
