/*
 * Lines of the mount table as the kernel writes them, and malformed ones.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cmocka.h>

#include "fs/mount/mount.h"
#include "fs/mount/mount_table.h"

static int parse(const char *text, char room[static 512],
		 struct mount_line *ret)
{
	assert_true(strlen(text) < 512);
	memcpy(room, text, strlen(text) + 1);
	return mount_line_parse(room, ret);
}

static void a_plain_line_is_taken_apart(void **state)
{
	struct mount_line m;
	char room[512];

	(void)state;
	assert_int_equal(parse("36 35 98:7 /sub /mnt/x rw,noatime - ext3 "
			       "/dev/root rw,errors=continue\n",
			       room, &m),
			 0);
	assert_int_equal(m.id, 36);
	assert_true(m.dev == makedev(98, 7));
	assert_string_equal(m.mountpoint, "/mnt/x");
	assert_string_equal(m.type, "ext3");
	assert_string_equal(m.source, "/dev/root");
}

static void any_number_of_tags_may_stand_before_the_dash(void **state)
{
	struct mount_line m;
	char room[512];

	(void)state;
	assert_int_equal(parse("36 35 0:40 / /a rw shared:12 master:1 "
			       "propagate_from:2 unbindable - tmpfs none rw",
			       room, &m),
			 0);
	assert_string_equal(m.mountpoint, "/a");
	assert_string_equal(m.type, "tmpfs");
	assert_string_equal(m.source, "none");
}

static void escapes_are_undone_in_mountpoint_and_source(void **state)
{
	struct mount_line m;
	char room[512];

	(void)state;
	assert_int_equal(
		parse("65 43 0:40 / /a\\040b\\011c\\012d\\134e\\0431\xff rw - "
		      "fuse.statetape statetape\\043app-1f rw,user_id=0",
		      room, &m),
		0);
	assert_string_equal(m.mountpoint, "/a b\tc\nd\\e#1\xff");
	assert_string_equal(m.type, MOUNT_FSTYPE);
	assert_string_equal(m.source, "statetape#app-1f");
}

static void a_backslash_that_escapes_nothing_stays(void **state)
{
	struct mount_line m;
	char room[512];

	(void)state;
	assert_int_equal(parse("1 1 0:1 / /a\\9\\04\\ rw - t s\\ o", room, &m),
			 0);
	assert_string_equal(m.mountpoint, "/a\\9\\04\\");
	assert_string_equal(m.source, "s\\");
}

static void an_empty_source_is_no_obstacle(void **state)
{
	struct mount_line m;
	char room[512];

	(void)state;
	assert_int_equal(parse("24 1 0:22 / /sys rw - sysfs  rw", room, &m), 0);
	assert_string_equal(m.type, "sysfs");
	assert_string_equal(m.source, "");
}

static void what_is_no_line_is_refused_and_touches_nothing(void **state)
{
	static const char *const lines[] = {
		"",
		"\n",
		"-",
		"36",
		"36 35 98:0 /mnt1 /mnt2 rw,noatime",
		"36 35 98:0 /mnt1 /mnt2 rw,noatime - ext3",
		"36 35 98:0 /mnt1 /mnt2 rw,noatime - ext3 /dev/root",
		"36 35 98:0 /mnt1 /mnt2 rw,noatime ext3 /dev/root rw",
		"x 35 98:0 / /m rw - ext3 /dev/root rw",
		"-1 35 98:0 / /m rw - ext3 /dev/root rw",
		"36 35 98 / /m rw - ext3 /dev/root rw",
		"36 35 98:z / /m rw - ext3 /dev/root rw",
		"36 35 :0 / /m rw - ext3 /dev/root rw",
		"36 35 98:99999999999999999999 / /m rw - ext3 /dev/root rw",
		"36 35 98:0 / relative rw - ext3 /dev/root rw",
	};
	struct mount_line m = { .id = 4711 };
	char room[512];

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		assert_int_equal(parse(lines[i], room, &m), -EBADMSG);
	assert_int_equal(m.id, 4711);
}

static void each_line_of_our_own_table_is_understood(void **state)
{
	FILE *table = fopen("/proc/self/mountinfo", "re");
	struct mount_line m;
	char line[8192];
	int lines = 0;

	(void)state;
	assert_non_null(table);
	while (fgets(line, sizeof(line), table)) {
		assert_int_equal(mount_line_parse(line, &m), 0);
		lines++;
	}
	(void)fclose(table);
	assert_true(lines > 0);
}

static void a_plain_directory_is_no_mount_of_ours(void **state)
{
	struct mount_entry e;

	(void)state;
	assert_int_equal(mount_find("/", NULL, &e), -ENOENT);
	assert_int_equal(mount_find("/proc", NULL, &e), -ENOENT);
	assert_int_equal(mount_find("/proc/self/none", NULL, &e), -ENOENT);
	assert_int_equal(mount_find(NULL, "no-such-id", &e), -ENOENT);
	assert_false(mount_is_dead("/"));
	assert_false(mount_is_dead("/proc/self/none"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_plain_line_is_taken_apart),
		cmocka_unit_test(any_number_of_tags_may_stand_before_the_dash),
		cmocka_unit_test(escapes_are_undone_in_mountpoint_and_source),
		cmocka_unit_test(a_backslash_that_escapes_nothing_stays),
		cmocka_unit_test(an_empty_source_is_no_obstacle),
		cmocka_unit_test(
			what_is_no_line_is_refused_and_touches_nothing),
		cmocka_unit_test(each_line_of_our_own_table_is_understood),
		cmocka_unit_test(a_plain_directory_is_no_mount_of_ours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
