/*
 * The layout of a frame: docs/FORMAT.md, "Header".
 */
#include "codec/wire/frame.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "codec/coder/checksum.h"
#include "codec/coder/coder.h"
#include "codec/cursor.h"
#include "codec/array_memory.h"

enum {
	FRAME_VERSION = 1,
	FRAME_SUMMED = SCD_DIGEST_HEADER_BYTES - 8, /* before its checksum */
};

static const uint8_t frame_magic[3] = {'S', 'C', 'D'};

/* Those of one array, that of several, and that of lists. */
static bool frame_is_coding(unsigned coding)
{
	return coding == SCD_CODING_PARTS || coding == SCD_CODING_LIST ||
	       scd__coding_find(coding);
}

/* "scd bits" and "scd head": the two checksums are never taken for another. */
static const uint64_t seed_array = UINT64_C(0x7363642062697473);
static const uint64_t seed_header = UINT64_C(0x7363642068656164);

uint64_t scd__bytes_checksum(const uint8_t *bytes, size_t len, uint64_t seed)
{
	return XXH64(bytes, len, seed);
}

uint64_t scd__array_checksum(const uint8_t *bits, uint64_t nbits)
{
	return XXH64(bits, (size_t)scd__array_bytes(nbits), seed_array);
}

uint64_t scd__array_sum(const uint8_t *bits, uint64_t nbits, uint64_t *ones)
{
	struct scd__checksum sum;
	uint64_t checksum;

	scd__array_sum_begin(&sum, bits);
	checksum = scd__checksum_finish(&sum, bits + scd__array_bytes(nbits));
	*ones = sum.ones;
	return checksum;
}

void scd__array_sum_begin(struct scd__checksum *sum, const uint8_t *bits)
{
	scd__checksum_begin(sum, bits, seed_array);
}

uint64_t scd__frame_checksum(const uint8_t header[SCD_DIGEST_HEADER_BYTES])
{
	return XXH64(header, FRAME_SUMMED, seed_header);
}

static void frame_read_fields(struct scd__reader *r,
			      struct scd_digest_info *info)
{
	info->nbits = scd__read_u64(r);
	info->nkeys = scd__read_u64(r);
	info->nones = scd__read_u64(r);
	info->instance = scd__read_u64(r);
	info->generation = scd__read_u64(r);
	info->base_generation = scd__read_u64(r);
	info->base_checksum = scd__read_u64(r);
	info->checksum = scd__read_u64(r);
	info->ncoded = scd__read_u64(r);
	info->payload_bytes = scd__read_u64(r);
}

static void frame_write_fields(struct scd__writer *w,
			       const struct scd_digest_info *info)
{
	scd__write_u64(w, info->nbits);
	scd__write_u64(w, info->nkeys);
	scd__write_u64(w, info->nones);
	scd__write_u64(w, info->instance);
	scd__write_u64(w, info->generation);
	scd__write_u64(w, info->base_generation);
	scd__write_u64(w, info->base_checksum);
	scd__write_u64(w, info->checksum);
	scd__write_u64(w, info->ncoded);
	scd__write_u64(w, info->payload_bytes);
}

int scd__frame_header(const uint8_t *in, size_t len,
		      struct scd_digest_info *out)
{
	struct scd__reader r = scd__reader(in, len);
	struct scd_digest_info info = {0};
	const uint8_t *magic;
	uint8_t version, kind, coding, hashing;

	if (len < SCD_DIGEST_HEADER_BYTES)
		return SCD_ETRUNC;
	magic = scd__read_bytes(&r, sizeof(frame_magic));
	version = scd__read_u8(&r);
	kind = scd__read_u8(&r);
	coding = scd__read_u8(&r);
	hashing = scd__read_u8(&r);
	info.nhash = scd__read_u8(&r);
	frame_read_fields(&r, &info);
	if (memcmp(magic, frame_magic, sizeof(frame_magic)) != 0)
		return SCD_EFORMAT;
	if (version != FRAME_VERSION)
		return SCD_EVERSION;
	if (scd__read_u64(&r) != scd__frame_checksum(in))
		return SCD_ECHECKSUM;
	if (kind > SCD_LIST_DELTA || hashing > SCD_HASHING_PREFIX ||
	    !frame_is_coding(coding))
		return SCD_EVERSION;
	info.kind = (enum scd_digest_kind)kind;
	info.coding = (enum scd_coding)coding;
	info.hashing = (enum scd_hashing)hashing;
	*out = info;
	return r.error;
}

static void frame_write_header(uint8_t *out, const struct scd_digest_info *info)
{
	struct scd__writer w = scd__writer(out, SCD_DIGEST_HEADER_BYTES);

	scd__write_bytes(&w, frame_magic, sizeof(frame_magic));
	scd__write_u8(&w, FRAME_VERSION);
	scd__write_u8(&w, (uint8_t)info->kind);
	scd__write_u8(&w, (uint8_t)info->coding);
	scd__write_u8(&w, (uint8_t)info->hashing);
	scd__write_u8(&w, (uint8_t)info->nhash);
	frame_write_fields(&w, info);
	scd__write_u64(&w, scd__frame_checksum(out));
}

int scd__frame_begin(size_t cap, struct scd__writer *payload)
{
	uint8_t *frame;

	if (cap > SIZE_MAX - SCD_DIGEST_HEADER_BYTES)
		return SCD_ENOMEM;
	frame = scd__array_memory(SCD_DIGEST_HEADER_BYTES + cap);
	if (!frame)
		return SCD_ENOMEM;
	*payload = scd__writer(frame + SCD_DIGEST_HEADER_BYTES, cap);
	return SCD_OK;
}

void scd__frame_drop(struct scd__writer *payload)
{
	free(payload->start - SCD_DIGEST_HEADER_BYTES);
}

void scd__frame_finish(const struct scd_digest_info *info,
		       struct scd__writer *payload, uint8_t **out,
		       size_t *out_len)
{
	struct scd_digest_info sealed = *info;
	uint8_t *frame = payload->start - SCD_DIGEST_HEADER_BYTES, *smaller;

	sealed.payload_bytes = scd__writer_len(payload);
	frame_write_header(frame, &sealed);
	*out_len = SCD_DIGEST_HEADER_BYTES + scd__writer_len(payload);
	smaller = realloc(frame, *out_len);
	*out = smaller ? smaller : frame;
}

int scd__frame_make(const struct scd_digest_info *info, const uint8_t *bits,
		    const struct scd__coder_work *work, uint8_t **out,
		    size_t *out_len)
{
	const struct scd__shape shape = {info->nbits, info->ncoded};
	struct scd_digest_info coded = *info;
	struct scd__writer payload;
	int error;

	error = scd__frame_begin((size_t)scd__array_bytes(info->nbits),
				 &payload);
	if (error)
		return error;
	error = scd__coder_encode(&shape, bits, &payload, work, &coded.coding);
	if (error) {
		scd__frame_drop(&payload);
		return error;
	}
	if (work && work->sum)
		coded.checksum = scd__checksum_finish(
			work->sum, bits + scd__array_bytes(info->nbits));
	scd__frame_finish(&coded, &payload, out, out_len);
	return SCD_OK;
}

struct scd__reader scd__frame_reader(const uint8_t *in,
				     const struct scd_digest_info *info)
{
	return scd__reader(in + SCD_DIGEST_HEADER_BYTES,
			   (size_t)info->payload_bytes);
}

int scd__frame_payload(const uint8_t *in, const struct scd_digest_info *info,
		       uint8_t *bits)
{
	const struct scd__shape shape = {info->nbits, info->ncoded};
	struct scd__reader r = scd__frame_reader(in, info);

	return scd__coding_find(info->coding)->decode(&shape, &r, bits, NULL);
}

int scd__frame_verified(const uint8_t *in, const struct scd_digest_info *info,
			uint8_t *bits, const char *limit,
			const struct scd_threads *threads)
{
	const struct scd__shape shape = {info->nbits, info->ncoded};
	const uint8_t *end = bits + scd__array_bytes(info->nbits);
	struct scd__reader r = scd__frame_reader(in, info);
	struct scd__checksum sum;
	const struct scd__coder_work work = {
		.limit = limit,
		.sum = &sum,
		.threads = threads,
	};
	int error;

	scd__array_sum_begin(&sum, bits);
	error = scd__coding_find(info->coding)->decode(&shape, &r, bits, &work);
	if (error)
		return error;
	if (scd__checksum_finish(&sum, end) != info->checksum)
		return SCD_ECHECKSUM;
	return sum.ones == info->nones ? SCD_OK : SCD_ECHECKSUM;
}
