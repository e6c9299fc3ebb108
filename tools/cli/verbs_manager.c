/* Rows of the table: the manager between an agent and its model. */
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
	  .text = "Listen on descriptor N instead, an inherited socket of "
		  "127.0.0.1" },
	{ .id = OPTION_HANDOVER_FD,
	  .name = "handover-fd",
	  .kind = OPTION_NUMBER,
	  .value = "N",
	  .text = "Read the secret and the upstream addresses from descriptor "
		  "N, where 'run' has written them" },
	{ .id = OPTION_UPSTREAM,
	  .name = "upstream",
	  .letter = 'u',
	  .kind = OPTION_TEXT,
	  .value = "URL",
	  .text = "Forward all requests to URL, whatever API they are for" },
	{ .id = OPTION_ANTHROPIC_UPSTREAM,
	  .name = "anthropic-upstream",
	  .kind = OPTION_TEXT,
	  .value = "URL",
	  .text = "Forward requests to Anthropic's API to URL" },
	{ .id = OPTION_OPENAI_UPSTREAM,
	  .name = "openai-upstream",
	  .kind = OPTION_TEXT,
	  .value = "URL",
	  .text = "Forward requests to OpenAI's API, or a compatible one, to "
		  "URL" },
	{ .id = OPTION_CHATGPT_UPSTREAM,
	  .name = "chatgpt-upstream",
	  .kind = OPTION_TEXT,
	  .value = "URL",
	  .text = "Forward requests of Codex with a ChatGPT login to URL" },
	{ .id = OPTION_MODE,
	  .complete = COMPLETE_MODE,
	  .name = "mode",
	  .letter = 'm',
	  .kind = OPTION_TEXT,
	  .value = "MODE",
	  .text = "pinned (if not given): append a note when a record goes "
		  "stale, rewrite it when that is free or pays; eager: rewrite "
		  "at once; off: report only, change nothing" },
	{ .id = OPTION_POLICY,
	  .complete = COMPLETE_POLICY,
	  .name = "policy",
	  .kind = OPTION_TEXT,
	  .value = "POLICY",
	  .text = "statetape (if not given): act on the tape's nominations; "
		  "rules: on trial, also evict what is true and finished "
		  "with; control: change nothing, for comparison" },
	{ .id = OPTION_NO_PROMPTS,
	  .name = "no-prompts",
	  .text = "Tell the tape no words of what the user asks for; else it "
		  "keeps the first words, for 'statetape log --turns'" },
	{ .id = OPTION_KEEP,
	  .name = "keep",
	  .kind = OPTION_TEXT,
	  .value = "DAYS/SIZE",
	  .text = "Forget conversations and requests older than DAYS, then the "
		  "oldest until the archive is at most SIZE, as with tape (if "
		  "not given: STATETAPE_KEEP, else 30/256M)" },
	{ .id = OPTION_FORWARD,
	  .name = "forward",
	  .text = "Forward every request unread, keep nothing, need no tape: "
		  "the fallback of 'statetape run'" },
	{ 0 },
};

static const struct verb_example manager_examples[] = {
	{ "statetape manager ~/src/app",
	  "Prints its address, such as http://127.0.0.1:41234/6f1d..." },
	{ "ANTHROPIC_BASE_URL=http://127.0.0.1:41234/6f1d... claude",
	  "An agent that talks through it" },
	{ 0 },
};

const struct verb row_manager = {
	.id = VERB_MANAGER,
	.name = "manager",
	.summary = "Rewrite requests to a model so that they stay true",
	.description =
		"Stands between an agent and its model's API, on 127.0.0.1. "
		"Before a request is forwarded, the parts of its transcript "
		"that show the repository are compared with the tape, and the "
		"stale ones are marked, refreshed or removed. The reply is "
		"streamed back. A request with nothing to do, or in an unknown "
		"format, is forwarded byte for byte; so is every request while "
		"the tape does not answer. " REPO_DEFAULT "\n"
		"\n"
		"It runs in the foreground until interrupted and prints its "
		"address, and how to point an agent at it; 'statetape status' "
		"shows its counters. A repository may have several.\n"
		"\n"
		"The address ends in a secret that is drawn anew for each "
		"start. Only requests that carry it and come from processes of "
		"the same user are answered; others, and those of web pages, "
		"are refused with 403 and counted. For an agent whose own "
		"file has to name the address, choose a secret of 32 to 128 "
		"letters and digits, and set STATETAPE_SECRET to it. An "
		"upstream address with a password belongs into a variable or "
		"the configuration file: on a command line every user could "
		"read it, so it is refused there.\n"
		"\n"
		"The manager recognises the API by "
		"the request's headers and path, and forwards to the address "
		"that its options name, else ANTHROPIC_BASE_URL and "
		"OPENAI_BASE_URL in its own environment, else the public one. "
		"The tape is told which process makes the requests, and its "
		"tool calls. Keys and texts are neither stored nor logged, but "
		"for the first words of prompts and the commands of calls.",
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
	.recorded = true,
	.lists = true,
	.name = "report",
	.summary = "What the manager did, and what it cost or saved",
	.description =
		"Prints how many requests went through the manager of REPO, "
		"how many tokens they held and how many of those were stale, "
		"how many records were refreshed, dropped or marked for "
		"another run, the estimated cost with and without the manager, "
		"cached tokens that had to be written again, the time added, "
		"and why requests were forwarded unchanged. Tokens are "
		"estimated at four bytes each, costs in tokens of plain input; "
		"a record counts in every request that contains it. A running "
		"manager answers, otherwise its database is "
		"read. " REPO_DEFAULT,
	.options = report_options,
	.arguments = { REPO_OPTIONAL },
};

static const struct verb_option context_options[] = {
	{ .id = OPTION_CONVERSATION,
	  .name = "conversation",
	  .letter = 'c',
	  .kind = OPTION_TEXT,
	  .value = "KEY",
	  .text = "The conversations whose key begins with KEY (the newest one "
		  "if not given)" },
	OPTION_JSON_ENTRY("the answer as JSON"),
	{ 0 },
};

const struct verb row_context = {
	.id = VERB_CONTEXT,
	.recorded = true,
	.lists = true,
	.name = "context",
	.summary = "What an agent holds now, what of it is stale, and why",
	.description =
		"Prints each tool result of a conversation: the request it "
		"arrived in, whether it is fresh, stale or not tracked, its "
		"kind and size, the file and lines it shows, what made it "
		"stale, and the note or replacement that the model "
		"got. " REPO_DEFAULT,
	.options = context_options,
	.arguments = { REPO_OPTIONAL },
};

static const struct verb_option explain_options[] = {
	{ .id = OPTION_REQUEST,
	  .name = "request",
	  .letter = 'r',
	  .kind = OPTION_NUMBER,
	  .value = "N",
	  .text = "Show request N of the conversation, as 'statetape context' "
		  "numbers them (if not given: a line for each request)" },
	{ .id = OPTION_CONVERSATION,
	  .name = "conversation",
	  .letter = 'c',
	  .kind = OPTION_TEXT,
	  .value = "KEY",
	  .text = "The newest conversation whose key begins with KEY (if not "
		  "given: the newest of all)" },
	OPTION_JSON_ENTRY("the answer as JSON"),
	{ 0 },
};

static const struct verb_example explain_examples[] = {
	{ "statetape explain", "The requests of the newest conversation" },
	{ "statetape explain --request 12",
	  "Why the 13th request was changed as it was; the first is 0" },
	{ 0 },
};

const struct verb row_explain = {
	.id = VERB_EXPLAIN,
	.recorded = true,
	.lists = true,
	.name = "explain",
	.summary = "Why a request was changed as it was",
	.description =
		"Shows a request before and after it passed through the "
		"manager of REPO: tokens received and sent, how many of them "
		"were stale, the cost with and without, estimated, and each "
		"decision: which record it is about, what became of it (a "
		"note, a replacement in place, or nothing), the reason, the "
		"bytes before and after, and the text that was put in, of "
		"which at most 8 KiB are kept. Texts decided on in earlier "
		"requests are sent again with every later one; they are "
		"counted here and shown where they were decided. Headers and "
		"keys are never kept. A running manager is asked, otherwise "
		"its archive is read, which keeps the last 100,000 "
		"requests. " REPO_DEFAULT,
	.options = explain_options,
	.arguments = { REPO_OPTIONAL },
	.examples = explain_examples,
};

static const struct verb_option replay_options[] = {
	{ .id = OPTION_LAST,
	  .name = "last",
	  .text = "The newest session of Claude Code or Codex in the current "
		  "directory" },
	{ .id = OPTION_REPO,
	  .complete = COMPLETE_REPOSITORY,
	  .name = "repo",
	  .kind = OPTION_TEXT,
	  .value = "DIRECTORY",
	  .text = "The repository's path in the session (if not given, the "
		  "one that the session names); files that the session shows "
		  "only in part are read from there" },
	{ .id = OPTION_MODE,
	  .complete = COMPLETE_MODE,
	  .name = "mode",
	  .letter = 'm',
	  .kind = OPTION_TEXT,
	  .value = "MODE",
	  .text = "pinned (if not given), eager or off" },
	OPTION_JSON_ENTRY("the report at the end as JSON, and nothing else"),
	{ 0 },
};

static const struct verb_example replay_examples[] = {
	{ "statetape replay --last",
	  "What would it have done for my last session here?" },
	{ "statetape replay --repo ~/src/app session.jsonl",
	  "The same for a session in a file" },
	{ 0 },
};

const struct verb row_replay = {
	.id = VERB_REPLAY,
	.name = "replay",
	.summary = "What the manager would have done in a recorded session",
	.description =
		"Runs a recorded session through the manager: Claude Code's "
		"JSONL, a rollout of Codex, or a directory of captured request "
		"bodies named NNN.json. File contents are taken from the "
		"session: whole files that were read, edits and writes. "
		"Changes by other processes are known only where a later read "
		"shows them, and there is no code graph: records are compared "
		"line by line. So it finds less than a live session would.",
	.options = replay_options,
	.arguments = { { .name = "SESSION",
			 .optional = true,
			 .complete = COMPLETE_FILE } },
	.examples = replay_examples,
};
