#include "manager/record/record_parts.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "graph/base/array.h"
#include "graph/base/buf.h"

#define HEAD_MAX 2000 /* bytes searched for a wrapping's head or tail */

static bool starts(struct text t, size_t at, const char *what)
{
	size_t len = strlen(what);

	return t.len >= at + len && memcmp(t.at + at, what, len) == 0;
}

/* The offset of `what` in text[from, to), or SIZE_MAX. */
static size_t find(struct text t, size_t from, size_t to, const char *what)
{
	const char *p;

	if (from >= to || to > t.len)
		return SIZE_MAX;
	p = memmem(t.at + from, to - from, what, strlen(what));
	return p ? (size_t)(p - t.at) : SIZE_MAX;
}

static uint32_t number_at(struct text t, size_t at)
{
	uint32_t n = 0;

	while (at < t.len && isdigit((unsigned char)t.at[at]) && n < 100000000)
		n = n * 10 + (uint32_t)(t.at[at++] - '0');
	return n;
}

/* Is `before` followed by a number other than 0 ("exited with code 3")? */
static bool says_failed(struct text t, size_t to, const char *before)
{
	size_t at = find(t, 0, to, before);

	return at != SIZE_MAX && number_at(t, at + strlen(before)) != 0;
}

/* Wrappings of commands: a few lines about the process come first. */
static void peel_process(struct text t, struct peeled *p)
{
	size_t limit = t.len < HEAD_MAX ? t.len : HEAD_MAX, at;

	if (starts(t, 0, "Chunk ID: ") || starts(t, 0, "Wall time: ") ||
	    starts(t, 0, "Exit code: ") || starts(t, 0, "Script ")) {
		at = find(t, 0, limit, "Output:\n");
		if (at == SIZE_MAX)
			return;
		p->start = at + strlen("Output:\n");
		p->failed = says_failed(t, p->start, "exited with code ") ||
			    says_failed(t, p->start, "Exit code: ") ||
			    starts(t, 0, "Script failed");
		if (starts(t, p->start, "Warning: truncated output"))
			p->cut = true;
	} else if (starts(t, 0, "Exit code ")) {
		at = find(t, 0, limit, "\n");
		p->failed = true;
		p->start = at == SIZE_MAX ? t.len : at + 1;
	} else if (starts(t, 0, "Command: ")) {
		at = find(t, 0, limit, "\nOutput: ");
		p->start = at == SIZE_MAX ? 0 : at + strlen("\nOutput: ");
	} else if (starts(t, 0, "<untrusted_context>\nOutput: ")) {
		p->start = strlen("<untrusted_context>\nOutput: ");
	} else if (starts(t, 0, "<persisted-output>") ||
		   starts(t, 0, "...output truncated...")) {
		p->cut = true;
	}
}

/* Wrappings of files. */
static void peel_file(struct text t, struct peeled *p)
{
	static const char *const heads[] = {
		"<content>\n",
		"<file>\n",
		"\n\n---\n\n",
		"--- FILE CONTENT (truncated) ---\n",
	};
	size_t limit = t.len < HEAD_MAX ? t.len : HEAD_MAX, at;
	size_t shows = find(t, 0, limit, "Showing lines ");
	size_t i;

	if (find(t, 0, limit, "<type>directory</type>") != SIZE_MAX ||
	    starts(t, 0, "Here's the files and directories"))
		p->directory = true;
	for (i = 0; i < sizeof(heads) / sizeof(*heads); i++) {
		/* The last two only behind "Showing lines". */
		at = i < 2 ? (starts(t, 0, "<path>") || starts(t, 0, heads[i])
				      ? find(t, 0, limit, heads[i])
				      : SIZE_MAX)
			   : find(t, shows, limit, heads[i]);
		if (at == SIZE_MAX)
			continue;
		p->start = at + strlen(heads[i]);
		if (i >= 2) {
			p->cut = true;
			p->first =
				number_at(t, shows + strlen("Showing lines "));
		}
		return;
	}
	if (starts(t, 0, "Content of ") || starts(t, 0, "Here's the result ")) {
		at = find(t, 0, limit, ":\n");
		p->start = at == SIZE_MAX ? 0 : at + 2;
	}
}

/* Cut a tail off that begins with `begin` and ends the text with `end`. */
static bool cut_tail(struct text t, struct peeled *p, const char *begin,
		     const char *end)
{
	size_t n = strlen(end), from;
	const char *at = NULL, *last;

	if (p->end - p->start < n || memcmp(t.at + p->end - n, end, n) != 0)
		return false;
	/* Its last occurrence in the last HEAD_MAX bytes. */
	from = p->end - p->start > HEAD_MAX ? p->end - HEAD_MAX : p->start;
	last = t.at + from;
	while ((last = memmem(last, (size_t)(t.at + p->end - last), begin,
			      strlen(begin))) != NULL)
		at = last++;
	if (!at)
		return false;
	p->end = (size_t)(at - t.at);
	return true;
}

static void peel_tail(struct text t, struct peeled *p)
{
	static const char *const tails[][2] = {
		{ "\n\n<system-reminder>", "</system-reminder>" },
		{ "\n<system-reminder>", "</system-reminder>" },
		{ "\n\n<system-reminder>", "</system-reminder>\n" },
		{ "\n[This command modified ", "]" },
		{ "\n\n[Process exited with code ", "]" },
		{ "\n<shellId: ", ">" },
		{ "\n<exited with ", ">" },
		{ "\nError: ", "" }, /* only if the head is "Command: " */
		{ "\nExit Code: ", "</untrusted_context>" },
	};
	unsigned rounds = 0;
	size_t i = 0;

	while (i < sizeof(tails) / sizeof(*tails) && rounds < 8) {
		bool fits = i != 7 || starts(t, 0, "Command: ");

		if (fits && cut_tail(t, p, tails[i][0], tails[i][1])) {
			rounds++;
			i = 0;
		} else {
			i++;
		}
	}
	if (cut_tail(t, p, "\n\n[", " to continue.]"))
		p->cut = true;
}

/* Remarks about the file behind its lines. */
static void peel_file_end(struct text t, struct peeled *p)
{
	size_t from =
		p->end > p->start + HEAD_MAX ? p->end - HEAD_MAX : p->start;

	if (find(t, from, p->end, "\n(End of file") != SIZE_MAX)
		p->whole = true;
	if (find(t, from, p->end, "\n(Output capped") != SIZE_MAX)
		p->cut = true;
}

void shape_peel(struct text text, struct peeled *ret)
{
	*ret = (struct peeled){ .end = text.len };
	peel_process(text, ret);
	if (ret->start == 0)
		peel_file(text, ret);
	peel_tail(text, ret);
	peel_file_end(text, ret);
	assert(ret->start <= ret->end && ret->end <= text.len);
}

/* A line number as a tool writes it, and the separator behind it. */
struct prefix {
	uint32_t first;
	uint8_t width;
	bool zeros;
	const char *separator;
};

static bool read_prefix(struct text t, size_t at, size_t end,
			struct prefix *ret)
{
	static const char *const separators[] = { "\t",	 "\xe2\x86\x92", ": ",
						  " | ", "| ",		 ":",
						  "|" };
	size_t start = at, digits, i;

	while (at < end && t.at[at] == ' ' && at - start < 12)
		at++;
	digits = at;
	while (at < end && isdigit((unsigned char)t.at[at]) && at - digits < 9)
		at++;
	if (at == digits)
		return false;
	ret->first = number_at(t, digits);
	ret->zeros = t.at[digits] == '0';
	ret->width = 0;
	if (digits > start || ret->zeros)
		ret->width = (uint8_t)(at - start);
	for (i = 0; i < sizeof(separators) / sizeof(*separators); i++) {
		if (at + strlen(separators[i]) <= end &&
		    starts(t, at, separators[i])) {
			ret->separator = separators[i];
			return ret->first > 0;
		}
	}
	return false;
}

/* Runs for every line of every record that is read: no printf. */
static size_t print_number(const struct prefix *p, uint32_t n, char out[32])
{
	size_t len = 0, digits = 1, width;

	for (uint32_t rest = n; rest >= 10; rest /= 10)
		digits++;
	width = p->width > digits ? p->width : digits;
	if (width > 31)
		return 0;
	while (len + digits < width)
		out[len++] = p->zeros ? '0' : ' ';
	for (size_t at = width; at > len; n /= 10)
		out[--at] = (char)('0' + n % 10);
	return width;
}

static size_t line_end(struct text t, size_t at, size_t end)
{
	const char *p = memchr(t.at + at, '\n', end - at);

	return p ? (size_t)(p - t.at) : end;
}

/* Is line `n` at `at`? Then *ret is where its text begins. */
static bool is_line(struct text t, size_t at, size_t end,
		    const struct prefix *p, uint32_t n, size_t *ret)
{
	char number[32];
	size_t len = print_number(p, n, number), sep = strlen(p->separator);

	if (at + len + sep > end || memcmp(t.at + at, number, len) != 0 ||
	    memcmp(t.at + at + len, p->separator, sep) != 0)
		return false;
	*ret = at + len + sep;
	return true;
}

/* A final empty line whose separator the client trimmed off with the text. */
static bool is_trimmed_line(struct text t, size_t at, size_t end,
			    const struct prefix *p, uint32_t n)
{
	char number[32];
	size_t len = print_number(p, n, number);

	return at + len == end && memcmp(t.at + at, number, len) == 0;
}

bool shape_find(struct text text, struct peeled *p)
{
	struct prefix prefix;
	size_t at;

	for (at = p->start; at < p->end; at = line_end(text, at, p->end) + 1) {
		if (read_prefix(text, at, p->end, &prefix) &&
		    prefix.separator[0] != ':' && prefix.separator[0] != '|') {
			p->start = at;
			return true;
		}
	}
	return false;
}

bool shape_numbered(struct text text, struct peeled *p, struct arena *a,
		    struct record *r)
{
	struct shape *s = &r->shape;
	ARRAY(char) lines = { 0 };
	struct prefix prefix;
	size_t at = p->start, end = at, line;
	uint32_t n = 0;

	if (!read_prefix(text, p->start, p->end, &prefix))
		return false;
	while (at <= p->end &&
	       is_line(text, at, p->end, &prefix, prefix.first + n, &line)) {
		end = line_end(text, line, p->end);
		array_append(&lines, text.at + line, end - line);
		array_push(&lines, '\n');
		at = end + 1;
		n++;
	}
	if (n > 0 && at <= p->end &&
	    is_trimmed_line(text, at, p->end, &prefix, prefix.first + n)) {
		array_push(&lines, '\n');
		end = p->end;
		n++;
	}
	if (n > 0) {
		assert(p->start <= end && end <= text.len);
		s->first = prefix.first;
		s->lines = n;
		s->number = prefix.zeros ? "%0u" : "%u";
		s->width = prefix.width;
		s->separator = prefix.separator;
		s->head = (struct text){ text.at, p->start };
		s->tail = (struct text){ text.at + end, text.len - end };
		s->exact = true;
		r->content =
			(struct text){ arena_copy(a, lines.at, lines.count),
				       lines.count };
	}
	array_release(&lines);
	return n > 0;
}

void shape_raw(struct text text, const struct peeled *p, struct arena *a,
	       struct record *r)
{
	struct shape *s = &r->shape;
	size_t start = p->start, end = p->end, i;
	char *copy;

	s->number = s->separator = "";
	if (end > start && text.at[end - 1] == '\n')
		end--;
	else if (end <= start)
		return;
	assert(start <= end && end <= text.len);
	s->lines = 1;
	for (i = start; i < end; i = line_end(text, i, end) + 1)
		s->lines += i > start;
	s->lines += end > start && text.at[end - 1] == '\n';
	s->head = (struct text){ text.at, start };
	s->tail = (struct text){ text.at + end, text.len - end };
	s->exact = true;
	if (end < text.len && text.at[end] == '\n') {
		r->content = (struct text){ text.at + start, end - start + 1 };
		return;
	}
	copy = arena_take(a, end - start + 1);
	memcpy(copy, text.at + start, end - start);
	copy[end - start] = '\n';
	r->content = (struct text){ copy, end - start + 1 };
}

/* Add the tail, with the number in "total 18 lines" updated to `last`. */
static int add_tail(struct buf *out, const struct shape *s, uint32_t last)
{
	static const char mark[] = "(End of file - total ";
	size_t at = find(s->tail, 0, s->tail.len, mark);
	char number[32];
	int n, e;

	if (at == SIZE_MAX)
		return buf_add(out, s->tail.at, s->tail.len);
	at += strlen(mark);
	e = buf_add(out, s->tail.at, at);
	while (at < s->tail.len && isdigit((unsigned char)s->tail.at[at]))
		at++;
	n = snprintf(number, sizeof(number), "%u", last);
	if (e == 0 && n > 0)
		e = buf_add(out, number, (size_t)n);
	if (e == 0)
		e = buf_add(out, s->tail.at + at, s->tail.len - at);
	return e;
}

static int add_prefix(struct buf *out, const struct shape *s, uint32_t n)
{
	struct prefix p = { .width = s->width };
	char number[32];
	int e;

	if (!s->number || !*s->number)
		return 0;
	p.zeros = s->number[1] == '0';
	e = buf_add(out, number, print_number(&p, n, number));
	return e == 0 ? buf_add(out, s->separator, strlen(s->separator)) : e;
}

int shape_render(const struct shape *s, uint32_t first, const char *text,
		 size_t len, char **ret, size_t *ret_len)
{
	struct buf out = BUF(TRANSCRIPT_MAX);
	struct text t = { text, len };
	size_t at = 0, stop;
	uint32_t n = first;
	int e = buf_add(&out, s->head.at, s->head.len);

	if (len > 0 && text[len - 1] == '\n')
		t.len = --len;
	for (; e == 0; n++) {
		stop = line_end(t, at, len);
		if (n > first)
			e = buf_add(&out, "\n", 1);
		if (e == 0)
			e = add_prefix(&out, s, n);
		if (e == 0)
			e = buf_add(&out, text + at, stop - at);
		at = stop + 1;
		if (stop == len) {
			n++;
			break;
		}
	}
	if (e == 0 && s->newline) {
		e = buf_add(&out, "\n", 1);
		if (e == 0)
			e = add_prefix(&out, s, n);
	}
	if (e == 0)
		e = add_tail(&out, s, n - 1);
	if (e < 0) {
		buf_release(&out);
		return e;
	}
	*ret = out.data;
	*ret_len = out.len;
	return 0;
}
