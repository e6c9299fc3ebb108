/*
 * The names of a tree in settling, against a model. Processes make, move,
 * exchange and remove directories and files, and save files between that; the
 * model says what is there and emits the lines, and copies of what is
 * overwritten before it was read, as the file system does. The lines are read
 * at random times, so the tape lags behind the tree, and what it knows is what
 * the versions that are handed over make of it. When all was handed over, the
 * tape must know the tree: the same paths with the same contents, by an author
 * who wrote them or put them there.
 *
 *	prop_tape_names [SEED [OPERATIONS]]
 */
#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "graph/base/array.h"
#include "graph/base/paths.h"
#include "tape/content.h"
#include "tape/journal/journal.h"
#include "tape/settle.h"
#include "tests/prop/fs/dice.h"

#define MS	   UINT64_C(1000000)
#define PEOPLE	   3
#define NAMES	   4
#define DEPTH	   4
#define NAME_SIZE  32
#define FILES_MAX  128
#define LINES_MAX  4096
#define OPERATIONS 100000
#define EVERYTHING UINT64_MAX

/* What may be at a path; a content is a number. */
struct file {
	bool directory;
	uint64_t inode, text;
	unsigned by;	    /* bits: who wrote it, or put it there since */
	uint64_t last, end; /* lines: its newest change, and its last close */
};

struct place {
	char path[NAME_SIZE];
	struct file f;
};

/* A line that was not read yet. */
struct queued {
	struct journal_line l;
	char path[NAME_SIZE], path2[NAME_SIZE], detail[8];
};

static struct dice dice;
static bool verbose;
static struct journal_author people[PEOPLE];
static struct place tree[FILES_MAX], known[FILES_MAX];
static int tree_count, known_count;
static struct queued queue[LINES_MAX];
static size_t queue_at, queue_end;
static uint64_t number, read_number, progress, serial, now, done;
static uint64_t kept[1 << 16]; /* texts of copies */
static uint32_t kept_count;
static struct content_pool pool;
static struct settle *settle;

static uint64_t any(uint64_t n)
{
	return dice_below(&dice, n);
}

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
	va_list list;

	if (!verbose)
		return;
	va_start(list, format);
	(void)vprintf(format, list);
	va_end(list);
}

/* -- Paths and what is there. */

static struct file *find_in(struct place *at, int count, const char *path)
{
	for (int i = 0; i < count; i++)
		if (strcmp(at[i].path, path) == 0)
			return &at[i].f;
	return NULL;
}

static struct file *find(const char *path)
{
	return find_in(tree, tree_count, path);
}

/* One that is known to be there. */
static struct file *must_find(const char *path)
{
	struct file *f = find(path);

	if (!f)
		abort();
	return f;
}

static struct file *find_known(const char *path)
{
	return find_in(known, known_count, path);
}

static struct file *add_to(struct place *at, int *count, const char *path,
			   struct file f)
{
	struct place *p = &at[(*count)++];

	assert(*count < FILES_MAX);
	(void)snprintf(p->path, sizeof(p->path), "%s", path);
	p->f = f;
	return &p->f;
}

static void remove_from(struct place *at, int *count, const char *path)
{
	for (int i = 0; i < *count; i++)
		if (strcmp(at[i].path, path) == 0) {
			at[i] = at[--*count];
			return;
		}
}

static bool has_below(const char *dir)
{
	for (int i = 0; i < tree_count; i++)
		if (paths_below(tree[i].path, dir))
			return true;
	return false;
}

/* -- The journal. */

static void line(int who, enum journal_op op, const char *path,
		 const char *path2, const char *detail, uint64_t off)
{
	struct queued *q = &queue[queue_end++];
	struct file *f = find(path);

	assert(queue_end < LINES_MAX);
	(void)snprintf(q->path, sizeof(q->path), "%s", path);
	(void)snprintf(q->path2, sizeof(q->path2), "%s", path2 ? path2 : "");
	(void)snprintf(q->detail, sizeof(q->detail), "%s",
		       detail ? detail : "");
	q->l = (struct journal_line){
		.n = ++number,
		.mono_ns = now,
		.wall_ns = now,
		.event = { .op = op,
			   .ino = f ? f->inode : 0,
			   .off = (int64_t)off,
			   .pid = people[who].pid,
			   .author = &people[who] },
	};
	say("\t%" PRIu64 " %s %s %s %s by %d\n", number, journal_op_name(op),
	    q->path, q->path2, q->detail, who);
}

/* Before a change by `who` that ends the version. */
static void keep(int who, const char *path)
{
	const struct file *f = find(path);
	char name[16];

	if (!f || f->directory || f->end <= progress)
		return;
	(void)snprintf(name, sizeof(name), "%u", kept_count);
	kept[kept_count++] = f->text;
	assert(kept_count < sizeof(kept) / sizeof(*kept));
	line(who, JOURNAL_KEEP, path, name, NULL, f->last);
}

static void changed(int who, const char *path)
{
	struct file *f = must_find(path);

	f->text = ++serial;
	f->by = 1U << who;
	f->last = number;
	say("\t\t%s is %" PRIu64 "\n", path, f->text);
}

/* -- The tape. */

static void fill(const struct settle_want *w)
{
	const struct file *f = find(w->path);
	struct look l = { .kind = LOOK_ABSENT };
	char text[32];

	if (f) {
		l.kind = f->directory ? LOOK_DIRECTORY : LOOK_FILE;
		l.stamp.inode = f->inode;
		l.len = (size_t)snprintf(text, sizeof(text), "%" PRIu64,
					 f->text);
		l.text = text;
	}
	content_fill(w->content, &l, false, read_number, now);
}

static void read_contents(uint64_t upto)
{
	const struct settle_want *w;
	size_t n = settle_wanted(settle, now, upto, &w);

	for (size_t i = 0; i < n; i++)
		fill(&w[i]);
	progress = settle_read_line(settle, read_number);
	settle_published(settle, now);
}

static void read_lines(size_t most)
{
	for (; most && queue_at < queue_end; most--) {
		struct queued *q = &queue[queue_at++];

		q->l.event.path = q->path;
		q->l.event.path2 = *q->path2 ? q->path2 : NULL;
		q->l.event.detail = *q->detail ? q->detail : NULL;
		read_number = q->l.n;
		settle_line(settle, &q->l);
	}
	if (queue_at == queue_end) {
		queue_at = queue_end = 0;
		settle_heard(settle, now);
	}
}

/* False: the file is not there. */
static bool text_of(const struct settled *s, uint64_t *ret)
{
	const char *other = s->like ? s->like : s->from ? s->from : s->path;
	const struct file *k = find_known(other), *f = find(s->path);

	if (s->gone)
		return false;
	if (s->wrote && content_state(s->content) == CONTENT_KEPT) {
		*ret = kept[strtoul(s->content->kept, NULL, 10)];
		return true;
	}
	if (s->wrote && content_state(s->content) == CONTENT_READ) {
		*ret = s->content->text ? strtoull(s->content->text, NULL, 10)
					: 0;
		return s->content->look.kind == LOOK_FILE;
	}
	if (!s->wrote && k) {
		*ret = k->text;
		return true;
	}
	if (!f || f->directory)
		return false;
	*ret = f->text;
	return true;
}

static unsigned authors_of(const struct settled *s)
{
	unsigned by = 0;

	for (int i = 0; i < PEOPLE; i++) {
		by |= (unsigned)(s->author == &people[i]) << i;
		for (size_t k = 0; s->merged && k < s->authors_count; k++)
			by |= (unsigned)(s->authors[k] == &people[i]) << i;
	}
	return by;
}

/* As tape/apply.c does. */
static void apply(const struct settled *s)
{
	struct file f = { .by = authors_of(s) }, *k = find_known(s->path);
	bool has = text_of(s, &f.text), moves;

	say("\t\t-> %s %s from %s like %s: %" PRIu64 " by %u%s%s lines %" PRIu64
	    "-%" PRIu64 "\n",
	    has ? "is" : "gone", s->path, s->from ? s->from : "",
	    s->like ? s->like : "", f.text, f.by, s->merged ? " merged" : "",
	    s->wrote ? " wrote" : "", s->first, s->last);
	moves = !k && s->from && strcmp(s->from, s->path) != 0 &&
		find_known(s->from);
	if (moves && find_known(s->from)->text == f.text)
		f.by |= find_known(s->from)->by;
	if (k && k->text == f.text)
		f.by |= k->by;
	if (s->from && !s->gone && strcmp(s->from, s->path) != 0)
		remove_from(known, &known_count, s->from);
	remove_from(known, &known_count, s->path);
	if (has)
		add_to(known, &known_count, s->path, f);
}

static void take(uint64_t upto)
{
	const struct settled *s;
	size_t n = 1;

	read_contents(upto);
	read_lines(any(8));
	while (n) {
		n = settle_take(settle, now, upto, 16, &s);
		for (size_t i = 0; i < n; i++)
			apply(&s[i]);
	}
}

static bool has_known(void *ctx, const char *path)
{
	(void)ctx;
	return find_known(path) != NULL;
}

static void known_below(void *ctx, const char *dir, settle_visit *visit,
			void *arg)
{
	(void)ctx;
	for (int i = 0; i < known_count; i++)
		if (paths_below(known[i].path, dir))
			visit(arg, known[i].path);
}

static bool read_known(void *ctx, const char *path, struct content *c)
{
	const struct file *f = find_known(path);
	struct look l = { .kind = LOOK_FILE };
	char text[32];

	(void)ctx;
	if (!f)
		return false;
	l.len = (size_t)snprintf(text, sizeof(text), "%" PRIu64, f->text);
	l.text = text;
	content_fill(c, &l, false, read_number, now);
	return true;
}

/* -- What a process does. */

static void put_below(const char *dir, char path[NAME_SIZE])
{
	char name = (char)('a' + any(NAMES));

	(void)snprintf(path, NAME_SIZE, "%s%s%c", dir, *dir ? "/" : "", name);
}

static int depth(const char *path)
{
	int n = 1;

	for (; *path; path++)
		n += *path == '/';
	return n;
}

static const char *pick(bool directory)
{
	int found[FILES_MAX], n = 0;

	for (int i = 0; i < tree_count; i++)
		if (tree[i].f.directory == directory)
			found[n++] = i;
	return n ? tree[found[any((uint64_t)n)]].path : NULL;
}

/* A name that is free. */
static bool pick_free(char path[NAME_SIZE])
{
	const char *dir = any(4) ? pick(true) : NULL;

	if (dir && depth(dir) >= DEPTH)
		return false;
	put_below(dir ? dir : "", path);
	return !find(path);
}

static void finish(int who, const char *path)
{
	line(who, JOURNAL_CLOSE, path, NULL, "wrote", 0);
	must_find(path)->end = number;
}

static void make(int who, const char *path)
{
	static uint64_t inode;

	inode++;
	(void)add_to(tree, &tree_count, path, (struct file){ .inode = inode });
	line(who, JOURNAL_CREATE, path, NULL, NULL, 0);
	line(who, JOURNAL_WRITE, path, NULL, NULL, 0);
	changed(who, path);
	finish(who, path);
}

static void rewrite(int who, const char *path)
{
	keep(who, path);
	line(who, JOURNAL_TRUNCATE, path, NULL, "open", 0);
	line(who, JOURNAL_WRITE, path, NULL, NULL, 0);
	changed(who, path);
	finish(who, path);
}

/* The names of a tree with other paths: each is `old` or below it. */
static void rename_all(const char *old, const char *path, int who)
{
	for (int i = 0; i < tree_count; i++) {
		const char *rest = paths_below(tree[i].path, old);
		char to[2 * NAME_SIZE];

		if (!rest && strcmp(tree[i].path, old) != 0)
			continue;
		(void)snprintf(to, sizeof(to), "%s%s%s", path, rest ? "/" : "",
			       rest ? rest : "");
		memcpy(tree[i].path, to, NAME_SIZE);
		tree[i].f.by |= 1U << who;
	}
}

static void move(int who, const char *old, const char *path)
{
	keep(who, path);
	line(who, JOURNAL_RENAME, old, path,
	     must_find(old)->directory ? JOURNAL_DIRECTORY : NULL, 0);
	remove_from(tree, &tree_count, path);
	rename_all(old, path, who);
}

static void save(int who, const char *path)
{
	char name[NAME_SIZE + 2];

	(void)snprintf(name, sizeof(name), "%s~", path);
	make(who, name);
	move(who, name, path);
}

static void unlink_one(int who, const char *path)
{
	keep(who, path);
	line(who, must_find(path)->directory ? JOURNAL_RMDIR : JOURNAL_UNLINK,
	     path, NULL, NULL, 0);
	remove_from(tree, &tree_count, path);
}

/* An empty directory or a file below `dir`. */
static bool find_leaf(const char *dir, char path[NAME_SIZE])
{
	for (int i = 0; i < tree_count; i++) {
		memcpy(path, tree[i].path, NAME_SIZE);
		if (paths_below(path, dir) && !has_below(path))
			return true;
	}
	return false;
}

static void remove_all(int who, const char *dir)
{
	char path[NAME_SIZE];

	while (find_leaf(dir, path))
		unlink_one(who, path);
	unlink_one(who, dir);
}

static bool overlap(const char *a, const char *b)
{
	return strcmp(a, b) == 0 || paths_below(a, b) || paths_below(b, a);
}

static void exchange(int who, const char *a, const char *b)
{
	bool one = must_find(a)->directory, two = must_find(b)->directory;

	line(who, JOURNAL_EXCHANGE, a, b,
	     one && two ? JOURNAL_DIRECTORIES
	     : one	? JOURNAL_DIRECTORY
	     : two	? JOURNAL_DIRECTORY2
			: NULL,
	     0);
	rename_all(a, "\001", who);
	rename_all(b, a, who);
	rename_all("\001", b, who);
}

static void move_directory(int who, const char *old, const char *path)
{
	const struct file *there = find(path);

	if (paths_below(path, old) || (there && has_below(path)) ||
	    (there && !there->directory) || strcmp(old, path) == 0)
		return;
	/* No deeper than names have room. */
	if (depth(old) < depth(path))
		return;
	move(who, old, path);
}

static void act_on_directory(int who, const char *d)
{
	char path[NAME_SIZE], dir[NAME_SIZE];
	const char *other = pick(true);

	(void)snprintf(dir, sizeof(dir), "%s", d);
	switch (any(6)) {
	case 0:
		if (!has_below(dir))
			unlink_one(who, dir);
		break;
	case 1:
		remove_all(who, dir);
		break;
	case 2:
		(void)snprintf(path, sizeof(path), "%s", other);
		move_directory(who, dir, path);
		break;
	default:
		if (pick_free(path))
			move_directory(who, dir, path);
	}
}

static void act_on_file(int who, const char *f)
{
	char path[NAME_SIZE], file[NAME_SIZE];
	const char *other = pick(false);

	(void)snprintf(file, sizeof(file), "%s", f);
	switch (any(6)) {
	case 0:
		rewrite(who, file);
		break;
	case 1:
		save(who, file);
		break;
	case 2:
		unlink_one(who, file);
		break;
	case 3:
		(void)snprintf(path, sizeof(path), "%s", other);
		if (strcmp(file, path) != 0)
			move(who, file, path);
		break;
	default:
		if (pick_free(path))
			move(who, file, path);
	}
}

static void act_on_two(int who)
{
	char a[NAME_SIZE], b[NAME_SIZE];

	(void)snprintf(a, sizeof(a), "%s",
		       tree[any((uint64_t)tree_count)].path);
	(void)snprintf(b, sizeof(b), "%s",
		       tree[any((uint64_t)tree_count)].path);
	if (!overlap(a, b) && depth(a) == depth(b))
		exchange(who, a, b);
}

static void act(void)
{
	int who = (int)any(PEOPLE);
	char path[NAME_SIZE];
	uint64_t what = any(10);
	const char *one = pick(what < 4);

	done++;
	now += any(2) * MS;
	if (tree_count > FILES_MAX / 4 && pick(true)) {
		(void)snprintf(path, sizeof(path), "%s", pick(true));
		remove_all(who, path);
	} else if (what < 4 && one) {
		act_on_directory(who, one);
	} else if (what < 8 && one) {
		act_on_file(who, one);
	} else if (what == 8 && tree_count) {
		act_on_two(who);
	} else if (pick_free(path)) {
		if (any(3))
			make(who, path);
		else
			(void)add_to(tree, &tree_count, path,
				     (struct file){ .directory = true });
	}
}

/* -- Sequences. */

static bool complain(const char *what, const char *path)
{
	(void)printf("%s: %s\n", what, path);
	return false;
}

static bool same(void)
{
	bool good = true;

	for (int i = 0; i < known_count; i++) {
		const struct file *f = find(known[i].path);

		if (!f || f->directory)
			good = complain("ghost", known[i].path);
		else if (f->text != known[i].f.text)
			good = complain("content", known[i].path);
		else if (f->by && !(f->by & known[i].f.by))
			good = complain("author", known[i].path);
	}
	for (int i = 0; i < tree_count; i++)
		if (!tree[i].f.directory && !find_known(tree[i].path))
			good = complain("missing", tree[i].path);
	return good;
}

static bool sequence(uint64_t seed, bool show)
{
	bool good;

	dice.state = seed;
	verbose = show;
	for (uint64_t n = 1 + any(40); n; n--) {
		act();
		if (any(4) == 0)
			read_lines(any(20));
		if (any(8) == 0)
			read_contents(0);
		if (any(8) == 0)
			take(0);
		if (any(20) == 0)
			now += any(400) * MS;
		if (any(30) == 0)
			take(any(number + 1));
	}
	for (int i = 0; i < 4; i++) {
		read_lines(SIZE_MAX);
		now += MS;
		take(EVERYTHING);
		now += 2000 * MS;
	}
	good = same();
	if (settle_pending(settle))
		good = complain("pending", "");
	return good;
}

/* The state of before, so that a failed sequence can be shown. */
static void clear(void)
{
	tree_count = known_count = 0;
	queue_at = queue_end = 0;
	number = read_number = progress = serial = 0;
	kept_count = 0;
	now = 1000 * MS;
	settle = settle_new(&(struct settle_known){ .has = has_known,
						    .below = known_below,
						    .read = read_known },
			    &pool);
}

/* Several sequences over one tree. */
static bool world(uint64_t seed, bool show)
{
	bool good = true;

	clear();
	for (uint64_t i = 0; i < 8 && good; i++)
		good = sequence(seed * 8 + i, show);
	settle_free(settle);
	while (pool.done.count)
		free(pool.done.at[--pool.done.count]);
	return good;
}

int main(int argc, char **argv)
{
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 0) : OPERATIONS;
	int failed = 0;

	for (int i = 0; i < PEOPLE; i++)
		people[i] = (struct journal_author){ .pid = 100 + (uint32_t)i,
						     .start = 1 + (uint64_t)i };
	for (; done < count && failed < 20; seed++) {
		if (world(seed, false))
			continue;
		(void)printf("FAIL: seed %" PRIu64 "\n", seed);
		failed++;
		if (argc > 3)
			(void)world(seed, true);
	}
	(void)printf("%" PRIu64 " operations, %d worlds failed, seeds up to "
		     "%" PRIu64 "\n",
		     done, failed, seed);
	array_release(&pool.done);
	return failed ? 1 : 0;
}
