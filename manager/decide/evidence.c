#include "manager/decide/evidence.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <xxhash.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/base/clock.h"
#include "manager/decide/linediff.h"

#define VERSIONS_MAX 32
/* Entries examined one by one; beyond, no change counts as the agent's own. */
#define SINCE_MAX 256
/* A run that opened more files is treated as if it opened all. */
#define OPENED_MAX 2000
/* A tape that takes this long for one answer is busy. */
#define SLOW_NS (5 * NS_PER_MS)
/* Files compared with a command's output, and bytes allowed around one. */
#define FILES_TRIED 8
#define AROUND_MAX  600

bool evidence_late(const struct evidence *e)
{
	int64_t now_ns = clock_mono_ns();

	return e->late || now_ns >= e->client->deadline_ns ||
	       (now_ns >= e->rule_ns && e->client->slowest_ns < SLOW_NS);
}

/* Each question's result passes here. */
static int asked(struct evidence *e, int rc)
{
	e->late |= rc == -ETIMEDOUT;
	return rc;
}

void evidence_init(struct evidence *e)
{
	assert(e->client && e->c && e->roots.repo);
	assert(e->lower <= e->n);
	e->reads_result = 1;
	e->entries_known = e->n > e->lower && !e->first &&
			   asked(e, client_since(e->client, e->lower, SINCE_MAX,
						 &e->entries)) == 0 &&
			   !e->entries.more;
	if (e->n <= e->lower && !e->first)
		e->entries_known = true;
}

const struct client_text *evidence_text(struct evidence *e, uint32_t path,
					uint64_t n)
{
	const struct client_span all = { .path = conversation_name(e->c, path),
					 .n = n };
	struct client_source source = { .path = NULL };
	struct evidence_file *f;

	for (uint32_t i = 0; i < e->files.count; i++) {
		f = e->files.at[i];
		if (f->path == path && f->n == n)
			return f->result < 0 ? NULL : &f->text;
	}
	f = must_calloc(1, sizeof(*f));
	f->path = path;
	f->n = n;
	f->result = asked(e, client_source(e->client, &all, &source));
	f->text = source.text;
	if (f->result == 0 && f->text.binary)
		f->result = -ENOENT;
	f->real = source.path ? intern_add(e->c->names, source.path,
					   strlen(source.path))
			      : path;
	free(source.path);
	array_push(&e->files, f);
	return f->result < 0 ? NULL : &f->text;
}

/* The path of the file that `path` leads to over symbolic links. */
static uint32_t real_path(struct evidence *e, uint32_t path)
{
	(void)evidence_text(e, path, CLIENT_NOW);
	for (uint32_t i = 0; i < e->files.count; i++)
		if (e->files.at[i]->path == path &&
		    e->files.at[i]->n == CLIENT_NOW)
			return e->files.at[i]->real;
	return path;
}

uint32_t evidence_name(struct evidence *e, const char *path)
{
	return real_path(e, intern_add(e->c->names, path, strlen(path)));
}

bool evidence_entry_on(const struct client_entry *a, const char *path)
{
	return strcmp(a->path, path) == 0 ||
	       (a->path2 && strcmp(a->path2, path) == 0);
}

/* The newest entry on `path` since `lower`; 0: none known. */
static uint64_t newest_entry(const struct evidence *e, uint32_t path)
{
	const char *name = conversation_name(e->c, path);

	for (uint32_t i = e->entries.count; i-- > 0;)
		if (evidence_entry_on(&e->entries.at[i], name))
			return e->entries.at[i].n;
	return 0;
}

bool evidence_touched(const struct evidence *e, uint32_t path)
{
	return !e->entries_known || newest_entry(e, path);
}

bool evidence_shows(const struct record *r, const char *text, size_t len)
{
	struct linediff_lines shown, file;
	uint32_t first = r->shape.first ? r->shape.first - 1 : 0;
	bool same = r->shape.exact && r->content.len;

	linediff_lines(&shown, r->content.at, r->content.len);
	linediff_lines(&file, text, len);
	if (first + shown.rows.count > file.rows.count)
		same = false;
	if (r->shape.whole && first + shown.rows.count != file.rows.count)
		same = false;
	for (uint32_t i = 0; same && i < shown.rows.count; i++) {
		const struct linediff_line *a = &shown.rows.at[i];
		const struct linediff_line *b = &file.rows.at[first + i];

		same = a->len == b->len && memcmp(a->at, b->at, a->len) == 0;
	}
	linediff_lines_release(&shown);
	linediff_lines_release(&file);
	return same;
}

static struct evidence_history *history_of(struct evidence *e, uint32_t path)
{
	struct evidence_history *h;

	for (uint32_t i = 0; i < e->histories.count; i++)
		if (e->histories.at[i]->path == path)
			return e->histories.at[i];
	h = must_calloc(1, sizeof(*h));
	h->path = path;
	h->result = asked(e, client_versions(e->client,
					     conversation_name(e->c, path),
					     VERSIONS_MAX, &h->versions));
	h->texts = must_calloc(h->versions.count + 1, sizeof(*h->texts));
	for (uint32_t i = 0; i < h->versions.count; i++)
		h->texts[i].result = 1;
	array_push(&e->histories, h);
	return h;
}

static void history_free(struct evidence_history *h)
{
	for (uint32_t i = 0; i < h->versions.count; i++)
		free(h->texts[i].text.at);
	free(h->texts);
	client_versions_release(&h->versions);
	free(h);
}

void evidence_release(struct evidence *e)
{
	client_entries_release(&e->entries);
	readset_release(&e->reads);
	for (uint32_t i = 0; i < e->files.count; i++) {
		free(e->files.at[i]->text.at);
		free(e->files.at[i]);
	}
	array_release(&e->files);
	for (uint32_t i = 0; i < e->histories.count; i++)
		history_free(e->histories.at[i]);
	array_release(&e->histories);
	client_symbols_release(&e->symbols);
}

const struct client_symbols *evidence_symbols(struct evidence *e, uint32_t path)
{
	const struct client_span all = { .path = conversation_name(e->c, path),
					 .n = CLIENT_NOW };

	/* One file suffices: records of a file come one after the other. */
	if (e->symbols_asked && e->symbols_path == path)
		return &e->symbols;
	client_symbols_release(&e->symbols);
	e->symbols_path = path;
	e->symbols_asked = true;
	(void)asked(e, client_symbols(e->client, &all, &e->symbols));
	return &e->symbols;
}

/* -ENOENT: the file did not exist, or its text was not kept. */
static int version_text(struct evidence *e, struct evidence_history *h,
			uint32_t i, const struct client_text **ret)
{
	struct evidence_file *f = &h->texts[i];

	if (f->result > 0 && !h->versions.at[i].hash[0])
		f->result = -ENOENT;
	if (f->result > 0)
		f->result = asked(e, client_content(e->client,
						    h->versions.at[i].hash,
						    &f->text));
	if (f->result == 0 && f->text.binary)
		f->result = -ENOENT;
	*ret = &f->text;
	return f->result;
}

/* Take the birth from the version whose text the record shows. */
static int match_version(struct evidence *e, struct held *h,
			 const struct record *r)
{
	struct evidence_history *of = history_of(e, h->referents.at[0].path);
	const struct client_version *v = of->versions.at;
	const struct client_text *text;
	int rc = of->result;

	for (uint32_t i = 0; rc == 0 && i < of->versions.count; i++) {
		rc = version_text(e, of, i, &text);
		if (rc == 0 && evidence_shows(r, text->at, text->len)) {
			uint64_t until = i ? v[i - 1].n - 1 : e->n;

			h->born = true;
			h->birth = e->lower < until ? e->lower : until;
			if (e->first || h->birth < v[i].n)
				h->birth = v[i].n;
			return 0;
		}
		rc = client_is_unknown(rc) ? 0 : rc;
	}
	return rc;
}

static int read_birth(struct evidence *e, struct held *h,
		      const struct record *r)
{
	uint32_t path = h->referents.at[0].path;
	const struct client_text *now;
	uint64_t newest;
	int rc;

	h->birth = e->lower;
	if (h->referents.count > 1 || !r->shape.exact || !r->content.len)
		return 0;
	now = evidence_text(e, path, CLIENT_NOW);
	if (now && e->entries_known && evidence_shows(r, now->at, now->len)) {
		newest = newest_entry(e, path);
		h->birth = newest > e->lower ? newest : e->lower;
		h->born = true;
		return 0;
	}
	rc = match_version(e, h, r);
	if (rc < 0 && !client_is_unknown(rc))
		return rc;
	h->strange = !h->born && (e->first || newest_entry(e, path)) &&
		     !(now && evidence_shows(r, now->at, now->len));
	return 0;
}

/* The edit's own entry: number `before` (from 0) on its path. */
static uint64_t edit_entry(const struct evidence *e, uint32_t path,
			   uint32_t before)
{
	const char *name = conversation_name(e->c, path);
	uint64_t n = 0;

	for (uint32_t i = 0; i < e->entries.count; i++) {
		if (!evidence_entry_on(&e->entries.at[i], name))
			continue;
		n = e->entries.at[i].n;
		if (before-- == 0)
			break;
	}
	return n;
}

static int edit_birth(struct evidence *e, struct held *h,
		      const struct record *r)
{
	uint32_t path = h->referents.at[0].path, before = 0;
	uint64_t own;
	struct held *other, *next;
	int rc = read_birth(e, h, r);

	if (rc < 0 || h->born)
		return rc;
	HASH_ITER (hh, e->c->held, other, next)
		if (other != h && other->fresh && other->item < h->item &&
		    other->kind == RECORD_EDIT && other->referents.count &&
		    other->referents.at[0].path == path)
			before++;
	own = edit_entry(e, path, before);
	if (own)
		h->birth = own;
	/* It may show a state between two of several edits. */
	h->strange = h->strange && e->first;
	return 0;
}

/* Is process `pid` the entry's author, or an ancestor of it? */
static bool wrote(const struct client_entry *a, uint32_t pid)
{
	if (pid == a->pid)
		return true;
	for (size_t k = 0; k < 8 && a->ancestors[k]; k++)
		if (pid == a->ancestors[k])
			return true;
	return false;
}

static bool by_a_call(const struct evidence *e, const struct client_entry *a)
{
	for (uint32_t i = 0; i < e->reads.processes.count; i++)
		if (wrote(a, e->reads.processes.at[i].pid))
			return true;
	return false;
}

static bool has_path(const struct readset_paths *p,
		     const struct client_entry *a)
{
	for (uint32_t i = 0; i < p->count; i++)
		if (evidence_entry_on(a, p->at[i]))
			return true;
	return false;
}

/* Is `path` an entry of `directory` itself? */
static bool lies_in(const char *directory, const char *path)
{
	size_t len = strcmp(directory, ".") == 0 ? 0 : strlen(directory);
	const char *slash = path ? strrchr(path, '/') : NULL;

	if (!path || !slash || len == 0)
		return path && !slash && len == 0;
	return (size_t)(slash - path) == len &&
	       memcmp(path, directory, len) == 0;
}

static bool has_directory(const struct readset_paths *p,
			  const struct client_entry *a)
{
	for (uint32_t i = 0; i < p->count; i++)
		if (lies_in(p->at[i], a->path) || lies_in(p->at[i], a->path2))
			return true;
	return false;
}

/* May a process have read the file before the entry changed it? */
static bool seen_before(const struct evidence *e, const struct client_entry *a)
{
	for (uint32_t i = 0; i < e->reads.processes.count; i++) {
		const struct readset_process *p = &e->reads.processes.at[i];

		if (p->pid != a->pid && p->first_ns <= a->at_ns &&
		    (has_path(&p->opened, a) || has_path(&p->missed, a) ||
		     (!p->imports && has_directory(&p->listed, a))))
			return true;
	}
	return false;
}

/* Did another command or an edit happen in the same turn? */
static bool has_company(const struct evidence *e, const struct held *h)
{
	const struct held *o, *next;

	if (e->crowded)
		return true;
	HASH_ITER (hh, e->c->held, o, next)
		if (o != h && o->fresh &&
		    (o->command || o->kind == RECORD_EDIT))
			return true;
	return false;
}

/*
 * The birth of a command: the entry before the first one that changed a file
 * which a process had read by then. With several commands in the turn, a
 * process cannot be attributed to one of them, so each process counts for all.
 * Entries that a run alone in its turn wrote itself do not count, even if one
 * of its processes read the file first: another run would do the same.
 */
static uint64_t behind_entries(const struct evidence *e, const struct held *h)
{
	bool alone = !has_company(e, h);

	if (!e->entries_known)
		return e->lower;
	for (uint32_t i = 0; i < e->entries.count; i++) {
		const struct client_entry *a = &e->entries.at[i];
		bool own = alone && h->kind == RECORD_RUN && by_a_call(e, a);

		if (!own && seen_before(e, a))
			return a->n - 1;
	}
	return e->n;
}

static void take_paths(struct conversation *c, const struct readset_paths *from,
		       uint32_t **at, uint32_t *count, uint32_t *size)
{
	ARRAY(uint32_t) ids = { 0 };

	free(*at);
	for (uint32_t i = 0; i < from->count; i++)
		array_push(&ids, intern_add(c->names, from->at[i],
					    strlen(from->at[i])));
	*at = ids.at;
	*count = ids.count;
	*size = ids.size;
}

/* Is [at, at + len) the whole output of the command? */
static bool is_all(const struct record *r, const char *at, size_t len)
{
	return at == r->output.at && len == r->output.len;
}

/*
 * Recognise output that is a file's text. A few words may stand around it, if
 * the command opened no other file they could come from.
 */
static void find_file(struct evidence *e, struct held *h,
		      const struct record *r)
{
	size_t best = 0;

	if (h->opened.count > FILES_TRIED)
		return;
	for (uint32_t i = 0; i < h->opened.count; i++) {
		const struct client_text *now =
			evidence_text(e, h->opened.at[i], CLIENT_NOW);
		size_t len = now ? now->len : 0;
		const char *at;

		while (len && now->at[len - 1] == '\n')
			len--;
		if (len <= best || len > r->text.len ||
		    r->text.len - len > AROUND_MAX)
			continue;
		at = memmem(r->text.at, r->text.len, now->at, len);
		if (!at || (h->opened.count > 1 && !is_all(r, at, len)))
			continue;
		best = len;
		h->file = true;
		h->head = (uint32_t)(at - r->text.at);
		h->tail = (uint32_t)(r->text.len - len - h->head);
		h->referents.count = 0;
		array_push(&h->referents,
			   ((struct referent){ h->opened.at[i], 0, 0 }));
	}
}

/* Note that the import of `module` from directory `in` found no file. */
static void miss(struct evidence *e, struct held *h, const char *in,
		 const char *module, const char *end)
{
	const char *directory = strcmp(in, ".") == 0 ? "" : in;
	char path[PATH_MAX];
	int len = snprintf(path, sizeof(path), "%s%s%s%s", directory,
			   *directory ? "/" : "", module, end);

	if (len > 0 && (size_t)len < sizeof(path))
		array_push(&h->missed,
			   intern_add(e->c->names, path, (size_t)len));
}

/*
 * Python lists the directories it imports from, so it never looks up the name
 * of a module that is absent. A module named in its ModuleNotFoundError counts
 * as missed in each of these directories.
 */
static void miss_modules(struct evidence *e, struct held *h, struct text said)
{
	static const char words[] = "No module named '";
	const char *at = said.at, *end = said.at + said.len;
	char module[256];

	while ((at = memmem(at, (size_t)(end - at), words, strlen(words)))) {
		size_t len = 0;

		for (at += strlen(words); at < end && *at != '\''; at++)
			if (len + 1 < sizeof(module))
				module[len++] = (char)(*at == '.' ? '/' : *at);
		module[len] = '\0';
		for (uint32_t i = 0; i < e->reads.searched.count; i++) {
			miss(e, h, e->reads.searched.at[i], module, ".py");
			miss(e, h, e->reads.searched.at[i], module,
			     "/__init__.py");
		}
	}
}

/* Does a test command discover its tests, or does it name them? */
static bool is_discovery(const char *command)
{
	const char *at = strstr(command ? command : "test", "unittest");

	if (!at)
		return !command || strstr(command, "test") ||
		       strstr(command, "tox") || strstr(command, "nox") ||
		       strstr(command, "nose");
	for (at += strlen("unittest"); *at == ' '; at += strcspn(at, " ")) {
		at += strspn(at, " ");
		if (strchr("-0123456789<>|&;", *at))
			continue;
		return strncmp(at, "discover", 8) == 0;
	}
	return true;
}

/* The files a run depends on; none where they are too many or unknown. */
static void take_reads(struct evidence *e, struct held *h,
		       const struct record *record)
{
	const struct readset *r = &e->reads;

	h->opened.count = h->missed.count = h->listed.count = 0;
	h->observed = r->opened.count <= OPENED_MAX &&
		      r->missed.count <= OPENED_MAX &&
		      r->listed.count + r->searched.count <= OPENED_MAX &&
		      !r->by_age;
	if (!h->observed)
		return;
	take_paths(e->c, &r->opened, &h->opened.at, &h->opened.count,
		   &h->opened.size);
	take_paths(e->c, &r->missed, &h->missed.at, &h->missed.count,
		   &h->missed.size);
	take_paths(e->c, &r->listed, &h->listed.at, &h->listed.count,
		   &h->listed.size);
	miss_modules(e, h, record->text);
	for (uint32_t i = 0; i < r->searched.count; i++)
		if (is_discovery(record->command))
			array_push(&h->listed,
				   intern_add(e->c->names, r->searched.at[i],
					      strlen(r->searched.at[i])));
}

/* What the turn's commands read; once, and of no first request. */
static void ask_reads(struct evidence *e)
{
	if (e->reads_result > 0)
		e->reads_result =
			e->first ? -ENOENT
				 : asked(e, readset_ask(e->client, e->from_ns,
							e->to_ns, &e->reads));
}

static int run_birth(struct evidence *e, struct held *h, const struct record *r)
{
	ask_reads(e);
	if (e->reads_result == -ETIMEDOUT)
		return -ETIMEDOUT;
	h->born = true;
	h->birth = e->first || has_company(e, h) ? e->lower : e->n;
	if (e->reads_result < 0 || e->reads.processes.count == 0) {
		/* An unknown command that opened nothing claims nothing. */
		h->tracked = h->kind == RECORD_RUN;
		return 0;
	}
	h->birth = behind_entries(e, h);
	take_reads(e, h, r);
	if (h->kind == RECORD_SHELL) {
		h->tracked = e->reads.opened.count && r->output.len;
		if (h->tracked)
			find_file(e, h, r);
	}
	return 0;
}

/*
 * Complete a relative path whose directory is not known: the one opened file
 * whose path ends so, `taken` excepted. False: there is none, or several.
 */
static bool find_opened(struct evidence *e, const char *path, const char *taken,
			char *ret, size_t size)
{
	size_t len = strlen(path), found = 0;

	ask_reads(e);
	for (uint32_t i = 0; i < e->reads.opened.count; i++) {
		const char *opened = e->reads.opened.at[i];
		size_t all = strlen(opened);

		if (all >= len && all < size && strcmp(opened, taken) != 0 &&
		    strcmp(opened + all - len, path) == 0 &&
		    (all == len || opened[all - len - 1] == '/')) {
			memcpy(ret, opened, all + 1);
			found++;
		}
	}
	return found == 1;
}

/* Can `r` be a result of reading this file? */
static bool may_show(struct evidence *e, const struct record *r, uint32_t path)
{
	const struct client_text *now = evidence_text(e, path, CLIENT_NOW);

	return now && (!r->content.len || evidence_shows(r, now->at, now->len));
}

/*
 * A shell may have changed its directory (cd) since, and a file of that name
 * may exist here too: then the text shown and the files opened decide.
 */
static void look_elsewhere(struct evidence *e, const struct record *r,
			   const char *path, struct referent *ref)
{
	const struct roots bare = { .repo = e->roots.repo };
	char name[PATH_MAX], other[PATH_MAX];
	uint32_t found;

	if (!evidence_path(&bare, NULL, path, name, sizeof(name)) ||
	    !find_opened(e, name, conversation_name(e->c, ref->path), other,
			 sizeof(other)))
		return;
	found = intern_add(e->c->names, other, strlen(other));
	if (may_show(e, r, found) || !evidence_text(e, ref->path, CLIENT_NOW))
		ref->path = found;
}

static void add_referent(struct evidence *e, struct held *h,
			 const struct record *r, const struct record_file *f)
{
	char path[PATH_MAX];
	struct referent ref = { 0, f->start, f->end };

	if (!evidence_path(&e->roots, r->dir, f->path, path, sizeof(path)))
		return;
	ref.path = intern_add(e->c->names, path, strlen(path));
	if (f->path[0] != '/' && !(r->dir && r->dir[0] == '/') &&
	    !may_show(e, r, ref.path))
		look_elsewhere(e, r, f->path, &ref);
	ref.path = real_path(e, ref.path);
	array_push(&h->referents, ref);
}

static void add_referents(struct evidence *e, struct held *h,
			  const struct record *r)
{
	struct record_file own = { r->path, r->start, r->end, false };

	h->referents.count = 0;
	if (r->files_count > 1 && r->kind == RECORD_READ) {
		for (uint32_t i = 0; i < r->files_count; i++)
			if (!r->files[i].wrote && h->referents.count < 16)
				add_referent(e, h, r, &r->files[i]);
		return;
	}
	if (r->shape.first && r->shape.lines) {
		/* Of a whole file, a line inserted before the first counts too.
		 */
		own.start = r->shape.whole && r->shape.first == 1
				    ? 0
				    : r->shape.first;
		own.end = r->shape.whole ? 0
					 : r->shape.first + r->shape.lines - 1;
	}
	if (r->path)
		add_referent(e, h, r, &own);
}

void evidence_meet(struct held *h, const struct record *r)
{
	h->kind = r->kind;
	h->command = r->command != NULL;
	h->said = r->command ? (uint32_t)XXH3_64bits(r->command,
						     strlen(r->command))
			     : 0;
	h->bytes = r->text.len;
	h->tokens = (uint32_t)cost_tokens(r->text.len);
}

/* Did a command of this turn open the one file that its result shows? */
static bool was_opened(struct evidence *e, const struct held *h,
		       const struct record *r)
{
	const char *name;

	if (!r->command || h->referents.count != 1)
		return false;
	ask_reads(e);
	name = conversation_name(e->c, h->referents.at[0].path);
	return readset_opened(&e->reads, name);
}

static int find_birth(struct evidence *e, struct held *h,
		      const struct record *r)
{
	h->birth = e->lower;
	h->strange = false;
	if (r->failed && r->kind != RECORD_RUN && r->kind != RECORD_SHELL) {
		h->tracked = false;
		return 0;
	}
	switch (r->kind) {
	case RECORD_READ:
		add_referents(e, h, r);
		h->tracked = h->referents.count > 0;
		return h->tracked ? read_birth(e, h, r) : 0;
	case RECORD_EDIT:
		add_referents(e, h, r);
		h->tracked = h->referents.count > 0 && r->shape.lines > 0;
		return h->tracked ? edit_birth(e, h, r) : 0;
	case RECORD_RUN:
	case RECORD_SHELL:
		h->tracked = true;
		return run_birth(e, h, r);
	case RECORD_STUB:
		add_referents(e, h, r);
		h->tracked = false;
		return 0;
	case RECORD_SEARCH:
	case RECORD_OTHER:
		break;
	}
	h->tracked = false;
	return 0;
}

int evidence_birth(struct evidence *e, struct held *h, const struct record *r)
{
	int rc = find_birth(e, h, r);
	bool lines = h->kind == RECORD_READ || h->kind == RECORD_EDIT;

	h->verified = rc == 0 &&
		      (h->file || (lines && (h->born || was_opened(e, h, r))));
	return rc;
}
