#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/base/json.h"
#include "tools/verb/bench/bench.h"

#define NAME_WIDTH 28

static void print_ratio(FILE *out, double v)
{
	if (isnan(v))
		(void)fprintf(out, " %7s", "--");
	else if (isinf(v))
		(void)fprintf(out, " %7s", "inf");
	else
		(void)fprintf(out, " %7.2f", v);
}

static void print_row(FILE *out, const char *name, const struct figures *f)
{
	(void)fprintf(out, "%-*.*s %6.1f %6.0f", NAME_WIDTH, NAME_WIDTH, name,
		      f->cleared, f->lost);
	print_ratio(out, f->ce);
	(void)fprintf(out, " %5.1f | %5.1f %6.0f", f->f1, f->found, f->added);
	print_ratio(out, f->re);
	(void)fputc('\n', out);
}

static const char *const reading_words[READINGS] = {
	"all records, needed by the rules G1 to G4",
	"only records that show source",
	"all records, needed if the agent went back to them",
};

void table_print(FILE *out, const struct results *r)
{
	for (int how = 0; how < READINGS; how++) {
		(void)fprintf(out, "%s%s: %s\n", how ? "\n" : "",
			      reading_names[how], reading_words[how]);
		(void)fprintf(out, "%-*s %6s %6s %7s %5s | %5s %6s %7s\n",
			      NAME_WIDTH, "", "clear%", "lost", "CE", "F1",
			      "found", "added", "RE");
		for (uint32_t i = 0; i < r->at.count; i++) {
			struct score s = results_sum(&r->at.at[i],
						     (enum score_reading)how);
			struct figures f = score_figures(&s);

			print_row(out, r->at.at[i].who->name, &f);
		}
	}
}

static void put_ratio(cJSON *to, const char *name, double v)
{
	if (isnan(v))
		json_put(to, name, cJSON_CreateNull());
	else if (isinf(v))
		json_put_text(to, name, "inf");
	else
		json_put(to, name, cJSON_CreateNumber(v));
}

static void put_figures(cJSON *to, const struct score *s)
{
	struct figures f = score_figures(s);

	json_put_number(to, "points", s->points);
	put_ratio(to, "cleared", f.cleared);
	put_ratio(to, "lost", f.lost);
	put_ratio(to, "CE", f.ce);
	put_ratio(to, "precision", f.precision);
	put_ratio(to, "F1", f.f1);
	put_ratio(to, "found", f.found);
	put_ratio(to, "added", f.added);
	put_ratio(to, "RE", f.re);
}

void table_print_json(FILE *out, const struct results *r)
{
	CLEANUP(json_p) cJSON *all = json_object(NULL, NULL);
	CLEANUP(free_p) char *text = NULL;

	for (int how = 0; how < READINGS; how++) {
		cJSON *reading = json_object(all, reading_names[how]);

		for (uint32_t i = 0; i < r->at.count; i++) {
			struct score s = results_sum(&r->at.at[i],
						     (enum score_reading)how);

			put_figures(json_object(reading, r->at.at[i].who->name),
				    &s);
		}
	}
	text = must_have(cJSON_PrintUnformatted(all));
	(void)fprintf(out, "%s\n", text);
}

/* One line per contender, decision point and reading: the sums. */
void table_print_csv(FILE *out, const struct results *r)
{
	(void)fputs("policy,reading,trace,dp,edits,held,unneeded,cleared,lost,"
		    "missing,added,found\n",
		    out);
	for (uint32_t i = 0; i < r->at.count; i++)
		for (uint32_t k = 0; k < r->at.at[i].points.count; k++)
			for (int how = 0; how < READINGS; how++) {
				const struct result_point *p =
					&r->at.at[i].points.at[k];
				const struct score *s = &p->scores[how];

				(void)fprintf(
					out,
					"\"%s\",%s,%s,%u,%u,%ju,%ju,%ju,%ju,"
					"%ju,%ju,%ju\n",
					r->at.at[i].who->name,
					reading_names[how], p->trace, p->dp,
					p->edits, (uintmax_t)s->held,
					(uintmax_t)s->left,
					(uintmax_t)s->cleared,
					(uintmax_t)s->lost,
					(uintmax_t)s->missing,
					(uintmax_t)s->added,
					(uintmax_t)s->found);
			}
}
