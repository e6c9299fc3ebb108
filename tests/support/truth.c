#include "tests/support/truth.h"

#include <stdio.h>
#include <string.h>

#include <xxhash.h>

#include "graph/base/alloc.h"
#include "manager/decide/notes.h"

static char *own_text(const char *text)
{
	char *copy = must_alloc(strlen(text) + 1);

	memcpy(copy, text, strlen(text) + 1);
	return copy;
}

static void record_release(struct truth_record *r)
{
	free(r->id);
	free(r->command);
	free(r->alias);
	array_release(&r->region);
	array_release(&r->views);
}

void truth_release(struct truth *t)
{
	for (uint32_t f = 0; f < TRUTH_FILES; f++) {
		for (uint32_t i = 0; i < t->files[f].lines.count; i++)
			free(t->files[f].lines.at[i].text);
		array_release(&t->files[f].lines);
	}
	for (uint32_t i = 0; i < t->records.count; i++)
		record_release(&t->records.at[i]);
	array_release(&t->records);
	array_release(&t->seen);
	array_release(&t->changes);
	for (uint32_t i = 0; i < t->edits.count; i++)
		free(t->edits.at[i].id);
	array_release(&t->edits);
}

char *truth_text(const struct truth *t, uint32_t file)
{
	const struct truth_file *f = &t->files[file];
	struct buf b = BUF((size_t)4 << 20);

	for (uint32_t i = 0; i < f->lines.count; i++) {
		(void)buf_add(&b, f->lines.at[i].text,
			      strlen(f->lines.at[i].text));
		(void)buf_add(&b, "\n", 1);
	}
	(void)buf_add(&b, "", 1);
	return b.data;
}

/* -- Changes of lines, and of the records that hold them. */

static uint32_t place_in(const struct truth_record *r, uint32_t line)
{
	for (uint32_t i = 0; i < r->region.count; i++)
		if (r->region.at[i] == line)
			return i;
	return UINT32_MAX;
}

static const struct truth_line *find_line(const struct truth_file *f,
					  uint32_t id)
{
	for (uint32_t i = 0; i < f->lines.count; i++)
		if (f->lines.at[i].id == id)
			return &f->lines.at[i];
	return NULL;
}

static uint64_t hash_of(const struct truth *t, const struct truth_record *r)
{
	const struct truth_file *f = &t->files[r->file];
	uint64_t hash = f->there ? 1 : 2;

	for (uint32_t i = 0; f->there && i < r->region.count; i++) {
		const struct truth_line *l = find_line(f, r->region.at[i]);

		if (l)
			hash = XXH3_64bits_withSeed(l->text, strlen(l->text),
						    hash);
	}
	return hash;
}

static void look_again(struct truth *t, struct truth_record *r, bool own)
{
	uint64_t hash = hash_of(t, r);

	if (!own)
		r->others = t->time;
	if (!r->views.count || array_last(&r->views)->hash != hash)
		array_push(&r->views, ((struct truth_view){ t->time, hash }));
}

/* Of all records of the file that hold `line`. */
static void touched(struct truth *t, uint32_t file, uint32_t line, bool own)
{
	t->files[file].written = t->time;
	array_push(&t->changes, ((struct truth_change){ file, t->time }));
	for (uint32_t i = 0; i < t->records.count; i++) {
		struct truth_record *r = &t->records.at[i];

		if (!r->command && r->file == file &&
		    (line == UINT32_MAX || place_in(r, line) != UINT32_MAX))
			look_again(t, r, own);
	}
}

void truth_put(struct truth *t, uint32_t file, uint32_t at, const char *text,
	       bool own)
{
	struct truth_line *l = &t->files[file].lines.at[at];

	t->time++;
	free(l->text);
	l->text = own_text(text);
	touched(t, file, l->id, own);
}

/* Between two lines of a record, or at the end of one that has no end. */
static void join_region(struct truth_record *r, uint32_t before, uint32_t id,
			uint32_t after)
{
	uint32_t a = before ? place_in(r, before) : UINT32_MAX;
	uint32_t b = after ? place_in(r, after) : UINT32_MAX;
	bool inside = a != UINT32_MAX && b != UINT32_MAX;

	if (r->whole)
		inside = inside || (!before && b != UINT32_MAX) ||
			 (!after && a != UINT32_MAX);
	if (!inside)
		return;
	a = a == UINT32_MAX ? 0 : a + 1;
	array_push(&r->region, id);
	memmove(&r->region.at[a + 1], &r->region.at[a],
		(r->region.count - 1 - a) * sizeof(*r->region.at));
	r->region.at[a] = id;
}

void truth_insert(struct truth *t, uint32_t file, uint32_t at, const char *text,
		  bool own)
{
	struct truth_file *f = &t->files[file];
	struct truth_line new = { ++t->ids, own_text(text) };

	t->time++;
	for (uint32_t i = 0; i < t->records.count; i++)
		if (!t->records.at[i].command && t->records.at[i].file == file)
			join_region(&t->records.at[i],
				    at ? f->lines.at[at - 1].id : 0, new.id,
				    at < f->lines.count ? f->lines.at[at].id
							: 0);
	array_push(&f->lines, new);
	memmove(&f->lines.at[at + 1], &f->lines.at[at],
		(f->lines.count - 1 - at) * sizeof(*f->lines.at));
	f->lines.at[at] = new;
	touched(t, file, new.id, own);
}

void truth_take(struct truth *t, uint32_t file, uint32_t at, bool own)
{
	struct truth_file *f = &t->files[file];
	uint32_t id = f->lines.at[at].id;

	t->time++;
	free(f->lines.at[at].text);
	f->lines.count--;
	memmove(&f->lines.at[at], &f->lines.at[at + 1],
		(f->lines.count - at) * sizeof(*f->lines.at));
	touched(t, file, id, own);
}

void truth_remove(struct truth *t, uint32_t file)
{
	t->time++;
	t->files[file].there = false;
	touched(t, file, UINT32_MAX, false);
}

void truth_restore(struct truth *t, uint32_t file)
{
	t->time++;
	t->files[file].there = true;
	touched(t, file, UINT32_MAX, false);
}

void truth_read(struct truth *t, const struct talk *talk, const char *id,
		uint32_t file, struct truth_span span, const char *alias)
{
	struct truth_record *r = array_add(&t->records);
	const struct truth_file *f = &t->files[file];

	r->id = own_text(id);
	r->talk = talk;
	r->file = file;
	r->alias = alias ? own_text(alias) : NULL;
	r->whole = span.whole;
	for (uint32_t i = span.first; i < span.last; i++)
		array_push(&r->region, f->lines.at[i].id);
	look_again(t, r, true);
	r->born = t->time;
}

void truth_run(struct truth *t, const struct talk *talk, const char *id,
	       const char *command, uint32_t opened)
{
	struct truth_record *r = array_add(&t->records);

	r->id = own_text(id);
	r->talk = talk;
	r->command = own_text(command);
	r->opened = opened;
	r->born = t->time;
}

void truth_edited(struct truth *t, const char *id, uint32_t file, uint32_t from)
{
	array_push(&t->edits,
		   ((struct truth_edit){ own_text(id), file, from, t->time }));
}

void truth_forget(struct truth *t, const char *id)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < t->records.count; i++)
		if (strcmp(t->records.at[i].id, id) == 0)
			record_release(&t->records.at[i]);
		else
			t->records.at[kept++] = t->records.at[i];
	t->records.count = kept;
}

char *truth_show(const struct truth_file *f, struct truth_span span,
		 const char *format, const char *end)
{
	struct buf b = BUF((size_t)4 << 20);
	char number[32];

	for (uint32_t i = span.first; i < span.last; i++) {
		if (*format) {
			int n = snprintf(number, sizeof(number),
					 strcmp(format, "cat -n") == 0 ? "%6u\t"
					 : strcmp(format, ": ") == 0   ? "%u: "
								       : "%u\t",
					 i + 1);

			(void)buf_add(&b, number, (size_t)n);
		}
		(void)buf_add(&b, f->lines.at[i].text,
			      strlen(f->lines.at[i].text));
		if (i + 1 < span.last)
			(void)buf_add(&b, "\n", 1);
	}
	(void)buf_add(&b, end, strlen(end) + 1);
	return b.data;
}

/* -- The request sent. */

/* Since which request has the model seen this without a gap? */
static uint32_t since(struct truth *t, const struct talk *talk,
		      uint32_t request, const char *salt, struct text text)
{
	uint64_t hash = XXH3_64bits_withSeed(text.at, text.len,
					     XXH3_64bits(salt, strlen(salt)));
	struct truth_seen *s = NULL;

	for (uint32_t i = 0; i < t->seen.count && !s; i++)
		if (t->seen.at[i].talk == talk && t->seen.at[i].hash == hash)
			s = &t->seen.at[i];
	if (!s) {
		s = array_add(&t->seen);
		s->talk = talk;
		s->hash = hash;
		s->time = t->time;
		s->request = request;
	}
	if (s->request + 1 < request)
		s->time = t->time;
	s->request = request;
	return s->time;
}

static bool has(struct text t, const char *what)
{
	return memmem(t.at, t.len, what, strlen(what)) != NULL;
}

static bool begins(struct text t, const char *what)
{
	return t.len >= strlen(what) && memcmp(t.at, what, strlen(what)) == 0;
}

/* The start of our next line from `at` on, or the end. */
static size_t next_mark(struct text t, size_t at)
{
	while (at < t.len) {
		const char *p;

		if (begins((struct text){ t.at + at, t.len - at }, NOTES_MARK))
			return at;
		p = memchr(t.at + at, '\n', t.len - at);
		if (!p)
			break;
		at = (size_t)(p - t.at) + 1;
	}
	return t.len;
}

static struct text first_line(struct text t)
{
	const char *p = memchr(t.at, '\n', t.len);

	return (struct text){ t.at, p ? (size_t)(p - t.at) : t.len };
}

static bool is_note(struct text section)
{
	struct text line = first_line(section);

	return !begins(line, NOTES_MARK " removed") &&
	       (has(line, "shown above") || has(line, " ran before later "));
}

/* A result's text without the notes behind it. */
static struct text without_notes(struct text t)
{
	size_t at = next_mark(t, 0);

	while (at < t.len && !is_note((struct text){ t.at + at, t.len - at }))
		at = next_mark(t, at + 1);
	while (at && t.at[at - 1] == '\n')
		at--;
	return (struct text){ t.at, at };
}

struct belief {
	uint32_t time; /* the time as of which the lines are known */
	bool outdated; /* the record is called outdated */
};

static bool names(struct text section, const char *path)
{
	size_t at = strlen(NOTES_MARK) + 1, len = strlen(path);

	return section.len > at + len &&
	       memcmp(section.at + at, path, len) == 0 &&
	       (section.at[at + len] == ',' || section.at[at + len] == ' ');
}

/* Are the lines that a diff adds lines of the file? */
static bool diff_is_true(const struct truth_file *f, struct text diff)
{
	while (diff.len) {
		struct text line = first_line(diff);
		size_t step = line.len < diff.len ? line.len + 1 : line.len;
		bool found = !begins(line, "| +");

		if (!found) {
			line.at += 2;
			line.len -= 2;
		}
		for (uint32_t i = 0; !found && i < f->lines.count; i++)
			found = strlen(f->lines.at[i].text) == line.len - 1 &&
				memcmp(f->lines.at[i].text, line.at + 1,
				       line.len - 1) == 0;
		if (!found)
			return false;
		diff.at += step;
		diff.len -= step;
	}
	return true;
}

/* Does the line about runs name the command? It stands in quotation marks. */
static bool names_run(struct text line, const char *command)
{
	char *quoted;
	bool found;

	if (!command || !has(line, " ran before later changes"))
		return false;
	quoted = own_text(command);
	for (char *at = quoted; (at = strchr(at, '`'));)
		*at = '\'';
	found = has(line, quoted) || has(line, "earlier commands");
	free(quoted);
	return found;
}

/* `place`: the call behind whose result the note stands. */
static const char *apply_section(struct truth *t, const struct truth_record *r,
				 uint32_t request, const char *place,
				 struct text section, struct belief *b)
{
	const struct truth_file *f = &t->files[r->file];
	struct text line = first_line(section);
	uint32_t time;

	if (names_run(line, r->command ? r->command : r->alias))
		b->outdated = true;
	if (r->command)
		return NULL;
	if (!names(section, f->path) && !(r->alias && names(section, r->alias)))
		return NULL;
	time = since(t, r->talk, request, place, section);
	if (has(line, "; read it again") || has(line, "is out of date") ||
	    has(line, "no longer exists")) {
		b->outdated = true;
	} else if (has(line, "What is different now")) {
		struct text diff = section;

		diff.at += line.len;
		diff.len -= line.len;
		if (time == t->time && !diff_is_true(f, diff))
			return "a difference adds lines the file has not";
		b->time = time > b->time ? time : b->time;
	}
	return NULL;
}

/* Apply the notes in an item's text to the belief. */
static const char *apply_notes(struct truth *t, const struct truth_record *r,
			       uint32_t request, const char *place,
			       struct text text, struct belief *b)
{
	size_t at = next_mark(text, 0);
	const char *wrong = NULL, *heard;

	while (at < text.len) {
		size_t next = next_mark(text, at + 1);
		struct text section = { text.at + at, next - at };

		while (section.len && section.at[section.len - 1] == '\n')
			section.len--;
		heard = is_note(section) ? apply_section(t, r, request, place,
							 section, b)
					 : NULL;
		wrong = wrong ? wrong : heard;
		at = next;
	}
	return wrong;
}

/* Is every numbered line the file's line of that number? */
static bool numbers_are_true(const struct truth_file *f, struct text text)
{
	while (text.len) {
		struct text line = first_line(text);
		size_t step = line.len < text.len ? line.len + 1 : line.len;
		const char *tab = memchr(line.at, '\t', line.len);
		unsigned long n = tab ? strtoul(line.at, NULL, 10) : 0;
		size_t rest = tab ? line.len - (size_t)(tab + 1 - line.at) : 0;

		text.at += step;
		text.len -= step;
		if (!n || begins(line, NOTES_MARK) ||
		    (rest == 0 && n == f->lines.count + 1))
			continue;
		if (n > f->lines.count ||
		    strlen(f->lines.at[n - 1].text) != rest ||
		    memcmp(f->lines.at[n - 1].text, tab + 1, rest) != 0)
			return false;
	}
	return true;
}

static uint32_t count_lines(struct text text)
{
	uint32_t n = 0;

	for (size_t i = 0; i < text.len; i++)
		n += text.at[i] == '\n';
	return n;
}

/* Apply the text that stands in a read's place. */
static const char *see(struct truth *t, const struct truth_record *r,
		       uint32_t request, struct text shown, struct belief *b)
{
	const struct truth_file *f = &t->files[r->file];

	if (!has(shown, NOTES_MARK))
		return NULL;
	if (has(shown, NOTES_MARK " removed")) {
		b->outdated = true;
		return NULL;
	}
	b->time = since(t, r->talk, request, r->id, shown);
	if (b->time != t->time)
		return NULL;
	if (!f->there)
		return "a file that is gone is shown anew";
	if (!numbers_are_true(f, shown))
		return "what is shown anew is not what the file has";
	/* A header of a few lines, one for a newline, one of ours. */
	if (count_lines(shown) > f->lines.count + 8)
		return "what is shown anew is longer than the file";
	return NULL;
}

static uint64_t view_at(const struct truth_record *r, uint32_t time)
{
	uint64_t hash = 0;

	for (uint32_t i = 0; i < r->views.count; i++)
		if (r->views.at[i].time <= time)
			hash = r->views.at[i].hash;
	return hash;
}

/* Does the edit's result stand behind `item`? */
static bool stands_behind(const struct transcript *body, uint32_t item,
			  const struct truth_edit *e)
{
	for (uint32_t i = item + 1; i < body->items_count; i++)
		if (body->items[i].kind == ITEM_RESULT &&
		    body->items[i].id.len == strlen(e->id) &&
		    memcmp(body->items[i].id.at, e->id, strlen(e->id)) == 0)
			return true;
	return false;
}

/* Apply the model's own edits behind `item` to the belief, oldest first. */
static void apply_edits(const struct truth *t, const struct truth_record *r,
			const struct transcript *body, uint32_t item,
			struct belief *b)
{
	for (uint32_t i = 0; i < t->edits.count; i++) {
		const struct truth_edit *e = &t->edits.at[i];

		if (e->file == r->file && e->to > b->time &&
		    view_at(r, b->time) == view_at(r, e->from) &&
		    stands_behind(body, item, e))
			b->time = e->to;
	}
}

/* Is the change one that an edit behind the run made? */
static bool is_in_view(const struct truth *t, const struct transcript *body,
		       uint32_t item, const struct truth_change *c)
{
	for (uint32_t i = 0; i < t->edits.count; i++) {
		const struct truth_edit *e = &t->edits.at[i];

		if (e->file == c->file && c->time > e->from &&
		    c->time <= e->to && stands_behind(body, item, e))
			return true;
	}
	return false;
}

static bool is_believed(const struct truth *t, const struct truth_record *r,
			const struct transcript *body, uint32_t item,
			struct belief *b)
{
	if (b->outdated)
		return true;
	if (!r->command) {
		apply_edits(t, r, body, item, b);
		return view_at(r, b->time) == array_last(&r->views)->hash;
	}
	for (uint32_t i = 0; i < t->changes.count; i++) {
		const struct truth_change *c = &t->changes.at[i];

		if (c->time > r->born && r->opened >> c->file & 1 &&
		    !is_in_view(t, body, item, c))
			return false;
	}
	return true;
}

static struct truth_record *find_record(struct truth *t,
					const struct talk *talk, struct text id)
{
	for (uint32_t i = 0; i < t->records.count; i++)
		if (t->records.at[i].talk == talk &&
		    strlen(t->records.at[i].id) == id.len &&
		    memcmp(t->records.at[i].id, id.at, id.len) == 0)
			return &t->records.at[i];
	return NULL;
}

/* The text of an item, each piece on lines of its own. */
static struct text text_of(struct transcript *t, uint32_t item)
{
	const struct item *i = &t->items[item];
	size_t len = i->pieces_count;
	char *out;

	for (uint32_t k = 0; k < i->pieces_count; k++)
		len += i->pieces[k].span.end - i->pieces[k].span.start;
	out = arena_take(&t->arena, len + 1);
	len = 0;
	for (uint32_t k = 0; k < i->pieces_count; k++) {
		struct text p = transcript_piece(t, &i->pieces[k], &t->arena);

		memcpy(out + len, p.at, p.len);
		len += p.len;
		out[len++] = '\n';
	}
	return (struct text){ out, len };
}

static const char *judge_record(struct truth *t, const struct truth_record *r,
				uint32_t request, struct transcript *body,
				uint32_t item)
{
	struct belief b = { .time = r->born };
	struct text text = text_of(body, item);
	const char *wrong = NULL, *heard;
	char place[64] = "";

	if (r->command)
		b.outdated = has(without_notes(text), NOTES_MARK " removed");
	else
		wrong = see(t, r, request, without_notes(text), &b);
	for (uint32_t i = item; i < body->items_count; i++) {
		const struct item *at = &body->items[i];

		if (at->kind != ITEM_RESULT && at->kind != ITEM_USER)
			continue;
		/* The record's own text is no note, but may end in one. */
		text = text_of(body, i);
		if (at->kind == ITEM_RESULT)
			(void)snprintf(place, sizeof(place), "note at %.*s",
				       (int)at->id.len, at->id.at);
		heard = apply_notes(t, r, request, place, text, &b);
		wrong = wrong ? wrong : heard;
	}
	if (!wrong && !is_believed(t, r, body, item, &b))
		wrong = r->command ? "a run is stale and nobody says so"
				   : "a read is stale and nobody says so";
	return wrong;
}

const char *truth_judge(struct truth *t, const struct talk *talk,
			uint32_t request, const char *sent, size_t len)
{
	struct transcript body = { 0 };
	const char *wrong = NULL;

	if (transcript_init(&body, talk->dialect, sent, len) < 0)
		return "what was sent is no body";
	/* Judge all records: each pass updates what was seen. */
	for (uint32_t i = 0; i < body.items_count; i++) {
		const struct truth_record *r;
		const char *why;

		if (body.items[i].kind != ITEM_RESULT)
			continue;
		r = find_record(t, talk, body.items[i].id);
		why = r ? judge_record(t, r, request, &body, i) : NULL;
		if (!why)
			continue;
		wrong = why;
		(void)snprintf(t->about, sizeof(t->about),
			       "%s: %s (time %u, born %u)", r->id,
			       r->command ? r->command : t->files[r->file].path,
			       t->time, r->born);
	}
	transcript_release(&body);
	return wrong;
}

/* -- The frame. */

static bool same_bytes(const struct transcript *a, const struct item *x,
		       const struct transcript *b, const struct item *y)
{
	size_t len = x->span.end - x->span.start;

	return y->span.end - y->span.start == len &&
	       memcmp(a->body + x->span.start, b->body + y->span.start, len) ==
		       0;
}

/* The user's words, and behind them a note that says it is not theirs. */
static bool same_words(struct transcript *a, const struct item *x,
		       struct transcript *b, const struct item *y)
{
	static const char note[] =
		"\n\n" NOTES_MARK " This is an automatic note";
	struct text was = transcript_text(a, x, &a->arena);
	struct text now = transcript_text(b, y, &b->arena);

	if (x->kind != ITEM_USER || y->kind != ITEM_USER ||
	    x->marked != y->marked || was.len > now.len)
		return false;
	now.len -= was.len;
	return memcmp(was.at, now.at, was.len) == 0 &&
	       begins((struct text){ now.at + was.len, now.len }, note);
}

/* The ids of the user's texts are made up from their neighbours. */
static bool same_item(const struct transcript *a, const struct item *x,
		      const struct transcript *b, const struct item *y)
{
	if (x->kind != y->kind ||
	    (x->kind != ITEM_USER &&
	     (x->id.len != y->id.len ||
	      memcmp(x->id.at, y->id.at, x->id.len) != 0)))
		return false;
	return x->kind == ITEM_RESULT || same_bytes(a, x, b, y) ||
	       (x->marked && x->hash == y->hash);
}

bool truth_same_frame(enum dialect d, const char *was, size_t was_len,
		      const char *now, size_t now_len)
{
	struct transcript a, b;
	uint32_t k = 0;
	bool same = true;

	if (transcript_init(&a, d, was, was_len) < 0)
		return false;
	if (transcript_init(&b, d, now, now_len) < 0) {
		transcript_release(&a);
		return false;
	}
	for (uint32_t i = 0; same && i < a.items_count; i++) {
		/* Our note is one more block. */
		while (k < b.items_count && b.items[k].kind == ITEM_USER &&
		       b.items[k].pieces_count == 1 &&
		       begins(transcript_piece(&b, b.items[k].pieces, &b.arena),
			      NOTES_MARK))
			k++;
		same = k < b.items_count &&
		       (same_item(&a, &a.items[i], &b, &b.items[k]) ||
			same_words(&a, &a.items[i], &b, &b.items[k]));
		k++;
	}
	same = same && a.marks == b.marks && a.tools_hash == b.tools_hash &&
	       a.system_hash == b.system_hash && a.messages == b.messages;
	transcript_release(&a);
	transcript_release(&b);
	return same;
}
