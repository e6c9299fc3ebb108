/*
 * A line is sixteen fields with a TAB between them and a newline behind:
 *
 *	 1 n	     number, decimal, from 1
 *	 2 mono_ns   CLOCK_MONOTONIC
 *	 3 wall_ns   CLOCK_REALTIME
 *	 4 op	     journal_op_name()
 *	 5 ino
 *	 6 off	     -1: none
 *	 7 len	     -1: none
 *	 8 res	     >= 0, or a negative errno
 *	 9 uid
 *	10 pid
 *	11 tid
 *	12 author    number of the author's `actor` line, earlier in the same
 *		     segment; 0: none
 *	13 path      the root itself is "."; empty: none
 *	14 path2     the same
 *	15 detail    empty: none
 *	16 checksum  XXH3 (64 bits, seed 0) of everything before the TAB in
 *		     front of it, as 16 lower-case hex digits
 *
 * An `actor` line introduces a process, with the same fields: ino is its start
 * time in clock ticks, res is 1 if it is the session root, the last ancestor
 * recorded, author is its parent's line, path its executable, path2 its command
 * name, detail its command line; here empty means empty, not absent.
 *
 * Texts are arbitrary bytes. Valid UTF-8 that is no control character is
 * written as it is, so that grep and people can find it. A TAB is \t, a newline
 * \n, a backslash \\, and any other control character (C0, DEL, C1) or byte
 * that is not part of valid UTF-8 is \xNN. A text longer than JOURNAL_TEXT_MAX
 * ends in a backslash and an ellipsis. No other escape looks like that and a
 * literal backslash is always doubled, so a cut text cannot be mistaken for a
 * complete one; parsed, it ends in the ellipsis alone.
 *
 * So the only newline and TABs in a line are its own, it contains no NUL, and
 * it is never longer than JOURNAL_LINE_MAX.
 *
 * Lines are built from the end: digits are produced in that order, and the
 * fields known last (number, clocks, author) come first.
 */
#include "tape/journal/text.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <xxhash.h>

#include "graph/base/escape.h"
#include "graph/base/hex.h"

#define CHECKSUM_LEN 16

static const char *const op_names[JOURNAL_OPS] = {
	[JOURNAL_NONE] = "none",	 [JOURNAL_SESSION] = "session",
	[JOURNAL_ACTOR] = "actor",	 [JOURNAL_GAP] = "gap",
	[JOURNAL_WRITE] = "write",	 [JOURNAL_MMAP] = "mmap",
	[JOURNAL_TRUNCATE] = "truncate", [JOURNAL_CREATE] = "create",
	[JOURNAL_TMPFILE] = "tmpfile",	 [JOURNAL_MKNOD] = "mknod",
	[JOURNAL_MKDIR] = "mkdir",	 [JOURNAL_SYMLINK] = "symlink",
	[JOURNAL_LINK] = "link",	 [JOURNAL_UNLINK] = "unlink",
	[JOURNAL_RMDIR] = "rmdir",	 [JOURNAL_RENAME] = "rename",
	[JOURNAL_EXCHANGE] = "exchange", [JOURNAL_CHMOD] = "chmod",
	[JOURNAL_CHOWN] = "chown",	 [JOURNAL_UTIMENS] = "utimens",
	[JOURNAL_SETXATTR] = "setxattr", [JOURNAL_REMOVEXATTR] = "removexattr",
	[JOURNAL_SETFLAGS] = "setflags", [JOURNAL_FALLOCATE] = "fallocate",
	[JOURNAL_COPY] = "copy",	 [JOURNAL_CLOSE] = "close",
	[JOURNAL_KEEP] = "keep",
};

const char *journal_op_name(enum journal_op op)
{
	if ((unsigned int)op >= JOURNAL_OPS)
		op = JOURNAL_NONE;
	return op_names[op];
}

enum journal_op journal_op_from_name(const char *name)
{
	enum journal_op op;

	for (op = JOURNAL_NONE + 1; op < JOURNAL_OPS; op++)
		if (!strcmp(name, op_names[op]))
			return op;
	return JOURNAL_NONE;
}

/*
 * Write `text`, escaped, to `out`: at most JOURNAL_TEXT_ROOM bytes. Returns the
 * end.
 */
static char *put_text(char *out, const char *text)
{
	return escape_upto(text, JOURNAL_TEXT_MAX, out);
}

/*
 * The put_*_before() functions write a field and its TAB so that they end at
 * `p`, and return where the field begins.
 */
static char *put_number_before(char *p, uint64_t v)
{
	static const char pairs[] = "0001020304050607080910111213141516171819"
				    "2021222324252627282930313233343536373839"
				    "4041424344454647484950515253545556575859"
				    "6061626364656667686970717273747576777879"
				    "8081828384858687888990919293949596979899";

	*--p = '\t';
	for (; v >= 100; v /= 100) {
		p -= 2;
		memcpy(p, pairs + 2 * (v % 100), 2);
	}
	if (v < 10) {
		*--p = (char)('0' + v);
		return p;
	}
	p -= 2;
	memcpy(p, pairs + 2 * v, 2);
	return p;
}

static char *put_signed_before(char *p, int64_t v)
{
	if (v >= 0)
		return put_number_before(p, (uint64_t)v);
	p = put_number_before(p, 0 - (uint64_t)v);
	*--p = '-';
	return p;
}

static char *put_bytes_before(char *p, const char *bytes, size_t len)
{
	p -= len;
	memcpy(p, bytes, len);
	return p;
}

/* Fields 4 to 11: those before the texts that are known without the lock. */
static void draft_middle(struct journal_draft *d, const struct journal_event *e)
{
	const char *op = journal_op_name(e->op);
	char *p = d->middle + sizeof(d->middle);

	p = put_number_before(p, e->tid);
	p = put_number_before(p, e->pid);
	p = put_number_before(p, e->uid);
	p = put_signed_before(p, e->res);
	p = put_signed_before(p, e->len);
	p = put_signed_before(p, e->off);
	p = put_number_before(p, e->ino);
	*--p = '\t';
	p = put_bytes_before(p, op, strlen(op));
	assert(p > d->middle);
	d->middle_at = (size_t)(p - d->middle);
}

static void draft_texts(struct journal_draft *d, const char *path,
			const char *path2, const char *detail)
{
	char *p = d->line + JOURNAL_FRONT_MAX;

	p = put_text(p, path);
	*p++ = '\t';
	p = put_text(p, path2);
	*p++ = '\t';
	p = put_text(p, detail);
	d->text_end = (size_t)(p - d->line);
	assert(d->text_end + CHECKSUM_LEN + 2 <= sizeof(d->line));
}

static const char *path_or_root(const char *path)
{
	if (!path)
		return "";
	return *path ? path : ".";
}

void journal_draft_event(struct journal_draft *d, const struct journal_event *e)
{
	draft_middle(d, e);
	draft_texts(d, path_or_root(e->path), path_or_root(e->path2),
		    e->detail ? e->detail : "");
}

void journal_draft_author(struct journal_draft *d,
			  const struct journal_author *a)
{
	struct journal_event e = {
		.op = JOURNAL_ACTOR,
		.ino = a->start,
		.off = -1,
		.len = -1,
		.res = a->session_root,
		.uid = a->uid,
		.pid = a->pid,
		.tid = a->pid,
	};

	draft_middle(d, &e);
	draft_texts(d, a->exe ? a->exe : "", a->comm ? a->comm : "",
		    a->cmdline ? a->cmdline : "");
}

const char *journal_draft_finish(struct journal_draft *d,
				 const struct journal_stamp *s, size_t *ret_len)
{
	char *p = d->line + JOURNAL_FRONT_MAX;
	char *end = d->line + d->text_end;
	uint64_t sum;
	int shift;

	p = put_number_before(p, s->author);
	p = put_bytes_before(p, d->middle + d->middle_at,
			     sizeof(d->middle) - d->middle_at);
	p = put_number_before(p, s->wall_ns);
	p = put_number_before(p, s->mono_ns);
	p = put_number_before(p, s->n);
	assert(p >= d->line);

	sum = XXH3_64bits(p, (size_t)(end - p));
	*end++ = '\t';
	for (shift = 60; shift >= 0; shift -= 4)
		*end++ = hex_digits[(sum >> shift) & 15];
	*end++ = '\n';
	assert(end <= d->line + sizeof(d->line));
	*ret_len = (size_t)(end - p);
	return p;
}

static bool checksum_fits(const char *text, size_t len)
{
	const char *tab = text + len - CHECKSUM_LEN - 1;
	uint64_t sum = 0;
	int i, v;

	assert(len > CHECKSUM_LEN + 1);
	if (*tab != '\t')
		return false;
	for (i = 1; i <= CHECKSUM_LEN; i++) {
		v = hex_value(tab[i]);
		if (v < 0)
			return false;
		sum = sum << 4 | (uint64_t)v;
	}
	return sum == XXH3_64bits(text, (size_t)(tab - text));
}

/* The fields still to be parsed; `bad` once one of them was invalid. */
struct line_fields {
	char *at; /* NULL: no more fields */
	bool bad;
};

static char *next_field(struct line_fields *f)
{
	char *field = f->at;
	char *tab;

	if (!field) {
		f->bad = true;
		return NULL;
	}
	tab = strchr(field, '\t');
	if (tab)
		*tab++ = '\0';
	f->at = tab;
	return field;
}

static uint64_t read_number(struct line_fields *f, const char *s, uint64_t max)
{
	uint64_t v = 0;
	unsigned int digit;

	f->bad |= !s || !*s;
	for (; !f->bad && *s; s++) {
		digit = (unsigned int)(unsigned char)*s - '0';
		if (digit > 9 || v > (max - digit) / 10)
			f->bad = true;
		else
			v = v * 10 + digit;
	}
	return f->bad ? 0 : v;
}

static uint64_t next_number(struct line_fields *f, uint64_t max)
{
	return read_number(f, next_field(f), max);
}

static uint32_t next_id(struct line_fields *f)
{
	return (uint32_t)next_number(f, UINT32_MAX);
}

static int64_t next_signed(struct line_fields *f)
{
	const char *s = next_field(f);
	uint64_t v;

	if (!s || *s != '-')
		return (int64_t)read_number(f, s, INT64_MAX);
	v = read_number(f, s + 1, (uint64_t)INT64_MAX + 1);
	return (int64_t)(0 - v);
}

static enum journal_op next_op(struct line_fields *f)
{
	const char *name = next_field(f);

	return name ? journal_op_from_name(name) : JOURNAL_NONE;
}

/* Unescapes in place: the result is never longer than the escaped text. */
static char *next_text(struct line_fields *f)
{
	char *field = next_field(f);

	if (field && escape_undo(field) < 0) {
		f->bad = true;
		return NULL;
	}
	return field;
}

static const char *none_if_empty(const char *text)
{
	return text && *text ? text : NULL;
}

int journal_parse(char *text, size_t len, struct journal_parsed *ret)
{
	struct line_fields f = { .at = text };
	struct journal_parsed p = { 0 };
	struct journal_event *e = &p.line.event;

	if (len <= CHECKSUM_LEN + 1 || !checksum_fits(text, len))
		return -EBADMSG;
	len -= CHECKSUM_LEN + 1;
	if (memchr(text, '\0', len))
		return -EBADMSG;
	text[len] = '\0';

	p.line.n = next_number(&f, JOURNAL_NUMBER_MAX);
	p.line.mono_ns = next_number(&f, UINT64_MAX);
	p.line.wall_ns = next_number(&f, UINT64_MAX);
	e->op = next_op(&f);
	e->ino = next_number(&f, UINT64_MAX);
	e->off = next_signed(&f);
	e->len = next_signed(&f);
	e->res = next_signed(&f);
	e->uid = next_id(&f);
	e->pid = next_id(&f);
	e->tid = next_id(&f);
	p.author = next_number(&f, JOURNAL_NUMBER_MAX);
	e->path = next_text(&f);
	e->path2 = none_if_empty(next_text(&f));
	e->detail = none_if_empty(next_text(&f));
	if (f.bad || f.at || p.line.n == 0)
		return -EBADMSG;

	*ret = p;
	return 0;
}

static const char *empty_if_none(const char *text)
{
	return text ? text : "";
}

void journal_parsed_author(const struct journal_parsed *p,
			   struct journal_author *ret)
{
	const struct journal_event *e = &p->line.event;

	*ret = (struct journal_author){
		.pid = e->pid,
		.uid = e->uid,
		.start = e->ino,
		.comm = empty_if_none(e->path2),
		.cmdline = empty_if_none(e->detail),
		.exe = empty_if_none(e->path),
		.session_root = e->res != 0,
	};
}
