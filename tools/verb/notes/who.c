#include "tools/verb/notes/who.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/base/json.h"
#include "manager/decide/archive.h"
#include "tape/journal/name.h"
#include "tools/cli/say.h"
#include "tools/run/agent.h"

void who_release(struct who *w)
{
	free(w->tool);
	free(w->id);
	free(w->model);
	*w = (struct who){ 0 };
}

static const char *text(const cJSON *p, const char *name)
{
	return json_string_or(p, name, "");
}

/* The base name of a word, without the ending of a script (free it). */
static char *program_of(const char *word, size_t len)
{
	static const char *const endings[] = { ".js", ".mjs", ".cjs", ".py" };
	struct process_name base = process_base(word, len);
	char *name = format_text("%.*s", (int)base.len, base.at);

	for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++) {
		size_t tail = strlen(endings[i]), all = strlen(name);

		if (all > tail && strcmp(name + all - tail, endings[i]) == 0)
			name[all - tail] = '\0';
	}
	return name;
}

/* A program that people work in, or that runs another. */
static bool is_shell(const char *program)
{
	static const char *const shells[] = { "sh",   "bash", "dash", "zsh",
					      "fish", "ksh",  "tmux", "screen",
					      "env",  "sudo", "su" };

	for (size_t i = 0; i < sizeof(shells) / sizeof(*shells); i++)
		if (strcmp(program, shells[i]) == 0)
			return true;
	return false;
}

/* The agent that `statetape run` started (free it); NULL: not such a process.
 */
static char *started_agent(const cJSON *p)
{
	struct process_name name =
		process_name(text(p, "exe"), text(p, "comm"));
	const char *line = text(p, "cmdline"), *at = strstr(line, " -- ");
	char *program;

	if (name.len != strlen("statetape") ||
	    memcmp(name.at, "statetape", name.len) != 0 ||
	    strcmp(text(p, "comm"), "statetape-run") != 0 || !at)
		return NULL;
	at += strlen(" -- ");
	program = program_of(at, strcspn(at, " "));
	if (!is_shell(program) && *program)
		return program;
	free(program);
	return NULL;
}

/* A program whose own program is a file that its command line names. */
static bool is_interpreter(const char *program)
{
	static const char *const names[] = { "node", "nodejs", "bun", "deno",
					     "python" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		size_t len = strlen(names[i]);

		if (strncmp(program, names[i], len) == 0 &&
		    !program[len + strspn(program + len, "0123456789.")])
			return true;
	}
	return false;
}

static struct process_name next_word(struct process_name w)
{
	const char *at = w.at + w.len + strspn(w.at + w.len, " ");

	return (struct process_name){ at, strcspn(at, " ") };
}

/* The first word behind the options: an interpreter's script; "": none. */
static struct process_name script_of(const char *line)
{
	struct process_name w = { line, strcspn(line, " ") };

	do {
		bool has_value = w.len == 2 && strncasecmp(w.at, "-c", 2) == 0;

		w = next_word(w);
		if (has_value)
			w = next_word(w);
	} while (*w.at == '-');
	return w;
}

/*
 * The agent that a process is (free it); NULL: none. Of its command line the
 * first word counts, which a process can set, and the script of an interpreter.
 */
static char *known_agent(const cJSON *p)
{
	const char *line = text(p, "cmdline");
	struct process_name exe = process_name(text(p, "exe"), text(p, "comm"));
	CLEANUP(free_p) char *kernels = program_of(exe.at, exe.len);
	struct process_name words[] = {
		exe,
		{ text(p, "comm"), strlen(text(p, "comm")) },
		{ line, strcspn(line, " ") },
		is_interpreter(kernels) ? script_of(line)
					: (struct process_name){ "", 0 },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		char *program = program_of(words[i].at, words[i].len);

		if (agent_is_known(program))
			return program;
		free(program);
	}
	return NULL;
}

/*
 * Is this git, and does it bring lines from elsewhere? A patch that it applies
 * was written by whoever runs it.
 */
static bool is_git_bringing(const cJSON *p)
{
	struct process_name name =
		process_name(text(p, "exe"), text(p, "comm"));
	struct process_name command = script_of(text(p, "cmdline"));

	return name.len == strlen("git") && memcmp(name.at, "git", 3) == 0 &&
	       !(command.len == strlen("apply") &&
		 memcmp(command.at, "apply", command.len) == 0);
}

/* The agent nearest to a process among itself and its ancestors. */
struct who_agent {
	char *tool; /* NULL: none */
	uint64_t pid;
};

static struct who_agent find_agent(const cJSON *author)
{
	struct who_agent found = { .tool = known_agent(author),
				   .pid = json_number(author, "pid", 0) };
	uint64_t below = found.pid;
	const cJSON *p;

	cJSON_ArrayForEach (p, json_member(author, "ancestors")) {
		if (found.tool)
			break;
		found = (struct who_agent){ known_agent(p),
					    json_number(p, "pid", 0) };
		/* `run` is not the agent, but the process below it is. */
		if (!found.tool)
			found = (struct who_agent){ started_agent(p), below };
		below = json_number(p, "pid", 0);
	}
	return found;
}

/* The conversation of an agent at a time. */
struct who_talk {
	const char *tool;
	size_t count;
	char *key, *model;
};

static void visit_talk(void *ctx, const struct archive_talk *t)
{
	struct who_talk *w = ctx;
	size_t len = strlen(w->tool);

	/* "claude-code/2.1" is claude's. */
	if (strncmp(t->client, w->tool, len) != 0 || w->count++)
		return;
	w->key = must_have(strdup(t->key));
	w->model = must_have(strdup(t->model));
}

static void name_conversation(struct who *w, struct archive *archive,
			      int64_t at_ns)
{
	struct who_talk talk = { .tool = w->tool };

	if (archive)
		(void)archive_talks(archive, at_ns, visit_talk, &talk);
	if (talk.count == 1) {
		free(w->id);
		w->id = talk.key;
		w->model = talk.model;
		return;
	}
	free(talk.key);
	free(talk.model);
	w->model = must_have(strdup("unknown"));
}

static struct who who_of(const cJSON *author, int64_t at_ns,
			 struct archive *archive)
{
	struct who w = { .kind = WHO_UNKNOWN };
	struct who_agent agent;

	if (strcmp(text(author, "origin"), "mount") != 0 ||
	    !json_member(author, "pid") || is_git_bringing(author))
		return w;
	w.kind = WHO_PERSON;
	agent = find_agent(author);
	if (!agent.tool)
		return w;
	w.kind = WHO_AGENT;
	w.tool = agent.tool;
	w.id = format_text("process-%" PRIu64, agent.pid);
	name_conversation(&w, archive, at_ns);
	return w;
}

bool who_is_same(const struct who *a, const struct who *b)
{
	if (a->kind != b->kind || !a->tool || !b->tool)
		return a->kind == b->kind;
	return strcmp(a->tool, b->tool) == 0 && strcmp(a->id, b->id) == 0;
}

void who_init(struct who *w, const cJSON *entry, struct archive *archive)
{
	int64_t at_ns = (int64_t)json_number(entry, "at_ns", 0);
	const cJSON *author;

	*w = who_of(json_member(entry, "author"), at_ns, archive);
	cJSON_ArrayForEach (author, json_member(entry, "authors")) {
		CLEANUP(who_release)
		struct who other = who_of(author, at_ns, archive);

		if (who_is_same(w, &other))
			continue;
		who_release(w);
		w->kind = WHO_SEVERAL;
		return;
	}
}
