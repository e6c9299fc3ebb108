/*
 * From a path that may have changed to an entry about it. Three things are
 * compared: what the tape knew of the path, what it knew of its former name,
 * and what the path held after the change: the content of the version that
 * settled, or the file now. The journal only says where to look:
 *
 *	known, exists		an edit, if the content or the mode differs
 *	known, gone		a delete
 *	not known, exists	a rename, if its former name was known and is
 *				gone; else a create
 *	not known, gone		nothing; a former name that was known and is
 *				gone too is deleted
 *
 * Applying the same lines twice is therefore harmless, as a restart does: the
 * second time nothing differs.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/base/clock.h"
#include "graph/base/debug.h"
#include "graph/build/build.h"
#include "graph/build/tree.h"
#include "graph/diff.h"
#include "graph/facts/facts.h"
#include "graph/facts/lang.h"
#include "graph/graph.h"
#include "tape/ahead.h"
#include "tape/apart.h"
#include "tape/care.h"
#include "tape/daemon_i.h"
#include "tape/journal/journal.h"
#include "tape/journal/scope.h"
#include "tape/ranges.h"
#include "tape/store/store.h"
#include "tape/trace.h"
#include "tape/wire/publish.h"

#define MARKER "[statetape]"

/* One change on its way to becoming an entry. */
struct apply_work {
	struct tape *t;
	const struct tape_change *c;
	enum entry_kind kind;
	struct known_file *was; /* NULL: it did not exist */
	const struct look *now;
	bool has;  /* it exists now */
	char *old; /* its text before; NULL: not kept */
	size_t old_len;
	struct ranges lines;
	struct entry *e;
};

struct known_file *known_find(const struct tape *t, const char *path)
{
	return paths_find(&t->known, path);
}

struct known_file *known_add(struct tape *t, const char *path)
{
	struct known_file *k = must_calloc(1, sizeof(*k));

	paths_add(&t->known, &k->at, path);
	return k;
}

void known_drop(struct tape *t, struct known_file *k)
{
	paths_remove(&t->known, &k->at);
	free(k);
}

static bool is_racy(const struct tree_stamp *s)
{
	int64_t age = clock_wall_ns() - s->ctime_ns;

	return age < RACY_NS;
}

static void note_error(struct tape *t, int r, const char *what)
{
	if (r >= 0 || t->error)
		return;
	t->error = r;
	if (renew_helps(r))
		return;
	tape_say("%s: %s; the tape ends, and goes on from here when it is "
		 "started again",
		 what, strerrordesc_np(-r));
}

void apply_begin(struct tape *t)
{
	if (t->open)
		return;
	t->open = true;
	note_error(t, store_begin(t->store), "the store cannot be written");
}

/* A racy stamp is stored as one that no file has. */
void known_put(struct tape *t, const struct known_file *k)
{
	struct store_file f = {
		.path = k->at.path,
		.hash = k->hash,
		.size = k->stamp.size,
		.inode = k->stamp.inode,
		.mtime_ns = k->stamp.mtime_ns,
		.ctime_ns = k->racy ? 0 : k->stamp.ctime_ns,
	};

	apply_begin(t);
	(void)store_put_file(t->store, &f);
}

static bool is_text(const char *text, size_t len)
{
	return text && len <= STORE_CONTENT_MAX && !memchr(text, '\0', len);
}

static void find_old(struct apply_work *w)
{
	if (!w->was) {
		w->old = must_strdup("");
		return;
	}
	if (!w->was->hashed ||
	    store_content(w->t->store, w->was->hash, &w->old, &w->old_len) < 0)
		w->old = NULL;
}

static bool is_new_line(const struct entry *e, uint32_t line)
{
	for (size_t i = 0; i < e->ranges_count; i++)
		if (line >= e->ranges[i].after &&
		    line - e->ranges[i].after < e->ranges[i].after_count)
			return true;
	return false;
}

/* It only moved. */
static bool is_same_text(const struct entry *e)
{
	return e->had && e->has && XXH128_isEqual(e->before, e->after);
}

/*
 * Does a changed line contain StateTape's marker? If the changed lines are not
 * known, all lines count.
 */
static bool has_marker(const struct entry *e, const char *text, size_t len)
{
	const char *end = text + len, *counted = text, *at = text;
	uint32_t line = 1;

	if (is_same_text(e))
		return false;
	while ((at = memmem(at, (size_t)(end - at), MARKER, strlen(MARKER)))) {
		for (; counted < at; counted++)
			line += *counted == '\n';
		if (!e->ranges_count || is_new_line(e, line))
			return true;
		at++;
	}
	return false;
}

static void compare_lines(struct apply_work *w)
{
	const char *text = w->has ? w->now->text : "";
	size_t len = w->has ? w->now->len : 0;
	struct entry *e = w->e;
	void *ranges;

	if (!w->old || !is_text(text, len) || !is_text(w->old, w->old_len))
		return;
	ranges_init(&w->lines, w->old, w->old_len, text, len);
	ranges = arena_take(&w->t->arena,
			    w->lines.count * sizeof(*w->lines.ranges));
	if (w->lines.count)
		memcpy(ranges, w->lines.ranges,
		       w->lines.count * sizeof(*w->lines.ranges));
	e->ranges = ranges;
	e->ranges_count = w->lines.count;
	e->plus = w->lines.plus;
	e->minus = w->lines.minus;
	ranges_release(&w->lines);
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Put the file at `path` into the graph, which is not settled yet. */
static int graph_see(struct tape *t, const char *path, const struct look *now,
		     bool has)
{
	struct facts *f;
	int r;

	if (!lang_of(path))
		return tree_is_mark(last_part(path))
			       ? build_refresh(t->graph, t->facts,
					       t->c->root_fd, path,
					       &t->more_text)
			       : 0;
	if (!has || now->kind != LOOK_FILE || !now->text ||
	    now->len > TREE_FILE_MAX || !tree_covers(t->c->root_fd, path) ||
	    care_avoids(t->care, path, &now->stamp))
		return graph_remove(t->graph, path);
	f = ahead_take(t->ahead, path, now->hash);
	if (!f && now->len >= APART_MIN)
		f = apart_take(t->apart, path, now->hash);
	if (f)
		return graph_put(t->graph, path, f);
	care_begin(path, &now->stamp);
	r = graph_edit(t->graph, t->facts, path, now->text, now->len, NULL);
	care_end();
	return r;
}

bool apply_is_ready(struct tape *t, const char *path, const struct look *now)
{
	/* A text that is parsed by another thread may be no file of the graph:
	   then its facts are not taken. */
	if (!t->ready || t->at_once || now->kind != LOOK_FILE || !now->text ||
	    now->len < APART_MIN || now->len > TREE_FILE_MAX ||
	    !lang_of(path) || care_avoids(t->care, path, &now->stamp))
		return true;
	switch (apart_state(t->apart, now->hash)) {
	case APART_DONE:
		return true;
	case APART_BUSY:
		return false;
	case APART_NONE:
		break;
	}
	return graph_edits_little(t->graph, t->facts, path, now->text, now->len,
				  APART_MIN) ||
	       (!apart_begin(t->apart, path, now) && !apart_is_busy(t->apart));
}

/* A file that moved need not be parsed again: graph_see() then finds that the
   text is the same, or the part that differs. */
static int graph_move(struct tape *t, const char *from, const char *to)
{
	const struct lang *lang = lang_of(to);
	int r = lang && lang == lang_of(from) ? graph_rename(t->graph, from, to)
					      : -ENOENT;

	if (r != -ENOENT && r != -ESTALE)
		return r;
	return graph_see(t, from, NULL, false);
}

static bool concerns_graph(const char *path)
{
	return lang_of(path) || tree_is_mark(last_part(path));
}

/* The symbols of an entry, before they are copied into the arena. */
struct apply_symbols {
	const struct graph *g;
	const struct graph_delta *d;
	ARRAY(struct entry_symbol) all;
};

static const struct symbol_change *change_of(const struct apply_symbols *s,
					     symbol_t symbol)
{
	const struct symbol_change *found = NULL;

	/* A name may have left V and come back among the extended, or the
	   other way round. */
	for (size_t i = 0; i < s->d->symbols_count; i++) {
		const struct symbol_change *c = &s->d->symbols[i];

		if (c->symbol == symbol && (!found || c->after))
			found = c;
	}
	return found;
}

static bool has_name(const struct apply_symbols *s, const char *name)
{
	for (uint32_t i = 0; i < s->all.count; i++)
		if (strcmp(s->all.at[i].name, name) == 0)
			return true;
	return false;
}

static void add_set(struct apply_symbols *s, const struct diff_set *from,
		    enum entry_set set, bool once)
{
	for (size_t i = 0; i < from->count; i++) {
		struct symbol now = { 0 };
		bool there = graph_symbol(s->g, from->symbols[i], &now);
		const struct symbol_change *c;
		struct entry_symbol *e;

		if (once && has_name(s, now.name))
			continue;
		c = there ? NULL : change_of(s, from->symbols[i]);
		e = array_add(&s->all);
		e->name = now.name;
		e->kind = (uint8_t)(c ? c->kind : now.kind);
		e->set = (uint8_t)set;
		e->removed = set == ENTRY_X && !there;
	}
}

static int by_set_and_name(const void *a, const void *b)
{
	const struct entry_symbol *x = a, *y = b;

	if (x->set != y->set)
		return x->set < y->set ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* A name is once in each set; only across V and the extended it may come
   twice. */
static void fill_symbols(struct apply_work *w, const struct diff *d,
			 const struct graph_delta *delta)
{
	struct apply_symbols s = { .g = w->t->graph, .d = delta };
	void *kept;

	add_set(&s, &d->x, ENTRY_X, false);
	add_set(&s, &d->extended_x, ENTRY_X, d->x.count > 0);
	add_set(&s, &d->dx, ENTRY_DX, false);
	add_set(&s, &d->extended_r, ENTRY_R, d->dx.count > 0);
	add_set(&s, &d->added, ENTRY_ADDED, d->extended_x.count > 0);
	add_set(&s, &d->extended_added, ENTRY_ADDED, d->x.count > 0);
	if (s.all.count) {
		qsort(s.all.at, s.all.count, sizeof(*s.all.at),
		      by_set_and_name);
		kept = arena_take(&w->t->arena,
				  s.all.count * sizeof(*s.all.at));
		memcpy(kept, s.all.at, s.all.count * sizeof(*s.all.at));
		w->e->symbols = kept;
		w->e->symbols_count = s.all.count;
	}
	array_release(&s.all);
}

static void compare_graph(struct apply_work *w)
{
	struct tape *t = w->t;
	static const enum entry_syntax syntax_of[] = {
		[FILE_PARSES] = ENTRY_PARSES,
		[FILE_BROKEN] = ENTRY_BROKEN,
		[FILE_VAST] = ENTRY_VAST,
		/* The rest of the file was read: no remark of an entry. */
		[FILE_DEEP] = ENTRY_PARSES,
	};
	struct graph_delta delta = { 0 };
	struct diff d;
	bool moved = w->kind == ENTRY_RENAME;
	int r = 0, state;

	if (!concerns_graph(w->c->path) &&
	    !(moved && concerns_graph(w->c->from)))
		return;
	if (moved)
		r = graph_move(t, w->c->from, w->c->path);
	if (r == 0)
		r = graph_see(t, w->c->path, w->now, w->has);
	if (r == 0)
		r = graph_settle(t->graph, &delta);
	note_error(t, r, "the graph cannot be kept");
	if (r < 0)
		return;
	diff_init(&d, t->graph, &delta);
	fill_symbols(w, &d, &delta);
	diff_release(&d);
	state = graph_file(t->graph, w->c->path);
	if (state >= 0)
		w->e->syntax = syntax_of[state];
	else if (lang_of(w->c->path))
		w->e->syntax = w->has ? ENTRY_NO_LANGUAGE : ENTRY_PARSES;
}

/* All authors, if the change is merged. */
static void put_authors(struct apply_work *w)
{
	const struct tape_change *c = w->c;
	size_t size = c->authors_count * sizeof(*c->authors);
	void *authors = arena_take(&w->t->arena, size);

	if (size)
		memcpy(authors, c->authors, size);
	w->e->authors = authors;
	w->e->authors_count = c->authors_count;
}

static void fill(struct apply_work *w)
{
	struct tape *t = w->t;
	const struct tape_change *c = w->c;
	bool moved = w->kind == ENTRY_RENAME;
	const char *path = moved ? c->from : c->path;
	struct entry *e = arena_take(&t->arena, sizeof(*e));

	*e = (struct entry){
		.at_ns = c->at_ns,
		.kind = w->kind,
		.origin = c->origin,
		.path = arena_copy(&t->arena, path, strlen(path)),
		.had = w->was != NULL,
		.has = w->has,
		.bytes = w->has ? w->now->bytes : 0,
		.author = c->author,
		.journal_first = c->first,
		.journal_last = c->last,
	};
	if (moved)
		e->path2 = arena_copy(&t->arena, c->path, strlen(c->path));
	if (w->was) {
		e->before = w->was->hash;
		e->mode_before = w->was->stamp.mode;
	}
	if (w->has) {
		e->after = w->now->hash;
		e->mode_after = w->now->stamp.mode;
	}
	w->e = e;
	put_authors(w);
	if (!is_same_text(e)) {
		find_old(w);
		compare_lines(w);
	}
	compare_graph(w);
	e->marker = w->has && w->now->text &&
		    has_marker(e, w->now->text, w->now->len);
	t->markers += e->marker;
	free(TAKE(w->old));
}

/* SHA-256 costs less than a tenth of reading and storing up to this size. */
static void prove(struct entry *e, const struct look *now)
{
	e->has_sha = now->text && now->len <= STORE_CONTENT_MAX;
	if (e->has_sha)
		store_sha(now->text, now->len, e->after_sha);
}

/* A content from before now was found racy, or not, when it was read. */
static bool is_change_racy(const struct tape_change *c, const struct look *now)
{
	return c->is ? c->racy : is_racy(&now->stamp);
}

/* In the order store.h wants: content, entry, state. */
static void keep(struct apply_work *w)
{
	struct tape *t = w->t;
	struct known_file *k = w->was;
	const struct look *now = w->now;

	assert(w->e && w->has == (w->kind != ENTRY_DELETE));
	assert(k || w->kind == ENTRY_CREATE);
	apply_begin(t);
	if (w->has)
		prove(w->e, now);
	if (w->has && scope_of(w->c->path) == SCOPE_FULL && now->text)
		(void)store_put_content(t->store, now->hash,
					w->e->has_sha ? w->e->after_sha : NULL,
					now->text, now->len);
	note_error(t, store_append(t->store, w->e),
		   "an entry cannot be stored");
	array_push(&t->batch, w->e);
	if (k && (!w->has || w->kind == ENTRY_RENAME)) {
		(void)store_remove_file(t->store, k->at.path);
		known_drop(t, k);
		k = NULL;
	}
	if (!w->has)
		return;
	if (!k)
		k = known_add(t, w->c->path);
	k->hash = now->hash;
	k->hashed = true;
	k->stamp = now->stamp;
	k->racy = is_change_racy(w->c, now);
	k->seen = t->sweep_number;
	k->n = w->e->n;
	assert(known_find(t, w->c->path) == k);
	known_put(t, k);
}

static void enter(struct tape *t, const struct tape_change *c,
		  enum entry_kind kind, struct known_file *was,
		  const struct look *now)
{
	struct apply_work w = { .t = t,
				.c = c,
				.kind = kind,
				.was = was,
				.now = now,
				.has = kind != ENTRY_DELETE };

	fill(&w);
	keep(&w);
	trace_entry(w.e);
	if (t->batch.count >= BATCH_MAX)
		apply_commit(t);
}

/* Is there a file that the tape follows? */
static bool is_there(const char *path, const struct look *now)
{
	return (now->kind == LOOK_FILE || now->kind == LOOK_LINK) &&
	       scope_of(path) != SCOPE_NONE;
}

/* The other names (hard links) of a file that was written. */
struct others {
	const struct known_file *is;
	ARRAY(char *) paths;
};

static void find_other(struct paths_node *n, void *arg)
{
	const struct known_file *k = (const struct known_file *)n;
	struct others *o = arg;

	if (k != o->is && k->stamp.inode == o->is->stamp.inode)
		array_push(&o->paths, must_strdup(n->path));
}

/* A write through one name changes the file under all its names, at the same
   moment and by the same author. */
static void apply_others(struct tape *t, const struct tape_change *c,
			 const struct known_file *k)
{
	struct others o = { .is = k };

	paths_each(&t->known, find_other, &o);
	for (uint32_t i = 0; i < o.paths.count; i++) {
		struct tape_change other = *c;

		other.path = o.paths.at[i];
		other.from = NULL;
		other.only = NULL;
		(void)apply_change(t, &other);
		free(o.paths.at[i]);
	}
	array_release(&o.paths);
}

/* The mode of a version that is not there any more may be unknown. */
static bool is_chmod(const struct known_file *k, const struct look *now)
{
	return k->stamp.mode && now->stamp.mode &&
	       now->stamp.mode != k->stamp.mode;
}

/*
 * Is the content the known one? Two texts with the same XXH3-128 are easily
 * made, and the second must not pass unnoticed; so an equal hash is confirmed
 * by the SHA-256, where that is known.
 */
static bool is_known(struct tape *t, const struct known_file *k,
		     const struct look *now)
{
	uint8_t known[ENTRY_SHA_SIZE], sha[ENTRY_SHA_SIZE];

	if (!k->hashed || !XXH128_isEqual(k->hash, now->hash))
		return false;
	if (!now->text || now->len > STORE_CONTENT_MAX)
		return true;
	if (k->n)
		return store_prove(t->store, k->n, now->text, now->len) !=
		       -EBADMSG;
	if (store_content_sha(t->store, k->hash, known) < 0)
		return true;
	store_sha(now->text, now->len, sha);
	return memcmp(sha, known, sizeof(sha)) == 0;
}

static void apply_edit(struct tape *t, const struct tape_change *c,
		       struct known_file *k, const struct look *now)
{
	bool has_others = now->names > 1;

	if (is_known(t, k, now) && !is_chmod(k, now)) {
		DEBUG(DEBUG_TAPE, "%s: unchanged: same content", c->path);
		k->seen = t->sweep_number;
		/* A content that is not there any more has no stamp. */
		if (!now->stamp.ctime_ns)
			return;
		/* In memory alone: at worst the next start reads it again. */
		k->stamp = now->stamp;
		k->racy = is_change_racy(c, now);
		return;
	}
	enter(t, c, ENTRY_EDIT, k, now);
	/* Looking at another file overwrites what `now` points to. */
	if (has_others)
		apply_others(t, c, k);
}

static void apply_delete(struct tape *t, const struct tape_change *c,
			 struct known_file *k)
{
	const struct look nothing = { .kind = LOOK_ABSENT };
	CLEANUP(free_p) char *path = must_strdup(k->at.path);
	struct tape_change gone = *c;

	gone.path = path;
	gone.from = NULL;
	enter(t, &gone, ENTRY_DELETE, k, &nothing);
}

/* The file known by the former name, if that name is gone. */
static struct known_file *former(const struct tape *t,
				 const struct tape_change *c)
{
	struct known_file *k = NULL;
	struct look now;

	if (c->from && strcmp(c->from, c->path) != 0)
		k = known_find(t, c->from);
	if (!k || c->moved)
		return k;
	look_only(t->c->root_fd, c->from, &now);
	return is_there(c->from, &now) ? NULL : k;
}

/* Did the file have the stamp `only` before it was read, and after? */
static bool is_only(const struct tape *t, const struct tape_change *c,
		    const struct look *read)
{
	struct look after;

	if (!c->only)
		return true;
	look_only(t->c->root_fd, c->path, &after);
	return tree_same_stamp(&after.stamp, c->only) &&
	       (scope_of(c->path) == SCOPE_NONE ||
		tree_same_stamp(&read->stamp, c->only));
}

static void apply_seen(struct tape *t, const struct tape_change *c,
		       const struct look *now)
{
	struct known_file *k = known_find(t, c->path), *f;

	if (k) {
		if (is_there(c->path, now))
			apply_edit(t, c, k, now);
		else
			apply_delete(t, c, k);
		return;
	}
	f = former(t, c);
	if (!is_there(c->path, now)) {
		if (f)
			apply_delete(t, c, f);
		else
			DEBUG(DEBUG_TAPE, "%s: ignored: %s", c->path,
			      scope_of(c->path) == SCOPE_NONE
				      ? "not a path the tape follows"
				      : "not known before, not there now");
	} else {
		enter(t, c, f ? ENTRY_RENAME : ENTRY_CREATE, f, now);
	}
}

/*
 * Its content is the one known by its other name. By now it may have another:
 * then that is a change of its own, and its lines are on their way.
 */
static void look_known(struct tape *t, const struct tape_change *c,
		       struct look *now, char **ret_text)
{
	const char *other = c->like ? c->like : c->from ? c->from : c->path;
	const struct known_file *k = known_find(t, other);
	size_t len = 0;

	look_at(t->c->root_fd, c->path, &t->text, now);
	if (!k || !k->hashed ||
	    ((now->kind == LOOK_FILE || now->kind == LOOK_LINK) &&
	     XXH128_isEqual(k->hash, now->hash)))
		return;
	*now = (struct look){
		.kind = LOOK_FILE,
		.stamp = { .inode = k->stamp.inode,
			   .size = k->stamp.size,
			   .mode = k->stamp.mode },
		.hash = k->hash,
		.bytes = k->stamp.size,
		.names = t->linked ? 2 : 1,
	};
	if (store_content(t->store, k->hash, ret_text, &len) < 0)
		return;
	now->text = *ret_text;
	now->len = len;
}

bool apply_change(struct tape *t, const struct tape_change *c)
{
	CLEANUP(free_p) char *text = NULL;
	struct look now = { .kind = LOOK_ABSENT };

	/* Files out of scope are not read: a pack of git's may be gigabytes. */
	if (scope_of(c->path) != SCOPE_NONE) {
		if (c->is)
			now = *c->is;
		else if (c->as_known)
			look_known(t, c, &now, &text);
		else
			look_at(t->c->root_fd, c->path, &t->text, &now);
	}
	if (now.kind == LOOK_UNREADABLE) {
		t->unreadable++;
		DEBUG(DEBUG_TAPE, "%s: ignored: it cannot be read", c->path);
		return true;
	}
	if (!is_only(t, c, &now))
		return false;
	apply_seen(t, c, &now);
	return true;
}

void apply_base(struct tape *t, struct known_file *k, const struct look *now)
{
	k->hash = now->hash;
	k->hashed = true;
	k->stamp = now->stamp;
	k->racy = is_racy(&now->stamp);
	apply_begin(t);
	if (scope_of(k->at.path) == SCOPE_FULL && now->text)
		(void)store_put_content(t->store, now->hash, NULL, now->text,
					now->len);
	known_put(t, k);
}

void apply_gap(struct tape *t, uint64_t first, uint64_t last)
{
	struct entry *e = arena_take(&t->arena, sizeof(*e));

	*e = (struct entry){
		.at_ns = clock_wall_ns(),
		.kind = ENTRY_GAP,
		.origin = ENTRY_RECOVERED,
		.journal_first = first,
		.journal_last = last,
	};
	apply_begin(t);
	note_error(t, store_append(t->store, e), "an entry cannot be stored");
	array_push(&t->batch, e);
}

static void publish(struct tape *t, const struct entry *e)
{
	cJSON *j = entry_json(e);
	char *text = cJSON_PrintUnformatted(j);

	if (text)
		publish_entry(t->publish, e->n, text);
	cJSON_free(text);
	cJSON_Delete(j);
}

void apply_commit(struct tape *t)
{
	assert(t->open || t->batch.count == 0);
	if (!t->open)
		return;
	t->open = false;
	(void)store_set_position(t->store, follow_position(t));
	note_error(t, store_commit(t->store), "the store cannot be written");
	/* Only committed entries are published. */
	for (uint32_t i = 0; i < t->batch.count && !t->error; i++) {
		answers_entry(t->answers, t->batch.at[i]);
		if (publish_is_heard(t->publish))
			publish(t, t->batch.at[i]);
	}
	publish_flush(t->publish);
	atomic_store(&t->head, store_head(t->store));
	anchoring_step(t);
	t->batch.count = 0;
	arena_release(&t->arena);
	t->rest_at_ns = clock_mono_ns() + REST_NS;
}
