#include "tests/prop/graph/edits.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/alloc.h"

/* A text split into lines, each with its newline. */
struct lines {
	ARRAY(char *) at;
};

static char *copy(const char *text, size_t len)
{
	char *to = must_alloc(len + 1);

	memcpy(to, text, len);
	to[len] = '\0';
	return to;
}

static void lines_init(struct lines *l, const char *text)
{
	*l = (struct lines){ .at = { .count = 0 } };
	while (*text) {
		size_t n = strcspn(text, "\n") + (strchr(text, '\n') != NULL);

		array_push(&l->at, copy(text, n));
		text += n;
	}
}

static char *lines_join(const struct lines *l)
{
	size_t len = 0;
	char *text, *to;

	for (uint32_t k = 0; k < l->at.count; k++)
		len += strlen(l->at.at[k]);
	text = to = must_alloc(len + 1);
	for (uint32_t k = 0; k < l->at.count; k++)
		to = stpcpy(to, l->at.at[k]);
	*to = '\0';
	return text;
}

static void lines_release(struct lines *l)
{
	for (uint32_t k = 0; k < l->at.count; k++)
		free(l->at.at[k]);
	array_release(&l->at);
}

static void lines_insert(struct lines *l, uint32_t at, char *line)
{
	array_push(&l->at, NULL);
	memmove(l->at.at + at + 1, l->at.at + at,
		(l->at.count - 1 - at) * sizeof(*l->at.at));
	l->at.at[at] = line;
}

static char *lines_take(struct lines *l, uint32_t at)
{
	char *line = l->at.at[at];

	memmove(l->at.at + at, l->at.at + at + 1,
		(--l->at.count - at) * sizeof(*l->at.at));
	return line;
}

static uint32_t roll(struct editor *e, uint32_t n)
{
	return (uint32_t)dice_below(e->dice, n);
}

static uint32_t any_line(struct editor *e, const struct lines *l)
{
	return roll(e, l->at.count);
}

static size_t indent_of(const char *line)
{
	return strspn(line, " \t");
}

static bool is_blank(const char *line)
{
	return line[strspn(line, " \t\n")] == '\0';
}

static const struct world_file *any_file(struct editor *e)
{
	return &e->world->files.at[roll(e, e->world->files.count)];
}

static bool begins(const char *line, const char *word)
{
	line += indent_of(line);
	return strncmp(line, word, strlen(word)) == 0;
}

/* A random line that begins with one of two words; NONE: there is none. */
#define NONE UINT32_MAX
static uint32_t find_line(struct editor *e, const struct lines *l,
			  const char *word, const char *other)
{
	uint32_t at = any_line(e, l);

	for (uint32_t k = 0; k < l->at.count; k++, at++) {
		at %= l->at.count;
		if (begins(l->at.at[at], word) || begins(l->at.at[at], other))
			return at;
	}
	return NONE;
}

/* The lines of a definition: from its first to the last indented deeper. */
static uint32_t block_end(const struct lines *l, uint32_t from)
{
	size_t indent = indent_of(l->at.at[from]);
	uint32_t to = from + 1;

	while (to < l->at.count &&
	       (is_blank(l->at.at[to]) || indent_of(l->at.at[to]) > indent))
		to++;
	return to;
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* A random identifier of the text; returns its length, 0: none. */
static size_t any_word(struct editor *e, const char *text, const char **ret)
{
	size_t len = strlen(text), n = 0;
	const char *at;

	if (!len)
		return 0;
	at = text + dice_below(e->dice, len);
	while (at > text && is_word(at[-1]))
		at--;
	while (*at && !is_word(*at))
		at++;
	while (is_word(at[n]))
		n++;
	*ret = at;
	return n;
}

/* Another identifier, of any file, or an expression. */
static char *other_word(struct editor *e)
{
	const char *word = "x0";
	size_t n;

	if (roll(e, 6) == 0)
		return made_expression(e->dice);
	n = any_word(e, any_file(e)->text, &word);
	return n ? copy(word, n) : copy("x0", 2);
}

static char *replaced(const char *text, const char *at, size_t n,
		      const char *by)
{
	size_t before = (size_t)(at - text), m = strlen(by);
	char *to = must_alloc(strlen(text) - n + m + 1);

	memcpy(to, text, before);
	/* NOLINTNEXTLINE(bugprone-not-null-terminated-result): more follows */
	memcpy(to + before, by, m);
	memcpy(to + before + m, at + n, strlen(at + n) + 1);
	return to;
}

static void put_line(struct lines *l, uint32_t at, char *line)
{
	free(l->at.at[at]);
	l->at.at[at] = line;
}

/* Edits of one text; false: the text has nothing to edit in that way. */

static bool edit_token(struct editor *e, struct lines *l)
{
	uint32_t at = any_line(e, l);
	const char *word;
	size_t n = any_word(e, l->at.at[at], &word);
	char *by;

	if (!n)
		return false;
	by = other_word(e);
	put_line(l, at, replaced(l->at.at[at], word, n, by));
	free(by);
	return true;
}

static bool edit_delete(struct editor *e, struct lines *l)
{
	for (uint32_t n = 1 + roll(e, 3); n && l->at.count > 1; n--)
		free(lines_take(l, any_line(e, l)));
	return true;
}

static bool edit_duplicate(struct editor *e, struct lines *l)
{
	uint32_t from = any_line(e, l), to = any_line(e, l);
	const char *line = l->at.at[from];

	lines_insert(l, to, copy(line, strlen(line)));
	return true;
}

static bool edit_move(struct editor *e, struct lines *l)
{
	char *line = lines_take(l, any_line(e, l));

	lines_insert(l, roll(e, l->at.count + 1), line);
	return true;
}

static bool edit_swap(struct editor *e, struct lines *l)
{
	uint32_t a = any_line(e, l), b = any_line(e, l);
	char *line = l->at.at[a];

	l->at.at[a] = l->at.at[b];
	l->at.at[b] = line;
	return a != b;
}

/* Move a definition before another one, or to the end. */
static bool edit_move_block(struct editor *e, struct lines *l)
{
	uint32_t from = find_line(e, l, "def ", "class "), to, n, place;
	struct lines taken = { .at = { .count = 0 } };

	if (from == NONE)
		return false;
	if (from && begins(l->at.at[from - 1], "@"))
		from--;
	to = block_end(l, from + begins(l->at.at[from], "@"));
	for (n = to - from; n; n--)
		array_push(&taken.at, lines_take(l, from));
	place = l->at.count ? find_line(e, l, "def ", "class ") : NONE;
	if (place == NONE || roll(e, 4) == 0)
		place = l->at.count;
	if (roll(e, 6))
		while (taken.at.count)
			lines_insert(l, place, taken.at.at[--taken.at.count]);
	lines_release(&taken);
	return true;
}

/* Copy a definition, perhaps from another file. */
static bool edit_copy_block(struct editor *e, struct lines *l)
{
	struct lines from;
	uint32_t first, to;

	lines_init(&from, any_file(e)->text);
	first = from.at.count ? find_line(e, &from, "def ", "class ") : NONE;
	if (first != NONE) {
		to = block_end(&from, first);
		for (uint32_t place = roll(e, l->at.count + 1); to > first;)
			lines_insert(l, place, lines_take(&from, --to));
	}
	lines_release(&from);
	return first != NONE;
}

static bool edit_insert(struct editor *e, struct lines *l)
{
	uint32_t at = roll(e, l->at.count + 1);
	uint32_t like = at < l->at.count ? at : at - 1;
	unsigned indent = (unsigned)indent_of(l->at.at[like]) / 4;

	lines_insert(l, at, made_statement(e->dice, indent));
	return true;
}

/* Replace a function, or its header only. */
static bool edit_function(struct editor *e, struct lines *l)
{
	uint32_t at = find_line(e, l, "def ", "async def "), end;
	const char *line, *word;
	unsigned indent;
	char *name;
	bool method;

	if (at == NONE)
		return false;
	line = l->at.at[at];
	indent = (unsigned)indent_of(line) / 4;
	method = strstr(line, "(self") != NULL;
	word = strstr(line, "def ") + 4;
	name = copy(word, strcspn(word, "( :\n"));
	if (roll(e, 2)) {
		put_line(l, at, made_header(e->dice, indent, name, method));
	} else {
		for (end = block_end(l, at); end > at + 1; end--)
			free(lines_take(l, at + 1));
		put_line(l, at, made_function(e->dice, indent, name, method));
	}
	free(name);
	return true;
}

/* Edit inside a body, so that one definition can be read alone. */
static bool edit_body(struct editor *e, struct lines *l)
{
	uint32_t at = any_line(e, l), k = 0;
	unsigned indent;

	while (k++ < l->at.count &&
	       (indent_of(l->at.at[at]) < 4 || is_blank(l->at.at[at]) ||
		begins(l->at.at[at], "def ") ||
		begins(l->at.at[at], "class ") || begins(l->at.at[at], "@")))
		at = (at + 1) % l->at.count;
	if (k > l->at.count)
		return false;
	indent = (unsigned)indent_of(l->at.at[at]) / 4;
	switch (roll(e, 5)) {
	case 0:
		put_line(l, at, made_statement(e->dice, indent));
		break;
	case 1:
		lines_insert(l, at + roll(e, 2), copy("\n", 1));
		break;
	case 2:
		free(lines_take(l, at));
		break;
	default:
		lines_insert(l, at, made_statement(e->dice, indent));
		break;
	}
	return true;
}

/* Edit behind the last line of a definition, at the border to the next. */
static bool edit_end(struct editor *e, struct lines *l)
{
	static const char *const more[] = {
		" or f()", "; g()", "  # end", " \\", "()", " if h() else 1"
	};
	uint32_t at = find_line(e, l, "def ", "class "), end;
	char *line;

	if (at == NONE)
		return false;
	for (end = block_end(l, at); is_blank(l->at.at[end - 1]);)
		end--;
	line = l->at.at[end - 1];
	if (roll(e, 2)) {
		size_t len = strcspn(line, "\n");

		put_line(l, end - 1,
			 replaced(line, line + len, 0, more[roll(e, 6)]));
	} else {
		unsigned indent = (unsigned)indent_of(line) / 4;

		lines_insert(l, end, made_statement(e->dice, indent));
	}
	return true;
}

static bool edit_break(struct editor *e, struct lines *l)
{
	static const char *const bad[] = { "def\n",    "((\n",
					   "    )\n",  "class :\n",
					   "'''\n",    "x = = 1\n",
					   "  if x\n", "@\n",
					   "\\\n",     "return return\n",
					   "\t\tx\n" };
	const char *line = bad[roll(e, sizeof(bad) / sizeof(*bad))];

	lines_insert(l, roll(e, l->at.count + 1), copy(line, strlen(line)));
	return true;
}

static bool edit_indent(struct editor *e, struct lines *l)
{
	uint32_t from = any_line(e, l);
	uint32_t to = roll(e, 2) ? from + 1 : block_end(l, from);
	bool in = roll(e, 2);

	for (; from < to; from++) {
		const char *line = l->at.at[from];

		if (in)
			put_line(l, from, replaced(line, line, 0, "    "));
		else if (strncmp(line, "    ", 4) == 0)
			put_line(l, from, copy(line + 4, strlen(line + 4)));
	}
	return true;
}

static bool edit_blank(struct editor *e, struct lines *l)
{
	static const char *const empty[] = { "\n", "# a remark\n",
					     "        # another\n", "   \n" };
	uint32_t at = any_line(e, l);

	if (is_blank(l->at.at[at]) && roll(e, 2)) {
		free(lines_take(l, at));
		return true;
	}
	for (uint32_t n = 1 + roll(e, 3); n; n--) {
		const char *line = empty[roll(e, 4)];

		lines_insert(l, at, copy(line, strlen(line)));
	}
	return true;
}

/* class A(B): other bases, more, fewer, none. */
static bool edit_bases(struct editor *e, struct lines *l)
{
	uint32_t at = find_line(e, l, "class ", "class ");
	char *line, *name, *word, *more;
	size_t n;

	if (at == NONE)
		return false;
	line = l->at.at[at];
	n = strcspn(line, "(:\n");
	name = copy(line, n);
	word = other_word(e);
	more = other_word(e);
	n = roll(e, 4);
	if (asprintf(&line,
		     n == 0   ? "%s:\n"
		     : n == 1 ? "%s(%s, %s):\n"
			      : "%s(%s):\n",
		     name, word, more) < 0)
		abort();
	put_line(l, at, line);
	free(name);
	free(word);
	free(more);
	return true;
}

/* Replace an import by one from another place. */
static bool edit_import(struct editor *e, struct lines *l)
{
	uint32_t at = find_line(e, l, "import ", "from "), other;
	const struct world_file *f = any_file(e);
	struct lines from;
	const char *line;
	char *new;

	lines_init(&from, f->text);
	other = from.at.count ? find_line(e, &from, "import ", "from ") : NONE;
	if (at != NONE && other != NONE) {
		line = from.at.at[other] + indent_of(from.at.at[other]);
		new = must_alloc(indent_of(l->at.at[at]) + strlen(line) + 1);
		memcpy(new, l->at.at[at], indent_of(l->at.at[at]));
		memcpy(new + indent_of(l->at.at[at]), line, strlen(line) + 1);
		put_line(l, at, new);
	}
	lines_release(&from);
	return at != NONE && other != NONE;
}

static bool edit_return(struct editor *e, struct lines *l)
{
	uint32_t at = find_line(e, l, "return", "yield");
	char *what, *line;
	int n;

	if (at == NONE)
		return false;
	what = roll(e, 2) ? other_word(e) : made_expression(e->dice);
	n = asprintf(&line, "%.*sreturn %s%s\n", (int)indent_of(l->at.at[at]),
		     l->at.at[at], what, roll(e, 2) ? "()" : "");
	free(what);
	if (n < 0)
		abort();
	put_line(l, at, line);
	return true;
}

static bool edit_decorate(struct editor *e, struct lines *l)
{
	uint32_t at = find_line(e, l, "def ", "class ");
	char *what, *line;
	int n;

	if (at == NONE)
		return false;
	if (at && begins(l->at.at[at - 1], "@") && roll(e, 2)) {
		free(lines_take(l, at - 1));
		return true;
	}
	what = roll(e, 2) ? copy("property", 8) : other_word(e);
	n = asprintf(&line, "%.*s@%s\n", (int)indent_of(l->at.at[at]),
		     l->at.at[at], what);
	free(what);
	if (n < 0)
		abort();
	lines_insert(l, at, line);
	return true;
}

/* Turn def into class and back; add or remove async. */
static bool edit_kind(struct editor *e, struct lines *l)
{
	uint32_t at = find_line(e, l, "def ", "class ");
	const char *word;
	bool class;

	if (at == NONE)
		return false;
	word = l->at.at[at] + indent_of(l->at.at[at]);
	class = *word == 'c';
	put_line(l, at,
		 replaced(l->at.at[at], word, class ? 5 : 3,
			  class	       ? "def"
			  : roll(e, 3) ? "class"
				       : "async def"));
	return true;
}

static const struct {
	const char *what;
	bool (*edit)(struct editor *e, struct lines *l);
} edits[] = {
	{ "change a token", edit_token },
	{ "change a token", edit_token },
	{ "delete lines", edit_delete },
	{ "double a line", edit_duplicate },
	{ "move a line", edit_move },
	{ "swap two lines", edit_swap },
	{ "move a definition", edit_move_block },
	{ "copy a definition", edit_copy_block },
	{ "insert a statement", edit_insert },
	{ "insert a statement", edit_insert },
	{ "edit a body", edit_body },
	{ "edit a body", edit_body },
	{ "edit a body", edit_body },
	{ "edit a body", edit_body },
	{ "edit a body", edit_body },
	{ "go on where a definition ends", edit_end },
	{ "go on where a definition ends", edit_end },
	{ "write a function anew", edit_function },
	{ "write a function anew", edit_function },
	{ "write a function anew", edit_function },
	{ "break the syntax", edit_break },
	{ "change indentation", edit_indent },
	{ "blank lines and remarks", edit_blank },
	{ "change a base", edit_bases },
	{ "change an import", edit_import },
	{ "change a result", edit_return },
	{ "change a decorator", edit_decorate },
	{ "change a definition's kind", edit_kind },
};

static void remember(struct editor *e, const struct world_file *f)
{
	struct source_text *p = &e->past[e->past_count++ %
					 (sizeof(e->past) / sizeof(*e->past))];

	free(p->path);
	free(p->text);
	p->path = copy(f->path, strlen(f->path));
	p->text = copy(f->text, strlen(f->text));
}

void editor_release(struct editor *e)
{
	for (size_t k = 0; k < sizeof(e->past) / sizeof(*e->past); k++) {
		free(e->past[k].path);
		free(e->past[k].text);
	}
}

static const char *step_edit(struct editor *e, op_list *ops)
{
	const struct world_file *f = any_file(e);
	uint32_t k = roll(e, sizeof(edits) / sizeof(*edits));
	struct lines l;
	char *text;

	remember(e, f);
	lines_init(&l, f->text);
	if (!l.at.count)
		array_push(&l.at, made_statement(e->dice, 0));
	if (!edits[k].edit(e, &l))
		(void)edit_insert(e, &l);
	text = lines_join(&l);
	lines_release(&l);
	op_add(ops, roll(e, 12) ? OP_EDIT : OP_PUT, f->path, NULL, text);
	free(text);
	return edits[k].what;
}

/* Rename everywhere in the file, as an editor's refactoring does. */
static const char *step_rename_word(struct editor *e, op_list *ops)
{
	const struct world_file *f = any_file(e);
	const char *word, *at = f->text;
	size_t n = any_word(e, f->text, &word), m;
	char *old, *new, *text;

	if (!n)
		return step_edit(e, ops);
	remember(e, f);
	old = copy(word, n);
	new = other_word(e);
	m = strlen(new);
	text = must_alloc(strlen(f->text) * (m + 1) + 1);
	word = text;
	for (char *to = text;; at++) {
		if ((at == f->text || !is_word(at[-1])) &&
		    strncmp(at, old, n) == 0 && !is_word(at[n])) {
			to = (char *)memcpy(to, new, m) + m;
			at += n;
		}
		*to++ = *at;
		if (!*at)
			break;
	}
	op_add(ops, OP_EDIT, f->path, NULL, text);
	free(text);
	free(old);
	free(new);
	return "rename a word everywhere";
}

static const char *step_back(struct editor *e, op_list *ops)
{
	const struct source_text *p =
		&e->past[roll(e, sizeof(e->past) / sizeof(*e->past))];

	if (!p->path)
		return step_edit(e, ops);
	op_add(ops, OP_EDIT, p->path, NULL, p->text);
	return "go back to an earlier text";
}

static const char *step_source(struct editor *e, op_list *ops)
{
	const struct source *s = e->source;
	unsigned n = roll(e, MADE_MODULES);
	char *text;

	if (s->texts.count && roll(e, 2)) {
		const struct source_text *t =
			&s->texts.at[roll(e, s->texts.count)];

		op_add(ops, OP_EDIT, t->path, NULL, t->text);
		return "add a file, or another text of it";
	}
	text = made_text(e->dice, n);
	op_add(ops, OP_EDIT, made_path(n), NULL, text);
	free(text);
	return "make a file";
}

static const char *step_remove(struct editor *e, op_list *ops)
{
	const struct world_file *f = any_file(e);

	remember(e, f);
	op_add(ops, OP_REMOVE, f->path, NULL, NULL);
	return "remove a file";
}

/* Rename a file: beside it, to another directory, or over another file. */
static char *other_path(struct editor *e, const char *path)
{
	const char *slash = strrchr(path, '/');
	int dir = slash ? (int)(slash - path) + 1 : 0;
	const char *other = any_file(e)->path;
	char *to;
	int n;

	switch (roll(e, 6)) {
	case 0:
		n = asprintf(&to, "%s", other);
		break;
	case 1:
		n = asprintf(&to, "%.*s__init__.py", dir, path);
		break;
	case 2:
		n = asprintf(&to, "src/%s", path);
		break;
	case 3:
		n = asprintf(&to, "lib/%s",
			     strncmp(path, "src/", 4) ? path : path + 4);
		break;
	case 4:
		slash = strrchr(other, '/');
		n = asprintf(&to, "%.*s%s",
			     slash ? (int)(slash - other) + 1 : 0, other,
			     path + dir);
		break;
	default:
		n = asprintf(&to, "%.*sn%u.py", dir, path, roll(e, 3));
		break;
	}
	if (n < 0)
		abort();
	if (strlen(to) > 120) {
		free(to);
		to = copy("short.py", 8);
	}
	return to;
}

static const char *step_rename(struct editor *e, op_list *ops)
{
	const struct world_file *f = any_file(e);
	char *to = other_path(e, f->path);

	remember(e, f);
	if (roll(e, 3)) {
		op_add(ops, OP_RENAME, f->path, to, NULL);
	} else {
		op_add(ops, OP_REMOVE, f->path, NULL, NULL);
		op_add(ops, OP_PUT, to, NULL, f->text);
	}
	free(to);
	return "rename a file";
}

static const char *step_swap_files(struct editor *e, op_list *ops)
{
	const struct world_file *a = any_file(e), *b = any_file(e);

	op_add(ops, OP_EDIT, a->path, NULL, b->text);
	op_add(ops, OP_EDIT, b->path, NULL, a->text);
	return "swap two files' texts";
}

/* Several edits that settle together. */
static const char *step_many(struct editor *e, op_list *ops)
{
	for (uint32_t n = 2 + roll(e, 3); n; n--)
		(void)(roll(e, 4) ? step_edit(e, ops) : step_back(e, ops));
	return "several edits at once";
}

static const char *step_any(struct editor *e, op_list *ops)
{
	uint32_t kind = roll(e, 100);

	if (!e->world->files.count || kind < 6)
		return step_source(e, ops);
	if (kind < 9)
		return step_remove(e, ops);
	if (kind < 14)
		return step_rename(e, ops);
	if (kind < 16)
		return step_swap_files(e, ops);
	if (kind < 22)
		return step_rename_word(e, ops);
	if (kind < 32)
		return step_back(e, ops);
	if (kind < 36)
		return step_many(e, ops);
	return step_edit(e, ops);
}

/* Change the rules' files; NULL: the change did not alter any. */
static const char *step_rules(struct editor *e, op_list *ops)
{
	uint32_t had = ops->count;
	const char *what = rules_change(e->rules);

	rules_write(e->rules, e->world, ops);
	return ops->count > had ? what : NULL;
}

const char *editor_step(struct editor *e, op_list *ops)
{
	const char *what = NULL;

	if (e->rules && roll(e, 8))
		what = step_rules(e, ops);
	if (!what)
		what = step_any(e, ops);
	ops->at[ops->count - 1].settle = true;
	return what;
}
