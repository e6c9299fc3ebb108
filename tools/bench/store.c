/*
 * The cost of an entry in the store: bytes on disk without contents, and time,
 * next to a bare SQLite insert of a row of the same size in a transaction of
 * its own. And the cost of the base of a repository: many files with their
 * contents, next to reading and compressing them alone.
 *
 *	bench_store [ENTRIES [FILES]]
 *
 * The entries resemble those of sessions of coding agents: each edits one of
 * 300 files, by a new process (every third below a new shell), with one to
 * three changed symbols, up to four endpoints of changed edges, and one or two
 * ranges.
 */
#include <errno.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

#include "graph/base/cleanup.h"
#include "graph/base/clock.h"
#include "tape/journal/journal.h"
#include "tape/store/store.h"
#include "tests/support/scratch.h"

static uint64_t seed = 1;

static unsigned pick(unsigned below)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (unsigned)((seed >> 33) % below);
}

static void must(int rc, const char *what)
{
	if (rc >= 0)
		return;
	(void)fprintf(stderr, "bench_store: %s: %s\n", what,
		      strerrordesc_np(-rc));
	exit(1); /* NOLINT(concurrency-mt-unsafe): one thread. */
}

/* -- Entries. */

struct maker {
	struct journal_author agent, shell, tool;
	char shell_line[160], tool_line[120], path[64];
	struct entry_symbol symbols[8];
	char names[8][80];
	struct entry_range ranges[2];
	XXH128_hash_t state[300];
};

static void maker_init(struct maker *m)
{
	memset(m, 0, sizeof(*m));
	m->agent = (struct journal_author){ .pid = 4000,
					    .uid = 1000,
					    .start = 123456,
					    .comm = "node",
					    .cmdline = "claude",
					    .exe = "/usr/bin/node",
					    .session_root = true };
	m->shell = (struct journal_author){ .uid = 1000,
					    .comm = "bash",
					    .cmdline = m->shell_line,
					    .exe = "/usr/bin/bash",
					    .parent = &m->agent };
	m->tool = (struct journal_author){ .uid = 1000,
					   .comm = "python3",
					   .cmdline = m->tool_line,
					   .exe = "/usr/bin/python3.11",
					   .parent = &m->shell };
}

static void make_authors(struct maker *m, unsigned i)
{
	if (i % 3 == 0) {
		m->shell.pid = 5000 + i;
		m->shell.start = 200000 + i;
		(void)snprintf(m->shell_line, sizeof(m->shell_line),
			       "bash -c cd /home/user/project && python3 "
			       "tools/fix.py --in-place src/pkg%u/mod%u.py",
			       i % 30, i);
	}
	m->tool.pid = 6000 + i;
	m->tool.start = 200001 + i;
	(void)snprintf(m->tool_line, sizeof(m->tool_line),
		       "python3 tools/fix.py --in-place src/pkg%u/mod%u.py",
		       i % 30, i);
}

static size_t make_symbols(struct maker *m, unsigned file)
{
	size_t changed = 1 + pick(3), count = changed + pick(5);

	for (size_t k = 0; k < count; k++) {
		unsigned in = k < changed ? file : pick(300);

		(void)snprintf(m->names[k], sizeof(m->names[k]),
			       "pkg%u.module%u.ClassName%u.method_name%u",
			       in % 30, in, pick(3), pick(8));
		m->symbols[k] = (struct entry_symbol){
			.name = m->names[k],
			.kind = 1,
			.set = k < changed ? ENTRY_X : ENTRY_DX,
		};
	}
	return count;
}

static struct entry make(struct maker *m, unsigned i)
{
	unsigned file = pick(300);
	XXH128_hash_t before = m->state[file];

	make_authors(m, i);
	m->ranges[0] =
		(struct entry_range){ pick(500), pick(9), pick(500), pick(9) };
	m->ranges[1] =
		(struct entry_range){ 500 + pick(500), 1, 500 + pick(500), 3 };
	(void)snprintf(m->path, sizeof(m->path),
		       "src/package%u/module_name_%u.py", file % 30, file);
	m->state[file] = XXH3_128bits(&i, sizeof(i));
	return (struct entry){
		.at_ns = INT64_C(1767323045678901234) + i * INT64_C(777777777),
		.syntax = ENTRY_PARSES,
		.path = m->path,
		.had = true,
		.has = true,
		.before = before,
		.after = m->state[file],
		.has_sha = true,
		.bytes = 12345 + i % 1000,
		.plus = 3,
		.minus = 2,
		.ranges = m->ranges,
		.ranges_count = 1 + pick(2),
		.symbols = m->symbols,
		.symbols_count = make_symbols(m, file),
		.author = &m->tool,
		.journal_first = 7 * (uint64_t)i,
		.journal_last = 7 * (uint64_t)i + 5,
	};
}

static double append(struct store *s, unsigned count, unsigned each)
{
	struct maker m;
	double start = ns_seconds(clock_mono_ns());

	maker_init(&m);
	for (unsigned i = 0; i < count; i++) {
		struct entry e = make(&m, i);
		struct store_file f = { .path = e.path, .hash = e.after };

		if (i % each == 0)
			must(store_begin(s), "begin");
		must(store_append(s, &e), "append");
		must(store_put_file(s, &f), "file");
		if (i % each == each - 1 || i == count - 1)
			must(store_commit(s), "commit");
	}
	return ns_seconds(clock_mono_ns()) - start;
}

/* The minimum of SQLite: one row and its commit. */
static double bare(const char *path, unsigned count)
{
	static const char row[300];
	sqlite3 *db = NULL;
	sqlite3_stmt *q = NULL;
	double start;

	(void)sqlite3_open(path, &db);
	(void)sqlite3_exec(db,
			   "PRAGMA journal_mode = WAL; PRAGMA synchronous ="
			   " NORMAL; CREATE TABLE t (n INTEGER PRIMARY KEY,"
			   " b BLOB)",
			   NULL, NULL, NULL);
	(void)sqlite3_prepare_v2(db, "INSERT INTO t (b) VALUES (?1)", -1, &q,
				 NULL);
	start = ns_seconds(clock_mono_ns());
	for (unsigned i = 0; i < count; i++) {
		(void)sqlite3_bind_blob(q, 1, row, sizeof(row), SQLITE_STATIC);
		(void)sqlite3_step(q);
		(void)sqlite3_reset(q);
	}
	start = ns_seconds(clock_mono_ns()) - start;
	(void)sqlite3_finalize(q);
	(void)sqlite3_close(db);
	return start;
}

static void bench_entries(const char *dir, unsigned count)
{
	CLEANUP(free_p) char *path = NULL, *other = NULL;
	struct store_stats stats;
	struct store *s = NULL;
	double one, many, base;

	if (asprintf(&path, "%s/one.db", dir) < 0 ||
	    asprintf(&other, "%s/bare.db", dir) < 0)
		return;
	must(store_open(path, STORE_WRITE, &s, NULL), "open");
	one = append(s, count, 1);
	must(store_stat(s, &stats), "stat");
	store_free(s);
	base = bare(other, count);
	(void)unlink(path);
	must(store_open(path, STORE_WRITE, &s, NULL), "open");
	many = append(s, count, 100);
	store_free(s);
	(void)printf("entries             %u\n", count);
	(void)printf("bytes per entry     %" PRIu64 "\n", stats.bytes / count);
	(void)printf("a commit each       %.1f us, %.1f times a bare row\n",
		     one / count * 1e6, one / base);
	(void)printf("a commit per 100    %.1f us, %.0f a second\n",
		     many / count * 1e6, count / many);
}

/* -- The base of a repository. */

/* 5 to 6 KiB of lines that resemble a program. */
static size_t make_file(char *text, size_t size, unsigned i)
{
	size_t len = 0;

	for (unsigned k = 0; len + 100 < size; k++)
		len += (size_t)snprintf(
			text + len, size - len,
			"    self.value_%u = compute_%u(argument_%u, %u)\n",
			pick(50), pick(20), i % 97, pick(1000));
	return len;
}

static double compress_alone(char (*texts)[6000], const size_t *lens,
			     unsigned count)
{
	static char out[16384];
	ZSTD_CCtx *c = ZSTD_createCCtx();
	double start = ns_seconds(clock_mono_ns());

	for (unsigned i = 0; i < count; i++)
		(void)ZSTD_compressCCtx(c, out, sizeof(out), texts[i], lens[i],
					3);
	start = ns_seconds(clock_mono_ns()) - start;
	(void)ZSTD_freeCCtx(c);
	return start;
}

static void bench_base(const char *dir, unsigned count)
{
	CLEANUP(free_p) char *path = NULL;
	char(*texts)[6000] = calloc(count, sizeof(*texts));
	size_t *lens = calloc(count, sizeof(*lens));
	struct store *s = NULL;
	double start, alone, bytes = 0;
	char name[64];

	if (!texts || !lens || asprintf(&path, "%s/base.db", dir) < 0)
		return;
	for (unsigned i = 0; i < count; i++)
		bytes += (double)(lens[i] = make_file(texts[i], 6000, i));
	alone = compress_alone(texts, lens, count);
	must(store_open(path, STORE_WRITE, &s, NULL), "open");
	start = ns_seconds(clock_mono_ns());
	must(store_begin(s), "begin");
	for (unsigned i = 0; i < count; i++) {
		struct store_file f = {
			.path = name,
			.hash = XXH3_128bits(texts[i], lens[i]),
			.size = lens[i],
		};

		(void)snprintf(name, sizeof(name), "src/dir%u/file%u.py",
			       i % 100, i);
		must(store_put_content(s, f.hash, NULL, texts[i], lens[i]),
		     "content");
		must(store_put_file(s, &f), "file");
	}
	must(store_commit(s), "commit");
	start = ns_seconds(clock_mono_ns()) - start;
	store_free(s);
	free(texts);
	free(lens);
	(void)printf("base                %u files, %.0f MB: %.2f s, %.1f "
		     "times compressing alone\n",
		     count, bytes / 1e6, start, start / alone);
}

int main(int argc, char **argv)
{
	unsigned entries = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
	unsigned files = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
	char *dir = scratch_new();

	if (!dir)
		return 1;
	bench_entries(dir, entries ? entries : 20000);
	bench_base(dir, files ? files : 7000);
	scratch_free(dir);
	return 0;
}
