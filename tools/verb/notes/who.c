#include "tools/verb/notes/who.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/base/json.h"
#include "tape/journal/name.h"
#include "tools/cli/say.h"
#include "tools/verb/log/process.h"

void who_release(struct who *w)
{
	free(w->tool);
	free(w->id);
	free(w->model);
	*w = (struct who){ 0 };
}

static const char *text(const cJSON *p, const char *name)
{
	return json_string_or(p, name, "");
}

/*
 * Is this git, and does it bring lines from elsewhere? A patch that it applies
 * was written by whoever runs it.
 */
static bool is_git_bringing(const cJSON *p)
{
	struct process_name name =
		process_name(text(p, "exe"), text(p, "comm"));
	struct process_name command = process_script(text(p, "cmdline"));

	return name.len == strlen("git") && memcmp(name.at, "git", 3) == 0 &&
	       !(command.len == strlen("apply") &&
		 memcmp(command.at, "apply", command.len) == 0);
}

/* The agent nearest to a process among itself and its ancestors. */
struct who_agent {
	char *tool; /* NULL: none */
	uint64_t pid;
};

static struct who_agent find_agent(const cJSON *author)
{
	struct who_agent found = { .tool = process_agent(author),
				   .pid = json_number(author, "pid", 0) };
	uint64_t below = found.pid;
	const cJSON *p;

	cJSON_ArrayForEach (p, json_member(author, "ancestors")) {
		if (found.tool)
			break;
		found = (struct who_agent){ process_agent(p),
					    json_number(p, "pid", 0) };
		/* `run` is not the agent, but the process below it is. */
		if (!found.tool)
			found = (struct who_agent){ process_run(p), below };
		below = json_number(p, "pid", 0);
	}
	return found;
}

static struct who who_of(const cJSON *author, const cJSON *turn)
{
	struct who w = { .kind = WHO_UNKNOWN };
	struct who_agent agent;

	if (strcmp(text(author, "origin"), "mount") != 0 ||
	    !json_member(author, "pid") || is_git_bringing(author))
		return w;
	w.kind = WHO_PERSON;
	agent = find_agent(author);
	if (!agent.tool)
		return w;
	w.kind = WHO_AGENT;
	w.tool = agent.tool;
	w.id = turn ? format_text("%s", text(turn, "conversation"))
		    : format_text("process-%" PRIu64, agent.pid);
	w.model = format_text("%s", json_string_or(turn, "model", "unknown"));
	return w;
}

bool who_is_same(const struct who *a, const struct who *b)
{
	if (a->kind != b->kind || !a->tool || !b->tool)
		return a->kind == b->kind;
	return strcmp(a->tool, b->tool) == 0 && strcmp(a->id, b->id) == 0;
}

void who_init(struct who *w, const cJSON *entry)
{
	const cJSON *author, *turn = json_member(entry, "turn");

	*w = who_of(json_member(entry, "author"), turn);
	cJSON_ArrayForEach (author, json_member(entry, "authors")) {
		CLEANUP(who_release)
		struct who other = who_of(author, turn);

		if (who_is_same(w, &other))
			continue;
		who_release(w);
		w->kind = WHO_SEVERAL;
		return;
	}
}
