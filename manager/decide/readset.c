#include "manager/decide/readset.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "tape/wire/client.h"

/* A time that passed through a double is off by less than this. */
#define SLACK_NS 1000000

/*
 * The agent reads for itself, too: it looks at git's state, watches and
 * indexes. Its own process began to read before the window did, and so did a
 * server it keeps; git says nothing that a command's output rests on.
 */
static bool is_of_a_call(const struct client_process *p, int64_t from_ns)
{
	if (strcmp(p->comm, "git") == 0)
		return false;
	return !p->first_ns || p->first_ns >= from_ns - SLACK_NS;
}

static int string_order(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/*
 * Python opens no source that it has compiled: it looks how old it is, which
 * the kernel answers by itself, and opens pkg/__pycache__/mod.cpython-311.pyc.
 * The source of that, or NULL.
 */
static char *source_of(const char *path)
{
	const char *name = strrchr(path, '/'), *dot;
	static const char cache[] = "__pycache__";
	size_t len = strlen(path), dir;
	char *source = NULL;

	name = name ? name + 1 : path;
	dot = strchr(name, '.');
	if (len < 4 || strcmp(path + len - 4, ".pyc") != 0 || !dot)
		return NULL;
	dir = (size_t)(name - path);
	if (dir >= sizeof(cache) &&
	    strncmp(name - sizeof(cache), cache, sizeof(cache) - 1) == 0 &&
	    (dir == sizeof(cache) || name[-(int)sizeof(cache) - 1] == '/'))
		dir -= sizeof(cache);
	if (asprintf(&source, "%.*s%.*s.py", (int)dir, path, (int)(dot - name),
		     name) < 0)
		abort();
	return source;
}

static void add_paths(const struct client_paths *paths,
		      struct readset_paths *ret)
{
	for (size_t i = 0; i < paths->count; i++) {
		const char *path = paths->at[i];
		char *source = source_of(path);

		if (!source)
			source = must_strdup(path);
		array_push(ret, source);
	}
}

static bool is_one_of(const char *names, const char *name, size_t len)
{
	const char *at = names;

	while ((at = memmem(at, strlen(at), name, len)) != NULL) {
		if (at[-1] == ' ' && at[len] == ' ')
			return true;
		at++;
	}
	return false;
}

static bool is_python(const char *comm)
{
	return strncmp(comm, "python", 6) == 0 ||
	       strncmp(comm, "pypy", 4) == 0 ||
	       strncmp(comm, "pytest", 6) == 0 ||
	       strncmp(comm, "ipython", 7) == 0;
}

/* Does it keep what it found out, and look again only at what is newer? */
static bool is_by_age(const char *comm, const struct readset_paths *opened)
{
	static const char tools[] =
		" make gmake ninja samu cmake ctest meson scons bazel buck2 "
		"cargo go gradle mvn java tsc node npm pnpm yarn bun deno "
		"mypy dmypy pyright ruff pre-commit ccache rake just ";
	static const char caches[] =
		" .mypy_cache .ruff_cache .eslintcache .cache .parcel-cache "
		".turbo .gradle .tsbuildinfo .pytype .pyre .dmypy.json ";

	if (*comm && is_one_of(tools, comm, strlen(comm)))
		return true;
	for (uint32_t i = 0; i < opened->count; i++) {
		const char *at = opened->at[i];

		while (*at) {
			size_t len = strcspn(at, "/");

			if (is_one_of(caches, at, len))
				return true;
			at += len + (at[len] == '/');
		}
	}
	return false;
}

/* Sorted, each once. */
static void once_each(struct readset_paths *p)
{
	uint32_t kept = 0;

	if (p->count)
		qsort(p->at, p->count, sizeof(*p->at), string_order);
	for (uint32_t i = 0; i < p->count; i++)
		if (!kept || strcmp(p->at[kept - 1], p->at[i]) != 0)
			p->at[kept++] = p->at[i];
	p->count = kept;
}

static void release_paths(struct readset_paths *p)
{
	for (uint32_t i = 0; i < p->count; i++)
		free(p->at[i]);
	array_release(p);
}

static void add_process(struct readset *r, const struct client_process *from)
{
	struct readset_process *p = array_add(&r->processes);
	struct readset_paths *to;

	p->pid = from->pid;
	p->first_ns = from->first_ns;
	add_paths(&from->opened, &p->opened);
	add_paths(&from->missed, &p->missed);
	add_paths(&from->listed, &p->listed);
	array_append(&r->opened, p->opened.at, p->opened.count);
	array_append(&r->missed, p->missed.at, p->missed.count);
	p->imports = is_python(from->comm);
	to = p->imports ? &r->searched : &r->listed;
	array_append(to, p->listed.at, p->listed.count);
	r->by_age |= is_by_age(from->comm, &p->opened);
}

int readset_ask(struct client *c, int64_t from_ns, int64_t to_ns,
		struct readset *ret)
{
	CLEANUP(client_readset_release)
	struct client_readset all = { .held_ = NULL };
	int rc = client_readset(c, from_ns, to_ns, &all);

	if (rc < 0)
		return rc;
	*ret = (struct readset){ 0 };
	for (uint32_t i = 0; i < all.count; i++)
		if (is_of_a_call(&all.at[i], from_ns))
			add_process(ret, &all.at[i]);
	once_each(&ret->opened);
	once_each(&ret->missed);
	once_each(&ret->listed);
	once_each(&ret->searched);
	return 0;
}

void readset_release(struct readset *r)
{
	for (uint32_t i = 0; i < r->processes.count; i++) {
		release_paths(&r->processes.at[i].opened);
		release_paths(&r->processes.at[i].missed);
		release_paths(&r->processes.at[i].listed);
	}
	array_release(&r->opened);
	array_release(&r->missed);
	array_release(&r->listed);
	array_release(&r->searched);
	array_release(&r->processes);
}

bool readset_opened(const struct readset *r, const char *path)
{
	return r->opened.count && bsearch(&path, r->opened.at, r->opened.count,
					  sizeof(*r->opened.at), string_order);
}
