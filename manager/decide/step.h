/*
 * The question TURN, by which the tape learns what a request belongs to: its
 * turn, the process that made it, and the tool calls in its reply. A turn
 * begins with a prompt of the user and lasts until the next one.
 *
 * It is asked after the reply, so no request waits for it. If it fails, entries
 * made meanwhile have no turn.
 */
#ifndef STATETAPE_MANAGER_DECIDE_STEP_H
#define STATETAPE_MANAGER_DECIDE_STEP_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

struct conversation;
struct roots;
struct sse_seen;
struct transcript;

/*
 * The question for a request that was received at `at_ns` (cJSON_Delete it).
 * NULL: the user has asked for nothing in it. `words`: with the first words of
 * the prompt.
 */
cJSON *step_begin(const struct conversation *c, const struct transcript *t,
		  int64_t at_ns, bool words);
/*
 * Two agents that were asked the same, without an id of their own, are one
 * conversation to us, and two to the tape: tell them apart by their process.
 */
void step_of_process(cJSON *step, uint32_t pid, uint64_t start);
/* Add the reply's calls, which may have begun at `at_ns`. */
void step_add_calls(cJSON *step, const struct sse_seen *seen,
		    const struct roots *roots, int64_t at_ns);

#endif
