/*
 * Following the journal. A line is in it before the file system answers the
 * operation, so a reader at the end has seen every operation that returned
 * before. Reading to the end and applying everything dirty is the barrier
 * (tape/README.md, SYNC).
 *
 * The position in the store lies before the oldest line of anything dirty or
 * being applied: after a crash these lines are read again.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/base/clock.h"
#include "graph/base/debug.h"
#include "tape/ahead.h"
#include "tape/apart.h"
#include "tape/daemon_i.h"
#include "tape/journal/journal.h"
#include "tape/journal/segment.h"
#include "tape/settle.h"
#include "tape/store/store.h"
#include "tape/wire/bell.h"
#include "tape/wire/state.h"
#include "tape/wire/wire.h"

/* A reader keeps every author it met, so it is replaced after this many. */
#define READER_LINES UINT64_C(500000)
#define CALL_MS	     1000
/* From this many dirty files on, helpers read ahead. */
#define MANY 8
/* After this many lines without an entry the position is stored anyway. */
#define POSITION_LINES UINT64_C(20000)

uint64_t follow_position(const struct tape *t)
{
	uint64_t oldest = settle_oldest(t->settle);

	if (t->floor && (!oldest || t->floor < oldest))
		oldest = t->floor;
	return oldest ? oldest - 1 : t->line;
}

static int open_reader(struct tape *t)
{
	int r = journal_reader_open(t->c->state->dir_fd, STATE_JOURNAL, t->line,
				    &t->reader);

	t->read_here = 0;
	return r == -ENOENT ? 0 : r;
}

/* The line before the newest segment: where a first tape begins to read. */
static uint64_t newest_segment(const struct tape *t)
{
	CLEANUP(close_p)
	int fd = openat(t->c->state->dir_fd, STATE_JOURNAL,
			O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct journal_segments list;
	uint64_t n = 0;
	size_t count;

	if (fd < 0 || journal_segments_list(fd, &list) < 0)
		return 0;
	count = journal_segments_count(&list);
	if (count > 0)
		n = journal_segments_at(&list, count - 1) - 1;
	journal_segments_release(&list);
	return n;
}

/*
 * Lines from before the first tape make no entries, but for those that were
 * lost with a removed state directory: there was a tape then.
 */
static void skip_all(struct tape *t)
{
	struct journal_line l = { 0 };
	int r;

	while (t->reader && ((r = journal_reader_next(t->reader, &l)) == 1 ||
			     r == -ESTALE)) {
		t->line = l.n;
		if (r == 1 && l.event.op == JOURNAL_GAP &&
		    l.event.res == -ENOENT) {
			t->removed_first = (uint64_t)l.event.off;
			t->removed_last =
				t->removed_first + (uint64_t)l.event.len - 1;
		}
	}
	t->gone = t->line;
}

/* A file system process that lost its state directory looks for a new one when
   it is asked. */
static void call_journal(const struct tape *t)
{
	cJSON *answer = NULL;

	(void)wire_ask(t->c->state->fs_socket, "STATUS", NULL, CALL_MS,
		       &answer);
	cJSON_Delete(answer);
}

static bool is_known(void *ctx, const char *path)
{
	return known_find(ctx, path) != NULL;
}

static bool is_ready(void *ctx, const char *path, const struct content *c)
{
	struct look look;

	return contents_look(ctx, path, c, &look) < 0 ||
	       apply_is_ready(ctx, path, &look);
}

struct follow_below {
	const char *dir;
	settle_visit *visit;
	void *arg;
};

static void visit_below(struct paths_node *n, void *arg)
{
	const struct follow_below *b = arg;

	if (paths_below(n->path, b->dir))
		b->visit(b->arg, n->path);
}

static void known_below(void *ctx, const char *dir, settle_visit *visit,
			void *arg)
{
	struct tape *t = ctx;
	struct follow_below b = { .dir = dir, .visit = visit, .arg = arg };

	paths_each(&t->known, visit_below, &b);
}

static bool read_known(void *ctx, const char *path, struct content *c)
{
	struct tape *t = ctx;
	const struct known_file *k = known_find(t, path);
	CLEANUP(free_p) char *text = NULL;
	size_t len = 0;
	struct look l;

	if (!k || !k->hashed ||
	    store_content(t->store, k->hash, &text, &len) < 0)
		return false;
	l = (struct look){
		.kind = LOOK_FILE,
		.stamp = k->stamp,
		.hash = k->hash,
		.text = text,
		.len = len,
		.bytes = k->stamp.size,
		.names = t->linked ? 2 : 1,
	};
	content_fill(c, &l, k->racy, t->line, clock_mono_ns());
	return true;
}

int follow_start(struct tape *t, bool first)
{
	int r = 0;

	assert(!t->settle && !t->reader);
	t->settle = settle_new(&(struct settle_known){ .has = is_known,
						       .below = known_below,
						       .read = read_known,
						       .ctx = t },
			       &t->contents);
	settle_ask_ready(t->settle, is_ready);
	if (first && t->c->journal)
		call_journal(t);
	t->line = first ? newest_segment(t) : store_position(t->store);
	if (!t->c->journal)
		return 0;
	contents_start(t);
	r = open_reader(t);
	if (r < 0) {
		tape_say("the journal cannot be read: %s", strerrordesc_np(-r));
		return r;
	}
	if (first)
		skip_all(t);
	/* Without the bell the journal is read when inotify reports something.
	 */
	if (bell_ear_open(t->c->state->bell_socket, &t->ear) < 0)
		t->ear = NULL;
	return 0;
}

void follow_stop(struct tape *t)
{
	bell_ear_free(t->ear);
	settle_free(t->settle);
	contents_stop(t);
	journal_reader_free(t->reader);
}

static void on_gone(struct tape *t, uint64_t first, uint64_t last)
{
	if (last <= t->gone)
		return;
	tape_say("the journal lost lines %llu to %llu: every file is checked",
		 (unsigned long long)first, (unsigned long long)last);
	t->gone = last;
	/* Changes from before the gap get their entries first. */
	follow_apply_all(t);
	apply_gap(t, first, last);
	apply_commit(t);
	external_sweep(t, ENTRY_RECOVERED, true);
}

/* A path that the journal could not name: every file must be checked. */
static bool is_nameless(const char *path)
{
	return path && path[0] == '#' && path[1] == '/';
}

/* A line from before the host's boot has another monotonic clock. */
static void date_line(struct journal_line *l)
{
	if (l->mono_ns > (uint64_t)clock_mono_ns())
		l->mono_ns = 0;
}

/* A few files are parsed fast enough when their turn comes. */
static void read_ahead(struct tape *t, const struct journal_event *e)
{
	if (settle_pending(t->settle) < MANY)
		return;
	if (e->op == JOURNAL_CLOSE)
		ahead_written(t->ahead, e->path);
	else if (e->op == JOURNAL_RENAME)
		ahead_written(t->ahead, e->path2);
}

/* Of lines that are read again: is what they say of one path on the tape? */
static bool is_applied(const struct tape *t, const struct journal_line *l)
{
	return l->n <= t->again && l->event.op != JOURNAL_RENAME &&
	       l->event.op != JOURNAL_EXCHANGE && l->event.op != JOURNAL_LINK &&
	       l->event.path && contents_applied(t, l->event.path, l->n);
}

/*
 * Files below a directory that moved may be new to the tape: they were not
 * followed where they were, or came there from outside a moment ago.
 */
static void look_below(struct tape *t, const struct journal_event *e)
{
	static const char *const moved[] = { JOURNAL_DIRECTORY,
					     JOURNAL_DIRECTORY2,
					     JOURNAL_DIRECTORIES };
	size_t i = 0;

	if (e->res < 0 || !e->detail ||
	    (e->op != JOURNAL_RENAME && e->op != JOURNAL_EXCHANGE))
		return;
	while (i < 3 && strcmp(e->detail, moved[i]) != 0)
		i++;
	if (i == 0 || i == 2)
		external_below(t, e->path2, ENTRY_MOUNT);
	if (i == 1 || i == 2)
		external_below(t, e->path, ENTRY_MOUNT);
}

/* The file system takes no risk: it keeps what may be from outside. */
static bool is_needless(struct tape *t, const struct journal_event *e)
{
	if (e->op != JOURNAL_KEEP || !e->detail || !e->path || !e->path2 ||
	    strcmp(e->detail, JOURNAL_OUTSIDE) != 0 ||
	    !contents_have(t, e->path, e->path2))
		return false;
	array_push(&t->contents.done, must_strdup(e->path2));
	return true;
}

static void settle(struct tape *t, const struct journal_line *l)
{
	if (l->event.op == JOURNAL_KEEP && l->event.path2)
		leftovers_named(t->leftovers, l->event.path2);
	settle_line(t->settle, l);
	look_below(t, &l->event);
}

static void on_line(struct tape *t, const struct journal_line *l)
{
	const struct journal_event *e = &l->event;

	if (e->op == JOURNAL_GAP)
		on_gone(t, (uint64_t)e->off, (uint64_t)(e->off + e->len - 1));
	else if (is_nameless(e->path) || is_nameless(e->path2))
		external_sweep(t, ENTRY_MOUNT, true);
	else if (!is_applied(t, l) && !is_needless(t, e))
		settle(t, l);
	read_ahead(t, e);
}

static void renew_reader(struct tape *t)
{
	if (t->read_here < READER_LINES || settle_pending(t->settle) || t->open)
		return;
	journal_reader_free(TAKE(t->reader));
	(void)open_reader(t);
}

/* Whether a line came, or an error. */
static int read_line(struct tape *t)
{
	struct journal_line l = { 0 };
	int r = journal_reader_next(t->reader, &l);

	if (r == -ESTALE) {
		on_gone(t, t->line + 1, l.n);
		t->line = l.n;
		return 1;
	}
	if (r <= 0)
		return r;
	t->line = l.n;
	t->read_here++;
	if (!t->ready)
		date_line(&l);
	/* It was made after this, and the lines of calls that had returned by
	   then are before it. */
	if (l.mono_ns > t->read_ns)
		t->read_ns = l.mono_ns;
	on_line(t, &l);
	return 1;
}

/* Lines between two looks at the clock. */
#define LINES 64

bool follow_read(struct tape *t)
{
	uint64_t now = clock_mono_ns();
	int r = 0;

	if (!t->c->journal || (!t->reader && open_reader(t) < 0) ||
	    !t->reader) {
		t->read_ns = now;
		return false;
	}
	if (settle_pending(t->settle) > PENDING_MAX)
		return true;
	for (int i = 0; i < SLICE_LINES && (r = read_line(t)) == 1; i++)
		if (i % LINES == LINES - 1 && slice_over(t))
			break;
	if (r < 0)
		tape_say("the journal cannot be read: %s", strerrordesc_np(-r));
	if (r != 1 && now > t->read_ns)
		t->read_ns = now;
	return r == 1;
}

/* Nothing of the outside has a process. */
static enum entry_origin origin_of(const struct settled *s)
{
	return s->outside || (s->merged && !s->author) ? ENTRY_OUTSIDE
						       : ENTRY_MOUNT;
}

static struct tape_change change_of(const struct tape *t,
				    const struct settled *s)
{
	return (struct tape_change){
		.path = s->path,
		.from = s->from,
		.like = s->like,
		.origin = origin_of(s),
		.author = s->author,
		.authors = s->authors,
		.authors_count = s->merged ? s->authors_count : 0,
		.first = s->first,
		.last = s->last,
		.at_ns = s->at_ns,
		.moved = s->first > t->again,
	};
}

/* The file is not what the lines say: look what there is now. */
static bool is_odd(const struct settled *s)
{
	return s->wrote && !s->content->unwanted &&
	       content_state(s->content) == CONTENT_MISSING;
}

/* It moved over another file, so the file of its former name is not that of the
   new one. */
static void apply_left(struct tape *t, const struct settled *s,
		       const struct tape_change *moved)
{
	const struct look nothing = { .kind = LOOK_ABSENT };
	struct tape_change c = change_of(t, s);

	if (strcmp(s->from, s->path) == 0 || !known_find(t, s->from))
		return;
	c.path = s->from;
	c.from = NULL;
	/* Lines that are read again only say where to look. */
	c.is = moved->moved ? &nothing : NULL;
	(void)apply_change(t, &c);
}

static void apply_version(struct tape *t, const struct settled *s)
{
	struct tape_change c = change_of(t, s);
	struct look look;

	/* Lines that are read again only say where to look. */
	if (!is_odd(s) && (s->first > t->again || s->content) &&
	    !contents_of(t, s, &look, &c))
		return;
	(void)apply_change(t, &c);
	if (s->from && !s->gone)
		apply_left(t, s, &c);
}

static void apply_settled(struct tape *t, const struct settled *s, size_t n)
{
	for (size_t i = 0; n >= MANY && i < n; i++)
		if (!s[i].gone)
			ahead_expect(t->ahead, s[i].path);
	for (size_t i = 0; i < n; i++)
		apply_version(t, &s[i]);
}

/* How many paths it was. */
static size_t apply_taken(struct tape *t, const struct settled *s, size_t n)
{
	assert(t->floor == 0);
	for (size_t i = 0; i < n; i++)
		if (!t->floor || s[i].first < t->floor)
			t->floor = s[i].first;
	apply_settled(t, s, n);
	t->floor = 0;
	return n;
}

static size_t apply_some(struct tape *t, uint64_t upto)
{
	const struct settled *s;
	size_t n;

	settle_heard(t->settle, t->read_ns);
	n = settle_take(t->settle, clock_mono_ns(), upto, SLICE_PATHS, &s);
	return apply_taken(t, s, n);
}

/* The end of applying, for now. */
static void applied(struct tape *t)
{
	if (!settle_pending(t->settle))
		ahead_clear(t->ahead);
	if (follow_position(t) > store_position(t->store) + POSITION_LINES)
		apply_begin(t);
	apply_commit(t);
	contents_clean(t);
}

bool follow_apply(struct tape *t)
{
	uint64_t upto =
		settle_pending(t->settle) > DIRTY_MAX ? UINT64_MAX : t->wanted;
	bool more = true;

	/* What was read now counts when the lines up to now were read. */
	if (contents_read(t, upto))
		(void)follow_read(t);
	while (more && !slice_over(t))
		more = apply_some(t, upto) > 0;
	applied(t);
	if (t->reader)
		renew_reader(t);
	return more;
}

void follow_apply_all(struct tape *t)
{
	bool more = true;

	t->at_once = true;
	while (more && !t->error) {
		more = contents_read(t, UINT64_MAX);
		settle_sure(t->settle);
		while (!t->error && apply_some(t, UINT64_MAX))
			more = true;
	}
	t->at_once = false;
	applied(t);
}

bool follow_apply_path(struct tape *t, const char *path)
{
	const struct settled *s;
	size_t n;

	if (contents_read_path(t, path))
		(void)follow_read(t);
	settle_heard(t->settle, t->read_ns);
	n = settle_take_path(t->settle, path, &s);
	(void)apply_taken(t, s, n);
	if (!settle_has(t->settle, path))
		return true;
	return t->read_ns >= t->published_ns && !apart_is_busy(t->apart);
}
