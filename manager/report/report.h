/*
 * What the manager did, as JSON answers (tools/cli/report_text.h: as text).
 * STATUS, REPORT, CONTEXT and EXPLAIN (explain.h) are questions to a running
 * manager; without one, all but STATUS are answered from its archive.
 *
 * STATUS: mode, policy, passed {reason: count}.
 * REPORT (since_ns; own: of this run alone): conversations, requests,
 *   rewritten, tokens {received, sent, held, stale, refreshed, dropped,
 *   rerun, notes, evicted, retrieved}, told, placed, epochs,
 *   cache_rewrites (tokens), cost {with, without, ratio}, latency_us
 *   {p50, p99}, usage {input, cache_read, cache_write} as the provider
 *   counted, passed {reason: count}, estimated: true.
 * CONTEXT (conversation: the beginning of a key; absent: the newest):
 *   conversations [{key, client, model, requests, subagent, left_alone,
 *   stopped, records [{call, kind, path, start_line, end_line, tokens, birth,
 *   request, here, state: fresh|stale|untracked, action, why, told, place}]}].
 *
 * Tokens are estimated at four bytes each; costs are estimated from them by
 * the price table, in tokens of plain input. `held` and `stale` are summed
 * over requests: a stale record counts each time it would have been sent.
 */
#ifndef STATETAPE_MANAGER_REPORT_REPORT_H
#define STATETAPE_MANAGER_REPORT_REPORT_H

#include <cjson/cJSON.h>

struct brain;
struct archive;

/*
 * Answer a question from the manager's socket, as a wire_handler
 * (tape/wire/wire.h) does; called from the wire server's thread. The proxy adds
 * its own part of STATUS ("edge"). -ENOSYS: there is no such question.
 */
int report_answer(struct brain *b, const char *ask, const cJSON *question,
		  cJSON *answer);
/* The same from the archive alone, all but STATUS. */
int report_from(struct archive *m, const char *ask, const cJSON *question,
		cJSON *answer);

#endif
