/*
 * Ownership stated at the declaration. `CLEANUP(close_p) int fd = -1;` closes
 * the descriptor when the scope ends, on every path. TAKE() passes ownership
 * on and leaves the empty value behind, for which the cleanup does nothing.
 */
#ifndef STATETAPE_GRAPH_BASE_CLEANUP_H
#define STATETAPE_GRAPH_BASE_CLEANUP_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CLEANUP(f) __attribute__((cleanup(f)))

/* For pointers: evaluates to the value and sets the variable to NULL. */
#define TAKE(p)                                    \
	({                                         \
		__typeof__(p) *taken_at_ = &(p);   \
		__typeof__(p) taken_ = *taken_at_; \
		*taken_at_ = NULL;                 \
		taken_;                            \
	})

/* For descriptors: returns the value and sets the variable to -1. */
static inline int take_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

static inline void close_p(const int *fd)
{
	/* Never retried: Linux frees the descriptor even on EINTR. */
	if (*fd >= 0)
		(void)close(*fd);
}

static inline void free_p(void *p)
{
	free(*(void **)p);
}

static inline void closedir_p(DIR **dir)
{
	if (*dir)
		(void)closedir(*dir);
}

static inline void fclose_p(FILE **f)
{
	if (*f)
		(void)fclose(*f);
}

#endif
