/*
 * The drift of a symbol since a birth is one lookup per set. The lines of a
 * file are carried through the edits after the birth, oldest first: an edit
 * above shifts them, an edit that touches them nominates the record.
 */
#include "tape/query/nominate.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/base/quote.h"

/* -- Symbols. */

static bool is_there(const struct nominate_view *v, const char *name,
		     const struct drift_last *l)
{
	if (v->exists)
		return v->exists(name, v->arg);
	return !l->removed || l->n[ENTRY_ADDED] >= l->n[ENTRY_X];
}

static bool comes_before(const struct nominate_hit *a,
			 const struct nominate_hit *b)
{
	return a->set != b->set ? a->set < b->set : a->entry > b->entry;
}

/* Insert in order; beyond NOMINATE_HITS_MAX the last one is dropped. */
static void add_hit(struct nomination *n, const struct nominate_hit *h)
{
	size_t at = n->hits_count;

	n->drifted++;
	if (at < NOMINATE_HITS_MAX)
		n->hits_count++;
	else if (comes_before(h, &n->hits[at - 1]))
		at--;
	else
		return;
	for (; at > 0 && comes_before(h, &n->hits[at - 1]); at--)
		n->hits[at] = n->hits[at - 1];
	n->hits[at] = *h;
	assert(n->hits_count <= NOMINATE_HITS_MAX);
	assert(n->hits_count <= n->drifted);
}

/* How `name` drifted since `birth`. False: it did not. */
static bool drifted(const struct nominate_view *v, const char *name,
		    uint64_t birth, struct nominate_hit *ret)
{
	struct drift_last l;

	if (!drift_find(v->drift, name, &l))
		return false;
	for (int set = ENTRY_X; set <= ENTRY_R; set++) {
		if (l.n[set] <= birth)
			continue;
		*ret = (struct nominate_hit){
			.name = name,
			.set = (enum entry_set)set,
			.entry = l.n[set],
			.removed = set == ENTRY_X && !is_there(v, name, &l),
		};
		return true;
	}
	return false;
}

/* -- Lines of a file. */

struct nominate_lines {
	uint32_t start, end;
};

/*
 * The number of lines before one side of a range; an empty side names the line
 * before it.
 */
static uint32_t in_front(uint32_t at, uint32_t count)
{
	return count ? at - 1 : at;
}

/*
 * Shift the lines through one edit. False: the edit touched them. Insertion
 * between two of them touches them; insertion before the first or after the
 * last does not.
 */
static bool carry(const struct drift_touch *t, struct nominate_lines *s)
{
	int64_t shift = 0;

	for (uint32_t k = 0; k < t->ranges_count; k++) {
		const struct entry_range *r = &t->ranges[k];
		uint32_t from = in_front(r->before, r->before_count);
		uint32_t to = from + r->before_count;

		if (from >= s->end)
			break;
		if (to >= s->start)
			return false;
		shift += (int64_t)r->after_count - r->before_count;
	}
	s->start = (uint32_t)(s->start + shift);
	s->end = s->end == UINT32_MAX ? s->end : (uint32_t)(s->end + shift);
	return true;
}

/* Did this touch change the lines, create or remove the file? */
static bool touches_lines(const struct drift_touch *t, struct nominate_lines *s,
			  bool whole)
{
	if (t->had != t->has || !t->had)
		return true;
	if (!t->changed)
		return false;
	return whole || !t->ranges_count || !carry(t, s);
}

static bool lines_drifted(const struct nominate_view *v,
			  const struct nominate_record *r, const char *name,
			  struct nominate_hit *ret)
{
	const char *path = name + strlen(NOMINATE_FILE);
	const struct drift_touch *t;
	size_t count = drift_path(v->drift, path, &t);
	struct nominate_lines s = { r->start ? r->start : 1,
				    r->end ? r->end : UINT32_MAX };
	bool whole = !r->start && !r->end;
	uint64_t newest = 0;

	for (size_t k = 0; k < count; k++)
		if (t[k].n > r->birth &&
		    (newest || touches_lines(&t[k], &s, whole)))
			newest = t[k].n;
	if (!newest)
		return false;
	*ret = (struct nominate_hit){ .name = name,
				      .set = ENTRY_X,
				      .entry = newest,
				      .removed = !t[count - 1].has };
	return true;
}

static bool is_file(const char *name)
{
	return strncmp(name, NOMINATE_FILE, strlen(NOMINATE_FILE)) == 0;
}

static enum nominate_why why_of(const struct nominate_hit *h)
{
	if (h->set == ENTRY_DX)
		return WHY_CALLS;
	if (h->set == ENTRY_R)
		return WHY_READS;
	return h->removed ? WHY_REMOVED : WHY_EDITED;
}

/* Choose action and reason, so that the reason explains the action. */
static void conclude(struct nomination *n)
{
	const struct nominate_hit *first = &n->hits[0];

	assert(n->hits_count > 0);
	n->action = NOMINATE_DROP;
	for (size_t k = 0; k < n->hits_count; k++) {
		if (n->hits[k].set == ENTRY_X && !n->hits[k].removed) {
			n->action = NOMINATE_REFRESH;
			first = &n->hits[k];
			break;
		}
	}
	n->why = why_of(first);
	n->by = first->entry;
	n->name = first->name;
	n->file = is_file(first->name);
	if (n->file)
		n->name += strlen(NOMINATE_FILE);
}

/* Touches that far back are not kept. */
static bool long_ago(const struct nominate_view *v,
		     const struct nominate_record *r, struct nomination *n)
{
	if (r->birth >= drift_floor(v->drift) || v->head <= r->birth)
		return false;
	n->action = r->kind == NOMINATE_RUN ? NOMINATE_RERUN : NOMINATE_REFRESH;
	n->why = WHY_LONG_AGO;
	n->by = n->entry = v->head;
	return true;
}

static bool nominate_span(const struct nominate_view *v,
			  const struct nominate_record *r, struct nomination *n)
{
	bool refresh = false;

	for (size_t k = 0; k < r->symbols_count; k++) {
		struct nominate_hit h;

		if (is_file(r->symbols[k]) && long_ago(v, r, n))
			return true;
		if (is_file(r->symbols[k])
			    ? !lines_drifted(v, r, r->symbols[k], &h)
			    : !drifted(v, r->symbols[k], r->birth, &h))
			continue;
		refresh |= h.set == ENTRY_X && !h.removed;
		if (h.entry > n->entry)
			n->entry = h.entry;
		add_hit(n, &h);
	}
	if (!n->drifted)
		return false;
	conclude(n);
	/* The symbol that asks for REFRESH may not be among the hits kept. */
	if (refresh)
		n->action = NOMINATE_REFRESH;
	return true;
}

/* -- Runs. */

static void add_cause(struct nomination *n, enum nominate_why why,
		      const char *path, uint64_t entry)
{
	if (entry <= n->entry)
		return;
	n->action = NOMINATE_RERUN;
	n->why = why;
	n->name = path;
	n->file = true;
	n->by = n->entry = entry;
}

static uint64_t last_touch(const struct nominate_view *v, const char *path)
{
	const struct drift_touch *t;
	size_t count = drift_path(v->drift, path, &t);

	return count ? t[count - 1].n : 0;
}

static const char *directory(const char *path)
{
	return strcmp(path, ".") == 0 ? "" : path;
}

static bool nominate_run(const struct nominate_view *v,
			 const struct nominate_record *r, struct nomination *n)
{
	if (v->head <= r->birth)
		return false;
	if (!r->observed) {
		add_cause(n, WHY_ANY, "", v->head);
		return true;
	}
	if (long_ago(v, r, n))
		return true;
	/* Only entries after the birth count. */
	n->entry = r->birth;
	add_cause(n, WHY_GAP, "", drift_gap(v->drift));
	for (size_t k = 0; k < r->opened.count; k++)
		add_cause(n, WHY_OPENED, r->opened.at[k],
			  last_touch(v, r->opened.at[k]));
	for (size_t k = 0; k < r->missed.count; k++)
		add_cause(n, WHY_APPEARED, r->missed.at[k],
			  drift_appeared(v->drift, r->missed.at[k]));
	for (size_t k = 0; k < r->listed.count; k++)
		add_cause(n, WHY_LISTED, r->listed.at[k],
			  drift_names(v->drift, directory(r->listed.at[k])));
	if (n->entry > r->birth)
		return true;
	n->action = NOMINATE_KEEP;
	n->why = WHY_UNTOUCHED;
	n->by = n->entry = v->head;
	return true;
}

/* -- What is not on the tape yet. */

static bool is_pending(const struct nominate_view *v, const char *path,
		       bool below, struct nomination *n)
{
	if (!v->pending(path, below, v->pending_arg))
		return false;
	n->name = path;
	n->file = true;
	return true;
}

static bool any_pending(const struct nominate_view *v,
			const struct nominate_paths *p, bool below,
			struct nomination *n)
{
	for (size_t k = 0; k < p->count; k++)
		if (is_pending(v, below ? directory(p->at[k]) : p->at[k], below,
			       n))
			return true;
	return false;
}

static bool run_pending(const struct nominate_view *v,
			const struct nominate_record *r, struct nomination *n)
{
	if (!r->observed)
		return is_pending(v, "", true, n);
	return any_pending(v, &r->opened, false, n) ||
	       any_pending(v, &r->missed, false, n) ||
	       any_pending(v, &r->listed, true, n);
}

static bool span_pending(const struct nominate_view *v,
			 const struct nominate_record *r, struct nomination *n)
{
	if (r->path && is_pending(v, r->path, false, n))
		return true;
	for (size_t k = 0; k < r->symbols_count; k++) {
		const char *name = r->symbols[k];

		if (is_file(name)) {
			if (is_pending(v, name + strlen(NOMINATE_FILE), false,
				       n))
				return true;
		} else if (v->pending_near(name, v->pending_arg)) {
			n->name = name;
			n->file = false;
			return true;
		}
	}
	return false;
}

/* The change gets an entry after the newest. */
static bool nominate_pending(const struct nominate_view *v,
			     const struct nominate_record *r,
			     struct nomination *n)
{
	bool run = r->kind == NOMINATE_RUN;

	if (!v->pending || r->kind == NOMINATE_SEARCH ||
	    !(run ? run_pending(v, r, n) : span_pending(v, r, n)))
		return false;
	n->action = run ? NOMINATE_RERUN : NOMINATE_DROP;
	n->why = WHY_PENDING;
	n->by = v->head;
	n->entry = v->head + 1;
	return true;
}

bool nominate(const struct nominate_view *v, const struct nominate_record *r,
	      struct nomination *ret)
{
	struct nomination n;
	bool nominated = false;

	/* Hits beyond hits_count are never read and stay uninitialised. */
	n.action = NOMINATE_KEEP;
	n.why = WHY_UNTOUCHED;
	n.entry = n.by = 0;
	n.drifted = n.hits_count = 0;
	n.name = "";
	n.file = false;
	if (r->kind == NOMINATE_RUN)
		nominated = nominate_run(v, r, &n);
	else if (r->kind != NOMINATE_SEARCH)
		nominated = nominate_span(v, r, &n);
	if (!nominated || n.action == NOMINATE_KEEP)
		nominated = nominate_pending(v, r, &n) || nominated;
	assert(!nominated || n.entry > r->birth);
	assert(!nominated ||
	       (r->kind == NOMINATE_RUN) == (n.action == NOMINATE_RERUN ||
					     n.action == NOMINATE_KEEP));
	if (nominated)
		*ret = n;
	return nominated;
}

/* -- Reasons. */

/* The name without its module: Class.method, function, module. */
static const char *short_name(const char *name)
{
	const char *dot = strrchr(name, '.'), *before;

	if (!dot)
		return name;
	before = memrchr(name, '.', (size_t)(dot - name));
	before = before ? before + 1 : name;
	return *before >= 'A' && *before <= 'Z' ? before : dot + 1;
}

/* What a process is called; "": nothing is known of it. */
static const char *command_of(const struct nominate_process *p)
{
	if (p->comm && *p->comm)
		return p->comm;
	return p->cmdline ? p->cmdline : "";
}

static void say_process(FILE *out, const struct nominate_process *p,
			bool plainly)
{
	char name[QUOTE_COMMAND_MAX + 1];

	if (p->origin == ENTRY_OUTSIDE) {
		(void)fputs(plainly ? "somebody else"
				    : "from outside the mount",
			    out);
	} else if (*command_of(p)) {
		(void)fputs(quote_command(command_of(p), name), out);
		if (!plainly)
			(void)fprintf(out, ", pid %" PRIu32, p->pid);
	} else if (plainly) {
		(void)fputs("an unknown process", out);
	} else {
		(void)fprintf(out, "pid %" PRIu32, p->pid);
	}
}

/* Of so many authors each is named. */
#define NAMED_MAX 8

static void say_processes(FILE *out, const struct nominate_author *who,
			  bool plainly)
{
	size_t named = who->count < NAMED_MAX ? who->count : NAMED_MAX;

	for (size_t k = 0; k < named; k++) {
		bool last = k > 0 && k + 1 == who->count;

		if (k > 0)
			(void)fputs(!plainly ? "; "
				    : last   ? " and "
					     : ", ",
				    out);
		say_process(out, &who->at[k], plainly);
	}
	if (named < who->count)
		(void)fprintf(out, " and %zu more", who->count - named);
}

/*
 * `plainly`: for a reader who knows nothing of mounts, entries and processes.
 */
static void say_author(FILE *out, const struct nominate_author *who,
		       bool plainly)
{
	const struct nominate_process *first = who->at;

	if (!who->count)
		return;
	if (first->origin == ENTRY_RECOVERED) {
		(void)fputs(plainly ? " between two sessions"
				    : " (found by comparing the tree)",
			    out);
		return;
	}
	if (who->count == 1 && first->origin == ENTRY_MOUNT &&
	    !*command_of(first) && (plainly || !first->pid))
		return;
	(void)fputs(plainly ? " by " : " (", out);
	say_processes(out, who, plainly);
	if (!plainly)
		(void)fputc(')', out);
}

static void say_lines(FILE *out, const struct nomination *n,
		      const struct nominate_record *r)
{
	bool lines = n->file && n->why == WHY_EDITED && r->start && r->end;
	char quoted[QUOTE_NAME_SIZE];
	const char *name =
		quote_name(n->file ? n->name : short_name(n->name), quoted);

	if (lines && r->start == r->end)
		(void)fprintf(out, "line %" PRIu32 " of %s was", r->start,
			      name);
	else if (lines)
		(void)fprintf(out, "lines %" PRIu32 "-%" PRIu32 " of %s were",
			      r->start, r->end, name);
	else
		(void)fprintf(out, "%s was", name);
}

/* How a sentence of say_why() continues. */
static const struct nominate_phrase {
	const char *link; /* words before the number of the entry */
	bool author;	  /* name the author after the number */
	bool doer;	  /* name the author in nominate_words() */
} phrases[] = {
	[WHY_EDITED] = { " by entry", true, true },
	[WHY_REMOVED] = { " by entry", true, true },
	[WHY_CALLS] = { " with entry", true, false },
	[WHY_READS] = { " by entry", true, true },
	[WHY_OPENED] = { " by entry", true, true },
	[WHY_APPEARED] = { " with entry", true, false },
	[WHY_LISTED] = { " with entry", true, false },
	[WHY_ANY] = { ", by entry", true, false },
	[WHY_GAP] = { ", up to entry", false, false },
	[WHY_LONG_AGO] = { ", up to entry", false, false },
	[WHY_UNTOUCHED] = { " up to entry", false, false },
	[WHY_PENDING] = { ", after entry", false, false },
};

static void say_why(FILE *out, const struct nomination *n,
		    const struct nominate_record *r,
		    const struct nominate_author *who)
{
	char quoted[QUOTE_NAME_SIZE], other[QUOTE_NAME_SIZE];
	const char *name = n->file ? n->name : short_name(n->name);

	name = quote_name(*name ? name : ".", quoted);
	switch (n->why) {
	case WHY_EDITED:
	case WHY_REMOVED:
		say_lines(out, n, r);
		(void)fputs(n->why == WHY_EDITED ? " edited" : " removed", out);
		break;
	case WHY_CALLS:
		(void)fprintf(out, "the calls from or to %s changed", name);
		break;
	case WHY_READS:
		(void)fprintf(out, "what %s reads or names was changed", name);
		break;
	case WHY_OPENED:
		(void)fprintf(out, "%s, which the run opened, was changed",
			      name);
		break;
	case WHY_APPEARED:
		(void)fprintf(out,
			      "%s, which the run looked for in vain, appeared",
			      name);
		break;
	case WHY_LISTED:
		(void)fprintf(out, "names in %s, which the run listed, changed",
			      name);
		break;
	case WHY_ANY:
		(void)fprintf(out, "%s was changed since the run",
			      who->path && *who->path
				      ? quote_name(who->path, other)
				      : "something");
		break;
	case WHY_GAP:
		(void)fputs("some changes were not recorded", out);
		break;
	case WHY_PENDING:
		if (n->file && !*n->name)
			(void)fputs("files are being changed", out);
		else
			(void)fprintf(out,
				      n->file ? "%s is being changed"
					      : "the calls from or to %s "
						"are being changed",
				      name);
		break;
	case WHY_LONG_AGO:
		(void)fputs("more has changed since than is remembered", out);
		break;
	case WHY_UNTOUCHED:
		(void)fputs("nothing the run read or looked for was touched",
			    out);
		break;
	}
}

/* Close `out` and return its text. */
static char *said(FILE *out, char **text)
{
	if (fclose(out) == 0 && *text)
		return *text;
	free(*text);
	return must_calloc(1, 1);
}

char *nominate_words(const struct nomination *n,
		     const struct nominate_record *r,
		     const struct nominate_author *who)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert(n->why < sizeof(phrases) / sizeof(*phrases));
	if (!out)
		return must_calloc(1, 1);
	say_why(out, n, r, who);
	if (phrases[n->why].doer)
		say_author(out, who, true);
	return said(out, &text);
}

char *nominate_reason(const struct nomination *n,
		      const struct nominate_record *r,
		      const struct nominate_author *who)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert(n->why < sizeof(phrases) / sizeof(*phrases));
	if (!out)
		return must_calloc(1, 1);
	say_why(out, n, r, who);
	(void)fprintf(out, "%s %" PRIu64, phrases[n->why].link, n->by);
	if (phrases[n->why].author)
		say_author(out, who, false);
	if (n->drifted > 1)
		(void)fprintf(out, ", and %zu more symbol%s it covers drifted",
			      n->drifted - 1, n->drifted > 2 ? "s" : "");
	return said(out, &text);
}
