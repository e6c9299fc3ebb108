#include "tests/prop/graph/source.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"

#define FILE_MAX_BYTES (128 << 10)
#define DEPTH_MAX      6

static char *slurp(const char *path, size_t max)
{
	CLEANUP(fclose_p) FILE *f = fopen(path, "re");
	char *text;
	size_t len;

	if (!f)
		return NULL;
	text = must_alloc(max + 2);
	len = fread(text, 1, max + 1, f);
	text[len] = '\0';
	/* Texts are strings here, without NUL; the fuzzer tries all bytes. */
	if (len <= max && strlen(text) == len)
		return text;
	free(text);
	return NULL;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): it is taken over. */
static void add(struct source *s, const char *path, size_t path_len, char *text)
{
	struct source_text t = { .path = must_calloc(path_len + 1, 1),
				 .text = text,
				 .group = s->groups };

	memcpy(t.path, path, path_len);
	array_push(&s->texts, t);
}

/* The end of a section: where the next one or a case begins, without the
   blank lines before it. */
static const char *section_end(const char *at)
{
	while (*at && strncmp(at, "-- ", 3) != 0 && strncmp(at, "== ", 3) != 0)
		at += strcspn(at, "\n") + (strchr(at, '\n') != NULL);
	return at;
}

static void add_section(struct source *s, const char *at)
{
	size_t skip = strncmp(at, "-- before ", 10) == 0 ? 10
		      : strncmp(at, "-- after ", 9) == 0 ? 9
							 : 0;
	size_t line = strcspn(at, "\n");
	const char *from = at + line + (at[line] == '\n');
	size_t len = (size_t)(section_end(from) - from);
	char *text;

	if (!skip)
		return;
	while (len > 1 && from[len - 1] == '\n' && from[len - 2] == '\n')
		len--;
	text = must_calloc(len + 1, 1);
	memcpy(text, from, len);
	add(s, at + skip, line - skip, text);
}

static void add_case_file(struct source *s, const char *text)
{
	while (*text) {
		if (strncmp(text, "== ", 3) == 0)
			s->groups++;
		else if (strncmp(text, "-- ", 3) == 0)
			add_section(s, text);
		text += strcspn(text, "\n") + (strchr(text, '\n') != NULL);
		text = section_end(text);
	}
	s->groups++;
}

static bool ends_in(const char *name, const char *end)
{
	size_t n = strlen(name), m = strlen(end);

	return n > m && strcmp(name + n - m, end) == 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static void free_names(struct dirent **names, int count)
{
	while (count > 0)
		free(names[--count]);
	free(names);
}

int source_add_cases(struct source *s, const char *dir)
{
	struct dirent **names;
	int count = scandir(dir, &names, NULL, by_name);

	if (count < 0)
		return -errno;
	for (int k = 0; k < count; k++) {
		CLEANUP(free_p) char *path = NULL, *text = NULL;

		if (!ends_in(names[k]->d_name, ".case") ||
		    asprintf(&path, "%s/%s", dir, names[k]->d_name) < 0)
			continue;
		text = slurp(path, 1 << 20);
		if (text)
			add_case_file(s, text);
	}
	free_names(names, count);
	s->tree = s->groups;
	return s->texts.count ? 0 : -ENOENT;
}

static void add_below(struct source *s, const char *top, const char *below,
		      unsigned depth)
{
	CLEANUP(free_p) char *dir = NULL;
	struct dirent **names;
	uint32_t had = s->texts.count;
	int count;

	if (asprintf(&dir, "%s%s%s", top, *below ? "/" : "", below) < 0)
		return;
	count = scandir(dir, &names, NULL, by_name);
	for (int k = 0; k < count; k++) {
		CLEANUP(free_p) char *path = NULL, *under = NULL;
		const char *name = names[k]->d_name;
		struct stat st;
		char *text;

		if (*name == '.' || asprintf(&path, "%s/%s", dir, name) < 0 ||
		    asprintf(&under, "%s%s%s", below, *below ? "/" : "", name) <
			    0 ||
		    lstat(path, &st) < 0)
			continue;
		if (S_ISDIR(st.st_mode) && depth) {
			add_below(s, top, under, depth - 1);
			continue;
		}
		text = S_ISREG(st.st_mode) && ends_in(name, ".py")
			       ? slurp(path, FILE_MAX_BYTES)
			       : NULL;
		if (text)
			add(s, under, strlen(under), text);
	}
	s->groups += s->texts.count > had;
	if (count >= 0)
		free_names(names, count);
}

int source_add_tree(struct source *s, const char *dir)
{
	uint32_t had = s->texts.count;

	s->tree = s->groups;
	add_below(s, dir, "", DEPTH_MAX);
	return s->texts.count > had ? 0 : -ENOENT;
}

void source_release(struct source *s)
{
	for (uint32_t k = 0; k < s->texts.count; k++) {
		free(s->texts.at[k].path);
		free(s->texts.at[k].text);
	}
	array_release(&s->texts);
}
