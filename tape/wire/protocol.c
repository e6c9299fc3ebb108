#include "tape/wire/protocol.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/cleanup.h"
#include "graph/base/escape.h"

#define TEXT_(x) #x
#define TEXT(x)	 TEXT_(x)

/* clang-format off: rows are read as rows. */
#define NUMBER(name, text)                         \
	{                                          \
		name, PROTOCOL_NUMBER, false, text \
	}
#define BYTES(name, text)                         \
	{                                         \
		name, PROTOCOL_BYTES, false, text \
	}
#define WORD(name, text)                         \
	{                                        \
		name, PROTOCOL_TEXT, false, text \
	}
#define FLAG(name, text)                         \
	{                                        \
		name, PROTOCOL_FLAG, false, text \
	}
#define NAMES(name, text)                         \
	{                                         \
		name, PROTOCOL_NAMES, false, text \
	}
#define LIST(name, text)                         \
	{                                        \
		name, PROTOCOL_LIST, false, text \
	}
#define OBJECT(name, text)                         \
	{                                          \
		name, PROTOCOL_OBJECT, false, text \
	}
#define WANTED(name, type, text)                  \
	{                                         \
		name, PROTOCOL_##type, true, text \
	}
#define END       \
	{         \
		0 \
	}
/* clang-format on */

/* What several questions have. */
#define LIMIT                                                              \
	NUMBER("limit",                                                    \
	       "How many at most; " TEXT(                                  \
		       LIST_DEFAULT) " by "                                \
				     "default, and never more than " TEXT( \
					     LIST_MAX) ".")
#define PATH                                                                  \
	WANTED("path", BYTES,                                                 \
	       "A file, from the repository's root; no part of it is empty, " \
	       "\".\" or \"..\".")
#define FOLLOW                                                                 \
	FLAG("follow", "Whether symbolic links are followed, as they are now " \
		       "and never out of the repository; true by default. "    \
		       "The content of a link is its target.")
#define AS_OF                                                               \
	NUMBER("n", "As of this entry; 0 is before the first. Without it, " \
		    "as the file is now.")
#define START                                                                 \
	NUMBER("start_line", "The first line, from 1; 0 or absent: from the " \
			     "first.")
#define END_LINE     NUMBER("end_line", "The last line; 0 or absent: the last.")
#define ANSWER_AS_OF NUMBER("n", "The entry the answer is as of.")
#define ANSWER_HASH  WORD("hash", "Of the file's content, 32 digits.")
#define ANSWER_MORE  FLAG("more", "There are more.")
#define ANSWER_LINES NUMBER("lines", "In the file.")
#define ENTRIES	     LIST("entries", "Entries, as they are published.")
#define CONTENT                                                            \
	WORD("text", "The content, where it is UTF-8 without a NUL."),     \
		WORD("base64", "Instead of \"text\" where it is anything " \
			       "else.")

static const struct protocol_member none[] = { END };

static const struct protocol_member sync_asked[] = {
	NAMES("paths",
	      "Only these files must be on the tape, before all "
	      "others; links are followed; at most " TEXT(SYNC_PATHS_MAX) "."),
	NUMBER("within_ms", "Answer after this time even if something is not "
			    "on the tape yet; without it, when all is that "
			    "can be."),
	END,
};

static const struct protocol_member sync_answer[] = {
	NUMBER("n", "The newest entry: every change whose system call "
		    "returned before the question was sent is at or before "
		    "it, except for what is pending."),
	NUMBER("journal", "The newest line of the journal that was read."),
	FLAG("ready", "The graph is built. Until then only SYNC and STATUS "
		      "are answered, and n is the last process's."),
	NUMBER("pending", "How many changed paths are not on the tape yet, "
			  "as far as is known: with \"paths\", others that "
			  "wait; without, those that could not be decided. "
			  "NOMINATE takes them for changed."),
	NAMES("open", "Of the \"paths\", those that may have changed and are "
		      "not on the tape yet."),
	FLAG("unread", "The time was over before the journal, or inotify's "
		       "queue, was read up to the question: any path may "
		       "have changed."),
	END,
};

static const struct protocol_member status_answer[] = {
	NUMBER("n", "The newest entry."),
	NUMBER("journal", "The newest line of the journal that was read."),
	FLAG("ready", "The graph is built."),
	NUMBER("entries", "Kept."),
	NUMBER("contents", "Kept."),
	NUMBER("store_bytes", "Of the database."),
	NUMBER("content_bytes", "Of that, for contents."),
	NUMBER("files", "In the graph."),
	NUMBER("symbols", "In the graph."),
	NUMBER("edges", "In the graph."),
	NUMBER("pending", "Paths that have not settled or were not checked "
			  "yet."),
	NUMBER("bases", "Files whose content from before the tape is not "
			"stored yet."),
	NUMBER("skipped", "Times a file or a directory could not be read."),
	NUMBER("gaps", "Entries that say that the journal lost lines."),
	NUMBER("markers", "Entries whose text contains StateTape's marker, "
			  "since the tape was started."),
	NUMBER("subscribers", "Now."),
	NUMBER("reopened", "How often the publication's listener was found "
			   "deaf and opened anew."),
	OBJECT("watch", "inotify below the mount: \"dirs\" that are watched, "
			"\"refused\" by the kernel's limits, \"overflows\" "
			"of its queue."),
	OBJECT("keep",
	       "The values of --keep, \"days\" and \"bytes\"; how often old "
	       "data was deleted for it (\"times\"), and how many "
	       "\"contents\" and \"entries\"."),
	WORD("tape", "16 digits, chosen at random when the store was begun: "
		     "another number means another tape."),
	LIST("anchors", "An object for each: its \"anchor\", the newest entry "
			"\"n\" that it has, how many checkpoints it took "
			"(\"delivered\") and how many failed (\"failed\"), "
			"and \"why\" the last one did."),
	BYTES("aside", "Present only if this process set a damaged or newer "
		       "store aside: a sentence."),
	NUMBER("pid", "Of the tape's process."),
	BYTES("repo", "The repository."),
	BYTES("sockets", "The directory of tape.pub and tape.sock."),
	BYTES("state", "The directory of tape.db."),
	WORD("since", "When the tape was started."),
	END,
};

static const struct protocol_member since_asked[] = {
	NUMBER("n", "The newest entry the client has; 0 or absent: none."),
	LIMIT,
	END,
};

static const struct protocol_member since_answer[] = {
	LIST("entries", "The entries after n, oldest first, as they are "
			"published."),
	NUMBER("head", "The newest entry there is."),
	NUMBER("first", "The oldest entry kept: entries between n and it were "
			"deleted (--keep)."),
	ANSWER_MORE,
	END,
};

static const struct protocol_member log_asked[] = {
	NUMBER("before", "Only entries with a smaller number."),
	BYTES("path", "Only entries with a path that matches this glob, or "
		      "below a directory that does; * also matches slashes."),
	BYTES("symbol", "Only entries that have this symbol in a set; the end "
			"of its name after a dot is enough."),
	NUMBER("pid", "Only entries of this process or one of its "
		      "descendants."),
	BYTES("author", "Only entries whose command name or command line "
			"matches this glob, or whose origin is this word; of "
			"a merged entry any author's."),
	NUMBER("since_ns", "Only entries from this time on, in nanoseconds "
			   "since 1970."),
	NUMBER("until_ns", "Only entries up to this time."),
	LIMIT,
	END,
};

static const struct protocol_member log_answer[] = { ENTRIES, ANSWER_MORE,
						     END };

static const struct protocol_member show_asked[] = {
	WANTED("n", NUMBER, "The entry."),
	END,
};

static const struct protocol_member show_answer[] = {
	OBJECT("entry", "The entry."),
	END,
};

static const struct protocol_member nominate_asked[] = {
	LIST("records", "Objects, see RECORDS; this or \"brief\"."),
	WORD("brief", "Reads with known symbols, one line each: id, birth and "
		      "names, separated by tabs. Costs a tenth of as many "
		      "objects."),
	END,
};

static const struct protocol_member nominate_answer[] = {
	ANSWER_AS_OF,
	LIST("nominations", "The nominated records, in their order: objects, "
			    "see RECORDS."),
	END,
};

static const struct protocol_member drift_asked[] = {
	WANTED("symbols", NAMES, "The symbols."),
	NUMBER("since", "Only entries after this one."),
	END,
};

static const struct protocol_member drift_answer[] = {
	ANSWER_AS_OF,
	LIST("drift", "An object per symbol that drifted: \"symbol\", and the "
		      "newest entry that has it in each set (\"x\", \"dx\", "
		      "\"r\"); \"removed\" if it is gone."),
	END,
};

static const struct protocol_member symbols_asked[] = {
	PATH, FOLLOW, AS_OF, START, END_LINE, END,
};

static const struct protocol_member symbols_answer[] = {
	ANSWER_AS_OF,
	ANSWER_HASH,
	FLAG("language", "It is in a language whose symbols are known."),
	ANSWER_LINES,
	LIST("symbols",
	     "The symbols the lines belong to: \"name\", \"kind\", "
	     "\"start_line\", \"end_line\". A file without a known language, "
	     "or whose "
	     "content of that time is not kept, has one: \"file:PATH\", kind "
	     "\"file\"."),
	END,
};

static const struct protocol_member symbol_asked[] = {
	WANTED("name", BYTES, "The whole name."),
	END,
};

static const struct protocol_member symbol_answer[] = {
	BYTES("name", "The whole name."),
	WORD("kind", "function, method, class, module or variable."),
	BYTES("path", "Where it is."),
	NUMBER("start_line", "Its first line."),
	NUMBER("end_line", "The last line of its first definition."),
	WORD("hash", "Of its own text, 32 digits."),
	WORD("signature", "Its header in one line; a module has none."),
	LIST("definitions", "First and last line of each."),
	WORD("body", "Their texts, in the order of the file."),
	WORD("body_base64", "Instead of \"body\" if it is not UTF-8."),
	END,
};

static const struct protocol_member neighbours_asked[] = {
	BYTES("symbol", "The whole name; it must exist."),
	NAMES("symbols", "More symbols to begin at; those that do not exist "
			 "are ignored."),
	NUMBER("depth",
	       "How many steps; 1 by default, at most " TEXT(DEPTH_MAX) "."),
	NAMES("steps", "Edges to follow: callers, callees, subclasses, bases, "
		       "overriders, overridden, readers, read, importers, "
		       "imported, implicit_callers, implicit_callees, users, "
		       "used; by default all callers and callees."),
	NAMES("kinds", "Kinds of edges to follow both ways, added to the "
		       "steps: call, implicit, uses, inherits, overrides, "
		       "reads, imports."),
	FLAG("tests", "false: leave out symbols in files of tests."),
	NUMBER("max", "How many places; " TEXT(
			      PLACES_DEFAULT) " by default, and never more "
					      "than " TEXT(PLACES_MAX) "."),
	END,
};

static const struct protocol_member neighbours_answer[] = {
	LIST("places",
	     "The symbols asked about and those found, nearest first: "
	     "\"name\", \"kind\", \"path\", \"start_line\", "
	     "\"end_line\", \"depth\", \"from\" (index of the place it "
	     "was reached from), \"step\", and \"via\": the overridden "
	     "method whose edge it is, if any."),
	FLAG("cut", "There are more than \"max\"."),
	END,
};

static const struct protocol_member source_asked[] = {
	PATH, FOLLOW, AS_OF, START, END_LINE, END,
};

static const struct protocol_member source_answer[] = {
	BYTES("path", "The file's path, after links were followed."),
	ANSWER_AS_OF,
	ANSWER_HASH,
	CONTENT,
	NUMBER("start_line", "The first line in the answer."),
	NUMBER("end_line", "The last; start_line - 1: none."),
	ANSWER_LINES,
	END,
};

static const struct protocol_member versions_asked[] = { PATH, FOLLOW, LIMIT,
							 END };

static const struct protocol_member versions_answer[] = {
	LIST("versions",
	     "Newest first: \"n\", \"at_ns\", \"kind\", and \"hash\" or null "
	     "while the file was gone. The content from before the tape has n "
	     "0 and kind \"before\"."),
	END,
};

static const struct protocol_member content_asked[] = {
	WANTED("hash", TEXT, "32 digits, as entries have them."),
	END,
};

static const struct protocol_member content_answer[] = {
	CONTENT,
	NUMBER("size", "In bytes."),
	END,
};

static const struct protocol_member blame_asked[] = {
	BYTES("path", "A file; this or \"symbol\"."),
	BYTES("symbol", "The whole name."),
	FOLLOW,
	FLAG("lines", "Of a path: by line instead of by symbol."),
	NUMBER("n", "With \"lines\": as of this entry; now, if left out."),
	END,
};

static const struct protocol_member blame_answer[] = {
	LIST("symbols",
	     "\"name\", \"kind\", \"start_line\", \"end_line\" (and \"path\", "
	     "if asked "
	     "by \"symbol\"); and if an entry changed it since the tape began, "
	     "its number \"entry\", \"at\", \"at_ns\" and \"author\" (and, "
	     "if it is merged, \"merged\" and \"authors\")."),
	LIST("lines",
	     "If asked for: [start, end, entry] for each run of lines of the "
	     "version that the tape has; entry 0: older than the tape."),
	LIST("entries",
	     "With \"lines\": each entry named there, without its lines and "
	     "symbols."),
	WORD("hash", "With \"lines\": the content."),
	NUMBER("n", "With \"lines\": the entry that made this version; 0: "
		    "older than the tape."),
	NUMBER("first", "With \"lines\": the oldest entry kept."),
	END,
};

static const struct protocol_member readset_asked[] = {
	NUMBER("pid", "Only this process and its descendants; 0 or absent: "
		      "all."),
	NUMBER("from_ns", "Only reads from this time on, in nanoseconds since "
			  "1970."),
	NUMBER("to_ns", "Only reads up to this time."),
	NAMES("without", "Command names to leave out, such as git."),
	END,
};

static const struct protocol_member readset_answer[] = {
	LIST("processes",
	     "\"pid\", \"start\", \"ppid\", \"comm\", \"cmdline\", "
	     "\"first_ns\", \"last_ns\", and the paths it \"opened\", "
	     "\"listed\", and looked for in vain (\"missed\")."),
	NUMBER("forgotten", "Processes dropped because the table was full."),
	END,
};

static const struct protocol_member hold_asked[] = {
	WANTED("holder", TEXT,
	       "A name for the hold, at most " TEXT(
		       HOLDER_MAX) " bytes; at most " TEXT(HOLDERS_MAX) " "
									"names"
									"."),
	WANTED("n", NUMBER, "The oldest entry that is needed."),
	NUMBER("ttl_ms",
	       "For how long, at most " TEXT(
		       HOLD_MAX_DAYS) " days; 0 or absent: release it."),
	END,
};

static const struct protocol_member retire_asked[] = {
	NUMBER("days", "Delete what is older."),
	NUMBER("bytes", "Delete the oldest until the database is no larger."),
	END,
};

static const struct protocol_member retire_answer[] = {
	NUMBER("contents", "Deleted."),
	NUMBER("entries", "Deleted."),
	NUMBER("bytes", "Freed."),
	END,
};

static const struct protocol_member verify_answer[] = {
	LIST("findings", "Empty: the store is as it was written. Else an "
			 "object for each kind of finding: \"kind\" "
			 "(database, self, missing, entry, index, content or "
			 "file), \"text\" (a sentence about the first one, "
			 "with its entry) and \"count\"."),
	NUMBER("entries", "Kept."),
	NUMBER("contents", "Kept."),
	END,
};

static const struct protocol_member turn_asked[] = {
	WANTED("conversation", TEXT, "The manager's key of it."),
	WANTED("turn", TEXT,
	       "A name that all requests of one turn have, and no other turn "
	       "of the conversation."),
	WANTED("at_ns", NUMBER,
	       "When the request arrived, in nanoseconds "
	       "since 1970."),
	WORD("client", "The agent's name."),
	WORD("model", "The model's."),
	BYTES("prompt", "The first words of what the user asked for."),
	NUMBER("pid", "The agent's process, which made the request."),
	NUMBER("start", "When that was started, in clock ticks since the "
			"host's start."),
	NAMES("results", "The ids of the calls whose results the request "
			 "brought: they are over."),
	LIST("calls", "The calls that the reply made: objects, see TURNS."),
	NUMBER("calls_ns", "When they may have begun."),
	END,
};

static const struct protocol_member turn_answer[] = {
	NUMBER("ordinal", "The turn's in its conversation, from 1."),
	END,
};

static const struct protocol_member anchor_answer[] = {
	NUMBER("n", "The newest entry."),
	END,
};

const struct protocol_question protocol_questions[ASKS] = {
	[ASK_SYNC] = { "SYNC",
		       "The barrier. Reads the journal and inotify's queue up "
		       "to the arrival of the question, settles all dirty "
		       "paths, or only those asked for, and answers when they "
		       "are on the tape. It waits for no quiet time; other "
		       "questions are answered meanwhile.",
		       sync_asked, sync_answer },
	[ASK_STATUS] = { "STATUS", "The state of the tape.", none,
			 status_answer },
	[ASK_SINCE] = { "SINCE", "The entries the client does not have yet.",
			since_asked, since_answer },
	[ASK_LOG] = { "LOG", "Entries that match, newest first.", log_asked,
		      log_answer },
	[ASK_SHOW] = { "SHOW", "One entry.", show_asked, show_answer },
	[ASK_NOMINATE] = { "NOMINATE",
			   "Records that changes since their birth may have "
			   "made false.",
			   nominate_asked, nominate_answer },
	[ASK_DRIFT] = { "DRIFT", "Which symbols drifted, and when last.",
			drift_asked, drift_answer },
	[ASK_SYMBOLS] = { "SYMBOLS",
			  "Symbols that lines of a file belong to, as of an "
			  "entry.",
			  symbols_asked, symbols_answer },
	[ASK_SYMBOL] = { "SYMBOL", "A symbol as it is now.", symbol_asked,
			 symbol_answer },
	[ASK_NEIGHBOURS] = { "NEIGHBOURS",
			     "Symbols near one in the graph, as it is now.",
			     neighbours_asked, neighbours_answer },
	[ASK_SOURCE] = { "SOURCE", "Lines of a file, as of an entry.",
			 source_asked, source_answer },
	[ASK_VERSIONS] = { "VERSIONS",
			   "The contents a file had, and since when.",
			   versions_asked, versions_answer },
	[ASK_CONTENT] = { "CONTENT", "A content by its hash.", content_asked,
			  content_answer },
	[ASK_BLAME] = { "BLAME", "Which entry last changed each symbol.",
			blame_asked, blame_answer },
	[ASK_READSET] = { "READSET",
			  "Paths that processes opened, listed and looked for "
			  "below the mount; only while it is mounted.",
			  readset_asked, readset_answer },
	[ASK_HOLD] = { "HOLD",
		       "Keeps the data needed to show versions from an entry "
		       "on, regardless of --keep. A second hold of the same "
		       "name replaces the first. Holds outlive the tape's "
		       "process.",
		       hold_asked, none },
	[ASK_RETIRE] = { "RETIRE",
			 "Deletes old data: contents first, entries last, and "
			 "nothing that is held or that files contain now.",
			 retire_asked, retire_answer },
	[ASK_VERIFY] = { "VERIFY", "Checks the store, which takes a while.",
			 none, verify_answer },
	[ASK_TURN] = { "TURN",
		       "Tells which turn of which conversation a process works "
		       "on, and its tool calls, after a request and its reply. "
		       "Asked by the manager; the same question twice changes "
		       "nothing.",
		       turn_asked, turn_answer },
	[ASK_ANCHOR] = { "ANCHOR",
			 "Hands a checkpoint of the newest entry to the "
			 "anchors, if there are any and they do not have it "
			 "yet. Does not wait for them: STATUS counts.",
			 none, anchor_answer },
};

const struct protocol_member protocol_record[] = {
	{ "id", PROTOCOL_ANY, true, "The client's; returned unchanged." },
	WANTED("kind", TEXT,
	       "read, edit, run or search; a search is never nominated."),
	NUMBER("birth", "The newest entry when it was observed; if unknown, "
			"an older one is sound."),
	BYTES("path", "Of a read or an edit: the file."),
	NUMBER("start_line", "Its first line; 0 or absent: the file's."),
	NUMBER("end_line", "Its last line; 0 or absent: the file's."),
	NAMES("symbols", "The symbols it covers, from SYMBOLS at its birth. "
			 "Without them the tape finds them, which is slower. "
			 "\"file:PATH\" means the lines themselves."),
	NAMES("opened", "Of a run: paths its processes opened, from READSET. "
			"Without it, any change makes it RERUN."),
	NAMES("missed", "Of a run: paths they looked for in vain."),
	NAMES("listed", "Of a run: the directories they listed."),
	END,
};

const struct protocol_member protocol_nomination[] = {
	{ "id", PROTOCOL_ANY, false, "The record's." },
	WORD("action", "The default action: REFRESH, DROP, RERUN or KEEP."),
	WORD("reason", "A sentence for people, without its full stop."),
	WORD("words", "The same for a model, without entries and processes."),
	NUMBER("entry", "The newest that falsified it."),
	LIST("symbols", "At most 16 that drifted: \"name\", \"set\" (X, dX, "
			"R), the newest \"entry\" that has it there, and "
			"\"removed\" if it is gone."),
	FLAG("more", "Present only if true: more symbols drifted."),
	END,
};

const struct protocol_member protocol_entry[] = {
	NUMBER("n", "Its number: 1, 2, 3 and so on, without a hole."),
	WORD("at", "Time of the last operation it is made of, UTC."),
	NUMBER("at_ns", "The same in nanoseconds since 1970. Has more digits "
			"than a double keeps."),
	WORD("kind", "edit, create, delete, rename; or gap: the journal lost "
		     "lines, and changes found by comparing files follow in "
		     "entries of origin recovered."),
	BYTES("path", "The file; of a rename its old name; of a gap none."),
	BYTES("path2", "Of a rename, the new name."),
	WORD("before", "The hash (XXH3-128, 32 digits) of the content before; "
		       "null: there was no such file."),
	WORD("after", "The hash of the content after; null: the file is "
		      "gone."),
	WORD("before_mode", "Type and permissions before, in octal digits, "
			    "such as 100644, or 120777 of a symbolic link; "
			    "left out: no such file, or not known."),
	WORD("after_mode", "The same after."),
	LIST("lines", "The ranges that changed: [first line before, count, "
		      "first line after, count], as in a diff. Empty if "
		      "either content is not text or not kept."),
	NUMBER("plus", "Lines added."),
	NUMBER("minus", "Lines removed."),
	LIST("X", "Symbols whose text changed, or that are gone: \"name\", "
		  "\"kind\", \"removed\"."),
	NAMES("dX", "Symbols not in X that gained or lost a call, from or to "
		    "them."),
	NAMES("R", "Symbols not in X that read a variable in X."),
	LIST("new", "Symbols that were added: \"name\", \"kind\"."),
	WORD("syntax", "ok, error (intact symbols are still known), vast (too "
		       "large for the parser: its module symbol alone), or "
		       "none if no language is known."),
	OBJECT("author", "The process that did it, see below."),
	FLAG("merged", "Present only if true: a version in between was lost, "
		       "because it could not be kept."),
	LIST("authors", "Of a merged entry: all who wrote what it holds, in "
			"the order of their first change, each as "
			"\"author\" is; \"author\" is the last of them."),
	LIST("journal", "First and last line of the journal it is made of; "
			"0, 0: none."),
	NUMBER("bytes", "Of the content after."),
	FLAG("stamped", "The file has more than 16 MiB and was not read: "
			"\"after\" is a hash of its size, inode and time of "
			"modification. Absent otherwise."),
	FLAG("marker", "Present only if true: added lines contain StateTape's "
		       "marker (\"[statetape]\"), which a model may have "
		       "imitated."),
	WORD("sha256", "The SHA-256 of the content after, 64 digits; absent if "
		       "it is larger than 1 MiB or could not be read whole."),
	WORD("sha256_before", "Present only in the first entry of a path: "
			      "that of the content before, if it is known."),
	WORD("hash", "The chain hash, 64 digits; see HASH CHAIN."),
	OBJECT("turn", "In answers, if the manager knows it: the agent's turn "
		       "that it is part of, see below."),
	END,
};

const struct protocol_member protocol_call[] = {
	WORD("id", "The client's id of it."),
	WORD("tool", "The tool's name."),
	BYTES("command", "Of a shell tool: the command."),
	NAMES("paths", "Of an editing tool: the files, from the root."),
	END,
};

const struct protocol_member protocol_turn[] = {
	WORD("conversation", "The manager's key of the conversation."),
	WORD("client", "The agent's name."),
	WORD("model", "The model's, as the turn began."),
	NUMBER("ordinal", "The turn's in its conversation, from 1."),
	NUMBER("pid", "The agent's process: the author or an ancestor."),
	BYTES("prompt", "The first words of what the user asked for; absent "
			"with \"prompts = false\"."),
	WORD("call", "The tool call's id. Without it: no call of the turn is "
		     "certain."),
	WORD("tool", "The tool's name."),
	BYTES("command", "Of a shell tool: the command."),
	END,
};

const struct protocol_member protocol_author[] = {
	WORD("origin", "mount: the journal names the process; outside: the "
		       "change did not pass through the mount; recovered: "
		       "found by comparing files with the tape. The last two "
		       "have no other members."),
	NUMBER("pid", "The process that wrote the text."),
	NUMBER("start", "When it began, in clock ticks since the host's start: "
			"its number may come again."),
	BYTES("comm", "Its command name, which it may set itself."),
	BYTES("cmdline", "Its command line, which it may set itself."),
	NUMBER("uid", "Its user."),
	BYTES("exe", "The file that it executes, by the kernel's word."),
	LIST("ancestors",
	     "Its parent first, at most 32, each with \"pid\", \"comm\", "
	     "\"cmdline\" and \"exe\" as they were then."),
	END,
};

const char *protocol_type_name(enum protocol_type type)
{
	static const char *const names[] = {
		[PROTOCOL_NUMBER] = "a whole number from 0 on",
		[PROTOCOL_TEXT] = "a string",
		[PROTOCOL_BYTES] = "a string, escaped",
		[PROTOCOL_FLAG] = "true or false",
		[PROTOCOL_NAMES] = "a list of strings, escaped",
		[PROTOCOL_LIST] = "a list",
		[PROTOCOL_OBJECT] = "an object",
		[PROTOCOL_ANY] = "anything",
	};

	return names[type];
}

enum protocol_id protocol_find(const char *name)
{
	unsigned k = 0;

	while (k < ASKS && strcmp(protocol_questions[k].name, name) != 0)
		k++;
	return (enum protocol_id)k;
}

const struct protocol_member *
protocol_member(const struct protocol_member *table, const char *name)
{
	for (; table->name; table++)
		if (table->name[0] == name[0] && strcmp(table->name, name) == 0)
			return table;
	return NULL;
}

static bool is_whole(const cJSON *item)
{
	double n = cJSON_IsNumber(item) ? item->valuedouble : -1;

	/* Beyond this a double counts in larger steps than one. */
	return n >= 0 && n < 0x1p64 && trunc(n) == n;
}

static bool is_escaped(const cJSON *item)
{
	const char *text = cJSON_GetStringValue(item);
	CLEANUP(free_p) char *copy = NULL;

	if (!text || !strchr(text, '\\'))
		return text;
	copy = strdup(text);
	return copy && escape_undo(copy) == 0;
}

static bool are_names(const cJSON *list)
{
	const cJSON *item;

	if (!cJSON_IsArray(list))
		return false;
	cJSON_ArrayForEach (item, list)
		if (!is_escaped(item))
			return false;
	return true;
}

static bool fits(const cJSON *item, enum protocol_type type)
{
	switch (type) {
	case PROTOCOL_NUMBER:
		return is_whole(item);
	case PROTOCOL_TEXT:
		return cJSON_IsString(item);
	case PROTOCOL_BYTES:
		return is_escaped(item);
	case PROTOCOL_FLAG:
		return cJSON_IsBool(item);
	case PROTOCOL_NAMES:
		return are_names(item);
	case PROTOCOL_LIST:
		return cJSON_IsArray(item);
	case PROTOCOL_OBJECT:
		return cJSON_IsObject(item);
	case PROTOCOL_ANY:
		return true;
	}
	return false;
}

static int refuse(char **ret_why, const char *what,
		  const struct protocol_member *m, bool is_there)
{
	int len = is_there
			  ? asprintf(ret_why, "\"%s\" of %s must be %s.",
				     m->name, what, protocol_type_name(m->type))
			  : asprintf(ret_why, "%s wants \"%s\", %s.", what,
				     m->name, protocol_type_name(m->type));

	if (len < 0)
		*ret_why = NULL;
	return -EINVAL;
}

static bool is_there(const cJSON *item)
{
	return item && !cJSON_IsNull(item);
}

/* One walk through the object: there may be hundreds of them in a question. */
int protocol_check(const struct protocol_member *table, const char *what,
		   const cJSON *object, char **ret_why)
{
	const struct protocol_member *m;
	const cJSON *item;

	cJSON_ArrayForEach (item, object) {
		m = item->string ? protocol_member(table, item->string) : NULL;
		if (m && is_there(item) && !fits(item, m->type))
			return refuse(ret_why, what, m, true);
	}
	for (m = table; m->name; m++)
		if (m->wanted && !is_there(cJSON_GetObjectItemCaseSensitive(
					 object, m->name)))
			return refuse(ret_why, what, m, false);
	return 0;
}
