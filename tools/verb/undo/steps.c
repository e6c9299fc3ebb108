/*
 * Whether a step was done is seen from the files, given that all phases before
 * the last one that began are complete:
 *
 *	MODE	it has the new mode, and the content of the plan
 *	PUT	the new name has the new content
 *	MOVE	nothing is where it waited, and the new name has its content
 *	ASIDE	something is where it waits
 *	REMOVE	nothing has its name
 */
#include "tools/verb/undo/steps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "tools/cli/say.h"
#include "tools/verb/undo/plan.h"

static bool is_moved(const struct intent_file *f)
{
	return f->from && f->to && strcmp(f->from, f->to) != 0;
}

static bool is_chmod(const struct intent_file *f)
{
	return f->from && f->to && !f->temp && f->from_mode != f->to_mode;
}

static const char *source_of(const struct intent_file *f)
{
	return f->via ? f->via : f->from;
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* -- Forwards. */

static int stage(const struct intent_file *f, int root,
		 const struct undo_plan *p)
{
	return f->temp ? files_stage(root, &p->files.at[f->index].then,
				     last_part(f->temp))
		       : 0;
}

static int run_one(const struct intent_file *f, enum intent_phase phase,
		   int root, const struct undo_plan *p)
{
	switch (phase) {
	case PHASE_STAGE:
		return stage(f, root, p);
	case PHASE_REMOVE:
		return f->to ? 0 : files_remove(root, f->from);
	case PHASE_ASIDE:
		return f->via ? files_rename(root, f->from, f->via, false) : 0;
	case PHASE_MOVE:
		return is_moved(f)
			       ? files_rename(root, source_of(f), f->to, false)
			       : 0;
	case PHASE_PUT:
		return f->temp ? files_rename(root, f->temp, f->to,
					      f->from != NULL)
			       : 0;
	case PHASE_MODE:
	case PHASES:
		break;
	}
	return is_chmod(f) ? files_chmod(root, f->to, f->to_mode) : 0;
}

int steps_run(const struct intent *x, enum intent_phase phase, int root_fd,
	      const struct undo_plan *p, const struct intent_file **ret_failed)
{
	for (uint32_t i = 0; i < x->files.count; i++) {
		int r = run_one(&x->files.at[i], phase, root_fd, p);

		if (r < 0) {
			*ret_failed = &x->files.at[i];
			return r;
		}
	}
	return 0;
}

void steps_tidy(const struct intent *x, int root_fd)
{
	for (uint32_t i = 0; i < x->files.count; i++) {
		const struct intent_file *f = &x->files.at[i];

		if (f->from && (!f->to || is_moved(f)))
			files_tidy(root_fd, f->from);
	}
}

/* -- Backwards. */

static void say_left(const struct intent_file *f, const char *at, int r)
{
	if (r == 0)
		(void)say_error("'%s' was changed meanwhile and is left as it "
				"is",
				at);
	else
		(void)say_error("'%s' could not be put back: %s; it is '%s'",
				f->from, errno_text(r), at);
}

static bool is_there(int root, const char *path)
{
	CLEANUP(file_copy_release) struct file_copy c = { .path = NULL };

	return files_read(root, path, &c) < 0 || c.path;
}

static bool has(const struct file_copy *c, const char *hash, uint32_t mode)
{
	return c->path && strcmp(c->hash, hash) == 0 &&
	       (!mode || S_ISLNK(c->mode) == S_ISLNK(mode));
}

static void mode_back(const struct intent_file *f, int root)
{
	CLEANUP(file_copy_release) struct file_copy c = { .path = NULL };

	if (is_chmod(f) && files_read(root, f->to, &c) == 0 &&
	    has(&c, f->to_hash, f->to_mode) &&
	    (c.mode & 07777) == (f->to_mode & 07777))
		(void)files_chmod(root, f->to, f->from_mode);
}

/* The content before, directly under this name, or over what is there. */
static int write_back(const struct intent_file *f, int root, const char *path,
		      bool over)
{
	CLEANUP(free_p)
	char *name = format_text(".%.200s.statetape-back", last_part(path));
	CLEANUP(free_p) char *temp = files_beside(path, name);
	CLEANUP(file_copy_release)
	struct file_copy was = { .path = must_strdup(path),
				 .mode = f->from_mode };
	int r = f->text ? 0 : -ENOENT;

	(void)files_remove(root, temp);
	if (f->text)
		file_copy_set(&was, f->text, f->len);
	if (r == 0)
		r = files_stage(root, &was, name);
	if (r == 0)
		r = files_rename(root, temp, path, over);
	if (r < 0)
		(void)files_remove(root, temp);
	return r;
}

static void put_back(const struct intent_file *f, int root)
{
	CLEANUP(file_copy_release) struct file_copy c = { .path = NULL };
	int r = f->temp ? files_read(root, f->to, &c) : 0;

	if (!f->temp || (!f->from && !c.path && r == 0) ||
	    (f->from && has(&c, f->from_hash, f->from_mode)))
		return;
	if (!has(&c, f->to_hash, f->to_mode))
		say_left(f, f->to, 0);
	else if (!f->from)
		(void)files_remove(root, f->to);
	else if ((r = write_back(f, root, f->to, true)) < 0)
		say_left(f, f->to, r);
}

static void move_back(const struct intent_file *f, int root)
{
	CLEANUP(file_copy_release) struct file_copy c = { .path = NULL };
	int r;

	if (!is_moved(f) || is_there(root, source_of(f)))
		return;
	if (files_read(root, f->to, &c) < 0 ||
	    !has(&c, f->from_hash, f->from_mode)) {
		say_left(f, f->to, 0);
		return;
	}
	r = files_rename(root, f->to, source_of(f), false);
	if (r < 0)
		say_left(f, f->to, r);
}

static void aside_back(const struct intent_file *f, int root)
{
	int r, to;

	if (!f->via || !is_there(root, f->via))
		return;
	r = files_rename(root, f->via, f->from, false);
	if (r == 0)
		return;
	/* Somebody took its name. */
	to = files_rename(root, f->via, f->to, false);
	say_left(f, to == 0 ? f->to : f->via, r);
}

static void remove_back(const struct intent_file *f, int root)
{
	int r;

	if (f->to || is_there(root, f->from))
		return;
	r = write_back(f, root, f->from, false);
	if (r < 0)
		(void)say_error("'%s' could not be put back: %s", f->from,
				errno_text(r));
}

static void stage_back(const struct intent_file *f, int root)
{
	if (!f->temp)
		return;
	(void)files_remove(root, f->temp);
	if (!f->from)
		files_tidy(root, f->temp);
}

void steps_back(const struct intent *x, int root_fd)
{
	static void (*const back[PHASES])(const struct intent_file *f,
					  int root) = {
		[PHASE_STAGE] = stage_back, [PHASE_REMOVE] = remove_back,
		[PHASE_ASIDE] = aside_back, [PHASE_MOVE] = move_back,
		[PHASE_PUT] = put_back,	    [PHASE_MODE] = mode_back,
	};

	for (int phase = (int)x->phase; phase >= 0; phase--)
		for (uint32_t i = x->files.count; i > 0; i--)
			back[phase](&x->files.at[i - 1], root_fd);
}
