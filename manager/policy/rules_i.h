/* Private to rules*.c. */
#ifndef STATETAPE_MANAGER_POLICY_RULES_I_H
#define STATETAPE_MANAGER_POLICY_RULES_I_H

#include <stdbool.h>
#include <stdint.h>

#include "graph/base/arena.h"
#include "graph/base/array.h"
#include "graph/base/intern.h"
#include "manager/policy/policy.h"
#include "tape/wire/client.h"

#define RULES_NONE UINT32_MAX

/* A file that records show. */
struct rules_file {
	const char *path;
	struct client_symbols symbols; /* as they are now */
	uint32_t edited;  /* the newest edit of it, a record; RULES_NONE */
	uint32_t seen;	  /* the newest record that shows or edits it */
	bool said, asked; /* named in the newest words, in the task */
	bool test;
	bool there; /* it exists, and has a language */
};

/* Steps in the graph from what was edited last; RULES_FAR: more than two. */
#define RULES_FAR 3

/* An edit, by the record and its lines as numbered now. */
struct rules_edit {
	uint32_t record, file;
	uint32_t start, end;
};

/* What the agent is at. */
struct rules_focus {
	const struct policy_in *in;
	ARRAY(struct rules_file) files;
	uint32_t *file_of;		/* per record; RULES_NONE */
	ARRAY(struct rules_edit) edits; /* oldest first */
	struct intern *said;		/* names in the newest words */
	struct intern *asked;		/* names in the task */
	struct intern *names;		/* symbols near by */
	ARRAY(uint8_t) steps;		/* to each, by number in `names` */
	struct arena arena;
};

int rules_focus_init(struct rules_focus *f, const struct policy_in *in);
void rules_focus_release(struct rules_focus *f);
uint8_t rules_steps_to(const struct rules_focus *f, const char *symbol);
/* Is the last part of the symbol's name one of `names`? */
bool rules_is_named(const struct intern *names, const char *symbol);

/* What a record is judged by, in this order; tools/bench/fit reads the names.
 */
enum rules_feature {
	RF_ONE,	   /* 1 */
	RF_AGE,	   /* requests since it came, as a logarithm */
	RF_BEHIND, /* records behind it, as a logarithm */
	RF_READ,   /* its kind, one of four, or none of these */
	RF_EDIT,
	RF_RUN,
	RF_SEARCH,
	RF_TEST,	/* of a file of tests */
	RF_SIZE,	/* tokens, as a logarithm */
	RF_LINES,	/* lines, as a logarithm */
	RF_STALE_TEXT,	/* nominated because its text changed */
	RF_STALE_LINKS, /* only its calls or constants did */
	RF_STALE_RUN,
	RF_NO_EDITS,	/* nothing was edited yet */
	RF_EDITED_FILE, /* its file was edited */
	RF_FILE_SAID,	/* its file is named in the newest words */
	RF_FILE_ASKED,	/* in the task */
	RF_ASKED,	/* one of its symbols is named in the task */
	RF_AT_EDIT,	/* it shows lines of the newest edit */
	RF_NEAR_EDIT,	/* how near it is to that, by lines */
	RF_SHOWN_LATER, /* share of its lines that a later record shows */
	RF_STILL,	/* share of its lines that are as it shows them */
	RF_WHOLE,	/* share of its definitions that are */
	RF_STEP_0,	/* one of these was edited last */
	RF_STEP_1,	/* or is one or two steps from that */
	RF_STEP_2,
	RF_FRESH, /* how lately one of its symbols was shown */
	/* Products of two of the above. */
	RF_NO_EDITS_BEHIND,
	RF_EDITED_BEHIND,
	RF_EDITED_STILL,
	FEATURES
};
_Static_assert(FEATURES <= POLICY_FEATURES, "room for the fit");

void rules_features(const struct rules_focus *f, uint32_t record, double *ret);

/* rules_weights.c, which tools/bench/fit writes. */
extern const double rules_weights[FEATURES];
extern const double rules_threshold;

#endif
