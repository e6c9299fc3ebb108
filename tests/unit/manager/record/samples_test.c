/*
 * Requests recorded from real clients. They are not in the repository:
 * $STATETAPE_SAMPLES, or else SAMPLES_DIR, names their directory; without it
 * the test is skipped. Each must be read, come out unchanged without edits, and
 * have a call for every result; and the records of each client's longest
 * request must be the steps of the script that was played to it.
 */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "graph/base/cleanup.h"
#include "manager/record/records.h"
#include "manager/transcript/rewrite.h"

/* The kind of each of the script's steps, a letter() each. */
static const char steps[] = "rreUSrerrSorerorSrreo";

static const struct {
	const char *dir;
	enum dialect dialect;
	const char *longest;
} clients[] = {
	{ "claude", DIALECT_MESSAGES, "021.json" },
	{ "opencode-anthropic", DIALECT_MESSAGES, "021.json" },
	{ "opencode-chat", DIALECT_CHAT, "021.json" },
	{ "codex", DIALECT_RESPONSES, "021.json" },
	{ "codex-gpt-5.5", DIALECT_RESPONSES, "020.json" },
};

static const char *samples;

static char letter(enum record_kind kind)
{
	static const char letters[] = "reUSh?o";

	return letters[kind];
}

static void check_records(const struct transcript *t)
{
	struct records rs;
	char *out;
	size_t len;
	uint32_t i;

	records_init(&rs, t);
	assert_int_equal(rs.count, strlen(steps));
	for (i = 0; i < rs.count; i++) {
		const struct record *r = records_read(&rs, i);

		if (letter(r->kind) != steps[i])
			fail_msg("step %u (%s %s): kind %c", i, r->tool,
				 r->command ? r->command : "", letter(r->kind));
		if (r->kind == RECORD_READ || r->kind == RECORD_EDIT)
			assert_non_null(r->path);
		if (!r->shape.exact)
			continue;
		assert_int_equal(shape_render(&r->shape, r->shape.first,
					      r->content.at, r->content.len,
					      &out, &len),
				 0);
		assert_int_equal(len, r->text.len);
		assert_memory_equal(out, r->text.at, len);
		free(out);
	}
	records_release(&rs);
}

static void check_body(size_t client, const char *name, const char *body,
		       size_t len)
{
	struct rewriting nothing = { 0 };
	struct transcript t;
	char *out;
	size_t out_len;
	uint32_t i;

	assert_int_equal(
		transcript_init(&t, clients[client].dialect, body, len), 0);
	for (i = 0; i < t.items_count; i++) {
		if (t.items[i].kind == ITEM_RESULT)
			assert_int_not_equal(t.items[i].other, ITEM_NONE);
	}
	assert_false(t.repeated || t.partial);
	assert_true(t.marks <= 4);
	assert_int_equal(rewrite(&t, &nothing, &out, &out_len), 0);
	assert_int_equal(out_len, len);
	assert_memory_equal(out, body, len);
	free(out);
	if (strcmp(name, clients[client].longest) == 0)
		check_records(&t);
	transcript_release(&t);
}

static void check_file(size_t client, const char *name)
{
	CLEANUP(fclose_p) FILE *f = NULL;
	CLEANUP(free_p) char *body = NULL;
	char path[1024];
	struct stat st;

	(void)snprintf(path, sizeof(path), "%s/%s/%s", samples,
		       clients[client].dir, name);
	f = fopen(path, "re");
	assert_non_null(f);
	assert_int_equal(fstat(fileno(f), &st), 0);
	body = malloc((size_t)st.st_size + 1);
	assert_non_null(body);
	assert_int_equal(fread(body, 1, (size_t)st.st_size, f), st.st_size);
	check_body(client, name, body, (size_t)st.st_size);
}

static void requests_of_real_clients_are_read(void **state)
{
	size_t c, files = 0;

	(void)state;
	for (c = 0; c < sizeof(clients) / sizeof(*clients); c++) {
		CLEANUP(closedir_p) DIR *dir = NULL;
		struct dirent *entry;
		char path[1024];

		(void)snprintf(path, sizeof(path), "%s/%s", samples,
			       clients[c].dir);
		dir = opendir(path);
		assert_non_null(dir);
		while ((entry = readdir(dir)) != NULL) {
			if (!strstr(entry->d_name, ".json"))
				continue;
			check_file(c, entry->d_name);
			files++;
		}
	}
	assert_true(files > 40);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_of_real_clients_are_read),
	};
	struct stat st;

	samples = getenv("STATETAPE_SAMPLES");
	if (!samples)
		samples = SAMPLES_DIR;
	if (stat(samples, &st) < 0) {
		(void)printf("no samples at \"%s\"\n", samples);
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
