/*
 * A temporary file with given content, for tests of what reads files.
 */
#ifndef TESTS_SIM_FILE_H
#define TESTS_SIM_FILE_H

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct test_file {
	char path[32];
};

/* The caller unlinks it. */
static inline struct test_file test_file(const void *data, size_t len)
{
	struct test_file f = { "trace-test-XXXXXX" };
	int fd = mkstemp(f.path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), (ssize_t)len);
	close(fd);
	return f;
}

#endif
