/*
 * What a record refers to (which lines of which files) and its birth (as of
 * which entry of the tape), both determined when it is first seen; and the
 * tape's nominations (manager/README.md, Records and referents).
 *
 * Births. A result first seen in a request was produced after the previous
 * request, whose newest entry is the lower bound. Within that window the text
 * itself is the best witness: the record shows the version of the file that
 * has its text. If no version matches, the lower bound is the birth: that
 * nominates more, never less.
 *
 * A run is born after the entries its own processes wrote. A run whose
 * processes were not observed is born when it is first seen: to call a fresh
 * test result outdated would do more harm than to miss a change by others in
 * the same moment. Exceptions, where the lower bound holds for such runs too:
 * the agent edited files in the same turn, or the conversation began before
 * this manager saw it.
 */
#ifndef STATETAPE_MANAGER_DECIDE_EVIDENCE_H
#define STATETAPE_MANAGER_DECIDE_EVIDENCE_H

#include "manager/decide/conversation.h"
#include "manager/decide/readset.h"
#include "tape/wire/client.h"

/* A file's text; asked for once per turn. */
struct evidence_file {
	uint32_t path;
	uint64_t n; /* CLIENT_NOW, or as of an entry */
	int result; /* 0, or a negative errno */
	struct client_text text;
	uint32_t real; /* the path with symbolic links resolved */
};

/* The versions of a file; asked for once per turn. */
struct evidence_history {
	uint32_t path;
	int result; /* 0, or a negative errno */
	struct client_versions versions;
	struct evidence_file
		*texts; /* of each version; result 1: not asked yet */
};

/* Where paths of the agent begin: absolute; only `repo` is never NULL. */
struct roots {
	const char *repo;
	const char *other; /* the repository by another path */
	const char *cwd;   /* where the agent was started */
};

struct evidence {
	struct client *client;
	struct conversation *c;
	struct roots roots;
	uint64_t lower, n; /* newest entry at the last request, and now */
	int64_t rule_ns;   /* CLOCK_MONOTONIC: the time is over, unless the tape
			      is slow; INT64_MAX: at the client's deadline */
	int64_t from_ns, to_ns; /* from the last reply to this request */
	bool first;		/* there was no request before */
	bool pending;		/* changes are not on the tape yet */
	bool late;		/* a question was not answered in time */
	bool crowded;		/* other conversations went on meanwhile and
				   may have run commands */

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

/* Fill in the first group above first; asks for the entries since `lower`. */
void evidence_init(struct evidence *e);
void evidence_release(struct evidence *e);

/* Kind and size of a new record. Call it for all before the first birth. */
void evidence_meet(struct held *h, const struct record *r);
/* -ETIMEDOUT: try again at the next request; the lower bound holds so far. */
int evidence_birth(struct evidence *e, struct held *h, const struct record *r);

/* Is the time for questions over, or was one not answered in time? */
bool evidence_late(const struct evidence *e);

/* The text of path number `path` as of entry `n`; NULL: not available. */
const struct client_text *evidence_text(struct evidence *e, uint32_t path,
					uint64_t n);

/* May `path` have changed since `lower`? */
bool evidence_touched(const struct evidence *e, uint32_t path);
/* The symbols `path` defines now; empty if not known. */
const struct client_symbols *evidence_symbols(struct evidence *e,
					      uint32_t path);
/* Is `path` one of the two that the entry names? */
bool evidence_entry_on(const struct client_entry *a, const char *path);
/* The number of the name of the file that `path` leads to over links. */
uint32_t evidence_name(struct evidence *e, const char *path);

/* Ask the tape for nominations, and set them in `held`. */
int evidence_nominate(struct evidence *e, struct held *const *held,
		      size_t count);

/*
 * A call's path, made relative to the repository and without "." and "..".
 * `dir` is the directory the call ran in, or NULL. False: the path lies outside
 * the repository, or is longer than `size`.
 */
bool evidence_path(const struct roots *roots, const char *dir, const char *path,
		   char *ret, size_t size);

/* Are the lines `r` shows equal to those of `text` at the same numbers? */
bool evidence_shows(const struct record *r, const char *text, size_t len);

#endif
