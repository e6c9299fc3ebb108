/*
 * The journal is the numbered log of every operation that may have changed
 * something below the root: one line per operation, written before the caller
 * of the operation gets its answer. A line names author, place and time; the
 * file itself has the content. text.c's head comment gives the bytes of a line,
 * journal.c's the segments.
 *
 * One process writes; a second journal_open() of the same directory fails with
 * -EBUSY. Any of its threads may append. Readers may be other processes or the
 * same one, and never block the writer.
 *
 * journal_append() cannot fail: a line that cannot be kept (disk full,
 * directory removed) still takes its number and is counted, and a `gap` line
 * names the lost range as soon as lines can be kept again.
 */
#ifndef STATETAPE_TAPE_JOURNAL_JOURNAL_H
#define STATETAPE_TAPE_JOURNAL_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum journal_op {
	JOURNAL_NONE,
	/* Lines the journal writes about itself. */
	JOURNAL_SESSION, /* a writer started; path = root, detail = boot id */
	JOURNAL_ACTOR,	 /* a process is introduced (see journal_author) */
	JOURNAL_GAP,	 /* off..off+len-1 were not kept, because of res */
	/* Operations reported by the file system. */
	JOURNAL_WRITE,
	JOURNAL_MMAP,	  /* write-back of a shared mapping */
	JOURNAL_TRUNCATE, /* len = new size; detail "open" when by O_TRUNC,
			     JOURNAL_BY_NAME without a handle, or "deleted" */
	JOURNAL_CREATE,
	JOURNAL_TMPFILE, /* O_TMPFILE: path is the directory, ino the file's */
	JOURNAL_MKNOD,
	JOURNAL_MKDIR,
	JOURNAL_SYMLINK, /* path2 = target text */
	JOURNAL_LINK,	 /* path = old name, path2 = new name */
	JOURNAL_UNLINK,
	JOURNAL_RMDIR,
	JOURNAL_RENAME,	  /* path -> path2; detail JOURNAL_DIRECTORY: of one */
	JOURNAL_EXCHANGE, /* path <-> path2; detail says which of them are
			     directories */
	JOURNAL_CHMOD,
	JOURNAL_CHOWN,
	JOURNAL_UTIMENS,
	JOURNAL_SETXATTR, /* detail = attribute name */
	JOURNAL_REMOVEXATTR,
	JOURNAL_SETFLAGS,  /* FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR */
	JOURNAL_FALLOCATE, /* detail = mode */
	JOURNAL_COPY,	   /* copy_file_range into path from path2 */
	JOURNAL_CLOSE,	   /* a handle that could write was released */
	JOURNAL_KEEP,	   /* see below */
	JOURNAL_OPS,	   /* number of operations */
};

/*
 * A JOURNAL_KEEP line precedes a change that destroys a version of `path` which
 * the tape may not have read: its author is the process that makes the change,
 * and it concerns that process's next change of the file. The fields:
 *
 *	ino	of the file
 *	off	number of the newest line that changed the version; 0: unknown
 *	len	its bytes
 *	path2	the file in the directory JOURNAL_KEPT of the state directory
 *		that holds them (of a symbolic link: its target); NULL if res is
 *		negative
 *	res	0, or why it is not kept: -EFBIG (over JOURNAL_KEPT_MAX bytes),
 *		-EMEDIUMTYPE (not text), -ENOSPC (the tape is too far behind),
 *		-EDQUOT (kept too often, and its writer did not close it since),
 *		-EBUSY (another change of the file is under way: the two are
 *		one version, and so is what is read before both have their
 *		lines), or another negative errno
 *	detail	JOURNAL_OUTSIDE: the version was made outside the mount; or NULL
 *
 * The copy is complete before the line is appended. The file system never
 * removes one that a line names: the reader does, when it needs it no more. A
 * file that no line names was left by a process that was killed; the reader may
 * remove it if it listed the directory before a fence (tape/fence.h), and read
 * the journal after that.
 */
#define JOURNAL_KEPT	    "kept"
#define JOURNAL_KEPT_MAX    (1 << 20)
#define JOURNAL_OUTSIDE	    "outside"
#define JOURNAL_BY_NAME	    "name"
#define JOURNAL_DIRECTORY   "dir"  /* `path` is one */
#define JOURNAL_DIRECTORY2  "dir2" /* `path2` is */
#define JOURNAL_DIRECTORIES "dirs" /* both are */

const char *journal_op_name(enum journal_op op);
/* JOURNAL_NONE: `name` is not an operation. */
enum journal_op journal_op_from_name(const char *name);

/*
 * A process that changed something. The caller must not modify the strings
 * after it passed the author to journal_append(). An author must outlive every
 * append that uses it, and its parents must outlive it.
 */
struct journal_author {
	uint32_t pid; /* process id (thread group) */
	uint32_t uid;
	uint64_t start;		       /* start time, clock ticks since boot */
	const char *comm;	       /* command name */
	const char *cmdline;	       /* arguments joined by one space */
	const char *exe;	       /* path of the executable, "": unknown */
	bool session_root;	       /* the last ancestor that is recorded */
	struct journal_author *parent; /* NULL: unknown or unrecorded */

	uint64_t line;	  /* The journal's own: its ACTOR line */
	uint64_t segment; /* in this segment. Protected by lock */
};

/*
 * One operation. Paths are NUL-terminated bytes, relative to the root. The root
 * itself is "" or "."; readers return ".". Texts longer than 4 KiB are cut.
 */
struct journal_event {
	enum journal_op op;
	const char *path;
	const char *path2;  /* NULL: none */
	const char *detail; /* NULL: none */
	uint64_t ino;
	int64_t off; /* -1: none */
	int64_t len; /* -1: none */
	int64_t res; /* >= 0, or a negative errno */
	uint32_t uid;
	uint32_t pid;		       /* process, 0: the kernel itself */
	uint32_t tid;		       /* thread */
	struct journal_author *author; /* NULL: unknown */
};

struct journal_limits {
	uint64_t segment_bytes; /* rotate at this size; 0: default */
	uint64_t keep_bytes;	/* of all segments; 0: default */
};

struct journal_stats {
	uint64_t head;	   /* number of the newest line, kept or lost */
	uint64_t oldest;   /* smallest number still on disk, 0: none */
	uint64_t lost;	   /* lines not kept since the journal was opened */
	uint64_t segments; /* on disk */
	uint64_t bytes;	   /* in the current segment */
	int error; /* errno that keeps lines from being written now; 0: none */
};

struct journal;

/*
 * Open the journal in subdirectory `name` of `dir_fd` (not kept; the
 * subdirectory is created with mode 0700 if absent), recover it (a torn tail is
 * cut off), and append a SESSION line for `root`.
 */
int journal_open(int dir_fd, const char *name, const char *root,
		 const struct journal_limits *limits, struct journal **ret);
/* Truncates the current segment behind its last line. Accepts NULL. */
void journal_close(struct journal *j);

/*
 * The directory it was opened in was removed: continue in `dir_fd` (not kept),
 * where the next line names what was lost. 0 or a negative errno; lines are
 * lost until there is room. Any thread.
 */
int journal_move(struct journal *j, int dir_fd);

/* Returns the number of the line. Any thread; takes only the journal's lock. */
uint64_t journal_append(struct journal *j, const struct journal_event *e);

void journal_stat(struct journal *j, struct journal_stats *ret);

/*
 * Reading. The strings of a line are valid until the next call on the same
 * reader, its authors as long as the reader. Every number has a line, including
 * the lines the journal writes about itself; the author of an ACTOR line is the
 * process that line introduces.
 */
struct journal_line {
	uint64_t n;
	uint64_t mono_ns; /* CLOCK_MONOTONIC */
	uint64_t wall_ns; /* CLOCK_REALTIME */
	struct journal_event event;
};

struct journal_reader;

/*
 * Read lines with numbers above `since`, which may lie beyond the head: then no
 * line is returned until the head passes it. -ENOENT: there is no journal. If
 * the journal is removed later, the reader waits for a new one. A reader
 * belongs to one thread at a time.
 */
int journal_reader_open(int dir_fd, const char *name, uint64_t since,
			struct journal_reader **ret);
void journal_reader_free(struct journal_reader *r);

/*
 * 1: *ret is the next line. 0: no new line yet. -ESTALE: lines up to and
 * including number ret->n are missing (rotated away, lost or corrupt; only n is
 * set), and the next call continues behind them. Any other negative errno: the
 * directory cannot be read.
 */
int journal_reader_next(struct journal_reader *r, struct journal_line *ret);

#endif
