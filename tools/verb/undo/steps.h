/*
 * The steps of an intent, forwards and back. Backwards starts from any state
 * that a killed process may have left, and may itself be killed and begun anew.
 * What somebody else changed meanwhile stays as it is.
 */
#ifndef STATETAPE_TOOLS_VERB_UNDO_STEPS_H
#define STATETAPE_TOOLS_VERB_UNDO_STEPS_H

#include "tools/verb/undo/intent.h"

struct undo_plan;

/* Do the phase for all files; PHASE_STAGE takes contents from `p`. On failure a
   negative errno and the file. */
int steps_run(const struct intent *x, enum intent_phase phase, int root_fd,
	      const struct undo_plan *p, const struct intent_file **ret_failed);
/* Take back all that was done up to x->phase, and say what cannot be. */
void steps_back(const struct intent *x, int root_fd);
/* Remove directories that are empty now. */
void steps_tidy(const struct intent *x, int root_fd);

#endif
