/*
 * statetape bench: what policies would have done at the decision points of
 * recorded sessions, and how good that would have been.
 */
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "manager/bench/reference.h"
#include "manager/policy/policy.h"
#include "tools/cli/say.h"
#include "tools/cli/verbs.h"
#include "tools/verb/bench/bench.h"

#define RANKS_NAME "cl100k.ranks.gz"

static void bench_release(struct bench *b)
{
	for (uint32_t i = 0; i < b->traces.count; i++)
		free(b->traces.at[i]);
	array_release(&b->traces);
	for (uint32_t i = 0; i < b->contenders.count; i++)
		free(b->contenders.at[i].name);
	array_release(&b->contenders);
}

static bool has_file(const char *dir, const char *name)
{
	CLEANUP(free_p) char *path = format_text("%s/%s", dir, name);

	return access(path, R_OK) == 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The traces in `dir`, or `dir` itself if it is one. */
static int add_traces(struct bench *b, const char *dir)
{
	CLEANUP(closedir_p) DIR *d = NULL;
	uint32_t before = b->traces.count;
	const struct dirent *e;

	if (has_file(dir, "trace.jsonl")) {
		array_push(&b->traces, must_strdup(dir));
		return 0;
	}
	d = opendir(dir);
	if (!d)
		return say_error("'%s' cannot be opened: %s", dir,
				 errno_text(errno));
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): this stream is ours. */
	while ((e = readdir(d))) {
		CLEANUP(free_p)
		char *path = format_text("%s/%s", dir, e->d_name);

		if (e->d_name[0] != '.' && has_file(path, "trace.jsonl"))
			array_push(&b->traces, TAKE(path));
	}
	if (b->traces.count == before)
		return say_error("'%s' has no traces: folders with a "
				 "trace.jsonl",
				 dir);
	qsort(b->traces.at + before, b->traces.count - before,
	      sizeof(*b->traces.at), by_name);
	return 0;
}

static char *find_ranks(const struct invocation *in)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread. */
	const char *named = getenv("TRACEBENCH_RANKS");

	if (named && *named)
		return must_strdup(named);
	for (size_t i = 0; i < in->words_count; i++)
		for (int up = 0; up < 2; up++) {
			CLEANUP(free_p)
			char *dir = format_text("%s%s", in->words[i],
						up ? "/.." : "");

			if (has_file(dir, RANKS_NAME))
				return format_text("%s/" RANKS_NAME, dir);
		}
	return NULL;
}

static void add_references(struct bench *b)
{
	for (size_t i = 0; references[i].name; i++)
		array_push(&b->contenders,
			   ((struct contender){
				   .name = must_strdup(references[i].name),
				   .reference = i }));
}

/* From "a,b": policies by name. */
static int add_policies(struct bench *b, const char *list)
{
	for (const char *at = list; *at;) {
		size_t len = strcspn(at, ",");
		CLEANUP(free_p) char *name = must_memdup(at, len);
		const struct policy *policy = policy_find(name);

		if (!policy)
			return say_usage_error("there is no policy '%s'; %s",
					       name, policy_list());
		array_push(&b->contenders,
			   ((struct contender){ .name = TAKE(name),
						.policy = policy }));
		at += len + (at[len] == ',');
	}
	return 0;
}

static int set_contenders(struct bench *b, const struct invocation *in)
{
	const struct option_value *o = &in->options[OPTION_POLICIES];

	if (in->options[OPTION_REFERENCE].given)
		add_references(b);
	if (o->given || !b->contenders.count)
		return add_policies(b, o->given ? o->text : "statetape");
	return 0;
}

/* The file that an option names, for writing; none: *ret stays. */
static int open_output(const struct option_value *o, FILE **ret)
{
	if (!o->given)
		return 0;
	*ret = fopen(o->text, "we");
	if (!*ret)
		return say_error("'%s' cannot be written: %s", o->text,
				 errno_text(errno));
	return 0;
}

static void print(const struct invocation *in, const struct results *r)
{
	if (in->options[OPTION_JSON].given)
		table_print_json(stdout, r);
	else if (in->options[OPTION_CSV].given)
		table_print_csv(stdout, r);
	else
		table_print(stdout, r);
}

int verb_bench(const struct invocation *in)
{
	CLEANUP(bench_release)
	struct bench b = { .span = in->options[OPTION_SPAN].given };
	CLEANUP(results_release) struct results results = { 0 };
	CLEANUP(fclose_p) FILE *predictions = NULL;
	CLEANUP(fclose_p) FILE *features = NULL;
	CLEANUP(free_p) char *ranks = NULL;
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	int code = 0;

	for (size_t i = 0; code == 0 && i < in->words_count; i++)
		code = add_traces(&b, in->words[i]);
	if (code == 0)
		code = set_contenders(&b, in);
	if (code == 0)
		code = open_output(&in->options[OPTION_PREDICTIONS],
				   &predictions);
	if (code == 0)
		code = open_output(&in->options[OPTION_FEATURES], &features);
	if (code)
		return code;
	ranks = find_ranks(in);
	if (!ranks)
		return say_error("the ranks of cl100k are missing: "
				 "TRACEBENCH_RANKS names no file, and there is "
				 "no " RANKS_NAME " beside the traces");
	b.ranks = ranks;
	b.features = features != NULL;
	b.jobs = in->options[OPTION_JOBS].given
			 ? (unsigned)in->options[OPTION_JOBS].number
		 : processors > 0 ? (unsigned)processors
				  : 1;
	if (b.jobs == 0)
		return say_usage_error("--jobs wants at least 1");
	results_init(&results, &b);
	results.predictions = predictions;
	results.features = features;
	code = workers_run(&b, results_take, &results);
	if (code == 0)
		print(in, &results);
	return code;
}
