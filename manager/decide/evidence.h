/*
 * What a record rests on: which lines of which files, as of which entry of
 * the tape. Found when a record is first seen; then the tape is asked which
 * of all records it has outrun.
 *
 * Births. A result first seen in a request was observed after the request
 * before it, whose entry number is the lower bound. Within that window the
 * text itself is the best witness: the version of the file that reads as the
 * record does is the one that was shown. Where nothing matches, the bound
 * stands: more is nominated then, never less. A run is born behind what its
 * own processes wrote; one that could not be observed is taken as born when
 * it was first seen, for a fresh test result called outdated would do more
 * harm than a change made by others in the same moment. But not where the
 * agent edited files in the same turn, nor in a talk that was going on before
 * it was first seen here: then the bound stands for runs, too.
 */
#ifndef STATETAPE_MANAGER_DECIDE_EVIDENCE_H
#define STATETAPE_MANAGER_DECIDE_EVIDENCE_H

#include "manager/decide/conversation.h"
#include "manager/decide/readset.h"
#include "tape/wire/client.h"

/* A file's text, asked for once per turn. */
struct evidence_file {
	uint32_t path;
	uint64_t n; /* CLIENT_NOW, or as of an entry */
	int result; /* 0, or why there is none */
	struct client_text text;
	uint32_t real; /* the path without links in it */
};

/* What a file was, asked for once per turn. */
struct evidence_history {
	uint32_t path;
	int result; /* 0, or why it is not known */
	struct client_versions versions;
	struct evidence_file *texts; /* of each version; result 1: not asked */
};

/* What the agent's paths begin with. All absolute; NULL but for the first. */
struct roots {
	const char *repo;
	const char *other; /* the repository by another path */
	const char *cwd;   /* where the agent was started */
};

struct evidence {
	struct client *client;
	struct conversation *c;
	struct roots roots;
	uint64_t lower, n;	/* entries: last time, now */
	bool first;		/* there was no last time */
	int64_t from_ns, to_ns; /* the time between */
	bool crowded;		/* others talked meanwhile, and may have run
				   commands of their own */

	struct client_entries entries; /* since `lower` */
	bool entries_known;
	struct readset reads;
	int reads_result; /* 1: not asked yet */
	ARRAY(struct evidence_file *) files;
	ARRAY(struct evidence_history *) histories;
	struct client_symbols symbols; /* of `symbols_path` */
	uint32_t symbols_path;
	bool symbols_asked;
};

/* Asks for what happened since `lower`. */
void evidence_init(struct evidence *e);
void evidence_release(struct evidence *e);

/* What its own words say of a record; for all new ones before any birth. */
void evidence_meet(struct held *h, const struct record *r);
/* -ETIMEDOUT: come again with the next request; it is bounded until then. */
int evidence_birth(struct evidence *e, struct held *h, const struct record *r);

/* Of path number `path`, as of `n`. NULL: there is none. */
const struct client_text *evidence_text(struct evidence *e, uint32_t path,
					uint64_t n);

/* May `path` have changed since the last time? */
bool evidence_touched(const struct evidence *e, uint32_t path);
/* What `path` defines now; empty if nobody can say. */
const struct client_symbols *evidence_symbols(struct evidence *e,
					      uint32_t path);
/* Were all changes of `path` since the last time made by `edits` edits? */
bool evidence_own(const struct evidence *e, uint32_t path, uint32_t edits);

/* Which of `held` (those that are tracked) does the tape nominate? */
int evidence_nominate(struct evidence *e, struct held *const *held,
		      size_t count);

/*
 * A path as a call names it, below the root: without the root's own, without
 * dots. `dir` is where the call ran, or NULL. False: it lies elsewhere, or is
 * longer than `size`.
 */
bool evidence_path(const struct roots *roots, const char *dir, const char *path,
		   char *ret, size_t size);

/* Do the lines that `r` shows read as `text` does at their place? */
bool evidence_shows(const struct record *r, const char *text, size_t len);

#endif
