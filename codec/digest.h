/*
 * Digests on the wire: what one node publishes about its cache and another
 * one reads. docs/FORMAT.md is normative; this is its version 1.
 *
 * A digest is a header of fixed size and a payload. A full digest's payload
 * is the coded array of a Bloom filter; a delta's (delta.h) the coded XOR of
 * two generations' arrays. Whatever is smallest goes out: nothing at all,
 * the bytes as they are, or the output of an arithmetic coder.
 *
 * Input is not trusted. A header is refused, before anything is allocated,
 * unless its fields are plausible together and within the caller's limits;
 * a decoded array is handed out only if its checksum is the one announced.
 * The checksums find accidents, not forgers: who may publish is decided by
 * the transport.
 */
#ifndef SCD_DIGEST_H
#define SCD_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "key.h"
#include "threads.h"

#ifdef __cplusplus
extern "C" {
#endif

struct scd_bloom;

enum {
	SCD_DIGEST_HEADER_BYTES = 96, /* no digest is shorter */
	SCD_DIGEST_MAX_HASH = 32,     /* hash functions, by the format */
};

/*
 * What any message may claim [bytes of memory], and what a longer one may claim
 * for each of its bytes: no message below 1 KiB makes a reader with the
 * default limits take more than 512 KiB. A filter with a bit in 4000 set, or
 * more, is coded in as many bytes as that asks for.
 */
enum {
	SCD_DIGEST_FREE_BYTES = 1 << 19,
	SCD_DIGEST_MAX_EXPANSION = 512,
};

/* By the format, whatever the limits: an array of 128 GiB. */
#define SCD_DIGEST_MAX_BITS (UINT64_C(1) << 40)

/* What the payload stands for. */
enum scd_digest_kind {
	SCD_FULL = 0,      /* the array itself */
	SCD_DELTA_XOR = 1, /* array XOR the array of the base generation */
	SCD_DELTA_CONDITIONAL = 2, /* what changed, by rank in the base */
	SCD_COUNTING = 3,          /* the counters of a counting filter */
	SCD_LIST = 4,              /* a list of fingerprints (list.h) */
	SCD_LIST_DELTA = 5,        /* what a list loses and gets */
};

/* How the payload is coded. */
enum scd_coding {
	SCD_CODING_EMPTY = 0,  /* no ones, no bytes */
	SCD_CODING_STORED = 1, /* the bytes as they are */
	SCD_CODING_RANGE = 2,  /* static binary range coder */
	SCD_CODING_DENSE = 3,  /* bytes by their number of ones, in chunks */
	SCD_CODING_GAPS = 4,   /* the gaps between ones, by one coder */
	SCD_CODING_SPARSE = 5, /* the gaps, in chunks, by many coders */
	SCD_CODING_PARTS = 6,  /* several arrays: conditional, counting */
	SCD_CODING_LIST = 7,   /* ascending numbers: lists */
	/* 8 more than those of the complement: for more ones than zeros */
	SCD_CODING_MIRRORED_DENSE = 11,
	SCD_CODING_MIRRORED_GAPS = 12,
	SCD_CODING_MIRRORED_SPARSE = 13,
};

/*
 * A header's fields, as a reader gets them. Who publishes sets instance,
 * generation, nkeys and, for deltas, base_generation; the rest follows from the
 * filter. "The array" is always the one that results.
 */
struct scd_digest_info {
	enum scd_digest_kind kind;
	enum scd_coding coding;
	enum scd_hashing hashing; /* SQUID has rules for nhash and nbits */
	unsigned nhash;           /* hash functions, 1..32 */
	uint64_t nbits;           /* size of the array, 1..2^40 */
	uint64_t nkeys;           /* keys in the filter, as the sender counts */
	uint64_t nones;           /* ones in the array; entries of a list */
	uint64_t instance;        /* random, new at each start; not 0 */
	uint64_t generation;      /* grows within that instance */
	uint64_t base_generation; /* delta: < generation; others: 0 */
	uint64_t base_checksum;   /* delta: of the base; full, list: 0;
				     counting: of the counters */
	uint64_t checksum;        /* of the array, scd_digest_checksum(); list:
				     the sum over its entries */
	uint64_t ncoded; /* full, counting, list: nones; delta: bits that
			    differ, entries that go or come */
	uint64_t payload_bytes;   /* what follows the header */
	uint64_t reserved[4];     /* 0 */
};

/* Whether a digest is a delta, of any form: it needs a base. */
static inline bool scd_digest_is_delta(const struct scd_digest_info *info)
{
	return info->kind == SCD_DELTA_XOR ||
	       info->kind == SCD_DELTA_CONDITIONAL ||
	       info->kind == SCD_LIST_DELTA;
}

/*
 * What a reader accepts. No digest within the limits is longer than
 * SCD_DIGEST_HEADER_BYTES + (max_bits + 7) / 8 + 16 bytes, or makes a reader
 * allocate more than the (max_bits + 7) / 8 bytes of its array, and a quarter
 * to fill huge pages. A list has no array: an entry counts as 64 bits.
 *
 * max_expansion bounds that by the length of the message too: a full digest of
 * more than SCD_DIGEST_FREE_BYTES of memory, or a counting one, is refused if
 * it has more than so many bytes of memory for each of its own. Deltas are
 * bounded by the base, which the reader holds: applying one takes its size
 * three times at most.
 */
struct scd_limits {
	uint64_t max_bits;   /* size of an array */
	unsigned max_hash;   /* hash functions */
	unsigned max_fp_ppm; /* false positives, (nones / nbits)^nhash, in
			      * millionths; 1000000 accepts a full filter */
	unsigned max_expansion; /* bytes of memory for a byte of the message;
				 * 0: any number, for trusted input only */
	uint64_t reserved[4];   /* 0; further limits, of which 0 will be
				 * none */
};

/*
 * The default limits: 2^32 bits (512 MiB), 32 hash functions, a
 * false-positive rate of 5 % (a peer that claims to hold everything is worth
 * nothing), an expansion of SCD_DIGEST_MAX_EXPANSION. Where a function takes
 * limits, null means these.
 */
void scd_limits_init(struct scd_limits *limits);

/*
 * How a digest is made or read, where the defaults are not what a program
 * wants. All zero, or a null pointer where a function takes one: the defaults.
 */
struct scd_work {
	/*
	 * The engine that works: the fastest with no more instructions than
	 * "portable", "neon", "avx2" or "avx512" has. All give the same bytes.
	 * Null: the fastest that this processor can run.
	 */
	const char *engine;

	/*
	 * A filter that is not needed any more, whose memory the new one gets
	 * if their arrays have as many bytes: for large ones new memory costs a
	 * sixth of the time and more. Then *spare is all zero after success,
	 * and an empty filter after an error in the payload. Where it is of no
	 * use it is left alone, as it is by what makes digests. Null: none.
	 */
	struct scd_bloom *spare;

	/*
	 * Threads to work with (threads.h), where there is enough to do for
	 * several: arrays of 8 MiB and more in most cases. The result is the
	 * same as without. Null: none.
	 */
	const struct scd_threads *threads;

	uint64_t reserved[5]; /* 0 */
};

/*
 * The checksum of a filter's array that digests carry: XXH64 over its
 * (nbits + 7) / 8 bytes. Costs one pass over the array.
 */
uint64_t scd_digest_checksum(const struct scd_bloom *bloom);

/*
 * Read and check a header. in, len: the whole digest; the payload's bytes
 * are not looked at, only their number. limits: null for the defaults.
 * Allocates nothing, costs less than a microsecond. On success *out holds
 * every field, all within their ranges and plausible together.
 *
 * SCD_ETRUNC: shorter than its header, or than the header says.
 * SCD_EFORMAT: not a digest; a field out of range; fields that do not fit
 * each other; bytes after the payload.
 * SCD_EVERSION: a version, kind or coding that is not known here.
 * SCD_ECHECKSUM: the header is damaged.
 * SCD_ELIMIT: too large, or too full to be of use.
 */
int scd_digest_parse(const uint8_t *in, size_t len,
		     const struct scd_limits *limits,
		     struct scd_digest_info *out);

/*
 * Read and check a header before the payload has arrived, to refuse a digest
 * early. On success the whole digest is going to have SCD_DIGEST_HEADER_BYTES +
 * out->payload_bytes bytes. Errors as scd_digest_parse().
 */
int scd_digest_judge(const uint8_t header[SCD_DIGEST_HEADER_BYTES],
		     const struct scd_limits *limits,
		     struct scd_digest_info *out);

/*
 * Make a full digest of a filter. Of ids, only instance (not 0), generation
 * and nkeys are read. On success *out is a buffer of *out_len bytes, to be
 * released with free(). The same filter and ids always give the same bytes.
 * Errors leave *out and *out_len alone.
 *
 * SCD_EINVAL: instance is 0; nkeys is not 0, but no bit is set. SCD_ENOMEM.
 */
int scd_digest_encode(const struct scd_bloom *bloom,
		      const struct scd_digest_info *ids, uint8_t **out,
		      size_t *out_len);

/*
 * The same, done as work says; null: scd_digest_encode(). SCD_EINVAL: as
 * scd_digest_decode_with(), too; and the errors of work->threads.
 */
int scd_digest_encode_with(const struct scd_bloom *bloom,
			   const struct scd_digest_info *ids,
			   const struct scd_work *work, uint8_t **out,
			   size_t *out_len);

/*
 * Read a full digest: everything scd_digest_parse() does, then decode the
 * payload into a new filter, and verify it. On success *bloom is a filter
 * that the caller releases with scd_bloom_free(), and *info (may be null) has
 * the header's fields. Errors leave both alone, and nothing allocated.
 *
 * The errors of scd_digest_parse(); and SCD_EBASE: a delta, which needs a
 * base (delta.h); SCD_EFORMAT: the payload breaks a rule of its coding;
 * SCD_ECHECKSUM: it decodes to another array than announced; SCD_ENOMEM.
 */
int scd_digest_decode(const uint8_t *in, size_t len,
		      const struct scd_limits *limits,
		      struct scd_digest_info *info, struct scd_bloom *bloom);

/*
 * The same, done as work says; null: scd_digest_decode(). *bloom may be
 * *work->spare. SCD_EINVAL: this processor has no such engine, or the library
 * has none for it; or work->threads did not do all that they were given. And
 * the errors of work->threads.
 */
int scd_digest_decode_with(const uint8_t *in, size_t len,
			   const struct scd_limits *limits,
			   const struct scd_work *work,
			   struct scd_digest_info *info,
			   struct scd_bloom *bloom);

#ifdef __cplusplus
}
#endif

#endif
