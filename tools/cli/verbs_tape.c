/* Rows of the table: the tape process, and its end. */
#include "tools/cli/verbs_i.h"

static const struct verb_option tape_options[] = {
	{ .id = OPTION_KEEP,
	  .name = "keep",
	  .kind = OPTION_TEXT,
	  .value = "DAYS/SIZE",
	  .text = "Delete entries older than DAYS, then the oldest until the "
		  "tape is at most SIZE, such as 30/2G, 30 or 2G; old contents "
		  "are deleted before entries, and never a content that a file "
		  "has now or a conversation still needs (if not given: keep "
		  "everything)" },
	{ .id = OPTION_NO_MOUNT,
	  .name = "no-mount",
	  .text = "Work without the journal: changes are found, but not who "
		  "made them" },
	{ .id = OPTION_ROOT_FD,
	  .name = "root-fd",
	  .kind = OPTION_NUMBER,
	  .value = "N",
	  .text = "Use descriptor N, opened by the caller, as the directory "
		  "below the mount" },
	{ 0 },
};

static const struct verb_example tape_examples[] = {
	{ "statetape tape ~/src/app", "Keep the tape of a repository" },
	{ "statetape tape --keep 90/1G", "For three months, in one gigabyte" },
	{ 0 },
};

const struct verb row_tape = {
	.id = VERB_TAPE,
	.name = "tape",
	.summary = "Record each change and the symbols it touched",
	.description =
		"Follows the journal of the repository, turns settled changes "
		"into numbered entries with their author and the symbols they "
		"touched, stores them, publishes each, and answers questions "
		"about them. Prints one line when it is ready, and stays in "
		"the foreground until it is interrupted.\n"
		"\n"
		"The repository need not be mounted: a mount may come and go "
		"meanwhile. Changes that bypass the mount are found too, and "
		"recorded with \"outside\" as their author.\n"
		"\n" REPO_DEFAULT,
	.options = tape_options,
	.arguments = { REPO_OPTIONAL },
	.examples = tape_examples,
};

static const struct verb_option forget_options[] = {
	{ .id = OPTION_YES,
	  .name = "yes",
	  .letter = 'y',
	  .text = "Remove it, without further questions" },
	{ 0 },
};

static const struct verb_example forget_examples[] = {
	{ "statetape forget ~/src/app", "What is there?" },
	{ "statetape forget --yes app-0123456789abcdef",
	  "By its id, when its directory is gone" },
	{ 0 },
};

const struct verb row_forget = {
	.id = VERB_FORGET,
	.name = "forget",
	.summary = "Remove all state of a repository",
	.description =
		"Removes everything that StateTape keeps of a repository: its "
		"journal, its tape with all contents, also those that were "
		"set aside, the manager's archive, caches and logs, and its "
		"sockets. Without --yes it only says how much that is. The "
		"repository itself is not touched, and need not exist any "
		"more. Checkpoints at anchors stay where they are.\n"
		"\n"
		"While a mount, a tape, a manager or a run uses the state, "
		"nothing is removed and the exit code is 1.",
	.options = forget_options,
	.arguments = { { .name = "REPO" } },
	.examples = forget_examples,
};
