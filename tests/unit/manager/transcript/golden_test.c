/*
 * Golden pairs: tests/data/manager/NAME/ holds a request, the edits to make and
 * the expected body, byte for byte. The first line of the edits is the dialect;
 * the others are "replace ID STRING" or "note ID STRING", with a JSON string.
 * Applying the edits to the result must change nothing.
 */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/base/cleanup.h"
#include "manager/transcript/rewrite.h"
#include "manager/transcript/transcript.h"

#define EDITS_MAX 16

static char *slurp(const char *dir, const char *name, size_t *ret_len)
{
	CLEANUP(fclose_p) FILE *f = NULL;
	char path[1024], *data = malloc(1 << 20);

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "re");
	assert_non_null(f);
	assert_non_null(data);
	*ret_len = fread(data, 1, (1 << 20) - 1, f);
	data[*ret_len] = '\0';
	return data;
}

struct edits {
	struct replacement replacements[EDITS_MAX];
	struct rewrite_note notes[EDITS_MAX];
	size_t replacements_count, notes_count;
	struct dom j;
	struct arena arena;
};

static uint32_t result_of(const struct transcript *t, const char *id)
{
	uint32_t i;

	for (i = 0; i < t->items_count; i++) {
		if (t->items[i].kind == ITEM_RESULT &&
		    t->items[i].id.len == strlen(id) &&
		    memcmp(t->items[i].id.at, id, strlen(id)) == 0)
			return i;
	}
	fail_msg("no result %s", id);
	return ITEM_NONE;
}

static void add_line(struct edits *e, const struct transcript *t,
		     const char *line)
{
	char verb[16], id[16];
	struct text text;
	uint32_t item;
	int at;

	assert_int_equal(sscanf(line, "%15s %15s %n", verb, id, &at), 2);
	assert_int_equal(dom_scan(&e->j, line + at, strlen(line + at)), 0);
	text = dom_text(&e->j, 0, &e->arena);
	text.at = arena_copy(&e->arena, text.at, text.len);
	item = result_of(t, id);
	if (strcmp(verb, "note") == 0)
		e->notes[e->notes_count++] =
			(struct rewrite_note){ item, text.at, text.len };
	else
		e->replacements[e->replacements_count++] =
			(struct replacement){ item, text.at, text.len };
}

static void read_edits(struct edits *e, const struct transcript *t,
		       const char *dir)
{
	size_t len;
	char *text = slurp(dir, "edits", &len), *line, *rest = text;

	*e = (struct edits){ 0 };
	(void)strsep(&rest, "\n");
	while ((line = strsep(&rest, "\n")) != NULL) {
		if (*line)
			add_line(e, t, line);
	}
	free(text);
}

static enum dialect dialect_of(const char *dir)
{
	size_t len;
	char *text = slurp(dir, "edits", &len);
	enum dialect d = *text == 'm'	? DIALECT_MESSAGES
			 : *text == 'r' ? DIALECT_RESPONSES
					: DIALECT_CHAT;

	free(text);
	return d;
}

static void check_rewrite(const char *dir, const char *body, size_t len,
			  const char *want, size_t want_len)
{
	struct transcript t;
	struct edits e;
	struct rewriting r;
	char *out = NULL;
	size_t out_len = 0;

	assert_int_equal(transcript_init(&t, dialect_of(dir), body, len), 0);
	read_edits(&e, &t, dir);
	r = (struct rewriting){ e.replacements, e.replacements_count, e.notes,
				e.notes_count };
	assert_int_equal(rewrite(&t, &r, &out, &out_len), 0);
	if (out_len != want_len || memcmp(out, want, want_len) != 0)
		fail_msg("%s\nwanted %s\ngot    %s", dir, want, out);
	free(out);
	dom_release(&e.j);
	arena_release(&e.arena);
	transcript_release(&t);
}

static void check_pair(const char *dir)
{
	size_t len, want_len;
	char *body = slurp(dir, "request.json", &len);
	char *want = slurp(dir, "expected.json", &want_len);

	check_rewrite(dir, body, len, want, want_len);
	check_rewrite(dir, want, want_len, want, want_len);
	free(body);
	free(want);
}

static void edited_requests_equal_their_golden_bodies(void **state)
{
	CLEANUP(closedir_p) DIR *dir = opendir(GOLDEN_DIR);
	struct dirent *entry;
	char path[1024];
	int count = 0;

	(void)state;
	assert_non_null(dir);
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): the only thread. */
	while ((entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		(void)snprintf(path, sizeof(path), "%s/%s", GOLDEN_DIR,
			       entry->d_name);
		check_pair(path);
		count++;
	}
	assert_true(count >= 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(edited_requests_equal_their_golden_bodies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
