/*
 * Arbitrary bytes as a shell command. It always gets a meaning, in memory
 * linear in its length.
 */
#include "manager/record/shell.h"
#include "tests/fuzz/manager_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct arena a = { 0 };
	struct shell_meaning m;
	uint32_t i;

	must(shell_understand(len > 0 ? (const char *)data : "", len, "/r", &a,
			      &m) == 0);
	must(m.act <= SHELL_UNKNOWN);
	must(m.act != SHELL_PRINT || m.files_count > 0);
	for (i = 0; i < m.files_count; i++)
		must(m.files[i].path[0] == '/');
	must(a.bytes <= ((size_t)1 << 20) + 4096 * len);
	arena_release(&a);
	return 0;
}
