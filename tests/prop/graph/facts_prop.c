/*
 * A definition read by itself has the facts it has in its file: after any edit
 * inside it, if lang_read_unit() accepts the new text, reading the whole file
 * gives the same unit in the same place, and all other units unchanged.
 *
 * Usage: facts_prop SEED ROUNDS FILE.py... The seed is printed (0: by the
 * clock). Each file is edited by itself, over and over, as long as it parses.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "graph/base/cleanup.h"
#include "graph/facts/facts.h"
#include "graph/facts/lang.h"
#include "tests/prop/fs/dice.h"
#include "tests/support/facts_same.h"

#define TEXT_MAX (1 << 20)

/* A file's text and its facts. */
struct file {
	char *text;
	size_t len;
	struct facts *facts;
	uint32_t *starts; /* of its units, from the start of the file */
};

static uint64_t taken, refused, stayed_alone;

static bool file_read(struct lang_readers *r, char *text, size_t len,
		      struct file *ret)
{
	const struct facts_unit *u;

	*ret = (struct file){ .text = text, .len = len };
	ret->facts = lang_read(r, "a.py", text, len);
	if (!ret->facts || facts_check(ret->facts, ret->facts->size) < 0)
		return false;
	u = facts_units(ret->facts);
	ret->starts = calloc(ret->facts->units_count, sizeof(*ret->starts));
	for (uint32_t i = 1; ret->starts && i < ret->facts->units_count; i++)
		ret->starts[i] = ret->starts[i - u[i].parent] + u[i].start;
	return ret->starts != NULL;
}

static void file_release(struct file *f)
{
	free(f->text);
	free(f->facts);
	free(f->starts);
	*f = (struct file){ 0 };
}

/* Reads unit `i` by itself, with `grown` bytes more than the facts say. */
static struct facts *read_alone(struct lang_readers *r, const struct file *f,
				const char *text, uint32_t i, long grown)
{
	const struct facts_unit *u = &facts_units(f->facts)[i];
	size_t start = f->starts[i];
	size_t indent = 0;
	size_t len = (size_t)((long)(u->end - u->start) + grown);

	while (indent < start && strchr(" \t", text[start - indent - 1]) &&
	       text[start - indent - 1])
		indent++;
	return lang_read_unit(r, "a.py", text + start, len, indent,
			      facts_units(f->facts)[i - u->parent].kind ==
				      UNIT_CLASS);
}

/* Compares every unit of the file, unedited. */
static bool check_all(struct lang_readers *r, const struct file *f)
{
	for (uint32_t i = 1; i < f->facts->units_count; i++) {
		CLEANUP(free_p)
		struct facts *alone = read_alone(r, f, f->text, i, 0);
		const char *what;

		if (!alone) {
			refused++;
			continue;
		}
		taken++;
		what = facts_differ(f->facts, i, alone, 0);
		if (!what)
			continue;
		(void)printf("unit %" PRIu32 " at byte %" PRIu32
			     " differs alone: %s\n",
			     i, f->starts[i], what);
		return false;
	}
	return true;
}

static const char *const words[] = {
	"x",
	"self.y = z()",
	"(",
	")",
	"[",
	"]",
	"{",
	"}",
	"\"\"\"",
	"'",
	":",
	";",
	"#",
	"\\\n",
	"\n",
	"\n\n",
	"\t",
	" ",
	"    ",
	"\r\n",
	"return",
	"yield x",
	"pass",
	"if a: b",
	"else:",
	"def g():",
	"class H:",
	"@deco\n",
	"async ",
	"await ",
	"lambda q: q",
	"global x",
	"import os",
	"f'{x()}'",
	"\n    pass",
	"\n        pass",
	"\n  pass",
	"=",
	",",
	"for i in j:\n",
	"\f",
	"match x:\n    case y: z",
	"except E as e:",
	"\xc3\xa9",
	"isinstance(x, A)",
	"return\n",
	"type T = x",
	"print x",
	"\n# c\n",
};

/* A place in the text: at random, or where a line begins. */
static size_t choose_place(struct dice *d, const char *text, size_t from,
			   size_t to)
{
	size_t at = from + dice_below(d, to - from + 1);

	if (dice_one_in(d, 2))
		while (at > from && text[at - 1] != '\n')
			at--;
	return at;
}

/*
 * Removes a run and inserts something: a word, or a run from elsewhere in the
 * unit. This also indents and removes whole lines.
 */
static char *edit(struct dice *d, const struct file *f, size_t from, size_t to,
		  size_t *ret_len)
{
	size_t a = choose_place(d, f->text, from, to);
	size_t b = dice_one_in(d, 2) ? a : choose_place(d, f->text, from, to);
	size_t c = choose_place(d, f->text, from, to);
	size_t e = choose_place(d, f->text, from, to), t;
	const char *in = words[dice_below(d, sizeof(words) / sizeof(*words))];
	size_t in_len = strlen(in);
	char *text;

	if (a > b)
		t = a, a = b, b = t;
	if (b - a > 200)
		b = a + 200;
	if (c > e)
		t = c, c = e, e = t;
	if (dice_one_in(d, 3) && e - c < 400) {
		in = f->text + c;
		in_len = e - c;
	}
	*ret_len = f->len - (b - a) + in_len;
	text = malloc(*ret_len + 1);
	if (!text)
		abort();
	memcpy(text, f->text, a);
	memcpy(text + a, in, in_len);
	memcpy(text + a + in_len, f->text + b, f->len - b);
	text[*ret_len] = '\0';
	return text;
}

/* Are all units except `i` and those inside it unchanged? */
static const char *differ_others(const struct file *f, const struct file *g,
				 uint32_t i)
{
	const struct facts_unit *u = facts_units(f->facts);
	const struct facts_unit *v = facts_units(g->facts);
	uint32_t n = u[i].units, m = v[i].units, j, k;

	if (f->facts->units_count - n != g->facts->units_count - m)
		return "number of other units";
	for (j = 0; j < f->facts->units_count; j++) {
		k = j <= i ? j : j - n + m;
		if (j >= i && j <= i + n)
			continue;
		if (memcmp(&u[j].meaning, &v[k].meaning, sizeof(u->meaning)) !=
		    0)
			return "meaning of another unit";
		if (memcmp(&u[j].hash, &v[k].hash, sizeof(u->hash)) != 0)
			return "hash of another unit";
		if (u[j].head != v[k].head || u[j].gap != v[k].gap)
			return "pieces of another unit";
	}
	if (memcmp(&f->facts->module_hash, &g->facts->module_hash,
		   sizeof(u->hash)) != 0)
		return "module";
	return NULL;
}

static const char *check_edit(const struct file *f, const struct file *g,
			      uint32_t i, const struct facts *alone)
{
	const char *what;

	if (g->facts->broken)
		return "the file is broken";
	if (i >= g->facts->units_count || g->starts[i] != f->starts[i])
		return "the unit is not there";
	what = facts_differ(g->facts, i, alone, 0);
	return what ? what : differ_others(f, g, i);
}

/* One edit in one body. false: the property does not hold. */
static bool step(struct lang_readers *r, struct dice *d, struct file *f)
{
	uint32_t i = 1 + (uint32_t)dice_below(d, f->facts->units_count - 1);
	const struct facts_unit *u = &facts_units(f->facts)[i];
	size_t start = f->starts[i], len;
	char *text =
		edit(d, f, start + u->body, start + (u->end - u->start), &len);
	CLEANUP(free_p)
	struct facts *alone =
		read_alone(r, f, text, i, (long)len - (long)f->len);
	struct file g;
	const char *what;

	if (!file_read(r, text, len, &g))
		return false;
	what = alone ? check_edit(f, &g, i, alone) : NULL;
	if (what) {
		(void)printf("unit %" PRIu32 " at byte %zu, edited: %s\n"
			     "--- before\n%.*s\n--- after\n%.*s\n"
			     "--- and then\n%.80s\n---\n",
			     i, start, what, (int)(u->end - u->start),
			     f->text + start,
			     (int)(u->end - u->start + len - f->len),
			     text + start,
			     text + start + (u->end - u->start) + len - f->len);
		file_release(&g);
		return false;
	}
	stayed_alone += alone != NULL;
	if (g.facts->broken || g.facts->joined || g.facts->units_count < 2 ||
	    dice_one_in(d, 2)) {
		file_release(&g);
	} else {
		file_release(f);
		*f = g;
	}
	return true;
}

static char *slurp(const char *path, size_t *ret_len)
{
	CLEANUP(fclose_p) FILE *file = fopen(path, "re");
	char *text = malloc(TEXT_MAX);

	if (!file || !text) {
		perror(path);
		abort();
	}
	*ret_len = fread(text, 1, TEXT_MAX, file);
	return text;
}

static bool check_file(struct lang_readers *r, struct dice *d, const char *path,
		       uint64_t rounds)
{
	struct file f;
	size_t len;
	char *text = slurp(path, &len);
	bool ok = file_read(r, text, len, &f) && check_all(r, &f);

	for (uint64_t i = 0; ok && i < rounds && !f.facts->broken &&
			     !f.facts->joined && f.facts->units_count > 1;
	     i++)
		ok = step(r, d, &f);
	if (!ok)
		(void)printf("in %s\n", path);
	file_release(&f);
	return ok;
}

int main(int argc, char **argv)
{
	struct lang_readers *r = lang_readers_new();
	uint64_t seed, rounds;
	struct dice d;
	bool ok = r != NULL;

	if (argc < 4) {
		(void)fprintf(stderr, "usage: %s SEED ROUNDS FILE...\n",
			      argv[0]);
		return 2;
	}
	seed = strtoull(argv[1], NULL, 10);
	rounds = strtoull(argv[2], NULL, 10);
	d.state = seed ? seed : (uint64_t)time(NULL);
	(void)printf("seed %" PRIu64 "\n", d.state);
	for (int i = 3; ok && i < argc; i++)
		ok = check_file(r, &d, argv[i], rounds);
	(void)printf("units read alone %" PRIu64 ", refused %" PRIu64
		     "; edits read alone %" PRIu64 "\n",
		     taken, refused, stayed_alone);
	/* If nearly all edits were refused, the test would show nothing. */
	ok = ok && taken > 20 * refused && stayed_alone > 0;
	lang_readers_free(r);
	return ok ? 0 : 1;
}
