/*
 * The one table of verbs, options and arguments. The parser (options.h), the
 * help texts, the man page and the shells' completions all use it, so they
 * cannot disagree. It is data alone: main.c maps verbs to functions, so this
 * part can be tested without them.
 */
#ifndef STATETAPE_TOOLS_CLI_VERBS_H
#define STATETAPE_TOOLS_CLI_VERBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum verb_id {
	VERB_RUN,
	VERB_INIT,
	VERB_DEMO,
	VERB_DOCTOR,
	VERB_MOUNT,
	VERB_UMOUNT,
	VERB_STATUS,
	VERB_JOURNAL,
	VERB_READS,
	VERB_TAPE,
	VERB_LOG,
	VERB_SHOW,
	VERB_BLAME,
	VERB_NOTES,
	VERB_DIFF,
	VERB_CAT,
	VERB_UNDO,
	VERB_REDO,
	VERB_RESTORE,
	VERB_WATCH,
	VERB_VERIFY,
	VERB_FORGET,
	VERB_EXPORT,
	VERB_MANAGER,
	VERB_REPORT,
	VERB_CONTEXT,
	VERB_EXPLAIN,
	VERB_REPLAY,
	VERB_BENCH,
	VERB_GRAPH,
	VERB_GRAPH_SYMBOLS,
	VERB_GRAPH_EDGES,
	VERB_GRAPH_CALLERS,
	VERB_GRAPH_CALLEES,
	VERB_GRAPH_IMPACT,
	VERB_GRAPH_AT,
	VERB_GRAPH_STATS,
	VERB_GRAPH_DIFF,
	VERB_GRAPH_FOLLOW,
	VERB_SESSION,
	VERB_PART,
	VERB_HELP,
	VERB_GENERATE,
	VERB_COMPLETE,
	VERBS, /* how many there are */
};

/* One id per meaning, not per spelling: `--keep` of two verbs has two ids. */
enum option_id {
	OPTION_HELP, /* every verb has it */
	OPTION_AFTER,
	OPTION_AGAINST,
	OPTION_ALL,
	OPTION_ALLOW_OTHER,
	OPTION_AUTHOR,
	OPTION_BY_LINE,
	OPTION_COUNT,
	OPTION_CSV,
	OPTION_ANTHROPIC_UPSTREAM,
	OPTION_CHATGPT_UPSTREAM,
	OPTION_COMMAND,
	OPTION_CONVERSATION,
	OPTION_DEPTH,
	OPTION_DOT,
	OPTION_EXEC,
	OPTION_EXTENDED,
	OPTION_FEATURES,
	OPTION_FILES,
	OPTION_FOLLOW,
	OPTION_FORCE,
	OPTION_FOREGROUND,
	OPTION_FORMAT,
	OPTION_FORWARD,
	OPTION_HANDOVER_FD,
	OPTION_HOOK,
	OPTION_INSIDE,
	OPTION_JOBS,
	OPTION_JSON,
	OPTION_KEEP,
	OPTION_KEEP_FILES,
	OPTION_KEEP_SIZE,
	OPTION_KINDS,
	OPTION_LAST,
	OPTION_LAZY,
	OPTION_LINES,
	OPTION_LISTEN_FD,
	OPTION_LOCK_FD,
	OPTION_LONG,
	OPTION_MODE,
	OPTION_MOUNT,
	OPTION_NO_CACHE,
	OPTION_NO_IO_URING,
	OPTION_NO_AWAKE,
	OPTION_NO_JOURNAL,
	OPTION_NO_MOUNT,
	OPTION_NO_PROMPTS,
	OPTION_NO_WATCH,
	OPTION_NOTES_FORMAT,
	OPTION_ONELINE,
	OPTION_OURS,
	OPTION_PATCH,
	OPTION_OPENAI_UPSTREAM,
	OPTION_PATH,
	OPTION_PID,
	OPTION_POLICIES,
	OPTION_POLICY,
	OPTION_PORT,
	OPTION_PREDICTIONS,
	OPTION_PRINT,
	OPTION_PRIVATE,
	OPTION_REFERENCE,
	OPTION_REHASH,
	OPTION_REPO,
	OPTION_REQUEST,
	OPTION_ROOT_FD,
	OPTION_RUN_FD,
	OPTION_SINCE,
	OPTION_SPAN,
	OPTION_STAT,
	OPTION_STORE,
	OPTION_SYMBOL,
	OPTION_THEIRS,
	OPTION_TREE,
	OPTION_TURN,
	OPTION_TURNS,
	OPTION_UNDO,
	OPTION_UNTIL,
	OPTION_UPSTREAM,
	OPTION_YES,
	OPTIONS, /* how many there are */
};

enum option_kind {
	OPTION_FLAG,   /* takes no value */
	OPTION_TEXT,   /* any text */
	OPTION_NUMBER, /* a whole number from 0 */
	OPTION_SIZE,   /* bytes: a number from 1, or one with K, M, G or T */
};

/* What a shell completes an argument or an option's value with. */
enum complete {
	COMPLETE_NOTHING,
	COMPLETE_DIRECTORY,
	COMPLETE_FILE,
	COMPLETE_VERB,
	COMPLETE_FORMAT, /* one of verb_formats */
	COMPLETE_MODE,	 /* these, and those below, are words ... */
	COMPLETE_POLICY,
	COMPLETE_MOUNT,
	COMPLETE_EXPORT,
	COMPLETE_NOTES,
	COMPLETE_ENTRY, /* ... and what 'statetape complete' prints */
	COMPLETE_SYMBOL,
	COMPLETE_REPOSITORY, /* or a directory */
	COMPLETE_FILE_OR_SYMBOL,
	COMPLETES, /* how many there are */
};

struct verb_option {
	enum option_id id;
	enum complete complete; /* of its value */
	const char *name;	/* without its two dashes */
	char letter;		/* 0: no short form */
	enum option_kind kind;
	const char *value; /* placeholder, NULL for a flag */
	const char *text;  /* one sentence, without its full stop */
};

struct verb_argument {
	const char *name;
	bool optional;
	bool repeated; /* the last one: any number of them may follow */
	enum complete complete;
};

struct verb_example {
	const char *command;
	const char *text;
};

#define VERB_ARGUMENTS_MAX 3

/*
 * Options, examples and arguments end with an element whose name is NULL. A
 * verb may be a group ("graph"), which does nothing itself; its parts are verbs
 * of two words ("graph symbols").
 */
struct verb {
	enum verb_id id;
	const char *name;
	const char *summary;	 /* one line, without a full stop */
	const char *description; /* paragraphs, an empty line between two */
	const struct verb_option *options;
	struct verb_argument arguments[VERB_ARGUMENTS_MAX + 1];
	const struct verb_example *examples; /* NULL: none */
	bool command;  /* `-- COMMAND [ARG...]` may follow */
	bool recorded; /* reads what was recorded of the repository REPO ... */
	bool lists;    /* ... and prints all of it: that there is none is no
			  failure */
	bool hidden;   /* not in the summary and the completions */
	bool group;    /* a group: the next word is the verb */
};

extern const struct verb *const verbs[VERBS]; /* by id */

/* NOLINTBEGIN(bugprone-macro-parentheses): a declaration has none. */
#define FOR_EACH_VERB(v)                                    \
	for (const struct verb *const *v##_at_ = verbs, *v; \
	     v##_at_ < verbs + VERBS && ((v) = *v##_at_, true); v##_at_++)
/* NOLINTEND(bugprone-macro-parentheses) */

/* The option that every verb has besides its own. */
extern const struct verb_option verb_help_option;

/* Lists of the man page: environment, files, exit codes. */
struct verb_note {
	const char *name; /* NULL ends a list */
	const char *text;
};

extern const struct verb_note verb_environment[];
extern const struct verb_note verb_files[];
extern const struct verb_note verb_exits[];

/* The output formats of `generate`. */
enum format {
	FORMAT_MAN,
	FORMAT_MAN_TAPE,
	FORMAT_BASH,
	FORMAT_ZSH,
	FORMAT_FISH,
	FORMATS, /* how many there are */
};

extern const char *const verb_formats[FORMATS];

/* The name of a kind; its words, separated by spaces, or NULL: it has none. */
extern const char *const complete_names[COMPLETES];
extern const char *const complete_words[COMPLETES];

/* The program's summary and description. */
extern const char verb_program_summary[];
extern const char verb_program_description[];

/* NULL: no verb of that name, which may be two words. */
const struct verb *verb_find(const char *name);
/* NULL: `group` has no verb of that name. */
const struct verb *verb_find_part(const struct verb *group, const char *name);
/* Does the verb require a COMMAND after `--`? */
bool verb_needs_command(const struct verb *v);
/* Does `v` belong to `group`? NULL: is it a top-level verb? */
bool verb_is_part(const struct verb *v, const struct verb *group);
/* The last word of its name. */
const char *verb_word(const struct verb *v);
/* NULL: the verb has no such option; `--help` counts as one. */
const struct verb_option *verb_option_find(const struct verb *v,
					   const char *name);
const struct verb_option *verb_option_find_letter(const struct verb *v,
						  char letter);

/* A parsed command line. Strings are argv's. */
struct option_value {
	bool given;
	const char *text; /* NULL for a flag */
	uint64_t number;  /* of OPTION_NUMBER, and OPTION_SIZE in bytes */
};

struct invocation {
	const struct verb *verb;
	struct option_value options[OPTIONS];	   /* by id */
	const char *arguments[VERB_ARGUMENTS_MAX]; /* NULL: not given */
	/* All arguments, NULL-terminated, of a verb that repeats one. */
	char **words;
	size_t words_count;
	char **command; /* after `--`, NULL-terminated; NULL: none */
};

/* Each returns the process's exit code, and prints why if it is not 0. */
int verb_mount(const struct invocation *in);
int verb_umount(const struct invocation *in);
int verb_status(const struct invocation *in);
int verb_journal(const struct invocation *in);
int verb_reads(const struct invocation *in);
int verb_log(const struct invocation *in);
int verb_show(const struct invocation *in);
int verb_blame(const struct invocation *in);
int verb_notes(const struct invocation *in);
int verb_diff(const struct invocation *in);
int verb_cat(const struct invocation *in);
int verb_undo(const struct invocation *in);
int verb_redo(const struct invocation *in);
int verb_restore(const struct invocation *in);
int verb_watch(const struct invocation *in);
int verb_tape(const struct invocation *in);
int verb_verify(const struct invocation *in);
int verb_forget(const struct invocation *in);
int verb_export(const struct invocation *in);
int verb_manager(const struct invocation *in);
int verb_report(const struct invocation *in);
int verb_context(const struct invocation *in);
int verb_explain(const struct invocation *in);
int verb_replay(const struct invocation *in);
int verb_bench(const struct invocation *in);
int verb_doctor(const struct invocation *in);
int verb_demo(const struct invocation *in);
int verb_graph_symbols(const struct invocation *in);
int verb_graph_edges(const struct invocation *in);
int verb_graph_callers(const struct invocation *in);
int verb_graph_callees(const struct invocation *in);
int verb_graph_impact(const struct invocation *in);
int verb_graph_at(const struct invocation *in);
int verb_graph_stats(const struct invocation *in);
int verb_graph_diff(const struct invocation *in);
int verb_graph_follow(const struct invocation *in);
int verb_run(const struct invocation *in);
int verb_part(const struct invocation *in);
int verb_session(const struct invocation *in);
int verb_help(const struct invocation *in);
int verb_generate(const struct invocation *in);
int verb_complete(const struct invocation *in);
int verb_init(const struct invocation *in);

enum {
	EXIT_USAGE = 2, /* beside EXIT_SUCCESS and EXIT_FAILURE */
};

/*
 * Environment variable: the agent's working directory, which the manager no
 * longer shares.
 */
#define MANAGER_CWD "STATETAPE_CWD"

/* Environment variable: the secret of the manager's address, if fixed. */
#define MANAGER_SECRET "STATETAPE_SECRET"

#endif
