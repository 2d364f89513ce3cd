/*
 * What digestctl build reads: lines that are URLs or keys, hashed and added to
 * a filter by batches. Nothing is kept of them, so memory is the filter's
 * whatever their number; some 200 ns a URL of 60 bytes. For a list, whose width
 * follows from how many there are, 8 bytes of each are kept.
 */
#ifndef DIGESTD_CTL_BUILD_INPUT_H
#define DIGESTD_CTL_BUILD_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/bloom.h"
#include "codec/counting.h"
#include "digestd/ctl/digest_list.h"
#include "digestd/ctl/url_key.h"
#include "digestd/tool/progress.h"

enum {
	BUILD_INPUT_BATCH = 256, /* keys added at a time */
	BUILD_INPUT_WIDTH = 63,  /* bits of entries */
};

struct build_input {
	/* What the keys go to, one of these, borrowed; none: lines are only
	 * counted. */
	struct scd_bloom *bloom;
	struct scd_counting *counting;
	struct digest_entries *entries; /* in the order of the lines */
	struct url_key how;
	bool hex;       /* lines are keys already */
	uint64_t lines; /* read, but for empty ones */
	uint64_t bad;   /* of them: left out */
	uint64_t nkeys; /* distinct, as the filter can tell; not of entries */
	int error;      /* SCD_OK, or SCD_ENOMEM for entries */
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
