/*
 * Shared by the tests of fs/author/actor.c: a cache for each test, and puppets
 * (puppet.h) to look at.
 */
#ifndef STATETAPE_TESTS_UNIT_FS_AUTHOR_ACTOR_CASE_H
#define STATETAPE_TESTS_UNIT_FS_AUTHOR_ACTOR_CASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fs/author/actor.h"
#include "tests/support/puppet.h"

/* One cache per test, with the test itself as the session's root. */
static inline int set_up(void **state)
{
	struct actors *as;

	if (actors_new(getpid(), &as) < 0)
		return -1;
	*state = as;
	return 0;
}

static inline int tear_down(void **state)
{
	actors_free(*state);
	return 0;
}

static inline void puppet_make(const char *text, struct puppet *p)
{
	assert_true(puppet_new(text, p));
}

static inline void tell(struct puppet *p, enum puppet_verb verb,
			const char *text)
{
	assert_true(puppet_send(p, verb, text));
}

/* The actor of the puppet's thread, a reference. */
static inline struct actor *speaker(struct actors *as, const struct puppet *p)
{
	struct actor *a = actors_get(as, p->at.tid);

	assert_non_null(a);
	assert_int_equal(actor_pid(a), p->at.pid);
	return a;
}

static inline void assert_cmdline(struct actor *a, const char *text)
{
	char expected[PUPPET_TEXT + 32];

	(void)snprintf(expected, sizeof(expected), "marionette puppet %s",
		       text);
	assert_string_equal(actor_author(a)->cmdline, expected);
}

/* Asks twice, to see both the fresh and the cached answer. */
static inline void assert_speaker(struct actors *as, const struct puppet *p,
				  const char *text)
{
	for (int i = 0; i < 2; i++) {
		struct actor *a = speaker(as, p);

		assert_cmdline(a, text);
		actor_unref(a);
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

#endif
