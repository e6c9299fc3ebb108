/*
 * From journal lines to the versions of files. A path is dirty from the first
 * line that may have changed it until it settles: its last writer closed it, it
 * was renamed or removed, there was no write for a while, or SYNC was asked
 * (tape/README.md, Entries). Each version that a process finished, or that
 * another process ended by its change, is handed over for itself, with its own
 * author and its own content: settle_wanted() says which files to read now, and
 * KEEP lines name copies of what was overwritten before. What is neither read
 * nor kept is merged with the version after it.
 *
 * A directory is nothing but the names of files: that it moved means that each
 * file below it did, whether dirty or known to the tape.
 *
 * An atomic save (write a new file, rename it over the old) is one change of
 * the target, attributed to the author of the text. A file that one process
 * makes and removes, or renames away, between two settlings leaves no change of
 * its own.
 *
 * Pure: lines, contents and the time in, versions out. Authors are those of the
 * lines and must live as long as a dirty path refers to them. Memory that
 * cannot be had ends the process.
 */
#ifndef STATETAPE_TAPE_SETTLE_H
#define STATETAPE_TAPE_SETTLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct content;
struct content_pool;
struct journal_author;
struct journal_line;
struct settle;

/* A path settles by itself after this long without a write. On a busy machine
   a program may pause between making a file and renaming it over another. */
#define SETTLE_QUIET_NS UINT64_C(200000000)
/* A path that is written without pause settles after this. */
#define SETTLE_LONGEST_NS UINT64_C(1000000000)

/* A version of a path. */
struct settled {
	const char *path;
	/*
	 * The name under which its content was known: `path` itself, or the
	 * name it was renamed from; NULL: it is new. A file that is gone may
	 * have been known under either.
	 */
	const char *from;
	const char *like; /* it is a new name (a link) of this file, or NULL */
	const struct journal_author *author; /* the last; NULL: unknown */
	/* If it is merged, all in order, NULL: outside the mount. Else one. */
	const struct journal_author *const *authors;
	size_t authors_count;
	bool merged;
	bool outside;	      /* made outside the mount */
	uint64_t first, last; /* journal lines */
	int64_t at_ns;	      /* CLOCK_REALTIME of the last of them */
	bool gone;	      /* the last line removed this name */
	bool wrote;	      /* the content changed, and not the name alone */
	/* If it was written; CONTENT_READ or CONTENT_KEPT, or unwanted. */
	struct content *content;
};
/*
 * The files that the tape knows, as of the versions that were handed over. All
 * may be NULL: none is known.
 */
typedef void settle_visit(void *arg, const char *path);
struct settle_known {
	bool (*has)(void *ctx, const char *path);
	/* Each below the directory. */
	void (*below)(void *ctx, const char *dir, settle_visit *visit,
		      void *arg);
	/* Fill the content that the tape knows of the path. False: it has
	   none. */
	bool (*read)(void *ctx, const char *path, struct content *content);
	void *ctx;
};
struct settle *settle_new(const struct settle_known *known,
			  struct content_pool *pool);
void settle_free(struct settle *s);

/* Asked about each version that could be handed over; false: not yet. NULL: all
   can. */
typedef bool settle_ready(void *ctx, const char *path,
			  const struct content *content);
void settle_ask_ready(struct settle *s, settle_ready *ready);

/*
 * After a restart, lines up to `line` are read a second time, and some of their
 * versions are entered already. Their contents are gone: until then no version
 * is cut off, and what several wrote is merged.
 */
void settle_recover(struct settle *s, uint64_t line);

/* Apply the next line. */
void settle_line(struct settle *s, const struct journal_line *line);

/*
 * -- Contents. To be read: versions that are finished or about to be handed
 * over. Read each file, give its content to content_fill() or set `unwanted`,
 * then tell the file system about settle_read_line(), call settle_published()
 * with the time after that, and read the journal on. The array is valid until
 * the next call or line.
 */
struct settle_want {
	const char *path;
	struct content *content;
};
size_t settle_wanted(struct settle *s, uint64_t now_ns, uint64_t upto,
		     const struct settle_want **ret);
/* The same for what settle_take_path() would hand over. */
size_t settle_wanted_path(struct settle *s, const char *path,
			  const struct settle_want **ret);
/* The content of every version finished by lines up to this one was read;
   `newest` is the newest line there is. */
uint64_t settle_read_line(const struct settle *s, uint64_t newest);
void settle_published(struct settle *s, uint64_t now_ns);
/*
 * Every line was given to settle_line() of operations that returned before this
 * (CLOCK_MONOTONIC). A content counts when all lines from before it was
 * published were: until then a KEEP line about it may come.
 */
void settle_heard(struct settle *s, uint64_t mono_ns);
/* Lines that are lost cannot be heard of: all that was read counts. */
void settle_sure(struct settle *s);

/*
 * -- Versions. Those of paths that have settled by `now_ns` (CLOCK_MONOTONIC),
 * and those with a line up to `upto`, whether settled or not (0: none;
 * UINT64_MAX: every dirty path), provided that their contents count. About
 * `most` of them, those first whose last line is oldest; they are handed over
 * in the order of their last lines. The array belongs to `s` and is valid until
 * the next call, of the other function as well.
 */
size_t settle_take(struct settle *s, uint64_t now_ns, uint64_t upto,
		   size_t most, const struct settled **ret);
/* What is dirty of `path`: itself, and names it moved from and to, whether
   settled or not. */
size_t settle_take_path(struct settle *s, const char *path,
			const struct settled **ret);

/* When the next path settles: CLOCK_MONOTONIC, 0: no path is dirty. */
uint64_t settle_due(const struct settle *s);
/* The oldest line of any dirty path, 0: none. */
uint64_t settle_oldest(const struct settle *s);
size_t settle_pending(const struct settle *s);
/* Is this path dirty, or was a dirty one known by its name? */
bool settle_has(const struct settle *s, const char *path);
/* Is a path below this directory ("": the root) dirty? */
bool settle_below(const struct settle *s, const char *dir);
/* The name under which the content of a path was known, if lines moved it;
   NULL: the same. (Free it.) */
char *settle_known_as(const struct settle *s, const char *path);
/* What the path contains as far as it was read; NULL: it is not dirty, or was
   not read. */
const struct content *settle_content(const struct settle *s, const char *path);

#endif
