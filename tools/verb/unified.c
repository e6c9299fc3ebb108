#include "tools/verb/unified.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/base/array.h"
#include "tape/ranges.h"
#include "tools/cli/say.h"

#define CONTEXT 3

/* The offset of each line, and of the end of the last. */
typedef ARRAY(size_t) line_starts;

struct unified_diff {
	FILE *out;
	struct unified_style style;
	const struct unified_side *side[2];
	line_starts starts[2];
};

static void find_lines(const struct unified_side *s, line_starts *ret)
{
	for (size_t at = 0; at < s->len;) {
		const char *nl = memchr(s->text + at, '\n', s->len - at);

		array_push(ret, at);
		at = nl ? (size_t)(nl + 1 - s->text) : s->len;
	}
	array_push(ret, s->len);
}

/* Print a TAB as it is and escape other control characters. */
static void print_text(FILE *out, const char *text, size_t len, bool safe)
{
	char *copy, *at;

	if (!safe) {
		(void)fwrite(text, 1, len, out);
		return;
	}
	copy = must_have(strndup(text, len));
	for (at = copy; at;) {
		char *tab = strchr(at, '\t');

		if (tab)
			*tab = '\0';
		(void)print_safe(out, at);
		if (tab)
			(void)fputc('\t', out);
		at = tab ? tab + 1 : NULL;
	}
	free(copy);
}

/* Print line `n` (from 0) of a side after a sign. */
static void print_line(const struct unified_diff *d, int side, uint32_t n,
		       char sign)
{
	const char *text = d->side[side]->text;
	enum colour c = sign == '+' ? COLOUR_GREEN : COLOUR_RED;
	bool coloured = d->style.colours && sign != ' ', ended;
	size_t from, to;

	assert(n + 1 < d->starts[side].count);
	from = d->starts[side].at[n];
	to = d->starts[side].at[n + 1];
	assert(from < to && to <= d->side[side]->len);
	ended = text[to - 1] == '\n';
	(void)fputs(colour_text(coloured, c), d->out);
	(void)fputc(sign, d->out);
	print_text(d->out, text + from, to - from - ended, d->style.terminal);
	(void)fputs(colour_text(coloured, COLOUR_NONE), d->out);
	(void)fputs(ended ? "\n" : "\n\\ No newline at end of file\n", d->out);
}

/* The number of lines before a range on one side. */
static uint32_t in_front(uint32_t at, uint32_t count)
{
	return count ? at - 1 : at;
}

/*
 * Ranges ascend, and between two of them, before the first and after the last,
 * both sides have the same number of lines.
 */
static void check_ranges(const struct ranges *l, uint32_t before_lines,
			 uint32_t after_lines)
{
	uint32_t before = 0, after = 0;

	for (size_t k = 0; k < l->count; k++) {
		const struct entry_range *r = &l->ranges[k];
		uint32_t b = in_front(r->before, r->before_count);
		uint32_t a = in_front(r->after, r->after_count);

		assert(b >= before && b - before == a - after);
		before = b + r->before_count;
		after = a + r->after_count;
	}
	assert(before <= before_lines);
	assert(before_lines - before == after_lines - after);
}

static void print_place(FILE *out, char sign, uint32_t from, uint32_t count)
{
	(void)fprintf(out, "%c%" PRIu32, sign, count ? from + 1 : from);
	if (count != 1)
		(void)fprintf(out, ",%" PRIu32, count);
}

/* Print one hunk: ranges `r` to `end`, with context lines. */
static void print_hunk(const struct unified_diff *d,
		       const struct entry_range *r,
		       const struct entry_range *end)
{
	const struct entry_range *last = end - 1;
	uint32_t lines = d->starts[0].count - 1;
	uint32_t first = in_front(r->before, r->before_count);
	uint32_t skip = first < CONTEXT ? first : CONTEXT;
	uint32_t from = first - skip, at = from;
	uint32_t to =
		in_front(last->before, last->before_count) + last->before_count;
	uint32_t after = in_front(r->after, r->after_count) - skip;
	uint32_t made;

	to = lines - to < CONTEXT ? lines : to + CONTEXT;
	made = to - from;
	for (const struct entry_range *k = r; k < end; k++)
		made += k->after_count - k->before_count;
	(void)fprintf(d->out, "%s@@ ",
		      colour_text(d->style.colours, COLOUR_CYAN));
	print_place(d->out, '-', from, to - from);
	(void)fputc(' ', d->out);
	print_place(d->out, '+', after, made);
	(void)fprintf(d->out, " @@%s\n",
		      colour_text(d->style.colours, COLOUR_NONE));
	for (; r < end; r++) {
		uint32_t b = in_front(r->before, r->before_count);
		uint32_t a = in_front(r->after, r->after_count);

		for (; at < b; at++)
			print_line(d, 0, at, ' ');
		for (; at < b + r->before_count; at++)
			print_line(d, 0, at, '-');
		for (uint32_t k = 0; k < r->after_count; k++)
			print_line(d, 1, a + k, '+');
	}
	for (; at < to; at++)
		print_line(d, 0, at, ' ');
}

static void print_name(const struct unified_diff *d, const char *mark,
		       const char *front, int side)
{
	const char *name = d->side[side]->name;

	(void)fprintf(d->out, "%s%s ",
		      colour_text(d->style.colours, COLOUR_BOLD), mark);
	if (name)
		(void)fputs(front, d->out);
	(void)print_safe(d->out, name ? name : "/dev/null");
	(void)fprintf(d->out, "%s\n",
		      colour_text(d->style.colours, COLOUR_NONE));
}

void unified_print(FILE *out, const struct unified_side *before,
		   const struct unified_side *after, struct unified_style style)
{
	struct unified_diff d = { .out = out,
				  .style = style,
				  .side = { before, after } };
	struct ranges l;

	ranges_init(&l, before->text, before->len, after->text, after->len);
	find_lines(before, &d.starts[0]);
	find_lines(after, &d.starts[1]);
	check_ranges(&l, d.starts[0].count - 1, d.starts[1].count - 1);
	if (l.count || !before->name != !after->name) {
		print_name(&d, "---", "a/", 0);
		print_name(&d, "+++", "b/", 1);
	}
	for (size_t k = 0; k < l.count;) {
		size_t end = k + 1;

		/* Hunks whose context lines meet become one. */
		while (end < l.count &&
		       in_front(l.ranges[end].before,
				l.ranges[end].before_count) <=
			       in_front(l.ranges[end - 1].before,
					l.ranges[end - 1].before_count) +
				       l.ranges[end - 1].before_count +
				       2 * CONTEXT)
			end++;
		print_hunk(&d, l.ranges + k, l.ranges + end);
		k = end;
	}
	array_release(&d.starts[0]);
	array_release(&d.starts[1]);
	ranges_release(&l);
}
