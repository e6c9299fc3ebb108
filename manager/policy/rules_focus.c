#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/base/json.h"
#include "graph/base/path.h"
#include "manager/policy/rules_i.h"
#include "manager/transcript/transcript.h"

#define TEXTS_MOST  4 /* of the newest words */
#define EDITS_MOST  3 /* from which the graph is walked */
#define STARTS_MOST 16
#define PLACES_MOST 400
#define NAME_LEAST  3

/* -- Words. */

static bool is_name(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static void add_names(struct intern *to, struct text t)
{
	for (size_t i = 0; i < t.len;) {
		size_t from = i;

		while (i < t.len && is_name(t.at[i]))
			i++;
		if (i - from >= NAME_LEAST)
			(void)intern_add(to, t.at + from, i - from);
		i += i == from;
	}
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool names_file(struct text t, const char *path)
{
	const char *base = base_of(path);

	return memmem(t.at, t.len, base, strlen(base)) != NULL;
}

static void hear(struct rules_focus *f, const struct item *item)
{
	struct text t = transcript_text(f->in->t, item, &f->arena);

	add_names(f->said, t);
	for (uint32_t i = 0; i < f->files.count; i++)
		if (names_file(t, f->files.at[i].path))
			f->files.at[i].said = true;
}

static void hear_words(struct rules_focus *f)
{
	const struct transcript *t = f->in->t;
	unsigned heard = 0;

	add_names(f->asked, f->in->task);
	for (uint32_t i = 0; i < f->files.count; i++)
		f->files.at[i].asked =
			names_file(f->in->task, f->files.at[i].path);
	for (uint32_t i = t->items_count; i-- > 0 && heard < TEXTS_MOST;) {
		const struct item *item = &t->items[i];

		if ((item->kind != ITEM_ASSISTANT && item->kind != ITEM_USER) ||
		    !item->pieces_count)
			continue;
		hear(f, item);
		heard++;
	}
}

bool rules_is_named(const struct intern *names, const char *symbol)
{
	const char *dot = strrchr(symbol, '.');
	const char *last = dot ? dot + 1 : symbol;

	return intern_find(names, last, strlen(last)) != INTERN_NONE;
}

/* -- Files and edits. */

static uint32_t find_file(struct rules_focus *f, const char *path)
{
	const struct client_span all = { .path = path, .n = CLIENT_NOW };
	struct rules_file *file;
	uint32_t i;

	for (i = 0; i < f->files.count; i++)
		if (strcmp(f->files.at[i].path, path) == 0)
			return i;
	file = array_add(&f->files);
	file->path = path;
	file->edited = file->seen = RULES_NONE;
	file->test = strstr(path, "test") != NULL;
	if (client_symbols(f->in->client, &all, &file->symbols) == 0)
		file->there = file->symbols.language;
	return i;
}

static void list_files(struct rules_focus *f)
{
	const struct policy_in *in = f->in;

	f->file_of = must_calloc(in->count + 1, sizeof(*f->file_of));
	for (uint32_t i = 0; i < in->count; i++) {
		const struct policy_record *r = &in->records[i];
		struct rules_file *file;

		f->file_of[i] = RULES_NONE;
		if (!r->path)
			continue;
		f->file_of[i] = find_file(f, r->path);
		file = &f->files.at[f->file_of[i]];
		file->seen = i;
		if (!r->edited)
			continue;
		file->edited = i;
		array_push(&f->edits,
			   ((struct rules_edit){ i, f->file_of[i], r->now_start,
						 r->now_end }));
	}
}

/* -- The graph. */

static void set_steps(struct rules_focus *f, const char *symbol, uint8_t steps)
{
	uint32_t n = intern_add(f->names, symbol, strlen(symbol));

	while (f->steps.count <= n)
		array_push(&f->steps, RULES_FAR);
	if (steps < f->steps.at[n])
		f->steps.at[n] = steps;
}

uint8_t rules_steps_to(const struct rules_focus *f, const char *symbol)
{
	uint32_t n = intern_find(f->names, symbol, strlen(symbol));

	return n == INTERN_NONE || n >= f->steps.count ? RULES_FAR
						       : f->steps.at[n];
}

static int walk(struct rules_focus *f, const char *symbol)
{
	static const char *const steps[] = { "callers",	   "callees",
					     "subclasses", "bases",
					     "overriders", "overridden",
					     "readers",	   "read" };
	CLEANUP(json_p) cJSON *q = json_object(NULL, NULL);
	CLEANUP(json_p) cJSON *answer = NULL;
	cJSON *list = json_array(q, "steps"), *at;
	int rc;

	json_put_bytes(q, "symbol", symbol);
	json_put_number(q, "depth", RULES_FAR - 1);
	json_put_number(q, "max", PLACES_MOST);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		(void)json_push(list, cJSON_CreateString(steps[i]));
	rc = client_ask(f->in->client, "NEIGHBOURS", q, &answer);
	if (rc < 0)
		return client_is_unknown(rc) ? 0 : rc;
	cJSON_ArrayForEach (at, json_member(answer, "places")) {
		const char *other = json_string(at, "name");

		if (other)
			set_steps(f, other,
				  (uint8_t)json_number(at, "depth", RULES_FAR));
	}
	return 0;
}

static bool overlaps(const struct client_symbol *s, uint32_t start,
		     uint32_t end)
{
	return s->start && s->start <= end && s->end >= start &&
	       strcmp(s->kind, "module") != 0;
}

static int walk_edits(struct rules_focus *f)
{
	uint32_t edits = 0, starts = 0;
	int rc = 0;

	for (uint32_t i = f->edits.count;
	     rc == 0 && i-- > 0 && edits < EDITS_MOST;) {
		const struct rules_edit *e = &f->edits.at[i];
		const struct client_symbols *s = &f->files.at[e->file].symbols;

		if (!f->files.at[e->file].there)
			continue;
		edits++;
		for (uint32_t k = 0; rc == 0 && k < s->count; k++)
			if (overlaps(&s->at[k], e->start, e->end) &&
			    starts++ < STARTS_MOST)
				rc = walk(f, s->at[k].name);
	}
	return rc;
}

int rules_focus_init(struct rules_focus *f, const struct policy_in *in)
{
	*f = (struct rules_focus){ .in = in };
	f->said = intern_new();
	f->asked = intern_new();
	f->names = intern_new();
	list_files(f);
	hear_words(f);
	return walk_edits(f);
}

void rules_focus_release(struct rules_focus *f)
{
	for (uint32_t i = 0; i < f->files.count; i++)
		client_symbols_release(&f->files.at[i].symbols);
	array_release(&f->files);
	array_release(&f->edits);
	array_release(&f->steps);
	free(f->file_of);
	intern_free(f->said);
	intern_free(f->asked);
	intern_free(f->names);
	arena_release(&f->arena);
}
