/*
 * Adaptive mutexes, for locks held for a few hundred instructions: a thread
 * that finds one taken spins for a moment, which is shorter than to sleep and
 * be woken.
 */
#ifndef STATETAPE_FS_BASE_LOCK_H
#define STATETAPE_FS_BASE_LOCK_H

#include <pthread.h>

static inline void lock_init_adaptive(pthread_mutex_t *lock)
{
	pthread_mutexattr_t kind;

	(void)pthread_mutexattr_init(&kind);
	(void)pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ADAPTIVE_NP);
	(void)pthread_mutex_init(lock, &kind);
	(void)pthread_mutexattr_destroy(&kind);
}

#endif
