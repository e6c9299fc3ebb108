/* The rows of the verbs that stand between an agent and its model. */
#include "tools/cli/verbs_i.h"

static const struct verb_option manager_options[] = {
	{ .id = OPTION_PORT,
	  .name = "port",
	  .letter = 'p',
	  .kind = OPTION_NUMBER,
	  .value = "N",
	  .text = "Listen on this port of 127.0.0.1 (any that is free if not "
		  "given, or 0)" },
	{ .id = OPTION_LISTEN_FD,
	  .name = "listen-fd",
	  .kind = OPTION_NUMBER,
	  .value = "N",
	  .text = "Listen on descriptor N instead, a socket of 127.0.0.1 that "
		  "was handed down" },
	{ .id = OPTION_UPSTREAM,
	  .name = "upstream",
	  .letter = 'u',
	  .kind = OPTION_TEXT,
	  .value = "URL",
	  .text = "Where all requests go on to, whatever API they are for" },
	{ .id = OPTION_ANTHROPIC_UPSTREAM,
	  .name = "anthropic-upstream",
	  .kind = OPTION_TEXT,
	  .value = "URL",
	  .text = "Where requests to Anthropic's API go on to" },
	{ .id = OPTION_OPENAI_UPSTREAM,
	  .name = "openai-upstream",
	  .kind = OPTION_TEXT,
	  .value = "URL",
	  .text = "Where requests to OpenAI's API, or one like it, go on to" },
	{ .id = OPTION_CHATGPT_UPSTREAM,
	  .name = "chatgpt-upstream",
	  .kind = OPTION_TEXT,
	  .value = "URL",
	  .text = "Where requests of Codex with a ChatGPT login go on to" },
	{ .id = OPTION_MODE,
	  .name = "mode",
	  .letter = 'm',
	  .kind = OPTION_TEXT,
	  .value = "MODE",
	  .text = "pinned (if not given): say at once what went stale, rewrite "
		  "when it is free or pays; eager: rewrite at once; off: look "
		  "and report, change nothing" },
	{ .id = OPTION_POLICY,
	  .name = "policy",
	  .kind = OPTION_TEXT,
	  .value = "POLICY",
	  .text = "statetape (if not given): what the tape proposes; control: "
		  "nothing, for comparison" },
	{ .id = OPTION_FORWARD,
	  .name = "forward",
	  .text = "Only pass requests on: look at none, keep nothing, need no "
		  "tape; what 'statetape run' falls back to" },
	{ 0 },
};

static const struct verb_example manager_examples[] = {
	{ "statetape manager ~/src/app",
	  "Prints where it listens, such as http://127.0.0.1:41234" },
	{ "ANTHROPIC_BASE_URL=http://127.0.0.1:41234 claude",
	  "An agent that talks through it" },
	{ 0 },
};

const struct verb row_manager = {
	.id = VERB_MANAGER,
	.name = "manager",
	.summary = "Keep what an agent holds true to the repository",
	.description =
		"Serves on this machine, for its own programs alone, what an "
		"agent takes for its model's API. Each request is passed on, "
		"its reply streamed back. Before that, what the transcript in "
		"it shows of the repository is compared with what the tape "
		"has seen since, and what has gone stale is marked, renewed "
		"or taken out. A request for which there is nothing to do, or "
		"that is not understood, goes on byte for byte; so does every "
		"request while the tape does not answer. " REPO_DEFAULT "\n"
		"\n"
		"It runs in the foreground until interrupted, prints where it "
		"listens, and is asked by 'statetape status' how it is "
		"doing. A repository may have several. An agent is pointed at "
		"it by its own setting for the "
		"API's address. The API is told by the request's headers and "
		"path; it is where the options say, else where "
		"ANTHROPIC_BASE_URL and OPENAI_BASE_URL point in the "
		"manager's own environment, else the public one. Keys and "
		"texts pass through and are neither kept nor logged.",
	.options = manager_options,
	.arguments = { REPO_OPTIONAL },
	.examples = manager_examples,
};

static const struct verb_option report_options[] = {
	OPTION_JSON_ENTRY("the answer as JSON"),
	{ 0 },
};

const struct verb row_report = {
	.id = VERB_REPORT,
	.name = "report",
	.summary = "What the manager did, and what it cost or saved",
	.description =
		"Prints how many requests went through the manager of REPO, "
		"how many tokens agents held in them, how many of those were "
		"stale, what was refreshed, dropped or asked to be run again, "
		"an estimate of the cost with and without it, cached tokens "
		"that had to be written anew, the time added, and why "
		"requests were passed on as they came. Tokens are estimated "
		"at four bytes each, costs in tokens of plain input; a record "
		"counts in every request it is part of. A running manager is "
		"asked, otherwise what it kept is read. " REPO_DEFAULT,
	.options = report_options,
	.arguments = { REPO_OPTIONAL },
};

static const struct verb_option context_options[] = {
	{ .id = OPTION_CONVERSATION,
	  .name = "conversation",
	  .letter = 'c',
	  .kind = OPTION_TEXT,
	  .value = "KEY",
	  .text = "Those whose key begins so (the newest one if not given)" },
	OPTION_JSON_ENTRY("the answer as JSON"),
	{ 0 },
};

const struct verb row_context = {
	.id = VERB_CONTEXT,
	.name = "context",
	.summary = "What an agent holds now, what of it is stale, and why",
	.description =
		"Prints each tool result of a conversation as the manager "
		"knows it: in which request it came, whether it is fresh, "
		"stale or not tracked, its kind and size, what it shows, what "
		"made it stale, and what the model was told of that or got in "
		"its place. " REPO_DEFAULT,
	.options = context_options,
	.arguments = { REPO_OPTIONAL },
};

static const struct verb_option replay_options[] = {
	{ .id = OPTION_REPO,
	  .name = "repo",
	  .kind = OPTION_TEXT,
	  .value = "DIRECTORY",
	  .text = "The repository's path in the session; files of which the "
		  "session shows only parts are taken from there as they are" },
	{ .id = OPTION_MODE,
	  .name = "mode",
	  .letter = 'm',
	  .kind = OPTION_TEXT,
	  .value = "MODE",
	  .text = "pinned (if not given), eager or off" },
	OPTION_JSON_ENTRY("the report at the end as JSON, and nothing else"),
	{ 0 },
};

static const struct verb_example replay_examples[] = {
	{ "statetape replay --repo ~/src/app session.jsonl",
	  "What would have been done, request by request" },
	{ 0 },
};

const struct verb row_replay = {
	.id = VERB_REPLAY,
	.name = "replay",
	.summary = "What the manager would have done in a recorded session",
	.description =
		"Plays a session that is over through the manager: Claude "
		"Code's JSONL, a rollout of Codex, or a directory of captured "
		"request bodies named NNN.json. What files held is taken from "
		"the session: whole files that were read, edits and writes. "
		"What other processes changed is known only where a later "
		"read shows it, and nothing is known of the code's meaning: "
		"records are judged by their lines. So it shows less than a "
		"live session would.",
	.options = replay_options,
	.arguments = { { .name = "TRANSCRIPT", .complete = COMPLETE_FILE } },
	.examples = replay_examples,
};
