/*
 * Shrinking: leave out operations and lines of text, greedily, as long as some
 * step still fails, in whatever way.
 */
#include <stdlib.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "tests/prop/graph/world.h"

#define TRIES_MAX 6000

struct shrink {
	op_list *ops;
	struct lang_readers *reader;
	unsigned tries;
};

/* How many operations it takes until the list fails; 0: it does not. */
static uint32_t fails_after(struct shrink *s)
{
	struct world w;
	uint32_t n = 0;

	if (s->tries++ >= TRIES_MAX)
		return 0;
	world_init(&w, s->reader);
	while (n < s->ops->count && world_do(&w, &s->ops->at[n], NULL))
		n++;
	world_release(&w);
	return n < s->ops->count ? n + 1 : 0;
}

static void cut(struct shrink *s, uint32_t count)
{
	op_list rest = { .at = NULL };

	array_append(&rest, s->ops->at + count, s->ops->count - count);
	s->ops->count = count;
	op_list_release(&rest);
}

/* Remove operations [from, to) if the list fails without them. */
static bool drop_ops(struct shrink *s, uint32_t from, uint32_t to)
{
	op_list all = *s->ops, less = { .at = NULL }, gone = { .at = NULL };
	uint32_t n;

	array_append(&less, all.at, from);
	array_append(&less, all.at + to, all.count - to);
	*s->ops = less;
	n = fails_after(s);
	if (!n) {
		array_release(s->ops);
		*s->ops = all;
		return false;
	}
	array_append(&gone, all.at + from, to - from);
	op_list_release(&gone);
	array_release(&all);
	cut(s, n);
	return true;
}

static void shrink_ops(struct shrink *s)
{
	for (uint32_t by = s->ops->count / 2; by; by /= 2)
		for (uint32_t at = s->ops->count; at > 0;) {
			uint32_t from = at > by ? at - by : 0;

			if (at > s->ops->count) {
				at = s->ops->count;
				continue;
			}
			(void)drop_ops(s, from, at);
			at = from;
		}
}

/* `text` without `count` lines from `line` on; NULL: it has fewer. */
static char *without_lines(const char *text, size_t line, size_t count)
{
	char *less = must_alloc(strlen(text) + 1);
	const char *from = text, *to;

	while (*from && line--)
		from += strcspn(from, "\n") + (strchr(from, '\n') != NULL);
	for (to = from; *to && count--;)
		to += strcspn(to, "\n") + (strchr(to, '\n') != NULL);
	if (from == to) {
		free(less);
		return NULL;
	}
	memcpy(less, text, (size_t)(from - text));
	memcpy(less + (from - text), to, strlen(to) + 1);
	return less;
}

static bool drop_lines(struct shrink *s, uint32_t n, size_t line, size_t count)
{
	char *all = s->ops->at[n].text;
	char *less = without_lines(all, line, count);
	uint32_t end;

	if (!less)
		return false;
	s->ops->at[n].text = less;
	end = fails_after(s);
	if (end) {
		free(all);
		cut(s, end);
		return true;
	}
	s->ops->at[n].text = all;
	free(less);
	return false;
}

/* Remove the same lines from all texts of this file. */
static void drop_everywhere(struct shrink *s, uint32_t n, const char *line,
			    size_t len)
{
	op_list *ops = s->ops;
	char **all = must_calloc(ops->count, sizeof(*all));
	uint32_t count = ops->count, end;

	for (uint32_t k = 0; k < count; k++) {
		const char *from = ops->at[k].text;
		char *to;

		if (!from || strcmp(ops->at[k].path, ops->at[n].path) != 0)
			continue;
		all[k] = ops->at[k].text;
		ops->at[k].text = to = must_alloc(strlen(from) + 1);
		for (size_t l; *from; from += l) {
			l = strcspn(from, "\n") + (strchr(from, '\n') != NULL);
			if (l == len && memcmp(from, line, len) == 0)
				continue;
			memcpy(to, from, l);
			to += l;
		}
		*to = '\0';
	}
	end = fails_after(s);
	for (uint32_t k = 0; k < count; k++) {
		if (!all[k])
			continue;
		if (end) {
			free(all[k]);
			continue;
		}
		free(ops->at[k].text);
		ops->at[k].text = all[k];
	}
	free(all);
	if (end)
		cut(s, end);
}

static void shrink_everywhere(struct shrink *s)
{
	for (uint32_t n = 0; n < s->ops->count; n++) {
		char *text;

		if (!s->ops->at[n].text)
			continue;
		text = must_alloc(strlen(s->ops->at[n].text) + 1);
		memcpy(text, s->ops->at[n].text,
		       strlen(s->ops->at[n].text) + 1);
		for (size_t at = 0, l; text[at] && n < s->ops->count; at += l) {
			l = strcspn(text + at, "\n") +
			    (strchr(text + at, '\n') != NULL);
			drop_everywhere(s, n, text + at, l);
		}
		free(text);
	}
}

static size_t lines_of(const char *text)
{
	size_t n = 0;

	for (; text && *text; n++)
		text += strcspn(text, "\n") + (strchr(text, '\n') != NULL);
	return n;
}

static void shrink_texts(struct shrink *s)
{
	for (size_t by = 16; by; by /= 4)
		for (uint32_t n = 0; n < s->ops->count; n++) {
			size_t line = 0;

			while (n < s->ops->count &&
			       line < lines_of(s->ops->at[n].text))
				if (!drop_lines(s, n, line, by))
					line += by;
		}
}

void op_list_shrink(op_list *ops, struct lang_readers *r)
{
	struct shrink s = { .ops = ops, .reader = r };
	uint32_t count;

	count = fails_after(&s);
	if (!count)
		return;
	cut(&s, count);
	do {
		count = ops->count;
		shrink_ops(&s);
		shrink_everywhere(&s);
		shrink_texts(&s);
	} while (ops->count < count);
}
