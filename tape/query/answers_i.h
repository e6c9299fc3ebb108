/*
 * What the files answers_*.c share: a handler per question, and how to get at
 * a version of a file.
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

/* -- Limits; those that others meet are in protocol.h. */

#define LIST_BYTES_MAX (24u << 20) /* of entries in one answer, about */
#define OUTLINES_MAX   256	   /* kept */
#define OUTLINES_BYTES (32u << 20) /* likewise */
#define SOURCE_MAX     (32u << 20) /* of a file that is read as it is now */
#define HOLD_MAX_MS    (UINT64_C(86400000) * HOLD_MAX_DAYS)
#define CREDITS	       4096  /* of whom to name in reasons */
#define SPANS_MAX      16384 /* whose symbols at birth are remembered */
#define FS_PATIENCE_MS 1000

struct kept_outline {
	char *path;
	XXH128_hash_t hash;
	struct outline *outline;
	uint64_t used; /* by the clock of questions */
};

struct hold {
	char *holder;
	uint64_t n;
	int64_t until_ms; /* CLOCK_REALTIME */
};

struct names {
	const char **at;
	size_t count;
};

/* Who made an entry, as far as reasons speak of it. */
struct credit {
	uint64_t n; /* 0: none */
	char *comm, *cmdline, *path;
	uint32_t pid;
	enum entry_origin origin;
};

struct answers {
	struct answers_config config;
	char *fs_socket;
	const struct graph *graph;
	struct drift *drift; /* NULL: not filled yet */
	struct lang_readers *reader;
	struct arena scratch; /* until the question is answered */
	uint64_t asked;	      /* questions so far */
	ARRAY(struct kept_outline) outlines;
	size_t outlines_bytes;
	ARRAY(struct hold) holds;
	struct credit credits[CREDITS]; /* by number */
	/* What spans covered at their birth, which stays so for ever. */
	struct intern *spans;	    /* "BIRTH START END PATH"; NULL: none yet */
	ARRAY(struct names) covers; /* by number in `spans`, in the arena: */
	struct arena covers_arena;
};

typedef int question(struct answers *a, const cJSON *q, cJSON *ret);

question ask_since, ask_log, ask_show, ask_blame;
question ask_symbols, ask_source, ask_versions, ask_content;
question ask_symbol, ask_neighbours;
question ask_drift, ask_nominate;
question ask_readset;
question ask_hold, ask_retire;

/* Puts the sentence into the answer and returns `r`. */
__attribute__((format(printf, 3, 4))) int refuse(cJSON *ret, int r,
						 const char *format, ...);
/* Refuses what the table does not allow (protocol.h). */
int check_members(const struct protocol_member *table, const char *what,
		  const cJSON *object, cJSON *ret);
/* "The tape is not running." */
int refuse_asleep(cJSON *ret);

/*
 * A member that is a path or a name: its bytes, until the question is
 * answered. NULL: there is none.
 */
const char *bytes_of(struct answers *a, const cJSON *item);
const char *bytes_in(struct answers *a, const cJSON *q, const char *name);
/*
 * The same of a path, which must lie below the root, without the links in it
 * unless the question says not to follow them. NULL: it was refused.
 */
const char *path_in(struct answers *a, const cJSON *q, cJSON *ret);
/* The path that leads to the same without a link; as given where there is
   none, or one that leads out of the repository. */
const char *path_followed(struct answers *a, const char *path);

/* -- Versions. */

#define NOW UINT64_MAX

struct version {
	uint64_t n;	    /* as of this entry */
	XXH128_hash_t hash; /* of the content */
	char *text;	    /* NULL: not fetched yet, see version_text() */
	size_t len;
};
void version_release(struct version *v);

/*
 * What `path` held as of `n`. -ENOENT: there was no such file, or nobody
 * knows; the answer says so.
 */
int version_find(struct answers *a, const char *path, uint64_t n,
		 struct version *v, cJSON *ret);
/* -ENODATA: the content is not kept; the answer says so. */
int version_text(struct answers *a, const char *path, struct version *v,
		 cJSON *ret);

/* Of a file with a language; the answers' until the next is asked for. */
int version_outline(struct answers *a, const char *path, struct version *v,
		    cJSON *ret, const struct outline **ret_outline);

/* The lines `start` to `end` (0: first, last) of a text. */
struct cut {
	const char *at;
	size_t len;
	uint32_t start, end; /* end < start: none */
	uint32_t lines;	     /* in the text */
};
struct cut cut_lines(const char *text, size_t len, uint32_t start,
		     uint32_t end);

/* -- Drift. */
int drift_ready(struct answers *a);
void forget_spans(struct answers *a);
/* What is known of who made entry `n`; never NULL. */
const struct credit *credit_of(struct answers *a, uint64_t n);

uint32_t small_number(const cJSON *q, const char *name, uint32_t otherwise);

#endif
