#include "graph/base/heap.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "graph/base/cleanup.h"

static int make(void **state)
{
	static struct heap h;

	heap_init(&h);
	*state = &h;
	return 0;
}

static int release(void **state)
{
	heap_release(*state);
	return 0;
}

static void pieces_do_not_overlap(void **state)
{
	struct heap *h = *state;
	heap_t pieces[200];

	for (unsigned k = 0; k < 200; k++) {
		pieces[k] = heap_take(h, k * 3 + 1);
		memset(heap_at(h, pieces[k]), (int)k, k * 3 + 1);
	}
	for (unsigned k = 0; k < 200; k++) {
		const unsigned char *at = heap_at(h, pieces[k]);

		for (unsigned m = 0; m < k * 3 + 1; m++)
			assert_int_equal(at[m], k);
	}
}

static void what_is_given_back_is_taken_again(void **state)
{
	struct heap *h = *state;
	heap_t first = heap_take(h, 40), second = heap_take(h, 1000);
	uint64_t used = h->numbers.used;

	heap_give(h, first, 40);
	heap_give(h, second, 1000);
	assert_int_equal(heap_take(h, 1000), second);
	assert_int_equal(heap_take(h, 33), first);
	assert_int_equal(h->numbers.used, used);
	assert_int_equal(h->numbers.idle, 0);
}

static void a_piece_of_any_size_has_room_for_it(void **state)
{
	(void)state;
	for (size_t bytes = 0; bytes < 100000; bytes += 1 + bytes / 9) {
		size_t room = heap_room(bytes);

		assert_true(room >= bytes);
		assert_true(room <= bytes + bytes / 4 + HEAP_CELL);
		assert_int_equal(heap_room(room), room);
	}
}

static void nothing_is_no_piece(void **state)
{
	struct heap *h = *state;

	assert_int_equal(heap_take(h, 0), 0);
	heap_give(h, 0, 0);
	assert_int_equal(heap_number(h, NULL), 0);
}

static void a_list_grows_and_keeps_what_it_holds(void **state)
{
	struct heap *h = *state;
	heap_t list = 0, other = 0;
	uint32_t size = 0, other_size = 0;

	for (uint32_t k = 0; k < 5000; k++) {
		heap_grow(h, &list, &size, k + 1, sizeof(k));
		heap_grow(h, &other, &other_size, k / 3 + 1, sizeof(k));
		((uint32_t *)heap_at(h, list))[k] = k;
	}
	for (uint32_t k = 0; k < 5000; k++)
		assert_int_equal(((uint32_t *)heap_at(h, list))[k], k);
	assert_int_equal(heap_number(h, heap_at(h, list)), list);
}

/* Regions */

static void a_region_keeps_its_place_and_begins_with_zeros(void **state)
{
	struct region r;
	const char *at;

	(void)state;
	region_init(&r);
	at = r.at;
	for (size_t size = 1; size < 20000000; size *= 3) {
		size_t had = r.size;

		region_need(&r, size, 1);
		assert_ptr_equal(r.at, at);
		for (size_t k = had; k < r.size; k += 512)
			assert_int_equal(r.at[k], 0);
		memset(r.at, 1, r.size);
	}
	region_release(&r);
}

/* A file of three pages, of which the last is not full. */
static int make_file(size_t page)
{
	int fd = memfd_create("region", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)page * 3), 0);
	for (size_t at = 0; at < page * 2 + 5; at++)
		assert_int_equal(pwrite(fd, "x", 1, (off_t)at), 1);
	return fd;
}

static void check_file_in(struct region *r, int fd, size_t page)
{
	char byte = 0;

	assert_int_equal(r->at[0], 'x');
	assert_int_equal(r->at[page + 4], 'x');
	assert_int_equal(r->at[page + 5], 0);
	r->at[0] = 'y';
	assert_int_equal(pread(fd, &byte, 1, (off_t)page), 1);
	assert_int_equal(byte, 'x');
	region_need(r, page * 9, 1);
	assert_int_equal(r->at[0], 'y');
	assert_int_equal(r->at[1], 'x');
	assert_int_equal(r->at[page * 9 - 1], 0);
}

static void a_file_is_mapped_and_the_region_grows_on(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	CLEANUP(close_p) int fd = make_file(page);
	struct region mapped, read;

	(void)state;
	region_init(&mapped);
	region_init(&read);
	/* It held more before. */
	region_need(&mapped, page * 20, 1);
	region_need(&read, page * 20, 1);
	memset(mapped.at, 7, mapped.size);
	memset(read.at, 7, read.size);
	assert_int_equal(region_map(&mapped, fd, page, page + 5), 0);
	assert_int_equal(region_read(&read, fd, page, page + 5), 0);
	check_file_in(&mapped, fd, page);
	check_file_in(&read, fd, page);
	region_release(&mapped);
	region_release(&read);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, make, release)

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH(pieces_do_not_overlap),
		EACH(what_is_given_back_is_taken_again),
		EACH(a_piece_of_any_size_has_room_for_it),
		EACH(nothing_is_no_piece),
		EACH(a_list_grows_and_keeps_what_it_holds),
		EACH(a_region_keeps_its_place_and_begins_with_zeros),
		EACH(a_file_is_mapped_and_the_region_grows_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
