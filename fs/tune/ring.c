#include "fs/tune/ring.h"

#include <assert.h>
#include <linux/io_uring.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "fs/base/limits.h"
#include "graph/base/cleanup.h"

static atomic_bool used;

bool ring_used(void)
{
	return atomic_load(&used);
}

#ifdef STATETAPE_RINGS

/* The last number of a list such as "0-7"; -1: unknown. */
static int last_possible(void)
{
	CLEANUP(fclose_p)
	FILE *f = fopen("/sys/devices/system/cpu/possible", "re");
	char line[256], *end;
	long last;

	if (!f || !fgets(line, sizeof(line), f))
		return -1;
	last = strtol(line, &end, 10);
	if (*end == '-')
		last = strtol(end + 1, &end, 10);
	return *end == '\n' ? (int)last : -1;
}

/*
 * The kernel sends no request through rings before each possible processor has
 * its queue. libfuse makes one for each configured processor and pins its
 * thread there.
 */
static bool has_all_processors(void)
{
	int count = get_nprocs_conf();
	cpu_set_t allowed;

	return last_possible() == count - 1 && count <= CPU_SETSIZE &&
	       sched_getaffinity(0, sizeof(allowed), &allowed) == 0 &&
	       CPU_COUNT(&allowed) == count;
}

/* Many containers forbid io_uring; libfuse would log an error per queue. */
static bool may_make_rings(void)
{
	struct io_uring_params params = { .flags = IORING_SETUP_SQE128 };
	long fd = syscall(SYS_io_uring_setup, 1, &params);

	if (fd < 0)
		return false;
	(void)close((int)fd);
	return true;
}

bool ring_option(const struct fs *fs, char *ret, size_t size)
{
	int depth = RING_ENTRIES_MAX / get_nprocs_conf();

	/* A slow network file system would block the processor's queue. */
	if (fs->flush || !has_all_processors() || !may_make_rings())
		return false;
	if (depth < 1)
		depth = 1;
	if (depth > RING_DEPTH)
		depth = RING_DEPTH;
	assert(depth >= 1 && depth <= RING_DEPTH);
	(void)snprintf(ret, size, "io_uring,io_uring_q_depth=%d", depth);
	return true;
}

bool ring_has(fuse_req_t req)
{
	return fuse_req_is_uring(req);
}

void ring_request(fuse_req_t req)
{
	static _Thread_local bool known;

	if (known || !ring_has(req))
		return;
	/*
	 * At the session's end libfuse cancels these threads in the middle of
	 * anything. They also end by themselves.
	 */
	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	atomic_store(&used, true);
	known = true;
}

#else

bool ring_option(const struct fs *fs, char *ret, size_t size)
{
	(void)fs;
	(void)ret;
	(void)size;
	return false;
}

bool ring_has(fuse_req_t req)
{
	(void)req;
	return false;
}

void ring_request(fuse_req_t req)
{
	(void)req;
}

#endif
