/* Queries to the tape of a tape_world, for cmocka tests. */
#ifndef STATETAPE_TESTS_SUPPORT_TAPE_ASKS_H
#define STATETAPE_TESTS_SUPPORT_TAPE_ASKS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "graph/base/json.h"
#include "tape/query/answers.h"
#include "tape/wire/protocol.h"
#include "tests/support/tape_world.h"

static inline int tape_setup(void **state)
{
	struct tape_world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	tape_world_init(w);
	*state = w;
	return 0;
}

static inline int tape_teardown(void **state)
{
	tape_world_release(*state);
	free(*state);
	return 0;
}

/*
 * Ask with the members in the JSON text `question`. Returns as answers_ask().
 */
static inline int ask_for(struct tape_world *w, const char *ask,
			  const char *question, cJSON **ret)
{
	cJSON *q = cJSON_Parse(question);
	int r;

	assert_non_null(q);
	*ret = cJSON_CreateObject();
	r = answers_ask(w->answers, ask, q, *ret);
	cJSON_Delete(q);
	return r;
}

static inline cJSON *ask(struct tape_world *w, const char *name,
			 const char *question)
{
	const cJSON *m;
	cJSON *answer;
	int r = ask_for(w, name, question, &answer);

	if (r < 0)
		print_error("%s: %s\n", name,
			    json_string(answer, "error")
				    ? json_string(answer, "error")
				    : strerror(-r));
	assert_int_equal(r, 0);
	/* Every member of an answer must be documented. */
	cJSON_ArrayForEach (m, answer)
		if (!protocol_member(
			    protocol_questions[protocol_find(name)].told,
			    m->string))
			fail_msg("%s tells of \"%s\"", name, m->string);
	return answer;
}

/* The answer as it would be sent. */
static inline void expect(struct tape_world *w, const char *name,
			  const char *question, const char *answer)
{
	cJSON *is = ask(w, name, question);
	char *text = cJSON_PrintUnformatted(is);

	assert_string_equal(text, answer);
	free(text);
	cJSON_Delete(is);
}

/* Assert that the question is refused with this sentence. */
static inline void refused(struct tape_world *w, const char *name,
			   const char *question, const char *why)
{
	cJSON *is;

	assert_true(ask_for(w, name, question, &is) < 0);
	assert_non_null(json_string(is, "error"));
	assert_string_equal(json_string(is, "error"), why);
	cJSON_Delete(is);
}

#endif
