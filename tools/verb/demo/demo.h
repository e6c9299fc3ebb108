/*
 * The demonstration's two ends, each a process of its own: a model that
 * answers from a script, and an agent that does what it says. Between them
 * stand the real parts, and neither end knows of them; only what is shown to
 * the person who watches (demo_show.c) asks the tape, and looks at what
 * arrived at the model.
 */
#ifndef STATETAPE_TOOLS_VERB_DEMO_DEMO_H
#define STATETAPE_TOOLS_VERB_DEMO_DEMO_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <xxhash.h>

#include "tape/wire/state.h"

/* Where the ends leave what they sent and got: below $DEMO. */
#define DEMO_REQUESTS "requests" /* N.sent.json, N.received.json */
#define DEMO_PORT     "port"	 /* the model's */

/*
 * Serve the script on 127.0.0.1 until told to end; `dir` is $DEMO. Returns an
 * exit code.
 */
int demo_model(const char *dir);

/*
 * Play the agent in the current directory. Returns an exit code. `last` is the
 * last word of the command line, all of which is overwritten: who looks at
 * this process, as the tape does, sees an agent.
 */
int demo_agent(const char *dir, const char *last);

/*
 * Make the repository in the directory `repo`, which exists. 0 or a negative
 * errno.
 */
int demo_make_repo(const char *repo);

/* A file's text, with a NUL behind it (free it); NULL: it cannot be read. */
char *demo_read(const char *path, size_t *ret_len);
/* Write a whole file; 0 or a negative errno. */
int demo_write(const char *path, const char *text, size_t len);

/* -- What a person sees. */

#define DEMO_TASK      "Make load_config refuse a bad port."
#define DEMO_NO_OUTPUT "(no output)"
#define DEMO_SHOWN_MAX 64
#define DEMO_HELD_MAX  32

struct show {
	const char *dir; /* $DEMO */
	struct state state;
	double entries; /* of the tape that were told */
	/* Texts that were, too. */
	XXH64_hash_t shown[DEMO_SHOWN_MAX];
	size_t shown_count;
	/* What the agent was shown by its tools, for the whole talk. */
	struct demo_held {
		char *about; /* the file's name, or the command */
		char *text;
		bool file;
	} held[DEMO_HELD_MAX];
	size_t held_count;
	bool colours;
	bool slowly; /* a person reads along */
};

/* -ENOENT: there is no tape of this directory. */
int show_init(struct show *s, const char *dir);
void show_release(struct show *s);

/* The model speaks; the agent uses a tool. */
void show_says(struct show *s, const char *text);
void show_tool(struct show *s, const char *tool, const char *about);
/* The tool's result, of which a person sees the first line if it is brief. */
void show_result(struct show *s, const char *about, bool file,
		 const char *text);
/* Whatever the tape has noted since the last time. */
void show_tape(struct show *s);
/* Request `turn` was answered: `ours` against what the model got. */
void show_request(struct show *s, size_t turn, const cJSON *ours);

/* As long as it takes to read what was printed since the last time. */
void demo_pause(bool slowly, size_t characters);

#endif
