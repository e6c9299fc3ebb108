/*
 * Arbitrary bytes as the history of a small repository. The input is split at
 * bytes 0x1e; of each piece the first byte is the operation, the second the
 * file, the rest is text:
 *
 *	p  put the file, with the text read as a whole
 *	e  the file's text is now this text
 *	i  insert the text, at the place given by the third byte
 *	d  delete from the place given by the third byte as many bytes as the
 *	   fourth says
 *	r  remove the file
 *	n  rename the file to the one given by the third byte
 *	s  settle and check everything
 *	k  the same, and go on with the graph saved to a file and loaded
 *
 * Nothing may crash, and at each check the graph must equal the one built from
 * the present texts.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/facts/facts.h"
#include "graph/facts/lang.h"
#include "graph/graph.h"
#include "tests/prop/graph/picture.h"
#include "tests/support/again.h"

#define CUT	 0x1e
#define TEXT_MAX (64 << 10)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static const char *const paths[] = {
	"a.py",	  "b.py",	   "p/__init__.py", "p/a.py",
	"p/b.py", "p/conftest.py", "src/a.py",	    "p/test_c.py",
};
#define FILES (sizeof(paths) / sizeof(*paths))

struct repo {
	struct lang_readers *r;
	struct graph *g;
	struct intern *names;
	struct {
		char *text; /* NULL: it does not exist */
		size_t len;
	} files[FILES];
	struct picture before;
};

static void must(bool holds)
{
	if (holds)
		return;
	(void)fflush(stdout);
	abort();
}

/* A copy of exactly its size, so that ASan catches reads behind it. */
static void keep(struct repo *r, size_t n, const uint8_t *text, size_t len)
{
	char *copy = must_alloc(len ? len : 1);

	if (len)
		memcpy(copy, text, len);
	free(r->files[n].text);
	r->files[n].text = copy;
	r->files[n].len = len;
}

static void edit(struct repo *r, size_t n)
{
	must(graph_edit(r->g, r->r, paths[n], r->files[n].text, r->files[n].len,
			NULL) == 0);
}

static void put(struct repo *r, struct graph *g, size_t n)
{
	struct facts *f =
		lang_read(r->r, paths[n], r->files[n].text, r->files[n].len);

	must(f != NULL);
	must(graph_put(g, paths[n], f) == 0);
}

static void forget(struct repo *r, size_t n)
{
	free(r->files[n].text);
	r->files[n].text = NULL;
}

/* Replace text[from, from + gone) by the given bytes. */
static void cut_in(struct repo *r, size_t n, size_t from, size_t gone,
		   const uint8_t *in, size_t len)
{
	size_t had = r->files[n].text ? r->files[n].len : 0;
	uint8_t *text;

	from = from < had ? from : had;
	gone = gone < had - from ? gone : had - from;
	if (had - gone + len > TEXT_MAX)
		return;
	text = must_alloc(had - gone + len + 1);
	if (from)
		memcpy(text, r->files[n].text, from);
	if (len)
		memcpy(text + from, in, len);
	if (had - from - gone)
		memcpy(text + from + len, r->files[n].text + from + gone,
		       had - from - gone);
	keep(r, n, text, had - gone + len);
	free(text);
	edit(r, n);
}

static void rename_to(struct repo *r, size_t n, size_t to)
{
	int error = graph_rename(r->g, paths[n], paths[to]);

	must(error == 0 || error == -ENOENT || error == -ESTALE);
	must((error == -ENOENT) == !r->files[n].text);
	if (error == -ENOENT || n == to)
		return;
	keep(r, to, (const uint8_t *)r->files[n].text, r->files[n].len);
	forget(r, n);
	if (error == -ESTALE) {
		must(graph_remove(r->g, paths[n]) == 0);
		put(r, r->g, to);
	}
}

static void look(struct repo *r)
{
	struct graph *g = graph_new();
	struct picture is, should;
	struct graph_delta d;
	char why[256];

	must(graph_settle(r->g, &d) == 0);
	for (size_t n = 0; n < FILES; n++)
		if (r->files[n].text)
			put(r, g, n);
	must(graph_settle(g, NULL) == 0);
	picture_take(r->names, r->g, &is);
	picture_take(r->names, g, &should);
	must(picture_same(r->names, &is, &should, stdout));
	must(picture_explains(r->names, &r->before, &is, r->g, &d, stdout));
	must(graph_check(r->g, why, sizeof(why)) == 0);
	picture_release(&should);
	picture_release(&r->before);
	r->before = is;
	graph_free(g);
}

static size_t byte(const uint8_t *at, size_t len, size_t k)
{
	return k < len ? at[k] : 0;
}

static void act(struct repo *r, const uint8_t *at, size_t len)
{
	size_t n = byte(at, len, 1) % FILES;
	size_t size = r->files[n].text ? r->files[n].len : 0;

	switch (byte(at, len, 0)) {
	case 'p':
		keep(r, n, at + 2, len > 2 ? len - 2 : 0);
		put(r, r->g, n);
		break;
	case 'e':
		keep(r, n, at + 2, len > 2 ? len - 2 : 0);
		edit(r, n);
		break;
	case 'i':
		cut_in(r, n, size * byte(at, len, 2) / 255, 0, at + 3,
		       len > 3 ? len - 3 : 0);
		break;
	case 'd':
		cut_in(r, n, size * byte(at, len, 2) / 255, byte(at, len, 3),
		       NULL, 0);
		break;
	case 'r':
		forget(r, n);
		must(graph_remove(r->g, paths[n]) == 0);
		break;
	case 'n':
		rename_to(r, n, byte(at, len, 2) % FILES);
		break;
	case 's':
		look(r);
		break;
	case 'k':
		look(r);
		r->g = graph_again(r->g);
		must(r->g != NULL);
		break;
	default:
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct repo r = { .r = lang_readers_new(),
			  .g = graph_new(),
			  .names = intern_new() };
	size_t at = 0;

	while (at < len) {
		const uint8_t *end = memchr(data + at, CUT, len - at);
		size_t n = end ? (size_t)(end - data) - at : len - at;

		act(&r, data + at, n);
		at += n + 1;
	}
	look(&r);
	for (size_t n = 0; n < FILES; n++)
		forget(&r, n);
	picture_release(&r.before);
	graph_free(r.g);
	intern_free(r.names);
	lang_readers_free(r.r);
	return 0;
}
