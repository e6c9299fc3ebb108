/*
 * Written by tools/bench/fit, on 52 public sessions with 13267 records
 * at their decision points.
 * CE of sessions left out of the fit, by share cleared;
 * code: 6.1 at 60 %, 5.8 at 70 %, 5.2 at 80 %, 4.7 at 85 %
 * behaviour: 22.0 at 60 %, 14.7 at 70 %, 9.7 at 80 %, 7.8 at 85 %
 */
#include "manager/policy/rules_i.h"

const double rules_weights[FEATURES] = {
	[RF_ONE] = -2.7211,	     [RF_AGE] = -0.1554,
	[RF_BEHIND] = -0.4308,	     [RF_READ] = -0.6492,
	[RF_EDIT] = -0.7995,	     [RF_RUN] = -0.6529,
	[RF_SEARCH] = 0.7770,	     [RF_TEST] = -0.9076,
	[RF_SIZE] = 0.7044,	     [RF_LINES] = 0.3734,
	[RF_STALE_TEXT] = -0.6814,   [RF_STALE_LINKS] = 0.3896,
	[RF_STALE_RUN] = -0.9785,    [RF_NO_EDITS] = 0.6363,
	[RF_EDITED_FILE] = 0.4770,   [RF_FILE_SAID] = 0.1363,
	[RF_FILE_ASKED] = 0.7889,    [RF_ASKED] = -0.0069,
	[RF_AT_EDIT] = -0.0546,	     [RF_NEAR_EDIT] = -0.1341,
	[RF_SHOWN_LATER] = 0.2361,   [RF_STILL] = -0.0857,
	[RF_WHOLE] = 0.4685,	     [RF_STEP_0] = 0.8922,
	[RF_STEP_1] = 0.9422,	     [RF_STEP_2] = 0.1986,
	[RF_FRESH] = 2.7037,	     [RF_NO_EDITS_BEHIND] = -0.1678,
	[RF_EDITED_BEHIND] = 0.1183, [RF_EDITED_STILL] = -0.5023,
};
const double rules_threshold = 0.8;
