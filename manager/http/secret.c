#include "manager/http/secret.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#define DRAWN_BYTES 20

int secret_draw(char ret[static SECRET_MAX + 1])
{
	unsigned char bytes[DRAWN_BYTES];
	ssize_t len = getrandom(bytes, sizeof(bytes), 0);

	/* The kernel gives this few as a whole or not at all. */
	if (len != sizeof(bytes))
		return len < 0 ? -errno : -EIO;
	for (size_t i = 0; i < sizeof(bytes); i++)
		(void)snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

bool secret_allows(const char *secret)
{
	static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz"
				       "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				       "0123456789-_";
	size_t len = strnlen(secret, SECRET_MAX + 1);

	return len >= SECRET_MIN && len <= SECRET_MAX &&
	       strspn(secret, alphabet) == len;
}

bool secret_is(const char *secret, const char *word, size_t len)
{
	size_t want = strlen(secret);
	unsigned char differ = len != want;

	for (size_t i = 0; i < want; i++)
		differ |= (unsigned char)(secret[i] ^ (i < len ? word[i] : 0));
	return !differ;
}
