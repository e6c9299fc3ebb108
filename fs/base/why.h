/*
 * The sentence that explains a failure: made by the function that knows the
 * facts, printed by the caller that decides what to do.
 */
#ifndef STATETAPE_FS_BASE_WHY_H
#define STATETAPE_FS_BASE_WHY_H

/*
 * Format a sentence into *ret_why, freeing its former text, and return -error,
 * so that a failing function can end with this call. `ret_why` may be NULL.
 * When memory is short *ret_why becomes NULL.
 */
int why(char **ret_why, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
