#include "tools/cli/line.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "graph/base/cleanup.h"
#include "graph/base/clock.h"
#include "tools/cli/say.h"

#define AUTHOR_COLUMN 16
#define OP_COLUMN     8

/* Filters */

static bool matches(const char *glob, const char *path)
{
	return path && fnmatch(glob, path, FNM_LEADING_DIR) == 0;
}

static bool descends_from(const struct journal_event *e, uint32_t pid)
{
	const struct journal_author *a = e->author;

	if (e->pid == pid)
		return true;
	for (; a; a = a->parent)
		if (a->pid == pid)
			return true;
	return false;
}

bool line_passes(const struct journal_line *l, const struct line_filter *f)
{
	const struct journal_event *e = &l->event;

	if (e->op == JOURNAL_ACTOR)
		return false;
	/* Filters select operations; without a filter every line passes. */
	if (e->op == JOURNAL_SESSION)
		return !f->glob && !f->by_pid;
	if (e->op == JOURNAL_GAP)
		return true;
	if (f->glob && !matches(f->glob, e->path) &&
	    !matches(f->glob, e->path2))
		return false;
	return !f->by_pid || descends_from(e, f->pid);
}

/* For people */

/* Colours of operations; all others are dim and have one path. */
static const struct {
	enum colour colour;
	const char *arrow; /* printed between its two paths */
} looks[JOURNAL_OPS] = {
	[JOURNAL_WRITE] = { COLOUR_YELLOW, NULL },
	[JOURNAL_MMAP] = { COLOUR_YELLOW, NULL },
	[JOURNAL_TRUNCATE] = { COLOUR_YELLOW, NULL },
	[JOURNAL_FALLOCATE] = { COLOUR_YELLOW, NULL },
	[JOURNAL_COPY] = { COLOUR_YELLOW, " <- " },
	[JOURNAL_CREATE] = { COLOUR_GREEN, NULL },
	[JOURNAL_TMPFILE] = { COLOUR_GREEN, NULL },
	[JOURNAL_MKNOD] = { COLOUR_GREEN, NULL },
	[JOURNAL_MKDIR] = { COLOUR_GREEN, NULL },
	[JOURNAL_SYMLINK] = { COLOUR_GREEN, " -> " },
	[JOURNAL_LINK] = { COLOUR_GREEN, " => " },
	[JOURNAL_UNLINK] = { COLOUR_RED, NULL },
	[JOURNAL_RMDIR] = { COLOUR_RED, NULL },
	[JOURNAL_RENAME] = { COLOUR_CYAN, " -> " },
	[JOURNAL_EXCHANGE] = { COLOUR_CYAN, " <-> " },
	[JOURNAL_KEEP] = { COLOUR_DIM, " = kept/" },
};

static void print_time(FILE *out, uint64_t wall_ns)
{
	time_t seconds = (time_t)(wall_ns / NS_PER_S);
	struct tm tm;

	if (!localtime_r(&seconds, &tm))
		tm = (struct tm){ 0 };
	(void)fprintf(out, "%02d:%02d:%02d.%03d", tm.tm_hour, tm.tm_min,
		      tm.tm_sec, (int)(wall_ns % NS_PER_S / 1000000));
}

static void print_author(FILE *out, const struct journal_event *e)
{
	const struct journal_author *a = e->author;
	CLEANUP(free_p) char *name = NULL;

	/*
	 * Write-back by the kernel is attributed to the process that opened the
	 * file.
	 */
	if (!a && e->pid == 0)
		name = format_text("kernel");
	else
		name = format_text("%s[%" PRIu32 "]",
				   a && *a->comm ? a->comm : "?",
				   a ? a->pid : e->pid);
	print_padded(out, name, AUTHOR_COLUMN);
}

static void print_paths(FILE *out, const struct journal_event *e)
{
	/* The root itself has an empty relative path. */
	(void)print_safe(out, e->path && *e->path ? e->path : ".");
	if (!e->path2)
		return;
	(void)fputs(looks[e->op].arrow ? looks[e->op].arrow : " ", out);
	(void)print_safe(out, e->path2);
}

static void print_range(FILE *out, const struct journal_event *e)
{
	if (e->op == JOURNAL_TRUNCATE && e->len >= 0)
		(void)fprintf(out, " to %" PRId64, e->len);
	else if (e->op == JOURNAL_KEEP)
		(void)fprintf(out, ", %" PRId64 " bytes of line %" PRId64,
			      e->len, e->off);
	else if (e->off >= 0 && e->len >= 0)
		(void)fprintf(out, " %" PRId64 "+%" PRId64, e->off, e->len);
}

/* Print the result, if it is an error or a short write. */
static void print_result(FILE *out, const struct journal_event *e, bool colours)
{
	bool counts = e->op == JOURNAL_WRITE || e->op == JOURNAL_COPY;

	if (e->res < 0)
		(void)fprintf(out, " %s%s%s", colour_text(colours, COLOUR_RED),
			      errno_text((int)e->res),
			      colour_text(colours, COLOUR_NONE));
	else if (counts && e->len >= 0 && e->res != e->len)
		(void)fprintf(out, ", %" PRId64 " done", e->res);
}

static void print_event(FILE *out, const struct journal_event *e, bool colours)
{
	enum colour c = looks[e->op].colour;
	const char *name = journal_op_name(e->op);

	print_author(out, e);
	(void)fprintf(out, " %s%-*s%s ",
		      colour_text(colours, c == COLOUR_NONE ? COLOUR_DIM : c),
		      OP_COLUMN, name ? name : "?",
		      colour_text(colours, COLOUR_NONE));
	print_paths(out, e);
	print_range(out, e);
	if (e->detail && *e->detail) {
		(void)fputs(" (", out);
		(void)print_safe(out, e->detail);
		(void)fputc(')', out);
	}
	print_result(out, e, colours);
	(void)fputc('\n', out);
}

static void print_session(FILE *out, const struct journal_event *e,
			  bool colours)
{
	(void)fprintf(out, "%smounted ", colour_text(colours, COLOUR_BOLD));
	(void)print_safe(out, e->path ? e->path : "?");
	(void)fprintf(out, "%s\n", colour_text(colours, COLOUR_NONE));
}

void line_print(FILE *out, const struct journal_line *l, bool colours)
{
	const struct journal_event *e = &l->event;

	if (e->op == JOURNAL_GAP) {
		line_print_gone(out, (uint64_t)e->off,
				(uint64_t)(e->off + e->len - 1), colours);
		return;
	}
	(void)fprintf(out, "%5" PRIu64 " %s", l->n,
		      colour_text(colours, COLOUR_DIM));
	print_time(out, l->wall_ns);
	(void)fprintf(out, "%s ", colour_text(colours, COLOUR_NONE));
	if (e->op == JOURNAL_SESSION)
		print_session(out, e, colours);
	else
		print_event(out, e, colours);
}

int line_day(const struct journal_line *l, char *text, size_t size)
{
	time_t seconds = (time_t)(l->wall_ns / NS_PER_S);
	struct tm tm;

	if (!localtime_r(&seconds, &tm) ||
	    strftime(text, size, "%Y-%m-%d", &tm) == 0)
		return -1;
	return tm.tm_year * 366 + tm.tm_yday;
}

void line_print_gone(FILE *out, uint64_t first, uint64_t last, bool colours)
{
	const char *on = colour_text(colours, COLOUR_RED);
	const char *off = colour_text(colours, COLOUR_NONE);

	if (first == last)
		(void)fprintf(out, "%s1 line, %" PRIu64 ", was not kept%s\n",
			      on, first, off);
	else
		(void)fprintf(out,
			      "%s%" PRIu64 " lines, %" PRIu64 "-%" PRIu64
			      ", were not kept%s\n",
			      on, last - first + 1, first, last, off);
}

/* For programs */

static void put_number(FILE *out, const char *name, int64_t n)
{
	(void)fprintf(out, ",\"%s\":%" PRId64, name, n);
}

static void put_text(FILE *out, const char *name, const char *text)
{
	if (!text)
		return;
	(void)fprintf(out, ",\"%s\":", name);
	print_json_string(out, text);
}

static void put_path(FILE *out, const char *name, const char *path)
{
	put_text(out, name, path);
	if (path && !is_utf8(path))
		(void)fprintf(out, ",\"%s_escaped\":true", name);
}

static void put_ancestors(FILE *out, const struct journal_author *a)
{
	(void)fputs(",\"ancestors\":[", out);
	for (; a; a = a->parent) {
		(void)fprintf(out, "{\"pid\":%" PRIu32, a->pid);
		put_text(out, "comm", a->comm);
		put_text(out, "cmdline", a->cmdline);
		(void)fputs(a->parent ? "}," : "}", out);
	}
	(void)fputc(']', out);
}

static void put_author(FILE *out, const struct journal_author *a)
{
	(void)fprintf(out, ",\"author\":{\"pid\":%" PRIu32, a->pid);
	put_number(out, "uid", a->uid);
	(void)fprintf(out, ",\"start\":%" PRIu64, a->start);
	put_text(out, "comm", a->comm);
	put_text(out, "cmdline", a->cmdline);
	put_text(out, "exe", a->exe);
	put_ancestors(out, a->parent);
	(void)fputc('}', out);
}

static void put_event(FILE *out, const struct journal_event *e)
{
	const char *error = e->res < 0 ? strerrorname_np((int)-e->res) : NULL;

	put_path(out, "path", e->path);
	put_path(out, "path2", e->path2);
	put_text(out, "detail", e->detail);
	(void)fprintf(out, ",\"ino\":%" PRIu64, e->ino);
	if (e->off >= 0)
		put_number(out, "off", e->off);
	if (e->len >= 0)
		put_number(out, "len", e->len);
	put_number(out, "res", e->res);
	put_text(out, "error", error);
	put_number(out, "uid", e->uid);
	put_number(out, "pid", e->pid);
	put_number(out, "tid", e->tid);
	if (e->author)
		put_author(out, e->author);
}

void line_print_json(FILE *out, const struct journal_line *l)
{
	const struct journal_event *e = &l->event;
	const char *name = journal_op_name(e->op);

	if (e->op == JOURNAL_GAP) {
		line_print_gone_json(out, (uint64_t)e->off,
				     (uint64_t)(e->off + e->len - 1));
		return;
	}
	(void)fprintf(out,
		      "{\"n\":%" PRIu64 ",\"time\":\"%" PRIu64 ".%09" PRIu64
		      "\",\"mono_ns\":%" PRIu64 ",\"op\":\"%s\"",
		      l->n, l->wall_ns / NS_PER_S, l->wall_ns % NS_PER_S,
		      l->mono_ns, name ? name : "unknown");
	if (e->op == JOURNAL_SESSION) {
		put_path(out, "path", e->path);
		put_text(out, "detail", e->detail);
	} else {
		put_event(out, e);
	}
	(void)fputs("}\n", out);
}

void line_print_gone_json(FILE *out, uint64_t first, uint64_t last)
{
	(void)fprintf(out,
		      "{\"gone\":{\"first\":%" PRIu64 ",\"last\":%" PRIu64
		      "}}\n",
		      first, last);
}
