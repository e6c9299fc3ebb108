#include "manager/decide/notes.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "graph/base/cleanup.h"
#include "graph/base/quote.h"

/* Longer commands and reasons are cut: enough to recognise them. */
#define WORDS_MAX 100
/* Commands that one line names. */
#define RUNS_NAMED 20

/*
 * Lines of the repository stand between two of these, and each begins with a
 * bar, so none of them can end the quotation or begin as our sentences do.
 */
#define FENCE "```\n"
#define BAR   "| "

__attribute__((format(printf, 2, 3))) static int add(struct buf *out,
						     const char *format, ...)
{
	CLEANUP(free_p) char *text = NULL;
	va_list args;
	int len;

	va_start(args, format);
	len = vasprintf(&text, format, args);
	va_end(args);
	if (len < 0) {
		text = NULL;
		return -ENOMEM;
	}
	return buf_add(out, text, (size_t)len) < 0 ? -EMSGSIZE : 0;
}

/* Append `text` with our own mark, where it has it, made recognisable. */
static int add_defused(struct buf *out, const char *text, size_t len)
{
	const char *end = text + len, *at = text;

	while ((at = memchr(at, '[', (size_t)(end - at)))) {
		at++;
		if (!quote_is_mark(at - 1, (size_t)(end - at) + 1))
			continue;
		if (buf_add(out, text, (size_t)(at - text)) < 0 ||
		    buf_add(out, "\\", 1) < 0)
			return -EMSGSIZE;
		text = at;
	}
	return buf_add(out, text, (size_t)(end - text)) < 0 ? -EMSGSIZE : 0;
}

/* Append lines of the repository as a quotation. */
static int add_quoted(struct buf *out, const char *text, size_t len)
{
	const char *end = text + len;

	if (buf_add(out, FENCE, strlen(FENCE)) < 0)
		return -EMSGSIZE;
	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		size_t row = (size_t)((newline ? newline : end) - text);

		if (buf_add(out, BAR, strlen(BAR)) < 0 ||
		    add_defused(out, text, row) < 0 ||
		    buf_add(out, "\n", 1) < 0)
			return -EMSGSIZE;
		text += row + (newline != NULL);
	}
	return buf_add(out, FENCE, strlen(FENCE)) < 0 ? -EMSGSIZE : 0;
}

/*
 * `text` as one line of at most WORDS_MAX bytes, in whole characters, without
 * our mark.
 */
static void one_line(char *line, const char *text)
{
	size_t len = strlen(text);

	if (len > WORDS_MAX) {
		len = WORDS_MAX;
		while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80)
			len--;
	}
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		line[i] = (char)(c < ' ' || c == 0x7f		    ? ' '
				 : quote_is_mark(text + i, len - i) ? '('
								    : c);
	}
	memcpy(line + len, text[len] ? "..." : "", text[len] ? 4 : 1);
}

#define ONE_LINE(name, text)      \
	char name[WORDS_MAX + 4]; \
	one_line(name, (text) ? (text) : "")

#define NAMED(name, text)           \
	char name[QUOTE_NAME_SIZE]; \
	(void)quote_name((text), name)

int note_changes(struct buf *out, const char *path, const char *why,
		 const char *diff, size_t len)
{
	NAMED(name, path);
	size_t begin = out->len;
	ONE_LINE(reason, why);

	if (add(out,
		NOTES_MARK " %s, shown above, is outdated (%s). What is "
			   "different now:\n",
		name, reason) < 0 ||
	    add_quoted(out, diff, len) < 0) {
		out->len = begin;
		return -EMSGSIZE;
	}
	return 0;
}

int note_read_again(struct buf *out, const char *path, const char *why)
{
	NAMED(name, path);
	ONE_LINE(reason, why);

	return add(out,
		   NOTES_MARK " %s, shown above, is outdated (%s); read it "
			      "again.\n",
		   name, reason);
}

int note_moved(struct buf *out, const char *path, uint32_t line, int shift)
{
	NAMED(name, path);
	return add(out,
		   NOTES_MARK " %s: your edits moved what is shown above from "
			      "line %u on by %+d lines.\n",
		   name, line, shift);
}

int note_gone(struct buf *out, const char *path, const char *why)
{
	NAMED(name, path);
	ONE_LINE(reason, why);

	return add(out, NOTES_MARK " %s, shown above, no longer exists (%s).\n",
		   name, reason);
}

int note_outdated(struct buf *out, const char *what, const char *why)
{
	ONE_LINE(words, what);
	ONE_LINE(reason, why);

	return add(out, NOTES_MARK " %s, shown above, is out of date (%s).\n",
		   words, reason);
}

int note_elsewhere(struct buf *out, const char *path, const char *why)
{
	NAMED(name, path);
	ONE_LINE(reason, why);

	return add(out, NOTES_MARK " %s reads as shown above, but: %s.\n", name,
		   reason);
}

/* Append a command, in quotation marks that it cannot end itself. */
static int add_command(struct buf *out, const char *command)
{
	ONE_LINE(words, command);

	for (char *at = words; (at = strchr(at, '`'));)
		*at = '\'';
	return add(out, "`%s`", words);
}

int note_runs(struct buf *out, const char *const *commands, uint32_t count,
	      const char *why)
{
	size_t begin = out->len;
	uint32_t named = count < RUNS_NAMED ? count : RUNS_NAMED;
	ONE_LINE(reason, why);
	int rc = add(out, NOTES_MARK " ");

	assert(count > 0);
	/* The newest ones. */
	for (uint32_t i = count - named; i < count && rc == 0; i++) {
		rc = i > count - named ? add(out, ", ") : 0;
		if (rc == 0)
			rc = add_command(out, commands[i]);
	}
	if (rc == 0 && named < count)
		rc = add(out, " and %u earlier commands", count - named);
	if (rc == 0)
		rc = add(out,
			 " ran before later changes (%s); run %s again before "
			 "relying on %s.\n",
			 reason, count > 1 ? "them" : "it",
			 count > 1 ? "them" : "it");
	if (rc < 0)
		out->len = begin;
	return rc;
}

int note_unchecked(struct buf *out, const char *const *paths, uint32_t count,
		   uint32_t all)
{
	size_t begin = out->len;
	int rc = add(out, NOTES_MARK " ");

	assert(count <= all);
	for (uint32_t i = 0; i < count && rc == 0; i++) {
		NAMED(name, paths[i]);

		rc = add(out, "%s%s", i ? ", " : "", name);
	}
	if (rc == 0 && all > count)
		rc = add(out, " and %u more", all - count);
	if (rc == 0)
		rc = add(out,
			 "%s may have changed since: this could not be "
			 "checked yet.\n",
			 all ? ", shown above," : "What is shown above");
	if (rc < 0)
		out->len = begin;
	return rc;
}

int note_retrieved(struct buf *out, const char *text, size_t len)
{
	size_t begin = out->len;

	assert(len > 0);
	if (add(out, NOTES_MARK " What the next step may need:\n") < 0 ||
	    add_quoted(out, text, len) < 0) {
		out->len = begin;
		return -EMSGSIZE;
	}
	return 0;
}

int note_automatic(struct buf *out)
{
	return add(out, NOTES_MARK " This is an automatic note; the user did "
				   "not write it.\n");
}

int replacement_tombstone(struct buf *out, const char *path, uint32_t start,
			  uint32_t end, const char *why)
{
	NAMED(name, path);
	char lines[48] = "";
	ONE_LINE(reason, why);

	if (start && end)
		(void)snprintf(lines, sizeof(lines), ", lines %u-%u", start,
			       end);
	return add(out,
		   NOTES_MARK " removed (%s%s): %s. Read it again if it is "
			      "needed.",
		   name, lines, reason);
}

int replacement_gone(struct buf *out, const char *path, const char *why)
{
	NAMED(name, path);
	ONE_LINE(reason, why);

	return add(out, NOTES_MARK " removed: %s no longer exists (%s).", name,
		   reason);
}

int replacement_superseded(struct buf *out, const char *path, const char *why)
{
	NAMED(name, path);
	ONE_LINE(reason, why);

	return add(out,
		   NOTES_MARK " removed: %s is shown as it is now by a later "
			      "result (%s).",
		   name, reason);
}

int replacement_evicted(struct buf *out, const char *what)
{
	ONE_LINE(words, what);

	return add(out,
		   NOTES_MARK " removed: %s was finished with; ask for it "
			      "again if it is needed.",
		   words);
}

int replacement_rerun(struct buf *out, const char *command, const char *why)
{
	ONE_LINE(words, command);
	ONE_LINE(reason, why);

	return add(out,
		   NOTES_MARK " removed: this ran before later changes: %s. "
			      "Run it again: %s",
		   reason, words);
}

/* Lines [first, last) of the current file, in the tool's layout. */
static int add_lines(struct buf *out, const struct refresh *r,
		     const struct shape *shape, struct range lines)
{
	CLEANUP(free_p) char *text = NULL;
	const char *from;
	size_t len;
	int rc;

	assert(lines.first < lines.last);
	from = linediff_slice(&r->since->after, lines.first,
			      lines.last - lines.first, &len);
	rc = shape_render(shape, lines.first + 1, from, len, &text, &len);
	if (rc < 0)
		return rc;
	return add_defused(out, text, len);
}

static int add_gap(struct buf *out, uint32_t first, uint32_t last)
{
	if (first >= last)
		return 0;
	return add(out,
		   NOTES_MARK
		   " lines %u-%u are left out; they did not change\n",
		   first + 1, last);
}

/* The lines of `only` within `all`, and what is left out between. */
static int add_some(struct buf *out, const struct refresh *r, struct range all)
{
	struct shape plain = *r->shape;
	uint32_t at = all.first;
	int rc = 0;

	plain.head = plain.tail = (struct text){ "", 0 };
	plain.whole = plain.newline = false;
	for (uint32_t i = 0; i < r->only_count && rc == 0; i++) {
		struct range some = r->only[i];

		if (some.first < at)
			some.first = at;
		if (some.last > all.last)
			some.last = all.last;
		if (some.first >= some.last)
			continue;
		rc = add_gap(out, at, some.first);
		if (rc == 0)
			rc = add_lines(out, r, &plain, some);
		if (rc == 0 && out->data[out->len - 1] != '\n')
			rc = add(out, "\n");
		at = some.last;
	}
	return rc < 0 ? rc : add_gap(out, at, all.last);
}

int replacement_refresh(struct buf *out, const struct refresh *r)
{
	struct range all = { r->start ? r->start - 1 : 0,
			     r->end ? r->end : r->since->before.rows.count };
	size_t begin = out->len;
	NAMED(name, r->path);
	ONE_LINE(reason, r->why);
	int rc;

	if (!linediff_carry(r->since, &all.first, &all.last) &&
	    (r->start || r->end))
		return -ENOENT;
	/* A range that reached the file's begin or end still does. */
	if (!r->start)
		all.first = 0;
	if (!r->end || all.last > r->since->after.rows.count)
		all.last = r->since->after.rows.count;
	if (all.first >= all.last)
		return -ENOENT;
	if (r->only)
		rc = add_some(out, r, all);
	else
		rc = add_lines(out, r, r->shape, all);
	if (rc == 0 && out->len > begin && out->data[out->len - 1] != '\n')
		rc = add(out, "\n");
	if (rc == 0)
		rc = add(out,
			 NOTES_MARK " %s is shown as it is now, not as it was "
				    "when it was read: %s",
			 name, reason);
	if (rc < 0)
		out->len = begin;
	return rc < 0 && rc != -ENOMEM ? -EMSGSIZE : rc;
}
