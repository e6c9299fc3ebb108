/*
 * From journal lines to changes worth looking at. A path is dirty from the
 * first line that may have changed it until it settles: its last writer
 * closed it, it was renamed or removed, nobody wrote for a while, or somebody
 * asked. What the file then holds is read from the file; this part only says
 * which paths to look at, under which old name their content was known, who
 * did it, and which lines told so.
 *
 * An atomic save (write a new file, rename it over the old) is one change of
 * the target by the author who wrote the text. A file made and removed, or
 * renamed away, between two settlings leaves nothing of its own.
 *
 * Pure: lines and the time in, changes out. Authors are those of the lines
 * and must live as long as something dirty is theirs. Memory that cannot be
 * had ends the process.
 */
#ifndef STATETAPE_TAPE_SETTLE_H
#define STATETAPE_TAPE_SETTLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct journal_author;
struct journal_line;
struct settle;

/* How long nobody may write before a path settles by itself. A busy machine
   takes its time between making a file and renaming it over another. */
#define SETTLE_QUIET_NS UINT64_C(200000000)
/* A path that is written all the time settles after this all the same. */
#define SETTLE_LONGEST_NS UINT64_C(1000000000)

/* A path to look at. */
struct settled {
	const char *path;
	/*
	 * Under this name its content was known before; the same as `path`,
	 * or the name it was renamed from; NULL: it is new. What is no longer
	 * there at all may have been known under either.
	 */
	const char *from;
	const struct journal_author *author; /* of the text; NULL: unknown */
	uint64_t first, last;		     /* journal lines */
	int64_t at_ns;	/* CLOCK_REALTIME of the last of them */
	bool directory; /* it may be one, moved with everything below */
	bool gone;	/* after the last line there is no such name */
};

/*
 * `known` says if the tape knows a file of that name, and so if one that is
 * made is new to it: after a restart lines are read again that tell of files
 * it has met. NULL: none is known.
 */
typedef bool settle_known(void *ctx, const char *path);
struct settle *settle_new(settle_known *known, void *ctx);
void settle_free(struct settle *s);

/* Apply the next line. */
void settle_line(struct settle *s, const struct journal_line *line);

/*
 * What has settled by `now_ns` (CLOCK_MONOTONIC), in the order of their last
 * lines; with `all`, everything dirty. The array is the struct's until the
 * next call.
 */
size_t settle_take(struct settle *s, uint64_t now_ns, bool all,
		   const struct settled **ret);

/* When to come again: CLOCK_MONOTONIC, 0: nothing is dirty. */
uint64_t settle_due(const struct settle *s);
/* The oldest line that something dirty is made of, 0: none. */
uint64_t settle_oldest(const struct settle *s);
size_t settle_pending(const struct settle *s);
/* Is something to come about this path, as it is or as it was named, or about
   a directory above it? */
bool settle_has(const struct settle *s, const char *path);

#endif
