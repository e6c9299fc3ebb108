/*
 * Starts a thread with all signals blocked: signals are for the threads of the
 * process that wait for them.
 */
#ifndef STATETAPE_GRAPH_BASE_THREAD_H
#define STATETAPE_GRAPH_BASE_THREAD_H

#include <pthread.h>
#include <signal.h>

/* 0 or a negative errno. */
static inline int thread_start(pthread_t *ret, void *(*body)(void *), void *arg)
{
	sigset_t all, before;
	int rc;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(ret, NULL, body, arg);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -rc;
}

#endif
