/*
 * What all of tape/ that speaks JSON needs. Memory that cannot be had ends the
 * process, so nothing here fails but where it says so.
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

/* -- Making. `to` is an object. */
cJSON *json_object(cJSON *to, const char *name); /* to NULL: by itself */
cJSON *json_array(cJSON *to, const char *name);
cJSON *json_push(cJSON *array, cJSON *item); /* returns the item */
cJSON *json_push_object(cJSON *array);
void json_push_number(cJSON *array, uint64_t n);
void json_put(cJSON *to, const char *name, cJSON *item);
void json_put_number(cJSON *to, const char *name, uint64_t n);
/* As digits: a double would lose some of them. */
void json_put_time(cJSON *to, const char *name, int64_t ns);
void json_put_bool(cJSON *to, const char *name, bool is);
/* Text of ours, valid UTF-8. */
void json_put_text(cJSON *to, const char *name, const char *text);
/* A path, a name, a command line: bytes, escaped as in the journal. */
cJSON *json_bytes(const char *bytes);
void json_put_bytes(cJSON *to, const char *name, const char *bytes);
/* 32 hexadecimal digits. */
void json_put_hash(cJSON *to, const char *name, XXH128_hash_t hash);
/* Of a file: "text" or, where it is no UTF-8, "base64" ("NAME_base64"). */
void json_put_content(cJSON *to, const char *name, const char *text,
		      size_t len);
/* "2026-01-02T03:04:05.678901Z" */
void json_put_iso(cJSON *to, const char *name, int64_t ns);

/* -- Reading. */
const cJSON *json_member(const cJSON *from, const char *name);
/* What is no number, or none that fits, is `otherwise`. */
uint64_t json_number(const cJSON *from, const char *name, uint64_t otherwise);
double json_double(const cJSON *from, const char *name, double otherwise);
/* NULL: not there, or no string. */
const char *json_string(const cJSON *from, const char *name);
const char *json_string_or(const cJSON *from, const char *name,
			   const char *otherwise);
/*
 * The bytes an escaped string stands for; un-escaped where it is, so once only.
 * NULL: it is no string, or nobody escaped it so.
 */
const char *json_unescaped(cJSON *item);
/* -EINVAL: no hash. */
int json_hash(const char *text, XXH128_hash_t *ret);

/* 27 characters and a NUL. */
#define ISO_SIZE 28
void iso_time(int64_t ns, char out[ISO_SIZE]);

#endif
