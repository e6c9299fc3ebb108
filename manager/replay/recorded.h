/*
 * A tape whose caller supplies the changes, for recorded sessions (replay) and
 * scripted ones (benchmarks, tests). It answers the questions of
 * tape/wire/client.h.
 *
 * It has no code graph: a record is nominated when lines it showed differ now,
 * in any language; a change of meaning alone is not noticed. SYMBOLS has one
 * symbol per file.
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

/* `path` has this text before the first entry. */
void recorded_base(struct recorded *r, const char *path, const char *text,
		   size_t len);
/* `who` writes `text` (NULL: deletes the file). Returns the entry's number. */
uint64_t recorded_write(struct recorded *r, const char *path, const char *text,
			size_t len, const char *who);
/* The current text, valid until the next call; NULL: no such file. */
const char *recorded_text(struct recorded *r, const char *path,
			  size_t *ret_len);
/* Process `pid` of a command read `path` at that time. */
void recorded_read(struct recorded *r, uint32_t pid, int64_t at_ns,
		   const char *path);

/* A wire_transport whose context is a struct recorded. */
int recorded_ask(void *recorded, const char *ask, const cJSON *question,
		 int timeout_ms, cJSON **ret);

#endif
