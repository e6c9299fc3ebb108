/*
 * statetape status: is everything that is mounted well? Losses come first, in
 * the output and in the exit code.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/base/json.h"
#include "tape/store/aside.h"
#include "tape/store/store.h"
#include "tape/wire/wire.h"
#include "tools/cli/fit.h"
#include "tools/cli/repo.h"
#include "tools/cli/say.h"
#include "tools/cli/terminal.h"
#include "tools/cli/verbs.h"
#include "tools/verb/nothing.h"
#include "tools/verb/tape.h"

#define LAST_END     "last-end"
#define ORDERLY	     "unmounted" /* how LAST_END begins after a normal end */
#define END_MAX	     8192
#define LABEL_COLUMN 11
#define OTHERS_MS    2000

/* One repository. */
struct standing {
	struct state *state;
	cJSON *answer;	 /* NULL: not mounted */
	char *end;	 /* how the last mount ended, NULL: unknown */
	bool silent;	 /* mounted, but not answering */
	cJSON *tape;	 /* the tape's answer, NULL: not running */
	cJSON *managers; /* the managers' answers; NULL: not running */
	char *trouble;	 /* repo_trouble() */
	char *unread;	 /* why the store cannot be opened; NULL: it can */
	char **asides;	 /* stores that were set aside */
	size_t asides_count;
};

static void standing_release(struct standing *s)
{
	cJSON_Delete(s->answer);
	cJSON_Delete(s->tape);
	cJSON_Delete(s->managers);
	free(s->end);
	free(s->trouble);
	free(s->unread);
	store_asides_free(s->asides, s->asides_count);
}

/* The sentence about the end of the last mount (free it). NULL: none. */
static char *read_end(const struct state *s)
{
	CLEANUP(close_p) int fd = -1;
	char end[END_MAX];
	ssize_t n;

	if (s->dir_fd >= 0)
		fd = openat(s->dir_fd, LAST_END, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	n = read(fd, end, sizeof(end) - 1);
	if (n <= 0)
		return NULL;
	end[n] = '\0';
	end[strcspn(end, "\n")] = '\0';
	return must_have(strdup(end));
}

/* Ask a process; one that does not run is no problem. */
static cJSON *ask_other(const char *socket)
{
	cJSON *answer = NULL;

	if (wire_ask(socket, "STATUS", NULL, OTHERS_MS, &answer) == 0)
		return answer;
	cJSON_Delete(answer);
	return NULL;
}

static void ask_managers(struct standing *s)
{
	for (unsigned n = 0; n < MANAGERS_MAX; n++) {
		CLEANUP(free_p)
		char *path = manager_path(s->state, n, ".sock");
		cJSON *answer = ask_other(path);

		if (answer && !s->managers)
			s->managers = must_have(cJSON_CreateArray());
		if (answer)
			(void)cJSON_AddItemToArray(s->managers, answer);
	}
}

/* A store that the tape has open is well. */
static void look_at_store(struct standing *s)
{
	CLEANUP(free_p) char *path = tape_store_path(s->state);
	struct store *store = NULL;
	int r = -ENOENT;

	if (s->state->dir_fd < 0)
		return;
	(void)store_asides(path, &s->asides, &s->asides_count);
	if (!s->tape)
		r = store_open(path, STORE_READ, &store, &s->unread);
	if (r != -EBADMSG && r != -EPROTONOSUPPORT) {
		free(s->unread);
		s->unread = NULL;
	}
	store_free(store);
}

static void standing_init(struct standing *ret, struct state *s)
{
	int r;

	*ret = (struct standing){ .state = s };
	r = repo_ask(s, "STATUS", NULL, &ret->answer);
	if (r == -ECONNREFUSED)
		ret->end = read_end(s);
	else
		ret->silent = r < 0;
	ret->trouble = repo_trouble(s);
	ret->tape = ask_other(s->tape_socket);
	ask_managers(ret);
	look_at_store(ret);
}

static bool ended_badly(const struct standing *s)
{
	return s->end && strncmp(s->end, ORDERLY, strlen(ORDERLY)) != 0;
}

static bool has_lost(const struct standing *s)
{
	return json_number(json_member(s->answer, "journal"), "lost", 0) > 0;
}

static bool is_well(const struct standing *s)
{
	return !s->silent && !ended_badly(s) && !has_lost(s) && !s->trouble &&
	       !s->unread;
}

/* For people */

static void put_line(FILE *out, const char *line)
{
	(void)fprintf(out, "%s\n", line);
}

static void label(FILE *out, const char *name)
{
	(void)fprintf(out, "  %-*s", LABEL_COLUMN - 2, name);
}

static void print_uptime(FILE *out, uint64_t s)
{
	if (s < 60)
		(void)fprintf(out, "%" PRIu64 " s", s);
	else if (s < 3600)
		(void)fprintf(out, "%" PRIu64 " min", s / 60);
	else if (s < 86400)
		(void)fprintf(out, "%" PRIu64 " h %" PRIu64 " min", s / 3600,
			      s / 60 % 60);
	else
		(void)fprintf(out, "%" PRIu64 " d %" PRIu64 " h", s / 86400,
			      s / 3600 % 24);
}

static void print_head(FILE *out, const cJSON *a, bool colours)
{
	const char *repo = json_string_or(a, "repo", ""),
		   *at = json_string_or(a, "mountpoint", "");

	(void)fputs(colour_text(colours, COLOUR_BOLD), out);
	(void)print_safe(out, repo);
	(void)fprintf(out, "%s is mounted", colour_text(colours, COLOUR_NONE));
	if (strcmp(repo, at) != 0) {
		(void)fputs(" at ", out);
		(void)print_safe(out, at);
	}
	(void)fprintf(out, " (pid %" PRIu64 ", ", json_number(a, "pid", 0));
	print_uptime(out, json_number(a, "uptime_s", 0));
	put_line(out,
		 strcmp(json_string_or(a, "transport", ""), "io_uring") == 0
			 ? ", by io_uring)"
			 : ")");
}

static void print_lost(FILE *out, const cJSON *j, bool colours)
{
	CLEANUP(free_p)
	char *lines = count_text(json_number(j, "lost", 0), "line", "lines");
	const char *why = json_string_or(j, "error", "");

	if (!json_number(j, "lost", 0))
		return;
	label(out, "LOST");
	(void)fprintf(out, "%s%s of the journal could not be kept%s%s%s\n",
		      colour_text(colours, COLOUR_RED), lines,
		      *why ? ", and still cannot: " : "", why,
		      colour_text(colours, COLOUR_NONE));
}

static void print_journal(FILE *out, const cJSON *j, bool colours)
{
	CLEANUP(free_p)
	char *segments = count_text(json_number(j, "segments", 0), "segment",
				    "segments");
	CLEANUP(free_p) char *size = size_text(json_number(j, "bytes", 0));

	print_lost(out, j, colours);
	label(out, "journal");
	if (!cJSON_IsTrue(json_member(j, "enabled")))
		put_line(out, "off");
	else
		(void)fprintf(out,
			      "at line %" PRIu64 ", kept from %" PRIu64
			      ", in %s (%s in the newest)\n",
			      json_number(j, "head", 0),
			      json_number(j, "oldest", 0), segments, size);
}

/* Versions that were overwritten before the tape had read them. */
static void print_versions(FILE *out, const cJSON *v, bool colours)
{
	CLEANUP(free_p)
	char *waiting = size_text(json_number(v, "waiting_bytes", 0));
	uint64_t kept = json_number(v, "kept", 0);
	uint64_t merged = json_number(v, "merged", 0);
	uint64_t refused = json_number(v, "refused", 0);

	if (kept || merged || refused) {
		label(out, "versions");
		(void)fprintf(out,
			      "%" PRIu64
			      " kept for the tape (%s not read yet), "
			      "%" PRIu64 " merged\n",
			      kept, waiting, merged + refused);
	}
	if (refused) {
		label(out, "UNKEPT");
		(void)fprintf(out,
			      "%s%" PRIu64 " of them because they could not be "
			      "kept: their entries name several authors%s\n",
			      colour_text(colours, COLOUR_RED), refused,
			      colour_text(colours, COLOUR_NONE));
	}
}

static void print_watch(FILE *out, const cJSON *w)
{
	CLEANUP(free_p)
	char *dirs = count_text(json_number(w, "dirs", 0), "directory",
				"directories");
	CLEANUP(free_p)
	char *dropped =
		count_text(json_number(w, "invalidations", 0),
			   "cache entry dropped", "cache entries dropped");

	label(out, "watch");
	if (!cJSON_IsTrue(json_member(w, "enabled"))) {
		put_line(out, "off: names and attributes are asked for anew");
		return;
	}
	(void)fprintf(out, "%s, %s", dirs, dropped);
	if (json_number(w, "overflows", 0))
		(void)fprintf(out, ", %" PRIu64 " overflows",
			      json_number(w, "overflows", 0));
	if (cJSON_IsTrue(json_member(w, "limit_reached")))
		(void)fputs("; limit reached, see 'statetape doctor'", out);
	(void)fputc('\n', out);
}

/* Print an object of numbers: "write 12, create 3". Zeros are left out. */
static void print_counts(FILE *out, const char *name, const cJSON *counts)
{
	const char *between = NULL;
	const cJSON *n;

	cJSON_ArrayForEach (n, counts) {
		if (!cJSON_IsNumber(n) || n->valuedouble == 0)
			continue;
		if (!between)
			label(out, name);
		(void)fprintf(out, "%s%s %.0f", between ? between : "",
			      n->string, n->valuedouble);
		between = ", ";
	}
	if (between)
		(void)fputc('\n', out);
}

static void print_reads(FILE *out, const cJSON *r)
{
	CLEANUP(free_p)
	char *paths = count_text(json_number(r, "entries", 0), "path", "paths");
	CLEANUP(free_p)
	char *processes = count_text(json_number(r, "processes", 0), "process",
				     "processes");

	label(out, "reads");
	(void)fprintf(out, "%s of %s", paths, processes);
	if (json_number(r, "forgotten", 0))
		(void)fprintf(out, ", %" PRIu64 " forgotten",
			      json_number(r, "forgotten", 0));
	(void)fputc('\n', out);
}

static void print_memory(FILE *out, const cJSON *a)
{
	CLEANUP(free_p)
	char *inodes =
		count_text(json_number(a, "inodes", 0), "inode", "inodes");
	CLEANUP(free_p)
	char *handles = count_text(json_number(a, "handles", 0), "open file",
				   "open files");
	CLEANUP(free_p)
	char *actors =
		count_text(json_number(a, "actors", 0), "author", "authors");

	label(out, "memory");
	(void)fprintf(out, "%s, %s, %s\n", inodes, handles, actors);
}

/* How far the manager follows the tape's publication. */
static void print_subscription(FILE *out, const cJSON *t)
{
	if (!t)
		return;
	if (!cJSON_IsTrue(json_member(t, "connected")))
		(void)fputs(", not subscribed to the tape", out);
	else if (json_number(t, "n", 0))
		(void)fprintf(out, ", subscribed, at entry %" PRIu64,
			      json_number(t, "n", 0));
	else
		(void)fputs(", subscribed", out);
}

static void print_manager(FILE *out, const cJSON *manager)
{
	const cJSON *edge = json_member(manager, "edge");
	CLEANUP(free_p)
	char *requests = count_text(json_number(edge, "requests", 0), "request",
				    "requests");

	if (!edge)
		return;
	label(out, "manager");
	(void)fprintf(out, "port %" PRIu64 ", %s, %s, %" PRIu64 " rewritten",
		      json_number(edge, "port", 0),
		      json_string_or(manager, "mode", ""), requests,
		      json_number(edge, "rewritten", 0));
	if (json_number(edge, "refused", 0))
		(void)fprintf(out,
			      ", %" PRIu64
			      " refused upstream and sent again unchanged",
			      json_number(edge, "refused", 0));
	if (json_number(edge, "unreachable", 0))
		(void)fprintf(out, ", %" PRIu64 " without an answer",
			      json_number(edge, "unreachable", 0));
	if (json_number(edge, "strangers", 0))
		(void)fprintf(out, ", %" PRIu64 " refused: not the agent's",
			      json_number(edge, "strangers", 0));
	print_subscription(out, json_member(manager, "tape"));
	(void)fputc('\n', out);
	print_counts(out, "passed", json_member(edge, "passed"));
	/*
	 * Why requests were forwarded unchanged, in this session and earlier
	 * ones.
	 */
	print_counts(out, "why", json_member(manager, "passed"));
}

/* Failures of the tape come after its work. */
static void print_tape_troubles(FILE *out, const cJSON *t, bool colours)
{
	CLEANUP(free_p)
	char *skipped =
		count_text(json_number(t, "skipped", 0), "file", "files");
	CLEANUP(free_p)
	char *gaps = count_text(json_number(t, "gaps", 0), "gap", "gaps");
	CLEANUP(free_p)
	char *markers =
		count_text(json_number(t, "markers", 0), "entry", "entries");

	if (json_number(t, "skipped", 0))
		(void)fprintf(out, ", %s%s skipped%s",
			      colour_text(colours, COLOUR_YELLOW), skipped,
			      colour_text(colours, COLOUR_NONE));
	if (json_number(t, "gaps", 0))
		(void)fprintf(out, ", %s%s%s", colour_text(colours, COLOUR_RED),
			      gaps, colour_text(colours, COLOUR_NONE));
	if (json_number(t, "markers", 0))
		(void)fprintf(out,
			      ", %s%s with a note of StateTape's in the text%s",
			      colour_text(colours, COLOUR_YELLOW), markers,
			      colour_text(colours, COLOUR_NONE));
	if (json_number(json_member(t, "watch"), "refused", 0))
		(void)fprintf(
			out, ", %s%" PRIu64 " directories not watched%s",
			colour_text(colours, COLOUR_YELLOW),
			json_number(json_member(t, "watch"), "refused", 0),
			colour_text(colours, COLOUR_NONE));
}

static void print_tape(FILE *out, const cJSON *t, bool colours)
{
	CLEANUP(free_p)
	char *entries =
		count_text(json_number(t, "entries", 0), "entry", "entries");
	CLEANUP(free_p)
	char *size = size_text(json_number(t, "store_bytes", 0));

	if (!t)
		return;
	label(out, "tape");
	if (!cJSON_IsTrue(json_member(t, "ready"))) {
		(void)fprintf(out, "starting (pid %" PRIu64 ")\n",
			      json_number(t, "pid", 0));
		return;
	}
	(void)fprintf(out,
		      "at entry %" PRIu64 ", %s kept (%s), %" PRIu64 " pending",
		      json_number(t, "n", 0), entries, size,
		      json_number(t, "pending", 0));
	print_tape_troubles(out, t, colours);
	(void)fprintf(out, " (pid %" PRIu64 ")\n", json_number(t, "pid", 0));
}

static void print_anchors(FILE *out, const cJSON *anchors, bool colours)
{
	const cJSON *a;

	cJSON_ArrayForEach (a, anchors) {
		uint64_t failed = json_number(a, "failed", 0);

		label(out, "anchor");
		(void)print_safe(out, json_string_or(a, "anchor", ""));
		(void)fprintf(out, ": at entry %" PRIu64,
			      json_number(a, "n", 0));
		if (failed)
			(void)fprintf(out, ", %s%" PRIu64 " failed%s",
				      colour_text(colours, COLOUR_RED), failed,
				      colour_text(colours, COLOUR_NONE));
		if (json_string(a, "why"))
			(void)fprintf(out, " (%s)", json_string(a, "why"));
		(void)fputc('\n', out);
	}
}

static void print_asides(FILE *out, const struct standing *s, bool colours)
{
	if (s->unread) {
		label(out, "TAPE");
		(void)fputs(colour_text(colours, COLOUR_RED), out);
		(void)print_safe(out, s->unread);
		(void)fprintf(
			out,
			"%s The next tape sets it aside and begins a new "
			"one; 'statetape log --store FILE' reads what can "
			"be read of it\n",
			colour_text(colours, COLOUR_NONE));
	}
	for (size_t i = 0; i < s->asides_count; i++) {
		label(out, "aside");
		(void)fputs("an earlier tape is '", out);
		(void)print_safe(out, s->asides[i]);
		put_line(out,
			 "'; 'statetape log --store FILE' reads what can be "
			 "read of it");
	}
}

static void print_mounted(FILE *out, const cJSON *a, bool colours)
{
	print_head(out, a, colours);
	print_journal(out, json_member(a, "journal"), colours);
	print_versions(out, json_member(a, "versions"), colours);
	print_counts(out, "ops", json_member(a, "ops"));
	print_counts(out, "errors", json_member(a, "errors"));
	print_watch(out, json_member(a, "watch"));
	print_reads(out, json_member(a, "reads"));
	print_memory(out, a);
	print_counts(out, "cache", json_member(a, "cache"));
}

static void print_files(FILE *out, const struct standing *s, bool colours)
{
	if (s->answer) {
		print_mounted(out, s->answer, colours);
		return;
	}
	/* A process that does not answer was reported before. */
	if (s->silent)
		return;
	(void)fputs(colour_text(colours, COLOUR_BOLD), out);
	(void)print_safe(out, s->state->repo);
	(void)fprintf(
		out, "%s %s%s\n", colour_text(colours, COLOUR_NONE),
		s->trouble ? "does not answer" : "is not mounted",
		s->tape ? ": changes are found later, without their authors"
			: "");
	if (!s->end)
		return;
	label(out, "last");
	(void)fputs(
		colour_text(colours, ended_badly(s) ? COLOUR_RED : COLOUR_NONE),
		out);
	(void)print_safe(out, s->end);
	(void)fprintf(out, "%s\n", colour_text(colours, COLOUR_NONE));
}

static void print_standing(FILE *out, const struct standing *s, bool colours)
{
	const cJSON *manager;

	print_files(out, s, colours);
	if (s->trouble) {
		label(out, "TROUBLE");
		(void)fprintf(out, "%s%s%s\n", colour_text(colours, COLOUR_RED),
			      s->trouble, colour_text(colours, COLOUR_NONE));
	}
	print_tape(out, s->tape, colours);
	print_anchors(out, json_member(s->tape, "anchors"), colours);
	print_asides(out, s, colours);
	cJSON_ArrayForEach (manager, s->managers)
		print_manager(out, manager);
}

static void print_fitting(const struct standing *s)
{
	CLEANUP(free_p) char *text = NULL;
	size_t size;
	FILE *out = must_have(open_memstream(&text, &size));

	print_standing(out, s, colour_wanted(stdout));
	(void)fclose(out);
	print_lines_fitted(stdout, must_have(text), LABEL_COLUMN,
			   terminal_room());
}

/* For programs: the answers, or null. */
static void print_standing_json(const struct standing *s)
{
	CLEANUP(free_p)
	char *managers =
		s->managers ? must_have(cJSON_PrintUnformatted(s->managers))
			    : NULL;
	CLEANUP(free_p)
	char *tape =
		s->tape ? must_have(cJSON_PrintUnformatted(s->tape)) : NULL;
	char *whole;

	if (s->answer && s->trouble)
		(void)cJSON_AddStringToObject(s->answer, "trouble", s->trouble);
	if (s->answer && managers)
		(void)cJSON_AddRawToObject(s->answer, "managers", managers);
	if (s->answer && tape)
		(void)cJSON_AddRawToObject(s->answer, "tape", tape);
	whole = s->answer ? must_have(cJSON_PrintUnformatted(s->answer)) : NULL;
	if (whole) {
		(void)puts(whole);
		cJSON_free(whole);
		return;
	}
	(void)fputs("{\"ok\":false,\"mounted\":", stdout);
	(void)fputs(s->silent ? "true" : "false", stdout);
	(void)fputs(",\"repo\":", stdout);
	print_json_string(stdout, s->state->repo);
	if (s->end) {
		(void)fputs(",\"last_end\":", stdout);
		print_json_string(stdout, s->end);
	}
	if (s->trouble) {
		(void)fputs(",\"trouble\":", stdout);
		print_json_string(stdout, s->trouble);
	}
	if (managers)
		(void)printf(",\"managers\":%s", managers);
	if (tape)
		(void)printf(",\"tape\":%s", tape);
	if (s->unread) {
		(void)fputs(",\"tape_unread\":", stdout);
		print_json_string(stdout, s->unread);
	}
	(void)puts("}");
}

static int show(const struct standing *s, bool json)
{
	if (json)
		print_standing_json(s);
	else
		print_fitting(s);
	return is_well(s) ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int show_one(const char *repo, bool json)
{
	CLEANUP(state_release) struct state state = REPO_STATE_EMPTY;
	CLEANUP(standing_release) struct standing s = { 0 };

	if (repo_find(repo, &state) < 0)
		return EXIT_FAILURE;
	standing_init(&s, &state);
	return show(&s, json);
}

/* Print it if it is mounted or has something to report. */
static int show_if_worth(const char *id, bool json, size_t *shown)
{
	CLEANUP(state_release) struct state state = REPO_STATE_EMPTY;
	CLEANUP(standing_release) struct standing s = { 0 };

	if (state_init_id(id, &state, NULL) < 0)
		return EXIT_SUCCESS;
	standing_init(&s, &state);
	if (!s.answer && !s.tape && !s.managers && is_well(&s))
		return EXIT_SUCCESS;
	if ((*shown)++ && !json)
		(void)putchar('\n');
	return show(&s, json);
}

static void show_none(bool json)
{
	CLEANUP(state_release) struct state here = REPO_STATE_EMPTY;

	if (json)
		(void)puts("[]");
	else if (repo_find_here(&here) == 0)
		(void)puts("Nothing is mounted.");
	else
		(void)puts("Nothing is mounted.\n" NOTHING_RECORDED);
}

static int show_all(bool json)
{
	int code = EXIT_SUCCESS;
	size_t n = 0, shown = 0;
	char **ids = NULL;
	int r = state_list(&ids, &n);

	if (r < 0)
		return say_error("the state directory cannot be read: %s",
				 errno_text(r));
	for (size_t i = 0; i < n; i++)
		if (show_if_worth(ids[i], json, &shown) != EXIT_SUCCESS)
			code = EXIT_FAILURE;
	state_list_free(ids, n);
	if (shown == 0)
		show_none(json);
	return code;
}

int verb_status(const struct invocation *in)
{
	bool json = in->options[OPTION_JSON].given;

	return in->arguments[0] ? show_one(in->arguments[0], json)
				: show_all(json);
}
