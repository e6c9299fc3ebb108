/* Shared by the files with the table's rows; no other file includes this. */
#ifndef STATETAPE_TOOLS_CLI_VERBS_I_H
#define STATETAPE_TOOLS_CLI_VERBS_I_H

#include "tools/cli/verbs.h"

#define OPTION_JSON_ENTRY(what)                                          \
	{                                                                \
		.id = OPTION_JSON, .name = "json", .text = "Print " what \
	}

#define OPTION_STORE_ENTRY                                                \
	{                                                                 \
		.id = OPTION_STORE, .name = "store", .kind = OPTION_TEXT, \
		.value = "FILE",                                          \
		.text = "Read what can be read of this store, which "     \
			"may be damaged, of a newer program, or set "     \
			"aside, instead of the repository's tape"         \
	}

#define REPO_REQUIRED                                           \
	{                                                       \
		.name = "REPO", .complete = COMPLETE_REPOSITORY \
	}

#define REPO_OPTIONAL                             \
	{                                         \
		.name = "REPO", .optional = true, \
		.complete = COMPLETE_REPOSITORY   \
	}

#define REPO_DEFAULT                                                        \
	"Without REPO, the nearest directory from the current one upwards " \
	"that has been mounted, or has a tape."

/* For a verb without options of its own. */
extern const struct verb_option no_options[1];

/* One row per verb, defined in the file of its theme. */
extern const struct verb row_mount;
extern const struct verb row_umount;
extern const struct verb row_status;
extern const struct verb row_journal;
extern const struct verb row_reads;
extern const struct verb row_log;
extern const struct verb row_show;
extern const struct verb row_blame;
extern const struct verb row_notes;
extern const struct verb row_diff;
extern const struct verb row_cat;
extern const struct verb row_undo;
extern const struct verb row_redo;
extern const struct verb row_restore;
extern const struct verb row_watch;
extern const struct verb row_tape;
extern const struct verb row_verify;
extern const struct verb row_forget;
extern const struct verb row_export;
extern const struct verb row_manager;
extern const struct verb row_report;
extern const struct verb row_context;
extern const struct verb row_explain;
extern const struct verb row_replay;
extern const struct verb row_bench;
extern const struct verb row_doctor;
extern const struct verb row_demo;
extern const struct verb row_graph;
extern const struct verb row_graph_symbols;
extern const struct verb row_graph_edges;
extern const struct verb row_graph_callers;
extern const struct verb row_graph_callees;
extern const struct verb row_graph_impact;
extern const struct verb row_graph_at;
extern const struct verb row_graph_stats;
extern const struct verb row_graph_diff;
extern const struct verb row_graph_follow;
extern const struct verb row_run;
extern const struct verb row_init;
extern const struct verb row_complete;
extern const struct verb row_session;
extern const struct verb row_part;
extern const struct verb row_help;
extern const struct verb row_generate;

#endif
