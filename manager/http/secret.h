/*
 * The secret that the manager's address ends in. Pure, but for the kernel's
 * random bytes.
 */
#ifndef STATETAPE_MANAGER_HTTP_SECRET_H
#define STATETAPE_MANAGER_HTTP_SECRET_H

#include <stdbool.h>
#include <stddef.h>

/* Letters, digits, '-' and '_'. 128 bits are 32 digits in hex. */
#define SECRET_MIN 32
#define SECRET_MAX 128

/* A new one, of 160 bits. A negative errno: the kernel gives no bytes. */
int secret_draw(char ret[static SECRET_MAX + 1]);
bool secret_allows(const char *secret);
/* Is `word` the secret? The time taken depends on the lengths alone. */
bool secret_is(const char *secret, const char *word, size_t len);

#endif
