#include "manager/decide/notes.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "graph/base/cleanup.h"

/* Longer commands and reasons are cut: enough to recognise them. */
#define WORDS_MAX 100

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

/* `text` as one line of at most WORDS_MAX bytes, in whole characters. */
static void one_line(char *line, const char *text)
{
	size_t len = strlen(text);

	if (len > WORDS_MAX) {
		len = WORDS_MAX;
		while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80)
			len--;
	}
	for (size_t i = 0; i < len; i++)
		line[i] = (char)((unsigned char)text[i] < ' ' ? ' ' : text[i]);
	memcpy(line + len, text[len] ? "..." : "", text[len] ? 4 : 1);
}

#define ONE_LINE(name, text)      \
	char name[WORDS_MAX + 4]; \
	one_line(name, (text) ? (text) : "")

int note_changes(struct buf *out, const char *path, const char *why,
		 const char *diff, size_t len)
{
	size_t begin = out->len;
	ONE_LINE(reason, why);

	if (add(out,
		NOTES_MARK " %s, shown above, is outdated (%s). What is "
			   "different now:\n",
		path, reason) < 0 ||
	    buf_add(out, diff, len) < 0) {
		out->len = begin;
		return -EMSGSIZE;
	}
	return 0;
}

int note_read_again(struct buf *out, const char *path, const char *why)
{
	ONE_LINE(reason, why);

	return add(out,
		   NOTES_MARK " %s, shown above, is outdated (%s); read it "
			      "again.\n",
		   path, reason);
}

int note_own_edits(struct buf *out, const char *path)
{
	return add(out,
		   NOTES_MARK " %s as shown above is from before your "
			      "edits.\n",
		   path);
}

int note_gone(struct buf *out, const char *path, const char *why)
{
	ONE_LINE(reason, why);

	return add(out, NOTES_MARK " %s, shown above, no longer exists (%s).\n",
		   path, reason);
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
	ONE_LINE(reason, why);

	return add(out, NOTES_MARK " %s reads as shown above, but: %s.\n", path,
		   reason);
}

int note_run_again(struct buf *out, const char *command, const char *why)
{
	ONE_LINE(words, command);
	ONE_LINE(reason, why);

	return add(out,
		   NOTES_MARK " `%s` ran before later changes (%s); run it "
			      "again before relying on it.\n",
		   words, reason);
}

int note_retrieved(struct buf *out, const char *text, size_t len)
{
	size_t begin = out->len;

	assert(len > 0);
	if (add(out, NOTES_MARK " What the next step may need:\n") < 0 ||
	    buf_add(out, text, len) < 0 ||
	    (text[len - 1] != '\n' && buf_add(out, "\n", 1) < 0)) {
		out->len = begin;
		return -EMSGSIZE;
	}
	return 0;
}

int replacement_tombstone(struct buf *out, const char *path, uint32_t start,
			  uint32_t end, const char *why)
{
	char lines[48] = "";
	ONE_LINE(reason, why);

	if (start && end)
		(void)snprintf(lines, sizeof(lines), ", lines %u-%u", start,
			       end);
	return add(out,
		   NOTES_MARK " removed (%s%s): %s. Read it again if it is "
			      "needed.",
		   path, lines, reason);
}

int replacement_gone(struct buf *out, const char *path, const char *why)
{
	ONE_LINE(reason, why);

	return add(out, NOTES_MARK " removed: %s no longer exists (%s).", path,
		   reason);
}

int replacement_superseded(struct buf *out, const char *path, const char *why)
{
	ONE_LINE(reason, why);

	return add(out,
		   NOTES_MARK " removed: %s is shown as it is now by a later "
			      "result (%s).",
		   path, reason);
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
	return buf_add(out, text, len) < 0 ? -EMSGSIZE : 0;
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
			 r->path, reason);
	if (rc < 0)
		out->len = begin;
	return rc < 0 && rc != -ENOMEM ? -EMSGSIZE : rc;
}
