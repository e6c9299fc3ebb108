/*
 * Rows of the table: an agent with everything around it.
 */
#include "tools/cli/verbs_i.h"

static const struct verb_option run_options[] = {
	{ .id = OPTION_REPO,
	  .name = "repo",
	  .letter = 'r',
	  .kind = OPTION_TEXT,
	  .value = "DIR",
	  .text = "The repository the agent works in, started there unless the "
		  "current directory is a part of it (if not given: the "
		  "nearest directory upwards with a .git, else the current "
		  "one)" },
	{ .id = OPTION_MODE,
	  .name = "mode",
	  .kind = OPTION_TEXT,
	  .value = "MODE",
	  .text = "How stale records are dealt with: pinned (a note at once, "
		  "rewriting when it is cheap), eager (in place, at once) or "
		  "off (observe and report); pinned if not given" },
	{ .id = OPTION_POLICY,
	  .name = "policy",
	  .kind = OPTION_TEXT,
	  .value = "POLICY",
	  .text = "Who decides: statetape, or control, which leaves every "
		  "request as it is" },
	{ .id = OPTION_MOUNT,
	  .name = "mount",
	  .kind = OPTION_TEXT,
	  .value = "WAY",
	  .text = "How the repository is mounted: private (seen by the agent "
		  "alone), visible, none, or auto, the first of these that "
		  "works" },
	{ .id = OPTION_NO_MOUNT,
	  .name = "no-mount",
	  .text = "Do not mount: changes are noticed after the fact, and not "
		  "who makes them" },
	{ .id = OPTION_PORT,
	  .name = "port",
	  .kind = OPTION_NUMBER,
	  .value = "N",
	  .text = "The manager's port on 127.0.0.1, for an agent that reads it "
		  "from a file of its own (if not given: any that is free)" },
	{ 0 },
};

static const struct verb_example run_examples[] = {
	{ "statetape run -- claude", "Claude Code, in the current repository" },
	{ "statetape run --repo ~/src/app -- codex exec 'fix the tests'",
	  "Codex, with its own words" },
	{ "statetape run --mode off -- aider",
	  "Watch and report, and change nothing" },
	{ 0 },
};

const struct verb row_run = {
	.id = VERB_RUN,
	.name = "run",
	.summary = "Run an agent with its context kept true",
	.description =
		"Mounts the repository in a namespace that the agent alone "
		"sees, starts the tape and a manager, waits until the code "
		"graph is ready, points the agent at the manager, and runs it "
		"with its terminal, signals and exit code intact. Afterwards "
		"everything is stopped and unmounted, and a short report "
		"says what was done. Nothing is written into the repository.\n"
		"\n"
		"Several agents may work on one repository: they share the "
		"mount and the tape, and each hears of what the others wrote. "
		"If the tape or the manager dies it is started again, and the "
		"agent goes on meanwhile with its requests as they are.\n"
		"\n"
		"Agents known by name: claude, codex, opencode, qwen, aider, "
		"copilot (with COPILOT_PROVIDER_BASE_URL), grok. Any other is "
		"pointed at the manager by ANTHROPIC_BASE_URL and "
		"OPENAI_BASE_URL. Requests go on to where those variables, or "
		"the agent's own, led before; an address that stands in a "
		"file of the agent's is not seen, and belongs into "
		"CONFIGURATION as upstream. Keys and logins stay as they are. "
		"For pi, droid, cline and cn, which read the manager's address "
		"from such a file, there is --port. gemini's protocol is not "
		"followed: what it writes is on the tape, its requests stay as "
		"they are.\n"
		"\n"
		"What is wanted every time can be put into "
		"$XDG_CONFIG_HOME/statetape/config.toml, or .statetape.toml in "
		"the repository, or into variables; see CONFIGURATION in "
		"statetape(1). Options stand above all.\n"
		"\n"
		"The exit code is the agent's, 127 if it was not found, 126 if "
		"it could not be run, and 125 if it never came to that. If a "
		"signal ended the agent, the same ends this program, which a "
		"shell shows as 128 + N.",
	.options = run_options,
	.examples = run_examples,
	.command = true,
};

static const struct verb_option session_options[] = {
	{ .id = OPTION_MOUNT,
	  .name = "mount",
	  .kind = OPTION_TEXT,
	  .value = "WAY",
	  .text = "As with run" },
	{ .id = OPTION_INSIDE,
	  .name = "inside",
	  .text = "The repository has been mounted already" },
	{ .id = OPTION_RUN_FD,
	  .name = "run-fd",
	  .kind = OPTION_NUMBER,
	  .value = "N",
	  .text = "The connection to the run that started it" },
	{ .id = OPTION_LOCK_FD,
	  .name = "lock-fd",
	  .kind = OPTION_NUMBER,
	  .value = "N",
	  .text = "A lock to hold until the end" },
	{ 0 },
};

const struct verb row_session = {
	.id = VERB_SESSION,
	.name = "session",
	.summary = "What all runs on a repository share",
	.description = "Mounts a repository and keeps its tape until the last "
		       "run on it has ended. Started by run.",
	.options = session_options,
	.arguments = { REPO_REQUIRED },
	.hidden = true,
};

const struct verb row_part = {
	.id = VERB_PART,
	.name = "part",
	.summary = "One end of the demonstration",
	.description = "Plays the model or the agent of demo. Started by it.",
	.options = no_options,
	.arguments = { { .name = "PART" } },
	.hidden = true,
};
