/*
 * Compares a unit of two facts, with all units inside it. By content, not by
 * numbers: the two may number strings and units differently.
 */
#ifndef STATETAPE_TESTS_SUPPORT_FACTS_SAME_H
#define STATETAPE_TESTS_SUPPORT_FACTS_SAME_H

#include <stdint.h>

#include "graph/facts/facts.h"

/*
 * NULL, or the name of what differs. Of the two units themselves, places and
 * UNIT_CONDITIONAL are not compared.
 */
const char *facts_differ(const struct facts *a, uint32_t i,
			 const struct facts *b, uint32_t j);

#endif
