#include "manager/decide/asks.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"

/* Entries looked at one by one; beyond, nothing is known to be our own. */
#define SINCE_MAX 256

static void json_p(cJSON **j)
{
	cJSON_Delete(*j);
}

static const cJSON *member(const cJSON *j, const char *name)
{
	return cJSON_GetObjectItemCaseSensitive(j, name);
}

static const char *string_of(const cJSON *j, const char *name)
{
	return cJSON_GetStringValue(member(j, name));
}

static uint64_t number_of(const cJSON *j, const char *name)
{
	const cJSON *n = member(j, name);

	return cJSON_IsNumber(n) && n->valuedouble > 0
		       ? (uint64_t)n->valuedouble
		       : 0;
}

static cJSON *must_json(cJSON *j)
{
	if (!j)
		abort();
	return j;
}

static char *copy(const char *text)
{
	size_t len = strlen(text);
	char *own = must_alloc(len + 1);

	memcpy(own, text, len + 1);
	return own;
}

/* Ask, with what is left of the time, `limit_ms` at most. */
int asks_any(struct asks *a, const char *ask, const cJSON *question,
	     int limit_ms, cJSON **ret)
{
	struct timespec t;
	int64_t left;
	int rc;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	left = (a->deadline_ns - (t.tv_sec * 1000000000LL + t.tv_nsec)) /
	       1000000;
	if (!a->ask)
		return -ECONNREFUSED;
	if (left <= 0)
		return -ETIMEDOUT;
	rc = a->ask(a->ctx, ask, question,
		    left < limit_ms ? (int)left : limit_ms, ret);
	if (rc == -EREMOTEIO) {
		cJSON_Delete(*ret);
		*ret = NULL;
		return -ENOENT;
	}
	return rc;
}

#define PATIENCE_MS 1000

int asks_sync(struct asks *a, int limit_ms, uint64_t *ret_n, bool *ret_ready)
{
	CLEANUP(json_p) cJSON *answer = NULL;
	int rc = asks_any(a, "SYNC", NULL, limit_ms, &answer);

	if (rc < 0)
		return rc;
	*ret_n = number_of(answer, "n");
	*ret_ready = cJSON_IsTrue(member(answer, "ready"));
	return 0;
}

static void read_author(const cJSON *author, struct asks_entry *e)
{
	const cJSON *at;
	size_t i = 0;

	e->pid = (uint32_t)number_of(author, "pid");
	cJSON_ArrayForEach (at, member(author, "ancestors"))
		if (i < sizeof(e->ancestors) / sizeof(e->ancestors[0]))
			e->ancestors[i++] = (uint32_t)number_of(at, "pid");
}

int asks_since(struct asks *a, uint64_t n, struct asks_entries *ret)
{
	CLEANUP(json_p) cJSON *q = must_json(cJSON_CreateObject());
	CLEANUP(json_p) cJSON *answer = NULL;
	const cJSON *at;
	int rc;

	(void)cJSON_AddNumberToObject(q, "n", (double)n);
	(void)cJSON_AddNumberToObject(q, "limit", SINCE_MAX);
	rc = asks_any(a, "SINCE", q, PATIENCE_MS, &answer);
	if (rc < 0)
		return rc;
	*ret = (struct asks_entries){ 0 };
	ret->more = cJSON_IsTrue(member(answer, "more"));
	cJSON_ArrayForEach (at, member(answer, "entries")) {
		struct asks_entry *e = array_add(&ret->at);
		const char *path = string_of(at, "path");
		const char *path2 = string_of(at, "path2");

		e->n = number_of(at, "n");
		e->at_ns = (int64_t)number_of(at, "at_ns");
		e->path = copy(path ? path : "");
		e->path2 = path2 ? copy(path2) : NULL;
		read_author(member(at, "author"), e);
		e->elsewhere = member(at, "dX") == NULL ||
			       cJSON_GetArraySize(member(at, "dX")) ||
			       cJSON_GetArraySize(member(at, "R"));
	}
	return 0;
}

void asks_entries_release(struct asks_entries *e)
{
	for (uint32_t i = 0; i < e->at.count; i++) {
		free(e->at.at[i].path);
		free(e->at.at[i].path2);
	}
	array_release(&e->at);
}

/* Text that is no UTF-8 comes in base64: no record shows that. */
static int take_text(const cJSON *answer, struct asks_text *ret)
{
	const char *text = string_of(answer, "text");

	if (!text)
		return -ENOENT;
	ret->len = strlen(text);
	ret->at = copy(text);
	return 0;
}

int asks_source(struct asks *a, const char *path, uint64_t n,
		struct asks_text *ret, char **ret_path)
{
	CLEANUP(json_p) cJSON *q = must_json(cJSON_CreateObject());
	CLEANUP(json_p) cJSON *answer = NULL;
	int rc;

	(void)cJSON_AddStringToObject(q, "path", path);
	if (n != ASKS_NOW)
		(void)cJSON_AddNumberToObject(q, "n", (double)n);
	rc = asks_any(a, "SOURCE", q, PATIENCE_MS, &answer);
	if (rc < 0)
		return rc;
	if (string_of(answer, "path"))
		*ret_path = copy(string_of(answer, "path"));
	return take_text(answer, ret);
}

int asks_content(struct asks *a, const char *hash, struct asks_text *ret)
{
	CLEANUP(json_p) cJSON *q = must_json(cJSON_CreateObject());
	CLEANUP(json_p) cJSON *answer = NULL;
	int rc;

	(void)cJSON_AddStringToObject(q, "hash", hash);
	rc = asks_any(a, "CONTENT", q, PATIENCE_MS, &answer);
	return rc < 0 ? rc : take_text(answer, ret);
}

int asks_versions(struct asks *a, const char *path, uint32_t limit,
		  struct asks_versions *ret)
{
	CLEANUP(json_p) cJSON *q = must_json(cJSON_CreateObject());
	CLEANUP(json_p) cJSON *answer = NULL;
	const cJSON *at;
	int rc;

	(void)cJSON_AddStringToObject(q, "path", path);
	(void)cJSON_AddNumberToObject(q, "limit", limit);
	rc = asks_any(a, "VERSIONS", q, PATIENCE_MS, &answer);
	if (rc < 0)
		return rc;
	*ret = (struct asks_versions){ { 0 } };
	cJSON_ArrayForEach (at, member(answer, "versions")) {
		struct asks_version *v = array_add(&ret->at);
		const char *hash = string_of(at, "hash");

		v->n = number_of(at, "n");
		if (hash && strlen(hash) < sizeof(v->hash))
			memcpy(v->hash, hash, strlen(hash));
	}
	return 0;
}

int asks_symbols(struct asks *a, const char *path, struct asks_symbols *ret)
{
	CLEANUP(json_p) cJSON *q = must_json(cJSON_CreateObject());
	CLEANUP(json_p) cJSON *answer = NULL;
	const cJSON *at;
	int rc;

	(void)cJSON_AddStringToObject(q, "path", path);
	rc = asks_any(a, "SYMBOLS", q, PATIENCE_MS, &answer);
	if (rc < 0)
		return rc;
	*ret = (struct asks_symbols){ { 0 } };
	cJSON_ArrayForEach (at, member(answer, "symbols")) {
		const char *name = string_of(at, "name");
		struct asks_symbol *s;

		if (!name)
			continue;
		s = array_add(&ret->at);
		s->name = copy(name);
		s->start = (uint32_t)number_of(at, "start");
		s->end = (uint32_t)number_of(at, "end");
	}
	return 0;
}

void asks_symbols_release(struct asks_symbols *s)
{
	for (uint32_t i = 0; i < s->at.count; i++)
		free(s->at.at[i].name);
	array_release(&s->at);
}

/*
 * The agent reads for itself, too: it looks at git's state, watches and
 * indexes. Its own process began to read before the window did, and so did a
 * server it keeps; git says nothing that a command's output rests on.
 */
static bool is_of_a_call(const cJSON *process, int64_t from_ns)
{
	const cJSON *first = member(process, "first_ns");
	const char *comm = string_of(process, "comm");

	if (comm && strcmp(comm, "git") == 0)
		return false;
	return !cJSON_IsNumber(first) ||
	       first->valuedouble >= (double)from_ns - 1e6;
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

static void add_paths(const cJSON *paths, struct asks_paths *ret)
{
	const cJSON *path;

	cJSON_ArrayForEach (path, paths) {
		char *source;

		if (!cJSON_IsString(path))
			continue;
		source = source_of(path->valuestring);
		array_push(ret, source ? source : copy(path->valuestring));
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
	return comm && (strncmp(comm, "python", 6) == 0 ||
			strncmp(comm, "pypy", 4) == 0 ||
			strncmp(comm, "pytest", 6) == 0 ||
			strncmp(comm, "ipython", 7) == 0);
}

/* Does it keep what it found out, and look again only at what is newer? */
static bool is_by_age(const char *comm, const struct asks_paths *opened)
{
	static const char tools[] =
		" make gmake ninja samu cmake ctest meson scons bazel buck2 "
		"cargo go gradle mvn java tsc node npm pnpm yarn bun deno "
		"mypy dmypy pyright ruff pre-commit ccache rake just ";
	static const char caches[] =
		" .mypy_cache .ruff_cache .eslintcache .cache .parcel-cache "
		".turbo .gradle .tsbuildinfo .pytype .pyre .dmypy.json ";

	if (comm && is_one_of(tools, comm, strlen(comm)))
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
static void once_each(struct asks_paths *p)
{
	uint32_t kept = 0;

	if (p->count)
		qsort(p->at, p->count, sizeof(*p->at), string_order);
	for (uint32_t i = 0; i < p->count; i++)
		if (!kept || strcmp(p->at[kept - 1], p->at[i]) != 0)
			p->at[kept++] = p->at[i];
	p->count = kept;
}

static void release_paths(struct asks_paths *p)
{
	for (uint32_t i = 0; i < p->count; i++)
		free(p->at[i]);
	array_release(p);
}

int asks_readset(struct asks *a, int64_t from_ns, int64_t to_ns,
		 struct asks_readset *ret)
{
	CLEANUP(json_p) cJSON *q = must_json(cJSON_CreateObject());
	CLEANUP(json_p) cJSON *answer = NULL;
	const cJSON *at;
	int rc;

	(void)cJSON_AddNumberToObject(q, "from_ns", (double)from_ns);
	(void)cJSON_AddNumberToObject(q, "to_ns", (double)to_ns);
	rc = asks_any(a, "READSET", q, PATIENCE_MS, &answer);
	if (rc < 0)
		return rc;
	*ret = (struct asks_readset){ 0 };
	cJSON_ArrayForEach (at, member(answer, "processes")) {
		struct asks_process *p;
		struct asks_paths *to;

		if (!is_of_a_call(at, from_ns))
			continue;
		p = array_add(&ret->processes);
		p->pid = (uint32_t)number_of(at, "pid");
		p->first_ns = (int64_t)number_of(at, "first_ns");
		add_paths(member(at, "opened"), &p->opened);
		add_paths(member(at, "missed"), &p->missed);
		add_paths(member(at, "listed"), &p->listed);
		array_append(&ret->opened, p->opened.at, p->opened.count);
		array_append(&ret->missed, p->missed.at, p->missed.count);
		p->imports = is_python(string_of(at, "comm"));
		to = p->imports ? &ret->searched : &ret->listed;
		array_append(to, p->listed.at, p->listed.count);
		ret->by_age |= is_by_age(string_of(at, "comm"), &p->opened);
	}
	once_each(&ret->opened);
	once_each(&ret->missed);
	once_each(&ret->listed);
	once_each(&ret->searched);
	return 0;
}

void asks_readset_release(struct asks_readset *r)
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

int asks_hold(struct asks *a, const char *holder, uint64_t n, uint32_t ttl_ms)
{
	CLEANUP(json_p) cJSON *q = must_json(cJSON_CreateObject());
	CLEANUP(json_p) cJSON *answer = NULL;

	(void)cJSON_AddStringToObject(q, "holder", holder);
	(void)cJSON_AddNumberToObject(q, "n", (double)n);
	(void)cJSON_AddNumberToObject(q, "ttl_ms", ttl_ms);
	return asks_any(a, "HOLD", q, PATIENCE_MS, &answer);
}
