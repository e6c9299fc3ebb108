/*
 * Rows of the table: the code graph.
 */
#include "tools/cli/verbs_i.h"

/* Options of all verbs that build a graph from files. */
#define GRAPH_OPTIONS                                                       \
	{ .id = OPTION_NO_CACHE,                                            \
	  .name = "no-cache",                                               \
	  .text = "Parse every file, and keep nothing for the next time" }, \
	{                                                                   \
		.id = OPTION_REHASH, .name = "rehash",                      \
		.text = "Read every file to see if it is the one in the "   \
			"cache, "                                           \
			"instead of trusting its size, times and inode"     \
	}

#define OPTION_DEPTH_ENTRY(n)                                       \
	{                                                           \
		.id = OPTION_DEPTH, .name = "depth", .letter = 'd', \
		.kind = OPTION_NUMBER, .value = "N",                \
		.text = "Go up to N steps (" #n " if not given)"    \
	}

#define OPTION_DOT_ENTRY                                              \
	{                                                             \
		.id = OPTION_DOT, .name = "dot",                      \
		.text = "Print a drawing in the language of graphviz" \
	}

static const struct verb_option symbols_options[] = {
	{ .id = OPTION_EXTENDED,
	  .name = "extended",
	  .letter = 'x',
	  .text = "Modules and module-level variables too" },
	OPTION_JSON_ENTRY("one JSON object per symbol"),
	GRAPH_OPTIONS,
	{ 0 },
};

static const struct verb_option edges_options[] = {
	{ .id = OPTION_KINDS,
	  .name = "kinds",
	  .letter = 'k',
	  .kind = OPTION_TEXT,
	  .value = "KIND,...",
	  .text = "Print these kinds of edges, each with its kind: call, "
		  "implicit, uses, inherits, overrides, reads, imports (if "
		  "not given: call and implicit)" },
	OPTION_JSON_ENTRY("one JSON object per edge and place"),
	GRAPH_OPTIONS,
	{ 0 },
};

static const struct verb_option neighbour_options[] = {
	OPTION_DEPTH_ENTRY(1),
	OPTION_DOT_ENTRY,
	OPTION_JSON_ENTRY("one JSON object per symbol found"),
	GRAPH_OPTIONS,
	{ 0 },
};

static const struct verb_option impact_options[] = {
	OPTION_DEPTH_ENTRY(2),
	OPTION_DOT_ENTRY,
	OPTION_JSON_ENTRY("one JSON object per symbol found"),
	GRAPH_OPTIONS,
	{ 0 },
};

static const struct verb_option graph_options[] = {
	OPTION_JSON_ENTRY("the answer as JSON"),
	GRAPH_OPTIONS,
	{ 0 },
};

static const struct verb_option diff_options[] = {
	OPTION_JSON_ENTRY("the answer as JSON"),
	{ 0 },
};

static const struct verb_option follow_options[] = {
	GRAPH_OPTIONS,
	{ 0 },
};

static const struct verb_example graph_examples[] = {
	{ "statetape graph callers Session.send",
	  "Which functions call it, and where" },
	{ "statetape graph impact --depth 3 load_config",
	  "What a change of it may reach" },
	{ "statetape graph callees --dot main | dot -Tsvg > main.svg",
	  "Draw what main calls" },
	{ 0 },
};

#define SYMBOL_REQUIRED                                       \
	{                                                     \
		.name = "SYMBOL", .complete = COMPLETE_SYMBOL \
	}

#define GRAPH_NEIGHBOURS_JSON                                                \
	"With --json a symbol found is name, kind, file, start_line, "       \
	"end_line, depth, and path: the steps from SYMBOL to it, each with " \
	"its name, how it is related to the one before (relation), the "     \
	"kind of edge, via (a method that is overridden, if the edge is "    \
	"its), and the file and lines that say so."

const struct verb row_graph = {
	.id = VERB_GRAPH,
	.name = "graph",
	.summary = "Ask the code graph who calls what",
	.description = "Builds the code graph of the Python files below REPO "
		       "(the current directory if not given) and answers a "
		       "question about it. Symbols are functions, methods and "
		       "classes, named by module and place, such as "
		       "pkg.mod.Class.method; modules and module-level "
		       "variables stand beside them. Nothing is run and "
		       "nothing is imported: names and types are resolved "
		       "from the text alone.\n"
		       "\n"
		       "The last parts of a SYMBOL's dotted name are enough "
		       "if only one symbol's name ends with them.\n"
		       "\n"
		       "Hidden directories, __pycache__, node_modules, "
		       "virtual environments and directories marked as a "
		       "cache are left out; symbolic links are not followed. "
		       "Parsed files are cached for the next time.",
	.options = no_options,
	.examples = graph_examples,
	.group = true,
};

const struct verb row_graph_symbols = {
	.id = VERB_GRAPH_SYMBOLS,
	.name = "graph symbols",
	.summary = "List functions, methods and classes",
	.description = "Lists the symbols by name, each with its kind and "
		       "place.\n"
		       "\n"
		       "With --json a symbol is name, kind, file, "
		       "start_line, end_line, hash (of its own text).",
	.options = symbols_options,
	.arguments = { REPO_OPTIONAL },
};

const struct verb row_graph_edges = {
	.id = VERB_GRAPH_EDGES,
	.name = "graph edges",
	.summary = "List who calls whom",
	.description = "Lists the edges by caller, callee and line. A call "
		       "at module level has the module as its caller. "
		       "Implicit are calls that are not written as such: of "
		       "properties, operators, and methods like __enter__.\n"
		       "\n"
		       "With --json an edge is caller, callee, line (of the "
		       "name that is called) and kind.",
	.options = edges_options,
	.arguments = { REPO_OPTIONAL },
};

const struct verb row_graph_callers = {
	.id = VERB_GRAPH_CALLERS,
	.name = "graph callers",
	.summary = "Show who calls a symbol, and where",
	.description = "Shows the callers of SYMBOL, each with the lines of "
		       "its calls; with --depth their callers too. Implicit "
		       "calls are marked as such. Callers of a method that "
		       "SYMBOL overrides follow with \"via\" and its name: "
		       "their calls may reach SYMBOL.\n"
		       "\n" GRAPH_NEIGHBOURS_JSON,
	.options = neighbour_options,
	.arguments = { SYMBOL_REQUIRED, REPO_OPTIONAL },
};

const struct verb row_graph_callees = {
	.id = VERB_GRAPH_CALLEES,
	.name = "graph callees",
	.summary = "Show what a symbol calls, and where",
	.description = "Shows what SYMBOL calls, each with the lines of the "
		       "calls; with --depth what these call too. Implicit "
		       "calls are marked as such. Methods that override a "
		       "callee follow with \"via\" and its name.\n"
		       "\n" GRAPH_NEIGHBOURS_JSON,
	.options = neighbour_options,
	.arguments = { SYMBOL_REQUIRED, REPO_OPTIONAL },
};

const struct verb row_graph_impact = {
	.id = VERB_GRAPH_IMPACT,
	.name = "graph impact",
	.summary = "Show what a change of a symbol may affect",
	.description = "Shows what may have to change with SYMBOL: its "
		       "callers and theirs (through a method that it "
		       "overrides, too), methods that override it, "
		       "subclasses, readers of a variable, symbols that name "
		       "a function or class without calling it, importers of "
		       "a module; each below the one that leads to it.\n"
		       "\n" GRAPH_NEIGHBOURS_JSON,
	.options = impact_options,
	.arguments = { SYMBOL_REQUIRED, REPO_OPTIONAL },
};

const struct verb row_graph_at = {
	.id = VERB_GRAPH_AT,
	.name = "graph at",
	.summary = "Show the symbol at a line of a file",
	.description =
		"Shows the innermost function, method or class whose "
		"text holds the line, else the variable or the "
		"module. FILE may be given as seen from the current "
		"directory or from REPO.",
	.options = graph_options,
	.arguments = {
		{ .name = "FILE:LINE", .complete = COMPLETE_FILE },
		REPO_OPTIONAL,
	},
};

const struct verb row_graph_stats = {
	.id = VERB_GRAPH_STATS,
	.name = "graph stats",
	.summary = "Count what the graph holds, and what it costs",
	.description = "Counts files, symbols, edges, call sites and how "
		       "many of them lead somewhere in the repository, and "
		       "says how long the build took and what it holds in "
		       "memory.",
	.options = graph_options,
	.arguments = { REPO_OPTIONAL },
};

const struct verb row_graph_diff = {
	.id = VERB_GRAPH_DIFF,
	.name = "graph diff",
	.summary = "Show which symbols differ between two trees",
	.description =
		"Builds the graph of BEFORE, updates it file by file "
		"to that of AFTER, and shows the difference: X, "
		"symbols removed or with a changed text; dX, symbols "
		"with the same text whose callers or callees changed; "
		"added symbols; and, as extended, modules and "
		"variables that differ (X) and symbols that read such "
		"a variable (R).\n"
		"\n"
		"With --json it is one object: "
		"{\"X\":[],\"dX\":[],\"added\":[],"
		"\"extended\":{\"X\":[],\"R\":[]}}, all sorted.",
	.options = diff_options,
	.arguments = {
		{ .name = "BEFORE", .complete = COMPLETE_DIRECTORY },
		{ .name = "AFTER", .complete = COMPLETE_DIRECTORY },
	},
};

const struct verb row_graph_follow = {
	.id = VERB_GRAPH_FOLLOW,
	.name = "graph follow",
	.summary = "Update a graph from a list of changed paths",
	.description = "Builds the graph once. Then each line on stdin names "
		       "paths that changed, appeared or disappeared, relative "
		       "to REPO and separated by tabs (a directory stands for "
		       "all files in it). They are read again, and one line "
		       "of output gives the difference, as graph diff --json "
		       "does, with the microseconds it took as \"us\". A "
		       "line !symbols or !edges prints the present state as "
		       "those verbs do with --json, ended by an empty line. A "
		       "line that makes no sense gives {\"error\":...}.",
	.options = follow_options,
	.arguments = { REPO_OPTIONAL },
};
