/*
 * An entry as JSON: statetape-tape(5) says what its members mean.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "graph/base/json.h"
#include "graph/build/look.h"
#include "graph/graph.h"
#include "tape/journal/journal.h"
#include "tape/query/answers.h"
#include "tape/store/entry.h"

#define ANCESTORS_MAX 32

const char *entry_kind_name(enum entry_kind kind)
{
	static const char *const names[ENTRY_KINDS] = {
		[ENTRY_EDIT] = "edit",	   [ENTRY_CREATE] = "create",
		[ENTRY_DELETE] = "delete", [ENTRY_RENAME] = "rename",
		[ENTRY_GAP] = "gap",
	};

	return kind < ENTRY_KINDS ? names[kind] : "unknown";
}

const char *symbol_kind_name(unsigned kind)
{
	static const char *const names[SYMBOL_KINDS] = {
		[SYMBOL_FUNCTION] = "function", [SYMBOL_METHOD] = "method",
		[SYMBOL_CLASS] = "class",	[SYMBOL_MODULE] = "module",
		[SYMBOL_VARIABLE] = "variable",
	};

	return kind < SYMBOL_KINDS ? names[kind] : "unknown";
}

static void put_process(cJSON *to, const struct journal_author *a)
{
	json_put_number(to, "pid", a->pid);
	json_put_number(to, "start", a->start);
	json_put_bytes(to, "comm", a->comm ? a->comm : "");
	json_put_bytes(to, "cmdline", a->cmdline ? a->cmdline : "");
	json_put_bytes(to, "exe", a->exe ? a->exe : "");
}

static void put_author(cJSON *o, const struct journal_author *a,
		       enum entry_origin origin)
{
	cJSON *list;

	json_put_text(o, "origin", entry_origin_name(origin));
	if (!a)
		return;
	put_process(o, a);
	json_put_number(o, "uid", a->uid);
	list = json_array(o, "ancestors");
	a = a->parent;
	for (int k = 0; a && k < ANCESTORS_MAX; k++, a = a->parent)
		put_process(json_push_object(list), a);
}

/* Several, if it is merged. */
static void put_authors(cJSON *to, const struct entry *e)
{
	cJSON *list;

	put_author(json_object(to, "author"), e->author, e->origin);
	if (!e->authors_count)
		return;
	json_put_bool(to, "merged", true);
	list = json_array(to, "authors");
	for (size_t k = 0; k < e->authors_count; k++)
		put_author(json_push_object(list), e->authors[k],
			   e->authors[k] ? ENTRY_MOUNT : ENTRY_OUTSIDE);
}

static void put_lines(cJSON *to, const struct entry *e)
{
	cJSON *list = json_array(to, "lines");

	for (size_t k = 0; k < e->ranges_count; k++) {
		const struct entry_range *r = &e->ranges[k];
		cJSON *one = json_push(list, json_array(NULL, NULL));

		json_push_number(one, r->before);
		json_push_number(one, r->before_count);
		json_push_number(one, r->after);
		json_push_number(one, r->after_count);
	}
	json_put_number(to, "plus", e->plus);
	json_put_number(to, "minus", e->minus);
}

static void put_symbols(cJSON *to, const struct entry *e)
{
	static const char *const names[ENTRY_SETS] = {
		[ENTRY_X] = "X",
		[ENTRY_DX] = "dX",
		[ENTRY_R] = "R",
		[ENTRY_ADDED] = "new",
	};
	cJSON *sets[ENTRY_SETS];

	for (int k = 0; k < ENTRY_SETS; k++)
		sets[k] = json_array(to, names[k]);
	for (size_t k = 0; k < e->symbols_count; k++) {
		const struct entry_symbol *s = &e->symbols[k];
		cJSON *o;

		assert(s->set < ENTRY_SETS);
		if (s->set == ENTRY_DX || s->set == ENTRY_R) {
			(void)json_push(sets[s->set], json_bytes(s->name));
			continue;
		}
		o = json_push_object(sets[s->set]);
		json_put_bytes(o, "name", s->name);
		json_put_text(o, "kind", symbol_kind_name(s->kind));
		if (s->removed)
			json_put_bool(o, "removed", true);
	}
}

/* As git writes it: the type and the permissions. */
static void put_mode(cJSON *to, const char *name, uint32_t mode)
{
	char text[16];

	if (!mode)
		return;
	(void)snprintf(text, sizeof(text), "%06o", mode);
	json_put_text(to, name, text);
}

static void put_content(cJSON *to, const struct entry *e)
{
	static const char *const syntax[] = {
		[ENTRY_NO_LANGUAGE] = "none",
		[ENTRY_PARSES] = "ok",
		[ENTRY_BROKEN] = "error",
		[ENTRY_VAST] = "vast",
	};

	assert(e->syntax <= ENTRY_VAST);
	if (e->had)
		json_put_hash(to, "before", e->before);
	else
		json_put(to, "before", cJSON_CreateNull());
	if (e->has)
		json_put_hash(to, "after", e->after);
	else
		json_put(to, "after", cJSON_CreateNull());
	put_mode(to, "before_mode", e->mode_before);
	put_mode(to, "after_mode", e->mode_after);
	put_lines(to, e);
	put_symbols(to, e);
	json_put_text(to, "syntax", syntax[e->syntax]);
}

_Static_assert(ENTRY_CHAIN_SIZE == ENTRY_SHA_SIZE, "both are SHA-256");

static void put_sha(cJSON *to, const char *name,
		    const uint8_t sha[ENTRY_SHA_SIZE])
{
	char hex[2 * ENTRY_SHA_SIZE + 1];

	for (size_t k = 0; k < ENTRY_SHA_SIZE; k++)
		(void)snprintf(hex + 2 * k, 3, "%02x", sha[k]);
	json_put_text(to, name, hex);
}

void entry_json_who(cJSON *entry, cJSON *to)
{
	static const char *const members[] = { "author", "merged", "authors" };

	for (size_t k = 0; k < sizeof(members) / sizeof(*members); k++)
		if (json_member(entry, members[k]))
			json_put(to, members[k],
				 cJSON_DetachItemFromObjectCaseSensitive(
					 entry, members[k]));
}

cJSON *entry_json(const struct entry *e)
{
	cJSON *o = json_object(NULL, NULL), *journal;

	json_put_number(o, "n", e->n);
	json_put_iso(o, "at", e->at_ns);
	json_put_time(o, "at_ns", e->at_ns);
	json_put_text(o, "kind", entry_kind_name(e->kind));
	if (e->path)
		json_put_bytes(o, "path", e->path);
	if (e->path2)
		json_put_bytes(o, "path2", e->path2);
	put_content(o, e);
	put_authors(o, e);
	journal = json_array(o, "journal");
	json_push_number(journal, e->journal_first);
	json_push_number(journal, e->journal_last);
	json_put_number(o, "bytes", e->bytes);
	if (e->bytes > LOOK_HASH_MAX)
		json_put_bool(o, "stamped", true);
	if (e->marker)
		json_put_bool(o, "marker", true);
	if (e->has_sha)
		put_sha(o, "sha256", e->after_sha);
	if (e->had_sha)
		put_sha(o, "sha256_before", e->before_sha);
	put_sha(o, "hash", e->chain);
	return o;
}
