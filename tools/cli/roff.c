#include "tools/cli/roff.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

/*
 * One character. A dash that begins a word belongs to an option: print a minus.
 */
static void put_char(FILE *out, char before, char c)
{
	switch (c) {
	case '\\':
		(void)fputs("\\e", out);
		break;
	case '~':
		(void)fputs("\\(ti", out);
		break;
	case '-':
		(void)fputs(isalnum((unsigned char)before) ? "-" : "\\-", out);
		break;
	default:
		(void)fputc(c, out);
	}
}

/* At the beginning of a line a dot or a quote would begin a macro. */
void roff_line(FILE *out, const char *text, const char *end)
{
	char before = ' ';

	if (*text == '.' || *text == '\'')
		(void)fputs("\\&", out);
	for (; *text; before = *text++)
		put_char(out, before, *text);
	(void)fprintf(out, "%s\n", end);
}

void roff_example(FILE *out, const char *text)
{
	for (; *text; text++)
		if (*text == '\'')
			(void)fputs("\\(aq", out);
		else if (*text == '-')
			(void)fputs("\\-", out);
		else
			put_char(out, ' ', *text);
	(void)fputc('\n', out);
}

void roff_text(FILE *out, const char *text, const char *between)
{
	const char *end;

	for (; (end = strstr(text, "\n\n")); text = end + 2) {
		char paragraph[4096];

		assert((size_t)(end - text) < sizeof(paragraph));
		(void)snprintf(paragraph, sizeof(paragraph), "%.*s",
			       (int)(end - text), text);
		roff_line(out, paragraph, "");
		(void)fprintf(out, "%s\n", between);
	}
	roff_line(out, text, "");
}
