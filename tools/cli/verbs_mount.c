/* Rows of the table: the mount, its journal, and the program itself. */
#include "tools/cli/verbs_i.h"

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
	  .text = "Let other users use the mount, as mounts made by root "
		  "always do; the kernel checks permissions as in the plain "
		  "directory" },
	{ .id = OPTION_NO_JOURNAL,
	  .name = "no-journal",
	  .text = "Pass everything through without a journal, to measure what "
		  "the journal costs" },
	{ .id = OPTION_NO_WATCH,
	  .name = "no-watch",
	  .text = "Do not look for changes made below the mount; they may stay "
		  "invisible while the kernel has the old state cached" },
	{ .id = OPTION_NO_IO_URING,
	  .name = "no-io-uring",
	  .text = "Read requests from /dev/fuse even if the kernel offers "
		  "io_uring" },
	{ .id = OPTION_NO_AWAKE,
	  .name = "no-awake",
	  .text = "Let processors sleep between requests in quick succession: "
		  "saves power, and each request takes longer" },
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
	  "Watch one command; other processes see the plain directory" },
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
	  "The commands behind every line after 4096" },
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

static const struct verb_example generate_examples[] = {
	{ "statetape generate man | man -l -", "Read the manual uninstalled" },
	{ "source <(statetape generate bash)", "Complete in this bash" },
	{ 0 },
};

const struct verb row_mount = {
	.id = VERB_MOUNT,
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
		"is removed and the plain directory is visible again. "
		"A repository can be mounted once at a time.\n"
		"\n"
		"As root the mount is made directly. An ordinary user "
		"needs fusermount3, or --private where the kernel "
		"allows user namespaces. Without fusermount3 a private "
		"mount knows this user alone: what others own cannot be "
		"written in it, and a message names such a file. A "
		"REPO that begins with a dash is written ./-REPO, for "
		"-- begins the COMMAND.\n"
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
};

const struct verb row_umount = {
	.id = VERB_UMOUNT,
	.name = "umount",
	.summary = "Unmount a repository; the directory stays",
	.description =
		"Unmounts a repository named by its own path or by its "
		"mountpoint. The journal is kept. Fails while a "
		"process uses the mount, unless --lazy is given.",
	.options = umount_options,
	.arguments = {
		{ .name = "REPO|MOUNTPOINT",
		  .complete = COMPLETE_DIRECTORY },
	},
};

const struct verb row_status = {
	.id = VERB_STATUS,
	.name = "status",
	.summary = "Show what is mounted and how it is doing",
	.description = "Shows the mount of REPO, or of every repository of "
		       "this user that is mounted or has something to "
		       "report: where, since when, how far the journal is, "
		       "and what the file system holds in memory.\n"
		       "\n"
		       "Journal lines that could not be written (a full disk, "
		       "a removed directory) are shown first. If a mount "
		       "ended unexpectedly, its last message is shown.\n"
		       "\n"
		       "The exit code is 0 if all is well or nothing is "
		       "mounted, and 1 if lines were lost, a mount does not "
		       "answer, or a mount ended unexpectedly.",
	.options = status_options,
	.arguments = { REPO_OPTIONAL },
};

const struct verb row_journal = {
	.id = VERB_JOURNAL,
	.recorded = true,
	.lists = true,
	.name = "journal",
	.summary = "Print who changed what, and when",
	.description = "Prints the journal of a repository, mounted or not, "
		       "oldest line first: number, time, author, operation, "
		       "path, offset and length, and the error if it "
		       "failed. " REPO_DEFAULT "\n"
		       "\n"
		       "Lines that were discarded are listed by their "
		       "numbers. --pid N uses the ancestors recorded when a "
		       "process was first seen, so children of N are found "
		       "long after N has ended.\n"
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
};

const struct verb row_reads = {
	.id = VERB_READS,
	.recorded = true,
	.lists = true,
	.name = "reads",
	.summary = "Print which files each process read or failed to find",
	.description = "Asks the mounted file system what each process "
		       "opened for reading, which directories it listed, and "
		       "which names it looked up that did not exist. The file "
		       "system keeps this in memory, up to a limit; the "
		       "answer says if anything was dropped. " REPO_DEFAULT,
	.options = reads_options,
	.arguments = { REPO_OPTIONAL },
	.examples = reads_examples,
};

const struct verb row_doctor = {
	.id = VERB_DOCTOR,
	.name = "doctor",
	.summary = "Check that this machine has what is needed",
	.description = "Prints one line per requirement: ok, degraded (with "
		       "what is lost) or missing (with the fix). It checks "
		       "with the caller's rights, so an ordinary user and "
		       "root may get different answers. With REPO, it also "
		       "checks the repository and its state directory.\n"
		       "\n"
		       "The exit code is 0 if statetape can work here and 1 "
		       "if something is missing.",
	.options = doctor_options,
	.arguments = { REPO_OPTIONAL },
};

const struct verb row_demo = {
	.id = VERB_DEMO,
	.name = "demo",
	.summary = "Show a scripted agent at work in a small repository",
	.description =
		"Makes a small Python repository in a temporary directory and "
		"runs an agent in it as 'statetape run' would. The model "
		"answers from a script; its replies, the tape's entries and "
		"what the manager adds to the agent's requests are printed as "
		"they happen. Needs no network and no key, uses no state of "
		"yours, and cleans up.",
	.options = demo_options,
};

const struct verb row_help = {
	.id = VERB_HELP,
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
};

const struct verb row_generate = {
	.id = VERB_GENERATE,
	.name = "generate",
	.summary = "Print a man page or a shell's completions",
	.description =
		"Prints a man page (man, man-tape) or the completions for a "
		"shell (bash, zsh, fish), made from the tables that the "
		"program itself uses.",
	.options = no_options,
	.arguments = {
		{ .name = "FORMAT", .complete = COMPLETE_FORMAT },
	},
	.examples = generate_examples,
	.hidden = true,
};

const struct verb row_complete = {
	.id = VERB_COMPLETE,
	.name = "complete",
	.summary = "Print what a shell may complete a word with",
	.description = "One candidate per line, with a tab and a description "
		       "where there is one: entry, symbol, repository. "
		       "Used by the completions that generate prints.",
	.options = no_options,
	.arguments = { { .name = "KIND" },
		       { .name = "BEGINNING", .optional = true } },
	.hidden = true,
};
