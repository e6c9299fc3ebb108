#include "graph/facts/lang.h"

#include <string.h>

#include "graph/facts/facts.h"

/* Not .pyi: stubs speak about code that stands elsewhere. */
static const char *const python_suffixes[] = { ".py", NULL };

static const struct lang languages[] = {
	{
		.name = "python",
		.suffixes = python_suffixes,
		.reader_new = facts_reader_new,
		.reader_free = facts_reader_free,
		.read = facts_read,
		.read_unit = facts_read_unit,
	},
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
	const char *const *s;
	size_t i;

	for (i = 0; i < sizeof(languages) / sizeof(languages[0]); i++)
		for (s = languages[i].suffixes; *s; s++)
			if (has_suffix(name, *s))
				return &languages[i];
	return NULL;
}
