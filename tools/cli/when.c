#include "tools/cli/when.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "graph/base/clock.h"

/* The unit's length in seconds, singular or plural; 0: no unit. */
static int64_t unit_of(const char *word)
{
	static const struct {
		const char *name;
		int64_t seconds;
	} units[] = {
		{ "second", 1 },    { "sec", 1 },     { "minute", 60 },
		{ "min", 60 },	    { "hour", 3600 }, { "day", 86400 },
		{ "week", 604800 },
	};
	size_t len = strcspn(word, " ");

	if (len > 1 && word[len - 1] == 's')
		len--;
	for (size_t k = 0; k < sizeof(units) / sizeof(*units); k++)
		if (strlen(units[k].name) == len &&
		    strncmp(word, units[k].name, len) == 0)
			return units[k].seconds;
	return 0;
}

/* "N units ago" */
static int parse_ago(const char *text, int64_t now_ns, int64_t *ret)
{
	char *end;
	unsigned long n;
	int64_t unit;

	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	errno = 0;
	n = strtoul(text, &end, 10);
	if (errno || n > 100000000 || *end != ' ')
		return -EINVAL;
	end += strspn(end, " ");
	unit = unit_of(end);
	end += strcspn(end, " ");
	if (!unit || strcmp(end + strspn(end, " "), "ago") != 0)
		return -EINVAL;
	/* Further back than nanoseconds can count. */
	if ((int64_t)n > INT64_MAX / NS_PER_S / unit)
		return -EINVAL;
	*ret = now_ns - (int64_t)n * unit * NS_PER_S;
	return 0;
}

/* Midnight, so many days ago. */
static int64_t midnight(int64_t now_ns, int days)
{
	time_t now = (time_t)(now_ns / NS_PER_S);
	struct tm t;

	(void)localtime_r(&now, &t);
	t.tm_hour = t.tm_min = t.tm_sec = 0;
	t.tm_mday -= days;
	t.tm_isdst = -1;
	return (int64_t)mktime(&t) * NS_PER_S;
}

static int parse_iso(const char *text, int64_t *ret)
{
	struct tm t = { .tm_isdst = -1 }, want;
	const char *at = strptime(text, "%Y-%m-%d", &t);
	time_t s;

	if (at && (*at == 'T' || *at == ' ')) {
		const char *time = at + 1;

		at = strptime(time, "%H:%M:%S", &t);
		if (!at) {
			t.tm_sec = 0;
			at = strptime(time, "%H:%M", &t);
		}
	}
	/* Fractions of a second are ignored. */
	if (at && *at == '.')
		at += 1 + strspn(at + 1, "0123456789");
	if (!at || (*at && strcmp(at, "Z") != 0))
		return -EINVAL;
	want = t;
	s = *at ? timegm(&t) : mktime(&t);
	/* mktime() would turn the 31st of a short month into another day. */
	if (s < 0 || t.tm_mday != want.tm_mday || t.tm_mon != want.tm_mon)
		return -EINVAL;
	/* Nanoseconds end in the year 2262. */
	if (s > INT64_MAX / NS_PER_S)
		return -EINVAL;
	*ret = (int64_t)s * NS_PER_S;
	return 0;
}

int when_parse(const char *text, int64_t now_ns, int64_t *ret)
{
	if (strcmp(text, "now") == 0)
		*ret = now_ns;
	else if (strcmp(text, "today") == 0)
		*ret = midnight(now_ns, 0);
	else if (strcmp(text, "yesterday") == 0)
		*ret = midnight(now_ns, 1);
	else if (strstr(text, "ago"))
		return parse_ago(text, now_ns, ret);
	else
		return parse_iso(text, ret);
	return 0;
}

void when_text(int64_t ns, int fine, char *out, size_t size)
{
	time_t s = (time_t)(ns / NS_PER_S);
	struct tm t;
	size_t n;

	assert(size >= WHEN_TEXT_SIZE);
	if (!localtime_r(&s, &t)) {
		(void)snprintf(out, size, "?");
		return;
	}
	/* 64 bits of nanoseconds reach from 1677 to 2262: four digits. */
	n = strftime(out, size, "%Y-%m-%d %H:%M:%S", &t);
	assert(n > 0);
	if (fine)
		(void)snprintf(out + n, size - n, ".%03d",
			       (int)(ns % NS_PER_S / 1000000));
}
