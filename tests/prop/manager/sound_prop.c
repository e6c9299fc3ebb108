/*
 * No stale record is sent unflagged (manager/README.md, Modes). Random sessions
 * through the brain, which asks the tape's own answers: reads of whole files
 * and of parts, by tools and by shells in the formats of several clients; edits
 * by the agent's tool, by its commands and by other processes; lines inserted
 * and removed; files deleted, renamed and created again; runs, parallel calls,
 * several agents on the same files, rewinds, compactions, results cleared by
 * the client, requests sent twice, a tape that does not answer or is late with
 * some questions, restarts of the manager. tests/support/truth.h judges the
 * requests sent.
 *
 * Usage: prop_manager_sound [SEED]. Prints the seed, and for each session that
 * fails its own. SOUND_SESSIONS=n plays n sessions.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "manager/decide/brain.h"
#include "manager/report/report.h"
#include "tests/prop/fs/dice.h"
#include "tests/support/talk.h"
#include "tests/support/tape_world.h"
#include "tests/support/truth.h"

#define STEPS	  40
#define TALKS	  3
#define COMMANDS  64
#define UNCHECKED "could not be checked yet"

static uint64_t seed;

/* A command's process, for READSET. */
struct process {
	uint32_t pid;
	int64_t at_ns;
	uint32_t opened; /* bits, by file */
};

struct agent {
	struct talk talk;
	char id[32];
	uint32_t requests;
	bool may_err; /* the tape did not answer: later results may have no
			 birth */
	char *sent;   /* last */
	size_t len;
};

struct scene {
	struct dice d;
	struct truth truth;
	struct tape_world tape;
	char *memory; /* the brain's directory */
	struct brain *brain;
	enum mode mode;
	struct agent agents[TALKS];
	uint32_t agents_count;
	bool away, was_away, drifting, known;
	const char *late; /* a question that is not answered in time */
	uint32_t pids, commands;
	ARRAY(struct process) processes;
	const char *wrong;
};

/* SOUND_SHOW=1 prints each step. */
__attribute__((format(printf, 1, 2))) static void tell(const char *format, ...)
{
	va_list args;

	if (!getenv("SOUND_SHOW")) /* NOLINT(concurrency-mt-unsafe) */
		return;
	va_start(args, format);
	(void)fputs("  ", stderr);
	(void)vfprintf(stderr, format, args);
	va_end(args);
}

static uint32_t roll(struct scene *s, uint32_t n)
{
	return (uint32_t)dice_below(&s->d, n);
}

/* -- The tape. */

static void add_name(cJSON *list, const char *name)
{
	(void)cJSON_AddItemToArray(list, cJSON_CreateString(name));
}

static void answer_reads(struct scene *s, const cJSON *q, cJSON *answer)
{
	cJSON *list = cJSON_AddArrayToObject(answer, "processes");
	double from = cJSON_GetNumberValue(cJSON_GetObjectItem(q, "from_ns"));
	double to = cJSON_GetNumberValue(cJSON_GetObjectItem(q, "to_ns"));

	for (uint32_t i = 0; i < s->processes.count; i++) {
		const struct process *p = &s->processes.at[i];
		cJSON *o, *opened;

		if ((double)p->at_ns < from || (double)p->at_ns > to)
			continue;
		o = cJSON_CreateObject();
		(void)cJSON_AddNumberToObject(o, "pid", p->pid);
		(void)cJSON_AddStringToObject(o, "comm", "python3");
		(void)cJSON_AddNumberToObject(o, "first_ns", (double)p->at_ns);
		opened = cJSON_AddArrayToObject(o, "opened");
		(void)cJSON_AddArrayToObject(o, "missed");
		for (uint32_t f = 0; f < TRUTH_FILES; f++)
			if (p->opened >> f & 1)
				add_name(opened, s->truth.files[f].path);
		(void)cJSON_AddItemToArray(list, o);
	}
}

static int ask(void *ctx, const char *name, const cJSON *question,
	       int timeout_ms, cJSON **ret)
{
	struct scene *s = ctx;
	cJSON *answer, *none = NULL;
	char *text;
	int rc = 0;

	(void)timeout_ms;
	if (s->away)
		return -ECONNREFUSED;
	if (s->late && strcmp(name, s->late) == 0)
		return -ETIMEDOUT;
	answer = cJSON_CreateObject();
	if (!question)
		question = none = cJSON_CreateObject();
	if (strcmp(name, "READSET") == 0)
		answer_reads(s, question, answer);
	else
		rc = answers_ask(s->tape.answers, name, question, answer);
	cJSON_Delete(none);
	/* As text and back, as over the wire. */
	text = cJSON_PrintUnformatted(answer);
	cJSON_Delete(answer);
	*ret = cJSON_Parse(text);
	free(text);
	return rc < 0 ? -EREMOTEIO : 0;
}

static void open_brain(struct scene *s)
{
	struct brain_options o = { .repo = "/repo",
				   .dir = s->memory,
				   .mode = s->mode,
				   .ask = ask,
				   .ask_ctx = s };

	assert_int_equal(brain_new(&o, &s->brain, NULL), 0);
}

/* -- Files. */

static struct journal_author agent_itself = {
	.pid = 7, .comm = "claude", .cmdline = "claude", .exe = "/bin/claude"
};

static void write_file(struct scene *s, uint32_t file,
		       const struct journal_author *author)
{
	char *text = truth_text(&s->truth, file);
	uint64_t n;

	n = tape_write(&s->tape, s->truth.files[file].path, text, author);
	tell("%u: %s is written by %s (%llu)\n", s->truth.time,
	     s->truth.files[file].path, author ? author->comm : "somebody",
	     (unsigned long long)n);
	free(text);
}

static void new_line(struct scene *s, uint32_t file, char *line, size_t size)
{
	bool code = strstr(s->truth.files[file].path, ".py") != NULL;
	uint32_t n = ++s->truth.ids;

	switch (roll(s, code ? 8 : 1)) {
	case 0:
		(void)snprintf(line, size, "# remark %u", n);
		break;
	case 1:
		(void)snprintf(line, size, "def f%u(a):", n);
		break;
	case 2:
		(void)snprintf(line, size, "LIMIT_%u = %u", n, n);
		break;
	case 3:
		(void)snprintf(line, size, "    # inner remark %u", n);
		break;
	default:
		(void)snprintf(line, size, "    x%u = helper(a, %u)", n, n);
		break;
	}
}

static void make_files(struct scene *s)
{
	static const char *const paths[TRUTH_FILES] = {
		"a.py", "pkg/b.py", "pkg/c.py", "d.md", "e.txt", "pkg/f.py"
	};
	char line[80];

	for (uint32_t f = 0; f < TRUTH_FILES; f++) {
		struct truth_file *file = &s->truth.files[f];
		uint32_t lines = 5 + roll(s, 60);
		char *text;

		(void)snprintf(file->path, sizeof(file->path), "%s", paths[f]);
		file->there = true;
		for (uint32_t i = 0; i < lines; i++) {
			new_line(s, f, line, sizeof(line));
			truth_insert(&s->truth, f, i, line, true);
		}
		text = truth_text(&s->truth, f);
		tape_base(&s->tape, file->path, text);
		free(text);
	}
}

/* `author` changes a random line. */
static void change(struct scene *s, uint32_t f,
		   const struct journal_author *author)
{
	struct truth_file *file = &s->truth.files[f];
	bool own = author != NULL;
	uint32_t n = file->lines.count;
	uint32_t times = 1 + (roll(s, 4) == 0) * roll(s, 6);
	char line[80];

	while (times-- > 0) {
		uint32_t at = n ? roll(s, n) : 0;

		new_line(s, f, line, sizeof(line));
		tell("near %s:%u (%s) comes \"%s\"\n", file->path, at + 1,
		     n ? file->lines.at[at].text : "", line);
		if (n < 4 || roll(s, 4) == 0) {
			at = roll(s, n + 1);
			tell("put in at %u of %u\n", at, n);
			truth_insert(&s->truth, f, at, line, own);
		} else if (roll(s, 4) == 0) {
			tell("taken out\n");
			truth_take(&s->truth, f, at, own);
		} else {
			truth_put(&s->truth, f, at, line, own);
		}
		n = file->lines.count;
	}
	write_file(s, f, author);
}

static void outside(struct scene *s)
{
	uint32_t f = roll(s, TRUTH_FILES);
	struct truth_file *file = &s->truth.files[f];
	char moved[48];

	(void)snprintf(moved, sizeof(moved), "%s.moved", file->path);
	if (!file->there && roll(s, 2)) {
		truth_restore(&s->truth, f);
		write_file(s, f, NULL);
	} else if (file->there && roll(s, 12) == 0) {
		truth_remove(&s->truth, f);
		tell("%u: %s is deleted\n", s->truth.time, file->path);
		(void)tape_write(&s->tape, file->path, NULL, NULL);
	} else if (file->there && roll(s, 12) == 0) {
		truth_remove(&s->truth, f);
		tell("%u: %s is renamed\n", s->truth.time, file->path);
		(void)tape_rename(&s->tape, file->path, moved, &agent_itself);
	} else if (file->there && roll(s, 8) == 0 && file->lines.count) {
		/* A change that is taken back. */
		char *was = strdup(file->lines.at[0].text);

		truth_put(&s->truth, f, 0, "# for a moment", false);
		write_file(s, f, NULL);
		truth_put(&s->truth, f, 0, was, false);
		write_file(s, f, NULL);
		free(was);
	} else if (file->there) {
		change(s, f, NULL);
	}
}

/* -- Calls. */

static const char *const codex_head =
	"Chunk ID: 0a1\nWall time: 0.0100 seconds\nProcess exited with code "
	"0\nOriginal token count: 99\nOutput:\n";

static void saw(struct scene *s, struct agent *a, const char *id, uint32_t f,
		struct truth_span span)
{
	tell("%u: %s shows %s %u-%u\n", s->truth.time, id,
	     s->truth.files[f].path, span.first + 1, span.last);
	truth_read(&s->truth, &a->talk, id, f, span, NULL);
}

static struct truth_span any_span(struct scene *s, uint32_t lines)
{
	uint32_t first = roll(s, lines);

	return (struct truth_span){ first, first + 1 + roll(s, lines - first),
				    false };
}

/* By a reading tool. */
static void read_tool(struct scene *s, struct agent *a, uint32_t f)
{
	const struct truth_file *file = &s->truth.files[f];
	uint32_t n = file->lines.count;
	struct truth_span span = { 0, n, true };
	char arguments[256], end[64] = "";
	char *text;

	(void)snprintf(arguments, sizeof(arguments),
		       "{\"file_path\":\"/repo/%s\"}", file->path);
	if (roll(s, 2)) {
		span = any_span(s, n);
		(void)snprintf(arguments, sizeof(arguments),
			       "{\"file_path\":\"/repo/%s\",\"offset\":%u,"
			       "\"limit\":%u}",
			       file->path, span.first + 1,
			       span.last - span.first);
	} else {
		(void)snprintf(end, sizeof(end), "\n%u\t", n + 1);
	}
	if (roll(s, 6) == 0)
		(void)snprintf(end + strlen(end), sizeof(end) - strlen(end),
			       "\n\n<system-reminder>\nx\n</system-reminder>");
	text = truth_show(file, span, "\t", end);
	saw(s, a, talk_call(&a->talk, "Read", arguments, "", text), f, span);
	free(text);
}

static const char *command_json(struct scene *s, const char *command)
{
	static char out[512];

	(void)s;
	(void)snprintf(out, sizeof(out), "{\"command\":\"%s\"}", command);
	return out;
}

static void began(struct scene *s, uint32_t opened)
{
	struct process *p = array_add(&s->processes);

	p->pid = ++s->pids;
	s->tape.now_ns += 1000000;
	p->at_ns = s->tape.now_ns;
	p->opened = opened;
	s->tape.now_ns += 1000000;
}

/* By a random shell command. */
static void read_shell(struct scene *s, struct agent *a, uint32_t f)
{
	const struct truth_file *file = &s->truth.files[f];
	bool codex = a->talk.dialect == DIALECT_RESPONSES;
	uint32_t n = file->lines.count;
	struct truth_span span = { 0, n, true };
	const char *format = "", *end = codex ? "\n" : "";
	char command[256];
	char *text;

	switch (roll(s, 5)) {
	case 0:
		(void)snprintf(command, sizeof(command), "cat %s", file->path);
		break;
	case 1:
		(void)snprintf(command, sizeof(command), "cat -n %s",
			       file->path);
		format = "cat -n";
		break;
	case 2:
		span = any_span(s, n);
		(void)snprintf(command, sizeof(command), "sed -n '%u,%up' %s",
			       span.first + 1, span.last, file->path);
		break;
	case 3:
		span = (struct truth_span){ 0, 1 + roll(s, n), false };
		(void)snprintf(command, sizeof(command), "head -n %u %s",
			       span.last, file->path);
		break;
	default:
		(void)snprintf(command, sizeof(command), "cd /repo && cat %s",
			       file->path);
		break;
	}
	began(s, 1u << f);
	text = truth_show(file, span, format, end);
	saw(s, a,
	    talk_call(&a->talk, "Bash", command_json(s, command),
		      codex ? codex_head : "", text),
	    f, span);
	free(text);
}

/* By a program whose command line names no file. */
static void read_blind(struct scene *s, struct agent *a, uint32_t f)
{
	const struct truth_file *file = &s->truth.files[f];
	struct truth_span span = { 0, file->lines.count, true };
	char *text = truth_show(file, span, "", "\n");
	char program[128];
	const char *id;

	(void)snprintf(program, sizeof(program),
		       "show(await tools.exec_command({cmd: `cat ${p[%u]}`}))",
		       s->commands++);
	began(s, 1u << f);
	id = talk_call(&a->talk, "exec", program,
		       "Script completed\nWall time 0.1 seconds\nOutput:\n",
		       text);
	tell("%u: %s shows %s\n", s->truth.time, id, file->path);
	truth_read(&s->truth, &a->talk, id, f, span, program);
	free(text);
}

static void read_any(struct scene *s, struct agent *a)
{
	uint32_t f = roll(s, TRUTH_FILES);

	if (!s->truth.files[f].there || !s->truth.files[f].lines.count)
		return;
	if (a->talk.dialect == DIALECT_RESPONSES && roll(s, 3) == 0)
		read_blind(s, a, f);
	else if (a->talk.dialect == DIALECT_RESPONSES || roll(s, 3) == 0)
		read_shell(s, a, f);
	else
		read_tool(s, a, f);
}

static void edit(struct scene *s, struct agent *a)
{
	uint32_t f = roll(s, TRUTH_FILES);
	const char *path = s->truth.files[f].path;
	uint32_t from = s->truth.time;
	char arguments[256];

	if (!s->truth.files[f].there || !s->drifting)
		return;
	if (roll(s, 3) == 0) {
		struct journal_author sed = { .pid = s->pids + 1,
					      .comm = "sed",
					      .cmdline = "sed -i s/x/y/",
					      .exe = "/bin/sed",
					      .parent = &agent_itself };

		(void)snprintf(arguments, sizeof(arguments),
			       "{\"command\":\"sed -i s/x/y/ %s\"}", path);
		began(s, 1u << f);
		change(s, f, &sed);
		(void)talk_call(&a->talk, "Bash", arguments, "",
				"(Bash completed with no output)");
		return;
	}
	(void)snprintf(arguments, sizeof(arguments),
		       "{\"file_path\":\"/repo/%s\",\"old_string\":\"a\","
		       "\"new_string\":\"b\"}",
		       path);
	change(s, f, &agent_itself);
	truth_edited(&s->truth,
		     talk_call(&a->talk, "Edit", arguments, "",
			       "The file has been updated successfully."),
		     f, from);
}

static void run(struct scene *s, struct agent *a)
{
	uint32_t opened = roll(s, 1u << TRUTH_FILES);
	char command[64];

	(void)snprintf(command, sizeof(command), "pytest -q tests/t%u.py",
		       s->commands++);
	began(s, opened);
	tell("%u: a run of %x\n", s->truth.time, opened);
	truth_run(&s->truth, &a->talk,
		  talk_call(&a->talk, "Bash", command_json(s, command), "",
			    "..........                               [100%]\n"
			    "10 passed in 0.01s"),
		  command, opened);
}

static void turn(struct scene *s, struct agent *a)
{
	uint32_t calls = 1 + (roll(s, 4) == 0) * roll(s, 4);

	talk_turn(&a->talk, roll(s, 2), roll(s, 8) == 0);
	while (calls-- > 0)
		switch (roll(s, 6)) {
		case 0:
			edit(s, a);
			break;
		case 1:
			run(s, a);
			break;
		case 2:
			(void)talk_call(&a->talk, "Bash",
					command_json(s, "git status --short"),
					"", " M a.py");
			break;
		default:
			read_any(s, a);
			break;
		}
	if (!array_last(&a->talk.turns)->calls.count)
		talk_rewind(&a->talk, a->talk.turns.count - 1);
}

/* -- What clients do to a talk. */

static void forget_turns(struct scene *s, struct agent *a, uint32_t from)
{
	for (uint32_t i = from; i < a->talk.turns.count; i++)
		for (uint32_t k = 0; k < a->talk.turns.at[i].calls.count; k++)
			truth_forget(&s->truth,
				     a->talk.turns.at[i].calls.at[k].id);
}

static void rewind_talk(struct scene *s, struct agent *a)
{
	uint32_t to = 1 + roll(s, a->talk.turns.count);

	tell("%s: back to %u\n", a->id, to);
	forget_turns(s, a, to);
	talk_rewind(&a->talk, to);
	talk_user(&a->talk, "Otherwise, please.");
}

static void compact(struct scene *s, struct agent *a)
{
	forget_turns(s, a, 0);
	talk_rewind(&a->talk, 0);
	talk_user(&a->talk, "This is what was said so far: nothing much.");
}

/* The client clears the text of an old result. */
static void clear(struct scene *s, struct agent *a)
{
	uint32_t at = roll(s, a->talk.turns.count);
	struct talk_turn *t = &a->talk.turns.at[at];

	if (!t->calls.count)
		return;
	truth_forget(&s->truth, t->calls.at[0].id);
	free(t->calls.at[0].result);
	t->calls.at[0].result = strdup("[Old tool result content cleared]");
}

/* -- A request. */

static void keep_sent(struct agent *a, const char *bytes, size_t len)
{
	free(a->sent);
	a->sent = malloc(len + 1);
	memcpy(a->sent, bytes, len);
	a->sent[len] = '\0';
	a->len = len;
	tell("sent: %s\n", a->sent);
}

static void send_request(struct scene *s, struct agent *a, bool again)
{
	static const char *const targets[DIALECTS] = { "/v1/messages?beta=true",
						       "/v1/responses",
						       "/v1/chat/completions" };
	struct header headers[] = { { "x-session-id", a->id } };
	struct request r = { .method = "POST",
			     .target = targets[a->talk.dialect],
			     .headers = headers,
			     .headers_count = 1,
			     .deadline_ns = INT64_MAX };
	struct turn *turn;
	size_t len = 0, body_len;
	char *body = talk_body(&a->talk, &body_len);
	const char *sent, *wrong;

	s->was_away |= s->away || s->late;
	tell("%u: %s: request %u%s%s\n", s->truth.time, a->id, a->requests,
	     again ? ", again" : "", s->away ? ", no tape" : "");
	s->tape.now_ns += 10000000;
	r.body = body;
	r.len = body_len;
	r.at_ns = s->tape.now_ns;
	sent = brain_think(s->brain, &r, &len, &turn);
	if (!sent)
		len = body_len;
	/* After a restart more is asked, which may be what is late. */
	if (again && !s->late &&
	    (a->len != len || memcmp(a->sent, sent ? sent : body, len) != 0))
		s->wrong = "the same request was sent otherwise";
	keep_sent(a, sent ? sent : body, len);
	/* Some know the agent's process. */
	if (s->known && turn_wants_agent(turn))
		turn_agent(turn, agent_itself.pid, 1);
	turn_end(turn, true);
	/* More than the real time it took, which is added too. */
	s->tape.now_ns += INT64_C(10000000000);
	if (!truth_same_frame(a->talk.dialect, body, body_len, a->sent, a->len))
		s->wrong = "more than texts of results was changed";
	if (!s->drifting && !s->was_away && (len != body_len || sent))
		s->wrong = "nothing drifted, and something was changed";
	wrong = truth_judge(&s->truth, &a->talk, a->requests, a->sent, a->len);
	/* Without a tape one line stands for all that is not known. */
	if (!s->wrong && !((s->away || s->late) && strstr(a->sent, UNCHECKED)))
		s->wrong = wrong;
	a->requests++;
	free(body);
}

static void step(struct scene *s)
{
	static const char *const asks[] = { "SYNC", "SOURCE", "NOMINATE" };
	struct agent *a = &s->agents[roll(s, s->agents_count)];
	bool restarted = roll(s, 10) == 0;

	if (s->drifting && roll(s, 3) == 0)
		outside(s);
	if (roll(s, 12) == 0)
		talk_user(&a->talk, "Go on, please.");
	else
		turn(s, a);
	if (roll(s, 40) == 0)
		compact(s, a);
	if (roll(s, 15) == 0)
		rewind_talk(s, a);
	if (s->drifting && roll(s, 20) == 0)
		clear(s, a);
	if (roll(s, 15) == 0)
		s->tape.now_ns += INT64_C(3600000000000);
	if (roll(s, 30) == 0)
		s->away = !s->away;
	else if (roll(s, 3) == 0)
		s->away = false;
	s->late = roll(s, 12) ? NULL : asks[roll(s, 3)];
	if (s->drifting && roll(s, 4) == 0)
		outside(s);
	if (restarted) {
		tell("the manager is restarted\n");
		brain_free(s->brain);
		open_brain(s);
	}
	send_request(s, a, false);
	if (!s->wrong && roll(s, 5) == 0) {
		if (roll(s, 2)) {
			tell("the manager is restarted\n");
			brain_free(s->brain);
			open_brain(s);
		}
		send_request(s, a, true);
	}
}

/* The manager's own view, for a failure. */
static void tell_context(struct scene *s)
{
	cJSON *answer = cJSON_CreateObject();
	char *text;

	(void)report_answer(s->brain, "CONTEXT", NULL, answer);
	text = cJSON_PrintUnformatted(answer);
	tell("context: %s\n", text);
	free(text);
	cJSON_Delete(answer);
}

static const char *play(uint64_t from, enum mode mode, bool drifting)
{
	struct scene s = { .d = { from },
			   .mode = mode,
			   .drifting = drifting,
			   .known = from % 2 };
	const char *wrong;

	s.memory = scratch_new();
	s.pids = 1000;
	tape_world_init(&s.tape);
	make_files(&s);
	open_brain(&s);
	s.agents_count = 1 + roll(&s, TALKS);
	for (uint32_t i = 0; i < s.agents_count; i++) {
		struct agent *a = &s.agents[i];

		(void)snprintf(a->id, sizeof(a->id), "agent%u", i);
		a->talk.id = a->id;
		a->talk.dialect = (enum dialect)roll(&s, DIALECTS);
		talk_user(&a->talk, "Please do it.");
		send_request(&s, a, false);
	}
	for (uint32_t i = 0; i < STEPS && !s.wrong; i++)
		step(&s);
	wrong = s.wrong;
	if (wrong)
		(void)fprintf(stderr, "%s\n", s.truth.about);
	if (wrong)
		tell_context(&s);
	for (uint32_t i = 0; i < s.agents_count; i++) {
		talk_release(&s.agents[i].talk);
		free(s.agents[i].sent);
	}
	brain_free(s.brain);
	array_release(&s.processes);
	truth_release(&s.truth);
	tape_world_release(&s.tape);
	scratch_free(s.memory);
	return wrong;
}

static void play_all(enum mode mode, bool drifting, uint64_t sessions)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
	const char *more = getenv("SOUND_SESSIONS");

	if (more)
		sessions = strtoull(more, NULL, 10);
	for (uint64_t i = 0; i < sessions; i++) {
		const char *wrong = play(seed + i, mode, drifting);

		if (wrong)
			fail_msg("session %" PRIu64 ", %s: %s", seed + i,
				 mode_names[mode], wrong);
	}
}

static void nothing_stale_is_sent_unflagged_in_pinned(void **state)
{
	(void)state;
	play_all(MODE_PINNED, true, 30);
}

static void nothing_stale_is_sent_unflagged_in_eager(void **state)
{
	(void)state;
	play_all(MODE_EAGER, true, 30);
}

/*
 * A rewind after a request without the tape: some commands are unknown. A text
 * that the client cleared, nominated again after a restart.
 */
static void sessions_that_once_went_wrong_go_right(void **state)
{
	static const uint64_t sessions[] = { 1794926144, 1795000769 };

	(void)state;
	for (size_t i = 0; i < sizeof(sessions) / sizeof(*sessions); i++) {
		assert_null(play(sessions[i], MODE_PINNED, true));
		assert_null(play(sessions[i], MODE_EAGER, true));
	}
}

static void without_drift_what_is_sent_is_what_was_received(void **state)
{
	(void)state;
	play_all(MODE_PINNED, false, 10);
	play_all(MODE_EAGER, false, 10);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			without_drift_what_is_sent_is_what_was_received),
		cmocka_unit_test(nothing_stale_is_sent_unflagged_in_pinned),
		cmocka_unit_test(nothing_stale_is_sent_unflagged_in_eager),
		cmocka_unit_test(sessions_that_once_went_wrong_go_right),
	};

	seed = argc > 1 ? strtoull(argv[1], NULL, 10) : (uint64_t)time(NULL);
	(void)printf("seed %llu\n", (unsigned long long)seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
