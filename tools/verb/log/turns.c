#include "tools/verb/log/turns.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/base/json.h"
#include "tools/cli/say.h"
#include "tools/cli/when.h"
#include "tools/verb/log/paragraph.h"

#define COMMAND_MAX 100

/* Entries of one call, newest first; owned. */
struct turns_call {
	const char *id; /* of its newest entry; "": no call is known */
	ARRAY(cJSON *) entries;
};

struct turns_turn {
	uint64_t ordinal;
	ARRAY(struct turns_call) calls; /* newest first */
};

struct turns_talk {
	const char *key;
	ARRAY(struct turns_turn) turns; /* newest first */
};

static const char *text(const cJSON *j, const char *name)
{
	return json_string_or(j, name, "");
}

static void talk_free(struct turns_talk *k)
{
	for (uint32_t i = 0; i < k->turns.count; i++) {
		struct turns_turn *t = &k->turns.at[i];

		for (uint32_t c = 0; c < t->calls.count; c++) {
			for (uint32_t e = 0; e < t->calls.at[c].entries.count;
			     e++)
				cJSON_Delete(t->calls.at[c].entries.at[e]);
			array_release(&t->calls.at[c].entries);
		}
		array_release(&t->calls);
	}
	array_release(&k->turns);
	free(k);
}

void turns_release(struct turns *t)
{
	for (uint32_t i = 0; i < t->talks.count; i++)
		talk_free(t->talks.at[i]);
	array_release(&t->talks);
	*t = (struct turns){ .count = 0 };
}

/* -- Adding. */

static struct turns_talk *talk_of(struct turns *t, const char *key)
{
	struct turns_talk *k;

	for (uint32_t i = 0; i < t->talks.count; i++)
		if (strcmp(t->talks.at[i]->key, key) == 0)
			return t->talks.at[i];
	k = must_calloc(1, sizeof(*k));
	k->key = key;
	array_push(&t->talks, k);
	return k;
}

static struct turns_turn *find_turn(struct turns_talk *k, uint64_t ordinal)
{
	for (uint32_t i = 0; i < k->turns.count; i++)
		if (k->turns.at[i].ordinal == ordinal)
			return &k->turns.at[i];
	return NULL;
}

static struct turns_call *call_of(struct turns_turn *t, const char *id)
{
	struct turns_call *c;

	for (uint32_t i = 0; i < t->calls.count; i++)
		if (strcmp(t->calls.at[i].id, id) == 0)
			return &t->calls.at[i];
	c = array_add(&t->calls);
	c->id = id;
	return c;
}

bool turns_add(struct turns *t, cJSON *entry, uint64_t most)
{
	const cJSON *turn = json_member(entry, "turn");
	uint64_t ordinal = json_number(turn, "ordinal", 0);
	struct turns_talk *talk;
	struct turns_turn *in;

	if (!turn) {
		cJSON_Delete(entry);
		return true;
	}
	talk = talk_of(t, text(turn, "conversation"));
	in = find_turn(talk, ordinal);
	if (!in && t->count >= most) {
		if (!talk->turns.count) {
			t->talks.count--;
			talk_free(talk);
		}
		cJSON_Delete(entry);
		return false;
	}
	if (!in) {
		in = array_add(&talk->turns);
		in->ordinal = ordinal;
		t->count++;
	}
	array_push(&call_of(in, text(turn, "call"))->entries, entry);
	return true;
}

/* -- Printing. */

static const cJSON *newest_of(const struct turns_turn *t)
{
	return t->calls.at[0].entries.at[0];
}

static void print_call(FILE *out, const struct turns_call *c,
		       struct entry_style style)
{
	const cJSON *turn = json_member(c->entries.at[0], "turn");
	CLEANUP(paragraph_files_release) struct paragraph_files f = { 0 };
	const char *command = text(turn, "command");
	CLEANUP(free_p)
	char *line = format_text("%.*s%s", COMMAND_MAX, command,
				 strlen(command) > COMMAND_MAX ? "..." : "");

	(void)fputs("    ", out);
	(void)print_safe(out,
			 *c->id ? text(turn, "tool") : "(no call for certain)");
	(void)fputs(*line ? "  " : "", out);
	(void)print_safe(out, line);
	(void)fputc('\n', out);
	paragraph_files((const cJSON *const *)c->entries.at, c->entries.count,
			&f);
	for (uint32_t i = 0; i < f.list.count; i++) {
		(void)fprintf(out, "        %-6s ",
			      paragraph_kind(&f.list.at[i]));
		paragraph_print_file(out, &f.list.at[i], style);
		(void)fputc('\n', out);
	}
}

/* Its calls in the order they were made: a person reads on from the prompt. */
static void print_turn(FILE *out, const struct turns_turn *t,
		       struct entry_style style)
{
	const struct turns_call *first = &t->calls.at[t->calls.count - 1];
	const cJSON *oldest = first->entries.at[first->entries.count - 1];
	const char *prompt = text(json_member(oldest, "turn"), "prompt");
	char date[WHEN_TEXT_SIZE];

	when_text((int64_t)json_number(oldest, "at_ns", 0), 1, date,
		  sizeof(date));
	(void)fprintf(out, "  %sturn %" PRIu64 "%s  %s%s",
		      colour_text(style.colours, COLOUR_YELLOW), t->ordinal,
		      colour_text(style.colours, COLOUR_NONE), date,
		      *prompt ? "  " : "");
	(void)print_safe(out, prompt);
	(void)fputc('\n', out);
	for (uint32_t i = t->calls.count; i-- > 0;)
		print_call(out, &t->calls.at[i], style);
}

void turns_print(FILE *out, const struct turns *t, struct entry_style style)
{
	if (!t->talks.count)
		(void)fputs("no entry belongs to a turn; turns are known for "
			    "agents that 'statetape run' started\n",
			    out);
	for (uint32_t i = 0; i < t->talks.count; i++) {
		const struct turns_talk *k = t->talks.at[i];
		const cJSON *turn =
			json_member(newest_of(&k->turns.at[0]), "turn");

		(void)fprintf(out, "%s%sconversation %.8s%s  ", i ? "\n" : "",
			      colour_text(style.colours, COLOUR_BOLD), k->key,
			      colour_text(style.colours, COLOUR_NONE));
		(void)print_safe(out, text(turn, "client"));
		(void)fputs(*text(turn, "client") ? ", " : "", out);
		(void)print_safe(out, text(turn, "model"));
		(void)fputc('\n', out);
		for (uint32_t n = 0; n < k->turns.count; n++)
			print_turn(out, &k->turns.at[n], style);
	}
}
