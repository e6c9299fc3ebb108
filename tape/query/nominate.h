/*
 * Decides which held records a change may have made false, and the default
 * action for each (see tape/README.md, Nomination). Exact over symbols: a
 * record is nominated if and only if a symbol that it covers drifted after its
 * birth; a run, if anything was written since. Pure: drift in, verdict out.
 */
#ifndef STATETAPE_TAPE_QUERY_NOMINATE_H
#define STATETAPE_TAPE_QUERY_NOMINATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tape/query/drift.h"

/*
 * Prefix of the pseudo-symbol "file:PATH" of a file without a language, or
 * whose content is unknown.
 */
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
	const char *const *symbols; /* covered; "file:PATH": lines of a file */
	size_t symbols_count;
	/*
	 * Of a run: the paths its processes opened, missed and listed, if they
	 * were observed.
	 */
	bool observed;
	struct nominate_paths opened, missed, listed;
};

enum nominate_action {
	NOMINATE_REFRESH,
	NOMINATE_DROP,
	NOMINATE_RERUN,
	NOMINATE_KEEP,
};

/* What the reason says. */
enum nominate_why {
	WHY_EDITED,    /* `name`: a symbol, or a path if `file` */
	WHY_REMOVED,   /* the same */
	WHY_CALLS,     /* a call edge of `name` was added or removed */
	WHY_READS,     /* what `name` reads or names was changed */
	WHY_OPENED,    /* run: it opened path `name`, which was written since */
	WHY_APPEARED,  /* run: a path it looked for and missed appeared */
	WHY_LISTED,    /* run: names in a directory it listed changed */
	WHY_ANY,       /* run: its reads were not observed */
	WHY_GAP,       /* journal lines were lost: changes are unknown */
	WHY_UNTOUCHED, /* run: nothing it read was written: KEEP */
	WHY_LONG_AGO,  /* older than the touches kept */
	WHY_PENDING,   /* path `name` was changed, or may be, and the change is
			  not on the tape yet: what it says is not known */
};

struct nominate_hit {
	const char *name;   /* the record's */
	enum entry_set set; /* first of X, dX, R with it since */
	uint64_t entry;	    /* newest in that set */
	bool removed;	    /* the symbol does not exist any more */
};

#define NOMINATE_HITS_MAX 16

struct nomination {
	enum nominate_action action;
	enum nominate_why why;
	const char *name; /* what `why` is about; the record's */
	bool file;	  /* `name` is a path */
	uint64_t by;	  /* entry that the reason names */
	uint64_t entry;	  /* newest entry that nominates it */
	size_t drifted;	  /* number of covered symbols that drifted */
	struct nominate_hit hits[NOMINATE_HITS_MAX]; /* X first, then dX, R;
							newest first */
	size_t hits_count;
};

struct nominate_view {
	const struct drift *drift;
	uint64_t head; /* the newest entry */
	/* Does a symbol of that name exist now? NULL: derived from `drift`. */
	bool (*exists)(const char *name, void *arg);
	void *arg;
	/*
	 * Is there a change of `path` that is not on the tape yet, or, if
	 * `below`, of a path in it? And is there one of a file that calls this
	 * symbol, or that it calls? NULL: there is none at all.
	 */
	bool (*pending)(const char *path, bool below, void *arg);
	bool (*pending_near)(const char *symbol, void *arg);
	void *pending_arg;
};

/* False: not nominated, *ret is not set. A record that nothing on the tape
   nominates is, if what is pending may do so. */
bool nominate(const struct nominate_view *v, const struct nominate_record *r,
	      struct nomination *ret);

struct nominate_process {
	const char *comm, *cmdline; /* NULL or "": unknown */
	uint32_t pid;
	enum entry_origin origin;
};

/* Who made the entry `by`, for the reason: several, if it is merged. */
struct nominate_author {
	const struct nominate_process *at;
	size_t count;
	const char *path; /* the entry's, for WHY_ANY */
};

/*
 * A sentence without its full stop, allocated: "load_config was edited by entry
 * 41 (sed -i, pid 812)".
 */
char *nominate_reason(const struct nomination *n,
		      const struct nominate_record *r,
		      const struct nominate_author *who);
/*
 * The same for the agent's model, without entry and process numbers:
 * "load_config was edited by sed -i".
 */
char *nominate_words(const struct nomination *n,
		     const struct nominate_record *r,
		     const struct nominate_author *who);

#endif
