#include "tape/journal/text.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include <cmocka.h>

#include "graph/base/escape.h"

static struct journal_draft draft;
static char copy[JOURNAL_LINE_MAX];

static const struct journal_stamp stamp = {
	.n = 7,
	.mono_ns = 70,
	.wall_ns = 700,
	.author = 3,
};

/* The finished draft in `copy`, without its newline; returns its length. */
static size_t finish(const struct journal_stamp *s)
{
	const char *line;
	size_t len;

	line = journal_draft_finish(&draft, s, &len);
	assert_true(len <= JOURNAL_LINE_MAX);
	assert_int_equal(line[len - 1], '\n');
	assert_null(memchr(line, '\n', len - 1));
	assert_null(memchr(line, '\0', len));
	memcpy(copy, line, len);
	copy[len - 1] = '\0';
	return len - 1;
}

static struct journal_parsed round_trip(const struct journal_event *e)
{
	struct journal_parsed p;

	journal_draft_event(&draft, e);
	assert_int_equal(journal_parse(copy, finish(&stamp), &p), 0);
	return p;
}

/* Any fields, with the right checksum appended. */
static int parse_frame(const char *frame, struct journal_parsed *ret)
{
	int len =
		snprintf(copy, sizeof(copy), "%s\t%016llx", frame,
			 (unsigned long long)XXH3_64bits(frame, strlen(frame)));

	assert_true(len > 0 && (size_t)len < sizeof(copy));
	return journal_parse(copy, (size_t)len, ret);
}

static void every_operation_has_a_name_of_its_own(void **state)
{
	enum journal_op op;

	(void)state;
	for (op = JOURNAL_NONE; op < JOURNAL_OPS; op++) {
		assert_non_null(journal_op_name(op));
		assert_int_equal(journal_op_from_name(journal_op_name(op)), op);
	}
	assert_int_equal(journal_op_from_name("nonsense"), JOURNAL_NONE);
	assert_int_equal(journal_op_from_name(""), JOURNAL_NONE);
	assert_string_equal(journal_op_name((enum journal_op)4711), "none");
}

static void an_event_comes_back_as_it_was(void **state)
{
	struct journal_event e = {
		.op = JOURNAL_RENAME,
		.path = "a b/c",
		.path2 = "d",
		.detail = "why",
		.ino = UINT64_MAX,
		.off = INT64_MAX,
		.len = INT64_MIN,
		.res = -ENOSPC,
		.uid = UINT32_MAX,
		.pid = 0,
		.tid = 99,
	};
	struct journal_parsed p = round_trip(&e);

	(void)state;
	assert_int_equal(p.line.n, 7);
	assert_int_equal(p.line.mono_ns, 70);
	assert_int_equal(p.line.wall_ns, 700);
	assert_int_equal(p.author, 3);
	assert_int_equal(p.line.event.op, JOURNAL_RENAME);
	assert_string_equal(p.line.event.path, "a b/c");
	assert_string_equal(p.line.event.path2, "d");
	assert_string_equal(p.line.event.detail, "why");
	assert_true(p.line.event.ino == UINT64_MAX);
	assert_true(p.line.event.off == INT64_MAX);
	assert_true(p.line.event.len == INT64_MIN);
	assert_int_equal(p.line.event.res, -ENOSPC);
	assert_true(p.line.event.uid == UINT32_MAX);
	assert_int_equal(p.line.event.pid, 0);
	assert_int_equal(p.line.event.tid, 99);
	assert_null(p.line.event.author);
}

static void the_line_is_what_the_head_comment_says(void **state)
{
	struct journal_event e = {
		.op = JOURNAL_WRITE,
		.path = "src/a.c",
		.ino = 5,
		.off = 4096,
		.len = 10,
		.res = 10,
		.uid = 1000,
		.pid = 41,
		.tid = 42,
	};
	const char *frame = "7\t70\t700\twrite\t5\t4096\t10\t10\t1000\t41\t42"
			    "\t3\tsrc/a.c\t\t";
	char sum[17];
	size_t len;

	(void)state;
	journal_draft_event(&draft, &e);
	len = finish(&stamp);
	(void)snprintf(sum, sizeof(sum), "%016llx",
		       (unsigned long long)XXH3_64bits(frame, strlen(frame)));
	assert_int_equal(len, strlen(frame) + 17);
	assert_memory_equal(copy, frame, strlen(frame));
	assert_int_equal(copy[strlen(frame)], '\t');
	assert_string_equal(copy + strlen(frame) + 1, sum);
}

static void numbers_of_every_length_come_back(void **state)
{
	struct journal_event e = { .op = JOURNAL_WRITE, .path = "f" };
	uint64_t v = 0;
	int i;

	(void)state;
	for (i = 0; i < 20; i++, v = v * 10 + (uint64_t)(i % 10)) {
		e.ino = v;
		e.off = -(int64_t)(v / 2);
		e.len = (int64_t)(v / 2);
		assert_true(round_trip(&e).line.event.ino == v);
		assert_true(round_trip(&e).line.event.off == e.off);
		assert_true(round_trip(&e).line.event.len == e.len);
	}
}

struct escaped {
	const char *text;
	const char *written;
};

static const struct escaped escapes[] = {
	{ "", "" },
	{ "plain/path with spaces", "plain/path with spaces" },
	{ "gr\xc3\xbc\xc3\x9f/\xe6\x96\x87/\xf0\x9f\x93\xbc",
	  "gr\xc3\xbc\xc3\x9f/\xe6\x96\x87/\xf0\x9f\x93\xbc" },
	{ "a\tb\nc\\d", "a\\tb\\nc\\\\d" },
	{ "\x01\x1f\x7f\r", "\\x01\\x1f\\x7f\\x0d" },
	{ "\\x41", "\\\\x41" },
	{ "\xff\xfe", "\\xff\\xfe" },
	/*
	 * A lone continuation byte, an overlong form, a surrogate, beyond
	 * Unicode.
	 */
	{ "\x80", "\\x80" },
	{ "\xc0\xaf", "\\xc0\\xaf" },
	{ "\xe0\x80\xaf", "\\xe0\\x80\\xaf" },
	{ "\xed\xa0\x80", "\\xed\\xa0\\x80" },
	{ "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80" },
	{ "\xf0\x8f\xbf\xbf", "\\xf0\\x8f\\xbf\\xbf" },
	/* Truncated at the end. */
	{ "a\xc3", "a\\xc3" },
	{ "\xe6\x96", "\\xe6\\x96" },
	{ "\xf0\x9f\x93", "\\xf0\\x9f\\x93" },
	/* A C1 control: CSI for a terminal. NBSP is not one. */
	{ "\xc2\x9b", "\\xc2\\x9b" },
	{ "\xc2\xa0", "\xc2\xa0" },
	/* The first and the last character of each length. */
	{ "\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf",
	  "\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf" },
	{ "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf",
	  "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf" },
	/* An ellipsis that is part of the name itself. */
	{ "wait\xe2\x80\xa6", "wait\xe2\x80\xa6" },
	{ "wait\\\xe2\x80\xa6", "wait\\\\\xe2\x80\xa6" },
};

#define ESCAPES (sizeof(escapes) / sizeof(escapes[0]))

static void only_control_characters_and_bad_utf8_are_escaped(void **state)
{
	char out[128];
	size_t i;

	(void)state;
	for (i = 0; i < ESCAPES; i++) {
		assert_int_equal(escape_text(escapes[i].text, out, sizeof(out)),
				 strlen(escapes[i].written));
		assert_string_equal(out, escapes[i].written);
	}
}

static void escaped_texts_come_back_byte_for_byte(void **state)
{
	struct journal_event e = { .op = JOURNAL_RENAME };
	struct journal_parsed p;
	size_t i;

	(void)state;
	for (i = 1; i < ESCAPES; i++) {
		e.path = escapes[i].text;
		e.path2 = escapes[ESCAPES - i].text;
		e.detail = escapes[i].text;
		p = round_trip(&e);
		assert_string_equal(p.line.event.path, e.path);
		assert_string_equal(p.line.event.path2, e.path2);
		assert_string_equal(p.line.event.detail, e.detail);
	}
}

static void every_byte_comes_back(void **state)
{
	struct journal_event e = { .op = JOURNAL_CREATE };
	char name[4] = "x?y";
	int c;

	(void)state;
	for (c = 1; c < 256; c++) {
		name[1] = (char)c;
		e.path = name;
		assert_string_equal(round_trip(&e).line.event.path, name);
	}
}

static void the_root_is_a_dot_and_none_stays_none(void **state)
{
	struct journal_event e = { .op = JOURNAL_CHMOD, .path = "" };
	struct journal_parsed p = round_trip(&e);

	(void)state;
	assert_string_equal(p.line.event.path, ".");
	assert_null(p.line.event.path2);
	assert_null(p.line.event.detail);

	e.path = ".";
	e.path2 = "";
	p = round_trip(&e);
	assert_string_equal(p.line.event.path, ".");
	assert_string_equal(p.line.event.path2, ".");

	e.path = NULL;
	p = round_trip(&e);
	assert_string_equal(p.line.event.path, "");
}

static void a_text_too_long_is_cut_and_says_so(void **state)
{
	static char text[3 * JOURNAL_TEXT_MAX];
	struct journal_event e = { .op = JOURNAL_CREATE, .path = text };
	const char *path;
	size_t len;

	(void)state;
	memset(text, 'p', sizeof(text) - 1);
	text[JOURNAL_TEXT_MAX] = '\0';
	path = round_trip(&e).line.event.path;
	assert_string_equal(path, text);

	/* One byte more, and that in the middle of a character. */
	memcpy(text + JOURNAL_TEXT_MAX - 1, "\xc3\xbcmore", 7);
	path = round_trip(&e).line.event.path;
	len = strlen(path);
	assert_memory_equal(path, text, JOURNAL_TEXT_MAX + 1);
	assert_string_equal(path + JOURNAL_TEXT_MAX + 1, "\xe2\x80\xa6");
	assert_int_equal(len, JOURNAL_TEXT_MAX + 4);
}

static void the_longest_line_fits(void **state)
{
	static char text[2 * JOURNAL_TEXT_MAX];
	struct journal_event e = {
		.op = JOURNAL_REMOVEXATTR,
		.path = text,
		.path2 = text,
		.detail = text,
		.ino = UINT64_MAX,
		.off = INT64_MIN,
		.len = INT64_MIN,
		.res = INT64_MIN,
		.uid = UINT32_MAX,
		.pid = UINT32_MAX,
		.tid = UINT32_MAX,
	};
	struct journal_stamp s = {
		.n = JOURNAL_NUMBER_MAX,
		.mono_ns = UINT64_MAX,
		.wall_ns = UINT64_MAX,
		.author = JOURNAL_NUMBER_MAX,
	};
	struct journal_parsed p;

	(void)state;
	memset(text, '\x01', sizeof(text) - 1);
	journal_draft_event(&draft, &e);
	assert_int_equal(journal_parse(copy, finish(&s), &p), 0);
	assert_true(p.line.n == JOURNAL_NUMBER_MAX);
	assert_true(p.line.event.res == INT64_MIN);
}

static void an_author_comes_back_as_it_was(void **state)
{
	struct journal_author a = {
		.pid = 77,
		.uid = 1000,
		.start = 123456789,
		.comm = "a\tcomm",
		.cmdline = "python3 -c 'print(1)\n'",
		.exe = "/usr/bin/python3",
		.session_root = true,
	};
	struct journal_author back;
	struct journal_parsed p;

	(void)state;
	journal_draft_author(&draft, &a);
	assert_int_equal(journal_parse(copy, finish(&stamp), &p), 0);
	assert_int_equal(p.line.event.op, JOURNAL_ACTOR);
	assert_int_equal(p.author, 3);
	journal_parsed_author(&p, &back);
	assert_int_equal(back.pid, 77);
	assert_int_equal(back.uid, 1000);
	assert_int_equal(back.start, 123456789);
	assert_string_equal(back.comm, a.comm);
	assert_string_equal(back.cmdline, a.cmdline);
	assert_string_equal(back.exe, a.exe);
	assert_true(back.session_root);
	assert_null(back.parent);
}

static void an_author_without_texts_has_empty_ones(void **state)
{
	struct journal_author a = { .pid = 1, .comm = "", .cmdline = "" };
	struct journal_author back;
	struct journal_parsed p;

	(void)state;
	journal_draft_author(&draft, &a);
	assert_int_equal(journal_parse(copy, finish(&stamp), &p), 0);
	journal_parsed_author(&p, &back);
	assert_string_equal(back.comm, "");
	assert_string_equal(back.cmdline, "");
	assert_string_equal(back.exe, "");
	assert_false(back.session_root);
}

static void any_changed_bit_is_noticed(void **state)
{
	struct journal_event e = { .op = JOURNAL_WRITE, .path = "some/path" };
	struct journal_parsed p;
	char line[256];
	size_t len, i;

	(void)state;
	journal_draft_event(&draft, &e);
	len = finish(&stamp);
	assert_true(len < sizeof(line));
	memcpy(line, copy, len);
	for (i = 0; i < len * 8; i++) {
		memcpy(copy, line, len);
		copy[i / 8] = (char)(copy[i / 8] ^ 1 << i % 8);
		assert_int_equal(journal_parse(copy, len, &p), -EBADMSG);
	}
	for (i = 0; i < len; i++) {
		memcpy(copy, line, len);
		assert_int_equal(journal_parse(copy, i, &p), -EBADMSG);
	}
}

static void an_operation_of_the_future_keeps_its_number(void **state)
{
	struct journal_parsed p;

	(void)state;
	assert_int_equal(parse_frame("9\t1\t1\tteleport\t0\t-1\t-1\t0\t0\t0\t0"
				     "\t0\tp\t\t",
				     &p),
			 0);
	assert_int_equal(p.line.n, 9);
	assert_int_equal(p.line.event.op, JOURNAL_NONE);
}

#define FRAME(n, mono, ino, off, uid, path)                    \
	n "\t" mono "\t1\twrite\t" ino "\t" off "\t0\t0\t" uid \
	  "\t0\t0\t0\t" path "\t\t"

static void frames_that_are_not_ours_are_refused(void **state)
{
	static const char *const frames[] = {
		/* Too few fields, too many. */
		"",
		"1",
		"1\t1\t1",
		"1\t1\t1\twrite\t0\t0\t0\t0\t0\t0\t0\t0\tp\t",
		FRAME("1", "1", "0", "0", "0", "p") "\t",
		/* Numbers: zero, empty, signed, too large, with a tail. */
		FRAME("0", "1", "0", "0", "0", "p"),
		FRAME("", "1", "0", "0", "0", "p"),
		FRAME("-1", "1", "0", "0", "0", "p"),
		FRAME("4611686018427387905", "1", "0", "0", "0", "p"),
		FRAME("1", "18446744073709551616", "0", "0", "0", "p"),
		FRAME("1", "1", "0", "9223372036854775808", "0", "p"),
		FRAME("1", "1", "0", "-9223372036854775809", "0", "p"),
		FRAME("1", "1", "0", "-", "0", "p"),
		FRAME("1", "1", "0", "0", "4294967296", "p"),
		FRAME("1", "1", "0x1", "0", "0", "p"),
		FRAME("1", "1", "1 ", "0", "0", "p"),
		/* Undefined escapes; an escaped NUL. */
		FRAME("1", "1", "0", "0", "0", "\\q"),
		FRAME("1", "1", "0", "0", "0", "\\"),
		FRAME("1", "1", "0", "0", "0", "\\x4"),
		FRAME("1", "1", "0", "0", "0", "\\x"),
		FRAME("1", "1", "0", "0", "0", "\\xFF"),
		FRAME("1", "1", "0", "0", "0", "a\\x00b"),
	};
	struct journal_parsed p;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(frames) / sizeof(frames[0]); i++)
		assert_int_equal(parse_frame(frames[i], &p), -EBADMSG);
	assert_int_equal(parse_frame(FRAME("1", "1", "0", "0", "0", "p"), &p),
			 0);
	assert_string_equal(p.line.event.path, "p");
}

static void what_does_not_fit_is_cut_at_a_character(void **state)
{
	const char *text = "ab\xc3\xbc\xf0\x9f\x93\xbc\x01z";
	const char *whole = "ab\xc3\xbc\xf0\x9f\x93\xbc\\x01z";
	const char *mark = "\\\xe2\x80\xa6";
	size_t room = strlen(whole) + 1, size, len;
	char out[64];

	(void)state;
	for (size = 5; size < room; size++) {
		memset(out, '!', sizeof(out));
		len = escape_text(text, out, size);
		assert_true(len < size);
		assert_int_equal(strlen(out), len);
		assert_int_equal(out[size], '!');
		assert_string_equal(out + len - strlen(mark), mark);
		assert_memory_equal(out, whole, len - strlen(mark));
	}
	assert_int_equal(escape_text(text, out, room), strlen(whole));
	assert_string_equal(out, whole);
}

static void what_was_escaped_comes_back(void **state)
{
	static const char *const texts[] = { "", "plain", "a\tb\nc\\d",
					     "\xff\x01\xc3\xa9\x7f" };

	(void)state;
	for (size_t k = 0; k < sizeof(texts) / sizeof(*texts); k++) {
		char out[ESCAPE_SIZE(16)];

		(void)escape_text(texts[k], out, sizeof(out));
		assert_int_equal(escape_undo(out), 0);
		assert_string_equal(out, texts[k]);
	}
}

static void undefined_escapes_are_refused(void **state)
{
	char lone[] = "a\\", nul[] = "\\x00", other[] = "\\q";

	(void)state;
	assert_int_equal(escape_undo(lone), -EBADMSG);
	assert_int_equal(escape_undo(nul), -EBADMSG);
	assert_int_equal(escape_undo(other), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_operation_has_a_name_of_its_own),
		cmocka_unit_test(an_event_comes_back_as_it_was),
		cmocka_unit_test(the_line_is_what_the_head_comment_says),
		cmocka_unit_test(numbers_of_every_length_come_back),
		cmocka_unit_test(
			only_control_characters_and_bad_utf8_are_escaped),
		cmocka_unit_test(escaped_texts_come_back_byte_for_byte),
		cmocka_unit_test(every_byte_comes_back),
		cmocka_unit_test(the_root_is_a_dot_and_none_stays_none),
		cmocka_unit_test(a_text_too_long_is_cut_and_says_so),
		cmocka_unit_test(the_longest_line_fits),
		cmocka_unit_test(an_author_comes_back_as_it_was),
		cmocka_unit_test(an_author_without_texts_has_empty_ones),
		cmocka_unit_test(any_changed_bit_is_noticed),
		cmocka_unit_test(an_operation_of_the_future_keeps_its_number),
		cmocka_unit_test(frames_that_are_not_ours_are_refused),
		cmocka_unit_test(what_does_not_fit_is_cut_at_a_character),
		cmocka_unit_test(what_was_escaped_comes_back),
		cmocka_unit_test(undefined_escapes_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
