/*
 * Squid's cache digests: the format that Squid publishes under
 * /squid-internal-periodic/store_digest, to the byte, and the keys that are
 * in it. docs/FORMAT.md has the table ("Squid's format").
 *
 * A header of 128 bytes, then the mask, which is the array of a filter with
 * hashing SCD_HASHING_SQUID and 4 hash functions. There is no checksum: a
 * damaged mask is not noticed. A digest is read only as Squid itself would
 * read it, sizes exact and at most 65 % of the bits set; what it says of the
 * number of its entries is passed on, but never believed.
 */
#ifndef SCD_SQUID_H
#define SCD_SQUID_H

#include <stddef.h>
#include <stdint.h>

#include "bloom.h"
#include "error.h"
#include "key.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
	SCD_SQUID_HEADER_BYTES = 128,
	SCD_SQUID_MIN_VERSION = 3,
	SCD_SQUID_VERSION = 5,
	SCD_SQUID_ENTRY_BITS = 5,       /* Squid's default */
	SCD_SQUID_MAX_ENTRY_BITS = 127, /* more do not fit a signed octet */
	SCD_SQUID_MAX_FILL_PERCENT = 65,
};

/* The fields of a header, but for the size of the mask. */
struct scd_squid_info {
	unsigned version;    /* current version of the sender, 3.. */
	unsigned required;   /* version that a reader must know, ..5 */
	uint32_t capacity;   /* entries that the mask is sized for, > 0 */
	int32_t count;       /* entries added; may be wrong, may be negative */
	int32_t deletions;   /* 0 */
	unsigned entry_bits; /* bits for an entry, 1..127 */
	uint64_t reserved[2]; /* 0 */
};

/*
 * The key of a method and a canonical URI (uri.h; uri_len bytes), for filters
 * of hashing SCD_HASHING_SQUID. SCD_EINVAL: the method is none of GET, POST,
 * PUT and HEAD; *out is left alone. Some 200 ns for a URI of 60 bytes.
 * Source: MD5 over the method's number in Squid, 1 to 4, and the URI.
 */
int scd_squid_key(const char *method, const char *uri, size_t uri_len,
		  struct scd_key *out);

/*
 * Read and check a header. in, len: the whole digest; of the mask only the
 * length is looked at. *out is set on success only.
 *
 * SCD_ETRUNC: shorter than its header, or than the header says.
 * SCD_EVERSION: of a version before 3, or made for one after 5, or hash
 * functions that are not 4. SCD_EFORMAT: sizes out of range or that do not
 * fit each other; bytes after the mask.
 */
int scd_squid_parse(const uint8_t *in, size_t len, struct scd_squid_info *out);

/*
 * Read a digest: what scd_squid_parse() does, then copy the mask into a new
 * filter that the caller releases with scd_bloom_free(). info may be null. No
 * more is allocated than the input is long. Errors leave both alone.
 * The errors of scd_squid_parse(); SCD_ELIMIT: more than 65 % of the bits are
 * set; SCD_ENOMEM.
 */
int scd_squid_decode(const uint8_t *in, size_t len, struct scd_squid_info *info,
		     struct scd_bloom *bloom);

/*
 * Which rule scd_squid_decode() finds broken, in English, without a full
 * stop; null if none is. The text is static.
 */
const char *scd_squid_fault(const uint8_t *in, size_t len);

/*
 * Make a digest of a filter with hashing SCD_HASHING_SQUID. Of info, count,
 * deletions, capacity and entry_bits are read. Those of the last two that are
 * 0 are found: 5 bits an entry if both are, else what gives the filter's
 * size. *out is a buffer of *out_len bytes, to be released with free(). It
 * can be decoded again; errors leave both alone.
 *
 * SCD_EINVAL: the filter has another hashing, or its size is no multiple of 8
 * or above 2^31, or not that of capacity and entry_bits. SCD_ELIMIT: it is
 * fuller than any reader accepts. SCD_ENOMEM.
 */
int scd_squid_encode(const struct scd_bloom *bloom,
		     const struct scd_squid_info *info, uint8_t **out,
		     size_t *out_len);

#ifdef __cplusplus
}
#endif

#endif
