/*
 * The cost of NOMINATE: bench_nominate [RECORDS [ROUNDS]].
 *
 * A tape of 2,000 entries over 3,000 symbols is made in memory and on disk and
 * served on a socket; a client asks about RECORDS records (500), each covering
 * four symbols, of which `stale` have drifted. For comparison: an empty
 * question (SYNC) over the same socket, and the verdicts alone, without JSON.
 */
#include <inttypes.h>
#include <time.h>

#include "graph/base/cleanup.h"
#include "graph/base/clock.h"
#include "tape/query/nominate.h"
#include "tape/wire/client.h"
#include "tape/wire/wire.h"
#include "tests/support/tape_world.h"

#define SYMBOLS	     3000
#define ENTRIES	     2000
#define COVERED	     4
#define NAME_MAX_LEN 64

static struct journal_author author = { .pid = 812,
					.comm = "sed",
					.cmdline = "sed -i s/1/2/ a.py" };
static char names[SYMBOLS][NAME_MAX_LEN];

static double now_us(void)
{
	return (double)clock_mono_ns() / 1e3;
}

/* Processor time of all threads, which a busy machine hardly changes. */
static double cpu_us(void)
{
	return (double)clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e3;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void tell(const char *what, double *us, size_t rounds, double cpu)
{
	qsort(us, rounds, sizeof(*us), by_value);
	(void)printf("%-26s p50 %8.1f us  p99 %8.1f us  cpu %8.1f us\n", what,
		     us[rounds / 2], us[rounds * 99 / 100],
		     cpu / (double)rounds);
}

static void fill(struct tape_world *w)
{
	for (unsigned k = 0; k < SYMBOLS; k++)
		(void)snprintf(names[k], NAME_MAX_LEN,
			       "package.module_%u.Class%u.method_%u", k / 30,
			       k / 5, k);
	for (unsigned k = 0; k < ENTRIES; k++) {
		struct entry_symbol s = { .name = names[k % (SYMBOLS / 2)],
					  .set = ENTRY_X };
		struct entry e = { .path = "package/module.py",
				   .kind = ENTRY_EDIT,
				   .author = &author,
				   .symbols = &s,
				   .symbols_count = 1,
				   .had = true,
				   .has = true };

		tape_must(store_begin(w->store) == 0 &&
				  store_append(w->store, &e) == 0 &&
				  store_commit(w->store) == 0,
			  "store");
		answers_entry(w->answers, &e);
	}
}

static size_t ask(struct client *c, const struct client_record *r, size_t n)
{
	struct client_nominations got;
	size_t count;

	tape_must(client_nominate(c, r, n, &got) == 0, "nominate");
	count = got.count;
	client_nominations_release(&got);
	return count;
}

/* One of `one_in` records is stale (0: none). */
static void bench(struct client *c, size_t records, size_t rounds,
		  unsigned one_in)
{
	struct client_record *r = calloc(records, sizeof(*r));
	const char *(*covers)[COVERED] = calloc(records, sizeof(*covers));
	double *us = calloc(rounds, sizeof(*us)), cpu;
	size_t stale = 0;
	char what[64];

	for (size_t k = 0; k < records; k++) {
		bool old = one_in && k % one_in == 0;

		for (size_t i = 0; i < COVERED; i++)
			covers[k][i] = names[(k * COVERED + i) % (SYMBOLS / 2) +
					     (old ? 0 : SYMBOLS / 2)];
		r[k] = (struct client_record){
			.id = k,
			.birth = 1,
			.path = "package/module.py",
			.start = 10,
			.end = 60,
			.symbols = covers[k],
			.symbols_count = COVERED,
		};
	}
	cpu = cpu_us();
	for (size_t k = 0; k < rounds; k++) {
		double from = now_us();

		stale = ask(c, r, records);
		us[k] = now_us() - from;
	}
	(void)snprintf(what, sizeof(what), "%zu records, %zu stale", records,
		       stale);
	tell(what, us, rounds, cpu_us() - cpu);
	free(r);
	free(covers);
	free(us);
}

static void bench_sync(struct client *c, size_t rounds)
{
	double *us = calloc(rounds, sizeof(*us)), cpu;

	cpu = cpu_us();
	for (size_t k = 0; k < rounds; k++) {
		double from = now_us();
		struct client_head head;

		tape_must(client_sync(c, NULL, -1, -1, &head) == 0, "sync");
		us[k] = now_us() - from;
	}
	tell("an empty question", us, rounds, cpu_us() - cpu);
	free(us);
}

static void bench_verdicts(size_t records, size_t rounds)
{
	struct drift *d = drift_new(0);
	struct nominate_view v = { .drift = d, .head = ENTRIES };
	double *us = calloc(rounds, sizeof(*us)), cpu;

	for (unsigned k = 0; k < ENTRIES; k++)
		drift_set(d, names[k % (SYMBOLS / 2)], ENTRY_X, k + 1, false);
	cpu = cpu_us();
	for (size_t n = 0; n < rounds; n++) {
		double from = now_us();

		for (size_t k = 0; k < records; k++) {
			const char *covers[COVERED];
			struct nominate_record r = { .birth = 1,
						     .symbols = covers,
						     .symbols_count = COVERED };
			struct nomination got;

			for (size_t i = 0; i < COVERED; i++)
				covers[i] = names[(k * COVERED + i) % SYMBOLS];
			(void)nominate(&v, &r, &got);
		}
		us[n] = now_us() - from;
	}
	tell("the verdicts alone", us, rounds, cpu_us() - cpu);
	free(us);
	drift_free(d);
}

int main(int argc, char **argv)
{
	size_t records = argc > 1 ? strtoul(argv[1], NULL, 10) : 500;
	size_t rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 500;
	struct tape_world w;
	struct wire_server *server = NULL;
	struct client *c;
	char *path = NULL;

	tape_world_init(&w);
	fill(&w);
	tape_must(asprintf(&path, "%s/sock", w.dir) > 0, "memory");
	tape_must(wire_server_open(path, answers_ask, w.answers, &server) == 0,
		  "socket");
	c = client_new(path);
	bench_sync(c, rounds);
	bench_verdicts(records, rounds);
	bench(c, records, rounds, 0);
	bench(c, records, rounds, 20);
	bench(c, records, rounds, 1);
	client_free(c);
	wire_server_free(server);
	tape_world_release(&w);
	free(path);
	return 0;
}
