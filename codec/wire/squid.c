/*
 * Squid's cache digests: keys, and a format whose rules are one table.
 */
#include "codec/squid.h"

#include <stdlib.h>
#include <string.h>

#include <md5.h>

#include "codec/cursor.h"

enum { RESERVED_BYTES = 106 };

/* A digest as it is found. */
struct found {
	struct scd_squid_info info;
	int32_t capacity;
	int32_t mask_bytes;
	unsigned nhash;
	size_t len; /* all of it, header too */
};

static const char *const methods[] = {"GET", "POST", "PUT", "HEAD"};

static uint64_t squid_big_endian(const uint8_t bytes[8])
{
	uint64_t value = 0;

	for (int i = 0; i < 8; i++)
		value = value << 8 | bytes[i];
	return value;
}

int scd_squid_key(const char *method, const char *uri, size_t uri_len,
		  struct scd_key *out)
{
	uint8_t sum[MD5_DIGEST_LENGTH];
	uint8_t number = 0;
	MD5_CTX md5;

	while (number < sizeof(methods) / sizeof(methods[0]) &&
	       strcmp(methods[number], method))
		number++;
	if (number++ == sizeof(methods) / sizeof(methods[0]))
		return SCD_EINVAL;
	MD5Init(&md5);
	MD5Update(&md5, &number, 1);
	MD5Update(&md5, (const uint8_t *)uri, uri_len);
	MD5Final(sum, &md5);
	out->lo = squid_big_endian(sum);
	out->hi = squid_big_endian(sum + 8);
	return SCD_OK;
}

static uint64_t squid_mask_bits(const struct found *f)
{
	return (uint64_t)f->capacity * f->info.entry_bits;
}

static bool squid_short_header(const struct found *f)
{
	return f->len < SCD_SQUID_HEADER_BYTES;
}

static bool squid_old_version(const struct found *f)
{
	return f->info.version < SCD_SQUID_MIN_VERSION;
}

static bool squid_below_required(const struct found *f)
{
	return f->info.version < f->info.required;
}

static bool squid_new_version(const struct found *f)
{
	return f->info.required > SCD_SQUID_VERSION;
}

static bool squid_no_capacity(const struct found *f)
{
	return f->capacity <= 0;
}

static bool squid_bad_entry_bits(const struct found *f)
{
	return f->info.entry_bits < 1 ||
	       f->info.entry_bits > SCD_SQUID_MAX_ENTRY_BITS;
}

static bool squid_too_large(const struct found *f)
{
	return squid_mask_bits(f) >= SCD_SQUID_MAX_BITS;
}

static bool squid_bad_mask_bytes(const struct found *f)
{
	return f->mask_bytes <= 0 ||
	       (uint64_t)f->mask_bytes != (squid_mask_bits(f) + 7) / 8;
}

static bool squid_other_hashes(const struct found *f)
{
	return f->nhash != SCD_SQUID_HASH;
}

static bool squid_cut(const struct found *f)
{
	return f->len - SCD_SQUID_HEADER_BYTES < (size_t)f->mask_bytes;
}

static bool squid_longer(const struct found *f)
{
	return f->len - SCD_SQUID_HEADER_BYTES > (size_t)f->mask_bytes;
}

/* In their order: a rule may rely on those before it. */
static const struct rule {
	bool (*broken)(const struct found *f);
	int error;
	const char *text;
} rules[] = {
	{squid_short_header, SCD_ETRUNC, "shorter than its header"},
	{squid_old_version, SCD_EVERSION, "of a version before 3"},
	{squid_below_required, SCD_EVERSION,
	 "older than the version it requires"},
	{squid_new_version, SCD_EVERSION, "made for a version after 5"},
	{squid_no_capacity, SCD_EFORMAT, "capacity is not above 0"},
	{squid_bad_entry_bits, SCD_EFORMAT, "bits per entry are not 1 to 127"},
	{squid_too_large, SCD_EFORMAT, "the mask has 2^31 bits or more"},
	{squid_bad_mask_bytes, SCD_EFORMAT,
	 "mask size is not that of capacity and bits per entry"},
	{squid_other_hashes, SCD_EVERSION, "hash functions are not 4"},
	{squid_cut, SCD_ETRUNC, "shorter than its mask"},
	{squid_longer, SCD_EFORMAT, "longer than its mask"},
};

static const char too_full[] = "more than 65 % of the bits are set";

static void squid_read_header(const uint8_t *in, size_t len, struct found *f)
{
	struct scd__reader r = scd__reader(in, len);

	f->len = len;
	f->info.version = scd__read_be16(&r);
	f->info.required = scd__read_be16(&r);
	f->capacity = (int32_t)scd__read_be32(&r);
	f->info.capacity = (uint32_t)f->capacity;
	f->info.count = (int32_t)scd__read_be32(&r);
	f->info.deletions = (int32_t)scd__read_be32(&r);
	f->mask_bytes = (int32_t)scd__read_be32(&r);
	f->info.entry_bits = scd__read_u8(&r);
	f->nhash = scd__read_u8(&r);
}

/* The first rule of the header that is broken; null: none is. */
static const struct rule *squid_check(const uint8_t *in, size_t len,
				      struct found *f)
{
	squid_read_header(in, len, f);
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		if (rules[i].broken(f))
			return &rules[i];
	}
	return NULL;
}

int scd_squid_parse(const uint8_t *in, size_t len, struct scd_squid_info *out)
{
	struct found f;
	const struct rule *broken = squid_check(in, len, &f);

	if (broken)
		return broken->error;
	*out = f.info;
	return SCD_OK;
}

static bool squid_is_too_full(const struct scd_bloom *bloom)
{
	return scd_bloom_ones(bloom) >
	       bloom->nbits * SCD_SQUID_MAX_FILL_PERCENT / 100;
}

/* The mask of a digest, without a copy. */
static struct scd_bloom squid_borrow_mask(const uint8_t *in, size_t len)
{
	return (struct scd_bloom){
		.bits = (uint8_t *)in + SCD_SQUID_HEADER_BYTES,
		.nbits = 8 * (uint64_t)(len - SCD_SQUID_HEADER_BYTES),
		.nhash = SCD_SQUID_HASH,
		.hashing = SCD_HASHING_SQUID,
	};
}

const char *scd_squid_fault(const uint8_t *in, size_t len)
{
	struct found f;
	const struct rule *broken = squid_check(in, len, &f);
	struct scd_bloom mask;

	if (broken)
		return broken->text;
	mask = squid_borrow_mask(in, len);
	return squid_is_too_full(&mask) ? too_full : NULL;
}

int scd_squid_decode(const uint8_t *in, size_t len, struct scd_squid_info *info,
		     struct scd_bloom *bloom)
{
	struct scd_squid_info parsed;
	struct scd_bloom mask;
	int error = scd_squid_parse(in, len, &parsed);

	if (error)
		return error;
	mask = squid_borrow_mask(in, len);
	if (squid_is_too_full(&mask))
		return SCD_ELIMIT;
	error = scd_bloom_copy(&mask, bloom);
	if (!error && info)
		*info = parsed;
	return error;
}

/* Find what is left open of capacity and bits an entry. */
static int squid_size_entries(const struct scd_bloom *bloom,
			      struct scd_squid_info *info)
{
	struct found f = {.mask_bytes = (int32_t)(bloom->nbits / 8)};

	if (!info->entry_bits)
		info->entry_bits =
			info->capacity
				? (unsigned)(bloom->nbits / info->capacity)
				: SCD_SQUID_ENTRY_BITS;
	if (!info->capacity && info->entry_bits)
		info->capacity = (uint32_t)(bloom->nbits / info->entry_bits);
	f.info = *info;
	f.capacity = (int32_t)info->capacity;
	if (squid_no_capacity(&f) || squid_bad_entry_bits(&f) ||
	    squid_too_large(&f) || squid_bad_mask_bytes(&f))
		return SCD_EINVAL;
	return SCD_OK;
}

static void squid_write_header(struct scd__writer *w, size_t mask_bytes,
			       const struct scd_squid_info *info)
{
	static const uint8_t reserved[RESERVED_BYTES];

	scd__write_be16(w, SCD_SQUID_VERSION);
	scd__write_be16(w, SCD_SQUID_MIN_VERSION);
	scd__write_be32(w, info->capacity);
	scd__write_be32(w, (uint32_t)info->count);
	scd__write_be32(w, (uint32_t)info->deletions);
	scd__write_be32(w, (uint32_t)mask_bytes);
	scd__write_u8(w, (uint8_t)info->entry_bits);
	scd__write_u8(w, SCD_SQUID_HASH);
	scd__write_bytes(w, reserved, sizeof(reserved));
}

int scd_squid_encode(const struct scd_bloom *bloom,
		     const struct scd_squid_info *info, uint8_t **out,
		     size_t *out_len)
{
	const size_t mask_bytes = scd_bloom_bytes(bloom);
	struct scd_squid_info sized = *info;
	struct scd__writer w;
	uint8_t *bytes;

	if (bloom->hashing != SCD_HASHING_SQUID || bloom->nbits % 8 ||
	    bloom->nbits > SCD_SQUID_MAX_BITS ||
	    squid_size_entries(bloom, &sized))
		return SCD_EINVAL;
	if (squid_is_too_full(bloom))
		return SCD_ELIMIT;
	bytes = malloc(SCD_SQUID_HEADER_BYTES + mask_bytes);
	if (!bytes)
		return SCD_ENOMEM;
	w = scd__writer(bytes, SCD_SQUID_HEADER_BYTES + mask_bytes);
	squid_write_header(&w, mask_bytes, &sized);
	scd__write_bytes(&w, bloom->bits, mask_bytes);
	*out = bytes;
	*out_len = scd__writer_len(&w);
	return SCD_OK;
}
