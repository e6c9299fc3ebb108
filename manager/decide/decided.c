#include "manager/decide/decided.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/base/debug.h"

const char *const decided_place_names[DECIDED_PLACES] = {
	[DECIDED_NOWHERE] = "kept",
	[DECIDED_NOTE] = "note",
	[DECIDED_IN_PLACE] = "in place",
	[DECIDED_NOTE_CUT] = "note removed",
};

/* Copy `text` to *at, and move that on. */
static const char *put(char **at, const char *text, size_t len)
{
	char *begin = *at;

	if (len)
		memcpy(begin, text, len);
	begin[len] = '\0';
	*at = begin + len + 1;
	return begin;
}

static size_t length(const char *text)
{
	return text ? strlen(text) : 0;
}

/* As much of `text` as may be kept, without half a character of UTF-8. */
static size_t cut(const char *text, size_t len, size_t most)
{
	if (len <= most)
		return len;
	len = most;
	while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80)
		len--;
	return len;
}

void decided_add(struct decided_list *l, const struct decided *d,
		 const char *text, size_t len)
{
	struct decided own = *d;
	size_t most = DECIDED_TEXT_ALL - l->bytes;
	char *at;

	assert(d->action && d->form);
	assert(d->place < DECIDED_PLACES);
	assert(l->bytes <= DECIDED_TEXT_ALL);
	if (l->at.count >= DECIDED_MOST)
		return;
	if (most > DECIDED_TEXT_MAX)
		most = DECIDED_TEXT_MAX;
	own.len = cut(text, len, most);
	own.own = at =
		must_alloc(length(d->key) + length(d->what) + length(d->why) +
			   strlen(d->action) + strlen(d->form) + own.len + 6);
	own.key = put(&at, d->key, length(d->key));
	own.what = put(&at, d->what, length(d->what));
	own.why = put(&at, d->why, length(d->why));
	own.action = put(&at, d->action, strlen(d->action));
	own.form = put(&at, d->form, strlen(d->form));
	own.text = put(&at, text, own.len);
	l->bytes += own.len;
	array_push(&l->at, own);
}

void decided_release(struct decided_list *l)
{
	for (uint32_t i = 0; i < l->at.count; i++)
		free(l->at.at[i].own);
	array_release(&l->at);
	l->bytes = 0;
}

void decided_trace(const struct decided_list *l, uint32_t request)
{
	if (!debug_is_on(DEBUG_MANAGER))
		return;
	for (uint32_t i = 0; i < l->at.count; i++) {
		const struct decided *d = &l->at.at[i];

		debug_line(
			DEBUG_MANAGER,
			"request %" PRIu32 ": %s for %s (%s) at entry %" PRIu64
			": %s; %" PRIu64 " bytes, %" PRIu64 " put in",
			request, decided_place_names[d->place],
			d->is_command ? d->key : d->what, d->action, d->entry,
			*d->why ? d->why : "-", d->before, d->after);
	}
}
