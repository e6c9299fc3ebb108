/*
 * A store against a model made of arrays and loops: entries in random
 * transactions, some of them aborted; now and then the store is reopened, or
 * old entries are retired; after each step random questions must have the same
 * answers, and verify must find nothing. Usage: store_prop [SEED [STEPS]]. The
 * seed is printed.
 */
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "graph/base/path.h"
#include "tape/journal/journal.h"
#include "tape/store/store.h"
#include "tests/support/scratch.h"

#define SECOND	 INT64_C(1000000000)
#define ENTRIES	 3000
#define STEPS	 200
#define NONE	 (-1)
#define COUNT(a) ((int)(sizeof(a) / sizeof(*(a))))

static const char *const paths[] = { "a.py",	   "b.py", "dir/a.py", "dir/c",
				     "dir/d/\xff", "[e]",  "f" };
static const char *const globs[] = { "a.py", "*.py", "dir", "dir/*",
				     "[e]",  "*",    "g",   "f" };
static const char *const symbols[] = { "m.load", "m.sub.load", "n.C.load",
				       "n.C",	 "save",       "n.save" };
static const char *const ends[] = { "load",   "m.load", "C.load", "save",
				    "n.save", "ad",	"C",	  "sub.load" };
static const char *const texts[] = { "",       "one\n",	 "two\n", "three\n",
				     "four\n", "five\n", "six\n" };
static const char *const commands[] = { "sed", "sed -i*", "agent*", "*x*",
					"none" };
static struct journal_author authors[] = {
	{ .pid = 1, .comm = "init", .cmdline = "init", .exe = "" },
	{ .pid = 2, .comm = "agent", .cmdline = "agent --x", .exe = "/a" },
	{ .pid = 3, .comm = "bash", .cmdline = "bash -c x", .exe = "/b" },
	{ .pid = 4, .comm = "sed", .cmdline = "sed -i s", .exe = "/s" },
	{ .pid = 4, .comm = "vim", .cmdline = "vim", .exe = "/v", .start = 9 },
};

#define PATHS	((int)(sizeof(paths) / sizeof(*paths)))
#define AUTHORS ((int)(sizeof(authors) / sizeof(*authors)))
#define SYMBOLS ((int)(sizeof(symbols) / sizeof(*symbols)))

/* Indices into the arrays above. */
struct touch {
	int symbol;
	enum entry_set set;
	bool removed;
};
struct made {
	enum entry_kind kind;
	int path, path2, author, before, after;
	struct touch touches[3];
	int touched;
};
struct model {
	struct made entries[ENTRIES + 1]; /* from 1 */
	uint64_t n, first, position;
	int files[PATHS], base[PATHS]; /* texts */
};

struct prop {
	struct model now, committed;
	struct store *s;
	char *path;
	uint64_t rng, seed;
	int step;
};

static void die(const struct prop *p, const char *what)
{
	(void)printf("seed %" PRIu64 ", step %d: %s\n", p->seed, p->step, what);
	abort();
}

static void must(const struct prop *p, bool holds, const char *what)
{
	if (!holds)
		die(p, what);
}

static int choose(struct prop *p, int n)
{
	p->rng ^= p->rng >> 12;
	p->rng ^= p->rng << 25;
	p->rng ^= p->rng >> 27;
	return (int)((p->rng * UINT64_C(2685821657736338717) >> 33) %
		     (uint64_t)n);
}

static XXH128_hash_t hash_of(int text)
{
	return XXH3_128bits(texts[text], strlen(texts[text]));
}

/* -- The model's answers. */

static bool model_used(const struct model *m, int path)
{
	for (uint64_t n = m->first; n <= m->n; n++)
		if (m->entries[n].path == path || m->entries[n].path2 == path)
			return true;
	return false;
}

/* The text as of entry n; *ret is the entry, 0: the base. */
static int model_version(const struct model *m, int path, uint64_t n,
			 uint64_t *ret)
{
	*ret = 0;
	for (uint64_t i = n < m->n ? n : m->n; i >= m->first && i > 0; i--) {
		const struct made *e = &m->entries[i];

		if (e->path != path && e->path2 != path)
			continue;
		*ret = i;
		return e->kind == ENTRY_RENAME && e->path2 != path ? NONE
								   : e->after;
	}
	if (n < UINT64_MAX && n + 1 < m->first)
		return NONE;
	return m->base[path];
}

static bool ends_in(const char *name, const char *end)
{
	const char *at = strstr(name, end);

	for (; at; at = strstr(at + 1, end))
		if (strlen(at) == strlen(end))
			return at == name || at[-1] == '.';
	return false;
}

static bool author_fits(const struct made *e, const struct store_filter *f)
{
	const struct journal_author *a;

	if (!f->pid && !f->author)
		return true;
	if (e->author == NONE)
		return false;
	a = &authors[e->author];
	if (f->author && fnmatch(f->author, a->comm, 0) != 0 &&
	    fnmatch(f->author, a->cmdline, 0) != 0)
		return false;
	while (f->pid && a && a->pid != f->pid)
		a = a->parent;
	return a != NULL;
}

static bool symbol_fits(const struct made *e, const struct store_filter *f)
{
	for (int i = 0; f->symbol && i < e->touched; i++)
		if (ends_in(symbols[e->touches[i].symbol], f->symbol))
			return true;
	return !f->symbol;
}

static bool path_fits(const struct made *e, const struct store_filter *f)
{
	return !f->path || path_matches(f->path, paths[e->path]) ||
	       (e->path2 != NONE && path_matches(f->path, paths[e->path2]));
}

static bool model_fits(const struct model *m, uint64_t n,
		       const struct store_filter *f)
{
	const struct made *e = &m->entries[n];
	int64_t at = (int64_t)n * SECOND;

	return (!f->before || n < f->before) &&
	       (!f->since_ns || at >= f->since_ns) &&
	       (!f->until_ns || at <= f->until_ns) && path_fits(e, f) &&
	       symbol_fits(e, f) && author_fits(e, f);
}

/* -- Random changes. */

static void do_touches(struct prop *p, struct made *e)
{
	int at = choose(p, SYMBOLS);

	e->touched = choose(p, 4);
	for (int i = 0; i < e->touched; i++) {
		e->touches[i].symbol = (at + i) % SYMBOLS;
		e->touches[i].set = (enum entry_set)choose(p, ENTRY_SETS);
		e->touches[i].removed =
			e->touches[i].set == ENTRY_X && choose(p, 3) == 0;
	}
}

/* A change that is possible for the current state of a path. */
static struct made plan(struct prop *p)
{
	struct made e = {
		.path = choose(p, PATHS),
		.path2 = NONE,
		.author = choose(p, AUTHORS + 1) - 1,
		.after = choose(p, COUNT(texts)),
	};

	e.before = p->now.files[e.path];
	if (e.before == NONE) {
		e.kind = ENTRY_CREATE;
	} else if (choose(p, 4) == 0) {
		e.kind = ENTRY_DELETE;
		e.after = NONE;
	} else if (choose(p, 4) == 0) {
		e.kind = ENTRY_RENAME;
		e.path2 = (e.path + 1 + choose(p, PATHS - 1)) % PATHS;
	}
	do_touches(p, &e);
	return e;
}

static void put_text(struct prop *p, int text)
{
	must(p,
	     store_put_content(p->s, hash_of(text), NULL, texts[text],
			       strlen(texts[text])) == 0,
	     "put content");
}

static void put_file(struct prop *p, int path, int text)
{
	struct store_file f = { .path = paths[path],
				.hash = hash_of(text),
				.size = strlen(texts[text]),
				.inode = (uint64_t)path };

	must(p, store_put_file(p->s, &f) == 0, "put file");
	p->now.files[path] = text;
}

static void do_entry(struct prop *p)
{
	struct made made = plan(p);
	struct entry_symbol touched[3];
	struct entry e = {
		.at_ns = (int64_t)(p->now.n + 1) * SECOND,
		.kind = made.kind,
		.path = paths[made.path],
		.path2 = made.path2 == NONE ? NULL : paths[made.path2],
		.had = made.before != NONE,
		.has = made.after != NONE,
		.symbols = touched,
		.symbols_count = (size_t)made.touched,
		.author = made.author == NONE ? NULL : &authors[made.author],
	};

	for (int i = 0; i < made.touched; i++)
		touched[i] = (struct entry_symbol){
			.name = symbols[made.touches[i].symbol],
			.set = (uint8_t)made.touches[i].set,
			.removed = made.touches[i].removed,
		};
	if (e.had)
		e.before = hash_of(made.before);
	if (e.has) {
		e.after = hash_of(made.after);
		put_text(p, made.after);
	}
	if (!model_used(&p->now, made.path))
		p->now.base[made.path] = made.before;
	must(p, store_append(p->s, &e) == 0, "append");
	p->now.entries[++p->now.n] = made;
	must(p, e.n == p->now.n, "number");
	if (e.has)
		put_file(p, e.path2 ? made.path2 : made.path, made.after);
	if (!e.has || e.path2) {
		must(p, store_remove_file(p->s, e.path) == 0, "remove file");
		p->now.files[made.path] = NONE;
	}
}

/* A file without an entry. */
static void do_base(struct prop *p)
{
	int path = choose(p, PATHS), text = choose(p, COUNT(texts));

	if (model_used(&p->now, path))
		return;
	put_text(p, text);
	put_file(p, path, text);
	p->now.base[path] = text;
}

static void do_transaction(struct prop *p)
{
	must(p, store_begin(p->s) == 0, "begin");
	for (int i = choose(p, 6); i > 0 && p->now.n < ENTRIES; i--) {
		if (choose(p, 8) == 0)
			do_base(p);
		else
			do_entry(p);
	}
	p->now.position = (uint64_t)choose(p, 100000);
	must(p, store_set_position(p->s, p->now.position) == 0, "position");
	if (choose(p, 4) == 0) {
		store_abort(p->s);
		p->now = p->committed;
	} else {
		must(p, store_commit(p->s) == 0, "commit");
		p->committed = p->now;
	}
}

static void do_open(struct prop *p)
{
	store_free(p->s);
	p->s = NULL;
	must(p, store_open(p->path, STORE_WRITE, &p->s, NULL) == 0, "open");
}

static void do_retire(struct prop *p)
{
	struct model *m = &p->now;
	uint64_t cut = m->first + (uint64_t)choose(p, 20);
	uint64_t held =
		choose(p, 2) ? UINT64_MAX : m->first + (uint64_t)choose(p, 20);
	struct store_retired gone;
	struct model was = *m;
	uint64_t since;

	must(p, store_retire(p->s, (int64_t)cut * SECOND, 0, held, &gone) == 0,
	     "retire");
	cut = cut < m->n + 1 ? cut : m->n + 1;
	cut = cut < held ? cut : held;
	if (cut > m->first)
		m->first = cut;
	for (int i = 0; i < PATHS; i++)
		m->base[i] = model_version(&was, i, m->first - 1, &since);
	must(p, gone.entries == m->first - was.first, "entries retired");
	p->committed = p->now;
}

/* -- Random questions. */

struct numbers {
	uint64_t at[ENTRIES];
	size_t count;
};

static int see(const struct entry *e, void *arg)
{
	struct numbers *seen = arg;

	seen->at[seen->count++] = e->n;
	return 0;
}

static const char *maybe(struct prop *p, const char *const *from, int count)
{
	return choose(p, 3) ? NULL : from[choose(p, count)];
}

static void ask_select(struct prop *p)
{
	static struct numbers seen;
	const struct model *m = &p->now;
	struct store_filter f = {
		.path = maybe(p, globs, COUNT(globs)),
		.symbol = maybe(p, ends, COUNT(ends)),
		.author = maybe(p, commands, COUNT(commands)),
		.pid = choose(p, 3) ? 0 : (uint32_t)choose(p, 6),
		.before = choose(p, 3) ? 0 : (uint64_t)choose(p, 300),
		.since_ns = choose(p, 3) ? 0 : choose(p, 300) * SECOND,
		.until_ns = choose(p, 3) ? 0 : choose(p, 300) * SECOND,
	};
	size_t limit = choose(p, 3) ? SIZE_MAX : (size_t)choose(p, 5);
	size_t at = 0;

	seen.count = 0;
	must(p, store_select(p->s, &f, limit, see, &seen) == 0, "select");
	for (uint64_t n = m->n; n >= m->first && at < limit; n--)
		if (model_fits(m, n, &f))
			must(p, at < seen.count && seen.at[at++] == n,
			     "an entry is not selected");
	must(p, at == seen.count, "an entry is selected that does not fit");
}

static int same_entry(const struct entry *e, void *arg)
{
	const struct prop *p = arg;
	const struct made *m = &p->now.entries[e->n];
	const struct journal_author *a =
		m->author == NONE ? NULL : &authors[m->author];
	const struct journal_author *b = e->author;

	must(p, e->kind == m->kind && !strcmp(e->path, paths[m->path]),
	     "an entry's path");
	must(p, (m->path2 == NONE) == !e->path2, "an entry's second path");
	must(p, e->has == (m->after != NONE) && e->had == (m->before != NONE),
	     "whether there was a file");
	must(p, (int)e->symbols_count == m->touched, "how many symbols");
	for (int i = 0; i < m->touched; i++)
		must(p,
		     !strcmp(e->symbols[i].name,
			     symbols[m->touches[i].symbol]) &&
			     e->symbols[i].set == m->touches[i].set &&
			     e->symbols[i].removed == m->touches[i].removed,
		     "an entry's symbol");
	for (; a && b; a = a->parent, b = b->parent)
		must(p, a->pid == b->pid && !strcmp(a->comm, b->comm),
		     "an entry's author");
	must(p, a == b, "an entry's ancestors");
	return 0;
}

static void ask_since(struct prop *p)
{
	const struct model *m = &p->now;
	uint64_t n = (uint64_t)choose(p, (int)m->n + 3);
	static struct numbers seen;

	seen.count = 0;
	must(p, store_since(p->s, n, 20, see, &seen) == 0, "since");
	n = n + 1 < m->first ? m->first - 1 : n;
	for (size_t i = 0; i < seen.count; i++)
		must(p, seen.at[i] == n + i + 1, "since in order");
	must(p, seen.count == 20 || n + seen.count >= m->n, "since to the end");
	must(p, store_since(p->s, n, 20, same_entry, p) == 0, "since again");
}

static void ask_version(struct prop *p)
{
	int path = choose(p, PATHS), text;
	uint64_t n = choose(p, 4) ? (uint64_t)choose(p, (int)p->now.n + 2)
				  : UINT64_MAX;
	uint64_t since = 0, want;
	XXH128_hash_t hash;
	size_t len;
	char *got;
	int rc = store_version(p->s, paths[path], n, &hash, &since);

	text = model_version(&p->now, path, n, &want);
	must(p, rc == (text == NONE ? -ENOENT : 0), "version known");
	if (text == NONE)
		return;
	must(p, since == want && XXH128_isEqual(hash, hash_of(text)),
	     "version");
	if (n < p->now.first)
		return;
	must(p, store_content(p->s, hash, &got, &len) == 0, "content is kept");
	must(p, len == strlen(texts[text]) && !strcmp(got, texts[text]),
	     "content");
	free(got);
}

struct last {
	uint64_t n[SYMBOLS][ENTRY_SETS];
	uint64_t removed[SYMBOLS];
};

static int find_symbol(const char *name)
{
	for (int i = 0; i < SYMBOLS; i++)
		if (!strcmp(symbols[i], name))
			return i;
	return 0;
}

static int take_last(const char *symbol, enum entry_set set, uint64_t n,
		     bool removed, void *arg)
{
	struct last *l = arg;
	int i = find_symbol(symbol);

	l->n[i][set] = n;
	if (set == ENTRY_X)
		l->removed[i] = removed;
	return 0;
}

struct touches {
	const struct prop *p;
	uint64_t below;
	int symbol, count;
};

static int take_touch(uint64_t n, enum entry_set set, bool removed, void *arg)
{
	struct touches *t = arg;
	const struct made *e = &t->p->now.entries[n];
	bool fits = false;

	must(t->p, n < t->below, "touches newest first");
	for (int i = 0; i < e->touched; i++)
		fits |= e->touches[i].symbol == t->symbol &&
			e->touches[i].set == set &&
			e->touches[i].removed == removed;
	must(t->p, fits, "a touch that is none");
	t->below = n;
	t->count++;
	return 0;
}

static void ask_symbols(struct prop *p)
{
	struct last got = { 0 }, want = { 0 };
	const struct model *m = &p->now;
	uint64_t since = (uint64_t)choose(p, (int)m->n + 1);
	struct touches t = { p, UINT64_MAX, choose(p, SYMBOLS), 0 };
	int count = 0;

	for (uint64_t n = m->first; n <= m->n; n++) {
		for (int i = 0; i < m->entries[n].touched; i++) {
			const struct touch *y = &m->entries[n].touches[i];

			want.n[y->symbol][y->set] = n;
			if (y->set == ENTRY_X)
				want.removed[y->symbol] = y->removed;
			count += y->symbol == t.symbol && n > since;
		}
	}
	must(p, store_last(p->s, take_last, &got) == 0, "last");
	must(p, memcmp(&got, &want, sizeof(got)) == 0, "last of a symbol");
	must(p,
	     store_touches(p->s, symbols[t.symbol], since, take_touch, &t) == 0,
	     "touches");
	must(p, t.count == count, "how many touches");
}

static int take_file(const struct store_file *f, void *arg)
{
	int *files = arg;

	for (int i = 0; i < COUNT(texts); i++)
		if (XXH128_isEqual(f->hash, hash_of(i)))
			files[f->inode] = i;
	return strcmp(f->path, paths[f->inode]) == 0 ? 0 : -EINVAL;
}

static void ask_files(struct prop *p)
{
	int files[PATHS];

	for (int i = 0; i < PATHS; i++)
		files[i] = NONE;
	must(p, store_files(p->s, take_file, files) == 0, "files");
	must(p, memcmp(files, p->now.files, sizeof(files)) == 0,
	     "a file's state");
}

static void finding(enum store_fault fault, const char *sentence, void *arg)
{
	(void)fault;
	die(arg, sentence);
}

static void ask(struct prop *p)
{
	struct store_stats stats;

	must(p, store_head(p->s) == p->now.n, "head");
	must(p, store_first(p->s) == p->now.first, "first");
	must(p, store_position(p->s) == p->now.position, "position");
	must(p,
	     store_stat(p->s, &stats) == 0 &&
		     stats.entries == p->now.n + 1 - p->now.first,
	     "stat");
	for (int i = 0; i < 4; i++) {
		ask_select(p);
		ask_since(p);
		ask_version(p);
	}
	ask_symbols(p);
	ask_files(p);
	if (choose(p, 8) == 0)
		must(p, store_verify(p->s, finding, p) == 0, "verify");
}

static void run(struct prop *p, int steps)
{
	p->now.first = 1;
	for (int i = 0; i < PATHS; i++)
		p->now.files[i] = p->now.base[i] = NONE;
	p->committed = p->now;
	do_open(p);
	for (p->step = 0; p->step < steps; p->step++) {
		int what = choose(p, 40);

		if (what == 0)
			do_retire(p);
		else if (what < 3)
			do_open(p);
		else
			do_transaction(p);
		ask(p);
	}
	must(p, store_verify(p->s, finding, p) == 0, "verify");
	(void)printf("%d entries, %d kept\n", (int)p->now.n,
		     (int)(p->now.n + 1 - p->now.first));
	store_free(p->s);
}

int main(int argc, char **argv)
{
	static struct prop p;
	char *dir;

	for (int i = 1; i < 4; i++)
		authors[i].parent = &authors[i - 1];
	p.seed = argc > 1 ? strtoull(argv[1], NULL, 0)
			  : (uint64_t)getpid() * 7919 + 1;
	(void)printf("seed %" PRIu64 "\n", p.seed);
	(void)fflush(stdout);
	p.rng = p.seed;
	if (access("/dev/shm", W_OK) == 0)
		/* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread. */
		(void)setenv("TMPDIR", "/dev/shm", 1);
	dir = scratch_new();
	if (!dir || asprintf(&p.path, "%s/%s", dir, STORE_NAME) < 0)
		return 1;
	run(&p, argc > 2 ? (int)strtol(argv[2], NULL, 10) : STEPS);
	free(p.path);
	scratch_free(dir);
	return 0;
}
