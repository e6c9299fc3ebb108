/*
 * Every maximum of the file system process, in one place. What a limit costs
 * when it is met is said beside it; none of them fails a caller's syscall.
 */
#ifndef STATETAPE_FS_BASE_LIMITS_H
#define STATETAPE_FS_BASE_LIMITS_H

#include <stdint.h>
#include <sys/resource.h>

/*
 * How long an answer about a thread is given again without looking. Shorter
 * than any exec: the quickest we could make, a vforked child becoming a static
 * program without libc, took 59 us here, and a check costs 0.25 us.
 */
#define ACTOR_TRUST_NS 20000L

/*
 * How long a thread is taken for its process's without asking. Shorter than
 * it takes to start as many threads as there are numbers for them.
 */
#define ACTOR_MEMBER_NS 1000000L

/*
 * How long the tape is kept waiting for operations under way (flight.h). One
 * that takes longer makes it come again.
 */
#define FENCE_PATIENCE_MS 100

/* Longer command lines are cut. */
#define ACTOR_CMDLINE_MAX 4096

/* Ancestors named; a deeper nest of processes has its chain cut. */
#define ACTOR_CHAIN_MAX 64

/*
 * Threads and processes remembered (actor.c: sets of a cache). One that is
 * forgotten is described anew, which costs some 40 us, when it comes again.
 */
#define ACTOR_SETS 64
#define ACTOR_WAYS 64
#define ACTORS_MAX (ACTOR_SETS * ACTOR_WAYS)

/*
 * Of these, processes watched through a descriptor of ours. Checking one that
 * is not costs as much as describing it.
 */
#define ACTOR_SET_PROBES 8
#define ACTOR_PROBES_MAX (ACTOR_SETS * ACTOR_SET_PROBES)

/* What all read sets may hold; the oldest processes' are forgotten beyond. */
#define READS_BYTES_MAX (64u << 20)

/*
 * Paths remembered per process, and their bytes, so that a greedy one does
 * not displace all others; further paths are counted, not kept.
 */
#define READS_PER_PROCESS_MAX	    65536u
#define READS_PER_PROCESS_BYTES_MAX (READS_BYTES_MAX / 4)

/* Largest read or write request; the kernel's own bound by default. */
#define FS_REQUEST_MAX (1u << 20)

/*
 * Reads from this size on are spliced instead of copied. The thread sanitizer
 * does not follow splice(2): to it, the release of a handle would not come
 * after the answer to its last read.
 */
#ifdef __SANITIZE_THREAD__
#define FS_SPLICE_MIN SIZE_MAX
#else
#define FS_SPLICE_MIN (64u << 10)
#endif

/*
 * Files from this size on are read past us where the kernel can (pass.h):
 * reading one of 64 MiB for the first time takes as long as below, and seven
 * times that without. On small ones it loses: rg over a tree of 5,000 files
 * took 9 times as long as below, and 5 times without.
 */
#define FS_PASS_MIN (256L << 10)

/* What one getdents64() call may bring. */
#define FS_DIR_BUFFER (32u << 10)

/*
 * Threads that answer requests. The kernel wakes the one that has slept
 * longest, so more of them means colder ones; fewer, that a slow disk may
 * hold up everybody.
 */
#define FS_THREADS_MAX 8

/*
 * Requests of one thread in a row after which it is looked where it runs, and
 * changes between threads, none of which asks so often, after which workers
 * run anywhere again (near.h).
 */
#define NEAR_STEP  32
#define NEAR_TURNS 8

/* Looks left out when following it was in vain: at first, and at most. */
#define NEAR_REST     64
#define NEAR_REST_MAX 4096

/* Requests nobody waits for (read-ahead, releases) under way at once. */
#define FS_BACKGROUND_MAX 64

/*
 * Requests that each processor's ring takes at once, and all rings together:
 * each has a buffer of FS_REQUEST_MAX, which costs memory once it was used.
 */
#define RING_DEPTH	 4
#define RING_ENTRIES_MAX 256

/*
 * Changes of files that share a lock wait for each other (pages.h).
 */
#define FS_CHANGE_LOCKS 256

/*
 * Requests that make processors stay awake when they come within such a time,
 * and milliseconds between looks whether they still do (awake.h); processors
 * of a guest that do not sleep at all then, and microseconds that waking one
 * may take elsewhere. Beyond these they sleep, and waking them is waited for.
 */
#define AWAKE_STEP	     16
#define AWAKE_STEP_NS	     8000000
#define AWAKE_LOOK_MS	     10
#define AWAKE_PROCESSORS_MAX 16
#define AWAKE_DOZE_US	     10

/* Out of descriptors: tries, and the milliseconds between them. */
#define FS_DESCRIPTOR_TRIES   400
#define FS_DESCRIPTOR_WAIT_MS 5

/*
 * Seconds the kernel may keep names and attributes: of what is watched, and
 * of what is not (seen within a second, with room for the way).
 */
#define FS_TIMEOUT_LONG	 86400.0
#define FS_TIMEOUT_SHORT 0.5

/* Milliseconds of changes below that are looked at together. */
#define WATCH_SETTLE_MS 100

/* Milliseconds between looks at open files whose changes are not reported. */
#define WATCH_SWEEP_MS 500

/*
 * Inodes cost a descriptor each. Of the process's limit, what inodes may take
 * before the kernel is asked to forget some, what they and open files may
 * take at all, and what the watching of processes may add to that; the rest
 * is for the journal and for those who ask questions.
 */
#define FS_INODES_SHARE(descriptors) ((descriptors) / 4 * 3)
#define FS_FILES_SHARE(descriptors)  ((descriptors) / 16 * 15)
#define FS_PROBES_SHARE(descriptors) ((descriptors) / 32 * 31)

/* Descriptors there is room for from the start, 8 bytes of memory for each. */
#define FS_DESCRIPTORS_FIRST (64 << 10)

static inline int fs_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 1024;
	return limit.rlim_cur < INT32_MAX ? (int)limit.rlim_cur : INT32_MAX;
}

/* Inodes named in one message that asks the kernel to forget them. */
#define FS_PRUNE_MAX 256

#endif
