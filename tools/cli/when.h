/*
 * Times as people write them: "2026-01-02", "2026-01-02 03:04:05" (local, or
 * UTC with a Z behind it), "now", "today", "yesterday", "20 minutes ago". Pure
 * except for the time zone.
 */
#ifndef STATETAPE_TOOLS_CLI_WHEN_H
#define STATETAPE_TOOLS_CLI_WHEN_H

#include <stddef.h>
#include <stdint.h>

/* Nanoseconds of CLOCK_REALTIME. -EINVAL: not a time. */
int when_parse(const char *text, int64_t now_ns, int64_t *ret);

#define WHEN_TEXT_SIZE 32

/*
 * "2026-01-02 03:04:05", local; with `fine`, milliseconds too. `size` is at
 * least WHEN_TEXT_SIZE.
 */
void when_text(int64_t ns, int fine, char *out, size_t size);

#endif
