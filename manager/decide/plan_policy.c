/* The records as a policy sees them, and its answer. */
#include "manager/decide/plan.h"

#include <string.h>

#include "graph/base/alloc.h"
#include "manager/decide/cost.h"

#define RETRIEVED_MAX ((size_t)4 << 20)

/* The user's last text before the first answer. */
static struct text task_of(const struct plan *p)
{
	const struct transcript *t = p->t;
	const struct item_piece *task = NULL;

	for (uint32_t i = 0; i < t->items_count; i++) {
		const struct item *at = &t->items[i];

		if (at->kind == ITEM_ASSISTANT || at->kind == ITEM_CALL)
			break;
		if (at->kind == ITEM_USER && at->pieces_count)
			task = at->pieces;
	}
	return task ? transcript_piece(t, task, &p->r->arena)
		    : (struct text){ "", 0 };
}

static void show_lines(struct plan *p, struct held *h, struct policy_record *in)
{
	plan_lines_now(p, h);
	in->now_start = h->now_start;
	in->now_end = h->now_end;
	in->still = h->still.at;
	in->still_count = h->still.count;
	in->edited = h->kind == RECORD_EDIT &&
		     !records_read(p->r, h->record)->failed;
}

/* The records as the policy sees them, with their nominations. */
static void show_records(struct plan *p, struct policy_record *in,
			 enum action *actions)
{
	for (uint32_t i = 0; i < p->r->count; i++) {
		const struct held *h = p->held[i];

		in[i] = (struct policy_record){
			.key = h->key,
			.kind = h->file ? RECORD_READ : h->kind,
			.tokens = h->tokens,
			.age = p->c->requests - h->born_request,
			.action = h->action,
			.why = h->why,
			.entry = h->entry,
			.item = h->item,
		};
		actions[i] = h->action;
		if (h->referents.count == 1) {
			in[i].path = conversation_name(p->c,
						       h->referents.at[0].path);
			in[i].start = h->referents.at[0].start;
			in[i].end = h->referents.at[0].end;
			if (p->policy->wants_lines)
				show_lines(p, p->held[i], &in[i]);
		}
		if (h->action != ACTION_KEEP)
			in[i].superseded = plan_superseded(p, h);
	}
}

void plan_ask_policy(struct plan *p)
{
	struct policy_record *in = must_calloc(p->r->count + 1, sizeof(*in));
	enum action *actions = must_calloc(p->r->count + 1, sizeof(*actions));
	bool *evict = must_calloc(p->r->count + 1, sizeof(*evict));
	struct policy_in all = { .records = in,
				 .count = p->r->count,
				 .all = p->r,
				 .client = p->e->client,
				 .task = task_of(p),
				 .budget = plan_notes_left(p, NULL),
				 .t = p->t,
				 .features = p->features };
	struct policy_out out = { actions, evict, &p->retrieved, NULL };

	p->rank = must_calloc(p->r->count + 1, sizeof(*p->rank));
	out.rank = p->rank;

	p->retrieved = BUF(RETRIEVED_MAX);
	show_records(p, in, actions);
	if (p->policy->decide(&all, &out) < 0) {
		p->policy_failed = true;
		p->retrieved.len = 0;
		memset(evict, 0, p->r->count * sizeof(*evict));
		show_records(p, in, actions);
		(void)policy_defaults.decide(&all, &out);
	}
	if (cost_tokens(p->retrieved.len) > all.budget)
		p->retrieved.len = 0;
	for (uint32_t i = 0; i < p->r->count; i++) {
		p->held[i]->action = actions[i];
		p->held[i]->evict = evict[i] && actions[i] == ACTION_KEEP;
	}
	free(in);
	free(actions);
	free(evict);
}
