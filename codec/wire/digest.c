/*
 * Full digests, and what is asked of every header before it is believed.
 *
 * The order of the checks is part of the format: it decides which error a
 * digest with several faults gives (docs/FORMAT.md, "What a decoder
 * refuses").
 */
#include "codec/digest.h"

#include <string.h>

#include "codec/bloom.h"
#include "codec/coder/chunks.h"
#include "codec/coder/coder.h"
#include "codec/coder/dense_engine.h"
#include "codec/filter/bloom_raw.h"
#include "codec/list.h"
#include "codec/wire/frame.h"

void scd_limits_init(struct scd_limits *limits)
{
	*limits = (struct scd_limits){
		.max_bits = UINT64_C(1) << 32,
		.max_hash = SCD_DIGEST_MAX_HASH,
		.max_fp_ppm = 50000,
		.max_expansion = SCD_DIGEST_MAX_EXPANSION,
	};
}

uint64_t scd_digest_checksum(const struct scd_bloom *bloom)
{
	return scd__array_checksum(bloom->bits, bloom->nbits);
}

/* Does a hashing have a shape it allows? */
static int digest_check_hashing(const struct scd_digest_info *info)
{
	switch (info->hashing) {
	case SCD_HASHING_DOUBLE:
		return SCD_OK;
	case SCD_HASHING_SQUID:
		if (info->nhash != SCD_SQUID_HASH || info->nbits % 8 != 0 ||
		    info->nbits > SCD_SQUID_MAX_BITS)
			return SCD_EFORMAT;
		return SCD_OK;
	case SCD_HASHING_PREFIX:
		if (info->nhash != 1 || info->nbits < 2 ||
		    (info->nbits & (info->nbits - 1)) != 0)
			return SCD_EFORMAT;
		return SCD_OK;
	}
	return SCD_EVERSION;
}

/* Is every number within the range that the format gives it? */
static int digest_check_ranges(const struct scd_digest_info *info)
{
	if (info->nhash < 1 || info->nhash > SCD_DIGEST_MAX_HASH)
		return SCD_EFORMAT;
	if (info->nbits < 1 || info->nbits > SCD_DIGEST_MAX_BITS)
		return SCD_EFORMAT;
	if (info->nones > info->nbits || info->ncoded > info->nbits)
		return SCD_EFORMAT;
	if (info->nkeys > 0 && info->nones == 0)
		return SCD_EFORMAT;
	return info->instance == 0 ? SCD_EFORMAT : digest_check_hashing(info);
}

/* Is it the shape of a list: few enough fingerprints, and known ones? */
static bool digest_is_list_shape(const struct scd_digest_info *info)
{
	return info->hashing == SCD_HASHING_PREFIX &&
	       info->nbits >> SCD_LIST_MIN_WIDTH != 0 &&
	       info->nones <= info->nbits / SCD_LIST_SPARSITY;
}

/* Do the fields that depend on the kind fit it? */
static int digest_check_kind(const struct scd_digest_info *info)
{
	switch (info->kind) {
	case SCD_FULL:
		if (info->base_generation != 0 || info->base_checksum != 0)
			return SCD_EFORMAT;
		return info->ncoded == info->nones ? SCD_OK : SCD_EFORMAT;
	case SCD_DELTA_XOR:
	case SCD_DELTA_CONDITIONAL:
		return info->base_generation < info->generation ? SCD_OK
								: SCD_EFORMAT;
	case SCD_COUNTING:
		if (info->base_generation != 0)
			return SCD_EFORMAT;
		return info->ncoded == info->nones ? SCD_OK : SCD_EFORMAT;
	case SCD_LIST:
		if (info->base_generation != 0 || info->base_checksum != 0 ||
		    !digest_is_list_shape(info))
			return SCD_EFORMAT;
		return info->ncoded == info->nones ? SCD_OK : SCD_EFORMAT;
	case SCD_LIST_DELTA:
		return info->base_generation < info->generation &&
				       digest_is_list_shape(info)
			       ? SCD_OK
			       : SCD_EFORMAT;
	}
	return SCD_EVERSION;
}

/* (nones / nbits)^nhash: how often the digest says yes to an absent key. */
static double digest_predicted_fp(const struct scd_digest_info *info)
{
	double fill = (double)info->nones / (double)info->nbits;
	double fp = 1;

	for (unsigned i = 0; i < info->nhash; i++)
		fp *= fill;
	return fp;
}

/*
 * The memory that a digest of this kind takes to be read [bytes]. A counting
 * one has counters of half a byte beside the array, and up to 15 planes, each
 * of which may have as many bits as the array has ones.
 */
static uint64_t digest_memory_of(const struct scd_digest_info *info)
{
	const uint64_t array = scd__array_bytes(info->nbits);

	switch (info->kind) {
	case SCD_FULL:
		return array;
	case SCD_DELTA_XOR:
	case SCD_DELTA_CONDITIONAL:
		return 0; /* a copy of what the reader has already */
	case SCD_COUNTING:
		return 5 * array + 64 * scd__array_bytes(info->nones);
	case SCD_LIST:
		return 8 * info->nones;
	case SCD_LIST_DELTA:
		return 0; /* in proportion to its bytes, and to the base */
	}
	return array;
}

/*
 * The size that limits->max_bits is of: the array's bits, or those of a list's
 * entries, of which the reader of a delta may hold as many as it names.
 */
static uint64_t digest_size_of(const struct scd_digest_info *info)
{
	const uint64_t entries =
		info->nones > info->ncoded ? info->nones : info->ncoded;

	if (info->kind == SCD_LIST || info->kind == SCD_LIST_DELTA)
		return 64 * entries;
	return info->nbits;
}

bool scd__digest_expands(const struct scd_digest_info *info, uint64_t memory,
			 const struct scd_limits *limits)
{
	const uint64_t header = SCD_DIGEST_HEADER_BYTES;
	uint64_t least; /* bytes of a message that may claim it */

	if (!limits->max_expansion || memory <= SCD_DIGEST_FREE_BYTES)
		return false;
	least = (memory - 1) / limits->max_expansion + 1;
	return least > header && info->payload_bytes < least - header;
}

static int digest_check_limits(const struct scd_digest_info *info,
			       const struct scd_limits *limits)
{
	const uint64_t nbits = digest_size_of(info);

	if (nbits > limits->max_bits || info->nhash > limits->max_hash)
		return SCD_ELIMIT;
	if (scd__array_bytes(nbits) > SIZE_MAX - SCD_DIGEST_HEADER_BYTES)
		return SCD_ELIMIT;
	if (digest_predicted_fp(info) * 1e6 > limits->max_fp_ppm)
		return SCD_ELIMIT;
	if (scd__digest_expands(info, digest_memory_of(info), limits))
		return SCD_ELIMIT;
	return SCD_OK;
}

/*
 * May the payload be as long as it says? A delta that is read with its base may
 * be of any length: who reads it has something of that size already. An entry
 * of a list takes half a bit at least, and 8 bytes at most.
 */
static bool digest_is_believed(const struct scd_digest_info *info)
{
	const struct scd__shape shape = {info->nbits, info->ncoded};
	const struct scd__coding *coding = scd__coding_find(info->coding);
	const uint64_t array = scd__array_bytes(info->nbits);

	switch (info->kind) {
	case SCD_FULL:
	case SCD_DELTA_XOR:
		return coding && scd__coder_believes(coding, &shape,
						     info->payload_bytes);
	case SCD_DELTA_CONDITIONAL:
		return info->coding == SCD_CODING_PARTS &&
		       info->payload_bytes <= array + 16;
	case SCD_COUNTING:
		return info->coding == SCD_CODING_PARTS &&
		       info->payload_bytes <= 16 * array + 256 &&
		       (double)info->payload_bytes >=
			       0.98 * scd__coder_entropy(&shape) - 64;
	case SCD_LIST:
		return info->coding == SCD_CODING_LIST &&
		       info->payload_bytes <= 8 * info->ncoded + 16 &&
		       info->nones <= 16 * info->payload_bytes;
	case SCD_LIST_DELTA:
		return info->coding == SCD_CODING_LIST &&
		       info->payload_bytes <= 8 * info->ncoded + 16;
	}
	return false;
}

static int digest_check_length(const struct scd_digest_info *info, size_t len)
{
	const uint64_t rest = len - SCD_DIGEST_HEADER_BYTES;

	if (rest < info->payload_bytes)
		return SCD_ETRUNC;
	return rest > info->payload_bytes ? SCD_EFORMAT : SCD_OK;
}

/* All that a header can be refused for; len: of the header at least. */
static int digest_check_header(const uint8_t *in, size_t len,
			       const struct scd_limits *limits,
			       struct scd_digest_info *out)
{
	struct scd_limits defaults;
	struct scd_digest_info info;
	int error;

	scd_limits_init(&defaults);
	error = scd__frame_header(in, len, &info);
	if (!error)
		error = digest_check_ranges(&info);
	if (!error)
		error = digest_check_kind(&info);
	if (!error)
		error = digest_check_limits(&info, limits ? limits : &defaults);
	if (!error && !digest_is_believed(&info))
		error = SCD_EFORMAT;
	if (!error)
		*out = info;
	return error;
}

int scd_digest_judge(const uint8_t header[SCD_DIGEST_HEADER_BYTES],
		     const struct scd_limits *limits,
		     struct scd_digest_info *out)
{
	return digest_check_header(header, SCD_DIGEST_HEADER_BYTES, limits,
				   out);
}

int scd_digest_parse(const uint8_t *in, size_t len,
		     const struct scd_limits *limits,
		     struct scd_digest_info *out)
{
	struct scd_digest_info info;
	int error = digest_check_header(in, len, limits, &info);

	if (!error)
		error = digest_check_length(&info, len);
	if (!error)
		*out = info;
	return error;
}

int scd_digest_encode(const struct scd_bloom *bloom,
		      const struct scd_digest_info *ids, uint8_t **out,
		      size_t *out_len)
{
	return scd_digest_encode_with(bloom, ids, NULL, out, out_len);
}

/* Every engine's name is one of the dense coding's. */
static bool digest_can_work(const struct scd_work *work)
{
	return !work->engine ||
	       strcmp(scd__dense_engine(work->engine)->name, work->engine) == 0;
}

/*
 * Ones and checksum of an array: in one pass; or, with threads, the ones, and
 * how->sum, to be added up while the array is coded.
 */
static int digest_sum(const struct scd_bloom *bloom,
		      struct scd_digest_info *info, struct scd__checksum *sum,
		      struct scd__coder_work *how)
{
	if (!how->threads) {
		info->checksum = scd__array_sum(bloom->bits, bloom->nbits,
						&info->nones);
		return SCD_OK;
	}
	scd__array_sum_begin(sum, bloom->bits);
	how->sum = sum;
	return scd__chunks_count_ones(bloom->bits, scd_bloom_bytes(bloom),
				      how->threads, &info->nones);
}

int scd_digest_encode_with(const struct scd_bloom *bloom,
			   const struct scd_digest_info *ids,
			   const struct scd_work *work, uint8_t **out,
			   size_t *out_len)
{
	struct scd_digest_info info = {
		.kind = SCD_FULL,
		.hashing = bloom->hashing,
		.nhash = bloom->nhash,
		.nbits = bloom->nbits,
		.nkeys = ids->nkeys,
		.instance = ids->instance,
		.generation = ids->generation,
	};
	struct scd__coder_work how = {
		.limit = work ? work->engine : NULL,
		.threads = work ? work->threads : NULL,
	};
	struct scd__checksum sum;
	int error;

	if (work && !digest_can_work(work))
		return SCD_EINVAL;
	error = digest_sum(bloom, &info, &sum, &how);
	if (error)
		return error;
	info.ncoded = info.nones;
	if (digest_check_ranges(&info) != SCD_OK)
		return SCD_EINVAL;
	return scd__frame_make(&info, bloom->bits, &how, out, out_len);
}

int scd_digest_decode(const uint8_t *in, size_t len,
		      const struct scd_limits *limits,
		      struct scd_digest_info *info, struct scd_bloom *bloom)
{
	return scd_digest_decode_with(in, len, limits, NULL, info, bloom);
}

/* A filter to be decoded into, in the spare one's memory if that fits. */
static int digest_make_room(const struct scd_work *work,
			    const struct scd_digest_info *info,
			    struct scd_bloom *out)
{
	const struct scd_bloom *spare = work->spare;

	if (!spare || !spare->bits ||
	    scd_bloom_bytes(spare) != scd__array_bytes(info->nbits))
		return scd__bloom_raw(out, info->nbits, info->nhash);
	*out = (struct scd_bloom){
		.bits = spare->bits,
		.nbits = info->nbits,
		.nhash = info->nhash,
	};
	return SCD_OK;
}

int scd_digest_decode_with(const uint8_t *in, size_t len,
			   const struct scd_limits *limits,
			   const struct scd_work *work,
			   struct scd_digest_info *info,
			   struct scd_bloom *bloom)
{
	static const struct scd_work defaults = {0};
	struct scd_digest_info parsed;
	struct scd_bloom fresh;
	bool spared;
	int error;

	if (!work)
		work = &defaults;
	if (!digest_can_work(work))
		return SCD_EINVAL;
	error = scd_digest_parse(in, len, limits, &parsed);
	if (error)
		return error;
	if (parsed.kind != SCD_FULL)
		return SCD_EBASE;
	error = digest_make_room(work, &parsed, &fresh);
	if (error)
		return error;
	spared = work->spare && work->spare->bits == fresh.bits;
	fresh.hashing = parsed.hashing;
	error = scd__frame_verified(in, &parsed, fresh.bits, work->engine,
				    work->threads);
	if (error) {
		if (spared)
			scd_bloom_clear(work->spare);
		else
			scd_bloom_free(&fresh);
		return error;
	}
	if (spared)
		*work->spare = (struct scd_bloom){0};
	if (info)
		*info = parsed;
	*bloom = fresh;
	return SCD_OK;
}
