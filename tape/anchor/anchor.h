/*
 * Anchors: places out of the agent's reach to which the tape hands checkpoints.
 *
 *	syslog		the system's log, by /dev/log; syslog:PATH by that
 *			socket
 *	file:PATH	one line per checkpoint is appended
 *	command:WORDS	the program is run with the checkpoint on its standard
 *			input. Words are separated by blanks; a word in single
 *			or double quotes may have blanks in it. There is no
 *			shell, and nothing is replaced in the words.
 *
 * A thread of its own delivers, so neither a slow disk nor a command can hold
 * up the tape. Of several checkpoints that wait for one anchor only the newest
 * is delivered: it proves the others, too. The thread that opened them may
 * call; nothing here blocks but anchors_close().
 */
#ifndef STATETAPE_TAPE_ANCHOR_ANCHOR_H
#define STATETAPE_TAPE_ANCHOR_ANCHOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ANCHORS_MAX	8
#define ANCHOR_EVERY	20    /* entries, if not set */
#define ANCHOR_LIMIT_MS 10000 /* a command that takes longer is killed */
#define ANCHOR_END_MS	2000  /* for what is under way when the tape ends */

struct anchors;
struct checkpoint;

/*
 * Is `list` (one anchor per line) right? Else *ret_why is the end of a sentence
 * (free it): "... 'x' is not an anchor: ..."
 */
bool anchors_check(const char *list, char **ret_why);

/*
 * `list` is as anchors_check() wants it; `say` prints a sentence, once for each
 * anchor that fails, and is called by the thread.
 */
typedef void anchors_say(const char *format, ...)
	__attribute__((format(printf, 1, 2)));
int anchors_open(const char *list, const char *repo, anchors_say *say,
		 struct anchors **ret);
/* Hand over a checkpoint. Cannot fail: failures are counted. */
void anchors_put(struct anchors *a, const struct checkpoint *c);
/* Waits ANCHOR_END_MS for what is under way; commands then go on alone. */
void anchors_close(struct anchors *a);

struct anchor_stats {
	const char *name; /* as configured, a command without its arguments */
	uint64_t delivered, failed;
	uint64_t n;   /* the newest entry that was delivered, 0: none */
	char why[96]; /* of the last failure; "": it worked the last time */
};
/* Returns how many there are. */
size_t anchors_stat(struct anchors *a, struct anchor_stats ret[ANCHORS_MAX]);

#endif
