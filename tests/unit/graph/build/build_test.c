#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "graph/base/cleanup.h"
#include "graph/build/build.h"
#include "graph/build/cache.h"
#include "graph/build/tree.h"
#include "graph/facts/lang.h"
#include "graph/graph.h"
#include "tests/support/scratch.h"

#define NOBODY 65534

/* A repository, a directory for its cache, and the last graph built. */
struct world {
	char *dir;
	int root_fd, state_fd;
	struct graph *g;
	struct build_report report;
};

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	int fd;

	assert_non_null(w);
	w->dir = scratch_new();
	assert_non_null(w->dir);
	assert_int_equal(chmod(w->dir, 0755), 0);
	fd = open(w->dir, O_RDONLY | O_DIRECTORY);
	assert_int_equal(mkdirat(fd, "repo", 0755), 0);
	assert_int_equal(mkdirat(fd, "state", 0755), 0);
	w->root_fd = openat(fd, "repo", O_RDONLY | O_DIRECTORY);
	w->state_fd = openat(fd, "state", O_RDONLY | O_DIRECTORY);
	assert_true(w->root_fd >= 0 && w->state_fd >= 0);
	(void)close(fd);
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	graph_free(w->g);
	(void)close(w->root_fd);
	(void)close(w->state_fd);
	scratch_free(w->dir);
	free(w);
	return 0;
}

/* Creates the directories above it, too. */
static void put(const struct world *w, const char *path, const char *text)
{
	CLEANUP(close_p) int fd = -1;
	CLEANUP(free_p) char *dir = strdup(path);

	for (char *s = dir; (s = strchr(s, '/')); *s++ = '/') {
		*s = '\0';
		assert_true(mkdirat(w->root_fd, dir, 0755) == 0 ||
			    errno == EEXIST);
	}
	fd = openat(w->root_fd, path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void drop(const struct world *w, const char *path)
{
	assert_int_equal(unlinkat(w->root_fd, path, 0), 0);
}

static int try_build(struct world *w, enum build_trust trust, unsigned threads)
{
	const struct build b = { .root_fd = w->root_fd,
				 .state_fd = w->state_fd,
				 .trust = trust,
				 .threads = threads };

	graph_free(w->g);
	w->g = graph_new();
	w->report = (struct build_report){ 0 };
	return build_all(&b, w->g, &w->report);
}

static void build(struct world *w, enum build_trust trust)
{
	assert_int_equal(try_build(w, trust, 2), 0);
	assert_int_equal(w->report.cache_error, 0);
}

struct paths {
	char *at[64];
	size_t count;
};

static bool see_path(const char *path, enum file_state state, void *arg)
{
	struct paths *p = arg;

	(void)state;
	assert_true(p->count < 64);
	p->at[p->count++] = strdup(path);
	return true;
}

static int compare_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The graph's files, joined by spaces. */
static void assert_files(const struct graph *g, const char *wanted)
{
	struct paths p = { .count = 0 };
	char text[4096] = "";
	size_t len = 0;

	graph_files(g, see_path, &p);
	qsort(p.at, p.count, sizeof(p.at[0]), compare_text);
	for (size_t i = 0; i < p.count; i++) {
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s",
					i ? " " : "", p.at[i]);
		free(p.at[i]);
	}
	assert_string_equal(text, wanted);
}

static bool has(const struct graph *g, const char *name)
{
	symbol_t s = graph_find(g, name);
	struct symbol symbol;

	return s != SYMBOL_NONE && graph_symbol(g, s, &symbol);
}

/* What belongs to a repository */

static void source_is_taken_and_what_surrounds_it_is_not(void **state)
{
	struct world *w = *state;

	put(w, "a.py", "def f():\n    pass\n");
	put(w, "pkg/sub/b.py", "def g():\n    pass\n");
	put(w, "venv/ours.py", "");
	put(w, "build/ours.py", "");
	put(w, "notes.txt", "def no():\n    pass\n");
	put(w, ".git/hooks/x.py", "");
	put(w, ".tox/x.py", "");
	put(w, "pkg/__pycache__/x.py", "");
	put(w, "web/node_modules/m/x.py", "");
	put(w, "env/lib/site/x.py", "");
	put(w, "env/pyvenv.cfg", "");
	put(w, "conda/lib/x.py", "");
	put(w, "conda/conda-meta/history", "");
	put(w, "out/x.py", "");
	put(w, "out/CACHEDIR.TAG", "");
	build(w, BUILD_BY_STAMP);
	assert_files(w->g, "a.py build/ours.py pkg/sub/b.py venv/ours.py");
	assert_true(has(w->g, "a.f"));
	assert_int_equal(w->report.files, 4);
	assert_int_equal(w->report.unreadable, 0);
}

static void links_and_special_files_are_left_alone(void **state)
{
	struct world *w = *state;

	put(w, "a.py", "");
	put(w, "d/b.py", "");
	assert_int_equal(symlinkat("a.py", w->root_fd, "file.py"), 0);
	assert_int_equal(symlinkat("d", w->root_fd, "dir"), 0);
	assert_int_equal(symlinkat("..", w->root_fd, "up"), 0);
	assert_int_equal(mkfifoat(w->root_fd, "fifo.py", 0600), 0);
	assert_int_equal(mkdirat(w->root_fd, "dir.py", 0700), 0);
	put(w, "dir.py/c.py", "");
	build(w, BUILD_BY_STAMP);
	assert_files(w->g, "a.py d/b.py dir.py/c.py");
	assert_int_equal(w->report.unreadable, 0);
}

static void what_cannot_be_read_is_counted(void **state)
{
	struct world *w = *state;

	put(w, "a.py", "");
	put(w, "shut.py", "");
	put(w, "closed/b.py", "");
	assert_int_equal(fchmodat(w->root_fd, "shut.py", 0, 0), 0);
	assert_int_equal(fchmodat(w->root_fd, "closed", 0, 0), 0);
	/* Root could read it; setfsuid() takes that away, from threads too. */
	(void)setfsuid(NOBODY);
	assert_int_equal(try_build(w, BUILD_BY_STAMP, 2), 0);
	(void)setfsuid(geteuid());
	assert_files(w->g, "a.py");
	assert_int_equal(w->report.unreadable, 2);
	assert_int_equal(fchmodat(w->root_fd, "closed", 0700, 0), 0);
}

static void what_is_too_large_is_counted(void **state)
{
	struct world *w = *state;
	CLEANUP(close_p) int fd = -1;

	put(w, "a.py", "");
	put(w, "big.py", "");
	fd = openat(w->root_fd, "big.py", O_WRONLY);
	assert_int_equal(ftruncate(fd, TREE_FILE_MAX + 1), 0);
	build(w, BUILD_BY_STAMP);
	assert_files(w->g, "a.py");
	assert_int_equal(w->report.too_large, 1);
	assert_int_equal(w->report.unreadable, 0);
}

static void any_bytes_will_do(void **state)
{
	struct world *w = *state;
	CLEANUP(close_p) int fd = -1;

	put(w, "a.py", "def f():\n    return '\xff\xfe'\n");
	put(w, "b.py", "def (:\n");
	put(w, "c.py", "");
	fd = openat(w->root_fd, "c.py", O_WRONLY);
	assert_int_equal(write(fd, "\0\0\0", 3), 3);
	build(w, BUILD_BY_STAMP);
	assert_files(w->g, "a.py b.py c.py");
	assert_true(w->report.broken >= 1);
	assert_int_equal(w->report.files, 3);
}

static void a_file_is_no_repository(void **state)
{
	struct world *w = *state;
	int dir_fd = w->root_fd;

	put(w, "a.py", "");
	w->root_fd = openat(dir_fd, "a.py", O_RDONLY);
	assert_int_equal(try_build(w, BUILD_BY_STAMP, 1), -ENOTDIR);
	(void)close(w->root_fd);
	w->root_fd = dir_fd;
}

static void an_empty_repository_is_an_empty_graph(void **state)
{
	struct world *w = *state;

	build(w, BUILD_BY_STAMP);
	assert_files(w->g, "");
	assert_int_equal(w->report.files, 0);
	build(w, BUILD_BY_HASH);
}

static void the_number_of_threads_does_not_show(void **state)
{
	struct world *w = *state;

	for (int i = 0; i < 20; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "m%02d.py", i);
		put(w, name, "def f():\n    pass\n");
	}
	for (unsigned threads = 1; threads <= 16; threads *= 4) {
		(void)unlinkat(w->state_fd, CACHE_NAME, 0);
		assert_int_equal(try_build(w, BUILD_BY_HASH, threads), 0);
		assert_int_equal(w->report.parsed, 20);
		assert_true(has(w->g, "m00.f"));
		assert_true(has(w->g, "m19.f"));
	}
}

/* The cache */

static void put_three(const struct world *w)
{
	put(w, "a.py", "def f():\n    pass\n");
	put(w, "b.py", "def g():\n    pass\n");
	put(w, "c/d.py", "def h():\n    pass\n");
}

static void assert_three(struct world *w, size_t parsed)
{
	assert_files(w->g, "a.py b.py c/d.py");
	assert_true(has(w->g, "a.f"));
	assert_true(has(w->g, "b.g"));
	assert_true(has(w->g, "c.d.h"));
	assert_int_equal(w->report.files, 3);
	assert_int_equal(w->report.parsed, parsed);
	assert_int_equal(w->report.cached, 3 - parsed);
	assert_int_equal(w->report.bytes, 3 * 18);
}

static void the_second_build_parses_nothing(void **state)
{
	struct world *w = *state;

	put_three(w);
	build(w, BUILD_BY_STAMP);
	assert_three(w, 3);
	build(w, BUILD_BY_STAMP);
	assert_three(w, 0);
	build(w, BUILD_BY_HASH);
	assert_three(w, 0);
}

static void only_what_changed_is_parsed(void **state)
{
	struct world *w = *state;

	put_three(w);
	build(w, BUILD_BY_STAMP);
	put(w, "b.py", "def g():\n    more\n");
	build(w, BUILD_BY_STAMP);
	assert_three(w, 1);
	build(w, BUILD_BY_HASH);
	assert_three(w, 0);
}

/* Same inode, same size, and the same mtime, which a user can set. */
static void a_change_that_hides_is_found(void **state)
{
	struct world *w = *state;
	struct stat st;
	struct timespec times[2];

	put_three(w);
	assert_int_equal(fstatat(w->root_fd, "a.py", &st, 0), 0);
	build(w, BUILD_BY_STAMP);
	put(w, "a.py", "def F():\n    pass\n");
	times[0] = st.st_atim;
	times[1] = st.st_mtim;
	assert_int_equal(utimensat(w->root_fd, "a.py", times, 0), 0);
	build(w, BUILD_BY_STAMP);
	assert_true(has(w->g, "a.F"));
	assert_false(has(w->g, "a.f"));
}

static void a_stamp_from_when_the_cache_was_made_proves_nothing(void **state)
{
	const int64_t s = 1000000000;

	(void)state;
	for (int64_t ago = 0; ago < 2 * s; ago += s / 2) {
		assert_true(cache_is_racy(
			9 * s, &(struct tree_stamp){ .mtime_ns = 9 * s - ago,
						     .ctime_ns = 0 }));
		assert_true(cache_is_racy(
			9 * s,
			&(struct tree_stamp){ .mtime_ns = 0,
					      .ctime_ns = 9 * s - ago }));
	}
	assert_true(cache_is_racy(9 * s,
				  &(struct tree_stamp){ .mtime_ns = 99 * s }));
	assert_false(cache_is_racy(
		9 * s,
		&(struct tree_stamp){ .mtime_ns = 7 * s, .ctime_ns = 7 * s }));
}

static void a_file_is_known_by_its_content_wherever_it_goes(void **state)
{
	struct world *w = *state;

	put_three(w);
	build(w, BUILD_BY_STAMP);
	assert_int_equal(renameat(w->root_fd, "a.py", w->root_fd, "z.py"), 0);
	build(w, BUILD_BY_STAMP);
	assert_files(w->g, "b.py c/d.py z.py");
	assert_true(has(w->g, "z.f"));
	assert_int_equal(w->report.parsed, 0);
	assert_int_equal(w->report.cached, 3);
}

static off_t cache_size(const struct world *w)
{
	struct stat st;

	assert_int_equal(fstatat(w->state_fd, CACHE_NAME, &st, 0), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	return st.st_size;
}

static void what_is_gone_leaves_the_cache(void **state)
{
	struct world *w = *state;
	off_t before;

	put_three(w);
	build(w, BUILD_BY_STAMP);
	before = cache_size(w);
	drop(w, "a.py");
	build(w, BUILD_BY_STAMP);
	assert_true(cache_size(w) < before);
	assert_int_equal(w->report.parsed, 0);
	assert_files(w->g, "b.py c/d.py");
}

static void one_build_more_writes_nothing(void **state)
{
	struct world *w = *state;
	struct stat before, after;

	put_three(w);
	build(w, BUILD_BY_STAMP);
	assert_int_equal(fstatat(w->state_fd, CACHE_NAME, &before, 0), 0);
	build(w, BUILD_BY_STAMP);
	build(w, BUILD_BY_HASH);
	assert_int_equal(fstatat(w->state_fd, CACHE_NAME, &after, 0), 0);
	assert_int_equal(before.st_ino, after.st_ino);
}

/* With any byte inverted or the rest cut off, the graph is still right. */
static void a_damaged_cache_is_no_loss(void **state)
{
	struct world *w = *state;
	CLEANUP(free_p) char *good = NULL;
	CLEANUP(close_p) int fd = -1;
	size_t size;

	put_three(w);
	build(w, BUILD_BY_STAMP);
	size = (size_t)cache_size(w);
	good = malloc(size);
	assert_non_null(good);
	fd = openat(w->state_fd, CACHE_NAME, O_RDONLY);
	assert_int_equal(read(fd, good, size), size);
	for (size_t at = 0; at < size; at += 1 + size / 150) {
		CLEANUP(close_p)
		int out = openat(w->state_fd, CACHE_NAME, O_WRONLY | O_TRUNC);

		assert_int_equal(write(out, good, size), size);
		assert_int_equal(
			pwrite(out, &(char){ (char)~good[at] }, 1, (off_t)at),
			1);
		build(w, at % 2 ? BUILD_BY_STAMP : BUILD_BY_HASH);
		assert_three(w, w->report.parsed);
	}
	for (size_t cut = 0; cut < size; cut += 1 + size / 50) {
		CLEANUP(close_p)
		int out = openat(w->state_fd, CACHE_NAME, O_WRONLY | O_TRUNC);

		assert_int_equal(write(out, good, cut), cut);
		build(w, BUILD_BY_STAMP);
		assert_three(w, 3);
	}
}

/*
 * The cache's header, as cache.c has it: bytes 8 to 15 say which program wrote
 * the file, in which format; a hash at byte 80 covers all before it.
 */
static void a_cache_of_another_format_is_ignored_and_replaced(void **state)
{
	struct world *w = *state;
	struct cache *c = NULL;
	CLEANUP(close_p) int fd = -1;
	uint64_t header[11];

	put_three(w);
	build(w, BUILD_BY_STAMP);
	fd = openat(w->state_fd, CACHE_NAME, O_RDWR);
	assert_int_equal(pread(fd, header, sizeof(header), 0), sizeof(header));
	assert_int_equal(header[10], XXH3_64bits(header, 80));
	header[1]++;
	header[10] = XXH3_64bits(header, 80);
	assert_int_equal(pwrite(fd, header, sizeof(header), 0), sizeof(header));
	assert_int_equal(cache_open(w->state_fd, &c), -EBADMSG);
	build(w, BUILD_BY_STAMP);
	assert_three(w, 3);
	build(w, BUILD_BY_STAMP);
	assert_three(w, 0);
}

static void a_cache_that_cannot_be_written_is_said_and_no_more(void **state)
{
	struct world *w = *state;

	put_three(w);
	assert_int_equal(mkdirat(w->state_fd, CACHE_NAME, 0700), 0);
	assert_int_equal(try_build(w, BUILD_BY_STAMP, 2), 0);
	assert_true(w->report.cache_error < 0);
	assert_three(w, 3);
	assert_int_equal(faccessat(w->state_fd, CACHE_NAME ".new", F_OK, 0),
			 -1);
}

static void a_cache_for_which_there_is_no_room_is_said_and_no_more(void **state)
{
	struct world *w = *state;
	struct rlimit had, small;

	put_three(w);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &had), 0);
	(void)signal(SIGXFSZ, SIG_IGN);
	for (rlim_t room = 0; room < 64 << 10; room += 5000) {
		small = (struct rlimit){ room, had.rlim_max };
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
		assert_int_equal(try_build(w, BUILD_BY_STAMP, 2), 0);
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &had), 0);
		assert_int_equal(w->report.cache_error, -EFBIG);
		assert_three(w, 3);
		assert_int_equal(
			faccessat(w->state_fd, CACHE_NAME ".new", F_OK, 0), -1);
	}
	(void)signal(SIGXFSZ, SIG_DFL);
	build(w, BUILD_BY_STAMP);
	build(w, BUILD_BY_HASH);
	assert_three(w, 0);
}

/* Opening it does not wait for a writer. */
static void a_fifo_in_place_of_the_cache_is_none(void **state)
{
	struct world *w = *state;

	put_three(w);
	assert_int_equal(mkfifoat(w->state_fd, CACHE_NAME, 0600), 0);
	build(w, BUILD_BY_STAMP);
	assert_three(w, 3);
	build(w, BUILD_BY_HASH);
	assert_three(w, 0);
}

static void the_cache_is_one_writers_at_a_time(void **state)
{
	struct world *w = *state;
	struct cache_writer *first = NULL, *second = NULL;

	assert_int_equal(cache_writer_new(w->state_fd, 0, &first), 0);
	assert_int_equal(cache_writer_new(w->state_fd, 0, &second), -EBUSY);
	put_three(w);
	assert_int_equal(try_build(w, BUILD_BY_STAMP, 2), 0);
	assert_int_equal(w->report.cache_error, -EBUSY);
	assert_three(w, 3);
	cache_writer_free(first);
	build(w, BUILD_BY_STAMP);
	build(w, BUILD_BY_STAMP);
	assert_three(w, 0);
}

/* Refreshing single paths */

static void refresh(struct world *w, const char *path)
{
	struct lang_readers *r = lang_readers_new();
	struct buf text = TREE_TEXT;

	assert_int_equal(build_refresh(w->g, r, w->root_fd, path, &text), 0);
	assert_int_equal(graph_settle(w->g, NULL), 0);
	buf_release(&text);
	lang_readers_free(r);
}

static void files_come_change_and_go(void **state)
{
	struct world *w = *state;

	put_three(w);
	build(w, BUILD_BY_STAMP);
	put(w, "new.py", "def n():\n    pass\n");
	refresh(w, "new.py");
	assert_true(has(w->g, "new.n"));
	put(w, "new.py", "def m():\n    pass\n");
	refresh(w, "new.py");
	assert_true(has(w->g, "new.m"));
	assert_false(has(w->g, "new.n"));
	drop(w, "new.py");
	refresh(w, "new.py");
	assert_files(w->g, "a.py b.py c/d.py");
	refresh(w, "never.py");
	refresh(w, "notes.txt");
	assert_files(w->g, "a.py b.py c/d.py");
}

static void a_directory_comes_and_goes_with_all_it_holds(void **state)
{
	struct world *w = *state;

	put_three(w);
	put(w, "c/deep/e.py", "");
	build(w, BUILD_BY_STAMP);
	assert_int_equal(renameat(w->root_fd, "c", w->root_fd, "cc"), 0);
	refresh(w, "c");
	assert_files(w->g, "a.py b.py");
	refresh(w, "cc");
	assert_files(w->g, "a.py b.py cc/d.py cc/deep/e.py");
	assert_int_equal(renameat(w->root_fd, "cc", w->root_fd, ".c"), 0);
	refresh(w, "cc");
	refresh(w, ".c");
	refresh(w, ".c/d.py");
	assert_files(w->g, "a.py b.py");
}

static void all_may_be_looked_at_again(void **state)
{
	struct world *w = *state;

	put_three(w);
	build(w, BUILD_BY_STAMP);
	drop(w, "a.py");
	put(w, "b.py", "def other():\n    pass\n");
	put(w, "new/n.py", "");
	refresh(w, "");
	assert_files(w->g, "b.py c/d.py new/n.py");
	assert_true(has(w->g, "b.other"));
}

static void a_mark_takes_its_directory_away(void **state)
{
	struct world *w = *state;

	put_three(w);
	build(w, BUILD_BY_STAMP);
	put(w, "c/pyvenv.cfg", "");
	refresh(w, "c/pyvenv.cfg");
	assert_files(w->g, "a.py b.py");
	refresh(w, "c/d.py");
	assert_files(w->g, "a.py b.py");
	drop(w, "c/pyvenv.cfg");
	refresh(w, "c/pyvenv.cfg");
	assert_files(w->g, "a.py b.py c/d.py");
}

static void what_a_build_leaves_out_is_left_out(void **state)
{
	struct world *w = *state;
	CLEANUP(close_p) int fd = -1;

	put_three(w);
	build(w, BUILD_BY_STAMP);
	drop(w, "a.py");
	assert_int_equal(symlinkat("b.py", w->root_fd, "a.py"), 0);
	refresh(w, "a.py");
	assert_int_equal(symlinkat("c", w->root_fd, "link"), 0);
	refresh(w, "link/d.py");
	fd = openat(w->root_fd, "b.py", O_WRONLY);
	assert_int_equal(ftruncate(fd, TREE_FILE_MAX + 1), 0);
	refresh(w, "b.py");
	assert_files(w->g, "c/d.py");
}

static void a_path_that_leaves_the_repository_is_refused(void **state)
{
	struct world *w = *state;
	static const char *const bad[] = { "/etc/x.py", "../x.py", "a/..",
					   "./a.py",	"a//b.py", "a/",
					   "." };
	struct lang_readers *r = lang_readers_new();
	struct buf text = TREE_TEXT;

	build(w, BUILD_BY_STAMP);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(
			build_refresh(w->g, r, w->root_fd, bad[i], &text),
			-EINVAL);
	buf_release(&text);
	lang_readers_free(r);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH(source_is_taken_and_what_surrounds_it_is_not),
		EACH(links_and_special_files_are_left_alone),
		EACH(what_cannot_be_read_is_counted),
		EACH(what_is_too_large_is_counted),
		EACH(any_bytes_will_do),
		EACH(a_file_is_no_repository),
		EACH(an_empty_repository_is_an_empty_graph),
		EACH(the_number_of_threads_does_not_show),
		EACH(the_second_build_parses_nothing),
		EACH(only_what_changed_is_parsed),
		EACH(a_change_that_hides_is_found),
		EACH(a_stamp_from_when_the_cache_was_made_proves_nothing),
		EACH(a_file_is_known_by_its_content_wherever_it_goes),
		EACH(what_is_gone_leaves_the_cache),
		EACH(one_build_more_writes_nothing),
		EACH(a_damaged_cache_is_no_loss),
		EACH(a_cache_of_another_format_is_ignored_and_replaced),
		EACH(a_cache_that_cannot_be_written_is_said_and_no_more),
		EACH(a_cache_for_which_there_is_no_room_is_said_and_no_more),
		EACH(a_fifo_in_place_of_the_cache_is_none),
		EACH(the_cache_is_one_writers_at_a_time),
		EACH(files_come_change_and_go),
		EACH(a_directory_comes_and_goes_with_all_it_holds),
		EACH(all_may_be_looked_at_again),
		EACH(a_mark_takes_its_directory_away),
		EACH(what_a_build_leaves_out_is_left_out),
		EACH(a_path_that_leaves_the_repository_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
