/*
 * Arbitrary bytes as a line of a log, and as a list of anchors. A checkpoint
 * that is found, printed and found again is the same.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "tape/anchor/anchor.h"
#include "tape/anchor/checkpoint.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check(const struct checkpoint *c)
{
	char line[CHECKPOINT_LINE_MAX];
	struct checkpoint again;

	checkpoint_print(c, line);
	if (!checkpoint_parse(line, &again) ||
	    strcmp(c->repo, again.repo) != 0 || c->tape != again.tape ||
	    c->n != again.n || c->at_ns != again.at_ns ||
	    memcmp(c->chain, again.chain, sizeof(c->chain)) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *text = must_memdup((const char *)data, len);
	struct checkpoint c;
	char *why = NULL;

	if (checkpoint_parse(text, &c))
		check(&c);
	if (!anchors_check(text, &why) && !why)
		abort();
	free(why);
	free(text);
	return 0;
}
