/*
 * Workers go to the processor of the one they serve. Waking a thread on
 * another processor can cost six times what the whole round trip takes on one
 * (in a virtual machine: 30 us against 4.6 us), and the kernel does not know
 * that caller and worker never run at the same time.
 */
#ifndef STATETAPE_FS_TUNE_NEAR_H
#define STATETAPE_FS_TUNE_NEAR_H

#include <sys/types.h>

/* Call before any thread is started. */
void near_init(void);

/* At the beginning of a request, by its worker; 0: nobody waits for it. */
void near_caller(pid_t tid);

#endif
