#include "graph/facts/lang.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/facts/facts.h"

struct lang_readers {
	void *of[LANG_IDS]; /* by id; NULL: not made yet */
};

/* A name that is nothing but a suffix (".py") is a hidden file's. */
static bool has_suffix(const char *name, const char *suffix)
{
	size_t len = strlen(name), s = strlen(suffix);

	return len > s && !memcmp(name + len - s, suffix, s);
}

const struct lang *lang_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	const struct lang *const *l;
	const char *const *s;

	for (l = lang_all; *l; l++)
		for (s = (*l)->suffixes; *s; s++)
			if (has_suffix(name, *s))
				return *l;
	return NULL;
}

const struct lang *lang_by_id(unsigned id)
{
	const struct lang *const *l;

	for (l = lang_all; *l; l++)
		if ((*l)->id == id)
			return *l;
	return NULL;
}

struct lang_readers *lang_readers_new(void)
{
	return must_calloc(1, sizeof(struct lang_readers));
}

void lang_readers_free(struct lang_readers *rs)
{
	const struct lang *const *l;

	if (!rs)
		return;
	for (l = lang_all; *l; l++)
		(*l)->reader_free(rs->of[(*l)->id]);
	free(rs);
}

static void *reader_of(struct lang_readers *rs, const struct lang *l)
{
	assert(l->id > 0 && l->id < LANG_IDS);
	if (!rs->of[l->id])
		rs->of[l->id] = l->reader_new();
	return rs->of[l->id];
}

struct facts *lang_read(struct lang_readers *rs, const char *path,
			const char *text, size_t len)
{
	const struct lang *l = lang_of(path);
	struct facts *f;

	if (!l)
		return NULL;
	f = l->read(reader_of(rs, l), text, len);
	assert(!f || (f->lang == l->id && f->units_count > 0));
	return f;
}

bool lang_is_vast(struct lang_readers *rs, const char *path, const char *text,
		  size_t len)
{
	const struct lang *l = lang_of(path);

	return l && l->is_vast(reader_of(rs, l), text, len);
}

struct facts *lang_read_unit(struct lang_readers *rs, const char *path,
			     const char *text, size_t len, size_t indent,
			     bool method)
{
	const struct lang *l = lang_of(path);
	struct facts *f;

	if (!l)
		return NULL;
	f = l->read_unit(reader_of(rs, l), text, len, indent, method);
	assert(!f || (f->lang == l->id && f->units_count > 0));
	return f;
}
