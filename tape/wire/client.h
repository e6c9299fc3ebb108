/*
 * Asking the tape. One connection, made when it is first needed, kept, and
 * made anew when the tape was restarted meanwhile; questions are safe to
 * repeat, so one that met a broken connection is asked once more, within its
 * time.
 *
 * One thread's at a time; a thread that asks often has a client of its own.
 *
 * Calls return 0 or a negative errno: -ECONNREFUSED: the tape is not running.
 * -ETIMEDOUT: no answer within the time. -EREMOTEIO: the tape answered with an
 * error, and client_error() is its sentence. -EBADMSG: the answer made no
 * sense. -EMSGSIZE: the question is too long. Outputs are set on success
 * only, and strings in them are theirs: release them.
 *
 * Paths are bytes, relative to the root of the repository, on the way in and
 * out; what JSON makes of those that are no UTF-8 is dealt with here.
 */
#ifndef STATETAPE_TAPE_WIRE_CLIENT_H
#define STATETAPE_TAPE_WIRE_CLIENT_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct client;

#define CLIENT_NOW	  UINT64_MAX /* as entry number: as it is now */
#define CLIENT_TIMEOUT_MS 2000	     /* per call, until set otherwise */

/*
 * For the tape at `socket` (copied). Connects to nothing yet. Memory that
 * cannot be had ends the process, here and in all calls.
 */
struct client *client_new(const char *socket);
void client_free(struct client *c);

/* How long calls may take from now on; negative: as long as it takes. */
void client_set_timeout(struct client *c, int timeout_ms);

/* Of the last call that returned -EREMOTEIO; "" otherwise. */
const char *client_error(const struct client *c);

/* Any question; `question` may be NULL. *ret: cJSON_Delete it. */
int client_ask(struct client *c, const char *ask, const cJSON *question,
	       cJSON **ret);

/*
 * The barrier: when it returns, every change whose syscall returned before
 * the call is on the tape, at or before entry `n`. `ready`: the graph is
 * built; until then nothing is nominated soundly.
 */
struct client_head {
	uint64_t n, journal;
	bool ready;
};
int client_sync(struct client *c, int timeout_ms, struct client_head *ret);

/* -- Nominations. */

enum client_kind { CLIENT_READ, CLIENT_EDIT, CLIENT_RUN, CLIENT_SEARCH };

struct client_paths {
	const char *const *at;
	size_t count;
};

struct client_record {
	uint64_t id;
	enum client_kind kind;
	uint64_t birth;	     /* newest entry when it was observed */
	const char *path;    /* read, edit; NULL: none */
	uint32_t start, end; /* lines; 0: from the first, to the last */

	/*
	 * Names it covers, of client_symbols() as of its birth, which is
	 * asked once per record and kept. NULL: found out by the tape each
	 * time, which is slower.
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
	uint64_t entry;		   /* the newest that falsified it */
	struct client_drift *symbols;
	size_t symbols_count;
	bool more; /* symbols than are listed */
};

struct client_nominations {
	uint64_t n; /* as of this entry */
	struct client_nomination *at;
	size_t count;
	struct client_held *held_; /* client.c's */
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
	char hash[33];	/* of its content */
	struct client_symbol *at;
	size_t count;
	struct client_held *held_;
};
int client_symbols(struct client *c, const struct client_span *span,
		   struct client_symbols *ret);
void client_symbols_release(struct client_symbols *s);

struct client_source {
	uint64_t n;
	char hash[33];
	char *text; /* with a NUL behind it */
	size_t len;
	uint32_t start, end; /* the lines it is; end < start: none */
	uint32_t lines;	     /* in the file */
};
int client_source(struct client *c, const struct client_span *span,
		  struct client_source *ret);
void client_source_release(struct client_source *s);

struct client_version {
	uint64_t n; /* the entry that made it; 0: older than the tape */
	int64_t at_ns;
	char hash[33];	  /* "": the file was gone from here on */
	const char *kind; /* of the entry; "before" of 0 */
};
struct client_versions {
	struct client_version *at; /* newest first */
	size_t count;
	struct client_held *held_;
};
int client_versions(struct client *c, const char *path, uint32_t limit,
		    struct client_versions *ret);
void client_versions_release(struct client_versions *v);

/* -- What processes read. */

struct client_window {
	uint32_t pid;	 /* it and its descendants; 0: all */
	int64_t from_ns; /* CLOCK_REALTIME; 0: no bound. Processes that read */
	int64_t to_ns;	 /* something between the two */
	const char *const *without; /* command names left out */
	size_t without_count;
};

struct client_process {
	uint32_t pid, ppid;
	uint64_t start; /* clock ticks since boot: tells equal pids apart */
	const char *comm, *cmdline;
	struct client_paths opened, listed, missed;
	int64_t first_ns, last_ns; /* when it read first and last */
};
struct client_readset {
	struct client_process *at; /* in the order of their lives */
	size_t count;
	uint64_t forgotten; /* entries given up to stay in bounds, ever */
	struct client_held *held_;
};
int client_readset(struct client *c, const struct client_window *w,
		   struct client_readset *ret);
void client_readset_release(struct client_readset *r);

/*
 * Keep what is needed to show versions from entry `n` on, for `ttl_ms` from
 * now. Each holder (a conversation's name) has one hold, its newest.
 */
int client_hold(struct client *c, const char *holder, uint64_t n,
		uint32_t ttl_ms);

#endif
