#include "tools/verb/log/process.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "graph/base/cleanup.h"
#include "graph/base/json.h"
#include "tools/cli/say.h"
#include "tools/run/agent.h"

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

char *process_run(const cJSON *p)
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

struct process_name process_script(const char *line)
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

char *process_agent(const cJSON *p)
{
	const char *line = text(p, "cmdline");
	struct process_name exe = process_name(text(p, "exe"), text(p, "comm"));
	CLEANUP(free_p) char *kernels = program_of(exe.at, exe.len);
	struct process_name words[] = {
		exe,
		{ text(p, "comm"), strlen(text(p, "comm")) },
		{ line, strcspn(line, " ") },
		is_interpreter(kernels) ? process_script(line)
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

/* A shell without a script or a command: it waits for a person's lines. */
static bool is_interactive_shell(const cJSON *p)
{
	struct process_name name =
		process_name(text(p, "exe"), text(p, "comm"));
	CLEANUP(free_p) char *program = program_of(name.at, name.len);
	struct process_name w = { text(p, "cmdline"),
				  strcspn(text(p, "cmdline"), " ") };

	if (!is_shell(program))
		return false;
	for (w = next_word(w); w.len; w = next_word(w)) {
		bool is_long = w.len > 1 && w.at[1] == '-';

		if (*w.at != '-' || (!is_long && memchr(w.at, 'c', w.len)))
			return false;
	}
	return true;
}

bool process_is_session(const cJSON *p)
{
	CLEANUP(free_p) char *agent = process_agent(p);
	CLEANUP(free_p) char *run = agent ? NULL : process_run(p);

	return agent || run || strcmp(text(p, "comm"), "statetape-run") == 0 ||
	       is_interactive_shell(p);
}
