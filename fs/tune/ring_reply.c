/*
 * Replies to requests of a ring from other threads than the ring's own.
 *
 * libfuse 3.18 takes a lock for such a reply, but the ring's thread does not
 * hold it while it submits its own replies, and would submit one that another
 * thread is preparing. And the kernel has each next request announced by the
 * thread that submitted the reply to the one before, which may be waiting for
 * a disk by then. So the ring's thread stands back while another thread
 * prepares its reply, and submits it: the linker makes libfuse call
 * wait_for_requests() and submit() in place of liburing's functions, and
 * our handlers call functions that wrap libfuse's fuse_reply_*()
 * (fs/tune/CMakeLists.txt).
 *
 * A thread with a reply wakes the ring's thread by RING_SIGNAL, which that
 * thread receives nowhere but in its wait for requests.
 */
#include "fs/tune/ring.h"

#include <assert.h>
#include <errno.h>

#ifdef STATETAPE_RINGS

#include <liburing.h>
#include <signal.h>
#include <stdlib.h>

#define RING_SIGNAL SIGURG

struct ring_queue {
	/* Constant. */
	struct io_uring *uring;
	pthread_t thread;
	sigset_t waiting; /* the signals blocked in the wait for requests */

	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* Lowered under the lock. */
	atomic_uint out;     /* requests handed over and not answered yet */
	atomic_uint wanting; /* threads that have a reply */
	/* Protected by lock. */
	bool stands_back; /* the ring's thread leaves the ring alone */
	bool replying;	  /* a thread prepares its reply */
};

/* The ring whose thread this is. */
static _Thread_local struct ring_queue *own;
/* The ring whose request this thread answers. */
static _Thread_local struct ring_queue *answered;

int wait_for_requests(struct io_uring *uring, unsigned count) __asm__(
	"__wrap_io_uring_submit_and_wait");
int submit_and_wait(struct io_uring *uring,
		    unsigned count) __asm__("__real_io_uring_submit_and_wait");
int submit(struct io_uring *uring) __asm__("__wrap_io_uring_submit");
int submit_now(struct io_uring *uring) __asm__("__real_io_uring_submit");

/* -- The ring's thread. */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t end_key;
static bool has_key;

static void on_signal(int number)
{
	(void)number;
}

/*
 * The ring's thread ends, and libfuse will free the requests: wait for those
 * that were handed over.
 */
static void ring_free(void *arg)
{
	struct ring_queue *ring = arg;

	(void)pthread_mutex_lock(&ring->lock);
	ring->stands_back = true;
	(void)pthread_cond_broadcast(&ring->changed);
	while (atomic_load(&ring->out) > 0)
		(void)pthread_cond_wait(&ring->changed, &ring->lock);
	(void)pthread_mutex_unlock(&ring->lock);
	(void)submit_now(ring->uring);
	(void)pthread_cond_destroy(&ring->changed);
	(void)pthread_mutex_destroy(&ring->lock);
	free(ring);
}

static void prepare(void)
{
	struct sigaction wake = { .sa_handler = on_signal };

	(void)sigaction(RING_SIGNAL, &wake, NULL);
	has_key = pthread_key_create(&end_key, ring_free) == 0;
}

static void ring_new(struct io_uring *uring)
{
	sigset_t wake;

	(void)pthread_once(&once, prepare);
	own = has_key ? calloc(1, sizeof(*own)) : NULL;
	if (!own)
		return;
	if (pthread_setspecific(end_key, own) != 0) {
		free(own);
		own = NULL;
		return;
	}
	own->uring = uring;
	own->thread = pthread_self();
	(void)pthread_mutex_init(&own->lock, NULL);
	(void)pthread_cond_init(&own->changed, NULL);
	(void)sigemptyset(&wake);
	(void)sigaddset(&wake, RING_SIGNAL);
	(void)pthread_sigmask(SIG_BLOCK, &wake, &own->waiting);
	(void)sigdelset(&own->waiting, RING_SIGNAL);
}

/* Let other threads prepare their replies. */
static void stand_back(struct ring_queue *ring)
{
	(void)pthread_mutex_lock(&ring->lock);
	ring->stands_back = true;
	(void)pthread_cond_broadcast(&ring->changed);
	while (atomic_load(&ring->wanting) > 0)
		(void)pthread_cond_wait(&ring->changed, &ring->lock);
	assert(!ring->replying);
	ring->stands_back = false;
	(void)pthread_mutex_unlock(&ring->lock);
}

int wait_for_requests(struct io_uring *uring, unsigned count)
{
	struct io_uring_cqe *first;

	if (!own)
		ring_new(uring);
	if (!own || atomic_load(&own->out) == 0)
		return submit_and_wait(uring, count);
	if (atomic_load(&own->wanting) > 0)
		stand_back(own);
	/*
	 * Two calls: one that submitted something would not return for the
	 * signal, but wait again.
	 */
	(void)submit_now(uring);
	return io_uring_wait_cqes(uring, &first, count, NULL, &own->waiting);
}

int ring_hand_over(fuse_req_t req, struct ring_queue **ret)
{
	struct ring_queue *ring = ring_has(req) ? own : NULL;

	if (ring_has(req) && !ring)
		return -ENOMEM;
	if (ring)
		atomic_fetch_add(&ring->out, 1);
	*ret = ring;
	return 0;
}

/* -- Other threads. */

void ring_begin(struct ring_queue *ring)
{
	assert(!answered);
	answered = ring;
}

void ring_end(struct ring_queue *ring)
{
	answered = NULL;
	if (!ring)
		return;
	(void)pthread_mutex_lock(&ring->lock);
	assert(atomic_load(&ring->out) > 0);
	atomic_fetch_sub(&ring->out, 1);
	(void)pthread_cond_broadcast(&ring->changed);
	(void)pthread_mutex_unlock(&ring->lock);
}

/* The ring's thread submits what another one prepared. */
int submit(struct io_uring *uring)
{
	assert(!answered || answered->replying);
	return answered ? 0 : submit_now(uring);
}

static void begin_reply(void)
{
	struct ring_queue *ring = answered;

	if (!ring)
		return;
	atomic_fetch_add(&ring->wanting, 1);
	(void)pthread_mutex_lock(&ring->lock);
	if (!ring->stands_back)
		(void)pthread_kill(ring->thread, RING_SIGNAL);
	while (!ring->stands_back || ring->replying)
		(void)pthread_cond_wait(&ring->changed, &ring->lock);
	ring->replying = true;
	(void)pthread_mutex_unlock(&ring->lock);
}

static void end_reply(void)
{
	struct ring_queue *ring = answered;

	if (!ring)
		return;
	(void)pthread_mutex_lock(&ring->lock);
	ring->replying = false;
	atomic_fetch_sub(&ring->wanting, 1);
	(void)pthread_cond_broadcast(&ring->changed);
	(void)pthread_mutex_unlock(&ring->lock);
}

#define REPLY(what, parameters, arguments)                                \
	int reply_##what parameters __asm__("__wrap_fuse_reply_" #what);  \
	int answer_##what parameters __asm__("__real_fuse_reply_" #what); \
	int reply_##what parameters                                       \
	{                                                                 \
		int r;                                                    \
                                                                          \
		begin_reply();                                            \
		r = answer_##what arguments;                              \
		end_reply();                                              \
		return r;                                                 \
	}

REPLY(err, (fuse_req_t req, int error), (req, error))
REPLY(entry, (fuse_req_t req, const struct fuse_entry_param *e), (req, e))
REPLY(create,
      (fuse_req_t req, const struct fuse_entry_param *e,
       const struct fuse_file_info *fi),
      (req, e, fi))
REPLY(attr, (fuse_req_t req, const struct stat *attr, double timeout),
      (req, attr, timeout))
REPLY(readlink, (fuse_req_t req, const char *target), (req, target))
REPLY(open, (fuse_req_t req, const struct fuse_file_info *fi), (req, fi))
REPLY(write, (fuse_req_t req, size_t count), (req, count))
REPLY(buf, (fuse_req_t req, const char *data, size_t size), (req, data, size))
REPLY(statfs, (fuse_req_t req, const struct statvfs *st), (req, st))
REPLY(xattr, (fuse_req_t req, size_t count), (req, count))
REPLY(ioctl, (fuse_req_t req, int result, const void *data, size_t size),
      (req, result, data, size))
REPLY(lseek, (fuse_req_t req, off_t off), (req, off))

#else

int ring_hand_over(fuse_req_t req, struct ring_queue **ret)
{
	(void)req;
	*ret = NULL;
	return 0;
}

void ring_begin(struct ring_queue *ring)
{
	(void)ring;
}

void ring_end(struct ring_queue *ring)
{
	(void)ring;
}

#endif
