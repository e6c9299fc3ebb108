#include "tools/verbs.h"

#include <string.h>

const char verb_program_summary[] =
	"capture every write below a repository, with its author";

const char verb_program_description[] =
	"statetape mounts a repository over itself and passes every system "
	"call through to the directory below. Each operation that can change "
	"content or names is written to a numbered journal before the system "
	"call returns: what happened, where, when, and which process did it, "
	"with its command line and its chain of ancestors.\n"
	"\n"
	"Nothing is ever written into the repository itself.";

/* Shared by the verbs that have them. */
#define OPTION_JSON_ENTRY(what)                                          \
	{                                                                \
		.id = OPTION_JSON, .name = "json", .text = "Print " what \
	}

static const struct verb_option mount_options[] = {
	{ .id = OPTION_FOREGROUND,
	  .name = "foreground",
	  .letter = 'f',
	  .text = "Stay in the foreground until unmounted or interrupted" },
	{ .id = OPTION_PRIVATE,
	  .name = "private",
	  .letter = 'p',
	  .text = "Mount in a mount namespace of its own, seen only by the "
		  "command after -- (else your shell), and unmount when it "
		  "ends" },
	{ .id = OPTION_ALLOW_OTHER,
	  .name = "allow-other",
	  .text = "Let other users use the mount, as root's mounts always "
		  "do; the kernel checks permissions as on the directory "
		  "below" },
	{ .id = OPTION_NO_JOURNAL,
	  .name = "no-journal",
	  .text = "Pass everything through and write nothing down, to measure "
		  "what the journal costs" },
	{ .id = OPTION_NO_WATCH,
	  .name = "no-watch",
	  .text = "Do not look for changes made below the mount; they may stay "
		  "invisible while the kernel has the old state cached" },
	{ .id = OPTION_KEEP_SIZE,
	  .name = "keep",
	  .kind = OPTION_SIZE,
	  .value = "SIZE",
	  .text = "Keep this much journal on disk, such as 500M or 2G (1G if "
		  "not given); older lines go first" },
	{ 0 },
};

static const struct verb_example mount_examples[] = {
	{ "statetape mount ~/src/app", "Watch a repository in place" },
	{ "statetape mount -p ~/src/app -- make test",
	  "Watch one command, and leave everyone else alone" },
	{ 0 },
};

static const struct verb_option umount_options[] = {
	{ .id = OPTION_LAZY,
	  .name = "lazy",
	  .letter = 'l',
	  .text = "Unmount even if files are open: names lead to the plain "
		  "directory at once, open files live on until closed" },
	{ 0 },
};

static const struct verb_option status_options[] = {
	OPTION_JSON_ENTRY("the answer as JSON, one object per repository"),
	{ 0 },
};

static const struct verb_option journal_options[] = {
	{ .id = OPTION_FOLLOW,
	  .name = "follow",
	  .letter = 'f',
	  .text = "Go on printing as operations happen, across restarts of the "
		  "mount, until interrupted" },
	OPTION_JSON_ENTRY("one JSON object per line, with every field"),
	{ .id = OPTION_PATH,
	  .name = "path",
	  .kind = OPTION_TEXT,
	  .value = "GLOB",
	  .text = "Only operations with a path that matches, or below a "
		  "directory that does; * also matches slashes, so *.py finds "
		  "them at any depth" },
	{ .id = OPTION_PID,
	  .name = "pid",
	  .kind = OPTION_NUMBER,
	  .value = "N",
	  .text = "Only operations of process N or one of its descendants" },
	{ .id = OPTION_SINCE,
	  .name = "since",
	  .kind = OPTION_NUMBER,
	  .value = "N",
	  .text = "Only lines numbered above N" },
	{ .id = OPTION_LINES,
	  .name = "lines",
	  .letter = 'n',
	  .kind = OPTION_NUMBER,
	  .value = "N",
	  .text = "Only the last N of the lines chosen, and what follows" },
	{ 0 },
};

static const struct verb_example journal_examples[] = {
	{ "statetape journal -f", "Watch the repository you are in" },
	{ "statetape journal --path '*.py' -n 20",
	  "The last twenty changes to Python files" },
	{ "statetape journal --json --since 4096 | jq .author.cmdline",
	  "Who did what after line 4096" },
	{ 0 },
};

static const struct verb_option reads_options[] = {
	OPTION_JSON_ENTRY("the answer as JSON"),
	{ .id = OPTION_PID,
	  .name = "pid",
	  .kind = OPTION_NUMBER,
	  .value = "N",
	  .text = "Only process N" },
	{ .id = OPTION_TREE,
	  .name = "tree",
	  .text = "With --pid, its descendants too" },
	{ 0 },
};

static const struct verb_example reads_examples[] = {
	{ "statetape reads --pid 4711 --tree",
	  "Every file that process and its children really opened" },
	{ 0 },
};

static const struct verb_option doctor_options[] = {
	OPTION_JSON_ENTRY("the checks as JSON"),
	{ 0 },
};

static const struct verb_option demo_options[] = {
	{ .id = OPTION_KEEP_FILES,
	  .name = "keep",
	  .text = "Keep the demonstration's directory and print its name" },
	{ 0 },
};

/* What all verbs that build a graph from files have. */
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
	  .text = "Which edges: call, inherits, overrides, reads, imports; "
		  "each is printed with its kind (call alone, without it, if "
		  "not given)" },
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
	{ "statetape graph callers Session.send", "Who calls it, and where" },
	{ "statetape graph impact --depth 3 load_config",
	  "What a change of it may reach" },
	{ "statetape graph callees --dot main | dot -Tsvg > main.svg",
	  "Draw what main calls" },
	{ 0 },
};

static const struct verb_option no_options[] = { { 0 } };

static const struct verb_example generate_examples[] = {
	{ "statetape generate man | man -l -", "Read the manual uninstalled" },
	{ "source <(statetape generate bash)", "Complete in this bash" },
	{ 0 },
};

#define REPO_REQUIRED                                          \
	{                                                      \
		.name = "REPO", .complete = COMPLETE_DIRECTORY \
	}
#define REPO_OPTIONAL                             \
	{                                         \
		.name = "REPO", .optional = true, \
		.complete = COMPLETE_DIRECTORY    \
	}
#define SYMBOL_REQUIRED          \
	{                        \
		.name = "SYMBOL" \
	}
#define GRAPH_NEIGHBOURS_JSON                                                \
	"With --json a symbol found is name, kind, file, start_line, "       \
	"end_line, depth, and path: the steps from SYMBOL to it, each with " \
	"its name, how it is related to the one before (relation), and the " \
	"file and lines that say so."
#define REPO_DEFAULT                                                        \
	"Without REPO, the nearest directory from the current one upwards " \
	"that has been mounted before."

const struct verb verbs[VERBS] = {
	[VERB_MOUNT] = {
		.name = "mount",
		.summary = "Capture every write below a repository",
		.description =
			"Mounts REPO over itself, or at MOUNTPOINT if one is "
			"given, and returns once the mount answers. Everything "
			"below behaves as the plain directory does; each "
			"operation that can change content or names is in the "
			"journal before its system call returns.\n"
			"\n"
			"If the process that serves the mount dies, the mount "
			"is taken away and the plain directory is there again. "
			"A repository can be mounted once at a time.\n"
			"\n"
			"As root the mount is made directly. An ordinary user "
			"needs fusermount3, or --private where the kernel "
			"allows user namespaces. A REPO that begins with a "
			"dash is written ./-REPO, for -- begins the COMMAND.\n"
			"\n"
			"With a COMMAND the exit code is the command's, 128 + "
			"N if signal N ended it, 127 if it was not found, 126 "
			"if it could not be run, and 125 if mounting failed.",
		.options = mount_options,
		.arguments = {
			REPO_REQUIRED,
			{ .name = "MOUNTPOINT",
			  .optional = true,
			  .complete = COMPLETE_DIRECTORY },
		},
		.examples = mount_examples,
		.command = true,
	},
	[VERB_UMOUNT] = {
		.name = "umount",
		.summary = "Take the mount away; the directory stays",
		.description =
			"Unmounts a repository named by its own path or by its "
			"mountpoint. The journal stays where it is. Fails "
			"while somebody uses the mount, unless --lazy is "
			"given.",
		.options = umount_options,
		.arguments = {
			{ .name = "REPO|MOUNTPOINT",
			  .complete = COMPLETE_DIRECTORY },
		},
	},
	[VERB_STATUS] = {
		.name = "status",
		.summary = "Show what is mounted and how it is doing",
		.description =
			"Shows the mount of REPO, or of every repository of "
			"this user that is mounted or has something to "
			"report: where, since when, how far the journal is, "
			"and what the file system holds in memory.\n"
			"\n"
			"Journal lines that could not be kept (a full disk, a "
			"removed directory) come first. If a mount ended "
			"unexpectedly, the reason it left is shown.\n"
			"\n"
			"The exit code is 0 if all is well or nothing is "
			"mounted, and 1 if lines were lost, a mount does not "
			"answer, or a mount ended unexpectedly.",
		.options = status_options,
		.arguments = { REPO_OPTIONAL },
	},
	[VERB_JOURNAL] = {
		.name = "journal",
		.summary = "Print who changed what, and when",
		.description =
			"Prints the journal of a repository, mounted or not, "
			"oldest line first: number, time, author, operation, "
			"path, offset and length, and the error if it failed. "
			REPO_DEFAULT "\n"
			"\n"
			"Lines that are no longer kept are named by their "
			"numbers. --pid N goes by the chain of ancestors that "
			"was recorded when the process was first seen, so "
			"children of N are found long after N is gone.\n"
			"\n"
			"With --json an operation is one object: n, time "
			"(seconds since 1970, as text with nine decimals), "
			"mono_ns, op, path, path2, detail, ino, off, len, res "
			"(negative: an errno), error (its name), uid, pid, "
			"tid, author {pid, uid, start, comm, cmdline, exe, "
			"ancestors [{pid, comm, cmdline}, ...]}, the nearest "
			"ancestor first. Fields that do not apply are left "
			"out. A mount's beginning is op session, its path the "
			"repository's. A path that is not UTF-8 is given in "
			"the journal's escaped form, in which a byte is \\xHH "
			"and a backslash is two, and \"path_escaped\":true (or "
			"\"path2_escaped\":true) stands beside it. Lines that "
			"are gone are {\"gone\":{\"first\":N,\"last\":N}}.",
		.options = journal_options,
		.arguments = { REPO_OPTIONAL },
		.examples = journal_examples,
	},
	[VERB_READS] = {
		.name = "reads",
		.summary = "Print what each process read or looked for in vain",
		.description =
			"Asks the mounted file system what each process "
			"opened for reading, which directories it listed, and "
			"which names it looked up that were not there. This "
			"is kept in memory while the mount lives, within a "
			"bound; the answer says if something was forgotten. "
			REPO_DEFAULT,
		.options = reads_options,
		.arguments = { REPO_OPTIONAL },
		.examples = reads_examples,
	},
	[VERB_DOCTOR] = {
		.name = "doctor",
		.summary = "Check that this machine has what is needed",
		.description =
			"Prints one line per requirement: ok, degraded (with "
			"what is lost) or missing (with the fix). It looks as "
			"the user who calls it, so an ordinary user and root "
			"may get different answers. With REPO, the repository "
			"itself and the place of its state are checked too.\n"
			"\n"
			"The exit code is 0 if statetape can work here and 1 "
			"if something is missing.",
		.options = doctor_options,
		.arguments = { REPO_OPTIONAL },
	},
	[VERB_DEMO] = {
		.name = "demo",
		.summary = "Show it at work on a small repository of its own",
		.description =
			"Makes a small Python repository in a temporary "
			"directory, mounts it, lets a shell, sed, an "
			"editor's way of saving, python3 and git (if present) "
			"change it, and prints what the journal saw. Needs no "
			"network, touches no state of yours, and cleans up.",
		.options = demo_options,
	},
	[VERB_GRAPH] = {
		.name = "graph",
		.summary = "Ask the code graph who calls what",
		.description =
			"Builds the code graph of the Python files below REPO "
			"(the current directory if not given) and answers a "
			"question about it. Symbols are functions, methods and "
			"classes, named by module and place, such as "
			"pkg.mod.Class.method; modules and module-level "
			"variables stand beside them. Nothing is run and "
			"nothing is imported: names and types are resolved "
			"from the text alone.\n"
			"\n"
			"Where a SYMBOL is wanted, the end of its name will "
			"do if only one symbol's name ends so.\n"
			"\n"
			"Hidden directories, __pycache__, node_modules, "
			"virtual environments and directories marked as a "
			"cache are left out; symbolic links are not followed. "
			"What was read from a file is kept for the next time.",
		.options = no_options,
		.examples = graph_examples,
		.group = true,
	},
	[VERB_GRAPH_SYMBOLS] = {
		.name = "graph symbols",
		.summary = "List functions, methods and classes",
		.description =
			"Lists the symbols by name, each with its kind and "
			"place.\n"
			"\n"
			"With --json a symbol is name, kind, file, "
			"start_line, end_line, hash (of its own text).",
		.options = symbols_options,
		.arguments = { REPO_OPTIONAL },
	},
	[VERB_GRAPH_EDGES] = {
		.name = "graph edges",
		.summary = "List who calls whom",
		.description =
			"Lists the edges by caller, callee and line. A call "
			"at module level has the module as its caller.\n"
			"\n"
			"With --json an edge is caller, callee, line (of the "
			"name that is called), and kind with --kinds.",
		.options = edges_options,
		.arguments = { REPO_OPTIONAL },
	},
	[VERB_GRAPH_CALLERS] = {
		.name = "graph callers",
		.summary = "Show who calls a symbol, and where",
		.description =
			"Shows the callers of SYMBOL, each with the lines of "
			"its calls; with --depth their callers too.\n"
			"\n"
			GRAPH_NEIGHBOURS_JSON,
		.options = neighbour_options,
		.arguments = { SYMBOL_REQUIRED, REPO_OPTIONAL },
	},
	[VERB_GRAPH_CALLEES] = {
		.name = "graph callees",
		.summary = "Show what a symbol calls, and where",
		.description =
			"Shows what SYMBOL calls, each with the lines of the "
			"calls; with --depth what these call too.\n"
			"\n"
			GRAPH_NEIGHBOURS_JSON,
		.options = neighbour_options,
		.arguments = { SYMBOL_REQUIRED, REPO_OPTIONAL },
	},
	[VERB_GRAPH_IMPACT] = {
		.name = "graph impact",
		.summary = "Show what a change of a symbol may affect",
		.description =
			"Shows what may have to change with SYMBOL: its "
			"callers and theirs, methods that override it, "
			"subclasses, readers of a variable, importers of a "
			"module; each below the one that leads to it.\n"
			"\n"
			GRAPH_NEIGHBOURS_JSON,
		.options = impact_options,
		.arguments = { SYMBOL_REQUIRED, REPO_OPTIONAL },
	},
	[VERB_GRAPH_AT] = {
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
	},
	[VERB_GRAPH_STATS] = {
		.name = "graph stats",
		.summary = "Count what the graph holds, and what it costs",
		.description =
			"Counts files, symbols, edges, call sites and how "
			"many of them lead somewhere in the repository, and "
			"says how long the build took and what it holds in "
			"memory.",
		.options = graph_options,
		.arguments = { REPO_OPTIONAL },
	},
	[VERB_GRAPH_DIFF] = {
		.name = "graph diff",
		.summary = "Show which symbols differ between two trees",
		.description =
			"Builds the graph of BEFORE, makes it that of AFTER "
			"file by file, and shows what that did: X, symbols "
			"removed or with another text; dX, those whose calls "
			"now lead elsewhere or come from elsewhere, though "
			"their own text is the same; added ones; and beside "
			"them, as extended, modules and variables that "
			"differ (X) and symbols that read such a variable "
			"(R).\n"
			"\n"
			"With --json it is one object: "
			"{\"X\":[],\"dX\":[],\"added\":[],"
			"\"extended\":{\"X\":[],\"R\":[]}}, all sorted.",
		.options = diff_options,
		.arguments = {
			{ .name = "BEFORE", .complete = COMPLETE_DIRECTORY },
			{ .name = "AFTER", .complete = COMPLETE_DIRECTORY },
		},
	},
	[VERB_GRAPH_FOLLOW] = {
		.name = "graph follow",
		.summary = "Keep a graph current, told what changed",
		.description =
			"Builds the graph once. Then each line on stdin names "
			"paths that changed, came or went, relative to REPO "
			"and separated by tabs; these are read again, and one "
			"line says what that did, as graph diff --json does, "
			"with the microseconds it took as \"us\". A line "
			"!symbols or !edges prints the present state as those "
			"verbs do with --json, ended by an empty line. What "
			"is not understood is answered by {\"error\":...}.",
		.options = follow_options,
		.arguments = { REPO_OPTIONAL },
	},
	[VERB_HELP] = {
		.name = "help",
		.summary = "Explain a verb",
		.description =
			"Prints what a verb does and its options; PART is the "
			"second word of a verb that has two. Without VERB, "
			"the list of verbs. The same as --help.",
		.options = no_options,
		.arguments = {
			{ .name = "VERB",
			  .optional = true,
			  .complete = COMPLETE_VERB },
			{ .name = "PART", .optional = true },
		},
	},
	[VERB_GENERATE] = {
		.name = "generate",
		.summary = "Print the man page or a shell's completions",
		.description =
			"Prints the man page (man) or the completions for a "
			"shell (bash, zsh, fish), made from the same table "
			"that the command line is read by.",
		.options = no_options,
		.arguments = {
			{ .name = "FORMAT", .complete = COMPLETE_FORMAT },
		},
		.examples = generate_examples,
		.hidden = true,
	},
};

const struct verb_option verb_help_option = {
	.id = OPTION_HELP,
	.name = "help",
	.letter = 'h',
	.text = "Explain this verb",
};

const char *const verb_formats[FORMATS] = {
	[FORMAT_MAN] = "man",
	[FORMAT_BASH] = "bash",
	[FORMAT_ZSH] = "zsh",
	[FORMAT_FISH] = "fish",
};

const struct verb_note verb_environment[] = {
	{ "XDG_STATE_HOME",
	  "Where state is kept, below statetape/. Default: ~/.local/state." },
	{ "XDG_RUNTIME_DIR",
	  "Where sockets are kept, below statetape/. Default: /run/user/UID, "
	  "else statetape-UID/ in the temporary directory." },
	{ "NO_COLOR", "If set and not empty, no colours on a terminal." },
	{ "TMPDIR", "Where demo makes its repository. Default: /tmp." },
	{ 0 },
};

const struct verb_note verb_files[] = {
	{ "$XDG_STATE_HOME/statetape/ID/journal/",
	  "The journal of one repository; ID is the repository's name and a "
	  "hash of its path." },
	{ "$XDG_STATE_HOME/statetape/ID/graph.cache",
	  "What graph read from the files; it can be removed at any time." },
	{ "$XDG_STATE_HOME/statetape/ID/last-end",
	  "How the last mount ended, in one sentence." },
	{ "$XDG_STATE_HOME/statetape/ID/log",
	  "What the process that serves the files had to say." },
	{ "$XDG_RUNTIME_DIR/statetape/ID/",
	  "The sockets of a mounted repository." },
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
	{ "125", "mount did not get as far as running its command." },
	{ "126", "The command given to mount cannot be run." },
	{ "127", "The command given to mount was not found." },
	{ "128+N", "Signal N ended that command; else its code is mount's." },
	{ 0 },
};

const struct verb *verb_find(const char *name)
{
	for (size_t i = 0; i < VERBS; i++)
		if (strcmp(verbs[i].name, name) == 0)
			return &verbs[i];
	return NULL;
}

const struct verb *verb_find_part(const struct verb *group, const char *name)
{
	for (size_t i = 0; i < VERBS; i++)
		if (verb_is_part(&verbs[i], group) &&
		    strcmp(verb_word(&verbs[i]), name) == 0)
			return &verbs[i];
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
