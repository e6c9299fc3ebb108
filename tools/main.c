/* statetape: finds the verb, parses its options by the table, and runs it. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "graph/base/cleanup.h"
#include "graph/base/debug.h"
#include "tools/cli/help.h"
#include "tools/cli/options.h"
#include "tools/cli/say.h"
#include "tools/cli/verbs.h"
#include "tools/verb/nothing.h"

static int (*const run[VERBS])(const struct invocation *in) = {
	[VERB_MOUNT] = verb_mount,
	[VERB_UMOUNT] = verb_umount,
	[VERB_STATUS] = verb_status,
	[VERB_JOURNAL] = verb_journal,
	[VERB_READS] = verb_reads,
	[VERB_TAPE] = verb_tape,
	[VERB_LOG] = verb_log,
	[VERB_SHOW] = verb_show,
	[VERB_BLAME] = verb_blame,
	[VERB_NOTES] = verb_notes,
	[VERB_DIFF] = verb_diff,
	[VERB_CAT] = verb_cat,
	[VERB_UNDO] = verb_undo,
	[VERB_REDO] = verb_redo,
	[VERB_RESTORE] = verb_restore,
	[VERB_WATCH] = verb_watch,
	[VERB_VERIFY] = verb_verify,
	[VERB_FORGET] = verb_forget,
	[VERB_EXPORT] = verb_export,
	[VERB_MANAGER] = verb_manager,
	[VERB_REPORT] = verb_report,
	[VERB_CONTEXT] = verb_context,
	[VERB_EXPLAIN] = verb_explain,
	[VERB_REPLAY] = verb_replay,
	[VERB_BENCH] = verb_bench,
	[VERB_DOCTOR] = verb_doctor,
	[VERB_DEMO] = verb_demo,
	[VERB_GRAPH_SYMBOLS] = verb_graph_symbols,
	[VERB_GRAPH_EDGES] = verb_graph_edges,
	[VERB_GRAPH_CALLERS] = verb_graph_callers,
	[VERB_GRAPH_CALLEES] = verb_graph_callees,
	[VERB_GRAPH_IMPACT] = verb_graph_impact,
	[VERB_GRAPH_AT] = verb_graph_at,
	[VERB_GRAPH_STATS] = verb_graph_stats,
	[VERB_GRAPH_DIFF] = verb_graph_diff,
	[VERB_GRAPH_FOLLOW] = verb_graph_follow,
	[VERB_RUN] = verb_run,
	[VERB_SESSION] = verb_session,
	[VERB_PART] = verb_part,
	[VERB_HELP] = verb_help,
	[VERB_GENERATE] = verb_generate,
	[VERB_COMPLETE] = verb_complete,
	[VERB_INIT] = verb_init,
};

/*
 * A caller may have closed stdin, stdout or stderr. The next file we open would
 * then get that number, and error messages would be written into it.
 */
static int hold_standard_descriptors(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd)
			return -errno;
	return 0;
}

/* The part of the command line before any verb. */
static int run_global(const char *word)
{
	if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
		help_summary(stdout);
	else if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
		(void)puts("statetape " STATETAPE_VERSION);
	else
		return say_usage_error("there is no option %s before a verb; "
				       "'statetape help' lists the verbs",
				       word);
	return EXIT_SUCCESS;
}

static int run_verb(const struct verb *v, char **argv)
{
	CLEANUP(free_p) char *why = NULL;
	struct invocation in;
	int code;

	assert(run[v->id]);
	if (options_parse(v, argv, &in, &why) < 0)
		return say_usage_error("%s (see 'statetape help %s')", why,
				       v->name);
	if (in.options[OPTION_HELP].given) {
		help_verb(stdout, v);
		return EXIT_SUCCESS;
	}
	if (nothing_recorded(&in, &code))
		return code;
	return run[v->id](&in);
}

/* `argv` begins with a verb, of one word or two. */
static int run_words(char **argv)
{
	const struct verb *v = verb_find(argv[0]);
	const char *part = v && v->group ? argv[1] : NULL;
	bool is_part = part && part[0] != '-';

	if (is_part)
		v = verb_find_part(v, part);
	/* verb_help() reports an unknown verb and suggests a similar one. */
	if (!v)
		return verb_help(
			&(struct invocation){ .arguments = { argv[0], part } });
	if (!v->group)
		return run_verb(v, argv + 1 + is_part);
	if (part && (strcmp(part, "--help") == 0 || strcmp(part, "-h") == 0)) {
		help_verb(stdout, v);
		return EXIT_SUCCESS;
	}
	return say_usage_error("%s needs a second word, its own verb (see "
			       "'statetape help %s')",
			       v->name, v->name);
}

/* A full disk behind stdout is reported; a closed pipe (EPIPE) is not. */
static int close_stdout(int code)
{
	errno = 0;
	if (fflush(stdout) == 0 && !ferror(stdout))
		return code;
	if (errno && errno != EPIPE)
		return say_error("cannot write to standard output: %s",
				 errno_text(errno));
	return code ? code : EXIT_FAILURE;
}

/*
 * Called before any thread exists. Processes that we start inherit the
 * variable.
 */
static void init_debug(void)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread. */
	const char *unknown = debug_init(getenv(DEBUG_VARIABLE));

	if (unknown)
		(void)say_error(DEBUG_VARIABLE
				": unknown room '%.*s'; the rooms are fs, "
				"tape, manager, graph, or all",
				(int)strcspn(unknown, ","), unknown);
}

int main(int argc, char **argv)
{
	int code = EXIT_SUCCESS;

	if (hold_standard_descriptors() < 0)
		return EXIT_FAILURE;
	init_debug();
	if (argc < 2)
		help_summary(stdout);
	else if (argv[1][0] == '-')
		code = run_global(argv[1]);
	else
		code = run_words(argv + 1);
	return close_stdout(code);
}
