/*
 * Digests and deltas as the commands read them: a file, its header, and what
 * it decodes to. Limits are those of the format: who names a file on the
 * command line means it. What is wrong is told on stderr with the file's name.
 *
 * The functions return an exit code (digestctl.h): CTL_NO for bytes that are no
 * such digest, CTL_IO when they cannot be read or memory is short.
 */
#ifndef DIGESTD_CTL_DIGEST_OPEN_H
#define DIGESTD_CTL_DIGEST_OPEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/bloom.h"
#include "codec/counting.h"
#include "codec/digest.h"
#include "codec/list.h"
#include "codec/squid.h"

/* All zero is an empty object that digest_close() accepts. */
struct digest_open {
	const char *path; /* borrowed; "-" is standard input */
	uint8_t *bytes;   /* the file; of a decoded digest null */
	size_t len;       /* of the file */
	struct scd_digest_info info;
	struct scd_bloom bloom;      /* once it is decoded; */
	struct scd_list *list;       /* of a list this, and no bloom */
	bool is_squid;               /* the file is one of Squid's ... */
	struct scd_squid_info squid; /* ... and says this */
};

/* The limits of the format. */
extern const struct scd_limits digest_any_limits;

/* Tells an SCD_ error of a file; returns the exit code that it means. */
int digest_wrong(const char *path, int error);

/* Reads a file and checks its header; of Squid's digests, all. Released with
 * digest_close(). */
int digest_open_header(const char *path, struct digest_open *d);

/* Reads and decodes a full digest, a list, one of Squid's, or counters, of
 * which only the filter is kept. Released with digest_close(). */
int digest_open_full(const char *path, struct digest_open *d);

/* The same, but a list is refused. */
int digest_open_array(const char *path, struct digest_open *d);

/*
 * Applies a delta in a file to a digest, or frames to a list: what the delta
 * led to, and a header that says so, take the place of the old ones. On errors
 * the digest stays what it was, but for frames, of which the first may have
 * been applied.
 */
int digest_step(struct digest_open *d, const char *path);

/*
 * Writes the filter with the header's ids to a file, "-" for standard output,
 * as a full digest; or the list, with its own. d->len becomes its length.
 */
int digest_write_full(struct digest_open *d, const char *output);

/* The same with counters, as a counting digest. */
int digest_write_counting(struct digest_open *d, const struct scd_counting *c,
			  const char *output);

/* The share of its array's bits that a decoded digest has set. */
double digest_fill(const struct digest_open *d);

/* Whether two digests have arrays of the same shape, or lists of the same
 * width; if not, tells of b. */
bool digest_same_shape(const struct digest_open *a,
		       const struct digest_open *b);

/*
 * Folds a digest's array to the shape of another one, not larger, if only the
 * sizes differ and both are powers of two (codec/bloom.h). Nothing is done to
 * the same shape; any other is told of d: CTL_NO.
 */
int digest_fold(struct digest_open *d, const struct digest_open *to);

/* Tells that a command has folded arrays of up to so many bits; if it has. */
void digest_tell_folded(const char *command, uint64_t from, uint64_t to);

/*
 * Whether at most one of paths (up to a null), and first if that is not null,
 * is standard input, as it can be read once only; if not, tells it.
 */
bool digest_one_stdin(const char *first, char **paths);

/* How to name a hashing: nothing for our own, else " of Squid's". Static. */
const char *digest_hashing_text(enum scd_hashing hashing);

/* Releases what was read; *d becomes all zero. */
void digest_close(struct digest_open *d);

#endif
