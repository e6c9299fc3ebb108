/*
 * The handler runs in the thread that faulted, in the middle of its store. It
 * reads a static table and calls mmap(2); it takes no lock. The table entry it
 * finds cannot change during that, because its owner is the interrupted thread
 * itself. Another thread may be changing other entries: `len` is zero while
 * `start` changes. In the worst case the handler combines an old half with a
 * new one and treats a foreign fault, in memory that a journal has just
 * unmapped, like one of ours.
 */
#include "tape/journal/guard.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#define GUARDS_MAX 16

struct journal_guard {
	atomic_bool taken;
	atomic_bool hit;
	atomic_uintptr_t start;
	atomic_size_t len;
};

static struct journal_guard guards[GUARDS_MAX];
static pthread_mutex_t install_lock = PTHREAD_MUTEX_INITIALIZER;
static struct sigaction action_before; /* set before the handler is installed */
static uintptr_t page_size;

static struct journal_guard *find_guard(uintptr_t addr)
{
	struct journal_guard *g;

	for (g = guards; g < guards + GUARDS_MAX; g++)
		if (addr - atomic_load(&g->start) < atomic_load(&g->len))
			return g;
	return NULL;
}

static bool put_memory_at(uintptr_t addr)
{
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): a fault is a number. */
	void *page = (void *)(addr & ~(page_size - 1));

	return mmap(page, page_size, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		    0) != MAP_FAILED;
}

static void on_sigbus(int sig, siginfo_t *info, void *context)
{
	int saved = errno;
	uintptr_t addr = (uintptr_t)info->si_addr;
	/* A signal sent by kill(2) has no address. */
	bool fault = info->si_code > 0;
	struct journal_guard *g = fault ? find_guard(addr) : NULL;

	(void)context;
	if (g && put_memory_at(addr)) {
		atomic_store(&g->hit, true);
	} else {
		/*
		 * Not ours: the instruction is restarted and faults again,
		 * fatally.
		 */
		(void)sigaction(sig, &action_before, NULL);
		if (!fault)
			(void)raise(sig);
	}
	errno = saved;
}

/* Runs again for each guard: other code may have replaced our handler since. */
static void install(void)
{
	struct sigaction bus = {
		.sa_sigaction = on_sigbus,
		.sa_flags = SA_SIGINFO | SA_ONSTACK,
	};
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	struct sigaction now;

	page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
	if (sigaction(SIGBUS, NULL, &now) == 0 &&
	    now.sa_sigaction != on_sigbus) {
		action_before = now;
		(void)sigaction(SIGBUS, &bus, NULL);
	}
	if (sigaction(SIGXFSZ, NULL, &now) == 0 && now.sa_handler == SIG_DFL)
		(void)sigaction(SIGXFSZ, &ignore, NULL);
}

int journal_guard_new(struct journal_guard **ret)
{
	struct journal_guard *g;

	(void)pthread_mutex_lock(&install_lock);
	install();
	(void)pthread_mutex_unlock(&install_lock);
	for (g = guards; g < guards + GUARDS_MAX; g++) {
		if (atomic_exchange(&g->taken, true))
			continue;
		journal_guard_watch(g, NULL, 0);
		*ret = g;
		return 0;
	}
	return -EMFILE;
}

void journal_guard_free(struct journal_guard *g)
{
	if (!g)
		return;
	assert(atomic_load(&g->taken));
	journal_guard_watch(g, NULL, 0);
	atomic_store(&g->taken, false);
}

void journal_guard_watch(struct journal_guard *g, void *start, size_t len)
{
	assert((start != NULL) == (len > 0));
	atomic_store(&g->len, 0);
	atomic_store(&g->start, (uintptr_t)start);
	atomic_store(&g->hit, false);
	atomic_store(&g->len, len);
}

bool journal_guard_hit(struct journal_guard *g)
{
	/*
	 * The handler ran in this thread, between two instructions. No other
	 * processor is involved, but the compiler must have emitted the stores
	 * before this point.
	 */
	atomic_signal_fence(memory_order_seq_cst);
	return atomic_load_explicit(&g->hit, memory_order_relaxed);
}
