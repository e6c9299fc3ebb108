/*
 * Building and reading JSON with cJSON. Building cannot fail: the process ends
 * if memory runs out. fs/, which lives on, may only read with it.
 */
#ifndef STATETAPE_GRAPH_BASE_JSON_H
#define STATETAPE_GRAPH_BASE_JSON_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <xxhash.h>

/* For CLEANUP(). */
void json_p(cJSON **j);

/* -- Building. `to` is an object; NULL: the new one stands alone. */
cJSON *json_object(cJSON *to, const char *name);
cJSON *json_array(cJSON *to, const char *name);
/* Both take ownership of `item`; json_push() returns it. */
cJSON *json_push(cJSON *array, cJSON *item);
void json_put(cJSON *to, const char *name, cJSON *item);
cJSON *json_push_object(cJSON *array);
void json_push_number(cJSON *array, uint64_t n);
void json_put_number(cJSON *to, const char *name, uint64_t n);
/* All digits: a double would lose some of them. */
void json_put_time(cJSON *to, const char *name, int64_t ns);
void json_put_bool(cJSON *to, const char *name, bool is);
/* Valid UTF-8. */
void json_put_text(cJSON *to, const char *name, const char *text);
/* Any bytes (a path, a name, a command line), by escape_text(). */
cJSON *json_bytes(const char *bytes);
void json_put_bytes(cJSON *to, const char *name, const char *bytes);
/* 32 hexadecimal digits. */
void json_put_hash(cJSON *to, const char *name, XXH128_hash_t hash);
/* A file's content: NAME, or NAME_base64 if it is not UTF-8 without NULs; for
   the name "text" that is "base64". */
void json_put_content(cJSON *to, const char *name, const char *text,
		      size_t len);
/* "2026-01-02T03:04:05.678901Z" */
void json_put_iso(cJSON *to, const char *name, int64_t ns);

/* -- Reading. */
const cJSON *json_member(const cJSON *from, const char *name);
/* `otherwise`: missing, not a number, or not one that fits. */
uint64_t json_number(const cJSON *from, const char *name, uint64_t otherwise);
double json_double(const cJSON *from, const char *name, double otherwise);
/* NULL: missing, or not a string. */
const char *json_string(const cJSON *from, const char *name);
const char *json_string_or(const cJSON *from, const char *name,
			   const char *otherwise);
/*
 * The bytes of an escaped string. Undoes the escapes in place, so call it once
 * per item. NULL: not a string, or not an escaped one.
 */
const char *json_unescaped(cJSON *item);
/* From 32 hexadecimal digits. -EINVAL: it is something else. */
int json_hash(const char *text, XXH128_hash_t *ret);

#endif
