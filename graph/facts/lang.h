/*
 * Languages. The graph works with facts (facts.h) and never with a language:
 * callers name a path and pass its text, and the path's suffix decides whose
 * reader makes facts of it.
 *
 * A language is one constant `struct lang`, defined in a folder of its own and
 * listed in languages.c. graph/facts/ includes none of these folders.
 */
#ifndef STATETAPE_GRAPH_FACTS_LANG_H
#define STATETAPE_GRAPH_FACTS_LANG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct facts;

/* Ids are never given to another language. */
#define LANG_PYTHON 1
#define LANG_IDS    32 /* every id lies below it */

struct lang {
	/* Kept in facts and caches; 0 is no language's. */
	uint8_t id;
	/* Of its facts: raised when the same bytes come to mean others. */
	uint32_t version;
	const char *name;
	const char *const *suffixes; /* of its files' names; NULL ends them */

	/*
	 * A reader is the parser and its scratch memory; only the language
	 * knows its type. The functions below are called by one thread at a
	 * time for each reader, and do as lang_read(), lang_read_unit() and
	 * lang_is_vast() say.
	 */
	void *(*reader_new)(void);
	void (*reader_free)(void *reader);
	struct facts *(*read)(void *reader, const char *text, size_t len);
	struct facts *(*read_unit)(void *reader, const char *text, size_t len,
				   size_t indent, bool method);
	bool (*is_vast)(void *reader, const char *text, size_t len);
};

extern const struct lang lang_python; /* python/ */

/* All of them; NULL ends the list. */
extern const struct lang *const lang_all[];

/* By the path's last part. NULL: no language of ours. */
const struct lang *lang_of(const char *path);
/* NULL: there is none with this id. */
const struct lang *lang_by_id(unsigned id);

/*
 * One reader per language, each made when a text of its language is first
 * read. One thread's at a time.
 */
struct lang_readers;
struct lang_readers *lang_readers_new(void);
void lang_readers_free(struct lang_readers *rs); /* accepts NULL */

/*
 * Read the whole text of the file at `path`. Any bytes will do: what does not
 * parse is left out and marked. The facts are freed with free(). NULL: the path
 * has no language, or the text is longer than 2^31 bytes, or its facts would
 * be larger than 2^32. Memory that cannot be had ends the process.
 */
struct facts *lang_read(struct lang_readers *rs, const char *path,
			const char *text, size_t len);
/* Would its facts be `vast`? false: the path has no language, too. */
bool lang_is_vast(struct lang_readers *rs, const char *path, const char *text,
		  size_t len);

/*
 * Read one definition of the file at `path` by itself: `text` from its first
 * decorator (or keyword) to its end, with the `indent` bytes of blanks of its
 * first line before it, at text[-indent]: where a body must be further in than
 * its head, that decides. The result has no module unit: unit 0 is the
 * definition, as it would be in the whole file, except for what only the file
 * knows: start, end and line count from its own start, `gap` is 0, and
 * UNIT_CONDITIONAL is not set. `method`: it stands directly in a class. NULL:
 * it must be read with its file (it does not parse alone, or is not one
 * definition up to the very end of the text).
 *
 * Both ways give the same facts in files that are neither `broken` nor
 * `joined`.
 */
struct facts *lang_read_unit(struct lang_readers *rs, const char *path,
			     const char *text, size_t len, size_t indent,
			     bool method);

#endif
