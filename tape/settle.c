/*
 * What the lines do to the nodes (settle_i.h). A node remembers how its content
 * was known before its first line: by its own name, by another (`from`, after
 * renames), as another file's (`like`, a link), or not at all (`born`).
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

/* No path of a file: where one side of an exchange waits for the other. */
#define NOWHERE "\001"

static bool is_detail(const struct journal_event *e, const char *detail)
{
	return e->detail && strcmp(e->detail, detail) == 0;
}

static bool is_known(const struct settle *s, const char *path)
{
	return s->known && s->known(s->ctx, path);
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

/*
 * The name that went away is there again. What it went away to is a new file,
 * such as a backup.
 */
static void come_back(struct settle *s, struct settle_node *n)
{
	struct settle_node *to = n->to ? settle_find(s, n->to) : NULL;

	/* It may have moved on, as often as there are names. */
	for (size_t i = 0; to && to->gone && to->to && i < s->pending; i++)
		to = settle_find(s, to->to);
	free(TAKE(n->to));
	if (!to || to == n || !to->from || strcmp(to->from, n->at.path) != 0)
		return;
	to->born = !is_known(s, to->at.path);
	to->parted = true;
	if (!to->wrote && !to->gone)
		settle_read_anew(s, to);
}

static struct settle_node *
on_make(struct settle *s, const struct journal_line *l, const char *path)
{
	bool is_new = !settle_find(s, path);
	struct settle_node *n = touch(s, path, l, true);

	if (is_new && !is_known(s, path)) {
		n->born = true;
		settle_set_from(s, n, NULL);
	}
	if (n->gone)
		come_back(s, n);
	settle_set_directory(s, n, false);
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

/* The node of its former name records the move. */
static void forget_move(struct settle *s, struct settle_node *n,
			const struct journal_line *l)
{
	if (!n->from || !settle_find(s, n->from) || !settle_is_own(n, l))
		return;
	settle_set_from(s, n, NULL);
	n->born = !is_known(s, n->at.path);
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
	return n->born && (!n->from || n->parted) &&
	       (!cuts || cuts->count == held);
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
	settle_set_directory(s, n, false);
	settle_set_like(s, n, NULL);
	settle_drop_content(n);
	n->wrote = n->emptied = n->file = false;
	settle_name_author(n, l, false);
	n->gone = true;
	n->writers_count = 0;
}

static void on_unlink(struct settle *s, const struct journal_line *l)
{
	struct settle_node *n = settle_find(s, l->event.path);

	if (n) {
		forget_move(s, n, l);
		if (is_scratch(s, n, l)) {
			settle_likes(s, n->at.path, l->event.ino);
			settle_drop(s, n);
			return;
		}
	}
	go_away(s, touch(s, l->event.path, l, true), l);
}

/* `src` is new since the last settling: its text is the target's now. */
static void save_over(struct settle *s, struct settle_node *src,
		      struct settle_node *dst)
{
	/* The content before is the one known by its own name. */
	if (!dst->older)
		settle_set_from(
			s, dst,
			dst->born ? NULL : settle_former_name(s, dst->at.path));
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
	dst->file = src->file;
	dst->by_name = src->by_name;
	dst->writers_count = src->writers_count;
	memcpy(dst->writers, src->writers, sizeof(src->writers));
	settle_begin_with(s, dst, src);
	dst->urgent = settle_is_finished(dst);
	settle_set_directory(s, dst, false);
	settle_drop(s, src);
}

/* The name under which the content at `path` was known. (Free it.) */
static char *origin(const struct settle *s, const struct settle_node *n,
		    const char *path)
{
	char *from;

	if (n)
		return must_strdup(n->from && !n->parted ? n->from
							 : n->at.path);
	from = settle_former_name(s, path);
	return from ? from : must_strdup(path);
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
	dst->file = src->file;
	dst->merged = dst->merged || src->merged;
	if (!src->wrote)
		return;
	dst->author = src->author;
	dst->pid = src->pid;
	dst->authors.count = 0;
	array_append(&dst->authors, src->authors.at, src->authors.count);
}

/* A file that existed before the first line moved. */
static void move_over(struct settle *s, const struct journal_line *l,
		      const char *path, struct settle_node *dst)
{
	struct settle_node *src = settle_find(s, path);
	char *from;

	if (src)
		settle_part(s, src, l);
	from = origin(s, src, path);
	settle_set_from(s, dst, from);
	settle_went_on(s, from, path, dst->at.path);
	dst->parted = false;
	dst->wrote = dst->file = false;
	settle_name_author(dst, l, false);
	if (src) {
		pass_text(src, dst);
		pass_older(src, dst);
		settle_begin_with(s, dst, src);
	} else {
		settle_drop_content(dst);
	}
	/* It moved back to its own name. */
	if (strcmp(from, dst->at.path) == 0)
		settle_set_from(s, dst, NULL);
	settle_set_directory(s, dst, !dst->file);

	if (!src)
		src = settle_add(s, path, l);
	settle_stamp(s, src, l);
	src->merged = false;
	settle_set_from(s, src, NULL);
	go_away(s, src, l);
	free(src->to);
	src->to = must_strdup(dst->at.path);
}

static void on_rename(struct settle *s, const struct journal_line *l,
		      const char *path, const char *path2)
{
	struct settle_node *src, *dst;

	if (strcmp(path, path2) == 0)
		return;
	settle_likes(s, path, 0);
	dst = touch(s, path2, l, true);
	if (dst->gone && dst->to && strcmp(dst->to, path) != 0 &&
	    strcmp(path, NOWHERE) != 0 && strcmp(dst->to, NOWHERE) != 0)
		come_back(s, dst);
	dst->gone = false;
	src = settle_find(s, path);
	if (src && !src->gone && is_new(s, src))
		save_over(s, src, dst);
	else
		move_over(s, l, path, dst);
	settle_move_below(s, path, path2);
}

/* Of two files that change places, each is what is there now. */
static void swap(struct settle *s, const char *path)
{
	struct settle_node *n = settle_find(s, path);

	if (!n || n->gone || !n->from)
		return;
	n->parted = true;
	if (!n->wrote)
		settle_read_anew(s, n);
}

static void on_exchange(struct settle *s, const struct journal_line *l)
{
	const struct journal_event *e = &l->event;

	on_rename(s, l, e->path, NOWHERE);
	on_rename(s, l, e->path2, e->path);
	on_rename(s, l, NOWHERE, e->path2);
	settle_drop(s, settle_find(s, NOWHERE));
	swap(s, e->path);
	swap(s, e->path2);
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
		on_rename(s, line, e->path, e->path2);
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
