/* Private to session.c and session_judge.c. */
#ifndef STATETAPE_TESTS_SUPPORT_SESSION_I_H
#define STATETAPE_TESTS_SUPPORT_SESSION_I_H

#include "graph/base/array.h"
#include "graph/base/buf.h"
#include "manager/transcript/transcript.h"
#include "tests/support/session.h"

#define REPO "/repo"

/* A note in the requests sent, and the request that had it first. */
struct seen {
	uint64_t hash;
	uint32_t request;
};

/* A change of a file, and the request before which it was made. */
struct touched {
	char *path;
	uint32_t request;
	uint32_t line; /* that it replaced; 0: it removed the file */
	char call[24]; /* of the editing tool that made it; or "" */
};

/* The changes made before a call's result. */
struct reading {
	char call[24];
	uint32_t touched;
};

struct promptcache;

struct session {
	struct recorded *files;
	struct brain *brain;
	struct brain_options options;
	char *id;
	struct buf talk;   /* elements of "messages", commas between */
	size_t last_block; /* where a cache mark goes, in `talk` */
	int64_t now_ns;
	uint32_t calls;
	uint32_t pid;
	bool away;
	const char *troubled; /* a question, or NULL */
	int trouble;
	const char *authorization;
	char reply[256]; /* "": none is sent */
	char heard[256];
	char *sent;
	size_t sent_len;
	struct promptcache *cache;
	ARRAY(struct seen) notes;
	ARRAY(struct touched) touched;
	ARRAY(struct reading) readings;
	struct session_totals totals;
};

/* Count the reads of the request sent that are stale, and nothing says so. */
void session_judge(struct session *s, struct transcript *t);

#endif
