/*
 * Digests in files.
 */
#include "digestd/ctl/digest_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FIRST_BYTES = 65536 };

static bool digest_file_fail(const char *path)
{
	int reason = errno;

	fprintf(stderr, "digestctl: %s: %s\n", path, strerror(reason));
	errno = reason;
	return false;
}

static bool digest_file_read_all(FILE *file, uint8_t **bytes, size_t *len)
{
	size_t cap = FIRST_BYTES;

	*bytes = malloc(cap);
	*len = 0;
	while (*bytes) {
		uint8_t *larger;

		*len += fread(*bytes + *len, 1, cap - *len, file);
		if (*len < cap)
			return !ferror(file);
		cap *= 2;
		larger = realloc(*bytes, cap);
		if (!larger)
			return false;
		*bytes = larger;
	}
	return false;
}

bool digest_file_read(const char *path, uint8_t **bytes, size_t *len)
{
	FILE *file = strcmp(path, "-") ? fopen(path, "rb") : stdin;
	int reason;

	*bytes = NULL;
	if (!file)
		return digest_file_fail(path);
	if (digest_file_read_all(file, bytes, len)) {
		if (file != stdin)
			fclose(file);
		return true;
	}
	reason = errno;
	free(*bytes);
	*bytes = NULL;
	if (file != stdin)
		fclose(file);
	errno = reason;
	return digest_file_fail(path);
}

bool digest_file_write(const char *path, const uint8_t *bytes, size_t len)
{
	FILE *file = strcmp(path, "-") ? fopen(path, "wb") : stdout;
	bool done;

	if (!file)
		return digest_file_fail(path);
	done = fwrite(bytes, 1, len, file) == len && !fflush(file);
	if (file != stdout)
		done = !fclose(file) && done;
	return done || digest_file_fail(path);
}
