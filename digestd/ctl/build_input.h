/*
 * What digestctl build reads: lines that are URLs or keys, hashed and added to
 * a filter by batches. Nothing is kept of them, so memory is the filter's
 * whatever their number; some 200 ns a URL of 60 bytes.
 */
#ifndef DIGESTD_CTL_BUILD_INPUT_H
#define DIGESTD_CTL_BUILD_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/bloom.h"
#include "codec/counting.h"
#include "digestd/ctl/url_key.h"
#include "digestd/tool/progress.h"

enum { BUILD_INPUT_BATCH = 256 }; /* keys added at a time */

struct build_input {
	/* What the keys go to, one of both, borrowed; none: lines are only
	 * counted. */
	struct scd_bloom *bloom;
	struct scd_counting *counting;
	struct url_key how;
	bool hex;       /* lines are keys already */
	uint64_t lines; /* read, but for empty ones */
	uint64_t bad;   /* of them: left out */
	uint64_t nkeys; /* distinct, as the filter can tell */
	uint64_t bytes; /* read */
	struct progress progress;
	struct scd_key batch[BUILD_INPUT_BATCH];
	size_t nbatch;
};

/*
 * Adds all lines of a file, "-" for standard input. A line that is no URL, or
 * no key, is named on stderr and left out. CTL_OK, or CTL_IO.
 */
int build_input_read(struct build_input *in, const char *path);

#endif
