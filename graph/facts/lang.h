/*
 * Languages. What a file's bytes mean is its language's business and nobody
 * else's: the graph asks here by path, and works with facts.
 */
#ifndef STATETAPE_GRAPH_FACTS_LANG_H
#define STATETAPE_GRAPH_FACTS_LANG_H

#include <stdbool.h>
#include <stddef.h>

struct facts;
struct facts_reader;

struct lang {
	const char *name;
	const char *const *suffixes; /* of its files' names; NULL ends them */

	/* As facts.h says of the functions of these names. */
	struct facts_reader *(*reader_new)(void);
	void (*reader_free)(struct facts_reader *r);
	struct facts *(*read)(struct facts_reader *r, const char *text,
			      size_t len);
	struct facts *(*read_unit)(struct facts_reader *r, const char *text,
				   size_t len, size_t indent, bool method);
};

/* By the path's last part. NULL: no language of ours. */
const struct lang *lang_of(const char *path);

#endif
