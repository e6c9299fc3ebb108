/*
 * Arbitrary bytes as a Python file. Their facts must pass facts_check(), be the
 * same when read again, and, if the file has no errors, agree with each unit
 * read alone. The same bytes taken as facts must be refused by facts_check(),
 * or be safe to follow.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/cleanup.h"
#include "graph/facts/facts.h"
#include "graph/facts/lang.h"
#include "tests/support/facts_dump.h"
#include "tests/support/facts_same.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void must(bool holds)
{
	if (!holds)
		abort();
}

static void show(const struct facts *f)
{
	static FILE *nowhere;

	if (!nowhere)
		nowhere = fopen("/dev/null", "we");
	must(nowhere != NULL);
	facts_dump(nowhere, f, DUMP_ALL);
}

/* `starts`: where the units before it begin, from the start of the file. */
static void read_alone(struct lang_readers *r, const struct facts *f,
		       const char *text, uint32_t i, uint32_t *starts)
{
	const struct facts_unit *u = &facts_units(f)[i];
	const struct facts_unit *parent = u - u->parent;
	CLEANUP(free_p) struct facts *alone = NULL;
	size_t indent = 0;

	starts[i] = starts[i - u->parent] + u->start;
	while (indent < starts[i] && (text[starts[i] - indent - 1] == ' ' ||
				      text[starts[i] - indent - 1] == '\t'))
		indent++;
	alone = lang_read_unit(r, "a.py", text + starts[i], u->end - u->start,
			       indent, parent->kind == UNIT_CLASS);
	if (!alone)
		return;
	must(facts_check(alone, alone->size) == 0);
	must(!facts_differ(f, i, alone, 0));
}

static void read_file(struct lang_readers *r, const char *text, size_t len)
{
	CLEANUP(free_p) struct facts *f = lang_read(r, "a.py", text, len);
	CLEANUP(free_p) struct facts *g = lang_read(r, "a.py", text, len);
	CLEANUP(free_p) uint32_t *starts = NULL;

	must(f && g && facts_check(f, f->size) == 0);
	must(f->size == g->size && !memcmp(f, g, f->size));
	show(f);
	starts = calloc(f->units_count, sizeof(*starts));
	must(starts != NULL);
	for (uint32_t i = 1; !f->broken && !f->joined && i < f->units_count;
	     i++)
		read_alone(r, f, text, i, starts);
}

/* Size and language are set, or facts_check() would refuse nearly all. */
static void read_facts(const uint8_t *data, size_t len)
{
	CLEANUP(free_p) struct facts *f = NULL;
	const uint32_t size = (uint32_t)len;

	if (len < sizeof(*f))
		return;
	f = malloc(len);
	must(f != NULL);
	memcpy(f, data, len);
	memcpy(f, &size, sizeof(size));
	f->lang = lang_python.id;
	if (facts_check(f, len) == 0)
		show(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct lang_readers *r;
	CLEANUP(free_p) char *text = malloc(len + 1);

	if (!r)
		r = lang_readers_new();
	must(r && text);
	memcpy(text, data, len);
	text[len] = '\0';
	read_file(r, text, len);
	read_facts(data, len);
	return 0;
}
