/*
 * Copies of versions that no entry will need. The reader of a KEEP line removes
 * its copy after the commit (contents.c); nobody else does. So those stay that
 * no line names, or no line that is read again: the file system was killed
 * between copy and line, or the tape between commit and removal, or the line
 * was lost.
 *
 *	LIST	the names in the directory
 *	FENCE	until the operations have ended that may have made them
 *	READ	until the journal was read up to then
 *	REMOVE	those that no line named meanwhile
 *
 * It begins while nothing is dirty, when no line that was read before is about
 * to be used. Each stage is done in slices.
 */
#include <assert.h>
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/base/clock.h"
#include "graph/base/debug.h"
#include "tape/daemon_i.h"
#include "tape/fence.h"
#include "tape/journal/journal.h"
#include "tape/journal/progress.h"
#include "tape/settle.h"
#include "tape/wire/state.h"

/* What is left while a file system runs is little. */
#define EVERY_NS (600000 * NS_PER_MS)

enum leftovers_stage {
	LEFTOVERS_NONE,
	LEFTOVERS_LIST,
	LEFTOVERS_FENCE,
	LEFTOVERS_READ,
	LEFTOVERS_REMOVE,
};

struct copy_name {
	struct paths_node at; /* first */
	bool named;	      /* by a line */
};

struct leftovers {
	enum leftovers_stage stage;
	DIR *dir;
	struct table names; /* struct copy_name; while it is listed, read */
	ARRAY(char *) left; /* to be removed */
	uint64_t ticket, fence_ns, read_ns;
	pid_t server;	 /* when it last began */
	uint64_t due_ns; /* when to begin again, if the server is the same */
};

struct leftovers *leftovers_new(void)
{
	return must_calloc(1, sizeof(struct leftovers));
}

static void free_name(struct paths_node *n, void *arg)
{
	(void)arg;
	free(n->path);
	free(n);
}

static void end(struct leftovers *x)
{
	closedir_p(&x->dir);
	x->dir = NULL;
	paths_each(&x->names, free_name, NULL);
	table_release(&x->names);
	while (x->left.count)
		free(x->left.at[--x->left.count]);
	x->stage = LEFTOVERS_NONE;
}

void leftovers_free(struct leftovers *x)
{
	if (!x)
		return;
	end(x);
	array_release(&x->left);
	free(x);
}

bool leftovers_busy(const struct leftovers *x)
{
	return x->stage != LEFTOVERS_NONE;
}

uint64_t leftovers_due(const struct leftovers *x)
{
	if (x->stage == LEFTOVERS_FENCE)
		return (uint64_t)clock_mono_ns() + FENCE_EVERY_NS;
	return leftovers_busy(x) ? 1 : 0;
}

static DIR *open_dir(int state_fd)
{
	CLEANUP(close_p)
	int fd = openat(state_fd, JOURNAL_KEPT,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (dir)
		(void)take_fd(&fd);
	return dir;
}

void leftovers_begin(struct tape *t, struct leftovers *x)
{
	pid_t server = t->progress ? progress_server(t->progress) : -1;
	uint64_t now = clock_mono_ns();

	if (leftovers_busy(x) || server < 0 || !t->c->journal ||
	    (x->due_ns > now && x->server == server) ||
	    settle_pending(t->settle) || t->contents.done.count)
		return;
	x->server = server;
	x->due_ns = now + EVERY_NS;
	x->dir = open_dir(t->c->state->dir_fd);
	if (x->dir)
		x->stage = LEFTOVERS_LIST;
}

/* -- LIST. */

static struct copy_name *add(struct leftovers *x, const char *name)
{
	struct copy_name *c = paths_find(&x->names, name);

	if (!c) {
		c = must_calloc(1, sizeof(*c));
		paths_add(&x->names, &c->at, name);
	}
	return c;
}

void leftovers_named(struct leftovers *x, const char *name)
{
	struct copy_name *c = NULL;

	/* It may be listed after its line was read. */
	if (x->stage == LEFTOVERS_LIST)
		c = add(x, name);
	else if (leftovers_busy(x))
		c = paths_find(&x->names, name);
	if (c)
		c->named = true;
}

/* As fs/node/kept.c makes them; what else lies there is not ours. */
static bool is_copy(int dir_fd, const char *name)
{
	size_t mount = strspn(name, "0123456789abcdef");
	const char *rest = name + mount;
	struct stat st;

	return mount > 0 && *rest == '-' && isdigit((unsigned char)rest[1]) &&
	       strspn(rest + 1, "0123456789") == strlen(rest + 1) &&
	       fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISREG(st.st_mode);
}

static bool list(struct tape *t, struct leftovers *x)
{
	struct dirent *entry;

	while (!slice_over(t)) {
		/* One stream, one thread: readdir() is safe on that. */
		entry = readdir(x->dir); /* NOLINT(concurrency-mt-unsafe) */
		if (!entry) {
			x->ticket = fence_ticket(&t->fence);
			x->fence_ns = clock_mono_ns();
			return true;
		}
		if (is_copy(dirfd(x->dir), entry->d_name))
			(void)add(x, entry->d_name);
	}
	return false;
}

/* -- FENCE, READ, REMOVE. */

static bool pass_fence(struct tape *t, struct leftovers *x)
{
	uint64_t now = clock_mono_ns();
	enum fence_state state = fence_look(&t->fence, x->ticket);

	if (state == FENCE_PASSED) {
		x->read_ns = now;
		return true;
	}
	/* Another time. */
	if (state != FENCE_WAITS || now > x->fence_ns + FENCE_PATIENCE_NS)
		end(x);
	return false;
}

static void choose(struct paths_node *n, void *arg)
{
	struct leftovers *x = arg;

	if (!((const struct copy_name *)n)->named)
		array_push(&x->left, must_strdup(n->path));
}

static bool has_read(struct tape *t, struct leftovers *x)
{
	if (t->read_ns < x->read_ns)
		(void)follow_read(t);
	if (t->read_ns < x->read_ns)
		return false;
	paths_each(&x->names, choose, x);
	DEBUG(DEBUG_TAPE, "%u copies are named by no line",
	      (unsigned)x->left.count);
	return true;
}

static bool remove_some(struct tape *t, struct leftovers *x)
{
	while (x->left.count && !slice_over(t)) {
		CLEANUP(free_p) char *name = x->left.at[--x->left.count];

		(void)unlinkat(dirfd(x->dir), name, 0);
	}
	return !x->left.count;
}

static bool step(struct tape *t, struct leftovers *x)
{
	switch (x->stage) {
	case LEFTOVERS_LIST:
		return list(t, x);
	case LEFTOVERS_FENCE:
		return pass_fence(t, x);
	case LEFTOVERS_READ:
		return has_read(t, x);
	case LEFTOVERS_REMOVE:
		if (remove_some(t, x))
			end(x);
		return false;
	case LEFTOVERS_NONE:
	default:
		return false;
	}
}

void leftovers_step(struct tape *t, struct leftovers *x)
{
	while (step(t, x))
		x->stage++;
}
