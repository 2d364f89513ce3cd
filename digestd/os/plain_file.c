/*
 * Opening files.
 */
#include "digestd/os/plain_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Null: it may be read. */
static const char *plain_file_fault(int fd)
{
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return strerror(errno);
	if (S_ISDIR(st.st_mode))
		return strerror(EISDIR);
	return S_ISREG(st.st_mode) ? NULL : "not a regular file";
}

FILE *plain_file_open(const char *path, const char **error)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	FILE *file = NULL;

	*error = plain_file_fault(fd);
	if (!*error) {
		file = fdopen(fd, "r");
		if (!file)
			*error = strerror(errno);
	}
	if (fd >= 0 && !file)
		close(fd);
	return file;
}
