/*
 * For golden tests of facts: a source text, and its expected dump. The dump is
 * compared byte for byte, so each test dumps few kinds of facts.
 */
#ifndef STATETAPE_TESTS_SUPPORT_FACTS_GOLDEN_H
#define STATETAPE_TESTS_SUPPORT_FACTS_GOLDEN_H

/* cmocka.h needs these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/facts/facts.h"
#include "graph/facts/lang.h"
#include "tests/support/facts_dump.h"

static inline int new_reader(void **state)
{
	*state = lang_readers_new();
	return *state ? 0 : -1;
}

static inline int free_reader(void **state)
{
	lang_readers_free(*state);
	return 0;
}

static inline struct facts *read_bytes(void **state, const char *text,
				       size_t len)
{
	struct facts *f = lang_read(*state, "a.py", text, len);

	assert_non_null(f);
	assert_int_equal(facts_check(f, f->size), 0);
	return f;
}

static inline struct facts *read_text(void **state, const char *text)
{
	return read_bytes(state, text, strlen(text));
}

/* The result is freed with free(). */
static inline char *dump_facts(const struct facts *f, unsigned what)
{
	char *dump = NULL;
	size_t size;
	FILE *out = open_memstream(&dump, &size);

	assert_non_null(out);
	facts_dump(out, f, what);
	assert_int_equal(fclose(out), 0);
	return dump;
}

static inline void assert_dump(void **state, unsigned what, const char *text,
			       const char *expected)
{
	struct facts *f = read_text(state, text);
	char *dump = dump_facts(f, what);

	assert_string_equal(dump, expected);
	free(dump);
	free(f);
}

#endif
