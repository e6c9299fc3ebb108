/*
 * Shared by answers.c and the ask_*.c files: a handler per question, and access
 * to versions of a file.
 */
#ifndef STATETAPE_TAPE_QUERY_ANSWERS_I_H
#define STATETAPE_TAPE_QUERY_ANSWERS_I_H

#include "graph/base/arena.h"
#include "graph/base/array.h"
#include "graph/base/json.h"
#include "tape/query/answers.h"
#include "tape/wire/protocol.h"

struct drift;
struct lang_readers;
struct outline;

/* -- Limits; those visible to clients are in protocol.h. */

#define LIST_BYTES_MAX (24u << 20) /* of entries in one answer, estimated */
#define OUTLINES_MAX   256	   /* outlines cached */
#define OUTLINES_BYTES (32u << 20) /* and their size */
#define SOURCE_MAX     (32u << 20) /* of a current file */
#define HOLD_MAX_MS    (UINT64_C(86400000) * HOLD_MAX_DAYS)
#define CREDITS_MAX    4096  /* authors cached for reasons */
#define SPANS_MAX      16384 /* spans whose symbols are cached */

struct answers_outline {
	char *path;
	XXH128_hash_t hash;
	struct outline *outline;
	uint64_t used; /* answers.asked at the last use */
};

struct answers_hold {
	char *holder;
	uint64_t n;
	int64_t until_ms; /* CLOCK_REALTIME */
};

struct answers_names {
	const char **at;
	size_t count;
};

/* Who made an entry, as far as reasons name them. */
struct answers_credit {
	uint64_t n; /* 0: none */
	char *text; /* holds all strings */
	const char *path;
	struct nominate_process *at;
	size_t count;
};

struct answers {
	struct answers_config config;
	const struct graph *graph;
	struct drift *drift; /* NULL: not yet filled */
	struct lang_readers *reader;
	struct arena scratch; /* released after each question */
	uint64_t asked;	      /* number of questions so far */
	ARRAY(struct answers_outline) outlines;
	size_t outlines_bytes;
	ARRAY(struct answers_hold) holds;
	struct answers_credit credits[CREDITS_MAX]; /* by number */
	/*
	 * Cache of the symbols that a span covered at its birth, which never
	 * changes.
	 */
	struct intern *spans; /* keys "BIRTH START END PATH"; NULL: none yet */
	ARRAY(struct answers_names) covers; /* by id in `spans` */
	struct arena covers_arena;
};

typedef int answers_question(struct answers *a, const cJSON *q, cJSON *ret);

answers_question ask_since, ask_log, ask_show, ask_blame;
answers_question ask_symbols, ask_source, ask_versions, ask_content;
answers_question ask_symbol, ask_neighbours;
answers_question ask_drift, ask_nominate;
answers_question ask_readset;
answers_question ask_hold, ask_retire;
answers_question ask_turn;

/* ask_verify.c */
answers_question ask_verify, ask_anchor;

/* Set the answer's "error" to the sentence. Returns `r`. */
__attribute__((format(printf, 3, 4))) int
answers_refuse(cJSON *ret, int r, const char *format, ...);
/* Refuse members that the table does not allow (protocol.h). */
int answers_check_members(const struct protocol_member *table, const char *what,
			  const cJSON *object, cJSON *ret);
/* Refuse with "The tape is not running." */
int answers_refuse_offline(cJSON *ret);

/*
 * The bytes of a member that is a path or a name, unescaped; valid until the
 * question is answered. NULL: no such member.
 */
const char *answers_bytes_of(struct answers *a, const cJSON *item);
const char *answers_bytes_in(struct answers *a, const cJSON *q,
			     const char *name);
/*
 * The member "path", which must lie below the root, with symbolic links
 * resolved unless the question says "follow": false. NULL: it was refused.
 */
const char *answers_path_in(struct answers *a, const cJSON *q, cJSON *ret);
/*
 * The paths of a list, with symbolic links resolved; "": not below the root.
 * Valid until the question is answered.
 */
const char *const *answers_paths_in(struct answers *a, const cJSON *list,
				    size_t *ret_count);
/*
 * Resolve the symbolic links in a path. Returns `path` itself if there are
 * none, or if they lead out of the repository.
 */
const char *answers_follow_links(struct answers *a, const char *path);

/* -- Versions. */

#define VERSION_NOW UINT64_MAX

struct answers_version {
	uint64_t n;	    /* as of this entry */
	uint64_t since;	    /* the entry that made it so; 0: not known */
	XXH128_hash_t hash; /* of the content */
	char *text;	    /* NULL: not loaded; see answers_version_text() */
	size_t len;
};
void answers_version_release(struct answers_version *v);

/*
 * The version of `path` as of `n`. -ENOENT: there was no such file, or it is
 * unknown; the answer says so.
 */
int answers_version_find(struct answers *a, const char *path, uint64_t n,
			 struct answers_version *v, cJSON *ret);
/* -ENODATA: the content is not kept; the answer says so. */
int answers_version_text(struct answers *a, const char *path,
			 struct answers_version *v, cJSON *ret);

/*
 * For a file with a language. The outline is cached: valid until the next call.
 */
int answers_version_outline(struct answers *a, const char *path,
			    struct answers_version *v, cJSON *ret,
			    const struct outline **ret_outline);

/* The lines `start` to `end` of a text (0: first, last). */
struct answers_lines {
	const char *at;
	size_t len;
	uint32_t start, end; /* end < start: none */
	uint32_t lines;	     /* in the whole text */
};
struct answers_lines answers_cut_lines(const char *text, size_t len,
				       uint32_t start, uint32_t end);

/*
 * BLAME by line, of the version of `path` as of entry `n` or VERSION_NOW, as
 * the tape has it: the file may be ahead of it.
 */
int answers_blame_lines(struct answers *a, const char *path, uint64_t n,
			cJSON *ret);

/* Add the member "turn" of an entry, if an agent's turn made it. */
int answers_put_turn(struct answers *a, const struct entry *e, cJSON *to);

/* -- Drift. */
int answers_ensure_drift(struct answers *a);
void answers_forget_spans(struct answers *a);
/* Who made entry `n`; never NULL. */
const struct answers_credit *answers_credit_of(struct answers *a, uint64_t n);

uint32_t answers_number32(const cJSON *q, const char *name, uint32_t otherwise);

#endif
