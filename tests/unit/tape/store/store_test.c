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

#include "tests/support/store_world.h"

/* Entry numbers in the order of the visit. */
struct seen {
	uint64_t n[64];
	size_t count;
	size_t stop_at;
};

static int see(const struct entry *e, void *arg)
{
	struct seen *seen = arg;

	assert_true(seen->count < 64);
	seen->n[seen->count++] = e->n;
	return seen->count == seen->stop_at ? 7 : 0;
}

/* -- Opening. */

static void a_new_store_is_empty_and_its_owners_alone(void **state)
{
	struct world *w = *state;
	struct store_stats stats;
	struct stat st;

	assert_int_equal(store_head(w->s), 0);
	assert_int_equal(store_first(w->s), 1);
	assert_int_equal(store_position(w->s), 0);
	assert_int_equal(store_stat(w->s, &stats), 0);
	assert_int_equal(stats.entries, 0);
	assert_int_equal(stats.first, 0);
	assert_int_equal(stats.contents, 0);
	assert_int_equal(stats.files, 0);
	assert_true(stats.bytes > 0);
	assert_int_equal(stat(w->path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
}

static void a_file_that_others_may_read_is_closed_to_them(void **state)
{
	struct world *w = *state;
	struct stat st;

	world_close(w);
	assert_int_equal(chmod(w->path, 0644), 0);
	world_open(w, STORE_WRITE);
	assert_int_equal(stat(w->path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
}

static void a_second_writer_is_refused_with_a_reason(void **state)
{
	struct world *w = *state;
	struct store *second = NULL;

	assert_int_equal(store_open(w->path, STORE_WRITE, &second, &w->why),
			 -EBUSY);
	assert_null(second);
	assert_non_null(strstr(w->why, "Another process writes"));
	assert_int_equal(store_open(w->path, STORE_WRITE, &second, NULL),
			 -EBUSY);
	/* The first store still works. */
	assert_int_equal(put(w->s, "a", NULL, "x"), 1);
}

static void opening_a_missing_store_for_reading_fails(void **state)
{
	struct world *w = *state;
	struct store *s = NULL;
	char *path = NULL;
	int fd;

	assert_true(asprintf(&path, "%s/none", w->dir) > 0);
	assert_int_equal(store_open(path, STORE_READ, &s, &w->why), -ENOENT);
	assert_non_null(strstr(w->why, "There is no tape"));
	free(w->why);
	fd = open(path, O_CREAT | O_RDWR, 0600);
	assert_true(fd >= 0);
	(void)close(fd);
	assert_int_equal(store_open(path, STORE_READ, &s, &w->why), -ENOENT);
	assert_non_null(strstr(w->why, "nothing on the tape"));
	assert_null(s);
	free(path);
}

static void a_directory_that_is_not_there_is_an_error(void **state)
{
	struct world *w = *state;
	struct store *s = NULL;

	assert_int_equal(
		store_open("/nonexistent/tape.db", STORE_WRITE, &s, &w->why),
		-ENOENT);
	assert_non_null(w->why);
	assert_null(s);
}

static void an_empty_file_becomes_a_store(void **state)
{
	struct world *w = *state;

	world_close(w);
	assert_int_equal(truncate(w->path, 0), 0);
	world_open(w, STORE_WRITE);
	assert_int_equal(put(w->s, "a", NULL, "x"), 1);
}

static void a_reader_cannot_write(void **state)
{
	struct world *w = *state;
	struct entry e = change("a", NULL, "x");
	struct store_file f = { .path = "a" };
	struct store_retired retired;
	struct store *r = NULL;

	assert_int_equal(store_open(w->path, STORE_READ, &r, NULL), 0);
	assert_int_equal(store_begin(r), -EROFS);
	assert_int_equal(store_append(r, &e), -EROFS);
	assert_int_equal(store_put_content(r, e.after, NULL, "x", 1), -EROFS);
	assert_int_equal(store_put_file(r, &f), -EROFS);
	assert_int_equal(store_remove_file(r, "a"), -EROFS);
	assert_int_equal(store_set_position(r, 1), -EROFS);
	assert_int_equal(store_commit(r), -EROFS);
	assert_int_equal(store_checkpoint(r), -EROFS);
	assert_int_equal(store_retire(r, 0, 0, 0, &retired), -EROFS);
	store_free(r);
}

static void a_reader_sees_later_commits(void **state)
{
	struct world *w = *state;
	struct entry e = change("b", NULL, "y");
	struct store *r = NULL;

	assert_int_equal(store_open(w->path, STORE_READ, &r, NULL), 0);
	assert_int_equal(store_head(r), 0);
	put(w->s, "a", NULL, "x");
	assert_int_equal(store_head(r), 1);
	assert_int_equal(store_begin(w->s), 0);
	assert_int_equal(store_append(w->s, &e), 0);
	assert_int_equal(store_head(r), 1);
	assert_int_equal(store_commit(w->s), 0);
	assert_int_equal(store_head(r), 2);
	store_free(r);
}

static void what_was_committed_is_there_when_opened_again(void **state)
{
	struct world *w = *state;
	struct seen seen = { 0 };

	put(w->s, "a", NULL, "x");
	assert_int_equal(store_begin(w->s), 0);
	assert_int_equal(store_set_position(w->s, 4711), 0);
	assert_int_equal(store_commit(w->s), 0);
	world_close(w);
	world_open(w, STORE_WRITE);
	assert_int_equal(store_head(w->s), 1);
	assert_int_equal(store_position(w->s), 4711);
	assert_int_equal(put(w->s, "a", "x", "y"), 2);
	world_close(w);
	world_open(w, STORE_READ);
	assert_int_equal(store_position(w->s), 4711);
	assert_int_equal(store_since(w->s, 0, 10, see, &seen), 0);
	assert_int_equal(seen.count, 2);
}

/* -- Transactions. */

static void writing_needs_a_transaction(void **state)
{
	struct world *w = *state;
	struct entry e = change("a", NULL, "x");
	struct store_file f = { .path = "a" };

	assert_int_equal(store_append(w->s, &e), -EINVAL);
	assert_int_equal(store_put_content(w->s, e.after, NULL, "x", 1),
			 -EINVAL);
	assert_int_equal(store_put_file(w->s, &f), -EINVAL);
	assert_int_equal(store_remove_file(w->s, "a"), -EINVAL);
	assert_int_equal(store_set_position(w->s, 1), -EINVAL);
	assert_int_equal(store_commit(w->s), -EINVAL);
	assert_int_equal(store_begin(w->s), 0);
	assert_int_equal(store_begin(w->s), -EINVAL);
	assert_int_equal(store_checkpoint(w->s), -EINVAL);
	assert_int_equal(store_commit(w->s), 0);
	assert_int_equal(store_checkpoint(w->s), 0);
}

static int no_file(const struct store_file *f, void *arg)
{
	(void)f;
	(void)arg;
	fail();
	return 0;
}

static void an_aborted_transaction_leaves_no_trace(void **state)
{
	struct world *w = *state;
	struct entry e = change("a", NULL, "x");
	struct store_file f = { .path = "a", .hash = e.after };
	XXH128_hash_t hash;
	uint64_t since;

	assert_int_equal(store_begin(w->s), 0);
	assert_int_equal(store_put_content(w->s, e.after, NULL, "x", 1), 0);
	assert_int_equal(store_append(w->s, &e), 0);
	assert_int_equal(store_put_file(w->s, &f), 0);
	assert_int_equal(store_set_position(w->s, 9), 0);
	assert_int_equal(store_head(w->s), 1);
	store_abort(w->s);
	store_abort(w->s);
	assert_int_equal(store_head(w->s), 0);
	assert_int_equal(store_position(w->s), 0);
	assert_false(store_has_content(w->s, e.after));
	assert_int_equal(store_files(w->s, no_file, NULL), 0);
	assert_int_equal(store_version(w->s, "a", UINT64_MAX, &hash, &since),
			 -ENOENT);
	assert_int_equal(put(w->s, "a", NULL, "x"), 1);
}

static void a_failed_call_fails_its_transaction(void **state)
{
	struct world *w = *state;
	struct entry good = change("a", NULL, "x");
	struct entry bad = good;

	bad.kind = ENTRY_KINDS;
	assert_int_equal(store_begin(w->s), 0);
	assert_int_equal(store_append(w->s, &good), 0);
	assert_int_equal(store_append(w->s, &bad), -EINVAL);
	assert_int_equal(bad.n, 0);
	assert_int_equal(store_append(w->s, &good), -EINVAL);
	assert_int_equal(store_commit(w->s), -EINVAL);
	assert_int_equal(store_head(w->s), 0);
	assert_int_equal(put(w->s, "a", NULL, "x"), 1);
}

static void freeing_aborts(void **state)
{
	struct world *w = *state;
	struct entry e = change("a", NULL, "x");

	assert_int_equal(store_begin(w->s), 0);
	assert_int_equal(store_append(w->s, &e), 0);
	world_close(w);
	world_open(w, STORE_WRITE);
	assert_int_equal(store_head(w->s), 0);
	store_free(NULL);
}

/* -- Entries. */

static const struct entry_range ranges[] = {
	{ 10, 2, 10, 3 },
	{ 40, 0, 41, 7 },
	{ 1, UINT32_MAX, 0, 0 },
	{ UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX },
};
static const struct entry_symbol symbols[] = {
	{ "pkg.mod.Class.method", 1, ENTRY_X, false },
	{ "pkg.mod.gone", 0, ENTRY_X, true },
	{ "pkg.mod", 3, ENTRY_DX, false },
	{ "plain", 255, ENTRY_R, false },
	{ ".odd", 4, ENTRY_ADDED, false },
	{ "..odder", 4, ENTRY_ADDED, false },
	{ "file:src/a b.txt", 5, ENTRY_ADDED, false },
	{ "", 5, ENTRY_ADDED, false },
};
static struct journal_author init = {
	.pid = 1,
	.comm = "init",
	.cmdline = "/sbin/init",
	.exe = "",
	.session_root = true,
};
static struct journal_author shell = {
	.pid = 800,
	.uid = 1000,
	.start = 77,
	.comm = "bash",
	.cmdline = "bash -c 'sed -i s/a/b/ \xff.py'",
	.exe = "/usr/bin/bash",
	.parent = &init,
};
static struct journal_author sed = {
	.pid = UINT32_MAX,
	.uid = UINT32_MAX,
	.start = UINT64_MAX,
	.comm = "sed",
	.cmdline = "sed -i s/a/b/ x.py",
	.exe = "/usr/bin/sed",
	.parent = &shell,
};

static struct entry full_entry(void)
{
	return (struct entry){
		.at_ns = INT64_C(1767323045678901234),
		.kind = ENTRY_RENAME,
		.origin = ENTRY_RECOVERED,
		.syntax = ENTRY_BROKEN,
		.path = "dir/old \xff\xfe name.py",
		.path2 = "dir/new.py",
		.had = true,
		.has = true,
		.before = { 1, UINT64_MAX },
		.after = { UINT64_MAX, 2 },
		.bytes = UINT64_MAX,
		.plus = UINT32_MAX,
		.minus = 17,
		.ranges = ranges,
		.ranges_count = sizeof(ranges) / sizeof(*ranges),
		.symbols = symbols,
		.symbols_count = sizeof(symbols) / sizeof(*symbols),
		.author = &sed,
		.journal_first = 1,
		.journal_last = UINT64_MAX,
		.marker = true,
	};
}

static void assert_same_text(const char *a, const char *b)
{
	if (a && b)
		assert_string_equal(a, b);
	else
		assert_true(a == b);
}

static void assert_same_author(const struct journal_author *a,
			       const struct journal_author *b)
{
	for (; a && b; a = a->parent, b = b->parent) {
		assert_int_equal(a->pid, b->pid);
		assert_int_equal(a->uid, b->uid);
		assert_int_equal(a->start, b->start);
		assert_string_equal(a->comm, b->comm);
		assert_string_equal(a->cmdline, b->cmdline);
		assert_string_equal(a->exe, b->exe);
		assert_int_equal(a->session_root, b->session_root);
	}
	assert_true(a == b);
}

static void assert_same_symbols(const struct entry *a, const struct entry *b)
{
	assert_int_equal(a->symbols_count, b->symbols_count);
	for (size_t i = 0; i < a->symbols_count; i++) {
		assert_string_equal(a->symbols[i].name, b->symbols[i].name);
		assert_int_equal(a->symbols[i].kind, b->symbols[i].kind);
		assert_int_equal(a->symbols[i].set, b->symbols[i].set);
		assert_int_equal(a->symbols[i].removed, b->symbols[i].removed);
	}
}

static int same(const struct entry *b, void *arg)
{
	const struct entry *a = arg;

	assert_int_equal(a->n, b->n);
	assert_int_equal(a->at_ns, b->at_ns);
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->origin, b->origin);
	assert_int_equal(a->syntax, b->syntax);
	assert_same_text(a->path, b->path);
	assert_same_text(a->path2, b->path2);
	assert_int_equal(a->had, b->had);
	assert_int_equal(a->has, b->has);
	assert_hash(a->before, b->before);
	assert_hash(a->after, b->after);
	assert_int_equal(a->bytes, b->bytes);
	assert_int_equal(a->plus, b->plus);
	assert_int_equal(a->minus, b->minus);
	assert_int_equal(a->ranges_count, b->ranges_count);
	assert_memory_equal(a->ranges, b->ranges,
			    a->ranges_count * sizeof(*a->ranges));
	assert_same_symbols(a, b);
	assert_same_author(a->author, b->author);
	assert_int_equal(a->journal_first, b->journal_first);
	assert_int_equal(a->journal_last, b->journal_last);
	assert_int_equal(a->marker, b->marker);
	assert_memory_equal(a->chain, b->chain, ENTRY_CHAIN_SIZE);
	return 42;
}

static void an_entry_comes_back_as_it_was_given(void **state)
{
	struct world *w = *state;
	struct entry e = full_entry();
	static const uint8_t none[ENTRY_CHAIN_SIZE];

	assert_int_equal(store_begin(w->s), 0);
	assert_int_equal(store_append(w->s, &e), 0);
	assert_int_equal(store_commit(w->s), 0);
	assert_int_equal(e.n, 1);
	assert_memory_not_equal(e.chain, none, sizeof(none));
	assert_int_equal(store_entry(w->s, 1, same, &e), 42);
	world_close(w);
	world_open(w, STORE_READ);
	assert_int_equal(store_entry(w->s, 1, same, &e), 42);
}

static void a_gap_has_no_path_and_an_empty_entry_is_small(void **state)
{
	struct world *w = *state;
	struct entry gap = { .kind = ENTRY_GAP, .journal_last = 3 };
	struct entry bare = { .path = "a" };
	struct entry none = { .kind = ENTRY_EDIT };

	assert_int_equal(store_begin(w->s), 0);
	assert_int_equal(store_append(w->s, &gap), 0);
	assert_int_equal(store_append(w->s, &bare), 0);
	assert_int_equal(store_commit(w->s), 0);
	assert_int_equal(store_entry(w->s, 1, same, &gap), 42);
	assert_int_equal(store_entry(w->s, 2, same, &bare), 42);
	assert_int_equal(store_begin(w->s), 0);
	assert_int_equal(store_append(w->s, &none), -EINVAL);
	assert_int_equal(store_commit(w->s), -EINVAL);
}

static void equal_entries_have_different_hashes_by_place(void **state)
{
	struct world *w = *state;
	struct entry a = change("a", NULL, "x"), b = a;

	put_change(w->s, &a, "x");
	put_change(w->s, &b, "x");
	assert_memory_not_equal(a.chain, b.chain, ENTRY_CHAIN_SIZE);
}

static void an_entry_that_is_not_there_is_not_found(void **state)
{
	struct world *w = *state;
	struct seen seen = { 0 };

	put(w->s, "a", NULL, "x");
	assert_int_equal(store_entry(w->s, 0, see, &seen), -ENOENT);
	assert_int_equal(store_entry(w->s, 2, see, &seen), -ENOENT);
	assert_int_equal(store_entry(w->s, UINT64_MAX, see, &seen), -ENOENT);
	assert_int_equal(seen.count, 0);
}

static void since_goes_on_from_a_number_within_its_limit(void **state)
{
	struct world *w = *state;
	struct seen seen = { 0 };

	for (int i = 0; i < 5; i++)
		put(w->s, "a", "x", "y");
	assert_int_equal(store_since(w->s, 2, 2, see, &seen), 0);
	assert_int_equal(seen.count, 2);
	assert_int_equal(seen.n[0], 3);
	assert_int_equal(seen.n[1], 4);
	assert_int_equal(store_since(w->s, 5, 2, see, &seen), 0);
	assert_int_equal(store_since(w->s, UINT64_MAX, 2, see, &seen), 0);
	assert_int_equal(store_since(w->s, 0, 0, see, &seen), 0);
	assert_int_equal(seen.count, 2);
	seen = (struct seen){ .stop_at = 3 };
	assert_int_equal(store_since(w->s, 0, SIZE_MAX, see, &seen), 7);
	assert_int_equal(seen.count, 3);
}

static int ask_within(const struct entry *e, void *arg)
{
	struct world *w = arg;
	struct seen seen = { 0 };

	assert_int_equal(store_since(w->s, e->n - 1, 9, see, &seen), 0);
	assert_int_equal(seen.n[0], e->n);
	assert_string_equal(e->path, "a");
	return 0;
}

static void a_visitor_may_ask_the_store(void **state)
{
	struct world *w = *state;

	put(w->s, "a", NULL, "x");
	put(w->s, "a", "x", "y");
	assert_int_equal(store_since(w->s, 0, 9, ask_within, w), 0);
}

static int four_above(const struct entry *e, void *arg)
{
	const struct journal_author *a = e->author;
	int *depth = arg;

	for (*depth = 0; a; a = a->parent)
		++*depth;
	return 0;
}

static void a_cycle_of_ancestors_is_cut(void **state)
{
	struct world *w = *state;
	struct journal_author a = { .pid = 1 }, b = { .pid = 2 };
	struct entry e = change("a", NULL, "x");
	int depth = 0;

	a.parent = &b;
	b.parent = &a;
	e.author = &a;
	put_change(w->s, &e, "x");
	assert_int_equal(store_entry(w->s, 1, four_above, &depth), 0);
	assert_int_equal(depth, 64);
}

/* -- Contents. */

static void assert_content(struct store *s, const char *want)
{
	char *text = NULL;
	size_t len = 0;

	assert_int_equal(store_content(s, hash_of(want), &text, &len), 0);
	assert_int_equal(len, strlen(want));
	assert_string_equal(text, want);
	free(text);
}

static void a_content_is_kept_once_and_comes_back(void **state)
{
	struct world *w = *state;
	struct store_stats stats;

	put(w->s, "a", NULL, "text");
	put(w->s, "b", NULL, "text");
	put(w->s, "c", NULL, "");
	assert_content(w->s, "text");
	assert_content(w->s, "");
	assert_true(store_has_content(w->s, hash_of("text")));
	assert_false(store_has_content(w->s, hash_of("other")));
	assert_int_equal(store_stat(w->s, &stats), 0);
	assert_int_equal(stats.contents, 2);
	assert_int_equal(stats.files, 3);
	assert_int_equal(stats.entries, 3);
	assert_int_equal(stats.first, 1);
	assert_true(stats.content_bytes > 0);
}

static void binary_and_large_contents_are_skipped(void **state)
{
	struct world *w = *state;
	size_t len = STORE_CONTENT_MAX + 1;
	char *text = malloc(len), *back = NULL;
	XXH128_hash_t binary = XXH3_128bits("a\0b", 3);
	XXH128_hash_t longest, longer;
	size_t back_len;

	assert_non_null(text);
	memset(text, 'x', len);
	longer = XXH3_128bits(text, len);
	longest = XXH3_128bits(text, len - 1);
	assert_int_equal(store_begin(w->s), 0);
	assert_int_equal(store_put_content(w->s, binary, NULL, "a\0b", 3), 0);
	assert_int_equal(store_put_content(w->s, longer, NULL, text, len), 0);
	assert_int_equal(store_put_content(w->s, longest, NULL, text, len - 1),
			 0);
	assert_int_equal(store_commit(w->s), 0);
	assert_false(store_has_content(w->s, binary));
	assert_false(store_has_content(w->s, longer));
	assert_int_equal(store_content(w->s, binary, &back, &back_len),
			 -ENOENT);
	assert_int_equal(store_content(w->s, longest, &back, &back_len), 0);
	assert_int_equal(back_len, len - 1);
	assert_memory_equal(back, text, back_len + 0);
	free(back);
	free(text);
}

/* -- Files and versions. */

static int count_file(const struct store_file *f, void *arg)
{
	int *count = arg;

	++*count;
	assert_string_equal(f->path, "dir/\xff.py");
	assert_hash(f->hash, (XXH128_hash_t){ 3, 4 });
	assert_int_equal(f->size, 5);
	assert_int_equal(f->inode, UINT64_MAX);
	assert_int_equal(f->mtime_ns, -6);
	assert_int_equal(f->ctime_ns, INT64_MAX);
	return 9;
}

static void a_files_state_is_replaced_and_removed(void **state)
{
	struct world *w = *state;
	struct store_file f = {
		.path = "dir/\xff.py",
		.hash = { 3, 4 },
		.size = 5,
		.inode = 1,
		.mtime_ns = -6,
		.ctime_ns = INT64_MAX,
	};
	int count = 0;

	assert_int_equal(store_begin(w->s), 0);
	assert_int_equal(store_put_file(w->s, &f), 0);
	f.inode = UINT64_MAX;
	assert_int_equal(store_put_file(w->s, &f), 0);
	assert_int_equal(store_remove_file(w->s, "never there"), 0);
	assert_int_equal(store_commit(w->s), 0);
	assert_int_equal(store_files(w->s, count_file, &count), 9);
	assert_int_equal(count, 1);
	assert_int_equal(store_begin(w->s), 0);
	assert_int_equal(store_remove_file(w->s, f.path), 0);
	assert_int_equal(store_commit(w->s), 0);
	assert_int_equal(store_files(w->s, no_file, NULL), 0);
}

static void assert_version(struct store *s, const char *path, uint64_t n,
			   const char *text, uint64_t since)
{
	XXH128_hash_t hash = { 0 };
	uint64_t got = 99;
	int rc = store_version(s, path, n, &hash, &got);

	if (!text) {
		assert_int_equal(rc, -ENOENT);
		return;
	}
	assert_int_equal(rc, 0);
	assert_hash(hash, hash_of(text));
	assert_int_equal(got, since);
}

static void a_version_is_what_the_newest_entry_up_to_it_made(void **state)
{
	struct world *w = *state;

	put(w->s, "a", NULL, "one");
	put(w->s, "b", NULL, "other");
	put(w->s, "a", "one", "two");
	put(w->s, "a", "two", NULL);
	put(w->s, "a", NULL, "three");
	assert_version(w->s, "a", 0, NULL, 0);
	assert_version(w->s, "a", 1, "one", 1);
	assert_version(w->s, "a", 2, "one", 1);
	assert_version(w->s, "a", 3, "two", 3);
	assert_version(w->s, "a", 4, NULL, 0);
	assert_version(w->s, "a", 5, "three", 5);
	assert_version(w->s, "a", UINT64_MAX, "three", 5);
	assert_version(w->s, "b", 1, NULL, 0);
	assert_version(w->s, "none", UINT64_MAX, NULL, 0);
}

static void before_its_first_entry_a_path_has_its_base(void **state)
{
	struct world *w = *state;
	struct entry e = change("unseen", "was there", "now");

	put_base(w->s, "a", "base");
	put_base(w->s, "untouched", "as ever");
	put(w->s, "new", NULL, "made");
	put(w->s, "a", "base", "changed");
	put_change(w->s, &e, "now");
	assert_version(w->s, "a", 0, "base", 0);
	assert_version(w->s, "a", 1, "base", 0);
	assert_version(w->s, "a", 2, "changed", 2);
	assert_version(w->s, "untouched", 0, "as ever", 0);
	assert_version(w->s, "untouched", UINT64_MAX, "as ever", 0);
	assert_version(w->s, "new", 0, NULL, 0);
	assert_version(w->s, "unseen", 2, "was there", 0);
	/* A file removed without an entry has no version at all. */
	assert_int_equal(store_begin(w->s), 0);
	assert_int_equal(store_remove_file(w->s, "untouched"), 0);
	assert_int_equal(store_commit(w->s), 0);
	assert_version(w->s, "untouched", UINT64_MAX, NULL, 0);
}

static void a_rename_moves_the_content(void **state)
{
	struct world *w = *state;
	struct entry e = change("a", "text", "text");

	put_base(w->s, "a", "text");
	put_base(w->s, "b", "over it");
	e.kind = ENTRY_RENAME;
	e.path2 = "b";
	put_change(w->s, &e, "text");
	assert_version(w->s, "a", 0, "text", 0);
	assert_version(w->s, "a", 1, NULL, 0);
	assert_version(w->s, "b", 0, "over it", 0);
	assert_version(w->s, "b", 1, "text", 1);
	put(w->s, "a", NULL, "again");
	assert_version(w->s, "a", 2, "again", 2);
	assert_version(w->s, "b", 2, "text", 1);
}

#define T(test) \
	cmocka_unit_test_setup_teardown(test, world_setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_new_store_is_empty_and_its_owners_alone),
		T(a_file_that_others_may_read_is_closed_to_them),
		T(a_second_writer_is_refused_with_a_reason),
		T(opening_a_missing_store_for_reading_fails),
		T(a_directory_that_is_not_there_is_an_error),
		T(an_empty_file_becomes_a_store),
		T(a_reader_cannot_write),
		T(a_reader_sees_later_commits),
		T(what_was_committed_is_there_when_opened_again),
		T(writing_needs_a_transaction),
		T(an_aborted_transaction_leaves_no_trace),
		T(a_failed_call_fails_its_transaction),
		T(freeing_aborts),
		T(an_entry_comes_back_as_it_was_given),
		T(a_gap_has_no_path_and_an_empty_entry_is_small),
		T(equal_entries_have_different_hashes_by_place),
		T(an_entry_that_is_not_there_is_not_found),
		T(since_goes_on_from_a_number_within_its_limit),
		T(a_visitor_may_ask_the_store),
		T(a_cycle_of_ancestors_is_cut),
		T(a_content_is_kept_once_and_comes_back),
		T(binary_and_large_contents_are_skipped),
		T(a_files_state_is_replaced_and_removed),
		T(a_version_is_what_the_newest_entry_up_to_it_made),
		T(before_its_first_entry_a_path_has_its_base),
		T(a_rename_moves_the_content),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
