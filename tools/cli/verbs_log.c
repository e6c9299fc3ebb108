/*
 * Rows of the table: reading the tape.
 */
#include "tools/cli/verbs_i.h"

#define TAPE_ABSENT                                                    \
	"A running tape answers, after it has recorded every earlier " \
	"change; otherwise its database is read. "

#define ENTRY_ARGUMENT                                  \
	{                                               \
		.name = "N", .complete = COMPLETE_ENTRY \
	}

#define VERSION_ARGUMENT         \
	{                        \
		.name = "N:PATH" \
	}

static const struct verb_option log_options[] = {
	{ .id = OPTION_PATH,
	  .name = "path",
	  .kind = OPTION_TEXT,
	  .value = "GLOB",
	  .text = "Only entries with a path that matches, or below a directory "
		  "that does; from the current directory if that is in the "
		  "repository; * also matches slashes" },
	{ .id = OPTION_SYMBOL,
	  .complete = COMPLETE_SYMBOL,
	  .name = "symbol",
	  .kind = OPTION_TEXT,
	  .value = "NAME",
	  .text = "Only entries that changed this symbol, or its calls or "
		  "reads; the last parts of its dotted name are enough" },
	{ .id = OPTION_PID,
	  .name = "pid",
	  .kind = OPTION_NUMBER,
	  .value = "N",
	  .text = "Only entries of process N or one of its descendants" },
	{ .id = OPTION_AUTHOR,
	  .name = "author",
	  .kind = OPTION_TEXT,
	  .value = "GLOB",
	  .text = "Only entries whose command name or command line matches" },
	{ .id = OPTION_AFTER,
	  .name = "since",
	  .kind = OPTION_TEXT,
	  .value = "DATE",
	  .text = "Only entries from this time on, such as 2026-01-31, "
		  "\"2026-01-31 18:30\" or \"2 hours ago\"" },
	{ .id = OPTION_UNTIL,
	  .name = "until",
	  .kind = OPTION_TEXT,
	  .value = "DATE",
	  .text = "Only entries up to this time" },
	{ .id = OPTION_COUNT,
	  .name = "number",
	  .letter = 'n',
	  .kind = OPTION_NUMBER,
	  .value = "N",
	  .text = "Only the newest N commands; with --files and --json, "
		  "entries; with --turns, turns" },
	{ .id = OPTION_ONELINE,
	  .name = "oneline",
	  .text = "One line per command, as wide as the terminal" },
	{ .id = OPTION_STAT,
	  .name = "stat",
	  .text = "With a bar per file that shows how many lines changed" },
	{ .id = OPTION_FILES,
	  .name = "files",
	  .text = "A paragraph per entry, which is one change of one file" },
	{ .id = OPTION_TURNS,
	  .name = "turns",
	  .text = "What agents did, by conversation, turn (a prompt and what "
		  "followed) and tool call; only entries of turns" },
	{ .id = OPTION_PATCH,
	  .name = "patch",
	  .letter = 'p',
	  .text = "Print what changed as a diff, too" },
	OPTION_JSON_ENTRY("one JSON object per entry, with every field"),
	OPTION_STORE_ENTRY,
	{ 0 },
};

static const struct verb_example log_examples[] = {
	{ "statetape log -n 5 -p", "The last five commands, with diffs" },
	{ "statetape log --turns -n 3", "What the agent did in three turns" },
	{ "statetape log --symbol load_config --since '2 hours ago'",
	  "Who changed a function in the last two hours" },
	{ "statetape log --author 'sed *' --path '*.py'",
	  "What sed did to Python files" },
	{ 0 },
};

const struct verb row_log = {
	.id = VERB_LOG,
	.recorded = true,
	.lists = true,
	.name = "log",
	.summary = "Print the changes on the tape, newest first",
	.description =
		"One paragraph per command: the numbers of its entries, the "
		"command with its process and its ancestors, of an agent's the "
		"turn and the tool call, when, the files with lines added and "
		"removed, and the symbols it changed or whose calls or reads "
		"it changed. Paths are those from the current directory if "
		"that is in the repository. On a terminal a pager shows them "
		"($PAGER, else less).\n"
		"\n"
		"A command is a tool call of an agent, if the manager saw it. "
		"Else it is the process that an agent or a person's shell "
		"started, with all that this one starts itself; after it wrote "
		"nothing for ten seconds, it is a new one. Changes by unknown "
		"processes outside the mount are one command while they follow "
		"each other as fast.\n"
		"\n" TAPE_ABSENT REPO_DEFAULT,
	.options = log_options,
	.arguments = { REPO_OPTIONAL },
	.examples = log_examples,
};

static const struct verb_option show_options[] = {
	OPTION_JSON_ENTRY("the entry as a JSON object"),
	OPTION_STORE_ENTRY,
	{ 0 },
};

const struct verb row_show = {
	.id = VERB_SHOW,
	.recorded = true,
	.name = "show",
	.summary = "Print all of one entry, with its diff",
	.description = "Everything the tape knows of entry N: its author and "
		       "all ancestors, hashes of the file before and after, "
		       "lines of the journal it was made of, every symbol it "
		       "touched, and what changed as a diff.\n"
		       "\n" REPO_DEFAULT,
	.options = show_options,
	.arguments = { ENTRY_ARGUMENT, REPO_OPTIONAL },
};

static const struct verb_option blame_options[] = {
	OPTION_JSON_ENTRY("one JSON object per symbol or run of lines"),
	{ .id = OPTION_BY_LINE,
	  .name = "lines",
	  .letter = 'l',
	  .text = "Blame every line of FILE instead of its symbols" },
	OPTION_STORE_ENTRY,
	{ 0 },
};

static const struct verb_example blame_examples[] = {
	{ "statetape blame src/app.py", "Every symbol of a file" },
	{ "statetape blame app.Config.read", "One symbol" },
	{ "statetape blame -l notes.txt", "Every line of a file" },
	{ 0 },
};

const struct verb row_blame = {
	.id = VERB_BLAME,
	.recorded = true,
	.name = "blame",
	.summary = "Print which command last changed each symbol",
	.description = "For every symbol of a file, or for one symbol by its "
		       "name (its end after a dot is enough if only one on "
		       "the tape has it): its lines, the entry that last "
		       "changed its text, when, and by which command.\n"
		       "\n"
		       "With -l, for every line of a file: the entry that "
		       "wrote it and that entry's command, followed back over "
		       "renames. Lines from before the tape say so. If the "
		       "file had the same content before, as after 'git stash "
		       "pop', the lines keep the entries they had. Where an "
		       "entry's lines are not known (not text, or too large), "
		       "all lines are that entry's.\n"
		       "\n" REPO_DEFAULT,
	.options = blame_options,
	.arguments = { { .name = "FILE|SYMBOL",
			 .complete = COMPLETE_FILE_OR_SYMBOL },
		       REPO_OPTIONAL },
	.examples = blame_examples,
};

static const struct verb_option notes_options[] = {
	{ .id = OPTION_NOTES_FORMAT,
	  .complete = COMPLETE_NOTES,
	  .name = "format",
	  .kind = OPTION_TEXT,
	  .value = "FORMAT",
	  .text = "git-ai, a note of Git AI's authorship format 3.0.0 (if not "
		  "given), or agent-trace, a line of JSON by Agent Trace "
		  "0.1.0 on stdout" },
	{ .id = OPTION_PRINT,
	  .name = "print",
	  .text = "Print the note instead of writing it" },
	{ .id = OPTION_FORCE,
	  .name = "force",
	  .text = "Replace notes that another program wrote" },
	{ .id = OPTION_HOOK,
	  .name = "hook",
	  .text = "Install a post-commit hook of git's that runs this verb "
		  "after every commit" },
	{ .id = OPTION_REPO,
	  .complete = COMPLETE_REPOSITORY,
	  .name = "repo",
	  .kind = OPTION_TEXT,
	  .value = "REPO",
	  .text = "The repository, if it is not the one you are in" },
	{ 0 },
};

static const struct verb_example notes_examples[] = {
	{ "statetape notes", "Who wrote the lines of the last commit" },
	{ "statetape notes main..HEAD", "All commits of a branch" },
	{ "statetape notes --format agent-trace > trace.json",
	  "The same as JSON" },
	{ 0 },
};

const struct verb row_notes = {
	.id = VERB_NOTES,
	.recorded = true,
	.name = "notes",
	.summary = "Note who wrote the lines of a commit, for other programs",
	.description =
		"For each line that a commit added: whether an agent wrote it, "
		"and which one in which conversation, or a person. Written as "
		"a git note below refs/notes/ai, which git-ai and other "
		"readers of its format show.\n"
		"\n"
		"Lines are an agent's if the process that wrote them runs "
		"below 'statetape run -- AGENT' or below an agent we know by "
		"its name; other processes that wrote through the mount are "
		"the person who committed. Lines that were changed outside "
		"the mount, or before the tape began, are nobody's, and so are "
		"those that git brought from elsewhere; lines that came back, "
		"as by 'git stash pop', keep their author. Conversation "
		"and model are those of the entry's turn, if the manager told "
		"the tape, else \"unknown\". Of a merge, the lines count that "
		"none of "
		"its parents has.\n"
		"\n"
		"COMMIT is a commit or a range (HEAD if not given).",
	.options = notes_options,
	.arguments = { { .name = "COMMIT", .optional = true } },
	.examples = notes_examples,
};

static const struct verb_option diff_options[] = {
	{ .id = OPTION_REPO,
	  .complete = COMPLETE_REPOSITORY,
	  .name = "repo",
	  .kind = OPTION_TEXT,
	  .value = "REPO",
	  .text = "The repository, if it is not the one you are in" },
	OPTION_STORE_ENTRY,
	{ 0 },
};

static const struct verb_example diff_examples[] = {
	{ "statetape diff 40 now", "All that changed after entry 40" },
	{ "statetape diff 0 12 src", "What the first twelve did below src" },
	{ 0 },
};

const struct verb row_diff = {
	.id = VERB_DIFF,
	.recorded = true,
	.name = "diff",
	.summary = "Print how files differ between two entries",
	.description = "The files as they were after entry N and after entry "
		       "M, as a unified diff; 0 is before the first entry, "
		       "'now' is the newest. With PATH, only that file, files "
		       "below that directory, or those that match.",
	.options = diff_options,
	.arguments = { { .name = "N", .complete = COMPLETE_ENTRY },
		       { .name = "M", .complete = COMPLETE_ENTRY },
		       { .name = "PATH",
			 .optional = true,
			 .complete = COMPLETE_FILE } },
	.examples = diff_examples,
};

static const struct verb_option cat_options[] = {
	OPTION_STORE_ENTRY,
	{ 0 },
};

static const struct verb_example cat_examples[] = {
	{ "statetape cat 41:src/app.py > old.py", "A file as it was" },
	{ 0 },
};

const struct verb row_cat = {
	.id = VERB_CAT,
	.recorded = true,
	.name = "cat",
	.summary = "Print a file as it was after an entry",
	.description = "The bytes of the file at PATH, from the repository's "
		       "root, after entry N; 0 is before the first entry. "
		       "The tape keeps texts of up to 1 MiB until tape --keep "
		       "deletes them.\n"
		       "\n" REPO_DEFAULT,
	.options = cat_options,
	.arguments = { VERSION_ARGUMENT, REPO_OPTIONAL },
	.examples = cat_examples,
};

static const struct verb_option watch_options[] = {
	{ .id = OPTION_COUNT,
	  .name = "number",
	  .letter = 'n',
	  .kind = OPTION_NUMBER,
	  .value = "N",
	  .text = "Begin with the last N entries" },
	OPTION_JSON_ENTRY("one JSON object per entry, with every field"),
	{ .id = OPTION_EXEC,
	  .name = "exec",
	  .letter = 'x',
	  .kind = OPTION_TEXT,
	  .value = "CMD",
	  .text = "Run CMD with sh for each entry, one after the other, "
		  "instead of printing it" },
	{ 0 },
};

static const struct verb_example watch_examples[] = {
	{ "statetape watch", "What happens now" },
	{ "statetape watch --exec 'echo \"$1\" >>/tmp/changed'",
	  "Each changed path, whatever characters are in it" },
	{ 0 },
};

const struct verb row_watch = {
	.id = VERB_WATCH,
	.recorded = true,
	.name = "watch",
	.summary = "Print entries as they come",
	.description = "One line per entry, until interrupted. No entry is "
		       "left out and none is printed twice, even if the tape "
		       "restarts meanwhile.\n"
		       "\n"
		       "With --exec, CMD finds the path in $1 (from the "
		       "repository's root, a renamed file's former path in "
		       "$2), the entry's number and kind in $STATETAPE_ENTRY "
		       "and $STATETAPE_KIND, the repository in "
		       "$STATETAPE_REPO, and the entry as JSON on standard "
		       "input; it runs in the current directory. No path is "
		       "put into the text of CMD. Entries that CMD itself "
		       "makes run nothing.\n"
		       "\n" REPO_DEFAULT,
	.options = watch_options,
	.arguments = { REPO_OPTIONAL },
	.examples = watch_examples,
};

static const struct verb_option verify_options[] = {
	{ .id = OPTION_AGAINST,
	  .name = "against",
	  .kind = OPTION_TEXT,
	  .value = "FILE",
	  .text = "Also compare with the checkpoints in FILE (-: standard "
		  "input), such as a log to which anchors were written" },
	{ .id = OPTION_ALL,
	  .name = "all",
	  .text = "Print every finding, not the first of each kind and a "
		  "count" },
	OPTION_JSON_ENTRY("the findings as a JSON object"),
	OPTION_STORE_ENTRY,
	{ 0 },
};

static const struct verb_example verify_examples[] = {
	{ "journalctl -t statetape -o cat | statetape verify --against -",
	  "With the anchor syslog" },
	{ 0 },
};

const struct verb row_verify = {
	.id = VERB_VERIFY,
	.recorded = true,
	.name = "verify",
	.summary = "Check that the tape is as it was written",
	.description = "Checks the chain of hashes over all entries, that no "
		       "number is missing, and kept contents against their "
		       "hashes and the SHA-256 in their entries. Of each kind "
		       "of finding the first is printed, with its entry, and "
		       "a count. The exit code is 0 if all is well and 1 if "
		       "not.\n"
		       "\n"
		       "That alone does not show an end that was cut off, or "
		       "entries that were rewritten together with all that "
		       "follow them. --against does, as far as there are "
		       "checkpoints: see EVIDENCE in statetape(1).\n"
		       "\n" REPO_DEFAULT,
	.options = verify_options,
	.arguments = { REPO_OPTIONAL },
	.examples = verify_examples,
};

static const struct verb_option export_options[] = {
	{ .id = OPTION_FORMAT,
	  .complete = COMPLETE_EXPORT,
	  .name = "format",
	  .kind = OPTION_TEXT,
	  .value = "FORMAT",
	  .text = "jsonl (one JSON object per line, with every field; if not "
		  "given) or csv (one row per entry)" },
	OPTION_STORE_ENTRY,
	{ 0 },
};

static const struct verb_example export_examples[] = {
	{ "statetape export --format csv > tape.csv", "For a spreadsheet" },
	{ 0 },
};

const struct verb row_export = {
	.id = VERB_EXPORT,
	.recorded = true,
	.lists = true,
	.name = "export",
	.summary = "Print all entries for other programs, oldest first",
	.description = "Every entry of the tape on standard output.\n"
		       "\n" REPO_DEFAULT,
	.options = export_options,
	.arguments = { REPO_OPTIONAL },
	.examples = export_examples,
};
