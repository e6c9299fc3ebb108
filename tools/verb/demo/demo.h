/*
 * The demo's two ends, each a process of its own: a model that answers from a
 * script, and an agent that does what the model says. Between them run the real
 * parts, which neither end knows of; only the output for the user (demo_show.c)
 * asks the tape and compares requests as sent and as received.
 */
#ifndef STATETAPE_TOOLS_VERB_DEMO_DEMO_H
#define STATETAPE_TOOLS_VERB_DEMO_DEMO_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <xxhash.h>

#include "tape/wire/state.h"

/* Files in which both ends leave what they sent and received: below $DEMO. */
#define DEMO_REQUESTS "requests" /* N.sent.json, N.received.json */
#define DEMO_PORT     "port"	 /* the model's */

/*
 * Serve the script on 127.0.0.1 until a signal; `dir` is $DEMO. Returns an exit
 * code.
 */
int demo_model(const char *dir);

/*
 * Play the agent in the current directory. Returns an exit code. `last` is the
 * last word of the command line, all of which is overwritten, so that the tape
 * shows this process as "agent".
 */
int demo_agent(const char *dir, const char *last);

/*
 * Create the repository's files in the existing directory `repo`. 0 or a
 * negative errno.
 */
int demo_make_repo(const char *repo);

/* A file's text, with a NUL behind it (free it); NULL: it cannot be read. */
char *demo_read(const char *path, size_t *ret_len);
/* Write a whole file; 0 or a negative errno. */
int demo_write(const char *path, const char *text, size_t len);

/* Output for the user. */

#define DEMO_TASK      "Make load_config refuse a bad port."
#define DEMO_NO_OUTPUT "(no output)"
#define DEMO_SHOWN_MAX 64
#define DEMO_HELD_MAX  32

struct show {
	const char *dir; /* $DEMO */
	struct state state;
	double entries; /* entries of the tape that were printed */
	/* Notes that were printed. */
	XXH64_hash_t shown[DEMO_SHOWN_MAX];
	size_t shown_count;
	/* Results that the agent's tools gave so far. */
	struct demo_held {
		char *about; /* the file's name, or the command */
		char *text;
		bool file;
	} held[DEMO_HELD_MAX];
	size_t held_count;
	bool colours;
	bool slowly; /* stdout is a terminal: pause for the reader */
};

/* -ENOENT: this directory has no tape. */
int show_init(struct show *s, const char *dir);
void show_release(struct show *s);

/* Print what the model says, and which tool the agent uses. */
void show_says(struct show *s, const char *text);
void show_tool(struct show *s, const char *tool, const char *about);
/* Print the first line of the tool's result, if it is short. */
void show_result(struct show *s, const char *about, bool file,
		 const char *text);
/* Print the entries that are new on the tape. */
void show_tape(struct show *s);
/*
 * Request `turn` was answered: print how `ours` differs from what the model
 * received.
 */
void show_request(struct show *s, size_t turn, const cJSON *ours);

/* Pause for as long as it takes to read the recent output. */
void demo_pause(bool slowly, size_t characters);

#endif
