/*
 * A tape that is told what happened, instead of seeing it: for sessions that
 * are over (replay) or were made up (benchmarks, tests). It answers the
 * questions of tape/wire/client.h.
 *
 * It has no code graph. A record is nominated when lines it showed read
 * otherwise now, whatever language they are in; what changed only in meaning
 * escapes it. SYMBOLS knows one symbol per file.
 *
 * Any thread may call.
 */
#ifndef STATETAPE_MANAGER_REPLAY_RECORDED_H
#define STATETAPE_MANAGER_REPLAY_RECORDED_H

#include <cjson/cJSON.h>
#include <stddef.h>
#include <stdint.h>

struct recorded;

struct recorded *recorded_new(void);
void recorded_free(struct recorded *r);

/* `path` holds `text` from before the beginning. */
void recorded_base(struct recorded *r, const char *path, const char *text,
		   size_t len);
/* It is written (NULL: deleted) by `who`; the entry's number. */
uint64_t recorded_write(struct recorded *r, const char *path, const char *text,
			size_t len, const char *who);
/* What it holds; NULL: it is not there. Good until the next call. */
const char *recorded_text(struct recorded *r, const char *path,
			  size_t *ret_len);
/* A command's process read `path` at that time. */
void recorded_read(struct recorded *r, uint32_t pid, int64_t at_ns,
		   const char *path);

/* A wire_transport; `recorded` is a struct recorded. */
int recorded_ask(void *recorded, const char *ask, const cJSON *question,
		 int timeout_ms, cJSON **ret);

#endif
