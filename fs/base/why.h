/*
 * A failure's sentence, made where the facts are known and printed by whoever
 * decides what to do about it.
 */
#ifndef STATETAPE_FS_BASE_WHY_H
#define STATETAPE_FS_BASE_WHY_H

/*
 * Put a formatted sentence into *ret_why (NULL: nobody asks; what was there
 * is freed) and return -error, so that a failing function can end with it.
 * When memory is short *ret_why becomes NULL.
 */
int why(char **ret_why, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
