/* Shared by the manager's fuzzers. */
#ifndef STATETAPE_TESTS_FUZZ_MANAGER_FUZZ_H
#define STATETAPE_TESTS_FUZZ_MANAGER_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static inline void must(bool holds)
{
	if (!holds)
		abort();
}

#endif
