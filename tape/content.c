/*
 * Which of the two is the version's content? The tape publishes how far it has
 * read only after reading (tape/journal/progress.h), and the file system
 * changes a file after it has seen that, or after its KEEP line is in the
 * journal. So what was read is the version if there is no KEEP line for it, or
 * if the reading was complete before that line was written; else the copy is.
 *
 * The file may have been renamed by a line that is still to come, and another
 * one be in its place: the inode tells.
 */
#include "tape/content.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "tape/journal/journal.h"

struct content *content_new(struct content_pool *pool)
{
	struct content *c = must_calloc(1, sizeof(*c));

	c->pool = pool;
	c->refs = 1;
	return c;
}

struct content *content_ref(struct content *c)
{
	if (c)
		c->refs++;
	return c;
}

static void forget_read(struct content *c)
{
	if (c->text)
		c->pool->bytes -= c->look.len;
	free(TAKE(c->text));
	c->is_read = false;
}

static void forget_kept(struct content *c)
{
	if (c->kept)
		array_push(&c->pool->done, TAKE(c->kept));
	c->kept_ns = 0;
}

void content_unref(struct content *c)
{
	if (!c || --c->refs)
		return;
	forget_read(c);
	forget_kept(c);
	free(c);
}

void content_change(struct content *c, const struct journal_line *l)
{
	assert(l->n >= c->last);
	c->last = l->n;
	c->inode = l->event.ino;
	forget_kept(c);
}

static bool is_missing(const struct content *c)
{
	return c->is_read && (c->look.kind == LOOK_ABSENT ||
			      (c->inode && c->look.stamp.inode != c->inode));
}

void content_move(struct content *c)
{
	if (!c)
		return;
	c->unwanted = false;
	if (is_missing(c))
		forget_read(c);
}

void content_fill(struct content *c, const struct look *l, bool racy,
		  uint64_t line, uint64_t now_ns)
{
	forget_read(c);
	c->is_read = true;
	c->racy = racy;
	c->read_line = line;
	c->read_ns = now_ns;
	c->published_ns = 0;
	c->look = *l;
	c->look.text = NULL;
	if (!l->text)
		return;
	c->text = must_memdup(l->text, l->len);
	c->look.text = c->text;
	c->pool->bytes += l->len;
}

void content_keep(struct content *c, const struct journal_line *l)
{
	forget_kept(c);
	c->kept_ns = l->mono_ns ? l->mono_ns : 1;
	if (!c->inode)
		c->inode = l->event.ino;
	if (l->event.res >= 0 && l->event.path2)
		c->kept = must_strdup(l->event.path2);
	c->kept_len = l->event.len > 0 ? (uint64_t)l->event.len : 0;
}

enum content_state content_state(const struct content *c)
{
	bool fresh = c->is_read && c->last <= c->read_line;

	if (fresh && !c->kept_ns && is_missing(c))
		return CONTENT_MISSING;
	if (fresh && !is_missing(c) &&
	    (!c->kept_ns || c->read_ns <= c->kept_ns))
		return CONTENT_READ;
	if (c->kept_ns)
		return c->kept ? CONTENT_KEPT : CONTENT_LOST;
	return CONTENT_OPEN;
}
