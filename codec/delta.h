/*
 * Deltas: how a filter gets from one generation to a later one of the same
 * instance. The XOR of the two arrays is sparse when few objects changed, so
 * it codes to a fraction of a bit an object; XORs of successive steps compose
 * into one.
 *
 * A flip applied to the wrong array would damage it for good, so a delta
 * names its base (instance, generation, checksum) and carries the checksum
 * of the result. It is applied to a copy, and the copy verified: the base is
 * never touched.
 */
#ifndef SCD_DELTA_H
#define SCD_DELTA_H

#include <stddef.h>
#include <stdint.h>

#include "digest.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The bytes of an encoded delta, borrowed for the call. */
struct scd_delta {
	const uint8_t *bytes;
	size_t len;
};

/* The filter that a reader holds, and the instance and generation that it is
 * of: what a delta is applied to. Borrowed for the call. */
struct scd_base {
	const struct scd_bloom *bloom;
	uint64_t instance;
	uint64_t generation;
	uint64_t reserved[2]; /* 0 */
};

/*
 * Make the delta that leads from base to next. Of ids, instance (not 0),
 * generation, base_generation (smaller) and nkeys (in next) are read. On
 * success *out is a buffer of *out_len bytes, to be released with free().
 * The same arguments always give the same bytes. Errors leave *out and
 * *out_len alone.
 *
 * SCD_EMISMATCH: the filters differ in shape. SCD_EINVAL: instance is 0; the
 * generations are not in order; nkeys is not 0, but next has no bit set.
 * SCD_ENOMEM.
 */
int scd_delta_encode(const struct scd_bloom *base, const struct scd_bloom *next,
		     const struct scd_digest_info *ids, uint8_t **out,
		     size_t *out_len);

/*
 * Make the same delta in the conditional form, which uses that the reader has
 * the base:
 * the bits that change are coded by their rank among the base's ones, and
 * among its zeros. Never larger than the XOR delta but for some bytes, and
 * up to a quarter smaller where the array is sparse; but it does not compose.
 * Arguments and errors as scd_delta_encode().
 */
int scd_delta_encode_conditional(const struct scd_bloom *base,
				 const struct scd_bloom *next,
				 const struct scd_digest_info *ids,
				 uint8_t **out, size_t *out_len);

/*
 * Read a delta of either form and apply it to a copy of the base. On success
 * *bloom is a new filter, verified, that the caller releases with
 * scd_bloom_free(), and *info (may be null) has the header's fields. Errors
 * leave both alone, and nothing allocated.
 *
 * The errors of scd_digest_parse(); and SCD_EBASE: a full digest, or a delta
 * whose base is not the one given (another instance, generation, shape or
 * checksum); SCD_EFORMAT: the payload breaks a rule of its coding;
 * SCD_ECHECKSUM: the result is another array than announced; SCD_ENOMEM.
 */
int scd_delta_apply(const uint8_t *in, size_t len,
		    const struct scd_limits *limits,
		    const struct scd_base *base, struct scd_digest_info *info,
		    struct scd_bloom *bloom);

/*
 * One delta for two: first leads from a to b, second from b to c, the result
 * from a to c. Neither array is needed. On success *out is a buffer of
 * *out_len bytes, to be released with free(); it is byte for byte what
 * scd_delta_encode() makes from a and c, provided that both inputs are what
 * they claim (the flips themselves carry no checksum: who applies the result
 * verifies it). Errors leave *out and *out_len alone.
 *
 * The errors of scd_digest_parse() for either input; and SCD_EBASE: one is no
 * XOR delta, or second does not begin where first ends; SCD_ELIMIT: as there is
 * no base, an array as large as theirs must be within what limits allow a full
 * digest of the length of each (max_expansion); SCD_EFORMAT: a payload breaks
 * a rule of its coding; SCD_ENOMEM.
 */
int scd_delta_compose(const struct scd_delta *first,
		      const struct scd_delta *second,
		      const struct scd_limits *limits, uint8_t **out,
		      size_t *out_len);

#ifdef __cplusplus
}
#endif

#endif
