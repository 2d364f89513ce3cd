/*
 * Images of admission filters: docs/FORMAT.md, "Admission images". A header,
 * then the blocks as they are: their bits are half ones at most, but too many
 * to gain from coding, and they are read once in the life of a process.
 */
#include <string.h>

#include "codec/filter/admission_state.h"
#include "codec/cursor.h"
#include "codec/wire/frame.h"

enum {
	IMAGE_VERSION = 1,
	IMAGE_SUMMED = SCD_ADMISSION_HEADER_BYTES - 8, /* before the checksum */
};

static const uint8_t image_magic[4] = { 'S', 'C', 'D', 'A' };

/* "scd seen" */
static const uint64_t seed_image = UINT64_C(0x736364207365656e);

size_t scd_admission_image_bytes(const struct scd_admission *a)
{
	return SCD_ADMISSION_HEADER_BYTES +
	       (size_t)a->nblocks * SCD_ADMISSION_BLOCK_BYTES;
}

/* Of all that is before and behind it in an image. */
static uint64_t admission_image_checksum(const uint8_t *image, size_t len)
{
	uint64_t seed = scd__bytes_checksum(image, IMAGE_SUMMED, seed_image);

	return scd__bytes_checksum(image + SCD_ADMISSION_HEADER_BYTES,
				   len - SCD_ADMISSION_HEADER_BYTES, seed);
}

/* The clock, and not a moment at which a generation is about to end. */
static uint64_t admission_image_clock_of(const struct scd_admission *a)
{
	uint64_t clock = scd__admission_get(a->clock);

	if ((uint32_t)clock < scd__admission_notes(a))
		return clock;
	return ((clock >> 32) + 1) << 32;
}

int scd_admission_save(const struct scd_admission *a, uint8_t *out, size_t cap)
{
	size_t len = scd_admission_image_bytes(a);
	struct scd__writer w = scd__writer(out, cap);

	if (cap < len)
		return SCD_ESPACE;
	scd__write_bytes(&w, image_magic, sizeof(image_magic));
	scd__write_u8(&w, IMAGE_VERSION);
	scd__write_zeros(&w, 3);
	scd__write_u64(&w, a->nblocks);
	scd__write_u64(&w, admission_image_clock_of(a));
	scd__write_zeros(&w, 8);
	for (uint64_t i = 0; i < a->nblocks * ADMISSION_SLICES; i++)
		scd__write_u64(&w, scd__admission_get(&a->words[i]));
	w = scd__writer(out + IMAGE_SUMMED, 8);
	scd__write_u64(&w, admission_image_checksum(out, len));
	return SCD_OK;
}

/* The fields of a header, and whether the image is what it says. */
struct image {
	uint64_t nblocks, clock;
};

static int admission_image_read_image(struct scd__reader *r, size_t len,
				      uint64_t max_window, struct image *out)
{
	const uint8_t *start = r->at;
	const uint8_t *magic = scd__read_bytes(r, sizeof(image_magic));
	uint8_t version = scd__read_u8(r);
	uint32_t zeros = scd__read_u8(r);
	uint64_t sum, most;

	zeros |= scd__read_u16(r);
	out->nblocks = scd__read_u64(r);
	out->clock = scd__read_u64(r);
	sum = scd__read_u64(r);
	if (r->error)
		return r->error;
	if (memcmp(magic, image_magic, sizeof(image_magic)) != 0)
		return SCD_EFORMAT;
	if (version != IMAGE_VERSION)
		return SCD_EVERSION;
	if (zeros || out->nblocks == 0 ||
	    (uint32_t)out->clock >> ADMISSION_NOTES_SHIFT >= out->nblocks)
		return SCD_EFORMAT;
	most = max_window < SCD_ADMISSION_MAX_WINDOW ? max_window
						     : SCD_ADMISSION_MAX_WINDOW;
	if (out->nblocks > (most + SCD_ADMISSION_BLOCK_KEYS - 1) /
				   SCD_ADMISSION_BLOCK_KEYS)
		return SCD_ELIMIT;
	if (scd__reader_left(r) / SCD_ADMISSION_BLOCK_BYTES < out->nblocks)
		return SCD_ETRUNC;
	if (scd__reader_left(r) != out->nblocks * SCD_ADMISSION_BLOCK_BYTES)
		return SCD_EFORMAT;
	return sum == admission_image_checksum(start, len) ? SCD_OK
							   : SCD_ECHECKSUM;
}

int scd_admission_load(struct scd_admission **out, const uint8_t *in,
		       size_t len, uint64_t max_window)
{
	struct scd__reader r = scd__reader(in, len);
	struct image image;
	struct scd_admission *a;
	int error = admission_image_read_image(&r, len, max_window, &image);

	if (!error)
		error = scd_admission_new(&a, image.nblocks *
						      SCD_ADMISSION_BLOCK_KEYS);
	if (error)
		return error;
	*a->clock = image.clock;
	for (uint64_t i = 0; i < a->nblocks * ADMISSION_SLICES; i++)
		a->words[i] = scd__read_u64(&r);
	*out = a;
	return SCD_OK;
}
