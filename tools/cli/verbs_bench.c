/* Row of the table: the benchmark of policies. */
#include "tools/cli/verbs_i.h"

static const struct verb_option bench_options[] = {
	{ .id = OPTION_POLICIES,
	  .name = "policy",
	  .letter = 'p',
	  .kind = OPTION_TEXT,
	  .value = "POLICY,...",
	  .text = "The policies to compare (statetape if not given)" },
	{ .id = OPTION_REFERENCE,
	  .name = "reference",
	  .letter = 'r',
	  .text = "Compare the reference points, too: rules that need no tape, "
		  "such as dropping all but the last ten records" },
	{ .id = OPTION_PREDICTIONS,
	  .name = "predictions",
	  .kind = OPTION_TEXT,
	  .value = "FILE",
	  .text = "Write what the policies chose to FILE, a line of JSON for "
		  "each decision point, as the benchmark's own scorer reads "
		  "it" },
	{ .id = OPTION_FEATURES,
	  .name = "features",
	  .kind = OPTION_TEXT,
	  .value = "FILE",
	  .text = "Write what each record was judged by to FILE, for "
		  "tools/bench/fit" },
	{ .id = OPTION_SPAN,
	  .name = "span",
	  .text = "Count a record as needed if it shows the place, even if "
		  "what it shows is no longer true" },
	{ .id = OPTION_JOBS,
	  .name = "jobs",
	  .letter = 'j',
	  .kind = OPTION_NUMBER,
	  .value = "N",
	  .text = "Play N traces at a time (as many as there are processors if "
		  "not given)" },
	{ .id = OPTION_CSV,
	  .name = "csv",
	  .text = "Print the sums of each decision point as CSV" },
	OPTION_JSON_ENTRY("the figures as JSON"),
	{ 0 },
};

static const struct verb_example bench_examples[] = {
	{ "statetape bench traces --policy statetape,control --reference",
	  "Figures of two policies beside the reference points" },
	{ 0 },
};

const struct verb row_bench = {
	.id = VERB_BENCH,
	.name = "bench",
	.summary = "How good a policy is on recorded sessions",
	.description =
		"Plays recorded sessions to the manager and asks policies at "
		"each decision point what to take out of the transcript and "
		"what to bring in. It is the code of a live run: each session "
		"has a copy of its repository with a tape of its own, in a "
		"temporary folder, its edits become entries, and its records "
		"come as requests. No request leaves the machine.\n"
		"\n"
		"DIR is a trace, or has traces: folders with repo/, "
		"trace.jsonl and meta.json; labels.json says what the coming "
		"edit needed. The file cl100k.ranks.gz with the ranks of the "
		"tokens is looked for in DIR, and beside it, or "
		"TRACEBENCH_RANKS names it.\n"
		"\n"
		"clear%: how much of what is not needed is taken out. lost: "
		"tokens taken out that are needed, per decision point. CE: "
		"tokens taken out that are not needed, for one that is. F1 "
		"joins the two. found: how much of what is needed and missing "
		"is brought in. added: tokens brought in, per decision point. "
		"RE: per cent of the missing found, for a thousand tokens "
		"added. The same input gives the same figures.",
	.options = bench_options,
	.arguments = { { .name = "DIR",
			 .repeated = true,
			 .complete = COMPLETE_DIRECTORY } },
	.examples = bench_examples,
};
