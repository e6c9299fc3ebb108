/*
 * statetape-tape(5): the protocol of the tape's sockets and the stored format.
 * Members, questions and tables are printed from the tables that the code uses;
 * the text here is what no table has.
 */
#include <stdlib.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "tape/store/schema.h"
#include "tape/wire/protocol.h"
#include "tape/wire/wire.h"
#include "tools/cli/generate.h"
#include "tools/cli/roff.h"
#include "tools/cli/say.h"

static const char description[] =
	"The tape of a repository is a numbered log of changes to its "
	"files: one entry for each settled change of a file, with its "
	"author, the lines it touched and the symbols it changed. The tape "
	"process stores entries in an SQLite database, publishes each one, "
	"and answers questions about them.\n"
	"\n"
	"Both sockets use the scalability protocols of nng "
	"(https://nng.nanomsg.org), so any language with a library for "
	"these can use them. They are Unix sockets of mode 0600 in "
	"$XDG_RUNTIME_DIR/statetape/ID/: tape.pub to subscribe and "
	"tape.sock to ask. 'statetape status --json' prints the directory "
	"(\"sockets\" in \"tape\").\n"
	"\n"
	"Paths and names are bytes, and JSON is text. In such strings a "
	"backslash begins an escape, as in the journal: \\\\ is a "
	"backslash, \\n and \\t are as in C, and \\xHH is a byte. Paths are "
	"relative to the root of the repository.";

static const char entries[] =
	"A path is dirty from the first operation that may have changed it "
	"until it settles: when its last writer closes it, another file is "
	"renamed over it, it is removed, no process wrote to it for 200 ms, "
	"or a client asks SYNC. The tape then compares the file with its "
	"last known content; if they are equal there is no entry. A file "
	"that is written under another name and renamed over its target is "
	"one edit of the target, attributed to the process that wrote the "
	"text. A directory that moves is a rename of each of its files.\n"
	"\n"
	"Entries are numbered from 1 without gaps and never changed. Each "
	"is one JSON object:";

static const char turns[] =
	"A turn is what an agent does after one prompt of its user: requests "
	"to its model, and the tool calls in the replies. The manager sees "
	"both, and the process that makes the request. It tells the tape "
	"(TURN), which keeps this in tables of their own: conversation, turn, "
	"agent and call. Entries do not change, and the hash chain does not "
	"cover these tables: which turn an entry belongs to is the manager's "
	"word.\n"
	"\n"
	"An entry belongs to a turn if its author is the agent's process or a "
	"descendant of it, and to a call if it was made from the reply that "
	"made the call until the request that brought its result. Of several "
	"calls at once, that one whose command stands in the command line of "
	"a process between agent and author, or whose file the agent itself "
	"wrote. A process that goes on after its call is still the call's if "
	"its command line says so. In doubt an entry belongs to the turn and "
	"to no call of it. Changes of other processes in the same time belong "
	"to no turn, nor do those whose process is not known (without a "
	"mount, for one).";

static const char keeping[] =
	"A file is read after it settles. Before a process changes, replaces "
	"or removes a file whose last version the tape has not read, the file "
	"system keeps that version first: it copies the text (up to 1 MiB) or "
	"the link's target to a file in $XDG_STATE_HOME/statetape/ID/kept/, "
	"and writes a line with the operation keep to the journal. In that "
	"line \"path\" is the file, \"path2\" the name in kept/, \"off\" the "
	"number of the version's last line (0: unknown) and \"len\" its "
	"bytes; a negative \"res\" says why nothing was kept; the author is "
	"the process that makes the change, and the detail \"outside\" says "
	"that the version was made outside the mount. The tape publishes in "
	"the file \"progress\" of the same directory how far it has read, so "
	"while it keeps up nothing is copied, and removes what it has used. "
	"At most 256 MiB wait for it.";

static const char subscribing[] =
	"A message on tape.pub is the topic \"tape.\" followed by the "
	"entry's JSON. Subscribe to \"tape.\", or to \"\".\n"
	"\n"
	"The tape does not wait for subscribers: one that is more than 1,024 "
	"messages behind, or not connected, misses messages, and sees this by "
	"the numbers; one that holds up more than 16 MiB is disconnected. To "
	"get "
	"every entry exactly once, keep the number of the last entry and "
	"follow three rules:\n"
	"\n"
	"1. Subscribe first, then ask SINCE with the last number, again "
	"while \"more\" is true. The publication counts a subscriber a "
	"moment after it greeted it: ask once more after a second without a "
	"message, and after every reconnection.\n"
	"\n"
	"2. Ignore a message whose number is not greater than the last.\n"
	"\n"
	"3. When a number is not the last plus one, ask SINCE.\n"
	"\n"
	"Every subscriber then sees the same sequence, across restarts of "
	"the tape too. Entries are committed before they are published: a "
	"published entry is never withdrawn.";

static const char bytes[] =
	"Without a library, the protocols are small. Both sides of a stream "
	"connection begin with eight bytes: 0, \"SP\", 0, their protocol "
	"number as two bytes in big-endian order, and 0, 0. A subscriber "
	"sends 0x21 and receives 0x20; a client that asks sends 0x30 and "
	"receives 0x31. After that, a message is the byte 1, its length as "
	"eight bytes in big-endian order, and its bytes.\n"
	"\n"
	"On tape.pub a subscriber sends nothing more, receives every "
	"message, and ignores those with another topic. On tape.sock a "
	"question begins with four bytes that the client chooses, with the "
	"highest bit set, and its answer begins with the same four.";

static const char errors[] =
	"A question is an object with \"v\", 1, \"ask\", its name, and its "
	"members; an answer is one with \"v\", \"ok\" and its members, or, "
	"if ok is false, \"error\", a sentence. Unknown members are "
	"ignored. A member of the wrong type, or a required one that is "
	"missing, is refused. Every question can safely be repeated.";

static const char store[] =
	"The tape is $XDG_STATE_HOME/statetape/ID/tape.db. Any process of "
	"its owner may read it while it is written; one process writes, and "
	"holds a lock on tape.db-lock. The content of text files of up to 1 "
	"MiB is kept. The views log and drift are for people:";

static const char chain[] =
	"An entry's hash is the SHA-256 of the previous entry's hash (32 "
	"bytes; "
	"zeros before the first entry) and of the following, where a number is "
	"eight bytes in little-endian order, a text is its length plus one "
	"followed by its bytes, and an absent text is 0:\n"
	"\n"
	"the text \"statetape entry 2\"; n; at_ns; kind; origin (mount, "
	"outside, recovered: 0 to 2); syntax (none, ok, error, vast: 0 to 3); "
	"path; path2; 1 and the 16 bytes of \"before\", or 0; the same of "
	"\"after\"; bytes; plus; minus; the count of ranges, and each one's "
	"four numbers; "
	"the count of symbols, and each one's name, kind (function, method, "
	"class, module, variable: 0 to 4), set (X, dX, R, new: 0 to 3) and "
	"whether it was removed; the count of processes, the author first, and "
	"each one's pid, uid, start, comm, cmdline, exe and root; the first "
	"and the last line of the journal; marker; whether the content was "
	"kept; 1 and the 32 bytes of \"sha256\", or 0; the same of "
	"\"sha256_before\"; \"before_mode\" and \"after_mode\", 0: not known; "
	"the count of the authors of a merged entry, and each one as a count "
	"of processes and these. "
	"An entry that has none of these, as all in a store of format 1, "
	"begins with \"statetape entry 1\" and ends with whether the content "
	"was kept.\n"
	"\n"
	"\"before\" and \"after\" are XXH3-128: they find contents, and "
	"prove nothing, for two texts with the same hash are easily made. "
	"What proves a content is its SHA-256 in the chain: of every version "
	"of up to 1 MiB, and of what a file held before its first entry if "
	"that is kept.\n"
	"\n"
	"So 'statetape verify' finds and names an entry that was altered, "
	"removed or inserted. A process that can write the database can "
	"rebuild "
	"all of it; to detect that, keep a number and its hash elsewhere, as "
	"every subscriber has them. Entries deleted by --keep end at \"root\", "
	"from which the chain is checked.";

static const struct {
	const char *text;
	const char *lines[24];
} examples[] = {
	{ "Every entry as it comes, with the tools of nng",
	  { "nngcat --sub --subscribe=tape. --raw \\",
	    "    --dial=ipc://$XDG_RUNTIME_DIR/statetape/ID/tape.pub" } },
	{ "A question",
	  { "nngcat --req --raw --data='{\"v\":1,\"ask\":\"SYNC\"}' \\",
	    "    --dial=ipc://$XDG_RUNTIME_DIR/statetape/ID/tape.sock" } },
	{ "Every entry once, in Python with pynng",
	  { "import json, pynng, sys",
	    "run, last = 'ipc://' + sys.argv[1], 0",
	    "sub = pynng.Sub0(dial=run + '/tape.pub', topics='tape.')",
	    "req = pynng.Req0(dial=run + '/tape.sock')",
	    "def catch_up():",
	    "    global last",
	    "    more = True",
	    "    while more:",
	    "        req.send(json.dumps({'v': 1, 'ask': 'SINCE',",
	    "                             'n': last}).encode())",
	    "        got = json.loads(req.recv())",
	    "        for e in got['entries']:",
	    "            print(e['n'], e['kind'], e.get('path'))",
	    "            last = e['n']",
	    "        more = got['more']",
	    "catch_up()",
	    "while True:",
	    "    e = json.loads(sub.recv()[len('tape.'):])",
	    "    if e['n'] > last:",
	    "        catch_up()" } },
	{ "What is published, in Python alone",
	  { "import json, socket, struct, sys",
	    "s = socket.socket(socket.AF_UNIX)",
	    "s.connect(sys.argv[1] + '/tape.pub')",
	    "s.sendall(b'\\0SP\\0' + struct.pack('>HH', 0x21, 0))",
	    "f = s.makefile('rb')",
	    "assert f.read(8) == b'\\0SP\\0' + struct.pack('>HH', 0x20, 0)",
	    "while True:", "    _, size = struct.unpack('>BQ', f.read(9))",
	    "    e = json.loads(f.read(size)[len('tape.'):])",
	    "    print(e['n'], e['kind'], e.get('path'))" } },
	{ "Which functions were changed most, with SQLite's shell",
	  { "sqlite3 -readonly tape.db \"SELECT count(*), symbol FROM drift",
	    "    WHERE \\\"set\\\" = 'X' GROUP BY symbol",
	    "    ORDER BY 1 DESC LIMIT 10\"" } },
};

static void put_members(FILE *out, const struct protocol_member *m)
{
	for (; m->name; m++) {
		(void)fprintf(out, ".TP\n\\fB%s\\fR, %s%s\n", m->name,
			      protocol_type_name(m->type),
			      m->wanted ? " (wanted)" : "");
		roff_line(out, m->text, "");
	}
}

static void put_question(FILE *out, const struct protocol_question *q)
{
	(void)fprintf(out, ".SS %s\n", q->name);
	roff_text(out, q->text, ".PP");
	(void)fputs(q->asked->name ? ".PP\nAsked with:\n" : "", out);
	put_members(out, q->asked);
	(void)fputs(q->told->name ? ".PP\nAnswered with:\n" : "", out);
	put_members(out, q->told);
}

static void put_section(FILE *out, const char *title, const char *text)
{
	(void)fprintf(out, ".SH %s\n", title);
	roff_text(out, text, ".PP");
}

static void put_lines(FILE *out, const char *text)
{
	const char *end;

	(void)fputs(".PP\n.EX\n", out);
	for (; (end = strchr(text, '\n')); text = end + 1) {
		CLEANUP(free_p)
		char *line = must_have(strndup(text, (size_t)(end - text)));

		roff_example(out, line);
	}
	(void)fputs(".EE\n", out);
}

static void put_examples(FILE *out)
{
	(void)fputs(".SH EXAMPLES\n", out);
	for (size_t i = 0; i < sizeof(examples) / sizeof(*examples); i++) {
		(void)fprintf(out, ".PP\n%s:\n.PP\n.RS 4\n.EX\n",
			      examples[i].text);
		for (const char *const *l = examples[i].lines; *l; l++)
			roff_example(out, *l);
		(void)fputs(".EE\n.RE\n", out);
	}
}

void generate_man_tape(FILE *out)
{
	CLEANUP(free_p)
	char *limits =
		format_text("A question may have up to %u bytes, an answer %u; "
			    "longer ones are refused.",
			    WIRE_QUESTION_MAX, WIRE_ANSWER_MAX);

	(void)fprintf(out,
		      ".TH STATETAPE\\-TAPE 5 \"\" \"statetape %s\"\n"
		      ".SH NAME\nstatetape\\-tape \\- the log of changes "
		      "to a repository's files\n",
		      STATETAPE_VERSION);
	put_section(out, "DESCRIPTION", description);
	put_section(out, "ENTRIES", entries);
	put_members(out, protocol_entry);
	(void)fputs(".PP\nThe author is an object:\n", out);
	put_members(out, protocol_author);
	put_section(out, "TURNS", turns);
	(void)fputs(".PP\nA turn is an object:\n", out);
	put_members(out, protocol_turn);
	(void)fputs(".PP\nA call in TURN is an object:\n", out);
	put_members(out, protocol_call);
	put_section(out, "KEPT VERSIONS", keeping);
	put_section(out, "SUBSCRIBING", subscribing);
	put_section(out, "QUESTIONS", errors);
	(void)fputs(".PP\n", out);
	roff_line(out, limits, "");
	for (size_t i = 0; i < ASKS; i++)
		put_question(out, &protocol_questions[i]);
	put_section(out, "RECORDS",
		    "A record that an agent holds, as a NOMINATE question "
		    "lists it:");
	put_members(out, protocol_record);
	(void)fputs(".PP\nThe answer gives for each nominated record:\n", out);
	put_members(out, protocol_nomination);
	put_section(out, "ON THE WIRE", bytes);
	put_section(out, "THE STORE", store);
	put_lines(out, store_schema);
	put_section(out, "HASH CHAIN", chain);
	put_examples(out);
	(void)fputs(".SH SEE ALSO\n.BR statetape (1),\n.BR nngcat (1),\n"
		    ".BR nng (7),\n.BR sqlite3 (1)\n",
		    out);
}
