/*
 * Parts of a payload.
 */
#include "codec/coder/parts.h"

#include "codec/coder/bits.h"
#include "codec/error.h"

void scd__write_varint(struct scd__writer *w, uint64_t value)
{
	for (; value > 0x7f; value >>= 7)
		scd__write_u8(w, (uint8_t)(value | 0x80));
	scd__write_u8(w, (uint8_t)value);
}

uint64_t scd__read_varint(struct scd__reader *r)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < SCD__VARINT_BYTES; i++) {
		uint64_t byte = scd__read_u8(r);

		value |= (byte & 0x7f) << 7 * i;
		if (byte > 0x7f)
			continue;
		if (byte == 0 && i > 0)
			break;
		return value;
	}
	r->error = r->error ? r->error : SCD_EFORMAT;
	return 0;
}

int scd__part_encode(const struct scd__shape *shape, const uint8_t *bits,
		     struct scd__writer *out, enum scd_coding *id)
{
	*id = SCD_CODING_EMPTY;
	if (out->error || shape->nbits == 0)
		return out->error;
	return scd__coder_encode(shape, bits, out, NULL, id);
}

int scd__part_decode(unsigned id, const struct scd__shape *shape,
		     struct scd__reader *in, uint8_t *bits)
{
	const struct scd__coding *coding = scd__coding_find(id);
	const size_t len = scd__reader_left(in);

	if (shape->nbits == 0)
		return id == SCD_CODING_EMPTY && len == 0 ? SCD_OK
							  : SCD_EFORMAT;
	if (!coding || !scd__coder_believes(coding, shape, len))
		return SCD_EFORMAT;
	if (coding->decode(shape, in, bits, NULL))
		return SCD_EFORMAT;
	if (scd__count_ones(bits, (size_t)scd__array_bytes(shape->nbits)) !=
	    shape->nones)
		return SCD_EFORMAT;
	return SCD_OK;
}
