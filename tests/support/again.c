#include "tests/support/again.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "graph/base/cleanup.h"
#include "graph/graph.h"
#include "graph/snapshot.h"

struct file_sink {
	struct snapshot_sink sink;
	int fd;
};

static int append(struct snapshot_sink *s, const void *bytes, size_t len)
{
	const struct file_sink *f = (const void *)s;

	if (pwrite(f->fd, bytes, len, (off_t)s->at) != (ssize_t)len)
		return -EIO;
	s->at += len;
	return 0;
}

struct graph *graph_again(struct graph *g)
{
	CLEANUP(close_p) int fd = memfd_create("graph", MFD_CLOEXEC);
	struct file_sink out = { .sink = { .write = append }, .fd = fd };
	struct graph *loaded;
	uint64_t at = 0;
	int r = fd < 0 ? -errno : snapshot_save(g, &out.sink, &at);

	if (r == 0 && at == 0)
		return g;
	graph_free(g);
	if (r < 0)
		return NULL;
	loaded = graph_new();
	if (snapshot_load(loaded, fd, at) == 0)
		return loaded;
	graph_free(loaded);
	return NULL;
}
