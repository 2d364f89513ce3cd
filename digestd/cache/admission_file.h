/*
 * What was seen, in a file, so that a restart does not forget it: written
 * whole beside its place and renamed into it, so that there is always an old
 * file or a new one; checked whole before anything of it is believed.
 *
 * The file begins with 16 bytes that only the same hash secret gives, as keys
 * under another one mean nothing; then an image (FORMAT.md, "Admission
 * images").
 */
#ifndef DIGESTD_CACHE_ADMISSION_FILE_H
#define DIGESTD_CACHE_ADMISSION_FILE_H

#include <stdint.h>

struct scd_admission;

/* Where, and under which secret of the hash. */
struct admission_file {
	const char *path;
	uint8_t secret[16];
};

/* Writes it; `seen` may be used meanwhile. Returns 0 or a negative errno. */
int admission_file_save(const struct admission_file *f,
			const struct scd_admission *seen);

/*
 * Reads it. Returns 0; -ENOENT: there is none; -EBADMSG: it is damaged or no
 * such file; -EINVAL: it is a pipe, a folder or a device, which is not waited
 * for; -EKEYREJECTED: of another secret; -EOVERFLOW: a window of more than
 * max_window keys; or another negative errno. Then *out is left alone.
 */
int admission_file_load(const struct admission_file *f, uint64_t max_window,
			struct scd_admission **out);

#endif
