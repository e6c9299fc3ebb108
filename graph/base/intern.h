/*
 * Interned strings of any bytes: equal strings have the same number. Numbers
 * count up from 0 and are never reused; 0 is the empty string. One thread at a
 * time; the process ends if memory runs out.
 */
#ifndef STATETAPE_GRAPH_BASE_INTERN_H
#define STATETAPE_GRAPH_BASE_INTERN_H

#include <stddef.h>
#include <stdint.h>

#include "graph/base/region.h"

#define INTERN_NONE UINT32_MAX

struct intern;

struct intern *intern_new(void);
/* One that can be written to a file and mapped again, see intern_parts(). */
struct intern *intern_new_whole(void);
void intern_free(struct intern *t);

uint32_t intern_add(struct intern *t, const char *text, size_t len);
/* INTERN_NONE: the string was never added. */
uint32_t intern_find(const struct intern *t, const char *text, size_t len);

/* NUL-terminated; never moves while the table lives. */
const char *intern_text(const struct intern *t, uint32_t id, size_t *ret_len);

uint32_t intern_count(const struct intern *t);
size_t intern_bytes(const struct intern *t);

/* The parts of one from intern_new_whole(). */
#define INTERN_PARTS 4
void intern_parts(struct intern *t, struct region_part *ret);

#endif
