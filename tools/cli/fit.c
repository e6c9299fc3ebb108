#include "tools/cli/fit.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "graph/base/cleanup.h"
#include "tools/cli/say.h"

#define DOTS "..."

size_t safe_columns(const char *text)
{
	size_t columns = 0, len;

	for (; *text; text += len)
		columns += safe_character(text, &len);
	return columns;
}

size_t print_fitted(FILE *out, const char *text, size_t width)
{
	size_t left = safe_columns(text), half, columns = 0, len;
	CLEANUP(free_p) char *first = NULL;
	const char *at = text;

	if (left <= width || width < sizeof(DOTS))
		return print_safe(out, text);
	half = (width - strlen(DOTS)) / 2;
	for (; columns + safe_character(at, &len) <= half; at += len)
		columns += safe_character(at, &len);
	first = format_text("%.*s", (int)(at - text), text);
	for (left -= columns; left > width - strlen(DOTS) - half; at += len)
		left -= safe_character(at, &len);
	(void)print_safe(out, first);
	(void)fputs(DOTS, out);
	(void)print_safe(out, at);
	return columns + strlen(DOTS) + left;
}

void fit_columns(size_t room, size_t *widths, size_t count)
{
	size_t sum = 0, most;

	for (size_t i = 0; i < count; i++)
		sum += widths[i];
	for (; sum > room; sum--) {
		most = 0;
		for (size_t i = 1; i < count; i++)
			if (widths[i] > widths[most])
				most = i;
		if (widths[most] <= sizeof(DOTS))
			return;
		widths[most]--;
	}
}

/* The length of a colour at `s`, 0: there is none. */
static size_t colour_length(const char *s)
{
	return *s == '\033' ? strcspn(s, "m") + 1 : 0;
}

/* The columns of a word, of which colours take none. */
static size_t word_columns(const char *word, size_t len, bool *ret_coloured)
{
	size_t columns = 0, skip;

	*ret_coloured = false;
	for (size_t i = 0; i < len; i += skip) {
		skip = colour_length(word + i);
		*ret_coloured = *ret_coloured || skip;
		if (!skip)
			columns += safe_character(word + i, &skip);
	}
	return columns;
}

static size_t print_word(FILE *out, const char *word, size_t len, size_t room)
{
	bool coloured;
	size_t columns = word_columns(word, len, &coloured);
	CLEANUP(free_p) char *plain = NULL;

	if (columns <= room || coloured) {
		(void)fwrite(word, 1, len, out);
		return columns;
	}
	plain = format_text("%.*s", (int)len, word);
	return print_fitted(out, plain, room);
}

static void print_line_fitted(FILE *out, const char *line, size_t len,
			      size_t indent, size_t width)
{
	const char *end = line + len;
	size_t at = 0;
	bool coloured;

	while (line < end) {
		size_t spaces = strspn(line, " ");
		const char *word = line + spaces;
		size_t n = word < end ? strcspn(word, " \n") : 0;

		if (at > indent &&
		    at + spaces + word_columns(word, n, &coloured) > width) {
			(void)fprintf(out, "\n%*s", (int)indent, "");
			at = indent;
		} else {
			(void)fprintf(out, "%*s", (int)spaces, "");
			at += spaces;
		}
		at += print_word(out, word, n, width > at ? width - at : 0);
		line = word + n;
	}
	(void)fputc('\n', out);
}

void print_lines_fitted(FILE *out, const char *text, size_t indent,
			size_t width)
{
	assert(indent < width);
	while (*text) {
		size_t len = strcspn(text, "\n");

		print_line_fitted(out, text, len, indent, width);
		text += len + (text[len] == '\n');
	}
}
