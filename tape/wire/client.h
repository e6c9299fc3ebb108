/*
 * Asking the tape: its questions as calls, for the verbs and for the manager.
 *
 * A client asks through a transport: connections to a tape that are kept and
 * made anew when the tape was restarted (links.h), or a function that answers
 * in the tape's place, as replay and tests do. Questions are safe to repeat, so
 * one that met a broken connection is asked once more, within its time.
 *
 * Each question has its own time limit, and all of them end at the client's
 * deadline: once it is over every call returns -ETIMEDOUT, so a caller need
 * not look at the clock between questions.
 *
 * One thread's at a time; many clients may share a transport. Calls return 0 or
 * a negative errno: -ECONNREFUSED: the tape is not running. -ETIMEDOUT: no
 * answer within the time. -EREMOTEIO (or -ENOENT, of another transport): the
 * tape does not keep or know it, and client_error() is its sentence. -EBADMSG:
 * the answer made no sense. -EMSGSIZE: the question is too long. Outputs are
 * set on success only, and strings in them are theirs: release them. Memory
 * that cannot be had ends the process.
 *
 * Paths and names are bytes, relative to the root of the repository, on the way
 * in and out; the client escapes those that are no UTF-8.
 */
#ifndef STATETAPE_TAPE_WIRE_CLIENT_H
#define STATETAPE_TAPE_WIRE_CLIENT_H

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/base/buf.h"
#include "tape/wire/wire.h"

#define CLIENT_NOW	  UINT64_MAX /* as entry number: as it is now */
#define CLIENT_TIMEOUT_MS 2000	     /* per question, until set otherwise */
#define CLIENT_HASH_SIZE  40	     /* of a content, with its NUL */

struct client {
	wire_transport *transport; /* NULL: there is no tape */
	void *ctx;
	int64_t deadline_ns; /* CLOCK_MONOTONIC; INT64_MAX: none */
	int timeout_ms;	     /* per question; negative: no limit */
	struct links *links; /* client_new()'s own transport, else NULL */
	int64_t slowest_ns;  /* the longest that a question took so far */
	char *error;	     /* NULL: the last call left none */
	struct buf text;     /* a question in the making */
};

/* A client of a transport, which must outlive it. */
void client_init(struct client *c, wire_transport *transport, void *ctx,
		 int64_t deadline_ns, int timeout_ms);
void client_release(struct client *c);

/* A client with connections of its own to the tape at `socket`. */
struct client *client_new(const char *socket);
void client_free(struct client *c);

/* Of the last call, where the tape answered with an error; "" otherwise. */
const char *client_error(const struct client *c);

/* Did the tape answer that it does not keep or know something? */
static inline bool client_is_unknown(int rc)
{
	return rc == -EREMOTEIO || rc == -ENOENT;
}

/* Any question; `question` may be NULL. *ret: cJSON_Delete it. */
int client_ask(struct client *c, const char *ask, const cJSON *question,
	       cJSON **ret);

struct client_paths {
	const char *const *at;
	size_t count;
};

/*
 * The barrier: when it returns, every change whose syscall returned before
 * the call is on the tape, at or before entry `n`. With `paths`, only theirs
 * need be: these are first, and others go on behind. What is not on the tape
 * within `within_ms`, or a third of the time to the deadline, is left out
 * (negative: no limit); `ret` says so. `ready`: the graph is built; until then
 * nothing is nominated soundly.
 */
struct client_head {
	uint64_t n, journal;
	bool ready;
	uint64_t pending; /* changed paths that are not on the tape */
	uint32_t open;	  /* of `paths`, so many may have changed, too */
	bool unread;	  /* any file may have, the journal is not read yet */
};
int client_sync(struct client *c, const struct client_paths *paths,
		int within_ms, int timeout_ms, struct client_head *ret);

/* An entry, as far as the manager needs it. */
struct client_entry {
	uint64_t n;
	int64_t at_ns;
	const char *path, *path2; /* path2: a rename's new name, else NULL */
	uint32_t pid;		  /* of its author; 0: it has several */
	bool foreign; /* several wrote it, or somebody past the mount */
	uint32_t ancestors[8]; /* 0: no more */
	bool elsewhere; /* symbols of other files may have drifted, too */
};
struct client_entries {
	struct client_entry *at;
	uint32_t count;
	bool more; /* than `limit` */
	struct client_held *held_;
};
/* The entries after `n`, the oldest `limit` of them. */
int client_since(struct client *c, uint64_t n, uint32_t limit,
		 struct client_entries *ret);
void client_entries_release(struct client_entries *e);

/* -- Nominations (client_nominate.c). */

enum client_kind { CLIENT_READ, CLIENT_EDIT, CLIENT_RUN, CLIENT_SEARCH };

struct client_record {
	uint64_t id;
	enum client_kind kind;
	uint64_t birth;	     /* newest entry when it was observed */
	const char *path;    /* read, edit; NULL: none */
	uint32_t start, end; /* lines; 0: from the first, to the last */

	/*
	 * Names it covers as of its birth; "file:PATH" stands for its lines,
	 * whatever symbols they belong to. NULL: the tape finds the symbols
	 * of its lines each time, which is slower.
	 */
	const char *const *symbols;
	size_t symbols_count;

	/*
	 * run: what its processes opened, looked for in vain and listed
	 * (client_readset()). Unless `observed`, these are unknown, and any
	 * change makes it RERUN.
	 */
	bool observed;
	struct client_paths opened, missed, listed;
};

enum client_action { CLIENT_REFRESH, CLIENT_DROP, CLIENT_RERUN, CLIENT_KEEP };
enum client_set { CLIENT_X, CLIENT_DX, CLIENT_R };

struct client_drift {
	const char *name;
	enum client_set set;
	uint64_t entry; /* newest that has it in that set */
	bool removed;
};

struct client_nomination {
	uint64_t id;
	enum client_action action; /* the default */
	const char *reason;	   /* a sentence for a person */
	const char *words;	   /* the same for a model; NULL: none */
	uint64_t entry;		   /* the newest that falsified it */
	struct client_drift *symbols;
	size_t symbols_count;
	bool more; /* symbols than are listed */
};

struct client_nominations {
	uint64_t n; /* as of this entry */
	struct client_nomination *at;
	size_t count;
	struct client_held *held_;
};

/*
 * Those of `records` that are nominated, in their order. Any number of
 * records: a question too long for the wire is asked in parts, and `n` is the
 * first part's.
 */
int client_nominate(struct client *c, const struct client_record *records,
		    size_t count, struct client_nominations *ret);
void client_nominations_release(struct client_nominations *n);

/* -- Symbols and texts. */

/* A span of a file as of an entry. start, end: lines from 1; 0: all. */
struct client_span {
	const char *path;
	uint32_t start, end;
	uint64_t n; /* CLIENT_NOW, or an entry's number; 0: before the first */
};

struct client_symbol {
	const char *name;    /* "file:PATH" where no language is known */
	const char *kind;    /* function method class module variable file */
	uint32_t start, end; /* lines of its first definition */
};

struct client_symbols {
	uint64_t n;
	bool language;	/* one of ours */
	uint32_t lines; /* in the file */
	char hash[CLIENT_HASH_SIZE];
	struct client_symbol *at;
	uint32_t count;
	struct client_held *held_;
};
int client_symbols(struct client *c, const struct client_span *span,
		   struct client_symbols *ret);
void client_symbols_release(struct client_symbols *s);

struct client_text {
	char *at; /* with a NUL behind it */
	size_t len;
	bool binary; /* it is no UTF-8 */
};
struct client_source {
	struct client_text text;
	char *path;	/* where links led to; NULL: the tape did not say */
	uint32_t lines; /* in the file */
};
int client_source(struct client *c, const struct client_span *span,
		  struct client_source *ret);
void client_source_release(struct client_source *s);

/* A content by its hash; free `at`. */
int client_content(struct client *c, const char *hash, struct client_text *ret);

struct client_version {
	uint64_t n; /* the entry that made it; 0: older than the tape */
	char hash[CLIENT_HASH_SIZE]; /* "": the file was gone from here on */
	const char *kind;	     /* of the entry; "before" of 0 */
};
struct client_versions {
	struct client_version *at; /* newest first */
	uint32_t count;
	struct client_held *held_;
};
int client_versions(struct client *c, const char *path, uint32_t limit,
		    struct client_versions *ret);
void client_versions_release(struct client_versions *v);

/* -- What processes read. */

struct client_process {
	uint32_t pid;
	const char *comm; /* "": unknown */
	struct client_paths opened, listed, missed;
	int64_t first_ns; /* when it read first; 0: unknown */
};
struct client_readset {
	struct client_process *at; /* in the order of their lives */
	uint32_t count;
	struct client_held *held_;
};
/* Of processes that read between the two times (CLOCK_REALTIME). */
int client_readset(struct client *c, int64_t from_ns, int64_t to_ns,
		   struct client_readset *ret);
void client_readset_release(struct client_readset *r);

/*
 * Keep what is needed to show versions from entry `n` on, for `ttl_ms` from
 * now. Each holder (a conversation's name) has one hold, its newest.
 */
int client_hold(struct client *c, const char *holder, uint64_t n,
		uint32_t ttl_ms);

#endif
