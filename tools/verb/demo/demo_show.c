/*
 * The demo's output: each action on one line, the tape's entries, and for each
 * request that was rewritten on its way what was stale in it and what the model
 * got.
 */
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/base/json.h"
#include "manager/decide/notes.h"
#include "manager/transcript/rewrite.h"
#include "tape/wire/wire.h"
#include "tools/cli/repo.h"
#include "tools/cli/say.h"
#include "tools/verb/demo/demo.h"

#define ASK_MS	  5000
#define COLUMN	  9  /* column of the text behind a label */
#define WIDTH	  79 /* some terminals wrap at the last column */
#define LINES_MAX 16 /* lines shown of a text */

/* Reading time per character, and the longest pause. */
#define READ_MS	     17
#define READ_MOST_MS 5000

void demo_pause(bool slowly, size_t characters)
{
	size_t ms = characters * READ_MS;
	struct timespec t;

	(void)fflush(stdout);
	if (!slowly)
		return;
	if (ms > READ_MOST_MS)
		ms = READ_MOST_MS;
	t = (struct timespec){ .tv_sec = (time_t)(ms / 1000),
			       .tv_nsec = (long)(ms % 1000) * 1000000 };
	(void)nanosleep(&t, NULL);
}

int show_init(struct show *s, const char *dir)
{
	*s = (struct show){ .dir = dir,
			    .state = REPO_STATE_EMPTY,
			    .colours = colour_wanted(stdout),
			    .slowly = isatty(STDOUT_FILENO) };
	return state_init(".", 0, &s->state, NULL);
}

void show_release(struct show *s)
{
	for (size_t i = 0; i < s->held_count; i++) {
		free(s->held[i].about);
		free(s->held[i].text);
	}
	state_release(&s->state);
}

static void label(const struct show *s, enum colour c, const char *who)
{
	(void)printf("%s%-*s%s", colour_text(s->colours, c), COLUMN, who,
		     colour_text(s->colours, COLOUR_NONE));
}

/* Print a line, wrapped if it is prose; its length counts for the pause. */
static size_t show_line(const struct show *s, enum colour c, const char *line)
{
	(void)printf("%*s%s| ", COLUMN, "", colour_text(s->colours, c));
	if (*line == '[') {
		print_wrapped(stdout, line, COLUMN + 2, COLUMN + 2, WIDTH);
	} else {
		(void)print_safe(stdout, line);
		(void)putchar('\n');
	}
	(void)fputs(colour_text(s->colours, COLOUR_NONE), stdout);
	return strlen(line) + 1;
}

void show_says(struct show *s, const char *text)
{
	(void)putchar('\n');
	label(s, COLOUR_CYAN, "model");
	print_wrapped(stdout, text, COLUMN, COLUMN, WIDTH);
	demo_pause(s->slowly, strlen(text) * 2);
}

void show_tool(struct show *s, const char *tool, const char *about)
{
	label(s, COLOUR_BOLD, "agent");
	(void)printf("%s ", tool);
	(void)print_safe(stdout, about);
	(void)putchar('\n');
	demo_pause(s->slowly, 40);
}

void show_result(struct show *s, const char *about, bool file, const char *text)
{
	size_t line = strcspn(text, "\n");
	bool brief = text[line] == '\0' || text[line + 1] == '\0';

	if (s->held_count < DEMO_HELD_MAX)
		s->held[s->held_count++] =
			(struct demo_held){ must_have(strdup(about)),
					    must_have(strdup(text)), file };
	if (!brief || strcmp(text, DEMO_NO_OUTPUT) == 0)
		return;
	(void)printf("%*s%s", COLUMN, "", colour_text(s->colours, COLOUR_DIM));
	(void)print_safe(stdout, text);
	(void)printf("%s\n", colour_text(s->colours, COLOUR_NONE));
	demo_pause(s->slowly, line);
}

static size_t show_names(const cJSON *set, const char *what)
{
	size_t n = 0;
	const cJSON *x;

	cJSON_ArrayForEach (x, set) {
		const char *name = cJSON_IsString(x)
					   ? x->valuestring
					   : json_string_or(x, "name", "");

		n += (size_t)printf("%s ", what);
		n += print_safe(stdout, name);
		what = ",";
	}
	return n;
}

static void show_entry(const struct show *s, const cJSON *e)
{
	const cJSON *n = cJSON_GetObjectItem(e, "n");
	const char *who =
		json_string_or(cJSON_GetObjectItem(e, "author"), "comm", "");
	size_t len = 30;

	label(s, COLOUR_YELLOW, "tape");
	(void)printf("%.0f: %s ", cJSON_GetNumberValue(n),
		     json_string_or(e, "kind", ""));
	(void)print_safe(stdout, json_string_or(e, "path", ""));
	(void)fputs(" by ", stdout);
	(void)print_safe(stdout, *who ? who : "an unknown process");
	len += show_names(cJSON_GetObjectItem(e, "X"), "; changed:");
	len += show_names(cJSON_GetObjectItem(e, "dX"), "; touched:");
	(void)putchar('\n');
	demo_pause(s->slowly, len * 2);
}

void show_tape(struct show *s)
{
	cJSON *question = cJSON_CreateObject(), *answer = NULL;
	const cJSON *e;

	(void)wire_ask(s->state.tape_socket, "SYNC", NULL, ASK_MS, &answer);
	cJSON_Delete(answer);
	answer = NULL;
	(void)cJSON_AddNumberToObject(question, "n", s->entries);
	(void)cJSON_AddNumberToObject(question, "limit", 100);
	if (wire_ask(s->state.tape_socket, "SINCE", question, ASK_MS,
		     &answer) == 0)
		cJSON_ArrayForEach (e, cJSON_GetObjectItem(answer, "entries")) {
			show_entry(s, e);
			s->entries = cJSON_GetNumberValue(
				cJSON_GetObjectItem(e, "n"));
		}
	cJSON_Delete(answer);
	cJSON_Delete(question);
}

/* Comparing texts line by line. */

/* A line without its line number, if it has one. */
static const char *bare(const char *line)
{
	size_t digits = strspn(line, "0123456789");

	return digits && line[digits] == '\t' ? line + digits + 1 : line;
}

static bool has_line(const char *text, const char *line)
{
	size_t len = strlen(line);

	while (*text) {
		size_t n = strcspn(text, "\n");
		const char *b = bare(text);
		size_t skipped = (size_t)(b - text);

		if (skipped <= n && n - skipped == len &&
		    memcmp(b, line, len) == 0)
			return true;
		text += n + (text[n] == '\n');
	}
	return false;
}

/* The next line of *text (free it), which advances; NULL: the end. */
static char *next_line(const char **text)
{
	size_t n = strcspn(*text, "\n");
	char *line = **text ? must_have(strndup(*text, n)) : NULL;

	*text += n + ((*text)[n] == '\n');
	return line;
}

/* The number of lines of `text` that `other` lacks. */
static size_t count_missing(const char *text, const char *other)
{
	size_t n = 0;
	char *line;

	for (; (line = next_line(&text)); free(line))
		n += !has_line(other, bare(line));
	return n;
}

/* Print these lines; returns their number of characters. */
static size_t show_missing(const struct show *s, enum colour c,
			   const char *text, const char *other)
{
	size_t shown = 0, lines = 0;
	char *line;

	for (; (line = next_line(&text)); free(line)) {
		if (has_line(other, bare(line)) || lines++ >= LINES_MAX)
			continue;
		for (char *tab = line; (tab = strchr(tab, '\t'));)
			*tab = ' ';
		shown += show_line(s, c, line);
	}
	return shown;
}

/* A request as sent and as received. */

static const char *block_text(const cJSON *block)
{
	const char *text = json_string_or(block, "text", "");

	return *text ? text : json_string_or(block, "content", "");
}

static bool is_news(struct show *s, const char *text)
{
	XXH64_hash_t hash = XXH3_64bits(text, strlen(text));

	for (size_t i = 0; i < s->shown_count; i++)
		if (s->shown[i] == hash)
			return false;
	if (s->shown_count == DEMO_SHOWN_MAX)
		return false;
	s->shown[s->shown_count++] = hash;
	return true;
}

static void begin(const struct show *s, enum colour c, const char *when,
		  const char *text)
{
	label(s, c, when);
	print_wrapped(stdout, text, COLUMN, COLUMN, WIDTH);
}

static bool is_newest(const struct show *s, size_t i)
{
	for (size_t k = i + 1; k < s->held_count; k++)
		if (strcmp(s->held[k].about, s->held[i].about) == 0)
			return false;
	return true;
}

static size_t show_held(const struct show *s, const struct demo_held *h)
{
	size_t len = 0;
	CLEANUP(free_p) char *now = h->file ? demo_read(h->about, &len) : NULL;
	CLEANUP(free_p)
	char *was = format_text("the request still holds %s as it "
				"was:",
				h->about);
	CLEANUP(free_p)
	char *said = format_text("the request still holds what %s "
				 "said:",
				 h->about);
	CLEANUP(free_p)
	char *lacks = format_text("the request still holds %s "
				  "without these lines:",
				  h->about);

	if (!now) {
		begin(s, COLOUR_RED, "before", said);
		return show_missing(s, COLOUR_RED, h->text, "");
	}
	if (count_missing(h->text, now)) {
		begin(s, COLOUR_RED, "before", was);
		return show_missing(s, COLOUR_RED, h->text, now);
	}
	begin(s, COLOUR_RED, "before", lacks);
	return show_missing(s, COLOUR_RED, now, h->text);
}

/* The agent's newest result about each thing that a note mentions. */
static void show_stale(struct show *s, const char *note)
{
	for (size_t i = 0; i < s->held_count; i++)
		if (is_newest(s, i) && strstr(note, s->held[i].about))
			demo_pause(s->slowly, show_held(s, &s->held[i]) + 40);
}

static void show_note(struct show *s, const char *note)
{
	size_t len;

	show_stale(s, note);
	begin(s, COLOUR_GREEN, "after",
	      "nothing moves, so the model's prompt cache still holds; at the "
	      "end of the newest result it reads:");
	len = show_missing(s, COLOUR_GREEN, note, "");
	demo_pause(s->slowly, len + 100);
}

static void show_place(struct show *s, const char *was, const char *is)
{
	size_t len;

	begin(s, COLOUR_RED, "before",
	      "the newest result was overtaken before it was sent:");
	len = show_missing(s, COLOUR_RED, was, is);
	demo_pause(s->slowly, len + 40);
	begin(s, COLOUR_GREEN, "after",
	      "no cache holds it yet, so the model gets it put right in "
	      "its place:");
	len = show_missing(s, COLOUR_GREEN, is, was);
	demo_pause(s->slowly, len + 80);
}

/* The note that stands behind the text `was`; NULL: none. */
static const char *note_behind(const char *was, const char *is)
{
	static const char gap[] = REWRITE_GAP NOTES_MARK;
	size_t len = strlen(was);

	if (strncmp(is, was, len) != 0 ||
	    strncmp(is + len, gap, strlen(gap)) != 0)
		return NULL;
	return is + len + strlen(REWRITE_GAP);
}

static void show_blocks(struct show *s, const cJSON *sent, const cJSON *got)
{
	int n = cJSON_GetArraySize(sent);

	for (int i = 0; i < cJSON_GetArraySize(got); i++) {
		const char *is = block_text(cJSON_GetArrayItem(got, i));
		const char *was =
			i < n ? block_text(cJSON_GetArrayItem(sent, i)) : "";
		const char *note = note_behind(was, is);

		if (strcmp(is, was) == 0 || !is_news(s, is))
			continue;
		if (note)
			show_note(s, note);
		else
			show_place(s, was, is);
	}
}

void show_request(struct show *s, size_t turn, const cJSON *ours)
{
	CLEANUP(free_p)
	char *path = format_text("%s/" DEMO_REQUESTS "/%zu.received.json",
				 s->dir, turn);
	size_t len = 0;
	CLEANUP(free_p) char *got = demo_read(path, &len);
	cJSON *root = got ? cJSON_Parse(got) : NULL;
	const cJSON *m, *our = ours->child;

	cJSON_ArrayForEach (m, cJSON_GetObjectItem(root, "messages")) {
		show_blocks(s, cJSON_GetObjectItem(our, "content"),
			    cJSON_GetObjectItem(m, "content"));
		our = our ? our->next : NULL;
	}
	cJSON_Delete(root);
}
