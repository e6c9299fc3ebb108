/*
 * Which held records a change may have made false (spec, section 4), and what
 * to do about each by default. Exact over symbols: a record is nominated when
 * one that it covers drifted after its birth, and only then; a run when
 * anything was written since. Pure: what drifted goes in, a verdict comes out.
 */
#ifndef STATETAPE_TAPE_QUERY_NOMINATE_H
#define STATETAPE_TAPE_QUERY_NOMINATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tape/query/drift.h"

/* What a file of no language, or of no known content, is covered by. */
#define NOMINATE_FILE "file:"

enum nominate_kind {
	NOMINATE_READ,
	NOMINATE_EDIT,
	NOMINATE_RUN,
	NOMINATE_SEARCH, /* never nominated */
};

struct nominate_paths {
	const char *const *at;
	size_t count;
};

struct nominate_record {
	enum nominate_kind kind;
	uint64_t birth;		    /* newest entry when it was observed */
	const char *path;	    /* NULL: none */
	uint32_t start, end;	    /* lines; 0: the first, the last */
	const char *const *symbols; /* it covers; "file:PATH": those lines */
	size_t symbols_count;
	/* A run's: what its processes read, if that was observed. */
	bool observed;
	struct nominate_paths opened, missed, listed;
};

enum nominate_action {
	NOMINATE_REFRESH,
	NOMINATE_DROP,
	NOMINATE_RERUN,
	NOMINATE_KEEP,
};

/* What the reason speaks of. */
enum nominate_why {
	WHY_EDITED,    /* name: a symbol, or a path if `file` */
	WHY_REMOVED,   /* likewise */
	WHY_CALLS,     /* a call edge of name came or went */
	WHY_READS,     /* a variable that name reads was changed */
	WHY_OPENED,    /* run: path `name` was opened, and written since */
	WHY_APPEARED,  /* run: it was looked for in vain, and came */
	WHY_LISTED,    /* run: names in that directory changed */
	WHY_ANY,       /* run: nobody knows what it read */
	WHY_GAP,       /* what was written is not known for sure */
	WHY_UNTOUCHED, /* run: nothing it read was written: KEEP */
	WHY_LONG_AGO,  /* more was written since than is remembered */
};

struct nominate_hit {
	const char *name;   /* the record's */
	enum entry_set set; /* the first of X, dX, R that has it since */
	uint64_t entry;	    /* newest in that set */
	bool removed;	    /* it is not there any more */
};

#define NOMINATE_HITS_MAX 16

struct nomination {
	enum nominate_action action;
	enum nominate_why why;
	const char *name; /* what `why` is about; the record's */
	bool file;	  /* it is a path */
	uint64_t by;	  /* the entry the reason is about */
	uint64_t entry;	  /* the newest that falsified it */
	size_t drifted;	  /* symbols that did, all in all */
	struct nominate_hit hits[NOMINATE_HITS_MAX]; /* X first, then dX, R;
							newest first */
	size_t hits_count;
};

struct nominate_view {
	const struct drift *drift;
	uint64_t head; /* the newest entry */
	/* Is there a symbol of that name now? NULL: ask `drift`. */
	bool (*exists)(const char *name, void *arg);
	void *arg;
};

/* false: it is not nominated, and *ret is not set. */
bool nominate(const struct nominate_view *v, const struct nominate_record *r,
	      struct nomination *ret);

/* Who did it, for the reason: of the entry `by`. */
struct nominate_author {
	const char *comm, *cmdline; /* NULL or "": unknown */
	uint32_t pid;
	enum entry_origin origin;
	const char *path; /* the entry's, for WHY_ANY */
};

/* A sentence without its full stop, allocated: "load_config was edited by
   entry 41 (sed -i, pid 812)". */
char *nominate_reason(const struct nomination *n,
		      const struct nominate_record *r,
		      const struct nominate_author *who);
/* The same for the agent's model, which knows of no entries and processes:
   "load_config was edited by sed -i". */
char *nominate_words(const struct nomination *n,
		     const struct nominate_record *r,
		     const struct nominate_author *who);

#endif
