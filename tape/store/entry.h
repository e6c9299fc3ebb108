/*
 * An entry is one settled change of one path: what the file was, what it is,
 * which lines and symbols that touched, and who did it. Entries are numbered
 * from 1 without holes and are never changed once written.
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
	ENTRY_RENAME, /* path -> path2; its content may have changed too */
	ENTRY_GAP,    /* the journal lost lines: anything may have happened */
	ENTRY_KINDS
};

enum entry_origin {
	ENTRY_MOUNT,	 /* the journal names its author */
	ENTRY_OUTSIDE,	 /* somebody who did not pass through the mount */
	ENTRY_RECOVERED, /* found by looking, after nobody had watched */
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
	ENTRY_VAST, /* too much for the parser */
};

/* The sets of the method (spec, section 4). */
enum entry_set { ENTRY_X, ENTRY_DX, ENTRY_R, ENTRY_ADDED, ENTRY_SETS };

/* Kinds as in graph/graph.h, which those who only read need not know. */
struct entry_symbol {
	const char *name;
	uint8_t kind; /* enum symbol_kind */
	uint8_t set;  /* enum entry_set; each symbol is in one */
	bool removed; /* of X: it is gone */
};

/* Lines from 1, as in a diff: these of the old became those of the new. */
struct entry_range {
	uint32_t before, before_count;
	uint32_t after, after_count;
};

/*
 * SHA-256: whoever has noted an entry's number and chain hash can tell later
 * that nothing up to it was altered, which a faster hash would not promise.
 */
#define ENTRY_CHAIN_SIZE 32

struct entry {
	uint64_t n;
	int64_t at_ns; /* CLOCK_REALTIME of the last operation it is made of */
	enum entry_kind kind;
	enum entry_origin origin;
	enum entry_syntax syntax;
	const char *path;  /* relative to the root, bytes; of a gap: NULL */
	const char *path2; /* NULL: none */

	bool had, has;		     /* there was, there is a regular file */
	XXH128_hash_t before, after; /* of its content, where there is one */
	uint64_t bytes;		     /* of the content as it is */
	uint32_t plus, minus;	     /* lines */
	const struct entry_range *ranges;
	size_t ranges_count;

	const struct entry_symbol *symbols; /* by set, then by name */
	size_t symbols_count;

	const struct journal_author *author;  /* with its ancestors; or NULL */
	uint64_t journal_first, journal_last; /* lines it is made of, 0: none */
	bool marker; /* the text has a mark of ours in it: see spec, 6 */
	/* Of this entry and the chain hash before: set by the store. */
	uint8_t chain[ENTRY_CHAIN_SIZE];
};

#endif
