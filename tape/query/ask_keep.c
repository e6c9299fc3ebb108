/*
 * HOLD and RETIRE: what is kept, what is deleted.
 *
 * Holds are kept here and in the store, so that a restarted tape deletes
 * nothing that a client still needs. A holder renews its hold with every
 * request; the store is written only if that changes something.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/base/clock.h"
#include "tape/query/answers_i.h"
#include "tape/store/store.h"

#define MS_PER_DAY INT64_C(86400000)
/*
 * A renewal that extends a hold by less than this fraction of it is not
 * written.
 */
#define HOLD_SLACK 16

uint64_t answers_held(const struct answers *a)
{
	uint64_t oldest = UINT64_MAX;
	int64_t now = clock_wall_ms();

	for (uint32_t k = 0; k < a->holds.count; k++)
		if (a->holds.at[k].until_ms > now && a->holds.at[k].n < oldest)
			oldest = a->holds.at[k].n;
	return oldest;
}

static void forget_holds(struct answers *a)
{
	int64_t now = clock_wall_ms();
	uint32_t kept = 0;

	for (uint32_t k = 0; k < a->holds.count; k++) {
		if (a->holds.at[k].until_ms > now)
			a->holds.at[kept++] = a->holds.at[k];
		else
			free(a->holds.at[k].holder);
	}
	a->holds.count = kept;
}

/*
 * Find or add the hold of `holder`; a new one has until_ms 0. NULL: too many.
 */
static struct answers_hold *hold_of(struct answers *a, const char *holder)
{
	struct answers_hold *h;

	for (uint32_t k = 0; k < a->holds.count; k++)
		if (strcmp(a->holds.at[k].holder, holder) == 0)
			return &a->holds.at[k];
	if (a->holds.count >= HOLDERS_MAX)
		return NULL;
	h = array_add(&a->holds);
	assert(a->holds.count <= HOLDERS_MAX);
	h->holder = must_strdup(holder);
	return h;
}

static int load_hold(const char *holder, uint64_t n, int64_t until_ms,
		     void *arg)
{
	struct answers_hold *h = hold_of(arg, holder);

	if (h) {
		h->n = n;
		h->until_ms = until_ms;
	}
	return 0;
}

int answers_load_holds(struct answers *a)
{
	return store_holds(a->config.store, load_hold, a);
}

int ask_hold(struct answers *a, const cJSON *q, cJSON *ret)
{
	const char *holder = json_string(q, "holder");
	uint64_t ttl = json_number(q, "ttl_ms", 0);
	uint64_t n = json_number(q, "n", VERSION_NOW);
	struct answers_hold *h;
	int64_t until;

	if (!a->config.sync)
		return answers_refuse_offline(ret);
	if (!*holder || strlen(holder) > HOLDER_MAX)
		return answers_refuse(
			ret, -EINVAL,
			"\"holder\" of HOLD must have 1 to %d bytes.",
			HOLDER_MAX);
	forget_holds(a);
	h = hold_of(a, holder);
	if (!h)
		return answers_refuse(ret, -ENOSPC,
				      "The tape has too many holders already.");
	if (ttl > HOLD_MAX_MS)
		ttl = HOLD_MAX_MS;
	until = clock_wall_ms() + (int64_t)ttl;
	if (h->until_ms && h->n == n && until >= h->until_ms &&
	    until - h->until_ms < (int64_t)ttl / HOLD_SLACK)
		return 0;
	h->n = n;
	h->until_ms = until;
	return store_put_hold(a->config.store, holder, n, until);
}

/* 0: no bound. */
static int64_t days_ago(uint64_t days)
{
	int64_t now = clock_wall_ms();

	if (!days || days > (uint64_t)(now / MS_PER_DAY))
		return 0;
	return (now - (int64_t)days * MS_PER_DAY) * NS_PER_MS;
}

int answers_retire(struct answers *a, uint64_t days, uint64_t bytes,
		   struct store_retired *ret)
{
	return store_retire(a->config.store, days_ago(days), bytes,
			    answers_held(a), ret);
}

int ask_retire(struct answers *a, const cJSON *q, cJSON *ret)
{
	uint64_t days = json_number(q, "days", 0);
	uint64_t bytes = json_number(q, "bytes", 0);
	struct store_retired gone;
	int r;

	if (!a->config.sync)
		return answers_refuse_offline(ret);
	if (!days && !bytes)
		return answers_refuse(ret, -EINVAL,
				      "RETIRE wants \"days\" or \"bytes\".");
	r = answers_retire(a, days, bytes, &gone);
	if (r < 0)
		return r;
	json_put_number(ret, "contents", gone.contents);
	json_put_number(ret, "entries", gone.entries);
	json_put_number(ret, "bytes", gone.bytes);
	return 0;
}
