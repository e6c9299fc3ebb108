/*
 * The journal is the numbered log of everything that changed below the root:
 * one line per operation, written before the operation's author is answered.
 * It says who wrote where and when; what the file now holds is read from the
 * file. journal.c's head comment gives the bytes.
 *
 * The writer is one process; a second journal_open() of the same directory
 * fails with -EBUSY. Any of its threads may append. Readers are other
 * processes (or the same) and never block the writer.
 *
 * Appending cannot fail: a line that cannot be kept (full disk, removed
 * directory) still takes its number, is counted, and its range is named by a
 * `gap` line as soon as lines can be kept again.
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
	/* What the file system reports. */
	JOURNAL_WRITE,
	JOURNAL_MMAP,	  /* write-back of a shared mapping */
	JOURNAL_TRUNCATE, /* len = new size; detail "open" when by O_TRUNC */
	JOURNAL_CREATE,
	JOURNAL_TMPFILE, /* O_TMPFILE: path is the directory, ino the file's */
	JOURNAL_MKNOD,
	JOURNAL_MKDIR,
	JOURNAL_SYMLINK, /* path2 = target text */
	JOURNAL_LINK,	 /* path = old name, path2 = new name */
	JOURNAL_UNLINK,
	JOURNAL_RMDIR,
	JOURNAL_RENAME,	  /* path -> path2 */
	JOURNAL_EXCHANGE, /* path <-> path2 */
	JOURNAL_CHMOD,
	JOURNAL_CHOWN,
	JOURNAL_UTIMENS,
	JOURNAL_SETXATTR, /* detail = attribute name */
	JOURNAL_REMOVEXATTR,
	JOURNAL_SETFLAGS,  /* FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR */
	JOURNAL_FALLOCATE, /* detail = mode */
	JOURNAL_COPY,	   /* copy_file_range into path from path2 */
	JOURNAL_CLOSE,	   /* a handle that could write was released */
	JOURNAL_OPS,	   /* how many there are */
};

const char *journal_op_name(enum journal_op op);
/* JOURNAL_NONE when `name` is no operation's. */
enum journal_op journal_op_from_name(const char *name);

/*
 * A process that did something. Text is immutable once the author was handed
 * to journal_append(); the last two fields are the journal's own. It must live
 * as long as any append with it may run, and its parents as long as it does.
 */
struct journal_author {
	uint32_t pid; /* process id (thread group) */
	uint32_t uid;
	uint64_t start;	     /* start time, clock ticks since boot */
	const char *comm;    /* command name */
	const char *cmdline; /* arguments joined by one space */
	const char *exe;     /* the executable's path, "" if unknown */
	bool session_root;   /* the chain of ancestors ends here */
	struct journal_author *parent; /* NULL: unknown or beyond the root */

	uint64_t line;	  /* number of its line ... */
	uint64_t segment; /* ... in this segment. Protected by the journal */
};

/*
 * One operation. Paths are relative to the root, bytes, NUL-terminated; the
 * root itself is "" or ".", read back ".". Texts beyond 4 KiB are cut.
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
	uint32_t pid;		       /* process, 0: the kernel's own work */
	uint32_t tid;		       /* thread */
	struct journal_author *author; /* NULL: unknown */
};

struct journal_limits {
	uint64_t segment_bytes; /* a segment is rotated at this size; 0: default
				 */
	uint64_t keep_bytes;	/* oldest segments go beyond this; 0: default */
};

struct journal_stats {
	uint64_t head;	   /* number of the newest line, kept or lost */
	uint64_t oldest;   /* smallest number still on disk, 0: none */
	uint64_t lost;	   /* lines not kept since the journal was opened */
	uint64_t segments; /* on disk */
	uint64_t bytes;	   /* in the current segment */
	int error; /* an errno: why lines are not kept now; 0: they are */
};

struct journal;

/*
 * Open the journal in directory `dir_fd` (not kept) under the name `name`
 * (a subdirectory, made 0700 if absent), recover it (a torn tail is cut) and
 * append a SESSION line for `root`.
 */
int journal_open(int dir_fd, const char *name, const char *root,
		 const struct journal_limits *limits, struct journal **ret);
/* Trims the current segment to its lines. NULL is accepted. */
void journal_close(struct journal *j);

/* Returns the line's number. Any thread; takes no lock but the journal's. */
uint64_t journal_append(struct journal *j, const struct journal_event *e);

void journal_stat(struct journal *j, struct journal_stats *ret);

/*
 * Reading. A line's strings live until the next call on the same reader;
 * authors live as long as the reader. Every number has its line, the journal's
 * own included; an ACTOR line's author is the process it introduces.
 */
struct journal_line {
	uint64_t n;
	uint64_t mono_ns; /* CLOCK_MONOTONIC */
	uint64_t wall_ns; /* CLOCK_REALTIME */
	struct journal_event event;
};

struct journal_reader;

/*
 * Read lines with numbers > `since`. A number beyond the head is not an error:
 * nothing comes until the head passes it. -ENOENT: there is no journal; one
 * that is removed later is waited for. One thread per reader.
 */
int journal_reader_open(int dir_fd, const char *name, uint64_t since,
			struct journal_reader **ret);
void journal_reader_free(struct journal_reader *r);

/*
 * 1: *ret is the next line. 0: nothing new now. -ESTALE: lines up to and
 * including *ret's number n are gone (rotated away, lost or corrupt; only n is
 * set), and the next call goes on after them. Another negative errno: the
 * directory cannot be read.
 */
int journal_reader_next(struct journal_reader *r, struct journal_line *ret);

#endif
