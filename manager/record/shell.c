/*
 * A command line is interpreted in three steps: what each simple command does,
 * by its name (shell_verb.c); what a pipeline shows: the output of its first
 * command, narrowed by the others; and what the list shows as a whole. In doubt
 * each step ends with SHELL_UNKNOWN, never with a claim.
 */
#include "manager/record/shell.h"

#include <assert.h>
#include <string.h>

#include "graph/base/array.h"
#include "manager/record/shell_print.h"
#include "manager/record/shell_verb.h"

#define NESTING_MAX 4  /* bash -c inside bash -c */
#define PARENS_MAX  16 /* subshells whose directory is restored */

/* A pipeline: what it shows so far. */
struct part {
	enum shell_act act;
	struct shell_range range; /* PRINT */
	uint32_t first;		  /* index of its first file */
	uint32_t prints;	  /* number of files it shows */
	bool exact;
	bool vague; /* a file's name is unknown */
	bool inner; /* bash -c: the commands in it are parts of their own */
};

/* The whole command: what it shows so far. */
struct sense {
	struct arena *arena;
	ARRAY(struct shell_file) files;
	const char *dir;
	bool lost; /* `dir` is no longer known */
	const char *dirs[PARENS_MAX];
	uint32_t parens;
	unsigned nesting;
	/* Of the parts so far: */
	unsigned acts;	 /* a bit for each enum shell_act seen */
	uint32_t prints; /* parts that print a file */
	uint32_t noise;	 /* parts with other output */
	struct part print;
	uint32_t print_file;
	bool one_file; /* all of these print the same file */
	bool loops;    /* keywords, or a pipe behind bash -c: not exact */
};

static bool same_text(const struct shell_word *w, const char *text)
{
	return strcmp(w->text, text) == 0;
}

/* A file in the command; one whose name needs a shell makes the part vague. */
static void add_file(struct sense *s, struct part *p,
		     const struct shell_word *w, bool wrote)
{
	struct shell_file *f;

	if (w->dynamic || w->glob || w->len == 0 ||
	    (s->lost && w->text[0] != '/')) {
		p->vague = true;
		return;
	}
	f = array_add(&s->files);
	f->path = shell_path(s->dir, w->text, w->len, s->arena);
	f->wrote = wrote;
	p->prints += !wrote;
}

static void add_files(struct sense *s, struct part *p,
		      const struct shell_command *c, uint32_t from, bool wrote)
{
	for (; from < c->words_count; from++) {
		const struct shell_word *w = &c->words[from];

		if (w->text[0] != '-' || w->quoted)
			add_file(s, p, w, wrote);
	}
}

static const struct shell_redirect *find_redirect(const struct shell_command *c,
						  enum shell_redirect_kind k)
{
	uint32_t i;

	for (i = 0; i < c->redirects_count; i++) {
		if (c->redirects[i].kind == k)
			return &c->redirects[i];
	}
	return NULL;
}

/* The output of `p` is piped through a filter that passes `r` of it. */
static void narrow(struct part *p, const struct shell_range *r)
{
	struct shell_range *was = &p->range;

	if (r->number && (was->number || was->start != 1))
		p->exact = false;
	if (r->number && !was->number) {
		was->number = r->number;
		was->width = r->width;
		was->separator = r->separator;
	}
	switch (r->kind) {
	case RANGE_ALL:
		return;
	case RANGE_LINES:
		if (was->start > 0) {
			uint32_t end = r->end ? was->start + r->end - 1 : 0;

			was->start += r->start - (r->start > 0);
			if (end > 0 && (was->end == 0 || end < was->end))
				was->end = end;
			return;
		}
		break;
	case RANGE_LAST:
		if (was->end == 0) {
			was->start = 0;
			return;
		}
		break;
	case RANGE_SOME:
		break;
	}
	p->exact = false;
	was->start = was->end = 0;
}

static void do_print(struct sense *s, struct part *p,
		     const struct shell_command *c, enum shell_printer printer)
{
	const struct shell_redirect *in = find_redirect(c, REDIRECT_IN);
	struct shell_range r;

	shell_range(printer, c->words, c->words_count, s->arena, &r);
	if (r.edits) {
		p->act = SHELL_WRITE;
		add_files(s, p, c, r.first, true);
		return;
	}
	if (r.first >= c->words_count && c->piped) {
		if (p->act == SHELL_PRINT)
			narrow(p, &r);
		return;
	}
	if (r.first >= c->words_count && !in) {
		p->act = SHELL_OTHER; /* a here-document, or nothing */
		return;
	}
	p->act = SHELL_PRINT;
	p->range = r;
	p->exact = r.kind != RANGE_SOME;
	add_files(s, p, c, r.first, false);
	if (r.first >= c->words_count)
		add_file(s, p, &in->word, false);
}

static void do_reader(struct sense *s, struct part *p,
		      const struct shell_command *c)
{
	if (c->piped && (p->act == SHELL_RUN || p->act == SHELL_SEARCH ||
			 p->act == SHELL_OTHER))
		return;
	p->act = SHELL_UNKNOWN;
	add_files(s, p, c, 1, false);
}

static bool has_word(const struct shell_command *c, const char *names)
{
	uint32_t i;

	for (i = 1; i < c->words_count; i++) {
		if (shell_is_one_of(names, c->words[i].text, c->words[i].len))
			return true;
	}
	return false;
}

/* grep -n "" file prints all lines of the file with numbers. */
static void do_search(struct sense *s, struct part *p,
		      const struct shell_command *c)
{
	const struct shell_word *w = c->words;

	if (c->piped && p->act == SHELL_RUN)
		return;
	p->act = SHELL_SEARCH;
	if (c->words_count != 4 || c->piped || !same_text(&w[0], "grep") ||
	    !same_text(&w[1], "-n") || (w[2].len > 0 && !same_text(&w[2], "^")))
		return;
	p->act = SHELL_PRINT;
	p->exact = true;
	p->range = (struct shell_range){
		.kind = RANGE_ALL, .start = 1, .number = "%u", .separator = ":"
	};
	add_file(s, p, &w[3], false);
}

static void do_git(struct part *p, const struct shell_command *c)
{
	uint32_t i = 1;

	while (i < c->words_count && c->words[i].text[0] == '-')
		i += 1 + (same_text(&c->words[i], "-C") ||
			  same_text(&c->words[i], "-c"));
	p->act = SHELL_OTHER;
	if (i >= c->words_count)
		return;
	if (shell_is_one_of(" grep ls-files status diff blame ",
			    c->words[i].text, c->words[i].len))
		p->act = SHELL_SEARCH;
	else if (shell_is_one_of(
			 " checkout switch restore reset stash merge rebase "
			 "pull apply am cherry-pick revert clean mv rm ",
			 c->words[i].text, c->words[i].len))
		p->act = SHELL_WRITE;
}

/* A program on the command line itself (python -c) could do anything. */
static void do_interpreter(struct sense *s, struct part *p,
			   const struct shell_command *c)
{
	bool perl = same_text(&c->words[0], "perl");
	uint32_t i = 1;

	p->act = SHELL_UNKNOWN;
	for (; i < c->words_count && c->words[i].text[0] == '-'; i++) {
		const char *t = c->words[i].text;

		if (perl && strchr(t, 'i')) {
			p->act = SHELL_WRITE;
			i += 1 + !strchr(t, 'e');
			add_files(s, p, c, i + 1, true);
			return;
		}
		if (shell_is_one_of(" -m --test ", t, strlen(t))) {
			p->act = SHELL_RUN;
			return;
		}
		if (shell_is_one_of(" -V --version -v ", t, strlen(t))) {
			p->act = SHELL_OTHER;
			return;
		}
		if (shell_is_one_of(" -c - -e -p -E --eval --print ", t,
				    strlen(t)))
			return;
		i += shell_is_one_of(" -X -W -r ", t, strlen(t));
	}
	if (i < c->words_count)
		p->act = SHELL_RUN;
}

static void add_patch(struct sense *s, struct part *p, const char *text,
		      size_t len)
{
	const char *at = text, *path;
	size_t path_len;

	while (shell_patch_file(&at, text + len, &path, &path_len)) {
		struct shell_word w = { .len = path_len };

		w.text = arena_copy(s->arena, path, path_len);
		add_file(s, p, &w, true);
	}
}

static void do_patch(struct sense *s, struct part *p,
		     const struct shell_command *c)
{
	const struct shell_redirect *text = find_redirect(c, REDIRECT_TEXT);

	p->act = SHELL_WRITE;
	if (text)
		add_patch(s, p, text->text, text->text_len);
	else if (c->words_count > 1)
		add_patch(s, p, c->words[1].text, c->words[1].len);
}

static void do_write(struct sense *s, struct part *p,
		     const struct shell_command *c)
{
	bool copies = !same_text(&c->words[0], "mv") &&
		      !same_text(&c->words[0], "rm") &&
		      !same_text(&c->words[0], "truncate");

	p->act = SHELL_WRITE;
	add_files(s, p, c, copies ? c->words_count - 1 : 1, true);
}

static void do_tee(struct sense *s, struct part *p,
		   const struct shell_command *c)
{
	if (p->act == SHELL_OTHER || p->act == SHELL_SILENT)
		p->act = SHELL_WRITE;
	add_files(s, p, c, 1, true);
}

static void do_cd(struct sense *s, const struct shell_command *c)
{
	const struct shell_word *w = c->words_count > 1 ? &c->words[1] : NULL;

	if (!w || w->dynamic || w->glob || w->text[0] == '-' ||
	    (s->lost && w->text[0] != '/')) {
		s->lost = true;
		return;
	}
	s->lost = false;
	s->dir = shell_path(s->dir, w->text, w->len, s->arena);
}

static void understand(struct sense *s, const char *text, size_t len);

/* bash -lc '...', or a script in a here-document. */
static void do_shell(struct sense *s, struct part *p,
		     const struct shell_command *c)
{
	const struct shell_redirect *text = find_redirect(c, REDIRECT_TEXT);
	bool given = false;
	uint32_t i;

	for (i = 1; i < c->words_count && c->words[i].text[0] == '-'; i++)
		given = given || strchr(c->words[i].text, 'c');
	p->act = SHELL_RUN;
	if (i >= c->words_count && !text)
		p->act = SHELL_UNKNOWN;
	if ((!given || i >= c->words_count) && !text)
		return;
	p->act = SHELL_SILENT;
	p->inner = true;
	if (s->nesting >= NESTING_MAX) {
		p->act = SHELL_UNKNOWN;
		return;
	}
	s->nesting++;
	if (given && i < c->words_count)
		understand(s, c->words[i].text, c->words[i].len);
	else
		understand(s, text->text, text->text_len);
	assert(s->nesting > 0);
	s->nesting--;
}

static bool is_assignment(const struct shell_word *w)
{
	const char *equals = memchr(w->text, '=', w->len);

	return equals && equals > w->text && w->text[0] != '-' &&
	       !memchr(w->text, '/', (size_t)(equals - w->text));
}

static void drop_words(struct shell_command *c, uint32_t count)
{
	count = count < c->words_count ? count : c->words_count;
	c->words += count;
	c->words_count -= count;
}

static void drop_options(struct shell_command *c)
{
	while (c->words_count > 0 &&
	       (c->words[0].text[0] == '-' || is_assignment(&c->words[0])))
		drop_words(c, 1 + (same_text(&c->words[0], "-n") ||
				   same_text(&c->words[0], "-u") ||
				   same_text(&c->words[0], "-k") ||
				   same_text(&c->words[0], "-s")));
}

/* Remove a word in front of a command, with its options. */
static void drop_prefix(struct shell_command *c, enum shell_verb v)
{
	drop_words(c, v == VERB_RUNNER ? 2 : 1);
	if (v == VERB_KEYWORD)
		return;
	drop_options(c);
	if (v == VERB_TIMEOUT)
		drop_words(c, 1);
}

/* Remove all words in front of the actual command; return its verb. */
static enum shell_verb strip(struct sense *s, struct shell_command *c)
{
	for (;;) {
		enum shell_verb v;

		while (c->words_count > 0 && is_assignment(&c->words[0]))
			drop_words(c, 1);
		if (c->words_count == 0)
			return VERB_SILENT;
		v = shell_verb(&c->words[0]);
		if (v == VERB_KEYWORD || v == VERB_KEYWORD_ALONE)
			s->loops = true;
		if (v == VERB_RUNNER &&
		    (c->words_count < 2 || !same_text(&c->words[1], "run")))
			return VERB_OTHER;
		if (v != VERB_KEYWORD && v != VERB_PREFIX &&
		    v != VERB_TIMEOUT && v != VERB_RUNNER)
			return v;
		drop_prefix(c, v);
	}
}

/* echo "$(cat file)" prints the file. */
static bool has_expansion(const struct shell_command *c)
{
	uint32_t i;

	for (i = 1; i < c->words_count; i++) {
		if (c->words[i].dynamic)
			return true;
	}
	return false;
}

static void do_simple(struct sense *s, struct part *p,
		      const struct shell_command *c, enum shell_verb v)
{
	/* strip() returns VERB_SILENT if it removed every word. */
	assert(c->words_count > 0 || v == VERB_SILENT);
	switch (v) {
	case VERB_CD:
		do_cd(s, c);
		p->act = SHELL_SILENT;
		break;
	case VERB_SEARCH:
		do_search(s, p, c);
		break;
	case VERB_FIND:
		p->act = has_word(c, " -exec -execdir -delete -ok -x -X ")
				 ? SHELL_UNKNOWN
				 : SHELL_SEARCH;
		break;
	case VERB_RUN:
		p->act = SHELL_RUN;
		break;
	case VERB_WRITE:
		do_write(s, p, c);
		break;
	case VERB_TEE:
		do_tee(s, p, c);
		break;
	case VERB_PATCH:
		do_patch(s, p, c);
		break;
	case VERB_OTHER:
		p->act = has_expansion(c) ? SHELL_UNKNOWN : SHELL_OTHER;
		break;
	case VERB_READER:
		do_reader(s, p, c);
		break;
	case VERB_GIT:
		do_git(p, c);
		break;
	case VERB_INTERPRETER:
		do_interpreter(s, p, c);
		break;
	case VERB_SHELL:
		do_shell(s, p, c);
		break;
	case VERB_XARGS:
		p->act = has_word(c, " grep rg ls ") ? SHELL_SEARCH
						     : SHELL_UNKNOWN;
		break;
	case VERB_UNKNOWN:
		p->act = SHELL_UNKNOWN;
		break;
	case VERB_SILENT:
	case VERB_PRINT:
	case VERB_PRINT_LAST:
	case VERB_TIMEOUT:
	case VERB_PREFIX:
	case VERB_RUNNER:
	case VERB_KEYWORD:
	case VERB_KEYWORD_ALONE:
		p->act = SHELL_SILENT;
		break;
	}
}

static bool reads_file(const struct shell_command *c)
{
	const struct shell_redirect *in = find_redirect(c, REDIRECT_IN);

	return in && strncmp(in->word.text, "/dev/", 5) != 0;
}

/* One command of a pipeline; `p` is what those before it show. */
static void do_command(struct sense *s, struct part *p,
		       const struct shell_command *command)
{
	struct shell_command c = *command;
	enum shell_verb v = strip(s, &c);
	enum shell_act before = p->act;

	if (c.piped && p->inner)
		s->loops = true;
	if (v >= VERB_PRINT && v <= VERB_PRINT_LAST)
		do_print(s, p, &c, (enum shell_printer)(v - VERB_PRINT));
	else
		do_simple(s, p, &c, v);
	/* while read line; do echo "$line"; done < file */
	if ((p->act == SHELL_SILENT || p->act == SHELL_OTHER) &&
	    reads_file(command))
		p->act = SHELL_UNKNOWN;
	/* A run stays a run, whatever filters its output. */
	if (c.piped && before == SHELL_RUN)
		p->act = SHELL_RUN;
}

/* Output redirected to a file is not shown. */
static void do_redirects(struct sense *s, struct part *p,
			 const struct shell_command *c)
{
	uint32_t i;

	for (i = 0; i < c->redirects_count; i++) {
		const struct shell_redirect *r = &c->redirects[i];
		bool away;

		if ((r->kind != REDIRECT_OUT && r->kind != REDIRECT_APPEND) ||
		    r->fd != 1)
			continue;
		away = strncmp(r->word.text, "/dev/", 5) == 0;
		if (!away)
			add_file(s, p, &r->word, true);
		if (p->act == SHELL_RUN)
			continue;
		p->prints = 0;
		if (p->act != SHELL_WRITE)
			p->act = away ? SHELL_SILENT : SHELL_WRITE;
	}
}

/* The first file that the pipeline shows. */
static struct shell_file *printed_file(struct sense *s, const struct part *p)
{
	uint32_t i;

	for (i = p->first; i < s->files.count; i++) {
		if (!s->files.at[i].wrote)
			return &s->files.at[i];
	}
	return NULL;
}

/* A pipeline ends: add what it shows to the whole. */
static void end_part(struct sense *s, const struct part *p)
{
	struct shell_file *f = NULL;
	enum shell_act act = p->act;

	if (act == SHELL_PRINT && p->prints == 1 && !p->vague)
		f = printed_file(s, p);
	if (act == SHELL_PRINT && !f)
		act = SHELL_UNKNOWN;
	assert(act <= SHELL_UNKNOWN);
	s->acts |= 1u << act;
	s->noise += act == SHELL_OTHER;
	if (!f)
		return;
	f->start = p->range.start;
	f->end = p->range.end;
	if (s->prints++ == 0) {
		s->print = *p;
		s->print_file = (uint32_t)(f - s->files.at);
		s->one_file = true;
	} else if (strcmp(f->path, s->files.at[s->print_file].path) != 0) {
		s->one_file = false;
	}
}

static void enter_parens(struct sense *s, const struct shell_command *c)
{
	uint32_t i;

	for (i = 0; i < c->opened; i++, s->parens++) {
		if (s->parens < PARENS_MAX)
			s->dirs[s->parens] = s->dir;
	}
}

static void leave_parens(struct sense *s, const struct shell_command *c)
{
	uint32_t i;

	for (i = 0; i < c->closed && s->parens > 0; i++) {
		if (--s->parens < PARENS_MAX)
			s->dir = s->dirs[s->parens];
	}
}

static void understand(struct sense *s, const char *text, size_t len)
{
	struct part p = { 0 };
	struct shell_list list;
	uint32_t i;

	if (shell_split(text, len, s->arena, &list) < 0) {
		s->acts |= 1u << SHELL_UNKNOWN;
		return;
	}
	for (i = 0; i < list.count; i++) {
		const struct shell_command *c = &list.at[i];
		bool last = i + 1 == list.count || !c[1].piped;

		if (!c->piped || i == 0)
			p = (struct part){ .first = s->files.count };
		enter_parens(s, c);
		do_command(s, &p, c);
		do_redirects(s, &p, c);
		leave_parens(s, c);
		if (last)
			end_part(s, &p);
	}
}

static bool saw(const struct sense *s, enum shell_act act)
{
	return s->acts >> act & 1;
}

static enum shell_act sum_up(const struct sense *s)
{
	static const enum shell_act order[] = { SHELL_RUN,   SHELL_UNKNOWN,
						SHELL_PRINT, SHELL_SEARCH,
						SHELL_WRITE, SHELL_OTHER };
	size_t i;

	for (i = 0; i < sizeof(order) / sizeof(*order); i++) {
		if (!saw(s, order[i]))
			continue;
		if (order[i] == SHELL_PRINT &&
		    (!s->one_file || saw(s, SHELL_SEARCH)))
			return SHELL_UNKNOWN;
		return order[i];
	}
	return SHELL_SILENT;
}

/* Several ranges of one file become the range that covers them all. */
static void join_ranges(struct sense *s)
{
	struct shell_file *f = &s->files.at[s->print_file];
	uint32_t i;

	assert(s->prints > 0 && s->print_file < s->files.count);
	for (i = s->print_file + 1; i < s->files.count; i++) {
		const struct shell_file *g = &s->files.at[i];

		if (g->wrote || strcmp(g->path, f->path) != 0)
			continue;
		if (g->start < f->start)
			f->start = g->start;
		if (g->end == 0 || (f->end != 0 && g->end > f->end))
			f->end = g->end;
	}
}

static void put_first(struct sense *s)
{
	struct shell_file f = s->files.at[s->print_file];

	s->files.at[s->print_file] = s->files.at[0];
	s->files.at[0] = f;
}

int shell_understand(const char *text, size_t len, const char *dir,
		     struct arena *a, struct shell_meaning *ret)
{
	struct sense s = { .arena = a, .dir = dir };
	size_t size;

	understand(&s, text, len);
	*ret = (struct shell_meaning){ .act = sum_up(&s),
				       .number = "",
				       .separator = "" };
	if (ret->act == SHELL_PRINT && s.files.count > 0) {
		ret->exact = s.print.exact && s.prints == 1 && s.noise == 0 &&
			     !s.loops;
		if (s.print.range.number) {
			ret->number = s.print.range.number;
			ret->width = s.print.range.width;
			ret->separator = s.print.range.separator;
		}
		join_ranges(&s);
		put_first(&s);
	}
	size = s.files.count * sizeof(*ret->files);
	ret->files_count = s.files.count;
	ret->files = arena_take(a, size);
	if (size > 0)
		memcpy(ret->files, s.files.at, size);
	array_release(&s.files);
	return 0;
}
