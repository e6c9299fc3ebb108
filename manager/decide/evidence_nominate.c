/*
 * Records into the tape's NOMINATE question, and its answer into records. An
 * id is the record's place in the list times IDS_EACH, plus which of its files
 * it is about, plus whether that file's symbols or its lines.
 *
 * A read is asked about twice. What symbols say is what the code means: an
 * edited body, a call that goes elsewhere. But the model has text before it,
 * and quotes it when it edits: a comment between two functions, or a function
 * put between them, belongs to no symbol that was read, and yet what is shown
 * is no longer what is there. So the lines themselves are asked about as well.
 */
#include "manager/decide/evidence.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"

#define REFERENTS_MAX 16
#define IDS_EACH      ((uint64_t)2 * REFERENTS_MAX)
/* Of one question, in bytes, well below what the wire takes. */
#define QUESTION_MAX (600u << 10)
#define NOMINATE_MS  1000

static void json_p(cJSON **j)
{
	cJSON_Delete(*j);
}

static const cJSON *member(const cJSON *j, const char *name)
{
	return cJSON_GetObjectItemCaseSensitive(j, name);
}

static uint64_t number_of(const cJSON *j, const char *name)
{
	const cJSON *n = member(j, name);

	return cJSON_IsNumber(n) && n->valuedouble > 0
		       ? (uint64_t)n->valuedouble
		       : 0;
}

static size_t add_names(cJSON *record, const char *member_name,
			const struct conversation *c, const uint32_t *at,
			uint32_t count)
{
	cJSON *list = cJSON_AddArrayToObject(record, member_name);
	size_t bytes = 0;

	for (uint32_t i = 0; i < count; i++) {
		const char *name = conversation_name(c, at[i]);

		(void)cJSON_AddItemToArray(list, cJSON_CreateString(name));
		bytes += strlen(name) + 3;
	}
	return bytes;
}

/* The record is about its lines, whatever symbols they belong to. */
static void add_lines(cJSON *record, const char *path)
{
	CLEANUP(free_p) char *name = NULL;

	if (asprintf(&name, "file:%s", path) < 0)
		abort();
	(void)cJSON_AddItemToArray(cJSON_AddArrayToObject(record, "symbols"),
				   cJSON_CreateString(name));
}

static size_t add_record(cJSON *list, const struct evidence *e,
			 const struct held *h, uint64_t id,
			 const struct referent *ref)
{
	bool run = !ref;
	cJSON *r = cJSON_CreateObject();
	size_t bytes = 96;

	(void)cJSON_AddNumberToObject(r, "id", (double)id);
	(void)cJSON_AddStringToObject(r, "kind",
				      run		       ? "run"
				      : h->kind == RECORD_EDIT ? "edit"
							       : "read");
	(void)cJSON_AddNumberToObject(r, "birth", (double)h->birth);
	if (ref) {
		const char *path = conversation_name(e->c, ref->path);

		(void)cJSON_AddStringToObject(r, "path", path);
		bytes += strlen(path);
		if (ref->start)
			(void)cJSON_AddNumberToObject(r, "start", ref->start);
		if (ref->end)
			(void)cJSON_AddNumberToObject(r, "end", ref->end);
		if (id % 2)
			add_lines(r, path);
	} else if (h->observed) {
		bytes += add_names(r, "opened", e->c, h->opened.at,
				   h->opened.count);
		bytes += add_names(r, "missed", e->c, h->missed.at,
				   h->missed.count);
		bytes += add_names(r, "listed", e->c, h->listed.at,
				   h->listed.count);
	}
	(void)cJSON_AddItemToArray(list, r);
	return bytes;
}

static enum action action_of(const char *name)
{
	for (int i = 0; i < ACTIONS; i++)
		if (name && strcmp(name, action_names[i]) == 0)
			return (enum action)i;
	return ACTION_KEEP;
}

static void take_symbols(struct conversation *c, struct held *h,
			 const cJSON *symbols)
{
	const cJSON *at;

	cJSON_ArrayForEach (at, symbols) {
		const char *name = cJSON_GetStringValue(member(at, "name"));
		const char *set = cJSON_GetStringValue(member(at, "set"));
		struct drifted d = { 0 };

		if (!name || !set)
			continue;
		d.name = intern_add(c->names, name, strlen(name));
		d.entry = number_of(at, "entry");
		d.set = *set;
		d.removed = cJSON_IsTrue(member(at, "removed"));
		array_push(&h->drifted, d);
	}
}

/* A sentence of the tape's, without a full stop: it is put into ours. */
static void take_sentence(char **to, const cJSON *at, const char *name)
{
	const char *text = cJSON_GetStringValue(member(at, name));
	size_t len = text ? strlen(text) : 0;

	free(*to);
	*to = NULL;
	if (!text)
		return;
	if (len && text[len - 1] == '.')
		len--;
	*to = must_alloc(len + 1);
	memcpy(*to, text, len);
	(*to)[len] = '\0';
}

/* Of several files the worst counts, and none of it can be shown anew. */
static void take_nomination(struct conversation *c, struct held *h,
			    const cJSON *at)
{
	enum action action =
		action_of(cJSON_GetStringValue(member(at, "action")));
	uint64_t entry = number_of(at, "entry");

	if (action == ACTION_KEEP)
		return;
	if (h->referents.count > 1 && action == ACTION_REFRESH)
		action = ACTION_DROP;
	take_symbols(c, h, member(at, "symbols"));
	if (h->action != ACTION_KEEP && entry <= h->entry)
		return;
	h->action = action;
	h->entry = entry;
	take_sentence(&h->why, at, "reason");
	take_sentence(&h->words, at, "words");
}

static int ask(struct evidence *e, const cJSON *q, struct held *const *held,
	       size_t count)
{
	CLEANUP(json_p) cJSON *answer = NULL;
	const cJSON *at;
	int rc;

	rc = asks_any(e->asks, "NOMINATE", q, NOMINATE_MS, &answer);
	if (rc < 0)
		return rc;
	cJSON_ArrayForEach (at, member(answer, "nominations")) {
		uint64_t id = number_of(at, "id") / IDS_EACH;

		if (id >= count)
			continue;
		held[id]->lines_drifted |= number_of(at, "id") % 2;
		take_nomination(e->c, held[id], at);
	}
	return 0;
}

static bool is_run(const struct held *h)
{
	return h->kind == RECORD_RUN || (h->kind == RECORD_SHELL && !h->file);
}

/*
 * Can what was said the last time be said of all but those whose files were
 * touched since? Not when symbols of other files drifted with them.
 */
static bool goes_on(const struct evidence *e)
{
	if (e->first || !e->entries_known || e->c->nominated_n != e->lower)
		return false;
	for (uint32_t i = 0; i < e->entries.at.count; i++)
		if (e->entries.at.at[i].elsewhere)
			return false;
	return true;
}

/* Is there anything (new) that the tape could say of it? */
static bool wanted(const struct evidence *e, const struct held *h, bool on)
{
	if (!h->tracked || h->item == ITEM_NONE ||
	    h->replaced >= REPLACED_TOMBSTONE)
		return false;
	if (!on || h->fresh || h->absent || is_run(h))
		return true;
	for (uint32_t i = 0; i < h->referents.count; i++)
		if (evidence_touched(e, h->referents.at[i].path))
			return true;
	return false;
}

static size_t add_held(cJSON *list, const struct evidence *e,
		       const struct held *h, uint64_t id)
{
	size_t bytes = 0;

	if (is_run(h))
		return add_record(list, e, h, id, NULL);
	for (uint32_t i = 0; i < h->referents.count && i < REFERENTS_MAX; i++) {
		const struct referent *ref = &h->referents.at[i];

		bytes += add_record(list, e, h, id, ref);
		/* Lines that were never touched change with their file only. */
		if (h->fresh || h->lines_drifted ||
		    evidence_touched(e, ref->path))
			bytes += add_record(list, e, h, id + 1, ref);
		id += 2;
	}
	return bytes;
}

/*
 * The tape knows nothing against it, yet it reads as no version of its file
 * does: to rely on it would be to rely on what nobody can vouch for.
 */
static void nominate_strange(const struct evidence *e, struct held *h)
{
	static const char why[] = "it was seen before anybody watched the "
				  "file, which reads otherwise now";

	if (!h->strange || h->action != ACTION_KEEP || h->item == ITEM_NONE ||
	    h->replaced != REPLACED_NOT)
		return;
	h->action = ACTION_DROP;
	h->entry = e->n > h->birth ? e->n : h->birth + 1;
	free(h->why);
	h->why = must_alloc(sizeof(why));
	memcpy(h->why, why, sizeof(why));
	free(h->words);
	h->words = NULL;
}

int evidence_nominate(struct evidence *e, struct held *const *held,
		      size_t count)
{
	bool on = goes_on(e);
	size_t i = 0;
	int rc = 0;

	for (i = 0; i < count; i++) {
		if (!wanted(e, held[i], on))
			continue;
		held[i]->action = ACTION_KEEP;
		held[i]->entry = 0;
		held[i]->drifted.count = 0;
	}
	for (i = 0; i < count && rc == 0;) {
		CLEANUP(json_p) cJSON *q = cJSON_CreateObject();
		cJSON *list = cJSON_AddArrayToObject(q, "records");
		size_t bytes = 0;

		if (!list)
			return -ENOMEM;
		for (; i < count && bytes < QUESTION_MAX; i++)
			if (wanted(e, held[i], on))
				bytes += add_held(list, e, held[i],
						  i * IDS_EACH);
		if (bytes)
			rc = ask(e, q, held, count);
	}
	for (i = 0; i < count && rc == 0; i++)
		nominate_strange(e, held[i]);
	return rc;
}
