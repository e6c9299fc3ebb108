#include "tools/cli/say.h"

#include <assert.h>
#include <ctype.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "graph/base/cleanup.h"
#include "graph/base/escape.h"
#include "tools/cli/verbs.h"

__attribute__((format(printf, 1, 0))) static void vcomplain(const char *format,
							    va_list args)
{
	CLEANUP(free_p) char *text = format_text_v(format, args);
	CLEANUP(free_p) char *line = NULL;
	size_t len = strlen(text), size = 0;
	FILE *out = open_memstream(&line, &size);

	/* Sentences from the libraries become messages like ours. */
	if (len > 1 && text[len - 1] == '.') {
		text[len - 1] = '\0';
		if (!isupper((unsigned char)text[1]) &&
		    strncmp(text, "StateTape", 9) != 0)
			text[0] = (char)tolower((unsigned char)text[0]);
	}
	/* Flush stdout first, so that a log of both has them in order. */
	(void)fflush(stdout);
	if (!out)
		return;
	(void)fputs("statetape: ", out);
	(void)print_safe(out, text);
	(void)fputc('\n', out);
	/* In one write(2): stderr may be a log that others write, too. */
	if (fclose(out) == 0)
		(void)fwrite(line, 1, size, stderr);
}

int say_error(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vcomplain(format, args);
	va_end(args);
	return EXIT_FAILURE;
}

int say_usage_error(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vcomplain(format, args);
	va_end(args);
	return EXIT_USAGE;
}

const char *errno_text(int error)
{
	const char *text = strerrordesc_np(error < 0 ? -error : error);

	return text ? text : "unknown error";
}

char *count_text(uint64_t n, const char *one, const char *many)
{
	return format_text("%ju %s", (uintmax_t)n, n == 1 ? one : many);
}

char *size_text(uint64_t bytes)
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB" };
	double n = (double)bytes / 1024;
	size_t i = 0;

	if (bytes < 1024)
		return format_text("%ju B", (uintmax_t)bytes);
	for (; n >= 1023.95 && i < sizeof(units) / sizeof(units[0]) - 1; i++)
		n /= 1024;
	return format_text("%.1f %s", n, units[i]);
}

bool colour_wanted(FILE *out)
{
	/*
	 * The environment does not change while it is read: there is one
	 * thread.
	 */
	const char *no = getenv("NO_COLOR"); /* NOLINT(concurrency-*) */
	const char *term = getenv("TERM");   /* NOLINT(concurrency-*) */

	if ((no && *no) || !term || strcmp(term, "dumb") == 0)
		return false;
	return isatty(fileno(out));
}

const char *colour_text(bool wanted, enum colour c)
{
	static const char *const sequence[] = {
		[COLOUR_NONE] = "\033[0m",   [COLOUR_BOLD] = "\033[1m",
		[COLOUR_DIM] = "\033[2m",    [COLOUR_RED] = "\033[31m",
		[COLOUR_GREEN] = "\033[32m", [COLOUR_YELLOW] = "\033[33m",
		[COLOUR_CYAN] = "\033[36m",
	};

	assert(c < sizeof(sequence) / sizeof(*sequence));
	return wanted ? sequence[c] : "";
}

/* The length of a UTF-8 character that begins with `c`; 0: invalid. */
static size_t utf8_expected(unsigned char c)
{
	static const unsigned char begin[] = { 0x00, 0x80, 0xc0,
					       0xe0, 0xf0, 0xf8 };
	static const size_t len[] = { 1, 0, 2, 3, 4, 0 };
	size_t i = sizeof(begin) - 1;

	while (c < begin[i])
		i--;
	return len[i];
}

/* The length of the UTF-8 character at `s`, and its code; 0: invalid. */
static size_t utf8_length(const unsigned char *s, uint32_t *ret_code)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t len = utf8_expected(*s);
	uint32_t code = len == 1 ? *s : *s & (0x7fu >> len);

	for (size_t i = 1; i < len; i++) {
		/* A NUL fails here too, so we never read past the end. */
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (s[i] & 0x3f);
	}
	/* Overlong, beyond U+10FFFF, or a surrogate. */
	if (code < least[len] || code > 0x10ffff || code >> 11 == 0x1b)
		return 0;
	*ret_code = code;
	return len;
}

/*
 * Besides C0 and DEL: C1, which some terminals obey, and bidirectional
 * controls.
 */
static bool is_control(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code < 0xa0) ||
	       (code >= 0x202a && code <= 0x202e) ||
	       (code >= 0x2066 && code <= 0x2069);
}

size_t safe_character(const char *s, size_t *ret_len)
{
	uint32_t code;
	size_t len = utf8_length((const unsigned char *)s, &code);

	*ret_len = len ? len : 1;
	return len && !is_control(code) ? 1 : 4 * *ret_len;
}

static void print_bytes(FILE *out, const unsigned char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		(void)fprintf(out, "\\x%02x", s[i]);
}

size_t print_safe(FILE *out, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t columns = 0;

	while (*s) {
		size_t len, n = safe_character((const char *)s, &len);

		if (n == 1)
			(void)fwrite(s, 1, len, out);
		else
			print_bytes(out, s, len);
		columns += n;
		s += len;
	}
	return columns;
}

bool is_utf8(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	uint32_t code;
	size_t len = 1;

	while (*s && (len = utf8_length(s, &code)) > 0)
		s += len;
	return len > 0;
}

static void print_json_byte(FILE *out, unsigned char c)
{
	if (c == '"' || c == '\\')
		(void)fprintf(out, "\\%c", c);
	else if (c == '\n')
		(void)fputs("\\n", out);
	else if (c < 0x20)
		(void)fprintf(out, "\\u%04x", c);
	else
		(void)fputc(c, out);
}

void print_json_string(FILE *out, const char *text)
{
	CLEANUP(free_p) char *escaped = NULL;

	if (!is_utf8(text)) {
		size_t size = ESCAPE_SIZE(strlen(text)) + 4;

		escaped = must_have(malloc(size));
		(void)escape_text(text, escaped, size);
		text = escaped;
	}
	(void)fputc('"', out);
	for (; *text; text++)
		print_json_byte(out, (unsigned char)*text);
	(void)fputc('"', out);
}

void print_padded(FILE *out, const char *text, size_t width)
{
	for (size_t at = print_safe(out, text); at < width; at++)
		(void)fputc(' ', out);
}

static void new_line(FILE *out, size_t indent)
{
	(void)fprintf(out, "\n%*s", (int)indent, "");
}

void print_wrapped(FILE *out, const char *text, size_t at, size_t indent,
		   size_t width)
{
	bool first = true;

	assert(indent < width);
	while (*text) {
		size_t len = strcspn(text, " \n");

		if (!first && at + 1 + len > width) {
			new_line(out, indent);
			at = indent;
		} else if (!first && at > indent) {
			(void)fputc(' ', out);
			at++;
		}
		(void)fwrite(text, 1, len, out);
		at += len;
		text += len;
		first = false;
		if (strncmp(text, "\n\n", 2) == 0) {
			(void)fputc('\n', out);
			new_line(out, indent);
			at = indent;
			first = true;
		}
		text += strspn(text, " \n");
	}
	(void)fputc('\n', out);
}
