#include "tape/anchor/checkpoint.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/clock.h"

#define MARK	 "statetape-checkpoint 1 "
#define DATE_MAX sizeof("2026-01-02T03:04:05Z")
#define HEX_MAX	 ((size_t)2 * ENTRY_CHAIN_SIZE)

void checkpoint_print(const struct checkpoint *c,
		      char ret[static CHECKPOINT_LINE_MAX])
{
	time_t at = (time_t)(c->at_ns / NS_PER_S);
	char hex[HEX_MAX + 1], date[DATE_MAX] = "";
	struct tm tm;
	int len;

	for (size_t i = 0; i < ENTRY_CHAIN_SIZE; i++)
		(void)snprintf(hex + 2 * i, 3, "%02x", c->chain[i]);
	if (gmtime_r(&at, &tm))
		(void)strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &tm);
	len = snprintf(ret, CHECKPOINT_LINE_MAX,
		       MARK "repo=%s tape=%016" PRIx64 " n=%" PRIu64
			    " chain=%s at=%s\n",
		       c->repo, c->tape, c->n, hex, date);
	assert(len > 0 && len < CHECKPOINT_LINE_MAX);
}

/*
 * Copy the value of `name`, which must come next, and move *at behind it and
 * the blank that follows. False: it is missing, too long, or has a byte that is
 * not in `allowed`.
 */
static bool take(const char **at, const char *name, const char *allowed,
		 char *ret, size_t size)
{
	size_t name_len = strlen(name), len;

	if (strncmp(*at, name, name_len) != 0 || (*at)[name_len] != '=')
		return false;
	*at += name_len + 1;
	len = strspn(*at, allowed);
	if (len == 0 || len >= size)
		return false;
	memcpy(ret, *at, len);
	ret[len] = '\0';
	*at += len;
	if (**at == ' ')
		++*at;
	return true;
}

static bool take_number(const char **at, const char *name, int base,
			uint64_t *ret)
{
	char text[24];

	if (!take(at, name, base == 16 ? "0123456789abcdef" : "0123456789",
		  text, sizeof(text)))
		return false;
	errno = 0;
	*ret = strtoull(text, NULL, base);
	return errno == 0;
}

static unsigned digit(char c)
{
	return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

static bool take_chain(const char **at, uint8_t ret[ENTRY_CHAIN_SIZE])
{
	char hex[HEX_MAX + 1];

	if (!take(at, "chain", "0123456789abcdef", hex, sizeof(hex)) ||
	    strlen(hex) != HEX_MAX)
		return false;
	for (size_t i = 0; i < ENTRY_CHAIN_SIZE; i++)
		ret[i] = (uint8_t)(digit(hex[2 * i]) << 4 |
				   digit(hex[2 * i + 1]));
	return true;
}

static bool take_date(const char **at, int64_t *ret)
{
	char date[DATE_MAX];
	struct tm tm = { 0 };
	const char *end;
	time_t seconds;

	if (!take(at, "at", "0123456789TZ:-", date, sizeof(date)))
		return false;
	end = strptime(date, "%Y-%m-%dT%H:%M:%SZ", &tm);
	if (!end || *end)
		return false;
	seconds = timegm(&tm);
	if (seconds < 0 || seconds > INT64_MAX / NS_PER_S)
		return false;
	*ret = seconds * NS_PER_S;
	return true;
}

bool checkpoint_parse(const char *line, struct checkpoint *ret)
{
	const char *at = strstr(line, MARK);
	struct checkpoint c;

	if (!at)
		return false;
	at += strlen(MARK);
	if (!take(&at, "repo",
		  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
		  "0123456789._-",
		  c.repo, sizeof(c.repo)) ||
	    !take_number(&at, "tape", 16, &c.tape) ||
	    !take_number(&at, "n", 10, &c.n) || !take_chain(&at, c.chain) ||
	    !take_date(&at, &c.at_ns))
		return false;
	*ret = c;
	return true;
}
