/*
 * One request before and after, and the requests of a conversation; from the
 * archive alone.
 *
 * EXPLAIN (conversation: the beginning of a key; absent: the newest; request:
 *   its number in the conversation, as CONTEXT has it; absent: all of them):
 *   conversation, client, model, and either
 *   requests [{request, at_ns, outcome, withheld, epoch, tokens {received,
 *     sent, held, stale, notes, refreshed, dropped, rerun, evicted,
 *     retrieved}, notified, replaced, notes_sent, replacements_sent,
 *     cost {with, without}, latency_us}], or
 *   request {the same, decisions [{call, what, action, place, form, why,
 *     entry, before, after, text, cut}]}.
 *   Without the conversation, or the request, that member is absent.
 *
 * `outcome` is what the manager made of it; `withheld` says why the request
 * received was sent all the same. `before` and `after` are bytes: of the
 * record's text as it was sent until then, and of the text put in, of which
 * `text` is the beginning (`cut`: not all of it).
 */
#ifndef STATETAPE_MANAGER_REPORT_EXPLAIN_H
#define STATETAPE_MANAGER_REPORT_EXPLAIN_H

#include <stdio.h>

#include <cjson/cJSON.h>

struct archive;

/* -ENOTSUP: an older program's archive, which no manager has opened since. */
int explain_answer(struct archive *m, const cJSON *question, cJSON *answer);

/* For a person, from an answer that has what was asked for. */
void explain_print(FILE *out, const cJSON *answer);

#endif
