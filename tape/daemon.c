/* Coming and going of the process; loop.c is what it does in between. */
#include "tape/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <unistd.h>

#include "graph/base/cleanup.h"
#include "graph/base/clock.h"
#include "graph/base/message.h"
#include "graph/base/path.h"
#include "graph/facts/lang.h"
#include "graph/graph.h"
#include "tape/ahead.h"
#include "tape/apart.h"
#include "tape/care.h"
#include "tape/daemon_i.h"
#include "tape/journal/progress.h"
#include "tape/store/store.h"
#include "tape/wire/publish.h"
#include "tape/wire/state.h"

/* A disk that damages each new store is not written to for ever. */
#define RENEWALS_MAX 3

#define MALLOC_KEEPS (4 << 20)
#define MALLOC_STEP  (256 << 10)

void tape_say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	message_va(format, args);
	va_end(args);
}

/* -- One tape per repository. */

static pid_t lock_holder(int fd)
{
	char text[32] = "";
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	return n > 0 ? (pid_t)strtol(text, NULL, 10) : 0;
}

static int lock_take(struct tape *t)
{
	int fd = openat(t->c->state->dir_fd, TAPE_LOCK_NAME,
			O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	char text[32];
	int len;

	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		tape_say("'%s' has a tape already: process %d",
			 t->c->state->repo, (int)lock_holder(fd));
		(void)close(fd);
		return -EBUSY;
	}
	len = snprintf(text, sizeof(text), "%d\n", (int)getpid());
	(void)!ftruncate(fd, 0);
	(void)!pwrite(fd, text, (size_t)len, 0);
	t->lock_file = fd;
	return 0;
}

/* -- Coming and going. */

static int open_store(struct tape *t)
{
	CLEANUP(free_p) char *path = NULL;
	CLEANUP(free_p) char *why = NULL;
	int r = path_join(t->c->state->dir, STORE_NAME, &path);

	if (r == 0 && t->renews)
		r = renew_store(t, path, -EBADMSG, NULL);
	if (r == 0)
		r = store_open(path, STORE_WRITE, &t->store, &why);
	if (renew_helps(r)) {
		r = renew_store(t, path, r, why);
		free(TAKE(why));
		if (r == 0)
			r = store_open(path, STORE_WRITE, &t->store, &why);
	}
	if (r < 0)
		tape_say("the store cannot be opened: %s",
			 why ? why : strerrordesc_np(-r));
	return r;
}

static int open_doors(struct tape *t)
{
	const struct state *s = t->c->state;
	int r = publish_open(s->pub_socket, &t->publish);

	if (r == 0)
		r = questions_open(t);
	if (r < 0)
		tape_say("the sockets in '%s' cannot be opened: %s", s->run,
			 strerrordesc_np(-r));
	return r;
}

static int open_progress(struct tape *t)
{
	int r = progress_open(t->c->state->dir_fd, &t->progress);

	if (r == 0)
		fence_init(&t->fence, t->progress);
	else
		tape_say("the page shared with the file system in '%s' cannot "
			 "be used: %s",
			 t->c->state->dir, strerrordesc_np(-r));
	return r;
}

static int tape_open(struct tape *t)
{
	int r = lock_take(t);

	if (r == 0)
		r = care_open(t->c->state->dir_fd, &t->care);
	if (r == 0)
		r = open_progress(t);
	if (r == 0)
		r = open_store(t);
	if (r == 0)
		r = anchoring_open(t);
	if (r < 0)
		return r;
	t->ahead = ahead_new(t->c->root_fd, t->care);
	t->apart = apart_new(t->wake_fd);
	atomic_store(&t->head, store_head(t->store));
	r = questions_answers(t);
	return r == 0 ? open_doors(t) : r;
}

static void free_node(struct paths_node *n, void *arg)
{
	(void)arg;
	free(n->path);
	free(n);
}

static void tape_release(struct tape *t)
{
	questions_close(t);
	anchoring_close(t);
	publish_free(t->publish);
	answers_free(t->answers);
	external_stop(t);
	follow_stop(t);
	store_free(t->store);
	if (t->facts)
		lang_readers_free(t->facts);
	graph_free(t->graph);
	ahead_free(t->ahead);
	apart_free(t->apart);
	care_free(t->care);
	progress_free(t->progress);
	paths_each(&t->known, free_node, NULL);
	table_release(&t->known);
	while (t->bases.count)
		free(t->bases.at[--t->bases.count]);
	array_release(&t->bases);
	array_release(&t->batch);
	arena_release(&t->arena);
	buf_release(&t->text);
	buf_release(&t->more_text);
	free(t->aside);
	close_p(&t->wake_fd);
	close_p(&t->lock_file);
}

static void loop_free_p(struct loop **l)
{
	loop_free(*l);
}

/* `renews`: the store turned out to be damaged; begin with a new one. */
static int run_once(const struct tape_config *c, bool renews)
{
	CLEANUP(tape_release)
	struct tape t = { .c = c,
			  .renews = renews,
			  .lock_file = -1,
			  .wake_fd = -1,
			  .kept_fd = -1,
			  .since_ns = clock_wall_ns(),
			  .text = TREE_TEXT,
			  .more_text = TREE_TEXT };
	CLEANUP(loop_free_p) struct loop *loop = NULL;
	int r;

	/* Memory that one question used stays for the next. There is one
	   thread yet. NOLINTBEGIN(concurrency-mt-unsafe) */
	(void)mallopt(M_TRIM_THRESHOLD, MALLOC_KEEPS);
	(void)mallopt(M_TOP_PAD, MALLOC_STEP);
	/* NOLINTEND(concurrency-mt-unsafe) */
	t.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	(void)signal(SIGPIPE, SIG_IGN);
	loop = loop_new(&t);
	r = tape_open(&t);
	return r < 0 ? r : loop_run(loop);
}

int tape_run(const struct tape_config *c)
{
	int r = run_once(c, false);

	/* Damage was met while reading or writing. */
	for (int tries = 0; renew_helps(r) && tries < RENEWALS_MAX; tries++)
		r = run_once(c, true);
	return r;
}
