#include "manager/record/records.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

#include "manager/record/record_parts.h"
#include "manager/record/shell.h"

#define CLIENT_LINES_MAX 2000 /* clients cut a read without a limit there */
#define FILE_TEXT_MIN	 64   /* a shorter answer shows no file */

static bool holds(struct text t, size_t within, const char *what)
{
	size_t n = strlen(what), i;

	within = within < t.len ? within : t.len;
	for (i = 0; i + n <= within; i++) {
		if (strncasecmp(t.at + i, what, n) == 0)
			return true;
	}
	return false;
}

static bool begins(struct text t, const char *what)
{
	return t.len >= strlen(what) && memcmp(t.at, what, strlen(what)) == 0;
}

/* Clients answer a second read of an unchanged file by such a reference. */
static bool is_stub(struct text t)
{
	return t.len < 2000 &&
	       (holds(t, 600, "unchanged since last read") ||
		holds(t, 600, "unchanged since your last read") ||
		holds(t, 600, "wasted call") ||
		holds(t, 600, "already in your context"));
}

/* Is it an error that the client does not mark as one? */
static bool is_complaint(struct text t)
{
	static const char *const words[] = {
		"File not found",   "File does not exist",
		"<tool_use_error>", "Error:",
		"Could not find",   "apply_patch verification failed",
		"File content (",   "Error executing",
	};
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if (begins(t, words[i]))
			return true;
	}
	return t.len < 1000 && holds(t, t.len, ": No such file or directory");
}

static bool is_cut(struct text t)
{
	return memmem(t.at, t.len, "(line truncated to", 18) ||
	       memmem(t.at, t.len, "[truncated]", 11) ||
	       memmem(t.at, t.len, "... [", 5) ||
	       memmem(t.at, t.len, "tokens truncated", 16);
}

static const char *join(const char *dir, const char *path, struct arena *a)
{
	if (!dir || path[0] == '/')
		return path;
	return shell_path(dir, path, strlen(path), a);
}

static void add_paths(struct record *r, const struct tool_call *c, bool wrote,
		      struct arena *a)
{
	struct record_file *files;
	uint32_t i;

	files = arena_take(a, c->paths_count * sizeof(*files));
	for (i = 0; i < c->paths_count; i++)
		files[i] = (struct record_file){
			.path = join(c->dir, c->paths[i], a),
			.start = wrote ? 0 : c->start,
			.end = wrote ? 0 : c->end,
			.wrote = wrote,
		};
	r->files = files;
	r->files_count = c->paths_count;
	r->path = c->paths_count > 0 ? files[0].path : NULL;
	r->start = wrote ? 0 : c->start;
	r->end = wrote ? 0 : c->end;
}

/* The lines are not exactly the file's: nothing to compare with it. */
static void set_inexact(struct record *r)
{
	r->shape.exact = false;
	r->content = (struct text){ "", 0 };
}

/*
 * Some tools show a file's final newline as one more, empty line. If the call
 * requested a number of lines and got them, the last one may be any line.
 */
static void find_newline(struct record *r, const struct tool_call *c)
{
	struct shape *s = &r->shape;
	size_t len = r->content.len;
	bool tabbed = strcmp(s->separator, ": ") != 0 &&
		      strcmp(s->separator, "| ") != 0;

	if (!tabbed || s->lines < 2 || len < 2 ||
	    r->content.at[len - 1] != '\n' || r->content.at[len - 2] != '\n' ||
	    (c->limit > 0 && s->lines >= c->limit) ||
	    (c->end > 0 && s->first + s->lines > c->end))
		return;
	s->newline = true;
	s->whole = true;
	s->lines--;
	r->content.len--;
	assert(s->lines > 0 && r->content.len >= s->lines);
}

static void set_span(struct record *r)
{
	if (r->shape.lines == 0)
		return;
	r->start = r->shape.first;
	r->end = r->shape.first ? r->shape.first + r->shape.lines - 1 : 0;
}

static void read_record(struct record *r, const struct tool_call *c,
			struct arena *a)
{
	struct peeled p;

	r->kind = RECORD_READ;
	add_paths(r, c, false, a);
	shape_peel(r->text, &p);
	if (p.directory) {
		r->kind = RECORD_SEARCH;
		return;
	}
	if (r->failed || is_complaint(r->text)) {
		r->failed = true;
		return;
	}
	if (shape_numbered(r->text, &p, a, r)) {
		r->shape.whole = p.whole ||
				 (!p.cut && c->end == 0 &&
				  r->shape.lines < CLIENT_LINES_MAX &&
				  !holds(r->shape.tail, 200, "(Showing lines"));
		find_newline(r, c);
	} else if (is_stub(r->text)) {
		r->kind = RECORD_STUB;
		return;
	} else if (!begins(r->text, "[{") && c->paths_count <= 1) {
		shape_raw(r->text, &p, a, r);
		r->shape.first = p.first ? p.first : c->start ? c->start : 1;
		r->shape.whole = !p.cut && c->end == 0;
	}
	set_span(r);
	if (c->paths_count > 1 || is_cut(r->content))
		set_inexact(r);
}

static void edit_record(struct record *r, const struct tool_call *c,
			struct arena *a)
{
	struct peeled p;

	r->kind = RECORD_EDIT;
	add_paths(r, c, true, a);
	shape_peel(r->text, &p);
	r->failed = r->failed || p.failed || is_complaint(r->text);
	if (r->failed || c->paths_count != 1)
		return;
	if (p.first > 0) {
		shape_raw(r->text, &p, a, r);
		r->shape.first = p.first;
	} else if (shape_find(r->text, &p)) {
		(void)shape_numbered(r->text, &p, a, r);
	}
	set_span(r);
}

/* The output of a command that prints lines of a file. */
static void print_record(struct record *r, const struct shell_meaning *m,
			 const struct peeled *p, struct arena *a)
{
	const struct shell_file *f = &m->files[0];
	struct peeled rest = *p;

	assert(m->act == SHELL_PRINT && m->files_count > 0);
	r->path = f->path;
	r->start = f->start;
	r->end = f->end;
	if (r->failed || p->end <= p->start ||
	    begins(r->text, "(Bash completed with no output)") ||
	    begins(r->text, "(no output)"))
		return;
	if (*m->number) {
		if (!shape_numbered(r->text, &rest, a, r))
			return;
		r->shape.whole = f->end == 0;
	} else {
		shape_raw(r->text, p, a, r);
		r->shape.first = f->start;
		r->shape.whole = f->end == 0;
	}
	if (!m->exact || p->cut ||
	    (f->end > 0 && f->start > 0 &&
	     r->shape.lines > f->end - f->start + 1))
		set_inexact(r);
	else
		set_span(r);
	if (f->end == 0 && f->start > 0)
		r->end = r->shape.exact ? r->end : 0;
}

static enum record_kind kind_of(enum shell_act act)
{
	switch (act) {
	case SHELL_PRINT:
		return RECORD_READ;
	case SHELL_SEARCH:
		return RECORD_SEARCH;
	case SHELL_RUN:
		return RECORD_RUN;
	case SHELL_WRITE:
		return RECORD_EDIT;
	case SHELL_SILENT:
	case SHELL_OTHER:
		return RECORD_OTHER;
	case SHELL_UNKNOWN:
		break;
	}
	return RECORD_SHELL;
}

static void add_files(struct record *r, const struct shell_meaning *m,
		      struct arena *a)
{
	struct record_file *files;
	uint32_t i;

	files = arena_take(a, m->files_count * sizeof(*files));
	for (i = 0; i < m->files_count; i++)
		files[i] = (struct record_file){ m->files[i].path,
						 m->files[i].start,
						 m->files[i].end,
						 m->files[i].wrote };
	r->files = files;
	r->files_count = m->files_count;
	if (r->files_count > 0)
		r->path = files[0].path;
}

/* A command's output without the newlines around it. */
static struct text output_of(struct text text, const struct peeled *p)
{
	struct text t = { text.at + p->start, p->end - p->start };

	if (p->end <= p->start ||
	    begins(t, "(Bash completed with no output)") ||
	    begins(t, "(no output)"))
		return (struct text){ "", 0 };
	while (t.len && t.at[t.len - 1] == '\n')
		t.len--;
	while (t.len && t.at[0] == '\n') {
		t.at++;
		t.len--;
	}
	return t;
}

static void shell_record(struct record *r, const struct tool_call *c,
			 bool script, struct arena *a)
{
	struct shell_meaning m = { .act = SHELL_UNKNOWN };
	struct peeled p;

	r->kind = RECORD_SHELL;
	r->dir = c->dir;
	shape_peel(r->text, &p);
	r->output = output_of(r->text, &p);
	r->failed = r->failed || p.failed;
	/* If a script computes its commands, its source stands for them. */
	if (c->command.len == 0) {
		if (script && c->words.len)
			r->command = arena_copy(a, c->words.at, c->words.len);
		return;
	}
	r->command = arena_copy(a, c->command.at, c->command.len);
	if (shell_understand(c->command.at, c->command.len, c->dir, a, &m) < 0)
		return;
	if (script && !c->plain)
		m.exact = false;
	r->kind = kind_of(m.act);
	if (r->kind == RECORD_SEARCH || r->kind == RECORD_OTHER)
		return;
	add_files(r, &m, a);
	if (r->kind != RECORD_READ)
		return;
	/* A failed command may have printed more than the file's lines. */
	m.exact = m.exact && !r->failed;
	r->failed = is_complaint(
		(struct text){ r->text.at + p.start, r->text.len - p.start });
	print_record(r, &m, &p, a);
}

/*
 * A tool outside our vocabularies. If the call names a file and the answer is
 * more than a few words, it is a read of that file; if it names none, the tape
 * knows what the tool's processes opened.
 */
static void other_record(struct record *r, const struct tool_call *c,
			 struct arena *a)
{
	struct tool_call whole = *c;

	if (!c->paths_count) {
		r->kind = RECORD_SHELL;
		r->output = r->text;
	} else if (r->text.len >= FILE_TEXT_MIN) {
		r->kind = RECORD_READ;
		whole.start = whole.end = 0;
		add_paths(r, &whole, false, a);
	}
}

static void make(struct record *r, const struct item *call, struct arena *a)
{
	struct tool_call c;

	tool_call(call->name, call->arguments, a, &c);
	switch (c.class) {
	case TOOL_READ:
		read_record(r, &c, a);
		break;
	case TOOL_EDIT:
	case TOOL_EDITOR:
		edit_record(r, &c, a);
		break;
	case TOOL_SHELL:
	case TOOL_SCRIPT:
		shell_record(r, &c, tool_class(call->name) == TOOL_SCRIPT, a);
		break;
	case TOOL_SEARCH:
		r->kind = RECORD_SEARCH;
		break;
	case TOOL_OTHER:
		other_record(r, &c, a);
		break;
	case TOOL_NOTHING:
		break;
	}
}

static bool is_held(const struct item *i)
{
	return i->kind == ITEM_RESULT || i->attached.at;
}

void records_init(struct records *ret, const struct transcript *t)
{
	uint32_t i, n = 0;

	*ret = (struct records){ .t = t };
	for (i = 0; i < t->items_count; i++)
		n += is_held(&t->items[i]);
	ret->at = arena_take(&ret->arena, n * sizeof(*ret->at));
	for (i = 0; i < t->items_count; i++) {
		const struct item *item = &t->items[i];
		struct record *r = &ret->at[ret->count];

		if (!is_held(item))
			continue;
		*r = (struct record){ .item = i, .kind = RECORD_OTHER };
		r->tool = "";
		r->failed = item->error;
		r->shape.number = r->shape.separator = "";
		r->shape.head = r->shape.tail = (struct text){ "", 0 };
		r->text = r->content = r->output = (struct text){ "", 0 };
		r->attached = item->kind != ITEM_RESULT;
		ret->count++;
	}
	assert(ret->count == n);
}

const struct record *records_read(struct records *r, uint32_t i)
{
	struct record *x = &r->at[i];
	/* An attached file is its own call. */
	uint32_t call = x->attached ? x->item : r->t->items[x->item].other;
	const struct item *item;

	assert(i < r->count);
	if (x->read)
		return x;
	x->read = true;
	item = &r->t->items[x->item];
	x->text = x->attached ? item->attached
			      : transcript_text(r->t, item, &r->arena);
	if (call == ITEM_NONE)
		return x;
	item = &r->t->items[call];
	x->tool = arena_copy(&r->arena, item->name.at, item->name.len);
	make(x, item, &r->arena);
	return x;
}

void records_release(struct records *r)
{
	arena_release(&r->arena);
	*r = (struct records){ 0 };
}
