/*
 * Bytes to small numbers and back: equal bytes have one number, numbers count
 * up from 0 and are never given up. Number 0 is the empty string.
 */
#ifndef STATETAPE_GRAPH_BASE_INTERN_H
#define STATETAPE_GRAPH_BASE_INTERN_H

#include <stddef.h>
#include <stdint.h>

#include "graph/base/region.h"

#define INTERN_NONE UINT32_MAX

struct intern;

/* Memory that cannot be had ends the process, here and in all calls. */
struct intern *intern_new(void);
struct intern *intern_new_whole(void); /* which has parts, see below */
void intern_free(struct intern *t);

uint32_t intern_add(struct intern *t, const char *text, size_t len);
/* INTERN_NONE: these bytes were never added. */
uint32_t intern_find(const struct intern *t, const char *text, size_t len);

/* NUL-terminated, at the same place for the life of the table. */
const char *intern_text(const struct intern *t, uint32_t id, size_t *ret_len);

uint32_t intern_count(const struct intern *t);
size_t intern_bytes(const struct intern *t);

/* What a whole one consists of. */
#define INTERN_PARTS 4
void intern_parts(struct intern *t, struct region_part *ret);

#endif
