/*
 * Answers about single requests, from the archive.
 *
 * EXPLAIN (conversation: the beginning of a key; absent: the newest; request:
 *   its number in the conversation, as in CONTEXT; absent: all):
 *   conversation, client, model, and either
 *   requests [{request, at_ns, outcome, withheld, epoch, tokens {received,
 *     sent, held, stale, notes, refreshed, dropped, rerun, evicted,
 *     retrieved}, notified, replaced, notes_sent, replacements_sent,
 *     cost {with, without}, latency_us}], or
 *   request {the same, decisions [{call, what, action, place, form, why,
 *     entry, before, after, text, cut}]}.
 *   If the conversation or the request does not exist, that member is absent.
 *
 * `withheld` says why the request received was sent though `outcome` is
 * "rewritten". `before` and `after` are bytes: of the record's text as sent so
 * far, and of the text put in, of which `text` is the beginning (`cut`: not
 * all).
 */
#ifndef STATETAPE_MANAGER_REPORT_EXPLAIN_H
#define STATETAPE_MANAGER_REPORT_EXPLAIN_H

#include <stdio.h>

#include <cjson/cJSON.h>

struct archive;

/* -ENOTSUP: an archive of version 1, which keeps no decisions. */
int explain_answer(struct archive *m, const cJSON *question, cJSON *answer);

/* Print an answer that has `request` or `requests`. */
void explain_print(FILE *out, const cJSON *answer);

#endif
