/*
 * Rows of the table: taking changes back.
 */
#include "tools/cli/verbs_i.h"

#define WHERE_WRITTEN                                                        \
	"It is written through the mount, also through one that only a run " \
	"sees, and so is on the tape itself. Where nothing is mounted, the " \
	"directory is written, and the tape shows the change as one from "   \
	"outside."

#define OPTION_YES_ENTRY                               \
	{                                              \
		.id = OPTION_YES, .name = "yes",       \
		.text = "Do it, instead of showing it" \
	}

#define OPTION_OURS_ENTRY                                              \
	{                                                              \
		.id = OPTION_OURS, .name = "ours",                     \
		.text = "Where it conflicts with later changes, keep " \
			"these"                                        \
	}

#define OPTION_THEIRS_ENTRY                                                 \
	{                                                                   \
		.id = OPTION_THEIRS, .name = "theirs",                      \
		.text = "Where it conflicts with later changes, take what " \
			"was before the entries"                            \
	}

#define OPTION_REPO_ENTRY                                                 \
	{                                                                 \
		.id = OPTION_REPO, .complete = COMPLETE_REPOSITORY,       \
		.name = "repo", .kind = OPTION_TEXT, .value = "REPO",     \
		.text = "The repository, if it is not the one you are in" \
	}

static const struct verb_option undo_options[] = {
	{ .id = OPTION_COMMAND,
	  .complete = COMPLETE_ENTRY,
	  .name = "command",
	  .kind = OPTION_NUMBER,
	  .value = "N",
	  .text = "All entries of the command that made entry N: of its "
		  "process and of those below it" },
	{ .id = OPTION_TURN,
	  .name = "turn",
	  .kind = OPTION_NUMBER,
	  .value = "K",
	  .text = "All entries of an agent's turn, by the number that 'log "
		  "--turns' shows" },
	{ .id = OPTION_CONVERSATION,
	  .name = "conversation",
	  .kind = OPTION_TEXT,
	  .value = "C",
	  .text = "All entries of a conversation, or of its turn K; the "
		  "beginning of its name is enough" },
	{ .id = OPTION_AFTER,
	  .name = "since",
	  .kind = OPTION_TEXT,
	  .value = "WHEN",
	  .text = "All entries from this time on, such as \"20 minutes ago\"" },
	{ .id = OPTION_AUTHOR,
	  .name = "author",
	  .kind = OPTION_TEXT,
	  .value = "GLOB",
	  .text = "All entries whose command name or command line matches; "
		  "with --since, those from that time on" },
	OPTION_YES_ENTRY,
	OPTION_OURS_ENTRY,
	OPTION_THEIRS_ENTRY,
	OPTION_REPO_ENTRY,
	{ 0 },
};

static const struct verb_example undo_examples[] = {
	{ "statetape undo 41", "Show what taking back entry 41 would change" },
	{ "statetape undo 41 --yes", "Take it back" },
	{ "statetape undo --command 41 --yes src",
	  "Take back what that command did below src" },
	{ "statetape undo --since '10 minutes ago' --author 'sed *'",
	  "What sed did in the last ten minutes" },
	{ 0 },
};

const struct verb row_undo = {
	.id = VERB_UNDO,
	.recorded = true,
	.name = "undo",
	.summary = "Take back what entries did, and keep what others did since",
	.description =
		"Makes files what they would be if the chosen entries had not "
		"happened: contents, new and removed files, renames, modes "
		"and symbolic links. Choose entry N, entries N..M ('now' is "
		"the newest), or entries by one of the options; with PATH, "
		"only those of these files, of files below these directories, "
		"or of files that match. Without --yes nothing is changed: "
		"what would change is printed as a diff.\n"
		"\n"
		"What others changed since stays: their lines are merged, "
		"their renames followed. Where their lines touch those that "
		"are taken back, or a file was made anew, the file is left as "
		"it is and named, and the exit code is 1; --ours and --theirs "
		"decide such conflicts. A file whose former content the tape "
		"has not kept (not text, over 1 MiB, or deleted by tape "
		"--keep) is left as it is, too. An entry that has the changes "
		"of several processes is only undone by its number. All other "
		"files change together: if one cannot be written, none is.\n"
		"\n" WHERE_WRITTEN " Directories are made as needed, and "
		"removed when their last file is.",
	.options = undo_options,
	.arguments = { { .name = "N|N..M",
			 .optional = true,
			 .complete = COMPLETE_ENTRY },
		       { .name = "PATH",
			 .optional = true,
			 .repeated = true,
			 .complete = COMPLETE_FILE } },
	.examples = undo_examples,
};

static const struct verb_option redo_options[] = {
	OPTION_YES_ENTRY,
	OPTION_OURS_ENTRY,
	OPTION_THEIRS_ENTRY,
	OPTION_REPO_ENTRY,
	{ 0 },
};

static const struct verb_example redo_examples[] = {
	{ "statetape redo --yes", "Take back the last undo" },
	{ 0 },
};

const struct verb row_redo = {
	.id = VERB_REDO,
	.recorded = true,
	.name = "redo",
	.summary = "Take back an undo",
	.description =
		"Undoes what the last 'statetape undo' did that was not taken "
		"back yet, or the one that made entry N, by the same rules as "
		"undo. What an undo did where nothing was mounted is an entry "
		"from outside: 'statetape undo' takes it back.",
	.options = redo_options,
	.arguments = { { .name = "N",
			 .optional = true,
			 .complete = COMPLETE_ENTRY } },
	.examples = redo_examples,
};

static const struct verb_example restore_examples[] = {
	{ "statetape restore 41:src/app.py", "Bring a file back" },
	{ 0 },
};

const struct verb row_restore = {
	.id = VERB_RESTORE,
	.recorded = true,
	.name = "restore",
	.summary = "Bring a file back as it was after an entry",
	.description = "Writes the content that the file at PATH, from the "
		       "repository's root, had after entry N, in one rename "
		       "and with the file's present mode. " WHERE_WRITTEN "\n"
		       "\n" REPO_DEFAULT,
	.options = no_options,
	.arguments = { { .name = "N:PATH" }, REPO_OPTIONAL },
	.examples = restore_examples,
};
