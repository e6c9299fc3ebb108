/*
 * The table's row of the tape itself.
 */
#include "tools/cli/verbs_i.h"

static const struct verb_option tape_options[] = {
	{ .id = OPTION_KEEP,
	  .name = "keep",
	  .kind = OPTION_TEXT,
	  .value = "DAYS/SIZE",
	  .text = "Give up what is older than so many days, then the oldest "
		  "until the tape is no larger, such as 30/2G, 30 or 2G; old "
		  "contents go before entries, and nothing goes that files "
		  "have now or a conversation still needs. If not given, all "
		  "is kept" },
	{ .id = OPTION_NO_MOUNT,
	  .name = "no-mount",
	  .text = "Do without the journal: changes are noticed, but not who "
		  "made them" },
	{ .id = OPTION_ROOT_FD,
	  .name = "root-fd",
	  .kind = OPTION_NUMBER,
	  .value = "N",
	  .text = "The directory below the mount, which whoever started the "
		  "tape has open as descriptor N" },
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
	.summary = "Keep the tape of what changed, and of which symbols",
	.description =
		"Follows the journal of the repository, turns settled changes "
		"into numbered entries with their author and the symbols they "
		"touched, keeps these for good, publishes each, and answers "
		"questions about them. Prints one line when it is ready, and "
		"stays in the foreground until it is interrupted.\n"
		"\n"
		"The repository need not be mounted: a mount may come and go "
		"meanwhile. What is changed past the mount is noticed, too, "
		"and said to come from outside.\n"
		"\n" REPO_DEFAULT,
	.options = tape_options,
	.arguments = { REPO_OPTIONAL },
	.examples = tape_examples,
};
