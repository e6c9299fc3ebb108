#include "graph/base/json.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "graph/base/alloc.h"
#include "graph/base/base64.h"
#include "graph/base/cleanup.h"
#include "graph/base/clock.h"
#include "graph/base/escape.h"

#define ISO_SIZE 28 /* 27 characters and a NUL */

void json_p(cJSON **j)
{
	cJSON_Delete(*j);
}

/* -- Building. */

void json_put(cJSON *to, const char *name, cJSON *item)
{
	assert(cJSON_IsObject(to));
	must_have(item);
	if (!cJSON_AddItemToObject(to, name, item))
		must_have(NULL);
}

cJSON *json_push(cJSON *array, cJSON *item)
{
	assert(cJSON_IsArray(array));
	must_have(item);
	if (!cJSON_AddItemToArray(array, item))
		must_have(NULL);
	return item;
}

cJSON *json_object(cJSON *to, const char *name)
{
	cJSON *o = must_have(cJSON_CreateObject());

	if (to)
		json_put(to, name, o);
	return o;
}

cJSON *json_array(cJSON *to, const char *name)
{
	cJSON *a = must_have(cJSON_CreateArray());

	if (to)
		json_put(to, name, a);
	return a;
}

cJSON *json_push_object(cJSON *array)
{
	return json_push(array, cJSON_CreateObject());
}

void json_push_number(cJSON *array, uint64_t n)
{
	(void)json_push(array, cJSON_CreateNumber((double)n));
}

void json_put_number(cJSON *to, const char *name, uint64_t n)
{
	json_put(to, name, cJSON_CreateNumber((double)n));
}

void json_put_time(cJSON *to, const char *name, int64_t ns)
{
	char digits[24];

	(void)snprintf(digits, sizeof(digits), "%" PRId64, ns);
	json_put(to, name, cJSON_CreateRaw(digits));
}

void json_put_bool(cJSON *to, const char *name, bool is)
{
	json_put(to, name, cJSON_CreateBool(is));
}

void json_put_text(cJSON *to, const char *name, const char *text)
{
	json_put(to, name, cJSON_CreateString(text));
}

cJSON *json_bytes(const char *bytes)
{
	size_t size = ESCAPE_SIZE(strlen(bytes)) + 4;
	char small[1024];
	char *text = size <= sizeof(small) ? small : must_alloc(size);
	cJSON *item;

	(void)escape_text(bytes, text, size);
	item = must_have(cJSON_CreateString(text));
	if (text != small)
		free(text);
	return item;
}

void json_put_bytes(cJSON *to, const char *name, const char *bytes)
{
	json_put(to, name, json_bytes(bytes));
}

void json_put_hash(cJSON *to, const char *name, XXH128_hash_t hash)
{
	char hex[33];

	(void)snprintf(hex, sizeof(hex), "%016" PRIx64 "%016" PRIx64,
		       (uint64_t)hash.high64, (uint64_t)hash.low64);
	json_put_text(to, name, hex);
}

/* The length of the UTF-8 sequence that `c` begins; 0: it begins none. */
static size_t expected(unsigned char c)
{
	static const unsigned char begin[] = { 0x00, 0x80, 0xc2,
					       0xe0, 0xf0, 0xf5 };
	static const size_t len[] = { 1, 0, 2, 3, 4, 0 };
	size_t i = sizeof(begin) - 1;

	while (c < begin[i])
		i--;
	return len[i];
}

/* Overlong, a surrogate, or beyond U+10FFFF. */
static bool is_forbidden(unsigned char first, unsigned char second)
{
	return (first == 0xe0 && second < 0xa0) ||
	       (first == 0xf0 && second < 0x90) ||
	       (first == 0xed && second > 0x9f) ||
	       (first == 0xf4 && second > 0x8f);
}

/* The length of the UTF-8 sequence at `s`; 0: there is none. */
static size_t sequence(const unsigned char *s, size_t left)
{
	size_t n = expected(*s);

	if (n > left || (n > 1 && is_forbidden(s[0], s[1])))
		return 0;
	for (size_t k = 1; k < n; k++)
		if ((s[k] & 0xc0) != 0x80)
			return 0;
	return n;
}

/* Is it UTF-8 without NULs? */
static bool is_text(const char *text, size_t len)
{
	const unsigned char *s = (const unsigned char *)text;

	for (size_t at = 0; at < len;) {
		size_t n = s[at] ? sequence(s + at, len - at) : 0;

		if (!n)
			return false;
		at += n;
	}
	return true;
}

void json_put_content(cJSON *to, const char *name, const char *text, size_t len)
{
	CLEANUP(free_p) char *coded = NULL;
	char other[64];

	if (is_text(text, len)) {
		coded = must_memdup(text, len);
		json_put_text(to, name, coded);
		return;
	}
	coded = base64_encode(text, len);
	(void)snprintf(other, sizeof(other), "%s_base64", name);
	json_put_text(to, strcmp(name, "text") == 0 ? "base64" : other, coded);
}

static void print_iso(int64_t ns, char out[ISO_SIZE])
{
	time_t s = (time_t)(ns / NS_PER_S);
	int64_t rest = ns % NS_PER_S;
	struct tm t;
	size_t n;

	if (rest < 0) {
		s--;
		rest += NS_PER_S;
	}
	if (!gmtime_r(&s, &t) || t.tm_year > 8099 || t.tm_year < -1900) {
		(void)snprintf(out, ISO_SIZE, "?");
		return;
	}
	n = strftime(out, ISO_SIZE, "%Y-%m-%dT%H:%M:%S", &t);
	(void)snprintf(out + n, ISO_SIZE - n, ".%06dZ", (int)(rest / 1000));
}

void json_put_iso(cJSON *to, const char *name, int64_t ns)
{
	char text[ISO_SIZE];

	print_iso(ns, text);
	json_put_text(to, name, text);
}

/* -- Reading. */

const cJSON *json_member(const cJSON *from, const char *name)
{
	return cJSON_GetObjectItemCaseSensitive(from, name);
}

uint64_t json_number(const cJSON *from, const char *name, uint64_t otherwise)
{
	const cJSON *n = json_member(from, name);

	if (!cJSON_IsNumber(n) || !(n->valuedouble >= 0) ||
	    n->valuedouble >= 1.8e19)
		return otherwise;
	return (uint64_t)n->valuedouble;
}

const char *json_string(const cJSON *from, const char *name)
{
	return cJSON_GetStringValue(json_member(from, name));
}

const char *json_string_or(const cJSON *from, const char *name,
			   const char *otherwise)
{
	const char *text = json_string(from, name);

	return text ? text : otherwise;
}

double json_double(const cJSON *from, const char *name, double otherwise)
{
	const cJSON *n = json_member(from, name);

	return cJSON_IsNumber(n) ? n->valuedouble : otherwise;
}

const char *json_unescaped(cJSON *item)
{
	char *text = cJSON_GetStringValue(item);

	if (text && strchr(text, '\\') && escape_undo(text) < 0)
		return NULL;
	return text;
}

int json_hash(const char *text, XXH128_hash_t *ret)
{
	char half[17];
	uint64_t value[2];

	if (!text || strlen(text) != 32 ||
	    strspn(text, "0123456789abcdef") != 32)
		return -EINVAL;
	for (int k = 0; k < 2; k++) {
		memcpy(half, text + (size_t)16 * (size_t)k, 16);
		half[16] = '\0';
		value[k] = strtoull(half, NULL, 16);
	}
	*ret = (XXH128_hash_t){ .high64 = value[0], .low64 = value[1] };
	return 0;
}
