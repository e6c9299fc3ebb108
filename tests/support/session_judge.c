/* Whether each read in a request sent is true, or something says it is not. */
#include "tests/support/session_i.h"

#include <stdio.h>
#include <string.h>

#include <xxhash.h>

#include "manager/decide/linediff.h"
#include "manager/decide/notes.h"
#include "manager/transcript/rewrite.h"

static bool begins(struct text t, const char *word)
{
	return t.len >= strlen(word) && memcmp(t.at, word, strlen(word)) == 0;
}

/*
 * The request that had the note `item` first. A note is known by its text and
 * by the call that it stands behind: another change may make the same text.
 */
static uint32_t first_seen(struct session *s, const struct transcript *t,
			   uint32_t item, struct text note)
{
	struct text id = { 0 };
	uint64_t hash;

	for (uint32_t i = 0; i <= item; i++)
		if (t->items[i].id.len)
			id = t->items[i].id;
	hash = XXH3_64bits_withSeed(note.at, note.len,
				    XXH3_64bits(id.at, id.len));
	for (uint32_t i = 0; i < s->notes.count; i++)
		if (s->notes.at[i].hash == hash)
			return s->notes.at[i].request;
	array_push(&s->notes, ((struct seen){ hash, s->totals.requests }));
	return s->totals.requests;
}

/* The note at the end of a text; empty: none. */
static struct text note_in(struct text x)
{
	static const char gap[] = REWRITE_GAP NOTES_MARK;
	const char *at = begins(x, NOTES_MARK)
				 ? x.at
				 : memmem(x.at, x.len, gap, strlen(gap));

	if (!at)
		return (struct text){ "", 0 };
	return (struct text){ at, x.len - (size_t)(at - x.at) };
}

static bool says(struct text x, const char *words)
{
	return memmem(x.at, x.len, words, strlen(words)) != NULL;
}

/* The newest request whose note behind `from` is about `path`, plus 1. */
static uint32_t told_until(struct session *s, struct transcript *t,
			   uint32_t from, const char *path)
{
	uint32_t until = 0;

	for (uint32_t i = from; i < t->items_count; i++) {
		uint32_t seen;
		struct text x;

		if (!t->items[i].pieces_count)
			continue;
		x = note_in(transcript_piece(t, t->items[i].pieces, &t->arena));
		if (!says(x, path))
			continue;
		seen = first_seen(s, t, i, x);
		if (says(x, "; read it again") ||
		    /* As long as nothing could be checked. */
		    ((s->away || s->troubled) &&
		     says(x, "not be checked yet")) ||
		    says(x, "no longer exists") || says(x, "out of date"))
			return UINT32_MAX;
		if (seen + 1 > until)
			until = seen + 1;
	}
	return until;
}

/* Does the call's result stand behind item `from`? */
static bool stands_behind(const struct transcript *t, uint32_t from,
			  const char *call)
{
	for (uint32_t i = from + 1; *call && i < t->items_count; i++)
		if (t->items[i].kind == ITEM_RESULT &&
		    t->items[i].id.len == strlen(call) &&
		    memcmp(t->items[i].id.at, call, strlen(call)) == 0)
			return true;
	return false;
}

/* Is the line of that number among those shown? */
static bool has_line(struct text shown, uint32_t line)
{
	struct linediff_lines l;
	bool found = !line;

	linediff_lines(&l, shown.at, shown.len);
	for (uint32_t i = 0; i < l.rows.count && !found; i++)
		found = strtoul(l.rows.at[i].at, NULL, 10) == line;
	linediff_lines_release(&l);
	return found;
}

/*
 * Each change of what item `from` shows since it was read must be in a note
 * behind it, or be what a call of an editing tool behind it says.
 */
static bool is_told(struct session *s, struct transcript *t, uint32_t from,
		    const char *path, struct text shown)
{
	uint32_t until = told_until(s, t, from, path), first = 0;

	/* It may have been shown anew, in its place. */
	if (says(shown, "is shown as it is now")) {
		uint32_t anew = first_seen(s, t, from, shown) + 1;

		until = anew > until ? anew : until;
	}
	for (uint32_t i = 0; i < s->readings.count; i++) {
		const char *call = s->readings.at[i].call;

		if (strlen(call) == t->items[from].id.len &&
		    memcmp(call, t->items[from].id.at, strlen(call)) == 0)
			first = s->readings.at[i].touched;
	}
	for (uint32_t i = first; i < s->touched.count; i++)
		if (strcmp(s->touched.at[i].path, path) == 0 &&
		    s->touched.at[i].request >= until &&
		    has_line(shown, s->touched.at[i].line) &&
		    !stands_behind(t, from, s->touched.at[i].call))
			return false;
	return true;
}

/* Is every numbered line the file's line of that number? */
static bool is_true(struct session *s, struct text shown, const char *path)
{
	struct linediff_lines a, b;
	size_t len;
	const char *text = recorded_text(s->files, path, &len);
	bool same = text != NULL;

	linediff_lines(&a, shown.at, shown.len);
	linediff_lines(&b, text, len);
	for (uint32_t i = 0; same && i < a.rows.count; i++) {
		const struct linediff_line *l = &a.rows.at[i];
		const char *tab = memchr(l->at, '\t', l->len);
		unsigned long n = tab ? strtoul(l->at, NULL, 10) : 0;
		size_t rest = tab ? l->len - (size_t)(tab + 1 - l->at) : 0;

		if (!tab || (rest == 0 && n == b.rows.count + 1))
			continue;
		same = n && n <= b.rows.count && b.rows.at[n - 1].len == rest &&
		       memcmp(b.rows.at[n - 1].at, tab + 1, rest) == 0;
	}
	linediff_lines_release(&a);
	linediff_lines_release(&b);
	return same;
}

void session_judge(struct session *s, struct transcript *t)
{
	static const char key[] = "\"file_path\":\"" REPO "/";

	for (uint32_t i = 0; i < t->items_count; i++) {
		const struct item *r = &t->items[i];
		const struct item *call;
		const char *at, *end;
		struct text shown;
		char path[256];

		if (r->kind != ITEM_RESULT || r->other == ITEM_NONE ||
		    !r->pieces_count)
			continue;
		call = &t->items[r->other];
		at = memmem(call->arguments.at, call->arguments.len, key,
			    strlen(key));
		if (!at || call->name.len != 4 ||
		    memcmp(call->name.at, "Read", 4) != 0)
			continue;
		at += strlen(key);
		end = strchr(at, '"');
		(void)snprintf(path, sizeof(path), "%.*s", (int)(end - at), at);
		shown = transcript_piece(t, r->pieces, &t->arena);
		shown.len -= note_in(shown).len;
		if (!is_true(s, shown, path) && !is_told(s, t, i, path, shown))
			s->totals.unflagged++;
	}
}
