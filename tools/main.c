/*
 * statetape: finds the verb, has its options read by the table, and runs it.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "graph/base/cleanup.h"
#include "tools/help.h"
#include "tools/options.h"
#include "tools/say.h"
#include "tools/verbs.h"

static int (*const run[VERBS])(const struct invocation *in) = {
	[VERB_MOUNT] = verb_mount,	 [VERB_UMOUNT] = verb_umount,
	[VERB_STATUS] = verb_status,	 [VERB_JOURNAL] = verb_journal,
	[VERB_READS] = verb_reads,	 [VERB_DOCTOR] = verb_doctor,
	[VERB_DEMO] = verb_demo,	 [VERB_HELP] = verb_help,
	[VERB_GENERATE] = verb_generate,
};

/*
 * A caller may have closed stdin, stdout or stderr. Left so, the next file we
 * open would get that number, and a complaint would be written into it.
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
		return complain_usage("there is no option %s before a verb; "
				      "'statetape help' lists the verbs",
				      word);
	return EXIT_SUCCESS;
}

static int run_verb(const char *name, char **argv)
{
	const struct verb *v = verb_find(name);
	CLEANUP(free_p) char *why = NULL;
	struct invocation in;

	/* verb_help() says it best when there is no such verb. */
	if (!v)
		return verb_help(&(struct invocation){ .arguments = { name } });
	if (options_parse(v, argv, &in, &why) < 0)
		return complain_usage("%s (see 'statetape help %s')", why,
				      v->name);
	if (in.options[OPTION_HELP].given) {
		help_verb(stdout, v);
		return EXIT_SUCCESS;
	}
	return run[v - verbs](&in);
}

/* A full disk behind stdout is a failure; a reader who left is not news. */
static int close_stdout(int code)
{
	errno = 0;
	if (fflush(stdout) == 0 && !ferror(stdout))
		return code;
	if (errno && errno != EPIPE)
		return complain("cannot write to standard output: %s",
				reason(errno));
	return code ? code : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	int code = EXIT_SUCCESS;

	if (hold_standard_descriptors() < 0)
		return EXIT_FAILURE;
	if (argc < 2)
		help_summary(stdout);
	else if (argv[1][0] == '-')
		code = run_global(argv[1]);
	else
		code = run_verb(argv[1], argv + 2);
	return close_stdout(code);
}
