/*
 * From journal lines to changed paths. A path is dirty from the first line that
 * may have changed it until it settles: its last writer closed it, it was
 * renamed or removed, there was no write for a while, or SYNC was asked
 * (tape/README.md, Entries). This module only says which paths to look at,
 * under which old name their content was known, who changed them, and by which
 * lines; the caller reads the file.
 *
 * An atomic save (write a new file, rename it over the old) is one change of
 * the target, attributed to the author of the text. A file that is made and
 * removed, or renamed away, between two settlings leaves no change of its own.
 *
 * Pure: lines and the time in, changes out. Authors are those of the lines and
 * must live as long as a dirty path refers to them. Memory that cannot be had
 * ends the process.
 */
#ifndef STATETAPE_TAPE_SETTLE_H
#define STATETAPE_TAPE_SETTLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct journal_author;
struct journal_line;
struct settle;

/* A path settles by itself after this long without a write. On a busy machine
   a program may pause between making a file and renaming it over another. */
#define SETTLE_QUIET_NS UINT64_C(200000000)
/* A path that is written without pause settles after this. */
#define SETTLE_LONGEST_NS UINT64_C(1000000000)

/* A path to look at. */
struct settled {
	const char *path;
	/*
	 * The name under which its content was known: `path` itself, or the
	 * name it was renamed from; NULL: it is new. A file that is gone may
	 * have been known under either.
	 */
	const char *from;
	const struct journal_author *author; /* of the text; NULL: unknown */
	uint64_t first, last;		     /* journal lines */
	int64_t at_ns;	/* CLOCK_REALTIME of the last of them */
	bool directory; /* it may be one, moved with all files below it */
	bool gone;	/* the last line removed this name */
};

/*
 * `known` says whether the tape knows a file of that name: after a restart,
 * lines are read again that create files it has entries of. NULL: none is
 * known.
 */
typedef bool settle_known(void *ctx, const char *path);
struct settle *settle_new(settle_known *known, void *ctx);
void settle_free(struct settle *s);

/* Apply the next line. */
void settle_line(struct settle *s, const struct journal_line *line);

/*
 * The paths that have settled by `now_ns` (CLOCK_MONOTONIC), and those with a
 * line up to `upto`, whether settled or not (0: none; UINT64_MAX: every dirty
 * path). About `most` of them, those first whose last line is oldest; they are
 * handed over in the order of their last lines. The array belongs to `s` and is
 * valid until the next call, of the other function as well.
 */
size_t settle_take(struct settle *s, uint64_t now_ns, uint64_t upto,
		   size_t most, const struct settled **ret);
/* What is dirty of `path`: itself, names it moved from and to, and directories
   above it that moved, whether settled or not. */
size_t settle_take_path(struct settle *s, const char *path,
			const struct settled **ret);

/* When the next path settles: CLOCK_MONOTONIC, 0: no path is dirty. */
uint64_t settle_due(const struct settle *s);
/* The oldest line of any dirty path, 0: none. */
uint64_t settle_oldest(const struct settle *s);
size_t settle_pending(const struct settle *s);
/* Is this path dirty, or was a dirty one known by its name, or is a directory
   above it dirty? */
bool settle_has(const struct settle *s, const char *path);

#endif
