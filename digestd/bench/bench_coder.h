/*
 * What digestbench coding compares: the codings of libscd with each engine that
 * this processor has, and what others would take instead. All code the same
 * bytes, those of a filter or of the difference of two.
 */
#ifndef DIGESTD_BENCH_BENCH_CODER_H
#define DIGESTD_BENCH_BENCH_CODER_H

#include <stddef.h>
#include <stdint.h>

#include "codec/coder/coder.h"

/* An array to be coded. */
struct bench_array {
	struct scd__shape shape;
	uint8_t *bits;
	size_t bytes;
	enum scd_coding coding; /* that libscd takes for it */
};

struct bench_coder {
	const char *name;
	const char *engine; /* of a coding of ours; null: it is another's */
	const void *how;    /* that engine, or coding */
	int level;
	void *encoder, *decoder; /* memory that is used again */

	/* Makes that memory; null: there is none. */
	int (*open)(struct bench_coder *c);
	void (*close)(struct bench_coder *c);

	/* Appends the code. */
	int (*encode)(const struct bench_coder *c, const struct bench_array *in,
		      struct scd__writer *out);

	/* Decodes to what the array is. */
	int (*decode)(const struct bench_coder *c, struct scd__reader *in,
		      const struct bench_array *like, uint8_t *bits);
};

enum { BENCH_MAX_CODERS = 16 };

/* Those for an array, ours first; returns how many. None is open. */
size_t bench_coders_for(const struct bench_array *array,
			struct bench_coder coders[BENCH_MAX_CODERS]);

/* The coders of others. */
extern const struct bench_coder bench_coder_bytewise;
extern const struct bench_coder bench_coder_zlib;
extern const struct bench_coder bench_coder_zstd;

#endif
