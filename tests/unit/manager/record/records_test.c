#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/base/buf.h"
#include "manager/record/records.h"

/* A call, its result, and the expected record. */
struct row {
	const char *tool;
	const char *arguments; /* JSON or free text */
	const char *result;
	enum record_kind kind;
	const char *path;
	uint32_t start, end;
	const char *flags;   /* Failed Whole eXact Newline */
	const char *content; /* NULL: not compared */
};

#define FILE_ARG "{\"file_path\":\"a.py\"}"
#define CAT	 "{\"command\":\"cat a.py\"}"
#define REMIND                                        \
	"\n\n<system-reminder>\n<total_tokens>9 left" \
	"</total_tokens>\n</system-reminder>"

static const struct row rows[] = {
	/* Claude Code */
	{ "Read", FILE_ARG, "1\tx\n2\ty\n3\t", RECORD_READ, "a.py", 1, 2, "WXN",
	  "x\ny\n" },
	{ "Read", FILE_ARG, "1\tx\n2\ty\n3" REMIND, RECORD_READ, "a.py", 1, 2,
	  "WXN", "x\ny\n" },
	{ "Read", FILE_ARG, "     1\xe2\x86\x92x\n     2\xe2\x86\x92" REMIND,
	  RECORD_READ, "a.py", 1, 1, "WXN", "x\n" },
	{ "Read", "{\"file_path\":\"a.py\",\"offset\":5,\"limit\":2}",
	  "5\tx\n6\t", RECORD_READ, "a.py", 5, 6, "X", "x\n\n" },
	{ "Read", FILE_ARG, "File does not exist.", RECORD_READ, "a.py", 0, 0,
	  "F", "" },
	{ "Read", FILE_ARG,
	  "File unchanged since last read. Refer to the earlier result.",
	  RECORD_STUB, "a.py", 0, 0, "", "" },
	{ "Read", FILE_ARG, "Wasted call: the file is as you know it.",
	  RECORD_STUB, "a.py", 0, 0, "", "" },
	{ "Edit", FILE_ARG, "The file a.py has been updated successfully.",
	  RECORD_EDIT, "a.py", 0, 0, "", "" },
	{ "Edit", FILE_ARG,
	  "The file a.py has been updated. Here's the result of running `cat "
	  "-n` on a snippet of the edited file:\n     7\tx\n     8\ty\n",
	  RECORD_EDIT, "a.py", 7, 8, "X", "x\ny\n" },
	{ "MultiEdit", FILE_ARG, "Applied 2 edits", RECORD_EDIT, "a.py", 0, 0,
	  "", "" },
	{ "Write", FILE_ARG, "File created successfully at: a.py", RECORD_EDIT,
	  "a.py", 0, 0, "", "" },
	{ "Bash", CAT, "x\ny" REMIND, RECORD_READ, "a.py", 1, 2, "WX",
	  "x\ny\n" },
	{ "Bash", CAT, "x\n[This command modified 1 file you've read: b.]",
	  RECORD_READ, "a.py", 1, 1, "WX", "x\n" },
	{ "Bash", "{\"command\":\"pytest\"}", "Exit code 1\nfailed", RECORD_RUN,
	  NULL, 0, 0, "F", "" },
	{ "Bash", "{\"command\":\"frob a\"}", "x", RECORD_SHELL, NULL, 0, 0, "",
	  "" },
	{ "mcp__files__read_file", "{\"path\":\"a.py\"}", "x\n", RECORD_READ,
	  "a.py", 1, 1, "WX", "x\n" },
	{ "Grep", "{\"pattern\":\"x\"}", "a.py:1:x", RECORD_SEARCH, NULL, 0, 0,
	  "", "" },
	{ "WebFetch", "{}", "x", RECORD_OTHER, NULL, 0, 0, "", "" },
	{ "mcp__code__symbol", "{\"name\":\"f\"}", "x", RECORD_SHELL, NULL, 0,
	  0, "", "" },
	{ "mcp__code__outline", "{\"relative_path\":\"a.py\"}",
	  "f: 1-20 a function of two arguments\ng: 22-40 a function of one "
	  "argument\n",
	  RECORD_READ, "a.py", 0, 0, "", "" },
	{ "mcp__code__rename", "{\"relative_path\":\"a.py\"}", "done",
	  RECORD_OTHER, NULL, 0, 0, "", "" },
	/* Codex */
	{ "exec_command", "{\"cmd\":\"sed -n 3,4p a.py\",\"workdir\":\"/r\"}",
	  "Chunk ID: 1\nWall time: 0.0 seconds\nProcess exited with code 0\n"
	  "Original token count: 2\nOutput:\nx\n\n",
	  RECORD_READ, "/r/a.py", 3, 4, "X", "x\n\n" },
	{ "exec_command", "{\"cmd\":\"cat a.py\"}",
	  "Chunk ID: 1\nProcess exited with code 1\nOutput:\ncat: a.py: No "
	  "such file or directory\n",
	  RECORD_READ, "a.py", 1, 0, "F", "" },
	{ "exec_command", "{\"cmd\":\"cat a.py\"}",
	  "Chunk ID: 1\nOutput:\nWarning: truncated output (original token "
	  "count: 9)\nx\n",
	  RECORD_READ, "a.py", 1, 0, "W", "" },
	{ "shell", "{\"command\":[\"bash\",\"-lc\",\"cat a.py\"]}",
	  "Exit code: 0\nWall time: 0 seconds\nOutput:\nx\n", RECORD_READ,
	  "a.py", 1, 1, "WX", "x\n" },
	{ "exec",
	  "text((await tools.exec_command({cmd: \"cat a.py\"})).output);",
	  "Script completed\nWall time 0.1 seconds\nOutput:\nx\n", RECORD_READ,
	  "a.py", 1, 1, "WX", "x\n" },
	{ "exec",
	  "const r = await tools.exec_command({workdir: '/', cmd: "
	  "`pytest -q`}); text(r.output.slice(0, 9));",
	  "Script completed\nOutput:\nok", RECORD_RUN, NULL, 0, 0, "", "" },
	{ "exec",
	  "const r = await tools.exec_command({cmd: \"cat a.py\"});"
	  "text(JSON.stringify(r));",
	  "Script completed\nOutput:\n{}", RECORD_READ, "a.py", 1, 0, "W", "" },
	{ "exec",
	  "text(await tools.apply_patch(\"*** Begin Patch\\n*** Update File: "
	  "a.py\\n@@\\n-x\\n+y\\n*** End Patch\"));",
	  "Script completed\nWall time 0.0 seconds\nOutput:\n{}", RECORD_EDIT,
	  "a.py", 0, 0, "", "" },
	{ "exec",
	  "text((await tools.exec_command({cmd: 'cat \\'a b.py\\''})).output);",
	  "Script completed\nOutput:\nx\n", RECORD_READ, "a b.py", 1, 1, "WX",
	  "x\n" },
	{ "exec",
	  "text((await tools.exec_command({cmd: `cat "
	  "\\x61\\u002e\\u{70}y\\\n`}))"
	  ".output);",
	  "Script completed\nOutput:\nx\n", RECORD_READ, "a.py", 1, 1, "WX",
	  "x\n" },
	{ "exec", "text(await run(f))", "Script completed\nOutput:\nx",
	  RECORD_SHELL, NULL, 0, 0, "", "" },
	{ "apply_patch",
	  "*** Begin Patch\n*** Add File: a.py\n+x\n"
	  "*** Update File: b.py\n",
	  "Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess. Updated the "
	  "following files:\nA a.py\nM b.py\n",
	  RECORD_EDIT, "a.py", 0, 0, "", "" },
	{ "local_shell",
	  "{\"type\":\"exec\",\"command\":[\"bash\",\"-lc\",\"ls\"]}", "a.py",
	  RECORD_SEARCH, NULL, 0, 0, "", "" },
	/* opencode */
	{ "read", "{\"filePath\":\"a.py\"}",
	  "<path>a.py</path>\n<type>file</type>\n<content>\n1: x\n2: \n\n(End "
	  "of file - total 2 lines)\n</content>",
	  RECORD_READ, "a.py", 1, 2, "WX", "x\n\n" },
	{ "read", "{\"filePath\":\"a.py\",\"offset\":5,\"limit\":1}",
	  "<path>a.py</path>\n<type>file</type>\n<content>\n5: x\n\n(Showing "
	  "lines 5-5 of 20. Use offset=6 to continue.)\n</content>",
	  RECORD_READ, "a.py", 5, 5, "X", "x\n" },
	{ "read", "{\"filePath\":\"a.py\"}",
	  "<file>\n00001| x\n00002| y\n\n(End of file - total 2 "
	  "lines)\n</file>",
	  RECORD_READ, "a.py", 1, 2, "WX", "x\ny\n" },
	{ "read", "{\"filePath\":\"d\"}",
	  "<path>d</path>\n<type>directory</type>\n<entries>\na\n</entries>",
	  RECORD_SEARCH, "d", 0, 0, "", "" },
	{ "read", "{\"filePath\":\"a.py\"}",
	  "<path>a.py</path>\n<type>file</type>\n<content>\n1: xx... (line "
	  "truncated to 2000 chars)\n\n(End of file - total 1 "
	  "lines)\n</content>",
	  RECORD_READ, "a.py", 1, 1, "W", "" },
	{ "edit", "{\"filePath\":\"a.py\"}", "Edit applied successfully.",
	  RECORD_EDIT, "a.py", 0, 0, "", "" },
	/* qwen, gemini, others */
	{ "read_file", "{\"absolute_path\":\"/a.py\"}", "x\ny\n", RECORD_READ,
	  "/a.py", 1, 2, "WX", "x\ny\n" },
	{ "read_file", "{\"absolute_path\":\"/a.py\"}",
	  "Showing lines 1-2 of 9 total lines.\n\n---\n\nx\ny", RECORD_READ,
	  "/a.py", 1, 2, "X", "x\ny\n" },
	{ "read_file", "{\"file_path\":\"a.py\"}",
	  "\nIMPORTANT: The file content has been truncated.\nStatus: Showing "
	  "lines 5-6 of 21 total lines.\n\n--- FILE CONTENT (truncated) "
	  "---\nx\ny",
	  RECORD_READ, "a.py", 5, 6, "X", "x\ny\n" },
	{ "edit", FILE_ARG,
	  "The file: a.py has been updated. Showing lines 10-11 of 21 from "
	  "the edited file:\n\n---\n\nx\ny",
	  RECORD_EDIT, "a.py", 10, 11, "X", "x\ny\n" },
	{ "run_shell_command", "{\"command\":\"cat a.py\"}",
	  "Command: cat a.py\nDirectory: (root)\nOutput: x\ny\nError: "
	  "(none)\nExit Code: 0\nSignal: 0",
	  RECORD_READ, "a.py", 1, 2, "WX", "x\ny\n" },
	{ "str_replace_editor",
	  "{\"command\":\"view\",\"path\":\"a.py\",\"view_range\":[3,4]}",
	  "Here's the result of running `cat -n` on a.py:\n     3\tx\n     "
	  "4\ty\n",
	  RECORD_READ, "a.py", 3, 4, "X", "x\ny\n" },
	{ "str_replace_editor",
	  "{\"command\":\"str_replace\",\"path\":\"a.py\"}", "Done.",
	  RECORD_EDIT, "a.py", 0, 0, "", "" },
};

static void add_encoded(struct buf *b, const char *text)
{
	assert_int_equal(buf_reserve(b, 6 * strlen(text)), 0);
	b->len += literal_encode(text, strlen(text), b->data + b->len);
}

static void add(struct buf *b, const char *text)
{
	assert_int_equal(buf_add(b, text, strlen(text)), 0);
}

/* The shortest conversation with that call and result. */
static void write_body(struct buf *b, const struct row *r)
{
	add(b, "{\"messages\":[{\"role\":\"assistant\",\"tool_calls\":[{"
	       "\"id\":\"a\",\"function\":{\"name\":\"");
	add_encoded(b, r->tool);
	add(b, "\",\"arguments\":\"");
	add_encoded(b, r->arguments);
	add(b, "\"}}]},{\"role\":\"tool\",\"tool_call_id\":\"a\","
	       "\"content\":\"");
	add_encoded(b, r->result);
	add(b, "\"}]}");
}

static void flags_of(const struct record *r, char out[8])
{
	(void)snprintf(out, 8, "%s%s%s%s", r->failed ? "F" : "",
		       r->shape.whole ? "W" : "", r->shape.exact ? "X" : "",
		       r->shape.newline ? "N" : "");
}

/* An exact shape renders its own content to the same text. */
static bool renders(const struct record *r)
{
	char *out = NULL;
	size_t len = 0;
	bool same;

	assert_int_equal(shape_render(&r->shape, r->shape.first, r->content.at,
				      r->content.len, &out, &len),
			 0);
	same = len == r->text.len && memcmp(out, r->text.at, len) == 0;
	free(out);
	return same;
}

static int check(const struct row *row)
{
	struct buf b = BUF(1 << 20);
	struct transcript t;
	struct records rs;
	const struct record *r;
	char flags[8];
	int bad = 0;

	write_body(&b, row);
	assert_int_equal(transcript_init(&t, DIALECT_CHAT, b.data, b.len), 0);
	records_init(&rs, &t);
	assert_int_equal(rs.count, 1);
	r = records_read(&rs, 0);
	flags_of(r, flags);
	if (r->kind != row->kind || !r->path != !row->path ||
	    (row->path && strcmp(r->path, row->path) != 0) ||
	    r->start != row->start || r->end != row->end ||
	    strcmp(flags, row->flags) != 0 ||
	    r->content.len != strlen(row->content) ||
	    memcmp(r->content.at, row->content, r->content.len) != 0) {
		bad = 1;
		print_error("%s %s: %d %s %u-%u %s '%.*s'\n", row->tool,
			    row->arguments, r->kind, r->path ? r->path : "-",
			    r->start, r->end, flags, (int)r->content.len,
			    r->content.at);
	}
	/* Rendering restores a separator that the client trimmed off. */
	if (r->shape.exact && !renders(r) && !strstr(row->result, "3" REMIND)) {
		bad = 1;
		print_error("%s: not rendered the same\n", row->result);
	}
	records_release(&rs);
	transcript_release(&t);
	buf_release(&b);
	return bad;
}

static void records_are_what_the_table_says(void **state)
{
	size_t i;
	int bad = 0;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		bad += check(&rows[i]);
	assert_int_equal(bad, 0);
}

static void other_lines_are_rendered_in_the_tools_layout(void **state)
{
	struct shape s = { .number = "%0u",
			   .width = 5,
			   .separator = "| ",
			   .head = { "<file>\n", 7 },
			   .tail = { "\n\n(End of file - total 2 lines)\n",
				     32 },
			   .whole = true };
	char *out;
	size_t len;

	(void)state;
	assert_int_equal(shape_render(&s, 9, "x\n\ny\n", 5, &out, &len), 0);
	assert_string_equal(strndupa(out, len),
			    "<file>\n00009| x\n00010| \n00011| y\n\n"
			    "(End of file - total 11 lines)\n");
	free(out);
}

/* Two equal attachments, and texts that only look like one. */
static void attached_files_are_records(void **state)
{
#define CALLED                                                               \
	"{\"type\":\"text\",\"text\":\"<system-reminder>\\nCalled the Read " \
	"tool with the following input: {\\\"file_path\\\":\\\"a.py\\\"}"    \
	"\\n</system-reminder>\\n\"}"
#define SHOWN                                                                \
	"{\"type\":\"text\",\"text\":\"<system-reminder>\\nResult of "       \
	"calling the Read tool:\\n1\\tx\\n2\\ty\\n3\\t\\n</system-reminder>" \
	"\"}"
	static const char body[] =
		"{\"messages\":[{\"role\":\"user\",\"content\":[" CALLED
		"," SHOWN "," CALLED "," SHOWN "," SHOWN
		"]},{\"role\":\"assistant\",\"content\":[" CALLED "," SHOWN
		"]}]}";
	struct transcript t;
	struct records r;

	(void)state;
	assert_int_equal(
		transcript_init(&t, DIALECT_MESSAGES, body, strlen(body)), 0);
	records_init(&r, &t);
	assert_int_equal(r.count, 2);
	for (uint32_t i = 0; i < r.count; i++) {
		(void)records_read(&r, i);
		assert_true(r.at[i].attached);
		assert_int_equal(r.at[i].kind, RECORD_READ);
		assert_string_equal(r.at[i].path, "a.py");
		assert_true(r.at[i].shape.exact && r.at[i].shape.whole);
		assert_int_equal(r.at[i].content.len, 4);
		assert_memory_equal(r.at[i].content.at, "x\ny\n", 4);
	}
	assert_int_equal(t.items[r.at[0].item].id.len,
			 t.items[r.at[1].item].id.len);
	assert_memory_not_equal(t.items[r.at[0].item].id.at,
				t.items[r.at[1].item].id.at,
				t.items[r.at[0].item].id.len);
	records_release(&r);
	transcript_release(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_are_what_the_table_says),
		cmocka_unit_test(attached_files_are_records),
		cmocka_unit_test(other_lines_are_rendered_in_the_tools_layout),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
