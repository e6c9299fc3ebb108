/*
 * What a manager did, as answers and as text. STATUS, REPORT, CONTEXT and
 * EXPLAIN (explain.h) are questions to a running manager; without one, all but
 * STATUS are answered from its archive.
 *
 * STATUS: mode, policy, passed {reason: count}.
 * REPORT (since_ns): conversations, requests, rewritten, tokens {received,
 *   sent, held, stale, refreshed, dropped, rerun, notes, evicted, retrieved},
 *   told, placed, epochs, cache_rewrites (tokens), cost {with, without, ratio},
 *   latency_us {p50, p99}, usage {input, cache_read, cache_write} as the
 *   provider counted, passed {reason: count}, estimated: true.
 * CONTEXT (conversation: the beginning of a key; absent: the newest):
 *   conversations [{key, client, model, requests, subagent, left_alone,
 *   stopped, records [{call, kind, path, start, end, tokens, birth, request,
 *   here, state: fresh|stale|untracked, action, why, told, place}]}].
 *
 * Tokens are estimated at four bytes each, and so are costs: in tokens of
 * plain input by the price table. `held` and `stale` are summed over
 * requests: a stale record counts each time it would have been sent.
 */
#ifndef STATETAPE_MANAGER_REPORT_REPORT_H
#define STATETAPE_MANAGER_REPORT_REPORT_H

#include <stdio.h>

#include <cjson/cJSON.h>

struct brain;
struct archive;

/*
 * A question that came over the manager's socket (tape/wire/wire.h), from a
 * thread of its own: STATUS, REPORT, CONTEXT, EXPLAIN. Fills `answer` as a
 * wire_handler does; of STATUS the HTTP side answers its own part ("edge")
 * besides. -ENOSYS: there is no such question.
 */
int report_answer(struct brain *b, const char *ask, const cJSON *question,
		  cJSON *answer);
/* From the archive alone. -ENOSYS: no such question. */
int report_from(struct archive *m, const char *ask, const cJSON *question,
		cJSON *answer);

/* For a person, from a REPORT or CONTEXT answer. */
void report_print(FILE *out, const cJSON *answer);
void report_print_context(FILE *out, const cJSON *answer);

#endif
