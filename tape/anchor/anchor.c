#include "tape/anchor/anchor.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/base/clock.h"
#include "graph/base/path.h"
#include "graph/base/thread.h"
#include "tape/anchor/anchor_i.h"
#include "tape/anchor/checkpoint.h"

#define DEV_LOG "/dev/log"
#define BLANKS	" \t"
/* While a command runs, the thread looks this often whether it has ended. */
#define LOOK_NS (20 * NS_PER_MS)

struct anchor {
	struct anchor_place place;
	char *name;
	/* Of a command. */
	pid_t pid; /* 0: none runs */
	int64_t until_ns;
	uint64_t running; /* the entry it was given */
	bool waits;	  /* `next` is to be delivered */
	struct checkpoint next;
	struct anchor_stats stats; /* protected by the lock */
};

struct anchors {
	pthread_t thread;
	pthread_mutex_t lock; /* a leaf: nothing is taken while it is held */
	pthread_cond_t wake;
	bool comes, ends;	/* protected by lock */
	struct checkpoint next; /* protected by lock */
	anchors_say *say;
	size_t count;
	struct anchor all[ANCHORS_MAX];
};

/* -- Parsing. */

__attribute__((format(printf, 2, 3))) static int refuse(char **ret_why,
							const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (vasprintf(ret_why, format, args) < 0)
		*ret_why = must_strdup("out of memory");
	va_end(args);
	return -EINVAL;
}

/*
 * Copy the word at *at to *out, without its quotes, and move both behind it.
 * False: a quote is not closed.
 */
static bool take_word(const char **at, char **out)
{
	char quote = '\0';

	for (; **at && (quote || !strchr(BLANKS, **at)); ++*at) {
		if (quote && **at == quote)
			quote = '\0';
		else if (!quote && strchr("'\"", **at))
			quote = **at;
		else
			*(*out)++ = **at;
	}
	return !quote;
}

/* Cut `text` into words, in place: see anchor.h. */
static int cut_words(char *text, char **argv, char **ret_why)
{
	const char *at = text + strspn(text, BLANKS);
	char *out = text;
	size_t count = 0;

	for (; *at; at += strspn(at, BLANKS)) {
		if (count == ANCHOR_WORDS_MAX)
			return refuse(ret_why, "it has more than %d words",
				      ANCHOR_WORDS_MAX);
		argv[count++] = out;
		if (!take_word(&at, &out))
			return refuse(ret_why, "a quote is not closed");
		/* The word's NUL may take the place of the blank behind it. */
		if (*at)
			at++;
		*out++ = '\0';
	}
	argv[count] = NULL;
	return count && *argv[0] ? 0 : refuse(ret_why, "it names no program");
}

static void place_release(struct anchor_place *p)
{
	free(p->target);
	p->target = NULL;
}

static int take_path(const char *text, struct anchor_place *ret, char **ret_why)
{
	if (*text != '/')
		return refuse(ret_why, "its path must begin with /");
	ret->target = must_strdup(text);
	return 0;
}

static int parse(const char *text, struct anchor_place *ret, char **ret_why)
{
	*ret = (struct anchor_place){ .kind = ANCHOR_SYSLOG };
	if (strcmp(text, "syslog") == 0) {
		ret->target = must_strdup(DEV_LOG);
		return 0;
	}
	if (strncmp(text, "syslog:", 7) == 0)
		return take_path(text + 7, ret, ret_why);
	if (strncmp(text, "file:", 5) == 0) {
		ret->kind = ANCHOR_FILE;
		return take_path(text + 5, ret, ret_why);
	}
	if (strncmp(text, "command:", 8) != 0)
		return refuse(ret_why, "there are syslog, file:PATH and "
				       "command:PROGRAM ARGUMENTS");
	ret->kind = ANCHOR_COMMAND;
	/* One more byte: a word at the end needs its NUL, too. */
	ret->target = must_calloc(1, strlen(text) + 2);
	memcpy(ret->target, text + 8, strlen(text + 8));
	return cut_words(ret->target, ret->argv, ret_why);
}

/* The next line of the list (free it); NULL: the end. */
static char *next_line(const char **list)
{
	size_t len = strcspn(*list, "\n");
	char *line;

	if (!**list)
		return NULL;
	line = must_memdup(*list, len);
	*list += len + ((*list)[len] == '\n');
	return line;
}

bool anchors_check(const char *list, char **ret_why)
{
	size_t count = 0;

	for (;;) {
		CLEANUP(free_p) char *line = next_line(&list);
		CLEANUP(free_p) char *why = NULL;
		CLEANUP(place_release) struct anchor_place p = { 0 };

		if (!line)
			break;
		if (parse(line, &p, &why) < 0) {
			(void)refuse(ret_why, "'%s' is not an anchor: %s", line,
				     why);
			return false;
		}
		count++;
	}
	if (count > 0 && count <= ANCHORS_MAX)
		return true;
	(void)refuse(ret_why, "there can be 1 to %d anchors, not %zu",
		     ANCHORS_MAX, count);
	return false;
}

/* -- The thread. */

static void note_end(struct anchors *a, struct anchor *x, uint64_t n,
		     const char *why)
{
	bool first;

	(void)pthread_mutex_lock(&a->lock);
	first = *why && x->stats.failed == 0;
	if (*why) {
		x->stats.failed++;
		(void)snprintf(x->stats.why, sizeof(x->stats.why), "%s", why);
	} else {
		x->stats.delivered++;
		x->stats.n = n;
		x->stats.why[0] = '\0';
	}
	(void)pthread_mutex_unlock(&a->lock);
	if (first)
		a->say("the anchor '%s' failed: %s; 'statetape status' counts "
		       "further failures",
		       x->name, why);
}

static void note_result(struct anchors *a, struct anchor *x, uint64_t n, int rc)
{
	const char *why = rc < 0 ? strerrordesc_np(-rc) : "";

	note_end(a, x, n, why ? why : "unknown error");
}

static void start(struct anchors *a, struct anchor *x)
{
	char line[CHECKPOINT_LINE_MAX];
	int rc;

	assert(x->waits && x->pid == 0);
	x->waits = false;
	x->running = x->next.n;
	checkpoint_print(&x->next, line);
	rc = deliver_start(x->place.argv, line, &x->pid);
	x->until_ns = clock_mono_ns() + ANCHOR_LIMIT_MS * NS_PER_MS;
	if (rc < 0) {
		x->pid = 0;
		note_result(a, x, x->running, rc);
	}
}

static void note_status(struct anchors *a, struct anchor *x, int status)
{
	char why[sizeof(x->stats.why)] = "";

	if (WIFSIGNALED(status))
		(void)snprintf(why, sizeof(why), "signal %d ended it",
			       WTERMSIG(status));
	else if (WEXITSTATUS(status) != 0)
		(void)snprintf(why, sizeof(why), "it exited with %d",
			       WEXITSTATUS(status));
	note_end(a, x, x->running, why);
}

/* Look whether the command has ended, and end it if it takes too long. */
static void tend(struct anchors *a, struct anchor *x)
{
	int status = 0;
	pid_t pid = waitpid(x->pid, &status, WNOHANG);

	if (pid == 0 && clock_mono_ns() < x->until_ns)
		return;
	if (pid == 0) {
		(void)kill(-x->pid, SIGKILL);
		(void)waitpid(x->pid, NULL, 0);
		note_end(a, x, x->running, "it took longer than 10 s");
	} else {
		note_status(a, x, status);
	}
	x->pid = 0;
}

static void deliver(struct anchors *a, struct anchor *x,
		    const struct checkpoint *c)
{
	char line[CHECKPOINT_LINE_MAX];

	checkpoint_print(c, line);
	if (x->place.kind == ANCHOR_SYSLOG) {
		note_result(a, x, c->n, deliver_syslog(x->place.target, line));
	} else if (x->place.kind == ANCHOR_FILE) {
		note_result(a, x, c->n, deliver_file(x->place.target, line));
	} else {
		x->next = *c;
		x->waits = true;
	}
}

/* False: no command runs or waits to be run. */
static bool tend_all(struct anchors *a)
{
	bool busy = false;

	for (size_t i = 0; i < a->count; i++) {
		struct anchor *x = &a->all[i];

		if (x->pid)
			tend(a, x);
		if (!x->pid && x->waits)
			start(a, x);
		busy = busy || x->pid;
	}
	return busy;
}

/* Wait for a checkpoint, the end, or the time to look at commands. */
static void wait_locked(struct anchors *a, bool busy)
{
	int64_t at = clock_mono_ns() + LOOK_NS;
	struct timespec t = { .tv_sec = at / NS_PER_S,
			      .tv_nsec = at % NS_PER_S };

	while (!a->comes && !a->ends && !busy)
		(void)pthread_cond_wait(&a->wake, &a->lock);
	/* At the end only commands are waited for. */
	while (busy && !a->comes &&
	       pthread_cond_timedwait(&a->wake, &a->lock, &t) == 0)
		continue;
}

static void *anchors_main(void *arg)
{
	struct anchors *a = arg;
	int64_t until = INT64_MAX;
	struct checkpoint c;
	bool busy = false, comes, ends;

	do {
		(void)pthread_mutex_lock(&a->lock);
		wait_locked(a, busy);
		comes = a->comes;
		c = a->next;
		a->comes = false;
		ends = a->ends;
		(void)pthread_mutex_unlock(&a->lock);
		for (size_t i = 0; comes && i < a->count; i++)
			deliver(a, &a->all[i], &c);
		busy = tend_all(a);
		if (ends && until == INT64_MAX)
			until = clock_mono_ns() + ANCHOR_END_MS * NS_PER_MS;
	} while (!ends || (busy && clock_mono_ns() < until));
	return NULL;
}

/* -- Opening, closing. */

static int check_place(const struct anchor *x, const char *repo,
		       anchors_say *say)
{
	CLEANUP(free_p) char *whole = NULL;

	if (x->place.kind != ANCHOR_FILE ||
	    path_canonical(x->place.target, true, &whole) < 0 ||
	    !path_lies_in(whole, repo))
		return 0;
	say("the anchor '%s' lies inside the repository, which is never "
	    "written to",
	    x->name);
	return -EINVAL;
}

static char *name_of(const char *line, const struct anchor_place *p)
{
	char *name = NULL;

	if (p->kind != ANCHOR_COMMAND)
		return must_strdup(line);
	/* Its arguments may be secret. */
	if (asprintf(&name, "command:%s", p->argv[0]) < 0)
		return must_have(NULL);
	return name;
}

static void release(struct anchors *a)
{
	for (size_t i = 0; i < a->count; i++) {
		place_release(&a->all[i].place);
		free(a->all[i].name);
	}
	(void)pthread_cond_destroy(&a->wake);
	(void)pthread_mutex_destroy(&a->lock);
	free(a);
}

static struct anchors *new_anchors(anchors_say *say)
{
	struct anchors *a = must_calloc(1, sizeof(*a));
	pthread_condattr_t monotonic;

	a->say = say;
	(void)pthread_mutex_init(&a->lock, NULL);
	(void)pthread_condattr_init(&monotonic);
	(void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&a->wake, &monotonic);
	(void)pthread_condattr_destroy(&monotonic);
	return a;
}

int anchors_open(const char *list, const char *repo, anchors_say *say,
		 struct anchors **ret)
{
	struct anchors *a = new_anchors(say);
	int rc = 0;

	while (rc == 0 && a->count < ANCHORS_MAX) {
		CLEANUP(free_p) char *line = next_line(&list);
		CLEANUP(free_p) char *why = NULL;
		struct anchor *x = &a->all[a->count];

		if (!line)
			break;
		rc = parse(line, &x->place, &why);
		if (rc < 0)
			place_release(&x->place);
		if (rc < 0)
			break;
		a->count++;
		x->name = name_of(line, &x->place);
		x->stats.name = x->name;
		rc = check_place(x, repo, say);
	}
	if (rc == 0)
		rc = thread_start(&a->thread, anchors_main, a);
	if (rc < 0) {
		release(a);
		return rc;
	}
	*ret = a;
	return 0;
}

void anchors_put(struct anchors *a, const struct checkpoint *c)
{
	(void)pthread_mutex_lock(&a->lock);
	a->next = *c;
	a->comes = true;
	(void)pthread_cond_signal(&a->wake);
	(void)pthread_mutex_unlock(&a->lock);
}

void anchors_close(struct anchors *a)
{
	if (!a)
		return;
	(void)pthread_mutex_lock(&a->lock);
	a->ends = true;
	(void)pthread_cond_signal(&a->wake);
	(void)pthread_mutex_unlock(&a->lock);
	(void)pthread_join(a->thread, NULL);
	release(a);
}

size_t anchors_stat(struct anchors *a, struct anchor_stats ret[ANCHORS_MAX])
{
	(void)pthread_mutex_lock(&a->lock);
	for (size_t i = 0; i < a->count; i++)
		ret[i] = a->all[i].stats;
	(void)pthread_mutex_unlock(&a->lock);
	return a->count;
}
