#include "tools/verb/undo/choice.h"

#include <assert.h>
#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/base/clock.h"
#include "graph/base/json.h"
#include "tape/journal/name.h"
#include "tools/cli/say.h"
#include "tools/cli/when.h"
#include "tools/verb/log/group.h"
#include "tools/verb/tape.h"
#include "tools/verb/undo/void.h"

#define PAGE 500

void choice_release(struct choice *c)
{
	array_release(&c->entries);
}

/* -- The command line. */

static bool take_number(const char **at, uint64_t *ret)
{
	char *end;

	if (**at < '0' || **at > '9')
		return false;
	errno = 0;
	*ret = strtoull(*at, &end, 10);
	*at = end;
	return !errno;
}

/* "N", "N..M" or "N..now" (UINT64_MAX). */
static bool parse_range(const char *text, uint64_t *ret_first,
			uint64_t *ret_last)
{
	if (!text || !take_number(&text, ret_first))
		return false;
	*ret_last = *ret_first;
	if (strncmp(text, "..", 2) == 0) {
		text += 2;
		if (strcmp(text, "now") == 0) {
			*ret_last = UINT64_MAX;
			return true;
		}
		if (!take_number(&text, ret_last))
			return false;
	}
	return !*text;
}

static const struct {
	enum option_id id, with; /* the one it may stand beside */
	const char *name;
} ways[] = {
	{ OPTION_TURN, OPTION_CONVERSATION, "--turn" },
	{ OPTION_CONVERSATION, OPTION_TURN, "--conversation" },
	{ OPTION_COMMAND, OPTION_COMMAND, "--command" },
	{ OPTION_AFTER, OPTION_AUTHOR, "--since" },
	{ OPTION_AUTHOR, OPTION_AFTER, "--author" },
};
#define WAYS (sizeof(ways) / sizeof(*ways))

static bool is_way_given(const struct invocation *in, size_t *ret_way)
{
	for (size_t i = 0; i < WAYS; i++)
		if (in->options[ways[i].id].given) {
			*ret_way = i;
			return true;
		}
	return false;
}

/* Are all others that are given allowed beside it? */
static bool is_alone(const struct invocation *in, size_t way)
{
	for (size_t i = 0; i < WAYS; i++) {
		if (i == way || !in->options[ways[i].id].given ||
		    ways[i].with == ways[way].id)
			continue;
		(void)say_usage_error("%s and %s both choose entries; give one",
				      ways[way].name, ways[i].name);
		return false;
	}
	return true;
}

static bool are_favours_clear(const struct invocation *in)
{
	if (!in->options[OPTION_OURS].given ||
	    !in->options[OPTION_THEIRS].given)
		return true;
	(void)say_usage_error(
		"--ours and --theirs decide conflicts in opposite "
		"ways; give one");
	return false;
}

static bool is_readable(const struct invocation *in)
{
	const struct option_value *since = &in->options[OPTION_AFTER];
	int64_t ns;

	if (since->given && when_parse(since->text, clock_wall_ns(), &ns) < 0) {
		(void)say_usage_error(
			"--since wants a date such as 2026-01-31, "
			"\"2026-01-31 18:30\" or \"2 hours ago\", not '%s'",
			since->text);
		return false;
	}
	return are_favours_clear(in);
}

bool choice_check(const struct invocation *in, char ***ret_paths)
{
	char **words = in->words;
	uint64_t first, last;
	size_t way = 0;

	if (!is_readable(in))
		return false;
	if (is_way_given(in, &way)) {
		if (parse_range(words[0], &first, &last)) {
			(void)say_usage_error(
				"%s and %s both choose entries; for a file of "
				"that name say ./%s",
				ways[way].name, words[0], words[0]);
			return false;
		}
		*ret_paths = words;
		return is_alone(in, way);
	}
	if (!words[0]) {
		(void)say_usage_error(
			"undo wants an entry N, a range N..M, --turn, "
			"--conversation, --command, --since or --author; "
			"'statetape log' lists the entries");
		return false;
	}
	if (!parse_range(words[0], &first, &last) || !first || last < first) {
		(void)say_usage_error("'%s' is neither an entry's number nor a "
				      "range N..M of them",
				      words[0]);
		return false;
	}
	*ret_paths = words + 1;
	return true;
}

bool choice_redo_check(const struct invocation *in, uint64_t *ret_n)
{
	const char *text = in->arguments[0];
	uint64_t last = 0;

	if (!are_favours_clear(in))
		return false;
	*ret_n = 0;
	if (!text || (parse_range(text, ret_n, &last) && *ret_n &&
		      last == *ret_n && !strchr(text, '.')))
		return true;
	(void)say_usage_error("redo wants the number of an entry, not '%s'",
			      text);
	return false;
}

/* -- Questions. */

static void add(struct choice *c, uint64_t n)
{
	array_push(&c->entries, n);
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void sort(struct choice *c)
{
	if (c->entries.count)
		qsort(c->entries.at, c->entries.count, sizeof(*c->entries.at),
		      by_number);
}

/* Zero: go on; anything else ends the visit. */
typedef int choice_visit(const cJSON *entry, void *arg);

/* Entries that LOG finds for `q`, newest first. */
static int each_logged(struct tape_reader *t, cJSON *q, choice_visit *visit,
		       void *arg)
{
	uint64_t before = 0;
	int r = 0;

	json_put_number(q, "limit", PAGE);
	while (r == 0) {
		CLEANUP(json_p) cJSON *answer = NULL;
		const cJSON *e;

		cJSON_DeleteItemFromObjectCaseSensitive(q, "before");
		if (before)
			json_put_number(q, "before", before);
		r = tape_ask(t, "LOG", q, &answer);
		if (r < 0)
			return r;
		cJSON_ArrayForEach (e, json_member(answer, "entries")) {
			before = json_number(e, "n", 0);
			r = visit(e, arg);
			if (r)
				return r < 0 ? r : 0;
		}
		if (!cJSON_IsTrue(json_member(answer, "more")))
			break;
	}
	return r;
}

static int add_entry(const cJSON *e, void *arg)
{
	add(arg, json_number(e, "n", 0));
	return 0;
}

/* The entry `n`, in the answer (cJSON_Delete it). */
static int show(struct tape_reader *t, uint64_t n, cJSON **ret)
{
	CLEANUP(json_p) cJSON *q = json_object(NULL, NULL);

	json_put_number(q, "n", n);
	return tape_ask(t, "SHOW", q, ret);
}

static int newest(struct tape_reader *t, uint64_t *ret)
{
	CLEANUP(json_p) cJSON *q = json_object(NULL, NULL);
	CLEANUP(json_p) cJSON *answer = NULL;
	int r;

	json_put_number(q, "n", 0);
	json_put_number(q, "limit", 1);
	r = tape_ask(t, "SINCE", q, &answer);
	*ret = json_number(answer, "head", 0);
	return r;
}

static int read_range(struct choice *c, const char *text, struct tape_reader *t)
{
	CLEANUP(json_p) cJSON *one = NULL;
	CLEANUP(json_p) cJSON *other = NULL;
	uint64_t first = 0, last = 0;
	int r = 0;

	(void)parse_range(text, &first, &last);
	if (last == UINT64_MAX)
		r = newest(t, &last);
	if (r == 0)
		r = show(t, first, &one);
	if (r == 0)
		r = show(t, last, &other);
	if (r < 0)
		return r;
	for (uint64_t n = first; n <= last; n++)
		add(c, n);
	c->numbered = true;
	return 0;
}

/* -- The entries of one process. */

struct choice_process {
	uint64_t pid, start;
	struct choice *c;
};

static bool is_process(const cJSON *p, const struct choice_process *w)
{
	return json_number(p, "pid", 0) == w->pid &&
	       json_number(p, "start", 0) == w->start;
}

/* Is it the author of the entry or an ancestor of it? Numbers of processes
   come again, so the time of its start must agree. */
static int add_if_its(const cJSON *e, void *arg)
{
	struct choice_process *w = arg;
	const cJSON *author = json_member(e, "author"), *p;
	bool is = is_process(author, w);

	cJSON_ArrayForEach (p, json_member(author, "ancestors"))
		is = is || is_process(p, w);
	if (is)
		add(w->c, json_number(e, "n", 0));
	return 0;
}

static int read_process(struct choice *c, const cJSON *author,
			struct tape_reader *t)
{
	CLEANUP(json_p) cJSON *q = json_object(NULL, NULL);
	struct choice_process w = { json_number(author, "pid", 0),
				    json_number(author, "start", 0), c };

	json_put_number(q, "pid", w.pid);
	return each_logged(t, q, add_if_its, &w);
}

/* -- The entries of one command, as the log has them. */

struct choice_command {
	char *key;
	struct groups groups;
};

static void command_release(struct choice_command *w)
{
	free(w->key);
	groups_release(&w->groups);
}

static int add_if_same(const cJSON *e, void *arg)
{
	struct choice_command *w = arg;
	CLEANUP(free_p) char *key = group_key(e);

	if (strcmp(key, w->key) == 0)
		groups_add(&w->groups, must_have(cJSON_Duplicate(e, true)));
	return 0;
}

/* False: it does not have entry `n`. */
static bool add_group(struct choice *c, const struct group *g, uint64_t n)
{
	uint32_t before = c->entries.count;
	bool has = false;

	for (uint32_t i = 0; i < g->entries.count; i++) {
		uint64_t one = json_number(g->entries.at[i], "n", 0);

		has = has || one == n;
		add(c, one);
	}
	if (!has)
		c->entries.count = before;
	return has;
}

static int read_command(struct choice *c, uint64_t n, struct tape_reader *t)
{
	CLEANUP(command_release) struct choice_command w = { .key = NULL };
	CLEANUP(json_p) cJSON *q = json_object(NULL, NULL);
	CLEANUP(json_p) cJSON *answer = NULL;
	const cJSON *entry, *process;
	bool found = false;
	struct group *g;
	int r = show(t, n, &answer);

	if (r < 0)
		return r;
	entry = json_member(answer, "entry");
	process = json_member(entry, "author");
	if (!json_member(process, "pid")) {
		(void)say_error("the process that made entry %" PRIu64
				" is not known; name entries by their numbers",
				n);
		return -ENOENT;
	}
	/* Of a call, entries of several processes of the agent. */
	if (json_member(entry, "turn"))
		process = json_member(entry, "turn");
	else if (group_process(entry))
		process = group_process(entry);
	json_put_number(q, "pid", json_number(process, "pid", 0));
	w.key = group_key(entry);
	r = each_logged(t, q, add_if_same, &w);
	while (r == 0 && !found && (g = groups_next(&w.groups, true))) {
		found = add_group(c, g, n);
		group_free(g);
	}
	return r;
}

/* -- The entries of one turn, or conversation. */

struct choice_turns {
	struct choice *c;
	const char *conversation; /* the beginning of its name, NULL: any */
	uint64_t ordinal;	  /* 0: any */
	char *name;		  /* of the conversation found */
	char *other;		  /* of a second one */
};

static void turns_release(struct choice_turns *w)
{
	free(w->name);
	free(w->other);
}

static int add_if_in_turn(const cJSON *e, void *arg)
{
	struct choice_turns *w = arg;
	const cJSON *turn = json_member(e, "turn");
	const char *name = json_string(turn, "conversation");

	if (!name ||
	    (w->conversation &&
	     strncmp(name, w->conversation, strlen(w->conversation)) != 0) ||
	    (w->ordinal && json_number(turn, "ordinal", 0) != w->ordinal))
		return 0;
	if (!w->name)
		w->name = must_have(strdup(name));
	if (strcmp(w->name, name) != 0) {
		w->other = must_have(strdup(name));
		return 1;
	}
	return add_entry(e, w->c);
}

static int read_turns(struct choice *c, const struct invocation *in,
		      struct tape_reader *t)
{
	CLEANUP(turns_release)
	struct choice_turns w = {
		.c = c,
		.conversation = in->options[OPTION_CONVERSATION].text,
		.ordinal = in->options[OPTION_TURN].number,
	};
	CLEANUP(json_p) cJSON *q = json_object(NULL, NULL);
	int r = each_logged(t, q, add_if_in_turn, &w);

	if (r < 0 || !w.other)
		return r;
	(void)say_usage_error("conversations %s and %s both fit; say more of "
			      "the name with --conversation",
			      w.name, w.other);
	return -EINVAL;
}

/* -- The entries of a time, or of a program. */

static int read_filtered(struct choice *c, const struct invocation *in,
			 struct tape_reader *t)
{
	const struct option_value *since = &in->options[OPTION_AFTER];
	const struct option_value *author = &in->options[OPTION_AUTHOR];
	CLEANUP(json_p) cJSON *q = json_object(NULL, NULL);
	int64_t ns = 0;

	if (since->given) {
		(void)when_parse(since->text, clock_wall_ns(), &ns);
		json_put_number(q, "since_ns", ns > 0 ? (uint64_t)ns : 1);
	}
	if (author->given)
		json_put_bytes(q, "author", author->text);
	return each_logged(t, q, add_entry, c);
}

int choice_read(struct choice *c, const struct invocation *in,
		struct tape_reader *t)
{
	const struct option_value *o = in->options;
	int r;

	if (o[OPTION_COMMAND].given)
		r = read_command(c, o[OPTION_COMMAND].number, t);
	else if (o[OPTION_TURN].given || o[OPTION_CONVERSATION].given)
		r = read_turns(c, in, t);
	else if (o[OPTION_AFTER].given || o[OPTION_AUTHOR].given)
		r = read_filtered(c, in, t);
	else
		r = read_range(c, in->words[0], t);
	sort(c);
	if (r == 0 && !c->entries.count) {
		(void)say_error("no entry was chosen");
		r = -ENOENT;
	}
	return r;
}

/* -- Redo. */

/* The word behind "statetape" in a command line, "" if it is another program's.
 *ret_rest: what follows it. */
static const char *verb_in(const cJSON *author, size_t *ret_len)
{
	struct process_name name =
		process_name(json_string_or(author, "exe", ""),
			     json_string_or(author, "comm", ""));
	const char *line = json_string_or(author, "cmdline", "");

	if (name.len != strlen("statetape") ||
	    strncmp(name.at, "statetape", name.len) != 0)
		line = "";
	line += strcspn(line, " ");
	line += *line == ' ';
	*ret_len = strcspn(line, " ");
	return line;
}

static bool is_verb(const cJSON *author, const char *verb)
{
	size_t len;
	const char *at = verb_in(author, &len);

	return len == strlen(verb) && strncmp(at, verb, len) == 0;
}

/* The number in "redo N", 0: none. */
static uint64_t redo_number(const cJSON *author)
{
	size_t len;
	const char *at = verb_in(author, &len);
	uint64_t n = 0;

	for (at += len; *at; at += strcspn(at, " ")) {
		at += strspn(at, " ");
		if (take_number(&at, &n))
			return n;
	}
	return 0;
}

/*
 * Commands are seen newest first. A redo without a number took back the newest
 * undo before it that nothing else took back.
 */
struct choice_undone {
	struct voids voids;
	uint64_t pid, start;   /* of the command seen last */
	bool skip;	       /* that undo was taken back */
	uint64_t redone;       /* redos without a number that wait for theirs */
	ARRAY(uint64_t) named; /* entries that redos named */
	cJSON *found;	       /* the author of the undo looked for */
};

static void undone_release(struct choice_undone *w)
{
	voids_release(&w->voids);
	array_release(&w->named);
	cJSON_Delete(w->found);
}

static bool is_named(const struct choice_undone *w, uint64_t n)
{
	for (uint32_t i = 0; i < w->named.count; i++)
		if (w->named.at[i] == n)
			return true;
	return false;
}

static void see_redo(struct choice_undone *w, const cJSON *author)
{
	uint64_t n = redo_number(author);

	if (n)
		array_push(&w->named, n);
	else
		w->redone++;
}

static int see_command(const cJSON *e, void *arg)
{
	struct choice_undone *w = arg;
	const cJSON *author = json_member(e, "author");
	uint64_t pid = json_number(author, "pid", 0);
	uint64_t start = json_number(author, "start", 0);
	bool undo = is_verb(author, "undo");

	if (voids_has(&w->voids, e))
		return 0;
	if (w->found && (pid != w->pid || start != w->start))
		return 1;
	if (pid != w->pid || start != w->start) {
		w->pid = pid;
		w->start = start;
		w->skip = undo && w->redone;
		w->redone -= w->skip;
		if (is_verb(author, "redo"))
			see_redo(w, author);
		if (undo && !w->skip)
			w->found = cJSON_Duplicate(author, true);
	}
	/* A redo names any of the entries of an undo. */
	if (w->found && is_named(w, json_number(e, "n", 0))) {
		cJSON_Delete(w->found);
		w->found = NULL;
	}
	return 0;
}

static int find_undo(struct choice *c, struct tape_reader *t)
{
	CLEANUP(undone_release) struct choice_undone w = { .pid = 0 };
	CLEANUP(json_p) cJSON *q = json_object(NULL, NULL);
	int r;

	voids_read(&w.voids, t->state.dir_fd);
	json_put_text(q, "author", "statetape");
	r = each_logged(t, q, see_command, &w);
	if (r < 0)
		return r;
	if (w.found)
		return read_process(c, w.found, t);
	(void)say_error("the tape has no 'statetape undo' that was not taken "
			"back; 'statetape undo N' takes back any entry");
	return -ENOENT;
}

int choice_redo(struct choice *c, uint64_t n, struct tape_reader *t)
{
	CLEANUP(json_p) cJSON *answer = NULL;
	const cJSON *author;
	int r;

	if (!n) {
		r = find_undo(c, t);
		sort(c);
		return r;
	}
	r = show(t, n, &answer);
	if (r < 0)
		return r;
	author = json_member(json_member(answer, "entry"), "author");
	if (!is_verb(author, "undo")) {
		(void)say_error("entry %" PRIu64 " was not made by 'statetape "
				"undo'; 'statetape undo %" PRIu64 "' undoes it",
				n, n);
		return -EINVAL;
	}
	r = read_process(c, author, t);
	sort(c);
	return r;
}
