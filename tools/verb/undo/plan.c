#include "tools/verb/undo/plan.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "tape/journal/scope.h"
#include "tape/store/store.h"
#include "tools/cli/say.h"
#include "tools/verb/tape.h"
#include "tools/verb/undo/history.h"

struct planning {
	struct tape_reader *tape;
	int root_fd;
	enum merge_favour favour;
	struct plan_file *file;
};

void undo_plan_release(struct undo_plan *p)
{
	for (uint32_t i = 0; i < p->files.count; i++) {
		file_copy_release(&p->files.at[i].now);
		file_copy_release(&p->files.at[i].then);
		free(p->files.at[i].why);
	}
	array_release(&p->files);
}

/* -- Files that are left alone. */

/* Takes ownership of `why`. */
static void leave(struct plan_file *f, char *why)
{
	free(f->why);
	f->why = why;
	f->fate = PLAN_LEFT;
}

/* ", since entry 12 by sed [812]", or "" (free it). */
static char *since(const struct undo_file *f)
{
	return f->since ? format_text(" (entry %" PRIu64 " by %s)", f->since,
				      f->by)
			: format_text("%s", "");
}

/*
 * What the entries left is not what is there. True: take the old side, false:
 * keep the new one, or leave the file if nothing decides.
 */
static bool takes_old(struct planning *p, const char *what)
{
	CLEANUP(free_p) char *who = since(p->file->of);

	if (p->favour == MERGE_NONE)
		leave(p->file, format_text("%s%s", what, who));
	return p->favour == MERGE_THEIRS;
}

static bool is_left(const struct planning *p)
{
	return p->file->fate == PLAN_LEFT;
}

/* -- Contents. */

static bool is_hash(const struct file_copy *s, const struct undo_version *v)
{
	return strcmp(s->hash, v->hash) == 0;
}

static bool is_link(uint32_t mode)
{
	return S_ISLNK(mode);
}

static bool is_type(const struct file_copy *s, const struct undo_version *v)
{
	return !v->mode || is_link(s->mode) == is_link(v->mode);
}

/* Does the tape keep such a text, so that it can be brought back? */
static bool is_kept(const struct file_copy *s)
{
	return s->text && s->len <= STORE_CONTENT_MAX &&
	       !memchr(s->text, '\0', s->len);
}

/* Only with --theirs is a content given up that could not be brought back. */
static bool may_lose(struct planning *p)
{
	if (is_kept(&p->file->then) || p->favour == MERGE_THEIRS)
		return true;
	leave(p->file, format_text("the tape has not kept what it contains, so "
				   "this could not be taken back; --theirs "
				   "does it all the same"));
	return false;
}

/* The content of a version (free it); NULL: the file is left alone. */
static char *content(struct planning *p, const struct undo_version *v,
		     size_t *ret_len)
{
	char *text = tape_content(p->tape, v->hash, ret_len);

	if (!text)
		leave(p->file, format_text("the tape has not kept what it "
					   "contained"));
	return text;
}

/* The old content and type as they were. */
static void take_content(struct planning *p, const struct undo_version *old)
{
	struct file_copy *s = &p->file->then;
	size_t len = 0;
	CLEANUP(free_p) char *text = content(p, old, &len);

	if (!text)
		return;
	file_copy_set(s, text, len);
	if (!is_type(s, old) || !s->mode)
		s->mode = old->mode;
}

/* "lines 3-5 and 9 were changed since" */
static char *conflicts_text(const struct merge *m)
{
	char *text = NULL;
	size_t size;
	FILE *out = must_have(open_memstream(&text, &size));
	const struct merge_conflict *c = m->conflicts;
	size_t count = m->conflicts_count < 4 ? m->conflicts_count : 4;

	(void)fputs(count == 1 && c->count < 2 ? "line" : "lines", out);
	for (size_t i = 0; i < count; i++, c++) {
		(void)fprintf(out, "%s %" PRIu32, i ? "," : "", c->line);
		if (c->count > 1)
			(void)fprintf(out, "-%" PRIu32, c->line + c->count - 1);
	}
	(void)fputs(count < m->conflicts_count ? ", ... " : " ", out);
	(void)fputs("changed since", out);
	(void)fclose(out);
	return must_have(text);
}

static void merge_content(struct planning *p, const struct undo_change *c)
{
	struct file_copy *s = &p->file->then;
	CLEANUP(merge_release) struct merge m = { 0 };
	struct merge_text base, theirs;
	CLEANUP(free_p) char *after = content(p, &c->after, &base.len);
	CLEANUP(free_p) char *before = NULL;
	CLEANUP(free_p) char *what = NULL;

	if (after)
		before = content(p, &c->before, &theirs.len);
	if (!before)
		return;
	base.at = after;
	theirs.at = before;
	merge_init(&m, base, (struct merge_text){ s->text, s->len }, theirs,
		   p->favour);
	if (m.text) {
		file_copy_set(s, m.text, m.len);
		return;
	}
	what = conflicts_text(&m);
	(void)takes_old(p, what);
}

static void invert_content(struct planning *p, const struct undo_change *c)
{
	struct file_copy *s = &p->file->then;
	bool retyped = c->before.mode && c->after.mode &&
		       is_link(c->before.mode) != is_link(c->after.mode);

	if (!retyped && strcmp(c->before.hash, c->after.hash) == 0)
		return;
	if (is_hash(s, &c->after) && is_type(s, &c->after)) {
		if (may_lose(p))
			take_content(p, &c->before);
	} else if (is_hash(s, &c->before) && is_type(s, &c->before)) {
		return;
	} else if (!retyped && !is_link(s->mode) && is_type(s, &c->after) &&
		   is_kept(s)) {
		merge_content(p, c);
	} else if (takes_old(p, "changed since")) {
		take_content(p, &c->before);
	}
}

/* -- Modes, names, existence. */

/* Bits that the entries changed go back; those of others stay. */
static void invert_mode(struct file_copy *s, const struct undo_change *c)
{
	uint32_t changed = (c->before.mode ^ c->after.mode) & 07777;

	if (!c->before.mode || !c->after.mode ||
	    is_link(c->before.mode) != is_link(c->after.mode) ||
	    is_link(s->mode))
		return;
	s->mode = (s->mode & ~changed) | (c->before.mode & changed);
}

static void set_path(struct file_copy *s, const char *path)
{
	char *copy = path ? must_strdup(path) : NULL;

	free(s->path);
	s->path = copy;
}

static void bring_back(struct planning *p, const struct undo_version *old)
{
	struct file_copy *s = &p->file->then;

	take_content(p, old);
	if (is_left(p))
		return;
	s->mode = old->mode;
	set_path(s, old->path);
}

/* The entries made the file. */
static void invert_create(struct planning *p, const struct undo_change *c)
{
	struct file_copy *s = &p->file->then;

	if (!s->path)
		return;
	if (is_hash(s, &c->after) && is_type(s, &c->after)) {
		if (may_lose(p))
			set_path(s, NULL);
	} else if (takes_old(p, "changed since")) {
		set_path(s, NULL);
	}
}

/* The entries removed the file. */
static void invert_delete(struct planning *p, const struct undo_change *c)
{
	struct file_copy *s = &p->file->then;

	if (!s->path)
		bring_back(p, &c->before);
	else if (!is_hash(s, &c->before) && takes_old(p, "made anew since"))
		take_content(p, &c->before);
}

static void invert_rename(struct planning *p, const struct undo_change *c)
{
	struct file_copy *s = &p->file->then;
	CLEANUP(free_p) char *what = NULL;

	if (strcmp(c->before.path, c->after.path) == 0 ||
	    strcmp(s->path, c->before.path) == 0)
		return;
	if (strcmp(s->path, c->after.path) != 0) {
		what = format_text("renamed to '%s' since", s->path);
		if (!takes_old(p, what))
			return;
	}
	set_path(s, c->before.path);
}

static void invert_edit(struct planning *p, const struct undo_change *c)
{
	struct file_copy *s = &p->file->then;
	bool renamed = strcmp(c->before.path, c->after.path) != 0;

	/* Without the edit it would be gone too; under its old name it would
	   not. */
	if (!s->path) {
		if (renamed && takes_old(p, "removed since"))
			bring_back(p, &c->before);
		return;
	}
	invert_rename(p, c);
	if (!is_left(p))
		invert_content(p, c);
	if (!is_left(p))
		invert_mode(s, c);
}

static void invert(struct planning *p, const struct undo_change *c)
{
	if (c->before.path && c->after.path)
		invert_edit(p, c);
	else if (c->after.path)
		invert_create(p, c);
	else if (c->before.path)
		invert_delete(p, c);
}

/* -- One file. */

/* git's own files are written by git alone. */
static bool is_gits(const char *path)
{
	for (const char *at = path; at; at = strchr(at, '/')) {
		at += *at == '/';
		if (strncmp(at, ".git", 4) == 0 && (at[4] == '/' || !at[4]))
			return true;
	}
	return false;
}

static bool is_different(const struct file_copy *a, const struct file_copy *b)
{
	if (!a->path || !b->path)
		return a->path || b->path;
	return strcmp(a->path, b->path) != 0 || a->mode != b->mode ||
	       strcmp(a->hash, b->hash) != 0;
}

static void plan_file(struct planning *p, const struct undo_file *of)
{
	struct plan_file *f = p->file;
	int r = 0;

	f->of = of;
	if (is_gits(of->name)) {
		leave(f, format_text("it is git's own"));
		return;
	}
	if (!of->lost)
		r = files_read(p->root_fd, of->name, &f->now);
	if (r < 0) {
		leave(f,
		      format_text("%s", r == -EMEDIUMTYPE ? "it is no file now"
							  : errno_text(r)));
		return;
	}
	file_copy_dup(&f->then, &f->now);
	for (uint32_t i = of->changes.count; i > 0 && !is_left(p); i--)
		invert(p, &of->changes.at[i - 1]);
	if (!is_left(p) && is_different(&f->now, &f->then))
		f->fate = PLAN_CHANGED;
	/* Such a file could not be put back if a later step fails. */
	if (f->fate == PLAN_CHANGED && f->now.path && !f->now.text)
		leave(f, format_text("it is too large"));
}

/* -- All files together. */

static bool is_at(const struct file_copy *s, const char *path)
{
	return s->path && strcmp(s->path, path) == 0;
}

/* Does another file of the plan take this name, or leave it? */
static bool is_taken(const struct undo_plan *p, const struct plan_file *f)
{
	for (uint32_t i = 0; i < p->files.count; i++) {
		const struct plan_file *o = &p->files.at[i];

		if (o != f && o->fate == PLAN_CHANGED &&
		    is_at(&o->then, f->then.path))
			return true;
	}
	return false;
}

static bool is_left_by(const struct undo_plan *p, const char *path)
{
	for (uint32_t i = 0; i < p->files.count; i++) {
		const struct plan_file *o = &p->files.at[i];

		if (o->fate == PLAN_CHANGED && is_at(&o->now, path) &&
		    !is_at(&o->then, path))
			return true;
	}
	return false;
}

/* Its new name must be free when the plan is carried out. */
static bool check_name(const struct undo_plan *p, struct plan_file *f,
		       int root_fd)
{
	CLEANUP(file_copy_release) struct file_copy other = { .path = NULL };
	const char *to = f->then.path;
	int r;

	if (f->fate != PLAN_CHANGED || !to || is_at(&f->now, to))
		return true;
	r = files_read(root_fd, to, &other);
	if (!is_taken(p, f) && r == 0 && files_has_room(root_fd, to) &&
	    (!other.path || is_left_by(p, to)))
		return true;
	leave(f, format_text("something else has the name '%s' now", to));
	return false;
}

static int by_name(const void *a, const void *b)
{
	const struct undo_file *x = *(struct undo_file *const *)a;
	const struct undo_file *y = *(struct undo_file *const *)b;

	return strcmp(x->name, y->name);
}

static void count(struct undo_plan *p)
{
	for (uint32_t i = 0; i < p->files.count; i++) {
		p->changed += p->files.at[i].fate == PLAN_CHANGED;
		p->left += p->files.at[i].fate == PLAN_LEFT;
	}
}

void undo_plan_init(struct undo_plan *p, const struct history *h,
		    struct tape_reader *t, int root_fd,
		    enum merge_favour favour)
{
	struct planning g = { .tape = t, .root_fd = root_fd, .favour = favour };
	uint32_t n = h->files.count;
	bool settled = false;

	*p = (struct undo_plan){ .changed = 0 };
	if (n)
		qsort(h->files.at, n, sizeof(*h->files.at), by_name);
	array_reserve(&p->files, n);
	for (uint32_t i = 0; i < n; i++) {
		g.file = array_add(&p->files);
		plan_file(&g, h->files.at[i]);
	}
	/* A file that is left alone keeps the name that another one wanted. */
	while (!settled) {
		settled = true;
		for (uint32_t i = 0; i < n; i++)
			settled &= check_name(p, &p->files.at[i], root_fd);
	}
	count(p);
}
