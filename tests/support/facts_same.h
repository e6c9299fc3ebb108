/*
 * Do two reads agree on a unit and all that is inside of it? By content, not
 * by numbers: the two may count strings and units differently.
 */
#ifndef STATETAPE_TESTS_SUPPORT_FACTS_SAME_H
#define STATETAPE_TESTS_SUPPORT_FACTS_SAME_H

#include <stdint.h>

#include "graph/facts/facts.h"

/*
 * NULL, or what differs. Of the two units themselves neither where they lie
 * nor UNIT_CONDITIONAL is compared.
 */
const char *facts_differ(const struct facts *a, uint32_t i,
			 const struct facts *b, uint32_t j);

#endif
