/*
 * An entry is one settled change of one path: content before and after, the
 * lines and symbols it changed, and its author. Entries are numbered from 1
 * without holes and never change once written. See tape/README.md, Entries.
 */
#ifndef STATETAPE_TAPE_STORE_ENTRY_H
#define STATETAPE_TAPE_STORE_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <xxhash.h>

struct journal_author;

enum entry_kind {
	ENTRY_EDIT,
	ENTRY_CREATE,
	ENTRY_DELETE,
	ENTRY_RENAME, /* path -> path2; the content may have changed too */
	ENTRY_GAP,    /* the journal lost lines: anything may have happened */
	ENTRY_KINDS
};

enum entry_origin {
	ENTRY_MOUNT,	 /* the journal names its author */
	ENTRY_OUTSIDE,	 /* changed without passing through the mount */
	ENTRY_RECOVERED, /* found by a scan at a start or after a gap */
};

/* "mount", "outside", "recovered". */
static inline const char *entry_origin_name(enum entry_origin origin)
{
	return origin == ENTRY_MOUNT	 ? "mount"
	       : origin == ENTRY_OUTSIDE ? "outside"
					 : "recovered";
}

enum entry_syntax {
	ENTRY_NO_LANGUAGE,
	ENTRY_PARSES,
	ENTRY_BROKEN,
	ENTRY_VAST, /* too large to parse */
};

/* See graph/README.md, X, dX and R. */
enum entry_set { ENTRY_X, ENTRY_DX, ENTRY_R, ENTRY_ADDED, ENTRY_SETS };

/* `kind` is as in graph/graph.h, which readers of entries need not include. */
struct entry_symbol {
	const char *name;
	uint8_t kind; /* enum symbol_kind */
	uint8_t set;  /* enum entry_set; each symbol is in one */
	bool removed; /* in X because it was removed */
};

/*
 * As in a diff, lines from 1: `before` of the old file were replaced by
 * `after`.
 */
struct entry_range {
	uint32_t before, before_count;
	uint32_t after, after_count;
};

/*
 * SHA-256, so that a noted number and hash prove later that no entry up to that
 * number was altered. A faster hash would not.
 */
#define ENTRY_CHAIN_SIZE 32
#define ENTRY_SHA_SIZE	 32

struct entry {
	uint64_t n;
	int64_t at_ns; /* CLOCK_REALTIME of its last operation */
	enum entry_kind kind;
	enum entry_origin origin;
	enum entry_syntax syntax;
	const char *path;  /* bytes, relative to the root; NULL: gap */
	const char *path2; /* NULL: none */

	bool had, has;		     /* a regular file existed before, after */
	XXH128_hash_t before, after; /* content hashes, where one existed */
	/*
	 * The SHA-256 of the contents, which proves them: two texts with the
	 * same XXH3-128 are easily made. Known of what was read whole and of
	 * at most STORE_CONTENT_MAX bytes; of `before` it is stored with the
	 * first entry of a path alone, because an earlier entry has it else.
	 */
	bool had_sha, has_sha;
	uint8_t before_sha[ENTRY_SHA_SIZE], after_sha[ENTRY_SHA_SIZE];
	/* st_mode, with the type (a file or a link); 0: no file, or unknown */
	uint32_t mode_before, mode_after;
	uint64_t bytes;	      /* size of the new content */
	uint32_t plus, minus; /* lines added, removed */
	const struct entry_range *ranges;
	size_t ranges_count;

	const struct entry_symbol *symbols; /* by set, then by name */
	size_t symbols_count;

	const struct journal_author *author; /* with ancestors; NULL: unknown */
	/*
	 * Merged: a version between `before` and `after` was lost, because it
	 * could not be kept. All who wrote them, in the order of their first
	 * change, each once; NULL: outside the mount. None: not merged.
	 */
	const struct journal_author *const *authors;
	size_t authors_count;
	uint64_t journal_first, journal_last; /* its journal lines, 0: none */
	bool marker; /* the text contains a StateTape marker */
	/* Hash of this entry and of the one before; set by store_append(). */
	uint8_t chain[ENTRY_CHAIN_SIZE];
};

#endif
