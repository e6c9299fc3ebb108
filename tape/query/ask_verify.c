/*
 * VERIFY and ANCHOR. The findings of store_verify(), the first of each kind
 * with a count. One cause, as a table that was deleted, has as many findings as
 * the tape has entries.
 */
#include <errno.h>

#include "graph/base/json.h"
#include "tape/query/answers.h"
#include "tape/query/answers_i.h"
#include "tape/store/store.h"

struct findings {
	bool all;
	cJSON *list;
	cJSON *first[FAULTS]; /* in `list` */
	uint64_t counts[FAULTS];
};

static void add_finding(enum store_fault fault, const char *sentence, void *arg)
{
	struct findings *f = arg;
	cJSON *o;

	if (f->counts[fault]++ && !f->all)
		return;
	o = json_push_object(f->list);
	json_put_text(o, "kind", store_fault_name(fault));
	json_put_bytes(o, "text", sentence);
	if (f->all)
		json_put_number(o, "count", 1);
	else
		f->first[fault] = o;
}

int answers_verify(struct store *s, bool all, cJSON *ret)
{
	struct findings f = { .all = all, .list = json_array(ret, "findings") };
	struct store_stats st;
	int found = store_verify(s, add_finding, &f);
	int r = found < 0 ? found : store_stat(s, &st);

	for (int k = 0; k < FAULTS; k++)
		if (f.first[k])
			json_put_number(f.first[k], "count", f.counts[k]);
	if (r == -EBADMSG && found > 0)
		return found; /* damaged: what is there cannot be counted */
	if (r < 0)
		return r;
	json_put_number(ret, "entries", st.entries);
	json_put_number(ret, "contents", st.contents);
	return found;
}

int ask_verify(struct answers *a, const cJSON *q, cJSON *ret)
{
	int r = answers_verify(a->config.store, false, ret);

	(void)q;
	return r < 0 ? r : 0;
}

int ask_anchor(struct answers *a, const cJSON *q, cJSON *ret)
{
	(void)q;
	if (!a->config.anchor)
		return answers_refuse_offline(ret);
	return a->config.anchor(a->config.ctx, ret);
}
