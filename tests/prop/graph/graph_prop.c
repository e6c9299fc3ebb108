/*
 * Incremental equals rebuilt. A repository in memory is edited at random;
 * after every step the graph that followed all edits must equal the one built
 * from the present texts, symbol for symbol and edge for edge, and its delta
 * must be the difference between all of before and all of after. Now and then
 * it is saved and loaded, and the edits go on with the loaded one.
 *
 * Usage: graph_prop [SEED]. Environment:
 *   GRAPH_DATA	   directory of the cases (tests/data/graph)
 *   GRAPH_CORPUS  a directory of real Python files, to be used as well
 *   GRAPH_RUNS	   number of repositories
 *   GRAPH_STEPS   steps in each
 *   GRAPH_TELL    name every step before it is done
 * A failure is shrunk, and printed as the operations that lead to it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "graph/base/cleanup.h"
#include "tests/prop/graph/edits.h"

static uint64_t number_from(const char *name, uint64_t otherwise)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread. */
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 10) : otherwise;
}

/* Some groups of texts as they are, and some generated modules. */
static void begin(struct dice *d, const struct source *s, op_list *ops)
{
	uint32_t groups = (uint32_t)dice_below(d, 6) + (s->groups > s->tree);
	uint64_t some = dice_roll(d);

	for (; groups; groups--) {
		uint32_t group = (uint32_t)dice_below(d, s->tree);

		if (groups < 3 && s->groups > s->tree)
			group = s->tree +
				(uint32_t)dice_below(d, s->groups - s->tree);
		for (uint32_t k = 0; k < s->texts.count; k++)
			if (s->texts.at[k].group == group)
				op_add(ops, OP_PUT, s->texts.at[k].path, NULL,
				       s->texts.at[k].text);
	}
	for (unsigned n = 0; n < MADE_MODULES; n++) {
		CLEANUP(free_p) char *text = made_text(d, n);

		/* Few or many: small repositories have less noise. */
		if (n && !(some >> n & 1) && some >> 32 & 3)
			continue;
		op_add(ops, OP_PUT, made_path(n), NULL, text);
	}
	ops->at[ops->count - 1].settle = true;
}

/* Report a failure, as it was found and shrunk. */
static void tell_failure(op_list *ops, struct lang_readers *r)
{
	struct world w;

	op_list_shrink(ops, r);
	world_init(&w, r);
	for (uint32_t k = 0; k < ops->count; k++) {
		op_tell(&ops->at[k], stdout);
		if (!world_do(&w, &ops->at[k], stdout))
			break;
	}
	world_release(&w);
}

struct tally {
	uint64_t steps, edits, partial, again;
};

static bool run(uint64_t seed, const struct source *source,
		struct lang_readers *r, struct tally *tally)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread. */
	bool tell = getenv("GRAPH_TELL");
	uint64_t steps = number_from("GRAPH_STEPS", 40);
	struct dice d = { seed };
	struct world w;
	struct editor e = { .dice = &d, .world = &w, .source = source };
	struct rules rules = { .dice = &d };
	op_list ops = { .at = NULL };
	const char *what = "begin";
	uint32_t done = 0;
	bool good = true;

	world_init(&w, r);
	if (seed % 2) {
		rules_init(&rules, &d);
		e.rules = &rules;
		rules_write(&rules, &w, &ops);
		ops.at[ops.count - 1].settle = true;
	} else {
		begin(&d, source, &ops);
	}
	for (uint64_t step = 0;; step++) {
		if (tell)
			(void)printf("seed %" PRIu64 ", step %" PRIu64
				     ": %s %s\n",
				     seed, step, what, ops.at[done].path);
		while (good && done < ops.count)
			good = world_do(&w, &ops.at[done++], stdout);
		if (!good)
			(void)printf("seed %" PRIu64 ", step %" PRIu64 ": %s\n",
				     seed, step, what);
		if (!good || step == steps)
			break;
		what = editor_step(&e, &ops);
		ops.at[ops.count - 1].again = dice_below(&d, 3) == 0;
	}
	if (!good)
		tell_failure(&ops, r);
	tally->steps += steps;
	tally->edits += w.edits;
	tally->partial += w.partial;
	tally->again += w.again;
	op_list_release(&ops);
	editor_release(&e);
	rules_release(&rules);
	world_release(&w);
	return good;
}

int main(int argc, char **argv)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread. */
	const char *data = getenv("GRAPH_DATA"),
		   *corpus = getenv("GRAPH_CORPUS");
	uint64_t seed =
		argc > 1 ? strtoull(argv[1], NULL, 10) : (uint64_t)time(NULL);
	uint64_t runs = number_from("GRAPH_RUNS", 60);
	struct lang_readers *r = lang_readers_new();
	struct source source = { .groups = 0 };
	struct tally tally = { 0 };
	bool good = true;

	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	(void)printf("seed %" PRIu64 "\n", seed);
	if (source_add_cases(&source, data ? data : "tests/data/graph") < 0 ||
	    (corpus && source_add_tree(&source, corpus) < 0)) {
		(void)printf("no texts to begin with\n");
		good = false;
	}
	for (uint64_t k = 0; good && k < runs; k++)
		good = run(seed + k, &source, r, &tally);
	(void)printf("%" PRIu64 " steps, %" PRIu64 " edits, %" PRIu64
		     " read in part; saved and loaded %" PRIu64 " times\n",
		     tally.steps, tally.edits, tally.partial, tally.again);
	source_release(&source);
	lang_readers_free(r);
	return good ? 0 : 1;
}
