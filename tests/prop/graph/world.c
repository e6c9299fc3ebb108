#include "tests/prop/graph/world.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "tests/support/again.h"

static char *copy(const char *text)
{
	size_t size;

	if (!text)
		return NULL;
	size = strlen(text) + 1;
	return memcpy(must_alloc(size), text, size);
}

void op_add(op_list *ops, enum op_verb verb, const char *path, const char *to,
	    const char *text)
{
	array_push(ops, ((struct op){ .verb = verb,
				      .path = copy(path),
				      .to = copy(to),
				      .text = copy(text) }));
}

void op_list_release(op_list *ops)
{
	for (uint32_t k = 0; k < ops->count; k++) {
		free(ops->at[k].path);
		free(ops->at[k].to);
		free(ops->at[k].text);
	}
	array_release(ops);
}

void op_tell(const struct op *op, FILE *out)
{
	static const char *const verbs[] = { "edit", "put", "remove",
					     "rename" };

	(void)fprintf(out, "== %s %s%s%s%s%s\n", verbs[op->verb], op->path,
		      op->to ? " " : "", op->to ? op->to : "",
		      op->settle ? ", settle" : "", op->again ? ", again" : "");
	if (op->text)
		(void)fprintf(out, "%s", op->text);
}

void world_init(struct world *w, struct lang_readers *r)
{
	*w = (struct world){ .reader = r,
			     .g = graph_new(),
			     .names = intern_new() };
}

static void file_release(struct world_file *f)
{
	free(f->path);
	free(f->text);
	free(f->facts);
}

void world_release(struct world *w)
{
	for (uint32_t k = 0; k < w->files.count; k++)
		file_release(&w->files.at[k]);
	array_release(&w->files);
	picture_release(&w->before);
	graph_free(w->g);
	intern_free(w->names);
}

struct world_file *world_find(struct world *w, const char *path)
{
	for (uint32_t k = 0; k < w->files.count; k++)
		if (strcmp(w->files.at[k].path, path) == 0)
			return &w->files.at[k];
	return NULL;
}

static void forget(struct world *w, const char *path)
{
	struct world_file *f = world_find(w, path);

	if (!f)
		return;
	file_release(f);
	*f = w->files.at[--w->files.count];
}

/* A copy of exactly their size, so that ASan catches reads behind it. */
static struct facts *facts_copy(const struct facts *f)
{
	return memcpy(must_alloc(f->size), f, f->size);
}

static const struct facts *know(struct world *w, const char *path,
				const char *text)
{
	struct world_file f = { .path = copy(path), .text = copy(text) };

	f.facts = lang_read(w->reader, path, f.text, strlen(f.text));
	forget(w, path);
	array_push(&w->files, f);
	return f.facts;
}

static void rename_file(struct world *w, const char *from, const char *to)
{
	struct world_file *f = world_find(w, from);
	char *text;
	int r;

	if (!f)
		return;
	text = copy(f->text);
	r = graph_rename(w->g, from, to);
	if (r == -ESTALE) {
		(void)graph_remove(w->g, from);
		(void)graph_put(w->g, to, facts_copy(f->facts));
	}
	forget(w, from);
	(void)know(w, to, text);
	free(text);
}

static void edit(struct world *w, const struct op *op)
{
	size_t len = strlen(op->text);
	bool partial = false, little;

	(void)know(w, op->path, op->text);
	little = graph_edits_little(w->g, w->reader, op->path, op->text, len,
				    len ? len - 1 : 0);
	(void)graph_edit(w->g, w->reader, op->path, op->text, len, &partial);
	if (partial && !little)
		abort(); /* what was said before is not what was done */
	w->edits++;
	w->partial += partial;
}

static void apply(struct world *w, const struct op *op)
{
	switch (op->verb) {
	case OP_EDIT:
		edit(w, op);
		break;
	case OP_PUT:
		(void)graph_put(w->g, op->path,
				facts_copy(know(w, op->path, op->text)));
		break;
	case OP_REMOVE:
		forget(w, op->path);
		(void)graph_remove(w->g, op->path);
		break;
	case OP_RENAME:
		rename_file(w, op->path, op->to);
		break;
	}
}

/* Build a graph from the present texts, as another process would. */
static void build(const struct world *w, struct picture *ret)
{
	struct graph *g = graph_new();

	for (uint32_t k = 0; k < w->files.count; k++)
		(void)graph_put(g, w->files.at[k].path,
				facts_copy(w->files.at[k].facts));
	(void)graph_settle(g, NULL);
	picture_take(w->names, g, ret);
	graph_free(g);
}

static bool judge(struct world *w, FILE *out)
{
	struct picture is, should;
	struct graph_delta d;
	char why[512];
	bool good;

	(void)graph_settle(w->g, &d);
	picture_take(w->names, w->g, &is);
	build(w, &should);
	good = picture_same(w->names, &is, &should, out);
	if (good)
		good = picture_explains(w->names, &w->before, &is, w->g, &d,
					out);
	if (good && graph_check(w->g, why, sizeof(why)) < 0) {
		if (out)
			(void)fprintf(out, "  graph_check: %s\n", why);
		good = false;
	}
	picture_release(&w->before);
	picture_release(&should);
	w->before = is;
	return good;
}

/* Save, load, and go on with the loaded graph. */
static bool go_on_again(struct world *w, FILE *out)
{
	struct picture is;
	bool good;

	w->g = graph_again(w->g);
	w->again++;
	if (!w->g) {
		/* world_release() needs a graph. */
		w->g = graph_new();
		if (out)
			(void)fprintf(out, "  it could not be loaded\n");
		return false;
	}
	picture_take(w->names, w->g, &is);
	good = picture_same(w->names, &is, &w->before, out);
	picture_release(&is);
	return good;
}

bool world_do(struct world *w, const struct op *op, FILE *out)
{
	apply(w, op);
	if (op->settle && !judge(w, out))
		return false;
	return !op->settle || !op->again || go_on_again(w, out);
}
