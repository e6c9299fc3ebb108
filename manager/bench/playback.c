#include "manager/bench/playback.h"

#include <errno.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/base/clock.h"
#include "manager/bench/body.h"
#include "manager/bench/trace.h"
#include "manager/bench/world.h"
#include "manager/decide/brain.h"
#include "manager/decide/plan.h"

#define BODY_MOST ((size_t)64 << 20)
#define TRIES	  200

struct playing {
	const struct playback *p;
	struct brain *brain;
	struct body body;
	struct buf whole; /* the request being made */
	struct prediction made;
	bool asked; /* a decision point is next: the plan is to be taken */
	bool planned;
};

/* -- What the policy chose, from the plan. */

static enum leaving leaving_of(const struct held *h)
{
	switch (h->action) {
	case ACTION_REFRESH:
		return LEAVING_REFRESH;
	case ACTION_DROP:
		return LEAVING_DROP;
	case ACTION_RERUN:
		return LEAVING_RERUN;
	case ACTION_KEEP:
		return h->evict ? LEAVING_EVICT : LEAVING_NOT;
	case ACTION_ANNOTATE:
	case ACTIONS:
		break;
	}
	return LEAVING_NOT;
}

static void take_refresh(struct playing *g, struct plan *plan,
			 const struct held *h, uint32_t record)
{
	struct plan_ranges shown = { 0 };
	const char *path = plan_name(plan, h);

	plan_refresh_lines(plan, h, &shown);
	/* What cannot be shown again is dropped. */
	if (!shown.count)
		g->made.leaving.at[record] = LEAVING_DROP;
	for (uint32_t i = 0; i < shown.count; i++)
		prediction_add(&g->made, path, shown.at[i].first + 1,
			       shown.at[i].last, record);
	array_release(&shown);
}

/* What the decision about record `i` of the plan was made of. */
static void take_rank(struct playing *g, const struct plan *plan, uint32_t i,
		      uint32_t record)
{
	struct prediction *p = &g->made;

	if (!p->rank.count) {
		p->features_each = POLICY_FEATURES;
		for (uint32_t k = 0; k < p->leaving.count; k++)
			array_push(&p->rank, 0);
		for (uint32_t k = 0; k < p->leaving.count * POLICY_FEATURES;
		     k++)
			array_push(&p->features, 0);
	}
	p->rank.at[record] = plan->rank[i];
	memcpy(p->features.at + (size_t)record * POLICY_FEATURES,
	       plan->features + (size_t)i * POLICY_FEATURES,
	       POLICY_FEATURES * sizeof(double));
}

static void take_plan(void *ctx, struct plan *plan)
{
	struct playing *g = ctx;

	g->planned = true;
	if (!g->asked)
		return;
	for (uint32_t i = 0; i < plan->r->count; i++) {
		const struct held *h = plan->held[i];
		uint32_t record = trace_find(g->p->trace, h->key);

		if (record >= g->made.leaving.count)
			continue;
		g->made.leaving.at[record] = (uint8_t)leaving_of(h);
		take_rank(g, plan, i, record);
		if (g->made.leaving.at[record] == LEAVING_REFRESH)
			take_refresh(g, plan, h, record);
	}
}

/* -- The session. */

static void try(struct playing *g)
{
	struct request r = { .method = "POST",
			     .target = "/v1/messages",
			     .at_ns = clock_wall_ns(),
			     .deadline_ns = INT64_MAX,
			     .body = g->whole.data,
			     .len = g->whole.len };
	struct turn *turn;
	size_t len;

	(void)brain_think(g->brain, &r, &len, &turn);
	turn_end(turn, true);
}

/*
 * A live request does not wait for a tape that is late, and is decided with the
 * next one. Here it is asked again, so that a busy machine changes no figure.
 */
static int request(struct playing *g)
{
	body_turn(&g->body);
	body_whole(&g->body, &g->whole);
	g->planned = false;
	for (int i = 0; i < TRIES && !g->planned; i++)
		try(g);
	return g->planned ? 0 : -ETIMEDOUT;
}

static int decide_at(struct playing *g, const struct trace_point *at)
{
	int rc;

	prediction_init(&g->made, at->held);
	g->asked = true;
	rc = request(g);
	g->asked = false;
	if (rc == 0)
		rc = g->p->decided(g->p->ctx, at, &g->made);
	prediction_release(&g->made);
	return rc;
}

static int add_record(struct playing *g, uint32_t i)
{
	const struct trace_record *r = &g->p->trace->records.at[i];
	int rc = 0;

	world_apply(g->p->world, r);
	if (r->op != OP_NONE && r->op != OP_EXTERNAL)
		rc = g->p->wrote(g->p->ctx, g->p->world, r->file);
	body_add(&g->body, i, g->p->world);
	return rc;
}

static int play(struct playing *g)
{
	const struct trace *t = g->p->trace;
	uint32_t point = 0;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i <= t->records.count; i++) {
		while (rc == 0 && point < t->points.count &&
		       t->points.at[point].held == i)
			rc = decide_at(g, &t->points.at[point++]);
		if (rc < 0 || i == t->records.count)
			break;
		if (i && t->records.at[i].turn != t->records.at[i - 1].turn)
			rc = request(g);
		if (rc == 0)
			rc = add_record(g, i);
	}
	return rc;
}

int playback_run(const struct playback *p, char **ret_why)
{
	struct playing g = { .p = p, .whole = BUF(BODY_MOST) };
	struct brain_options o = { .repo = p->repo,
				   .mode = MODE_OFF,
				   .policy = p->policy,
				   .ask = p->ask,
				   .ask_ctx = p->ask_ctx,
				   .planned = take_plan,
				   .planned_ctx = &g,
				   .no_prompts = true };
	int rc = brain_new(&o, &g.brain, ret_why);

	if (rc < 0)
		return rc;
	body_init(&g.body, p->trace);
	rc = play(&g);
	if (rc < 0)
		*ret_why = format_text("'%s' could not be played: %s",
				       p->trace->name, strerrordesc_np(-rc));
	body_release(&g.body);
	buf_release(&g.whole);
	brain_free(g.brain);
	return rc;
}
