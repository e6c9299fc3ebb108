/*
 * The vocabularies. Clients have many names for the same few tools; names are
 * compared in lower case, without a prefix ("mcp__files__") and without
 * separators between words.
 */
#include "manager/record/record_parts.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

#include "graph/base/array.h"
#include "manager/record/shell.h"

#define NAME_MAX_LEN 64

static const struct {
	enum tool_class class;
	const char *names;
} vocabulary[] = {
	{ TOOL_READ, " read readfile readfiles view viewfile openfile catfile "
		     "fsread readmanyfiles notebookread fileread "
		     "getfilecontents readtextfile cat " },
	{ TOOL_EDIT,
	  " edit multiedit editfile strreplace searchreplace replace "
	  "applypatch patch write writefile createfile create insert "
	  "notebookedit writetofile replaceinfile applydiff insertcontent "
	  "fswrite editnotebook deletefile editfiles update " },
	{ TOOL_EDITOR, " strreplaceeditor strreplacebasededittool "
		       "texteditor editor " },
	{ TOOL_SHELL,
	  " bash shell execcommand runshellcommand runterminalcmd "
	  "executecommand terminal localshell executebash runcommand execute "
	  "runinterminal shellcommand containerexec runterminalcommand "
	  "powershell writestdin bashoutput readbash runcommands " },
	{ TOOL_SCRIPT, " exec " },
	{ TOOL_SEARCH,
	  " grep glob ls list listdirectory listdir grepsearch "
	  "searchfilecontent filesearch codebasesearch find searchfiles "
	  "listfiles findfiles rg searchtext listcodedefinitionnames "
	  "searchcodebase " },
	{ TOOL_NOTHING,
	  " todowrite todoread task taskcreate taskupdate tasklist taskget "
	  "taskoutput taskstop agent dispatchagent spawnagent waitagent "
	  "closeagent sendmessage newtask delegate webfetch websearch fetch "
	  "googlewebsearch fetchurl httprequest browseraction computer "
	  "screenshot viewimage updateplan plan exitplanmode enterplanmode "
	  "exitspecmode question askuser askuserquestion requestuserinput "
	  "askfollowupquestion attemptcompletion switchmode toolsearch skill "
	  "slashcommand killshell killbash sleep wait think savememory memory "
	  "reportintent structuredoutput invalid listmcpresources "
	  "listmcpresourcestool readmcpresource readmcpresourcetool "
	  "sequentialthinking " },
};

static bool is_one_of(const char *names, const char *name, size_t len)
{
	const char *p = names;

	assert(names[0] == ' ' && len > 0 && name[0] != ' ');
	while ((p = memmem(p, strlen(p), name, len)) != NULL) {
		if (p[-1] == ' ' && p[len] == ' ')
			return true;
		p++;
	}
	return false;
}

enum tool_class tool_class(struct text name)
{
	char plain[NAME_MAX_LEN];
	size_t i, start = 0, n = 0;

	for (i = 0; i < name.len; i++) {
		if (name.at[i] == '.' ||
		    (name.at[i] == '_' && i > 0 && name.at[i - 1] == '_'))
			start = i + 1;
	}
	for (i = start; i < name.len && n < sizeof(plain); i++) {
		if (isalnum((unsigned char)name.at[i]))
			plain[n++] = (char)tolower((unsigned char)name.at[i]);
	}
	if (n == 0 || n == sizeof(plain))
		return TOOL_OTHER;
	for (i = 0; i < sizeof(vocabulary) / sizeof(*vocabulary); i++) {
		if (is_one_of(vocabulary[i].names, plain, n))
			return vocabulary[i].class;
	}
	return TOOL_OTHER;
}

/* The state of tool_call(). */
struct words {
	struct dom j;
	struct arena *arena;
	ARRAY(const char *) paths;
};

/* The member with the first of several names, each ended by a NUL. */
static uint32_t get_any(const struct words *w, uint32_t object,
			const char *names)
{
	uint32_t found;

	for (; *names; names += strlen(names) + 1) {
		found = dom_get(&w->j, object, names);
		if (found != DOM_NONE)
			return found;
	}
	return DOM_NONE;
}

static uint32_t get_number(const struct words *w, uint32_t object,
			   const char *names)
{
	int64_t n = dom_integer(&w->j, get_any(w, object, names), 0);

	return n > 0 && n < 1000000000 ? (uint32_t)n : 0;
}

static void add_path(struct words *w, uint32_t node)
{
	struct text t = dom_text(&w->j, node, w->arena);

	if (t.len > 0 && !memchr(t.at, '\0', t.len))
		array_push(&w->paths, arena_copy(w->arena, t.at, t.len));
}

static const char path_names[] =
	"file_path\0filePath\0path\0absolute_path\0target_file\0filename\0"
	"file\0notebook_path\0relative_path\0filepath\0file_name\0";

static void read_paths(struct words *w)
{
	uint32_t list = get_any(w, 0, "files\0paths\0file_paths\0");
	uint32_t i;

	add_path(w, get_any(w, 0, path_names));
	if (list == DOM_NONE || w->j.nodes[list].type != DOM_ARRAY)
		return;
	for (i = dom_first(&w->j, list); i != DOM_NONE;
	     i = dom_next(&w->j, list, i)) {
		if (w->j.nodes[i].type == DOM_OBJECT)
			add_path(w, get_any(w, i, path_names));
		else
			add_path(w, i);
	}
}

static void read_range(struct words *w, struct tool_call *c)
{
	uint32_t view = dom_get_type(&w->j, 0, "view_range", DOM_ARRAY);
	uint32_t first = dom_first(&w->j, view), second = DOM_NONE;
	int64_t n;

	c->start = get_number(w, 0,
			      "offset\0start_line\0startLine\0"
			      "start_line_one_indexed\0line_start\0");
	c->limit = get_number(w, 0, "limit\0max_lines\0");
	c->end = get_number(w, 0,
			    "end_line\0endLine\0line_end\0"
			    "end_line_one_indexed_inclusive\0");
	/* Clients with an absolute_path count lines from 0. */
	if (dom_get(&w->j, 0, "absolute_path") != DOM_NONE &&
	    dom_get(&w->j, 0, "offset") != DOM_NONE)
		c->start++;
	if (first != DOM_NONE)
		second = dom_next(&w->j, view, first);
	if (second != DOM_NONE) {
		n = dom_integer(&w->j, first, 0);
		c->start = n > 0 && n < 1000000000 ? (uint32_t)n : 0;
		n = dom_integer(&w->j, second, 0);
		c->end = n > 0 && n < 1000000000 ? (uint32_t)n : 0;
	}
	if (c->limit > 0 && c->end == 0)
		c->end = (c->start ? c->start : 1) + c->limit - 1;
}

/* A list of words as one command; of "bash -c ...", what follows -c. */
static struct text join_words(struct words *w, uint32_t list)
{
	ARRAY(char) out = { 0 };
	struct text t, all;
	uint32_t i, n = 0;

	for (i = dom_first(&w->j, list); i != DOM_NONE;
	     i = dom_next(&w->j, list, i), n++) {
		t = dom_text(&w->j, i, w->arena);
		if (n == 1 && t.len > 1 && t.at[0] == '-' &&
		    t.at[t.len - 1] == 'c')
			out.count = 0;
		else if (out.count > 0) {
			array_push(&out, ' ');
			array_append(&out, t.at, t.len);
		} else {
			array_append(&out, t.at, t.len);
		}
	}
	all = (struct text){
		arena_copy(w->arena, out.at ? out.at : "", out.count), out.count
	};
	array_release(&out);
	return all;
}

static void read_command(struct words *w, struct tool_call *c)
{
	uint32_t node = get_any(w, 0,
				"command\0cmd\0script\0commandLine\0"
				"CommandLine\0commands\0");
	struct text dir;

	if (node != DOM_NONE && w->j.nodes[node].type == DOM_ARRAY)
		c->command = join_words(w, node);
	else
		c->command = dom_text(&w->j, node, w->arena);
	node = get_any(w, 0,
		       "workdir\0cwd\0directory\0dir_path\0"
		       "working_dir\0working_directory\0");
	dir = dom_text(&w->j, node, w->arena);
	if (dir.len > 0 && !memchr(dir.at, '\0', dir.len))
		c->dir = arena_copy(w->arena, dir.at, dir.len);
}

static bool is_patch(struct text t)
{
	return memmem(t.at, t.len, "*** Begin Patch", 15) ||
	       memmem(t.at, t.len, "\n+++ ", 5);
}

/* Arguments that are a JSON object. */
static void read_object(struct words *w, struct tool_call *c)
{
	uint32_t command = dom_get(&w->j, 0, "command");

	read_paths(w);
	read_range(w, c);
	c->patch = dom_text(&w->j,
			    get_any(w, 0, "input\0patch\0patchText\0diff\0"),
			    w->arena);
	if (c->class == TOOL_EDITOR)
		c->class =
			dom_is(&w->j, command, "view") ? TOOL_READ : TOOL_EDIT;
	else
		read_command(w, c);
	if (c->class == TOOL_SCRIPT)
		c->class = TOOL_SHELL;
}

static void add_patch_paths(struct words *w, struct text patch)
{
	const char *at = patch.at, *path;
	size_t len;

	while (shell_patch_file(&at, patch.at + patch.len, &path, &len))
		array_push(&w->paths, arena_copy(w->arena, path, len));
}

void tool_call(struct text name, struct text arguments, struct arena *a,
	       struct tool_call *ret)
{
	struct words w = { .arena = a };
	size_t size;

	*ret = (struct tool_call){ .class = tool_class(name) };
	ret->command = ret->patch = ret->words = (struct text){ "", 0 };
	if (dom_scan(&w.j, arguments.at, arguments.len) == 0 &&
	    w.j.nodes[0].type == DOM_OBJECT) {
		read_object(&w, ret);
	} else if (ret->class == TOOL_SCRIPT) {
		ret->words = arguments;
		script_read(arguments, a, ret);
	} else if (ret->class == TOOL_SHELL) {
		ret->command = arguments;
	} else if (ret->class == TOOL_EDIT) {
		ret->patch = arguments;
	}
	if (is_patch(ret->patch))
		add_patch_paths(&w, ret->patch);
	ret->paths_count = w.paths.count;
	size = w.paths.count * sizeof(*ret->paths);
	ret->paths = arena_take(a, size);
	if (size > 0)
		memcpy(ret->paths, w.paths.at, size);
	ret->path = w.paths.count > 0 ? ret->paths[0] : NULL;
	array_release(&w.paths);
	dom_release(&w.j);
}
