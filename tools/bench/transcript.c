/*
 * How fast a request of about a megabyte is parsed, turned into records and
 * rewritten, in MB/s, compared with a plain copy of the same bytes. With a file
 * argument: that request (Messages API); otherwise a generated one with 500
 * reads.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/array.h"
#include "graph/base/buf.h"
#include "graph/base/clock.h"
#include "manager/record/records.h"
#include "manager/transcript/rewrite.h"

#define ROUNDS 200

static void add(struct buf *b, const char *text)
{
	if (buf_add(b, text, strlen(text)) < 0)
		abort();
}

static void make(struct buf *b)
{
	char line[256];
	int i, k;

	add(b, "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":"
	       "\"go\"}");
	for (i = 0; i < 500; i++) {
		(void)snprintf(
			line, sizeof(line),
			",{\"role\":\"assistant\",\"content\":[{\"type\":"
			"\"tool_use\",\"id\":\"t%d\",\"name\":\"Read\","
			"\"input\":{\"file_path\":\"a%d.py\"}}]},{\"role\":"
			"\"user\",\"content\":[{\"type\":\"tool_result\","
			"\"tool_use_id\":\"t%d\",\"content\":\"",
			i, i, i);
		add(b, line);
		for (k = 1; k <= 48; k++) {
			(void)snprintf(
				line, sizeof(line),
				"%d\\t    value = \\\"%d\\\"; call(value)\\n",
				k, i * k);
			add(b, line);
		}
		add(b, "49\\t\"}]}");
	}
	add(b, "]}");
}

struct times {
	double copy, scan, read, records, rewrite;
};

/*
 * The best of all rounds: other load on the machine only makes rounds slower.
 */
static void best(double *t, double seconds)
{
	if (*t == 0 || seconds < *t)
		*t = seconds;
}

static void run(const struct buf *b, struct times *t)
{
	struct dom j = { 0 };
	struct transcript tr;
	struct records rs;
	ARRAY(struct replacement) all = { 0 };
	struct rewriting r;
	char *copy = malloc(b->len + 1), *out;
	double at = ns_seconds(clock_mono_ns());
	size_t len;
	uint32_t i;

	if (!copy)
		abort();
	memcpy(copy, b->data, b->len);
	best(&t->copy, ns_seconds(clock_mono_ns()) - at);
	at = ns_seconds(clock_mono_ns());
	if (dom_scan(&j, copy, b->len) < 0)
		abort();
	best(&t->scan, ns_seconds(clock_mono_ns()) - at);
	at = ns_seconds(clock_mono_ns());
	if (transcript_init(&tr, DIALECT_MESSAGES, copy, b->len) < 0)
		abort();
	best(&t->read, ns_seconds(clock_mono_ns()) - at);
	at = ns_seconds(clock_mono_ns());
	records_init(&rs, &tr);
	for (i = 0; i < rs.count; i++)
		(void)records_read(&rs, i);
	best(&t->records, ns_seconds(clock_mono_ns()) - at);
	for (i = 0; i < rs.count; i += 10)
		array_push(&all, ((struct replacement){ rs.at[i].item,
							"[statetape] x", 13 }));
	r = (struct rewriting){ all.at, all.count, NULL, 0 };
	at = ns_seconds(clock_mono_ns());
	if (rewrite(&tr, &r, &out, &len) < 0)
		abort();
	best(&t->rewrite, ns_seconds(clock_mono_ns()) - at);
	free(out);
	array_release(&all);
	records_release(&rs);
	transcript_release(&tr);
	dom_release(&j);
	free(copy);
}

static void say(const char *what, double seconds, const struct times *t,
		size_t len)
{
	(void)printf("%-8s %8.3f ms  %7.0f MB/s  %6.1f copies\n", what,
		     1e3 * seconds, (double)len / seconds / 1e6,
		     seconds / t->copy);
}

int main(int argc, char **argv)
{
	struct buf b = BUF((size_t)64 << 20);
	struct times t = { 0 };
	FILE *f = argc > 1 ? fopen(argv[1], "re") : NULL;
	char chunk[4096];
	size_t n;
	int i;

	while (f && (n = fread(chunk, 1, sizeof(chunk), f)) > 0)
		(void)buf_add(&b, chunk, n);
	if (f)
		(void)fclose(f);
	else
		make(&b);
	for (i = 0; i < ROUNDS; i++)
		run(&b, &t);
	(void)printf("%zu bytes\n", b.len);
	say("copy", t.copy, &t, b.len);
	say("scan", t.scan, &t, b.len);
	say("read", t.read, &t, b.len);
	say("records", t.records, &t, b.len);
	say("rewrite", t.rewrite, &t, b.len);
	buf_release(&b);
	return 0;
}
