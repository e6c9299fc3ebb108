#include "tools/cli/verbs.h"

#include <assert.h>
#include <string.h>

#include "tools/cli/verbs_i.h"

const char verb_program_summary[] =
	"keep what a coding agent holds true to its repository";

const char verb_program_description[] =
	"statetape run starts an agent with its repository mounted. Every "
	"write is attributed to its process and to the functions and classes "
	"it changes, and each request to the agent's model is corrected on its "
	"way: text that later writes made false is replaced or marked. The "
	"other verbs start the parts one by one and query them.\n"
	"\n"
	"statetape mounts a repository over itself and passes every system "
	"call through to the directory below. Each operation that can change "
	"content or names is written to a numbered journal before the system "
	"call returns: what happened, where, when, and which process did it, "
	"with its command line and its chain of ancestors.\n"
	"\n"
	"Nothing is ever written into the repository itself.";

const struct verb_option no_options[1] = { { 0 } };

const struct verb *const verbs[VERBS] = {
	[VERB_RUN] = &row_run,
	[VERB_INIT] = &row_init,
	[VERB_DEMO] = &row_demo,
	[VERB_DOCTOR] = &row_doctor,
	[VERB_MOUNT] = &row_mount,
	[VERB_UMOUNT] = &row_umount,
	[VERB_STATUS] = &row_status,
	[VERB_JOURNAL] = &row_journal,
	[VERB_READS] = &row_reads,
	[VERB_TAPE] = &row_tape,
	[VERB_LOG] = &row_log,
	[VERB_SHOW] = &row_show,
	[VERB_BLAME] = &row_blame,
	[VERB_NOTES] = &row_notes,
	[VERB_DIFF] = &row_diff,
	[VERB_CAT] = &row_cat,
	[VERB_UNDO] = &row_undo,
	[VERB_REDO] = &row_redo,
	[VERB_RESTORE] = &row_restore,
	[VERB_WATCH] = &row_watch,
	[VERB_VERIFY] = &row_verify,
	[VERB_FORGET] = &row_forget,
	[VERB_EXPORT] = &row_export,
	[VERB_MANAGER] = &row_manager,
	[VERB_REPORT] = &row_report,
	[VERB_CONTEXT] = &row_context,
	[VERB_EXPLAIN] = &row_explain,
	[VERB_REPLAY] = &row_replay,
	[VERB_BENCH] = &row_bench,
	[VERB_GRAPH] = &row_graph,
	[VERB_GRAPH_SYMBOLS] = &row_graph_symbols,
	[VERB_GRAPH_EDGES] = &row_graph_edges,
	[VERB_GRAPH_CALLERS] = &row_graph_callers,
	[VERB_GRAPH_CALLEES] = &row_graph_callees,
	[VERB_GRAPH_IMPACT] = &row_graph_impact,
	[VERB_GRAPH_AT] = &row_graph_at,
	[VERB_GRAPH_STATS] = &row_graph_stats,
	[VERB_GRAPH_DIFF] = &row_graph_diff,
	[VERB_GRAPH_FOLLOW] = &row_graph_follow,
	[VERB_SESSION] = &row_session,
	[VERB_PART] = &row_part,
	[VERB_HELP] = &row_help,
	[VERB_GENERATE] = &row_generate,
	[VERB_COMPLETE] = &row_complete,
};

const struct verb_option verb_help_option = {
	.id = OPTION_HELP,
	.name = "help",
	.letter = 'h',
	.text = "Explain this verb",
};

const char *const verb_formats[FORMATS] = {
	[FORMAT_MAN] = "man",	[FORMAT_MAN_TAPE] = "man-tape",
	[FORMAT_BASH] = "bash", [FORMAT_ZSH] = "zsh",
	[FORMAT_FISH] = "fish",
};

const char *const complete_names[COMPLETES] = {
	[COMPLETE_NOTHING] = "nothing",
	[COMPLETE_DIRECTORY] = "directory",
	[COMPLETE_FILE] = "file",
	[COMPLETE_VERB] = "verb",
	[COMPLETE_FORMAT] = "format",
	[COMPLETE_MODE] = "mode",
	[COMPLETE_POLICY] = "policy",
	[COMPLETE_MOUNT] = "mount",
	[COMPLETE_EXPORT] = "export",
	[COMPLETE_NOTES] = "notes",
	[COMPLETE_ENTRY] = "entry",
	[COMPLETE_SYMBOL] = "symbol",
	[COMPLETE_REPOSITORY] = "repository",
	[COMPLETE_FILE_OR_SYMBOL] = "file_or_symbol",
};

const char *const complete_words[COMPLETES] = {
	[COMPLETE_MODE] = "pinned eager off",
	[COMPLETE_POLICY] = "statetape control",
	[COMPLETE_MOUNT] = "auto private visible none",
	[COMPLETE_EXPORT] = "jsonl csv",
	[COMPLETE_NOTES] = "git-ai agent-trace",
};

const struct verb_note verb_environment[] = {
	{ "XDG_STATE_HOME",
	  "Where state is kept, below statetape/. Default: ~/.local/state." },
	{ "XDG_RUNTIME_DIR",
	  "Where sockets are kept, below statetape/. Default: /run/user/UID, "
	  "else statetape-UID/ in the temporary directory." },
	{ "PAGER",
	  "The program that shows long output on a terminal; empty or cat: "
	  "none. Default: less." },
	{ "ANTHROPIC_BASE_URL, OPENAI_BASE_URL",
	  "The model's API, unless an option of manager names it. Default: "
	  "the public addresses." },
	{ "HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY",
	  "The proxy that manager uses to reach it; lower case works too." },
	{ "SSL_CERT_FILE, SSL_CERT_DIR",
	  "The certificates manager trusts. Default: the system's." },
	{ "STATETAPE_DEADLINE_MS",
	  "Milliseconds that manager may spend on new decisions about one "
	  "request; earlier ones are always sent again. Default: 20, and 400 "
	  "while the tape is behind." },
	{ "STATETAPE_DEBUG",
	  "Rooms, separated by commas, that trace their decisions in their "
	  "process's log, one line each: fs (how the repository is mounted and "
	  "served), tape (what became of each change, each SYNC), manager "
	  "(what was decided about each request, and why), graph (what each "
	  "change did to the code graph), or all. Traces hold paths, symbols "
	  "and commands, never keys or bodies. Default: none." },
	{ "NO_COLOR", "If set and not empty, no colours on a terminal." },
	{ "TMPDIR", "Where demo makes its repository. Default: /tmp." },
	{ 0 },
};

const struct verb_note verb_files[] = {
	{ "$XDG_STATE_HOME/statetape/ID/journal/",
	  "The journal of one repository; ID is the repository's name and a "
	  "hash of its path." },
	{ "$XDG_STATE_HOME/statetape/ID/graph.cache",
	  "Parsed files, for a fast start; can be removed at any time." },
	{ "$XDG_STATE_HOME/statetape/ID/tape.db",
	  "The tape of one repository, an SQLite database; see "
	  "statetape-tape(5)." },
	{ "$XDG_STATE_HOME/statetape/ID/tape.db.damaged-DATE, "
	  "tape.db.newer-DATE",
	  "A tape that could not be gone on with, set aside: --store reads "
	  "what can be read of it. Remove it when it is not needed." },
	{ "$XDG_STATE_HOME/statetape/ID/last-end",
	  "How the last mount ended, in one sentence." },
	{ "$XDG_STATE_HOME/statetape/ID/log",
	  "Messages of the process that serves the files." },
	{ "$XDG_STATE_HOME/statetape/ID/session.log, manager.log",
	  "Messages of run's session and tape, and of its manager." },
	{ "$XDG_CONFIG_HOME/statetape/config.toml, REPO/.statetape.toml",
	  "Defaults for run; see CONFIGURATION." },
	{ "$XDG_RUNTIME_DIR/statetape/ID/",
	  "The sockets of a mounted repository." },
	{ "$XDG_RUNTIME_DIR/statetape/ID/manager.json",
	  "Where the manager of a repository listens: port and pid." },
	{ "/etc/fuse.conf",
	  "Must say user_allow_other before an ordinary user can use "
	  "--allow-other." },
	{ 0 },
};

const struct verb_note verb_exits[] = {
	{ "0", "It worked." },
	{ "1", "It failed, and stderr says why; or status or doctor found "
	       "something wrong." },
	{ "2", "The command line was not understood." },
	{ "125", "mount or run failed before it could start its command." },
	{ "126", "The command given to mount or run cannot be run." },
	{ "127", "The command given to mount or run was not found." },
	{ "128+N", "Signal N ended that command; otherwise its exit code." },
	{ 0 },
};

bool verb_needs_command(const struct verb *v)
{
	return v->command && !v->arguments[0].name;
}

const struct verb *verb_find(const char *name)
{
	for (size_t i = 0; i < VERBS; i++) {
		assert(verbs[i]->id == i);
		if (strcmp(verbs[i]->name, name) == 0)
			return verbs[i];
	}
	return NULL;
}

const struct verb *verb_find_part(const struct verb *group, const char *name)
{
	for (size_t i = 0; i < VERBS; i++)
		if (verb_is_part(verbs[i], group) &&
		    strcmp(verb_word(verbs[i]), name) == 0)
			return verbs[i];
	return NULL;
}

bool verb_is_part(const struct verb *v, const struct verb *group)
{
	size_t len = strcspn(v->name, " ");

	if (!group)
		return !v->name[len];
	return v->name[len] && strlen(group->name) == len &&
	       memcmp(v->name, group->name, len) == 0;
}

const char *verb_word(const struct verb *v)
{
	const char *space = strrchr(v->name, ' ');

	return space ? space + 1 : v->name;
}

const struct verb_option *verb_option_find(const struct verb *v,
					   const char *name)
{
	for (const struct verb_option *o = v->options; o->name; o++)
		if (strcmp(o->name, name) == 0)
			return o;
	return strcmp(verb_help_option.name, name) == 0 ? &verb_help_option
							: NULL;
}

const struct verb_option *verb_option_find_letter(const struct verb *v,
						  char letter)
{
	for (const struct verb_option *o = v->options; o->name; o++)
		if (o->letter && o->letter == letter)
			return o;
	return verb_help_option.letter == letter ? &verb_help_option : NULL;
}
