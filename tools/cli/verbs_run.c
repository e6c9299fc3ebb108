/* Rows of the table: running an agent. */
#include "tools/cli/verbs_i.h"

static const struct verb_option run_options[] = {
	{ .id = OPTION_REPO,
	  .complete = COMPLETE_REPOSITORY,
	  .name = "repo",
	  .letter = 'r',
	  .kind = OPTION_TEXT,
	  .value = "DIR",
	  .text = "The agent's repository; the agent starts in its root unless "
		  "the current directory lies in it (if not given: the nearest "
		  "parent directory with a .git, else the current directory)" },
	{ .id = OPTION_MODE,
	  .complete = COMPLETE_MODE,
	  .name = "mode",
	  .kind = OPTION_TEXT,
	  .value = "MODE",
	  .text = "How stale records are handled: pinned (a note at once, "
		  "rewriting when it is cheap), eager (in place, at once) or "
		  "off (observe and report); pinned if not given" },
	{ .id = OPTION_POLICY,
	  .complete = COMPLETE_POLICY,
	  .name = "policy",
	  .kind = OPTION_TEXT,
	  .value = "POLICY",
	  .text = "Which policy decides: statetape, or control, which leaves "
		  "every request as it is" },
	{ .id = OPTION_MOUNT,
	  .complete = COMPLETE_MOUNT,
	  .name = "mount",
	  .kind = OPTION_TEXT,
	  .value = "WAY",
	  .text = "How the repository is mounted: private (seen by the agent "
		  "alone), visible, none, or auto, the first of these that "
		  "works and takes nothing away from the agent" },
	{ .id = OPTION_NO_MOUNT,
	  .name = "no-mount",
	  .text = "Do not mount: changes are found afterwards, without their "
		  "authors" },
	{ .id = OPTION_KEEP,
	  .name = "keep",
	  .kind = OPTION_TEXT,
	  .value = "DAYS/SIZE",
	  .text = "How much of the tape to keep, as with tape; counts if this "
		  "run is the one that starts the repository's tape" },
	{ .id = OPTION_PORT,
	  .name = "port",
	  .kind = OPTION_NUMBER,
	  .value = "N",
	  .text = "The manager's port on 127.0.0.1, for an agent whose own "
		  "configuration file names it (if not given: any free port)" },
	{ 0 },
};

static const struct verb_example run_examples[] = {
	{ "statetape run -- claude", "Claude Code, in the current repository" },
	{ "statetape run --repo ~/src/app -- codex exec 'fix the tests'",
	  "Codex, with arguments of its own" },
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
		"Before the agent starts, a trial on the repository's own "
		"files finds out whether such a mount leaves it all that it "
		"may read, write and run in the plain directory. If not, one "
		"sentence names a file that would be lost, and the next way is "
		"taken; 'statetape doctor REPO' says the same beforehand. "
		"Set-user-id programs gain no rights in an ordinary user's "
		"mount; those in the repository are named.\n"
		"\n"
		"Several agents may work on one repository: they share the "
		"mount and the tape, and each is notified of what the others "
		"wrote. If the tape or the manager dies it is restarted; until "
		"then the agent's requests are forwarded unchanged.\n"
		"\n"
		"Agents known by name: claude, codex, opencode, qwen, aider, "
		"copilot (with COPILOT_PROVIDER_BASE_URL), grok. Any other is "
		"pointed at the manager by ANTHROPIC_BASE_URL and "
		"OPENAI_BASE_URL. Requests are forwarded to the address that "
		"the agent's own settings (Claude Code's settings.json, "
		"Codex's config.toml, opencode's opencode.json), else those "
		"variables, named before; settings in the repository do not "
		"count. What cannot be overridden, so that requests bypass the "
		"manager, is said before the agent starts. Keys and logins are "
		"not changed; under a subscription login requests get notes "
		"only. pi, droid, cline and cn read the manager's address "
		"from such a file: give it a fixed --port. gemini's protocol "
		"is not understood: its writes are on the tape, its requests "
		"are not changed.\n"
		"\n"
		"The manager's address ends in a secret of this run, so other "
		"users and other programs cannot use it. An agent whose own "
		"file names the address needs one that stays: set "
		"STATETAPE_SECRET to 32 or more letters and digits of your "
		"choice, and add them to the address "
		"(http://127.0.0.1:PORT/SECRET).\n"
		"\n"
		"Defaults can be set in "
		"$XDG_CONFIG_HOME/statetape/config.toml, "
		"in .statetape.toml in the repository, or in environment "
		"variables; see CONFIGURATION in statetape(1). Options on the "
		"command line override them.\n"
		"\n"
		"The exit code is the agent's, 127 if it was not found, 126 if "
		"it could not be run, and 125 if it was not started at all. If "
		"a signal ended the agent, this program ends by the same "
		"signal, which a shell shows as 128 + N.",
	.options = run_options,
	.examples = run_examples,
	.command = true,
};

static const struct verb_option session_options[] = {
	{ .id = OPTION_MOUNT,
	  .complete = COMPLETE_MOUNT,
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

static const struct verb_option init_options[] = {
	{ .id = OPTION_UNDO,
	  .name = "undo",
	  .text = "Remove the file again, if it was not edited since" },
	{ 0 },
};

const struct verb row_init = {
	.id = VERB_INIT,
	.name = "init",
	.summary = "Write a commented configuration file for this repository",
	.description =
		"Writes .statetape.toml into the current directory, with every "
		"setting that a repository may have, each explained and none "
		"set, and prints the alias that makes StateTape the default. "
		"Nothing needs it: 'statetape run -- AGENT' works without. A "
		"file that is there already is not touched.",
	.options = init_options,
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
