/*
 * Quotas of control groups, in folders that look like the kernel's.
 */
#include "tests/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "digestd/os/processors.h"

enum { FILES = 4, PATH_BYTES = 256 };

/* /proc/self/cgroup, and files below the mount with what they say. */
/* clang-format off */
static const struct {
	const char *label, *groups, *files[FILES][2];
	unsigned expected;
} rows[] = {
	{ "nothing can be read", NULL, { { NULL } }, 0 },
	{ "no quota", "0::/\n", { { "cpu.max", "max 100000\n" } }, 0 },
	{ "two processors", "0::/\n", { { "cpu.max", "200000 100000\n" } }, 2 },
	{ "a part is a whole one", "0::/\n", { { "cpu.max", "150000 100000\n" } }, 2 },
	{ "below one", "0::/\n", { { "cpu.max", "1000 100000\n" } }, 1 },
	{ "more than any machine has", "0::/\n",
	  { { "cpu.max", "9000000000000 1000\n" } }, 0 },
	{ "no number", "0::/\n", { { "cpu.max", "many 1\n" } }, 0 },
	{ "nothing in it", "0::/\n", { { "cpu.max", "" } }, 0 },
	{ "no period", "0::/\n", { { "cpu.max", "100000\n" } }, 0 },
	{ "a period of 0", "0::/\n", { { "cpu.max", "100000 0\n" } }, 0 },
	{ "of a service", "0::/a.slice/b.service\n",
	  { { "a.slice/b.service/cpu.max", "300000 100000\n" } }, 3 },
	{ "of its slice", "0::/a.slice/b.service\n",
	  { { "a.slice/b.service/cpu.max", "max 100000\n" },
	    { "a.slice/cpu.max", "400000 100000\n" } }, 4 },
	{ "the least of both", "0::/a/b\n",
	  { { "a/b/cpu.max", "500000 100000\n" },
	    { "a/cpu.max", "400000 100000\n" },
	    { "cpu.max", "600000 100000\n" } }, 4 },
	{ "version 1", "3:cpuset:/\n2:cpu,cpuacct:/a\n1:cpuacct:/\n",
	  { { "cpu/a/cpu.cfs_quota_us", "250000\n" },
	    { "cpu/a/cpu.cfs_period_us", "100000\n" } }, 3 },
	{ "version 1, seen from inside", "2:cpuacct,cpu:/a/b\n",
	  { { "cpu/cpu.cfs_quota_us", "100000\n" },
	    { "cpu/cpu.cfs_period_us", "100000\n" } }, 1 },
	{ "version 1, no quota", "2:cpu:/\n",
	  { { "cpu/cpu.cfs_quota_us", "-1\n" },
	    { "cpu/cpu.cfs_period_us", "100000\n" } }, 0 },
	{ "of other controllers", "2:cpuset,cpuacct:/\n",
	  { { "cpu/cpu.cfs_quota_us", "100000\n" },
	    { "cpu/cpu.cfs_period_us", "100000\n" } }, 0 },
	{ "version 1, no number", "2:cpu:/\n",
	  { { "cpu/cpu.cfs_quota_us", "many\n" },
	    { "cpu/cpu.cfs_period_us", "100000\n" } }, 0 },
	{ "version 1, no period", "2:cpu:/\n",
	  { { "cpu/cpu.cfs_quota_us", "100000\n" } }, 0 },
	{ "version 1, a period that is no number", "2:cpu:/\n",
	  { { "cpu/cpu.cfs_quota_us", "100000\n" },
	    { "cpu/cpu.cfs_period_us", "x\n" } }, 0 },
	{ "one controller has less than the other", "1:cpu:/\n0::/\n",
	  { { "cpu/cpu.cfs_quota_us", "300000\n" },
	    { "cpu/cpu.cfs_period_us", "100000\n" },
	    { "cpu.max", "200000 100000\n" } }, 2 },
	{ "lines that are none", "0\n\n1:cpu\n",
	  { { "cpu.max", "100000 100000\n" } }, 0 },
};
/* clang-format on */

static void write_file(const char *folder, const char *name, const char *text)
{
	char path[PATH_BYTES];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	for (char *at = path + strlen(folder) + 1; (at = strchr(at, '/'));
	     at++) {
		*at = '\0';
		assert_true(!mkdir(path, 0700) || errno == EEXIST);
		*at = '/';
	}
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void test_quotas_are_read(void **state)
{
	char folder[PATH_BYTES], groups[PATH_BYTES + 8];
	char command[PATH_BYTES + 8];
	const char *tmp = getenv("TMPDIR");

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		unsigned found;

		snprintf(folder, sizeof(folder), "%s/test_processors.XXXXXX",
			 tmp ? tmp : "/tmp");
		assert_non_null(mkdtemp(folder));
		snprintf(groups, sizeof(groups), "%s/groups", folder);
		if (rows[i].groups)
			write_file(folder, "groups", rows[i].groups);
		for (int j = 0; j < FILES && rows[i].files[j][0]; j++)
			write_file(folder, rows[i].files[j][0],
				   rows[i].files[j][1]);
		found = processors_by_quota(groups, folder);
		snprintf(command, sizeof(command), "rm -r %s", folder);
		assert_int_equal(system(command), 0);
		if (found != rows[i].expected)
			fail_msg("%s: %u", rows[i].label, found);
	}
}

static void test_there_is_one(void **state)
{
	(void)state;
	assert_true(processors_usable() >= 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_quotas_are_read),
		cmocka_unit_test(test_there_is_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
