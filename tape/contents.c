/*
 * Reading the contents of versions before they are overwritten. The tape reads
 * each finished version, publishes how far it has read (progress.h), and reads
 * the journal on: whoever overwrites one that was not read by then has kept it
 * first, which a KEEP line in front of the change tells.
 *
 * Copies are removed after the commit that used them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/base/clock.h"
#include "graph/facts/lang.h"
#include "tape/apart.h"
#include "tape/content.h"
#include "tape/daemon_i.h"
#include "tape/journal/journal.h"
#include "tape/journal/progress.h"
#include "tape/journal/scope.h"
#include "tape/settle.h"
#include "tape/store/store.h"
#include "tape/wire/state.h"

/* Beyond this, files are not read ahead: the file system keeps them. */
#define CONTENTS_MAX (64U << 20)
/* Entries in a row from before the position, after which none is newer. */
#define ENTRIES_BEFORE 4096

/* The newest line that an entry of the path is made of. */
struct contents_path {
	struct paths_node at; /* first */
	uint64_t last;
};

static void open_kept(struct tape *t)
{
	if (t->kept_fd < 0)
		t->kept_fd =
			openat(t->c->state->dir_fd, JOURNAL_KEPT,
			       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* -- What was entered before a restart. */

static void note_path(struct tape *t, const char *path, uint64_t last)
{
	struct contents_path *p = path ? paths_find(&t->applied, path) : NULL;

	if (!path || (p && p->last >= last))
		return;
	if (!p) {
		p = must_calloc(1, sizeof(*p));
		paths_add(&t->applied, &p->at, path);
	}
	p->last = last;
}

struct contents_scan {
	struct tape *t;
	uint64_t position;
	unsigned before; /* entries in a row */
};

static int scan_entry(const struct entry *e, void *arg)
{
	struct contents_scan *s = arg;

	if (e->journal_last <= s->position) {
		s->before++;
		return 0;
	}
	s->before = 0;
	if (e->journal_last > s->t->again)
		s->t->again = e->journal_last;
	/* The former name may be another file's by now. */
	note_path(s->t, e->path2 ? e->path2 : e->path, e->journal_last);
	return 0;
}

/* Entries of lines that are about to be read again. */
static void find_applied(struct tape *t)
{
	struct contents_scan s = { .t = t,
				   .position = store_position(t->store) };

	for (uint64_t n = store_head(t->store);
	     n >= store_first(t->store) && n && s.before < ENTRIES_BEFORE; n--)
		if (store_entry(t->store, n, scan_entry, &s) < 0)
			break;
	settle_recover(t->settle, t->again);
}

bool contents_applied(const struct tape *t, const char *path, uint64_t line)
{
	const struct contents_path *p = paths_find(&t->applied, path);

	return p && line <= p->last;
}

/* -- Coming and going. */

void contents_start(struct tape *t)
{
	open_kept(t);
	find_applied(t);
	t->leftovers = leftovers_new();
	leftovers_begin(t, t->leftovers);
}

static void free_path(struct paths_node *n, void *arg)
{
	(void)arg;
	free(n->path);
	free(n);
}

void contents_stop(struct tape *t)
{
	close_p(&t->kept_fd);
	leftovers_free(t->leftovers);
	paths_each(&t->applied, free_path, NULL);
	table_release(&t->applied);
	while (t->contents.done.count)
		free(t->contents.done.at[--t->contents.done.count]);
	array_release(&t->contents.done);
}

/* -- Reading. */

static bool is_racy(const struct look *l)
{
	return clock_wall_ns() - l->stamp.ctime_ns < RACY_NS;
}

static void read_one(struct tape *t, const struct settle_want *w)
{
	struct look l;

	if (scope_of(w->path) == SCOPE_NONE) {
		w->content->unwanted = true;
		return;
	}
	look_at(t->c->root_fd, w->path, &t->text, &l);
	content_fill(w->content, &l, is_racy(&l), t->line, clock_mono_ns());
}

static bool read_all(struct tape *t, const struct settle_want *w, size_t n)
{
	bool any = false;

	for (size_t i = 0; i < n && t->contents.bytes < CONTENTS_MAX; i++) {
		read_one(t, &w[i]);
		any = true;
		if (slice_over(t))
			break;
	}
	if (t->line)
		progress_set_line(t->progress,
				  settle_read_line(t->settle, t->line));
	if (any)
		t->published_ns = clock_mono_ns();
	settle_published(t->settle, t->published_ns);
	return any;
}

bool contents_read(struct tape *t, uint64_t upto)
{
	const struct settle_want *w;
	size_t n = settle_wanted(t->settle, clock_mono_ns(), upto, &w);

	return read_all(t, w, n);
}

bool contents_read_path(struct tape *t, const char *path)
{
	const struct settle_want *w;
	size_t n = settle_wanted_path(t->settle, path, &w);

	return read_all(t, w, n);
}

/* -- Using. */

int contents_look(struct tape *t, const char *path, const struct content *c,
		  struct look *ret)
{
	bool kept = content_state(c) == CONTENT_KEPT;

	if ((kept ? c->kept_len : c->look.len) < APART_MIN || !lang_of(path))
		return -ENOENT;
	*ret = c->look;
	if (kept)
		look_at(t->kept_fd, c->kept, &t->text, ret);
	return 0;
}

/* A rename changes the stamp after the file was read. */
static void refresh_stamp(const struct tape *t, const struct settled *s,
			  struct look *l)
{
	struct look now;

	if (l->kind != LOOK_FILE && l->kind != LOOK_LINK)
		return;
	look_only(t->c->root_fd, s->path, &now);
	if (now.stamp.inode != l->stamp.inode ||
	    now.stamp.size != l->stamp.size ||
	    now.stamp.mtime_ns != l->stamp.mtime_ns ||
	    now.stamp.ctime_ns > s->at_ns)
		return;
	l->stamp = now.stamp;
	l->names = now.names;
}

/* The copy has the inode of the file, and no stamp that could be known.
   False: a tape before used it, and removed it. */
static bool look_kept(struct tape *t, const struct settled *s, struct look *l)
{
	const struct content *c = s->content;
	const struct known_file *k = known_find(t, s->from ? s->from : s->path);
	struct look now;

	open_kept(t);
	look_at(t->kept_fd, c->kept, &t->text, l);
	if (strchr(c->kept, '/') || l->kind != LOOK_FILE)
		return false;
	if (c->link)
		l->kind = LOOK_LINK;
	look_only(t->c->root_fd, s->path, &now);
	l->stamp = (struct tree_stamp){
		.inode = c->inode,
		.size = l->bytes,
		.mode = k ? k->stamp.mode : now.stamp.mode,
	};
	l->names = t->linked ? 2 : 1;
	return true;
}

bool contents_of(struct tape *t, const struct settled *s, struct look *look,
		 struct tape_change *c)
{
	const struct content *content = s->content;

	*look = (struct look){ .kind = LOOK_ABSENT };
	c->as_known = !s->gone && !s->wrote;
	if (!c->as_known)
		c->is = look;
	if (s->gone || c->as_known || content->unwanted)
		return true;
	if (content_state(content) == CONTENT_KEPT) {
		c->racy = true;
		return look_kept(t, s, look);
	}
	*look = content->look;
	c->racy = content->racy;
	refresh_stamp(t, s, look);
	t->linked = t->linked || look->names > 1;
	return true;
}

static bool knows(const struct tape *t, const char *path, XXH128_hash_t hash)
{
	const struct known_file *k = path ? known_find(t, path) : NULL;

	return k && k->hashed && XXH128_isEqual(k->hash, hash);
}

bool contents_have(struct tape *t, const char *path, const char *kept)
{
	const struct content *c = settle_content(t->settle, path);
	CLEANUP(free_p) char *from = settle_known_as(t->settle, path);
	struct look l;

	open_kept(t);
	if (strchr(kept, '/'))
		return false;
	look_at(t->kept_fd, kept, &t->text, &l);
	return l.kind == LOOK_FILE &&
	       ((c && XXH128_isEqual(c->look.hash, l.hash)) ||
		knows(t, path, l.hash) || knows(t, from, l.hash));
}

void contents_clean(struct tape *t)
{
	if (t->open)
		return;
	while (t->contents.done.count) {
		CLEANUP(free_p)
		char *name = t->contents.done.at[--t->contents.done.count];

		open_kept(t);
		if (!strchr(name, '/'))
			(void)unlinkat(t->kept_fd, name, 0);
	}
}
