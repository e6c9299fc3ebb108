/*
 * Some agents have one tool that runs JavaScript, in which the tools are
 * functions: text((await tools.exec_command({cmd: "cat a.py"})).output). This
 * is not a parser of the language: it finds calls by name, and their arguments
 * where these are string literals. For computed arguments the record depends
 * on what the mount observes.
 */
#include "manager/record/record_parts.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

#include "graph/base/array.h"

struct script {
	const char *at, *end;
	struct arena *arena;
	ARRAY(char) command;
	ARRAY(char) patch;
	uint32_t calls;
	bool vague; /* some call or argument was not understood */
};

static void skip_space(struct script *s)
{
	while (s->at < s->end && isspace((unsigned char)*s->at))
		s->at++;
}

static bool skip(struct script *s, const char *what)
{
	size_t len = strlen(what);

	if ((size_t)(s->end - s->at) < len || memcmp(s->at, what, len) != 0)
		return false;
	s->at += len;
	return true;
}

static void put_utf8(uint32_t c, char **out)
{
	if (c < 0x80) {
		*(*out)++ = (char)c;
	} else if (c < 0x800) {
		*(*out)++ = (char)(0xc0 | c >> 6);
		*(*out)++ = (char)(0x80 | (c & 0x3f));
	} else {
		if (c < 0x10000) {
			*(*out)++ = (char)(0xe0 | c >> 12);
		} else {
			*(*out)++ = (char)(0xf0 | c >> 18);
			*(*out)++ = (char)(0x80 | (c >> 12 & 0x3f));
		}
		*(*out)++ = (char)(0x80 | (c >> 6 & 0x3f));
		*(*out)++ = (char)(0x80 | (c & 0x3f));
	}
}

/* Hexadecimal digits, `least` of them. False: there are fewer. */
static bool read_hex(const char **at, const char *end, int least, int most,
		     uint32_t *ret)
{
	static const char digits[] = "0123456789abcdef";
	int n = 0;

	*ret = 0;
	for (; n < most && *at < end && isxdigit((unsigned char)**at); n++) {
		int c = tolower((unsigned char)*(*at)++);

		*ret = *ret << 4 | (uint32_t)(strchr(digits, c) - digits);
	}
	return n >= least;
}

/* Behind "\\u": four digits, two such halves, or digits in braces. */
static bool read_unicode(const char **at, const char *end, uint32_t *ret)
{
	uint32_t low;

	if (*at < end && **at == '{') {
		(*at)++;
		return read_hex(at, end, 1, 6, ret) && *ret <= 0x10ffff &&
		       *at < end && *(*at)++ == '}';
	}
	if (!read_hex(at, end, 4, 4, ret))
		return false;
	if (*ret >= 0xd800 && *ret < 0xdc00 && end - *at >= 6 &&
	    memcmp(*at, "\\u", 2) == 0) {
		const char *next = *at + 2;

		if (read_hex(&next, end, 4, 4, &low) && low >= 0xdc00 &&
		    low < 0xe000) {
			*ret = 0x10000 + ((*ret - 0xd800) << 10) +
			       (low - 0xdc00);
			*at = next;
		}
	}
	return true;
}

/*
 * One escape of JavaScript, behind its backslash. It is never shorter than the
 * text that it stands for. False: not a valid one.
 */
static bool read_escape(const char **at, const char *end, char **out)
{
	static const char names[] = "ntrbfv0", values[] = "\n\t\r\b\f\v";
	char c = *(*at)++;
	const char *name = strchr(names, c);
	uint32_t code;

	if (c == 'u' || c == 'x') {
		if (c == 'u' ? !read_unicode(at, end, &code)
			     : !read_hex(at, end, 2, 2, &code))
			return false;
		put_utf8(code, out);
	} else if (c == '\n') {
		; /* the line goes on */
	} else if (c && name) {
		*(*out)++ = values[name - names];
	} else {
		*(*out)++ = c;
	}
	return true;
}

static bool decode(const char *at, const char *end, char *out, size_t *ret_len)
{
	const char *start = out;

	while (at < end) {
		if (*at != '\\' || at + 1 == end)
			*out++ = *at++;
		else if (at++, !read_escape(&at, end, &out))
			return false;
	}
	*ret_len = (size_t)(out - start);
	return true;
}

/* A string literal at s->at; false: none, or a template with expressions. */
static bool read_literal(struct script *s, struct text *ret)
{
	const char *start = s->at + 1, *p = start;
	char quote, *out;

	if (s->at == s->end)
		return false;
	quote = *s->at;
	if (quote != '"' && quote != '\'' && quote != '`')
		return false;
	while (p < s->end && *p != quote) {
		if (quote == '`' && p + 1 < s->end && p[0] == '$' &&
		    p[1] == '{')
			return false;
		p += 1 + (*p == '\\' && p + 1 < s->end);
	}
	if (p >= s->end)
		return false;
	out = arena_take(s->arena, (size_t)(p - start));
	if (!decode(start, p, out, &ret->len))
		return false;
	ret->at = out;
	s->at = p + 1;
	return true;
}

/* Skip the name of a member that holds a command, and its colon. */
static bool is_command_key(struct script *s)
{
	bool key;

	skip_space(s);
	key = skip(s, "cmd") || skip(s, "\"cmd\"") || skip(s, "command") ||
	      skip(s, "\"command\"");
	skip_space(s);
	return key && skip(s, ":");
}

/* Behind "exec_command(": the value of cmd in the object that follows. */
static bool find_command(struct script *s, struct text *ret)
{
	skip_space(s);
	if (!skip(s, "{"))
		return false;
	while (s->at < s->end && *s->at != '}') {
		if (is_command_key(s)) {
			skip_space(s);
			return read_literal(s, ret);
		}
		/* Another member: skip to the next comma. */
		while (s->at < s->end && *s->at != ',' && *s->at != '}')
			s->at++;
		(void)skip(s, ",");
	}
	return false;
}

static void read_command(struct script *s)
{
	struct text t;

	s->calls++;
	if (!find_command(s, &t)) {
		s->vague = true;
		return;
	}
	if (s->command.count > 0)
		array_push(&s->command, '\n');
	array_append(&s->command, t.at, t.len);
}

static void read_patch(struct script *s)
{
	struct text t;

	s->calls++;
	skip_space(s);
	if (read_literal(s, &t))
		array_append(&s->patch, t.at, t.len);
	else
		s->vague = true;
}

static uint32_t count(struct text text, const char *what)
{
	const char *p = text.at, *end = text.at + text.len;
	uint32_t n = 0;

	while ((p = memmem(p, (size_t)(end - p), what, strlen(what))) != NULL) {
		p++;
		n++;
	}
	return n;
}

static void find_calls(struct script *s)
{
	while (s->at < s->end) {
		const char *p =
			memmem(s->at, (size_t)(s->end - s->at), "tools.", 6);

		if (!p)
			return;
		s->at = p + 6;
		if (skip(s, "exec_command("))
			read_command(s);
		else if (skip(s, "apply_patch("))
			read_patch(s);
		else
			s->vague = true;
	}
}

static struct text keep(struct arena *a, const char *at, size_t len)
{
	return (struct text){ arena_copy(a, at ? at : "", len), len };
}

void script_read(struct text script, struct arena *a, struct tool_call *ret)
{
	struct script s = { .at = script.at,
			    .end = script.at + script.len,
			    .arena = a };

	find_calls(&s);
	assert(s.at <= s.end);
	ret->class = TOOL_SHELL;
	if (s.calls > 0 && !s.vague && s.command.count == 0)
		ret->class = TOOL_EDIT;
	if (!s.vague)
		ret->command = keep(a, s.command.at, s.command.count);
	ret->patch = keep(a, s.patch.at, s.patch.count);
	ret->plain = s.calls == 1 && count(script, "text(") == 1 &&
		     count(script, ".output)") == 1;
	array_release(&s.command);
	array_release(&s.patch);
}
