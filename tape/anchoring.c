/*
 * When the tape hands a checkpoint to its anchors: at its start, if it has
 * entries (the last process may have been killed before it could), every
 * `anchor_every` entries, when a run asks for it at its end (ANCHOR), and at
 * its own end.
 */
#include <stdio.h>
#include <string.h>

#include "graph/base/clock.h"
#include "graph/base/json.h"
#include "tape/anchor/anchor.h"
#include "tape/anchor/checkpoint.h"
#include "tape/daemon_i.h"
#include "tape/store/store.h"
#include "tape/wire/state.h"

int anchoring_open(struct tape *t)
{
	if (!t->c->anchors)
		return 0;
	return anchors_open(t->c->anchors, t->c->state->repo, tape_say,
			    &t->anchors);
}

void anchoring_close(struct tape *t)
{
	anchors_close(t->anchors);
	t->anchors = NULL;
}

void anchoring_put(struct tape *t)
{
	struct checkpoint c = { .tape = store_tape(t->store),
				.n = store_head(t->store),
				.at_ns = clock_wall_ns() };

	if (!t->anchors || c.n == t->anchored)
		return;
	(void)snprintf(c.repo, sizeof(c.repo), "%s", t->c->state->id);
	memcpy(c.chain, store_chain_head(t->store), sizeof(c.chain));
	anchors_put(t->anchors, &c);
	t->anchored = c.n;
}

void anchoring_step(struct tape *t)
{
	uint64_t every = t->c->anchor_every ? t->c->anchor_every : ANCHOR_EVERY;

	if (t->anchors && store_head(t->store) - t->anchored >= every)
		anchoring_put(t);
}

int anchoring_ask(void *ctx, cJSON *answer)
{
	struct tape *t = ctx;

	anchoring_put(t);
	json_put_number(answer, "n", store_head(t->store));
	return 0;
}

void anchoring_status(struct tape *t, cJSON *answer)
{
	struct anchor_stats all[ANCHORS_MAX];
	cJSON *list = cJSON_AddArrayToObject(answer, "anchors"), *o;
	size_t count = t->anchors ? anchors_stat(t->anchors, all) : 0;

	for (size_t i = 0; i < count; i++) {
		o = json_push_object(list);
		json_put_bytes(o, "anchor", all[i].name);
		json_put_number(o, "n", all[i].n);
		json_put_number(o, "delivered", all[i].delivered);
		json_put_number(o, "failed", all[i].failed);
		if (*all[i].why)
			json_put_text(o, "why", all[i].why);
	}
}
