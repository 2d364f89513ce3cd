/*
 * Digests in files.
 */
#include "digestd/ctl/digest_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/digest.h"
#include "codec/squid.h"
#include "digestd/ctl/digest_open.h"

enum {
	FIRST_BYTES = 65536,
	SQUID_MOST_BYTES = 1 << 28, /* its masks have 2^31 bits at most */
};

static bool digest_file_fail(const char *path)
{
	int reason = errno;

	fprintf(stderr, "digestctl: %s: %s\n", path, strerror(reason));
	errno = reason;
	return false;
}

/*
 * How long a file can be that begins so: what its header says of it. What is
 * no digest has all that its refusal needs already; it may have no end.
 */
static size_t digest_file_most(const uint8_t *bytes, size_t len)
{
	struct scd_digest_info info;
	struct scd_squid_info squid;
	int error;

	if (bytes[0] == 0) { /* as no digest of ours begins */
		error = scd_squid_parse(bytes, len, &squid);
		return error && error != SCD_ETRUNC ?
			       0 : SCD_SQUID_HEADER_BYTES + SQUID_MOST_BYTES;
	}
	if (scd_digest_judge(bytes, &digest_any_limits, &info))
		return 0;
	return SCD_DIGEST_HEADER_BYTES + info.payload_bytes;
}

/* Of what is longer than it can be, more than that. */
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
		if (*len > digest_file_most(*bytes, *len))
			return true;
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
