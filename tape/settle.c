/*
 * What the lines do to the nodes (settle_i.h). A node remembers how its content
 * was known before its first line: by its own name, by another (`partner`,
 * after a move), as another file's (`like`, a link), or not at all (`born`).
 *
 * When a node settles:
 *
 *	a file that existed before	at once, when its author has closed it
 *	is written in place
 *	a new file is renamed to it	at once: an atomic save
 *	another process changes it	at once, with the content before that
 *	a file that is new		after the quiet time: a program may be
 *					about to rename it over another
 *	a name that went away		after the quiet time: it may come back
 *					(git removes and makes anew, editors
 *					rename and write anew)
 *	anything else			after the quiet time
 *
 * A name that went away waits for the node it became, and that node for it, so
 * that a move is one change. SETTLE_LONGEST_NS bounds the wait.
 */
#include "tape/settle.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "tape/settle_i.h"

static bool is_detail(const struct journal_event *e, const char *detail)
{
	return e->detail && strcmp(e->detail, detail) == 0;
}

/* New names of a file that the line changes are as it was before. */
static void settle_likes(struct settle *s, const char *path, uint64_t inode)
{
	struct settle_link *l = s->likes ? s->late.next : &s->late;

	for (; l != &s->late; l = l->next) {
		struct settle_node *n = settle_of_late(l);

		if (n->like && strcmp(n->at.path, path) != 0 &&
		    (strcmp(n->like, path) == 0 ||
		     (inode && n->inode == inode)))
			n->urgent = true;
	}
}

/* The node of `path`, and what was dirty of it cut off if the line begins
   another version. */
static struct settle_node *touch(struct settle *s, const char *path,
				 const struct journal_line *l, bool always)
{
	struct settle_node *n = settle_find(s, path);

	settle_likes(s, path, l->event.ino);
	if (n)
		settle_end_version(s, n, l, always);
	else
		n = settle_add(s, path, l);
	settle_stamp(s, n, l);
	return n;
}

static void on_write(struct settle *s, const struct journal_line *l)
{
	const struct journal_event *e = &l->event;
	bool opened = e->op == JOURNAL_TRUNCATE && is_detail(e, "open");
	struct settle_node *n;

	/* The file has lost that name. */
	if (is_detail(e, "deleted"))
		return;
	n = touch(s, e->path, l, false);
	settle_change(s, n, l);
	n->emptied = opened;
	n->by_name = is_detail(e, JOURNAL_BY_NAME);
	if (opened)
		settle_opened(n, l);
	else if (!n->by_name)
		settle_may_write(n, l);
	n->urgent = n->by_name && !n->born;
}

static struct settle_node *
on_make(struct settle *s, const struct journal_line *l, const char *path)
{
	bool is_new = !settle_find(s, path);
	struct settle_node *n = touch(s, path, l, true);

	if (is_new && !settle_is_known(s, path))
		n->born = true;
	if (n->gone)
		settle_come_back(s, n);
	settle_unjoin(n);
	settle_drop_content(n);
	settle_change(s, n, l);
	n->writers_count = 0;
	n->emptied = l->event.op == JOURNAL_CREATE;
	n->content->link = l->event.op == JOURNAL_SYMLINK;
	if (l->event.op == JOURNAL_CREATE)
		settle_opened(n, l);
	return n;
}

/* A second name; text that was just written keeps its author. */
static void on_link(struct settle *s, const struct journal_line *l)
{
	const struct settle_node *old = settle_find(s, l->event.path);
	struct settle_node *n = on_make(s, l, l->event.path2);

	settle_drop_content(n);
	n->inode = l->event.ino;
	if (old && old->wrote && old->content) {
		n->content = content_ref(old->content);
		if (!n->merged)
			n->authors.count = 0;
		settle_put_before(n, old);
		n->author = old->author;
		n->pid = old->pid;
		n->merged = n->merged || old->merged;
	} else {
		n->wrote = false;
		settle_set_like(s, n, must_strdup(l->event.path));
	}
}

/*
 * Is nothing of it on the tape, nor will be but for this node? A file that the
 * tape knows may have moved to a new name, and a version of a new file may have
 * been cut off for good.
 */
static bool is_new(const struct settle *s, const struct settle_node *n)
{
	const struct settle_tally *cuts = paths_find(&s->cuts, n->at.path);
	size_t held = 0;

	for (const struct settle_node *c = n->older; c && c->held; c = c->older)
		held += strcmp(c->at.path, n->at.path) == 0;
	return n->born && !n->partner && (!cuts || cuts->count == held);
}

/* Made and removed before it settled: by one process, or with a content that
   is lost. */
static bool is_scratch(const struct settle *s, const struct settle_node *n,
		       const struct journal_line *l)
{
	enum content_state state =
		n->content ? content_state(n->content) : CONTENT_READ;

	return is_new(s, n) && (!n->authors.count || settle_is_own(n, l) ||
				state == CONTENT_OPEN || state == CONTENT_LOST);
}

static void go_away(struct settle *s, struct settle_node *n,
		    const struct journal_line *l)
{
	settle_set_like(s, n, NULL);
	settle_drop_content(n);
	n->wrote = n->emptied = false;
	settle_name_author(n, l, false);
	n->gone = true;
	n->writers_count = 0;
}

static void on_unlink(struct settle *s, const struct journal_line *l)
{
	struct settle_node *n = settle_find(s, l->event.path);

	/* The node of its former name records the move. */
	if (n && !n->gone && settle_is_own(n, l))
		settle_lose_partner(s, n);
	if (n && is_scratch(s, n, l)) {
		settle_likes(s, n->at.path, l->event.ino);
		settle_drop(s, n);
		return;
	}
	n = touch(s, l->event.path, l, true);
	settle_unjoin(n);
	go_away(s, n, l);
}

/* `src` is new since the last settling: its text is the target's now. */
static void save_over(struct settle *s, struct settle_node *src,
		      struct settle_node *dst)
{
	settle_set_like(s, dst, TAKE(src->like));
	s->likes -= (size_t)(dst->like != NULL);
	settle_drop_content(dst);
	dst->content = TAKE(src->content);
	content_move(dst->content);
	if (!dst->merged)
		dst->authors.count = 0;
	if (dst->authors.count) {
		settle_put_before(src, dst);
		dst->authors.count = 0;
	}
	array_append(&dst->authors, src->authors.at, src->authors.count);
	dst->merged = dst->merged || src->merged;
	dst->author = src->author;
	dst->pid = src->pid;
	dst->wrote = src->wrote;
	dst->emptied = src->emptied;
	dst->inode = src->inode;
	dst->by_name = src->by_name;
	dst->writers_count = src->writers_count;
	memcpy(dst->writers, src->writers, sizeof(src->writers));
	settle_begin_with(s, dst, src);
	dst->urgent = settle_is_finished(dst);
	settle_drop(s, src);
}

/* The cut versions of `src` come before what `dst` is now. */
static void pass_older(struct settle_node *src, struct settle_node *dst)
{
	struct settle_node *last = src->older;

	if (!last)
		return;
	last->newer = dst;
	while (last->older)
		last = last->older;
	last->older = dst->older;
	if (last->older)
		last->older->newer = last;
	dst->older = TAKE(src->older);
}

/* The text of `src`, if it was written, is that of `dst`. */
static void pass_text(struct settle_node *src, struct settle_node *dst)
{
	settle_drop_content(dst);
	dst->wrote = src->wrote;
	dst->content = TAKE(src->content);
	content_move(dst->content);
	dst->inode = src->inode;
	dst->merged = dst->merged || src->merged;
	if (!src->wrote)
		return;
	dst->author = src->author;
	dst->pid = src->pid;
	dst->authors.count = 0;
	array_append(&dst->authors, src->authors.at, src->authors.count);
}

/* The name that its file left. */
static void leave_name(struct settle *s, const struct journal_line *l,
		       struct settle_node *n, struct settle_node *file)
{
	struct settle_node *known = n->partner ? n->partner : n;

	settle_unjoin(n);
	settle_stamp(s, n, l);
	n->merged = false;
	go_away(s, n, l);
	/* It may have moved back to its own name. */
	if (known != file)
		settle_join(file, known);
	if (known != n && !n->older && !settle_is_known(s, n->at.path) &&
	    !paths_find(&s->cuts, n->at.path))
		settle_drop(s, n);
}

/* A file that existed before the first line moved. */
static void move_over(struct settle *s, const struct journal_line *l,
		      const char *path, struct settle_node *dst)
{
	struct settle_node *src = settle_find(s, path);

	if (src)
		settle_part(s, src, l);
	if (dst->partner && !dst->partner->gone && dst->partner != src)
		settle_come_back(s, dst);
	else if (dst->partner != src)
		settle_unjoin(dst);
	dst->wrote = false;
	settle_name_author(dst, l, false);
	if (src) {
		pass_text(src, dst);
		pass_older(src, dst);
		settle_begin_with(s, dst, src);
	} else {
		settle_drop_content(dst);
		src = settle_add(s, path, l);
	}
	leave_name(s, l, src, dst);
}

static void move_file(struct settle *s, const struct journal_line *l,
		      const char *path, const char *path2)
{
	bool is_new_name = !settle_find(s, path2) && !settle_is_known(s, path2);
	struct settle_node *src, *dst;

	settle_likes(s, path, 0);
	dst = touch(s, path2, l, true);
	dst->born = dst->born || is_new_name;
	src = settle_find(s, path);
	if (src && src->gone)
		settle_come_back(s, src);
	if (dst->gone && dst->partner != src)
		settle_come_back(s, dst);
	dst->gone = false;
	if (src && !src->gone && is_new(s, src))
		save_over(s, src, dst);
	else
		move_over(s, l, path, dst);
}

/* `path2`, and behind it what `at` has behind `path`. (Free it.) */
static char *moved_name(const char *at, const char *path, const char *path2)
{
	const char *rest = paths_below(at, path);

	return rest ? paths_join(path2, rest) : must_strdup(path2);
}

static void move(struct settle *s, const struct journal_line *l,
		 const char *path, const char *path2, bool directory)
{
	settle_list(s, path, directory);
	for (uint32_t i = 0; i < s->moved.count; i++) {
		const char *old = s->moved.at[i];
		CLEANUP(free_p) char *new = moved_name(old, path, path2);

		move_file(s, l, old, new);
	}
}

static void on_rename(struct settle *s, const struct journal_line *l)
{
	const struct journal_event *e = &l->event;

	if (strcmp(e->path, e->path2) != 0)
		move(s, l, e->path, e->path2, is_detail(e, JOURNAL_DIRECTORY));
}

static struct settle_node *
changes_place(struct settle *s, const struct journal_line *l, const char *path)
{
	struct settle_node *n = settle_find(s, path);

	settle_likes(s, path, 0);
	if (n)
		settle_part(s, n, l);
	else
		n = settle_add(s, path, l);
	settle_stamp(s, n, l);
	settle_name_author(n, l, false);
	if (!n->wrote)
		settle_take_content(s, n);
	if (n->gone)
		settle_come_back(s, n);
	settle_unjoin(n);
	n->gone = false;
	return n;
}

/* What was written stays what its author wrote. */
static void put_text(struct settle_node *n, const struct settle_node *text)
{
	n->content = text->content;
	n->wrote = text->wrote;
	n->emptied = text->emptied;
	n->by_name = text->by_name;
	n->inode = text->inode;
	n->authors = text->authors;
	n->author = text->author;
	n->pid = text->pid;
	n->merged = text->merged;
	memcpy(n->writers, text->writers, sizeof(n->writers));
	n->writers_count = text->writers_count;
	content_move(n->content);
	n->urgent = settle_is_finished(n);
}

static void exchange_files(struct settle *s, const struct journal_line *l,
			   const char *path, const char *path2)
{
	struct settle_node *a = changes_place(s, l, path);
	struct settle_node *b = changes_place(s, l, path2);
	const struct settle_node was = *a;

	put_text(a, b);
	put_text(b, &was);
}

struct name_list {
	char **at;
	uint32_t count, size;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool has_name(const struct name_list *list, const char *name)
{
	return list->count &&
	       bsearch(&name, list->at, list->count, sizeof(name), by_name);
}

static void on_exchange(struct settle *s, const struct journal_line *l)
{
	const struct journal_event *e = &l->event;
	bool both = is_detail(e, JOURNAL_DIRECTORIES);
	struct name_list ones = { .at = NULL }, others = { .at = NULL };

	settle_list(s, e->path, both || is_detail(e, JOURNAL_DIRECTORY));
	array_append(&ones, s->moved.at, s->moved.count);
	s->moved.count = 0;
	settle_list(s, e->path2, both || is_detail(e, JOURNAL_DIRECTORY2));
	array_append(&others, s->moved.at, s->moved.count);
	s->moved.count = 0;
	for (uint32_t i = 0; i < ones.count; i++) {
		CLEANUP(free_p)
		char *to = moved_name(ones.at[i], e->path, e->path2);

		if (has_name(&others, to))
			exchange_files(s, l, ones.at[i], to);
		else
			move_file(s, l, ones.at[i], to);
	}
	for (uint32_t i = 0; i < others.count; i++) {
		CLEANUP(free_p)
		char *to = moved_name(others.at[i], e->path2, e->path);

		if (!has_name(&ones, to))
			move_file(s, l, others.at[i], to);
		free(others.at[i]);
	}
	while (ones.count)
		free(ones.at[--ones.count]);
	array_release(&ones);
	array_release(&others);
}

static void on_close(struct settle *s, const struct journal_line *l)
{
	struct settle_node *n = settle_find(s, l->event.path);

	if (!n || n->gone)
		return;
	if (!n->urgent)
		settle_stamp(s, n, l);
	settle_closed(n, l, is_detail(&l->event, "wrote"));
	n->urgent = !n->born && settle_is_finished(n);
}

/* Its mode is looked at; content and names stay. */
static void on_chmod(struct settle *s, const struct journal_line *l)
{
	struct settle_node *n = settle_find(s, l->event.path);

	if (n && n->gone)
		return;
	if (!n)
		n = settle_add(s, l->event.path, l);
	else if (settle_is_finished(n))
		settle_part(s, n, l);
	settle_stamp(s, n, l);
	settle_name_author(n, l, false);
	n->urgent = !n->born && settle_is_finished(n);
}

void settle_line(struct settle *s, const struct journal_line *line)
{
	const struct journal_event *e = &line->event;

	if (e->op == JOURNAL_KEEP)
		settle_on_keep(s, line);
	if (e->res < 0)
		return;
	/* The other operations change no content, no name and no mode. */
	/* NOLINTNEXTLINE(clang-diagnostic-switch-enum) */
	switch ((int)e->op) {
	case JOURNAL_WRITE:
	case JOURNAL_MMAP:
	case JOURNAL_TRUNCATE:
	case JOURNAL_FALLOCATE:
	case JOURNAL_COPY:
		on_write(s, line);
		break;
	case JOURNAL_CREATE:
	case JOURNAL_MKNOD:
	case JOURNAL_SYMLINK:
		(void)on_make(s, line, e->path);
		break;
	case JOURNAL_LINK:
		on_link(s, line);
		break;
	case JOURNAL_UNLINK:
		on_unlink(s, line);
		break;
	case JOURNAL_RENAME:
		on_rename(s, line);
		break;
	case JOURNAL_EXCHANGE:
		on_exchange(s, line);
		break;
	case JOURNAL_CHMOD:
		on_chmod(s, line);
		break;
	case JOURNAL_CLOSE:
		on_close(s, line);
		break;
	default:
		break;
	}
}
