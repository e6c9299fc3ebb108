#include "tape/wire/protocol.h"

#include "tests/support/tape_asks.h"

static struct journal_author shell = {
	.pid = 700, .comm = "sh", .cmdline = "sh -c make", .exe = "/bin/sh"
};
static struct journal_author author = { .pid = 812,
					.comm = "sed",
					.cmdline = "sed -i s/1/2/ a.py",
					.exe = "/usr/bin/sed",
					.parent = &shell };

static cJSON *good_value(enum protocol_type type)
{
	switch (type) {
	case PROTOCOL_NUMBER:
		return cJSON_CreateNumber(1);
	case PROTOCOL_TEXT:
	case PROTOCOL_BYTES:
	case PROTOCOL_ANY:
		return cJSON_CreateString("a");
	case PROTOCOL_FLAG:
		return cJSON_CreateTrue();
	case PROTOCOL_NAMES:
	case PROTOCOL_LIST:
		return cJSON_CreateArray();
	case PROTOCOL_OBJECT:
		return cJSON_CreateObject();
	}
	return NULL;
}

/* One of each kind there is in JSON, and numbers that are none of ours. */
static const char *const values[] = {
	"true", "\"x\"", "7",	  "[]",	  "{}",	       "[1]",  "[null]",
	"-1",	"1.5",	 "1e300", "1e19", "[\"x\",2]", "[[]]",
};

static bool fits(const char *value, enum protocol_type type)
{
	bool number = strcmp(value, "7") == 0 || strcmp(value, "1e19") == 0;
	bool list = value[0] == '[';

	switch (type) {
	case PROTOCOL_NUMBER:
		return number;
	case PROTOCOL_TEXT:
	case PROTOCOL_BYTES:
		return value[0] == '"';
	case PROTOCOL_FLAG:
		return strcmp(value, "true") == 0;
	case PROTOCOL_NAMES:
		return strcmp(value, "[]") == 0;
	case PROTOCOL_LIST:
		return list;
	case PROTOCOL_OBJECT:
		return value[0] == '{';
	case PROTOCOL_ANY:
		return true;
	}
	return false;
}

/* `q` with one member replaced: refused by its type, or not for that. */
static void ask_with(struct tape_world *w, const struct protocol_question *p,
		     const cJSON *q, const struct protocol_member *m,
		     const char *value)
{
	cJSON *changed = cJSON_Duplicate(q, 1), *answer = cJSON_CreateObject();
	const char *why;
	char wanted[128];
	int r;

	cJSON_DeleteItemFromObjectCaseSensitive(changed, m->name);
	(void)cJSON_AddItemToObject(changed, m->name, cJSON_Parse(value));
	r = answers_ask(w->answers, p->name, changed, answer);
	why = json_string(answer, "error");
	(void)snprintf(wanted, sizeof(wanted), "\"%s\" of %s must be", m->name,
		       p->name);
	if (fits(value, m->type) ? why && strstr(why, wanted)
				 : r != -EINVAL || !why || !strstr(why, wanted))
		fail_msg("%s with %s %s: %s", p->name, m->name, value,
			 why ? why : "no word");
	cJSON_Delete(changed);
	cJSON_Delete(answer);
}

static void members_of_the_wrong_type_are_refused(void **state)
{
	for (int k = 0; k < ASKS; k++) {
		const struct protocol_question *p = &protocol_questions[k];
		const struct protocol_member *m;
		cJSON *q = cJSON_CreateObject();

		for (m = p->asked; m->name; m++)
			(void)cJSON_AddItemToObject(q, m->name,
						    good_value(m->type));
		for (m = p->asked; m->name; m++)
			for (size_t i = 0; i < sizeof(values) / sizeof(*values);
			     i++)
				ask_with(*state, p, q, m, values[i]);
		cJSON_Delete(q);
	}
	refused(*state, "SHOW", "{}",
		"SHOW wants \"n\", a whole number from 0 on.");
	refused(*state, "SHOW", "{\"n\":null}",
		"SHOW wants \"n\", a whole number from 0 on.");
	refused(*state, "NOMINATE", "{\"records\":[{\"id\":1}]}",
		"a record wants \"kind\", a string.");
	refused(*state, "NOMINATE",
		"{\"records\":[{\"id\":1,\"kind\":\"song\"}]}",
		"There is no record of kind \"song\".");
	refused(*state, "NOMINATE", "{\"records\":[7]}",
		"a record wants \"id\", anything.");
	refused(*state, "NOMINATE", "{\"brief\":\"x\"}",
		"\"brief\" makes no sense.");
	refused(*state, "SOURCE", "{\"path\":\"a\\\\q\"}",
		"\"path\" of SOURCE must be a string, escaped.");
	refused(*state, "CONTENT", "{\"hash\":\"xyz\"}",
		"CONTENT wants a \"hash\" of 32 digits.");
}

static void an_entry_has_the_members_that_are_documented(void **state)
{
	struct tape_world *w = *state;
	size_t documented = 0, told = 0;
	char turn[128];
	const cJSON *entry, *m;
	cJSON *answer;

	tape_base(w, "a.py", "def load(path):\n    return path\n");
	(void)tape_write(w, "a.py", "def load(path):\n    return 2\n", &author);
	(void)snprintf(turn, sizeof(turn),
		       "{\"conversation\":\"k\",\"turn\":\"t\",\"at_ns\":1,"
		       "\"pid\":%u,\"start\":%u}",
		       author.pid, (unsigned)author.start);
	cJSON_Delete(ask(w, "TURN", turn));
	(void)tape_rename(w, "a.py", "b.py", &author);
	answer = ask(w, "SHOW", "{\"n\":2}");
	entry = json_member(answer, "entry");
	cJSON_ArrayForEach (m, entry) {
		told++;
		assert_non_null(protocol_member(protocol_entry, m->string));
	}
	for (const struct protocol_member *d = protocol_entry; d->name; d++)
		documented++;
	/* All but "marker", "merged", "authors" and "stamped", which are there
	   only where they are true, and "sha256_before", which only the first
	   entry of a path has. */
	assert_int_equal(told + 5, documented);
	told = documented = 0;
	cJSON_ArrayForEach (m, json_member(entry, "author")) {
		told++;
		assert_non_null(protocol_member(protocol_author, m->string));
	}
	for (const struct protocol_member *d = protocol_author; d->name; d++)
		documented++;
	assert_int_equal(told, documented);
	cJSON_Delete(answer);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, tape_setup, tape_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(members_of_the_wrong_type_are_refused),
		TEST(an_entry_has_the_members_that_are_documented),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
