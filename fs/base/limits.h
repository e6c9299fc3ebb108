/*
 * Every limit of the file system process, with its cost when it is reached.
 * None of them fails a caller's syscall.
 */
#ifndef STATETAPE_FS_BASE_LIMITS_H
#define STATETAPE_FS_BASE_LIMITS_H

#include <stdint.h>
#include <sys/resource.h>

/*
 * How long the description of a thread is used again without a check. Shorter
 * than any exec: the quickest we could make, a vforked child becoming a static
 * program without libc, took 59 us; a check costs 0.25 us.
 */
#define ACTOR_TRUST_NS 20000L

/*
 * How long a thread id is taken to belong to the same process without a
 * check. Shorter than the time in which ids can wrap around.
 */
#define ACTOR_MEMBER_NS 1000000L

/* Longer command lines are cut. */
#define ACTOR_CMDLINE_MAX 4096

/* Ancestors described; longer chains are cut. */
#define ACTOR_CHAIN_MAX 64

/*
 * Threads and processes cached (actor.c). An evicted one is described again
 * at its next request, which costs about 40 us.
 */
#define ACTOR_SETS 64
#define ACTOR_WAYS 64
#define ACTORS_MAX (ACTOR_SETS * ACTOR_WAYS)

/*
 * Of these, processes with an open probe (proc.h). Checking a process without
 * one costs as much as describing it.
 */
#define ACTOR_SET_PROBES 8
#define ACTOR_PROBES_MAX (ACTOR_SETS * ACTOR_SET_PROBES)

/* Memory of all read sets; beyond it the oldest are evicted. */
#define READS_BYTES_MAX (64u << 20)

/*
 * Paths kept per process, and their bytes, so that one process cannot evict
 * all others; further paths are only counted.
 */
#define READS_PER_PROCESS_MAX	    65536u
#define READS_PER_PROCESS_BYTES_MAX (READS_BYTES_MAX / 4)

/* Largest read or write request; the kernel's own bound by default. */
#define FS_REQUEST_MAX (1u << 20)

/*
 * Reads from this size on are spliced instead of copied. The thread sanitizer
 * does not follow splice(2): it would see no order between the answer to the
 * last read of a handle and its release.
 */
#ifdef __SANITIZE_THREAD__
#define FS_SPLICE_MIN SIZE_MAX
#else
#define FS_SPLICE_MIN (64u << 10)
#endif

/*
 * Files from this size on use passthrough where the kernel has it (pass.h):
 * the first read of 64 MiB then takes as long as below, and seven times that
 * without. For small files it loses: rg over 5,000 files took 9 times as long
 * as below with it, and 5 times without.
 */
#define FS_PASS_MIN (256L << 10)

/* Buffer of one getdents64() call. */
#define FS_DIR_BUFFER (32u << 10)

/*
 * Threads that answer requests. The kernel wakes the one that has slept
 * longest: with more threads, caches are colder; with fewer, one slow disk
 * blocks all of them.
 */
#define FS_THREADS_MAX 8

/*
 * Threads for requests that may wait for long (pool.h), each with the memory of
 * its stack; further ones of these requests wait. A thread ends after so many
 * seconds without work.
 */
#define POOL_THREADS_MAX 64
#define POOL_IDLE_S	 10

/*
 * Writes from this size on are handed over in a ring: who writes much is slowed
 * down to the disk's pace, and would slow all others down.
 */
#define FS_LONG_WRITE (128u << 10)

/* Background requests (read-ahead, releases) in flight at once. */
#define FS_BACKGROUND_MAX 64

/*
 * Requests in flight per ring, and over all rings. Further ones wait, so this
 * many fsync(2) at once on one processor delay what else comes from there. Each
 * has a buffer of FS_REQUEST_MAX, which takes memory from its first use on; the
 * kernel takes the one used last first.
 */
#define RING_DEPTH	 64
#define RING_ENTRIES_MAX 256

/* Locks for what inodes note of changes; held for a few instructions. */
#define FS_CHANGE_LOCKS 256

/*
 * awake.h: AWAKE_STEP requests within AWAKE_STEP_NS keep processors awake;
 * every AWAKE_LOOK_MS it is checked whether requests still come. A virtual
 * machine of up to AWAKE_PROCESSORS_MAX processors does not sleep at all
 * then; elsewhere waking one may take AWAKE_DOZE_US.
 */
#define AWAKE_STEP	     16
#define AWAKE_STEP_NS	     8000000
#define AWAKE_LOOK_MS	     10
#define AWAKE_PROCESSORS_MAX 16
#define AWAKE_DOZE_US	     10

/*
 * Milliseconds that the kernel may take to end the connection once a thread
 * that serves it has failed. Longer: it is a failure, and the plain directory's
 * turn.
 */
#define FS_HANG_UP_MS 5000

/*
 * Seconds the kernel may cache names and attributes: in watched directories,
 * and elsewhere, where a change must be seen within a second.
 */
#define FS_TIMEOUT_LONG	 86400.0
#define FS_TIMEOUT_SHORT 0.5

/* Milliseconds during which inotify events are collected. */
#define WATCH_SETTLE_MS 100

/* Milliseconds between checks of open files that inotify does not cover. */
#define WATCH_SWEEP_MS 500

/*
 * Shares of the process's descriptors (`all`). FS_HELD_MAX inodes hold one; the
 * least used are closed for others (hold.h), which costs four system calls, and
 * about 3 us when they are used again. The cap bounds what they pin of the
 * kernel's memory. A descriptor has the lowest free number, so a number counts
 * those that are open: open files fail from FS_FILES_BELOW on, so that inodes
 * always find some below FS_INODES_BELOW; the rest is for the journal and for
 * sockets. Probes of processes may not push out what is in use.
 */
#define FS_HELD_CAP	     (48 << 10)
#define FS_HELD_MAX(all)     ((all) / 2 < FS_HELD_CAP ? (all) / 2 : FS_HELD_CAP)
#define FS_PROBES_BELOW(all) ((all) / 16 * 11)
#define FS_FILES_BELOW(all)  ((all) / 16 * 13)
#define FS_INODES_BELOW(all) ((all) / 16 * 15)

/* Size of the descriptor table at the start; 8 bytes of memory each. */
#define FS_DESCRIPTORS_FIRST (64 << 10)

static inline int fs_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 1024;
	return limit.rlim_cur < INT32_MAX ? (int)limit.rlim_cur : INT32_MAX;
}

/*
 * Copies of versions that wait for the tape (kept.h). Beyond these nothing is
 * kept, and the tape's entries name all authors instead.
 */
#define FS_KEPT_FILES 65536u
#define FS_KEPT_BYTES (256ull << 20)

/*
 * How often a change looks for a moment at which no other change of the file is
 * under way; then the two are one version.
 */
#define FS_KEEP_TRIES 3

/*
 * Versions kept of a file whose writers do not close it between them: each line
 * of a build's log may be another process's. Further ones are merged.
 */
#define FS_KEEP_OPEN_MAX 64

/* Names that files lost lately, under which a new file is not temporary. */
#define FS_LOST_NAMES 1024u

#endif
