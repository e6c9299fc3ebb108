/*
 * Keeps processors from falling asleep while requests come one upon another.
 * A round trip wakes two threads, each soon after the last one on its
 * processor went to sleep; where that processor has been halted meanwhile,
 * waking it takes longer than everything else. In a virtual machine here a
 * look-up took 21 us by the device and 30 by a ring, and 9 and 11 with this.
 *
 * It is asked of the kernel through /dev/cpu_dma_latency, which belongs to
 * root; what is asked ends with the process, however that ends. Some
 * milliseconds after the last request processors may sleep again. Idle ones
 * wait awake only in a virtual machine of few processors, where each sleep
 * goes through the host; elsewhere they just do not sleep deeply.
 */
#ifndef STATETAPE_FS_TUNE_AWAKE_H
#define STATETAPE_FS_TUNE_AWAKE_H

#include <stdbool.h>
#include <stdint.h>

/* Where it cannot be asked for, all of these do nothing. */
void awake_init(void);
void awake_end(void);

/* A request has come. */
void awake_request(void);

struct awake_stats {
	bool able;	/* it can be asked for */
	uint64_t times; /* it was */
};
void awake_stat(struct awake_stats *ret);

#endif
