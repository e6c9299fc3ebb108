/* `statetape mount`: maps its options to fs/mount/guard.h. */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/mount/guard.h"
#include "fs/mount/trial.h"
#include "graph/base/cleanup.h"
#include "tools/cli/say.h"
#include "tools/cli/verbs.h"

/* A mount of an ordinary user is that user's alone, in place of everyone's. */
static void warn_others(const char *repo)
{
	struct stat st;

	if (geteuid() != 0 && stat(repo, &st) == 0 && st.st_uid != geteuid())
		(void)say_error("'%s' belongs to another user, who cannot use "
				"it while it is mounted; see --private and "
				"--allow-other",
				repo);
}

/* Say what a private mount takes away from its command; it is made anyway. */
static void warn_private(const char *repo)
{
	CLEANUP(trial_release) struct trial trial = { 0 };
	CLEANUP(free_p) char *path = realpath(repo, NULL);
	CLEANUP(free_p) char *text = NULL;

	if (!path || private_is_direct())
		return;
	trial_run(path, &trial);
	if (trial.verdict != TRIAL_IMPOSSIBLE)
		text = trial_text(&trial);
	if (text)
		(void)say_error("%s", text);
}

int verb_mount(const struct invocation *in)
{
	const struct option_value *o = in->options;
	const struct guard_options options = {
		.repo = in->arguments[0],
		.mountpoint = in->arguments[1],
		.command = in->command,
		.foreground = o[OPTION_FOREGROUND].given,
		.private = o[OPTION_PRIVATE].given,
		.allow_other = o[OPTION_ALLOW_OTHER].given,
		.journal = !o[OPTION_NO_JOURNAL].given,
		.watch = !o[OPTION_NO_WATCH].given,
		.rings = !o[OPTION_NO_IO_URING].given,
		.awake = !o[OPTION_NO_AWAKE].given,
		.journal_keep = o[OPTION_KEEP_SIZE].number,
	};

	if (in->command && !in->command[0])
		return say_usage_error("a command must follow --");
	if (options.private)
		warn_private(options.repo);
	else if (!options.allow_other && !options.mountpoint)
		warn_others(options.repo);
	return guard_mount(&options);
}
