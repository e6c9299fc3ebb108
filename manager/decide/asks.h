/*
 * The tape's questions that the manager asks, as values. Each returns 0 or a
 * negative errno; once the time of a turn is over, all return -ETIMEDOUT, so
 * that nobody has to look at the clock in between.
 *
 * What a tape does not keep or know is -ENOENT.
 */
#ifndef STATETAPE_MANAGER_DECIDE_ASKS_H
#define STATETAPE_MANAGER_DECIDE_ASKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/base/array.h"
#include "manager/decide/brain.h"

#define ASKS_NOW UINT64_MAX

struct asks {
	brain_ask *ask;
	void *ctx;
	int64_t deadline_ns; /* CLOCK_MONOTONIC */
};

/* Any question, within the time. *ret: cJSON_Delete it. */
int asks_any(struct asks *a, const char *ask, const cJSON *question,
	     int limit_ms, cJSON **ret);
int asks_sync(struct asks *a, int limit_ms, uint64_t *ret_n, bool *ret_ready);

/* An entry, as far as anybody here wants to know. */
struct asks_entry {
	uint64_t n;
	int64_t at_ns;
	char *path, *path2; /* path2: a rename's new name, else NULL */
	uint32_t pid;
	uint32_t ancestors[8]; /* 0: no more */
	bool elsewhere;	       /* symbols of other files may have drifted */
};
struct asks_entries {
	ARRAY(struct asks_entry) at;
	bool more; /* than were asked for */
};
int asks_since(struct asks *a, uint64_t n, struct asks_entries *ret);
void asks_entries_release(struct asks_entries *e);

struct asks_text {
	char *at; /* a NUL behind it */
	size_t len;
};
/* All of a file as of entry `n`. *ret_path (free it): where links led to. */
int asks_source(struct asks *a, const char *path, uint64_t n,
		struct asks_text *ret, char **ret_path);
int asks_content(struct asks *a, const char *hash, struct asks_text *ret);

struct asks_version {
	uint64_t n;
	char hash[40]; /* "": the file was not there */
};
struct asks_versions {
	ARRAY(struct asks_version) at; /* newest first */
};
int asks_versions(struct asks *a, const char *path, uint32_t limit,
		  struct asks_versions *ret);

struct asks_symbol {
	char *name;
	uint32_t start, end; /* lines from 1 */
};
struct asks_symbols {
	ARRAY(struct asks_symbol) at;
};
/* Of a whole file as it is now. */
int asks_symbols(struct asks *a, const char *path, struct asks_symbols *ret);
void asks_symbols_release(struct asks_symbols *s);

/* What was opened, listed, and looked for in vain, by processes born in a
 * window. What a process read compiled it counts as having opened. */
struct asks_paths {
	char **at;
	uint32_t count, size; /* as an ARRAY has them */
};
struct asks_process {
	uint32_t pid;
	int64_t first_ns; /* when it began to read; 0: unknown */
	struct asks_paths opened, missed, listed;
	bool imports; /* it lists directories to find modules in them */
};
struct asks_readset {
	ARRAY(struct asks_process) processes;
	/* Of all; sorted, each once; the texts are the processes'. */
	struct asks_paths opened, missed;
	struct asks_paths listed;   /* of those that do not import */
	struct asks_paths searched; /* of those that do */
	/* One of them goes by the age of files, or by what it kept of them
	   the last time: what it did not open may count, too. */
	bool by_age;
};
int asks_readset(struct asks *a, int64_t from_ns, int64_t to_ns,
		 struct asks_readset *ret);
void asks_readset_release(struct asks_readset *r);

/* Keep what it takes to show versions from `n` on. */
int asks_hold(struct asks *a, const char *holder, uint64_t n, uint32_t ttl_ms);

#endif
