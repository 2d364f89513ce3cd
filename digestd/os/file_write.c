/*
 * The loop around write().
 */
#include "digestd/os/file_write.h"

#include <assert.h>
#include <errno.h>
#include <sys/types.h>
#include <unistd.h>

int file_write(int fd, const void *bytes, size_t len)
{
	const char *at = bytes;

	assert(fd >= 0);
	while (len) {
		ssize_t n = write(fd, at, len);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0) {
			at += n;
			len -= (size_t)n;
		}
	}
	return 0;
}
