#include "tools/verb/undo/show.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "tools/cli/say.h"
#include "tools/cli/where.h"
#include "tools/verb/undo/history.h"
#include "tools/verb/undo/plan.h"

/* -- The diff. */

struct showing {
	const struct plan_file *f;
	char *before, *after; /* its names, shown; NULL: there is none */
	struct unified_style style;
};

static void showing_release(struct showing *s)
{
	free(s->before);
	free(s->after);
}

static void print_line(const struct showing *s, const char *what,
		       const char *rest)
{
	(void)printf("%s%s", colour_text(s->style.colours, COLOUR_BOLD), what);
	(void)print_safe(stdout, rest);
	(void)printf("%s\n", colour_text(s->style.colours, COLOUR_NONE));
}

/* As git writes it; a mode that is not known becomes that of a new file. */
static void print_mode(const struct showing *s, const char *what, uint32_t mode)
{
	CLEANUP(free_p)
	char *digits = format_text("%06o", S_ISLNK(mode) ? S_IFLNK
					   : mode	 ? mode
							 : S_IFREG | 0644);

	print_line(s, what, digits);
}

static void print_head(const struct showing *s)
{
	const struct file_copy *now = &s->f->now, *then = &s->f->then;
	CLEANUP(free_p)
	char *names = format_text("a/%s b/%s", s->before ? s->before : s->after,
				  s->after ? s->after : s->before);

	print_line(s, "diff --git ", names);
	if (!now->path) {
		print_mode(s, "new file mode ", then->mode);
	} else if (!then->path) {
		print_mode(s, "deleted file mode ", now->mode);
	} else if (now->mode != then->mode) {
		print_mode(s, "old mode ", now->mode);
		print_mode(s, "new mode ", then->mode);
	}
	if (now->path && then->path && strcmp(now->path, then->path) != 0) {
		print_line(s, "rename from ", s->before);
		print_line(s, "rename to ", s->after);
	}
}

static struct unified_side side_of(const struct file_copy *f, const char *name)
{
	if (!f->path)
		return (struct unified_side){ .text = "" };
	return (struct unified_side){ name, f->text, f->len };
}

static bool is_text(const struct file_copy *f)
{
	return !f->path || (f->text && !memchr(f->text, '\0', f->len));
}

static void print_file(const struct showing *s)
{
	const struct file_copy *now = &s->f->now, *then = &s->f->then;
	struct unified_side before = side_of(now, s->before);
	struct unified_side after = side_of(then, s->after);

	print_head(s);
	if (now->path && then->path && strcmp(now->hash, then->hash) == 0)
		return;
	if (is_text(now) && is_text(then))
		unified_print(stdout, &before, &after, s->style);
	else
		(void)puts("Binary files differ");
}

static char *shown(const struct where *w, const struct file_copy *f)
{
	return f->path ? where_shown(w, f->path) : NULL;
}

void show_diff(const struct undo_plan *p, const struct where *w,
	       struct unified_style style)
{
	for (uint32_t i = 0; i < p->files.count; i++) {
		const struct plan_file *f = &p->files.at[i];
		CLEANUP(showing_release)
		struct showing s = { .f = f, .style = style };

		if (f->fate != PLAN_CHANGED)
			continue;
		s.before = shown(w, &f->now);
		s.after = shown(w, &f->then);
		print_file(&s);
	}
}

/* -- What was done. */

static void print_done(const char *before, const char *after)
{
	const char *verb = !before			? "brought back "
			   : !after			? "removed "
			   : strcmp(before, after) != 0 ? "renamed "
							: "changed ";

	(void)fputs(verb, stdout);
	(void)print_safe(stdout, before ? before : after);
	if (before && after && strcmp(before, after) != 0) {
		(void)fputs(" -> ", stdout);
		(void)print_safe(stdout, after);
	}
	(void)putchar('\n');
}

void show_done(const struct undo_plan *p, const struct where *w)
{
	for (uint32_t i = 0; i < p->files.count; i++) {
		const struct plan_file *f = &p->files.at[i];
		CLEANUP(free_p) char *before = NULL;
		CLEANUP(free_p) char *after = NULL;

		if (f->fate != PLAN_CHANGED)
			continue;
		before = shown(w, &f->now);
		after = shown(w, &f->then);
		print_done(before, after);
	}
}

void show_left(const struct undo_plan *p, const struct history *h,
	       const struct where *w)
{
	for (uint32_t i = 0; i < p->files.count; i++) {
		const struct plan_file *f = &p->files.at[i];
		CLEANUP(free_p) char *name = NULL;

		if (f->fate != PLAN_LEFT)
			continue;
		name = where_shown(w, f->of->name);
		(void)say_error("'%s' is left as it is: %s", name, f->why);
	}
	for (uint32_t i = 0; i < h->remarks.count; i++)
		(void)say_error("%s", h->remarks.at[i]);
}
