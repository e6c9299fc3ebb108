/*
 * Damaged stores: what can be read of them is read, what was altered is found,
 * and setting one aside loses nothing, whenever it is cut off.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "graph/base/buf.h"
#include "graph/base/cleanup.h"
#include "tape/store/aside.h"
#include "tests/support/store_world.h"

#define PAGE	  4096
#define ENTRIES	  40
#define BYTES_MAX (1 << 20)

/* A small store with one process's changes of a few files. */
static int setup(void **state)
{
	static struct journal_author sed = { .pid = 30,
					     .start = 3,
					     .comm = "sed",
					     .cmdline = "sed -i s/a/b/ a.py",
					     .exe = "/bin/sed" };
	static const struct entry_symbol symbol = { "a.load", 0, ENTRY_X,
						    false };
	char path[32], before[32] = "", after[32];
	struct entry e;
	struct world *w;

	world_setup(state);
	w = *state;
	put_base(w->s, "base.py", "as before the tape");
	for (int i = 0; i < ENTRIES; i++) {
		(void)snprintf(path, sizeof(path), "f%d.py", i % 5);
		(void)snprintf(before, sizeof(before), "text %d", i - 5);
		(void)snprintf(after, sizeof(after), "text %d", i);
		e = change(path, i < 5 ? NULL : before, after);
		e.author = &sed;
		e.symbols = &symbol;
		e.symbols_count = 1;
		put_change(w->s, &e, after);
	}
	world_close(w);
	return 0;
}

static size_t read_bytes(const char *path, char *ret)
{
	CLEANUP(close_p) int fd = open(path, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, ret, BYTES_MAX);

	assert_true(n >= 0 && n < BYTES_MAX);
	return (size_t)n;
}

static void write_bytes(const char *path, const char *bytes, size_t len)
{
	CLEANUP(close_p)
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_int_equal(write(fd, bytes, len), len);
}

/* What the store says happened, and the texts. */
struct told {
	struct store *s;
	struct buf text;
	int entries;
};

static int tell(const struct entry *e, void *arg)
{
	CLEANUP(free_p) char *text = NULL;
	struct told *t = arg;
	char line[256];
	size_t len = 0;
	int n = snprintf(line, sizeof(line), "%lu %d %s %s %s\n",
			 (unsigned long)e->n, (int)e->kind, e->path,
			 e->author ? e->author->cmdline : "-",
			 e->symbols_count ? e->symbols[0].name : "-");

	t->entries++;
	assert_int_equal(buf_add(&t->text, line, (size_t)n), 0);
	if (store_content(t->s, e->after, &text, &len) == 0)
		assert_int_equal(buf_add(&t->text, text, len), 0);
	return 0;
}

static struct told tell_all(struct store *s)
{
	struct told t = { .s = s, .text = BUF(BYTES_MAX) };
	struct store_filter all = { 0 };

	(void)store_select(s, &all, SIZE_MAX, tell, &t);
	return t;
}

static bool is_same(const struct told *a, const struct told *b)
{
	return a->text.len == b->text.len &&
	       memcmp(a->text.data, b->text.data, a->text.len) == 0;
}

/*
 * The store was damaged: nobody crashes, verify finds it or nothing that the
 * tape says is altered, and salvaging gives no entry that was not there.
 * Returns how many entries can be read.
 */
static int check_damaged(struct world *w, const struct told *whole)
{
	struct store *s = NULL;
	struct told t;
	int found, entries;

	if (store_open(w->path, STORE_READ, &s, NULL) == 0) {
		w->said[0] = '\0';
		found = store_verify(s, world_found, w);
		t = tell_all(s);
		if (found == 0 && !is_same(&t, whole))
			fail_msg("altered, and verify finds nothing");
		buf_release(&t.text);
		store_free(s);
	}
	if (store_open(w->path, STORE_SALVAGE, &s, NULL) < 0)
		return 0;
	t = tell_all(s);
	entries = t.entries;
	assert_true(entries <= ENTRIES);
	buf_release(&t.text);
	store_free(s);
	return entries;
}

static struct told told_of(struct world *w)
{
	struct told whole;

	world_open(w, STORE_READ);
	whole = tell_all(w->s);
	assert_int_equal(whole.entries, ENTRIES);
	whole.s = NULL;
	world_close(w);
	return whole;
}

static void damage_on_any_page_is_found_and_the_rest_is_read(void **state)
{
	struct world *w = *state;
	struct told whole = told_of(w);
	CLEANUP(free_p) char *kept = malloc(BYTES_MAX);
	size_t len = read_bytes(w->path, kept);
	int most = 0, entries;

	assert_true(len > (size_t)10 * PAGE && len % PAGE == 0);
	for (size_t page = 0; page < len; page += PAGE) {
		/* Its header, its cells, and the bytes between. */
		for (size_t at = 0; at < PAGE; at += at < 16 ? 5 : 397) {
			kept[page + at] ^= 0x2a;
			write_bytes(w->path, kept, len);
			kept[page + at] ^= 0x2a;
			entries = check_damaged(w, &whole);
			most = entries > most ? entries : most;
		}
		/* All of it. */
		write_bytes(w->path, kept, len);
		{
			CLEANUP(close_p) int fd = open(w->path, O_RDWR);
			char bytes[PAGE];

			memset(bytes, 0xa5, sizeof(bytes));
			assert_int_equal(pwrite(fd, bytes, PAGE, (off_t)page),
					 PAGE);
		}
		entries = check_damaged(w, &whole);
		/* Without the head or the schema there is nothing. */
		if (page >= PAGE)
			most = entries > most ? entries : most;
	}
	assert_int_equal(most, ENTRIES);
	buf_release(&whole.text);
}

static void a_store_cut_short_at_any_page_is_found(void **state)
{
	struct world *w = *state;
	struct told whole = told_of(w);
	CLEANUP(free_p) char *kept = malloc(BYTES_MAX);
	size_t len = read_bytes(w->path, kept);
	struct store *s = NULL;

	for (size_t end = PAGE; end < len; end += PAGE) {
		write_bytes(w->path, kept, end);
		(void)check_damaged(w, &whole);
		w->findings = 0;
		if (store_open(w->path, STORE_READ, &s, NULL) == 0)
			assert_true(store_verify(s, world_found, w) > 0);
		store_free(s);
		s = NULL;
	}
	buf_release(&whole.text);
}

/* -- Setting aside. */

/* Newest entry of the store, with its log, that was set aside; 0: none. */
static uint64_t head_of_aside(struct world *w)
{
	char **paths = NULL;
	struct store *s = NULL;
	size_t count = 0;
	uint64_t head;

	assert_int_equal(store_asides(w->path, &paths, &count), 0);
	assert_int_equal(count, 1);
	assert_int_equal(store_open(paths[0], STORE_SALVAGE, &s, NULL), 0);
	head = store_head(s);
	assert_int_equal(store_skipped(s), 0);
	store_free(s);
	store_asides_free(paths, count);
	return head;
}

/*
 * A store with its last entries in the log only, as a killed process leaves
 * it: the files are copied while it is open.
 */
static void leave_log(struct world *w)
{
	CLEANUP(free_p) char *db = malloc(BYTES_MAX);
	CLEANUP(free_p) char *log = malloc(BYTES_MAX);
	CLEANUP(free_p) char *log_path = NULL;
	size_t db_len, log_len;

	assert_true(asprintf(&log_path, "%s-wal", w->path) > 0);
	world_open(w, STORE_WRITE);
	put(w->s, "new.py", NULL, "in the log");
	db_len = read_bytes(w->path, db);
	log_len = read_bytes(log_path, log);
	assert_true(log_len > 0);
	world_close(w);
	write_bytes(w->path, db, db_len);
	write_bytes(log_path, log, log_len);
}

static void a_store_is_set_aside_with_its_log(void **state)
{
	struct world *w = *state;
	CLEANUP(free_p) char *name = NULL;

	leave_log(w);
	assert_int_equal(store_set_aside(w->path, ASIDE_DAMAGED, &name), 0);
	assert_non_null(strstr(name, "/tape.db.damaged-"));
	assert_int_equal(access(w->path, F_OK), -1);
	assert_int_equal(head_of_aside(w), ENTRIES + 1);
	world_open(w, STORE_WRITE);
	assert_int_equal(store_head(w->s), 0);
	assert_int_equal(store_set_aside("/nowhere/x", ASIDE_NEWER, &name),
			 -ENOENT);
}

/* The steps of store_set_aside(), of which a killed process did the first. */
static void do_steps(const struct world *w, int steps)
{
	CLEANUP(free_p) char *log = NULL;
	CLEANUP(free_p) char *name = NULL;
	CLEANUP(free_p) char *log_name = NULL;

	assert_true(asprintf(&log, "%s-wal", w->path) > 0);
	assert_true(asprintf(&name, "%s.damaged-20000101T000000Z", w->path) >
		    0);
	assert_true(asprintf(&log_name, "%s-wal", name) > 0);
	if (steps > 0)
		assert_int_equal(link(w->path, name), 0);
	if (steps > 1)
		assert_int_equal(link(log, log_name), 0);
	if (steps > 2)
		assert_int_equal(unlink(w->path), 0);
	if (steps > 3)
		assert_int_equal(unlink(log), 0);
}

static void cut_off_anywhere_it_loses_nothing(void **state)
{
	struct world *w = *state;

	for (int steps = 0; steps <= 4; steps++) {
		CLEANUP(free_p) char *name = NULL;

		if (steps) {
			world_teardown(state);
			setup(state);
			w = *state;
		}
		leave_log(w);
		do_steps(w, steps);
		/* The next tape: sets it aside if it is still there. */
		if (access(w->path, F_OK) == 0)
			assert_int_equal(
				store_set_aside(w->path, ASIDE_DAMAGED, &name),
				0);
		world_open(w, STORE_WRITE);
		assert_int_equal(store_head(w->s), 0);
		world_close(w);
		assert_int_equal(head_of_aside(w), ENTRIES + 1);
	}
}

static void several_are_listed_by_their_date(void **state)
{
	struct world *w = *state;
	char **paths = NULL;
	size_t count = 0;

	for (int i = 0; i < 3; i++) {
		CLEANUP(free_p) char *name = NULL;

		assert_int_equal(
			store_set_aside(w->path,
					i == 1 ? ASIDE_NEWER : ASIDE_DAMAGED,
					&name),
			0);
		world_open(w, STORE_WRITE);
		world_close(w);
	}
	assert_int_equal(store_asides(w->path, &paths, &count), 0);
	assert_int_equal(count, 3);
	store_asides_free(paths, count);
}

#define T(test) cmocka_unit_test_setup_teardown(test, setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(damage_on_any_page_is_found_and_the_rest_is_read),
		T(a_store_cut_short_at_any_page_is_found),
		T(a_store_is_set_aside_with_its_log),
		T(cut_off_anywhere_it_loses_nothing),
		T(several_are_listed_by_their_date),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
