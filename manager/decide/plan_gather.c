#include "manager/decide/plan.h"

void plan_gather(struct plan *p, const struct held *h, bool replace)
{
	uint32_t path;

	if (h->referents.count != 1)
		return;
	path = h->referents.at[0].path;
	(void)evidence_text(p->e, path, CLIENT_NOW);
	(void)evidence_text(p->e, path, plan_base(p, h));
	(void)evidence_text(p->e, path, h->birth);
	if (replace) {
		(void)evidence_symbols(p->e, path);
	}
}
