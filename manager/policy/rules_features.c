#include <math.h>
#include <string.h>

#include "manager/policy/rules_i.h"

static double is(bool yes)
{
	return yes ? 1 : 0;
}

/* Halves every few records. */
static double lately(const struct rules_focus *f, uint32_t record)
{
	return 1 / (1 + (double)(f->in->count - 1 - record) / 10);
}

static void what_it_is(const struct rules_focus *f, uint32_t i, double *ret)
{
	const struct policy_record *r = &f->in->records[i];

	ret[RF_ONE] = 1;
	ret[RF_AGE] = log1p(r->age) / 4;
	ret[RF_BEHIND] = log1p((double)(f->in->count - 1 - i)) / 4;
	ret[RF_READ] = is(r->kind == RECORD_READ);
	ret[RF_EDIT] = is(r->kind == RECORD_EDIT);
	ret[RF_RUN] = is(r->kind == RECORD_RUN || r->kind == RECORD_SHELL);
	ret[RF_SEARCH] = is(r->kind == RECORD_SEARCH);
	ret[RF_SIZE] = log1p((double)r->tokens) / 8;
	ret[RF_STALE_TEXT] =
		is(r->action == ACTION_REFRESH || r->action == ACTION_DROP);
	ret[RF_STALE_LINKS] = is(r->action == ACTION_ANNOTATE);
	ret[RF_STALE_RUN] = is(r->action == ACTION_RERUN);
	ret[RF_NO_EDITS] = is(f->edits.count == 0);
}

static void where_it_is(const struct rules_focus *f, uint32_t i, double *ret)
{
	const struct rules_file *file = &f->files.at[f->file_of[i]];

	ret[RF_TEST] = is(file->test);
	ret[RF_EDITED_FILE] = is(file->edited != RULES_NONE);
	ret[RF_FILE_SAID] = is(file->said);
	ret[RF_FILE_ASKED] = is(file->asked);
}

/* -- What it shows. */

/* Lines that two ranges share. */
static uint32_t shared(uint32_t start, uint32_t end, uint32_t other_start,
		       uint32_t other_end)
{
	uint32_t first = start > other_start ? start : other_start;
	uint32_t last = end < other_end ? end : other_end;

	return first <= last ? last + 1 - first : 0;
}

static uint32_t shown(const struct policy_record *r, uint32_t start,
		      uint32_t end)
{
	return r->now_end ? shared(r->now_start, r->now_end, start, end) : 0;
}

/* Lines of [start, end] that are as the record shows them. */
static uint32_t still(const struct policy_record *r, uint32_t start,
		      uint32_t end)
{
	uint32_t lines = 0;

	for (uint32_t i = 0; i < r->still_count; i++)
		lines += shared(r->still[i].start, r->still[i].end, start, end);
	return lines;
}

/* How lately a record showed lines of the symbol. */
static double shown_lately(const struct rules_focus *f, uint32_t i,
			   const struct client_symbol *s)
{
	for (size_t k = f->in->count; k-- > 0;)
		if (f->file_of[k] == f->file_of[i] &&
		    shown(&f->in->records[k], s->start, s->end))
			return lately(f, (uint32_t)k);
	return 0;
}

/* Counts of a record's definitions, and the fewest steps to a whole one. */
struct shown_parts {
	uint32_t all, whole;
	uint8_t steps;
};

/*
 * A definition that the record shows counts as whole while nothing in it
 * changed: what is left of a changed one is of little use. Classes count by
 * their methods.
 */
static void add_part(const struct rules_focus *f, uint32_t i,
		     const struct client_symbol *s, struct shown_parts *parts,
		     double *ret)
{
	const struct policy_record *r = &f->in->records[i];
	uint32_t lines = shown(r, s->start, s->end);
	double fresh;
	uint8_t steps;

	if (!s->start || !lines || strcmp(s->kind, "module") == 0)
		return;
	if (rules_is_named(f->asked, s->name))
		ret[RF_ASKED] = 1;
	if (strcmp(s->kind, "class") == 0)
		return;
	fresh = shown_lately(f, i, s);
	if (fresh > ret[RF_FRESH])
		ret[RF_FRESH] = fresh;
	parts->all++;
	if (still(r, s->start, s->end) < lines)
		return;
	parts->whole++;
	steps = rules_steps_to(f, s->name);
	if (steps < parts->steps)
		parts->steps = steps;
}

static void what_it_shows(const struct rules_focus *f, uint32_t i, double *ret)
{
	const struct policy_record *r = &f->in->records[i];
	const struct client_symbols *s = &f->files.at[f->file_of[i]].symbols;
	struct shown_parts parts = { .steps = RULES_FAR };
	uint32_t lines = r->now_end ? r->now_end + 1 - r->now_start : 0;

	for (uint32_t k = 0; k < s->count; k++)
		add_part(f, i, &s->at[k], &parts, ret);
	ret[RF_LINES] = log1p(lines) / 6;
	ret[RF_STILL] =
		lines ? (double)still(r, r->now_start, r->now_end) / lines : 0;
	ret[RF_WHOLE] = parts.all ? (double)parts.whole / parts.all : 1;
	ret[RF_STEP_0] = is(parts.steps == 0);
	ret[RF_STEP_1] = is(parts.steps == 1);
	ret[RF_STEP_2] = is(parts.steps == 2);
}

/* -- What came after it. */

/* Of the newest edit of its file. */
static void by_edits(const struct rules_focus *f, uint32_t i, double *ret)
{
	const struct policy_record *r = &f->in->records[i];
	uint32_t apart;

	for (uint32_t k = f->edits.count; r->now_end && k-- > 0;) {
		const struct rules_edit *e = &f->edits.at[k];

		if (e->file != f->file_of[i] || !e->end)
			continue;
		apart = e->end < r->now_start	? r->now_start - e->end
			: e->start > r->now_end ? e->start - r->now_end
						: 0;
		ret[RF_AT_EDIT] = is(apart == 0);
		ret[RF_NEAR_EDIT] = 1 / (1 + apart / 20.0);
		return;
	}
}

static void by_later(const struct rules_focus *f, uint32_t i, double *ret)
{
	const struct policy_record *r = &f->in->records[i];
	uint32_t most = 0;

	for (uint32_t k = i + 1; r->now_end && k < f->in->count; k++) {
		uint32_t lines;

		if (f->file_of[k] != f->file_of[i] ||
		    f->in->records[k].kind == RECORD_EDIT)
			continue;
		lines = shown(&f->in->records[k], r->now_start, r->now_end);
		most = lines > most ? lines : most;
	}
	if (most)
		ret[RF_SHOWN_LATER] =
			(double)most / (r->now_end + 1 - r->now_start);
}

void rules_features(const struct rules_focus *f, uint32_t record, double *ret)
{
	memset(ret, 0, FEATURES * sizeof(*ret));
	what_it_is(f, record, ret);
	if (f->file_of[record] != RULES_NONE) {
		where_it_is(f, record, ret);
		what_it_shows(f, record, ret);
		by_edits(f, record, ret);
		by_later(f, record, ret);
	}
	ret[RF_NO_EDITS_BEHIND] = ret[RF_NO_EDITS] * ret[RF_BEHIND];
	ret[RF_EDITED_BEHIND] = ret[RF_EDITED_FILE] * ret[RF_BEHIND];
	ret[RF_EDITED_STILL] = ret[RF_EDITED_FILE] * ret[RF_STILL];
}
